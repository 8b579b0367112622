/* SPDX-License-Identifier: Apache-2.0 */
/* gce_groups.c: the instance groups that all Services share: what is in them, and whose turn it is
 * to change them (gce_groups.h).
 *
 *     sync ──▶ do the groups hold what the nodes say? ──yes──▶ nothing: no lock, no request
 *                    │ no
 *                    ▼
 *          wait for the turn ──▶ ask again ──yes──▶ the one before has done it
 *                                    │ no
 *                                    ▼
 *                     list what is not known, plan, carry out, give the turn back
 *
 * The turn is held across calls and ends with the last operation, or with the sync.  A sync whose
 * turn comes after one that began later leaves the groups alone: its nodes are the older ones, and
 * it is looked at again for the newer ones anyway.  Groups come first in a flow, before any other
 * lock that is held across calls. */
#include "providers/gce/groups/gce_groups.h"

#include "common/base/hash.h"
#include "common/base/hold.h"
#include "common/base/lock.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/lb/diff.h"
#include "providers/gce/api/gce_ops_refusals.h"
#include "providers/gce/cache/gce_cloud.h"
#include "providers/gce/cache/gce_neg_mirror.h"
#include "providers/gce/model/gce_errors.h"
#include "providers/gce/model/gce_links.h"
#include "providers/gce/model/gce_node_rules.h"
#include "providers/gce/ops/gce_members_read.h"
#include "providers/gce/ops/gce_ops.h"
#include "providers/gce/ops/gce_snapshot_list.h"

#include <string.h>

#define BELIEVED_MS 10000  /* that everything is done is found out again after this */
#define NOTED_MS    600000 /* so long a refusal is remembered (§8.4), and that a group is absent */

/* One sync that asks for groups.  In the arena of the sync's life. */
struct turn {
    struct gce_groups *g;
    const struct lb_sync *s;
    struct turn *next;
    uint64_t began; /* order in which syncs came */
    bool holds;
    bool works;    /* observe found something to do */
    bool put_off;  /* to the balancers' plan */
    bool failed;   /* an operation of that plan */
    unsigned open; /* operations that have not ended yet */
};
struct gce_groups {
    struct clock *clock;
    struct gce_neg_mirror *mirror; /* locks itself */
    struct hold *turn;             /* held across calls */
    struct mutex lock;
    struct turn *turns _guarded_by_(lock);
    struct turn *holder _guarded_by_(lock);
    uint64_t came _guarded_by_(lock);        /* how many syncs have come */
    uint64_t applied _guarded_by_(lock);     /* `began` of the newest sync that changed a group */
    uint64_t done_digest _guarded_by_(lock); /* what was found done last; 0: nothing */
    int64_t done_until_ms _guarded_by_(lock);
    struct map *absent _guarded_by_(lock); /* "zone/group" → int64_t: until when it is believed */
    struct map *refused _guarded_by_(lock); /* "zone/instance" → int64_t: until when */
};

struct gce_groups *gce_groups_new(struct clock *clock, struct rng *rng, int64_t period_ms)
{
    struct gce_groups *g = xcalloc(1, sizeof(*g));
    g->clock = clock;
    g->mirror = gce_neg_mirror_new(clock, rng, period_ms);
    g->turn = hold_new();
    g->absent = map_new(free);
    g->refused = map_new(free);
    mutex_init(&g->lock);
    return g;
}

void gce_groups_free(struct gce_groups *g)
{
    if (g == NULL) {
        return;
    }
    gce_neg_mirror_free(g->mirror);
    hold_free(g->turn);
    map_free(g->absent);
    map_free(g->refused);
    mutex_done(&g->lock);
    free(g);
}

/* ---- turns ----------------------------------------------------------------------------------- */

static void turn_end(struct turn *t)
{
    struct gce_groups *g = t->g;
    if (!t->holds) {
        return;
    }
    t->holds = false;
    mutex_lock(&g->lock);
    g->holder = NULL;
    mutex_unlock(&g->lock);
    (void)hold_change(g->turn, HOLD_ALONE, HOLD_NOT, NULL);
}

static void turn_forget(void *arg)
{
    struct turn *t = arg;
    turn_end(t);
    mutex_lock(&t->g->lock);
    struct turn **at = &t->g->turns;
    while (*at != t) {
        at = &(*at)->next;
    }
    *at = t->next;
    mutex_unlock(&t->g->lock);
}

