/* SPDX-License-Identifier: Apache-2.0 */
/* azure_stage_renew.c: public IPs that are recreated under their own names (azure_renew_rules.h).
 *
 *     before     the stage of addresses has made the interim ones
 *     here       frontends are put on the interim ones, the old ones deleted, and recreated
 *     at a quota there are no interim ones: frontends are taken off meanwhile
 *     after      the stage of balancers puts the frontends back, the stage of releases deletes the
 *                interim ones
 *
 * A refusal here puts back what was; where the old address is gone, that is another one
 * (docs/adr/0030-putting-back.md).
 * Source: docs/spec/azure.md 8.7. */
#include "providers/azure/azure_effects.h"
#include "providers/azure/azure_lb_edits.h"
#include "providers/azure/azure_pip_edits.h"
#include "providers/azure/azure_renew_rules.h"
#include "providers/azure/azure_stages.h"
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
    } else if (azure_pip_owner(a, ask->naming, ask->service, was).owns) {
        azure_emit_keep(y, plan, AZURE_PIPS, id, it->item->key);
    } else {
        (void)err_set(&it->item->err, ERR_IN_USE,
                      "public IP %s is there already and is not the Service's", name);
        return;
    }
    it->interim[ask->family] = arena_strdup(y->s->life, id);
}

/* ---- the stage ------------------------------------------------------------------------------- */

static bool some_renew(const struct azure_sync *y)
{
    bool some = false;
    for (size_t i = 0; i < y->s->n_items; i++) {
        some = some || azure_renews(&y->items[i]);
    }
    return some;
}

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

static void renew(struct renewal *r, struct azure_item *it, enum azure_family f)
{
    struct azure_sync *y = r->made.y;
    struct arena *a = y->s->a;
    const char *id = it->pips[f].id;
    struct json_object *was = azure_pip_by_id(&y->pips, id);
    if (azure_renew_needed(a, &y->p->naming, it->service, f, was)) {
        azure_lb_edits_stand_in(&r->lbs, it, id, it->interim[f][0] != '\0' ? it->interim[f] : NULL);
        azure_pip_edits_put(&r->gone, id, was, NULL, "its IP tags cannot be changed",
                            it->item->key);
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
        for (int f = 0; f < AZURE_FAMILIES; f++) {
            if (azure_renews(&y->items[i]) && y->items[i].interim[f] != NULL) {
                renew(&r, &y->items[i], (enum azure_family)f);
            }
        }
        azure_effects_renews(y, plan, &y->items[i]);
    }
    int rc = azure_lb_edits_emit(&r.lbs, err);
    if (rc == ERR_OK) {
        azure_pip_edits_emit(&r.gone, plan);
        azure_pip_edits_emit(&r.made, plan);
    }
    return rc;
}
