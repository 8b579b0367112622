/* SPDX-License-Identifier: Apache-2.0 */
/* test_config.c: the configuration of the provider `local`: what is read, and each finding to
 * the letter.
 *
 * Rows C01 to C21 are those of the provider's specification that need no machine. */
#include "tests/unit/local/model/model_test.h"

static const char example[] = V "role: all\n"
                                "pools:\n"
                                "- name: public\n"
                                "  addresses: [203.0.113.0/27, 203.0.113.64-203.0.113.79, "
                                "\"2001:db8:1::/120\"]\n"
                                "  announce: {by: arp, interfaces: [eth0]}\n"
                                "- name: dsr\n"
                                "  addresses: [198.51.100.0/24]\n"
                                "  autoAssign: false\n"
                                "  mode: ipvs-dr\n"
                                "  scheduler: mh\n"
                                "  announce: {by: routes}\n"
                                "director:\n"
                                "  redundancy: lease\n";

static const char *range_text(struct arena *a, const struct local_range *r)
{
    char first[IP_TEXT_MAX];
    char last[IP_TEXT_MAX];
    ip_format(&r->first, first);
    ip_format(&r->last, last);
    return arena_printf(a, "%s-%s", first, last);
}

static void local_config_read__example__all_members(void **state)
{
    struct arena *a = *state;
    const struct local_config *c = config_of(a, example);
    assert_int_equal(c->role, LOCAL_ROLE_ALL);
    assert_string_equal(c->instance, "trimtab");
    assert_true(c->default_class);
    assert_int_equal(c->n_pools, 2);
    assert_int_equal(c->reuse_delay_ms, 60000);
    assert_int_equal(c->release_delay_ms, 2000);
    assert_int_equal(c->director.redundancy, LOCAL_REDUNDANCY_LEASE);

    const struct local_pool *p = &c->pools[0];
    assert_string_equal(p->name, "public");
    assert_int_equal(p->line, 4);
    assert_int_equal(p->n_ranges, 3);
    assert_string_equal(range_text(a, &p->ranges[0]), "203.0.113.0-203.0.113.31");
    assert_string_equal(range_text(a, &p->ranges[1]), "203.0.113.64-203.0.113.79");
    assert_string_equal(range_text(a, &p->ranges[2]), "2001:db8:1::-2001:db8:1::ff");
    assert_true(p->auto_assign);
    assert_int_equal(p->announce_by, LOCAL_ANNOUNCE_ARP);
    assert_int_equal(p->n_interfaces, 1);
    assert_string_equal(p->interfaces[0], "eth0");
    assert_int_equal(p->refresh_ms, 60000);
    assert_int_equal(p->serve.mode, LOCAL_MODE_AUTO);

    p = &c->pools[1];
    assert_string_equal(p->name, "dsr");
    assert_int_equal(p->line, 7);
    assert_false(p->auto_assign);
    assert_int_equal(p->serve.mode, LOCAL_MODE_IPVS_DR);
    assert_int_equal(p->serve.scheduler, LOCAL_SCHED_MH);
    assert_int_equal(p->announce_by, LOCAL_ANNOUNCE_ROUTES);
}

