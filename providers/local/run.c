/* SPDX-License-Identifier: Apache-2.0 */
/* run.c: how operations of a plan are carried out: elements of nftables, holds, announcements,
 * connections.
 *
 * All operations of a type that are ready together come in one call.  Elements go in transactions
 * of about LOCAL_NFT_BATCH; when the kernel refuses one, halves are tried, so that each operation
 * has its own end.  Before each request to write the host is asked whether this replica
 * may still write. */
#include "providers/local/plan/deeds.h"
#include "providers/local/provider.h"

#include "common/base/str.h"
#include "common/lb/exec.h"

bool local_may_write(struct lb_op_run *run)
{
    struct local_provider *p = run->provider;

    if (p->own_turn || p->host->may_mutate(p->host->ctx, p->call) != 0) {
        return true;
    }
    (void)err_set(run->err, ERR_CANCELLED, "writing is not allowed now");
    return false;
}

/* ---- elements -------------------------------------------------------------------------------- */

static const struct local_nft_deed *deed_of(const struct lb_op_run *run)
{
    return run->op->arg;
}

static int commit(struct lb_op_run *const *runs, size_t n, struct err *err)
{
    struct local_provider *p = runs[0]->provider;
    size_t n_changes = 0;

    if (!local_may_write(runs[0])) {
        return err_set(err, ERR_CANCELLED, "%s", runs[0]->err->message);
    }

    for (size_t i = 0; i < n; i++) {
        n_changes += deed_of(runs[i])->n;
    }
    struct local_nft_change *changes =
        ARENA_ARRAY(runs[0]->a, struct local_nft_change, n_changes + 1);
    n_changes = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < deed_of(runs[i])->n; k++) {
            changes[n_changes++] = deed_of(runs[i])->changes[k];
        }
    }
    return p->kernel->ops->nft_commit(p->kernel, p->config->instance, changes, n_changes, err);
}

static void note_done(struct lb_op_run *run)
{
    struct local_provider *p = run->provider;
    const struct local_nft_deed *deed = deed_of(run);

    for (int adds = 0; adds < 2; adds++) { /* deletes first, as in the transaction */
        for (size_t i = 0; i < deed->n; i++) {
            if (deed->changes[i].del == (adds == 0)) {
                local_mirror_element(p->mirror, &deed->changes[i].e, deed->changes[i].del);
            }
        }
    }
}

/* Of one transaction.  What is wrong with one operation must not hold up the others; a common
 * failure is reported to each. */
static void run_transaction(struct lb_op_run *const *runs, size_t n)
{
    struct local_provider *p = runs[0]->provider;
    struct err err = ERR_INIT;
    int rc = commit(runs, n, &err);
    bool for_all = rc == ERR_AUTH || rc == ERR_TRANSIENT || rc == ERR_CANCELLED;

    if (rc == ERR_OK) {
        for (size_t i = 0; i < n; i++) {
            note_done(runs[i]);
        }
        p->table.generation++;
        return;
    }
    p->looked = p->looked && rc != ERR_TRANSIENT; /* unknown what was done */
    if (n > 1 && !for_all) {
        run_transaction(runs, n / 2);
        run_transaction(runs + n / 2, n - n / 2);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        err_copy(runs[i]->err, &err);
    }
}

/* Once for all of a wave.  Where the kernel does not help, the change goes on as it would
 * without. */
static void settle(struct lb_op_run *const *runs, size_t n)
{
    struct local_provider *p = runs[0]->provider;
    struct err err = ERR_INIT;
    bool wait = false;

    for (size_t i = 0; i < n; i++) {
        wait = wait || deed_of(runs[i])->settles;
    }
    int rc = wait ? p->kernel->ops->settle(p->kernel, &err) : ERR_OK;
    if (rc != ERR_OK && p->settle_told != rc) {
        p->host->log(p->host->ctx, TT_LOG_WARNING, 0, err.message, NULL, 0);
        p->settle_told = rc;
    }
}

static void run_nft(struct lb_op_run *const *runs, size_t n)
{
    size_t from = 0;

    settle(runs, n);
    while (from < n) {
        size_t to = from;
        size_t elements = 0;
        while (to < n && (to == from || elements + deed_of(runs[to])->n <= LOCAL_NFT_BATCH)) {
            elements += deed_of(runs[to++])->n;
        }
        run_transaction(runs + from, to - from);
        from = to;
    }
}

const struct lb_op_type local_nft_type = {.name = "nft", .run_many = run_nft};

