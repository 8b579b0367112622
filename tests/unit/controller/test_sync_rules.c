/* SPDX-License-Identifier: Apache-2.0 */
/* test_sync_rules.c: the decisions as a table: what is queued, what is done, what
 * an outcome means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "common/base/attr.h"
#include "controller/sync/sync_rules.h"
#include "tests/support/unit.h"

#define F "service.kubernetes.io/load-balancer-cleanup"

static const char *const with_f[] = {F};
static const char *const with_own[] = {"example.com/own"};

static struct tt_service svc(const char *type, const char *lb_class, bool f, bool deleting)
{
    return (struct tt_service){.size = sizeof(struct tt_service),
                               .ns = "demo",
                               .name = "web",
                               .uid = "u",
                               .type = type,
                               .lb_class = lb_class,
                               .finalizers = with_f,
                               .n_finalizers = f,
                               .deleted_us = deleting};
}

static const struct sync_scope scope = {.provider = "fake",
                                        .classes = with_own,
                                        .n_classes = 1,
                                        .finalizers = with_own,
                                        .n_finalizers = 1};

static void scope__predicates__vectors_31_to_34_and_classes(void **state)
{
    (void)state;
    static const struct {
        int row;
        const char *type, *lb_class;
        bool f, deleting;
        bool wants, foreign, cleanup;
    } rows[] = {
        {31, "LoadBalancer", NULL, false, false, true, false, false},
        {32, "NodePort", NULL, true, false, false, false, true},
        {33, "LoadBalancer", NULL, true, false, true, false, false},
        {34, "", NULL, true, true, false, false, true},
        {0, "LoadBalancer", "x", false, false, false, true, false},
        {0, "LoadBalancer", "x", true, true, false, true, true},
        {0, "LoadBalancer", "example.com/own", true, false, true, false, false},
        {0, "LoadBalancer", NULL, false, true, true, false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct tt_service s = svc(rows[i].type, rows[i].lb_class, rows[i].f, rows[i].deleting);
        assert_int_equal(rows[i].wants, scope_wants(&scope, &s));
        assert_int_equal(rows[i].foreign, scope_is_foreign(&scope, &s));
        assert_int_equal(rows[i].cleanup, scope_needs_cleanup(&scope, &s));
    }
}

static void scope__the_providers_finalizer__counts_for_cleanup(void **state)
{
    (void)state;
    struct tt_service s = svc("LoadBalancer", NULL, false, true);

    s.finalizers = with_own;
    s.n_finalizers = 1;
    assert_true(scope_needs_cleanup(&scope, &s));
}

static void scope__our_mark__counts_for_cleanup_as_a_finalizer_does(void **state)
{
    static const char *const writers[] = {"fake", "other"};
    static const struct {
        const char *type, *lb_class, *mark;
        bool deleting, cleanup; /* `cleanup` when the mark is ours; else: never */
    } rows[] = {
        {"LoadBalancer", NULL, "u 203.0.113.1", false, false},
        {"LoadBalancer", NULL, "u", true, true},
        {"LoadBalancer", "x", "u", false, true},
        {"LoadBalancer", "x", "u 203.0.113.1 edited", false, true},
        {"LoadBalancer", "x", "u2 203.0.113.1", false, false}, /* a copy */
        {"LoadBalancer", "x", "", true, false},
        {"LoadBalancer", "example.com/own", "u", false, false},
        {"ClusterIP", NULL, "u", false, true},
        {"ClusterIP", NULL, "other", false, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct tt_kv marks[2] = {{.key = "trimtab.io/carried-out", .value = rows[i].mark}};
        char by[128];
        struct tt_service s = svc(rows[i].type, rows[i].lb_class, false, rows[i].deleting);
        s.annotations = marks;
        s.n_annotations = 1;
        if (scope_needs_cleanup(&scope, &s)) {
            fail_msg("row %zu, by nobody", i);
        }
        for (size_t k = 0; k < ARRAY_LEN(writers); k++) {
            (void)snprintf(by, sizeof(by), "%s %s", writers[k], rows[i].mark);
            marks[1] = (struct tt_kv){.key = "trimtab.io/carried-out-by", .value = by};
            s.n_annotations = 2;
            if (scope_needs_cleanup(&scope, &s) != (rows[i].cleanup && k == 0)) {
                fail_msg("row %zu, by %s", i, writers[k]);
            }
        }
    }
}

