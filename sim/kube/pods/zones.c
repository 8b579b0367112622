/* SPDX-License-Identifier: Apache-2.0 */
/* zones.c: topology hints: endpoints shared among zones as their CPUs are.
 *
 * A Service gets hints only when every zone can have its part without more than a fifth of
 * overload; else all of its hints go and an event says why.  Slices that are hinted well enough
 * stay as they are; in the others each ready endpoint is hinted for its own zone, and zones with
 * more than their part give the rest to zones with less.  Among equals the lowest name wins. */
#include "sim/kube/pods/parts.h"

#include "sim/kube/pods/tell.h"
#include "sim/kube/rules/rules.h"

#include <math.h>

#define OVERLOAD 0.2

struct zone_share {
    double ratio;
    int64_t cpu_milli;
};

/* The endpoints that a zone should have of n, and has. */
struct zone_part {
    const char *zone;
    double desired;
    int64_t minimum, maximum;
    int64_t hinted;
    double spare;  /* > 0: has too many; < 0: too few */
    int64_t moves; /* endpoints to give (> 0) or to take (< 0) */
};

struct parts {
    struct arena *arena;
    struct zone_part *items;
    size_t n;
    const char *refusal; /* why there are no hints, or NULL */
};

/* --- shares ----------------------------------------------------------------------------------- */
struct share_sum {
    struct map *shares;
    int64_t total;
    bool unknown;
};

static bool add_node(const char *name, void *value, void *arg)
{
    struct share_sum *sum = arg;
    const struct pod_node *node = value;
    (void)name;
    if (node->is_control_plane || !node->ready) {
        return true;
    }
    if (*node->zone == '\0' || node->cpu_milli <= 0) {
        sum->unknown = true;
        return false;
    }
    struct zone_share *share = map_get(sum->shares, node->zone);
    if (!share) {
        share = xcalloc(1, sizeof(*share));
        map_set(sum->shares, node->zone, share);
    }
    share->cpu_milli += node->cpu_milli;
    sum->total += node->cpu_milli;
    return true;
}

static bool set_ratio(const char *zone, void *value, void *arg)
{
    struct zone_share *share = value;
    (void)zone;
    share->ratio = (double)share->cpu_milli / (double)((struct share_sum *)arg)->total;
    return true;
}

void zones_free(struct kube_pods *p)
{
    map_free(p->shares);
    p->shares = NULL;
    p->shares_known = false;
}

/* NULL: the nodes do not say enough, or are all in one zone. */
static const struct map *shares_of(struct kube_pods *p)
{
    if (!p->shares_known) {
        struct share_sum sum = {.shares = map_new(free)};
        zones_free(p);
        map_each(p->nodes, add_node, &sum);
        if (sum.unknown || map_size(sum.shares) < 2) {
            map_free(sum.shares);
        } else {
            map_each(sum.shares, set_ratio, &sum);
            p->shares = sum.shares;
        }
        p->shares_known = true;
    }
    return p->shares;
}

/* --- parts ------------------------------------------------------------------------------------ */
static int64_t least(double share)
{
    return (int64_t)ceil(share * (1 / (1 + OVERLOAD)));
}

struct allotting {
    struct parts *parts;
    int64_t n;
    int64_t minima;
};

static bool allot(const char *zone, void *value, void *arg)
{
    struct allotting *al = arg;
    double share = ((struct zone_share *)value)->ratio * (double)al->n;
    struct zone_part *part = &al->parts->items[al->parts->n++];
    part->zone = arena_strdup(al->parts->arena, zone);
    part->minimum = least(share);
    part->desired = share > (double)part->minimum ? share : (double)part->minimum;
    al->minima += part->minimum;
    return true;
}

static struct parts make_parts(struct slice_job *j, int64_t n)
{
    const struct map *shares = shares_of(j->p);
    struct parts parts = {.arena = j->arena};
    struct allotting al = {.parts = &parts, .n = n};
    if (!shares) {
        parts.refusal = "Insufficient Node information: allocatable CPU or zone not specified on "
                        "one or more nodes";
        return parts;
    }
    if ((int64_t)map_size(shares) > n) {
        parts.refusal =
            arena_printf(j->arena, "Insufficient number of endpoints (%lld endpoints, %zu zones)",
                         (long long)n, map_size(shares));
        return parts;
    }
    parts.items = ARENA_ARRAY(j->arena, struct zone_part, map_size(shares));
    map_each(shares, allot, &al);
    if (al.minima > n) {
        parts.refusal = arena_printf(j->arena,
                                     "Unable to allocate minimum required endpoints to each zone "
                                     "without exceeding overload threshold (%lld endpoints, %zu "
                                     "zones)",
                                     (long long)n, map_size(shares));
    }
    for (size_t i = 0; i < parts.n; i++) {
        parts.items[i].maximum = parts.items[i].minimum + n - al.minima;
    }
    return parts;
}

