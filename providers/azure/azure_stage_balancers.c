/* SPDX-License-Identifier: Apache-2.0 */
/* azure_stage_balancers.c: all Services of the batch into the documents of their load balancers: one write each.
 *
 * Deletions first, then the others in the order of their creation: whoever comes later finds the ports taken.  A Service
 * that moves from one balancer to another leaves the old one first, because a public IP hangs on one frontend only.  A
 * Service that cannot be put into its document fails alone; the document stays as it was for the next.
 * Source: docs/spec/azure.md 5.3, 6, 12.6 (4). */
#include "providers/azure/azure_access_rules.h"
#include "providers/azure/azure_doc.h"
#include "providers/azure/azure_emit.h"
#include "providers/azure/azure_lb_diff.h"
#include "providers/azure/azure_members.h"
#include "providers/azure/azure_observe.h"
#include "providers/azure/azure_tags_rules.h"

#include "common/base/str.h"

#include <stdlib.h>
#include <string.h>

/* A balancer under edit. */
struct azure_lb_edit {
    const char *name;
    struct json_object *was; /* NULL: to be made */
    struct json_object *doc; /* the copy that is edited; NULL: not yet */
    struct azure_owners owners;
    bool changed;
    bool frontends_changed;
    bool left; /* a Service leaves it for another balancer: written before that one */
};

struct batch {
    struct azure_sync *y;
    struct lb_plan *plan;
    struct azure_lb_edit *edits;
    size_t n_edits;
};

static struct azure_lb_edit *edit_of(struct batch *b, const char *name)
{
    for (size_t i = 0; i < b->n_edits; i++) {
        if (azure_eq(b->edits[i].name, name)) {
            return &b->edits[i];
        }
    }
    struct azure_lb_edit *e = &b->edits[b->n_edits++];
    *e = (struct azure_lb_edit){.name = name, .was = azure_sync_lb(b->y, name)};
    return e;
}

static struct json_object *doc_of(struct batch *b, struct azure_lb_edit *e)
{
    if (e->doc == NULL) {
        struct arena *a = b->y->s->a;
        e->doc =
            e->was != NULL ? azure_copy(a, e->was) : azure_lb_new(a, &b->y->p->config, e->name);
    }
    return e->doc;
}

/* ---- one Service and one balancer -------------------------------------------------------------------------- */

static void tell_kept(struct batch *b, const struct azure_item *it, const struct azure_lb_result *r)
{
    const struct tt_host *host = b->y->p->host;
    for (size_t i = 0; !b->y->s->planning && i < r->n_removed; i++) {
        if (r->removed[i].kept_by != NULL) {
            host->event(host->ctx, it->service->in, TT_EVENT_WARNING,
                        "DeletingFrontendIPConfiguration",
                        arena_printf(b->y->s->a, "frontend IP configuration %s is kept: %s uses it",
                                     r->removed[i].name, r->removed[i].kept_by));
        }
    }
}

static bool apply(struct batch *b, struct azure_item *it, const struct azure_service *s,
                  struct azure_lb_edit *e, bool want)
{
    struct azure_sync *y = b->y;
    const struct azure_lb_ask ask = {
        .naming = &y->p->naming,
        .service = s,
        .want = want,
        .pips = &y->pips,
        .pip_id = {it->pips[AZURE_IPV4].id, it->pips[AZURE_IPV6].id},
        .subnet = want && s->internal ? azure_seen_subnet(y, s) : NULL,
        .zones = y->zones,
        .n_zones = y->n_zones,
    };
    struct azure_lb_result r;
    if (azure_lb_apply(y->s->a, &ask, doc_of(b, e), &r, &it->item->err) != ERR_OK) {
        (void)err_prefix(&it->item->err, "load balancer %s", e->name);
        return false;
    }
    tell_kept(b, it, &r);
    if (r.changed) {
        azure_owners_add(y->s->a, &e->owners, it->item->key);
    }
    e->changed = e->changed || r.changed;
    e->frontends_changed = e->frontends_changed || r.frontends_changed;
    return r.changed;
}

/* Does anything on the balancer belong to the Service? */
static bool has_pieces(struct batch *b, const struct azure_service *s, struct json_object *lb)
{
    struct json_object *o;
    const struct azure_claim claim = azure_frontend_claim(b->y->s->a, s, &b->y->pips);
    AZURE_EACH (o, azure_array(lb, "frontendIPConfigurations")) {
        if (azure_frontend_owned_by(&claim, o).owns) {
            return true;
        }
    }
    AZURE_EACH (o, azure_array(lb, "loadBalancingRules")) {
        if (azure_has_prefix(azure_doc_name(o), s->base)) {
            return true;
        }
    }
    AZURE_EACH (o, azure_array(lb, "probes")) {
        if (azure_has_prefix(azure_doc_name(o), s->base)) {
            return true;
        }
    }
    return false;
}

