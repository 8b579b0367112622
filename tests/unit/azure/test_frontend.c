/* SPDX-License-Identifier: Apache-2.0 */
/* test_frontend.c: frontends: whose they are, whether they may be touched, and what
 * azure_lb_apply() makes of them:  rows F of docs/spec/azure.md 13.5, 6.3, 6.8 to 6.10. */
#include "tests/unit/azure/lb.h"

#include "providers/azure/lb/azure_lb_apply_rules.h"
#include "tests/support/unit.h"

#define ROOT     "/subscriptions/subscription/resourceGroups/rg/providers/Microsoft.Network"
#define LB       ROOT "/loadBalancers/kubernetes"
#define FIP(n)   LB "/frontendIPConfigurations/" n
#define PIP(n)   ROOT "/publicIPAddresses/" n
#define SUBNET   ROOT "/virtualNetworks/vnet/subnets/subnet"
#define V4       "\"ipFamilies\":[\"IPv4\"],"
#define V6       "\"ipFamilies\":[\"IPv6\"],"
#define DUAL     "\"ipFamilies\":[\"IPv4\",\"IPv6\"],"
#define TCP80    "\"ports\":[{\"name\":\"http\",\"protocol\":\"TCP\",\"port\":80,\"nodePort\":10080}]"
#define INTERNAL "\"azure-load-balancer-internal\":\"true\""
#define IPV4     "\"azure-load-balancer-ipv4\":"
#define IPV6     "\"azure-load-balancer-ipv6\":"

static const struct azure_naming *naming(struct arena *a)
{
    const struct azure_config config = azure_test_config();
    return lb_naming(a, &config);
}

static const struct azure_service *service(struct arena *a, const char *name,
                                           const char *annotations, const char *spec)
{
    const struct tt_service *s =
        azure_test_service(a, name, arena_printf(a, "{%s}", annotations), spec);
    return azure_service_read(a, naming(a), s);
}

static const struct azure_pips *pips(struct arena *a, const char *text)
{
    struct azure_pips *p = ARENA_NEW(a, struct azure_pips);
    p->items = azure_test_docs(a, arena_printf(a, "[%s]", text), &p->n);
    return p;
}

/* A public IP as it is listed. */
#define PIP_DOC(name, version, ip)                                                                 \
    "{\"name\":\"" name "\",\"id\":\"" PIP(name) "\",\"properties\":{\"publicIPAddressVersion\":"  \
                                                 "\"" version "\",\"ipAddress\":\"" ip "\"}}"
/* A frontend; `body` is the inside of its properties. */
#define FIP_DOC(name, body)                                                                        \
    "{\"name\":\"" name "\",\"id\":\"" FIP(name) "\",\"properties\":{" body "}}"
#define ON_PIP(name) "\"publicIPAddress\":{\"id\":\"" PIP(name) "\"}"

/* ---- whose ----------------------------------------------------------------------------------- */

