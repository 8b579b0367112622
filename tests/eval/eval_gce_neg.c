/* SPDX-License-Identifier: Apache-2.0 */
/* eval_gce_neg.c: the functions gce.neg.* of trimtab-eval, and gce.ilb.group_nodes: which nodes are
 * behind a balancer.
 *
 * As eval_gce.c: the provider's own functions, with nothing computed here but the shape of the
 * answer.  Where ours deviates on purpose (gce_neg_rules.h), upstream's behaviour is asked for. */
#include "tests/eval/eval.h"

#include "providers/gce/groups/gce_groups.h"
#include "providers/gce/model/gce_links.h"
#include "providers/gce/model/gce_neg_rules.h"

#include <string.h>

#define RUN(name)                                                                                  \
    static int name(struct arena *a, struct json_object *in, struct json_object **ret,             \
                    struct err *err)

static const char *text_of(struct json_object *in, const char *name)
{
    return str_nonnull(json_str(in, name));
}

static struct gce_strs sorted_strs(struct arena *a, struct json_object *o, const char *name)
{
    size_t n;
    const char **items = eval_strs(a, o, name, &n);
    struct str_set set = str_set_make(a, items, n);
    return gce_strs_of(a, set.items, set.n);
}

static struct json_object *sorted_answer(struct arena *a, const struct gce_strs *s)
{
    struct str_set set = gce_strs_set(a, s);
    return json_strs(set.items, set.n);
}

static struct gce_node_filter filter_of(struct arena *a, struct json_object *in, const char *subnet)
{
    const char *mode = text_of(in, "mode");
    return (struct gce_node_filter){
        .mode = str_eq(mode, "legacy")         ? GCE_NODES_LEGACY
                : str_eq(mode, "multi-subnet") ? GCE_NODES_MULTI_SUBNET
                                               : GCE_NODES_DEFAULT_SUBNET,
        .default_subnet = arena_strdup(a, subnet),
        .needs_pod_cidr = true,
    };
}

RUN(node_filter)
{
    const struct tt_node *node;
    struct gce_node_verdict v;
    int code = eval_node(a, json_member(in, "node"), &node, err);
    if (code != ERR_OK) {
        return code;
    }
    const struct gce_node_filter f = filter_of(a, in, text_of(in, "default_subnet"));
    gce_node_judge(a, &f, node, &v);
    *ret = json_object_new_object();
    json_add_bool(*ret, "all", v.all);
    json_add_bool(*ret, "candidate", v.candidate);
    json_add_bool(*ret, "candidate_or_unready", v.candidate_or_unready);
    json_add_bool(*ret, "candidate_or_draining", v.candidate_or_draining);
    json_add_str(*ret, "zone", v.zone);
    json_add_str(*ret, "subnet", v.subnet);
    return ERR_OK;
}

RUN(total)
{
    int64_t n = str_eq(text_of(in, "load_balancer"), "external")
                    ? gce_neg_total_netlb((int)json_int(in, "endpoints", 0),
                                          (int)json_int(in, "zone_subnets", 0),
                                          (int)json_int(in, "current", 0))
                    : gce_neg_total_ilb((size_t)json_int(in, "zones", 0));
    (void)a;
    (void)err;
    *ret = json_object_new_int64(n);
    return ERR_OK;
}

RUN(pick)
{
    struct gce_strs nodes = sorted_strs(a, in, "nodes");
    struct gce_strs current = sorted_strs(a, in, "current");
    struct gce_strs picked =
        gce_neg_pick(a, &nodes, text_of(in, "salt"), (int)json_int(in, "count", 0), &current);
    (void)err;
    *ret = sorted_answer(a, &picked);
    return ERR_OK;
}

