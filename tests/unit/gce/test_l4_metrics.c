/* SPDX-License-Identifier: Apache-2.0 */
/* test_l4_metrics.c: what is measured while Services come, fail, change and go, all the way from
 * the sync to the series (gce-l4.md §7.6; gce-cloud-provider.md §14.1). */
#include "tests/support/unit.h"
#include "tests/unit/gce/rig.h"

#include <string.h>

static const struct tt_kv l4[] = {{"enable-l4-neg", "true"},
                                  {"gce-nodes-need-pod-cidr", "false"},
                                  {"run-l4-controller", "true"},
                                  {"run-l4-netlb-controller", "true"}};

#define INTERNAL                                                                                   \
    "{\"metadata\":{\"annotations\":{\"networking.gke.io/load-balancer-type\":\"Internal\"}}}"
#define RBS "{\"metadata\":{\"annotations\":{\"cloud.google.com/l4-rbs\":\"enabled\"}}}"
#define REFUSE(op, status)                                                                         \
    "{\"match\":{\"op\":\"" op "\"},\"count\":0,\"do\":\"refuse\",\"status\":" status "}"

static struct rig *start(void)
{
    const struct rig_options opt = {.nodes = 6, .flags = l4, .n_flags = ARRAY_LEN(l4)};
    return rig_start(&opt);
}

static void expect(struct rig *r, const char *glob, double want)
{
    double got = rig_metric(r, glob);
    if (got != want) {
        fail_msg("%s is %g, want %g", glob, got, want);
    }
}

static void synced(const struct tt_result *res)
{
    if (res->code != TT_OK) {
        fail_msg("%d %s", res->code, res->message);
    }
}

static void ensure(struct rig *r, const char *name, const char *json)
{
    rig_service(r, name, json);
    rig_pods(r, name, "node-0 node-1");
    synced(rig_ensure(r, name));
}

/* ---- how many -------------------------------------------------------------------------------- */

#define ILB(f)   "number_of_l4_ilbs{feature=L4ILB" f "}"
#define NETLB(f) "number_of_l4_netlbs{feature=L4NetLB" f ",status=,deny_firewall=}"
#define POOL(s)  "number_of_l4_netlbs{feature=,status=" s ",deny_firewall=}"

static void each_kind__counts_under_its_names_and_leaves_with_deletion(void **state)
{
    (void)state;
    struct rig *r = start();
    ensure(r, "in", INTERNAL);
    ensure(r, "out", RBS);
    ensure(r, "pool", "{}");
    ensure(r, "pool-2", "{}");
    expect(r,
           "l4_ilbs_count{status=Success,multinet=false,weighted_lb_pods_per_node=false,"
           "zonal_affinity=false,protocol=TCP,logging_enabled=false}",
           1);
    expect(r,
           "l4_netlbs_count{status=Success,multinet=false,strong_session_affinity=false,"
           "weighted_lb_pods_per_node=false,backend_type=IG,protocol=TCP,logging_enabled=false,"
           "deny_firewall=}",
           1);
    expect(r, ILB("Service"), 1);
    expect(r, ILB("InSuccess"), 1);
    expect(r, NETLB("Service"), 1);
    expect(r, NETLB("InSuccess"), 1);
    expect(r, POOL("Success"), 2);
    expect(r, "number_of_l4_dual_stack_ilbs{*status=Success}", 1);
    expect(r, "number_of_l4_dual_stack_netlbs{*status=Success}", 1);
    synced(rig_delete(r, "in"));
    synced(rig_delete(r, "out"));
    synced(rig_delete(r, "pool"));
    expect(r, "l4_ilbs_count{*}", 0);
    expect(r, "l4_netlbs_count{*}", 0);
    expect(r, ILB("*"), 0);
    expect(r, NETLB("*"), 0);
    expect(r, POOL("Success"), 1);
    expect(r, "number_of_l4_dual_stack_*", 0);
    rig_stop(r);
}

static void service__no_longer_a_load_balancer__leaves(void **state)
{
    (void)state;
    struct rig *r = start();
    ensure(r, "web", INTERNAL);
    rig_edit(r, "web", "{\"spec\":{\"type\":\"ClusterIP\"}}");
    synced(rig_sync(r, TT_VERB_DELETE, "web"));
    expect(r, "l4_ilbs_count{*}", 0);
    expect(r, ILB("*"), 0);
    rig_stop(r);
}

