/* SPDX-License-Identifier: Apache-2.0 */
/* test_lb_rules.c: rules and probes of one Service, their comparison, and how they come into a
 * document: rows R of docs/spec/azure.md 13.4, and the traps of 17 and 18. */
#include "tests/unit/azure/lb.h"

#include "providers/azure/lb/azure_lb_merge_rules.h"
#include "providers/azure/lb/azure_probe_rules.h"
#include "tests/support/unit.h"

#define STANDARD 1u
#define SHARED   2u

/* Members of spec, and annotations without their prefix. */
#define PORT(name, protocol, port, node_port)                                                      \
    "{\"name\":\"" name "\",\"protocol\":\"" protocol "\",\"port\":" #port                         \
    ",\"nodePort\":" #node_port "}"
#define PORTS(...) "\"ports\":[" __VA_ARGS__ "]"
#define TCP80      PORT("http", "TCP", 80, 10080)
#define TCP8000    PORT("other", "TCP", 8000, 18000)
#define APP80(name)                                                                                \
    "{\"name\":\"http\",\"protocol\":\"TCP\",\"port\":80,\"nodePort\":10080,"                      \
    "\"appProtocol\":\"" name "\"}"
#define V4           "\"ipFamilies\":[\"IPv4\"],"
#define V6           "\"ipFamilies\":[\"IPv6\"],"
#define DUAL         "\"ipFamilies\":[\"IPv4\",\"IPv6\"],"
#define LOCAL        "\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":34567,"
#define INTERNAL     "\"azure-load-balancer-internal\":\"true\""
#define HA           INTERNAL ",\"azure-load-balancer-enable-high-availability-ports\":\"true\""
#define P80          "\"port_80_health-probe_"
#define P8000        "\"port_8000_health-probe_"
#define ALL_PATH     "\"azure-load-balancer-health-probe-request-path\""
#define ALL_PROTOCOL "\"azure-load-balancer-health-probe-protocol\""
#define NO_FLOATING  "\"azure-disable-load-balancer-floating-ip\":\"true\""
#define PLS          "\"azure-pls-create\":\"true\",\"azure-pls-proxy-protocol\":\"true\""

/* Expected rule of most rows, and the names. */
#define RULE80  "rule atest1-TCP-80 Tcp 80>80 floating reset 4min Default probe atest1-TCP-80\n"
#define PROBE80 "probe atest1-TCP-80 Tcp 10080 5x2\n"

static const char *desired(struct arena *a, unsigned flags, const char *annotations,
                           const char *spec, enum azure_family f)
{
    struct azure_config config = azure_test_config();
    config.standard_sku = (flags & STANDARD) != 0;
    config.shared_probe = (flags & SHARED) != 0;
    const struct azure_naming *n = lb_naming(a, &config);
    const struct azure_service *s =
        azure_service_read(a, n, azure_test_service(a, "test1", annotations, spec));
    const struct azure_fragment_ask ask = {
        .naming = n,
        .service = s,
        .lb = "kubernetes",
        .family = f,
        .frontend_id = azure_frontend_id(a, n, "kubernetes", azure_frontend_name(a, s->in, f)),
        .pool_id = azure_pool_id(a, n, "kubernetes", azure_pool_name(a, n, f)),
    };
    struct azure_fragment fragment;
    struct err err = ERR_INIT;
    if (azure_lb_desired(a, &ask, &fragment, &err) != ERR_OK) {
        return arena_printf(a, "%s", err_code_name(err.code));
    }
    return lb_show_fragment(a, &fragment);
}

struct row {
    const char *row;
    unsigned flags;
    const char *annotations;
    const char *spec;
    const char *v4; /* NULL: not looked at */
    const char *v6;
};

static void check_rows(struct arena *a, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *annotations = arena_printf(a, "{%s}", rows[i].annotations);
        if (rows[i].v4 != NULL) {
            same_text(rows[i].row, desired(a, rows[i].flags, annotations, rows[i].spec, AZURE_IPV4),
                      rows[i].v4);
        }
        if (rows[i].v6 != NULL) {
            same_text(rows[i].row, desired(a, rows[i].flags, annotations, rows[i].spec, AZURE_IPV6),
                      rows[i].v6);
        }
    }
}

/* ---- rules ----------------------------------------------------------------------------------- */

