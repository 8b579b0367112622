/* SPDX-License-Identifier: Apache-2.0 */
/* test_tell_answer.c: shares over all nodes, what a load balancer leaves out, and what
 * an answer concludes. */
#include "tests/unit/services/services_test.h"

#include "common/services/tell/answer_parts.h"

#define LOCAL  "'externalTrafficPolicy': 'Local', 'healthCheckNodePort': 32000, "
#define RANGES "'loadBalancerSourceRanges': ['198.51.100.0/24'], "
#define VIP    "203.0.113.1"
#define CIP    "10.96.0.1"
#define SPREAD "10.244.1.1 n1 rs; 10.244.1.2 n1 rs; 10.244.2.1 n2 rs"
#define ZONED  "10.244.1.1 n1 rs z:a; 10.244.2.1 n2 rs z:b; 10.244.3.1 n3 rs z:b"

/* Nodes n1 in zone a, n2 and n3 in zone b, with addresses 10.0.0.1 to .3. */
static struct ks_cluster cluster_of(struct arena *a, const char *spec, const char *ip_mode,
                                    const char *endpoints)
{
    struct ks_cluster c = {.n_services = 1, .n_slices = 1, .n_nodes = 3};
    c.services = ARENA_ARRAY(a, const struct ks_service *, 1);
    c.slices = ARENA_ARRAY(a, const struct ks_slice *, 1);
    c.nodes = ARENA_ARRAY(a, const struct ks_node *, 3);
    c.services[0] =
        service_of(a, "web",
                   arena_printf(a,
                                "'spec': {'type': 'LoadBalancer', %s 'clusterIP': '" CIP "',"
                                " 'clusterIPs': ['" CIP "'], 'ipFamilies': ['IPv4'],"
                                " 'ports': [{'port': 80, 'nodePort': 30080}]},"
                                " 'status': {'loadBalancer': {'ingress': [{'ip': '" VIP
                                "', 'ipMode': '%s'}]}}",
                                spec, ip_mode));
    c.slices[0] = slice_of(a, "web-1", "web", endpoints);
    for (int i = 1; i <= 3; i++) {
        struct err err = ERR_INIT;
        struct json_object *o = json_of(
            a, arena_printf(a,
                            "{'metadata': {'name': 'n%d', 'labels':"
                            " {'topology.kubernetes.io/zone': '%s'}}, 'status': {'addresses':"
                            " [{'type': 'InternalIP', 'address': '10.0.0.%d'}]}}",
                            i, i == 1 ? "a" : "b", i));
        assert_int_equal(ks_node_decode(a, o, "", &c.nodes[i - 1], &err), ERR_OK);
    }
    ks_cluster_sort(a, &c);
    return c;
}

static struct ks_question question_of(const char *from, const char *to, int32_t port)
{
    struct ks_question q = {.from = from, .port = port, .protocol = "TCP"};
    assert_true(*from == '\0' || ip_parse(from, &q.source));
    assert_true(ip_parse(to, &q.dest));
    return q;
}

