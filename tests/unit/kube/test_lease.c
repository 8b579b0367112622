/* SPDX-License-Identifier: Apache-2.0 */
/* test_lease.c: one lock against a scripted API server: which requests, what they say, when it is
 * lost.
 *
 * Vectors 152–154 of controller.md §6.9; recorded answers 106–118.  The clock is a fake one. */
#include "controller/kube/lease/lease.h"
#include "tests/unit/kube/kube_test.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/str.h"
#include "tests/support/clock_fake.h"
#include "tests/support/kube_ignore_sent.h"
#include "tests/support/unit.h"
#include "tests/unit/kube/fake_api.h"

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
#define LEASE  LEASES "/lock"

/* The server's lease, by its version and holder. */
#define BODY(version, holder)                                                                      \
    "{'kind':'Lease','apiVersion':'coordination.k8s.io/v1','metadata':{'name':'lock','namespace':" \
    "'kube-system','uid':'u-1','resourceVersion':'" version "','labels':{'keep':'me'}},'spec':{"   \
    "'holderIdentity':'" holder "','leaseDurationSeconds':15,'acquireTime':"                       \
    "'2026-01-02T03:00:00.000000Z','renewTime':'2026-01-02T03:04:00.000000Z',"                     \
    "'leaseTransitions':3}}"
#define ABSENT                                                                                     \
    {                                                                                              \
        .status = 404, .body = "{'kind':'Status','reason':'NotFound','message':'no'}"              \
    }
#define CONFLICT                                                                                   \
    {                                                                                              \
        .status = 409, .body = "{'kind':'Status','reason':'Conflict','message':'old'}"             \
    }
#define BROKEN                                                                                     \
    {                                                                                              \
        .status = 500, .body = ""                                                                  \
    }

struct world {
    struct fake_api *api;
    struct kube_client *client;
    struct rng *rng;
    struct cancel *cancel;
    struct lease_lock *lock;
    struct told *told;
};

/* By callbacks; a world is copied. */
struct told {
    int slow_paths;
    int renewals; /* how often it was asked for leave */
    int most;     /* how often that is given; 0: always */
};

static void on_slow_path(void *arg)
{
    ((struct told *)arg)->slow_paths++;
}

static bool may_renew(void *arg, struct err *err)
{
    struct told *t = arg;
    if (t->most == 0 || t->renewals++ < t->most) {
        return true;
    }
    (void)err_set(err, ERR_TRANSIENT, "nothing gets done");
    return false;
}

static struct world world_start(const struct api_step *steps, size_t n)
{
    struct world w = {.api = fake_api_start(steps, n), .rng = rng_seeded_new(7)};
    w.told = xcalloc(1, sizeof *w.told);
    w.cancel = cancel_new(NULL);
    w.client = kube_client_new(&(struct kube_client_args){
        .observe = kube_ignore_sent,
        .config = fake_api_config(w.api),
        .user_agent = "x/leader-election",
        .qps = -1,
        .clock = fake_api_clock(w.api),
    });
    w.lock = lease_lock_new(&(struct lease_lock_args){
        .terms = {.ns = "kube-system",
                  .name = "lock",
                  .identity = "me",
                  .duration_ms = 15000,
                  .renew_deadline_ms = 10000,
                  .retry_ms = 2000},
        .client = w.client,
        .clock = fake_api_clock(w.api),
        .rng = w.rng,
        .slow_path = on_slow_path,
        .may_renew = may_renew,
        .arg = w.told,
    });
    return w;
}

static void world_stop(struct world *w)
{
    lease_lock_free(w->lock);
    kube_client_free(w->client);
    fake_api_stop(w->api);
    cancel_free(w->cancel);
    rng_free(w->rng);
    free(w->told);
}

#define START(...)                                                                                 \
    const struct api_step steps[] = {__VA_ARGS__};                                                 \
    struct world w = world_start(steps, ARRAY_LEN(steps))

static void advance(struct world *w, int64_t ms)
{
    clock_fake_advance(fake_api_clock(w->api), ms);
}

static int64_t now_ms(struct world *w)
{
    return clock_now_ms(fake_api_clock(w->api));
}

static bool try(struct world *w)
{
    struct err err = ERR_INIT;
    bool leads = lease_lock_try(w->lock, w->cancel, &err);
    assert_int_equal(leads, err.code == ERR_OK);
    return leads;
}

static const char *request(struct world *w, int i)
{
    const char *target = fake_api_target(w->api, i);
    return target;
}

