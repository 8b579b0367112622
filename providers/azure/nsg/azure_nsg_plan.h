/* SPDX-License-Identifier: Apache-2.0 */
/* azure_nsg_plan.h: many Services, one security group, one write.
 *
 * The Services of a batch are applied to one document in the caller's order (deletes first), each
 * against what the ones before it left.  What comes out equals as many single passes, but is
 * written once, or not at all when the passes undo each other.  A Service that cannot be served
 * fails alone: its rules stay as they were.
 *
 *   members   every Service of ours in the cluster, also those of the batch: whose ports and
 *             addresses must stay
 *   changes   the batch
 *   left      what a Service has left is closed with its change: at the addresses of its status,
 *             and on the nodes once no Service needs the port there; the latter only when the group
 *             is written anyway
 *   facts     addresses of nodes; addresses that this process gave out and no status shows yet (17
 *             row 20)
 *
 * Source: docs/spec/azure.md 9.2 to 9.8, 12.5 (4).  Pure. */
#ifndef TRIMTAB_AZURE_NSG_PLAN_H
#define TRIMTAB_AZURE_NSG_PLAN_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/strset.h"
#include "common/data/json.h"
#include "common/lb/plan.h"
#include "providers/azure/model/azure_access_rules.h"

#include <stdbool.h>
#include <stddef.h>

/* A Service that is in the cluster; its addresses are those of its status and those given here. */
struct azure_nsg_member {
    const struct azure_access *access;
    struct azure_texts assigned; /* what this process gave it: balancer and additional addresses */
    bool cleaned;                /* its rules are gone already; it only waits for its finalizer */
};
/* A Service of the batch. */
struct azure_nsg_change {
    const struct azure_access *access;
    bool want;
    struct azure_texts lb_ips; /* of its own frontends; what is no address is passed over */
    /* nodes of its balancer's pools; used when floating IP is off */
    struct azure_texts backend_ips;
    struct azure_texts left; /* addresses that it was given before and has no longer */
    bool has_left;           /* its status tells no more of them: it needs no port there */
    bool planned;            /* in a plan: it may have no address yet */
    /* Before its balancer changes: what it will need is let in, nothing is taken away. */
    bool adds_only;
    /* Traffic that was allowed for a refused edit is no longer allowed: `lb_ips` and `backend_ips`
     * are left, and nothing else of the Service is touched. */
    bool retreats;
};
/* Traffic that stands and arrives at nodes, of a Service whose wishes are not carried out. */
struct azure_nsg_standing {
    const char *key;
    struct str_set ports; /* on the nodes, decimal texts */
    /* nodes behind it: where its rules let clients in, they do so on all of these */
    struct azure_texts node_ips;
};
struct azure_nsg_input {
    struct json_object *rules; /* properties.securityRules, borrowed */
    const struct azure_nsg_member *members;
    size_t n_members;
    const struct azure_nsg_change *changes;
    size_t n_changes;
    const struct azure_nsg_standing *standing;
    size_t n_standing;
    struct azure_texts node_ips; /* InternalIPs of all managed nodes */
    /* an edit sends traffic past the nodes' rules: unneeded ones there go */
    bool closes_nodes;
    /* rules of releases before 1.29 go also where nothing else is to be written */
    bool repair_adopted;
};

/* One rule that is not as it was. */
struct azure_nsg_rule_change {
    enum lb_verb verb; /* CREATE, CHANGE or DELETE */
    const char *name;
    const char *why;
    struct str_set owners; /* keys of the Services that caused it; at least one */
    const struct lb_field *fields;
    size_t n_fields;
};
struct azure_nsg_result {
    /* the input's own array unless `changed`; lives as long as the arena */
    struct json_object *rules;
    bool changed;
    const struct azure_nsg_rule_change *diff; /* in order of the document, new rules last */
    size_t n_diff;
    const struct err *errs; /* one for each change: ERR_OK, ERR_INVALID, ERR_QUOTA … */
};

/* ERR_TRANSIENT when the rules cannot be read; what is wrong with one Service is in ret->errs. */
int azure_nsg_plan(struct arena *a, const struct azure_nsg_input *in, struct azure_nsg_result *ret,
                   struct err *err) _warn_unused_;

#endif
