/* SPDX-License-Identifier: Apache-2.0 */
/* app.c: builds the controller from its parts, in the order that they need each other, and takes it apart again.
 *
 * Two cancels: `cancel` ends the work (calls, reflectors, waiting), `hard` also the client, which the event writer still
 * needs for a moment.  Everything here runs in the thread that starts and stops the app. */
#include "controller/app.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "common/base/arena.h"
#include "common/base/cancel.h"
#include "common/base/lock.h"
#include "common/base/log.h"
#include "common/lb/service_rules.h"
#include "controller/board.h"
#include "controller/config_watch.h"
#include "controller/kube/reflector.h"
#include "controller/kube/unreachable.h"
#include "controller/leases.h"
#include "controller/node_fanout.h"
#include "controller/sync.h"
#include "controller/watch.h"
#include "controller/workers.h"

#define API_WAIT_MS      10000
#define EVENTS_FLUSH_MS  300
#define PROVIDER_OPEN_MS 120000
#define LEASE_RELEASE_MS 200 /* the whole exit stays within 2 s */

struct app {
    struct app_args args;
    struct arena *a; /* what lives as long as the app */
    struct cancel *cancel;
    struct cancel *hard;
    struct fence fence;
    struct metrics *metrics;
    struct board *board;
    struct kube_config *kube;
    struct kube_client *client;
    struct kube_client *event_client; /* its rate limit is its own: events hold no status up */
    struct kube_events *events;
    struct kube_store *services;
    struct kube_store *nodes;
    struct kube_store *slices;
    struct kube_reflectors *reflectors;
    struct queue *queue;
    struct service_cache *cache;
    struct node_sets *node_sets;
    struct tt_host_ctx *host;
    struct config_texts config; /* what the provider was opened with; in `a` */
    struct config_watch *config_watch;
    struct leases *leases; /* NULL: none is needed */
    atomic_bool reload;    /* the configuration has changed: that is why it stops */
    void *provider;
    bool provider_open;
    struct syncer syncer;
    struct watch watch;
    struct workers *workers;
    char user_agent[160];
    struct mutex lock;
    struct cond stopping;
    int stop_hook;
    bool running;
};

/* ---- small things -------------------------------------------------------------------------------- */

static void make_user_agent(char *out, size_t n)
{
    struct utsname u;
    const char *arch = "unknown";

    if (uname(&u) == 0) {
        arch = strcmp(u.machine, "x86_64") == 0    ? "amd64"
               : strcmp(u.machine, "aarch64") == 0 ? "arm64"
                                                   : u.machine;
    }
    (void)snprintf(
        out, n,
        "cloud-controller-manager/v1.36.2 (linux/%.40s) kubernetes/trimtab-%s/service-controller",
        arch, TRIMTAB_VERSION);
}

static void observe_request(void *arg, const char *method, const char *resource, int status,
                            int64_t took_ms)
{
    struct app *a = arg;
    char code[16] = "<error>";

    if (status != 0) {
        (void)snprintf(code, sizeof(code), "%d", status);
    }
    const struct tt_kv count[] = {{"code", code}, {"method", method}, {"host", a->kube->server}};
    const struct tt_kv time[] = {{"verb", method}, {"host", a->kube->server}};
    log_info(6, "API request", LOG_S("method", method), LOG_S("resource", resource),
             LOG_I("status", status), LOG_MS("took", took_ms));
    metrics_add(a->metrics, METRIC_CLIENT_REQUESTS, count, ARRAY_LEN(count), 1);
    metrics_observe(a->metrics, METRIC_CLIENT_DURATION, time, ARRAY_LEN(time),
                    (double)took_ms / 1000);
}

static void lease_lost(void *arg)
{
    app_request_stop(arg);
}

static void wake_stopping(void *arg)
{
    struct app *a = arg;

    mutex_lock(&a->lock);
    cond_broadcast(&a->stopping);
    mutex_unlock(&a->lock);
}

struct app *app_new(const struct app_args *args)
{
    struct app *a = xcalloc(1, sizeof(*a));

    a->args = *args;
    if (a->args.clock == NULL) {
        a->args.clock = clock_real();
    }
    if (a->args.rng == NULL) {
        a->args.rng = rng_real();
    }
    if (a->args.api_wait_ms == 0) {
        a->args.api_wait_ms = API_WAIT_MS;
    }
    a->a = arena_new();
    a->cancel = cancel_new(NULL);
    a->hard = cancel_new(NULL);
    a->metrics = metrics_new();
    a->board = board_new(a->args.clock);
    make_user_agent(a->user_agent, sizeof(a->user_agent));
    mutex_init(&a->lock);
    cond_init(&a->stopping);
    a->stop_hook = cancel_hook(a->cancel, wake_stopping, a);
    return a;
}

