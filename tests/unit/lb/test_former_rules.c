/* SPDX-License-Identifier: Apache-2.0 */
/* test_former_rules.c: what a Service asked for is written down, and read again onto the Service as
 * it is by then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/base/str.h"
#include "common/lb/former_rules.h"
#include "tests/support/unit.h"

#define PREFIX "put back if the replacement is refused: "

static const char *const wished[] = {"example.com/*"};
static const struct svc_scope scope = {.wishes = wished, .n_wishes = 1};

static const struct tt_port ports[] = {
    {.name = "a", .protocol = "TCP", .port = 80, .node_port = 30080, .target_name = "web"},
    {.name = "b", .protocol = "UDP", .port = 53, .app_protocol = "dns", .target_port = 5353},
};
static const struct tt_kv notes[] = {{"example.com/cert", "old"}, {"other.org/note", "1"}};
static const char *const ranges[] = {"192.0.2.0/24"};

static struct tt_service former(void)
{
    return (struct tt_service){.size = sizeof(struct tt_service),
                               .ports = ports,
                               .n_ports = 2,
                               .session_affinity = "ClientIP",
                               .affinity_timeout_s = 60,
                               .lb_ip = "203.0.113.9",
                               .annotations = notes,
                               .n_annotations = 2,
                               .external_traffic_policy = "Local",
                               .health_check_node_port = 31000};
}

static struct tt_service now(void)
{
    static const struct tt_port one[] = {{.name = "", .protocol = "TCP", .port = 8080}};
    static const struct tt_kv other[] = {
        {"a.org/x", "y"}, {"example.com/cert", "new"}, {"example.com/more", "z"}};
    return (struct tt_service){.size = sizeof(struct tt_service),
                               .name = "web",
                               .ports = one,
                               .n_ports = 1,
                               .session_affinity = "None",
                               .affinity_timeout_s = -1,
                               .lb_ip = "",
                               .annotations = other,
                               .n_annotations = 3,
                               .external_traffic_policy = "Cluster",
                               .source_ranges = ranges,
                               .n_source_ranges = 1};
}

static void check(const struct tt_service *back)
{
    assert_non_null(back);
    assert_int_equal(back->n_ports, 2);
    assert_string_equal(back->ports[0].name, "a");
    assert_int_equal(back->ports[0].node_port, 30080);
    assert_string_equal(back->ports[0].target_name, "web");
    assert_null(back->ports[0].app_protocol);
    assert_string_equal(back->ports[1].protocol, "UDP");
    assert_int_equal(back->ports[1].target_port, 5353);
    assert_string_equal(back->ports[1].app_protocol, "dns");
    assert_string_equal(back->session_affinity, "ClientIP");
    assert_int_equal(back->affinity_timeout_s, 60);
    assert_string_equal(back->lb_ip, "203.0.113.9");
    /* Other members, source ranges and identity stay as they are. */
    assert_int_equal(back->n_annotations, 2);
    assert_string_equal(back->annotations[0].key, "a.org/x");
    assert_string_equal(back->annotations[1].key, "example.com/cert");
    assert_string_equal(back->annotations[1].value, "old");
    assert_string_equal(back->name, "web");
    assert_string_equal(back->source_ranges[0], "192.0.2.0/24");
    assert_string_equal(back->external_traffic_policy, "Local");
    assert_int_equal(back->health_check_node_port, 31000);
}

static void read__what_was_written__ports_affinity_address_and_wishes(void **state)
{
    struct arena *a = arena_new();
    struct tt_service was = former(), is = now();
    (void)state;
    const char *text = former_text(a, &scope, &was);
    check(former_read(a, &scope, &is, text));
    check(former_like(a, &scope, &is, &was));
    arena_free(a);
}

static void read__no_such_message__null(void **state)
{
    static const char *const rows[] = {
        NULL,
        "",
        "True",
        PREFIX,
        PREFIX "{",
        PREFIX "[]",
        PREFIX "{\"ports\":[]}",
        PREFIX "{\"ports\":[{\"port\":0,\"protocol\":\"TCP\"}]}",
        PREFIX "{\"ports\":[{\"port\":65536,\"protocol\":\"TCP\"}]}",
        PREFIX "{\"ports\":[{\"port\":80,\"nodePort\":-1,\"protocol\":\"TCP\"}]}",
        PREFIX "{\"ports\":[{\"port\":80,\"protocol\":\"ICMP\"}]}",
        PREFIX "{\"ports\":[{\"port\":80}]}",
    };
    struct arena *a = arena_new();
    struct tt_service is = now();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (former_read(a, &scope, &is, rows[i]) != NULL) {
            fail_msg("row %zu was read: %s", i, rows[i]);
        }
    }
    arena_free(a);
}

