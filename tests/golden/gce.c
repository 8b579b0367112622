/* SPDX-License-Identifier: Apache-2.0 */
/* gce.c: the planners of the Google provider, asked with files: target pools here, balancers with a
 * backend service in gce_bs_case.c (cases whose facts.json names a kind).
 *
 * facts.json: cluster_id, and where they differ from the defaults below: verb (ensure, update,
 * delete), project, network_project, node_tags, rbs_default, deny_firewall, deny_cleanup,
 * repair_adopted, others_want_node_check, node_check_is_orphan, others_have_deny.
 *
 * observed.json: the cloud's resources as it answers with them: forwardingRule, targetPool,
 * firewall, localCheck, localCheckFirewall, nodeCheck, nodeCheckFirewall, address, denyFirewall,
 * userAddress; what is left out is absent, what is null was not read. */
#include "providers/gce/model/gce_target_pool.h"
#include "tests/golden/gce_bs_case.h"
#include "tests/golden/golden.h"
#include "tests/golden/golden_dump.h"
#include "tests/support/gce_decode.h"
#include "tests/support/objects.h"

#include "common/base/str.h"
#include "common/lb/service_rules.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const check_sources[] = {"130.211.0.0/22", "35.191.0.0/16", "209.85.152.0/22",
                                            "209.85.204.0/22"};

static struct str_set strings(struct arena *a, struct json_object *array)
{
    size_t n = json_len(array);
    const char **items = ARENA_ARRAY(a, const char *, n);
    for (size_t i = 0; i < n; i++) {
        items[i] = json_object_get_string(json_object_array_get_idx(array, i));
    }
    return str_set_make(a, items, n);
}

static struct gce_tp_facts facts_of(struct arena *a, struct json_object *o)
{
    const char *project = str_or(json_str(o, "project"), "p1");
    const char *network_project = str_or(json_str(o, "network_project"), project);
    struct json_object *tags = json_member(o, "node_tags");
    const char *node = "node";
    return (struct gce_tp_facts){
        .project = project,
        .network_project = network_project,
        .region = "us-central1",
        .projects_base = "https://compute.googleapis.com/compute/v1/projects/",
        .network = arena_printf(
            a, "https://www.googleapis.com/compute/v1/projects/%s/global/networks/default",
            network_project),
        .check_sources = check_sources,
        .n_check_sources = ARRAY_LEN(check_sources),
        .node_tags = tags == NULL ? str_set_make(a, &node, 1) : strings(a, tags),
        .on_xpn = !str_eq(project, network_project),
        .rbs_default = json_bool(o, "rbs_default", false),
        .deny_firewall = json_bool(o, "deny_firewall", false),
        .deny_cleanup = json_bool(o, "deny_cleanup", json_bool(o, "deny_firewall", false)),
        .repair_adopted = json_bool(o, "repair_adopted", false),
    };
}

#define TAKE(member, has, field, decode)                                                           \
    do {                                                                                           \
        struct json_object *found_ = NULL;                                                         \
        bool named_ = json_object_object_get_ex(o, member, &found_);                               \
        ret->has = !named_ ? GCE_ABSENT : found_ == NULL ? GCE_UNKNOWN : GCE_PRESENT;              \
        if (found_ != NULL && decode(a, found_, &ret->field, err) != ERR_OK) {                     \
            return ERR_INVALID;                                                                    \
        }                                                                                          \
    } while (0)

static int observed_of(struct arena *a, struct json_object *o, struct gce_tp_observed *ret,
                       struct err *err)
{
    TAKE("forwardingRule", has_rule, rule, gce_rule_decode);
    TAKE("targetPool", has_pool, pool, gce_pool_decode);
    TAKE("firewall", has_traffic, traffic, gce_firewall_decode);
    TAKE("localCheck", has_local_check, local_check, gce_check_decode);
    TAKE("localCheckFirewall", has_local_firewall, local_firewall, gce_firewall_decode);
    TAKE("nodeCheck", has_node_check, node_check, gce_check_decode);
    TAKE("nodeCheckFirewall", has_node_firewall, node_firewall, gce_firewall_decode);
    TAKE("address", has_address, address, gce_address_decode);
    TAKE("formerAddress", has_former, former, gce_address_decode);
    TAKE("denyFirewall", has_deny, deny, gce_firewall_decode);
    TAKE("userAddress", has_user_address, user_address, gce_address_decode);
    return ERR_OK;
}

static int plan(struct arena *a, const struct golden_case *c, struct lb_plan *plan, struct err *err)
{
    const char *verb = str_or(json_str(c->facts, "verb"), "ensure");
    struct gce_tp_facts *facts = ARENA_NEW(a, struct gce_tp_facts);
    struct gce_tp_input *in = ARENA_NEW(a, struct gce_tp_input);
    struct gce_tp_observed *o = ARENA_NEW(a, struct gce_tp_observed);
    struct gce_tp_desired *d = ARENA_NEW(a, struct gce_tp_desired);
    struct gce_names *names = ARENA_NEW(a, struct gce_names);
    size_t n;
    const struct tt_node **nodes = test_nodes(a, c->nodes, &n);
    const struct tt_service *s = test_service(a, c->service);
    *facts = facts_of(a, c->facts);
    *in = (struct gce_tp_input){
        .service = s,
        .key = svc_key(a, s),
        .cluster_id = str_or(json_str(c->facts, "cluster_id"), "0123456789abcdef"),
        .tags = facts->node_tags,
        .tags_known = true,
        .others_want_node_check = json_bool(c->facts, "others_want_node_check", false),
        .node_check_is_orphan = json_bool(c->facts, "node_check_is_orphan", false),
        .others_have_deny = json_bool(c->facts, "others_have_deny", false),
        .outcome = ARENA_NEW(a, struct gce_tp_outcome),
    };
    gce_members_of(a, nodes, n, facts->project, facts->region, &in->members);
    gce_names_make(a, s, in->cluster_id, names);
    int rc = observed_of(a, c->observed, o, err);
    if (rc != ERR_OK) {
        return rc;
    }
    if (str_eq(verb, "delete")) {
        return gce_tp_plan_delete(plan, facts, in, names, o, err);
    }
    if (str_eq(verb, "update")) {
        return gce_tp_plan_update(plan, facts, in, o, err);
    }
    rc = gce_tp_desired_make(a, facts, in, d, err);
    return rc != ERR_OK ? rc : gce_tp_plan_ensure(plan, facts, in, d, o, err);
}

static void show(struct arena *a, const struct golden_case *c, struct str_buf *text)
{
    struct lb_plan p;
    struct err err = ERR_INIT;
    if (gce_bs_case_is_one(c)) {
        gce_bs_case_show(a, c, text);
        return;
    }
    lb_plan_init(&p, a);
    if (plan(a, c, &p, &err) == ERR_OK && lb_plan_seal(&p, &err) == ERR_OK) {
        golden_show_plan(text, lb_plan_view(&p), &p);
    } else {
        golden_show_error(text, &err);
    }
}

const struct golden_provider golden_gce = {.name = "gce", .show = show};
