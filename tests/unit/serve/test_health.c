/* SPDX-License-Identifier: Apache-2.0 */
/* test_health.c: /healthz, /livez, /readyz: vectors 213–217 of controller.md §6.12, named checks,
 * what is withheld, and what is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "common/base/attr.h"
#include "controller/serve/health.h"
#include "tests/support/unit.h"

struct world {
    struct arena *a;
    struct metrics *m;
    struct health *h;
    struct page_answer answer;
};

static int set_up(void **state)
{
    static struct world w;

    w = (struct world){.a = arena_new(), .m = metrics_new()};
    w.h = health_new(w.m);
    *state = &w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    health_free(w->h);
    metrics_free(w->m);
    str_buf_done(&w->answer.body);
    arena_free(w->a);
    return 0;
}

/* Asks, and checks status and body. */
static void expect(struct world *w, const char *path, const char *query, int status,
                   const char *body)
{
    const struct page_request req = {
        .a = w->a, .method = "GET", .path = path, .query = query, .accept = "", .body = ""};
    str_buf_done(&w->answer.body);
    w->answer = (struct page_answer){.status = 200, .content_type = PAGE_TEXT};
    health_page(w->h, &req, &w->answer);
    assert_string_equal(str_buf_text(&w->answer.body), body);
    assert_int_equal(w->answer.status, status);
    assert_string_equal(w->answer.content_type, PAGE_TEXT);
    assert_true(w->answer.nosniff);
}

static bool fine(void *arg, char *why, size_t n)
{
    int *runs = arg;

    (void)why;
    (void)n;
    if (runs != NULL) {
        ++*runs;
    }
    return true;
}

static bool broken(void *arg, char *why, size_t n)
{
    (void)arg;
    (void)snprintf(why, n, "failed election to renew leadership on lease x");
    return false;
}

static void add_both(struct world *w, health_check_fn *elector)
{
    health_add(w->h, "leaderElection", HEALTH_Z | HEALTH_LIVE, elector, NULL);
    health_add(w->h, "service-lb-controller", HEALTH_Z, fine, NULL);
}

static void no_checks__there_is_ping(void **state)
{
    struct world *w = *state;

    expect(w, "/healthz", "", 200, "ok");
    expect(w, "/readyz", "verbose", 200, "[+]ping ok\nreadyz check passed\n");
    expect(w, "/livez/ping", "", 200, "ok");
}

static void v213_v214__all_fine(void **state)
{
    struct world *w = *state;

    add_both(w, fine);
    expect(w, "/healthz", "", 200, "ok");
    expect(w, "/healthz/", "", 200, "ok");
    expect(w, "/healthz", "verbose", 200,
           "[+]leaderElection ok\n[+]service-lb-controller ok\nhealthz check passed\n");
    expect(w, "/healthz", "verbose=false", 200,
           "[+]leaderElection ok\n[+]service-lb-controller ok\nhealthz check passed\n");
    expect(w, "/livez", "verbose", 200, "[+]leaderElection ok\nlivez check passed\n");
    expect(w, "/readyz", "verbose", 200, "[+]ping ok\nreadyz check passed\n");
}

static void v215__a_failure_is_500_and_its_reason_withheld(void **state)
{
    struct world *w = *state;

    add_both(w, broken);
    expect(w, "/healthz", "", 500,
           "[-]leaderElection failed: reason withheld\n[+]service-lb-controller ok\n"
           "healthz check failed\n");
    expect(w, "/readyz", "", 200, "ok");
}

static void v216__what_is_excluded_is_not_run(void **state)
{
    struct world *w = *state;
    int runs = 0;

    add_both(w, broken);
    health_add(w->h, "counted", HEALTH_Z, fine, &runs);
    expect(w, "/healthz", "exclude=leaderElection&exclude=counted", 200, "ok");
    assert_int_equal(runs, 0);
    expect(w, "/healthz", "exclude=leaderElection&verbose&exclude=counted", 200,
           "[+]leaderElection excluded: ok\n[+]service-lb-controller ok\n[+]counted excluded: ok\n"
           "healthz check passed\n");
}