/* "delivered 10.244.1.1:80=0.250/kept …" */
static const char *text_of(struct arena *a, const struct ks_answer *x)
{
    static const char *const outcomes[] = {"delivered", "rejected", "dropped", "unreachable"};
    static const char *const sources[] = {"kept", "node", "director", "balancer"};
    struct str_buf b = STR_BUF_INIT;
    str_appendf(&b, "%s%s", x->partly ? "partly " : "", outcomes[x->outcome]);
    for (size_t i = 0; i < x->n_shares; i++) {
        str_appendf(&b, " %s=%.3f/%s", x->shares[i].address, x->shares[i].probability,
                    sources[x->shares[i].source]);
    }
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

static struct ks_cluster many_ports(struct arena *a, size_t ports, size_t services);

static void answer__all_nodes__rows(void **state)
{
    static const struct {
        const char *spec;
        const char *ip_mode;
        const char *endpoints;
        const char *from;
        const char *to;
        int32_t port;
        const char *want;
    } rows[] = {
        /* policy Cluster: each pod the same; policy Local: by node, then by pod */
        {"", "VIP", SPREAD, "8.8.8.8", VIP, 80,
         "delivered 10.244.1.1:80=0.333/node 10.244.1.2:80=0.333/node 10.244.2.1:80=0.333/node"},
        {LOCAL, "VIP", SPREAD, "8.8.8.8", VIP, 80,
         "delivered 10.244.1.1:80=0.250/kept 10.244.1.2:80=0.250/kept 10.244.2.1:80=0.500/kept"},
        /* a proxying load balancer sends to node ports, from its own address */
        {"", "Proxy", SPREAD, "8.8.8.8", VIP, 80,
         "delivered 10.244.1.1:80=0.333/node 10.244.1.2:80=0.333/node 10.244.2.1:80=0.333/node"},
        {LOCAL, "Proxy", SPREAD, "8.8.8.8", VIP, 80,
         "delivered 10.244.1.1:80=0.250/balancer 10.244.1.2:80=0.250/balancer "
         "10.244.2.1:80=0.500/balancer"},
        /* a node port without a balancer: the third node drops */
        {LOCAL, "VIP", SPREAD, "8.8.8.8", "10.0.0.3", 30080, "dropped"},
        {LOCAL, "VIP", SPREAD, "8.8.8.8", "10.0.0.2", 30080, "delivered 10.244.2.1:80=1.000/kept"},
        /* two nodes of a zone share one pod each; the other zone's pod has its node alone */
        {"", "VIP", ZONED, "8.8.8.8", VIP, 80,
         "delivered 10.244.1.1:80=0.333/node 10.244.2.1:80=0.333/node 10.244.3.1:80=0.333/node"},
        /* only terminating pods are left: every health check fails, so that all nodes count */
        {LOCAL, "VIP", "10.244.1.1 n1 st", "8.8.8.8", VIP, 80,
         "partly dropped 10.244.1.1:80=0.333/kept"},
        {"", "VIP", "10.244.1.1 n1 -", "8.8.8.8", VIP, 80, "rejected"},
        {RANGES, "VIP", SPREAD, "8.8.8.8", VIP, 80, "dropped"},
        {RANGES, "VIP", "10.244.1.1 n1 rs", "198.51.100.9", VIP, 80,
         "delivered 10.244.1.1:80=1.000/node"},
        {RANGES, "VIP", "10.244.1.1 n1 rs", "", VIP, 80, "delivered 10.244.1.1:80=1.000/node"},
        {"", "VIP", SPREAD, "8.8.8.8", VIP, 81, "unreachable"},
        {"", "VIP", SPREAD, "8.8.8.8", "203.0.113.9", 80, "unreachable"},
    };
    const struct ks_proxy proxy = ks_proxy_default();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct ks_cluster c =
            cluster_of(*state, rows[i].spec, rows[i].ip_mode, rows[i].endpoints);
        const struct ks_question q = question_of(rows[i].from, rows[i].to, rows[i].port);
        const struct ks_answer *x = ks_answer_make(*state, &c, &proxy, NULL, &q);
        if (!str_eq(text_of(*state, x), rows[i].want)) {
            fail_msg("row %zu: want\n%s\ngot\n%s", i, rows[i].want, text_of(*state, x));
        }
        assert_true(x->outcome == KS_DELIVERED || x->next != NULL);
        assert_true(x->outcome == KS_DELIVERED || x->n_because > 0);
    }
}

/* A way of a node among all, and of the node alone, are the same: nodes that are alike
 * are asked once. */