static void owner__F_10_to_F_20(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *name, *annotations, *spec, *frontend, *pips;
        const char *want;
    } rows[] = {
        {"F-10", "uid", "", V4 TCP80, FIP_DOC("auid", ""), "", "primary"},
        {"F-10 case counts", "uid", "", V4 TCP80, FIP_DOC("AUID", ""), "", "no"},
        {"F-11", "secondary", "", V4 TCP80, FIP_DOC("auid", ON_PIP("pip")),
         PIP_DOC("pip", "IPv4", "4.3.2.1"), "no"},
        {"F-12", "secondary", IPV4 "\"1.2.3.4\"", V4 TCP80, FIP_DOC("auid", ON_PIP("pip")),
         PIP_DOC("pip", "IPv4", "4.3.2.1"), "no"},
        {"F-13", "secondary", IPV4 "\"4.3.2.1\"", V4 TCP80, FIP_DOC("auid", ON_PIP("pip")),
         PIP_DOC("pip", "IPv4", "4.3.2.1"), "IPv4"},
        {"F-14", "secondary", IPV4 "\"4.3.2.1\"", V4 TCP80, FIP_DOC("auid", ON_PIP("pip1")),
         PIP_DOC("pip", "IPv4", "4.3.2.1"), "no"},
        {"F-15", "secondary", IPV4 "\"4.3.2.1\"", V4 TCP80,
         FIP_DOC("auid", "\"publicIPPrefix\":{\"id\":\"pip\"}"), PIP_DOC("pip", "IPv4", "4.3.2.1"),
         "no"},
        {"F-16", "secondary", IPV4 "\"10.0.0.5\"", V4 TCP80, FIP_DOC("auid", ON_PIP("pip")),
         PIP_DOC("pip", "IPv4", "10.0.0.5"), "no"},
        {"F-17", "secondary", IPV4 "\"4.3.2.1\"," IPV6 "\"2603:1030::eef0\"", DUAL TCP80,
         FIP_DOC("auid", ON_PIP("pip6")),
         PIP_DOC("pip", "IPv4", "4.3.2.1") "," PIP_DOC("pip6", "IPv6", "2603:1030::eef0"), "IPv6"},
        {"17 row 11", "secondary", IPV6 "\"2603:1030:0:0::eef0\"", V6 TCP80,
         FIP_DOC("auid", ON_PIP("pip6")), PIP_DOC("pip6", "IPv6", "2603:1030::eef0"), "IPv6"},
        {"F-18", "secondary", INTERNAL "," IPV4 "\"4.3.2.1\"", V4 TCP80,
         FIP_DOC("auid", "\"privateIPAddress\":\"4.3.2.1\""), "", "IPv4"},
        {"F-19", "secondary", INTERNAL "," IPV4 "\"4.3.2.1\"," IPV6 "\"fd00::eef0\"", DUAL TCP80,
         FIP_DOC("auid", "\"privateIPAddress\":\"fd00::eef0\""), "", "IPv6"},
        {"17 row 11, internal", "secondary", INTERNAL "," IPV6 "\"FD00:0::eef0\"", V6 TCP80,
         FIP_DOC("auid", "\"privateIPAddress\":\"fd00::eef0\""), "", "IPv6"},
        {"F-20", "secondary", "\"azure-pip-name\":\"PIP1\"", V4 TCP80,
         FIP_DOC("auid", ON_PIP("pip1")), PIP_DOC("pip1", "IPv4", "1.2.3.4"), "IPv4"},
        {"F-20 both families", "secondary",
         "\"azure-pip-name\":\"pip1\",\"azure-pip-name-ipv6\":\"pip6\"", DUAL TCP80,
         FIP_DOC("auid", ON_PIP("pip6")),
         PIP_DOC("pip1", "IPv4", "1.2.3.4") "," PIP_DOC("pip6", "IPv6", "2603:1030::1"), "IPv6"},
        {"F-20 one that is missing ends the list", "secondary",
         "\"azure-pip-name\":\"pip1\",\"azure-pip-name-ipv6\":\"pip6\"", DUAL TCP80,
         FIP_DOC("auid", ON_PIP("pip6")), PIP_DOC("pip6", "IPv6", "2603:1030::1"), "no"},
        {"F-20 no address yet", "secondary", "\"azure-pip-name\":\"pip1\"", V4 TCP80,
         FIP_DOC("auid", ON_PIP("pip1")), PIP_DOC("pip1", "IPv4", ""), "no"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct azure_claim c = azure_frontend_claim(
            a, service(a, rows[i].name, rows[i].annotations, rows[i].spec), pips(a, rows[i].pips));
        struct azure_ownership o = azure_frontend_owned_by(&c, pure_json(a, rows[i].frontend));
        const char *got = !o.owns ? "no" : o.primary ? "primary" : str_nonnull(o.version);
        same_text(rows[i].row, got, rows[i].want);
    }
}

/* ---- in use ---------------------------------------------------------------------------------- */

#define AT(id) "\"frontendIPConfiguration\":{\"id\":\"" id "\"}"

