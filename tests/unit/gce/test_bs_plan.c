/* SPDX-License-Identifier: Apache-2.0 */
/* test_bs_plan.c: plans of balancers with a backend service: the consistency rules of gce-l4.md §9.5 as attributes of the
 * plan, one test each, and the figures that a plan must stay within.
 *
 * What each plan says and does is in tests/golden/gce; here is what must be true of all of them. */
#include "tests/golden/gce_bs_sync.h"
#include "tests/unit/gce/pure.h"

#include "providers/gce/gce_ops.h"
#include "tests/support/unit.h"

/* One Service and its cloud. */
struct scene {
    struct arena *a;
    struct gce_model model;
    struct str_buf broken;
    struct gce_bs_sync sync;
};

#define SERVICE                                                                                    \
    "{\"metadata\":{\"namespace\":\"demo\",\"name\":\"web\",\"uid\":\"6fa8b6c4-3f1e-4c2a-9d57-"    \
    "0b1c2d3e4f50\"},\"spec\":{\"type\":\"LoadBalancer\",\"externalTrafficPolicy\":\"Cluster\","   \
    "\"ipFamilies\":[\"IPv4\"],\"ports\":[{\"port\":%d,\"protocol\":\"TCP\"}]}}"
#define GROUP(zone) "\"zones/us-central1-" zone "/instanceGroups/k8s-ig--0123456789abcdef\":{}"
#define BACKEND     "k8s2-7kpbhpki-demo-web-14fkcv9i"

static const char *const kinds[] = {"ilb-negs", "ilb-groups", "netlb-groups", "netlb-negs"};

static void begin(struct scene *s, struct arena *a, const char *facts)
{
    struct json_object *groups = pure_json(a, "{" GROUP("a") "," GROUP("b") "," GROUP("c") "}");
    *s = (struct scene){.a = a, .broken = STR_BUF_INIT};
    s->model.broken = &s->broken;
    gce_model_init(&s->model, a, groups, NULL);
    s->sync = (struct gce_bs_sync){.a = a,
                                   .model = &s->model,
                                   .service = pure_json(a, arena_printf(a, SERVICE, 80)),
                                   .nodes = gce_bs_sync_nodes(a),
                                   .facts = pure_json(a, facts)};
}

static void begin_kind(struct scene *s, struct arena *a, const char *kind)
{
    begin(s, a, arena_printf(a, "{\"kind\":\"%s\"}", kind));
}

static void end(struct scene *s)
{
    if (s->broken.len > 0) {
        fail_msg("%s", str_buf_text(&s->broken));
    }
    str_buf_done(&s->broken);
    gce_model_done(&s->model);
}

