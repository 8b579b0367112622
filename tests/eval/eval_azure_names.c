/* SPDX-License-Identifier: Apache-2.0 */
/* eval_azure_names.c: the functions azure.* of trimtab-eval that answer from a Service, a Node or a
 * configuration:  names, selection of a balancer, annotations, tags.
 *
 * Each takes apart its input, calls the provider's own function, and puts the answer together. */
#include "tests/eval/eval_azure.h"

#include "providers/azure/model/azure_node_rules.h"
#include "providers/azure/model/azure_tags_rules.h"

#define RUN(name)                                                                                  \
    static int name(struct arena *a, struct json_object *in, struct json_object **ret,             \
                    struct err *err)

static const char *text_of(struct json_object *in, const char *name)
{
    return str_nonnull(json_str(in, name));
}

/* ---- names ----------------------------------------------------------------------------------- */

static struct json_object *rule_pair(struct arena *a, const struct tt_service *s,
                                     const char *protocol, int32_t port)
{
    return eval_azure_pair(azure_rule_name(a, s, protocol, port, AZURE_IPV4),
                           azure_rule_name(a, s, protocol, port, AZURE_IPV6));
}

static void add_rules(struct arena *a, const struct tt_service *s, struct json_object *o)
{
    struct json_object *rules = json_object_new_array();
    for (uint32_t i = 0; i < s->n_ports; i++) {
        json_object_array_add(rules, rule_pair(a, s, s->ports[i].protocol, s->ports[i].port));
    }
    json_add(o, "rules", rules);
    if (s->n_ports > 0) {
        json_add(o, "haRule", rule_pair(a, s, s->ports[0].protocol, s->ports[0].port));
    }
    json_add(o, "healthProbe", rule_pair(a, s, "TCP", s->health_check_node_port));
}

RUN(names)
{
    const struct azure_naming *n;
    const struct azure_service *s;
    int rc = eval_azure_service(a, in, &n, &s, err);
    if (rc != ERR_OK) {
        return rc;
    }
    const char *lb = text_of(in, "lbName");
    const char *frontend[AZURE_FAMILIES];
    const char *pool[AZURE_FAMILIES];
    for (size_t f = 0; f < AZURE_FAMILIES; f++) {
        frontend[f] = azure_frontend_name(a, s->in, (enum azure_family)f);
        pool[f] = azure_pool_name(a, n, (enum azure_family)f);
    }
    struct json_object *o = json_object_new_object();
    json_add_str(o, "base", s->base);
    json_add_str(o, "serviceName", s->key);
    json_add(o, "frontend", eval_azure_pair(frontend[0], frontend[1]));
    json_add(o, "frontendID",
             eval_azure_pair(azure_frontend_id(a, n, lb, frontend[0]),
                             azure_frontend_id(a, n, lb, frontend[1])));
    json_add(o, "pool", eval_azure_pair(pool[0], pool[1]));
    json_add(o, "poolID",
             eval_azure_pair(azure_pool_id(a, n, lb, pool[0]), azure_pool_id(a, n, lb, pool[1])));
    json_add(o, "publicIP",
             eval_azure_pair(azure_pip_name(a, n, s->in, AZURE_IPV4),
                             azure_pip_name(a, n, s->in, AZURE_IPV6)));
    add_rules(a, s->in, o);
    json_add_bool(o, "lbInternal", azure_lb_is_internal(lb));
    *ret = o;
    return ERR_OK;
}

/* ---- selection ------------------------------------------------------------------------------- */

RUN(lb_name)
{
    const struct azure_naming *n;
    const struct azure_service *s;
    int rc = eval_azure_service(a, in, &n, &s, err);
    if (rc != ERR_OK) {
        return rc;
    }
    const char *vm_set = text_of(in, "vmSet");
    const char *current = text_of(in, "currentLB");
    const char *primary = azure_lb_name(a, n, azure_config_primary_vm_set(n->config), s->internal);
    struct json_object *o = json_object_new_object();
    json_add_str(o, "name", azure_lb_name(a, n, vm_set, s->internal));
    json_add_str(o, "primaryName", primary);
    json_add_bool(o, "hasMode", s->mode != NULL);
    json_add_bool(o, "auto", azure_mode_is_auto(s));
    json_add_str(o, "mode", str_nonnull(s->mode));
    json_add_str(o, "vmSetOfLB", azure_lb_vm_set(a, n, current));
    json_add_str(o, "lbOfVMSet", azure_vm_set_lb(n, vm_set));
    json_add_bool(o, "change", azure_lb_should_change(a, n, s, current, primary));
    json_add_bool(o, "preconfigured", azure_lb_is_preconfigured(n->config, s->internal));
    *ret = o;
    return ERR_OK;
}

