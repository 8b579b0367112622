/* SPDX-License-Identifier: Apache-2.0 */
/* gce_target_pool_members_plan.c: who is in the pool, when only the nodes changed (UPDATE).
 *
 * Source: gce-cloud-provider.md §4.8, §4.9.  Pure. */
#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/gce/target_pool/gce_target_pool_emit_plan.h"

int gce_tp_plan_update(struct lb_plan *p, const struct gce_tp_facts *facts,
                       const struct gce_tp_input *in, const struct gce_tp_observed *o,
                       struct err *err)
{
    struct tp_emit e;
    const char *name = svc_default_lb_name(p->a, str_nonnull(in->service->uid));
    struct lb_plan_service *s = lb_plan_service(p, in->key);
    s->kind = arena_printf(p->a, "external, target pool, %s", facts->region);
    s->address = o->has_rule == GCE_PRESENT ? o->rule.ip : NULL;
    const struct gce_names names = {.lb = name}; /* the pool's is the only one in such a plan */
    if (o->has_pool != GCE_PRESENT) {
        return err_set(err, ERR_NOT_FOUND, "target pool %s does not exist", name);
    }
    tp_emit_init(&e, p, facts, in, o);
    /* Upstream empties the pool of a cluster without nodes (§4.9); members that are left serve
     * better than none. */
    if (in->members.paths.n == 0) {
        lb_plan_because(p, in->key, "no node can take part, so the members stay as they are");
        tp_keep(&e, GCE_POOLS, name);
        tp_flush(&e, &names);
        return ERR_OK;
    }
    struct str_set now = tp_pool_members(p->a, &o->pool);
    tp_members(&e, name, &now, &in->members.paths, "the nodes changed");
    if (e.out.drafts.n == 0) {
        tp_keep(&e, GCE_POOLS, name);
    }
    tp_flush(&e, &names);
    return ERR_OK;
}
