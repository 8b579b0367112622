/* SPDX-License-Identifier: Apache-2.0 */
/* test_sync_mark.c: the mark of what trimtab made or edited: when it is written, with which
 * request, and when it goes; the flags that the provider gets; and finalizers that one sync puts
 * there and takes off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/base/str.h"
#include "tests/support/unit.h"
#include "tests/unit/controller/stand.h"

#define CAPS               (TT_CAP_HOLDS_FINALIZERS | TT_CAP_REPORTS_PLANS)
#define IP                 "203.0.113.10"
#define KEY                "trimtab.io/carried-out"
#define MARK               "\"" KEY "\":\"uid-web\""
#define MARKED             "\"" KEY "\":\"uid-web " IP "\""
#define EDITED             "\"" KEY "\":\"uid-web " IP " edited\""
#define GONE               "\"" KEY "\":null"
#define NOTED(annotations) STAND_WITH_F ",\"annotations\":{" annotations "}"
#define RANGES             STAND_LB ",\"loadBalancerSourceRanges\":[\"10.0.0.0/8\"]"

static void has(struct stand *r, size_t nth, const char *text)
{
    if (strstr(stand_patch(r, nth), text) == NULL) {
        fail_msg("patch %zu: \"%s\", without \"%s\"", nth, stand_patch(r, nth), text);
    }
}

/* With and without TT_CAP_HOLDS_FINALIZERS: the finalizer, the status, and nothing else. */
static void made__mark_comes_with_the_finalizer_and_names_the_address_with_the_status(void **state)
{
    static const uint32_t caps[] = {CAPS, 0};
    uint32_t flags = 0;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(caps); i++) {
        struct stand *r = stand_noting(IP, caps[i], 1, &flags);
        stand_sync(r, STAND_LB, NULL, NULL);
        assert_int_equal(2, stand_patches(r));
        has(r, 0, STAND_F);
        has(r, 0, MARK "}");
        has(r, 1, "\"ingress\"");
        has(r, 1, MARKED);
        stand_free(r);
    }
}

/* The process ended after the finalizer was there: the next one knows. */
static void made__stopped_in_the_middle__next_process_knows(void **state)
{
    uint32_t flags = 0;
    struct stand *r = stand_noting(IP, CAPS, 1, &flags);
    (void)state;
    stand_sync(r, STAND_LB, NOTED(MARK), NULL);
    assert_int_equal(TT_ITEM_PUT_RIGHT | TT_ITEM_MADE, flags);
    assert_int_equal(1, stand_patches(r));
    has(r, 0, MARKED);
    stand_free(r);
}

/* A creation that failed: the watch may not have brought the mark yet; it is not written again. */
static void made__fails_and_view_is_older__mark_is_known(void **state)
{
    uint32_t flags = 0;
    struct stand *r = stand_noting(IP, CAPS, 1, &flags);
    (void)state;
    fake_provider_answer(r->provider,
                         (struct fake_answer){TT_VERB_ENSURE, TT_TRANSIENT, "no", 0, false});
    stand_sync(r, STAND_LB, NULL, NULL);
    assert_int_equal(1, stand_patches(r));
    stand_advance(r, 60000);
    assert_int_equal(TT_ITEM_PUT_RIGHT | TT_ITEM_MADE, flags);
    has(r, stand_patches(r) - 1, MARKED);
    stand_free(r);
}

static void taken_over__nothing_is_written_or_put_right(void **state)
{
    uint32_t flags = TT_ITEM_PUT_RIGHT;
    struct stand *r =
        stand_noting(IP, CAPS, 1, &flags); /* a plan that corrects what upstream would */
    (void)state;
    stand_sync(r, STAND_LB, STAND_WITH_F, STAND_STATUS(IP));
    assert_int_equal(0, flags);
    assert_int_equal(0, stand_patches(r));
    stand_free(r);
}

/* A half-finished load balancer of another controller, or a status without an address: no request
 * only for the mark. */
static void finished__what_another_controller_began__mark_comes_with_the_status(void **state)
{
    uint32_t flags = TT_ITEM_PUT_RIGHT;
    struct stand *r = stand_noting(IP, CAPS, 1, &flags);
    (void)state;
    stand_sync(r, STAND_LB, STAND_WITH_F, NULL);
    assert_int_equal(0, flags);
    assert_int_equal(1, stand_patches(r));
    has(r, 0, MARKED);
    stand_free(r);
}

