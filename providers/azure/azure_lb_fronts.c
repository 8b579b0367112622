/* SPDX-License-Identifier: Apache-2.0 */
/* azure_lb_fronts.c: frontends by their public IPs: taken off, put on another one, doubled for a
 * while; and former ones, which go when the status tells the new address (azure_lb_edits.h). */
#include "common/base/str.h"
#include "providers/azure/azure_lb_edits.h"
#include "providers/azure/lb/azure_lb_interim_rules.h"
#include "providers/azure/lb/azure_local_rules.h"
#include "providers/azure/model/azure_doc.h"

/* ---- by public IP ---------------------------------------------------------------------------- */

static void drop_frontend(struct json_object *lb, const char *frontend)
{
    static const char *const arrays[] = {"loadBalancingRules", "frontendIPConfigurations"};
    for (size_t k = 0; k < ARRAY_LEN(arrays); k++) {
        struct json_object *array = azure_array(lb, arrays[k]);
        for (size_t i = json_len(array); i > 0; i--) {
            struct json_object *o = json_object_array_get_idx(array, i - 1);
            if (azure_id_eq(azure_ref(o, "frontendIPConfiguration"), frontend) ||
                azure_id_eq(azure_doc_id(o), frontend)) {
                azure_array_drop(array, i - 1);
            }
        }
    }
}

struct visit {
    struct azure_lb_edits *b;
    struct azure_item *it;
    const char *pip;
    const char *by;
    bool all; /* detaching: no frontend has stayed */
    void (*each)(struct visit *v, struct azure_lb_edit *e, struct json_object *frontend);
};

/* Every frontend with the public IP. */
static void visit_with(struct visit *v)
{
    struct azure_sync *y = v->b->y;
    for (size_t i = 0; i < y->lbs.n; i++) {
        struct json_object *lb = y->lbs.items[i];
        struct azure_elements with =
            azure_lb_with_pip(y->s->a, azure_sync_index(y, lb), lb, v->pip);
        for (size_t k = 0; k < with.n; k++) {
            if (azure_id_eq(azure_ref(with.items[k], "publicIPAddress"), v->pip)) {
                v->each(v, &v->b->items[azure_lb_edits_of(v->b, azure_doc_name(lb))],
                        with.items[k]);
            }
        }
    }
}

static void note_edit(const struct azure_lb_edits *b, struct azure_lb_edit *e,
                      const struct azure_item *it)
{
    struct arena *a = b->y->s->a;
    e->index = azure_lb_index_new(a, e->doc);
    azure_owners_add(a, &e->owners, it->item->key);
    e->changed = e->frontends_changed = true;
}

static void detach(struct visit *v, struct azure_lb_edit *e, struct json_object *frontend)
{
    const char *id = azure_doc_id(frontend);
    if (azure_frontend_in_use(v->b->y->s->a, v->it->service, id, e->was) != NULL) {
        v->all = false;
        return;
    }
    drop_frontend(azure_lb_edits_doc(v->b, e), id);
    note_edit(v->b, e, v->it);
}

bool azure_lb_edits_detach(struct azure_lb_edits *b, struct azure_item *it, const char *pip)
{
    struct visit v = {.b = b, .it = it, .pip = pip, .all = true, .each = detach};
    visit_with(&v);
    return v.all;
}

static void add_interim(struct visit *v, struct azure_lb_edit *e, struct json_object *frontend)
{
    struct json_object *doc = azure_lb_edits_doc(v->b, e);
    if (azure_lb_interim_add(v->b->y->s->a, e->index, doc, frontend, azure_id_last(v->by), v->by)) {
        note_edit(v->b, e, v->it);
    }
}

void azure_lb_edits_add_interim(struct azure_lb_edits *b, struct azure_item *it, const char *pip,
                                const char *by)
{
    struct visit v = {.b = b, .it = it, .pip = pip, .by = by, .each = add_interim};
    visit_with(&v);
}

