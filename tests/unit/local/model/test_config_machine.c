/* SPDX-License-Identifier: Apache-2.0 */
/* test_config_machine.c: pools against a machine.  Rows with a number are those of the
 * provider's specification. */
#include "providers/local/model/config_machine.h"
#include "tests/unit/local/model/model_test.h"

/* Interfaces eth0 with 10.0.0.1/24, 2001:db8::1/64 and another program's 10.0.0.7, lo, kube-ipvs0
 * with 10.0.0.50, eth1 with a held VIP 10.0.0.60; addresses of another program that have a network
 * are 172.16.0.81 and 2001:db8::9, beside the machine's own; 172.17.0.1 has none beside it. */
static const char *on_machine(struct arena *a, const char *pools, bool has_served)
{
    static const struct {
        const char *interface;
        const char *net;
        bool ours;
    } has[] = {{"lo", "127.0.0.1/8", false},          {"lo", "192.0.2.77/24", false},
               {"eth0", "10.0.0.1/24", false},        {"eth0", "2001:db8::1/64", false},
               {"kube-ipvs0", "10.0.0.50/32", false}, {"eth1", "10.0.0.60/32", true},
               {"eth1", "172.16.0.9/16", false},      {"eth0", "10.0.0.7/32", false},
               {"vrrp.1", "172.16.0.81/16", false},   {"eth0", "2001:db8::9/64", false},
               {"eth1", "172.17.0.1/24", false}};
    static const char *const interfaces[] = {"eth0", "eth1"};
    struct local_machine_addr addrs[ARRAY_LEN(has)];
    const struct local_machine m = {interfaces, ARRAY_LEN(interfaces), addrs, ARRAY_LEN(has),
                                    has_served};
    struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < ARRAY_LEN(has); i++) {
        addrs[i] = (struct local_machine_addr){.interface = has[i].interface, .ours = has[i].ours};
        assert_true(ip_net_parse_host(has[i].net, &addrs[i].net));
    }
    const struct local_config *c = config_of(a, arena_printf(a, V "pools:\n%s", pools));
    struct local_config_findings f = local_config_on_machine(a, c, &m);
    for (size_t i = 0; i < f.n; i++) {
        str_appendf(&b, "%s %zu: %s\n", f.items[i].is_error ? "error" : "warning", f.items[i].line,
                    f.items[i].text);
    }
    for (size_t i = 0; i < m.n_addrs; i++) {
        if (local_config_keeps_out(c, &m, &addrs[i])) {
            str_appendf(&b, "left out: %s\n", has[i].net);
        }
    }
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

