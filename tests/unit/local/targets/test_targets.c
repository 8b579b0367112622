/* SPDX-License-Identifier: Apache-2.0 */
/* test_targets.c: targets and their weights.  Rows with a number are those of the provider's
 * specification. */
#include "tests/unit/local/targets/targets_test.h"

#include "common/base/clock.h"

#include <netinet/in.h>
#include <sys/socket.h>

static const char *scene_text(struct arena *a, const struct scene *s)
{
    struct local_serve serve;
    struct local_target_set t;
    struct err err = ERR_INIT;
    if (scene_targets(a, s, &serve, &t, &err) != ERR_OK) {
        assert_int_equal(err.code, ERR_INVALID);
        return arena_printf(a, "E %s", err.message);
    }
    return arena_printf(a, "%s %s", local_scheduler_word(local_scheduler_of(&serve, &t)),
                        targets_text(a, &t));
}

#define LOCAL      ", 'externalTrafficPolicy': 'Local', 'healthCheckNodePort': 31000"
#define PODS       .pool = "mode: ipvs-nat, targets: pod", .director = "podsRoutable: true"
#define EXCLUDED   ", 'labels': {'node.kubernetes.io/exclude-from-external-load-balancers': 'true'}"
#define IN_ZONE(z) ", 'labels': {'topology.kubernetes.io/zone': '" z "'}"
#define ZONES                                                                                      \
    NODE("n1", "10.1.0.1", IN_ZONE("z1"))                                                          \
    ", " NODE("n2", "10.1.0.2", IN_ZONE("z2")) ", " NODE("n3", "10.1.0.3", IN_ZONE("z2"))
