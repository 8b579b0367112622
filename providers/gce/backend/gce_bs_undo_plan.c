/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_undo_plan.c: how the ENSURE planner's operations are undone when the new forwarding rule
 * is refused (plan.h, lb_undo).
 *
 * A rule goes before its replacement comes.  Should that one be refused, three things are put back:
 * the rule as it was read; ports and address of the traffic firewall, without which no client is
 * served; and the protocol of the backend service, without which the cloud does not take the rule.
 * Source ranges stay as the Service has them now: a refused edit lets in no more clients than it
 * asks for.  A rule of another scheme is not put back, because its backend service has gone, and
 * with it its address.  Pure. */
#include "providers/gce/backend/gce_bs_ensure_plan.h"

#include "common/base/str.h"
#include "providers/gce/model/gce_firewall_diff.h"

/* The rule of the family that replaces what goes: that of the same name, or the first one
 * that is made. */
static const char *replacement(const struct bs_side *s, const char *name)
{
    const char *first = NULL;
    for (size_t i = 0; s->d->wanted && i < s->d->n_rules; i++) {
        const struct bs_rule *r = &s->rules[i];
        if (r->is != NULL && !r->remake) {
            continue;
        }
        if (str_eq(r->want.name, name)) {
            return name;
        }
        first = first != NULL ? first : r->want.name;
    }
    return first;
}

static const struct lb_undo *undo_of(struct bs_ensure *n, struct gce_op arg, const char *until)
{
    return gce_emit_undo(&n->e.out, arg, GCE_RULES, until);
}

static struct gce_op remake_rule(struct bs_ensure *n, const struct gce_rule *r)
{
    return (struct gce_op){.c = GCE_RULES,
                           .verb = GCE_INSERT,
                           .name = r->name,
                           .body = gce_own(n->e.a, gce_rule_body(r))};
}

const struct lb_undo *bs_undo_rule(struct bs_ensure *n, const struct bs_side *s,
                                   const struct gce_rule *r)
{
    const char *until = replacement(s, r->name);
    return until == NULL || n->service_again ? NULL : undo_of(n, remake_rule(n, r), until);
}

const struct lb_undo *bs_ask_rule(struct bs_ensure *n, const struct bs_side *s,
                                  const struct gce_rule *r)
{
    const char *until = replacement(s, r->name);
    return until == NULL ? NULL : undo_of(n, remake_rule(n, r), until);
}

const struct lb_undo *bs_ask_backend(struct bs_ensure *n)
{
    const struct gce_op again = {.c = GCE_BACKENDS,
                                 .verb = GCE_INSERT,
                                 .name = n->service->name,
                                 .body = gce_own(n->e.a, gce_bservice_body(n->service, NULL))};
    return undo_of(n, again, n->service->name);
}

/* Only what the rules in UNRULE leave behind: a firewall that changes after the new rule has
 * nothing to wait for. */
const struct lb_undo *bs_undo_traffic(struct bs_ensure *n, const struct bs_side *s,
                                      const struct gce_firewall *is,
                                      const struct gce_firewall *want)
{
    const char *until = replacement(s, NULL);
    bool same = false;
    bool stays = gce_strs_same(n->e.a, &is->destinations, &want->destinations);
    if (until == NULL || n->service_again || !bs_side_loses_rules(s) ||
        (stays && gce_firewall_traffic_equal(n->e.a, is, want, &same, NULL) == ERR_OK && same)) {
        return NULL;
    }
    struct gce_firewall former = *want;
    former.allowed = is->allowed;
    former.destinations = is->destinations;
    former.description = is->description; /* the old kind's names the address */
    return undo_of(n,
                   (struct gce_op){.c = GCE_FIREWALLS,
                                   .verb = GCE_PATCH,
                                   .name = is->name,
                                   .body = gce_own(n->e.a, gce_firewall_body(&former, false))},
                   until);
}

const struct lb_undo *bs_undo_backend(struct bs_ensure *n)
{
    for (int i = 0; n->protocol_changes && i < 2; i++) {
        const struct bs_side *s = &n->sides[i];
        const char *until = replacement(s, NULL);
        if (until == NULL || !bs_side_loses_rules(s)) {
            continue;
        }
        const struct gce_bservice *is = n->service;
        struct json_object *body = gce_bservice_backends_body(is, is->backends, is->n_backends);
        return undo_of(n,
                       (struct gce_op){.c = GCE_BACKENDS,
                                       .verb = GCE_UPDATE,
                                       .name = is->name,
                                       .fingerprint = true,
                                       .body = gce_own(n->e.a, body)},
                       until);
    }
    return NULL;
}
