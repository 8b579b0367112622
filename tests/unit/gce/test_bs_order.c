/* SPDX-License-Identifier: Apache-2.0 */
/* test_bs_order.c: what waits for what in plans of balancers with a backend service
 * (gce_bs_order_plan.c): each of the barriers that no plan may be without, and what
 * need not wait. */
#include "tests/unit/gce/bs_scene.h"

static bool is_internal(const char *kind)
{
    return str_has_prefix(kind, "ilb");
}

static bool has_negs(const char *kind)
{
    return str_has_suffix(kind, "negs");
}

static enum gce_collection checks_of(const char *kind)
{
    return is_internal(kind) ? GCE_HCS : GCE_REGION_HCS;
}

static void set_policy(struct scene *s, const char *policy)
{
    json_add_str(json_member(s->sync.service, "spec"), "externalTrafficPolicy", policy);
    json_add(json_member(s->sync.service, "spec"), "healthCheckNodePort",
             str_eq(policy, "Local") ? json_object_new_int(31997) : NULL);
}

static void assert_beside(const struct scene *s, const struct lb_op *first,
                          const struct lb_op *then)
{
    const struct lb_plan *p = &s->sync.plan;
    if (lb_plan_waits_for(p, (int)(then - p->ops), (int)(first - p->ops))) {
        fail_msg("%s: %s %s waits for %s %s", json_str(s->sync.facts, "kind"), then->kind,
                 then->name, first->kind, first->name);
    }
}

/* The firewall for health checks; the one for traffic has another name. */
static const struct lb_op *check_wall(const struct scene *s, enum gce_verb verb)
{
    const struct lb_plan *p = &s->sync.plan;
    for (size_t i = 0; i < p->n_ops; i++) {
        const struct gce_op *arg = scene_arg(&p->ops[i]);
        if (arg != NULL && arg->c == GCE_FIREWALLS && arg->verb == verb &&
            (str_has_suffix(arg->name, "-hc") || str_has_suffix(arg->name, "-fw"))) {
            return &p->ops[i];
        }
    }
    fail_msg("%s: no firewall of a check", json_str(s->sync.facts, "kind"));
    return NULL;
}

/* ---- made ------------------------------------------------------------------------------------ */

/* The chain is check, backend service, rule, firewall; nothing else holds it up. */
static void order__first_of_a_cluster__rule_waits_for_its_chain_alone(void **state)
{
    for (size_t k = 0; k < SCENE_KINDS; k++) {
        struct scene s;
        const char *kind = scene_kinds[k];
        scene_begin_kind(&s, *state, kind);
        scene_plan(&s);
        const struct lb_op *check = scene_op(&s, checks_of(kind), GCE_INSERT, "");
        const struct lb_op *backend = scene_op(&s, GCE_BACKENDS, GCE_INSERT, "");
        const struct lb_op *rule = scene_op(&s, GCE_RULES, GCE_INSERT, "");
        scene_assert_before(&s, check, backend);
        scene_assert_before(&s, backend, rule);
        assert_beside(&s, check_wall(&s, GCE_INSERT), rule);
        if (has_negs(kind)) {
            scene_assert_before(&s, scene_op(&s, GCE_NEGS, GCE_INSERT, ""), backend);
            assert_beside(&s, scene_op(&s, GCE_NEGS, GCE_ATTACH, ""), rule);
        }
        scene_carry_out(&s);
        scene_end(&s);
    }
}

static void order__neg_is_made__members_wait_for_that_one_alone(void **state)
{
    struct scene s;
    scene_begin_kind(&s, *state, "ilb-negs");
    scene_plan(&s);
    const struct lb_plan *p = &s.sync.plan;
    for (size_t i = 0; i < p->n_ops; i++) {
        const struct gce_op *join = scene_arg(&p->ops[i]);
        for (size_t m = 0; join != NULL && join->verb == GCE_ATTACH && m < p->n_ops; m++) {
            const struct gce_op *neg = scene_arg(&p->ops[m]);
            if (neg != NULL && neg->c == GCE_NEGS && neg->verb == GCE_INSERT) {
                bool waits = lb_plan_waits_for(p, (int)i, (int)m);
                assert_int_equal(waits, str_eq(neg->zone, join->zone));
            }
        }
    }
    scene_end(&s);
}

/* The firewall names an address that is reserved first, so it is made beside
 * the backend service. */
