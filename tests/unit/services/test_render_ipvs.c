/* SPDX-License-Identifier: Apache-2.0 */
/* test_render_ipvs.c: IPVS mode: sets, virtual servers, the rules around them; the Service is
 * render_kit.h's. */
#include "tests/support/unit.h"
#include "tests/unit/services/render_kit.h"

#include <string.h>

static const char *entries(struct arena *a, const struct ks_ipvs *v, const char *set)
{
    for (size_t i = 0; i < v->n_sets; i++) {
        if (str_eq(v->sets[i].name, set)) {
            return str_join(a, v->sets[i].entries, v->sets[i].n_entries, " ");
        }
    }
    fail_msg("no set %s", set);
    return NULL;
}

static void ipvs__sets__have_their_entries(void **state)
{
    static const struct {
        unsigned flags;
        const char *set;
        const char *entries;
    } rows[] = {
        {0, "KUBE-LOOP-BACK", "10.244.1.10,tcp:80,10.244.1.10"},
        {KIT_NOT_READY, "KUBE-LOOP-BACK", "10.244.1.10,tcp:80,10.244.1.10"}, /* in any state */
        {KIT_NO_LOCAL, "KUBE-LOOP-BACK", ""},
        {0, "KUBE-CLUSTER-IP", "10.11.97.177,tcp:80"},
        {KIT_NO_ENDPOINTS, "KUBE-CLUSTER-IP", "10.11.97.177,tcp:80"},
        {0, "KUBE-EXTERNAL-IP", "198.51.100.1,tcp:80"},
        {KIT_ETP_LOCAL, "KUBE-EXTERNAL-IP", ""},
        {0, "KUBE-EXTERNAL-IP-LOCAL", ""},
        {KIT_ETP_LOCAL, "KUBE-EXTERNAL-IP-LOCAL", "198.51.100.1,tcp:80"},
        {0, "KUBE-LOAD-BALANCER", "203.0.113.1,tcp:80"},
        {KIT_ETP_LOCAL, "KUBE-LOAD-BALANCER", "203.0.113.1,tcp:80"},
        {0, "KUBE-LOAD-BALANCER-LOCAL", ""},
        {KIT_ETP_LOCAL, "KUBE-LOAD-BALANCER-LOCAL", "203.0.113.1,tcp:80"},
        {0, "KUBE-LOAD-BALANCER-FW", ""},
        {KIT_RANGES, "KUBE-LOAD-BALANCER-FW", "203.0.113.1,tcp:80"},
        {KIT_RANGES | KIT_NODE_RANGE, "KUBE-LOAD-BALANCER-SOURCE-CIDR",
         "203.0.113.1,tcp:80,192.0.2.0/24 203.0.113.1,tcp:80,192.168.0.0/16"},
        {KIT_RANGES, "KUBE-LOAD-BALANCER-SOURCE-IP", ""},
        {KIT_NODE_RANGE, "KUBE-LOAD-BALANCER-SOURCE-IP", "203.0.113.1,tcp:80,203.0.113.1"},
        {0, "KUBE-NODE-PORT-TCP", "30080"},
        {KIT_UDP, "KUBE-NODE-PORT-TCP", ""},
        {KIT_UDP, "KUBE-NODE-PORT-UDP", "30080"},
        {0, "KUBE-NODE-PORT-LOCAL-TCP", ""},
        {KIT_ETP_LOCAL, "KUBE-NODE-PORT-LOCAL-TCP", "30080"},
        {KIT_ETP_LOCAL | KIT_UDP, "KUBE-NODE-PORT-LOCAL-UDP", "30080"},
        {KIT_SCTP, "KUBE-NODE-PORT-SCTP-HASH", "192.168.0.1,sctp:30080"},
        {KIT_SCTP | KIT_ETP_LOCAL, "KUBE-NODE-PORT-LOCAL-SCTP-HASH", "192.168.0.1,sctp:30080"},
        {KIT_ETP_LOCAL, "KUBE-HEALTH-CHECK-NODE-PORT", "32000"},
        {KIT_SOME_ADDRESSES, "KUBE-NODE-PORT-TCP", "30080"},
        /* no address of the node takes node ports: the health check's is lost with
         * them, as upstream */
        {KIT_ETP_LOCAL | KIT_OTHER_ADDRESSES, "KUBE-NODE-PORT-TCP", ""},
        {KIT_ETP_LOCAL | KIT_OTHER_ADDRESSES, "KUBE-HEALTH-CHECK-NODE-PORT", ""},
        {0, "KUBE-IPVS-IPS", "10.11.97.177 198.51.100.1 203.0.113.1"},
        {KIT_VIP_ON_NODE, "KUBE-IPVS-IPS", "10.11.97.177 198.51.100.1"},
        {KIT_SIX, "KUBE-6-CLUSTER-IP", "fd00:172::b1,tcp:80"},
        /* 31 characters are what an ipset's name may have */
        {KIT_SIX | KIT_RANGES, "KUBE-6-LOAD-BALANCER-SOURCE-CID",
         "2001:db8:f::1,tcp:80,2001:db8:c::/64"},
        {KIT_SIX | KIT_SCTP | KIT_ETP_LOCAL, "KUBE-6-NODE-PORT-LOCAL-SCTP-HAS",
         "2001:db8::1,sctp:30080"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct ks_ipvs v = ks_render_ipvs(*state, kit_world(*state, rows[i].flags));
        const char *have = entries(*state, &v, rows[i].set);
        if (!str_eq(have, rows[i].entries)) {
            fail_msg("row %zu, %s: want \"%s\", have \"%s\"", i, rows[i].set, rows[i].entries,
                     have);
        }
    }
}

static void ipvs__sets__are_seventeen_with_names_that_fit(void **state)
{
    static const unsigned families[] = {0, KIT_SIX};
    for (size_t f = 0; f < ARRAY_LEN(families); f++) {
        struct ks_ipvs v =
            ks_render_ipvs(*state, kit_world(*state, families[f] | KIT_NO_ENDPOINTS));
        assert_int_equal(v.n_sets, 17);
        for (size_t i = 0; i < v.n_sets; i++) {
            assert_in_range(strlen(v.sets[i].name), 1, 31);
            bool bitmap = str_eq(v.sets[i].type, "bitmap:port");
            assert_true(bitmap == (v.sets[i].family == NULL));
            assert_true(bitmap || str_eq(v.sets[i].family, f == 0 ? "inet" : "inet6"));
        }
    }
}

/* --- virtual servers -------------------------------------------------------------------------- */

static const char *servers(struct arena *a, const struct ks_ipvs *v)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < v->n_servers; i++) {
        const struct ks_virtual_server *s = &v->servers[i];
        char ip[IP_TEXT_MAX];
        ip_format(&s->address, ip);
        str_appendf(&b, "%s%s %d %s %s%s %d -> %s", i > 0 ? "\n" : "", ip, (int)s->port,
                    s->protocol, s->scheduler, s->mh_port ? " mh-port" : "", (int)s->persistent_s,
                    str_join(a, s->real, s->n_real, " "));
    }
    return str_buf_to_arena(&b, a);
}

