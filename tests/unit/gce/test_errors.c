/* SPDX-License-Identifier: Apache-2.0 */
/* test_errors.c: what answers and operations mean; §3.4, §3.5, rows E5 and E6 of the GCE
 * specification; and lists cut into items. */
#include "tests/unit/gce/pure.h"

#include "providers/gce/api/gce_api.h"
#include "providers/gce/model/gce_errors.h"
#include "tests/support/unit.h"

static void code__statuses_and_reasons(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *reason, *message;
        int want;
    } rows[] = {
        {404, "notFound", "gone", ERR_NOT_FOUND},
        {409, "alreadyExists", "there", ERR_EXISTS},
        {412, "conditionNotMet", "old", ERR_CONFLICT},
        {400, "invalid", "bad", ERR_INVALID},
        {400, "resourceInUseByAnotherResource", "x", ERR_IN_USE},
        {400, "invalid", "is already being used by 'x'", ERR_IN_USE},
        {200, "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", "x", ERR_IN_USE},
        {0, "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", "x", ERR_IN_USE},
        {200, "IP_IN_USE_BY_ANOTHER_RESOURCE", "x", ERR_IN_USE},
        {400, "resourceNotReady", "x", ERR_TRANSIENT},
        {401, "authError", "x", ERR_AUTH},
        {403, "forbidden", "x", ERR_FORBIDDEN},
        {403, "insufficientPermissions", "x", ERR_FORBIDDEN},
        {403, "", "x", ERR_FORBIDDEN},
        {403, "rateLimitExceeded", "x", ERR_THROTTLED},
        {403, "userRateLimitExceeded", "x", ERR_THROTTLED},
        {403, "quotaExceeded", "x", ERR_QUOTA},
        {403, "accessNotConfigured", "x", ERR_AUTH},
        {200, "QUOTA_EXCEEDED", "x", ERR_QUOTA},
        {429, "", "x", ERR_THROTTLED},
        {408, "", "x", ERR_TRANSIENT},
        {500, "backendError", "x", ERR_TRANSIENT},
        {503, "", "x", ERR_TRANSIENT},
        {409, "ipInUseByAnotherResource", "IP is already being used by x", ERR_IN_USE},
        {400, "memberAlreadyExists", "x", ERR_EXISTS},
        {400, "instanceInMultipleLoadBalancedIgs", "x", ERR_INVALID},
        {0, "INSTANCE_IN_MULTIPLE_LOAD_BALANCED_IGS", "x", ERR_INVALID},
        {200, "INVALID_USAGE", "Forwarding rule's port range is conflicting", ERR_INVALID},
        {412, "conditionNotMet", "Constraint constraints/x violated for p", ERR_INVALID},
        {412, "conditionNotMet", "Constraint unmet", ERR_CONFLICT},
        {403, "limitExceeded", "x", ERR_QUOTA},
        {400, "IP_SPACE_EXHAUSTED", "x", ERR_QUOTA},
        {400, "IP_SPACE_EXHAUSTED_WITH_DETAILS", "x", ERR_QUOTA},
        {0, "RESOURCE_OPERATION_RATE_EXCEEDED", "x", ERR_THROTTLED},
        {403, "IAM_PERMISSION_DENIED", "x", ERR_FORBIDDEN},
        {413, "", "x", ERR_INVALID},
        {0, "SOMETHING_NEW", "x", ERR_TRANSIENT},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int got = gce_error_code(rows[i].status, rows[i].reason, rows[i].message);
        if (got != rows[i].want) {
            fail_msg("%d %s: got %s, want %s", rows[i].status, rows[i].reason, err_code_name(got),
                     err_code_name(rows[i].want));
        }
    }
}

static void answer__texts(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *body, *want;
    } rows[] = {
        {404,
         "{\"error\":{\"code\":404,\"message\":\"no x\",\"errors\":[{\"reason\":\"notFound\","
         "\"message\":\"no x\"}]}}",
         "googleapi: Error 404: no x, notFound"},
        {404,
         "[{\"error\":{\"code\":404,\"message\":\"no x\",\"errors\":[{\"reason\":\"notFound\","
         "\"message\":\"no x\"}]}}]",
         "googleapi: Error 404: no x, notFound"},
        {400, "{\"error\":{\"message\":\"bad\"}}", "googleapi: Error 400: bad"},
        {400,
         "{\"error\":{\"code\":400,\"message\":\"bad\",\"errors\":[{\"reason\":\"r\",\"message\":"
         "\"m\"},{\"reason\":\"s\",\"message\":\"n\"}]}}",
         "googleapi: Error 400: bad More details: Reason: r, Message: m"},
        {502, "<html>Bad Gateway</html>",
         "googleapi: got HTTP response code 502 with body: <html>Bad Gateway</html>"},
        {500, "", "googleapi: got HTTP response code 500 with body:"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        (void)gce_error_of_answer(rows[i].status, rows[i].body, strlen(rows[i].body), &err);
        assert_int_equal(err.http_status, rows[i].status);
        if (!str_has_prefix(err.message, rows[i].want)) {
            fail_msg("got %s, want %s", err.message, rows[i].want);
        }
    }
}

