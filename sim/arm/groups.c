/* SPDX-License-Identifier: Apache-2.0 */
/* groups.c: resource groups by request: GET, HEAD, PUT and DELETE of one, and their list.
 *
 * They belong to Microsoft.Resources, which has no schema pack here, so this file routes them
 * itself.  A group that was made by a request is a document of the store; one that is known from
 * its resources or from a configuration has none until it is written.  Its deletion takes
 * everything in it along.  Source: REST reference "Resource Groups". */
#include "sim/arm/arm.h"

#include <string.h>
#include <strings.h>

#define NAME_MAX_BYTES 90

/* "/subscriptions/S/resourcegroups[/NAME]", decoded; false: the path is another one. */
static bool take_apart(struct arena *a, const char *path, const char **ret_subscription,
                       const char **ret_name)
{
    size_t n = 0;
    size_t len = strlen(path);
    len -= len > 1 && path[len - 1] == '/';
    char **parts = str_split(a, arena_strndup(a, path, len), '/', &n);
    if (n < 4 || n > 5 || !str_eq_nocase(parts[1], "subscriptions") ||
        !str_eq_nocase(parts[3], "resourcegroups")) {
        return false;
    }
    *ret_subscription = url_unescape(a, parts[2], false);
    *ret_name = n == 5 ? url_unescape(a, parts[4], false) : NULL;
    return *ret_subscription && (n == 4 || *ret_name);
}

const char *arm_groups_op(struct sim_call *call)
{
    const char *subscription, *name;
    if (!take_apart(call->arena, call->path, &subscription, &name)) {
        return NULL;
    }
    return str_eq(call->method, "PUT")      ? "ResourceGroups.CreateOrUpdate"
           : str_eq(call->method, "DELETE") ? "ResourceGroups.Delete"
           : str_eq(call->method, "HEAD")   ? "ResourceGroups.CheckExistence"
           : name                           ? "ResourceGroups.Get"
                                            : "ResourceGroups.List";
}

static struct json_object *group_json(struct arm_request *q, const char *name)
{
    const char *id = arena_printf(q->a, "/subscriptions/%s/resourceGroups/%s", q->subscription,
                                  arm_group_name(q->arm, q->subscription, name));
    const struct arm_resource *res = arm_get(q->arm, id);
    struct json_object *o = res ? json_copy(res->body) : json_object_new_object();
    struct json_object *p = json_object_new_object();
    json_add_str(o, "id", id);
    json_add_str(o, "name", arm_id_name(id));
    json_add_str(o, "type", "Microsoft.Resources/resourceGroups");
    if (!json_str(o, "location")) {
        json_add_str(o, "location", q->arm->location);
    }
    json_add_str(p, "provisioningState", "Succeeded");
    json_add(o, "properties", p);
    return o;
}

/* --- verbs ------------------------------------------------------------------------------------ */

static bool list_groups(struct arm_request *q)
{
    struct json_object *items = json_object_new_array();
    const char *prefix =
        str_lower(q->a, arena_printf(q->a, "/subscriptions/%s/resourcegroups/", q->subscription));
    size_t n = 0;
    const char **keys = map_keys(q->arm->groups, &n);
    for (size_t i = 0; i < n; i++) {
        if (str_has_prefix(keys[i], prefix)) {
            json_object_array_add(items, group_json(q, keys[i] + strlen(prefix)));
        }
    }
    free(keys);
    return arm_answer_page(q, items);
}

static bool name_is_valid(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "-_.()";
    size_t n = strlen(name);
    return n > 0 && n <= NAME_MAX_BYTES && strspn(name, allowed) == n && name[n - 1] != '.';
}

static bool put_group(struct arm_request *q, bool known)
{
    struct err err = ERR_INIT;
    const char *location;
    if (json_parse_arena(q->a, q->call->body, q->call->body_len, NULL, &q->body, &err) ||
        !json_object_is_type(q->body, json_type_object)) {
        return arm_refuse(q, 400, "InvalidRequestContent",
                          "The request content was invalid and could not be deserialized: '%s'.",
                          err.message);
    }
    location = json_str(q->body, "location");
    if (!known && !name_is_valid(q->group)) {
        return arm_refuse(q, 400, "InvalidResourceGroup",
                          "The provided resource group name '%s' has these invalid characters, or "
                          "ends with a dot, or is longer than %d characters.",
                          q->group, NAME_MAX_BYTES);
    }
    if (str_is_empty(location)) {
        return arm_refuse(q, 400, "LocationRequired",
                          "The location property is required for this definition.");
    }
    struct json_object *body = json_object_new_object(), *tags = json_member(q->body, "tags");
    json_add_str(body, "location", location);
    if (json_object_is_type(tags, json_type_object)) {
        json_add(body, "tags", json_copy(tags));
    }
    (void)arm_set(q->arm, q->id, body);
    q->status = known ? 200 : 201;
    q->answer = group_json(q, q->group);
    return true;
}

