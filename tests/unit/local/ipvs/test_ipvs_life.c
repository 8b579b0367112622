/* SPDX-License-Identifier: Apache-2.0 */
/* test_ipvs_life.c: what happens to virtual services while Services, nodes and
 * the kernel change. */
#include "tests/unit/local/ipvs/ipvs_kit.h"

static const struct ipvs_scene nat = {.name = "nat"};

static int setup(void **state)
{
    *state = xcalloc(1, sizeof(struct ipvs_kit));
    ipvs_kit_begin(*state);
    return 0;
}

static int teardown(void **state)
{
    ipvs_kit_end(*state);
    free(*state);
    return 0;
}

static struct local_frontend_id front(const char *vip, uint16_t port)
{
    struct local_frontend_id id = {.protocol = LOCAL_TCP, .port = port};

    assert_true(ip_parse(vip, &id.vip));
    return id;
}

static struct ip_addr addr(const char *text)
{
    struct ip_addr a;

    assert_true(ip_parse(text, &a));
    return a;
}

static void begin(struct ipvs_kit *k, const struct ipvs_scene *s, const char *want)
{
    assert_int_equal(ipvs_kit_open(k, s), TT_OK);
    assert_int_equal(ipvs_kit_sync(k, s), TT_OK);
    assert_string_equal(ipvs_kit_kernel(k), want);
}

static void test_drain__of_a_node_port_that_changes__waits_for_connections(void **state)
{
    struct ipvs_kit *k = *state;
    static const struct ipvs_scene moved = {
        .name = "K45",
        .ports = "{'port': 80, 'protocol': 'TCP', 'targetPort': 8080, 'nodePort': 30081}"};
    const struct local_frontend_id id = front("10.0.0.0", 80);
    const struct ip_addr n1 = addr("10.1.0.1");
    static const char *const draining =
        "-A -t 10.0.0.0:80 -s rr\n-a -t 10.0.0.0:80 -r 10.1.0.1:30080 -m -w 0\n"
        "-a -t 10.0.0.0:80 -r 10.1.0.1:30081 -m -w 1\n-a -t 10.0.0.0:80 -r 10.1.0.2:30080 -m -w 0\n"
        "-a -t 10.0.0.0:80 -r 10.1.0.2:30081 -m -w 1\n";

    begin(k, &nat, NAT_LINES);
    assert_int_equal(ipvs_kit_sync(k, &moved), TT_OK);
    assert_string_equal(ipvs_kit_kernel(k), draining);
    assert_int_equal(k->result.again_ms, 3000);
    /* The new ones were in before the old ones got no more. */
    const char *order = str_buf_text(&k->order);
    assert_true(strstr(order, "create destination") < strstr(order, "change destination"));
    fake_kernel_active(k->kernel, &id, &n1, 2);
    clock_fake_advance(k->clock, 2999);
    assert_int_equal(ipvs_kit_sync(k, &moved), TT_OK);
    assert_string_equal(ipvs_kit_kernel(k), draining);
    clock_fake_advance(k->clock, 1000);
    assert_int_equal(ipvs_kit_sync(k, &moved), TT_OK);
    /* fake_kernel_active() is of an address: both ports of n1 have connections, n2's old
     * one has none. */
    assert_null(strstr(ipvs_kit_kernel(k), "10.1.0.2:30080"));
    assert_non_null(strstr(ipvs_kit_kernel(k), "10.1.0.1:30080 -m -w 0"));
    assert_int_equal(k->result.again_ms, 1000);
    clock_fake_advance(k->clock, 60000);
    assert_int_equal(ipvs_kit_sync(k, &moved), TT_OK);
    assert_null(strstr(ipvs_kit_kernel(k), "30080"));
    assert_true(k->result.again_ms > 500000);
}

#define POD(address)                                                                               \
    "{'metadata': {'namespace': 'd', 'name': 'a-1', 'labels': {'kubernetes.io/service-name': "     \
    "'a'}}, 'addressType': 'IPv4', 'ports': [{'name': '', 'port': 8080, 'protocol': 'TCP'}], "     \
    "'endpoints': [" address "]}"
