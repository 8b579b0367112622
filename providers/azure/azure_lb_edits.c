/* SPDX-License-Identifier: Apache-2.0 */
/* azure_lb_edits.c: the balancers that a stage edits (azure_lb_edits.h). */
#include "providers/azure/azure_lb_edits.h"
#include "providers/azure/azure_effects.h"
#include "providers/azure/azure_findings.h"
#include "providers/azure/azure_lb_moves.h"
#include "providers/azure/azure_stages.h"
#include "providers/azure/lb/azure_lb_diff.h"
#include "providers/azure/lb/azure_lb_handover_rules.h"
#include "providers/azure/lb/azure_local_rules.h"
#include "providers/azure/members/azure_members.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/model/azure_tags_rules.h"
#include "providers/azure/pip/azure_pip_find.h"
#include "providers/azure/sync/azure_observe.h"

#include "common/base/str.h"

#include <string.h>

void azure_lb_edits_begin(struct azure_lb_edits *b, struct azure_sync *y, struct lb_plan *plan)
{
    *b = (struct azure_lb_edits){.y = y, .plan = plan};
    b->items = ARENA_ARRAY(y->s->a, struct azure_lb_edit, y->lbs.n + y->s->n_items + 1);
}

size_t azure_lb_edits_of(struct azure_lb_edits *b, const char *name)
{
    for (size_t i = 0; i < b->n; i++) {
        if (azure_eq(b->items[i].name, name)) {
            return i;
        }
    }
    b->items[b->n] = (struct azure_lb_edit){.name = name, .was = azure_sync_lb(b->y, name)};
    return b->n++;
}

struct json_object *azure_lb_edits_doc(struct azure_lb_edits *b, struct azure_lb_edit *e)
{
    if (e->doc == NULL) {
        struct arena *a = b->y->s->a;
        e->doc =
            e->was != NULL ? azure_copy(a, e->was) : azure_lb_new(a, &b->y->p->config, e->name);
        e->index = azure_lb_index_new(a, e->doc);
    }
    return e->doc;
}

/* ---- one Service and one balancer ------------------------------------------------------------ */

static void tell_kept(struct azure_lb_edits *b, const struct azure_item *it,
                      const struct azure_lb_result *r)
{
    const struct tt_host *host = b->y->p->host;
    for (size_t i = 0; !b->y->s->planning && !b->tries && i < r->n_removed; i++) {
        if (r->removed[i].kept_by != NULL) {
            host->event(host->ctx, it->service->in, TT_EVENT_WARNING,
                        "DeletingFrontendIPConfiguration",
                        arena_printf(b->y->s->a, "frontend IP configuration %s is kept: %s uses it",
                                     r->removed[i].name, r->removed[i].kept_by));
        }
    }
}

/* Does a frontend of the Service get another public IP, or one of another name beside it, or does
 * it go with its family? */
static bool exchanges(struct azure_sync *y, const struct azure_item *it, struct json_object *lb)
{
    const struct azure_service *s = it->service;
    struct azure_elements mine = azure_sync_frontends(y, s, lb);
    bool some = false;
    for (size_t i = 0; i < mine.n && !some; i++) {
        struct azure_ownership o = azure_sync_owner(y, s, mine.items[i]);
        const char *has = azure_ref(mine.items[i], "publicIPAddress");
        const char *pip = it->pips[azure_frontend_family(s, mine.items[i], &o)].id;
        bool other = !s->internal && pip != NULL && has != NULL && !azure_id_eq(has, pip);
        some = o.primary && (other || azure_frontend_is_former(s, azure_doc_name(mine.items[i])));
    }
    return some;
}

/* Former addresses serve on; once Azure has refused that for want of room, it is not asked
 * again. */
static bool keeps_former(const struct azure_lb_edits *b, const struct azure_item *it,
                         struct json_object *lb)
{
    return lb != NULL && it->service->in->n_ingress > 0 && exchanges(b->y, it, lb) &&
           !lb_plan_makes_room(b->plan, it->item->key, azure_arm_word(AZURE_LBS));
}

/* Public IPs and private addresses that Services of the batch ask for: no former address of another
 * one may be in their way. */
