/* SPDX-License-Identifier: Apache-2.0 */
/* test_tell_inside.c: pods per node, shares of traffic and weights of a whole Service, and that
 * they are the tracer's. */
#include "tests/unit/services/services_test.h"

#include "common/services/tell/inside.h"

#define LOCAL  "'externalTrafficPolicy': 'Local', 'healthCheckNodePort': 32000, "
#define VIP    "203.0.113.1"
#define SPREAD "10.244.1.1 n1 rs; 10.244.1.2 n1 rs; 10.244.2.1 n2 rs"

/* Nodes n1 in zone a, n2 and n3 in zone b. */
static struct ks_cluster cluster_of(struct arena *a, const char *spec, const char *endpoints)
{
    struct ks_cluster c = {.n_services = 1, .n_slices = 1, .n_nodes = 3};
    c.services = ARENA_ARRAY(a, const struct ks_service *, 1);
    c.slices = ARENA_ARRAY(a, const struct ks_slice *, 1);
    c.nodes = ARENA_ARRAY(a, const struct ks_node *, 3);
    c.services[0] =
        service_of(a, "web",
                   arena_printf(a,
                                "'spec': {'type': 'LoadBalancer', %s 'clusterIP': '10.96.0.1',"
                                " 'clusterIPs': ['10.96.0.1'], 'ipFamilies': ['IPv4'],"
                                " 'ports': [{'port': 80, 'nodePort': 30080}]},"
                                " 'status': {'loadBalancer': {'ingress': [{'ip': '" VIP "'}]}}",
                                spec));
    c.slices[0] = slice_of(a, "web-1", "web", endpoints);
    for (int i = 1; i <= 3; i++) {
        struct err err = ERR_INIT;
        struct json_object *o = json_of(
            a, arena_printf(a,
                            "{'metadata': {'name': 'n%d', 'labels':"
                            " {'topology.kubernetes.io/zone': '%s'}}, 'status': {"
                            " 'allocatable': {'cpu': '4'},"
                            " 'conditions': [{'type': 'Ready', 'status': 'True'}], 'addresses':"
                            " [{'type': 'InternalIP', 'address': '10.0.0.%d'}]}}",
                            i, i == 1 ? "a" : "b", i));
        assert_int_equal(ks_node_decode(a, o, "", &c.nodes[i - 1], &err), ERR_OK);
    }
    ks_cluster_sort(a, &c);
    return c;
}

static struct ks_inside_input input_of(const struct ks_cluster *c)
{
    return (struct ks_inside_input){.service = c->services[0],
                                    .slices = c->slices,
                                    .nodes = c->nodes,
                                    .n_slices = c->n_slices,
                                    .n_nodes = c->n_nodes,
                                    .has_hints = true};
}

/* "2+0 n1=0.5/w2 | 10.244.1.1:80=0.250 …": ready and terminating, nodes with traffic and weight,
 * pods with shares. */
