/* SPDX-License-Identifier: Apache-2.0 */
/* provider.c: the descriptor of the provider `local`: open, close, and the ways into the flow.
 *
 * open() reads the configuration, takes the lock of the instance on this machine, and looks whether
 * the kernel has a table of that name that is not ours.  It writes nothing: the table is made by
 * the first plan that needs it. */
#include "providers/local/leasing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/str.h"
#include "common/lb/request_count.h"
#include "common/lb/service_rules.h"

#define DEBOUNCE_IDLE_MS 5
#define DEBOUNCE_MAX_MS  50
/* Services of one plan, so that it stays small whatever comes at once */
#define BATCH_MAX 256
#define ROUTERS_HEAR_MS                                                                            \
    500 /* until a route's withdrawal has reached the neighbours of a routing daemon */

static void pause_for(int64_t ms)
{
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    (void)nanosleep(&t, NULL); /* cut short by a signal: then routers hear later */
}

/* Returns whether there were any. */
static bool end_routes_of(struct local_provider *p, struct arena *a, enum local_route_kind kind,
                          const struct local_route *routes, size_t n)
{
    struct local_route *go = ARENA_ARRAY(a, struct local_route, n + 1);
    int *codes = ARENA_ARRAY(a, int, n + 1);
    struct err ignored = ERR_INIT;
    size_t n_go = 0;

    for (size_t i = 0; i < n; i++) {
        if (routes[i].kind == kind) {
            go[n_go++] = routes[i];
        }
    }
    if (n_go > 0) {
        (void)p->kernel->ops->routes_change(p->kernel, true, go, n_go, codes, &ignored);
    }
    return n_go > 0;
}

/* Directors that hold the same addresses: routers are to send packets to the others before
 * this one lets go. */
static void end_routes(struct local_provider *p)
{
    struct arena *a = arena_new();
    struct local_route *routes = NULL;
    struct err ignored = ERR_INIT; /* what stays comes back with the next start */
    size_t n = 0;
    bool ecmp = p->opened && !p->planning && p->config->role == LOCAL_ROLE_DIRECTOR &&
                p->config->director.redundancy != LOCAL_REDUNDANCY_NONE;

    if (ecmp && p->kernel->ops->routes(p->kernel, a, &routes, &n, &ignored) == ERR_OK &&
        end_routes_of(p, a, LOCAL_ROUTE_EXPORT, routes, n)) {
        pause_for(ROUTERS_HEAR_MS);
    }
    if (ecmp) {
        (void)end_routes_of(p, a, LOCAL_ROUTE_HOLD, routes, n);
    }
    arena_free(a);
}

static void close_provider(void *provider)
{
    struct local_provider *p = provider;

    if (p == NULL) {
        return;
    }
    local_leasing_end(p);
    local_director_free(p->directing); /* else it would put right what goes now */
    end_routes(p);
    local_leasing_free(p->leasing);
    if (p->kernel != NULL) {
        p->kernel->ops->free(p->kernel);
    }
    if (p->lock_fd >= 0) {
        close(p->lock_fd);
    }
    local_ipam_free(p->ipam);
    local_mirror_free(p->mirror);
    local_seen_free(p->seen);
    local_served_done(p);
    map_free(p->namespaces);
    map_free(p->told);
    map_free(p->outside);
    map_free(p->taken);
    map_free(p->draining);
    map_free(p->machine_told);
    map_free(p->requests_told);
    map_free(p->traffic);
    map_free(p->releasing);
    local_round_done(p);
    intern_table_free(p->texts);
    call_watch_free(p->watch);
    http_pool_free(p->http);
    cancel_free(p->cancel);
    mutex_done(&p->lock);
    arena_free(p->a);
    free(p);
}

/* ---- configuration --------------------------------------------------------------------------- */

static const char *option_of(const struct tt_open_args *args, const char *name)
{
    for (uint32_t i = 0; i < args->n_options; i++) {
        if (str_eq(args->options[i].key, name)) {
            return str_is_empty(args->options[i].value) ? NULL : args->options[i].value;
        }
    }
    return NULL;
}

static int read_config(struct arena *a, const struct tt_open_args *args,
                       const struct local_config **ret, struct local_config_findings *findings,
                       struct err *err)
{
    *findings = (struct local_config_findings){0};
    if (args->config_text == NULL) {
        return err_set(
            err, ERR_INVALID,
            "the provider local needs a configuration: --cloud-config FILE with at least "
            "apiVersion and pools");
    }
    return local_config_read(a, str_or(args->config_path, "cloud config"), args->config_text,
                             args->config_len, option_of(args, "local-role"), ret, findings, err);
}