static void gather_asked(struct azure_lb_edits *b)
{
    struct azure_sync *y = b->y;
    const char **items = ARENA_ARRAY(y->s->a, const char *, y->s->n_items *AZURE_FAMILIES + 1);
    b->asked = (struct azure_texts){.items = items};
    for (size_t i = 0; i < y->s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        for (int f = 0; azure_item_takes_part(it) && it->want && f < AZURE_FAMILIES; f++) {
            const char *asks = it->service->internal ? it->service->lb_ip[f] : it->pips[f].id;
            if (asks != NULL) {
                items[b->asked.n++] = asks;
            }
        }
    }
}

static struct azure_lb_ask ask_of(struct azure_lb_edits *b, const struct azure_item *it,
                                  const struct azure_service *s, const struct azure_lb_edit *e,
                                  bool want)
{
    struct azure_sync *y = b->y;
    if (b->asked.items == NULL) {
        gather_asked(b);
    }
    return (struct azure_lb_ask){
        .naming = &y->p->naming,
        .service = s,
        .want = want,
        .pips = &y->pips,
        .index = e->index,
        .pip_id = {it->pips[AZURE_IPV4].id, it->pips[AZURE_IPV6].id},
        .subnet = want && s->internal ? azure_seen_subnet(y, s) : NULL,
        .zones = y->zones,
        .n_zones = y->n_zones,
        .rules_per_nic = azure_rules_per_nic(y),
        .keeps_former = want && keeps_former(b, it, e->was),
        .asked = b->asked,
    };
}

static bool apply(struct azure_lb_edits *b, struct azure_item *it, const struct azure_service *s,
                  struct azure_lb_edit *e, bool want)
{
    struct azure_sync *y = b->y;
    struct json_object *doc = azure_lb_edits_doc(b, e);
    const struct azure_lb_ask ask = ask_of(b, it, s, e, want);
    /* The Service's desired state is merged into the document; the rest of it is no longer
     * needed. */
    _cleanup_(arena_freep) struct arena *passing = arena_new();
    struct azure_lb_result r;
    if (azure_lb_apply(passing, &ask, doc, &r, &it->item->err) != ERR_OK) {
        (void)err_prefix(&it->item->err, "load balancer %s", e->name);
        azure_name_owner(y, it->item);
        return false;
    }
    tell_kept(b, it, &r);
    if (r.leaves_told || r.leaves_shared) {
        azure_effects_exchanges(y, b->plan, it, !r.leaves_told);
    }
    if (r.changed) {
        azure_owners_add(y->s->a, &e->owners, it->item->key);
    }
    e->changed = e->changed || r.changed;
    e->frontends_changed = e->frontends_changed || r.frontends_changed;
    return true;
}

void azure_lb_edits_give_up(struct azure_lb_edits *b, struct azure_item *it, bool frontends)
{
    struct azure_sync *y = b->y;
    _cleanup_(arena_freep) struct arena *passing = arena_new();
    struct azure_lb_edit *e = &b->items[azure_lb_edits_of(b, it->target)];
    struct json_object *doc = azure_lb_edits_doc(b, e);
    const struct azure_lb_ask ask = ask_of(b, it, it->service, e, true);
    bool some = frontends ? azure_lb_give_up_frontends(passing, &ask, doc)
                          : azure_lb_give_up_ports(passing, &ask, doc);
    if (some) {
        azure_owners_add(y->s->a, &e->owners, it->item->key);
        e->changed = true;
        e->frontends_changed = e->frontends_changed || frontends;
    }
}

static bool owns_some(struct azure_sync *y, struct json_object *lb, enum azure_lb_part part,
                      const struct azure_service *s)
{
    struct azure_elements some = azure_lb_named(y->s->a, azure_sync_index(y, lb), lb, part, s);
    for (size_t i = 0; i < some.n; i++) {
        if (azure_has_prefix(azure_doc_name(some.items[i]), s->base)) {
            return true;
        }
    }
    return false;
}

bool azure_lb_has_pieces(struct azure_sync *y, const struct azure_service *s,
                         struct json_object *lb)
{
    struct json_object *o;
    struct azure_elements mine = azure_sync_frontends(y, s, lb);
    for (size_t i = 0; i < mine.n; i++) {
        if (azure_sync_owner(y, s, mine.items[i]).owns) {
            return true;
        }
    }
    enum azure_family f;
    AZURE_EACH (o, azure_array(lb, "backendAddressPools")) {
        if (azure_local_owns_pool(&y->p->naming, s->in, azure_doc_name(o), &f)) {
            return true;
        }
    }
    return owns_some(y, lb, AZURE_LB_RULES, s) || owns_some(y, lb, AZURE_LB_PROBES, s);
}