#define READY(address) "{'addresses': ['" address "'], 'conditions': {'ready': true}}"

/* L11 */
static void test_drain__of_a_pod_with_an_open_connection__goes_when_that_ends(void **state)
{
    struct ipvs_kit *k = *state;
    static const struct ipvs_scene two = {.name = "L11",
                                          .director =
                                              "directorIsGateway: true\n  podsRoutable: true",
                                          .wishes = "'local.trimtab.io/targets': 'pod'",
                                          .slices = POD(READY("10.2.0.1") ", " READY("10.2.0.2"))};
    struct ipvs_scene one = two;
    const struct local_frontend_id id = front("10.0.0.0", 80);
    const struct ip_addr gone = addr("10.2.0.2");

    one.slices = POD(READY("10.2.0.1"));
    begin(k, &two,
          "-A -t 10.0.0.0:80 -s rr\n-a -t 10.0.0.0:80 -r 10.2.0.1:8080 -m -w 1\n"
          "-a -t 10.0.0.0:80 -r 10.2.0.2:8080 -m -w 1\n");
    fake_kernel_active(k->kernel, &id, &gone, 1);
    assert_int_equal(ipvs_kit_sync(k, &one), TT_OK);
    assert_string_equal(str_buf_text(&k->order),
                        "change destination 10.0.0.0:80/tcp → 10.2.0.2:8080; ");
    for (int i = 0; i < 5; i++) {
        clock_fake_advance(k->clock, 4000);
        assert_int_equal(ipvs_kit_sync(k, &one), TT_OK);
        assert_non_null(strstr(ipvs_kit_kernel(k), "10.2.0.2:8080 -m -w 0"));
        assert_int_equal(k->result.again_ms, 1000);
    }
    fake_kernel_active(k->kernel, &id, &gone, 0);
    clock_fake_advance(k->clock, 1000);
    assert_int_equal(ipvs_kit_sync(k, &one), TT_OK);
    assert_string_equal(ipvs_kit_kernel(k),
                        "-A -t 10.0.0.0:80 -s rr\n-a -t 10.0.0.0:80 -r 10.2.0.1:8080 -m -w 1\n");
}

static void test_drain__of_a_node_that_comes_back__ends(void **state)
{
    struct ipvs_kit *k = *state;
    static const struct ipvs_scene one = {.name = "one", .nodes = NODE("n1", "10.1.0.1")};

    begin(k, &nat, NAT_LINES);
    assert_int_equal(ipvs_kit_sync(k, &one), TT_OK);
    assert_non_null(strstr(ipvs_kit_kernel(k), "10.1.0.2:30080 -m -w 0"));
    assert_int_equal(ipvs_kit_sync(k, &nat), TT_OK);
    assert_string_equal(ipvs_kit_kernel(k), NAT_LINES);
    assert_string_equal(str_buf_text(&k->order),
                        "change destination 10.0.0.0:80/tcp → 10.1.0.2:30080; ");
}

/* The process that ends knows since when; the next one counts again. */
static void test_drain__of_a_process_that_ended__goes_on(void **state)
{
    struct ipvs_kit *k = *state;
    static const struct ipvs_scene one = {.name = "L16", .nodes = NODE("n1", "10.1.0.1")};

    begin(k, &nat, NAT_LINES);
    assert_int_equal(ipvs_kit_sync(k, &one), TT_OK);
    clock_fake_advance(k->clock, 2000);
    ipvs_kit_close(k);
    assert_int_equal(ipvs_kit_open(k, &one), TT_OK);
    assert_int_equal(ipvs_kit_sync(k, &one), TT_OK);
    assert_int_equal(k->changes, (strstr(str_buf_text(&k->order), "announcement") != NULL));
    assert_int_equal(k->result.again_ms, 3000);
    clock_fake_advance(k->clock, 3000);
    assert_int_equal(ipvs_kit_sync(k, &one), TT_OK);
    assert_null(strstr(ipvs_kit_kernel(k), "10.1.0.2"));
}