static struct turn *turn_find(struct gce_groups *g, const struct lb_sync *s)
{
    mutex_lock(&g->lock);
    struct turn *t = g->turns;
    while (t != NULL && t->s != s) {
        t = t->next;
    }
    mutex_unlock(&g->lock);
    return t;
}

static struct turn *turn_of(struct gce_groups *g, struct lb_sync *s)
{
    struct turn *t = turn_find(g, s);
    if (t != NULL) {
        return t;
    }
    t = ARENA_NEW(s->life, struct turn);
    t->g = g;
    t->s = s;
    mutex_lock(&g->lock);
    t->began = ++g->came;
    t->next = g->turns;
    g->turns = t;
    mutex_unlock(&g->lock);
    arena_defer(s->life, turn_forget, t);
    return t;
}

static int turn_take(struct turn *t, struct err *err)
{
    struct gce_groups *g = t->g;
    if (t->holds) {
        return ERR_OK;
    }
    if (!hold_change(g->turn, HOLD_NOT, HOLD_ALONE, t->s->cancel)) {
        return err_set(err, ERR_CANCELLED, "asked to stop");
    }
    t->holds = true;
    mutex_lock(&g->lock);
    g->holder = t;
    mutex_unlock(&g->lock);
    return ERR_OK;
}

/* ---- what there is to do --------------------------------------------------------------------- */

/* Notes kept for a while, by zone and name. */
static void note(struct gce_groups *g, struct map *notes, const char *zone, const char *name)
{
    _cleanup_(xfreep) char *key = xasprintf("%s/%s", zone, name);
    int64_t *until = xmalloc(sizeof(*until));
    *until = clock_now_ms(g->clock) + NOTED_MS;
    mutex_lock(&g->lock);
    map_set(notes, key, until);
    mutex_unlock(&g->lock);
}

static bool is_noted(struct gce_groups *g, const struct map *notes, const char *zone,
                     const char *name)
{
    _cleanup_(xfreep) char *key = xasprintf("%s/%s", zone, name);
    mutex_lock(&g->lock);
    const int64_t *until = map_get(notes, key);
    bool noted = until != NULL && *until > clock_now_ms(g->clock);
    mutex_unlock(&g->lock);
    return noted;
}

static void unnote(struct gce_groups *g, struct map *notes, const char *zone, const char *name)
{
    _cleanup_(xfreep) char *key = xasprintf("%s/%s", zone, name);
    mutex_lock(&g->lock);
    (void)map_remove(notes, key);
    mutex_unlock(&g->lock);
}

/* One zone's group: what is, and what is to be done. */
struct zone_state {
    const struct gce_zone_nodes *want;
    struct gce_strs is;
    bool absent; /* there is no such group */
    bool known;  /* that, or its members are known */
    bool due;    /* they are to be compared with the cloud */
    struct gce_strs add;
    struct gce_strs remove;
};

/* A VM that Google refused to take is not offered again at once: every Service would run into
 * the same refusal. */
static struct gce_strs without_refused(struct gce_groups *g, struct arena *a, const char *zone,
                                       const struct gce_strs *names)
{
    struct gce_strs rest = {.items = ARENA_ARRAY(a, const char *, names->n)};
    for (size_t i = 0; i < names->n; i++) {
        if (!is_noted(g, g->refused, zone, names->items[i])) {
            rest.items[rest.n++] = names->items[i];
        }
    }
    return rest;
}

static struct zone_state state_of(struct gce_groups *g, struct arena *a, const char *group,
                                  const struct gce_groups_want *want, size_t i)
{
    struct gce_endpoint *members;
    size_t n;
    struct zone_state z = {.want = &want->zones[i]};
    z.known = gce_neg_mirror_get(g->mirror, z.want->zone, group, a, &members, &n, &z.due) ==
              GCE_MIRROR_KNOWN;
    z.absent = !z.known && is_noted(g, g->absent, z.want->zone, group);
    z.known = z.known || z.absent;
    z.due = z.due && !z.absent;
    z.is.items = ARENA_ARRAY(a, const char *, n);
    for (size_t k = 0; k < n; k++) {
        z.is.items[z.is.n++] = members[k].instance;
    }
    gce_group_diff(a, &z.is, &z.want->nodes, &want->keep, &z.add, &z.remove);
    z.add = without_refused(g, a, z.want->zone, &z.add);
    return z;
}

static uint64_t mix(uint64_t h, const char *text)
{
    return hash_bytes(h, text, strlen(text) + 1);
}

