/* SPDX-License-Identifier: Apache-2.0 */
/* service_cache.h: what this process knows of each Service that it has dealt with.
 *
 * Upstream's serviceCache and lastSyncedNodes in one: the object as of the last sync's start (so
 * that a vanished one can still be cleaned up), and the node and endpoint sets that its load
 * balancer was last given, as fingerprints.  An entry is made when a Service's first sync begins
 * and dropped when its load balancer is gone, with everything in it (controller.md §1.12, 1.15;
 * deviation 8), but for two marks that last as long as the object:  that its finalizer is another
 * controller's, and that finalizers were just taken off it.  Thread-safe; one lock (row 1 of
 * common/base/lock.h).  Objects are handed out as references. */
#ifndef TRIMTAB_CONTROLLER_SERVICE_CACHE_H
#define TRIMTAB_CONTROLLER_SERVICE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attr.h"
#include "common/lb/mark_rules.h"
#include "controller/kube/store/object.h"
#include "controller/sync/node_sets.h"

struct service_cache;

/* A copy of an entry; service_known_done() after use. */
struct service_known {
    bool cached;               /* there is an entry; else the rest is zero */
    struct kube_object *state; /* NULL: only marked */
    /* as it was at its last ensure that ended well; NULL: there was none */
    struct kube_object *accepted;
    bool ours; /* it was synced as ours (wanted a load balancer), or we put the finalizer there */
    bool foreign; /* its finalizer is another controller's: it carried that one's class */
    /* its last ensure was refused, nothing stands, and only a change helps: of it, or
     * of its backends */
    bool stuck;
    bool half; /* since `accepted` something was carried out for it, and no ensure has ended well */
    /* its last ensure was, or it failed before anything was carried out: what stands is what
     * `accepted` asks for */
    bool refused;
    /* what it asked for before was kept on it since its last ensure that ended well */
    bool replacing;
    /* nothing of that lacks: it was led back to it, or nothing was taken down */
    bool whole;
    /* its load balancer was deleted, whatever became of the request that says so on it, and none
     * was ensured since */
    bool gone;
    bool behind;      /* the last update of its backends failed */
    bool nobody;      /* its last findings say that it serves no client (service_findings) */
    int64_t waits_ms; /* since when the cloud is at work for it, by the clock; 0: it is not */
    bool wait_told;   /* an event has said that this takes long */
    bool has_nodes;
    bool by_own;               /* what the provider says of nodes concerns it, too (TT_OWN_NODES) */
    struct node_digests nodes; /* that were last handed over */
    uint64_t own_nodes;        /* node_sets_of_service() of these */
    bool has_endpoints;
    uint64_t endpoints;
    uint64_t addresses; /* fingerprint of those that its status got last; 0: not known */
    /* what the last look found (drift_rules.h), 0: nothing, or there was none since
     * the last ensure */
    uint64_t drift;
};

struct service_cache *service_cache_new(void) _warn_unused_;
void service_cache_free(struct service_cache *c); /* NULL is fine */

/* Gives back the references of a copy; the rest stays. */
void service_known_done(struct service_known *k);
struct service_known service_cache_get(struct service_cache *c, const char *key);
/* Another object has the name: of the copy stays what it was, and whether it was ours. */
void service_known_forget(struct service_known *k);
bool service_cache_has(struct service_cache *c, const char *key); /* as `cached` of a copy says */
/* The object that is about to be synced (a reference is taken); `ours` is only ever set, not taken
 * back, as long as the UID stays. */
void service_cache_set(struct service_cache *c, const char *key, struct kube_object *state,
                       bool ours);
/* The sets that are about to be handed over, and node_sets_of_service() of them.  False: a pass
 * over all entries was made with other nodes, maybe before this entry was there to be seen; the
 * Service must be looked at once more. */
bool service_cache_set_nodes(struct service_cache *c, const char *key,
                             const struct node_digests *nodes, uint64_t own_nodes) _warn_unused_;
/* Whether the provider's digests concern it.  False: as above, a pass that did not yet know so. */
bool service_cache_set_by_own(struct service_cache *c, const char *key, bool by_own) _warn_unused_;
/* Is this what an entry (with has_nodes) was given, as far as it concerns it?  By the digests of
 * all nodes alone: where `own` differs, `own_nodes` may still be the same. */
bool service_known_has_nodes(const struct service_known *k, const struct node_digests *nodes);
void service_cache_set_endpoints(struct service_cache *c, const char *key, uint64_t fingerprint);
/* The addresses that its status is about to be given; `own`: by this process, and not by another
 * one that publishes what the provider says (TT_OWN_STATUS). */
void service_cache_set_addresses(struct service_cache *c, const char *key, uint64_t fingerprint,
                                 bool own);
/* Did this process give its status exactly these addresses, and none since? */
bool service_cache_gave_addresses(struct service_cache *c, const char *key, uint64_t fingerprint);
/* Did its status get other addresses than these?  False: the same, or none yet. */
bool service_cache_has_other_addresses(struct service_cache *c, const char *key,
                                       uint64_t fingerprint);
/* How the ensure of an entry ended.  A good one accepted the object as it was set last.  After one
 * that was refused, a change of its backends may help (`stuck`), or goes to what stands.
 * `touched`: something may have been carried out. */
