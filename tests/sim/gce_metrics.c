/* SPDX-License-Identifier: Apache-2.0 */
/* gce_metrics.c: the whole program while Google's Services come, fail and go: what a scrape of its
 * registry would find.
 *
 * Source: docs/spec/gce-l4.md §7.6; docs/spec/gce-cloud-provider.md §14.1. */
#include "tests/support/rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/str.h"
#include "controller/process/app_internal.h"
#include "tests/support/unit.h"

#define SERVICES "/api/v1/namespaces/default/services"
#define INTERNAL "\"networking.gke.io/load-balancer-type\":\"Internal\""
#define RBS      "\"cloud.google.com/l4-rbs\":\"enabled\""

static const char *const flags[] = {
    "--v=4",           "--run-l4-controller", "--run-l4-netlb-controller",
    "--enable-l4-neg", "--cluster-name=c1",   NULL};

static struct rig *start(void)
{
    struct err err = ERR_INIT;
    struct rig *r = NULL;
    const struct rig_args args = {.sim = {.seed = 7, .nodes = 3}, .flags = flags};
    if (rig_new(&args, &r, &err) != ERR_OK || rig_start(r, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    assert_true(rig_settle(r, RIG_SOON));
    return r;
}

static void settle(struct rig *r)
{
    if (!rig_settle(r, RIG_SOON)) {
        fail_msg("it does not come to rest:\n%s", rig_log(r));
    }
}

static void post(struct rig *r, const char *name, const char *annotations)
{
    const char *body = arena_printf(
        rig_arena(r),
        "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"%s\","
        "\"annotations\":{%s}},\"spec\":{\"type\":\"LoadBalancer\",\"selector\":{\"app\":\"%s\"},"
        "\"ports\":[{\"port\":80}]}}",
        name, annotations, name);
    assert_int_equal(rig_kube(r, "POST", SERVICES, body, NULL), 201);
}

static void patch(struct rig *r, const char *name, const char *body)
{
    assert_int_equal(
        rig_kube(r, "PATCH", arena_printf(rig_arena(r), SERVICES "/%s", name), body, NULL), 200);
}

static void delete(struct rig *r, const char *name)
{
    const char *path = arena_printf(rig_arena(r), SERVICES "/%s", name);
    assert_int_equal(rig_kube(r, "DELETE", path, NULL, NULL), 200);
    settle(r);
    assert_null(rig_get(r, path));
}

/* `labels` "name=value;name=value"; those that are not named are empty. */
static double value(struct rig *r, const char *metric, const char *labels)
{
    struct tt_kv kv[16];
    size_t n = 0;
    size_t n_parts;
    char **parts = str_split(rig_arena(r), labels, ';', &n_parts);
    for (size_t i = 0; i < n_parts && *labels != '\0'; i++) {
        char *at = strchr(parts[i], '=');
        assert_non_null(at);
        assert_true(n < 16);
        *at = '\0';
        kv[n++] = (struct tt_kv){parts[i], at + 1};
    }
    return metrics_value(rig_app(r)->metrics, metric, kv, n);
}

static void expect(struct rig *r, const char *metric, const char *labels, double want)
{
    double got = value(r, metric, labels);
    if (got != want) {
        fail_msg("%s{%s} is %g, want %g\n%s", metric, labels, got, want, rig_log(r));
    }
}

#define ILB(status)                                                                                \
    "status=" status ";multinet=false;weighted_lb_pods_per_node=false;zonal_affinity=false;"       \
    "protocol=TCP;logging_enabled=false"
#define NETLB(status)                                                                              \
    "status=" status ";multinet=false;strong_session_affinity=false;"                              \
    "weighted_lb_pods_per_node=false;backend_type=IG;protocol=TCP;logging_enabled=false"
#define NETLB_ERROR(resource, type)                                                                \
    "sync_type=create;gce_resource=" resource ";error_type=" type                                  \
    ";l4_weighted_lb_pods_per_node=false;protocol=TCP;logging_enabled=false"

static void three_services__one_of_them_wrong_and_one_deleted__counted(void **state)
{
    (void)state;
    struct rig *r = start();
    post(r, "in", INTERNAL);
    post(r, "out", RBS);
    post(r, "wrong", RBS ",\"networking.gke.io/l4-strong-session-affinity\":\"enabled\"");
    post(r, "pool", "");
    settle(r);
    expect(r, "l4_ilbs_count", ILB("Success"), 1);
    expect(r, "l4_netlbs_count", NETLB("Success"), 1);
    expect(r, "l4_netlbs_count", NETLB("UserError"), 1);
    expect(r, "number_of_l4_ilbs", "feature=L4ILBInSuccess", 1);
    expect(r, "number_of_l4_netlbs", "feature=L4NetLBService", 2);
    expect(r, "number_of_l4_netlbs", "feature=L4NetLBInSuccess", 1);
    expect(r, "number_of_l4_netlbs", "feature=L4NetLBInUserError", 1);
    expect(r, "number_of_l4_netlbs", "status=Success", 1);
    expect(r, "l4_netlb_sync_error_count", NETLB_ERROR("", ""), 1);
    expect(r, "l4_ilb_sync_error_count", "", 0);
    assert_true(value(r, "l4_last_sync_time", "controller_name=l4netlb-controller") > 0);
    expect(r, "neg_controller_k8s_request_count", "request=List;result=success", 1);
    expect(r, "neg_controller_k8s_request_count", "request=Create;result=success", 1);
    expect(r, "neg_controller_k8s_request_latency", "request=Create;result=success", 1);
    delete (r, "in");
    expect(r, "neg_controller_k8s_request_count", "request=Delete;result=success", 1);
    expect(r, "neg_controller_error_count", "error_type=total_neg_error", 0);
    delete (r, "out");
    delete (r, "wrong");
    expect(r, "l4_ilbs_count", ILB("Success"), 0);
    expect(r, "l4_netlbs_count", NETLB("Success"), 0);
    expect(r, "l4_netlbs_count", NETLB("UserError"), 0);
    expect(r, "number_of_l4_ilbs", "feature=L4ILBService", 0);
    expect(r, "number_of_l4_netlbs", "feature=L4NetLBService", 0);
    expect(r, "number_of_l4_netlbs", "status=Success", 1);
    rig_free(r);
}

static void error_for_longer_than_the_deadline__persistent_by_its_own_retries(void **state)
{
    struct err err = ERR_INIT;
    int64_t fault = 0;
    (void)state;
    struct rig *r = start();
    assert_int_equal(rig_fault(r,
                               "{\"match\":{\"op\":\"compute.forwardingRules.insert\"},"
                               "\"count\":0,\"do\":\"refuse\",\"status\":403}",
                               &fault, &err),
                     ERR_OK);
    post(r, "out", RBS);
    settle(r);
    expect(r, "l4_netlbs_count", NETLB("Error"), 1);
    expect(r, "number_of_l4_netlbs", "feature=L4NetLBInError", 0);
    assert_true(
        value(r, "l4_netlb_sync_error_count", NETLB_ERROR("forwarding-rule", "Forbidden")) >= 1);
    rig_advance(r, 1200000);
    settle(r);
    expect(r, "l4_netlbs_count", NETLB("Error"), 0);
    expect(r, "l4_netlbs_count", NETLB("PersistentError"), 1);
    expect(r, "number_of_l4_netlbs", "feature=L4NetLBInError", 1);
    expect(r, "trimtab_change_duration_seconds", "verb=ensure", 0); /* still waited for */
    expect(r, "trimtab_time_to_address_seconds", "part=whole", 0);
    rig_fault_remove(r, fault);
    rig_advance(r, 1200000);
    settle(r);
    expect(r, "trimtab_change_duration_seconds", "verb=ensure", 1);
    expect(r, "trimtab_time_to_address_seconds", "part=whole", 1);
    expect(r, "trimtab_time_to_address_seconds", "part=waiting", 1);
    expect(r, "trimtab_time_to_address_seconds", "part=provider", 1);
    expect(r, "trimtab_time_to_address_seconds", "part=status", 1);
    expect(r, "l4_netlbs_count", NETLB("PersistentError"), 0);
    expect(r, "l4_netlbs_count", NETLB("Success"), 1);
    expect(r, "number_of_l4_netlbs", "feature=L4NetLBInError", 0);
    rig_free(r);
}

static void finalizer__taken_off_by_hand__counted_at_the_next_sync(void **state)
{
    (void)state;
    struct rig *r = start();
    post(r, "in", INTERNAL);
    settle(r);
    patch(r, "in", "{\"metadata\":{\"annotations\":{\"example.com/a\":\"1\"}}}");
    settle(r);
    expect(r, "l4_removed_finalizer_count", "finalizer_name=ilb", 0);
    patch(r, "in",
          "{\"metadata\":{\"finalizers\":null,\"annotations\":{\"example.com/a\":\"2\"}}}");
    settle(r);
    expect(r, "l4_removed_finalizer_count", "finalizer_name=ilb", 1);
    patch(r, "in", "{\"metadata\":{\"annotations\":{\"example.com/a\":\"3\"}}}");
    settle(r);
    expect(r, "l4_removed_finalizer_count", "finalizer_name=ilb", 1);
    rig_free(r);
}

UNIT_MAIN(gce_metrics)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_services__one_of_them_wrong_and_one_deleted__counted),
        cmocka_unit_test(error_for_longer_than_the_deadline__persistent_by_its_own_retries),
        cmocka_unit_test(finalizer__taken_off_by_hand__counted_at_the_next_sync),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
