/* SPDX-License-Identifier: Apache-2.0 */
/* rules_other.c: the rules of Nodes, Namespaces, Secrets, Leases, EndpointSlices and Events.
 *
 * Pure: edits and judges trees.  Recorded: 013 (namespace), 099–102 (node), 104 (slice), 106–118 (lease),
 * 119–125 (events in both APIs over one store, kept in the form of core/v1). */
#include "common/base/json.h"
#include "common/base/str.h"
#include "sim/kube/kube.h"
#include "sim/kube/rules.h"

#include <string.h>

/* --- Node ----------------------------------------------------------------------------------------- */
static void node_defaults(struct kube_change *c)
{
    struct json_object *spec = kube_need(c->now, "spec");
    const char *cidr = json_str(spec, "podCIDR");
    if (cidr && json_len(json_member(spec, "podCIDRs")) == 0) {
        kube_set(spec, "podCIDRs", json_strs(&cidr, 1));
    }
}

static bool has_taint(struct json_object *spec, const char *key)
{
    struct json_object *taints = json_member(spec, "taints");
    for (size_t i = 0; i < json_len(taints); i++) {
        if (str_eq(json_str(json_object_array_get_idx(taints, i), "key"), key)) {
            return true;
        }
    }
    return false;
}

/* A new node is not ready until somebody says so (recorded 099). */
static void node_prepare(struct kube_change *c)
{
    static const char not_ready[] = "node.kubernetes.io/not-ready";
    struct json_object *spec = kube_need(c->now, "spec");
    if (c->was || has_taint(spec, not_ready)) {
        return;
    }
    struct json_object *taint = json_object_new_object();
    json_add_str(taint, "key", not_ready);
    json_add_str(taint, "effect", "NoSchedule");
    struct json_object *taints = json_member(spec, "taints");
    if (!taints) {
        taints = json_object_new_array();
        kube_set(spec, "taints", taints);
    }
    json_object_array_add(taints, taint);
}

static void node_validate_taints(struct json_object *spec, struct kube_causes *causes)
{
    static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute", NULL};
    struct json_object *taints = json_member(spec, "taints");
    for (size_t i = 0; i < json_len(taints); i++) {
        struct json_object *t = json_object_array_get_idx(taints, i);
        const char *key = str_nonnull(json_str(t, "key"));
        const char *effect = str_nonnull(json_str(t, "effect"));
        const char *error = kube_qualified_name_error(causes->arena, key);
        if (error) {
            kube_invalid(causes, arena_printf(causes->arena, "metadata.taints[%zu].key", i), key,
                         error);
        }
        const char *field = arena_printf(causes->arena, "metadata.taints[%zu].effect", i);
        bool known = false;
        for (size_t k = 0; effects[k] && !known; k++) {
            known = str_eq(effect, effects[k]);
        }
        if (!*effect) {
            kube_required(causes, field, NULL);
        } else if (!known) {
            kube_not_supported(causes, field, effect, effects);
        }
    }
}

static void node_validate(const struct kube_change *c, struct kube_causes *causes)
{
    struct json_object *now = json_member(c->now, "spec");
    struct json_object *was = c->was ? json_member(c->was, "spec") : NULL;
    node_validate_taints(now, causes);
    const char *old_id = str_nonnull(json_str(was, "providerID"));
    if (*old_id && !str_eq(old_id, str_nonnull(json_str(now, "providerID")))) {
        kube_forbidden(causes, "spec.providerID",
                       "node updates may not change providerID except from \"\" to valid");
    }
    if (was && json_len(json_member(was, "podCIDRs")) > 0 &&
        !kube_same(json_member(was, "podCIDRs"), json_member(now, "podCIDRs"))) {
        kube_forbidden(causes, "spec.podCIDRs",
                       "node updates may not change podCIDR except from \"\" to valid");
    }
}

const struct kube_rules kube_rules_node = {
    .set_defaults = node_defaults,
    .prepare = node_prepare,
    .validate = node_validate,
};

