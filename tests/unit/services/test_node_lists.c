/* SPDX-License-Identifier: Apache-2.0 */
/* test_node_lists.c: which endpoints a node uses, by policy, condition and hint; which addresses
 * take node ports.
 *
 * The node is n1 in zone a. */
#include "tests/unit/services/services_test.h"

#define CLUSTER "'spec': {'clusterIP': '10.1.0.1', 'ports': [{'port': 80}]}"
#define INTERNAL                                                                                   \
    "'spec': {'clusterIP': '10.1.0.1', 'ports': [{'port': 80}], 'internalTrafficPolicy': 'Local'}"
#define EXTERNAL                                                                                   \
    "'spec': {'type': 'NodePort', 'clusterIP': '10.1.0.1', 'ports': [{'port': 80, 'nodePort': "    \
    "30080}], 'externalTrafficPolicy': 'Local'}"

/* Addresses are written as their last number. */
static const struct {
    const char *spec;
    const char *endpoints;
    const char *want; /* topology, cluster | local | reachable, has_any, what fell back */
} rows[] = {
    {CLUSTER, "", "none | | |"},
    /* ready ones only, wherever they are */
    {CLUSTER, "10.0.0.1 n1 rs; 10.0.0.2 n2 rs; 10.0.0.3 n1 s; 10.0.0.4 n1 st",
     "none 1 2 | | 1 2 | any"},
    {CLUSTER, "10.0.0.1 n1 nil", "none 1 | | 1 | any"},
    /* ready though it terminates (publishNotReadyAddresses) */
    {CLUSTER, "10.0.0.1 n1 rst; 10.0.0.2 n1 st", "none 1 | | 1 | any"},
    /* the fallback: serving and terminating */
    {CLUSTER, "10.0.0.1 n1 s; 10.0.0.2 n2 st; 10.0.0.3 n2 t",
     "none 2 | | 2 | any cluster-fell-back"},
    {CLUSTER, "10.0.0.1 n1 s; 10.0.0.3 n2 t", "none | | |"},
    /* hints by zone */
    {CLUSTER, "10.0.0.1 n1 rs z:a; 10.0.0.2 n2 rs z:b", "zone 1 | | 1 | any"},
    {CLUSTER, "10.0.0.1 n1 rs z:a,b; 10.0.0.2 n2 rs z:b,a", "zone 1 2 | | 1 2 | any"},
    {CLUSTER, "10.0.0.1 n1 rs z:a; 10.0.0.2 n2 rs", "none 1 2 | | 1 2 | any"},
    {CLUSTER, "10.0.0.1 n1 rs z:b; 10.0.0.2 n2 rs z:c", "none 1 2 | | 1 2 | any"},
    /* only those of ready endpoints count */
    {CLUSTER, "10.0.0.1 n1 rs z:a; 10.0.0.2 n2 rs z:b; 10.0.0.3 n1 s", "zone 1 | | 1 | any"},
    {CLUSTER, "10.0.0.1 n1 s z:a; 10.0.0.2 n2 rs z:b", "none 2 | | 2 | any"},
    /* hints by node come first */
    {CLUSTER, "10.0.0.1 n1 rs z:a n:n1; 10.0.0.2 n2 rs z:a n:n2", "node 1 | | 1 | any"},
    {CLUSTER, "10.0.0.1 n2 rs z:a n:n2; 10.0.0.2 n3 rs z:b n:n3", "zone 1 | | 1 | any"},
    {CLUSTER, "10.0.0.1 n2 rs z:b n:n2; 10.0.0.2 n3 rs z:b n:n3", "none 1 2 | | 1 2 | any"},
    {CLUSTER, "10.0.0.1 n1 rs z:a n:n1; 10.0.0.2 n2 rs z:b", "zone 1 | | 1 | any"},
    /* the fallback asks for no hints */
    {CLUSTER, "10.0.0.1 n1 st z:b; 10.0.0.2 n2 st z:c", "none 1 2 | | 1 2 | any cluster-fell-back"},
    /* internal policy Local alone: no cluster list */
    {INTERNAL, "", "none | | |"},
    {INTERNAL, "10.0.0.1 n1 rs; 10.0.0.2 n2 rs", "none | 1 | 1 | any"},
    {INTERNAL, "10.0.0.2 n2 rs", "none | | | any"},
    {INTERNAL, "10.0.0.2 n2 st", "none | | | any"},
    {INTERNAL, "10.0.0.2 n2 s", "none | | |"},
    {INTERNAL, "10.0.0.1 n1 st; 10.0.0.2 n2 rs", "none | 1 | 1 | any local-fell-back"},
    {INTERNAL, "10.0.0.1 n1 st; 10.0.0.2 n1 rs", "none | 2 | 2 | any"},
    {INTERNAL, "10.0.0.1 n1 s", "none | | |"},
    /* hints do not thin out the local list */
    {INTERNAL, "10.0.0.1 n1 rs z:b; 10.0.0.2 n2 rs z:a", "none | 1 | 1 | any"},
    /* both lists; they fall back by themselves */
    {EXTERNAL, "10.0.0.1 n1 rs; 10.0.0.2 n2 rs", "none 1 2 | 1 | 1 2 | any"},
    {EXTERNAL, "10.0.0.2 n2 rs", "none 2 | | 2 | any"},
    {EXTERNAL, "10.0.0.1 n1 st; 10.0.0.2 n2 rs", "none 2 | 1 | 1 2 | any local-fell-back"},
    {EXTERNAL, "10.0.0.1 n1 st; 10.0.0.2 n2 st",
     "none 1 2 | 1 | 1 2 | any cluster-fell-back local-fell-back"},
    {EXTERNAL, "10.0.0.1 n1 rs z:b; 10.0.0.2 n2 rs z:a; 10.0.0.3 n2 rs z:a",
     "zone 2 3 | 1 | 1 2 3 | any"},
    {EXTERNAL, "10.0.0.1 n1 rs z:a; 10.0.0.2 n1 rs z:b", "zone 1 | 1 2 | 1 2 | any"},
    {EXTERNAL, "10.0.0.1 n1 s; 10.0.0.2 n2 t", "none | | |"},
};