static const struct scene scenes[] = {
    {.name = "K01", .want = "rr 10.1.0.1:30080*1 10.1.0.2:30080*1"},
    {.name = "K02", .pool = "mode: ipvs-dr", .want = "rr 10.1.0.1:80*1 10.1.0.2:80*1"},
    {.name = "K25",
     .family = AF_INET6,
     .nodes = NODE("n1", "fd00::1", "") ", " NODE("n2", "fd00::2", ""),
     .want = "rr fd00::1:30080*1 fd00::2:30080*1"},
    {.name = "K26", .family = AF_INET6, .want = "rr  -n1 -n2"},
    {.name = "K27",
     .spec = LOCAL,
     .slices = SLICE(EP("10.2.0.1", "n1", READY, "") ", " EP("10.2.0.2", "n1", READY, "") ", " EP(
         "10.2.0.3", "n2", READY, "")),
     .want = "wrr 10.1.0.1:30080*2 10.1.0.2:30080*1"},
    {.name = "K28",
     .spec = LOCAL,
     .slices = SLICE(EP("10.2.0.1", "n1", READY, "") ", " EP("10.2.0.3", "n2", DOWN, "")),
     .want = "rr 10.1.0.1:30080*1 -n2"},
    {.name = "K29",
     .spec = LOCAL,
     .slices = SLICE(EP("10.2.0.1", "n1", DOWN, "") ", " EP("10.2.0.2", "n2", ENDS, "") ", " EP(
         "10.2.0.3", "n2", ENDS, "")),
     .want = "rr 10.1.0.2:30080*1 -n1"},
    {.name = "K29 one is ready elsewhere",
     .spec = LOCAL,
     .slices = SLICE(EP("10.2.0.1", "n1", READY, "") ", " EP("10.2.0.2", "n2", ENDS, "")),
     .want = "rr 10.1.0.1:30080*1 -n2"},
    {.name = "K30", .spec = LOCAL, .slices = "", .want = "rr  -n1 -n2"},
    {.name = "K30 endpoints not known",
     .spec = LOCAL,
     .want = "rr 10.1.0.1:30080*1 10.1.0.2:30080*1"},
    {.name = "K31", .slices = "", .want = "rr 10.1.0.1:30080*1 10.1.0.2:30080*1"},
    {.name = "K31 pods", PODS, .slices = "", .want = "rr "},
    {.name = "K32",
     PODS,
     .slices = SLICE(EP("10.2.0.2", "n1", READY, "") ", " EP("10.2.0.1", "n1", READY, "") ", " EP(
         "10.2.0.3", "n2", READY, "") ", " EP("10.2.0.4", "n2", DOWN, "")),
     .want = "rr 10.2.0.1:8080*1 10.2.0.2:8080*1 10.2.0.3:8080*1"},
    {.name = "K33",
     PODS,
     .ports = "{'name': 'web', 'port': 80, 'protocol': 'TCP', 'targetPort': 'http', 'nodePort': "
              "30080}",
     .slices = SLICE_OF("s", "IPv4",
                        "{'name': 'dns', 'protocol': 'UDP', 'port': 53}, {'name': 'web', "
                        "'protocol': 'TCP', 'port': 8081}",
                        EP("10.2.0.1", "n1", READY,
                           "")) ", " SLICE_OF("t", "IPv4",
                                              "{'name': 'web', 'protocol': 'TCP', 'port': 8082}",
                                              EP("10.2.0.2", "n1", READY, "")),
     .want = "rr 10.2.0.1:8081*1 10.2.0.2:8082*1"},
    {.name = "all ports",
     PODS,
     .slices =
         SLICE_OF("s", "IPv4", "{'name': '', 'protocol': 'TCP'}", EP("10.2.0.1", "n1", READY, "")),
     .want = "rr 10.2.0.1:80*1"},
    {.name = "K34",
     PODS,
     .slices = SLICE(EP("10.2.0.1", "n1", DOWN, "")) ", " SLICE_OF(
         "t", "IPv4", PORT8080,
         EP("10.2.0.1", "n1", READY, "")) ", " SLICE_OF("u", "IPv4", PORT8080,
                                                        EP("10.2.0.1", "n1", ENDS, "")),
     .want = "rr 10.2.0.1:8080*1"},
    {.name = "K35",
     PODS,
     .slices = SLICE_OF("s", "IPv6", PORT8080, EP("fd00::1", "n1", READY, "")) ", " SLICE_OF(
         "t", "IPv4", PORT8080,
         EP("fd00::2", "n1", READY, "") ", " EP("10.2.0.1", "n1", READY, "")),
     .want = "rr 10.2.0.1:8080*1 -fd00::2"},
    {.name = "FQDN",
     PODS,
     .slices = SLICE_OF("s", "FQDN", PORT8080, EP("a.example", "n1", READY, "")),
     .want = "rr  -s"},
    {.name = "pods that terminate",
     PODS,
     .slices = SLICE(EP("10.2.0.1", "n1", ENDS, "") ", " EP("10.2.0.2", "n1", DOWN, "")),
     .want = "rr 10.2.0.1:8080*1"},
    {.name = "pods that are not ready, published",
     PODS,
     .spec = ", 'publishNotReadyAddresses': true",
     .slices = SLICE(EP("10.2.0.2", "n1", DOWN, "")),
     .want = "rr 10.2.0.2:8080*1"},
    {.name = "K39",
     .nodes = NODE("n1", "10.1.0.1", EXCLUDED) ", " NODE("n2", "10.1.0.2", ""),
     .want = "rr 10.1.0.2:30080*1 -n1"},
    {.name = "K40",
     .nodes = "{'metadata': {'name': 'n1'}, 'status': {'addresses': [{'type': 'InternalIP', "
              "'address': '10.1.0.1'}], 'conditions': [{'type': 'Ready', 'status': 'False'}]}}",
     .want = "rr 10.1.0.1:30080*1"},
    {.name = "K41",
     .nodes = "{'metadata': {'name': 'n1'}, 'status': {'addresses': [{'type': 'ExternalIP', "
              "'address': '192.0.2.1'}]}}, " NODE("n2", "10.1.0.2", ""),
     .want = "rr 10.1.0.2:30080*1 -n1"},
    {.name = "K41 both types",
     .director = "nodeAddressTypes: [InternalIP, ExternalIP]",
     .nodes = "{'metadata': {'name': 'n1'}, 'status': {'addresses': [{'type': 'ExternalIP', "
              "'address': '192.0.2.1'}, {'type': 'InternalIP', 'address': 'fd00::1'}]}}, " NODE(
                  "n2", "10.1.0.2", ""),
     .want = "rr 10.1.0.2:30080*1 192.0.2.1:30080*1"},
    {.name = "nodeSelector",
     .director = "nodeSelector: {matchLabels: {topology.kubernetes.io/zone: z1}}",
     .nodes = ZONES,
     .want = "rr 10.1.0.1:30080*1 -n2 -n3"},
    {.name = "two nodes with one address",
     .nodes = NODE("n2", "10.1.0.1", "") ", " NODE("n1", "10.1.0.1", ""),
     .want = "rr 10.1.0.1:30080*1 -n2"},
    {.name = "K42",
     .spec = ", 'trafficDistribution': 'PreferSameZone'",
     .nodes = ZONES,
     .zone = "z1",
     .want = "rr 10.1.0.1:30080*1 10.1.0.2:30080*0 10.1.0.3:30080*0"},
    {.name = "K43 as if the zone had none",
     .spec = ", 'trafficDistribution': 'PreferSameZone'",
     .nodes = ZONES,
     .zone = "z9",
     .want = "rr 10.1.0.1:30080*1 10.1.0.2:30080*1 10.1.0.3:30080*1"},
    {.name = "K42 the Service does not ask for the zone",
     .nodes = ZONES,
     .zone = "z1",
     .want = "rr 10.1.0.1:30080*1 10.1.0.2:30080*1 10.1.0.3:30080*1"},
    {.name = "K42 pods",
     PODS,
     .spec = ", 'trafficDistribution': 'PreferSameNode'",
     .zone = "z1",
     .slices = SLICE(EP("10.2.0.1", "n1", READY, ", 'zone': 'z1'") ", " EP("10.2.0.2", "n2", READY,
                                                                           ", 'zone': 'z2'")),
     .want = "rr 10.2.0.1:8080*1 10.2.0.2:8080*0"},
};

