/* SPDX-License-Identifier: Apache-2.0 */
/* test_imds.c: reading the metadata service with tokens, and without where there are none
 * (docs/spec/aws.md 2.3). */
#include "providers/aws/auth/aws_imds.h"
#include "tests/support/clock_fake.h"
#include "tests/support/http_ignore_sent.h"
#include "tests/support/test_server.h"
#include "tests/support/unit.h"
#include "tests/unit/aws/aws_env_fake.h"
#include "tests/unit/gce/pure.h"

struct world {
    struct arena *a;
    struct clock *clock;
    struct aws_imds *imds;
    struct aws_imds_get get;
    struct http_request req;
    struct err err;
    int told_lost; /* how often something was logged, and its text */
    int told_unknown;
};

static int setup(void **state)
{
    struct world *w = xcalloc(1, sizeof(*w));
    w->a = arena_new();
    w->clock = clock_fake_new(1000, 0);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    aws_imds_free(w->imds);
    clock_fake_free(w->clock);
    arena_free(w->a);
    free(w);
    return 0;
}

#define WORLD_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

static void on_without(void *arg, bool lost)
{
    struct world *w = arg;
    w->told_lost += lost;
    w->told_unknown += !lost;
}

static void open_imds(struct world *w, const char *env, const char *base)
{
    const struct aws_imds_config cfg = {.base = base,
                                        .env = env_fake(w->a, env),
                                        .clock = w->clock,
                                        .on_without = on_without,
                                        .arg = w};
    aws_imds_free(w->imds);
    w->told_lost = 0;
    w->told_unknown = 0;
    w->imds = aws_imds_new(&cfg);
}

static enum http_next ask(struct world *w)
{
    err_clear(&w->err);
    w->req = (struct http_request){0};
    aws_imds_begin(&w->get, w->imds, w->a, "/latest/x");
    return aws_imds_step(&w->get, &w->req, NULL, 0.5, &w->err);
}

static enum http_next answer(struct world *w, int status, const char *body, const char *ttl)
{
    const struct http_header header = {"X-Aws-Ec2-Metadata-Token-Ttl-Seconds", ttl};
    const struct http_response resp = {.status = status,
                                       .body = body,
                                       .body_len = strlen(body),
                                       .headers = &header,
                                       .n_headers = ttl != NULL ? 1 : 0};
    if (status == 0) {
        (void)err_set(&w->err, ERR_TRANSIENT, "timed out");
    }
    return aws_imds_step(&w->get, &w->req, &resp, 0.5, &w->err);
}

static void is_put(struct world *w)
{
    same_text("method", w->req.method, "PUT");
    same_text("url", w->req.url, "http://imds/latest/api/token");
    same_text("header", w->req.headers[0].name, "X-Aws-Ec2-Metadata-Token-Ttl-Seconds");
    same_text("value", w->req.headers[0].value, "300");
}

static void is_get(struct world *w, const char *token)
{
    same_text("method", w->req.method, "GET");
    same_text("url", w->req.url, "http://imds/latest/x");
    same_text("token", w->req.n_headers > 0 ? w->req.headers[0].value : NULL, token);
}

static void token__is_had_once_and_shared(void **state)
{
    struct world *w = *state;
    open_imds(w, "", "http://imds");
    assert_int_equal(ask(w), HTTP_SEND);
    is_put(w);
    assert_true(w->req.direct);
    assert_int_equal(w->req.connect_ms, 250);
    assert_int_equal(w->req.idle_ms, 500);
    assert_int_equal(answer(w, 200, "hush-1", "100"), HTTP_SEND);
    is_get(w, "hush-1");
    assert_int_equal(answer(w, 200, "hello", NULL), HTTP_DONE);
    same_text("body", w->get.body, "hello");
    assert_int_equal(ask(w), HTTP_SEND);
    is_get(w, "hush-1");
    /* A little before it ends, a new one. */
    clock_fake_advance(w->clock, 95 * 1000 - 1);
    assert_int_equal(ask(w), HTTP_SEND);
    is_get(w, "hush-1");
    clock_fake_advance(w->clock, 1);
    assert_int_equal(ask(w), HTTP_SEND);
    is_put(w);
}

