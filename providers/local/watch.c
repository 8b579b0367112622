/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c: have others changed what is ours in the kernel?  Such changes are reported and reverted.
 *
 * The director's thread looks: at all of the table and at all holds when the kernel tells of
 * changes, and at a part of the Services each second.  A look compares what stands with what the
 * last sync of each Service wanted, by the plan of a sync; what the plan holds, others did.  A
 * Service whose last sync failed is left to its next one.  With --drift=report
 * nothing is written. */
#include "providers/local/standing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/str.h"

#define PART 256 /* Services of one plan */
#define TOLD_MAX                                                                                   \
    16 /* Services whose owners get an event of one look; the log has the number of all */
#define WORDS_MAX 5 /* things that an event names */

struct looking {
    struct local_provider *p;
    struct arena *a; /* of one part; NULL: it has not begun */
    struct served *part[PART];
    size_t n;
    size_t n_told;    /* Services that differ, in all parts */
    size_t n_refused; /* plans that could not be carried out */
    bool quiet;       /* what is missing is not others' doing */
    struct err first;
};

static void note_element(void *arg, const struct local_nft_element *e)
{
    local_mirror_element(arg, e, false);
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* The Service answers for ports of the address that no Service has: it is the first of those that
 * share it, and all of them are known and well. */
static bool answers_for(const struct local_provider *p, struct arena *a, const struct served *v,
                        const struct ip_addr *addr)
{
    const char *const *keys;
    size_t n = local_ipam_sharers(p->ipam, a, addr, &keys);

    for (size_t i = 0; i < n; i++) {
        if (!local_served_is_settled_of(p, keys[i])) {
            return false;
        }
    }
    return n > 0 && str_eq(keys[0], v->key);
}

static bool others_want(const struct local_provider *p, struct arena *a,
                        const struct local_frontend_id *id)
{
    const char *const *keys;
    size_t n = local_ipam_sharers(p->ipam, a, &id->vip, &keys);

    for (size_t i = 0; i < n; i++) {
        if (local_served_has_front(p, keys[i], id)) {
            return true;
        }
    }
    return false;
}

/* Adds the frontends that others have put at the Service's addresses. */
static void add_extras(const struct looking *l, struct standing_change *c)
{
    const struct local_provider *p = l->p;
    const struct served *v = c->of;
    size_t most = c->n_have;

    for (size_t i = 0; i < v->n_vips; i++) {
        const struct local_mirror_vip *m = local_mirror_vip(p->mirror, l->a, &v->vips[i].addr);
        most += m == NULL ? 0 : m->n_fronts;
    }
    struct local_front *have = ARENA_ARRAY(l->a, struct local_front, most + 1);
    memcpy(have, c->have, c->n_have * sizeof *have);
    c->have = have;
    for (size_t i = 0; i < v->n_vips; i++) {
        const struct local_mirror_vip *m = local_mirror_vip(p->mirror, l->a, &v->vips[i].addr);
        bool answers = m != NULL && answers_for(p, l->a, v, &v->vips[i].addr);
        for (size_t k = 0; answers && k < m->n_fronts; k++) {
            if (!others_want(p, l->a, &m->fronts[k].id)) {
                have[c->n_have++] = m->fronts[k];
            }
        }
    }
}

static bool names_a_sharer(const struct local_provider *p, struct arena *a,
                           const struct ip_addr *addr, const char *comment)
{
    const char *const *keys;
    size_t n = local_ipam_sharers(p->ipam, a, addr, &keys);

    for (size_t i = 0; i < n; i++) {
        if (str_eq(keys[i], comment)) {
            return true;
        }
    }
    return false;
}

/* An address is never let go here: another Service may have brought it since the last sync
 * of this one. */
static struct local_vip_pair pair_of(const struct looking *l, const struct local_vip *want)
{
    const struct local_provider *p = l->p;
    const struct local_mirror_vip *m = local_mirror_vip(p->mirror, l->a, &want->addr);
    struct local_vip_pair v = {.want = *want, .why = "others changed it"};
    bool leased = local_leasing_shares(p, local_pool_of(p->config, &want->addr));

    v.have = m == NULL ? (struct local_vip){.addr = want->addr} : m->vip;
    v.have.comment = arena_strdup(l->a, v.have.comment);
    if (v.have.guarded && names_a_sharer(p, l->a, &want->addr, v.have.comment)) {
        v.want.comment = v.have.comment;
    }
    if (v.have.held || leased) { /* what is shared the director's thread holds again (hold.c) */
        v.want.held = v.have.held;
        v.want.held_on = v.have.held_on;
        v.have.twice = false; /* a sync knows which of the two is to stay */
    }
    v.want.exported = v.want.exported || v.have.exported;
    v.want.announced = v.have.announced;
    return v;
}

static struct local_service_state state_of(const struct looking *l, struct served *v)
{
    struct standing_change c = {.of = v};
    struct local_vip_pair *vips = ARENA_ARRAY(l->a, struct local_vip_pair, v->n_vips + 1);

    local_standing_compare(l->p, l->a, &c);
    add_extras(l, &c);
    for (size_t i = 0; i < v->n_vips; i++) {
        vips[i] = pair_of(l, &v->vips[i]);
    }
    struct local_service_state st = local_standing_state(&c);
    st.vips = vips;
    st.n_vips = v->n_vips;
    return st;
}

/* ---- telling --------------------------------------------------------------------------------- */

static bool repairs(const struct local_provider *p)
{
    return p->drift != TT_DRIFT_REPORT;
}

static const char *text_of(const struct looking *l, const struct lb_plan *plan, const char *key)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    size_t n = 0;

    for (size_t i = 0; i < plan->n_ops; i++) {
        const struct lb_op *op = &plan->ops[i];
        if (str_set_has(&op->owners, key) && n++ < WORDS_MAX) {
            str_appendf(&b, "%s%s %s %s", n > 1 ? "; " : "", op->kind, op->name,
                        op->verb == LB_CREATE   ? "is missing"
                        : op->verb == LB_DELETE ? "should not be there"
                                                : "differs");
        }
    }
    if (n > WORDS_MAX) {
        str_appendf(&b, "; and %zu more", n - WORDS_MAX);
    }
    return n == 0 ? NULL : str_buf_to_arena(&b, l->a);
}

