/* SPDX-License-Identifier: Apache-2.0 */
/* test_neg_observe.c: who is in the NEGs of a Service, against the simulator: nothing is asked
 * while nothing is to be changed, and nothing is changed that was not listed (gce-l4.md
 * §9.6, §9.5 rule 7). */
#include "tests/unit/gce/cloud_kit.h"

#include "providers/gce/negs/gce_neg_observe.h"
#include "providers/gce/ops/gce_members_read.h"
#include "tests/support/unit.h"

#define NEG  "k8s2-neg"
#define LIST "compute.networkEndpointGroups.listNetworkEndpoints"

/* ---- the cloud ------------------------------------------------------------------------------- */

/* Instances of KIT_ZONE, sorted. */
static struct gce_strs instances(struct kit *k)
{
    const struct tt_node *const *nodes;
    uint32_t n;
    struct gce_strs out;
    k->p->cloud.host->nodes(k->p->cloud.host->ctx, &k->call, &nodes, &n);
    out = (struct gce_strs){.items = ARENA_ARRAY(k->a, const char *, n)};
    for (uint32_t i = 0; i < n; i++) {
        if (strstr(nodes[i]->provider_id, "/" KIT_ZONE "/") != NULL) {
            out.items[out.n++] = nodes[i]->name;
        }
    }
    assert_true(out.n >= 2);
    return out;
}

/* Its address in the cloud. */
static const char *ip_of(struct kit *k, const char *instance)
{
    struct json_object *o = rig_resource(k->r, arena_printf(k->a, "instances/%s", instance));
    struct json_object *nic = json_object_array_get_idx(json_member(o, "networkInterfaces"), 0);
    return arena_strdup(k->a, json_str(nic, "networkIP"));
}

static struct gce_endpoint *endpoints(struct kit *k, size_t n)
{
    struct gce_strs names = instances(k);
    struct gce_endpoint *e = ARENA_ARRAY(k->a, struct gce_endpoint, n);
    for (size_t i = 0; i < n; i++) {
        e[i] = (struct gce_endpoint){
            .instance = names.items[i], .ip = ip_of(k, names.items[i]), .ipv6 = ""};
    }
    return e;
}

static void by_hand(struct kit *k, const char *verb, const struct gce_endpoint *e, size_t n)
{
    struct json_object *body = gce_endpoints_body(e, n);
    rig_cloud_call(k->r, "POST",
                   arena_printf(k->a, "zones/" KIT_ZONE "/networkEndpointGroups/" NEG "/%s", verb),
                   json_text(k->a, body, JSON_COMPACT));
    json_object_put(body);
}

static void make_neg(struct kit *k, size_t members)
{
    kit_make(k, "zones/" KIT_ZONE "/networkEndpointGroups", KIT_NEG(NEG));
    if (members > 0) {
        by_hand(k, "attachNetworkEndpoints", endpoints(k, members), members);
    }
    rig_forget(k->r);
}

/* The planner's input for the NEG, with its size as it was read. */
static struct gce_neg_one one(struct kit *k, int32_t size, size_t want)
{
    struct gce_neg *seen = ARENA_NEW(k->a, struct gce_neg);
    *seen = (struct gce_neg){.name = NEG, .zone = KIT_ZONE, .size = size};
    return (struct gce_neg_one){.zone = KIT_ZONE,
                                .name = NEG,
                                .seen = seen,
                                .wanted = true,
                                .want = endpoints(k, want),
                                .n_want = want};
}

