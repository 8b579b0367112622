/* SPDX-License-Identifier: Apache-2.0 */
/* test_bs_plan.c: plans of balancers with a backend service: the consistency rules of gce-l4.md
 * §9.5 as attributes of the plan, one test each, and the figures that a plan must stay within.
 *
 * What each plan says and does is in tests/golden/gce; here is what must be true of all of them. */
#include "tests/unit/gce/bs_scene.h"

/* ---- gce-l4.md §9.5 -------------------------------------------------------------------------- */

/* The status is written when a plan went well, so the firewall must be a part of the plan whose
 * failure is the plan's. */
static void consistency__rule_1__firewall_before_status(void **state)
{
    for (size_t k = 0; k < SCENE_KINDS; k++) {
        struct scene s;
        scene_begin_kind(&s, *state, scene_kinds[k]);
        scene_plan(&s);
        const struct lb_op *fw = scene_traffic_firewall(&s, GCE_INSERT);
        assert_int_equal(fw->finally, LB_FINALLY_NO);
        assert_int_equal(fw->tolerate, 0);
        assert_int_equal(fw->only_if_op, -1);
        assert_int_equal(fw->wave, s.sync.plan.waves);
        scene_end(&s);
    }
}

static void consistency__rule_2__allow_before_deny(void **state)
{
    struct scene s;
    scene_begin(
        &s, *state,
        "{\"kind\":\"netlb-groups\",\"flags\":{\"deny_firewall\":true,\"deny_cleanup\":true}}");
    scene_plan(&s);
    const struct lb_op *allow = scene_traffic_firewall(&s, GCE_INSERT);
    const struct lb_op *deny = scene_op(&s, GCE_FIREWALLS, GCE_INSERT, "-deny");
    scene_assert_before(&s, allow, deny);
    assert_ptr_equal(&s.sync.plan.ops[deny->only_if_op], allow);
    assert_int_equal(deny->only_if, LB_DONE);
    scene_carry_out(&s);
    /* Switched off: deny goes before allow comes down to its priority. */
    scene_set_fact(&s, "flags", "{\"deny_cleanup\":true}");
    scene_plan(&s);
    scene_assert_before(&s, scene_op(&s, GCE_FIREWALLS, GCE_DELETE, "-deny"),
                        scene_traffic_firewall(&s, GCE_PATCH));
    scene_carry_out(&s);
    scene_end(&s);
}

static void consistency__rule_3__address_is_held_while_the_rule_is_away(void **state)
{
    for (size_t k = 0; k < SCENE_KINDS; k++) {
        struct scene s;
        scene_begin_kind(&s, *state, scene_kinds[k]);
        scene_settle(&s);
        scene_set_port(&s, 8080);
        scene_plan(&s);
        const struct lb_op *hold = scene_op(&s, GCE_ADDRESSES, GCE_INSERT, "");
        const struct lb_op *away = scene_op(&s, GCE_RULES, GCE_DELETE, "");
        const struct lb_op *again = scene_op(&s, GCE_RULES, GCE_INSERT, "");
        const struct lb_op *release = scene_op(&s, GCE_ADDRESSES, GCE_DELETE, "");
        scene_assert_before(&s, hold, away);
        scene_assert_before(&s, away, again);
        scene_assert_before(&s, again, release);
        assert_true(away->critical);
        assert_int_equal(release->finally, LB_FINALLY_OK);
        assert_ptr_equal(&s.sync.plan.ops[release->only_if_op], hold);
        scene_carry_out(&s);
        scene_end(&s);
    }
}

static void consistency__rule_3__nothing_is_held_when_nothing_can_be_lost(void **state)
{
    for (size_t k = 0; k < SCENE_KINDS; k++) {
        struct scene s;
        scene_begin_kind(&s, *state, scene_kinds[k]);
        scene_plan(&s);
        assert_int_equal(scene_find(&s, GCE_ADDRESSES, GCE_INSERT, ""), -1);
        scene_end(&s);
    }
}

