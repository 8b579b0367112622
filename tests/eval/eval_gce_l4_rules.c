/* SPDX-License-Identifier: Apache-2.0 */
/* eval_gce_l4_rules.c: the functions gce.l4.* of trimtab-eval that answer from a Service, names or
 * texts.
 *
 * Each takes apart its input, calls the provider's own function, and puts the answer together. */
#include "tests/eval/eval_gce_l4.h"

#include "common/base/str.h"
#include "controller/sync/sync_rules.h"
#include "providers/gce/backend/gce_l4_address_rules.h"
#include "providers/gce/gce_provider.h"
#include "tests/eval/eval_gce_asked.h"

#include <string.h>
#include <strings.h>

#define RUN(name)                                                                                  \
    static int name(struct arena *a, struct json_object *in, struct json_object **ret,             \
                    struct err *err)

#define text_of eval_text

/* ---- names and descriptions ------------------------------------------------------------------ */

/* The rule's name by its protocol, in any case; NULL: rules of ours have no other. */
static const char *rule_name(const struct gce_l4_names *n, const char *protocol, bool v6)
{
    const struct {
        const char *protocol, *v4, *v6;
    } rows[] = {
        {"TCP", n->rule_tcp, n->rule_tcp_v6},
        {"UDP", n->rule_udp, n->rule_udp_v6},
        {"L3_DEFAULT", n->rule_l3, n->rule_l3_v6},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (strcasecmp(protocol, rows[i].protocol) == 0) {
            return v6 ? rows[i].v6 : rows[i].v4;
        }
    }
    return NULL;
}

/* The product has NEGs in the cluster's own subnetwork only (docs/adr/0013): for the name of one in
 * another subnetwork it has no answer. */
RUN(names)
{
    const char *uid = text_of(in, "kube_system_uid");
    const char *ns = text_of(in, "namespace");
    const char *name = text_of(in, "name");
    const char *protocol = text_of(in, "protocol");
    struct gce_l4_names n;
    (void)err;
    gce_l4_names_make(a, uid, ns, name, text_of(in, "uid"), &n);
    if (rule_name(&n, protocol, false) == NULL || json_member(in, "subnet") != NULL) {
        return EVAL_UNSUPPORTED;
    }
    struct json_object *o = json_object_new_object();
    json_add_str(o, "backend_service", n.backend);
    json_add_str(o, "forwarding_rule", rule_name(&n, protocol, false));
    json_add_str(o, "forwarding_rule_ipv6", rule_name(&n, protocol, true));
    json_add_str(o, "legacy_forwarding_rule", n.legacy);
    json_add_str(o, "legacy_forwarding_rule_ipv6", n.legacy_v6);
    json_add_str(o, "firewall", n.firewall);
    json_add_str(o, "firewall_ipv6", n.firewall_v6);
    json_add_str(o, "deny_firewall", n.deny);
    json_add_str(o, "deny_firewall_ipv6", n.deny_v6);
    json_add_str(o, "local_health_check", n.local_check);
    json_add_str(o, "local_health_check_firewall", n.local_check_firewall);
    json_add_str(o, "local_health_check_firewall_ipv6", n.local_check_firewall_v6);
    json_add_str(o, "shared_health_check", n.shared_check);
    json_add_str(o, "shared_health_check_firewall", n.shared_check_firewall);
    json_add_str(o, "shared_health_check_firewall_ipv6", n.shared_check_firewall_v6);
    *ret = o;
    return ERR_OK;
}

RUN(group_name)
{
    (void)err;
    *ret = json_object_new_string(gce_l4_group_name(a, text_of(in, "cluster_uid")));
    return ERR_OK;
}

RUN(description)
{
    const char *kind = text_of(in, "kind");
    const char *service = text_of(in, "service");
    struct gce_l4_description d = {
        .service = service, .version = text_of(in, "version"), .ip = text_of(in, "ip")};
    (void)err;
    if (str_eq(kind, "rule-ipv6")) {
        d = (struct gce_l4_description){.service = service};
    } else if (json_bool(in, "shared", false)) {
        d.service = "";
        d.text = gce_l4_shared_text(a, str_eq(kind, "firewall") ? "" : kind);
    }
    *ret = json_object_new_string(gce_l4_describe(a, &d));
    return ERR_OK;
}