static uint64_t digest_of(const char *group, const struct gce_groups_want *want)
{
    uint64_t h = mix(1, group);
    for (size_t i = 0; i < want->n; i++) {
        h = mix(h, want->zones[i].zone);
        for (size_t k = 0; k < want->zones[i].nodes.n; k++) {
            h = mix(h, want->zones[i].nodes.items[k]);
        }
        h = mix(h, "");
    }
    for (size_t i = 0; i < want->keep.n; i++) {
        h = mix(h, want->keep.items[i]);
    }
    return h | 1;
}

/* A call shortly after a complete one gets the same answer without checking each name. */
static bool was_done(struct gce_groups *g, uint64_t digest)
{
    mutex_lock(&g->lock);
    bool done = g->done_digest == digest && clock_now_ms(g->clock) < g->done_until_ms;
    mutex_unlock(&g->lock);
    return done;
}

static void set_done(struct gce_groups *g, uint64_t digest)
{
    mutex_lock(&g->lock);
    g->done_digest = digest;
    g->done_until_ms = clock_now_ms(g->clock) + BELIEVED_MS;
    mutex_unlock(&g->lock);
}

/* Everything is known, nothing is to be compared, and the groups hold what they should. */
static bool is_done(struct gce_groups *g, struct arena *a, const char *group,
                    const struct gce_groups_want *want)
{
    uint64_t digest = digest_of(group, want);
    if (was_done(g, digest)) {
        return true;
    }
    for (size_t i = 0; i < want->n; i++) {
        struct zone_state z = state_of(g, a, group, want, i);
        if (!z.known || z.due || z.add.n + z.remove.n > 0) {
            return false;
        }
    }
    set_done(g, digest);
    return true;
}

/* A later Service has changed them, and what they hold is known. */
static bool is_newer_than(struct turn *t, struct arena *a, const char *group,
                          const struct gce_groups_want *want)
{
    struct gce_groups *g = t->g;
    mutex_lock(&g->lock);
    bool newer = g->applied > t->began;
    mutex_unlock(&g->lock);
    for (size_t i = 0; newer && i < want->n; i++) {
        newer = state_of(g, a, group, want, i).known;
    }
    return newer;
}

/* ---- observing ------------------------------------------------------------------------------- */

/* Lists the members of those groups that are not known, or are to be compared. */
static int read_groups(struct turn *t, struct lb_sync *s, const char *group,
                       const struct gce_groups_want *want, struct err *err)
{
    struct gce_members_list *lists = ARENA_ARRAY(s->a, struct gce_members_list, want->n);
    size_t n = 0;
    for (size_t i = 0; i < want->n; i++) {
        struct zone_state z = state_of(t->g, s->a, group, want, i);
        if (!z.known || z.due) {
            lists[n++] =
                (struct gce_members_list){.c = GCE_GROUPS, .zone = z.want->zone, .name = group};
        }
    }
    int rc = ERR_OK;
    gce_members_read(s, lists, n);
    for (size_t i = 0; i < n; i++) {
        if (lists[i].absent) {
            gce_neg_mirror_drop(t->g->mirror, lists[i].zone, group);
            note(t->g, t->g->absent, lists[i].zone, group);
        } else if (lists[i].err.code == ERR_OK) {
            gce_neg_mirror_set(t->g->mirror, lists[i].zone, group, lists[i].items, lists[i].n);
        } else if (rc == ERR_OK) {
            rc = err_copy(err, &lists[i].err);
        }
    }
    return rc;
}

int gce_groups_observe(struct gce_groups *g, struct lb_sync *s, const char *group_name,
                       const struct gce_groups_want *want, struct err *err)
{
    struct turn *t = turn_of(g, s);
    t->works = false;
    if (gce_cloud_of(s)->offline || is_done(t->g, s->a, group_name, want)) {
        turn_end(t);
        return ERR_OK;
    }
    if (!s->planning) {
        bool waited = !t->holds;
        int rc = turn_take(t, err);
        if (rc != ERR_OK) {
            return rc;
        }
        if (waited &&
            (is_done(t->g, s->a, group_name, want) || is_newer_than(t, s->a, group_name, want))) {
            turn_end(t);
            return ERR_OK;
        }
    }
    t->works = true;
    return read_groups(t, s, group_name, want, err);
}

/* ---- planning -------------------------------------------------------------------------------- */

