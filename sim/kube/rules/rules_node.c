/* SPDX-License-Identifier: Apache-2.0 */
/* rules_node.c: defaults of a Node, and its validation.
 *
 * Pure: edits and judges trees.  podCIDR is the first of podCIDRs, whichever of the two was given;
 * allocatable defaults to the capacity.  Recorded: 099–102, tests/data/kube-answers. */
#include "common/base/str.h"
#include "common/data/json.h"
#include "sim/kube/kube.h"
#include "sim/kube/rules/rules.h"

#include <string.h>

static void node_defaults(struct kube_change *c)
{
    struct json_object *spec = kube_need(c->now, "spec");
    struct json_object *cidrs = json_member(spec, "podCIDRs");
    const char *cidr = str_nonnull(json_str(spec, "podCIDR"));
    const char *first = json_len(cidrs) ? kube_item(cidrs, 0) : "";
    if (!*cidr && *first) {
        kube_set(spec, "podCIDR", json_object_new_string(first));
    } else if (*cidr && !str_eq(cidr, first)) {
        kube_set(spec, "podCIDRs", json_strs(&cidr, 1));
    }
    struct json_object *status = kube_need(c->now, "status");
    struct json_object *capacity = json_member(status, "capacity");
    if (capacity && !json_member(status, "allocatable")) {
        kube_set(status, "allocatable", json_copy(capacity));
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

/* A new node is not ready until its status says so (recorded 099). */
static void node_prepare(struct kube_change *c)
{
    static const char not_ready[] = "node.kubernetes.io/not-ready";
    struct json_object *spec = kube_need(c->now, "spec");
    kube_set(spec, "configSource", NULL); /* dynamic configuration of kubelets is gone */
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

static void refuse_repeated_taint(struct json_object *taints, size_t i, struct kube_causes *causes)
{
    struct json_object *t = json_object_array_get_idx(taints, i);
    for (size_t k = 0; k < i; k++) {
        struct json_object *other = json_object_array_get_idx(taints, k);
        if (str_eq(json_str(t, "key"), json_str(other, "key")) &&
            str_eq(json_str(t, "effect"), json_str(other, "effect"))) {
            kube_cause(causes, KUBE_DUPLICATE,
                       arena_printf(causes->arena, "metadata.taints[%zu]", i),
                       arena_printf(causes->arena,
                                    "{\"Key\":%s,\"Value\":%s,\"Effect\":%s,\"TimeAdded\":null}",
                                    kube_quoted(causes->arena, str_nonnull(json_str(t, "key"))),
                                    kube_quoted(causes->arena, str_nonnull(json_str(t, "value"))),
                                    kube_quoted(causes->arena, str_nonnull(json_str(t, "effect")))),
                       "taints must be unique by key and effect pair");
            return;
        }
    }
}

static void node_validate_taints(struct json_object *spec, struct kube_causes *causes)
{
    static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute", NULL};
    struct json_object *taints = json_member(spec, "taints");
    for (size_t i = 0; i < json_len(taints); i++) {
        struct json_object *t = json_object_array_get_idx(taints, i);
        const char *key = str_nonnull(json_str(t, "key"));
        const char *effect = str_nonnull(json_str(t, "effect"));
        kube_check_qualified_name(causes,
                                  arena_printf(causes->arena, "metadata.taints[%zu].key", i), key);
        kube_check_label_value(causes, arena_printf(causes->arena, "metadata.taints[%zu].value", i),
                               str_nonnull(json_str(t, "value")));
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
        refuse_repeated_taint(taints, i, causes);
    }
}

static void node_validate_cidrs(struct json_object *spec, struct kube_causes *causes)
{
    struct json_object *cidrs = json_member(spec, "podCIDRs");
    size_t n = json_len(cidrs);
    size_t n_v6 = 0;
    for (size_t i = 0; i < n; i++) {
        kube_check_cidr(causes, arena_printf(causes->arena, "spec.podCIDRs[%zu]", i),
                        kube_item(cidrs, i));
        n_v6 += strchr(kube_item(cidrs, i), ':') != NULL;
    }
    if (n_v6 > 1 || n - n_v6 > 1) {
        kube_invalid_json(causes, "spec.podCIDRs", cidrs,
                          "may specify no more than one CIDR for each IP family");
    }
}

static void node_validate_resources(struct json_object *status, const char *list,
                                    struct kube_causes *causes)
{
    struct json_object *resources = json_member(status, list);
    if (!resources) {
        return;
    }
    json_object_object_foreach(resources, name, quantity)
    {
        const char *text = json_object_get_string(quantity);
        if (*text == '-' && strspn(text, "-0.") != strlen(text)) {
            kube_invalid(causes, arena_printf(causes->arena, "status.%s.%s", list, name), text,
                         "must be greater than or equal to 0");
        }
    }
}

static void node_validate(const struct kube_change *c, struct kube_causes *causes)
{
    struct json_object *now = json_member(c->now, "spec");
    struct json_object *was = c->was ? json_member(c->was, "spec") : NULL;
    struct json_object *status = json_member(c->now, "status");
    node_validate_taints(now, causes);
    if (!c->was) {
        node_validate_cidrs(now, causes);
    }
    node_validate_resources(status, "capacity", causes);
    node_validate_resources(status, "allocatable", causes);
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