static void desired__rules__R_01_to_R_13(void **state)
{
    static const struct row rows[] = {
        {"R-01", 0, "", DUAL PORTS(TCP80),
         PROBE80 "rule atest1-TCP-80 Tcp 80>80 floating 4min Default probe atest1-TCP-80\n",
         "probe atest1-TCP-80-IPv6 Tcp 10080 5x2\n"
         "rule atest1-TCP-80-IPv6 Tcp 80>80 floating 4min Default probe atest1-TCP-80-IPv6\n"},
        {"R-02", 0, "", V4 PORTS(APP80("Mongodb")),
         PROBE80 "rule atest1-TCP-80 Tcp 80>80 floating 4min Default probe atest1-TCP-80\n", NULL},
        {"R-03", 0, "", V4 PORTS(APP80("Https")),
         PROBE80 "rule atest1-TCP-80 Tcp 80>80 floating 4min Default probe atest1-TCP-80\n", NULL},
        {"R-04", STANDARD, "", V4 PORTS(PORT("s", "SCTP", 80, 10080)), "invalid", NULL},
        {"R-04 basic", 0, INTERNAL, V4 PORTS(PORT("s", "SCTP", 80, 10080)), "invalid", NULL},
        {"SCTP", STANDARD, INTERNAL, V4 PORTS(PORT("s", "SCTP", 80, 10080)),
         "rule atest1-SCTP-80 All 80>80 floating 4min Default probe none\n", NULL},
        {"UDP", STANDARD, "", V4 PORTS(PORT("u", "UDP", 53, 10053)),
         "rule atest1-UDP-53 Udp 53>53 floating 4min Default probe none\n", NULL},
        {"R-05", STANDARD, "", V4 PORTS(TCP80), PROBE80 RULE80, NULL},
        {"no reset", STANDARD, "\"azure-load-balancer-disable-tcp-reset\":\"TRUE\"",
         V4 PORTS(TCP80),
         PROBE80
         "rule atest1-TCP-80 Tcp 80>80 floating no-reset 4min Default probe atest1-TCP-80\n",
         NULL},
        {"R-06", STANDARD, ALL_PATH ":\"/healthy\"", V4 PORTS(APP80("Http")),
         "probe atest1-TCP-80 Http 10080 /healthy 5x2\n" RULE80, NULL},
        {"R-07", STANDARD, ALL_PATH ":\"/healthy1\"", V4 PORTS(APP80("Https")),
         "probe atest1-TCP-80 Https 10080 /healthy1 5x2\n" RULE80, NULL},
        {"R-08", STANDARD, INTERNAL, V6 PORTS(TCP80), NULL,
         PROBE80 "rule atest1-TCP-80 Tcp 80>10080 reset 4min Default probe atest1-TCP-80\n"},
        {"R-09", STANDARD, HA, DUAL PORTS(TCP80),
         PROBE80 "rule atest1-TCP-80 All 0>0 floating reset 4min Default probe atest1-TCP-80\n",
         "probe atest1-TCP-80-IPv6 Tcp 10080 5x2\n"
         "rule atest1-TCP-80-IPv6 All 0>0 reset 4min Default probe atest1-TCP-80-IPv6\n"},
        {"R-10", STANDARD, HA, V4 PORTS(PORT("s", "SCTP", 80, 10080)),
         "rule atest1-SCTP-80 All 0>0 floating reset 4min Default probe none\n", NULL},
        {"R-11", STANDARD, HA, V4 PORTS(TCP80 "," PORT("b", "TCP", 8080, 18080)),
         PROBE80 "rule atest1-TCP-80 All 0>0 floating reset 4min Default probe atest1-TCP-80\n",
         NULL},
        {"HA ignores switches", STANDARD, HA "," NO_FLOATING ",\"port_80_no_lb_rule\":\"true\"",
         V4 PORTS(TCP80),
         PROBE80 "rule atest1-TCP-80 All 0>0 floating reset 4min Default probe atest1-TCP-80\n",
         NULL},
        {"HA, second port has the probe", STANDARD, HA "," P80 "interval\":\"x\"",
         V4 PORTS(TCP80 "," TCP8000),
         "probe atest1-TCP-80 Tcp 18000 5x2\n"
         "rule atest1-TCP-80 All 0>0 floating reset 4min Default probe atest1-TCP-80\n",
         NULL},
        {"HA, basic", 0, HA, V4 PORTS(TCP80),
         PROBE80 "rule atest1-TCP-80 Tcp 80>80 floating 4min Default probe atest1-TCP-80\n", NULL},
        {"R-12", STANDARD, "", V4 PORTS(APP80("Tcp")), PROBE80 RULE80, NULL},
        {"R-13", STANDARD, ALL_PATH ":\"/healthy\"", V4 PORTS(APP80("TCP1")), PROBE80 RULE80, NULL},
        {"affinity", STANDARD, "", V4 "\"sessionAffinity\":\"ClientIP\"," PORTS(TCP80),
         PROBE80 "rule atest1-TCP-80 Tcp 80>80 floating reset 4min SourceIP probe atest1-TCP-80\n",
         NULL},
        {"no families", STANDARD, "", PORTS(TCP80), PROBE80 RULE80, NULL},
    };
    check_rows(*state, rows, ARRAY_LEN(rows));
}