static void ipvs__servers__take_the_lists(void **state)
{
    static const struct {
        unsigned flags;
        const char *servers;
    } rows[] = {
        {0, "10.11.97.177 80 TCP rr 0 -> 10.244.1.10:80 10.244.2.10:80\n"
            "192.168.0.1 30080 TCP rr 0 -> 10.244.1.10:80 10.244.2.10:80\n"
            "198.51.100.1 80 TCP rr 0 -> 10.244.1.10:80 10.244.2.10:80\n"
            "203.0.113.1 80 TCP rr 0 -> 10.244.1.10:80 10.244.2.10:80"},
        {KIT_ETP_LOCAL, "10.11.97.177 80 TCP rr 0 -> 10.244.1.10:80 10.244.2.10:80\n"
                        "192.168.0.1 30080 TCP rr 0 -> 10.244.1.10:80\n"
                        "198.51.100.1 80 TCP rr 0 -> 10.244.1.10:80\n"
                        "203.0.113.1 80 TCP rr 0 -> 10.244.1.10:80"},
        /* without a local endpoint this mode takes the others, as upstream */
        {KIT_ETP_LOCAL | KIT_NO_LOCAL | KIT_OTHER_ADDRESSES,
         "10.11.97.177 80 TCP rr 0 -> 10.244.1.10:80 10.244.2.10:80\n"
         "198.51.100.1 80 TCP rr 0 -> 10.244.1.10:80 10.244.2.10:80\n"
         "203.0.113.1 80 TCP rr 0 -> 10.244.1.10:80 10.244.2.10:80"},
        {KIT_CLUSTER_IP_ONLY | KIT_AFFINITY | KIT_MH,
         "10.11.97.177 80 TCP mh mh-port 10800 -> 10.244.1.10:80 10.244.2.10:80"},
        {KIT_CLUSTER_IP_ONLY | KIT_ITP_LOCAL, "10.11.97.177 80 TCP rr 0 -> 10.244.1.10:80"},
        {KIT_CLUSTER_IP_ONLY | KIT_NO_ENDPOINTS | KIT_SIX, "fd00:172::b1 80 TCP rr 0 -> "},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct ks_ipvs v = ks_render_ipvs(*state, kit_world(*state, rows[i].flags));
        assert_string_equal(servers(*state, &v), rows[i].servers);
    }
}

