/* SPDX-License-Identifier: Apache-2.0 */
/* gce_flow_gone.c: remembers what a sync takes away before what follows is there (gce_flow.h).
 *
 * What goes in the way of another kind stands while that is planned, and a plan that is only shown
 * takes nothing away at all: what follows would find it, and plan a change of what the sync will
 * make again.  Here, too, is how the cloud is asked before something goes. */
#include "common/base/str.h"
#include "providers/gce/gce_flow.h"
#include "providers/gce/ops/gce_ops.h"

void gce_flow_note_gone(struct lb_sync *s, const struct lb_plan *plan, struct lb_item *item)
{
    struct gce_item *g = gce_item_of(item);
    g->gone = ARENA_ARRAY(s->life, struct gce_gone, plan->n_ops);
    g->n_gone = 0;
    for (size_t i = 0; i < plan->n_ops; i++) {
        const struct lb_op *op = &plan->ops[i];
        const struct gce_op *arg = op->arg;
        if (op->verb == LB_DELETE && arg != NULL && str_set_has(&op->owners, item->key)) {
            g->gone[g->n_gone++] = (struct gce_gone){arg->c, arena_strdup(s->life, op->name)};
        }
    }
}

static void give_back(void *arg)
{
    json_object_put(arg);
}

const struct lb_undo *gce_flow_ask(const struct lb_sync *s, enum gce_collection c, const char *name,
                                   struct json_object *body)
{
    struct gce_op *arg = ARENA_NEW(s->a, struct gce_op);
    struct lb_undo *ask = ARENA_NEW(s->a, struct lb_undo);
    *arg = (struct gce_op){.c = c, .verb = GCE_INSERT, .name = name, .body = body, .call = s->call};
    arena_defer(s->a, give_back, body);
    *ask = (struct lb_undo){.verb = LB_CREATE,
                            .kind = gce_collection_word(c),
                            .name = name,
                            .type = &gce_op_type_insert,
                            .arg = arg,
                            .calls = gce_op_calls(arg)};
    return ask;
}

static bool is_gone(const struct lb_sync *s, const struct lb_item *item, enum gce_collection c,
                    const char *name)
{
    const struct gce_item *g = gce_item_of(item);
    for (size_t i = 0; (s->planning || g->gives_way) && i < g->n_gone; i++) {
        if (g->gone[i].c == c && str_eq(g->gone[i].name, name)) {
            return true;
        }
    }
    return false;
}

void gce_flow_see_gone(const struct lb_sync *s, const struct lb_item *item, struct gce_slots *slots)
{
    for (size_t i = 0; slots->verb != TT_VERB_UPDATE && i < slots->n; i++) {
        struct gce_slot *slot = &slots->items[i];
        if (slot->zone == NULL && is_gone(s, item, slot->c, slot->name)) {
            slot->known = GCE_ABSENT;
            slot->as = NULL;
        }
    }
}
