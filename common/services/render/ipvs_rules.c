/* SPDX-License-Identifier: Apache-2.0 */
/* ipvs_rules.c: the fixed number of iptables rules that ask the ipsets of IPVS mode. */
#include "common/services/render/ipvs.h"

enum nat_chain {
    NAT_SERVICES = 0,
    NAT_POSTROUTING,
    NAT_NODE_PORT,
    NAT_LOAD_BALANCER,
    NAT_MARK_MASQ,
};
enum filter_chain {
    FILTER_FORWARD = 0,
    FILTER_NODE_PORT,
    FILTER_PROXY_FIREWALL,
    FILTER_SOURCE_RANGES,
    FILTER_IPVS_FILTER,
    FILTER_IPVS_OUT_FILTER,
};

struct rules {
    struct arena *arena;
    const struct ks_ipset *sets;
    struct ks_groups nat;
    struct ks_groups filter;
};

static bool has(const struct rules *r, enum ipvs_set set)
{
    return r->sets[set].n_entries > 0;
}

/* "-m set --match-set NAME FLAGS". */
static const char *in_set(const struct rules *r, enum ipvs_set set, const char *flags)
{
    return KS_WORDS(r->arena, "-m set --match-set", r->sets[set].name, flags);
}

/* The same behind the set's comment. */
static const char *said(const struct rules *r, enum ipvs_set set, const char *flags)
{
    return KS_WORDS(r->arena, ks_comment(r->arena, ipvs_set_comment(set)), in_set(r, set, flags));
}

static void node_port_rules(struct rules *r)
{
    static const struct {
        const char *proto;
        enum ipvs_set local;
        enum ipvs_set all;
        const char *flags;
    } rows[] = {
        {"-p tcp", SET_NODE_PORT_LOCAL_TCP, SET_NODE_PORT_TCP, "dst"},
        {"-p udp", SET_NODE_PORT_LOCAL_UDP, SET_NODE_PORT_UDP, "dst"},
        {"-p sctp", SET_NODE_PORT_LOCAL_SCTP, SET_NODE_PORT_SCTP, "dst,dst"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (has(r, rows[i].local)) {
            KS_RULE(&r->nat, NAT_NODE_PORT, rows[i].proto, said(r, rows[i].local, rows[i].flags),
                    "-j RETURN");
        }
        if (has(r, rows[i].all)) {
            KS_RULE(&r->nat, NAT_NODE_PORT, rows[i].proto, said(r, rows[i].all, rows[i].flags),
                    "-j KUBE-MARK-MASQ");
        }
    }
}

static void cluster_ip_rule(struct rules *r, const struct ks_node_config *config)
{
    const char *if_not_local = ks_if_not_local(r->arena, config);
    bool any_source = config->masquerade_all || if_not_local != NULL;
    if (has(r, SET_CLUSTER_IP)) {
        KS_RULE(&r->nat, NAT_SERVICES, said(r, SET_CLUSTER_IP, any_source ? "dst,dst" : "src,dst"),
                config->masquerade_all ? NULL : if_not_local, "-j KUBE-MARK-MASQ");
    }
}

/* External IPs may be reached from outside, and by processes where the node has the address. */
static void external_ip_rules(struct rules *r, enum ipvs_set set)
{
    if (has(r, set)) {
        KS_RULE(&r->nat, NAT_SERVICES, said(r, set, "dst,dst"),
                "-m physdev ! --physdev-is-in -m addrtype ! --src-type LOCAL -j ACCEPT");
        KS_RULE(&r->nat, NAT_SERVICES, said(r, set, "dst,dst"),
                "-m addrtype --dst-type LOCAL -j ACCEPT");
    }
}

static void nat_rules(struct rules *r, const struct ks_node_config *config)
{
    KS_RULE(&r->nat, NAT_SERVICES, config->family == KS_IPV6 ? "-s ::1/128" : "-s 127.0.0.0/8",
            "-j RETURN");
    if (has(r, SET_LOOP_BACK)) {
        KS_RULE(&r->nat, NAT_POSTROUTING, said(r, SET_LOOP_BACK, "dst,dst,src"), "-j MASQUERADE");
    }
    if (has(r, SET_LOAD_BALANCER)) {
        KS_RULE(&r->nat, NAT_SERVICES, said(r, SET_LOAD_BALANCER, "dst,dst"),
                "-j KUBE-LOAD-BALANCER");
    }
    if (has(r, SET_LOAD_BALANCER_LOCAL)) {
        KS_RULE(&r->nat, NAT_LOAD_BALANCER, said(r, SET_LOAD_BALANCER_LOCAL, "dst,dst"),
                "-j RETURN");
    }
    node_port_rules(r);
    cluster_ip_rule(r, config);
    if (has(r, SET_EXTERNAL_IP)) {
        KS_RULE(&r->nat, NAT_SERVICES, said(r, SET_EXTERNAL_IP, "dst,dst"), "-j KUBE-MARK-MASQ");
    }
    external_ip_rules(r, SET_EXTERNAL_IP);
    external_ip_rules(r, SET_EXTERNAL_IP_LOCAL);
    KS_RULE(&r->nat, NAT_SERVICES, "-m addrtype --dst-type LOCAL -j KUBE-NODE-PORT");
    KS_RULE(&r->nat, NAT_LOAD_BALANCER, "-j KUBE-MARK-MASQ");
    static const enum ipvs_set accepted[] = {SET_CLUSTER_IP, SET_LOAD_BALANCER};
    for (size_t i = 0; i < ARRAY_LEN(accepted); i++) {
        if (has(r, accepted[i])) {
            KS_RULE(&r->nat, NAT_SERVICES, in_set(r, accepted[i], "dst,dst"), "-j ACCEPT");
        }
    }
    ks_masquerade_rules(&r->nat, NAT_POSTROUTING, NAT_MARK_MASQ, config);
}

static void filter_rules(struct rules *r, const struct ks_node_config *config)
{
    if (has(r, SET_LOAD_BALANCER_FW)) {
        KS_RULE(&r->filter, FILTER_PROXY_FIREWALL, said(r, SET_LOAD_BALANCER_FW, "dst,dst"),
                "-j KUBE-SOURCE-RANGES-FIREWALL");
    }
    static const enum ipvs_set sources[] = {SET_LOAD_BALANCER_SOURCE_CIDR,
                                            SET_LOAD_BALANCER_SOURCE_IP};
    for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
        if (has(r, sources[i])) {
            KS_RULE(&r->filter, FILTER_SOURCE_RANGES, said(r, sources[i], "dst,dst,src"),
                    "-j RETURN");
        }
    }
    KS_RULE(&r->filter, FILTER_SOURCE_RANGES, "-j DROP");
    ks_forward_rules(&r->filter, FILTER_FORWARD, config);
    KS_RULE(&r->filter, FILTER_NODE_PORT, said(r, SET_HEALTH_CHECK_NODE_PORT, "dst"), "-j ACCEPT");
    static const struct {
        enum ipvs_set set;
        const char *flags;
    } known[] = {{SET_LOAD_BALANCER, "dst,dst"},
                 {SET_CLUSTER_IP, "dst,dst"},
                 {SET_EXTERNAL_IP, "dst,dst"},
                 {SET_EXTERNAL_IP_LOCAL, "dst,dst"},
                 {SET_HEALTH_CHECK_NODE_PORT, "dst"}};
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        KS_RULE(&r->filter, FILTER_IPVS_FILTER, in_set(r, known[i].set, known[i].flags),
                "-j RETURN");
    }
    KS_RULE(&r->filter, FILTER_IPVS_FILTER, "-m conntrack --ctstate NEW",
            in_set(r, SET_IPVS_IPS, "dst"), "-j REJECT");
}

