/* SPDX-License-Identifier: Apache-2.0 */
/* test_auth_wave.c: tokens under many calls at once, and from servers that lie (docs/spec/azure.md
 * 2.2, 2.3, 2.7).
 *
 * A server stands for Azure and its identity authority; it counts who is asked. */
#include "tests/unit/azure/auth_kit.h"

#include "providers/azure/arm/azure_arm.h"
#include "providers/azure/arm/azure_auth_internal.h"
#include "tests/support/http_ignore_sent.h"
#include "tests/support/http_req.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LBS  "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/loadBalancers"
#define WAVE 12
#define CONFIG                                                                                     \
    "subscriptionId: s\nresourceGroup: rg\ntenantId: t\naadClientId: c\naadClientSecret: "         \
    "hunter2-do-not-print\n"

struct cloud {
    struct mutex lock;
    int token_requests;
    int refused;      /* calls that were answered 401 */
    int waves_of_401; /* so many of them are held until all have come */
    int token_status;
    const char *good; /* the token that counts */
    struct http_req *held[WAVE];
    int n_held;
};

static void refuse(struct http_req *req)
{
    http_req_answer(req, 401, "{\"error\":{\"code\":\"ExpiredAuthenticationToken\"}}", 48);
}

/* Refusals come in one go, as they do when a token has expired under a wave. */
static void hold(struct cloud *c, struct http_req *req)
{
    c->refused++;
    if (c->waves_of_401 == 0) {
        refuse(req);
        return;
    }
    c->held[c->n_held++] = req;
    if (c->n_held == c->waves_of_401) {
        for (int i = 0; i < c->n_held; i++) {
            refuse(c->held[i]);
        }
        c->n_held = 0;
    }
}

static void handle(void *arg, struct http_req *req)
{
    struct cloud *c = arg;
    static const char list[] = "{\"value\":[]}";
    char token[100];
    char bearer[110];
    const char *sent = http_req_header(req, "Authorization");
    mutex_lock(&c->lock);
    int n =
        snprintf(token, sizeof(token), "{\"access_token\":\"%s\",\"expires_in\":3600}", c->good);
    (void)snprintf(bearer, sizeof(bearer), "Bearer %s", c->good);
    if (str_has_prefix(http_req_path(req), "/t")) {
        c->token_requests++;
        http_req_answer(req, c->token_status, token, (size_t)n);
    } else if (!str_eq(sent, bearer)) {
        hold(c, req);
    } else {
        http_req_answer(req, 200, list, sizeof(list) - 1);
    }
    mutex_unlock(&c->lock);
}

struct world {
    struct cloud cloud;
    struct test_server *server;
    struct http *http;
    struct azure_arm arm;
    struct azure_read reads[WAVE];
};

static struct world *open_world(struct kit *k, const char *config)
{
    struct world *w = xcalloc(1, sizeof(*w));
    w->cloud = (struct cloud){.good = "new-token", .token_status = 200};
    mutex_init(&w->cloud.lock);
    const struct test_server_config cfg = {.handle = handle, .arg = &w->cloud};
    w->server = test_server_start(&cfg);
    const struct http_config http = {
        .observe = http_ignore_sent, .user_agent = "test", .proxy_url = ""};
    w->http = http_new(&http);
    kit_open(k, config, NULL);
    k->cloud.authority = test_server_url(w->server, "/");
    w->arm = (struct azure_arm){
        .base = test_server_url(w->server, ""),
        .config = &k->config,
        .auth = k->auth,
        .clock = clock_real(),
        .rng = rng_real(),
    };
    azure_arm_init(&w->arm);
    return w;
}

static void close_world(struct world *w)
{
    azure_arm_done(&w->arm);
    http_free(w->http);
    test_server_stop(w->server);
    mutex_done(&w->cloud.lock);
    free(w);
}

static void run_wave(struct kit *k, struct world *w, enum azure_kind kind)
{
    struct http_job *jobs[WAVE];
    const struct azure_call_spec spec = {.kind = kind, .verb = AZURE_LIST, .id = LBS};
    for (size_t i = 0; i < WAVE; i++) {
        azure_read_init(&w->reads[i], &w->arm, NULL, k->a, &spec);
        jobs[i] = &w->reads[i].job;
    }
    http_run(w->http, jobs, WAVE);
}