/* The host asks whether there is anything, and does not ask for deletion when there is not. */
static void failed_before_anything_was_made_and_deleted__leaves(void **state)
{
    (void)state;
    struct rig *r = start();
    rig_service(r, "web",
                "{\"metadata\":{\"annotations\":{\"cloud.google.com/l4-rbs\":\"enabled\"}},"
                "\"spec\":{\"loadBalancerSourceRanges\":[\"nonsense\"]}}");
    assert_int_equal(rig_ensure(r, "web")->code, TT_INVALID);
    assert_int_equal(rig_get(r, "web")->exists, 0);
    expect(r, NETLB("Service"), 1);
    rig_service_deleted(r, "web");
    assert_int_equal(rig_get(r, "web")->exists, 0);
    expect(r, NETLB("*"), 0);
    rig_stop(r);
}

static void internal_to_external__counts_as_the_other(void **state)
{
    (void)state;
    struct rig *r = start();
    ensure(r, "web", INTERNAL);
    rig_edit(r, "web",
             "{\"metadata\":{\"annotations\":{\"networking.gke.io/load-balancer-type\":null,"
             "\"cloud.google.com/l4-rbs\":\"enabled\"}}}");
    synced(rig_ensure(r, "web"));
    expect(r, "l4_ilbs_count{*}", 0);
    expect(r, "l4_netlbs_count{status=Success,*}", 1);
    expect(r, ILB("Service"), 0);
    expect(r, NETLB("Service"), 1);
    rig_stop(r);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void failing__counts_in_error_with_what_failed_and_why(void **state)
{
    (void)state;
    struct rig *r = start();
    rig_service(r, "web", INTERNAL);
    rig_pods(r, "web", "node-0");
    rig_fault(r, REFUSE("compute.forwardingRules.insert", "403"));
    assert_int_not_equal(rig_ensure(r, "web")->code, TT_OK);
    expect(r,
           "l4_ilb_sync_error_count{sync_type=create,gce_resource=forwarding-rule,"
           "error_type=Forbidden,l4_weighted_lb_pods_per_node=false,protocol=TCP,"
           "logging_enabled=false,zonal_affinity=false}",
           1);
    expect(r, "l4_netlb_sync_error_count{*}", -1);
    expect(r, "l4_ilb_sync_duration_seconds{sync_result=error,sync_type=create,*}", 1);
    expect(r, "l4_netlb_sync_duration_seconds{*}", -1);
    expect(r, "l4_ilbs_count{status=Error,*}", 1);
    expect(r, ILB("InError"), 1);
    expect(r, ILB("InSuccess"), -1);
    rig_no_faults(r);
    synced(rig_ensure(r, "web"));
    expect(r, "l4_ilbs_count{status=Error,*}", 0);
    expect(r, "l4_ilbs_count{status=Success,*}", 1);
    expect(r, ILB("InError"), 0);
    expect(r, ILB("InSuccess"), 1);
    rig_stop(r);
}

static void external__firewall_refused__named(void **state)
{
    (void)state;
    struct rig *r = start();
    rig_service(r, "web", RBS);
    rig_fault(r, REFUSE("compute.firewalls.insert", "400"));
    assert_int_not_equal(rig_ensure(r, "web")->code, TT_OK);
    expect(r,
           "l4_netlb_sync_error_count{sync_type=create,gce_resource=firewall-rule-for-hc,"
           "error_type=Bad Request,l4_weighted_lb_pods_per_node=false,protocol=TCP,"
           "logging_enabled=false}",
           1);
    expect(r, "l4_netlbs_count{status=Error,*}", 1);
    expect(r, NETLB("Service"), 1);
    expect(r, NETLB("InError"), -1); /* not for long enough */
    rig_stop(r);
}

static void error_at_once_persistent__by_the_flag(void **state)
{
    static const struct tt_kv flags[] = {{"enable-l4-neg", "true"},
                                         {"gce-nodes-need-pod-cidr", "false"},
                                         {"l4-netlb-provision-deadline", "0"},
                                         {"run-l4-controller", "true"},
                                         {"run-l4-netlb-controller", "true"}};
    const struct rig_options opt = {.nodes = 3, .flags = flags, .n_flags = ARRAY_LEN(flags)};
    (void)state;
    struct rig *r = rig_start(&opt);
    rig_service(r, "web", RBS);
    rig_fault(r, REFUSE("compute.firewalls.insert", "400"));
    assert_int_not_equal(rig_ensure(r, "web")->code, TT_OK);
    expect(r, "l4_netlbs_count{status=PersistentError,*}", 1);
    expect(r, NETLB("InError"), 1);
    rig_stop(r);
}

static void owners_fault__user_error(void **state)
{
    (void)state;
    struct rig *r = start();
    rig_service(r, "web",
                "{\"metadata\":{\"annotations\":{\"cloud.google.com/l4-rbs\":\"enabled\"}},"
                "\"spec\":{\"loadBalancerSourceRanges\":[\"nonsense\"]}}");
    assert_int_equal(rig_ensure(r, "web")->code, TT_INVALID);
    expect(r, "l4_netlbs_count{status=UserError,*}", 1);
    expect(r, NETLB("InUserError"), 1);
    expect(r, "l4_netlb_sync_error_count{sync_type=create,gce_resource=,error_type=,*}", 1);
    rig_stop(r);
}

static void deletion_fails__counts_as_it_was(void **state)
{
    (void)state;
    struct rig *r = start();
    ensure(r, "web", INTERNAL);
    rig_fault(r, REFUSE("compute.regionBackendServices.delete", "403"));
    assert_int_not_equal(rig_delete(r, "web")->code, TT_OK);
    expect(r, "l4_ilbs_count{status=Success,*}", 1);
    expect(r,
           "l4_ilb_sync_error_count{sync_type=delete,gce_resource=backend-service,"
           "error_type=Forbidden,*,protocol=TCP,*}",
           1);
    expect(r, "l4_ilb_sync_duration_seconds{sync_result=error,sync_type=delete,*}", 1);
    rig_stop(r);
}

/* ---- syncs ----------------------------------------------------------------------------------- */

static void syncs__with_their_kind_and_cause(void **state)
{
    (void)state;
    struct rig *r = start();
    rig_set_reasons(r, TT_REASON_SPEC);
    ensure(r, "web", INTERNAL);
    expect(r,
           "l4_ilb_sync_duration_seconds{sync_result=success,sync_type=create,"
           "periodic_resync=false,l4_weighted_lb_pods_per_node=false,protocol=TCP,"
           "logging_enabled=false,zonal_affinity=false}",
           1);
    expect(r,
           "l4_ilb_dualstack_sync_duration_seconds{sync_result=success,sync_type=create,"
           "periodic_resync=false,ip_families=*}",
           1);
    expect(r,
           "l4_sync_details_count{controller_name=l4-ilb-subsetting-controller,success=true,"
           "predicted_periodic_resync=false,was_update=true}",
           1);
    rig_set_reasons(r, TT_REASON_RESYNC);
    synced(rig_ensure(r, "web"));
    expect(r, "l4_ilb_sync_duration_seconds{sync_result=success,*,periodic_resync=true,*}", 1);
    expect(r,
           "l4_sync_details_count{controller_name=l4-ilb-subsetting-controller,success=true,"
           "predicted_periodic_resync=true,was_update=false}",
           1);
    assert_true(rig_metric(r, "l4_last_sync_time{controller_name=l4-ilb-subsetting-controller}") >
                1e9);
    synced(rig_delete(r, "web"));
    expect(r,
           "l4_ilb_sync_duration_seconds{sync_result=success,sync_type=delete,"
           "periodic_resync=false,*}",
           1);
    expect(r, "l4_sync_details_count{*}", 2); /* deletions are none */
    rig_stop(r);
}

static void retry_after_a_failure__no_periodic_resync(void **state)
{
    (void)state;
    struct rig *r = start();
    rig_service(r, "web", INTERNAL);
    rig_pods(r, "web", "node-0");
    rig_set_reasons(r, TT_REASON_RESYNC);
    rig_fault(r, REFUSE("compute.forwardingRules.insert", "403"));
    assert_int_not_equal(rig_ensure(r, "web")->code, TT_OK);
    rig_no_faults(r);
    synced(rig_ensure(r, "web"));
    expect(r, "l4_ilb_sync_duration_seconds{*,periodic_resync=false,*}", 2);
    expect(r, "l4_ilb_sync_duration_seconds{*,periodic_resync=true,*}", -1);
    rig_stop(r);
}

static void members_only__a_sync_of_the_neg_controller(void **state)
{
    (void)state;
    struct rig *r = start();
    ensure(r, "web", INTERNAL);
    rig_add_nodes(r, 2);
    synced(rig_update(r, "web"));
    expect(r, "l4_ilb_sync_duration_seconds{*}", 1);
    expect(r,
           "neg_controller_syncer_sync_duration_seconds{neg_type=GCE_VM_IP,"
           "endpoint_calculator_mode=L4, ExternalTrafficPolicy:Cluster,result=success}",
           2);
    rig_stop(r);
}

/* ---- finalizers ------------------------------------------------------------------------------ */

static void finalizer__taken_off_by_somebody__counted_once(void **state)
{
    (void)state;
    struct rig *r = start();
    ensure(r, "web", INTERNAL);
    assert_true(rig_holds(r, "web", "gke.networking.io/l4-ilb-v2"));
    rig_remember(r, "web");
    synced(rig_ensure(r, "web"));
    expect(r, "l4_removed_finalizer_count{*}", -1);
    _cleanup_(json_putp) struct json_object *tree = rig_service_tree(r, "web");
    json_object_object_del(json_member(tree, "metadata"), "finalizers");
    rig_set_service_tree(r, "web", tree);
    synced(rig_ensure(r, "web"));
    expect(r, "l4_removed_finalizer_count{finalizer_name=ilb}", 1);
    assert_true(rig_had_event(r, "Warning UnexpectedlyRemovedFinalizer *l4-ilb-v2*"));
    rig_remember(r, "web");
    synced(rig_ensure(r, "web"));
    expect(r, "l4_removed_finalizer_count{finalizer_name=ilb}", 1);
    rig_stop(r);
}

/* An ensure after which the Service is remembered as the ensure saw it, with the finalizers that it
 * had then; `goes`: the ensure took them off. */
static void ensure_and_remember(struct rig *r, bool goes)
{
    _cleanup_(json_putp) struct json_object *before = rig_service_tree(r, "web");
    synced(rig_ensure(r, "web"));
    _cleanup_(json_putp) struct json_object *after = rig_service_tree(r, "web");
    rig_set_service_tree(r, "web", before);
    rig_remember(r, "web");
    if (goes) {
        json_object_object_del(json_member(after, "metadata"), "finalizers");
    }
    rig_set_service_tree(r, "web", after);
}

/* There and back: each side's finalizer goes with it. */
static void finalizer__gone_with_another_side__not_counted(void **state)
{
    static const char *const types[] = {"null", "\"Internal\"", "null", "\"Internal\""};
    (void)state;
    struct rig *r = start();
    ensure(r, "web", INTERNAL);
    ensure_and_remember(r, false);
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        rig_edit(r, "web",
                 arena_printf(rig_arena(r),
                              "{\"metadata\":{\"annotations\":{"
                              "\"networking.gke.io/load-balancer-type\":%s}}}",
                              types[i]));
        ensure_and_remember(r, i % 2 == 0);
    }
    expect(r, "l4_removed_finalizer_count{*}", -1);
    assert_false(rig_had_event(r, "*UnexpectedlyRemovedFinalizer*"));
    rig_stop(r);
}

