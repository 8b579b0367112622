/* SPDX-License-Identifier: Apache-2.0 */
/* azure_config.c: see azure_config.h: from what stands in the file to what counts.
 *
 * The file is decoded by tables (azure_config_read.c); here the environment and the defaults come
 * in, and what would stop upstream at its start is refused with the line of the key that is at
 * fault.
 * Pure; docs/spec/azure.md 1.1 to 1.4. */
#include "providers/azure/model/azure_config.h"

#include "common/base/str.h"
#include "common/data/yaml.h"
#include "providers/azure/config/azure_config_keys.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/model/azure_names.h"

#include <string.h>

#define LBS_KEY "multipleStandardLoadBalancerConfigurations"
/* A Secret of Kubernetes holds no more than this; and so many balancers no region has. */
#define TEXT_MAX         ((size_t)1024 * 1024)
#define LBS_MAX          1000
#define MAX_RULES        250
#define PROBE_PORT       10256
#define POOL_UPDATE_S    30
#define BACKOFF_RETRIES  6
#define BACKOFF_S        5
#define BACKOFF_EXPONENT 1.5
#define BACKOFF_JITTER   1.0
#define RATE_QPS         1.0
#define RATE_BUCKET      5

/* ---- decoding -------------------------------------------------------------------------------- */

struct reader {
    struct arena *a;
    const struct azure_config_text *from;
    int lbs_line;
    struct azure_unknown_list unknown;
};

static struct azure_where place_of_lb(const struct reader *r, size_t i)
{
    return (struct azure_where){
        .text = r->from->text,
        .n = r->from->n,
        .file = r->from->file,
        .path = arena_printf(r->a, LBS_KEY "[%zu].", i),
        .below = r->lbs_line,
        .nth = 1,
    };
}

static int read_selectors(struct reader *r, const struct azure_raw_lb *raw,
                          struct azure_lb_config *ret, struct err *err)
{
    const struct {
        const char *key;
        struct json_object *o;
        struct azure_selector *ret;
    } rows[] = {
        {"serviceLabelSelector", raw->services, &ret->services},
        {"serviceNamespaceSelector", raw->namespaces, &ret->namespaces},
        {"nodeSelector", raw->nodes, &ret->nodes},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int rc = azure_selector_decode(r->a, rows[i].o, rows[i].ret, err);
        if (rc != ERR_OK) {
            (void)err_prefix(err, "%s", rows[i].key);
            return rc;
        }
    }
    return ERR_OK;
}

static int read_lb(struct reader *r, size_t i, struct json_object *o, struct azure_lb_config *ret,
                   struct err *err)
{
    const struct azure_where place = place_of_lb(r, i);
    struct azure_raw_lb raw = {0};
    if (o == NULL) {
        o = azure_own(r->a, json_object_new_object()); /* null counts as nothing given */
    }
    if (!json_object_is_type(o, json_type_object)) {
        return err_set(err, ERR_INVALID, "line %d: %s[%zu]: want a mapping", place.below, LBS_KEY,
                       i);
    }
    azure_keys_clear(azure_lb_config_keys, &raw);
    int rc = azure_keys_read(r->a, o, azure_lb_config_keys, &place, &raw, &r->unknown, err);
    if (rc == ERR_OK) {
        rc = read_selectors(r, &raw, ret, err);
        if (rc != ERR_OK) {
            (void)err_prefix(err, "line %d: %s[%zu]", place.below, LBS_KEY, i);
        }
    }
    ret->name = raw.name;
    ret->primary_vm_set = raw.primary_vm_set;
    ret->allow_placement = !raw.allow_placement.given || raw.allow_placement.on;
    return rc;
}

static int read_lbs(struct reader *r, struct json_object *array, struct azure_config *c,
                    struct err *err)
{
    size_t n = json_len(array);
    c->lbs = NULL;
    c->n_lbs = 0;
    if (n == 0) {
        return ERR_OK;
    }
    r->lbs_line = azure_config_line(r->from->text, r->from->n, LBS_KEY, 1, 0);
    if (n > LBS_MAX) {
        return err_set(err, ERR_INVALID, "line %d: %s: more than %d", r->lbs_line, LBS_KEY,
                       LBS_MAX);
    }
    struct azure_lb_config *lbs = ARENA_ARRAY(r->a, struct azure_lb_config, n);
    for (size_t i = 0; i < n; i++) {
        struct json_object *o = json_object_array_get_idx(array, i);
        int rc = read_lb(r, i, o, &lbs[i], err);
        if (rc != ERR_OK) {
            return rc;
        }
    }
    c->lbs = lbs;
    c->n_lbs = n;
    return ERR_OK;
}