static struct zone_part *part_of(struct parts *parts, const char *zone)
{
    for (size_t i = 0; i < parts->n; i++) {
        if (str_eq(parts->items[i].zone, zone)) {
            return &parts->items[i];
        }
    }
    return NULL;
}

/* --- slices that stay ------------------------------------------------------------------------- */
/* Counts the hints of a stored slice on top of those before; false (and nothing counted) unless all
 * are as they may be. */
static bool count_slice(struct parts *parts, const struct slice *s)
{
    int64_t *more = ARENA_ARRAY(parts->arena, int64_t, parts->n + 1);
    for (size_t k = 0; k < json_len(s->endpoints); k++) {
        struct json_object *e = json_object_array_get_idx(s->endpoints, k);
        struct json_object *zones = json_path(e, "hints.forZones");
        if (!endpoint_is_ready(e)) {
            continue;
        }
        if (json_len(zones) == 0) {
            return false;
        }
        for (size_t z = 0; z < json_len(zones); z++) {
            struct zone_part *part =
                part_of(parts, json_str(json_object_array_get_idx(zones, z), "name"));
            if (!part) {
                return false;
            }
            more[part - parts->items]++;
        }
    }
    for (size_t i = 0; i < parts->n; i++) {
        if (parts->items[i].hinted + more[i] > parts->items[i].maximum) {
            return false;
        }
    }
    for (size_t i = 0; i < parts->n; i++) {
        parts->items[i].hinted += more[i];
    }
    return true;
}

static void keep_good_slices(struct parts *parts, struct slice_plan *plan)
{
    for (size_t i = 0; i < plan->n; i++) {
        struct slice *s = &plan->items[i];
        if (s->fate == SLICE_KEEP && !count_slice(parts, s)) {
            struct json_object *copy = json_copy(s->endpoints);
            json_object_put(s->endpoints);
            s->endpoints = copy;
            s->fate = SLICE_UPDATE;
        }
    }
}

/* --- slices that are written ------------------------------------------------------------------ */
/* Calls fn for each ready endpoint of slices to create, then of those to update; stops when it
 * returns false. */
static bool each_written(struct slice_plan *plan, bool (*fn)(struct json_object *e, void *arg),
                         void *arg)
{
    static const enum slice_fate order[] = {SLICE_CREATE, SLICE_UPDATE};
    for (size_t f = 0; f < ARRAY_LEN(order); f++) {
        for (size_t i = 0; i < plan->n; i++) {
            struct slice *s = &plan->items[i];
            for (size_t k = 0; s->fate == order[f] && k < json_len(s->endpoints); k++) {
                struct json_object *e = json_object_array_get_idx(s->endpoints, k);
                if (endpoint_is_ready(e) && !fn(e, arg)) {
                    return false;
                }
            }
        }
    }
    return true;
}

static bool hint_own_zone(struct json_object *e, void *arg)
{
    struct parts *parts = arg;
    const char *zone = json_str(e, "zone");
    if (str_is_empty(zone)) {
        parts->refusal = "One or more endpoints do not have a zone specified";
        return false;
    }
    hint_set(e, zone, NULL);
    struct zone_part *part = part_of(parts, zone);
    if (part) {
        part->hinted++;
    }
    return true;
}

/* The zone with the most to give (sign 1) or to take (sign -1), or NULL. */
static struct zone_part *most(struct parts *parts, double sign)
{
    struct zone_part *best = NULL;
    for (size_t i = 0; i < parts->n; i++) {
        struct zone_part *part = &parts->items[i];
        if (sign * part->spare > 0 && (!best || sign * part->spare > sign * best->spare)) {
            best = part;
        }
    }
    return best;
}

static void plan_moves(struct parts *parts)
{
    for (size_t i = 0; i < parts->n; i++) {
        struct zone_part *part = &parts->items[i];
        part->spare = (double)part->hinted - part->desired;
    }
    for (;;) {
        struct zone_part *gives = most(parts, 1);
        struct zone_part *takes = most(parts, -1);
        if (!gives || !takes || (gives->spare < 1 && takes->spare > -1) || gives->spare < 0.5 ||
            takes->spare > -0.5) {
            return;
        }
        gives->moves++;
        gives->spare--;
        takes->moves--;
        takes->spare++;
    }
}

