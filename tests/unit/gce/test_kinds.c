/* SPDX-License-Identifier: Apache-2.0 */
/* test_kinds.c: a Service changes the kind of its load balancer, or asks for one that it may not
 * have, with both parts of upstream in one process and with either; against the simulator.
 *
 * What is there after a change of sides must be what a new Service would have got: nothing of the
 * old kind is left. */
#include "tests/support/unit.h"
#include "tests/unit/gce/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define V1      "gke.networking.io/l4-netlb-v1"
#define V2      "gke.networking.io/l4-netlb-v2"
#define I1      "gke.networking.io/l4-ilb-v1"
#define I2      "gke.networking.io/l4-ilb-v2"
#define CLEANUP "service.kubernetes.io/load-balancer-cleanup"

/* The rig's nodes have no podCIDR. */
static const struct tt_kv both[] = {{"enable-l4-neg", "true"},
                                    {"gce-nodes-need-pod-cidr", "false"},
                                    {"run-l4-controller", "true"},
                                    {"run-l4-netlb-controller", "true"}};
static const struct tt_kv both_negs[] = {{"enable-l4-neg", "true"},
                                         {"enable-l4-netlb-neg", "true"},
                                         {"enable-l4-netlb-neg-default", "true"},
                                         {"gce-nodes-need-pod-cidr", "false"},
                                         {"run-l4-controller", "true"},
                                         {"run-l4-netlb-controller", "true"}};

/* Settings of a Service for a kind, as an edit of one that said something else. */
struct wish {
    const char *name;
    const char *edit;
};
static const struct wish wishes[] = {
    {"pool", "{\"metadata\":{\"annotations\":{\"networking.gke.io/load-balancer-type\":null,"
             "\"cloud.google.com/l4-rbs\":null}}}"},
    {"external", "{\"metadata\":{\"annotations\":{\"networking.gke.io/load-balancer-type\":null,"
                 "\"cloud.google.com/l4-rbs\":\"enabled\"}}}"},
    {"internal",
     "{\"metadata\":{\"annotations\":{\"networking.gke.io/load-balancer-type\":\"Internal\","
     "\"cloud.google.com/l4-rbs\":null}}}"},
};

static struct rig *start(const struct tt_kv *flags, size_t n)
{
    const struct rig_options opt = {.flags = flags, .n_flags = n};
    struct rig *r = rig_start(&opt);
    rig_give_addresses(r);
    return r;
}

static void create(struct rig *r, const struct wish *w)
{
    rig_service(r, "web", "{\"metadata\":{\"annotations\":{\"example.com/a\":\"b\"}}}");
    rig_edit(r, "web", w->edit);
}

/* Syncs until it is done: what goes may take a turn of its own. */
static void ensure(struct rig *r, const char *what)
{
    const struct tt_result *res = NULL;
    for (int turn = 0; turn < 4; turn++) {
        res = rig_ensure(r, "web");
        if (res->code == TT_OK && res->ip[0] != '\0') {
            return;
        }
    }
    fail_msg("%s: %d %s", what, res->code, res->message);
}

static void same_inventory(const char *what, struct rig *r, const char *want)
{
    if (!str_eq(rig_inventory(r), want)) {
        fail_msg("%s:\n%s\nwant\n%s", what, rig_inventory(r), want);
    }
}

/* State of a new Service with the setting. */
static const char *fresh(struct arena *a, const struct wish *w, const struct tt_kv *flags, size_t n)
{
    struct rig *r = start(flags, n);
    create(r, w);
    ensure(r, w->name);
    const char *inventory = arena_strdup(a, rig_inventory(r));
    rig_stop(r);
    return inventory;
}

static void check_flips(const struct tt_kv *flags, size_t n)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    for (size_t from = 0; from < ARRAY_LEN(wishes); from++) {
        for (size_t to = 0; to < ARRAY_LEN(wishes); to++) {
            /* Both of one side: kinds stick, see below.  What another program serves
             * is not built. */
            bool theirs = n == 0 && (from == 1 || to == 1);
            if (from == to || (from < 2 && to < 2) || theirs) {
                continue;
            }
            const char *what = arena_printf(a, "%s to %s", wishes[from].name, wishes[to].name);
            struct rig *r = start(flags, n);
            create(r, &wishes[from]);
            ensure(r, what);
            rig_edit(r, "web", wishes[to].edit);
            ensure(r, what);
            same_inventory(what, r, fresh(a, &wishes[to], flags, n));
            rig_forget(r);
            ensure(r, what);
            if (rig_mutations(r) != 0) {
                fail_msg("%s: a second sync writes: %s", what, rig_last_plan(r));
            }
            rig_stop(r);
        }
    }
}

