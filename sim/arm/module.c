/* SPDX-License-Identifier: Apache-2.0 */
/* module.c: the Azure Resource Manager as a module of the simulator: its life, its part of a world,
 * its configuration.
 *
 * A world's member "azure" maps ids to documents, "azure_addresses" the IP configurations of scale
 * sets' instances to their addresses, "sim.azure" holds settings.  Loading takes documents as they
 * are and gives them what the API would have added: defaults, ids of sub-resources,
 * back-references.  Without a world, `--cloud azure` seeds a network and a scale set.  Source:
 * interfaces.md, "World". */
#include "sim/arm/arm.h"

#include <string.h>
#include <strings.h>

static int module_init(struct sim *sim, void **ret_state, struct err *err)
{
    (void)err;
    struct arm *arm = xcalloc(1, sizeof(*arm));
    const struct sim_config *cfg = sim_cfg(sim);
    const char *zone = cfg->n_zones ? cfg->zones[0] : "";
    const char *dash = strrchr(zone, '-');
    bool ours = str_eq(cfg->cloud, "azure");
    arm->sim = sim;
    arm->subscription = xstrdup(ARM_SUBSCRIPTION);
    arm->group = xstrdup(ARM_GROUP);
    arm->tenant = xstrdup(ARM_TENANT);
    arm->network_tenant = xstrdup(ARM_TENANT);
    arm->location = ours && dash ? xstrndup(zone, (size_t)(dash - zone)) : xstrdup("eastus");
    arm->next_public = 4;
    arm->next_public6 = 4;
    arm->tokens = map_new(free);
    arm->buckets = map_new(free);
    arm_store_init(arm);
    arm_operations_init(arm);
    if (ours) {
        arm_seed(arm);
    }
    *ret_state = arm;
    return ERR_OK;
}

static void module_done(void *state)
{
    struct arm *arm = state;
    arm_operations_done(arm);
    arm_store_done(arm);
    map_free(arm->tokens);
    map_free(arm->buckets);
    arm_lag_done(arm);
    json_object_put(arm->settings);
    free(arm->subscription);
    free(arm->group);
    free(arm->tenant);
    free(arm->network_tenant);
    free(arm->location);
    free(arm);
}

static bool module_claims(const void *state, const char *method, const char *path)
{
    (void)method;
    (void)state;
    static const char root[] = "/subscriptions/";
    return str_eq_nocase(path, "/subscriptions") ||
           (strlen(path) > strlen(root) && strncasecmp(path, root, strlen(root)) == 0);
}

/* --- settings --------------------------------------------------------------------------------- */

static int check_members(struct json_object *settings, struct err *err)
{
    static const char *const limits[] = {"publicIPAddresses",        "frontendIPConfigurations",
                                         "loadBalancingRules",       "securityRules",
                                         "rulesPerNetworkInterface", NULL};
    static const char *const sorts[] = {"reads", "writes", "deletes", NULL};
    int rc = sim_settings_numbers("limits", json_member(settings, "limits"), limits, err);
    if (rc == ERR_OK) {
        rc = sim_settings_buckets("throttle", json_member(settings, "throttle"), sorts, err);
    }
    if (rc == ERR_OK) {
        rc = sim_settings_texts("identities", json_member(settings, "identities"), NULL, err);
    }
    return rc != ERR_OK ? rc : arm_guards_check(settings, err);
}

static int check_settings(struct json_object *settings, struct err *err)
{
    static const struct {
        const char *name;
        enum json_type type;
        const char *one_of[4]; /* of a text; NULL: any */
    } known[] = {
        {"async", json_type_string, {"azure-async", "location", "body"}},
        {"polls", json_type_int, {NULL}},
        {"retry_after", json_type_int, {NULL}},
        {"retry_after_form", json_type_string, {"seconds", "ms", "date"}},
        {"supersede", json_type_boolean, {NULL}},
        {"conflict", json_type_string, {"in-progress", "retryable"}},
        {"page_size", json_type_int, {NULL}},
        {"list_lag_ms", json_type_int, {NULL}},
        {"limits", json_type_object, {NULL}},
        {"throttle", json_type_object, {NULL}},
        {"claims", json_type_string, {NULL}},
        {"identities", json_type_array, {NULL}},
        {"locks", json_type_array, {NULL}},
        {"policies", json_type_array, {NULL}},
    };
    json_object_object_foreach(settings, name, value)
    {
        size_t i = 0;
        while (i < ARRAY_LEN(known) && !str_eq(known[i].name, name)) {
            i++;
        }
        if (i == ARRAY_LEN(known)) {
            return err_set(err, ERR_INVALID, "azure has no setting \"%s\"", name);
        }
        bool ok = json_object_is_type(value, known[i].type);
        bool among = !known[i].one_of[0];
        for (size_t k = 0; ok && known[i].one_of[k]; k++) {
            among = among || str_eq(known[i].one_of[k], json_object_get_string(value));
        }
        if (!ok || !among) {
            return err_set(err, ERR_INVALID, "setting \"%s\" of azure cannot be %s", name,
                           json_object_to_json_string(value));
        }
    }
    return check_members(settings, err);
}

