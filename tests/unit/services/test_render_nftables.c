/* SPDX-License-Identifier: Apache-2.0 */
/* test_render_nftables.c: nftables mode, line by line; the Service is render_kit.h's. */
#include "common/services/node/names.h"
#include "tests/support/unit.h"
#include "tests/unit/services/render_kit.h"

#include <string.h>

/* Names of the Service are written $S, $L, $X, $F; of its endpoints $1, $2, of their
 * sets %1, %2. */
static const char *expand(struct arena *a, const char *text, bool six)
{
    struct ks_nftables_names n = ks_nftables_names(a, "default", "my-service", "", "tcp");
    const char *ips[] = {six ? "[fd00:244:1::a]:80" : "10.244.1.10:80",
                         six ? "[fd00:244:2::a]:80" : "10.244.2.10:80"};
    text = str_replace(a, text, "$S", n.service);
    text = str_replace(a, text, "$L", n.local);
    text = str_replace(a, text, "$X", n.external);
    text = str_replace(a, text, "$F", n.firewall);
    for (size_t i = 0; i < 2; i++) {
        const char *chain = ks_nftables_endpoint(a, "default", "my-service", "", "tcp", ips[i]);
        const char *set = ks_nftables_affinity(a, "default", "my-service", "", "tcp", ips[i]);
        text = str_replace(a, text, i == 0 ? "$1" : "$2", chain);
        text = str_replace(a, text, i == 0 ? "%1" : "%2", set);
    }
    return text;
}

/* The lines that begin with `prefix`, without it, joined. */
static const char *lines_of(struct arena *a, const struct ks_lines *l, const char *prefix)
{
    const char **found = ARENA_ARRAY(a, const char *, l->n);
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        if (str_has_prefix(l->items[i], prefix)) {
            found[n++] = l->items[i] + strlen(prefix);
        }
    }
    return str_join(a, found, n, "\n");
}

struct row {
    unsigned flags;
    const char *object; /* "rule ip kube-proxy services " */
    const char *lines;
};

static void check(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        bool six = (rows[i].flags & KIT_SIX) != 0;
        struct ks_lines l = ks_render_nftables(a, kit_world(a, rows[i].flags));
        const char *prefix = expand(a, arena_printf(a, "add %s ", rows[i].object), six);
        const char *want = expand(a, rows[i].lines, six);
        const char *have = lines_of(a, &l, prefix);
        if (!str_eq(have, want)) {
            fail_msg("row %zu, %s:\nwant\n%s\nhave\n%s", i, prefix, want, have);
        }
    }
}

#define RULE "rule ip kube-proxy "
#define ELEM "element ip kube-proxy "
#define MARK "mark set mark or 0x00004000"

static void nftables__maps__have_their_elements(void **state)
{
    static const struct row rows[] = {
        {0, ELEM "cluster-ips", "{ 10.11.97.177 }"},
        {KIT_NO_ENDPOINTS, ELEM "cluster-ips", "{ 10.11.97.177 }"},
        {0, ELEM "service-ips",
         "{ 10.11.97.177 . tcp . 80 : goto $S }\n{ 198.51.100.1 . tcp . 80 : goto $X }\n"
         "{ 203.0.113.1 . tcp . 80 : goto $X }"},
        /* the firewall is elsewhere: addresses with ranges go to the external chain as well */
        {KIT_RANGES | KIT_ITP_LOCAL, ELEM "service-ips",
         "{ 10.11.97.177 . tcp . 80 : goto $L }\n{ 198.51.100.1 . tcp . 80 : goto $X }\n"
         "{ 203.0.113.1 . tcp . 80 : goto $X }"},
        {KIT_NO_ENDPOINTS, ELEM "service-ips", ""},
        {0, ELEM "service-nodeports", "{ tcp . 30080 : goto $X }"},
        {KIT_NO_ENDPOINTS, ELEM "service-nodeports", ""},
        {0, ELEM "no-endpoint-services", ""},
        {KIT_NO_ENDPOINTS, ELEM "no-endpoint-services",
         "{ 10.11.97.177 . tcp . 80 comment \"default/my-service\" : goto reject-chain }\n"
         "{ 198.51.100.1 . tcp . 80 comment \"default/my-service\" : goto reject-chain }\n"
         "{ 203.0.113.1 . tcp . 80 comment \"default/my-service\" : goto reject-chain }"},
        {KIT_ETP_LOCAL | KIT_NO_LOCAL, ELEM "no-endpoint-services",
         "{ 198.51.100.1 . tcp . 80 comment \"default/my-service\" : drop }\n"
         "{ 203.0.113.1 . tcp . 80 comment \"default/my-service\" : drop }"},
        {KIT_ITP_LOCAL | KIT_NO_LOCAL, ELEM "no-endpoint-services",
         "{ 10.11.97.177 . tcp . 80 comment \"default/my-service\" : drop }"},
        {KIT_NO_ENDPOINTS, ELEM "no-endpoint-nodeports",
         "{ tcp . 30080 comment \"default/my-service\" : goto reject-chain }"},
        {KIT_ETP_LOCAL | KIT_NO_LOCAL, ELEM "no-endpoint-nodeports",
         "{ tcp . 30080 comment \"default/my-service\" : drop }"},
        {0, ELEM "firewall-ips", ""},
        {KIT_RANGES, ELEM "firewall-ips", "{ 203.0.113.1 . tcp . 80 : goto $F }"},
        {KIT_RANGES | KIT_NO_ENDPOINTS, ELEM "firewall-ips",
         "{ 203.0.113.1 . tcp . 80 : goto $F }"},
        {0, ELEM "nodeport-ips", ""},
        {KIT_SOME_ADDRESSES, ELEM "nodeport-ips", "{ 192.168.0.1 }"},
        {0, "set ip kube-proxy nodeport-ips", ""},
        {KIT_OTHER_ADDRESSES, "set ip kube-proxy nodeport-ips",
         "{ type ipv4_addr ; comment \"IPs that accept NodePort traffic\" ; }"},
        {0, ELEM "hairpin-connections", "{ 10.244.1.10 . 10.244.1.10 . tcp . 80 }"},
        {KIT_NO_LOCAL, ELEM "hairpin-connections", ""},
        {KIT_AFFINITY, "set ip kube-proxy %1",
         "{ type ipv4_addr ; flags dynamic,timeout ; timeout 10800s ; }"},
        {KIT_SIX, "element ip6 kube-proxy hairpin-connections",
         "{ fd00:244:1::a . fd00:244:1::a . tcp . 80 }"},
    };
    (void)state;
    check(rows, ARRAY_LEN(rows));
}

