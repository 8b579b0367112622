/* SPDX-License-Identifier: Apache-2.0 */
/* test_exchange_rules.c: which two Services exchange ports or addresses (gce_exchange_rules.h). */
#include "common/base/str.h"
#include "providers/gce/model/gce_exchange_rules.h"
#include "tests/support/objects.h"
#include "tests/support/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ONE   "203.0.113.1"
#define OTHER "203.0.113.2"

/* A Service that asks for `ip` and `ports`, and has one rule at `rule_ip` with `rule_ports` ("80-80"). */
struct side {
    const char *ip, *ports, *rule_ip, *rule_protocol, *rule_ports;
};

static void fill(struct arena *a, const struct side *s, bool range, struct gce_party *ret)
{
    const struct tt_service *svc = test_service_text(
        a,
        arena_printf(a,
                     "{\"metadata\":{\"namespace\":\"demo\",\"name\":\"web\"},\"spec\":{\"type\":"
                     "\"LoadBalancer\",\"ports\":[%s]}}",
                     s->ports));
    struct gce_rule *r = ARENA_NEW(a, struct gce_rule);
    const struct gce_rule **has = ARENA_ARRAY(a, const struct gce_rule *, 1);
    *r = (struct gce_rule){
        .ip = s->rule_ip, .protocol = s->rule_protocol, .port_range = s->rule_ports};
    has[0] = r;
    gce_party_init(a, svc, s->ip, range, ret);
    ret->has = has;
    ret->n_has = *s->rule_ip == '\0' ? 0 : 1;
}

#define P80   "{\"port\":80}"
#define P443  "{\"port\":443}"
#define P8080 "{\"name\":\"x\",\"port\":8080}"
#define U80   "{\"port\":80,\"protocol\":\"UDP\"}"

static void parties__what_each_asks_and_has__decides(void **state)
{
    static const struct {
        const char *what;
        struct side one, other;
        bool range, exchange;
    } rows[] = {
        {"ports", {ONE, P443, ONE, "TCP", "80-80"}, {ONE, P80, ONE, "TCP", "443-443"}, true, true},
        {"addresses",
         {OTHER, P80, ONE, "TCP", "80-80"},
         {ONE, P80, OTHER, "TCP", "80-80"},
         false,
         true},
        {"one waits for the other alone",
         {ONE, P443, ONE, "TCP", "80-80"},
         {ONE, P8080, ONE, "TCP", "443-443"},
         false,
         false},
        {"both ask for the same port",
         {ONE, P443, ONE, "TCP", "80-80"},
         {ONE, P80 ",{\"name\":\"y\",\"port\":443}", ONE, "TCP", "443-443"},
         false,
         false},
        {"a range covers what no port asks for",
         {ONE, P443, ONE, "TCP", "80-80"},
         {ONE, P80 "," P8080, ONE, "TCP", "443-443"},
         true,
         false},
        {"its rule has gone",
         {ONE, P443, "", "", ""},
         {ONE, P80, ONE, "TCP", "443-443"},
         false,
         false},
        {"another protocol",
         {ONE, P443, ONE, "TCP", "80-80"},
         {ONE, U80, ONE, "TCP", "443-443"},
         false,
         false},
        {"no address is asked for",
         {"", P443, ONE, "TCP", "80-80"},
         {ONE, P80, ONE, "TCP", "443-443"},
         false,
         false},
    };
    struct arena *a = arena_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_party one;
        struct gce_party other;
        fill(a, &rows[i].one, rows[i].range, &one);
        fill(a, &rows[i].other, rows[i].range, &other);
        bool got = gce_parties_exchange(&one, &other);
        if (got != rows[i].exchange || gce_parties_exchange(&other, &one) != got) {
            fail_msg("%s: %d, want %d", rows[i].what, got, rows[i].exchange);
        }
    }
    arena_free(a);
}

static void asks_for__many_ports__as_all(void **state)
{
    struct arena *a = arena_new();
    (void)state;
    struct gce_party p;
    const struct side side = {
        ONE,
        "{\"name\":\"a\",\"port\":1},{\"name\":\"b\",\"port\":2},{\"name\":\"c\",\"port\":3},"
        "{\"name\":\"d\",\"port\":4},{\"name\":\"e\",\"port\":5},{\"name\":\"f\",\"port\":6}",
        ONE, "TCP", "80-80"};
    fill(a, &side, false, &p);
    assert_true(gce_party_asks_for(&p, p.has[0]));
    fill(a, &side, true, &p);
    assert_false(gce_party_asks_for(&p, p.has[0]));
    arena_free(a);
}

UNIT_MAIN(exchange_rules)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parties__what_each_asks_and_has__decides),
        cmocka_unit_test(asks_for__many_ports__as_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
