/* SPDX-License-Identifier: Apache-2.0 */
/* eval_gce.c: the functions gce.* of trimtab-eval that answer from a Service, a name, a link or a
 * list of ports.
 *
 * Each takes apart its input, calls the provider's own function, and puts the answer together;
 * nothing is computed here.  Those that work on cloud resources are in eval_gce_resources.c. */
#include "tests/eval/eval.h"

#include "providers/gce/config/gce_config.h"
#include "providers/gce/model/gce_links.h"
#include "providers/gce/model/gce_names.h"
#include "providers/gce/model/gce_node_rules.h"
#include "providers/gce/model/gce_service_rules.h"

#include <string.h>

#define RUN(name)                                                                                  \
    static int name(struct arena *a, struct json_object *in, struct json_object **ret,             \
                    struct err *err)

/* The text of a member, "" when it is absent. */
static const char *text_of(struct json_object *in, const char *name)
{
    return str_nonnull(json_str(in, name));
}

/* A member of an answer that is left out when it is empty. */
static void add_filled(struct json_object *o, const char *name, const char *value)
{
    if (!str_is_empty(value)) {
        json_add_str(o, name, value);
    }
}

/* ---- configuration --------------------------------------------------------------------------- */

RUN(conf)
{
    const char *text = text_of(in, "text");
    struct gce_config c;
    struct gcfg_unknown *unknown;
    size_t n_unknown;
    int code = gce_config_parse(a, text, strlen(text), &c, &unknown, &n_unknown, err);
    if (code != ERR_OK) {
        return code;
    }
    struct json_object *o = json_object_new_object();
    json_add_str(o, "token_url", c.token_url);
    json_add_str(o, "token_body", c.token_body);
    json_add_str(o, "project_id", c.project_id);
    json_add_str(o, "network_project_id", c.network_project_id);
    json_add_str(o, "network_name", c.network_name);
    json_add_str(o, "subnetwork_name", c.subnetwork_name);
    json_add_str(o, "stack_type", c.stack_type);
    json_add_str(o, "secondary_range_name", c.secondary_range_name);
    json_add_str(o, "node_instance_prefix", c.node_instance_prefix);
    json_add_str(o, "api_endpoint", c.api_endpoint);
    json_add_str(o, "container_api_endpoint", c.container_api_endpoint);
    json_add_str(o, "local_zone", c.local_zone);
    json_add(o, "node_tags", json_strs((const char *const *)c.node_tags.items, c.node_tags.n));
    json_add(o, "alpha_features",
             json_strs((const char *const *)c.alpha_features.items, c.alpha_features.n));
    json_add_bool(o, "regional", c.regional);
    json_add_bool(o, "multizone", c.multizone);
    *ret = o;
    return ERR_OK;
}

/* ---- the Service ----------------------------------------------------------------------------- */

RUN(annotations)
{
    const struct tt_service *svc;
    int code = eval_service(a, json_member(in, "service"), &svc, err);
    if (code != ERR_OK) {
        return code;
    }
    const char *tier = NULL;
    struct json_object *o = json_object_new_object();
    json_add_str(o, "scheme", gce_svc_scheme(svc) == GCE_INTERNAL ? "INTERNAL" : "EXTERNAL");
    json_add_bool(o, "share_backend_service", gce_svc_shares_backend_service(svc));
    json_add_bool(o, "global_access", gce_svc_wants_global_access(svc));
    json_add_str(o, "subnet", gce_svc_subnet(svc));
    if (gce_svc_tier(svc, &tier, NULL) == ERR_OK) {
        json_add_str(o, "tier", tier);
    }
    *ret = o;
    return ERR_OK;
}

RUN(is_ours)
{
    const struct tt_service *svc;
    struct json_object *given = json_member(in, "rule");
    struct gce_rule rule;
    int code = eval_service(a, json_member(in, "service"), &svc, err);
    if (code == ERR_OK && given != NULL) {
        code = gce_rule_decode(a, given, &rule, err);
    }
    if (code == ERR_OK) {
        *ret = json_object_new_boolean(gce_svc_target_pool_is_ours(
            svc, given != NULL ? &rule : NULL, json_bool(in, "rbs_default", false)));
    }
    return code;
}