bool gce_groups_put_off(struct gce_groups *g, struct lb_sync *s, const char *group_name,
                        const struct gce_groups_want *want)
{
    struct turn *t = turn_of(g, s);
    t->put_off = t->works;
    for (size_t i = 0; t->put_off && i < want->n; i++) {
        struct zone_state z = state_of(g, s->a, group_name, want, i);
        t->put_off = z.absent && z.add.n > 0;
    }
    return t->put_off;
}

bool gce_groups_are_put_off(struct gce_groups *g, struct lb_sync *s)
{
    const struct turn *t = turn_of(g, s);
    return t->put_off && (t->holds || s->planning);
}

struct emit {
    struct lb_sync *s;
    struct lb_plan *plan;
    const char *key;
    const char *group;
    struct turn *t; /* NULL: no turn is needed */
    bool wave_open;
};

static void put_body(void *arg)
{
    json_object_put(arg);
}

/* Returns the operation's index. */
static int append(struct emit *e, struct lb_op op, struct gce_op arg)
{
    struct gce_op *kept = ARENA_NEW(e->plan->a, struct gce_op);
    *kept = arg;
    kept->c = GCE_GROUPS;
    kept->name = e->group;
    kept->call = e->s->call;
    if (kept->body != NULL) {
        arena_defer(e->plan->a, put_body, kept->body);
    }
    op.kind = gce_collection_word(GCE_GROUPS);
    op.name = e->group;
    op.shared = true;
    op.type = gce_op_type_of(kept->verb);
    op.calls = gce_op_calls(kept);
    op.arg = kept;
    op.parallel = e->wave_open;
    e->wave_open = true;
    if (e->t != NULL) {
        e->t->open++;
    }
    return lb_plan_add(e->plan, e->key, &op);
}

static int insert(struct emit *e, const char *zone)
{
    const struct gce_group group = {.name = e->group, .zone = zone};
    struct lb_op op = LB_OP(.verb = LB_CREATE, .summary = zone,
                            .why = "the zone has nodes that take part and no group yet");
    return append(
        e, op, (struct gce_op){.verb = GCE_INSERT, .zone = zone, .body = gce_group_body(&group)});
}

/* Returns the operation's index; -1: there is nothing to change. */
static int change(struct emit *e, const char *zone, const struct gce_strs *names, bool add)
{
    struct arena *a = e->plan->a;
    const char **links = ARENA_ARRAY(a, const char *, names->n);
    struct str_set none = {0};
    struct str_set some = gce_strs_set(a, names);
    struct lb_diff diff;
    if (names->n == 0) {
        return -1;
    }
    for (size_t i = 0; i < names->n; i++) {
        links[i] =
            gce_api_zonal_link(a, &gce_cloud_of(e->s)->api, GCE_INSTANCES, zone, names->items[i]);
    }
    lb_diff_init(&diff, a);
    (void)lb_diff_set(&diff, "instances", add ? &none : &some, add ? &some : &none);
    struct lb_op op =
        LB_OP(.verb = LB_CHANGE, .fields = diff.fields, .n_fields = diff.n,
              .summary = arena_printf(a, "%s: %s %s", zone, add ? "add" : "remove",
                                      str_count(a, names->n, "instance")),
              .why = add ? "their nodes take part" : "their nodes take no part any more");
    return append(e, op,
                  (struct gce_op){.verb = add ? GCE_ADD_INSTANCES : GCE_REMOVE_INSTANCES,
                                  .zone = zone,
                                  .body = gce_pool_members_body(links, names->n),
                                  .members = true});
}

/* In the balancers' plan a group waits for its own zone only; `op` -1: there is no operation. */
static void name_edge(struct emit *e, int op, int on)
{
    if (op >= 0 && e->t->put_off) {
        lb_plan_after(e->plan, op, on);
    }
}

