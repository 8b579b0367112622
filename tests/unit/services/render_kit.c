/* SPDX-License-Identifier: Apache-2.0 */
/* render_kit.c: the Service of render_kit.h as objects. */
#include "tests/unit/services/render_kit.h"

#include <string.h>

static const char **one(struct arena *a, const char *item)
{
    const char **items = ARENA_ARRAY(a, const char *, 1);
    items[0] = item;
    return items;
}

static const char *four_or_six(unsigned flags, const char *four, const char *six)
{
    return (flags & KIT_SIX) != 0 ? six : four;
}

static const char *protocol(unsigned flags)
{
    return (flags & KIT_UDP) != 0 ? "UDP" : (flags & KIT_SCTP) != 0 ? "SCTP" : "TCP";
}

static struct ks_node_config config(struct arena *a, unsigned flags)
{
    struct ks_node_config c = ks_node_config_default((flags & KIT_SIX) != 0 ? KS_IPV6 : KS_IPV4);
    c.name = "node-a";
    c.ip = four_or_six(flags, "192.168.0.1", "2001:db8::1");
    c.addresses = ARENA_ARRAY(a, const char *, 2);
    c.addresses[c.n_addresses++] = c.ip;
    if ((flags & KIT_VIP_ON_NODE) != 0) {
        c.addresses[c.n_addresses++] = "203.0.113.1";
    }
    c.detect = KS_DETECT_CIDR;
    c.detect_value = four_or_six(flags, "10.244.1.0/24", "fd00:244:1::/64");
    if ((flags & KIT_BRIDGE) != 0) {
        c.detect = KS_DETECT_BRIDGE;
        c.detect_value = "cni0";
    } else if ((flags & KIT_PREFIX) != 0) {
        c.detect = KS_DETECT_PREFIX;
        c.detect_value = "cali";
    } else if ((flags & KIT_NO_DETECTOR) != 0) {
        c.detect = KS_DETECT_NONE;
    }
    if ((flags & (KIT_SOME_ADDRESSES | KIT_OTHER_ADDRESSES)) != 0) {
        c.node_port_addresses = ARENA_ARRAY(a, const char *, 2);
        c.node_port_addresses[0] = (flags & KIT_SOME_ADDRESSES) != 0
                                       ? four_or_six(flags, "192.168.0.0/24", "2001:db8::/64")
                                       : four_or_six(flags, "10.99.0.0/16", "fd99::/16");
        c.node_port_addresses[1] = four_or_six(flags, "127.0.0.0/8", "::1/128");
        c.n_node_port_addresses = (flags & KIT_SOME_ADDRESSES) != 0 ? 2 : 1;
    }
    if ((flags & KIT_SERVICE_CIDR) != 0) {
        c.service_cidrs = ARENA_ARRAY(a, const char *, 2);
        c.service_cidrs[0] = "10.11.0.0/16";
        c.service_cidrs[1] = "fd00:172::/112";
        c.n_service_cidrs = 2;
    }
    c.masquerade_all = (flags & KIT_MASQUERADE_ALL) != 0;
    c.nfacct = (flags & KIT_NFACCT) != 0;
    c.tcp_be_liberal = (flags & KIT_LIBERAL) != 0;
    c.localhost_node_ports = (flags & KIT_NO_LOCALHOST) == 0;
    c.random_fully = (flags & KIT_NOT_RANDOM_FULLY) == 0;
    c.scheduler = (flags & KIT_MH) != 0 ? "mh" : "";
    return c;
}

static void outside(struct arena *a, unsigned flags, struct ks_service *s)
{
    struct ks_ingress *ingress = ARENA_NEW(a, struct ks_ingress);
    *ingress = (struct ks_ingress){
        .ip = four_or_six(flags, "203.0.113.1", "2001:db8:f::1"), .hostname = "", .ip_mode = ""};
    s->ingress = ingress;
    s->n_ingress = 1;
    s->external_ips = one(a, four_or_six(flags, "198.51.100.1", "2001:db8:e::1"));
    s->n_external_ips = 1;
    s->source_ranges = ARENA_ARRAY(a, const char *, 2);
    if ((flags & KIT_RANGES) != 0) {
        s->source_ranges[s->n_source_ranges++] =
            four_or_six(flags, "192.0.2.0/24", "2001:db8:c::/64");
    }
    if ((flags & KIT_NODE_RANGE) != 0) {
        s->source_ranges[s->n_source_ranges++] =
            four_or_six(flags, "192.168.0.0/16", "2001:db8::/64");
    }
    if ((flags & KIT_ETP_LOCAL) != 0) {
        s->external_policy = "Local";
        s->health_check_node_port = KIT_HEALTH;
    }
}

