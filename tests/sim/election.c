/* SPDX-License-Identifier: Apache-2.0 */
/* election.c: the election object and an app that waits for it (controller/process/election.h),
 * against the simulator in this process.  Real time: nothing here waits for a lease to run out. */
#include "controller/process/election.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/lock.h"
#include "common/base/str.h"
#include "controller/host/identity.h"
#include "controller/process/app.h"
#include "tests/support/fake_provider.h"
#include "tests/support/rig.h"
#include "tests/support/unit.h"

#define LEASES      "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
#define LEASE       LEASES "/cloud-controller-manager"
#define PATIENCE_MS 180000 /* real time, for one thing to happen; it bounds a hang only */

/* Another holder has it, for an hour. */
#define HELD                                                                                       \
    "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":"        \
    "\"cloud-controller-manager\"},\"spec\":{\"holderIdentity\":\"other\","                        \
    "\"leaseDurationSeconds\":"                                                                    \
    "3600}}"
#define LET_GO "{\"spec\":{\"holderIdentity\":null,\"leaseDurationSeconds\":1}}"
#define TAKEN  "{\"spec\":{\"holderIdentity\":\"other\",\"leaseDurationSeconds\":3600}}"

struct world {
    struct rig *rig;
    struct arena *a;
    struct options *options;
    struct metrics *metrics;
    struct identity *identity;
    struct election *election;
    struct cancel *cancel;
    atomic_int lost;
};

static void on_lost(void *arg)
{
    struct world *w = arg;
    atomic_fetch_add(&w->lost, 1);
    cancel_fire(w->cancel);
}

