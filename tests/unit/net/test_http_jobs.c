/* SPDX-License-Identifier: Apache-2.0 */
/* test_http_jobs.c: several requests at once, jobs of several requests, streams, waiting,
 * stopping. */
#include "tests/support/clock_fake.h"
#include "tests/support/http_ignore_sent.h"
#include "tests/support/unit.h"
#include "tests/unit/net/get_job.h"

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#define N_FAN_OUT 60

/* --- fan-out --------------------------------------------------------------------------------- */

static void http_run__fan_out__connections_are_kept(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct fixture f = fixture_new(NULL);
    struct get_job jobs[N_FAN_OUT];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < N_FAN_OUT; i++) {
            jobs[i] = get_job(test_server_url(s, "/ok"));
        }
        run_get(&f, jobs, N_FAN_OUT);
        for (int i = 0; i < N_FAN_OUT; i++) {
            assert_int_equal(jobs[i].status, 200);
            assert_string_equal(str_buf_text(&jobs[i].body), "ok");
            assert_true(round == 0 || jobs[i].reused);
            str_buf_done(&jobs[i].body);
        }
    }
    assert_int_equal(test_server_requests(s), 2 * N_FAN_OUT);
    assert_in_range(test_server_connections(s), 1, 32);
    fixture_done(&f);
    test_server_stop(s);
}

/* Answers none until 8 requests are there: a client that asks one after the other would hang. */
struct barrier {
    struct http_req *waiting[8];
    int n;
};

static void barrier_handle(void *arg, struct http_req *req)
{
    struct barrier *b = arg;
    b->waiting[b->n++] = req;
    while (b->n == 8) {
        for (int i = 0; i < 8; i++) {
            http_req_answer(b->waiting[i], 200, "", 0);
        }
        b->n = 0;
    }
}

static void http_run__fan_out__all_at_once(void **state)
{
    (void)state;
    struct barrier b = {0};
    struct test_server *s =
        test_server_start(&(struct test_server_config){.handle = barrier_handle, .arg = &b});
    struct fixture f = fixture_new(NULL);
    struct get_job jobs[8];
    for (int i = 0; i < 8; i++) {
        jobs[i] = get_job(test_server_url(s, "/"));
    }
    run_get(&f, jobs, 8);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(jobs[i].status, 200);
    }
    fixture_done(&f);
    test_server_stop(s);
}

static void http_run__job_of_several_requests__one_connection(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct fixture f = fixture_new(NULL);
    struct get_job job = get_job(test_server_url(s, "/ok"));
    job.sends = 5;
    run_get(&f, &job, 1);
    assert_int_equal(job.steps, 6);
    assert_string_equal(str_buf_text(&job.body), "okokokokok");
    assert_int_equal(test_server_requests(s), 5);
    assert_int_equal(test_server_connections(s), 1);
    assert_int_equal(job.job.err.code, ERR_OK);
    str_buf_done(&job.body);
    fixture_done(&f);
    test_server_stop(s);
}

static void http_run__failures__are_per_job(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct fixture f = fixture_new(NULL);
    struct get_job jobs[4] = {get_job(test_server_url(s, "/ok")),
                              get_job(test_server_url(s, "/drop")), get_job("nonsense"),
                              get_job(test_server_url(s, "/status/404"))};
    run_get(&f, jobs, 4);
    static const int codes[] = {ERR_OK, ERR_TRANSIENT, ERR_INVALID, ERR_OK};
    static const int statuses[] = {200, 0, 0, 404};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(jobs[i].job.err.code, codes[i]);
        assert_int_equal(jobs[i].status, statuses[i]);
        str_buf_done(&jobs[i].body);
    }
    assert_string_equal(jobs[1].job.err.message,
                        arena_printf(f.arena, "%s closed the connection without an answer",
                                     test_server_url(s, "")));
    fixture_done(&f);
    test_server_stop(s);
}

/* --- streams --------------------------------------------------------------------------------- */

static bool collect(struct http_job *job, int status, const char *bytes, size_t n)
{
    struct get_job *g = CONTAINER_OF(job, struct get_job, job);
    g->status = status;
    str_append_n(&g->body, bytes, n);
    return true;
}