/* --- rules ------------------------------------------------------------------------------------ */

static const struct {
    unsigned flags;
    const char *table;
    const char *chain;
    const char *rules;
} chains[] = {
    {0, "nat", "KUBE-SERVICES",
     "-s 127.0.0.0/8 -j RETURN\n"
     "{Kubernetes service lb portal} [KUBE-LOAD-BALANCER dst,dst] -j KUBE-LOAD-BALANCER\n"
     "{Kubernetes service cluster ip + port for masquerade purpose} [KUBE-CLUSTER-IP dst,dst] "
     "! -s 10.244.1.0/24 -j KUBE-MARK-MASQ\n"
     "{Kubernetes service external ip + port for masquerade and filter purpose} "
     "[KUBE-EXTERNAL-IP dst,dst] -j KUBE-MARK-MASQ\n"
     "{Kubernetes service external ip + port for masquerade and filter purpose} "
     "[KUBE-EXTERNAL-IP dst,dst] -m physdev ! --physdev-is-in -m addrtype ! --src-type LOCAL "
     "-j ACCEPT\n"
     "{Kubernetes service external ip + port for masquerade and filter purpose} "
     "[KUBE-EXTERNAL-IP dst,dst] -m addrtype --dst-type LOCAL -j ACCEPT\n"
     "-m addrtype --dst-type LOCAL -j KUBE-NODE-PORT\n"
     "[KUBE-CLUSTER-IP dst,dst] -j ACCEPT\n"
     "[KUBE-LOAD-BALANCER dst,dst] -j ACCEPT"},
    {KIT_ETP_LOCAL | KIT_MASQUERADE_ALL | KIT_SIX, "nat", "KUBE-SERVICES",
     "-s ::1/128 -j RETURN\n"
     "{Kubernetes service lb portal} [KUBE-6-LOAD-BALANCER dst,dst] -j KUBE-LOAD-BALANCER\n"
     "{Kubernetes service cluster ip + port for masquerade purpose} [KUBE-6-CLUSTER-IP "
     "dst,dst] -j KUBE-MARK-MASQ\n"
     "{Kubernetes service external ip + port with externalTrafficPolicy=local} "
     "[KUBE-6-EXTERNAL-IP-LOCAL dst,dst] -m physdev ! --physdev-is-in -m addrtype ! --src-type "
     "LOCAL -j ACCEPT\n"
     "{Kubernetes service external ip + port with externalTrafficPolicy=local} "
     "[KUBE-6-EXTERNAL-IP-LOCAL dst,dst] -m addrtype --dst-type LOCAL -j ACCEPT\n"
     "-m addrtype --dst-type LOCAL -j KUBE-NODE-PORT\n"
     "[KUBE-6-CLUSTER-IP dst,dst] -j ACCEPT\n"
     "[KUBE-6-LOAD-BALANCER dst,dst] -j ACCEPT"},
    {KIT_NO_DETECTOR | KIT_CLUSTER_IP_ONLY, "nat", "KUBE-SERVICES",
     "-s 127.0.0.0/8 -j RETURN\n"
     "{Kubernetes service cluster ip + port for masquerade purpose} [KUBE-CLUSTER-IP src,dst] "
     "-j KUBE-MARK-MASQ\n"
     "-m addrtype --dst-type LOCAL -j KUBE-NODE-PORT\n"
     "[KUBE-CLUSTER-IP dst,dst] -j ACCEPT"},
    {KIT_CLUSTER_IP_ONLY, "nat", "KUBE-POSTROUTING",
     "{Kubernetes endpoints dst ip:port, source ip for solving hairpin purpose} "
     "[KUBE-LOOP-BACK dst,dst,src] -j MASQUERADE\n"
     "$M"},
    {KIT_NO_LOCAL, "nat", "KUBE-POSTROUTING", "$M"},
    {KIT_ETP_LOCAL, "nat", "KUBE-LOAD-BALANCER",
     "{Kubernetes service load balancer ip + port with externalTrafficPolicy=local} "
     "[KUBE-LOAD-BALANCER-LOCAL dst,dst] -j RETURN\n"
     "-j KUBE-MARK-MASQ"},
    {0, "nat", "KUBE-LOAD-BALANCER", "-j KUBE-MARK-MASQ"},
    {KIT_ETP_LOCAL, "nat", "KUBE-NODE-PORT",
     "-p tcp {Kubernetes nodeport TCP port with externalTrafficPolicy=local} "
     "[KUBE-NODE-PORT-LOCAL-TCP dst] -j RETURN\n"
     "-p tcp {Kubernetes nodeport TCP port for masquerade purpose} [KUBE-NODE-PORT-TCP dst] -j "
     "KUBE-MARK-MASQ"},
    {KIT_UDP, "nat", "KUBE-NODE-PORT",
     "-p udp {Kubernetes nodeport UDP port for masquerade purpose} [KUBE-NODE-PORT-UDP dst] -j "
     "KUBE-MARK-MASQ"},
    {KIT_SCTP, "nat", "KUBE-NODE-PORT",
     "-p sctp {Kubernetes nodeport SCTP port for masquerade purpose with type 'hash ip:port'} "
     "[KUBE-NODE-PORT-SCTP-HASH dst,dst] -j KUBE-MARK-MASQ"},
    {0, "filter", "KUBE-PROXY-FIREWALL", ""},
    {KIT_RANGES, "filter", "KUBE-PROXY-FIREWALL",
     "{Kubernetes service load balancer ip + port for load balancer with sourceRange} "
     "[KUBE-LOAD-BALANCER-FW dst,dst] -j KUBE-SOURCE-RANGES-FIREWALL"},
    {0, "filter", "KUBE-SOURCE-RANGES-FIREWALL", "-j DROP"},
    {KIT_NODE_RANGE, "filter", "KUBE-SOURCE-RANGES-FIREWALL",
     "{Kubernetes service load balancer ip + port + source cidr for packet filter purpose} "
     "[KUBE-LOAD-BALANCER-SOURCE-CIDR dst,dst,src] -j RETURN\n"
     "{Kubernetes service load balancer ip + port + source IP for packet filter purpose} "
     "[KUBE-LOAD-BALANCER-SOURCE-IP dst,dst,src] -j RETURN\n"
     "-j DROP"},
    {KIT_RANGES, "filter", "KUBE-IPVS-OUT-FILTER",
     "-s 203.0.113.1 -m ipvs --vaddr 203.0.113.1 --vproto tcp --vport 80 -j DROP"},
    {KIT_RANGES | KIT_NODE_RANGE, "filter", "KUBE-IPVS-OUT-FILTER", ""},
    {KIT_LIBERAL, "filter", "KUBE-FORWARD",
     "{kubernetes forwarding rules} -m mark --mark 0x00004000/0x00004000 -j ACCEPT\n"
     "{kubernetes forwarding conntrack rule} -m conntrack --ctstate RELATED,ESTABLISHED -j "
     "ACCEPT"},
    {0, "filter", "KUBE-NODE-PORT",
     "{Kubernetes health check node port} [KUBE-HEALTH-CHECK-NODE-PORT dst] -j ACCEPT"},
    {KIT_NO_ENDPOINTS, "filter", "KUBE-IPVS-FILTER",
     "[KUBE-LOAD-BALANCER dst,dst] -j RETURN\n"
     "[KUBE-CLUSTER-IP dst,dst] -j RETURN\n"
     "[KUBE-EXTERNAL-IP dst,dst] -j RETURN\n"
     "[KUBE-EXTERNAL-IP-LOCAL dst,dst] -j RETURN\n"
     "[KUBE-HEALTH-CHECK-NODE-PORT dst] -j RETURN\n"
     "-m conntrack --ctstate NEW [KUBE-IPVS-IPS dst] -j REJECT"},
};