static void token__is_unknown__reads_go_without(void **state)
{
    struct world *w = *state;
    static const int statuses[] = {403, 404, 405};
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        open_imds(w, "", "http://imds");
        assert_int_equal(ask(w), HTTP_SEND);
        assert_int_equal(answer(w, statuses[i], "", NULL), HTTP_SEND);
        is_get(w, NULL);
        assert_int_equal(answer(w, 200, "hello", NULL), HTTP_DONE);
        assert_int_equal(ask(w), HTTP_SEND);
        is_get(w, NULL);
        assert_int_equal(w->told_unknown, 1);
        assert_int_equal(w->told_lost, 0);
    }
}

static void token__does_not_get_through__three_tries_then_without(void **state)
{
    struct world *w = *state;
    open_imds(w, "", "http://imds");
    assert_int_equal(ask(w), HTTP_SEND);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(answer(w, 0, "", NULL), HTTP_SEND);
        is_put(w);
        assert_int_equal(w->req.not_before_ms, 1500);
    }
    assert_int_equal(answer(w, 0, "", NULL), HTTP_SEND);
    is_get(w, NULL);
    assert_int_equal(w->req.not_before_ms, 0);
    assert_int_equal(w->err.code, ERR_OK);
    assert_int_equal(w->told_lost, 1);
}

/* Tokens are required, and do not get through: the read is refused, and the error has the
 * reason. */
static void token__does_not_get_through_and_is_required__names_the_hop_limit(void **state)
{
    struct world *w = *state;
    open_imds(w, "", "http://imds");
    assert_int_equal(ask(w), HTTP_SEND);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++) {
            is_put(w);
            assert_int_equal(answer(w, 0, "", NULL), HTTP_SEND);
        }
        is_get(w, NULL);
        assert_int_equal(answer(w, 401, "", NULL), round == 0 ? HTTP_SEND : HTTP_DONE);
    }
    assert_int_equal(w->err.code, ERR_FORBIDDEN);
    same_text(
        "says", w->err.message,
        "instance metadata: /latest/x: http://imds answered 401; inside a container its hop limit "
        "(HttpPutResponseHopLimit) must be 2, or use the host's network");
}

static void token__fails_otherwise__this_read_goes_without(void **state)
{
    struct world *w = *state;
    open_imds(w, "", "http://imds");
    assert_int_equal(ask(w), HTTP_SEND);
    assert_int_equal(answer(w, 500, "", NULL), HTTP_SEND);
    assert_int_equal(answer(w, 500, "", NULL), HTTP_SEND);
    assert_int_equal(answer(w, 500, "", NULL), HTTP_SEND);
    is_get(w, NULL);
    assert_int_equal(w->told_lost + w->told_unknown, 0);
    assert_int_equal(ask(w), HTTP_SEND);
    is_put(w);
}

static void token__400__and_v1_switched_off__are_final(void **state)
{
    struct world *w = *state;
    open_imds(w, "", "http://imds");
    assert_int_equal(ask(w), HTTP_SEND);
    assert_int_equal(answer(w, 400, "hush", NULL), HTTP_DONE);
    assert_int_equal(w->err.code, ERR_AUTH);
    same_text("says", w->err.message, "instance metadata: a token: http://imds answered 400");
    open_imds(w, "AWS_EC2_METADATA_V1_DISABLED=true", "http://imds");
    assert_int_equal(ask(w), HTTP_SEND);
    assert_int_equal(answer(w, 403, "", NULL), HTTP_DONE);
    assert_int_equal(w->err.code, ERR_AUTH);
    assert_int_equal(ask(w), HTTP_SEND);
    assert_int_equal(answer(w, 0, "", NULL), HTTP_SEND);
    assert_int_equal(answer(w, 0, "", NULL), HTTP_SEND);
    assert_int_equal(answer(w, 0, "", NULL), HTTP_DONE);
    assert_int_equal(w->err.code, ERR_TRANSIENT);
    assert_non_null(strstr(w->err.message, "hop limit"));
}

static void token__that_no_header_can_carry(void **state)
{
    struct world *w = *state;
    static const char *const rows[] = {"", "a b", "a\r\nX: y", "\xc3\xa9"};
    open_imds(w, "", "http://imds");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(ask(w), HTTP_SEND);
        assert_int_equal(answer(w, 200, rows[i], NULL), HTTP_DONE);
        assert_int_equal(w->err.code, ERR_TRANSIENT);
    }
}