/* --- Namespace ------------------------------------------------------------------------------------ */
static void namespace_defaults(struct kube_change *c)
{
    struct json_object *labels = kube_need(kube_need(c->now, "metadata"), "labels");
    kube_set(labels, "kubernetes.io/metadata.name", json_object_new_string(str_nonnull(c->name)));
}

static void namespace_prepare(struct kube_change *c)
{
    static const char *const finalizers[] = {"kubernetes"};
    if (!c->was) {
        kube_set(c->now, "spec", json_object_new_object());
        kube_set(json_member(c->now, "spec"), "finalizers", json_strs(finalizers, 1));
        kube_set(c->now, "status", json_object_new_object());
        json_add_str(json_member(c->now, "status"), "phase", "Active");
    } else if (!c->status_only) {
        struct json_object *spec = json_member(c->was, "spec");
        kube_set(c->now, "spec", spec ? json_copy(spec) : NULL);
    }
}

const struct kube_rules kube_rules_namespace = {
    .set_defaults = namespace_defaults,
    .prepare = namespace_prepare,
};

/* --- Secret --------------------------------------------------------------------------------------- */
static void secret_defaults(struct kube_change *c)
{
    struct json_object *plain = json_member(c->now, "stringData");
    if (plain) {
        struct json_object *data = kube_need(c->now, "data");
        json_object_object_foreach(plain, key, value)
        {
            const char *text = json_object_get_string(value);
            kube_set(
                data, key,
                json_object_new_string(str_base64_encode(c->arena, text, strlen(text), false)));
        }
        kube_set(c->now, "stringData", NULL);
    }
    if (str_is_empty(json_str(c->now, "type"))) {
        kube_set(c->now, "type", json_object_new_string("Opaque"));
    }
}

static void secret_validate(const struct kube_change *c, struct kube_causes *causes)
{
    if (c->was && !kube_same(json_member(c->now, "type"), json_member(c->was, "type"))) {
        kube_invalid_json(causes, "type", json_member(c->now, "type"), "field is immutable");
    }
}

const struct kube_rules kube_rules_secret = {
    .set_defaults = secret_defaults,
    .validate = secret_validate,
};

/* --- Lease ---------------------------------------------------------------------------------------- */
static void lease_validate(const struct kube_change *c, struct kube_causes *causes)
{
    struct json_object *spec = json_member(c->now, "spec");
    struct json_object *duration = json_member(spec, "leaseDurationSeconds");
    int64_t transitions = json_int(spec, "leaseTransitions", 0);
    if (duration && json_object_get_int64(duration) <= 0) {
        kube_invalid_int(causes, "spec.leaseDurationSeconds", json_object_get_int64(duration),
                         "must be greater than 0");
    }
    if (transitions < 0) {
        kube_invalid_int(causes, "spec.leaseTransitions", transitions,
                         "must be greater than or equal to 0");
    }
}

const struct kube_rules kube_rules_lease = {.validate = lease_validate};

/* --- EndpointSlice -------------------------------------------------------------------------------- */
static void slice_defaults(struct kube_change *c)
{
    struct json_object *ports = json_member(c->now, "ports");
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *p = json_object_array_get_idx(ports, i);
        if (!json_member(p, "name")) {
            kube_set(p, "name", json_object_new_string(""));
        }
        if (!json_member(p, "protocol")) {
            kube_set(p, "protocol", json_object_new_string("TCP"));
        }
    }
}

static void slice_validate(const struct kube_change *c, struct kube_causes *causes)
{
    static const char *const types[] = {"FQDN", "IPv4", "IPv6", NULL};
    const char *type = str_nonnull(json_str(c->now, "addressType"));
    if (!*type) {
        kube_required(causes, "addressType", NULL);
    } else if (!str_eq(type, "FQDN") && !str_eq(type, "IPv4") && !str_eq(type, "IPv6")) {
        kube_not_supported(causes, "addressType", type, types);
    }
    struct json_object *endpoints = json_member(c->now, "endpoints");
    for (size_t i = 0; i < json_len(endpoints); i++) {
        struct json_object *e = json_object_array_get_idx(endpoints, i);
        if (json_len(json_member(e, "addresses")) == 0) {
            kube_required(causes, arena_printf(causes->arena, "endpoints[%zu].addresses", i),
                          "must contain at least 1 address");
        }
    }
    if (c->was && !str_eq(type, str_nonnull(json_str(c->was, "addressType")))) {
        kube_invalid(causes, "addressType", type, "field is immutable");
    }
}

