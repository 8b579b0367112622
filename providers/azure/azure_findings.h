/* SPDX-License-Identifier: Apache-2.0 */
/* azure_findings.h: wishes of a Service that have no effect on Azure, and slips that would make it
 * public.  Pure.
 *
 * Source: docs/spec/azure.md 11; docs/adr/0028. */
#ifndef TRIMTAB_AZURE_FINDINGS_H
#define TRIMTAB_AZURE_FINDINGS_H

#include "common/lb/findings.h"
#include "providers/azure/model/azure_service.h"

/* The keys of azure_annotation_table, and those of programs for other clouds. */
const struct lb_annotation_keys *azure_annotation_keys(struct arena *a);
/* ERR_INVALID for a Service without load balancer, or with an internal one, that asks to be
 * internal, but not with a text, or not by a key, that counts.  `lenient`: lenientInternal of the
 * cloud-config. */
int azure_internal_check(struct arena *a, const struct tt_service *s, bool lenient,
                         struct err *err) _warn_unused_;

struct azure_sync;
struct azure_item;
struct lb_sync;
struct lb_item;
/* Adds the Service to the item's error where that names a rule or frontend of it: people do not
 * know its hash. */
void azure_name_owner(struct azure_sync *y, struct lb_item *item);
/* Why a node is in no pool, in words; NULL: it belongs into one. */
const char *azure_node_left_out(struct arena *a, const struct azure_config *c,
                                const struct tt_node *node);
/* Why no client is served once the plan of members is carried out; NULL: clients are, or
 * only Azure's probes know. */
const char *azure_nobody(struct azure_sync *y, const struct azure_item *it);
/* Why no client is served by what stands now (azure_stands.c, docs/adr/0093): as lb_flow.stands. */
const char *azure_stands(const struct lb_sync *s, const struct lb_item *item);

#endif
