/* SPDX-License-Identifier: Apache-2.0 */
/* guards.c: locks and policies, which the resource manager checks before a resource provider sees
 * the request.
 *
 * Settings name them: "locks": [{"scope": ID, "level": "CanNotDelete" | "ReadOnly"}], inherited by
 * all below the scope, and "policies": [{"type", "name", "reason", "scope", "required_tag"}], which
 * deny writes of a type, or only of documents without a tag.  Source: learn.microsoft.com, "Lock
 * your resources", "Azure Policy deny effect"; Azure/AKS#3212 for the wording. */
#include "sim/arm/arm.h"

#include <string.h>

/* --- settings --------------------------------------------------------------------------------- */

static bool is_among(const char *text, const char *const *words)
{
    while (*words && !str_eq(*words, text)) {
        words++;
    }
    return *words != NULL;
}

static int check_item(const char *list, struct json_object *item, const char *const *members,
                      struct err *err)
{
    if (!json_object_is_type(item, json_type_object)) {
        return err_set(err, ERR_INVALID, "setting \"%s\" of azure holds objects", list);
    }
    json_object_object_foreach(item, name, value)
    {
        if (!is_among(name, members) || !json_object_is_type(value, json_type_string)) {
            return err_set(err, ERR_INVALID, "setting \"%s\" of azure cannot have \"%s\": %s", list,
                           name, json_object_to_json_string(value));
        }
    }
    return ERR_OK;
}

int arm_guards_check(struct json_object *settings, struct err *err)
{
    static const char *const of_lock[] = {"scope", "level", NULL};
    static const char *const of_policy[] = {"type",  "name",         "reason",
                                            "scope", "required_tag", NULL};
    static const char *const levels[] = {"CanNotDelete", "ReadOnly", NULL};
    struct json_object *locks = json_member(settings, "locks");
    struct json_object *policies = json_member(settings, "policies");
    int code = ERR_OK;
    for (size_t i = 0; i < json_len(locks) && !code; i++) {
        struct json_object *lock = json_object_array_get_idx(locks, i);
        code = check_item("locks", lock, of_lock, err);
        if (!code && (!json_str(lock, "scope") || !is_among(json_str(lock, "level"), levels))) {
            code = err_set(err, ERR_INVALID,
                           "setting \"locks\" of azure: want a \"scope\" and the \"level\" "
                           "CanNotDelete or ReadOnly");
        }
    }
    for (size_t i = 0; i < json_len(policies) && !code; i++) {
        struct json_object *policy = json_object_array_get_idx(policies, i);
        code = check_item("policies", policy, of_policy, err);
        if (!code && (!json_str(policy, "type") || !json_str(policy, "name"))) {
            code = err_set(err, ERR_INVALID,
                           "setting \"policies\" of azure: want a \"type\" and a \"name\"");
        }
    }
    return code;
}

/* --- requests --------------------------------------------------------------------------------- */

/* The request is about the scope or something below it; a NULL scope is everything. */
static bool is_within(const struct arm_request *q, const char *scope)
{
    return !scope || str_eq_nocase(q->id, scope) || arm_id_is_below(q->id, scope);
}

bool arm_check_locks(struct arm_request *q)
{
    struct json_object *locks = json_member(q->arm->settings, "locks");
    bool removes = str_eq(q->call->method, "DELETE");
    if (str_eq(q->call->method, "GET")) {
        return true;
    }
    for (size_t i = 0; i < json_len(locks); i++) {
        struct json_object *lock = json_object_array_get_idx(locks, i);
        const char *scope = json_str(lock, "scope");
        if (scope && is_within(q, scope) &&
            (removes || str_eq(json_str(lock, "level"), "ReadOnly"))) {
            return arm_refuse(q, 409, "ScopeLocked",
                              "The scope '%s' cannot perform %s operation because following "
                              "scope(s) are locked: '%s'. Please remove the lock and try again.",
                              q->id, removes ? "delete" : "write", scope);
        }
    }
    return true;
}

static bool has_tag(struct arm_request *q, const char *wanted)
{
    const struct arm_resource *res = arm_get(q->arm, q->id);
    bool patches = str_eq(q->call->method, "PATCH");
    struct json_object *tags = json_member(q->body, "tags");
    tags = !tags && patches && res ? json_member(res->body, "tags") : tags;
    if (json_object_is_type(tags, json_type_object)) {
        json_object_object_foreach(tags, name, value)
        {
            (void)value;
            if (str_eq_nocase(name, wanted)) {
                return true;
            }
        }
    }
    return false;
}

static bool refuse_by_policy(struct arm_request *q, struct json_object *policy)
{
    const char *name = json_str(policy, "name"), *reason = json_str(policy, "reason");
    q->refusal.target = q->name;
    q->refusal.policy = name;
    q->refusal.policy_id = arena_printf(
        q->a, "/subscriptions/%s/providers/Microsoft.Authorization/policyAssignments/%s",
        q->subscription, name);
    if (reason) {
        return arm_refuse(q, 403, "RequestDisallowedByPolicy",
                          "Resource '%s' was disallowed by policy. Reasons: '%s'. See error "
                          "details for policy resource IDs.",
                          q->name, reason);
    }
    return arm_refuse(q, 403, "RequestDisallowedByPolicy",
                      "Resource '%s' was disallowed by policy. Policy identifiers: "
                      "'[{\"policyAssignment\":{\"name\":\"%s\",\"id\":\"%s\"}}]'.",
                      q->name, name, q->refusal.policy_id);
}

bool arm_check_policies(struct arm_request *q)
{
    struct json_object *policies = json_member(q->arm->settings, "policies");
    if (!str_eq(q->call->method, "PUT") && !str_eq(q->call->method, "PATCH")) {
        return true;
    }
    const char *type = arm_id_type(q->a, q->id);
    for (size_t i = 0; i < json_len(policies); i++) {
        struct json_object *policy = json_object_array_get_idx(policies, i);
        const char *tag = json_str(policy, "required_tag");
        if (type && str_eq_nocase(json_str(policy, "type"), type) && json_str(policy, "name") &&
            is_within(q, json_str(policy, "scope")) && (!tag || !has_tag(q, tag))) {
            return refuse_by_policy(q, policy);
        }
    }
    return true;
}