/* The finalizer of the old kind is still on the Service in the second sync, as in an older
 * view of it. */
static void flip__legacy_part_alone__nothing_of_the_old_kind_is_left(void **state)
{
    (void)state;
    check_flips(NULL, 0);
}

static void flip__both_parts__nothing_of_the_old_kind_is_left(void **state)
{
    (void)state;
    check_flips(both, ARRAY_LEN(both));
}

static void flip__external_ones_with_negs__nothing_of_the_old_kind_is_left(void **state)
{
    (void)state;
    check_flips(both_negs, ARRAY_LEN(both_negs));
}

/* "Plan: 5 to create, 2 to change, 4 to delete (the reservation is given back at the
 * end)": the sum. */
static int64_t planned(const char *plan)
{
    static const char *const words[] = {" to create", " to change", " to delete"};
    const char *from = strstr(plan, "Plan:");
    int64_t sum = 0;
    for (size_t i = 0; from != NULL && i < ARRAY_LEN(words); i++) {
        const char *at = strstr(from, words[i]);
        while (at != NULL && at > from && at[-1] >= '0' && at[-1] <= '9') {
            at--;
        }
        sum += at == NULL ? 0 : strtol(at, NULL, 10);
    }
    return from != NULL && strstr(from, "reservation is given back") != NULL ? sum + 1 : sum;
}

/* May the rule be made that stands, and where both kinds call it alike, the backend service?
 * (docs/adr/0049) */
#define QUESTIONS(l4) ((l4) ? 2 : 1)

static void flip__planned__names_the_interruption_and_all_that_is_done(void **state)
{
    (void)state;
    for (size_t f = 0; f < 2; f++) {
        const struct tt_kv *flags = f == 0 ? NULL : both;
        size_t n = f == 0 ? 0 : ARRAY_LEN(both);
        for (size_t i = 0; i < ARRAY_LEN(wishes); i++) {
            /* There, there from the other external kind, and back. */
            const struct wish *pair[] = {i == 2 ? &wishes[2] : &wishes[i],
                                         i == 2 ? &wishes[f] : &wishes[2]};
            if (f == 0 && i == 1) {
                continue; /* that kind is not run then */
            }
            struct rig *r = start(flags, n);
            create(r, pair[0]);
            ensure(r, pair[0]->name);
            rig_remember(r, "web");
            rig_edit(r, "web", pair[1]->edit);
            const char *text = str_replace(rig_arena(r), rig_plan(r, "web"), "\n", " ");
            rig_forget(r);
            ensure(r, pair[1]->name);
            bool together = f == 1 && i == 0; /* they share no name (docs/adr/0060) */
            const char *effect = together ? "The former one serves until then" : "Traffic stops";
            if (strstr(text, effect) == NULL || strstr(text, "is going away") != NULL ||
                (strstr(text, "put back if the replacement is refused") == NULL) != together ||
                planned(text) + (together ? 0 : QUESTIONS(f == 1)) != (int64_t)rig_mutations(r)) {
                fail_msg("%s to %s: %u mutations\n%s", pair[0]->name, pair[1]->name,
                         rig_mutations(r), str_nonnull(strstr(text, "Plan:")));
            }
            rig_stop(r);
        }
    }
}

static void delete__each_kind__the_cloud_is_empty(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wishes); i++) {
        struct rig *r = start(both_negs, ARRAY_LEN(both_negs));
        create(r, &wishes[i]);
        ensure(r, wishes[i].name);
        const struct tt_result *res = rig_delete(r, "web");
        if (res->code != TT_OK) {
            fail_msg("%s: %d %s", wishes[i].name, res->code, res->message);
        }
        same_inventory(wishes[i].name, r, "");
        rig_stop(r);
    }
}

/* ---- a class, and no finalizer that tells of what was before --------------------------------- */

#define CLASS_EDIT(class_, finalizers)                                                             \
    "{\"metadata\":{\"finalizers\":[" finalizers "]},\"spec\":{\"loadBalancerClass\":\"" class_    \
    "\"}}"
