/* SPDX-License-Identifier: Apache-2.0 */
/* azure_nsg_open_rules.h: does a security group, as it stands, let any client in?
 *
 * Asked of a group that was read, with rules of trimtab and of others.  They are tried by rising
 * priority, and the first that fits decides; Azure's own rules come last: traffic of the virtual
 * network may come in, any other may not.
 * Source: docs/spec/azure.md 9.1; learn.microsoft.com, "Network security groups".  Pure. */
#ifndef TRIMTAB_AZURE_NSG_OPEN_RULES_H
#define TRIMTAB_AZURE_NSG_OPEN_RULES_H

#include "common/base/ip.h"
#include "providers/azure/nsg/azure_nsg_doc.h"

/* Where the packets of a load balancing rule arrive. */
struct azure_nsg_packet {
    struct ip_addr to;    /* the frontend's address, or that of a node */
    bool to_network;      /* it is an address of the virtual network */
    bool from_outside;    /* they come through a public address */
    const char *protocol; /* of the load balancing rule: "Tcp", "Udp", "All" */
    int64_t port;         /* 0: any */
};
enum azure_nsg_answer {
    AZURE_NSG_CLOSED = 0,
    AZURE_NSG_OPEN,
    AZURE_NSG_UNSURE, /* a rule that may fit names what trimtab does not know */
};

/* Rules of incoming traffic, by priority; in g's arena. */
struct azure_nsg azure_nsg_inbound(const struct azure_nsg *g);
/* `inbound` is what azure_nsg_inbound() returned. */
enum azure_nsg_answer azure_nsg_lets_in(const struct azure_nsg *inbound,
                                        const struct azure_nsg_packet *p);

#endif
