/* SPDX-License-Identifier: Apache-2.0 */
/* test_http_cancel.c: ending what runs: by cancels, by freeing, by stopping from inside steps.
 *
 * Nothing here has a time-out: were a cancel not heard at once, the test would never end. */
#include "tests/unit/net/get_job.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "common/base/lock.h"
#include "tests/support/unit.h"

/* --- cancelling ------------------------------------------------------------------------------ */

struct canceller {
    struct test_server *server;
    struct cancel *cancel;
    struct http *wake;
    int after_requests;
};

static void *cancel_later(void *arg)
{
    struct canceller *c = arg;
    test_server_wait_requests(c->server, c->after_requests);
    if (c->cancel != NULL) {
        cancel_fire(c->cancel);
    }
    if (c->wake != NULL) {
        http_wakeup(c->wake);
    }
    return NULL;
}

static struct get_job hanging_job(struct test_server *s)
{
    struct get_job j = get_job(test_server_url(s, "/hang"));
    j.job.req.idle_ms = -1;
    j.job.req.total_ms = -1;
    return j;
}

static void cancel__of_the_handle__ends_all_jobs(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct cancel *cancel = cancel_new(NULL);
    struct fixture f = fixture_new(&(struct http_config){.cancel = cancel});
    struct canceller c = {.server = s, .cancel = cancel, .after_requests = 3};
    pthread_t thread;
    pthread_create(&thread, NULL, cancel_later, &c);
    struct get_job jobs[3] = {hanging_job(s), hanging_job(s), hanging_job(s)};
    jobs[1].sends = 1000; /* a step that wants to continue is not heard */
    run_get(&f, jobs, 3);
    pthread_join(thread, NULL);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(jobs[i].job.err.code, ERR_CANCELLED);
        assert_string_equal(
            jobs[i].job.err.message,
            arena_printf(f.arena, "cancelled while waiting for %s", test_server_url(s, "")));
        assert_int_equal(jobs[i].steps, 2);
    }
    test_server_wait_gone(s, 3);

    /* Fired before the request: nothing is sent. */
    assert_int_equal(fixture_get(&f, test_server_url(s, "/ok")), ERR_CANCELLED);
    assert_string_equal(f.err.message, "cancelled");
    assert_int_equal(test_server_requests(s), 3);
    fixture_done(&f);
    cancel_free(cancel);
    test_server_stop(s);
}

static void cancel__of_one_job__leaves_the_others(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct cancel *cancel = cancel_new(NULL);
    struct fixture f = fixture_new(NULL);
    struct canceller c = {.server = s, .cancel = cancel, .after_requests = 2};
    pthread_t thread;
    pthread_create(&thread, NULL, cancel_later, &c);
    struct get_job jobs[2] = {hanging_job(s), get_job(test_server_url(s, "/ok"))};
    jobs[0].job.cancel = cancel;
    jobs[1].sends = 20;
    run_get(&f, jobs, 2);
    pthread_join(thread, NULL);
    assert_int_equal(jobs[0].job.err.code, ERR_CANCELLED);
    assert_int_equal(jobs[1].job.err.code, ERR_OK);
    assert_int_equal(jobs[1].steps, 21);
    str_buf_done(&jobs[1].body);
    fixture_done(&f);
    cancel_free(cancel);
    test_server_stop(s);
}

static void http_free__jobs_under_way__cancelled_without_a_step(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct fixture f = fixture_new(NULL);
    struct get_job jobs[2] = {hanging_job(s), get_job(test_server_url(s, "/ok"))};
    jobs[1].job.req.not_before_ms = CLOCK_NEVER;
    struct canceller c = {.server = s, .wake = f.http, .after_requests = 1};
    pthread_t thread;
    pthread_create(&thread, NULL, cancel_later, &c);
    http_start(f.http, &jobs[0].job);
    http_start(f.http, &jobs[1].job);
    http_wait(f.http, CLOCK_NEVER); /* ends by http_wakeup() */
    pthread_join(thread, NULL);
    fixture_done(&f);
    for (int i = 0; i < 2; i++) {
        assert_true(jobs[i].job.done);
        assert_null(jobs[i].job.transfer);
        assert_int_equal(jobs[i].job.err.code, ERR_CANCELLED);
        assert_int_equal(jobs[i].steps, 1);
    }
    test_server_stop(s);
}

/* --- starting and stopping from steps -------------------------------------------------------- */

struct chain {
    struct get_job first;
    struct http *http;
    struct get_job *other;
    bool stop_self;
};

static enum http_next chain_step(struct http_job *job, const struct http_response *resp)
{
    struct chain *c = CONTAINER_OF(CONTAINER_OF(job, struct get_job, job), struct chain, first);
    if (resp != NULL && c->stop_self) {
        http_stop(c->http, job);
        return HTTP_SEND;
    }
    if (resp != NULL && c->other->job.transfer != NULL) {
        http_stop(c->http, &c->other->job);
    } else if (resp != NULL) {
        http_start(c->http, &c->other->job);
    }
    return get_step(job, resp);
}

static void http_start__from_a_step__runs(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct fixture f = fixture_new(NULL);
    struct get_job other = get_job(test_server_url(s, "/ok"));
    struct chain c = {.first = get_job(test_server_url(s, "/ok")), .http = f.http, .other = &other};
    c.first.job.step = chain_step;
    http_start(f.http, &c.first.job);
    while (!other.job.done) {
        http_wait(f.http, CLOCK_NEVER);
    }
    assert_true(c.first.job.done);
    assert_string_equal(str_buf_text(&other.body), "ok");
    str_buf_done(&other.body);
    str_buf_done(&c.first.body);
    fixture_done(&f);
    test_server_stop(s);
}

