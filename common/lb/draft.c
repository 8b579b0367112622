/* SPDX-License-Identifier: Apache-2.0 */
/* draft.c: from drafts to operations of a plan (draft.h). */
#include "common/lb/draft.h"

#include <assert.h>
#include <string.h>

#define FIRST 8 /* drafts for which there is room at first */

void lb_drafts_init(struct lb_drafts *d, struct arena *a, size_t size)
{
    *d = (struct lb_drafts){.a = a, .size = size};
}

static struct lb_draft *item(const struct lb_drafts *d, size_t i)
{
    return (struct lb_draft *)((char *)d->items + i * d->size);
}

int lb_drafts_add(struct lb_drafts *d, const void *one)
{
    if (d->n == d->cap) {
        d->cap = d->cap == 0 ? FIRST : d->cap * 2;
        void *bigger = arena_calloc(d->a, d->cap, d->size);
        if (d->n > 0) {
            memcpy(bigger, d->items, d->n * d->size);
        }
        d->items = bigger;
    }
    memcpy(item(d, d->n), one, d->size);
    return (int)d->n++;
}

void *lb_drafts_at(const struct lb_drafts *d, int handle)
{
    assert(handle >= 0 && (size_t)handle < d->n);
    return item(d, (size_t)handle);
}

int lb_drafts_index(const struct lb_drafts *d, int handle)
{
    if (handle < 0) {
        return handle;
    }
    const struct lb_draft *of = lb_drafts_at(d, handle);
    assert(of->at >= 0);
    return of->at;
}

struct lb_value lb_drafts_value(const struct lb_drafts *d, struct lb_value v)
{
    if (v.text == NULL && v.op >= 0) {
        v.op = lb_drafts_index(d, v.op);
    }
    return v;
}

static void resolve(const struct lb_drafts *d, struct lb_op *op)
{
    op->only_if_op = lb_drafts_index(d, op->only_if_op);
    op->sent_after = lb_drafts_index(d, op->sent_after);
    for (size_t i = 0; i < op->n_fields; i++) {
        op->fields[i].new_value = lb_drafts_value(d, op->fields[i].new_value);
    }
}

static void place_phase(struct lb_drafts *d, const struct lb_drafts_how *how, int phase)
{
    size_t in_wave = 0;
    for (size_t i = 0; i < d->n; i++) {
        struct lb_draft *one = item(d, i);
        if (one->phase != phase || one->aside) {
            continue;
        }
        bool changes = one->op.verb != LB_KEEP;
        bool full = how->most > 0 && in_wave >= how->most && one->op.sent_after < 0;
        in_wave = full ? 0 : in_wave;
        resolve(d, &one->op);
        one->op.parallel = changes && in_wave > 0;
        if (how->complete != NULL) {
            how->complete(how->arg, one);
        }
        one->at = lb_plan_add(how->plan, how->key, &one->op);
        in_wave += changes;
        if (how->placed != NULL) {
            how->placed(how->arg, one);
        }
    }
}

void lb_drafts_place(struct lb_drafts *d, const struct lb_drafts_how *how)
{
    for (int phase = 0; phase < how->n_phases; phase++) {
        place_phase(d, how, phase);
    }
}

void lb_drafts_clear(struct lb_drafts *d)
{
    d->n = 0;
}
