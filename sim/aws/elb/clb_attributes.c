/* SPDX-License-Identifier: Apache-2.0 */
/* clb_attributes.c: attributes and tags of classic balancers.
 *
 * Attributes that were never set have AWS' defaults.  A change answers the members that it named.
 * Source: docs/spec/aws.md §4.6 item 5, §4.8, §10.4 rows 23, 31. */
#include "sim/aws/elb/clb.h"

#define CLB_NAMED_MAX 20 /* balancers in one call on tags */

/* Additional attributes of a world may be there several times; the last of each key counts. */
static void put_additional(struct json_object *list, struct json_object *stored)
{
    for (size_t i = 0; i < json_len(stored); i++) {
        struct json_object *item = json_object_array_get_idx(stored, i);
        struct json_object *have = amz_find(list, "Key", json_str(item, "Key"), NULL);
        if (have) {
            json_add_str(have, "Value", json_str(item, "Value"));
        } else {
            json_object_array_add(list, json_copy(item));
        }
    }
}

/* The stored values over the defaults; new reference. */
static struct json_object *attributes_of(struct amz_request *q, const char *name, bool truth)
{
    struct amz_resource *res = amz_get(q->aws, AMZ_CLASSIC_ATTRIBUTES, name);
    struct json_object *stored = res && truth ? res->body : res ? amz_seen(q->aws, res) : NULL;
    struct json_object *all = clb_attribute_defaults();
    if (!json_object_is_type(stored, json_type_object)) {
        return all;
    }
    json_object_object_foreach(stored, name_of_section, section)
    {
        struct json_object *to = json_member(all, name_of_section);
        if (json_object_is_type(to, json_type_array)) {
            put_additional(to, section);
            continue;
        }
        if (!json_object_is_type(section, json_type_object) || !to) {
            json_add(all, name_of_section, json_copy(section));
            continue;
        }
        json_object_object_foreach(section, member, value)
        {
            json_add(to, member, json_copy(value));
        }
    }
    return all;
}

bool clb_describe_attributes(struct amz_request *q)
{
    struct amz_resource *lb = clb_find(q);
    if (!lb) {
        return false;
    }
    json_add(q->out, "LoadBalancerAttributes", attributes_of(q, lb->id, false));
    return true;
}

bool clb_modify_attributes(struct amz_request *q)
{
    struct amz_resource *lb = clb_find(q);
    struct json_object *in = json_member(q->in, "LoadBalancerAttributes");
    if (!lb) {
        return false;
    }
    struct json_object *all = attributes_of(q, lb->id, true);
    if (!clb_attributes_change(q, all, in)) {
        json_object_put(all);
        return false;
    }
    struct json_object *changed = json_object_new_object();
    json_object_object_foreach(all, name, value)
    {
        if (json_member(in, name)) {
            json_add(changed, name, json_copy(value));
        }
    }
    struct amz_resource *res = amz_get(q->aws, AMZ_CLASSIC_ATTRIBUTES, lb->id);
    if (res) {
        amz_unsettle(q->aws, res, res->body);
    }
    res = amz_set(q->aws, AMZ_CLASSIC_ATTRIBUTES, lb->id, all);
    json_add_str(q->out, "LoadBalancerName", lb->id);
    json_add(q->out, "LoadBalancerAttributes", changed);
    return true;
}

/* --- tags ------------------------------------------------------------------------------------- */

struct json_object *clb_tags_of(const struct aws *aws, const char *name)
{
    struct amz_resource *res = amz_get(aws, AMZ_CLASSIC_TAGS, name);
    return res ? json_member(res->body, "Tags") : NULL;
}

void clb_tags_set(struct aws *aws, const char *name, struct json_object *tags)
{
    if (json_len(tags) == 0) {
        amz_unset(aws, AMZ_CLASSIC_TAGS, name);
        return;
    }
    struct json_object *body = json_object_new_object();
    json_add_str(body, "LoadBalancerName", name);
    amz_tags_put(amz_list(body, "Tags"), tags);
    amz_set(aws, AMZ_CLASSIC_TAGS, name, body);
}

static const char *name_at(struct amz_request *q, size_t i)
{
    return json_object_get_string(
        json_object_array_get_idx(json_member(q->in, "LoadBalancerNames"), i));
}

/* All the named balancers are there; how many they are. */
static bool find_all(struct amz_request *q, size_t *ret_n)
{
    *ret_n = json_len(json_member(q->in, "LoadBalancerNames"));
    if (*ret_n == 0 || *ret_n > CLB_NAMED_MAX) {
        return amz_refuse_value(q, "LoadBalancerNames must have 1 to %d names", CLB_NAMED_MAX);
    }
    for (size_t i = 0; i < *ret_n; i++) {
        if (!clb_find_named(q, name_at(q, i))) {
            return false;
        }
    }
    return true;
}

static struct json_object *copy_tags(struct aws *aws, const char *name)
{
    struct json_object *tags = clb_tags_of(aws, name);
    return tags ? json_copy(tags) : json_object_new_array();
}

/* Puts changed tags (taken over) in place; readers may see the old ones for a while. */
static void replace(struct aws *aws, const char *name, struct json_object *tags)
{
    struct amz_resource *res = amz_get(aws, AMZ_CLASSIC_TAGS, name);
    if (res) {
        amz_unsettle(aws, res, res->body);
    }
    clb_tags_set(aws, name, tags);
    json_object_put(tags);
}

bool clb_add_tags(struct amz_request *q)
{
    struct json_object *wanted = json_member(q->in, "Tags");
    size_t n;
    if (!find_all(q, &n)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!amz_tags_check(q, wanted, clb_tags_of(q->aws, name_at(q, i)), CLB_TAGS_MAX)) {
            return false;
        }
    }
    for (size_t i = 0; i < n; i++) {
        struct json_object *tags = copy_tags(q->aws, name_at(q, i));
        amz_tags_put(tags, wanted);
        replace(q->aws, name_at(q, i), tags);
    }
    return true;
}

bool clb_remove_tags(struct amz_request *q)
{
    struct json_object *wanted = json_member(q->in, "Tags");
    size_t n;
    if (!find_all(q, &n)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        struct json_object *tags = copy_tags(q->aws, name_at(q, i));
        for (size_t j = 0; j < json_len(wanted); j++) {
            const char *key = json_str(json_object_array_get_idx(wanted, j), "Key");
            if (key) {
                amz_tags_drop(tags, key, NULL);
            }
        }
        replace(q->aws, name_at(q, i), tags);
    }
    return true;
}

bool clb_describe_tags(struct amz_request *q)
{
    size_t n;
    if (!find_all(q, &n)) {
        return false;
    }
    struct json_object *list = amz_list(q->out, "TagDescriptions");
    for (size_t i = 0; i < n; i++) {
        struct amz_resource *res = amz_get(q->aws, AMZ_CLASSIC_TAGS, name_at(q, i));
        struct json_object *tags = res ? json_member(amz_seen(q->aws, res), "Tags") : NULL;
        struct json_object *item = json_object_new_object();
        json_add_str(item, "LoadBalancerName", name_at(q, i));
        json_add(item, "Tags", tags ? json_copy(tags) : json_object_new_array());
        json_object_array_add(list, item);
    }
    return true;
}
