/* SPDX-License-Identifier: Apache-2.0 */
/* azure_emit.c: one write of one document as an operation (azure_emit.h). */
#include "providers/azure/azure_emit.h"
#include "common/base/str.h"
#include "providers/azure/azure_doc.h"
#include "providers/azure/azure_predict.h"

#include <string.h>

void azure_owners_add(struct arena *a, struct azure_owners *o, const char *key)
{
    if (o->n > 0 && str_eq(o->keys[o->n - 1], key)) {
        return;
    }
    if (o->n == o->cap) {
        o->cap = o->cap * 2 + 4;
        const char **more = ARENA_ARRAY(a, const char *, o->cap);
        if (o->n > 0) {
            memcpy(more, o->keys, o->n * sizeof(*more));
        }
        o->keys = more;
    }
    o->keys[o->n++] = key;
}

bool azure_owners_have(const struct azure_owners *o, const char *key)
{
    bool has = false;
    for (size_t i = 0; i < o->n && !has; i++) {
        has = str_eq(o->keys[i], key);
    }
    return has;
}

struct str_set azure_owners_set(struct arena *a, const struct azure_owners *o)
{
    return str_set_make(a, o->keys, o->n);
}

const char *azure_owners_text(struct arena *a, const struct azure_owners *o)
{
    struct str_set set = azure_owners_set(a, o);
    if (set.n == 0) {
        return "nobody";
    }
    return set.n == 1 ? set.items[0] : arena_printf(a, "%s and %zu more", set.items[0], set.n - 1);
}

int azure_emit(struct azure_sync *y, struct lb_plan *plan, const struct azure_emit *e)
{
    struct arena *a = y->s->a;
    const struct azure_call_spec spec = {
        .kind = e->kind,
        .verb = e->doc != NULL ? AZURE_PUT : AZURE_DELETE,
        .id = e->id,
        .body = e->doc,
        .if_match = e->doc != NULL && !e->unguarded ? azure_doc_etag(e->was) : NULL,
    };
    struct azure_write *w = azure_write_new(y, &spec);
    w->touches_pips = e->touches_pips;
    w->touches_lbs = e->touches_lbs;
    w->announced = e->announced;
    enum lb_verb change = e->was != NULL ? LB_CHANGE : LB_CREATE;
    struct lb_op op =
        LB_OP(.verb = e->doc != NULL ? change : LB_DELETE, .kind = azure_arm_word(e->kind),
              .name = arena_strdup(a, azure_id_last(e->id)), .why = e->why, .summary = e->summary,
              .owners = azure_owners_set(a, e->owners), .shared = e->shared,
              .parallel = e->parallel,
              .tolerate = e->tolerate | (e->doc == NULL ? LB_TOLERATE_ABSENT : 0u),
              .type = e->doc != NULL ? &azure_put_type : &azure_delete_type, .arg = w, .calls = 1);
    if (e->diff != NULL) {
        op.fields = e->diff->fields;
        op.n_fields = e->diff->n;
    }
    azure_predict(y, e->kind, e->id, e->doc);
    return lb_plan_add(plan, e->owners->keys[0], &op);
}

void azure_emit_keep(struct azure_sync *y, struct lb_plan *plan, enum azure_kind k, const char *id,
                     const char *key)
{
    struct lb_op op = LB_OP(.verb = LB_KEEP, .kind = azure_arm_word(k),
                            .name = arena_strdup(y->s->a, azure_id_last(id)));
    (void)lb_plan_add(plan, key, &op);
    lb_plan_service(plan, key)->checked++;
}
