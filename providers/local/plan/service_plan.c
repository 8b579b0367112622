/* SPDX-License-Identifier: Apache-2.0 */
/* service_plan.c: phases of a plan (service_plan.h).
 *
 * Invariants, after each operation: a held address has its guard; an open frontend has a target; an
 * announced address is held. */
#include "providers/local/plan/service_plan_internal.h"

#include <string.h>

#include "common/base/map.h"
#include "common/base/str.h"

/* ---- operations ------------------------------------------------------------------------------ */

/* Several Services of one plan may want the same of an address that they share. */
static bool joins_another(struct emit *e, const struct lb_op *op)
{
    const char *name = arena_printf(e->a, "%d %s %s", (int)op->verb, op->kind, op->name);
    uintptr_t at = (uintptr_t)map_get(e->shared, name); /* index + 1 */

    if (at == 0) {
        map_set(e->shared, name, (void *)(uintptr_t)(e->plan->n_ops + 1));
        return false;
    }
    struct lb_op *o = &e->plan->ops[at - 1];
    const struct str_set mine = {.items = &e->s->key, .n = 1};
    o->owners = str_set_union(e->a, &o->owners, &mine);
    o->shared = true;
    return true;
}

void local_emit(struct emit *e, struct lb_op op)
{
    if (op.shared && joins_another(e, &op)) {
        return;
    }
    op.parallel = e->plan->n_ops > e->n_before;
    op.calls = 1;
    (void)lb_plan_add(e->plan, e->s->key, &op);
}

const char *local_emit_front_name(struct emit *e, const struct local_frontend_id *id)
{
    char text[LOCAL_FRONTEND_TEXT_MAX];

    local_frontend_text(id, text);
    return arena_strdup(e->a, text);
}

static const char *addr_name(struct emit *e, const struct ip_addr *addr)
{
    char text[IP_TEXT_MAX];

    ip_format(addr, text);
    return arena_strdup(e->a, text);
}

static const char *dest_name(struct emit *e, const struct local_dest *d)
{
    return arena_printf(e->a, d->addr.len == 16 ? "[%s]:%u" : "%s:%u", addr_name(e, &d->addr),
                        d->port);
}

const struct local_front *local_front_of(const struct local_front *fronts, size_t n,
                                         const struct local_frontend_id *id)
{
    for (size_t i = 0; i < n; i++) {
        if (local_frontend_cmp(&fronts[i].id, id) == 0) {
            return &fronts[i];
        }
    }
    return NULL;
}

static const struct local_front *wanted(const struct emit *e, const struct local_front *have)
{
    return local_front_of(e->s->want, e->s->n_want, &have->id);
}

/* ---- changes of elements --------------------------------------------------------------------- */

struct changes local_changes_for(struct emit *e, size_t most)
{
    return (struct changes){.items = ARENA_ARRAY(e->a, struct local_nft_change, most + 1)};
}

void local_change(struct changes *c, bool del, struct local_nft_element element)
{
    c->items[c->n++] = (struct local_nft_change){.del = del, .e = element};
}

struct local_nft_deed *local_deed_of(struct emit *e, const struct changes *c)
{
    struct local_nft_deed *deed = ARENA_NEW(e->a, struct local_nft_deed);

    *deed = (struct local_nft_deed){.changes = c->items, .n = c->n};
    return deed;
}

static struct local_nft_element slot_of(const struct local_front *f, unsigned i)
{
    return (struct local_nft_element){.set = LOCAL_NFT_SLOT,
                                      .id = f->id,
                                      .hash = f->hash,
                                      .m = f->m,
                                      .slot = (uint16_t)i,
                                      .target = f->slots[i].addr,
                                      .target_port = f->slots[i].port};
}

static bool same_dest(const struct local_dest *a, const struct local_dest *b)
{
    return a->port == b->port && ip_eq(&a->addr, &b->addr);
}

/* Its slots in one of its maps; without slots in the other one unless it has them. */
static struct local_front in_map(const struct local_front *f, bool other)
{
    struct local_front one = *f;

    if (other) {
        one.hash = f->other_hash;
        one.m = f->other_m;
        one.slots = f->other_slots;
    }
    one.other_m = 0;
    return one;
}

static bool same_map(const struct local_front *a, const struct local_front *b)
{
    return a->m == b->m && a->hash == b->hash;
}

/* All slots of one map change at one moment: no packet sees half of it.  `from` and `to` are in the
 * same map; either may be NULL. */