static void local_targets_of__scenes__as_wanted(void **state)
{
    size_t bad = 0;
    for (size_t i = 0; i < ARRAY_LEN(scenes); i++) {
        const char *got = scene_text(*state, &scenes[i]);
        if (strcmp(got, scenes[i].want) != 0) {
            print_error("%s: want\n%s\ngot\n%s\n", scenes[i].name, scenes[i].want, got);
            bad++;
        }
    }
    assert_int_equal(bad, 0);
}

/* n endpoints of node n1, and one of n2. */
static const char *pods_on_one_node(struct arena *a, int n)
{
    struct str_buf b = STR_BUF_INIT;
    for (int i = 0; i < n; i++) {
        str_appendf(&b,
                    "{'addresses': ['10.2.%d.%d'], 'nodeName': 'n1', 'conditions': {" READY "}}, ",
                    i / 250, i % 250);
    }
    const char *text =
        arena_printf(a, SLICE_OF("s", "IPv4", PORT8080, "%s%s"), str_buf_text(&b),
                     EP("10.3.0.1", "n2", READY, "") ", " EP("10.3.0.2", "n2", READY, ""));
    str_buf_done(&b);
    return text;
}

/* K44. */
static void local_targets_of__more_than_255_pods_on_a_node__scaled(void **state)
{
    struct scene s = {.spec = LOCAL, .slices = pods_on_one_node(*state, 300)};
    assert_string_equal(scene_text(*state, &s), "wrr 10.1.0.1:30080*255 10.1.0.2:30080*2");
}

