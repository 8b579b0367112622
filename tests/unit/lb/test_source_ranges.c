/* SPDX-License-Identifier: Apache-2.0 */
/* test_source_ranges.c: spec.loadBalancerSourceRanges and its annotation.
 *
 * The numbers in the rows are those of controller.md §6.7; each value is read as annotation and,
 * split at the commas, as field.  The last two rows are §9 row 2: upstream takes them. */
#include "tests/unit/lb/lb_test.h"

#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "tests/support/unit.h"

struct row {
    int row;
    const char *value;
    const char *want; /* sorted, joined with blanks; NULL: refused */
};
static const struct row rows[] = {
    {114, "10.0.0.1/33", NULL},
    {115, "foo.bar", NULL},
    {116, "10.0.0.1/32,*", NULL},
    {117, "10.0.0.1/32,", NULL},
    {118, "10.0.0.1/32, ", NULL},
    {119, "10.0.0.1", NULL},
    {120, "192.168.0.1/32", "192.168.0.1/32"},
    {121, "192.168.0.1/32,192.168.0.1/32", "192.168.0.1/32"},
    {122, "192.168.0.1/32,192.168.0.2/32", "192.168.0.1/32 192.168.0.2/32"},
    {123, "  192.168.0.1/32 , 192.168.0.2/32   ", "192.168.0.1/32 192.168.0.2/32"},
    {126, "192.168.0.0/0", "0.0.0.0/0"},
    {128, "010.000.000.001/32", "10.0.0.1/32"},
    {0,
     "\xC2\xA0\xE2\x80\x83"
     "10.0.0.1/8\xE3\x80\x80",
     "10.0.0.0/8"}, /* Unicode blanks */
    {0, "1.2.3.4/08", "1.0.0.0/8"},
    {0, "1.2.3.4/+8", NULL},
    {0, "1.2.3.4/8/8", NULL},
    {0, "\xD9\xA1.2.3.4/8", NULL}, /* an Arabic-Indic digit */
    {0, "fe80::1%eth0/64", NULL},
    {0, "2001:DB8::1/32,2001:db8:0::/32", "2001:db8::/32"},
    {0, "::/0", "::/0"},
    {0, "::1.2.3.4/96", "::/96"}, /* embedded, not mapped */
    {0, "::ffff:10.1.2.3/120", "10.1.2.0/24"},
    {0, "::ffff:10.1.2.3/97", "0.0.0.0/1"},
    {0, "::ffff:10.1.2.3/96", NULL}, /* ours: upstream opens everything, unseen */
    {0, "::ffff:10.1.2.3/90", NULL},
};

static const char *shown(struct arena *a, int rc, const struct str_set *set)
{
    return rc == ERR_OK ? str_set_text(a, set, " ") : "(refused)";
}

static void check(struct arena *a, const struct row *r, const struct tt_service *s)
{
    struct str_set set = {0};
    struct err err = ERR_INIT;
    int rc = svc_source_ranges(a, s, &set, &err);
    assert_string_equal(shown(a, rc, &set), r->want != NULL ? r->want : "(refused)");
    assert_int_equal(rc, r->want != NULL ? ERR_OK : ERR_INVALID);
    assert_int_equal(err.message[0] == '\0', rc == ERR_OK);
}

static void svc_source_ranges__annotation__vectors(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct tt_kv note = {LB_SOURCE_RANGES_ANNOTATION, rows[i].value};
        struct tt_service s = {.size = sizeof s, .annotations = &note, .n_annotations = 1};
        print_message("# row %d: %s\n", rows[i].row, rows[i].value);
        check(*state, &rows[i], &s);
    }
}

static void svc_source_ranges__field__vectors(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t n;
        char **items = str_split(*state, rows[i].value, ',', &n);
        struct tt_service s = {.size = sizeof s,
                               .source_ranges = (const char *const *)items,
                               .n_source_ranges = (uint32_t)n};
        print_message("# row %d: %s\n", rows[i].row, rows[i].value);
        check(*state, &rows[i], &s);
    }
}