static void change_slots(struct changes *c, const struct local_front *from,
                         const struct local_front *to)
{
    bool both = from != NULL && to != NULL;

    for (unsigned i = 0; from != NULL && i < from->m; i++) {
        bool stays = both && same_dest(&from->slots[i], &to->slots[i]);
        if (!stays && from->slots[i].addr.len != 0) {
            local_change(c, true, slot_of(from, i));
        }
    }
    for (unsigned i = 0; to != NULL && i < to->m; i++) {
        bool stays = both && same_dest(&from->slots[i], &to->slots[i]);
        if (!stays) {
            local_change(c, false, slot_of(to, i));
        }
    }
}

/* A frontend that moves stands in both maps until packets that looked into the new one before it
 * came have looked into the old one, too (leave_map).  It is never in three. */
static void change_maps(struct changes *c, const struct local_front *from,
                        const struct local_front *to)
{
    if (from == NULL) {
        change_slots(c, NULL, to);
        return;
    }
    const struct local_front first = in_map(from, false);
    const struct local_front other = in_map(from, true);
    bool in_first = same_map(&first, to);
    bool in_other = same_map(&other, to);

    if (!in_first && !in_other) {
        change_slots(c, &other, NULL);
    }
    change_slots(c, in_first ? &first : in_other ? &other : NULL, to);
}

/* ---- texts ----------------------------------------------------------------------------------- */

static unsigned count_slots(const struct local_front *f, const struct local_dest *d)
{
    unsigned n = 0;

    for (unsigned i = 0; f != NULL && i < f->m; i++) {
        n += same_dest(&f->slots[i], d);
    }
    return n;
}

static bool is_first(const struct local_front *f, unsigned slot)
{
    for (unsigned i = 0; i < slot; i++) {
        if (same_dest(&f->slots[i], &f->slots[slot])) {
            return false;
        }
    }
    return f->slots[slot].addr.len != 0;
}

static const char *slots_text(struct emit *e, const struct local_front *f, unsigned n)
{
    return n == 0 ? NULL : arena_printf(e->a, "%u of %u slots", n, f->m);
}

static void add_field(struct emit *e, struct lb_op *op, const struct local_front *from,
                      const struct local_front *to, const struct local_dest *d)
{
    const char *was = slots_text(e, from, count_slots(from, d));
    const char *is = slots_text(e, to, count_slots(to, d));

    if (!str_eq(was, is)) {
        op->fields[op->n_fields++] =
            (struct lb_field){.path = dest_name(e, d), .old_text = was, .new_value = LB_VALUE(is)};
    }
}

static void add_fields(struct emit *e, struct lb_op *op, const struct local_front *from,
                       const struct local_front *to)
{
    op->fields =
        ARENA_ARRAY(e->a, struct lb_field, (size_t)(from == NULL ? 0 : from->m) + to->m + 1);
    for (unsigned i = 0; i < to->m; i++) {
        if (is_first(to, i)) {
            add_field(e, op, from, to, &to->slots[i]);
        }
    }
    for (unsigned i = 0; from != NULL && i < from->m; i++) {
        if (is_first(from, i) && count_slots(to, &from->slots[i]) == 0) {
            add_field(e, op, from, to, &from->slots[i]);
        }
    }
}

/* Of a target that comes; else of one that goes. */
static const char *why_filled(struct emit *e, const struct local_front *from,
                              const struct local_front *to, const struct local_target_set *targets)
{
    for (size_t i = 0; i < targets->n; i++) {
        const struct local_target *t = &targets->items[i];
        const struct local_dest d = {.addr = t->addr, .port = t->port};
        if (count_slots(to, &d) > 0 && count_slots(from, &d) == 0 && t->why != NULL) {
            return t->why;
        }
    }
    for (unsigned i = 0; from != NULL && i < from->m; i++) {
        if (from->slots[i].addr.len != 0 && count_slots(to, &from->slots[i]) == 0) {
            return arena_printf(e->a, "%s is no target any more", dest_name(e, &from->slots[i]));
        }
    }
    return "shares have changed";
}

/* ---- phases ---------------------------------------------------------------------------------- */

