/* SPDX-License-Identifier: Apache-2.0 */
/* test_render_iptables.c: iptables mode, rule by rule; the Service is render_kit.h's. */
#include "tests/support/unit.h"
#include "tests/unit/services/render_kit.h"

#include <string.h>

struct row {
    unsigned flags;
    const char *table;
    const char *chain;
    const char *rule;
    bool absent;
};

static void check(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        struct ks_tables t = ks_render_iptables(a, kit_world(a, rows[i].flags));
        kit_expect(&t, rows[i].table, rows[i].chain, rows[i].rule, !rows[i].absent);
    }
}

/* --- the well-known Service, literally as iptables-save prints it ----------------------------- */

static void saved__my_service__is_as_iptables_save_prints_it(void **state)
{
    static const char *const lines[] = {
        "-A KUBE-SERVICES -d 10.11.97.177/32 -p tcp -m comment --comment \"default/my-service "
        "cluster IP\" -m tcp --dport 80 -j KUBE-SVC-FXIYY6OHUSNBITIX\n",
        "-A KUBE-SVC-FXIYY6OHUSNBITIX -m comment --comment \"default/my-service -> "
        "10.244.1.10:80\" -m statistic --mode random --probability 0.50000000000 -j "
        "KUBE-SEP-BUXFFZOVWA2SBUMG\n"
        "-A KUBE-SVC-FXIYY6OHUSNBITIX -m comment --comment \"default/my-service -> "
        "10.244.2.10:80\" -j KUBE-SEP-SF74NXUASCKCUL32\n",
        "-A KUBE-SEP-BUXFFZOVWA2SBUMG -s 10.244.1.10/32 -m comment --comment "
        "\"default/my-service\" -j KUBE-MARK-MASQ\n"
        "-A KUBE-SEP-BUXFFZOVWA2SBUMG -p tcp -m comment --comment \"default/my-service\" -m tcp -j "
        "DNAT --to-destination 10.244.1.10:80\n",
    };
    _cleanup_(str_buf_done) struct str_buf text = STR_BUF_INIT;
    struct ks_tables t =
        ks_render_iptables(*state, kit_world(*state, KIT_CLUSTER_IP_ONLY | KIT_NO_DETECTOR));
    t = ks_iptables_saved(*state, &t, KS_IPV4);
    ks_iptables_saved_text(&text, &t);
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        if (strstr(str_buf_text(&text), lines[i]) == NULL) {
            fail_msg("want %shave %s", lines[i], str_buf_text(&text));
        }
    }
}

/* --- destinations ----------------------------------------------------------------------------- */

