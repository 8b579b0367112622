/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace.c: where a packet goes, in the three modes: the table of decisions in
 * docs/services.md, row by row.
 *
 * One Service, node n1 with 192.168.0.2 and 192.168.1.2; endpoints are written as the last number
 * of 10.244.0.X. */
#include "tests/unit/services/services_test.h"

#include "common/services/trace/trace.h"
#include "tests/support/doc_page.h"

#define ALL         "10.244.0.1 n1 rs; 10.244.0.2 n2 rs"
#define REMOTE      "10.244.0.2 n2 rs"
#define LAST        "10.244.0.1 n1 st; 10.244.0.2 n2 rs" /* the last pod here is on its way out */
#define NONE        "10.244.0.1 n1 s"
#define UNREADY_POD REMOTE "; 10.244.0.77 n1 s" /* POD is an endpoint here that is not ready */

#define CLIENT "8.8.8.8"
#define POD    "10.244.0.77" /* within the detector's CIDR */
#define NODE   "192.168.0.2"

#define CIP  "10.1.0.1:80"
#define EIP  "198.51.100.1:80"
#define VIP  "203.0.113.1:80"
#define NP   "192.168.1.2:30080"
#define BACK "127.0.0.1:30080"

#define LOCAL  "'externalTrafficPolicy': 'Local', 'healthCheckNodePort': 32000, "
#define INTERN "'internalTrafficPolicy': 'Local', "
#define RANGES "'loadBalancerSourceRanges': ['8.8.0.0/16'], "
#define WIDE   "'loadBalancerSourceRanges': ['8.8.0.0/16', '192.168.0.0/24'], " /* the node, too */

/* Configuration of the proxy. */
enum {
    DETECT = 1,    /* ClusterCIDR 10.244.0.0/16 */
    MASQ_ALL = 2,  /* masquerade-all */
    NO_BACK = 4,   /* localhost node ports off */
    ONE_NET = 8,   /* node ports on 192.168.0.0/24 only */
    CIDRS = 16,    /* 10.1.0.0/16 are cluster IPs */
    FROM_NODE = 32 /* a process of the node sends it */
};

struct row {
    const char *spec; /* members of spec before the common ones */
    const char *endpoints;
    unsigned flags;
    const char *from;
    const char *to;
    const char *iptables;
    const char *nftables; /* "=": as iptables */
    const char *ipvs;     /* "=": as iptables */
};