/* The comment of a guard changes hands when its Service leaves an address that others share. */
static void guard(struct emit *e, const struct local_vip_pair *v)
{
    struct changes c = local_changes_for(e, 2);
    struct local_nft_element element = {.set = LOCAL_NFT_VIP, .id = {.vip = v->have.addr}};
    bool both = v->have.guarded && v->want.guarded;

    if (v->want.guarded == v->have.guarded && (!both || str_eq(v->have.comment, v->want.comment))) {
        return;
    }
    if (v->have.guarded) {
        local_change(&c, true, element);
    }
    if (v->want.guarded) {
        element.comment = v->want.comment;
        local_change(&c, false, element);
    }
    struct lb_op op = LB_OP(.verb = both              ? LB_CHANGE
                                    : v->want.guarded ? LB_CREATE
                                                      : LB_DELETE,
                            .kind = "guard", .shared = true, .name = addr_name(e, &v->have.addr),
                            .type = &local_nft_type, .why = v->why, .arg = local_deed_of(e, &c));
    if (both) {
        op.fields = ARENA_ARRAY(e->a, struct lb_field, 1);
        op.fields[op.n_fields++] = (struct lb_field){
            .path = "comment", .old_text = v->have.comment, .new_value = LB_VALUE(v->want.comment)};
    }
    local_emit(e, op);
}

static void fill(struct emit *e)
{
    for (size_t i = 0; i < e->s->n_vips; i++) {
        if (e->s->vips[i].want.guarded) {
            guard(e, &e->s->vips[i]);
        }
    }
    for (size_t i = 0; i < e->s->n_want; i++) {
        const struct local_front *to = &e->s->want[i];
        const struct local_front *from = local_front_of(e->s->have, e->s->n_have, &to->id);
        bool made = from != NULL && from->m > 0;
        if (to->m == 0 || (made && local_front_same_slots(from, to))) {
            continue;
        }
        struct changes c =
            local_changes_for(e, (size_t)to->m + (made ? (size_t)from->m + from->other_m : 0));
        change_maps(&c, from, to);
        if (c.n == 0) { /* it has yet to leave its other map */
            continue;
        }
        struct lb_op op =
            LB_OP(.verb = made ? LB_CHANGE : LB_CREATE, .kind = "frontend",
                  .name = local_emit_front_name(e, &to->id), .type = &local_nft_type,
                  .why = why_filled(e, from, to, &e->s->targets[i]), .arg = local_deed_of(e, &c));
        add_fields(e, &op, made ? from : NULL, to);
        local_emit(e, op);
    }
}

/* In the order of rules: the maps of slots one after the other come first. */
static unsigned rule_of(const struct local_front *f)
{
    return (f->hash ? LOCAL_SLOTS_MAX : 0u) + f->m;
}

/* Of its maps the one that it is not to be in.  A packet that does not find the frontend there any
 * more finds it in a map of a later rule. */
static void leave_map(struct emit *e)
{
    for (size_t i = 0; i < e->s->n_want; i++) {
        const struct local_front *to = &e->s->want[i];
        const struct local_front *from = local_front_of(e->s->have, e->s->n_have, &to->id);
        if (from == NULL || to->m == 0 || (same_map(from, to) && from->other_m == 0)) {
            continue;
        }
        const struct local_front old = in_map(from, same_map(from, to));
        if (old.m == 0) {
            continue;
        }
        struct changes c = local_changes_for(e, old.m);
        change_slots(&c, &old, NULL);
        struct local_nft_deed *deed = local_deed_of(e, &c);
        deed->settles = rule_of(to) < rule_of(&old);
        local_emit(e, LB_OP(.verb = LB_DELETE, .kind = "former slots",
                            .name = local_emit_front_name(e, &to->id), .type = &local_nft_type,
                            .why = "its slots stand in another map", .arg = deed));
    }
}

static void narrow(struct emit *e)
{
    leave_map(e);
    local_ranges_narrow(e);
}

static void hold_op(struct emit *e, const struct local_vip_pair *v, bool del, const char *kind,
                    int link)
{
    struct local_hold_deed *deed = ARENA_NEW(e->a, struct local_hold_deed);
    bool exports = str_eq(kind, "announcement");

    *deed = (struct local_hold_deed){.del = del,
                                     .kind = exports ? LOCAL_ROUTE_EXPORT : LOCAL_ROUTE_HOLD,
                                     .addr = v->have.addr,
                                     .link = link};
    local_emit(e, LB_OP(.verb = del ? LB_DELETE : LB_CREATE, .kind = kind, .shared = true,
                        .name = addr_name(e, &v->have.addr), .type = &local_hold_type,
                        .why = v->why, .arg = deed, .tolerate = del ? LB_TOLERATE_ABSENT : 0,
                        .summary = exports     ? "a route for routing daemons"
                                   : link != 0 ? "an address on the announcing interface"
                                               : "a local route"));
}

