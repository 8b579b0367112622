/* SPDX-License-Identifier: Apache-2.0 */
/* aws_question.c: see aws_question.h. */
#include "providers/aws/cloud/aws_question.h"

#include "common/base/str.h"
#include "providers/aws/model/aws_rules.h"

#include <string.h>

/* Of all structs that are ordered so, the first member is the id. */
static int by_id(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static int by_port(const void *x, const void *y)
{
    const struct aws_listener *a = x;
    const struct aws_listener *b = y;
    return a->port != b->port ? (a->port > b->port) - (a->port < b->port)
                              : strcmp(a->protocol, b->protocol);
}

#define GROUPS                                                                                     \
    .api = AWS_EC2, .action = "DescribeSecurityGroups", .items = "securityGroupInfo/item",         \
    .size = sizeof(struct aws_group), .decode = aws_decode_group, .compare = by_id
#define INSTANCES                                                                                  \
    .api = AWS_EC2, .action = "DescribeInstances",                                                 \
    .items = "reservationSet/item/instancesSet/item", .size = sizeof(struct aws_instance),         \
    .decode = aws_decode_instance, .list = -1
#define CLASSICS                                                                                   \
    .api = AWS_ELB, .action = "DescribeLoadBalancers", .items = "LoadBalancerDescriptions/member", \
    .size = sizeof(struct aws_classic), .decode = aws_decode_classic
#define NLBS                                                                                       \
    .api = AWS_ELBV2, .action = "DescribeLoadBalancers", .items = "LoadBalancers/member",          \
    .size = sizeof(struct aws_nlb), .decode = aws_decode_nlb
#define TARGET_GROUPS                                                                              \
    .api = AWS_ELBV2, .action = "DescribeTargetGroups", .items = "TargetGroups/member",            \
    .size = sizeof(struct aws_target_group), .decode = aws_decode_target_group
#define ATTRIBUTES                                                                                 \
    .api = AWS_ELBV2, .items = "Attributes/member", .size = sizeof(struct aws_tag),                \
    .decode = aws_decode_attribute, .compare = by_id, .per_call = 1, .list = -1
#define TAGS                                                                                       \
    .action = "DescribeTags", .items = "TagDescriptions/member",                                   \
    .size = sizeof(struct aws_arn_tags), .decode = aws_decode_arn_tags, .compare = by_id
#define PAGES .page = "PageSize", .page_size = "400"
/* Each classic balancer lists its instances, which may be thousands: a page of them must come
 * within one time-out. */
#define SHORT_PAGES .page = "PageSize", .page_size = "100"

const struct aws_question aws_questions[AWS_DOC_ALL_KINDS] = {
    [AWS_DOC_SUBNETS] = {AWS_EC2, "DescribeSubnets", "subnetSet/item", sizeof(struct aws_subnet),
                         aws_decode_subnet, .by_vpc = true, .list = -1},
    [AWS_DOC_ROUTE_TABLES] = {AWS_EC2, "DescribeRouteTables", "routeTableSet/item",
                              sizeof(struct aws_route_table), aws_decode_route_table,
                              .by_vpc = true, .list = -1},
    [AWS_DOC_ZONES] = {AWS_EC2, "DescribeAvailabilityZones", "availabilityZoneInfo/item",
                       sizeof(struct aws_zone), aws_decode_zone, .list = -1},
    [AWS_DOC_TAGGED_GROUPS] = {GROUPS, .by_vpc = true, .by_tag = true, .list = AWS_DOC_ALL_GROUPS},
    [AWS_DOC_GROUPS] = {GROUPS, .per_call = 200, .filter = "group-id",
                        .list = AWS_DOC_TAGGED_GROUPS},
    [AWS_DOC_GROUPS_NAMED] = {GROUPS, .by_vpc = true, .per_call = 20, .filter = "group-name",
                              .list = -1},
    [AWS_DOC_GROUPS_REFERRING] = {GROUPS, .per_call = 1, .filter = "ip-permission.group-id",
                                  .list = AWS_DOC_ALL_GROUPS},
    [AWS_DOC_CLASSICS] = {CLASSICS, SHORT_PAGES, .list = -1},
    [AWS_DOC_CLASSIC] = {CLASSICS, .per_call = 1, .parameter = "LoadBalancerNames.member.%zu",
                         .list = AWS_DOC_CLASSICS},
    [AWS_DOC_CLASSIC_ATTRIBUTES] = {AWS_ELB, "DescribeLoadBalancerAttributes",
                                    "LoadBalancerAttributes", sizeof(struct aws_classic_attributes),
                                    aws_decode_classic_attributes, .per_call = 1,
                                    .parameter = "LoadBalancerName", .list = -1},
    [AWS_DOC_NLBS] = {NLBS, PAGES, .list = -1},
    [AWS_DOC_NLB] = {NLBS, .per_call = 1, .parameter = "Names.member.%zu", .list = AWS_DOC_NLBS},
    [AWS_DOC_NLB_ATTRIBUTES] = {ATTRIBUTES, .action = "DescribeLoadBalancerAttributes",
                                .parameter = "LoadBalancerArn"},
    [AWS_DOC_LISTENERS] = {AWS_ELBV2, "DescribeListeners", "Listeners/member",
                           sizeof(struct aws_listener), aws_decode_listener, .per_call = 1,
                           .parameter = "LoadBalancerArn", .compare = by_port, .list = -1},
    [AWS_DOC_TARGET_GROUPS] = {TARGET_GROUPS, PAGES, .list = -1},
    [AWS_DOC_TARGET_GROUPS_OF] = {TARGET_GROUPS, .per_call = 1, .parameter = "LoadBalancerArn",
                                  .list = AWS_DOC_TARGET_GROUPS},
    [AWS_DOC_TARGET_GROUPS_BY] = {TARGET_GROUPS, .per_call = 20,
                                  .parameter = "TargetGroupArns.member.%zu", .compare = by_id,
                                  .list = AWS_DOC_TARGET_GROUPS},
    [AWS_DOC_TARGET_GROUPS_NAMED] = {TARGET_GROUPS, .per_call = 20, .parameter = "Names.member.%zu",
                                     .compare = by_id, .list = AWS_DOC_TARGET_GROUPS},
    [AWS_DOC_TARGET_GROUP_ATTRIBUTES] = {ATTRIBUTES, .action = "DescribeTargetGroupAttributes",
                                         .parameter = "TargetGroupArn"},
    [AWS_DOC_TARGETS] = {AWS_ELBV2, "DescribeTargetHealth", "TargetHealthDescriptions/member",
                         sizeof(struct aws_target), aws_decode_target, .per_call = 1,
                         .parameter = "TargetGroupArn", .list = -1},
    [AWS_DOC_TAGS] = {.api = AWS_ELBV2,
                      TAGS,
                      .per_call = 20,
                      .parameter = "ResourceArns.member.%zu",
                      .list = AWS_DOC_ALL_TAGS},
    [AWS_DOC_CLASSIC_TAGS] =
        {.api = AWS_ELB,
         TAGS,
         .per_call = 20,
         .parameter = "LoadBalancerNames.member.%zu",
         .list = AWS_DOC_ALL_CLASSIC_TAGS},
    [AWS_DOC_INSTANCES] = {INSTANCES, .per_call = 200, .filter = "instance-id"},
    [AWS_DOC_TAGGED_INSTANCES] = {INSTANCES, .by_tag = true, .page = "MaxResults",
                                  .page_size = "1000"},
    [AWS_DOC_ALL_GROUPS] = {GROUPS, .list = -1},
    [AWS_DOC_ALL_TAGS] = {.api = AWS_ELBV2, TAGS, .list = -1},
    [AWS_DOC_ALL_CLASSIC_TAGS] = {.api = AWS_ELB, TAGS, .list = -1},
};

size_t aws_question_keys(struct arena *a, int kind, const char *key, const char *const **ret)
{
    size_t n = 1;
    if (aws_questions[kind].per_call > 1) {
        char **parts = str_split(a, key, ',', &n);
        *ret = (const char *const *)parts;
        return *key == '\0' ? 0 : n;
    }
    const char **one = ARENA_ARRAY(a, const char *, 1);
    one[0] = key;
    *ret = one;
    return n;
}

/* ---- parameters ------------------------------------------------------------------------------ */

struct pairs {
    struct arena *a;
    struct aws_pair *items;
    size_t n;
    size_t filters;
};

static void add(struct pairs *p, const char *name, const char *value)
{
    p->items[p->n++] = (struct aws_pair){name, value};
}

static void add_filter(struct pairs *p, const char *name, const char *const *values, size_t n)
{
    size_t f = ++p->filters;
    add(p, arena_printf(p->a, "Filter.%zu.Name", f), name);
    for (size_t i = 0; i < n; i++) {
        add(p, arena_printf(p->a, "Filter.%zu.Value.%zu", f, i + 1), values[i]);
    }
}

/* The names of lists have one %zu for the number. */
static const char *numbered(struct arena *a, const char *name, size_t n)
{
    const char *at = strstr(name, "%zu");
    return at == NULL ? name
                      : arena_printf(a, "%.*s%zu%s", (int)(at - name), name, n, at + strlen("%zu"));
}

const struct aws_pair *aws_question_pairs(struct arena *a, int kind,
                                          const struct aws_naming *naming, const char *const *keys,
                                          size_t n_keys, size_t *ret_n)
{
    const struct aws_question *q = &aws_questions[kind];
    struct pairs p = {.a = a, .items = ARENA_ARRAY(a, struct aws_pair, n_keys + 8)};
    const char *const tags[] = {
        arena_printf(a, AWS_CLUSTER_TAG_PREFIX "%s", str_nonnull(naming->cluster_id)),
        AWS_LEGACY_CLUSTER_TAG};
    if (q->by_vpc) {
        add_filter(&p, "vpc-id", &naming->vpc, 1);
    }
    if (q->by_tag) {
        add_filter(&p, "tag-key", tags, ARRAY_LEN(tags));
    }
    if (q->filter != NULL) {
        add_filter(&p, q->filter, keys, n_keys);
    }
    for (size_t i = 0; q->parameter != NULL && i < n_keys; i++) {
        add(&p, numbered(a, q->parameter, i + 1), keys[i]);
    }
    if (q->page != NULL) {
        add(&p, q->page, q->page_size);
    }
    *ret_n = p.n;
    return p.items;
}

bool aws_question_takes(int kind, const struct aws_naming *naming, const void *item)
{
    if (kind == AWS_DOC_TAGGED_GROUPS) {
        const struct aws_group *g = item;
        return aws_tags_are_cluster(naming, &g->tags) && str_eq(g->vpc, naming->vpc);
    }
    return true;
}
