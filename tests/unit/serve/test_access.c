/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of access as a whole: credentials in their order, verdicts, requests, memory, lies.
 * controller.md §3.6. */
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"
#include "tests/unit/serve/access_stand.h"

#include <string.h>

/* --- the order of credentials ----------------------------------------------------------------- */

struct order_row {
    const char *name;
    const char *path; /* NULL: /metrics */
    enum shown cert;
    const struct kit_header *headers;
    struct api_step steps[6];
    int requests;
    int status;
    const char *user;
    const char *last_body; /* a part of the last request's; NULL: not looked at */
};

static const struct kit_header from_proxy[] = {
    {"X-Remote-User", "carol"}, {"X-Remote-Group", "ops"}, {"X-Remote-Group", "x"}, {NULL, NULL}};
static const struct kit_header proxy_and_token[] = {
    {"X-Remote-User", "carol"}, {"Authorization", "Bearer " TOKEN}, {NULL, NULL}};
static const struct kit_header basic[] = {{"Authorization", "Basic Zm9v"}, {NULL, NULL}};

static const struct order_row order_rows[] = {
    {"nothing, an open path", .path = "/healthz", .user = "system:anonymous"},
    {"nothing", .steps = {SUBJECT_NO}, .requests = 1, .status = 403, .user = "system:anonymous",
     .last_body = "\"user\":\"system:anonymous\",\"groups\":[\"system:unauthenticated\"]}"},
    {"nothing, and anonymous may", .steps = {SUBJECT_YES}, .requests = 1,
     .user = "system:anonymous"},
    {"another scheme is nothing", .path = "/livez", .headers = basic, .user = "system:anonymous"},
    {"certificate", .cert = OURS, .steps = {SUBJECT_YES}, .requests = 1, .user = "alice",
     .last_body = "\"user\":\"alice\",\"groups\":[\"dev\",\"system:authenticated\"],\"extra\":{"
                  "\"authentication.kubernetes.io/credential-id\":[\"X509SHA256="},
    {"certificate of a master: nobody is asked", .cert = MASTER, .user = "root"},
    {"certificate and token: the certificate", .cert = OURS, .headers = bearer,
     .steps = {SUBJECT_YES}, .requests = 1, .user = "alice"},
    {"unknown certificate", .cert = FOREIGN, .status = 401, .user = ""},
    {"unknown certificate, an open path", .path = "/healthz", .cert = FOREIGN, .status = 401,
     .user = ""},
    {"unknown certificate, good token", .cert = FOREIGN, .headers = bearer,
     .steps = {TOKEN_OK, SUBJECT_YES}, .requests = 2, .user = "bob"},
    {"unknown certificate, bad token", .cert = FOREIGN, .headers = bearer, .steps = {TOKEN_BAD},
     .requests = 1, .status = 401, .user = ""},
    /* Upstream: the proxy's authenticator finds fault with a certificate that is
     * not the proxy's. */
    {"certificate without a name", .cert = NAMELESS, .status = 401, .user = ""},
    {"proxy", .cert = PROXY, .headers = from_proxy, .steps = {SUBJECT_YES}, .requests = 1,
     .user = "carol",
     .last_body = "\"user\":\"carol\",\"groups\":[\"ops\",\"x\",\"system:authenticated\"]}"},
    {"proxy and token: the proxy", .cert = PROXY, .headers = proxy_and_token,
     .steps = {SUBJECT_YES}, .requests = 1, .user = "carol"},
    {"proxy that names nobody", .cert = PROXY, .status = 401, .user = ""},
    {"not one of the proxy's names", .cert = NO_PROXY, .headers = from_proxy, .status = 401,
     .user = ""},
    {"a client's certificate may not speak for others", .cert = OURS, .headers = from_proxy,
     .steps = {SUBJECT_NO}, .requests = 1, .status = 403, .user = "alice"},
    {"headers alone are nothing", .headers = from_proxy, .steps = {SUBJECT_NO}, .requests = 1,
     .status = 403, .user = "system:anonymous"},
    {"token", .headers = bearer, .steps = {TOKEN_OK, SUBJECT_YES}, .requests = 2, .user = "bob",
     .last_body = "\"user\":\"bob\",\"groups\":[\"dev\",\"system:authenticated\"]}"},
    {"bad token", .headers = bearer, .steps = {TOKEN_BAD}, .requests = 1, .status = 401,
     .user = ""},
    {"bad token, an open path", .path = "/healthz", .headers = bearer, .steps = {TOKEN_BAD},
     .requests = 1, .status = 401, .user = ""},
    {"token, nobody knows", .headers = bearer, .steps = {TROUBLE_5}, .requests = 5, .status = 401,
     .user = ""},
    {"nobody knows whether anonymous may", .steps = {TROUBLE_5}, .requests = 5, .status = 500,
     .user = "system:anonymous"},
    {"our own account is not known", .steps = {{.status = 401}, {.status = 401}}, .requests = 2,
     .status = 500, .user = "system:anonymous"},
    {"we may not ask", .steps = {{.status = 403}}, .requests = 1, .status = 500,
     .user = "system:anonymous"},
    {"trouble that ends", .headers = bearer,
     .steps =
         {{.status = 429, .header = "Retry-After: 2"}, TOKEN_OK, {.way = API_DROP}, SUBJECT_YES},
     .requests = 4, .user = "bob"},
};

