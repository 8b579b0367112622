/* SPDX-License-Identifier: Apache-2.0 */
/* test_sync_upkeep.c: nodes follow what stands while its Service is refused
 * (controller/sync/sync_upkeep.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/arena.h"
#include "common/lb/mark_rules.h"
#include "tests/support/unit.h"
#include "tests/unit/controller/stand.h"

#define STANDS STAND_STATUS("203.0.113.1")
#define EDITED "\"generation\":2," STAND_WITH_F

static void refuse(struct stand *r, int32_t code)
{
    fake_provider_answer(r->provider,
                         (struct fake_answer){TT_VERB_ENSURE, code, "not so", 0, false});
}

/* web stands with one node; then it is edited, and the edit is refused. */
static struct stand *refused_after(uint32_t capabilities, uint32_t operations, int32_t code)
{
    struct stand *r = stand_new(capabilities);
    r->provider->plan_operations = operations;
    stand_node(r, "node1", NULL, NULL);
    stand_service(r, "web", STAND_LB, STAND_WITH_F, STANDS);
    stand_run(r);
    fake_provider_forget(r->provider);
    refuse(r, code);
    stand_service(r, "web", STAND_LB ",\"sessionAffinity\":\"ClientIP\"", EDITED, STANDS);
    stand_run(r);
    return r;
}

static struct stand *refused_edit(uint32_t capabilities, int32_t code)
{
    return refused_after(capabilities, 0, code);
}

/* The edit came with no other nodes: there is nothing to keep up. */
static void upkeep__same_nodes__one_call(void **state)
{
    (void)state;
    struct stand *r = refused_edit(0, TT_INVALID);
    assert_string_equal(stand_story(r), "ensure demo/web");
    stand_free(r);
}

static void upkeep__other_nodes__update_by_the_last_good_wish(void **state)
{
    (void)state;
    static const int32_t codes[] = {TT_INVALID, TT_FORBIDDEN, TT_QUOTA};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct stand *r = refused_edit(0, codes[i]);
        fake_provider_forget(r->provider);
        refuse(r, codes[i]);
        stand_node(r, "node2", NULL, NULL);
        stand_add(r, "web", TT_REASON_RESYNC);
        stand_run(r);
        assert_string_equal(stand_story(r), "ensure demo/web, update demo/web");
        struct fake_call c = fake_provider_call(r->provider, TT_VERB_UPDATE, 0);
        assert_string_equal(c.nodes, "node1 node2");
        assert_int_equal(c.flags, codes[i] == TT_INVALID ? 0 : TT_ITEM_UNPROVEN);
        stand_free(r);
    }
}

/* An edit that failed before anything was carried out has left what stood, whatever the reason was:
 * nodes follow by that.  A provider that does not say what it does may have done half. */
