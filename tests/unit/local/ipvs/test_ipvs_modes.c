/* SPDX-License-Identifier: Apache-2.0 */
/* test_ipvs_modes.c: from a Service to the virtual services and destinations of the kernel, and
 * what is refused. */
#include "tests/unit/local/ipvs/ipvs_kit.h"

#define UDP53            "{'name': 'u', 'port': 53, 'protocol': 'UDP', 'nodePort': 30053}"
#define TCP53            "{'name': 't', 'port': 53, 'protocol': 'TCP', 'nodePort': 30054}"
#define WISH(key, value) "'local.trimtab.io/" key "': '" value "'"
#define STICKY(s)                                                                                  \
    ", 'sessionAffinity': 'ClientIP', 'sessionAffinityConfig': {'clientIP': {'timeoutSeconds': " s \
    "}}"
#define LOCAL_POLICY ", 'externalTrafficPolicy': 'Local', 'healthCheckNodePort': 31000"
#define ENDPOINT                                                                                   \
    "{'metadata': {'namespace': 'd', 'name': 'a-1', 'labels': {'kubernetes.io/service-name': "     \
    "'a'}}, 'addressType': 'IPv4', 'ports': [{'name': '', 'port': 8080, 'protocol': 'TCP'}], "     \
    "'endpoints': [{'addresses': ['10.2.0.1'], 'nodeName': 'n1', 'conditions': {'ready': "         \
    "true}}]}"
#define REAL(where, port, how)                                                                     \
    "-a " where " -r 10.1.0.1:" port " " how "\n-a " where " -r 10.1.0.2:" port " " how "\n"
#define TCP       "-t 10.0.0.0:80"
#define NAT_REALS REAL(TCP, "30080", "-m -w 1")

