/* SPDX-License-Identifier: Apache-2.0 */
/* test_stands.c: of a Service whose sync fails, the provider says whether what stands serves
 * clients (azure_stands.c), and so does a plan; under the real driver, with a cloud in memory
 * (stage_rig.h). */
#include "tests/unit/azure/stage_rig.h"

#include "providers/azure/model/azure_doc.h"
#include "tests/support/unit.h"

#define PORT(n)  "\"ports\":[{\"port\":" #n ",\"nodePort\":300" #n "}]"
#define RANGES   ",\"loadBalancerSourceRanges\":[\"192.0.2.0/24\"]"
#define MINE     "{\"azure-pip-name\":\"mine\"}"
#define INSIDE   "{\"azure-load-balancer-internal\":\"true\"}"
#define ON_NODES "{\"azure-disable-load-balancer-floating-ip\":\"true\"}"
#define USERS_PIP                                                                                  \
    "{\"name\":\"mine\",\"sku\":{\"name\":\"Standard\"},\"properties\":{\"ipAddress\":"            \
    "\"20.9.9.9\",\"publicIPAddressVersion\":\"IPv4\",\"publicIPAllocationMethod\":\"Static\"}}"

/* "web" is served; it is ensured once more. */
static struct rig_service *served(struct stage_rig *r, const char *annotations)
{
    r->p.config.pool_type = AZURE_POOL_IP;
    stage_rig_add_node(r, "vm-0", "10.0.1.0");
    struct rig_service *web = stage_rig_add(r, "web", annotations, PORT(80));
    stage_rig_run(r);
    succeeded(web);
    same_text("of a sync that went well", web->stands, "");
    web->verb = TT_VERB_ENSURE;
    return web;
}

static void refuse(struct stage_rig *r, const char *name, unsigned after)
{
    r->fail = name;
    r->fail_after = after;
    r->fail_times = 100;
    r->fail_code = ERR_FORBIDDEN;
    r->fail_status = 403;
}

static void stands_as(struct stage_rig *r, struct rig_service *s, const char *want)
{
    stage_rig_reconcile(r);
    assert_int_not_equal(s->code, TT_OK);
    same_text(s->message, s->stands, want);
}

/* All ports are others, and the security group still has the former ones. */
static void all_ports_replaced__group_refused__nobody(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = served(r, NULL);
    web->spec = PORT(81);
    refuse(r, "nsg", 0);
    stands_as(r, web, "security group nsg lets no client in at 20.0.0.1");
    stands_as(r, web, "security group nsg lets no client in at 20.0.0.1"); /* nothing is written */
    stage_rig_plan(r);
    r->fail = NULL;
    stage_rig_run(r);
    succeeded(web);
    stage_rig_settled(r);
}

/* Its clients are those of the network, whatever the group says of others. */
static void internal__group_refused__serves(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = served(r, INSIDE);
    web->spec = PORT(80) RANGES;
    refuse(r, "nsg", 0);
    stands_as(r, web, "serves");
}

static void on_nodes__group_refused__by_the_node_port(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = served(r, ON_NODES);
    refuse(r, "nsg", 0);
    web->spec = PORT(80) RANGES;
    stands_as(r, web, "serves");
    web->spec = "\"ports\":[{\"port\":80,\"nodePort\":30090}]";
    stands_as(r, web, "serves"); /* let in before the balancer changes: the edit ends there */
    web->spec = PORT(81);
    stands_as(r, web, "security group nsg lets no client in at 20.0.0.1");
}

/* The group was not asked for, so it is not known what it lets in. */
static void balancer_refused__nothing_is_said(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = served(r, NULL);
    web->spec = PORT(81);
    refuse(r, "kubernetes", 0);
    stands_as(r, web, "");
}

