/* SPDX-License-Identifier: Apache-2.0 */
/* azure_stage_addresses.c: public IPs before the balancers, and their release after all else.
 *
 * Made and changed side by side, 16 at a time; several Services may share one.  What a Service
 * needs and what it may let go is decided in azure_pip_rules.h.  Source: docs/spec/azure.md
 * 8, 12.6 (3), (7). */
#include "common/base/str.h"
#include "common/lb/findings.h"
#include "common/lb/mark_rules.h"
#include "providers/azure/azure_effects.h"
#include "providers/azure/azure_first.h"
#include "providers/azure/azure_join.h"
#include "providers/azure/azure_lb_edits.h"
#include "providers/azure/azure_pip_edits.h"
#include "providers/azure/azure_renew_rules.h"
#include "providers/azure/azure_room.h"
#include "providers/azure/azure_stages.h"
#include "providers/azure/azure_taken_rules.h"
#include "providers/azure/members/azure_members.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/sync/azure_observe.h"

/* ---- making ---------------------------------------------------------------------------------- */

/* Later stages ask for its ID, and for its name as Azure spells it: an annotation may write
 * it in another case. */
static void keep_for_later(struct arena *life, struct azure_pip_want *want)
{
    const char *name = want->was != NULL ? azure_doc_name(want->was) : want->name;
    *want = (struct azure_pip_want){
        .name = arena_strdup(life, name),
        .id = arena_strdup(life, want->id),
    };
}

/* Azure would refuse the public IP at each try. */
static int check_group(struct azure_sync *y, const struct azure_service *s,
                       const struct azure_pip_want *want, struct err *err)
{
    const char *scope = azure_arm_collection(y->s->a, &y->p->arm, AZURE_PIPS, s->pip_group);
    if (want->was != NULL || !azure_seen_no_group(y, AZURE_PIPS, scope)) {
        return ERR_OK;
    }
    return err_set(err, ERR_NOT_FOUND,
                   "public IP %s cannot be made: resource group %s does not exist", want->name,
                   s->pip_group);
}

/* Which public IP the Service needs, as those before it in the batch leave the list.  False: it
 * needs none that it may have. */
static bool decide(struct azure_pip_edits *e, struct azure_item *it, enum azure_family f,
                   struct azure_pip_ask *ret_ask, struct azure_pips *now)
{
    struct azure_sync *y = e->y;
    struct azure_pip_want *want = &it->pips[f];
    *now = azure_pip_edits_now(e);
    it->interim[f] = NULL;
    *ret_ask = (struct azure_pip_ask){
        .naming = &y->p->naming,
        .service = it->service,
        .family = f,
        .pips = now,
        .zones = y->zones,
        .n_zones = y->n_zones,
        .want = true,
    };
    return azure_pip_ensure(y->s->a, ret_ask, want, &it->item->err) == ERR_OK &&
           check_group(y, it->service, want, &it->item->err) == ERR_OK &&
           azure_taken_check_pip(y->s->a, &y->p->naming, want->was, want->name, &it->item->err) ==
               ERR_OK;
}

/* The status has to tell the address: nodes that come and go, and the way back to what was asked
 * for before, leave it as it is. */
static bool may_renew(const struct azure_item *it)
{
    return it->item->in->verb == TT_VERB_ENSURE && !lb_leads_back(it->item->in);
}

static void item_ensure(struct azure_pip_edits *e, struct azure_item *it, enum azure_family f,
                        struct lb_plan *plan)
{
    struct azure_sync *y = e->y;
    struct azure_pip_want *want = &it->pips[f];
    struct azure_pip_ask ask;
    struct azure_pips now;
    if (!decide(e, it, f, &ask, &now)) {
        return;
    }
    const char *stay = azure_renew_refusal(y->s->a, &y->p->naming, it->service, f, want->was);
    if (stay != NULL) {
        lb_finding(y->s, it->item, LB_FINDING_IGNORED, AZURE_ANNOTATION_PREFIX "azure-pip-ip-tags",
                   "%s", stay);
    }
    if (azure_renew_needed(y->s->a, &y->p->naming, it->service, f, want->was) && may_renew(it)) {
        azure_renew_begin(e, it, &ask, plan);
    } else if (want->changed) {
        azure_pip_edits_put(e, want->id, want->was, want->doc, want->why, it->item->key);
    } else {
        azure_emit_keep(y, plan, AZURE_PIPS, want->id, it->item->key);
    }
    keep_for_later(y->s->life, want);
}

static bool needs_pip(const struct azure_item *it, int f)
{
    return azure_item_is_carried_out(it) && it->want && !it->service->internal &&
           it->service->has_family[f];
}

