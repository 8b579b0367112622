/* SPDX-License-Identifier: Apache-2.0 */
/* queue_core.c: see queue_core.h for what it promises.
 *
 * An entry exists while anything is known about its key (dirty, processing, delayed, or failures),
 * and is freed when nothing is.  Entries stand in one of: the urgent line, the background line, the
 * line of looks, a group's line; delayed ones are in a binary heap besides. */
#include "controller/queue/queue_core.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <trimtab/provider.h>

#include "common/base/arena.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "controller/queue/queue_internal.h"
#include "controller/queue/queue_rules.h"

/* ---- entries and groups ---------------------------------------------------------------------- */

static void entry_free(void *p)
{
    struct entry *e = p;

    free(e->key);
    free(e->batch_key);
    free(e);
}

static struct entry *entry_get(struct queue_core *q, const char *key)
{
    struct entry *e = map_get(q->entries, key);

    if (e == NULL) {
        e = xcalloc(1, sizeof(*e));
        e->key = xstrdup(key);
        e->delayed_ms = NEVER;
        e->changed_ms = NEVER;
        e->changed_next_ms = NEVER;
        map_set(q->entries, key, e);
    }
    return e;
}

/* Forgets an entry about which nothing is known any more. */
static void entry_release(struct queue_core *q, struct entry *e)
{
    if (!e->dirty && !e->processing && e->delayed_ms == NEVER && e->failures == 0) {
        map_remove(q->entries, e->key);
    }
}

/* "" is held as NULL: most have none. */
static void entry_set_batch_key(struct entry *e, const char *batch_key)
{
    if (!str_eq(str_nonnull(e->batch_key), str_nonnull(batch_key))) {
        free(e->batch_key);
        e->batch_key = str_is_empty(batch_key) ? NULL : xstrdup(batch_key);
    }
}

static void entry_note_change(struct entry *e, uint32_t reasons, int64_t now_ms)
{
    int64_t *first = e->processing ? &e->changed_next_ms : &e->changed_ms;

    if ((reasons & ~(TT_REASON_RESYNC | QUEUE_REASON_LOOK)) != 0 && *first == NEVER) {
        *first = now_ms;
    }
}

/* After a run: what it did not serve is still waited for. */
static void entry_settle_change(struct entry *e)
{
    bool due = e->failures > 0 || e->delays[DELAY_OTHER].reasons != 0;

    if (!due || e->changed_ms == NEVER) {
        e->changed_ms = e->changed_next_ms;
    }
    e->changed_next_ms = NEVER;
}

static struct group *group_get(struct queue_core *q, const char *key, bool looks)
{
    for (struct group *g = q->groups; g != NULL; g = g->next) {
        if (g->looks == looks && strcmp(g->key, key) == 0) {
            return g;
        }
    }
    struct group *g = xcalloc(1, sizeof(*g));
    g->key = xstrdup(key);
    g->looks = looks;
    g->next = q->groups;
    if (g->next != NULL) {
        g->next->prev = g;
    }
    q->groups = g;
    return g;
}

static void group_release(struct queue_core *q, struct group *g)
{
    if (g->processing > 0 || g->line.n > 0) {
        return;
    }
    if (g->prev != NULL) {
        g->prev->next = g->next;
    } else {
        q->groups = g->next;
    }
    if (g->next != NULL) {
        g->next->prev = g->prev;
    }
    free(g->key);
    free(g);
}

#define NODES_GROUP "" /* no batch key is empty */

static bool is_of_nodes(const struct group *g)
{
    return *g->key == '\0';
}

static int64_t group_due_ms(const struct queue_core *q, const struct group *g)
{
    int64_t idle = g->last_ms + q->limits.debounce_idle_ms;
    int64_t most = g->first_ms + q->limits.debounce_max_ms;
    bool waits = g->processing > 0 && !is_of_nodes(g); /* its keys share nothing */

    if (waits || g->line.n == 0) {
        return NEVER;
    }
    if (q->shut_down) {
        return 0;
    }
    return idle < most ? idle : most;
}