static void mark__another_objects_or_another_load_balancers__does_not_count(void **state)
{
    static const char *const marks[] = {
        "\"" KEY "\":\"uid-other " IP "\"", "\"" KEY "\":\"uid-web 203.0.113.99\"",
        MARK, /* another controller finished what was begun here */
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        uint32_t flags = TT_ITEM_PUT_RIGHT;
        struct stand *r = stand_noting(IP, CAPS, 0, &flags);
        const char *meta = arena_printf(r->a, STAND_WITH_F ",\"annotations\":{%s}", marks[i]);
        stand_sync(r, STAND_LB, meta, STAND_STATUS(IP));
        assert_int_equal(0, flags);
        assert_int_equal(0, stand_patches(r));
        stand_free(r);
    }
}

/* An edit of what was taken over: marked before it is carried out, once, by a request
 * of its own. */
static void edited__mark_before_the_first_write_and_never_again(void **state)
{
    uint32_t flags = 0;
    struct stand *r = stand_noting(IP, CAPS, 0, &flags);
    (void)state;
    stand_sync(r, STAND_LB, STAND_WITH_F, STAND_STATUS(IP));
    r->provider->plan_operations = 1;
    stand_sync(r, RANGES, STAND_WITH_F, STAND_STATUS(IP));
    assert_int_equal(TT_ITEM_PUT_RIGHT, flags);
    assert_int_equal(1, stand_patches(r));
    has(r, 0, EDITED);
    stand_sync(r, STAND_LB, NOTED(EDITED), STAND_STATUS(IP));
    assert_int_equal(TT_ITEM_PUT_RIGHT, flags);
    assert_int_equal(1, stand_patches(r));
    stand_free(r);
}

/* Neither an edit without work, nor nodes, nor a note of another program. */
static void not_edited__no_mark(void **state)
{
    static const char *const wishes[] = {"example.com/wish*"};
    uint32_t flags = 0;
    struct stand *r = stand_noting(IP, CAPS, 0, &flags);
    (void)state;
    r->provider->desc.wish_annotations = wishes;
    r->provider->desc.n_wish_annotations = 1;
    stand_describe(r);
    stand_sync(r, STAND_LB, STAND_WITH_F, STAND_STATUS(IP));
    stand_sync(r, RANGES, STAND_WITH_F, STAND_STATUS(IP));
    r->provider->plan_operations = 1;
    stand_sync(r, RANGES, NOTED("\"example.com/note\":\"x\""), STAND_STATUS(IP));
    assert_int_equal(0, flags);
    stand_node(r, "node-1", NULL, NULL);
    stand_nodes_changed(r);
    assert_int_equal(0, stand_patches(r));
    stand_sync(r, RANGES, NOTED("\"example.com/wish-1\":\"x\""), STAND_STATUS(IP));
    assert_int_equal(TT_ITEM_PUT_RIGHT, flags);
    assert_int_equal(1, stand_patches(r));
    stand_free(r);
}

static void address_changes__mark_follows_in_the_same_request(void **state)
{
    uint32_t flags = 0;
    struct stand *r = stand_noting(IP, CAPS, 1, &flags);
    (void)state;
    r->provider->ip = "203.0.113.20";
    stand_sync(r, STAND_LB, NOTED(MARKED), STAND_STATUS(IP));
    assert_int_equal(1, stand_patches(r));
    has(r, 0, "\"" KEY "\":\"uid-web 203.0.113.20\"");
    has(r, 0, "\"ingress\"");
    stand_free(r);
    r = stand_noting(IP, CAPS, 1, &flags);
    r->provider->ip = "203.0.113.20";
    stand_sync(r, STAND_LB, NOTED(EDITED), STAND_STATUS(IP));
    assert_int_equal(TT_ITEM_PUT_RIGHT, flags);
    has(r, 0, "\"" KEY "\":\"uid-web 203.0.113.20 edited\"");
    stand_free(r);
}

static void taken_over__address_changes__no_mark(void **state)
{
    uint32_t flags = 0;
    struct stand *r = stand_noting(IP, CAPS, 1, &flags);
    (void)state;
    r->provider->ip = "203.0.113.20";
    stand_sync(r, STAND_LB, STAND_WITH_F, STAND_STATUS(IP));
    assert_int_equal(1, stand_patches(r));
    assert_null(strstr(stand_patch(r, 0), KEY));
    stand_free(r);
}

