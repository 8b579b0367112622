/* SPDX-License-Identifier: Apache-2.0 */
/* proxy.c: kube-proxy's configuration: read from its ConfigMap, and as it is for one
 * node; see cluster.h. */
#include <string.h>

#include "common/base/str.h"
#include "common/data/json.h"
#include "common/data/yaml.h"
#include "common/services/tell/cluster.h"

#define BIT_DEFAULT 14
#define BIT_MAX     31

const char *ks_mode_name(enum ks_mode mode)
{
    static const char *const names[] = {"iptables", "ipvs", "nftables"};
    return names[mode];
}

bool ks_mode_parse(const char *word, enum ks_mode *ret)
{
    for (int i = KS_IPTABLES; i <= KS_NFTABLES; i++) {
        if (str_eq(word, ks_mode_name((enum ks_mode)i))) {
            *ret = (enum ks_mode)i;
            return true;
        }
    }
    return false;
}

struct ks_proxy ks_proxy_default(void)
{
    return (struct ks_proxy){.source = "",
                             .mode_text = "",
                             .detect_mode = "",
                             .bridge = "",
                             .prefix = "",
                             .scheduler = "",
                             .masquerade_bit = BIT_DEFAULT,
                             .nft_masquerade_bit = BIT_DEFAULT,
                             .localhost_node_ports = true};
}

/* The members as they stand in the file. */
struct read {
    struct ks_proxy p;
    const char *cluster_cidr;
    int32_t bit;
    int32_t nft_bit;
};

#define STR(m, path)                                                                               \
    {                                                                                              \
        .name = (path), .type = JSON_T_STR, .offset = offsetof(struct read, m)                     \
    }
#define BOOL(m, path)                                                                              \
    {                                                                                              \
        .name = (path), .type = JSON_T_BOOL, .offset = offsetof(struct read, m)                    \
    }
#define BIT(m, path)                                                                               \
    {                                                                                              \
        .name = (path), .type = JSON_T_I32, .offset = offsetof(struct read, m), .max = BIT_MAX     \
    }

static const struct json_field iptables_fields[] = {
    BIT(bit, "masqueradeBit"),
    BOOL(p.masquerade_all, "masqueradeAll"),
    BOOL(p.localhost_node_ports, "localhostNodePorts"),
    {0},
};
static const struct json_field nftables_fields[] = {
    BIT(nft_bit, "masqueradeBit"),
    BOOL(p.nft_masquerade_all, "masqueradeAll"),
    {0},
};
static const struct json_field detect_fields[] = {
    STR(p.bridge, "bridgeInterface"),
    STR(p.prefix, "interfaceNamePrefix"),
    {0},
};
static const struct json_field ipvs_fields[] = {STR(p.scheduler, "scheduler"), {0}};
static const struct json_field config_fields[] = {
    STR(p.mode_text, "mode"),
    STR(p.detect_mode, "detectLocalMode"),
    STR(cluster_cidr, "clusterCIDR"),
    {.name = "nodePortAddresses",
     .type = JSON_T_STRS,
     .offset = offsetof(struct read, p.node_port_addresses),
     .count_offset = offsetof(struct read, p.n_node_port_addresses)},
    {.name = "iptables", .type = JSON_T_OBJECT, .sub = iptables_fields},
    {.name = "ipvs", .type = JSON_T_OBJECT, .sub = ipvs_fields},
    {.name = "nftables", .type = JSON_T_OBJECT, .sub = nftables_fields},
    {.name = "detectLocal", .type = JSON_T_OBJECT, .sub = detect_fields},
    {0},
};

/* Rules hold these words as they are: a blank or a line break in one would be read as more
 * of the rule. */
static int check_words(const struct ks_proxy *p, struct err *err)
{
    const struct {
        const char *path;
        const char *value;
    } words[] = {{"detectLocal.bridgeInterface", p->bridge},
                 {"detectLocal.interfaceNamePrefix", p->prefix},
                 {"ipvs.scheduler", p->scheduler}};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (!ks_is_rule_word(words[i].value)) {
            return err_set(err, ERR_INVALID,
                           "%s: want letters, digits and signs without blanks and quotes, got "
                           "\"%s\"",
                           words[i].path, words[i].value);
        }
    }
    return ERR_OK;
}

static int check(struct ks_proxy *p, struct err *err)
{
    static const char *const detects[] = {"", "ClusterCIDR", "NodeCIDR", "BridgeInterface",
                                          "InterfaceNamePrefix"};
    bool known = false;
    if (*p->mode_text != '\0' && !ks_mode_parse(p->mode_text, &p->mode)) {
        return err_set(err, ERR_INVALID,
                       "mode: \"%s\" is not a mode of kube-proxy on Linux; allowed: iptables, "
                       "ipvs, nftables",
                       p->mode_text);
    }
    for (size_t i = 0; i < ARRAY_LEN(detects); i++) {
        known |= str_eq(p->detect_mode, detects[i]);
    }
    if (!known) {
        return err_set(err, ERR_INVALID,
                       "detectLocalMode: \"%s\" is not known; allowed: ClusterCIDR, NodeCIDR, "
                       "BridgeInterface, InterfaceNamePrefix",
                       p->detect_mode);
    }
    return check_words(p, err);
}