struct contents {
    const char *group;
    struct arena *a;
    const char **ids;
    size_t n, room;
    bool busy;
};

static bool collect(struct arm_resource *res, void *arg)
{
    struct contents *c = arg;
    if (!arm_id_is_below(res->id, c->group) && !str_eq_nocase(res->id, c->group)) {
        return true;
    }
    c->busy = c->busy || res->op;
    if (c->n == c->room) {
        const char **more = ARENA_ARRAY(c->a, const char *, 2 * c->room + 8);
        for (size_t i = 0; i < c->n; i++) {
            more[i] = c->ids[i];
        }
        c->ids = more;
        c->room = 2 * c->room + 8;
    }
    c->ids[c->n++] = arena_strdup(c->a, res->id);
    return true;
}

/* A lock on anything in the group holds the whole of it. */
static bool check_locks_inside(struct arm_request *q)
{
    struct json_object *locks = json_member(q->arm->settings, "locks");
    for (size_t i = 0; i < json_len(locks); i++) {
        const char *scope = json_str(json_object_array_get_idx(locks, i), "scope");
        if (scope && arm_id_is_below(scope, q->id)) {
            return arm_refuse(q, 409, "ScopeLocked",
                              "The scope '%s' cannot perform delete operation because following "
                              "scope(s) are locked: '%s'. Please remove the lock and try again.",
                              q->id, scope);
        }
    }
    return true;
}

static bool delete_group(struct arm_request *q)
{
    struct contents c = {.group = q->id, .a = q->a};
    if (!check_locks_inside(q)) {
        return false;
    }
    arm_each(q->arm, NULL, collect, &c);
    if (c.busy) {
        return arm_refuse(q, 409, "ResourceGroupDeletionBlocked",
                          "Deletion of resource group '%s' failed as an operation on one of its "
                          "resources is in progress.",
                          q->group);
    }
    for (size_t i = 0; i < c.n; i++) {
        arm_unset(q->arm, c.ids[i]);
    }
    arm_group_remove(q->arm, q->subscription, q->group);
    arm_settle(q->arm);
    q->status = 200;
    return true;
}

/* --- dispatch --------------------------------------------------------------------------------- */

static bool check_version(struct arm_request *q)
{
    return !str_is_empty(arm_param(q, "api-version")) ||
           arm_refuse(q, 400, "MissingApiVersionParameter",
                      "The api-version query parameter (?api-version=) is required for all "
                      "requests.");
}

bool arm_groups_run(struct arm_request *q)
{
    const char *method = q->call->method, *name = NULL;
    (void)take_apart(q->a, q->call->path, &q->subscription, &name);
    if (!check_version(q)) {
        return false;
    }
    if (!arm_subscription_known(q->arm, q->subscription)) {
        return arm_refuse(q, 404, "SubscriptionNotFound",
                          "The subscription '%s' could not be found.", q->subscription);
    }
    if (!name && str_eq(method, "GET")) {
        return list_groups(q);
    }
    if (!name || (!str_eq(method, "GET") && !str_eq(method, "HEAD") && !str_eq(method, "PUT") &&
                  !str_eq(method, "DELETE"))) {
        return arm_refuse(q, 405, "HttpMethodNotAllowed",
                          "The requested resource does not support http method '%s'.", method);
    }
    bool known = arm_group_known(q->arm, q->subscription, name);
    q->group = q->name = arena_strdup(q->a, arm_group_name(q->arm, q->subscription, name));
    q->id = arena_printf(q->a, "/subscriptions/%s/resourceGroups/%s", q->subscription, q->group);
    if (!known && !str_eq(method, "PUT")) {
        return arm_refuse(q, 404, "ResourceGroupNotFound",
                          "Resource group '%s' could not be found.", q->group);
    }
    if (!str_eq(method, "HEAD") && !arm_check_locks(q)) {
        return false;
    }
    if (str_eq(method, "PUT")) {
        return put_group(q, known);
    }
    if (str_eq(method, "DELETE")) {
        return delete_group(q);
    }
    q->status = str_eq(method, "HEAD") ? 204 : 200;
    q->answer = str_eq(method, "HEAD") ? NULL : group_json(q, q->group);
    return true;
}