static void http_run__stream__bytes_as_they_arrive(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct fixture f = fixture_new(NULL);
    struct get_job job = get_job(test_server_url(s, "/stream/1000"));
    job.job.on_body = collect;
    run_get(&f, &job, 1);
    assert_int_equal(job.status, 200);
    assert_true(str_has_prefix(job.body.data, "line 0\nline 1\n"));
    assert_true(str_has_suffix(job.body.data, "line 999\n"));
    str_buf_done(&job.body);

    /* An error's body is for the step, not for the decoder of the stream. */
    job = get_job(test_server_url(s, "/nowhere"));
    job.job.on_body = collect;
    run_get(&f, &job, 1);
    assert_int_equal(job.status, 404);
    assert_string_equal(str_buf_text(&job.body), "no such route");
    str_buf_done(&job.body);
    fixture_done(&f);
    test_server_stop(s);
}

static bool refuse_plain(struct http_job *job, int status, const char *bytes, size_t n)
{
    (void)job, (void)status, (void)bytes, (void)n;
    return false;
}

static bool refuse_with_reason(struct http_job *job, int status, const char *bytes, size_t n)
{
    (void)status, (void)bytes, (void)n;
    err_set(&job->err, ERR_CONFLICT, "too old");
    return false;
}

static void http_run__stream_refused__ends(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct fixture f = fixture_new(NULL);
    struct get_job job = get_job(test_server_url(s, "/endless"));
    job.job.on_body = refuse_plain;
    run_get(&f, &job, 1);
    assert_int_equal(job.job.err.code, ERR_INVALID);
    assert_string_equal(job.job.err.message,
                        arena_printf(f.arena, "answer of %s was refused", test_server_url(s, "")));
    job = get_job(test_server_url(s, "/endless"));
    job.job.on_body = refuse_with_reason;
    run_get(&f, &job, 1);
    assert_int_equal(job.job.err.code, ERR_CONFLICT);
    assert_string_equal(job.job.err.message, "too old");
    test_server_wait_gone(s, 2); /* the connections are really closed */
    fixture_done(&f);
    test_server_stop(s);
}

/* --- deadlines ------------------------------------------------------------------------------- */

/* On a busy machine the time may be over before the request is sent: then it is sent
 * again with more. */
