/* SPDX-License-Identifier: Apache-2.0 */
/* gce_target_pool_emit_plan.c: see gce_target_pool_emit_plan.h. */
#include "providers/gce/target_pool/gce_target_pool_emit_plan.h"

#include "common/base/str.h"
#include "providers/gce/model/gce_former_address.h"
#include "providers/gce/model/gce_links.h"

void tp_emit_init(struct tp_emit *e, struct lb_plan *p, const struct gce_tp_facts *facts,
                  const struct gce_tp_input *in, const struct gce_tp_observed *o)
{
    *e = (struct tp_emit){.a = p->a, .p = p, .facts = facts, .in = in, .o = o};
    gce_emit_init(&e->out, p, in->key, in->outcome->call,
                  facts->on_xpn ? facts->network_project : NULL);
    e->out.holds_first = in->hold_was_refused;
}

void tp_next_wave(struct tp_emit *e)
{
    e->wave += e->wave_open;
    e->wave_open = false;
}

int tp_emit(struct tp_emit *e, struct lb_op op, struct gce_op arg)
{
    arg.plain = true;
    e->wave_open = true;
    return gce_emit(&e->out, e->wave, op, arg);
}

struct lb_op *tp_op(const struct tp_emit *e, int handle)
{
    return &gce_emit_at(&e->out, handle)->draft.op;
}

const struct lb_undo *tp_undo(struct tp_emit *e, struct gce_op arg, enum gce_collection until)
{
    arg.plain = true;
    return gce_emit_undo(&e->out, arg, until, e->d->names.lb);
}

void tp_flush(struct tp_emit *e, const struct gce_names *names)
{
    gce_emit_flush(&e->out, e->wave + 1, tp_order, names);
}

void tp_keep(struct tp_emit *e, enum gce_collection c, const char *name)
{
    gce_emit_keep(&e->out, e->wave, c, name);
}

int tp_delete(struct tp_emit *e, enum gce_collection c, const char *name, const char *why)
{
    e->wave_open = true;
    return gce_emit_delete(&e->out, e->wave, (struct gce_op){.c = c, .name = name, .plain = true},
                           why);
}

int tp_hold_former(struct tp_emit *e, const struct gce_names *names)
{
    const struct gce_tp_observed *o = e->o;
    const char *name = names->former_address;
    bool has = o->has_former == GCE_PRESENT;
    /* That which clients know stays: the rule that goes was made for a wish that is refused. */
    bool known = has && gce_former_address_is_known(e->a, e->in->service, o->former.ip);
    if (known || (has && str_eq(o->former.ip, o->rule.ip)) || o->rule_ip_is_reserved ||
        lb_plan_makes_room(e->p, e->in->key, gce_op_kind(GCE_ADDRESSES))) {
        return -1;
    }
    if (has) {
        (void)tp_delete(e, GCE_ADDRESSES, name, "an interrupted run left it for another rule");
    }
    const struct gce_address d = gce_former_address_of(e->a, &o->rule, name, names->description);
    struct lb_op op =
        LB_OP(.verb = LB_CREATE,
              .why = "the former forwarding rule comes back with its address if the "
                     "new one is refused",
              .summary = arena_printf(e->a, "regional, %s", d.tier),
              .note = "holds it until the new rule stands", .tolerate = LB_TOLERATE_EXISTS);
    return tp_emit(e, op,
                   (struct gce_op){.c = GCE_ADDRESSES,
                                   .verb = GCE_INSERT,
                                   .name = name,
                                   .body = gce_own(e->a, gce_address_body(&d))});
}

/* ---- members --------------------------------------------------------------------------------- */

struct str_set tp_pool_members(struct arena *a, const struct gce_pool *pool)
{
    const char **out = ARENA_ARRAY(a, const char *, pool->instances.n);
    for (size_t i = 0; i < pool->instances.n; i++) {
        out[i] = gce_link_zonal_tail(pool->instances.items[i]);
    }
    return str_set_make(a, out, pool->instances.n);
}

static struct gce_op members_op(struct arena *a, const char *pool, const char *const *who, size_t n,
                                bool add)
{
    return (struct gce_op){.c = GCE_POOLS,
                           .verb = add ? GCE_ADD_INSTANCE : GCE_REMOVE_INSTANCE,
                           .name = pool,
                           .body = gce_own(a, gce_pool_members_body(who, n)),
                           .members = true,
                           .plain = true};
}

struct gce_op tp_pool_again(struct arena *a, const struct gce_pool *pool)
{
    struct gce_pool first = *pool;
    const struct gce_strs *all = &pool->instances;
    first.instances.n = all->n < GCE_POOL_CREATE_MAX ? all->n : GCE_POOL_CREATE_MAX;
    struct gce_op insert = {.c = GCE_POOLS,
                            .verb = GCE_INSERT,
                            .name = pool->name,
                            .body = gce_own(a, gce_pool_body(&first)),
                            .members = true};
    const struct gce_op **next = &insert.then;
    for (size_t from = first.instances.n; from < all->n; from += GCE_POOL_CHANGE_MAX) {
        size_t n = all->n - from < GCE_POOL_CHANGE_MAX ? all->n - from : GCE_POOL_CHANGE_MAX;
        struct gce_op *rest = ARENA_NEW(a, struct gce_op);
        *rest = members_op(a, pool->name, all->items + from, n, true);
        *next = rest;
        next = &rest->then;
    }
    return insert;
}

static void change_members(struct tp_emit *e, const char *pool, const struct str_set *who, bool add,
                           const char *why)
{
    for (size_t from = 0; from < who->n; from += GCE_POOL_CHANGE_MAX) {
        size_t n = who->n - from < GCE_POOL_CHANGE_MAX ? who->n - from : GCE_POOL_CHANGE_MAX;
        struct lb_diff diff;
        struct str_set none = {0};
        struct str_set some = {.items = who->items + from, .n = n};
        lb_diff_init(&diff, e->a);
        (void)lb_diff_set(&diff, "instances", add ? &none : &some, add ? &some : &none);
        struct lb_op op = LB_OP(.verb = LB_CHANGE, .why = why,
                                .summary = arena_printf(e->a, "%s %zu %s", add ? "add" : "remove",
                                                        n, n == 1 ? "instance" : "instances"),
                                .fields = diff.fields, .n_fields = diff.n);
        tp_next_wave(e);
        (void)tp_emit(e, op, members_op(e->a, pool, some.items, some.n, add));
    }
}

void tp_members(struct tp_emit *e, const char *pool, const struct str_set *now,
                const struct str_set *then, const char *why)
{
    if (str_set_eq(now, then)) {
        return;
    }
    struct str_set add = str_set_minus(e->a, then, now);
    struct str_set gone = str_set_minus(e->a, now, then);
    bool both = add.n > 0 && gone.n > 0;
    bool first = both && lb_plan_makes_room(e->p, e->in->key, gce_op_kind(GCE_POOLS));
    for (int round = 0; round < 2; round++) {
        bool adds = (round == 0) != first;
        change_members(e, pool, adds ? &add : &gone, adds, why);
    }
}