const struct kube_rules kube_rules_endpoint_slice = {
    .set_defaults = slice_defaults,
    .validate = slice_validate,
};

/* --- Events --------------------------------------------------------------------------------------- */
/* Names of the same member in core/v1 and events.k8s.io/v1. */
static const char *const event_names[][2] = {
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
    {"reportingComponent", "reportingController"},
};

static struct json_object *renamed(struct json_object *o, size_t from, size_t to)
{
    struct json_object *out = json_object_new_object();
    json_object_object_foreach(o, key, value)
    {
        const char *name = key;
        for (size_t i = 0; i < ARRAY_LEN(event_names); i++) {
            if (str_eq(key, event_names[i][from])) {
                name = event_names[i][to];
            }
        }
        if (!str_eq(key, "kind") && !str_eq(key, "apiVersion")) {
            json_object_object_add(out, name, json_object_get(value));
        }
    }
    return out;
}

struct json_object *kube_event_as_stored(struct json_object *served)
{
    return renamed(served, 1, 0);
}

/* In the order in which the newer API prints its members. */
struct json_object *kube_event_as_served(struct json_object *stored)
{
    struct json_object *mixed = renamed(stored, 0, 1);
    struct json_object *out = json_object_new_object();
    for (size_t i = 0; i < kube_type_events_event.n_fields; i++) {
        const char *name = kube_type_events_event.fields[i].name;
        struct json_object *v = NULL;
        if (json_object_object_get_ex(mixed, name, &v)) {
            json_object_object_add(out, name, json_object_get(v));
        }
    }
    json_object_put(mixed);
    return out;
}

/* The stricter rules of events.k8s.io/v1. */
static void validate_new_event(const struct kube_change *c, struct kube_causes *causes)
{
    static const struct {
        const char *stored, *field;
        size_t max;
    } required[] = {
        {"reportingComponent", "reportingController", 0},
        {"reportingInstance", "reportingInstance", 128},
        {"action", "action", 128},
        {"reason", "reason", 128},
    };
    if (c->was || str_eq(c->kind->group, "")) {
        return;
    }
    if (!json_member(c->now, "eventTime")) {
        kube_required(causes, "eventTime", NULL);
    }
    for (size_t i = 0; i < ARRAY_LEN(required); i++) {
        const char *v = str_nonnull(json_str(c->now, required[i].stored));
        if (!*v) {
            kube_required(causes, required[i].field, NULL);
        } else if (required[i].max && strlen(v) > required[i].max) {
            kube_invalid(causes, required[i].field, v, "can have at most 128 characters");
        }
    }
    const char *type = str_nonnull(json_str(c->now, "type"));
    if (!str_eq(type, "Normal") && !str_eq(type, "Warning")) {
        kube_invalid(causes, "type", type, "has invalid value: ");
    }
    if (strlen(str_nonnull(json_str(c->now, "message"))) > 1024) {
        kube_invalid(causes, "message", "", "can have at most 1024 characters");
    }
}

static void event_validate(const struct kube_change *c, struct kube_causes *causes)
{
    const char *about_ns =
        str_nonnull(json_str(json_member(c->now, "involvedObject"), "namespace"));
    if (!*about_ns) {
        if (!str_eq(c->namespace, "default") && !str_eq(c->namespace, "kube-system")) {
            kube_invalid(causes, "involvedObject.namespace", about_ns,
                         "does not match event.namespace");
        }
    } else if (!str_eq(about_ns, c->namespace)) {
        kube_invalid(causes, "involvedObject.namespace", about_ns,
                     "does not match event.namespace");
    }
    validate_new_event(c, causes);
}

const struct kube_rules kube_rules_event = {.validate = event_validate};
