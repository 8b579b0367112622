/* SPDX-License-Identifier: Apache-2.0 */
/* health.c: weights by the health of targets, in syncs and between them.
 *
 * A sync keeps of each Service what its slots are made of: frontends, who may come, targets with
 * the weights of policy and zone.  When a check changes its mind, the director's thread makes the
 * slots anew from that, plans the difference as a sync does, and carries it out (docs/adr/0035).  A
 * sync would plan nothing then. */
#include "providers/local/standing.h"

#include <string.h>

#include "common/base/str.h"
#include "common/lb/exec.h"
#include "common/lb/findings.h"

/* ---- weights --------------------------------------------------------------------------------- */

static bool has_slot(const struct local_front *f, const struct local_target *t)
{
    for (unsigned i = 0; i < f->m; i++) {
        if (f->slots[i].port == t->port && ip_eq(&f->slots[i].addr, &t->addr)) {
            return true;
        }
    }
    return false;
}

static const struct local_ipvs_real *real_of(const struct local_front *f,
                                             const struct local_target *t)
{
    const struct local_ipvs_dest d = {.addr = t->addr, .port = t->port};

    return local_ipvs_find(&f->ipvs, &d);
}

/* It gets new connections. */
static bool is_used(const struct local_front *f, const struct local_target *t)
{
    const struct local_ipvs_real *real = real_of(f, t);

    return has_slot(f, t) || (real != NULL && real->dest.weight > 0);
}

/* The kernel gives connections to other targets of the frontend, and none to this one.  Without
 * slots, or with weight 0; one that is no destination of IPVS at all is new. */
static bool shown_down(const struct local_front *have, const struct local_serve *serve,
                       const struct local_target_set *t, size_t i)
{
    bool others = have != NULL && local_front_sorry_has_slot(have, serve);

    for (size_t k = 0; have != NULL && k < t->n && !others; k++) {
        others = is_used(have, &t->items[k]);
    }
    return others && t->items[i].weight > 0 && !is_used(have, &t->items[i]) &&
           (have->m > 0 || real_of(have, &t->items[i]) != NULL);
}

struct weighing {
    struct local_weigher weigher;
    struct local_provider *p;
    bool first; /* the first look at this Service: the kernel shows who is down */
};

static void weigh(void *arg, struct arena *a, const struct local_front_args *x,
                  struct local_wanted *w, size_t i)
{
    const struct weighing *g = arg;
    struct local_target_set *t = &w->targets[i];
    struct local_health *health = ARENA_ARRAY(a, struct local_health, t->n + 1);
    const struct local_front *have = local_standing_front(x->have, x->n_have, &w->fronts[i].id);
    struct local_check_spec spec;

    for (size_t k = 0; k < t->n; k++) {
        if (local_check_spec_of(&w->serve, x->service, w->fronts[i].id.protocol, &t->items[k],
                                &spec) &&
            !local_director_health(g->p->directing, local_check_key(a, &spec), &health[k])) {
            health[k].down = g->first && shown_down(have, &w->serve, t, k);
        }
    }
    struct local_weighed r = local_check_weigh(t, health, local_standing_fails_open(&w->serve));
    w->n_ejected += r.failed_open ? 0 : r.n_down;
    w->failed_open = w->failed_open || r.failed_open;
}

const struct local_weigher *local_health_weigher(struct lb_sync *s, const struct lb_item *item)
{
    struct local_provider *p = ((struct local_sync *)s->data)->p;
    struct weighing *g = ARENA_NEW(s->a, struct weighing);

    if (p->directing == NULL) {
        return NULL;
    }
    *g = (struct weighing){
        .weigher = {.weigh = weigh, .arg = g}, .p = p, .first = !local_served_has(p, item->key)};
    return &g->weigher;
}

/* ---- what is kept ---------------------------------------------------------------------------- */

struct checked {
    struct local_checked *items;
    size_t *of; /* which of them each target of all frontends has, and one more; 0: none */
    size_t n, n_targets;
};

