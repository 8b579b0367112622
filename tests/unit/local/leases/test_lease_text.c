/* SPDX-License-Identifier: Apache-2.0 */
/* test_lease_text.c: Leases of directors as JSON, there and back, and what is made of
 * what others wrote. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/str.h"
#include "providers/local/leases/lease_text.h"
#include "tests/support/unit.h"

#define CONFIG                                                                                     \
    "apiVersion: local.trimtab.io/v1\n"                                                            \
    "pools:\n"                                                                                     \
    "- {name: a, addresses: [192.0.2.0/28], announce: {interfaces: [eth*]}}\n"                     \
    "- {name: b, addresses: [198.51.100.8-198.51.100.200]}\n"                                      \
    "- {name: r, addresses: [203.0.113.0/24], announce: {by: routes}}\n"                           \
    "director: {leaseDuration: 7s, renew: 2s}\n"
#define ZEROS "000000000000000000000000000000000000000000000000000000000000000"

static const struct local_config *config(struct arena *a)
{
    const struct local_config *c = NULL;
    struct local_config_findings found;
    struct err err = ERR_INIT;

    if (local_config_read(a, "local.yaml", CONFIG, strlen(CONFIG), NULL, &c, &found, &err) !=
        ERR_OK) {
        fail_msg("%s", err.message);
    }
    return c;
}

static struct ip_net net(const char *text)
{
    struct ip_net n;

    assert_true(ip_net_parse(text, &n));
    return n;
}

static struct json_object *parsed(struct arena *a, const char *text)
{
    struct json_object *o = NULL;
    struct err err = ERR_INIT;

    if (json_parse_arena(a, text, strlen(text), NULL, &o, &err) != ERR_OK) {
        fail_msg("%s: %s", err.message, text);
    }
    return o;
}

/* Four groups: a, b, r, and addresses outside. */
static void lease_text__written__reads_back_the_same(void **state)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct local_config *c = config(a);
    struct local_bucket_set sets[4] = {{{0}}};
    const struct local_reach reach[] = {{net("192.0.2.0/24"), "eth0"}};
    const struct local_lease_words w = {.config = c,
                                        .director = "d1",
                                        .machine = "m1",
                                        .holds = sets,
                                        .reach = reach,
                                        .n_reach = 1,
                                        .takes = true,
                                        .wall_us = 1700000000000001};
    struct local_lease l;

    (void)state;
    local_bucket_set_add(&sets[0], 0);
    local_bucket_set_add(&sets[0], 255);
    const char *text = local_lease_create(a, &w);
    assert_non_null(strstr(text, "\"local.trimtab.io/interfaces\":\"192.0.2.0/24@eth0\""));
    assert_true(local_lease_read(a, c, parsed(a, text), &l));
    assert_string_equal(l.seen.name, "d1");
    assert_string_equal(l.machine, "m1");
    assert_int_equal(l.seen.duration_ms, 7000);
    assert_true(l.seen.takes);
    assert_false(l.seen.ended || l.drain);
    assert_memory_equal(l.seen.holds, sets, sizeof sets);
    assert_true(l.seen.near[0]);
    assert_false(l.seen.near[1]); /* no subnet of it */
    assert_true(l.seen.near[2]);  /* routes lead there from anywhere */
    assert_true(l.seen.near[3]);
    const char *patch = local_lease_patch(a, &w, "17");
    assert_non_null(strstr(patch, "\"resourceVersion\":\"17\""));
    assert_null(strstr(patch, "\"name\""));
}

static void lease_text__end__holds_nothing_and_takes_nothing(void **state)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct local_config *c = config(a);
    const struct local_bucket_set sets[4] = {{{0}}};
    const struct local_lease_words w = {
        .config = c, .director = "d1", .machine = "m1", .holds = sets, .takes = true, .ends = true};
    struct local_lease l;
    const char *text = local_lease_create(a, &w);

    (void)state;
    assert_non_null(strstr(text, "\"local.trimtab.io/holds\":\"0" ZEROS "\""));
    assert_true(local_lease_read(a, c, parsed(a, text), &l));
    assert_true(l.seen.ended);
    assert_false(l.seen.takes);
}

#define LEASE(notes, labels)                                                                       \
    "{\"metadata\": {\"name\": \"trimtab-director-x\", \"labels\": {" labels                       \
    "}, \"annotations\": {" notes "}}, \"spec\": {\"holderIdentity\": \"m\"}}"
