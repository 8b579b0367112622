/* SPDX-License-Identifier: Apache-2.0 */
/* options_check.c: checks across flags, feature gates, and the --controllers list (controller.md
 * §3.2, 3.3, 6.12).
 *
 * Faults are collected, so that a user fixes them in one go. */
#include <string.h>

#include "controller/base/progress.h"
#include "controller/options/options.h"
#include "controller/rules/drift_rules.h"

#define MANY_PROBLEMS 32

struct problems {
    struct arena *a;
    const char *items[MANY_PROBLEMS];
    size_t n;
};

static void problem(struct problems *p, const char *text)
{
    if (p->n < MANY_PROBLEMS) {
        p->items[p->n++] = text;
    }
}

/* ---- feature gates --------------------------------------------------------------------------- */

static const struct option_gate gates[] = {
    {"AllAlpha", "ALPHA", false, false},
    {"AllBeta", "BETA", false, false},
    {"CloudControllerManagerWatchBasedRoutesReconciliation", "ALPHA", false, false},
    {"CloudControllerManagerWebhook", "ALPHA", false, false},
    {"ComponentSLIs", "", true, true},
    {"ContextualLogging", "BETA", false, true},
    {"ControllerManagerReleaseLeaderElectionLockOnExit", "ALPHA", false, false},
    {"CoordinatedLeaderElection", "ALPHA", false, false},
    {"LoggingAlphaOptions", "ALPHA", false, false},
    {"LoggingBetaOptions", "BETA", false, true},
    {"NativeHistograms", "ALPHA", false, false},
};

const struct option_gate *options_gates(size_t *ret_n)
{
    *ret_n = ARRAY_LEN(gates);
    return gates;
}

/* The last word about `name` in "A=true,B=false"; false: none. */
static bool gate_said(struct arena *a, const char *text, const char *name, bool *ret)
{
    size_t n = 0;
    char **pairs = str_split(a, str_nonnull(text), ',', &n);
    bool said = false;

    for (size_t i = 0; i < n; i++) {
        size_t n_parts = 0;
        char **parts = str_split(a, pairs[i], '=', &n_parts);
        bool on = false;
        if (n_parts == 2 && str_eq(str_trim(a, parts[0]), name) &&
            str_to_go_bool(str_trim(a, parts[1]), &on)) {
            *ret = on;
            said = true;
        }
    }
    return said;
}

bool options_gate_on(const struct options *o, const struct option_gate *gate)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    bool on = gate->def;
    bool by_stage = false;

    if (gate_said(a, o->feature_gates, gate->name, &on)) {
        return on;
    }
    const char *all = str_eq(gate->stage, "ALPHA")  ? "AllAlpha"
                      : str_eq(gate->stage, "BETA") ? "AllBeta"
                                                    : "";
    return gate_said(a, o->feature_gates, all, &by_stage) ? by_stage : on;
}

static int check_gate(struct arena *a, const char *pair, void (*warn)(void *arg, const char *text),
                      void *warn_arg, struct err *err)
{
    const char *eq = strchr(pair, '=');
    bool on = false;

    if (eq == NULL) {
        return err_set(err, ERR_INVALID, "missing bool value for %s", pair);
    }
    const char *name = str_trim(a, arena_strndup(a, pair, (size_t)(eq - pair)));
    const char *value = str_trim(a, eq + 1);
    if (!str_to_go_bool(value, &on)) {
        _cleanup_(str_buf_done) struct str_buf quoted = STR_BUF_INIT;
        str_append_go_quoted(&quoted, value);
        return err_set(err, ERR_INVALID,
                       "invalid value of %s=%s, err: strconv.ParseBool: parsing %s: invalid syntax",
                       name, value, str_buf_text(&quoted));
    }
    for (size_t i = 0; i < ARRAY_LEN(gates); i++) {
        if (strcmp(gates[i].name, name) != 0) {
            continue;
        }
        if (gates[i].locked_to_default && gates[i].def != on) {
            return err_set(err, ERR_INVALID,
                           "cannot set feature gate %s to %s, feature is locked to %s", name,
                           on ? "true" : "false", gates[i].def ? "true" : "false");
        }
        return ERR_OK;
    }
    if (warn != NULL) {
        warn(warn_arg, arena_printf(a, "unrecognized feature gate: %s", name));
    }
    return ERR_OK;
}

int options_check_gates(struct arena *a, const char *text,
                        void (*warn)(void *arg, const char *text), void *warn_arg, struct err *err)
{
    size_t n = 0;
    char **pairs = str_split(a, text, ',', &n);

    for (size_t i = 0; i < n; i++) {
        const char *pair = str_trim(a, pairs[i]);
        if (pair[0] == '\0') {
            continue;
        }
        int rc = check_gate(a, pair, warn, warn_arg, err);
        if (rc != ERR_OK) {
            return rc;
        }
    }
    return ERR_OK;
}