static void local_config_read__nothing_said__defaults_of_the_director(void **state)
{
    const struct local_config *c = config_of(*state, ONE);
    const struct local_director_config *d = &c->director;
    const struct local_service_defaults *s = &c->pools[0].serve;
    assert_null(d->name);
    assert_int_equal(d->redundancy, LOCAL_REDUNDANCY_NONE);
    assert_int_equal(d->lease_duration_ms, 10000);
    assert_int_equal(d->renew_ms, 3000);
    assert_int_equal(d->n_node_address_types, 1);
    assert_string_equal(d->node_address_types[0], "InternalIP");
    assert_false(d->is_gateway || d->pods_routable || d->closed_ports_drop || d->set_sysctls);
    assert_int_equal(d->route_table, 116);
    assert_int_equal(d->route_protocol, 116);
    assert_int_equal(d->tunnel, LOCAL_TUNNEL_IPIP);
    assert_int_equal(d->tunnel_port, 6080);
    assert_int_equal(d->mark_bit, 0x2000);
    assert_false(d->api_loss_release);
    assert_int_equal(d->orphan_grace_ms, 30000);
    assert_null(d->sync_interface);
    assert_int_equal(s->checks.interval_ms, 2000);
    assert_int_equal(s->checks.timeout_ms, 1000);
    assert_int_equal(s->checks.fall, 3);
    assert_int_equal(s->checks.rise, 2);
    assert_int_equal(s->checks.cluster, LOCAL_CHECK_KUBE_PROXY);
    assert_int_equal(s->checks.local, LOCAL_CHECK_NODE_PORT);
    assert_int_equal(s->checks.pod, LOCAL_CHECK_NONE);
    assert_int_equal(s->drain_timeout_ms, 60000);
    assert_true(s->fail_open);
    assert_int_equal(s->sorry.addr.len, 0);
}

static void local_config_read__director_below_pools__pools_begin_with_its_settings(void **state)
{
    const struct local_config *c = config_of(
        *state,
        V "pools:\n"
          "- {name: a, addresses: [10.0.0.0/29]}\n"
          "- {name: b, addresses: [10.0.1.0/29], mode: nft, drainTimeout: 1m30s, "
          "failOpen: yes, checks: {fall: 5}}\n"
          "director: {mode: ipvs-nat, drainTimeout: 0s, failOpen: off, sorry: '10.9.9.9:81', "
          "checks: {interval: 5s, cluster: tcp}, markBit: 0x10000, closedPorts: drop,\n"
          "  nodeSelector: {matchLabels: {role: edge}, matchExpressions: [{key: zone, operator: "
          "NotIn, values: [a, b]}]},\n"
          "  tunnel: {type: gue, port: 6_081}, connSync: {interface: eth1, syncid: 7}}\n");
    const struct local_service_defaults *x = &c->pools[0].serve;
    const struct local_service_defaults *y = &c->pools[1].serve;
    assert_int_equal(x->mode, LOCAL_MODE_IPVS_NAT);
    assert_int_equal(x->drain_timeout_ms, 0);
    assert_false(x->fail_open);
    assert_int_equal(x->sorry.port, 81);
    assert_int_equal(x->sorry.addr.len, 4);
    assert_int_equal(x->checks.interval_ms, 5000);
    assert_int_equal(x->checks.cluster, LOCAL_CHECK_TCP);
    assert_int_equal(y->mode, LOCAL_MODE_NFT);
    assert_int_equal(y->drain_timeout_ms, 90000);
    assert_true(y->fail_open);
    assert_int_equal(y->checks.fall, 5);
    assert_int_equal(y->checks.interval_ms, 5000);
    assert_int_equal(c->director.mark_bit, 0x10000);
    assert_true(c->director.closed_ports_drop);
    assert_int_equal(c->director.tunnel, LOCAL_TUNNEL_GUE);
    assert_int_equal(c->director.tunnel_port, 6081);
    assert_string_equal(c->director.sync_interface, "eth1");
    assert_int_equal(c->director.sync_id, 7);
    const struct tt_kv edge[] = {{"role", "edge"}, {"zone", "c"}};
    const struct tt_kv other[] = {{"role", "edge"}, {"zone", "b"}};
    assert_true(local_selector_matches(&c->director.node_selector, edge, 2));
    assert_true(local_selector_matches(&c->director.node_selector, edge, 1));
    assert_false(local_selector_matches(&c->director.node_selector, other, 2));
    assert_false(local_selector_matches(&c->director.node_selector, edge + 1, 1));
}

/* Findings of a text, to the letter. */
struct row {
    const char *name;
    const char *text;
    const char *want;
};

