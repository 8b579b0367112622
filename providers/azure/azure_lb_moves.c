/* SPDX-License-Identifier: Apache-2.0 */
/* azure_lb_moves.c: see azure_lb_moves.h. */
#include "providers/azure/azure_lb_moves.h"
#include "providers/azure/azure_sides.h"
#include "providers/azure/azure_stages.h"
#include "providers/azure/members/azure_members.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/sync/azure_emit.h"

#include "common/base/map.h"
#include "common/base/str.h"
#include "common/lb/mark_rules.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_AGAIN_MS 300000 /* each further try interrupts, as after what the driver puts back */

const struct lb_stage azure_lb_moves_stages[] = {
    {"balancers", NULL, azure_observe_balancers, azure_plan_balancers},
    {"members", NULL, azure_observe_members, azure_plan_members},
};
static_assert(ARRAY_LEN(azure_lb_moves_stages) == AZURE_LB_MOVES_STAGES,
              "the flow needs their number");

/* ---- what the driver puts back --------------------------------------------------------------- */

/* Elements of the Service that the edit takes off the balancer. */
static void restore_list(struct json_object *doc, struct json_object *was, const char *list,
                         const char *base)
{
    struct json_object *now = azure_array(doc, list);
    struct json_object *o;
    AZURE_EACH (o, azure_array(was, list)) {
        const char *name = azure_doc_name(o);
        if (azure_has_prefix(name, base) && azure_find(now, name) == NULL) {
            (void)json_object_array_add(now, json_copy(o));
        }
    }
}

static void restore(struct json_object *doc, struct json_object *was, const char *base)
{
    static const char *const lists[] = {"frontendIPConfigurations", "loadBalancingRules", "probes",
                                        "backendAddressPools"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        if (azure_array(doc, lists[i]) == NULL) {
            json_add(azure_props_make(doc), lists[i], json_object_new_array());
        }
        restore_list(doc, was, lists[i], base);
    }
}

/* A pool of the balancer has nodes. */
static bool has_nodes(struct json_object *lb)
{
    struct json_object *o;
    bool has = false;
    AZURE_EACH (o, azure_array(lb, "backendAddressPools")) {
        has = has || json_len(azure_array(o, "loadBalancerBackendAddresses")) > 0 ||
              json_len(azure_array(o, "backendIPConfigurations")) > 0;
    }
    return has;
}

/* The last one to be written of those that Services of this one move to; NULL: none is. */
static const struct azure_lb_edit *last_target(const struct azure_lb_edits *b, size_t from)
{
    const struct azure_lb_edit *last = NULL;
    for (size_t i = 0; i < b->n_moves; i++) {
        const struct azure_lb_edit *to = &b->items[b->moves[i].to];
        if (b->moves[i].from == from && to->changed && to->level > b->items[from].level &&
            (last == NULL || to->level >= last->level)) {
            last = to;
        }
    }
    return last;
}

const struct lb_undo *azure_lb_moves_undo(const struct azure_lb_edits *b, size_t from)
{
    struct azure_sync *y = b->y;
    const struct azure_lb_edit *e = &b->items[from];
    const struct azure_lb_edit *to = last_target(b, from);
    if (e->was == NULL || to == NULL) {
        return NULL;
    }
    struct json_object *doc = azure_copy(y->s->life, e->doc);
    for (size_t i = 0; i < b->n_moves; i++) {
        if (b->moves[i].from == from) {
            restore(doc, e->was, b->moves[i].item->service->base);
        }
    }
    json_object_object_del(doc, "etag");
    const struct azure_undo_ask ask = {
        .verb = LB_CHANGE,
        .kind = AZURE_LBS,
        .id = azure_doc_id(e->was),
        .doc = doc,
        .until_lb = to->name,
        .takes_down = has_nodes(e->was), /* else it serves no client there */
    };
    return azure_undo(y, &ask);
}

void azure_lb_moves_put_back(const struct azure_lb_edits *b, size_t from, size_t n_ops_before)
{
    if (b->plan->n_ops > n_ops_before) {
        struct lb_op *op = &b->plan->ops[b->plan->n_ops - 1];
        op->undo = azure_lb_moves_undo(b, from);
        op->proof = azure_lb_moves_proof(b, from);
        op->proves_all = op->proof != NULL;
    }
}