static void wave__one_token_is_had_for_all(void **state)
{
    static const struct {
        const char *old; /* in the cache; NULL: none */
        int held;
        int refused;
    } rows[] = {
        {NULL, 0, 0},
        {"old-token", WAVE, WAVE}, /* all are refused before the first one has asked */
    };
    struct kit *k = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world *w = open_world(k, CONFIG);
        w->cloud.waves_of_401 = rows[i].held;
        if (rows[i].old != NULL) {
            azure_auth_store(k->auth, AZURE_TENANT_COMPUTE, rows[i].old, 3600000, 0);
        }
        run_wave(k, w, AZURE_LBS);
        for (size_t r = 0; r < WAVE; r++) {
            same_text("outcome", w->reads[r].job.err.message, "");
        }
        assert_int_equal(w->cloud.refused, rows[i].refused);
        assert_int_equal(w->cloud.token_requests, 1);
        close_world(w);
    }
}

/* Each of them trying for itself would be a minute per call. */
static void wave__no_token_to_be_had__is_found_out_once(void **state)
{
    struct kit *k = *state;
    struct world *w = open_world(k, CONFIG);
    w->cloud.token_status = 400;
    run_wave(k, w, AZURE_LBS);
    for (size_t r = 0; r < WAVE; r++) {
        assert_int_equal(w->reads[r].job.err.code, ERR_AUTH);
        assert_non_null(strstr(w->reads[r].job.err.message, "client secret"));
        assert_null(strstr(w->reads[r].job.err.message, "hunter2"));
    }
    assert_int_equal(w->cloud.token_requests, 1);
    /* A failure is not final. */
    w->cloud.token_status = 200;
    run_wave(k, w, AZURE_LBS);
    assert_int_equal(w->reads[WAVE - 1].job.err.code, ERR_OK);
    assert_int_equal(w->cloud.token_requests, 2);
    close_world(w);
}

/* Compute calls carry both tenants' tokens; a refusal does not say which of them it was. */
static void wave__of_two_tenants__a_refusal_renews_both(void **state)
{
    struct kit *k = *state;
    struct world *w = open_world(k, CONFIG "networkResourceTenantID: tnet\n");
    w->cloud.waves_of_401 = WAVE;
    azure_auth_store(k->auth, AZURE_TENANT_COMPUTE, "old-token", 3600000, 0);
    azure_auth_store(k->auth, AZURE_TENANT_NETWORK, "old-aux", 3600000, 0);
    run_wave(k, w, AZURE_VMSSS);
    for (size_t r = 0; r < WAVE; r++) {
        same_text("outcome", w->reads[r].job.err.message, "");
    }
    assert_int_equal(w->cloud.token_requests, 2);
    same_text("network", azure_auth_token(k->auth, AZURE_TENANT_NETWORK, k->a), "new-token");
    close_world(w);
}

/* ---- servers that lie ------------------------------------------------------------------------ */

#define MARK "hunter2-do-not-print"

static int fetch_from(struct kit *k, const char *url, const char *config, struct err *err)
{
    const struct http_config http = {
        .observe = http_ignore_sent, .user_agent = "test", .proxy_url = ""};
    struct http *h = http_new(&http);
    static struct azure_env env;
    env = (struct azure_env){.identity_endpoint = arena_printf(k->a, "%s/msi", url),
                             .identity_header = MARK};
    kit_open(k, config, strstr(config, "Managed") != NULL ? &env : NULL);
    k->cloud.authority = arena_printf(k->a, "%s/", url);
    int rc = azure_auth_ready(k->auth, AZURE_TENANT_COMPUTE, h, NULL, err);
    http_free(h);
    return rc;
}

