/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_gen.c: random small clusters; see cluster_gen.h. */
#include "tests/unit/services/cluster_gen.h"

#include "common/base/str.h"

#include <string.h>

#define PODS 24

/* Networks of addresses, as format of a number below 250: IPv4, IPv6. */
enum net {
    NET_POD_0 = 0,
    NET_POD_1,
    NET_CLUSTER,
    NET_VIP,
    NET_EXTERNAL,
    NET_NODE,
    NET_CLIENT,
};
static const char *const nets[][2] = {
    {"10.244.0.%zu", "fd00:10:244::%zx"},   {"10.244.1.%zu", "fd00:10:244:1::%zx"},
    {"172.30.0.%zu", "fd00:172:30::%zx"},   {"203.0.113.%zu", "2001:db8:ff::%zx"},
    {"198.51.100.%zu", "2001:db8:ee::%zx"}, {"192.168.0.%zu", "2001:db8::%zx"},
    {"192.0.2.%zu", "2001:db8:c::%zx"},
};
static const char *const node_names[] = {"node-a", "node-b", "node-c"};
static const char *const zones[] = {"zone-a", "zone-b"};
static const char *const protocols[] = {"TCP", "UDP", "SCTP"};

size_t gen_below(struct gen_cluster *c, size_t n)
{
    c->state ^= c->state << 13;
    c->state ^= c->state >> 7;
    c->state ^= c->state << 17;
    return (size_t)((c->state * 0x2545F4914F6CDD1DULL) >> 33) % n;
}

static bool one_in(struct gen_cluster *c, size_t n)
{
    return gen_below(c, n) == 0;
}

static const char *address(struct arena *a, bool six, enum net net, size_t i)
{
    char format[32];
    const char *at = strchr(nets[net][six], '%');
    size_t len = (size_t)(at - nets[net][six]);
    memcpy(format, nets[net][six], len);
    format[len] = '\0';
    return six ? arena_printf(a, "%s%zx", format, i) : arena_printf(a, "%s%zu", format, i);
}

static const char *own(struct arena *a, const struct gen_cluster *c, enum net net, size_t i)
{
    return address(a, c->config.family == KS_IPV6, net, i);
}

static const char **list(struct arena *a, size_t n)
{
    return ARENA_ARRAY(a, const char *, n);
}

/* --- configuration ---------------------------------------------------------------------------- */

static void detector(struct gen_cluster *c)
{
    bool six = c->config.family == KS_IPV6;
    switch (gen_below(c, 5)) {
    case 0:
        break;
    case 1:
        c->config.detect = KS_DETECT_BRIDGE;
        c->config.detect_value = "cni0";
        break;
    case 2:
        c->config.detect = KS_DETECT_PREFIX;
        c->config.detect_value = "cali";
        break;
    default:
        c->config.detect = KS_DETECT_CIDR;
        c->config.detect_value = six ? "fd00:10:244::/64" : "10.244.0.0/24";
    }
}

static void node_port_addresses(struct arena *a, struct gen_cluster *c)
{
    static const char *const choices[][2] = {
        {"0.0.0.0/0", "::/0"},
        {"192.168.0.1/32", "2001:db8::1/128"},
        {"2001:db8::/32", "192.168.0.0/16"}, /* of the other family */
        {"127.0.0.0/8", "::1/128"},
        {"192.168.0.0/24", "2001:db8::/64"},
        {"primary", "primary"},
        {"10.99.0.0/16", "fd99::/16"}, /* none of the node's */
    };
    if (one_in(c, 2)) {
        return;
    }
    size_t n = 0;
    bool six = c->config.family == KS_IPV6;
    const char **out = list(a, 2);
    size_t pick = gen_below(c, ARRAY_LEN(choices));
    out[n++] = choices[pick][six];
    if (pick != 5 && one_in(c, 2)) {
        out[n++] = choices[gen_below(c, 5)][six];
    }
    c->config.node_port_addresses = out;
    c->config.n_node_port_addresses = n;
}