static void observe(struct kit *k, struct gce_neg_one *o)
{
    struct err err = ERR_INIT;
    if (gce_neg_observe(&k->s, true, o, 1, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
}

static unsigned lists(struct kit *k)
{
    return rig_calls(k->r, LIST);
}

/* ---- when it is asked ------------------------------------------------------------------------ */

static void gce_neg_observe__size_fits__nothing_is_asked(void **state)
{
    struct kit *k = *state;
    make_neg(k, 2);
    struct gce_neg_one o = one(k, 2, 2);
    for (int i = 0; i < 3; i++) {
        observe(k, &o);
        assert_int_equal(o.n_is, 2);
    }
    assert_int_equal(rig_calls(k->r, NULL), 0);
    assert_int_equal(k->s.reads, 0);
    /* Until something is to be changed. */
    o = one(k, 2, 1);
    observe(k, &o);
    assert_int_equal(lists(k), 1);
    assert_int_equal(k->s.reads, 1);
    assert_int_equal(o.n_is, 2);
    observe(k, &o);
    assert_int_equal(lists(k), 1); /* known from now on */
}

static void gce_neg_observe__size_differs__listed(void **state)
{
    struct kit *k = *state;
    make_neg(k, 1);
    struct gce_neg_one o = one(k, 1, 2);
    observe(k, &o);
    assert_int_equal(lists(k), 1);
    assert_int_equal(o.n_is, 1);
    assert_string_equal(o.is[0].instance, o.want[0].instance);
    assert_string_equal(o.is[0].ip, o.want[0].ip);
}

static void gce_neg_observe__empty_and_nobody_wanted__nothing_is_asked(void **state)
{
    struct kit *k = *state;
    make_neg(k, 0);
    struct gce_neg_one o = one(k, 0, 0);
    observe(k, &o);
    assert_int_equal(rig_calls(k->r, NULL), 0);
    assert_int_equal(o.n_is, 0);
}

static void gce_neg_observe__not_there_or_foreign__not_asked(void **state)
{
    struct kit *k = *state;
    struct gce_neg_one o[] = {one(k, 5, 1), one(k, 5, 1)};
    o[0].seen = NULL;
    o[1].foreign = true;
    struct err err = ERR_INIT;
    assert_int_equal(gce_neg_observe(&k->s, true, o, 2, &err), ERR_OK);
    assert_int_equal(rig_calls(k->r, NULL), 0);
}

/* ---- what is not known is not changed -------------------------------------------------------- */

static void gce_neg_observe__list_fails__error_and_unknown(void **state)
{
    struct kit *k = *state;
    make_neg(k, 2);
    rig_fault(k->r,
              "{\"match\":{\"op\":\"" LIST "\"},\"count\":2,\"do\":\"refuse\",\"status\":403}");
    struct gce_neg_one o = one(k, 2, 1);
    struct err err = ERR_INIT;
    assert_int_equal(gce_neg_observe(&k->s, true, &o, 1, &err), ERR_FORBIDDEN);
    assert_non_null(strstr(err.message, "error listing the members of NEG " NEG));
    assert_true(o.unknown);
    assert_int_equal(o.n_is, 0);
    /* A plan reports it, and does not mention these members. */
    k->s.planning = true;
    assert_int_equal(gce_neg_observe(&k->s, true, &o, 1, &err), ERR_OK);
    assert_true(o.unknown);
    struct gce_neg_plan n = {.items = &o, .n = 1, .network = "", .subnetwork = ""};
    struct lb_plan plan;
    lb_plan_init(&plan, k->a);
    assert_int_equal(gce_neg_plan_make(&plan, "default/web", &n, &k->call, &err), ERR_OK);
    assert_int_equal(lb_plan_changes(&plan), 0);
}

static void gce_neg_observe__gone_meanwhile__conflict(void **state)
{
    struct kit *k = *state;
    struct gce_neg_one o = one(k, 2, 1);
    struct err err = ERR_INIT;
    assert_int_equal(gce_neg_observe(&k->s, true, &o, 1, &err), ERR_CONFLICT);
    assert_int_equal(gce_neg_mirror_zones(k->p->cloud.negs, k->a, NEG).n, 0);
}

/* ---- what was done is remembered ------------------------------------------------------------- */

static void carry_out(struct kit *k, const struct gce_neg_one *o)
{
    struct gce_neg_one copy = *o;
    struct gce_neg_plan n = {.items = &copy,
                             .n = 1,
                             .description = "",
                             .network = KIT_PROJECT "global/networks/default",
                             .subnetwork = KIT_PROJECT "regions/us-central1/subnetworks/default"};
    struct lb_plan plan;
    struct err err = ERR_INIT;
    lb_plan_init(&plan, k->a);
    if (gce_neg_plan_make(&plan, "default/web", &n, &k->call, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    struct gce_op *ops = ARENA_ARRAY(k->a, struct gce_op, plan.n_ops);
    for (size_t i = 0; i < plan.n_ops; i++) {
        ops[i] = *(const struct gce_op *)plan.ops[i].arg;
    }
    struct kit_end *ends = kit_run(k, ops, plan.n_ops, 0);
    for (size_t i = 0; i < plan.n_ops; i++) {
        gce_neg_wrote(k->p->cloud.negs, &plan.ops[i], ends[i].outcome, &ends[i].err);
    }
}

static size_t in_cloud(struct kit *k)
{
    struct gce_members_list list = {.c = GCE_NEGS, .zone = KIT_ZONE, .name = NEG};
    gce_members_read(&k->s, &list, 1);
    assert_int_equal(list.err.code, ERR_OK);
    rig_forget(k->r);
    return list.n;
}

static void gce_neg_wrote__made_and_filled__never_listed(void **state)
{
    struct kit *k = *state;
    struct gce_neg_one o = one(k, 0, 2);
    const struct gce_neg *seen = o.seen;
    o.seen = NULL;
    carry_out(k, &o);
    assert_int_equal(lists(k), 0);
    assert_int_equal(in_cloud(k), 2);
    o.seen = seen;
    observe(k, &o); /* its size was never read */
    assert_int_equal(o.n_is, 2);
    o = one(k, 0, 1);
    observe(k, &o);
    carry_out(k, &o);
    assert_int_equal(lists(k), 0);
    assert_int_equal(in_cloud(k), 1);
}

static void gce_neg_wrote__failed__listed_before_the_next_change(void **state)
{
    struct kit *k = *state;
    make_neg(k, 1);
    struct gce_neg_one o = one(k, 1, 2);
    observe(k, &o);
    rig_fault(k->r, "{\"match\":{\"op\":\"compute.networkEndpointGroups.attachNetworkEndpoints\"},"
                    "\"count\":1,\"do\":\"refuse\",\"status\":403}");
    carry_out(k, &o);
    rig_forget(k->r);
    observe(k, &o);
    assert_int_equal(lists(k), 1);
    carry_out(k, &o);
    assert_int_equal(in_cloud(k), 2);
}

/* One was to join and another one to leave: the size is the wanted one, and the members are not. */
static void gce_neg_wrote__failed__size_says_nothing(void **state)
{
    struct kit *k = *state;
    make_neg(k, 2);
    struct gce_neg_one o = one(k, 2, 2);
    o.want++; /* the first node leaves, the second one stays */
    o.n_want = 1;
    observe(k, &o);
    rig_fault(k->r, "{\"match\":{\"op\":\"compute.networkEndpointGroups.detachNetworkEndpoints\"},"
                    "\"count\":1,\"do\":\"refuse\",\"status\":403}");
    carry_out(k, &o);
    rig_forget(k->r);
    o.want = endpoints(k, 2);
    o.n_want = 2; /* by its size it fits */
    observe(k, &o);
    assert_int_equal(lists(k), 1);
}

static void gce_neg_is_known__without_a_look(void **state)
{
    struct kit *k = *state;
    struct gce_neg neg;
    bool before = gce_neg_is_known(k->p->cloud.negs, KIT_ZONE, NEG, &neg);
    assert_false(before);
    make_neg(k, 0);
    struct gce_neg_one o = one(k, 0, 0);
    observe(k, &o);
    assert_true(gce_neg_is_known(k->p->cloud.negs, KIT_ZONE, NEG, &neg));
    assert_string_equal(neg.name, NEG);
    assert_string_equal(neg.zone, KIT_ZONE);
    gce_neg_mirror_forget(k->p->cloud.negs, KIT_ZONE, NEG);
    assert_false(gce_neg_is_known(k->p->cloud.negs, KIT_ZONE, NEG, &neg));
}

/* ---- lists in pages -------------------------------------------------------------------------- */

static void gce_members_read__several_at_once__one_wave(void **state)
{
    struct kit *k = *state;
    make_neg(k, 2);
    struct gce_members_list all[] = {
        {.c = GCE_NEGS, .zone = KIT_ZONE, .name = NEG},
        {.c = GCE_NEGS, .zone = KIT_ZONE, .name = "k8s2-none"},
        {.c = GCE_GROUPS, .zone = KIT_ZONE, .name = "k8s-ig--none"},
    };
    gce_members_read(&k->s, all, ARRAY_LEN(all));
    assert_int_equal(all[0].n, 2);
    assert_false(all[0].absent);
    assert_true(all[1].absent);
    assert_true(all[2].absent);
    assert_int_equal(k->s.reads, 3);
}

UNIT_MAIN(neg_observe)
{
    const struct CMUnitTest tests[] = {
        KIT_TEST(gce_neg_observe__size_fits__nothing_is_asked),
        KIT_TEST(gce_neg_observe__size_differs__listed),
        KIT_TEST(gce_neg_observe__empty_and_nobody_wanted__nothing_is_asked),
        KIT_TEST(gce_neg_observe__not_there_or_foreign__not_asked),
        KIT_TEST(gce_neg_observe__list_fails__error_and_unknown),
        KIT_TEST(gce_neg_observe__gone_meanwhile__conflict),
        KIT_TEST(gce_neg_wrote__made_and_filled__never_listed),
        KIT_TEST(gce_neg_wrote__failed__listed_before_the_next_change),
        KIT_TEST(gce_neg_wrote__failed__size_says_nothing),
        KIT_TEST(gce_neg_is_known__without_a_look),
        KIT_TEST(gce_members_read__several_at_once__one_wave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
