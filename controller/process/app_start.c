/* SPDX-License-Identifier: Apache-2.0 */
/* app_start.c: builds the controller from its parts, in the order that they need each other.
 *
 * With an election it starts warm: connected, the provider open, the first lists in, while the
 * fence is closed; only the workers wait for the lease.  The provider's leases come after the main
 * one, or two replicas that each hold one of them would wait for each other.
 * Source: controller.md §3.4.  Runs in the thread that starts and stops the app. */
#include <string.h>

#include "common/base/log.h"
#include "common/lb/service_rules.h"
#include "controller/host/identity.h"
#include "controller/kube/client/unreachable.h"
#include "controller/metrics/client_metrics.h"
#include "controller/process/app_internal.h"

#define API_ROUND_MS     10000 /* between two lines about what is waited for */
#define LATE_CALLS_MAX   8 /* threads that may be lost in a plugin before the process is ended */
#define PROVIDER_OPEN_MS 120000

static void observe_request(void *arg, const struct kube_sent *sent)
{
    struct app *a = arg;

    client_metrics_count(a->metrics, a->kube->server, sent);
}

static void lease_lost(void *arg)
{
    app_request_stop(arg);
}

void app_set_running(struct app *a, bool running)
{
    const struct tt_kv labels[] = {{"name", "service"}, {"manager", "cloud-controller-manager"}};

    if (options_service_controller_on(a->args.options)) {
        metrics_set(a->metrics, METRIC_RUNNING, labels, ARRAY_LEN(labels), running ? 1 : 0);
    }
}

/* ---- start ----------------------------------------------------------------------------------- */

static struct kube_client_args client_args(struct app *a)
{
    const struct options *o = a->args.options;

    return (struct kube_client_args){
        .config = a->kube,
        .user_agent = a->user_agent,
        .qps = o->kube_qps,
        .burst = (int)o->kube_burst,
        .clock = a->args.clock,
        .cancel = a->hard,
        .may_mutate = fence_may_mutate_arg,
        .may_mutate_arg = &a->fence,
        .observe = observe_request,
        .observe_arg = a,
    };
}

static int connect_cluster(struct app *a, struct err *err)
{
    const struct options *o = a->args.options;
    const struct identity_args who = identity_args_of(o, a->metrics, a->args.clock);
    struct identity *identity = a->args.identity;

    if (identity == NULL) {
        int rc = identity_new(&who, &a->own_identity, err);
        if (rc != ERR_OK) {
            return rc;
        }
        identity = a->own_identity;
    }
    a->kube = identity_main(identity);
    struct kube_client_args args = client_args(a);
    args.user_agent = a->watch_agent;
    a->root = kube_client_new(&args);
    args = client_args(a);
    args.config = identity_services(identity);
    a->client = kube_client_new(&args);
    a->event_client = kube_client_new(&args);
    client_metrics_made(a->metrics, 2);
    a->events = kube_events_new(a->event_client, a->args.clock, a->args.rng);
    return ERR_OK;
}

/* Each vain try where the start gives up soon; else once per round (wait_for_api). */
static void api_not_ready(void *arg, const struct err *last)
{
    const struct app *a = arg;

    if (a->args.election == NULL) {
        log_warning("Waiting for the API server", LOG_S("server", a->kube->server),
                    LOG_S("reason", last->message));
    }
}

/* It answers, but not with health. */
static int refused_by_api(const struct app *a, const struct err *why, struct err *ret)
{
    (void)err_set(ret, why->code,
                  "the API server %s is not ready: /healthz was answered with %d: %s",
                  a->kube->server, why->http_status, why->message);
    ret->http_status = why->http_status;
    return kube_advise_refusal(a->kube, ret);
}

