/* SPDX-License-Identifier: Apache-2.0 */
/* gce_neg_plan.c: what makes the NEGs of a Service hold who they should (gce_neg_rules.h).
 *
 *     wave    NEGs on another network go (only while nothing refers to them) ∥ members leave NEGs
 *             that are at their limit
 *     wave    NEGs are made, in all zones at the same time
 *     wave    members join ∥ members leave, 500 in a call; no detach is sent before
 *             the attach was taken up, and neither waits for the other to end,
 *             unless none of the members before stays: an attach that was taken up
 *             may fail, and nothing would serve then
 *
 * A NEG whose description names another cluster or Service is never touched, and no member is
 * detached from a NEG whose members could not be read.  A leaving member is logged with its
 * reason, because operators search for it.
 * Source: gce-l4.md §3.6, §3.7, §9.5 rules 7–8, A12, A13.  Pure. */
#include "providers/gce/model/gce_neg_rules.h"

#include "common/base/str.h"
#include "common/lb/diff.h"
#include "providers/gce/model/gce_links.h"
#include "providers/gce/ops/gce_ops.h"

#include <string.h>

#define NEG_TYPE    "GCE_VM_IP"
#define NAMED_MAX   3 /* so many nodes are named one by one */
#define CALLS_WRITE 2 /* the request and its operation */

/* The members of one NEG, compared. */
struct change {
    struct gce_endpoint *join;
    size_t n_join;
    struct gce_endpoint *leave;
    size_t n_leave;
    int join_op; /* the first operation that adds, -1: none */
};
struct work {
    struct arena *a;
    struct lb_plan *p;
    const char *key;
    struct gce_neg_plan *n;
    struct gce_neg_one *items; /* a copy: one that is made again counts as absent */
    const struct tt_call *call;
    struct change *changes; /* one for each NEG */
    bool wave_open;
    bool swaps; /* members join, and none of those before stays */
};

/* ---- comparing ------------------------------------------------------------------------------- */

static int compare(const struct gce_endpoint *x, const struct gce_endpoint *y)
{
    int order = strcmp(x->instance, y->instance);
    order = order != 0 ? order : strcmp(x->ip, y->ip);
    return order != 0 ? order : strcmp(x->ipv6, y->ipv6);
}

static bool is_new(const struct gce_neg_one *one)
{
    return one->wanted && one->seen == NULL;
}

static bool is_on_other_network(const struct gce_neg_plan *n, const struct gce_neg_one *one)
{
    const struct gce_neg *s = one->seen;
    if (s == NULL || !one->wanted) {
        return false;
    }
    return (!str_is_empty(s->network) && !gce_link_same(s->network, n->network)) ||
           (!str_is_empty(s->subnetwork) && !gce_link_same(s->subnetwork, n->subnetwork));
}

static struct change change_of(struct arena *a, const struct gce_neg_one *one, bool empty)
{
    size_t n_is = empty ? 0 : one->n_is;
    struct change c = {
        .join = ARENA_ARRAY(a, struct gce_endpoint, one->n_want),
        .leave = ARENA_ARRAY(a, struct gce_endpoint, n_is),
        .join_op = -1,
    };
    size_t i = 0;
    size_t j = 0;
    while (i < n_is || j < one->n_want) {
        int order = i == n_is ? 1 : j == one->n_want ? -1 : compare(&one->is[i], &one->want[j]);
        if (order < 0) {
            c.leave[c.n_leave++] = one->is[i];
        } else if (order > 0) {
            c.join[c.n_join++] = one->want[j];
        }
        i += order <= 0;
        j += order >= 0;
    }
    return c;
}

/* ---- words ----------------------------------------------------------------------------------- */

enum reason {
    LEFT_GONE = 0, /* there is no such node */
    LEFT_MOVED,    /* it is a member still, under another address */
    LEFT_NO_PART,  /* it takes no part any more */
    LEFT_NO_POD,
    LEFT_SHARE, /* there are others enough */
    LEFT_MAX,
};
static const char *const reason_words[LEFT_MAX][2] = {
    [LEFT_GONE] = {"is gone", "are gone"},
    [LEFT_MOVED] = {"has another address now", "have other addresses now"},
    [LEFT_NO_PART] = {"takes no part any more", "take no part any more"},
    [LEFT_NO_POD] = {"has no endpoint of the Service any more",
                     "have no endpoint of the Service any more"},
    [LEFT_SHARE] = {"is more than the zone's share", "are more than the zone's share"},
};

