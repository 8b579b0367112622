/* SPDX-License-Identifier: Apache-2.0 */
/* aws_state.c: a saved state in place of the cloud: the member "aws" of a world
 * (docs/interfaces.md; aws_cloud.h).
 *
 * It has what the describe calls answer, with the SDK's names.  Each resource is turned into the
 * element that AWS would have sent, and goes the way of an answer from there, so that nothing is
 * decoded twice over. */
#include "common/base/str.h"
#include "common/data/json.h"
#include "providers/aws/cloud/aws_cloud_parts.h"

#include <ctype.h>
#include <string.h>

/* ---- elements from JSON ---------------------------------------------------------------------- */

/* EC2's names on the wire that are not the SDK's with a small first letter. */
static const char *ec2_name(struct arena *a, const char *name, bool of_item)
{
    static const struct {
        const char *sdk;
        const char *wire;
        bool of_item; /* only of the resource itself, not further down */
    } rows[] = {
        {"Tags", "tagSet", false},
        {"Associations", "associationSet", false},
        {"Routes", "routeSet", false},
        {"UserIdGroupPairs", "groups", false},
        {"SecurityGroups", "groupSet", true},
        {"State", "instanceState", true},
        {"Description", "groupDescription", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_eq(rows[i].sdk, name) && (of_item || !rows[i].of_item)) {
            return rows[i].wire;
        }
    }
    char *wire = arena_strdup(a, name);
    wire[0] = (char)tolower((unsigned char)wire[0]);
    return wire;
}

struct making {
    struct arena *a;
    bool ec2;
};

static struct aws_node *element(struct making *m, const char *name, struct json_object *value,
                                bool is_item);

/* Appends at *at, and returns where the next one goes. */
static const struct aws_node **append(const struct aws_node **at, struct aws_node *n)
{
    *at = n;
    return &n->next;
}

static struct aws_node *element(struct making *m, const char *name, struct json_object *value,
                                bool is_item)
{
    struct aws_node *n = ARENA_NEW(m->a, struct aws_node);
    const struct aws_node **at = &n->children;
    *n = (struct aws_node){.name = name, .text = ""};
    if (json_object_is_type(value, json_type_object)) {
        json_object_object_foreach(value, key, member)
        {
            const char *wire = m->ec2 ? ec2_name(m->a, key, is_item) : key;
            if (member != NULL) {
                at = append(at, element(m, wire, member, false));
            }
        }
    } else if (json_object_is_type(value, json_type_array)) {
        for (size_t i = 0; i < json_len(value); i++) {
            at = append(at, element(m, m->ec2 ? "item" : "member",
                                    json_object_array_get_idx(value, i), false));
        }
    } else if (value != NULL) {
        n->text = arena_strdup(m->a, json_object_get_string(value));
    }
    return n;
}

/* ---- documents ------------------------------------------------------------------------------- */

struct loading {
    struct aws_cloud *c;
    struct json_object *aws;
    struct arena *a; /* of elements */
    int64_t now_ms;
};

static struct json_object *list_of(const struct loading *l, const char *service, const char *member)
{
    return json_member(json_member(l->aws, service), member);
}

/* Good until the next one is made. */
static const struct aws_node *element_of(struct loading *l, struct json_object *item, bool ec2)
{
    struct making m = {.a = l->a, .ec2 = ec2};
    arena_reset(l->a);
    return element(&m, "item", item, true);
}

static bool is_elsewhere(const struct loading *l, int kind, struct json_object *item)
{
    return aws_questions[kind].by_vpc && !str_is_empty(l->c->naming->vpc) &&
           !str_eq(json_str(item, "VpcId"), l->c->naming->vpc);
}

/* A file stays as it is: asking again does not help. */
static int refuse_item(int kind, struct err *err)
{
    struct err why = *err;
    return err_set(err, ERR_INVALID, "the state of %s %s: %s",
                   aws_api_name(aws_questions[kind].api), aws_questions[kind].items, why.message);
}

