/* SPDX-License-Identifier: Apache-2.0 */
/* test_sync_mark_by.c: the mark names the provider that wrote it: what a mark of another provider
 * means, and one that names none (docs/adr/0099). */
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
#define MARKED             "\"" KEY "\":\"uid-web " IP "\""
#define EDITED             "\"" KEY "\":\"uid-web " IP " edited\""
#define OURS               STAND_MARK("uid-web " IP)
#define BY_ANOTHER(text)   "\"" KEY "-by\":\"other " text "\",\"" KEY "\":\"" text "\""
#define OTHERS             BY_ANOTHER("uid-web " IP)
#define NOTED(annotations) STAND_WITH_F ",\"annotations\":{" annotations "}"
#define RANGES             STAND_LB ",\"loadBalancerSourceRanges\":[\"10.0.0.0/8\"]"

static void has(struct stand *r, size_t nth, const char *text)
{
    if (strstr(stand_patch(r, nth), text) == NULL) {
        fail_msg("patch %zu: \"%s\", without \"%s\"", nth, stand_patch(r, nth), text);
    }
}

/* A process of an earlier version did not say who it was: the mark counts as before, no request is
 * made for the name, and the first patch that is sent anyway brings it. */
static void old_mark__counts_and_is_named_with_a_patch_that_is_sent_anyway(void **state)
{
    uint32_t flags = 0;
    struct stand *r = stand_noting(IP, CAPS, 1, &flags);
    (void)state;
    stand_sync(r, STAND_LB, NOTED(MARKED), STAND_STATUS(IP));
    assert_int_equal(TT_ITEM_PUT_RIGHT | TT_ITEM_MADE, flags);
    stand_sync(r, RANGES, NOTED(EDITED), STAND_STATUS(IP));
    assert_int_equal(TT_ITEM_PUT_RIGHT, flags);
    assert_int_equal(0, stand_patches(r));
    stand_sync(r, RANGES, "\"annotations\":{" EDITED "}", STAND_STATUS(IP));
    assert_int_equal(1, stand_patches(r));
    has(r, 0, STAND_F);
    has(r, 0, STAND_MARK("uid-web " IP " edited"));
    stand_free(r);
    r = stand_noting(IP, CAPS, 1, &flags);
    r->provider->ip = "203.0.113.20";
    stand_sync(r, STAND_LB, NOTED(MARKED), STAND_STATUS(IP));
    assert_int_equal(1, stand_patches(r));
    has(r, 0, STAND_MARK("uid-web 203.0.113.20"));
    stand_free(r);
}

/* Finalizers come back, and a policy forbids the mark: nothing is owed. */
static void old_mark__naming_is_refused__nothing_follows(void **state)
{
    uint32_t flags = 0;
    struct stand *r = stand_noting(IP, CAPS, 1, &flags);
    (void)state;
    r->forbidden = KEY "-by";
    stand_sync(r, STAND_LB, "\"annotations\":{" MARKED "}", STAND_STATUS(IP));
    assert_int_equal(2, stand_patches(r));
    has(r, 1, STAND_F);
    stand_sync(r, STAND_LB, NOTED(MARKED), STAND_STATUS(IP));
    stand_advance(r, 600000);
    assert_int_equal(2, stand_patches(r));
    assert_int_equal(TT_ITEM_PUT_RIGHT | TT_ITEM_MADE, flags);
    assert_null(strstr(stand_events(r), "Warning"));
    stand_free(r);
}

static void our_mark__is_written_once(void **state)
{
    uint32_t flags = 0;
    struct stand *r = stand_noting(IP, CAPS, 1, &flags);
    (void)state;
    stand_sync(r, STAND_LB, NOTED(OURS), STAND_STATUS(IP));
    assert_int_equal(TT_ITEM_PUT_RIGHT | TT_ITEM_MADE, flags);
    stand_sync(r, RANGES, "\"annotations\":{" OURS "}", STAND_STATUS(IP));
    assert_int_equal(1, stand_patches(r)); /* the finalizer */
    assert_null(strstr(stand_patch(r, 0), KEY));
    stand_free(r);
}