/* ---- a right that was missing ---------------------------------------------------------------- */

/* A write that was refused for it; heap. */
struct azure_forbidden {
    enum azure_kind kind;
    char *id;
    char *body;
};

static void forbidden_free(void *arg)
{
    struct azure_forbidden *f = arg;
    free(f->id);
    free(f->body);
    free(f);
}

/* Of a Service that has left its balancer. */
static void note_forbidden(struct azure_sync *y, const struct azure_item *it,
                           const struct azure_write *w, const struct err *err)
{
    if (err->code != ERR_FORBIDDEN || w->spec.verb != AZURE_PUT || w->sent == NULL ||
        !it->has_left) {
        return;
    }
    struct azure_forbidden *f = xcalloc(1, sizeof(*f));
    *f = (struct azure_forbidden){
        .kind = w->spec.kind, .id = xstrdup(w->spec.id), .body = xstrdup(w->sent)};
    y->p->forbidden = y->p->forbidden != NULL ? y->p->forbidden : map_new(forbidden_free);
    map_set(y->p->forbidden, it->item->key, f);
}

static void add_proof(struct azure_sync *y, enum azure_kind kind, const char *id,
                      struct json_object *body, struct lb_undo **first)
{
    struct lb_undo *one = azure_proof(y, kind, id, body);
    one->then = *first;
    *first = one;
}

/* The pool of that balancer with the members that the Service has where it is: those to come are
 * computed later, and Azure decides by their kind alone. */
static void prove_pool(const struct azure_lb_edits *b, const struct azure_lb_move *m,
                       enum azure_family f, struct lb_undo **first)
{
    struct azure_sync *y = b->y;
    const struct azure_naming *n = &y->p->naming;
    const char *name = azure_lb_pool(y->s->a, n, m->item->service, f);
    struct json_object *was =
        azure_find(azure_array(b->items[m->from].was, "backendAddressPools"), name);
    struct json_object *body = was != NULL ? azure_copy(y->s->a, was) : NULL;
    if (body != NULL) {
        json_object_object_del(body, "id");
        json_object_object_del(body, "etag");
        add_proof(y, AZURE_POOLS, azure_pool_id(y->s->a, n, b->items[m->to].name, name), body,
                  first);
    }
}

/* Another process was refused, so it is not known which write: all that the move takes.  Pools of
 * network interfaces are written on machines, which are read after the balancers. */
static void prove_move(const struct azure_lb_edits *b, const struct azure_lb_move *m,
                       struct lb_undo **first)
{
    struct azure_sync *y = b->y;
    const struct azure_lb_edit *to = &b->items[m->to];
    struct json_object *doc = to->doc != NULL ? to->doc : to->was;
    if (y->p->config.pool_type != AZURE_POOL_IP || doc == NULL) {
        return;
    }
    struct json_object *body = azure_copy(y->s->a, doc);
    json_object_object_del(body, "etag");
    for (int f = 0; f < AZURE_FAMILIES; f++) {
        if (m->item->service->has_family[f]) {
            prove_pool(b, m, (enum azure_family)f, first);
        }
    }
    add_proof(
        y, AZURE_LBS,
        azure_arm_id(y->s->a, &y->p->arm, AZURE_LBS, y->p->config.lb_resource_group, to->name),
        body, first);
}

const struct lb_undo *azure_lb_moves_proof(const struct azure_lb_edits *b, size_t from)
{
    struct azure_sync *y = b->y;
    struct lb_undo *first = NULL;
    for (size_t i = 0; i < b->n_moves; i++) {
        const struct azure_item *it = b->moves[i].item;
        const struct azure_forbidden *f =
            y->p->forbidden != NULL ? map_get(y->p->forbidden, it->item->key) : NULL;
        struct json_object *body = NULL;
        if (b->moves[i].from != from || !lb_asks_again(it->item->in)) {
            continue;
        }
        if (f == NULL) {
            prove_move(b, &b->moves[i], &first);
        } else if (json_parse_arena(y->s->a, f->body, strlen(f->body), NULL, &body, NULL) ==
                   ERR_OK) {
            add_proof(y, f->kind, f->id, body, &first);
        }
    }
    return first;
}

