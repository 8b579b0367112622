/* SPDX-License-Identifier: Apache-2.0 */
/* test_call.c: one call of Azure Resource Manager from its first request to its result
 * (docs/spec/azure.md 3.1 to 3.6, 3.8).
 *
 * Each test is a conversation: what must be asked, and what is answered.  The clock stands still,
 * so the moment before which a request must not be sent is part of what is asked. */
#include "tests/unit/azure/call.h"

#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"

struct talk {
    const char *name;
    enum azure_verb verb;
    struct turn turns[14];
    int code;
    const char *says; /* part of the message; NULL: none */
    bool creates;
};

static void run_talk(struct kit *k, const struct talk *talk)
{
    struct call_kit c;
    call_open(&c, k, CONFIG);
    call_begin(&c, talk->verb);
    if (talk->creates) {
        c.call.spec.creates = true;
        c.call.spec.if_match = NULL;
    }
    enum http_next next = azure_call_step(&c.call, &k->req, NULL, &k->err);
    size_t i = 0;
    for (; next == HTTP_SEND && talk->turns[i].method != NULL; i++) {
        next = answer(&c, talk->name, i, &talk->turns[i]);
    }
    if (next != HTTP_DONE || talk->turns[i].method != NULL) {
        fail_msg("%s: ended after %zu turns: %s", talk->name, i, k->err.message);
    }
    if (k->err.code != talk->code ||
        (talk->says != NULL && strstr(k->err.message, talk->says) == NULL)) {
        fail_msg("%s: got %s: %s, want %s: %s", talk->name, err_code_name(k->err.code),
                 k->err.message, err_code_name(talk->code), str_nonnull(talk->says));
    }
    if (talk->code == ERR_OK && talk->verb != AZURE_DELETE && talk->verb != AZURE_MIGRATE) {
        assert_non_null(c.call.answer);
    }
    call_close(&c);
}

