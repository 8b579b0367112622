/* SPDX-License-Identifier: Apache-2.0 */
/* eval_gce_l4_decide.c: whose is a Service?  gce.ilb.is_ours, gce.l4.wants and the ownership
 * questions of ingress-gce.
 *
 * Takes apart the input, asks one function of gce_decide.h, puts the answer together; nothing is
 * computed here. */
#include "providers/gce/decide/gce_decide.h"
#include "providers/gce/model/gce_l4_rules.h"
#include "tests/eval/eval.h"

#define RUN(name)                                                                                  \
    static int name(struct arena *a, struct json_object *in, struct json_object **ret,             \
                    struct err *err)

/* Common input of the functions: a Service, and the state of its legacy rule. */
struct question {
    const struct tt_service *s;
    struct gce_rule rule;
    enum gce_found found;
};

static enum gce_found found_of(struct json_object *in, struct json_object *given)
{
    if (json_bool(in, "lookup_fails", false)) {
        return GCE_FOUND_FAILED;
    }
    return given == NULL ? GCE_FOUND_ABSENT : GCE_FOUND_PRESENT;
}

static int read_question(struct arena *a, struct json_object *in, const char *service,
                         struct question *ret, struct err *err)
{
    struct json_object *rule = json_member(in, "rule");
    struct question q = {.found = found_of(in, rule)};
    int code = eval_service(a, json_member(in, service), &q.s, err);
    if (code == ERR_OK && rule != NULL) {
        code = gce_rule_decode(a, rule, &q.rule, err);
    }
    *ret = q;
    return code;
}

RUN(ilb_legacy_is_ours)
{
    struct question q;
    int code = read_question(a, in, "service", &q, err);
    if (code == ERR_OK) {
        *ret = json_object_new_boolean(gce_ilb_legacy_is_ours(
            q.s, str_eq(json_str(in, "op"), "ensure"), json_bool(in, "rule_exists", false),
            json_bool(in, "ilb_subsets", false)));
    }
    return code;
}

RUN(wants)
{
    struct question q;
    int code = read_question(a, in, "service", &q, err);
    if (code != ERR_OK) {
        return code;
    }
    bool set;
    const char *tier = gce_l4_tier(q.s, &set);
    struct json_object *o = json_object_new_object();
    json_add_bool(o, "ilb", gce_l4_wants_ilb(q.s));
    json_add_bool(o, "netlb", gce_l4_wants_netlb(q.s));
    json_add_bool(o, "rbs_annotation", gce_l4_has_rbs_annotation(q.s));
    json_add_bool(o, "tier_set", set);
    json_add_str(o, "tier", str_eq(tier, "STANDARD") ? "Standard" : "Premium");
    json_add_str(o, "ilb_subnet", gce_l4_subnet(q.s, true));
    json_add_str(o, "netlb_subnet", gce_l4_subnet(q.s, false));
    *ret = o;
    return ERR_OK;
}

RUN(ilb_is_ours)
{
    struct question q;
    int code = read_question(a, in, "service", &q, err);
    if (code == ERR_OK) {
        *ret = json_object_new_boolean(gce_l4_ilb_is_ours(q.s, q.found, &q.rule));
    }
    return code;
}

RUN(ilb_needs_deletion)
{
    struct question q;
    int code = read_question(a, in, "service", &q, err);
    if (code == ERR_OK) {
        *ret = json_object_new_boolean(gce_l4_ilb_needs_deletion(q.s));
    }
    return code;
}

RUN(netlb_is_rbs)
{
    struct question q;
    int code = read_question(a, in, "service", &q, err);
    if (code == ERR_OK) {
        *ret = json_object_new_boolean(
            gce_l4_netlb_is_rbs(q.s, q.found, &q.rule, json_bool(in, "rbs_default", false)));
    }
    return code;
}

RUN(netlb_needs_deletion)
{
    struct question q;
    int code = read_question(a, in, "service", &q, err);
    if (code == ERR_OK) {
        *ret = json_object_new_boolean(gce_l4_netlb_needs_deletion(q.s, q.found, &q.rule));
    }
    return code;
}

RUN(netlb_legacy_guard)
{
    static const char *const words[] = {[GCE_GUARD_CONTINUE] = "continue",
                                        [GCE_GUARD_RACE] = "race",
                                        [GCE_GUARD_MIGRATION] = "migration",
                                        [GCE_GUARD_STOP] = "stop"};
    struct question q;
    int code = read_question(a, in, "service", &q, err);
    if (code == ERR_OK) {
        *ret = json_object_new_string(words[gce_l4_netlb_guard(q.s, q.found, &q.rule)]);
    }
    return code;
}

RUN(netlb_should_process)
{
    struct json_object *old_json = json_member(in, "old");
    const struct tt_service *old_svc = NULL;
    struct question q;
    int code = read_question(a, in, "new", &q, err);
    if (code == ERR_OK && old_json != NULL) {
        code = eval_service(a, old_json, &old_svc, err);
    }
    if (code != ERR_OK) {
        return code;
    }
    const struct gce_process_flags f = {
        .rbs_default = json_bool(in, "rbs_default", false),
        .dual_stack = json_bool(in, "dual_stack", false),
        .unchanged = old_json != NULL && json_object_equal(old_json, json_member(in, "new")) != 0,
    };
    bool resync;
    bool process = gce_l4_netlb_should_process(q.s, old_svc, q.found, &q.rule, &f, &resync);
    *ret = json_object_new_object();
    json_add_bool(*ret, "process", process);
    json_add_bool(*ret, "resync", resync);
    return ERR_OK;
}

RUN(backend_kind)
{
    struct json_object *given = json_member(in, "backend_service");
    struct gce_bservice b = {0};
    const struct gce_switches f = {.neg_netlb = json_bool(in, "neg_support", false),
                                   .neg_default = json_bool(in, "neg_default", false)};
    struct gce_case c = {.flags = &f, .backend_found = found_of(in, given)};
    int code = eval_service(a, json_member(in, "service"), &c.service, err);
    if (code == ERR_OK && given != NULL) {
        code = gce_bservice_decode(a, given, &b, err);
    }
    if (code != ERR_OK) {
        return code;
    }
    c.backend_scheme = str_nonnull(b.scheme);
    c.backend_group = b.n_backends > 0 ? b.backends[0].group : "";
    *ret = json_object_new_string(gce_l4_netlb_uses_negs(&c) ? "neg" : "instance-group");
    return ERR_OK;
}

const struct eval_fn eval_gce_l4_decide[] = {
    {"gce.ilb.is_ours", ilb_legacy_is_ours},
    {"gce.l4.wants", wants},
    {"gce.l4.ilb_is_ours", ilb_is_ours},
    {"gce.l4.ilb_needs_deletion", ilb_needs_deletion},
    {"gce.l4.netlb_is_rbs", netlb_is_rbs},
    {"gce.l4.netlb_needs_deletion", netlb_needs_deletion},
    {"gce.l4.netlb_legacy_guard", netlb_legacy_guard},
    {"gce.l4.netlb_should_process", netlb_should_process},
    {"gce.l4.backend_kind", backend_kind},
    {NULL, NULL},
};