static void configuration(struct arena *a, struct gen_cluster *c)
{
    struct ks_node_config *k = &c->config;
    *k = ks_node_config_default(one_in(c, 3) ? KS_IPV6 : KS_IPV4);
    k->name = node_names[0];
    k->zone = one_in(c, 3) ? "" : zones[gen_below(c, 2)];
    k->ip = own(a, c, NET_NODE, 1);
    k->addresses = list(a, 3);
    k->addresses[k->n_addresses++] = k->ip;
    if (one_in(c, 2)) {
        k->addresses[k->n_addresses++] = own(a, c, NET_NODE, 77);
    }
    if (one_in(c, 2)) {
        k->addresses[k->n_addresses++] = address(a, k->family == KS_IPV4, NET_NODE, 1);
    }
    detector(c);
    node_port_addresses(a, c);
    k->masquerade_all = one_in(c, 6);
    k->masquerade_bit = (unsigned)gen_below(c, 32);
    k->random_fully = one_in(c, 2);
    k->localhost_node_ports = !one_in(c, 3);
    k->nfacct = one_in(c, 3);
    k->tcp_be_liberal = one_in(c, 3);
    if (one_in(c, 2)) {
        k->service_cidrs = list(a, 2);
        k->service_cidrs[0] = "172.30.0.0/16";
        k->service_cidrs[1] = "fd00:172:30::/112";
        k->n_service_cidrs = 2;
    }
}

/* --- Services --------------------------------------------------------------------------------- */

static const char *name_of(struct arena *a, struct gen_cluster *c, size_t i)
{
    static const char *const names[] = {
        "web", "my-service", "x",
        "a-service-with-a-name-of-63-letters-which-is-the-longest-there-is"};
    return arena_printf(a, "%.60s%zu", names[gen_below(c, ARRAY_LEN(names))], i);
}

static void ports(struct arena *a, struct gen_cluster *c, struct ks_service *s, size_t i)
{
    s->n_ports = 1 + gen_below(c, 3);
    struct ks_service_port *out = ARENA_ARRAY(a, struct ks_service_port, s->n_ports);
    for (size_t p = 0; p < s->n_ports; p++) {
        out[p].name = s->n_ports == 1 && one_in(c, 2) ? "" : arena_printf(a, "port-%zu", p);
        out[p].protocol = protocols[one_in(c, 2) ? 0 : gen_below(c, 3)];
        out[p].port = (int32_t)(80 + p);
        out[p].target_port = (int32_t)(8080 + p);
        if (!str_eq(s->type, "ClusterIP") && !one_in(c, 8)) {
            out[p].node_port = (int32_t)(30000 + 10 * i + p);
        }
    }
    s->ports = out;
}

static void external_ips(struct arena *a, struct gen_cluster *c, struct ks_service *s, size_t i)
{
    if (!one_in(c, 3)) {
        return;
    }
    s->external_ips = list(a, 4);
    s->external_ips[s->n_external_ips++] = own(a, c, NET_EXTERNAL, i + 1);
    if (one_in(c, 3)) {
        s->external_ips[s->n_external_ips++] = c->config.family == KS_IPV4
                                                   ? arena_printf(a, "198.051.100.%03zu", i + 100)
                                                   : own(a, c, NET_EXTERNAL, i + 100);
    }
    if (i == 0 && one_in(c, 2)) { /* an address of the node, or one of a load balancer as well */
        s->external_ips[s->n_external_ips++] =
            one_in(c, 2) ? own(a, c, NET_NODE, 77) : own(a, c, NET_VIP, 11);
    }
    if (one_in(c, 3)) {
        s->external_ips[s->n_external_ips++] =
            one_in(c, 2) ? "not-an-address"
                         : address(a, c->config.family == KS_IPV4, NET_EXTERNAL, i + 1);
    }
}

static void ranges(struct arena *a, struct gen_cluster *c, struct ks_service *s)
{
    static const char *const choices[] = {
        "192.0.2.0/25",     " 192.0.2.64/26 ",  "192.168.0.0/24",      "0.0.0.0/0", "10.244.0.0/16",
        "2001:db8:c::/124", "fd00:10:244::/48", "2001:db8::/64",       "::/0",      "nonsense",
        "192.0.2.7/28",     "203.0.113.0/24",   "::ffff:192.0.2.0/120"};
    if (!one_in(c, 2)) {
        return;
    }
    s->n_source_ranges = 1 + gen_below(c, 3);
    s->source_ranges = list(a, s->n_source_ranges);
    for (size_t i = 0; i < s->n_source_ranges; i++) {
        s->source_ranges[i] = choices[gen_below(c, ARRAY_LEN(choices))];
    }
}

