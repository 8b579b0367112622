/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_older_plan.c: deletes the forwarding rules that an older Service of the same name left.
 *
 * Backend services, firewalls and health checks are named after namespace and name, a rule a<uid> after the uid.  When a
 * Service is deleted while no controller runs and made again, the new object shares all but the rule with the older one.
 * That rule keeps the backend service in use, so that it can change neither its scheme nor its protocol, nor be
 * deleted; and it goes on serving, and being billed, at an address that no Service has.
 * Source: gce-l4.md §4.2, A11.  Pure. */
#include "providers/gce/backend/gce_bs_ensure_plan.h"

#include "common/base/str.h"
#include "providers/gce/model/gce_links.h"
#include "providers/gce/model/gce_shared_ip_rules.h"

static void delete_address(struct bs_emit *e, const char *name)
{
    const struct gce_address *held = gce_slots_address(e->seen, name);
    if (held == NULL || bs_deletes(e, GCE_ADDRESSES, name) ||
        !str_eq(held->description, gce_l4_address_description(e->a, e->in->key))) {
        return;
    }
    int at = bs_delete(e, BS_UNBACK, GCE_ADDRESSES, name,
                       "an older Service of this name left it, and no rule has it");
    bs_op(e, at)->gives_back = true;
    bs_op(e, at)->tolerate |= LB_TOLERATE_IN_USE;
}

void bs_delete_older(struct bs_emit *e, const char *backend)
{
    const struct gce_strs *older = &e->in->older_rules;
    for (size_t i = 0; i < older->n; i++) {
        const struct gce_rule *r = gce_slots_rule(e->seen, older->items[i]);
        if (r == NULL || bs_deletes(e, GCE_RULES, r->name) ||
            !str_eq(gce_link_last(r->backend_service), backend) ||
            !gce_rule_is_an_older_ones(e->a, r, e->in->service)) {
            continue;
        }
        (void)bs_delete(e, BS_UNRULE, GCE_RULES, r->name,
                        "an older Service of this name left it, and it has the backend service");
        delete_address(e, r->name);
        lb_plan_effect(e->p, e->in->key,
                       "The address %s, which an older Service of this name left, is given up.",
                       gce_l4_ip_without_prefix(e->a, r->ip));
    }
}
