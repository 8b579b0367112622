/* SPDX-License-Identifier: Apache-2.0 */
/* test_metrics.c: what metrics call an error, whose it is and what failed (gce-l4.md §4.14, §11.19
 * V222), requests about NEGs by who refused, and the table of the metrics (§7.6). */
#include "tests/unit/gce/pure.h"

#include "providers/gce/api/gce_neg_metrics.h"
#include "providers/gce/gce_l4_metrics.h"
#include "tests/support/unit.h"

/* ---- words of errors ------------------------------------------------------------------------- */

static void error_type__V222(void **state)
{
    (void)state;
    static const struct {
        const char *row;
        int status, kube;
        const char *want;
    } rows[] = {
        {"V222: HTTP status", 403, ERR_OK, "Forbidden"},
        {"V222: the API server", 0, ERR_NOT_FOUND, "k8s NotFound"},
        {"V222: unknown", 0, ERR_OK, ""},
        {"400", 400, ERR_OK, "Bad Request"},
        {"412", 412, ERR_OK, "Precondition Failed"},
        {"429", 429, ERR_OK, "Too Many Requests"},
        {"503", 503, ERR_OK, "Service Unavailable"},
        {"a status without a text", 599, ERR_OK, ""},
        {"the API server's conflict", 0, ERR_CONFLICT, "k8s Conflict"},
        {"the API server's refusal", 0, ERR_FORBIDDEN, "k8s Forbidden"},
        {"the API server is ill", 0, ERR_TRANSIENT, "k8s InternalError"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        (void)err_set(&err, ERR_TRANSIENT, "it failed");
        err.http_status = rows[i].status;
        if (rows[i].kube != ERR_OK) {
            assert_int_equal(gce_l4_error_of_kube(&err, rows[i].kube), ERR_TRANSIENT);
        }
        (void)err_prefix(&err, "in passing");
        same_text(rows[i].row, gce_l4_error_type(&err), rows[i].want);
    }
}

static void user_error__by_the_classes_of_4_14(void **state)
{
    (void)state;
    static const struct {
        const char *row;
        int code, status;
        const char *message;
        bool want;
    } rows[] = {
        {"found before anything was asked", ERR_INVALID, 0, "port 0 is no port", true},
        {"V214", ERR_IN_USE, 400, "IP configuration error: \"10.0.0.1\" in-use", true},
        {"V215", ERR_IN_USE, 400, "sync: Conflicting ports configuration error: \"80\" …", true},
        {"V216", ERR_INVALID, 412, "Constraint constraints/x violated for projects/p", true},
        {"V217: 412", ERR_CONFLICT, 412, "conditionNotMet", false},
        {"V217: 400", ERR_INVALID, 400, "Invalid value for field 'resource.name'", false},
        {"V218", ERR_INVALID, 400,
         "Requested internal IP address is outside the network/subnetwork range", true},
        {"V220, in upstream's words", ERR_INVALID, 400,
         "Network tier mismatch for resource a, desired: PREMIUM, received: STANDARD", true},
        {"no permission", ERR_FORBIDDEN, 403, "forbidden", false},
        {"no answer", ERR_TRANSIENT, 0, "timed out", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        (void)err_set(&err, rows[i].code, "%s", rows[i].message);
        err.http_status = rows[i].status;
        if (gce_l4_error_is_users(&err) != rows[i].want) {
            fail_msg("%s: want %d", rows[i].row, rows[i].want);
        }
    }
}

static void user_error__what_the_api_server_lacks__is_none(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    (void)err_set(&err, ERR_INVALID, "ConfigMap kube-system/ingress-uid has no key uid");
    (void)gce_l4_error_of_kube(&err, ERR_INVALID);
    assert_false(gce_l4_error_is_users(&err));
}

static void resource_label__by_collection_and_name(void **state)
{
    struct arena *a = *state;
    struct gce_l4_names n;
    gce_l4_names_make(a, "ksuid123", "default", "web", "1234", &n);
    const struct {
        enum gce_collection c;
        const char *name, *want;
    } rows[] = {
        {GCE_RULES, n.rule_tcp, "forwarding-rule"},
        {GCE_RULES, n.legacy, "forwarding-rule"},
        {GCE_RULES, n.rule_udp_v6, "forwarding-rule-ipv6"},
        {GCE_RULES, n.legacy_v6, "forwarding-rule-ipv6"},
        {GCE_BACKENDS, n.backend, "backend-service"},
        {GCE_FIREWALLS, n.firewall, "firewall-rule"},
        {GCE_FIREWALLS, n.firewall_v6, "firewall-rule-ipv6"},
        {GCE_FIREWALLS, n.deny, "firewall-rule-deny"},
        {GCE_FIREWALLS, n.deny_v6, "firewall-rule-deny-ipv6"},
        {GCE_FIREWALLS, n.shared_check_firewall, "firewall-rule-for-hc"},
        {GCE_FIREWALLS, n.local_check_firewall, "firewall-rule-for-hc"},
        {GCE_FIREWALLS, n.shared_check_firewall_v6,
         "service.kubernetes.io/firewall-rule-for-hc-ipv6"},
        {GCE_FIREWALLS, n.local_check_firewall_v6,
         "service.kubernetes.io/firewall-rule-for-hc-ipv6"},
        {GCE_HCS, n.shared_check, "healthcheck"},
        {GCE_REGION_HCS, n.local_check, "healthcheck"},
        {GCE_ADDRESSES, n.legacy, "address"},
        {GCE_NEGS, n.backend, "network-endpoint-group"},
        {GCE_GROUPS, "k8s-ig--x", "instance-group"},
        {GCE_INSTANCES, "node-0", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        same_text(rows[i].name, gce_l4_resource_label(&n, rows[i].c, rows[i].name), rows[i].want);
    }
}

/* ---- requests about NEGs, by who refused ----------------------------------------------------- */

struct board {
    struct str_buf said; /* what was counted since the last look */
    struct tt_host host;
};

static void add_counter(struct tt_host_ctx *ctx, const char *name, const struct tt_kv *labels,
                        uint32_t n, double by)
{
    struct board *b = (struct board *)ctx;
    str_appendf(&b->said, "%s%s{", b->said.len > 0 ? " " : "", name);
    for (uint32_t i = 0; i < n; i++) {
        str_appendf(&b->said, "%s%s=%s", i > 0 ? "," : "", labels[i].key, labels[i].value);
    }
    str_appendf(&b->said, "}=%d", (int)by);
}

static void ignore_observation(struct tt_host_ctx *ctx, const char *name,
                               const struct tt_kv *labels, uint32_t n, double value)
{
    (void)ctx;
    (void)name;
    (void)labels;
    (void)n;
    (void)value;
}

static int64_t no_time(struct tt_host_ctx *ctx)
{
    (void)ctx;
    return 0;
}

static void board_init(struct board *b)
{
    *b = (struct board){0};
    b->host = (struct tt_host){.ctx = (struct tt_host_ctx *)b,
                               .metric_add = add_counter,
                               .metric_observe = ignore_observation,
                               .now_ms = no_time};
}

static void expect_said(struct board *b, const char *row, const char *want)
{
    same_text(row, str_buf_text(&b->said), want);
    str_buf_reset(&b->said);
}

#define ERROR_COUNT(type)                                                                          \
    " neg_controller_error_count{error_type=total_neg_error}=1"                                    \
    " neg_controller_error_count{error_type=" type "}=1"

static void negs__requests_to_the_cloud(void **state)
{
    static const struct {
        const char *row;
        enum gce_verb verb;
        int code, status;
        const char *want;
    } rows[] = {
        {"fine", GCE_LIST_ENDPOINTS, ERR_OK, 200,
         "neg_controller_gce_request_count{request=ListNE,result=success}=1"},
        {"absent", GCE_GET, ERR_NOT_FOUND, 404,
         "neg_controller_gce_request_count{request=Get,result=other_error}=1"},
        {"gone already", GCE_DELETE, ERR_NOT_FOUND, 404,
         "neg_controller_gce_request_count{request=Delete,result=other_error}=1"},
        {"absent where it must be", GCE_ATTACH, ERR_NOT_FOUND, 404,
         "neg_controller_gce_request_count{request=AttachNE,result=other_error}=1" ERROR_COUNT(
             "other_error")},
        {"the cloud is ill", GCE_INSERT, ERR_TRANSIENT, 503,
         "neg_controller_gce_request_count{request=Create,result=GCE_server_error}=1" ERROR_COUNT(
             "GCE_server_error")},
        {"we stop", GCE_DETACH, ERR_CANCELLED, 0,
         "neg_controller_gce_request_count{request=Detach,result=other_error}=1"},
    };
    struct board b;
    (void)state;
    board_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct gce_call_spec spec = {.collection = GCE_NEGS, .verb = rows[i].verb};
        const struct err err = {.code = rows[i].code, .http_status = rows[i].status};
        gce_neg_metrics_call(&b.host, &spec, 1, &err);
        expect_said(&b, rows[i].row, rows[i].want);
    }
    str_buf_done(&b.said);
}

static void negs__requests_to_the_api_server(void **state)
{
    static const struct {
        const char *row, *request;
        int32_t code;
        const char *want;
    } rows[] = {
        {"fine", "Patch", TT_OK,
         "neg_controller_k8s_request_count{request=Patch,result=success}=1"},
        {"absent", "Get", TT_NOT_FOUND,
         "neg_controller_k8s_request_count{request=Get,result=other_error}=1"},
        {"refused", "Create", TT_FORBIDDEN,
         "neg_controller_k8s_request_count{request=Create,result=other_error}=1" ERROR_COUNT(
             "other_error")},
        {"it is ill", "Delete", TT_TRANSIENT,
         "neg_controller_k8s_request_count{request=Delete,result=K8s_server_error}=1" ERROR_COUNT(
             "K8s_server_error")},
    };
    struct board b;
    (void)state;
    board_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        gce_neg_metrics_kube(&b.host, rows[i].request, 0, rows[i].code);
        expect_said(&b, rows[i].row, rows[i].want);
    }
    str_buf_done(&b.said);
}

/* ---- the table ------------------------------------------------------------------------------- */

static void table__each_name_once_and_described(void **state)
{
    (void)state;
    for (size_t i = 0; i < GCE_METRICS_COUNT; i++) {
        const struct tt_metric *m = &gce_metrics[i];
        assert_non_null(m->name);
        assert_false(str_is_empty(m->help));
        assert_int_equal(m->n_buckets > 0, m->type == TT_METRIC_HISTOGRAM);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(m->name, gce_metrics[k].name);
        }
        for (uint32_t k = 1; k < m->n_buckets; k++) {
            assert_true(m->buckets[k] > m->buckets[k - 1]);
        }
    }
}

