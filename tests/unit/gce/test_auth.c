/* SPDX-License-Identifier: Apache-2.0 */
/* test_auth.c: where tokens come from, how long they are used, and the state machine of one
 * call.  §2 and §3 of the GCE specification; answers are made up, no network is used.  E7: an
 * operation that is done is not waited for. */
#include "tests/unit/gce/pure.h"

#include "common/base/clock.h"
#include "common/base/file.h"
#include "providers/gce/api/gce_api.h"
#include "providers/gce/api/gce_auth.h"
#include "providers/gce/api/gce_budget.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <unistd.h>

#define METADATA "http://meta"

static const char *credentials_file;

static const char *env(const char *name)
{
    if (str_eq(name, "GCE_METADATA_HOST")) {
        return "meta";
    }
    return str_eq(name, "GOOGLE_APPLICATION_CREDENTIALS") ? credentials_file : NULL;
}

struct kit {
    struct arena *a;
    struct clock *clock;
    struct gce_auth *auth;
    unsigned counted, failed;
};

static void count(void *arg, bool failed)
{
    struct kit *k = arg;
    k->counted++;
    k->failed += failed;
}

static int setup(void **state)
{
    struct kit *k = xcalloc(1, sizeof(*k));
    k->a = arena_new();
    k->clock = clock_fake_new(1000, 1700000000000000);
    credentials_file = NULL;
    *state = k;
    return 0;
}

static int teardown(void **state)
{
    struct kit *k = *state;
    gce_auth_free(k->auth);
    clock_fake_free(k->clock);
    arena_free(k->a);
    free(k);
    return 0;
}

static int open_auth(struct kit *k, const char *token_url, struct err *err)
{
    const struct gce_auth_config cfg = {
        .token_url = token_url,
        .token_body = "body",
        .env = env,
        .clock = k->clock,
        .counted = count,
        .counted_arg = k,
    };
    gce_auth_free(k->auth);
    k->auth = NULL;
    return gce_auth_new(&cfg, &k->auth, err);
}

static struct http_response answer(int status, const char *body)
{
    return (struct http_response){.status = status, .body = body, .body_len = strlen(body)};
}

#define TOKEN(t, s) "{\"access_token\":\"" t "\",\"expires_in\":" s ",\"token_type\":\"Bearer\"}"

static void metadata__token_is_cached_until_it_expires(void **state)
{
    struct kit *k = *state;
    struct gce_fetch f;
    struct http_request req = {0};
    struct err err = ERR_INIT;
    assert_int_equal(open_auth(k, "", &err), ERR_OK);
    gce_fetch_begin(&f, k->auth, k->a);
    assert_int_equal(gce_fetch_step(&f, &req, NULL, 0, &err), HTTP_SEND);
    assert_string_equal(req.url, METADATA "/computeMetadata/v1/instance/service-accounts/default/"
                                          "token");
    assert_string_equal(req.headers[0].name, "Metadata-Flavor");
    struct http_response busy = answer(503, "");
    assert_int_equal(gce_fetch_step(&f, &req, &busy, 0.5, &err), HTTP_SEND); /* tried again */
    assert_int_equal(req.not_before_ms, 1000 + 50);
    struct http_response ok = answer(200, TOKEN("t1", "3600"));
    assert_int_equal(gce_fetch_step(&f, &req, &ok, 0, &err), HTTP_DONE);
    assert_int_equal(err.code, ERR_OK);
    same_text("token", gce_auth_token(k->auth, k->a), "t1");
    clock_fake_advance(k->clock, 3599 * 1000);
    same_text("stale is used", gce_auth_token(k->auth, k->a), "t1");
    clock_fake_advance(k->clock, 2000);
    same_text("expired is not", gce_auth_token(k->auth, k->a), NULL);
}