static int wait_for_api_once(struct app *a, struct err *err)
{
    int rc = kube_client_wait_ready(a->root, a->args.api_wait_ms, api_not_ready, a, err);

    if (cancel_fired(a->cancel)) {
        return err_set(err, ERR_CANCELLED, "stopped while waiting for the API server");
    }
    if (rc != ERR_OK) {
        struct err last = *err;
        return last.http_status != 0 ? refused_by_api(a, &last, err)
                                     : kube_unreachable(a->kube, &last, "", err);
    }
    return ERR_OK;
}

/* A replica among others waits as long as it takes: it has nothing to lose, and another one
 * may be at work. */
static int wait_for_api(struct app *a, struct err *err)
{
    int64_t began_ms = clock_now_ms(a->args.clock);

    for (;;) {
        int rc = wait_for_api_once(a, err);
        if (rc == ERR_OK || rc == ERR_CANCELLED || a->args.election == NULL) {
            return rc;
        }
        log_warning("Waiting for the API server", LOG_S("server", a->kube->server),
                    LOG_MS("waited", clock_now_ms(a->args.clock) - began_ms),
                    LOG_S("reason", err->message));
        err_clear(err);
    }
}

static unsigned worker_limit(const struct app *a)
{
    unsigned wanted = (unsigned)a->args.options->concurrent_service_syncs;
    unsigned most = a->args.provider->max_parallel;

    return most != 0 && most < wanted ? most : wanted;
}

static void make_stores(struct app *a)
{
    const struct tt_provider *d = a->args.provider;

    a->services = kube_store_new(KUBE_SERVICE);
    if ((d->capabilities & TT_CAP_FEW_SERVICES) != 0) {
        kube_store_keep_small(a->services);
    }
    a->nodes = kube_store_new(KUBE_NODE);
    bool together = (d->capabilities & TT_CAP_NODES_TOGETHER) != 0 && worker_limit(a) > 1;
    a->queue = queue_new(&(struct queue_limits){.debounce_idle_ms = d->debounce_idle_ms,
                                                .debounce_max_ms = d->debounce_max_ms,
                                                .batch_max = d->batch_max,
                                                .nodes_together = together},
                         a->args.clock);
    a->cache = service_cache_new();
    a->node_sets = node_sets_new();
}

static void note_plan(void *arg, const struct tt_plan *plan)
{
    const struct app *a = arg;
    board_plan(a->board, plan);
    if (a->args.on_plan != NULL) {
        a->args.on_plan(a->args.on_plan_arg, plan);
    }
}

/* A provider's thread may begin before the queue is used; each Service has its first sync ahead
 * then. */
static void look_again(void *arg, const char *ns, const char *name, int64_t after_ms)
{
    const struct app *a = arg;
    if (atomic_load(&a->watch.started)) {
        syncer_again(&a->syncer, ns, name, after_ms);
    }
}

static void make_host(struct app *a)
{
    a->host = host_new(&(struct host_args){
        .desc = a->args.provider,
        .clock = a->args.clock,
        .rng = a->args.rng,
        .cancel = a->cancel,
        .fence = &a->fence,
        .metrics = a->metrics,
        .progress = a->args.progress,
        .client = a->client,
        .events = a->events,
        .services = a->services,
        .nodes = a->nodes,
        .orphan_guard = a->orphan_guard,
        .cluster_name = a->args.options->cluster_name,
        .cleanup_finalizer = LB_CLEANUP_FINALIZER,
        .note_plans = a->args.options->service_annotations,
        .counts_deaths = a->args.quarantines,
        .hooks = {.on_work = syncer_on_work,
                  .former_body = syncer_former_body,
                  .on_serves = syncer_on_serves,
                  .on_left = syncer_on_left,
                  .on_planned = syncer_on_planned,
                  .on_plan = note_plan,
                  .on_again = look_again,
                  .arg = a},
    });
}

/* A Secret counts only together with reloading, as upstream's flags have it. */
static struct config_source config_source_of(const struct app *a)
{
    const struct options *o = a->args.options;

    return (struct config_source){
        .path = o->cloud_config,
        .secret_ns = o->config_secret_ns,
        .secret_name = o->dynamic_reloading ? o->config_secret_name : "",
        .secret_key = o->config_secret_key,
        .client = a->client,
        .cancel = a->cancel,
    };
}

