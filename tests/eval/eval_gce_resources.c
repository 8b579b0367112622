/* SPDX-License-Identifier: Apache-2.0 */
/* eval_gce_resources.c: the functions gce.* of trimtab-eval that compare cloud resources or say
 * what they should be.
 *
 * As eval_gce.c: the provider's own decoders, comparisons and builders, with nothing computed here
 * but the shape of the answer: links begin with "projects/", lists whose order means
 * nothing are sorted. */
#include "tests/eval/eval_gce_l4.h"

#include "common/lb/service_rules.h"
#include "providers/gce/config/gce_config.h"
#include "providers/gce/config/gce_options.h"
#include "providers/gce/model/gce_firewall_diff.h"
#include "providers/gce/model/gce_gcloud.h"
#include "providers/gce/model/gce_service_rules.h"
#include "providers/gce/model/gce_target_pool.h"
#include "tests/eval/eval_gce_asked.h"
#include "tests/support/gce_decode.h"

#include <string.h>

#define RUN(name)                                                                                  \
    static int name(struct arena *a, struct json_object *in, struct json_object **ret,             \
                    struct err *err)

static const char *text_of(struct json_object *in, const char *name)
{
    return str_nonnull(json_str(in, name));
}

/* ---- comparing ------------------------------------------------------------------------------- */

RUN(firewall_port)
{
    int64_t first;
    int64_t last;
    int code = gce_firewall_port_parse(a, text_of(in, "port"), &first, &last, err);
    if (code == ERR_OK) {
        *ret = json_object_new_object();
        json_add_int(*ret, "first", first);
        json_add_int(*ret, "last", last);
    }
    return code;
}

RUN(firewalls_equal)
{
    struct gce_firewall x;
    struct gce_firewall y;
    bool equal = false;
    int code = gce_firewall_decode(a, json_member(in, "a"), &x, err);
    if (code == ERR_OK) {
        code = gce_firewall_decode(a, json_member(in, "b"), &y, err);
    }
    if (code == ERR_OK) {
        code = gce_firewall_equal(a, &x, &y, &equal, err);
    }
    if (code == ERR_OK) {
        *ret = json_object_new_boolean(equal);
    }
    return code;
}

/* The traffic firewall of a Service whose load balancer has this address. */
static int wanted_traffic(struct arena *a, const struct tt_service *svc, struct json_object *in,
                          struct gce_firewall *ret, struct err *err)
{
    struct str_set ranges;
    int code = svc_source_ranges(a, svc, &ranges, err);
    if (code != ERR_OK) {
        return code;
    }
    const char *ip = text_of(in, "ip");
    struct gce_allow *allow = ARENA_NEW(a, struct gce_allow);
    *allow = (struct gce_allow){.protocol = str_lower(a, gce_svc_protocol(svc)),
                                .ports = gce_svc_port_ranges(a, svc)};
    *ret = (struct gce_firewall){
        .description =
            gce_names_firewall_description(a, str_nonnull(svc->ns), str_nonnull(svc->name), ip),
        .sources = gce_strs_of(a, ranges.items, ranges.n),
        .destinations = gce_strs_one(a, ip),
        .allowed = {.items = allow, .n = 1},
        .priority = (int32_t)json_int(in, "priority", 0),
    };
    return ERR_OK;
}

RUN(firewall_needs_update)
{
    const struct tt_service *svc;
    struct json_object *given = json_member(in, "existing");
    struct gce_firewall found;
    struct gce_firewall wanted;
    int code = eval_service(a, json_member(in, "service"), &svc, err);
    if (code == ERR_OK) {
        code = wanted_traffic(a, svc, in, &wanted, err);
    }
    if (code == ERR_OK && given != NULL) {
        code = gce_firewall_decode(a, given, &found, err);
    }
    if (code != ERR_OK) {
        return code;
    }
    struct gce_strs plain = gce_svc_ports_plain(a, svc);
    *ret = json_object_new_object();
    json_add_bool(*ret, "exists", given != NULL);
    json_add_bool(*ret, "needs_update",
                  given == NULL || gce_firewall_traffic_differs(a, &found, &wanted, &plain));
    return ERR_OK;
}