#define CLASS_E "networking.gke.io/l4-regional-external"
#define CLASS_I "networking.gke.io/l4-regional-internal"

struct class_row {
    const char *class_;
    const char *edit;
    const char *finalizer; /* of the kind that the class stands for */
};
static const struct class_row class_rows[] = {
    {CLASS_E, CLASS_EDIT(CLASS_E, ""), V2},
    {CLASS_E, CLASS_EDIT(CLASS_E, "\"" CLEANUP "\""), V2},
    {CLASS_I, CLASS_EDIT(CLASS_I, ""), I2},
    {CLASS_I, CLASS_EDIT(CLASS_I, "\"" CLEANUP "\""), I2},
};

static const char *fresh_of_class(struct arena *a, const char *class_)
{
    struct rig *r = start(both, ARRAY_LEN(both));
    rig_service(r, "web", arena_printf(a, "{\"spec\":{\"loadBalancerClass\":\"%s\"}}", class_));
    ensure(r, class_);
    const char *inventory = arena_strdup(a, rig_inventory(r));
    rig_stop(r);
    return inventory;
}

/* The status names the address of the rule, as the controller writes it. */
static void publish_rule(struct rig *r)
{
    struct arena *a = rig_arena(r);
    struct json_object *rule =
        rig_resource(r, arena_printf(a, "forwardingRules/%s", rig_lb_name(r, "web")));
    rig_edit(r, "web",
             arena_printf(a, "{\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"%s\"}]}}}",
                          json_str(rule, "IPAddress")));
}

/* A target pool whose Service bears no mark of it any more. */
static struct rig *start_unmarked_pool(const struct class_row *row)
{
    struct rig *r = start(both, ARRAY_LEN(both));
    create(r, &wishes[0]);
    ensure(r, "pool");
    rig_edit(r, "web", row->edit);
    publish_rule(r);
    rig_reopen(r);
    rig_forget(r);
    return r;
}

static void class_comes__finalizers_lost__the_target_pool_goes(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(class_rows); i++) {
        const struct class_row *row = &class_rows[i];
        struct rig *r = start_unmarked_pool(row);
        const char *plan = rig_plan(r, "web");
        if (strstr(plan, "- target pool") == NULL) {
            fail_msg("%s: %s", row->edit, plan);
        }
        ensure(r, row->edit);
        same_inventory(row->edit, r, fresh_of_class(a, row->class_));
        assert_true(rig_holds(r, "web", row->finalizer));
        rig_forget(r);
        ensure(r, row->edit);
        assert_int_equal(rig_mutations(r), 0);
        rig_stop(r);
    }
}

/* The forwarding rule, which told of the former kind, goes before the rest of it. */
static void class_comes__killed_anywhere__the_rest_of_the_pool_goes(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(class_rows); i += 2) {
        const struct class_row *row = &class_rows[i];
        const char *want = fresh_of_class(a, row->class_);
        bool dies = true;
        for (unsigned nth = 1; dies; nth++) {
            struct rig *r = start_unmarked_pool(row);
            rig_die_at(r, RIG_DIES_AFTER, nth);
            (void)rig_ensure(r, "web");
            dies = rig_is_dead(r);
            rig_reopen(r);
            ensure(r, row->edit);
            same_inventory(arena_printf(a, "%s, killed at %u", row->edit, nth), r, want);
            rig_stop(r);
        }
    }
}

static void class_comes__finalizers_lost_and_deleted__the_cloud_is_empty(void **state)
{
    static const struct class_row foreign = {"example.com/lb",
                                             CLASS_EDIT("example.com/lb", "\"" CLEANUP "\""), NULL};
    (void)state;
    for (size_t i = 0; i <= ARRAY_LEN(class_rows); i++) {
        const struct class_row *row = i < ARRAY_LEN(class_rows) ? &class_rows[i] : &foreign;
        struct rig *r = start_unmarked_pool(row);
        assert_int_equal(rig_get(r, "web")->exists, 1);
        assert_int_equal(rig_delete(r, "web")->code, TT_OK);
        same_inventory(row->edit, r, "");
        rig_stop(r);
    }
}

