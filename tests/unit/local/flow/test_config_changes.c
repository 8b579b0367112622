/* SPDX-License-Identifier: Apache-2.0 */
/* test_config_changes.c: each key of a configuration is another one at the next start: what the
 * kernel has follows, and nothing of the former configuration is left; or a sentence
 * says what is. */
#include "tests/unit/local/flow/flow_kit.h"

#include <string.h>

#include "providers/local/model/config_internal.h"
#include "tests/support/unit.h"

#define A "10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; "

/* The words of the Service d/a; the configuration before it is first served, and that of the second
 * start.  At the end the Service is deleted, and nothing of it may be left. */
static const struct row {
    const char *key, *service, *before, *after, *want;
} rows[] = {
    /* An allocator has no kernel: what this machine forwards stays until it starts again
     * (docs/providers/local.md). */
    {"role", "", "", "config role: allocator|releaseDelay: 0s", A "plan(0) " A},
    {"role", "st=10.0.0.0", "", "config role: director", A "plan(0) "},
    {"instance", "", "", "foreign lost; config instance: other",
     "log(table inet trimtab is left by instance \"trimtab\", which does not run: its rules refuse "
     "at its addresses what they do not know (nft delete table inet trimtab)) 10.0.0.0[d/a] held "
     "80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; plan(0) "},
    {"defaultClass", "", "", "config defaultClass: false", A "plan(0) "},
    {"pools", "", "", "pool [10.0.0.8/29]", A "plan(0) "},
    {"reservations", "", "", "config reservations: [{service: d/b, addresses: [10.0.0.0]}]",
     A "plan(0) "},
    {"ipMode", "", "", "config ipMode: VIP", A "plan(0) "},
    {"name", "", "", "pool [10.0.0.0/29], priority: 1", A "plan(0) "},
    {"exclude", "", "", "pool [10.0.0.0/29], exclude: [10.0.0.0]", A "plan(0) "},
    {"avoidBuggyIPs", "", "", "pool [10.0.0.0/29], avoidBuggyIPs: true", A "plan(0) "},
    {"autoAssign", "", "", "pool [10.0.0.0/29], autoAssign: false", A "plan(0) "},
    {"namespaces", "", "", "pool [10.0.0.0/29], namespaces: [x]", A "plan(0) "},
    {"serviceSelector", "", "", "pool [10.0.0.0/29], serviceSelector: {matchLabels: {a: b}}",
     A "plan(0) "},
    {"mode", "", "", "pool [10.0.0.0/29], mode: ipvs-fullnat",
     "10.0.0.0[d/a] held 80/tcp ipvs-rr n1:30080m1 n2:30080m1 <0.0.0.0/0 snat; plan(0) "},
    {"mode", "", "pool [10.0.0.0/29], mode: ipvs-dr", "pool [10.0.0.0/29], mode: ipvs-tunnel",
     "10.0.0.0[d/a] held 80/tcp ipvs-rr n1:81ipip1 n2:81ipip1 <0.0.0.0/0; plan(0) "},
    {"mode", "", "pool [10.0.0.0/29], mode: ipvs-dr", "pool [10.0.0.0/29], mode: nft",
     A "plan(0) "},
    {"scheduler", "", "", "pool [10.0.0.0/29], scheduler: sh",
     "10.0.0.0[d/a] held 80/tcp hash4 n2:30080*2 n1:30080*2 <0.0.0.0/0 snat; plan(0) "},
    {"scheduler", "", "pool [10.0.0.0/29], mode: ipvs-dr, scheduler: mh",
     "pool [10.0.0.0/29], mode: ipvs-dr, scheduler: wlc",
     "10.0.0.0[d/a] held 80/tcp ipvs-wlc n1:80g1 n2:80g1 <0.0.0.0/0; plan(0) "},
    {"snat", "", "", "pool [10.0.0.0/29], snat: never",
     "10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0; plan(0) "},
    {"announce.by", "", "", "pool [10.0.0.0/29], announce: {by: routes}",
     "10.0.0.0[d/a] held exported 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; plan(0) "},
    {"announce.by", "fam=46", "pool [10.0.0.0/29, \"fd00::/125\"], announce: {by: routes}",
     "pool [10.0.0.0/29, \"fd00::/125\"], announce: {by: arp}",
     A "fd00::[d/a] held on link 80/tcp rr4 n1:30080*2 n2:30080*2 <::/0 snat; plan(0) "},
    {"announce.by", "fam=46", "", "pool [10.0.0.0/29, \"fd00::/125\"], announce: {by: none}",
     A "fd00::[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <::/0 snat; plan(0) "},
    {"announce.interfaces", "fam=46", "",
     "pool [10.0.0.0/29, \"fd00::/125\"], announce: {interfaces: [x0]}",
     A "fd00::[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <::/0 snat; plan(0) "},
    {"announce.empty", "local", "", "pool [10.0.0.0/29], announce: {empty: true}", A "plan(0) "},
    {"drainTimeout", "", "", "pool [10.0.0.0/29], drainTimeout: 5s", A "plan(0) "},
    {"sorry", "local", "eps d/a", "eps d/a; pool [10.0.0.0/29], sorry: 10.9.9.9:81",
     "10.0.0.0[d/a] held 80/tcp rr4 10.9.9.9:81*4 <0.0.0.0/0 snat; plan(0) "},
    {"sorry", "local", "eps d/a; pool [10.0.0.0/29], sorry: 10.9.9.9:81",
     "eps d/a; pool [10.0.0.0/29]", "10.0.0.0[d/a] held; plan(0) "},
    {"director.mode", "", "", "config director: {mode: ipvs-dr}",
     "10.0.0.0[d/a] held 80/tcp ipvs-rr n1:80g1 n2:80g1 <0.0.0.0/0; plan(0) "},
    {"redundancy", "", "", "config director: {redundancy: ecmp}", A "plan(0) "},
    {"nodeSelector", "", "", "config director: {nodeSelector: {matchLabels: {a: b}}}",
     "10.0.0.0[d/a] held; plan(0) "},
    {"nodeAddressTypes", "", "", "config director: {nodeAddressTypes: [ExternalIP]}",
     "10.0.0.0[d/a] held; plan(0) "},
    {"directorIsGateway", "", "", "config director: {directorIsGateway: true}",
     "10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0; plan(0) "},
    {"closedPorts", "", "", "config director: {closedPorts: drop}", A "plan(0) "},
    {"routeTable", "", "pool [10.0.0.0/29], announce: {by: routes}",
     "config director: {routeTable: 117}",
     "10.0.0.0[d/a] held exported 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; plan(0) "},
    {"routeProtocol", "", "pool [10.0.0.0/29], announce: {by: routes}",
     "config director: {routeProtocol: 117}",
     "10.0.0.0[d/a] held exported 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; plan(0) "},
    {"tunnel", "", "pool [10.0.0.0/29], mode: ipvs-tunnel",
     "config director: {tunnel: {type: gue}}",
     "10.0.0.0[d/a] held 80/tcp ipvs-rr n1:80gue6080:1 n2:80gue6080:1 <0.0.0.0/0; plan(0) "},
    {"tunnel", "", "pool [10.0.0.0/29], mode: ipvs-tunnel; config director: {tunnel: {type: gue}}",
     "config director: {tunnel: {type: gue, port: 6081}}",
     "10.0.0.0[d/a] held 80/tcp ipvs-rr n1:80gue6081:1 n2:80gue6081:1 <0.0.0.0/0; plan(0) "},
    {"markBit", "", "", "config director: {markBit: 0x1000}", A "plan(0) "},
    {"setSysctls", "", "", "config director: {setSysctls: true}", A "plan(0) "},
    {"connSync", "", "", "config director: {connSync: {interface: eth0, syncid: 3}}", A "plan(0) "},
};