/* The next balancer of the kind of `s` from `*at` on that is not `target` and has something
 * of the Service. */
static struct json_object *next_left(struct azure_sync *y, const struct azure_service *s,
                                     const char *target, size_t *at)
{
    while (*at < y->lbs.n) {
        struct json_object *lb = y->lbs.items[(*at)++];
        const char *name = azure_doc_name(lb);
        if (azure_lb_is_internal(name) == s->internal &&
            !(target != NULL && azure_eq(name, target)) && azure_lb_has_pieces(y, s, lb)) {
            return lb;
        }
    }
    return NULL;
}

void azure_lb_edits_leave(struct azure_lb_edits *b, struct azure_item *it,
                          const struct azure_service *s, const char *target)
{
    struct json_object *lb;
    for (size_t at = 0; (lb = next_left(b->y, s, target, &at)) != NULL;) {
        (void)apply(b, it, s, &b->items[azure_lb_edits_of(b, azure_doc_name(lb))], false);
    }
}

bool azure_lb_is_failed(struct json_object *lb)
{
    return azure_eq(str_nonnull(azure_prop_str(lb, "provisioningState")), "Failed");
}

void azure_lb_edits_mend(struct azure_lb_edits *b, struct azure_item *it, bool internal)
{
    struct azure_sync *y = b->y;
    for (size_t i = 0; i < y->lbs.n; i++) {
        struct json_object *lb = y->lbs.items[i];
        if (azure_lb_is_failed(lb) && azure_lb_is_internal(azure_doc_name(lb)) == internal) {
            struct azure_lb_edit *e = &b->items[azure_lb_edits_of(b, azure_doc_name(lb))];
            (void)azure_lb_edits_doc(b, e);
            azure_owners_add(y->s->a, &e->owners, it->item->key);
            e->changed = true;
        }
    }
}

/* ---- moving ---------------------------------------------------------------------------------- */

/* The balancer as this batch leaves it so far; `ret_index` may be NULL. */
static struct json_object *doc_now(struct azure_lb_edits *b, struct json_object *lb,
                                   struct azure_lb_index **ret_index)
{
    struct azure_lb_index *index = NULL;
    struct json_object *doc = lb;
    for (size_t i = 0; i < b->n && doc == lb; i++) {
        if (azure_eq(b->items[i].name, azure_doc_name(lb)) && b->items[i].doc != NULL) {
            doc = b->items[i].doc;
            index = b->items[i].index;
        }
    }
    if (ret_index != NULL) {
        *ret_index = doc == lb ? azure_sync_index(b->y, lb) : index;
    }
    return doc;
}

/* A frontend that others use cannot be taken away, and its address cannot hang on two
 * (5.3 step 2d). */
static bool may_leave(struct azure_lb_edits *b, struct azure_item *it, struct json_object *lb)
{
    struct azure_sync *y = b->y;
    struct json_object *o;
    AZURE_EACH (o, azure_array(lb, "frontendIPConfigurations")) {
        if (!azure_sync_owner(y, it->service, o).owns) {
            continue;
        }
        const char *user = azure_frontend_in_use(y->s->a, it->service, azure_doc_id(o), lb);
        if (user != NULL) {
            (void)err_set(&it->item->err, ERR_IN_USE,
                          "the Service has to move from load balancer %s to %s, but %s uses its "
                          "frontend IP configuration %s",
                          azure_doc_name(lb), it->target, user, azure_doc_name(o));
            return false;
        }
    }
    return true;
}

/* Another Service's frontend with this public IP would make Azure refuse the whole document. */
static bool is_free(struct azure_lb_edits *b, struct azure_item *it, const char *pip,
                    struct json_object *was)
{
    struct azure_lb_index *index;
    struct json_object *lb = doc_now(b, was, &index);
    struct azure_elements with = azure_lb_with_pip(b->y->s->a, index, lb, pip);
    for (size_t i = 0; i < with.n; i++) {
        struct json_object *o = with.items[i];
        if (azure_id_eq(azure_ref(o, "publicIPAddress"), pip) &&
            !azure_sync_owner(b->y, it->service, o).owns) {
            (void)err_set(&it->item->err, ERR_IN_USE,
                          "public IP %s hangs on frontend IP configuration %s of load balancer %s, "
                          "which is not the Service's",
                          azure_id_last(pip), azure_doc_name(o), azure_doc_name(lb));
            return false;
        }
    }
    return true;
}

