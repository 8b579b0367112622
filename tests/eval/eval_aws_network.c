/* SPDX-License-Identifier: Apache-2.0 */
/* eval_aws_network.c: the functions aws.* of trimtab-eval about subnets, security
 * groups and targets. */
#include "tests/eval/eval_aws.h"

#include "providers/aws/model/aws_annotations.h"

/* ---- subnets --------------------------------------------------------------------------------- */

static void read_subnets(struct arena *a, struct json_object *array, struct aws_places *p)
{
    size_t n = json_len(array);
    struct aws_subnet *items = ARENA_ARRAY(a, struct aws_subnet, n);
    for (size_t i = 0; i < n; i++) {
        struct json_object *o = json_object_array_get_idx(array, i);
        items[i] = (struct aws_subnet){
            .id = str_nonnull(json_str(o, "SubnetId")),
            .vpc = "vpc-1",
            .zone = str_nonnull(json_str(o, "AvailabilityZone")),
            .cidr = str_nonnull(json_str(o, "CidrBlock")),
            .tags = eval_aws_tag_list(a, json_member(o, "Tags")),
        };
    }
    p->subnets = items;
    p->n_subnets = n;
}

static struct aws_route_table read_table(struct arena *a, struct json_object *o)
{
    struct json_object *associations = json_member(o, "Associations");
    struct json_object *routes = json_member(o, "Routes");
    size_t n = json_len(associations);
    const char **subnets = ARENA_ARRAY(a, const char *, n);
    struct aws_route_table t = {.id = str_nonnull(json_str(o, "RouteTableId"))};
    for (size_t i = 0; i < n; i++) {
        struct json_object *one = json_object_array_get_idx(associations, i);
        const char *subnet = json_str(one, "SubnetId");
        t.main = t.main || json_bool(one, "Main", false);
        if (subnet != NULL) {
            subnets[t.subnets.n++] = subnet;
        }
    }
    t.subnets.items = subnets;
    for (size_t i = 0; i < json_len(routes); i++) {
        const char *gateway = json_str(json_object_array_get_idx(routes, i), "GatewayId");
        t.to_internet = t.to_internet || (gateway != NULL && str_has_prefix(gateway, "igw"));
    }
    return t;
}

static void read_tables(struct arena *a, struct json_object *array, struct aws_places *p)
{
    size_t n = json_len(array);
    struct aws_route_table *items = ARENA_ARRAY(a, struct aws_route_table, n);
    for (size_t i = 0; i < n; i++) {
        items[i] = read_table(a, json_object_array_get_idx(array, i));
    }
    p->tables = items;
    p->n_tables = n;
}

static void read_zones(struct arena *a, struct json_object *array, struct aws_places *p)
{
    size_t n = json_len(array);
    struct aws_zone *items = ARENA_ARRAY(a, struct aws_zone, n);
    for (size_t i = 0; i < n; i++) {
        struct json_object *o = json_object_array_get_idx(array, i);
        items[i] = (struct aws_zone){.name = str_nonnull(json_str(o, "ZoneName")),
                                     .type = str_nonnull(json_str(o, "ZoneType"))};
    }
    p->zones = items;
    p->n_zones = n;
}

RUN(subnets)
{
    struct aws_naming n = eval_aws_naming(in);
    static const struct tt_service none = {.size = sizeof(none)};
    const char *annotation = json_str(in, "annotation");
    struct aws_places p = {.own_subnet = str_nonnull(json_str(in, "ownSubnet"))};
    struct aws_service s = {.in = &none,
                            .internal = json_bool(in, "internal", false),
                            .has_subnets = annotation != NULL};
    struct aws_texts ids;
    if (annotation != NULL) {
        s.subnets = aws_pieces(a, annotation, false);
    }
    read_subnets(a, json_member(in, "subnets"), &p);
    read_tables(a, json_member(in, "routeTables"), &p);
    read_zones(a, json_member(in, "zones"), &p);
    int rc = aws_subnets_choose(a, &n, &p, &s, &ids, NULL, err);
    if (rc == ERR_OK) {
        *ret = json_object_new_object();
        json_add(*ret, "subnets", json_strs(ids.items, ids.n));
    }
    return rc;
}

/* ---- security groups ------------------------------------------------------------------------- */

RUN(permissions)
{
    struct aws_rules desired = eval_aws_rules(a, json_member(in, "desired"));
    struct aws_rules actual = eval_aws_rules(a, json_member(in, "actual"));
    struct aws_rule_diff d = aws_rules_diff(a, &desired, &actual);
    *ret = json_object_new_object();
    json_add_bool(*ret, "changed", d.authorize.n + d.revoke.n > 0);
    json_add(*ret, "authorize", eval_aws_tuples(a, &d.authorize));
    json_add(*ret, "revoke", eval_aws_tuples(a, &d.revoke));
    return ERR_OK;
}

static struct aws_nlb_node_want node_want(struct arena *a, struct json_object *in)
{
    struct json_object *mappings = json_member(in, "mappings");
    size_t n = json_len(mappings);
    struct aws_nlb_port *ports = ARENA_ARRAY(a, struct aws_nlb_port, n);
    struct aws_nlb_node_want w = {.lb_name = str_nonnull(json_str(in, "lbName")),
                                  .keeps_superfluous = true,
                                  .subnet_cidrs = eval_aws_texts(a, in, "subnetCIDRs"),
                                  .client_cidrs = eval_aws_texts(a, in, "clientCIDRs"),
                                  .ports = ports,
                                  .n_ports = n,
                                  .health_port = "traffic-port"};
    for (size_t i = 0; i < n; i++) {
        struct json_object *o = json_object_array_get_idx(mappings, i);
        ports[i] =
            (struct aws_nlb_port){.node_port = (int32_t)json_int(o, "trafficPort", 0),
                                  .traffic_protocol = str_nonnull(json_str(o, "trafficProtocol"))};
        w.health_port = str_or(json_str(o, "healthCheckPort"), w.health_port);
    }
    return w;
}