static void ingress(struct arena *a, struct gen_cluster *c, struct ks_service *s, size_t i)
{
    static const char *const modes[] = {"", "VIP", "Proxy"};
    struct ks_ingress *out = ARENA_ARRAY(a, struct ks_ingress, 3);
    if (!str_eq(s->type, "LoadBalancer")) {
        return;
    }
    for (size_t n = gen_below(c, 3); n > 0; n--) {
        struct ks_ingress *g = &out[s->n_ingress++];
        *g = (struct ks_ingress){.ip = own(a, c, NET_VIP, 10 * (i + 1) + n),
                                 .hostname = "",
                                 .ip_mode = modes[gen_below(c, 3)]};
    }
    if (one_in(c, 4)) {
        out[s->n_ingress++] = (struct ks_ingress){.ip = "", .hostname = "lb.test", .ip_mode = ""};
    }
    s->ingress = out;
}

static const char *policy(struct gen_cluster *c)
{
    static const char *const choices[] = {"", "Cluster", "Local", "Local"};
    return choices[gen_below(c, ARRAY_LEN(choices))];
}

static void families(struct arena *a, struct gen_cluster *c, struct ks_service *s, size_t i)
{
    bool six = c->config.family == KS_IPV6;
    bool both = one_in(c, 4);
    s->cluster_ips = list(a, 2);
    s->ip_families = list(a, 2);
    if (both) {
        s->cluster_ips[s->n_cluster_ips++] = address(a, !six, NET_CLUSTER, i + 1);
        s->ip_families[s->n_ip_families++] = six ? "IPv4" : "IPv6";
    }
    s->cluster_ips[s->n_cluster_ips++] = address(a, six, NET_CLUSTER, i + 1);
    s->ip_families[s->n_ip_families++] = six ? "IPv6" : "IPv4";
    s->cluster_ip = one_in(c, 20) ? "None" : s->cluster_ips[0];
}

static const struct ks_service *service(struct arena *a, struct gen_cluster *c, size_t i)
{
    static const char *const types[] = {"ClusterIP", "NodePort", "LoadBalancer", "LoadBalancer"};
    static const char *const spaces[] = {"default", "a", "kube-system"};
    struct ks_service *s = ARENA_NEW(a, struct ks_service);
    s->meta.name = name_of(a, c, i);
    s->meta.ns = spaces[gen_below(c, 3)];
    s->meta.uid = s->meta.name;
    s->type = one_in(c, 20) ? "ExternalName" : types[gen_below(c, 4)];
    families(a, c, s, i);
    ports(a, c, s, i);
    external_ips(a, c, s, i);
    ingress(a, c, s, i);
    ranges(a, c, s);
    s->session_affinity = one_in(c, 3) ? "ClientIP" : "None";
    s->affinity_s = str_eq(s->session_affinity, "ClientIP") ? 10800 : 0;
    s->external_policy = policy(c);
    s->internal_policy = one_in(c, 3) ? policy(c) : "Cluster";
    if (str_eq(s->type, "LoadBalancer") && str_eq(s->external_policy, "Local") && !one_in(c, 4)) {
        s->health_check_node_port = (int32_t)(32000 + i);
    }
    return s;
}

/* --- slices ----------------------------------------------------------------------------------- */

/* How the endpoints of one Service look. */
struct style {
    size_t pods; /* one of so many is not ready, … */
    size_t terminating;
    size_t local; /* one of so many is on the node; 0: none */
    size_t zones; /* how many of ten have zone hints */
    size_t nodes; /* … and node hints */
};

static void hints(struct arena *a, struct gen_cluster *c, const struct style *style,
                  struct ks_slice_endpoint *e)
{
    if (gen_below(c, 10) < style->zones) {
        e->zone_hints = list(a, 1);
        e->zone_hints[e->n_zone_hints++] = zones[gen_below(c, 2)];
    }
    if (gen_below(c, 10) < style->nodes) {
        e->node_hints = list(a, 1);
        e->node_hints[e->n_node_hints++] = str_or(e->node_name, "node-c");
    }
    e->has_hints = e->n_zone_hints + e->n_node_hints > 0;
}