/* The Service came to us by an edit of its class: what stands was not carried out by us. */
static void anothers_mark__counts_as_taken_over(void **state)
{
    uint32_t flags = TT_ITEM_PUT_RIGHT;
    struct stand *r = stand_noting(IP, CAPS, 1, &flags);
    (void)state;
    stand_sync(r, STAND_LB, NOTED(OTHERS), STAND_STATUS(IP));
    assert_int_equal(0, flags);
    assert_int_equal(0, stand_patches(r));
    stand_sync(r, RANGES, NOTED(OTHERS), STAND_STATUS(IP)); /* we edit it: the mark is ours then */
    assert_int_equal(TT_ITEM_PUT_RIGHT, flags);
    assert_int_equal(1, stand_patches(r));
    has(r, 0, STAND_MARK("uid-web " IP " edited"));
    stand_free(r);
}

/* A load balancer of the other one may stand still: its mark stays until that one has taken it off,
 * and ours follows. */
static void anothers_mark__nothing_stands__is_made_and_marked_when_the_other_is_done(void **state)
{
    static const uint32_t caps[] = {CAPS, 0};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(caps); i++) {
        uint32_t flags = 0;
        struct stand *r = stand_noting(IP, caps[i], 1, &flags);
        stand_sync(r, STAND_LB, "\"annotations\":{" OTHERS "}", NULL);
        assert_int_equal(2, stand_patches(r));
        has(r, 0, STAND_F);
        has(r, 1, "\"ingress\"");
        stand_sync(r, STAND_LB, NOTED(OTHERS), STAND_STATUS(IP));
        assert_int_equal(TT_ITEM_PUT_RIGHT | TT_ITEM_MADE, flags);
        assert_int_equal(2, stand_patches(r));
        for (size_t k = 0; k < 2; k++) {
            assert_null(strstr(stand_patch(r, k), KEY));
        }
        stand_sync(r, STAND_LB, STAND_WITH_F, STAND_STATUS(IP));
        assert_int_equal(3, stand_patches(r));
        has(r, 2, STAND_MARK("uid-web " IP));
        stand_sync(r, STAND_LB, NOTED(OURS), STAND_STATUS(IP));
        assert_int_equal(3, stand_patches(r));
        stand_free(r);
    }
}

/* It goes to another type before the other one is done. */
static void anothers_mark__what_was_made_beside_it_goes__stays(void **state)
{
    uint32_t flags = 0;
    struct stand *r = stand_noting(IP, CAPS, 1, &flags);
    (void)state;
    stand_sync(r, STAND_LB, "\"annotations\":{" OTHERS "}", NULL);
    size_t n = stand_patches(r);
    stand_sync(r, STAND_CLUSTER_IP, NOTED(OTHERS), STAND_STATUS(IP));
    assert_true(stand_patches(r) > n);
    for (size_t k = n; k < stand_patches(r); k++) {
        assert_null(strstr(stand_patch(r, k), KEY));
    }
    stand_free(r);
}

/* A finalizer that both use goes, as upstream's goes; the mark tells the other that its load
 * balancer still stands. */
static void anothers_mark__type_goes__stays(void **state)
{
    static const char *const marks[] = {OTHERS, BY_ANOTHER("uid-web")};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        uint32_t flags = 0;
        struct stand *r = stand_noting(IP, CAPS, 1, &flags);
        const char *meta = arena_printf(r->a, STAND_WITH_F ",\"annotations\":{%s}", marks[i]);
        stand_sync(r, STAND_CLUSTER_IP, meta, NULL);
        has(r, 0, "$deleteFromPrimitiveList/finalizers");
        for (size_t k = 0; k < stand_patches(r); k++) {
            assert_null(strstr(stand_patch(r, k), KEY));
        }
        stand_free(r);
    }
}

UNIT_MAIN(sync_mark_by)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_mark__counts_and_is_named_with_a_patch_that_is_sent_anyway),
        cmocka_unit_test(old_mark__naming_is_refused__nothing_follows),
        cmocka_unit_test(our_mark__is_written_once),
        cmocka_unit_test(anothers_mark__counts_as_taken_over),
        cmocka_unit_test(anothers_mark__nothing_stands__is_made_and_marked_when_the_other_is_done),
        cmocka_unit_test(anothers_mark__what_was_made_beside_it_goes__stays),
        cmocka_unit_test(anothers_mark__type_goes__stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