/* ---- start --------------------------------------------------------------------------------------- */

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
    const struct kube_config_args where = {
        .kubeconfig = o->kubeconfig, .master = o->master, .clock = a->args.clock};

    if (kube_config_load(&where, &a->kube, err) != ERR_OK) {
        return kube_config_blame(where.kubeconfig, err);
    }
    const struct kube_client_args args = client_args(a);
    a->client = kube_client_new(&args);
    a->event_client = kube_client_new(&args);
    a->events = kube_events_new(a->event_client, a->args.clock, a->args.rng);
    return ERR_OK;
}

static void api_not_ready(void *arg, const struct err *last)
{
    const struct app *a = arg;

    log_warning("Waiting for the API server", LOG_S("server", a->kube->server),
                LOG_S("reason", last->message));
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

static int wait_for_api(struct app *a, struct err *err)
{
    int rc = kube_client_wait_ready(a->client, a->args.api_wait_ms, api_not_ready, a, err);

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

static void make_stores(struct app *a)
{
    const struct tt_provider *d = a->args.provider;

    a->services = kube_store_new(KUBE_SERVICE);
    a->nodes = kube_store_new(KUBE_NODE);
    a->queue = queue_new(&(struct queue_limits){.debounce_idle_ms = d->debounce_idle_ms,
                                                .debounce_max_ms = d->debounce_max_ms},
                         a->args.clock);
    a->cache = service_cache_new();
    a->node_sets = node_sets_new();
}

static void note_plan(void *arg, const struct tt_plan *plan)
{
    board_plan(arg, plan);
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
        .client = a->client,
        .events = a->events,
        .services = a->services,
        .nodes = a->nodes,
        .cluster_name = a->args.options->cluster_name,
        .cleanup_finalizer = LB_CLEANUP_FINALIZER,
        .hooks = {.on_work = syncer_on_work,
                  .on_left = syncer_on_left,
                  .on_plan = note_plan,
                  .arg = a->board},
    });
}

static unsigned worker_limit(const struct app *a)
{
    unsigned wanted = (unsigned)a->args.options->concurrent_service_syncs;
    unsigned most = a->args.provider->max_parallel;

    return most != 0 && most < wanted ? most : wanted;
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
    };
    return config_texts_fill(config, a->args.provider, ret, err);
}

static int open_provider(struct app *a, struct err *err)
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
    int32_t rc = d->open(&args, &a->provider, host_call_result(c, 0));
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

/* Nothing asks the fence yet: workers and events come later. */
static int start_leases(struct app *a, struct err *err)
{
    return leases_start(
        &(struct leases_args){
            .desc = a->args.provider,
            .provider = a->provider,
            .client = client_args(a),
            .clock = a->args.clock,
            .rng = a->args.rng,
            .fence = &a->fence,
            .lost = lease_lost,
            .arg = a,
        },
        &a->leases, err);
}

bool app_lease_lost(struct app *a, struct err *ret)
{
    return leases_why_lost(a->leases, ret);
}

/* ---- another configuration ----------------------------------------------------------------------- */

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

/* Whether endpoints concern anybody may hang on the provider's configuration. */
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

static void make_syncer(struct app *a)
{
    const struct tt_provider *d = a->args.provider;

    a->syncer = (struct syncer){
        .desc = d,
        .provider = a->provider,
        .host = a->host,
        .clock = a->args.clock,
        .rng = a->args.rng,
        .cancel = a->cancel,
        .queue = a->queue,
        .cache = a->cache,
        .node_sets = a->node_sets,
        .services = a->services,
        .nodes = a->nodes,
        .slices = a->slices,
        .client = a->client,
        .events = a->events,
        .metrics = a->metrics,
        .board = a->board,
        .scope = sync_scope_of(d),
        /* Its events before each call are the service controller's. */
        .strict_events =
            a->args.options->strict_events && options_service_controller_on(a->args.options),
        .resync_period_ms = a->args.options->resync_period_ms,
    };
}

