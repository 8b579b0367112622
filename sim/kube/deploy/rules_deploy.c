/* SPDX-License-Identifier: Apache-2.0 */
/* rules_deploy.c: the rules of Deployments, DaemonSets, NetworkPolicies and PodDisruptionBudgets.
 * Pure: edits and judges trees. */
#include "sim/kube/deploy/deploy.h"
#include "sim/kube/kube.h"
#include "sim/kube/pods/parts.h"
#include "sim/kube/pods/rules_pod.h"
#include "sim/kube/rules/rules.h"

/* --- Deployment ------------------------------------------------------------------------------- */
static void need_int(struct json_object *o, const char *name, int64_t value)
{
    if (!json_member(o, name)) {
        json_add_int(o, name, value);
    }
}

static void need_text(struct json_object *o, const char *name, const char *text)
{
    if (!json_member(o, name)) {
        kube_set(o, name, json_object_new_string(text));
    }
}

static void deployment_defaults(struct kube_change *c)
{
    struct json_object *spec = kube_need(c->now, "spec");
    struct json_object *strategy = kube_need(spec, "strategy");
    need_int(spec, "replicas", 1);
    need_int(spec, "revisionHistoryLimit", 10);
    need_int(spec, "progressDeadlineSeconds", 600);
    need_text(strategy, "type", "RollingUpdate");
    if (str_eq(json_str(strategy, "type"), "RollingUpdate")) {
        struct json_object *rolling = kube_need(strategy, "rollingUpdate");
        need_text(rolling, "maxUnavailable", "25%");
        need_text(rolling, "maxSurge", "25%");
    }
    kube_default_pod_spec(kube_need(kube_need(spec, "template"), "spec"));
}

/* A new one has no status that a client gave it. */
static void no_status_at_first(struct kube_change *c)
{
    if (!c->was) {
        kube_set(c->now, "status", json_object_new_object());
    }
}

static void validate_selector(struct json_object *spec, const char *empty,
                              struct kube_causes *causes)
{
    struct json_object *selector = json_member(spec, "selector");
    struct json_object *wanted = json_member(selector, "matchLabels");
    struct json_object *labels = json_path(spec, "template.metadata.labels");
    if (!selector) {
        kube_required(causes, "spec.selector", NULL);
        return;
    }
    if (!wanted && json_len(json_member(selector, "matchExpressions")) == 0) {
        kube_invalid_json(causes, "spec.selector", selector, empty);
        return;
    }
    if (wanted && !selector_takes(wanted, labels)) {
        kube_invalid_json(causes, "spec.template.metadata.labels", labels,
                          "`selector` does not match template `labels`");
    }
}

/* Rules common to both kinds. */
static void validate_workload(const struct kube_change *c, const char *empty,
                              struct kube_causes *causes)
{
    static const char *const policies[] = {"Always", NULL};
    struct json_object *spec = json_member(c->now, "spec");
    const char *restart = json_str(json_path(spec, "template.spec"), "restartPolicy");
    if (c->was && !kube_same(json_path(c->was, "spec.selector"), json_member(spec, "selector"))) {
        kube_invalid_json(causes, "spec.selector", json_member(spec, "selector"),
                          "field is immutable");
    }
    validate_selector(spec, empty, causes);
    kube_validate_pod_spec(json_path(spec, "template.spec"), "spec.template.spec", causes);
    if (!str_eq(restart, "Always")) {
        kube_not_supported(causes, "spec.template.spec.restartPolicy", str_nonnull(restart),
                           policies);
    }
}

static void deployment_validate(const struct kube_change *c, struct kube_causes *causes)
{
    static const char *const types[] = {"Recreate", "RollingUpdate", NULL};
    struct json_object *spec = json_member(c->now, "spec");
    const char *type = str_nonnull(json_str(json_member(spec, "strategy"), "type"));
    int64_t replicas = json_int(spec, "replicas", 1);
    if (replicas < 0) {
        kube_invalid_int(causes, "spec.replicas", replicas, "must be greater than or equal to 0");
    }
    validate_workload(c, "empty selector is invalid for deployment", causes);
    if (!str_eq(type, types[0]) && !str_eq(type, types[1])) {
        kube_not_supported(causes, "spec.strategy.type", type, types);
    }
}

const struct kube_rules kube_rules_deployment = {
    .set_defaults = deployment_defaults,
    .prepare = no_status_at_first,
    .validate = deployment_validate,
};

/* --- DaemonSet -------------------------------------------------------------------------------- */
static void daemon_set_defaults(struct kube_change *c)
{
    struct json_object *spec = kube_need(c->now, "spec");
    struct json_object *strategy = kube_need(spec, "updateStrategy");
    need_int(spec, "revisionHistoryLimit", 10);
    need_text(strategy, "type", "RollingUpdate");
    if (str_eq(json_str(strategy, "type"), "RollingUpdate")) {
        struct json_object *rolling = kube_need(strategy, "rollingUpdate");
        need_int(rolling, "maxUnavailable", 1);
        need_int(rolling, "maxSurge", 0);
    }
    kube_default_pod_spec(kube_need(kube_need(spec, "template"), "spec"));
}

static void daemon_set_validate(const struct kube_change *c, struct kube_causes *causes)
{
    static const char *const types[] = {"OnDelete", "RollingUpdate", NULL};
    struct json_object *spec = json_member(c->now, "spec");
    const char *type = str_nonnull(json_str(json_member(spec, "updateStrategy"), "type"));
    validate_workload(c, "empty selector is invalid for daemonset", causes);
    if (!str_eq(type, types[0]) && !str_eq(type, types[1])) {
        kube_not_supported(causes, "spec.updateStrategy.type", type, types);
    }
}