static void order__address_is_held_first__firewall_waits_for_it_alone(void **state)
{
    for (size_t k = 0; k < SCENE_KINDS; k++) {
        struct scene s;
        scene_begin_kind(&s, *state, scene_kinds[k]);
        scene_set_fact(&s, "hold_first", "true");
        scene_plan(&s);
        const struct lb_op *hold = scene_op(&s, GCE_ADDRESSES, GCE_INSERT, "");
        const struct lb_op *wall = scene_traffic_firewall(&s, GCE_INSERT);
        const struct lb_op *rule = scene_op(&s, GCE_RULES, GCE_INSERT, "");
        const struct lb_op *release = scene_op(&s, GCE_ADDRESSES, GCE_DELETE, "");
        assert_false(hold->critical); /* the address was not published */
        scene_assert_before(&s, hold, wall);
        scene_assert_before(&s, hold, rule);
        assert_beside(&s, scene_op(&s, GCE_BACKENDS, GCE_INSERT, ""), wall);
        assert_beside(&s, wall, rule);
        scene_assert_before(&s, rule, release);
        assert_int_equal(release->finally, LB_FINALLY_OK);
        scene_carry_out(&s);
        scene_plan(&s);
        assert_int_equal(lb_plan_changes(&s.sync.plan), 0);
        scene_end(&s);
    }
}

/* ---- changed --------------------------------------------------------------------------------- */

/* The replacement must work first: the new check and its firewall; then the old ones are
 * deleted. */
static void order__policy_changes__new_check_and_firewall_first_old_ones_last(void **state)
{
    static const char *const policies[] = {"Local", "Cluster"};
    for (size_t k = 0; k < SCENE_KINDS; k++) {
        const char *kind = scene_kinds[k];
        struct scene s;
        scene_begin_kind(&s, *state, kind);
        scene_settle(&s);
        for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
            set_policy(&s, policies[i]);
            scene_plan(&s);
            const struct lb_op *backend = scene_op(&s, GCE_BACKENDS, GCE_UPDATE, "");
            const struct lb_op *old = scene_op(&s, checks_of(kind), GCE_DELETE, "");
            scene_assert_before(&s, scene_op(&s, checks_of(kind), GCE_INSERT, ""), backend);
            scene_assert_before(&s, check_wall(&s, GCE_INSERT), backend);
            scene_assert_before(&s, backend, old);
            scene_assert_before(&s, old, check_wall(&s, GCE_DELETE));
            scene_carry_out(&s);
        }
        scene_end(&s);
    }
}

/* Policy Local sends clients to the nodes with pods only, so these must be members when its check
 * counts.  The check of policy Cluster is one that all members pass. */
static void order__policy_changes__members_join_before_the_check_of_local(void **state)
{
    static const char *const policies[] = {"Local", "Cluster"};
    struct scene s;
    scene_begin_kind(&s, *state, "ilb-negs");
    (void)json_object_array_del_idx(s.sync.nodes, 5, 1);
    scene_settle(&s);
    scene_set_fact(&s, "slices",
                   "[{\"metadata\":{\"namespace\":\"demo\",\"name\":\"web-1\",\"labels\":{"
                   "\"kubernetes.io/service-name\":\"web\"}},\"addressType\":\"IPv4\","
                   "\"endpoints\":[{\"addresses\":[\"10.4.0.2\"],\"nodeName\":\"node-5\","
                   "\"targetRef\":{\"kind\":\"Pod\",\"namespace\":\"demo\",\"name\":\"web-1\"},"
                   "\"conditions\":{\"ready\":true}}]}]");
    s.sync.nodes = gce_bs_sync_nodes(*state); /* the pod's node is new */
    for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
        set_policy(&s, policies[i]);
        scene_plan(&s);
        int turn = scene_find(&s, GCE_BACKENDS, GCE_UPDATE, "");
        int join = scene_find(&s, GCE_NEGS, GCE_ATTACH, "");
        assert_true(turn >= 0 && join >= 0);
        assert_int_equal(lb_plan_waits_for(&s.sync.plan, turn, join), i == 0);
        scene_carry_out(&s);
    }
    scene_end(&s);
}