static void operation__E6__error_inside(void **state)
{
    struct arena *a = *state;
    struct err err = ERR_INIT;
    assert_int_equal(gce_error_of_operation(pure_json(a, "{\"status\":\"DONE\"}"), &err), ERR_OK);
    assert_int_equal(err.code, ERR_OK);
    assert_int_equal(
        gce_error_of_operation(
            pure_json(a, "{\"status\":\"DONE\",\"httpErrorStatusCode\":400,\"error\":{\"errors\":["
                         "{\"code\":\"RESOURCE_IN_USE_BY_ANOTHER_RESOURCE\",\"message\":\"m\"},"
                         "{\"code\":\"OTHER\",\"message\":\"n\"}]}}"),
            &err),
        ERR_IN_USE);
    assert_string_equal(err.message,
                        "googleapi: Error 400: RESOURCE_IN_USE_BY_ANOTHER_RESOURCE - m");
    assert_string_equal(err.reason, "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE");
}

static void operation__half_an_error__is_one(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *op;
        int code;
        const char *message;
    } rows[] = {
        {"{\"httpErrorStatusCode\":403,\"httpErrorMessage\":\"FORBIDDEN\"}", ERR_FORBIDDEN,
         "googleapi: Error 403: the operation failed: FORBIDDEN"},
        {"{\"error\":{\"code\":400,\"message\":\"no\"}}", ERR_INVALID,
         "googleapi: Error 400: the operation failed: no"},
        {"{\"error\":{\"errors\":[]}}", ERR_TRANSIENT,
         "googleapi: Error 0: the operation failed: no reason given"},
        {"{\"error\":\"no\"}", ERR_TRANSIENT,
         "googleapi: Error 0: the operation failed: no reason given"},
        {"{\"httpErrorStatusCode\":200}", ERR_OK, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        assert_int_equal(gce_error_of_operation(pure_json(a, rows[i].op), &err), rows[i].code);
        assert_string_equal(err.message, rows[i].message);
    }
}

static void instance__named_by_a_message(void **state)
{
    struct arena *a = *state;
    same_text(
        "named",
        gce_error_instance(a, "The resource 'projects/p/zones/z/instances/n-1' was not found"),
        "n-1");
    same_text("none", gce_error_instance(a, "quota"), NULL);
    same_text("empty", gce_error_instance(a, "/instances/"), NULL);
}

/* ---- lists ----------------------------------------------------------------------------------- */

struct seen {
    struct arena *a;
    struct str_buf text;
};

static void item(void *arg, const char *text, size_t n)
{
    struct seen *s = arg;
    str_append_n(&s->text, text, n);
    str_append_c(&s->text, '\n');
}

static void cut(struct arena *a, const char *json, size_t piece, const char *items,
                const char *around)
{
    struct seen seen = {.a = a};
    struct gce_splitter c;
    gce_splitter_init(&c, item, &seen);
    size_t n = strlen(json);
    for (size_t i = 0; i < n; i += piece) {
        assert_true(gce_splitter_feed(&c, json + i, n - i < piece ? n - i : piece));
    }
    same_text(json, str_buf_text(&seen.text), items);
    same_text(json, gce_splitter_rest(&c), around);
    gce_splitter_done(&c);
    str_buf_done(&seen.text);
}

static void cutter__items_and_what_is_around(void **state)
{
    struct arena *a = *state;
    static const char *const json =
        "{\"kind\":\"k\",\"items\": [ {\"a\":[1,{\"b\":\"}]\"}]} , {\"c\":\"\\\"]\\\\\"},{}],"
        "\"nextPageToken\":\"t\",\"warning\":{\"items\":[1]}}";
    for (size_t piece = 1; piece < 40; piece += 3) {
        cut(a, json, piece, "{\"a\":[1,{\"b\":\"}]\"}]}\n{\"c\":\"\\\"]\\\\\"}\n{}\n",
            "{\"kind\":\"k\",\"items\": [],\"nextPageToken\":\"t\",\"warning\":{\"items\":[1]}}");
    }
    cut(a, "{\"kind\":\"k\"}", 3, "", "{\"kind\":\"k\"}");
    cut(a, "{\"items\":[]}", 3, "", "{\"items\":[]}");
    cut(a, "", 1, "", "");
    cut(a, "]]]}}{\"items\":", 1, "", "]]]}}{\"items\":");
}

static void api__operation_ids_and_links(void **state)
{
    struct arena *a = *state;
    const struct gce_api api = {
        .base = "https://x/compute/v1/", .project = "p", .network_project = "np", .region = "r"};
    same_text("id", gce_api_op_id(a, GCE_RULES, GCE_GET), "compute.forwardingRules.get");
    same_text("id", gce_api_op_id(a, GCE_POOLS, GCE_REMOVE_CHECK),
              "compute.targetPools.removeHealthCheck");
    same_text("regional", gce_api_zonal_link(a, &api, GCE_POOLS, "", "n"),
              "https://x/compute/v1/projects/p/regions/r/targetPools/n");
    same_text("global", gce_api_zonal_link(a, &api, GCE_CHECKS, "", "n"),
              "https://x/compute/v1/projects/p/global/httpHealthChecks/n");
    same_text("network project", gce_api_zonal_link(a, &api, GCE_FIREWALLS, "", "n"),
              "https://x/compute/v1/projects/np/global/firewalls/n");
}

UNIT_MAIN(errors)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(code__statuses_and_reasons),       PURE_TEST(answer__texts),
        PURE_TEST(operation__E6__error_inside),      PURE_TEST(instance__named_by_a_message),
        PURE_TEST(operation__half_an_error__is_one), PURE_TEST(instance__named_by_a_message),
        PURE_TEST(cutter__items_and_what_is_around), PURE_TEST(api__operation_ids_and_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
