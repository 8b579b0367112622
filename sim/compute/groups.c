/* SPDX-License-Identifier: Apache-2.0 */
/* groups.c: unmanaged instance groups and their members.
 *
 * Members are instances of the group's zone, at most 1000.  A virtual machine may be in one load-balanced group
 * only: that is refused in the operation, as the cloud does it.  Removing one that is no member is an error.
 * Source: gce-cloud-provider.md §5.4, §5.9, §16; gce-l4.md §8. */
#include "sim/compute/compute.h"

#define MEMBERS_MAX 1000

bool ce_group_insert(struct request *q, struct json_object *body)
{
    if (!json_member(body, "size")) {
        json_add_int(body, "size", 0);
    }
    return true;
}

static size_t member_index(struct request *q, struct json_object *members, const char *link)
{
    for (size_t i = 0; i < json_len(members); i++) {
        const char *other = json_object_get_string(json_object_array_get_idx(members, i));
        if (ce_link_same(q->a, other, link, q->folder)) {
            return i;
        }
    }
    return SIZE_MAX;
}

static bool refuse_single(struct request *q, const char *instance, const char *group)
{
    ce_refuse(&q->refusal, q->a, 400, "instanceInMultipleLoadBalancedIgs",
              "Instance '%s' would belong to more than one load-balanced instance group; it is "
              "already in "
              "'%s'. An instance may belong to at most one load-balanced instance group.",
              instance, group);
    q->refusal.code = "INSTANCE_IN_MULTIPLE_LOAD_BALANCED_IGS";
    return false;
}

struct single {
    struct request *q;
    struct json_object *instances;
    const char *group;    /* where they are, or go */
    const char *instance; /* found */
    const char *other;
};

static bool find_other(struct resource *res, void *arg)
{
    struct single *s = arg;
    if (str_eq(res->path, s->group) || !res->members ||
        !ce_references_user(s->q->c, s->q->a, res->path)) {
        return true;
    }
    for (size_t i = 0; i < json_len(s->instances); i++) {
        const char *link = json_object_get_string(json_object_array_get_idx(s->instances, i));
        if (member_index(s->q, res->members, link) != SIZE_MAX) {
            s->instance = link;
            s->other = res->path;
            return false;
        }
    }
    return true;
}

bool ce_group_check_single(struct request *q, struct json_object *instances, const char *group)
{
    struct single s = {.q = q, .instances = instances, .group = group};
    ce_store_each(q->c, "instanceGroups", find_other, &s);
    return !s.other || refuse_single(q, s.instance, s.other);
}

/* The instances of the request as full links; NULL: refused. */
static struct json_object *instances_of(struct request *q)
{
    struct json_object *items = json_member(q->body, "instances");
    struct json_object *out = json_object_new_array();
    for (size_t i = 0; i < json_len(items); i++) {
        const char *link = json_str(json_object_array_get_idx(items, i), "instance");
        const char *path = ce_link_path(q->a, link, q->folder);
        const char *field = arena_printf(q->a, "resource.instances[%zu].instance", i);
        if (!path || !str_eq(ce_path_collection(q->a, path), "instances") ||
            !str_eq(ce_path_location(q->a, path), q->location)) {
            json_object_put(out);
            ce_refuse_invalid(&q->refusal, q->a, field, str_nonnull(link),
                              "Must be the URL of an instance in the zone of the group.");
            return NULL;
        }
        json_push_str(out, ce_link_full(q->a, path));
    }
    return out;
}

static void store_members(struct request *q)
{
    struct json_object *body = json_copy(q->res->body);
    json_add_int(body, "size", (int64_t)json_len(q->res->members));
    ce_write_store(q, body);
}

