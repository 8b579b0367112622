/* SPDX-License-Identifier: Apache-2.0 */
/* health.c: weights by the health of targets, in syncs and between them.
 *
 * A sync keeps of each Service what its slots are made of: frontends, who may come, targets with the weights of policy and zone.  When
 * a check changes its mind, the director's thread makes the slots anew from that, plans the difference as a sync does, and carries it
 * out (docs/adr/0035).  A sync would plan nothing then. */
#include "providers/local/provider.h"

#include <string.h>

#include "common/base/str.h"
#include "common/lb/exec.h"
#include "common/lb/findings.h"

/* One frontend of a Service as the last sync wanted it, all targets well. */
struct served_front {
    struct local_front front; /* without slots */
    const struct local_serve *serve;
    struct local_target_set targets;
    const char **keys; /* of the check of each target; NULL: it is not checked */
};
struct served {
    struct arena *a; /* it is in it, too */
    const char *key; /* of the Service */
    struct served_front *fronts;
    size_t n;
    size_t n_ejected; /* as its owner knows it */
    bool failed_open, closed;
};

void local_served_free(void *served)
{
    arena_free(((struct served *)served)->a);
}

/* ---- weights ------------------------------------------------------------------------------------- */

static bool has_slot(const struct local_front *f, const struct local_target *t)
{
    for (unsigned i = 0; i < f->m; i++) {
        if (f->slots[i].port == t->port && ip_eq(&f->slots[i].addr, &t->addr)) {
            return true;
        }
    }
    return false;
}

/* The kernel gives slots to other targets of the frontend, and none to this one. */
static bool shown_down(const struct local_front *have, const struct local_serve *serve,
                       const struct local_target_set *t, size_t i)
{
    bool others = have != NULL && local_front_sorry_has_slot(have, serve);

    for (size_t k = 0; have != NULL && k < t->n && !others; k++) {
        others = has_slot(have, &t->items[k]);
    }
    return others && t->items[i].weight > 0 && !has_slot(have, &t->items[i]);
}

static const struct local_front *front_at(const struct local_front *fronts, size_t n,
                                          const struct local_frontend_id *id)
{
    for (size_t i = 0; i < n; i++) {
        if (local_frontend_cmp(&fronts[i].id, id) == 0) {
            return &fronts[i];
        }
    }
    return NULL;
}

/* With a sorry server that one answers in place of targets that are not well. */
static bool fails_open(const struct local_serve *serve)
{
    return serve->fail_open && serve->sorry.addr.len == 0;
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
    const struct local_front *have = front_at(x->have, x->n_have, &w->fronts[i].id);
    struct local_check_spec spec;

    for (size_t k = 0; k < t->n; k++) {
        if (local_check_spec_of(&w->serve, x->service, w->fronts[i].id.protocol, &t->items[k],
                                &spec) &&
            !local_director_health(g->p->directing, local_check_key(a, &spec), &health[k])) {
            health[k].down = g->first && shown_down(have, &w->serve, t, k);
        }
    }
    struct local_weighed r = local_check_weigh(t, health, fails_open(&w->serve));
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
        .weigher = {.weigh = weigh, .arg = g}, .p = p, .first = !map_has(p->served, item->key)};
    return &g->weigher;
}

/* ---- what is kept -------------------------------------------------------------------------------- */

static struct local_target_set copy_targets(struct arena *a, const struct local_target_set *t)
{
    struct local_target_set copy = {.items = ARENA_ARRAY(a, struct local_target, t->n + 1),
                                    .n = t->n};

    for (size_t i = 0; i < t->n; i++) { /* words of a plan that nobody reads are left out */
        copy.items[i] = (struct local_target){
            .addr = t->items[i].addr, .port = t->items[i].port, .weight = t->items[i].weight};
    }
    return copy;
}

struct checked {
    struct local_checked *items;
    size_t n;
};