static void expect_rows(struct arena *a, const struct row *rows, size_t n)
{
    size_t bad = 0;
    for (size_t i = 0; i < n; i++) {
        const char *got = findings_text(a, rows[i].text, NULL, NULL);
        if (strcmp(got, rows[i].want) != 0) {
            print_error("%s: want\n%sgot\n%s", rows[i].name, rows[i].want, got);
            bad++;
        }
    }
    assert_int_equal(bad, 0);
}

#define POOL(keys)     V "pools:\n- name: p\n  addresses: [10.0.0.0/29]\n" keys
#define DIRECTOR(keys) ONE "director:\n" keys
static const struct row vectors[] = {
    {"C01", "", "error 1: apiVersion is missing; this trimtab reads local.trimtab.io/v1\n"},
    {"C01 comment", "# nothing\n---\n",
     "error 1: apiVersion is missing; this trimtab reads local.trimtab.io/v1\n"},
    {"C02", "# x\napiVersion: v1\npools: []\n",
     "error 2: apiVersion is \"v1\"; this trimtab reads local.trimtab.io/v1\n"},
    {"C03", V, "error 1: no pools: nothing could be handed out\n"},
    {"C03 empty", V "pools: []\n", "error 2: no pools: nothing could be handed out\n"},
    {"C04", V "pools:\n- name: p\n  addreses: [10.0.0.0/29]\n",
     "error 3: pool \"p\" has no addresses\nerror 4: unknown key \"addreses\" (addresses?)\n"},
    {"C05",
     V "pools:\n- {name: a, addresses: [10.0.0.0/29]}\n- name: b\n  addresses:\n  - "
       "192.0.2.1\n  - 10.0.0.4-10.0.0.9\n",
     "error 7: pools \"a\" and \"b\" both have 10.0.0.4\n"},
    {"C05 the later pool begins first",
     V "pools:\n- {name: a, addresses: [10.0.0.4-10.0.0.9]}\n- {name: b, addresses: "
       "[10.0.0.0/29]}\n",
     "error 4: pools \"a\" and \"b\" both have 10.0.0.4\n"},
    {"C05 one pool", POOL("- name: b\n  addresses: [10.1.0.0/24, 10.1.0.7]\n"),
     "error 6: pool \"b\" has 10.1.0.7 twice\n"},
    {"C06", V "pools:\n- name: p\n  addresses: [10.0.0.9-10.0.0.1]\n",
     "error 4: \"10.0.0.9-10.0.0.1\": the range ends before it begins\n"},
    {"C07", V "pools:\n- name: p\n  addresses: [\"10.0.0.1-2001:db8::1\"]\n",
     "error 4: \"10.0.0.1-2001:db8::1\": the ends of a range have different families\n"},
    {"C08", V "pools:\n- name: p\n  addresses: [10.0.0.3/29]\n",
     "warning 4: \"10.0.0.3/29\": taken as 10.0.0.0/29\n"},
    {"C09",
     V "pools:\n- name: p\n  addresses:\n  - 127.0.0.0/8\n  - \"fe80::/64\"\n  - 224.0.0.1\n  - "
       "10.0.0.1\n",
     "error 5: \"127.0.0.0/8\": 127.0.0.0/8 cannot be handed out\n"
     "error 6: \"fe80::/64\": fe80::/10 cannot be handed out\n"
     "error 7: \"224.0.0.1\": 224.0.0.0/4 cannot be handed out\n"},
    {"C11", V "pools: [{name: p, addresses: [\"2001:db8::/64\"]}]\n", ""},
    {"C13", POOL("  mode: dr\n"), "error 5: mode \"dr\": did you mean ipvs-dr?\n"},
    {"C13 director", DIRECTOR("  mode: dr\n"), "error 4: mode \"dr\": did you mean ipvs-dr?\n"},
    {"C14", POOL("  mode: ipvs-dr\n  snat: always\n"),
     "error 6: snat has no meaning with ipvs-dr\n"},
    {"C15", POOL("  mode: ipvs-tunnel\n") "ipMode: Proxy\n",
     "error 6: ipMode Proxy with mode ipvs-tunnel: nodes would not accept packets for the "
     "address\n"},
    {"C16", DIRECTOR("  checks: {timeout: 3s, interval: 2s}\n"),
     "error 4: timeout 3s is not below interval 2s\n"},
    {"C16 pool", POOL("  checks:\n    timeout: 2s\n"),
     "error 6: timeout 2s is not below interval 2s\n"},
    {"C17", DIRECTOR("  leaseDuration: 5s\n  renew: 3s\n"),
     "error 4: leaseDuration 5s leaves no time for a second try with renew 3s\n"},
    {"C18", DIRECTOR("  routeProtocol: 187\n"),
     "error 4: routeProtocol 187 is isis in FRR; choose another\n"},
    {"C20", POOL("  autoAssign: no\n  avoidBuggyIPs: on\n") "director: {tunnel: {port: 6_080}}\n",
     ""},
    {"C20 quoted", POOL("  autoAssign: \"no\"\n"),
     "error 5: autoAssign: want true or false, got \"no\"\n"},
};