static void consistency__rule_4__backend_service_before_rule_and_after_it(void **state)
{
    for (size_t k = 0; k < SCENE_KINDS; k++) {
        struct scene s;
        scene_begin_kind(&s, *state, scene_kinds[k]);
        scene_plan(&s);
        scene_assert_before(&s, scene_op(&s, GCE_BACKENDS, GCE_INSERT, ""),
                            scene_op(&s, GCE_RULES, GCE_INSERT, ""));
        scene_carry_out(&s);
        scene_set_fact(&s, "verb", "\"delete\"");
        scene_plan(&s);
        const struct lb_op *rule = scene_op(&s, GCE_RULES, GCE_DELETE, "");
        const struct lb_op *service = scene_op(&s, GCE_BACKENDS, GCE_DELETE, "");
        enum gce_collection checks =
            str_has_prefix(scene_kinds[k], "ilb") ? GCE_HCS : GCE_REGION_HCS;
        scene_assert_before(&s, rule, service);
        scene_assert_before(&s, service, scene_op(&s, checks, GCE_DELETE, ""));
        if (str_has_suffix(scene_kinds[k], "negs")) {
            scene_assert_before(&s, service, scene_op(&s, GCE_NEGS, GCE_DELETE, ""));
        }
        scene_carry_out(&s);
        scene_end(&s);
    }
}

/* The driver holds the finalizers of an operation's owners before the first operation is sent
 * (docs/planner.md rule 9). */
static void consistency__rule_5__every_mutation_has_the_service_as_owner(void **state)
{
    for (size_t k = 0; k < SCENE_KINDS; k++) {
        struct scene s;
        scene_begin_kind(&s, *state, scene_kinds[k]);
        scene_plan(&s);
        for (size_t i = 0; i < s.sync.plan.n_ops; i++) {
            assert_true(str_set_has(&s.sync.plan.ops[i].owners, "demo/web"));
        }
        scene_end(&s);
    }
}

static struct json_object *backends_sent(const struct scene *s)
{
    const struct gce_op *arg = scene_op(s, GCE_BACKENDS, GCE_UPDATE, "")->arg;
    return json_member(arg->body, "backends");
}

static void consistency__rule_6__a_write_keeps_the_backends(void **state)
{
    for (size_t k = 0; k < SCENE_KINDS; k++) {
        struct scene s;
        scene_begin_kind(&s, *state, scene_kinds[k]);
        scene_settle(&s);
        struct json_object *spec = json_member(s.sync.service, "spec");
        json_add_str(spec, "sessionAffinity", "ClientIP");
        s.sync.nodes = pure_json(s.a, "[]"); /* no node is known: no reason to drop traffic */
        scene_set_fact(&s, "slices", "[]");
        scene_plan(&s);
        assert_int_equal(json_len(backends_sent(&s)), 3);
        scene_carry_out(&s);
        scene_end(&s);
    }
}

static void consistency__rule_6__others_members_of_a_backend_stay(void **state)
{
    struct scene s;
    scene_begin_kind(&s, *state, "netlb-groups");
    scene_settle(&s);
    struct json_object *is = gce_model_get(&s.model, GCE_BACKENDS, NULL, SCENE_BACKEND);
    json_add_bool(json_object_array_get_idx(json_member(is, "backends"), 1), "failover", true);
    json_add_int(is, "timeoutSec", 77);
    json_add_str(json_member(s.sync.service, "spec"), "sessionAffinity", "ClientIP");
    scene_settle(&s);
    is = gce_model_get(&s.model, GCE_BACKENDS, NULL, SCENE_BACKEND);
    assert_true(
        json_bool(json_object_array_get_idx(json_member(is, "backends"), 1), "failover", false));
    assert_int_equal(json_int(is, "timeoutSec", 0), 77);
    scene_end(&s);
}