/* By the first way, or by the second one, in which it stands. */
static bool held_as_wanted(const struct local_vip_pair *v, bool second)
{
    bool stands = second ? v->have.twice : v->have.held;

    return stands && (second ? v->have.also_on : v->have.held_on) == v->want.held_on;
}

static void hold(struct emit *e)
{
    for (size_t i = 0; i < e->s->n_vips; i++) {
        const struct local_vip_pair *v = &e->s->vips[i];
        if (v->want.held && !held_as_wanted(v, false) && !held_as_wanted(v, true)) {
            hold_op(e, v, false, "hold", v->want.held_on);
        }
    }
}

static const char *links_text(struct emit *e, const struct local_vip_pair *v)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;

    for (size_t i = 0; i < v->n_links; i++) {
        str_appendf(&b, "%s%s", i == 0 ? "" : ", ", v->links[i]->name);
    }
    return str_buf_to_arena(&b, e->a);
}

static void announce(struct emit *e)
{
    for (size_t i = 0; i < e->s->n_vips; i++) {
        const struct local_vip_pair *v = &e->s->vips[i];
        if (v->want.exported && !v->have.exported) {
            hold_op(e, v, false, "announcement", 0);
        }
        if (!v->want.announced || v->have.announced || v->n_links == 0) {
            continue;
        }
        struct local_announce_deed *deed = ARENA_NEW(e->a, struct local_announce_deed);
        *deed = (struct local_announce_deed){
            .addr = v->have.addr, .links = v->links, .n_links = v->n_links, .probe = !v->have.held};
        local_emit(e, LB_OP(.verb = LB_CREATE, .kind = "announcement", .shared = true,
                            .name = arena_printf(e->a, "%s on %s", addr_name(e, &v->have.addr),
                                                 links_text(e, v)),
                            .type = &local_announce_type, .why = v->why, .arg = deed));
    }
}

static void withdraw(struct emit *e)
{
    for (size_t i = 0; i < e->s->n_vips; i++) {
        const struct local_vip_pair *v = &e->s->vips[i];
        if (v->have.exported && !v->want.exported) {
            hold_op(e, v, true, "announcement", 0);
        }
    }
}

static void let_go(struct emit *e)
{
    for (size_t i = 0; i < e->s->n_vips; i++) {
        const struct local_vip_pair *v = &e->s->vips[i];
        if (v->have.held && !(v->want.held && held_as_wanted(v, false))) {
            hold_op(e, v, true, "hold", v->have.held_on);
        }
        if (v->have.twice && !(v->want.held && held_as_wanted(v, true))) {
            hold_op(e, v, true, "former hold", v->have.also_on);
        }
    }
}

static const char *why_closed(const struct emit *e, const struct local_front *to)
{
    return to != NULL          ? "no target is left"
           : e->s->n_want == 0 ? "the Service has no load balancer here any more"
                               : "the Service has no such port any more";
}

static void close_all(struct emit *e)
{
    for (size_t i = 0; i < e->s->n_have; i++) {
        const struct local_front *from = &e->s->have[i];
        const struct local_front *to = wanted(e, from);
        if ((to != NULL && local_front_is_open(to)) ||
            (!local_front_is_open(from) && !from->snat)) {
            continue;
        }
        struct changes c = local_changes_for(e, from->n_open + from->n_also + 2);
        local_ranges_close(&c, from);
        local_emit(e, LB_OP(.verb = LB_DELETE, .kind = "source ranges",
                            .name = local_emit_front_name(e, &from->id), .type = &local_nft_type,
                            .why = why_closed(e, to), .arg = local_deed_of(e, &c)));
    }
}

/* Of the old targets those that no slot of the new frontend names. */
static const struct local_connections_deed *gone_of(struct emit *e, const struct local_front *from,
                                                    const struct local_front *to)
{
    struct local_connections_deed *deed = ARENA_NEW(e->a, struct local_connections_deed);
    struct local_dest *gone =
        ARENA_ARRAY(e->a, struct local_dest, (size_t)from->m + from->other_m + 1);

    *deed = (struct local_connections_deed){.id = from->id, .gone = gone, .all = to == NULL};
    for (int k = 0; k < 2; k++) {
        const struct local_front one = in_map(from, k == 1);
        for (unsigned i = 0; i < one.m; i++) {
            if (is_first(&one, i) && count_slots(to, &one.slots[i]) == 0 &&
                (k == 0 || count_slots(from, &one.slots[i]) == 0)) {
                gone[deed->n_gone++] = one.slots[i];
            }
        }
    }
    return deed;
}