static struct ks_service *service(struct arena *a, unsigned flags)
{
    struct ks_service *s = ARENA_NEW(a, struct ks_service);
    struct ks_service_port *port = ARENA_NEW(a, struct ks_service_port);
    s->meta = (struct ks_meta){.ns = "default", .name = "my-service", .uid = "1"};
    s->type = (flags & KIT_CLUSTER_IP_ONLY) != 0 ? "ClusterIP" : "LoadBalancer";
    s->cluster_ip = four_or_six(flags, "10.11.97.177", "fd00:172::b1");
    s->cluster_ips = one(a, s->cluster_ip);
    s->n_cluster_ips = 1;
    s->ip_families = one(a, four_or_six(flags, "IPv4", "IPv6"));
    s->n_ip_families = 1;
    *port = (struct ks_service_port){
        .name = "", .protocol = protocol(flags), .port = 80, .target_port = 80, .node_port = 30080};
    s->ports = port;
    s->n_ports = 1;
    s->session_affinity = (flags & KIT_AFFINITY) != 0 ? "ClientIP" : "None";
    s->affinity_s = (flags & KIT_AFFINITY) != 0 ? 10800 : 0;
    s->external_policy = "Cluster";
    s->internal_policy = (flags & KIT_ITP_LOCAL) != 0 ? "Local" : "Cluster";
    if ((flags & KIT_CLUSTER_IP_ONLY) != 0) {
        port->node_port = 0;
    } else {
        outside(a, flags, s);
    }
    return s;
}

/* An address below NET.0.0.0/8. */
static const char *numbered(struct arena *a, unsigned net, size_t i)
{
    return arena_printf(a, "%u.%zu.%zu.%zu", net, i / 62500, i / 250 % 250, i % 250);
}

/* `n` endpoints of a Service; their addresses begin with the number `first`. */
static struct ks_slice *slice(struct arena *a, unsigned flags, const char *name, size_t first,
                              size_t n)
{
    struct ks_slice *s = ARENA_NEW(a, struct ks_slice);
    struct json_kv *label = ARENA_NEW(a, struct json_kv);
    struct ks_slice_port *port = ARENA_NEW(a, struct ks_slice_port);
    struct ks_slice_endpoint *endpoints = ARENA_ARRAY(a, struct ks_slice_endpoint, n);
    *label = (struct json_kv){"kubernetes.io/service-name", name};
    *port = (struct ks_slice_port){
        .name = "", .protocol = protocol(flags), .port = 80, .has_port = true};
    for (size_t i = 0; i < n; i++) {
        endpoints[i] = (struct ks_slice_endpoint){
            .addresses = one(a, numbered(a, 10, first + i)),
            .n_addresses = 1,
            .ready = (flags & KIT_NOT_READY) != 0 ? KS_FALSE : KS_TRUE,
            .node_name = "node-b",
        };
    }
    s->meta = (struct ks_meta){.ns = "default", .name = name, .labels = label, .n_labels = 1};
    s->address_type = four_or_six(flags, "IPv4", "IPv6");
    s->endpoints = endpoints;
    s->n_endpoints = n;
    s->ports = port;
    s->n_ports = 1;
    s->has_ports = true;
    return s;
}

const struct ks_world *kit_world(struct arena *a, unsigned flags)
{
    struct ks_node_config c = config(a, flags);
    struct ks_service *s = service(a, flags);
    struct ks_slice *pods = slice(a, flags, "my-service", 0, 2);
    struct ks_slice_endpoint *endpoints = (struct ks_slice_endpoint *)pods->endpoints;
    endpoints[0].addresses = one(a, four_or_six(flags, "10.244.1.10", "fd00:244:1::a"));
    endpoints[0].node_name = (flags & KIT_NO_LOCAL) != 0 ? "node-c" : "node-a";
    endpoints[1].addresses = one(a, four_or_six(flags, "10.244.2.10", "fd00:244:2::a"));
    const struct ks_service *services[2] = {s};
    const struct ks_slice *slices[2] = {pods};
    size_t n = 1;
    if ((flags & KIT_1001_ENDPOINTS) != 0) {
        struct ks_service *other = service(a, KIT_CLUSTER_IP_ONLY);
        other->meta.name = "other";
        other->cluster_ip = "10.11.97.178";
        other->cluster_ips = one(a, other->cluster_ip);
        services[n] = other;
        slices[n++] = slice(a, flags, "other", 0, 999);
    }
    return ks_world_make(a, &c, services, n, slices, (flags & KIT_NO_ENDPOINTS) != 0 ? 0 : n);
}