static void ipvs__rules__ask_the_sets_that_have_entries(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(chains); i++) {
        struct ks_ipvs v = ks_render_ipvs(*state, kit_world(*state, chains[i].flags));
        kit_expect_chain(&v.tables, chains[i].table, chains[i].chain, chains[i].rules);
    }
}

static void ipvs__jumps__are_without_connection_states(void **state)
{
    struct ks_tables t = ks_ipvs_jumps(*state);
    assert_string_equal(t.tables[0].name, "nat");
    kit_expect_chain(&t, "filter", "INPUT",
                     "{kubernetes ipvs access filter} -j KUBE-IPVS-FILTER\n"
                     "{kube-proxy firewall rules} -j KUBE-PROXY-FIREWALL\n"
                     "{kubernetes health check rules} -j KUBE-NODE-PORT");
    kit_expect_chain(&t, "filter", "FORWARD",
                     "{kube-proxy firewall rules} -j KUBE-PROXY-FIREWALL\n"
                     "{kubernetes forwarding rules} -j KUBE-FORWARD");
    kit_expect_chain(&t, "filter", "OUTPUT",
                     "{kubernetes ipvs access filter} -j KUBE-IPVS-OUT-FILTER");
    kit_expect_chain(&t, "nat", "POSTROUTING",
                     "{kubernetes postrouting rules} -j KUBE-POSTROUTING");
}

