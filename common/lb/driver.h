/* SPDX-License-Identifier: Apache-2.0 */
/* driver.h: the one way in which a built-in provider turns Services into cloud calls.
 *
 *     facts (I/O) → per stage: observe (I/O) → plan (pure) → execute (I/O) → … → status (pure)
 *
 * Think of a cook with a list: first look what is in the kitchen (facts, observe), write down what
 * is missing and why (plan), read the list aloud (report), and only then go shopping (execute).
 * Rules:
 *   - The driver works on a batch, a single key being a batch of one: there is no second path.
 *   - "Nothing to do" may come from a snapshot of bounded age.  Before anything is changed, what
 *     is touched is observed again in this very sync (observe with fresh = true) and planned again.
 *   - CONFLICT means observe and plan again, at most 5 times with jitter; then it is the result.
 *   - An operation that fails for one owner's sake takes that owner out of the batch; the others
 *     are planned again.  When it is not known for whose sake, half of the owners wait while the
 *     other half is tried.
 *   - While planning only, no stage is executed; later stages are planned with unknown outputs.
 *   - Finalizers are held before the first mutation for a Service.
 *   - Before something is taken down for a replacement, the cloud is asked whether it may be made
 *     (lb_op.ask); an owner who may not leaves the batch, and all of his stands.
 *   - What an operation took away is put back (lb_op.undo) when its owner fails before the
 *     replacement is there.
 *   - What the status of a Service names goes when the status names what serves now
 *     (driver_serves.c, docs/adr/0091).
 * A provider hands in a table of functions (struct lb_flow); each gets the sync and keeps
 * its own state in it. */
#ifndef TRIMTAB_LB_DRIVER_H
#define TRIMTAB_LB_DRIVER_H

#include "common/base/arena.h"
#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/lb/call_watch.h"
#include "common/lb/plan.h"
#include "common/net/http.h"

#include <stdbool.h>
#include <stddef.h>
#include <trimtab/provider.h>

/* One Service on its way through. */
struct lb_item {
    const struct tt_item *in;
    const char *key; /* "namespace/name" */
    struct err err;  /* not OK: it has left the batch, with this result */
    bool settled;    /* left without failure (IMPLEMENTED_ELSEWHERE counts as err) */
    bool proven;     /* the right that was missing is there (the driver's, driver_ask.c) */
    bool began;      /* active when the turn of the stage began (the driver's) */
    /* of which the cloud has refused something for a limit in this stage (the driver's) */
    struct lb_kinds *full;
    /* not 0: waits while the driver finds out by halves who spoils a shared operation */
    unsigned group;
    /* failed, and takes part in the retreat in progress (struct lb_retreat) */
    bool retreats;
    /* failed, because its status could not be written: the cloud has refused nothing (the
     * driver's) */
    bool unpublished;
    void *data; /* the provider's, arena-owned */
    /* of findings.h, in s->life */
    struct tt_finding *findings;
    size_t n_findings;
    size_t kept_findings; /* those of earlier stages */
    const char *serves_nobody;
    const char *kept_nobody;
};

struct lb_sync {
    /* given */
    /* life of the sync; of a flow that forgets: of the turn of a stage in progress */
    struct arena *a;
    struct arena *life; /* life of the sync */
    void *provider;
    const struct tt_host *host;
    const struct tt_call *call;
    const struct tt_batch *batch;
    struct http *http;
    struct clock *clock;
    struct rng *rng;
    struct cancel *cancel; /* fires when the call is cancelled or its deadline is over */
    /* progress */
    struct lb_item *items;
    size_t n_items;
    bool planning;       /* nothing may be changed */
    bool fresh;          /* to observe(): read the cloud itself, whatever a snapshot says */
    bool observed_fresh; /* from observe(): everything it used was read in this sync */
    int attempt;         /* 0…4: how many conflicts so far */
    unsigned reads;      /* from observe() and facts(): requests made */
    void *data;          /* the provider's, arena-owned */
};

struct lb_stage {
    const char *name;
    /* Has the stage anything to do with this sync?  Pure; NULL: always.  One that has not is passed
     * over: it observes nothing, reports no plan and holds no finalizer. */
    bool (*needed)(const struct lb_sync *s);
    /* Reads what is.  A failure that concerns one item goes to item->err and is no failure
     * of the stage. */
    int (*observe)(struct lb_sync *s, struct err *err);
    /* Pure.  Appends operations for every item without err; may set item->err (INVALID …). */
    int (*plan)(struct lb_sync *s, struct lb_plan *plan, struct err *err);
    /* All that it does is tidying, and what serves stands before it, whatever the verb.  No stage
     * behind it does more (lb_flow.serves).  It changes nothing of an item whose status could not
     * be written: clients still come by what goes. */
    bool tidies;
    /* The stage takes away by what clients reach this item, which is served elsewhere already: sets
     * those addresses, and the host writes them before the stage's first operation
     * (result_publish); when it cannot, the item leaves the batch.
     * False: it does not.  Called, until it is true, for items that are ensured and of which the
     * plan changes something; the last addresses follow with `serves` or `status`.  May be NULL. */
    bool (*leaves)(struct lb_sync *s, struct lb_item *item);
};
/* Takes back, after all stages, what they have added for the sake of items that failed.  Those
 * items alone take part, without their error, which they get back at the end. */