static void data__401__asks_for_a_token_once_more(void **state)
{
    struct world *w = *state;
    open_imds(w, "", "http://imds");
    assert_int_equal(ask(w), HTTP_SEND);
    assert_int_equal(answer(w, 404, "", NULL), HTTP_SEND);
    is_get(w, NULL);
    assert_int_equal(answer(w, 401, "", NULL), HTTP_SEND);
    is_put(w);
    assert_int_equal(answer(w, 200, "hush-2", NULL), HTTP_SEND);
    is_get(w, "hush-2");
    assert_int_equal(answer(w, 401, "", NULL), HTTP_DONE);
    assert_int_equal(w->err.code, ERR_FORBIDDEN);
    assert_null(strstr(w->err.message, "hop limit"));
}

static void data__failures(void **state)
{
    struct world *w = *state;
    static const struct {
        int status;
        int tries;
        int code;
    } rows[] = {
        {404, 1, ERR_NOT_FOUND}, {403, 1, ERR_FORBIDDEN}, {400, 1, ERR_INVALID},
        {500, 3, ERR_TRANSIENT}, {429, 3, ERR_TRANSIENT}, {0, 3, ERR_TRANSIENT},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        open_imds(w, "", "http://imds");
        assert_int_equal(ask(w), HTTP_SEND);
        assert_int_equal(answer(w, 200, "hush-1", NULL), HTTP_SEND);
        for (int n = 1; n < rows[i].tries; n++) {
            assert_int_equal(answer(w, rows[i].status, "", NULL), HTTP_SEND);
        }
        assert_int_equal(answer(w, rows[i].status, "", NULL), HTTP_DONE);
        assert_int_equal(w->err.code, rows[i].code);
        assert_null(strstr(w->err.message, "hush"));
    }
}

static void disabled__nothing_is_asked(void **state)
{
    struct world *w = *state;
    open_imds(w, "AWS_EC2_METADATA_DISABLED=True", "http://imds");
    assert_int_equal(ask(w), HTTP_DONE);
    assert_int_equal(w->err.code, ERR_INVALID);
    assert_true(aws_imds_is_disabled(w->imds));
}

/* ---- the region ------------------------------------------------------------------------------ */

static void handle(void *arg, struct http_req *req)
{
    const char *body = arg;
    http_req_answer(req, 200, body, strlen(body));
}

static int region(struct world *w, char *document, const char **ret)
{
    const struct test_server_config cfg = {.handle = handle, .arg = document};
    const struct http_config http_cfg = {
        .observe = http_ignore_sent, .user_agent = "test", .clock = w->clock};
    struct test_server *server = test_server_start(&cfg);
    struct http *http = http_new(&http_cfg);
    err_clear(&w->err);
    open_imds(w, "", test_server_url(server, ""));
    int rc = aws_imds_region(w->imds, http, w->a, NULL, ret, &w->err);
    http_free(http);
    test_server_stop(server);
    return rc;
}

static void region__of_the_identity_document(void **state)
{
    struct world *w = *state;
    static char good[] = "{\"region\":\"eu-west-1\"}";
    static char none[] = "{\"region\":7}";
    static char nonsense[] = "hush";
    const char *name = NULL;
    assert_int_equal(region(w, good, &name), ERR_OK);
    same_text("region", name, "eu-west-1");
    assert_int_equal(region(w, none, &name), ERR_TRANSIENT);
    assert_int_equal(region(w, nonsense, &name), ERR_TRANSIENT);
}

UNIT_MAIN(imds)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(token__is_had_once_and_shared),
        WORLD_TEST(token__is_unknown__reads_go_without),
        WORLD_TEST(token__does_not_get_through__three_tries_then_without),
        WORLD_TEST(token__does_not_get_through_and_is_required__names_the_hop_limit),
        WORLD_TEST(token__fails_otherwise__this_read_goes_without),
        WORLD_TEST(token__400__and_v1_switched_off__are_final),
        WORLD_TEST(token__that_no_header_can_carry),
        WORLD_TEST(data__401__asks_for_a_token_once_more),
        WORLD_TEST(data__failures),
        WORLD_TEST(disabled__nothing_is_asked),
        WORLD_TEST(region__of_the_identity_document),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
