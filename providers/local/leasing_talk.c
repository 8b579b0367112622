/* SPDX-License-Identifier: Apache-2.0 */
/* leasing_talk.c: the thread that writes this director's Lease and reads the others' (leasing.h).
 *
 * It writes what the holder claims, each `renew` and whenever that has changed.  What others write
 * comes by a watch (leasing_watch.c). While that is not current, or something is amiss, it lists
 * all after each write and twice a second. A write is refused by the API server when the Lease is
 * not as it was seen last: another machine of the same name shows that way. */
#include <stdlib.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/base/str.h"
#include "providers/local/leasing.h"

#define POLL_MS       500   /* between two lists */
#define LATE_MS       250   /* after a write, for the watch to show it */
#define RIVAL_SAYS_MS 60000 /* between two lines about another machine of the same name */
#define LEASE_BYTES   ((size_t)1 << 20)
#define MERGE_PATCH   "application/merge-patch+json"
#define GOODBYE_TRIES 2

static const struct tt_kube_ref collection = {
    .api_version = LOCAL_LEASE_VERSION, .resource = "leases", .ns = LOCAL_LEASE_NAMESPACE};

static int64_t now_of(const struct local_leasing *l)
{
    return clock_now_ms(l->p->clock);
}

/* ---- what others wrote ----------------------------------------------------------------------- */

struct listing {
    struct local_leasing *l;
    struct arena *a;
    struct local_lease_seen *items; /* of other directors */
    size_t n, cap;
    bool own; /* the own Lease was among them */
};

static void say_rival(struct local_leasing *l, const struct local_lease *lease)
{
    const struct tt_host *host = l->p->host;
    _cleanup_(arena_freep) struct arena *a = arena_new();

    if (l->rival_told_ms == 0 || now_of(l) - l->rival_told_ms >= RIVAL_SAYS_MS) {
        l->rival_told_ms = now_of(l);
        host->log(host->ctx, TT_LOG_ERROR, 0,
                  arena_printf(a,
                               "director \"%s\" runs on another machine (uid %s): give one of "
                               "them another name (--local-director-name)",
                               l->p->director, lease->machine),
                  NULL, 0);
    }
}

/* The own Lease, as it is.  One of another machine is a rival's until it was not written for as
 * long as a dead director's. */
void local_leasing_read_own(struct local_leasing *l, const struct local_lease *lease)
{
    bool foreign = *lease->machine != '\0' && strcmp(lease->machine, l->machine) != 0;
    const char *renewal = lease->seen.version;

    if (foreign && (l->rival_renewal == NULL || strcmp(l->rival_renewal, renewal) != 0)) {
        free(l->rival_renewal);
        l->rival_renewal = xstrdup(renewal);
        l->rival_ms = now_of(l);
    }
    if (!foreign || now_of(l) - l->rival_ms >= lease->seen.duration_ms + LOCAL_TAKE_LATER_MS) {
        l->rival_ms = 0;
    }
    if (l->rival_ms != 0) {
        say_rival(l, lease);
    }
    free(l->version);
    l->version = xstrdup(lease->version);
    mutex_lock(&l->lock);
    local_holder_drain(l->holder, lease->drain);
    local_holder_halt(l->holder, l->rival_ms != 0);
    mutex_unlock(&l->lock);
}

static void read_one(void *arg, const char *text, size_t n)
{
    struct listing *x = arg;
    struct local_leasing *l = x->l;
    struct json_object *o = NULL;
    struct local_lease lease;

    if (json_parse_arena(x->a, text, n, NULL, &o, NULL) != ERR_OK ||
        !local_lease_read(x->a, l->p->config, o, &lease)) {
        return;
    }
    if (strcmp(lease.seen.name, l->p->director) == 0) {
        x->own = true;
        local_leasing_read_own(l, &lease);
        return;
    }
    if (x->n == x->cap) {
        size_t cap = x->cap * 2 + 8;
        struct local_lease_seen *more = ARENA_ARRAY(x->a, struct local_lease_seen, cap);
        if (x->n > 0) {
            memcpy(more, x->items, x->n * sizeof *more);
        }
        x->items = more;
        x->cap = cap;
    }
    x->items[x->n++] = lease.seen;
}