static void answer__each_node_among_all__is_as_it_is_alone(void **state)
{
    static const char *const specs[] = {"", LOCAL, RANGES, "'internalTrafficPolicy': 'Local', "};
    static const char *const pods[] = {
        SPREAD, ZONED, "10.244.1.1 n1 rs n:n1; 10.244.2.1 n2 rs n:n2", "10.244.1.1 n1 st", ""};
    static const char *const froms[] = {"", "8.8.8.8", "10.0.0.2", "10.244.1.1", "10.244.1.9"};
    static const char *const tos[] = {VIP, CIP};
    for (size_t i = 0; i < 4 * 5 * 5 * 2 * 3 * 2; i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        const struct ks_cluster c = cluster_of(a, specs[i % 4], "VIP", pods[i / 4 % 5]);
        struct ks_proxy proxy = ks_proxy_default();
        struct ks_question q = question_of(froms[i / 20 % 5], tos[i / 100 % 2], 80);
        q.mode = (enum ks_mode)(i / 200 % 3);
        q.any_node = true;
        if (i / 600 == 1 && str_has_prefix(froms[i / 20 % 5], "10.244.1.")) {
            proxy.detect_mode = "BridgeInterface";
            proxy.bridge = "cni0";
            q.client_node = c.nodes[0];
        }
        const struct ks_answer *all = ks_answer_make(a, &c, &proxy, NULL, &q);
        for (size_t n = 0; n < c.n_nodes; n++) {
            q.node = c.nodes[n];
            const struct ks_answer *one = ks_answer_make(a, &c, &proxy, NULL, &q);
            if (one->ways[0].outcome != all->ways[n].outcome ||
                one->ways[0].n_list != all->ways[n].n_list ||
                one->ways[0].masquerade != all->ways[n].masquerade ||
                one->ways[0].reason != all->ways[n].reason ||
                one->ways[0].ready != all->ways[n].ready ||
                one->ways[0].n_steps != all->ways[n].n_steps) {
                fail_msg("case %zu, node %zu: %d alone, %d among all", i, n, one->ways[0].outcome,
                         all->ways[n].outcome);
            }
        }
    }
}

static void answer__left_out_backends__get_nothing(void **state)
{
    const struct ks_cluster c = cluster_of(*state, "", "VIP", SPREAD);
    const struct ks_proxy proxy = ks_proxy_default();
    const struct ks_backend backends[] = {{"n1", NULL}, {"n2", "cordoned"}, {"n3", "cordoned"}};
    const struct ks_balancer b = {.backends = backends, .n_backends = 3, .unknown = "not asked"};
    struct ks_question q = question_of("8.8.8.8", VIP, 80);
    const struct ks_answer *x = ks_answer_make(*state, &c, &proxy, &b, &q);
    assert_ptr_equal(x->balancer, &b);
    assert_float_equal(x->ways[0].weight, 1.0, 1e-9);
    assert_float_equal(x->ways[1].weight, 0.0, 1e-9);
    assert_string_equal(x->ways[2].left_out, "cordoned");

    /* a client inside meets the address on its own node: the balancer has no part in it */
    q = question_of("10.244.3.7", VIP, 80);
    q.client_node = c.nodes[2];
    x = ks_answer_make(*state, &c, &proxy, &b, &q);
    assert_null(x->balancer);
    assert_int_equal(x->n_ways, 1);
    assert_string_equal(x->ways[0].node->meta.name, "n3");
    assert_float_equal(x->ways[0].weight, 1.0, 1e-9);
}

/* The load balancer decides whether and where packets arrive. */
static void answer__balances__rows(void **state)
{
    static const struct {
        struct ks_balance balance;
        const char *endpoints;
        const char *left_out; /* of every node; NULL: none */
        const char *want;
        const char *because;
    } rows[] = {
        {{true, KS_ALL_DOWN_OPEN},
         SPREAD,
         NULL,
         "delivered 10.244.1.1:80=0.333/kept 10.244.1.2:80=0.333/kept 10.244.2.1:80=0.333/kept",
         "policy Local"},
        {{false, KS_ALL_DOWN_OPEN},
         SPREAD,
         NULL,
         "delivered 10.244.1.1:80=0.250/kept 10.244.1.2:80=0.250/kept 10.244.2.1:80=0.500/kept",
         "policy Local"},
        {{false, KS_ALL_DOWN_OPEN},
         "10.244.1.1 n1 st",
         NULL,
         "partly dropped 10.244.1.1:80=0.333/kept",
         "it fails open"},
        {{false, KS_ALL_DOWN_UNKNOWN},
         "10.244.1.1 n1 st",
         NULL,
         "partly dropped 10.244.1.1:80=0.333/kept",
         "as most load balancers do"},
        {{false, KS_ALL_DOWN_CLOSED},
         "10.244.1.1 n1 st",
         NULL,
         "unreachable",
         "then sends to no node"},
        {{false, KS_ALL_DOWN_OPEN}, SPREAD, "cordoned", "unreachable", "leaves out every node"},
    };
    const struct ks_proxy proxy = ks_proxy_default();
    const struct ks_question q = question_of("8.8.8.8", VIP, 80);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct ks_cluster c = cluster_of(*state, LOCAL, "VIP", rows[i].endpoints);
        const struct ks_backend backends[] = {
            {"n1", rows[i].left_out}, {"n2", rows[i].left_out}, {"n3", rows[i].left_out}};
        const struct ks_balancer b = {.backends = backends,
                                      .n_backends = 3,
                                      .unknown = "not asked",
                                      .balance = rows[i].balance};
        const struct ks_answer *x = ks_answer_make(*state, &c, &proxy, &b, &q);
        bool said = false;
        for (size_t k = 0; k < x->n_because; k++) {
            said |= strstr(x->because[k], rows[i].because) != NULL;
        }
        if (!str_eq(text_of(*state, x), rows[i].want) || !said || x->next == NULL) {
            fail_msg("row %zu: want\n%s\ngot\n%s\n%s", i, rows[i].want, text_of(*state, x),
                     x->line);
        }
    }
}

