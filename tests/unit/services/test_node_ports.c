/* SPDX-License-Identifier: Apache-2.0 */
/* test_node_ports.c: which Services a proxy of a family sees, and what it knows of their ports. */
#include "tests/unit/services/services_test.h"

#include "common/services/node/ports.h"

static void append_flag(struct str_buf *b, bool on, const char *name)
{
    if (on) {
        str_appendf(b, " %s", name);
    }
}

static void append_ips(struct str_buf *b, const char *what, const struct ip_addr *ips, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char text[IP_TEXT_MAX];
        ip_format(&ips[i], text);
        str_appendf(b, " %s=%s", what, text);
    }
}

/* A port in one line; members that are zero or empty are left out. */
static void append_port(struct str_buf *b, const struct ks_port *p)
{
    char ip[IP_TEXT_MAX];
    ip_format(&p->cluster_ip, ip);
    str_appendf(b, "%s/%s %s:%d", p->display, p->proto, ip, p->port);
    if (p->node_port != 0) {
        str_appendf(b, " node-port=%d", p->node_port);
    }
    if (p->affinity_s != 0) {
        str_appendf(b, " affinity=%d", p->affinity_s);
    }
    append_ips(b, "external", p->external_ips, p->n_external_ips);
    append_ips(b, "vip", p->lb_vips, p->n_lb_vips);
    for (size_t i = 0; i < p->n_source_ranges; i++) {
        char net[IP_TEXT_MAX];
        ip_net_format(&p->source_ranges[i], net);
        str_appendf(b, " range=%s", net);
    }
    if (p->health_check_node_port != 0) {
        str_appendf(b, " health=%d", p->health_check_node_port);
    }
    append_flag(b, p->external_local, "external-local");
    append_flag(b, p->internal_local, "internal-local");
    append_flag(b, p->externally_accessible, "accessible");
    append_flag(b, p->uses_cluster, "cluster");
    append_flag(b, p->uses_local, "local");
}

static const char *ports_text(struct arena *a, const char *members, enum ks_family family)
{
    size_t n;
    const struct ks_port *ports = ks_service_ports(a, service_of(a, "s", members), family, &n);
    struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        str_append(&b, i > 0 ? "; " : "");
        append_port(&b, &ports[i]);
    }
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

#define PORT "'ports': [{'port': 80}]"
#define BASE "'clusterIP': '10.1.0.1', " PORT
#define LB   "'type': 'LoadBalancer', " BASE