static enum ks_tri tri(struct gen_cluster *c, bool value)
{
    return one_in(c, 4) && value ? KS_NIL : value ? KS_TRUE : KS_FALSE;
}

static struct ks_slice_endpoint endpoint(struct arena *a, struct gen_cluster *c, bool six,
                                         const struct style *style)
{
    struct ks_slice_endpoint e = {0};
    bool local = style->local != 0 && one_in(c, style->local);
    bool ready = !one_in(c, style->pods);
    bool terminating = one_in(c, style->terminating);
    e.addresses = list(a, 2);
    e.addresses[e.n_addresses++] =
        address(a, six, local ? NET_POD_0 : NET_POD_1, 1 + gen_below(c, PODS));
    if (one_in(c, 20)) {
        e.addresses[e.n_addresses++] = address(a, six, NET_POD_1, 99); /* never looked at */
    }
    e.ready = terminating ? KS_FALSE : tri(c, ready);
    e.serving = tri(c, terminating ? !one_in(c, 3) : ready);
    e.terminating = terminating ? KS_TRUE : one_in(c, 2) ? KS_NIL : KS_FALSE;
    e.node_name = local ? node_names[0] : one_in(c, 6) ? NULL : node_names[1 + gen_below(c, 2)];
    hints(a, c, style, &e);
    return e;
}

static const struct ks_slice *slice(struct arena *a, struct gen_cluster *c,
                                    const struct ks_service *s, const struct style *style,
                                    size_t number)
{
    bool six = (c->config.family == KS_IPV6) != one_in(c, 10);
    struct ks_slice *out = ARENA_NEW(a, struct ks_slice);
    struct json_kv *label = ARENA_NEW(a, struct json_kv);
    *label = (struct json_kv){"kubernetes.io/service-name", s->meta.name};
    out->meta = (struct ks_meta){.ns = s->meta.ns,
                                 .name = arena_printf(a, "%s-%zu", s->meta.name, number),
                                 .labels = label,
                                 .n_labels = 1,
                                 .has_labels = true};
    out->address_type = one_in(c, 25) ? "FQDN" : six ? "IPv6" : "IPv4";
    size_t n = one_in(c, 10) ? 0 : 1 + gen_below(c, 5);
    struct ks_slice_endpoint *endpoints = ARENA_ARRAY(a, struct ks_slice_endpoint, n);
    for (size_t i = 0; i < n; i++) {
        endpoints[i] = endpoint(a, c, six, style);
    }
    struct ks_slice_port *slice_ports = ARENA_ARRAY(a, struct ks_slice_port, s->n_ports);
    for (size_t i = 0; i < s->n_ports; i++) {
        bool skip = one_in(c, 15);
        slice_ports[out->n_ports++] = (struct ks_slice_port){
            .name = one_in(c, 30) ? NULL : s->ports[i].name,
            .protocol = s->ports[i].protocol,
            .port = skip ? 0 : s->ports[i].target_port,
            .has_port = !skip,
        };
    }
    out->endpoints = endpoints;
    out->n_endpoints = n;
    out->ports = slice_ports;
    out->has_ports = true;
    return out;
}

void gen_cluster(struct arena *a, uint64_t seed, struct gen_cluster *ret)
{
    struct gen_cluster *c = ret;
    *c = (struct gen_cluster){.state = (seed + 1) * 0x9E3779B97F4A7C15ULL};
    configuration(a, c);
    c->n_services = 1 + gen_below(c, 4);
    c->services = ARENA_ARRAY(a, const struct ks_service *, c->n_services);
    c->slices = ARENA_ARRAY(a, const struct ks_slice *, 3 * c->n_services);
    for (size_t i = 0; i < c->n_services; i++) {
        c->services[i] = service(a, c, i);
        struct style style = {
            .pods = one_in(c, 8) ? 1 : 2 + gen_below(c, 5),
            .terminating = one_in(c, 8) ? 1 : 2 + gen_below(c, 5),
            .local = gen_below(c, 4),
            .zones = one_in(c, 2) ? 0 : 9 + gen_below(c, 2),
            .nodes = one_in(c, 2) ? 0 : 9 + gen_below(c, 2),
        };
        for (size_t n = one_in(c, 10) ? 0 : 1 + gen_below(c, 3); n > 0; n--) {
            c->slices[c->n_slices++] = slice(a, c, c->services[i], &style, n);
        }
    }
}

