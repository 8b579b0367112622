/* SPDX-License-Identifier: Apache-2.0 */
/* sync.h: one pass over the Services of a batch: what the service controller is about.
 *
 *     load (store, cache) → decide (sync_rules.h) → before (events, finalizer, is there one?) → the
 *     provider's call
 *       → after (finalizers, status, events) → the queue (forget, at a moment, back off)
 *
 * There is one path: a single Service is a batch of one.  Nothing else touches a Service's cloud
 * resources: node and endpoint changes come through the same queue as reasons.  A syncer has no
 * state of its own but what it is given; many threads run syncer_process(), never two with the same
 * key (the queue sees to that).
 * Source: controller.md §1.6–1.11, 1.13, 1.15, 1.17; deviations §1.21. */
#ifndef TRIMTAB_CONTROLLER_SYNC_H
#define TRIMTAB_CONTROLLER_SYNC_H

#include <stdbool.h>
#include <stdint.h>
#include <trimtab/provider.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "controller/base/progress.h"
#include "controller/host/host.h"
#include "controller/host/orphan_guard.h"
#include "controller/kube/client/client.h"
#include "controller/kube/events/events.h"
#include "controller/kube/store/store.h"
#include "controller/metrics/metrics.h"
#include "controller/queue/queue.h"
#include "controller/rules/quarantine_rules.h"
#include "controller/sync/board.h"
#include "controller/sync/node_sets.h"
#include "controller/sync/service_cache.h"
#include "controller/sync/sync_rules.h"

/* How long one call into the provider may take before it is cancelled, where neither flag nor
 * descriptor say so.  Less than the default of --progress-deadline: the thread that stands in for a
 * call that hangs begins before the leader lets go. */
#define SYNC_CALL_TIMEOUT_MS (4 * 60 * 1000)
/* For how long the cloud may be at work for a Service (TT_IN_PROGRESS) before an event reports
 * it. */
#define SYNC_WAIT_MAX_MS (10 * 60 * 1000)
/* --drift */
enum sync_drift {
    SYNC_DRIFT_OFF = 0,
    SYNC_DRIFT_REPORT,
    SYNC_DRIFT_REPAIR,
};
/* A Service that is to be cleaned up is tried again at least this often: upstream's informer brings
 * it back at every re-sync of 30 s, whatever the back-off says (controller.md §1.3, 1.16). */
#define SYNC_CLEANUP_RETRY_MS 30000
/* Endpoint changes of one Service gather for so long, and no longer than that, whatever the
 * provider says. */
#define SYNC_ENDPOINTS_MS     100
#define SYNC_ENDPOINTS_MAX_MS (60 * 60 * 1000)

struct syncer {
    const struct tt_provider *desc;
    void *provider; /* its handle */
    struct tt_host_ctx *host;
    struct clock *clock;
    struct rng *rng;
    struct cancel *cancel; /* of the process */
    struct queue *queue;
    struct service_cache *cache;
    struct node_sets *node_sets;
    struct orphan_guard *orphan_guard;
    struct kube_store *services;
    struct kube_store *nodes;
    struct kube_store *slices; /* NULL: endpoints are not watched */
    struct kube_client *client;
    struct kube_events *events;
    struct metrics *metrics;
    struct progress *progress;                  /* noted when a batch has ended; may be NULL */
    const struct quarantine_record *quarantine; /* NULL: nothing is counted */
    struct board *board;                        /* NULL: not shown */
    struct sync_scope scope;
    int64_t call_timeout_ms; /* 0: SYNC_CALL_TIMEOUT_MS */
    /* maximum of calls beyond their deadline that get a substitute worker; 0: none (built-in) */
    unsigned late_max;
    bool strict_events;       /* --strict-upstream-events */
    bool conditions;          /* --service-conditions */
    bool annotations;         /* --service-annotations */
    int64_t resync_period_ms; /* 0: never again without a cause */
    enum sync_drift drift;    /* not off: the provider can plan */
    int64_t drift_period_ms;  /* --drift-period */
    int64_t drift_offset_ms;  /* random, below the period */
};

static inline int64_t sync_call_timeout_ms(const struct syncer *s)
{
    return s->call_timeout_ms > 0 ? s->call_timeout_ms : SYNC_CALL_TIMEOUT_MS;
}

/* Deals with everything in the batch and tells the queue what is next for each key (but not
 * that it is done). */
void syncer_process(const struct syncer *s, const struct queue_batch *batch);
/* Queues, under a key of its own that is no Service's, that the provider be asked for Services that
 * went while no controller ran (list_left); when it has no such function, nothing.  Once, before
 * workers start. */
void syncer_ask_left(const struct syncer *s);
/* For host_hooks.on_left. */
void syncer_on_left(void *call_arg, const struct tt_service *service);
/* For host_hooks.on_again: the Service is ensured again, unless it is none of ours. */
void syncer_again(const struct syncer *s, const char *ns, const char *name, int64_t after_ms);
/* For host_hooks.on_work: the events that say "something happens". */
void syncer_on_work(void *call_arg, struct tt_result *result);
/* For host_hooks.former_body. */
const char *syncer_former_body(void *call_arg, const struct tt_result *result);
/* For host_hooks.on_serves: writes the addresses while the provider still tidies up. */
int32_t syncer_on_serves(void *call_arg, struct tt_result *result);
/* For host_hooks.on_planned: what a look found. */
void syncer_on_planned(void *call_arg, const struct tt_plan *plan);
/* The batch key of a Service; `text` has n bytes. "" when the provider has none. */
void syncer_batch_key(const struct syncer *s, const struct tt_service *svc, char *text, size_t n);
/* How long changes of its endpoints gather, SYNC_ENDPOINTS_MS at least; -1: they do
 * not concern it. */
int64_t syncer_endpoints_delay_ms(const struct syncer *s, const struct tt_service *svc);

#endif
