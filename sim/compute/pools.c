/* SPDX-License-Identifier: Apache-2.0 */
/* pools.c: target pools: members, the one health check, and its verdicts.
 *
 * Instances may be named by any link, also "/zones/Z/instances/N"; they are kept as full links.  A
 * pool takes at most 200 instances when it is made and 1000 per call later.  Removing one that is
 * no member is fine.
 * Source: gce-cloud-provider.md §4.8, §16. */
#include "sim/compute/compute.h"

#define CREATE_MAX 200
#define CALL_MAX   1000

static bool check_count(struct request *q, size_t n, size_t max)
{
    return n <= max ||
           ce_refuse_invalid(&q->refusal, q->a, "resource.instances",
                             arena_printf(q->a, "%zu instances", n),
                             arena_printf(q->a, "At most %zu instances are allowed.", max));
}

static bool check_affinity(struct request *q, struct json_object *body)
{
    static const char *const allowed[] = {"NONE", "CLIENT_IP", "CLIENT_IP_PROTO"};
    const char *affinity = json_str(body, "sessionAffinity");
    for (size_t i = 0; i < ARRAY_LEN(allowed); i++) {
        if (str_eq(allowed[i], affinity)) {
            return true;
        }
    }
    return ce_refuse_invalid(&q->refusal, q->a, "resource.sessionAffinity", str_nonnull(affinity),
                             "Must be NONE, CLIENT_IP or CLIENT_IP_PROTO for a target pool.");
}

bool ce_pool_insert(struct request *q, struct json_object *body)
{
    if (!check_affinity(q, body)) {
        return false;
    }
    if (json_len(json_member(body, "healthChecks")) > 1) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.healthChecks", "…",
                                 "A target pool can have at most one health check.");
    }
    return check_count(q, json_len(json_member(body, "instances")), CREATE_MAX);
}

/* The links of [{"instance": link}] (or healthCheck), as an array of full links; NULL: refused. */
static struct json_object *links_of(struct request *q, const char *list, const char *member,
                                    const char *kinds, bool must_exist)
{
    struct json_object *items = json_member(q->body, list);
    if (json_len(items) == 0) {
        ce_refuse_required(&q->refusal, q->a, arena_printf(q->a, "resource.%s", list));
        return NULL;
    }
    struct json_object *out = json_object_new_array();
    for (size_t i = 0; i < json_len(items); i++) {
        const char *link = json_str(json_object_array_get_idx(items, i), member);
        const char *path = ce_link_path(q->a, link, q->folder);
        const char *field = arena_printf(q->a, "resource.%s[%zu].%s", list, i, member);
        bool right_kind = path && str_eq(ce_path_collection(q->a, path), kinds);
        const char *zone = right_kind ? ce_path_location(q->a, path) : NULL;
        bool right_place = right_kind && (!zone || str_eq(ce_zone_region(q->a, zone), q->location));
        if (!right_place || (must_exist && !ce_store_get(q->c, path))) {
            json_object_put(out);
            ce_refuse_invalid(&q->refusal, q->a, field, str_nonnull(link),
                              !right_kind ? "The URL is malformed."
                              : !right_place
                                  ? "The instance is not in the region of the target pool."
                                  : "The referenced resource cannot be found.");
            return NULL;
        }
        json_push_str(out, ce_link_full(q->a, path));
    }
    return out;
}

static void add_links(struct request *q, const char *member, struct json_object *links)
{
    struct json_object *body = json_copy(q->res->body);
    struct json_object *list = json_member(body, member);
    if (!list) {
        list = json_object_new_array();
        json_add(body, member, list);
    }
    struct map *present = ce_link_set(q, list);
    for (size_t i = 0; i < json_len(links); i++) {
        const char *link = json_object_get_string(json_object_array_get_idx(links, i));
        if (!ce_link_in(q, present, link)) {
            json_push_str(list, link);
            map_set(present, ce_link_path(q->a, link, q->folder), NULL);
        }
    }
    map_free(present);
    json_object_put(links);
    ce_write_store(q, body);
}

