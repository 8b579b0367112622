/* SPDX-License-Identifier: Apache-2.0 */
/* test_rig.c: the rig itself (tests/support/rig.h): what other suites build on must hold. */
#include "tests/support/rig.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "controller/process/app.h"
#include "sim/sim.h"
#include "tests/support/unit.h"

#define WEB "/api/v1/namespaces/default/services/web"
#define WEB_BODY                                                                                   \
    "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"web\"},"                 \
    "\"spec\":{\"type\":\"LoadBalancer\",\"selector\":{\"app\":\"web\"},\"ports\":[{\"port\":80}]" \
    "}}"

static struct rig *rig_with_nodes(const char *const *flags, bool real_clock)
{
    struct err err = ERR_INIT;
    struct rig *r = NULL;
    if (rig_new(&(struct rig_args){.sim = {.nodes = 3}, .flags = flags, .real_clock = real_clock},
                &r, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    return r;
}

static void start(struct rig *r)
{
    struct err err = ERR_INIT;
    if (rig_start(r, &err) != ERR_OK) {
        fail_msg("%s\n%s", err.message, rig_log(r));
    }
}

static void create_web(struct rig *r)
{
    assert_int_equal(rig_kube(r, "POST", "/api/v1/namespaces/default/services", WEB_BODY, NULL),
                     201);
}

/* The address of the Service, "" without one. */
static const char *address(struct rig *r)
{
    struct json_object *ingress = json_path(rig_get(r, WEB), "status.loadBalancer.ingress");
    return json_len(ingress) == 0 ? "" : json_str(json_object_array_get_idx(ingress, 0), "ip");
}

static void rig__service_created__has_its_address_at_rest(void **state)
{
    struct rig *r = rig_with_nodes(NULL, false);
    (void)state;
    start(r);
    create_web(r);
    assert_true(rig_settle(r, RIG_SOON));
    assert_string_not_equal(address(r), "");
    assert_int_equal(rig_calls(r, "gce", "compute.forwardingRules.insert"), 1);
    assert_int_equal(rig_mutations(r),
                     7); /* address, check, two firewalls, pool, rule; address back */
    assert_int_equal(rig_service_writes(r), 3); /* create; finalizers, status */
    rig_counts_reset(r);
    assert_int_equal(rig_mutations(r), 0);
    assert_true(rig_stop(r));
    rig_free(r);
}

static void rig__real_clock__works_too(void **state)
{
    struct rig *r = rig_with_nodes(NULL, true);
    (void)state;
    start(r);
    create_web(r);
    assert_true(rig_settle(r, RIG_NOW));
    assert_string_not_equal(address(r), "");
    rig_free(r);
}

static void rig__refused_call__is_tried_again_after_a_jump(void **state)
{
    struct err err = ERR_INIT;
    struct rig *r = rig_with_nodes(NULL, false);
    (void)state;
    start(r);
    assert_int_equal(rig_fault(r,
                               "{\"match\":{\"op\":\"compute.forwardingRules.insert\"},"
                               "\"do\":\"refuse\",\"status\":400,\"count\":2}",
                               NULL, &err),
                     ERR_OK);
    create_web(r);
    int64_t before = clock_now_ms(rig_clock(r));
    assert_true(rig_settle(r, RIG_SOON));
    assert_string_equal(address(r), "");
    assert_true(app_next_due_ms(rig_app(r)) != CLOCK_NEVER); /* a back-off waits */
    assert_true(rig_settle(r, RIG_LATER));
    assert_string_not_equal(address(r), "");
    assert_true(clock_now_ms(rig_clock(r)) - before >= 15000); /* 5 s, then 10 s */
    rig_free(r);
}

/* A thread that works until it is stopped, as on a busy machine.  It outlives the look at the
 * clock: one that ended by itself would leave a moment in which all threads sleep and the clock may
 * rightly advance. */
struct spinner {
    int64_t until_ms; /* of the real clock: how long the clock is checked */
    atomic_bool stop;
};

static void *spin(void *arg)
{
    struct spinner *s = arg;
    while (!atomic_load(&s->stop)) {
    }
    return NULL;
}

static bool has_looked_long_enough(void *arg)
{
    struct spinner *s = arg;
    return clock_now_ms(clock_real()) >= s->until_ms;
}

/* The clock has continued. */
struct moved {
    struct rig *r;
    int64_t from_ms;
};

static bool has_moved(void *arg)
{
    struct moved *m = arg;
    return clock_now_ms(rig_clock(m->r)) != m->from_ms;
}

static void rig__silence_while_a_thread_has_work__clock_stands_still(void **state)
{
    static const char *const flags[] = {"--resync-period=1h", NULL}; /* a moment to continue to */
    struct err err = ERR_INIT;
    struct rig *r = rig_with_nodes(flags, false);
    (void)state;
    start(r);
    create_web(r);
    assert_true(rig_settle(r, RIG_SOON));
    int rc = rig_fault(r,
                       "{\"match\":{\"op\":\"services.watch\"},\"do\":\"watch-silence\","
                       "\"count\":0}",
                       NULL, &err);
    assert_int_equal(rc, ERR_OK);
    assert_int_equal(rig_kube(r, "PATCH", WEB, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", NULL),
                     200);
    struct moved m = {.r = r, .from_ms = clock_now_ms(rig_clock(r))};
    struct spinner s = {.until_ms = clock_now_ms(clock_real()) + 500};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, spin, &s), 0);
    bool rest = rig_settle_unless(r, RIG_NOW, has_looked_long_enough, &s);
    bool moved = has_moved(&m);
    atomic_store(&s.stop, true);
    pthread_join(thread, NULL);
    assert_false(rest); /* the edit is not heard of */
    assert_false(moved);
    assert_false(rig_settle_unless(r, RIG_NOW, has_moved, &m)); /* now no thread has work */
    assert_true(has_moved(&m));
    rig_free(r);
}

/* How many calls a create makes, and so at how many the process can die. */
static int64_t calls_of_a_create(void)
{
    struct rig *r = rig_with_nodes(NULL, false);
    start(r);
    assert_true(rig_settle(r, RIG_SOON));
    rig_counts_reset(r);
    create_web(r);
    assert_true(rig_settle(r, RIG_SOON));
    int64_t n = rig_calls(r, "gce", "*") + rig_calls(r, "kubernetes", "*") - 1;
    rig_free(r);
    return n;
}

static void die_and_recover(int64_t nth, enum rig_when when)
{
    struct rig *r = rig_with_nodes(NULL, false);
    start(r);
    assert_true(rig_settle(r, RIG_SOON));
    create_web(r);
    rig_kill_at(r, nth, when);
    assert_true(rig_settle(r, RIG_SOON));
    bool died = rig_is_dead(r);
    assert_true(rig_stop(r));
    assert_false(rig_is_dead(r));
    start(r);
    assert_true(rig_settle(r, RIG_LATER));
    if (!died) {
        print_message("call %lld was never made\n", (long long)nth);
    }
    assert_string_not_equal(address(r), "");
    rig_free(r);
}

static void rig__killed_around_its_nth_call__the_next_one_ends_the_work(void **state)
{
    int64_t n = calls_of_a_create();
    (void)state;
    assert_in_range(n, 10, 60);
    for (int64_t nth = 1; nth <= n; nth += 4) {
        die_and_recover(nth, RIG_BEFORE);
        die_and_recover(nth + 1, RIG_AFTER);
    }
}

/* Nodes that come and go endlessly, in the simulator's thread. */
struct churn {
    struct sim *sim;
    struct sim_timer *timer;
    bool there;
};

static void churn_once(void *arg)
{
    struct churn *c = arg;
    void *kube = sim_module_state(c->sim, "kubernetes");
    const struct sim_node node = {.name = "come-and-go",
                                  .zone = "us-central1-a",
                                  .internal_ip = "10.128.0.99",
                                  .internal_ip6 = "",
                                  .provider_id = "gce://trimtab-sim/us-central1-a/come-and-go",
                                  .index = 99};
    for (int i = 0; i < 20; i++) {
        int rc = c->there ? sim_kube_remove_node(kube, node.name, NULL)
                          : sim_kube_add_node(kube, &node, 0, NULL);
        assert_int_equal(rc, ERR_OK);
        c->there = !c->there;
    }
    c->timer = sim_after(c->sim, 0, churn_once, c);
}

static void churn_begin(struct sim *s, void *arg)
{
    struct churn *c = arg;
    c->sim = s;
    churn_once(c);
}

static void churn_end(struct sim *s, void *arg)
{
    struct churn *c = arg;
    (void)s;
    sim_timer_cancel(c->timer);
}

static void rig__stopped_while_nodes_come_and_go__ends_cleanly(void **state)
{
    struct rig *r = rig_with_nodes(NULL, false);
    struct churn c = {0};
    (void)state;
    for (int i = 0; i < 100; i++) {
        start(r);
        assert_true(rig_settle(r, RIG_NOW)); /* it watches */
        rig_in_sim(r, churn_begin, &c);
        assert_true(rig_stop(r));
        rig_in_sim(r, churn_end, &c);
    }
    rig_free(r);
}

UNIT_MAIN(rig)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rig__service_created__has_its_address_at_rest),
        cmocka_unit_test(rig__real_clock__works_too),
        cmocka_unit_test(rig__refused_call__is_tried_again_after_a_jump),
        cmocka_unit_test(rig__silence_while_a_thread_has_work__clock_stands_still),
        cmocka_unit_test(rig__killed_around_its_nth_call__the_next_one_ends_the_work),
        cmocka_unit_test(rig__stopped_while_nodes_come_and_go__ends_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