/* --- a blocking call in a thread of its own, while the test moves the clock ------------------- */
struct job {
    int (*fn)(struct lease_lock *l, struct cancel *cancel, struct err *err);
    struct world *w;
    struct err err;
    int rc;
    int64_t took_ms; /* by the fake clock */
    pthread_t thread;
    _Atomic bool done;
};

static void *job_main(void *arg)
{
    struct job *j = arg;
    int64_t began_ms = now_ms(j->w);
    j->rc = j->fn(j->w->lock, j->w->cancel, &j->err);
    j->took_ms = now_ms(j->w) - began_ms;
    j->done = true;
    return NULL;
}

static void job_start(struct job *j)
{
    assert_int_equal(pthread_create(&j->thread, NULL, job_main, j), 0);
}

static bool job_is_done(void *arg)
{
    return ((struct job *)arg)->done;
}

static void job_run(struct job *j)
{
    job_start(j);
    fake_api_until(j->w->api, job_is_done, j);
    (void)pthread_join(j->thread, NULL);
}

/* --- requests --------------------------------------------------------------------------------- */

static void lease_try__no_lease__created_then_renewed(void **state)
{
    START(ABSENT, {.status = 201, .body = BODY("7", "me")}, {.body = BODY("8", "me")},
          {.body = BODY("9", "me")});
    (void)state;
    assert_true(try(&w));
    advance(&w, 2000);
    assert_true(try(&w));
    advance(&w, 2000);
    assert_true(try(&w));
    assert_int_equal(fake_api_count(w.api), 4); /* 152 */
    assert_string_equal(request(&w, 0), "GET " LEASE "?timeout=5s");
    assert_string_equal(request(&w, 1), "POST " LEASES "?timeout=5s");
    assert_string_equal(request(&w, 2), "PUT " LEASE "?timeout=5s");
    assert_string_equal(request(&w, 3), "PUT " LEASE "?timeout=5s");
    assert_string_equal(
        fake_api_body(w.api, 1),
        "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":"
        "{\"name\":\"lock\",\"namespace\":\"kube-system\"},\"spec\":{"
        "\"holderIdentity\":\"me\",\"leaseDurationSeconds\":15,"
        "\"acquireTime\":\"2026-01-02T03:04:05.000000Z\","
        "\"renewTime\":\"2026-01-02T03:04:05.000000Z\",\"leaseTransitions\":0}}");
    const char *put = fake_api_body(w.api, 3);
    assert_non_null(strstr(put, "\"resourceVersion\":\"8\""));
    assert_non_null(strstr(put, "\"labels\":{\"keep\":\"me\"}"));
    assert_non_null(strstr(put, "\"acquireTime\":\"2026-01-02T03:04:05.000000Z\",\"renewTime\":"
                                "\"2026-01-02T03:04:09.000000Z\""));
    assert_string_equal(lease_lock_uid(w.lock), "u-1");
    assert_string_equal(lease_lock_version(w.lock), "9");
    world_stop(&w);
}

static void lease_try__conflict__reads_and_renews(void **state)
{
    START(ABSENT, {.status = 201, .body = BODY("7", "me")}, CONFLICT, {.body = BODY("12", "me")},
          {.body = BODY("13", "me")});
    (void)state;
    assert_true(try(&w));
    advance(&w, 2000);
    assert_true(try(&w));
    assert_int_equal(fake_api_count(w.api), 5); /* 153 */
    assert_string_equal(request(&w, 2), "PUT " LEASE "?timeout=5s");
    assert_string_equal(request(&w, 3), "GET " LEASE "?timeout=5s");
    assert_string_equal(request(&w, 4), "PUT " LEASE "?timeout=5s");
    assert_non_null(strstr(fake_api_body(w.api, 4), "\"resourceVersion\":\"12\""));
    assert_non_null(strstr(fake_api_body(w.api, 4), "\"leaseTransitions\":3"));
    assert_int_equal(w.told->slow_paths, 1);
    world_stop(&w);
}

/* Between reading and writing another client was faster: it is not ours, whatever we wanted. */
static void lease_try__two_candidates__the_slower_one_does_not_lead(void **state)
{
    START({.body = BODY("7", "")}, CONFLICT, {.body = BODY("8", "you")});
    (void)state;
    assert_false(try(&w));
    assert_false(lease_lock_is_held(w.lock));
    advance(&w, 2000);
    assert_false(try(&w));
    assert_string_equal(lease_lock_holder(w.lock), "you");
    assert_int_equal(fake_api_count(w.api), 3);
    world_stop(&w);
}

