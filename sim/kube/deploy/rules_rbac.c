/* SPDX-License-Identifier: Apache-2.0 */
/* rules_rbac.c: the rules of roles and of their bindings.  Pure: edits and judges trees. */
#include "sim/kube/deploy/deploy.h"
#include "sim/kube/kube.h"
#include "sim/kube/rules/rules.h"

#define RBAC_GROUP "rbac.authorization.k8s.io"

/* --- roles ------------------------------------------------------------------------------------ */
static void validate_rule(struct json_object *rule, const char *at, bool in_namespace,
                          struct kube_causes *causes)
{
    struct arena *a = causes->arena;
    size_t n_urls = json_len(json_member(rule, "nonResourceURLs"));
    size_t n_groups = json_len(json_member(rule, "apiGroups"));
    size_t n_resources = json_len(json_member(rule, "resources"));
    if (json_len(json_member(rule, "verbs")) == 0) {
        kube_required(causes, arena_printf(a, "%s.verbs", at),
                      "verbs must contain at least one value");
    }
    if (n_urls > 0) {
        const char *field = arena_printf(a, "%s.nonResourceURLs", at);
        if (in_namespace) {
            kube_invalid_json(causes, field, json_member(rule, "nonResourceURLs"),
                              "namespaced rules cannot apply to non-resource URLs");
        }
        if (n_groups > 0 || n_resources > 0 || json_len(json_member(rule, "resourceNames")) > 0) {
            kube_invalid_json(causes, field, json_member(rule, "nonResourceURLs"),
                              "rules cannot apply to both regular resources and non-resource URLs");
        }
        return;
    }
    if (n_groups == 0) {
        kube_required(causes, arena_printf(a, "%s.apiGroups", at),
                      "resource rules must supply at least one api group");
    }
    if (n_resources == 0) {
        kube_required(causes, arena_printf(a, "%s.resources", at),
                      "resource rules must supply at least one resource");
    }
}

static void role_validate(const struct kube_change *c, struct kube_causes *causes)
{
    struct json_object *rules = json_member(c->now, "rules");
    for (size_t i = 0; i < json_len(rules); i++) {
        validate_rule(json_object_array_get_idx(rules, i),
                      arena_printf(causes->arena, "rules[%zu]", i), c->kind->namespaced, causes);
    }
}

const struct kube_rules kube_rules_role = {.validate = role_validate};

/* --- bindings --------------------------------------------------------------------------------- */
static void need_group(struct json_object *o, const char *group)
{
    if (str_is_empty(json_str(o, "apiGroup"))) {
        kube_set(o, "apiGroup", json_object_new_string(group));
    }
}

static void binding_defaults(struct kube_change *c)
{
    struct json_object *subjects = json_member(c->now, "subjects");
    need_group(kube_need(c->now, "roleRef"), RBAC_GROUP);
    for (size_t i = 0; i < json_len(subjects); i++) {
        struct json_object *s = json_object_array_get_idx(subjects, i);
        if (!str_eq(json_str(s, "kind"), "ServiceAccount")) {
            need_group(s, RBAC_GROUP);
        }
    }
}

static void validate_subject(struct json_object *s, const char *at, struct kube_causes *causes)
{
    static const char *const kinds[] = {"Group", "ServiceAccount", "User", NULL};
    const char *kind = str_nonnull(json_str(s, "kind"));
    const char *name = str_nonnull(json_str(s, "name"));
    bool account = str_eq(kind, "ServiceAccount");
    if (*name == '\0') {
        kube_required(causes, arena_printf(causes->arena, "%s.name", at), NULL);
    } else if (account) {
        kube_check_dns_subdomain(causes, arena_printf(causes->arena, "%s.name", at), name);
    }
    if (!account && !str_eq(kind, "User") && !str_eq(kind, "Group")) {
        kube_not_supported(causes, arena_printf(causes->arena, "%s.kind", at), kind, kinds);
    }
    if (account && str_is_empty(json_str(s, "namespace"))) {
        kube_required(causes, arena_printf(causes->arena, "%s.namespace", at), NULL);
    }
}

static void validate_ref(const struct kube_change *c, struct kube_causes *causes)
{
    static const char *const in_cluster[] = {"ClusterRole", NULL};
    static const char *const in_namespace[] = {"ClusterRole", "Role", NULL};
    static const char *const groups[] = {RBAC_GROUP, NULL};
    struct json_object *ref = json_member(c->now, "roleRef");
    const char *kind = str_nonnull(json_str(ref, "kind"));
    const char *group = str_nonnull(json_str(ref, "apiGroup"));
    bool known = str_eq(kind, "ClusterRole") || (c->kind->namespaced && str_eq(kind, "Role"));
    if (!str_eq(group, RBAC_GROUP)) {
        kube_not_supported(causes, "roleRef.apiGroup", group, groups);
    }
    if (!known) {
        kube_not_supported(causes, "roleRef.kind", kind,
                           c->kind->namespaced ? in_namespace : in_cluster);
    }
    if (str_is_empty(json_str(ref, "name"))) {
        kube_required(causes, "roleRef.name", NULL);
    }
    if (c->was && !kube_same(ref, json_member(c->was, "roleRef"))) {
        kube_invalid_json(causes, "roleRef", ref, "cannot change roleRef");
    }
}

static void binding_validate(const struct kube_change *c, struct kube_causes *causes)
{
    struct json_object *subjects = json_member(c->now, "subjects");
    validate_ref(c, causes);
    for (size_t i = 0; i < json_len(subjects); i++) {
        validate_subject(json_object_array_get_idx(subjects, i),
                         arena_printf(causes->arena, "subjects[%zu]", i), causes);
    }
}

const struct kube_rules kube_rules_binding = {
    .set_defaults = binding_defaults,
    .validate = binding_validate,
};
