/* SPDX-License-Identifier: Apache-2.0 */
/* azure_stage_renew.c: public IPs that are recreated under their own names (azure_renew_rules.h).
 *
 *     before     the stage of addresses has made the interim ones
 *     interim    the security group lets clients in there, and an interim frontend is put beside
 *                each frontend, with its rules
 *     renew      the status tells the interim addresses; frontends are taken off, the old public
 *                IPs deleted, and recreated
 *     after      the stage of balancers puts the frontends back, the status tells their addresses,
 *                the stage of releases deletes the interim ones
 *
 * Where Azure takes no second frontend for the same ports (without floating IP, at a limit), the
 * frontends themselves are put on the interim public IPs: clients that go by the status wait until
 * it tells those.  At a quota of public IPs there are no interim ones, frontends are taken off, and
 * a refusal puts back what was (docs/adr/0030-putting-back.md,
 * docs/adr/0072-interim-addresses-serve.md).
 * Source: docs/spec/azure.md 8.7. */
#include "providers/azure/azure_effects.h"
#include "providers/azure/azure_lb_edits.h"
#include "providers/azure/azure_pip_edits.h"
#include "providers/azure/azure_renew_rules.h"
#include "providers/azure/azure_stages.h"
#include "providers/azure/azure_targets.h"
#include "providers/azure/lb/azure_lb_interim_rules.h"
#include "providers/azure/members/azure_members.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/sync/azure_observe.h"

#include "common/base/str.h"

/* ---- the interim ones, in the stage of addresses --------------------------------------------- */

/* A frontend with that public IP cannot be put on another one. */
static int check_frontends(struct azure_sync *y, const struct azure_item *it, const char *pip,
                           struct err *err)
{
    for (size_t i = 0; i < y->lbs.n; i++) {
        struct json_object *lb = y->lbs.items[i];
        struct azure_elements with = azure_lb_with_pip(y->s->a, azure_sync_index(y, lb), lb, pip);
        for (size_t k = 0; k < with.n; k++) {
            struct json_object *o = with.items[k];
            const char *user =
                azure_id_eq(azure_ref(o, "publicIPAddress"), pip)
                    ? azure_frontend_in_use(y->s->a, it->service, azure_doc_id(o), lb)
                    : NULL;
            if (user != NULL) {
                return err_set(err, ERR_IN_USE,
                               "public IP %s would have to be made anew for its IP tags, but %s "
                               "uses frontend IP configuration %s",
                               azure_id_last(pip), user, azure_doc_name(o));
            }
        }
    }
    return ERR_OK;
}

void azure_renew_begin(struct azure_pip_edits *e, struct azure_item *it,
                       const struct azure_pip_ask *ask, struct lb_plan *plan)
{
    struct azure_sync *y = e->y;
    struct arena *a = y->s->a;
    const char *group = ask->service->pip_group;
    const char *name = azure_renew_interim_name(a, ask->service, ask->family);
    struct json_object *was = azure_pip_by_name(a, ask->pips, group, name);
    const char *id = was != NULL ? azure_doc_id(was) : azure_pip_id(a, ask->naming, group, name);
    if (check_frontends(y, it, it->pips[ask->family].id, &it->item->err) != ERR_OK) {
        return;
    }
    if (was == NULL && lb_plan_makes_room(plan, it->item->key, azure_arm_word(AZURE_PIPS))) {
        it->interim[ask->family] = ""; /* what goes has to go first */
        return;
    }
    if (was == NULL) {
        azure_pip_edits_put(e, id, NULL, azure_renew_interim(a, ask),
                            "it stands in while another one is made anew with other IP tags",
                            it->item->key);
    } else if (!azure_pip_owner(a, ask->naming, ask->service, was).owns) {
        (void)err_set(&it->item->err, ERR_IN_USE,
                      "public IP %s is there already and is not the Service's", name);
        return;
    } else if (azure_eq(str_nonnull(azure_prop_str(was, "provisioningState")), "Failed")) {
        azure_pip_edits_put(e, id, was, azure_renew_interim(a, ask), "it is in state Failed",
                            it->item->key);
    } else {
        azure_emit_keep(y, plan, AZURE_PIPS, id, it->item->key);
    }
    it->interim[ask->family] = arena_strdup(y->s->life, id);
}