static bool is_urgent(uint32_t reasons)
{
    return (reasons & (TT_REASON_SPEC | TT_REASON_CLEANUP)) != 0;
}

static bool is_look(uint32_t reasons)
{
    return reasons == QUEUE_REASON_LOOK;
}

static struct line *line_for(struct queue_core *q, uint32_t reasons)
{
    if (is_look(reasons)) {
        return &q->looks;
    }
    return is_urgent(reasons) ? &q->urgent : &q->background;
}

/* The group in which an entry waits; NULL: it is run alone. */
static const char *group_key(const struct queue_core *q, const struct entry *e)
{
    bool follows_nodes = q->limits.nodes_together && e->reasons == TT_REASON_NODES;

    return e->batch_key != NULL ? e->batch_key : follows_nodes ? NODES_GROUP : NULL;
}

/* Queues a dirty entry that no worker processes. */
static void entry_line_up(struct queue_core *q, struct entry *e, int64_t now_ms)
{
    const char *group = group_key(q, e);

    e->queued_ms = now_ms;
    q->waiting++;
    q->n_looks += is_look(e->reasons);
    if (group == NULL) {
        queue_line_push(line_for(q, e->reasons), e);
        return;
    }
    struct group *g = group_get(q, group, is_look(e->reasons));
    if (g->line.n == 0) {
        g->first_ms = now_ms;
    }
    g->last_ms = now_ms;
    e->group = g;
    queue_line_push(&g->line, e);
}

/* ---- public ---------------------------------------------------------------------------------- */

struct queue_core *queue_core_new(const struct queue_limits *limits)
{
    struct queue_core *q = xcalloc(1, sizeof(*q));

    q->limits = *limits;
    if (q->limits.base_ms == 0) {
        q->limits.base_ms = QUEUE_RETRY_BASE_MS;
    }
    if (q->limits.max_ms == 0) {
        q->limits.max_ms = QUEUE_RETRY_MAX_MS;
    }
    if (q->limits.debounce_idle_ms == 0) {
        q->limits.debounce_idle_ms = 100;
    }
    if (q->limits.debounce_max_ms == 0) {
        q->limits.debounce_max_ms = 2000;
    }
    if (q->limits.batch_max == 0) {
        q->limits.batch_max = TT_LIST_MAX;
    }
    q->entries = map_new(entry_free);
    return q;
}

void queue_core_free(struct queue_core *q)
{
    if (q == NULL) {
        return;
    }
    while (q->groups != NULL) {
        struct group *g = q->groups;
        q->groups = g->next;
        free(g->key);
        free(g);
    }
    map_free(q->entries);
    free(q->heap);
    free(q);
}

/* There is more to be done than to look, or than to follow the nodes. */
static void leave_line(struct queue_core *q, struct entry *e, const char *batch_key, bool looked,
                       int64_t now_ms)
{
    struct group *g = e->group;

    if (e->line == NULL) { /* it is being processed, and lines up after that */
        entry_set_batch_key(e, batch_key);
        return;
    }
    queue_line_remove(e);
    e->group = NULL;
    q->waiting--;
    q->n_looks -= looked;
    if (g != NULL) {
        group_release(q, g);
    }
    entry_set_batch_key(e, batch_key);
    entry_line_up(q, e, now_ms);
}

void queue_core_add(struct queue_core *q, const char *key, const char *batch_key, uint32_t reasons,
                    int64_t now_ms)
{
    if (q->shut_down) {
        return;
    }
    struct entry *e = entry_get(q, key);
    uint32_t before = e->reasons;

    e->reasons |= reasons;
    entry_note_change(e, reasons, now_ms);
    bool in_nodes = e->line != NULL && e->group != NULL && is_of_nodes(e->group);
    if (e->dirty &&
        (is_look(before) ? !is_look(e->reasons) : in_nodes && e->reasons != TT_REASON_NODES)) {
        leave_line(q, e, batch_key, is_look(before), now_ms);
        return;
    }
    if (e->dirty) {
        if (e->line == &q->background && is_urgent(e->reasons)) {
            queue_line_remove(e);
            queue_line_push(&q->urgent, e);
        }
        return;
    }
    e->dirty = true;
    q->adds++;
    entry_set_batch_key(e, batch_key);
    if (!e->processing) {
        entry_line_up(q, e, now_ms);
    }
}

