/* SPDX-License-Identifier: Apache-2.0 */
/* test_node_world.c: whole clusters: properties of random ones, and what large ones cost. */
#include "tests/unit/services/services_test.h"

#include "common/services/node/plan.h"
#include "common/services/node/sites.h"

/* A generator of its own, so that a seed gives the same clusters everywhere. */
static uint32_t next(uint64_t *seed, uint32_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*seed >> 33) % below);
}

/* ---- random clusters ------------------------------------------------------------------------- */

#define SERVICES 6
#define SLICES   12

struct cluster {
    const struct ks_service *services[SERVICES];
    const struct ks_slice *slices[SLICES];
};

static const struct ks_service *random_service(struct arena *a, uint64_t *seed, int i)
{
    static const char *const types[] = {"ClusterIP", "NodePort", "LoadBalancer"};
    static const char *const policies[] = {"Cluster", "Local"};
    return service_of(
        a, arena_printf(a, "s%d", i),
        arena_printf(
            a,
            "'spec': {'type': '%s', 'clusterIP': '10.1.0.%d', 'externalTrafficPolicy': '%s', "
            "'internalTrafficPolicy': '%s', 'healthCheckNodePort': %d, 'ports': [{'port': 80, "
            "'nodePort': %d}, {'name': 'b', 'port': 81, 'protocol': 'UDP'}]}",
            types[next(seed, 3)], i + 1, policies[next(seed, 2)], policies[next(seed, 2)],
            31000 + i, 30000 + i));
}

static const char *random_endpoints(struct arena *a, uint64_t *seed)
{
    static const char *const conditions[] = {"rs", "rs", "s", "st", "t", "-", "nil", "rst"};
    struct str_buf b = STR_BUF_INIT;
    uint32_t n = next(seed, 6);
    uint32_t hints = next(seed, 4); /* of zones, of nodes, of both, none */
    for (uint32_t i = 0; i < n; i++) {
        str_appendf(&b, "%s10.0.0.%u n%u %s", i > 0 ? ";" : "", next(seed, 12), next(seed, 3),
                    conditions[next(seed, ARRAY_LEN(conditions))]);
        if (hints == 0 || hints == 2) {
            str_appendf(&b, " z:%c", "ab"[next(seed, 2)]);
        }
        if (hints == 1 || hints == 2) {
            str_appendf(&b, " n:n%u", next(seed, 3));
        }
    }
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

static struct cluster random_cluster(struct arena *a, uint64_t *seed)
{
    struct cluster c;
    for (int i = 0; i < SERVICES; i++) {
        c.services[i] = random_service(a, seed, i);
    }
    for (int i = 0; i < SLICES; i++) {
        const char *service = arena_printf(a, "s%u", next(seed, SERVICES + 1)); /* or unknown */
        struct ks_slice *s =
            slice_of(a, arena_printf(a, "x%d", i), service, random_endpoints(a, seed));
        s->address_type = "IPv4";
        c.slices[i] = s;
    }
    return c;
}

static void shuffle(uint64_t *seed, const void **items, uint32_t n)
{
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = next(seed, i);
        const void *item = items[i - 1];
        items[i - 1] = items[j];
        items[j] = item;
    }
}

static void append_port(struct arena *a, struct str_buf *b, const struct ks_port *p)
{
    str_appendf(b, "%s/%s %d any=%d fell=%d%d [%s] [%s] [%s]", p->display, p->proto, p->topology,
                p->has_any, p->cluster_fell_back, p->local_fell_back, list_text(a, p->cluster),
                list_text(a, p->local), list_text(a, p->reachable));
    for (size_t i = 0; i < p->n_endpoints; i++) {
        const struct ks_endpoint *e = &p->endpoints[i];
        str_appendf(b, " %s%d%d%d%d%s", e->text, e->local, e->ready, e->serving, e->terminating,
                    e->node_name);
    }
    str_append(b, "\n");
}