static const struct row rows[] = {
    /* cluster IP: the source is kept, unless masquerade-all, or a detector sees no pod
     * of this node */
    {"", ALL, 0, CLIENT, CIP, "to cluster-list 1 2", "=", "="},
    {"", ALL, DETECT, CLIENT, CIP, "to cluster-list 1 2 masq", "=", "="},
    {"", ALL, DETECT, POD, CIP, "to cluster-list 1 2", "=", "="},
    {"", ALL, DETECT, NODE, CIP, "to cluster-list 1 2 masq", "=", "="},
    {"", ALL, DETECT | MASQ_ALL, POD, CIP, "to cluster-list 1 2 masq", "=", "="},
    {"", NONE, 0, CLIENT, CIP, "reject no-endpoints", "=", "="},
    {"", LAST, 0, CLIENT, CIP, "to cluster-list 2", "=", "="},
    {INTERN, ALL, 0, CLIENT, CIP, "to local-list 1", "=", "="},
    {INTERN, ALL, DETECT, CLIENT, CIP, "to local-list 1 masq", "=", "="},
    {INTERN, LAST, 0, CLIENT, CIP, "to local-list 1", "=", "="},
    {INTERN, REMOTE, 0, CLIENT, CIP, "drop no-local", "=", "to ipvs-no-local 2 loses-answer"},
    {INTERN, NONE, 0, CLIENT, CIP, "reject no-endpoints", "=", "="},
    /* node port, VIP, external IP with policy Cluster */
    {"", ALL, 0, CLIENT, NP, "to cluster-list 1 2 masq", "=", "="},
    {"", ALL, 0, CLIENT, VIP, "to cluster-list 1 2 masq", "=", "="},
    {"", ALL, 0, CLIENT, EIP, "to cluster-list 1 2 masq", "=", "="},
    {"", ALL, DETECT, POD, VIP, "to cluster-list 1 2 masq", "=", "="},
    {"", NONE, 0, CLIENT, NP, "reject no-endpoints", "=", "="},
    {"", NONE, 0, CLIENT, VIP, "reject no-endpoints", "=", "="},
    {"", NONE, 0, CLIENT, EIP, "reject no-endpoints", "=", "="},
    /* policy Local: pods of the node and the node itself may go everywhere, but for IPVS */
    {LOCAL, ALL, DETECT, POD, VIP, "to short-pod 1 2", "=", "to local-list 1"},
    {LOCAL, ALL, DETECT, POD, NP, "to short-pod 1 2", "=", "to local-list 1"},
    {LOCAL, REMOTE, DETECT, POD, EIP, "to short-pod 2", "=", "to ipvs-no-local 2"},
    {LOCAL, ALL, DETECT, NODE, VIP, "to short-node 1 2 masq", "=", "to local-list 1"},
    {LOCAL, REMOTE, 0, NODE, NP, "to short-node 2 masq", "=", "to ipvs-no-local 2"},
    {LOCAL, REMOTE, FROM_NODE, CLIENT, VIP, "to short-node 2 masq", "=", "to ipvs-no-local 2"},
    {LOCAL, NONE, 0, NODE, VIP, "reject no-endpoints", "=", "="},
    /* everything else: the local list */
    {LOCAL, ALL, 0, CLIENT, VIP, "to local-list 1", "=", "="},
    {LOCAL, ALL, 0, CLIENT, NP, "to local-list 1", "=", "="},
    {LOCAL, ALL, 0, CLIENT, EIP, "to local-list 1", "=", "="},
    {LOCAL, LAST, 0, CLIENT, VIP, "to local-list 1", "=", "="},
    {LOCAL, ALL, 0, POD, VIP, "to local-list 1", "=", "="}, /* no detector: a pod is outside */
    {LOCAL, REMOTE, 0, CLIENT, VIP, "drop no-local", "=", "to ipvs-no-local 2 loses-answer"},
    {LOCAL, REMOTE, 0, CLIENT, NP, "drop no-local", "=", "to ipvs-no-local 2 loses-answer"},
    {LOCAL, REMOTE, 0, CLIENT, EIP, "drop no-local", "=", "to ipvs-no-local 2 loses-answer"},
    {LOCAL, REMOTE, 0, POD, VIP, "drop no-local", "=", "to ipvs-no-local 2 loses-answer"},
    {LOCAL, UNREADY_POD, 0, POD, VIP, "drop no-local", "=", "to ipvs-no-local 2"},
    {LOCAL, NONE, 0, CLIENT, VIP, "reject no-endpoints", "=", "="},
    {LOCAL, REMOTE, 0, CLIENT, CIP, "to cluster-list 2", "=",
     "="}, /* the cluster IP has its own policy */
    {LOCAL INTERN, REMOTE, 0, CLIENT, CIP, "drop no-local", "=", "to ipvs-no-local 2 loses-answer"},
    {INTERN, REMOTE, 0, CLIENT, VIP, "to cluster-list 2 masq", "=", "="},
    /* source ranges: only for the VIP */
    {RANGES, ALL, 0, CLIENT, VIP, "to cluster-list 1 2 masq", "=", "="},
    {RANGES, ALL, 0, "9.9.9.9", VIP, "drop source-ranges", "=", "="},
    {RANGES, ALL, 0, NODE, VIP, "drop source-ranges", "=", "to cluster-list 1 2 masq"},
    {RANGES, ALL, DETECT, POD, VIP, "drop source-ranges", "=", "="},
    {RANGES, ALL, 0, "9.9.9.9", NP, "to cluster-list 1 2 masq", "=", "="},
    {RANGES, ALL, 0, "9.9.9.9", EIP, "to cluster-list 1 2 masq", "=", "="},
    {RANGES, ALL, 0, "9.9.9.9", CIP, "to cluster-list 1 2", "=", "="},
    {RANGES LOCAL, REMOTE, 0, CLIENT, VIP, "drop no-local", "=", "to ipvs-no-local 2 loses-answer"},
    {RANGES LOCAL, REMOTE, 0, "9.9.9.9", VIP, "drop source-ranges", "=", "="},
    /* … the VIP as its own client, on a node that is in a range */
    {RANGES, ALL, 0, "203.0.113.1", VIP, "drop source-ranges", "=", "="},
    {WIDE, ALL, 0, "203.0.113.1", VIP, "to cluster-list 1 2 masq", "=", "="},
    {WIDE, ALL, 0, NODE, VIP, "to cluster-list 1 2 masq", "=", "="},
    /* … and without endpoints: iptables has no firewall chain then */
    {RANGES, NONE, 0, "9.9.9.9", VIP, "reject no-endpoints", "drop source-ranges",
     "drop source-ranges"},
    {RANGES, NONE, 0, CLIENT, VIP, "reject no-endpoints", "=", "="},
    /* ipMode Proxy: the balancer's */
    {"", ALL, 0, CLIENT, "203.0.113.9:80", "pass not-captured", "=", "="},
    {"", ALL, 0, CLIENT, "203.0.113.9:81", "pass not-captured", "=", "="},
    /* loopback */
    {"", ALL, 0, "127.0.0.1", BACK, "to cluster-list 1 2 masq", "pass node-port-elsewhere",
     "pass node-port-elsewhere"},
    {LOCAL, REMOTE, 0, "127.0.0.1", BACK, "to short-node 2 masq", "pass node-port-elsewhere",
     "pass node-port-elsewhere"},
    {"", ALL, NO_BACK, "127.0.0.1", BACK, "pass node-port-elsewhere", "=", "="},
    {"", ALL, ONE_NET, "127.0.0.1", BACK, "pass node-port-elsewhere", "=", "="},
    {"", NONE, NO_BACK, "127.0.0.1", BACK, "reject no-endpoints", "pass node-port-elsewhere",
     "pass node-port-elsewhere"},
    {"", ALL, 0, "127.0.0.1", "127.9.9.9:30080", "to cluster-list 1 2 masq",
     "pass node-port-elsewhere", "pass node-port-elsewhere"},
    /* node ports on some addresses only */
    {"", ALL, ONE_NET, CLIENT, "192.168.0.2:30080", "to cluster-list 1 2 masq", "=", "="},
    {"", ALL, ONE_NET, CLIENT, NP, "pass node-port-elsewhere", "=", "="},
    {"", NONE, ONE_NET, CLIENT, NP, "reject no-endpoints", "pass node-port-elsewhere",
     "pass node-port-elsewhere"},
    {"", ALL, 0, CLIENT, "192.168.99.99:30080", "pass none", "=", "="}, /* another node's */
    {"", ALL, 0, CLIENT, "192.168.0.2:80", "pass none", "=", "="},
    /* from loopback to an address of the node: IPVS leaves 127.0.0.0/8 alone */
    {"", ALL, 0, "127.0.0.1", NP, "to cluster-list 1 2 masq", "=", "to cluster-list 1 2"},
    /* health check node port */
    {LOCAL, ALL, 0, CLIENT, "192.168.0.2:32000", "accept health-check", "=", "="},
    {LOCAL, NONE, 0, CLIENT, "192.168.0.2:32000", "accept health-check", "=", "="},
    {LOCAL, ALL, 0, CLIENT, "192.168.99.99:32000", "pass none", "=", "="},
    {"", ALL, 0, CLIENT, "192.168.0.2:32000", "pass none", "=", "="},
    /* an address of the Service, another port */
    {"", ALL, 0, CLIENT, "10.1.0.1:81", "pass wrong-port", "reject wrong-port",
     "reject wrong-port"},
    {"", ALL, 0, CLIENT, "10.1.0.1:0", "pass wrong-port", "reject wrong-port", "reject wrong-port"},
    {"", NONE, 0, CLIENT, "10.1.0.1:81", "pass wrong-port", "reject wrong-port",
     "reject wrong-port"},
    {"", ALL, 0, CLIENT, "203.0.113.1:81", "pass wrong-port", "=", "reject wrong-port"},
    {"", ALL, 0, CLIENT, "198.51.100.1:81", "pass wrong-port", "=", "reject wrong-port"},
    /* a cluster IP that no Service has */
    {"", ALL, CIDRS, CLIENT, "10.1.0.99:80", "pass none", "drop unallocated", "pass none"},
    {"", ALL, 0, CLIENT, "10.1.0.99:80", "pass none", "=", "="},
    {"", ALL, CIDRS, CLIENT, "10.1.0.1:81", "pass wrong-port", "reject wrong-port",
     "reject wrong-port"},
    /* an endpoint that meets itself; iptables asks all endpoints, the others those of the node */
    {"", ALL, 0, "10.244.0.1", CIP, "to cluster-list 1 2 masq-some hairpin", "=", "="},
    {"", ALL, 0, "10.244.0.2", CIP, "to cluster-list 1 2 masq-some hairpin", "to cluster-list 1 2",
     "to cluster-list 1 2"},
    {LOCAL, ALL, DETECT, "10.244.0.1", VIP, "to short-pod 1 2 masq-some hairpin", "=",
     "to local-list 1 masq hairpin"},
    {INTERN, ALL, 0, "10.244.0.1", CIP, "to local-list 1 masq hairpin", "=", "="},
    /* IPVS alone: the cluster IP as source */
    {LOCAL, ALL, 0, "10.1.0.1", VIP, "to local-list 1", "=", "to local-list 1 masq"},
    {LOCAL, ALL, DETECT, "10.1.0.1", VIP, "to local-list 1", "=", "="},
    {"", ALL, 0, "10.1.0.1", CIP, "to cluster-list 1 2", "=", "to cluster-list 1 2 masq"},
    /* nothing of ours */
    {"", ALL, 0, CLIENT, "1.2.3.4:80", "pass none", "=", "="},
    {"", ALL, 0, CLIENT, "[fd00::1]:80", "pass none", "=", "="},
};