/* ---- --controllers --------------------------------------------------------------------------- */

/* Those of Google's program, too (gce-cloud-provider.md §14.2), so that its command
 * lines are read. */
struct controller_name {
    const char *name;
    const char *alias;
    bool ours; /* done here; Google's second service controller serves two classes (§8.3) */
};
static const struct controller_name controller_names[] = {
    {"cloud-node-controller", "cloud-node", false},
    {"cloud-node-lifecycle-controller", "cloud-node-lifecycle", false},
    {"node-route-controller", "route", false},
    {"service-lb-controller", "service", true},
    {"node-ipam-controller", "nodeipam", false},
    {"gkenetworkparamset", "gkenetworkparamset", false},
    {"gke-service-lb-controller", "gke-service", true},
    {"gke-tenant-controller-manager", "gke-tenant", false},
};
#define OUR_CONTROLLER    "service-lb-controller"
#define SECOND_CONTROLLER "gke-service-lb-controller" /* off unless it is named */

static const struct controller_name *controller_named(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(controller_names); i++) {
        const struct controller_name *c = &controller_names[i];
        if (strcmp(name, c->name) == 0 || strcmp(name, c->alias) == 0) {
            return c;
        }
    }
    return NULL;
}

static const char *controller_long_name(const char *name)
{
    const struct controller_name *c = controller_named(name);

    return c == NULL ? NULL : c->name;
}

static bool is_among(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

bool options_controller_enabled(const char *name, const char *const *controllers, size_t n,
                                const char *const *off_by_default, size_t n_off)
{
    bool all = false;

    for (size_t i = 0; i < n; i++) {
        const char *item = controllers[i];
        if (strcmp(item, name) == 0) {
            return true;
        }
        if (item[0] == '-' && strcmp(item + 1, name) == 0) {
            return false;
        }
        all = all || strcmp(item, "*") == 0;
    }
    return all && !is_among(name, off_by_default, n_off);
}

/* Aliases stand for the long names. */
static const char **long_names(struct arena *a, const char *const *controllers, size_t n)
{
    const char **items = ARENA_ARRAY(a, const char *, n + 1);

    for (size_t i = 0; i < n; i++) {
        bool off = controllers[i][0] == '-';
        const char *name = controllers[i] + off;
        name = str_or(controller_long_name(name), name);
        items[i] = off ? arena_printf(a, "-%s", name) : name;
    }
    return items;
}

bool options_service_controller_in(const char *const *controllers, size_t n)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    return options_controller_enabled(OUR_CONTROLLER, long_names(a, controllers, n), n, NULL, 0);
}

bool options_service_controller_on(const struct options *o)
{
    return options_service_controller_in((const char *const *)o->controllers.items,
                                         o->controllers.n);
}

const char *options_more_controllers(struct arena *a, const char *const *controllers, size_t n)
{
    static const char *const off[] = {SECOND_CONTROLLER};
    const char **items = long_names(a, controllers, n);
    return options_controller_enabled(SECOND_CONTROLLER, items, n, off, ARRAY_LEN(off))
               ? SECOND_CONTROLLER
               : NULL;
}

const char *options_unknown_controller(const char *const *controllers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *name = controllers[i][0] == '-' ? controllers[i] + 1 : controllers[i];
        if (strcmp(controllers[i], "*") != 0 && controller_long_name(name) == NULL) {
            return name;
        }
    }
    return NULL;
}

/* `item` is one of the list.  "-x" says that another program does it: that is what we
 * want to hear. */
static void check_controller(const char *item, struct problems *p)
{
    const char *unknown = options_unknown_controller(&item, 1);
    const struct controller_name *c = controller_named(item);

    if (unknown != NULL) {
        problem(p, arena_printf(p->a, "\"%s\" is not in the list of known controllers", unknown));
    } else if (c != NULL && !c->ours) {
        problem(p, arena_printf(
                       p->a,
                       "--controllers: \"%s\" is not part of trimtab, which has \"" OUR_CONTROLLER
                       "\" only: leave it out here, and run your cloud's Go "
                       "cloud-controller-manager beside it with --controllers=*,-" OUR_CONTROLLER,
                       item));
    }
}

static void check_controllers(const struct options *o, struct problems *p)
{
    for (size_t i = 0; i < o->controllers.n; i++) {
        check_controller(o->controllers.items[i], p);
    }
}

/* ---- the rest -------------------------------------------------------------------------------- */

/* client-go's texts (vectors 155, 156), which it says when the election begins; here, before
 * anything does. */