static struct tt_kv *labels_of(struct arena *a, struct json_object *map, size_t *ret_n)
{
    *ret_n = 0;
    if (!json_object_is_type(map, json_type_object)) {
        return NULL;
    }
    struct tt_kv *items = ARENA_ARRAY(a, struct tt_kv, (size_t)json_object_object_length(map));
    json_object_object_foreach(map, key, value)
    {
        items[(*ret_n)++] =
            (struct tt_kv){.key = key, .value = str_nonnull(json_object_get_string(value))};
    }
    return items;
}

static struct azure_active *active_of(struct arena *a, struct json_object *map, size_t *ret_n)
{
    *ret_n = 0;
    if (!json_object_is_type(map, json_type_object)) {
        return NULL;
    }
    struct azure_active *items =
        ARENA_ARRAY(a, struct azure_active, (size_t)json_object_object_length(map));
    json_object_object_foreach(map, key, value)
    {
        (void)value;
        struct azure_active *item = &items[(*ret_n)++];
        item->lb = key;
        item->services = eval_strs(a, map, key, &item->n_services);
    }
    return items;
}

RUN(multi_lb)
{
    struct azure_placement p = {0};
    const struct azure_service *s;
    int rc = eval_azure_service(a, in, &p.naming, &s, err);
    if (rc != ERR_OK) {
        return rc;
    }
    p.lbs.items = eval_azure_docs(a, in, "loadBalancers", &p.lbs.n);
    p.pips.items = eval_azure_docs(a, in, "publicIPs", &p.pips.n);
    p.namespace_labels = labels_of(a, json_member(in, "namespaceLabels"), &p.n_namespace_labels);
    p.active = active_of(a, json_member(in, "activeServices"), &p.n_active);
    const char *const *eligible = NULL;
    const char *name = NULL;
    size_t n_eligible = 0;
    rc = azure_place_eligible(a, &p, s, &eligible, &n_eligible, err);
    if (rc == ERR_OK) {
        rc = azure_place(a, &p, s, json_bool(in, "want", false), &name, err);
    }
    if (rc == ERR_OK) {
        *ret = json_object_new_object();
        json_add(*ret, "eligible", json_strs(eligible, n_eligible));
        json_add_str(*ret, "name", name);
    }
    return rc;
}

RUN(select_basic_lb)
{
    const struct azure_naming *n;
    const struct azure_service *s;
    struct azure_lbs lbs = {0};
    struct azure_vm_sets sets = {0};
    const char *name = NULL;
    bool exists = false;
    int rc = eval_azure_service(a, in, &n, &s, err);
    if (rc != ERR_OK) {
        return rc;
    }
    lbs.items = eval_azure_docs(a, in, "loadBalancers", &lbs.n);
    sets.names = eval_strs(a, in, "vmSets", &sets.n);
    rc = azure_select_basic(a, n, s, &lbs, &sets, &name, &exists, err);
    if (rc == ERR_OK) {
        *ret = json_object_new_object();
        json_add_str(*ret, "name", name);
        json_add_bool(*ret, "existing", exists);
    }
    return rc;
}

/* ---- annotations ----------------------------------------------------------------------------- */

static void add_addresses(struct json_object *o, const struct azure_service *s)
{
    const char *names[AZURE_FAMILIES];
    size_t n = 0;
    for (size_t f = 0; f < AZURE_FAMILIES; f++) {
        if (s->pip_name[f] != NULL) {
            names[n++] = s->pip_name[f];
        }
    }
    json_add(o, "lbIP", eval_azure_pair(s->lb_ip[0], s->lb_ip[1]));
    json_add(o, "lbIPs", json_strs(s->lb_ips, s->n_lb_ips));
    json_add(o, "pipName", eval_azure_pair(s->pip_name[0], s->pip_name[1]));
    json_add(o, "pipNames", json_strs(names, n));
    json_add(o, "pipPrefixID", eval_azure_pair(s->pip_prefix_id[0], s->pip_prefix_id[1]));
    json_add_str(o, "pipResourceGroup", s->pip_group);
    json_add_str(o, "dnsLabel", s->dns_label);
}

