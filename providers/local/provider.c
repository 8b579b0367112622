/* SPDX-License-Identifier: Apache-2.0 */
/* provider.c: the descriptor of the provider `local`: open, close, and the ways into the flow.
 *
 * open() reads the configuration, takes the lock of the instance on this machine, and looks whether the kernel has a table of that name
 * that is not ours.  It writes nothing: the table is made by the first plan that needs it. */
#include "providers/local/provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/str.h"
#include "common/lb/request_count.h"
#include "common/lb/service_rules.h"

#define DEBOUNCE_IDLE_MS 5
#define DEBOUNCE_MAX_MS  50
#define BATCH_MAX        256 /* Services of one plan, so that it stays small whatever comes at once */

static void close_provider(void *provider)
{
    struct local_provider *p = provider;

    if (p == NULL) {
        return;
    }
    local_director_free(p->directing);
    if (p->kernel != NULL) {
        p->kernel->ops->free(p->kernel);
    }
    if (p->lock_fd >= 0) {
        close(p->lock_fd);
    }
    local_ipam_free(p->ipam);
    local_mirror_free(p->mirror);
    local_seen_free(p->seen);
    map_free(p->served);
    map_free(p->namespaces);
    map_free(p->drifted);
    map_free(p->taken);
    map_free(p->machine_told);
    map_free(p->releasing);
    local_round_done(&p->round);
    call_watch_free(p->watch);
    http_pool_free(p->http);
    cancel_free(p->cancel);
    mutex_done(&p->lock);
    arena_free(p->a);
    free(p);
}

/* ---- configuration ------------------------------------------------------------------------------- */

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

/* A key that is read and has no effect yet must not be passed over in silence. */
static int check_supported(const char *file, const struct local_config *c, struct err *err)
{
    if (c->role != LOCAL_ROLE_ALL) {
        return err_set(err, ERR_INVALID, "%s: role: this version has role all only", file);
    }
    if (c->director.redundancy != LOCAL_REDUNDANCY_NONE) {
        return err_set(err, ERR_INVALID, "%s: director.redundancy: this version has none only",
                       file);
    }
    return ERR_OK;
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
        rc = check_supported(file, config, &err);
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

/* ---- this machine -------------------------------------------------------------------------------- */

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
            rc = local_kernel_lock(p->config->instance, &p->lock_fd, err);
        }
    }
    if (rc == ERR_OK) {
        rc = local_check_machine(p, file, err);
    }
    if (rc == ERR_OK) {
        rc = p->kernel->ops->nft_look(p->kernel, p->config->instance, &p->table, err);
    }
    if (rc == ERR_OK && p->table.exists && !p->table.ours) {
        rc = err_set(err, ERR_INVALID,
                     "table inet %s exists and is not ours; choose another instance",
                     p->config->instance);
    }
    return rc == ERR_OK ? local_ipvs_start(p, err) : rc;
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
    p->seen = local_seen_new();
    p->served = map_new(local_served_free);
    p->drifted = map_new(free);
    p->taken = map_new(free);
    p->machine_told = map_new(free);
    p->releasing = map_new(free);
    p->mirror = local_mirror_new();
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
        p->director = name_of_machine(p->a, args, p->config);
        p->ipam = local_ipam_new(p->config);
        rc = check_supported(str_or(args->config_path, "cloud config"), p->config, &err);
    }
    if (rc == ERR_OK) {
        rc = open_kernel(p, str_or(args->config_path, "cloud config"), with, &err);
    }
    if (rc == ERR_OK && p->dumping) {
        print_state(p); /* does not return */
    }
    if (rc == ERR_OK && (with == NULL || with->kernel == NULL || with->directing_kernel != NULL)) {
        rc = local_directing_start(p, with, &err);
    }
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

/* ---- the descriptor ------------------------------------------------------------------------------ */

static int32_t batch_key(void *provider, const struct tt_service *service, char *text, size_t n)
{
    (void)provider;
    (void)service;
    (void)snprintf(text, n,
                   "kernel"); /* what is due comes together: one mirror, few transactions */
    return TT_OK;
}

/* The slices matter to policy Local and to targets that are pods; nodes alone are targets else. */
static int64_t endpoints_delay_ms(void *provider, const struct tt_service *service)
{
    (void)provider;
    return service == NULL || svc_only_local_traffic(service) ||
                   service->allocate_node_ports == 0 ||
                   svc_annotation(service, LOCAL_PREFIX "targets") != NULL
               ? DEBOUNCE_IDLE_MS
               : -1;
}

static const struct tt_option options[] = {
    {"local-allow-foreign", TT_OPTION_BOOL, 0, "false",
     "take over services of IPVS that stand at addresses of a pool and were made by others, in "
     "place of refusing to start"},
    {"local-director-name", TT_OPTION_STRING, 0, "",
     "name of this machine among directors (default: director.name of the cloud config, else the "
     "host name)"},
    {"local-role", TT_OPTION_STRING, 0, "",
     "role of this process, in place of the cloud config's: all"},
    {"local-state-dump", TT_OPTION_BOOL, 0, "false",
     "print as JSON what the kernel has of the table, addresses and services of this instance, and "
     "exit; for support"},
};
static const char *const served_classes[] = {LOCAL_CLASS};
static const char *const own_annotations[] = {LOCAL_POOL_GIVEN};
static const char *const event_reasons[] = {
    "AddressInUse",     "AddressOutsidePools", "AnnotationIgnored",   "DirectorNotReady",
    "FailOpen",         "InterfaceDown",       "LoadBalancerDrift",   "NoTargets",
    "NotAnnounced",     "PortsShared",         "SecondFamilyMissing", "SourceRangeIgnored",
    "TargetOutOfReach", "TargetsEjected",
};
static const struct tt_kube_kind kube_kinds[] = {
    {.api_version = "v1", .resource = "namespaces", .verbs = "list"},
};

const struct tt_provider tt_local_provider = {
    .abi_major = TRIMTAB_ABI_MAJOR,
    .abi_minor = TRIMTAB_ABI_MINOR,
    .size = sizeof(struct tt_provider),
    .name = "local",
    .version = TRIMTAB_VERSION,
    .capabilities = TT_CAP_HOLDS_FINALIZERS | TT_CAP_REPORTS_PLANS | TT_CAP_WANTS_ENDPOINTS |
                    TT_CAP_BULK | TT_CAP_CHECKS_ITSELF | TT_CAP_FOLLOWS_INGRESS,
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
    .batch_max = BATCH_MAX,
};