/* Unreadable members are `unknown`; the desired members of the NEG are known anyway. */
static void consistency__rule_7__nobody_is_detached_because_a_read_failed(void **state)
{
    struct arena *a = *state;
    const struct gce_endpoint is[] = {{.instance = "gone", .ip = "10.0.0.1", .ipv6 = ""}};
    struct gce_neg seen = {.name = SCENE_BACKEND, .zone = "us-central1-a", .type = "GCE_VM_IP"};
    struct gce_neg_one one = {.zone = "us-central1-a",
                              .name = SCENE_BACKEND,
                              .seen = &seen,
                              .wanted = true,
                              .unknown = true,
                              .is = is,
                              .n_is = 1};
    const struct gce_neg_plan negs = {.items = &one, .n = 1};
    struct scene s;
    struct err err = ERR_INIT;
    scene_begin_kind(&s, a, "ilb-negs");
    scene_settle(&s);
    scene_plan(&s); /* looks again */
    const struct tt_service *svc = test_service(a, s.sync.service);
    const struct gce_bs_facts f = {.kube_system_uid = "kubesystem-uid1", .project = "p1"};
    const struct gce_bs_input in = {.service = svc,
                                    .key = "demo/web",
                                    .verb = TT_VERB_UPDATE,
                                    .kind = GCE_KIND_ILB_NEGS,
                                    .outcome = &s.sync.outcome};
    struct lb_plan p;
    lb_plan_init(&p, a);
    if (gce_bs_plan_update(&p, &f, &in, &s.sync.slots, &negs, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    for (size_t i = 0; i < p.n_ops; i++) {
        const struct gce_op *arg = scene_arg(&p.ops[i]);
        assert_true(arg == NULL || arg->verb != GCE_DETACH);
    }
    scene_end(&s);
}

/* An edit from external to internal that stopped behind its rule: the former kind's update has no
 * groups to bring into what stands. */
static void update__service_of_the_other_scheme__backends_stay(void **state)
{
    struct arena *a = *state;
    static const char *const zones[] = {"us-central1-a"};
    const struct gce_neg_plan negs = {0};
    struct scene s;
    struct err err = ERR_INIT;
    scene_begin_kind(&s, a, "ilb-negs");
    scene_settle(&s);
    scene_plan(&s); /* looks again */
    const struct gce_bs_facts f = {.kube_system_uid = "kubesystem-uid1", .project = "p1"};
    const struct gce_bs_input in = {.service = test_service(a, s.sync.service),
                                    .key = "demo/web",
                                    .verb = TT_VERB_UPDATE,
                                    .kind = GCE_KIND_NETLB_GROUPS,
                                    .zones = gce_strs_of(a, zones, ARRAY_LEN(zones)),
                                    .outcome = &s.sync.outcome};
    struct lb_plan p;
    lb_plan_init(&p, a);
    assert_int_equal(gce_bs_plan_update(&p, &f, &in, &s.sync.slots, &negs, &err), ERR_OK);
    for (size_t i = 0; i < p.n_ops; i++) {
        assert_int_equal(p.ops[i].verb, LB_KEEP);
    }
    scene_end(&s);
}

#define ENDPOINT(node)                                                                             \
    "{\"addresses\":[\"10.4.0.1\"],\"conditions\":{\"ready\":true},\"nodeName\":\"" node           \
    "\",\"targetRef\":{\"kind\":\"Pod\",\"name\":\"on-" node "\"}}"
#define SLICE_OF(endpoints)                                                                        \
    "[{\"metadata\":{\"name\":\"one\",\"namespace\":\"demo\",\"labels\":{\"kubernetes.io/"         \
    "service-name\":\"web\"}},\"addressType\":\"IPv4\",\"endpoints\":[" endpoints "]}]"
#define SLICE(node)         SLICE_OF(ENDPOINT(node))
#define SLICES(node, other) SLICE_OF(ENDPOINT(node) "," ENDPOINT(other))

/* An attach that was taken up may fail: where no member stays, its end is waited for. */
static void consistency__rule_8__attach_is_sent_before_detach(void **state)
{
    static const struct {
        const char *before, *then;
        int waves; /* between the two */
    } moves[] = {
        {SLICE("node-0"), SLICE("node-1"), 1},
        {SLICES("node-0", "node-2"), SLICES("node-1", "node-2"), 0}, /* both may be in flight */
    };
    for (size_t i = 0; i < ARRAY_LEN(moves); i++) {
        struct scene s;
        scene_begin_kind(&s, *state, "ilb-negs");
        struct json_object *spec = json_member(s.sync.service, "spec");
        json_add_str(spec, "externalTrafficPolicy", "Local");
        json_add_int(spec, "healthCheckNodePort", 31000);
        scene_set_fact(&s, "slices", moves[i].before);
        scene_settle(&s);
        scene_set_fact(&s, "slices", moves[i].then);
        scene_plan(&s);
        const struct lb_op *attach = scene_op(&s, GCE_NEGS, GCE_ATTACH, "");
        const struct lb_op *detach = scene_op(&s, GCE_NEGS, GCE_DETACH, "");
        assert_ptr_equal(&s.sync.plan.ops[detach->sent_after], attach);
        assert_int_equal(attach->wave + moves[i].waves, detach->wave);
        scene_carry_out(&s);
        scene_end(&s);
    }
}

/* A25: a zone whose NEG cannot be made takes nothing from those that are there. */
static void members__zone_out_of_order__other_zones_are_served(void **state)
{
    struct scene s;
    struct err err = ERR_INIT;
    scene_begin_kind(&s, *state, "ilb-negs");
    struct json_object *all = s.sync.nodes;
    struct json_object *some = pure_json(s.a, "[]");
    json_object_array_add(some, json_copy(json_object_array_get_idx(all, 0)));
    json_object_array_add(some, json_copy(json_object_array_get_idx(all, 1)));
    s.sync.nodes = some;
    scene_settle(&s);
    s.sync.nodes = all;
    scene_plan(&s);
    assert_int_equal(scene_op(&s, GCE_NEGS, GCE_INSERT, "")->wave,
                     scene_op(&s, GCE_NEGS, GCE_ATTACH, "")->wave);
    s.model.fails_in = 1; /* the first operation is the insert */
    assert_int_equal(gce_bs_sync_run(&s.sync, 0, NULL, &err), ERR_TRANSIENT);
    assert_int_equal(json_len(json_member(s.model.members, "us-central1-a")), 2);
    assert_int_equal(json_len(json_member(s.model.members, "us-central1-b")), 2);
    scene_end(&s);
}

/* ---- figures --------------------------------------------------------------------------------- */

static unsigned calls(const struct scene *s)
{
    unsigned n = 0;
    for (size_t i = 0; i < s->sync.plan.n_ops; i++) {
        n += s->sync.plan.ops[i].calls;
    }
    return n;
}

static unsigned looks(const struct scene *s)
{
    unsigned n = 0;
    for (size_t i = 0; i < s->sync.slots.n; i++) {
        n += s->sync.slots.items[i].main;
    }
    return n;
}

/* A second Service's: the shared check and its firewall stand. */
static void begin_further(struct scene *s, struct arena *a, const char *kind)
{
    scene_begin_kind(s, a, kind);
    scene_settle(s);
    scene_set_fact(s, "others_want_shared_check", "true");
    scene_set_fact(s, "verb", "\"delete\"");
    scene_settle(s);
    scene_set_fact(s, "verb", "\"ensure\"");
}

static void figures__internal_on_negs_further(void **state)
{
    struct scene s;
    begin_further(&s, *state, "ilb-negs");
    scene_plan(&s);
    assert_true(s.sync.plan.waves <= 4);
    assert_true(calls(&s) + looks(&s) + 3 <= 34); /* 3 NEGs are checked */
    scene_end(&s);
}

static void figures__external_on_groups_further(void **state)
{
    struct scene s;
    begin_further(&s, *state, "netlb-groups");
    scene_plan(&s);
    assert_true(s.sync.plan.waves <= 3);
    assert_true(calls(&s) + looks(&s) + 3 <= 25); /* 3 groups are checked */
    scene_end(&s);
}

static void figures__nothing_to_do(void **state)
{
    for (size_t k = 0; k < SCENE_KINDS; k++) {
        struct scene s;
        scene_begin_kind(&s, *state, scene_kinds[k]);
        scene_settle(&s);
        scene_plan(&s);
        assert_int_equal(lb_plan_changes(&s.sync.plan), 0);
        assert_true(looks(&s) <= 6);
        scene_end(&s);
    }
}

static void figures__internal_on_negs_deleted(void **state)
{
    struct scene s;
    scene_begin_kind(&s, *state, "ilb-negs");
    scene_settle(&s);
    scene_set_fact(&s, "others_want_shared_check", "true");
    scene_set_fact(&s, "verb", "\"delete\"");
    scene_plan(&s);
    assert_true(calls(&s) + looks(&s) + 3 <= 20);
    assert_int_equal(scene_op(&s, GCE_NEGS, GCE_DELETE, "")->wave,
                     scene_op(&s, GCE_BACKENDS, GCE_DELETE, "")->wave + 1);
    scene_end(&s);
}

/* ---- slots ----------------------------------------------------------------------------------- */

/* The plan of an ENSURE or DELETE deletes only resources that were read. */
static void slots__what_goes_was_looked_at(void **state)
{
    for (size_t k = 0; k < SCENE_KINDS; k++) {
        struct scene s;
        scene_begin_kind(&s, *state, scene_kinds[k]);
        scene_settle(&s);
        scene_set_fact(&s, "verb", "\"delete\"");
        scene_plan(&s);
        for (size_t i = 0; i < s.sync.plan.n_ops; i++) {
            const struct gce_op *arg = scene_arg(&s.sync.plan.ops[i]);
            bool negs = arg != NULL && arg->c == GCE_NEGS; /* their planner gets them */
            assert_true(arg == NULL || negs ||
                        gce_slots_find(&s.sync.slots, arg->c, arg->zone, arg->name) != NULL);
        }
        scene_end(&s);
    }
}

static void slots__update_looks_at_the_backend_service_alone(void **state)
{
    for (size_t k = 0; k < SCENE_KINDS; k++) {
        struct scene s;
        scene_begin_kind(&s, *state, scene_kinds[k]);
        scene_settle(&s);
        scene_set_fact(&s, "verb", "\"update\"");
        scene_plan(&s);
        assert_int_equal(s.sync.slots.n, 1);
        assert_int_equal(s.sync.slots.items[0].c, GCE_BACKENDS);
        scene_end(&s);
    }
}

/* A shared check that others want is no matter of a Service that goes. */
static void slots__shared_check_of_others_is_not_looked_at(void **state)
{
    struct scene s;
    scene_begin(&s, *state,
                "{\"kind\":\"ilb-negs\",\"verb\":\"delete\",\"others_want_shared_check\":true}");
    scene_plan(&s);
    for (size_t i = 0; i < s.sync.slots.n; i++) {
        assert_null(strstr(s.sync.slots.items[i].name, "shared-hc"));
    }
    scene_end(&s);
}

UNIT_MAIN(bs_plan)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(consistency__rule_1__firewall_before_status),
        PURE_TEST(consistency__rule_2__allow_before_deny),
        PURE_TEST(consistency__rule_3__address_is_held_while_the_rule_is_away),
        PURE_TEST(consistency__rule_3__nothing_is_held_when_nothing_can_be_lost),
        PURE_TEST(consistency__rule_4__backend_service_before_rule_and_after_it),
        PURE_TEST(consistency__rule_5__every_mutation_has_the_service_as_owner),
        PURE_TEST(consistency__rule_6__a_write_keeps_the_backends),
        PURE_TEST(consistency__rule_6__others_members_of_a_backend_stay),
        PURE_TEST(update__service_of_the_other_scheme__backends_stay),
        PURE_TEST(consistency__rule_7__nobody_is_detached_because_a_read_failed),
        PURE_TEST(consistency__rule_8__attach_is_sent_before_detach),
        PURE_TEST(members__zone_out_of_order__other_zones_are_served),
        PURE_TEST(figures__internal_on_negs_further),
        PURE_TEST(figures__external_on_groups_further),
        PURE_TEST(figures__nothing_to_do),
        PURE_TEST(figures__internal_on_negs_deleted),
        PURE_TEST(slots__what_goes_was_looked_at),
        PURE_TEST(slots__update_looks_at_the_backend_service_alone),
        PURE_TEST(slots__shared_check_of_others_is_not_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
