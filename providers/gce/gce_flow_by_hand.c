/* SPDX-License-Identifier: Apache-2.0 */
/* gce_flow_by_hand.c: a firewall that a security admin must change, whatever kind of balancer it is
 * for (gce_flow.h).
 *
 * On a Shared VPC firewalls belong to the host project, and the permission to write them may be a
 * security admin's alone.  The refusal is then no failure, but the owner must hear of it: without
 * the firewall no client reaches the load balancer.  Reason and message are those of the program
 * whose kind it is (gce-cloud-provider.md §4.12; gce-l4.md §4.14). */
#include "providers/gce/gce_flow.h"

#include "providers/gce/model/gce_gcloud.h"
#include "providers/gce/ops/gce_ops.h"

/* Returns the command to run by hand; NULL: no steps by hand are known. */
static const char *command_of(const struct lb_op *op)
{
    const struct gce_op *arg = op->arg;
    return arg->command == NULL || arg->ret_value == NULL ? arg->command : *arg->ret_value;
}

void gce_flow_tell_by_hand(struct lb_sync *s, const struct lb_op *op)
{
    const struct gce_provider *p = gce_provider_of(s);
    const char *command = command_of(op);
    for (size_t i = 0; command != NULL && i < s->n_items; i++) {
        const struct lb_item *item = &s->items[i];
        const struct gce_item *g = gce_item_of(item);
        const char *about = arena_printf(s->a, "%s %s", item->key, op->name);
        if (str_set_has(&op->owners, item->key) &&
            gce_told_is_news(p->cloud.told, about, command)) {
            bool l4 = gce_kind_part(g->decision.kind) == GCE_PART_L4;
            p->cloud.host->event(p->cloud.host->ctx, item->in->service, TT_EVENT_NORMAL,
                                 l4 ? "XPN" : GCE_EVENT_MANUAL, gce_gcloud_event(s->a, command));
        }
    }
}