static void check_target(struct checked *list, struct served_front *f, size_t k,
                         const struct local_check_spec *spec, bool down)
{
    for (size_t i = 0; i < list->n; i++) {
        if (str_eq(list->items[i].key, f->keys[k])) {
            return;
        }
    }
    list->items[list->n++] =
        (struct local_checked){.key = f->keys[k], .spec = *spec, .starts_down = down};
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

/* Targets that have slots and are to have none, because they are no targets any more, drain. */
static void drain_targets(struct local_director *d, const struct local_front *have,
                          const struct local_target_set *t, const struct local_serve *serve)
{
    if (have == NULL || have->id.protocol == LOCAL_UDP) { /* the plan ends those at once */
        return;
    }
    local_director_stays(d, &have->id, t);
    for (unsigned i = 0; i < have->m; i++) {
        const struct local_dest *to = &have->slots[i];
        if (to->addr.len != 0 && !is_target(t, to) && !ip_eq(&to->addr, &serve->sorry.addr)) {
            const struct local_connection c = {
                .id = have->id, .target = to->addr, .port = to->port};
            local_director_drain(d, &c, serve->drain_timeout_ms);
        }
    }
}

static void keep_front(struct lb_sync *s, const struct local_item *it, struct served *v,
                       const struct local_wanted *w, size_t i, struct checked *list)
{
    struct served_front *f = &v->fronts[v->n++];
    const struct local_front *from = &w->fronts[i];
    const struct local_front *have = front_at(it->have, it->n_have, &from->id);
    bool first = !map_has(((struct local_sync *)s->data)->p->served, v->key);
    struct local_serve *serve = ARENA_NEW(v->a, struct local_serve);
    struct local_check_spec spec;

    *serve = w->serve;
    serve->health.path = NULL; /* the keys have it */
    *f = (struct served_front){.front = {.id = from->id, .snat = from->snat},
                               .serve = serve,
                               .targets = copy_targets(v->a, &w->base[i]),
                               .keys = ARENA_ARRAY(v->a, const char *, w->base[i].n + 1)};
    f->front.open = arena_memdup(v->a, w->ranges, w->n_ranges * sizeof *w->ranges);
    f->front.n_open = w->n_ranges;
    drain_targets(((struct local_sync *)s->data)->p->directing, have, &f->targets, &w->serve);
    for (size_t k = 0; k < f->targets.n; k++) {
        if (local_check_spec_of(&w->serve, it->service, from->id.protocol, &f->targets.items[k],
                                &spec)) {
            f->keys[k] = local_check_key(v->a, &spec);
            check_target(list, f, k, &spec, first && shown_down(have, &w->serve, &w->base[i], k));
        }
    }
}

void local_health_forget(struct local_provider *p, const char *service)
{
    if (p->directing != NULL) {
        local_director_check(p->directing, service, NULL, 0);
        (void)map_remove(p->served, service);
    }
}

void local_health_keep(struct lb_sync *s, const struct lb_item *item)
{
    struct local_provider *p = ((struct local_sync *)s->data)->p;
    const struct local_item *it = item->data;
    size_t n_fronts = 0;
    size_t n_targets = 0;

    if (p->directing == NULL || s->planning) {
        return;
    }
    for (size_t i = 0; i < it->n_wanted; i++) {
        n_fronts += it->wanted[i].n;
        for (size_t k = 0; k < it->wanted[i].n; k++) {
            n_targets += it->wanted[i].base[k].n;
        }
    }
    if (n_targets == 0) {
        local_health_forget(p, item->key);
        return;
    }
    struct arena *a = arena_new();
    struct served *v = ARENA_NEW(a, struct served);
    struct checked list = {.items = ARENA_ARRAY(s->a, struct local_checked, n_targets)};
    *v = (struct served){.a = a,
                         .key = arena_strdup(a, item->key),
                         .fronts = ARENA_ARRAY(a, struct served_front, n_fronts)};
    for (size_t i = 0; i < it->n_wanted; i++) {
        v->n_ejected += it->wanted[i].n_ejected;
        v->failed_open = v->failed_open || it->wanted[i].failed_open;
        v->closed = v->closed || !it->wanted[i].some_open;
        for (size_t k = 0; k < it->wanted[i].n; k++) {
            keep_front(s, it, v, &it->wanted[i], k, &list);
        }
    }
    local_director_check(p->directing, v->key, list.items, list.n);
    map_set(p->served, v->key, v);
}

/* ---- between syncs ------------------------------------------------------------------------------- */

static void note_element(void *arg, const struct local_nft_element *e)
{
    local_mirror_element(arg, e, false);
}

/* Reads anew one address: its frontends of all Services, and those that this one is to have. */
static int read_address(struct local_provider *p, struct arena *a, const struct served *v,
                        const struct ip_addr *addr, struct err *err)
{
    const struct local_mirror_vip *known = local_mirror_vip(p->mirror, addr);
    size_t n = 0;
    struct local_frontend_id *ids =
        ARENA_ARRAY(a, struct local_frontend_id, (known == NULL ? 0 : known->n_fronts) + v->n + 1);
    int rc = ERR_OK;

    for (size_t i = 0; known != NULL && i < known->n_fronts; i++) {
        ids[n++] = known->fronts[i].id;
    }
    for (size_t i = 0; i < v->n; i++) {
        const struct local_frontend_id *id = &v->fronts[i].front.id;
        bool there = known != NULL && front_at(known->fronts, known->n_fronts, id) != NULL;
        if (!there && ip_eq(&id->vip, addr)) {
            ids[n++] = *id;
        }
    }
    local_mirror_forget(p->mirror, addr);
    for (size_t i = 0; rc == ERR_OK && i < n; i++) {
        rc = p->kernel->ops->nft_read(p->kernel, p->config->instance, &ids[i], note_element,
                                      p->mirror, err);
    }
    return rc;
}

/* Others may have written since the last look at the kernel. */
static int look(struct local_provider *p, struct err *err)
{
    struct local_nft_table now = {0};
    int rc = p->kernel->ops->nft_look(p->kernel, p->config->instance, &now, err);

    if (rc == ERR_OK && !(now.exists && now.ours)) {
        return err_set(err, ERR_CONFLICT, "table inet %s is gone", p->config->instance);
    }
    if (rc == ERR_OK && now.generation != p->table.generation) {
        local_mirror_doubt(p->mirror);
        p->table = now;
    }
    return rc;
}

static int read_doubtful(struct local_provider *p, struct arena *a, const struct served *v,
                         struct err *err)
{
    int rc = ERR_OK;

    for (size_t i = 0; rc == ERR_OK && i < v->n; i++) {
        const struct ip_addr *addr = &v->fronts[i].front.id.vip;
        bool first = i == 0 || !ip_eq(addr, &v->fronts[i - 1].front.id.vip);
        if (first && (!p->looked || local_mirror_is_doubtful(p->mirror, addr))) {
            rc = read_address(p, a, v, addr, err);
        }
    }
    return rc;
}

/* Without slots when it is not there. */
static struct local_front what_stands(const struct local_provider *p, struct arena *a,
                                      const struct local_frontend_id *id)
{
    const struct local_mirror_vip *v = local_mirror_vip(p->mirror, &id->vip);
    const struct local_front *f = v == NULL ? NULL : front_at(v->fronts, v->n_fronts, id);

    return f == NULL ? (struct local_front){.id = *id} : local_front_copy(a, f);
}

struct change {
    struct served *of;
    struct local_front *have;
    struct local_front *want;
    struct local_target_set *targets;
    size_t n_ejected;
    bool failed_open, closed;
};

static void want_front(struct local_provider *p, struct arena *a, const struct served_front *f,
                       struct change *c, size_t i)
{
    struct local_health *health = ARENA_ARRAY(a, struct local_health, f->targets.n + 1);

    for (size_t k = 0; k < f->targets.n; k++) {
        if (f->keys[k] != NULL) {
            (void)local_director_health(p->directing, f->keys[k], &health[k]); /* else: well */
        }
    }
    c->targets[i] = copy_targets(a, &f->targets);
    struct local_weighed r = local_check_weigh(&c->targets[i], health, fails_open(f->serve));
    c->n_ejected += r.failed_open ? 0 : r.n_down;
    c->failed_open = c->failed_open || r.failed_open;
    c->want[i] = f->front;
    const struct local_front_serving by = {
        .config = p->config, .serve = f->serve, .have = &c->have[i]};
    local_front_serve(a, &by, &c->targets[i], &c->want[i]);
    if (!local_front_has_target(&c->want[i])) {
        c->want[i].n_open = 0;
        c->closed = true;
    }
}

/* Operations of one type that follow each other come in one call, as in a wave. */
static bool run_ops(struct local_provider *p, struct arena *a, const struct lb_plan *plan)
{
    struct lb_op_run *runs = ARENA_ARRAY(a, struct lb_op_run, plan->n_ops + 1);
    struct lb_op_run **at = ARENA_ARRAY(a, struct lb_op_run *, plan->n_ops + 1);
    struct err *errs = ARENA_ARRAY(a, struct err, plan->n_ops + 1);
    bool well = true;

    for (size_t i = 0; i < plan->n_ops; i++) {
        runs[i] = (struct lb_op_run){.op = &plan->ops[i], .a = a, .provider = p, .err = &errs[i]};
        at[i] = &runs[i];
    }
    for (size_t from = 0; from < plan->n_ops;) { /* one refusal does not hold up others */
        const struct lb_op_type *type = plan->ops[from].type;
        size_t to = from + 1;
        while (type->run_many != NULL && to < plan->n_ops && plan->ops[to].type == type) {
            to++;
        }
        if (type->run_many != NULL) {
            type->run_many(at + from, to - from);
        } else {
            type->run(at[from]);
        }
        for (; from < to; from++) {
            well = well && errs[from].code == ERR_OK;
        }
    }
    return well;
}

static int prepare(struct local_provider *p, struct arena *a, struct change *c, struct err *err)
{
    struct served *v = c->of;
    int rc = read_doubtful(p, a, v, err);

    c->have = ARENA_ARRAY(a, struct local_front, v->n + 1);
    c->want = ARENA_ARRAY(a, struct local_front, v->n + 1);
    c->targets = ARENA_ARRAY(a, struct local_target_set, v->n + 1);
    for (size_t i = 0; rc == ERR_OK && i < v->n; i++) {
        c->have[i] = what_stands(p, a, &v->fronts[i].front.id);
        want_front(p, a, &v->fronts[i], c, i);
    }
    return rc;
}

/* All of them in one plan, so that one transaction changes many. */
static int change_slots(struct local_provider *p, struct arena *a, struct change *changes, size_t n,
                        struct err *err)
{
    struct local_service_state *states = ARENA_ARRAY(a, struct local_service_state, n + 1);
    struct lb_plan plan;
    int rc = look(p, err);

    for (size_t i = 0; rc == ERR_OK && i < n; i++) {
        struct change *c = &changes[i];
        rc = prepare(p, a, c, err);
        states[i] = (struct local_service_state){.key = c->of->key,
                                                 .have = c->have,
                                                 .n_have = c->of->n,
                                                 .want = c->want,
                                                 .targets = c->targets,
                                                 .n_want = c->of->n,
                                                 /* now_ms 0: what drains is a sync's to end */
                                                 .drain_timeout_ms =
                                                     c->of->fronts[0].serve->drain_timeout_ms};
    }
    if (rc != ERR_OK) {
        return rc;
    }
    lb_plan_init(&plan, a);
    local_services_plan(&plan, p->config->instance, true, states, n);
    if (!run_ops(p, a, &plan)) {
        p->looked = false;
        return err_set(err, ERR_CONFLICT, "the kernel refused other weights");
    }
    return ERR_OK;
}

/* ---- what owners are told ------------------------------------------------------------------------ */

#define EJECTED_TEXT   "%zu targets get no new connections: their health checks fail"
#define FAIL_OPEN_TEXT "health checks of all targets fail; all of them get connections (failOpen)"
#define CLOSED_TEXT    "health checks of all targets fail; nobody is served (failOpen: false)"

static void say(struct local_provider *p, const struct change *c)
{
    const struct served *v = c->of;
    struct tt_service owner = {.size = sizeof owner};
    const char *slash = strchr(v->key, '/');
    bool worse = c->n_ejected > v->n_ejected || (c->failed_open && !v->failed_open);

    if (slash == NULL || !worse) {
        return;
    }
    owner.ns = arena_strndup(v->a, v->key, (size_t)(slash - v->key));
    owner.name = slash + 1;
    const char *reason = c->failed_open ? "FailOpen" : c->closed ? "NoTargets" : "TargetsEjected";
    const char *text = c->failed_open ? FAIL_OPEN_TEXT
                       : c->closed    ? CLOSED_TEXT
                                      : arena_printf(v->a, EJECTED_TEXT, c->n_ejected);
    p->host->event(p->host->ctx, &owner, TT_EVENT_WARNING, reason, text);
}

static void settle(struct local_provider *p, const struct change *c)
{
    say(p, c);
    c->of->n_ejected = c->n_ejected;
    c->of->failed_open = c->failed_open;
    c->of->closed = c->closed;
}

bool local_health_changed(void *provider, const char *const *services, size_t n)
{
    struct local_provider *p = provider;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct change *changes = ARENA_ARRAY(a, struct change, n + 1);
    struct err err = ERR_INIT;
    size_t n_changes = 0;

    mutex_lock(&p->lock);
    for (size_t i = 0; i < n; i++) {
        struct served *v = map_get(p->served, services[i]);
        if (v != NULL) {
            changes[n_changes++] = (struct change){.of = v};
        }
    }
    p->own_turn = true;
    int rc = n_changes == 0 ? ERR_OK : change_slots(p, a, changes, n_changes, &err);
    p->own_turn = false;
    for (size_t i = 0; rc == ERR_OK && i < n_changes; i++) {
        settle(p, &changes[i]);
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
