/* SPDX-License-Identifier: Apache-2.0 */
/* ec2_filters.c: the filters of EC2's Describe actions, and the lists that they answer with.
 *
 * A filter is a name and a path into the document: "ip-permission.group-id" looks at
 * IpPermissions.UserIdGroupPairs.GroupId, through every item on the way.  Filters of a request are
 * AND-ed, the values of one are OR-ed, also with '*' and '?'; tag:KEY and tag-key look at the tags.
 * A name that is not in the table is refused, as AWS refuses a misspelt one: an unknown filter that
 * passed would answer with everything.  Documents are judged as readers see them (eventual
 * consistency).
 * Source: docs/spec/aws.md §3.4, §6.4; "Filtering" in the EC2 API Reference (50 filters, 200
 * values, 255 characters). */
#include "sim/aws/ec2/ec2_parts.h"

#include <string.h>

#define FILTERS_MAX      50
#define VALUES_MAX       200
#define VALUE_LENGTH_MAX 255

/* --- one value -------------------------------------------------------------------------------- */

/* Greedy with one step back: the last '*' takes one byte more whenever the rest does not fit, so
 * time is at most the product of both lengths. */
bool ec2_filter_matches(const char *pattern, const char *text)
{
    const char *star = NULL, *from = NULL;
    while (*text) {
        const char *p = pattern;
        bool escaped = *p == '\\' && p[1];
        if (!escaped && *p == '*') {
            star = ++pattern;
            from = text;
        } else if (escaped ? p[1] == *text : (*p && (*p == '?' || *p == *text))) {
            pattern += escaped ? 2 : 1;
            text++;
        } else if (star) {
            pattern = star;
            text = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*') {
        pattern++;
    }
    return !*pattern;
}

static bool any_value_matches(struct json_object *values, const char *text)
{
    for (size_t i = 0; i < json_len(values); i++) {
        const char *v = json_object_get_string(json_object_array_get_idx(values, i));
        if (ec2_filter_matches(v, text)) {
            return true;
        }
    }
    return false;
}

/* Something at `path` below `o` matches. */
static bool path_matches(struct arena *a, struct json_object *o, const char *path,
                         struct json_object *values)
{
    if (json_object_is_type(o, json_type_array)) {
        for (size_t i = 0; i < json_len(o); i++) {
            if (path_matches(a, json_object_array_get_idx(o, i), path, values)) {
                return true;
            }
        }
        return false;
    }
    if (*path) {
        const char *dot = strchrnul(path, '.');
        struct json_object *next = json_member(o, arena_strndup(a, path, (size_t)(dot - path)));
        return next && path_matches(a, next, *dot ? dot + 1 : dot, values);
    }
    return o && !json_object_is_type(o, json_type_object) &&
           any_value_matches(values, json_object_get_string(o));
}

/* --- a request's filters ---------------------------------------------------------------------- */

static const struct ec2_filter *find_filter(const struct ec2_filter *table, const char *name)
{
    for (const struct ec2_filter *f = table; f->name; f++) {
        if (str_eq(f->name, name)) {
            return f;
        }
    }
    return NULL;
}

static bool is_tag_filter(const char *name)
{
    return str_has_prefix(name, "tag:") || str_eq(name, "tag-key") || str_eq(name, "tag-value");
}

static bool check_values(struct amz_request *q, const char *name, struct json_object *values)
{
    if (json_len(values) == 0) {
        return amz_refuse_value(q, "The filter '%s' has no values.", name);
    }
    if (json_len(values) > VALUES_MAX) {
        return amz_refuse(q, "FilterLimitExceeded",
                          "The maximum number of filter values specified on a single call is %d",
                          VALUES_MAX);
    }
    for (size_t i = 0; i < json_len(values); i++) {
        const char *v = json_object_get_string(json_object_array_get_idx(values, i));
        if (strlen(v) > VALUE_LENGTH_MAX) {
            return amz_refuse(q, "FilterLimitExceeded",
                              "The maximum length for a filter value is %d characters",
                              VALUE_LENGTH_MAX);
        }
    }
    return true;
}

bool ec2_filters_check(struct amz_request *q, const struct ec2_filter *table, const char *tags)
{
    struct json_object *filters = json_member(q->in, "Filters");
    if (json_len(filters) > FILTERS_MAX) {
        return amz_refuse(q, "FilterLimitExceeded",
                          "The maximum number of filters specified on a single call is %d",
                          FILTERS_MAX);
    }
    for (size_t i = 0; i < json_len(filters); i++) {
        struct json_object *f = json_object_array_get_idx(filters, i);
        const char *name = str_nonnull(json_str(f, "Name"));
        if (!find_filter(table, name) && !(tags && is_tag_filter(name))) {
            return amz_refuse_value(q, "The filter '%s' is invalid", name);
        }
        if (!check_values(q, name, json_member(f, "Values"))) {
            return false;
        }
    }
    return true;
}

static bool tag_passes(struct json_object *tags, const char *name, struct json_object *values)
{
    bool by_name = str_has_prefix(name, "tag:");
    for (size_t i = 0; i < json_len(tags); i++) {
        struct json_object *tag = json_object_array_get_idx(tags, i);
        const char *key = str_nonnull(json_str(tag, "Key"));
        const char *value = str_nonnull(json_str(tag, "Value"));
        if (by_name ? str_eq(key, name + strlen("tag:")) && any_value_matches(values, value)
                    : any_value_matches(values, str_eq(name, "tag-key") ? key : value)) {
            return true;
        }
    }
    return false;
}

bool ec2_filters_pass(struct amz_request *q, const struct ec2_filter *table, const char *tags,
                      struct json_object *doc)
{
    struct json_object *filters = json_member(q->in, "Filters");
    for (size_t i = 0; i < json_len(filters); i++) {
        struct json_object *f = json_object_array_get_idx(filters, i);
        const char *name = str_nonnull(json_str(f, "Name"));
        struct json_object *values = json_member(f, "Values");
        const struct ec2_filter *known = find_filter(table, name);
        bool passes = known ? path_matches(q->a, doc, known->path, values)
                            : tag_passes(json_member(doc, tags), name, values);
        if (!passes) {
            return false;
        }
    }
    return true;
}

/* --- lists ------------------------------------------------------------------------------------ */

/* The ids that were asked for as a set, or NULL when none were; all are there, or *ok is false. */
static struct map *asked_ids(struct amz_request *q, const struct ec2_listing *l, bool *ok)
{
    struct json_object *ids = l->ids ? json_member(q->in, l->ids) : NULL;
    struct map *set = json_len(ids) ? map_new(NULL) : NULL;
    *ok = true;
    for (size_t i = 0; i < json_len(ids) && *ok; i++) {
        const char *id = json_object_get_string(json_object_array_get_idx(ids, i));
        *ok = ec2_find(q, l->kind, id) != NULL;
        map_set(set, id, NULL);
    }
    return set;
}

struct json_object *ec2_select(struct amz_request *q, const struct ec2_listing *l)
{
    const struct ec2_kind *k = ec2_kind_of(l->kind);
    const char *tags = k ? k->tags : NULL;
    bool ok;
    if (!ec2_filters_check(q, l->filters, tags)) {
        return NULL;
    }
    struct map *ids = asked_ids(q, l, &ok);
    struct json_object *found = ok ? json_object_new_array() : NULL;
    for (struct amz_resource *r = amz_first(q->aws, l->kind); ok && r; r = r->next) {
        struct json_object *doc = amz_seen(q->aws, r);
        if (doc && (!ids || map_has(ids, r->id)) && ec2_filters_pass(q, l->filters, tags, doc)) {
            json_object_array_add(found, json_object_get(doc));
        }
    }
    map_free(ids);
    return found;
}

bool ec2_answer_list(struct amz_request *q, const struct ec2_listing *l)
{
    struct json_object *found = ec2_select(q, l);
    return found && amz_page(q, l->answer, found, EC2_PAGE_MAX);
}

bool ec2_check_page(struct amz_request *q, int64_t least, int64_t most)
{
    int64_t size = json_int(q->in, "MaxResults", least);
    if (size < least || size > most) {
        return amz_refuse_value(q,
                                "Value ( %lld ) for parameter maxResults is invalid. Expecting a "
                                "value from %lld to %lld.",
                                (long long)size, (long long)least, (long long)most);
    }
    return true;
}
