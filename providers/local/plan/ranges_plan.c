/* SPDX-License-Identifier: Apache-2.0 */
/* ranges_plan.c: who may come to a frontend: phases of a plan that open it, and that change its
 * source ranges (service_plan.h).
 *
 * A client of both old and new ranges is let in at each moment.  Within one transaction that is not
 * sure: the kernel looks into one set after the other, and older ones find new elements of a set of
 * intervals only after the old ones went.  So what comes and what goes are two transactions; and
 * because a set takes no two ranges that overlap, ranges that overlap old ones stand in another set
 * until they have taken their place. */
#include "providers/local/plan/service_plan_internal.h"

/* The first of the sorted ranges that does not come before `net`. */
static size_t place_of(const struct ip_net *nets, size_t n, const struct ip_net *net)
{
    size_t low = 0;

    while (low < n) {
        size_t mid = low + (n - low) / 2;
        if (local_net_cmp(&nets[mid], net) < 0) {
            low = mid + 1;
        } else {
            n = mid;
        }
    }
    return low;
}

static bool in_list(const struct ip_net *nets, size_t n, const struct ip_net *net)
{
    size_t i = place_of(nets, n, net);

    return i < n && local_net_cmp(&nets[i], net) == 0;
}

/* One of the ranges, of which no two overlap, contains `net` or lies in it. */
static bool overlaps_one(const struct ip_net *nets, size_t n, const struct ip_net *net)
{
    const struct ip_net begin = {.addr =
                                     net->addr}; /* before all ranges that begin where it does */
    size_t i = place_of(nets, n, &begin);

    return (i < n && ip_net_contains(net, &nets[i].addr)) ||
           (i > 0 && ip_net_contains(&nets[i - 1], &net->addr));
}

static bool has_net(const struct local_front *f, const struct ip_net *net)
{
    return f != NULL && in_list(f->open, f->n_open, net);
}

/* Clients allowed by `of` and not by `other`. */
static void change_nets(struct changes *c, bool del, const struct local_front *of,
                        const struct local_front *other)
{
    if (of != NULL && of->all && !(other != NULL && other->all)) {
        local_change(c, del, (struct local_nft_element){.set = LOCAL_NFT_ALL, .id = of->id});
    }
    for (size_t i = 0; of != NULL && i < of->n_open; i++) {
        if (!has_net(other, &of->open[i])) {
            local_change(c, del,
                         (struct local_nft_element){
                             .set = LOCAL_NFT_FROM, .id = of->id, .net = of->open[i]});
        }
    }
}

static void change_snat(struct changes *c, const struct local_front *from,
                        const struct local_front *to)
{
    bool had = from != NULL && from->snat;
    bool has = to != NULL && to->snat && local_front_is_open(to);
    const struct local_front *f = has ? to : from;

    if (had != has) {
        local_change(c, had, (struct local_nft_element){.set = LOCAL_NFT_SNAT, .id = f->id});
    }
}

static void add_range_field(struct emit *e, struct lb_op *op, bool comes, const struct ip_net *net)
{
    char text[IP_TEXT_MAX];

    ip_net_format(net, text);
    const char *range = arena_strdup(e->a, text);
    op->fields[op->n_fields++] =
        comes
            ? (struct lb_field){.path = "sourceRanges", .new_value = LB_VALUE(range)}
            : (struct lb_field){.path = "sourceRanges", .old_text = range, .new_value = {.op = -1}};
}

/* Ranges that come (or go), in the order of a deed: "all" first. */
static void add_range_fields(struct emit *e, struct lb_op *op, const struct changes *c)
{
    op->fields = ARENA_ARRAY(e->a, struct lb_field, c->n + 1);
    for (int adds = 1; adds >= 0; adds--) {
        for (size_t i = 0; i < c->n; i++) {
            const struct local_nft_element *n = &c->items[i].e;
            const struct ip_net all_clients = {.addr = {.len = n->id.vip.len}};
            if (n->set != LOCAL_NFT_SNAT && c->items[i].del == (adds == 0)) {
                add_range_field(e, op, adds == 1, n->set == LOCAL_NFT_ALL ? &all_clients : &n->net);
            }
        }
    }
}

/* The kernel takes no range that begins or ends within another one of the same set. */
static bool overlaps_old(const struct local_front *from, const struct ip_net *net)
{
    return from != NULL && overlaps_one(from->open, from->n_open, net);
}

/* New ranges that overlap old ones, into the set `set`. */
static void add_overlapping(struct changes *c, enum local_nft_set set,
                            const struct local_front *from, const struct local_front *to)
{
    for (size_t i = 0; i < to->n_open; i++) {
        const struct ip_net *net = &to->open[i];
        bool there = set == LOCAL_NFT_ALSO && in_list(from->also, from->n_also, net);
        if (!there && !has_net(from, net) && overlaps_old(from, net)) {
            local_change(c, false,
                         (struct local_nft_element){.set = set, .id = to->id, .net = *net});
        }
    }
}

/* Of the ranges that stand in: left by a run that did not come to its end, and in the way
 * of new ones (`in_way`), or all others. */
