/* SPDX-License-Identifier: Apache-2.0 */
/* test_auth_wave.c: one token request serves all calls that are refused at once, and its failure is
 * found out once.
 *
 * A server stands for Google and its metadata server; it counts who is asked. */
#include "tests/unit/gce/pure.h"

#include <stdio.h>
#include <string.h>

#include "common/base/lock.h"
#include "providers/gce/api/gce_api.h"
#include "tests/support/http_ignore_sent.h"
#include "tests/support/http_req.h"
#include "tests/support/test_server.h"
#include "tests/support/unit.h"

#define WAVE 12

struct cloud {
    struct mutex lock;
    int token_requests;
    int token_status;
    int refused;
    struct http_req *held[WAVE];
    int n_held;
};

/* Refusals come in one go, as they do when a token has expired under a wave. */
static void refuse_together(struct cloud *c, struct http_req *req)
{
    c->refused++;
    c->held[c->n_held++] = req;
    if (c->n_held == WAVE) {
        for (int i = 0; i < WAVE; i++) {
            http_req_answer(c->held[i], 401, "{}", 2);
        }
        c->n_held = 0;
    }
}

static void handle(void *arg, struct http_req *req)
{
    static const char token[] = "{\"access_token\":\"new-token\",\"expires_in\":3600}";
    struct cloud *c = arg;
    mutex_lock(&c->lock);
    if (strstr(http_req_path(req), "computeMetadata") != NULL) {
        c->token_requests++;
        http_req_answer(req, c->token_status, token, sizeof(token) - 1);
    } else if (!str_eq(http_req_header(req, "Authorization"), "Bearer new-token")) {
        refuse_together(c, req);
    } else {
        http_req_answer(req, 200, "{}", 2);
    }
    mutex_unlock(&c->lock);
}

struct world {
    struct arena *a;
    struct cloud cloud;
    struct test_server *server;
    struct http *http;
    struct gce_auth *auth;
    struct gce_api api;
    struct gce_read reads[WAVE];
    char host[64];
};

static struct world *current; /* env() has no argument */

static const char *env(const char *name)
{
    return str_eq(name, "GCE_METADATA_HOST") ? current->host : NULL;
}

static int setup(void **state)
{
    struct world *w = xcalloc(1, sizeof(*w));
    w->a = arena_new();
    w->cloud.token_status = 200;
    mutex_init(&w->cloud.lock);
    const struct test_server_config cfg = {.handle = handle, .arg = &w->cloud};
    w->server = test_server_start(&cfg);
    (void)snprintf(w->host, sizeof(w->host), "127.0.0.1:%u", test_server_port(w->server));
    current = w;
    const struct http_config http = {
        .observe = http_ignore_sent, .user_agent = "test", .proxy_url = ""};
    w->http = http_new(&http);
    const struct gce_auth_config auth = {
        .token_url = "", .token_body = "", .env = env, .clock = clock_real()};
    assert_int_equal(gce_auth_new(&auth, &w->auth, NULL), ERR_OK);
    w->api = (struct gce_api){
        .base = test_server_url(w->server, "/compute/v1/"),
        .project = "p",
        .network_project = "p",
        .region = "r",
        .auth = w->auth,
        .clock = clock_real(),
        .rng = rng_real(),
    };
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    gce_auth_free(w->auth);
    http_free(w->http);
    test_server_stop(w->server);
    mutex_done(&w->cloud.lock);
    arena_free(w->a);
    free(w);
    return 0;
}

static void run_wave(struct world *w)
{
    struct http_job *jobs[WAVE];
    const struct gce_call_spec spec = {.verb = GCE_GET, .collection = GCE_FIREWALLS, .name = "fw"};
    for (size_t i = 0; i < WAVE; i++) {
        gce_read_init(&w->reads[i], &w->api, NULL, w->a, &spec);
        jobs[i] = &w->reads[i].job;
    }
    http_run(w->http, jobs, WAVE);
}

static void wave__refused_at_once__one_token_is_had(void **state)
{
    struct world *w = *state;
    gce_auth_store(w->auth, "old-token", 3600000, NULL);
    run_wave(w);
    for (size_t i = 0; i < WAVE; i++) {
        same_text("outcome", w->reads[i].job.err.message, "");
    }
    assert_int_equal(w->cloud.refused, WAVE);
    assert_int_equal(w->cloud.token_requests, 1);
}

static void wave__no_token_to_be_had__is_found_out_once(void **state)
{
    struct world *w = *state;
    w->cloud.token_status = 403;
    run_wave(w);
    for (size_t i = 0; i < WAVE; i++) {
        assert_int_equal(w->reads[i].job.err.code, ERR_AUTH);
    }
    assert_int_equal(w->cloud.token_requests, 1);
    w->cloud.token_status = 200;
    run_wave(w);
    assert_int_equal(w->reads[0].job.err.code, ERR_OK);
    assert_int_equal(w->cloud.token_requests, 2);
}

static void refresh__server_is_busy__is_tried_once_and_the_old_token_serves(void **state)
{
    struct world *w = *state;
    struct err err = ERR_INIT;
    w->cloud.token_status = 503;
    gce_auth_store(w->auth, "old-token", 60000, NULL);
    assert_int_equal(gce_auth_ready(w->auth, w->http, NULL, &err), ERR_OK);
    assert_int_equal(w->cloud.token_requests, 1);
    assert_int_equal(gce_auth_ready(w->auth, w->http, NULL, &err),
                     ERR_OK); /* not before it expires */
    assert_int_equal(w->cloud.token_requests, 1);
}

static void turn__next_fetch_has_begun__waiter_still_gets_the_failure(void **state)
{
    struct world *w = *state;
    struct token_wait waits[3] = {{0}};
    struct err err = ERR_INIT;
    assert_int_equal(gce_auth_turn(w->auth, &waits[0], &err), TOKEN_TURN_MINE);
    assert_int_equal(gce_auth_turn(w->auth, &waits[1], &err), TOKEN_TURN_WAIT);
    (void)err_set(&err, ERR_AUTH, "refused");
    gce_auth_ended(w->auth, &err);
    assert_int_equal(gce_auth_turn(w->auth, &waits[2], &err), TOKEN_TURN_MINE);
    assert_int_equal(gce_auth_turn(w->auth, &waits[1], &err), TOKEN_TURN_FAILED);
}

UNIT_MAIN(auth_wave)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(wave__refused_at_once__one_token_is_had, setup, teardown),
        cmocka_unit_test_setup_teardown(wave__no_token_to_be_had__is_found_out_once, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            refresh__server_is_busy__is_tried_once_and_the_old_token_serves, setup, teardown),
        cmocka_unit_test_setup_teardown(turn__next_fetch_has_begun__waiter_still_gets_the_failure,
                                        setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
