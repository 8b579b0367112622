/* SPDX-License-Identifier: Apache-2.0 */
/* test_client_issuer.c: requests whose credentials come from a plugin or a TokenRequest: 401s,
 * failures, secrets in answers; and the tokens of service accounts that
 * --use-service-account-credentials takes. */
#include "controller/kube/client/client.h"
#include "tests/unit/kube/kube_test.h"

#include <pthread.h>
#include <string.h>

#include "common/base/str.h"
#include "controller/kube/client/credentials.h"
#include "controller/kube/client/credentials_account.h"
#include "tests/support/clock_fake.h"
#include "tests/support/kube_ignore_sent.h"
#include "tests/support/unit.h"
#include "tests/unit/kube/fake_api.h"

struct world {
    struct arena *a;
    struct fake_api *api;
    struct kube_config *config;
    struct kube_client *client;
    int fetches;
    struct err err;
};

static int numbered_token(void *arg, struct arena *a, struct cancel *cancel, struct credential *ret,
                          struct err *err)
{
    struct world *w = arg;
    (void)cancel, (void)err;
    ret->token = arena_printf(a, "hunter2-token-%d", ++w->fetches);
    return ERR_OK;
}

static int no_token(void *arg, struct arena *a, struct cancel *cancel, struct credential *ret,
                    struct err *err)
{
    (void)arg, (void)a, (void)cancel, (void)ret;
    return err_set(err, ERR_AUTH, "getting credentials: no luck");
}

static struct kube_client *client_of(struct world *w, const struct kube_config *config)
{
    return kube_client_new(&(struct kube_client_args){.observe = kube_ignore_sent,
                                                      .config = config,
                                                      .user_agent = "x",
                                                      .qps = -1,
                                                      .clock = fake_api_clock(w->api)});
}

static void world_start(struct world *w, const struct api_step *steps, size_t n,
                        int (*fetch)(void *arg, struct arena *a, struct cancel *cancel,
                                     struct credential *ret, struct err *err))
{
    w->a = arena_new();
    w->api = fake_api_start(steps, n);
    w->config = fake_api_config(w->api);
    w->config->credentials_allowed = true; /* as if it were TLS */
    w->config->issuer =
        fetch == NULL
            ? NULL
            : credentials_source_new(&(struct credentials_source_args){
                  .fetch = fetch, .arg = w, .name = "test", .clock = fake_api_clock(w->api)});
    w->client = client_of(w, w->config);
}

static void world_stop(struct world *w)
{
    kube_client_free(w->client);
    credentials_source_free(w->config->issuer);
    fake_api_stop(w->api);
    arena_free(w->a);
}

static int get_by(struct world *w, struct kube_client *c)
{
    struct kube_response resp;
    err_clear(&w->err);
    return kube_client_do(c, w->a, &(struct kube_request){.method = "GET", .path = "/api/v1/x"},
                          NULL, &resp, &w->err);
}

static int get(struct world *w)
{
    return get_by(w, w->client);
}

/* One refresh, and the request once more; within 10 s no other. */
static void client__401__issuer_asked_again_once(void **state)
{
    static const struct api_step steps[] = {{.status = 401}, {.body = "{}"}, {.status = 401}};
    struct world w = {0};
    (void)state;
    world_start(&w, steps, ARRAY_LEN(steps), numbered_token);
    assert_int_equal(get(&w), ERR_OK);
    assert_string_equal(fake_api_authorization(w.api, 0), "Bearer hunter2-token-1");
    assert_string_equal(fake_api_authorization(w.api, 1), "Bearer hunter2-token-2");
    assert_int_equal(get(&w), ERR_AUTH);
    assert_int_equal(fake_api_count(w.api), 3);
    assert_int_equal(w.fetches, 2);
    world_stop(&w);
}

/* Nothing is sent without what is to be sent with it. */
static void client__issuer_fails__nothing_is_sent(void **state)
{
    static const struct api_step steps[] = {{.body = "{}"}};
    struct world w = {0};
    (void)state;
    world_start(&w, steps, ARRAY_LEN(steps), no_token);
    assert_int_equal(get(&w), ERR_AUTH);
    assert_string_equal(w.err.message, "getting credentials: no luck");
    assert_int_equal(fake_api_count(w.api), 0);
    world_stop(&w);
}

/* A server that echoes what it got. */
static void client__issued_token_in_an_answer__masked(void **state)
{
    static const struct api_step steps[] = {
        {.status = 500, .body = "who is hunter2-token-1 supposed to be?"}};
    struct world w = {0};
    (void)state;
    world_start(&w, steps, ARRAY_LEN(steps), numbered_token);
    assert_int_equal(get(&w), ERR_TRANSIENT);
    assert_non_null(strstr(w.err.message, "who is *** supposed"));
    world_stop(&w);
}

/* --- service accounts ------------------------------------------------------------------------- */

/* A call in a thread of its own, while the fake clock continues. */
struct call {
    struct world *w;
    struct kube_client *client;
    int rc;
    _Atomic bool done;
};

static void *call_main(void *arg)
{
    struct call *c = arg;
    c->rc = get_by(c->w, c->client);
    c->done = true;
    return NULL;
}

static bool is_done(void *arg)
{
    return ((struct call *)arg)->done;
}