/* The server's answer is not a lease. */
static void lease_try__odd_answers__nothing_is_believed(void **state)
{
    START({.body = "<html>hello</html>"}, {.body = "[]"},
          {.body = "{'kind':'Service','metadata':{}}"}, {.body = "{'kind':'Lease','metadata':7}"},
          BROKEN, ABSENT, {.status = 201, .body = "<html>made</html>"});
    (void)state;
    for (int i = 0; i < 6; i++) {
        assert_false(try(&w));
        assert_false(lease_lock_is_held(w.lock));
    }
    assert_int_equal(fake_api_count(w.api), 7);
    world_stop(&w);
}

/* --- taking ----------------------------------------------------------------------------------- */

static void lease_acquire__held_by_another__waits_until_it_runs_out(void **state)
{
#define YOURS {.body = BODY("7", "you")}
    /* Tries come 2.0 to 4.4 s apart; the 15 s begin with the first look. */
    START(YOURS, YOURS, YOURS, YOURS, YOURS, YOURS, YOURS, YOURS, YOURS);
    (void)state;
    struct job j = {.fn = lease_lock_acquire, .w = &w};
    job_start(&j);
    int seen = 0;
    while (!str_has_prefix(request(&w, seen - 1 < 0 ? 0 : seen - 1), "PUT ")) {
        fake_api_wait(w.api, ++seen);
    }
    int64_t waited_ms = now_ms(&w) - 1000000;
    assert_in_range(waited_ms, 15000, 15000 + 4400);
    assert_non_null(strstr(fake_api_body(w.api, seen - 1), "\"holderIdentity\":\"me\""));
    assert_non_null(strstr(fake_api_body(w.api, seen - 1), "\"leaseTransitions\":4"));
    cancel_fire(w.cancel);
    fake_api_until(w.api, job_is_done, &j);
    (void)pthread_join(j.thread, NULL);
    world_stop(&w);
}

/* How often the advice about the role is in the log of a process that is refused `n` times and then
 * gets its lease. */
static int advices_after_refusals(int n)
{
    struct api_step steps[16] = {{0}};
    for (int i = 0; i < n; i++) {
        steps[i] = (struct api_step){
            .status = 403, .body = "{'kind':'Status','reason':'Forbidden','message':'not yet'}"};
    }
    steps[n] = (struct api_step)ABSENT;
    steps[n + 1] = (struct api_step){.status = 201, .body = BODY("7", "me")};
    int fd = memfd_create("log", MFD_CLOEXEC);
    log_setup(&(struct log_config){.fd = fd});
    struct world w = world_start(steps, (size_t)n + 2);
    struct job j = {.fn = lease_lock_acquire, .w = &w};
    job_run(&j);
    assert_int_equal(j.rc, ERR_OK);
    world_stop(&w);
    log_setup(&(struct log_config){.fd = STDERR_FILENO});
    char text[16384] = "";
    assert_true(pread(fd, text, sizeof text - 1, 0) > 0);
    close(fd);
    int count = 0;
    for (const char *at = text; (at = strstr(at, "'trimtab rbac'")) != NULL; at++) {
        count++;
    }
    return count;
}

/* A server that is just starting has not read its roles yet. */
static void lease_acquire__refused_for_a_moment__no_advice_about_roles(void **state)
{
    (void)state;
    assert_int_equal(advices_after_refusals(1), 0);
    assert_int_equal(advices_after_refusals(2), 0);
    assert_true(advices_after_refusals(9) > 0); /* 2 to 4.4 s apart: for 16 s at least */
}

static void lease_acquire__cancelled__ends_at_once(void **state)
{
    START({.body = BODY("7", "you")});
    (void)state;
    struct job j = {.fn = lease_lock_acquire, .w = &w};
    job_start(&j);
    fake_api_wait(w.api, 1);
    cancel_fire(w.cancel);
    (void)pthread_join(j.thread, NULL);
    assert_int_equal(j.rc, ERR_CANCELLED);
    assert_false(lease_lock_is_held(w.lock));
    world_stop(&w);
}

/* --- keeping ---------------------------------------------------------------------------------- */