/* ---- updates --------------------------------------------------------------------------------- */

/* The controller queues a Service for what changed in its spec, with Google's descriptor. */
static bool is_queued(const struct tt_service *was, const struct tt_service *is)
{
    const struct sync_scope scope = sync_scope_of(&tt_gce_provider);
    return (scope_reasons(&scope, was, is, true, NULL) & TT_REASON_SPEC) != 0;
}

/* Upstream asks of Services of one side alone. */
static int needs_update(struct arena *a, struct json_object *in, struct json_object **ret,
                        struct err *err, bool (*wants)(struct arena *a, const struct tt_service *s))
{
    const struct tt_service *was;
    const struct tt_service *is;
    int code = eval_service(a, json_member(in, "old"), &was, err);
    if (code == ERR_OK) {
        code = eval_service(a, json_member(in, "new"), &is, err);
    }
    if (code == ERR_OK) {
        *ret = json_object_new_boolean((wants(a, was) || wants(a, is)) && is_queued(was, is));
    }
    return code;
}

RUN(ilb_needs_update)
{
    return needs_update(a, in, ret, err, asked_wants_ilb);
}

RUN(netlb_needs_update)
{
    return needs_update(a, in, ret, err, asked_wants_netlb);
}

/* A load balancer's Service that has these annotations. */
static int service_with(struct arena *a, struct json_object *annotations,
                        const struct tt_service **ret, struct err *err)
{
    _cleanup_(json_putp) struct json_object *o = json_object_new_object();
    struct json_object *meta = json_object_new_object();
    struct json_object *spec = json_object_new_object();
    if (annotations != NULL) {
        json_add(meta, "annotations", json_object_get(annotations));
    }
    json_add(o, "metadata", meta);
    json_add_str(spec, "type", "LoadBalancer");
    json_add(o, "spec", spec);
    return eval_service(a, o, ret, err);
}

RUN(only_status)
{
    const struct tt_service *was;
    const struct tt_service *is;
    int code = service_with(a, json_member(in, "old"), &was, err);
    if (code == ERR_OK) {
        code = service_with(a, json_member(in, "new"), &is, err);
    }
    if (code == ERR_OK) {
        *ret = json_object_new_boolean(!is_queued(was, is));
    }
    return code;
}

RUN(finalizer_lost)
{
    size_t n_old;
    size_t n;
    const char **was = eval_strs(a, in, "old", &n_old);
    const char **is = eval_strs(a, in, "new", &n);
    (void)err;
    *ret = json_object_new_boolean(gce_l4_finalizer_lost(
        was, n_old, is, n, text_of(in, "finalizer"), json_bool(in, "deleting", false)));
    return ERR_OK;
}

/* ---- the Service ----------------------------------------------------------------------------- */

RUN(source_ranges)
{
    const struct tt_service *svc;
    struct gce_l4_ranges r;
    int code = eval_service(a, json_member(in, "service"), &svc, err);
    if (code == ERR_OK) {
        code = gce_l4_source_ranges(a, svc, &r, err);
    }
    if (code != ERR_OK) {
        return code;
    }
    *ret = json_object_new_object();
    if (!r.v4_dropped) {
        json_add(*ret, "ipv4", json_strs(r.v4.items, r.v4.n));
    }
    if (!r.v6_dropped) {
        json_add(*ret, "ipv6", json_strs(r.v6.items, r.v6.n));
    }
    return ERR_OK;
}

RUN(ports)
{
    const struct tt_service *svc;
    struct gce_l4_ports p;
    int code = eval_service(a, json_member(in, "service"), &svc, err);
    if (code != ERR_OK) {
        return code;
    }
    gce_l4_ports_of(a, svc, true, &p);
    const struct gce_firewall f = {.allowed = p.allowed};
    _cleanup_(json_putp) struct json_object *body = gce_firewall_body(&f, false);
    struct json_object *allowed = json_member(body, "allowed");
    struct json_object *o = json_object_new_object();
    json_add_str(o, "forwarding_rule_protocol", p.rule_protocol);
    json_add_str(o, "backend_service_protocol", p.service_protocol);
    json_add_bool(o, "mixed", p.mixed);
    json_add(o, "tcp", json_strs(p.tcp.items, p.tcp.n));
    json_add(o, "udp", json_strs(p.udp.items, p.udp.n));
    json_add_str(o, "range", p.range);
    json_add(o, "allowed", allowed == NULL ? json_object_new_array() : json_object_get(allowed));
    *ret = o;
    return ERR_OK;
}

