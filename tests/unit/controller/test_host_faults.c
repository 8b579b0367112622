/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_faults.c: pointers, words and plans that a provider must not hand over: none of them
 * crashes the host, and each is reported in the Service's result or in the log. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "common/base/arena.h"
#include "tests/support/unit.h"
#include "tests/unit/controller/stand.h"

/* A call for one Service, demo/web. */
struct fixture {
    struct stand *r;
    struct host_call *call;
    const struct tt_host *h;
    struct tt_item in;
    struct kube_object *obj;
    struct tt_result *result;
};

static int set_up(void **state)
{
    static struct fixture f;

    f = (struct fixture){.r = stand_new(0)};
    stand_service(f.r, "web", STAND_LB, NULL, NULL);
    f.obj = kube_store_get(f.r->syncer.services, "demo/web");
    f.h = host_table(f.r->host);
    f.call = host_call_begin(f.r->host, f.r->a, 1, 60000, 7, NULL);
    f.in =
        (struct tt_item){.size = sizeof(f.in), .verb = TT_VERB_ENSURE, .service = f.obj->service};
    host_call_item(f.call, 0, &f.in);
    f.result = f.in.result;
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    host_call_end(f->call);
    kube_object_unref(f->obj);
    stand_free(f->r);
    return 0;
}

static void want(const struct fixture *f, const char *fault)
{
    struct err err = ERR_INIT;
    int code = host_result_outcome(f->result, TT_OK, false, &err);

    if (fault == NULL ? code != ERR_OK : code != ERR_BUG || strstr(err.message, fault) == NULL) {
        fail_msg("%d \"%s\", want %s", code, err.message, fault == NULL ? "OK" : fault);
    }
}

/* ---- words ----------------------------------------------------------------------------------- */

