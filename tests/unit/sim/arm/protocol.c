/* SPDX-License-Identifier: Apache-2.0 */
/* protocol.c: how the simulated resource manager is spoken to: paths, parameters, headers, sizes,
 * allowances, settings.
 *
 * Source: docs/spec/azure.md §3.1, §3.5, §3.6, §16 items 1, 4 and 10. */
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"
#include "tests/unit/sim/arm/arm_fixture.h"

#include <string.h>

#define TYPE "Content-Type: application/json"

struct row {
    const char *what;
    const char *method, *path, *body; /* with the api-version */
    const char *header;               /* the only one beside the token */
    int status;
    const char *code; /* of the error; NULL: none is checked */
};

static const struct row rows[] = {
    {"a slash at the end", "GET", LB "/" NET_V, NULL, TYPE, 200, NULL},
    {"two slashes at the end", "GET", LB "//" NET_V, NULL, TYPE, 400, "InvalidRequestUri"},
    {"an empty segment", "GET", RG "//providers/Microsoft.Network/loadBalancers" NET_V, NULL, TYPE,
     400, "InvalidRequestUri"},
    {"a slash inside a segment", "GET", NET "/loadBalancers%2Flb" NET_V, NULL, TYPE, 400,
     "InvalidRequestUri"},
    {"another case everywhere", "GET",
     "/SUBSCRIPTIONS/00000000-0000-4000-8000-000000000001/RESOURCEGROUPS/RG/PROVIDERS/"
     "MICROSOFT.NETWORK/LOADBALANCERS/LB?API-VERSION=2025-05-01",
     NULL, TYPE, 200, NULL},
    {"two versions", "GET", LB NET_V "&api-version=2018-11-01", NULL, TYPE, 400,
     "InvalidApiVersionParameter"},
    {"unknown parameter", "GET", LB NET_V "&x=y", NULL, TYPE, 200, NULL},
    {"unknown namespace", "GET", RG "/providers/Microsoft.Nothing/things/x" NET_V, NULL, TYPE, 404,
     "InvalidResourceNamespace"},
    {"unknown type", "GET", NET "/things/x" NET_V, NULL, TYPE, 404, "InvalidResourceType"},
    {"method", "OPTIONS", LB NET_V, NULL, TYPE, 405, "HttpMethodNotAllowed"},
    {"method of a list", "PUT", NET "/loadBalancers" NET_V, "{}", TYPE, 405,
     "HttpMethodNotAllowed"},
    {"media type with parameter", "PUT", PIP NET_V, PIP_BODY,
     "Content-Type: application/json; charset=utf-8", 200, NULL},
    {"media type of another case", "PUT", PIP NET_V, PIP_BODY, "Content-Type: Application/JSON",
     200, NULL},
    {"media type that begins so", "PUT", PIP NET_V, PIP_BODY, "Content-Type: application/jsonx",
     415, "UnsupportedMediaType"},
    {"media type of a form", "PUT", PIP NET_V, PIP_BODY,
     "Content-Type: application/x-www-form-urlencoded", 415, "UnsupportedMediaType"},
    {"no media type", "PUT", PIP NET_V, PIP_BODY, "Content-Type:", 415, "UnsupportedMediaType"},
    {"no body", "PUT", PIP NET_V, "", TYPE, 400, "InvalidRequestContent"},
};

static void request__each_row__status_and_code(void **state)
{
    (void)state;
    struct fixture *f = arm_start(NULL, NULL); /* no client of ours writes such paths */
    arm_make_balancer(f);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *r = &rows[i];
        const char *headers[] = {r->header, NULL};
        f->headers = headers;
        int status = fixture_call(f, r->method, r->path, r->body);
        arm_expect(f, r->what, status, r->status, r->code);
    }
    f->headers = NULL;
    fixture_stop(f);
}

static void request__without_token__401_whatever_it_asks(void **state)
{
    (void)state;
    static const char *const paths[] = {LB, LB "x", NET "/things/x",
                                        LB "?api-version=", SUB "x/resourceGroups/rg"};
    struct fixture *f = arm_start("strangers", NULL);
    f->token = NULL;
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        arm_expect(f, paths[i], arm_call(f, "GET", paths[i], NULL), 401, "AuthenticationFailed");
    }
    fixture_stop(f);
}

