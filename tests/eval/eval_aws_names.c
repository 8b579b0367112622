/* SPDX-License-Identifier: Apache-2.0 */
/* eval_aws_names.c: the functions aws.* of trimtab-eval about names, tags,
 * annotations and nodes. */
#include "tests/eval/eval_aws.h"

#include <stdlib.h>
#include <string.h>

#include "providers/aws/model/aws_config.h"
#include "providers/aws/model/aws_service_rules.h"

static const char *text_of(struct json_object *in, const char *name)
{
    return str_nonnull(json_str(in, name));
}

/* ---- names ----------------------------------------------------------------------------------- */

RUN(names)
{
    static const char *const kinds[] = {
        [AWS_CLASSIC] = "classic", [AWS_NLB] = "nlb", [AWS_ELSEWHERE] = "external"};
    struct aws_naming n;
    const struct aws_service *s;
    int rc = eval_aws_service(a, in, &n, &s, err);
    if (rc == ERR_OK) {
        *ret = json_object_new_object();
        json_add_str(*ret, "loadBalancer", s->lb_name);
        json_add_str(*ret, "classicSecurityGroup", s->classic_group);
        json_add_str(*ret, "nlbSecurityGroup", s->nlb_group);
        json_add_str(*ret, "kind", kinds[s->kind]);
    }
    return rc;
}

RUN(target_group_name)
{
    struct aws_group_name_input input = {
        .cluster_id = text_of(in, "clusterID"),
        .namespace_ = text_of(in, "namespace"),
        .name = text_of(in, "name"),
        .port = (int32_t)json_int(in, "port", 0),
        .node_port = (int32_t)json_int(in, "nodePort", 0),
        .traffic_protocol = text_of(in, "trafficProtocol"),
        .health_protocol = text_of(in, "healthProtocol"),
        .interval = (int32_t)json_int(in, "interval", 0),
    };
    *ret = json_object_new_object();
    json_add_str(*ret, "name", aws_target_group_name(a, &input));
    return ERR_OK;
}

/* ---- annotations ----------------------------------------------------------------------------- */

RUN(source_ranges)
{
    const struct tt_service *s;
    struct str_set ranges;
    int rc = eval_service(a, json_member(in, "service"), &s, err);
    if (rc == ERR_OK) {
        rc = aws_service_ranges(a, s, &ranges, err);
    }
    if (rc == ERR_OK) {
        *ret = json_object_new_object();
        json_add(*ret, "ranges", json_strs(ranges.items, ranges.n));
    }
    return rc;
}

RUN(validate)
{
    const struct tt_service *s;
    int rc = eval_service(a, json_member(in, "service"), &s, err);
    if (rc == ERR_OK) {
        rc = aws_service_check_annotations(a, s, err);
    }
    if (rc == ERR_OK) {
        *ret = json_object_new_object();
        json_add_bool(*ret, "valid", true);
    }
    return rc;
}

/* ---- tags ------------------------------------------------------------------------------------ */

RUN(tags)
{
    struct aws_naming n = eval_aws_naming(in);
    struct aws_service s = {.key = text_of(in, "service"),
                            .extra_tags = aws_pairs_read(a, json_str(in, "annotation"))};
    struct aws_tags balancer = aws_balancer_tags(a, &n, &s);
    struct aws_tags group = aws_group_tags(a, &n, &s);
    *ret = json_object_new_object();
    json_add(*ret, "pairs", eval_aws_tags(&s.extra_tags));
    json_add(*ret, "loadBalancerTags", eval_aws_tags(&balancer));
    json_add(*ret, "groupTags", eval_aws_tags(&group));
    return ERR_OK;
}

static struct json_object *id_from(const struct aws_tags *tags)
{
    struct aws_cluster cluster;
    if (aws_cluster_of_tags(tags->items, tags->n, &cluster, NULL) != ERR_OK) {
        return json_object_new_string("invalid");
    }
    struct json_object *o = json_object_new_object();
    json_add_str(o, "clusterID", cluster.id);
    json_add_bool(o, "legacy", cluster.legacy);
    return o;
}

RUN(cluster_tags)
{
    struct aws_naming n = eval_aws_naming(in);
    struct aws_tags given = eval_aws_tag_list(a, json_member(in, "tags"));
    struct aws_tags repair = {0};
    *ret = json_object_new_object();
    json_add_bool(*ret, "member", aws_tags_are_cluster(&n, &given));
    json_add_bool(*ret, "foreign", aws_tags_are_foreign(&n, &given));
    json_add_bool(*ret, "owned", aws_tags_are_owned(&n, &given));
    json_add(*ret, "fromTags", id_from(&given));
    json_add(*ret, "repair",
             aws_tags_repair(a, &n, &given, &repair, NULL) == ERR_OK
                 ? eval_aws_tags(&repair)
                 : json_object_new_string("refused"));
    return ERR_OK;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

RUN(provider_id)
{
    const char *id;
    int rc = aws_instance_id(a, json_str(in, "providerID"), &id, err);
    if (rc == ERR_OK) {
        *ret = json_object_new_object();
        json_add_str(*ret, "id", id);
    }
    return rc;
}

RUN(node_instances)
{
    const struct tt_node *const *nodes;
    size_t n;
    struct aws_tags labels = aws_pairs_read(a, json_str(in, "annotation"));
    int rc = eval_nodes(a, json_member(in, "nodes"), &nodes, &n, err);
    if (rc == ERR_OK) {
        struct aws_texts ids = aws_node_instances(a, nodes, n, &labels, NULL);
        *ret = json_object_new_object();
        json_add(*ret, "instances", json_strs(ids.items, ids.n));
    }
    return rc;
}

RUN(node_group)
{
    struct aws_instance instance = eval_aws_instance(a, json_member(in, "instance"));
    struct aws_texts tagged = eval_aws_texts(a, in, "tagged");
    struct str_set set = str_set_make(a, tagged.items, tagged.n);
    const char *group;
    int rc = aws_node_group(a, &instance, &set, &group, err);
    if (rc == ERR_OK) {
        *ret = json_object_new_object();
        json_add_str(*ret, "group", group);
    }
    return rc;
}

const struct eval_fn eval_aws_names[] = {
    {"aws.names", names},
    {"aws.target_group_name", target_group_name},
    {"aws.source_ranges", source_ranges},
    {"aws.validate", validate},
    {"aws.tags", tags},
    {"aws.cluster_tags", cluster_tags},
    {"aws.provider_id", provider_id},
    {"aws.node_instances", node_instances},
    {"aws.node_group", node_group},
    {NULL, NULL},
};