static enum reason reason_of(const struct work *k, const struct gce_neg_one *one,
                             const struct gce_endpoint *e)
{
    for (size_t i = 0; i < one->n_want; i++) {
        if (str_eq(one->want[i].instance, e->instance)) {
            return LEFT_MOVED;
        }
    }
    const struct gce_node_row *r =
        k->n->nodes == NULL ? NULL : gce_node_table_find(k->n->nodes, e->instance);
    if (k->n->nodes != NULL && r == NULL) {
        return LEFT_GONE;
    }
    if (r != NULL && !(k->n->local ? r->draining : r->unready)) {
        return LEFT_NO_PART;
    }
    return k->n->local ? LEFT_NO_POD : LEFT_SHARE;
}

/* "node a-1", "nodes a-1, a-2", "7 nodes" */
static char *name_nodes(struct arena *a, const char *const *names, size_t n)
{
    if (n > NAMED_MAX) {
        return str_count(a, n, "node");
    }
    return arena_printf(a, "%s %s", n == 1 ? "node" : "nodes", str_join(a, names, n, ", "));
}

/* "node b-00 is gone; 4 nodes are more than the zone's share" */
static char *why_leave(const struct work *k, const struct gce_neg_one *one,
                       const struct gce_endpoint *e, size_t n)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    const char **names = ARENA_ARRAY(k->a, const char *, n);
    for (int r = 0; r < LEFT_MAX; r++) {
        size_t found = 0;
        for (size_t i = 0; i < n; i++) {
            if (reason_of(k, one, &e[i]) == (enum reason)r) {
                names[found++] = e[i].instance;
            }
        }
        if (found > 0) {
            str_appendf(&b, "%s%s %s", b.len > 0 ? "; " : "", name_nodes(k->a, names, found),
                        reason_words[r][found > 1]);
        }
    }
    return str_buf_to_arena(&b, k->a);
}

static const char *why_join(const struct work *k, const struct gce_neg_one *one,
                            const struct change *c, const struct gce_endpoint *e, size_t n)
{
    if (one->seen == NULL) {
        return "the NEG is new";
    }
    if (k->n->local) {
        const char **names = ARENA_ARRAY(k->a, const char *, n);
        for (size_t i = 0; i < n; i++) {
            names[i] = e[i].instance;
        }
        return arena_printf(k->a, "%s %s endpoints of the Service", name_nodes(k->a, names, n),
                            n == 1 ? "has" : "have");
    }
    return c->n_leave > 0 ? why_leave(k, one, c->leave, c->n_leave)
                          : "there is room in the zone's share";
}

/* ---- operations ------------------------------------------------------------------------------ */

static void put_body(void *arg)
{
    json_object_put(arg);
}

static int append(struct work *k, struct lb_op op, struct gce_op arg)
{
    struct gce_op *kept = ARENA_NEW(k->a, struct gce_op);
    *kept = arg;
    kept->c = GCE_NEGS;
    kept->name = op.name;
    kept->call = k->call;
    if (kept->body != NULL) {
        arena_defer(k->a, put_body, kept->body);
    }
    op.kind = gce_collection_word(GCE_NEGS);
    op.type = gce_op_type_of(kept->verb);
    op.calls = CALLS_WRITE;
    op.arg = kept;
    op.parallel = k->wave_open;
    k->wave_open = true;
    int at = lb_plan_add(k->p, k->key, &op);
    k->n->first_op = k->n->first_op < 0 ? at : k->n->first_op;
    k->n->last_op = at;
    return at;
}

static void delete(struct work *k, const struct gce_neg_one *one, const char *why)
{
    struct lb_op op = LB_OP(.verb = LB_DELETE, .name = one->name, .summary = one->zone, .why = why,
                            .tolerate = LB_TOLERATE_ABSENT);
    (void)append(k, op, (struct gce_op){.verb = GCE_DELETE, .zone = one->zone});
}