static const char *world_text(struct arena *a, const struct ks_world *w)
{
    struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < w->n_ports; i++) {
        append_port(a, &b, &w->ports[i]);
    }
    for (size_t i = 0; i < w->n_healths; i++) {
        str_appendf(&b, "health %s/%s %d %zu\n", w->healths[i].ns, w->healths[i].name,
                    w->healths[i].port, w->healths[i].local_ready);
    }
    str_appendf(&b, "%zu\n", w->n_endpoints_all);
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

static const struct ks_world *make(struct arena *a, const struct cluster *c)
{
    struct ks_node_config config = config_of(KS_IPV4);
    return ks_world_make(a, &config, c->services, SERVICES, c->slices, SLICES);
}

static bool is_subset(struct ks_list part, struct ks_list whole)
{
    size_t at = 0;
    for (size_t i = 0; i < part.n; i++) {
        while (at < whole.n && whole.items[at] != part.items[i]) {
            at++;
        }
        if (at == whole.n) {
            return false;
        }
    }
    return true;
}

/* Lists hold endpoints of the port, in its order; every reachable one is in a list, and
 * the other way round. */
static void check_port(struct arena *a, const struct ks_port *p)
{
    const struct ks_endpoint **all = ARENA_ARRAY(a, const struct ks_endpoint *, p->n_endpoints);
    for (size_t i = 0; i < p->n_endpoints; i++) {
        all[i] = &p->endpoints[i];
        assert_true(i == 0 || strcmp(p->endpoints[i - 1].text, p->endpoints[i].text) < 0);
    }
    struct ks_list whole = {.items = all, .n = p->n_endpoints};
    assert_true(is_subset(p->reachable, whole));
    assert_true(is_subset(p->cluster, p->uses_cluster ? p->reachable : whole));
    assert_true(is_subset(p->local, p->uses_local ? p->reachable : whole));
    for (size_t i = 0; i < p->local.n; i++) {
        assert_true(p->local.items[i]->local);
        assert_int_equal(p->local.items[i]->ready, !p->local_fell_back);
    }
    for (size_t i = 0; i < p->cluster.n; i++) {
        assert_int_equal(p->cluster.items[i]->ready, !p->cluster_fell_back);
    }
    assert_true(p->reachable.n <= p->cluster.n + p->local.n);
}

static void world__of_random_clusters__keeps_its_properties(void **state)
{
    struct arena *a = *state;
    uint64_t seed = 22;
    for (int round = 0; round < 300; round++) {
        struct cluster c = random_cluster(a, &seed);
        const struct ks_world *w = make(a, &c);
        const char *text = world_text(a, w);
        for (size_t i = 0; i < w->n_ports; i++) {
            check_port(a, &w->ports[i]);
        }
        shuffle(&seed, (const void **)c.services, SERVICES);
        shuffle(&seed, (const void **)c.slices, SLICES);
        assert_string_equal(world_text(a, make(a, &c)), text);
        arena_reset(a);
    }
}

static void world_of_one_service__equals_its_part_of_the_world(void **state)
{
    struct arena *a = *state;
    uint64_t seed = 23;
    for (int round = 0; round < 100; round++) {
        struct cluster c = random_cluster(a, &seed);
        struct ks_node_config config = config_of(KS_IPV4);
        struct str_buf alone = STR_BUF_INIT;
        struct str_buf whole = STR_BUF_INIT;
        const struct ks_world *w = make(a, &c);
        for (size_t i = 0; i < w->n_ports; i++) {
            append_port(a, &whole, &w->ports[i]);
        }
        for (int i = 0; i < SERVICES; i++) {
            const struct ks_world *one =
                ks_world_make(a, &config, &c.services[i], 1, c.slices, SLICES);
            for (size_t j = 0; j < one->n_ports; j++) {
                append_port(a, &alone, &one->ports[j]);
            }
        }
        assert_string_equal(str_buf_text(&alone), str_buf_text(&whole));
        str_buf_done(&alone);
        str_buf_done(&whole);
        arena_reset(a);
    }
}