/* K12. */
static void local_targets_of__nft_with_300_targets__refused(void **state)
{
    struct scene s = {.pool = "mode: nft, targets: pod",
                      .director = "podsRoutable: true",
                      .slices = pods_on_one_node(*state, 298)};
    assert_string_equal(
        scene_text(*state, &s),
        "E nft mode has at most 256 targets per port (d/a has 300); use an ipvs mode");
    s.pool = "mode: ipvs-nat, targets: pod";
    assert_true(str_has_prefix(scene_text(*state, &s), "rr 10.2.0.0:8080*1 "));
}

static bool has_target(const struct local_target_set *t, const char *addr)
{
    struct ip_addr want;

    assert_true(ip_parse(addr, &want));
    for (size_t i = 0; i < t->n; i++) {
        if (local_addr_cmp(&t->items[i].addr, &want) == 0) {
            return true;
        }
    }
    return false;
}

/* K12 of a frontend that serves: targets with slots stay, gone ones leave. */
static void local_targets_of__nft_with_300_targets_served__256_of_them(void **state)
{
    struct scene s = {.pool = "mode: nft, targets: pod",
                      .director = "podsRoutable: true",
                      .slices = pods_on_one_node(*state, 298)};
    struct local_dest slots[3] = {{.port = 8080}, {.port = 8080}, {.port = 8080}};
    struct local_target_args args = {.served = true, .slots = slots, .n_slots = ARRAY_LEN(slots)};
    struct local_serve serve;
    struct local_target_set t;
    struct err err = ERR_INIT;

    assert_true(ip_parse("10.3.0.2", &slots[0].addr)); /* the last by address */
    assert_true(ip_parse("10.9.9.9", &slots[1].addr)); /* gone */
    assert_int_equal(scene_targets_with(*state, &s, &args, &serve, &t, &err), ERR_OK);
    assert_int_equal(t.n, 256);
    assert_int_equal(t.n_over, 44);
    assert_int_equal(t.n_left_out, 44);
    assert_true(has_target(&t, "10.3.0.2"));
    assert_false(has_target(&t, "10.3.0.1"));
    assert_true(has_target(&t, "10.2.0.0") && has_target(&t, "10.2.1.4"));
    assert_false(has_target(&t, "10.2.1.5") || has_target(&t, "10.9.9.9"));
    assert_string_equal(t.left_out[43].who, "10.3.0.1");
    for (size_t i = 1; i < t.n; i++) {
        assert_true(local_addr_cmp(&t.items[i - 1].addr, &t.items[i].addr) < 0);
    }
}

static void local_targets_of__reasons__sentences(void **state)
{
    struct local_serve serve;
    struct local_target_set t;
    struct err err = ERR_INIT;
    const struct scene s = {
        .spec = LOCAL,
        .nodes = TWO_NODES ", " NODE("n3", "10.1.0.3", EXCLUDED),
        .slices = SLICE(EP("10.2.0.1", "n1", READY, "") ", " EP("10.2.0.2", "n1", READY, ""))};
    assert_int_equal(scene_targets(*state, &s, &serve, &t, &err), ERR_OK);
    assert_string_equal(t.items[0].why, "n1 has 2 ready pods of d/a");
    assert_string_equal(t.items[0].node, "n1");
    assert_string_equal(t.left_out[0].who, "n2");
    assert_string_equal(t.left_out[0].why,
                        "it has no ready pod of d/a (externalTrafficPolicy Local)");
    assert_string_equal(t.left_out[1].why,
                        "it has the label node.kubernetes.io/exclude-from-external-load-balancers");
}

static void local_targets_of__pod__its_names(void **state)
{
    struct local_serve serve;
    struct local_target_set t;
    struct err err = ERR_INIT;
    const struct scene s = {
        PODS, .slices = SLICE(EP("10.2.0.1", "n1", READY,
                                 ", 'targetRef': {'kind': 'Pod', 'namespace': 'd', 'name': 'x'}"))};
    assert_int_equal(scene_targets(*state, &s, &serve, &t, &err), ERR_OK);
    assert_string_equal(t.items[0].pod, "d/x");
    assert_string_equal(t.items[0].node, "n1");
}