struct lb_retreat {
    const struct lb_stage *stages;
    size_t n_stages;
    /* Has something been added for this item, which has failed, that goes now?  Asked once in a
     * sync; may change the provider's own state of the item, and its message. */
    bool (*needed)(struct lb_sync *s, struct lb_item *item);
    /* Told of each item that took part, with its error again: all was taken back, or (`done` false)
     * the error says why not.  May add to the message.  May be NULL. */
    void (*ended)(struct lb_sync *s, struct lb_item *item, bool done);
};

struct lb_flow {
    const char *name; /* the provider's (mark_rules.h) */
    /* Reads what must be known before planning; may settle items
     * (IMPLEMENTED_ELSEWHERE, INVALID). May be NULL. */
    int (*facts)(struct lb_sync *s, struct err *err);
    const struct lb_stage *stages;
    size_t n_stages;
    /* After all stages, one after the other; none: nothing is ever taken back. */
    const struct lb_retreat *retreats;
    size_t n_retreats;
    /* Allocations of observe and plan in s->a are freed when the next turn or stage begins, those
     * of an operation after its wrote(); allocate longer-lived data in s->life.  For flows of big
     * batches, which would pile up a dozen plans. */
    bool forgets;
    /* Operations of a plan for several Services that are in flight at most; 0: 32, which also holds
     * for a plan for one.  For flows whose batches share no resource (TT_CAP_NODES_TOGETHER). */
    size_t window;
    /* Finalizers of the provider's own that an ENSURE or UPDATE of this item holds; NULL: none. */
    size_t (*finalizers)(const struct lb_sync *s, const struct lb_item *item,
                         const char *const **ret_names);
    /* own() returns which parts of the Service the provider manages itself: TT_OWN_… (provider.h),
     * passed to host->result_own().  Asked after facts, before each execution, and before the
     * result is set; of failed items, too.  NULL: nothing. */
    uint32_t (*own)(const struct lb_sync *s, const struct lb_item *item);
    /* After all stages went well for the item, and never while planning: Kubernetes objects of the
     * provider's that go with its load balancer, or a wait for what the cloud may still show.  A
     * failure is the item's, also for a part that the stages have left out.  May be NULL. */
    int (*complete)(struct lb_sync *s, struct lb_item *item, struct err *err);
    /* While operations go on, of an item that is ensured and serves: in the last stage that does
     * more than to tidy, all of its operations but tails (plan.h) have ended well; or a stage that
     * tidies is about to be carried out, for whatever item of the batch.  Sets the addresses, and
     * what else of the result may be written now: the host writes it (result_publish).  Once per
     * plan; again if that is made again from fresh observations; status() follows.  NULL: nothing
     * is written before the end.
     * Also of an item that is updated, when a stage that tidies changes something of it: its status
     * must name these addresses already. */
    void (*serves)(struct lb_sync *s, struct lb_item *item);
    /* After all stages (and objects) went well for the item: sets its results through
     * the host. May not fail. */
    void (*status)(struct lb_sync *s, struct lb_item *item);
    /* Told of an item that ends with a failure, before its result is set; for metrics.
     * May be NULL. */
    void (*failed)(struct lb_sync *s, const struct lb_item *item);
    /* Of an item that is ensured, whose status has an address, and that has failed, or is only
     * planned: why no client is served by what stands now, after what the sync has written; "":
     * clients are; NULL: that is not known.  Pure.  May be NULL. */
    const char *(*stands)(const struct lb_sync *s, const struct lb_item *item);
    /* Which owners does this failure concern?  NULL: all owners of the operation.  An empty set:
     * not known; when the cloud refused the operation for what is in it, the driver finds out by
     * halves, else all owners fail. */
    struct str_set (*culprits)(const struct lb_sync *s, const struct lb_op *op,
                               const struct err *err);
    /* Told at the end of each operation, while others of the plan go on: a lock that only this one
     * needed may be released.  Must not block.  May be NULL. */
    void (*over)(struct lb_sync *s, const struct lb_op *op, unsigned outcome,
                 const struct err *err);
    /* Told after each operation, to keep a snapshot true: writes update it, errors and conflicts
     * drop what they touched.  May be NULL. */
    void (*wrote)(struct lb_sync *s, const struct lb_op *op, unsigned outcome,
                  const struct err *err);
};

/* Is the item to be planned now?  False when it has failed, is settled, or waits. */
bool lb_item_is_active(const struct lb_item *item);

struct lb_driver_config {
    const struct lb_flow *flow;
    void *provider;
    const struct tt_host *host;
    struct http_pool *http;
    struct clock *clock;
    struct rng *rng;
    struct cancel *cancel;    /* of the provider; may be NULL */
    struct call_watch *watch; /* of the provider: notices cancelled calls; NULL: one per call */
};
/* That of a provider whose handle has members of these names. */
#define LB_DRIVER_CONFIG(the_flow, p)                                                              \
    ((struct lb_driver_config){.flow = (the_flow),                                                 \
                               .provider = (p),                                                    \
                               .host = (p)->host,                                                  \
                               .http = (p)->http,                                                  \
                               .clock = (p)->clock,                                                \
                               .rng = (p)->rng,                                                    \
                               .cancel = (p)->cancel,                                              \
                               .watch = (p)->watch})
/* Reconciles every item of the batch and sets each one's result through the host.  Returns TT_OK
 * when all went well, else the code of the first item that failed. */
int32_t lb_driver_reconcile(const struct lb_driver_config *cfg, const struct tt_call *call,
                            const struct tt_batch *batch);
/* Reports the plan and changes nothing. */
int32_t lb_driver_plan(const struct lb_driver_config *cfg, const struct tt_call *call,
                       const struct tt_batch *batch);

#endif
