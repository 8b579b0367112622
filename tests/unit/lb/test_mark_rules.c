/* SPDX-License-Identifier: Apache-2.0 */
/* test_mark_rules.c: of which Service, and of which load balancer, a mark speaks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/base/str.h"
#include "common/lb/mark_rules.h"
#include "common/lb/service_rules.h"
#include "tests/support/unit.h"

#define UID "0b1c"

static const struct tt_ingress two[] = {{.ip = "2001:db8::1"}, {.ip = "203.0.113.10"}};
static const struct tt_ingress turned[] = {{.ip = "203.0.113.10"}, {.ip = "2001:db8::1"}};
static const struct tt_ingress name[] = {{.hostname = "a-1.elb.amazonaws.com"}};

static void text__names_uid_and_addresses_in_any_order(void **state)
{
    struct arena *a = arena_new();
    (void)state;
    assert_string_equal(mark_text(a, MARK_MADE, UID, NULL, 0), UID);
    assert_string_equal(mark_text(a, MARK_MADE, UID, name, 1), UID " a-1.elb.amazonaws.com");
    assert_string_equal(mark_text(a, MARK_MADE, UID, two, 2), UID " 2001:db8::1,203.0.113.10");
    assert_string_equal(mark_text(a, MARK_EDITED, UID, name, 1),
                        UID " a-1.elb.amazonaws.com edited");
    assert_string_equal(mark_text(a, MARK_MADE, UID, turned, 2),
                        mark_text(a, MARK_MADE, UID, two, 2));
    arena_free(a);
}

static void valid__only_for_this_object_and_this_load_balancer(void **state)
{
    static const struct {
        const char *name, *mark;
        const struct tt_ingress *ingress;
        uint32_t n;
        enum mark want;
    } rows[] = {
        {"none", NULL, two, 2, MARK_NONE},
        {"being made", UID, NULL, 0, MARK_MADE},
        {"made", UID " 2001:db8::1,203.0.113.10", turned, 2, MARK_MADE},
        {"edited", UID " 2001:db8::1,203.0.113.10 edited", turned, 2, MARK_EDITED},
        {"edited, and its status was lost", UID " 203.0.113.10 edited", NULL, 0, MARK_EDITED},
        {"edited, and another address came", UID " 203.0.113.9 edited", two, 2, MARK_NONE},
        {"made, and its status was lost", UID " 203.0.113.10", NULL, 0, MARK_MADE},
        {"another controller finished it", UID, two, 2, MARK_NONE},
        {"another controller made one meanwhile", UID " 203.0.113.9", two, 2, MARK_NONE},
        {"another controller added a family", UID " 203.0.113.10", two, 2, MARK_NONE},
        {"copied from another Service", "0b1d", NULL, 0, MARK_NONE},
        {"its uid is longer", UID "2", NULL, 0, MARK_NONE},
        {"its uid is longer, with address", UID "2 203.0.113.10", NULL, 0, MARK_NONE},
        {"written by a person", "true", NULL, 0, MARK_NONE},
        {"empty", "", NULL, 0, MARK_NONE},
    };
    struct arena *a = arena_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct tt_kv mark = {LB_MARK_ANNOTATION, rows[i].mark};
        const struct tt_service s = {.size = sizeof(s),
                                     .uid = UID,
                                     .annotations = &mark,
                                     .n_annotations = rows[i].mark != NULL,
                                     .ingress = rows[i].ingress,
                                     .n_ingress = rows[i].n};
        if (mark_of(a, &s) != rows[i].want) {
            fail_msg("%s: %d", rows[i].name, (int)mark_of(a, &s));
        }
    }
    const struct tt_kv mark = {LB_MARK_ANNOTATION, ""};
    const struct tt_service without = {
        .size = sizeof(without), .uid = "", .annotations = &mark, .n_annotations = 1};
    assert_int_equal(mark_of(a, &without), MARK_NONE); /* from a manifest: it has no uid */
    arena_free(a);
}

static void puts_right__an_older_host_says_nothing(void **state)
{
    struct tt_item item = {.size = sizeof(item), .flags = TT_ITEM_PUT_RIGHT};
    (void)state;
    assert_true(lb_puts_right(&item));
    assert_false(lb_was_made(&item));
    item.flags |= TT_ITEM_MADE;
    assert_true(lb_was_made(&item));
    item.flags = 0;
    assert_false(lb_puts_right(&item));
    item.flags = TT_ITEM_PUT_RIGHT;
    item.size = offsetof(struct tt_item, flags);
    assert_false(lb_puts_right(&item));
}

UNIT_MAIN(mark_rules)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text__names_uid_and_addresses_in_any_order),
        cmocka_unit_test(valid__only_for_this_object_and_this_load_balancer),
        cmocka_unit_test(puts_right__an_older_host_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