static void finalizer__taken_off_with_deletion__not_counted(void **state)
{
    (void)state;
    struct rig *r = start();
    ensure(r, "web", INTERNAL);
    rig_remember(r, "web");
    _cleanup_(json_putp) struct json_object *tree = rig_service_tree(r, "web");
    json_object_object_del(json_member(tree, "metadata"), "finalizers");
    rig_set_service_tree(r, "web", tree);
    synced(rig_delete(r, "web"));
    expect(r, "l4_removed_finalizer_count{*}", -1);
    rig_stop(r);
}

/* ---- NEGs, groups, calls --------------------------------------------------------------------- */

static void negs__operations_and_requests(void **state)
{
    (void)state;
    struct rig *r = start();
    ensure(r, "web", INTERNAL); /* three zones */
    expect(r,
           "neg_controller_neg_operation_duration_seconds{operation=Attach,neg_type=GCE_VM_IP,"
           "api_version=ga,result=success}",
           3);
    expect(r,
           "neg_controller_neg_operation_endpoints{operation=Attach,neg_type=GCE_VM_IP,"
           "result=success}",
           3);
    expect(r, "neg_controller_gce_request_count{request=Create,result=success}", 3);
    expect(r, "neg_controller_gce_request_count{request=AttachNE,result=success}", 3);
    expect(r, "neg_controller_gce_request_latency{request=AttachNE,result=success}", 3);
    expect(r, "neg_controller_neg_initialization_duration_seconds{}", 1);
    expect(r, "neg_controller_manager_process_duration_seconds{process=Sync,result=success}", 1);
    assert_true(rig_metric(r, "neg_controller_sync_timestamp{}") > 1e18);
    expect(r, "neg_controller_error_count{*}", -1); /* a NEG that is not there yet is no error */
    expect(r, "gce_api_request_duration_seconds{request=NetworkEndpointGroup_create,*,version=ga}",
           3);
    expect(r, "gce_api_request_duration_seconds{request=ForwardingRule_create,*}", 1);
    expect(r, "cloudprovider_gce_api_request_duration_seconds{request=forwardingrule_create,*}", 1);
    rig_stop(r);
}