static void tell_owner(const struct looking *l, const char *key, const char *text, bool right)
{
    const struct tt_host *host = l->p->host;
    const char *what = arena_printf(l->a, "others changed this machine's kernel: %s; %s", text,
                                    right ? "it is put right" : "left as it is (--drift=report)");
    struct tt_service owner = {.size = sizeof owner};
    const struct tt_kv of[] = {{"service", key}, {"what", text}};
    const char *slash = strchr(key, '/');

    host->log(host->ctx, TT_LOG_WARNING, 0, "others changed the kernel", of, ARRAY_LEN(of));
    if (slash != NULL) {
        owner.ns = arena_strndup(l->a, key, (size_t)(slash - key));
        owner.name = slash + 1;
        host->event(host->ctx, &owner, TT_EVENT_WARNING, "LoadBalancerDrift", what);
    }
}

static const char *often(const struct looking *l, const char *text, unsigned times)
{
    return arena_printf(l->a,
                        "%s, %u times within a minute: a program on this machine works against "
                        "trimtab (`nft monitor` and `ip monitor` show what it does)",
                        text, times);
}

/* True when the Service differs. */
static bool tell(struct looking *l, const struct lb_plan *plan, const char *key)
{
    struct local_provider *p = l->p;
    const char *text = text_of(l, plan, key);
    unsigned times = 0;

    if (text == NULL) {
        local_told_right(p, key);
        return false;
    }
    if (!local_told_is_new(p, key, text, &times)) {
        return false;
    }
    if (times > 0 && l->n_told++ < TOLD_MAX) {
        tell_owner(l, key, times == 1 ? text : often(l, text, times), repairs(p));
    }
    return true;
}

static void count(const struct looking *l, const struct lb_plan *plan)
{
    const struct tt_host *host = l->p->host;

    for (size_t i = 0; i < plan->n_ops; i++) {
        const struct tt_kv kind = {"kind", plan->ops[i].kind};
        host->metric_add(host->ctx, "local_drift_total", &kind, 1, 1);
    }
}

/* ---- putting right --------------------------------------------------------------------------- */