struct ensure_end {
    bool good, refused, stuck, touched;
};
void service_cache_end_ensure(struct service_cache *c, const char *key,
                              const struct ensure_end *end);
/* Its former wishes are kept on it, until an ensure ends well. */
void service_cache_note_replacing(struct service_cache *c, const char *key);
/* Whether all of what its former wishes ask for stands, as far as this process knows. */
void service_cache_set_whole(struct service_cache *c, const char *key, bool whole);
/* Its load balancer was deleted. */
void service_cache_note_gone(struct service_cache *c, const char *key);
/* A replacement of it was refused: the text that says so (former_rules.h), kept until an ensure
 * ends well.  An entry that is not there keeps nothing. */
void service_cache_note_refusal(struct service_cache *c, const char *key, const char *text);
/* That text, in the arena; NULL: there is none. */
const char *service_cache_refusal(struct service_cache *c, struct arena *a, const char *key);
/* Leading back to what it asked for before was refused in the same words as the ensure before it
 * (sync_former.c); kept until an ensure ends well.  An entry that is not there keeps nothing. */
struct service_futile {
    uint64_t words;   /* digest of the wish and the words; 0: there was none */
    int64_t until_ms; /* by the clock: then it is tried all the same */
    unsigned tries;   /* how often in a row */
};
void service_cache_set_futile(struct service_cache *c, const char *key,
                              const struct service_futile *f);
struct service_futile service_cache_futile(struct service_cache *c, const char *key);
/* Whether its backends are behind, see struct service_known. */
void service_cache_set_behind(struct service_cache *c, const char *key, bool behind);
/* The cloud is at work for it (TT_IN_PROGRESS).  Returns since when, by the clock: `now_ms` the
 * first time; 0 (and keeps nothing) for an entry that is not there. */
int64_t service_cache_note_wait(struct service_cache *c, const char *key, int64_t now_ms);
/* It is not any more.  `told` true: it continues, but its owner knows by now that it takes long. */
void service_cache_end_wait(struct service_cache *c, const char *key, bool told);
/* Stores the result of a check; returns true if it changed.  Without an entry nothing is stored. */
bool service_cache_set_drift(struct service_cache *c, const char *key, uint64_t digest);
/* Digests of what is known to be without effect (`n` at most SERVICE_FINDINGS_MAX), and of why
 * no client is served, 0 if one is.  With `part` only the latter is news: an update of backends
 * does not look at all wishes.  Returns what was known before in ret_was; an entry that is not
 * there keeps nothing and knew nothing. */
#define SERVICE_FINDINGS_MAX 64
struct service_findings {
    uint64_t items[SERVICE_FINDINGS_MAX];
    size_t n;
    uint64_t nobody;
    bool nobody_unknown; /* what was known of it stays */
    bool known;          /* a sync of this process has noted them */
};
void service_cache_set_findings(struct service_cache *c, const char *key,
                                const struct service_findings *now, bool part,
                                struct service_findings *ret_was);
/* Something of it cannot be read; `digest` of why, not 0.  True when that was not known
 * of this entry. */
bool service_cache_set_unreadable(struct service_cache *c, const char *key, uint64_t digest);
/* `uid` carried another controller's class when it lost its type: the finalizer
 * is that controller's. */
void service_cache_mark_foreign(struct service_cache *c, const char *key, const char *uid);
/* Another program took these finalizers off it (bits of scope_lost_finalizers()): an ensure that
 * ends well holds them again, and one that fails puts them there, too.  An entry that is not there
 * keeps nothing. */
void service_cache_note_lost(struct service_cache *c, const char *key, uint32_t finalizers);
uint32_t service_cache_lost(struct service_cache *c, const char *key); /* 0: none */
/* Finalizers were taken off the object `uid`.  Until they are put there again, or it is seen
 * without, a view of it that shows them may be older than that.  Outlives service_cache_set(), not
 * service_cache_drop(). */
void service_cache_note_let_go(struct service_cache *c, const char *key, const char *uid);
bool service_cache_has_let_go(struct service_cache *c, const char *key, const char *uid);
void service_cache_clear_let_go(struct service_cache *c, const char *key);
/* `mark` was written to the object `uid`; NULL: a view shows it, nothing is to be remembered.  An
 * entry that is not there keeps nothing.  Goes with the entry. */
void service_cache_note_marked(struct service_cache *c, const char *key, const char *uid,
                               enum mark mark);
enum mark service_cache_marked(struct service_cache *c, const char *key, const char *uid);
/* The mark was refused, and what came with it was taken: it is written by itself next time, until
 * the Service shows it (service_cache_note_marked()). */
void service_cache_owe_mark(struct service_cache *c, const char *key);
bool service_cache_owes_mark(struct service_cache *c, const char *key, const char *uid);
void service_cache_drop(struct service_cache *c, const char *key);
/* The same, but the marks of mark_foreign() and note_let_go() stay: for an object that
 * is still there. */
void service_cache_drop_known(struct service_cache *c, const char *key);
/* How many Services it knows, marks included; at once. */
size_t service_cache_size(struct service_cache *c);
/* Keys (heap, as are the strings) of Services synced as ours whose nodes differ
 * from `nodes`; sorted. */
char **service_cache_with_other_nodes(struct service_cache *c, const struct node_digests *nodes,
                                      size_t *ret_n);

#endif