static const char *const verdicts[] = {"pass", "to", "drop", "reject", "accept"};
static const char *const reasons[] = {
    [KS_R_NONE] = "none",
    [KS_R_CLUSTER_LIST] = "cluster-list",
    [KS_R_LOCAL_LIST] = "local-list",
    [KS_R_SHORT_CIRCUIT_POD] = "short-pod",
    [KS_R_SHORT_CIRCUIT_NODE] = "short-node",
    [KS_R_NO_ENDPOINTS] = "no-endpoints",
    [KS_R_NO_LOCAL_ENDPOINTS] = "no-local",
    [KS_R_SOURCE_RANGES] = "source-ranges",
    [KS_R_HEALTH_CHECK] = "health-check",
    [KS_R_WRONG_PORT] = "wrong-port",
    [KS_R_UNALLOCATED] = "unallocated",
    [KS_R_NOT_CAPTURED] = "not-captured",
    [KS_R_NODE_PORT_ELSEWHERE] = "node-port-elsewhere",
    [KS_R_IPVS_NO_LOCAL] = "ipvs-no-local",
};

static const char *trace_text(struct arena *a, const struct ks_trace *t)
{
    struct str_buf b = STR_BUF_INIT;
    str_appendf(&b, "%s %s", verdicts[t->verdict], reasons[t->reason]);
    for (size_t i = 0; i < t->list.n; i++) {
        const struct ip_addr *ip = &t->list.items[i]->ip;
        str_appendf(&b, " %u", ip->bytes[ip->len - 1]);
    }
    str_append(&b, t->masquerade_every ? " masq" : t->masquerade ? " masq-some" : "");
    str_append(&b, t->hairpin ? " hairpin" : "");
    str_append(&b, t->loses_answer ? " loses-answer" : "");
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

/* "ADDRESS:PORT", with brackets for IPv6. */
static struct ks_packet packet_of(struct arena *a, const char *from, const char *to)
{
    struct ks_packet p = {.protocol = "TCP"};
    const char *colon = strrchr(to, ':');
    char *dest = arena_strndup(a, to, (size_t)(colon - to));
    dest = *dest == '[' ? arena_strndup(a, dest + 1, strlen(dest) - 2) : dest;
    assert_true(ip_parse(from, &p.source) && ip_parse(dest, &p.dest));
    p.port = (int32_t)strtol(colon + 1, NULL, 10);
    return p;
}

static const struct ks_plan *plan_of(struct arena *a, const struct ks_node_config *config,
                                     const char *spec, const char *endpoints)
{
    const struct ks_service *service = service_of(
        a, "s",
        arena_printf(a,
                     "'spec': {%s'type': 'LoadBalancer', 'clusterIP': '10.1.0.1', 'externalIPs': "
                     "['198.51.100.1'], 'ports': [{'port': 80, 'nodePort': 30080}]}, 'status': "
                     "{'loadBalancer': {'ingress': [{'ip': '203.0.113.1'}, {'ip': '203.0.113.9', "
                     "'ipMode': 'Proxy'}]}}",
                     spec));
    const struct ks_slice *slice = slice_of(a, "s-1", "s", endpoints);
    return ks_plan_make(a, ks_world_make(a, config, &service, 1, &slice, 1));
}

static struct ks_node_config configured(unsigned flags)
{
    static const char *one_net[] = {"192.168.0.0/24"};
    static const char *cidrs[] = {"10.1.0.0/16", "fd00::/112"};
    struct ks_node_config config = config_of(KS_IPV4);
    if ((flags & DETECT) != 0) {
        config.detect = KS_DETECT_CIDR;
        config.detect_value = "10.244.0.0/16";
    }
    if ((flags & ONE_NET) != 0) {
        config.node_port_addresses = one_net;
        config.n_node_port_addresses = 1;
    }
    if ((flags & CIDRS) != 0) {
        config.service_cidrs = cidrs;
        config.n_service_cidrs = 2;
    }
    config.masquerade_all = (flags & MASQ_ALL) != 0;
    config.localhost_node_ports = (flags & NO_BACK) == 0;
    return config;
}

static void trace__decisions__rows(void **state)
{
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *r = &rows[i];
        const char *const wants[] = {
            [KS_IPTABLES] = r->iptables,
            [KS_IPVS] = str_eq(r->ipvs, "=") ? r->iptables : r->ipvs,
            [KS_NFTABLES] = str_eq(r->nftables, "=") ? r->iptables : r->nftables,
        };
        struct ks_node_config config = configured(r->flags);
        const struct ks_plan *plan = plan_of(a, &config, r->spec, r->endpoints);
        struct ks_packet p = packet_of(a, r->from, r->to);
        p.from_node = (r->flags & FROM_NODE) != 0;
        for (int mode = KS_IPTABLES; mode <= KS_NFTABLES; mode++) {
            struct ks_trace t = ks_trace_packet(a, plan, (enum ks_mode)mode, &p);
            const char *got = trace_text(a, &t);
            if (!str_eq(got, wants[mode])) {
                fail_msg("row %zu, mode %d: %s\"%s\" %u: %s -> %s\n   got: %s\n  want: %s", i, mode,
                         r->spec, r->endpoints, r->flags, r->from, r->to, got, wants[mode]);
            }
        }
    }
}

