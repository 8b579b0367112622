/* SPDX-License-Identifier: Apache-2.0 */
/* eval_gce_l4_resources.c: the functions gce.l4.* and gce.ilb.* of trimtab-eval that compare cloud
 * resources.
 *
 * As eval_gce_l4_rules.c: the provider's own decoders and comparisons. */
#include "tests/eval/eval_gce_l4.h"

#include "common/base/str.h"
#include "providers/gce/backend/gce_l4_address_rules.h"
#include "providers/gce/model/gce_ilb_names.h"
#include "providers/gce/model/gce_names.h"
#include "providers/gce/model/gce_service_rules.h"
#include "tests/support/gce_decode.h"

#define RUN(name)                                                                                  \
    static int name(struct arena *a, struct json_object *in, struct json_object **ret,             \
                    struct err *err)

#define text_of eval_text

/* ---- forwarding rules ------------------------------------------------------------------------ */

static int two_rules(struct arena *a, struct json_object *in, struct gce_rule *ret_is,
                     struct gce_rule *ret_want, struct err *err)
{
    int code = gce_rule_decode(a, json_member(in, "existing"), ret_is, err);
    return code != ERR_OK ? code : gce_rule_decode(a, json_member(in, "desired"), ret_want, err);
}

RUN(rule_compare)
{
    struct gce_rule is;
    struct gce_rule want;
    struct gce_rule_change c;
    int code = two_rules(a, in, &is, &want, err);
    if (code == ERR_OK) {
        code = gce_l4_rule_compare(a, &is, &want, json_bool(in, "discrete_ports", false), &c, err);
    }
    if (code != ERR_OK) {
        return code;
    }
    *ret = json_object_new_object();
    json_add_bool(*ret, "equal", c.equal);
    if (c.patch) {
        struct json_object *body = gce_rule_patch_body(&c.wanted);
        json_add_int(body, "id", json_int(body, "id", 0)); /* the answer has it as a number */
        json_add(*ret, "patch", body);
    }
    return ERR_OK;
}

RUN(rule_equal_ipv6)
{
    struct gce_rule is;
    struct gce_rule want;
    bool equal;
    int code = two_rules(a, in, &is, &want, err);
    if (code == ERR_OK) {
        code = gce_l4_rule_equal_v6(a, &is, &want, json_bool(in, "discrete_ports", false), &equal,
                                    err);
    }
    if (code == ERR_OK) {
        *ret = json_object_new_boolean(equal);
    }
    return code;
}

RUN(ilb_rule_equal)
{
    struct gce_rule is;
    struct gce_rule want;
    int code = two_rules(a, in, &is, &want, err);
    if (code == ERR_OK) {
        *ret = json_object_new_boolean(gce_ilb_rule_equal(a, &is, &want));
    }
    return code;
}

RUN(ilb_ip_to_use)
{
    const struct tt_service *svc;
    struct json_object *given = json_member(in, "existing");
    struct gce_rule rule;
    const struct gce_rule *rules[] = {&rule};
    struct gce_bs_user_address user;
    struct gce_l4_address_choice c;
    int code = eval_service(a, json_member(in, "service"), &svc, err);
    if (code == ERR_OK && given != NULL) {
        code = gce_rule_decode(a, given, &rule, err);
    }
    if (code != ERR_OK) {
        return code;
    }
    user = (struct gce_bs_user_address){.name = "", .ip = str_nonnull(svc->lb_ip), .tier = ""};
    gce_l4_address_choose(a,
                          &(struct gce_l4_address_question){.user = &user,
                                                            .internal = true,
                                                            .any_subnetwork = true,
                                                            .subnetwork = text_of(in, "subnetwork"),
                                                            .rules = rules,
                                                            .n_rules = given != NULL ? 1 : 0},
                          &c);
    *ret = json_object_new_string(c.ip);
    return ERR_OK;
}

/* ---- backend services ------------------------------------------------------------------------ */

static int two_services(struct arena *a, struct json_object *in, struct gce_bservice *ret_is,
                        struct gce_bservice *ret_want, struct err *err)
{
    int code = gce_bservice_decode(a, json_member(in, "existing"), ret_is, err);
    return code != ERR_OK ? code
                          : gce_bservice_decode(a, json_member(in, "desired"), ret_want, err);
}

RUN(bservice_equal)
{
    struct gce_bservice is;
    struct gce_bservice want;
    struct gce_bservice_compare how = {
        .strong = json_bool(in, "strong_affinity", false),
        .log_managed = json_bool(in, "managed_logging", false),
    };
    int code = two_services(a, in, &is, &want, err);
    if (code == ERR_OK) {
        *ret = json_object_new_boolean(gce_l4_bservice_equal(a, &is, &want, &how));
    }
    return code;
}

static struct gce_strs groups_of(struct arena *a, const struct gce_bservice *b)
{
    const char **items = ARENA_ARRAY(a, const char *, b->n_backends);
    for (size_t i = 0; i < b->n_backends; i++) {
        items[i] = b->backends[i].group;
    }
    return (struct gce_strs){.items = items, .n = b->n_backends};
}