/* Ids of the groups that carry the cluster's tag. */
static struct str_set tagged_groups(struct arena *a, const struct aws_naming *n,
                                    struct json_object *groups)
{
    const char **ids = ARENA_ARRAY(a, const char *, json_len(groups));
    size_t n_ids = 0;
    for (size_t i = 0; i < json_len(groups); i++) {
        struct json_object *g = json_object_array_get_idx(groups, i);
        struct aws_tags tags = eval_aws_tag_list(a, json_member(g, "Tags"));
        if (aws_tags_are_cluster(n, &tags)) {
            ids[n_ids++] = str_nonnull(json_str(g, "GroupId"));
        }
    }
    return str_set_make(a, ids, n_ids);
}

static int wanted_groups(struct arena *a, struct json_object *instances,
                         const struct str_set *tagged, struct str_set *ret, struct err *err)
{
    const char **ids = ARENA_ARRAY(a, const char *, json_len(instances));
    size_t n = 0;
    for (size_t i = 0; i < json_len(instances); i++) {
        struct aws_instance instance =
            eval_aws_instance(a, json_object_array_get_idx(instances, i));
        const char *id;
        int rc = aws_node_group(a, &instance, tagged, &id, err);
        if (rc != ERR_OK) {
            return rc;
        }
        if (id != NULL) {
            ids[n++] = id;
        }
    }
    *ret = str_set_make(a, ids, n);
    return ERR_OK;
}

RUN(nlb_node_rules)
{
    struct aws_naming n = eval_aws_naming(in);
    struct json_object *groups = json_member(in, "securityGroups");
    struct str_set tagged = tagged_groups(a, &n, groups);
    struct aws_nlb_node_want w = node_want(a, in);
    const struct aws_rules nobody = {0};
    struct str_set wanted;
    int rc = wanted_groups(a, json_member(in, "instances"), &tagged, &wanted, err);
    if (rc != ERR_OK) {
        return rc;
    }
    struct json_object *out = json_object_new_object();
    for (size_t i = 0; i < json_len(groups); i++) {
        struct json_object *g = json_object_array_get_idx(groups, i);
        const char *id = str_nonnull(json_str(g, "GroupId"));
        bool in_wanted = str_set_has(&wanted, id);
        struct aws_rules actual = eval_aws_rules(a, json_member(g, "IpPermissions"));
        struct aws_rule_diff d = aws_nlb_node_rules_diff(a, &w, in_wanted, &actual, &nobody);
        if ((in_wanted || str_set_has(&tagged, id)) && d.authorize.n + d.revoke.n > 0) {
            struct json_object *o = json_object_new_object();
            json_add(o, "grant", eval_aws_tuples(a, &d.authorize));
            json_add(o, "revoke", eval_aws_tuples(a, &d.revoke));
            json_add(out, id, o);
        }
    }
    *ret = json_object_new_object();
    json_add(*ret, "groups", out);
    return ERR_OK;
}

/* ---- targets --------------------------------------------------------------------------------- */

static struct json_object *calls(struct arena *a, const struct aws_targets *targets)
{
    struct json_object *array = json_object_new_array();
    struct json_object *call = NULL;
    for (size_t i = 0; i < targets->n; i++) {
        if (i % AWS_TARGETS_PER_CALL == 0) {
            call = json_object_new_array();
            json_object_array_add(array, call);
        }
        json_push_str(call,
                      arena_printf(a, "%s:%d", targets->items[i].id, (int)targets->items[i].port));
    }
    return array;
}

RUN(targets)
{
    struct json_object *array = json_member(in, "actual");
    size_t n = json_len(array);
    struct aws_target *items = ARENA_ARRAY(a, struct aws_target, n);
    for (size_t i = 0; i < n; i++) {
        struct json_object *o = json_object_array_get_idx(array, i);
        struct json_object *target = json_member(o, "Target");
        struct json_object *health = json_member(o, "TargetHealth");
        items[i] = (struct aws_target){.id = str_nonnull(json_str(target, "Id")),
                                       .port = (int32_t)json_int(target, "Port", 0),
                                       .state = str_nonnull(json_str(health, "State")),
                                       .reason = str_nonnull(json_str(health, "Reason"))};
    }
    const struct aws_targets actual = {.items = items, .n = n};
    struct aws_target_diff d = aws_targets_diff(a, eval_aws_texts(a, in, "instances"),
                                                (int32_t)json_int(in, "port", 0), &actual);
    *ret = json_object_new_object();
    json_add(*ret, "deregister", calls(a, &d.deregister));
    json_add(*ret, "register", calls(a, &d.register_));
    return ERR_OK;
}

const struct eval_fn eval_aws_network[] = {
    {"aws.subnets", subnets},
    {"aws.permissions", permissions},
    {"aws.nlb_node_rules", nlb_node_rules},
    {"aws.targets", targets},
    {NULL, NULL},
};
