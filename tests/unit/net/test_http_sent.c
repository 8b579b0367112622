/* SPDX-License-Identifier: Apache-2.0 */
/* test_http_sent.c: each request on the wire is reported to the handle's observer, once; the
 * server's own count is the measure. */
#include "tests/support/unit.h"
#include "tests/unit/net/get_job.h"

struct seen {
    struct http *http; /* to stop a job with */
    int told;          /* all but ends of streams */
    int began, ended;  /* streams */
    int status;
    int unanswered; /* status 0, with an error */
    void *owner;
    size_t sent_bytes, received_bytes;
};

static void observe(void *arg, const struct http_sent *sent)
{
    struct seen *s = arg;
    assert_non_null(sent->job->req.url);
    assert_true(sent->took_ms >= 0);
    assert_int_equal(sent->status == 0, sent->part == HTTP_SENT_WHOLE && sent->err != NULL);
    s->told += sent->part != HTTP_SENT_ENDED;
    s->began += sent->part == HTTP_SENT_BEGAN;
    s->ended += sent->part == HTTP_SENT_ENDED;
    s->status = sent->status;
    s->unanswered += sent->status == 0;
    s->owner = sent->owner;
    s->sent_bytes = sent->sent_bytes;
    s->received_bytes = sent->received_bytes;
}

static struct fixture watched(struct seen *seen, struct http_config cfg)
{
    cfg.observe = observe;
    cfg.observe_arg = seen;
    struct fixture f = fixture_new(&cfg);
    seen->http = f.http;
    return f;
}

static void sent__answered_refused_dropped__each_once(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct seen seen = {0};
    int owner = 0;
    struct fixture f = watched(&seen, (struct http_config){0});
    http_bind(f.http, NULL, NULL, NULL, &owner);
    const struct http_request post = {
        .method = "POST", .url = test_server_url(s, "/echo"), .body = "12345", .body_len = 5};
    assert_ok(&f, fixture_send(&f, &post));
    assert_int_equal(seen.sent_bytes, 5);
    assert_int_equal(seen.received_bytes, f.resp.body_len);
    assert_ptr_equal(seen.owner, &owner);
    assert_ok(&f, fixture_get(&f, test_server_url(s, "/status/404")));
    assert_int_equal(seen.status, 404);
    assert_int_not_equal(fixture_get(&f, test_server_url(s, "/drop")), ERR_OK);
    assert_int_equal(seen.told, 4); /* the kept connection died, so it was sent twice */
    assert_int_equal(seen.unanswered, 2);
    assert_int_equal(seen.told, test_server_requests(s));
    fixture_done(&f);
    test_server_stop(s);
}

static void sent__redirects__each_hop(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct seen seen = {0};
    struct fixture f = watched(&seen, (struct http_config){0});
    struct http_request req = {.url = test_server_url(s, "/to?/ok"), .max_redirects = 3};
    assert_ok(&f, fixture_send(&f, &req));
    assert_int_equal(seen.told, 2);
    req.url = test_server_url(s, "/loop/0");
    assert_int_equal(fixture_send(&f, &req), ERR_INVALID);
    assert_int_equal(seen.told, 6); /* the first one and three hops, although it failed */
    assert_int_equal(seen.unanswered, 0);
    assert_int_equal(seen.told, test_server_requests(s));
    fixture_done(&f);
    test_server_stop(s);
}

static bool never(void *arg)
{
    (void)arg;
    return false;
}

static void sent__held_back_here__not_told(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct seen seen = {0};
    struct fixture f = watched(&seen, (struct http_config){.may_mutate = never});
    const struct http_request post = {
        .method = "POST", .url = test_server_url(s, "/ok"), .mutates = true};
    assert_int_equal(fixture_send(&f, &post), ERR_CANCELLED);
    assert_int_equal(fixture_get(&f, "ftp://127.0.0.1/x"), ERR_INVALID);
    assert_int_equal(seen.told, 0);
    assert_int_equal(test_server_requests(s), 0);
    fixture_done(&f);
    test_server_stop(s);
}

static void sent__no_server__told_without_a_status(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct fixture f = watched(&seen, (struct http_config){0});
    assert_int_equal(fixture_get(&f, "http://127.0.0.1:1/"), ERR_TRANSIENT);
    assert_int_equal(seen.told, 1);
    assert_int_equal(seen.unanswered, 1);
    fixture_done(&f);
}

