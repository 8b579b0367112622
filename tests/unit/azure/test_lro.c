/* SPDX-License-Identifier: Apache-2.0 */
/* test_lro.c: long-running operations: each way in which Azure answers a write, answer by answer
 * (docs/spec/azure.md 3.5), and how long is waited. */
#include "providers/azure/arm/azure_lro.h"
#include "tests/support/unit.h"
#include "tests/unit/azure/azure_test.h"

#define BASE     "https://management.azure.com"
#define RESOURCE BASE "/subscriptions/s/x?api-version=1"
#define OP       BASE "/operations/1?api-version=1"

#define BODY(state) "{\"id\":\"/x\",\"properties\":{\"provisioningState\":\"" state "\"}}"

struct answer {
    int status;
    const char *header; /* "Name: value", or NULL */
    const char *body;   /* NULL: none */
    const char *want;   /* "done", "done resource", "running", or the error's name */
};

static const char *look(struct arena *a, struct azure_lro *lro, const struct answer *x)
{
    struct http_header header = {0};
    struct http_response resp = {.status = x->status};
    struct err err = ERR_INIT;
    if (x->header != NULL) {
        const char *colon = strchr(x->header, ':');
        header.name = arena_strndup(a, x->header, (size_t)(colon - x->header));
        header.value = arena_strdup(a, colon + 2);
        resp.headers = &header;
        resp.n_headers = 1;
    }
    struct json_object *body = x->body != NULL ? pure_json(a, x->body) : NULL;
    int rc = azure_lro_look(a, lro, &resp, body, 0, &err);
    lro->first = false;
    if (rc != ERR_OK) {
        return arena_printf(a, "%s%s", err_code_name(rc), lro->done ? ", ended" : "");
    }
    if (!lro->done) {
        return arena_printf(a, "running at %s", lro->poll_url);
    }
    return lro->has_resource ? "done resource" : "done";
}