/* One that the list has already counts once. */
static size_t check_target(struct checked *list, const char *key,
                           const struct local_check_spec *spec, bool down)
{
    for (size_t i = 0; i < list->n; i++) {
        if (str_eq(list->items[i].key, key)) {
            return i + 1;
        }
    }
    list->items[list->n++] = (struct local_checked){.key = key, .spec = *spec, .starts_down = down};
    return list->n;
}

static bool is_target(const struct local_target_set *t, const struct local_dest *d)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->items[i].port == d->port && ip_eq(&t->items[i].addr, &d->addr)) {
            return true;
        }
    }
    return false;
}

/* Of its slots those that are no target's: a sorry server's, or of a target that left. */
static size_t strangers(struct arena *a, const struct local_front *f,
                        const struct local_target_set *t, struct local_target **ret)
{
    size_t n = 0;

    *ret = ARENA_ARRAY(a, struct local_target, (size_t)f->m + 1);
    for (unsigned i = 0; i < f->m; i++) {
        const struct local_dest *to = &f->slots[i];
        if (to->addr.len != 0 && !is_target(t, to)) {
            (*ret)[n++] = (struct local_target){.addr = to->addr, .port = to->port};
        }
    }
    return n;
}

/* Targets that have slots and are to have none, because they are no targets any more, drain; so
 * does a sorry server when targets are back.  A target whose check fails stays one. */
static void drain_left(struct local_director *d, struct arena *a, const struct local_front *have,
                       const struct local_front *want, const struct local_target_set *t,
                       const struct local_serve *serve)
{
    struct local_target_set stay = {0};
    struct local_target *left;

    if (have == NULL || have->id.protocol == LOCAL_UDP) { /* the plan ends those at once */
        return;
    }
    stay.n = strangers(a, want, t, &stay.items);
    local_director_stays(d, &have->id, t);
    local_director_stays(d, &have->id, &stay);
    size_t n = strangers(a, have, t, &left);
    for (size_t i = 0; i < n; i++) {
        if (!has_slot(want, &left[i])) {
            const struct local_connection c = {
                .id = have->id, .target = left[i].addr, .port = left[i].port};
            local_director_drain(d, &c, serve->drain_timeout_ms);
        }
    }
}

static void check_front(struct lb_sync *s, const struct lb_item *item, const struct local_wanted *w,
                        size_t i, struct checked *list)
{
    const struct local_provider *p = ((struct local_sync *)s->data)->p;
    const struct local_item *it = item->data;
    const struct local_target_set *t = &w->base[i];
    const struct local_frontend_id *id = &w->fronts[i].id;
    const struct local_front *have = local_standing_front(it->have, it->n_have, id);
    bool first = !local_served_has(p, item->key);
    struct local_check_spec spec;

    drain_left(p->directing, s->a, have, &w->fronts[i], t, &w->serve);
    for (size_t k = 0; k < t->n; k++) {
        bool asked = local_check_spec_of(&w->serve, it->service, id->protocol, &t->items[k], &spec);
        list->of[list->n_targets++] =
            !asked ? 0
                   : check_target(list, local_check_key(s->a, &spec), &spec,
                                  first && shown_down(have, &w->serve, t, k));
    }
}

/* The director has the checks; the next targets of the list are those of this frontend. */
static struct served_front served_front(struct arena *a, const struct local_wanted *w, size_t i,
                                        const struct checked *list, size_t *at)
{
    const struct local_target_set *t = &w->base[i];
    struct served_front f = {
        .front = {.id = w->fronts[i].id, .snat = w->fronts[i].snat},
        .serve = &w->serve,
        .targets = *t,
        .checks = ARENA_ARRAY(a, struct director_check *, t->n + 1),
    };

    local_front_let_in(&f.front, w->ranges, w->n_ranges);
    for (size_t k = 0; k < t->n; k++) {
        size_t which = list->of[(*at)++];
        f.checks[k] = which == 0 ? NULL : list->items[which - 1].check;
    }
    return f;
}

