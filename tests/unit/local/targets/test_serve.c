/* SPDX-License-Identifier: Apache-2.0 */
/* test_serve.c: wishes, pool and director put together, and what does not go together.  Rows
 * with a number are those of the provider's specification. */
#include "tests/unit/local/targets/targets_test.h"

static const char *const target_words[] = {"auto", "nodePort", "node", "pod"};

static const char *serve_text(struct arena *a, const struct scene *s)
{
    const struct local_config *config;
    const struct tt_service *service;
    struct local_serve r;
    struct err err = ERR_INIT;
    if (scene_serve(a, s, &config, &service, &r, &err) != ERR_OK) {
        assert_int_equal(err.code, ERR_INVALID);
        return arena_printf(a, "E %s", err.message);
    }
    struct str_buf b = STR_BUF_INIT;
    str_appendf(&b, "%s %s %s%s %s", local_mode_word(r.mode), local_scheduler_word(r.scheduler),
                target_words[r.targets], r.snat ? " snat" : "", local_check_word(r.check));
    if (r.affinity) {
        str_appendf(&b, " affinity=%d", (int)r.affinity_s);
    }
    str_append(&b, r.udp_one_packet ? " one-packet" : "");
    str_append(&b, r.zone_only ? " zone" : "");
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

#define L     "'local.trimtab.io/"
#define LOCAL ", 'externalTrafficPolicy': 'Local', 'healthCheckNodePort': 31000"
static const struct scene scenes[] = {
    {.name = "K01", .want = "ipvs-nat auto nodePort kube-proxy"},
    {.name = "nat without the gateway is fullnat",
     .director = "zone: x",
     .want = "ipvs-fullnat auto nodePort snat kube-proxy"},
    {.name = "nat, snat never",
     .director = "zone: x",
     .wishes = L "snat': 'never'",
     .want = "ipvs-nat auto nodePort kube-proxy"},
    {.name = "K02", .pool = "mode: ipvs-dr", .want = "ipvs-dr auto node kube-proxy"},
    {.name = "K04", .pool = "mode: ipvs-tunnel", .want = "ipvs-tunnel auto node kube-proxy"},
    {.name = "K06",
     .pool = "mode: ipvs-fullnat",
     .want = "ipvs-fullnat auto nodePort snat kube-proxy"},
    {.name = "fullnat, snat never",
     .pool = "mode: ipvs-fullnat",
     .wishes = L "snat': 'never'",
     .want = "E snat never has no meaning with ipvs-fullnat"},
    {.name = "K08", .pool = "mode: nft", .want = "nft auto nodePort kube-proxy"},
    {.name = "nft without the gateway",
     .pool = "mode: auto",
     .director = "zone: x",
     .want = "nft auto nodePort snat kube-proxy"},
    {.name = "C14 by annotation",
     .pool = "mode: ipvs-dr",
     .wishes = L "snat': 'always'",
     .want = "E snat has no meaning with ipvs-dr"},
    {.name = "snat of a pool that has another mode",
     .pool = NAT ", snat: always",
     .wishes = L "mode': 'ipvs-dr'",
     .want = "ipvs-dr auto node kube-proxy"},
    {.name = "C15 by annotation",
     .top = "ipMode: Proxy",
     .wishes = L "mode': 'ipvs-dr'",
     .want = "E ipMode Proxy with mode ipvs-dr: nodes would not accept packets for the address"},
    {.name = "K15",
     .pool = "mode: nft",
     .wishes = L "scheduler': 'lc'",
     .want = "E scheduler lc needs an ipvs mode; nft has rr, wrr, sh and mh"},
    {.name = "K15 mode of the Service",
     .pool = NAT ", scheduler: wlc",
     .wishes = L "mode': 'nft'",
     .want = "E scheduler wlc needs an ipvs mode; nft has rr, wrr, sh and mh"},
    {.name = "K16", .wishes = L "scheduler': 'mh'", .want = "ipvs-nat mh nodePort kube-proxy"},
    {.name = "K17",
     .wishes = L "scheduler': 'mh'",
     .spec = ", 'sessionAffinity': 'ClientIP'",
     .want = "ipvs-nat mh nodePort kube-proxy affinity=10800"},
    {.name = "K18", .pool = NAT ", scheduler: sh", .want = "ipvs-nat sh nodePort kube-proxy"},
    {.name = "K19",
     .wishes = L "scheduler': 'rr'",
     .spec = ", 'sessionAffinity': 'ClientIP', 'sessionAffinityConfig': {'clientIP': "
             "{'timeoutSeconds': 60}}",
     .want = "ipvs-nat rr nodePort kube-proxy affinity=60"},
    {.name = "K20",
     .pool = "mode: nft",
     .spec = ", 'sessionAffinity': 'ClientIP'",
     .want = "nft auto nodePort kube-proxy affinity=10800"},
    {.name = "K21",
     .ports = "{'port': 53, 'protocol': 'UDP', 'nodePort': 30053}",
     .want = "ipvs-nat auto nodePort kube-proxy"},
    {.name = "K22",
     .ports = "{'port': 53, 'protocol': 'UDP', 'nodePort': 30053}",
     .wishes = L "udp-one-packet': 'true'",
     .want = "ipvs-nat rr nodePort kube-proxy one-packet"},
    {.name = "K22 nft",
     .pool = "mode: nft",
     .wishes = L "udp-one-packet': 'true'",
     .want = "E udp-one-packet needs an ipvs mode"},
    {.name = "K22 scheduler",
     .wishes = L "udp-one-packet': 'true', " L "scheduler': 'mh'",
     .want = "E udp-one-packet needs scheduler rr, not mh"},
    {.name = "K22 affinity",
     .wishes = L "udp-one-packet': 'true'",
     .spec = ", 'sessionAffinity': 'ClientIP'",
     .want = "E udp-one-packet does not go with sessionAffinity ClientIP"},
    {.name = "K24",
     .ports = "{'port': 132, 'protocol': 'SCTP', 'nodePort': 30132}",
     .want = "E port 132: SCTP is not served"},
    {.name = "K36",
     .wishes = L "targets': 'pod'",
     .want = "E targets pod: the director does not reach pods (director.podsRoutable)"},
    {.name = "K37",
     .pool = "mode: nft",
     .ports = NO_NODE,
     .spec = ", 'allocateLoadBalancerNodePorts': false",
     .want = "E the Service has no node ports, and the director does not reach pods"},
    {.name = "K37 with routes to pods",
     .pool = "mode: nft",
     .director = GATEWAY ", podsRoutable: true",
     .ports = NO_NODE,
     .want = "nft auto pod none"},
    {.name = "K38",
     .pool = "mode: ipvs-dr",
     .ports = NO_NODE,
     .want = "ipvs-dr auto node kube-proxy"},
    {.name = "node ports asked for, none there",
     .director = GATEWAY ", podsRoutable: true",
     .ports = NO_NODE,
     .wishes = L "targets': 'nodePort'",
     .want = "E targets nodePort: the Service has no node ports"},
    {.name = "targets that the mode does not have",
     .pool = "mode: ipvs-dr",
     .director = "podsRoutable: true",
     .wishes = L "targets': 'pod'",
     .want = "E targets pod has no meaning with ipvs-dr, which forwards to nodes"},
    {.name = "targets of a pool that has another mode",
     .pool = "mode: nft, targets: pod",
     .director = "podsRoutable: true",
     .wishes = L "mode': 'ipvs-dr'",
     .want = "ipvs-dr auto node kube-proxy"},
    {.name = "Local", .spec = LOCAL, .want = "ipvs-nat auto nodePort healthCheckNodePort"},
    {.name = "Local without its port",
     .spec = ", 'externalTrafficPolicy': 'Local'",
     .want = "ipvs-nat auto nodePort kube-proxy"},
    {.name = "healthCheckNodePort with policy Cluster",
     .wishes = L "health-check': 'healthCheckNodePort'",
     .want = "E health-check healthCheckNodePort: the Service has none (it gets one with "
             "externalTrafficPolicy Local)"},
    {.name = "a check of nodes for pods",
     .director = "podsRoutable: true",
     .wishes = L "targets': 'pod', " L "health-check': 'kube-proxy'",
     .want = "E health-check kube-proxy asks nodes; the targets are pods"},
    {.name = "tcp check in DR",
     .pool = "mode: ipvs-dr",
     .ports = NO_NODE,
     .wishes = L "health-check': 'tcp'",
     .want = "E tcp check needs a node port in mode ipvs-dr"},
    {.name = "tcp check in DR with a node port",
     .pool = "mode: ipvs-dr",
     .wishes = L "health-check': 'tcp'",
     .want = "ipvs-dr auto node tcp"},
    {.name = "times",
     .wishes = L "health-check-timeout': '2s'",
     .want = "E health-check-timeout 2s is not below health-check-interval 2s"},
    {.name = "zone",
     .spec = ", 'trafficDistribution': 'PreferClose'",
     .want = "ipvs-nat auto nodePort kube-proxy zone"},
};

static void local_serve_of__scenes__as_wanted(void **state)
{
    size_t bad = 0;
    for (size_t i = 0; i < ARRAY_LEN(scenes); i++) {
        const char *got = serve_text(*state, &scenes[i]);
        if (strcmp(got, scenes[i].want) != 0) {
            print_error("%s: want\n%s\ngot\n%s\n", scenes[i].name, scenes[i].want, got);
            bad++;
        }
    }
    assert_int_equal(bad, 0);
}

static void local_serve_of__wishes__before_the_pool(void **state)
{
    const struct local_config *config;
    const struct tt_service *service;
    struct local_serve r;
    struct err err = ERR_INIT;
    const struct scene s = {
        .pool = NAT ", drainTimeout: 10s, sorry: 10.9.9.9, failOpen: false, checks: {fall: 7}",
        .wishes = L "drain-timeout': '0s', " L "sorry': '10.8.8.8:81', " L
                    "health-check-rise': '5', " L "health-check-interval': '7s'"};
    assert_int_equal(scene_serve(*state, &s, &config, &service, &r, &err), ERR_OK);
    assert_int_equal(r.drain_timeout_ms, 0);
    assert_int_equal(r.sorry.port, 81);
    assert_false(r.fail_open);
    assert_int_equal(r.checks.fall, 7);
    assert_int_equal(r.checks.rise, 5);
    assert_int_equal(r.checks.interval_ms, 7000);

    /* Outside all pools the director's settings hold. */
    struct local_wish none = {0};
    assert_int_equal(local_serve_of(config, NULL, service, &none, &r, &err), ERR_OK);
    assert_int_equal(r.mode, LOCAL_MODE_NFT);
    assert_int_equal(r.drain_timeout_ms, 60000);
    assert_int_equal(r.sorry.addr.len, 0);
    assert_true(r.fail_open);
}

static void local_scheduler_of__auto__by_weights(void **state)
{
    struct local_serve serve = {.scheduler = LOCAL_SCHED_AUTO};
    struct local_target items[] = {{.weight = 0}, {.weight = 2}, {.weight = 2}};
    struct local_target_set t = {.items = items, .n = 3};
    (void)state;
    assert_int_equal(local_scheduler_of(&serve, &t), LOCAL_SCHED_RR);
    items[2].weight = 3;
    assert_int_equal(local_scheduler_of(&serve, &t), LOCAL_SCHED_WRR);
    serve.scheduler = LOCAL_SCHED_LC;
    assert_int_equal(local_scheduler_of(&serve, &t), LOCAL_SCHED_LC);
}

UNIT_MAIN(serve)
{
    const struct CMUnitTest tests[] = {
        targets_test(local_serve_of__scenes__as_wanted),
        targets_test(local_serve_of__wishes__before_the_pool),
        targets_test(local_scheduler_of__auto__by_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