/* ---- by interface ---------------------------------------------------------------------------- */

static void trace__detector_by_interface__asks_for_the_interface(void **state)
{
    static const struct {
        enum ks_detect detect;
        const char *value;
        const char *interface_;
        const char *want;
    } cases[] = {
        {KS_DETECT_BRIDGE, "cni0", "cni0", "to short-pod 2"},
        {KS_DETECT_BRIDGE, "cni0", "cni01", "drop no-local"},
        {KS_DETECT_BRIDGE, "cni0", NULL, "drop no-local"},
        {KS_DETECT_PREFIX, "veth", "veth12", "to short-pod 2"},
        {KS_DETECT_PREFIX, "veth", "eth0", "drop no-local"},
        {KS_DETECT_PREFIX, "veth", NULL, "drop no-local"},
    };
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct ks_node_config config = config_of(KS_IPV4);
        config.detect = cases[i].detect;
        config.detect_value = cases[i].value;
        struct ks_packet p = packet_of(a, POD, VIP);
        p.interface_ = cases[i].interface_;
        const struct ks_plan *plan = plan_of(a, &config, LOCAL, REMOTE);
        struct ks_trace t = ks_trace_packet(a, plan, KS_IPTABLES, &p);
        assert_string_equal(trace_text(a, &t), cases[i].want);
        t = ks_trace_packet(a, plan, KS_NFTABLES, &p);
        assert_string_equal(trace_text(a, &t), cases[i].want);
    }
}