static void iptables__destinations__have_their_rules(void **state)
{
    static const char *const nat = "nat";
    static const char *const filter = "filter";
    const struct row rows[] = {
        /* the cluster IP */
        {0, nat, "KUBE-SERVICES",
         "{default/my-service cluster IP} $T -d 10.11.97.177 --dport 80 -j $S"},
        {KIT_ITP_LOCAL, nat, "KUBE-SERVICES",
         "{default/my-service cluster IP} $T -d 10.11.97.177 --dport 80 -j $L"},
        {KIT_NO_ENDPOINTS, filter, "KUBE-SERVICES",
         "{default/my-service has no endpoints} $T -d 10.11.97.177 --dport 80 -j REJECT"},
        {KIT_NOT_READY, filter, "KUBE-SERVICES",
         "{default/my-service has no endpoints} $T -d 10.11.97.177 --dport 80 -j REJECT"},
        {KIT_ITP_LOCAL | KIT_NO_LOCAL, filter, "KUBE-SERVICES",
         "{default/my-service has no local endpoints} $T -d 10.11.97.177 --dport 80 -j DROP"},
        /* the external IP */
        {0, nat, "KUBE-SERVICES",
         "{default/my-service external IP} $T -d 198.51.100.1 --dport 80 -j $X"},
        {KIT_NO_ENDPOINTS, filter, "KUBE-EXTERNAL-SERVICES",
         "{default/my-service has no endpoints} $T -d 198.51.100.1 --dport 80 -j REJECT"},
        {KIT_ETP_LOCAL | KIT_NO_LOCAL, filter, "KUBE-EXTERNAL-SERVICES",
         "{default/my-service has no local endpoints} $T -d 198.51.100.1 --dport 80 -j DROP"},
        /* upstream keeps the rule in nat beside it: local sources find the endpoints elsewhere */
        {KIT_ETP_LOCAL | KIT_NO_LOCAL, nat, "KUBE-SERVICES",
         "{default/my-service external IP} $T -d 198.51.100.1 --dport 80 -j $X"},
        /* the load balancer's address */
        {0, nat, "KUBE-SERVICES",
         "{default/my-service loadbalancer IP} $T -d 203.0.113.1 --dport 80 -j $X"},
        {KIT_RANGES, nat, "KUBE-SERVICES",
         "{default/my-service loadbalancer IP} $T -d 203.0.113.1 --dport 80 -j $F"},
        {KIT_RANGES, filter, "KUBE-PROXY-FIREWALL",
         "{default/my-service traffic not accepted by $F} $T -d 203.0.113.1 --dport 80 -j DROP"},
        {KIT_RANGES | KIT_NO_ENDPOINTS, filter, "KUBE-PROXY-FIREWALL",
         "{default/my-service traffic not accepted by $F} $T -d 203.0.113.1 --dport 80 -j DROP",
         true},
        {KIT_NO_ENDPOINTS, filter, "KUBE-EXTERNAL-SERVICES",
         "{default/my-service has no endpoints} $T -d 203.0.113.1 --dport 80 -j REJECT"},
        {KIT_ETP_LOCAL | KIT_NO_LOCAL, filter, "KUBE-EXTERNAL-SERVICES",
         "{default/my-service has no local endpoints} $T -d 203.0.113.1 --dport 80 -j DROP"},
        /* the node port */
        {0, nat, "KUBE-NODEPORTS",
         "-m comment --comment default/my-service $T --dport 30080 -j $X"},
        {KIT_NFACCT, nat, "KUBE-NODEPORTS",
         "-m comment --comment default/my-service $T -d 127.0.0.0/8 --dport 30080 -m nfacct "
         "--nfacct-name localhost_nps_accepted_pkts -j $X"},
        {KIT_NFACCT | KIT_NO_LOCALHOST, nat, "KUBE-NODEPORTS",
         "-m comment --comment default/my-service $T -d 127.0.0.0/8 --dport 30080 -m nfacct "
         "--nfacct-name localhost_nps_accepted_pkts -j $X",
         true},
        {KIT_NO_ENDPOINTS, filter, "KUBE-EXTERNAL-SERVICES",
         "{default/my-service has no endpoints} -m addrtype --dst-type LOCAL $T --dport 30080 -j "
         "REJECT"},
        {KIT_ETP_LOCAL | KIT_NO_LOCAL, filter, "KUBE-EXTERNAL-SERVICES",
         "{default/my-service has no local endpoints} -m addrtype --dst-type LOCAL $T --dport "
         "30080 -j DROP"},
        /* the health check */
        {KIT_ETP_LOCAL, filter, "KUBE-NODEPORTS",
         "{default/my-service health check node port} $T --dport 32000 -j ACCEPT"},
        {KIT_ETP_LOCAL | KIT_UDP, filter, "KUBE-NODEPORTS",
         "{default/my-service health check node port} $T --dport 32000 -j ACCEPT"},
    };
    (void)state;
    check(rows, ARRAY_LEN(rows));
}

/* --- chains of the Service -------------------------------------------------------------------- */