static void http_run__deadlines__end_it(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct fixture f = fixture_new(NULL);
    static const struct {
        const char *path;
        bool idle; /* else in all */
        const char *message;
    } rows[] = {
        {"/hang", true, "no byte from %s for %lld ms"},
        {"/endless", true, "no byte from %s for %lld ms"},
        {"/hang", false, "no answer from %s within %lld ms"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int before = test_server_requests(s);
        for (int64_t ms = 40; test_server_requests(s) == before && ms < 60000; ms *= 2) {
            struct http_request req = {.url = test_server_url(s, rows[i].path),
                                       .idle_ms = rows[i].idle ? ms : -1,
                                       .total_ms = rows[i].idle ? -1 : ms};
            err_clear(&f.err);
            int rc = fixture_send(&f, &req);
            assert_fails(
                &f, rc, ERR_TRANSIENT,
                arena_printf(f.arena, rows[i].message, test_server_url(s, ""), (long long)ms));
        }
    }
    assert_true(test_server_requests(s) >= (int)ARRAY_LEN(rows));
    test_server_wait_gone(s, test_server_requests(s));
    fixture_done(&f);
    test_server_stop(s);
}

/* An answer that has begun.  On a busy machine it may begin late: then with more time. */
static void http_run__deadline_within_an_answer__says_so(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct fixture f = fixture_new(NULL);
    int64_t ms = 50;
    int rc;
    int tries = 0;
    do {
        ms *= 2;
        tries++;
        struct http_request req = {
            .url = test_server_url(s, "/endless"), .idle_ms = -1, .total_ms = ms};
        err_clear(&f.err);
        rc = fixture_send(&f, &req);
    } while (str_has_prefix(f.err.message, "no answer from ") && ms < 60000);
    assert_fails(&f, rc, ERR_TRANSIENT,
                 arena_printf(f.arena, "answer of %s was not complete within %lld ms",
                              test_server_url(s, ""), (long long)ms));
    test_server_wait_gone(s, tries);
    fixture_done(&f);
    test_server_stop(s);
}

/* A listener whose queue is full does not answer SYNs: connecting takes forever. */
static void http_run__cannot_connect__within_connect_ms(void **state)
{
    (void)state;
    struct fixture f = fixture_new(NULL);
    /* TEST-NET-1 (RFC 5737) is never routed; without any route at all it fails at once, also
     * fine. */
    struct http_request req = {.url = "http://192.0.2.1:81/", .connect_ms = 50};
    int rc = fixture_send(&f, &req);
    assert_int_equal(rc, ERR_TRANSIENT);
    assert_true(str_has_prefix(f.err.message, "cannot reach http://192.0.2.1:81: "));
    fixture_done(&f);
}

/* --- time ------------------------------------------------------------------------------------ */

struct mover {
    struct clock *clock;
    struct test_server *server;
    int64_t announced_ms[2];
    int requests_before;
};

static int64_t wait_announced(struct clock *clock)
{
    int64_t at;
    while ((at = clock_fake_next_ms(clock)) == CLOCK_NEVER) {
        sched_yield();
    }
    return at;
}

static void *move_clock(void *arg)
{
    struct mover *m = arg;
    m->announced_ms[0] = wait_announced(m->clock);
    clock_fake_advance(m->clock, 2999);
    m->announced_ms[1] = wait_announced(m->clock);
    m->requests_before = test_server_requests(m->server);
    clock_fake_advance(m->clock, 1);
    return NULL;
}

static void http_run__not_before__by_the_clock_handed_in(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct clock *clock = clock_fake_new(1000, 0);
    struct fixture f = fixture_new(&(struct http_config){.clock = clock});
    struct mover m = {.clock = clock, .server = s};
    pthread_t thread;
    pthread_create(&thread, NULL, move_clock, &m);
    struct http_request req = {.url = test_server_url(s, "/ok"), .not_before_ms = 4000};
    assert_ok(&f, fixture_send(&f, &req));
    pthread_join(thread, NULL);
    assert_int_equal(m.announced_ms[0], 4000);
    assert_int_equal(m.announced_ms[1], 4000);
    assert_int_equal(m.requests_before, 0);
    assert_int_equal(test_server_requests(s), 1);
    fixture_done(&f);
    clock_fake_free(clock);
    test_server_stop(s);
}

/* Bytes of the heap that a handle has more than before, after 8 requests at
 * once, each on a connection of its own. */
static size_t growth_by_wave(bool by_wait)
{
    struct barrier b = {0};
    struct test_server *s =
        test_server_start(&(struct test_server_config){.handle = barrier_handle, .arg = &b});
    struct fixture f = fixture_new(NULL);
    struct get_job jobs[8];
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < 8; i++) {
        jobs[i] = get_job(test_server_url(s, "/"));
    }
    if (by_wait) {
        for (int i = 0; i < 8; i++) {
            http_start(f.http, &jobs[i].job);
        }
        for (int i = 0; i < 8; i++) {
            while (!jobs[i].job.done) {
                http_wait(f.http, CLOCK_NEVER);
            }
        }
    } else {
        run_get(&f, jobs, 8);
    }
    for (int i = 0; i < 8; i++) {
        assert_int_equal(jobs[i].status, 200);
        str_buf_done(&jobs[i].body);
    }
    size_t after = mallinfo2().uordblks;
    fixture_done(&f);
    test_server_stop(s);
    return after > before ? after - before : 0;
}

/* Recycled transfers of a wave are given back, however it was driven: one takes 2 KiB and more. */
static void http_wait__after_a_wave__keeps_no_more_than_http_run(void **state)
{
    (void)state;
    (void)growth_by_wave(false); /* what is made once */
    size_t run = growth_by_wave(false);
    size_t wait = growth_by_wave(true);
    assert_in_range(wait, 0, run + 8 * 512);
}

static void http_wait__until__by_the_clock_handed_in(void **state)
{
    (void)state;
    struct clock *clock = clock_fake_new(1000, 0);
    struct fixture f = fixture_new(&(struct http_config){.clock = clock});
    http_wait(f.http, 1000);
    http_wakeup(f.http); /* one that comes before the wait is not lost */
    http_wait(f.http, CLOCK_NEVER);
    fixture_done(&f);
    clock_fake_free(clock);
}

/* --- waiting for another job ------------------------------------------------------------------ */

/* Waits until the other one has its answer; then asks, or is done. */
struct waiter {
    struct http_job job;
    const struct get_job *other;
    const char *url;
    int looks;
    int status; /* of its own request; -1: cancelled */
};