/* ---- moving back ----------------------------------------------------------------------------- */

void azure_lb_moves_note(const struct azure_lb_edits *b, const struct azure_lb_move *m)
{
    if (!b->y->s->planning && m->item->moves_from == NULL) {
        m->item->moves_from = arena_strdup(b->y->s->life, b->items[m->from].name);
        m->item->moves_to_nodes = has_nodes(b->items[m->to].was);
    }
}

/* Does the write bring the Service, which is on its way, to nodes? */
static bool is_arrival(struct azure_sync *y, const struct azure_item *it,
                       const struct azure_call_spec *spec)
{
    const char *lb = azure_id_part(y->s->a, spec->id, "loadBalancers");
    bool mine = lb != NULL && it->target != NULL && azure_eq(lb, it->target);
    return (mine && (spec->kind == AZURE_POOLS || it->moves_to_nodes)) ||
           spec->kind == AZURE_NICS || azure_arm_is_compute(spec->kind);
}

void azure_lb_moves_wrote(struct azure_sync *y, const struct lb_op *op, unsigned outcome,
                          const struct err *err)
{
    const struct azure_write *w = op->arg;
    const struct azure_call_spec *spec = &w->spec;
    for (size_t i = 0; i < y->s->n_items; i++) {
        struct azure_item *it = &y->items[i];
        if (it->service == NULL || it->moves_from == NULL || it->back_to != NULL ||
            !str_set_has(&op->owners, it->item->key)) {
            continue;
        }
        if (outcome != LB_DONE) {
            note_forbidden(y, it, w, err);
        } else if (spec->kind == AZURE_LBS && azure_eq(azure_id_last(spec->id), it->moves_from)) {
            it->has_left = true;
        } else if (it->has_left && spec->verb == AZURE_PUT && is_arrival(y, it, spec)) {
            it->moves_from = NULL;
        }
    }
}

void azure_lb_moves_arrived(struct azure_sync *y)
{
    for (size_t i = 0; i < y->s->n_items; i++) {
        if (azure_item_takes_part(&y->items[i])) {
            y->items[i].moves_from = NULL;
        }
    }
}

bool azure_lb_moves_retreats(struct lb_sync *s, struct lb_item *item)
{
    struct azure_sync *y = s->data;
    struct azure_item *it = y != NULL && y->items != NULL ? &y->items[item - s->items] : NULL;
    if (it == NULL || it->service == NULL || !it->want || it->moves_from == NULL || !it->has_left ||
        item->err.code == ERR_CANCELLED) {
        return false;
    }
    it->back_to = it->moves_from;
    return true;
}

/* Refused in whatever words, and not for the moment.  The controller takes a try that is asked for
 * so late for a refusal that stays (docs/adr/0050). */
static bool is_for_good(const struct err *err)
{
    int status = err->http_status;
    bool refused = status / 100 == 4 && status != 408 && status != 429;
    return refused || err->code == ERR_INVALID || err->code == ERR_QUOTA ||
           err->code == ERR_FORBIDDEN || err->code == ERR_IN_USE || err->code == ERR_NOT_FOUND;
}

void azure_lb_moves_ended(struct lb_sync *s, struct lb_item *item, bool done)
{
    const struct azure_item *it = &azure_sync_of(s)->items[item - s->items];
    const struct err was = item->err;
    if (!done) {
        return;
    }
    if (strstr(was.message, "put back") == NULL) { /* else the driver has said so */
        (void)err_set(&item->err, was.code, "%s; it is on load balancer %s again", was.message,
                      it->back_to);
        item->err.http_status = was.http_status;
        memcpy(item->err.reason, was.reason, sizeof(was.reason));
    }
    item->err.retry_after_ms = is_for_good(&was) && was.retry_after_ms < LOOK_AGAIN_MS
                                   ? LOOK_AGAIN_MS
                                   : was.retry_after_ms;
}