static void nftables__fixed_chains__follow_the_configuration(void **state)
{
    static const struct row rows[] = {
        {0, RULE "masquerading",
         "mark and 0x00004000 != 0 mark set mark xor 0x00004000 masquerade fully-random\n"
         "ct status dnat ip saddr . ip daddr . meta l4proto . th dport @hairpin-connections "
         "masquerade fully-random"},
        {0, RULE "cluster-ips-check",
         "ip daddr @cluster-ips reject comment \"Reject traffic to invalid ports of ClusterIPs\""},
        {KIT_SERVICE_CIDR, RULE "cluster-ips-check",
         "ip daddr @cluster-ips reject comment \"Reject traffic to invalid ports of ClusterIPs\"\n"
         "ip daddr { 10.11.0.0/16 } drop comment \"Drop traffic to unallocated ClusterIPs\""},
        {0, RULE "services",
         "ip daddr @cluster-ips ip saddr != 10.244.1.0/24 " MARK
         " comment \"masquerade clusterIP traffic from outside cluster\"\n"
         "ip daddr . meta l4proto . th dport vmap @service-ips\n"
         "fib daddr type local ip daddr != 127.0.0.0/8 meta l4proto . th dport vmap "
         "@service-nodeports"},
        {KIT_MASQUERADE_ALL | KIT_SOME_ADDRESSES, RULE "services",
         "ip daddr @cluster-ips " MARK " comment \"masquerade all clusterIP traffic\"\n"
         "ip daddr . meta l4proto . th dport vmap @service-ips\n"
         "ip daddr @nodeport-ips meta l4proto . th dport vmap @service-nodeports"},
        {KIT_NO_DETECTOR | KIT_SIX, "rule ip6 kube-proxy services",
         "ip6 daddr . meta l4proto . th dport vmap @service-ips\n"
         "fib daddr type local ip6 daddr != ::1 meta l4proto . th dport vmap @service-nodeports"},
        {KIT_BRIDGE | KIT_SIX, "rule ip6 kube-proxy services",
         "ip6 daddr @cluster-ips iifname != cni0 " MARK
         " comment \"masquerade clusterIP traffic from outside cluster\"\n"
         "ip6 daddr . meta l4proto . th dport vmap @service-ips\n"
         "fib daddr type local ip6 daddr != ::1 meta l4proto . th dport vmap @service-nodeports"},
        {0, RULE "nodeport-endpoints-check",
         "ip daddr != 127.0.0.0/8 meta l4proto . th dport vmap @no-endpoint-nodeports"},
        {KIT_SOME_ADDRESSES, RULE "nodeport-endpoints-check",
         "ip daddr @nodeport-ips meta l4proto . th dport vmap @no-endpoint-nodeports"},
        {0, RULE "service-endpoints-check",
         "ip daddr . meta l4proto . th dport vmap @no-endpoint-services"},
        {0, RULE "firewall-check", "ip daddr . meta l4proto . th dport vmap @firewall-ips"},
        {0, RULE "filter-input",
         "ct state new jump nodeport-endpoints-check\n"
         "ct state new jump service-endpoints-check"},
        {0, RULE "filter-forward",
         "ct state new jump service-endpoints-check\nct state new jump cluster-ips-check"},
        {0, RULE "filter-output",
         "ct state new jump service-endpoints-check\nct state new jump cluster-ips-check"},
        {0, RULE "filter-prerouting-pre-dnat", "ct state new jump firewall-check"},
        {0, RULE "filter-output-pre-dnat", "ct state new jump firewall-check"},
        {0, RULE "nat-output", "jump services"},
        {0, RULE "nat-prerouting", "jump services"},
        {0, RULE "nat-postrouting", "jump masquerading"},
        {0, RULE "reject-chain", "reject"},
    };
    (void)state;
    check(rows, ARRAY_LEN(rows));
}