static void run_talks(void **state, const struct talk *talks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        run_talk(*state, &talks[i]);
        kit_reset_clock(*state);
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

static void get__answers(void **state)
{
    static const struct talk talks[] = {
        {"found", AZURE_GET, {{"GET", ARM LB V, 0, 200, NULL, NULL, PLAIN}}, ERR_OK, NULL},
        {"absent",
         AZURE_GET,
         {{"GET", ARM LB V, 0, 404, NULL, NULL,
           "{\"error\":{\"code\":\"ResourceNotFound\",\"message\":\"gone\"}}"}},
         ERR_NOT_FOUND,
         "load balancer lb: ResourceNotFound: gone"},
        {"another case is the same ID",
         AZURE_GET,
         {{"GET", ARM LB V, 0, 200, NULL, NULL,
           "{\"id\":\"/SUBSCRIPTIONS/S/resourcegroups/RG/providers/microsoft.network/"
           "loadbalancers/LB\"}"}},
         ERR_OK,
         NULL},
        {"about something else, four times",
         AZURE_GET,
         {{"GET", ARM LB V, 0, 200, NULL, NULL, "{\"id\":\"/other\"}"},
          {"GET", ARM LB V, -500, 200, NULL, NULL, "[]"},
          {"GET", ARM LB V, -1000, 200, NULL, NULL, "nonsense"},
          {"GET", ARM LB V, -2000, 200, NULL, NULL, NULL}},
         ERR_TRANSIENT,
         "no JSON object"},
        {"lost, then found",
         AZURE_GET,
         {{"GET", ARM LB V, 0, 0, NULL, NULL, NULL},
          {"GET", ARM LB V, -500, 503, NULL, NULL, NULL},
          {"GET", ARM LB V, 3000, 200, NULL, NULL, PLAIN}},
         ERR_OK,
         NULL},
    };
    struct talk with_wait[ARRAY_LEN(talks)];
    memcpy(with_wait, talks, sizeof(talks));
    with_wait[4].turns[1].header = "Retry-After";
    with_wait[4].turns[1].value = "3";
    run_talks(state, with_wait, ARRAY_LEN(talks));
}

static void list__pages(void **state)
{
    static const struct talk talks[] = {
        {"refused",
         AZURE_LIST,
         {{"GET", ARM LBS V, 0, 403, NULL, NULL,
           "{\"error\":{\"code\":\"AuthorizationFailed\",\"message\":\"no\"}}"}},
         ERR_FORBIDDEN,
         "listing loadBalancers of resource group rg: AuthorizationFailed: no"},
        {"two pages",
         AZURE_LIST,
         {{"GET", ARM LBS V, 0, 200, NULL, NULL,
           "{\"value\":[" PLAIN "],\"nextLink\":\"" ARM LBS "?page=2\"}"},
          {"GET", ARM LBS "?page=2", 0, 503, NULL, NULL, NULL},
          {"GET", ARM LBS "?page=2", -500, 200, NULL, NULL, "{\"value\":[]}"}},
         ERR_OK,
         NULL},
        {"leads elsewhere",
         AZURE_LIST,
         {{"GET", ARM LBS V, 0, 200, NULL, NULL,
           "{\"value\":[],\"nextLink\":\"https://evil.example/x\"}"}},
         ERR_TRANSIENT,
         "leads elsewhere"},
        {"leads elsewhere by a longer host",
         AZURE_LIST,
         {{"GET", ARM LBS V, 0, 200, NULL, NULL,
           "{\"value\":[],\"nextLink\":\"" ARM ".evil.example/x\"}"}},
         ERR_TRANSIENT,
         "leads elsewhere"},
        {"turns in a circle",
         AZURE_LIST,
         {{"GET", ARM LBS V, 0, 200, NULL, NULL, "{\"value\":[],\"nextLink\":\"" ARM LBS V "\"}"}},
         ERR_TRANSIENT,
         "does not end"},
        {"an item is no resource",
         AZURE_LIST,
         {{"GET", ARM LBS V, 0, 200, NULL, NULL, "{\"value\":[7]}"},
          {"GET", ARM LBS V, -500, 200, NULL, NULL, "{\"value\":{}}"},
          {"GET", ARM LBS V, -1000, 200, NULL, NULL, "{\"value\":[{}]}"},
          {"GET", ARM LBS V, -2000, 200, NULL, NULL, "{}"}},
         ERR_TRANSIENT,
         "is no list"},
    };
    run_talks(state, talks, ARRAY_LEN(talks));
}

/* The owner of a scale set may nest the settings of its extensions as he likes. */
static void list__settings_nested_deeply__read(void **state)
{
    struct kit *k = *state;
    _cleanup_(str_buf_done) struct str_buf deep = STR_BUF_INIT;
    for (int i = 0; i < 200; i++) {
        str_append(&deep, "{\"a\":[");
    }
    for (int i = 0; i < 200; i++) {
        str_append(&deep, "]}");
    }
    const char *body = arena_printf(
        k->a, "{\"value\":[{\"id\":\"/x\",\"properties\":{\"settings\":%s}}," PLAIN "]}",
        str_buf_text(&deep));
    const struct talk talks[] = {
        {"somebody's settings",
         AZURE_LIST,
         {{"GET", ARM LBS V, 0, 200, NULL, NULL, body}},
         ERR_OK,
         NULL},
    };
    run_talks(state, talks, ARRAY_LEN(talks));
}

/* ---- writing (3.5) --------------------------------------------------------------------------- */

static void put__three_ways_to_wait(void **state)
{
    static const struct talk talks[] = {
        {"done at once",
         AZURE_PUT,
         {{"PUT", ARM LB V, 0, 200, NULL, NULL, DOC("Succeeded")}},
         0,
         0},
        {"done at once, with a URL nobody needs",
         AZURE_PUT,
         {{"PUT", ARM LB V, 0, 201, "Azure-AsyncOperation", STATUS, DOC("Succeeded")}},
         0,
         0},
        {"status URL",
         AZURE_PUT,
         {{"PUT", ARM LB V, 0, 201, "Azure-AsyncOperation", STATUS, DOC("Updating")},
          {"GET", STATUS, 0, 200, NULL, NULL, "{\"status\":\"InProgress\"}"},
          {"GET", STATUS, -5000, 200, "Retry-After", "9", "{\"status\":\"InProgress\"}"},
          {"GET", STATUS, 9000, 200, NULL, NULL, "{\"status\":\"succeeded\"}"},
          {"GET", ARM LB V, 0, 200, NULL, NULL, DOC("Succeeded")}},
         0,
         0},
        {"status URL that leads elsewhere",
         AZURE_PUT,
         {{"PUT", ARM LB V, 0, 201, "Azure-AsyncOperation", "https://evil.example/op",
           DOC("Updating")},
          {"PUT", ARM LB V, -500, 200, NULL, NULL, DOC("Succeeded")}},
         0,
         0},
        {"location",
         AZURE_PUT,
         {{"PUT", ARM LB V, 0, 202, "Location", STATUS, NULL},
          {"GET", STATUS, 0, 202, "Location", STATUS2, NULL},
          {"GET", STATUS2, -5000, 200, NULL, NULL, DOC("Succeeded")}},
         0,
         0},
        {"body",
         AZURE_PUT,
         {{"PUT", ARM LB V, 0, 201, NULL, NULL, DOC("Updating")},
          {"GET", ARM LB V, 0, 200, NULL, NULL, DOC("Updating")},
          {"GET", ARM LB V, -5000, 200, NULL, NULL, DOC("Succeeded")}},
         0,
         0},
        {"created without a state is asked for",
         AZURE_PUT,
         {{"PUT", ARM LB V, 0, 201, NULL, NULL, PLAIN},
          {"GET", ARM LB V, 0, 200, NULL, NULL, PLAIN}},
         0,
         0},
        {"the answer about the operation is lost",
         AZURE_PUT,
         {{"PUT", ARM LB V, 0, 201, "Azure-AsyncOperation", STATUS, DOC("Updating")},
          {"GET", STATUS, 0, 0, NULL, NULL, NULL},
          {"GET", STATUS, -500, 500, NULL, NULL, NULL},
          {"GET", STATUS, -1000, 200, NULL, NULL, "{\"status\":\"Succeeded\"}"},
          {"GET", ARM LB V, 0, 0, NULL, NULL, NULL},
          {"GET", ARM LB V, -2000, 200, NULL, NULL, DOC("Succeeded")}},
         0,
         0},
    };
    run_talks(state, talks, ARRAY_LEN(talks));
}

static void put__what_fails(void **state)
{
    static const struct talk talks[] = {
        {"412: somebody wrote in between",
         AZURE_PUT,
         {{"PUT", ARM LB V, 0, 412, NULL, NULL,
           "{\"error\":{\"code\":\"PreconditionFailed\",\"message\":\"etag\"}}"}},
         ERR_CONFLICT,
         "load balancer lb: PreconditionFailed: etag"},
        {"400 is not sent again",
         AZURE_PUT,
         {{"PUT", ARM LB V, 0, 400, NULL, NULL,
           "{\"error\":{\"code\":\"InvalidRequestFormat\",\"message\":\"no\"}}"}},
         ERR_INVALID,
         "InvalidRequestFormat: no"},
        {"the operation fails",
         AZURE_PUT,
         {{"PUT", ARM LB V, 0, 201, "Azure-AsyncOperation", STATUS, DOC("Updating")},
          {"GET", STATUS, 0, 200, NULL, NULL,
           "{\"status\":\"Failed\",\"error\":{\"code\":\"PublicIPCountLimitReached\",\"message\":"
           "\"limit\"}}"}},
         ERR_QUOTA,
         "PublicIPCountLimitReached: limit"},
        {"the resource fails",
         AZURE_PUT,
         {{"PUT", ARM LB V, 0, 200, NULL, NULL, DOC("Failed")}},
         ERR_TRANSIENT,
         NULL},
        {"superseded",
         AZURE_PUT,
         {{"PUT", ARM LB V, 0, 201, "Azure-AsyncOperation", STATUS, DOC("Updating")},
          {"GET", STATUS, 0, 200, NULL, NULL,
           "{\"status\":\"Canceled\",\"error\":{\"code\":\"CanceledAndSupersededDueToAnother"
           "Operation\",\"message\":\"x\"}}"}},
         ERR_CONFLICT,
         NULL},
        {"an operation that nobody knows",
         AZURE_PUT,
         {{"PUT", ARM LB V, 0, 201, "Azure-AsyncOperation", STATUS, DOC("Updating")},
          {"GET", STATUS, 0, 404, NULL, NULL, NULL}},
         ERR_NOT_FOUND,
         NULL},
    };
    run_talks(state, talks, ARRAY_LEN(talks));
}

/* Between a creation that was lost and its repetition, another writer may add something to
 * what was made. */
static void put__creation_without_an_answer__looked_for_before_it_is_repeated(void **state)
{
    static const struct talk talks[] = {
        {"it was never made",
         AZURE_PUT,
         {{"PUT", ARM LB V, 0, 0, NULL, NULL, NULL},
          {"GET", ARM LB V, -500, 404, NULL, NULL, NULL},
          {"PUT", ARM LB V, 0, 201, NULL, NULL, DOC("Succeeded")}},
         ERR_OK,
         NULL,
         true},
        {"it stands",
         AZURE_PUT,
         {{"PUT", ARM LB V, 0, 503, NULL, NULL, NULL},
          {"GET", ARM LB V, -500, 200, NULL, NULL, PLAIN}},
         ERR_CONFLICT,
         "load balancer lb: it stands now",
         true},
        {"the question is lost, too",
         AZURE_PUT,
         {{"PUT", ARM LB V, 0, 0, NULL, NULL, NULL},
          {"GET", ARM LB V, -500, 0, NULL, NULL, NULL},
          {"GET", ARM LB V, -1000, 404, NULL, NULL, NULL},
          {"PUT", ARM LB V, 0, 0, NULL, NULL, NULL},
          {"GET", ARM LB V, -2000, 200, NULL, NULL, PLAIN}},
         ERR_CONFLICT,
         "it stands now",
         true},
        {"a request that was not taken at all is sent again",
         AZURE_PUT,
         {{"PUT", ARM LB V, 0, 429, NULL, NULL, NULL},
          {"PUT", ARM LB V, -20000, 201, NULL, NULL, DOC("Succeeded")}},
         ERR_OK,
         NULL,
         true},
    };
    run_talks(state, talks, ARRAY_LEN(talks));
}

static void delete__ends(void **state)
{
    static const struct talk talks[] = {
        {"gone", AZURE_DELETE, {{"DELETE", ARM LB V, 0, 204, NULL, NULL, NULL}}, 0, 0},
        {"location",
         AZURE_DELETE,
         {{"DELETE", ARM LB V, 0, 202, "Location", STATUS, NULL},
          {"GET", STATUS, 0, 202, NULL, NULL, NULL},
          {"GET", STATUS, -5000, 204, NULL, NULL, NULL}},
         0,
         0},
        {"the operation went with what it deleted",
         AZURE_DELETE,
         {{"DELETE", ARM LB V, 0, 202, "Azure-AsyncOperation", STATUS, NULL},
          {"GET", STATUS, 0, 404, NULL, NULL, NULL}},
         0,
         0},
        {"in use",
         AZURE_DELETE,
         {{"DELETE", ARM LB V, 0, 400, NULL, NULL,
           "{\"error\":{\"code\":\"LoadBalancerInUseByVirtualMachineScaleSet\",\"message\":\"x\"}"
           "}"}},
         ERR_IN_USE,
         NULL},
    };
    run_talks(state, talks, ARRAY_LEN(talks));
}

/* ---- headers --------------------------------------------------------------------------------- */

static const char *header_of(const struct http_request *req, const char *name)
{
    for (size_t i = 0; i < req->n_headers; i++) {
        if (str_eq_nocase(req->headers[i].name, name)) {
            return req->headers[i].value;
        }
    }
    return NULL;
}

static void request__what_it_carries(void **state)
{
    struct kit *k = *state;
    struct call_kit c;
    call_open(&c, k, CONFIG);
    call_begin(&c, AZURE_PUT);
    assert_int_equal(azure_call_step(&c.call, &k->req, NULL, &k->err), HTTP_SEND);
    same_text("bearer", k->req.bearer, "t1");
    same_text("etag", header_of(&k->req, "If-Match"), "\"etag\"");
    same_text("accept", header_of(&k->req, "Accept"), "application/json");
    same_text("type", header_of(&k->req, "Content-Type"), "application/json");
    assert_int_equal(strlen(header_of(&k->req, "x-ms-client-request-id")), 36);
    assert_null(header_of(&k->req, "x-ms-authorization-auxiliary"));
    assert_true(k->req.mutates);
    same_text("body", k->req.body, PLAIN);
    call_begin(&c, AZURE_GET);
    assert_int_equal(azure_call_step(&c.call, &k->req, NULL, &k->err), HTTP_SEND);
    assert_false(k->req.mutates);
    assert_null(header_of(&k->req, "If-Match"));
    call_close(&c);
}

static void request__of_two_tenants__carries_both_tokens(void **state)
{
    struct kit *k = *state;
    struct call_kit c;
    call_open(&c, k, CONFIG "networkResourceTenantID: net\n");
    azure_auth_store(k->auth, AZURE_TENANT_NETWORK, "n1", 3600000, 0);
    call_begin(&c, AZURE_GET);
    assert_int_equal(azure_call_step(&c.call, &k->req, NULL, &k->err), HTTP_SEND);
    same_text("balancer", k->req.bearer, "n1");
    assert_null(header_of(&k->req, "x-ms-authorization-auxiliary"));
    const struct azure_call_spec vm = {.kind = AZURE_VMS, .verb = AZURE_GET, .id = "/x/vm"};
    azure_call_begin(&c.call, &c.arm, NULL, k->a, &vm);
    assert_int_equal(azure_call_step(&c.call, &k->req, NULL, &k->err), HTTP_SEND);
    same_text("machine", k->req.bearer, "t1");
    same_text("auxiliary", header_of(&k->req, "x-ms-authorization-auxiliary"), "Bearer n1");
    call_close(&c);
}

/* ---- tokens (2.7) ---------------------------------------------------------------------------- */

#define NEW_TOKEN "{\"access_token\":\"t2\",\"expires_in\":3600}"
#define LOGIN     "https://login.microsoftonline.com/t/oauth2/v2.0/token"

static void refused_token__is_had_anew_once(void **state)
{
    struct kit *k = *state;
    struct call_kit c;
    static const struct turn turns[] = {
        {"GET", ARM LB V, 0, 401, "WWW-Authenticate",
         "Bearer realm=\"\", error=\"insufficient_claims\", claims=\"eyJhIjp7ImIiOjF9fQ==\"", NULL},
        {"POST", LOGIN, 0, 200, NULL, NULL, NEW_TOKEN},
        {"GET", ARM LB V, 0, 401, NULL, NULL,
         "{\"error\":{\"code\":\"InvalidAuthenticationToken\",\"message\":\"t2 is no good\"}}"},
    };
    call_open(&c, k, CONFIG);
    call_begin(&c, AZURE_GET);
    assert_int_equal(azure_call_step(&c.call, &k->req, NULL, &k->err), HTTP_SEND);
    assert_int_equal(answer(&c, "refused", 0, &turns[0]), HTTP_SEND);
    same_text("claims", kit_form(k, "claims"),
              "{\"a\":{\"b\":1},\"access_token\":{\"xms_cc\":{\"values\":[\"CP1\"]}}}");
    assert_int_equal(answer(&c, "token", 1, &turns[1]), HTTP_SEND);
    same_text("the new one", k->req.bearer, "t2");
    assert_int_equal(answer(&c, "refused again", 2, &turns[2]), HTTP_DONE);
    assert_int_equal(k->err.code, ERR_AUTH);
    call_close(&c);
}

static void missing_token__that_cannot_be_had__ends_the_call(void **state)
{
    struct kit *k = *state;
    struct call_kit c;
    static const struct turn refusal = {
        "POST", LOGIN, 0, 401, NULL, NULL, "{\"error\":\"invalid_client\"}"};
    call_open(&c, k, CONFIG);
    azure_auth_drop(k->auth, AZURE_TENANT_COMPUTE, "t1", NULL);
    call_begin(&c, AZURE_GET);
    assert_int_equal(azure_call_step(&c.call, &k->req, NULL, &k->err), HTTP_SEND);
    assert_int_equal(answer(&c, "token", 0, &refusal), HTTP_DONE);
    assert_int_equal(k->err.code, ERR_AUTH);
    call_close(&c);
}

static void reference__to_what_is_not_there__asked_once_for_a_public_ip(void **state)
{
    static const struct turn refusal = {
        "PUT",
        ARM LB V,
        0,
        400,
        NULL,
        NULL,
        "{\"error\":{\"code\":\"InvalidResourceReference\",\"message\":\"no prefix\"}}"};
    static const enum azure_kind kinds[] = {AZURE_PIPS, AZURE_LBS};
    struct kit *k = *state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct call_kit c;
        call_open(&c, k, CONFIG);
        call_begin(&c, AZURE_PUT);
        c.call.spec.kind = kinds[i];
        assert_int_equal(azure_call_step(&c.call, &k->req, NULL, &k->err), HTTP_SEND);
        enum http_next next = answer(&c, "refused", 0, &refusal);
        assert_int_equal(next, kinds[i] == AZURE_PIPS ? HTTP_DONE : HTTP_SEND);
        call_close(&c);
        kit_reset_clock(k);
    }
}