static void test_drain__time_of_0_and_datagrams__go_at_once(void **state)
{
    struct ipvs_kit *k = *state;
    static const struct ipvs_scene two = {.name = "two",
                                          .wishes = "'local.trimtab.io/drain-timeout': '0s'"};
    struct ipvs_scene one = two;

    one.nodes = NODE("n1", "10.1.0.1");
    begin(k, &two, NAT_LINES);
    assert_int_equal(ipvs_kit_sync(k, &one), TT_OK);
    assert_null(strstr(ipvs_kit_kernel(k), "10.1.0.2"));
    one.wishes = NULL;
    one.ports = "{'port': 53, 'protocol': 'UDP', 'targetPort': 53, 'nodePort': 30053}";
    one.nodes = NULL;
    assert_int_equal(ipvs_kit_sync(k, &one), TT_OK);
    assert_non_null(strstr(ipvs_kit_kernel(k), "-r 10.1.0.2:30053"));
    one.nodes = NODE("n1", "10.1.0.1");
    assert_int_equal(ipvs_kit_sync(k, &one), TT_OK);
    assert_null(strstr(ipvs_kit_kernel(k), "10.1.0.2"));
}

static void test_port__of_the_service_changes__new_service_then_the_old_goes(void **state)
{
    struct ipvs_kit *k = *state;
    static const struct ipvs_scene moved = {
        .name = "K46",
        .ports = "{'port': 81, 'protocol': 'TCP', 'targetPort': 8080, 'nodePort': 30080}"};

    begin(k, &nat, NAT_LINES);
    assert_int_equal(ipvs_kit_sync(k, &moved), TT_OK);
    assert_string_equal(ipvs_kit_kernel(k),
                        "-A -t 10.0.0.0:81 -s rr\n-a -t 10.0.0.0:81 -r 10.1.0.1:30080 -m -w 1\n"
                        "-a -t 10.0.0.0:81 -r 10.1.0.2:30080 -m -w 1\n");
    const char *order = str_buf_text(&k->order);
    assert_true(strstr(order, "create virtual service 10.0.0.0:81/tcp") <
                strstr(order, "delete source ranges 10.0.0.0:80/tcp"));
    assert_true(strstr(order, "delete source ranges 10.0.0.0:80/tcp") <
                strstr(order, "delete virtual service 10.0.0.0:80/tcp"));
    assert_null(strstr(order, "hold"));
}

static void test_scheduler__changes__touches_no_destination(void **state)
{
    struct ipvs_kit *k = *state;
    static const struct ipvs_scene wlc = {.name = "K47",
                                          .wishes = "'local.trimtab.io/scheduler': 'wlc'"};

    begin(k, &nat, NAT_LINES);
    assert_int_equal(ipvs_kit_sync(k, &wlc), TT_OK);
    assert_string_equal(str_buf_text(&k->order), "change virtual service 10.0.0.0:80/tcp; ");
}

static void test_mode__changes__new_path_before_the_old_goes(void **state)
{
    struct ipvs_kit *k = *state;
    static const struct ipvs_scene nft = {.name = "nft",
                                          .wishes = "'local.trimtab.io/mode': 'nft'"};

    begin(k, &nft, "");
    assert_int_equal(ipvs_kit_sync(k, &nat), TT_OK);
    assert_string_equal(ipvs_kit_kernel(k), NAT_LINES);
    const char *order = str_buf_text(&k->order);
    assert_true(strstr(order, "create scope") < strstr(order, "create virtual service"));
    assert_true(strstr(order, "create destination") < strstr(order, "delete frontend"));
    assert_null(strstr(order, "source ranges"));
    assert_null(strstr(order, "hold"));
    assert_int_equal(ipvs_kit_sync(k, &nft), TT_OK);
    assert_non_null(strstr(ipvs_kit_kernel(k), "10.1.0.1:30080 -m -w 0"));
    assert_non_null(strstr(str_buf_text(&k->order), "create frontend"));
    clock_fake_advance(k->clock, 3000);
    assert_int_equal(ipvs_kit_sync(k, &nft), TT_OK);
    assert_string_equal(ipvs_kit_kernel(k), "");
    assert_int_equal(ipvs_kit_sync(k, &nft), TT_OK);
    assert_int_equal(k->changes, 0);
}

