/* SPDX-License-Identifier: Apache-2.0 */
/* azure_config_check.c: from --cloud-config and the environment to a configuration, with words for
 * the person who wrote it.
 *
 * azure_config.c reads as upstream does; this file adds where (file:line), what would be right, and
 * for check-config what a person should look at although the controller would start.
 * Opens no connection. */
#include "common/base/str.h"
#include "common/cloud/config_findings.h"
#include "common/lb/exposed.h"
#include "providers/azure/azure_provider.h"
#include "providers/azure/config/azure_config_keys.h"
#include "providers/azure/model/azure_name_rules.h"

#include <stdlib.h>
#include <string.h>

/* So many unknown keys are another kind of file. */
#define FINDINGS_MAX 20

static struct azure_config_texts texts_of(const struct tt_open_args *args)
{
    struct azure_config_texts t = {
        .file = {config_file(args), args->config_text, args->config_len},
    };
    if (TT_HAS(args, secret_len) && args->secret_text != NULL) {
        t.secret = (struct azure_config_text){str_or(args->secret_path, "secret"),
                                              args->secret_text, args->secret_len};
    }
    return t;
}

/* "azure.json:7", where the key stands, the Secret before the file; the file alone when
 * it does not. */
static const char *where_is(struct arena *a, const struct tt_open_args *args, const char *key)
{
    const struct azure_config_texts t = texts_of(args);
    const struct azure_config_text *const order[] = {&t.secret, &t.file};
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        const struct azure_config_text *from = order[i];
        int line = from->text != NULL ? azure_config_line(from->text, from->n, key, 1, 0) : 0;
        if (line > 0) {
            return config_line(a, from->file, line);
        }
    }
    return t.file.text != NULL ? t.file.file : t.secret.file;
}

static struct azure_env env_of_process(void)
{
    return (struct azure_env){
        .tenant_id = getenv("AZURE_TENANT_ID"),
        .client_id = getenv("AZURE_CLIENT_ID"),
        .client_secret = getenv("AZURE_CLIENT_SECRET"),
        .federated_token_file = getenv("AZURE_FEDERATED_TOKEN_FILE"),
        .environment_file = getenv("AZURE_ENVIRONMENT_FILEPATH"),
        .identity_endpoint = getenv("IDENTITY_ENDPOINT"),
        .identity_header = getenv("IDENTITY_HEADER"),
    };
}

/* ---- unknown keys ---------------------------------------------------------------------------- */

#define NAMES_MAX 128

/* The known key that was meant, perhaps. */
static const char *nearest_key(const char *path)
{
    const char *dot = strrchr(path, '.');
    const struct azure_key *keys = dot != NULL ? azure_lb_config_keys : azure_config_keys;
    const char *names[NAMES_MAX];
    size_t n = 0;
    for (const struct azure_key *k = keys; k->name != NULL && n < NAMES_MAX; k++) {
        names[n++] = k->name;
    }
    return str_nearest(dot != NULL ? dot + 1 : path, names, n);
}