/* ---- gates (3.6) ----------------------------------------------------------------------------- */

static void gate__429_closes_it_for_its_kind_and_direction(void **state)
{
    struct kit *k = *state;
    struct call_kit c;
    struct turn busy = {"GET", ARM LB V, 0, 429, "Retry-After", "20", NULL};
    call_open(&c, k, CONFIG);
    call_begin(&c, AZURE_GET);
    assert_int_equal(azure_call_step(&c.call, &k->req, NULL, &k->err), HTTP_SEND);
    assert_int_equal(answer(&c, "429", 0, &busy), HTTP_SEND);
    assert_int_equal(k->req.not_before_ms - clock_now_ms(k->clock), 20000);
    ask_now(&c, AZURE_GET, HTTP_SEND, 20000); /* another call waits, too */
    ask_now(&c, AZURE_PUT, HTTP_SEND, 0);     /* writing does not */
    clock_fake_advance(k->clock, 20000);
    ask_now(&c, AZURE_GET, HTTP_SEND, 0);
    call_close(&c);
}

static void gate__closed_for_long__is_told_with_the_time_that_is_left(void **state)
{
    struct kit *k = *state;
    struct call_kit c;
    struct turn busy = {"PUT", ARM LB V, 0, 429, "Retry-After", "300", NULL};
    call_open(&c, k, CONFIG);
    call_begin(&c, AZURE_PUT);
    assert_int_equal(azure_call_step(&c.call, &k->req, NULL, &k->err), HTTP_SEND);
    assert_int_equal(answer(&c, "429", 0, &busy), HTTP_DONE);
    assert_int_equal(k->err.code, ERR_THROTTLED);
    assert_int_equal(k->err.retry_after_ms, 300000);
    clock_fake_advance(k->clock, 100000);
    call_begin(&c, AZURE_PUT);
    assert_int_equal(azure_call_step(&c.call, &k->req, NULL, &k->err), HTTP_DONE);
    assert_int_equal(k->err.code, ERR_THROTTLED);
    assert_int_equal(k->err.retry_after_ms, 200000);
    call_close(&c);
}