/* Objects as no API server should store them. */
static void answer__odd_objects__have_a_reason(void **state)
{
    static const struct {
        const char *ports; /* of the Service */
        const char *slice_ports;
        const char *endpoints;
        const char *want;
    } rows[] = {
        {"", "{'name': '', 'port': 1}", "{'addresses': ['10.1.0.1']}",
         "it has no ports, so that none of its addresses leads to a pod"},
        {"{'port': 80}", "{'name': ''}", "{'addresses': ['10.1.0.1']}",
         "(they have \"\" TCP without a number)"},
        {"{'port': 80}", "{'port': 8080}", "{'addresses': ['10.1.0.1']}",
         "(they have one without a name, TCP)"},
        {"{'port': 80}", "{'name': '', 'port': 8080}",
         "{'addresses': []}, {'addresses': ['x']}, {'addresses': ['::1']}",
         "none of its 3 endpoints has an address of the family IPv4"},
        {"{'port': 80}, {'port': 81}", "{'name': '', 'port': 8080}", "{'addresses': ['10.1.0.1']}",
         "kube-proxy takes the last of them"},
    };
    const struct ks_proxy proxy = ks_proxy_default();
    const struct ks_question q = question_of("8.8.8.8", VIP, 80);
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        struct ks_cluster c = cluster_of(a, "", "VIP", SPREAD);
        c.services[0] = service_of(
            a, "web",
            arena_printf(a,
                         "'spec': {'type': 'LoadBalancer', 'clusterIP': '" CIP "', 'ports': [%s]},"
                         " 'status': {'loadBalancer': {'ingress': [{'ip': '" VIP "'}]}}",
                         rows[i].ports));
        struct json_object *o = json_of(
            a, arena_printf(a,
                            "{'metadata': {'name': 'web-1', 'namespace': 'ns', 'labels':"
                            " {'kubernetes.io/service-name': 'web'}}, 'addressType': 'IPv4',"
                            " 'ports': [%s], 'endpoints': [%s]}",
                            rows[i].slice_ports, rows[i].endpoints));
        assert_int_equal(ks_slice_decode(a, o, c.services[0]->meta.ns, &c.slices[0], &err), ERR_OK);
        const struct ks_answer *x = ks_answer_make(a, &c, &proxy, NULL, &q);
        if (strstr(x->line, rows[i].want) == NULL) {
            fail_msg("row %zu: \"%s\" is not in\n%s", i, rows[i].want, x->line);
        }
    }
}

/* Two Services with one address and port: it is said which other one may get the packet. */
static void answer__two_services_at_one_address__are_both_named(void **state)
{
    struct arena *a = *state;
    const struct ks_proxy proxy = ks_proxy_default();
    const struct ks_question q = question_of("8.8.8.8", VIP, 80);
    const struct ks_cluster c = many_ports(a, 1, 2);
    const struct ks_answer *x = ks_answer_make(a, &c, &proxy, NULL, &q);
    bool said = false;
    assert_int_equal(c.n_services, 2);
    for (size_t k = 0; k < x->n_because; k++) {
        said |= strstr(x->because[k], "has the same address and port") != NULL;
    }
    assert_true(said);
}