/* Goes over what an earlier text gave: names that stand there already get the new value. */
static void read_tags_map(struct arena *a, struct json_object *o, struct azure_config *c)
{
    size_t n = c->n_tags_map;
    size_t room = n + (size_t)json_object_object_length(o);
    struct azure_kv *items = ARENA_ARRAY(a, struct azure_kv, room);
    for (size_t i = 0; i < n; i++) {
        items[i] = c->tags_map[i];
    }
    json_object_object_foreach(o, key, value)
    {
        size_t at = 0;
        while (at < n && !str_eq(items[at].key, key)) {
            at++;
        }
        items[at] = (struct azure_kv){
            .key = arena_strdup(a, key),
            .value = value != NULL ? azure_scalar_text(a, value) : "",
        };
        n += at == n;
    }
    c->tags_map = items;
    c->n_tags_map = n;
}

/* ---- what follows ---------------------------------------------------------------------------- */

/* Environment of 1.1; what is set but empty does not count. */
static void apply_env(const struct azure_env *env, struct azure_config *c)
{
    c->tenant_id = str_or(env->tenant_id, c->tenant_id);
    c->client_id = str_or(env->client_id, c->client_id);
    c->federated_token_file = str_or(env->federated_token_file, c->federated_token_file);
    c->workload_identity = c->workload_identity || !str_is_empty(env->federated_token_file);
}

static void apply_groups(struct azure_config *c)
{
    const char *group = c->resource_group;
    c->vnet_resource_group = str_or(c->vnet_resource_group_text, group);
    c->security_group_resource_group = str_or(c->security_group_resource_group, group);
    c->route_table_resource_group = str_or(c->route_table_resource_group, group);
    c->lb_resource_group = str_or(c->lb_resource_group, group);
    c->pls_resource_group = str_or(c->pls_resource_group, group);
    bool other = !str_is_empty(c->network_subscription_id) &&
                 !azure_eq(c->network_subscription_id, c->subscription_id);
    c->network_subscription_id = other ? c->network_subscription_id : c->subscription_id;
}

static void apply_kinds(const struct azure_raw *raw, struct azure_config *c)
{
    c->vm_type_text = str_or(c->vm_type_text, "vmss");
    c->vm_type = azure_eq(c->vm_type_text, "vmss")       ? AZURE_VM_VMSS
                 : azure_eq(c->vm_type_text, "vmssflex") ? AZURE_VM_VMSSFLEX
                                                         : AZURE_VM_STANDARD;
    c->lb_sku_text = str_or(c->lb_sku_text, "standard");
    c->standard_sku = azure_eq(c->lb_sku_text, "standard");
    c->exclude_masters = raw->exclude_masters.given ? raw->exclude_masters.on : c->standard_sku;
    c->disable_outbound_snat = raw->disable_outbound_snat.given && raw->disable_outbound_snat.on;
    c->pool_type_text = str_or(c->pool_type_text, "nodeIPConfiguration");
    c->pool_type = azure_eq(c->pool_type_text, "nodeIP") ? AZURE_POOL_IP : AZURE_POOL_NIC;
    c->probe_mode_text = str_or(c->probe_mode_text, "servicenodeport");
    c->shared_probe = azure_eq(c->probe_mode_text, "shared");
    c->shared_probe_path = str_or(c->shared_probe_path, "/healthz");
    c->config_type = str_or(c->config_type, "merge");
}

static int32_t number_or(int32_t v, int32_t otherwise)
{
    return v != 0 ? v : otherwise;
}

/* Missing values are those of `otherwise`. */
static struct azure_rate_limit limit_or(const struct azure_rate_limit *l,
                                        const struct azure_rate_limit *otherwise)
{
    return (struct azure_rate_limit){
        .given = l->given,
        .on = l->on,
        .qps = l->qps > 0 ? l->qps : otherwise->qps,
        .qps_write = l->qps_write > 0 ? l->qps_write : otherwise->qps_write,
        .bucket = l->bucket > 0 ? l->bucket : otherwise->bucket,
        .bucket_write = l->bucket_write > 0 ? l->bucket_write : otherwise->bucket_write,
    };
}

