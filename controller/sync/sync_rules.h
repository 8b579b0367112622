/* SPDX-License-Identifier: Apache-2.0 */
/* sync_rules.h: what to do about a Service, and what its outcome means for the queue.  Pure.
 *
 * The decisions of upstream's service controller (controller.md §1.3, 1.6–1.11, 1.15) with our
 * deviations (§1.21), as functions of a few facts, so that the whole matrix can be tested
 * as a table. */
#ifndef TRIMTAB_CONTROLLER_SYNC_RULES_H
#define TRIMTAB_CONTROLLER_SYNC_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trimtab/provider.h>

#include "common/lb/service_rules.h"

/* Which Services are the controller's: those without a class, and the classes and finalizers that
 * the provider's descriptor names. */
struct sync_scope {
    const char *const *classes;
    size_t n_classes;
    const char *const *finalizers;
    size_t n_finalizers;
    const char *const *own_annotations; /* that the provider writes itself */
    size_t n_own_annotations;
    const char *const *wishes; /* annotations that ask for something; NULL: all others */
    size_t n_wishes;
    const char *provider; /* its name, as in marks (common/lb/mark_rules.h) */
    bool follows_ingress; /* TT_CAP_FOLLOWS_INGRESS */
};
/* The provider's properties by its descriptor. */
struct sync_scope sync_scope_of(const struct tt_provider *desc);

/* Type LoadBalancer and no class, or one of trimtab. */
bool scope_wants(const struct sync_scope *scope, const struct tt_service *s);
/* Type LoadBalancer with a class of another program. */
bool scope_is_foreign(const struct sync_scope *scope, const struct tt_service *s);
/* Carries the cleanup finalizer or one of the provider's. */
bool scope_holds(const struct sync_scope *scope, const struct tt_service *s);
/* Has this provider made or edited a load balancer for it, as far as the Service says
 * (mark_is_by())?  Not beside another program's class while the status still names ours: a class
 * cannot be edited, and comes with a type that was away, so that the API server has emptied the
 * status; this one is another's because a flag of this process is missing. */
bool scope_made(const struct sync_scope *scope, const struct tt_service *s);
/* It has, or may have, a load balancer of ours that it does not want: it bears one of our
 * finalizers or scope_made() says so, and is being deleted or is no LoadBalancer any more; or
 * scope_made() says so of one with another program's class, whenever that came (docs/adr/0100). */
bool scope_needs_cleanup(const struct sync_scope *scope, const struct tt_service *s);
/* Does it ask for something else than it did?  Annotations that ask for nothing, and our
 * own, do not count. */
bool scope_is_edit(const struct sync_scope *scope, const struct tt_service *was,
                   const struct tt_service *is);
/* The annotations by which it asks are `wishes` of the scope that is returned. */
struct svc_scope scope_of_wishes(const struct sync_scope *scope);
/* The finalizer of a bit: that of upstream's cleanup is bit 0, the provider's follow; NULL: no such
 * bit. */
const char *scope_finalizer(const struct sync_scope *scope, unsigned bit);
/* Bits of the finalizers that the same object carried, and now lacks, while it wants a load
 * balancer. */
uint32_t scope_lost_finalizers(const struct sync_scope *scope, const struct tt_service *was,
                               const struct tt_service *is);
/* The same object has other addresses in its status than it had, while it wants a load balancer. */
bool scope_changed_addresses(const struct sync_scope *scope, const struct tt_service *was,
                             const struct tt_service *is);
/* The reasons for which a change of a Service is queued (§1.3); 0: not at all.  `old_svc` NULL: it
 * is new.  A change of the status' addresses is one with follows_ingress, but no edit.
 * `started` false: the first list is still coming in. */
uint32_t scope_reasons(const struct sync_scope *scope, const struct tt_service *old_svc,
                       const struct tt_service *cur, bool started, const char **ret_what);

/* The action for a key. */
enum sync_do {
    SYNC_NOTHING = 0,
    SYNC_FORGET, /* nothing in the cloud can be ours: drop what is known */
    SYNC_ENSURE,
    SYNC_UPDATE, /* only the backends */
    SYNC_DELETE, /* clean up, then let go of the finalizers */
    /* ask the provider first; when there is nothing, the Service is left alone */
    SYNC_DELETE_IF_EXISTS,
    SYNC_LOOK,            /* whether another program changed it: plan, change nothing */
    SYNC_UNREADABLE,      /* something of it cannot be read: tell, change nothing */
    SYNC_DELETE_VANISHED, /* the object is gone; the last known state says what to clean up */
    /* the same, but its deletion was not seen: its load balancer stays (orphan_guard.h) */
    SYNC_KEEP,
};

struct sync_facts {
    bool found;             /* it is in the store */
    bool wants;             /* scope_wants() */
    bool foreign;           /* scope_is_foreign() */
    bool cleanup;           /* scope_needs_cleanup() */
    bool holds;             /* scope_holds() */
    bool marked;            /* scope_made() */
    bool deleting;          /* it has a deletionTimestamp */
    bool unreadable;        /* something of it cannot be read (controller/kube/store/object.h) */
    bool cached;            /* this process dealt with this key before, same UID */
    bool was_ours;          /* … and it was ours then */
    bool kept;              /* not found: orphan_guard_keeps() */
    bool stuck;             /* its last ensure was refused as it is: only a change helps */
    bool not_our_finalizer; /* the cleanup finalizer is known to be another controller's */
    bool same_backends;     /* nodes and endpoints are those that were last handed over */
    bool strict;            /* --strict-upstream-events: as upstream where that is only noise */
    uint32_t reasons;
};
enum sync_do sync_decide(const struct sync_facts *f);

/* Consequences of an outcome for the queue and for the user. */
enum sync_retry {
    RETRY_NO = 0,   /* fine: the count of failures is forgotten */
    RETRY_AFTER,    /* at the moment that was asked for; the count stays */
    RETRY_BACK_OFF, /* exponentially */
    RETRY_SLOW,     /* only a change helps: at the longest back-off */
};
struct sync_outcome {
    enum sync_retry retry;
    int64_t after_ms; /* RETRY_AFTER */
    bool tell;        /* an event for the user */
    bool bug;         /* a fault of the program or plugin: an error in the log */
    bool waits;       /* the cloud is at work: no failure, as long as it does not take too long */
};
/* `code` as TT_…; IMPLEMENTED_ELSEWHERE is no failure. */
struct sync_outcome sync_outcome(int32_t code, int64_t retry_after_ms);

/* A digest of the addresses and host names of a status, not 0; their modes and ports
 * do not count. */
uint64_t addresses_fingerprint(const struct tt_ingress *ingress, size_t n);

/* A digest of a Service's endpoints, for "did the set change": order of slices counts
 * (they come sorted). */
uint64_t slices_fingerprint(const struct tt_slice *const *slices, size_t n);

#endif