/* The planner compares the members, and the links of the groups. */
RUN(ilb_bservice_equal)
{
    struct gce_bservice is;
    struct gce_bservice want;
    int code = two_services(a, in, &is, &want, err);
    if (code == ERR_OK) {
        struct gce_strs x = groups_of(a, &is);
        struct gce_strs y = groups_of(a, &want);
        *ret = json_object_new_boolean(gce_ilb_bservice_members_equal(a, &is, &want, NULL) &&
                                       gce_links_same(&x, &y));
    }
    return code;
}

/* ---- health checks --------------------------------------------------------------------------- */

struct json_object *eval_hc_answer(const struct gce_hc *existing, const struct gce_hc *want)
{
    bool differs = existing == NULL || gce_hc_needs_update(existing, want, NULL);
    struct json_object *o = json_object_new_object();
    json_add_bool(o, "needs_update", differs);
    if (differs) {
        struct gce_hc body = existing == NULL ? *want : gce_hc_merge(existing, want);
        json_add(o, "body", gce_hc_body(&body));
    }
    return o;
}

static int health_check(struct arena *a, struct json_object *in, struct json_object **ret,
                        struct err *err,
                        struct gce_hc (*make)(struct arena *a, const struct gce_bs_check_wish *w))
{
    struct json_object *given = json_member(in, "existing");
    struct gce_hc is;
    int code = given == NULL ? ERR_OK : gce_hc_decode(a, given, &is, err);
    if (code != ERR_OK) {
        return code;
    }
    struct gce_hc want = make(
        a, &(struct gce_bs_check_wish){
               .name = text_of(in, "name"),
               .key = arena_printf(a, "%s/%s", text_of(in, "namespace"), text_of(in, "service")),
               .path = text_of(in, "path"),
               .port = (int32_t)json_int(in, "port", 0),
               .shared = json_bool(in, "shared", false),
               .internal = str_eq(text_of(in, "load_balancer"), "ilb")});
    *ret = eval_hc_answer(given == NULL ? NULL : &is, &want);
    return ERR_OK;
}

RUN(l4_health_check)
{
    return health_check(a, in, ret, err, gce_l4_hc_make);
}

RUN(ilb_health_check)
{
    return health_check(a, in, ret, err, gce_ilb_hc_make);
}

/* ---- firewalls ------------------------------------------------------------------------------- */

RUN(firewall_equal)
{
    struct gce_firewall x;
    struct gce_firewall y;
    bool equal = false;
    int code = gce_firewall_decode(a, json_member(in, "a"), &x, err);
    if (code == ERR_OK) {
        code = gce_firewall_decode(a, json_member(in, "b"), &y, err);
    }
    if (code == ERR_OK) {
        code =
            gce_l4_firewall_equal(a, &x, &y, json_bool(in, "skip_description", false), &equal, err);
    }
    if (code == ERR_OK) {
        *ret = json_object_new_boolean(equal);
    }
    return code;
}

RUN(ilb_firewall_equal)
{
    struct gce_firewall want;
    struct gce_firewall is;
    int code = gce_firewall_decode(a, json_member(in, "desired"), &want, err);
    if (code == ERR_OK) {
        code = gce_firewall_decode(a, json_member(in, "existing"), &is, err);
    }
    if (code == ERR_OK) {
        *ret = json_object_new_boolean(gce_ilb_firewall_equal(a, &want, &is));
    }
    return code;
}

/* ---- names ----------------------------------------------------------------------------------- */

RUN(ilb_names)
{
    const struct tt_service *svc;
    struct gce_ilb_names n;
    int code = eval_service(a, json_member(in, "service"), &svc, err);
    if (code != ERR_OK) {
        return code;
    }
    gce_ilb_names_make(a, svc, text_of(in, "cluster_id"), &n);
    struct json_object *o = json_object_new_object();
    json_add_str(o, "forwarding_rule", n.lb);
    json_add_str(o, "forwarding_rule_description", n.description);
    json_add_str(o, "backend_service", n.backend);
    json_add_str(o, "backend_service_description", n.backend_description);
    json_add_str(o, "health_check", n.check);
    json_add_str(o, "health_check_description", n.check_description);
    json_add_str(o, "health_check_firewall", n.check_firewall);
    json_add_str(o, "firewall", n.firewall);
    json_add_str(o, "firewall_description",
                 gce_names_firewall_description(a, str_nonnull(svc->ns), str_nonnull(svc->name),
                                                text_of(in, "ip")));
    json_add_str(o, "legacy_firewall", n.legacy_firewall);
    json_add_str(o, "instance_group", n.group);
    *ret = o;
    return ERR_OK;
}

const struct eval_fn eval_gce_l4_resources[] = {
    {"gce.l4.rule_compare", rule_compare},
    {"gce.l4.rule_equal_ipv6", rule_equal_ipv6},
    {"gce.l4.firewall_equal", firewall_equal},
    {"gce.l4.backend_service_equal", bservice_equal},
    {"gce.l4.health_check", l4_health_check},
    {"gce.ilb.names", ilb_names},
    {"gce.ilb.rule_equal", ilb_rule_equal},
    {"gce.ilb.backend_service_equal", ilb_bservice_equal},
    {"gce.ilb.firewall_equal", ilb_firewall_equal},
    {"gce.ilb.health_check", ilb_health_check},
    {"gce.ilb.ip_to_use", ilb_ip_to_use},
    {NULL, NULL},
};