static bool move_one(struct json_object *e, void *arg)
{
    struct parts *parts = arg;
    struct zone_part *from = part_of(parts, json_str(e, "zone"));
    for (size_t i = 0; from && from->moves > 0 && i < parts->n; i++) {
        struct zone_part *to = &parts->items[i];
        if (to->moves < 0) {
            hint_set(e, to->zone, NULL);
            from->moves--;
            from->hinted--;
            to->moves++;
            to->hinted++;
            break;
        }
    }
    return true;
}

/* --- all of it -------------------------------------------------------------------------------- */
static int64_t count_ready(const struct slice_plan *plan)
{
    int64_t n = 0;
    for (size_t i = 0; i < plan->n; i++) {
        const struct slice *s = &plan->items[i];
        for (size_t k = 0; s->fate != SLICE_DELETE && k < json_len(s->endpoints); k++) {
            n += endpoint_is_ready(json_object_array_get_idx(s->endpoints, k));
        }
    }
    return n;
}

static void tell_family(struct slice_job *j, const struct slice_plan *plan, const char *type,
                        const char *reason, const char *text)
{
    tell_event(j, type, reason,
               arena_printf(j->arena, "%s, addressType: %s", text, plan->v6 ? "IPv6" : "IPv4"));
}

static void remember(struct slice_job *j, const struct slice_plan *plan, const struct parts *parts)
{
    struct map **hinted = &j->svc->hinted_per_zone[plan->v6];
    map_free(*hinted);
    *hinted = NULL;
    if (!parts->refusal) {
        *hinted = map_new(free);
        for (size_t i = 0; i < parts->n; i++) {
            int64_t *n = xmalloc(sizeof(*n));
            *n = parts->items[i].hinted;
            map_set(*hinted, parts->items[i].zone, n);
        }
    }
}

void zones_apply(struct slice_job *j, struct slice_plan *plan)
{
    struct parts parts = make_parts(j, count_ready(plan));
    if (!parts.refusal) {
        keep_good_slices(&parts, plan);
        (void)each_written(plan, hint_own_zone, &parts);
    }
    remember(j, plan, &parts);
    if (parts.refusal) {
        hints_remove(plan);
        j->svc->hinted = false;
        tell_family(j, plan, "Warning", "TopologyAwareHintsDisabled", parts.refusal);
        return;
    }
    plan_moves(&parts);
    (void)each_written(plan, move_one, &parts);
    remember(j, plan, &parts);
    if (!j->svc->hinted) {
        tell_family(j, plan, "Normal", "TopologyAwareHintsEnabled",
                    "Topology Aware Hints has been enabled");
        j->svc->hinted = true;
    }
}

void zones_off(struct slice_job *j)
{
    if (j->svc->hinted) {
        tell_event(j, "Warning", "TopologyAwareHintsDisabled",
                   "Topology Aware Hints has been disabled");
    }
    j->svc->hinted = false;
    for (size_t i = 0; i < ARRAY_LEN(j->svc->hinted_per_zone); i++) {
        map_free(j->svc->hinted_per_zone[i]);
        j->svc->hinted_per_zone[i] = NULL;
    }
}

/* --- overload --------------------------------------------------------------------------------- */
struct load {
    struct kube_pods *p;
    const char *ns;
    const struct map *shares;
    const struct map *hinted;
    int64_t total;
    bool over;
};

static bool add_up(const char *zone, void *value, void *arg)
{
    (void)zone;
    ((struct load *)arg)->total += *(int64_t *)value;
    return true;
}

static bool weigh(const char *zone, void *value, void *arg)
{
    struct load *load = arg;
    const int64_t *has = map_get(load->hinted, zone);
    double ratio = ((struct zone_share *)value)->ratio;
    load->over = !has || *has == 0 || *has < least((double)load->total * ratio);
    return !load->over;
}

static bool check_service(const char *name, void *value, void *arg)
{
    struct load *load = arg;
    struct svc *svc = value;
    for (size_t i = 0; i < ARRAY_LEN(svc->hinted_per_zone); i++) {
        load->hinted = svc->hinted_per_zone[i];
        load->total = 0;
        load->over = load->hinted && !load->shares;
        if (load->hinted && load->shares) {
            map_each(load->hinted, add_up, load);
            map_each(load->shares, weigh, load);
        }
        if (load->over) {
            kube_pods_look_at(load->p, load->ns, name);
        }
    }
    return true;
}

static bool check_space(const char *ns, void *value, void *arg)
{
    struct load *load = arg;
    load->ns = ns;
    map_each(((struct space *)value)->services, check_service, load);
    return true;
}

void zones_recheck(struct kube_pods *p)
{
    struct load load = {.p = p, .shares = shares_of(p)};
    map_each(p->spaces, check_space, &load);
}