static const char *text_of(struct arena *a, const struct ks_inside *x)
{
    struct str_buf b = STR_BUF_INIT;
    const struct ks_inside_family *f = &x->families[0];
    str_appendf(&b, "%zu+%zu", f->ready, f->draining);
    for (size_t i = 0; i < f->n_nodes; i++) {
        str_appendf(&b, " %s=%.3f/%lld", f->nodes[i].name, f->nodes[i].traffic,
                    (long long)f->nodes[i].weight);
    }
    str_append(&b, " |");
    for (size_t i = 0; i < f->n_pods; i++) {
        str_appendf(&b, " %s=%.3f", f->pods[i].address, f->pods[i].share);
    }
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

static void inside__rows__count_and_share(void **state)
{
    static const struct {
        const char *spec;
        const char *endpoints;
        const char *left_out; /* a node that the load balancer leaves out; NULL: none */
        bool weighted;
        const char *want;
        enum ks_all_down all_down;
    } rows[] = {
        {"", SPREAD, NULL, false,
         "3+0 n1=0.333/-1 n2=0.333/-1 | 10.244.1.1:80=0.333 10.244.1.2:80=0.333 "
         "10.244.2.1:80=0.333"},
        {LOCAL, SPREAD, NULL, false,
         "3+0 n1=0.500/2 n2=0.500/1 | 10.244.1.1:80=0.250 10.244.1.2:80=0.250 "
         "10.244.2.1:80=0.500"},
        {LOCAL, SPREAD, NULL, true,
         "3+0 n1=0.667/2 n2=0.333/1 | 10.244.1.1:80=0.333 10.244.1.2:80=0.333 "
         "10.244.2.1:80=0.333"},
        {LOCAL, SPREAD, "n2", false,
         "3+0 n1=1.000/2 n2=0.000/1 | 10.244.1.1:80=0.500 10.244.1.2:80=0.500 "
         "10.244.2.1:80=0.000"},
        /* hints: a third of the traffic comes to zone a and stays there */
        {"", "10.244.1.1 n1 rs z:a; 10.244.2.1 n2 rs z:b; 10.244.3.1 n3 rs z:b", NULL, false,
         "3+0 n1=0.333/-1 n2=0.333/-1 n3=0.333/-1 | 10.244.1.1:80=0.333 10.244.2.1:80=0.333 "
         "10.244.3.1:80=0.333"},
        {"", "10.244.1.1 n1 rs z:a; 10.244.1.2 n1 rs z:a; 10.244.3.1 n3 rs z:b", NULL, false,
         "3+0 n1=0.333/-1 n3=0.333/-1 | 10.244.1.1:80=0.167 10.244.1.2:80=0.167 "
         "10.244.3.1:80=0.667"},
        /* one ready endpoint without a hint turns them off */
        {"", "10.244.1.1 n1 rs z:a; 10.244.1.2 n1 rs; 10.244.3.1 n3 rs z:b", NULL, false,
         "3+0 n1=0.333/-1 n3=0.333/-1 | 10.244.1.1:80=0.333 10.244.1.2:80=0.333 "
         "10.244.3.1:80=0.333"},
        {"", "10.244.1.1 n1 rs n:n1; 10.244.2.1 n2 rs n:n2", NULL, false,
         "2+0 n1=0.333/-1 n2=0.333/-1 | 10.244.1.1:80=0.500 10.244.2.1:80=0.500"},
        {"", "10.244.1.1 n1 st; 10.244.1.2 n1 -", NULL, false,
         "0+1 n1=0.333/-1 | 10.244.1.1:80=1.000"},
        {LOCAL, "10.244.1.1 n1 st; 10.244.2.1 n2 rs", NULL, false,
         "1+1 n1=0.000/0 n2=1.000/1 | 10.244.1.1:80=0.000 10.244.2.1:80=1.000"},
        /* no node passes its health check: those with a terminating pod still serve what comes */
        {LOCAL, "10.244.1.1 n1 st; 10.244.2.1 n2 -", NULL, false,
         "0+1 n1=0.333/0 n2=0.333/0 | 10.244.1.1:80=0.333", KS_ALL_DOWN_OPEN},
        {LOCAL, "10.244.1.1 n1 st; 10.244.2.1 n2 -", NULL, false,
         "0+1 n1=0.000/0 n2=0.000/0 | 10.244.1.1:80=0.000", KS_ALL_DOWN_CLOSED},
        {LOCAL, "10.244.1.1 n1 st", "n2", true, "0+1 n1=0.500/0 | 10.244.1.1:80=0.500"},
        /* policy Local before the port of the health check is there */
        {"'externalTrafficPolicy': 'Local', ", SPREAD, NULL, false,
         "3+0 n1=0.500/-1 n2=0.500/-1 | 10.244.1.1:80=0.250 10.244.1.2:80=0.250 "
         "10.244.2.1:80=0.500"},
        {"", "", NULL, false, "0+0 |"},
        {"", "10.244.1.1 gone rs; 10.244.1.2 - rs", NULL, false,
         "2+0 gone=0.000/-1 | 10.244.1.1:80=0.500 10.244.1.2:80=0.500"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct ks_cluster c = cluster_of(*state, rows[i].spec, rows[i].endpoints);
        struct ks_inside_input input = input_of(&c);
        struct ks_backend backends[3] = {{"n1", NULL}, {"n2", NULL}, {"n3", NULL}};
        for (size_t k = 0; k < 3 && rows[i].left_out != NULL; k++) {
            backends[k].left_out = str_eq(backends[k].node, rows[i].left_out) ? "excluded" : NULL;
        }
        input.backends = backends;
        input.n_backends = 3;
        input.balance.weighted = rows[i].weighted;
        input.balance.all_down = rows[i].all_down;
        const char *got = text_of(*state, ks_inside_make(*state, &input));
        if (!str_eq(got, rows[i].want)) {
            fail_msg("row %zu: want\n%s\ngot\n%s", i, rows[i].want, got);
        }
    }
}

static void inside__no_slice__is_not_known(void **state)
{
    const struct ks_cluster c = cluster_of(*state, "", "");
    struct ks_inside_input input = input_of(&c);
    input.n_slices = 0;
    assert_null(ks_inside_make(*state, &input));
}

/* ---- against the tracer ---------------------------------------------------------------------- */

static unsigned draw(uint64_t *seed, unsigned below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)((*seed >> 33) % below);
}

static const char *random_endpoints(struct arena *a, uint64_t *seed)
{
    static const char *const conditions[] = {"rs", "rs", "rs", "st", "-", "nil"};
    static const char *const hints[] = {"",      " z:a",      " z:b", " z:a,b",
                                        " n:n1", " z:b n:n2", " z:c", " z:a n:n1,n3"};
    struct str_buf b = STR_BUF_INIT;
    unsigned n = draw(seed, 6);
    unsigned kinds = draw(seed, 2) == 0 ? 1 : (unsigned)ARRAY_LEN(hints);
    unsigned first = draw(seed, (unsigned)ARRAY_LEN(hints));
    for (unsigned i = 0; i < n; i++) {
        str_appendf(&b, "%s10.244.0.%u n%u %s%s", i > 0 ? "; " : "", i + 1, draw(seed, 3) + 1,
                    conditions[draw(seed, (unsigned)ARRAY_LEN(conditions))],
                    hints[(first + draw(seed, kinds)) % ARRAY_LEN(hints)]);
    }
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

static double traced(const struct ks_answer *x, const char *address)
{
    for (size_t i = 0; i < x->n_shares; i++) {
        if (str_eq(x->shares[i].address, address)) {
            return x->shares[i].probability;
        }
    }
    return 0;
}

/* A client outside is traced at every node, behind load balancers of all kinds. */
static void inside__random_clusters__shares_are_the_tracers(void **state)
{
    (void)state;
    const struct ks_proxy proxy = ks_proxy_default();
    uint64_t seed = 36;
    size_t compared = 0;
    for (size_t i = 0; i < 2000; i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        const char *endpoints = random_endpoints(a, &seed);
        const struct ks_cluster c = cluster_of(a, i % 2 == 0 ? "" : LOCAL, endpoints);
        struct ks_inside_input input = input_of(&c);
        const struct ks_backend backends[] = {
            {"n1", NULL}, {"n2", NULL}, {"n3", draw(&seed, 4) == 0 ? "cordoned" : NULL}};
        const struct ks_balancer b = {
            .unknown = "not asked",
            .backends = backends,
            .n_backends = ARRAY_LEN(backends),
            .balance = {.weighted = draw(&seed, 2) == 0, .all_down = (enum ks_all_down)(i / 2 % 3)},
        };
        struct ks_question q = {.from = "", .port = 80, .protocol = "TCP"};
        assert_true(ip_parse(VIP, &q.dest));
        input.backends = backends;
        input.n_backends = b.n_backends;
        input.balance = b.balance;
        const struct ks_answer *x = ks_answer_make(a, &c, &proxy, &b, &q);
        const struct ks_inside_family *f = &ks_inside_make(a, &input)->families[0];
        for (size_t k = 0; k < f->n_pods; k++) {
            double want = traced(x, f->pods[k].address);
            double off = f->pods[k].share - want;
            if (off > 1e-9 || off < -1e-9) {
                fail_msg("%zu: %s: %s has %f, traced %f", i, endpoints, f->pods[k].address,
                         f->pods[k].share, want);
            }
            compared++;
        }
    }
    assert_true(compared > 2000);
}

UNIT_MAIN(tell_inside)
{
    const struct CMUnitTest tests[] = {
        services_test(inside__rows__count_and_share),
        services_test(inside__no_slice__is_not_known),
        services_test(inside__random_clusters__shares_are_the_tracers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