static const struct {
    const char *name;
    const char *pools;
    const char *want;
    bool has_served;
} rows[] = {
    {"C10", "- {name: public, addresses: [10.0.0.0/30]}\n",
     "error 3: pool \"public\" contains 10.0.0.1, which this machine has on eth0\n"},
    {"C10 excluded", "- {name: public, addresses: [10.0.0.0/29], exclude: [10.0.0.1, 10.0.0.7]}\n",
     ""},
    {"C10 of a machine that has served", "- {name: public, addresses: [10.0.0.0/30]}\n",
     "error 3: pool \"public\" contains 10.0.0.1, which this machine has on eth0\n", true},
    {"an address alone, at first", "- {name: public, addresses: [10.0.0.4/30]}\n",
     "error 3: pool \"public\" contains 10.0.0.7, which this machine has on eth0\n"},
    {"an address alone, of a machine that has served",
     "- {name: public, addresses: [10.0.0.4/30]}\n",
     "warning 3: pool \"public\" contains 10.0.0.7, which this machine has on eth0; no other "
     "Service gets it\nleft out: 10.0.0.7/32\n",
     true},
    {"the same, and the pool leaves it out",
     "- {name: public, addresses: [10.0.0.4/30], exclude: [10.0.0.7]}\n", "", true},
    {"an address with the network of another, at first",
     "- {name: public, addresses: [172.16.0.80/30]}\n",
     "error 3: pool \"public\" contains 172.16.0.81, which this machine has on vrrp.1\n"},
    {"an address with the network of another, of a machine that has served",
     "- {name: public, addresses: [172.16.0.80/30, \"2001:db8::8/125\"]}\n",
     "warning 3: pool \"public\" contains 172.16.0.81, which this machine has on vrrp.1; no other "
     "Service gets it\n"
     "warning 3: pool \"public\" contains 2001:db8::9, which this machine has on eth0; no other "
     "Service gets it\nleft out: 172.16.0.81/16\nleft out: 2001:db8::9/64\n",
     true},
    {"both are in pools: which is the machine's own is not known",
     "- {name: public, addresses: [172.16.0.80/30]}\n- {name: b, addresses: [172.16.0.8/30]}\n",
     "error 3: pool \"public\" contains 172.16.0.81, which this machine has on vrrp.1\n"
     "error 4: pool \"b\" contains 172.16.0.9, which this machine has on eth1\n",
     true},
    {"the machine's own, beside another's, of a machine that has served: it may be either's",
     "- {name: public, addresses: [172.16.0.8/30]}\n",
     "warning 3: pool \"public\" contains 172.16.0.9, which this machine has on eth1; no other "
     "Service gets it\nleft out: 172.16.0.9/16\n",
     true},
    {"the one address of a network, of a machine that has served",
     "- {name: public, addresses: [172.17.0.0/30]}\n",
     "error 3: pool \"public\" contains 172.17.0.1, which this machine has on eth1\n", true},
    {"addresses of kube-proxy, and our own", "- {name: public, addresses: [10.0.0.40-10.0.0.70]}\n",
     ""},
    {"IPv6", "- {name: public, addresses: [\"2001:db8::/125\"]}\n",
     "error 3: pool \"public\" contains 2001:db8::1, which this machine has on eth0\n"},
    {"C22",
     "- {name: public, addresses: [10.0.0.8/29], announce: {interfaces: [eth*, \"ens*\"]}}\n",
     "warning 3: announce.interfaces: no interface matches \"ens*\"\n"},
    {"no network",
     "- {name: a, addresses: [10.0.0.8/29]}\n- {name: public, addresses: [203.0.113.0/27]}\n",
     "warning 4: pool \"public\": no interface has an address in 203.0.113.0/27; no host will ask "
     "for it by ARP (announce: {by: routes}?)\n"},
    {"no network, several",
     "- {name: public, addresses: [203.0.113.0/27, 10.0.0.9, 198.51.100.7]}\n",
     "warning 3: pool \"public\": no interface has an address in 198.51.100.7 and 1 more of its "
     "entries; no host will ask for it by ARP (announce: {by: routes}?)\n"},
    {"no network, but routes",
     "- {name: public, addresses: [203.0.113.0/27], announce: {by: routes}}\n", ""},
    {"the network of another interface",
     "- {name: public, addresses: [10.0.0.8/29], announce: {interfaces: [eth1]}}\n",
     "warning 3: pool \"public\": no interface has an address in 10.0.0.8/29; no host will ask for "
     "it by ARP (announce: {by: routes}?)\n"},
    {"loopback is no network", "- {name: public, addresses: [192.0.2.0/29]}\n",
     "warning 3: pool \"public\": no interface has an address in 192.0.2.0/29; no host will ask "
     "for "
     "it by ARP (announce: {by: routes}?)\n"},
};

static void local_config_on_machine__pools__findings(void **state)
{
    size_t bad = 0;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *got = on_machine(*state, rows[i].pools, rows[i].has_served);
        if (strcmp(got, rows[i].want) != 0) {
            print_error("%s: want\n%sgot\n%s", rows[i].name, rows[i].want, got);
            bad++;
        }
    }
    assert_int_equal(bad, 0);
}

UNIT_MAIN(config_machine)
{
    const struct CMUnitTest tests[] = {
        model_test(local_config_on_machine__pools__findings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
