/* SPDX-License-Identifier: Apache-2.0 */
/* azure_members_ip_plan.h: what a pool of addresses holds: one write per pool, as a resource of its
 * own.
 *
 * Source: docs/spec/azure.md 7.5 (from addresses to interfaces), 7.6.  Pure. */
#ifndef TRIMTAB_AZURE_MEMBERS_IP_PLAN_H
#define TRIMTAB_AZURE_MEMBERS_IP_PLAN_H

#include "providers/azure/members/azure_members_rules.h"

struct azure_ip_change {
    struct json_object *doc; /* to be written; NULL: the pool is as it should be */
    size_t joined;
    size_t left;
};
/* Addresses of the nodes in, others out; the pool is never emptied. */
void azure_ip_pool_plan(struct arena *a, const struct azure_members_in *in,
                        const struct azure_naming *naming, const struct azure_pool *p,
                        struct azure_ip_change *ret);
/* The pool without any address: network interfaces come instead. */
struct json_object *azure_ip_pool_clear(struct arena *a, const struct azure_pool *p);

#endif
