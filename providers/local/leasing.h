/* SPDX-License-Identifier: Apache-2.0 */
/* leasing.h: addresses that this director has only while it holds them: by its Lease among
 * directors, or while it leads.
 *
 *   leasing.c       the director's thread and syncs ask here whose an address is
 *   leasing_look.c  explain and plan ask the Leases who holds an address
 *   leasing_watch.c what the host's watch shows of Leases, for that thread
 *   leasing_talk.c  a thread of its own writes and reads Leases: the API server may take its time,
 *                   the kernel may not
 *
 * Lock: `lock` is taken last, for moments; nothing is called under it. */
#ifndef TRIMTAB_LOCAL_LEASING_H
#define TRIMTAB_LOCAL_LEASING_H

#include <pthread.h>

#include "providers/local/leases/lease_view.h"
#include "providers/local/provider.h"

#define LOCAL_MACHINE_MAX 64

struct local_leasing {
    struct local_provider *p;
    struct local_sharing sharing;
    int64_t spare_ms; /* not 0: while this replica leads; the holder is NULL then */
    const char *machine;
    pthread_t thread;
    bool started;
    struct map *fresh; /* keys of Services that were not synced since the start; p->lock */
    char *unsynced;    /* the key of one of them that has an address; p->lock */
    bool ready;        /* all were; p->lock */

    struct mutex lock;
    struct cond changed;
    /* by `lock` */
    struct local_holder *holder;
    struct local_reach *reach;
    size_t n_reach;
    bool *near;
    bool offered;                    /* something was: the fence is asked from then on */
    bool ending;                     /* the process ends */
    bool over;                       /* the thread has said goodbye, or given up */
    int64_t until_ms;                /* of spare_ms */
    struct local_holder_counts told; /* as metrics and logs know it */
    bool told_tentative;
    struct local_lease_view *view; /* NULL: Leases are not watched */
    bool news;                     /* it has shown something since it was looked at */

    /* of the thread alone */
    char *version;       /* of the own Lease; "": not known, there may be none */
    char *rival_renewal; /* of a Lease of this name and another machine: when it was last written */
    int64_t rival_ms;    /* since when that is known; 0 if there is none */
    int64_t rival_told_ms;
    int64_t listed_ms;       /* when the last list was asked for */
    int64_t looked_until_ms; /* end of the lifetimes at the last look */
    int64_t wrote_ms;        /* when the answer of the last write came; 0: none yet */
};

/* Begins to watch Leases; without a watch they are listed. */
void local_leasing_watch_start(struct local_leasing *l);
/* The own Lease has this version: it was written, or listed. */
void local_leasing_watch_wrote(struct local_leasing *l);
/* Until when nothing need be listed; under the lock. */
int64_t local_leasing_rest_ms(struct local_leasing *l);
/* Takes in what the watch has shown, if it is current. */
void local_leasing_look(struct local_leasing *l);
/* The own Lease, as it is. */
void local_leasing_read_own(struct local_leasing *l, const struct local_lease *lease);

/* The thread. */
int local_leasing_talk_start(struct local_leasing *l, struct err *err) _warn_unused_;
/* Counts and logs what has changed since; without the lock. */
void local_leasing_tell(struct local_leasing *l);

#endif