static void result_ingress__words_of_addresses(void **state)
{
    static const struct {
        struct tt_ingress in;
        const char *fault;
    } rows[] = {
        {{.ip = "192.0.2.1"}, NULL},
        {{.ip = "2001:db8::1"}, NULL},
        {{.hostname = "lb-1.example.com"}, NULL},
        {{.ip = "999.1.1.1"}, "an ingress ip that is not an IP address: \"999.1.1.1\""},
        {{.ip = "192.0.2.1/32"}, "an ingress ip that is not an IP address"},
        {{.ip = "192.0.2.01"}, "an ingress ip that is not an IP address"},
        {{.ip = "fe80::1%eth0"}, "an ingress ip that is not an IP address"},
        {{.ip = "lb.example.com"}, "an ingress ip that is not an IP address"},
        {{.hostname = "192.0.2.1"}, "an ingress hostname that is not a DNS name"},
        {{.hostname = "LB.example.com"}, "an ingress hostname that is not a DNS name"},
        {{.hostname = "lb_1.example.com"}, "an ingress hostname that is not a DNS name"},
        {{.hostname = "lb..example.com"}, "an ingress hostname that is not a DNS name"},
        {{.hostname = "lb.example.com."}, "an ingress hostname that is not a DNS name"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(0, i == 0 ? 0 : set_up(state));
        struct fixture *f = *state;
        f->h->result_ingress(f->result, &rows[i].in, 1);
        want(f, rows[i].fault);
        assert_int_equal(0, i + 1 == ARRAY_LEN(rows) ? 0 : tear_down(state));
    }
}

static void result_condition__words(void **state)
{
    static const struct {
        struct tt_condition c;
        const char *fault;
    } rows[] = {
        {{.type = "example.com/Ready", .status = "True", .reason = "Made"}, NULL},
        {{.type = "Ready", .status = NULL}, NULL},
        {{.type = "Ready", .status = "True"}, NULL},
        {{.type = "my ready", .status = "True"}, "a condition's type that is not a name like"},
        {{.type = "", .status = "True"}, "a condition's type that is not a name like"},
        {{.type = "a/b/c", .status = "True"}, "a condition's type that is not a name like"},
        {{.type = REPORT_CONDITION, .status = "True"}, "a name like example.com/Ready of its own"},
        {{.type = "Ready", .status = "true"}, "a condition's status that is not True, False"},
        {{.type = "Ready", .status = "True", .reason = "not made"}, "a condition's reason that"},
        {{.type = NULL, .status = "True"}, "a condition's type that is absent"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(0, i == 0 ? 0 : set_up(state));
        struct fixture *f = *state;
        f->h->result_condition(f->result, &rows[i].c);
        want(f, rows[i].fault);
        assert_int_equal(rows[i].fault == NULL, f->result->n_conditions);
        assert_int_equal(0, i + 1 == ARRAY_LEN(rows) ? 0 : tear_down(state));
    }
}

static void result_annotation__words(void **state)
{
    static const char *const bad[] = {"", "a b", "a/b/c", "-a", "trimtab.io/last-error"};

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(0, i == 0 ? 0 : set_up(state));
        struct fixture *f = *state;
        f->h->result_annotation(f->result, "example.com/fine", "x");
        want(f, NULL);
        f->h->result_annotation(f->result, bad[i], "x");
        want(f, "an annotation's key that is not a name like example.com/name of its own");
        assert_int_equal(0, i + 1 == ARRAY_LEN(bad) ? 0 : tear_down(state));
    }
}

static void result_text__of_several_calls__below_each_other(void **state)
{
    struct fixture *f = *state;

    f->h->result_text(f->result, "one\n");
    f->h->result_text(f->result, "two\n");
    assert_string_equal("one\ntwo\n", f->result->text);
    char *much = arena_alloc(f->r->a, 65001);
    memset(much, 'x', 65000);
    for (int i = 0; i < 70; i++) {
        f->h->result_text(f->result, much);
    }
    want(f, "an explanation of more than 4 MiB");
}

/* ---- pointers -------------------------------------------------------------------------------- */

/* Each of them would have been the last. */
static void host__null_everywhere__is_survived(void **state)
{
    const struct tt_service_sink no_service_put = {.size = sizeof(no_service_put)};
    uint64_t version = 0;
    struct fixture *f = *state;
    const struct tt_host *h = f->h;
    const struct tt_call *call = host_call_abi(f->call);
    const struct tt_kv no_key = {0};
    const struct tt_kube_ref ref = {.api_version = "v1"};
    const struct tt_text_sink no_put = {.size = sizeof(no_put)};
    const struct tt_service nameless = {.size = sizeof(nameless)};
    const struct tt_owned unsure = {
        .size = sizeof(unsure), .kind = "k", .name = "n", .remove_as = &nameless};
    uint32_t n = 0;

    h->result_ingress(NULL, NULL, 0);
    h->result_condition(NULL, NULL);
    h->result_annotation(NULL, NULL, NULL);
    h->result_drop_finalizer(NULL, NULL);
    h->result_exists(NULL, 1);
    h->result_fail(NULL, TT_BUG, NULL, 0);
    h->result_resource(NULL, NULL, NULL);
    h->result_text(NULL, NULL);
    h->result_done(NULL);
    h->result_own(NULL, 1);
    h->result_again(NULL, 1);
    h->result_row(NULL, NULL);
    h->log(h->ctx, TT_LOG_ERROR, 0, NULL, NULL, 3);
    h->log(h->ctx, TT_LOG_ERROR, 0, "x", NULL, 3);
    h->log(h->ctx, TT_LOG_ERROR, 0, "x", &no_key, 1);
    h->event(h->ctx, NULL, 0, "Made", "x");
    h->event(h->ctx, &nameless, 0, "Made", "x");
    h->event(h->ctx, f->in.service, 0, NULL, NULL);
    h->metric_add(h->ctx, NULL, NULL, 0, 1);
    h->metric_add(h->ctx, METRIC_PLANS, NULL, 2, 1);
    h->metric_add(h->ctx, METRIC_PLANS, &no_key, 1, 1);
    h->metric_observe(h->ctx, METRIC_SYNC_DURATION, &no_key, 1, NAN);
    h->random(h->ctx, NULL, 8);
    h->services(h->ctx, call, NULL, &n);
    h->nodes(h->ctx, call, NULL, NULL);
    assert_null(h->service(h->ctx, call, NULL, "web"));
    assert_int_equal(0, h->services_since(h->ctx, call, &version, NULL));
    assert_int_equal(0, h->services_since(h->ctx, call, &version, &no_service_put));
    assert_int_equal(0, h->services_since(h->ctx, call, NULL, &no_service_put));
    h->slices(h->ctx, call, f->in.service, NULL, NULL, NULL);
    assert_int_equal(TT_BUG, h->kube_get(h->ctx, call, NULL, NULL));
    assert_int_not_equal(TT_OK, h->kube_get(h->ctx, call, &ref, &no_put));
    assert_int_equal(TT_BUG, h->kube_each(h->ctx, call, &ref, NULL, &no_put));
    assert_int_equal(TT_BUG, h->kube_create(h->ctx, call, &ref, NULL, NULL));
    assert_int_equal(TT_BUG, h->kube_patch(h->ctx, call, &ref, NULL, NULL, NULL));
    assert_int_equal(TT_BUG, h->hold_finalizers(h->ctx, call, NULL, NULL, 0));
    assert_int_equal(TT_BUG, h->hold_finalizers(h->ctx, call, &f->in, NULL, 3));
    h->report_operation(h->ctx, call, NULL, 0, NULL, 0);
    h->report_call(h->ctx, call, NULL, NULL, 0, 0);
    h->report_finding(h->ctx, 0, NULL, NULL);
    h->report_owned(h->ctx, NULL, NULL, NULL, NULL);
    h->report_left(h->ctx, call, NULL);
    h->report_left(h->ctx, call, &nameless);
    h->service_again(h->ctx, NULL, "web", 0);
    h->service_again(h->ctx, "demo", "", 0);
    h->report_resource(h->ctx, call, NULL);
    h->report_resource(h->ctx, call, &unsure);
    want(f, NULL); /* none of that was for a result */
    h->result_condition(f->result, NULL);
    want(f, "a condition that is NULL");
}

static void host__infinity__does_not_stay_in_a_sum(void **state)
{
    struct fixture *f = *state;

    f->h->metric_add(f->h->ctx, METRIC_LB_SYNC, NULL, 0, INFINITY);
    f->h->metric_add(f->h->ctx, METRIC_LB_SYNC, NULL, 0, NAN);
    f->h->metric_add(f->h->ctx, METRIC_LB_SYNC, NULL, 0, 2);
    assert_true(metrics_value(f->r->metrics, METRIC_LB_SYNC, NULL, 0) == 2);
}

/* ---- plans ----------------------------------------------------------------------------------- */

static const char *const owners[] = {"demo/web"};
static const char *const no_owner[] = {NULL};
static const struct tt_field no_path[] = {{.old_text = "a"}};
#define OP(...)                                                                                    \
    {                                                                                              \
        .size = sizeof(struct tt_operation), .n = 3, .verb = TT_OP_CREATE, .kind = "firewall",     \
        .name = "a", .owners = owners, .n_owners = 1, __VA_ARGS__                                  \
    }

static void report_plan__what_cannot_be_read__is_refused_and_stops_the_call(void **state)
{
    static const struct {
        struct tt_operation op;
        const char *fault;
    } rows[] = {
        {OP(.why = "it is new"), NULL},
        {OP(.verb = 9), "a plan with operation 3 with the unknown verb 9"},
        {OP(.verb = 0), "the unknown verb 0"},
        {OP(.size = 8), "an operation that is NULL or too small"},
        {OP(.kind = NULL), "operation 3 whose kind or name is absent"},
        {OP(.name = "\xff"), "operation 3 whose kind or name is absent"},
        {OP(.why = "\xff"), "operation 3 (firewall) with a text that is too long or not UTF-8"},
        {OP(.owners = NULL), "operation 3 (firewall) with owners that are absent"},
        {OP(.owners = no_owner), "operation 3 (firewall) with owners that are absent"},
        {OP(.n_fields = 2), "operation 3 (firewall) with fields that are absent"},
        {OP(.fields = no_path, .n_fields = 1), "operation 3 (firewall) with fields that are"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(0, i == 0 ? 0 : set_up(state));
        struct fixture *f = *state;
        const struct tt_call *call = host_call_abi(f->call);
        const struct tt_operation *ops[] = {&rows[i].op};
        const struct tt_plan plan = {.size = sizeof(plan), .operations = ops, .n_operations = 1};
        assert_int_equal(1, f->h->may_mutate(f->h->ctx, call));
        f->h->report_plan(f->h->ctx, call, &plan);
        want(f, rows[i].fault);
        assert_int_equal(rows[i].fault == NULL, f->h->may_mutate(f->h->ctx, call));
        assert_int_equal(rows[i].fault == NULL, f->result->planned);
        f->h->report_operation(f->h->ctx, call, &rows[i].op, TT_OK, NULL, 1);
        assert_int_equal(rows[i].fault == NULL, f->result->operations_done);
        assert_int_equal(0, i + 1 == ARRAY_LEN(rows) ? 0 : tear_down(state));
    }
}

static void report_plan__too_long__is_said(void **state)
{
    struct fixture *f = *state;
    static const struct tt_operation op = OP(.why = "it is new");
    const struct tt_operation **ops = ARENA_ARRAY(f->r->a, const struct tt_operation *, 10001);
    struct tt_plan plan = {.size = sizeof(plan), .operations = ops, .n_operations = 10000};

    for (int i = 0; i < 10001; i++) {
        ops[i] = &op;
    }
    f->h->report_plan(f->h->ctx, host_call_abi(f->call), &plan);
    want(f, NULL);
    plan.n_operations = 10001;
    f->h->report_plan(f->h->ctx, host_call_abi(f->call), &plan);
    want(f, "a plan with 10001 operations and 0 Services; at most 10000 of each are taken");
    assert_int_equal(0, f->h->may_mutate(f->h->ctx, host_call_abi(f->call)));
    f->h->report_plan(f->h->ctx, NULL, NULL);
}

UNIT_MAIN(host_faults)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(result_ingress__words_of_addresses),
        T(result_condition__words),
        T(result_annotation__words),
        T(result_text__of_several_calls__below_each_other),
        T(host__null_everywhere__is_survived),
        T(host__infinity__does_not_stay_in_a_sum),
        T(report_plan__what_cannot_be_read__is_refused_and_stops_the_call),
        T(report_plan__too_long__is_said),
    };
    return cmocka_run_group_tests_name("controller-host-faults", tests, NULL, NULL);
}