static void access__credentials__are_looked_at_in_upstreams_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(order_rows); i++) {
        const struct order_row *row = &order_rows[i];
        struct stand s;
        bool asked;
        stand_up(&s, row->steps, ARRAY_LEN(row->steps), true, NULL);
        X509 *cert = certificate(&s, row->cert);
        struct access_verdict v = ask(&s, row->path == NULL ? "/metrics" : row->path, cert,
                                      row->headers == NULL ? no_headers : row->headers, &asked);
        int n = fake_api_count(s.api);
        if (v.status != row->status || n != row->requests || asked != (row->requests > 0) ||
            strcmp(v.user, row->user) != 0) {
            fail_msg("%s: want %d, %d requests, user \"%s\"; got %d, %d, \"%s\" (%s)", row->name,
                     row->status, row->requests, row->user, v.status, n, v.user, v.message);
        }
        if (row->last_body != NULL && strstr(fake_api_body(s.api, n - 1), row->last_body) == NULL) {
            fail_msg("%s: body %s", row->name, fake_api_body(s.api, n - 1));
        }
        X509_free(cert);
        stand_done(&s);
    }
}

static void access__verdicts__have_upstreams_words(void **state)
{
    (void)state;
    static const struct api_step steps[] = {
        SUBJECT("{'allowed':false,'denied':true,'reason':'no role'}"), TOKEN_BAD, TROUBLE_5};
    struct stand s;
    bool asked;
    stand_up(&s, steps, ARRAY_LEN(steps), true, NULL);
    struct access_verdict v = ask(&s, "/metrics", NULL, no_headers, &asked);
    assert_string_equal(v.reason, "Forbidden");
    assert_string_equal(
        v.message, "forbidden: User \"system:anonymous\" cannot get path \"/metrics\": no role");
    v = ask(&s, "/metrics", NULL, bearer, &asked);
    assert_string_equal(v.reason, "Unauthorized");
    assert_string_equal(v.message, "Unauthorized");
    v = ask(&s, "/configz", NULL, no_headers, &asked);
    assert_string_equal(v.reason, "InternalError");
    stand_done(&s);
}

static void access__requests__have_upstreams_form(void **state)
{
    (void)state;
    static const struct api_step steps[] = {TOKEN_OK, SUBJECT_YES};
    struct stand s;
    stand_up(&s, steps, ARRAY_LEN(steps), true, NULL);
    assert_int_equal(status_of(&s, "/metrics", NULL, bearer), 0);
    assert_string_equal(fake_api_target(s.api, 0), TOKEN_TARGET);
    assert_string_equal(fake_api_body(s.api, 0),
                        "{\"kind\":\"TokenReview\",\"apiVersion\":\"authentication.k8s.io/v1\","
                        "\"metadata\":{},\"spec\":{\"token\":\"" TOKEN
                        "\"},\"status\":{\"user\":{}}}");
    assert_string_equal(fake_api_target(s.api, 1), SUBJECT_TARGET);
    assert_string_equal(fake_api_content_type(s.api, 1), "application/json");
    assert_string_equal(fake_api_user_agent(s.api, 1), "trimtab/test");
    stand_done(&s);
}

/* --- memory ----------------------------------------------------------------------------------- */

