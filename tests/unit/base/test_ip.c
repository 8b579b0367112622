/* SPDX-License-Identifier: Apache-2.0 */
/* test_ip.c: addresses and networks as Go reads and prints them.
 *
 * go_cidr.jsonl: random texts with the answers of k8s.io/utils/net.ParseCIDRSloppy, net.ParseCIDR,
 * net.ParseIP and ParseIPSloppy (the last two of the part before the slash). */
#include "tests/unit/base/base_test.h"

#include <string.h>

#include "common/base/ip.h"
#include "tests/support/unit.h"

static void assert_text(const char *in, struct json_object *want, bool ok, const char *got)
{
    const char *text = json_object_get_string(want);
    if (ok != (want != NULL) || (ok && strcmp(text, got) != 0)) {
        fail_msg("%s: want %s, got %s", in, text != NULL ? text : "refused", ok ? got : "refused");
    }
}

static void cidr__random__equal(struct arena *a, struct json_object *line, void *arg)
{
    (void)arg;
    const char *in = json_str(line, "in");
    struct json_object *out = json_member(line, "out");
    char text[IP_TEXT_MAX] = "";
    struct ip_net net;
    struct ip_addr ip;
    bool ok = ip_net_parse_sloppy(in, &net);
    if (ok) {
        ip_net_format(&net, text);
    }
    assert_text(in, json_object_array_get_idx(out, 0), ok, text);
    ok = ip_net_parse(in, &net);
    if (ok) {
        ip_net_format(&net, text);
    }
    assert_text(in, json_object_array_get_idx(out, 1), ok, text);
    const char *addr = arena_strndup(a, in, strcspn(in, "/"));
    ok = ip_parse(addr, &ip);
    if (ok) {
        ip_format(&ip, text);
    }
    assert_text(in, json_object_array_get_idx(out, 2), ok, text);
    ok = ip_parse_sloppy(addr, &ip);
    if (ok) {
        ip_format(&ip, text);
    }
    assert_text(in, json_object_array_get_idx(out, 3), ok, text);
}

static void ip__recorded_from_go__equal(void **state)
{
    (void)state;
    assert_int_equal(vectors_each("go_cidr.jsonl", cidr__random__equal, NULL), 160);
}

static void ip_net_parse_sloppy__edges__as_upstream(void **state)
{
    (void)state;
    static const struct {
        const char *in, *want; /* NULL: refused */
        bool mapped;
    } rows[] = {
        {"10.0.0.1/24", "10.0.0.0/24", false},
        {"192.168.0.0/0", "0.0.0.0/0", false},
        {"010.000.000.001/32", "10.0.0.1/32", false},
        {"1.2.3.4/08", "1.0.0.0/8", false},
        {"1.2.3.4/+8", NULL, false},
        {"1.2.3.4/-0", NULL, false},
        {"1.2.3.4/33", NULL, false},
        {"1.2.3.4/", NULL, false},
        {"1.2.3.4", NULL, false},
        {"1.2.3.4/8/8", NULL, false},
        {"/8", NULL, false},
        {"", NULL, false},
        {"*", NULL, false},
        {"foo/8", NULL, false},
        {"256.0.0.0/8", NULL, false},
        {"1.2.3/8", NULL, false},
        {"1.2.3.4.5/8", NULL, false},
        {"1.2.3./8", NULL, false},
        {"::ffff:10.1.2.3/120", "10.1.2.0/24", true},
        {"::ffff:10.1.2.3/96", "0.0.0.0/0", true},
        {"::ffff:10.1.2.3/90", "::ffc0:0:0/90", true},
        {"::ffff:a01:203/128", "10.1.2.3/32", true},
        {"::1.2.3.4/96", "::/96", false},
        {"2001:DB8::1/32", "2001:db8::/32", false},
        {"fe80::1%eth0/64", NULL, false},
        {"::/0", "::/0", false},
        {"::1/129", NULL, false},
        {"1:2:3:4:5:6:7:8/128", "1:2:3:4:5:6:7:8/128", false},
        {"1:2:3:4:5:6:7::/128", "1:2:3:4:5:6:7:0/128", false},
        {"1:2:3:4:5:6:7:8::/64", NULL, false},
        {"1:2:3:4::5:6:7:8/64", NULL, false},
        {"1::2::3/64", NULL, false},
        {":1/64", NULL, false},
        {"1:/64", NULL, false},
        {"1:2/64", NULL, false},
        {"12345::/16", NULL, false},
        {"00001::/16", "1::/16", false},
        {"1:2:3:4:5:6:7:1.2.3.4/64", NULL, false},
        {"1:2:3:4:5:1.2.3.4/64", NULL, false},
        {"1:2:3:4:5:6:1.2.3.4/128", "1:2:3:4:5:6:102:304/128", false},
        {"::1.2.3/64", NULL, false},
        {"1::16777216/64", NULL, false},
        {"\xD9\xA1.2.3.4/8", NULL, false},
        {"0:0:1::/48", "0:0:1::/48", false},
        {"1:0:0:2:0:0:0:3/128", "1:0:0:2::3/128", false},
        {"1:0:2:0:3:0:4:0/128", "1:0:2:0:3:0:4:0/128", false},
        {"1:0:0:2:3:0:0:4/128", "1::2:3:0:0:4/128", false},
        {"00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
         "00000000000"
         "0000000000000000000000000000000000000000001.2.3.4/8",
         NULL, false}, /* longer than any address need be */
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct ip_net net = {.prefix = 77};
        char text[IP_TEXT_MAX];
        bool ok = ip_net_parse_sloppy(rows[i].in, &net);
        if (ok != (rows[i].want != NULL)) {
            fail_msg("%s: %s", rows[i].in, ok ? "accepted" : "refused");
        }
        if (ok) {
            ip_net_format(&net, text);
            assert_string_equal(text, rows[i].want);
            assert_int_equal(net.was_mapped, rows[i].mapped);
        } else {
            assert_int_equal(net.prefix, 77);
        }
    }
    struct ip_net net;
    assert_false(ip_net_parse_sloppy(NULL, &net));
}