static void world_start(struct world *w)
{
    struct err err = ERR_INIT;
    *w = (struct world){.a = arena_new(), .metrics = metrics_new(), .cancel = cancel_new(NULL)};
    if (rig_new(&(struct rig_args){.real_clock = true}, &w->rig, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    char *argv[] = {"trimtab", "--cloud-provider=fake", "--secure-port=0",
                    "--leader-elect-retry-period=100ms",
                    arena_printf(w->a, "--kubeconfig=%s", rig_file(w->rig, "kubeconfig"))};
    const struct options_input in = {.argc = ARRAY_LEN(argv), .argv = argv, .program = "trimtab"};
    assert_int_equal(options_parse(&in, &w->options, &err), ERR_OK);
    assert_int_equal(options_validate(w->options, &err), ERR_OK);
    const struct identity_args who = identity_args_of(w->options, w->metrics, NULL);
    assert_int_equal(identity_new(&who, &w->identity, &err), ERR_OK);
    const struct election_args args = {.options = w->options,
                                       .metrics = w->metrics,
                                       .identity = w->identity,
                                       .lost = on_lost,
                                       .arg = w};
    if (election_new(&args, &w->election, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
}

static void world_stop(struct world *w)
{
    election_free(w->election);
    identity_free(w->identity);
    options_free(w->options);
    metrics_free(w->metrics);
    cancel_free(w->cancel);
    rig_free(w->rig);
    arena_free(w->a);
}

static void begin(struct world *w)
{
    struct err err = ERR_INIT;
    if (election_start(w->election, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
}

static double status_of(struct world *w)
{
    const struct tt_kv name = {"name", "cloud-controller-manager"};
    return metrics_value(w->metrics, "leader_election_master_status", &name, 1);
}

static const char *holder(struct world *w)
{
    struct json_object *o = rig_get(w->rig, LEASE);
    return str_nonnull(json_str(json_member(o, "spec"), "holderIdentity"));
}

static void election__free_lease__leads_says_so_and_lets_go(void **state)
{
    struct world w;
    struct err err = ERR_INIT;
    char why[200] = "";
    (void)state;
    world_start(&w);
    assert_false(election_may_mutate(w.election));
    assert_true(election_check_health(w.election, why, sizeof(why))); /* a standby is healthy */
    begin(&w);
    assert_int_equal(election_wait(w.election, w.cancel, &err), ERR_OK);
    assert_true(election_may_mutate(w.election));
    assert_true(election_check_health(w.election, why, sizeof(why)));
    assert_true(status_of(&w) == 1);
    assert_true(holder(&w)[0] != '\0');
    assert_false(election_why_lost(w.election, &err));
    election_free(w.election);
    w.election = NULL;
    assert_true(status_of(&w) == 0);
    assert_string_equal(holder(&w), "");
    assert_int_equal(rig_calls(w.rig, "kubernetes", "events.create"), 2); /* became, stopped */
    assert_int_equal(atomic_load(&w.lost), 0);
    world_stop(&w);
}

static void election__name_taken_away__lost_and_left_alone(void **state)
{
    struct world w;
    struct err err = ERR_INIT;
    (void)state;
    world_start(&w);
    begin(&w);
    assert_int_equal(election_wait(w.election, w.cancel, &err), ERR_OK);
    assert_int_equal(rig_kube(w.rig, "PATCH", LEASE, TAKEN, NULL), 200);
    struct mutex m;
    struct cond c;
    mutex_init(&m);
    cond_init(&c);
    mutex_lock(&m);
    int64_t give_up_ms = clock_now_ms(clock_real()) + PATIENCE_MS;
    while (atomic_load(&w.lost) == 0 && clock_now_ms(clock_real()) < give_up_ms) {
        clock_wait(clock_real(), &c, &m, clock_now_ms(clock_real()) + 5);
    }
    mutex_unlock(&m);
    cond_done(&c);
    mutex_done(&m);
    assert_int_equal(atomic_load(&w.lost), 1);
    assert_false(election_may_mutate(w.election));
    assert_true(election_why_lost(w.election, &err));
    assert_non_null(
        strstr(err.message, "leaderelection lost: the lease cloud-controller-manager is lost: "));
    election_free(w.election);
    w.election = NULL;
    assert_true(status_of(&w) == 0);
    assert_string_equal(holder(&w), "other");
    assert_int_equal(rig_calls(w.rig, "kubernetes", "events.create"), 1); /* became */
    world_stop(&w);
}

/* Lets go when the app has been refused its write. */
static void let_go(void *arg, struct fake_provider *p)
{
    struct world *w = arg;
    if (p->refused == 1) {
        assert_int_equal(rig_kube(w->rig, "PATCH", LEASE, LET_GO, NULL), 200);
    }
}

static void app__provider_writes_on_open__opened_again_when_it_leads(void **state)
{
    struct world w;
    struct err err = ERR_INIT;
    (void)state;
    world_start(&w);
    struct fake_provider *p = fake_provider_new(0);
    p->writes_on_open = true;
    p->on_refused = let_go;
    p->on_refused_arg = &w;
    assert_int_equal(rig_kube(w.rig, "POST", LEASES, HELD, NULL), 201);
    begin(&w);
    struct app *app = app_new(&(struct app_args){.options = w.options,
                                                 .provider = &p->desc,
                                                 .election = w.election,
                                                 .identity = w.identity,
                                                 .metrics = w.metrics});
    if (app_start(app, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(p->refused, 1);
    assert_int_equal(p->opened, 1);
    assert_true(election_may_mutate(w.election));
    const struct tt_kv running[] = {{"name", "service"}, {"manager", "cloud-controller-manager"}};
    assert_true(metrics_value(w.metrics, "running_managed_controllers", running, 2) == 1);
    app_request_stop(app);
    assert_true(app_stop(app, PATIENCE_MS));
    assert_true(metrics_value(w.metrics, "running_managed_controllers", running, 2) == 0);
    assert_true(election_may_mutate(w.election)); /* the app's end is not the process's */
    app_free(app);
    world_stop(&w);
    fake_provider_free(p);
}

UNIT_MAIN(election)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(election__free_lease__leads_says_so_and_lets_go),
        cmocka_unit_test(election__name_taken_away__lost_and_left_alone),
        cmocka_unit_test(app__provider_writes_on_open__opened_again_when_it_leads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
