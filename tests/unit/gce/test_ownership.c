/* SPDX-License-Identifier: Apache-2.0 */
/* test_ownership.c: whose is this Service?  Rows O1–O16 of §9.6 of the GCE specification, and
 * that what is another controller's is left alone: no finalizer, no write, and a word to the
 * owner when it is being deleted. */
#include "tests/support/unit.h"
#include "tests/unit/gce/rig.h"

#include <string.h>

#define V1  "gke.networking.io/l4-netlb-v1"
#define V2  "gke.networking.io/l4-netlb-v2"
#define V3  "gke.networking.io/l4-netlb-v3"
#define RBS "\"annotations\":{\"cloud.google.com/l4-rbs\":\"enabled\"}"

struct row {
    const char *number;
    const char *meta;   /* members of metadata */
    const char *class_; /* or NULL */
    bool ours;          /* --enable-rbs-default-l4-netlb off */
    bool ours_on;       /* on */
};

static const struct row rows[] = {
    {"O1", RBS, NULL, false, false},
    {"O2", "\"labels\":{}", NULL, true, false},
    {"O3", "\"annotations\":{\"cloud.google.com/l4-rbs\":\"WrongValue\"}", NULL, true, false},
    {"O4 v2", "\"finalizers\":[\"" V2 "\"]", NULL, false, false},
    {"O4 v3", "\"finalizers\":[\"" V3 "\"]", NULL, false, false},
    {"O5", "\"finalizers\":[\"" V1 "\"]", NULL, true, true},
    {"O5 beats the annotation", "\"finalizers\":[\"" V1 "\"]," RBS, NULL, true, true},
    {"O5 v1 and v2", "\"finalizers\":[\"" V1 "\",\"" V2 "\"]", NULL, true, true},
    {"O8 custom", "\"labels\":{}", "example.com/custom", false, false},
    {"O8 internal-legacy", "\"labels\":{}", "networking.gke.io/l4-regional-internal-legacy", true,
     true},
    {"O8 external-legacy", "\"labels\":{}", "networking.gke.io/l4-regional-external-legacy", true,
     true},
    {"O13 ingress-gce's class", "\"labels\":{}", "networking.gke.io/l4-regional-external", false,
     false},
    {"internal", "\"annotations\":{\"networking.gke.io/load-balancer-type\":\"Internal\"}", NULL,
     true, true},
    {"A4 INTERNAL is no value",
     "\"annotations\":{\"networking.gke.io/load-balancer-type\":"
     "\"INTERNAL\"}",
     NULL, true, false},
    {"A5 the new key wins, though empty",
     "\"annotations\":{\"networking.gke.io/load-balancer-type\":\"\","
     "\"cloud.google.com/load-balancer-type\":\"Internal\"}",
     NULL, true, false},
    {"A6 the old key", "\"annotations\":{\"cloud.google.com/load-balancer-type\":\"Internal\"}",
     NULL, true, true},
};

static void write_service(struct rig *r, const struct row *row)
{
    const char *class_ =
        row->class_ == NULL
            ? ""
            : arena_printf(rig_arena(r), "\"loadBalancerClass\":\"%s\"", row->class_);
    rig_service(r, "web",
                arena_printf(rig_arena(r), "{\"metadata\":{%s},\"spec\":{%s}}", row->meta, class_));
}

static void check_rows(bool rbs_default)
{
    static const struct tt_kv flags[] = {{"enable-rbs-default-l4-netlb", "true"},
                                         {"lenient-load-balancer-type", "true"}};
    const struct rig_options opt = {.gke_classes = true,
                                    .flags = rbs_default ? flags : flags + 1,
                                    .n_flags = rbs_default ? 2 : 1};
    struct rig *r = rig_start(&opt);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *row = &rows[i];
        bool ours = rbs_default ? row->ours_on : row->ours;
        write_service(r, row);
        rig_forget(r);
        const struct tt_result *res = rig_ensure(r, "web");
        if (res->code != (ours ? TT_OK : TT_IMPLEMENTED_ELSEWHERE)) {
            fail_msg("%s: ensure: %d %s", row->number, res->code, res->message);
        }
        if (!ours && (rig_calls(r, NULL) != 0 || rig_mutations(r) != 0)) {
            fail_msg("%s: the cloud was touched", row->number);
        }
        if (!ours && rig_holds(r, "web", "service.kubernetes.io/load-balancer-cleanup")) {
            fail_msg("%s: a finalizer was added", row->number);
        }
        res = rig_update(r, "web");
        if (res->code != (ours ? TT_OK : TT_IMPLEMENTED_ELSEWHERE)) {
            fail_msg("%s: update: %d %s", row->number, res->code, res->message);
        }
        if (ours) {
            res = rig_delete(r, "web");
            assert_int_equal(res->code, TT_OK);
            assert_string_equal(rig_inventory(r), "");
        }
        rig_service_gone(r, "web");
    }
    rig_stop(r);
}