static void nftables__chains_of_a_service__are_in_order(void **state)
{
    static const struct row rows[] = {
        {0, RULE "$X", MARK " comment \"masquerade\"\ngoto $S"},
        {KIT_ETP_LOCAL, RULE "$X",
         "ip saddr 10.244.1.0/24 goto $S comment \"short-circuit pod traffic\"\n"
         "fib saddr type local " MARK " comment \"masquerade local traffic\"\n"
         "fib saddr type local goto $S comment \"short-circuit local traffic\"\ngoto $L"},
        {KIT_ETP_LOCAL | KIT_NO_LOCAL | KIT_PREFIX, RULE "$X",
         "iifname cali* goto $S comment \"short-circuit pod traffic\"\n"
         "fib saddr type local " MARK " comment \"masquerade local traffic\"\n"
         "fib saddr type local goto $S comment \"short-circuit local traffic\""},
        {KIT_NO_ENDPOINTS, RULE "$X", ""},
        {KIT_RANGES, RULE "$F", "ip saddr != { 192.0.2.0/24 } drop"},
        {KIT_RANGES | KIT_NODE_RANGE | KIT_NO_ENDPOINTS, RULE "$F",
         "ip saddr != { 192.0.2.0/24 , 192.168.0.0/16 , 203.0.113.1 } drop"},
        {0, RULE "$S",
         "meta l4proto tcp dnat ip addr . port to numgen random mod 2 map "
         "{ 0 : 10.244.1.10 . 80 , 1 : 10.244.2.10 . 80 }"},
        {KIT_SIX, "rule ip6 kube-proxy $S",
         "meta l4proto tcp dnat ip6 addr . port to numgen random mod 2 map "
         "{ 0 : fd00:244:1::a . 80 , 1 : fd00:244:2::a . 80 }"},
        {KIT_ETP_LOCAL, RULE "$L",
         "meta l4proto tcp dnat ip addr . port to numgen random mod 1 map "
         "{ 0 : 10.244.1.10 . 80 }"},
        {KIT_AFFINITY, RULE "$S",
         "ip saddr @%1 goto $1\nip saddr @%2 goto $2\n"
         "numgen random mod 2 vmap { 0 : goto $1 , 1 : goto $2 }"},
        {KIT_AFFINITY, RULE "$1",
         "update @%1 { ip saddr }\nmeta l4proto tcp dnat to 10.244.1.10:80"},
        {KIT_AFFINITY | KIT_SIX, "rule ip6 kube-proxy $2",
         "update @%2 { ip6 saddr }\nmeta l4proto tcp dnat to [fd00:244:2::a]:80"},
        {0, RULE "$1", ""},
    };
    (void)state;
    check(rows, ARRAY_LEN(rows));
}

static void nftables__lines__are_in_the_order_of_the_interface(void **state)
{
    static const char *const kinds[] = {"add table ", "add chain ", "add set ",
                                        "add map ",   "add rule ",  "add element "};
    struct ks_lines l = ks_render_nftables(*state, kit_world(*state, KIT_AFFINITY | KIT_RANGES));
    size_t kind = 0;
    for (size_t i = 0; i < l.n; i++) {
        while (kind < ARRAY_LEN(kinds) && !str_has_prefix(l.items[i], kinds[kind])) {
            kind++;
        }
        assert_in_range(kind, 0, ARRAY_LEN(kinds) - 1);
        bool sorted = kind >= 1 && kind <= 3;
        if (sorted && i > 0 && str_has_prefix(l.items[i - 1], kinds[kind])) {
            assert_true(strcmp(l.items[i - 1], l.items[i]) < 0);
        }
    }
    assert_int_equal(kind, ARRAY_LEN(kinds) - 1);
}

UNIT_MAIN(render_nftables)
{
    const struct CMUnitTest tests[] = {
        kit_test(nftables__maps__have_their_elements),
        kit_test(nftables__fixed_chains__follow_the_configuration),
        kit_test(nftables__chains_of_a_service__are_in_order),
        kit_test(nftables__lines__are_in_the_order_of_the_interface),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