static void remove_links(struct request *q, const char *member, struct json_object *links)
{
    struct json_object *body = json_copy(q->res->body);
    struct json_object *old = json_member(body, member);
    struct json_object *left = json_object_new_array();
    struct map *gone = ce_link_set(q, links);
    for (size_t i = 0; i < json_len(old); i++) {
        const char *link = json_object_get_string(json_object_array_get_idx(old, i));
        if (!ce_link_in(q, gone, link)) {
            json_push_str(left, link);
        }
    }
    map_free(gone);
    json_object_put(links);
    if (json_len(left) > 0) {
        json_add(body, member, left);
    } else {
        json_object_put(left);
        json_object_object_del(body, member);
    }
    ce_write_store(q, body);
}

static bool has_room(struct request *q, struct json_object *links)
{
    struct json_object *now = json_member(q->res->body, "instances");
    struct map *present = ce_link_set(q, now);
    size_t n = json_len(now);
    for (size_t i = 0; i < json_len(links); i++) {
        const char *link = json_object_get_string(json_object_array_get_idx(links, i));
        n += !ce_link_in(q, present, link);
    }
    map_free(present);
    return ce_quota_check_members(q, "MAX_INSTANCES_IN_TARGET_POOL", n);
}

bool ce_pool_add_instance(struct request *q, struct json_object **ret)
{
    (void)ret;
    if (!check_count(q, json_len(json_member(q->body, "instances")), CALL_MAX)) {
        return false;
    }
    struct json_object *links = links_of(q, "instances", "instance", "instances", true);
    if (links && !has_room(q, links)) {
        json_object_put(links);
        return false;
    }
    if (links) {
        add_links(q, "instances", links);
    }
    return links != NULL;
}

bool ce_pool_remove_instance(struct request *q, struct json_object **ret)
{
    (void)ret;
    if (!check_count(q, json_len(json_member(q->body, "instances")), CALL_MAX)) {
        return false;
    }
    struct json_object *links = links_of(q, "instances", "instance", "instances", false);
    if (links) {
        remove_links(q, "instances", links);
    }
    return links != NULL;
}

bool ce_pool_add_health_check(struct request *q, struct json_object **ret)
{
    (void)ret;
    struct json_object *links =
        links_of(q, "healthChecks", "healthCheck", "httpHealthChecks", true);
    if (!links) {
        return false;
    }
    struct json_object *now = json_member(q->res->body, "healthChecks");
    if (json_len(links) + json_len(now) > 1) {
        json_object_put(links);
        return ce_refuse_invalid(&q->refusal, q->a, "resource.healthChecks", "…",
                                 "A target pool can have at most one health check.");
    }
    add_links(q, "healthChecks", links);
    return true;
}

bool ce_pool_remove_health_check(struct request *q, struct json_object **ret)
{
    (void)ret;
    struct json_object *links =
        links_of(q, "healthChecks", "healthCheck", "httpHealthChecks", false);
    if (links) {
        remove_links(q, "healthChecks", links);
    }
    return links != NULL;
}

bool ce_pool_get_health(struct request *q, struct json_object **ret)
{
    const char *instance = json_str(q->body, "instance");
    struct json_object *members = json_member(q->res->body, "instances");
    const char *path = ce_link_path(q->a, instance, q->folder);
    struct map *present = ce_link_set(q, members);
    bool is_member = path && map_has(present, path);
    map_free(present);
    if (!is_member) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.instance", str_nonnull(instance),
                                 "The instance is not in the target pool.");
    }
    struct json_object *state = json_object_new_object();
    json_add_str(state, "instance", ce_link_full(q->a, path));
    bool healthy =
        ce_store_get(q->c, path) != NULL && ce_node_answers(q, ce_answers(q), q->res->body, path);
    json_add_str(state, "healthState", healthy ? "HEALTHY" : "UNHEALTHY");
    struct json_object *states = json_object_new_array();
    json_object_array_add(states, state);
    *ret = json_object_new_object();
    json_add_str(*ret, "kind", "compute#targetPoolInstanceHealth");
    json_add(*ret, "healthStatus", states);
    return true;
}