/* ---- IPv6 ------------------------------------------------------------------------------------ */

static void trace__ipv6__rows(void **state)
{
    static const struct {
        const char *from;
        const char *to;
        const char *want; /* in iptables and nftables mode */
    } cases[] = {
        {"2001:db8:9::1", "[fd00:1::1]:80", "to cluster-list 1 2"},
        {"2001:db8:9::1", "[2001:db8::2]:30080", "to cluster-list 1 2 masq"},
        {"::1", "[::1]:30080", "pass node-port-elsewhere"},
        {"fd00:2::1", "[fd00:1::1]:80", "to cluster-list 1 2 masq-some hairpin"},
        {"2001:db8:9::1", "[fd00:1::2]:80", "pass none"},
        {"8.8.8.8", "10.1.0.1:80", "pass none"},
    };
    struct arena *a = *state;
    struct ks_node_config config = config_of(KS_IPV6);
    const struct ks_service *service =
        service_of(a, "s",
                   "'spec': {'type': 'NodePort', 'clusterIP': 'fd00:1::1', 'ports': "
                   "[{'port': 80, 'nodePort': 30080}]}");
    const struct ks_slice *slice = slice_of(a, "s-1", "s", "fd00:2::1 n1 rs; fd00:2::2 n2 rs");
    const struct ks_plan *plan = ks_plan_make(a, ks_world_make(a, &config, &service, 1, &slice, 1));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct ks_packet p = packet_of(a, cases[i].from, cases[i].to);
        struct ks_trace t = ks_trace_packet(a, plan, KS_IPTABLES, &p);
        assert_string_equal(trace_text(a, &t), cases[i].want);
        t = ks_trace_packet(a, plan, KS_NFTABLES, &p);
        assert_string_equal(trace_text(a, &t), cases[i].want);
    }
}