/* The desired state of one family, whose rule is `member` of the input. */
static int add_choice(struct arena *a, struct json_object *in, const char *member, bool v6,
                      const struct gce_bs_user_address *user, struct json_object *out,
                      struct err *err)
{
    struct gce_rule rule;
    const struct gce_rule *rules[] = {&rule};
    struct json_object *given = json_member(in, member);
    struct gce_l4_address_choice c;
    const struct gce_l4_address_question q = {.user = user,
                                              .internal = true,
                                              .v6 = v6,
                                              .subnetwork = text_of(in, "subnetwork"),
                                              .rules = rules,
                                              .n_rules = given != NULL ? 1 : 0};
    int code = given == NULL ? ERR_OK : gce_rule_decode(a, given, &rule, err);
    if (code == ERR_OK) {
        gce_l4_address_choose(a, &q, &c);
        json_add_str(out, v6 ? "ipv6" : "ipv4", c.ip);
        json_add_str(out, v6 ? "ipv6_name" : "ipv4_name", c.name);
    }
    return code;
}

RUN(ip_to_use)
{
    const struct tt_service *svc;
    struct json_object *given = json_member(in, "addresses");
    size_t n = json_len(given);
    const struct gce_address **found = ARENA_ARRAY(a, const struct gce_address *, n);
    int code = eval_service(a, json_member(in, "service"), &svc, err);
    for (size_t i = 0; code == ERR_OK && i < n; i++) {
        struct gce_address *d = ARENA_NEW(a, struct gce_address);
        code = gce_address_decode(a, json_object_array_get_idx(given, i), d, err);
        found[i] = d;
    }
    struct json_object *o = json_object_new_object();
    for (int v6 = 0; code == ERR_OK && v6 < 2; v6++) {
        struct gce_bs_user_address user;
        gce_l4_user_address(a, svc, found, n, v6 != 0, &user, NULL);
        code = add_choice(a, in, v6 != 0 ? "rule_ipv6" : "rule", v6 != 0, &user, o, err);
    }
    if (code != ERR_OK) {
        json_object_put(o);
        return code;
    }
    *ret = o;
    return ERR_OK;
}

RUN(strong_affinity)
{
    const struct tt_service *svc;
    bool strong;
    int code = eval_service(a, json_member(in, "service"), &svc, err);
    if (code == ERR_OK) {
        code = gce_l4_strong_affinity(svc, json_bool(in, "enabled", false), &strong, err);
    }
    if (code == ERR_OK) {
        *ret = json_object_new_boolean(true);
    }
    return code;
}

RUN(api_error)
{
    struct gce_l4_error e;
    (void)a;
    (void)err;
    gce_l4_error_of((int)json_int(in, "code", 0), text_of(in, "message"), &e);
    *ret = json_object_new_object();
    json_add_bool(*ret, "user", e.user);
    json_add_bool(*ret, "tier_mismatch", e.tier_mismatch);
    json_add_bool(*ret, "no_strong_affinity", e.no_strong_affinity);
    json_add_bool(*ret, "no_rendezvous", e.no_rendezvous);
    return ERR_OK;
}

const struct eval_fn eval_gce_l4_rules[] = {
    {"gce.l4.names", names},
    {"gce.l4.instance_group_name", group_name},
    {"gce.l4.description", description},
    {"gce.l4.ilb_needs_update", ilb_needs_update},
    {"gce.l4.netlb_needs_update", netlb_needs_update},
    {"gce.l4.only_status_annotations_changed", only_status},
    {"gce.l4.finalizer_lost", finalizer_lost},
    {"gce.l4.source_ranges", source_ranges},
    {"gce.l4.ports", ports},
    {"gce.l4.ip_to_use", ip_to_use},
    {"gce.l4.strong_affinity", strong_affinity},
    {"gce.l4.api_error", api_error},
    {NULL, NULL},
};