/* However often and in which order it was moved, before and after lists of zones are known. */
static void sites__moved__are_the_world_of_each_node(void **state)
{
    struct arena *a = *state;
    struct arena *scratch = arena_new();
    uint64_t seed = 24;
    for (int round = 0; round < 300; round++) {
        struct cluster c = random_cluster(a, &seed);
        struct ks_sites *s = ks_sites_make(a, KS_IPV4, c.services, SERVICES, c.slices, SLICES);
        for (int step = 0; step < 6; step++) {
            struct ks_node_config config = config_of(KS_IPV4);
            config.name = arena_printf(a, "n%u", next(&seed, 4)); /* of n3 is nothing known */
            config.zone = ((const char *[]){"", "a", "b", "c"})[next(&seed, 4)];
            const struct ks_world *w =
                ks_world_make(a, &config, c.services, SERVICES, c.slices, SLICES);
            assert_string_equal(world_text(a, ks_sites_move(s, scratch, &config)),
                                world_text(a, w));
            arena_reset(scratch);
        }
        arena_reset(a);
    }
    arena_free(scratch);
}

/* Of 300 Services with policy Local, each with one endpoint on a node of its own, a
 * move touches two. */
static void sites__moved__cost_the_nodes_own_endpoints(void **state)
{
    enum { MANY = 300 };
    struct arena *a = *state;
    const struct ks_service *services[MANY];
    const struct ks_slice *slices[MANY];
    for (int i = 0; i < MANY; i++) {
        const char *name = arena_printf(a, "s%d", i);
        services[i] = service_of(
            a, name,
            arena_printf(a,
                         "'spec': {'type': 'LoadBalancer', 'clusterIP': '10.1.%d.%d', 'ports': "
                         "[{'port': 80, 'nodePort': %d}], 'externalTrafficPolicy': 'Local'}",
                         i / 100, i % 100 + 1, 30000 + i));
        slices[i] = slice_of(a, arena_printf(a, "s%d-1", i), name,
                             arena_printf(a, "10.0.%d.%d n%d rs", i / 100, i % 100 + 1, i));
    }
    struct ks_sites *s = ks_sites_make(a, KS_IPV4, services, MANY, slices, MANY);
    const size_t made = ks_sites_looked_at(s);
    for (int i = 0; i < MANY; i++) {
        struct ks_node_config config = config_of(KS_IPV4);
        config.name = arena_printf(a, "n%d", i);
        config.zone = i % 2 == 0 ? "a" : "b";
        const struct ks_world *w = ks_sites_move(s, a, &config);
        size_t local = 0;
        for (size_t p = 0; p < w->n_ports; p++) {
            local += w->ports[p].local.n;
        }
        assert_int_equal(w->n_ports, MANY);
        assert_int_equal(local, 1);
    }
    assert_in_range(made, MANY, 6 * MANY);
    assert_in_range(ks_sites_looked_at(s) - made, MANY, 10 * MANY);
}

static void world__healths__are_of_services_with_a_port_or_ready_endpoints(void **state)
{
    struct arena *a = *state;
    struct cluster c = {
        .services = {
            service_of(a, "a",
                       "'spec': {'type': 'LoadBalancer', 'clusterIP': '10.1.0.1', 'ports': "
                       "[{'port': 80}], 'externalTrafficPolicy': 'Local', "
                       "'healthCheckNodePort': 31000}"),
            service_of(a, "b", "'spec': {'clusterIP': '10.1.0.2', 'ports': [{'port': 80}]}"),
            service_of(a, "c", "'spec': {'clusterIP': '10.1.0.3', 'ports': [{'port': 80}]}"),
        }};
    struct ks_node_config config = config_of(KS_IPV4);
    c.slices[0] = slice_of(a, "x", "a", "10.0.0.1 n2 rs; 10.0.0.2 n1 st");
    c.slices[1] = slice_of(a, "y", "b", "10.0.0.3 n1 rs; 10.0.0.4 n1 nil");
    c.slices[2] = slice_of(a, "z", "unknown", "10.0.0.5 n1 rs");
    const struct ks_world *w = ks_world_make(a, &config, c.services, 3, c.slices, 3);
    assert_int_equal(w->n_healths, 2);
    assert_string_equal(w->healths[0].name, "a");
    assert_int_equal(w->healths[0].port, 31000);
    assert_int_equal(w->healths[0].local_ready, 0); /* the terminating one does not count */
    assert_string_equal(w->healths[1].name, "b");
    assert_int_equal(w->healths[1].port, 0);
    assert_int_equal(w->healths[1].local_ready, 2);
    assert_int_equal(w->n_endpoints_all, 4);
}

