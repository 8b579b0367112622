/* SPDX-License-Identifier: Apache-2.0 */
/* jumps.c: how packets get from the kernel's chains of iptables to kube-proxy's.
 *
 * kube-proxy inserts each jump at the head of its chain, so the last one that it
 * makes comes first. */
#include "common/services/render/build.h"

struct jump {
    const char *from;
    const char *to;
    const char *comment; /* NULL: none */
    bool is_new;         /* only for the first packet of a connection */
};

#define PORTALS  "kubernetes service portals"
#define OUTSIDE  "kubernetes externally-visible service portals"
#define FIREWALL "kubernetes load balancer firewall"

/* In the order in which they are made. */
static const struct jump iptables_filter[] = {
    {"INPUT", "KUBE-EXTERNAL-SERVICES", OUTSIDE, true},
    {"FORWARD", "KUBE-EXTERNAL-SERVICES", OUTSIDE, true},
    {"INPUT", "KUBE-NODEPORTS", "kubernetes health check service ports", false},
    {"FORWARD", "KUBE-SERVICES", PORTALS, true},
    {"OUTPUT", "KUBE-SERVICES", PORTALS, true},
    {"FORWARD", "KUBE-FORWARD", "kubernetes forwarding rules", false},
    {"INPUT", "KUBE-PROXY-FIREWALL", FIREWALL, true},
    {"OUTPUT", "KUBE-PROXY-FIREWALL", FIREWALL, true},
    {"FORWARD", "KUBE-PROXY-FIREWALL", FIREWALL, true},
    {"INPUT", "KUBE-FIREWALL", NULL, false}, /* the last two only where that chain exists */
    {"OUTPUT", "KUBE-FIREWALL", NULL, false},
};
static const struct jump ipvs_filter[] = {
    {"FORWARD", "KUBE-FORWARD", "kubernetes forwarding rules", false},
    {"INPUT", "KUBE-NODE-PORT", "kubernetes health check rules", false},
    {"INPUT", "KUBE-PROXY-FIREWALL", "kube-proxy firewall rules", false},
    {"FORWARD", "KUBE-PROXY-FIREWALL", "kube-proxy firewall rules", false},
    {"INPUT", "KUBE-IPVS-FILTER", "kubernetes ipvs access filter", false},
    {"OUTPUT", "KUBE-IPVS-OUT-FILTER", "kubernetes ipvs access filter", false},
};
static const struct jump nat[] = {
    {"OUTPUT", "KUBE-SERVICES", PORTALS, false},
    {"PREROUTING", "KUBE-SERVICES", PORTALS, false},
    {"POSTROUTING", "KUBE-POSTROUTING", "kubernetes postrouting rules", false},
};

static struct ks_table table(struct arena *a, const char *name, const struct jump *rows, size_t n)
{
    static const char *const chains[] = {"PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"};
    struct ks_groups g = ks_groups_make(a);
    for (size_t c = 0; c < ARRAY_LEN(chains); c++) {
        size_t chain = SIZE_MAX;
        for (size_t i = n; i-- > 0;) {
            if (str_eq(rows[i].from, chains[c])) {
                chain = chain == SIZE_MAX ? ks_group_new(&g, chains[c], NULL) : chain;
                KS_RULE(&g, chain, rows[i].is_new ? "-m conntrack --ctstate NEW" : NULL,
                        rows[i].comment == NULL ? NULL : ks_comment(a, rows[i].comment), "-j",
                        rows[i].to);
            }
        }
    }
    return ks_groups_table(&g, name);
}

struct ks_tables ks_iptables_jumps(struct arena *a, const struct ks_world *w)
{
    size_t n = ARRAY_LEN(iptables_filter) - (ks_localhost_node_ports(&w->config) ? 0 : 2);
    return (struct ks_tables){
        .tables = {table(a, "filter", iptables_filter, n), table(a, "nat", nat, ARRAY_LEN(nat))},
        .n_tables = 2,
    };
}

struct ks_tables ks_ipvs_jumps(struct arena *a)
{
    return (struct ks_tables){
        .tables = {table(a, "nat", nat, ARRAY_LEN(nat)),
                   table(a, "filter", ipvs_filter, ARRAY_LEN(ipvs_filter))},
        .n_tables = 2,
    };
}