/* Features that several directors do not support. */
static int check_redundancy(const char *file, const struct local_config *c, struct err *err)
{
    for (size_t i = 0; i < c->n_pools && c->role == LOCAL_ROLE_DIRECTOR; i++) {
        const struct local_pool *pool = &c->pools[i];
        if (c->director.redundancy == LOCAL_REDUNDANCY_ECMP &&
            pool->announce_by == LOCAL_ANNOUNCE_ARP) {
            return err_set(err, ERR_INVALID,
                           "%s:%zu: pool \"%s\": redundancy ecmp needs announce: {by: routes}; two "
                           "machines would answer ARP for one address",
                           file, pool->line, pool->name);
        }
    }
    return ERR_OK;
}

static int64_t spare_of(const struct tt_open_args *args)
{
    return TT_HAS(args, election_spare_ms) ? args->election_spare_ms : 0;
}

/* Settings that conflict with the role. */
static int check_role(const struct local_provider *p, const struct tt_open_args *args,
                      struct err *err)
{
    bool leases = p->config->director.redundancy == LOCAL_REDUNDANCY_LEASE;

    if (!p->follows || p->dumping) {
        return ERR_OK;
    }
    if (spare_of(args) != 0) {
        return err_set(err, ERR_INVALID,
                       "role director runs on every director; start it with --leader-elect=false");
    }
    if (leases && !local_lease_name_ok(p->director)) {
        return err_set(err, ERR_INVALID,
                       "director name \"%s\" cannot be part of a Lease's name: lower-case letters, "
                       "digits, dashes and dots, at most %d",
                       p->director, LOCAL_LEASE_NAME_MAX);
    }
    return ERR_OK;
}

static const char *idle_stats(const struct tt_open_args *args, const struct local_config *c)
{
    bool asked = str_eq(option_of(args, "local-service-stats"), "true");

    return asked ? local_traffic_idle(c) : NULL;
}

int32_t local_check_config(const struct tt_open_args *args, struct tt_result *result)
{
    struct arena *a = arena_new();
    const struct local_config *config = NULL;
    struct local_config_findings found;
    struct err err = ERR_INIT;
    const char *file = str_or(args->config_path, "cloud config");
    int rc = read_config(a, args, &config, &found, &err);

    if (rc == ERR_OK) {
        rc = check_redundancy(file, config, &err);
    }
    for (size_t i = 0; i < found.n; i++) {
        const struct local_config_finding *f = &found.items[i];
        const char *where = f->line == 0 ? file : arena_printf(a, "%s:%zu", file, f->line);
        if (str_eq(err.message, arena_printf(a, "%s: %s", where, f->text))) {
            continue; /* the result says it */
        }
        args->host->report_finding(args->host->ctx, f->is_error ? TT_LOG_ERROR : TT_LOG_WARNING,
                                   where, f->text);
    }
    const char *idle = rc == ERR_OK ? idle_stats(args, config) : NULL;
    if (idle != NULL) {
        args->host->report_finding(args->host->ctx, TT_LOG_WARNING, file, idle);
    }
    if (rc != ERR_OK) {
        args->host->result_fail(result, rc, err.message, 0);
    }
    arena_free(a);
    return rc;
}

static void log_warnings(const struct tt_open_args *args, const struct local_config_findings *found)
{
    for (size_t i = 0; i < found->n; i++) {
        if (!found->items[i].is_error) {
            args->host->log(args->host->ctx, TT_LOG_WARNING, 0, found->items[i].text, NULL, 0);
        }
    }
}

/* ---- this machine ---------------------------------------------------------------------------- */

static const char *name_of_machine(struct arena *a, const struct tt_open_args *args,
                                   const struct local_config *c)
{
    char name[256] = "";
    const char *option = option_of(args, "local-director-name");

    if (option != NULL || c->director.name != NULL) {
        return arena_strdup(a, option != NULL ? option : c->director.name);
    }
    return gethostname(name, sizeof name - 1) == 0 && name[0] != '\0' ? arena_strdup(a, name)
                                                                      : "director";
}

/* Another name was given, or that trimtab is not needed any more: its rules continue refusing what
 * they do not know. */