static void negs__attach_fails__counted_by_whom(void **state)
{
    (void)state;
    struct rig *r = start();
    rig_service(r, "web", INTERNAL);
    rig_pods(r, "web", "node-0");
    rig_fault(r, REFUSE("compute.networkEndpointGroups.attachNetworkEndpoints", "403"));
    assert_int_not_equal(rig_ensure(r, "web")->code, TT_OK);
    double attaches =
        rig_metric(r, "neg_controller_gce_request_count{request=AttachNE,result=other_error}");
    assert_true(attaches > 0);
    expect(r, "neg_controller_error_count{error_type=other_error}", attaches);
    expect(r, "neg_controller_error_count{error_type=total_neg_error}", attaches);
    expect(r, "neg_controller_neg_operation_duration_seconds{*,result=error}", attaches);
    expect(r, "neg_controller_syncer_sync_duration_seconds{*,result=error}", 1);
    expect(r, "gce_api_request_errors{request=NetworkEndpointGroup_attach,*}", attaches);
    expect(r, "l4_ilb_sync_error_count{*,gce_resource=network-endpoint-group,*}", 1);
    rig_stop(r);
}

static void groups__members_counted_per_call(void **state)
{
    (void)state;
    struct rig *r = start();
    ensure(r, "web", RBS);
    expect(r, "instance_group_event_count{operation_type=Add}", 3);
    expect(r, "instance_group_event_size{operation_type=Add}", 3);
    expect(r, "instance_group_event_count{operation_type=Remove}", -1);
    rig_stop(r);
}