static void plan(struct scene *s)
{
    struct err err = ERR_INIT;
    if (gce_bs_sync_plan(&s->sync, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
}

static void carry_out(struct scene *s)
{
    struct err err = ERR_INIT;
    if (gce_bs_sync_run(&s->sync, 0, NULL, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
}

static void settle(struct scene *s)
{
    plan(s);
    carry_out(s);
}

static void set_port(struct scene *s, int port)
{
    s->sync.service = pure_json(s->a, arena_printf(s->a, SERVICE, port));
}

static void set_fact(struct scene *s, const char *name, const char *json)
{
    json_add(s->sync.facts, name, json_copy(pure_json(s->a, json)));
}

/* ---- operations ---------------------------------------------------------------------------------------- */

static const struct gce_op *arg_of(const struct lb_op *op)
{
    return op->verb == LB_KEEP ? NULL : op->arg;
}

/* The first such operation; `suffix` of its name ("" any).  -1: there is none. */
static int find_op(const struct scene *s, enum gce_collection c, enum gce_verb verb,
                   const char *suffix)
{
    for (size_t i = 0; i < s->sync.plan.n_ops; i++) {
        const struct gce_op *arg = arg_of(&s->sync.plan.ops[i]);
        if (arg != NULL && arg->c == c && arg->verb == verb && str_has_suffix(arg->name, suffix)) {
            return (int)i;
        }
    }
    return -1;
}

static const struct lb_op *op_of(const struct scene *s, enum gce_collection c, enum gce_verb verb,
                                 const char *suffix)
{
    int at = find_op(s, c, verb, suffix);
    if (at < 0) {
        fail_msg("%s: no operation %d on %s", json_str(s->sync.facts, "kind"), (int)verb,
                 gce_collection_word(c));
    }
    return &s->sync.plan.ops[at];
}

static void assert_before(const struct lb_op *first, const struct lb_op *then)
{
    if (first->wave >= then->wave) {
        fail_msg("%s %s in wave %d is not before %s %s in wave %d", first->kind, first->name,
                 first->wave, then->kind, then->name, then->wave);
    }
}

static bool is_traffic_firewall(const char *name)
{
    return str_has_prefix(name, "k8s-fw-") || str_eq(name, BACKEND);
}

static const struct lb_op *traffic_firewall(const struct scene *s, enum gce_verb verb)
{
    for (size_t i = 0; i < s->sync.plan.n_ops; i++) {
        const struct lb_op *op = &s->sync.plan.ops[i];
        const struct gce_op *arg = arg_of(op);
        if (arg != NULL && arg->c == GCE_FIREWALLS && arg->verb == verb &&
            is_traffic_firewall(arg->name)) {
            return op;
        }
    }
    fail_msg("no traffic firewall is written");
    return NULL;
}

/* ---- gce-l4.md §9.5 ---------------------------------------------------------------------------------------- */

/* The status is written when a plan went well, so the firewall must be a part of the plan whose failure is the plan's. */
static void consistency__rule_1__firewall_before_status(void **state)
{
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct scene s;
        begin_kind(&s, *state, kinds[k]);
        plan(&s);
        const struct lb_op *fw = traffic_firewall(&s, GCE_INSERT);
        assert_int_equal(fw->finally, LB_FINALLY_NO);
        assert_int_equal(fw->tolerate, 0);
        assert_int_equal(fw->only_if_op, -1);
        assert_int_equal(fw->wave, s.sync.plan.waves);
        end(&s);
    }
}

static void consistency__rule_2__allow_before_deny(void **state)
{
    struct scene s;
    begin(&s, *state,
          "{\"kind\":\"netlb-groups\",\"flags\":{\"deny_firewall\":true,\"deny_cleanup\":true}}");
    plan(&s);
    const struct lb_op *allow = traffic_firewall(&s, GCE_INSERT);
    const struct lb_op *deny = op_of(&s, GCE_FIREWALLS, GCE_INSERT, "-deny");
    assert_before(allow, deny);
    assert_ptr_equal(&s.sync.plan.ops[deny->only_if_op], allow);
    assert_int_equal(deny->only_if, LB_DONE);
    carry_out(&s);
    /* Switched off: deny goes before allow comes down to its priority. */
    set_fact(&s, "flags", "{\"deny_cleanup\":true}");
    plan(&s);
    assert_before(op_of(&s, GCE_FIREWALLS, GCE_DELETE, "-deny"), traffic_firewall(&s, GCE_PATCH));
    carry_out(&s);
    end(&s);
}

static void consistency__rule_3__address_is_held_while_the_rule_is_away(void **state)
{
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct scene s;
        begin_kind(&s, *state, kinds[k]);
        settle(&s);
        set_port(&s, 8080);
        plan(&s);
        const struct lb_op *hold = op_of(&s, GCE_ADDRESSES, GCE_INSERT, "");
        const struct lb_op *away = op_of(&s, GCE_RULES, GCE_DELETE, "");
        const struct lb_op *again = op_of(&s, GCE_RULES, GCE_INSERT, "");
        const struct lb_op *release = op_of(&s, GCE_ADDRESSES, GCE_DELETE, "");
        assert_before(hold, away);
        assert_before(away, again);
        assert_before(again, release);
        assert_true(away->critical);
        assert_int_equal(release->finally, LB_FINALLY_OK_OR_BEFORE_CRITICAL);
        assert_ptr_equal(&s.sync.plan.ops[release->only_if_op], hold);
        carry_out(&s);
        end(&s);
    }
}

static void consistency__rule_3__nothing_is_held_when_nothing_can_be_lost(void **state)
{
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct scene s;
        begin_kind(&s, *state, kinds[k]);
        plan(&s);
        assert_int_equal(find_op(&s, GCE_ADDRESSES, GCE_INSERT, ""), -1);
        end(&s);
    }
}

static void consistency__rule_4__backend_service_before_rule_and_after_it(void **state)
{
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct scene s;
        begin_kind(&s, *state, kinds[k]);
        plan(&s);
        assert_before(op_of(&s, GCE_BACKENDS, GCE_INSERT, ""),
                      op_of(&s, GCE_RULES, GCE_INSERT, ""));
        carry_out(&s);
        set_fact(&s, "verb", "\"delete\"");
        plan(&s);
        const struct lb_op *rule = op_of(&s, GCE_RULES, GCE_DELETE, "");
        const struct lb_op *service = op_of(&s, GCE_BACKENDS, GCE_DELETE, "");
        enum gce_collection checks = str_has_prefix(kinds[k], "ilb") ? GCE_HCS : GCE_REGION_HCS;
        assert_before(rule, service);
        assert_before(service, op_of(&s, checks, GCE_DELETE, ""));
        if (str_has_suffix(kinds[k], "negs")) {
            assert_before(service, op_of(&s, GCE_NEGS, GCE_DELETE, ""));
        }
        carry_out(&s);
        end(&s);
    }
}

