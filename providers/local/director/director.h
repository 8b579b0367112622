/* SPDX-License-Identifier: Apache-2.0 */
/* director.h: what goes on at a director between two syncs: announcements, health checks, looks at
 * the links.
 *
 * One thread makes turns: a turn does all that is due and says when the next one is.  Tests make
 * turns themselves.  The thread has a kernel handle of its own, which nothing else uses.  Functions
 * below may be called from any thread; those that syncs call take the director's lock for moments
 * only.  Callbacks are called from the thread: `count` under that lock, the others without it. */
#ifndef TRIMTAB_LOCAL_DIRECTOR_DIRECTOR_H
#define TRIMTAB_LOCAL_DIRECTOR_DIRECTOR_H

#include "common/base/clock.h"
#include "providers/local/director/announce_rules.h"
#include "providers/local/director/check_rules.h"
#include "providers/local/director/watch_rules.h"
#include "providers/local/kernel/kernel.h"

struct local_director;

/* A report to an owner or an operator. */
struct local_news {
    bool warning;
    /* "namespace/name", whose owner gets an event; NULL: it concerns the machine */
    const char *service;
    const char *reason; /* of the event */
    const char *text;   /* NULL: nothing is said, but what the Service's status says of it is old */
    struct local_in_use { /* of AddressInUse; addr.len 0: something else */
        struct ip_addr addr;
        uint8_t mac[6]; /* of the host that answered */
    } in_use;
};
/* Ownership of addresses among several directors.  All functions are called under the director's
 * lock, and may not call it back. */
enum local_heard_answer {
    LOCAL_HEARD_IGNORE = 0,
    LOCAL_HEARD_DEFEND, /* announce it again */
    LOCAL_HEARD_YIELD,  /* let it go */
};
struct local_sharing {
    /* Moves on to `now`.  Until when addresses may be held; a moment that is over: none may. */
    int64_t (*turn)(void *arg, int64_t now_ms);
    bool (*holds)(void *arg, const struct ip_addr *addr);
    /* The links as they are, each second; `kernel` may be used for other looks. */
    void (*look)(void *arg, struct local_kernel *kernel, const struct local_link *links, size_t n);
    /* Around letting go of what is not this director's any more; the second only when all of
     * it is gone. */
    void (*dropping)(void *arg);
    void (*dropped)(void *arg);
    /* Another host claims it on a link. */
    enum local_heard_answer (*heard)(void *arg, const struct ip_addr *addr, int64_t now_ms);
    void *arg;
    int64_t renew_ms; /* lifetimes are renewed about as often */
};
struct local_director_args {
    struct local_kernel *kernel; /* the director's from now on */
    struct clock *clock;
    struct rng *rng;
    /* Callbacks; each may be NULL.  Texts live during the call. */
    void (*tell)(void *arg, const struct local_news *news);
    /* Adds n to the counter with the values of its labels, in their order; `second` NULL:
     * it has one. */
    void (*count)(void *arg, const char *counter, const char *first, const char *second,
                  unsigned n);
    /* Targets of these Services went down or came up: their weights are to change.  False: of some
     * it could not be done; asked again of all of them in a second. */
    bool (*changed)(void *arg, const char *const *services, size_t n);
    /* Looks whether others have changed what is ours; false: it could not be done, or not all could
     * be put right.  NULL: others are not watched. */
    bool (*look)(void *arg, enum local_look what);
    /* Others gave up a route for the address. */
    void (*freed)(void *arg, const struct ip_addr *addr);
    void *arg;
    /* With `look`: the table that is watched, and another handle of this process, whose
     * changes are not others'. */
    const char *instance;
    const struct local_kernel *own;
    const struct local_sharing *sharing; /* NULL: what is held stays held, and syncs do it */
    struct intern_table *texts;          /* borrowed, for names; NULL: one of its own */
};
struct local_director *local_director_new(const struct local_director_args *args) _warn_unused_;
/* Its handle of the kernel, for counts; for its own thread alone.  NULL: there is no director. */
const struct local_kernel *local_director_kernel(const struct local_director *d);
/* Starts the thread.  TRANSIENT: the system has no thread for it. */
int local_director_start(struct local_director *d, struct err *err) _warn_unused_;
/* Ends the thread, which takes as long as a request to the kernel; what it announced stays
 * announced.  NULL is fine. */