RUN(health_check)
{
    struct json_object *given = json_member(in, "existing");
    const char *name = text_of(in, "name");
    struct gce_check wanted =
        gce_check_default(name, gce_names_service_description(a, name), text_of(in, "path"),
                          (int32_t)json_int(in, "port", 0));
    struct gce_check found = {0};
    int code = given == NULL ? ERR_OK : gce_check_decode(a, given, &found, err);
    if (code != ERR_OK) {
        return code;
    }
    bool differs = given == NULL || gce_check_differs(&found, &wanted);
    *ret = json_object_new_object();
    json_add_bool(*ret, "needs_update", differs);
    if (differs) {
        struct gce_check body = given == NULL ? wanted : gce_check_merge(&found, &wanted);
        json_add(*ret, "body", gce_check_body(&body));
    }
    return ERR_OK;
}

RUN(gcloud_command)
{
    static const char *const verbs[] = {"create", "update", "delete"};
    struct gce_firewall f;
    int code = gce_firewall_decode(a, json_member(in, "firewall"), &f, err);
    if (code != ERR_OK) {
        return code;
    }
    for (int i = 0; i < (int)ARRAY_LEN(verbs); i++) {
        if (str_eq(text_of(in, "verb"), verbs[i])) {
            *ret = json_object_new_string(
                gce_gcloud_firewall(a, (enum gce_gcloud_verb)i, &f, text_of(in, "project")));
            return ERR_OK;
        }
    }
    return err_set(err, ERR_INVALID, "verb: want create, update or delete");
}

/* ---- what a first ensure makes --------------------------------------------------------------- */

/* A link without what stands before "projects/". */
static const char *short_link(const char *link)
{
    const char *at = strstr(str_nonnull(link), "projects/");
    return at == NULL ? str_nonnull(link) : at;
}

static struct gce_strs sorted(struct arena *a, struct gce_strs s)
{
    struct str_set set = gce_strs_set(a, &s);
    return gce_strs_of(a, set.items, set.n);
}

static struct json_object *firewall_answer(struct arena *a, const struct gce_tp_desired *d,
                                           const struct gce_firewall *f, const char *ip)
{
    struct gce_firewall full = gce_tp_firewall_for(a, d, f, ip);
    full.network = short_link(full.network);
    full.sources = sorted(a, full.sources);
    full.destinations = sorted(a, full.destinations);
    full.tags = sorted(a, full.tags);
    for (size_t i = 0; i < full.allowed.n; i++) {
        full.allowed.items[i].ports = sorted(a, full.allowed.items[i].ports);
    }
    return gce_firewall_body(&full, false);
}

static int by_name(const void *x, const void *y)
{
    struct json_object *const *a = x;
    struct json_object *const *b = y;
    return strcmp(text_of(*a, "name"), text_of(*b, "name"));
}

static struct json_object *desired_answer(struct arena *a, const struct gce_tp_desired *d,
                                          const char *ip)
{
    struct gce_rule rule = d->rule;
    struct gce_pool pool = d->pool;
    rule.ip = ip;
    rule.target = short_link(rule.target);
    pool.instances = sorted(a, pool.instances);
    for (size_t i = 0; i < pool.checks.n; i++) {
        pool.checks.items[i] = short_link(pool.checks.items[i]);
    }
    struct json_object *firewalls = json_object_new_array();
    json_object_array_add(firewalls, firewall_answer(a, d, &d->traffic, ip));
    json_object_array_add(firewalls, firewall_answer(a, d, &d->check_firewall, ip));
    if (d->want_deny) {
        json_object_array_add(firewalls, firewall_answer(a, d, &d->deny, ip));
    }
    json_object_array_sort(firewalls, by_name);
    struct json_object *o = json_object_new_object();
    json_add_str(o, "status_ip", ip);
    json_add(o, "forwarding_rule", gce_rule_body(&rule));
    json_add(o, "target_pool", gce_pool_body(&pool));
    json_add(o, "http_health_check", gce_check_body(&d->check));
    json_add(o, "firewalls", firewalls);
    return o;
}