static void add_pls(struct json_object *o, const struct azure_service *s)
{
    json_add_bool(o, "plsCreate", s->pls_create);
    json_add_bool(o, "plsProxyProtocol", s->pls_proxy_protocol);
    json_add_str(o, "plsResourceGroup", s->pls_group);
    json_add_str(o, "plsSubnet", s->pls_subnet);
    json_add(o, "plsIPCount",
             s->pls_ip_count == 0 ? json_object_new_string("invalid")
                                  : json_object_new_int(s->pls_ip_count));
    if (s->pls_static_ips_bad) {
        json_add_str(o, "plsStaticIPs", "invalid");
    } else {
        json_add(o, "plsStaticIPs", json_strs(s->pls_static_ips, s->n_pls_static_ips));
        json_add_str(o, "plsPrimaryIP", str_nonnull(s->pls_primary_ip));
    }
    json_add(o, "plsFqdns", json_strs(s->pls_fqdns, s->n_pls_fqdns));
    json_add(o, "plsVisibility", json_strs(s->pls_visibility, s->n_pls_visibility));
    json_add_bool(o, "plsVisibleToAll", s->pls_visible_to_all);
    json_add(o, "plsAutoApproval", json_strs(s->pls_auto_approval, s->n_pls_auto_approval));
}

RUN(annotations)
{
    const struct azure_naming *n;
    const struct azure_service *s;
    int rc = eval_azure_service(a, in, &n, &s, err);
    if (rc != ERR_OK) {
        return rc;
    }
    struct json_object *families = json_object_new_object();
    struct json_object *o = json_object_new_object();
    json_add_bool(families, "ipv4", s->has_family[AZURE_IPV4]);
    json_add_bool(families, "ipv6", s->has_family[AZURE_IPV6]);
    json_add(o, "families", families);
    json_add_bool(o, "internal", s->internal);
    json_add_str(o, "subnet", s->subnet);
    json_add_bool(o, "dualStack", s->dual_stack);
    json_add_bool(o, "local", s->local);
    json_add_bool(o, "haPorts", s->ha_ports);
    json_add_bool(o, "disableFloatingIP", s->disable_floating_ip);
    json_add_bool(o, "disableNSGRule", s->disable_nsg_rule);
    json_add_bool(o, "disableTCPReset", s->disable_tcp_reset);
    json_add(o, "configurations", json_strs(s->configurations, s->n_configurations));
    add_addresses(o, s);
    add_pls(o, s);
    *ret = o;
    return ERR_OK;
}

/* ---- tags and nodes -------------------------------------------------------------------------- */

RUN(tags)
{
    size_t n;
    struct tt_kv *map = labels_of(a, json_member(in, "tagsMap"), &n);
    struct azure_kv *given = ARENA_ARRAY(a, struct azure_kv, n);
    for (size_t i = 0; i < n; i++) {
        given[i] = (struct azure_kv){.key = map[i].key, .value = map[i].value};
    }
    struct azure_tags wanted = azure_tags_parse(a, json_str(in, "tags"), given, n);
    struct json_object *texts = json_object_new_object();
    for (size_t i = 0; i < wanted.n; i++) {
        json_add_str(texts, wanted.items[i].key, wanted.items[i].value);
    }
    struct json_object *current = json_member(in, "current");
    struct json_object *tags = json_object_is_type(current, json_type_object)
                                   ? json_copy(current)
                                   : json_object_new_object();
    bool changed = azure_tags_merge(a, tags, &wanted, json_str(in, "systemTags"));
    *ret = json_object_new_object();
    json_add(*ret, "wanted", texts);
    json_add(*ret, "tags", tags);
    json_add_bool(*ret, "changed", changed);
    return ERR_OK;
}

RUN(node_filter)
{
    const struct azure_naming *n;
    const struct tt_node *node;
    int rc = eval_azure_naming(a, in, &n, err);
    if (rc == ERR_OK) {
        rc = eval_node(a, json_member(in, "node"), &node, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    size_t n_ips;
    const char **ips = azure_node_internal_ips(a, node, &n_ips);
    struct json_object *o = json_object_new_object();
    json_add_bool(o, "controlPlane", azure_node_is_control_plane(node));
    json_add_bool(
        o, "excluded",
        azure_node_is_excluded(node, n->config->resource_group, json_bool(in, "deleted", false)));
    json_add_bool(o, "managed", azure_node_is_managed(node));
    json_add(o, "internalIPs", json_strs(ips, n_ips));
    json_add(o, "internalIP",
             eval_azure_pair(azure_node_internal_ip(node, AZURE_IPV4),
                             azure_node_internal_ip(node, AZURE_IPV6)));
    *ret = o;
    return ERR_OK;
}

const struct eval_fn eval_azure_names[] = {
    {"azure.names", names},
    {"azure.lb_name", lb_name},
    {"azure.multi_lb", multi_lb},
    {"azure.select_basic_lb", select_basic_lb},
    {"azure.annotations", annotations},
    {"azure.tags", tags},
    {"azure.node_filter", node_filter},
    {NULL, NULL},
};