static void say_left(const struct local_provider *p, bool real)
{
    struct arena *a = arena_new();
    struct err ignored = ERR_INIT; /* the next start may say it */
    const char **names = NULL;
    size_t n = 0;

    if (p->kernel->ops->nft_instances(p->kernel, a, &names, &n, &ignored) != ERR_OK) {
        n = 0;
    }
    for (size_t i = 0; i < n; i++) {
        if (str_eq(names[i], p->config->instance) || (real && local_kernel_is_locked(names[i]))) {
            continue;
        }
        const char *text = arena_printf(
            a,
            "table inet %s is left by instance \"%s\", which does not run: its rules refuse at its "
            "addresses what they do not know (nft delete table inet %s)",
            names[i], names[i], names[i]);
        p->host->log(p->host->ctx, TT_LOG_WARNING, 0, text, NULL, 0);
    }
    arena_free(a);
}

/* Of a pair on one machine the leader has the lock, and frees it before the other one leads: by the
 * refusal of may_mutate() the host knows to open the provider again then. */
static int take_lock(struct local_provider *p, struct err *err)
{
    int rc = local_kernel_lock(p->config->instance, &p->lock_fd, err);

    if (rc == ERR_CONFLICT && p->host->may_mutate(p->host->ctx, NULL) == 0) {
        const struct tt_kv of = {"why", err->message};
        p->host->log(p->host->ctx, TT_LOG_INFO, 0, "this replica opens when it leads", &of, 1);
    }
    return rc;
}

static int open_kernel(struct local_provider *p, const char *file,
                       const struct local_open_with *with, struct err *err)
{
    const struct local_rt_args rt = {.protocol = p->config->director.route_protocol,
                                     .table = p->config->director.route_table};
    int rc = ERR_OK;

    if (with != NULL && with->kernel != NULL) {
        p->kernel = with->kernel;
    } else {
        rc = local_kernel_open(&rt, &p->kernel, err);
        if (rc == ERR_OK && !p->planning && !p->dumping) {
            rc = take_lock(p, err);
        }
    }
    if (rc == ERR_OK && !p->planning) {
        p->kernel->ops->time_exchanges(p->kernel, local_figures_took, p);
    }
    if (rc == ERR_OK) {
        rc = p->kernel->ops->nft_look(p->kernel, p->config->instance, &p->table, err);
    }
    if (rc == ERR_OK) {
        rc = local_check_machine(p, file, err);
    }
    if (rc == ERR_OK && p->table.exists && !p->table.ours) {
        rc = local_table_is_foreign(p, err);
    }
    if (rc == ERR_OK && !p->planning && !p->dumping) {
        say_left(p, with == NULL || with->kernel == NULL);
    }
    return rc == ERR_OK ? local_ipvs_start(p, err) : rc;
}

/* --local-state-dump: the process has nothing else to do. */
static void print_state(struct local_provider *p)
{
    const char *text = NULL;
    struct err err = ERR_INIT;

    if (local_state_dump(p, p->a, &text, &err) != ERR_OK) {
        (void)fprintf(stderr, "trimtab: %s\n", err.message);
        _exit(1);
    }
    (void)printf("%s\n", text);
    _exit(fflush(stdout) == 0 ? 0 : 1); /* no handlers: nothing was begun */
}

/* The kernel, and the threads that work on it between calls. */
static int open_machine(struct local_provider *p, const struct tt_open_args *args,
                        const struct local_open_with *with, struct err *err)
{
    bool directs = with == NULL || with->kernel == NULL || with->directing_kernel != NULL;
    const struct local_sharing *sharing = NULL;
    int rc = open_kernel(p, str_or(args->config_path, "cloud config"), with, err);

    if (rc == ERR_OK && p->dumping) {
        print_state(p); /* does not return */
    }
    if (rc == ERR_OK) {
        rc = local_conn_sync_start(p, err);
    }
    if (rc == ERR_OK && directs) {
        sharing = local_leasing_start(p, spare_of(args), err);
        rc = err->code;
    }
    if (rc == ERR_OK && directs) {
        rc = local_directing_start(p, with, sharing, err);
    }
    return rc == ERR_OK && directs ? local_leasing_talk(p, err) : rc;
}

static void make_parts(struct local_provider *p, const struct tt_open_args *args)
{
    const struct http_config http = {
        .user_agent = arena_printf(p->a, "trimtab/%s kubernetes", str_or(args->version, "dev")),
        .clock = p->clock,
        .observe = lb_request_count,
        .observe_arg = (void *)p->host,
    };
    p->http = http_pool_new(&http);
    p->cancel = cancel_new(NULL);
    p->watch = call_watch_new();
    p->texts = intern_table_new();
    p->seen = local_seen_new();
    local_served_init(p);
    p->told = local_told_new();
    p->outside = map_new(NULL);
    p->taken = map_new(free);
    p->draining = map_new(free);
    p->machine_told = map_new(free);
    p->requests_told = map_new(free);
    p->traffic = map_new(free);
    p->releasing = map_new(free);
    p->mirror = local_mirror_new(p->texts);
}