static const struct ipvs_scene of_dr = {.name = "dr",
                                        .wishes = "'local.trimtab.io/mode': 'ipvs-dr'"};
static const struct ipvs_scene of_tunnel = {.name = "tunnel",
                                            .wishes = "'local.trimtab.io/mode': 'ipvs-tunnel'"};

/* One destination cannot do both at once: the kernel keeps one route for it. */
static void test_mode__from_dr_to_a_tunnel_and_back__other_destinations_while_the_old_drain(
    void **state)
{
    struct ipvs_kit *k = *state;
    static const char *const both =
        "-A -t 10.0.0.0:80 -s rr\n-a -t 10.0.0.0:80 -r 10.1.0.1:80 -g -w 0\n"
        "-a -t 10.0.0.0:80 -r 10.1.0.1:81 -i -w 1 --tun-type ipip\n"
        "-a -t 10.0.0.0:80 -r 10.1.0.2:80 -g -w 0\n"
        "-a -t 10.0.0.0:80 -r 10.1.0.2:81 -i -w 1 --tun-type ipip\n";

    assert_int_equal(ipvs_kit_open(k, &of_dr), TT_OK);
    assert_int_equal(ipvs_kit_sync(k, &of_dr), TT_OK);
    assert_int_equal(ipvs_kit_sync(k, &of_tunnel), TT_OK);
    assert_string_equal(ipvs_kit_kernel(k), both);
    clock_fake_advance(k->clock, 3000);
    assert_int_equal(ipvs_kit_sync(k, &of_tunnel), TT_OK);
    assert_null(strstr(ipvs_kit_kernel(k), " -g "));
    assert_int_equal(ipvs_kit_sync(k, &of_tunnel), TT_OK);
    assert_int_equal(k->changes, 0);
    assert_int_equal(ipvs_kit_sync(k, &of_dr), TT_OK);
    assert_non_null(strstr(ipvs_kit_kernel(k), "-r 10.1.0.1:80 -g -w 1"));
    assert_non_null(strstr(ipvs_kit_kernel(k), "-r 10.1.0.1:81 -i -w 0"));
}

static void test_mode__from_dr_to_nat_at_one_port__tells_that_connections_may_break(void **state)
{
    struct ipvs_kit *k = *state;
    static const char *const says = "Connections to 10.0.0.0:80/tcp that are open may break";
    static const struct ipvs_scene nat80 = {
        .name = "nat", .ports = "{'port': 80, 'protocol': 'TCP', 'nodePort': 80}"};
    struct ipvs_scene dr80 = of_dr;

    dr80.ports = nat80.ports;
    assert_int_equal(ipvs_kit_open(k, &dr80), TT_OK);
    assert_int_equal(ipvs_kit_sync(k, &dr80), TT_OK);
    assert_null(strstr(str_buf_text(&k->told), says));
    assert_int_equal(ipvs_kit_sync(k, &nat80), TT_OK);
    assert_non_null(strstr(str_buf_text(&k->told), says));
    assert_non_null(strstr(ipvs_kit_kernel(k), "-r 10.1.0.1:80 -m -w 1"));
}

static struct local_ipvs_change foreign(enum local_ipvs_what what, const char *vip,
                                        const char *dest)
{
    struct local_ipvs_change c = {.what = what,
                                  .service = {.id = front(vip, 80), .scheduler = "rr"}};

    c.dest = (struct local_ipvs_dest){.addr = addr(dest), .port = 30080, .weight = 1};
    return c;
}

