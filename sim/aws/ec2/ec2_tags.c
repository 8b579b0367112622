/* SPDX-License-Identifier: Apache-2.0 */
/* ec2_tags.c: tags of EC2's resources: at creation, CreateTags, DeleteTags, DescribeTags.
 *
 * Tags lie in the document of their resource.  A request for several resources is all or nothing.
 * Readers see new tags when the document has settled (setting consistency_ms).  Source:
 * docs/spec/aws.md §3.5, §4.10; Tag and CreateTags in the EC2 API Reference (50 tags, 127
 * and 256 characters). */
#include "sim/aws/ec2/ec2_parts.h"

#include <string.h>

#define TAGS_MAX      50
#define KEY_MAX       127
#define VALUE_MAX     256
#define RESOURCES_MAX 1000

/* --- checks ----------------------------------------------------------------------------------- */

static size_t characters(const char *s)
{
    size_t n = 0;
    for (; *s; s++) {
        n += ((unsigned char)*s & 0xC0) != 0x80; /* not the rest of a character */
    }
    return n;
}

static bool check_tags(struct amz_request *q, struct json_object *tags, struct json_object *have)
{
    for (size_t i = 0; i < json_len(tags); i++) {
        struct json_object *tag = json_object_array_get_idx(tags, i);
        if (characters(str_nonnull(json_str(tag, "Key"))) > KEY_MAX) {
            return amz_refuse_value(q, "Tag key exceeds the maximum length of %d characters",
                                    KEY_MAX);
        }
        if (characters(str_nonnull(json_str(tag, "Value"))) > VALUE_MAX) {
            return amz_refuse_value(q, "Tag value exceeds the maximum length of %d characters",
                                    VALUE_MAX);
        }
    }
    return amz_tags_check(q, tags, have, TAGS_MAX);
}

static bool is_one_of(const char *text, const char *const *list)
{
    for (; list && *list; list++) {
        if (str_eq(*list, text)) {
            return true;
        }
    }
    return false;
}

bool ec2_tags_asked(struct amz_request *q, const char *type, const char *const *also,
                    struct json_object **ret)
{
    struct json_object *specs = json_member(q->in, "TagSpecifications"), *mine = NULL;
    for (size_t i = 0; i < json_len(specs); i++) {
        struct json_object *spec = json_object_array_get_idx(specs, i);
        const char *of = json_str(spec, "ResourceType");
        struct json_object *tags = json_member(spec, "Tags");
        if (!str_eq(of, type) && !is_one_of(of, also)) {
            return amz_refuse_value(q,
                                    "'%s' is not a valid taggable resource type for this "
                                    "operation.",
                                    str_nonnull(of));
        }
        if (json_len(tags) == 0) {
            return amz_refuse_value(q, "Tag specification must have at least one tag");
        }
        if (!check_tags(q, tags, NULL)) {
            return false;
        }
        if (str_eq(of, type) && mine) {
            return amz_refuse_value(q,
                                    "Only one tag specification for the resource type '%s' may be "
                                    "given",
                                    type);
        }
        mine = str_eq(of, type) ? tags : mine;
    }
    *ret = json_object_new_array();
    amz_tags_put(*ret, mine);
    return true;
}

/* --- CreateTags, DeleteTags ------------------------------------------------------------------- */

struct tagged {
    struct amz_resource *res;
    const char *member; /* that holds its tags */
};

/* The resources of the request; NULL: refused. */
static struct tagged *find_tagged(struct amz_request *q, size_t *ret_n)
{
    struct json_object *ids = json_member(q->in, "Resources");
    *ret_n = json_len(ids);
    struct tagged *list = ARENA_ARRAY(q->a, struct tagged, *ret_n);
    if (*ret_n == 0 || *ret_n > RESOURCES_MAX) {
        (void)(*ret_n ? amz_refuse_value(q, "At most %d resources may be tagged in one request",
                                         RESOURCES_MAX)
                      : amz_refuse_missing(q, "resourceIdSet"));
        return NULL;
    }
    for (size_t i = 0; i < *ret_n; i++) {
        const char *id = json_object_get_string(json_object_array_get_idx(ids, i));
        const struct ec2_kind *k = ec2_kind_by_id(id);
        if (!k) {
            amz_refuse(q, "InvalidID", "The ID '%s' is not valid", id);
            return NULL;
        }
        list[i] = (struct tagged){.res = ec2_find(q, k->kind, id), .member = k->tags};
        if (!list[i].res) {
            return NULL;
        }
    }
    return list;
}