static const struct {
    unsigned flags;
    const char *chain;
    const char *rules; /* NULL: the chain does not exist */
} chains[] = {
    {KIT_ETP_LOCAL, "$X",
     "{pod traffic for default/my-service external destinations} -s 10.244.1.0/24 -j $S\n"
     "{masquerade LOCAL traffic for default/my-service external destinations} -m addrtype "
     "--src-type LOCAL -j KUBE-MARK-MASQ\n"
     "{route LOCAL traffic for default/my-service external destinations} -m addrtype "
     "--src-type LOCAL -j $S\n"
     "-j $L"},
    {KIT_ETP_LOCAL | KIT_NO_DETECTOR | KIT_NO_LOCAL, "$X",
     "{masquerade LOCAL traffic for default/my-service external destinations} -m addrtype "
     "--src-type LOCAL -j KUBE-MARK-MASQ\n"
     "{route LOCAL traffic for default/my-service external destinations} -m addrtype "
     "--src-type LOCAL -j $S"},
    {0, "$X",
     "{masquerade traffic for default/my-service external destinations} -j KUBE-MARK-MASQ\n"
     "-j $S"},
    {KIT_NO_ENDPOINTS, "$X", NULL},
    {KIT_CLUSTER_IP_ONLY, "$X", NULL},
    {KIT_RANGES, "$F",
     "{default/my-service loadbalancer IP} -s 192.0.2.0/24 -j $X\n"
     "-m comment --comment \"other traffic to default/my-service will be dropped by "
     "KUBE-PROXY-FIREWALL\""},
    {KIT_RANGES | KIT_NODE_RANGE, "$F",
     "{default/my-service loadbalancer IP} -s 192.0.2.0/24 -j $X\n"
     "{default/my-service loadbalancer IP} -s 192.168.0.0/16 -j $X\n"
     "{default/my-service loadbalancer IP} -s 203.0.113.1 -j $X\n"
     "-m comment --comment \"other traffic to default/my-service will be dropped by "
     "KUBE-PROXY-FIREWALL\""},
    {0, "$F", NULL},
    {KIT_RANGES | KIT_NO_ENDPOINTS, "$F", NULL},
    {KIT_NO_DETECTOR, "$S",
     "{default/my-service -> 10.244.1.10:80} -m statistic --mode random --probability "
     "0.5000000000 -j $1\n"
     "{default/my-service -> 10.244.2.10:80} -j $2"},
    {KIT_NO_DETECTOR | KIT_AFFINITY, "$S",
     "{default/my-service -> 10.244.1.10:80} -m recent --name $1 --rcheck --seconds 10800 "
     "--reap -j $1\n"
     "{default/my-service -> 10.244.2.10:80} -m recent --name $2 --rcheck --seconds 10800 "
     "--reap -j $2\n"
     "{default/my-service -> 10.244.1.10:80} -m statistic --mode random --probability "
     "0.5000000000 -j $1\n"
     "{default/my-service -> 10.244.2.10:80} -j $2"},
    {KIT_ETP_LOCAL, "$L", "{default/my-service -> 10.244.1.10:80} -j $1"},
    {KIT_ETP_LOCAL | KIT_NO_LOCAL, "$L", NULL},
    {0, "$L", NULL},
    {KIT_NO_LOCAL | KIT_ITP_LOCAL | KIT_CLUSTER_IP_ONLY, "$S", NULL},
    {KIT_AFFINITY, "$1",
     "-m comment --comment default/my-service -s 10.244.1.10 -j KUBE-MARK-MASQ\n"
     "-m comment --comment default/my-service -m recent --name $1 --set -m tcp -p tcp -j DNAT "
     "--to-destination 10.244.1.10:80"},
    {0, "$2",
     "-m comment --comment default/my-service -s 10.244.2.10 -j KUBE-MARK-MASQ\n"
     "-m comment --comment default/my-service -m tcp -p tcp -j DNAT --to-destination "
     "10.244.2.10:80"},
    /* more than 1000 endpoints: those rules go without comments, others keep them */
    {KIT_1001_ENDPOINTS | KIT_NO_DETECTOR, "$S",
     "-m statistic --mode random --probability 0.5000000000 -j $1\n"
     "-j $2"},
    {KIT_1001_ENDPOINTS, "$2",
     "-s 10.244.2.10 -j KUBE-MARK-MASQ\n"
     "-m tcp -p tcp -j DNAT --to-destination 10.244.2.10:80"},
    {KIT_1001_ENDPOINTS, "$X",
     "{masquerade traffic for default/my-service external destinations} -j KUBE-MARK-MASQ\n"
     "-j $S"},
    {0, "KUBE-POSTROUTING",
     "-m mark ! --mark 0x00004000/0x00004000 -j RETURN\n"
     "-j MARK --xor-mark 0x00004000\n"
     "{kubernetes service traffic requiring SNAT} -j MASQUERADE --random-fully"},
    {KIT_NOT_RANDOM_FULLY, "KUBE-POSTROUTING",
     "-m mark ! --mark 0x00004000/0x00004000 -j RETURN\n"
     "-j MARK --xor-mark 0x00004000\n"
     "{kubernetes service traffic requiring SNAT} -j MASQUERADE"},
    {0, "KUBE-MARK-MASQ", "-j MARK --or-mark 0x00004000"},
};

