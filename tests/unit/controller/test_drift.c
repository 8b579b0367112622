/* SPDX-License-Identifier: Apache-2.0 */
/* test_drift.c: looking whether another program changed a load balancer: when, who, what is said,
 * and that nothing is changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "common/base/arena.h"
#include "controller/rules/drift_rules.h"
#include "tests/support/unit.h"
#include "tests/unit/controller/stand.h"

#define HOUR INT64_C(3600000)
#define CAPS (TT_CAP_HOLDS_FINALIZERS | TT_CAP_REPORTS_PLANS)

/* ---- rules ----------------------------------------------------------------------------------- */

static void delay__every_key__between_half_a_period_and_one_and_a_half(void **state)
{
    (void)state;
    for (int i = 0; i < 2000; i++) {
        char key[32];
        snprintf(key, sizeof(key), "demo/web-%d", i);
        int64_t now = 1000000 + i * INT64_C(7919);
        int64_t d = drift_delay_ms(key, now, HOUR, 1234567, 5000);
        if (d < HOUR / 2 || d >= HOUR * 3 / 2) {
            fail_msg("%s waits %lld ms", key, (long long)d);
        }
        /* then its round comes once in a period */
        int64_t next = drift_delay_ms(key, now + d, HOUR, 1234567, 5000);
        assert_int_equal(HOUR, next);
    }
}

static void delay__rounds__as_many_as_services_need(void **state)
{
    static const struct {
        size_t n;
        int rounds;
    } rows[] = {{0, 1}, {1, 1}, {250, 1}, {251, 2}, {5000, 20}, {100000, 60}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t seen[100];
        int n = 0;
        for (int k = 0; k < 4000; k++) {
            char key[32];
            snprintf(key, sizeof(key), "ns/%d", k);
            int64_t at = drift_delay_ms(key, 0, HOUR, 99, rows[i].n) % HOUR;
            bool is_new = true;
            for (int j = 0; j < n; j++) {
                is_new = is_new && seen[j] != at;
            }
            if (is_new) {
                assert_true(n < 100);
                seen[n++] = at;
            }
        }
        assert_int_equal(rows[i].rounds, n);
    }
}

static void drift_of__operations__what_differs_in_words(void **state)
{
    static const struct tt_field fields[] = {{"sourceRanges", "0.0.0.0/0", NULL},
                                             {"sourceRanges", NULL, "10.0.0.0/8"},
                                             {"priority", "1000", "999"}};
    static const char *const web[] = {"demo/web"};
    static const char *const other[] = {"demo/other"};
    const struct tt_operation ops[] = {
        {.verb = TT_OP_KEEP, .kind = "address", .name = "a", .owners = web, .n_owners = 1},
        {.verb = TT_OP_CHANGE,
         .kind = "firewall",
         .name = "k8s-fw-a",
         .owners = web,
         .n_owners = 1,
         .fields = fields,
         .n_fields = 3},
        {.verb = TT_OP_CREATE,
         .kind = "forwarding rule",
         .name = "a",
         .owners = web,
         .n_owners = 1},
        {.verb = TT_OP_DELETE, .kind = "target pool", .name = "b", .owners = other, .n_owners = 1},
    };
    const struct tt_operation *list[] = {&ops[0], &ops[1], &ops[2], &ops[3]};
    const struct tt_plan plan = {.operations = list, .n_operations = 4};
    struct arena *a = arena_new();
    (void)state;

    struct drift d = drift_of(a, &plan, "demo/web");
    assert_int_equal(2, d.n);
    assert_string_equal(
        "firewall k8s-fw-a: sourceRanges has 0.0.0.0/0, sourceRanges lacks 10.0.0.0/8, "
        "priority is 1000, should be 999; forwarding rule a is missing",
        d.text);
    struct drift o = drift_of(a, &plan, "demo/other");
    assert_string_equal("target pool b should not be there", o.text);
    assert_int_not_equal(d.digest, o.digest);
    struct drift none = drift_of(a, &plan, "demo/none");
    assert_int_equal(0, none.n);
    assert_int_equal(0, none.digest);
    arena_free(a);
}

/* ---- the service controller ------------------------------------------------------------------ */

/* The report of plan(), and its number of calls. */
static struct {
    uint32_t differences;
    int32_t code;
    unsigned asked;
    unsigned items;
    bool could_mutate;
    uint32_t waiting; /* what the first call reported */
} look;