void gce_groups_plan(struct gce_groups *g, struct lb_sync *s, struct lb_plan *plan, const char *key,
                     const char *group_name, const struct gce_groups_want *want)
{
    struct turn *t = turn_of(g, s);
    struct emit e = {.s = s, .plan = plan, .key = key, .group = group_name, .t = t};
    struct zone_state *zones = ARENA_ARRAY(plan->a, struct zone_state, want->n);
    int *first = ARENA_ARRAY(plan->a, int, want->n);
    if (!t->works) {
        return;
    }
    t->open = 0;
    t->failed = false;
    for (size_t i = 0; i < want->n; i++) {
        zones[i] = state_of(t->g, plan->a, group_name, want, i);
        if (zones[i].absent && zones[i].add.n > 0) {
            first[i] = insert(&e, want->zones[i].zone);
        } else {
            first[i] =
                zones[i].known ? change(&e, want->zones[i].zone, &zones[i].remove, false) : -1;
        }
        name_edge(&e, first[i], -1);
    }
    /* Behind the removals: a group that is full takes no VM. */
    e.wave_open = false;
    for (size_t i = 0; i < want->n; i++) {
        if (zones[i].known) {
            name_edge(&e, change(&e, want->zones[i].zone, &zones[i].add, true), first[i]);
        }
    }
    if (t->open == 0) {
        turn_end(t);
    }
}

int gce_groups_list(struct lb_sync *s, struct err *err)
{
    struct gce_cloud *cloud = gce_cloud_of(s);
    const unsigned kind = GCE_KIND(GCE_GROUPS);
    int rc = ERR_OK;
    if (cloud->offline || s->planning ||
        gce_snapshot_was_listed(cloud->snapshot, kind, GCE_SNAPSHOT_ANY) ||
        !gce_snapshot_claim(cloud->snapshot, s->cancel)) {
        return ERR_OK;
    }
    rc = gce_snapshot_list(cloud, kind, s->http, s->call, &s->reads, err);
    gce_snapshot_filled(cloud->snapshot);
    return rc;
}

/* Zones of all nodes, by label and by providerID, and those where the group is known to be, or was
 * seen in the list. */
static struct str_set zones_to_clear(struct gce_groups *g, struct lb_sync *s, const char *group)
{
    struct gce_strs mirrored = gce_neg_mirror_zones(g->mirror, s->a, group);
    struct gce_strs listed = gce_snapshot_zones(gce_cloud_of(s)->snapshot, GCE_GROUPS, group, s->a);
    struct gce_strs known = {.items = ARENA_ARRAY(s->a, const char *, mirrored.n + listed.n)};
    for (size_t i = 0; i < mirrored.n + listed.n; i++) {
        known.items[known.n++] = i < mirrored.n ? mirrored.items[i] : listed.items[i - mirrored.n];
    }
    const struct gce_node_filter any = {.mode = GCE_NODES_LEGACY};
    const char **zones = ARENA_ARRAY(s->a, const char *, 2 * (size_t)s->batch->n_nodes + known.n);
    size_t n = 0;
    for (uint32_t i = 0; i < s->batch->n_nodes; i++) {
        struct gce_node_verdict v;
        gce_node_judge(s->a, &any, s->batch->nodes[i], &v);
        zones[n++] = gce_node_zone(s->batch->nodes[i]);
        zones[n++] = str_nonnull(v.zone);
    }
    for (size_t i = 0; i < known.n; i++) {
        zones[n++] = known.items[i];
    }
    return str_set_make(s->a, zones, n);
}

void gce_groups_plan_delete(struct gce_groups *g, struct lb_sync *s, struct lb_plan *plan,
                            const char *key, const char *group_name)
{
    struct str_set zones = zones_to_clear(g, s, group_name);
    struct emit e = {.s = s, .plan = plan, .key = key, .group = group_name};
    const char *zone;
    STR_SET_EACH (zone, &zones) {
        if (*zone == '\0' || is_noted(g, g->absent, zone, group_name)) {
            continue;
        }
        struct lb_op op = LB_OP(.verb = LB_DELETE, .summary = zone, .why = "no Service needs it",
                                .tolerate = LB_TOLERATE_ABSENT | LB_TOLERATE_IN_USE);
        (void)append(&e, op, (struct gce_op){.verb = GCE_DELETE, .zone = zone});
    }
}

struct gce_strs gce_groups_zones(struct gce_groups *g, struct arena *a, const char *group_name,
                                 const struct gce_groups_want *want)
{
    struct gce_strs zones = {.items = ARENA_ARRAY(a, const char *, want->n)};
    for (size_t i = 0; i < want->n; i++) {
        struct zone_state z = state_of(g, a, group_name, want, i);
        if (z.want->nodes.n > 0 || !z.known || z.is.n > 0) {
            zones.items[zones.n++] = z.want->zone;
        }
    }
    return zones;
}

/* ---- what became of it ----------------------------------------------------------------------- */

static void forget_done(struct gce_groups *g)
{
    mutex_lock(&g->lock);
    g->done_digest = 0;
    mutex_unlock(&g->lock);
}

