/* SPDX-License-Identifier: Apache-2.0 */
/* compute_filter.c: list filters in both forms, by table: what matches what, and what is no filter.
 *
 * Source: gce-cloud-provider.md §3.3; what gcloud 528 and the Go controllers send. */
#include "sim/compute/filter.h"
#include "sim/compute/schema.h"
#include "tests/support/unit.h"
#include "tests/unit/sim/fixture.h"

#include <string.h>

static const char object[] =
    "{\"name\":\"node-1\",\"address\":\"203.0.113.10\",\"port\":80,\"disabled\":false,"
    "\"region\":\"https://www.googleapis.com/compute/v1/projects/p/regions/us-central1\","
    "\"labels\":{\"team\":\"blue\"},\"description\":\"a (b) c\","
    "\"networkInterfaces\":[{\"networkIP\":\"10.0.0.1\"},{\"networkIP\":\"10.0.0.2\"}]}";

struct row {
    const char *filter;
    int want; /* 1: matches, 0: does not, -1: is refused */
};

static const struct row rows[] = {
    /* the old form: the whole field, as a regular expression */
    {"name eq node-1", 1},
    {"name eq node", 0},
    {"name eq node.*", 1},
    {"name ne node.*", 0},
    {"name ne other", 1},
    {"missing eq .*", 0},
    {"missing ne .*", 1},
    {"address eq 203.0.113.10", 1},
    {"address eq 203.0.113.1", 0},
    {"region eq .*/regions/us-central1", 1},
    {"region eq .*/us-central1$", 1},
    {"(name eq node.*) (port eq 80)", 1},
    {"(name eq node.*) (port eq 81)", 0},
    {"(name eq (node|vm)-\\d+)", 1},
    {"name eq (?:node|vm)-[\\d]+", 1},
    {"name eq (?i)NODE-1", 1},
    {"name eq n.*?1", 1},
    {"name eq [a-z]{4}-[0-9]{1,3}", 1},
    {"name eq node{2}-1", 0},
    {"description eq a {x}", 0},
    {"name eq \"node-1\"", 1},
    {"name eq 'node-1'", 1},
    {"name eq \"(node-1)\"", 1},
    {"name eq \".*(^node-1$).*\"", 1},
    {"description eq a \\(b\\) c", 1},
    {"(description eq a \\(b\\) c)", 1},
    {"(name eq a) OR (name eq node-1)", 1},
    {"networkInterfaces.networkIP eq 10.0.0.2", 1},
    {"disabled eq false", 1},
    {"port eq 80", 1},
    /* the new form */
    {"name = node-1", 1},
    {"name=\"node-1\"", 1},
    {"name = node", 0},
    {"name = node-*", 1},
    {"name != node-1", 0},
    {"name != other", 1},
    {"name : ode", 1},
    {"name:node*", 1},
    {"labels.team:*", 1},
    {"labels.other:*", 0},
    {"labels.team = blue", 1},
    {"port > 79", 1},
    {"port > 80", 0},
    {"port >= 80", 1},
    {"port < 100", 1},
    {"port <= 79", 0},
    {"name = node-1 AND port = 80", 1},
    {"name = node-1 port = 80", 1},
    {"name = node-1 AND port = 81", 0},
    {"name = x OR port = 80", 1},
    {"(name = x OR port = 80) AND disabled = false", 1},
    {"NOT name = x", 1},
    {"-name = node-1", 0},
    {"NOT (name = x OR port = 80)", 0},
    {"networkInterfaces.networkIP = 10.0.0.2", 1},
    /* no filters */
    {"name", -1},
    {"name eq", -1},
    {"name eq (", -1},
    {"name eq [", -1},
    {"name eq (?P<x>a)", -1},
    {"name eq a++", -1},
    {"name eq a*{2}", -1},
    {"name eq ([a-z]+-?)+[0-9]", 1},
    {"name eq (((a+)+)+)", -1},
    {"name eq ((a{100}){100}){100}", -1},
    {"= x", -1},
    {"name =", -1},
    {"(name = x", -1},
    {"name = x)", -1},
    {"name = \"x", -1},
    {"name ~ x", -1},
    {"name = x AND", -1},
    {"OR name = x", -1},
    {"(name eq a) (name = a)", -1},
    {"name = x eq y", -1},
};

static void filter__both_forms__match_as_the_cloud_does(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct json_object *o = NULL;
    assert_int_equal(json_parse_arena(a, object, strlen(object), NULL, &o, NULL), ERR_OK);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct filter *f = NULL;
        struct err err = ERR_INIT;
        int got = ce_filter_parse(a, rows[i].filter, &f, &err) ? -1 : ce_filter_matches(a, f, o);
        if (got != rows[i].want) {
            fail_msg("%s: got %d, want %d %s", rows[i].filter, got, rows[i].want, err.message);
        }
        assert_int_equal(got == -1, err.code == ERR_INVALID);
    }
    arena_free(a);
}

static void filter__deep_nesting__is_refused(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct filter *f = NULL;
    char text[401];
    memset(text, '(', 400);
    text[400] = '\0';
    assert_int_equal(ce_filter_parse(a, text, &f, NULL), ERR_INVALID);
    arena_free(a);
}

/* The pattern of names has a check of its own; another spelling of it is a regular expression. */
static void schema__names__as_their_pattern_says(void **state)
{
    (void)state;
    char name[80];
    memset(name, 'a', sizeof(name));
    for (size_t n = 0; n < sizeof(name); n++) {
        name[n] = '\0';
        assert_true(ce_schema_matches("^([a-z]([-a-z0-9]{0,61}[a-z0-9])?)$", name) ==
                    (n > 0 && n <= 63));
        name[n] = 'a';
    }
    static const char *const texts[] = {"",   "a",  "-", "1a",  "a1",  "a-",  "a-b",
                                        "-a", "aB", "A", "a.b", "a_b", "a b", "a\n"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        assert_true(ce_schema_matches("^([a-z]([-a-z0-9]{0,61}[a-z0-9])?)$", texts[i]) ==
                    ce_schema_matches("^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$", texts[i]));
    }
}

UNIT_MAIN(compute_filter)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schema__names__as_their_pattern_says),
        cmocka_unit_test(filter__both_forms__match_as_the_cloud_does),
        cmocka_unit_test(filter__deep_nesting__is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
