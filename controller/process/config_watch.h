/* SPDX-License-Identifier: Apache-2.0 */
/* config_watch.h: notices that the provider's configuration has changed
 * (--enable-dynamic-reloading).
 *
 * One thread reads the sources again and again: files that are mounted from a ConfigMap change by
 * renamed folders, and a Secret needs no more than the permission to get it, so looking is simpler
 * and more robust than watching.  A change counts when it was read twice in a row (so that no
 * half-written file is used) and is valid; an invalid one is logged once, and the old configuration
 * stays.  It reports one change and ends: the listener opens everything again, with a new watch. */
#ifndef TRIMTAB_CONTROLLER_CONFIG_WATCH_H
#define TRIMTAB_CONTROLLER_CONFIG_WATCH_H

#include <stdint.h>

#include "common/base/clock.h"
#include "controller/process/config_source.h"

#define CONFIG_WATCH_MS 5000

struct config_watch;
struct config_watch_args {
    struct config_source source;        /* its texts must live longer */
    const struct config_texts *current; /* copied: what is in use */
    struct clock *clock;
    /* Would the provider start with it?  In the watch's thread; no network. */
    int (*check)(void *arg, const struct config_texts *t, struct err *err);
    /* It has changed.  In the watch's thread, once; must not free the watch. */
    void (*changed)(void *arg);
    void *arg;
};
struct config_watch *config_watch_new(const struct config_watch_args *args) _warn_unused_;
int config_watch_start(struct config_watch *w, struct err *err) _warn_unused_;
/* Ends the thread, and the request that it may wait for.  NULL is fine. */
void config_watch_free(struct config_watch *w);

/* --- inside, for tests ------------------------------------------------------------------------ */
/* One look.  True: the configuration has changed and is fit. */
bool config_watch_look(struct config_watch *w);

#endif