static struct gce_endpoint *members_of(struct arena *a, const struct gce_op *op, size_t *ret_n)
{
    struct json_object *list = json_member(op->body, "instances");
    *ret_n = json_len(list);
    struct gce_endpoint *e = ARENA_ARRAY(a, struct gce_endpoint, *ret_n);
    for (size_t i = 0; i < *ret_n; i++) {
        const char *link = json_str(json_object_array_get_idx(list, i), "instance");
        e[i] = (struct gce_endpoint){
            .instance = gce_link_last(str_nonnull(link)), .ip = "", .ipv6 = ""};
    }
    return e;
}

static void mirror_wrote(struct gce_groups *g, const struct gce_op *op)
{
    size_t n = 0;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct gce_endpoint *e = members_of(a, op, &n);
    switch (op->verb) {
    case GCE_INSERT:
        unnote(g, g->absent, op->zone, op->name);
        gce_neg_mirror_set(g->mirror, op->zone, op->name, NULL, 0);
        break;
    case GCE_ADD_INSTANCES:
        gce_neg_mirror_add(g->mirror, op->zone, op->name, e, n);
        break;
    case GCE_REMOVE_INSTANCES:
        gce_neg_mirror_remove(g->mirror, op->zone, op->name, e, n);
        break;
    default:
        gce_neg_mirror_drop(g->mirror, op->zone, op->name);
        note(g, g->absent, op->zone, op->name);
        break;
    }
}

static void remember_refusal(struct gce_groups *g, const struct gce_op *op, const struct err *err)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *instance = gce_error_instance(a, err->message);
    if (instance != NULL && gce_refusal_is_one_group(err)) {
        note(g, g->refused, op->zone, instance);
    }
}

/* The holder's operations are counted; with the last one its turn ends, unless the balancers' plan
 * has to make them once more. */
static void count_down(struct gce_groups *g, bool failed)
{
    mutex_lock(&g->lock);
    struct turn *t = g->holder;
    if (t != NULL) {
        g->applied = t->began > g->applied ? t->began : g->applied;
    }
    mutex_unlock(&g->lock);
    if (t != NULL) {
        t->failed = t->failed || failed;
        if (t->open > 0 && --t->open == 0 && !(t->put_off && t->failed)) {
            turn_end(t);
        }
    }
}

void gce_groups_wrote(struct gce_groups *g, const struct lb_op *op, unsigned outcome,
                      const struct err *err)
{
    const struct gce_op *arg = op->arg;
    if (op->verb == LB_KEEP || op->type != gce_op_type_of(arg->verb) || arg->c != GCE_GROUPS) {
        return;
    }
    forget_done(g);
    bool gone = arg->verb == GCE_DELETE &&
                (outcome == LB_TOLERATED && err != NULL && err->code == ERR_NOT_FOUND);
    if (outcome == LB_DONE || gone) {
        mirror_wrote(g, arg);
    } else if (outcome == LB_FAILED) {
        gce_neg_mirror_forget(g->mirror, arg->zone, arg->name);
        unnote(g, g->absent, arg->zone, arg->name);
        remember_refusal(g, arg, err);
    }
    if (arg->verb != GCE_DELETE) {
        count_down(g, outcome == LB_FAILED);
    }
}

void gce_groups_tell(struct lb_sync *s, const struct lb_op *op, const struct err *err)
{
    const struct gce_cloud *cloud = gce_cloud_of(s);
    if (err == NULL || !gce_refusal_is_one_group(err)) {
        return;
    }
    const char *instance = str_or(gce_error_instance(s->a, err->message), "?");
    const char *message = arena_printf(
        s->a,
        "Instance %s is in another load-balanced instance group, and Google allows one per "
        "instance: take that group (outside the cluster) off its backend service, or let the "
        "Service use network endpoint groups. Until then the instance gets no traffic from this "
        "load balancer.",
        instance);
    for (size_t i = 0; i < s->n_items; i++) {
        const struct lb_item *item = &s->items[i];
        const char *about = arena_printf(s->a, "%s %s", item->key, GCE_EVENT_ONE_GROUP);
        if (str_set_has(&op->owners, item->key) && gce_told_is_news(cloud->told, about, message)) {
            cloud->host->event(cloud->host->ctx, item->in->service, TT_EVENT_WARNING,
                               GCE_EVENT_ONE_GROUP, message);
        }
    }
}