RUN(names)
{
    const struct tt_service *svc;
    int code = eval_service(a, json_member(in, "service"), &svc, err);
    if (code != ERR_OK) {
        return code;
    }
    struct gce_names n;
    gce_names_make(a, svc, text_of(in, "cluster_id"), &n);
    struct json_object *o = json_object_new_object();
    json_add_str(o, "load_balancer", n.lb);
    json_add_str(o, "description", n.description);
    json_add_str(o, "firewall", n.firewall);
    json_add_str(o, "firewall_description",
                 gce_names_firewall_description(a, str_nonnull(svc->ns), str_nonnull(svc->name),
                                                text_of(in, "ip")));
    json_add_str(o, "deny_firewall", n.deny_firewall);
    json_add_str(o, "node_health_check", n.node_check);
    json_add_str(o, "node_health_check_description", n.node_check_description);
    json_add_str(o, "local_health_check", n.local_check);
    json_add_str(o, "local_health_check_description", n.local_check_description);
    json_add_str(o, "node_health_check_firewall", n.node_check_firewall);
    json_add_str(o, "local_health_check_firewall", n.local_check_firewall);
    *ret = o;
    return ERR_OK;
}

RUN(affinity)
{
    struct json_object *given = json_member(in, "existing");
    struct tt_service svc = {.session_affinity = text_of(in, "session_affinity")};
    const char *wanted = gce_svc_affinity(&svc);
    struct gce_pool pool = {.affinity = text_of(in, "existing")};
    *ret = json_object_new_object();
    json_add_bool(*ret, "exists", given != NULL);
    json_add_bool(*ret, "recreate", given == NULL || gce_pool_affinity_differs(&pool, wanted));
    json_add_str(*ret, "affinity", wanted);
    return ERR_OK;
}

RUN(port_range)
{
    const struct tt_service *svc;
    const char *protocol = NULL;
    const char *range = NULL;
    int code = eval_service(a, json_member(in, "service"), &svc, err);
    if (code == ERR_OK) {
        code = gce_svc_port_range(a, svc, &protocol, &range, err);
    }
    if (code == ERR_OK) {
        *ret = json_object_new_object();
        json_add_str(*ret, "protocol", protocol);
        json_add_str(*ret, "port_range", range);
    }
    return code;
}

RUN(rule_needs_update)
{
    const struct tt_service *svc;
    struct json_object *given = json_member(in, "existing");
    struct gce_rule rule;
    struct gce_rule_need need;
    int code = eval_service(a, json_member(in, "service"), &svc, err);
    if (code == ERR_OK && given != NULL) {
        code = gce_rule_decode(a, given, &rule, err);
    }
    if (code == ERR_OK) {
        code = gce_rule_needs_update(a, svc, given != NULL ? &rule : NULL, &need, err);
    }
    if (code == ERR_OK) {
        *ret = json_object_new_object();
        json_add_bool(*ret, "exists", need.exists);
        json_add_bool(*ret, "needs_update", need.needs_update);
        json_add_str(*ret, "ip", need.ip);
    }
    return code;
}

/* ---- numbers and links ----------------------------------------------------------------------- */

RUN(port_ranges)
{
    struct json_object *given = json_member(in, "ports");
    size_t n = json_len(given);
    int32_t *ports = ARENA_ARRAY(a, int32_t, n);
    for (size_t i = 0; i < n; i++) {
        int64_t port = json_object_get_int64(json_object_array_get_idx(given, i));
        if (port < INT32_MIN || port > INT32_MAX) {
            return err_set(err, ERR_INVALID, "ports[%zu]: want a number of 32 bits", i);
        }
        ports[i] = (int32_t)port;
    }
    struct gce_strs ranges = gce_port_ranges(a, ports, n);
    *ret = json_strs(ranges.items, ranges.n);
    return ERR_OK;
}