static int make_open_args(struct app *a, const struct config_texts *config,
                          struct tt_open_args *ret, struct err *err)
{
    const struct options *o = a->args.options;

    *ret = (struct tt_open_args){
        .size = sizeof(*ret),
        .host = host_table(a->host),
        .cluster_name = o->cluster_name,
        .options = o->provider_values,
        .n_options = (uint32_t)o->n_provider_values,
        .allow_untagged = o->allow_untagged_cloud,
        .concurrency = worker_limit(a),
        .version = TRIMTAB_VERSION,
        .reloads = o->dynamic_reloading,
        .service_controller_off = !options_service_controller_on(o),
        .more_controllers = options_more_controllers(
            a->a, (const char *const *)o->controllers.items, o->controllers.n),
        .drift = str_eq(o->drift, "report")   ? TT_DRIFT_REPORT
                 : str_eq(o->drift, "repair") ? TT_DRIFT_REPAIR
                                              : TT_DRIFT_OFF,
        .election_spare_ms =
            o->leader_elect ? o->lease_duration_ms / 1000 * 1000 - o->renew_deadline_ms : 0,
    };
    return config_texts_fill(config, a->args.provider, ret, err);
}

static int open_once(struct app *a, struct err *err)
{
    const struct tt_provider *d = a->args.provider;
    const struct config_source source = config_source_of(a);
    struct tt_open_args args;

    int code = config_source_read(&source, a->a, &a->config, err);
    if (code == ERR_OK) {
        code = make_open_args(a, &a->config, &args, err);
    }
    if (code != ERR_OK) {
        return code;
    }
    struct host_call *c = host_call_begin(a->host, a->a, 1, PROVIDER_OPEN_MS, 0, NULL);
    guard_set_fence(&a->fence.closed);
    host_set_opening(a->host, true);
    host_call_enter(c, "open");
    int32_t rc = d->open(&args, &a->provider, host_call_result(c, 0));
    host_set_opening(a->host, false);
    code = host_result_outcome(host_call_result(c, 0), rc, false, err);
    host_call_end(c);
    if (code != ERR_OK) {
        (void)err_prefix(err, "could not init cloud provider \"%s\"", d->name);
        return code;
    }
    a->provider_open = true;
    log_info(0, "Cloud provider is open", LOG_S("provider", d->name), LOG_S("version", d->version));
    return ERR_OK;
}

/* A provider may want to write while it is opened.  Where the fence said no to that, whatever came
 * of it: once more, when this process leads. */
static int open_provider(struct app *a, struct err *err)
{
    unsigned before = fence_refusals(&a->fence);
    int rc = open_once(a, err);

    if (a->args.election == NULL || fence_refusals(&a->fence) == before) {
        return rc;
    }
    log_info(0, "The provider writes when it is opened: opening it again when the lease is held");
    app_close_provider(a);
    err_clear(err);
    rc = election_wait(a->args.election, a->cancel, err);
    return rc == ERR_OK ? open_once(a, err) : rc;
}

/* ---- the provider's leases ------------------------------------------------------------------- */

static size_t choose_leases(const struct app *a, const char *identity,
                            struct lease_terms terms[LEASE_KEEPER_LOCKS_MAX])
{
    const struct tt_provider *d = a->args.provider;
    size_t n = 0;

    for (uint32_t i = 0; i < d->n_leases && n < LEASE_KEEPER_LOCKS_MAX; i++) {
        struct guard_mark mark = {.function = "needs_lease"};
        guard_enter(&mark);
        bool needs = d->needs_lease == NULL || d->needs_lease(a->provider, &d->leases[i]) != 0;
        guard_leave(&mark);
        if (!needs) {
            continue;
        }
        terms[n++] = (struct lease_terms){
            .ns = d->leases[i].ns,
            .name = d->leases[i].name,
            .identity = identity,
            .duration_ms = LEASES_DURATION_MS,
            .renew_deadline_ms = LEASES_RENEW_DEADLINE_MS,
            .retry_ms = LEASES_RETRY_MS,
        };
    }
    return n;
}