static int32_t fake_plan(void *provider, const struct tt_call *call, const struct tt_batch *batch)
{
    struct fake_provider *p = provider;

    look.waiting = look.asked == 0 ? call->waiting : look.waiting;
    look.asked++;
    look.items += batch->n_items;
    look.could_mutate |= p->host->may_mutate(p->host->ctx, call) != 0 || call->planning == 0;
    for (uint32_t i = 0; i < batch->n_items; i++) {
        char key[64];
        const char *owners[] = {key};
        snprintf(key, sizeof(key), "%s/%s", batch->items[i]->service->ns,
                 batch->items[i]->service->name);
        const struct tt_operation op = {.size = sizeof(op),
                                        .n = 1,
                                        .verb = TT_OP_CREATE,
                                        .wave = 1,
                                        .kind = "firewall",
                                        .name = "fw",
                                        .why = "it is gone",
                                        .owners = owners,
                                        .n_owners = 1};
        const struct tt_operation *ops[] = {&op, &op, &op};
        const struct tt_plan plan = {
            .size = sizeof(plan), .operations = ops, .n_operations = look.differences};
        if (look.code != TT_OK) {
            p->host->result_fail(batch->items[i]->result, look.code, "no", 0);
            continue;
        }
        p->host->report_plan(p->host->ctx, call, &plan);
        p->host->result_done(batch->items[i]->result);
    }
    return look.code;
}

static struct stand *stand_with(enum sync_drift drift)
{
    struct stand *r = stand_new(CAPS);

    memset(&look, 0, sizeof(look));
    r->provider->desc.plan = fake_plan;
    r->provider->plan_operations = 0;
    stand_describe(r);
    r->syncer.drift = drift;
    r->syncer.drift_period_ms = HOUR;
    stand_node(r, "node-0", NULL, NULL);
    return r;
}

static void healthy(struct stand *r, const char *name)
{
    stand_service(r, name, STAND_LB, STAND_WITH_F, STAND_STATUS("203.0.113.10"));
    stand_add(r, name, TT_REASON_RESYNC);
    stand_run(r);
    fake_provider_forget(r->provider);
}

static double found(struct stand *r)
{
    static const struct tt_kv kind[] = {{"kind", "firewall"}};
    return metrics_value(r->metrics, METRIC_DRIFT, kind, 1);
}

static void look__nothing_differs__no_word_and_no_call(void **state)
{
    struct stand *r = stand_with(SYNC_DRIFT_REPORT);
    (void)state;

    healthy(r, "web");
    stand_advance(r, 3 * HOUR);
    stand_advance(r, 3 * HOUR);
    assert_true(look.asked >= 2);
    assert_false(look.could_mutate);
    assert_string_equal("", stand_story(r));
    assert_int_equal(0, stand_patches(r));
    assert_true(found(r) == 0);
    assert_string_equal("", stand_events(r));
    stand_free(r);
}

static void look__off__nobody_looks(void **state)
{
    struct stand *r = stand_with(SYNC_DRIFT_OFF);
    (void)state;

    healthy(r, "web");
    stand_advance(r, 3 * HOUR);
    assert_int_equal(0, look.asked);
    stand_free(r);
}

static void report__something_differs__told_once_until_it_changes(void **state)
{
    struct stand *r = stand_with(SYNC_DRIFT_REPORT);
    (void)state;

    healthy(r, "web");
    look.differences = 1;
    stand_advance(r, 2 * HOUR);
    assert_int_equal(1, look.asked);
    assert_true(found(r) == 1);
    stand_advance(r, 2 * HOUR); /* the same again */
    assert_int_equal(2, look.asked);
    assert_true(found(r) == 1);
    look.differences = 2;
    stand_advance(r, 2 * HOUR);
    assert_true(found(r) == 3);
    look.differences = 0;
    stand_advance(r, 2 * HOUR);
    look.differences = 1;
    stand_advance(r, 2 * HOUR);
    assert_true(found(r) == 4);
    assert_string_equal("", stand_story(r)); /* nothing was ensured */
    const char *events = stand_events(r);
    const char *first = strstr(events, "Warning LoadBalancerDrift The load balancer is not as the "
                                       "Service asks: firewall fw is missing. Nothing is changed "
                                       "(--drift=report)");
    assert_non_null(first);
    assert_null(strstr(events, "EnsuringLoadBalancer"));
    stand_free(r);
}

