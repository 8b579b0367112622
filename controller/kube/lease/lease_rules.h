/* SPDX-License-Identifier: Apache-2.0 */
/* lease_rules.h: who holds a Lease, when it may be taken, and what is written: client-go's leader
 * election as a state machine that asks for calls instead of making them.
 *
 * One attempt (`lease_try`) is a short walk: begin() says which call comes first, each answer says
 * which comes next, until LEASE_END.
 *
 *     we hold it, as far as we know ──▶ UPDATE ──ok──▶ END, leads
 *                                         └─fails─▶ GET
 *     GET ──absent──▶ CREATE ──ok──▶ END, leads          GET ──fails──▶ END
 *      └──held by another, not yet run out──▶ END
 *      └──ours, without holder, or run out──▶ UPDATE ──ok──▶ END, leads
 *
 * Times in a record are the writer's and are never compared with our clock: a lease has run out
 * when this process saw no change of it for as long as the record says (monotonic time).  So clocks
 * may differ, and a newcomer waits for one duration even where the holder is long dead, unless it
 * let go.
 * Source: controller.md §4.9, vectors §6.9.  Pure: `now` is a parameter. */
#ifndef TRIMTAB_KUBE_LEASE_RULES_H
#define TRIMTAB_KUBE_LEASE_RULES_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define LEASE_HOLDER_MAX 320 /* bytes with the NUL; a longer name of another process is cut */
/* A leader counts as healthy this much longer than its lease (§3.5). */
#define LEASE_HEALTH_SLACK_MS ((int64_t)20 * 1000)

/* Configuration of a lock, with its time limits.  Texts are borrowed. */
struct lease_terms {
    const char *ns;
    const char *name;
    const char *identity;      /* this process: host name and something random; never "" */
    int64_t duration_ms;       /* whole seconds are written; 15,000 */
    int64_t renew_deadline_ms; /* < duration: after it a holder that cannot renew stops; 10,000 */
    int64_t retry_ms;          /* pause between renewals, shortest one between tries; 2,000 */
};

/* The spec of a Lease. */
struct lease_record {
    char holder[LEASE_HOLDER_MAX]; /* "": none */
    int32_t duration_s;            /* 0: not said */
    int32_t transitions;           /* changes of the holder so far */
    int64_t acquired_us;           /* wall time by the holder's clock; 0: not said */
    int64_t renewed_us;
};

/* Known state of a lease; zero at first. */
struct lease_view {
    bool has_observed;            /* anything was ever observed */
    struct lease_record observed; /* the last record that was read as changed, or written by us */
    int64_t observed_ms;          /* when (monotonic) */
    bool has_read;
    /* the last record that a GET returned; what we wrote does not count */
    struct lease_record read;
};

enum lease_step {
    LEASE_GET = 0,
    LEASE_CREATE, /* of `wanted` */
    LEASE_UPDATE, /* of the object that was read or written last, to `wanted` */
    LEASE_END,
};

struct lease_try {
    const struct lease_terms *terms;
    struct lease_view *view;
    enum lease_step next;
    struct lease_record wanted; /* what a CREATE or UPDATE writes */
    int64_t began_ms;
    bool fast;      /* the UPDATE is without a GET before it */
    bool slow_path; /* the holder had to read before it could renew (a metric) */
    bool leads;     /* at LEASE_END */
};

/* INVALID with upstream's words when the times do not fit each other or the identity is
 * empty or too long. */
int lease_terms_check(const struct lease_terms *terms, struct err *err);

/* Begins an attempt.  `now_ms` is monotonic, `wall_us` what the record will say. */
void lease_try_begin(struct lease_try *t, const struct lease_terms *terms, struct lease_view *view,
                     int64_t now_ms, int64_t wall_us);
/* The GET's answer; NULL: there is no such lease. */
void lease_try_read(struct lease_try *t, const struct lease_record *found, int64_t now_ms);
/* The CREATE or UPDATE was done. */
void lease_try_written(struct lease_try *t, int64_t now_ms);
/* The call failed, whatever it was (a GET's 404 is an answer). */
void lease_try_failed(struct lease_try *t);

/* Is this process the holder, as far as it knows? */
bool lease_is_ours(const struct lease_view *view, const struct lease_terms *terms);
/* Another holder's name is in it, as far as is known. */
bool lease_is_others(const struct lease_view *view, const struct lease_terms *terms);
/* The record that releases a lease: no holder, valid for a second; `held` is the last written
 * record. */
void lease_release_record(const struct lease_record *held, int64_t wall_us,
                          struct lease_record *ret);

/* The pause after a vain try: retry · [1, 2.2), so that candidates do not come together.
 * `unit` is in [0, 1). */
int64_t lease_acquire_wait_ms(const struct lease_terms *terms, double unit);
/* False for a holder that should have noticed long ago that it cannot renew (vector 157). */
bool lease_is_healthy(bool held, int64_t renewed_ms, int64_t duration_ms, int64_t now_ms);

#endif
