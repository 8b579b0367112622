/* SPDX-License-Identifier: Apache-2.0 */
/* azure_effects.c: see azure_effects.h.  Pure. */
#include "providers/azure/azure_effects.h"
#include "common/base/str.h"
#include "providers/azure/model/azure_access_rules.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/model/azure_names.h"
#include "providers/azure/pip/azure_pip_find.h"

/* A public IP hangs on one frontend at a time. */
static const char interrupted[] =
    "Traffic is interrupted until the other load balancer is written.";

/* Without room for one more, what goes has to go first. */
static const char *renewed(const struct azure_item *it)
{
    bool full = false;
    for (int f = 0; f < AZURE_FAMILIES; f++) {
        full = full || (it->interim[f] != NULL && it->interim[f][0] == '\0');
    }
    if (it->interim_serves && !it->interim_beside) {
        return "Traffic is interrupted until the status shows an interim address, and again until "
               "it shows the new one: Azure changes no IP tags, so the public IP is made anew, and "
               "it takes no second frontend for the same ports here.";
    }
    if (it->interim_serves) {
        return str_is_empty(it->service->dns_label)
                   ? "Azure changes no IP tags, so the public IP is made anew; an interim address, "
                     "which the status shows meanwhile, serves until the new one does."
                   : "Azure changes no IP tags, so the public IP is made anew; an interim address, "
                     "which the status shows meanwhile, serves until the new one does. The DNS "
                     "label is interrupted until the new public IP has it.";
    }
    return full ? "Traffic is interrupted until the load balancer has the new address: Azure "
                  "changes no IP tags, so the public IP is made anew. If Azure refuses the tags, "
                  "the former ones come back, with another address."
                : "Traffic is interrupted until the load balancer has the new address: Azure "
                  "changes no IP tags, so the public IP is made anew. If Azure refuses the tags, "
                  "the former address stays.";
}

/* ---- before ---------------------------------------------------------------------------------- */

static const char *owner_of(struct azure_sync *y, const struct azure_item *it,
                            const struct azure_lbs *lbs)
{
    for (size_t i = 0; i < lbs->n; i++) {
        struct json_object *o;
        bool internal = azure_lb_is_internal(azure_doc_name(lbs->items[i]));
        const struct azure_service *s = internal == it->service->internal ? it->service : it->flip;
        AZURE_EACH (o, azure_array(lbs->items[i], "frontendIPConfigurations")) {
            if (azure_sync_owner(y, s, o).owns) {
                return azure_doc_name(lbs->items[i]);
            }
        }
    }
    return NULL;
}

/* The published address; without one there is no effect on clients. */
static struct azure_texts told(struct azure_sync *y, const struct azure_item *it)
{
    const struct tt_service *in = it->service->in;
    const char **items = ARENA_ARRAY(y->s->a, const char *, in->n_ingress + 1);
    struct azure_texts t = {.items = items};
    for (uint32_t i = 0; i < in->n_ingress; i++) {
        if (!str_is_empty(in->ingress[i].ip)) {
            items[t.n++] = in->ingress[i].ip;
        }
    }
    return t;
}

static void describe_going(struct azure_sync *y, struct lb_plan *plan, const struct azure_item *it)
{
    struct lb_plan_service *s = lb_plan_service(plan, it->item->key);
    struct azure_texts ips = told(y, it);
    if (it->was_on != NULL) {
        s->kind = arena_printf(y->s->a, "%s, load balancer %s, %s",
                               azure_lb_is_internal(it->was_on) ? "internal" : "external",
                               it->was_on, y->p->config.location);
    }
    s->address = ips.n > 0 ? ips.items[0] : NULL;
}

void azure_effects_moves(struct azure_sync *y, struct lb_plan *plan, const struct azure_item *it)
{
    if (!y->s->planning && told(y, it).n > 0) {
        lb_plan_effect(plan, it->item->key, "%s", interrupted);
    }
}

void azure_effects_hands_over(struct azure_sync *y, struct lb_plan *plan,
                              const struct azure_item *it)
{
    if (told(y, it).n > 0) {
        lb_plan_effect(plan, it->item->key,
                       "Traffic is interrupted until the load balancer is written a second time: "
                       "a private address passes from one frontend to another.");
    }
}

void azure_effects_exchanges(struct azure_sync *y, struct lb_plan *plan,
                             const struct azure_item *it, bool shared)
{
    (void)y;
    lb_plan_effect(
        plan, it->item->key, "Traffic is interrupted until the status shows the new address: %s.",
        shared ? "the Service leaves an address that it shares"
        : it->service->internal
            ? "a frontend has one private address at a time"
            : "a frontend has one public IP at a time, and Azure takes no second one for "
              "the same ports here");
}

void azure_effects_renews(struct azure_sync *y, struct lb_plan *plan, const struct azure_item *it)
{
    if (!y->s->planning && azure_renews(it) && told(y, it).n > 0) {
        lb_plan_effect(plan, it->item->key, "%s", renewed(it));
    }
}