static bool may_renew(void *arg, struct err *err)
{
    const struct app *a = arg;

    return a->args.may_renew == NULL || a->args.may_renew(a->args.may_renew_arg, err);
}

/* From here on the fence stands closed until they are held. */
static int make_leases(struct app *a, struct err *err)
{
    char identity[LEASES_IDENTITY_MAX];
    struct lease_terms terms[LEASE_KEEPER_LOCKS_MAX];

    leases_make_identity(a->args.rng, identity);
    size_t n = choose_leases(a, identity, terms);
    if (n == 0) {
        return ERR_OK;
    }
    int rc = leases_new(
        &(struct leases_args){
            .locks = terms,
            .n_locks = n,
            .client = client_args(a),
            .clock = a->args.clock,
            .rng = a->args.rng,
            .watch = true,
            .lost = lease_lost,
            .may_renew = may_renew,
            .arg = a,
        },
        &a->leases, err);
    if (rc == ERR_OK) {
        fence_add_guard(&a->fence, leases_may_mutate, a->leases);
    }
    return rc;
}

/* The main lease, then the provider's. */
static int wait_for_leases(struct app *a, struct err *err)
{
    int rc = ERR_OK;

    if (a->args.election != NULL) {
        rc = election_wait(a->args.election, a->cancel, err);
    }
    if (rc == ERR_OK && a->leases != NULL) {
        rc = leases_start(a->leases, err);
        if (rc == ERR_OK && !leases_were_held(a->leases)) {
            log_info(0, "Nothing is written until the provider's leases are held");
        }
        rc = rc == ERR_OK ? leases_wait(a->leases, a->cancel, err) : rc;
    }
    return rc;
}

/* Which Services ended the processes before this one.  Without an answer all are tried. */
static void read_quarantine(struct app *a)
{
    const struct quarantine_place place = {
        .options = a->args.options, .client = a->root, .cancel = a->cancel};
    struct err err = ERR_INIT;

    if (!a->args.quarantines) {
        return;
    }
    if (quarantine_read(&place, a->a, &a->quarantine, &err) != ERR_OK) {
        log_warning("It is not known for which Services the provider ended the process before",
                    LOG_S("reason", err.message));
    }
    for (size_t i = 0; i < a->quarantine.n; i++) {
        const struct quarantine_entry *e = &a->quarantine.entries[i];
        log_warning("The provider ended the process before", LOG_S("service", e->key),
                    LOG_S("call", e->call), LOG_I("deaths", e->deaths));
    }
    a->syncer.quarantine = &a->quarantine;
}

bool app_lease_lost(struct app *a, struct err *ret)
{
    return election_why_lost(a->args.election, ret) || leases_why_lost(a->leases, ret);
}

/* ---- another configuration ------------------------------------------------------------------- */

/* Would the provider open with it?  One that cannot say is tried. */
static int check_config(void *arg, const struct config_texts *config, struct err *err)
{
    struct app *a = arg;
    const struct tt_provider *d = a->args.provider;
    _cleanup_(arena_freep) struct arena *scratch = arena_new();
    struct tt_open_args args;

    int code = make_open_args(a, config, &args, err);
    if (code != ERR_OK || d->check_config == NULL) {
        return code;
    }
    struct host_call *c = host_call_begin(a->host, scratch, 1, PROVIDER_OPEN_MS, 0, NULL);
    host_call_enter(c, "check_config");
    int32_t rc = d->check_config(&args, host_call_result(c, 0));
    code = host_result_outcome(host_call_result(c, 0), rc, false, err);
    host_call_end(c);
    return code;
}

static void config_changed(void *arg)
{
    struct app *a = arg;

    atomic_store(&a->reload, true);
    app_request_stop(a);
}