static void repair__something_differs__told_and_synced(void **state)
{
    struct stand *r = stand_with(SYNC_DRIFT_REPAIR);
    (void)state;

    healthy(r, "web");
    look.differences = 1;
    stand_advance(r, 2 * HOUR);
    assert_string_equal("ensure demo/web", stand_story(r));
    assert_int_equal(TT_REASON_RESYNC, fake_provider_call(r->provider, TT_VERB_ENSURE, 0).reasons);
    assert_true(found(r) == 1);
    look.differences = 1;
    stand_advance(r, 2 * HOUR); /* it was done again: that is news */
    assert_true(found(r) == 2);
    assert_non_null(strstr(stand_events(r), "It is put right now (--drift=repair)"));
    stand_free(r);
}

static void look__failing_or_changed__left_to_the_sync(void **state)
{
    struct stand *r = stand_with(SYNC_DRIFT_REPORT);
    (void)state;

    look.differences = 1;
    healthy(r, "web");
    stand_service(r, "web", STAND_CLUSTER_IP, STAND_WITH_F, NULL); /* its cleanup comes */
    stand_add(r, "web", QUEUE_REASON_LOOK);
    stand_run(r);
    assert_int_equal(0, look.asked);

    healthy(r, "shop");
    stand_node(r, "node-9", NULL, NULL); /* its update has not come yet */
    stand_add(r, "shop", QUEUE_REASON_LOOK);
    stand_run(r);
    assert_int_equal(0, look.asked);
    assert_true(found(r) == 0);

    fake_provider_answer(
        r->provider,
        (struct fake_answer){.verb = TT_VERB_ENSURE, .code = TT_QUOTA, .message = "no"});
    healthy(r, "full");
    stand_add(r, "full", QUEUE_REASON_LOOK);
    stand_run(r);
    assert_int_equal(0, look.asked);
    stand_free(r);
}

static void look__plan_fails__no_drift_and_no_failure(void **state)
{
    struct stand *r = stand_with(SYNC_DRIFT_REPAIR);
    (void)state;

    healthy(r, "web");
    look.code = TT_TRANSIENT;
    look.differences = 1;
    stand_advance(r, 2 * HOUR);
    assert_int_equal(1, look.asked);
    assert_int_equal(0, queue_failures(r->syncer.queue, "demo/web"));
    assert_string_equal("", stand_story(r));
    assert_string_equal("", stand_events(r));
    stand_free(r);
}

static void look__batches__one_plan_for_all_of_a_key(void **state)
{
    struct stand *r = stand_with(SYNC_DRIFT_REPORT);
    (void)state;

    fake_provider_batches(r->provider);
    stand_describe(r);
    r->provider->desc.plan = fake_plan;
    stand_describe(r);
    healthy(r, "a");
    healthy(r, "b");
    healthy(r, "c");
    stand_advance(r, 200); /* they gather before they are synced */
    stand_advance(r, 2 * HOUR);
    assert_int_equal(1, look.asked);
    assert_int_equal(3, look.items);
    stand_free(r);
}

static void note_waiting(void *arg, struct fake_provider *p, const struct tt_call *call,
                         const struct tt_item *item)
{
    (void)p;
    (void)item;
    *(uint32_t *)arg = call->waiting;
}

/* Many that wait for a look are no reason to list the cloud for the one that has work. */
static void look__many_wait__work_comes_first_and_is_not_told_of_them(void **state)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    uint32_t waiting = 99;
    struct stand *r = stand_with(SYNC_DRIFT_REPORT);
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        healthy(r, names[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        stand_add(r, names[i], QUEUE_REASON_LOOK);
    }
    r->provider->during = note_waiting;
    r->provider->during_arg = &waiting;
    stand_add(r, "c", TT_REASON_RESYNC);
    stand_run(r);
    assert_string_equal("ensure demo/c", stand_story(r));
    assert_int_equal(0, waiting);
    assert_int_equal(3, look.asked); /* the sync of the fourth was more than a look */
    assert_int_equal(2, look.waiting);
    stand_free(r);
}

UNIT_MAIN(drift)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delay__every_key__between_half_a_period_and_one_and_a_half),
        cmocka_unit_test(delay__rounds__as_many_as_services_need),
        cmocka_unit_test(drift_of__operations__what_differs_in_words),
        cmocka_unit_test(look__nothing_differs__no_word_and_no_call),
        cmocka_unit_test(look__off__nobody_looks),
        cmocka_unit_test(report__something_differs__told_once_until_it_changes),
        cmocka_unit_test(repair__something_differs__told_and_synced),
        cmocka_unit_test(look__failing_or_changed__left_to_the_sync),
        cmocka_unit_test(look__plan_fails__no_drift_and_no_failure),
        cmocka_unit_test(look__many_wait__work_comes_first_and_is_not_told_of_them),
        cmocka_unit_test(look__batches__one_plan_for_all_of_a_key),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
