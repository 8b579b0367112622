/* SPDX-License-Identifier: Apache-2.0 */
/* pages.c: lists in pages.
 *
 * A token names the last item that was given, under a mark that a client does not make up by
 * chance: what is deleted or made between two pages moves no other item into a page that was given
 * already.  For this the items of a list in pages come in the order of their names.
 * Source: docs/spec/aws.md §3.4, §9.3. */
#include "sim/aws/aws.h"

#include <stdlib.h>
#include <string.h>

#define TOKEN_MARK "sim-page-"

struct item {
    const char *name;
    struct json_object *json;
};

/* The name of an item, by which it differs from the others of its list. */
static const char *name_of(struct arena *a, struct json_object *item)
{
    static const char *const ids[] = {
        "TargetGroupArn", "ListenerArn", "LoadBalancerArn", "LoadBalancerName",   "GroupId",
        "InstanceId",     "SubnetId",    "ReservationId",   "NetworkInterfaceId", "ResourceId"};
    const char *rule = json_str(item, "SecurityGroupRuleId");
    if (rule != NULL) { /* it has the id of its group, too */
        return rule;
    }
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        const char *id = json_str(item, ids[i]);
        if (id != NULL) { /* tags of a resource have a key each */
            return arena_printf(a, "%s/%s", id, str_nonnull(json_str(item, "Key")));
        }
    }
    return json_text(a, item, JSON_COMPACT);
}

static int compare(const void *x, const void *y)
{
    return strcmp(((const struct item *)x)->name, ((const struct item *)y)->name);
}

/* How many items a page has at most. */
static size_t page_size(struct amz_request *q, size_t most)
{
    int64_t asked = json_int(q->in, q->service == AMZ_EC2 ? "MaxResults" : "PageSize", 0);
    int64_t ours = amz_setting(q->aws, "page_size", 0);
    size_t size = most ? most : SIZE_MAX;
    size = asked > 0 && (size_t)asked < size ? (size_t)asked : size;
    return ours > 0 && (size_t)ours < size ? (size_t)ours : size;
}

/* The items after the one with that name ("": all) that a page has; the name of the last one, or
 * NULL when none is left after it. */
static struct json_object *page_of(struct amz_request *q, struct json_object *items, size_t size,
                                   const char *after, const char **ret_last)
{
    size_t n = json_len(items), taken = 0;
    struct item *all = ARENA_ARRAY(q->a, struct item, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct json_object *json = json_object_array_get_idx(items, i);
        all[i] = (struct item){.name = name_of(q->a, json), .json = json};
    }
    qsort(all, n, sizeof(*all), compare);
    struct json_object *page = json_object_new_array();
    *ret_last = NULL;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(all[i].name, after) <= 0) {
            continue;
        }
        if (taken == size) {
            return page;
        }
        json_object_array_add(page, json_object_get(all[i].json));
        *ret_last = all[i].name;
        taken++;
    }
    *ret_last = NULL;
    return page;
}

bool amz_page(struct amz_request *q, const char *member, struct json_object *items, size_t most)
{
    bool ec2 = q->service == AMZ_EC2;
    size_t size = page_size(q, most);
    const char *last = NULL;
    const char *token = json_str(q->in, ec2 ? "NextToken" : "Marker");
    if (token != NULL && !str_has_prefix(token, TOKEN_MARK)) {
        json_object_put(items);
        return amz_refuse(q, ec2 ? "InvalidNextToken" : "ValidationError",
                          "The token '%.80s' is not valid", token);
    }
    if (token != NULL || json_len(items) > size) {
        const char *after = token == NULL ? "" : token + strlen(TOKEN_MARK);
        struct json_object *page = page_of(q, items, size, after, &last);
        json_object_put(items);
        items = page;
    }
    if (last != NULL) {
        json_add_str(q->out, ec2 ? "NextToken" : "NextMarker",
                     arena_printf(q->a, TOKEN_MARK "%s", last));
    }
    json_add(q->out, member, items);
    return true;
}