static const struct {
    const char *members; /* of the Service */
    enum ks_family family;
    const char *want;
} rows[] = {
    /* which Services */
    {"'spec': {" BASE "}", KS_IPV4, "ns/s/tcp 10.1.0.1:80 cluster"},
    {"'spec': {" BASE "}", KS_IPV6, ""},
    {"'spec': {" PORT "}", KS_IPV4, ""},
    {"'spec': {'clusterIP': 'None', " PORT "}", KS_IPV4, ""},
    {"'spec': {'type': 'ExternalName', " BASE "}", KS_IPV4, ""},
    {"'spec': {'clusterIP': '10.1.0.1'}", KS_IPV4, ""},
    {"'spec': {'clusterIP': 'nonsense', " PORT "}", KS_IPV4, ""},
    /* the cluster IP of the family */
    {"'spec': {" BASE ", 'ipFamilies': ['IPv4', 'IPv6'], 'clusterIPs': ['10.1.0.1', 'fd00::1']}",
     KS_IPV6, "ns/s/tcp fd00::1:80 cluster"},
    {"'spec': {" BASE ", 'ipFamilies': ['IPv6', 'IPv4'], 'clusterIPs': ['fd00::1', '10.1.0.2']}",
     KS_IPV4, "ns/s/tcp 10.1.0.2:80 cluster"},
    {"'spec': {" BASE ", 'ipFamilies': ['IPv4', 'IPv6'], 'clusterIPs': ['10.1.0.1']}", KS_IPV6, ""},
    {"'spec': {" BASE ", 'ipFamilies': ['IPv6'], 'clusterIPs': ['fd00::1']}", KS_IPV4, ""},
    /* names, order, duplicates, protocol */
    {"'spec': {'clusterIP': '10.1.0.1', 'ports': [{'name': 'b', 'port': 2}, {'name': 'a', 'port': "
     "1, "
     "'protocol': 'UDP'}, {'name': 'a', 'port': 3, 'protocol': 'SCTP'}]}",
     KS_IPV4,
     "ns/s:a/sctp 10.1.0.1:3 cluster; ns/s:a/udp 10.1.0.1:1 cluster; ns/s:b/tcp 10.1.0.1:2 "
     "cluster"},
    {"'spec': {'clusterIP': '10.1.0.1', 'ports': [{'port': 1}, {'port': 2}]}", KS_IPV4,
     "ns/s/tcp 10.1.0.1:2 cluster"},
    /* external addresses */
    {"'spec': {" BASE ", 'externalIPs': ['010.1.2.3', 'fd00::3', 'x', '1.2.3.4']}", KS_IPV4,
     "ns/s/tcp 10.1.0.1:80 external=10.1.2.3 external=1.2.3.4 accessible cluster"},
    {"'spec': {" LB
     "}, 'status': {'loadBalancer': {'ingress': [{'ip': '1.1.1.1'}, {'ip': '1.1.1.2', "
     "'ipMode': 'VIP'}, {'ip': '1.1.1.3', 'ipMode': 'Proxy'}, {'hostname': 'x.example'}, {'ip': "
     "'fd00::9'}]}}",
     KS_IPV4, "ns/s/tcp 10.1.0.1:80 vip=1.1.1.1 vip=1.1.1.2 accessible cluster"},
    /* source ranges */
    {"'spec': {" LB ", 'loadBalancerSourceRanges': [' 10.0.0.1/8 ', 'x', 'fd00::/8', "
     "'::ffff:10.0.0.0/104']}",
     KS_IPV4, "ns/s/tcp 10.1.0.1:80 range=10.0.0.0/8 range=10.0.0.0/8 cluster"},
    {"'spec': {" LB ", 'loadBalancerSourceRanges': ['fd00::/8']}", KS_IPV4,
     "ns/s/tcp 10.1.0.1:80 cluster"}, /* all are of the other family: open */
    {"'spec': {" LB ", 'loadBalancerSourceRanges': ['10.0.0.0/8', '5.6.7.8/0']}", KS_IPV4,
     "ns/s/tcp 10.1.0.1:80 cluster"},
    {"'spec': {" LB ", 'loadBalancerSourceRanges': ['10.0.0.0/8', '::/0']}", KS_IPV4,
     "ns/s/tcp 10.1.0.1:80 range=10.0.0.0/8 cluster"}, /* opens only its own family */
    /* affinity */
    {"'spec': {" BASE ", 'sessionAffinity': 'ClientIP', 'sessionAffinityConfig': {'clientIP': "
     "{'timeoutSeconds': 7}}}",
     KS_IPV4, "ns/s/tcp 10.1.0.1:80 affinity=7 cluster"},
    {"'spec': {" BASE ", 'sessionAffinity': 'ClientIP'}", KS_IPV4,
     "ns/s/tcp 10.1.0.1:80 affinity=10800 cluster"},
    {"'spec': {" BASE ", 'sessionAffinity': 'None', 'sessionAffinityConfig': {'clientIP': "
     "{'timeoutSeconds': 7}}}",
     KS_IPV4, "ns/s/tcp 10.1.0.1:80 cluster"},
    /* policies: accessible by kind of Service, and by this family's addresses, are two things */
    {"'spec': {" BASE ", 'externalTrafficPolicy': 'Local'}", KS_IPV4,
     "ns/s/tcp 10.1.0.1:80 cluster"},
    {"'spec': {" LB ", 'externalTrafficPolicy': 'Local', 'healthCheckNodePort': 9}", KS_IPV4,
     "ns/s/tcp 10.1.0.1:80 health=9 external-local cluster"},
    {"'spec': {" LB ", 'healthCheckNodePort': 9}", KS_IPV4, "ns/s/tcp 10.1.0.1:80 cluster"},
    {"'spec': {'type': 'NodePort', 'clusterIP': '10.1.0.1', 'ports': [{'port': 80, 'nodePort': "
     "30080}], 'externalTrafficPolicy': 'Local', 'healthCheckNodePort': 9}",
     KS_IPV4, "ns/s/tcp 10.1.0.1:80 node-port=30080 external-local accessible cluster local"},
    {"'spec': {" BASE ", 'externalIPs': ['fd00::3'], 'externalTrafficPolicy': 'Local'}", KS_IPV4,
     "ns/s/tcp 10.1.0.1:80 external-local cluster"},
    {"'spec': {" BASE ", 'internalTrafficPolicy': 'Local'}", KS_IPV4,
     "ns/s/tcp 10.1.0.1:80 internal-local local"},
    {"'spec': {" BASE ", 'internalTrafficPolicy': 'Cluster'}", KS_IPV4,
     "ns/s/tcp 10.1.0.1:80 cluster"},
    {"'spec': {" BASE ", 'internalTrafficPolicy': 'Local', 'externalIPs': ['1.2.3.4']}", KS_IPV4,
     "ns/s/tcp 10.1.0.1:80 external=1.2.3.4 internal-local accessible cluster local"},
};

static void service_ports__rows(void **state)
{
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *got = ports_text(a, rows[i].members, rows[i].family);
        if (!str_eq(got, rows[i].want)) {
            fail_msg("%s\n   got: %s\n  want: %s", rows[i].members, got, rows[i].want);
        }
    }
}

static void service_ports__label_of_another_proxy__are_not_seen(void **state)
{
    struct arena *a = *state;
    const struct ks_service *s = NULL;
    struct err err = ERR_INIT;
    size_t n;
    const char *text = "{'metadata': {'namespace': 'ns', 'name': 's', 'labels': "
                       "{'service.kubernetes.io/service-proxy-name': ''}}, 'spec': {" BASE "}}";
    assert_int_equal(ks_service_decode(a, json_of(a, text), "", &s, &err), ERR_OK);
    assert_null(ks_service_ports(a, s, KS_IPV4, &n));
    assert_int_equal(n, 0);
}

UNIT_MAIN(node_ports)
{
    const struct CMUnitTest tests[] = {
        services_test(service_ports__rows),
        services_test(service_ports__label_of_another_proxy__are_not_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