static void legacy_part_alone__none_of_ingress_gces_names(void **state)
{
    (void)state;
    struct rig *r = rig_start(NULL);
    ensure(r, "pool", "{}");
    ensure(r, "in", INTERNAL);
    expect(r, POOL("Success"), 1);
    expect(r, ILB("Service"), 1);
    expect(r, ILB("InSuccess"), 1);
    expect(r, "number_of_l4_netlbs{feature=L4*}", -1);
    expect(r, "l4_*", -1);
    expect(r, "neg_controller_*", -1);
    expect(r, "gce_api_*", -1);
    expect(r, "instance_group_*", -1);
    rig_stop(r);
}

UNIT_MAIN(l4_metrics)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind__counts_under_its_names_and_leaves_with_deletion),
        cmocka_unit_test(service__no_longer_a_load_balancer__leaves),
        cmocka_unit_test(failed_before_anything_was_made_and_deleted__leaves),
        cmocka_unit_test(internal_to_external__counts_as_the_other),
        cmocka_unit_test(failing__counts_in_error_with_what_failed_and_why),
        cmocka_unit_test(external__firewall_refused__named),
        cmocka_unit_test(error_at_once_persistent__by_the_flag),
        cmocka_unit_test(owners_fault__user_error),
        cmocka_unit_test(deletion_fails__counts_as_it_was),
        cmocka_unit_test(syncs__with_their_kind_and_cause),
        cmocka_unit_test(retry_after_a_failure__no_periodic_resync),
        cmocka_unit_test(members_only__a_sync_of_the_neg_controller),
        cmocka_unit_test(finalizer__taken_off_by_somebody__counted_once),
        cmocka_unit_test(finalizer__gone_with_another_side__not_counted),
        cmocka_unit_test(finalizer__taken_off_with_deletion__not_counted),
        cmocka_unit_test(negs__operations_and_requests),
        cmocka_unit_test(negs__attach_fails__counted_by_whom),
        cmocka_unit_test(groups__members_counted_per_call),
        cmocka_unit_test(legacy_part_alone__none_of_ingress_gces_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