/* The driver holds the finalizers of an operation's owners before the first operation is sent (docs/planner.md rule 9). */
static void consistency__rule_5__every_mutation_has_the_service_as_owner(void **state)
{
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct scene s;
        begin_kind(&s, *state, kinds[k]);
        plan(&s);
        for (size_t i = 0; i < s.sync.plan.n_ops; i++) {
            assert_true(str_set_has(&s.sync.plan.ops[i].owners, "demo/web"));
        }
        end(&s);
    }
}

static struct json_object *backends_sent(const struct scene *s)
{
    const struct gce_op *arg = op_of(s, GCE_BACKENDS, GCE_UPDATE, "")->arg;
    return json_member(arg->body, "backends");
}

static void consistency__rule_6__a_write_keeps_the_backends(void **state)
{
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct scene s;
        begin_kind(&s, *state, kinds[k]);
        settle(&s);
        struct json_object *spec = json_member(s.sync.service, "spec");
        json_add_str(spec, "sessionAffinity", "ClientIP");
        s.sync.nodes = pure_json(s.a, "[]"); /* nobody knows a node: no reason to drop traffic */
        set_fact(&s, "slices", "[]");
        plan(&s);
        assert_int_equal(json_len(backends_sent(&s)), 3);
        carry_out(&s);
        end(&s);
    }
}

static void consistency__rule_6__others_members_of_a_backend_stay(void **state)
{
    struct scene s;
    begin_kind(&s, *state, "netlb-groups");
    settle(&s);
    struct json_object *is = gce_model_get(&s.model, GCE_BACKENDS, NULL, BACKEND);
    json_add_bool(json_object_array_get_idx(json_member(is, "backends"), 1), "failover", true);
    json_add_int(is, "timeoutSec", 77);
    json_add_str(json_member(s.sync.service, "spec"), "sessionAffinity", "ClientIP");
    settle(&s);
    is = gce_model_get(&s.model, GCE_BACKENDS, NULL, BACKEND);
    assert_true(
        json_bool(json_object_array_get_idx(json_member(is, "backends"), 1), "failover", false));
    assert_int_equal(json_int(is, "timeoutSec", 0), 77);
    end(&s);
}

/* What could not be read comes as `unknown`; who belongs into the NEG is known all the same. */
static void consistency__rule_7__nobody_is_detached_because_a_read_failed(void **state)
{
    struct arena *a = *state;
    const struct gce_endpoint is[] = {{.instance = "gone", .ip = "10.0.0.1", .ipv6 = ""}};
    struct gce_neg seen = {.name = BACKEND, .zone = "us-central1-a", .type = "GCE_VM_IP"};
    struct gce_neg_one one = {.zone = "us-central1-a",
                              .name = BACKEND,
                              .seen = &seen,
                              .wanted = true,
                              .unknown = true,
                              .is = is,
                              .n_is = 1};
    const struct gce_neg_plan negs = {.items = &one, .n = 1};
    struct scene s;
    struct err err = ERR_INIT;
    begin_kind(&s, a, "ilb-negs");
    settle(&s);
    plan(&s); /* looks again */
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
        const struct gce_op *arg = arg_of(&p.ops[i]);
        assert_true(arg == NULL || arg->verb != GCE_DETACH);
    }
    end(&s);
}

#define SLICE(node)                                                                                \
    "[{\"metadata\":{\"name\":\"one\",\"namespace\":\"demo\",\"labels\":{\"kubernetes.io/"         \
    "service-name\":\"web\"}},\"addressType\":\"IPv4\",\"endpoints\":[{\"addresses\":[\"10.4.0."   \
    "1\"],"                                                                                        \
    "\"conditions\":{\"ready\":true},\"nodeName\":\"" node                                         \
    "\",\"targetRef\":{\"kind\":\"Pod\",\"name\":\"web-0\"}}]}]"

static void consistency__rule_8__attach_is_sent_before_detach(void **state)
{
    struct scene s;
    begin_kind(&s, *state, "ilb-negs");
    struct json_object *spec = json_member(s.sync.service, "spec");
    json_add_str(spec, "externalTrafficPolicy", "Local");
    json_add_int(spec, "healthCheckNodePort", 31000);
    set_fact(&s, "slices", SLICE("node-0"));
    settle(&s);
    set_fact(&s, "slices", SLICE("node-1"));
    plan(&s);
    const struct lb_op *attach = op_of(&s, GCE_NEGS, GCE_ATTACH, "");
    const struct lb_op *detach = op_of(&s, GCE_NEGS, GCE_DETACH, "");
    assert_ptr_equal(&s.sync.plan.ops[detach->sent_after], attach);
    assert_int_equal(attach->wave, detach->wave); /* both may be in flight */
    carry_out(&s);
    end(&s);
}

