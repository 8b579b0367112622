/* SPDX-License-Identifier: Apache-2.0 */
/* test_http_tasks.c: many tasks of one thread, each with a request under way.
 *
 * Servers here answer only when all requests are there: were one to wait for another, a
 * test would never end. */
#include "tests/unit/net/get_job.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <unistd.h>

#include "common/base/task.h"
#include "tests/support/http_ignore_sent.h"
#include "tests/support/own_process.h"
#include "tests/support/test_ca.h"
#include "tests/support/unit.h"

#define MOST 64

struct many {
    struct test_server *server;
    struct task_loop *loop;
    struct http_pool *pool;
    const char *url;
    struct cancel *cancel;
    pthread_t thread;
    int rounds; /* requests that each task makes, one after the other */
    int want_code;
    int ended;
    long deepest_kib; /* of stack */
    /* the server's thread */
    struct http_req *waiting[MOST];
    int n, at_once;
};

static void answer_all_at_once(void *arg, struct http_req *req)
{
    struct many *m = arg;
    m->waiting[m->n++] = req;
    while (m->n == m->at_once) {
        for (int i = 0; i < m->at_once; i++) {
            http_req_answer(m->waiting[i], 200, "", 0);
        }
        m->n = 0;
    }
}

static void ask(void *arg)
{
    struct many *m = arg;
    assert_true(pthread_equal(m->thread, pthread_self()));
    for (int i = 0; i < m->rounds; i++) {
        struct arena *a = arena_new();
        struct http *h = http_pool_get(m->pool);
        struct http_request req = {
            .method = "GET", .url = m->url, .idle_ms = -1, .total_ms = -1, .mutates = true};
        struct http_response resp = {0};
        struct err err = ERR_INIT;
        int rc = http_do(h, a, &req, m->cancel, &resp, &err);
        assert_string_equal(err_code_name(m->want_code), err_code_name(rc));
        assert_int_equal(rc == ERR_OK ? 200 : 0, resp.status);
        http_pool_put(m->pool, h);
        arena_free(a);
    }
    long used_kib = own_mapping_kib(__builtin_frame_address(0));
    m->deepest_kib = used_kib > m->deepest_kib ? used_kib : m->deepest_kib;
    m->ended++;
}

static void many_start(struct many *m, int n, const struct http_config *cfg)
{
    struct http_config c = *cfg;
    struct err err = ERR_INIT;
    c.observe = http_ignore_sent;
    c.proxy_url = "";
    m->thread = pthread_self();
    m->rounds = m->rounds == 0 ? 1 : m->rounds;
    m->pool = http_pool_new(&c);
    assert_int_equal(ERR_OK, task_loop_new(&m->loop, &err));
    for (int i = 0; i < n; i++) {
        assert_int_equal(ERR_OK, task_start(m->loop, ask, m, &err));
    }
}

static void many_end(struct many *m)
{
    task_loop_free(m->loop);
    http_pool_free(m->pool);
    test_server_stop(m->server);
}

static void http_do__thirty_two_tasks__all_are_on_the_wire_at_once(void **state)
{
    (void)state;
    struct many m = {.at_once = 32, .rounds = 3};
    m.server =
        test_server_start(&(struct test_server_config){.handle = answer_all_at_once, .arg = &m});
    m.url = test_server_url(m.server, "/");
    many_start(&m, 32, &(struct http_config){0});
    task_loop_run(m.loop);
    assert_int_equal(32, m.ended);
    assert_int_equal(96, test_server_requests(m.server));
    assert_in_range(test_server_connections(m.server), 32, 32);
    assert_in_range(m.deepest_kib, 4, 256);
    many_end(&m);
}