static void insert(struct work *k, const struct gce_neg_one *one)
{
    const struct gce_neg neg = {
        .name = one->name,
        .zone = one->zone,
        .description = str_nonnull(k->n->description),
        .type = NEG_TYPE,
        .network = str_nonnull(k->n->network),
        .subnetwork = str_nonnull(k->n->subnetwork),
    };
    struct lb_op op = LB_OP(.verb = LB_CREATE, .name = one->name,
                            .summary = arena_printf(k->a, "%s, for %s", one->zone,
                                                    str_count(k->a, one->n_want, "node")),
                            .why = "the zone has nodes that take part");
    (void)append(
        k, op, (struct gce_op){.verb = GCE_INSERT, .zone = one->zone, .body = gce_neg_body(&neg)});
}

static struct str_set instances(struct arena *a, const struct gce_endpoint *e, size_t n)
{
    const char **names = ARENA_ARRAY(a, const char *, n);
    for (size_t i = 0; i < n; i++) {
        names[i] = e[i].instance;
    }
    return str_set_make(a, names, n);
}

/* One call; `after` is the operation behind which it is sent, -1: at once. */
static int members(struct work *k, const struct gce_neg_one *one, enum gce_verb verb,
                   const struct gce_endpoint *e, size_t n, const char *why, int after)
{
    bool join = verb == GCE_ATTACH;
    struct lb_diff diff;
    struct str_set none = {0};
    struct str_set some = instances(k->a, e, n);
    lb_diff_init(&diff, k->a);
    (void)lb_diff_set(&diff, "endpoints", join ? &none : &some, join ? &some : &none);
    struct lb_op op =
        LB_OP(.verb = LB_CHANGE, .name = one->name, .why = why,
              .summary = arena_printf(k->a, "%s: %s %s", one->zone, join ? "attach" : "detach",
                                      str_count(k->a, n, "node")),
              .fields = diff.fields, .n_fields = diff.n);
    op.sent_after = after;
    return append(k, op,
                  (struct gce_op){.verb = verb,
                                  .zone = one->zone,
                                  .body = gce_endpoints_body(e, n),
                                  .members = true,
                                  .swaps = k->swaps && !join});
}

static size_t batch(size_t all, size_t from)
{
    return all - from < GCE_NEG_BATCH ? all - from : GCE_NEG_BATCH;
}

static void attach(struct work *k, size_t i)
{
    struct change *c = &k->changes[i];
    const struct gce_neg_one *one = &k->items[i];
    for (size_t from = 0; from < c->n_join; from += GCE_NEG_BATCH) {
        const struct gce_endpoint *e = c->join + from;
        size_t n = batch(c->n_join, from);
        int at = members(k, one, GCE_ATTACH, e, n, why_join(k, one, c, e, n), -1);
        c->join_op = c->join_op < 0 ? at : c->join_op;
    }
}