/* A rule of a like name whose description and address say nothing of the Service. */
static void class_comes__rule_of_another_owner__it_stays(void **state)
{
    static const char *const classes[] = {CLASS_I, "example.com/lb"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
        struct rig *r = start(both, ARRAY_LEN(both));
        struct arena *a = rig_arena(r);
        rig_service(r, "web",
                    arena_printf(a,
                                 "{\"metadata\":{\"finalizers\":[\"" CLEANUP "\"]},"
                                 "\"spec\":{\"loadBalancerClass\":\"%s\"}}",
                                 classes[i]));
        rig_cloud_call(r, "POST", "regions/us-central1/targetPools", "{\"name\":\"theirs\"}");
        rig_cloud_call(r, "POST", "regions/us-central1/forwardingRules",
                       arena_printf(a,
                                    "{\"name\":\"%s\",\"loadBalancingScheme\":\"EXTERNAL\","
                                    "\"IPProtocol\":\"TCP\",\"portRange\":\"80\",\"target\":"
                                    "\"regions/us-central1/targetPools/theirs\"}",
                                    rig_lb_name(r, "web")));
        (void)rig_get(r, "web");
        (void)rig_ensure(r, "web");
        assert_non_null(strstr(rig_inventory(r), "forwardingRules/a"));
        assert_non_null(strstr(rig_inventory(r), "targetPools/theirs"));
        rig_stop(r);
    }
}

#define RBS_EDIT "{\"metadata\":{\"annotations\":{\"cloud.google.com/l4-rbs\":\"enabled\"}}}"

/* An internal load balancer with NEGs has rules of other names. */
static void external_comes__finalizers_lost__the_internal_one_goes(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    for (size_t i = 0; i < 2; i++) {
        struct rig *r = start(both, ARRAY_LEN(both));
        create(r, &wishes[2]);
        ensure(r, "internal");
        rig_edit(r, "web",
                 "{\"metadata\":{\"finalizers\":null,\"annotations\":null},"
                 "\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"10.128.8.1\"}]}}}");
        rig_edit(r, "web", i == 0 ? "{}" : RBS_EDIT);
        rig_reopen(r);
        ensure(r, wishes[i].name);
        same_inventory(wishes[i].name, r, fresh(a, &wishes[i], both, ARRAY_LEN(both)));
        rig_stop(r);
    }
}

/* ---- kinds of one side stick ----------------------------------------------------------------- */

static void rbs_asked_of_a_target_pool__told_and_taken_back(void **state)
{
    (void)state;
    struct rig *r = start(both, ARRAY_LEN(both));
    create(r, &wishes[0]);
    ensure(r, "pool");
    const char *before = arena_strdup(rig_arena(r), rig_inventory(r));
    rig_edit(r, "web", wishes[1].edit);
    rig_forget(r);
    const struct tt_result *res = rig_ensure(r, "web");
    assert_int_equal(res->code, TT_OK);
    assert_true(rig_had_event(r, "Warning CanNotMigrateTargetPoolToRBS*"));
    assert_string_equal(res->annotation, "cloud.google.com/l4-rbs=");
    same_inventory("pool", r, before);
    assert_int_equal(rig_mutations(r), 0);
    rig_stop(r);
}

static void rbs_taken_back__stays_a_backend_service(void **state)
{
    (void)state;
    struct rig *r = start(both, ARRAY_LEN(both));
    create(r, &wishes[1]);
    ensure(r, "external");
    const char *before = arena_strdup(rig_arena(r), rig_inventory(r));
    rig_edit(r, "web", wishes[0].edit);
    rig_forget(r);
    ensure(r, "external");
    same_inventory("external", r, before);
    assert_int_equal(rig_mutations(r), 0);
    rig_stop(r);
}

/* An internal load balancer of the days before subsetting. */
static void subsetting_switched_on__instance_groups_stay(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    create(r, &wishes[2]);
    ensure(r, "groups");
    assert_true(rig_holds(r, "web", I1));
    const char *before = arena_strdup(rig_arena(r), rig_inventory(r));
    rig_set_flags(r, both, ARRAY_LEN(both));
    rig_reopen(r);
    rig_forget(r);
    ensure(r, "groups");
    same_inventory("groups", r, before);
    assert_int_equal(rig_mutations(r), 0);
    assert_false(rig_holds(r, "web", I2));
    rig_stop(r);
}

