/* SPDX-License-Identifier: Apache-2.0 */
/* options.c: the parameters of writes, judged as the API server judges its CreateOptions,
 * UpdateOptions, PatchOptions and DeleteOptions.
 *
 * A value that the server does not know is refused instead of passed over: a client that misspells
 * dryRun must not change anything.  Reads the request only.  Source: meta/v1 validation;
 * tests/data/kube-answers. */
#include "sim/kube/options.h"

#include "common/data/json.h"
#include "sim/kube/decode.h"
#include "sim/kube/write.h"

#include <string.h>

#define MANAGER_MAX_BYTES 128

static struct json_object *refuse(const char *kind, struct kube_causes *causes)
{
    const struct kube_kind row = {
        .group = "meta.k8s.io", .version = "v1", .plural = "", .kind = kind};
    return kube_status_invalid(&row, "", causes, false);
}

static void check_dry_run(struct kube_causes *c, const char *value)
{
    if (value && !str_eq(value, "All")) {
        kube_cause(c, KUBE_NOT_SUPPORTED, "dryRun",
                   arena_printf(c->arena, "[%s]", kube_quoted(c->arena, value)),
                   "supported values: \"All\"");
    }
}

static void check_manager(struct kube_causes *c, const char *manager)
{
    if (!manager) {
        return;
    }
    if (strlen(manager) > MANAGER_MAX_BYTES) {
        kube_cause(c, KUBE_TOO_LONG, "fieldManager", NULL, "may not be more than 128 bytes");
    }
    for (size_t i = 0; manager[i]; i++) {
        unsigned char byte = (unsigned char)manager[i];
        if (byte < 0x20 || byte == 0x7f) {
            kube_invalid(
                c, "fieldManager", manager,
                arena_printf(c->arena, "invalid character U+%04X (at position %zu)", byte, i));
            return;
        }
    }
}

struct json_object *kube_check_write_options(struct kube_request *r, bool apply)
{
    static const char *const validations[] = {"", "Ignore", "Strict", "Warn", NULL};
    struct kube_causes c = {.arena = r->arena};
    const char *validation = str_nonnull(sim_call_param(r->call, "fieldValidation"));
    bool patch = r->verb == KUBE_PATCH;
    const char *manager = sim_call_param(r->call, "fieldManager");
    if (apply && str_is_empty(manager)) {
        kube_required(&c, "fieldManager", "is required for apply patch");
    }
    if (patch && !apply && sim_call_param(r->call, "force")) {
        kube_forbidden(&c, "force", "may not be specified for non-apply patch");
    }
    check_manager(&c, manager);
    check_dry_run(&c, sim_call_param(r->call, "dryRun"));
    bool known = false;
    for (size_t i = 0; validations[i]; i++) {
        known = known || str_eq(validation, validations[i]);
    }
    if (!known) {
        kube_not_supported(&c, "fieldValidation", validation, validations);
    }
    return refuse(patch                    ? "PatchOptions"
                  : r->verb == KUBE_UPDATE ? "UpdateOptions"
                                           : "CreateOptions",
                  &c);
}

/* --- DELETE ----------------------------------------------------------------------------------- */
static struct json_object *unreadable_options(const char *error)
{
    return kube_status_bad_request("couldn't get version/kind; json parse error: %s", error);
}

static struct json_object *read_body(struct kube_request *r, struct json_object **ret)
{
    const char *type = str_nonnull(http_req_header(r->call->req, "Content-Type"));
    bool is_json = !*type || str_has_prefix(type, "application/json");
    const char *error =
        is_json ? kube_json_error(r->arena, r->call->body, r->call->body_len) : NULL;
    if (error) {
        return unreadable_options(error);
    }
    struct json_object *refusal = kube_read_body(r, &kube_type_delete_options, ret);
    if (refusal) {
        return refusal;
    }
    if (!json_object_is_type(*ret, json_type_object)) {
        return unreadable_options(kube_no_object_error(r->arena, *ret));
    }
    const char *kind = json_str(*ret, "kind");
    if (kind && !str_eq(kind, "DeleteOptions")) {
        return kube_status_bad_request("no kind \"%s\" is registered for version \"%s\" in scheme "
                                       "\"pkg/runtime/scheme.go:111\"",
                                       kind, str_nonnull(json_str(*ret, "apiVersion")));
    }
    struct kube_decode d = {.arena = r->arena};
    json_object_put(kube_decode(&d, &kube_type_delete_options, *ret));
    return d.error ? kube_status_bad_request("%s", d.error) : NULL;
}

static void put_tree(void *arg)
{
    json_object_put(arg);
}

/* Without a body the same options may stand behind the question mark. */
static struct json_object *read_parameters(struct kube_request *r, struct json_object **ret)
{
    static const char *const names[] = {"propagationPolicy", "dryRun", "orphanDependents"};
    const char *grace = sim_call_param(r->call, "gracePeriodSeconds");
    int64_t seconds = 0;
    if (grace && !str_to_i64(grace, &seconds)) {
        return kube_status_bad_request("strconv.ParseInt: parsing %s: invalid syntax",
                                       kube_quoted(r->arena, grace));
    }
    struct json_object *o = json_object_new_object();
    if (grace) {
        json_add_int(o, "gracePeriodSeconds", seconds);
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *value = sim_call_param(r->call, names[i]);
        if (!value) {
            continue;
        }
        if (str_eq(names[i], "dryRun")) {
            json_add(o, "dryRun", json_strs(&value, 1));
        } else if (str_eq(names[i], "orphanDependents")) {
            json_add_bool(o, names[i], str_eq(value, "true") || str_eq(value, "1"));
        } else {
            json_add_str(o, names[i], value);
        }
    }
    arena_defer(r->arena, put_tree, o);
    *ret = o;
    return NULL;
}

struct json_object *kube_read_delete_options(struct kube_request *r, struct json_object **ret)
{
    static const char *const policies[] = {"Foreground", "Background", "Orphan", "nil", NULL};
    struct kube_causes c = {.arena = r->arena};
    *ret = NULL;
    struct json_object *refusal =
        r->call->body_len > 0 ? read_body(r, ret) : read_parameters(r, ret);
    if (refusal) {
        return refusal;
    }
    const char *policy = json_str(*ret, "propagationPolicy");
    if (policy && json_member(*ret, "orphanDependents")) {
        kube_invalid(&c, "propagationPolicy", policy,
                     "orphanDependents and deletionPropagation cannot be both set");
    } else if (policy && !str_eq(policy, policies[0]) && !str_eq(policy, policies[1]) &&
               !str_eq(policy, policies[2])) {
        kube_not_supported(&c, "propagationPolicy", policy, policies);
    }
    struct json_object *dry = json_member(*ret, "dryRun");
    if (json_len(dry) > 0) {
        check_dry_run(&c, json_object_get_string(json_object_array_get_idx(dry, 0)));
    }
    return refuse("DeleteOptions", &c);
}