/* Brings the try of a key that awaits forward; the re-sync that is due with it, too. */
static void come_soon(struct queue_core *q, struct entry *e, int64_t now_ms)
{
    int64_t wait = e->failures > 1 ? (e->failures - 1) * QUEUE_AWAITS_STEP_MS : 0;
    int64_t soon = now_ms + (wait < QUEUE_AWAITS_MAX_MS ? wait : QUEUE_AWAITS_MAX_MS);
    int64_t was = e->delays[DELAY_OTHER].at_ms;

    for (size_t i = 0; i <= DELAY_OTHER; i++) {
        if (e->delays[i].reasons != 0 && e->delays[i].at_ms > soon && e->delays[i].at_ms <= was) {
            e->delays[i].at_ms = soon;
        }
    }
    queue_heap_settle(q, e);
}

void queue_core_freed(struct queue_core *q, const char *key, int64_t now_ms)
{
    q->freed++;
    size_t n = 0;
    struct entry **found = q->n_awaits == 0 ? NULL : xcalloc(q->n_awaits, sizeof(struct entry *));

    for (size_t i = 0; i < q->heap_n && n < q->n_awaits; i++) {
        if (q->heap[i]->awaits) {
            found[n++] = q->heap[i];
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (strcmp(found[i]->key, key) != 0) {
            come_soon(q, found[i], now_ms);
        }
    }
    free(found);
}

void queue_core_add_after(struct queue_core *q, const char *key, const char *batch_key,
                          uint32_t reasons, int64_t delay_ms, int64_t now_ms)
{
    if (q->shut_down) {
        return;
    }
    q->retries++;
    if (delay_ms <= 0) {
        queue_core_add(q, key, batch_key, reasons & ~QUEUE_REASON_AWAITS, now_ms);
        return;
    }
    struct entry *e = entry_get(q, key);
    int64_t at = delay_ms > NEVER - 1 - now_ms ? NEVER - 1 : now_ms + delay_ms;

    if (!e->dirty) {
        entry_set_batch_key(e, batch_key);
    }
    queue_delay_until(&e->delays[DELAY_RESYNC], reasons & TT_REASON_RESYNC, at);
    queue_delay_until(&e->delays[DELAY_OTHER], reasons & ~(TT_REASON_RESYNC | QUEUE_REASON_LOOK),
                      at);
    queue_delay_until(&e->delays[DELAY_LOOK], reasons & QUEUE_REASON_LOOK, at);
    queue_heap_settle(q, e);
    if (e->processing && e->awaits && e->freed_seen != q->freed) {
        come_soon(q, e, now_ms);
    }
}

int64_t queue_core_fail_capped(struct queue_core *q, const char *key, int64_t cap_ms)
{
    struct entry *e = entry_get(q, key);
    int64_t delay = queue_retry_delay_ms(q->limits.base_ms, q->limits.max_ms, e->failures++);

    return delay < cap_ms ? delay : cap_ms;
}

void queue_core_forget(struct queue_core *q, const char *key)
{
    struct entry *e = map_get(q->entries, key);

    if (e != NULL) {
        e->failures = 0;
        entry_release(q, e);
    }
}

int queue_core_failures(const struct queue_core *q, const char *key)
{
    const struct entry *e = map_get(q->entries, key);

    return e == NULL ? 0 : (int)e->failures;
}

bool queue_core_undelay(struct queue_core *q, const char *key, uint32_t reasons)
{
    struct entry *e = map_get(q->entries, key);

    if (e == NULL || e->delayed_ms == NEVER) {
        return false;
    }
    for (size_t i = 0; i < N_DELAYS; i++) {
        e->delays[i].reasons &= ~reasons;
    }
    if (e->delays[DELAY_OTHER].reasons == QUEUE_REASON_AWAITS) {
        e->delays[DELAY_OTHER].reasons = 0; /* of what is gone now */
    }
    queue_heap_settle(q, e);
    if (e->delayed_ms != NEVER) {
        return false;
    }
    entry_release(q, e);
    return true;
}

/* Ends those delays of an entry whose moment is not after `until_ms`, and puts it in line
 * as of `at_ms`. */
static void end_delays(struct queue_core *q, struct entry *e, int64_t until_ms, int64_t at_ms)
{
    uint32_t reasons = 0;
    char *batch_key = e->batch_key == NULL ? NULL : xstrdup(e->batch_key);

    for (size_t i = 0; i < N_DELAYS; i++) {
        if (e->delays[i].reasons != 0 && e->delays[i].at_ms <= until_ms) {
            reasons |= e->delays[i].reasons;
            e->delays[i].reasons = 0;
        }
    }
    queue_heap_settle(q, e);
    if ((reasons & QUEUE_REASON_AWAITS) != 0) {
        reasons = (reasons & ~QUEUE_REASON_AWAITS) | TT_REASON_RESYNC;
    }
    queue_core_add(q, e->key, batch_key, reasons, at_ms);
    free(batch_key);
}

/* Delayed entries whose moment has come get in line. */
static void promote(struct queue_core *q, int64_t now_ms)
{
    while (q->heap_n > 0 && q->heap[0]->delayed_ms <= now_ms) {
        /* It joins its group as of its own moment: no second debounce after a long wait. */
        end_delays(q, q->heap[0], now_ms, q->heap[0]->delayed_ms);
    }
}

static bool awaits(const struct entry *e, const struct group *g)
{
    return (e->delays[DELAY_OTHER].reasons & QUEUE_REASON_AWAITS) != 0 && !e->dirty &&
           !e->processing && e->batch_key != NULL && strcmp(e->batch_key, g->key) == 0;
}

/* Those of the group that wait for what an edit of another one may let go of come along. */
static void call_waiting(struct queue_core *q, const struct group *g, int64_t now_ms)
{
    bool edited = false;

    for (const struct entry *e = g->line.head; e != NULL && !edited; e = e->next) {
        edited = is_urgent(e->reasons);
    }
    for (size_t i = 0; edited && i < q->heap_n;) {
        struct entry *e = q->heap[i];
        if (awaits(e, g)) {
            end_delays(q, e, e->delays[DELAY_OTHER].at_ms, now_ms);
            i = 0; /* the heap is another one now */
        } else {
            i++;
        }
    }
}

static void take(struct queue_core *q, struct queue_batch *ret, struct entry *e)
{
    queue_line_remove(e);
    e->dirty = false;
    e->processing = true;
    e->freed_seen = q->freed;
    q->waiting--;
    q->n_looks -= is_look(e->reasons);
    q->processing++;
    ret->items[ret->n++] = (struct queue_item){
        .key = xstrdup(e->key), .reasons = e->reasons, .changed_ms = e->changed_ms};
    if (e->queued_ms < ret->oldest_ms) {
        ret->oldest_ms = e->queued_ms;
    }
    e->reasons = 0;
}

static void take_single(struct queue_core *q, struct queue_batch *ret, struct entry *e)
{
    ret->batch_key = xstrdup("");
    ret->items = xcalloc(1, sizeof(*ret->items));
    take(q, ret, e);
}

static void take_group(struct queue_core *q, struct queue_batch *ret, struct group *g,
                       int64_t now_ms)
{
    call_waiting(q, g, now_ms);
    size_t most = is_of_nodes(g) ? QUEUE_NODES_MAX : q->limits.batch_max;
    size_t n = g->line.n < most ? g->line.n : most;

    ret->batch_key = xstrdup(g->key);
    ret->nodes = is_of_nodes(g);
    ret->items = xcalloc(n, sizeof(*ret->items));
    while (ret->n < n) {
        take(q, ret, g->line.head);
        g->processing++;
    }
}

/* The group that is due for longest; NULL: none is. */
static struct group *first_due(const struct queue_core *q, bool looks, int64_t now_ms)
{
    struct group *due = NULL;

    for (struct group *g = q->groups; g != NULL; g = g->next) {
        if (g->looks == looks && group_due_ms(q, g) <= now_ms &&
            (due == NULL || group_due_ms(q, g) < group_due_ms(q, due))) {
            due = g;
        }
    }
    return due;
}

bool queue_core_get(struct queue_core *q, int64_t now_ms, struct queue_batch *ret)
{
    promote(q, now_ms);
    struct queue_batch b = {.oldest_ms = NEVER};
    struct entry *old = q->background.head;
    struct group *due = first_due(q, false, now_ms);
    struct group *looks = first_due(q, true, now_ms);

    if (old != NULL && now_ms - old->queued_ms >= QUEUE_PATIENCE_MS) {
        take_single(q, &b, old);
    } else if (due != NULL && now_ms - due->first_ms >= QUEUE_PATIENCE_MS) {
        take_group(q, &b, due, now_ms);
    } else if (q->urgent.head != NULL) {
        take_single(q, &b, q->urgent.head);
    } else if (due != NULL) {
        take_group(q, &b, due, now_ms);
    } else if (old != NULL) {
        take_single(q, &b, old);
    } else if (looks != NULL) {
        take_group(q, &b, looks, now_ms);
    } else if (q->looks.head != NULL) {
        take_single(q, &b, q->looks.head);
    } else {
        return false;
    }
    *ret = b;
    return true;
}

void queue_core_done(struct queue_core *q, const char *key, int64_t now_ms)
{
    struct entry *e = map_get(q->entries, key);

    if (e == NULL || !e->processing) {
        return;
    }
    e->processing = false;
    entry_settle_change(e);
    q->processing--;
    struct group *g = e->group;
    e->group = NULL;
    if (g != NULL) {
        g->processing--;
    }
    if (e->dirty && q->dropping) {
        e->dirty = false;
    } else if (e->dirty) {
        entry_line_up(q, e, now_ms);
    }
    if (g != NULL) {
        group_release(q, g);
    }
    entry_release(q, e);
}

int64_t queue_core_next_ms(const struct queue_core *q, int64_t now_ms)
{
    int64_t next = q->heap_n > 0 ? q->heap[0]->delayed_ms : NEVER;

    if (q->urgent.n > 0 || q->background.n > 0 || q->looks.n > 0) {
        return now_ms;
    }
    for (const struct group *g = q->groups; g != NULL; g = g->next) {
        int64_t due = group_due_ms(q, g);
        next = due < next ? due : next;
    }
    return next < now_ms ? now_ms : next;
}

static void drop_line(struct queue_core *q, struct line *l)
{
    while (l->head != NULL) {
        struct entry *e = l->head;
        queue_line_remove(e);
        e->dirty = false;
        e->group = NULL;
        q->waiting--;
        q->n_looks -= is_look(e->reasons);
        entry_release(q, e);
    }
}

void queue_core_shutdown(struct queue_core *q, bool drain)
{
    q->shut_down = true;
    while (q->heap_n > 0) {
        struct entry *e = q->heap[0];
        memset(e->delays, 0, sizeof(e->delays));
        queue_heap_settle(q, e);
        entry_release(q, e);
    }
    if (drain) {
        return;
    }
    q->dropping = true;
    drop_line(q, &q->urgent);
    drop_line(q, &q->background);
    drop_line(q, &q->looks);
    for (struct group *g = q->groups, *next = NULL; g != NULL; g = next) {
        next = g->next;
        drop_line(q, &g->line);
        group_release(q, g);
    }
}

bool queue_core_is_shut_down(const struct queue_core *q)
{
    return q->shut_down;
}

struct queue_counts queue_core_counts(const struct queue_core *q)
{
    return (struct queue_counts){.looks = q->n_looks,
                                 .waiting = q->waiting,
                                 .processing = q->processing,
                                 .delayed = q->heap_n,
                                 .adds = q->adds,
                                 .retries = q->retries};
}

void queue_batch_clear(struct queue_batch *b)
{
    for (size_t i = 0; i < b->n; i++) {
        free(b->items[i].key);
    }
    free(b->items);
    free(b->batch_key);
    *b = (struct queue_batch){0};
}