static const struct ipvs_scene scenes[] = {
    {.name = "K01 nat", .want = NAT_LINES},
    {.name = "K02 dr",
     .pool = "mode: ipvs-dr",
     .want = "-A " TCP " -s rr\n" REAL(TCP, "80", "-g -w 1")},
    {.name = "K03 dr, n2 on another network",
     .pool = "mode: ipvs-dr",
     .nodes = NODE("n1", "10.1.0.1") ", " NODE("n2", "10.2.0.2"),
     .want = "-A " TCP " -s rr\n-a " TCP " -r 10.1.0.1:80 -g -w 1\n",
     .says = "TargetOutOfReach: n2: 10.2.0.2 is on no network of this director; ipvs-dr needs one"},
    {.name = "K04 tunnel gue",
     .pool = "mode: ipvs-tunnel",
     .director = "tunnel: {type: gue, port: 6080}",
     .want = "-A " TCP
             " -s rr\n" REAL(TCP, "80", "-i -w 1 --tun-type gue --tun-port 6080 --tun-nocsum")},
    {.name = "K05 tunnel ipip",
     .pool = "mode: ipvs-tunnel",
     .want = "-A " TCP " -s rr\n" REAL(TCP, "80", "-i -w 1 --tun-type ipip")},
    {.name = "K16 mh",
     .wishes = WISH("scheduler", "mh"),
     .want = "-A " TCP " -s mh -b mh-fallback,mh-port\n" NAT_REALS},
    {.name = "K17 mh with affinity",
     .wishes = WISH("scheduler", "mh"),
     .spec = STICKY("10800"),
     .want = "-A " TCP " -s mh -p 10800 -b mh-fallback\n" NAT_REALS},
    {.name = "K18 sh",
     .wishes = WISH("scheduler", "sh"),
     .want = "-A " TCP " -s sh -b sh-fallback\n" NAT_REALS},
    {.name = "K19 affinity", .spec = STICKY("60"), .want = "-A " TCP " -s rr -p 60\n" NAT_REALS},
    {.name = "K20 affinity with nft",
     .pool = "mode: nft",
     .spec = STICKY("60"),
     .want = "",
     .says =
         "AffinityTimeoutIgnored: mode nft chooses by the client's address and knows no time: a "
         "client moves when the targets change"},
    {.name = "K20 affinity with nft, the default time",
     .pool = "mode: nft",
     .spec = STICKY("10800"),
     .want = ""},
    {.name = "K21 udp",
     .ports = UDP53,
     .want = "-A -u 10.0.0.0:53 -s rr\n" REAL("-u 10.0.0.0:53", "30053", "-m -w 1")},
    {.name = "K22 udp one packet",
     .ports = UDP53,
     .wishes = WISH("udp-one-packet", "true"),
     .want = "-A -u 10.0.0.0:53 -s rr -o\n" REAL("-u 10.0.0.0:53", "30053", "-m -w 1")},
    {.name = "K23 tcp and udp",
     .ports = TCP53 ", " UDP53,
     .want = "-A -t 10.0.0.0:53 -s rr\n" REAL(
         "-t 10.0.0.0:53", "30054",
         "-m -w 1") "-A -u 10.0.0.0:53 -s rr\n" REAL("-u 10.0.0.0:53", "30053", "-m -w 1")},
    {.name = "K24 sctp",
     .ports = "{'port': 80, 'protocol': 'SCTP', 'nodePort': 30080}",
     .want = "",
     .code = TT_INVALID,
     .says = "port 80: SCTP is not served"},
    {.name = "K25 IPv6",
     .spec = ", 'ipFamilies': ['IPv6']",
     .nodes = NODE("n1", "fd00:1::1"),
     .want =
         "-A -t [2001:db8::100]:80 -s rr\n-a -t [2001:db8::100]:80 -r [fd00:1::1]:30080 -m -w 1\n"},
    {.name = "K26 IPv6, nodes without",
     .spec = ", 'ipFamilies': ['IPv6']",
     .want = "-A -t [2001:db8::100]:80 -s rr\n",
     .silent = "NoTargets"},
    {.name = "K26 both families, nodes without IPv6",
     .spec = ", 'ipFamilies': ['IPv4', 'IPv6'], 'ipFamilyPolicy': 'RequireDualStack'",
     .want = "-A " TCP " -s rr\n" REAL(TCP, "30080", "-m -w 1") "-A -t [2001:db8::100]:80 -s rr\n",
     .says = "NoTargets: no target has an IPv6 address: all ports of 2001:db8::100 are closed"},
    {.name = "K26 both families, a node with both",
     .spec = ", 'ipFamilies': ['IPv4', 'IPv6'], 'ipFamilyPolicy': 'RequireDualStack'",
     .nodes = NODE("n1", "10.1.0.1") ", " NODE("n2", "fd00:1::1"),
     .want =
         "-A " TCP " -s rr\n-a " TCP " -r 10.1.0.1:30080 -m -w 1\n"
         "-A -t [2001:db8::100]:80 -s rr\n-a -t [2001:db8::100]:80 -r [fd00:1::1]:30080 -m -w 1\n",
     .silent = "NoTargets"},
    {.name = "client addresses, Cluster behind ipvs-dr",
     .pool = "mode: ipvs-dr",
     .want = "-A " TCP " -s rr\n" REAL(TCP, "80", "-g -w 1"),
     .says = "ClientAddressNotKept: client addresses are not kept: externalTrafficPolicy Cluster "
             "(Local keeps them)"},
    {.name = "client addresses, Local behind ipvs-dr",
     .pool = "mode: ipvs-dr",
     .spec = LOCAL_POLICY,
     .slices = ENDPOINT,
     .want = "-A " TCP " -s rr\n-a " TCP " -r 10.1.0.1:80 -g -w 1\n",
     .silent = "ClientAddressNotKept"},
    {.name = "client addresses, Local with snat",
     .pool = "mode: ipvs-fullnat",
     .spec = LOCAL_POLICY,
     .slices = ENDPOINT,
     .want = "-A " TCP " -s rr\n-a " TCP " -r 10.1.0.1:30080 -m -w 1\n",
     .says = "ClientAddressNotKept: client addresses are not kept: targets see this director's "
             "address (director.directorIsGateway, or mode ipvs-dr or ipvs-tunnel, keeps them)"},
    {.name = "client addresses, Local with nft and snat",
     .pool = "mode: nft",
     .director = "directorIsGateway: false",
     .spec = LOCAL_POLICY,
     .slices = ENDPOINT,
     .want = "",
     .says = "ClientAddressNotKept: "},
    {.name = "client addresses, Local behind the gateway",
     .spec = LOCAL_POLICY,
     .slices = ENDPOINT,
     .want = "-A " TCP " -s rr\n-a " TCP " -r 10.1.0.1:30080 -m -w 1\n",
     .silent = "ClientAddressNotKept"},
    {.name = "client addresses, Cluster with snat: kube-proxy hides them in any case",
     .pool = "mode: nft",
     .director = "directorIsGateway: false",
     .want = "",
     .silent = "ClientAddressNotKept"},
    {.name = "Local without healthCheckNodePort",
     .spec = ", 'externalTrafficPolicy': 'Local'",
     .slices = ENDPOINT,
     .want = "-A " TCP " -s rr\n-a " TCP " -r 10.1.0.1:30080 -m -w 1\n",
     .says = "PolicyLocalNeedsHealth: policy Local without healthCheckNodePort: kube-proxy's "
             "health port says whether a node lives, not whether it has pods"},
    {.name = "Local with it",
     .spec = LOCAL_POLICY,
     .slices = ENDPOINT,
     .want = "-A " TCP " -s rr\n-a " TCP " -r 10.1.0.1:30080 -m -w 1\n",
     .silent = "PolicyLocalNeedsHealth"},
    {.name = "Local without it, another check",
     .wishes = WISH("health-check", "tcp"),
     .spec = ", 'externalTrafficPolicy': 'Local'",
     .slices = ENDPOINT,
     .want = "-A " TCP " -s rr\n-a " TCP " -r 10.1.0.1:30080 -m -w 1\n",
     .silent = "PolicyLocalNeedsHealth"},
    {.name = "tunnel over Ethernet",
     .pool = "mode: ipvs-tunnel",
     .mtu = 1500,
     .want = "-A " TCP " -s rr\n" REAL(TCP, "80", "-i -w 1 --tun-type ipip"),
     .says = "TunnelMtuSmall: the tunnel adds 20 bytes, and eth0 takes 1500: clients' packets of "
             "more than 1480 bytes are answered as too big (ip link set eth0 mtu 1520, on the "
             "targets likewise)"},
    {.name = "tunnel gue over Ethernet",
     .pool = "mode: ipvs-tunnel",
     .director = "tunnel: {type: gue, port: 6080}",
     .mtu = 1500,
     .want = "-A " TCP
             " -s rr\n" REAL(TCP, "80", "-i -w 1 --tun-type gue --tun-port 6080 --tun-nocsum"),
     .says = "the tunnel adds 32 bytes, and eth0 takes 1500: clients' packets of more than 1468 "},
    {.name = "tunnel, targets behind a router",
     .pool = "mode: ipvs-tunnel",
     .mtu = 1500,
     .nodes = NODE("n1", "10.9.0.1"),
     .want = "-A " TCP " -s rr\n-a " TCP " -r 10.9.0.1:80 -i -w 1 --tun-type ipip\n",
     .silent = "TunnelMtuSmall"},
    {.name = "no tunnel",
     .pool = "mode: ipvs-dr",
     .mtu = 1500,
     .want = "-A " TCP " -s rr\n" REAL(TCP, "80", "-g -w 1"),
     .silent = "TunnelMtuSmall"},
};