/* A client with a block of its own is limited when that says so, and not by the
 * common switch (3.7). */
static void apply_limits(struct azure_config *c)
{
    static const struct azure_rate_limit initial = {
        .qps = RATE_QPS,
        .qps_write = RATE_QPS,
        .bucket = RATE_BUCKET,
        .bucket_write = RATE_BUCKET,
    };
    c->rate_limit = limit_or(&c->rate_limit, &initial);
    for (int i = 0; i < AZURE_LIMITS; i++) {
        struct azure_rate_limit *l = &c->limits[i];
        *l = l->given ? limit_or(l, &c->rate_limit) : c->rate_limit;
    }
}

static void apply_numbers(struct azure_config *c)
{
    c->max_rules = number_or(c->max_rules, MAX_RULES);
    c->shared_probe_port = number_or(c->shared_probe_port, PROBE_PORT);
    c->pool_update_interval_s = number_or(c->pool_update_interval_s, POOL_UPDATE_S);
    c->backoff_retries = c->backoff ? number_or(c->backoff_retries, BACKOFF_RETRIES) : 1;
    c->backoff_duration_s = c->backoff ? number_or(c->backoff_duration_s, BACKOFF_S) : BACKOFF_S;
    c->backoff_exponent = c->backoff_exponent > 0 ? c->backoff_exponent : BACKOFF_EXPONENT;
    c->backoff_jitter = c->backoff_jitter > 0 ? c->backoff_jitter : BACKOFF_JITTER;
}

/* "line 7: …" → "azure.json:7: …" */
static int blame(const struct azure_config_text *from, struct err *err)
{
    static const char line[] = "line ";
    if (from->file == NULL || err == NULL) {
        return ERR_INVALID; /* nothing else comes here */
    }
    struct err why = *err;
    bool has_line = str_has_prefix(why.message, line);
    return err_set(err, ERR_INVALID, "%.200s:%s%.700s", from->file, has_line ? "" : " ",
                   why.message + (has_line ? strlen(line) : 0));
}

/* *ret NULL: nothing stands there. */
static int read_tree(struct arena *a, const struct azure_config_text *from,
                     struct json_object **ret, struct err *err)
{
    if (from->n > TEXT_MAX) {
        return err_set(err, ERR_INVALID, "more than %zu bytes are no cloud config", TEXT_MAX);
    }
    int rc = yaml_parse(a, from->text, from->n, ret, err);
    if (rc == ERR_OK && *ret != NULL && !json_object_is_type(*ret, json_type_object)) {
        rc = err_set(err, ERR_INVALID, "line 1: want a mapping of keys to values");
    }
    return rc;
}

/* One text, over what others gave. */
static int read_text(struct reader *r, const struct azure_config_text *from, struct azure_raw *raw,
                     struct err *err)
{
    const struct azure_where place = {
        .text = from->text, .n = from->n, .file = from->file, .path = "", .nth = 1};
    struct json_object *tree = NULL;
    int rc = read_tree(r->a, from, &tree, err);
    if (rc != ERR_OK || tree == NULL) {
        return rc;
    }
    struct json_object *const lbs = raw->lbs;
    struct json_object *const tags = raw->tags_map;
    r->from = from;
    rc = azure_keys_read(r->a, tree, azure_config_keys, &place, raw, &r->unknown, err);
    if (rc == ERR_OK && raw->lbs != lbs) {
        rc = read_lbs(r, raw->lbs, &raw->c, err);
    }
    if (rc == ERR_OK && raw->tags_map != NULL && raw->tags_map != tags) {
        read_tags_map(r->a, raw->tags_map, &raw->c);
    }
    if (rc == ERR_OK && tags != NULL && raw->tags_map == NULL) {
        raw->c.n_tags_map = 0; /* null: none */
    }
    return rc;
}

