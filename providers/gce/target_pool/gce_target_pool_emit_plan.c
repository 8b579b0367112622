/* SPDX-License-Identifier: Apache-2.0 */
/* gce_target_pool_emit_plan.c: see gce_target_pool_emit_plan.h. */
#include "providers/gce/target_pool/gce_target_pool_emit_plan.h"

#include "common/base/str.h"
#include "providers/gce/model/gce_links.h"

void tp_next_wave(struct tp_emit *e)
{
    e->wave_open = false;
}

int tp_emit(struct tp_emit *e, struct lb_op op, struct gce_tp_op arg)
{
    struct gce_tp_op *kept = ARENA_NEW(e->a, struct gce_tp_op);
    *kept = arg;
    kept->name = op.name;
    kept->d = e->d;
    kept->outcome = e->in->outcome;
    op.arg = kept;
    op.parallel = e->wave_open;
    e->wave_open = true;
    return lb_plan_add(e->p, e->in->key, &op);
}

const struct lb_undo *tp_undo(struct tp_emit *e, const char *kind, const char *name,
                              struct gce_tp_op arg, bool until_pool)
{
    struct gce_tp_op *kept = ARENA_NEW(e->a, struct gce_tp_op);
    struct lb_undo *undo = ARENA_NEW(e->a, struct lb_undo);
    bool changes = arg.action == GCE_TP_RESTORE_FIREWALL;
    *kept = arg;
    kept->name = name;
    kept->outcome = e->in->outcome;
    *undo = (struct lb_undo){
        .verb = changes ? LB_CHANGE : LB_CREATE,
        .kind = kind,
        .name = name,
        .until_kind = until_pool ? TP_KIND_POOL : TP_KIND_RULE,
        .until_name = e->d->names.lb,
        .type = changes ? &gce_tp_type_patch : &gce_tp_type_insert,
        .arg = kept,
        .calls = 2,
    };
    return undo;
}

void tp_keep(struct tp_emit *e, const char *kind, const char *name)
{
    struct lb_op op = LB_OP(.verb = LB_KEEP, .kind = kind, .name = name);
    (void)lb_plan_add(e->p, e->in->key, &op);
    lb_plan_service(e->p, e->in->key)->checked++;
}

static const char *kind_of_delete(enum gce_tp_action action)
{
    switch (action) {
    case GCE_TP_DELETE_RULE:
        return TP_KIND_RULE;
    case GCE_TP_DELETE_POOL:
        return TP_KIND_POOL;
    case GCE_TP_DELETE_CHECK:
        return TP_KIND_CHECK;
    case GCE_TP_DELETE_ADDRESS:
        return TP_KIND_ADDRESS;
    default:
        return TP_KIND_FIREWALL;
    }
}

int tp_delete(struct tp_emit *e, enum gce_tp_action action, const char *name, const char *why)
{
    struct lb_op op =
        LB_OP(.verb = LB_DELETE, .kind = kind_of_delete(action), .name = name, .why = why,
              .tolerate = LB_TOLERATE_ABSENT, .type = &gce_tp_type_delete, .calls = 2);
    return tp_emit(e, op, (struct gce_tp_op){.action = action});
}

unsigned tp_forbidden_is_fine(const struct tp_emit *e)
{
    return e->facts->on_xpn ? LB_TOLERATE_FORBIDDEN : 0;
}

int tp_delete_firewall(struct tp_emit *e, const char *name, const char *why, bool told)
{
    struct lb_op op = LB_OP(.verb = LB_DELETE, .kind = TP_KIND_FIREWALL, .name = name, .why = why,
                            .tolerate = LB_TOLERATE_ABSENT | tp_forbidden_is_fine(e),
                            .type = &gce_tp_type_delete, .calls = 2);
    return tp_emit(e, op,
                   (struct gce_tp_op){
                       .action = GCE_TP_DELETE_FIREWALL,
                       .ret_command = told ? ARENA_NEW(e->a, const char *) : NULL,
                   });
}

struct str_set tp_pool_members(struct arena *a, const struct gce_pool *pool)
{
    const char **out = ARENA_ARRAY(a, const char *, pool->instances.n);
    for (size_t i = 0; i < pool->instances.n; i++) {
        out[i] = gce_link_zonal_tail(pool->instances.items[i]);
    }
    return str_set_make(a, out, pool->instances.n);
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
        struct lb_op op = LB_OP(.verb = LB_CHANGE, .kind = TP_KIND_POOL, .name = pool, .why = why,
                                .summary = arena_printf(e->a, "%s %zu %s", add ? "add" : "remove",
                                                        n, n == 1 ? "instance" : "instances"),
                                .fields = diff.fields, .n_fields = diff.n,
                                .type = &gce_tp_type_members, .calls = 2);
        tp_next_wave(e);
        (void)tp_emit(e, op,
                      (struct gce_tp_op){
                          .action = add ? GCE_TP_ADD_MEMBERS : GCE_TP_REMOVE_MEMBERS,
                          .pool = pool,
                          .members = gce_strs_of(e->a, some.items, some.n),
                      });
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
    bool first = both && lb_plan_makes_room(e->p, e->in->key, TP_KIND_POOL);
    for (int round = 0; round < 2; round++) {
        bool adds = (round == 0) != first;
        change_members(e, pool, adds ? &add : &gone, adds, why);
    }
}