static void upkeep__nothing_carried_out__by_the_last_good_wish(void **state)
{
    (void)state;
    const struct {
        uint32_t capabilities;
        uint32_t operations; /* that were carried out before */
        int32_t code;
        const char *affinity;
    } rows[] = {{TT_CAP_REPORTS_PLANS, 0, TT_INVALID, ""},
                {TT_CAP_REPORTS_PLANS, 0, TT_QUOTA, ""},
                {TT_CAP_REPORTS_PLANS, 0, TT_NOT_FOUND, ""},
                {TT_CAP_REPORTS_PLANS, 0, TT_TRANSIENT, ""},
                {TT_CAP_REPORTS_PLANS, 1, TT_INVALID, "ClientIP"},
                {TT_CAP_REPORTS_PLANS, 1, TT_QUOTA, "ClientIP"},
                {0, 0, TT_INVALID, ""},
                {0, 0, TT_QUOTA, "ClientIP"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stand *r = refused_after(rows[i].capabilities, rows[i].operations, rows[i].code);
        fake_provider_forget(r->provider);
        refuse(r, rows[i].code);
        stand_node(r, "node2", NULL, NULL);
        stand_add(r, "web", TT_REASON_RESYNC);
        stand_run(r);
        struct fake_call c = fake_provider_call(r->provider, TT_VERB_UPDATE, 0);
        assert_string_equal(c.key, "demo/web");
        assert_string_equal(c.affinity, rows[i].affinity);
        assert_int_equal(c.flags, *rows[i].affinity == '\0' ? 0 : TT_ITEM_UNPROVEN);
        stand_free(r);
    }
}

/* Another program wipes the addresses out of the status while the edit is refused: the load
 * balancer stands all the same, and nodes follow, with a try of the edit and without one. */
static void upkeep__status_wiped__by_the_last_good_wish(void **state)
{
    (void)state;
    struct stand *r = refused_edit(TT_CAP_REPORTS_PLANS, TT_INVALID);
    fake_provider_forget(r->provider);
    refuse(r, TT_INVALID);
    stand_service(r, "web", STAND_LB ",\"sessionAffinity\":\"ClientIP\"", EDITED, NULL);
    stand_node(r, "node2", NULL, NULL);
    stand_add(r, "web", TT_REASON_RESYNC);
    stand_run(r);
    assert_string_equal(stand_story(r), "ensure demo/web, update demo/web");
    for (int i = 0; i < 2; i++) {
        struct fake_call c = fake_provider_call(r->provider, TT_VERB_UPDATE, 0);
        assert_string_equal(c.nodes, i == 0 ? "node1 node2" : "node1 node2 node3");
        assert_string_equal(c.affinity, "");
        assert_int_equal(c.flags, 0);
        fake_provider_forget(r->provider);
        stand_node(r, "node3", NULL, NULL);
        stand_add(r, "web", TT_REASON_NODES);
        stand_run(r);
        assert_string_equal(stand_story(r), i == 0 ? "update demo/web" : "");
    }
    stand_free(r);
}

/* A new process sees neither addresses nor a wish that was accepted; the mark says that the Service
 * had addresses. */
static void upkeep__status_wiped_before_the_start__by_the_mark(void **state)
{
    (void)state;
    static const struct {
        const char *mark, *story;
    } rows[] = {
        {"uid-web 203.0.113.1", "ensure demo/web, update demo/web"},
        {"uid-web 203.0.113.1 edited", "ensure demo/web, update demo/web"},
        {"uid-web", "ensure demo/web"},
        {"uid-web edited", "ensure demo/web"},
        {"uid-web2 203.0.113.1", "ensure demo/web"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stand *r = stand_new(0);
        stand_node(r, "node1", NULL, NULL);
        refuse(r, TT_INVALID);
        stand_service(r, "web", STAND_LB,
                      arena_printf(r->a, STAND_WITH_F ",\"annotations\":{\"%s\":\"%s\"}",
                                   LB_MARK_ANNOTATION, rows[i].mark),
                      NULL);
        stand_run(r);
        assert_string_equal(stand_story(r), rows[i].story);
        stand_free(r);
    }
}

/* A new process: it never saw a wish that was accepted, and goes by what stands, also
 * when nodes come later. */
static void upkeep__refused_from_the_start(void **state)
{
    (void)state;
    struct stand *r = stand_new(0);
    stand_node(r, "node1", NULL, NULL);
    refuse(r, TT_INVALID);
    stand_service(r, "web", STAND_LB, STAND_WITH_F, STANDS);
    stand_run(r);
    assert_string_equal(stand_story(r), "ensure demo/web, update demo/web");
    assert_int_equal(fake_provider_call(r->provider, TT_VERB_UPDATE, 0).flags, TT_ITEM_UNPROVEN);
    fake_provider_forget(r->provider);
    stand_node(r, "node2", NULL, NULL);
    stand_add(r, "web", TT_REASON_NODES);
    stand_run(r);
    assert_string_equal(stand_story(r), "update demo/web");
    assert_int_equal(fake_provider_call(r->provider, TT_VERB_UPDATE, 0).flags, TT_ITEM_UNPROVEN);
    stand_free(r);
}

/* A load balancer that does not stand, waits, or is another program's has no nodes of
 * ours to keep. */
static void upkeep__not_called_for(void **state)
{
    (void)state;
    static const struct {
        int32_t code;
        const char *status;
    } rows[] = {{TT_INVALID, NULL},
                {TT_IN_PROGRESS, STANDS},
                {TT_CANCELLED, STANDS},
                {TT_IMPLEMENTED_ELSEWHERE, STANDS}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stand *r = stand_new(0);
        stand_node(r, "node1", NULL, NULL);
        refuse(r, rows[i].code);
        stand_service(r, "web", STAND_LB, STAND_WITH_F, rows[i].status);
        stand_run(r);
        assert_string_equal(stand_story(r), "ensure demo/web");
        stand_free(r);
    }
}

/* An update that fails is made again with the next ensure, also without other nodes. */
static void upkeep__failed__again_with_the_next_try(void **state)
{
    (void)state;
    struct stand *r = stand_new(0);
    stand_node(r, "node1", NULL, NULL);
    refuse(r, TT_INVALID);
    refuse(r, TT_INVALID);
    refuse(r, TT_INVALID);
    fake_provider_answer(r->provider,
                         (struct fake_answer){TT_VERB_UPDATE, TT_TRANSIENT, "later", 0, false});
    stand_service(r, "web", STAND_LB, STAND_WITH_F, STANDS);
    stand_run(r);
    for (int i = 0; i < 2; i++) {
        fake_provider_forget(r->provider);
        stand_add(r, "web", TT_REASON_RESYNC);
        stand_run(r);
        assert_string_equal(stand_story(r),
                            i == 0 ? "ensure demo/web, update demo/web" : "ensure demo/web");
    }
    stand_free(r);
}

/* The owner hears of the refusal; the update of nodes is no second failure and
 * no second success. */
static void upkeep__events(void **state)
{
    (void)state;
    struct stand *r = stand_new(TT_CAP_REPORTS_PLANS);
    stand_node(r, "node1", NULL, NULL);
    refuse(r, TT_INVALID);
    fake_provider_answer(r->provider,
                         (struct fake_answer){TT_VERB_UPDATE, TT_TRANSIENT, "later", 0, false});
    stand_service(r, "web", STAND_LB, STAND_WITH_F, STANDS);
    stand_run(r);
    assert_string_equal(
        stand_events(r),
        "Normal EnsuringLoadBalancer Ensuring load balancer\n"
        "Warning SyncLoadBalancerFailed Error syncing load balancer: failed to ensure load "
        "balancer: not so\n");
    stand_free(r);
}

/* The new load balancer serves, and the health check of the former one cannot be deleted. */
static void serve_then_fail(void *arg, struct fake_provider *p, const struct tt_call *call,
                            const struct tt_item *item)
{
    const struct tt_ingress ingress = {.ip = p->ip};
    const char *owners[] = {"demo/web"};
    const struct tt_operation op = {.size = sizeof(op),
                                    .verb = TT_OP_DELETE,
                                    .kind = "health check",
                                    .name = "former",
                                    .owners = owners,
                                    .n_owners = 1};
    (void)arg;
    if (item->verb == TT_VERB_ENSURE) {
        p->host->result_ingress(item->result, &ingress, 1);
        p->host->result_serves(item->result);
        p->host->report_operation(p->host->ctx, call, &op, TT_FORBIDDEN, "not so", 1);
    }
}

static void upkeep__only_tidying_failed__not_called(void **state)
{
    (void)state;
    static const bool serves[] = {true, false};
    for (size_t i = 0; i < ARRAY_LEN(serves); i++) {
        struct stand *r = stand_new(TT_CAP_REPORTS_PLANS);
        r->provider->plan_operations = 1;
        stand_node(r, "node1", NULL, NULL);
        stand_service(r, "web", STAND_LB, STAND_WITH_F, STANDS);
        stand_run(r);
        fake_provider_forget(r->provider);
        refuse(r, TT_FORBIDDEN);
        r->provider->plan_operations = 0; /* a plan would begin after the hook */
        r->provider->during = serves[i] ? serve_then_fail : NULL;
        stand_node(r, "node2", NULL, NULL);
        stand_service(r, "web", STAND_LB ",\"sessionAffinity\":\"ClientIP\"", EDITED, STANDS);
        stand_run(r);
        assert_string_equal(stand_story(r),
                            serves[i] ? "ensure demo/web" : "ensure demo/web, update demo/web");
        stand_free(r);
    }
}

UNIT_MAIN(sync_upkeep)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(upkeep__same_nodes__one_call),
        cmocka_unit_test(upkeep__other_nodes__update_by_the_last_good_wish),
        cmocka_unit_test(upkeep__nothing_carried_out__by_the_last_good_wish),
        cmocka_unit_test(upkeep__status_wiped__by_the_last_good_wish),
        cmocka_unit_test(upkeep__status_wiped_before_the_start__by_the_mark),
        cmocka_unit_test(upkeep__refused_from_the_start),
        cmocka_unit_test(upkeep__not_called_for),
        cmocka_unit_test(upkeep__failed__again_with_the_next_try),
        cmocka_unit_test(upkeep__events),
        cmocka_unit_test(upkeep__only_tidying_failed__not_called),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