/* Nodes change for all Services at once: none of them is checked to find out what it is. */
static void update__marked_services__no_look_at_their_rules(void **state)
{
    (void)state;
    for (size_t i = 1; i < ARRAY_LEN(wishes); i++) {
        struct rig *r = start(both, ARRAY_LEN(both));
        create(r, &wishes[i]);
        ensure(r, wishes[i].name);
        rig_fault(r, "{\"match\":{\"api\":\"gce\",\"op\":\"compute.forwardingRules.*\"},\"do\":"
                     "\"refuse\",\"status\":500,\"count\":0}");
        rig_reopen(r);
        rig_add_nodes(r, 1);
        rig_give_addresses(r);
        const struct tt_result *res = rig_update(r, "web");
        if (res->code != TT_OK) {
            fail_msg("%s: %d %s", wishes[i].name, res->code, res->message);
        }
        rig_stop(r);
    }
}

/* Another kind is asked for in vain, since it cannot have the ports: nodes join what serves.
 * Without ingress-gce's internal kind the one asked for has instance groups, and no NEGs. */
static void update__ports_refused_by_the_kind_asked_for__nodes_follow_what_stands(void **state)
{
    static const struct tt_kv negs[] = {{"enable-l4-netlb-neg", "true"},
                                        {"enable-l4-netlb-neg-default", "true"},
                                        {"gce-nodes-need-pod-cidr", "false"},
                                        {"run-l4-netlb-controller", "true"}};
    (void)state;
    struct rig *r = start(negs, ARRAY_LEN(negs));
    create(r, &wishes[1]);
    ensure(r, "external");
    rig_edit(r, "web", wishes[2].edit);
    rig_edit(r, "web",
             "{\"spec\":{\"ports\":[{\"name\":\"a\",\"port\":80},"
             "{\"name\":\"b\",\"port\":53,\"protocol\":\"UDP\"}]}}");
    assert_int_not_equal(rig_ensure(r, "web")->code, TT_OK);
    rig_add_nodes(r, 1);
    rig_give_addresses(r);
    rig_forget(r);
    assert_int_equal(rig_update(r, "web")->code, TT_OK);
    assert_int_equal(rig_calls(r, "compute.networkEndpointGroups.attachNetworkEndpoints"), 1);
    rig_stop(r);
}

/* ---- marks of two kinds ---------------------------------------------------------------------- */

static void race__target_pool_with_the_mark_of_rbs__pool_stays(void **state)
{
    (void)state;
    struct rig *r = start(both, ARRAY_LEN(both));
    create(r, &wishes[0]);
    ensure(r, "pool");
    const char *before = arena_strdup(rig_arena(r), rig_inventory(r));
    rig_edit(r, "web", wishes[1].edit);
    rig_edit(r, "web", "{\"metadata\":{\"finalizers\":[\"" V1 "\",\"" V2 "\"]}}");
    rig_forget(r);
    const struct tt_result *res = rig_ensure(r, "web");
    assert_int_equal(res->code, TT_OK);
    assert_true(rig_had_event(r, "Warning TargetPoolRaceWithRBS*"));
    assert_string_equal(res->annotation, "cloud.google.com/l4-rbs=");
    assert_string_equal(res->dropped, V2);
    same_inventory("pool", r, before);
    rig_stop(r);
}

static void race__instance_groups_with_the_mark_of_negs__groups_stay(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    create(r, &wishes[2]);
    ensure(r, "groups");
    const char *before = arena_strdup(rig_arena(r), rig_inventory(r));
    rig_edit(r, "web", "{\"metadata\":{\"finalizers\":[\"" I1 "\",\"" I2 "\"]}}");
    rig_set_flags(r, both, ARRAY_LEN(both));
    rig_reopen(r);
    rig_give_addresses(r);
    rig_forget(r);
    ensure(r, "groups");
    same_inventory("groups", r, before);
    assert_int_equal(rig_mutations(r), 0);
    rig_stop(r);
}

/* ---- instance groups of which another program might be a user -------------------------------- */

static bool has_groups(struct rig *r)
{
    json_object_object_foreach(rig_cloud(r), path, o)
    {
        (void)o;
        if (strstr(path, "/instanceGroups/") != NULL) {
            return true;
        }
    }
    return false;
}