static enum http_next waiter_step(struct http_job *job, const struct http_response *resp)
{
    struct waiter *w = CONTAINER_OF(job, struct waiter, job);
    if (resp != NULL) {
        w->status = resp->status == 0 ? -1 : resp->status;
        return HTTP_DONE;
    }
    w->looks++;
    if (w->other == NULL || w->other->status == 0) {
        job->req.not_before_ms = 2000;
        return HTTP_WAIT;
    }
    job->req = (struct http_request){.method = "GET", .url = w->url};
    return HTTP_SEND;
}

/* Without the clock, which stands still: what happens on the handle is reason enough to look. */
static void http_run__wait__until_another_job_has_ended(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct clock *clock = clock_fake_new(1000, 0);
    struct fixture f = fixture_new(&(struct http_config){.clock = clock});
    struct get_job other = get_job(test_server_url(s, "/ok"));
    struct waiter w = {
        .job = {.step = waiter_step}, .other = &other, .url = test_server_url(s, "/status/204")};
    struct http_job *jobs[] = {&w.job, &other.job};
    http_run(f.http, jobs, ARRAY_LEN(jobs));
    assert_int_equal(other.status, 200);
    assert_int_equal(w.status, 204);
    assert_int_equal(w.job.err.code, ERR_OK);
    assert_true(w.looks >= 2);
    str_buf_done(&other.body);
    fixture_done(&f);
    clock_fake_free(clock);
    test_server_stop(s);
}

static void *look_twice(void *arg)
{
    struct waiter *w = arg;
    struct clock *clock = w->job.arg;
    (void)wait_announced(clock);
    clock_fake_advance(clock, 1000);
    cancel_fire(w->job.cancel);
    return NULL;
}

static void http_run__wait__ends_when_it_is_cancelled(void **state)
{
    (void)state;
    struct clock *clock = clock_fake_new(1000, 0);
    struct fixture f = fixture_new(&(struct http_config){.clock = clock});
    struct cancel *cancel = cancel_new(NULL);
    struct waiter w = {.job = {.step = waiter_step, .cancel = cancel, .arg = clock}};
    struct http_job *jobs[] = {&w.job};
    pthread_t thread;
    pthread_create(&thread, NULL, look_twice, &w);
    http_run(f.http, jobs, 1);
    pthread_join(thread, NULL);
    assert_int_equal(w.status, -1);
    assert_int_equal(w.job.err.code, ERR_CANCELLED);
    fixture_done(&f);
    cancel_free(cancel);
    clock_fake_free(clock);
}

/* --- fencing --------------------------------------------------------------------------------- */

struct fence {
    int asked;
    int yes; /* how often it says yes */
};

static bool fence_ask(void *arg)
{
    struct fence *f = arg;
    return f->asked++ < f->yes;
}

static void may_mutate__asked_before_each_mutation_only(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct fence fence = {.yes = 3};
    struct fixture f =
        fixture_new(&(struct http_config){.may_mutate = fence_ask, .may_mutate_arg = &fence});
    struct http_request get = {.url = test_server_url(s, "/ok")};
    struct http_request post = {
        .method = "POST", .url = test_server_url(s, "/ok"), .mutates = true};
    struct http_request moved = {.method = "POST",
                                 .url = test_server_url(s, "/to?/ok"),
                                 .mutates = true,
                                 .max_redirects = 1};
    assert_ok(&f, fixture_send(&f, &get));
    assert_int_equal(fence.asked, 0);
    assert_ok(&f, fixture_send(&f, &post));
    assert_int_equal(fence.asked, 1);
    assert_ok(&f, fixture_send(&f, &moved)); /* every hop is a mutation */
    assert_int_equal(fence.asked, 3);
    assert_int_equal(test_server_requests(s), 4);

    struct http_request odd = {.url = test_server_url(s, "/ok"), .mutates = true};
    assert_int_equal(fixture_send(&f, &odd), ERR_CANCELLED); /* a GET that its caller calls one */
    int rc = fixture_send(&f, &post);
    assert_fails(&f, rc, ERR_CANCELLED,
                 arena_printf(f.arena, "POST to %s was not sent: no changes may be made now",
                              test_server_url(s, "")));
    assert_int_equal(test_server_requests(s), 4);
    assert_ok(&f, fixture_send(&f, &get));
    fixture_done(&f);
    test_server_stop(s);
}