static void in_use__F_30_to_F_33(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *array, *element, *want;
    } rows[] = {
        {"F-30", "loadBalancingRules",
         "{\"name\":\"aother-TCP-80\",\"properties\":{" AT(FIP("atest1")) "}}",
         "load balancing rule aother-TCP-80 of another Service"},
        {"F-30 case of the ID", "loadBalancingRules",
         "{\"name\":\"aother-TCP-80\",\"properties\":{" AT(
             "/SUBSCRIPTIONS/subscription/"
             "resourcegroups/RG/providers/microsoft.network/loadBalancers/Kubernetes/"
             "frontendIPConfigurations/ATEST1") "}}",
         "load balancing rule aother-TCP-80 of another Service"},
        {"F-30 another frontend", "loadBalancingRules",
         "{\"name\":\"aother-TCP-80\",\"properties\":{" AT(FIP("aother")) "}}", NULL},
        {"F-31", "outboundRules",
         "{\"name\":\"atest1-out\",\"properties\":{\"frontendIPConfigurations\":[{\"id\":\"/x\"},"
         "{\"id\":\"" FIP("atest1") "\"}]}}",
         "outbound rule atest1-out"},
        {"F-32", "loadBalancingRules",
         "{\"name\":\"atest1-TCP-80\",\"properties\":{" AT(FIP("atest1")) "}}", NULL},
        {"F-33", "inboundNatRules",
         "{\"name\":\"atest1-nat\",\"properties\":{" AT(FIP("atest1")) "}}",
         "inbound NAT rule atest1-nat"},
        {"F-33 pool", "inboundNatPools",
         "{\"name\":\"pool\",\"properties\":{" AT(FIP("atest1")) "}}", "inbound NAT pool pool"},
        {"no reference", "inboundNatRules", "{\"name\":\"nat\",\"properties\":null}", NULL},
    };
    const struct azure_service *s = service(a, "test1", "", V4 TCP80);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct json_object *lb = pure_json(
            a, arena_printf(a, "{\"properties\":{\"%s\":[%s]}}", rows[i].array, rows[i].element));
        same_text(rows[i].row, azure_frontend_in_use(a, s, FIP("atest1"), lb), rows[i].want);
    }
}

static void ports__F_40_to_F_44(void **state)
{
    struct arena *a = *state;
#define ON(name, id, body)                                                                         \
    "{\"name\":\"" name "\",\"properties\":{\"protocol\":\"tcp\"," AT(id) "," body "}}"
    static const struct {
        const char *row, *array, *element, *id;
        int want;
    } rows[] = {
        {"F-40", "loadBalancingRules", ON("aother", FIP("fip"), "\"frontendPort\":80"), FIP("fip"),
         ERR_IN_USE},
        {"F-40 own rule", "loadBalancingRules", ON("atest1-x", FIP("fip"), "\"frontendPort\":80"),
         FIP("fip"), ERR_OK},
        {"F-41", "loadBalancingRules", ON("aother", FIP("fip-IPv6"), "\"frontendPort\":80"),
         FIP("fip-IPv6"), ERR_IN_USE},
        {"F-41 other family", "loadBalancingRules",
         ON("aother", FIP("fip-IPv6"), "\"frontendPort\":80"), FIP("fip"), ERR_OK},
        {"F-42", "inboundNatRules", ON("atest1-nat", FIP("fip"), "\"frontendPort\":80"), FIP("fip"),
         ERR_IN_USE},
        {"F-43", "inboundNatPools",
         ON("pool", FIP("fip"), "\"frontendPortRangeStart\":80,\"frontendPortRangeEnd\":90"),
         FIP("fip"), ERR_IN_USE},
        {"F-43 last port", "inboundNatPools",
         ON("pool", FIP("fip"), "\"frontendPortRangeStart\":70,\"frontendPortRangeEnd\":80"),
         FIP("fip"), ERR_IN_USE},
        {"F-43 before", "inboundNatPools",
         ON("pool", FIP("fip"), "\"frontendPortRangeStart\":81,\"frontendPortRangeEnd\":90"),
         FIP("fip"), ERR_OK},
        {"F-43 behind", "inboundNatPools",
         ON("pool", FIP("fip"), "\"frontendPortRangeStart\":1,\"frontendPortRangeEnd\":79"),
         FIP("fip"), ERR_OK},
        {"F-43 no range", "inboundNatPools", ON("pool", FIP("fip"), "\"x\":1"), FIP("fip"), ERR_OK},
        {"F-44", "loadBalancingRules", ON("aother", FIP("fip"), "\"frontendPort\":90"), FIP("fip"),
         ERR_OK},
        {"F-44 pool", "inboundNatPools",
         ON("pool", FIP("fip"), "\"frontendPortRangeStart\":800,\"frontendPortRangeEnd\":900"),
         FIP("fip"), ERR_OK},
        {"another's rule for all ports", "loadBalancingRules",
         "{\"name\":\"aother\",\"properties\":{\"protocol\":\"All\"," AT(
             FIP("fip")) ",\"frontendPort\":0}}",
         FIP("fip"), ERR_IN_USE},
        {"its own rule for all ports", "loadBalancingRules",
         "{\"name\":\"atest1-TCP-80\",\"properties\":{\"protocol\":\"All\"," AT(
             FIP("fip")) ",\"frontendPort\":0}}",
         FIP("fip"), ERR_OK},
        {"another's rule for all ports elsewhere", "loadBalancingRules",
         "{\"name\":\"aother\",\"properties\":{\"protocol\":\"All\"," AT(
             FIP("fip-IPv6")) ",\"frontendPort\":0}}",
         FIP("fip"), ERR_OK},
        {"6.8 protocol", "loadBalancingRules",
         "{\"name\":\"aother\",\"properties\":{\"protocol\":\"Udp\"," AT(
             FIP("fip")) ",\"frontendPort\":80}}",
         FIP("fip"), ERR_OK},
    };
#undef ON
    const struct azure_service *s = service(a, "test1", "", V4 TCP80);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        struct json_object *lb = pure_json(
            a, arena_printf(a, "{\"properties\":{\"%s\":[%s]}}", rows[i].array, rows[i].element));
        struct azure_elements rules = azure_lb_rules_at(a, NULL, lb, rows[i].id);
        const struct azure_place at = {
            .id = rows[i].id, .lb = lb, .rules = rules.items, .n_rules = rules.n};
        int code = azure_frontend_check_ports_at(s, &at, &err);
        same_text(rows[i].row, err_code_name(code), err_code_name(rows[i].want));
        if (code != ERR_OK &&
            strstr(err.message, "service port http is trying to consume the port "
                                "80 which is being referenced by") == NULL &&
            strstr(err.message, "rule aother is for all ports of the address") == NULL) {
            fail_msg("%s: %s", rows[i].row, err.message);
        }
    }
}

