/* SPDX-License-Identifier: Apache-2.0 */
/* counts.c: how often each operation was called, per API; GET and DELETE /sim/calls.
 *
 * A call counts when it arrives: what was refused by a fault, lost or left unanswered counts too,
 * and so do waits and polls (interfaces.md, "Counting"). */
#include "common/base/map.h"
#include "sim/core/frame.h"

static void free_ops(void *ops)
{
    map_free(ops);
}

struct sim_counts *sim_counts_new(void)
{
    struct sim_counts *c = xcalloc(1, sizeof(*c));
    c->by_module = map_new(free_ops);
    return c;
}

void sim_counts_free(struct sim_counts *c)
{
    if (c) {
        map_free(c->by_module);
        free(c);
    }
}

void sim_counts_add(struct sim_counts *c, const char *module, const char *op)
{
    struct map *ops = map_get(c->by_module, module);
    if (!ops) {
        ops = map_new(free);
        map_set(c->by_module, module, ops);
    }
    int64_t *n = map_get(ops, op);
    if (!n) {
        n = xcalloc(1, sizeof(*n));
        map_set(ops, op, n);
    }
    *n += 1;
    atomic_fetch_add(&c->total, 1);
}

void sim_counts_clear(struct sim_counts *c)
{
    map_clear(c->by_module);
}

static bool add_op(const char *op, void *value, void *arg)
{
    json_add_int(arg, op, *(const int64_t *)value);
    return true;
}

struct json_object *sim_counts_json(const struct sim_counts *c, const struct sim *s)
{
    struct json_object *out = json_object_new_object();
    for (size_t i = 0; i < s->n_slots; i++) {
        struct json_object *ops = json_object_new_object();
        const struct map *counted = map_get(c->by_module, s->slots[i].module->name);
        if (counted) {
            map_each(counted, add_op, ops);
        }
        json_add(out, s->slots[i].module->name, ops);
    }
    return out;
}

struct json_object *sim_counts(struct sim *s)
{
    return sim_counts_json(s->counts, s);
}

void sim_counts_reset(struct sim *s)
{
    sim_counts_clear(s->counts);
}
