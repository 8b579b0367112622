/* SPDX-License-Identifier: Apache-2.0 */
/* azure_members_gather.h: what this sync has seen of machines, put together for the rules of
 * membership.
 *
 * Private to azure_members*.c.  Nothing is read here: what was listed is looked through.  Network
 * interfaces may come from an older list: which machine one hangs on does not change while it
 * is in a pool. */
#ifndef TRIMTAB_AZURE_MEMBERS_GATHER_H
#define TRIMTAB_AZURE_MEMBERS_GATHER_H

#include "providers/azure/members/azure_members_rules.h"
#include "providers/azure/sync/azure_sync.h"

struct azure_members {
    struct azure_members_in in;
    struct azure_members_diff diff;
    struct azure_refs_docs {
        struct json_object **items;
        size_t n;
        const struct map *by_id;                     /* lower-case ID → its place in items */
    } nics, sets, instances, vms, availability_sets; /* documents that this stage has seen */
    const struct map *primary_nics;                  /* lower-case ID of a machine → document */
    /* per node: none of several balancers takes it; NULL: there are not several */
    const bool *unplaced;
};
/* Nodes, pools of the batch, documents, and the differences.  ERR_INVALID: a selector of the
 * configuration is none. */
int azure_members_gather(struct azure_sync *y, struct azure_members *m,
                         struct err *err) _warn_unused_;
/* Per node of the batch: does it belong into that pool of the Service, if it is a pool of Local
 * Services; NULL: it is not (azure_members_local.c). */
const bool *azure_members_hosts(struct azure_sync *y, const struct azure_item *it,
                                const struct azure_pool *p);
/* Which of several balancers each node serves; their pools are added (azure_members_spread.c). */
int azure_members_spread(struct azure_sync *y, struct azure_members *m,
                         struct err *err) _warn_unused_;
/* An event for each node that is without a balancer and was not, as far as this
 * process knows (5.5). */
void azure_members_tell_unplaced(struct azure_sync *y, const struct azure_members *m);
/* The same with these pools instead of the batch's. */
void azure_members_gather_for(struct azure_sync *y, struct azure_pool *pools, size_t n,
                              struct azure_members *m);
/* A pool of that balancer; `lb` NULL: it is about to be made. */
struct azure_pool azure_members_pool(struct azure_sync *y, const char *lb_name,
                                     struct json_object *lb, const char *name);
/* The document of that ID; NULL: not seen. */
struct json_object *azure_members_doc(const struct azure_refs_docs *docs, const char *id);
/* The interface that an edit is about. */
struct json_object *azure_members_nic_doc(const struct azure_members *m,
                                          const struct azure_machine_edit *e);
/* Asks for what must be read so that m->diff can be planned; false: nothing more
 * (azure_members_observe.c). */
bool azure_members_need(struct azure_sync *y, const struct azure_members *m);
/* Collections of network interfaces where the nodes' may be. */
const char **azure_members_nic_scopes(struct azure_sync *y, const struct azure_members *m,
                                      size_t *ret_n);

#endif