static void lease_keep__server_fails__closed_after_the_deadline_then_lost(void **state)
{
    START(ABSENT, {.status = 201, .body = BODY("7", "me")}, BROKEN, BROKEN, BROKEN, BROKEN, BROKEN,
          BROKEN, BROKEN, BROKEN, BROKEN, BROKEN, BROKEN, BROKEN);
    (void)state;
    assert_true(try(&w));
    int64_t sent_ms = now_ms(&w);
    assert_int_equal(lease_lock_until_ms(w.lock), sent_ms + 10000);
    struct job j = {.fn = lease_lock_keep, .w = &w};
    job_run(&j);
    assert_int_equal(j.rc, ERR_TRANSIENT);
    assert_int_equal(j.took_ms,
                     12000); /* a pause, then the renew deadline; the lease itself has 15 s */
    assert_false(lease_lock_is_held(w.lock));
    assert_int_equal(lease_lock_until_ms(w.lock), 0);
    assert_string_equal(request(&w, 2), "PUT " LEASE "?timeout=5s");
    assert_string_equal(request(&w, 3), "GET " LEASE "?timeout=5s");
    world_stop(&w);
}

/* Ten seconds after a renewal was sent nothing may be done, though it is not lost yet; the next
 * renewal fixes it. */
static void lease_is_held__no_renewal_for_the_deadline__no_until_the_next(void **state)
{
    START(ABSENT, {.status = 201, .body = BODY("7", "me")}, {.body = BODY("8", "me")});
    (void)state;
    assert_true(try(&w));
    advance(&w, 9999);
    assert_true(lease_lock_is_held(w.lock));
    advance(&w, 1);
    assert_false(lease_lock_is_held(w.lock));
    assert_true(lease_lock_is_healthy(w.lock));
    assert_true(try(&w));
    assert_true(lease_lock_is_held(w.lock));
    advance(&w, 35001);
    assert_false(lease_lock_is_healthy(w.lock));
    world_stop(&w);
}

static void lease_keep__another_name_in_it__lost_at_once(void **state)
{
    START(ABSENT, {.status = 201, .body = BODY("7", "me")}, CONFLICT, {.body = BODY("9", "you")});
    (void)state;
    assert_true(try(&w));
    struct job j = {.fn = lease_lock_keep, .w = &w};
    job_run(&j);
    assert_int_equal(j.rc, ERR_CONFLICT);
    assert_string_equal(j.err.message,
                        "lock kube-system/lock is held by you and has not yet expired");
    assert_int_equal(j.took_ms, 2000);
    assert_false(lease_lock_is_held(w.lock));
    world_stop(&w);
}

/* A holder that gets nothing done: without another request, as if it were lost. */
static void lease_keep__may_not_renew__lost_without_a_request(void **state)
{
    START(ABSENT, {.status = 201, .body = BODY("7", "me")}, {.body = BODY("8", "me")});
    (void)state;
    assert_true(try(&w));
    w.told->most = 1;
    struct job j = {.fn = lease_lock_keep, .w = &w};
    job_run(&j);
    assert_int_equal(j.rc, ERR_TRANSIENT);
    assert_string_equal(j.err.message, "nothing gets done");
    assert_int_equal(j.took_ms, 4000); /* two pauses, and one renewal between them */
    assert_int_equal(w.told->renewals, 2);
    assert_int_equal(fake_api_count(w.api), 3);
    assert_false(lease_lock_is_held(w.lock));
    assert_int_equal(lease_lock_until_ms(w.lock), 0);
    world_stop(&w);
}

static void lease_keep__cancelled__still_held(void **state)
{
    START(ABSENT, {.status = 201, .body = BODY("7", "me")}, {.body = BODY("8", "me")});
    (void)state;
    assert_true(try(&w));
    struct job j = {.fn = lease_lock_keep, .w = &w};
    job_start(&j);
    fake_api_wait(w.api, 3);
    cancel_fire(w.cancel);
    (void)pthread_join(j.thread, NULL);
    assert_int_equal(j.rc, ERR_CANCELLED);
    assert_true(lease_lock_is_held(w.lock));
    world_stop(&w);
}

/* --- letting go ------------------------------------------------------------------------------- */

