/* SPDX-License-Identifier: Apache-2.0 */
/* azure_emit.c: one write of one document as an operation (azure_emit.h). */
#include "providers/azure/sync/azure_emit.h"
#include "common/base/str.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/sync/azure_predict.h"

#include <string.h>

/* Azure's are numbers, or GUIDs that are not zero. */
#define NO_VERSION "W/\"00000000-0000-0000-0000-000000000000\""

static bool all_go(const struct azure_sync *y, const struct azure_owners *o, bool *ret_refused)
{
    bool go = true;
    *ret_refused = false;
    for (size_t i = 0; i < y->s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        bool owns = it->service != NULL && azure_owners_have(o, it->item->key);
        go = go && (!owns || !it->want);
        *ret_refused = *ret_refused || (owns && it->taken_back);
    }
    return go;
}

const char *azure_owners_why(const struct azure_sync *y, const struct azure_owners *o, bool is_new)
{
    struct arena *a = y->s->a;
    struct str_set set = azure_owners_set(a, o);
    bool many = set.n > 1;
    const char *who =
        many ? arena_printf(a, "%s and %zu more", set.items[0], set.n - 1) : set.items[0];
    bool refused;
    if (all_go(y, o, &refused)) {
        return refused ? arena_printf(a, "%s %s refused", who, many ? "are" : "is")
                       : arena_printf(a, "%s %s", who, many ? "go" : "goes");
    }
    return is_new ? arena_printf(a, "%s %s it", who, many ? "need" : "needs")
                  : arena_printf(a, "it is not as %s %s for", who, many ? "ask" : "asks");
}

/* A part has the name of its whole in front: "vmss/0", "kubernetes-internal/kubernetes". */
static const char *name_of(struct arena *a, enum azure_kind kind, const char *id)
{
    static const struct {
        enum azure_kind kind;
        const char *of;
    } parts[] = {{AZURE_POOLS, "loadBalancers"},
                 {AZURE_VMSS_VMS, "virtualMachineScaleSets"},
                 {AZURE_PE_CONNECTIONS, "privateLinkServices"}};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        const char *of = parts[i].kind == kind ? azure_id_part(a, id, parts[i].of) : NULL;
        if (of != NULL) {
            return arena_printf(a, "%s/%s", of, azure_id_last(id));
        }
    }
    return arena_strdup(a, azure_id_last(id));
}

size_t azure_stage_ops(const struct azure_sync *y, const struct lb_plan *plan)
{
    return y->stage_is_new ? plan->n_ops : y->stage_op;
}

static bool is_clinging(const struct azure_sync *y, const char *pip)
{
    const struct azure_clinging *one = y->clinging_pips;
    while (one != NULL && !azure_id_eq(one->id, pip)) {
        one = one->next;
    }
    return one != NULL;
}

int azure_emit(struct azure_sync *y, struct lb_plan *plan, const struct azure_emit *e)
{
    struct arena *a = y->s->a;
    y->stage_op = azure_stage_ops(y, plan);
    y->stage_is_new = false;
    const struct azure_call_spec spec = {
        .kind = e->kind,
        .verb = e->doc != NULL ? AZURE_PUT : AZURE_DELETE,
        .id = e->id,
        .body = e->doc,
        .passing = e->passing,
        .creates = e->doc != NULL && e->was == NULL,
        .if_match =
            e->doc != NULL && !e->unguarded && e->follows == 0 ? azure_doc_etag(e->was) : NULL,
    };
    struct azure_write *w = azure_write_new(y, &spec);
    if (e->follows > 0) {
        w->etag = LB_VALUE_OF(e->follows - 1, "etag");
    }
    w->doubtful = e->kind == AZURE_PIPS && e->doc == NULL && !is_clinging(y, e->id);
    w->was = e->was != NULL ? azure_doc_etag(e->was) : NULL;
    w->touches_pips = e->touches_pips;
    w->touches_lbs = e->touches_lbs;
    w->announced = e->announced;
    w->parties = e->parties;
    enum lb_verb change = e->was != NULL ? LB_CHANGE : LB_CREATE;
    struct lb_op op =
        LB_OP(.verb = e->doc != NULL ? change : LB_DELETE, .kind = azure_arm_word(e->kind),
              .name = name_of(a, e->kind, e->id), .why = e->why, .summary = e->summary,
              .owners = azure_owners_set(a, e->owners), .shared = e->shared,
              .parallel = e->parallel,
              .tolerate = e->tolerate | (e->doc == NULL ? LB_TOLERATE_ABSENT : 0u), .undo = e->undo,
              .proof = e->proof, .proves_all = e->proof != NULL,
              .type = e->doc != NULL ? &azure_put_type : &azure_delete_type, .arg = w, .calls = 1);
    if (e->diff != NULL) {
        op.fields = e->diff->fields;
        op.n_fields = e->diff->n;
    }
    azure_predict(y, e->kind, e->id, e->doc);
    int index = lb_plan_add(plan, e->owners->keys[0], &op);
    if (e->beside) {
        lb_plan_after(plan, index, -1);
    }
    return index;
}

/* Without If-Match: what is put back has been written since it was read. */
const struct lb_undo *azure_undo(struct azure_sync *y, const struct azure_undo_ask *ask)
{
    struct arena *life = y->s->life;
    enum azure_kind until = ask->until_pip != NULL ? AZURE_PIPS : ask->kind;
    struct azure_write *w = ARENA_NEW(life, struct azure_write);
    *w = (struct azure_write){.arm = &y->p->arm,
                              .call = y->s->call,
                              .spec = {.kind = ask->kind,
                                       .verb = AZURE_PUT,
                                       .id = arena_strdup(life, ask->id),
                                       .body = ask->doc},
                              .touches_pips = ask->kind == AZURE_LBS};
    const char *until_name =
        name_of(life, until, ask->until_pip != NULL ? ask->until_pip : ask->id);
    struct lb_undo *undo = ARENA_NEW(life, struct lb_undo);
    *undo = (struct lb_undo){
        .verb = ask->verb,
        .kind = azure_arm_word(ask->kind),
        .name = name_of(life, ask->kind, ask->id),
        .until_kind = azure_arm_word(until),
        .until_name = ask->until_lb != NULL ? arena_strdup(life, ask->until_lb) : until_name,
        .takes_down = ask->takes_down,
        .type = &azure_put_type,
        .arg = w,
        .calls = 1,
    };
    return undo;
}

struct lb_undo *azure_proof(struct azure_sync *y, enum azure_kind kind, const char *id,
                            struct json_object *body)
{
    const struct azure_call_spec spec = {
        .kind = kind, .verb = AZURE_PUT, .id = id, .body = body, .if_match = NO_VERSION};
    struct lb_undo *proof = ARENA_NEW(y->s->a, struct lb_undo);
    *proof = (struct lb_undo){
        .verb = LB_CHANGE,
        .kind = azure_arm_word(kind),
        .name = name_of(y->s->a, kind, id),
        .type = &azure_put_type,
        .arg = azure_write_new(y, &spec),
        .calls = 1,
    };
    return proof;
}

void azure_emit_keep(struct azure_sync *y, struct lb_plan *plan, enum azure_kind k, const char *id,
                     const char *key)
{
    struct lb_op op = LB_OP(.verb = LB_KEEP, .kind = azure_arm_word(k),
                            .name = arena_strdup(y->s->a, azure_id_last(id)));
    (void)lb_plan_add(plan, key, &op);
    lb_plan_service(plan, key)->checked++;
}