static void body__of_more_than_4_MiB__413(void **state)
{
    (void)state;
    struct fixture *f = arm_start(NULL, NULL);
    size_t n = 4 * 1024 * 1024, head = strlen(PIP_BODY);
    char *body = arena_alloc(f->a, n + 2);
    memset(body, ' ', n + 1);
    memcpy(body, PIP_BODY, head);
    body[n + 1] = '\0';
    arm_expect(f, "more", arm_call(f, "PUT", PIP, body), 413, "RequestContentTooLarge");
    body[n] = '\0';
    arm_expect(f, "just so", arm_call(f, "PUT", PIP, body), 201, NULL);
    fixture_stop(f);
}

static void answer__headers__name_the_request(void **state)
{
    (void)state;
    static const char *const headers[] = {TYPE, "x-ms-client-request-id: mine",
                                          "x-ms-return-client-request-id: true",
                                          "x-ms-correlation-request-id: together", NULL};
    static const struct {
        const char *method, *header;
    } kinds[] = {
        {"PUT", "x-ms-ratelimit-remaining-subscription-writes"},
        {"GET", "x-ms-ratelimit-remaining-subscription-reads"},
        {"DELETE", "x-ms-ratelimit-remaining-subscription-deletes"},
    };
    struct fixture *f = arm_start("headers", NULL);
    f->headers = headers;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        (void)arm_call(f, kinds[i].method, PIP, i == 0 ? PIP_BODY : NULL);
        assert_string_equal(fixture_header(f, "x-ms-client-request-id"), "mine");
        assert_string_equal(fixture_header(f, "x-ms-correlation-request-id"), "together");
        assert_int_equal(strlen(fixture_header(f, "x-ms-request-id")), 36);
        assert_true(str_has_prefix(fixture_header(f, "x-ms-routing-request-id"), "EASTUS:2"));
        for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
            assert_int_equal(fixture_header(f, kinds[k].header) != NULL, k == i);
        }
    }
    f->headers = headers + 2;
    (void)arm_call(f, "GET", PIP, NULL);
    assert_null(fixture_header(f, "x-ms-client-request-id"));
    fixture_stop(f);
}

static void allowance__used_up__429_until_it_grows_again(void **state)
{
    (void)state;
    struct clock *clock = clock_fake_new(1000000, 1700000000000000LL);
    struct sim_config cfg = {.clock = clock};
    struct fixture *f = arm_start("allowance", &cfg);
    fixture_must(f, "PUT", "/sim/settings/azure",
                 "{\"throttle\":{\"writes\":{\"bucket\":3,\"per_second\":1}}}");
    for (int left = 2; left >= 0; left--) {
        arm_must(f, "PUT", PIP, PIP_BODY);
        assert_string_equal(fixture_header(f, "x-ms-ratelimit-remaining-subscription-writes"),
                            arena_printf(f->a, "%d", left));
    }
    arm_expect(f, "fourth", arm_call(f, "PUT", PIP, PIP_BODY), 429,
               "SubscriptionRequestsThrottled");
    assert_int_equal(f->retry_after, 1);
    arm_must(f, "GET", PIP, NULL);
    arm_expect(f, "deletion", arm_call(f, "DELETE", PIP "x", NULL), 204, NULL);
    clock_fake_advance(clock, 2000);
    arm_must(f, "PUT", PIP, PIP_BODY);
    arm_must(f, "PUT", PIP, PIP_BODY);
    arm_expect(f, "third", arm_call(f, "PUT", PIP, PIP_BODY), 429, NULL);
    fixture_must(f, "PUT", "/sim/settings/azure", "{}");
    arm_must(f, "PUT", PIP, PIP_BODY);
    fixture_stop(f);
    clock_fake_free(clock);
}