/* The frontend gets another public IP; NULL: it goes, with its rules. */
static void put_on(struct visit *v, struct azure_lb_edit *e, struct json_object *frontend)
{
    struct json_object *doc = azure_lb_edits_doc(v->b, e);
    if (v->by == NULL) {
        drop_frontend(doc, azure_doc_id(frontend));
    } else {
        struct json_object *frontends = azure_array(doc, "frontendIPConfigurations");
        struct json_object *props =
            azure_props_make(azure_find(frontends, azure_doc_name(frontend)));
        json_object_object_del(props, "publicIPAddress");
        json_add(props, "publicIPAddress", azure_ref_new(v->by));
    }
    note_edit(v->b, e, v->it);
    e->until_pip = v->it->interim_serves ? NULL : v->pip;
}

void azure_lb_edits_stand_in(struct azure_lb_edits *b, struct azure_item *it, const char *pip,
                             const char *by)
{
    struct visit v = {.b = b, .it = it, .pip = pip, .by = by, .each = put_on};
    visit_with(&v);
}

/* ---- former ones ----------------------------------------------------------------------------- */

/* Does a frontend of that family, or of the other one when the Service gives that family up, serve
 * that is no former one: the Service's own, or one that it shares? */
static bool other_serves(struct azure_sync *y, const struct azure_service *s,
                         const struct azure_elements *mine, enum azure_family f)
{
    bool serves = false;
    for (size_t i = 0; i < mine->n && !serves; i++) {
        struct json_object *o = mine->items[i];
        struct azure_ownership owner = azure_sync_owner(y, s, o);
        serves = owner.owns && !azure_frontend_is_former(s, azure_doc_name(o)) &&
                 (!s->has_family[f] || azure_frontend_family(s, o, &owner) == f) &&
                 (y->s->planning || !str_is_empty(azure_sync_frontend_address(y, o)));
    }
    return serves;
}

bool azure_lb_former_goes(struct azure_sync *y, const struct azure_service *s,
                          struct json_object *lb, struct json_object *frontend)
{
    struct azure_elements mine = azure_sync_frontends(y, s, lb);
    struct azure_ownership owner = azure_sync_owner(y, s, frontend);
    return owner.primary && azure_frontend_is_former(s, azure_doc_name(frontend)) &&
           other_serves(y, s, &mine, azure_frontend_family(s, frontend, &owner)) &&
           azure_frontend_in_use(y->s->a, s, azure_doc_id(frontend), lb) == NULL;
}

/* A frontend of a family that is given up had a pool of its own, if the Service is Local. */
static void drop_former(struct azure_lb_edits *b, struct azure_item *it, struct json_object *lb)
{
    struct azure_sync *y = b->y;
    const struct azure_service *s = it->service;
    bool local = azure_local_counts(&y->p->config, s->in);
    const bool keep[AZURE_FAMILIES] = {local && s->has_family[AZURE_IPV4],
                                       local && s->has_family[AZURE_IPV6]};
    struct azure_elements mine = azure_sync_frontends(y, s, lb);
    for (size_t i = 0; i < mine.n; i++) {
        struct json_object *o = mine.items[i];
        if (azure_lb_former_goes(y, s, lb, o)) {
            struct azure_lb_edit *e = &b->items[azure_lb_edits_of(b, azure_doc_name(lb))];
            drop_frontend(azure_lb_edits_doc(b, e), azure_doc_id(o));
            (void)azure_local_drop_pools(&y->p->naming, s->in, keep, e->doc);
            note_edit(b, e, it);
        }
    }
}

void azure_lb_edits_drop_former(struct azure_lb_edits *b, struct azure_item *it)
{
    for (size_t i = 0; i < b->y->lbs.n; i++) {
        struct json_object *lb = b->y->lbs.items[i];
        if (azure_lb_is_internal(azure_doc_name(lb)) == it->service->internal) {
            drop_former(b, it, lb);
        }
    }
}