int32_t local_provider_open(const struct tt_open_args *args, const struct local_open_with *with,
                            void **ret_provider, struct tt_result *result)
{
    struct local_provider *p = xcalloc(1, sizeof *p);
    struct local_config_findings found;
    struct err err = ERR_INIT;

    p->a = arena_new();
    p->host = args->host;
    p->lock_fd = -1;
    p->allow_foreign = str_eq(option_of(args, "local-allow-foreign"), "true");
    p->service_stats = str_eq(option_of(args, "local-service-stats"), "true");
    p->dumping = str_eq(option_of(args, "local-state-dump"), "true");
    p->planning = TT_HAS(args, planning) && args->planning != 0;
    p->drift = TT_HAS(args, drift) ? args->drift : TT_DRIFT_OFF;
    p->clock = with != NULL && with->clock != NULL ? with->clock : clock_real();
    p->rng = with != NULL && with->rng != NULL ? with->rng : rng_real();
    mutex_init(&p->lock);
    make_parts(p, args);
    int rc = read_config(p->a, args, &p->config, &found, &err);
    if (rc == ERR_OK) {
        log_warnings(args, &found);
        const char *idle = idle_stats(args, p->config);
        if (idle != NULL) {
            p->host->log(p->host->ctx, TT_LOG_WARNING, 0, idle, NULL, 0);
        }
        p->director = name_of_machine(p->a, args, p->config);
        p->ipam = local_ipam_new(p->config, p->texts);
        p->follows = p->remembered = p->config->role == LOCAL_ROLE_DIRECTOR;
        rc = check_redundancy(str_or(args->config_path, "cloud config"), p->config, &err);
    }
    if (rc == ERR_OK) {
        rc = check_role(p, args, &err);
    }
    if (rc == ERR_OK && p->config->role != LOCAL_ROLE_ALLOCATOR) {
        rc = open_machine(p, args, with, &err);
    } else if (rc == ERR_OK && p->dumping) {
        rc = err_set(&err, ERR_INVALID, "role allocator has nothing in the kernel to print");
    }
    p->opened = rc == ERR_OK;
    if (rc != ERR_OK) {
        args->host->result_fail(result, rc, err.message, 0);
        close_provider(p);
        return rc;
    }
    *ret_provider = p;
    return TT_OK;
}

static int32_t open_provider(const struct tt_open_args *args, void **ret_provider,
                             struct tt_result *result)
{
    return local_provider_open(args, NULL, ret_provider, result);
}

/* A director writes no Service and reads no Namespace; an allocator needs no endpoints;
 * Leases are directors'. */
static uint32_t needs_kind(const struct tt_kv *options, uint32_t n_options,
                           const struct tt_kube_kind *kind)
{
    const char *role = "";

    for (uint32_t i = 0; i < n_options; i++) {
        role = str_eq(options[i].key, "local-role") ? str_nonnull(options[i].value) : role;
    }
    bool director = str_eq(role, "director");
    if (str_eq(kind->resource, "leases")) {
        return director;
    }
    if (str_eq(kind->resource, "endpointslices")) {
        return !str_eq(role, "allocator");
    }
    return !director;
}

/* ---- the descriptor -------------------------------------------------------------------------- */

static int32_t batch_key(void *provider, const struct tt_service *service, char *text, size_t n)
{
    (void)provider;
    (void)service;
    (void)snprintf(text, n,
                   "kernel"); /* what is due comes together: one mirror, few transactions */
    return TT_OK;
}

/* The slices matter to policy Local and to targets that are pods; nodes alone are targets else. */
/* Some pool's Services have pods as targets; which pool a Service has is not known here. */
static bool some_pool_has_pods(const struct local_config *c)
{
    for (size_t i = 0; i < c->n_pools; i++) {
        if (c->pools[i].serve.targets == LOCAL_TARGETS_POD) {
            return true;
        }
    }
    return false;
}

static int64_t endpoints_delay_ms(void *provider, const struct tt_service *service)
{
    const struct local_provider *p = provider;

    if (p->config->role == LOCAL_ROLE_ALLOCATOR) {
        return -1;
    }
    return service == NULL || svc_only_local_traffic(service) ||
                   service->allocate_node_ports == 0 || local_wish_names_targets(service) ||
                   some_pool_has_pods(p->config)
               ? DEBOUNCE_IDLE_MS
               : -1;
}

