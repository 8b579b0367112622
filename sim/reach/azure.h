/* SPDX-License-Identifier: Apache-2.0 */
/* azure.h: the interface between the parts of reach_azure(), under the prefix az_.  Private to
 * sim/reach/azure*.c.
 *
 *     az_network.c   virtual networks and subnets
 *     azure_groups.c    network security groups: which packets pass
 *     azure_machines.c  machines' IP configurations: their names, addresses and pools
 *     azure_balancers.c load balancers: frontends, rules, NAT rules, pools, probes
 *     azure.c           the world's documents, and the walk over them
 *
 * Everything is read from the world once and lives in the arena.  Ids are compared in small
 * letters.
 * Source: learn.microsoft.com, "Network security groups", "Virtual network service tags", "Load
 * Balancer components", "High availability ports", "Floating IP", "Health probes", and the REST
 * reference of Microsoft.Network. */
#ifndef TRIMTAB_SIM_REACH_AZURE_H
#define TRIMTAB_SIM_REACH_AZURE_H

#include "common/base/map.h"
#include "common/base/str.h"
#include "sim/reach/reach.h"

/* --- the world -------------------------------------------------------------------------------- */

struct az_doc {
    const char *id; /* in small letters */
    struct json_object *body;
};
struct az_docs {
    struct az_doc *at; /* in the order of the world */
    size_t n, room;
};
enum az_type {
    AZURE_BALANCERS = 0,
    AZURE_POOLS,
    AZURE_PUBLIC_IPS,
    AZURE_NETWORKS,
    AZURE_SUBNETS,
    AZURE_GROUPS,
    AZURE_NICS,
    AZURE_MACHINES,
    AZURE_INSTANCES,
    AZURE_TAGS, /* answers of "Service Tags - List", which a world may hold */
    AZURE_TYPES_MAX,
};
struct az {
    struct arena *a;
    struct json_object *world;
    const struct reach_answers *cluster; /* NULL: not known */
    struct az_docs docs[AZURE_TYPES_MAX];
    struct map *networks;   /* id → struct az_network */
    struct map *subnets;    /* id → struct az_subnet */
    struct map *groups;     /* id → struct az_group */
    struct map *in_pool;    /* id of a pool → struct az_list of struct az_nic */
    struct map *behind_nat; /* id of a NAT rule or NAT pool → the same */
    struct map *by_config;  /* id of an IP configuration → struct az_nic */
    struct map *by_address; /* id of a network, a blank, address → struct az_nic */
    struct map *tags;       /* name of a service tag in small letters → struct reach_ranges */
    struct map *public_ips; /* id → the document, borrowed */
    /* id → the document of a pool that the world lists apart from its balancer, borrowed */
    struct map *pools;
    struct map *seen; /* id of a public IP → NULL: a frontend or a machine has it */
};

/* Pointers to arena objects, in the order in which they came. */
struct az_list {
    void **at;
    size_t n, room;
};
void az_push(struct arena *a, struct az_list *list, void *item);
/* The list of that key, made when there is none. */
struct az_list *az_list_of(struct arena *a, struct map *lists, const char *key);

/* An id in small letters; NULL for NULL. */
const char *az_key(struct arena *a, const char *id);
/* properties.X.id of an object, in small letters, or NULL. */
const char *az_ref(struct arena *a, struct json_object *o, const char *member);
/* The id without its last two segments; "" if there are fewer. */
const char *az_parent(struct arena *a, const char *id);
/* After the last '/'. */
const char *az_name(const char *id);
/* The canonical form of an address, or NULL if it is not one. */
const char *az_address(struct arena *a, const char *text);

/* --- networks (az_network.c) ------------------------------------------------------------------ */

struct az_network {
    struct reach_ranges ranges; /* its own and its peers': the service tag VirtualNetwork */
};
struct az_group;
struct az_subnet {
    const struct az_network *network; /* NULL: not in the world */
    const char *network_id;
    const struct az_group *group; /* NULL: none */
    struct reach_ranges ranges;
};
/* Fills networks and subnets; groups must be there. */
void az_read_networks(struct az *z);
/* The subnet of a network that holds an address, or NULL. */
const struct az_subnet *az_subnet_of(struct az *z, const char *network,
                                     struct reach_ranges address);

/* --- security groups (azure_groups.c) --------------------------------------------------------- */

/* A packet on its way into a machine. */
struct az_packet {
    const char *protocol;     /* "TCP", "UDP", "SCTP" */
    uint16_t low, high;       /* destination ports: all of them must pass */
    const struct ip_addr *to; /* its destination; NULL: not known */
    bool ipv6;                /* its family */
    bool from_internet;       /* it came through a public address */
    /* a public frontend of a Standard balancer: closed where no group is */
    bool closed_without_groups;
};
/* The groups that a packet passes, and the network in which they stand; each may be NULL. */
struct az_gate {
    const struct az_group *groups[2]; /* of the subnet, of the NIC */
    const struct az_network *network;
};
void az_read_groups(struct az *z);
/* The clients whose packets pass all groups. */
struct reach_ranges az_permitted(struct arena *a, const struct az_gate *gate,
                                 const struct az_packet *p);
/* A probe of the load balancer (168.63.129.16) passes all groups. */
bool az_probe_passes(const struct az_gate *gate, const struct az_packet *p);
/* Sets bounds[port] (65537 of them) of each port at which a rule begins, and of each behind the
 * last one of a rule. */
void az_port_bounds(const struct az_gate *gate, bool *bounds);

/* --- machines (azure_machines.c) -------------------------------------------------------------- */

/* One IP configuration of a machine. */
struct az_nic {
    const char *machine; /* the computer's name in small letters; NULL: no machine has this NIC */
    bool runs;           /* the machine is there, and not stopped */
    const char *text;    /* its private address, canonical; NULL: not known */
    struct ip_addr address; /* the same; len 0: not known */
    bool ipv6;
    const struct az_subnet *subnet; /* NULL: not in the world */
    const struct az_group *group;   /* of the NIC; NULL: none */
};
/* Fills in_pool, behind_nat, by_config and by_address; networks and groups must be there. */
void az_read_machines(struct az *z);
/* Returns the IP configuration that has this address in a network (NULL: in any network).  If none
 * has it, returns a new one without a machine; NULL if the text is not an address. */
const struct az_nic *az_nic_at(struct az *z, const char *network, const char *address);
struct az_gate az_gate_of(const struct az_nic *nic);

/* --- load balancers (azure_balancers.c) ------------------------------------------------------- */

/* Adds the ports and targets of one balancer to `r`; networks, groups and machines must be read. */
void az_reach_balancer(struct az *z, struct reach *r, const struct az_doc *doc);

#endif