void azure_effects_begin(struct azure_sync *y, struct lb_plan *plan)
{
    for (size_t i = 0; i < y->s->n_items; i++) {
        struct azure_item *it = &y->items[i];
        if (!azure_item_takes_part(it)) {
            continue;
        }
        const char *old = owner_of(y, it, &y->old);
        if (!y->s->planning) {
            if (old != NULL && it->want) {
                azure_effects_moves(y, plan, it);
            }
            continue;
        }
        it->was_on = old != NULL ? old : owner_of(y, it, &y->lbs);
        it->was_old = old != NULL;
        if (!it->want) {
            describe_going(y, plan, it);
        }
    }
}

/* ---- after ----------------------------------------------------------------------------------- */

static bool has(const struct azure_texts *t, const char *ip)
{
    for (size_t i = 0; i < t->n; i++) {
        if (str_eq(t->items[i], ip)) {
            return true;
        }
    }
    return false;
}

static bool is_left(const struct azure_pips *left, const char *ip)
{
    for (size_t i = 0; i < left->n; i++) {
        if (str_eq(azure_pip_address(left->items[i]), ip)) {
            return true;
        }
    }
    return false;
}

static void say_gone(struct azure_sync *y, struct lb_plan *plan, const struct azure_item *it,
                     const struct azure_pips *left)
{
    struct azure_texts before = told(y, it);
    size_t kept = 0;
    for (size_t i = 0; i < before.n; i++) {
        kept += is_left(left, before.items[i]);
    }
    if (before.n > 0 && kept == before.n) {
        lb_plan_effect(plan, it->item->key, "The public IP stays.");
    } else if (before.n > 0) {
        lb_plan_effect(plan, it->item->key,
                       before.n > 1 ? "The addresses are given up." : "The address is given up.");
    }
}

/* An address of the Service whose public IP the plan deletes is none. */
static const char *new_address(struct azure_sync *y, const struct azure_item *it,
                               const struct azure_texts *before, const struct azure_pips *left)
{
    struct azure_texts after = azure_addresses_of(y, it->service);
    for (size_t i = 0; i < after.n; i++) {
        bool there = it->service->internal || is_left(left, after.items[i]);
        if (there && !has(before, after.items[i])) {
            return after.items[i];
        }
    }
    return NULL;
}

/* The first address that clients lose, or NULL; `ret_kept` of them stay. */
static const char *lost(struct azure_sync *y, const struct azure_item *it,
                        const struct azure_texts *before, const struct azure_pips *left,
                        size_t *ret_kept)
{
    const struct azure_access *access = azure_access_read(y->s->a, it->service);
    struct azure_texts after = azure_addresses_of(y, it->service);
    const char *first = NULL;
    for (size_t i = 0; i < before->n; i++) {
        const char *ip = before->items[i];
        bool there = has(&after, ip) && (it->service->internal || is_left(left, ip));
        if (there || has(&access->additional, ip)) {
            (*ret_kept)++;
        } else if (first == NULL) {
            first = ip;
        }
    }
    return first;
}

static bool moves(const struct azure_item *it)
{
    return it->was_on != NULL && it->target != NULL &&
           azure_lb_is_internal(it->was_on) == it->service->internal &&
           (it->was_old || !azure_eq(it->was_on, it->target));
}

static void say_kept(struct azure_sync *y, struct lb_plan *plan, const struct azure_item *it,
                     const struct azure_pips *left)
{
    const char *key = it->item->key;
    struct azure_texts before = told(y, it);
    size_t kept = 0;
    const char *gone = lost(y, it, &before, left, &kept);
    const char *now = new_address(y, it, &before, left);
    if (before.n == 0) {
        return; /* not in use yet */
    }
    if (gone == NULL) {
        lb_plan_effect(plan, key, before.n > 1 ? "The addresses stay." : "The address stays.");
    } else if (now != NULL) {
        lb_plan_effect(plan, key, "The address changes from %s to %s.", gone, now);
    } else if (kept > 0) {
        lb_plan_effect(plan, key, "The address %s is given up.", gone);
    } else {
        lb_plan_effect(plan, key, "The address changes: %s is given up.", gone);
    }
    if (moves(it)) {
        lb_plan_effect(plan, key, "%s", interrupted);
    }
    if (azure_renews(it)) {
        lb_plan_effect(plan, key, "%s", renewed(it));
    }
}

void azure_effects_end(struct azure_sync *y, struct lb_plan *plan, const struct azure_pips *left)
{
    for (size_t i = 0; i < y->s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        if (!azure_item_takes_part(it)) {
            continue;
        }
        if (y->s->planning && it->want) {
            say_kept(y, plan, it, left);
        } else if (y->s->planning) {
            say_gone(y, plan, it, left);
        }
    }
}
