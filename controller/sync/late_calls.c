/* SPDX-License-Identifier: Apache-2.0 */
/* late_calls.c: see late_calls.h. */
#include "controller/sync/late_calls.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/base/arena.h"
#include "common/base/limits.h"
#include "common/base/lock.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

#define LOOKS_PER_CALL 16 /* so that half of the time is seen early enough */
#define LOOK_MIN_MS    50
#define LOOK_MAX_MS    30000

struct late_calls {
    struct late_calls_args args;
    pthread_t thread;
    struct mutex lock;
    struct cond ending_now;
    bool ending _guarded_by_(lock);
    unsigned late; /* the thread's: the last report */
};

static const char *text_of(struct arena *a, const struct host_late *call, int64_t timeout_ms)
{
    return arena_printf(a,
                        "the provider's call %s has not come back after its deadline of %lld s; "
                        "nothing can be done for this Service until it does",
                        call->function, (long long)(timeout_ms / 1000));
}

static void tell_owners(const struct syncer *s, struct arena *a, const struct host_late *call)
{
    const char *text = text_of(a, call, sync_call_timeout_ms(s));

    for (size_t i = 0; i < call->n_services; i++) {
        const struct tt_service *svc = &call->services[i];
        if (s->events != NULL) {
            kube_events_emit(s->events, svc, "service-controller", "Warning",
                             "SyncLoadBalancerFailed",
                             arena_printf(a, "Error syncing load balancer: %s", text));
        }
        if (s->board != NULL) {
            board_late(s->board, arena_printf(a, "%s/%s", svc->ns, svc->name), text);
        }
    }
}

static void tell(const struct syncer *s, struct arena *a, const struct host_late *call)
{
    if (!call->over) {
        log_warning("A call into the provider has used half of its time",
                    LOG_S("service", call->key), LOG_S("call", call->function),
                    LOG_MS("took", call->age_ms), LOG_MS("deadline", sync_call_timeout_ms(s)));
        return;
    }
    log_error("it does not come back, and keeps its thread and its Services",
              "A call into the provider is beyond its deadline", LOG_S("service", call->key),
              LOG_S("call", call->function), LOG_MS("took", call->age_ms),
              LOG_MS("deadline", sync_call_timeout_ms(s)));
    metrics_add(s->metrics, METRIC_LATE_CALLS_TOTAL, NULL, 0, 1);
    tell_owners(s, a, call);
}

static void look(struct late_calls *l)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct syncer *s = l->args.syncer;
    struct host_looked looked = host_calls_look(s->host, a, late_calls_grace_ms(s));

    for (size_t i = 0; i < looked.n; i++) {
        tell(s, a, &looked.calls[i]);
    }
    bool changed = looked.over != l->late;
    if (changed) {
        l->late = looked.over;
        metrics_set(s->metrics, METRIC_LATE_CALLS, NULL, 0, looked.over);
    }
    if (changed || looked.over > 0) {
        l->args.late(l->args.arg, looked.over);
    }
}

static int64_t pause_ms(const struct syncer *s)
{
    int64_t ms = sync_call_timeout_ms(s) / LOOKS_PER_CALL;

    ms = ms < LOOK_MIN_MS ? LOOK_MIN_MS : ms;
    return ms < LOOK_MAX_MS ? ms : LOOK_MAX_MS;
}

static void *late_thread(void *arg)
{
    struct late_calls *l = arg;
    const struct syncer *s = l->args.syncer;

    mutex_lock(&l->lock);
    while (!l->ending) {
        clock_wait(s->clock, &l->ending_now, &l->lock, clock_now_ms(s->clock) + pause_ms(s));
        bool ending = l->ending;
        mutex_unlock(&l->lock);
        if (!ending) {
            look(l);
        }
        mutex_lock(&l->lock);
    }
    mutex_unlock(&l->lock);
    return NULL;
}

int late_calls_start(const struct late_calls_args *args, struct late_calls **ret, struct err *err)
{
    struct late_calls *l = xcalloc(1, sizeof(*l));

    l->args = *args;
    mutex_init(&l->lock);
    cond_init(&l->ending_now);
    int rc = thread_start(&l->thread, late_thread, l, "late calls", err);
    if (rc != ERR_OK) {
        cond_done(&l->ending_now);
        mutex_done(&l->lock);
        free(l);
        return rc;
    }
    *ret = l;
    return ERR_OK;
}

void late_calls_end(struct late_calls *l)
{
    if (l == NULL) {
        return;
    }
    mutex_lock(&l->lock);
    l->ending = true;
    cond_broadcast(&l->ending_now);
    mutex_unlock(&l->lock);
    pthread_join(l->thread, NULL);
    cond_done(&l->ending_now);
    mutex_done(&l->lock);
    free(l);
}