struct ks_tables ipvs_rules(struct ipvs *v, const struct ks_ipset *sets)
{
    static const char *const nat[] = {"KUBE-SERVICES", "KUBE-POSTROUTING", "KUBE-NODE-PORT",
                                      "KUBE-LOAD-BALANCER", "KUBE-MARK-MASQ"};
    static const char *const filter[] = {"KUBE-FORWARD",        "KUBE-NODE-PORT",
                                         "KUBE-PROXY-FIREWALL", "KUBE-SOURCE-RANGES-FIREWALL",
                                         "KUBE-IPVS-FILTER",    "KUBE-IPVS-OUT-FILTER"};
    struct rules r = {.arena = v->arena,
                      .sets = sets,
                      .nat = ks_groups_make(v->arena),
                      .filter = ks_groups_make(v->arena)};
    for (size_t i = 0; i < ARRAY_LEN(nat); i++) {
        ks_group_new(&r.nat, nat[i], NULL);
    }
    for (size_t i = 0; i < ARRAY_LEN(filter); i++) {
        ks_group_new(&r.filter, filter[i], NULL);
    }
    nat_rules(&r, &v->world->config);
    filter_rules(&r, &v->world->config);
    const struct ks_group *out = &v->out_filter.groups[0];
    for (size_t i = 0; i < out->n; i++) {
        ks_group_add(&r.filter, FILTER_IPVS_OUT_FILTER, out->items[i]);
    }
    return (struct ks_tables){
        .tables = {ks_groups_table(&r.nat, "nat"), ks_groups_table(&r.filter, "filter")},
        .n_tables = 2,
    };
}