/* Another type, or a deletion that others hold up: it goes with the finalizer, in
 * the same request. */
static void load_balancer_goes__mark_goes_with_the_finalizer(void **state)
{
    static const struct {
        const char *spec, *meta;
    } rows[] = {
        {STAND_CLUSTER_IP, NOTED(MARKED)},
        {STAND_LB, "\"finalizers\":[\"" STAND_F "\",\"example.com/other\"]," STAND_DELETING
                   ",\"annotations\":{" MARKED "}"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint32_t flags = 0;
        struct stand *r = stand_noting(IP, CAPS, 1, &flags);
        stand_sync(r, rows[i].spec, rows[i].meta, STAND_STATUS(IP));
        has(r, 0, "$deleteFromPrimitiveList/finalizers");
        has(r, 0, GONE);
        stand_free(r);
    }
}

/* The annotation is not allowed: the load balancer is made all the same. */
static void refused__finalizer_goes_on_alone(void **state)
{
    uint32_t flags = 0;
    struct stand *r = stand_noting(IP, CAPS, 1, &flags);
    (void)state;
    stand_refuse(r, "PATCH", "/services/", 422, "Invalid", "annotation not allowed");
    stand_sync(r, STAND_LB, NULL, NULL);
    assert_int_equal(3, stand_patches(r));
    has(r, 1, STAND_F);
    assert_null(strstr(stand_patch(r, 1), KEY));
    has(r, 2, "\"ingress\"");
    assert_null(strstr(stand_events(r), "Warning"));
    stand_free(r);
}

/* The same, and the answer to the patch with address and mark is lost, which another program's
 * patch makes look as if there had been an address before: the mark follows all the same. */
static void refused__answer_about_the_status_lost__mark_follows(void **state)
{
    uint32_t flags = 0;
    struct stand *r = stand_noting(IP, CAPS, 1, &flags);
    (void)state;
    stand_refuse(r, "PATCH", "/services/", 403, "Forbidden", "not now");
    stand_sync(r, STAND_LB, NULL, NULL);
    assert_int_equal(3, stand_patches(r));
    has(r, 2, MARKED);
    stand_sync(r, STAND_LB, STAND_WITH_F, STAND_STATUS(IP));
    assert_int_equal(4, stand_patches(r));
    has(r, 3, MARKED);
    assert_null(strstr(stand_patch(r, 3), "\"ingress\""));
    assert_int_equal(TT_ITEM_PUT_RIGHT | TT_ITEM_MADE, flags);
    stand_sync(r, RANGES, NOTED(MARKED), STAND_STATUS(IP));
    assert_int_equal(4, stand_patches(r));
    stand_free(r);
}

/* A policy forbids the annotation: nothing fails, and each further ensure asks once. */
static void refused_always__load_balancer_is_made_all_the_same(void **state)
{
    uint32_t flags = 0;
    struct stand *r = stand_noting(IP, CAPS, 1, &flags);
    (void)state;
    r->forbidden = KEY;
    stand_sync(r, STAND_LB, NULL, NULL);
    assert_int_equal(5, stand_patches(r)); /* finalizer and status, each joined at first */
    has(r, 1, STAND_F);
    has(r, 4, "\"ingress\"");
    stand_sync(r, STAND_LB, STAND_WITH_F, STAND_STATUS(IP));
    assert_int_equal(6, stand_patches(r));
    stand_advance(r, 600000);
    assert_int_equal(6, stand_patches(r));
    assert_null(strstr(stand_events(r), "Warning"));
    stand_free(r);
}

/* The Service that had the name before had an address; nothing of this one stands yet. */
static void made__under_a_name_that_was_used__is_made(void **state)
{
    static const char *const older[] = {STAND_LB, STAND_CLUSTER_IP};
    uint32_t flags = 0;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(older); i++) {
        struct stand *r = stand_noting(IP, CAPS, 1, &flags);
        stand_sync(r, STAND_LB, "\"uid\":\"older\"", NULL);
        stand_sync(r, older[i], "\"uid\":\"older\"," STAND_WITH_F, STAND_STATUS(IP));
        size_t n = stand_patches(r);
        stand_sync(r, STAND_LB, NULL, NULL);
        assert_int_equal(n + 2, stand_patches(r));
        has(r, n, MARK "}");
        has(r, n + 1, MARKED);
        stand_free(r);
    }
}