static void rate_limit__of_the_configuration__waits(void **state)
{
    struct kit *k = *state;
    struct call_kit c;
    call_open(&c, k,
              CONFIG "cloudProviderRateLimit: true\ncloudProviderRateLimitQPS: 2\n"
                     "cloudProviderRateLimitBucket: 1\n");
    ask_now(&c, AZURE_GET, HTTP_SEND, 0);
    ask_now(&c, AZURE_GET, HTTP_SEND, 500);
    ask_now(&c, AZURE_GET, HTTP_SEND, 1000);
    call_close(&c);
}

/* Waiting is what the user asked for, however long; a refusal would only come back and
 * ask for more. */
static void rate_limit__a_long_queue__is_waited_for(void **state)
{
    struct kit *k = *state;
    struct call_kit c;
    call_open(&c, k,
              CONFIG "loadBalancerRateLimit: {cloudProviderRateLimit: true, "
                     "cloudProviderRateLimitQPS: 1, cloudProviderRateLimitBucket: 1}\n");
    for (int i = 0; i < 100; i++) {
        ask_now(&c, AZURE_GET, HTTP_SEND, i * INT64_C(1000));
    }
    /* A gate that a 429 has closed takes no turn of the queue. */
    c.arm.gate.until_ms[AZURE_LBS][0] = clock_now_ms(k->clock) + 200000;
    ask_now(&c, AZURE_GET, HTTP_DONE, 0);
    assert_int_equal(k->err.code, ERR_THROTTLED);
    assert_int_equal(k->err.retry_after_ms, 200000);
    c.arm.gate.until_ms[AZURE_LBS][0] = 0;
    ask_now(&c, AZURE_GET, HTTP_SEND, 100000);
    call_close(&c);
}