static void put_right(struct looking *l, const struct local_service_state *states,
                      const struct lb_plan *plan)
{
    struct local_provider *p = l->p;
    struct err err = ERR_INIT;
    bool looked = p->looked;

    if (!local_standing_run(p, l->a, plan, false, &err)) {
        err_copy(&l->first, &err);
        l->n_refused++;
        p->looked = p->looked && err.code != ERR_CONFLICT;
        return;
    }
    for (size_t i = 0; i < l->n; i++) {
        local_told_right(p, l->part[i]->key);
        struct local_service_state now = states[i];
        now.now_ms = clock_now_ms(p->clock);
        int64_t drains_ms = local_ipvs_again_ms(&now);
        if (drains_ms > 0) {
            local_draining_note(p, now.key, drains_ms);
        }
    }
    struct local_nft_table now = {0};
    if (p->kernel->ops->nft_look(p->kernel, p->config->instance, &now, &err) == ERR_OK) {
        p->table = now; /* the mirror has what was written */
        p->looked = looked;
    }
}

static void look_at_part(struct looking *l)
{
    struct local_service_state *states;
    struct lb_plan plan;
    bool some = false;

    states = ARENA_ARRAY(l->a, struct local_service_state, l->n + 1);
    for (size_t i = 0; i < l->n; i++) {
        states[i] = state_of(l, l->part[i]);
    }
    lb_plan_init(&plan, l->a);
    local_services_plan(&plan, l->p->config->instance, local_table_is(l->p), states, l->n);
    for (size_t i = 0; i < l->n && !l->quiet; i++) {
        some = tell(l, &plan, l->part[i]->key) || some;
    }
    if (some) {
        count(l, &plan);
    }
    if (plan.n_ops > 0 && repairs(l->p)) {
        put_right(l, states, &plan);
    }
    arena_free(l->a);
    l->a = NULL;
    l->n = 0;
}

static struct arena *arena_of_part(struct looking *l)
{
    l->a = l->a == NULL ? arena_new() : l->a;
    return l->a;
}

/* `v` is opened in the part's arena. */
static void add_service(struct looking *l, struct served *v)
{
    l->part[l->n++] = v;
    if (l->n == PART) {
        look_at_part(l);
    }
}

static bool end_look(struct looking *l)
{
    const struct tt_host *host = l->p->host;

    if (l->n > 0) {
        look_at_part(l);
    }
    arena_free(l->a);
    l->a = NULL;
    if (l->n_told > TOLD_MAX) {
        char n[24];
        const struct tt_kv of = {"services", n};
        (void)snprintf(n, sizeof n, "%zu", l->n_told);
        host->log(host->ctx, TT_LOG_WARNING, 0, "others changed the kernel for many Services", &of,
                  1);
    }
    if (l->n_refused > 0) {
        const struct tt_kv of = {"err", l->first.message};
        host->log(host->ctx, TT_LOG_WARNING, 0, "changes by other programs are not reverted yet",
                  &of, 1);
    }
    return l->n_refused == 0;
}

/* ---- looks ----------------------------------------------------------------------------------- */

static bool say_unread(const struct local_provider *p, const struct err *err)
{
    const struct tt_kv of = {"err", err->message};

    p->host->log(p->host->ctx, TT_LOG_WARNING, 0, "a look at the kernel failed", &of, 1);
    return false;
}

struct all {
    struct looking *l;
    struct err *err;
    int rc;
};

static bool add_one(struct local_provider *p, struct served_kept *k, void *arg)
{
    struct all *all = arg;

    if (all->rc == ERR_OK && local_served_is_settled(k)) {
        struct served *v = local_served_open(arena_of_part(all->l), k);
        if (p->dests_unread) {
            all->rc = local_standing_read(p, all->l->a, v, false, all->err);
        }
        if (all->rc == ERR_OK) {
            add_service(all->l, v);
        }
    }
    return all->rc == ERR_OK;
}