static void metadata__no_token__auth(void **state)
{
    struct kit *k = *state;
    static const struct {
        int status;
        const char *body;
        int want;
    } rows[] = {
        {200, "{}", ERR_AUTH},
        {200, "nonsense", ERR_AUTH},
        {200, TOKEN("t", "0"), ERR_AUTH},
        {404, "", ERR_AUTH},
    };
    assert_int_equal(open_auth(k, "", NULL), ERR_OK);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_fetch f;
        struct http_request req = {0};
        struct err err = ERR_INIT;
        struct http_response resp = answer(rows[i].status, rows[i].body);
        gce_fetch_begin(&f, k->auth, k->a);
        assert_int_equal(gce_fetch_step(&f, &req, NULL, 0, &err), HTTP_SEND);
        assert_int_equal(gce_fetch_step(&f, &req, &resp, 0, &err), HTTP_DONE);
        assert_int_equal(err.code, rows[i].want);
    }
}

static void token_url__metadata_token_then_post__counted(void **state)
{
    struct kit *k = *state;
    struct gce_fetch f;
    struct http_request req = {0};
    struct err err = ERR_INIT;
    assert_int_equal(open_auth(k, "http://source/token", &err), ERR_OK);
    gce_fetch_begin(&f, k->auth, k->a);
    assert_int_equal(gce_fetch_step(&f, &req, NULL, 0, &err), HTTP_SEND);
    struct http_response meta = answer(200, TOKEN("m", "100"));
    assert_int_equal(gce_fetch_step(&f, &req, &meta, 0, &err), HTTP_SEND);
    assert_string_equal(req.url, "http://source/token");
    assert_string_equal(req.body, "body");
    assert_string_equal(req.bearer, "m");
    struct http_response ok =
        answer(200, "{\"accessToken\":\"alt\",\"expireTime\":\"2023-11-14T23:00:00Z\"}");
    assert_int_equal(gce_fetch_step(&f, &req, &ok, 0, &err), HTTP_DONE);
    same_text("alt", gce_auth_token(k->auth, k->a), "alt");
    assert_int_equal(k->counted, 1);
    assert_int_equal(k->failed, 0);
    gce_auth_drop(k->auth, "another");
    same_text("not dropped", gce_auth_token(k->auth, k->a), "alt");
    gce_auth_drop(k->auth, "alt");
    same_text("dropped", gce_auth_token(k->auth, k->a), NULL);
}

/* When the alternate source may be asked for the next token, counted from now. */
static int64_t wait_of_next_fetch(struct kit *k)
{
    struct gce_fetch f;
    struct http_request req = {0};
    struct err err = ERR_INIT;
    struct http_response meta = answer(200, TOKEN("m", "100"));
    gce_fetch_begin(&f, k->auth, k->a);
    assert_int_equal(gce_fetch_step(&f, &req, NULL, 0, &err), HTTP_SEND);
    assert_int_equal(gce_fetch_step(&f, &req, &meta, 0, &err), HTTP_SEND);
    return req.not_before_ms - clock_now_ms(k->clock);
}

static void token_url__three_quick_tries__then_one_every_20_s(void **state)
{
    static const struct {
        int64_t later_ms, wait_ms;
    } rows[] = {{0, 0}, {0, 0}, {0, 0}, {0, 20000}, {0, 40000}, {40000, 20000}, {80000, 0}};
    struct kit *k = *state;
    struct err err = ERR_INIT;
    assert_int_equal(open_auth(k, "http://source/token", &err), ERR_OK);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        clock_fake_advance(k->clock, rows[i].later_ms);
        assert_int_equal(wait_of_next_fetch(k), rows[i].wait_ms);
    }
}

/* A token that fits no header, or that has expired, must not be stored: every call would fail until
 * it expires. */
static void token__that_is_none__auth(void **state)
{
    static const char *const bodies[] = {
        TOKEN("a\\r\\nX: y", "3600"),
        TOKEN("a b", "3600"),
        TOKEN("\\u00e4", "3600"),
        TOKEN("", "3600"),
        TOKEN("t", "0"),
        TOKEN("t", "-5"),
        TOKEN("t", "-9223372036854775808"),
        TOKEN("t", "-9223372036854775000"),
    };
    struct kit *k = *state;
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct gce_fetch f;
        struct http_request req = {0};
        struct err err = ERR_INIT;
        assert_int_equal(open_auth(k, "", &err), ERR_OK);
        gce_fetch_begin(&f, k->auth, k->a);
        assert_int_equal(gce_fetch_step(&f, &req, NULL, 0, &err), HTTP_SEND);
        assert_true(req.direct); /* the metadata server is asked through no proxy */
        struct http_response resp = answer(200, bodies[i]);
        assert_int_equal(gce_fetch_step(&f, &req, &resp, 0, &err), HTTP_DONE);
        assert_int_equal(err.code, ERR_AUTH);
        same_text(bodies[i], gce_auth_token(k->auth, k->a), NULL);
    }
}

