/* SPDX-License-Identifier: Apache-2.0 */
/* test_metrics_live.c: what a running controller counts and shows: plans, operations, why Services
 * were taken, how old what is being worked at is, in which state Services are, how much of the API
 * budget is left; requests as client-go counts them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <string.h>

#include "controller/metrics/client_metrics.h"
#include "controller/metrics/metrics_text.h"
#include "controller/status/metrics_live.h"
#include "tests/support/clock_fake.h"
#include "tests/support/kube_ignore_sent.h"
#include "tests/support/unit.h"
#include "tests/unit/controller/stand.h"

static int set_up(void **state)
{
    *state = stand_new(TT_CAP_REPORTS_PLANS);
    return 0;
}

static int tear_down(void **state)
{
    stand_free(*state);
    return 0;
}

static double value(struct stand *r, const char *metric, const char *label, const char *text)
{
    return metrics_value(r->metrics, metric, &(struct tt_kv){label, text}, 1);
}

static void scrape(struct stand *r)
{
    struct str_buf b = STR_BUF_INIT;

    metrics_text(r->metrics, r->a, METRICS_TEXT, "", &b);
    str_buf_done(&b);
}

static void sync__its_plan_and_operations_are_counted(void **state)
{
    struct stand *r = *state;
    const struct tt_kv done[] = {{"verb", "create"}, {"kind", "thing"}, {"result", "ok"}};

    r->provider->plan_operations = 2;
    stand_service(r, "web", STAND_LB, NULL, NULL);
    stand_run(r);
    assert_true(value(r, METRIC_PLANS, "result", "changes") == 1);
    assert_true(value(r, METRIC_PLANS, "result", "empty") == 0);
    assert_true(metrics_value(r->metrics, METRIC_OPERATIONS, done, 3) == 2);
    r->provider->plan_operations = 0;
    stand_add(r, "web", TT_REASON_RESYNC);
    stand_run(r);
    assert_true(value(r, METRIC_PLANS, "result", "empty") == 1);
    assert_true(metrics_value(r->metrics, METRIC_OPERATIONS, done, 3) == 2);
}

/* ---- a worker in the middle of a call -------------------------------------------------------- */

struct look {
    struct stand *r;
    struct metrics_live *live;
    double unfinished;
    double longest;
    double processing;
    double threads;
    atomic_bool looked;
};

/* In the provider's call: three seconds pass, then a scrape comes. */
static void look_inside(void *arg, struct fake_provider *p, const struct tt_call *call,
                        const struct tt_item *item)
{
    struct look *l = arg;

    (void)p;
    (void)call;
    (void)item;
    if (atomic_load(&l->looked)) {
        return;
    }
    clock_fake_advance(l->r->clock, 3000);
    scrape(l->r);
    l->unfinished = value(l->r, METRIC_QUEUE_UNFINISHED, "name", "service");
    l->longest = value(l->r, METRIC_QUEUE_LONGEST, "name", "service");
    l->processing = value(l->r, METRIC_QUEUE_KEYS, "state", "processing");
    l->threads = metrics_value(l->r->metrics, METRIC_WORKER_THREADS, NULL, 0);
    atomic_store(&l->looked, true);
}

static void scrape__shows_what_is_at_work_and_forgets_it_at_the_end(void **state)
{
    struct stand *r = *state;
    struct board *board = board_new(r->clock);
    struct look look = {.r = r};
    struct err err = ERR_INIT;

    r->syncer.board = board;
    r->provider->plan_operations = 1;
    r->provider->during = look_inside;
    r->provider->during_arg = &look;
    struct workers *w = workers_new(&r->syncer, 1);
    struct metrics_live live = {.metrics = r->metrics,
                                .client = r->client,
                                .board = board,
                                .queue = r->syncer.queue,
                                .workers = w,
                                .fanout = r->watch.fanout};
    metrics_live_begin(&live);
    stand_service(r, "web", STAND_LB, NULL, NULL);
    assert_int_equal(workers_start(w, &err), ERR_OK);
    assert_true(queue_wait_idle(r->syncer.queue, clock_now_ms(clock_real()) + STAND_PATIENCE_MS));
    assert_true(atomic_load(&look.looked));
    assert_true(look.unfinished == 3);
    assert_true(look.longest == 3);
    assert_true(look.processing == 1);
    assert_true(look.threads == 1);
    scrape(r);
    assert_true(value(r, METRIC_SERVICES, "state", "Ready") == 1);
    assert_true(value(r, METRIC_QUEUE_UNFINISHED, "name", "service") == 0);
    assert_true(value(r, METRIC_QUEUE_TAKEN, "reason", "spec") == 1);
    queue_shutdown(r->syncer.queue, false);
    metrics_live_end(&live);
    metrics_live_end(&live);
    assert_true(value(r, METRIC_SERVICES, "state", "Ready") == 0);
    assert_true(workers_end(w, clock_now_ms(clock_real()) + STAND_PATIENCE_MS));
    board_free(board);
    r->syncer.board = NULL;
}

