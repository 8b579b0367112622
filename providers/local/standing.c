/* SPDX-License-Identifier: Apache-2.0 */
/* standing.c: how the director's thread compares what stands with what the last sync wanted, and
 * changes it (standing.h).
 *
 * What it reads goes into the mirror, as in a sync, so that the next sync finds nothing to do. */
#include "providers/local/standing.h"

#include <string.h>

#include "common/lb/exec.h"

bool local_standing_fails_open(const struct local_serve *serve)
{
    return serve->fail_open && serve->sorry.addr.len == 0;
}

const struct local_front *local_standing_front(const struct local_front *fronts, size_t n,
                                               const struct local_frontend_id *id)
{
    for (size_t i = 0; i < n; i++) {
        if (local_frontend_cmp(&fronts[i].id, id) == 0) {
            return &fronts[i];
        }
    }
    return NULL;
}

struct local_target_set local_standing_targets(struct arena *a, const struct local_target_set *t)
{
    struct local_target_set copy = {.items = ARENA_ARRAY(a, struct local_target, t->n + 1),
                                    .n = t->n};

    for (size_t i = 0; i < t->n; i++) { /* words for plans are left out */
        copy.items[i] = (struct local_target){.addr = t->items[i].addr,
                                              .port = t->items[i].port,
                                              .weight = t->items[i].weight,
                                              .spare = t->items[i].spare};
    }
    return copy;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void note_element(void *arg, const struct local_nft_element *e)
{
    local_mirror_element(arg, e, false);
}

/* Reads again one address: its frontends of all Services, and those that this one is to have; one
 * at least, for the guard. */
static int read_address(struct local_provider *p, struct arena *a, const struct served *v,
                        const struct ip_addr *addr, struct err *err)
{
    const struct local_mirror_vip *known = local_mirror_vip(p->mirror, a, addr);
    size_t n = 0;
    struct local_frontend_id *ids =
        ARENA_ARRAY(a, struct local_frontend_id, (known == NULL ? 0 : known->n_fronts) + v->n + 1);
    int rc = ERR_OK;

    for (size_t i = 0; known != NULL && i < known->n_fronts; i++) {
        ids[n++] = known->fronts[i].id;
    }
    for (size_t i = 0; i < v->n; i++) {
        const struct local_frontend_id *id = &v->fronts[i].front.id;
        bool there =
            known != NULL && local_standing_front(known->fronts, known->n_fronts, id) != NULL;
        if (!there && ip_eq(&id->vip, addr)) {
            ids[n++] = *id;
        }
    }
    if (n == 0) {
        ids[n++] = (struct local_frontend_id){.vip = *addr, .protocol = LOCAL_TCP, .port = 1};
    }
    local_mirror_forget(p->mirror, addr);
    for (size_t i = 0; rc == ERR_OK && i < n; i++) {
        rc = p->kernel->ops->nft_read(p->kernel, p->config->instance, &ids[i], note_element,
                                      p->mirror, err);
    }
    return rc;
}

int local_standing_look(struct local_provider *p, struct err *err)
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

/* IPVS sends no events: a change that starts from an old state would be refused.  A frontend that
 * was IPVS' before may have destinations that drain. */
int local_standing_read_ipvs(struct local_provider *p, struct arena *a, const struct served *v,
                             struct err *err)
{
    int rc = ERR_OK;

    for (size_t i = 0; rc == ERR_OK && i < v->n; i++) {
        const struct local_frontend_id *id = &v->fronts[i].front.id;
        struct local_ipvs_list l = {.service = {.id = *id}};
        if (local_mode_is_ipvs(v->fronts[i].serve->mode) ||
            local_mirror_front(p->mirror, a, id).ipvs.served) {
            rc = p->kernel->ops->ipvs_read(p->kernel, a, &l, err);
            if (rc == ERR_OK) {
                local_mirror_ipvs(p->mirror, &l, clock_now_ms(p->clock));
            }
        }
    }
    return rc;
}

int local_standing_read(struct local_provider *p, struct arena *a, const struct served *v, bool all,
                        struct err *err)
{
    int rc = ERR_OK;