/* Members of other types, and annotations that are no wishes, do not get in. */
static void read__odd_members__left_out(void **state)
{
    struct arena *a = arena_new();
    struct tt_service is = now();
    (void)state;
    const struct tt_service *back = former_read(
        a, &scope, &is,
        PREFIX
        "{\"ports\":[{\"port\":80,\"protocol\":\"TCP\",\"name\":7}],\"sessionAffinity\":[],"
        "\"annotations\":{\"other.org/x\":\"1\",\"example.com/n\":{},\"example.com/o\":\"k\"}}");
    assert_non_null(back);
    assert_string_equal(back->ports[0].name, "");
    assert_string_equal(back->session_affinity, "");
    assert_int_equal(back->affinity_timeout_s, -1);
    assert_int_equal(back->n_annotations, 2);
    assert_string_equal(back->annotations[1].key, "example.com/o");
    arena_free(a);
}

static void text__too_long__none(void **state)
{
    struct arena *a = arena_new();
    struct tt_service was = former();
    char *value = arena_alloc(a, 20000);
    memset(value, 'x', 19999);
    value[19999] = '\0';
    const struct tt_kv big[] = {{"example.com/cert", value}};
    (void)state;
    was.annotations = big;
    was.n_annotations = 1;
    assert_null(former_text(a, &scope, &was));
    arena_free(a);
}

static const struct former_refusal refusal = {
    .wish = 0x7f3a0000000000ffULL,
    .until_us = INT64_C(1796000400000000),
    .tries = 3,
    .code = ERR_QUOTA,
    .why = "quota \"RULES\"; the former rule was put back",
};

static void check_refusal(const struct former_refusal *r)
{
    assert_true(r->wish == refusal.wish);
    assert_true(r->until_us == refusal.until_us);
    assert_int_equal(r->tries, 3);
    assert_int_equal(r->code, ERR_QUOTA);
    assert_string_equal(r->why, refusal.why);
}

/* The former wishes stay readable beside it, and a later refusal takes its place. */
static void refused__written_and_read__beside_the_former_wishes(void **state)
{
    struct arena *a = arena_new();
    struct tt_service was = former(), is = now();
    struct former_refusal r, first = refusal;
    (void)state;
    const char *text = former_text(a, &scope, &was);
    assert_false(former_refusal_read(a, text, &r));
    first.tries = 2;
    const char *once = former_text_refused(a, text, &first);
    const char *twice = former_text_refused(a, once, &refusal);
    check(former_read(a, &scope, &is, twice));
    assert_true(former_refusal_read(a, twice, &r));
    check_refusal(&r);
    assert_int_equal(strlen(once), strlen(twice));
    arena_free(a);
}

/* A process that does not know the former wishes remembers for itself alone. */
static void refused__no_former_wishes__read_but_leads_nobody_back(void **state)
{
    struct arena *a = arena_new();
    struct tt_service is = now();
    struct former_refusal r;
    (void)state;
    const char *text = former_text_refused(a, NULL, &refusal);
    assert_true(former_refusal_read(a, text, &r));
    check_refusal(&r);
    assert_null(former_read(a, &scope, &is, text));
    assert_null(former_text_refused(a, "anything", &refusal));
    arena_free(a);
}

static void refused__no_such_message__false(void **state)
{
    static const char *const rows[] = {
        NULL,
        "True",
        PREFIX "{}",
        PREFIX "{\"refused\":1}",
        PREFIX "{\"refused\":{\"wish\":\"0\",\"until\":\"2026-11-29T20:15:00Z\","
               "\"code\":\"quota\"}}",
        PREFIX "{\"refused\":{\"wish\":\"1f\",\"until\":\"soon\",\"code\":\"quota\"}}",
        PREFIX "{\"refused\":{\"wish\":\"1f\",\"until\":\"2026-11-29T20:15:00Z\","
               "\"code\":\"ok\"}}",
        PREFIX "{\"refused\":{\"wish\":\"1f\",\"until\":\"2026-11-29T20:15:00Z\"}}",
    };
    struct arena *a = arena_new();
    struct former_refusal r;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (former_refusal_read(a, rows[i], &r)) {
            fail_msg("row %zu was read: %s", i, rows[i]);
        }
    }
    arena_free(a);
}

static void spared__the_failure_is_known_again(void **state)
{
    struct err err = ERR_INIT;
    (void)state;
    assert_int_equal(lb_spare(&err, "listener", "web"), ERR_IN_USE);
    assert_true(lb_is_spared(&err));
    (void)err_set(&err, ERR_IN_USE, "address 203.0.113.9 is in use");
    assert_false(lb_is_spared(&err));
}

UNIT_MAIN(former_rules)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read__what_was_written__ports_affinity_address_and_wishes),
        cmocka_unit_test(read__no_such_message__null),
        cmocka_unit_test(read__odd_members__left_out),
        cmocka_unit_test(text__too_long__none),
        cmocka_unit_test(refused__written_and_read__beside_the_former_wishes),
        cmocka_unit_test(refused__no_former_wishes__read_but_leads_nobody_back),
        cmocka_unit_test(refused__no_such_message__false),
        cmocka_unit_test(spared__the_failure_is_known_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