/* Answers the first request, reads the second, and closes. */
static void serve_once(int fd, int nth, void *arg)
{
    (void)nth;
    int *read = arg;
    char head[4096];
    if (raw_read_head(fd, head, sizeof(head))) {
        __atomic_add_fetch(read, 1, __ATOMIC_SEQ_CST);
        raw_send_text(fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    }
    if (raw_read_head(fd, head, sizeof(head))) {
        __atomic_add_fetch(read, 1, __ATOMIC_SEQ_CST);
    }
}

static void sent__again_after_a_dead_connection__both_copies(void **state)
{
    (void)state;
    static const char *const methods[] = {"GET", "POST"};
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        int read = 0;
        struct raw_server *s = raw_server_start(serve_once, &read);
        struct seen seen = {0};
        struct fixture f = watched(&seen, (struct http_config){0});
        const struct http_request req = {.method = methods[i], .url = raw_server_url(s)};
        assert_ok(&f, fixture_send(&f, &req));
        (void)!fixture_send(&f, &req); /* a GET is sent again, a POST is not */
        assert_int_equal(seen.told, __atomic_load_n(&read, __ATOMIC_SEQ_CST));
        assert_int_equal(seen.unanswered, 1);
        fixture_done(&f);
        raw_server_stop(s);
    }
}

/* --- what is given up ------------------------------------------------------------------------ */

static void sent__handle_is_freed__told_once(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct seen seen = {0};
    struct fixture f = watched(&seen, (struct http_config){0});
    struct get_job hangs = get_job(test_server_url(s, "/hang"));
    http_start(f.http, &hangs.job);
    while (test_server_requests(s) == 0) {
        http_wait(f.http, clock_now_ms(clock_real()) + 10);
    }
    assert_int_equal(seen.told, 0);
    fixture_done(&f);
    assert_int_equal(seen.told, 1);
    assert_int_equal(seen.unanswered, 1);
    test_server_stop(s);
}

struct stopper {
    struct get_job get;
    struct http *http;
};

static bool stop_in_body(struct http_job *job, int status, const char *bytes, size_t n)
{
    (void)status, (void)bytes, (void)n;
    struct stopper *st = CONTAINER_OF(CONTAINER_OF(job, struct get_job, job), struct stopper, get);
    http_stop(st->http, job);
    return true;
}

static void sent__stopped__told_once(void **state)
{
    (void)state;
    static const bool rows[] = {false, true};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct test_server *s = test_server_start(NULL);
        struct seen seen = {0};
        struct fixture f = watched(&seen, (struct http_config){0});
        struct stopper st = {.get = get_job(test_server_url(s, "/endless")), .http = f.http};
        st.get.job.req.streams = rows[i];
        st.get.job.on_body = stop_in_body;
        http_start(f.http, &st.get.job);
        while (!st.get.job.done) {
            http_wait(f.http, CLOCK_NEVER);
        }
        assert_int_equal(seen.told, 1);
        assert_int_equal(seen.began, rows[i]);
        assert_int_equal(seen.ended, rows[i]);
        assert_int_equal(seen.status, rows[i] ? 200 : 0);
        fixture_done(&f);
        assert_int_equal(seen.told, 1);
        test_server_stop(s);
    }
}

static bool count_began(struct http_job *job, int status, const char *bytes, size_t n)
{
    (void)status, (void)bytes, (void)n;
    struct seen *seen = CONTAINER_OF(job, struct get_job, job)->job.arg;
    assert_int_equal(seen->began, 1); /* before its first byte, not when it ends */
    return true;
}

static void sent__stream__told_when_it_begins(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct seen seen = {0};
    struct fixture f = watched(&seen, (struct http_config){0});
    struct get_job stream = get_job(test_server_url(s, "/bytes/1000"));
    stream.job.req.streams = true;
    stream.job.on_body = count_began;
    stream.job.arg = &seen;
    run_get(&f, &stream, 1);
    assert_int_equal(seen.told, 1);
    assert_int_equal(seen.ended, 1);
    assert_int_equal(seen.received_bytes, 1000);
    stream = get_job(test_server_url(s, "/status/410"));
    stream.job.req.streams = true;
    run_get(&f, &stream, 1);
    assert_int_equal(seen.told, 2); /* a refusal is no stream */
    assert_int_equal(seen.ended, 1);
    assert_int_equal(seen.status, 410);
    fixture_done(&f);
    test_server_stop(s);
}

UNIT_MAIN(http_sent)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sent__answered_refused_dropped__each_once),
        cmocka_unit_test(sent__redirects__each_hop),
        cmocka_unit_test(sent__held_back_here__not_told),
        cmocka_unit_test(sent__no_server__told_without_a_status),
        cmocka_unit_test(sent__again_after_a_dead_connection__both_copies),
        cmocka_unit_test(sent__handle_is_freed__told_once),
        cmocka_unit_test(sent__stopped__told_once),
        cmocka_unit_test(sent__stream__told_when_it_begins),
    };
    return cmocka_run_group_tests_name("http_sent", tests, http_group_setup, http_group_teardown);
}