static void answer__hairpin__only_the_client_itself_sees_the_node(void **state)
{
    const struct ks_cluster c = cluster_of(*state, "", "VIP", SPREAD);
    const struct ks_proxy proxy = ks_proxy_default();
    struct ks_question q = question_of("10.244.1.1", CIP, 80);
    q.client_node = c.nodes[0];
    assert_string_equal(
        text_of(*state, ks_answer_make(*state, &c, &proxy, NULL, &q)),
        "delivered 10.244.1.1:80=0.333/node 10.244.1.2:80=0.333/kept 10.244.2.1:80=0.333/kept");
}

/* kube-proxy knows a pod of its node by the address or by the interface: the answer is the same.
 * Pods in the node's network, pods of other nodes and clients outside do not come in by it. */
static void answer__pod_of_the_node__is_seen_by_each_detector(void **state)
{
    static const struct {
        const char *from;
        int client; /* its node; -1: outside */
        const char *to;
        const char *want;
        const char *want_undetected;
    } rows[] = {
        {"10.244.1.9", 0, VIP,
         "delivered 10.244.1.1:80=0.333/kept 10.244.1.2:80=0.333/kept 10.244.2.1:80=0.333/kept",
         "delivered 10.244.1.1:80=0.500/kept 10.244.1.2:80=0.500/kept"},
        {"10.244.1.9", 0, CIP,
         "delivered 10.244.1.1:80=0.333/kept 10.244.1.2:80=0.333/kept 10.244.2.1:80=0.333/kept",
         "delivered 10.244.1.1:80=0.333/kept 10.244.1.2:80=0.333/kept 10.244.2.1:80=0.333/kept"},
        {"10.0.0.1", 0, VIP,
         "delivered 10.244.1.1:80=0.333/node 10.244.1.2:80=0.333/node 10.244.2.1:80=0.333/node",
         "delivered 10.244.1.1:80=0.333/node 10.244.1.2:80=0.333/node 10.244.2.1:80=0.333/node"},
        {"8.8.8.8", -1, VIP, "delivered 10.244.1.1:80=0.500/kept 10.244.1.2:80=0.500/kept",
         "delivered 10.244.1.1:80=0.500/kept 10.244.1.2:80=0.500/kept"},
        {"10.244.2.9", 1, VIP, "delivered 10.244.1.1:80=0.500/kept 10.244.1.2:80=0.500/kept",
         "delivered 10.244.1.1:80=0.500/kept 10.244.1.2:80=0.500/kept"},
    };
    const char *cidr = "10.244.1.0/24";
    struct ks_proxy proxies[4] = {ks_proxy_default(), ks_proxy_default(), ks_proxy_default(),
                                  ks_proxy_default()};
    proxies[1].cluster_cidrs = &cidr;
    proxies[1].n_cluster_cidrs = 1;
    proxies[2].detect_mode = "BridgeInterface";
    proxies[2].bridge = "cni0";
    proxies[3].detect_mode = "InterfaceNamePrefix";
    proxies[3].prefix = "cali";
    for (size_t i = 0; i < ARRAY_LEN(rows) * ARRAY_LEN(proxies); i++) {
        const size_t row = i / ARRAY_LEN(proxies), by = i % ARRAY_LEN(proxies);
        const struct ks_cluster c = cluster_of(*state, LOCAL, "VIP", SPREAD);
        struct ks_question q = question_of(rows[row].from, rows[row].to, 80);
        q.client_node = rows[row].client < 0 ? NULL : c.nodes[rows[row].client];
        q.node = c.nodes[0];
        const char *got = text_of(*state, ks_answer_make(*state, &c, &proxies[by], NULL, &q));
        const char *want = by == 0 ? rows[row].want_undetected : rows[row].want;
        if (!str_eq(got, want)) {
            fail_msg("row %zu, detector %zu: want\n%s\ngot\n%s", row, by, want, got);
        }
    }
}