/* Behind who joins the same NEG, else behind who joins any. */
static void detach(struct work *k, size_t i, int any_join)
{
    const struct change *c = &k->changes[i];
    const struct gce_neg_one *one = &k->items[i];
    int after = c->join_op >= 0 ? c->join_op : any_join;
    for (size_t from = 0; from < c->n_leave; from += GCE_NEG_BATCH) {
        const struct gce_endpoint *e = c->leave + from;
        size_t n = batch(c->n_leave, from);
        (void)members(k, one, GCE_DETACH, e, n, why_leave(k, one, e, n), after);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Nothing is done for a Service as long as one of its NEGs is not its own. */
static int check(const struct gce_neg_plan *n, struct err *err)
{
    for (size_t i = 0; i < n->n; i++) {
        const struct gce_neg_one *one = &n->items[i];
        const struct gce_neg *s = one->seen;
        if (s != NULL && (one->foreign || (!str_is_empty(s->type) && !str_eq(s->type, NEG_TYPE)))) {
            return err_set(err, ERR_INVALID,
                           "network endpoint group %s in zone %s belongs to another program (type "
                           "%s, description %s), so it stays unchanged",
                           one->name, one->zone, str_or(s->type, "unknown"),
                           str_or(s->description, "empty"));
        }
        if (is_on_other_network(n, one) && one->linked) {
            return err_set(err, ERR_INVALID,
                           "network endpoint group %s in zone %s is on network %s, subnetwork %s, "
                           "and a backend service refers to it, so it cannot be made again",
                           one->name, one->zone, gce_link_last(s->network),
                           gce_link_last(s->subnetwork));
        }
    }
    return ERR_OK;
}

static void keep(struct work *k, const struct gce_neg_one *one)
{
    struct lb_op op = LB_OP(.verb = LB_KEEP, .kind = gce_collection_word(GCE_NEGS),
                            .name = one->name, .summary = one->zone);
    (void)lb_plan_add(k->p, k->key, &op);
    lb_plan_service(k->p, k->key)->checked++;
    if (one->unknown) {
        lb_plan_because(
            k->p, k->key,
            "the members of NEG %s in zone %s could not be read → they stay as they are", one->name,
            one->zone);
    }
}

/* Of a NEG whose limit does not take the new ones beside the old ones, the old ones leave in
 * a wave of their own. */
static void make_room(struct work *k)
{
    for (size_t i = 0; i < k->n->n; i++) {
        struct change *c = &k->changes[i];
        bool both = c->n_join > 0 && c->n_leave > 0;
        if (both && lb_plan_makes_room(k->p, k->key, gce_collection_word(GCE_NEGS))) {
            detach(k, i, -1);
            c->n_leave = 0;
        }
    }
    k->n->makes_room = k->n->last_op + 1;
    k->wave_open = false;
}

/* Does none of the members that serve now stay?  Unknown ones are no members to rely on. */
static bool all_leave(const struct work *k)
{
    size_t stay = 0;
    for (size_t i = 0; i < k->n->n; i++) {
        const struct gce_neg_one *one = &k->items[i];
        stay += one->seen == NULL || one->unknown ? 0 : one->n_is - k->changes[i].n_leave;
    }
    return stay == 0;
}

static void members_change(struct work *k)
{
    int any_join = -1;
    for (size_t i = 0; i < k->n->n; i++) {
        attach(k, i);
        any_join = any_join < 0 ? k->changes[i].join_op : any_join;
    }
    k->swaps = any_join >= 0 && all_leave(k);
    for (size_t i = 0; i < k->n->n; i++) {
        detach(k, i, any_join);
    }
}

int gce_neg_plan_make(struct lb_plan *p, const char *key, struct gce_neg_plan *n,
                      const struct tt_call *call, struct err *err)
{
    struct work k = {.a = p->a, .p = p, .key = key, .n = n, .call = call};
    n->first_op = n->last_op = -1;
    n->makes_room = 0;
    int rc = check(n, err);
    if (rc != ERR_OK) {
        return rc;
    }
    k.changes = ARENA_ARRAY(p->a, struct change, n->n);
    k.items = ARENA_ARRAY(p->a, struct gce_neg_one, n->n);
    for (size_t i = 0; i < n->n; i++) {
        struct gce_neg_one *one = &k.items[i];
        *one = n->items[i];
        k.changes[i].join_op = -1;
        if (is_on_other_network(n, one)) {
            delete (&k, one, "it is on another network");
            one->seen = NULL;
        }
        if (!one->unknown || one->seen == NULL) {
            k.changes[i] = change_of(p->a, one, one->seen == NULL);
        }
    }
    make_room(&k);
    for (size_t i = 0; i < n->n; i++) {
        if (is_new(&k.items[i])) {
            insert(&k, &k.items[i]);
        }
    }
    k.wave_open = false;
    members_change(&k);
    for (size_t i = 0; i < n->n; i++) {
        if (k.items[i].seen != NULL && k.changes[i].n_join + k.changes[i].n_leave == 0) {
            keep(&k, &k.items[i]);
        }
    }
    return ERR_OK;
}

void gce_neg_plan_delete(struct lb_plan *p, const char *key, struct gce_neg_plan *n,
                         const struct tt_call *call)
{
    struct work k = {.a = p->a, .p = p, .key = key, .n = n, .call = call};
    n->first_op = n->last_op = -1;
    for (size_t i = 0; i < n->n; i++) {
        const struct gce_neg_one *one = &n->items[i];
        if (one->seen == NULL) {
            continue;
        }
        if (one->foreign || str_is_empty(one->seen->description)) {
            lb_plan_because(p, key,
                            "NEG %s in zone %s does not say that it is the Service's → it stays",
                            one->name, one->zone);
            continue;
        }
        delete (&k, one, "the Service needs it no more");
    }
}