/* Answers the first request, reads the second, and closes: it may have been executed. */
static void serve_once(int fd, int nth, void *arg)
{
    (void)nth;
    int *seen = arg;
    char head[4096];
    if (raw_read_head(fd, head, sizeof(head))) {
        __atomic_add_fetch(seen, 1, __ATOMIC_SEQ_CST);
        raw_send_text(fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    }
    if (raw_read_head(fd, head, sizeof(head))) {
        __atomic_add_fetch(seen, 1, __ATOMIC_SEQ_CST);
    }
}

static void http_do__kept_connection_dies__mutation_is_not_repeated(void **state)
{
    (void)state;
    static const struct {
        const char *method;
        int code, seen;
    } rows[] = {{"GET", ERR_OK, 3}, {"POST", ERR_TRANSIENT, 2}, {"DELETE", ERR_TRANSIENT, 2}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int seen = 0;
        struct raw_server *s = raw_server_start(serve_once, &seen);
        struct fixture f = fixture_new(NULL);
        struct http_request req = {.method = rows[i].method, .url = raw_server_url(s)};
        assert_ok(&f, fixture_send(&f, &req));
        assert_int_equal(fixture_send(&f, &req), rows[i].code);
        assert_int_equal(__atomic_load_n(&seen, __ATOMIC_SEQ_CST), rows[i].seen);
        if (rows[i].code != ERR_OK) {
            assert_string_equal(f.err.message,
                                arena_printf(f.arena, "%s closed the connection without an answer",
                                             raw_server_url(s)));
            assert_string_equal(f.err.reason, "broken");
        }
        fixture_done(&f);
        raw_server_stop(s);
    }
}

/* --- pools ------------------------------------------------------------------------------------ */

static void http_pool__put_and_get__warm_and_unbound(void **state)
{
    (void)state;
    struct test_server *s = test_server_start(NULL);
    struct cancel *cancel = cancel_new(NULL);
    struct http_pool *pool =
        http_pool_new(&(struct http_config){.proxy_url = "", .observe = http_ignore_sent});
    struct fixture f = {.arena = arena_new()};
    f.http = http_pool_get(pool);
    struct http *first = f.http;
    struct http *second = http_pool_get(pool);
    assert_ptr_not_equal(first, second);
    assert_ok(&f, fixture_get(&f, test_server_url(s, "/ok")));
    http_bind(f.http, cancel, NULL, NULL, NULL);
    cancel_fire(cancel);
    assert_int_equal(fixture_get(&f, test_server_url(s, "/ok")), ERR_CANCELLED);
    http_pool_put(pool, second);
    http_pool_put(pool, first);
    cancel_free(cancel);

    f.http = http_pool_get(pool);
    assert_ptr_equal(f.http, first);
    assert_ok(&f, fixture_get(&f, test_server_url(s, "/ok")));
    assert_int_equal(test_server_connections(s), 1);
    http_pool_put(pool, f.http);
    http_pool_put(pool, NULL);
    http_pool_free(pool);
    http_pool_free(NULL);
    arena_free(f.arena);
    test_server_stop(s);
}

UNIT_MAIN(http_jobs)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(http_run__fan_out__connections_are_kept),
        cmocka_unit_test(http_run__fan_out__all_at_once),
        cmocka_unit_test(http_run__job_of_several_requests__one_connection),
        cmocka_unit_test(http_run__failures__are_per_job),
        cmocka_unit_test(http_run__stream__bytes_as_they_arrive),
        cmocka_unit_test(http_run__stream_refused__ends),
        cmocka_unit_test(http_run__deadlines__end_it),
        cmocka_unit_test(http_run__deadline_within_an_answer__says_so),
        cmocka_unit_test(http_run__cannot_connect__within_connect_ms),
        cmocka_unit_test(http_run__not_before__by_the_clock_handed_in),
        cmocka_unit_test(http_wait__after_a_wave__keeps_no_more_than_http_run),
        cmocka_unit_test(http_wait__until__by_the_clock_handed_in),
        cmocka_unit_test(http_run__wait__until_another_job_has_ended),
        cmocka_unit_test(http_run__wait__ends_when_it_is_cancelled),
        cmocka_unit_test(may_mutate__asked_before_each_mutation_only),
        cmocka_unit_test(http_do__kept_connection_dies__mutation_is_not_repeated),
        cmocka_unit_test(http_pool__put_and_get__warm_and_unbound),
    };
    return cmocka_run_group_tests_name("http_jobs", tests, http_group_setup, http_group_teardown);
}