struct hang {
    struct stand *r;
    struct workers *workers;
    struct work_ages in_time; /* when the time-out of the call and two minutes are over */
    struct work_ages late;    /* a millisecond later */
    atomic_bool looked;
};

/* A call that does not come back although it was cancelled. */
static void hang_inside(void *arg, struct fake_provider *p, const struct tt_call *call,
                        const struct tt_item *item)
{
    struct hang *h = arg;

    (void)p;
    (void)call;
    (void)item;
    if (atomic_load(&h->looked)) {
        return;
    }
    clock_fake_advance(h->r->clock, SYNC_CALL_TIMEOUT_MS + 2 * 60 * 1000);
    h->in_time = workers_ages(h->workers);
    clock_fake_advance(h->r->clock, 1);
    h->late = workers_ages(h->workers);
    atomic_store(&h->looked, true);
}

static void workers__one_beyond_the_time_out_of_its_call_is_stuck(void **state)
{
    struct stand *r = *state;
    struct hang hang = {.r = r};
    struct err err = ERR_INIT;

    r->provider->during = hang_inside;
    r->provider->during_arg = &hang;
    struct workers *w = hang.workers = workers_new(&r->syncer, 1);
    assert_int_equal(workers_ages(w).stuck_ms, 0);
    stand_service(r, "web", STAND_LB, NULL, NULL);
    assert_int_equal(workers_start(w, &err), ERR_OK);
    assert_true(queue_wait_idle(r->syncer.queue, clock_now_ms(clock_real()) + STAND_PATIENCE_MS));
    assert_true(atomic_load(&hang.looked));
    assert_int_equal(hang.in_time.longest_ms, SYNC_CALL_TIMEOUT_MS + 2 * 60 * 1000);
    assert_int_equal(hang.in_time.stuck_ms, 0);
    assert_int_equal(hang.late.stuck_ms, SYNC_CALL_TIMEOUT_MS + 2 * 60 * 1000 + 1);
    assert_int_equal(workers_ages(w).stuck_ms, 0); /* it came back after all */
    queue_shutdown(r->syncer.queue, false);
    assert_true(workers_end(w, clock_now_ms(clock_real()) + STAND_PATIENCE_MS));
}

/* A batch gets one call, however many keys are in it. */
static void workers__a_batch_that_hangs_is_stuck_as_soon_as_one_key(void **state)
{
    struct stand *r = *state;
    struct hang hang = {.r = r};
    struct err err = ERR_INIT;

    fake_provider_batches(r->provider);
    stand_describe(r);
    r->provider->during = hang_inside;
    r->provider->during_arg = &hang;
    struct workers *w = hang.workers = workers_new(&r->syncer, 1);
    stand_service(r, "a", STAND_LB, NULL, NULL);
    stand_service(r, "b", STAND_LB, NULL, NULL);
    stand_service(r, "c", STAND_LB, NULL, NULL);
    clock_fake_advance(r->clock, 100); /* for so long a batch gathers */
    assert_int_equal(workers_start(w, &err), ERR_OK);
    assert_true(queue_wait_idle(r->syncer.queue, clock_now_ms(clock_real()) + STAND_PATIENCE_MS));
    assert_int_equal(fake_provider_call(r->provider, TT_VERB_ENSURE, 1).n_items, 3);
    assert_int_equal(hang.in_time.stuck_ms, 0);
    assert_int_equal(hang.late.stuck_ms, SYNC_CALL_TIMEOUT_MS + 2 * 60 * 1000 + 1);
    queue_shutdown(r->syncer.queue, false);
    assert_true(workers_end(w, clock_now_ms(clock_real()) + STAND_PATIENCE_MS));
}

/* Each call of a key takes all of its time, and a minute more. */
static void take_long(void *arg, struct fake_provider *p, const struct tt_call *call,
                      const struct tt_item *item)
{
    struct hang *h = arg;

    (void)p;
    (void)call;
    (void)item;
    clock_fake_advance(h->r->clock, SYNC_CALL_TIMEOUT_MS + 60 * 1000);
    h->late = workers_ages(h->workers);
    assert_int_equal(h->late.stuck_ms, 0);
}