RUN(subset)
{
    struct json_object *given = json_member(in, "zones");
    struct json_object *current = json_member(in, "current");
    size_t n = 0;
    (void)err;
    *ret = json_object_new_object();
    if (!json_object_is_type(given, json_type_object)) {
        return ERR_OK;
    }
    struct gce_zone_nodes *zones =
        ARENA_ARRAY(a, struct gce_zone_nodes, (size_t)json_object_object_length(given));
    json_object_object_foreach(given, zone, unused)
    {
        (void)unused;
        zones[n++] = (struct gce_zone_nodes){.zone = zone,
                                             .nodes = sorted_strs(a, given, zone),
                                             .current = sorted_strs(a, current, zone)};
    }
    gce_neg_subset(a, zones, n, (int)json_int(in, "limit", 0), text_of(in, "salt"));
    for (size_t i = 0; i < n; i++) {
        json_add(*ret, zones[i].zone, sorted_answer(a, &zones[i].picked));
    }
    return ERR_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int by_instance(const void *x, const void *y)
{
    const struct gce_endpoint *a = x;
    const struct gce_endpoint *b = y;
    int order = strcmp(a->instance, b->instance);
    order = order != 0 ? order : strcmp(a->ip, b->ip);
    return order != 0 ? order : strcmp(a->ipv6, b->ipv6);
}

static struct gce_neg_place place_of(struct arena *a, const char *zone, const char *subnet,
                                     struct json_object *list)
{
    struct gce_neg_place p = {.zone = zone, .subnet = subnet, .n = json_len(list)};
    p.endpoints = ARENA_ARRAY(a, struct gce_endpoint, p.n);
    for (size_t i = 0; i < p.n; i++) {
        struct json_object *e = json_object_array_get_idx(list, i);
        p.endpoints[i] = (struct gce_endpoint){
            .instance = text_of(e, "node"), .ip = text_of(e, "ip"), .ipv6 = text_of(e, "ipv6")};
    }
    qsort(p.endpoints, p.n, sizeof(*p.endpoints), by_instance);
    return p;
}

static size_t count_places(struct json_object *current)
{
    size_t n = 0;
    if (json_object_is_type(current, json_type_object)) {
        json_object_object_foreach(current, zone, subnets)
        {
            (void)zone;
            bool map = json_object_is_type(subnets, json_type_object);
            n += map ? (size_t)json_object_object_length(subnets) : 0;
        }
    }
    return n;
}

static struct gce_neg_places current_of(struct arena *a, struct json_object *current)
{
    struct gce_neg_places p = {.items =
                                   ARENA_ARRAY(a, struct gce_neg_place, count_places(current))};
    if (!json_object_is_type(current, json_type_object)) {
        return p;
    }
    json_object_object_foreach(current, zone, subnets)
    {
        if (json_object_is_type(subnets, json_type_object)) {
            json_object_object_foreach(subnets, subnet, list)
            {
                p.items[p.n++] = place_of(a, zone, subnet, list);
            }
        }
    }
    return p;
}

static struct json_object *places_answer(const struct gce_neg_places *places)
{
    struct json_object *o = json_object_new_object();
    for (size_t i = 0; i < places->n; i++) {
        const struct gce_neg_place *p = &places->items[i];
        struct json_object *zone = json_member(o, p->zone);
        if (zone == NULL) {
            zone = json_object_new_object();
            json_add(o, p->zone, zone);
        }
        struct json_object *list = json_object_new_array();
        for (size_t j = 0; j < p->n; j++) {
            const struct gce_endpoint *e = &p->endpoints[j];
            struct json_object *one = json_object_new_object();
            json_add_str(one, "node", e->instance);
            json_add_str(one, "ip", *e->ip != '\0' ? e->ip : NULL);
            json_add_str(one, "ipv6", *e->ipv6 != '\0' ? e->ipv6 : NULL);
            json_object_array_add(list, one);
        }
        json_add(zone, p->subnet, list);
    }
    return o;
}

/* Its name; "" when it does not parse. */
static const char *subnet_name(struct arena *a, const char *url)
{
    struct gce_link link;
    return gce_link_parse(a, url, &link, NULL) == ERR_OK ? link.name : "";
}

RUN(membership)
{
    struct json_object *svc = json_member(in, "service");
    struct gce_neg_members members;
    struct gce_neg_wish w = {
        .ns = text_of(svc, "namespace"),
        .name = text_of(svc, "name"),
        .local = str_eq(text_of(in, "policy"), "Local"),
        .internal = str_eq(text_of(in, "load_balancer"), "internal"),
        .subnetwork = text_of(in, "subnetwork"),
        .include_draining = json_bool(in, "include_draining", false),
        .ipv6 = json_bool(in, "ipv6", false),
        .network = json_str(in, "network"),
    };
    w.filter = filter_of(a, in, subnet_name(a, w.subnetwork));
    int code = eval_nodes(a, json_member(in, "nodes"), &w.nodes, &w.n_nodes, err);
    if (code == ERR_OK) {
        code = eval_slices(a, json_member(in, "slices"), &w.slices, &w.n_slices, err);
    }
    struct gce_neg_places current = current_of(a, json_member(in, "current"));
    if (code == ERR_OK) {
        code = gce_neg_membership(a, &w, &current, &members, err);
    }
    if (code == ERR_OK) {
        *ret = members.nobody ? NULL : places_answer(&members.places);
    }
    return code;
}

RUN(description)
{
    static const char *const verdicts[] = {
        [GCE_NEG_MATCHES] = "matches",
        [GCE_NEG_FOREIGN] = "foreign",
        [GCE_NEG_SAME_CLUSTER] = "same-cluster",
    };
    struct json_object *e = json_member(in, "expected");
    const char *wanted = gce_neg_describe(a, text_of(e, "cluster-uid"), text_of(e, "namespace"),
                                          text_of(e, "service-name"));
    enum gce_neg_verdict v = gce_neg_description_judge(a, wanted, text_of(in, "description"));
    (void)err;
    *ret = json_object_new_object();
    json_add_str(*ret, "verdict", verdicts[v]);
    json_add_str(*ret, "wanted", wanted);
    return ERR_OK;
}

RUN(group_nodes)
{
    const struct tt_node *const *nodes;
    size_t n;
    struct gce_groups_want want;
    int code = eval_nodes(a, json_member(in, "nodes"), &nodes, &n, err);
    if (code != ERR_OK) {
        return code;
    }
    const struct gce_node_filter f = {.default_subnet = subnet_name(a, text_of(in, "subnetwork"))};
    gce_groups_of(a, nodes, n, true, &f, 0, &want);
    *ret = json_object_new_object();
    for (size_t i = 0; i < want.n; i++) {
        json_add(*ret, want.zones[i].zone, sorted_answer(a, &want.zones[i].nodes));
    }
    return ERR_OK;
}

const struct eval_fn eval_gce_neg[] = {
    {"gce.neg.node_filter", node_filter},
    {"gce.neg.total", total},
    {"gce.neg.pick", pick},
    {"gce.neg.subset", subset},
    {"gce.neg.membership", membership},
    {"gce.neg.description", description},
    {"gce.ilb.group_nodes", group_nodes},
    {NULL, NULL},
};