static void refuse_status(void *arg, struct fake_provider *p, const struct tt_call *call,
                          const struct tt_item *item)
{
    struct stand *r = arg;
    (void)p;
    (void)call;
    (void)item;
    if (r->provider->during != NULL) {
        r->provider->during = NULL; /* of the first ensure */
        stand_refuse(r, "PATCH", "/services/", 403, "Forbidden", "not now");
        stand_refuse(r, "PATCH", "/services/", 403, "Forbidden", "not now");
    }
}

static void refuse_then_fail(void *arg, struct fake_provider *p, const struct tt_call *call,
                             const struct tt_item *item)
{
    struct stand *r = arg;
    (void)p;
    (void)call;
    (void)item;
    r->provider->during = NULL; /* of the first ensure */
    stand_refuse(r, "PATCH", "/services/", 403, "Forbidden", "not now");
    stand_refuse(r, "PATCH", "/services/", 500, "InternalError", "not now");
}

/* Address and mark are refused together, and the mark alone, too: a mark that names no address
 * would count for nothing once the status has one. */
static void made__mark_refused_beside_the_status__follows_alone(void **state)
{
    uint32_t flags = 0;
    struct stand *r = stand_noting(IP, 0, 1, &flags); /* the finalizer comes before the call */
    (void)state;
    r->provider->during = refuse_status;
    r->provider->during_arg = r;
    stand_sync(r, STAND_LB, NULL, NULL);
    assert_int_equal(4, stand_patches(r));
    has(r, 0, MARK "}");
    has(r, 1, "\"ingress\"");
    has(r, 2, MARKED);
    has(r, 3, "\"ingress\"");
    assert_null(strstr(stand_patch(r, 3), KEY));
    stand_service(r, "web", STAND_LB, NOTED(MARK), STAND_STATUS(IP));
    stand_advance(r, 60000);
    assert_int_equal(5, stand_patches(r));
    has(r, 4, MARKED);
    assert_null(strstr(stand_patch(r, 4), "\"ingress\""));
    stand_service(r, "web", STAND_LB, NOTED(MARKED), STAND_STATUS(IP));
    stand_add(r, "web", TT_REASON_SPEC);
    stand_advance(r, 600000);
    assert_int_equal(5, stand_patches(r));
    stand_free(r);
}

/* The same after a restart, with the mark on the Service, and the provider says that one serves
 * before it ends: what the Service shows is what the server takes. */
static void made__mark_refused_twice_beside_the_status__follows_alone(void **state)
{
    static const uint32_t caps[] = {CAPS, 0};
    uint32_t flags = 0;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(caps); i++) {
        struct stand *r = stand_noting(IP, caps[i], 1, &flags);
        r->provider->during = refuse_status;
        r->provider->during_arg = r;
        stand_sync(r, STAND_LB, NOTED(MARK), NULL);
        assert_int_equal(3, stand_patches(r));
        has(r, 1, MARKED);
        has(r, 2, "\"ingress\"");
        assert_null(strstr(stand_patch(r, 2), KEY));
        stand_service(r, "web", STAND_LB, NOTED(MARK), STAND_STATUS(IP));
        stand_advance(r, 60000);
        assert_int_equal(4, stand_patches(r));
        has(r, 3, MARKED);
        stand_free(r);
    }
}

/* An error of the server is none of a policy: the sync is tried again. */
static void made__mark_lost_beside_the_status__follows_soon(void **state)
{
    uint32_t flags = 0;
    struct stand *r = stand_noting(IP, CAPS, 1, &flags);
    (void)state;
    r->provider->during = refuse_then_fail;
    r->provider->during_arg = r;
    stand_sync(r, STAND_LB, STAND_WITH_F, NULL);
    size_t n = stand_patches(r);
    stand_service(r, "web", STAND_LB, STAND_WITH_F, STAND_STATUS(IP));
    stand_advance(r, 60000);
    assert_int_equal(n + 1, stand_patches(r));
    has(r, n, MARKED);
    stand_free(r);
}