/* The last number of each address. */
static void append_list(struct str_buf *b, struct ks_list list)
{
    for (size_t i = 0; i < list.n; i++) {
        str_appendf(b, " %u", list.items[i]->ip.bytes[3]);
    }
    str_append(b, " |");
}

static const char *lists_text(struct arena *a, const struct ks_port *p)
{
    static const char *const modes[] = {"none", "zone", "node"};
    struct str_buf b = STR_BUF_INIT;
    str_append(&b, modes[p->topology]);
    append_list(&b, p->cluster);
    append_list(&b, p->local);
    append_list(&b, p->reachable);
    str_appendf(&b, "%s%s%s", p->has_any ? " any" : "",
                p->cluster_fell_back ? " cluster-fell-back" : "",
                p->local_fell_back ? " local-fell-back" : "");
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

static const struct ks_port *only_port(struct arena *a, const struct ks_node_config *config,
                                       const char *spec, const char *endpoints)
{
    const struct ks_slice *slice = slice_of(a, "s-1", "s", endpoints);
    const struct ks_service *service = service_of(a, "s", spec);
    const struct ks_world *w = ks_world_make(a, config, &service, 1, &slice, 1);
    assert_int_equal(w->n_ports, 1);
    return w->ports;
}

static void lists__rows(void **state)
{
    struct arena *a = *state;
    struct ks_node_config config = config_of(KS_IPV4);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *got = lists_text(a, only_port(a, &config, rows[i].spec, rows[i].endpoints));
        if (!str_eq(got, rows[i].want)) {
            fail_msg("%s\n %s\n   got: %s\n  want: %s", rows[i].spec, rows[i].endpoints, got,
                     rows[i].want);
        }
    }
}

