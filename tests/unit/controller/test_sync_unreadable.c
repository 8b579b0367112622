/* SPDX-License-Identifier: Apache-2.0 */
/* test_sync_unreadable.c: Services, nodes and endpoints of which something cannot be read.
 *
 * "Cannot be read" is not "is not there": nothing is changed for such a Service, one event reports
 * it, it is there for others, and its deletion ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/base/str.h"
#include "tests/support/unit.h"
#include "tests/unit/controller/stand.h"

#define BAD_PORTS "\"type\":\"LoadBalancer\",\"ports\":7"
#define WHY       "spec.ports: want an array of objects, got 7"
#define EVENT                                                                                      \
    "Warning SyncLoadBalancerFailed Error syncing load balancer: part of the Service cannot be "   \
    "read: " WHY "; its load balancer is left as it is until that is mended or the Service is "    \
    "deleted\n"

/* How the board shows demo/web; "" when it does not. */
static const char *shown(struct stand *r)
{
    struct board_view view;
    board_look(r->syncer.board, r->a, &view);
    for (size_t i = 0; i < view.n_rows; i++) {
        if (str_eq(view.rows[i].key, "demo/web")) {
            return arena_printf(r->a, "%s: %s", board_state_word(view.rows[i].state),
                                view.rows[i].message);
        }
    }
    return "";
}

static struct stand *stand_with_board(struct board **ret)
{
    struct stand *r = stand_new(0);
    *ret = board_new(r->clock);
    r->syncer.board = *ret;
    r->provider->exists = true;
    return r;
}

static void stand_done(struct stand *r, struct board *board)
{
    stand_free(r);
    board_free(board);
}

static void unreadable__a_served_service__left_alone_told_once_and_taken_up_again(void **state)
{
    (void)state;
    struct board *board;
    struct stand *r = stand_with_board(&board);

    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    fake_provider_forget(r->provider);
    for (int i = 0; i < 3; i++) { /* written again and again, for other reasons too */
        stand_service(r, "web", BAD_PORTS,
                      i == 2 ? STAND_WITH_F ",\"labels\":{\"a\":\"b\"}" : STAND_WITH_F, NULL);
        stand_run(r);
        stand_add(r, "web", TT_REASON_RESYNC);
        stand_advance(r, 3600000);
        stand_nodes_changed(r);
    }
    assert_string_equal("", stand_story(r));
    assert_string_equal("Failed: part of the Service cannot be read: " WHY
                        "; its load balancer is left as it is until that is mended or the Service "
                        "is deleted",
                        shown(r));
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL); /* what it was before */
    stand_run(r);
    assert_string_equal("ensure demo/web", stand_story(r));
    assert_string_equal("Ready: ", shown(r));
    const char *events = stand_events(r);
    const char *first = strstr(events, EVENT);
    assert_non_null(first);
    assert_null(strstr(first + 1, EVENT));
    stand_done(r, board);
}

/* It was never read whole by this process: all that is known of it is in the object. */
static void unreadable__from_the_start__nothing_is_called(void **state)
{
    (void)state;
    static const char *const specs[] = {BAD_PORTS, "\"type\":7", "\"loadBalancerSourceRanges\":{}"};
    for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
        struct board *board;
        struct stand *r = stand_with_board(&board);
        stand_service(r, "web", specs[i], i == 2 ? STAND_WITH_F : NULL, NULL);
        stand_run(r);
        stand_advance(r, 3600000);
        assert_string_equal("", stand_story(r));
        assert_true(str_has_prefix(shown(r), "Failed: part of the Service cannot be read: spec."));
        assert_int_equal(0, stand_patches(r));
        stand_done(r, board);
    }
}

#define CONDITION                                                                                  \
    "\"conditions\":[{\"type\":\"trimtab.io/LoadBalancerReady\",\"status\":\"False\",\"reason\":"  \
    "\"InvalidSpec\",\"message\":\"Error syncing load balancer: part of the Service cannot be "    \
    "read: " WHY "; its load balancer is left as it is until that is mended or the Service is "    \
    "deleted\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\",\"observedGeneration\":3}]"

/* Two programs that write in turns do so once a minute; without another one nothing
 * is written again. */