static void svc_source_ranges__row_124_nothing_set__everybody(void **state)
{
    struct tt_kv notes[] = {{LB_SOURCE_RANGES_ANNOTATION, ""},
                            {LB_SOURCE_RANGES_ANNOTATION, " \t"}};
    for (uint32_t i = 0; i < 3; i++) {
        struct tt_service s = {.size = sizeof s};
        s.annotations = i < 2 ? &notes[i] : NULL;
        s.n_annotations = i < 2 ? 1 : 0;
        struct str_set set;
        assert_int_equal(svc_source_ranges(*state, &s, &set, NULL), ERR_OK);
        assert_string_equal(str_set_text(*state, &set, " "), "0.0.0.0/0");
        assert_true(svc_ranges_allow_all(&set));
    }
}

static void svc_ranges_allow_all__rows_125_126__only_ipv4_zero(void **state)
{
    static const struct {
        int row;
        const char *items[2];
        size_t n;
        bool all;
    } sets[] = {
        {125, {"10.0.0.1/32"}, 1, false}, {125, {"10.0.0.1/32", "10.0.0.2/32"}, 2, false},
        {126, {"0.0.0.0/0"}, 1, true},    {126, {"192.168.0.1/32", "0.0.0.0/0"}, 2, true},
        {0, {"::/0"}, 1, false},          {0, {NULL}, 0, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
        struct str_set set = str_set_make(*state, sets[i].items, sets[i].n);
        assert_int_equal(svc_ranges_allow_all(&set), sets[i].all);
    }
}

static void svc_source_ranges__row_127_field_and_annotation__field_wins(void **state)
{
    struct tt_kv note = {LB_SOURCE_RANGES_ANNOTATION, "foo"};
    const char *items[] = {"10.0.0.7/24"};
    struct tt_service s = {.size = sizeof s,
                           .annotations = &note,
                           .n_annotations = 1,
                           .source_ranges = items,
                           .n_source_ranges = 1};
    struct str_set set;
    assert_int_equal(svc_source_ranges(*state, &s, &set, NULL), ERR_OK);
    assert_string_equal(str_set_text(*state, &set, " "), "10.0.0.0/24");
}

/* People search for these texts. */
static void svc_source_ranges__refused__upstreams_texts(void **state)
{
    struct tt_kv note = {LB_SOURCE_RANGES_ANNOTATION, " 10.0.0.1/32,* "};
    const char *items[] = {"10.0.0.0/8", " foo.bar"};
    struct tt_service by_note = {.size = sizeof by_note, .annotations = &note, .n_annotations = 1};
    struct tt_service by_field = {
        .size = sizeof by_field, .source_ranges = items, .n_source_ranges = 2};
    struct str_set set;
    struct err err = ERR_INIT;
    assert_int_equal(svc_source_ranges(*state, &by_note, &set, &err), ERR_INVALID);
    assert_string_equal(err.message,
                        "service.beta.kubernetes.io/load-balancer-source-ranges: 10.0.0.1/32,* is "
                        "not valid. Expecting a comma-separated list of source IP ranges. For "
                        "example, 10.0.0.0/24,192.168.2.0/24");
    assert_int_equal(svc_source_ranges(*state, &by_field, &set, &err), ERR_INVALID);
    assert_string_equal(err.message,
                        "service.Spec.LoadBalancerSourceRanges: [10.0.0.0/8  foo.bar] is not "
                        "valid. Expecting a list of IP ranges. For example, 10.0.0.0/24. Error "
                        "msg: invalid CIDR address: foo.bar");
}

UNIT_MAIN(source_ranges)
{
    const struct CMUnitTest tests[] = {
        lb_test(svc_source_ranges__annotation__vectors),
        lb_test(svc_source_ranges__field__vectors),
        lb_test(svc_source_ranges__row_124_nothing_set__everybody),
        lb_test(svc_ranges_allow_all__rows_125_126__only_ipv4_zero),
        lb_test(svc_source_ranges__row_127_field_and_annotation__field_wins),
        lb_test(svc_source_ranges__refused__upstreams_texts),
    };
    return cmocka_run_group_tests_name("source_ranges", tests, NULL, NULL);
}