/* Addresses that the Service is to have, and not those that go. */
static void add_vips(struct arena *a, const struct local_item *it, struct served *v)
{
    v->n_vips = it->n_vips < it->n_wanted ? it->n_vips : it->n_wanted;
    v->vips = ARENA_ARRAY(a, struct local_vip, v->n_vips + 1);
    for (size_t i = 0; i < v->n_vips; i++) {
        v->vips[i] = it->vips[i].want;
    }
}

void local_health_settled(struct local_provider *p, const char *service)
{
    local_served_settle(p, service);
}

void local_health_forget(struct local_provider *p, const char *service)
{
    if (p->directing != NULL) {
        local_director_check(p->directing, service, NULL, 0);
        local_served_drop(p, service);
    }
}

static void keep_service(struct lb_sync *s, const struct lb_item *item, const struct checked *list)
{
    struct local_provider *p = ((struct local_sync *)s->data)->p;
    const struct local_item *it = item->data;
    struct served v = {.key = item->key};
    size_t at = 0;

    for (size_t i = 0; i < it->n_wanted; i++) {
        v.n += it->wanted[i].n;
        v.n_ejected += it->wanted[i].n_ejected;
        v.failed_open = v.failed_open || it->wanted[i].failed_open;
        v.closed = v.closed || !it->wanted[i].some_open;
    }
    v.told = v.n_ejected > 0 || v.failed_open; /* local_health_find() */
    v.fronts = ARENA_ARRAY(s->a, struct served_front, v.n + 1);
    v.n = 0;
    for (size_t i = 0; i < it->n_wanted; i++) {
        for (size_t k = 0; k < it->wanted[i].n; k++) {
            v.fronts[v.n++] = served_front(s->a, &it->wanted[i], k, list, &at);
        }
    }
    add_vips(s->a, it, &v);
    local_served_put(p, s->a, &v);
}

void local_health_keep(struct lb_sync *s, const struct lb_item *item)
{
    struct local_provider *p = ((struct local_sync *)s->data)->p;
    const struct local_item *it = item->data;
    size_t n_targets = 0;

    if (p->directing == NULL || s->planning) {
        return;
    }
    for (size_t i = 0; i < it->n_wanted; i++) {
        for (size_t k = 0; k < it->wanted[i].n; k++) {
            n_targets += it->wanted[i].base[k].n;
        }
    }
    if (it->n_wanted == 0) {
        local_health_forget(p, item->key);
        return;
    }
    struct checked list = {.items = ARENA_ARRAY(s->a, struct local_checked, n_targets + 1),
                           .of = ARENA_ARRAY(s->a, size_t, n_targets + 1)};
    for (size_t i = 0; i < it->n_wanted; i++) {
        for (size_t k = 0; k < it->wanted[i].n; k++) {
            check_front(s, item, &it->wanted[i], k, &list);
        }
    }
    local_director_check(p->directing, item->key, list.items, list.n);
    keep_service(s, item, &list);
}

/* ---- between syncs --------------------------------------------------------------------------- */

/* All of them in one plan, so that one transaction changes many. */
static int change_weights(struct local_provider *p, struct arena *a,
                          struct standing_change *changes, size_t n, struct err *err)
{
    struct local_service_state *states = ARENA_ARRAY(a, struct local_service_state, n + 1);
    struct lb_plan plan;
    struct err refused = ERR_INIT;
    int rc = local_standing_look(p, err);

