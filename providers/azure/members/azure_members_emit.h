/* SPDX-License-Identifier: Apache-2.0 */
/* azure_members_emit.h: writes of members, gathered first and put into waves then.
 *
 * Models of scale sets go before instances, and who joins before who leaves (14 row 18): ranks.
 * Writes of one lane, a scale set or a balancer, are bounded, because Azure does them one after the
 * other anyway and refuses what is too much (14 row 38).
 * Source: docs/spec/azure.md 7.3, 12.6.  Pure. */
#ifndef TRIMTAB_AZURE_MEMBERS_EMIT_H
#define TRIMTAB_AZURE_MEMBERS_EMIT_H

#include "providers/azure/model/azure_refs_rules.h"
#include "providers/azure/sync/azure_emit.h"

enum azure_rank {
    AZURE_RANK_POOLS = 0,
    AZURE_RANK_MODELS,
    AZURE_RANK_JOIN,
    AZURE_RANK_LEAVE,
    AZURE_RANKS,
};
struct azure_member_write {
    enum azure_kind kind;
    const char *id;
    struct json_object *was;
    struct json_object *doc;
    const char *why;
    const char *summary;
    struct azure_owners owners;
    struct azure_refs leaves; /* the pools that the document leaves */
    enum azure_rank rank;
    const char *lane; /* NULL: none */
    size_t lane_max;
    bool unguarded;
    bool announced;
    bool may_be_gone; /* then there is nothing to do */
    bool emitted;
};
struct azure_member_writes {
    struct azure_member_write *items;
    size_t n;
    size_t cap;
};
/* Appends a copy. */
void azure_member_writes_add(struct arena *a, struct azure_member_writes *w,
                             const struct azure_member_write *item);
/* Writes them all into the plan.  What the plan writes already (two balancers go, a machine leaves
 * both) is written once, without the pools of either. */
void azure_member_writes_emit(struct azure_sync *y, struct azure_member_writes *w,
                              struct lb_plan *plan);

#endif