#define HOLDS_(text) "\"local.trimtab.io/holds\": \"" text "\""

static void lease_text__of_others__read_leniently(void **state)
{
    static const struct {
        const char *text, *want; /* buckets of a, b, r, outside */
    } rows[] = {
        {LEASE("", ""), "0 0 0 0 "},
        {LEASE(HOLDS_("f" ZEROS), ""), "4 4 4 4 "},
        {LEASE(HOLDS_("F" ZEROS "=a,- 1" ZEROS "=b"), ""), "4 1 0 4 "},
        {LEASE(HOLDS_("f" ZEROS "=unknown,b"), ""), "0 4 0 0 "},
        {LEASE(HOLDS_("what"), ""), "256 256 256 256 "},      /* it may hold any */
        {LEASE(HOLDS_("f0=r"), ""), "0 0 256 0 "},            /* too short */
        {LEASE(HOLDS_("g" ZEROS "=,,r,"), ""), "0 0 256 0 "}, /* no digit */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
        const struct local_config *c = config(a);
        struct local_lease l;
        assert_true(local_lease_read(a, c, parsed(a, rows[i].text), &l));
        for (size_t g = 0; g < local_lease_groups(c); g++) {
            str_appendf(&b, "%u ", local_bucket_set_count(&l.seen.holds[g]));
        }
        assert_string_equal(str_buf_text(&b), rows[i].want);
        assert_int_equal(l.seen.duration_ms, 1000); /* none given: the shortest */
    }
}

static void lease_text__drain_and_foreign_leases(void **state)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct local_config *c = config(a);
    struct local_lease l;

    (void)state;
    assert_true(local_lease_read(a, c,
                                 parsed(a, LEASE("\"local.trimtab.io/takes\": \"true\"",
                                                 "\"local.trimtab.io/drain\": \"\"")),
                                 &l));
    assert_true(l.drain);
    assert_false(l.seen.takes);
    assert_false(local_lease_read(a, c, parsed(a, "{\"metadata\": {\"name\": \"trimtab\"}}"), &l));
    assert_false(local_lease_read(a, c, parsed(a, "[]"), &l));
}

static void lease_text__reach__subnets_that_meet_the_pool(void **state)
{
    static const struct {
        const char *net, *link, *want; /* of groups a, b, r */
    } rows[] = {
        {"192.0.2.0/24", "eth0", "101"},     {"192.0.2.0/24", "wlan0", "001"},
        {"192.0.2.8/30", "eth1", "101"}, /* within the pool */
        {"192.0.2.16/28", "eth0", "001"},    {"198.51.100.0/24", "any", "011"},
        {"198.51.100.128/25", "any", "011"}, {"198.51.100.0/29", "any", "001"},
        {"2001:db8::/64", "eth0", "001"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        const struct local_config *c = config(a);
        const struct local_reach reach = {net(rows[i].net), rows[i].link};
        char got[4] = "";
        for (size_t g = 0; g < 3; g++) {
            got[g] = local_lease_reaches(c, g, &reach, 1) ? '1' : '0';
        }
        if (strcmp(got, rows[i].want) != 0) {
            fail_msg("%s@%s: %s, not %s", rows[i].net, rows[i].link, got, rows[i].want);
        }
    }
}

static void lease_text__names(void **state)
{
    (void)state;
    assert_true(local_lease_name_ok("d1"));
    assert_true(local_lease_name_ok("edge-7.example.com"));
    assert_false(local_lease_name_ok(""));
    assert_false(local_lease_name_ok("Edge"));
    assert_false(local_lease_name_ok("-a"));
    assert_false(local_lease_name_ok("a-"));
    assert_false(local_lease_name_ok("a..b"));
    assert_false(local_lease_name_ok("a/b"));
}

UNIT_MAIN(lease_text)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lease_text__written__reads_back_the_same),
        cmocka_unit_test(lease_text__end__holds_nothing_and_takes_nothing),
        cmocka_unit_test(lease_text__of_others__read_leniently),
        cmocka_unit_test(lease_text__drain_and_foreign_leases),
        cmocka_unit_test(lease_text__reach__subnets_that_meet_the_pool),
        cmocka_unit_test(lease_text__names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