/* --- packets ---------------------------------------------------------------------------------- */

static const char *text(struct arena *a, const struct ip_addr *ip)
{
    char out[IP_TEXT_MAX];
    ip_format(ip, out);
    return arena_strdup(a, out);
}

static void destination(struct arena *a, struct gen_cluster *c, const struct ks_port *p,
                        struct gen_packet *out)
{
    out->dest = text(a, &p->cluster_ip);
    out->port = p->port;
    out->protocol = p->protocol;
    switch (gen_below(c, 8)) {
    case 0:
    case 1:
        if (p->n_external_ips > 0) {
            out->dest = text(a, &p->external_ips[gen_below(c, p->n_external_ips)]);
        }
        break;
    case 2:
    case 3:
        if (p->n_lb_vips > 0) {
            out->dest = text(a, &p->lb_vips[gen_below(c, p->n_lb_vips)]);
        } else if (p->service->n_ingress > 0 && p->service->ingress[0].ip[0] != '\0') {
            out->dest = p->service->ingress[0].ip; /* left to the balancer */
        }
        break;
    case 4:
    case 5:
        if (p->node_port != 0) {
            out->dest = own(a, c, NET_NODE, one_in(c, 3) ? 77 : 1);
            out->port = p->node_port;
        } else if (p->health_check_node_port != 0) {
            out->dest = c->config.ip;
            out->port = p->health_check_node_port;
            out->protocol = "TCP";
        }
        break;
    default:
        break;
    }
    if (one_in(c, 15)) {
        out->port++;
    }
    if (one_in(c, 15)) {
        out->protocol = protocols[gen_below(c, 3)];
    }
    if (one_in(c, 20)) {
        out->dest = own(a, c, NET_CLUSTER, 200); /* no Service has it */
    }
}

static void source(struct arena *a, struct gen_cluster *c, const struct ks_port *p,
                   struct gen_packet *out)
{
    static const char *const pods[] = {"cni0", "cali12ab"};
    const char *pod = pods[c->config.detect == KS_DETECT_PREFIX];
    out->interface = "eth0";
    switch (gen_below(c, 7)) {
    case 0:
        out->source = own(a, c, NET_POD_0, 1 + gen_below(c, PODS + 5));
        out->interface = pod;
        break;
    case 1:
        out->source = own(a, c, NET_POD_1, 1 + gen_below(c, PODS));
        break;
    case 2:
        out->source = c->config.ip;
        out->interface = NULL;
        break;
    case 3:
        out->source = p->n_lb_vips > 0 ? text(a, &p->lb_vips[0]) : own(a, c, NET_NODE, 9);
        break;
    case 4:
        if (p->n_endpoints > 0) { /* a pod that asks for itself */
            const struct ks_endpoint *e = &p->endpoints[gen_below(c, p->n_endpoints)];
            out->source = text(a, &e->ip);
            out->interface = e->local ? pod : "eth0";
            break;
        }
        out->source = own(a, c, NET_CLIENT, 8);
        break;
    default:
        out->source = own(a, c, NET_CLIENT, gen_below(c, 250));
    }
}

struct gen_packet gen_packet(struct arena *a, struct gen_cluster *c, const struct ks_world *w)
{
    struct gen_packet out = {0};
    static const struct ks_service no_service = {0};
    struct ks_port none = {.service = &no_service, .port = 80, .protocol = "TCP"};
    none.cluster_ip.len = 0;
    const struct ks_port *p = w->n_ports == 0 ? &none : &w->ports[gen_below(c, w->n_ports)];
    if (p == &none) {
        (void)ip_parse(own(a, c, NET_CLUSTER, 1), &none.cluster_ip);
    }
    destination(a, c, p, &out);
    source(a, c, p, &out);
    if (out.interface == NULL && p->node_port != 0 && one_in(c, 3)) {
        out.dest = c->config.family == KS_IPV6 ? "::1" : "127.0.0.1";
        out.port = p->node_port;
    }
    return out;
}