static void local_config_read__vectors__texts(void **state)
{
    expect_rows(*state, vectors, ARRAY_LEN(vectors));
}

static const struct row others[] = {
    {"role", ONE "role: leader\n",
     "error 3: role is \"leader\"; it can be all, allocator or director\n"},
    {"instance", ONE "instance: My_Table\n",
     "error 3: instance \"My_Table\": lower-case letters, digits and dashes, at most 15\n"},
    {"instance long", ONE "instance: abcdefghijklmnop\n",
     "error 3: instance \"abcdefghijklmnop\": lower-case letters, digits and dashes, at most 15\n"},
    {"not YAML", V "pools: [\n",
     "error 3: did not find expected node content while parsing a flow node\n"},
    {"not a mapping", "- 1\n",
     "error 1: apiVersion is missing; this trimtab reads local.trimtab.io/v1\n"},
    {"two documents", ONE "---\na: 1\n", "error 1: 2 documents; the configuration is one\n"},
    {"twice", ONE "role: all\nrole: director\n", "error 4: key \"role\" stands twice\n"},
    {"unknown", ONE "colour: red\n", "error 3: unknown key \"colour\"\n"},
    {"two pools",
     V "pools:\n- {name: a, addresses: [10.0.0.1]}\n- {name: a, addresses: "
       "[10.0.0.2]}\n",
     "error 4: two pools are called \"a\"\n"},
    {"namespace", V "pools:\n- {name: a, addresses: [10.0.0.1], namespaces: [demo, A_B]}\n",
     "error 3: namespaces: no namespace can be called \"A_B\"\n"},
    {"pool name", V "pools:\n- {name: A b, addresses: [10.0.0.1]}\n",
     "error 3: pool name \"A b\": lower-case letters, digits and dashes, at most 63\n"},
    {"no name", V "pools:\n- {addresses: [10.0.0.1]}\n", "error 3: pool has no name\n"},
    {"CIDR", V "pools:\n- {name: a, addresses: [10.0.0.0/33, 10.0.0]}\n",
     "error 3: \"10.0.0.0/33\": not a CIDR\nerror 3: \"10.0.0\" is not an address\n"},
    {"exclude", POOL("  exclude: [10.1.0.0/16, 10.0.0.2-10.0.0.3, 10.2.0.1-10.2.0.2]\n"),
     "warning 5: exclude 10.1.0.0/16 is not inside pool \"p\"\n"
     "warning 5: exclude 10.2.0.1-10.2.0.2 is not inside pool \"p\"\n"},
    {"exclude over two entries",
     V "pools: [{name: a, addresses: [10.0.0.0/30, 10.0.0.4/30], exclude: "
       "[10.0.0.2-10.0.0.5]}]\n",
     ""},
    {"durations", ONE "reuseDelay: 25h\nreleaseDelay: soon\n",
     "error 3: reuseDelay 25h: at most 24h\nerror 4: releaseDelay: \"soon\" is not a duration\n"},
    {"duration without unit", ONE "reuseDelay: 60\nreleaseDelay: 0\n",
     "error 3: reuseDelay: \"60\" is not a duration (60s?)\n"},
    {"interval", DIRECTOR("  checks: {interval: 100ms}\n"),
     "error 4: checks.interval 100ms: at least 500ms\n"},
    {"check kind",
     POOL("  checks: {pod: kube-proxy, cluster: kubeproxy, local: "
          "healthcheckNodePort}\n"),
     "error 5: checks.pod is \"kube-proxy\"; it can be none, tcp or http\n"
     "error 5: checks.cluster \"kubeproxy\": did you mean kube-proxy?\n"
     "error 5: checks.local \"healthcheckNodePort\": did you mean healthCheckNodePort?\n"},
    {"scheduler", POOL("  scheduler: lc\n"),
     "error 5: scheduler lc needs an ipvs mode; nft has rr, wrr, sh and mh\n"},
    {"scheduler word", POOL("  scheduler: maglev\n"),
     "error 5: scheduler \"maglev\": did you mean mh?\n"},
    {"scheduler that is left out", POOL("  scheduler: dh\n"),
     "error 5: scheduler is \"dh\"; it can be auto, rr, wrr, lc, wlc, sh or mh\n"},
    {"targets", POOL("  targets: pod\n"),
     "error 5: targets pod: the director does not reach pods (director.podsRoutable)\n"},
    {"targets with a mode", POOL("  mode: ipvs-dr\n  targets: nodePort\n"),
     "error 6: targets nodePort has no meaning with ipvs-dr, which forwards to nodes\n"},
    {"targets reachable", POOL("  targets: pod\n") "director: {podsRoutable: true}\n", ""},
    {"reservations",
     ONE "reservations:\n- {service: demo/web, addresses: [10.0.0.9]}\n- {service: web, "
         "addresses: [10.0.0.1]}\n- {service: demo/a, addresses: [10.0.0.1]}\n- {service: demo/b, "
         "addresses: [10.0.0.1]}\n",
     "error 4: reservation of demo/web: 10.0.0.9 is in no pool\n"
     "error 5: reservation: service \"web\" is not namespace/name\n"
     "error 7: 10.0.0.1 is reserved for demo/a and demo/b\n"},
    {"mark", DIRECTOR("  markBit: 0x4000\n"), "error 4: markBit 0x4000 is kube-proxy's\n"},
    {"mark of two bits", DIRECTOR("  markBit: 3\n"), "error 4: markBit 3 is not one bit of 32\n"},
    {"table", DIRECTOR("  routeTable: 254\n"),
     "error 4: routeTable 254 is the kernel's table main; choose one of 1 to 252\n"},
    {"table too big", DIRECTOR("  routeTable: 1000\n"), "error 4: routeTable 1000: at most 252\n"},
    {"sorry", DIRECTOR("  sorry: nowhere:80\n"),
     "error 4: sorry: \"nowhere:80\" is not an address or address:port\n"},
    {"selector",
     POOL("  serviceSelector:\n    matchExpressions:\n    - {key: a, operator: In}\n    - {key: b, "
          "operator: Exist}\n    - {key: c}\n"),
     "error 7: matchExpressions: operator In needs values\n"
     "error 8: operator is \"Exist\"; it can be In, NotIn, Exists or DoesNotExist\n"
     "error 9: matchExpressions: an item needs key and operator\n"},
    {"all of them", ONE "role: x\ninstance: X\nipMode: z\n",
     "error 3: role is \"x\"; it can be all, allocator or director\n"
     "error 4: instance \"X\": lower-case letters, digits and dashes, at most 15\n"
     "error 5: ipMode is \"z\"; it can be auto, VIP or Proxy\n"},
};