static void test_others__change_a_service_of_ours__is_put_right(void **state)
{
    struct ipvs_kit *k = *state;
    struct local_ipvs_change c = foreign(LOCAL_IPVS_DEL_DEST, "10.0.0.0", "10.1.0.2");

    begin(k, &nat, NAT_LINES);
    fake_kernel_foreign_ipvs(k->kernel, &c); /* K52 */
    assert_int_equal(ipvs_kit_sync(k, &nat), TT_OK);
    assert_string_equal(ipvs_kit_kernel(k), NAT_LINES);
    c = foreign(LOCAL_IPVS_ADD_DEST, "10.0.0.0", "10.1.0.9"); /* K53 */
    fake_kernel_foreign_ipvs(k->kernel, &c);
    assert_int_equal(ipvs_kit_sync(k, &nat), TT_OK);
    assert_non_null(strstr(ipvs_kit_kernel(k), "10.1.0.9:30080 -m -w 0"));
    clock_fake_advance(k->clock, 3000);
    assert_int_equal(ipvs_kit_sync(k, &nat), TT_OK);
    assert_string_equal(ipvs_kit_kernel(k), NAT_LINES);
    c = foreign(LOCAL_IPVS_DEL_SERVICE, "10.0.0.0", "10.1.0.9"); /* K54 */
    fake_kernel_foreign_ipvs(k->kernel, &c);
    assert_int_equal(ipvs_kit_sync(k, &nat), TT_OK);
    assert_string_equal(ipvs_kit_kernel(k), NAT_LINES);
}

static void test_others__outside_the_pools__stay(void **state)
{
    struct ipvs_kit *k = *state;
    struct local_ipvs_change c = foreign(LOCAL_IPVS_ADD_SERVICE, "10.5.5.5", "10.1.0.2");

    fake_kernel_foreign_ipvs(k->kernel, &c); /* K49 */
    begin(k, &nat, NAT_LINES "-A -t 10.5.5.5:80 -s rr\n");
    assert_int_equal(ipvs_kit_delete(k), TT_OK);
    assert_string_equal(ipvs_kit_kernel(k), "-A -t 10.5.5.5:80 -s rr\n");
}

static void test_others__in_a_pool_at_the_first_start__stop_it_or_are_taken_over(void **state)
{
    struct ipvs_kit *k = *state;
    struct local_ipvs_change c = foreign(LOCAL_IPVS_ADD_SERVICE, "10.0.0.0", "10.1.0.1");

    fake_kernel_foreign_ipvs(k->kernel, &c); /* K51, F06 */
    assert_int_equal(ipvs_kit_open(k, &nat), TT_INVALID);
    assert_string_equal(k->result.message, "ipvs service 10.0.0.0:80/tcp exists and no trimtab "
                                           "made it; --local-allow-foreign takes it over");
    k->allow_foreign = true;
    c = foreign(LOCAL_IPVS_ADD_SERVICE, "10.0.0.7", "10.1.0.1"); /* which no Service wants */
    fake_kernel_foreign_ipvs(k->kernel, &c);
    begin(k, &nat, NAT_LINES);
    assert_null(strstr(str_buf_text(&k->order), "virtual service 10.0.0.0:80/tcp"));
    assert_non_null(strstr(str_buf_text(&k->order), "delete virtual service 10.0.0.7:80/tcp"));
}

static void test_others__in_a_pool_of_nft__stay_when_a_service_wants_ipvs(void **state)
{
    struct ipvs_kit *k = *state;
    static const struct ipvs_scene wish = {
        .name = "wish", .pool = "mode: nft", .wishes = "'local.trimtab.io/mode': 'ipvs-nat'"};
    struct local_ipvs_change c = foreign(LOCAL_IPVS_ADD_SERVICE, "10.0.0.7", "10.1.0.1");

    fake_kernel_foreign_ipvs(k->kernel, &c);
    assert_int_equal(ipvs_kit_open(k, &wish), TT_OK);
    assert_int_equal(ipvs_kit_sync(k, &wish), TT_INVALID);
    assert_non_null(strstr(k->result.message, "ipvs service 10.0.0.7:80/tcp exists and no trimtab "
                                              "made it; --local-allow-foreign takes it over"));
    assert_string_equal(ipvs_kit_kernel(k), "-A -t 10.0.0.7:80 -s rr\n");
}

