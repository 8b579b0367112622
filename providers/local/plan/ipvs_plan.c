/* SPDX-License-Identifier: Apache-2.0 */
/* ipvs_plan.c: phases of a plan that are about IPVS: scope, services, destinations and their drain (service_plan.h). */
#include "providers/local/plan/service_plan_internal.h"

#include <string.h>

#include "common/base/str.h"

#define LOOK_AGAIN_MS 1000 /* while connections are open */

/* ---- names --------------------------------------------------------------------------------------- */

static const char *place(struct emit *e, const struct local_ipvs_dest *d)
{
    char text[IP_TEXT_MAX];

    ip_format(&d->addr, text);
    return arena_printf(e->a, d->addr.len == 16 ? "[%s]:%u" : "%s:%u", text, (unsigned)d->port);
}

static const char *dest_name(struct emit *e, const struct local_frontend_id *id,
                             const struct local_ipvs_dest *d)
{
    return arena_printf(e->a, "%s → %s", local_emit_front_name(e, id), place(e, d));
}

/* ---- operations ---------------------------------------------------------------------------------- */

static void change_service(struct emit *e, enum local_ipvs_what what,
                           const struct local_ipvs_service *s, struct lb_op op)
{
    struct local_ipvs_change *c = ARENA_NEW(e->a, struct local_ipvs_change);

    *c = (struct local_ipvs_change){.what = what, .service = *s};
    op.kind = "virtual service";
    op.name = local_emit_front_name(e, &s->id);
    op.type = &local_ipvs_type;
    op.arg = c;
    local_emit(e, op);
}

static void change_dest(struct emit *e, enum local_ipvs_what what,
                        const struct local_frontend_id *id, const struct local_ipvs_dest *d,
                        struct lb_op op)
{
    struct local_ipvs_change *c = ARENA_NEW(e->a, struct local_ipvs_change);

    *c = (struct local_ipvs_change){.what = what, .service = {.id = *id}, .dest = *d};
    op.kind = "destination";
    op.name = dest_name(e, id, d);
    op.type = &local_ipvs_type;
    op.arg = c;
    local_emit(e, op);
}

static void add_field(struct emit *e, struct lb_op *op, const char *path, const char *from,
                      const char *to)
{
    if (op->fields == NULL) {
        op->fields = ARENA_ARRAY(e->a, struct lb_field, 4);
    }
    if (from == NULL || strcmp(from, to) != 0) {
        op->fields[op->n_fields++] =
            (struct lb_field){.path = path, .old_text = from, .new_value = LB_VALUE(to)};
    }
}

static const char *method_text(struct emit *e, const struct local_ipvs_dest *d)
{
    static const char *const tunnels[] = {[LOCAL_TUNNEL_IPIP] = "tunnel ipip",
                                          [LOCAL_TUNNEL_GUE] = "tunnel gue",
                                          [LOCAL_TUNNEL_GRE] = "tunnel gre"};

    if (d->method != LOCAL_IPVS_TUNNEL) {
        return d->method == LOCAL_IPVS_DR ? "dr" : "nat";
    }
    return d->tunnel_port == 0
               ? tunnels[d->tunnel]
               : arena_printf(e->a, "%s %u", tunnels[d->tunnel], (unsigned)d->tunnel_port);
}

static void dest_fields(struct emit *e, struct lb_op *op, const struct local_ipvs_dest *from,
                        const struct local_ipvs_dest *to)
{
    add_field(e, op, "method", from == NULL ? NULL : method_text(e, from), method_text(e, to));
    add_field(e, op, "weight",
              from == NULL ? NULL : arena_printf(e->a, "%u", (unsigned)from->weight),
              arena_printf(e->a, "%u", (unsigned)to->weight));
}

static const char *flags_text(struct emit *e, const struct local_ipvs_service *s)
{
    const char *text = (s->flags & LOCAL_IPVS_PERSISTENT) == 0
                           ? ""
                           : arena_printf(e->a, "persistent %u s", (unsigned)s->timeout_s);

    return arena_printf(e->a, "%s%s%s%s", text,
                        (s->flags & LOCAL_IPVS_ONE_PACKET) != 0 ? " one-packet" : "",
                        (s->flags & LOCAL_IPVS_FALLBACK) != 0 ? " fallback" : "",
                        (s->flags & LOCAL_IPVS_PORT) != 0 ? " port" : "");
}

static void service_fields(struct emit *e, struct lb_op *op, const struct local_ipvs_service *from,
                           const struct local_ipvs_service *to)
{
    add_field(e, op, "scheduler", from == NULL ? NULL : arena_strdup(e->a, from->scheduler),
              arena_strdup(e->a, to->scheduler));
    const char *was = from == NULL ? "" : flags_text(e, from);
    const char *is = flags_text(e, to);
    if (strcmp(was, is) != 0) {
        add_field(e, op, "flags", from == NULL ? NULL : was, is);
    }
}

/* ---- phases that build --------------------------------------------------------------------------- */