static void access__answers__are_used_for_ten_seconds(void **state)
{
    (void)state;
    static const struct api_step steps[] = {TOKEN_OK, SUBJECT_YES, SUBJECT_NO,
                                            TOKEN_OK, SUBJECT_NO,  SUBJECT_YES};
    struct stand s;
    bool asked;
    stand_up(&s, steps, ARRAY_LEN(steps), true, NULL);
    assert_int_equal(status_of(&s, "/metrics", NULL, bearer), 0);
    assert_int_equal(status_of(&s, "/metrics", NULL, no_headers), 403);
    assert_int_equal(fake_api_count(s.api), 3);
    clock_fake_advance(fake_api_clock(s.api), 9999);
    assert_int_equal(ask(&s, "/metrics", NULL, bearer, &asked).status, 0);
    assert_false(asked);
    assert_int_equal(ask(&s, "/metrics", NULL, no_headers, &asked).status, 403);
    assert_false(asked);
    clock_fake_advance(fake_api_clock(s.api), 1);
    assert_int_equal(ask(&s, "/metrics", NULL, bearer, &asked).status, 403);
    assert_true(asked);
    assert_int_equal(ask(&s, "/metrics", NULL, no_headers, &asked).status, 0);
    assert_int_equal(fake_api_count(s.api), 6);
    assert_int_equal(counted(&s, "authentication_token_cache_request_total", "status", "hit"), 1);
    assert_int_equal(counted(&s, "authentication_token_cache_request_total", "status", "miss"), 2);
    assert_int_equal(counted(&s, "authentication_token_cache_fetch_total", "status", "ok"), 2);
    stand_done(&s);
}

static void access__bad_token__is_remembered_trouble_is_not(void **state)
{
    (void)state;
    static const struct api_step steps[] = {TOKEN_BAD, SUBJECT("{'allowed':'yes'}"), SUBJECT_YES};
    struct stand s;
    bool asked;
    stand_up(&s, steps, ARRAY_LEN(steps), true, NULL);
    assert_int_equal(status_of(&s, "/metrics", NULL, bearer), 401);
    assert_int_equal(ask(&s, "/metrics", NULL, bearer, &asked).status, 401);
    assert_false(asked);
    assert_int_equal(status_of(&s, "/metrics", NULL, no_headers), 500);
    assert_int_equal(status_of(&s, "/metrics", NULL, no_headers), 0);
    assert_int_equal(fake_api_count(s.api), 3);
    stand_done(&s);
}

static void access__ttls__are_the_flags(void **state)
{
    (void)state;
    static const struct api_step steps[] = {SUBJECT_NO, SUBJECT_NO};
    struct stand s;
    bool asked;
    stand_up(&s, steps, ARRAY_LEN(steps), true,
             "--authorization-webhook-cache-unauthorized-ttl=0s");
    (void)ask(&s, "/metrics", NULL, no_headers, &asked);
    (void)ask(&s, "/metrics", NULL, no_headers, &asked);
    assert_true(asked);
    assert_int_equal(fake_api_count(s.api), 2);
    stand_done(&s);
}

static void access__metrics__are_upstreams(void **state)
{
    (void)state;
    static const struct api_step steps[] = {
        TOKEN_OK,
        SUBJECT_YES,
        SUBJECT_NO,
        {.status = 201, .body = "{'kind':'TokenReview','status':{}}"}};
    struct stand s;
    stand_up(&s, steps, 4, true, NULL);
    X509 *cert = certificate(&s, MASTER);
    (void)status_of(&s, "/metrics", NULL, bearer);
    (void)status_of(&s, "/metrics", NULL, no_headers);
    static const struct kit_header other[] = {{"Authorization", "Bearer another-token"},
                                              {NULL, NULL}};
    (void)status_of(&s, "/metrics", NULL, other);
    (void)status_of(&s, "/metrics", cert, no_headers);
    assert_int_equal(counted(&s, "authentication_attempts", "result", "success"), 3);
    assert_int_equal(counted(&s, "authentication_attempts", "result", "error"), 1);
    assert_int_equal(counted(&s, "authenticated_user_requests", "username", "other"), 3);
    assert_int_equal(counted(&s, "authentication_duration_seconds", "result", "success"), 3);
    assert_int_equal(counted(&s, "authorization_attempts_total", "result", "allowed"), 2);
    assert_int_equal(counted(&s, "authorization_attempts_total", "result", "no-opinion"), 1);
    assert_int_equal(counted(&s, "apiserver_delegated_authn_request_total", "code", "201"), 2);
    assert_int_equal(counted(&s, "apiserver_delegated_authz_request_total", "code", "201"), 2);
    assert_int_equal(
        metrics_value(s.metrics, "apiserver_client_certificate_expiration_seconds", NULL, 0), 1);
    X509_free(cert);
    stand_done(&s);
}