static void test_start__without_ipvs__only_where_no_pool_needs_it(void **state)
{
    struct ipvs_kit *k = *state;
    static const struct ipvs_scene pool_nft = {.name = "nft", .pool = "mode: nft"};
    static const struct ipvs_scene one_wants = {
        .name = "wish", .pool = "mode: nft", .wishes = "'local.trimtab.io/mode': 'ipvs-nat'"};

    fake_kernel_no_ipvs(k->kernel, ERR_INVALID); /* F01 */
    assert_int_equal(ipvs_kit_open(k, &nat), TT_INVALID);
    assert_string_equal(k->result.message, LOCAL_IPVS_NONE);
    fake_kernel_no_ipvs(k->kernel, ERR_AUTH); /* F03 */
    assert_int_equal(ipvs_kit_open(k, &nat), TT_AUTH);
    assert_string_equal(
        k->result.message,
        "not allowed to change IPVS: CAP_NET_ADMIN in the initial user namespace is needed");
    begin(k, &pool_nft, "");
    assert_int_equal(ipvs_kit_sync(k, &one_wants), TT_AUTH);
    fake_kernel_no_ipvs(k->kernel, ERR_OK);
    assert_int_equal(ipvs_kit_sync(k, &one_wants), TT_OK);
    assert_string_equal(ipvs_kit_kernel(k), NAT_LINES);
}

static void test_fullnat__without_conntrack__fails_and_writes_nothing(void **state)
{
    struct ipvs_kit *k = *state;
    struct ipvs_scene full = {.name = "K07", .pool = "mode: ipvs-fullnat"};

    fake_kernel_sysctl(k->kernel, "net.ipv4.vs.conntrack", 0);
    assert_int_equal(ipvs_kit_open(k, &full), TT_OK);
    assert_int_equal(ipvs_kit_sync(k, &full), TT_INVALID);
    assert_non_null(strstr(k->result.message, "net.ipv4.vs.conntrack is 0"));
    assert_string_equal(ipvs_kit_kernel(k), "");
    ipvs_kit_close(k);
    full.director = "setSysctls: true";
    begin(k, &full, NAT_LINES);
    assert_non_null(strstr(str_buf_text(&k->order), "create source ranges"));
}

static void test_scheduler__that_the_kernel_lacks__is_named(void **state)
{
    struct ipvs_kit *k = *state;
    static const struct ipvs_scene mh = {.name = "F04",
                                         .wishes = "'local.trimtab.io/scheduler': 'mh'"};

    fake_kernel_no_scheduler(k->kernel, "mh");
    assert_int_equal(ipvs_kit_open(k, &mh), TT_OK);
    assert_int_equal(ipvs_kit_sync(k, &mh), TT_INVALID);
    assert_non_null(strstr(k->result.message,
                           "scheduler mh is not available in this kernel (module ip_vs_mh)"));
    assert_string_equal(ipvs_kit_kernel(k), "");
    assert_int_equal(ipvs_kit_sync(k, &nat), TT_OK);
    assert_string_equal(ipvs_kit_kernel(k), NAT_LINES);
}

static void test_kube_proxy__on_the_director__dr_and_tunnel_are_refused_and_what_serves_stays(
    void **state)
{
    struct ipvs_kit *k = *state;
    static const struct ipvs_scene *const keep_the_address[] = {&of_dr, &of_tunnel};

    for (size_t i = 0; i < ARRAY_LEN(keep_the_address); i++) {
        fake_kernel_kube_proxy(k->kernel, "table ip kube-proxy");
        assert_int_equal(ipvs_kit_open(k, keep_the_address[i]), TT_OK);
        assert_int_equal(ipvs_kit_sync(k, keep_the_address[i]), TT_TRANSIENT);
        assert_string_equal(
            k->result.message,
            "this machine runs kube-proxy (table ip kube-proxy exists); a DR director must not");
        assert_string_equal(ipvs_kit_kernel(k), "");
        fake_kernel_kube_proxy(k->kernel, NULL);
        assert_int_equal(ipvs_kit_sync(k, keep_the_address[i]), TT_OK);
        fake_kernel_kube_proxy(k->kernel, "chain KUBE-SERVICES");
        assert_int_equal(ipvs_kit_sync(k, keep_the_address[i]), TT_OK);
        assert_non_null(strstr(ipvs_kit_kernel(k), "-r 10.1.0.1:80"));
        assert_int_equal(ipvs_kit_delete(k), TT_OK);
        ipvs_kit_close(k);
    }
    assert_int_equal(ipvs_kit_open(k, &nat), TT_OK); /* which rewrites the destination itself */
    assert_int_equal(ipvs_kit_sync(k, &nat), TT_OK);
    assert_int_equal(ipvs_kit_sync(k, &of_dr), TT_TRANSIENT); /* and the former mode goes on */
    assert_string_equal(ipvs_kit_kernel(k), NAT_LINES);
}