/* Takes the Service off every balancer of this kind but `target`. */
static void leave_others(struct batch *b, struct azure_item *it, const struct azure_service *s,
                         const char *target)
{
    for (size_t i = 0; i < b->y->lbs.n && lb_item_is_active(it->item); i++) {
        struct json_object *lb = b->y->lbs.items[i];
        const char *name = azure_doc_name(lb);
        bool other_kind = azure_lb_is_internal(name) != s->internal;
        if (other_kind || (target != NULL && azure_eq(name, target)) || !has_pieces(b, s, lb)) {
            continue;
        }
        struct azure_lb_edit *e = edit_of(b, name);
        bool changed = apply(b, it, s, e, false);
        e->left = e->left || (changed && target != NULL);
    }
}

static void item_plan(struct batch *b, struct azure_item *it)
{
    leave_others(b, it, it->service, it->target);
    if (!it->want || !lb_item_is_active(it->item)) {
        return;
    }
    struct azure_lb_edit *e = edit_of(b, it->target);
    if (!apply(b, it, it->service, e, true) && lb_item_is_active(it->item) && e->was != NULL) {
        azure_emit_keep(b->y, b->plan, AZURE_LBS, azure_doc_id(e->was), it->item->key);
    }
}

/* ---- all of them ------------------------------------------------------------------------------------------- */

static int compare_items(const void *x, const void *y)
{
    const struct azure_item *a = *(struct azure_item *const *)x;
    const struct azure_item *b = *(struct azure_item *const *)y;
    const struct tt_service *s = a->service->in;
    const struct tt_service *t = b->service->in;
    if (a->want != b->want) {
        return a->want ? 1 : -1;
    }
    if (s->created_us != t->created_us) {
        return s->created_us < t->created_us ? -1 : 1;
    }
    return strcmp(a->item->key, b->item->key);
}

static struct azure_item **in_order(struct azure_sync *y, size_t *ret_n)
{
    struct azure_item **items = ARENA_ARRAY(y->s->a, struct azure_item *, y->s->n_items + 1);
    size_t n = 0;
    for (size_t i = 0; i < y->s->n_items; i++) {
        if (azure_item_takes_part(&y->items[i])) {
            items[n++] = &y->items[i];
        }
    }
    qsort(items, n, sizeof(*items), compare_items);
    *ret_n = n;
    return items;
}

/* Azure leaves a balancer that failed as it is; writing it again mends it (17 row 12). */
static bool is_failed(struct json_object *doc)
{
    return azure_eq(str_nonnull(azure_prop_str(doc, "provisioningState")), "Failed");
}

static int emit_delete(struct batch *b, struct azure_lb_edit *e, struct err *err)
{
    struct str_set owners = azure_owners_set(b->y->s->a, &e->owners);
    int rc = azure_plan_decouple(b->y, e->was, &owners, b->plan, err);
    const struct azure_emit op = {
        .kind = AZURE_LBS,
        .id = azure_doc_id(e->was),
        .was = e->was,
        .why = "no Service has a frontend on it any more",
        .owners = &e->owners,
        .shared = true,
        .touches_pips = true,
    };
    if (rc == ERR_OK) {
        (void)azure_emit(b->y, b->plan, &op);
    }
    return rc;
}

static void emit_put(struct batch *b, struct azure_lb_edit *e, bool parallel)
{
    struct arena *a = b->y->s->a;
    struct lb_diff diff;
    lb_diff_init(&diff, a);
    (void)azure_tags_apply_config(a, e->doc, &b->y->p->config);
    azure_lb_diff(&diff, e->was, e->doc);
    const struct azure_emit op = {
        .kind = AZURE_LBS,
        .id = azure_arm_id(a, &b->y->p->arm, AZURE_LBS, b->y->p->config.lb_resource_group, e->name),
        .was = e->was,
        .doc = e->doc,
        .why = arena_printf(a, "%s changed", azure_owners_text(a, &e->owners)),
        .summary = arena_printf(a, "%zu frontends, %zu rules",
                                json_len(azure_array(e->doc, "frontendIPConfigurations")),
                                json_len(azure_array(e->doc, "loadBalancingRules"))),
        .owners = &e->owners,
        .diff = &diff,
        .shared = true,
        .parallel = parallel,
        .touches_pips = e->frontends_changed,
    };
    (void)azure_emit(b->y, b->plan, &op);
}

/* Balancers that are left come first; what is left behind empty goes. */
static int emit_all(struct batch *b, struct err *err)
{
    int rc = ERR_OK;
    for (int wave = 0; rc == ERR_OK && wave < 2; wave++) {
        bool open = false;
        for (size_t i = 0; rc == ERR_OK && i < b->n_edits; i++) {
            struct azure_lb_edit *e = &b->edits[i];
            if (!e->changed || e->left != (wave == 0)) {
                continue;
            }
            bool internal = azure_lb_is_internal(e->name);
            bool keep = azure_lb_is_preconfigured(&b->y->p->config, internal);
            if (azure_lb_is_orphan(e->doc) && !keep) {
                rc = e->was != NULL ? emit_delete(b, e, err) : ERR_OK;
                open = false;
            } else {
                emit_put(b, e, open);
                open = true;
            }
        }
    }
    return rc;
}