/* Does the Service come to a public IP that other Services have? */
static bool comes_to_others(struct azure_sync *y, const struct azure_item *it, enum azure_family f)
{
    const struct azure_pip_want *want = &it->pips[f];
    if (want->was == NULL || !want->changed) {
        return false;
    }
    struct azure_pip_ownership o = azure_pip_owner(y->s->a, &y->p->naming, it->service, want->was);
    return o.n_services > 0 && !azure_pip_names(&o, it->item->key);
}

/* May new Services be one too many for a balancer? */
static bool is_tight(struct azure_sync *y)
{
    const struct azure_config *c = &y->p->config;
    size_t frontends = 0;
    size_t rules = 0;
    for (size_t i = 0; i < y->s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        for (int f = 0; f < AZURE_FAMILIES; f++) {
            bool comes = needs_pip(it, f) && it->service->in->n_ingress == 0;
            frontends += comes;
            rules += comes ? it->service->in->n_ports : 0;
        }
    }
    size_t per_nic = azure_rules_per_nic(y);
    bool tight = azure_lb_is_tight(c, NULL, frontends, rules, per_nic);
    for (size_t i = 0; frontends > 0 && i < y->lbs.n; i++) {
        struct json_object *lb = y->lbs.items[i];
        tight = tight || (!azure_lb_is_internal(azure_doc_name(lb)) &&
                          azure_lb_is_tight(c, lb, frontends, rules, per_nic));
    }
    return tight;
}

/* A Service that cannot be put onto its balancer gets no address, and takes no part in that of
 * others: it leaves the batch here, for the reason for which it would leave it later, and neither a
 * public IP nor a tag of it is left. */
static void refuse_unplaced(struct azure_sync *y, struct lb_plan *plan)
{
    struct azure_pip_edits e;
    bool some = is_tight(y);
    azure_pip_edits_begin(&e, y);
    for (size_t i = 0; i < y->s->n_items; i++) {
        struct azure_item *it = &y->items[i];
        for (int f = 0; f < AZURE_FAMILIES; f++) {
            struct azure_pip_ask ask;
            struct azure_pips now;
            if (!needs_pip(it, f) || !decide(&e, it, (enum azure_family)f, &ask, &now)) {
                continue;
            }
            some = some || comes_to_others(y, it, (enum azure_family)f);
            if (it->pips[f].changed) {
                azure_pip_edits_put(&e, it->pips[f].id, it->pips[f].was, it->pips[f].doc,
                                    it->pips[f].why, it->item->key);
            }
        }
    }
    if (some) {
        azure_join_try(y, plan, true);
    }
}

int azure_plan_addresses(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    struct azure_pip_edits e;
    (void)err;
    azure_links_check_first(y, plan);
    azure_room_check(y);
    refuse_unplaced(y, plan);
    azure_pip_edits_begin(&e, y);
    for (size_t i = 0; i < s->n_items; i++) {
        for (int f = 0; f < AZURE_FAMILIES; f++) {
            if (needs_pip(&y->items[i], f)) {
                item_ensure(&e, &y->items[i], (enum azure_family)f, plan);
            }
        }
    }
    azure_pip_edits_emit(&e, plan);
    return ERR_OK;
}

/* ---- releasing ------------------------------------------------------------------------------- */

/* The public IP that the Service uses; NULL: none of this family. */
static const struct azure_pip_want *desired(const struct azure_item *it, enum azure_family f)
{
    bool external = it->want && !it->service->internal && it->service->has_family[f];
    return external && it->pips[f].name != NULL ? &it->pips[f] : NULL;
}

/* A Service that stays, but uses a shared public IP no more, takes its name away: else no Service
 * would be the last one. */
static void item_unbind(struct azure_pip_edits *e, struct azure_item *it, enum azure_family f)
{
    struct arena *a = e->y->s->a;
    _cleanup_(arena_freep) struct arena *passing =
        arena_new(); /* a list per Service would add up */
    struct azure_pips now = azure_pip_edits_of(passing, e, it->service, f);
    const struct azure_pip_want *used = desired(it, f);
    for (size_t i = 0; it->want && i < now.n; i++) {
        struct json_object *pip = now.items[i];
        struct azure_pip_ownership o = azure_pip_owner(a, &e->y->p->naming, it->service, pip);
        if (!o.owns || o.n_services < 2 || !azure_pip_names(&o, it->item->key) ||
            (used != NULL && azure_id_eq(azure_doc_id(pip), used->id))) {
            continue;
        }
        struct json_object *doc = azure_copy(a, pip);
        const char *const *left;
        size_t n;
        if (azure_pip_unbind(a, json_member(doc, "tags"), it->item->key, false, &left, &n,
                             &it->item->err) == ERR_OK) {
            azure_pip_edits_put(e, azure_doc_id(pip), pip, doc,
                                "a Service does not use it any more", it->item->key);
        }
    }
}

