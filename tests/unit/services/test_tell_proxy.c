/* SPDX-License-Identifier: Apache-2.0 */
/* test_tell_proxy.c: kube-proxy's configuration from its ConfigMap, and as it is on one node. */
#include "tests/unit/services/services_test.h"

#include "common/services/tell/cluster.h"

static struct ks_proxy parse(struct arena *a, const char *text)
{
    struct ks_proxy p;
    struct err err = ERR_INIT;
    if (ks_proxy_parse(a, text, strlen(text), &p, &err) != ERR_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    return p;
}

static void proxy_parse__refuses__what_kube_proxy_would_not_take(void **state)
{
    static const struct {
        const char *text;
        const char *error;
    } rows[] = {
        {"mode: userspace\n", "mode: \"userspace\" is not a mode of kube-proxy on Linux"},
        {"detectLocalMode: Magic\n", "detectLocalMode: \"Magic\" is not known"},
        {"iptables: {masqueradeBit: 32}\n", "masqueradeBit"},
        {"iptables: {masqueradeBit: -1}\n", "masqueradeBit"},
        {"nodePortAddresses: 5\n", "nodePortAddresses"},
        {"detectLocal: {bridgeInterface: \"br0\\n-A INPUT -j ACCEPT\"}\n",
         "detectLocal.bridgeInterface: want letters"},
        {"detectLocal: {interfaceNamePrefix: \"a b\"}\n", "detectLocal.interfaceNamePrefix: want"},
        {"ipvs: {scheduler: \"rr\\e[31m\"}\n", "ipvs.scheduler: want letters"},
        {"- a\n", "want the fields of a KubeProxyConfiguration"},
        {"", "want the fields of a KubeProxyConfiguration"},
        {"a: [b\n", "line"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct ks_proxy p = {.masquerade_bit = 99};
        struct err err = ERR_INIT;
        int code = ks_proxy_parse(*state, rows[i].text, strlen(rows[i].text), &p, &err);
        if (code != ERR_INVALID || strstr(err.message, rows[i].error) == NULL) {
            fail_msg("%s: want \"%s\", got %d \"%s\"", rows[i].text, rows[i].error, code,
                     err.message);
        }
        assert_int_equal(p.masquerade_bit, 99);
    }
}

static void proxy_parse__absent_and_null__are_defaults(void **state)
{
    static const char *const texts[] = {
        "{}", "mode: \"\"\niptables: {masqueradeBit: null, localhostNodePorts: null}\n",
        "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nunknown: 1\n"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        const struct ks_proxy p = parse(*state, texts[i]);
        assert_int_equal(p.mode, KS_IPTABLES);
        assert_string_equal(p.mode_text, "");
        assert_int_equal(p.masquerade_bit, 14);
        assert_true(p.localhost_node_ports);
        assert_int_equal(p.n_cluster_cidrs, 0);
    }
}

static const struct ks_node *node_of(struct arena *a)
{
    const struct ks_node *node = NULL;
    struct err err = ERR_INIT;
    struct json_object *o =
        json_of(a, "{'metadata': {'name': 'n1', 'labels': {'topology.kubernetes.io/zone': 'a'}},"
                   " 'spec': {'podCIDRs': ['10.244.1.0/24', 'fd00:1::/64']},"
                   " 'status': {'addresses': [{'type': 'Hostname', 'address': 'n1'},"
                   " {'type': 'InternalIP', 'address': '10.0.0.1'},"
                   " {'type': 'InternalIP', 'address': 'fd00::1'}]}}");
    assert_int_equal(ks_node_decode(a, o, "", &node, &err), ERR_OK);
    return node;
}

static void proxy_node__detector__by_mode_and_family(void **state)
{
    static const struct {
        const char *text;
        enum ks_family family;
        enum ks_detect detect;
        const char *value; /* "": none */
    } rows[] = {
        {"clusterCIDR: 10.244.0.0/16", KS_IPV4, KS_DETECT_CIDR, "10.244.0.0/16"},
        {"clusterCIDR: 10.244.0.0/16", KS_IPV6, KS_DETECT_NONE, ""},
        {"clusterCIDR: 'fd00:1::/56, 10.244.0.0/16'", KS_IPV4, KS_DETECT_CIDR, "10.244.0.0/16"},
        {"clusterCIDR: 'fd00:1::/56, 10.244.0.0/16'", KS_IPV6, KS_DETECT_CIDR, "fd00:1::/56"},
        {"detectLocalMode: NodeCIDR\nclusterCIDR: 10.0.0.0/8", KS_IPV4, KS_DETECT_CIDR,
         "10.244.1.0/24"},
        {"detectLocalMode: NodeCIDR", KS_IPV6, KS_DETECT_CIDR, "fd00:1::/64"},
        {"detectLocalMode: BridgeInterface\ndetectLocal: {bridgeInterface: cni0}", KS_IPV4,
         KS_DETECT_BRIDGE, "cni0"},
        {"detectLocalMode: InterfaceNamePrefix\ndetectLocal: {interfaceNamePrefix: veth}", KS_IPV4,
         KS_DETECT_PREFIX, "veth"},
        {"detectLocalMode: BridgeInterface", KS_IPV4, KS_DETECT_NONE, ""},
        {"{}", KS_IPV4, KS_DETECT_NONE, ""},
    };
    const struct ks_cluster none = {0};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct ks_proxy p = parse(*state, rows[i].text);
        const struct ks_node_config c =
            ks_proxy_node(*state, &p, &none, node_of(*state), KS_IPTABLES, rows[i].family);
        if (c.detect != rows[i].detect || !str_eq(str_nonnull(c.detect_value), rows[i].value)) {
            fail_msg("%s: want %d %s, got %d %s", rows[i].text, rows[i].detect, rows[i].value,
                     c.detect, str_nonnull(c.detect_value));
        }
        assert_string_equal(c.zone, "a");
        assert_string_equal(c.ip, rows[i].family == KS_IPV6 ? "fd00::1" : "10.0.0.1");
    }
}

static void proxy_node__node_ports__primary_in_nftables_and_loopback_by_range(void **state)
{
    static const struct {
        const char *text;
        enum ks_mode mode;
        size_t n_addresses;
        bool localhost;
    } rows[] = {
        {"{}", KS_IPTABLES, 0, true},
        {"{}", KS_NFTABLES, 1, true},
        {"nodePortAddresses: [10.0.0.0/8]", KS_IPTABLES, 1, false},
        {"nodePortAddresses: [10.0.0.0/8, 127.0.0.0/8]", KS_IPTABLES, 2, true},
        {"nodePortAddresses: [0.0.0.0/0]", KS_IPTABLES, 1, true},
        {"iptables: {localhostNodePorts: false}", KS_IPTABLES, 0, false},
    };
    const struct ks_cluster none = {0};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct ks_proxy p = parse(*state, rows[i].text);
        const struct ks_node_config c =
            ks_proxy_node(*state, &p, &none, node_of(*state), rows[i].mode, KS_IPV4);
        if (c.n_node_port_addresses != rows[i].n_addresses ||
            c.localhost_node_ports != rows[i].localhost) {
            fail_msg("%s: want %zu %d, got %zu %d", rows[i].text, rows[i].n_addresses,
                     rows[i].localhost, c.n_node_port_addresses, c.localhost_node_ports);
        }
    }
}