/* The first answer, then those of the polls. */
static const struct {
    const char *row;
    bool put;
    struct answer answers[4];
} conversations[] = {
    {"status: done at once",
     true,
     {{201, "Azure-AsyncOperation: " OP, BODY("Succeeded"), "done resource"}}},
    {"status: polled",
     true,
     {{201, "Azure-AsyncOperation: " OP, BODY("Updating"), "running at " OP},
      {200, NULL, "{\"status\":\"InProgress\"}", "running at " OP},
      {200, NULL, "{\"status\":\"succeeded\"}", "done"}}},
    {"status: failed",
     true,
     {{200, "Azure-AsyncOperation: " OP, NULL, "running at " OP},
      {200, NULL, "{\"status\":\"Failed\",\"error\":{\"code\":\"QuotaExceeded\"}}",
       "quota, ended"}}},
    {"status: canceled",
     true,
     {{200, "Azure-AsyncOperation: " OP, NULL, "running at " OP},
      {200, NULL, "{\"status\":\"Canceled\"}", "transient, ended"}}},
    {"status: superseded",
     true,
     {{200, "Azure-AsyncOperation: " OP, NULL, "running at " OP},
      {200, NULL,
       "{\"status\":\"Canceled\",\"error\":{\"code\":\"Canceled\",\"message\":"
       "\"CanceledAndSupersededDueToAnotherOperation\"}}",
       "conflict, ended"}}},
    {"status: none",
     true,
     {{200, "Azure-AsyncOperation: " OP, NULL, "running at " OP}, {200, NULL, "{}", "transient"}}},
    {"status: DELETE",
     false,
     {{202, "Azure-AsyncOperation: " OP, NULL, "running at " OP},
      {200, NULL, "{\"status\":\"Succeeded\"}", "done"}}},
    {"operation-location",
     true,
     {{200, "Operation-Location: " OP, NULL, "running at " OP},
      {200, NULL, "{\"status\":\"Succeeded\"}", "done"}}},
    {"location: DELETE",
     false,
     {{202, "Location: " OP, NULL, "running at " OP},
      {202, NULL, NULL, "running at " OP},
      {204, NULL, NULL, "done"}}},
    {"location: moves",
     false,
     {{202, "Location: " OP, NULL, "running at " OP},
      {202, "Location: " BASE "/operations/2", NULL, "running at " BASE "/operations/2"},
      {200, NULL, NULL, "done"}}},
    {"location: leads elsewhere",
     false,
     {{202, "Location: " OP, NULL, "running at " OP},
      {202, "Location: https://evil.example/", NULL, "running at " OP}}},
    {"location: PUT, the state counts",
     true,
     {{201, "Location: " OP, BODY("Creating"), "running at " OP},
      {200, NULL, BODY("Creating"), "running at " OP},
      {200, NULL, BODY("Succeeded"), "done resource"}}},
    {"location: PUT, no state",
     true,
     {{202, "Location: " OP, NULL, "running at " OP},
      {200, NULL, "{\"id\":\"/x\"}", "done resource"}}},
    {"body: at once", true, {{200, NULL, BODY("Succeeded"), "done resource"}}},
    {"body: 200 without a state", true, {{200, NULL, "{\"id\":\"/x\"}", "done resource"}}},
    {"body: 201 without a state",
     true,
     {{201, NULL, "{\"id\":\"/x\"}", "running at " RESOURCE},
      {200, NULL, "{\"id\":\"/x\"}", "done resource"}}},
    {"body: 202",
     true,
     {{202, NULL, NULL, "running at " RESOURCE},
      {200, NULL, BODY("Updating"), "running at " RESOURCE},
      {200, NULL, BODY("Succeeded"), "done resource"}}},
    {"body: 204", true, {{204, NULL, NULL, "done"}}},
    {"body: running, then nothing is said",
     true,
     {{200, NULL, BODY("Updating"), "running at " RESOURCE}, {204, NULL, NULL, "done"}}},
    {"body: failed",
     true,
     {{200, NULL, BODY("Updating"), "running at " RESOURCE},
      {200, NULL, BODY("Failed"), "transient, ended"}}},
    {"DELETE: at once", false, {{200, NULL, NULL, "done"}}},
    {"DELETE: 204", false, {{204, NULL, NULL, "done"}}},
    {"DELETE: accepted, but where?", false, {{202, NULL, NULL, "transient"}}},
    {"another server",
     true,
     {{201, "Azure-AsyncOperation: https://evil.example/operations/1", NULL, "transient"}}},
    {"not https",
     true,
     {{201, "Azure-AsyncOperation: http://management.azure.com/1", NULL, "transient"}}},
    {"a path only", true, {{201, "Azure-AsyncOperation: /operations/1", NULL, "transient"}}},
};

static void look__3_5__answer_by_answer(void **state)
{
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(conversations); i++) {
        struct azure_lro lro = {
            .base = BASE, .resource_url = RESOURCE, .put = conversations[i].put, .first = true};
        for (size_t k = 0;
             k < ARRAY_LEN(conversations[i].answers) && conversations[i].answers[k].status; k++) {
            same_text(arena_printf(a, "%s, answer %zu", conversations[i].row, k + 1),
                      look(a, &lro, &conversations[i].answers[k]),
                      conversations[i].answers[k].want);
        }
    }
}

static void is_ours__only_the_API(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        bool want;
    } rows[] = {
        {BASE "/x", true},
        {BASE "?x", true},
        {"HTTPS://Management.Azure.com/x", true},
        {BASE, false},
        {BASE ".evil.example/x", false},
        {BASE "@evil.example/x", false},
        {BASE ":444/x", false},
        {BASE ":443/x", true}, /* so nextLink is spelled by some resource providers */
        {BASE ":443@evil.example/x", false},
        {"https://user@management.azure.com/x", false},
        {"http://management.azure.com/x", false},
        {"http://management.azure.com:443/x", false},
        {BASE "\\@evil.example/x", false},
        {"", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (azure_lro_is_ours(BASE, rows[i].url) != rows[i].want) {
            fail_msg("%s: want %d", rows[i].url, rows[i].want);
        }
    }
}

