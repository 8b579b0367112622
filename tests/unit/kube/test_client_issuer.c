/* SPDX-License-Identifier: Apache-2.0 */
/* test_client_issuer.c: requests whose credentials come from a plugin or a TokenRequest: 401s, failures, secrets in
 * answers; and the tokens of service accounts that --use-service-account-credentials takes. */
#include "controller/kube/client.h"
#include "tests/unit/kube/kube_test.h"

#include <string.h>

#include "common/base/str.h"
#include "controller/kube/credentials_source.h"
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
    return kube_client_new(&(struct kube_client_args){
        .config = config, .user_agent = "x", .qps = -1, .clock = fake_api_clock(w->api)});
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(client__401__issuer_asked_again_once),
        cmocka_unit_test(client__issuer_fails__nothing_is_sent),
        cmocka_unit_test(client__issued_token_in_an_answer__masked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