/* 3.6: enableMinimumRetryAfter.  How long it is waited before the first poll. */
static void retry_after__small_ones_may_be_passed_over(void **state)
{
    static const struct {
        const char *config;
        const char *retry_after;
        int64_t wait_ms;
    } rows[] = {
        {CONFIG, "1", 1000},
        {CONFIG, "7", 7000},
        {CONFIG "enableMinimumRetryAfter: true\n", "1", 0},
        {CONFIG "enableMinimumRetryAfter: true\n", "7", 7000},
    };
    struct kit *k = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct call_kit c;
        const struct http_header headers[] = {{"Azure-AsyncOperation", STATUS},
                                              {"Retry-After", rows[i].retry_after}};
        const struct http_response taken = {
            .status = 202, .body = "", .headers = headers, .n_headers = ARRAY_LEN(headers)};
        call_open(&c, k, rows[i].config);
        call_begin(&c, AZURE_PUT);
        assert_int_equal(azure_call_step(&c.call, &k->req, NULL, &k->err), HTTP_SEND);
        assert_int_equal(azure_call_step(&c.call, &k->req, &taken, &k->err), HTTP_SEND);
        same_text("poll", k->req.url, STATUS);
        int64_t wait =
            k->req.not_before_ms == 0 ? 0 : k->req.not_before_ms - clock_now_ms(k->clock);
        assert_int_equal(wait, rows[i].wait_ms);
        call_close(&c);
    }
}