static bool one_row(const struct row *r)
{
    static struct flow_kit k;

    flow_kit_begin(&k);
    const char *got = flow_kit_run(
        &k,
        arena_printf(
            k.a, "%s; svc d/a %s; idle; %s; restart; idle; state; plan; delete d/a; idle; state",
            r->before, r->service, r->after));
    bool well = str_eq(got, r->want);
    if (!well) {
        print_error("%s %s\n  want %s\n  got  %s\n", r->key, r->after, r->want, got);
    }
    flow_kit_end(&k);
    return well;
}

static void config__another_at_the_next_start__is_carried_out(void **state)
{
    unsigned failed = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        failed += !one_row(&rows[i]);
    }
    assert_int_equal(failed, 0);
}

/* Of what they ask nothing is in the kernel. */
static const char *const elsewhere[] = {
    "addresses",    "announce",      "apiLoss",           "apiVersion",  "checks",       "director",
    "failOpen",     "leaseDuration", "namespaceSelector", "orphanGrace", "podsRoutable", "priority",
    "releaseDelay", "renew",         "reuseDelay",        "targets",     "zone",
};

static bool has_row(const char *key)
{
    bool found = false;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        found = found || str_eq(rows[i].key, key);
    }
    for (size_t i = 0; i < ARRAY_LEN(elsewhere); i++) {
        found = found || str_eq(elsewhere[i], key);
    }
    return found;
}

static void config__each_key__has_a_row(void **state)
{
    static const struct local_cfg_field *const tables[] = {
        local_cfg_top_fields, local_cfg_pool_fields, local_cfg_director_fields};
    unsigned missing = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        for (const struct local_cfg_field *f = tables[i]; f->key != NULL; f++) {
            if (!has_row(f->key)) {
                print_error("%s has no row\n", f->key);
                missing++;
            }
        }
    }
    assert_int_equal(missing, 0);
}

UNIT_MAIN(config_changes)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(config__each_key__has_a_row),
        cmocka_unit_test(config__another_at_the_next_start__is_carried_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