static int watch_config(struct app *a, struct err *err)
{
    if (!a->args.options->dynamic_reloading) {
        return ERR_OK;
    }
    a->config_watch = config_watch_new(&(struct config_watch_args){
        .source = config_source_of(a),
        .current = &a->config,
        .clock = a->args.clock,
        .check = check_config,
        .changed = config_changed,
        .arg = a,
    });
    return config_watch_start(a->config_watch, err);
}

/* The configuration says that this program is to do nothing: it waits for another one. */
static int rest(struct app *a, struct err *err)
{
    log_warning("The configuration turns the cloud provider off: nothing is done until it changes",
                LOG_S("reason", err->message));
    err_clear(err);
    return watch_config(a, err);
}

bool app_wants_reload(struct app *a)
{
    return atomic_load(&a->reload);
}

/* The provider's configuration may decide whether endpoints are needed. */
static void make_slices(struct app *a)
{
    const struct tt_provider *d = a->args.provider;
    bool wanted = (d->capabilities & TT_CAP_WANTS_ENDPOINTS) != 0;

    if (wanted && d->endpoints_delay_ms != NULL) {
        wanted = d->endpoints_delay_ms(a->provider, NULL) >= 0;
    }
    if (wanted) {
        a->slices = kube_store_new(KUBE_SLICE);
        host_set_slices(a->host, a->slices);
    }
}

/* A provider that cannot plan was refused, or is synced again and again in place of being looked at
 * (controller_main.c). */
static void make_drift(struct app *a)
{
    const struct options *o = a->args.options;
    struct syncer *s = &a->syncer;
    bool repairs = str_eq(o->drift, "repair");

    s->drift_period_ms = o->drift_period_ms;
    if (a->args.provider->plan != NULL) {
        s->drift = repairs ? SYNC_DRIFT_REPAIR : SYNC_DRIFT_REPORT;
    } else if (repairs && (s->resync_period_ms == 0 || s->resync_period_ms > o->drift_period_ms)) {
        s->resync_period_ms = o->drift_period_ms;
    }
    s->drift_offset_ms = (int64_t)(rng_unit(s->rng) * (double)o->drift_period_ms);
}

static void make_syncer(struct app *a)
{
    const struct tt_provider *d = a->args.provider;

    a->syncer = (struct syncer){
        .desc = d,
        .call_timeout_ms = a->args.options->call_deadline_ms > 0 ? a->args.options->call_deadline_ms
                                                                 : d->call_deadline_ms,
        .late_max = a->args.opaque ? LATE_CALLS_MAX : 0,
        .provider = a->provider,
        .host = a->host,
        .clock = a->args.clock,
        .rng = a->args.rng,
        .cancel = a->cancel,
        .queue = a->queue,
        .cache = a->cache,
        .node_sets = a->node_sets,
        .orphan_guard = a->orphan_guard,
        .services = a->services,
        .nodes = a->nodes,
        .slices = a->slices,
        .client = a->client,
        .events = a->events,
        .metrics = a->metrics,
        .progress = a->args.progress,
        .board = a->board,
        .scope = sync_scope_of(d),
        /* Its events before each call are the service controller's. */
        .strict_events =
            a->args.options->strict_events && options_service_controller_on(a->args.options),
        .conditions = a->args.options->service_conditions,
        .annotations = a->args.options->service_annotations,
        .resync_period_ms = a->args.options->resync_period_ms,
    };
    if (!str_eq(a->args.options->drift, "off")) {
        make_drift(a);
    }
}

static int start_reflectors(struct app *a, struct err *err)
{
    a->reflectors = kube_reflectors_new(&(struct kube_reflectors_args){
        .config = a->kube,
        .user_agent = a->watch_agent,
        .clock = a->args.clock,
        .rng = a->args.rng,
        .cancel = a->cancel,
        .streams = kube_reflectors_gate(getenv("KUBE_FEATURE_WatchListClient")),
        .observe = observe_request,
        .observe_arg = a,
    });
    a->watch.syncer = &a->syncer;
    a->watch.fanout = node_fanout_new(&a->syncer);
    watch_attach(&a->watch);
    kube_reflectors_add(a->reflectors, a->services, NULL);
    kube_reflectors_add(a->reflectors, a->nodes, NULL);
    if (a->slices != NULL) {
        kube_reflectors_add(a->reflectors, a->slices, NULL);
    }
    int rc = kube_reflectors_start(a->reflectors, err);
    if (rc == ERR_OK) {
        rc = node_fanout_start(a->watch.fanout, err);
    }
    return rc;
}