static void scope_reasons__what_is_queued(void **state)
{
    (void)state;
    struct tt_service lb = svc("LoadBalancer", NULL, false, false);
    struct tt_service same = lb;
    struct tt_service changed = lb;
    struct tt_service plain = svc("ClusterIP", NULL, false, false);
    struct tt_service deleting = svc("LoadBalancer", NULL, true, true);
    const char *what = NULL;

    changed.lb_ip = "192.0.2.1";
    lb.lb_ip = "";
    same.lb_ip = "";
    assert_int_equal(TT_REASON_RESYNC, scope_reasons(&scope, NULL, &lb, false, NULL));
    assert_int_equal(TT_REASON_SPEC, scope_reasons(&scope, NULL, &lb, true, NULL));
    assert_int_equal(0, scope_reasons(&scope, NULL, &plain, true, NULL));
    assert_int_equal(0, scope_reasons(&scope, &lb, &same, true, NULL));
    assert_int_equal(TT_REASON_SPEC, scope_reasons(&scope, &lb, &changed, true, &what));
    assert_string_equal("spec.loadBalancerIP", what);
    assert_int_equal(TT_REASON_CLEANUP,
                     scope_reasons(&scope, NULL, &deleting, true, NULL) & TT_REASON_CLEANUP);
}

static void scope_is_edit__annotations_that_ask_for_something(void **state)
{
    (void)state;
    static const char *const own[] = {"example.com/own*"};
    static const char *const wishes[] = {"example.com/*", "ranges"};
    static const struct {
        const char *key;
        bool edit, edit_of_all; /* with a list of wishes; without one */
    } rows[] = {
        {"example.com/size", true, true},
        {"ranges", true, true},
        {"example.com/own-note", false, false},
        {"trimtab.io/carried-out", false, false},
        {"trimtab.io/carried-out-by", false, false},
        {"trimtab.io/last-plan", false, false},
        {"argocd.argoproj.io/tracking-id", false, true},
    };
    struct tt_service was = svc("LoadBalancer", NULL, true, false);
    struct sync_scope s = scope;
    s.own_annotations = own;
    s.n_own_annotations = 1;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct tt_kv kv = {rows[i].key, "x"};
        struct tt_service is = was;
        is.annotations = &kv;
        is.n_annotations = 1;
        s.wishes = NULL;
        assert_int_equal(rows[i].edit_of_all, scope_is_edit(&s, &was, &is));
        s.wishes = wishes;
        s.n_wishes = 2;
        assert_int_equal(rows[i].edit, scope_is_edit(&s, &was, &is));
    }
    struct tt_service is = was;
    is.external_traffic_policy = "Local";
    assert_true(scope_is_edit(&s, &was, &is));
    assert_false(scope_is_edit(&s, &was, &was));
}

static void scope_lost_finalizers__ours_while_it_is_wanted(void **state)
{
    (void)state;
    struct tt_service with = svc("LoadBalancer", NULL, true, false);
    struct tt_service without = svc("LoadBalancer", NULL, false, false);
    struct tt_service plain = svc("ClusterIP", NULL, false, false);
    struct tt_service deleted = svc("LoadBalancer", NULL, false, true);
    struct tt_service own = without;
    struct tt_service another = without;

    own.finalizers = with_own;
    own.n_finalizers = 1;
    another.uid = "v";
    assert_int_equal(scope_lost_finalizers(&scope, &with, &without), 1);
    assert_int_equal(scope_lost_finalizers(&scope, &own, &without), 2);
    assert_int_equal(scope_lost_finalizers(&scope, &without, &with), 0);
    assert_int_equal(scope_lost_finalizers(&scope, &with, &with), 0);
    assert_int_equal(scope_lost_finalizers(&scope, &with, &plain), 0);
    assert_int_equal(scope_lost_finalizers(&scope, &with, &deleted), 0);
    assert_int_equal(scope_lost_finalizers(&scope, &with, &another), 0);
}