const struct ks_world *kit_many(struct arena *a, size_t services, size_t endpoints)
{
    const struct ks_service **all = ARENA_ARRAY(a, const struct ks_service *, services);
    const struct ks_slice **slices = ARENA_ARRAY(a, const struct ks_slice *, services);
    struct ks_node_config c = config(a, 0);
    for (size_t i = 0; i < services; i++) {
        struct ks_service *s = service(a, 0);
        struct ks_ingress *ingress = ARENA_NEW(a, struct ks_ingress);
        struct ks_service_port *port = ARENA_NEW(a, struct ks_service_port);
        s->meta.name = arena_printf(a, "s-%zu", i);
        s->cluster_ip = numbered(a, 11, i);
        s->cluster_ips = one(a, s->cluster_ip);
        s->n_external_ips = 0;
        *ingress = (struct ks_ingress){.ip = numbered(a, 12, i), .hostname = "", .ip_mode = ""};
        s->ingress = ingress;
        *port = s->ports[0];
        port->node_port = (int32_t)(20000 + i);
        s->ports = port;
        all[i] = s;
        slices[i] = slice(a, 0, s->meta.name, i * endpoints, endpoints);
    }
    return ks_world_make(a, &c, all, services, slices, services);
}

const char *kit_expand(struct arena *a, const char *text)
{
    static const char *const forms[][2] = {
        {"$N", "kubernetes service nodeports; NOTE: this must be the last rule in this chain"},
        {"$M", "-m mark ! --mark 0x00004000/0x00004000 -j RETURN\n-j MARK --xor-mark 0x00004000\n"
               "{kubernetes service traffic requiring SNAT} -j MASQUERADE --random-fully"},
        {"{", "-m comment --comment \""},
        {"}", "\""},
        {"[", "-m set --match-set "},
        {"]", ""},
        {"$T", "-m tcp -p tcp"},
        {"$S", "KUBE-SVC-" KIT_HASH},
        {"$L", "KUBE-SVL-" KIT_HASH},
        {"$X", "KUBE-EXT-" KIT_HASH},
        {"$F", "KUBE-FW-" KIT_HASH},
        {"$1", KIT_SEP_1},
        {"$2", KIT_SEP_2},
    };
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        text = str_replace(a, text, forms[i][0], forms[i][1]);
    }
    return text;
}

const char *kit_rules(struct arena *a, const struct ks_tables *t, const char *table,
                      const char *chain)
{
    for (size_t i = 0; i < t->n_tables; i++) {
        for (size_t c = 0; c < t->tables[i].n_chains; c++) {
            const struct ks_chain *at = &t->tables[i].chains[c];
            if (str_eq(t->tables[i].name, table) && str_eq(at->name, chain)) {
                return str_join(a, at->rules, at->n_rules, "\n");
            }
        }
    }
    return NULL;
}

void kit_expect(const struct ks_tables *t, const char *table, const char *chain, const char *rule,
                bool want)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *name = kit_expand(a, chain);
    const char *line = kit_expand(a, rule);
    const char *rules = kit_rules(a, t, table, name);
    const char *lines = arena_printf(a, "\n%s\n", str_nonnull(rules));
    bool has = rules != NULL && strstr(lines, arena_printf(a, "\n%s\n", line)) != NULL;
    if (has != want) {
        fail_msg("table %s, chain %s: want %s%s; have%s", table, name, want ? "" : "not ", line,
                 rules == NULL ? " no such chain" : lines);
    }
}

void kit_expect_chain(const struct ks_tables *t, const char *table, const char *chain,
                      const char *rules)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *name = kit_expand(a, chain);
    const char *want = rules == NULL ? NULL : kit_expand(a, rules);
    const char *have = kit_rules(a, t, table, name);
    if (!str_eq(have, want)) {
        fail_msg("table %s, chain %s: want %s; have %s", table, name, str_or(want, "no such chain"),
                 str_or(have, "no such chain"));
    }
}