static void expect_buckets(const char *name, uint32_t n, double first, double last)
{
    for (size_t i = 0; i < GCE_METRICS_COUNT; i++) {
        const struct tt_metric *m = &gce_metrics[i];
        if (str_eq(m->name, name)) {
            if (m->n_buckets != n || m->buckets[0] != first || m->buckets[n - 1] != last) {
                fail_msg("%s: %u buckets, %g to %g", name, m->n_buckets, m->buckets[0],
                         m->buckets[m->n_buckets - 1]);
            }
            return;
        }
    }
    fail_msg("%s is not in the table", name);
}

static void table__buckets_of_7_6(void **state)
{
    (void)state;
    expect_buckets("l4_ilb_sync_duration_seconds", 15, .9375, 15360);
    expect_buckets("l4_netlb_sync_duration_seconds", 15, .9375, 15360);
    expect_buckets("l4_ilb_dualstack_sync_duration_seconds", 15, .5, 8192);
    expect_buckets("l4_netlb_dualstack_sync_duration_seconds", 15, .5, 8192);
    expect_buckets("neg_controller_neg_operation_duration_seconds", 13, 1, 4096);
    expect_buckets("neg_controller_neg_operation_endpoints", 13, 1, 4096);
    expect_buckets("neg_controller_syncer_sync_duration_seconds", 13, 1, 4096);
    expect_buckets("neg_controller_gce_request_latency", 23, .001, 524288);
    expect_buckets("instance_group_event_size", 15, 1, 16384);
}

UNIT_MAIN(metrics)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(error_type__V222),
        PURE_TEST(user_error__by_the_classes_of_4_14),
        PURE_TEST(user_error__what_the_api_server_lacks__is_none),
        PURE_TEST(resource_label__by_collection_and_name),
        PURE_TEST(negs__requests_to_the_cloud),
        PURE_TEST(negs__requests_to_the_api_server),
        PURE_TEST(table__each_name_once_and_described),
        PURE_TEST(table__buckets_of_7_6),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
