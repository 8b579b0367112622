/* SPDX-License-Identifier: Apache-2.0 */
/* azure_observe.h: reading the lists and documents that a stage needs, in one wave, or not at all.
 *
 * A stage says what it needs (azure_need), then looks (azure_see): from the snapshot while that is
 * young enough, from the cloud otherwise; what this very sync has read, or written, is not read
 * twice.
 * Source: docs/spec/azure.md 3.3, 3.9, 12.6 (1).  Blocks. */
#ifndef TRIMTAB_AZURE_OBSERVE_H
#define TRIMTAB_AZURE_OBSERVE_H

#include "providers/azure/sync/azure_sync.h"

/* `scope`: the collection of a resource group, or the ID of one resource. */
void azure_need(struct azure_sync *y, enum azure_kind k, const char *scope);
/* One document of a listed kind, asked for by its ID: what a list lacks is not believed where a
 * write would replace it. */
void azure_need_one(struct azure_sync *y, enum azure_kind k, const char *id);
/* Private link services of all groups: azure_see() passes over a refusal.  False: it was refused
 * within the last minute, and is not asked for. */
bool azure_need_all_links(struct azure_sync *y);
bool azure_seen_all_links(const struct azure_sync *y);
/* A list that does not come from this sync lacks something that should be in it: it is read anew.
 * False: it was read just now, or is not needed. */
bool azure_need_again(struct azure_sync *y, enum azure_kind k, const char *scope);
/* Nothing is needed yet: the first thing that a stage says. */
void azure_need_nothing(struct azure_sync *y);
/* Balancers, and public IPs of the groups of the configuration and of the batch. */
void azure_need_lists(struct azure_sync *y);
/* Groups of public IPs that frontends of the batch's Services have: an annotation may name another
 * one by now.  True: one of them is not known yet, so azure_see() is due. */
bool azure_need_groups_in_use(struct azure_sync *y);
void azure_need_nsg(struct azure_sync *y);
/* The zones of the region: y->zones. */
void azure_need_zones(struct azure_sync *y);
/* Services that are ensured need these before their first write, whatever lists say: zones, and new
 * internal ones the subnets (one with a status may stand on the other side). */
void azure_need_for_new(struct azure_sync *y);
/* Balancers, public IPs and the security group. */
void azure_need_security(struct azure_sync *y);
/* Balancers, public IPs, and the subnets of internal Services. */
void azure_need_balancers(struct azure_sync *y);
/* Reads what is needed and not known; sets observed_fresh; makes lbs, pips, nsg and zones anew. */
int azure_see(struct azure_sync *y, struct err *err) _warn_unused_;
/* Balancers and public IPs: what most stages need, needed and seen. */
int azure_observe_lists(struct azure_sync *y, struct err *err) _warn_unused_;
/* The list, NULL when it was not needed.  Of one resource: a list of none or one. */
struct json_object *azure_seen_list(const struct azure_sync *y, enum azure_kind k,
                                    const char *scope);
/* Has this sync read the list of a resource group that does not exist?  What is to be made there
 * would be refused. */
bool azure_seen_no_group(const struct azure_sync *y, enum azure_kind k, const char *scope);
/* The subnet of an internal Service; NULL when it does not exist. */
struct json_object *azure_seen_subnet(struct azure_sync *y, const struct azure_service *s);

#endif