static void list(struct local_leasing *l)
{
    const struct tt_host *host = l->p->host;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct listing x = {.l = l, .a = a};
    const struct tt_text_sink each = {.size = sizeof each, .put = read_one, .arg = &x};
    int64_t asked_ms = now_of(l);
    const char *label = arena_printf(a, LOCAL_LEASE_LABEL "=%s", l->p->config->instance);

    l->listed_ms = asked_ms;
    bool good = host->kube_each(host->ctx, NULL, &collection, label, &each) == TT_OK;
    if (good && !x.own) {
        free(l->version);
        l->version = xstrdup("");
    } else if (good) {
        local_leasing_watch_wrote(l);
    }
    mutex_lock(&l->lock);
    if (good) {
        local_holder_see(l->holder, x.items, x.n, asked_ms, now_of(l));
    } else {
        local_holder_failed(l->holder);
    }
    mutex_unlock(&l->lock);
    local_director_wake(l->p->directing); /* what was taken, and what is to go */
}

/* ---- writing --------------------------------------------------------------------------------- */

struct answer {
    struct local_leasing *l;
};

static void read_answer(void *arg, const char *text, size_t n)
{
    struct answer *x = arg;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct json_object *o = NULL;
    struct local_lease lease;

    if (json_parse_arena(a, text, n, NULL, &o, NULL) == ERR_OK &&
        local_lease_read(a, x->l->p->config, o, &lease)) {
        local_leasing_read_own(x->l, &lease);
    }
}

static int32_t send(struct local_leasing *l, struct arena *a, const struct local_lease_words *w)
{
    const struct tt_host *host = l->p->host;
    struct answer x = {l};
    const struct tt_text_sink sink = {.size = sizeof sink, .put = read_answer, .arg = &x};
    struct tt_kube_ref ref = collection;

    if (*l->version == '\0') {
        return host->kube_create(host->ctx, NULL, &ref, local_lease_create(a, w), &sink);
    }
    ref.name = arena_printf(a, LOCAL_LEASE_PREFIX "%s", w->director);
    return host->kube_patch(host->ctx, NULL, &ref, MERGE_PATCH, local_lease_patch(a, w, l->version),
                            &sink);
}

/* Returns whether it was written.  `ends`: the kernel has let go of everything, and
 * nothing comes any more. */
static bool write_lease(struct local_leasing *l, bool ends)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct local_config *c = l->p->config;
    struct local_bucket_set *sets = ARENA_ARRAY(a, struct local_bucket_set, local_lease_groups(c));
    struct local_lease_words w = {.config = c,
                                  .director = l->p->director,
                                  .machine = l->machine,
                                  .holds = sets,
                                  .ends = ends,
                                  .wall_us = clock_wall_us(l->p->clock)};
    int64_t sent_ms = now_of(l);

    mutex_lock(&l->lock);
    uint64_t turn = local_holder_claims(l->holder, sets);
    struct local_reach *reach = ARENA_ARRAY(a, struct local_reach, l->n_reach + 1);
    for (size_t i = 0; i < l->n_reach; i++) {
        reach[i] = (struct local_reach){l->reach[i].net, arena_strdup(a, l->reach[i].link)};
    }
    w.reach = reach;
    w.n_reach = l->n_reach;
    w.takes = local_holder_takes(l->holder);
    mutex_unlock(&l->lock);
    int32_t rc = send(l, a, &w);
    if (rc == TT_OK) {
        l->wrote_ms = now_of(l);
        local_leasing_watch_wrote(l);
    }
    mutex_lock(&l->lock);
    if (rc == TT_OK) {
        local_holder_wrote(l->holder, turn, sent_ms, l->wrote_ms);
    } else {
        local_holder_failed(l->holder);
    }
    mutex_unlock(&l->lock);
    if ((!ends || rc == TT_CONFLICT) &&
        (rc == TT_CONFLICT || rc == TT_EXISTS || rc == TT_NOT_FOUND)) {
        list(l); /* it is not as it was */
    }
    return rc == TT_OK;
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Everything is let go of in the kernel; then the others may know. */
static void say_goodbye(struct local_leasing *l)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct local_bucket_set *sets =
        ARENA_ARRAY(a, struct local_bucket_set, local_lease_groups(l->p->config));
    int64_t until_ms = clock_now_ms(clock_real()) + 1000;
    bool none = false;

    mutex_lock(&l->lock);
    while (!none && clock_now_ms(clock_real()) < until_ms) {
        (void)local_holder_claims(l->holder, sets);
        none = true;
        for (size_t g = 0; g < local_lease_groups(l->p->config); g++) {
            none = none && local_bucket_set_count(&sets[g]) == 0;
        }
        if (!none) {
            clock_wait(clock_real(), &l->changed, &l->lock, until_ms);
        }
    }
    mutex_unlock(&l->lock);
    int tries = local_holder_is_tentative(l->holder) ? 1 : GOODBYE_TRIES;
    for (int i = 0; none && i < tries && !write_lease(l, true); i++) {
    }
}