static void ports__all_of_them__nothing_beside(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *name, *id;
        int want;
    } rows[] = {{"aother", FIP("fip"), ERR_IN_USE},
                {"aother", FIP("fip-IPv6"), ERR_OK},
                {"atest1-TCP-80", FIP("fip"), ERR_OK}};
    const struct azure_service *s = service(a, "test1", "", V4 TCP80);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        struct json_object *rule = pure_json(
            a, arena_printf(a,
                            "{\"name\":\"%s\",\"properties\":{\"protocol\":\"Udp\","
                            "\"frontendIPConfiguration\":{\"id\":\"%s\"},\"frontendPort\":9}}",
                            rows[i].name, rows[i].id));
        const struct azure_place at = {.id = FIP("fip"),
                                       .lb = pure_json(a, "{\"properties\":{}}"),
                                       .rules = &rule,
                                       .n_rules = 1,
                                       .all_ports = true};
        assert_int_equal(azure_frontend_check_ports_at(s, &at, &err), rows[i].want);
    }
}

/* ---- on a document --------------------------------------------------------------------------- */

struct put {
    const char *frontends; /* that are there */
    const char *rest;      /* other members of properties, with a comma before */
    const char *pips;
    const char *pip4;
    const char *pip6;
    const char *subnet; /* inside of its properties */
    bool zones;
    bool gone; /* the Service goes */
};

static int apply(struct arena *a, const struct azure_service *s, const struct put *p,
                 struct json_object **ret_lb, struct azure_lb_result *ret, struct err *err)
{
    static const char *const zones[] = {"1", "2", "3"};
    const struct azure_lb_ask ask = {
        .naming = naming(a),
        .service = s,
        .want = !p->gone,
        .pips = pips(a, str_nonnull(p->pips)),
        .pip_id = {p->pip4, p->pip6},
        .subnet = pure_json(
            a, arena_printf(a, "{\"name\":\"subnet\",\"id\":\"" SUBNET "\",\"properties\":{%s}}",
                            str_nonnull(p->subnet))),
        .zones = zones,
        .n_zones = p->zones ? ARRAY_LEN(zones) : 0,
    };
    *ret_lb = pure_json(
        a, arena_printf(a,
                        "{\"name\":\"kubernetes\",\"properties\":{\"frontendIPConfigurations\":["
                        "%s]%s}}",
                        str_nonnull(p->frontends), str_nonnull(p->rest)));
    return azure_lb_apply(a, &ask, *ret_lb, ret, err);
}