static void batch_begin(struct batch *b, struct azure_sync *y, struct lb_plan *plan)
{
    *b = (struct batch){.y = y, .plan = plan};
    b->edits = ARENA_ARRAY(y->s->a, struct azure_lb_edit, y->lbs.n + y->s->n_items + 1);
}

int azure_plan_balancers(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    struct batch b;
    size_t n;
    batch_begin(&b, y, plan);
    struct azure_item **items = in_order(y, &n);
    for (size_t i = 0; i < n; i++) {
        item_plan(&b, items[i]);
        if (items[i]->target != NULL && b.n_edits > 0) {
            struct azure_lb_edit *e = edit_of(&b, items[i]->target);
            if (e->was != NULL && is_failed(e->was) && lb_item_is_active(items[i]->item)) {
                (void)doc_of(&b, e);
                azure_owners_add(s->a, &e->owners, items[i]->item->key);
                e->changed = true;
            }
        }
    }
    return emit_all(&b, err);
}

/* The balancer of the other kind, when a Service changed sides: after the new one is up. */
int azure_plan_tidy(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    struct batch b;
    size_t n;
    batch_begin(&b, y, plan);
    struct azure_item **items = in_order(y, &n);
    for (size_t i = 0; i < n; i++) {
        leave_others(&b, items[i], items[i]->flip, NULL);
    }
    return emit_all(&b, err);
}

/* ---- what must be known ------------------------------------------------------------------------------------ */

/* Which balancer each Service uses; what must not be believed to be missing is asked for by name. */
static int select_targets(struct azure_sync *y, bool *ret_more)
{
    const char *vm_set = azure_config_primary_vm_set(&y->p->config);
    for (size_t i = 0; i < y->s->n_items; i++) {
        struct azure_item *it = &y->items[i];
        if (!azure_item_takes_part(it) || !it->want) {
            continue;
        }
        if (azure_lb_expected(y->s->a, &y->placement, it->service, vm_set, true, &it->target,
                              &it->item->err) != ERR_OK) {
            continue;
        }
        if (azure_sync_lb(y, it->target) == NULL && !y->p->offline) {
            azure_need_one(y, AZURE_LBS,
                           azure_arm_id(y->s->a, &y->p->arm, AZURE_LBS,
                                        y->p->config.lb_resource_group, it->target));
            *ret_more = true;
        }
    }
    return ERR_OK;
}

/* Is this Service's frontend about to leave the balancer? */
static bool is_leaving(const struct azure_item *it, const char *lb, const char *frontend)
{
    bool goes = !it->want || it->target == NULL || !azure_eq(it->target, lb);
    return azure_item_takes_part(it) && goes && str_has_prefix(frontend, it->service->base);
}

/* No frontend will be left: the balancer will go, so its members must be known. */
static bool is_left_by_all(struct azure_sync *y, struct json_object *lb)
{
    struct json_object *o;
    bool all = true;
    AZURE_EACH (o, azure_array(lb, "frontendIPConfigurations")) {
        bool goes = false;
        for (size_t i = 0; i < y->s->n_items && !goes; i++) {
            goes = is_leaving(&y->items[i], azure_doc_name(lb), azure_doc_name(o));
        }
        all = all && goes;
    }
    return all && !azure_lb_is_orphan(lb);
}

static int observe_going(struct azure_sync *y, struct err *err)
{
    struct json_object **going = ARENA_ARRAY(y->s->a, struct json_object *, y->lbs.n + 1);
    size_t n = 0;
    bool fresh = y->s->observed_fresh;
    for (size_t i = 0; i < y->lbs.n; i++) {
        if (is_left_by_all(y, y->lbs.items[i])) {
            going[n++] = y->lbs.items[i];
        }
    }
    int rc = n > 0 ? azure_observe_decouple(y, going, n, err) : ERR_OK;
    y->s->observed_fresh = y->s->observed_fresh && fresh;
    return rc;
}

int azure_observe_balancers(struct lb_sync *s, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    bool more = false;
    azure_need_nothing(y);
    azure_need_balancers(y);
    int rc = azure_see(y, err);
    if (rc == ERR_OK) {
        rc = select_targets(y, &more);
    }
    if (rc == ERR_OK && more) {
        rc = azure_see(y, err);
    }
    return rc == ERR_OK ? observe_going(y, err) : rc;
}

int azure_observe_tidy(struct lb_sync *s, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    int rc = azure_observe_release(s, err);
    return rc == ERR_OK ? observe_going(y, err) : rc;
}
