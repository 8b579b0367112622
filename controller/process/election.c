/* SPDX-License-Identifier: Apache-2.0 */
/* election.c: see election.h.
 *
 * Owns what the main lease needs of its own: configuration, client, events; taking and keeping it
 * is leases.h's.  `lock` guards which object the events are about; it is never held during a
 * callback. */
#include "controller/process/election.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/lock.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "controller/host/identity.h"
#include "controller/kube/events/events.h"
#include "controller/metrics/client_metrics.h"
#include "controller/process/leases.h"

#define COMPONENT       "cloud-controller-manager" /* of events (§3.1) */
#define EVENTS_FLUSH_MS 200
#define RELEASE_MS      500
#define OBJECT_TEXT_MAX 64 /* bytes of a uid or resource version, with the NUL */

struct election {
    struct election_args args;
    struct kube_config *kube; /* the identity's */
    struct kube_client *event_client;
    struct kube_events *events;
    struct leases *leases;
    char identity[LEASES_IDENTITY_MAX];
    char agent[USER_AGENT_MAX];
    char event_agent[USER_AGENT_MAX];
    struct mutex lock;
    char uid[OBJECT_TEXT_MAX] _guarded_by_(lock); /* of the Lease as it was taken */
    char version[OBJECT_TEXT_MAX] _guarded_by_(lock);
};

/* ---- reports --------------------------------------------------------------------------------- */

static void set_status(struct election *e, bool leads)
{
    const struct tt_kv name = {"name", e->args.options->lease_name};

    metrics_set(e->args.metrics, METRIC_LEADER_STATUS, &name, 1, leads ? 1 : 0);
}

static void emit(struct election *e, const char *what)
{
    struct arena *a _cleanup_(arena_freep) = arena_new();
    const struct options *o = e->args.options;

    mutex_lock(&e->lock);
    const struct kube_event_object lease = {
        .api_version = "coordination.k8s.io/v1",
        .kind = "Lease",
        .ns = o->lease_ns,
        .name = o->lease_name,
        .uid = arena_strdup(a, e->uid),
        .resource_version = arena_strdup(a, e->version),
    };
    mutex_unlock(&e->lock);
    kube_events_emit_on(e->events, &lease, COMPONENT, "Normal", "LeaderElection",
                        arena_printf(a, "%s %s", e->identity, what));
}

/* Also when it was lost; nothing is sent then, not even an event. */
static void on_change(void *arg, const struct lease_change *change)
{
    struct election *e = arg;

    set_status(e, change->held);
    if (change->held) {
        mutex_lock(&e->lock);
        (void)snprintf(e->uid, sizeof(e->uid), "%s", change->uid);
        (void)snprintf(e->version, sizeof(e->version), "%s", change->resource_version);
        mutex_unlock(&e->lock);
        emit(e, "became leader");
    }
}

static void on_slow_path(void *arg, const char *lease)
{
    const struct election *e = arg;
    const struct tt_kv name = {"name", lease};

    metrics_add(e->args.metrics, METRIC_LEADER_SLOW_PATH, &name, 1, 1);
}

static void on_lost(void *arg)
{
    const struct election *e = arg;
    struct err why = ERR_INIT;

    (void)election_why_lost(arg, &why);
    log_error(why.message, "Stopping: another process may lead now");
    e->args.lost(e->args.arg);
}

static bool may_renew(void *arg, struct err *err)
{
    const struct election *e = arg;

    return e->args.may_renew == NULL || e->args.may_renew(e->args.arg, err);
}

static void observe_request(void *arg, const struct kube_sent *sent)
{
    const struct election *e = arg;

    client_metrics_count(e->args.metrics, e->kube->server, sent);
}

/* ---- life ------------------------------------------------------------------------------------ */

static struct kube_client_args client_args(struct election *e, const char *agent)
{
    return (struct kube_client_args){
        .config = e->kube,
        .user_agent = agent,
        .clock = e->args.clock,
        .observe = observe_request,
        .observe_arg = e,
    };
}