static void desired__probes__R_14_to_R_21(void **state)
{
    static const struct row rows[] = {
        {"R-14 https", STANDARD, ALL_PATH ":\"/healthy1\"," ALL_PROTOCOL ":\"https\"",
         V4 PORTS(TCP80), "probe atest1-TCP-80 Https 10080 /healthy1 5x2\n" RULE80, NULL},
        {"R-14 http", STANDARD, ALL_PATH ":\"/healthy1\"," ALL_PROTOCOL ":\"http\"",
         V4 PORTS(TCP80), "probe atest1-TCP-80 Http 10080 /healthy1 5x2\n" RULE80, NULL},
        {"R-14 tcp", STANDARD, ALL_PATH ":\"/healthy1\"," ALL_PROTOCOL ":\"tcp\"", V4 PORTS(TCP80),
         PROBE80 RULE80, NULL},
        {"6.6 (4) an unknown appProtocol hides the annotation", STANDARD, ALL_PROTOCOL ":\"http\"",
         V4 PORTS(APP80("kubernetes.io/h2c")), PROBE80 RULE80, NULL},
        {"6.6 (4) the port's protocol first", STANDARD, P80 "protocol\":\" HTTP \"",
         V4 PORTS(APP80("https")), "probe atest1-TCP-80 Http 10080 / 5x2\n" RULE80, NULL},
        {"R-15", STANDARD, ALL_PATH ":\"/healthy1\"," P80 "request-path\":\"/healthy2\"",
         V4 PORTS(APP80("Https")), "probe atest1-TCP-80 Https 10080 /healthy2 5x2\n" RULE80, NULL},
        {"R-16", STANDARD, P80 "interval\":\"10\"," P80 "num-of-probe\":\"20\"", V4 PORTS(TCP80),
         "invalid", NULL},
        {"R-17", STANDARD,
         P80 "interval\":\"20\"," P80 "num-of-probe\":\"5\"," P80 "request-path\":\"/healthy1\"",
         V4 PORTS(APP80("Https")), "probe atest1-TCP-80 Https 10080 /healthy1 20x5\n" RULE80, NULL},
        {"R-18", STANDARD, P80 "interval\":\"20\"," P80 "num-of-probe\":\"5\"",
         V4 PORTS(APP80("Http")), "probe atest1-TCP-80 Http 10080 / 20x5\n" RULE80, NULL},
        {"R-19", STANDARD, P80 "num-of-probe\":\"5a\"", V4 PORTS(TCP80), "invalid", NULL},
        {"R-20", STANDARD, P80 "interval\":\"1\"", V4 PORTS(TCP80), "invalid", NULL},
        {"R-21", STANDARD, P80 "num-of-probe\":\"1\"", V4 PORTS(TCP80), "invalid", NULL},
        {"6.6 (6) 119 s are allowed", STANDARD, P80 "interval\":\"17\"," P80 "num-of-probe\":\"7\"",
         V4 PORTS(TCP80), "probe atest1-TCP-80 Tcp 10080 17x7\n" RULE80, NULL},
        {"6.6 (6) 120 s are not", STANDARD, P80 "interval\":\"60\"," P80 "num-of-probe\":\"2\"",
         V4 PORTS(TCP80), "invalid", NULL},
        {"18 row 6", STANDARD, P80 "interval\":\"2147483647\"", V4 PORTS(TCP80), "invalid", NULL},
        {"6.6 blanks and a sign", STANDARD, P80 "interval\":\" +10 \"", V4 PORTS(TCP80),
         "probe atest1-TCP-80 Tcp 10080 10x2\n" RULE80, NULL},
        {"6.6 more than 32 bits", STANDARD, P80 "interval\":\"4294967301\"", V4 PORTS(TCP80),
         "invalid", NULL},
    };
    check_rows(*state, rows, ARRAY_LEN(rows));
}

#define RULE8000(probe)                                                                            \
    "rule atest1-TCP-8000 Tcp 8000>8000 floating reset 4min Default probe " probe "\n"
#define BOTH(port)                                                                                 \
    PROBE80 "probe atest1-TCP-8000 Tcp " #port " 5x2\n" RULE80 RULE8000("atest1-TCP-8000")