/* Nor does it wait for an ensure that ends well: the process may be stopped before. */
static void made__mark_refused_and_the_next_ensure_fails__follows_with_that(void **state)
{
    uint32_t flags = 0;
    struct stand *r = stand_noting(IP, CAPS, 1, &flags);
    (void)state;
    r->provider->during = refuse_status;
    r->provider->during_arg = r;
    stand_sync(r, STAND_LB, NOTED(MARK), NULL);
    assert_int_equal(3, stand_patches(r));
    fake_provider_answer(r->provider,
                         (struct fake_answer){TT_VERB_ENSURE, TT_TRANSIENT, "later", 0, false});
    stand_service(r, "web", STAND_LB, NOTED(MARK), STAND_STATUS(IP));
    stand_advance(r, 60000);
    has(r, 3, MARKED);
    stand_free(r);
}

/* A copy that another controller's finalizer does not show is none of ours to mark: a
 * provider of an older ABI. */
static void older_provider__no_mark(void **state)
{
    uint32_t flags = 0;
    struct stand *r = stand_noting(IP, CAPS, 1, &flags);
    (void)state;
    r->provider->desc.abi_minor = 5;
    stand_describe(r);
    stand_sync(r, STAND_LB, NULL, NULL);
    assert_int_equal(2, stand_patches(r));
    assert_null(strstr(stand_patch(r, 0), KEY));
    assert_null(strstr(stand_patch(r, 1), KEY));
    stand_free(r);
}

static void finalizer__taken_off_by_somebody__comes_back_in_a_minute(void **state)
{
    uint32_t flags = 0;
    struct stand *r = stand_noting(IP, 0, 0, &flags);
    (void)state;
    stand_sync(r, STAND_LB, STAND_WITH_F, STAND_STATUS(IP));
    stand_service(r, "web", STAND_LB, NULL, STAND_STATUS(IP));
    stand_run(r);
    assert_int_equal(0, stand_patches(r));
    stand_advance(r, 60000);
    assert_int_equal(1, stand_patches(r));
    has(r, 0, STAND_F);
    stand_free(r);
}

/* The Service is refused: no ensure ends well that would hold it again. */
static void finalizer__taken_off_while_refused__comes_back_in_a_minute(void **state)
{
    uint32_t flags = 0;
    struct stand *r = stand_noting(IP, CAPS, 0, &flags);
    (void)state;
    stand_sync(r, STAND_LB, NOTED(MARKED), STAND_STATUS(IP));
    for (size_t i = 0; i < 8; i++) {
        fake_provider_answer(r->provider,
                             (struct fake_answer){TT_VERB_ENSURE, TT_INVALID, "no", 0, false});
    }
    stand_sync(r, RANGES, NOTED(MARKED), STAND_STATUS(IP));
    size_t n = stand_patches(r);
    stand_service(r, "web", RANGES, "\"annotations\":{" MARKED "}", STAND_STATUS(IP));
    stand_run(r);
    assert_int_equal(n, stand_patches(r));
    stand_advance(r, 60000);
    assert_int_equal(n + 1, stand_patches(r));
    has(r, n, STAND_F);
    stand_service(r, "web", RANGES, NOTED(MARKED), STAND_STATUS(IP));
    stand_advance(r, 600000);
    assert_int_equal(n + 1, stand_patches(r));
    stand_free(r);
}

static void status__written_over_by_somebody__comes_back_in_a_minute_without_a_mark(void **state)
{
    static const char *const over[] = {STAND_STATUS("203.0.113.99"), NULL};
    uint32_t flags = 0;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(over); i++) {
        struct stand *r = stand_noting(IP, 0, 0, &flags);
        stand_sync(r, STAND_LB, STAND_WITH_F, STAND_STATUS(IP));
        assert_int_equal(0, stand_patches(r));
        stand_service(r, "web", STAND_LB, STAND_WITH_F, over[i]);
        stand_run(r);
        assert_int_equal(0, stand_patches(r));
        stand_advance(r, 60000);
        assert_int_equal(1, stand_patches(r));
        has(r, 0, IP);
        assert_null(strstr(stand_patch(r, 0), KEY)); /* it was taken over, and still is */
        stand_free(r);
    }
}

static void status__as_it_was_given__no_further_sync(void **state)
{
    uint32_t flags = 0;
    struct stand *r = stand_noting(IP, 0, 0, &flags);
    (void)state;
    stand_sync(r, STAND_LB, STAND_WITH_F, NULL);
    assert_int_equal(1, stand_patches(r));
    stand_service(r, "web", STAND_LB, STAND_WITH_F, STAND_STATUS(IP));
    assert_int_equal(0, stand_run(r));
    assert_int_equal(0, stand_advance(r, 60000));
    stand_free(r);
}