/* ---- the stage "interim" --------------------------------------------------------------------- */

static bool some_renew(const struct azure_sync *y)
{
    bool some = false;
    for (size_t i = 0; i < y->s->n_items; i++) {
        some = some || azure_renews(&y->items[i]);
    }
    return some;
}

int azure_observe_interim(struct lb_sync *s, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    if (!some_renew(y)) {
        s->observed_fresh = true;
        return ERR_OK;
    }
    azure_need_nothing(y);
    azure_need_lists(y);
    azure_need_vm_sets(y);
    azure_need_nsg(y);
    int rc = azure_see(y, err);
    if (rc == ERR_OK) {
        azure_targets_select(y);
    }
    return rc;
}

/* An interim frontend can serve beside each of those with that public IP. */
static bool fits_beside(struct azure_sync *y, const char *pip)
{
    bool fit = true;
    for (size_t i = 0; i < y->lbs.n; i++) {
        struct json_object *lb = y->lbs.items[i];
        struct azure_lb_index *index = azure_sync_index(y, lb);
        struct azure_elements with = azure_lb_with_pip(y->s->a, index, lb, pip);
        for (size_t k = 0; fit && k < with.n; k++) {
            fit = !azure_id_eq(azure_ref(with.items[k], "publicIPAddress"), pip) ||
                  azure_lb_interim_fits(y->s->a, &y->p->config, index, lb, with.items[k],
                                        azure_rules_per_nic(y));
        }
    }
    return fit;
}

/* There is one for each that goes. */
static bool have_interim(const struct azure_item *it)
{
    bool have = azure_renews(it);
    for (int f = 0; f < AZURE_FAMILIES; f++) {
        have = have && (it->interim[f] == NULL || it->interim[f][0] != '\0');
    }
    return have;
}

/* Can they serve beside those that go?  Once Azure has refused that for want of room, they
 * cannot. */
static bool can_serve_beside(struct azure_sync *y, const struct azure_item *it,
                             struct lb_plan *plan)
{
    bool can = true;
    for (int f = 0; f < AZURE_FAMILIES; f++) {
        can = can && (it->interim[f] == NULL || fits_beside(y, it->pips[f].id));
    }
    return can && !lb_plan_makes_room(plan, it->item->key, azure_arm_word(AZURE_LBS)) &&
           !lb_plan_makes_room(plan, it->item->key, azure_arm_word(AZURE_NSGS));
}

static void put_up(struct azure_lb_edits *b, struct azure_item *it)
{
    for (int f = 0; f < AZURE_FAMILIES; f++) {
        if (it->interim[f] != NULL && it->interim_beside) {
            azure_lb_edits_add_interim(b, it, it->pips[f].id, it->interim[f]);
        } else if (it->interim[f] != NULL) {
            azure_lb_edits_stand_in(b, it, it->pips[f].id, it->interim[f]);
        }
    }
}

int azure_plan_interim(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    struct azure_lb_edits b;
    if (!some_renew(y)) {
        return ERR_OK;
    }
    for (size_t i = 0; i < s->n_items; i++) {
        struct azure_item *it = &y->items[i];
        it->interim_serves = have_interim(it);
        it->interim_beside = it->interim_serves && can_serve_beside(y, it, plan);
    }
    y->interim = true;
    int rc = azure_plan_admit(s, plan, err);
    y->interim = false;
    azure_lb_edits_begin(&b, y, plan);
    for (size_t i = 0; rc == ERR_OK && i < s->n_items; i++) {
        if (azure_renews(&y->items[i]) && y->items[i].interim_serves) {
            put_up(&b, &y->items[i]);
            azure_effects_renews(y, plan, &y->items[i]);
        }
    }
    return rc == ERR_OK ? azure_lb_edits_emit(&b, err) : rc;
}