static int facts_of(struct arena *a, struct json_object *given, struct gce_tp_facts *ret,
                    struct err *err)
{
    struct gce_options options;
    size_t n_tags;
    int code = gce_options_parse(a, NULL, 0, &options, err); /* the default sources of checks */
    if (code != ERR_OK) {
        return code;
    }
    const char **tags = eval_strs(a, given, "nodeTags", &n_tags);
    *ret = (struct gce_tp_facts){
        .project = text_of(given, "project"),
        .network_project = text_of(given, "project"),
        .region = text_of(given, "region"),
        .projects_base = gce_projects_base(a, "https://www.googleapis.com/compute/v1/"),
        .network = text_of(given, "network"),
        .check_sources = options.lb_src_cidrs,
        .n_check_sources = options.n_lb_src_cidrs,
        .node_tags = str_set_make(a, tags, n_tags),
        .rbs_default = json_bool(given, "rbsDefault", false),
        .deny_firewall = json_bool(given, "denyFirewall", false),
    };
    return ERR_OK;
}

static struct json_object *elsewhere(void)
{
    struct json_object *o = json_object_new_object();
    json_add_bool(o, "elsewhere", true);
    return o;
}

/* Both flavours of cloud-provider-gcp: whichever the Service asks for. */
RUN(desired)
{
    struct gce_tp_facts facts;
    struct gce_tp_desired d;
    const struct tt_service *svc;
    const struct tt_node *const *nodes;
    size_t n_nodes;
    int code = eval_service(a, json_member(in, "service"), &svc, err);
    if (code == ERR_OK) {
        code = eval_nodes(a, json_member(in, "nodes"), &nodes, &n_nodes, err);
    }
    if (code == ERR_OK) {
        code = facts_of(a, json_member(in, "facts"), &facts, err);
    }
    if (code != ERR_OK) {
        return code;
    }
    bool ilb_subsets = json_bool(json_member(in, "facts"), "ilbSubsets", false);
    switch (asked_legacy_kind(svc, ilb_subsets, facts.rbs_default)) {
    case GCE_KIND_TARGET_POOL:
        break;
    case GCE_KIND_ILB_GROUPS:
        return eval_ilb_desired(a, in, ret, err);
    default:
        *ret = elsewhere();
        return ERR_OK;
    }
    struct gce_tp_input input = {
        .service = svc,
        .key = "",
        .verb = TT_VERB_ENSURE,
        .cluster_id = text_of(json_member(in, "facts"), "clusterID"),
        .tags = facts.node_tags,
    };
    gce_members_of(a, nodes, n_nodes, facts.project, facts.region, &input.members);
    if (input.members.n_ids == 0) {
        return err_set(err, ERR_INVALID, "no node can be a member");
    }
    code = gce_tp_desired_make(a, &facts, &input, &d, err);
    if (code == ERR_OK) {
        *ret = desired_answer(a, &d, str_or(d.user_ip, text_of(in, "ip")));
    }
    return code;
}

const struct eval_fn eval_gce_resources[] = {
    {"gce.firewall_port", firewall_port},
    {"gce.firewalls_equal", firewalls_equal},
    {"gce.target_pool.firewall_needs_update", firewall_needs_update},
    {"gce.target_pool.health_check", health_check},
    {"gce.gcloud_command", gcloud_command},
    {"gce.target_pool.desired", desired},
    {"gce.ilb.desired", desired},
    {NULL, NULL},
};