static bool addresses_are_free(struct azure_lb_edits *b, struct azure_item *it)
{
    bool are = true;
    for (int f = 0; !it->service->internal && f < AZURE_FAMILIES; f++) {
        const char *pip = it->service->has_family[f] ? it->pips[f].id : NULL;
        for (size_t i = 0; are && pip != NULL && i < b->y->lbs.n; i++) {
            are = is_free(b, it, pip, b->y->lbs.items[i]);
        }
    }
    return are;
}

static void note_move(struct azure_lb_edits *b, struct azure_item *it, size_t from, size_t to)
{
    if (b->n_moves == b->cap_moves) {
        b->cap_moves = b->cap_moves * 2 + 8;
        struct azure_lb_move *more = ARENA_ARRAY(b->y->s->a, struct azure_lb_move, b->cap_moves);
        if (b->n_moves > 0) {
            memcpy(more, b->moves, b->n_moves * sizeof(*more));
        }
        b->moves = more;
    }
    b->moves[b->n_moves++] = (struct azure_lb_move){.item = it, .from = from, .to = to};
}

bool azure_lb_edits_join(struct azure_lb_edits *b, struct azure_item *it)
{
    struct json_object *lb;
    size_t before = b->n_moves;
    size_t to = azure_lb_edits_of(b, it->target);
    for (size_t at = 0; (lb = next_left(b->y, it->service, it->target, &at)) != NULL;) {
        if (!may_leave(b, it, doc_now(b, lb, NULL))) {
            b->n_moves = before;
            return false;
        }
        note_move(b, it, azure_lb_edits_of(b, azure_doc_name(lb)), to);
    }
    if (!addresses_are_free(b, it) || !apply(b, it, it->service, &b->items[to], true)) {
        b->n_moves = before;
        return false;
    }
    azure_lb_edits_leave(b, it, it->service, it->target);
    return true;
}

/* Every balancer after those that are left for its sake; in a ring that cannot be, so
 * the rounds are counted. */
static bool set_levels(struct azure_lb_edits *b)
{
    bool moved = true;
    for (size_t i = 0; i < b->n; i++) {
        b->items[i].level = 0;
    }
    for (size_t round = 0; moved && round <= b->n; round++) {
        moved = false;
        for (size_t i = 0; i < b->n_moves; i++) {
            size_t after = b->items[b->moves[i].from].level + 1;
            if (b->items[b->moves[i].to].level < after) {
                b->items[b->moves[i].to].level = after;
                moved = true;
            }
        }
    }
    return !moved;
}

bool azure_lb_edits_break(struct azure_lb_edits *b)
{
    if (set_levels(b)) {
        return false;
    }
    /* Levels beyond the number of balancers are those of a ring, and of what comes after it. */
    struct azure_lb_edits only;
    azure_lb_edits_begin(&only, b->y, b->plan);
    for (size_t i = 0; i < b->n_moves; i++) {
        const struct azure_lb_move *m = &b->moves[i];
        if (b->items[m->from].level >= b->n && b->items[m->to].level >= b->n &&
            lb_item_is_active(m->item->item)) {
            azure_effects_moves(b->y, b->plan, m->item);
            azure_lb_moves_note(b, m);
            azure_lb_edits_leave(&only, m->item, m->item->service, m->item->target);
        }
    }
    *b = only;
    return true;
}

/* ---- the writes ------------------------------------------------------------------------------ */

int azure_lb_emit_delete(struct azure_sync *y, struct lb_plan *plan, struct json_object *lb,
                         const struct azure_owners *owners, const char *why, struct err *err)
{
    struct str_set set = azure_owners_set(y->s->a, owners);
    int rc = azure_plan_decouple(y, lb, &set, plan, err);
    const struct azure_emit op = {
        .kind = AZURE_LBS,
        .id = azure_doc_id(lb),
        .was = lb,
        .why = why,
        .owners = owners,
        .shared = true,
        .touches_pips = true,
    };
    if (rc == ERR_OK) {
        (void)azure_emit(y, plan, &op);
    }
    return rc;
}