static void tell_unknown(struct arena *a, const struct tt_open_args *args,
                         const struct azure_unknown_key *keys, size_t n)
{
    for (size_t i = 0; i < n && i < FINDINGS_MAX; i++) {
        const char *near = nearest_key(keys[i].path);
        config_finding(args, TT_LOG_WARNING, config_line(a, keys[i].file, keys[i].line),
                       arena_printf(a, "unknown key \"%.200s\" is ignored%s", keys[i].path,
                                    config_near(a, near)));
    }
    if (n > FINDINGS_MAX) {
        config_finding(args, TT_LOG_WARNING, config_file(args),
                       arena_printf(a, "%zu more unknown keys are ignored", n - FINDINGS_MAX));
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

int azure_config_load(struct arena *a, const struct tt_open_args *args, struct azure_env *ret_env,
                      struct azure_config *ret, struct err *err)
{
    const struct azure_config_texts texts = texts_of(args);
    const struct azure_unknown_key *unknown = NULL;
    size_t n = 0;
    *ret_env = env_of_process();
    if (texts.file.text == NULL && texts.secret.text == NULL) {
        return err_set(err, ERR_INVALID,
                       "--cloud-config is needed with --cloud-provider=azure: a file in YAML or "
                       "JSON, usually /etc/kubernetes/azure.json; or "
                       "--cloud-config-secret-name with --enable-dynamic-reloading");
    }
    int rc = azure_config_parse_texts(a, &texts, ret_env, ret, &unknown, &n, err);
    if (rc == ERR_OK) {
        tell_unknown(a, args, unknown, n);
    }
    return rc;
}

/* ---- check-config ---------------------------------------------------------------------------- */

/* Without these no Service gets a load balancer. */
static void check_needed(struct arena *a, const struct tt_open_args *args,
                         const struct azure_config *c)
{
    const struct {
        const char *key;
        const char *value;
        const char *so;
    } rows[] = {
        {"subscriptionId", c->subscription_id, "every call will fail"},
        {"resourceGroup", c->resource_group, "every call will fail"},
        {"location", c->location, "load balancers cannot be made"},
        {"securityGroupName", c->security_group_name, "no Service will be served"},
        {"vnetName", c->vnet_name, "internal load balancers cannot be made"},
        {"subnetName", c->subnet_name,
         "internal load balancers need the annotation azure-load-balancer-internal-subnet"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_is_empty(rows[i].value)) {
            config_finding(args, TT_LOG_WARNING, where_is(a, args, rows[i].key),
                           arena_printf(a, "%s is not set: %s", rows[i].key, rows[i].so));
        }
    }
}

/* Items of the lists that confine which no name can equal. */
static void check_allowed(struct arena *a, const struct tt_open_args *args,
                          const struct azure_config *c)
{
    const struct {
        const char *key;
        const struct name_list *list;
        enum azure_name_kind kind;
    } rows[] = {
        {"allowedResourceGroups", &c->allowed_groups, AZURE_NAME_GROUP},
        {"allowedSubscriptions", &c->allowed_subscriptions, AZURE_NAME_SUBSCRIPTION},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (size_t n = 0; n < rows[i].list->n; n++) {
            const char *item = rows[i].list->items[n];
            const struct name_rule *r = azure_name_rule(rows[i].kind);
            if (!name_rule_holds(r, item)) {
                config_finding(args, TT_LOG_WARNING, where_is(a, args, rows[i].key),
                               arena_printf(a, "%s \"%.100s\" is not %s: it allows nothing",
                                            rows[i].key, item, r->what));
            }
        }
    }
}

static void check_values(struct arena *a, const struct tt_open_args *args,
                         const struct azure_config *c)
{
    static const char *const vm_types[] = {"standard", "vmss", "vmssflex"};
    static const char *const skus[] = {"standard", "basic"};
    static const char *const pools[] = {"", "internal", "external", "all"};
    const struct {
        const char *key;
        const char *value;
        const char *const *known;
        size_t n;
        bool with_case;
        const char *so;
    } rows[] = {
        {"vmType", c->vm_type_text, vm_types, ARRAY_LEN(vm_types), false,
         "it counts as \"standard\" (availability sets)"},
        {"loadBalancerSku", c->lb_sku_text, skus, ARRAY_LEN(skus), false, "it counts as \"basic\""},
        {"preConfiguredBackendPoolLoadBalancerTypes", c->preconfigured_pools, pools,
         ARRAY_LEN(pools), true, "it counts as not set"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool known = false;
        for (size_t k = 0; k < rows[i].n; k++) {
            known = known || (rows[i].with_case ? str_eq(rows[i].value, rows[i].known[k])
                                                : azure_eq(rows[i].value, rows[i].known[k]));
        }
        if (!known) {
            config_finding(args, TT_LOG_WARNING, where_is(a, args, rows[i].key),
                           arena_printf(a, "%s \"%s\" is unknown: %s", rows[i].key, rows[i].value,
                                        rows[i].so));
        }
    }
}

static void check_cloud(struct arena *a, const struct tt_open_args *args,
                        const struct azure_config *c)
{
    static const char *const names[] = {
        "",
        "AzureCloud",
        "AzurePublicCloud",
        "AzureChinaCloud",
        "AzureUSGovernment",
        "AzureUSGovernmentCloud",
        "AzureStackCloud",
    };
    bool known = !str_is_empty(c->resource_manager_endpoint);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        known = known || azure_eq(c->cloud, names[i]);
    }
    if (!known) {
        const char *near = str_nearest(c->cloud, names + 1, ARRAY_LEN(names) - 1);
        config_finding(args, TT_LOG_WARNING, where_is(a, args, "cloud"),
                       arena_printf(a, "cloud \"%s\" is unknown: it counts as the public cloud%s",
                                    c->cloud, config_near(a, near)));
    }
}

/* They depend on the environment and the machine, which may be others where the controller runs. */
static void check_credentials(struct arena *a, const struct tt_open_args *args,
                              const struct azure_config *c, const struct azure_env *env)
{
    const struct azure_cloud cloud = azure_cloud_by_name(a, c->cloud);
    const struct azure_auth_config cfg = {
        .config = c, .env = env, .cloud = &cloud, .clock = clock_real()};
    struct azure_auth *auth = NULL;
    struct err err = ERR_INIT;
    if (azure_auth_new(&cfg, &auth, &err) != ERR_OK) {
        config_finding(args, TT_LOG_WARNING, config_file(args),
                       arena_printf(a, "%s (as seen from this machine)", err.message));
    }
    azure_auth_free(auth);
}

/* The authority, too, may come from there. */
static void check_endpoint(struct arena *a, const struct tt_open_args *args,
                           const struct azure_config *c)
{
    const char *key = "resourceManagerEndpoint";
    const char *exposed = exposed_text(a, key, c->resource_manager_endpoint);
    if (exposed != NULL) {
        config_finding(args, TT_LOG_WARNING, where_is(a, args, key), exposed);
    }
}

static void check_multi_slb(struct arena *a, const struct tt_open_args *args,
                            const struct azure_config *c)
{
    const char *cluster = str_or(args->cluster_name, "kubernetes");
    bool named = !azure_config_is_multi_slb(c);
    for (size_t i = 0; i < c->n_lbs; i++) {
        named = named || azure_eq(c->lbs[i].name, cluster);
    }
    const char *where = where_is(a, args, "multipleStandardLoadBalancerConfigurations");
    if (!named) {
        config_finding(
            args, TT_LOG_WARNING, where,
            arena_printf(a,
                         "no configuration is named like the cluster, \"%s\": no Service "
                         "will be served",
                         cluster));
    }
    if (c->n_lbs > 0 && !c->standard_sku) {
        config_finding(args, TT_LOG_WARNING, where,
                       "ignored, because loadBalancerSku is not standard");
    }
}

int32_t azure_config_check(const struct tt_open_args *args, struct tt_result *result)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct err err = ERR_INIT;
    struct azure_env env;
    struct azure_config c;
    if (azure_config_load(a, args, &env, &c, &err) != ERR_OK) {
        args->host->result_fail(result, TT_INVALID, err.message, 0);
        return TT_INVALID;
    }
    check_needed(a, args, &c);
    check_values(a, args, &c);
    check_allowed(a, args, &c);
    check_cloud(a, args, &c);
    check_endpoint(a, args, &c);
    check_multi_slb(a, args, &c);
    check_credentials(a, args, &c, &env);
    return TT_OK;
}
