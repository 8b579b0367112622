/* SPDX-License-Identifier: Apache-2.0 */
/* azure_members_rules.h: which nodes belong into which pool, and what that means for each machine.
 *
 * The pools themselves tell who is in them: an instance of a scale set by its ID, a network
 * interface by its machine (the only thing that must be looked up), an IP pool by its addresses.
 * So when nothing is to be changed, nothing is read.  What is to be changed is gathered by machine,
 * because a machine is one document whatever the number of pools.  Machines that no node stands for
 * stay: a new instance joins through its scale set's model before its node is there.
 * Source: docs/spec/azure.md 7.1 to 7.7.  Pure. */
#ifndef TRIMTAB_AZURE_MEMBERS_RULES_H
#define TRIMTAB_AZURE_MEMBERS_RULES_H

#include "common/base/map.h"
#include "providers/azure/model/azure_node_rules.h"
#include "providers/azure/model/azure_owners.h"
#include "providers/azure/model/azure_refs_rules.h"

/* A node of the batch. */
struct azure_member_node {
    const struct tt_node *node;
    const char *machine; /* ID in lower case; "" when it is not known */
    const char *set;     /* ID of its uniform scale set, lower case; NULL: a machine of its own */
    /* ID of the scale set whose model it was made from, flexible ones too; NULL: none */
    const char *model;
    const char *vm_set; /* name of its availability or scale set; NULL: not known, or none */
    bool excluded;
};
/* A pool that Services of the batch use. */
struct azure_pool {
    const char *lb;
    const char *name;
    const char *id;
    bool ipv6;
    bool internal;
    struct json_object *doc; /* in its balancer; NULL: not there yet */
    const char *vm_set;      /* only its machines (Basic); NULL: all */
    /* per node: it has an endpoint of a Local Service whose pool this is; NULL: all count */
    const bool *hosts;
    bool follows;          /* its Service is synced because its endpoints changed */
    const bool *spread;    /* per node: its balancer has it (several balancers); NULL: all */
    const bool *elsewhere; /* per node: another balancer has it; NULL: none */
    struct azure_owners owners;
};
/* One machine that joins or leaves pools. */
struct azure_machine_edit {
    const char *machine; /* ID in lower case */
    /* ID of a network interface that leaves, lower case; NULL: the machine's primary
     * one is meant */
    const char *nic;
    const struct azure_member_node *node; /* NULL: its node is gone */
    const char *why;                      /* ends "because …"; NULL: what the node says */
    struct azure_pool **join;
    size_t n_join;
    struct azure_pool **leave;
    size_t n_leave;
};
struct azure_members_in {
    const struct azure_config *config;
    struct azure_member_node *nodes;
    size_t n_nodes;
    struct azure_pool *pools;
    size_t n_pools;
    /* lower-case ID of a network interface → const char * ID of its machine */
    const struct map *nics;
    const struct map *once; /* machines that had a node; NULL: none */
};
struct azure_members_diff {
    struct azure_machine_edit *edits;
    size_t n;
    bool unknown_nics;     /* some member or some node is unknown without network interfaces */
    bool unknown_machines; /* some node does not say which machine it is */
};

/* The nodes of a batch with their machines, in its order. */
struct azure_member_node *azure_members_nodes(struct arena *a, const struct azure_config *c,
                                              const struct tt_node *const *nodes, size_t n);
/* A digest of what pools read of a node beside its name, machine and eligibility: labels that keep
 * it out or choose its balancer, and its addresses.  0: it can be in none.  Source: 5.5, 7.1. */
uint64_t azure_node_digest(const struct azure_config *c, const struct tt_node *node);
/* Does the node belong into the pool? */
bool azure_members_wants(const struct azure_members_in *in, const struct azure_pool *p,
                         size_t node);
/* NIC pools only; others do not concern machines. */
void azure_members_compare(struct arena *a, const struct azure_members_in *in,
                           struct azure_members_diff *ret);
/* The same for pools that all have to leave: a balancer goes, or its pools become
 * pools of addresses. */
void azure_members_leave_all(struct arena *a, const struct azure_members_in *in, const char *why,
                             struct azure_members_diff *ret);
/* ID of the scale set of a machine (lower case); NULL: it is no instance. */
const char *azure_members_set(struct arena *a, const char *machine);
/* ID of the machine behind a member of a pool, lower case; NULL: a network interface that `nics`
 * does not know. */
const char *azure_members_machine(struct arena *a, const struct map *nics, const char *config_id);
/* ID of the network interface of "…/networkInterfaces/N/ipConfigurations/C", lower case;
 * NULL: an instance's. */
const char *azure_members_nic(struct arena *a, const char *config_id);
/* Machines by network interface, of documents of network interfaces. */
void azure_members_learn(struct arena *a, struct map *nics, struct json_object *docs);

/* Members that are network interfaces; addresses that are only addresses (7.5, 7.6). */
size_t azure_pool_count_nics(struct json_object *pool);
size_t azure_pool_count_addresses(struct json_object *pool);
/* The pool is of the other kind than the configuration wants. */
bool azure_pool_is_wrong_kind(const struct azure_config *c, const struct azure_pool *p);

/* IDs of pools. */
struct azure_refs azure_members_refs(struct arena *a, const struct azure_machine_edit *e);

#endif