/* Whole chains, in order. */
static void iptables__chains__are_in_order(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(chains); i++) {
        struct ks_tables t = ks_render_iptables(*state, kit_world(*state, chains[i].flags));
        kit_expect_chain(&t, "nat", chains[i].chain, chains[i].rules);
    }
}

static void iptables__cluster_ip__is_marked_by_configuration(void **state)
{
    const struct row rows[] = {
        {0, "nat", "$S",
         "{default/my-service cluster IP} $T -d 10.11.97.177 --dport 80 ! -s 10.244.1.0/24 -j "
         "KUBE-MARK-MASQ"},
        {KIT_ITP_LOCAL, "nat", "$L",
         "{default/my-service cluster IP} $T -d 10.11.97.177 --dport 80 ! -s 10.244.1.0/24 -j "
         "KUBE-MARK-MASQ"},
        {KIT_BRIDGE, "nat", "$S",
         "{default/my-service cluster IP} $T -d 10.11.97.177 --dport 80 ! -i cni0 -j "
         "KUBE-MARK-MASQ"},
        {KIT_PREFIX, "nat", "$S",
         "{default/my-service cluster IP} $T -d 10.11.97.177 --dport 80 ! -i cali+ -j "
         "KUBE-MARK-MASQ"},
        {KIT_MASQUERADE_ALL, "nat", "$S",
         "{default/my-service cluster IP} $T -d 10.11.97.177 --dport 80 -j KUBE-MARK-MASQ"},
        {KIT_PREFIX | KIT_ETP_LOCAL, "nat", "$X",
         "{pod traffic for default/my-service external destinations} -i cali+ -j $S"},
        {KIT_SIX, "nat", "KUBE-SERVICES",
         "{default/my-service cluster IP} $T -d fd00:172::b1 --dport 80 -j $S"},
    };
    (void)state;
    check(rows, ARRAY_LEN(rows));
}

/* --- chains that are always there ------------------------------------------------------------- */

