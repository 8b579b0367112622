/* SPDX-License-Identifier: Apache-2.0 */
/* gce_flow_tell.c: what the owner of a Service hears, whatever kind its load balancer
 * is of (gce_flow.h). */
#include "providers/gce/gce_flow.h"

#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/gce/model/gce_service_rules.h"
#include "providers/gce/ops/gce_ops.h"

void gce_flow_event_once(struct lb_sync *s, const struct lb_item *item, uint32_t type,
                         const char *reason, const char *message)
{
    struct gce_provider *p = gce_provider_of(s);
    const char *about = arena_printf(s->a, "%s %s", item->key, reason);
    if (!s->planning && gce_told_is_news(p->cloud.told, about, message)) {
        p->cloud.host->event(p->cloud.host->ctx, item->in->service, type, reason, message);
    }
}

static const char *about_hold(struct arena *a, const char *key)
{
    return arena_printf(a, "reservation of %s", key);
}

void gce_flow_note_hold(struct lb_sync *s, const struct lb_op *op, unsigned outcome)
{
    struct gce_provider *p = gce_provider_of(s);
    const struct gce_op *arg = op->arg;
    const char *key;
    if (arg->c != GCE_ADDRESSES || arg->verb != GCE_INSERT) {
        return;
    }
    STR_SET_EACH (key, &op->owners) {
        if (outcome == LB_FAILED) {
            (void)gce_told_is_news(p->cloud.told, about_hold(s->a, key), "refused");
        } else {
            gce_told_forget(p->cloud.told, about_hold(s->a, key));
        }
    }
}

bool gce_flow_hold_was_refused(struct lb_sync *s, const struct lb_item *item)
{
    struct gce_provider *p = gce_provider_of(s);
    return !str_is_empty(gce_told_text(p->cloud.told, s->a, about_hold(s->a, item->key)));
}

void gce_flow_ports_are_mixed(struct lb_sync *s, const struct lb_item *item)
{
    const struct gce_provider *p = gce_provider_of(s);
    if (gce_svc_has_ports_condition(item->in->service) || s->planning) {
        return;
    }
    const struct tt_condition c = {
        .type = GCE_CONDITION_PORTS,
        .status = "True",
        .reason = GCE_EVENT_MIXED,
        .message = "LoadBalancer with multiple protocols are not supported",
    };
    gce_flow_event_once(s, item, TT_EVENT_WARNING, GCE_EVENT_MIXED,
                        "LoadBalancer with multiple protocols are not supported.");
    p->cloud.host->result_condition(item->in->result, &c);
}

void gce_flow_ports_are_fine(struct lb_sync *s, const struct lb_item *item)
{
    const struct gce_provider *p = gce_provider_of(s);
    if (!gce_svc_has_ports_condition(item->in->service)) {
        return;
    }
    const struct tt_condition c = {
        .type = GCE_CONDITION_PORTS,
        .status = "False",
        .reason = "LoadBalancerPortsSupported",
        .message = "All ports have the same protocol",
    };
    p->cloud.host->result_condition(item->in->result, &c);
    gce_told_forget(p->cloud.told, arena_printf(s->a, "%s %s", item->key, GCE_EVENT_MIXED));
}