int ks_proxy_parse(struct arena *a, const char *text, size_t n, struct ks_proxy *ret,
                   struct err *err)
{
    struct read r = {
        .p = ks_proxy_default(), .cluster_cidr = "", .bit = BIT_DEFAULT, .nft_bit = BIT_DEFAULT};
    struct json_object *doc = NULL;
    size_t n_cidrs = 0;
    int code = yaml_parse(a, text, n, &doc, err);
    if (code == ERR_OK && !json_object_is_type(doc, json_type_object)) {
        code = err_set(err, ERR_INVALID, "want the fields of a KubeProxyConfiguration");
    }
    if (code == ERR_OK) {
        code = json_decode(a, doc, config_fields, &r, JSON_SKIP_UNKNOWN, "", err);
    }
    if (code == ERR_OK) {
        code = check(&r.p, err);
    }
    if (code != ERR_OK) {
        return code;
    }
    char **cidrs = str_split(a, r.cluster_cidr, ',', &n_cidrs);
    r.p.cluster_cidrs = ARENA_ARRAY(a, const char *, n_cidrs);
    for (size_t i = 0; i < n_cidrs; i++) {
        const char *cidr = str_trim(a, cidrs[i]);
        if (*cidr != '\0') {
            r.p.cluster_cidrs[r.p.n_cluster_cidrs++] = cidr;
        }
    }
    r.p.masquerade_bit = (unsigned)r.bit;
    r.p.nft_masquerade_bit = (unsigned)r.nft_bit;
    *ret = r.p;
    return ERR_OK;
}

const char *ks_proxy_text(struct json_object *config_map)
{
    struct json_object *data = json_member(config_map, "data");
    const char *text = json_str(data, "config.conf");
    if (text != NULL || !json_object_is_type(data, json_type_object)) {
        return text;
    }
    json_object_object_foreach(data, key, value)
    {
        const char *other = json_str(data, key);
        (void)value;
        if (other != NULL && strstr(other, "KubeProxyConfiguration") != NULL) {
            return other;
        }
    }
    return NULL;
}

/* ---- one node -------------------------------------------------------------------------------- */

/* The first CIDR of the family; NULL for none. */
static const char *cidr_of(const char *const *cidrs, size_t n, enum ks_family family)
{
    for (size_t i = 0; i < n; i++) {
        struct ip_net net;
        if (ip_net_parse_sloppy(cidrs[i], &net) && ks_family_of(&net.addr) == family) {
            return cidrs[i];
        }
    }
    return NULL;
}

static void set_detector(const struct ks_proxy *p, const struct ks_node *node,
                         struct ks_node_config *c)
{
    if (str_eq(p->detect_mode, "BridgeInterface")) {
        c->detect = KS_DETECT_BRIDGE;
        c->detect_value = p->bridge;
    } else if (str_eq(p->detect_mode, "InterfaceNamePrefix")) {
        c->detect = KS_DETECT_PREFIX;
        c->detect_value = p->prefix;
    } else {
        bool of_node = str_eq(p->detect_mode, "NodeCIDR");
        c->detect_value = of_node ? cidr_of(node->pod_cidrs, node->n_pod_cidrs, c->family)
                                  : cidr_of(p->cluster_cidrs, p->n_cluster_cidrs, c->family);
        c->detect = KS_DETECT_CIDR;
    }
    if (str_is_empty(c->detect_value)) {
        c->detect = KS_DETECT_NONE;
        c->detect_value = NULL;
    }
}

/* True when node ports are answered on loopback addresses: no CIDR is given, or one
 * that holds 127.0.0.1. */
static bool takes_loopback(const char *const *cidrs, size_t n)
{
    static const struct ip_addr loopback = {.bytes = {127, 0, 0, 1}, .len = 4};
    for (size_t i = 0; i < n; i++) {
        struct ip_net net;
        if (ip_net_parse_sloppy(cidrs[i], &net) &&
            (ip_net_contains(&net, &loopback) ||
             (net.addr.len == 4 && net.addr.bytes[0] == loopback.bytes[0]))) {
            return true;
        }
    }
    return n == 0;
}

struct ks_node_config ks_proxy_node(struct arena *a, const struct ks_proxy *proxy,
                                    const struct ks_cluster *cluster, const struct ks_node *node,
                                    enum ks_mode mode, enum ks_family family)
{
    static const char *primary[] = {"primary"};
    struct ks_node_config c = ks_node_config_default(family);
    bool nft = mode == KS_NFTABLES;
    struct ip_addr ip;
    char text[IP_TEXT_MAX] = "";
    if (ks_node_address(node, family, &ip)) {
        ip_format(&ip, text);
    }
    c.name = node->meta.name;
    c.zone = node->zone;
    c.ip = arena_strdup(a, text);
    c.addresses = node->addresses;
    c.n_addresses = node->n_addresses;
    c.node_port_addresses = proxy->node_port_addresses;
    c.n_node_port_addresses = proxy->n_node_port_addresses;
    if (nft && c.n_node_port_addresses == 0) {
        c.node_port_addresses = primary;
        c.n_node_port_addresses = 1;
    }
    c.service_cidrs = cluster->service_cidrs;
    c.n_service_cidrs = cluster->n_service_cidrs;
    c.scheduler = proxy->scheduler;
    c.masquerade_bit = nft ? proxy->nft_masquerade_bit : proxy->masquerade_bit;
    c.masquerade_all = nft ? proxy->nft_masquerade_all : proxy->masquerade_all;
    c.localhost_node_ports =
        proxy->localhost_node_ports &&
        takes_loopback(proxy->node_port_addresses, proxy->n_node_port_addresses);
    set_detector(proxy, node, &c);
    return c;
}
