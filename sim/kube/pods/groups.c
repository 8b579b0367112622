/* SPDX-License-Identifier: Apache-2.0 */
/* groups.c: which endpoint is in which slice of one family.
 *
 * Pods with equal ports are a group, and each group has slices of its own.  Stored slices keep the
 * endpoints that are still wanted; new ones fill slices that are written anyway, the fullest first,
 * then one that has room for all of the rest, then new slices.  Slices are never merged.  Endpoints
 * are placed in the order of the pods' names. */
#include "sim/kube/pods/parts.h"

#include "sim/kube/rules/rules.h"

#define PER_SLICE 100

/* An endpoint that should be in some slice. */
struct wanted {
    struct json_object *endpoint; /* borrowed from the group's `all` */
    bool placed;
    struct wanted *next; /* in the order of the pods */
};

/* The endpoints that a group should have. */
struct group {
    struct json_object *ports;
    struct json_object *all;      /* array that owns them */
    struct map *wanted;           /* identity → struct wanted in the arena */
    struct wanted *first, **last; /* the same in order */
};

struct grouping {
    struct slice_job *j;
    struct slice_plan *plan;
    struct map *groups; /* key → struct group */
    size_t n_stored;
};

static void group_free(void *arg)
{
    struct group *g = arg;
    if (g) {
        json_object_put(g->ports);
        json_object_put(g->all);
        map_free(g->wanted);
        free(g);
    }
}

struct slice *plan_add(struct slice_plan *plan)
{
    if (plan->n == plan->room) {
        plan->room = plan->room ? plan->room * 2 : 8;
        plan->items = xrealloc(plan->items, plan->room * sizeof(*plan->items));
    }
    struct slice *s = &plan->items[plan->n++];
    *s = (struct slice){.endpoints = NULL};
    return s;
}

void plan_done(struct slice_plan *plan)
{
    for (size_t i = 0; i < plan->n; i++) {
        json_object_put(plan->items[i].was);
        json_object_put(plan->items[i].endpoints);
        json_object_put(plan->items[i].ports);
    }
    free(plan->items);
    *plan = (struct slice_plan){.items = NULL};
}

/* --- what is wanted --------------------------------------------------------------------------- */
static bool add_pod(const char *name, void *unused, void *arg)
{
    struct grouping *g = arg;
    const struct pod *pod = map_get(g->j->space->pods, name);
    (void)unused;
    if (!pod || pod->finished || json_len(pod->ips) == 0) {
        return true;
    }
    struct json_object *ports = endpoint_ports(g->j, pod);
    const char *key = ports_key(g->j->arena, ports);
    struct group *group = map_get(g->groups, key);
    if (!group) {
        group = xcalloc(1, sizeof(*group));
        group->ports = json_object_get(ports);
        group->wanted = map_new(NULL);
        group->all = json_object_new_array();
        group->last = &group->first;
        map_set(g->groups, key, group);
    }
    struct json_object *e = endpoint_make(g->j, pod, g->plan->v6);
    if (e) {
        struct wanted *w = ARENA_NEW(g->j->arena, struct wanted);
        w->endpoint = e;
        *group->last = w;
        group->last = &w->next;
        map_set(group->wanted, endpoint_identity(g->j->arena, e), w);
        json_object_array_add(group->all, e);
    }
    json_object_put(ports);
    return true;
}

/* --- what is there ---------------------------------------------------------------------------- */
/* A part that is about to change must not be part of the stored tree. */
static void own_endpoints(struct slice *s)
{
    struct json_object *copy = json_copy(s->endpoints);
    json_object_put(s->endpoints);
    s->endpoints = copy;
}

/* Keeps what is still wanted of one stored slice, with its new values. */
static void keep_wanted(struct grouping *g, struct slice *s, struct group *group)
{
    struct arena *a = g->j->arena;
    struct json_object *kept = json_object_new_array();
    bool changed = false;
    for (size_t i = 0; i < json_len(s->endpoints); i++) {
        struct json_object *old = json_object_array_get_idx(s->endpoints, i);
        struct wanted *w = map_get(group->wanted, endpoint_identity(a, old));
        if (w && !w->placed) {
            w->placed = true;
            changed =
                changed || !str_eq(endpoint_content(a, old), endpoint_content(a, w->endpoint));
            json_object_array_add(kept, json_object_get(w->endpoint));
        }
    }
    bool removed = json_len(kept) < json_len(s->endpoints);
    if (removed && json_len(kept) == 0) {
        s->fate = SLICE_DELETE;
    } else if (removed || changed) {
        s->fate = SLICE_UPDATE;
        json_object_put(s->endpoints);
        s->endpoints = json_object_get(kept);
    } else if (!slice_labels_fit(g->j, s->was)) {
        s->fate = SLICE_UPDATE;
        own_endpoints(s);
    }
    json_object_put(kept);
}