/* ---- the stage "renew" ----------------------------------------------------------------------- */

int azure_observe_renew(struct lb_sync *s, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    if (!some_renew(y)) {
        azure_need_nothing(y);
        s->observed_fresh = true;
        return ERR_OK;
    }
    return azure_observe_lists(y, err);
}

struct renewal {
    struct azure_lb_edits lbs;
    struct azure_pip_edits gone;
    struct azure_pip_edits made;
};

/* Clients go by the status, which cannot tell yet where the Service is served meanwhile. */
static bool waits_for_address(struct azure_sync *y, struct azure_item *it)
{
    struct azure_texts ips;
    if (y->s->planning || !it->interim_serves || azure_interim_addresses(y, it, &ips)) {
        return false;
    }
    (void)err_set(&it->item->err, ERR_TRANSIENT,
                  "the interim public IP has no address yet, so the former one stays");
    return true;
}

bool azure_leaves_for_interim(struct lb_sync *s, struct lb_item *item)
{
    struct azure_sync *y = azure_sync_of(s);
    const struct azure_item *it = &y->items[item - s->items];
    struct azure_texts ips;
    if (!azure_renews(it) || !it->interim_serves || !azure_interim_addresses(y, it, &ips)) {
        return false;
    }
    azure_tell_addresses(y, it, &ips);
    return true;
}

static void renew(struct renewal *r, struct azure_item *it, enum azure_family f)
{
    struct azure_sync *y = r->made.y;
    struct arena *a = y->s->a;
    const char *id = it->pips[f].id;
    struct json_object *was = azure_pip_by_id(&y->pips, id);
    if (azure_renew_needed(a, &y->p->naming, it->service, f, was)) {
        bool stands_in = it->interim[f][0] != '\0' && !it->interim_serves;
        azure_lb_edits_stand_in(&r->lbs, it, id, stands_in ? it->interim[f] : NULL);
        azure_pip_edits_put(&r->gone, id, was, NULL, "its IP tags cannot be changed", it->item->key)
            ->spared = it->interim_serves;
        azure_pip_index_put(r->made.now, id, NULL);
    }
    struct azure_pips now = azure_pip_edits_now(&r->made);
    const struct azure_pip_ask ask = {
        .naming = &y->p->naming,
        .service = it->service,
        .family = f,
        .pips = &now,
        .zones = y->zones,
        .n_zones = y->n_zones,
        .want = true,
    };
    struct azure_pip_want want;
    if (azure_pip_ensure(a, &ask, &want, &it->item->err) == ERR_OK && want.changed) {
        azure_pip_edits_put(&r->made, want.id, want.was, want.doc,
                            want.was == NULL ? "the annotation asks for other IP tags" : want.why,
                            it->item->key);
    }
}

int azure_plan_renew(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    struct renewal r;
    if (!some_renew(y)) {
        return ERR_OK;
    }
    azure_lb_edits_begin(&r.lbs, y, plan);
    azure_pip_edits_begin(&r.gone, y);
    azure_pip_edits_begin(&r.made, y);
    r.gone.makes_anew = true;
    for (size_t i = 0; i < s->n_items; i++) {
        for (int f = 0; f < AZURE_FAMILIES && !waits_for_address(y, &y->items[i]); f++) {
            if (azure_renews(&y->items[i]) && y->items[i].interim[f] != NULL) {
                renew(&r, &y->items[i], (enum azure_family)f);
            }
        }
        if (!y->items[i].interim_serves) {
            azure_effects_renews(y, plan, &y->items[i]);
        }
    }
    int rc = azure_lb_edits_emit(&r.lbs, err);
    if (rc == ERR_OK) {
        azure_pip_edits_emit(&r.gone, plan);
        azure_pip_edits_emit(&r.made, plan);
    }
    return rc;
}