    for (size_t i = 0; rc == ERR_OK && i < n; i++) {
        rc = local_standing_read(p, a, changes[i].of, false, err);
        local_standing_compare(p, a, &changes[i]);
        states[i] = local_standing_state(&changes[i]);
        struct local_service_state now = states[i];
        now.now_ms = clock_now_ms(p->clock);
        changes[i].drains_ms = local_ipvs_again_ms(&now);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    lb_plan_init(&plan, a);
    local_services_plan(&plan, p->config->instance, local_table_is(p), states, n);
    if (!local_standing_run(p, a, &plan, true, &refused)) {
        p->looked = false;
        return err_set(err, ERR_CONFLICT, "the kernel refused other weights: %s", refused.message);
    }
    return ERR_OK;
}

/* ---- events for owners ----------------------------------------------------------------------- */

#define EJECTED_TEXT   "%zu targets get no new connections: their health checks fail"
#define FAIL_OPEN_TEXT "health checks of all targets fail; all of them get connections (failOpen)"
#define CLOSED_TEXT    "health checks of all targets fail; no client is served (failOpen: false)"

static void say(struct local_provider *p, const struct standing_change *c)
{
    const struct served *v = c->of;
    struct tt_service owner = {.size = sizeof owner};
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *slash = strchr(v->key, '/');
    bool worse = c->n_ejected > v->n_ejected || (c->failed_open && !v->failed_open);

    if (slash == NULL || !worse) {
        return;
    }
    owner.ns = arena_strndup(a, v->key, (size_t)(slash - v->key));
    owner.name = slash + 1;
    const char *reason = c->failed_open ? "FailOpen" : c->closed ? "NoTargets" : "TargetsEjected";
    const char *text = c->failed_open ? FAIL_OPEN_TEXT
                       : c->closed    ? CLOSED_TEXT
                                      : arena_printf(a, EJECTED_TEXT, c->n_ejected);
    p->host->event(p->host->ctx, &owner, TT_EVENT_WARNING, reason, text);
}

static void settle(struct local_provider *p, struct arena *a, const struct standing_change *c)
{
    bool same = c->n_ejected == c->of->n_ejected && c->failed_open == c->of->failed_open;

    for (size_t i = 0; i < c->n_have; i++) {
        const struct served_front *f = &c->of->fronts[i];
        drain_left(p->directing, a, &c->have[i], &c->want[i], &f->targets, f->serve);
    }
    say(p, c);
    if (c->of->told && !same) {
        local_look_again(p, c->of->key, 0);
    }
    if (c->drains_ms > 0) { /* else others may drain that a sync gave up */
        local_draining_note(p, c->of->key, c->drains_ms);
    }
    c->of->n_ejected = c->n_ejected;
    c->of->failed_open = c->failed_open;
    c->of->closed = c->closed;
    local_served_note(c->of);
}

bool local_health_changed(void *provider, const char *const *services, size_t n)
{
    struct local_provider *p = provider;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct standing_change *changes = ARENA_ARRAY(a, struct standing_change, n + 1);
    struct err err = ERR_INIT;
    size_t n_changes = 0;

    mutex_lock(&p->lock);
    for (size_t i = 0; i < n; i++) {
        struct served *v = local_served_get(p, a, services[i]);
        if (v != NULL && v->n > 0) {
            changes[n_changes++] = (struct standing_change){.of = v};
        }
    }
    int rc = n_changes == 0 ? ERR_OK : change_weights(p, a, changes, n_changes, &err);
    for (size_t i = 0; rc == ERR_OK && i < n_changes; i++) {
        settle(p, a, &changes[i]);
    }
    mutex_unlock(&p->lock);
    if (rc != ERR_OK) {
        const struct tt_kv values[] = {{"err", err.message}};
        p->host->log(p->host->ctx, TT_LOG_WARNING, 0, "weights are not changed yet", values,
                     ARRAY_LEN(values));
    }
    return rc == ERR_OK;
}

void local_health_find(struct lb_sync *s, const struct lb_item *item)
{
    const struct local_item *it = item->data;

    for (size_t i = 0; i < it->n_wanted; i++) {
        const struct local_wanted *w = &it->wanted[i];
        if (w->failed_open) {
            lb_finding(s, item, "FailOpen", NULL, FAIL_OPEN_TEXT);
        } else if (w->n_ejected > 0 && !w->some_open) {
            lb_finding(s, item, "NoTargets", NULL, CLOSED_TEXT);
        } else if (w->n_ejected > 0) {
            lb_finding(s, item, "TargetsEjected", NULL, EJECTED_TEXT, w->n_ejected);
        }
    }
}