static void local_frontend__order_and_text(void **state)
{
    struct local_frontend_id f[] = {{.protocol = IPPROTO_TCP, .port = 80},
                                    {.protocol = IPPROTO_UDP, .port = 53}};
    char text[LOCAL_FRONTEND_TEXT_MAX];
    (void)state;
    assert_true(ip_parse("203.0.113.5", &f[0].vip) && ip_parse("2001:db8::5", &f[1].vip));
    local_frontend_text(&f[0], text);
    assert_string_equal(text, "203.0.113.5:80/tcp");
    local_frontend_text(&f[1], text);
    assert_string_equal(text, "[2001:db8::5]:53/udp");
    assert_true(local_frontend_cmp(&f[0], &f[1]) < 0 && local_frontend_cmp(&f[1], &f[0]) > 0);
    f[1] = f[0];
    assert_int_equal(local_frontend_cmp(&f[0], &f[1]), 0);
    f[1].port = 81;
    assert_true(local_frontend_cmp(&f[0], &f[1]) < 0);
    f[1].protocol = IPPROTO_UDP;
    f[1].port = 1;
    assert_true(local_frontend_cmp(&f[0], &f[1]) < 0);
}

/* Random endpoints on random nodes: the order of what is given does not matter; sorted, each
 * once. */
static void local_targets_of__random__sorted_and_independent_of_order(void **state)
{
    struct rng *r = rng_seeded_new(7);
    for (int round = 0; round < 300; round++) {
        struct arena *a = arena_new();
        struct str_buf forth = STR_BUF_INIT;
        struct str_buf back = STR_BUF_INIT;
        static const char *const conditions[] = {READY, DOWN, ENDS};
        for (uint64_t i = rng_below(r, 20); i > 0; i--) {
            const char *e = arena_printf(
                a, "{'addresses': ['10.2.0.%d'], 'nodeName': 'n%d', 'conditions': {%s}}",
                (int)rng_below(r, 12), (int)rng_below(r, 4), conditions[rng_below(r, 3)]);
            const char *before = str_buf_to_arena(&back, a);
            str_appendf(&forth, "%s%s", forth.len > 0 ? ", " : "", e);
            str_buf_reset(&back);
            str_appendf(&back, "%s%s%s", e, before[0] != '\0' ? ", " : "", before);
        }
        bool pods = rng_below(r, 2) == 0;
        struct scene s = {.pool = pods ? "mode: ipvs-nat, targets: pod" : NAT,
                          .director = "podsRoutable: true",
                          .spec = LOCAL,
                          .slices = arena_printf(a, SLICE("%s"), str_buf_text(&forth))};
        const char *x = scene_text(a, &s);
        s.slices = arena_printf(a, SLICE("%s"), str_buf_text(&back));
        s.nodes = NODE("n2", "10.1.0.2", "") ", " NODE("n1", "10.1.0.1", "");
        const char *y = scene_text(a, &s);
        size_t cut_x =
            strcspn(x, "-"); /* those left out stand in the order in which they were given */
        assert_int_equal(cut_x, strcspn(y, "-"));
        assert_memory_equal(x, y, cut_x);
        str_buf_done(&forth);
        str_buf_done(&back);
        arena_free(a);
    }
    rng_free(r);
    (void)state;
}

UNIT_MAIN(targets)
{
    const struct CMUnitTest tests[] = {
        targets_test(local_targets_of__scenes__as_wanted),
        targets_test(local_targets_of__more_than_255_pods_on_a_node__scaled),
        targets_test(local_targets_of__nft_with_300_targets__refused),
        targets_test(local_targets_of__nft_with_300_targets_served__256_of_them),
        targets_test(local_targets_of__reasons__sentences),
        targets_test(local_targets_of__pod__its_names),
        targets_test(local_frontend__order_and_text),
        targets_test(local_targets_of__random__sorted_and_independent_of_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