/* The table's state; then all of it when the mirror may be wrong. */
static int look_first(struct looking *l, struct arena *a, struct err *err)
{
    struct local_provider *p = l->p;
    struct local_nft_table now = {0};
    struct local_link_addr *addrs = NULL;
    size_t n_addrs = 0;
    int rc = p->kernel->ops->nft_look(p->kernel, p->config->instance, &now, err);

    if (rc == ERR_OK && now.exists && !now.ours) {
        rc = local_table_is_foreign(p, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    if (now.exists != p->table.exists) {
        p->looked = false;
    } else if (now.generation != p->table.generation) {
        local_mirror_doubt(p->mirror);
    }
    p->table = now;
    if (!p->looked) {
        rc = p->kernel->ops->addrs(p->kernel, a, &addrs, &n_addrs, err);
        rc = rc == ERR_OK ? local_read_all(p, a, addrs, n_addrs, err) : rc;
    }
    return rc;
}

static int read_table(struct looking *l, struct arena *a, struct err *err)
{
    struct local_provider *p = l->p;
    int rc = look_first(l, a, err);

    if (rc == ERR_OK && p->table.exists) {
        local_mirror_forget_table(p->mirror);
        rc = p->kernel->ops->nft_list(p->kernel, p->config->instance, note_element, p->mirror, err);
        p->looked = p->looked && rc == ERR_OK;
    }
    return rc == ERR_OK ? local_table_check(p, err) : rc;
}

struct losing {
    struct looking *l;
    struct arena *a;
    const struct local_link_addr *addrs;
    size_t n_addrs;
    struct local_offered *lost;
    size_t n_lost;
};

static void find_lost(void *arg, const struct local_offered *o)
{
    struct losing *x = arg;

    for (size_t i = 0; i < x->n_addrs; i++) {
        if (x->addrs[i].link == o->link && ip_eq(&x->addrs[i].net.addr, &o->addr)) {
            return;
        }
    }
    struct local_offered *more = ARENA_ARRAY(x->a, struct local_offered, x->n_lost + 1);
    if (x->n_lost > 0) {
        memcpy(more, x->lost, x->n_lost * sizeof *more);
    }
    x->lost = more;
    x->lost[x->n_lost++] = *o;
}

/* The director's thread manages held addresses, and no plan corrects them. */
static void look_for_lost(struct losing *x)
{
    struct local_provider *p = x->l->p;
    const struct tt_kv kind = {"kind", "hold"};
    char text[IP_TEXT_MAX];

    if (p->leasing == NULL || p->directing == NULL) {
        return;
    }
    local_director_offered(p->directing, find_lost, x);
    for (size_t i = 0; i < x->n_lost; i++) {
        const char *const *keys;
        const struct ip_addr *addr = &x->lost[i].addr;
        if (!x->lost[i].held || !local_director_lost(p->directing, addr, x->lost[i].link)) {
            continue;
        }
        p->host->metric_add(p->host->ctx, "local_drift_total", &kind, 1, 1);
        ip_format(addr, text);
        if (local_ipam_sharers(p->ipam, x->a, addr, &keys) > 0 && x->l->n_told++ < TOLD_MAX) {
            (void)arena_of_part(x->l);
            tell_owner(x->l, keys[0], arena_printf(x->a, "hold %s is missing", text), true);
        }
    }
}

static int read_holds(struct looking *l, struct arena *a, struct err *err)
{
    struct local_provider *p = l->p;
    struct local_link_addr *addrs = NULL;
    size_t n_addrs = 0;
    int rc = look_first(l, a, err);

    if (rc == ERR_OK) {
        rc = p->kernel->ops->addrs(p->kernel, a, &addrs, &n_addrs, err);
    }
    if (rc == ERR_OK) {
        struct losing x = {.l = l, .a = a, .addrs = addrs, .n_addrs = n_addrs};
        look_for_lost(&x);
        local_subnets_look(p, addrs, n_addrs);
        rc = local_read_holds(p, a, addrs, n_addrs, err);
    }
    /* Virtual services that others added; their destinations are read with the Services. */
    return rc == ERR_OK ? local_ipvs_list(p, a, err) : rc;
}

static bool look_at_all(struct local_provider *p,
                        int (*read)(struct looking *l, struct arena *a, struct err *err))
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct looking l = {.p = p};
    struct err err = ERR_INIT;

    if (p->served.n == 0 && !p->listed) {
        return true; /* the first sync reads everything */
    }
    int rc = read(&l, a, &err);
    struct all all = {&l, &err, rc};
    local_served_each(p, add_one, &all);
    if (all.rc != ERR_OK) {
        arena_free(l.a);
        return say_unread(p, &err);
    }
    p->dests_unread = false;
    return end_look(&l);
}

/* ---- the round ------------------------------------------------------------------------------- */

static void begin_round(struct local_provider *p)
{
    local_round_done(p);
    p->round.keys = local_served_keys(p, &p->round.n);
}

void local_round_done(struct local_provider *p)
{
    struct local_round *r = &p->round;

    for (size_t i = 0; i < r->n; i++) {
        intern_drop(p->texts, r->keys[i]);
    }
    free(r->keys);
    *r = (struct local_round){0};
}

/* So many of them each time that all are seen in LOCAL_ROUND_PARTS times. */
static bool look_at_some(struct local_provider *p)
{
    struct looking l = {.p = p};
    struct err err = ERR_INIT;
    struct local_round *r = &p->round;
    _cleanup_(arena_freep) struct arena *a = arena_new();

    if (r->part == 0) {
        begin_round(p);
    }
    size_t from = r->n * r->part / LOCAL_ROUND_PARTS;
    size_t to = r->n * (r->part + 1) / LOCAL_ROUND_PARTS;
    if (from < to && look_first(&l, a, &err) != ERR_OK) {
        return say_unread(p, &err); /* the same part comes again */
    }
    for (size_t i = from; i < to; i++) {
        struct served_kept *k = index_get(&p->served, r->keys[i]);
        if (k == NULL || !local_served_is_settled(k)) {
            continue;
        }
        struct served *v = local_served_open(arena_of_part(&l), k);
        if (local_standing_read(p, l.a, v, true, &err) != ERR_OK) {
            arena_free(l.a);
            return say_unread(p, &err);
        }
        add_service(&l, v);
    }
    r->part = (r->part + 1) % LOCAL_ROUND_PARTS;
    return end_look(&l);
}

static bool nobodys_go(struct local_provider *p)
{
    struct err err = ERR_INIT;
    const struct tt_kv of = {"err", err.message};
    bool well = local_nobodys_go(p, &err) == ERR_OK;

    if (!well) {
        p->host->log(p->host->ctx, TT_LOG_WARNING, 0,
                     "addresses that no Service has are still there", &of, 1);
    }
    return well;
}

bool local_watch_look(void *provider, enum local_look what)
{
    struct local_provider *p = provider;
    bool well = true;

    mutex_lock(&p->lock);
    switch (what) {
    case LOCAL_LOOK_TABLE:
        well = look_at_all(p, read_table);
        break;
    case LOCAL_LOOK_HOLDS:
        well = look_at_all(p, read_holds);
        break;
    case LOCAL_LOOK_ROUND:
        local_draining_turn(p);
        well = look_at_some(p) && nobodys_go(p);
        break;
    case LOCAL_LOOK_MACHINE:
        local_machine_look(p);
        break;
    case LOCAL_LOOK_FIGURES:
        local_figures_set(p);
        break;
    case LOCAL_LOOKS:
        break;
    }
    mutex_unlock(&p->lock);
    return well;
}

/* ---- addresses that others gave up ----------------------------------------------------------- */

struct finding {
    struct looking *l;
    const struct ip_addr *addr;
};

static bool add_if_at(struct local_provider *p, struct served_kept *k, void *arg)
{
    const struct finding *f = arg;
    struct err ignored = ERR_INIT; /* what is not read makes a refusal */

    if (local_served_is_at(k, f->addr)) {
        struct served *v = local_served_open(arena_of_part(f->l), k);
        (void)local_standing_read(p, f->l->a, v, true, &ignored);
        add_service(f->l, v);
    }
    return true;
}

/* The Service whose sync failed for it gets the address now; its status follows with
 * its next sync. */
void local_watch_freed(void *provider, const struct ip_addr *addr)
{
    struct local_provider *p = provider;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct looking l = {.p = p, .quiet = true};
    struct finding f = {&l, addr};
    struct err err = ERR_INIT;
    char text[IP_TEXT_MAX];

    ip_format(addr, text);
    mutex_lock(&p->lock);
    if (map_remove(p->taken, text)) {
        if (look_first(&l, a, &err) != ERR_OK) {
            (void)say_unread(p, &err); /* its next sync is not far */
        } else {
            local_served_each(p, add_if_at, &f);
            (void)end_look(&l); /* the same */
        }
    }
    mutex_unlock(&p->lock);
}