    for (size_t i = 0; p->table.exists && rc == ERR_OK && i < v->n_vips; i++) {
        const struct ip_addr *addr = &v->vips[i].addr;
        if (all || !p->looked || local_mirror_is_doubtful(p->mirror, addr)) {
            rc = read_address(p, a, v, addr, err);
        }
    }
    return rc == ERR_OK ? local_standing_read_ipvs(p, a, v, err) : rc;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static void want_front(struct local_provider *p, struct arena *a, const struct served_front *f,
                       struct standing_change *c, size_t i)
{
    struct local_health *health = ARENA_ARRAY(a, struct local_health, f->targets.n + 1);

    for (size_t k = 0; k < f->targets.n; k++) {
        if (f->checks[k] != NULL) { /* else: well */
            health[k] = local_director_health_by(p->directing, f->checks[k]);
        }
    }
    c->targets[i] = local_standing_targets(a, &f->targets);
    struct local_weighed r =
        local_check_weigh(&c->targets[i], health, local_standing_fails_open(f->serve));
    c->n_ejected += r.failed_open ? 0 : r.n_down;
    c->failed_open = c->failed_open || r.failed_open;
    c->want[i] = f->front;
    const struct local_front_serving by = {
        .config = p->config, .serve = f->serve, .have = &c->have[i]};
    local_front_serve(a, &by, &c->targets[i], &c->want[i]);
    if (!local_front_has_target(&c->want[i])) {
        local_front_let_in(&c->want[i], NULL, 0);
        c->closed = true;
    }
}

void local_standing_compare(struct local_provider *p, struct arena *a, struct standing_change *c)
{
    const struct served *v = c->of;

    c->have = ARENA_ARRAY(a, struct local_front, v->n + 1);
    c->want = ARENA_ARRAY(a, struct local_front, v->n + 1);
    c->targets = ARENA_ARRAY(a, struct local_target_set, v->n + 1);
    c->n_have = v->n;
    for (size_t i = 0; i < v->n; i++) {
        c->have[i] = local_mirror_front(p->mirror, a, &v->fronts[i].front.id);
        want_front(p, a, &v->fronts[i], c, i);
    }
}

struct local_service_state local_standing_state(const struct standing_change *c)
{
    return (struct local_service_state){
        .key = c->of->key,
        .have = c->have,
        .n_have = c->n_have,
        .want = c->want,
        .targets = c->targets,
        .n_want = c->of->n,
        /* now_ms 0: what drains is not ended here */
        .drain_timeout_ms = c->of->n == 0 ? 0 : c->of->fronts[0].serve->drain_timeout_ms};
}

/* ---- carrying out ---------------------------------------------------------------------------- */

/* Operations of one type that follow each other come in one call, as in a wave. */
bool local_standing_run(struct local_provider *p, struct arena *a, const struct lb_plan *plan,
                        bool go_on, struct err *err)
{
    struct lb_op_run *runs = ARENA_ARRAY(a, struct lb_op_run, plan->n_ops + 1);
    struct lb_op_run **at = ARENA_ARRAY(a, struct lb_op_run *, plan->n_ops + 1);
    struct err *errs = ARENA_ARRAY(a, struct err, plan->n_ops + 1);
    bool well = true;

    for (size_t i = 0; i < plan->n_ops; i++) {
        runs[i] = (struct lb_op_run){.op = &plan->ops[i], .a = a, .provider = p, .err = &errs[i]};
        at[i] = &runs[i];
    }
    p->own_turn = true;
    for (size_t from = 0; from < plan->n_ops && (well || go_on);) {
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
            if (well && errs[from].code != ERR_OK) {
                err_copy(err, &errs[from]);
                well = false;
            }
        }
    }
    p->own_turn = false;
    return well;
}