static void check_election_times(const struct options *o, struct problems *p)
{
    if (o->lease_duration_ms < 1000) {
        problem(p, "leaseDuration must be a second or more");
        /* Others see whole seconds: 10.9s are ten for them, and must still be more than we continue
         * without a renewal. */
    } else if (o->lease_duration_ms / 1000 * 1000 <= o->renew_deadline_ms) {
        problem(p, "leaseDuration must be greater than renewDeadline");
    }
    if (o->renew_deadline_ms * 10 <= o->retry_period_ms * 12) {
        problem(p, "renewDeadline must be greater than retryPeriod*JitterFactor");
    }
    if (o->renew_deadline_ms < 1) {
        problem(p, "renewDeadline must be greater than zero");
    }
    if (o->retry_period_ms < 1) {
        problem(p, "retryPeriod must be greater than zero");
    }
}

static void check_election(const struct options *o, struct problems *p)
{
    if (!str_is_empty(o->leader_migration_config) && !o->leader_migration) {
        problem(p, "--leader-migration-config has no effect without --enable-leader-migration");
    }
    if (!o->leader_elect) {
        return;
    }
    check_election_times(o, p);
    if (!str_eq(o->resource_lock, "leases")) {
        problem(p,
                arena_printf(
                    p->a, "--leader-elect-resource-lock: \"%s\" is not supported, only \"leases\"",
                    o->resource_lock));
    }
    if (str_is_empty(o->lease_name)) {
        problem(p, "--leader-elect-resource-name cannot be empty");
    }
    if (str_is_empty(o->lease_ns)) {
        problem(p, "--leader-elect-resource-namespace cannot be empty");
    }
}

static void check_numbers(const struct options *o, struct problems *p)
{
    if (o->concurrent_service_syncs < 1) {
        problem(p, "concurrent-service-syncs must be a positive number");
    }
    if (o->concurrent_node_syncs < 1) {
        problem(p, "concurrent-node-syncs must be a positive number");
    }
    if (o->concurrent_service_syncs > 1000) {
        problem(p, "concurrent-service-syncs must be at most 1000");
    }
    if (o->resync_period_ms < 0) {
        problem(p, "resync-period must not be negative");
    }
    if (o->secure_port < 0 || o->secure_port > 65535) {
        problem(p, arena_printf(p->a,
                                "--secure-port %lld must be between 0 and 65535, inclusive. 0 for "
                                "turning off secure port",
                                (long long)o->secure_port));
    }
}

static void check_drift(const struct options *o, struct problems *p)
{
    if (!str_eq(o->drift, "off") && !str_eq(o->drift, "report") && !str_eq(o->drift, "repair")) {
        problem(p, arena_printf(p->a,
                                "--drift: \"%s\" is not supported, only \"off\", "
                                "\"report\" and \"repair\"",
                                o->drift));
    }
    if (o->drift_period_ms < DRIFT_PERIOD_LEAST_MS) {
        problem(p, "drift-period must be at least 1m0s");
    }
}

static void check_progress(const struct options *o, struct problems *p)
{
    if (o->progress_deadline_ms != 0 && o->progress_deadline_ms < PROGRESS_DEADLINE_LEAST_MS) {
        problem(p, "progress-deadline must be 0 (off) or at least 1m0s");
    }
}

static void check_config_source(const struct options *o, struct problems *p)
{
    bool secret = !str_is_empty(o->config_secret_name);

    if (o->dynamic_reloading && !secret && str_is_empty(o->cloud_config)) {
        problem(p, "--enable-dynamic-reloading needs --cloud-config or --cloud-config-secret-name");
    }
    if (secret && str_is_empty(o->config_secret_ns)) {
        problem(p, "--cloud-config-secret-namespace cannot be empty");
    }
    if (secret && str_is_empty(o->config_secret_key)) {
        problem(p, "--cloud-config-key cannot be empty");
    }
}

int options_validate(const struct options *o, struct err *err)
{
    struct problems p = {.a = o->a};

    if (str_is_empty(o->cloud_provider)) {
        problem(&p, "--cloud-provider cannot be empty");
    }
    check_controllers(o, &p);
    check_config_source(o, &p);
    if (o->call_deadline_ms < 0) {
        problem(&p, "--provider-call-deadline must not be negative");
    }
    check_numbers(o, &p);
    check_drift(o, &p);
    check_progress(o, &p);
    check_election(o, &p);
    if (!str_eq(o->logging_format, "text") && !str_eq(o->logging_format, "json")) {
        problem(&p, arena_printf(p.a, "format: Invalid value: \"%s\": Unsupported log format",
                                 o->logging_format));
    }
    if (o->verbosity < 0) {
        problem(&p, "--v must not be negative");
    }
    if (p.n == 0) {
        return ERR_OK;
    }
    if (p.n == 1) {
        return err_set(err, ERR_INVALID, "%s", p.items[0]);
    }
    return err_set(err, ERR_INVALID, "[%s]", str_join(o->a, p.items, p.n, ", "));
}
