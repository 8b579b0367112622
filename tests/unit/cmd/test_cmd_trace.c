/* SPDX-License-Identifier: Apache-2.0 */
/* test_cmd_trace.c: destinations, protocols and the questions about a whole Service. */
#include "controller/cmd/cmd_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/unit.h"

static void trace_to__every_form__address_host_or_refusal(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *address; /* or host name; NULL: refused */
        int32_t port;
        bool host;
    } rows[] = {
        {"10.0.0.1:80", "10.0.0.1", 80, false},
        {"[fd00::1]:443", "fd00::1", 443, false},
        {"a-1.elb.example.com:65535", "a-1.elb.example.com", 65535, true},
        {"localhost:1", "localhost", 1, true},
        {"10.0.0.1", NULL, 0, false},
        {"fd00::1", NULL, 0, false},
        {"fd00::1:80", NULL, 0, false}, /* an address, not an address and a port */
        {"[fd00::1]", NULL, 0, false},
        {"[fd00::1:80]", NULL, 0, false},
        {"[10.0.0.1]:80", NULL, 0, false},
        {"fd00:0:0:0:0:0:0:0:1:80", NULL, 0, false},
        {"10.0.0.1:0", NULL, 0, false},
        {"10.0.0.1:65536", NULL, 0, false},
        {"10.0.0.1:http", NULL, 0, false},
        {"10.0.0.1:+80", NULL, 0, false},
        {":80", NULL, 0, false},
        {"a/b:80", NULL, 0, false},
        {"", NULL, 0, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        struct cmd_target t = {.port = -1};
        struct err err = ERR_INIT;
        char ip[IP_TEXT_MAX] = "";
        int code = cmd_trace_parse_to(a, rows[i].text, &t, &err);
        bool refused = rows[i].address == NULL;
        if (code != (refused ? ERR_INVALID : ERR_OK)) {
            fail_msg("\"%s\": %d %s", rows[i].text, code, err.message);
        }
        if (refused) {
            assert_int_equal(t.port, -1);
            continue;
        }
        if (!rows[i].host) {
            ip_format(&t.ip, ip);
        }
        assert_string_equal(rows[i].host ? t.host : ip, rows[i].address);
        assert_int_equal(t.port, rows[i].port);
    }
}

static void trace_protocol__any_case__or_refused(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{NULL, "TCP"},    {"tcp", "TCP"}, {"Udp", "UDP"},
                                          {"SCTP", "SCTP"}, {"icmp", NULL}, {"tcp6", NULL}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        struct err err = ERR_INIT;
        const char *got = NULL;
        int code = cmd_trace_parse_protocol(a, rows[i][0], &got, &err);
        assert_true(str_eq(got, rows[i][1]));
        assert_int_equal(code, got == NULL ? ERR_INVALID : ERR_OK);
    }
}

/* "load-balancer 203.0.113.1:80/TCP" */
static const char *question_text(struct arena *a, const struct ks_question *q)
{
    char ip[IP_TEXT_MAX] = "";
    if (q->dest.len != 0) {
        ip_format(&q->dest, ip);
    }
    return arena_printf(a, "%s:%d/%s%s",
                        q->each_node      ? "NODE"
                        : q->host != NULL ? q->host
                                          : ip,
                        (int)q->port, q->protocol, q->from_node ? " node" : "");
}

static void trace_questions__of_a_service__every_address_and_port(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    static const struct ks_service_port ports[] = {
        {.name = "http", .protocol = "TCP", .port = 80, .node_port = 30080},
        {.name = "dns", .protocol = "UDP", .port = 53}};
    static const struct ks_ingress ingress[] = {{"203.0.113.1", "", ""},
                                                {"", "lb.example.com", "Proxy"}};
    static const char *external[] = {"198.51.100.1", "not an address"};
    static const char *cluster[] = {"10.96.0.1", "fd00::1"};
    const struct ks_service s = {.meta = {.ns = "demo", .name = "web"},
                                 .cluster_ip = "10.96.0.1",
                                 .cluster_ips = cluster,
                                 .n_cluster_ips = 2,
                                 .ports = ports,
                                 .n_ports = 2,
                                 .ingress = ingress,
                                 .n_ingress = 2,
                                 .external_ips = external,
                                 .n_external_ips = 2};
    static const char *const want[] = {
        "203.0.113.1:80/TCP",    "203.0.113.1:53/UDP",    "lb.example.com:80/TCP",
        "lb.example.com:53/UDP", "198.51.100.1:80/TCP",   "198.51.100.1:53/UDP",
        "NODE:30080/TCP",        "10.96.0.1:80/TCP node", "10.96.0.1:53/UDP node",
        "fd00::1:80/TCP node",   "fd00::1:53/UDP node"};
    struct ks_question base = {.from = "", .protocol = "TCP"};
    size_t n = 0;
    const struct ks_question *all = cmd_trace_questions(a, &s, &base, &n);
    assert_int_equal(n, ARRAY_LEN(want));
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(question_text(a, &all[i]), want[i]);
    }
    base.from = "8.8.8.8"; /* a client of one family is not asked about the other's addresses */
    assert_true(ip_parse(base.from, &base.source));
    (void)cmd_trace_questions(a, &s, &base, &n);
    assert_int_equal(n, ARRAY_LEN(want) - 2);
}

UNIT_MAIN(cmd_trace)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trace_to__every_form__address_host_or_refusal),
        cmocka_unit_test(trace_protocol__any_case__or_refused),
        cmocka_unit_test(trace_questions__of_a_service__every_address_and_port),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