void local_director_free(struct local_director *d);
/* Does what is due; returns the moment of the next turn (monotonic), at most a second away.  Not
 * while the thread runs. */
int64_t local_director_turn(struct local_director *d);

/* Has the thread make a turn now. */
void local_director_wake(struct local_director *d);

/* --- addresses that are held for a time, with `sharing` (hold.c) ------------------------------ */

/* The address may be held, by an address on this link; whether it is says `sharing`. */
void local_director_offer(struct local_director *d, const struct ip_addr *addr, int link);
/* It may not any more on this link; when this returns it is not held there. */
int local_director_take_back(struct local_director *d, const struct ip_addr *addr, int link,
                             struct err *err) _warn_unused_;
/* Another program took it from this link before its time was over: the next turn holds it again.
 * False: it was not held there. */
bool local_director_lost(struct local_director *d, const struct ip_addr *addr, int link);
struct local_offered {
    struct ip_addr addr;
    int link;
    bool held;
};
/* Calls `each` for all that were offered, under the director's lock. */
void local_director_offered(struct local_director *d,
                            void (*each)(void *arg, const struct local_offered *o), void *arg);

/* --- announcements (announce.c) --------------------------------------------------------------- */

struct local_announce_order {
    struct ip_addr addr;
    const struct local_link *const *links;
    size_t n_links;
    int64_t refresh_ms; /* 0: on changes only */
    bool probe;         /* the address was not held here before: another host may have it */
    const char *owner;  /* "namespace/name" of the Service that gets an event when another host
                         * has it */
};
/* Announces the address on these links from now on; with `sharing` while it is held, and probed
 * only if it is this director's at once.  On a link where it is announced already
 * only `refresh_ms` changes. */
void local_director_announce(struct local_director *d, const struct local_announce_order *order);
/* One that is announced is announced on the links of the order from now on, and on no other;
 * order->probe is false.  Nothing happens to one that is not. */
void local_director_follow_links(struct local_director *d,
                                 const struct local_announce_order *order);
/* It was away for a moment: it is announced anew where it is announced. */
void local_director_again(struct local_director *d, const struct ip_addr *addr);
/* Ends it on all links. */
void local_director_withdraw(struct local_director *d, const struct ip_addr *addr);

/* Of the address and the six bytes of `mac`. */
#define LOCAL_IN_USE_FORMAT "%s answers from %02x:%02x:%02x:%02x:%02x:%02x; not announced"
struct local_announce_state {
    bool known;     /* the director has the address to announce */
    bool probing;   /* on some link: not announced there yet */
    bool in_use;    /* on some link: another host answered */
    int64_t ago_ms; /* since the last announcement; -1: none */
    uint8_t mac[6]; /* of the host that answered */
};
struct local_announce_state local_director_announced(struct local_director *d,
                                                     const struct ip_addr *addr);

/* --- connections to targets that left (drain.c) ----------------------------------------------- */

/* A target of a frontend left: its connections may go on for so long, then they end.  One that
 * drains already keeps its moment. */
void local_director_drain(struct local_director *d, const struct local_connection *c,
                          int64_t after_ms);
/* How many drain. */
size_t local_director_draining(struct local_director *d);
/* These are targets of the frontend: their connections stay. */
void local_director_stays(struct local_director *d, const struct local_frontend_id *id,
                          const struct local_target_set *t);

/* --- health checks (check.c) ------------------------------------------------------------------ */

struct director_check; /* one question, asked for all Services that have it */
struct local_checked {
    const char *key; /* local_check_key() */
    struct local_check_spec spec;
    bool starts_down;             /* if it was not asked so far */
    struct director_check *check; /* filled in: as long as a Service has it */
};
/* The checks of the Service's targets from now on, in place of earlier ones, each once; none: the
 * Service is forgotten. */
void local_director_check(struct local_director *d, const char *service,
                          struct local_checked *items, size_t n);
/* False: it is not checked. */
bool local_director_health(struct local_director *d, const char *key, struct local_health *ret);
struct local_health local_director_health_by(struct local_director *d,
                                             const struct director_check *c);

#endif