/* Which texts count (1.1): the type is the file's own word. */
static int choose(struct arena *a, const struct azure_config_texts *texts, bool *ret_file,
                  bool *ret_secret, struct err *err)
{
    struct json_object *tree = NULL;
    *ret_file = texts->file.text != NULL;
    *ret_secret = texts->secret.text != NULL;
    if (!*ret_file || !*ret_secret) {
        return ERR_OK;
    }
    struct azure_raw raw = {0};
    struct azure_unknown_list unknown = {0};
    const struct azure_where place = {
        .text = texts->file.text, .n = texts->file.n, .path = "", .nth = 1};
    int rc = read_tree(a, &texts->file, &tree, err);
    azure_keys_clear(azure_config_keys, &raw);
    if (rc == ERR_OK && tree != NULL) {
        rc = azure_keys_read(a, tree, azure_config_keys, &place, &raw, &unknown, err);
    }
    if (rc != ERR_OK) {
        return blame(&texts->file, err);
    }
    *ret_file = !azure_eq(raw.c.config_type, "secret");
    *ret_secret = !azure_eq(raw.c.config_type, "file");
    return ERR_OK;
}

int azure_config_decode_texts(struct arena *a, const struct azure_config_texts *texts,
                              const struct azure_env *env, struct azure_config *ret,
                              const struct azure_unknown_key **ret_unknown, size_t *ret_n_unknown,
                              struct err *err)
{
    struct reader r = {.a = a};
    struct azure_raw *raw = ARENA_NEW(a, struct azure_raw);
    bool use_file, use_secret;
    int rc = choose(a, texts, &use_file, &use_secret, err);
    if (rc != ERR_OK) {
        return rc;
    }
    azure_keys_clear(azure_config_keys, raw);
    if (use_file) {
        if (read_text(&r, &texts->file, raw, err) != ERR_OK) {
            return blame(&texts->file, err);
        }
        raw->c.resource_group = str_lower(a, raw->c.resource_group);
    }
    if (use_secret && read_text(&r, &texts->secret, raw, err) != ERR_OK) {
        return blame(&texts->secret, err);
    }
    apply_env(env, &raw->c);
    apply_groups(&raw->c);
    apply_kinds(raw, &raw->c);
    apply_limits(&raw->c);
    apply_numbers(&raw->c);
    *ret = raw->c;
    *ret_unknown = r.unknown.items;
    *ret_n_unknown = r.unknown.n;
    return ERR_OK;
}

/* ---- what stops a start ---------------------------------------------------------------------- */

struct checked {
    const struct azure_config *c;
    const struct azure_config_texts *texts;
    struct err *err;
};

static int line_in(const struct azure_config_text *from, const char *key, int nth)
{
    if (from->text == NULL) {
        return 0;
    }
    int below = nth > 1 ? azure_config_line(from->text, from->n, LBS_KEY, 1, 0) : 0;
    return azure_config_line(from->text, from->n, key, nth > 1 ? nth - 1 : 1, below);
}

/* The Secret overrides the file, so a key that stands in both is the Secret's. */
static int refuse(const struct checked *k, const char *key, int nth, const char *why)
{
    const struct azure_config_text *from = &k->texts->secret;
    int line = line_in(from, key, nth);
    if (line == 0 && k->texts->file.text != NULL) {
        from = &k->texts->file;
        line = line_in(from, key, nth);
    }
    (void)err_set(k->err, ERR_INVALID, "%s: %s", key, why);
    if (line > 0) {
        (void)err_prefix(k->err, "line %d", line);
    }
    return blame(from, k->err);
}

static bool is_one_of(const char *text, const char *const *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (azure_eq(text, items[i])) {
            return true;
        }
    }
    return false;
}

/* Values of a fixed set. */
static int check_words(struct arena *a, const struct checked *k)
{
    static const char *const config_types[] = {"file", "secret", "merge"};
    static const char *const pool_types[] = {"nodeIPConfiguration", "nodeIP"};
    static const char *const probe_modes[] = {"servicenodeport", "shared"};
    const struct {
        const char *key;
        const char *value;
        const char *const *allowed;
        size_t n;
    } rows[] = {
        {"cloudConfigType", k->c->config_type, config_types, ARRAY_LEN(config_types)},
        {"loadBalancerBackendPoolConfigurationType", k->c->pool_type_text, pool_types,
         ARRAY_LEN(pool_types)},
        {"clusterServiceLoadBalancerHealthProbeMode", k->c->probe_mode_text, probe_modes,
         ARRAY_LEN(probe_modes)},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (!is_one_of(rows[i].value, rows[i].allowed, rows[i].n)) {
            return refuse(k, rows[i].key, 1,
                          arena_printf(a, "\"%s\" is none of %s", rows[i].value,
                                       str_join(a, rows[i].allowed, rows[i].n, ", ")));
        }
    }
    return ERR_OK;
}

