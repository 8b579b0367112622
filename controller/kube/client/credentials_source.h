/* SPDX-License-Identifier: Apache-2.0 */
/* credentials_source.h: credentials that are fetched while the program runs: kept, renewed ahead of
 * time, never twice at once.
 *
 * One thread per source does the fetching (it runs a plugin, or asks the API server), started by
 * the first who asks.  Fetched credentials are used until they expire; the thread fetches again
 * before that, so that no caller waits.  After a failure the next try comes after 1 s, 2 s … 30 s;
 * meanwhile callers get the last error, or credentials that are still valid.  Source: controller.md
 * §3.9, 4.4; vectors 196, 197, 199.  Thread-safe. */
#ifndef TRIMTAB_KUBE_CREDENTIALS_SOURCE_H
#define TRIMTAB_KUBE_CREDENTIALS_SOURCE_H

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "controller/kube/client/credentials_answer.h"

struct credentials_source;

struct credentials_source_args {
    /* Runs in the source's thread, without locks; may block, ends soon once `cancel` fires.  Texts
     * go to the arena. */
    int (*fetch)(void *arg, struct arena *a, struct cancel *cancel, struct credential *ret,
                 struct err *err);
    void (*done)(void *arg); /* when the source is freed; may be NULL */
    void *arg;
    const char *name; /* for the log: "exec plugin aws"; borrowed */
    struct clock *clock;
    /* so long before its end a credential is fetched again, at most half its life; 0: not ahead */
    int64_t lead_ms;
    int lead_percent; /* instead: so much of its life before its end */
    int tries;        /* of one fetch, before it counts as failed; 0: 1 */
    int64_t pause_ms; /* between these, doubling */
};
/* Credentials of a request.  Both members live in the caller's arena. */
struct credentials_given {
    const char *token;   /* or NULL */
    uint64_t generation; /* from 1; of the credential, for credentials_source_renew() */
};
/* One who waits.  Either cancel may be NULL; a NULL pointer to this: does not wait. */
struct credentials_waiter {
    struct cancel *one;
    struct cancel *other;
    int64_t timeout_ms; /* 0: as long as it takes */
};

struct credentials_source *credentials_source_new(const struct credentials_source_args *args)
    _warn_unused_;
void credentials_source_free(
    struct credentials_source *s); /* ends a fetch; no caller may be waiting */
/* ERR_IN_PROGRESS when it is being fetched and the caller does not wait; ERR_CANCELLED;
 * ERR_TRANSIENT when the waiter's time is over; else the fetch's error. */
int credentials_source_get(struct credentials_source *s, struct arena *a,
                           const struct credentials_waiter *waiter, struct credentials_given *ret,
                           struct err *err) _warn_unused_;
/* After a 401 for what bore `generation`.  True when it is worth a second try: there is another one
 * by now, or one is fetched (at most every 10 s for this reason), and the next get brings it. */
bool credentials_source_renew(struct credentials_source *s, uint64_t generation);

#endif
