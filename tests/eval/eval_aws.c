/* SPDX-License-Identifier: Apache-2.0 */
/* eval_aws.c: see eval_aws.h. */
#include "tests/eval/eval_aws.h"

#include <stdlib.h>
#include <string.h>

/* ---- configuration and Services -------------------------------------------------------------- */

static enum aws_probe_mode probe_mode(const char *text)
{
    if (text[0] == '\0' || str_eq(text, "ServiceNodePort")) {
        return AWS_PROBE_NODE_PORT;
    }
    return str_eq(text, "Shared") ? AWS_PROBE_SHARED : AWS_PROBE_INVALID;
}

struct aws_naming eval_aws_naming(struct json_object *in)
{
    struct json_object *config = json_member(in, "config");
    const char *mode = str_nonnull(json_str(config, "ClusterServiceLoadBalancerHealthProbeMode"));
    int64_t port = json_int(config, "ClusterServiceSharedLoadBalancerHealthProbePort", 0);
    return (struct aws_naming){
        .cluster_id = str_nonnull(json_str(in, "clusterID")),
        .cluster_name = str_nonnull(json_str(in, "clusterName")),
        .legacy_tags = json_bool(in, "legacyTags", false),
        .region = "us-east-1",
        .vpc = "vpc-1",
        .probe_mode = probe_mode(mode),
        .probe_mode_text = mode,
        .probe_port = port == 0 ? 10256 : (int32_t)port,
        .probe_path =
            str_or(json_str(config, "ClusterServiceSharedLoadBalancerHealthProbePath"), "/healthz"),
        .nlb_group_mode = str_nonnull(json_str(config, "NLBSecurityGroupMode")),
        .shared_group = str_nonnull(json_str(config, "ElbSecurityGroup")),
        .no_node_rules = json_bool(config, "DisableSecurityGroupIngress", false),
    };
}

int eval_aws_service(struct arena *a, struct json_object *in, struct aws_naming *ret_naming,
                     const struct aws_service **ret, struct err *err)
{
    const struct tt_service *s;
    int rc = eval_service(a, json_member(in, "service"), &s, err);
    if (rc == ERR_OK) {
        *ret_naming = eval_aws_naming(in);
        *ret = aws_service_read(a, ret_naming, s);
    }
    return rc;
}

/* ---- texts and tags -------------------------------------------------------------------------- */

struct aws_texts eval_aws_texts(struct arena *a, struct json_object *in, const char *name)
{
    struct aws_texts out;
    out.items = eval_strs(a, in, name, &out.n);
    return out;
}

struct aws_tags eval_aws_tag_list(struct arena *a, struct json_object *array)
{
    size_t n = json_len(array);
    struct aws_tag *items = ARENA_ARRAY(a, struct aws_tag, n);
    for (size_t i = 0; i < n; i++) {
        struct json_object *o = json_object_array_get_idx(array, i);
        items[i] = (struct aws_tag){.key = str_nonnull(json_str(o, "Key")),
                                    .value = str_nonnull(json_str(o, "Value"))};
    }
    return (struct aws_tags){.items = items, .n = n};
}

struct aws_tags eval_aws_tag_map(struct arena *a, struct json_object *map)
{
    size_t n = 0;
    if (!json_object_is_type(map, json_type_object)) {
        return (struct aws_tags){0};
    }
    struct aws_tag *items = ARENA_ARRAY(a, struct aws_tag, (size_t)json_object_object_length(map));
    json_object_object_foreach(map, key, value)
    {
        items[n++] = (struct aws_tag){.key = key, .value = json_object_get_string(value)};
    }
    return (struct aws_tags){.items = items, .n = n};
}

struct json_object *eval_aws_tags(const struct aws_tags *tags)
{
    struct json_object *o = json_object_new_object();
    for (size_t i = 0; i < tags->n; i++) {
        json_add_str(o, tags->items[i].key, tags->items[i].value);
    }
    return o;
}

/* ---- rules ----------------------------------------------------------------------------------- */

struct sources {
    const char *list; /* member of the permission */
    const char *name; /* member of the source */
    enum aws_peer peer;
};
static const struct sources kinds[] = {
    {"IpRanges", "CidrIp", AWS_PEER_CIDR},
    {"Ipv6Ranges", "CidrIpv6", AWS_PEER_CIDR6},
    {"UserIdGroupPairs", "GroupId", AWS_PEER_GROUP},
    {"PrefixListIds", "PrefixListId", AWS_PEER_PREFIX_LIST},
};

static size_t read_permission(struct json_object *permission, const struct sources *kind,
                              struct aws_rule *out)
{
    struct json_object *array = json_member(permission, kind->list);
    size_t n = json_len(array);
    for (size_t i = 0; i < n; i++) {
        struct json_object *o = json_object_array_get_idx(array, i);
        out[i] = (struct aws_rule){
            .protocol = str_nonnull(json_str(permission, "IpProtocol")),
            .from = (int32_t)json_int(permission, "FromPort", AWS_NO_PORT),
            .to = (int32_t)json_int(permission, "ToPort", AWS_NO_PORT),
            .peer = kind->peer,
            .source = str_nonnull(json_str(o, kind->name)),
            .user = str_nonnull(json_str(o, "UserId")),
            .description = str_nonnull(json_str(o, "Description")),
        };
    }
    return n;
}