bool ec2_create_tags(struct amz_request *q)
{
    struct json_object *tags = json_member(q->in, "Tags");
    size_t n;
    if (json_len(tags) == 0) {
        return amz_refuse_missing(q, "tagSet");
    }
    struct tagged *list = find_tagged(q, &n);
    for (size_t i = 0; list && i < n; i++) {
        if (!check_tags(q, tags, json_member(list[i].res->body, list[i].member))) {
            return false;
        }
    }
    if (!list) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        amz_unsettle(q->aws, list[i].res, list[i].res->body);
        amz_tags_put(amz_list(list[i].res->body, list[i].member), tags);
    }
    return true;
}

static void drop_all(struct json_object *tags)
{
    for (size_t i = json_len(tags); i > 0; i--) {
        const char *key = json_str(json_object_array_get_idx(tags, i - 1), "Key");
        if (!str_has_prefix(key, "aws:")) {
            amz_remove_at(tags, i - 1);
        }
    }
}

bool ec2_delete_tags(struct amz_request *q)
{
    struct json_object *tags = json_member(q->in, "Tags");
    size_t n;
    struct tagged *list = find_tagged(q, &n);
    if (!list || (json_len(tags) && !check_tags(q, tags, NULL))) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        amz_unsettle(q->aws, list[i].res, list[i].res->body);
        struct json_object *have = amz_list(list[i].res->body, list[i].member);
        for (size_t k = 0; k < json_len(tags); k++) {
            struct json_object *tag = json_object_array_get_idx(tags, k);
            amz_tags_drop(have, json_str(tag, "Key"), json_str(tag, "Value"));
        }
        if (json_len(tags) == 0) {
            drop_all(have);
        }
    }
    return true;
}

/* --- DescribeTags ----------------------------------------------------------------------------- */

static const struct ec2_filter tag_filters[] = {
    {"key", "Key"},
    {"resource-id", "ResourceId"},
    {"resource-type", "ResourceType"},
    {"value", "Value"},
    {NULL, NULL},
};

static void collect_tags(struct amz_request *q, const struct ec2_kind *k, struct amz_resource *res,
                         struct json_object *found)
{
    struct json_object *tags = json_member(amz_seen(q->aws, res), k->tags);
    for (size_t i = 0; i < json_len(tags); i++) {
        struct json_object *tag = json_object_array_get_idx(tags, i);
        struct json_object *o = json_object_new_object(), *self = json_object_new_array();
        json_add_str(o, "Key", json_str(tag, "Key"));
        json_add_str(o, "ResourceId", res->id);
        json_add_str(o, "ResourceType", k->type);
        json_add_str(o, "Value", str_nonnull(json_str(tag, "Value")));
        json_object_array_add(self, json_object_get(tag)); /* for the filter tag:KEY */
        json_add(o, "Tags", self);
        if (ec2_filters_pass(q, tag_filters, "Tags", o)) {
            json_object_object_del(o, "Tags");
            json_object_array_add(found, o);
        } else {
            json_object_put(o);
        }
    }
}

bool ec2_describe_tags(struct amz_request *q)
{
    if (!ec2_filters_check(q, tag_filters, "Tags") || !ec2_check_page(q, 5, 1000)) {
        return false;
    }
    struct json_object *found = json_object_new_array();
    for (const struct ec2_kind *k = ec2_kinds; k->prefix; k++) {
        for (struct amz_resource *r = amz_first(q->aws, k->kind); r; r = r->next) {
            collect_tags(q, k, r, found);
        }
    }
    return amz_page(q, "Tags", found, EC2_PAGE_MAX);
}