static const struct row ports_and_modes[] = {
    {"R-22", STANDARD, NO_FLOATING, V4 PORTS(TCP80),
     PROBE80 "rule atest1-TCP-80 Tcp 80>10080 reset 4min Default probe atest1-TCP-80\n", NULL},
    {"6.7", STANDARD, NO_FLOATING, V4 PORTS(PORT("http", "TCP", 80, 0)), "invalid", NULL},
    {"R-23", STANDARD, P8000 "port\":\"80\"", V4 PORTS(TCP80 "," TCP8000), BOTH(10080), NULL},
    {"R-24", STANDARD, P8000 "port\":\"5080\"", V4 PORTS(TCP80 "," TCP8000), BOTH(5080), NULL},
    {"R-25", STANDARD, P8000 "port\":\"HTTP\"", V4 PORTS(TCP80 "," TCP8000), BOTH(10080), NULL},
    {"18 row 11, blank", STANDARD, P8000 "port\":\"\"", V4 PORTS(TCP80 "," TCP8000), "invalid",
     NULL},
    {"6.6 (3) not trimmed", STANDARD, P8000 "port\":\" 80\"", V4 PORTS(TCP80 "," TCP8000),
     "invalid", NULL},
    {"18 row 11, 0", STANDARD, P8000 "port\":\"0\"", V4 PORTS(TCP80 "," TCP8000), "invalid", NULL},
    {"65536", STANDARD, P8000 "port\":\"65536\"", V4 PORTS(TCP80 "," TCP8000), "invalid", NULL},
    {"R-26", STANDARD, "\"port_8000_no_probe_rule\":\"true\"", V4 PORTS(TCP80 "," TCP8000),
     PROBE80 RULE80 RULE8000("none"), NULL},
    {"R-27", STANDARD, "\"port_8000_no_lb_rule\":\"True\"", V4 PORTS(TCP80 "," TCP8000),
     PROBE80 RULE80, NULL},
    {"R-28", STANDARD,
     "\"azure-load-balancer-tcp-idle-timeout\":\"5\"," P80 "interval\":\"10\"," P80
     "num-of-probe\":\"10\"",
     V4 PORTS(TCP80),
     "probe atest1-TCP-80 Tcp 10080 10x10\n"
     "rule atest1-TCP-80 Tcp 80>80 floating reset 5min Default probe atest1-TCP-80\n",
     NULL},
    {"6.5 idle time-out 3", STANDARD, "\"azure-load-balancer-tcp-idle-timeout\":\"3\"",
     V4 PORTS(TCP80), "invalid", NULL},
    {"6.5 idle time-out 101", STANDARD, "\"azure-load-balancer-tcp-idle-timeout\":\"101\"",
     V4 PORTS(TCP80), "invalid", NULL},
    {"R-29", STANDARD,
     P80 "interval\":\"20\"," P80 "num-of-probe\":\"5\"," P80 "protocol\":\"https\"," P80
         "request-path\":\"/broken/local/path\"",
     DUAL LOCAL PORTS(TCP80 "," PORT("b", "TCP", 443, 10443) "," PORT("c", "UDP", 421, 10421)),
     "probe atest1-TCP-34567 Http 34567 /healthz 5x2\n"
     "rule atest1-TCP-80 Tcp 80>80 floating reset 4min Default probe atest1-TCP-34567\n"
     "rule atest1-TCP-443 Tcp 443>443 floating reset 4min Default probe atest1-TCP-34567\n"
     "rule atest1-UDP-421 Udp 421>421 floating 4min Default probe atest1-TCP-34567\n",
     "probe atest1-TCP-34567-IPv6 Http 34567 /healthz 5x2\n"
     "rule atest1-TCP-80-IPv6 Tcp 80>80 floating reset 4min Default probe "
     "atest1-TCP-34567-IPv6\n"
     "rule atest1-TCP-443-IPv6 Tcp 443>443 floating reset 4min Default probe "
     "atest1-TCP-34567-IPv6\n"
     "rule atest1-UDP-421-IPv6 Udp 421>421 floating 4min Default probe "
     "atest1-TCP-34567-IPv6\n"},
    {"6.6 (1) timing of the node port", STANDARD, "\"port_34567_health-probe_interval\":\"7\"",
     V4 LOCAL PORTS(TCP80),
     "probe atest1-TCP-34567 Http 34567 /healthz 7x2\n"
     "rule atest1-TCP-80 Tcp 80>80 floating reset 4min Default probe atest1-TCP-34567\n",
     NULL},
    {"18 row 11, no node port", STANDARD, "",
     V4 "\"externalTrafficPolicy\":\"Local\"," PORTS(TCP80), "invalid", NULL},
    {"6.6 (3) a port of its own, Local", STANDARD, P80 "port\":\"80\"", V4 LOCAL PORTS(TCP80),
     PROBE80 RULE80, NULL},
    {"6.6 (7) nobody needs the node's", STANDARD, "\"port_80_no_probe_rule\":\"true\"",
     V4 LOCAL PORTS(TCP80), "rule atest1-TCP-80 Tcp 80>80 floating reset 4min Default probe none\n",
     NULL},
    {"R-30", STANDARD,
     INTERNAL "," PLS "," P80 "protocol\":\"https\"," P80 "request-path\":\"/broken\"," P80
              "interval\":\"7\"," P80 "num-of-probe\":\"15\"",
     V4 LOCAL PORTS(TCP80), "probe atest1-TCP-80 Https 10080 /broken 7x15\n" RULE80, NULL},
    {"R-31", STANDARD,
     INTERNAL "," PLS "," P80 "protocol\":\"https\"," P80 "request-path\":\"/broken\"," P80
              "interval\":\"7\"," P80 "num-of-probe\":\"15\"," P80 "port\":\"421\"",
     V4 LOCAL PORTS(TCP80), "probe atest1-TCP-80 Https 421 /broken 7x15\n" RULE80, NULL},
    {"R-32", STANDARD | SHARED, P80 "interval\":\"x\"", V4 PORTS(TCP80 "," TCP8000),
     "probe cluster-service-shared-health-probe Http 10256 /healthz 5x2\n"
     "rule atest1-TCP-80 Tcp 80>80 floating reset 4min Default probe "
     "cluster-service-shared-health-probe\n" RULE8000("cluster-service-shared-health-probe"),
     NULL},
    {"R-32, Local", STANDARD | SHARED, "", V4 LOCAL PORTS(TCP80),
     "probe atest1-TCP-34567 Http 34567 /healthz 5x2\n"
     "rule atest1-TCP-80 Tcp 80>80 floating reset 4min Default probe atest1-TCP-34567\n",
     NULL},
    {"18 row 8", STANDARD, INTERNAL ",\"azure-load-balancer-internal-subnet\":\" sn \"",
     V4 PORTS(TCP80),
     "probe atest1-sn-TCP-80 Tcp 10080 5x2\n"
     "rule atest1-sn-TCP-80 Tcp 80>80 floating reset 4min Default probe atest1-sn-TCP-80\n",
     NULL},
};
#undef BOTH
#undef RULE8000

