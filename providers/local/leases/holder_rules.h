/* SPDX-License-Identifier: Apache-2.0 */
/* holder_rules.h: which buckets of addresses this director holds, and for how long.  Pure: `now` is
 * a parameter, monotonic.
 *
 * Directors know of each other by their Leases alone.  A bucket of a group of pools goes this way:
 *
 *     FREE     → ASKED    the owner, if no other director claims it
 *     ASKED    → HELD     its own claim is written, and a list after that has no other claim
 *     ASKED    → FREE     another director is the owner
 *     HELD     → LEAVING  another director is the owner, or the end
 *     LEAVING  → FREE     the kernel has released it, by hand or by itself
 *
 * The owner is the live director with the greatest hash that takes buckets and reaches the group.
 * Two that ask at once cannot both hold: each lists after its claim was written, so one of them at
 * least sees the other's claim.
 *
 * Addresses of held buckets have a lifetime in the kernel, `until`.  It is one lease duration after
 * the own Lease was *sent* the last time; others count from when they saw it change, which is
 * later, and wait a second more.  So what a dead process held is gone before another one takes it.
 * While the API server does not answer this director is *tentative*: with apiLoss keep it goes on,
 * unless another machine announces its addresses.
 *
 * One thread at a time. */
#ifndef TRIMTAB_LOCAL_LEASES_HOLDER_RULES_H
#define TRIMTAB_LOCAL_LEASES_HOLDER_RULES_H

#include "common/base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOCAL_BUCKETS       256
#define LOCAL_DIRECTORS_MAX 64 /* others; more of them are not looked at */
#define LOCAL_TAKE_LATER_MS                                                                        \
    1000 /* after the lease duration of a director that was not seen to renew */

/* A bit for each bucket. */
struct local_bucket_set {
    uint64_t bits[LOCAL_BUCKETS / 64];
};
static inline bool local_bucket_set_has(const struct local_bucket_set *s, unsigned bucket)
{
    return (s->bits[bucket / 64] >> bucket % 64 & 1) != 0;
}
static inline void local_bucket_set_add(struct local_bucket_set *s, unsigned bucket)
{
    s->bits[bucket / 64] |= (uint64_t)1 << bucket % 64;
}
unsigned local_bucket_set_count(const struct local_bucket_set *s);

/* Contents of a director's Lease. */
struct local_lease_seen {
    const char *name;    /* of the director */
    const char *version; /* another text after each write of its director */
    bool ended;          /* it let go of everything */
    int64_t duration_ms;
    bool takes;                           /* it may be given buckets */
    const struct local_bucket_set *holds; /* of each group */
    const bool *near;                     /* of each group: it reaches its clients */
};

struct local_holder;
struct local_holder_terms {
    const char *name; /* of this director; copied */
    int64_t duration_ms;
    int64_t renew_ms;
    bool release;    /* apiLoss */
    size_t n_groups; /* of pools; at least one */
};
struct local_holder *local_holder_new(const struct local_holder_terms *terms) _warn_unused_;
void local_holder_free(struct local_holder *h);

/* --- what goes into it ------------------------------------------------------------------------ */

/* Which groups this director reaches; none at first. */
void local_holder_reach(struct local_holder *h, const bool *near);
/* The kernel is programmed: buckets may come.  False at first. */
void local_holder_ready(struct local_holder *h, bool ready);
/* An operator wants others to hold what they can. */
void local_holder_drain(struct local_holder *h, bool drain);
/* Another machine uses this director's name: nothing may be held. */
void local_holder_halt(struct local_holder *h, bool halt);
/* The process ends: everything is let go. */
void local_holder_leave(struct local_holder *h);
/* The list of the others' Leases, asked for at `asked_ms`. */
void local_holder_see(struct local_holder *h, const struct local_lease_seen *all, size_t n,
                      int64_t asked_ms, int64_t now_ms);
/* The same from a watch, in place of a list (lease_view.h): all that was written before `asked_ms`
 * is in it.  At rest it comes with each renewal, not twice a second. */
void local_holder_see_watched(struct local_holder *h, const struct local_lease_seen *all, size_t n,
                              int64_t asked_ms, int64_t now_ms);
/* The claims of local_holder_claims() in this turn were written, by a request of `sent_ms`. */
void local_holder_wrote(struct local_holder *h, uint64_t turn, int64_t sent_ms, int64_t now_ms);
/* A request failed. */
void local_holder_failed(struct local_holder *h);
/* Another host claims an address of the bucket on the wire. */
enum local_claim_answer {
    LOCAL_CLAIM_IGNORED = 0, /* it is not held here */
    LOCAL_CLAIM_DEFEND,      /* it is, by a valid Lease: announce */
    LOCAL_CLAIM_YIELDED,     /* it was, without one: no longer */
};
enum local_claim_answer local_holder_heard(struct local_holder *h, size_t group, unsigned bucket,
                                           int64_t now_ms);
/* Around letting go in the kernel: what is to go by the first call is gone by the second. */
void local_holder_dropping(struct local_holder *h);
void local_holder_dropped(struct local_holder *h);

/* --- what comes out of it --------------------------------------------------------------------- */

/* Moves on to `now`; to be called before the questions below. */
void local_holder_turn(struct local_holder *h, int64_t now_ms);
/* Addresses of the bucket are this director's, until that moment. */
bool local_holder_holds(const struct local_holder *h, size_t group, unsigned bucket);
int64_t local_holder_until_ms(const struct local_holder *h);
/* When the Lease is to be written next; a moment that is over: at once. */
int64_t local_holder_write_ms(const struct local_holder *h);
/* The others were not listed since the Lease was written. */
bool local_holder_must_list(const struct local_holder *h);
/* Up to that moment a watch that is current does in place of lists.  Another director that is late
 * is looked for twice a second, to distinguish a silent API server from a silent director;
 * likewise where a lease has no time for three renewals. */
int64_t local_holder_rest_ms(const struct local_holder *h);
/* Without a valid Lease of its own: the API server does not answer. */
bool local_holder_is_tentative(const struct local_holder *h);
/* The Lease to write: `ret` has a set for each group. */
uint64_t local_holder_claims(const struct local_holder *h, struct local_bucket_set *ret);
/* May buckets be given to it? */
bool local_holder_takes(const struct local_holder *h);

struct local_holder_counts {
    unsigned held, asked, leaving; /* buckets, over all groups */
    unsigned others;               /* live directors beside this one */
    uint64_t taken_free;           /* buckets that were taken, by why: from the start */
    uint64_t taken_dead;           /* … whose director was not heard of any more */
    uint64_t lost;                 /* let go without being asked: lifetime over, or yielded */
};
struct local_holder_counts local_holder_count(const struct local_holder *h);

#endif