static void end_stand_in(struct changes *c, const struct local_front *from,
                         const struct local_front *to, bool in_way)
{
    for (size_t i = 0; i < from->n_also; i++) {
        const struct ip_net *net = &from->also[i];
        bool wanted_now = to != NULL && in_list(to->open, to->n_open, net);
        bool gone_first = to != NULL && !wanted_now && overlaps_one(to->open, to->n_open, net);
        if (gone_first == in_way) {
            local_change(
                c, true,
                (struct local_nft_element){.set = LOCAL_NFT_ALSO, .id = from->id, .net = *net});
        }
    }
}

static void emit_ranges(struct emit *e, const struct local_front *f, struct lb_op op,
                        const struct changes *c, bool settles)
{
    if (c->n == 0) {
        return;
    }
    op.name = local_emit_front_name(e, &f->id);
    op.type = &local_nft_type;
    struct local_nft_deed *deed = local_deed_of(e, c);
    deed->settles = settles;
    op.arg = deed;
    add_range_fields(e, &op, c);
    local_emit(e, op);
}

static bool changes_open(const struct local_front *from, const struct local_front *to)
{
    return local_front_is_open(to) &&
           !(from != NULL && local_front_is_open(from) && local_front_same_open(from, to));
}

static struct changes range_changes(struct emit *e, const struct local_front *from,
                                    const struct local_front *to)
{
    return local_changes_for(e, to->n_open + (from == NULL ? 0 : from->n_open + from->n_also) + 3);
}

/* All clients of old and new ranges may come from here on. */
static void open_front(struct emit *e, const struct local_front *to)
{
    const struct local_front *from = local_front_of(e->s->have, e->s->n_have, &to->id);
    bool is_open = from != NULL && local_front_is_open(from);
    struct changes c = range_changes(e, from, to);

    if (!changes_open(from, to)) {
        return;
    }
    change_snat(&c, from, to);
    if (to->all && !(from != NULL && from->all)) {
        local_change(&c, false, (struct local_nft_element){.set = LOCAL_NFT_ALL, .id = to->id});
    }
    for (size_t i = 0; i < to->n_open; i++) {
        if (!has_net(from, &to->open[i]) && !overlaps_old(from, &to->open[i])) {
            local_change(&c, false,
                         (struct local_nft_element){
                             .set = LOCAL_NFT_FROM, .id = to->id, .net = to->open[i]});
        }
    }
    emit_ranges(e, to,
                LB_OP(.verb = is_open ? LB_CHANGE : LB_CREATE, .kind = "source ranges",
                      .why = is_open ? "its source ranges have changed" : "it has a target"),
                &c, false);
    if (from != NULL) {
        struct changes also = range_changes(e, from, to);
        end_stand_in(&also, from, to, true);
        add_overlapping(&also, LOCAL_NFT_ALSO, from, to);
        emit_ranges(e, to,
                    LB_OP(.verb = LB_CREATE, .kind = "stand-in ranges",
                          .why = "they overlap source ranges that go"),
                    &also, false);
    }
}

/* Old ranges go.  The kernel takes what overlaps them only now, and may not find it for a moment:
 * until then the same ranges stand in. */
void local_ranges_narrow(struct emit *e)
{
    for (size_t i = 0; i < e->s->n_want; i++) {
        const struct local_front *to = &e->s->want[i];
        const struct local_front *from = local_front_of(e->s->have, e->s->n_have, &to->id);
        if (from == NULL || !changes_open(from, to)) {
            continue;
        }
        struct changes c = range_changes(e, from, to);
        change_nets(&c, true, from, to);
        add_overlapping(&c, LOCAL_NFT_FROM, from, to);
        /* A packet is looked up in ALL, FROM and ALSO, in this order: it may miss both what came
         * and what goes only where ALL takes the place of FROM. */
        emit_ranges(e, to,
                    LB_OP(.verb = LB_CHANGE, .kind = "source ranges",
                          .why = "its source ranges have changed"),
                    &c, to->all);
    }
}

void local_ranges_complete(struct emit *e)
{
    for (size_t i = 0; i < e->s->n_want; i++) {
        const struct local_front *to = &e->s->want[i];
        const struct local_front *from = local_front_of(e->s->have, e->s->n_have, &to->id);
        if (from == NULL || !changes_open(from, to)) {
            continue;
        }
        struct changes added = range_changes(e, from, to);
        struct changes c = range_changes(e, from, to);
        end_stand_in(&c, from, to, false);
        add_overlapping(&added, LOCAL_NFT_ALSO, from, to);
        for (size_t k = 0; k < added.n; k++) {
            local_change(&c, true, added.items[k].e);
        }
        emit_ranges(e, to,
                    LB_OP(.verb = LB_DELETE, .kind = "stand-in ranges",
                          .why = "the source ranges are complete"),
                    &c, true);
    }
}

void local_ranges_open(struct emit *e)
{
    for (size_t i = 0; i < e->s->n_want; i++) {
        open_front(e, &e->s->want[i]);
    }
}

void local_ranges_close(struct changes *c, const struct local_front *from)
{
    change_snat(c, from, NULL);
    change_nets(c, true, from, NULL);
    end_stand_in(c, from, NULL, false);
}
