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
        if (mark_of(a, &s, "gce") != rows[i].want) {
            fail_msg("%s: %d", rows[i].name, (int)mark_of(a, &s, "gce"));
        }
    }
    const struct tt_kv mark = {LB_MARK_ANNOTATION, ""};
    const struct tt_service without = {
        .size = sizeof(without), .uid = "", .annotations = &mark, .n_annotations = 1};
    assert_int_equal(mark_of(a, &without, "gce"), MARK_NONE); /* from a manifest: it has no uid */
    arena_free(a);
}

/* The asking provider is gce; the status names the address, or none. */
static void by__tells_ours_from_anothers_and_from_nobodys(void **state)
{
#define OURS UID " 203.0.113.10"
    static const struct {
        const char *name, *mark, *by;
        enum mark of;
        bool ours, anothers;
    } rows[] = {
        {"ours", OURS, "gce " OURS, MARK_MADE, true, false},
        {"ours, edited", OURS " edited", "gce " OURS " edited", MARK_EDITED, true, false},
        {"ours, being made", UID, "gce " UID, MARK_NONE, true, false},
        {"ours, of another address", UID " 203.0.113.9", "gce " UID " 203.0.113.9", MARK_NONE, true,
         false},
        {"of an older process", OURS, NULL, MARK_MADE, false, false},
        {"an older process wrote the first again", OURS, "gce " UID, MARK_MADE, false, false},
        {"the same, and it was another's", OURS, "local " UID " 203.0.113.9", MARK_MADE, false,
         false},
        {"another's", OURS, "local " OURS, MARK_NONE, false, true},
        {"another's, whose name begins like ours", OURS, "gce-2 " OURS, MARK_NONE, false, true},
        {"another's, whose name is shorter", OURS, "gc " OURS, MARK_NONE, false, true},
        {"a copy of ours", "0b1d 203.0.113.10", "gce 0b1d 203.0.113.10", MARK_NONE, false, false},
        {"a copy of another's", "0b1d", "local 0b1d", MARK_NONE, false, false},
        {"the second alone", NULL, "gce " OURS, MARK_NONE, false, false},
        {"the first is empty", "", "gce ", MARK_NONE, false, false},
        {"a name alone", OURS, "gce", MARK_MADE, false, false},
        {"without a name", OURS, " " OURS, MARK_MADE, false, false},
        {"without a blank", OURS, "gce" OURS, MARK_MADE, false, false},
        {"by a person", OURS, "true", MARK_MADE, false, false},
    };
    static const struct tt_ingress one[] = {{.ip = "203.0.113.10"}};
    struct arena *a = arena_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct tt_kv marks[2];
        uint32_t n = 0;
        if (rows[i].mark != NULL) {
            marks[n++] = (struct tt_kv){LB_MARK_ANNOTATION, rows[i].mark};
        }
        if (rows[i].by != NULL) {
            marks[n++] = (struct tt_kv){LB_MARK_BY_ANNOTATION, rows[i].by};
        }
        struct tt_service s = {.size = sizeof(s),
                               .uid = UID,
                               .annotations = marks,
                               .n_annotations = n,
                               .ingress = one,
                               .n_ingress = 1};
        if (mark_of(a, &s, "gce") != rows[i].of || mark_is_by(&s, "gce") != rows[i].ours ||
            mark_is_by_another(&s, "gce") != rows[i].anothers) {
            fail_msg("%s: %d %d %d", rows[i].name, (int)mark_of(a, &s, "gce"),
                     mark_is_by(&s, "gce"), mark_is_by_another(&s, "gce"));
        }
        s.n_ingress = 0;
        assert_true(!rows[i].anothers ||
                    (mark_of(a, &s, "gce") == MARK_NONE && !mark_has_addresses(&s, "gce")));
        assert_true(!rows[i].ours || mark_of(a, &s, "gce") != MARK_NONE);
        assert_false(mark_is_by(&s, NULL));
    }
    arena_free(a);
}

static void by__text_repeats_the_first(void **state)
{
    struct arena *a = arena_new();
    (void)state;
    assert_string_equal(mark_by_text(a, "gce", mark_text(a, MARK_EDITED, UID, name, 1)),
                        "gce " UID " a-1.elb.amazonaws.com edited");
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
        cmocka_unit_test(by__tells_ours_from_anothers_and_from_nobodys),
        cmocka_unit_test(by__text_repeats_the_first),
        cmocka_unit_test(puts_right__an_older_host_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