static void lists__of_a_node_without_zone__have_no_topology_by_zone(void **state)
{
    struct ks_node_config config = config_of(KS_IPV4);
    config.zone = "";
    assert_string_equal(lists_text(*state, only_port(*state, &config, CLUSTER,
                                                     "10.0.0.1 n1 rs z:a; 10.0.0.2 n2 rs z:b")),
                        "none 1 2 | | 1 2 | any");
}

/* ---- addresses that take node ports ---------------------------------------------------------- */

static const struct {
    enum ks_family family;
    const char *cidrs; /* joined with commas */
    bool everywhere;
    bool localhost;
    const char *addresses;
} node_ports[] = {
    {KS_IPV4, NULL, true, true, "10.0.0.5 192.168.0.2"},
    {KS_IPV4, "fd00::/8", true, true, "10.0.0.5 192.168.0.2"}, /* the other family's do not count */
    {KS_IPV4, "0.0.0.0/0", true, true, "10.0.0.5 192.168.0.2"},
    {KS_IPV4, "10.0.0.0/8,0.0.0.0/0", true, true, "10.0.0.5 192.168.0.2"},
    {KS_IPV4, "10.0.0.0/8", false, false, "10.0.0.5"},
    {KS_IPV4, "10.0.0.0/8,127.0.0.0/8", false, true, "10.0.0.5"},
    {KS_IPV4, "127.0.0.1/32,::1/128", false, true, ""},
    {KS_IPV4, "1.2.3.0/24", false, false, ""},
    {KS_IPV4, "primary", false, false, "192.168.0.2"},
    {KS_IPV6, NULL, true, false, "2001:db8::2"},
    {KS_IPV6, "::1/128", false, false, ""},
    {KS_IPV6, "primary", false, false, "2001:db8::2"},
};

static void node_port_addresses__rows(void **state)
{
    static const char *addresses[] = {"192.168.0.2", "10.0.0.5",    "127.0.0.1",
                                      "::1",         "2001:db8::2", "10.0.0.5"};
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(node_ports); i++) {
        struct ks_node_config config = config_of(node_ports[i].family);
        config.addresses = addresses;
        config.n_addresses = ARRAY_LEN(addresses);
        if (node_ports[i].cidrs != NULL) {
            config.node_port_addresses = (const char **)str_split(a, node_ports[i].cidrs, ',',
                                                                  &config.n_node_port_addresses);
        }
        size_t n;
        const struct ip_addr *ips = ks_node_port_addresses(a, &config, &n);
        struct str_buf b = STR_BUF_INIT;
        for (size_t j = 0; j < n; j++) {
            char text[IP_TEXT_MAX];
            ip_format(&ips[j], text);
            str_appendf(&b, "%s%s", j > 0 ? " " : "", text);
        }
        assert_string_equal(str_buf_text(&b), node_ports[i].addresses);
        assert_int_equal(ks_node_ports_everywhere(&config), node_ports[i].everywhere);
        assert_int_equal(ks_localhost_node_ports(&config), node_ports[i].localhost);
        str_buf_done(&b);
    }
}

static void config_default__is_that_of_kube_proxy(void **state)
{
    struct ks_node_config c = ks_node_config_default(KS_IPV4);
    (void)state;
    assert_int_equal(c.masquerade_bit, 14);
    assert_true(c.localhost_node_ports && c.random_fully && !c.masquerade_all);
    assert_int_equal(c.detect, KS_DETECT_NONE);
    assert_string_equal(c.scheduler, "");
    c.localhost_node_ports = false;
    assert_false(ks_localhost_node_ports(&c));
}

UNIT_MAIN(node_lists)
{
    const struct CMUnitTest tests[] = {
        services_test(lists__rows),
        services_test(lists__of_a_node_without_zone__have_no_topology_by_zone),
        services_test(node_port_addresses__rows),
        services_test(config_default__is_that_of_kube_proxy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