static void iptables__node_ports__are_where_they_are_taken(void **state)
{
    const struct row rows[] = {
        {0, "nat", "KUBE-SERVICES", "{$N} -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS"},
        {KIT_NO_LOCALHOST, "nat", "KUBE-SERVICES",
         "{$N} -m addrtype --dst-type LOCAL ! -d 127.0.0.0/8 -j KUBE-NODEPORTS"},
        {KIT_SIX, "nat", "KUBE-SERVICES",
         "{$N} -m addrtype --dst-type LOCAL ! -d ::1/128 -j KUBE-NODEPORTS"},
        {KIT_SOME_ADDRESSES, "nat", "KUBE-SERVICES", "{$N} -d 192.168.0.1 -j KUBE-NODEPORTS"},
        {KIT_SOME_ADDRESSES, "nat", "KUBE-SERVICES", "{$N} -d 127.0.0.1 -j KUBE-NODEPORTS"},
        {KIT_SOME_ADDRESSES | KIT_NO_LOCALHOST, "nat", "KUBE-SERVICES",
         "{$N} -d 127.0.0.1 -j KUBE-NODEPORTS", true},
        {KIT_SOME_ADDRESSES | KIT_SIX, "nat", "KUBE-SERVICES",
         "{$N} -d 2001:db8::1 -j KUBE-NODEPORTS"},
        {KIT_SOME_ADDRESSES | KIT_SIX, "nat", "KUBE-SERVICES", "{$N} -d ::1 -j KUBE-NODEPORTS",
         true},
        {0, "filter", "KUBE-FIREWALL",
         "{block incoming localnet connections} -d 127.0.0.0/8 ! -s 127.0.0.0/8 -m conntrack ! "
         "--ctstate RELATED,ESTABLISHED,DNAT -j DROP"},
        {0, "filter", "KUBE-FORWARD", "-m conntrack --ctstate INVALID -j DROP"},
        {KIT_NFACCT, "filter", "KUBE-FORWARD",
         "-m conntrack --ctstate INVALID -m nfacct --nfacct-name ct_state_invalid_dropped_pkts -j "
         "DROP"},
        {KIT_LIBERAL, "filter", "KUBE-FORWARD", "-m conntrack --ctstate INVALID -j DROP", true},
        {0, "filter", "KUBE-FORWARD",
         "{kubernetes forwarding rules} -m mark --mark 0x00004000/0x00004000 -j ACCEPT"},
        {0, "filter", "KUBE-FORWARD",
         "{kubernetes forwarding conntrack rule} -m conntrack --ctstate RELATED,ESTABLISHED -j "
         "ACCEPT"},
    };
    static const unsigned without[] = {KIT_NO_LOCALHOST, KIT_SIX, KIT_OTHER_ADDRESSES};
    check(rows, ARRAY_LEN(rows));
    for (size_t i = 0; i < ARRAY_LEN(without); i++) {
        struct ks_tables t = ks_render_iptables(*state, kit_world(*state, without[i]));
        assert_null(kit_rules(*state, &t, "filter", "KUBE-FIREWALL"));
    }
}

static void iptables__jumps__stand_in_reverse_order_of_making(void **state)
{
    static const struct {
        const char *table;
        const char *chain;
        const char *rules;
    } rows[] = {
        {"filter", "INPUT",
         "-j KUBE-FIREWALL\n"
         "-m conntrack --ctstate NEW {kubernetes load balancer firewall} -j KUBE-PROXY-FIREWALL\n"
         "{kubernetes health check service ports} -j KUBE-NODEPORTS\n"
         "-m conntrack --ctstate NEW {kubernetes externally-visible service portals} -j "
         "KUBE-EXTERNAL-SERVICES"},
        {"filter", "FORWARD",
         "-m conntrack --ctstate NEW {kubernetes load balancer firewall} -j KUBE-PROXY-FIREWALL\n"
         "{kubernetes forwarding rules} -j KUBE-FORWARD\n"
         "-m conntrack --ctstate NEW {kubernetes service portals} -j KUBE-SERVICES\n"
         "-m conntrack --ctstate NEW {kubernetes externally-visible service portals} -j "
         "KUBE-EXTERNAL-SERVICES"},
        {"filter", "OUTPUT",
         "-j KUBE-FIREWALL\n"
         "-m conntrack --ctstate NEW {kubernetes load balancer firewall} -j KUBE-PROXY-FIREWALL\n"
         "-m conntrack --ctstate NEW {kubernetes service portals} -j KUBE-SERVICES"},
        {"nat", "PREROUTING", "{kubernetes service portals} -j KUBE-SERVICES"},
        {"nat", "OUTPUT", "{kubernetes service portals} -j KUBE-SERVICES"},
        {"nat", "POSTROUTING", "{kubernetes postrouting rules} -j KUBE-POSTROUTING"},
    };
    struct ks_tables t = ks_iptables_jumps(*state, kit_world(*state, 0));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        kit_expect_chain(&t, rows[i].table, rows[i].chain, rows[i].rules);
    }
    t = ks_iptables_jumps(*state, kit_world(*state, KIT_SIX));
    kit_expect(&t, "filter", "INPUT", "-j KUBE-FIREWALL", false);
}

/* --- saved forms ------------------------------------------------------------------------------ */