static void v217__an_exclude_without_a_match_is_said(void **state)
{
    struct world *w = *state;

    add_both(w, fine);
    expect(w, "/healthz", "verbose&exclude=nope", 200,
           "[+]leaderElection ok\n[+]service-lb-controller ok\n"
           "warn: some health checks cannot be excluded: no matches for \"nope\"\n"
           "healthz check passed\n");
    expect(w, "/healthz", "verbose&exclude=b%22&exclude=a+b&exclude=a%20b&exclude=%zz", 200,
           "[+]leaderElection ok\n[+]service-lb-controller ok\n"
           "warn: some health checks cannot be excluded: no matches for \"a b\",\"b\\\"\"\n"
           "healthz check passed\n");
    expect(w, "/healthz", "exclude=nope", 200, "ok");
}

/* /healthz/NAME is not open to all: it may tell. */
static void one_check__tells_why(void **state)
{
    struct world *w = *state;

    add_both(w, broken);
    expect(w, "/healthz/service-lb-controller", "", 200, "ok");
    expect(w, "/healthz/leaderElection", "", 500,
           "internal server error: failed election to renew leadership on lease x\n");
    expect(w, "/healthz/nope", "", 404, "404 page not found\n");
    expect(w, "/readyz/leaderElection", "", 404, "404 page not found\n");
    expect(w, "/healthzz", "", 404, "404 page not found\n");
}

static void a_check__can_be_replaced_and_removed(void **state)
{
    struct world *w = *state;

    add_both(w, broken);
    health_add(w->h, "leaderElection", HEALTH_Z, fine, NULL);
    expect(w, "/healthz", "verbose", 200,
           "[+]leaderElection ok\n[+]service-lb-controller ok\nhealthz check passed\n");
    health_remove(w->h, "leaderElection");
    health_remove(w->h, "nope");
    expect(w, "/healthz", "verbose", 200, "[+]service-lb-controller ok\nhealthz check passed\n");
}

static void runs__are_counted(void **state)
{
    struct world *w = *state;
    const struct tt_kv name[] = {
        {"name", "leaderElection"}, {"type", "healthz"}, {"status", "error"}};
    const struct tt_kv good[] = {
        {"name", "service-lb-controller"}, {"type", "healthz"}, {"status", "success"}};

    add_both(w, broken);
    expect(w, "/healthz", "", 500,
           "[-]leaderElection failed: reason withheld\n[+]service-lb-controller ok\n"
           "healthz check failed\n");
    assert_true(metrics_value(w->m, "kubernetes_healthcheck", name, 2) == 0);
    assert_true(metrics_value(w->m, "kubernetes_healthcheck", good, 2) == 1);
    assert_true(metrics_value(w->m, "kubernetes_healthchecks_total", name, 3) == 1);
    assert_true(metrics_value(w->m, "kubernetes_healthchecks_total", good, 3) == 1);
}

/* ---- threads --------------------------------------------------------------------------------- */

struct racer {
    struct health *h;
    atomic_bool stop;
};

static bool alive(void *arg, char *why, size_t n)
{
    (void)why;
    (void)n;
    return atomic_load((atomic_bool *)arg);
}

/* A check that was removed is not run any more: its argument is gone then. */
static void *add_and_remove(void *arg)
{
    struct racer *r = arg;

    while (!atomic_load(&r->stop)) {
        atomic_bool is_alive = true;
        health_add(r->h, "short-lived", HEALTH_Z, alive, &is_alive);
        health_remove(r->h, "short-lived");
        atomic_store(&is_alive, false);
    }
    return NULL;
}

static void checks_that_come_and_go__are_never_run_when_gone(void **state)
{
    struct world *w = *state;
    struct racer r = {.h = w->h};
    pthread_t thread;

    add_both(w, fine);
    assert_int_equal(pthread_create(&thread, NULL, add_and_remove, &r), 0);
    for (int i = 0; i < 300; i++) {
        expect(w, "/healthz", "", 200, "ok");
    }
    atomic_store(&r.stop, true);
    pthread_join(thread, NULL);
}

UNIT_MAIN(health)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(no_checks__there_is_ping),
        T(v213_v214__all_fine),
        T(v215__a_failure_is_500_and_its_reason_withheld),
        T(v216__what_is_excluded_is_not_run),
        T(v217__an_exclude_without_a_match_is_said),
        T(one_check__tells_why),
        T(a_check__can_be_replaced_and_removed),
        T(runs__are_counted),
        T(checks_that_come_and_go__are_never_run_when_gone),
    };
    return cmocka_run_group_tests_name("serve-health", tests, NULL, NULL);
}
