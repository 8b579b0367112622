/* SPDX-License-Identifier: Apache-2.0 */
/* nlb_tags.c: tags of balancers, listeners and target groups.
 *
 * They lie in documents of their own, by ARN.  A call names up to 20 resources, all of which must
 * be there.
 * Source: docs/spec/aws.md §12 row 4. */
#include "sim/aws/elb/nlb.h"

struct json_object *nlb_tags_of(const struct aws *aws, const char *arn)
{
    struct amz_resource *res = amz_get(aws, AMZ_V2_TAGS, arn);
    return res ? json_member(res->body, "Tags") : NULL;
}

void nlb_tags_set(struct aws *aws, const char *arn, struct json_object *tags)
{
    if (json_len(tags) == 0) {
        amz_unset(aws, AMZ_V2_TAGS, arn);
        return;
    }
    struct json_object *body = json_object_new_object();
    json_add_str(body, "ResourceArn", arn);
    amz_tags_put(amz_list(body, "Tags"), tags);
    amz_set(aws, AMZ_V2_TAGS, arn, body);
}

static bool find_resource(struct amz_request *q, const char *arn)
{
    if (nlb_balancer_arn_is_valid(arn)) {
        return nlb_find_balancer(q, arn) != NULL;
    }
    if (nlb_group_arn_is_valid(arn)) {
        return nlb_find_group(q, arn) != NULL;
    }
    if (nlb_listener_arn_is_valid(arn)) {
        return nlb_find_listener(q, arn) != NULL;
    }
    return amz_refuse_value(q, "'%s' is not a valid resource ARN", arn);
}

static const char *arn_at(struct amz_request *q, size_t i)
{
    return json_object_get_string(json_object_array_get_idx(json_member(q->in, "ResourceArns"), i));
}

static bool find_all(struct amz_request *q, size_t *ret_n)
{
    struct json_object *arns = json_member(q->in, "ResourceArns");
    *ret_n = json_len(arns);
    if (*ret_n == 0) {
        return amz_refuse_value(q, "At least one resource ARN must be specified");
    }
    if (!nlb_check_named(q, arns, "resource ARNs")) {
        return false;
    }
    for (size_t i = 0; i < *ret_n; i++) {
        if (!find_resource(q, arn_at(q, i))) {
            return false;
        }
    }
    return true;
}

/* Puts changed tags (taken over) in place; readers may see the old ones for a while. */
static void replace(struct aws *aws, const char *arn, struct json_object *tags)
{
    struct amz_resource *res = amz_get(aws, AMZ_V2_TAGS, arn);
    if (res) {
        amz_unsettle(aws, res, res->body);
    }
    nlb_tags_set(aws, arn, tags);
    json_object_put(tags);
}

static struct json_object *copy_tags(struct aws *aws, const char *arn)
{
    struct json_object *tags = nlb_tags_of(aws, arn);
    return tags ? json_copy(tags) : json_object_new_array();
}

bool nlb_add_tags(struct amz_request *q)
{
    struct json_object *wanted = json_member(q->in, "Tags");
    size_t n;
    if (!find_all(q, &n)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!amz_tags_check(q, wanted, nlb_tags_of(q->aws, arn_at(q, i)), NLB_TAGS_MAX)) {
            return false;
        }
    }
    for (size_t i = 0; i < n; i++) {
        struct json_object *tags = copy_tags(q->aws, arn_at(q, i));
        amz_tags_put(tags, wanted);
        replace(q->aws, arn_at(q, i), tags);
    }
    return true;
}

bool nlb_remove_tags(struct amz_request *q)
{
    struct json_object *keys = json_member(q->in, "TagKeys");
    size_t n;
    if (!find_all(q, &n)) {
        return false;
    }
    if (json_len(keys) == 0) {
        return amz_refuse_value(q, "At least one tag key must be specified");
    }
    for (size_t i = 0; i < n; i++) {
        struct json_object *tags = copy_tags(q->aws, arn_at(q, i));
        for (size_t j = 0; j < json_len(keys); j++) {
            amz_tags_drop(tags, json_object_get_string(json_object_array_get_idx(keys, j)), NULL);
        }
        replace(q->aws, arn_at(q, i), tags);
    }
    return true;
}

bool nlb_describe_tags(struct amz_request *q)
{
    size_t n;
    if (!find_all(q, &n)) {
        return false;
    }
    struct json_object *list = amz_list(q->out, "TagDescriptions");
    for (size_t i = 0; i < n; i++) {
        struct amz_resource *res = amz_get(q->aws, AMZ_V2_TAGS, arn_at(q, i));
        struct json_object *tags = res ? json_member(amz_seen(q->aws, res), "Tags") : NULL;
        struct json_object *item = json_object_new_object();
        json_add_str(item, "ResourceArn", arn_at(q, i));
        json_add(item, "Tags", tags ? json_copy(tags) : json_object_new_array());
        json_object_array_add(list, item);
    }
    return true;
}