/* ---- what it names --------------------------------------------------------------------------- */

static const char *steps_text(struct arena *a, enum ks_mode mode, const char *spec,
                              const char *endpoints, const char *to)
{
    struct ks_node_config config = config_of(KS_IPV4);
    struct ks_packet p = packet_of(a, CLIENT, to);
    struct ks_trace t = ks_trace_packet(a, plan_of(a, &config, spec, endpoints), mode, &p);
    return str_join(a, t.steps, t.n_steps, " ");
}

static void trace__steps__are_chains_sets_and_maps_in_order(void **state)
{
    struct arena *a = *state;
    assert_string_equal(steps_text(a, KS_IPTABLES, RANGES, ALL, VIP),
                        "KUBE-SERVICES KUBE-FW-IFZG2GHEQVVUVAVZ KUBE-EXT-IFZG2GHEQVVUVAVZ "
                        "KUBE-MARK-MASQ KUBE-SVC-IFZG2GHEQVVUVAVZ");
    assert_string_equal(steps_text(a, KS_IPTABLES, LOCAL, REMOTE, NP),
                        "KUBE-SERVICES KUBE-NODEPORTS KUBE-EXT-IFZG2GHEQVVUVAVZ "
                        "KUBE-EXTERNAL-SERVICES");
    assert_string_equal(steps_text(a, KS_NFTABLES, RANGES LOCAL, ALL, VIP),
                        "firewall-check firewall-WNFRIKH4-ns/s/tcp/ services service-ips "
                        "external-WNFRIKH4-ns/s/tcp/ local-WNFRIKH4-ns/s/tcp/");
    assert_string_equal(steps_text(a, KS_NFTABLES, "", NONE, CIP),
                        "service-endpoints-check no-endpoint-services");
    assert_string_equal(steps_text(a, KS_IPVS, LOCAL, ALL, VIP),
                        "KUBE-LOAD-BALANCER KUBE-LOAD-BALANCER-LOCAL ip_vs");
    assert_string_equal(steps_text(a, KS_IPVS, "", ALL, NP), "KUBE-NODE-PORT KUBE-MARK-MASQ ip_vs");
    assert_string_equal(steps_text(a, KS_IPTABLES, "", ALL, "1.2.3.4:80"), "");
}