static void test_sysctls__that_are_wrong__are_told(void **state)
{
    struct ipvs_kit *k = *state;

    fake_kernel_sysctl(k->kernel, "net.ipv4.vs.expire_nodest_conn", 0);
    begin(k, &nat, NAT_LINES);
    assert_non_null(strstr(str_buf_text(&k->told),
                           "DirectorNotReady: net.ipv4.vs.expire_nodest_conn is not 1"));
}

/* Each step of the kernel is refused, lost, or the last of the process; afterwards all becomes as
 * it would have been. */
static void test_faults__at_every_step__end_as_if_there_were_none(void **state)
{
    static const enum fake_kernel_fault faults[] = {FAKE_KERNEL_REFUSE, FAKE_KERNEL_LOSE};
    (void)state;

    for (size_t f = 0; f < ARRAY_LEN(faults); f++) {
        bool hit = true;
        for (unsigned step = 1; hit; step++) {
            struct ipvs_kit k;
            ipvs_kit_begin(&k);
            assert_int_equal(ipvs_kit_open(&k, &nat), TT_OK);
            fake_kernel_plan(k.kernel, &(struct fake_kernel_plan){
                                           .fault = faults[f], .step = step, .code = ERR_CONFLICT});
            (void)ipvs_kit_sync(&k, &nat);
            hit = fake_kernel_steps(k.kernel) >= step;
            fake_kernel_plan(k.kernel, &(struct fake_kernel_plan){.fault = FAKE_KERNEL_WELL});
            if (ipvs_kit_sync(&k, &nat) != TT_OK || strcmp(ipvs_kit_kernel(&k), NAT_LINES) != 0) {
                fail_msg("fault %d at step %u: %s\n%s", (int)faults[f], step, k.result.message,
                         ipvs_kit_kernel(&k));
            }
            assert_int_equal(ipvs_kit_delete(&k), TT_OK);
            assert_string_equal(ipvs_kit_kernel(&k), "");
            ipvs_kit_end(&k);
        }
    }
}

#define LIFE(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
UNIT_MAIN(ipvs_life)
{
    const struct CMUnitTest tests[] = {
        LIFE(drain__of_a_node_port_that_changes__waits_for_connections),
        LIFE(drain__of_a_pod_with_an_open_connection__goes_when_that_ends),
        LIFE(drain__of_a_node_that_comes_back__ends),
        LIFE(drain__of_a_process_that_ended__goes_on),
        LIFE(drain__time_of_0_and_datagrams__go_at_once),
        LIFE(port__of_the_service_changes__new_service_then_the_old_goes),
        LIFE(scheduler__changes__touches_no_destination),
        LIFE(mode__changes__new_path_before_the_old_goes),
        LIFE(mode__from_dr_to_a_tunnel_and_back__other_destinations_while_the_old_drain),
        LIFE(mode__from_dr_to_nat_at_one_port__tells_that_connections_may_break),
        LIFE(others__change_a_service_of_ours__is_put_right),
        LIFE(others__outside_the_pools__stay),
        LIFE(others__in_a_pool_at_the_first_start__stop_it_or_are_taken_over),
        LIFE(others__in_a_pool_of_nft__stay_when_a_service_wants_ipvs),
        LIFE(start__without_ipvs__only_where_no_pool_needs_it),
        LIFE(fullnat__without_conntrack__fails_and_writes_nothing),
        LIFE(scheduler__that_the_kernel_lacks__is_named),
        LIFE(kube_proxy__on_the_director__dr_and_tunnel_are_refused_and_what_serves_stays),
        LIFE(sysctls__that_are_wrong__are_told),
        cmocka_unit_test(test_faults__at_every_step__end_as_if_there_were_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