static void answer__no_nodes__is_unreachable_and_says_what_is_missing(void **state)
{
    struct ks_cluster c = cluster_of(*state, "", "VIP", SPREAD);
    const struct ks_proxy proxy = ks_proxy_default();
    const struct ks_question q = question_of("8.8.8.8", VIP, 80);
    c.n_nodes = 0;
    const struct ks_answer *x = ks_answer_make(*state, &c, &proxy, NULL, &q);
    assert_int_equal(x->outcome, KS_UNREACHABLE);
    assert_non_null(strstr(x->line, "no node is known"));
    assert_non_null(strstr(x->next, "get nodes"));
}

/* ---- what it costs --------------------------------------------------------------------------- */

#define PER_SLICE 100

/* A Service with policy Local, four endpoints on each of `n` nodes; `spec` and `hints`
 * are further members. */
static struct ks_cluster large_cluster(struct arena *a, size_t n, const char *spec, bool hints)
{
    struct ks_cluster c = {.n_services = 1, .n_nodes = n, .n_slices = 4 * n / PER_SLICE};
    struct ks_node *nodes = ARENA_ARRAY(a, struct ks_node, n);
    const struct ks_node *like = cluster_of(a, "", "VIP", SPREAD).nodes[0];
    c.services = ARENA_ARRAY(a, const struct ks_service *, 1);
    c.services[0] = cluster_of(a, spec, "VIP", SPREAD).services[0];
    c.slices = ARENA_ARRAY(a, const struct ks_slice *, c.n_slices);
    c.nodes = ARENA_ARRAY(a, const struct ks_node *, n);
    for (size_t i = 0; i < n; i++) {
        const char **addresses = ARENA_ARRAY(a, const char *, 1);
        *addresses = arena_printf(a, "10.%zu.%zu.1", 128 + i / 250, i % 250);
        nodes[i] = *like;
        nodes[i].meta.name = arena_printf(a, "n%05zu", i);
        nodes[i].zone = i % 2 == 0 ? "a" : "b";
        nodes[i].addresses = addresses;
        nodes[i].n_addresses = 1;
        c.nodes[i] = &nodes[i];
    }
    for (size_t i = 0; i < c.n_slices; i++) {
        struct str_buf b = STR_BUF_INIT;
        for (size_t e = i * PER_SLICE; e < (i + 1) * PER_SLICE; e++) {
            const char *node = nodes[e % n].meta.name;
            str_appendf(&b, "%s10.%zu.%zu.%zu %s rs", e % PER_SLICE == 0 ? "" : "; ", e / 40000,
                        e / 200 % 200, e % 200, node);
            str_append(&b, hints ? arena_printf(a, " n:%s", node) : "");
        }
        c.slices[i] = slice_of(a, arena_printf(a, "web-%05zu", i), "web", str_buf_to_arena(&b, a));
        str_buf_done(&b);
    }
    ks_cluster_sort(a, &c);
    return c;
}

/* Nodes times endpoints would be 64 times as much for a cluster eight times as large. */
static void answer__many_nodes_and_endpoints__cost_their_sum(void **state)
{
    static const struct {
        const char *spec;
        const char *to;
        bool hints;
    } rows[] = {
        {LOCAL, VIP, false},
        {LOCAL, CIP, false},
        {"", VIP, true},
        {RANGES, VIP, false},
        {LOCAL RANGES "'internalTrafficPolicy': 'Local', ", CIP, false},
    };
    static const size_t sizes[] = {125, 1000};
    const struct ks_proxy proxy = ks_proxy_default();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
            _cleanup_(arena_freep) struct arena *a = arena_new();
            const struct ks_cluster c = large_cluster(a, sizes[k], rows[i].spec, rows[i].hints);
            struct ks_question q = question_of("", rows[i].to, 80);
            q.any_node = true;
            const struct ks_answer *x = ks_answer_make(a, &c, &proxy, NULL, &q);
            const size_t endpoints = 4 * sizes[k];
            assert_int_equal(x->outcome, KS_DELIVERED);
            assert_int_equal(x->n_shares, endpoints);
            assert_float_equal(x->shares[0].probability, 1.0 / (double)endpoints, 1e-9);
            assert_in_range(x->n_looked_at, endpoints, 10 * endpoints);
        }
    }
    (void)state;
}