static void workers__two_long_calls_for_one_key_are_not_stuck(void **state)
{
    struct stand *r = *state;
    struct hang hang = {.r = r};
    struct err err = ERR_INIT;

    r->provider->desc.capabilities = 0; /* it is asked whether there is something to delete */
    stand_describe(r);
    r->provider->exists = true;
    r->provider->during = take_long;
    r->provider->during_arg = &hang;
    struct workers *w = hang.workers = workers_new(&r->syncer, 1);
    stand_service(r, "gone", STAND_CLUSTER_IP, STAND_WITH_F, NULL);
    assert_int_equal(workers_start(w, &err), ERR_OK);
    assert_true(queue_wait_idle(r->syncer.queue, clock_now_ms(clock_real()) + STAND_PATIENCE_MS));
    assert_string_equal(stand_story(r), "get demo/gone, delete demo/gone");
    assert_int_equal(hang.late.longest_ms, 2 * (SYNC_CALL_TIMEOUT_MS + 60 * 1000));
    queue_shutdown(r->syncer.queue, false);
    assert_true(workers_end(w, clock_now_ms(clock_real()) + STAND_PATIENCE_MS));
}

/* ---- the API server's client ----------------------------------------------------------------- */

static void request__is_counted_as_client_go_does(void **state)
{
    struct stand *r = *state;
    const struct tt_kv count[] = {{"code", "200"}, {"method", "PATCH"}, {"host", "10.0.0.1:6443"}};
    const struct tt_kv lost[] = {{"code", "<error>"}, {"method", "GET"}, {"host", "10.0.0.1:6443"}};
    const struct tt_kv again[] = {{"code", "429"}, {"verb", "PATCH"}, {"host", "10.0.0.1:6443"}};
    const struct tt_kv by[] = {{"verb", "PATCH"}, {"host", "10.0.0.1:6443"}};
    const struct kube_sent sent = {.method = "PATCH",
                                   .resource = "services/status",
                                   .status = 200,
                                   .took_ms = 30,
                                   .limited = true,
                                   .waited_ms = 1500,
                                   .again = true,
                                   .before = 429,
                                   .sent_bytes = 100,
                                   .received_bytes = 2000};

    client_metrics_count(r->metrics, "https://10.0.0.1:6443/prefix", &sent);
    client_metrics_count(r->metrics, "https://10.0.0.1:6443",
                         &(struct kube_sent){.method = "GET", .resource = "services"});
    assert_true(metrics_value(r->metrics, METRIC_CLIENT_REQUESTS, count, 3) == 1);
    assert_true(metrics_value(r->metrics, METRIC_CLIENT_REQUESTS, lost, 3) == 1);
    assert_true(metrics_value(r->metrics, METRIC_CLIENT_RETRIES, again, 3) == 1);
    assert_true(metrics_value(r->metrics, METRIC_CLIENT_WAITED, by, 2) == 1);
    assert_true(metrics_value(r->metrics, METRIC_CLIENT_SENT, by, 2) == 1);
    assert_true(metrics_value(r->metrics, METRIC_CLIENT_RECEIVED, by, 2) == 1);
    assert_true(value(r, METRIC_API_WAIT, "api", "kubernetes") == 1.5);
    client_metrics_made(r->metrics, 2);
    client_metrics_made(r->metrics, 1);
    assert_true(value(r, METRIC_TRANSPORT_CALLS, "result", "miss") == 1);
    assert_true(value(r, METRIC_TRANSPORT_CALLS, "result", "hit") == 2);
    assert_true(metrics_value(r->metrics, METRIC_TRANSPORTS, NULL, 0) == 1);
}

static void budget__goes_down_with_requests_and_comes_back(void **state)
{
    struct stand *r = *state;
    struct kube_response resp;
    double tokens = 0;
    struct kube_client *c = kube_client_new(&(struct kube_client_args){.observe = kube_ignore_sent,
                                                                       .config = &r->kube,
                                                                       .user_agent = "test",
                                                                       .qps = 2,
                                                                       .burst = 5,
                                                                       .clock = r->clock});
    const struct kube_request req = {.method = "GET", .path = "/healthz"};

    assert_false(kube_client_tokens(r->client, &tokens)); /* it has no limit */
    assert_true(kube_client_tokens(c, &tokens) && tokens == 5);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(kube_client_do(c, r->a, &req, NULL, &resp, NULL), ERR_OK);
    }
    assert_true(kube_client_tokens(c, &tokens) && tokens == 2);
    clock_fake_advance(r->clock, 500);
    assert_true(kube_client_tokens(c, &tokens) && tokens == 3);
    kube_client_free(c);
}

UNIT_MAIN(metrics_live)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(sync__its_plan_and_operations_are_counted),
        T(scrape__shows_what_is_at_work_and_forgets_it_at_the_end),
        T(workers__one_beyond_the_time_out_of_its_call_is_stuck),
        T(workers__a_batch_that_hangs_is_stuck_as_soon_as_one_key),
        T(workers__two_long_calls_for_one_key_are_not_stuck),
        T(request__is_counted_as_client_go_does),
        T(budget__goes_down_with_requests_and_comes_back),
    };
    return cmocka_run_group_tests_name("controller-metrics-live", tests, NULL, NULL);
}