/* A25: a zone whose NEG cannot be made takes nothing from those that are there. */
static void members__zone_out_of_order__other_zones_are_served(void **state)
{
    struct scene s;
    struct err err = ERR_INIT;
    begin_kind(&s, *state, "ilb-negs");
    struct json_object *all = s.sync.nodes;
    struct json_object *some = pure_json(s.a, "[]");
    json_object_array_add(some, json_copy(json_object_array_get_idx(all, 0)));
    json_object_array_add(some, json_copy(json_object_array_get_idx(all, 1)));
    s.sync.nodes = some;
    settle(&s);
    s.sync.nodes = all;
    plan(&s);
    assert_int_equal(op_of(&s, GCE_NEGS, GCE_INSERT, "")->wave,
                     op_of(&s, GCE_NEGS, GCE_ATTACH, "")->wave);
    s.model.fails_in = 1; /* the first operation is the insert */
    assert_int_equal(gce_bs_sync_run(&s.sync, 0, NULL, &err), ERR_TRANSIENT);
    assert_int_equal(json_len(json_member(s.model.members, "us-central1-a")), 2);
    assert_int_equal(json_len(json_member(s.model.members, "us-central1-b")), 2);
    end(&s);
}

/* ---- figures ------------------------------------------------------------------------------------------------ */

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
    begin_kind(s, a, kind);
    settle(s);
    set_fact(s, "others_want_shared_check", "true");
    set_fact(s, "verb", "\"delete\"");
    settle(s);
    set_fact(s, "verb", "\"ensure\"");
}

static void figures__internal_on_negs_further(void **state)
{
    struct scene s;
    begin_further(&s, *state, "ilb-negs");
    plan(&s);
    assert_true(s.sync.plan.waves <= 4);
    assert_true(calls(&s) + looks(&s) + 3 <= 34); /* 3 NEGs are looked at */
    end(&s);
}

static void figures__external_on_groups_further(void **state)
{
    struct scene s;
    begin_further(&s, *state, "netlb-groups");
    plan(&s);
    assert_true(s.sync.plan.waves <= 3);
    assert_true(calls(&s) + looks(&s) + 3 <= 25); /* 3 groups are looked at */
    end(&s);
}

static void figures__nothing_to_do(void **state)
{
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct scene s;
        begin_kind(&s, *state, kinds[k]);
        settle(&s);
        plan(&s);
        assert_int_equal(lb_plan_changes(&s.sync.plan), 0);
        assert_true(looks(&s) <= 6);
        end(&s);
    }
}

static void figures__internal_on_negs_deleted(void **state)
{
    struct scene s;
    begin_kind(&s, *state, "ilb-negs");
    settle(&s);
    set_fact(&s, "others_want_shared_check", "true");
    set_fact(&s, "verb", "\"delete\"");
    plan(&s);
    assert_true(calls(&s) + looks(&s) + 3 <= 20);
    assert_int_equal(op_of(&s, GCE_NEGS, GCE_DELETE, "")->wave,
                     op_of(&s, GCE_BACKENDS, GCE_DELETE, "")->wave + 1);
    end(&s);
}

/* ---- slots --------------------------------------------------------------------------------------------------- */

/* Whatever the plan of an ENSURE or DELETE takes away was looked at: nothing is deleted on a guess. */
static void slots__what_goes_was_looked_at(void **state)
{
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct scene s;
        begin_kind(&s, *state, kinds[k]);
        settle(&s);
        set_fact(&s, "verb", "\"delete\"");
        plan(&s);
        for (size_t i = 0; i < s.sync.plan.n_ops; i++) {
            const struct gce_op *arg = arg_of(&s.sync.plan.ops[i]);
            bool negs = arg != NULL && arg->c == GCE_NEGS; /* their planner is told of them */
            assert_true(arg == NULL || negs ||
                        gce_slots_find(&s.sync.slots, arg->c, arg->zone, arg->name) != NULL);
        }
        end(&s);
    }
}

static void slots__update_looks_at_the_backend_service_alone(void **state)
{
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct scene s;
        begin_kind(&s, *state, kinds[k]);
        settle(&s);
        set_fact(&s, "verb", "\"update\"");
        plan(&s);
        assert_int_equal(s.sync.slots.n, 1);
        assert_int_equal(s.sync.slots.items[0].c, GCE_BACKENDS);
        end(&s);
    }
}

/* A shared check that others want is no matter of a Service that goes. */
static void slots__shared_check_of_others_is_not_looked_at(void **state)
{
    struct scene s;
    begin(&s, *state,
          "{\"kind\":\"ilb-negs\",\"verb\":\"delete\",\"others_want_shared_check\":true}");
    plan(&s);
    for (size_t i = 0; i < s.sync.slots.n; i++) {
        assert_null(strstr(s.sync.slots.items[i].name, "shared-hc"));
    }
    end(&s);
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