static int start_reflectors(struct app *a, struct err *err)
{
    a->reflectors = kube_reflectors_new(&(struct kube_reflectors_args){
        .config = a->kube,
        .user_agent = a->user_agent,
        .clock = a->args.clock,
        .rng = a->args.rng,
        .cancel = a->cancel,
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
        int64_t until = clock_now_ms(a->args.clock) + API_WAIT_MS;
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

int app_start(struct app *a, struct err *err)
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
    rc = open_provider(a, err);
    if (rc == ERR_IMPLEMENTED_ELSEWHERE && a->args.options->dynamic_reloading) {
        return rest(a, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    make_slices(a);
    make_syncer(a);
    log_info(0, "Starting service controller");
    rc = start_leases(a, err);
    if (rc == ERR_OK) {
        rc = start_reflectors(a, err);
    }
    if (rc == ERR_OK) {
        rc = wait_synced(a, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    atomic_store(&a->watch.started, true);
    log_info(0, "Watching", LOG_I("services", kube_store_count(a->services)),
             LOG_I("nodes", kube_store_count(a->nodes)),
             LOG_I("waiting", queue_counts(a->queue).waiting));
    rc = leases_wait(a->leases, a->cancel, err);
    if (rc == ERR_OK) {
        syncer_ask_left(&a->syncer);
        a->workers = workers_new(&a->syncer, worker_limit(a));
        rc = workers_start(a->workers, err);
    }
    if (rc == ERR_OK) {
        rc = watch_config(a, err);
    }
    if (rc == ERR_OK) {
        mutex_lock(&a->lock);
        a->running = true;
        mutex_unlock(&a->lock);
    }
    return rc;
}

static bool is_running(struct app *a)
{
    mutex_lock(&a->lock);
    bool running = a->running;
    mutex_unlock(&a->lock);
    return running;
}

/* ---- stop ---------------------------------------------------------------------------------------- */

void app_request_stop(struct app *a)
{
    bool running = is_running(a);

    cancel_fire(a->cancel);
    if (!running) {
        cancel_fire(a->hard); /* nothing to finish: also the waiting for the API server ends */
    }
}

void app_wait_stop(struct app *a)
{
    mutex_lock(&a->lock);
    while (!cancel_fired(a->cancel)) {
        clock_wait(clock_real(), &a->stopping, &a->lock, CLOCK_NEVER);
    }
    mutex_unlock(&a->lock);
}

bool app_stop(struct app *a, int64_t timeout_ms)
{
    int64_t until = clock_now_ms(clock_real()) + timeout_ms;

    cancel_fire(a->cancel);
    if (is_running(a)) {
        log_info(0, "Shutting down service controller");
    }
    config_watch_free(STEAL(a->config_watch));
    if (a->queue != NULL) {
        queue_shutdown(a->queue, false);
    }
    if (!workers_end(STEAL(a->workers), until)) {
        log_warning("A call into the provider does not end, leaving without it",
                    LOG_S("provider", a->args.provider->name));
        return false;
    }
    kube_reflectors_free(STEAL(a->reflectors)); /* their thread tells the fan-out of nodes */
    node_fanout_free(STEAL(a->watch.fanout));
    if (a->provider_open) {
        a->args.provider->close(STEAL(a->provider));
        a->provider_open = false;
    }
    if (a->events != NULL) {
        kube_events_free(STEAL(a->events), EVENTS_FLUSH_MS);
    }
    leases_stop(STEAL(a->leases), LEASE_RELEASE_MS);
    cancel_fire(a->hard);
    return true;
}

void app_free(struct app *a)
{
    if (a == NULL) {
        return;
    }
    cancel_unhook(a->cancel, a->stop_hook);
    host_free(a->host);
    service_cache_free(a->cache);
    node_sets_free(a->node_sets);
    queue_free(a->queue);
    kube_store_free(a->services);
    kube_store_free(a->nodes);
    kube_store_free(a->slices);
    kube_client_free(a->client);
    kube_client_free(a->event_client);
    kube_config_free(a->kube);
    metrics_free(a->metrics);
    board_free(a->board);
    cancel_free(a->cancel);
    cancel_free(a->hard);
    cond_done(&a->stopping);
    mutex_done(&a->lock);
    arena_free(a->a);
    free(a);
}

/* ---- for tests ----------------------------------------------------------------------------------- */

bool app_is_idle(struct app *a)
{
    bool quiet = kube_store_is_quiet(a->services) && kube_store_is_quiet(a->nodes) &&
                 (a->slices == NULL || kube_store_is_quiet(a->slices));
    return is_running(a) && quiet && node_fanout_is_idle(a->watch.fanout) &&
           queue_is_idle(a->queue);
}

bool app_wait_idle(struct app *a, int64_t real_ms)
{
    int64_t until = clock_now_ms(clock_real()) + real_ms;

    if (!is_running(a)) {
        return false;
    }
    return queue_wait_idle(a->queue, until) && app_is_idle(a);
}

int64_t app_next_due_ms(struct app *a)
{
    if (!is_running(a)) {
        return CLOCK_NEVER;
    }
    int64_t queue = queue_next_ms(a->queue);
    int64_t fanout = node_fanout_next_ms(a->watch.fanout);
    return queue < fanout ? queue : fanout;
}

struct kube_store *app_services(struct app *a)
{
    return a->services;
}

struct kube_store *app_nodes(struct app *a)
{
    return a->nodes;
}

struct kube_store *app_slices(struct app *a)
{
    return a->slices;
}

struct metrics *app_metrics(struct app *a)
{
    return a->metrics;
}

struct queue_counts app_queue_counts(struct app *a)
{
    return queue_counts(a->queue);
}
