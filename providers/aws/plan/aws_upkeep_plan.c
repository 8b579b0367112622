/* SPDX-License-Identifier: Apache-2.0 */
/* aws_upkeep_plan.c: nodes come and go behind the load balancer that is there, whatever its Service
 * says.
 *
 * Neither listeners nor settings are checked: they are the Service's wishes, and one that AWS
 * refuses must not keep nodes from following.  For the same reason nodes are registered beside the
 * rules that let traffic reach them, not after them.  The load balancer that is there decides: its
 * own kind, its own target groups, its own security groups.  Pure.
 * Source: docs/spec/aws.md 6.4. */
#include "providers/aws/plan/aws_nlb_internal_plan.h"

#include "common/base/str.h"
#include "providers/aws/plan/aws_classic_internal_plan.h"

/* ---- classic --------------------------------------------------------------------------------- */

static int classic_upkeep(struct aws_planning *p, struct aws_texts instances, struct err *err)
{
    const struct aws_classic *seen = p->seen->classic;
    struct aws_classic_want want = {
        .name = seen->name,
        .internal = str_eq(seen->scheme, "internal"),
        .groups = seen->groups,
        .instances = instances,
    };
    struct aws_classic_run r = {.p = p, .want = &want, .seen = seen, .set = AWS_PHASE_MAKE};
    aws_classic_plan_instances(&r);
    if (r.changes == 0) {
        (void)aws_draft(p, AWS_PHASE_MAKE, LB_KEEP, "classic load balancer", want.name, NULL);
    }
    return want.groups.n > 0 ? aws_plan_classic_node_groups(p, &want, LB_VALUE(NULL), err) : ERR_OK;
}

/* ---- NLB ------------------------------------------------------------------------------------- */

static const struct aws_listener *listener_of(const struct aws_planning *p, const char *arn)
{
    for (size_t i = 0; i < p->seen->n_listeners; i++) {
        if (str_eq(p->seen->listeners[i].target_group, arn)) {
            return &p->seen->listeners[i];
        }
    }
    return NULL;
}

/* Rules for nodes by the ports and ranges of a Service that was carried out, as far as it
 * can be understood. */
static int nlb_rules(struct aws_planning *p, struct aws_texts instances, struct err *err)
{
    struct aws_nlb_want want;
    struct aws_service s = *p->service;
    struct err unclear = ERR_INIT;
    s.has_allocations = false;
    s.has_addresses = false;
    if (s.kind != AWS_NLB || s.err.code != ERR_OK ||
        aws_nlb_desired(p->a, p->naming, &s, p->seen->nlb->subnets, instances, &want, &unclear) !=
            ERR_OK) {
        return ERR_OK;
    }
    return aws_plan_nlb_node_groups(p, &want, err);
}

/* The port at which a group's targets are served: of a Service that was carried out in part it may
 * not be the group's own (aws_nlb_slots_plan.c).  That of all targets decides. */
static int32_t served_port(const struct aws_planning *p, const struct aws_observed_group *g)
{
    int32_t port = 0;
    for (size_t i = 0; p->unproven && i < g->targets.n; i++) {
        const struct aws_target *t = &g->targets.items[i];
        if (str_eq(t->reason, "Target.DeregistrationInProgress")) {
            continue;
        }
        if (port != 0 && t->port != port) {
            return g->group->port;
        }
        port = t->port;
    }
    return port != 0 ? port : g->group->port;
}

static int nlb_upkeep(struct aws_planning *p, struct aws_texts instances, struct err *err)
{
    for (size_t i = 0; i < p->seen->n_groups; i++) {
        const struct aws_observed_group *g = &p->seen->groups[i];
        const struct aws_nlb_port port = {.port = g->group->port, .node_port = served_port(p, g)};
        const struct aws_nlb_slot slot = {
            .port = &port,
            .listener = listener_of(p, g->group->arn),
            .group = g,
            .arn = LB_VALUE(g->group->arn),
        };
        if (slot.listener != NULL && g->has_targets &&
            !aws_nlb_plan_targets(p, instances, &slot, AWS_PHASE_MAKE)) {
            (void)aws_draft(p, AWS_PHASE_MAKE, LB_KEEP, "target group", g->group->name, NULL);
        }
    }
    return p->unproven ? aws_plan_nlb_rules_that_stand(p, p->seen->nlb->name, instances, err)
                       : nlb_rules(p, instances, err);
}

/* ---- either ---------------------------------------------------------------------------------- */

int aws_plan_upkeep(struct aws_planning *p, struct aws_texts instances, struct err *err)
{
    const struct aws_observed *seen = p->seen;
    bool nlb = seen->nlb != NULL && (p->service->kind != AWS_CLASSIC || seen->classic == NULL);
    if (nlb) {
        return nlb_upkeep(p, instances, err);
    }
    return seen->classic != NULL ? classic_upkeep(p, instances, err) : ERR_OK;
}