static void take_settings(struct arm *arm, struct json_object *settings)
{
    json_object_put(arm->settings);
    arm->settings = settings ? json_copy(settings) : NULL;
    map_free(arm->buckets);
    arm->buckets = map_new(free);
}

static int module_configure(void *state, struct json_object *settings, struct err *err)
{
    int code = check_settings(settings, err);
    if (!code) {
        take_settings(state, settings);
    }
    return code;
}

/* --- worlds ----------------------------------------------------------------------------------- */

static void set_text(char **at, const char *text)
{
    if (!str_is_empty(text)) {
        free(*at);
        *at = xstrdup(text);
    }
}

/* A pool that a world lists by itself is what its balancer holds. */
static void merge_pool(struct arm *arm, struct arena *a, const char *id, struct json_object *pool)
{
    struct arm_resource *lb = arm_get(arm, arm_id_parent(a, id));
    struct json_object *pools = lb ? json_path(lb->body, "properties.backendAddressPools") : NULL;
    struct json_object *have = arm_named(pools, arm_id_name(id), NULL);
    struct json_object *from = json_member(pool, "properties");
    struct json_object *to = have ? arm_properties(have) : NULL;
    static const char *const members[] = {"loadBalancerBackendAddresses", "virtualNetwork"};
    for (size_t i = 0; have && i < ARRAY_LEN(members); i++) {
        struct json_object *value = json_member(from, members[i]);
        if (value) {
            json_add(to, members[i], json_copy(value));
        }
    }
    if (have) {
        arm_sanitize(arm_kind_type(lb->kind), lb->body);
    }
}

static bool is_pool(struct arena *a, const char *id)
{
    return str_eq_nocase(arm_id_type(a, id), "Microsoft.Network/loadBalancers/backendAddressPools");
}

static int load_resources(struct arm *arm, struct arena *a, struct json_object *azure,
                          struct err *err)
{
    json_object_object_foreach(azure, id, body)
    {
        if (!str_has_prefix(str_lower(a, id), "/subscriptions/") ||
            !json_object_is_type(body, json_type_object)) {
            return err_set(err, ERR_INVALID,
                           "azure: \"%s\": want \"/subscriptions/…\" and an object", id);
        }
        if (!is_pool(a, id)) {
            struct arm_resource *res = arm_set(arm, id, json_copy(body));
            arm_sanitize(res->kind ? arm_kind_type(res->kind) : -1, res->body);
        }
    }
    json_object_object_foreach(azure, pool_id, pool)
    {
        if (is_pool(a, pool_id)) {
            merge_pool(arm, a, pool_id, pool);
        }
    }
    return ERR_OK;
}

/* Where new nodes go: where the machines are, else where anything is. */
static bool find_place(struct arm_resource *res, void *arg)
{
    struct arm *arm = arg;
    struct arena *a = arena_new();
    set_text(&arm->subscription, arm_id_subscription(a, res->id));
    set_text(&arm->group, arm_id_group(a, res->id));
    set_text(&arm->location, json_str(res->body, "location"));
    arena_free(a);
    return true;
}

/* Groups that only the cloud's configuration names. */
static void read_config(struct arm *arm, struct arena *a, const char *text)
{
    static const char *const groups[] = {
        "resourceGroup",           "vnetResourceGroup",         "securityGroupResourceGroup",
        "routeTableResourceGroup", "loadBalancerResourceGroup", "privateLinkServiceResourceGroup"};
    struct json_object *o = NULL;
    if (!text || json_parse_arena(a, text, strlen(text), NULL, &o, NULL)) {
        return;
    }
    const char *subscription = json_str(o, "subscriptionId");
    const char *network = str_or(json_str(o, "networkResourceSubscriptionID"), subscription);
    for (size_t i = 0; subscription && i < ARRAY_LEN(groups); i++) {
        const char *group = json_str(o, groups[i]);
        if (!str_is_empty(group)) {
            arm_group_add(arm, subscription, group);
            arm_group_add(arm, network, group);
        }
    }
    set_text(&arm->subscription, subscription);
    set_text(&arm->group, json_str(o, "resourceGroup"));
    set_text(&arm->location, json_str(o, "location"));
    set_text(&arm->tenant, json_str(o, "tenantId"));
    set_text(&arm->network_tenant, json_str(o, "networkResourceTenantID"));
}

/* An instance's document does not tell its address. */
static void load_addresses(struct arm *arm, struct arena *a, struct json_object *addresses)
{
    if (json_object_is_type(addresses, json_type_object)) {
        json_object_object_foreach(addresses, id, address)
        {
            struct ip_addr ip;
            const char *text = address ? json_object_get_string(address) : "";
            if (ip_parse(text, &ip)) {
                map_set(arm->addresses, arm_id_key(a, id), xstrdup(text));
            }
        }
    }
}

static bool count_one(struct arm_resource *res, void *arg)
{
    (void)res;
    ++*(size_t *)arg;
    return true;
}