/* It is kept and starts no pods. */
const struct kube_rules kube_rules_daemon_set = {
    .set_defaults = daemon_set_defaults,
    .prepare = no_status_at_first,
    .validate = daemon_set_validate,
};

/* --- NetworkPolicy ---------------------------------------------------------------------------- */
static void default_ports(struct json_object *rules)
{
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *ports = json_member(json_object_array_get_idx(rules, i), "ports");
        for (size_t k = 0; k < json_len(ports); k++) {
            need_text(json_object_array_get_idx(ports, k), "protocol", "TCP");
        }
    }
}

static void policy_defaults(struct kube_change *c)
{
    struct json_object *spec = kube_need(c->now, "spec");
    default_ports(json_member(spec, "ingress"));
    default_ports(json_member(spec, "egress"));
    if (json_len(json_member(spec, "policyTypes")) == 0) {
        static const char *const both[] = {"Ingress", "Egress"};
        bool egress = json_len(json_member(spec, "egress")) > 0;
        kube_set(spec, "policyTypes", json_strs(both, egress ? 2 : 1));
    }
}

static void validate_policy_port(struct json_object *port, const char *at,
                                 struct kube_causes *causes)
{
    static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};
    const char *protocol = str_nonnull(json_str(port, "protocol"));
    struct json_object *number = json_member(port, "port");
    const char *field = arena_printf(causes->arena, "%s.port", at);
    bool known = false;
    for (size_t i = 0; protocols[i]; i++) {
        known = known || str_eq(protocol, protocols[i]);
    }
    if (!known) {
        kube_not_supported(causes, arena_printf(causes->arena, "%s.protocol", at), protocol,
                           protocols);
    }
    if (json_object_is_type(number, json_type_int) &&
        (json_object_get_int64(number) < 1 || json_object_get_int64(number) > 65535)) {
        kube_invalid_int(causes, field, json_object_get_int64(number),
                         "must be between 1 and 65535, inclusive");
    } else if (json_object_is_type(number, json_type_string)) {
        kube_check_port_name(causes, field, json_object_get_string(number));
    }
}

static void validate_peer(struct json_object *peer, const char *at, struct kube_causes *causes)
{
    struct json_object *block = json_member(peer, "ipBlock");
    bool selects = json_member(peer, "podSelector") || json_member(peer, "namespaceSelector");
    if (!block && !selects) {
        kube_required(causes, at, "must specify a peer");
    } else if (block && selects) {
        kube_forbidden(causes, at, "may not specify both ipBlock and another peer");
    } else if (block) {
        struct json_object *except = json_member(block, "except");
        kube_check_cidr(causes, arena_printf(causes->arena, "%s.ipBlock.cidr", at),
                        str_nonnull(json_str(block, "cidr")));
        for (size_t i = 0; i < json_len(except); i++) {
            kube_check_cidr(causes, arena_printf(causes->arena, "%s.ipBlock.except[%zu]", at, i),
                            kube_item(except, i));
        }
    }
}

static void validate_policy_rules(struct json_object *spec, const char *list, const char *peers,
                                  struct kube_causes *causes)
{
    struct json_object *rules = json_member(spec, list);
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *rule = json_object_array_get_idx(rules, i);
        struct json_object *ports = json_member(rule, "ports");
        struct json_object *others = json_member(rule, peers);
        for (size_t k = 0; k < json_len(ports); k++) {
            validate_policy_port(json_object_array_get_idx(ports, k),
                                 arena_printf(causes->arena, "spec.%s[%zu].ports[%zu]", list, i, k),
                                 causes);
        }
        for (size_t k = 0; k < json_len(others); k++) {
            validate_peer(json_object_array_get_idx(others, k),
                          arena_printf(causes->arena, "spec.%s[%zu].%s[%zu]", list, i, peers, k),
                          causes);
        }
    }
}

static void policy_validate(const struct kube_change *c, struct kube_causes *causes)
{
    static const char *const known[] = {"Egress", "Ingress", NULL};
    struct json_object *spec = json_member(c->now, "spec");
    struct json_object *types = json_member(spec, "policyTypes");
    validate_policy_rules(spec, "ingress", "from", causes);
    validate_policy_rules(spec, "egress", "to", causes);
    for (size_t i = 0; i < json_len(types); i++) {
        const char *type = kube_item(types, i);
        if (!str_eq(type, known[0]) && !str_eq(type, known[1])) {
            kube_not_supported(causes, arena_printf(causes->arena, "spec.policyTypes[%zu]", i),
                               type, known);
        }
    }
}

const struct kube_rules kube_rules_network_policy = {
    .set_defaults = policy_defaults,
    .validate = policy_validate,
};

/* --- PodDisruptionBudget ---------------------------------------------------------------------- */
static void budget_validate(const struct kube_change *c, struct kube_causes *causes)
{
    static const char *const known[] = {"AlwaysAllow", "IfHealthyBudget", NULL};
    struct json_object *spec = json_member(c->now, "spec");
    const char *policy = json_str(spec, "unhealthyPodEvictionPolicy");
    if (json_member(spec, "minAvailable") && json_member(spec, "maxUnavailable")) {
        kube_invalid_json(causes, "spec", spec,
                          "minAvailable and maxUnavailable cannot be both set");
    }
    if (policy && !str_eq(policy, known[0]) && !str_eq(policy, known[1])) {
        kube_not_supported(causes, "spec.unhealthyPodEvictionPolicy", policy, known);
    }
}

const struct kube_rules kube_rules_disruption_budget = {
    .prepare = no_status_at_first,
    .validate = budget_validate,
};