static void desired__ports_and_modes__R_22_to_R_32(void **state)
{
    check_rows(*state, ports_and_modes, ARRAY_LEN(ports_and_modes));
}

/* ---- comparing ------------------------------------------------------------------------------- */

#define BODY(name, tail)                                                                           \
    "{\"name\":\"" name "\",\"properties\":{\"protocol\":\"Tcp\",\"frontendPort\":80,"             \
    "\"backendPort\":80,\"enableFloatingIP\":true,\"idleTimeoutInMinutes\":4,"                     \
    "\"loadDistribution\":\"Default\",\"probe\":{\"id\":\"/p\"},"                                  \
    "\"frontendIPConfiguration\":{\"id\":\"/f\"},\"backendAddressPool\":{\"id\":\"/b\"}" tail "}}"

/* A rule of which one member is something else, or absent (NULL). */
static struct json_object *rule_with(struct arena *a, const char *member, const char *value)
{
    struct json_object *o = azure_copy(a, pure_json(a, BODY("r", "")));
    if (member != NULL) {
        json_object_object_del(azure_props(o), member);
    }
    if (value != NULL) {
        json_add(azure_props(o), member, json_object_get(pure_json(a, value)));
    }
    return o;
}

static void rule_equal__R_40_to_R_44(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *member, *value;
        bool want, equal;
    } rows[] = {
        {"equal", NULL, NULL, true, true},
        {"R-41 protocol", "protocol", "\"Udp\"", true, false},
        {"R-41 protocol is exact", "protocol", "\"tcp\"", true, false},
        {"R-41 reset", "enableTcpReset", "true", true, false},
        {"R-41 no reset is none", "enableTcpReset", "false", true, true},
        {"R-41 frontend port", "frontendPort", "81", true, false},
        {"R-41 backend port", "backendPort", "81", true, false},
        {"R-41 distribution", "loadDistribution", "\"SourceIP\"", true, false},
        {"R-41 probe", "probe", "{\"id\":\"/q\"}", true, false},
        {"R-41 no probe", "probe", NULL, true, false},
        {"R-41 frontend", "frontendIPConfiguration", "{\"id\":\"/g\"}", true, false},
        {"6.5 pool", "backendAddressPool", "{\"id\":\"/c\"}", true, false},
        {"6.5 floating", "enableFloatingIP", "false", true, false},
        {"6.5 no floating is not false", "enableFloatingIP", NULL, true, false},
        {"6.5 snat", "disableOutboundSnat", "true", true, false},
        {"6.5 snat null is false", "disableOutboundSnat", "null", true, true},
        {"R-42", "idleTimeoutInMinutes", NULL, true, true},
        {"R-43", "idleTimeoutInMinutes", "2", true, false},
        {"R-43 not wanted", "idleTimeoutInMinutes", "2", false, true},
        {"R-44", "frontendIPConfiguration", "{\"id\":\"/F\"}", true, true},
        {"R-44 probe", "probe", "{\"id\":\"/P\"}", true, true},
        {"6.5 others are not ours", "enableConnectionTracking", "true", true, true},
    };
    struct json_object *x = rule_with(a, NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct json_object *y = rule_with(a, rows[i].member, rows[i].value);
        if (azure_lb_rule_equal(x, y, rows[i].want) != rows[i].equal ||
            azure_lb_rule_equal(y, x, rows[i].want) != rows[i].equal) {
            fail_msg("%s: want %d", rows[i].row, rows[i].equal);
        }
    }
    assert_true(azure_lb_rule_equal(x, pure_json(a, BODY("R", "")), true)); /* R-40 */
    assert_false(azure_lb_rule_equal(x, pure_json(a, BODY("s", "")), true));
}

