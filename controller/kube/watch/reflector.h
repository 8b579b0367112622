/* SPDX-License-Identifier: Apache-2.0 */
/* reflector.h: LIST and WATCH: keeps stores equal to what the API server holds.
 *
 * One thread and one HTTP handle drive all reflectors (docs/architecture.md), over one connection
 * where the server speaks HTTP/2.  A streaming list or a LIST in pages is cut into items as bytes
 * arrive; a WATCH resumes at the last resourceVersion, understands bookmarks, both kinds of 410,
 * silent connections and ends in the middle of a line.  The decision what to ask next is a pure
 * state machine (reflector_rules.h) with the vectors of controller.md §6.10.
 * Source: controller.md §4.8; docs/adr/0017-talking-to-the-api-server.md. */
#ifndef TRIMTAB_KUBE_REFLECTOR_H
#define TRIMTAB_KUBE_REFLECTOR_H

#include "common/base/clock.h"
#include "common/base/err.h"
#include "controller/kube/client/config.h"
#include "controller/kube/model/sent.h"
#include "controller/kube/store/store.h"

struct kube_reflectors;

struct kube_reflectors_args {
    const struct kube_config *config;
    const char *user_agent;
    struct clock *clock;
    struct rng *rng;
    struct cancel *cancel;
    /* One list per kind and no watch; ends at trouble that is final (unreachable.h) in
     * place of trying again. */
    bool gives_up;
    bool streams;                 /* begin with streaming lists (WatchList); LIST where they fail */
    int page_size;                /* 0: 500 */
    int64_t min_watch_timeout_ms; /* 0: 5 min; the maximum is twice it */
    kube_sent_fn *observe;        /* required */
    void *observe_arg;
};
/* The value of args.streams by the environment's KUBE_FEATURE_WatchListClient: on unless it is a Go
 * boolean that says no (§3.3).  NULL: not set.  Logs a value that is none. */
bool kube_reflectors_gate(const char *value);
struct kube_reflectors *kube_reflectors_new(const struct kube_reflectors_args *args) _warn_unused_;
/* `label_selector` NULL: all.  Before start. */
void kube_reflectors_add(struct kube_reflectors *r, struct kube_store *store,
                         const char *label_selector);
int kube_reflectors_start(struct kube_reflectors *r, struct err *err) _warn_unused_;
/* Waits until all stores are synced, the cancel fires (CANCELLED), final trouble with gives_up, or
 * until_ms.  `ret_err` gets the last trouble. */
int kube_reflectors_wait_synced(struct kube_reflectors *r, int64_t until_ms,
                                struct err *err) _warn_unused_;
/* True once final trouble ended the work (gives_up). */
bool kube_reflectors_gave_up(struct kube_reflectors *r);
/* The last trouble, as kube_reflectors_wait_synced() would tell it; ERR_OK when the
 * last request was answered. */
int kube_reflectors_trouble(struct kube_reflectors *r, struct err *err);
/* Ends the thread and frees; stores stay. */
void kube_reflectors_free(struct kube_reflectors *r);

#endif