static void unreadable__condition_is_overwritten__put_back_after_a_minute(void **state)
{
    (void)state;
    struct board *board;
    struct stand *r = stand_with_board(&board);
    r->syncer.conditions = true;
    stand_service(r, "web", BAD_PORTS, STAND_WITH_F ",\"generation\":3", NULL);
    stand_run(r);
    assert_int_equal(1, stand_patches(r));
    for (size_t i = 1; i <= 2; i++) {
        stand_service(r, "web", BAD_PORTS, STAND_WITH_F ",\"generation\":3", CONDITION);
        stand_run(r);
        stand_add(r, "web", TT_REASON_RESYNC);
        stand_advance(r, 3600000);
        assert_int_equal(i, stand_patches(r));
        stand_service(r, "web", BAD_PORTS, STAND_WITH_F ",\"generation\":3",
                      STAND_STATUS("203.0.113.10"));
        stand_advance(r, 59000);
        assert_int_equal(i, stand_patches(r));
        stand_advance(r, 2000);
        assert_int_equal(i + 1, stand_patches(r));
        assert_non_null(strstr(stand_patch(r, i), "InvalidSpec"));
    }
    const char *first = strstr(stand_events(r), EVENT);
    assert_non_null(first);
    assert_null(strstr(first + 1, EVENT));
    stand_done(r, board);
}

/* The contents of the status are not known: nothing is written blindly. */
static void unreadable__status__condition_is_written_once(void **state)
{
    (void)state;
    struct board *board;
    struct stand *r = stand_with_board(&board);
    r->syncer.conditions = true;
    for (int i = 0; i < 3; i++) {
        stand_service(r, "web", STAND_LB, STAND_WITH_F, "\"loadBalancer\":7");
        stand_run(r);
        stand_add(r, "web", TT_REASON_RESYNC);
        stand_advance(r, 3600000);
    }
    assert_int_equal(1, stand_patches(r));
    stand_done(r, board);
}

/* Its own business, or another controller's. */
static void unreadable__nobody_wants_a_load_balancer__quiet(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "\"type\":\"ClusterIP\",\"ports\":7",
        "\"type\":\"LoadBalancer\",\"ports\":7,\"loadBalancerClass\":\"example.com/theirs\""};
    for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
        struct board *board;
        struct stand *r = stand_with_board(&board);
        stand_service(r, "web", specs[i], NULL, NULL);
        stand_run(r);
        assert_string_equal("", stand_story(r));
        assert_string_equal("", shown(r));
        assert_string_equal("", stand_events(r));
        stand_done(r, board);
    }
}

/* By name and uid; whatever else cannot be read. */
static void unreadable__being_deleted__deleted_and_let_go(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        const char *meta;
        bool was_read;
    } rows[] = {
        {BAD_PORTS, STAND_WITH_F "," STAND_DELETING, false},
        {BAD_PORTS, STAND_WITH_F "," STAND_DELETING, true},
        {"\"type\":[]", STAND_WITH_F "," STAND_DELETING, false},
        {STAND_LB, STAND_WITH_F ",\"annotations\":7," STAND_DELETING, true},
        {STAND_LB, "\"finalizers\":7," STAND_DELETING, false},
        {STAND_LB, "\"finalizers\":7," STAND_DELETING, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct board *board;
        struct stand *r = stand_with_board(&board);
        if (rows[i].was_read) {
            stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
            stand_run(r);
            fake_provider_forget(r->provider);
        }
        size_t before = stand_patches(r);
        stand_service(r, "web", rows[i].spec, rows[i].meta, NULL);
        stand_run(r);
        assert_int_equal(1, fake_provider_count(r->provider, TT_VERB_DELETE));
        assert_string_equal("uid-web", fake_provider_call(r->provider, TT_VERB_DELETE, 0).uid);
        assert_int_equal(before + 1, stand_patches(r));
        assert_non_null(strstr(stand_patch(r, before), STAND_F));
        assert_string_equal("", shown(r));
        stand_done(r, board);
    }
}

/* Its finalizer was taken off: the object is gone at once. */
static void unreadable__vanishes__cleaned_up(void **state)
{
    (void)state;
    for (int was_read = 0; was_read < 2; was_read++) {
        struct board *board;
        struct stand *r = stand_with_board(&board);
        if (was_read) {
            stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
            stand_run(r);
            fake_provider_forget(r->provider);
        }
        stand_service(r, "web", BAD_PORTS, NULL, NULL);
        stand_run(r);
        stand_service_gone(r, "web");
        stand_run(r);
        assert_int_equal(1, fake_provider_count(r->provider, TT_VERB_DELETE));
        assert_string_equal("uid-web", fake_provider_call(r->provider, TT_VERB_DELETE, 0).uid);
        stand_done(r, board);
    }
}