/* One Service with `ports` ports, or `services` of one port at one address, on 60 nodes
 * with policy Local. */
static struct ks_cluster many_ports(struct arena *a, size_t ports, size_t services)
{
    struct ks_cluster c = large_cluster(a, 100, LOCAL, false);
    const struct ks_service *like = c.services[0];
    const struct ks_slice *slice = c.slices[0];
    struct ks_service_port *all = ARENA_ARRAY(a, struct ks_service_port, ports);
    struct ks_slice_port *of_slice = ARENA_ARRAY(a, struct ks_slice_port, ports);
    for (size_t i = 0; i < ports; i++) {
        const char *name = arena_printf(a, "p%zu", i);
        all[i] = like->ports[0];
        all[i].name = name;
        all[i].port = 80 + (int32_t)i;
        all[i].node_port = 0;
        of_slice[i] = slice->ports[0];
        of_slice[i].name = name;
    }
    c.services = ARENA_ARRAY(a, const struct ks_service *, services);
    for (size_t i = 0; i < services; i++) {
        struct ks_service *s = arena_memdup(a, like, sizeof(*like));
        s->meta.name = i == 0 ? "web" : arena_printf(a, "other%zu", i);
        s->ports = i == 0 ? all : &all[i % ports];
        s->n_ports = i == 0 ? ports : 1;
        c.services[i] = s;
    }
    for (size_t i = 0; i < c.n_slices; i++) {
        struct ks_slice *s = arena_memdup(a, c.slices[i], sizeof(*slice));
        s->ports = of_slice;
        s->n_ports = ports;
        c.slices[i] = s;
    }
    c.n_services = services;
    ks_cluster_sort(a, &c);
    return c;
}

/* A hundred times the ports, and a hundred Services at the address, are checked no
 * more than one. */
static void answer__ports_that_are_not_asked_for__cost_nothing(void **state)
{
    (void)state;
    const struct ks_proxy proxy = ks_proxy_default();
    const struct ks_question q = question_of("8.8.8.8", VIP, 80);
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct ks_cluster one = many_ports(a, 1, 1);
    const struct ks_cluster ports = many_ports(a, 100, 1);
    const struct ks_cluster services = many_ports(a, 100, 99);
    const struct ks_answer *x = ks_answer_make(a, &one, &proxy, NULL, &q);
    const struct ks_answer *y = ks_answer_make(a, &ports, &proxy, NULL, &q);
    const struct ks_answer *z = ks_answer_make(a, &services, &proxy, NULL, &q);
    assert_int_equal(x->outcome, KS_DELIVERED);
    assert_int_equal(x->n_shares, 400);
    assert_string_equal(text_of(a, y), text_of(a, x));
    assert_string_equal(text_of(a, z), text_of(a, x));
    assert_in_range(x->n_looked_at, 400, 4000);
    assert_int_equal(y->n_looked_at, x->n_looked_at);
    assert_in_range(z->n_looked_at, x->n_looked_at, x->n_looked_at + 100);
}

/* The Service of cluster_of() with `n` external addresses, and as many of a load balancer; a node's
 * address among both. */
static struct ks_cluster many_addresses(struct arena *a, const char *spec, size_t n)
{
    struct ks_cluster c = cluster_of(a, spec, "VIP", SPREAD);
    struct ks_service *s = arena_memdup(a, c.services[0], sizeof(*s));
    const char **external = ARENA_ARRAY(a, const char *, n + 1);
    struct ks_ingress *ingress = ARENA_ARRAY(a, struct ks_ingress, n + 1);
    for (size_t i = 0; i < n; i++) {
        external[i] = arena_printf(a, "192.0.2.%zu", i);
        ingress[i] = c.services[0]->ingress[0];
        ingress[i].ip = arena_printf(a, "203.0.113.%zu", i);
        ingress[i].ip_mode = i == 2 ? "Proxy" : "VIP";
    }
    external[n] = "10.0.0.2";
    ingress[n] = ingress[0];
    ingress[n].ip = "10.0.0.3";
    s->external_ips = external;
    s->ingress = ingress;
    s->n_external_ips = s->n_ingress = n + 1;
    c.services[0] = s;
    ks_cluster_sort(a, &c);
    return c;
}