static void ensure_update_delete__rbs_default_off__rows(void **state)
{
    (void)state;
    check_rows(false);
}

static void ensure_update_delete__rbs_default_on__rows(void **state)
{
    (void)state;
    check_rows(true);
}

/* A rule of the Service's name, as another controller would have made it. */
static void foreign_rule(struct rig *r, const char *scheme)
{
    const char *lb = rig_lb_name(r, "web");
    struct arena *a = rig_arena(r);
    bool internal = str_eq(scheme, "INTERNAL");
    /* External ones want a regional check. */
    const char *checks = internal ? "global/healthChecks" : "regions/us-central1/healthChecks";
    rig_cloud_call(r, "POST", checks,
                   "{\"name\":\"hc\",\"type\":\"TCP\",\"tcpHealthCheck\":{\"port\":1}}");
    rig_cloud_call(r, "POST", "regions/us-central1/backendServices",
                   arena_printf(a,
                                "{\"name\":\"bs\",\"protocol\":\"TCP\",\"loadBalancingScheme\":"
                                "\"%s\",\"healthChecks\":[\"%s/hc\"]}",
                                scheme, checks));
    rig_cloud_call(r, "POST", "regions/us-central1/forwardingRules",
                   arena_printf(a,
                                "{\"name\":\"%s\",\"loadBalancingScheme\":\"%s\",\"IPProtocol\":"
                                "\"TCP\",\"ports\":[\"80\"],\"backendService\":"
                                "\"regions/us-central1/backendServices/bs\"%s}",
                                lb, scheme,
                                internal ? ",\"network\":\"global/networks/default\","
                                           "\"subnetwork\":\"regions/us-central1/subnetworks/"
                                           "default\""
                                         : ""));
}

static void ensure__O7__existing_rule_with_backend_service__elsewhere(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    foreign_rule(r, "EXTERNAL");
    assert_int_equal(rig_ensure(r, "web")->code, TT_IMPLEMENTED_ELSEWHERE);
    assert_int_equal(rig_mutations(r), 0);
    assert_false(rig_holds(r, "web", V1));
    rig_stop(r);
}

/* Deleted Services of other kinds keep their finalizers, and the event says who
 * must finish them. */
static void kept(const char *meta, const char *scheme, const char *who)
{
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", arena_printf(rig_arena(r), "{\"metadata\":{%s}}", meta));
    if (scheme != NULL) {
        foreign_rule(r, scheme);
    }
    assert_int_equal(rig_get(r, "web")->exists, 1);
    const char *before = rig_fingerprint(r);
    rig_forget(r);
    const struct tt_result *res = rig_delete(r, "web");
    assert_int_equal(res->code, TT_IN_PROGRESS);
    assert_string_equal(res->dropped, "");
    assert_true(res->retry_after_ms > 0);
    assert_true(rig_had_event(
        r, arena_printf(rig_arena(r), "Warning LoadBalancerServedElsewhere *%s*", who)));
    assert_int_equal(rig_mutations(r), 0);
    assert_string_equal(rig_fingerprint(r), before);
    rig_forget(r);
    (void)rig_delete(r, "web");
    assert_int_equal(rig_events(r), 0); /* told once */
    rig_stop(r);
}

static void delete__regional_backend_service__kept_for_ingress_gce(void **state)
{
    (void)state;
    kept("\"finalizers\":[\"" V2 "\"]", "EXTERNAL", "ingress-gce");
    kept("\"finalizers\":[\"" V3 "\"]", NULL, "ingress-gce");
    kept(RBS, "EXTERNAL", "ingress-gce");
}

static void delete__internal__kept_for_its_controller(void **state)
{
    (void)state;
    kept("\"annotations\":{\"networking.gke.io/load-balancer-type\":\"Internal\"},"
         "\"finalizers\":[\"gke.networking.io/l4-ilb-v2\"]",
         "INTERNAL", "ingress-gce");
}