/* Made by hand: the rule is gone, the pool is empty, or the frontend is. */
static void taken_away__cannot_be_made__nobody(void **state)
{
    static const struct {
        const char *array;
        const char *within; /* NULL: the array itself is emptied */
        const char *want;
    } rows[] = {
        {"loadBalancingRules", NULL, "load balancer kubernetes has no rule for 20.0.0.1"},
        {"backendAddressPools", "loadBalancerBackendAddresses",
         "no node is behind load balancer kubernetes"},
    };
    struct stage_rig *r = *state;
    struct rig_service *web = served(r, NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct json_object *lb = azure_copy(r->a, stage_rig_doc(r, AZURE_LBS, "kubernetes"));
        struct json_object *was = azure_copy(r->a, lb);
        struct json_object *o = azure_array(lb, rows[i].array);
        o = rows[i].within != NULL ? azure_array(json_object_array_get_idx(o, 0), rows[i].within)
                                   : o;
        while (json_len(o) > 0) {
            azure_array_drop(o, 0);
        }
        stage_rig_put(r, AZURE_LBS, json_text(r->a, lb, JSON_COMPACT));
        refuse(r, "kubernetes", 0);
        stands_as(r, web, rows[i].want);
        stands_as(r, web, rows[i].want);
        stage_rig_put(r, AZURE_LBS, json_text(r->a, was, JSON_COMPACT));
        r->fail = NULL;
    }
}

static void balancer_gone__cannot_be_made__nobody(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = served(r, NULL);
    const char *id = azure_doc_id(stage_rig_doc(r, AZURE_LBS, "kubernetes"));
    arm_docs_put(&r->docs, AZURE_LBS, arena_strdup(r->a, id), NULL);
    refuse(r, "kubernetes", 0);
    stands_as(r, web, "no load balancer has address 20.0.0.1");
}

/* The write may have been carried out. */
static void answer_lost__nothing_is_said(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = served(r, NULL);
    web->spec = PORT(81);
    refuse(r, "nsg", 0);
    r->fail_code = ERR_TRANSIENT;
    r->fail_status = 0;
    stands_as(r, web, "");
}

/* The status tells the new address already, and the former one is still open. */
static void address_changed__closing_refused__serves(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = served(r, NULL);
    stage_rig_put(r, AZURE_PIPS, USERS_PIP);
    web->annotations = MINE;
    refuse(r, "nsg", 1); /* what is let in before goes through */
    stage_rig_reconcile(r);
    assert_int_equal(web->code, TT_FORBIDDEN);
    same_text("told", web->served, "20.9.9.9");
    same_text("stands", web->stands, "serves");
}

/* The same, and the status names the former address for as long as it cannot be written: that one
 * has a frontend of its own until then (docs/adr/0092). */
static void address_changed__status_unwritten__former_serves(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = served(r, NULL);
    stage_rig_put(r, AZURE_PIPS, USERS_PIP);
    web->annotations = MINE;
    web->unwritten = TT_TRANSIENT;
    stage_rig_reconcile(r);
    assert_int_equal(web->code, TT_TRANSIENT);
    same_text("stands", web->stands, "serves");
}

static const char *finding;

static void note_findings(struct stage_rig *r, const struct tt_plan *view)
{
    for (uint32_t i = 0; r->planning && i < view->n_services; i++) {
        const struct tt_plan_service *s = view->services[i];
        for (uint32_t k = 0; k < s->n_findings; k++) {
            finding = arena_strdup(r->a, s->findings[k]->message);
        }
    }
}

static void plan__says_what_is(void **state)
{
    struct stage_rig *r = *state;
    (void)served(r, NULL);
    finding = NULL;
    r->reported = note_findings;
    stage_rig_plan(r);
    same_text("served", finding, NULL);
    struct json_object *lb = azure_copy(r->a, stage_rig_doc(r, AZURE_LBS, "kubernetes"));
    struct json_object *rules = azure_array(lb, "loadBalancingRules");
    azure_array_drop(rules, 0);
    stage_rig_put(r, AZURE_LBS, json_text(r->a, lb, JSON_COMPACT));
    stage_rig_plan(r);
    same_text("not served", finding,
              "serves no client now: load balancer kubernetes has no rule for 20.0.0.1");
}

UNIT_MAIN(stands)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(all_ports_replaced__group_refused__nobody),
        RIG_TEST(internal__group_refused__serves),
        RIG_TEST(on_nodes__group_refused__by_the_node_port),
        RIG_TEST(balancer_refused__nothing_is_said),
        RIG_TEST(taken_away__cannot_be_made__nobody),
        RIG_TEST(balancer_gone__cannot_be_made__nobody),
        RIG_TEST(answer_lost__nothing_is_said),
        RIG_TEST(address_changed__closing_refused__serves),
        RIG_TEST(address_changed__status_unwritten__former_serves),
        RIG_TEST(plan__says_what_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
