/* SPDX-License-Identifier: Apache-2.0 */
/* test_metrics.c: what is counted of whole Services (docs/spec/azure.md 4.6). */
#include "tests/unit/azure/stage_rig.h"

#include "providers/azure/arm/azure_metrics.h"
#include "tests/support/unit.h"

/* Lines "name request source group subscription value". */
static struct str_buf
    told; /* of the test that runs: the host's callback has no place of its own here */

static void metric_add(struct tt_host_ctx *ctx, const char *name, const struct tt_kv *labels,
                       uint32_t n, double value)
{
    (void)ctx;
    str_append(&told, name);
    for (uint32_t i = 0; i < n; i++) {
        str_appendf(&told, " %s=%s", labels[i].key, labels[i].value);
    }
    str_appendf(&told, " %g\n", value);
}

static int setup(void **state)
{
    struct stage_rig *r = stage_rig_new();
    r->host.metric_add = metric_add;
    str_buf_reset(&told);
    *state = r;
    return 0;
}

static int teardown(void **state)
{
    stage_rig_free(*state);
    str_buf_done(&told);
    return 0;
}

static void failure_count__who_failed_and_at_what(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = stage_rig_add(r, "web", NULL, NULL);
    r->fail = "kubernetes";
    r->fail_times = 1;
    r->fail_code = ERR_QUOTA;
    r->fail_message = "full";
    stage_rig_run(r);
    assert_int_equal(web->code, TT_QUOTA);
    same_text("told", str_buf_text(&told),
              "cloudprovider_azure_op_failure_count request=services_ensure_loadbalancer "
              "resource_group=rg source=default/web subscription_id=subscription 1\n");
}

static void failure_count__nothing_failed__nothing_told(void **state)
{
    struct stage_rig *r = *state;
    (void)stage_rig_add(r, "web", NULL, NULL);
    stage_rig_run(r);
    stage_rig_plan(r);
    same_text("told", str_buf_text(&told), "");
}

static void every_metric__is_declared_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < AZURE_METRICS; i++) {
        assert_non_null(azure_metrics[i].name);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(azure_metrics[i].name, azure_metrics[k].name);
        }
    }
}

UNIT_MAIN(metrics)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(failure_count__who_failed_and_at_what, setup, teardown),
        cmocka_unit_test_setup_teardown(failure_count__nothing_failed__nothing_told, setup,
                                        teardown),
        cmocka_unit_test(every_metric__is_declared_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