static const char *why_of(struct azure_lb_edits *b, const struct azure_lb_edit *e,
                          const struct lb_diff *d)
{
    bool only_tags = d->n > 0;
    for (size_t i = 0; i < d->n; i++) {
        only_tags = only_tags && str_has_prefix(d->fields[i].path, "tags");
    }
    if (e->was != NULL && azure_lb_is_failed(e->was)) {
        return "it is in state Failed";
    }
    return e->was != NULL && only_tags ? "its tags are not as configured"
                                       : azure_owners_why(b->y, &e->owners, e->was == NULL);
}

static const struct lb_undo *undo_of(struct azure_sync *y, const struct azure_lb_edit *e)
{
    const struct azure_undo_ask ask = {
        .verb = LB_CHANGE,
        .kind = AZURE_LBS,
        .id = azure_doc_id(e->was),
        .doc = azure_copy(y->s->life, e->was),
        .until_pip = e->until_pip,
    };
    json_object_object_del(ask.doc, "etag");
    return azure_undo(y, &ask);
}

/* The parts of an edit in which private addresses pass from one frontend to another. */
struct handover {
    struct azure_elements gone;
    struct azure_owners givers;
    struct azure_owners all; /* those who stay: givers and takers; none when all givers go */
    bool some_go;
    bool some_stay;
};

static bool owns_one(const struct azure_item *it, const struct azure_elements *frontends)
{
    bool owns = false;
    for (size_t i = 0; i < frontends->n; i++) {
        owns = owns || azure_has_prefix(azure_doc_name(frontends->items[i]), it->service->base);
    }
    return owns;
}

static bool takes_one(const struct azure_item *it, const struct azure_lb_edit *e,
                      const struct azure_elements *frontends)
{
    bool takes = false;
    for (size_t i = 0; i < frontends->n; i++) {
        const char *ip = str_nonnull(azure_prop_str(frontends->items[i], "privateIPAddress"));
        struct json_object *o;
        AZURE_EACH (o, azure_array(e->doc, "frontendIPConfigurations")) {
            takes =
                takes || (azure_has_prefix(azure_doc_name(o), it->service->base) &&
                          azure_address_eq(str_nonnull(azure_prop_str(o, "privateIPAddress")), ip));
        }
    }
    return takes;
}

static void find_parties(struct azure_lb_edits *b, const struct azure_lb_edit *e,
                         struct handover *h)
{
    struct azure_sync *y = b->y;
    for (size_t i = 0; i < y->s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        if (!azure_item_takes_part(it)) {
            continue;
        }
        bool gives = owns_one(it, &h->gone);
        if (gives) {
            azure_owners_add(y->s->a, &h->givers, it->item->key);
        }
        h->some_go = h->some_go || !it->want;
        h->some_stay = h->some_stay || (gives && it->want);
        if (it->want && (gives || takes_one(it, e, &h->gone))) {
            azure_owners_add(y->s->a, &h->all, it->item->key);
        }
    }
}

/* Frontends that give a private address to another one go by a write of their own.  Returns its
 * index plus one; 0: none do.  Those who stay share their fate: if the second write is refused for
 * one of them, the balancer is put back as it was.  In a batch that deletes, too, the driver would
 * take that apart, so there all of it is one write. */
static int emit_handover(struct azure_lb_edits *b, const struct azure_lb_edit *e, bool parallel,
                         struct str_set *ret_parties)
{
    struct azure_sync *y = b->y;
    struct handover h = {0};
    struct json_object *between =
        e->was != NULL ? azure_lb_before_handover(y->s->a, e->was, e->doc, &h.gone) : NULL;
    if (between == NULL) {
        return 0;
    }
    find_parties(b, e, &h);
    if (h.givers.n == 0 || (h.some_go && h.some_stay)) {
        return 0;
    }
    const struct azure_emit op = {
        .kind = AZURE_LBS,
        .id = azure_doc_id(e->was),
        .was = e->was,
        .doc = between,
        .why = "a private address is given up before another frontend has it",
        .summary = str_count(y->s->a, json_len(azure_array(between, "frontendIPConfigurations")),
                             "frontend"),
        .owners = h.some_stay ? &h.all : &h.givers,
        .shared = true,
        .parallel = parallel,
        .touches_pips = true,
        .undo = h.some_stay ? undo_of(y, e) : NULL,
    };
    for (size_t i = 0; i < y->s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        if (h.some_stay && azure_owners_have(&h.givers, it->item != NULL ? it->item->key : "")) {
            azure_effects_hands_over(y, b->plan, it);
        }
    }
    *ret_parties = h.some_stay ? azure_owners_set(y->s->a, &h.all) : (struct str_set){0};
    json_object_object_del(e->doc, "etag");
    return azure_emit(y, b->plan, &op) + 1;
}