/* When a list is due; under the lock.  The watch has a moment to show what was written. */
static int64_t list_ms(struct local_leasing *l)
{
    int64_t poll_ms = l->listed_ms + POLL_MS;
    int64_t late_ms = l->view == NULL ? 0 : l->wrote_ms + LATE_MS;
    int64_t rest_ms = local_leasing_rest_ms(l);

    poll_ms = poll_ms > late_ms ? poll_ms : late_ms;
    return poll_ms > rest_ms ? poll_ms : rest_ms;
}

/* When there is something to do next; now or earlier: at once.  Under the lock. */
static int64_t next_ms(struct local_leasing *l)
{
    int64_t write_ms = l->rival_ms != 0 ? CLOCK_NEVER : local_holder_write_ms(l->holder);

    return l->news ? 0 : list_ms(l) < write_ms ? list_ms(l) : write_ms;
}

static bool is_ending(struct local_leasing *l)
{
    mutex_lock(&l->lock);
    bool ending = l->ending;
    mutex_unlock(&l->lock);
    return ending;
}

/* Each request may take its time when the API server does not answer: the end of the process waits
 * for one at most. */
static void make_turn(struct local_leasing *l)
{
    int64_t now_ms = now_of(l);

    mutex_lock(&l->lock);
    local_holder_turn(l->holder, now_ms);
    bool list_first = l->listed_ms == 0 || local_holder_is_tentative(l->holder);
    bool write = l->rival_ms == 0 && local_holder_write_ms(l->holder) <= now_ms;
    mutex_unlock(&l->lock);
    if (list_first) {
        list(l);
    }
    bool wrote = write && l->rival_ms == 0 && !is_ending(l) && write_lease(l, false);
    local_leasing_look(l);
    mutex_lock(&l->lock);
    bool due = wrote ? l->view == NULL : !list_first && !write;
    due = due && (wrote || list_ms(l) <= now_of(l)) && !l->ending;
    mutex_unlock(&l->lock);
    if (due) {
        list(l);
    }
    local_leasing_tell(l);
}

static void *talk(void *arg)
{
    struct local_leasing *l = arg;

    mutex_lock(&l->lock);
    while (!l->ending) {
        if (next_ms(l) <= now_of(l)) {
            mutex_unlock(&l->lock);
            make_turn(l);
            mutex_lock(&l->lock);
        } else {
            clock_wait(l->p->clock, &l->changed, &l->lock, next_ms(l));
        }
    }
    mutex_unlock(&l->lock);
    say_goodbye(l);
    mutex_lock(&l->lock);
    l->over = true;
    cond_broadcast(&l->changed);
    mutex_unlock(&l->lock);
    return NULL;
}

int local_leasing_talk_start(struct local_leasing *l, struct err *err)
{
    int rc = thread_start(&l->thread, talk, l, "leases", err);

    l->started = rc == ERR_OK;
    if (l->started) {
        local_leasing_watch_start(l);
    }
    return rc;
}