/* ---- the table ------------------------------------------------------------------------------- */

static struct local_nft_table_args table_args(const struct local_provider *p)
{
    return (struct local_nft_table_args){
        .instance = p->config->instance,
        .director = p->director,
        .closed_ports_drop = p->config->director.closed_ports_drop,
        .mark_bit = p->config->director.mark_bit,
        .routes = {.protocol = p->config->director.route_protocol,
                   .table = p->config->director.route_table},
    };
}

enum local_table_is local_table_is(const struct local_provider *p)
{
    return !p->table.exists                                          ? LOCAL_TABLE_ABSENT
           : p->table_changed && p->table.layout != LOCAL_NFT_LAYOUT ? LOCAL_TABLE_OLD
           : p->table_changed                                        ? LOCAL_TABLE_CHANGED
                                                                     : LOCAL_TABLE_WHOLE;
}

int local_table_is_foreign(const struct local_provider *p, struct err *err)
{
    return err_set(err, ERR_INVALID,
                   "table inet %s exists and is not ours; choose another instance",
                   p->config->instance);
}

int local_table_check(struct local_provider *p, struct err *err)
{
    const struct local_nft_table_args args = table_args(p);
    bool whole = true;
    int rc = ERR_OK;

    if (p->table.exists) {
        rc = p->kernel->ops->nft_check(p->kernel, &args, &whole, &p->routes_were, err);
    }
    if (rc == ERR_OK) {
        p->table_changed = !whole;
    }
    return rc;
}

/* Until the table says otherwise they are found again after a start that did not come
 * to its end. */
int local_routes_adopt(struct local_provider *p, bool *ret_some, struct err *err)
{
    const struct local_rt_args *old = &p->routes_were;
    const struct local_rt_args now = table_args(p).routes;

    *ret_some = p->table.exists && old->protocol != 0 &&
                (old->protocol != now.protocol || old->table != now.table);
    if (!*ret_some) {
        return ERR_OK;
    }
    int rc = p->kernel->ops->routes_adopt(p->kernel, old, err);
    if (rc == ERR_OK) {
        p->routes_were = now;
    }
    return rc;
}

/* One that is there is recreated with all that the mirror has of it. */
static void run_table(struct lb_op_run *run)
{
    struct local_provider *p = run->provider;
    const struct local_nft_table_args args = table_args(p);
    struct local_nft_change *adds = NULL;
    size_t n = 0;

    if (!local_may_write(run)) {
        return;
    }
    if (p->table.exists) {
        local_mirror_elements(p->mirror, run->a, &adds, &n);
        (void)p->kernel->ops->nft_remake(p->kernel, &args, adds, n, run->err);
    } else {
        (void)p->kernel->ops->nft_make(p->kernel, &args, run->err);
    }
    if (run->err->code != ERR_OK) {
        return;
    }
    p->table.exists = p->table.ours = true;
    p->table_changed = false;
    p->looked = false; /* its generation is read with the next look */
}

const struct lb_op_type local_table_type = {.name = "table", .run = run_table};

/* ---- holds ----------------------------------------------------------------------------------- */

static void settle_hold(struct lb_op_run *run, int rc, const struct err *err)
{
    struct local_provider *p = run->provider;
    const struct local_hold_deed *d = run->op->arg;

    if (rc == ERR_OK) {
        local_mirror_hold(p->mirror, &d->addr, d->kind, d->link, d->del);
        bool held = local_mirror_is_held(p->mirror, &d->addr);
        if (d->del && d->kind == LOCAL_ROUTE_HOLD && !held) {
            local_directing_withdraw(p, &d->addr);
        } else if (!d->del && d->kind == LOCAL_ROUTE_HOLD) {
            local_taken_free(p, &d->addr);
            local_directing_again(p, &d->addr);
        }
    } else {
        (void)err_set(run->err, rc, "%s", err->message);
        if (rc == ERR_IN_USE && !d->del) {
            local_taken_note(p, &d->addr, run->err);
        }
    }
}

/* Whether and for how long it is held is the director's thread's. */
static int offer(struct local_provider *p, const struct local_hold_deed *d, struct err *err)
{
    if (d->del) {
        return local_director_take_back(p->directing, &d->addr, d->link, err);
    }
    local_leasing_offer(p, &d->addr, d->link);
    return ERR_OK;
}

