/* SPDX-License-Identifier: Apache-2.0 */
/* test_config_random.c: a thousand damaged configurations: each is read, or refused with
 * findings that have a text and a line. */
#include "tests/unit/local/model/model_test.h"

#include "common/base/clock.h"

static const char whole[] = V
    "role: all\ninstance: edge\npools:\n"
    "- name: public\n  addresses: [203.0.113.0/27, 203.0.113.64-203.0.113.79, 2001:db8:1::/120]\n"
    "  exclude: [203.0.113.1]\n  announce: {by: arp, interfaces: [eth0], refresh: 60s}\n"
    "  namespaceSelector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: In, values: "
    "[d]}]}\n"
    "- name: dsr\n  addresses: [198.51.100.0/24]\n  mode: ipvs-dr\n  scheduler: mh\n"
    "  checks: {interval: 2s, timeout: 1s, fall: 3, cluster: kube-proxy}\n  drainTimeout: 60s\n"
    "  sorry: 10.9.9.9:80\n  priority: 3\n"
    "reservations:\n- {service: demo/web, addresses: [198.51.100.9]}\n"
    "director:\n  redundancy: lease\n  leaseDuration: 10s\n  renew: 3s\n  markBit: 0x2000\n"
    "  routeProtocol: 116\n  tunnel: {type: gue, port: 6080}\n  nodeAddressTypes: [InternalIP]\n"
    "  connSync: {interface: eth1, syncid: 3}\n";

/* Takes a piece out, doubles one, or puts a token somewhere. */
static const char *damaged(struct arena *a, struct rng *r, const char *text)
{
    static const char *const tokens[] = {"[",
                                         "]",
                                         "{",
                                         "}",
                                         ": ",
                                         "- ",
                                         "\n",
                                         "~",
                                         "0",
                                         "-1",
                                         "null",
                                         "yes",
                                         "'",
                                         "\"",
                                         "&",
                                         "*x ",
                                         "10.0.0.0/8",
                                         "::/0",
                                         "1e9",
                                         "0x10",
                                         "\t",
                                         "#",
                                         "999999999999999999999"};
    size_t n = strlen(text);
    size_t at = (size_t)rng_below(r, n);
    size_t len = (size_t)rng_below(r, 12);
    len = at + len > n ? n - at : len;
    switch (rng_below(r, 3)) {
    case 0:
        return arena_printf(a, "%.*s%s", (int)at, text, text + at + len);
    case 1:
        return arena_printf(a, "%.*s%s", (int)(at + len), text, text + at);
    default:
        return arena_printf(a, "%.*s%s%s", (int)at, text, tokens[rng_below(r, ARRAY_LEN(tokens))],
                            text + at);
    }
}

static void local_config_read__damaged_text__read_or_refused(void **state)
{
    struct rng *r = rng_seeded_new(1);
    size_t refused = 0;
    for (int i = 0; i < 1000; i++) {
        struct arena *a = arena_new();
        const struct local_config *c = NULL;
        const char *text = whole;
        for (uint64_t k = 0; k <= rng_below(r, 3); k++) {
            text = damaged(a, r, text);
        }
        const char *findings = findings_text(a, text, NULL, &c);
        refused += c == NULL;
        assert_null(strstr(findings, " 0: "));
        assert_null(strstr(findings, ": \n"));
        for (size_t p = 0; c != NULL && p < c->n_pools; p++) {
            assert_non_null(c->pools[p].name);
            assert_true(c->pools[p].n_ranges > 0 && c->pools[p].line > 0);
        }
        arena_free(a);
    }
    rng_free(r);
    assert_in_range(refused, 300, 990);
    (void)state;
}

static void local_config_read__thousand_pools__one_pass(void **state)
{
    struct str_buf b = STR_BUF_INIT;
    str_append(&b, V "pools:\n");
    for (int i = 0; i < 1000; i++) {
        str_appendf(&b, "- name: p%d\n  addresses: [10.%d.%d.0/24]\n", i, i / 250, i % 250);
    }
    const struct local_config *c = config_of(*state, str_buf_text(&b));
    assert_int_equal(c->n_pools, 1000);
    assert_int_equal(c->pools[999].line, 3 + 999 * 2);
    str_append(&b, "- {name: q, addresses: [192.0.2.1]}\n");
    assert_string_equal(findings_text(*state, str_buf_text(&b), NULL, NULL),
                        "error 2: 1001 pools; at most 1000\n");
    str_buf_done(&b);
}

UNIT_MAIN(config_random)
{
    const struct CMUnitTest tests[] = {
        model_test(local_config_read__damaged_text__read_or_refused),
        model_test(local_config_read__thousand_pools__one_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