/* A rule that is made again is away for no longer than it takes to make it. */
static void order__rule_is_made_again__all_that_it_needs_stands_before(void **state)
{
    for (size_t k = 0; k < SCENE_KINDS; k++) {
        const char *kind = scene_kinds[k];
        struct scene s;
        scene_begin_kind(&s, *state, kind);
        scene_settle(&s);
        set_policy(&s, "Local");
        json_object_object_add(
            json_object_array_get_idx(json_member(json_member(s.sync.service, "spec"), "ports"), 0),
            "port", json_object_new_int(8080));
        scene_plan(&s);
        const struct lb_op *away = scene_op(&s, GCE_RULES, GCE_DELETE, "");
        const struct lb_op *again = scene_op(&s, GCE_RULES, GCE_INSERT, "");
        scene_assert_before(&s, scene_op(&s, GCE_ADDRESSES, GCE_INSERT, ""), away);
        scene_assert_before(&s, scene_op(&s, GCE_BACKENDS, GCE_UPDATE, ""), away);
        scene_assert_before(&s, check_wall(&s, GCE_INSERT), away);
        scene_assert_before(&s, scene_traffic_firewall(&s, GCE_PATCH), away);
        scene_assert_before(&s, away, again);
        assert_int_equal(again->wave, away->wave + 1);
        scene_assert_before(&s, again, scene_op(&s, GCE_ADDRESSES, GCE_DELETE, ""));
        scene_carry_out(&s);
        scene_end(&s);
    }
}

/* The cloud refuses another protocol while rules refer to the backend service. */
static void order__protocol_changes__backend_service_between_the_rules(void **state)
{
    for (size_t k = 0; k < SCENE_KINDS; k++) {
        struct scene s;
        scene_begin_kind(&s, *state, scene_kinds[k]);
        scene_settle(&s);
        json_add_str(
            json_object_array_get_idx(json_member(json_member(s.sync.service, "spec"), "ports"), 0),
            "protocol", "UDP");
        scene_plan(&s);
        const struct lb_op *backend = scene_op(&s, GCE_BACKENDS, GCE_UPDATE, "");
        scene_assert_before(&s, scene_op(&s, GCE_RULES, GCE_DELETE, ""), backend);
        scene_assert_before(&s, backend, scene_op(&s, GCE_RULES, GCE_INSERT, ""));
        scene_carry_out(&s);
        scene_end(&s);
    }
}

/* Two rules with one address: it is given back when both have it. */
static void order__rules_share_an_address__it_is_given_back_after_all(void **state)
{
    struct scene s;
    scene_begin(&s, *state, "{\"kind\":\"netlb-groups\",\"flags\":{\"mixed_netlb\":true}}");
    json_object_array_add(json_member(json_member(s.sync.service, "spec"), "ports"),
                          json_copy(pure_json(*state, "{\"port\":53,\"protocol\":\"UDP\"}")));
    scene_plan(&s);
    const struct lb_plan *p = &s.sync.plan;
    const struct lb_op *release = scene_op(&s, GCE_ADDRESSES, GCE_DELETE, "");
    size_t rules = 0;
    for (size_t i = 0; i < p->n_ops; i++) {
        const struct gce_op *arg = scene_arg(&p->ops[i]);
        if (arg != NULL && arg->c == GCE_RULES && arg->verb == GCE_INSERT) {
            scene_assert_before(&s, &p->ops[i], release);
            rules++;
        }
    }
    assert_int_equal(rules, 2);
    scene_carry_out(&s);
    scene_end(&s);
}

/* A patch cannot move a firewall: one of its name goes, and is made. */
static void order__other_network__one_of_a_name_goes_before_it_is_made(void **state)
{
    for (size_t k = 0; k < SCENE_KINDS; k++) {
        struct scene s;
        scene_begin_kind(&s, *state, scene_kinds[k]);
        scene_set_fact(&s, "network", "\"old\"");
        scene_settle(&s);
        json_object_object_del(s.sync.facts, "network");
        if (has_negs(scene_kinds[k])) {
            scene_end(&s); /* NEGs that are referred to cannot follow */
            continue;
        }
        scene_plan(&s);
        scene_assert_before(&s, check_wall(&s, GCE_DELETE), check_wall(&s, GCE_INSERT));
        scene_assert_before(&s, scene_traffic_firewall(&s, GCE_DELETE),
                            scene_traffic_firewall(&s, GCE_INSERT));
        scene_end(&s);
    }
}

/* ---- taken away ------------------------------------------------------------------------------ */