/* Waits as long as it takes (as informers do), saying what is in the way. */
static int wait_synced(struct app *a, struct err *err)
{
    for (;;) {
        int64_t until = clock_now_ms(a->args.clock) + API_ROUND_MS;
        err_clear(err);
        int rc = kube_reflectors_wait_synced(a->reflectors, until, err);
        if (rc == ERR_OK || rc == ERR_CANCELLED || cancel_fired(a->cancel)) {
            return rc == ERR_OK
                       ? ERR_OK
                       : err_set(err, ERR_CANCELLED, "stopped before the first lists were in");
        }
        log_warning("Still waiting for the first lists", LOG_S("server", a->kube->server),
                    LOG_S("reason", err->message));
    }
}

/* Connected, and the provider open. */
static int prepare(struct app *a, struct err *err)
{
    int rc = connect_cluster(a, err);

    if (rc == ERR_OK) {
        rc = wait_for_api(a, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    make_stores(a);
    make_host(a);
    return open_provider(a, err);
}

/* The first lists are in, and what changes gets in line. */
static int start_watching(struct app *a, struct err *err)
{
    make_slices(a);
    make_syncer(a);
    log_info(0, "Starting service controller");
    int rc = make_leases(a, err);
    if (rc == ERR_OK) {
        rc = start_reflectors(a, err);
    }
    if (rc == ERR_OK) {
        rc = wait_synced(a, err);
    }
    if (rc == ERR_OK) {
        atomic_store(&a->watch.started, true);
        log_info(0, "Watching", LOG_I("services", kube_store_count(a->services)),
                 LOG_I("nodes", kube_store_count(a->nodes)),
                 LOG_I("waiting", queue_counts(a->queue).waiting));
    }
    return rc;
}

static int start_working(struct app *a, struct err *err)
{
    syncer_ask_left(&a->syncer);
    struct workers *workers = workers_new(&a->syncer, worker_limit(a));
    mutex_lock(&a->lock);
    a->workers = workers;
    mutex_unlock(&a->lock);
    int rc = workers_start(workers, err);
    if (rc == ERR_OK) {
        rc = watch_config(a, err);
    }
    if (rc == ERR_OK) {
        a->live = (struct metrics_live){
            .metrics = a->metrics,
            .client = a->client,
            .board = a->board,
            .orphan_guard = a->orphan_guard,
            .queue = a->queue,
            .workers = a->workers,
            .fanout = a->watch.fanout,
            .stores = {
                [KUBE_SERVICE] = a->services, [KUBE_NODE] = a->nodes, [KUBE_SLICE] = a->slices}};
        metrics_live_begin(&a->live);
        mutex_lock(&a->lock);
        a->running = true;
        mutex_unlock(&a->lock);
        app_set_running(a, true);
    }
    return rc;
}

int app_start(struct app *a, struct err *err)
{
    if (a->args.election != NULL) {
        fence_add_guard(&a->fence, election_may_mutate, a->args.election);
    }
    int rc = prepare(a, err);
    if (rc == ERR_IMPLEMENTED_ELSEWHERE && a->args.options->dynamic_reloading) {
        return rest(a, err);
    }
    if (rc == ERR_OK) {
        rc = start_watching(a, err);
    }
    if (rc == ERR_OK) {
        rc = wait_for_leases(a, err);
    }
    if (rc == ERR_OK) {
        read_quarantine(a);
    }
    return rc == ERR_OK ? start_working(a, err) : rc;
}