static void lease_release__held__nobody_for_a_second(void **state)
{
    START(ABSENT, {.status = 201, .body = BODY("7", "me")}, {.body = BODY("8", "")});
    (void)state;
    assert_true(try(&w));
    advance(&w, 1000);
    assert_int_equal(lease_lock_release(w.lock, 1000, NULL, NULL), ERR_OK);
    assert_string_equal(request(&w, 2), "PUT " LEASE "?timeout=1s"); /* 154 */
    const char *spec = strstr(fake_api_body(w.api, 2), "\"spec\"");
    assert_string_equal(spec, "\"spec\":{\"leaseDurationSeconds\":1,"
                              "\"acquireTime\":\"2026-01-02T03:04:06.000000Z\","
                              "\"renewTime\":\"2026-01-02T03:04:06.000000Z\","
                              "\"leaseTransitions\":3}}");
    assert_false(lease_lock_is_held(w.lock));
    assert_int_equal(lease_lock_release(w.lock, 1000, NULL, NULL), ERR_OK); /* nothing to do */
    assert_int_equal(fake_api_count(w.api), 3);
    world_stop(&w);
}

static void lease_release__changed_or_taken__never_anothers(void **state)
{
    START(ABSENT, {.status = 201, .body = BODY("7", "me")}, CONFLICT, {.body = BODY("9", "me")},
          CONFLICT, {.body = BODY("10", "you")});
    (void)state;
    assert_true(try(&w));
    assert_int_equal(lease_lock_release(w.lock, 1000, NULL, NULL), ERR_OK);
    assert_int_equal(fake_api_count(w.api), 6);
    assert_non_null(strstr(fake_api_body(w.api, 4), "\"resourceVersion\":\"9\""));
    assert_true(str_has_prefix(request(&w, 5), "GET "));
    world_stop(&w);
}

static void lease_release__never_held__nothing_is_sent(void **state)
{
    START({.body = BODY("7", "you")});
    (void)state;
    assert_false(try(&w));
    assert_int_equal(lease_lock_release(w.lock, 1000, NULL, NULL), ERR_OK);
    assert_int_equal(fake_api_count(w.api), 1);
    world_stop(&w);
}

/* Whether a write without an answer was done, is found out before the end. */
static void lease_release__answer_was_lost__looks_and_lets_go(void **state)
{
    START(ABSENT, {.way = API_DROP}, {.body = BODY("7", "me")}, {.body = BODY("8", "")});
    (void)state;
    assert_false(try(&w));
    assert_int_equal(lease_lock_release(w.lock, 1000, NULL, NULL), ERR_OK);
    assert_int_equal(fake_api_count(w.api), 4);
    assert_true(str_has_prefix(request(&w, 2), "GET "));
    assert_true(str_has_prefix(request(&w, 3), "PUT "));
    assert_null(strstr(fake_api_body(w.api, 3), "holderIdentity"));
    world_stop(&w);
}

static void lease_release__server_fails__says_so(void **state)
{
    START(ABSENT, {.status = 201, .body = BODY("7", "me")}, BROKEN);
    (void)state;
    struct err err = ERR_INIT;
    assert_true(try(&w));
    assert_int_equal(lease_lock_release(w.lock, 1000, NULL, &err), ERR_TRANSIENT);
    assert_true(str_has_prefix(err.message, "lock kube-system/lock: "));
    assert_false(lease_lock_is_held(w.lock));
    world_stop(&w);
}

UNIT_MAIN(lease)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lease_try__no_lease__created_then_renewed),
        cmocka_unit_test(lease_try__conflict__reads_and_renews),
        cmocka_unit_test(lease_try__two_candidates__the_slower_one_does_not_lead),
        cmocka_unit_test(lease_try__odd_answers__nothing_is_believed),
        cmocka_unit_test(lease_acquire__held_by_another__waits_until_it_runs_out),
        cmocka_unit_test(lease_acquire__refused_for_a_moment__no_advice_about_roles),
        cmocka_unit_test(lease_acquire__cancelled__ends_at_once),
        cmocka_unit_test(lease_keep__server_fails__closed_after_the_deadline_then_lost),
        cmocka_unit_test(lease_is_held__no_renewal_for_the_deadline__no_until_the_next),
        cmocka_unit_test(lease_keep__another_name_in_it__lost_at_once),
        cmocka_unit_test(lease_keep__may_not_renew__lost_without_a_request),
        cmocka_unit_test(lease_keep__cancelled__still_held),
        cmocka_unit_test(lease_release__held__nobody_for_a_second),
        cmocka_unit_test(lease_release__changed_or_taken__never_anothers),
        cmocka_unit_test(lease_release__never_held__nothing_is_sent),
        cmocka_unit_test(lease_release__answer_was_lost__looks_and_lets_go),
        cmocka_unit_test(lease_release__server_fails__says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