static void proxy_node__mark__is_of_the_mode(void **state)
{
    const struct ks_proxy p =
        parse(*state,
              "iptables: {masqueradeBit: 10, masqueradeAll: true}\nnftables: {masqueradeBit: 20}");
    const struct ks_cluster none = {0};
    static const unsigned bits[] = {10, 10, 20};
    for (int mode = KS_IPTABLES; mode <= KS_NFTABLES; mode++) {
        const struct ks_node_config c =
            ks_proxy_node(*state, &p, &none, node_of(*state), (enum ks_mode)mode, KS_IPV4);
        assert_int_equal(c.masquerade_bit, bits[mode]);
        assert_int_equal(c.masquerade_all, mode != KS_NFTABLES);
    }
}

static void proxy_text__of_a_config_map__by_key_or_kind(void **state)
{
    static const char *const rows[][2] = {
        {"{'data': {'config.conf': 'mode: ipvs', 'x': 'y'}}", "mode: ipvs"},
        {"{'data': {'a': 'b', 'other.yaml': 'kind: KubeProxyConfiguration'}}",
         "kind: KubeProxyConfiguration"},
        {"{'data': {'a': 'b', 'n': 5}}", NULL},
        {"{'data': []}", NULL},
        {"{}", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *text = ks_proxy_text(json_of(*state, rows[i][0]));
        if (!str_eq(text, rows[i][1])) {
            fail_msg("%s: want %s, got %s", rows[i][0], str_or(rows[i][1], "none"),
                     str_or(text, "none"));
        }
    }
}

UNIT_MAIN(tell_proxy)
{
    const struct CMUnitTest tests[] = {
        services_test(proxy_parse__refuses__what_kube_proxy_would_not_take),
        services_test(proxy_parse__absent_and_null__are_defaults),
        services_test(proxy_node__detector__by_mode_and_family),
        services_test(proxy_node__node_ports__primary_in_nftables_and_loopback_by_range),
        services_test(proxy_node__mark__is_of_the_mode),
        services_test(proxy_text__of_a_config_map__by_key_or_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