static uint64_t node_digest(void *provider, const struct tt_node *node)
{
    const struct local_provider *p = provider;

    return p->config->role == LOCAL_ROLE_ALLOCATOR ? 0 : local_node_digest(p->config, node);
}

static const struct tt_option options[] = {
    {"local-allow-foreign", TT_OPTION_BOOL, 0, "false",
     "take over services of IPVS that stand at addresses of a pool and were made by others, in "
     "place of refusing to start"},
    {"local-director-name", TT_OPTION_STRING, 0, "",
     "name of this machine among directors (default: director.name of the cloud config, else the "
     "host name)"},
    {"local-role", TT_OPTION_STRING, 0, "",
     "role of this process, in place of the cloud config's: all, allocator (addresses and "
     "statuses) or director (what the kernel forwards)"},
    {"local-service-stats", TT_OPTION_BOOL, 0, "false",
     "count bytes and connections of each Service in an ipvs mode (metrics local_service_...); "
     "three time series for each"},
    {"local-state-dump", TT_OPTION_BOOL, 0, "false",
     "print as JSON what the kernel has of the table, addresses and services of this instance, and "
     "exit; for support"},
};
static const char *const served_classes[] = {LOCAL_CLASS};
static const char *const own_annotations[] = {LOCAL_POOL_GIVEN};
static const char *const event_reasons[] = {
    "AddressInUse",       "AddressOutsidePools", "AffinityTimeoutIgnored",
    "AnnotationIgnored",  "DirectorNotReady",    "FailOpen",
    "InterfaceDown",      "LoadBalancerDrift",   "NoTargets",
    "NotAnnounced",       "PortsShared",         "SecondFamilyMissing",
    "SourceRangeIgnored", "TargetOutOfReach",    "TargetsEjected",
};
static const struct tt_kube_kind kube_kinds[] = {
    {.api_version = "v1", .resource = "namespaces", .verbs = "list"},
    /* Of directors with redundancy lease: each has one. */
    {.api_version = LOCAL_LEASE_VERSION,
     .resource = "leases",
     .ns = LOCAL_LEASE_NAMESPACE,
     .verbs = "list,watch,create,patch"},
};

const struct tt_provider tt_local_provider = {
    .abi_major = TRIMTAB_ABI_MAJOR,
    .abi_minor = TRIMTAB_ABI_MINOR,
    .size = sizeof(struct tt_provider),
    .name = "local",
    .version = TRIMTAB_VERSION,
    .capabilities = TT_CAP_HOLDS_FINALIZERS | TT_CAP_REPORTS_PLANS | TT_CAP_WANTS_ENDPOINTS |
                    TT_CAP_BULK | TT_CAP_CHECKS_ITSELF | TT_CAP_FOLLOWS_INGRESS |
                    TT_CAP_WITHOUT_CALL | TT_CAP_FEW_SERVICES,
    .max_parallel = 1,
    .debounce_idle_ms = DEBOUNCE_IDLE_MS,
    .debounce_max_ms = DEBOUNCE_MAX_MS,
    .options = options,
    .n_options = ARRAY_LEN(options),
    .classes = served_classes,
    .n_classes = ARRAY_LEN(served_classes),
    .event_reasons = event_reasons,
    .n_event_reasons = ARRAY_LEN(event_reasons),
    .metrics = local_metrics,
    .n_metrics = LOCAL_METRICS,
    .kube_kinds = kube_kinds,
    .n_kube_kinds = ARRAY_LEN(kube_kinds),
    .own_annotations = own_annotations,
    .n_own_annotations = ARRAY_LEN(own_annotations),
    .open = open_provider,
    .close = close_provider,
    .get_load_balancer = local_get_load_balancer,
    .ensure_load_balancer = local_reconcile,
    .update_load_balancer = local_reconcile,
    .ensure_load_balancer_deleted = local_reconcile,
    .batch_key = batch_key,
    .reconcile_batch = local_reconcile,
    .plan = local_plan,
    .explain = local_explain,
    .list_owned = local_list_owned,
    .list_left = local_list_left,
    .check_config = local_check_config,
    .endpoints_delay_ms = endpoints_delay_ms,
    .node_digest = node_digest,
    .batch_max = BATCH_MAX,
    .needs_kind = needs_kind,
};