/* The new state of the one former frontend. */
static const char *fate(struct arena *a, const struct azure_service *s, const struct put *p)
{
    struct json_object *lb;
    struct azure_lb_result r;
    struct err err = ERR_INIT;
    if (apply(a, s, p, &lb, &r, &err) != ERR_OK) {
        return err_code_name(err.code);
    }
    return r.n_removed > 0 ? "changed" : "unchanged";
}

static void change__F_01_to_F_09(void **state)
{
    struct arena *a = *state;
#define STATIC(ip)                                                                                 \
    "\"privateIPAddress\":\"" ip "\",\"privateIPAllocationMethod\":\"Static\",\"subnet\":{\"id\":" \
    "\"" SUBNET "\"}"
    static const struct {
        const char *row, *annotations, *frontend, *pip_id, *want;
    } rows[] = {
        {"F-01", INTERNAL, FIP_DOC("atest1-name", ""), NULL, "changed"},
        {"F-02", INTERNAL, FIP_DOC("btest1-name", ""), NULL, "unchanged"},
        {"F-03", INTERNAL, FIP_DOC("atest1", "\"privateIPAllocationMethod\":\"Static\""), NULL,
         "unchanged"},
        {"F-04", INTERNAL ",\"azure-load-balancer-internal-subnet\":\"testSubnet\"",
         FIP_DOC("atest1-testSubnet", "\"subnet\":{\"id\":\"testSubnet\"}"), NULL, "changed"},
        {"F-04 the same", INTERNAL ",\"azure-load-balancer-internal-subnet\":\"subnet\"",
         FIP_DOC("atest1-subnet", STATIC("1.1.1.1")), NULL, "unchanged"},
        {"F-04 no annotation", INTERNAL, FIP_DOC("atest1", "\"subnet\":{\"id\":\"testSubnet\"}"),
         NULL, "unchanged"},
        {"F-05", INTERNAL "," IPV4 "\"1.1.1.1\"", FIP_DOC("atest1", STATIC("1.1.1.1")), NULL,
         "unchanged"},
        {"F-05 dynamic", INTERNAL "," IPV4 "\"1.1.1.1\"",
         FIP_DOC("atest1", "\"privateIPAddress\":\"1.1.1.1\","
                           "\"privateIPAllocationMethod\":\"Dynamic\""),
         NULL, "unchanged"},
        {"F-06", INTERNAL "," IPV4 "\"1.1.1.1\"", FIP_DOC("atest1", STATIC("1.1.1.2")), NULL,
         "changed"},
        {"F-07", "", FIP_DOC("atest1", ""), PIP("pip"), "unchanged"},
        {"F-08", "", FIP_DOC("atest1", ON_PIP("pipName")), PIP("PIPNAME"), "unchanged"},
        {"F-09", "", FIP_DOC("atest1", ON_PIP("pipName1")), PIP("pipName2"), "changed"},
    };
#undef STATIC
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct put p = {.frontends = rows[i].frontend, .pip4 = rows[i].pip_id};
        same_text(rows[i].row, fate(a, service(a, "test1", rows[i].annotations, V4 TCP80), &p),
                  rows[i].want);
    }
}