struct aws_rules eval_aws_rules(struct arena *a, struct json_object *permissions)
{
    size_t n_permissions = json_len(permissions);
    size_t most = 0;
    size_t n = 0;
    for (size_t i = 0; i < n_permissions; i++) {
        for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
            most += json_len(json_member(json_object_array_get_idx(permissions, i), kinds[k].list));
        }
    }
    struct aws_rule *items = ARENA_ARRAY(a, struct aws_rule, most);
    for (size_t i = 0; i < n_permissions; i++) {
        for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
            n += read_permission(json_object_array_get_idx(permissions, i), &kinds[k], &items[n]);
        }
    }
    return aws_rules_sorted(a, items, n);
}

static const char *cidr_of(const struct aws_rule *r)
{
    return r->peer == AWS_PEER_CIDR || r->peer == AWS_PEER_CIDR6 ? r->source : "";
}

/* By protocol, ports, CIDR, group, description. */
static int compare_tuples(const void *x, const void *y)
{
    const struct aws_rule *a = x;
    const struct aws_rule *b = y;
    int order = strcmp(a->protocol, b->protocol);
    if (order == 0) {
        order = (a->from > b->from) - (a->from < b->from);
    }
    if (order == 0) {
        order = (a->to > b->to) - (a->to < b->to);
    }
    if (order == 0) {
        order = strcmp(cidr_of(a), cidr_of(b));
    }
    return order != 0 ? order : aws_rule_compare(a, b);
}

struct json_object *eval_aws_tuples(struct arena *a, const struct aws_rules *rules)
{
    struct json_object *array = json_object_new_array();
    struct aws_rule *items = ARENA_ARRAY(a, struct aws_rule, rules->n);
    for (size_t i = 0; i < rules->n; i++) {
        items[i] = rules->items[i];
    }
    qsort(items, rules->n, sizeof(*items), compare_tuples);
    for (size_t i = 0; i < rules->n; i++) {
        struct json_object *o = json_object_new_object();
        const struct aws_rule *r = &items[i];
        json_add_str(o, "protocol", r->protocol);
        if (r->from != AWS_NO_PORT) {
            json_add_int(o, "from", r->from);
        }
        if (r->to != AWS_NO_PORT) {
            json_add_int(o, "to", r->to);
        }
        json_add_str(o, cidr_of(r)[0] != '\0' ? "cidr" : "group", r->source);
        if (r->description[0] != '\0') {
            json_add_str(o, "description", r->description);
        }
        json_object_array_add(array, o);
    }
    return array;
}

/* ---- listeners, instances -------------------------------------------------------------------- */

struct aws_classic_listener *eval_aws_listeners(struct arena *a, struct json_object *array,
                                                size_t *ret_n)
{
    size_t n = json_len(array);
    struct aws_classic_listener *items = ARENA_ARRAY(a, struct aws_classic_listener, n);
    *ret_n = 0;
    for (size_t i = 0; i < n; i++) {
        struct json_object *o = json_object_array_get_idx(array, i);
        if (o == NULL) {
            continue;
        }
        items[(*ret_n)++] = (struct aws_classic_listener){
            .protocol = json_str(o, "Protocol"),
            .instance_protocol = json_str(o, "InstanceProtocol"),
            .port = (int32_t)json_int(o, "LoadBalancerPort", 0),
            .instance_port = (int32_t)json_int(o, "InstancePort", 0),
            .certificate = json_str(o, "SSLCertificateId"),
        };
    }
    return items;
}

struct json_object *eval_aws_listener(const struct aws_classic_listener *l)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "Protocol", l->protocol);
    json_add_str(o, "InstanceProtocol", l->instance_protocol);
    json_add_int(o, "LoadBalancerPort", l->port);
    json_add_int(o, "InstancePort", l->instance_port);
    json_add_str(o, "SSLCertificateId", l->certificate);
    return o;
}

struct aws_instance eval_aws_instance(struct arena *a, struct json_object *o)
{
    struct json_object *array = json_member(o, "SecurityGroups");
    size_t n = json_len(array);
    struct aws_group_ref *groups = ARENA_ARRAY(a, struct aws_group_ref, n);
    for (size_t i = 0; i < n; i++) {
        struct json_object *g = json_object_array_get_idx(array, i);
        groups[i] = (struct aws_group_ref){.id = str_nonnull(json_str(g, "GroupId")),
                                           .name = str_nonnull(json_str(g, "GroupName"))};
    }
    return (struct aws_instance){.id = str_nonnull(json_str(o, "InstanceId")),
                                 .state = "running",
                                 .zone = "",
                                 .vpc = "",
                                 .in_cluster = true,
                                 .groups = groups,
                                 .n_groups = n};
}