static void probe_equal__6_6(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *body;
        bool equal;
    } rows[] = {
        {"\"port\":1,\"protocol\":\"HTTP\",\"requestPath\":\"/A\",\"intervalInSeconds\":5,"
         "\"probeThreshold\":2,\"numberOfProbes\":9",
         true},
        {"\"port\":2,\"protocol\":\"Http\",\"requestPath\":\"/a\",\"intervalInSeconds\":5,"
         "\"probeThreshold\":2",
         false},
        {"\"port\":1,\"protocol\":\"Tcp\",\"requestPath\":\"/a\",\"intervalInSeconds\":5,"
         "\"probeThreshold\":2",
         false},
        {"\"port\":1,\"protocol\":\"Http\",\"requestPath\":\"/b\",\"intervalInSeconds\":5,"
         "\"probeThreshold\":2",
         false},
        {"\"port\":1,\"protocol\":\"Http\",\"requestPath\":\"/a\",\"intervalInSeconds\":6,"
         "\"probeThreshold\":2",
         false},
        {"\"port\":1,\"protocol\":\"Http\",\"requestPath\":\"/a\",\"intervalInSeconds\":5,"
         "\"numberOfProbes\":2",
         false},
    };
    struct json_object *x = pure_json(
        a, "{\"name\":\"p\",\"properties\":{\"port\":1,\"protocol\":\"Http\",\"requestPath\":"
           "\"/a\",\"intervalInSeconds\":5,\"probeThreshold\":2}}");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct json_object *y =
            pure_json(a, arena_printf(a, "{\"name\":\"P\",\"properties\":{%s}}", rows[i].body));
        if (azure_probe_equal(x, y) != rows[i].equal) {
            fail_msg("row %zu: want %d", i, rows[i].equal);
        }
    }
}

/* A basic balancer has no outbound rules that it could leave the matter to (1.2, 6.5). */
static void desired__no_outbound_snat__is_for_standard_balancers(void **state)
{
    struct arena *a = *state;
    for (int standard = 0; standard < 2; standard++) {
        struct azure_config config = azure_test_config();
        config.disable_outbound_snat = true;
        config.standard_sku = standard == 1;
        const struct azure_naming *n = lb_naming(a, &config);
        const struct azure_fragment_ask ask = {
            .naming = n,
            .service = azure_service_read(a, n, azure_test_service(a, "test1", "{}", PORTS(TCP80))),
            .lb = "kubernetes",
            .frontend_id = "/f",
            .pool_id = "/pools/b",
        };
        struct azure_fragment f;
        struct err err = ERR_INIT;
        assert_int_equal(azure_lb_desired(a, &ask, &f, &err), ERR_OK);
        assert_int_equal(azure_prop_bool(f.rules[0], "disableOutboundSnat", !standard), standard);
    }
}

/* ---- merging --------------------------------------------------------------------------------- */

#define SHARED_NAME "cluster-service-shared-health-probe"
#define REF(rule)   "{\"id\":\"/lb/loadBalancingRules/" rule "\"}"
#define USING(rule)                                                                                \
    "{\"name\":\"" rule "\",\"properties\":{\"probe\":{\"id\":\"/lb/probes/" SHARED_NAME "\"}}}"

static struct json_object *document(struct arena *a, const char *probes, const char *rules)
{
    return pure_json(a, arena_printf(a,
                                     "{\"name\":\"kubernetes\",\"properties\":{\"probes\":[%s],"
                                     "\"loadBalancingRules\":[%s]}}",
                                     probes, rules));
}