static void write_credentials(struct kit *k, const char *json)
{
    char path[] = "/tmp/trimtab-adc-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, json, strlen(json)), (ssize_t)strlen(json));
    close(fd);
    credentials_file = arena_strdup(k->a, path);
}

static void adc__authorized_user__form_and_rotation(void **state)
{
    struct kit *k = *state;
    struct gce_fetch f;
    struct http_request req = {0};
    struct err err = ERR_INIT;
    write_credentials(k, "{\"type\":\"authorized_user\",\"client_id\":\"id\",\"client_secret\":"
                         "\"s&s\",\"refresh_token\":\"r1\",\"quota_project_id\":\"q\","
                         "\"token_uri\":\"http://oauth/token\"}");
    assert_int_equal(open_auth(k, "nil", &err), ERR_OK);
    unlink(credentials_file);
    same_text("quota", gce_auth_credentials(k->auth)->quota_project, "q");
    gce_fetch_begin(&f, k->auth, k->a);
    assert_int_equal(gce_fetch_step(&f, &req, NULL, 0, &err), HTTP_SEND);
    assert_string_equal(req.url, "http://oauth/token");
    same_text("form", req.body,
              "client_id=id&client_secret=s%26s&grant_type=refresh_token&refresh_token=r1");
    struct http_response ok = answer(200, "{\"access_token\":\"u\",\"expires_in\":10,"
                                          "\"refresh_token\":\"r2\"}");
    assert_int_equal(gce_fetch_step(&f, &req, &ok, 0, &err), HTTP_DONE);
    same_text("rotated", gce_auth_refresh_token(k->auth, k->a), "r2");
}