/* As a cloud-controller-manager deletes them: the cloud refuses one that is still in use. */
static void gone__another_program_would_use_groups__the_groups_go(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    create(r, &wishes[2]);
    ensure(r, "groups");
    assert_true(has_groups(r));
    rig_service(r, "other",
                "{\"metadata\":{\"annotations\":{\"cloud.google.com/l4-rbs\":\"enabled\"}}}");
    const struct tt_result *res = rig_delete(r, "web");
    assert_int_equal(res->code, TT_OK);
    assert_false(has_groups(r));
    rig_stop(r);
}

/* The other program has a backend service that leads to them. */
static void gone__another_program_uses_the_groups__they_stay(void **state)
{
    (void)state;
    struct rig *r = start(both, ARRAY_LEN(both));
    create(r, &wishes[1]);
    ensure(r, "external");
    rig_service(r, "inside",
                "{\"metadata\":{\"annotations\":"
                "{\"networking.gke.io/load-balancer-type\":\"Internal\"}}}");
    rig_set_flags(r, NULL, 0);
    rig_reopen(r);
    rig_give_addresses(r);
    const struct tt_result *res = rig_ensure(r, "inside");
    assert_int_equal(res->code, TT_OK);
    res = rig_delete(r, "inside");
    assert_int_equal(res->code, TT_OK);
    assert_true(has_groups(r));
    rig_stop(r);
}

/* ---- docs/adr/0011 --------------------------------------------------------------------------- */

static void gone__only_the_generic_finalizer__let_go_of_with_both_parts(void **state)
{
    (void)state;
    for (size_t i = 1; i < ARRAY_LEN(wishes); i++) {
        struct rig *r = start(both, ARRAY_LEN(both));
        create(r, &wishes[i]);
        rig_edit(r, "web", "{\"metadata\":{\"finalizers\":[\"" CLEANUP "\"]}}");
        const struct tt_result *res = rig_delete(r, "web");
        if (res->code != TT_OK) {
            fail_msg("%s: %d %s", wishes[i].name, res->code, res->message);
        }
        same_inventory(wishes[i].name, r, "");
        assert_false(rig_had_event(r, "Warning*"));
        rig_stop(r);
    }
}

/* Finalizers were taken away by hand while everything stood. */
static void gone__finalizers_lost__found_by_its_names(void **state)
{
    (void)state;
    for (size_t i = 1; i < ARRAY_LEN(wishes); i++) {
        struct rig *r = start(both_negs, ARRAY_LEN(both_negs));
        create(r, &wishes[i]);
        ensure(r, wishes[i].name);
        rig_edit(r, "web", "{\"metadata\":{\"finalizers\":[\"" CLEANUP "\"]}}");
        assert_int_equal(rig_delete(r, "web")->code, TT_OK);
        same_inventory(wishes[i].name, r, "");
        rig_stop(r);
    }
}

/* ---- a look that fails ----------------------------------------------------------------------- */

static void rule__cannot_be_read__tried_again_and_nothing_is_built(void **state)
{
    (void)state;
    struct rig *r = start(both, ARRAY_LEN(both));
    create(r, &wishes[2]);
    rig_edit(r, "web",
             "{\"metadata\":{\"finalizers\":[\"" V2 "\"]},\"status\":{\"loadBalancer\":{"
             "\"ingress\":[{\"ip\":\"203.0.113.9\"}]}}}");
    rig_fault(r, "{\"match\":{\"api\":\"gce\",\"op\":\"compute.forwardingRules.*\"},\"do\":"
                 "\"refuse\",\"status\":403,\"count\":0}");
    const struct tt_result *res = rig_ensure(r, "web");
    assert_true(res->code != TT_OK && res->code != TT_IMPLEMENTED_ELSEWHERE);
    assert_int_equal(rig_mutations(r), 0);
    rig_stop(r);
}

/* ---- words ----------------------------------------------------------------------------------- */