/* The provider sees it among all Services, marked. */
static void unreadable__host_services__listed_and_marked(void **state)
{
    (void)state;
    struct stand *r = stand_new(0);
    stand_service(r, "a", STAND_LB, NULL, NULL);
    stand_service(r, "b", STAND_LB ",\"loadBalancerIP\":\"192.0.2.7\"",
                  "\"annotations\":{\"k\":\"v\"}", STAND_STATUS("192.0.2.7"));
    stand_service(r, "b", BAD_PORTS, "\"annotations\":[]", NULL);
    struct host_call *c = host_call_begin(r->host, r->a, 1, 1000, 0, NULL);
    const struct tt_service *const *all = NULL;
    uint32_t n = 0;
    const struct tt_host *table = host_table(r->host);
    table->services(r->host, host_call_abi(c), &all, &n);
    assert_int_equal(2, n);
    assert_int_equal(0, all[0]->flags);
    assert_int_equal(TT_SERVICE_UNREADABLE, all[1]->flags);
    assert_string_equal("LoadBalancer", all[1]->type);
    assert_int_equal(1, all[1]->n_ports);       /* as last read */
    assert_int_equal(1, all[1]->n_annotations); /* the same */
    assert_string_equal("", all[1]->lb_ip);     /* it says so itself: there is none any more */
    assert_int_equal(0, all[1]->n_ingress);
    host_call_end(c);
    stand_free(r);
}

/* A node keeps its place: what cannot be read of it stays as it was, else counts as absent. */
static void unreadable__node__keeps_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        const char *meta;
        const char *provider_id;
    } rows[] = {
        {NULL, "\"labels\":7", "cloud/n2"},
        {"\"taints\":7,\"providerID\":\"cloud/n2\"", NULL, "cloud/n2"},
        {"\"providerID\":7", NULL, "cloud/n2"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (int was_read = 0; was_read < 2; was_read++) {
            struct stand *r = stand_new(0);
            stand_node(r, "n1", NULL, NULL);
            if (was_read) {
                stand_node(r, "n2", NULL, NULL);
            }
            stand_node(r, "n2", rows[i].spec, rows[i].meta);
            stand_service(r, "web", STAND_LB, NULL, NULL);
            stand_run(r);
            assert_string_equal("n1 n2", fake_provider_call(r->provider, TT_VERB_ENSURE, 0).nodes);
            struct kube_object *o = kube_store_get(r->syncer.nodes, "n2");
            assert_true((o->node->flags & TT_NODE_UNREADABLE) != 0);
            assert_true((o->node->flags & TT_NODE_ELIGIBLE) != 0);
            const char *want = i == 2 && !was_read ? "" : rows[i].provider_id;
            assert_string_equal(want, o->node->provider_id);
            kube_object_unref(o);
            assert_int_equal(1, kube_store_unreadable(r->syncer.nodes));
            stand_node(r, "n2", NULL, NULL);
            assert_int_equal(0, kube_store_unreadable(r->syncer.nodes));
            stand_free(r);
        }
    }
}

/* It is unknown where its endpoints are: the members stay, and an event reports it. */
static void unreadable__slice_never_read__service_is_left_alone(void **state)
{
    (void)state;
    struct stand *r = stand_new(TT_CAP_WANTS_ENDPOINTS);
    stand_service(r, "web", STAND_LB, NULL, NULL);
    stand_slice(r, "web-1", "web", "7");
    stand_run(r);
    assert_string_equal("", stand_story(r));
    stand_slice(r, "web-1", "web", "{\"addresses\":[\"10.0.0.1\"],\"nodeName\":\"n1\"}");
    stand_advance(r, 1000);
    assert_int_equal(1, fake_provider_count(r->provider, TT_VERB_ENSURE));
    fake_provider_forget(r->provider);
    stand_slice(r, "web-1", "web", "7"); /* what was known of it stays */
    stand_advance(r, 1000);
    struct kube_snapshot *slices = kube_store_slices_of(r->syncer.slices, "demo", "web");
    const struct tt_slice *slice = slices->views[0];
    assert_int_equal(1, slice->n_endpoints);
    kube_snapshot_unref(slices);
    assert_non_null(strstr(stand_events(r), "part of EndpointSlice demo/web-1 cannot be read: "
                                            "endpoints[0]: want an object, got 7"));
    stand_free(r);
}

UNIT_MAIN(sync_unreadable)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unreadable__a_served_service__left_alone_told_once_and_taken_up_again),
        cmocka_unit_test(unreadable__from_the_start__nothing_is_called),
        cmocka_unit_test(unreadable__condition_is_overwritten__put_back_after_a_minute),
        cmocka_unit_test(unreadable__status__condition_is_written_once),
        cmocka_unit_test(unreadable__nobody_wants_a_load_balancer__quiet),
        cmocka_unit_test(unreadable__being_deleted__deleted_and_let_go),
        cmocka_unit_test(unreadable__vanishes__cleaned_up),
        cmocka_unit_test(unreadable__host_services__listed_and_marked),
        cmocka_unit_test(unreadable__node__keeps_its_place),
        cmocka_unit_test(unreadable__slice_never_read__service_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