static int get_in_time(struct world *w, struct kube_client *client)
{
    struct call c = {.w = w, .client = client};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, call_main, &c), 0);
    fake_api_until(w->api, is_done, &c);
    pthread_join(thread, NULL);
    return c.rc;
}

#define SA_PATH "/api/v1/namespaces/kube-system/serviceaccounts"
#define GIVEN(token)                                                                               \
    "{'kind':'TokenRequest','status':{'token':'" token                                             \
    "','expirationTimestamp':'2026-01-02T04:04:05Z'}}" /* in an hour */

static struct kube_config *account_of(struct world *w)
{
    return account_config_new(&(struct account_args){.main = w->config,
                                                     .client = w->client,
                                                     .ns = "kube-system",
                                                     .name = "service-controller",
                                                     .clock = fake_api_clock(w->api)});
}

/* Missing: it is made; another client may be quicker.  The main identity asks, the account acts. */
static void account__missing__made_and_spoken_for(void **state)
{
    static const struct api_step steps[] = {
        {.status = 404},
        {.status = 409, .body = "{'kind':'Status','reason':'AlreadyExists'}"},
        {.status = 201, .body = GIVEN("account-1")},
        {.body = "{}"},
        {.body = "{}"}};
    struct world w = {0};
    struct http_header boss = {"Impersonate-User", "boss"};
    (void)state;
    world_start(&w, steps, ARRAY_LEN(steps), NULL);
    w.config->token = "main-token";
    w.config->impersonate = &boss;
    w.config->n_impersonate = 1;
    struct kube_config *account = account_of(&w);
    assert_int_equal(account->n_impersonate, 0);
    assert_null(account->token);
    struct kube_client *client = client_of(&w, account);
    assert_int_equal(get_by(&w, client), ERR_OK);
    assert_int_equal(get_by(&w, client), ERR_OK);
    static const char *const want[][2] = {
        {"GET " SA_PATH "/service-controller", "Bearer main-token"},
        {"POST " SA_PATH, "Bearer main-token"},
        {"POST " SA_PATH "/service-controller/token", "Bearer main-token"},
        {"GET /api/v1/x", "Bearer account-1"},
        {"GET /api/v1/x", "Bearer account-1"},
    };
    for (int i = 0; i < (int)ARRAY_LEN(want); i++) {
        assert_string_equal(fake_api_target(w.api, i), want[i][0]);
        assert_string_equal(fake_api_authorization(w.api, i), want[i][1]);
    }
    assert_string_equal(fake_api_body(w.api, 1),
                        "{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{"
                        "\"name\":\"service-controller\",\"namespace\":\"kube-system\"}}");
    assert_non_null(strstr(fake_api_body(w.api, 2), "\"expirationSeconds\":3600"));
    kube_client_free(client);
    kube_config_free(account);
    world_stop(&w);
}

/* A new one at 80 % of an hour. */
static void account__token_ages__renewed_at_80_percent(void **state)
{
    static const struct api_step steps[] = {{.body = "{}"},
                                            {.body = GIVEN("account-1")},
                                            {.body = "{}"},
                                            {.body = "{}"},
                                            {.body = GIVEN("account-2")}};
    struct world w = {0};
    struct kube_credentials creds;
    (void)state;
    world_start(&w, steps, ARRAY_LEN(steps), NULL);
    struct kube_config *account = account_of(&w);
    struct kube_client *client = client_of(&w, account);
    assert_int_equal(get_by(&w, client), ERR_OK);
    clock_fake_advance(fake_api_clock(w.api), 2879999);
    assert_int_equal(fake_api_count(w.api), 3);
    clock_fake_advance(fake_api_clock(w.api), 1);
    do {
        assert_int_equal(kube_credentials_get(account, w.a, 0, &creds, NULL), ERR_OK);
    } while (!str_eq(creds.bearer, "account-2"));
    assert_int_equal(fake_api_count(w.api), 5);
    kube_client_free(client);
    kube_config_free(account);
    world_stop(&w);
}

static void account__refused__four_tries_then_told(void **state)
{
    struct api_step steps[4];
    struct world w = {0};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        steps[i] = (struct api_step){.status = 403};
    }
    world_start(&w, steps, ARRAY_LEN(steps), NULL);
    struct kube_config *account = account_of(&w);
    struct kube_client *client = client_of(&w, account);
    int64_t began_ms = clock_now_ms(fake_api_clock(w.api));
    assert_int_equal(get_in_time(&w, client), ERR_FORBIDDEN);
    assert_true(
        str_has_prefix(w.err.message, "failed to get token for kube-system/service-controller: "));
    assert_int_equal(fake_api_count(w.api), 4);
    assert_int_equal(clock_now_ms(fake_api_clock(w.api)) - began_ms, 3500);
    kube_client_free(client);
    kube_config_free(account);
    world_stop(&w);
}

UNIT_MAIN(client_issuer)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(client__401__issuer_asked_again_once),
        cmocka_unit_test(client__issuer_fails__nothing_is_sent),
        cmocka_unit_test(client__issued_token_in_an_answer__masked),
        cmocka_unit_test(account__missing__made_and_spoken_for),
        cmocka_unit_test(account__token_ages__renewed_at_80_percent),
        cmocka_unit_test(account__refused__four_tries_then_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