static bool some_served(const struct local_front *fronts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (fronts[i].ipvs.served) {
            return true;
        }
    }
    return false;
}

/* Of one that stands and has nothing to want the rest goes at once. */
static bool has_to_do_with_ipvs(const struct local_service_state *s)
{
    return some_served(s->want, s->n_want) || (s->n_want > 0 && some_served(s->have, s->n_have));
}

void local_ipvs_own(struct emit *e)
{
    struct local_nft_deed *deed = ARENA_NEW(e->a, struct local_nft_deed);

    if (e->s->n_scope == 0 || !has_to_do_with_ipvs(e->s)) {
        return;
    }
    *deed = (struct local_nft_deed){.changes = e->s->scope, .n = e->s->n_scope};
    local_emit(e, LB_OP(.verb = LB_CREATE, .kind = "scope", .name = "all pools", .shared = true,
                        .type = &local_nft_type, .arg = deed,
                        .why = "virtual services of these addresses are ours from now on"));
}

void local_ipvs_serve(struct emit *e)
{
    for (size_t i = 0; i < e->s->n_want; i++) {
        const struct local_front *to = &e->s->want[i];
        const struct local_front *from = local_front_of(e->s->have, e->s->n_have, &to->id);
        bool made = from != NULL && from->ipvs.served;
        if (!to->ipvs.served ||
            (made && local_ipvs_same_service(&from->ipvs.service, &to->ipvs.service))) {
            continue;
        }
        struct lb_op op =
            LB_OP(.verb = made ? LB_CHANGE : LB_CREATE,
                  .why = made ? "the Service says so by now" : "the Service has the port");
        service_fields(e, &op, made ? &from->ipvs.service : NULL, &to->ipvs.service);
        change_service(e, made ? LOCAL_IPVS_SET_SERVICE : LOCAL_IPVS_ADD_SERVICE, &to->ipvs.service,
                       op);
    }
}

static bool goes_quiet(const struct local_ipvs_real *from, const struct local_ipvs_real *to)
{
    return from != NULL && from->dest.weight > 0 && to->dest.weight == 0;
}

static void fill_dest(struct emit *e, const struct local_front *from, const struct local_front *to,
                      const struct local_ipvs_real *real)
{
    const struct local_ipvs_real *was =
        from == NULL ? NULL : local_ipvs_find(&from->ipvs, &real->dest);
    bool same_way = was != NULL && local_ipvs_same_way(&was->dest, &real->dest);

    if (same_way && was->dest.weight == real->dest.weight) {
        return;
    }
    if (goes_quiet(was, real)) {
        return; /* when the others are in */
    }
    struct lb_op op = LB_OP(.verb = was != NULL ? LB_CHANGE : LB_CREATE,
                            .why = str_or(real->why, "it is a target"));
    dest_fields(e, &op, was == NULL ? NULL : &was->dest, &real->dest);
    change_dest(e, was != NULL ? LOCAL_IPVS_SET_DEST : LOCAL_IPVS_ADD_DEST, &to->id, &real->dest,
                op);
}

void local_ipvs_fill(struct emit *e)
{
    for (size_t i = 0; i < e->s->n_want; i++) {
        const struct local_front *to = &e->s->want[i];
        const struct local_front *from = local_front_of(e->s->have, e->s->n_have, &to->id);
        for (size_t k = 0; k < to->ipvs.n_reals; k++) {
            fill_dest(e, from, to, &to->ipvs.reals[k]);
        }
    }
}

/* ---- phases that take away ----------------------------------------------------------------------- */

/* A datagram has no connection that ends by itself. */
static bool drains(const struct emit *e, const struct local_front *from)
{
    return from->id.protocol == LOCAL_TCP && e->s->drain_timeout_ms > 0;
}

static bool has_drained(const struct local_service_state *s, const struct local_front *from,
                        const struct local_ipvs_real *real)
{
    const struct emit e = {.s = s};
    int64_t age = s->now_ms - real->quiet_ms;

    if (!drains(&e, from)) {
        return true;
    }
    return real->dest.weight == 0 && real->quiet_ms != 0 &&
           (age >= s->drain_timeout_ms || (age >= LOCAL_IPVS_QUIET_MS && real->dest.active == 0));
}

/* Is it wanted no more, while its frontend still is?  What goes with a frontend goes with the service. */
static bool leaves(const struct local_front *to, const struct local_ipvs_real *real)
{
    return to != NULL && (!to->ipvs.served || local_ipvs_find(&to->ipvs, &real->dest) == NULL);
}

static void quiet_dest(struct emit *e, const struct local_front *from,
                       const struct local_ipvs_real *real, const struct local_ipvs_real *wanted,
                       const char *why)
{
    struct local_ipvs_dest d = wanted != NULL ? wanted->dest : real->dest;
    struct lb_op op = LB_OP(.verb = LB_CHANGE, .why = why);

    d.weight = 0;
    dest_fields(e, &op, &real->dest, &d);
    change_dest(e, LOCAL_IPVS_SET_DEST, &from->id, &d, op);
}