RUN(instance_from_provider_id)
{
    struct gce_instance_id id;
    int code = gce_instance_from_provider_id(a, text_of(in, "provider_id"), &id, err);
    if (code == ERR_OK) {
        *ret = json_object_new_object();
        json_add_str(*ret, "project", id.project);
        json_add_str(*ret, "zone", id.zone);
        json_add_str(*ret, "instance", id.name);
    }
    return code;
}

RUN(region_of_zone)
{
    const char *region;
    int code = gce_region_of_zone(a, text_of(in, "zone"), &region, err);
    if (code == ERR_OK) {
        *ret = json_object_new_string(region);
    }
    return code;
}

RUN(resource_id)
{
    struct gce_link link;
    int code = gce_link_parse(a, text_of(in, "url"), &link, err);
    if (code == ERR_OK) {
        *ret = json_object_new_object();
        add_filled(*ret, "project", link.project);
        add_filled(*ret, "resource", link.resource);
        add_filled(*ret, "name", link.name);
        add_filled(*ret, "zone", link.zone);
        add_filled(*ret, "region", link.region);
    }
    return code;
}

RUN(projects_base)
{
    *ret = json_object_new_string(gce_projects_base(a, text_of(in, "base")));
    return ERR_OK;
}

RUN(subnets_in_cidr)
{
    struct json_object *given = json_member(in, "subnets");
    size_t n = json_len(given);
    const char **subnets = ARENA_ARRAY(a, const char *, n);
    const char **cidrs = ARENA_ARRAY(a, const char *, n);
    for (size_t i = 0; i < n; i++) {
        struct json_object *item = json_object_array_get_idx(given, i);
        subnets[i] = text_of(item, "name");
        cidrs[i] = text_of(item, "cidr");
    }
    const char **inside;
    size_t n_inside;
    int code = gce_subnets_in_auto_range(a, subnets, cidrs, n, &inside, &n_inside, err);
    if (code == ERR_OK) {
        *ret = json_strs(inside, n_inside);
    }
    return code;
}

RUN(host_tags)
{
    struct json_object *hosts = json_member(in, "hosts");
    struct json_object *given = json_member(in, "instances");
    size_t n_hosts = json_len(hosts);
    size_t n = json_len(given);
    struct gce_instance_id *ids = ARENA_ARRAY(a, struct gce_instance_id, n_hosts);
    struct gce_instance *instances = ARENA_ARRAY(a, struct gce_instance, n);
    for (size_t i = 0; i < n_hosts; i++) {
        struct json_object *host = json_object_array_get_idx(hosts, i);
        ids[i] = (struct gce_instance_id){
            .project = "", .zone = text_of(host, "zone"), .name = text_of(host, "name")};
    }
    for (size_t i = 0; i < n; i++) {
        struct json_object *instance = json_object_array_get_idx(given, i);
        instances[i] = (struct gce_instance){.name = text_of(instance, "name"),
                                             .zone = text_of(instance, "zone")};
        instances[i].tags.items = eval_strs(a, instance, "tags", &instances[i].tags.n);
    }
    struct str_set tags;
    int code = gce_host_tags(a, ids, n_hosts, instances, n, &tags, err);
    if (code == ERR_OK) {
        *ret = json_strs(tags.items, tags.n);
    }
    return code;
}

const struct eval_fn eval_gce[] = {
    {"gce.conf", conf},
    {"gce.annotations", annotations},
    {"gce.target_pool.is_ours", is_ours},
    {"gce.target_pool.names", names},
    {"gce.target_pool.affinity", affinity},
    {"gce.target_pool.port_range", port_range},
    {"gce.target_pool.rule_needs_update", rule_needs_update},
    {"gce.port_ranges", port_ranges},
    {"gce.instance_from_provider_id", instance_from_provider_id},
    {"gce.region_of_zone", region_of_zone},
    {"gce.resource_id", resource_id},
    {"gce.projects_base", projects_base},
    {"gce.subnets_in_cidr", subnets_in_cidr},
    {"gce.host_tags", host_tags},
    {NULL, NULL},
};
