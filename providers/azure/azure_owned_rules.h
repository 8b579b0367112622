/* SPDX-License-Identifier: Apache-2.0 */
/* azure_owned_rules.h: whose the parts of shared documents are, and the public IPs, by name and
 * tag.  Pure.
 *
 * Frontends, rules and probes begin with the Service's base name ("a<uid>"), public IPs that we
 * made are called "<cluster>-a<uid>…" and say in their tags whose they are.  A balancer with a pool
 * of the cluster's name is ours; what lies in another one is not checked.  The parts of one base
 * name are a unit; the tag of its public IP says whose it was, so that of an internal Service is
 * unknown.  Security rules of ours hold addresses of many Services: they are reported only when no
 * Service is left.  Source: docs/adr/0020. */
#ifndef TRIMTAB_AZURE_OWNED_RULES_H
#define TRIMTAB_AZURE_OWNED_RULES_H

#include "common/base/map.h"
#include "common/cloud/inventory.h"
#include "common/data/json.h"
#include "providers/azure/model/azure_names.h"

#include <trimtab/provider.h>

/* Kinds of struct inventory_item.  `place` is the name of the balancer or security group (NULL: it
 * stands alone), `id` that of the document, `unit` "a<uid>" or "". */
enum azure_owned_kind {
    AZURE_OWNED_FRONTEND = 0,
    AZURE_OWNED_RULE,
    AZURE_OWNED_PROBE,
    AZURE_OWNED_PIP,
    AZURE_OWNED_SECURITY,
    AZURE_OWNED_KINDS,
};

struct azure_owned_list {
    struct arena *a;
    const struct azure_naming *naming;
    struct map *bases; /* base names of Services that count */
    struct map *keys;  /* and "ns/name" */
    /* ID of each tagged public IP, lower case → "ns/name"; who made it does not matter */
    struct map *pips;
    struct inventory inv;
};
/* `a` and `naming` are set; the maps are made here and freed by _done(). */
void azure_owned_init(struct azure_owned_list *l, struct arena *a,
                      const struct azure_naming *naming);
void azure_owned_done(struct azure_owned_list *l);
void azure_owned_count(struct azure_owned_list *l, const struct tt_service *svc);

/* Public IPs first, then balancers, then the security group. */
void azure_owned_pip(struct azure_owned_list *l, struct json_object *pip);
void azure_owned_lb(struct azure_owned_list *l, struct json_object *lb);
void azure_owned_nsg(struct azure_owned_list *l, struct json_object *nsg);
/* When all are in: inventory_settle(), and what else the parts of a unit say of each other. */
void azure_owned_settle(struct azure_owned_list *l);

extern const struct inventory_words azure_owned_words[AZURE_OWNED_KINDS];
const char *azure_owned_command(struct arena *a, const struct inventory_item *item);
/* A Service by which the item's unit can be deleted; NULL: its owner is not known. */
const struct tt_service *azure_owned_service(const struct azure_owned_list *l,
                                             const struct inventory_item *item);

#endif
