/* SPDX-License-Identifier: Apache-2.0 */
/* azure_stage_observe.c: the documents that the stages withdraw, clean, addresses, admit and
 * security need, and what is asked for by name because a list lacks it.
 *
 * The other stages observe beside their plan (azure_stage_*.c). */
#include "providers/azure/azure_admit.h"
#include "providers/azure/azure_first.h"
#include "providers/azure/azure_lb_moves.h"
#include "providers/azure/azure_room.h"
#include "providers/azure/azure_sides.h"
#include "providers/azure/azure_stages.h"
#include "providers/azure/azure_targets.h"
#include "providers/azure/members/azure_members.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/sync/azure_observe.h"

static bool some_take_part(const struct azure_sync *y, bool want)
{
    for (size_t i = 0; i < y->s->n_items; i++) {
        if (azure_item_takes_part(&y->items[i]) && y->items[i].want == want) {
            return true;
        }
    }
    return false;
}

static int see_doubtful(struct azure_sync *y, struct err *err);

int azure_observe_withdraw(struct lb_sync *s, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    azure_need_nothing(y);
    if (some_take_part(y, false)) {
        azure_need_lists(y);
        azure_need_nsg(y);
    }
    int rc = azure_see(y, err);
    rc = rc == ERR_OK && azure_need_groups_in_use(y) ? azure_see(y, err) : rc;
    return rc == ERR_OK && some_take_part(y, false) ? see_doubtful(y, err) : rc;
}

/* The public IP that is generated for the Service is not in the list, nor any other
 * that it uses. */
static bool need_missing_pips(struct azure_sync *y, const struct azure_item *it)
{
    struct arena *a = y->s->a;
    bool some = false;
    for (int f = 0; f < AZURE_FAMILIES; f++) {
        const char *name = azure_pip_name(a, &y->p->naming, it->service->in, (enum azure_family)f);
        const char *id = azure_pip_id(a, &y->p->naming, it->service->pip_group, name);
        if (it->service->has_family[f] && azure_pip_by_id(&y->pips, id) == NULL &&
            !azure_sides_has_pip(y, it->service)) {
            azure_need_one(y, AZURE_PIPS, id);
            some = true;
        }
    }
    return some;
}

/* A Service that goes and had an address has a frontend: where none is listed, its usual balancers
 * are asked for. */
static bool need_missing_lbs(struct azure_sync *y, const struct azure_item *it)
{
    struct arena *a = y->s->a;
    bool some = false;
    for (int kind = 0; kind < 2; kind++) {
        const char *name =
            azure_lb_name(a, &y->p->naming, azure_config_primary_vm_set(&y->p->config), kind == 1);
        if (azure_sync_lb(y, name) == NULL) {
            azure_need_one(
                y, AZURE_LBS,
                azure_arm_id(a, &y->p->arm, AZURE_LBS, y->p->config.lb_resource_group, name));
            some = true;
        }
    }
    return some;
}

/* A gap in a list is not trusted where that would lose a resource: a Service that has an address
 * has a public IP and a frontend.  What is missing is asked for by its name before it is made anew,
 * or taken for gone. */
static int see_doubtful(struct azure_sync *y, struct err *err)
{
    bool more = false;
    for (size_t i = 0; !y->p->offline && i < y->s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        if (!azure_item_takes_part(it) || it->service->in->n_ingress == 0) {
            continue;
        }
        if (!it->service->internal) {
            more = need_missing_pips(y, it) || more;
        }
        if (!it->want && !azure_sides_stands(y, it->service) && !azure_sides_stands(y, it->flip)) {
            more = need_missing_lbs(y, it) || more;
        }
    }
    return more ? azure_see(y, err) : ERR_OK;
}

/* Only what is there can be updated: a Service without a frontend waits for its ENSURE (4.3).  What
 * an edit of the side that was never carried out has left is on the other side. */
static void leave_out_updates(struct azure_sync *y)
{
    for (size_t i = 0; i < y->s->n_items; i++) {
        struct azure_item *it = &y->items[i];
        if (azure_item_takes_part(it) && it->item->in->verb == TT_VERB_UPDATE) {
            bool stands = azure_sides_stands(y, it->service);
            if (!stands && azure_item_is_unproven(it) && azure_sides_stands(y, it->flip)) {
                const struct azure_service *wish = it->service;
                it->service = it->flip;
                it->flip = wish;
                stands = true;
            }
            it->left = !stands;
        }
    }
}

int azure_observe_clean(struct lb_sync *s, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    azure_need_nothing(y);
    azure_need_lists(y);
    azure_need_for_new(y);
    int rc = azure_see(y, err);
    rc = rc == ERR_OK && azure_need_groups_in_use(y) ? azure_see(y, err) : rc;
    if (rc == ERR_OK) {
        azure_sides_settle(y);
        leave_out_updates(y);
        rc = see_doubtful(y, err);
    }
    bool fresh = y->s->observed_fresh;
    if (rc == ERR_OK && y->old.n > 0) {
        rc = azure_observe_decouple(y, y->old.items, y->old.n, err);
        y->s->observed_fresh = y->s->observed_fresh && fresh;
    }
    return rc;
}

int azure_observe_addresses(struct lb_sync *s, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    azure_need_nothing(y);
    azure_need_lists(y);
    if (some_take_part(y, true)) {
        azure_need_zones(y);
        azure_need_vm_sets(y);
    }
    azure_room_need(y);
    int rc = azure_see(y, err);
    if (rc == ERR_OK) {
        azure_targets_select(y); /* who has no place gets no address */
        azure_first_note(y);
    }
    return rc == ERR_OK ? azure_links_observe_first(y, err) : rc;
}

int azure_observe_security(struct lb_sync *s, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    azure_lb_moves_arrived(y);
    azure_need_nothing(y);
    azure_need_lists(y);
    if (some_take_part(y, true)) {
        azure_need_nsg(y);
    }
    int rc = azure_see(y, err);
    for (size_t i = 0; rc == ERR_OK && !y->s->planning && i < s->n_items; i++) {
        if (azure_item_takes_part(&y->items[i]) && y->items[i].want) {
            azure_remember(y, &y->items[i]);
        }
    }
    return rc;
}

/* The security group is asked for only when some Service has moved. */
int azure_observe_close(struct lb_sync *s, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    bool some = false;
    azure_need_nothing(y);
    for (size_t i = 0; i < s->n_items; i++) {
        some = some || (azure_item_takes_part(&y->items[i]) && y->items[i].closes_later);
    }
    if (!some) {
        return ERR_OK;
    }
    azure_need_lists(y);
    azure_need_nsg(y);
    return azure_see(y, err);
}

/* The security group is asked for only when it is to be written before the balancers. */
int azure_observe_admit(struct lb_sync *s, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    azure_need_nothing(y);
    azure_need_balancers(y);
    azure_need_vm_sets(y);
    int rc = azure_see(y, err);
    if (rc != ERR_OK) {
        return rc;
    }
    azure_targets_select(y);
    if (!azure_admit_any(y)) {
        return ERR_OK;
    }
    azure_need_nsg(y);
    return azure_see(y, err);
}
