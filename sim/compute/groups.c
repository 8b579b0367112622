/* SPDX-License-Identifier: Apache-2.0 */
/* groups.c: unmanaged instance groups and their members.
 *
 * Members are instances of the group's zone, at most 1000.  The first one gives the group its
 * network and subnetwork, and the others must be there, too; a group that never had one has none.
 * A virtual machine may be in one load-balanced group only: that is refused in the operation, as
 * the cloud does it.  Removing an instance that is not a member is an error.  Source:
 * gce-cloud-provider.md §5.4, §5.9, §16; gce-l4.md §8. */
#include "sim/compute/compute.h"

#define MEMBERS_MAX 1000

bool ce_group_insert(struct request *q, struct json_object *body)
{
    if (!json_member(body, "size")) {
        json_add_int(body, "size", 0);
    }
    return true;
}

static bool refuse_single(struct request *q, const char *instance)
{
    ce_refuse(&q->refusal, q->a, 400, "instanceInMultipleLoadBalancedIgs",
              "Validation failed for instance '%s': instance may belong to at most one "
              "load-balanced instance group.",
              instance);
    q->refusal.code = "INSTANCE_IN_MULTIPLE_LOAD_BALANCED_IGS";
    return false;
}

struct single {
    struct request *q;
    const struct map *instances; /* paths */
    const char *group;           /* where they are, or go */
    const char *instance;        /* path of one that is in another, too */
};

static bool find_other(struct resource *res, void *arg)
{
    struct single *s = arg;
    if (str_eq(res->path, s->group) || json_len(res->members) == 0 ||
        !ce_references_user(s->q->c, s->q->a, res->path)) {
        return true;
    }
    for (size_t i = 0; i < json_len(res->members) && !s->instance; i++) {
        const char *link = json_object_get_string(json_object_array_get_idx(res->members, i));
        if (ce_link_in(s->q, s->instances, link)) {
            s->instance = ce_link_path(s->q->a, link, res->path);
        }
    }
    return !s->instance;
}

/* None of these instances, which are in `group` or go there, may be in
 * another load-balanced group. */
static bool check_single(struct request *q, const struct map *instances, const char *group)
{
    struct single s = {.q = q, .instances = instances, .group = group};
    ce_store_each(q->c, "instanceGroups", find_other, &s);
    return !s.instance || refuse_single(q, s.instance);
}

/* Notes the members of a group in `owners`; refuses what another group of the same
 * backend service has. */
static bool check_owners(struct request *q, struct map *owners, const struct resource *group)
{
    for (size_t i = 0; i < json_len(group->members); i++) {
        const char *link = json_object_get_string(json_object_array_get_idx(group->members, i));
        const char *path = ce_link_path(q->a, link, group->path);
        if (path && map_has(owners, path)) {
            return refuse_single(q, path);
        }
        if (path) {
            map_set(owners, path, NULL);
        }
    }
    return true;
}

bool ce_group_check_backends(struct request *q, struct json_object *backends)
{
    struct map *owners = map_new(NULL);
    bool ok = true;
    for (size_t i = 0; i < json_len(backends) && ok; i++) {
        const char *link = json_str(json_object_array_get_idx(backends, i), "group");
        const struct resource *group = ce_store_get(q->c, ce_link_path(q->a, link, q->folder));
        if (!group || json_len(group->members) == 0 ||
            !str_eq(ce_path_collection(q->a, group->path), "instanceGroups")) {
            continue;
        }
        struct map *instances = ce_link_set(q, group->members);
        ok = check_owners(q, owners, group) && check_single(q, instances, group->path);
        map_free(instances);
    }
    map_free(owners);
    return ok;
}

/* --- members ---------------------------------------------------------------------------------- */

/* The instances of the request as full links; NULL: refused. */
static struct json_object *instances_of(struct request *q)
{
    struct json_object *items = json_member(q->body, "instances");
    if (json_len(items) == 0) {
        ce_refuse_required(&q->refusal, q->a, "resource.instances");
        return NULL;
    }
    if (json_len(items) > MEMBERS_MAX) {
        ce_refuse_invalid(&q->refusal, q->a, "resource.instances",
                          arena_printf(q->a, "%zu instances", json_len(items)),
                          "At most 1000 instances are allowed in one call.");
        return NULL;
    }
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
    static const char *const places[] = {"network", "subnetwork"};
    struct json_object *body = json_copy(q->res->body);
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        const char *place = ce_place_of_group(q, q->res, places[i]);
        if (place) {
            json_add_str(body, places[i], place);
        }
    }
    json_add_int(body, "size", (int64_t)json_len(q->res->members));
    ce_write_store(q, body);
}

/* Each exists, is not a member yet, and is named once. */
static bool check_new(struct request *q, struct json_object *links)
{
    struct map *present = ce_link_set(q, q->res->members), *named = map_new(NULL);
    bool ok = true;
    for (size_t i = 0; i < json_len(links) && ok; i++) {
        const char *link = json_object_get_string(json_object_array_get_idx(links, i));
        const char *path = ce_link_path(q->a, link, q->folder);
        if (!ce_store_get(q->c, path)) {
            ok = ce_refuse_not_found(&q->refusal, q->a, path);
        } else if (map_has(present, path)) {
            ok = ce_refuse(&q->refusal, q->a, 400, "memberAlreadyExists",
                           "Instance '%s' is already a member of '%s'.", path, q->res->path);
        } else if (map_has(named, path)) {
            ok = ce_refuse_invalid(&q->refusal, q->a,
                                   arena_printf(q->a, "resource.instances[%zu].instance", i), link,
                                   "The instance is named twice.");
        }
        map_set(named, path, NULL);
    }
    map_free(named);
    map_free(present);
    return ok;
}