static void hostile__answers__are_refused_in_words_without_secrets(void **state)
{
    static const char *const answers[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"access_tok",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
        "HTTP/1.1 200 OK\r\nContent-Length: 35\r\n\r\n{\"access_token\":5,\"expires_in\":3600}",
        "HTTP/1.1 200 OK\r\nContent-Length: 44\r\n\r\n"
        "{\"access_token\":\"a\\r\\nX: y\",\"expires_in\":3600}",
        "HTTP/1.1 200 OK\r\nContent-Length: 41\r\n\r\n"
        "{\"access_token\":\"a b\",\"expires_in\":3600}  ",
        "HTTP/1.1 200 OK\r\nContent-Length: 54\r\n\r\n"
        "{\"access_token\":\"abc\",\"expires_in\":-9223372036854775808}",
        "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/?secret=" MARK
        "\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 307 Temporary Redirect\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 400 Bad Request\r\nContent-Length: 91\r\n\r\n{\"error\":\"invalid_client\","
        "\"error_description\":\"AADSTS7000215: the secret " MARK " is wrong\"}",
        "HTTP/1.1 401 Unauthorized\r\nContent-Length: 36\r\n\r\n{\"error\":\"" MARK "!\"}   ",
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
    };
    static const char *const configs[] = {
        "tenantId: t\naadClientId: c\naadClientSecret: " MARK "\n",
        "useManagedIdentityExtension: true\n",
    };
    struct kit *k = *state;
    for (size_t i = 0; i < ARRAY_LEN(answers) * ARRAY_LEN(configs); i++) {
        const char *text = answers[i / 2];
        struct err err = ERR_INIT;
        struct raw_server *s = raw_server_start_bytes(text, strlen(text));
        int rc = fetch_from(k, raw_server_url(s), configs[i % 2], &err);
        if (rc == ERR_OK || kit_token(k) != NULL || strstr(err.message, MARK) != NULL ||
            !str_has_prefix(err.message, "access token: ")) {
            fail_msg("%s: %s", text, err.message);
        }
        assert_int_equal(raw_server_connections(s), 1); /* no call followed, none tried again */
        raw_server_stop(s);
    }
}

static void endless(int fd, int nth, void *arg)
{
    char head[4096];
    char block[4096];
    (void)nth;
    (void)arg;
    memset(block, ' ', sizeof(block));
    if (raw_read_head(fd, head, sizeof(head)) &&
        raw_send_text(fd, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{")) {
        while (raw_send(fd, block, sizeof(block))) {
        }
    }
}

static void hostile__a_body_without_end__is_cut(void **state)
{
    struct kit *k = *state;
    struct err err = ERR_INIT;
    struct raw_server *s = raw_server_start(endless, NULL);
    assert_int_not_equal(fetch_from(k, raw_server_url(s), CONFIG, &err), ERR_OK);
    assert_non_null(strstr(err.message, "is larger than 1048576 bytes"));
    assert_null(strstr(err.message, "hunter2"));
    raw_server_stop(s);
}

/* A byte now and then must not hold a sync up forever: the whole exchange has a limit. */
static void hostile__slow_answers__have_a_limit(void **state)
{
    static const char *const configs[] = {CONFIG, "useManagedIdentityExtension: true\n"};
    struct kit *k = *state;
    for (size_t i = 0; i < ARRAY_LEN(configs); i++) {
        kit_open(k, configs[i], NULL);
        kit_ask(k, AZURE_TENANT_COMPUTE);
        assert_int_equal(k->req.total_ms, 60000);
        assert_int_equal(k->req.max_body, 1024 * 1024);
        assert_int_equal(k->req.max_redirects, 0);
    }
}

/* A service that gives secrets to any caller is not reached through a proxy. */
static void managed__no_proxy(void **state)
{
    struct kit *k = *state;
    kit_open(k, "useManagedIdentityExtension: true\n", NULL);
    kit_ask(k, AZURE_TENANT_COMPUTE);
    assert_true(k->req.direct);
    kit_open(k, CONFIG, NULL);
    kit_ask(k, AZURE_TENANT_COMPUTE);
    assert_false(k->req.direct);
}

UNIT_MAIN(auth_wave)
{
    const struct CMUnitTest tests[] = {
        KIT_TEST(wave__one_token_is_had_for_all),
        KIT_TEST(wave__no_token_to_be_had__is_found_out_once),
        KIT_TEST(wave__of_two_tenants__a_refusal_renews_both),
        KIT_TEST(hostile__answers__are_refused_in_words_without_secrets),
        KIT_TEST(hostile__a_body_without_end__is_cut),
        KIT_TEST(hostile__slow_answers__have_a_limit),
        KIT_TEST(managed__no_proxy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