static void local_config_read__mistakes__texts(void **state)
{
    expect_rows(*state, others, ARRAY_LEN(others));
}

/* C21. */
static void local_config_read__role_of_the_flag__overrides(void **state)
{
    const struct local_config *c = NULL;
    assert_string_equal(findings_text(*state, ONE "role: allocator\n", "director", &c), "");
    assert_int_equal(c->role, LOCAL_ROLE_DIRECTOR);
    assert_string_equal(
        findings_text(*state, ONE, "leader", &c),
        "error 0: --local-role is \"leader\"; it can be all, allocator or director\n");
}

static void local_config_read__error__first_one_with_file_and_line(void **state)
{
    struct local_config_findings f;
    struct err err = ERR_INIT;
    const struct local_config *c = NULL;
    const char *text = V "pools: [{name: p, addresses: [10.0.0.3/29]}]\nrole: x\ninstance: X\n";
    assert_int_equal(
        local_config_read(*state, "/etc/local.yaml", text, strlen(text), NULL, &c, &f, &err),
        ERR_INVALID);
    assert_string_equal(err.message, "/etc/local.yaml:3: role is \"x\"; it can be all, allocator "
                                     "or director");
    assert_int_equal(f.n, 3);
}

static void local_config_read__many_findings__counted(void **state)
{
    struct str_buf b = STR_BUF_INIT;
    str_append(&b, ONE);
    for (int i = 0; i < 1000; i++) {
        str_appendf(&b, "colour%d: red\n", i);
    }
    const char *text = findings_text(*state, str_buf_text(&b), NULL, NULL);
    assert_true(str_has_prefix(text, "error 3: unknown key \"colour0\"\n"));
    assert_true(str_has_suffix(text, "error 0: 800 further findings are not shown\n"));
    str_buf_done(&b);
}