/* One document of a list's items; with `by`, of those whose member of this name is the key. */
static int load_list(struct loading *l, int kind, const char *key, struct json_object *list,
                     const char *by, struct err *err)
{
    struct aws_doc_draft d;
    int rc = ERR_OK;
    aws_draft_doc_init(&d, kind, l->c->naming);
    for (size_t i = 0; rc == ERR_OK && i < json_len(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        if (!is_elsewhere(l, kind, item) && (by == NULL || str_eq(json_str(item, by), key))) {
            rc =
                aws_draft_doc_add(&d, element_of(l, item, aws_questions[kind].api == AWS_EC2), err);
        }
    }
    if (rc == ERR_OK) {
        aws_cloud_put(l->c, aws_draft_doc_take(&d, key, l->now_ms, 0));
    }
    aws_draft_doc_done(&d);
    return rc == ERR_TRANSIENT ? refuse_item(kind, err) : rc;
}

static int load_lists(struct loading *l, struct err *err)
{
    static const struct {
        int kind;
        const char *service;
        const char *member;
    } rows[] = {
        {AWS_DOC_SUBNETS, "ec2", "Subnets"},
        {AWS_DOC_ROUTE_TABLES, "ec2", "RouteTables"},
        {AWS_DOC_ZONES, "ec2", "AvailabilityZones"},
        {AWS_DOC_TAGGED_GROUPS, "ec2", "SecurityGroups"},
        {AWS_DOC_ALL_GROUPS, "ec2", "SecurityGroups"},
        {AWS_DOC_CLASSICS, "elb", "LoadBalancerDescriptions"},
        {AWS_DOC_ALL_CLASSIC_TAGS, "elb", "Tags"},
        {AWS_DOC_NLBS, "elbv2", "LoadBalancers"},
        {AWS_DOC_TARGET_GROUPS, "elbv2", "TargetGroups"},
        {AWS_DOC_ALL_TAGS, "elbv2", "Tags"},
    };
    int rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < ARRAY_LEN(rows); i++) {
        rc = load_list(l, rows[i].kind, "", list_of(l, rows[i].service, rows[i].member), NULL, err);
    }
    return rc;
}

/* A list, or a single value as a list; a new reference. */
static struct json_object *as_list(struct json_object *value)
{
    if (json_object_is_type(value, json_type_array)) {
        return json_object_get(value);
    }
    struct json_object *list = json_object_new_array();
    if (value != NULL) {
        (void)json_object_array_add(list, json_object_get(value));
    }
    return list;
}

/* Maps from names or ARNs to lists, or to one thing. */
static int load_maps(struct loading *l, struct err *err)
{
    static const struct {
        int kind;
        const char *service;
        const char *member;
    } rows[] = {
        {AWS_DOC_CLASSIC_ATTRIBUTES, "elb", "Attributes"},
        {AWS_DOC_NLB_ATTRIBUTES, "elbv2", "Attributes"},
        {AWS_DOC_TARGET_GROUP_ATTRIBUTES, "elbv2", "TargetGroupAttributes"},
        {AWS_DOC_TARGETS, "elbv2", "TargetHealth"},
    };
    int rc = ERR_OK;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct json_object *map = list_of(l, rows[i].service, rows[i].member);
        if (!json_object_is_type(map, json_type_object)) {
            continue;
        }
        json_object_object_foreach(map, key, value)
        {
            struct json_object *list = as_list(value);
            rc = rc == ERR_OK ? load_list(l, rows[i].kind, key, list, NULL, err) : rc;
            json_object_put(list);
        }
    }
    return rc;
}

static int load_listeners(struct loading *l, struct err *err)
{
    struct json_object *balancers = list_of(l, "elbv2", "LoadBalancers");
    struct json_object *listeners = list_of(l, "elbv2", "Listeners");
    int rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < json_len(balancers); i++) {
        const char *arn = json_str(json_object_array_get_idx(balancers, i), "LoadBalancerArn");
        if (arn != NULL) {
            rc = load_list(l, AWS_DOC_LISTENERS, arn, listeners, "LoadBalancerArn", err);
        }
    }
    return rc;
}

static int load_instances(struct loading *l, struct err *err)
{
    struct json_object *reservations = list_of(l, "ec2", "Reservations");
    struct aws_doc_draft d;
    int rc = ERR_OK;
    aws_draft_doc_init(&d, AWS_DOC_INSTANCES, l->c->naming);
    for (size_t i = 0; i < json_len(reservations); i++) {
        struct json_object *items =
            json_member(json_object_array_get_idx(reservations, i), "Instances");
        for (size_t k = 0; rc == ERR_OK && k < json_len(items); k++) {
            rc = aws_draft_doc_add(&d, element_of(l, json_object_array_get_idx(items, k), true),
                                   err);
        }
    }
    aws_cloud_put_instances(l->c, d.items, d.n, (struct aws_texts){0}, l->now_ms, 0);
    aws_draft_doc_done(&d);
    return rc == ERR_TRANSIENT ? refuse_item(AWS_DOC_INSTANCES, err) : rc;
}

int aws_cloud_load(struct aws_cloud *c, const char *text, size_t n, struct err *err)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    _cleanup_(json_putp) struct json_object *world = NULL;
    int rc = json_parse(text, n, NULL, &world, err);
    if (rc == ERR_OK) {
        struct loading l = {
            .c = c, .aws = json_member(world, "aws"), .a = a, .now_ms = clock_now_ms(c->clock)};
        rc = load_lists(&l, err);
        rc = rc == ERR_OK ? load_maps(&l, err) : rc;
        rc = rc == ERR_OK ? load_listeners(&l, err) : rc;
        rc = rc == ERR_OK ? load_instances(&l, err) : rc;
    }
    if (rc != ERR_OK) {
        (void)err_prefix(err, "saved state");
    }
    return rc;
}