/* The frontend that was made: the inside of its properties and its zones. */
static void new__F_50_to_F_55(void **state)
{
    struct arena *a = *state;
#define PROPS(name) "{\"name\":\"" name "\",\"id\":\"" FIP(name) "\",\"properties\":"
#define ANY_IN_SUBNET                                                                              \
    "{\"privateIPAllocationMethod\":\"Dynamic\",\"subnet\":{\"id\":\"" SUBNET                      \
    "\",\"name\":\"subnet\"}}"
#define THE_IP(ip, more)                                                                           \
    "{\"privateIPAddress\":\"" ip "\",\"privateIPAllocationMethod\":\"Static\"," more              \
    "\"subnet\":{\"id\":\"" SUBNET "\",\"name\":\"subnet\"}}"
#define SIX "\"privateIPAddressVersion\":\"IPv6\","
#define IN  "\"addressPrefixes\":[null,\"1.2.3.4/31\",\"2001::1/127\"]"
#define OLD_NAME(zones)                                                                            \
    "{\"name\":\"atest1-old\",\"id\":\"" FIP("atest1-old") "\",\"properties\":{}" zones "}"
    static const struct {
        const char *row, *annotations, *spec, *frontends, *subnet, *ingress;
        bool zones;
        const char *v4, *v6;
    } rows[] = {
        {"F-50", "", V4 TCP80, "", "", "", true,
         PROPS("atest1") "{\"publicIPAddress\":{\"id\":\"" PIP("p4") "\"}}}", NULL},
        {"F-51", INTERNAL, V4 TCP80, "", "", "", true,
         PROPS("atest1") ANY_IN_SUBNET ",\"zones\":[\"1\",\"2\",\"3\"]}", NULL},
        {"F-51 no zones", INTERNAL, V4 TCP80, "", "", "", false, PROPS("atest1") ANY_IN_SUBNET "}",
         NULL},
        {"F-52", INTERNAL, V4 TCP80, OLD_NAME(""), "", "", true, PROPS("atest1") ANY_IN_SUBNET "}",
         NULL},
        {"F-53", INTERNAL, V4 TCP80,
         "{\"name\":\"aother\",\"zones\":[\"2\"]}," OLD_NAME(",\"zones\":[\"1\"]"), "", "", true,
         PROPS("atest1") ANY_IN_SUBNET ",\"zones\":[\"1\"]}", NULL},
        {"F-54", INTERNAL, DUAL TCP80, "", IN, "{\"ip\":\"1.2.3.4\"},{\"ip\":\"2001::1\"}", false,
         PROPS("atest1") THE_IP("1.2.3.4", "") "}",
         PROPS("atest1-IPv6") THE_IP("2001::1", SIX) "}"},
        {"F-54 one prefix", INTERNAL, V4 TCP80, "", "\"addressPrefix\":\"1.2.3.4/31\"",
         "{\"hostname\":\"x\"},{\"ip\":\"1.2.3.5\"}", false,
         PROPS("atest1") THE_IP("1.2.3.5", "") "}", NULL},
        {"F-55", INTERNAL, V4 TCP80, "", IN, "{\"ip\":\"1.2.3.6\"},{\"ip\":\"2001::3\"}", false,
         PROPS("atest1") ANY_IN_SUBNET "}", NULL},
        {"6.3 (3) the address asked for", INTERNAL "," IPV4 "\"1.2.3.5\"", V4 TCP80, "", IN,
         "{\"ip\":\"1.2.3.4\"}", false, PROPS("atest1") THE_IP("1.2.3.5", "") "}", NULL},
        {"6.3 (3) the address it had", INTERNAL, V4 TCP80,
         "{\"name\":\"atest1-old\",\"id\":\"" FIP(
             "atest1-old") "\",\"properties\":{"
                           "\"privateIPAddress\":\"1.2.3.5\"}}",
         IN, "{\"ip\":\"1.2.3.4\"}", false, PROPS("atest1") THE_IP("1.2.3.5", "") "}", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *annotations = arena_printf(a, "{%s}", rows[i].annotations);
        struct tt_service *in = (struct tt_service *)arena_memdup(
            a, azure_test_service(a, "test1", annotations, rows[i].spec), sizeof(*in));
        const struct tt_service *status = test_service_text(
            a, arena_printf(a,
                            "{\"metadata\":{\"name\":\"x\",\"namespace\":\"x\",\"uid\":\"x\"},"
                            "\"status\":{\"loadBalancer\":{\"ingress\":[%s]}}}",
                            rows[i].ingress));
        in->ingress = status->ingress;
        in->n_ingress = status->n_ingress;
        const struct put p = {.frontends = rows[i].frontends,
                              .subnet = rows[i].subnet,
                              .zones = rows[i].zones,
                              .pip4 = PIP("p4"),
                              .pip6 = PIP("p6")};
        struct json_object *lb;
        struct azure_lb_result r;
        struct err err = ERR_INIT;
        if (apply(a, azure_service_read(a, naming(a), in), &p, &lb, &r, &err) != ERR_OK) {
            fail_msg("%s: %s", rows[i].row, err.message);
        }
        struct json_object *array = azure_array(lb, "frontendIPConfigurations");
        same_text(rows[i].row, json_text(a, azure_find(array, "atest1"), JSON_SORTED),
                  json_text(a, pure_json(a, rows[i].v4), JSON_SORTED));
        if (rows[i].v6 != NULL) {
            same_text(rows[i].row, json_text(a, azure_find(array, "atest1-IPv6"), JSON_SORTED),
                      json_text(a, pure_json(a, rows[i].v6), JSON_SORTED));
        }
        assert_null(azure_find(array, "atest1-old"));
    }
}

/* ---- sharing --------------------------------------------------------------------------------- */

#define SHARED_FIP FIP_DOC("aother", ON_PIP("pip"))
#define SHARED_PIP PIP_DOC("pip", "IPv4", "4.3.2.1")
#define OTHERS_RULE                                                                                \
    ",\"loadBalancingRules\":[{\"name\":\"aother-TCP-443\",\"properties\":{\"protocol\":\"Tcp\","  \
    "\"frontendPort\":443," AT(FIP("aother")) "}}]"

static void apply__pinned_address__rules_on_the_frontend_of_another(void **state)
{
    struct arena *a = *state;
    const struct put p = {
        .frontends = SHARED_FIP, .rest = OTHERS_RULE, .pips = SHARED_PIP, .pip4 = PIP("pip")};
    struct json_object *lb;
    struct azure_lb_result r;
    struct err err = ERR_INIT;
    const struct azure_service *s = service(a, "test1", IPV4 "\"4.3.2.1\"", V4 TCP80);
    assert_int_equal(apply(a, s, &p, &lb, &r, &err), ERR_OK);
    same_text("frontends", lb_names(a, lb, "frontendIPConfigurations"), "aother");
    same_text("rules", lb_names(a, lb, "loadBalancingRules"), "aother-TCP-443 atest1-TCP-80");
    same_text("its own", r.frontend_id[AZURE_IPV4], FIP("aother"));
}

/* A family that the Service does not have: the frontend of another Service is none
 * of its business. */
static void apply__pinned_address_of_a_family_it_lacks__frontend_stays(void **state)
{
    struct arena *a = *state;
    const struct put p = {
        .frontends = FIP_DOC("aother", ON_PIP("pip6")),
        .pips = PIP_DOC("pip6", "IPv6", "2603:1030::eef0") "," PIP_DOC("pip", "IPv4", "4.3.2.1"),
        .pip4 = PIP("pip")};
    struct json_object *lb;
    struct azure_lb_result r;
    struct err err = ERR_INIT;
    const struct azure_service *s =
        service(a, "test1", IPV4 "\"4.3.2.1\"," IPV6 "\"2603:1030::eef0\"", V4 TCP80);
    assert_int_equal(apply(a, s, &p, &lb, &r, &err), ERR_OK);
    same_text("frontends", lb_names(a, lb, "frontendIPConfigurations"), "aother atest1");
    assert_int_equal(r.n_removed, 0);
}

static void apply__service_goes__frontend_in_use_is_kept_and_told(void **state)
{
    struct arena *a = *state;
    const struct put p = {.frontends = FIP_DOC("aother", ON_PIP("pip")),
                          .rest =
                              ",\"outboundRules\":[{\"name\":\"out\",\"properties\":{"
                              "\"frontendIPConfigurations\":[{\"id\":\"" FIP("aother") "\"}]}}]",
                          .gone = true};
    struct json_object *lb;
    struct azure_lb_result r;
    struct err err = ERR_INIT;
    assert_int_equal(apply(a, service(a, "other", "", V4 TCP80), &p, &lb, &r, &err), ERR_OK);
    same_text("frontends", lb_names(a, lb, "frontendIPConfigurations"), "aother");
    assert_int_equal(r.n_removed, 1);
    same_text("by", r.removed[0].kept_by, "outbound rule out");
    assert_false(r.changed);
    assert_null(r.frontend_id[AZURE_IPV4]);
}

static void apply__frontend_in_use_must_change__refused(void **state)
{
    struct arena *a = *state;
    const struct put p = {
        .frontends = FIP_DOC("atest1", ON_PIP("old")),
        .rest = ",\"inboundNatRules\":[{\"name\":\"nat\",\"properties\":{" AT(FIP("atest1")) "}}]",
        .pip4 = PIP("pip")};
    same_text("6.3", fate(a, service(a, "test1", "", V4 TCP80), &p), err_code_name(ERR_IN_USE));
}

/* An internal frontend of the other family cannot be used by rules of this one. */
static void apply__first_family_changes__internal_frontend_is_made_anew(void **state)
{
    struct arena *a = *state;
    const struct put p = {.frontends = FIP_DOC("atest1", "\"privateIPAddressVersion\":\"IPv6\","
                                                         "\"privateIPAddress\":\"fd00::5\"")};
    struct json_object *lb;
    struct azure_lb_result r;
    struct err err = ERR_INIT;
    const struct azure_service *s = service(a, "test1", INTERNAL, DUAL TCP80);
    assert_int_equal(apply(a, s, &p, &lb, &r, &err), ERR_OK);
    same_text("frontends", lb_names(a, lb, "frontendIPConfigurations"), "atest1 atest1-IPv6");
    struct json_object *first = azure_find(azure_array(lb, "frontendIPConfigurations"), "atest1");
    assert_null(azure_prop_str(first, "privateIPAddressVersion"));
}

/* ---- the rest of the document ---------------------------------------------------------------- */

static void apply__new_balancer__whole(void **state)
{
    struct arena *a = *state;
    struct azure_config config = azure_test_config();
    config.shared_probe = true;
    const struct azure_naming *n = lb_naming(a, &config);
    const struct azure_lb_ask ask = {
        .naming = n,
        .service = azure_service_read(a, n, azure_test_service(a, "test1", "{}", DUAL TCP80)),
        .want = true,
        .pips = pips(a, ""),
        .pip_id = {PIP("p4"), PIP("p6")},
    };
    struct json_object *lb = azure_lb_new(a, n->config, "kubernetes");
    struct azure_lb_result r;
    struct err err = ERR_INIT;
    assert_true(azure_lb_is_orphan(lb));
    assert_int_equal(azure_lb_apply(a, &ask, lb, &r, &err), ERR_OK);
    assert_true(r.changed && r.frontends_changed);
    assert_false(azure_lb_is_orphan(lb));
    same_text("pools", lb_names(a, lb, "backendAddressPools"), "kubernetes kubernetes-IPv6");
    same_text("rules", lb_names(a, lb, "loadBalancingRules"), "atest1-TCP-80 atest1-TCP-80-IPv6");
    same_text("6.6 (7)", lb_names(a, lb, "probes"), "cluster-service-shared-health-probe");
    same_text("sku", json_str(json_member(lb, "sku"), "name"), "Standard");
    assert_int_equal(azure_lb_apply(a, &ask, lb, &r, &err), ERR_OK);
    assert_false(r.changed);
}

static void apply__over_the_limit__refused_alone(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row;
        bool standard;
        size_t rules;
        const char *want;
    } rows[] = {
        {"standard, last one", true, 1499, "ok"},
        {"standard, one more", true, 1500, "quota"},
        {"basic, last one", false, 249, "ok"},
        {"basic, one more", false, 250, "quota"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct azure_config config = azure_test_config();
        config.standard_sku = rows[i].standard;
        const struct azure_naming *n = lb_naming(a, &config);
        const struct azure_lb_ask ask = {
            .naming = n,
            .service = azure_service_read(a, n, azure_test_service(a, "test1", "{}", V4 TCP80)),
            .want = true,
            .pips = pips(a, ""),
            .pip_id = {PIP("p4"), NULL},
        };
        struct json_object *lb = azure_lb_new(a, n->config, "kubernetes");
        struct json_object *rules = azure_array_make(lb, "loadBalancingRules");
        for (size_t k = 0; k < rows[i].rules; k++) {
            json_object_array_add(rules, json_object_new_object());
        }
        const char *before = json_text(a, lb, JSON_SORTED);
        struct azure_lb_result r;
        struct err err = ERR_INIT;
        same_text(rows[i].row, err_code_name(azure_lb_apply(a, &ask, lb, &r, &err)), rows[i].want);
        if (err.code != ERR_OK) {
            same_text("the document", json_text(a, lb, JSON_SORTED), before);
        }
    }
}

UNIT_MAIN(frontend)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(owner__F_10_to_F_20),
        PURE_TEST(in_use__F_30_to_F_33),
        PURE_TEST(ports__F_40_to_F_44),
        PURE_TEST(ports__all_of_them__nothing_beside),
        PURE_TEST(change__F_01_to_F_09),
        PURE_TEST(new__F_50_to_F_55),
        PURE_TEST(apply__pinned_address__rules_on_the_frontend_of_another),
        PURE_TEST(apply__pinned_address_of_a_family_it_lacks__frontend_stays),
        PURE_TEST(apply__service_goes__frontend_in_use_is_kept_and_told),
        PURE_TEST(apply__frontend_in_use_must_change__refused),
        PURE_TEST(apply__first_family_changes__internal_frontend_is_made_anew),
        PURE_TEST(apply__new_balancer__whole),
        PURE_TEST(apply__over_the_limit__refused_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
