/* SPDX-License-Identifier: Apache-2.0 */
/* test_sync_nodes.c: what changes of nodes and endpoints do: vectors 70–93 of the controller's
 * spec.
 *
 * Upstream has a second queue and passes over all Services; here a pass queues those whose set
 * changed.  The vectors are tested by the calls that the provider gets.  Vector 90 (listing nodes
 * fails) cannot happen: the store always answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/arena.h"
#include "common/base/log.h"
#include "controller/sync/node_fanout.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"
#include "tests/unit/controller/stand.h"

#define LOCAL       STAND_LB ",\"externalTrafficPolicy\":\"Local\""
#define TAINT       "\"taints\":[{\"key\":\"ToBeDeletedByClusterAutoscaler\",\"effect\":\"NoSchedule\"}]"
#define OTHER_TAINT "\"taints\":[{\"key\":\"Other\",\"effect\":\"NoSchedule\"}]"
#define EXCLUDED    "\"labels\":{\"node.kubernetes.io/exclude-from-external-load-balancers\":\"\"}"

/* Three Services, two of them Local, ensured with `n` nodes. */
static struct stand *three_services(int n)
{
    struct stand *r = stand_new(0);
    char name[16];

    for (int i = 1; i <= n; i++) {
        snprintf(name, sizeof(name), "node%d", i);
        stand_node(r, name, NULL, NULL);
    }
    stand_service(r, "s1", LOCAL, STAND_WITH_F, NULL);
    stand_service(r, "s2", LOCAL, STAND_WITH_F, NULL);
    stand_service(r, "s3", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    fake_provider_forget(r->provider);
    return r;
}

/* All three are updated with these nodes, once; NULL: nothing is called. */
static void want_updates(struct stand *r, int row, const char *nodes)
{
    size_t n = fake_provider_count(r->provider, TT_VERB_UPDATE);

    if (strchr(stand_story(r), 'g') != NULL || n != (nodes == NULL ? 0 : 3) ||
        r->provider->n_calls != n) {
        fail_msg("row %d: %s", row, stand_story(r));
    }
    for (size_t i = 0; i < n; i++) {
        struct fake_call c = fake_provider_call(r->provider, TT_VERB_UPDATE, i);
        if (strcmp(nodes, c.nodes) != 0) {
            fail_msg("row %d: %s got %s, want %s", row, c.key, c.nodes, nodes);
        }
    }
}

struct change {
    int row;
    int before; /* nodes 1…n */
    const char *node, *spec, *meta;
    bool gone;
    const char *want;
};

static void nodes__vectors_70_to_82__who_is_updated_with_what(void **state)
{
    (void)state;
    static const struct change rows[] = {
        {70, 3, "node3", NULL, NULL, false, NULL},
        {71, 2, "node3", NULL, NULL, false, "node1 node2 node3"},
        {74, 3, "node2", TAINT, NULL, false, "node1 node3"},
        {76, 3, "node2", NULL, EXCLUDED, false, "node1 node3"},
        {77, 3, "node3", NULL, NULL, true, "node1 node2"},
        {78, 3, "node2", NULL, STAND_DELETING, false, "node1 node3"},
        {79, 3, "node2", OTHER_TAINT, NULL, false, NULL},
        {80, 2, "node2", "\"providerID\":\"cumulus/2\"", NULL, false, "node1 node2"},
        {81, 2, "node2", "\"providerID\":\"cloud/node2\"", NULL, false, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stand *r = three_services(rows[i].before);
        if (rows[i].gone) {
            stand_node_gone(r, rows[i].node);
        } else {
            stand_node(r, rows[i].node, rows[i].spec, rows[i].meta);
        }
        stand_nodes_changed(r);
        want_updates(r, rows[i].row, rows[i].want);
        stand_free(r);
    }
}

/* An unready node stays: the health checks of the load balancer decide. */
static void nodes__vectors_73_75__readiness_updates_nobody(void **state)
{
    (void)state;
    static const struct {
        int row;
        const char *before, *after;
    } rows[] = {{73, "True", "False"}, {73, "True", "Unknown"}, {75, "False", "True"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stand *r = three_services(3);
        stand_node_ready(r, "node2", rows[i].before);
        stand_nodes_changed(r);
        fake_provider_forget(r->provider);
        stand_node_ready(r, "node2", rows[i].after);
        stand_nodes_changed(r);
        want_updates(r, rows[i].row, NULL);
        stand_free(r);
    }
}

/* Other changes of a node that cause no cloud request. */
static void nodes__unschedulable_or_labelled__nobody_is_updated(void **state)
{
    (void)state;
    static const char *const changes[][2] = {{"\"unschedulable\":true", NULL},
                                             {NULL, "\"labels\":{\"a\":\"b\"}"}};
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        struct stand *r = three_services(3);
        stand_node(r, "node2", changes[i][0], changes[i][1]);
        stand_nodes_changed(r);
        want_updates(r, (int)i, NULL);
        stand_free(r);
    }
}

static void nodes__vector_82__one_replaced_by_another(void **state)
{
    (void)state;
    struct stand *r = three_services(2);

    stand_node_gone(r, "node2");
    stand_node(r, "node3", NULL, NULL);
    stand_nodes_changed(r);
    want_updates(r, 82, "node1 node3");
    stand_free(r);
}

static void nodes__vector_72__failed_update_becomes_one_full_ensure(void **state)
{
    (void)state;
    struct stand *r = stand_new(0);

    stand_node(r, "node1", NULL, NULL);
    stand_service(r, "s1", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    fake_provider_forget(r->provider);
    r->provider->exists = true;
    fake_provider_answer(
        r->provider, (struct fake_answer){TT_VERB_UPDATE, TT_TRANSIENT, "cloud error", 0, false});
    stand_node(r, "node2", NULL, NULL);
    stand_nodes_changed(r);
    stand_nodes_changed(r);
    assert_string_equal("update demo/s1, get demo/s1, ensure demo/s1", stand_story(r));
    assert_int_equal(0, queue_failures(r->syncer.queue, "demo/s1"));
    assert_true(metrics_value(r->metrics, METRIC_NODESYNC_ERROR, NULL, 0) == 1);
    assert_non_null(strstr(stand_events(r),
                           "Warning UpdateLoadBalancerFailed Error updating load balancer with new "
                           "hosts [node1 node2] [node names limited, total number of nodes: 2], "
                           "error: cloud error\n"));
    stand_free(r);
}

static void nodes__vectors_83_to_89__only_load_balancers_are_updated(void **state)
{
    (void)state;
    static const struct {
        int row;
        const char *types; /* one letter per Service: L, N (NodePort), C */
        size_t updates;
    } rows[] = {{83, "", 0},    {84, "CN", 0},   {85, "L", 1},
                {86, "LLL", 3}, {87, "NLLC", 2}, {89, "LLLL", 4}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stand *r = stand_new(0);
        char name[] = "s0";
        for (const char *t = rows[i].types; *t != '\0'; t++) {
            name[1]++;
            stand_service(r, name,
                          *t == 'L'   ? STAND_LB
                          : *t == 'N' ? "\"type\":\"NodePort\""
                                      : STAND_CLUSTER_IP,
                          STAND_WITH_F, NULL);
        }
        stand_run(r);
        fake_provider_forget(r->provider);
        stand_node(r, "node1", NULL, NULL);
        stand_node(r, "node2", NULL, NULL);
        stand_node(r, "node3", NULL, NULL);
        stand_nodes_changed(r);
        size_t n = fake_provider_count(r->provider, TT_VERB_UPDATE);
        if (n != rows[i].updates) {
            fail_msg("row %d: %zu updates, want %zu", rows[i].row, n, rows[i].updates);
        }
        stand_free(r);
    }
}

static void nodes__vector_88__an_entry_without_state_does_no_harm(void **state)
{
    (void)state;
    struct stand *r = stand_new(0);

    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    fake_provider_forget(r->provider);
    service_cache_mark_foreign(r->syncer.cache, "demo/other", "uid");
    stand_node(r, "node1", NULL, NULL);
    stand_nodes_changed(r);
    assert_string_equal("update demo/web", stand_story(r));
    stand_free(r);
}

static void nodes__vector_91__successive_sets__each_updated(void **state)
{
    (void)state;
    struct stand *r = stand_new(0);
    static const char *const sets[] = {"node1", "node1 node2", "node1 node2 node3 node4"};

    for (int i = 1; i <= 4; i++) {
        char name[] = {'s', (char)('0' + i), '\0'};
        stand_service(r, name, STAND_LB, STAND_WITH_F, NULL);
    }
    stand_run(r);
    for (size_t k = 0; k < ARRAY_LEN(sets); k++) {
        fake_provider_forget(r->provider);
        if (k == 2) {
            stand_node(r, "node3", NULL, NULL);
        }
        stand_node(r, k == 0 ? "node1" : k == 1 ? "node2" : "node4", NULL, NULL);
        stand_nodes_changed(r);
        assert_int_equal(4, fake_provider_count(r->provider, TT_VERB_UPDATE));
        assert_string_equal(sets[k], fake_provider_call(r->provider, TT_VERB_UPDATE, 3).nodes);
    }
    assert_int_equal(CLOCK_NEVER, queue_next_ms(r->syncer.queue));
    stand_free(r);
}

/* While s1 is updated, a node appears and s2 is ensured with it. */
static void node3_appears(void *arg, struct fake_provider *p, const struct tt_call *call,
                          const struct tt_item *item)
{
    struct stand *r = arg;

    (void)call;
    if (item->verb == TT_VERB_UPDATE) {
        p->during = NULL;
        stand_node(r, "node3", NULL, NULL);
        stand_add(r, "s2", TT_REASON_SPEC);
    }
}

static void nodes__vector_92__slow_update__nobody_is_set_back(void **state)
{
    (void)state;
    struct stand *r = stand_new(0);

    stand_node(r, "node1", NULL, NULL);
    stand_service(r, "s1", STAND_LB, STAND_WITH_F, NULL);
    stand_service(r, "s2", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    fake_provider_forget(r->provider);
    r->provider->during = node3_appears;
    r->provider->during_arg = r;
    stand_node(r, "node2", NULL, NULL);
    stand_nodes_changed(r);
    assert_string_equal("update demo/s1, ensure demo/s2", stand_story(r));
    assert_string_equal("node1 node2", fake_provider_call(r->provider, TT_VERB_UPDATE, 0).nodes);
    assert_string_equal("node1 node2 node3",
                        fake_provider_call(r->provider, TT_VERB_ENSURE, 0).nodes);
    stand_nodes_changed(r); /* the pass that node3 calls for */
    assert_string_equal("update demo/s1, ensure demo/s2, update demo/s1", stand_story(r));
    stand_free(r);
}

static void nodes__vector_93__names_in_the_event_are_limited(void **state)
{
    (void)state;
    struct stand *r = stand_new(0);
    char name[16];

    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    r->provider->exists = true;
    fake_provider_answer(r->provider,
                         (struct fake_answer){TT_VERB_UPDATE, TT_TRANSIENT, "no", 0, false});
    for (int i = 1; i <= 25; i++) {
        snprintf(name, sizeof(name), "n%02d", i);
        stand_node(r, name, NULL, NULL);
    }
    stand_nodes_changed(r);
    assert_non_null(strstr(stand_events(r),
                           "n18 n19 n20 <5 more>] [node names limited, total number of "
                           "nodes: 25], error: no\n"));
    stand_free(r);
}

static void nodes__update_of_what_is_not_there__quiet(void **state)
{
    (void)state;
    static const int32_t codes[] = {TT_NOT_FOUND, TT_TRANSIENT};

    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct stand *r = stand_new(0);
        stand_service(r, "web", STAND_LB, STAND_WITH_F, STAND_STATUS("203.0.113.10"));
        stand_run(r);
        fake_provider_forget(r->provider);
        fake_provider_answer(r->provider,
                             (struct fake_answer){TT_VERB_UPDATE, codes[i], "gone", 0, false});
        stand_node(r, "node1", NULL, NULL);
        stand_nodes_changed(r);
        assert_string_equal(codes[i] == TT_NOT_FOUND ? "update demo/web"
                                                     : "update demo/web, get demo/web",
                            stand_story(r));
        assert_null(strstr(stand_events(r), "UpdateLoadBalancerFailed"));
        stand_free(r);
    }
}

static void nodes__good_update__event_and_metric(void **state)
{
    (void)state;
    struct stand *r = stand_new(0);

    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    stand_node(r, "node1", NULL, NULL);
    stand_nodes_changed(r);
    stand_node_gone(r, "node1");
    stand_nodes_changed(r);
    assert_true(metrics_value(r->metrics, METRIC_LB_SYNC, NULL, 0) == 2);
    const char *events = stand_events(r);
    assert_non_null(
        strstr(events, "Normal UpdatedLoadBalancer Updated load balancer with new hosts\n"));
    assert_non_null(
        strstr(events, "(again)\n")); /* UnAvailableLoadBalancer, as at the first ensure */
    stand_free(r);
}

static void nodes__a_service_being_deleted__is_not_updated(void **state)
{
    (void)state;
    struct stand *r = stand_new(0);

    r->provider->exists = true;
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    fake_provider_answer(r->provider,
                         (struct fake_answer){TT_VERB_DELETE, TT_TRANSIENT, "no", 0, false});
    stand_service(r, "web", STAND_LB, STAND_WITH_F "," STAND_DELETING, NULL);
    stand_run(r);
    fake_provider_forget(r->provider);
    stand_node(r, "node1", NULL, NULL);
    stand_nodes_changed(r);
    assert_string_equal("", stand_story(r));
    stand_free(r);
}

static void nodes__update_does_not_end_the_wait_of_a_failed_ensure(void **state)
{
    (void)state;
    struct stand *r = stand_new(0);

    fake_provider_answer(r->provider,
                         (struct fake_answer){TT_VERB_ENSURE, TT_QUOTA, "full", 0, false});
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    stand_node(r, "node1", NULL, NULL);
    stand_nodes_changed(r);
    assert_string_equal("ensure demo/web, update demo/web", stand_story(r));
    assert_int_equal(1, queue_failures(r->syncer.queue, "demo/web"));
    assert_int_equal(1, stand_advance(r, 5000));
    assert_string_equal("ensure demo/web, update demo/web, ensure demo/web", stand_story(r));
    stand_free(r);
}

/* An edit that is refused does not cut what stands off from new nodes; where nothing stands, they
 * may be what it waits for. */
static void nodes__after_a_refused_ensure__what_stands_gets_them(void **state)
{
    static const struct {
        const char *status;
        const char *story;
    } rows[] = {{STAND_STATUS("203.0.113.10"), "update demo/web"}, {NULL, "ensure demo/web"}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stand *r = stand_new(0);
        stand_node(r, "node-0", NULL, NULL);
        fake_provider_answer(r->provider, (struct fake_answer){TT_VERB_ENSURE, TT_INVALID,
                                                               "no such name", 0, false});
        stand_service(r, "web", STAND_LB, STAND_WITH_F, rows[i].status);
        stand_run(r);
        fake_provider_forget(r->provider);
        stand_node(r, "node-1", NULL, NULL);
        stand_nodes_changed(r);
        assert_string_equal(rows[i].story, stand_story(r));
        stand_free(r);
    }
}

static void nodes__changes_gather__one_pass(void **state)
{
    (void)state;
    struct stand *r = stand_new(0);
    struct err err = ERR_INIT;

    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    fake_provider_forget(r->provider);
    assert_int_equal(ERR_OK, node_fanout_start(r->watch.fanout, &err));
    for (int i = 0; i < 500; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%d", i);
        stand_node(r, name, NULL, NULL);
    }
    assert_int_equal(clock_now_ms(r->clock) + FANOUT_IDLE_MS, node_fanout_next_ms(r->watch.fanout));
    clock_fake_advance(r->clock, FANOUT_IDLE_MS);
    while (!node_fanout_is_idle(r->watch.fanout)) {
        /* its thread is on the way: the clock has told it */
    }
    assert_int_equal(1, stand_run(r));
    assert_string_equal("update demo/web", stand_story(r));
    stand_free(r);
}

/* ---- endpoints ------------------------------------------------------------------------------- */

#define POD(ip, node) "{\"addresses\":[\"" ip "\"],\"nodeName\":\"" node "\"}"

static void endpoints__changed__updated_after_a_moment(void **state)
{
    (void)state;
    struct stand *r = stand_new(TT_CAP_WANTS_ENDPOINTS);

    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    fake_provider_forget(r->provider);
    stand_slice(r, "web-1", "web", POD("10.0.0.1", "node1"));
    stand_slice(r, "other-1", "other", POD("10.0.0.9", "node1"));
    assert_int_equal(0, stand_run(r));
    stand_advance(r, SYNC_ENDPOINTS_MS);
    assert_string_equal("update demo/web", stand_story(r));
    /* the same endpoints again */
    stand_slice(r, "web-1", "web", POD("10.0.0.1", "node1"));
    stand_advance(r, SYNC_ENDPOINTS_MS);
    assert_string_equal("update demo/web", stand_story(r));
    stand_slice(r, "web-1", "web", POD("10.0.0.1", "node2"));
    stand_advance(r, SYNC_ENDPOINTS_MS);
    assert_string_equal("update demo/web, update demo/web", stand_story(r));
    stand_free(r);
}

/* "slow" waits for ten seconds; endpoints of others do not concern them. */
static int64_t only_slow(void *provider, const struct tt_service *service)
{
    (void)provider;
    return service == NULL || strcmp(service->name, "slow") == 0 ? 10000 : -1;
}

static void endpoints__the_provider_says_whom_they_concern_and_when(void **state)
{
    (void)state;
    struct stand *r = stand_new(TT_CAP_WANTS_ENDPOINTS);

    r->provider->desc.endpoints_delay_ms = only_slow;
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_service(r, "slow", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    fake_provider_forget(r->provider);
    stand_slice(r, "web-1", "web", POD("10.0.0.1", "node1"));
    stand_slice(r, "slow-1", "slow", POD("10.0.0.2", "node1"));
    stand_advance(r, 9999);
    assert_string_equal("", stand_story(r));
    stand_slice(r, "slow-1", "slow", POD("10.0.0.2", "node2"));
    stand_advance(r, 1);
    assert_string_equal("update demo/slow", stand_story(r));
    stand_advance(r, 20000);
    assert_string_equal("update demo/slow", stand_story(r));
    stand_free(r);
}

static int64_t any_number(void *provider, const struct tt_service *service)
{
    (void)service;
    return ((struct fake_provider *)provider)->endpoints_delay_ms;
}

static void endpoints__delays_of_a_provider__bounded(void **state)
{
    static const struct {
        int64_t says, want;
    } rows[] = {
        {-5, -1}, {0, SYNC_ENDPOINTS_MS}, {30000, 30000}, {INT64_MAX, SYNC_ENDPOINTS_MAX_MS}};
    (void)state;
    struct stand *r = stand_new(TT_CAP_WANTS_ENDPOINTS);

    r->provider->desc.endpoints_delay_ms = any_number;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        r->provider->endpoints_delay_ms = rows[i].says;
        assert_int_equal(rows[i].want, syncer_endpoints_delay_ms(&r->syncer, NULL));
    }
    stand_free(r);
    r = stand_new(0);
    r->provider->desc.endpoints_delay_ms = any_number;
    assert_int_equal(-1, syncer_endpoints_delay_ms(&r->syncer, NULL));
    stand_free(r);
}

/* ---- what is logged -------------------------------------------------------------------------- */

static struct queue *queue_at_line;
static size_t waiting_at_line;
static unsigned n_lines;

/* The log has no reader, so each line of it is a signal, in the thread that writes it. */
static void on_line(int signal_number)
{
    (void)signal_number;
    waiting_at_line = queue_counts(queue_at_line).waiting;
    n_lines++;
}

/* A worker may take the first Service at once: were the pass told of after that, its syncs would
 * stand before it in the log. */
static void nodes__pass__is_logged_before_the_first_service_is_queued(void **state)
{
    struct stand *r = three_services(1);
    struct sigaction before;
    const struct sigaction on_pipe = {.sa_handler = on_line};
    int ends[2];

    (void)state;
    stand_node(r, "node2", NULL, NULL);
    (void)stand_events(r); /* ends their thread, which logs, too */
    queue_at_line = r->syncer.queue;
    n_lines = 0;
    size_t waiting = queue_counts(r->syncer.queue).waiting;
    assert_true(pipe(ends) == 0 && close(ends[0]) == 0);
    assert_int_equal(0, sigaction(SIGPIPE, &on_pipe, &before));
    log_setup(&(struct log_config){.fd = ends[1], .verbosity = 2});
    node_fanout_pass(&r->syncer);
    log_setup(&(struct log_config){.fd = STDERR_FILENO});
    assert_int_equal(0, sigaction(SIGPIPE, &before, NULL));
    assert_int_equal(0, close(ends[1]));
    assert_int_equal(1, n_lines);
    assert_int_equal(waiting, waiting_at_line);
    assert_int_equal(waiting + 3, queue_counts(r->syncer.queue).waiting);
    stand_run(r);
    stand_free(r);
}

UNIT_MAIN(sync_nodes)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes__vectors_70_to_82__who_is_updated_with_what),
        cmocka_unit_test(nodes__vectors_73_75__readiness_updates_nobody),
        cmocka_unit_test(nodes__unschedulable_or_labelled__nobody_is_updated),
        cmocka_unit_test(nodes__vector_82__one_replaced_by_another),
        cmocka_unit_test(nodes__vector_72__failed_update_becomes_one_full_ensure),
        cmocka_unit_test(nodes__vectors_83_to_89__only_load_balancers_are_updated),
        cmocka_unit_test(nodes__vector_88__an_entry_without_state_does_no_harm),
        cmocka_unit_test(nodes__vector_91__successive_sets__each_updated),
        cmocka_unit_test(nodes__vector_92__slow_update__nobody_is_set_back),
        cmocka_unit_test(nodes__vector_93__names_in_the_event_are_limited),
        cmocka_unit_test(nodes__update_of_what_is_not_there__quiet),
        cmocka_unit_test(nodes__good_update__event_and_metric),
        cmocka_unit_test(nodes__a_service_being_deleted__is_not_updated),
        cmocka_unit_test(nodes__update_does_not_end_the_wait_of_a_failed_ensure),
        cmocka_unit_test(nodes__after_a_refused_ensure__what_stands_gets_them),
        cmocka_unit_test(nodes__changes_gather__one_pass),
        cmocka_unit_test(endpoints__changed__updated_after_a_moment),
        cmocka_unit_test(endpoints__the_provider_says_whom_they_concern_and_when),
        cmocka_unit_test(endpoints__delays_of_a_provider__bounded),
        cmocka_unit_test(nodes__pass__is_logged_before_the_first_service_is_queued),
    };
    return cmocka_run_group_tests_name("controller-sync-nodes", tests, NULL, NULL);
}