static void order__deleted__each_after_what_used_it(void **state)
{
    for (size_t k = 0; k < SCENE_KINDS; k++) {
        const char *kind = scene_kinds[k];
        struct scene s;
        scene_begin_kind(&s, *state, kind);
        scene_settle(&s);
        scene_set_fact(&s, "verb", "\"delete\"");
        scene_plan(&s);
        const struct lb_op *rule = scene_op(&s, GCE_RULES, GCE_DELETE, "");
        const struct lb_op *backend = scene_op(&s, GCE_BACKENDS, GCE_DELETE, "");
        const struct lb_op *check = scene_op(&s, checks_of(kind), GCE_DELETE, "");
        scene_assert_before(&s, rule, backend);
        scene_assert_before(&s, backend, check);
        scene_assert_before(&s, check, check_wall(&s, GCE_DELETE));
        assert_beside(&s, rule, scene_traffic_firewall(&s, GCE_DELETE));
        assert_beside(&s, scene_traffic_firewall(&s, GCE_DELETE), backend);
        if (has_negs(kind)) {
            scene_assert_before(&s, backend, scene_op(&s, GCE_NEGS, GCE_DELETE, ""));
            assert_beside(&s, check, scene_op(&s, GCE_NEGS, GCE_DELETE, ""));
        }
        scene_carry_out(&s);
        scene_end(&s);
    }
}

/* The shared check may be in use by others, and then they need its firewall, too. */
static void order__shared_check_deleted__firewall_only_when_it_has_gone(void **state)
{
    for (size_t k = 0; k < SCENE_KINDS; k++) {
        struct scene s;
        scene_begin_kind(&s, *state, scene_kinds[k]);
        scene_settle(&s);
        scene_set_fact(&s, "verb", "\"delete\"");
        scene_plan(&s);
        const struct lb_op *check = scene_op(&s, checks_of(scene_kinds[k]), GCE_DELETE, "");
        const struct lb_op *wall = check_wall(&s, GCE_DELETE);
        assert_ptr_equal(&s.sync.plan.ops[wall->only_if_op], check);
        assert_int_equal(wall->only_if, LB_DONE);
        scene_assert_before(&s, check, wall);
        scene_end(&s);
    }
}

/* The last one on instance groups takes them along: behind its backend service,
 * beside its check. */
static void order__groups_deleted__after_the_backend_service_alone(void **state)
{
    struct scene s;
    scene_begin_kind(&s, *state, "netlb-groups");
    scene_settle(&s);
    scene_set_fact(&s, "verb", "\"delete\"");
    scene_plan(&s);
    struct lb_plan *p = &s.sync.plan;
    struct err err = ERR_INIT;
    size_t from = p->n_ops;
    const struct lb_op group = LB_OP(.verb = LB_DELETE, .kind = gce_collection_word(GCE_GROUPS),
                                     .name = "k8s-ig--0123456789abcdef",
                                     .why = "no Service needs it", .type = &gce_op_type_delete);
    int one = lb_plan_add(p, "demo/web", &group);
    int other = lb_plan_add(p, "demo/web", &group);
    gce_bs_order_groups(p, from);
    assert_int_equal(lb_plan_seal(p, &err), ERR_OK);
    int backend = scene_find(&s, GCE_BACKENDS, GCE_DELETE, "");
    int check = scene_find(&s, GCE_REGION_HCS, GCE_DELETE, "");
    for (int at = one; at <= other; at++) {
        assert_true(lb_plan_waits_for(p, at, backend));
        assert_false(lb_plan_waits_for(p, at, check));
    }
    assert_false(lb_plan_waits_for(p, other, one));
    scene_end(&s);
}

UNIT_MAIN(bs_order)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(order__first_of_a_cluster__rule_waits_for_its_chain_alone),
        PURE_TEST(order__neg_is_made__members_wait_for_that_one_alone),
        PURE_TEST(order__address_is_held_first__firewall_waits_for_it_alone),
        PURE_TEST(order__policy_changes__new_check_and_firewall_first_old_ones_last),
        PURE_TEST(order__policy_changes__members_join_before_the_check_of_local),
        PURE_TEST(order__rule_is_made_again__all_that_it_needs_stands_before),
        PURE_TEST(order__protocol_changes__backend_service_between_the_rules),
        PURE_TEST(order__rules_share_an_address__it_is_given_back_after_all),
        PURE_TEST(order__other_network__one_of_a_name_goes_before_it_is_made),
        PURE_TEST(order__deleted__each_after_what_used_it),
        PURE_TEST(order__shared_check_deleted__firewall_only_when_it_has_gone),
        PURE_TEST(order__groups_deleted__after_the_backend_service_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