static void trace__destination__is_the_one_that_was_met(void **state)
{
    struct arena *a = *state;
    struct ks_node_config config = config_of(KS_IPV4);
    const struct ks_plan *plan = plan_of(a, &config, LOCAL, ALL);
    static const struct {
        const char *to;
        enum ks_dest_kind kind;
        int32_t number;
    } cases[] = {
        {CIP, KS_DEST_CLUSTER_IP, 80},
        {EIP, KS_DEST_EXTERNAL_IP, 80},
        {VIP, KS_DEST_LB_VIP, 80},
        {NP, KS_DEST_NODE_PORT, 30080},
        {"192.168.0.2:32000", KS_DEST_HEALTH_CHECK_PORT, 32000},
        {"203.0.113.9:80", KS_DEST_LB_VIP, 80},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct ks_packet p = packet_of(a, CLIENT, cases[i].to);
        struct ks_trace t = ks_trace_packet(a, plan, KS_IPTABLES, &p);
        assert_non_null(t.dest);
        assert_int_equal(t.dest->kind, cases[i].kind);
        assert_int_equal(t.dest->number, cases[i].number);
        assert_string_equal(t.dest->port->display, "ns/s");
    }
}

static void reasons__have_a_sentence_each__which_the_page_explains(void **state)
{
    const char *page = doc_page_read(*state, "services.md");
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        const char *text = ks_reason_text((enum ks_reason)i);
        assert_true(strlen(text) > 20);
        if (strstr(page, arena_printf(*state, "\n| %s |", text)) == NULL) {
            fail_msg("docs/services.md does not explain: %s", text);
        }
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(text, ks_reason_text((enum ks_reason)j));
        }
    }
    assert_string_equal(ks_reason_text((enum ks_reason)ARRAY_LEN(reasons)),
                        ks_reason_text(KS_R_NONE));
}

UNIT_MAIN(trace)
{
    const struct CMUnitTest tests[] = {
        services_test(trace__decisions__rows),
        services_test(trace__detector_by_interface__asks_for_the_interface),
        services_test(trace__ipv6__rows),
        services_test(trace__steps__are_chains_sets_and_maps_in_order),
        services_test(trace__destination__is_the_one_that_was_met),
        services_test(reasons__have_a_sentence_each__which_the_page_explains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
