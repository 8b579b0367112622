/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of lease_view: when what a watch has shown is worth as much as a list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "providers/local/leases/lease_view.h"
#include "tests/support/unit.h"

static const bool near = true;

static void put(struct local_lease_view *v, const char *director, const char *version,
                unsigned bucket)
{
    struct local_bucket_set holds = {{0}};

    local_bucket_set_add(&holds, bucket);
    const struct local_lease lease = {
        .version = version,
        .machine = "m",
        .seen = {.name = director, .version = version, .holds = &holds, .near = &near}};
    local_lease_view_put(v, &lease);
}

static void view__own_write__is_current_when_it_was_shown(void **state)
{
    struct local_lease_view *v = local_lease_view_new("d1", 1);

    (void)state;
    put(v, "d1", "3", 0);
    assert_false(local_lease_view_is_current(v)); /* written by an earlier process */
    local_lease_view_wrote(v, "7");
    assert_false(local_lease_view_is_current(v));
    put(v, "d2", "8", 5);
    put(v, "d1", "5", 0);
    assert_false(local_lease_view_is_current(v));
    put(v, "d1", "7", 0);
    assert_true(local_lease_view_is_current(v));
    put(v, "d1", "9", 0); /* a label of an operator */
    assert_true(local_lease_view_is_current(v));
    assert_string_equal("9", local_lease_view_own(v)->version);
    put(v, "d1", "10", 0); /* shown before its answer came */
    local_lease_view_wrote(v, "10");
    assert_true(local_lease_view_is_current(v));
    local_lease_view_drop(v, "d1");
    assert_null(local_lease_view_own(v));
    local_lease_view_wrote(v, "12");
    assert_false(local_lease_view_is_current(v));
    local_lease_view_free(v);
}

static void view__others__as_they_were_shown_last(void **state)
{
    struct local_lease_view *v = local_lease_view_new("d1", 1);
    size_t n = 0;

    (void)state;
    put(v, "d2", "3", 5);
    put(v, "d3", "4", 6);
    put(v, "d2", "6", 7);
    const struct local_lease_seen *others = local_lease_view_others(v, &n);
    assert_int_equal(2, n);
    assert_string_equal("d2", others[0].name);
    assert_string_equal("6", others[0].version);
    assert_true(local_bucket_set_has(&others[0].holds[0], 7));
    assert_false(local_bucket_set_has(&others[0].holds[0], 5));
    local_lease_view_drop(v, "d2");
    local_lease_view_drop(v, "d9");
    others = local_lease_view_others(v, &n);
    assert_int_equal(1, n);
    assert_string_equal("d3", others[0].name);
    local_lease_view_free(v);
}

/* The holder looks at LOCAL_DIRECTORS_MAX; it must notice that there are more. */
static void view__more_than_can_be_looked_at__one_too_many(void **state)
{
    struct local_lease_view *v = local_lease_view_new("d1", 1);
    char name[16];
    size_t n = 0;

    (void)state;
    for (unsigned i = 0; i < LOCAL_DIRECTORS_MAX + 5; i++) {
        (void)snprintf(name, sizeof name, "other-%u", i);
        put(v, name, "3", 5);
    }
    (void)local_lease_view_others(v, &n);
    assert_int_equal(LOCAL_DIRECTORS_MAX + 1, n);
    local_lease_view_free(v);
}

UNIT_MAIN(lease_view)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(view__own_write__is_current_when_it_was_shown),
        cmocka_unit_test(view__others__as_they_were_shown_last),
        cmocka_unit_test(view__more_than_can_be_looked_at__one_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