static void world__of_one_service_twice__has_the_last(void **state)
{
    struct arena *a = *state;
    struct ks_node_config config = config_of(KS_IPV4);
    const struct ks_service *services[] = {
        service_of(a, "s", "'spec': {'clusterIP': '10.1.0.1', 'ports': [{'port': 80}]}"),
        service_of(a, "t", "'spec': {'clusterIP': '10.1.0.3', 'ports': [{'port': 80}]}"),
        service_of(a, "s", "'spec': {'clusterIP': '10.1.0.2', 'ports': [{'port': 81}]}"),
    };
    const struct ks_world *w = ks_world_make(a, &config, services, 3, NULL, 0);
    assert_int_equal(w->n_ports, 2);
    assert_int_equal(w->ports[0].port, 81);
    assert_string_equal(w->ports[1].name, "t");
}

/* ---- plan ------------------------------------------------------------------------------------ */

static void plan__of_a_service_with_two_ports__finds_each_destination(void **state)
{
    struct arena *a = *state;
    struct ks_node_config config = config_of(KS_IPV4);
    const struct ks_service *s = service_of(
        a, "s",
        "'spec': {'type': 'LoadBalancer', 'clusterIP': '10.1.0.1', 'externalIPs': "
        "['10.1.0.1'], 'externalTrafficPolicy': 'Local', 'healthCheckNodePort': 32000, "
        "'ports': [{'name': 'a', 'port': 53, 'nodePort': 30053}, {'name': 'b', 'port': 53, "
        "'protocol': 'UDP', 'nodePort': 30053}]}, 'status': {'loadBalancer': {'ingress': "
        "[{'ip': '203.0.113.1'}, {'ip': '203.0.113.2', 'ipMode': 'Proxy'}]}}");
    const struct ks_plan *plan = ks_plan_make(a, ks_world_make(a, &config, &s, 1, NULL, 0));
    size_t n;
    /* two ports with cluster IP, external IP, VIP and node port each, and one health check */
    assert_int_equal(plan->n_dests, 2 * 4 + 1);
    assert_int_equal(plan->n_passed, 2);
    struct ip_addr ip;
    assert_true(ip_parse("10.1.0.1", &ip));
    const struct ks_dest *d = ks_plan_find(plan, &ip, 53, "UDP", &n);
    assert_int_equal(n, 2); /* the cluster IP before the external one */
    assert_int_equal(d[0].kind, KS_DEST_CLUSTER_IP);
    assert_int_equal(d[1].kind, KS_DEST_EXTERNAL_IP);
    assert_string_equal(d[1].port->port_name, "b");
    assert_non_null(ks_plan_find(plan, &ip, 0, NULL, &n));
    assert_int_equal(n, 4);
    assert_null(ks_plan_find(plan, &ip, 53, "SCTP", &n));
    assert_int_equal(n, 0);
    assert_null(ks_plan_find(plan, &ip, 0, "UDP", &n));
    d = ks_plan_find(plan, NULL, 32000, "TCP", &n);
    assert_int_equal(n, 1);
    assert_int_equal(d->kind, KS_DEST_HEALTH_CHECK_PORT);
    assert_null(ks_plan_find(plan, NULL, 32000, "UDP", &n));
    assert_non_null(ks_plan_find(plan, NULL, 30053, "UDP", &n));
    assert_int_equal(n, 1);
    assert_true(ip_parse("203.0.113.2", &ip));
    assert_null(ks_plan_find(plan, &ip, 0, NULL, &n));
    assert_non_null(ks_plan_find_passed(plan, &ip, 53, "TCP", &n));
    assert_int_equal(n, 1);
}