static void judge_stored(struct grouping *g)
{
    for (size_t i = 0; i < g->n_stored; i++) {
        struct slice *s = &g->plan->items[i];
        struct group *group = s->is_owned ? map_get(g->groups, s->key) : NULL;
        if (group) {
            keep_wanted(g, s, group);
        } else {
            s->fate = SLICE_DELETE;
        }
    }
}

/* --- where the rest goes ---------------------------------------------------------------------- */
/* The fullest slice of that fate in the group that has room for `n` more, or NULL. */
static struct slice *fullest(struct grouping *g, const char *key, enum slice_fate fate, size_t n)
{
    struct slice *best = NULL;
    for (size_t i = 0; i < g->n_stored; i++) {
        struct slice *s = &g->plan->items[i];
        if (s->fate == fate && s->is_owned && str_eq(s->key, key) &&
            json_len(s->endpoints) + n <= PER_SLICE &&
            (!best || json_len(s->endpoints) > json_len(best->endpoints))) {
            best = s;
        }
    }
    return best;
}

static struct slice *new_slice(struct grouping *g, const char *key, struct json_object *ports)
{
    struct slice *s = plan_add(g->plan);
    s->endpoints = json_object_new_array();
    s->ports = json_object_get(ports);
    s->key = key;
    s->is_owned = true;
    s->fate = SLICE_CREATE;
    return s;
}

static size_t fill(struct slice *s, struct json_object *rest, size_t from)
{
    while (from < json_len(rest) && json_len(s->endpoints) < PER_SLICE) {
        json_object_array_add(s->endpoints,
                              json_object_get(json_object_array_get_idx(rest, from++)));
    }
    return from;
}

static void place_rest(struct grouping *g, const char *key, struct group *group)
{
    struct json_object *rest = json_object_new_array();
    for (struct wanted *w = group->first; w; w = w->next) {
        if (!w->placed) {
            json_object_array_add(rest, json_object_get(w->endpoint));
        }
    }
    size_t next = 0;
    struct slice *s = NULL;
    while (next < json_len(rest) && (s = fullest(g, key, SLICE_UPDATE, 1)) != NULL) {
        next = fill(s, rest, next);
    }
    while (next < json_len(rest)) {
        size_t left = json_len(rest) - next;
        s = left < PER_SLICE ? fullest(g, key, SLICE_KEEP, left) : NULL;
        if (s) {
            s->fate = SLICE_UPDATE;
            own_endpoints(s);
        } else {
            s = new_slice(g, key, group->ports);
        }
        next = fill(s, rest, next);
    }
    json_object_put(rest);
}

static bool place_group(const char *key, void *value, void *arg)
{
    struct grouping *g = arg;
    place_rest(g, arena_strdup(g->j->arena, key), value);
    return true;
}

/* --- never none ------------------------------------------------------------------------------- */
static bool is_placeholder(struct grouping *g, const struct slice *s)
{
    return s->is_owned && json_len(s->endpoints) == 0 && json_len(s->ports) == 0 &&
           slice_labels_fit(g->j, s->was);
}

static void need_placeholder(struct grouping *g)
{
    size_t n_deleted = 0;
    struct slice *last = NULL;
    for (size_t i = 0; i < g->plan->n; i++) {
        if (g->plan->items[i].fate != SLICE_DELETE) {
            return;
        }
        n_deleted++;
        last = &g->plan->items[i];
    }
    if (n_deleted == 1 && is_placeholder(g, last)) {
        last->fate = SLICE_KEEP;
        return;
    }
    struct json_object *none = json_object_new_array();
    (void)new_slice(g, "", none);
    json_object_put(none);
}

void plan_groups(struct slice_job *j, struct slice_plan *plan)
{
    struct grouping g = {.j = j, .plan = plan, .groups = map_new(group_free), .n_stored = plan->n};
    map_each(j->svc->members, add_pod, &g);
    judge_stored(&g);
    map_each(g.groups, place_group, &g);
    need_placeholder(&g);
    map_free(g.groups);
}