/* New instances must be where the group is (`member`: "network" or "subnetwork"), or, in an empty
 * one, where the first is. */
static bool check_place(struct request *q, struct json_object *links, const char *member)
{
    const char *place = ce_place_of_group(q, q->res, member);
    for (size_t i = 0; i < json_len(links); i++) {
        const char *link = json_object_get_string(json_object_array_get_idx(links, i));
        const char *path = ce_link_path(q->a, link, q->folder);
        struct json_object *nic = ce_place_nic(q, ce_store_get(q->c, path), NULL, NULL);
        const char *own = json_str(nic, member);
        place = place ? place : own;
        if (own && place && !ce_link_same(q->a, own, place, q->folder)) {
            return ce_refuse(
                &q->refusal, q->a, 400,
                str_eq(member, "network") ? "wrongNetwork" : "wrongSubnetwork",
                "Resource '%s' is expected to be in the %s '%s' but is in the %s '%s'.", path,
                member, ce_link_path(q->a, place, q->folder), member,
                ce_link_path(q->a, own, q->folder));
        }
    }
    return true;
}

static bool check_add(struct request *q, struct json_object *links)
{
    if (!check_new(q, links) || !check_place(q, links, "network") ||
        !check_place(q, links, "subnetwork")) {
        return false;
    }
    if (json_len(links) + json_len(q->res->members) > MEMBERS_MAX) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.instances", "…",
                                 "An instance group can have at most 1000 members.");
    }
    if (!ce_references_user(q->c, q->a, q->res->path)) {
        return true;
    }
    struct map *instances = ce_link_set(q, links);
    bool ok = check_single(q, instances, q->res->path);
    map_free(instances);
    return ok;
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
    bool ok =
        check_add(q, links) && ce_quota_check_members(q, "MAX_INSTANCES_IN_INSTANCE_GROUP",
                                                      json_len(q->res->members) + json_len(links));
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

/* A link that is not a member, or NULL. */
static const char *find_stranger(struct request *q, struct json_object *links)
{
    struct map *present = ce_link_set(q, q->res->members);
    const char *stranger = NULL;
    for (size_t i = 0; i < json_len(links) && !stranger; i++) {
        const char *link = json_object_get_string(json_object_array_get_idx(links, i));
        stranger = ce_link_in(q, present, link) ? NULL : arena_strdup(q->a, link);
    }
    map_free(present);
    return stranger;
}

bool ce_group_remove_instances(struct request *q, struct json_object **ret)
{
    (void)ret;
    struct json_object *links = instances_of(q);
    if (!links) {
        return false;
    }
    const char *stranger = find_stranger(q, links);
    if (stranger) {
        json_object_put(links);
        return ce_refuse(&q->refusal, q->a, 400, "invalid", "%s is not a member of %s", stranger,
                         q->res->path);
    }
    struct map *gone = ce_link_set(q, links);
    struct json_object *left = json_object_new_array();
    for (size_t i = 0; i < json_len(q->res->members); i++) {
        struct json_object *member = json_object_array_get_idx(q->res->members, i);
        if (!ce_link_in(q, gone, json_object_get_string(member))) {
            json_object_array_add(left, json_object_get(member));
        }
    }
    map_free(gone);
    json_object_put(links);
    json_object_put(q->res->members);
    q->res->members = left;
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

static bool check_named_port(struct request *q, struct json_object *named, size_t i)
{
    const char *name = json_str(named, "name");
    int64_t port = json_int(named, "port", 0);
    const char *where = arena_printf(q->a, "resource.namedPorts[%zu]", i);
    if (!name || !ce_name_is_valid(name)) {
        return ce_refuse_invalid(&q->refusal, q->a, arena_printf(q->a, "%s.name", where),
                                 str_nonnull(name), "Must be a valid name.");
    }
    return (port >= 1 && port <= 65535) ||
           ce_refuse_invalid(&q->refusal, q->a, arena_printf(q->a, "%s.port", where),
                             arena_printf(q->a, "%lld", (long long)port),
                             "Must be between 1 and 65535.");
}

bool ce_group_set_named_ports(struct request *q, struct json_object **ret)
{
    (void)ret;
    if (!ce_write_check_fingerprint(q, false)) {
        return false;
    }
    struct json_object *ports = json_member(q->body, "namedPorts");
    for (size_t i = 0; i < json_len(ports); i++) {
        if (!check_named_port(q, json_object_array_get_idx(ports, i), i)) {
            return false;
        }
    }
    struct json_object *body = json_copy(q->res->body);
    json_add(body, "namedPorts", ports ? json_copy(ports) : json_object_new_array());
    ce_write_store(q, body);
    return true;
}