static void adc__what_is_refused__by_name_and_without_secrets(void **state)
{
    struct kit *k = *state;
    static const char *const rows[][2] = {
        {"{\"type\":\"external_account\"}", "external_account"},
        {"{}", "has no member \"type\""},
        {"nonsense", "no JSON"},
        {"{\"type\":\"service_account\",\"client_email\":\"e\",\"private_key\":\"SECRET\"}",
         "private_key"},
        {"{\"type\":\"service_account\"}", "client_email"},
        {"{\"type\":\"authorized_user\"}", "client_id"},
        {"{\"type\":\"service_account\",\"universe_domain\":\"example.com\"}", "universe"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        write_credentials(k, rows[i][0]);
        assert_int_equal(open_auth(k, "nil", &err), ERR_AUTH);
        unlink(credentials_file);
        if (strstr(err.message, rows[i][1]) == NULL || strstr(err.message, "SECRET") != NULL) {
            fail_msg("%s: %s", rows[i][0], err.message);
        }
    }
    credentials_file = "/nonexistent/credentials.json";
    struct err err = ERR_INIT;
    assert_int_equal(open_auth(k, "nil", &err), ERR_AUTH);
}

/* ---- calls ----------------------------------------------------------------------------------- */

struct call_kit {
    struct gce_api api;
    struct gce_call call;
    struct http_request req;
    struct err err;
};

static void begin(struct kit *k, struct call_kit *c, enum gce_verb verb)
{
    struct gce_call_spec spec = {
        .collection = GCE_POOLS, .verb = verb, .name = verb == GCE_INSERT ? NULL : "n"};
    if (k->auth == NULL) {
        assert_int_equal(open_auth(k, "", NULL), ERR_OK);
        gce_auth_store(k->auth, "tok", 3600000, NULL);
    }
    c->api = (struct gce_api){
        .base = "https://x/compute/v1/",
        .project = "p",
        .network_project = "p",
        .region = "r",
        .auth = k->auth,
        .clock = k->clock,
        .rng = rng_real(),
    };
    c->err = ERR_INIT;
    gce_call_begin(&c->call, &c->api, NULL, k->a, &spec);
    assert_int_equal(gce_call_step(&c->call, &c->req, NULL, &c->err), HTTP_SEND);
}

static enum http_next give(struct call_kit *c, int status, const char *body)
{
    struct http_response resp = answer(status, body);
    if (status == 0) {
        (void)err_set(&c->err, ERR_TRANSIENT, "connection reset");
    }
    return gce_call_step(&c->call, &c->req, &resp, &c->err);
}

static void call__get__url_token_answer(void **state)
{
    struct kit *k = *state;
    struct call_kit c;
    begin(k, &c, GCE_GET);
    same_text("url", c.req.url,
              "https://x/compute/v1/projects/p/regions/r/targetPools/n?alt=json&prettyPrint=false");
    same_text("bearer", c.req.bearer, "tok");
    assert_false(c.req.mutates);
    assert_int_equal(give(&c, 200, "{\"name\":\"n\"}"), HTTP_DONE);
    same_text("answer", c.call.answer, "{\"name\":\"n\"}");
}

static void note_budget(void *arg, enum budget_event event, const struct budget_view *now)
{
    struct budget_view *told = arg;
    (void)event;
    *told = *now;
}

/* A group is used up: what a user waits for is sent later, a look without a
 * waiting user asks again. */
static void call__its_group_is_used_up__waits_for_its_turn(void **state)
{
    struct kit *k = *state;
    struct call_kit c;
    struct budget_view told = {0};
    const struct tt_call background = {.size = sizeof(background), .background = 1};
    const struct gce_call_spec get = {.collection = GCE_POOLS, .verb = GCE_GET, .name = "n"};
    begin(k, &c, GCE_GET);
    c.api.budgets = budgets_new(gce_budget_limits, GCE_BUDGETS, k->clock, note_budget, &told);
    for (int i = 0; i < 300; i++) {
        gce_call_begin(&c.call, &c.api, NULL, k->a, &get);
        assert_int_equal(gce_call_step(&c.call, &c.req, NULL, &c.err), HTTP_SEND);
        assert_int_equal(c.req.not_before_ms, 0);
    }
    int64_t now = clock_now_ms(k->clock);
    gce_call_begin(&c.call, &c.api, NULL, k->a, &get);
    assert_int_equal(gce_call_step(&c.call, &c.req, NULL, &c.err), HTTP_SEND);
    assert_int_equal(c.req.not_before_ms, now + 50);

    gce_call_begin(&c.call, &c.api, &background, k->a, &get);
    assert_int_equal(gce_call_step(&c.call, &c.req, NULL, &c.err), HTTP_WAIT);
    int64_t at = c.req.not_before_ms;
    assert_true(at > now + 1000);
    assert_int_equal(gce_call_step(&c.call, &c.req, NULL, &c.err), HTTP_WAIT); /* woken early */
    assert_int_equal(c.req.not_before_ms, at);
    clock_fake_advance(k->clock, at - now);
    assert_int_equal(gce_call_step(&c.call, &c.req, NULL, &c.err), HTTP_SEND);

    assert_int_equal(give(&c, 403,
                          "{\"error\":{\"code\":403,\"message\":\"m\",\"errors\":[{\"reason\":"
                          "\"rateLimitExceeded\"}]}}"),
                     HTTP_WAIT);
    assert_string_equal(told.kind, "regional reads");
    assert_int_equal(told.refused, 1);
    budgets_free(c.api.budgets);
}

static void call__E7__operation_done_at_once__no_wait(void **state)
{
    struct kit *k = *state;
    struct call_kit c;
    begin(k, &c, GCE_DELETE);
    assert_true(c.req.mutates);
    assert_non_null(strstr(c.req.url, "&requestId="));
    assert_int_equal(give(&c, 200, "{\"name\":\"op\",\"status\":\"DONE\"}"), HTTP_DONE);
    assert_int_equal(c.err.code, ERR_OK);
    assert_int_equal(c.call.requests, 1);
}

static void call__operation_runs__waited_for_at_once_and_polls_are_repeated(void **state)
{
    struct kit *k = *state;
    struct call_kit c;
    begin(k, &c, GCE_INSERT);
    assert_int_equal(give(&c, 200, "{\"name\":\"op\",\"status\":\"PENDING\"}"), HTTP_SEND);
    same_text("wait", c.req.url,
              "https://x/compute/v1/projects/p/regions/r/operations/op/wait?alt=json&"
              "prettyPrint=false");
    assert_int_equal(c.req.not_before_ms, 0);
    assert_false(c.req.mutates);
    assert_int_equal(give(&c, 502, "<html>"), HTTP_SEND);
    assert_non_null(strstr(c.req.url, "/operations/op/wait"));
    assert_int_equal(give(&c, 200, "{\"name\":\"op\",\"status\":\"RUNNING\"}"), HTTP_SEND);
    assert_true(c.req.not_before_ms > 1000); /* came back early: not at once again */
    assert_int_equal(give(&c, 200,
                          "{\"name\":\"op\",\"status\":\"DONE\",\"error\":{\"errors\":[{\"code\":"
                          "\"QUOTA_EXCEEDED\",\"message\":\"m\"}]}}"),
                     HTTP_DONE);
    assert_int_equal(c.err.code, ERR_QUOTA);
}

static void call__answer_lost__same_request_again(void **state)
{
    struct kit *k = *state;
    struct call_kit c;
    begin(k, &c, GCE_INSERT);
    const char *first = c.req.url;
    assert_int_equal(give(&c, 0, ""), HTTP_SEND);
    same_text("same id", c.req.url, first);
    assert_int_equal(c.err.code, ERR_OK);
    for (int i = 0; i < 10 && give(&c, 0, "") == HTTP_SEND; i++) {
        same_text("same id", c.req.url, first);
    }
    assert_int_equal(c.err.code, ERR_TRANSIENT);
    assert_int_equal(c.call.requests, 4);
}

static void call__unauthorised__token_anew_once(void **state)
{
    struct kit *k = *state;
    struct call_kit c;
    begin(k, &c, GCE_GET);
    assert_int_equal(give(&c, 401, "{}"), HTTP_SEND);
    assert_true(str_has_prefix(c.req.url, METADATA));
    assert_int_equal(give(&c, 200, TOKEN("new", "3600")), HTTP_SEND);
    same_text("bearer", c.req.bearer, "new");
    assert_int_equal(give(&c, 401, "{}"), HTTP_DONE);
    assert_int_equal(c.err.code, ERR_AUTH);
}

static void call__refused__not_tried_again(void **state)
{
    struct kit *k = *state;
    static const struct {
        int status, code;
    } rows[] = {{400, ERR_INVALID},
                {403, ERR_FORBIDDEN},
                {404, ERR_NOT_FOUND},
                {409, ERR_EXISTS},
                {412, ERR_CONFLICT}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct call_kit c;
        begin(k, &c, GCE_INSERT);
        assert_int_equal(give(&c, rows[i].status, "{\"error\":{\"message\":\"m\"}}"), HTTP_DONE);
        assert_int_equal(c.err.code, rows[i].code);
        assert_int_equal(c.call.requests, 1);
    }
}

#define KIT_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

UNIT_MAIN(auth)
{
    const struct CMUnitTest tests[] = {
        KIT_TEST(metadata__token_is_cached_until_it_expires),
        KIT_TEST(metadata__no_token__auth),
        KIT_TEST(token__that_is_none__auth),
        KIT_TEST(token_url__metadata_token_then_post__counted),
        KIT_TEST(token_url__three_quick_tries__then_one_every_20_s),
        KIT_TEST(adc__authorized_user__form_and_rotation),
        KIT_TEST(adc__what_is_refused__by_name_and_without_secrets),
        KIT_TEST(call__get__url_token_answer),
        KIT_TEST(call__its_group_is_used_up__waits_for_its_turn),
        KIT_TEST(call__E7__operation_done_at_once__no_wait),
        KIT_TEST(call__operation_runs__waited_for_at_once_and_polls_are_repeated),
        KIT_TEST(call__answer_lost__same_request_again),
        KIT_TEST(call__unauthorised__token_anew_once),
        KIT_TEST(call__refused__not_tried_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