static void saved__a_rule__is_printed_in_iptables_order(void **state)
{
    static const struct {
        const char *written;
        const char *saved;
        enum ks_family family;
    } rows[] = {
        {"-m comment --comment \"a b\" -d 127.0.0.0/8 ! -s 127.0.0.0/8 -j DROP",
         "! -s 127.0.0.0/8 -d 127.0.0.0/8 -m comment --comment \"a b\" -j DROP", KS_IPV4},
        {"-m comment --comment a/b -s 10.0.0.1 -j X",
         "-s 10.0.0.1/32 -m comment --comment \"a/b\" -j X", KS_IPV4},
        {"-s fd00::1 -j X", "-s fd00::1/128 -j X", KS_IPV6},
        {"-m comment --comment plain -j X", "-m comment --comment plain -j X", KS_IPV4},
        {"-m comment --comment \"type 'hash ip:port'\" -j X",
         "-m comment --comment \"type \\'hash ip:port\\'\" -j X", KS_IPV4},
        {"-m tcp -p tcp -d 10.0.0.1 --dport 80 ! -i cali+ -j X",
         "-d 10.0.0.1/32 ! -i cali+ -p tcp -m tcp --dport 80 -j X", KS_IPV4},
        {"-m comment --comment a/b -m sctp -p sctp -j DNAT --to-destination 10.0.0.1:80",
         "-p sctp -m comment --comment \"a/b\" -m sctp -j DNAT --to-destination 10.0.0.1:80",
         KS_IPV4},
        {"-m mark ! --mark 0x00004000/0x00004000 -j RETURN",
         "-m mark ! --mark 0x4000/0x4000 -j RETURN", KS_IPV4},
        {"-j MARK --or-mark 0x80000000", "-j MARK --set-xmark 0x80000000/0x80000000", KS_IPV4},
        {"-j MARK --xor-mark 0x00004000", "-j MARK --set-xmark 0x4000/0x0", KS_IPV4},
        {"-j REJECT", "-j REJECT --reject-with icmp-port-unreachable", KS_IPV4},
        {"-j REJECT", "-j REJECT --reject-with icmp6-port-unreachable", KS_IPV6},
        {"-m recent --name N --rcheck --seconds 10 --reap -j N",
         "-m recent --rcheck --seconds 10 --reap --name N --mask 255.255.255.255 --rsource -j N",
         KS_IPV4},
        {"-m recent --name N --set -m tcp -p tcp -j X",
         "-p tcp -m recent --set --name N --mask ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff --rsource "
         "-m tcp -j X",
         KS_IPV6},
        {"-m statistic --mode random --probability 0.3333333333 -j X",
         "-m statistic --mode random --probability 0.33333333349 -j X", KS_IPV4},
        {"-s 0.0.0.0/0 -j X", "-j X", KS_IPV4}, /* matches all: not printed */
        {"-m comment --comment \"no target\"", "-m comment --comment \"no target\"", KS_IPV4},
        {"-s 203.0.113.1 -m ipvs --vaddr 203.0.113.1 --vproto sctp --vport 80 -j DROP",
         "-s 203.0.113.1/32 -m ipvs --vproto 132 --vaddr 203.0.113.1 --vport 80 -j DROP", KS_IPV4},
        {"", "", KS_IPV4},
        {"-m", "-m", KS_IPV4},
        {"-j", "-j ", KS_IPV4},
        {"-m comment --comment \"open", "-m comment --comment open", KS_IPV4},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct ks_chain chain = {.name = "C", .rules = &rows[i].written, .n_rules = 1};
        struct ks_tables t = {.tables = {{.name = "nat", .chains = &chain, .n_chains = 1}},
                              .n_tables = 1};
        t = ks_iptables_saved(*state, &t, rows[i].family);
        assert_string_equal(t.tables[0].chains[0].rules[0], rows[i].saved);
    }
}

UNIT_MAIN(render_iptables)
{
    const struct CMUnitTest tests[] = {
        kit_test(saved__my_service__is_as_iptables_save_prints_it),
        kit_test(iptables__destinations__have_their_rules),
        kit_test(iptables__chains__are_in_order),
        kit_test(iptables__cluster_ip__is_marked_by_configuration),
        kit_test(iptables__node_ports__are_where_they_are_taken),
        kit_test(iptables__jumps__stand_in_reverse_order_of_making),
        kit_test(saved__a_rule__is_printed_in_iptables_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