/* Keys that do not go together. */
static int check_pairs(struct arena *a, const struct checked *k)
{
    const struct azure_config *c = k->c;
    if (c->service_gateway || azure_eq(c->lb_sku_text, "service")) {
        return refuse(k, c->service_gateway ? "serviceGatewayEnabled" : "loadBalancerSku", 1,
                      "service gateways are not served by this program");
    }
    if (c->disable_outbound_snat && !c->standard_sku) {
        return refuse(k, "disableOutboundSNAT", 1,
                      arena_printf(a,
                                   "should only be set when loadBalancerSku is standard, which is "
                                   "\"%s\"",
                                   c->lb_sku_text));
    }
    if (c->disable_availability_set_nodes && !str_eq(c->vm_type_text, "vmss")) {
        return refuse(
            k, "disableAvailabilitySetNodes", 1,
            arena_printf(a, "goes with vmType \"vmss\" only, which is \"%s\"", c->vm_type_text));
    }
    return ERR_OK;
}

static bool is_repeated(const struct azure_config *c, size_t i, bool by_set)
{
    const char *it = by_set ? c->lbs[i].primary_vm_set : c->lbs[i].name;
    for (size_t j = 0; j < i; j++) {
        if (azure_eq(by_set ? c->lbs[j].primary_vm_set : c->lbs[j].name, it)) {
            return true;
        }
    }
    return false;
}

/* 1.3 */
static int check_lbs(struct arena *a, const struct checked *k)
{
    const struct azure_config *c = k->c;
    if (!azure_config_is_multi_slb(c)) {
        return ERR_OK;
    }
    if (c->pool_type == AZURE_POOL_NIC) {
        return refuse(k, LBS_KEY, 1,
                      "needs loadBalancerBackendPoolConfigurationType: nodeIP (pools of "
                      "addresses)");
    }
    for (size_t i = 0; i < c->n_lbs; i++) {
        const struct azure_lb_config *lb = &c->lbs[i];
        const char *path = arena_printf(a, LBS_KEY "[%zu]", i);
        if (is_repeated(c, i, false)) {
            return refuse(k, "name", (int)i + 2,
                          arena_printf(a, "%s: \"%s\" is there twice", path, lb->name));
        }
        if (str_is_empty(lb->primary_vm_set)) {
            return refuse(k, LBS_KEY, 1,
                          arena_printf(a, "[%zu] \"%s\" has no primaryVMSet", i, lb->name));
        }
        if (is_repeated(c, i, true)) {
            return refuse(k, "primaryVMSet", (int)i + 2,
                          arena_printf(a, "%s: \"%s\" is there twice", path, lb->primary_vm_set));
        }
    }
    return ERR_OK;
}

static bool has_credentials(const struct azure_config *c, const struct azure_env *env)
{
    return c->workload_identity || c->managed_identity || !str_is_empty(c->client_secret) ||
           !str_is_empty(env->client_secret) || !str_is_empty(c->client_cert_path) ||
           !str_is_empty(c->msi_data_plane_path);
}

int azure_config_parse_texts(struct arena *a, const struct azure_config_texts *texts,
                             const struct azure_env *env, struct azure_config *ret,
                             const struct azure_unknown_key **ret_unknown, size_t *ret_n_unknown,
                             struct err *err)
{
    int rc = azure_config_decode_texts(a, texts, env, ret, ret_unknown, ret_n_unknown, err);
    if (rc != ERR_OK) {
        return rc;
    }
    const struct checked k = {.c = ret, .texts = texts, .err = err};
    rc = check_words(a, &k);
    if (rc == ERR_OK) {
        rc = check_pairs(a, &k);
    }
    if (rc == ERR_OK) {
        rc = check_lbs(a, &k);
    }
    if (rc == ERR_OK && str_eq(ret->config_type, "file") && !ret->use_instance_metadata &&
        !has_credentials(ret, env)) {
        rc = refuse(&k, "cloudConfigType", 1,
                    "\"file\" without credentials needs useInstanceMetadata: true");
    }
    return rc;
}