static void explain__members_that_stand__are_those_shown(void **state)
{
    (void)state;
    const struct rig_options opt = {.nodes = 40, .flags = both, .n_flags = ARRAY_LEN(both)};
    struct rig *r = rig_start(&opt);
    rig_give_addresses(r);
    create(r, &wishes[2]);
    const char *before = arena_strdup(rig_arena(r), rig_explain(r, "web")->text);
    ensure(r, "internal");
    const char *after = arena_strdup(rig_arena(r), rig_explain(r, "web")->text);
    assert_non_null(strstr(after, "Nodes: 24 of 40 are members of the NEGs"));
    assert_string_equal(
        strstr(before, "\nNodes:") != NULL
            ? arena_strndup(rig_arena(r), strstr(before, "\nNodes:"),
                            (size_t)(strstr(before, "Packet:") - strstr(before, "\nNodes:")))
            : "",
        arena_strndup(rig_arena(r), strstr(after, "\nNodes:"),
                      (size_t)(strstr(after, "Packet:") - strstr(after, "\nNodes:"))));
    rig_add_nodes(r, 20);
    rig_give_addresses(r);
    assert_non_null(strstr(rig_explain(r, "web")->text, "Nodes: 24 of 60 are members of the NEGs"));
    rig_stop(r);
}

static void validate__each_kind__refuses_what_a_sync_would(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "{\"spec\":{\"ports\":[{\"port\":53,\"protocol\":\"SCTP\"}]}}",
        "{\"spec\":{\"ports\":[{\"port\":80},{\"name\":\"u\",\"port\":53,\"protocol\":\"UDP\"}]}}",
        "{\"spec\":{\"loadBalancerSourceRanges\":[\"10.0.0.0/33\"]}}"};
    for (size_t i = 0; i < ARRAY_LEN(wishes); i++) {
        struct rig *r = start(both_negs, ARRAY_LEN(both_negs));
        create(r, &wishes[i]);
        assert_int_equal(rig_validate(r, "web")->code, TT_OK);
        for (size_t k = 0; k < ARRAY_LEN(bad); k++) {
            create(r, &wishes[i]);
            rig_edit(r, "web", bad[k]);
            const struct tt_result *res = rig_validate(r, "web");
            if (res->code != TT_INVALID) {
                fail_msg("%s, %s: %d %s", wishes[i].name, bad[k], res->code, res->message);
            }
            const char *said = arena_strdup(rig_arena(r), res->message);
            res = rig_ensure(r, "web");
            assert_int_equal(res->code, TT_INVALID);
            assert_string_equal(res->message, said);
        }
        assert_int_equal(rig_mutations(r), 0);
        rig_stop(r);
    }
}

UNIT_MAIN(kinds)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flip__legacy_part_alone__nothing_of_the_old_kind_is_left),
        cmocka_unit_test(flip__both_parts__nothing_of_the_old_kind_is_left),
        cmocka_unit_test(flip__external_ones_with_negs__nothing_of_the_old_kind_is_left),
        cmocka_unit_test(flip__planned__names_the_interruption_and_all_that_is_done),
        cmocka_unit_test(delete__each_kind__the_cloud_is_empty),
        cmocka_unit_test(class_comes__finalizers_lost__the_target_pool_goes),
        cmocka_unit_test(class_comes__killed_anywhere__the_rest_of_the_pool_goes),
        cmocka_unit_test(class_comes__finalizers_lost_and_deleted__the_cloud_is_empty),
        cmocka_unit_test(class_comes__rule_of_another_owner__it_stays),
        cmocka_unit_test(external_comes__finalizers_lost__the_internal_one_goes),
        cmocka_unit_test(rbs_asked_of_a_target_pool__told_and_taken_back),
        cmocka_unit_test(rbs_taken_back__stays_a_backend_service),
        cmocka_unit_test(subsetting_switched_on__instance_groups_stay),
        cmocka_unit_test(update__marked_services__no_look_at_their_rules),
        cmocka_unit_test(update__ports_refused_by_the_kind_asked_for__nodes_follow_what_stands),
        cmocka_unit_test(race__target_pool_with_the_mark_of_rbs__pool_stays),
        cmocka_unit_test(race__instance_groups_with_the_mark_of_negs__groups_stay),
        cmocka_unit_test(gone__another_program_would_use_groups__the_groups_go),
        cmocka_unit_test(gone__another_program_uses_the_groups__they_stay),
        cmocka_unit_test(gone__only_the_generic_finalizer__let_go_of_with_both_parts),
        cmocka_unit_test(gone__finalizers_lost__found_by_its_names),
        cmocka_unit_test(rule__cannot_be_read__tried_again_and_nothing_is_built),
        cmocka_unit_test(explain__members_that_stand__are_those_shown),
        cmocka_unit_test(validate__each_kind__refuses_what_a_sync_would),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