/* ---- size ------------------------------------------------------------------------------------ */

static const struct ks_slice *large_slice(struct arena *a, const char *name, const char *service,
                                          uint32_t first, uint32_t n)
{
    struct ks_slice *s = slice_of(a, name, service, "");
    struct ks_slice_endpoint *items = ARENA_ARRAY(a, struct ks_slice_endpoint, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t ip = first + i;
        const char **address = ARENA_ARRAY(a, const char *, 1);
        address[0] = arena_printf(a, "10.%u.%u.%u", ip >> 16 & 255, ip >> 8 & 255, ip & 255);
        items[i] = (struct ks_slice_endpoint){.addresses = address, .n_addresses = 1};
    }
    s->address_type = "IPv4";
    s->endpoints = items;
    s->n_endpoints = n;
    return s;
}

static void world__of_20000_endpoints_in_one_service__has_them_sorted(void **state)
{
    struct arena *a = *state;
    struct ks_node_config config = config_of(KS_IPV4);
    const struct ks_service *s = service_of(a, "s",
                                            "'spec': {'clusterIP': '10.1.0.1', 'ports': "
                                            "[{'port': 80}]}");
    const struct ks_slice *slices[20];
    for (uint32_t i = 0; i < 20; i++) {
        slices[i] = large_slice(a, arena_printf(a, "s-%u", i), "s", i * 1000, 1000);
    }
    const struct ks_world *w = ks_world_make(a, &config, &s, 1, slices, 20);
    assert_int_equal(w->n_endpoints_all, 20000);
    assert_int_equal(w->n_left_out, 0);
    assert_int_equal(w->ports[0].cluster.n, 20000);
    check_port(a, &w->ports[0]);
}

#define MANY 10000

static void world__of_10000_services__one_changed_endpoint_costs_one_service(void **state)
{
    struct arena *a = *state;
    struct ks_node_config config = config_of(KS_IPV4);
    const struct ks_service **services = ARENA_ARRAY(a, const struct ks_service *, MANY);
    const struct ks_slice **slices = ARENA_ARRAY(a, const struct ks_slice *, MANY);
    for (uint32_t i = 0; i < MANY; i++) {
        const char *name = arena_printf(a, "s%u", i);
        struct ks_service *s = ARENA_NEW(a, struct ks_service);
        struct ks_service_port *port = ARENA_NEW(a, struct ks_service_port);
        *port = (struct ks_service_port){.name = "", .protocol = "TCP", .port = 80};
        *s = (struct ks_service){.meta = {.ns = "ns", .name = name},
                                 .type = "ClusterIP",
                                 .cluster_ip = arena_printf(a, "172.16.%u.%u", i >> 8, i & 255),
                                 .ports = port,
                                 .n_ports = 1,
                                 .session_affinity = "None",
                                 .external_policy = "",
                                 .internal_policy = ""};
        services[i] = s;
        slices[i] = large_slice(a, name, name, i * 10, 10);
    }
    const struct ks_world *w = ks_world_make(a, &config, services, MANY, slices, MANY);
    assert_int_equal(w->n_endpoints_all, MANY * 10);
    assert_int_equal(ks_plan_make(a, w)->n_dests, MANY);
}

UNIT_MAIN(node_world)
{
    const struct CMUnitTest tests[] = {
        services_test(world__of_random_clusters__keeps_its_properties),
        services_test(world_of_one_service__equals_its_part_of_the_world),
        services_test(sites__moved__are_the_world_of_each_node),
        services_test(sites__moved__cost_the_nodes_own_endpoints),
        services_test(world__healths__are_of_services_with_a_port_or_ready_endpoints),
        services_test(world__of_one_service_twice__has_the_last),
        services_test(plan__of_a_service_with_two_ports__finds_each_destination),
        services_test(world__of_20000_endpoints_in_one_service__has_them_sorted),
        services_test(world__of_10000_services__one_changed_endpoint_costs_one_service),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