static void http_do__tls_in_tasks__stacks_stay_small(void **state)
{
    (void)state;
    struct test_ca *ca = test_ca_new("Test CA");
    struct test_cert cert =
        test_ca_issue(ca, &(struct test_cert_spec){.cn = "x", .san = "IP:127.0.0.1"});
    struct http_tls tls = {.ca_pem = test_ca_pem(ca)};
    struct many m = {.at_once = 8, .rounds = 2};
    m.server = test_server_start(&(struct test_server_config){.handle = answer_all_at_once,
                                                              .arg = &m,
                                                              .tls_cert_pem = cert.cert_pem,
                                                              .tls_key_pem = cert.key_pem});
    m.url = test_server_url(m.server, "/");
    many_start(&m, 8, &(struct http_config){.tls = &tls});
    task_loop_run(m.loop);
    assert_int_equal(8, m.ended);
    assert_in_range(m.deepest_kib, 4, 512);
    many_end(&m);
    test_cert_done(&cert);
    test_ca_free(ca);
}

static void *cancel_when_all_hang(void *arg)
{
    struct many *m = arg;
    test_server_wait_requests(m->server, 16);
    cancel_fire(m->cancel);
    return NULL;
}

static void http_do__cancelled_from_another_thread__all_tasks_end(void **state)
{
    (void)state;
    struct many m = {.server = test_server_start(NULL), .want_code = ERR_CANCELLED};
    pthread_t thread;
    m.url = test_server_url(m.server, "/hang");
    m.cancel = cancel_new(NULL);
    many_start(&m, 16, &(struct http_config){0});
    pthread_create(&thread, NULL, cancel_when_all_hang, &m);
    task_loop_run(m.loop);
    pthread_join(thread, NULL);
    assert_int_equal(16, m.ended);
    cancel_free(m.cancel);
    many_end(&m);
}

static bool is_still_leader(void *arg)
{
    (void)arg;
    return false;
}

static void http_do__fence_is_closed__no_task_sends(void **state)
{
    (void)state;
    struct many m = {.server = test_server_start(NULL), .want_code = ERR_CANCELLED};
    m.url = test_server_url(m.server, "/ok");
    many_start(&m, 4, &(struct http_config){.may_mutate = is_still_leader});
    task_loop_run(m.loop);
    assert_int_equal(4, m.ended);
    assert_int_equal(0, test_server_requests(m.server));
    many_end(&m);
}

static void http_do__refused_connection__every_task_has_its_error(void **state)
{
    (void)state;
    struct many m = {.server = test_server_start(NULL), .want_code = ERR_TRANSIENT};
    m.url = "http://127.0.0.1:1/"; /* tcpmux: nothing listens */
    many_start(&m, 8, &(struct http_config){0});
    task_loop_run(m.loop);
    assert_int_equal(8, m.ended);
    many_end(&m);
}

/* Sockets get numbers that fd_set cannot name. */
static void http_do__descriptors_above_1024__still_answered(void **state)
{
    (void)state;
    struct rlimit before;
    assert_int_equal(0, getrlimit(RLIMIT_NOFILE, &before));
    struct rlimit more = {.rlim_cur = FD_SETSIZE + 100, .rlim_max = before.rlim_max};
    if (before.rlim_max < more.rlim_cur || setrlimit(RLIMIT_NOFILE, &more) != 0) {
        skip();
    }
    int taken[FD_SETSIZE];
    int n = 0;
    do {
        taken[n] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        assert_true(taken[n] >= 0);
    } while (taken[n++] < FD_SETSIZE);
    struct many m = {.at_once = 4, .rounds = 2};
    m.server =
        test_server_start(&(struct test_server_config){.handle = answer_all_at_once, .arg = &m});
    m.url = test_server_url(m.server, "/");
    many_start(&m, 4, &(struct http_config){0});
    task_loop_run(m.loop);
    assert_int_equal(4, m.ended);
    many_end(&m);
    while (n > 0) {
        (void)close(taken[--n]);
    }
    assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &before));
}

UNIT_MAIN(http_tasks)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(http_do__thirty_two_tasks__all_are_on_the_wire_at_once),
        cmocka_unit_test(http_do__tls_in_tasks__stacks_stay_small),
        cmocka_unit_test(http_do__cancelled_from_another_thread__all_tasks_end),
        cmocka_unit_test(http_do__fence_is_closed__no_task_sends),
        cmocka_unit_test(http_do__refused_connection__every_task_has_its_error),
        cmocka_unit_test(http_do__descriptors_above_1024__still_answered),
    };
    return cmocka_run_group_tests(tests, http_group_setup, http_group_teardown);
}
