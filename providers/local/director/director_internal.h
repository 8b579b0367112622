/* SPDX-License-Identifier: Apache-2.0 */
/* director_internal.h: the director's state, and what its files do for a turn. */
#ifndef TRIMTAB_LOCAL_DIRECTOR_INTERNAL_H
#define TRIMTAB_LOCAL_DIRECTOR_INTERNAL_H

#include <pthread.h>

#include "common/base/intern.h"
#include "common/base/map.h"
#include "providers/local/director/director.h"
#include "providers/local/director/due.h"
#include "providers/local/director/probe.h"

/* A health check of all Services that have the same one; in local_director.checks. */
struct director_check {
    char *key;
    struct local_check_spec spec;
    char *path;
    struct local_check_verdict verdict;
    bool failing;    /* its last answer was none, or a bad one */
    uint16_t weight; /* that it asked for last */
    int64_t next_ms;
    unsigned users;            /* Services */
    struct local_probe *probe; /* under way; NULL: none */
};
struct director_pace {
    int link;
    struct local_pace pace;
};
/* A link on which addresses of IPv4 were announced. */
struct director_answering {
    int link;
    bool on;   /* the kernel does not answer ARP for them: we do */
    bool told; /* that it failed */
};
struct local_director {
    struct local_director_args args;
    struct intern_table *texts, *own_texts;
    pthread_t thread;
    bool started;
    int wake[2]; /* a pipe: a byte ends the thread's wait */

    /* of the turn that is under way; of the thread alone */
    struct arena *a;
    struct local_news *news;
    size_t n_news, cap_news;
    struct arena *links_a;
    struct local_link *links; /* as last seen, in links_a; NULL: never */
    size_t n_links;
    int64_t links_next_ms;
    struct director_pace *paces;
    size_t n_paces;
    struct director_answering *answering;
    size_t n_answering;
    int64_t answering_look_ms;
    int64_t changed_again_ms; /* no Service is changed before; 0: at once */
    bool frozen;              /* checks are, and that was logged */
    bool gateway_answers;
    bool told_many;         /* that it holds more addresses than are good for it (hold.c) */
    int64_t storm_asked_ms; /* when the gateway was asked last; 0: no storm */
    struct local_watch_due due;
    bool watched, watch_failed; /* the kernel tells of changes; it was asked to and does not */
    int64_t watch_again_ms;

    struct mutex lock;
    /* by `lock` */
    bool stop;
    struct index announcements;   /* struct director_address by address (announce.c) */
    struct due_heap announce_due; /* those of them that are awake */
    struct map *holds;            /* text of the address → struct director_hold (hold.c) */
    struct map *drains;           /* "FRONTEND TARGET PORT" → struct director_drain (drain.c) */
    bool cannot_drain;            /* … and that was logged */
    struct map *checks;           /* key → struct director_check (check.c) */
    struct index services;        /* struct director_service by name (check.c) */
    struct map *changed;          /* Services of which a target has another health */
};

/* Tells the news after the turn.  `service` may be NULL, and fmt: a text of director.h. */
void local_director_note(struct local_director *d, const struct local_news *head, const char *fmt,
                         ...) _printf_(3, 4);
void local_director_count(const struct local_director *d, const char *counter, const char *first,
                          const char *second, unsigned n);

/* --- announce.c; under the lock --------------------------------------------------------------- */
void local_announcements_init(struct local_director *d);
void local_announcements_done(struct local_director *d);
/* Sends what is due; returns when something is due next. */
int64_t local_announcements_turn(struct local_director *d, int64_t now_ms);
/* The address is held now: it is announced, anew if it was already; or it is not held,
 * and not announced. */
void local_announcements_wake(struct local_director *d, const struct ip_addr *addr, int64_t now_ms);
void local_announcements_sleep(struct local_director *d, const struct ip_addr *addr);
/* The Service that gets the event; NULL: none is. */
const char *local_announcements_owner(struct local_director *d, const struct ip_addr *addr);
/* It is held, announced on the link, and no other host has it there. */
bool local_announcements_has(struct local_director *d, const struct ip_addr *addr, int link);
/* Looks at the links when it is time for it. */
int64_t local_links_turn(struct local_director *d, int64_t now_ms);

/* --- respond.c; under the lock ---------------------------------------------------------------- */
/* An address of IPv4 was announced on the link. */
void local_responses_on(struct local_director *d, int link);
/* Answers what was asked since the last turn, where the kernel does not. */
int64_t local_responses_turn(struct local_director *d, int64_t now_ms);

/* --- hold.c; under the lock ------------------------------------------------------------------- */
struct map *local_holds_new(void);
/* Holds what is this director's, lets go of the rest; returns when to do so again. */
int64_t local_holds_turn(struct local_director *d, int64_t now_ms);
/* True without `sharing`. */
bool local_holds_has(const struct local_director *d, const struct ip_addr *addr);
/* Sockets on which claims of other hosts, or their questions, are heard. */
size_t local_holds_ears(struct local_director *d, int *ret_fds, size_t max);

/* --- drain.c; under the lock ------------------------------------------------------------------ */
struct map *local_drains_new(void);
int64_t local_drains_turn(struct local_director *d, int64_t now_ms);

/* --- check.c ---------------------------------------------------------------------------------- */
void local_checks_init(struct local_director *d);
void local_checks_done(struct local_director *d);
/* Under the lock: begins probes, hears answers; returns when something is due next. */
int64_t local_checks_turn(struct local_director *d, int64_t now_ms);
/* Without the lock: has the provider change the Services of `changed`. */
int64_t local_checks_tell(struct local_director *d, int64_t now_ms);
/* Waits for answers to probes, for a wake, or until `most_ms` are over. */
void local_director_wait(struct local_director *d, int64_t most_ms);

/* --- watch.c; without the lock ---------------------------------------------------------------- */
int64_t local_watch_turn(struct local_director *d, int64_t now_ms);

/* --- storm.c; under the lock ------------------------------------------------------------------ */
#define LOCAL_LINK_NAME_MAX 16
/* The gateway of the default route in the text of /proc/net/route; false: there is none. */
bool local_gateway_read(const char *text, struct ip_addr *ret, char link[LOCAL_LINK_NAME_MAX]);
/* `storm`: most checks fail.  True: no verdict may become "down" now. */
bool local_storm_turn(struct local_director *d, bool storm, int64_t now_ms);

#endif
