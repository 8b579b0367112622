/* SPDX-License-Identifier: Apache-2.0 */
/* lease_watch.h: learns at once that a Lease was let go, so that its next holder need not ask again and again.
 *
 *     w = lease_watch_new(&args);      a thread with one WATCH on that one name
 *     … on_free(arg): nobody holds it, as the API server says: try now …
 *     lease_watch_free(w);
 *
 * Only a hint: whoever waits goes on asking as before, and decides by what it reads itself.  Where watching is refused (no
 * such right) or breaks off, nothing is lost but time; it is tried again.
 * Source: none upstream, which asks every 2 to 4.4 s; docs/adr/0014. */
#ifndef TRIMTAB_KUBE_LEASE_WATCH_H
#define TRIMTAB_KUBE_LEASE_WATCH_H

#include "controller/kube/config.h"

struct lease_watch;

struct lease_watch_args {
    const struct kube_config *config; /* must live longer */
    const char *user_agent;           /* copied, as the names */
    const char *ns;
    const char *name;
    /* It names nobody, or is gone.  From the watch's thread, and perhaps more often than there is news; quick. */
    void (*on_free)(void *arg);
    void *arg;
};

/* NULL when no thread could be started. */
struct lease_watch *lease_watch_new(const struct lease_watch_args *args) _warn_unused_;
/* Ends the request and the thread: on_free() is not called any more.  NULL is fine. */
void lease_watch_free(struct lease_watch *w);

/* One line of the stream says that nobody holds the Lease `name`; also for fuzzing.  Pure. */
bool lease_watch_line_says_free(const char *line, size_t n, const char *name);

#endif