static void item_release(struct azure_pip_edits *e, struct azure_lb_edits *lbs,
                         struct azure_item *it, enum azure_family f)
{
    struct azure_sync *y = e->y;
    _cleanup_(arena_freep) struct arena *passing = arena_new();
    struct azure_pips now = azure_pip_edits_of(passing, e, it->service, f);
    const struct azure_pip_want *used = desired(it, f);
    struct azure_pip_releases out;
    const struct azure_pip_ask ask = {
        .naming = &y->p->naming,
        .service = it->service,
        .family = f,
        .pips = &now,
        .want = it->want,
        .by_marks = true,
        .namesake = it->want ? NULL : azure_sync_namesake(y, it->service),
        .desired = used != NULL ? used->name : NULL,
        .desired_id = used != NULL ? used->id : NULL,
    };
    if (azure_pip_releases(y->s->a, &ask, &out, &it->item->err) != ERR_OK) {
        return;
    }
    for (size_t i = 0; i < out.n; i++) {
        struct json_object *pip = out.items[i].pip;
        bool goes = out.items[i].doc == NULL;
        if (goes && it->taken_back && !azure_first_made(y, it, azure_doc_id(pip))) {
            continue; /* it was there before */
        }
        if (goes && !azure_lb_edits_detach(lbs, it, azure_doc_id(pip)) && it->want) {
            continue; /* it would be refused with each sync; the Service that goes tries it once */
        }
        azure_pip_edits_put(e, azure_doc_id(pip), pip, out.items[i].doc,
                            it->taken_back ? "its Service is refused" : out.items[i].why,
                            it->item->key);
    }
}

/* Both families, also the one that the Service does not have (any more): its address would
 * be left for ever. */
int azure_plan_release(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    struct azure_lb_edits lbs;
    struct azure_pip_edits e;
    azure_pip_edits_begin(&e, y);
    azure_lb_edits_begin(&lbs, y, plan);
    size_t n;
    struct azure_item **items =
        azure_items_in_order(y, &n); /* who goes first makes others the last */
    for (size_t i = 0; i < n; i++) {
        if (azure_item_is_carried_out(items[i]) && items[i]->want) {
            azure_lb_edits_drop_former(&lbs, items[i]);
        }
        for (int f = 0; f < AZURE_FAMILIES && !azure_item_is_unproven(items[i]); f++) {
            item_unbind(&e, items[i], (enum azure_family)f);
            item_release(&e, &lbs, items[i], (enum azure_family)f);
        }
    }
    int rc = azure_lb_edits_emit(&lbs, err);
    if (rc == ERR_OK) {
        azure_pip_edits_emit(&e, plan);
        struct azure_pips left = azure_pip_edits_now(&e);
        left.items = azure_pip_index_all(s->a, e.now, &left.n);
        azure_effects_end(y, plan, &left);
    }
    return rc;
}

/* ---- what must be known for it --------------------------------------------------------------- */

/* Does the public IP of this frontend belong to a Service that lets it go? */
static bool is_released(struct azure_sync *y, struct json_object *frontend)
{
    const char *id = azure_ref(frontend, "publicIPAddress");
    struct json_object *pip = id != NULL ? azure_pip_by_id(&y->pips, id) : NULL;
    for (size_t i = 0; pip != NULL && i < y->s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        if (azure_item_is_carried_out(it) && (!it->want || it->service->internal) &&
            azure_pip_owner(y->s->a, &y->p->naming, it->service, pip).owns) {
            return true;
        }
    }
    return false;
}

int azure_observe_release(struct lb_sync *s, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    int rc = azure_observe_lists(y, err);
    bool fresh = y->s->observed_fresh;
    struct json_object **going = ARENA_ARRAY(s->a, struct json_object *, y->lbs.n + 1);
    size_t n = 0;
    for (size_t i = 0; rc == ERR_OK && i < y->lbs.n; i++) {
        struct json_object *o;
        bool all = !azure_lb_is_internal(azure_doc_name(y->lbs.items[i]));
        AZURE_EACH (o, azure_array(y->lbs.items[i], "frontendIPConfigurations")) {
            all = all && is_released(y, o);
        }
        if (all && !azure_lb_is_orphan(y->lbs.items[i])) {
            going[n++] = y->lbs.items[i];
        }
    }
    if (n > 0) {
        rc = azure_observe_decouple(y, going, n, err);
        y->s->observed_fresh = y->s->observed_fresh && fresh;
    }
    return rc;
}