static const char *told(struct ipvs_kit *k)
{
    return arena_printf(k->a, "%s%s", str_buf_text(&k->told), k->result.message);
}

static void check(const struct ipvs_scene *s)
{
    struct ipvs_kit k;

    ipvs_kit_begin(&k);
    if (s->mtu != 0) {
        fake_kernel_link(k.kernel, &(struct local_link){.index = 2,
                                                        .name = "eth0",
                                                        .up = true,
                                                        .mac = {2, 0, 0, 0, 0, 2},
                                                        .ethernet = true,
                                                        .mtu = s->mtu});
    }
    assert_int_equal(ipvs_kit_open(&k, s), TT_OK);
    int32_t code = ipvs_kit_sync(&k, s);
    if (code != s->code || strcmp(ipvs_kit_kernel(&k), s->want) != 0 ||
        (s->says != NULL && strstr(told(&k), s->says) == NULL) ||
        (s->silent != NULL && strstr(told(&k), s->silent) != NULL)) {
        fail_msg("%s: code %d (%d), told %s\n%s, not\n%s", s->name, (int)code, (int)s->code,
                 told(&k), ipvs_kit_kernel(&k), s->want);
    }
    /* A second sync, and one of a process that was just started, change nothing. */
    for (int i = 0; s->code == TT_OK && i < 2; i++) {
        assert_int_equal(ipvs_kit_sync(&k, s), TT_OK);
        if (k.changes != 0 && strstr(str_buf_text(&k.order), "announcement") == NULL) {
            fail_msg("%s: again: %s", s->name, str_buf_text(&k.order));
        }
        assert_string_equal(ipvs_kit_kernel(&k), s->want);
        ipvs_kit_close(&k);
        assert_int_equal(ipvs_kit_open(&k, s), TT_OK);
    }
    if (s->code == TT_OK) {
        assert_int_equal(ipvs_kit_sync(&k, s), TT_OK);
        assert_int_equal(ipvs_kit_delete(&k), TT_OK);
        assert_string_equal(ipvs_kit_kernel(&k), "");
    }
    ipvs_kit_end(&k);
}

static void test_modes__of_a_service__are_in_the_kernel_and_stay(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(scenes); i++) {
        check(&scenes[i]);
    }
}

static void no_ctnetlink__found_when_a_service_goes__told_with_the_next(void **state)
{
    static const struct ipvs_scene nft = {.name = "no ctnetlink", .pool = "mode: nft"};
    struct ipvs_kit k;

    (void)state;
    ipvs_kit_begin(&k);
    fake_kernel_no_ctnetlink(k.kernel, true);
    assert_int_equal(ipvs_kit_open(&k, &nft), TT_OK);
    assert_int_equal(ipvs_kit_sync(&k, &nft), TT_OK);
    assert_null(strstr(told(&k), "ctnetlink"));
    assert_int_equal(ipvs_kit_delete(&k), TT_OK);
    assert_int_equal(ipvs_kit_sync(&k, &nft), TT_OK);
    assert_non_null(strstr(told(&k), "DirectorNotReady: " LOCAL_CT_NONE));
    ipvs_kit_close(&k);
    ipvs_kit_end(&k);
}

UNIT_MAIN(ipvs_modes)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_ctnetlink__found_when_a_service_goes__told_with_the_next),
        cmocka_unit_test(test_modes__of_a_service__are_in_the_kernel_and_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