/* Adds the members that the API would have added, with the etag and the state of the world. */
static void dress_all(struct arm *arm)
{
    size_t n = 0;
    const char **keys = map_keys(arm->resources, &n);
    char **ids = xcalloc(n ? n : 1, sizeof(*ids));
    for (size_t i = 0; i < n; i++) {
        ids[i] = xstrdup(keys[i]);
    }
    free(keys);
    for (size_t i = 0; i < n; i++) {
        struct arm_resource *res = arm_get(arm, ids[i]);
        char *etag = xstrdup(json_str(res->body, "etag"));
        if (res->kind && res->kind->located && !json_str(res->body, "location")) {
            json_add_str(res->body, "location", arm->location);
        }
        if (res->kind) {
            res = arm_commit(arm, res->id, json_copy(res->body), NULL);
            arm_restore_etag(res, etag);
        }
        free(etag);
        free(ids[i]);
    }
    free(ids);
}

static int module_load(void *state, struct json_object *world, struct err *err)
{
    struct arm *arm = state;
    struct json_object *azure = json_member(world, "azure");
    struct arena *a = arena_new();
    size_t n = 0;
    if (azure && !json_object_is_type(azure, json_type_object)) {
        arena_free(a);
        return err_set(err, ERR_INVALID, "azure is an object");
    }
    arm_operations_done(arm);
    arm_lag_done(arm);
    arm_store_done(arm);
    arm_store_init(arm);
    arm_operations_init(arm);
    take_settings(arm, json_path(world, "sim.azure"));
    read_config(arm, a, json_str(world, "cloud_config"));
    int code = azure ? load_resources(arm, a, azure, err) : ERR_OK;
    if (!code) {
        arm_each(arm, "Microsoft.Compute/virtualMachines", find_place, arm);
        arm_each(arm, "Microsoft.Compute/virtualMachineScaleSets", find_place, arm);
        arm_each(arm, NULL, count_one, &n);
        if (n == 0 && str_eq(sim_cfg(arm->sim)->cloud, "azure")) {
            arm_seed(arm);
        }
        load_addresses(arm, a, json_member(world, "azure_addresses"));
        arm_addresses_give(arm, json_path(world, "kubernetes.nodes"));
        dress_all(arm);
    }
    arena_free(a);
    return code;
}

static bool dump_one(struct arm_resource *res, void *arg)
{
    json_add(arg, res->id, json_copy(res->body));
    return true;
}

struct addresses {
    struct arm *arm;
    struct arena *a;
    struct json_object *found;
};

static bool dump_address(const struct arm_ip_config *c, void *arg)
{
    struct addresses *x = arg;
    const char *key = arm_id_key(x->a, c->id);
    json_add_str(x->found, key, map_get(x->arm->addresses, key));
    return true;
}

static void add_unless_empty(struct json_object *world, const char *name, struct json_object *o)
{
    if (json_object_object_length(o) > 0) {
        json_add(world, name, o);
    } else {
        json_object_put(o);
    }
}

static void module_dump(void *state, struct json_object *world)
{
    struct arm *arm = state;
    struct json_object *azure = json_object_new_object();
    struct addresses x = {.arm = arm, .a = arena_new(), .found = json_object_new_object()};
    arm_each(arm, NULL, dump_one, azure);
    arm_each_ip_config(arm, x.a, dump_address, &x);
    arena_free(x.a);
    add_unless_empty(world, "azure", azure);
    add_unless_empty(world, "azure_addresses", x.found);
}

/* --- for the frame ---------------------------------------------------------------------------- */

char *sim_arm_cloud_config(void *state, struct arena *a)
{
    struct arm *arm = state;
    struct json_object *o = json_object_new_object();
    json_add_str(o, "cloud", "AzureCloud");
    json_add_str(o, "tenantId", arm->tenant);
    json_add_str(o, "subscriptionId", arm->subscription);
    json_add_str(o, "resourceGroup", arm->group);
    json_add_str(o, "location", arm->location);
    json_add_str(o, "vnetName", ARM_VNET);
    json_add_str(o, "subnetName", ARM_SUBNET);
    json_add_str(o, "securityGroupName", ARM_NSG);
    json_add_str(o, "routeTableName", ARM_ROUTE_TABLE);
    json_add_str(o, "vmType", "vmss");
    json_add_str(o, "primaryScaleSetName", ARM_SCALE_SET);
    json_add_str(o, "loadBalancerSku", "standard");
    json_add_bool(o, "useManagedIdentityExtension", true);
    json_add_bool(o, "useInstanceMetadata", false);
    json_add_str(o, "resourceManagerEndpoint", sim_url(arm->sim));
    char *text = arena_printf(a, "%s\n", json_text(a, o, JSON_PRETTY));
    json_object_put(o);
    return text;
}

char *sim_arm_new_token(void *state, struct arena *a, int64_t lifetime_s)
{
    return arena_strdup(a, arm_token_new(state, a, lifetime_s));
}

const struct sim_module sim_arm_module = {
    .name = "azure",
    .to_traffic_log = true,
    .init = module_init,
    .done = module_done,
    .claims = module_claims,
    .name_call = arm_name_call,
    .handle = arm_handle,
    .error_body = arm_error_body,
    .load = module_load,
    .dump = module_dump,
    .configure = module_configure,
};