static void drop(struct emit *e)
{
    for (size_t i = 0; i < e->s->n_have; i++) {
        const struct local_front *from = &e->s->have[i];
        const struct local_front *to = wanted(e, from);
        bool goes = to == NULL || to->m == 0;
        if (goes && from->m > 0) {
            struct changes c = local_changes_for(e, (size_t)from->m + from->other_m);
            const struct local_front other = in_map(from, true);
            change_slots(&c, from, NULL);
            change_slots(&c, &other, NULL);
            local_emit(e,
                       LB_OP(.verb = LB_DELETE, .kind = "frontend",
                             .name = local_emit_front_name(e, &from->id), .type = &local_nft_type,
                             .why = why_closed(e, to), .arg = local_deed_of(e, &c)));
        }
        /* A datagram has no connection that ends by itself.  A port that is gone keeps none, also
         * none with a target that drains or with a sorry server. */
        const struct local_connections_deed *deed = gone_of(e, from, to);
        if (deed->n_gone > 0 && (to == NULL || from->id.protocol == LOCAL_UDP)) {
            local_emit(e, LB_OP(.verb = LB_DELETE, .kind = "connections",
                                .name = local_emit_front_name(e, &from->id),
                                .type = &local_connections_type, .arg = deed,
                                .why = to == NULL
                                           ? why_closed(e, to)
                                           : "datagrams would still go to a target that is gone"));
        }
    }
}

static void unguard(struct emit *e)
{
    for (size_t i = 0; i < e->s->n_vips; i++) {
        if (!e->s->vips[i].want.guarded) {
            guard(e, &e->s->vips[i]);
        }
    }
}

static void phase(struct lb_plan *plan, const struct local_service_state *items, size_t n,
                  void (*emit)(struct emit *e))
{
    struct emit e = {.plan = plan, .a = plan->a, .n_before = plan->n_ops, .shared = map_new(NULL)};

    for (size_t i = 0; i < n; i++) {
        e.s = &items[i];
        emit(&e);
    }
    map_free(e.shared);
}

static bool needs_table(const struct local_service_state *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (items[i].n_want > 0) {
            return true;
        }
    }
    return false;
}

/* All elements that are there go along, so that no Service has to wait for its sync. */
static void plan_table(struct lb_plan *plan, const char *instance, enum local_table_is table,
                       const struct local_service_state *items, size_t n)
{
    const char **keys = ARENA_ARRAY(plan->a, const char *, n);

    for (size_t i = 0; i < n; i++) {
        keys[i] = items[i].key;
    }
    struct lb_op op =
        LB_OP(.verb = table == LOCAL_TABLE_ABSENT ? LB_CREATE : LB_CHANGE, .kind = "table",
              .shared = true, .calls = 1, .name = arena_printf(plan->a, "inet %s", instance),
              .type = &local_table_type,
              .why = table == LOCAL_TABLE_ABSENT ? "all frontends of this machine stand in it"
                     : table == LOCAL_TABLE_OLD  ? "another version of trimtab made it"
                                                 : "its rules are not those of this configuration");
    op.owners = str_set_make(plan->a, keys, n);
    (void)lb_plan_add(plan, items[0].key, &op);
}

void local_services_plan(struct lb_plan *plan, const char *instance, enum local_table_is table,
                         const struct local_service_state *items, size_t n)
{
    if (table != LOCAL_TABLE_WHOLE && needs_table(items, n)) {
        plan_table(plan, instance, table, items, n);
    }
    phase(plan, items, n, local_ipvs_own);
    phase(plan, items, n, local_ipvs_serve);
    phase(plan, items, n, fill);
    phase(plan, items, n, local_ipvs_fill);
    phase(plan, items, n, local_ranges_open);
    phase(plan, items, n, narrow);
    phase(plan, items, n, local_ranges_complete);
    phase(plan, items, n, hold);
    phase(plan, items, n, announce);
    phase(plan, items, n, local_ipvs_quiet);
    phase(plan, items, n, withdraw);
    phase(plan, items, n, let_go);
    phase(plan, items, n, close_all);
    phase(plan, items, n, local_ipvs_quiet_closed);
    phase(plan, items, n, drop);
    phase(plan, items, n, local_ipvs_drop);
    phase(plan, items, n, unguard);
}

void local_services_plan_drained(struct lb_plan *plan, const struct local_service_state *items,
                                 size_t n)
{
    phase(plan, items, n, local_ipvs_drop);
}
