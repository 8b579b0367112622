/* SPDX-License-Identifier: Apache-2.0 */
/* iptables.h: what the two halves of the iptables renderer share.  Only for
 * common/services/render. */
#ifndef TRIMTAB_SERVICES_RENDER_IPTABLES_H
#define TRIMTAB_SERVICES_RENDER_IPTABLES_H

#include "common/services/node/names.h"
#include "common/services/render/build.h"

/* Chains that are always there, by their numbers in ks_groups. */
enum iptables_filter {
    FILTER_SERVICES = 0,
    FILTER_EXTERNAL_SERVICES,
    FILTER_FORWARD,
    FILTER_NODEPORTS,
    FILTER_PROXY_FIREWALL,
    FILTER_FIREWALL, /* only with node ports on localhost */
};
enum iptables_nat {
    NAT_SERVICES = 0,
    NAT_NODEPORTS,
    NAT_POSTROUTING,
    NAT_MARK_MASQ,
};

/* Both tables under construction. */
struct iptables {
    struct arena *arena;
    const struct ks_world *world;
    struct ks_groups filter;
    struct ks_groups nat;
    const char *if_local;     /* NULL: no detector */
    const char *if_not_local; /* NULL: no detector */
    bool localhost;           /* node ports answer on 127.0.0.0/8 */
    bool large;               /* more than 1000 endpoints: those rules go without comments */
};

/* One service port: its pieces, and the numbers of its chains in table nat. */
struct iptables_port {
    struct iptables *t;
    const struct ks_port *p;
    struct ks_exists is;
    struct ks_iptables_names names;
    bool firewall;     /* the firewall chain exists */
    const char *proto; /* "-m tcp -p tcp" */
    const char *number;
    const char *cluster_ip_comment;
    size_t ext;
    size_t fw;
    size_t svc;
    size_t svl;
};

/* Makes the chains of a service port and writes their rules. */
void iptables_port_chains(struct iptables_port *x);
void iptables_port_rules(struct iptables_port *x);

#endif