static int make_leases(struct election *e, struct err *err)
{
    const struct options *o = e->args.options;
    const struct lease_terms lock = {
        .ns = o->lease_ns,
        .name = o->lease_name,
        .identity = e->identity,
        .duration_ms = o->lease_duration_ms,
        .renew_deadline_ms = o->renew_deadline_ms,
        .retry_ms = o->retry_period_ms,
    };
    return leases_new(
        &(struct leases_args){
            .locks = &lock,
            .n_locks = 1,
            .client = client_args(e, e->agent),
            .clock = e->args.clock,
            .rng = e->args.rng,
            .watch = true,
            .changed = on_change,
            .slow_path = on_slow_path,
            .lost = on_lost,
            .may_renew = may_renew,
            .arg = e,
        },
        &e->leases, err);
}

static void destroy(struct election *e)
{
    kube_client_free(e->event_client);
    mutex_done(&e->lock);
    free(e);
}

int election_new(const struct election_args *args, struct election **ret, struct err *err)
{
    struct election *e = xcalloc(1, sizeof(*e));

    e->args = *args;
    e->args.clock = args->clock == NULL ? clock_real() : args->clock;
    e->args.rng = args->rng == NULL ? rng_real() : args->rng;
    mutex_init(&e->lock);
    leases_make_identity(e->args.rng, e->identity);
    user_agent_make(USER_AGENT_LEASES, e->agent);
    user_agent_make(USER_AGENT_MAIN, e->event_agent);
    e->kube = identity_main(args->identity);
    int rc = make_leases(e, err);
    if (rc != ERR_OK) {
        destroy(e);
        return rc;
    }
    const struct kube_client_args client = client_args(e, e->event_agent);
    e->event_client = kube_client_new(&client);
    e->events = kube_events_new(e->event_client, e->args.clock, e->args.rng);
    set_status(e, false);
    *ret = e;
    return ERR_OK;
}

int election_start(struct election *e, struct err *err)
{
    return leases_start(e->leases, err);
}

void election_free(struct election *e)
{
    struct err why = ERR_INIT;

    if (e == NULL) {
        return;
    }
    leases_end(e->leases); /* no callbacks from here on */
    if (leases_were_held(e->leases) && !leases_why_lost(e->leases, &why)) {
        emit(e, "stopped leading");
    }
    kube_events_free(e->events, EVENTS_FLUSH_MS);
    leases_free(e->leases, RELEASE_MS);
    destroy(e);
}

/* ---- asking ---------------------------------------------------------------------------------- */

int election_wait(struct election *e, struct cancel *cancel, struct err *err)
{
    if (!leases_were_held(e->leases)) {
        log_info(0, "Standby: nothing is written until the lease is held",
                 LOG_S("lease", e->args.options->lease_name));
    }
    return leases_wait(e->leases, cancel, err);
}

bool election_may_mutate(void *election)
{
    const struct election *e = election;

    return leases_may_mutate(e->leases);
}

bool election_why_lost(struct election *e, struct err *ret)
{
    if (e == NULL || !leases_why_lost(e->leases, ret)) {
        return false;
    }
    (void)err_prefix(ret, "leaderelection lost");
    return true;
}

void election_look(struct election *e, struct arena *a, struct election_view *ret)
{
    char holder[LEASE_HOLDER_MAX];

    *ret = (struct election_view){.lease = "", .holder = ""};
    if (e == NULL) {
        return;
    }
    leases_read_holder(e->leases, holder);
    ret->elects = true;
    ret->leads = leases_may_mutate(e->leases);
    ret->lease = arena_printf(a, "%s/%s", e->args.options->lease_ns, e->args.options->lease_name);
    ret->holder = arena_strdup(a, ret->leads ? e->identity : holder);
}

bool election_check_health(void *election, char *why, size_t n)
{
    const struct election *e = election;
    const char *name = "";

    if (leases_are_healthy(e->leases, &name)) {
        return true;
    }
    (void)snprintf(why, n, "failed election to renew leadership on lease %s", name);
    return false;
}