static const struct {
    const char *what;
    struct sync_facts f;
    enum sync_do want;
} decisions[] = {
    {"unknown", {.reasons = TT_REASON_SPEC}, SYNC_NOTHING},
    {"vanished, was ours", {.cached = true, .was_ours = true}, SYNC_DELETE_VANISHED},
    {"vanished with many others", {.cached = true, .was_ours = true, .kept = true}, SYNC_KEEP},
    {"vanished, never ours", {.cached = true}, SYNC_FORGET},
    {"new", {.found = true, .wants = true, .reasons = TT_REASON_SPEC}, SYNC_ENSURE},
    {"nodes, not seen before",
     {.found = true, .wants = true, .reasons = TT_REASON_NODES},
     SYNC_ENSURE},
    {"nodes changed",
     {.found = true,
      .wants = true,
      .cached = true,
      .was_ours = true,
      .holds = true,
      .reasons = TT_REASON_NODES},
     SYNC_UPDATE},
    {"nodes changed, and without them it was refused",
     {.found = true,
      .wants = true,
      .cached = true,
      .was_ours = true,
      .holds = true,
      .stuck = true,
      .reasons = TT_REASON_NODES},
     SYNC_ENSURE},
    {"refused, nodes as they were",
     {.found = true,
      .wants = true,
      .cached = true,
      .was_ours = true,
      .stuck = true,
      .same_backends = true,
      .reasons = TT_REASON_NODES},
     SYNC_NOTHING},
    {"nodes as they were",
     {.found = true,
      .wants = true,
      .cached = true,
      .was_ours = true,
      .holds = true,
      .same_backends = true,
      .reasons = TT_REASON_NODES},
     SYNC_NOTHING},
    {"endpoints",
     {.found = true,
      .wants = true,
      .cached = true,
      .was_ours = true,
      .reasons = TT_REASON_ENDPOINTS},
     SYNC_UPDATE},
    {"nodes and spec",
     {.found = true,
      .wants = true,
      .cached = true,
      .was_ours = true,
      .reasons = TT_REASON_NODES | TT_REASON_SPEC},
     SYNC_ENSURE},
    {"re-sync",
     {.found = true,
      .wants = true,
      .cached = true,
      .was_ours = true,
      .same_backends = true,
      .reasons = TT_REASON_RESYNC},
     SYNC_ENSURE},
    {"deleting without finalizer",
     {.found = true, .wants = true, .deleting = true},
     SYNC_DELETE_IF_EXISTS},
    {"deleting with finalizer",
     {.found = true, .wants = true, .deleting = true, .holds = true, .cleanup = true},
     SYNC_DELETE},
    {"no load balancer any more", {.found = true, .holds = true, .cleanup = true}, SYNC_DELETE},
    {"never was one", {.found = true}, SYNC_DELETE},
    {"another's class", {.found = true, .foreign = true}, SYNC_NOTHING},
    {"another's class, finalizer",
     {.found = true, .foreign = true, .holds = true, .cleanup = true},
     SYNC_DELETE_IF_EXISTS},
    {"another's class, was ours",
     {.found = true, .foreign = true, .cached = true, .was_ours = true},
     SYNC_DELETE},
    {"another's class, made here", {.found = true, .foreign = true, .marked = true}, SYNC_DELETE},
    {"another's class, made here and goes",
     {.found = true, .foreign = true, .marked = true, .deleting = true, .cleanup = true},
     SYNC_DELETE},
    {"another's class, strict",
     {.found = true, .foreign = true, .holds = true, .cleanup = true, .strict = true},
     SYNC_DELETE},
    {"another's finalizer",
     {.found = true, .not_our_finalizer = true, .holds = true, .cleanup = true},
     SYNC_DELETE_IF_EXISTS},
};