static bool merge(struct arena *a, bool shared, bool want, const char *spec, struct json_object *lb)
{
    struct azure_config config = azure_test_config();
    config.shared_probe = shared;
    const struct azure_naming *n = lb_naming(a, &config);
    const struct azure_service *s =
        azure_service_read(a, n, azure_test_service(a, "test1", "{}", spec));
    struct azure_fragment fragment;
    const struct azure_fragment_ask ask = {
        .naming = n, .service = s, .lb = "kubernetes", .frontend_id = "/f", .pool_id = "/pools/b"};
    struct err err = ERR_INIT;
    if (azure_lb_desired(a, &ask, &fragment, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    const struct azure_merge m = {
        .naming = n, .service = s, .want = want, .fragments = &fragment, .n_fragments = want};
    return azure_lb_merge(a, &m, lb);
}

static void merge__shared_probe__R_50_to_R_52(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row;
        bool shared, want;
        const char *spec;
        const char *refs, *rules;
        const char *probes; /* afterwards */
    } rows[] = {
        {"R-50", true, false, PORTS(TCP80), REF("aother-TCP-80"), "", SHARED_NAME},
        {"R-50, by the rule itself", true, false, PORTS(TCP80), "", USING("aother-TCP-80"),
         SHARED_NAME},
        {"R-50, nobody else", true, false, PORTS(TCP80), REF("atest1-TCP-80"),
         USING("atest1-TCP-80"), ""},
        {"R-51", true, true, LOCAL PORTS(TCP80), REF("atest1-TCP-80"), USING("atest1-TCP-80"),
         "atest1-TCP-34567"},
        {"R-51, one of several", true, true, LOCAL PORTS(TCP80),
         REF("atest1-TCP-80") "," REF("aother-TCP-80"), "", SHARED_NAME " atest1-TCP-34567"},
        {"R-52", false, true, PORTS(TCP80), REF("aother-TCP-80"), "", SHARED_NAME " atest1-TCP-80"},
        {"R-52, nobody else", false, true, PORTS(TCP80), REF("atest1-TCP-80"), "", "atest1-TCP-80"},
        {"17 row 15, what is no ID is passed over", true, false, PORTS(TCP80),
         "{\"id\":\"\"},{}," REF("aother-TCP-80"), "", SHARED_NAME},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *probe = arena_printf(
            a,
            "{\"name\":\"" SHARED_NAME "\",\"properties\":{\"protocol\":\"Http\",\"port\":10256,"
            "\"requestPath\":\"/healthz\",\"intervalInSeconds\":5,\"probeThreshold\":2,"
            "\"loadBalancingRules\":[%s]}}",
            rows[i].refs);
        struct json_object *lb = document(a, probe, rows[i].rules);
        (void)merge(a, rows[i].shared, rows[i].want, rows[i].spec, lb);
        same_text(rows[i].row, lb_names(a, lb, "probes"), rows[i].probes);
    }
}

/* A probe that stays for others is as configured while the mode is on; leftovers of an earlier mode
 * are not changed. */
static void merge__shared_probe_of_others__follows_the_configuration(void **state)
{
    struct arena *a = *state;
    static const struct {
        bool shared;
        const char *spec;
        int64_t port;
    } rows[] = {
        {true, PORTS(TCP80), 10256}, {false, PORTS(TCP80), 7}, {true, LOCAL PORTS(TCP80), 7}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct json_object *lb = document(
            a,
            "{\"name\":\"" SHARED_NAME "\",\"properties\":{\"protocol\":\"Http\",\"port\":7,"
            "\"requestPath\":\"/healthz\",\"intervalInSeconds\":5,\"probeThreshold\":2,"
            "\"loadBalancingRules\":[" REF("aother-TCP-80") "]}}",
            "");
        assert_int_equal(merge(a, rows[i].shared, false, rows[i].spec, lb), rows[i].port != 7);
        same_text("one probe", lb_names(a, lb, "probes"), SHARED_NAME);
        struct json_object *probe = json_object_array_get_idx(azure_array(lb, "probes"), 0);
        assert_int_equal(azure_prop_int(probe, "port", 0), rows[i].port);
    }
}

/* The next Service of a batch must not take a rule that goes for a user of the probe. */
static void merge__back_references__are_kept_true(void **state)
{
    struct arena *a = *state;
    struct json_object *lb =
        document(a,
                 "{\"name\":\"" SHARED_NAME "\",\"properties\":{\"loadBalancingRules\":[" REF(
                     "atest1-TCP-80") "," REF("aother-TCP-80") "]}}",
                 USING("atest1-TCP-80") "," USING("aother-TCP-80"));
    assert_true(merge(a, false, false, PORTS(TCP80), lb));
    struct json_object *probe = json_object_array_get_idx(azure_array(lb, "probes"), 0);
    assert_int_equal(json_len(azure_array(probe, "loadBalancingRules")), 1);
}

static const char a_shared_probe[] =
    "{\"name\":\"" SHARED_NAME "\",\"properties\":{\"protocol\":\"Http\",\"port\":10256,"
    "\"requestPath\":\"/healthz\",\"intervalInSeconds\":5,\"probeThreshold\":2,"
    "\"loadBalancingRules\":[%s]}}";

/* 6.6: a Service without a port to probe leaves it to the others; one that became Local takes it
 * along however many of its own rules used it, but not from the others. */
static void merge__shared_probe__stays_as_long_as_others_use_it(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *spec, *refs, *probes;
    } rows[] = {
        {"no port of ours is probed",
         PORTS("{\"port\":80,\"protocol\":\"UDP\",\"nodePort\":30080}"), REF("aother-TCP-80"),
         SHARED_NAME},
        {"Local, two rules of ours", LOCAL PORTS(TCP80),
         REF("atest1-TCP-80") "," REF("atest1-TCP-81"), "atest1-TCP-34567"},
        {"Local, no rule at all", LOCAL PORTS(TCP80), "", "atest1-TCP-34567"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct json_object *lb = document(a, arena_printf(a, a_shared_probe, rows[i].refs), "");
        (void)merge(a, true, true, rows[i].spec, lb);
        same_text(rows[i].row, lb_names(a, lb, "probes"), rows[i].probes);
    }
}

/* Values that ARM fills in are not sent for recreated resources. */
static void merge__changed_probe__loses_what_arm_fills_in(void **state)
{
    struct arena *a = *state;
    struct json_object *lb = document(
        a,
        "{\"id\":\"/p\",\"etag\":\"e\",\"name\":\"" SHARED_NAME "\",\"properties\":{\"port\":1,"
        "\"noHealthyBackendsBehavior\":\"AllProbedUp\",\"provisioningState\":\"Succeeded\","
        "\"loadBalancingRules\":[" REF("aother-TCP-80") "]}}",
        "");
    assert_true(merge(a, true, true, PORTS(TCP80), lb));
    struct json_object *probe = json_object_array_get_idx(azure_array(lb, "probes"), 0);
    same_text("the probe", json_text(a, probe, JSON_COMPACT),
              "{\"name\":\"" SHARED_NAME "\",\"properties\":{\"port\":10256,"
              "\"noHealthyBackendsBehavior\":\"AllProbedUp\",\"protocol\":\"Http\","
              "\"requestPath\":\"/healthz\",\"intervalInSeconds\":5,\"probeThreshold\":2}}");
}

/* A rule that changes goes to the end of the list, with what we do not know in it (17 row 15). */
static void merge__changed_rule__keeps_what_is_not_ours(void **state)
{
    struct arena *a = *state;
    struct json_object *lb =
        document(a, "",
                 BODY("ATEST1-tcp-80", ",\"enableConnectionTracking\":true},\"etag\":\"e\",\"x\":{"
                                       "\"y\":[null]") "," BODY("foreign", ""));
    assert_true(merge(a, false, true, PORTS(TCP80), lb));
    same_text("order", lb_names(a, lb, "loadBalancingRules"), "foreign ATEST1-tcp-80");
    struct json_object *rule = azure_find(azure_array(lb, "loadBalancingRules"), "atest1-TCP-80");
    assert_true(azure_prop_bool(rule, "enableConnectionTracking", false));
    assert_true(azure_prop_bool(rule, "enableTcpReset", false));
    assert_non_null(json_path(rule, "x.y"));
    assert_false(merge(a, false, true, PORTS(TCP80), lb));
}

/* A rule that loses its probe must not keep the old one. */
static void merge__rule_without_probe__loses_it(void **state)
{
    struct arena *a = *state;
    struct json_object *lb = document(a, "", BODY("atest1-UDP-53", ""));
    assert_true(merge(a, false, true, PORTS(PORT("u", "UDP", 53, 10053)), lb));
    struct json_object *rule = azure_find(azure_array(lb, "loadBalancingRules"), "atest1-UDP-53");
    assert_null(azure_ref(rule, "probe"));
    same_text("protocol", azure_prop_str(rule, "protocol"), "Udp");
}

static void merge__rule_without_properties__is_made_anew(void **state)
{
    struct arena *a = *state;
    struct json_object *lb = document(a, "", "{\"name\":\"atest1-TCP-80\",\"mine\":1}");
    assert_true(merge(a, false, true, PORTS(TCP80), lb));
    struct json_object *rule = azure_find(azure_array(lb, "loadBalancingRules"), "atest1-TCP-80");
    assert_int_equal(azure_prop_int(rule, "frontendPort", 0), 80);
    assert_non_null(json_member(rule, "mine"));
}

static void merge__second_time__changes_nothing(void **state)
{
    struct arena *a = *state;
    struct json_object *lb = document(a, "", "");
    assert_true(merge(a, true, true, PORTS(TCP80), lb));
    assert_false(merge(a, true, true, PORTS(TCP80), lb));
    same_text("probes", lb_names(a, lb, "probes"), SHARED_NAME);
}

UNIT_MAIN(lb_rules)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(desired__rules__R_01_to_R_13),
        PURE_TEST(desired__probes__R_14_to_R_21),
        PURE_TEST(desired__ports_and_modes__R_22_to_R_32),
        PURE_TEST(desired__no_outbound_snat__is_for_standard_balancers),
        PURE_TEST(rule_equal__R_40_to_R_44),
        PURE_TEST(probe_equal__6_6),
        PURE_TEST(merge__shared_probe__R_50_to_R_52),
        PURE_TEST(merge__shared_probe_of_others__follows_the_configuration),
        PURE_TEST(merge__back_references__are_kept_true),
        PURE_TEST(merge__shared_probe__stays_as_long_as_others_use_it),
        PURE_TEST(merge__changed_probe__loses_what_arm_fills_in),
        PURE_TEST(merge__changed_rule__keeps_what_is_not_ours),
        PURE_TEST(merge__rule_without_probe__loses_it),
        PURE_TEST(merge__rule_without_properties__is_made_anew),
        PURE_TEST(merge__second_time__changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