static const char *why_quiet(struct emit *e, const struct local_ipvs_real *real)
{
    return arena_printf(e->a,
                        "%s is no target any more; %u connections may end until %lld s from now",
                        place(e, &real->dest), (unsigned)real->dest.active,
                        (long long)(e->s->drain_timeout_ms / 1000));
}

static void quiet_front(struct emit *e, const struct local_front *from,
                        const struct local_front *to)
{
    for (size_t k = 0; k < from->ipvs.n_reals; k++) {
        const struct local_ipvs_real *real = &from->ipvs.reals[k];
        const struct local_ipvs_real *wanted =
            to == NULL ? NULL : local_ipvs_find(&to->ipvs, &real->dest);
        if (real->dest.weight == 0) {
            continue;
        }
        if (leaves(to, real) && drains(e, from)) {
            quiet_dest(e, from, real, NULL, why_quiet(e, real));
        } else if (wanted != NULL && goes_quiet(real, wanted)) {
            quiet_dest(e, from, real, wanted, str_or(wanted->why, "it gets no new connections"));
        }
    }
}

static void quiet_fronts(struct emit *e, bool open)
{
    for (size_t i = 0; i < e->s->n_have; i++) {
        const struct local_front *from = &e->s->have[i];
        const struct local_front *to = local_front_of(e->s->want, e->s->n_want, &from->id);
        bool stays_open = to != NULL && local_front_is_open(to);
        if (stays_open == open) {
            quiet_front(e, from, to);
        }
    }
}

void local_ipvs_quiet(struct emit *e)
{
    quiet_fronts(e, true);
}

/* While a port is open, some destination of it has weight: clients of one that closes are refused, none waits in vain. */
void local_ipvs_quiet_closed(struct emit *e)
{
    quiet_fronts(e, false);
}

static bool all_drained(const struct local_service_state *s, const struct local_front *from)
{
    for (size_t i = 0; i < from->ipvs.n_reals; i++) {
        if (!has_drained(s, from, &from->ipvs.reals[i])) {
            return false;
        }
    }
    return true;
}

void local_ipvs_drop(struct emit *e)
{
    for (size_t i = 0; i < e->s->n_have; i++) {
        const struct local_front *from = &e->s->have[i];
        const struct local_front *to = local_front_of(e->s->want, e->s->n_want, &from->id);
        bool goes = to == NULL || !to->ipvs.served;
        if (!from->ipvs.served) {
            continue;
        }
        if (goes && (to == NULL || all_drained(e->s, from))) {
            change_service(e, LOCAL_IPVS_DEL_SERVICE, &from->ipvs.service,
                           LB_OP(.verb = LB_DELETE,
                                 .why = to == NULL ? "the Service has no such port any more"
                                                   : "the port is served in mode nft by now"));
            continue;
        }
        for (size_t k = 0; k < from->ipvs.n_reals; k++) {
            const struct local_ipvs_real *real = &from->ipvs.reals[k];
            if (leaves(to, real) && has_drained(e->s, from, real)) {
                change_dest(e, LOCAL_IPVS_DEL_DEST, &from->id, &real->dest,
                            LB_OP(.verb = LB_DELETE, .why = "it is no target any more"));
            }
        }
    }
}

bool local_ipvs_breaks(const struct local_service_state *s, const struct local_frontend_id **ret)
{
    for (size_t i = 0; i < s->n_want; i++) {
        const struct local_front *to = &s->want[i];
        const struct local_front *from = local_front_of(s->have, s->n_have, &to->id);
        for (size_t k = 0; from != NULL && k < to->ipvs.n_reals; k++) {
            const struct local_ipvs_dest *d = &to->ipvs.reals[k].dest;
            const struct local_ipvs_real *was = local_ipvs_find(&from->ipvs, d);
            if (was != NULL && was->dest.method != d->method &&
                (was->dest.method == LOCAL_IPVS_DR || d->method == LOCAL_IPVS_DR)) {
                *ret = &to->id;
                return true;
            }
        }
    }
    return false;
}

int64_t local_ipvs_again_ms(const struct local_service_state *s)
{
    int64_t soonest = 0;

    for (size_t i = 0; i < s->n_have; i++) {
        const struct local_front *from = &s->have[i];
        const struct local_front *to = local_front_of(s->want, s->n_want, &from->id);
        for (size_t k = 0; k < from->ipvs.n_reals; k++) {
            const struct local_ipvs_real *real = &from->ipvs.reals[k];
            if (!leaves(to, real) || has_drained(s, from, real)) {
                continue;
            }
            int64_t age =
                real->dest.weight == 0 && real->quiet_ms != 0 ? s->now_ms - real->quiet_ms : 0;
            int64_t left = age < LOCAL_IPVS_QUIET_MS ? LOCAL_IPVS_QUIET_MS - age : LOOK_AGAIN_MS;
            left = left < LOOK_AGAIN_MS ? LOOK_AGAIN_MS : left;
            soonest = soonest == 0 || left < soonest ? left : soonest;
        }
    }
    return soonest;
}