static bool check_add(struct request *q, struct json_object *links)
{
    for (size_t i = 0; i < json_len(links); i++) {
        const char *link = json_object_get_string(json_object_array_get_idx(links, i));
        const char *path = ce_link_path(q->a, link, q->folder);
        if (!ce_store_get(q->c, path)) {
            return ce_refuse_not_found(&q->refusal, q->a, path);
        }
        if (member_index(q, q->res->members, link) != SIZE_MAX) {
            return ce_refuse(&q->refusal, q->a, 400, "memberAlreadyExists",
                             "Instance '%s' is already a member of '%s'.", path, q->res->path);
        }
    }
    if (json_len(links) + json_len(q->res->members) > MEMBERS_MAX) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.instances", "…",
                                 "An instance group can have at most 1000 members.");
    }
    bool balanced = ce_references_user(q->c, q->a, q->res->path) != NULL;
    return !balanced || ce_group_check_single(q, links, q->res->path);
}

bool ce_group_add_instances(struct request *q, struct json_object **ret)
{
    (void)ret;
    struct json_object *links = instances_of(q);
    if (!links) {
        return false;
    }
    if (!q->res->members) {
        q->res->members = json_object_new_array();
    }
    bool ok = check_add(q, links);
    for (size_t i = 0; ok && i < json_len(links); i++) {
        json_object_array_add(q->res->members,
                              json_object_get(json_object_array_get_idx(links, i)));
    }
    json_object_put(links);
    if (ok) {
        store_members(q);
    }
    return ok;
}

bool ce_group_remove_instances(struct request *q, struct json_object **ret)
{
    (void)ret;
    struct json_object *links = instances_of(q);
    if (!links) {
        return false;
    }
    for (size_t i = 0; i < json_len(links); i++) {
        const char *link = json_object_get_string(json_object_array_get_idx(links, i));
        if (member_index(q, q->res->members, link) == SIZE_MAX) {
            ce_refuse(&q->refusal, q->a, 400, "invalid", "%s is not a member of %s", link,
                      q->res->path);
            json_object_put(links);
            return false;
        }
    }
    for (size_t i = 0; i < json_len(links); i++) {
        const char *link = json_object_get_string(json_object_array_get_idx(links, i));
        size_t at = member_index(q, q->res->members, link);
        if (at != SIZE_MAX) {
            json_object_array_del_idx(q->res->members, at, 1);
        }
    }
    json_object_put(links);
    store_members(q);
    return true;
}

bool ce_group_list_instances(struct request *q, struct json_object **ret)
{
    struct json_object *items = json_object_new_array();
    bool running_only = str_eq(json_str(q->body, "instanceState"), "RUNNING");
    for (size_t i = 0; i < json_len(q->res->members); i++) {
        const char *link = json_object_get_string(json_object_array_get_idx(q->res->members, i));
        const char *path = ce_link_path(q->a, link, q->folder);
        const struct resource *instance = path ? ce_store_get(q->c, path) : NULL;
        const char *status =
            str_or(instance ? json_str(instance->body, "status") : NULL, "RUNNING");
        if (running_only && !str_eq(status, "RUNNING")) {
            continue;
        }
        struct json_object *item = json_object_new_object();
        json_add_str(item, "instance", link);
        json_add_str(item, "status", status);
        json_object_array_add(items, item);
    }
    struct json_object *list = json_object_new_object();
    json_add_str(list, "kind", "compute#instanceGroupsListInstances");
    json_add_str(list, "id", arena_printf(q->a, "%s/listInstances", q->res->path));
    json_add_str(list, "selfLink",
                 ce_link_full(q->a, arena_printf(q->a, "%s/listInstances", q->res->path)));
    if (!ce_read_page(q, items, list)) {
        json_object_put(list);
        return false;
    }
    *ret = list;
    return true;
}

bool ce_group_set_named_ports(struct request *q, struct json_object **ret)
{
    (void)ret;
    struct json_object *ports = json_member(q->body, "namedPorts");
    struct json_object *body = json_copy(q->res->body);
    json_add(body, "namedPorts", ports ? json_copy(ports) : json_object_new_array());
    ce_write_store(q, body);
    return true;
}