static void ip_parse__strict_and_sloppy__differ_where_go_differs(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        bool strict, sloppy;
        const char *text;
    } rows[] = {
        {"1.2.3.4", true, true, "1.2.3.4"},
        {"01.2.3.4", false, true, "1.2.3.4"},
        {"::ffff:1.2.3.4", true, true, "1.2.3.4"},
        {"::ffff:01.2.3.4", false, true, "1.2.3.4"},
        {"00000::1", false, true, "::1"},
        {"::", true, true, "::"},
        {"::1%lo", false, false, NULL},
        {"1.2.3.4 ", false, false, NULL},
        {"", false, false, NULL},
        {"1", false, false, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct ip_addr ip;
        char text[IP_TEXT_MAX];
        assert_int_equal(ip_parse(rows[i].in, &ip), rows[i].strict);
        bool ok = ip_parse_sloppy(rows[i].in, &ip);
        assert_int_equal(ok, rows[i].sloppy);
        if (ok) {
            ip_format(&ip, text);
            assert_string_equal(text, rows[i].text);
        }
    }
    struct ip_addr ip;
    assert_false(ip_parse(NULL, &ip));
    struct ip_addr mapped = {.len = 16, .bytes = {[10] = 0xFF, [11] = 0xFF, [12] = 1, [15] = 9}};
    char text[IP_TEXT_MAX];
    ip_format(&mapped, text);
    assert_string_equal(text, "::ffff:1.0.0.9");
}

static struct ip_net net_of(const char *s)
{
    struct ip_net n;
    assert_true(ip_net_parse_sloppy(s, &n));
    return n;
}
static struct ip_addr ip_of(const char *s)
{
    struct ip_addr ip;
    assert_true(ip_parse(s, &ip));
    return ip;
}

static void ip_net__relations__by_bits(void **state)
{
    (void)state;
    struct ip_net n = net_of("10.1.2.0/23");
    struct ip_addr in = ip_of("10.1.3.255");
    struct ip_addr out = ip_of("10.1.4.0");
    struct ip_addr six = ip_of("::1");
    assert_true(ip_net_contains(&n, &in));
    assert_false(ip_net_contains(&n, &out));
    assert_false(ip_net_contains(&n, &six));
    struct ip_net host;
    assert_true(ip_net_parse_host("10.1.3.9/23", &host));
    assert_true(ip_net_contains(&host, &in));
    assert_false(ip_net_eq(&host, &n));
    assert_true(ip_net_eq(&n, &n));
    struct ip_net wide = net_of("10.0.0.0/8");
    assert_false(ip_net_eq(&n, &wide));
    assert_true(ip_eq(&in, &in));
    assert_false(ip_eq(&in, &six));
    struct ip_addr last = ip_net_last(&host);
    assert_true(ip_eq(&last, &in));
    char text[IP_TEXT_MAX];
    ip_net_format(&host, text);
    assert_string_equal(text, "10.1.3.9/23");
    n = net_of("2001:db8::/61");
    last = ip_net_last(&n);
    ip_format(&last, text);
    assert_string_equal(text, "2001:db8:0:7:ffff:ffff:ffff:ffff");
    assert_true(ip_net_parse_host("::ffff:10.1.2.3/120", &host));
    ip_net_format(&host, text);
    assert_string_equal(text, "10.1.2.3/24");
    assert_false(ip_net_parse_host("10.1.2.3/99", &host));
}

static void ip_net_nth__walks__and_ends(void **state)
{
    (void)state;
    static const struct {
        const char *net;
        uint64_t i;
        const char *want;
    } rows[] = {
        {"10.0.0.0/24", 0, "10.0.0.0"},
        {"10.0.0.0/24", 255, "10.0.0.255"},
        {"10.0.0.0/24", 256, NULL},
        {"10.0.0.0/8", 65537, "10.1.0.1"},
        {"10.0.0.7/32", 0, "10.0.0.7"},
        {"10.0.0.7/32", 1, NULL},
        {"0.0.0.0/0", UINT32_MAX, "255.255.255.255"},
        {"0.0.0.0/0", (uint64_t)UINT32_MAX + 1, NULL},
        {"fd00::/64", UINT64_MAX, "fd00::ffff:ffff:ffff:ffff"},
        {"fd00::/65", UINT64_MAX, NULL},
        {"::/0", UINT64_MAX, "::ffff:ffff:ffff:ffff"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct ip_net n = net_of(rows[i].net);
        struct ip_addr ip;
        char text[IP_TEXT_MAX];
        bool ok = ip_net_nth(&n, rows[i].i, &ip);
        assert_int_equal(ok, rows[i].want != NULL);
        if (ok) {
            ip_format(&ip, text);
            assert_string_equal(text, rows[i].want);
        }
    }
}

UNIT_MAIN(ip)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ip__recorded_from_go__equal),
        cmocka_unit_test(ip_net_parse_sloppy__edges__as_upstream),
        cmocka_unit_test(ip_parse__strict_and_sloppy__differ_where_go_differs),
        cmocka_unit_test(ip_net__relations__by_bits),
        cmocka_unit_test(ip_net_nth__walks__and_ends),
    };
    return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