static void settings__by_control__part_of_the_state(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "{\"asynk\":\"body\"}", "{\"async\":\"telegram\"}", "{\"polls\":\"3\"}", "[]",
        "{\"conflict\":\"\"}",
    };
    struct fixture *f = arm_start("settings", NULL);
    fixture_must(f, "PUT", "/sim/settings/azure", "{\"page_size\":1}");
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        assert_int_equal(fixture_call(f, "PUT", "/sim/settings/azure", wrong[i]), 400);
    }
    assert_int_equal(fixture_call(f, "PUT", "/sim/settings/acme", "{}"), 404);
    fixture_must(f, "GET", "/sim/settings/azure", NULL);
    assert_string_equal(arm_text(f, "page_size"), "1");
    fixture_must(f, "GET", "/sim/state", NULL);
    assert_string_equal(arm_text(f, "sim.azure.page_size"), "1");
    arm_must(f, "PUT", PIP, PIP_BODY);
    arm_must(f, "PUT", PIP "2", PIP_BODY);
    arm_must(f, "GET", NET "/publicIPAddresses", NULL);
    assert_int_equal(arm_len(f, "value"), 1);
    const char *next = arena_strdup(f->a, arm_text(f, "nextLink") + strlen(f->url));
    arm_must(f, "GET", str_replace(f->a, next, "skiptoken", "skipToken"), NULL);
    assert_string_equal(arm_text(f, "value.0.name"), "pip2");
    assert_string_equal(arm_text(f, "nextLink"), "");
    fixture_stop(f);
}

/* Nothing that a page has not shown yet is hidden by it, and nothing is shown twice. */
static void list__deleted_and_made_between_its_pages__no_other_item_is_hidden(void **state)
{
    (void)state;
    struct fixture *f = arm_start("pages", NULL);
    fixture_must(f, "PUT", "/sim/settings/azure", "{\"page_size\":2}");
    for (int i = 1; i <= 5; i++) {
        arm_must(f, "PUT", arena_printf(f->a, PIP "%d", i), PIP_BODY);
    }
    arm_must(f, "GET", NET "/publicIPAddresses", NULL);
    assert_string_equal(arm_text(f, "value.0.name"), "pip1");
    const char *next = arena_strdup(f->a, arm_text(f, "nextLink") + strlen(f->url));
    arm_must(f, "DELETE", PIP "1", NULL);
    arm_must(f, "DELETE", PIP "2", NULL);
    arm_must(f, "PUT", PIP "0", PIP_BODY);
    arm_must(f, "GET", next, NULL);
    assert_int_equal(arm_len(f, "value"), 2);
    assert_string_equal(arm_text(f, "value.0.name"), "pip3");
    next = arena_strdup(f->a, arm_text(f, "nextLink") + strlen(f->url));
    arm_must(f, "GET", next, NULL);
    assert_int_equal(arm_len(f, "value"), 1);
    assert_string_equal(arm_text(f, "value.0.name"), "pip5");
    assert_string_equal(arm_text(f, "nextLink"), "");
    fixture_stop(f);
}

static void document__that_is_going__says_so(void **state)
{
    (void)state;
    struct fixture *f = arm_start("deleting", NULL);
    arm_must(f, "PUT", PIP, PIP_BODY);
    fixture_must(f, "PUT", "/sim/settings/azure",
                 "{\"async\":\"azure-async\",\"polls\":9,\"retry_after\":7}");
    arm_expect(f, "delete", arm_call(f, "DELETE", PIP, NULL), 202, NULL);
    arm_must(f, "GET", PIP, NULL);
    assert_string_equal(arm_text(f, "properties.provisioningState"), "Deleting");
    arm_expect(f, "again", arm_call(f, "DELETE", PIP, NULL), 409, "AnotherOperationInProgress");
    arm_expect(f, "write", arm_call(f, "PUT", PIP, PIP_BODY), 409, "AnotherOperationInProgress");
    fixture_must(f, "PUT", "/sim/settings/azure", "{\"conflict\":\"retryable\"}");
    arm_expect(f, "busy", arm_call(f, "PUT", PIP, PIP_BODY), 429, "RetryableError");
    assert_string_equal(arm_text(f, "error.details.0.code"), "RetryableErrorDueToAnotherOperation");
    assert_non_null(strstr(f->text, "retried in 7 seconds"));
    assert_int_equal(f->retry_after, 7);
    fixture_stop(f);
}

UNIT_MAIN(protocol)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(request__each_row__status_and_code),
        cmocka_unit_test(request__without_token__401_whatever_it_asks),
        cmocka_unit_test(body__of_more_than_4_MiB__413),
        cmocka_unit_test(answer__headers__name_the_request),
        cmocka_unit_test(allowance__used_up__429_until_it_grows_again),
        cmocka_unit_test(settings__by_control__part_of_the_state),
        cmocka_unit_test(list__deleted_and_made_between_its_pages__no_other_item_is_hidden),
        cmocka_unit_test(document__that_is_going__says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