static void sync_decide__matrix(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(decisions); i++) {
        enum sync_do got = sync_decide(&decisions[i].f);
        if (got != decisions[i].want) {
            fail_msg("%s: %d, want %d", decisions[i].what, (int)got, (int)decisions[i].want);
        }
    }
}

static void sync_outcome__what_codes_mean(void **state)
{
    (void)state;
    static const struct {
        int32_t code;
        int64_t asked_ms;
        struct sync_outcome want;
    } rows[] = {
        {TT_OK, 0, {RETRY_NO, 0, false, false}},
        {TT_IMPLEMENTED_ELSEWHERE, 0, {RETRY_NO, 0, false, false}},
        {TT_INVALID, 0, {RETRY_SLOW, 0, true, false}},
        {TT_INVALID, 5000, {RETRY_SLOW, 0, true, false}},
        {TT_IN_PROGRESS, 0, {RETRY_AFTER, 1000, false, false, true}},
        {TT_IN_PROGRESS, 42000, {RETRY_AFTER, 42000, false, false, true}},
        {TT_THROTTLED, 0, {RETRY_BACK_OFF, 0, true, false}},
        {TT_THROTTLED, 7000, {RETRY_AFTER, 7000, true, false}},
        {TT_TRANSIENT, 0, {RETRY_BACK_OFF, 0, true, false}},
        {TT_FORBIDDEN, 0, {RETRY_BACK_OFF, 0, true, false}},
        {TT_CANCELLED, 0, {RETRY_BACK_OFF, 0, false, false}},
        {TT_BUG, 0, {RETRY_BACK_OFF, 0, true, true}},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct sync_outcome got = sync_outcome(rows[i].code, rows[i].asked_ms);
        const struct sync_outcome *want = &rows[i].want;
        if (got.retry != want->retry || got.after_ms != want->after_ms || got.tell != want->tell ||
            got.bug != want->bug) {
            fail_msg("code %d: retry %d after %lld, tell %d, bug %d", rows[i].code, (int)got.retry,
                     (long long)got.after_ms, got.tell, got.bug);
        }
    }
}

static void slices_fingerprint__changes_with_what_matters(void **state)
{
    (void)state;
    struct tt_endpoint e = {.address = "10.0.0.1", .node_name = "n1", .flags = TT_ENDPOINT_READY};
    struct tt_endpoint_port p = {.name = "", .protocol = "TCP", .port = 80};
    struct tt_slice s = {.size = sizeof(s),
                         .name = "a",
                         .address_type = "IPv4",
                         .endpoints = &e,
                         .ports = &p,
                         .n_endpoints = 1,
                         .n_ports = 1};
    const struct tt_slice *list[] = {&s};
    uint64_t was = slices_fingerprint(list, 1);

    assert_true(was == slices_fingerprint(list, 1));
    e.flags = 0;
    assert_true(was != slices_fingerprint(list, 1));
    e.flags = TT_ENDPOINT_READY;
    e.node_name = NULL;
    assert_true(was != slices_fingerprint(list, 1));
    e.node_name = "n1";
    p.port = 81;
    assert_true(was != slices_fingerprint(list, 1));
    p.port = 80;
    assert_true(was == slices_fingerprint(list, 1));
    assert_true(was != slices_fingerprint(list, 0)); /* no slice is not an empty slice */
}

UNIT_MAIN(sync_rules)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scope__predicates__vectors_31_to_34_and_classes),
        cmocka_unit_test(scope__the_providers_finalizer__counts_for_cleanup),
        cmocka_unit_test(scope__our_mark__counts_for_cleanup_as_a_finalizer_does),
        cmocka_unit_test(scope_reasons__what_is_queued),
        cmocka_unit_test(scope_is_edit__annotations_that_ask_for_something),
        cmocka_unit_test(scope_lost_finalizers__ours_while_it_is_wanted),
        cmocka_unit_test(sync_decide__matrix),
        cmocka_unit_test(sync_outcome__what_codes_mean),
        cmocka_unit_test(slices_fingerprint__changes_with_what_matters),
    };
    return cmocka_run_group_tests_name("controller-sync-rules", tests, NULL, NULL);
}