static void wait__at_once_then_less_often(void **state)
{
    (void)state;
    static const struct {
        int64_t elapsed_ms;
        int64_t want_ms;
    } rows[] = {{0, 1000},    {1000, 1000},  {4999, 1000},  {5000, 1000},
                {7500, 1500}, {20000, 4000}, {25000, 5000}, {600000, 5000}};
    assert_int_equal(azure_lro_wait_ms(true, 0, 0, 0), 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(azure_lro_wait_ms(false, rows[i].elapsed_ms, 0, 0), rows[i].want_ms);
    }
    assert_int_equal(azure_lro_wait_ms(true, 0, 4500, 7000), 7000);
    assert_int_equal(azure_lro_wait_ms(false, 5000, 4500, 30000), 30000);
}

/* A balancer that takes four and a half seconds is looked at four times in place of six, and is
 * noticed half a second late at most. */
static void wait__usual_time_known__about_then(void **state)
{
    (void)state;
    static const struct {
        int64_t elapsed_ms;
        int64_t want_ms;
    } rows[] = {{0, 3600},   {100, 3500},  {3100, 500},   {3600, 500},
                {6700, 500}, {6750, 1350}, {20000, 4000}, {600000, 5000}};
    assert_int_equal(azure_lro_wait_ms(true, 0, 4500, 0), 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(azure_lro_wait_ms(false, rows[i].elapsed_ms, 4500, 0), rows[i].want_ms);
    }
    /* where reads are short: not before it is done most likely */
    assert_int_equal(azure_lro_spare_ms(0, 4000), 4500);
    assert_int_equal(azure_lro_spare_ms(4300, 4000), 1000);
    assert_int_equal(azure_lro_spare_ms(9000, 400), 500);
    assert_int_equal(azure_lro_spare_ms(700000, 600000), 5000);
    assert_int_equal(azure_lro_usual_ms(0, 4000, 5000), 4500);
    assert_int_equal(azure_lro_usual_ms(4500, 8400, 8600), 5500);
}

static void look__wait_that_is_asked_for(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *header;
        int64_t want_ms;
    } rows[] = {
        {"Retry-After: 7", 7000},
        {"Retry-After: Thu, 01 Jan 1970 00:00:09 GMT", 9000},
        {"retry-after-ms: 250", 250},
        {"x-ms-retry-after-ms: 1250", 1250},
        {"x-ms-retry-after-ms: 99999999999", 3600000},
        {"x-ms-retry-after-ms: -1", 0},
        {"X-Other: 7", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct azure_lro lro = {.base = BASE, .resource_url = RESOURCE, .put = true, .first = true};
        const struct answer x = {201, rows[i].header, NULL, NULL};
        (void)look(a, &lro, &x);
        if (lro.retry_after_ms != rows[i].want_ms) {
            fail_msg("%s: got %lld", rows[i].header, (long long)lro.retry_after_ms);
        }
    }
}

static void claims__of_a_challenge(void **state)
{
    struct arena *a = *state;
    same_text("one",
              azure_lro_claims(a, "Bearer realm=\"\", error=\"insufficient_claims\", "
                                  "claims=\"eyJhIjoxfQ==\""),
              "eyJhIjoxfQ==");
    same_text("none", azure_lro_claims(a, "Bearer realm=\"\""), NULL);
    same_text("cut", azure_lro_claims(a, "Bearer claims=\"eyJ"), NULL);
    same_text("no header", azure_lro_claims(a, NULL), NULL);
}

UNIT_MAIN(lro)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(look__3_5__answer_by_answer),   PURE_TEST(is_ours__only_the_API),
        PURE_TEST(wait__at_once_then_less_often), PURE_TEST(wait__usual_time_known__about_then),
        PURE_TEST(look__wait_that_is_asked_for),  PURE_TEST(claims__of_a_challenge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