/* 1.4, 17 row 9: the user's numbers count, where they are switched on. */
static void retries__of_the_configuration(void **state)
{
    struct kit *k = *state;
    static const struct {
        const char *config;
        int requests;
        int64_t longest_ms; /* before the second one */
    } rows[] = {
        {CONFIG, 4, 500},
        {CONFIG "cloudProviderBackoffRetries: 9\n", 4, 500},
        {CONFIG "cloudProviderBackoff: true\n", 7, 5000},
        {CONFIG "cloudProviderBackoff: true\ncloudProviderBackoffRetries: 2\n"
                "cloudProviderBackoffDuration: 3\n",
         3, 3000},
        {CONFIG "cloudProviderBackoff: true\ncloudProviderBackoffRetries: -2\n"
                "cloudProviderBackoffDuration: 100000\n",
         1, 0},
    };
    const struct http_response resp = {.status = 503, .body = ""};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct call_kit c;
        call_open(&c, k, rows[i].config);
        call_begin(&c, AZURE_GET);
        int requests = 1;
        assert_int_equal(azure_call_step(&c.call, &k->req, NULL, &k->err), HTTP_SEND);
        while (azure_call_step(&c.call, &k->req, &resp, &k->err) == HTTP_SEND) {
            int64_t wait = k->req.not_before_ms - clock_now_ms(k->clock);
            assert_true(++requests != 2 || (wait >= 0 && wait <= rows[i].longest_ms));
        }
        assert_int_equal(requests, rows[i].requests);
        call_close(&c);
        kit_reset_clock(k);
    }
}

UNIT_MAIN(call)
{
    const struct CMUnitTest tests[] = {
        KIT_TEST(get__answers),
        KIT_TEST(list__pages),
        KIT_TEST(list__settings_nested_deeply__read),
        KIT_TEST(put__three_ways_to_wait),
        KIT_TEST(put__what_fails),
        KIT_TEST(put__creation_without_an_answer__looked_for_before_it_is_repeated),
        KIT_TEST(delete__ends),
        KIT_TEST(request__what_it_carries),
        KIT_TEST(request__of_two_tenants__carries_both_tokens),
        KIT_TEST(refused_token__is_had_anew_once),
        KIT_TEST(reference__to_what_is_not_there__asked_once_for_a_public_ip),
        KIT_TEST(missing_token__that_cannot_be_had__ends_the_call),
        KIT_TEST(gate__429_closes_it_for_its_kind_and_direction),
        KIT_TEST(gate__closed_for_long__is_told_with_the_time_that_is_left),
        KIT_TEST(rate_limit__of_the_configuration__waits),
        KIT_TEST(rate_limit__a_long_queue__is_waited_for),
        KIT_TEST(retry_after__small_ones_may_be_passed_over),
        KIT_TEST(retries__of_the_configuration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