static void http_stop__from_steps__own_and_other(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct fixture f = fixture_new(NULL);
    struct get_job other = hanging_job(s);
    struct chain c = {.first = get_job(test_server_url(s, "/ok")), .http = f.http, .other = &other};
    c.first.job.step = chain_step;
    http_start(f.http, &other.job);
    http_start(f.http, &c.first.job);
    while (!c.first.job.done) {
        http_wait(f.http, CLOCK_NEVER);
    }
    assert_true(other.job.done);
    assert_int_equal(other.job.err.code, ERR_CANCELLED);
    assert_int_equal(other.steps, 1);
    str_buf_done(&c.first.body);

    c.first = get_job(test_server_url(s, "/ok"));
    c.first.job.step = chain_step;
    c.stop_self = true;
    http_start(f.http, &c.first.job);
    http_wait(f.http, CLOCK_NEVER);
    assert_true(c.first.job.done);
    assert_int_equal(c.first.job.err.code, ERR_CANCELLED);
    fixture_done(&f);
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

static void http_stop__from_on_body__no_further_step(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct fixture f = fixture_new(NULL);
    struct stopper st = {.get = get_job(test_server_url(s, "/endless")), .http = f.http};
    st.get.job.on_body = stop_in_body;
    http_start(f.http, &st.get.job);
    http_wait(f.http, CLOCK_NEVER);
    assert_true(st.get.job.done);
    assert_int_equal(st.get.job.err.code, ERR_CANCELLED);
    assert_int_equal(st.get.steps, 1);
    test_server_wait_gone(s, 1);
    fixture_done(&f);
    test_server_stop(s);
}

/* --- a mutation that the server takes slowly -------------------------------------------------- */

#define BIG_BODY ((size_t)64 * 1024 * 1024) /* more than kernels keep for a socket */

struct slow_server {
    struct mutex lock;
    struct cond changed;
    bool go_on;     /* read the rest */
    size_t bytes;   /* of the body, when the connection had ended */
    bool was_reset; /* what was still on its way is lost */
    bool ended;
};

/* Takes the head, then nothing until the test says so. */
static void serve_slowly(int fd, int nth, void *arg)
{
    struct slow_server *s = arg;
    char buf[65536];
    size_t bytes = 0;
    ssize_t n;
    (void)nth;
    (void)raw_read_head(fd, buf, sizeof buf);
    mutex_lock(&s->lock);
    while (!s->go_on) {
        clock_wait(clock_real(), &s->changed, &s->lock, CLOCK_NEVER);
    }
    mutex_unlock(&s->lock);
    while ((n = recv(fd, buf, sizeof buf, 0)) > 0) {
        bytes += (size_t)n;
    }
    bool was_reset = n < 0 && errno == ECONNRESET;
    mutex_lock(&s->lock);
    s->bytes = bytes;
    s->was_reset = was_reset;
    s->ended = true;
    cond_broadcast(&s->changed);
    mutex_unlock(&s->lock);
}

/* Yes before it is sent and a few times while it is; then the lease has run out. */
static bool yes_at_first(void *arg)
{
    int *asked = arg;
    return ++*asked < 4;
}

static void may_mutate__no_while_the_body_is_sent__broken_off_and_nothing_arrives_later(
    void **state)
{
    (void)state;
    struct slow_server s = {0};
    int asked = 0;
    mutex_init(&s.lock);
    cond_init(&s.changed);
    struct raw_server *raw = raw_server_start(serve_slowly, &s);
    struct fixture f =
        fixture_new(&(struct http_config){.may_mutate = yes_at_first, .may_mutate_arg = &asked});
    char *body = xcalloc(1, BIG_BODY);
    struct http_request put = {.method = "PUT",
                               .url = raw_server_url(raw),
                               .mutates = true,
                               .body = body,
                               .body_len = BIG_BODY,
                               .idle_ms = -1,
                               .total_ms = -1};
    int rc = fixture_send(&f, &put);
    assert_fails(&f, rc, ERR_CANCELLED,
                 arena_printf(f.arena,
                              "PUT to %s was broken off before it was sent whole: no changes may "
                              "be made now",
                              raw_server_url(raw)));
    assert_int_equal(asked, 4);
    fixture_done(&f); /* whatever was kept is closed now */
    mutex_lock(&s.lock);
    s.go_on = true;
    cond_broadcast(&s.changed);
    while (!s.ended) {
        clock_wait(clock_real(), &s.changed, &s.lock, CLOCK_NEVER);
    }
    size_t bytes = s.bytes;
    bool was_reset = s.was_reset;
    mutex_unlock(&s.lock);
    assert_in_range(bytes, 0, BIG_BODY - 1);
    assert_true(was_reset);
    raw_server_stop(raw);
    free(body);
    cond_done(&s.changed);
    mutex_done(&s.lock);
}

UNIT_MAIN(http_cancel)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cancel__of_the_handle__ends_all_jobs),
        cmocka_unit_test(cancel__of_one_job__leaves_the_others),
        cmocka_unit_test(http_free__jobs_under_way__cancelled_without_a_step),
        cmocka_unit_test(http_start__from_a_step__runs),
        cmocka_unit_test(http_stop__from_steps__own_and_other),
        cmocka_unit_test(http_stop__from_on_body__no_further_step),
        cmocka_unit_test(
            may_mutate__no_while_the_body_is_sent__broken_off_and_nothing_arrives_later),
    };
    return cmocka_run_group_tests_name("http_cancel", tests, http_group_setup, http_group_teardown);
}