static void ipvs__text__is_what_the_tools_read(void **state)
{
    static const char *const parts[] = {
        "# ipset\n"
        "create KUBE-6-LOOP-BACK hash:ip,port,ip family inet6 hashsize 1024 maxelem 65536\n"
        "add KUBE-6-LOOP-BACK fd00:244:1::a,udp:80,fd00:244:1::a\n",
        "create KUBE-6-NODE-PORT-UDP bitmap:port range 0-65535\n"
        "add KUBE-6-NODE-PORT-UDP 30080\n",
        "# ipvsadm\n"
        "-A -u [2001:db8::1]:30080 -s mh -p 10800 -b mh-port\n"
        "-a -u [2001:db8::1]:30080 -r [fd00:244:1::a]:80 -m -w 1\n",
        "# ip addr, device kube-ipvs0\n"
        "inet6 2001:db8:e::1/128\n",
        "# iptables-restore\n"
        "*nat\n"
        ":KUBE-SERVICES - [0:0]\n",
    };
    _cleanup_(str_buf_done) struct str_buf text = STR_BUF_INIT;
    struct ks_ipvs v =
        ks_render_ipvs(*state, kit_world(*state, KIT_SIX | KIT_UDP | KIT_MH | KIT_AFFINITY));
    ks_ipvs_text(&text, &v);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (strstr(str_buf_text(&text), parts[i]) == NULL) {
            fail_msg("want %s\n"
                     "have %s",
                     parts[i], str_buf_text(&text));
        }
    }
}

UNIT_MAIN(render_ipvs)
{
    const struct CMUnitTest tests[] = {
        kit_test(ipvs__sets__have_their_entries),
        kit_test(ipvs__sets__are_seventeen_with_names_that_fit),
        kit_test(ipvs__servers__take_the_lists),
        kit_test(ipvs__rules__ask_the_sets_that_have_entries),
        kit_test(ipvs__jumps__are_without_connection_states),
        kit_test(ipvs__text__is_what_the_tools_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