static void emit_put(struct azure_lb_edits *b, struct azure_lb_edit *e, bool parallel)
{
    struct arena *a = b->y->s->a;
    struct lb_diff diff;
    lb_diff_init(&diff, a);
    (void)azure_tags_apply_config(a, e->doc, &b->y->p->config);
    struct str_set parties = {0};
    int follows = emit_handover(b, e, parallel, &parties);
    azure_lb_diff(&diff, e->was, e->doc);
    const char *const parts[] = {
        str_count(a, json_len(azure_array(e->doc, "frontendIPConfigurations")), "frontend"),
        str_count(a, json_len(azure_array(e->doc, "loadBalancingRules")), "rule"),
    };
    const struct azure_emit op = {
        .kind = AZURE_LBS,
        .id = e->was != NULL ? azure_doc_id(e->was)
                             : azure_arm_id(a, &b->y->p->arm, AZURE_LBS,
                                            b->y->p->config.lb_resource_group, e->name),
        .was = e->was,
        .doc = e->doc,
        .passing = true,
        .why = why_of(b, e, &diff),
        .summary = str_join(a, parts, ARRAY_LEN(parts), ", "),
        .owners = &e->owners,
        .diff = &diff,
        .shared = true,
        .parallel = parallel && follows == 0,
        .follows = follows,
        .parties = parties,
        .touches_pips = e->frontends_changed,
        .undo = e->until_pip != NULL ? undo_of(b->y, e)
                                     : azure_lb_moves_undo(b, (size_t)(e - b->items)),
        .proof = azure_lb_moves_proof(b, (size_t)(e - b->items)),
    };
    (void)azure_emit(b->y, b->plan, &op);
}

/* Some stand for the cluster's own pools, whatever Services there are (6.11); some get their
 * frontend back in a moment. */
static bool has_to_go(const struct azure_lb_edits *b, const struct azure_lb_edit *e)
{
    bool internal = azure_lb_is_internal(e->name);
    return azure_lb_is_orphan(e->doc) && e->until_pip == NULL &&
           !azure_lb_is_preconfigured(&b->y->p->config, internal);
}

static int emit_level(struct azure_lb_edits *b, size_t level, struct err *err)
{
    int rc = ERR_OK;
    bool open = false;
    for (size_t i = 0; rc == ERR_OK && i < b->n; i++) {
        struct azure_lb_edit *e = &b->items[i];
        if (!e->changed || e->level != level) {
            continue;
        }
        if (!has_to_go(b, e)) {
            emit_put(b, e, open);
            open = true;
        } else if (e->was != NULL) {
            size_t at = b->plan->n_ops;
            rc = azure_lb_emit_delete(b->y, b->plan, e->was, &e->owners,
                                      "no Service has a frontend on it any more", err);
            azure_lb_moves_put_back(b, i, at);
            open = false;
        }
    }
    return rc;
}

int azure_lb_edits_emit(struct azure_lb_edits *b, struct err *err)
{
    int rc = ERR_OK;
    size_t most = 0;
    if (b->n > 0) {
        azure_links_let_go(b->y, b->plan);
    }
    (void)set_levels(b);
    for (size_t i = 0; i < b->n_moves; i++) {
        azure_effects_moves(b->y, b->plan, b->moves[i].item);
        azure_lb_moves_note(b, &b->moves[i]);
    }
    for (size_t i = 0; i < b->n; i++) {
        most = b->items[i].level > most ? b->items[i].level : most;
    }
    for (size_t level = 0; rc == ERR_OK && level <= most; level++) {
        rc = emit_level(b, level, err);
    }
    return rc;
}