static void hold_on_link(struct lb_op_run *run)
{
    struct local_provider *p = run->provider;
    const struct local_hold_deed *d = run->op->arg;
    struct err err = ERR_INIT;
    bool shared = local_leasing_shares(p, local_pool_of(p->config, &d->addr));
    int rc = shared   ? offer(p, d, &err)
             : d->del ? p->kernel->ops->addr_del(p->kernel, d->link, &d->addr, &err)
                      : p->kernel->ops->addr_set(p->kernel, d->link, &d->addr, -1, &err);

    settle_hold(run, rc, &err);
}

/* Routes that come, or routes that go; all of them in one buffer of requests. */
static void change_routes(struct lb_op_run *const *runs, size_t n, bool del)
{
    struct local_provider *p = runs[0]->provider;
    struct local_route *routes = ARENA_ARRAY(runs[0]->a, struct local_route, n);
    struct lb_op_run **which = ARENA_ARRAY(runs[0]->a, struct lb_op_run *, n);
    int *codes = ARENA_ARRAY(runs[0]->a, int, n);
    struct err err = ERR_INIT;
    size_t n_routes = 0;

    for (size_t i = 0; i < n; i++) {
        const struct local_hold_deed *d = runs[i]->op->arg;
        if (d->link == 0 && d->del == del) {
            which[n_routes] = runs[i];
            routes[n_routes++] = (struct local_route){.kind = d->kind, .addr = d->addr};
        }
    }
    if (n_routes > 0) {
        (void)p->kernel->ops->routes_change(p->kernel, del, routes, n_routes, codes, &err);
        for (size_t i = 0; i < n_routes; i++) {
            settle_hold(which[i], codes[i], &err);
        }
    }
}

static void run_hold(struct lb_op_run *const *runs, size_t n)
{
    if (!local_may_write(runs[0])) {
        for (size_t i = 1; i < n; i++) {
            err_copy(runs[i]->err, runs[0]->err);
        }
        return;
    }
    change_routes(runs, n, false);
    change_routes(runs, n, true);
    for (size_t i = 0; i < n; i++) {
        if (((const struct local_hold_deed *)runs[i]->op->arg)->link != 0) {
            hold_on_link(runs[i]);
        }
    }
}

const struct lb_op_type local_hold_type = {.name = "hold", .run_many = run_hold};

/* ---- announcements --------------------------------------------------------------------------- */

static void run_announce(struct lb_op_run *run)
{
    struct local_provider *p = run->provider;
    const struct local_announce_deed *d = run->op->arg;

    if (!local_directing_announce(p, d)) { /* no thread: once, now */
        for (size_t i = 0; i < d->n_links && run->err->code == ERR_OK; i++) {
            (void)p->kernel->ops->announce(p->kernel, d->links[i], &d->addr, 1, run->err);
        }
    }
    if (run->err->code == ERR_OK) {
        local_mirror_announced(p->mirror, &d->addr, true);
    }
}

const struct lb_op_type local_announce_type = {
    .name = "announce", .run = run_announce, .again = true};

/* ---- connections ----------------------------------------------------------------------------- */

/* All of a wave in one request: the kernel walks its whole table for each. */
static void run_connections(struct lb_op_run *const *runs, size_t n)
{
    struct local_provider *p = runs[0]->provider;
    size_t n_gone = 0;
    unsigned ended = 0;

    for (size_t i = 0; i < n; i++) {
        n_gone += ((const struct local_connections_deed *)runs[i]->op->arg)->n_gone;
    }
    struct local_connection *gone = ARENA_ARRAY(runs[0]->a, struct local_connection, n_gone + 1);
    n_gone = 0;
    for (size_t i = 0; i < n; i++) {
        const struct local_connections_deed *d = runs[i]->op->arg;
        for (size_t k = 0; k < d->n_gone && !d->all; k++) {
            gone[n_gone++] = (struct local_connection){d->id, d->gone[k].addr, d->gone[k].port};
        }
        if (d->all) {
            gone[n_gone++] = (struct local_connection){.id = d->id};
        }
    }
    if (local_may_write(runs[0])) {
        int rc = p->kernel->ops->connections_delete(p->kernel, gone, n_gone, &ended, runs[0]->err);
        local_lacks_ctnetlink(p, rc == ERR_INVALID);
        if (rc == ERR_INVALID) { /* a Service must not stay for that */
            *runs[0]->err = ERR_INIT;
        }
    }
    for (size_t i = 1; i < n && runs[0]->err->code != ERR_OK; i++) {
        err_copy(runs[i]->err, runs[0]->err);
    }
}

const struct lb_op_type local_connections_type = {.name = "connections",
                                                  .run_many = run_connections};