static void local_words__there_and_back(void **state)
{
    (void)state;
    const char *meant;
    for (enum local_mode m = LOCAL_MODE_AUTO; m <= LOCAL_MODE_IPVS_TUNNEL; m++) {
        enum local_mode back = LOCAL_MODE_AUTO;
        assert_true(local_mode_parse(local_mode_word(m), &back, &meant));
        assert_int_equal(back, m);
    }
    assert_string_equal(local_mode_word((enum local_mode)77), "");
    assert_true(local_mode_is_ipvs(LOCAL_MODE_IPVS_NAT));
    assert_false(local_mode_is_ipvs(LOCAL_MODE_NFT));
    assert_int_equal(local_mode_of(LOCAL_MODE_AUTO), LOCAL_MODE_NFT);
    struct local_sorry s;
    assert_true(local_sorry_parse("[2001:db8::9]:80", &s));
    assert_int_equal(s.port, 80);
    assert_int_equal(s.addr.len, 16);
    assert_true(local_sorry_parse("2001:db8::9", &s));
    assert_int_equal(s.port, 0);
    static const char *const bad[] = {
        "",  "10.0.0.1:",     "10.0.0.1:0", "10.0.0.1:65536", "[10.0.0.1]:80",
        "[", "[2001:db8::9]", "a:1",        "10.0.0.1:+1"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_false(local_sorry_parse(bad[i], &s));
    }
}

UNIT_MAIN(config)
{
    const struct CMUnitTest tests[] = {
        model_test(local_config_read__example__all_members),
        model_test(local_config_read__nothing_said__defaults_of_the_director),
        model_test(local_config_read__director_below_pools__pools_begin_with_its_settings),
        model_test(local_config_read__vectors__texts),
        model_test(local_config_read__mistakes__texts),
        model_test(local_config_read__role_of_the_flag__overrides),
        model_test(local_config_read__error__first_one_with_file_and_line),
        model_test(local_config_read__many_findings__counted),
        model_test(local_words__there_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