static void delete__O6__finalizers_replaced_by_v2__not_ours_any_more(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    assert_int_equal(rig_ensure(r, "web")->code, TT_OK);
    rig_edit(r, "web", "{\"metadata\":{\"finalizers\":[\"" V2 "\"]}}");
    const char *before = rig_fingerprint(r);
    assert_int_equal(rig_delete(r, "web")->code, TT_IN_PROGRESS);
    assert_string_equal(rig_fingerprint(r), before);
    rig_stop(r);
}

static void delete__never_served__quietly_elsewhere(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{\"metadata\":{" RBS "}}");
    assert_int_equal(rig_get(r, "web")->exists, 0);
    assert_int_equal(rig_delete(r, "web")->code, TT_IMPLEMENTED_ELSEWHERE);
    assert_int_equal(rig_events(r), 0);
    rig_stop(r);
}

/* The Go service controller adds its finalizer to Services of every kind, before it knows whose
 * they are. */
static void delete__only_the_finalizer_of_another_is_left__kept_and_told(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web",
                "{\"metadata\":{" RBS
                ",\"finalizers\":[\"service.kubernetes.io/load-balancer-cleanup\"]}}");
    const struct tt_result *res = rig_delete(r, "web");
    assert_int_equal(res->code, TT_IN_PROGRESS);
    assert_string_equal(res->dropped, "");
    assert_true(rig_had_event(r, "Warning LoadBalancerServedElsewhere *load-balancer-cleanup*"));
    assert_int_equal(rig_mutations(r), 0);
    rig_stop(r);
}

static void ensure__internal_rule_of_that_name__left_alone(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    foreign_rule(r, "INTERNAL");
    assert_int_equal(rig_ensure(r, "web")->code, TT_IMPLEMENTED_ELSEWHERE);
    assert_int_equal(rig_mutations(r), 0);
    rig_stop(r);
}

static void validate__without_any_look__says_what_it_can(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    rig_service(r, "web", "{}");
    assert_int_equal(rig_validate(r, "web")->code, TT_OK);
    rig_edit(r, "web", "{\"spec\":{\"ports\":[{\"port\":53,\"protocol\":\"SCTP\"}]}}");
    assert_int_equal(rig_validate(r, "web")->code, TT_INVALID);
    rig_edit(r, "web", "{\"metadata\":{" RBS "}}");
    assert_int_equal(rig_validate(r, "web")->code, TT_IMPLEMENTED_ELSEWHERE);
    assert_int_equal(rig_calls(r, NULL), 0);
    rig_stop(r);
}

/* O14: the classes of upstream's second service controller are not served as long as it
 * is not switched on. */
static void legacy_classes__not_switched_on__are_left_alone(void **state)
{
    static const char *const classes[] = {"networking.gke.io/l4-regional-internal-legacy",
                                          "networking.gke.io/l4-regional-external-legacy"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
        struct rig *r = rig_start(NULL);
        rig_service(
            r, "web",
            arena_printf(rig_arena(r), "{\"spec\":{\"loadBalancerClass\":\"%s\"}}", classes[i]));
        assert_int_equal(rig_sync(r, TT_VERB_ENSURE, "web")->code, TT_IMPLEMENTED_ELSEWHERE);
        assert_int_equal(rig_sync(r, TT_VERB_DELETE, "web")->code, TT_IMPLEMENTED_ELSEWHERE);
        rig_stop(r);
    }
}

UNIT_MAIN(ownership)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(legacy_classes__not_switched_on__are_left_alone),
        cmocka_unit_test(ensure_update_delete__rbs_default_off__rows),
        cmocka_unit_test(ensure_update_delete__rbs_default_on__rows),
        cmocka_unit_test(ensure__O7__existing_rule_with_backend_service__elsewhere),
        cmocka_unit_test(delete__regional_backend_service__kept_for_ingress_gce),
        cmocka_unit_test(delete__internal__kept_for_its_controller),
        cmocka_unit_test(delete__O6__finalizers_replaced_by_v2__not_ours_any_more),
        cmocka_unit_test(delete__never_served__quietly_elsewhere),
        cmocka_unit_test(delete__only_the_finalizer_of_another_is_left__kept_and_told),
        cmocka_unit_test(ensure__internal_rule_of_that_name__left_alone),
        cmocka_unit_test(validate__without_any_look__says_what_it_can),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
