/* SPDX-License-Identifier: Apache-2.0 */
/* test_client_ready.c: how long and how often the client asks whether the API server is ready. */
#include "controller/kube/client/client.h"
#include "tests/unit/kube/kube_test.h"

#include <pthread.h>

#include "common/base/file.h"
#include "tests/support/kube_ignore_sent.h"
#include "tests/support/unit.h"
#include "tests/unit/kube/fake_api.h"

struct ready {
    struct fake_api *api;
    struct kube_client *client;
    struct clock *clock;
    int64_t timeout_ms;
    struct err err;
    int rc;
    int told;
    int64_t took_ms;
    _Atomic bool done;
};

static void ready_begin(struct ready *r, const struct api_step *steps, size_t n)
{
    r->api = fake_api_start(steps, n);
    r->clock = fake_api_clock(r->api);
    r->client = kube_client_new(&(struct kube_client_args){
        .observe = kube_ignore_sent,
        .config = fake_api_config(r->api),
        .user_agent = "x",
        .qps = 1,
        .burst = 8,
        .clock = r->clock,
    });
}

static void ready_end(struct ready *r)
{
    kube_client_free(r->client);
    fake_api_stop(r->api);
}

static void on_progress(void *arg, const struct err *last)
{
    struct ready *r = arg;
    assert_true(last->message[0] != '\0');
    r->told++;
}

static void *ready_main(void *arg)
{
    struct ready *r = arg;
    r->rc = kube_client_wait_ready(r->client, r->timeout_ms, on_progress, r, &r->err);
    r->done = true;
    return NULL;
}

static bool ready_done(void *arg)
{
    return ((struct ready *)arg)->done;
}

static void wait_ready(struct ready *r)
{
    int64_t began_ms = clock_now_ms(r->clock);
    pthread_t thread;
    r->done = false;
    r->told = 0;
    assert_int_equal(pthread_create(&thread, NULL, ready_main, r), 0);
    fake_api_until(r->api, ready_done, r);
    pthread_join(thread, NULL);
    r->took_ms = clock_now_ms(r->clock) - began_ms;
}

static void kube_client_wait_ready__healthy_at_last__asked_every_second(void **state)
{
    const struct api_step steps[] = {
        {.status = 500, .body = "not yet"}, {.status = 503}, {.body = "ok"}};
    struct ready r = {.timeout_ms = 10000};
    ready_begin(&r, steps, ARRAY_LEN(steps));
    wait_ready(&r);
    assert_int_equal(r.rc, ERR_OK);
    assert_int_equal(r.told, 2);
    assert_int_equal(r.took_ms, 2000);
    assert_string_equal(fake_api_target(r.api, 2), "GET /healthz");
    assert_string_equal(r.err.message, "");
    ready_end(&r);
    (void)state;
}

static void kube_client_wait_ready__never__last_error(void **state)
{
    struct api_step steps[4];
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        steps[i] = (struct api_step){.status = 503};
    }
    struct ready r = {.timeout_ms = 3000};
    ready_begin(&r, steps, ARRAY_LEN(steps));
    wait_ready(&r);
    assert_int_equal(r.rc, ERR_TRANSIENT);
    assert_int_equal(fake_api_count(r.api), 3);
    assert_string_equal(r.err.message,
                        "timed out waiting for the condition: the server is currently "
                        "unable to handle the request");
    ready_end(&r);
    (void)state;
}

/* A try that cannot be sent takes as long as one that is, and takes no turn of the client's rate:
 * 40 of them leave all eight that the rate allows at once. */
static void kube_client_wait_ready__no_credentials__tried_every_second(void **state)
{
    const struct api_step steps[] = {{.body = "ok"}};
    struct ready r = {.timeout_ms = 40000};
    ready_begin(&r, steps, ARRAY_LEN(steps));
    struct kube_config *config = fake_api_config(r.api);
    config->credentials_allowed = true; /* as if it were TLS */
    config->token_file = file_watch_new("/nowhere/token", 4096, 50000, r.clock);
    wait_ready(&r);
    assert_int_equal(r.rc, ERR_AUTH);
    assert_int_equal(r.told, 40);
    assert_int_equal(r.took_ms, 40000);
    assert_int_equal(fake_api_count(r.api), 0);
    file_watch_free(config->token_file);
    config->token_file = NULL;
    wait_ready(&r);
    assert_int_equal(r.rc, ERR_OK);
    assert_int_equal(r.took_ms, 0);
    ready_end(&r);
    (void)state;
}

UNIT_MAIN(client_ready)
{
    const struct CMUnitTest tests[] = {
        KUBE_TEST(kube_client_wait_ready__healthy_at_last__asked_every_second),
        KUBE_TEST(kube_client_wait_ready__never__last_error),
        KUBE_TEST(kube_client_wait_ready__no_credentials__tried_every_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