static const char *json_of_answer(struct arena *a, const struct ks_cluster *c,
                                  const struct ks_question *q)
{
    const struct ks_proxy proxy = ks_proxy_default();
    const struct ks_show show = {.proxy_source = "", .rows = 0};
    struct json_object *o = json_object_new_object();
    ks_answer_json(o, ks_answer_make(a, c, &proxy, NULL, q), &show);
    const char *text = json_text(a, o, JSON_PRETTY);
    json_object_put(o);
    return text;
}

/* A Service with forty addresses is traced as one with the few that a packet has: a node
 * sees no others. */
static void answer__addresses_that_are_not_asked_for__cost_nothing_and_change_nothing(void **state)
{
    static const struct {
        const char *from, *to;
        int32_t port;
    } rows[] = {
        {"8.8.8.8", "192.0.2.1", 80},      {"8.8.8.8", "203.0.113.1", 80},
        {"8.8.8.8", "203.0.113.2", 80},    {"8.8.8.8", CIP, 80},
        {"8.8.8.8", "10.0.0.1", 30080},    {"8.8.8.8", "10.0.0.2", 80},
        {"8.8.8.8", "10.0.0.3", 80},       {"10.0.0.3", "203.0.113.1", 80},
        {"203.0.113.1", "192.0.2.1", 80},  {"203.0.113.0", "203.0.113.1", 80},
        {"10.244.1.1", "203.0.113.2", 80}, {"8.8.8.8", "192.0.2.1", 81},
    };
    static const char *const specs[] = {"", LOCAL, RANGES};
    static const enum ks_mode modes[] = {KS_IPTABLES, KS_IPVS, KS_NFTABLES};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(specs) * ARRAY_LEN(modes) * ARRAY_LEN(rows); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        size_t row = i % ARRAY_LEN(rows);
        const char *spec = specs[i / ARRAY_LEN(rows) % ARRAY_LEN(specs)];
        const struct ks_cluster few = many_addresses(a, spec, 3);
        const struct ks_cluster many = many_addresses(a, spec, 40);
        struct ks_question q = question_of(rows[row].from, rows[row].to, rows[row].port);
        q.mode = modes[i / ARRAY_LEN(rows) / ARRAY_LEN(specs)];
        q.with_rules = true;
        assert_string_equal(json_of_answer(a, &many, &q), json_of_answer(a, &few, &q));
        struct ks_making m = {.a = a, .cluster = &many, .q = &q, .family = KS_IPV4};
        ks_answer_choose_hit(&m);
        const struct ks_objects o = ks_answer_objects(&m);
        assert_int_equal(o.n_services, 1);
        assert_in_range(o.services[0]->n_external_ips, 1, 4);
        assert_in_range(o.services[0]->n_ingress, 1, 4);
        assert_int_equal(m.hit.service->n_external_ips, 41);
    }
}

UNIT_MAIN(tell_answer)
{
    const struct CMUnitTest tests[] = {
        services_test(answer__all_nodes__rows),
        services_test(answer__each_node_among_all__is_as_it_is_alone),
        services_test(answer__left_out_backends__get_nothing),
        services_test(answer__balances__rows),
        services_test(answer__odd_objects__have_a_reason),
        services_test(answer__two_services_at_one_address__are_both_named),
        services_test(answer__ports_that_are_not_asked_for__cost_nothing),
        services_test(answer__addresses_that_are_not_asked_for__cost_nothing_and_change_nothing),
        services_test(answer__hairpin__only_the_client_itself_sees_the_node),
        services_test(answer__pod_of_the_node__is_seen_by_each_detector),
        services_test(answer__many_nodes_and_endpoints__cost_their_sum),
        services_test(answer__no_nodes__is_unreachable_and_says_what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
