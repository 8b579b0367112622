/* SPDX-License-Identifier: Apache-2.0 */
/* eval_gce_l4_decide.c: whose is a Service?  gce.ilb.is_ours, gce.l4.wants and the ownership
 * questions of ingress-gce.
 *
 * Takes apart the input, asks gce_decide() in upstream's words (eval_gce_asked.h), puts the answer
 * together. */
#include "providers/gce/model/gce_l4_rules.h"
#include "tests/eval/eval.h"
#include "tests/eval/eval_gce_asked.h"

#define RUN(name)                                                                                  \
    static int name(struct arena *a, struct json_object *in, struct json_object **ret,             \
                    struct err *err)

static enum gce_found found_of(struct json_object *in, struct json_object *given)
{
    if (json_bool(in, "lookup_fails", false)) {
        return GCE_FOUND_FAILED;
    }
    return given == NULL ? GCE_FOUND_ABSENT : GCE_FOUND_PRESENT;
}

static int read_question(struct arena *a, struct json_object *in, const char *service,
                         struct asked *ret, struct err *err)
{
    struct json_object *rule = json_member(in, "rule");
    struct asked q = {.found = found_of(in, rule)};
    int code = eval_service(a, json_member(in, service), &q.service, err);
    if (code == ERR_OK && rule != NULL) {
        code = gce_rule_decode(a, rule, &q.rule, err);
    }
    *ret = q;
    return code;
}

RUN(ilb_legacy_is_ours)
{
    struct asked q;
    int code = read_question(a, in, "service", &q, err);
    if (code == ERR_OK) {
        const char *op = json_str(in, "op");
        enum asked_op verb = str_eq(op, "ensure")   ? ASKED_ENSURE
                             : str_eq(op, "update") ? ASKED_UPDATE
                                                    : ASKED_DELETE;
        *ret = json_object_new_boolean(
            asked_ilb_groups_is_ours(a, q.service, verb, json_bool(in, "rule_exists", false),
                                     json_bool(in, "ilb_subsets", false)));
    }
    return code;
}

RUN(wants)
{
    struct asked q;
    int code = read_question(a, in, "service", &q, err);
    if (code != ERR_OK) {
        return code;
    }
    bool set;
    const char *tier = gce_l4_tier(q.service, &set);
    struct json_object *o = json_object_new_object();
    json_add_bool(o, "ilb", asked_wants_ilb(a, q.service));
    json_add_bool(o, "netlb", asked_wants_netlb(a, q.service));
    json_add_bool(o, "rbs_annotation", gce_l4_has_rbs_annotation(q.service));
    json_add_bool(o, "tier_set", set);
    json_add_str(o, "tier", str_eq(tier, "STANDARD") ? "Standard" : "Premium");
    json_add_str(o, "ilb_subnet", gce_l4_subnet(q.service, true));
    json_add_str(o, "netlb_subnet", gce_l4_subnet(q.service, false));
    *ret = o;
    return ERR_OK;
}

RUN(ilb_is_ours)
{
    struct asked q;
    int code = read_question(a, in, "service", &q, err);
    if (code == ERR_OK) {
        *ret = json_object_new_boolean(asked_ilb_is_ours(a, &q));
    }
    return code;
}

RUN(ilb_needs_deletion)
{
    struct asked q;
    int code = read_question(a, in, "service", &q, err);
    if (code == ERR_OK) {
        *ret = json_object_new_boolean(asked_ilb_needs_deletion(q.service));
    }
    return code;
}

RUN(netlb_is_rbs)
{
    struct asked q;
    int code = read_question(a, in, "service", &q, err);
    if (code == ERR_OK) {
        *ret =
            json_object_new_boolean(asked_netlb_is_rbs(a, &q, json_bool(in, "rbs_default", false)));
    }
    return code;
}

RUN(netlb_needs_deletion)
{
    struct asked q;
    int code = read_question(a, in, "service", &q, err);
    if (code == ERR_OK) {
        *ret = json_object_new_boolean(asked_netlb_needs_deletion(&q));
    }
    return code;
}

RUN(netlb_legacy_guard)
{
    struct asked q;
    int code = read_question(a, in, "service", &q, err);
    if (code == ERR_OK) {
        *ret = json_object_new_string(asked_netlb_guard(a, &q));
    }
    return code;
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
    *ret = json_object_new_string(asked_netlb_uses_negs(a, &c) ? "neg" : "instance-group");
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
    {"gce.l4.backend_kind", backend_kind},
    {NULL, NULL},
};