/* The load balancer has gone, but the answer to the request that says so on the Service is lost.
 * Asked for again before the next try, it is being made, and not edited. */
static void load_balancer_gone__answer_lost_and_asked_for_again__made(void **state)
{
    uint32_t flags = 0;
    struct stand *r = stand_noting(IP, CAPS, 1, &flags);
    (void)state;
    stand_sync(r, STAND_LB, NULL, NULL);
    stand_refuse(r, "PATCH", "/services/", 500, "InternalError", "it was done");
    stand_sync(r, "\"type\":\"ClusterIP\"", NOTED(MARKED), STAND_STATUS(IP));
    int n = stand_patches(r);
    r->n_refusals = 0;
    stand_sync(r, RANGES, NULL, NULL);
    assert_int_equal(n + 2, stand_patches(r));
    has(r, (size_t)n, STAND_F);
    has(r, (size_t)n, MARK "}");
    has(r, (size_t)n + 1, MARKED);
    stand_free(r);
}

/* The view that the sync began with does not show the finalizer yet. */
static void finalizer__held_and_let_go_in_one_sync__is_taken_off(void **state)
{
    static const char *const finalizers[] = {"example.com/v1"};
    (void)state;
    struct stand *r = stand_new(CAPS);
    r->provider->desc.finalizers = finalizers;
    r->provider->desc.n_finalizers = 1;
    r->provider->hold = finalizers[0];
    r->provider->lets_go = true;
    stand_describe(r);
    stand_service(r, "web", STAND_LB, STAND_WITH_F, STAND_STATUS(IP));
    stand_run(r);
    assert_int_equal(2, stand_patches(r));
    assert_non_null(strstr(stand_patch(r, 0), "example.com/v1"));
    assert_non_null(strstr(stand_patch(r, 1), "\"$deleteFromPrimitiveList/finalizers\":["
                                              "\"example.com/v1\"]"));
    stand_free(r);
}

UNIT_MAIN(sync_mark)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(made__mark_comes_with_the_finalizer_and_names_the_address_with_the_status),
        cmocka_unit_test(made__stopped_in_the_middle__next_process_knows),
        cmocka_unit_test(made__fails_and_view_is_older__mark_is_known),
        cmocka_unit_test(taken_over__nothing_is_written_or_put_right),
        cmocka_unit_test(finished__what_another_controller_began__mark_comes_with_the_status),
        cmocka_unit_test(mark__another_objects_or_another_load_balancers__does_not_count),
        cmocka_unit_test(edited__mark_before_the_first_write_and_never_again),
        cmocka_unit_test(not_edited__no_mark),
        cmocka_unit_test(address_changes__mark_follows_in_the_same_request),
        cmocka_unit_test(taken_over__address_changes__no_mark),
        cmocka_unit_test(load_balancer_goes__mark_goes_with_the_finalizer),
        cmocka_unit_test(load_balancer_gone__answer_lost_and_asked_for_again__made),
        cmocka_unit_test(refused__finalizer_goes_on_alone),
        cmocka_unit_test(refused__answer_about_the_status_lost__mark_follows),
        cmocka_unit_test(refused_always__load_balancer_is_made_all_the_same),
        cmocka_unit_test(made__mark_refused_twice_beside_the_status__follows_alone),
        cmocka_unit_test(made__mark_lost_beside_the_status__follows_soon),
        cmocka_unit_test(made__mark_refused_and_the_next_ensure_fails__follows_with_that),
        cmocka_unit_test(made__under_a_name_that_was_used__is_made),
        cmocka_unit_test(made__mark_refused_beside_the_status__follows_alone),
        cmocka_unit_test(older_provider__no_mark),
        cmocka_unit_test(finalizer__taken_off_by_somebody__comes_back_in_a_minute),
        cmocka_unit_test(finalizer__taken_off_while_refused__comes_back_in_a_minute),
        cmocka_unit_test(status__written_over_by_somebody__comes_back_in_a_minute_without_a_mark),
        cmocka_unit_test(status__as_it_was_given__no_further_sync),
        cmocka_unit_test(finalizer__held_and_let_go_in_one_sync__is_taken_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