/* --- lies ------------------------------------------------------------------------------------- */

static char *huge(struct arena *a)
{
    char *text = ARENA_ARRAY(a, char, (300 << 10) + 1);
    memset(text, ' ', 300 << 10);
    return text;
}

static void access__lies__are_401_or_500(void **state)
{
    const struct {
        const char *body;
        int status;
    } rows[] = {
        {"<html>please log in</html>", 200},
        {"{'kind':'TokenReview','status':{'authenticated':'true','user':{'username':'x'}}}", 201},
        {"{'kind':'TokenReview','status':{'authenticated':true,'user':{'username':7}}}", 201},
        {"{'kind':'Status','status':'Success'}", 200},
        {"", 204},
        {huge(*state), 201},
        {"{'kind':'Status','reason':'BadRequest','code':400}", 400},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct api_step step = {.status = rows[i].status, .body = rows[i].body};
        const struct api_step steps[] = {step, step};
        struct stand s;
        stand_up(&s, steps, ARRAY_LEN(steps), true, NULL);
        int token = status_of(&s, "/metrics", NULL, bearer);
        int subject = status_of(&s, "/metrics", NULL, no_headers);
        if (token != 401 || subject != 500) {
            fail_msg("row %zu: got %d and %d", i, token, subject);
        }
        stand_done(&s);
    }
}

static void access__token_echoed_in_a_refusal__is_in_no_log(void **state)
{
    (void)state;
    static const struct api_step steps[] = {
        {.status = 400,
         .header = "Warning: 299 - \"bad token " TOKEN "\"",
         .body = "{'kind':'Status','message':'no such token: " TOKEN "','code':400}"}};
    struct stand s;
    stand_up(&s, steps, ARRAY_LEN(steps), true, NULL);
    assert_int_equal(status_of(&s, "/metrics", NULL, bearer), 401);
    assert_non_null(strstr(stand_log(&s), "no such token: ***"));
    stand_done(&s); /* which looks for the token */
}

static void access__stopped_while_the_server_is_silent__ends(void **state)
{
    (void)state;
    static const struct api_step steps[] = {{.way = API_HANG}, {.way = API_HANG}};
    struct stand s;
    stand_up(&s, steps, ARRAY_LEN(steps), true, NULL);
    struct question q = {.s = &s, .req = kit_request(s.a, "GET", "/metrics", no_headers)};
    q.cancel = cancel_new(NULL);
    assert_int_equal(pthread_create(&q.thread, NULL, question_thread, &q), 0);
    fake_api_wait(s.api, 1);
    cancel_fire(q.cancel);
    pthread_join(q.thread, NULL);
    assert_int_equal(q.verdict.status, 500);
    cancel_free(q.cancel);

    struct question r = {.s = &s, .req = kit_request(s.a, "GET", "/metrics", no_headers)};
    assert_int_equal(pthread_create(&r.thread, NULL, question_thread, &r), 0);
    fake_api_wait(s.api, 2);
    access_free(s.access); /* waits for who is inside */
    s.access = NULL;
    pthread_join(r.thread, NULL);
    assert_int_equal(r.verdict.status, 500);
    stand_done(&s);
}

UNIT_MAIN(access)
{
    const struct CMUnitTest tests[] = {
        KIT_TEST(access__credentials__are_looked_at_in_upstreams_order),
        KIT_TEST(access__verdicts__have_upstreams_words),
        KIT_TEST(access__requests__have_upstreams_form),
        KIT_TEST(access__answers__are_used_for_ten_seconds),
        KIT_TEST(access__bad_token__is_remembered_trouble_is_not),
        KIT_TEST(access__ttls__are_the_flags),
        KIT_TEST(access__metrics__are_upstreams),
        KIT_TEST(access__lies__are_401_or_500),
        KIT_TEST(access__token_echoed_in_a_refusal__is_in_no_log),
        KIT_TEST(access__stopped_while_the_server_is_silent__ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
