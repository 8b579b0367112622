/* SPDX-License-Identifier: Apache-2.0 */
/* azure_describe.c: kind, address and reasons of each Service of a
 * plan (azure_describe.h). Pure. */
#include "providers/azure/azure_describe.h"
#include "common/base/str.h"
#include "providers/azure/model/azure_access_rules.h"

#define INTERNAL "azure-load-balancer-internal"

static void say_why(struct lb_plan *plan, const struct azure_item *it, const struct azure_config *c)
{
    const char *key = it->item->key;
    const char *text = azure_annotation(it->item->in->service, INTERNAL);
    if (text == NULL) {
        lb_plan_because(plan, key, "no " INTERNAL " annotation → external");
    } else {
        /* azure_sides.h: read again, it is a copy without the annotation. */
        bool as_it_stands = azure_annotation(it->service->in, INTERNAL) == NULL;
        lb_plan_because(plan, key, INTERNAL " is \"%s\" → %s", text,
                        as_it_stands            ? "stays external until it is \"true\""
                        : it->service->internal ? "internal"
                                                : "external");
    }
    if (azure_config_is_multi_slb(c)) {
        lb_plan_because(plan, key, "several balancers are configured → placed on %s", it->target);
    } else if (c->standard_sku) {
        lb_plan_because(plan, key,
                        "loadBalancerSku is standard → one balancer for all of its kind");
    } else {
        lb_plan_because(plan, key, "loadBalancerSku is basic → one balancer for each VM set");
    }
}

void azure_describe_one(struct azure_sync *y, struct lb_plan *plan, const struct azure_item *it)
{
    const struct azure_config *c = &y->p->config;
    if (it->target == NULL) {
        return;
    }
    struct lb_plan_service *s = lb_plan_service(plan, it->item->key);
    struct azure_texts ips = azure_addresses_of(y, it->service);
    s->kind =
        arena_printf(y->s->a, "%s, load balancer %s, %s",
                     it->service->internal ? "internal" : "external", it->target, c->location);
    s->address = ips.n > 0 ? ips.items[0] : NULL;
    say_why(plan, it, c);
}

void azure_describe(struct azure_sync *y, struct lb_plan *plan)
{
    for (size_t i = 0; i < y->s->n_items; i++) {
        if (azure_item_takes_part(&y->items[i])) {
            azure_describe_one(y, plan, &y->items[i]);
        }
    }
}
