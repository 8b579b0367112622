/* SPDX-License-Identifier: Apache-2.0 */
/* queue_core.c: see queue_core.h for what it promises.
 *
 * An entry exists while anything is known about its key (dirty, processing, delayed, or failures), and is
 * freed when nothing is.  Entries stand in one of: the urgent line, the background line, a group's line; delayed
 * ones are in a binary heap besides. */
#include "controller/queue_core.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <trimtab/provider.h>

#include "common/base/arena.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "controller/queue_rules.h"

#define NEVER INT64_MAX

struct entry;

struct line {
    struct entry *head;
    struct entry *tail;
    size_t n;
};

struct group {
    char *key;
    struct line line;
    int64_t first_ms;
    int64_t last_ms;
    size_t processing; /* keys of its batch that are not done yet */
    struct group *next;
    struct group *prev;
};

/* A re-sync is a run of its own: what else is delayed neither brings it forward nor is made one by it. */
enum { DELAY_RESYNC, DELAY_OTHER, N_DELAYS };

struct delay {
    uint32_t reasons; /* 0: none */
    int64_t at_ms;
};

struct entry {
    char *key;
    char *batch_key;
    uint32_t reasons;
    int64_t queued_ms;
    struct delay delays[N_DELAYS];
    int64_t delayed_ms; /* the earlier one; NEVER: not delayed */
    size_t heap_at;
    int64_t failures;
    int64_t changed_ms;      /* as in queue_item; NEVER: none */
    int64_t changed_next_ms; /* the same of what came while it is being processed */
    bool dirty;
    bool processing;
    struct line *line;   /* where it stands; NULL: nowhere */
    struct group *group; /* whose line, or whose batch is being processed */
    struct entry *next;
    struct entry *prev;
};

struct queue_core {
    struct queue_limits limits;
    struct map *entries; /* key → struct entry, owned */
    struct line urgent;
    struct line background;
    struct group *groups;
    struct entry **heap;
    size_t heap_n;
    size_t heap_cap;
    size_t waiting;
    size_t processing;
    uint64_t adds;
    uint64_t retries;
    bool shut_down;
    bool dropping; /* shut down, and nothing may line up any more */
};

/* ---- lines --------------------------------------------------------------------------------------- */

static void line_push(struct line *l, struct entry *e)
{
    assert(e->line == NULL);
    e->line = l;
    e->next = NULL;
    e->prev = l->tail;
    if (l->tail != NULL) {
        l->tail->next = e;
    } else {
        l->head = e;
    }
    l->tail = e;
    l->n++;
}

static void line_remove(struct entry *e)
{
    struct line *l = e->line;

    if (l == NULL) {
        return;
    }
    if (e->prev != NULL) {
        e->prev->next = e->next;
    } else {
        l->head = e->next;
    }
    if (e->next != NULL) {
        e->next->prev = e->prev;
    } else {
        l->tail = e->prev;
    }
    l->n--;
    e->line = NULL;
    e->next = NULL;
    e->prev = NULL;
}

/* ---- the heap of delayed entries ----------------------------------------------------------------- */

static void heap_place(struct queue_core *q, size_t at, struct entry *e)
{
    q->heap[at] = e;
    e->heap_at = at;
}

static void heap_up(struct queue_core *q, size_t at)
{
    struct entry *e = q->heap[at];

    while (at > 0) {
        size_t parent = (at - 1) / 2;
        if (q->heap[parent]->delayed_ms <= e->delayed_ms) {
            break;
        }
        heap_place(q, at, q->heap[parent]);
        at = parent;
    }
    heap_place(q, at, e);
}

static void heap_down(struct queue_core *q, size_t at)
{
    struct entry *e = q->heap[at];

    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= q->heap_n) {
            break;
        }
        if (child + 1 < q->heap_n && q->heap[child + 1]->delayed_ms < q->heap[child]->delayed_ms) {
            child++;
        }
        if (e->delayed_ms <= q->heap[child]->delayed_ms) {
            break;
        }
        heap_place(q, at, q->heap[child]);
        at = child;
    }
    heap_place(q, at, e);
}

static void heap_push(struct queue_core *q, struct entry *e)
{
    if (q->heap_n == q->heap_cap) {
        q->heap_cap = q->heap_cap == 0 ? 16 : q->heap_cap * 2;
        q->heap = xrealloc(q->heap, q->heap_cap * sizeof(*q->heap));
    }
    heap_place(q, q->heap_n++, e);
    heap_up(q, q->heap_n - 1);
}

static void heap_remove(struct queue_core *q, struct entry *e)
{
    size_t at = e->heap_at;
    struct entry *last = q->heap[--q->heap_n];

    if (last != e) {
        heap_place(q, at, last);
        heap_up(q, at);
        heap_down(q, last->heap_at);
    }
}

static int64_t first_delay_ms(const struct entry *e)
{
    int64_t first = NEVER;

    for (size_t i = 0; i < N_DELAYS; i++) {
        if (e->delays[i].reasons != 0 && e->delays[i].at_ms < first) {
            first = e->delays[i].at_ms;
        }
    }
    return first;
}

/* After a change of its delays: puts an entry where it belongs in the heap, or out of it. */
static void heap_settle(struct queue_core *q, struct entry *e)
{
    bool was_in = e->delayed_ms != NEVER;

    e->delayed_ms = first_delay_ms(e);
    if (!was_in && e->delayed_ms != NEVER) {
        heap_push(q, e);
    } else if (was_in && e->delayed_ms == NEVER) {
        heap_remove(q, e);
    } else if (was_in) {
        heap_up(q, e->heap_at);
        heap_down(q, e->heap_at);
    }
}

static void delay_until(struct delay *d, uint32_t reasons, int64_t at_ms)
{
    if (reasons == 0) {
        return;
    }
    if (d->reasons == 0 || at_ms < d->at_ms) {
        d->at_ms = at_ms;
    }
    d->reasons |= reasons;
}

/* ---- entries and groups -------------------------------------------------------------------------- */

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

    if ((reasons & ~TT_REASON_RESYNC) != 0 && *first == NEVER) {
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

static struct group *group_get(struct queue_core *q, const char *key)
{
    for (struct group *g = q->groups; g != NULL; g = g->next) {
        if (strcmp(g->key, key) == 0) {
            return g;
        }
    }
    struct group *g = xcalloc(1, sizeof(*g));
    g->key = xstrdup(key);
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

static int64_t group_due_ms(const struct queue_core *q, const struct group *g)
{
    int64_t idle = g->last_ms + q->limits.debounce_idle_ms;
    int64_t most = g->first_ms + q->limits.debounce_max_ms;

    if (g->processing > 0 || g->line.n == 0) {
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

/* Puts a dirty entry that nobody processes in line. */
static void entry_line_up(struct queue_core *q, struct entry *e, int64_t now_ms)
{
    e->queued_ms = now_ms;
    q->waiting++;
    if (e->batch_key == NULL) {
        line_push(is_urgent(e->reasons) ? &q->urgent : &q->background, e);
        return;
    }
    struct group *g = group_get(q, e->batch_key);
    if (g->line.n == 0) {
        g->first_ms = now_ms;
    }
    g->last_ms = now_ms;
    e->group = g;
    line_push(&g->line, e);
}

/* ---- public -------------------------------------------------------------------------------------- */

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

void queue_core_add(struct queue_core *q, const char *key, const char *batch_key, uint32_t reasons,
                    int64_t now_ms)
{
    if (q->shut_down) {
        return;
    }
    struct entry *e = entry_get(q, key);
    bool was_urgent = is_urgent(e->reasons);

    e->reasons |= reasons;
    entry_note_change(e, reasons, now_ms);
    if (e->dirty) {
        if (e->line == &q->background && !was_urgent && is_urgent(e->reasons)) {
            line_remove(e);
            line_push(&q->urgent, e);
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

void queue_core_add_after(struct queue_core *q, const char *key, const char *batch_key,
                          uint32_t reasons, int64_t delay_ms, int64_t now_ms)
{
    if (q->shut_down) {
        return;
    }
    q->retries++;
    if (delay_ms <= 0) {
        queue_core_add(q, key, batch_key, reasons, now_ms);
        return;
    }
    struct entry *e = entry_get(q, key);
    int64_t at = delay_ms > NEVER - 1 - now_ms ? NEVER - 1 : now_ms + delay_ms;

    if (!e->dirty) {
        entry_set_batch_key(e, batch_key);
    }
    delay_until(&e->delays[DELAY_RESYNC], reasons & TT_REASON_RESYNC, at);
    delay_until(&e->delays[DELAY_OTHER], reasons & ~TT_REASON_RESYNC, at);
    heap_settle(q, e);
}

int64_t queue_core_fail(struct queue_core *q, const char *key)
{
    return queue_core_fail_capped(q, key, q->limits.max_ms);
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
    heap_settle(q, e);
    if (e->delayed_ms != NEVER) {
        return false;
    }
    entry_release(q, e);
    return true;
}

/* Delayed entries whose moment has come get in line. */
static void promote(struct queue_core *q, int64_t now_ms)
{
    while (q->heap_n > 0 && q->heap[0]->delayed_ms <= now_ms) {
        struct entry *e = q->heap[0];
        uint32_t reasons = 0;
        int64_t at = e->delayed_ms;
        char *batch_key = e->batch_key == NULL ? NULL : xstrdup(e->batch_key);

        for (size_t i = 0; i < N_DELAYS; i++) {
            if (e->delays[i].reasons != 0 && e->delays[i].at_ms <= now_ms) {
                reasons |= e->delays[i].reasons;
                e->delays[i].reasons = 0;
            }
        }
        heap_settle(q, e);
        /* It joins its group as of its own moment: no second debounce after a long wait. */
        queue_core_add(q, e->key, batch_key, reasons, at);
        free(batch_key);
    }
}

static void take(struct queue_core *q, struct queue_batch *ret, struct entry *e)
{
    line_remove(e);
    e->dirty = false;
    e->processing = true;
    q->waiting--;
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

static void take_group(struct queue_core *q, struct queue_batch *ret, struct group *g)
{
    ret->batch_key = xstrdup(g->key);
    ret->items = xcalloc(g->line.n, sizeof(*ret->items));
    while (g->line.head != NULL) {
        take(q, ret, g->line.head);
        g->processing++;
    }
}

/* The group that is due for longest; NULL: none is. */
static struct group *first_due(const struct queue_core *q, int64_t now_ms)
{
    struct group *due = NULL;

    for (struct group *g = q->groups; g != NULL; g = g->next) {
        if (group_due_ms(q, g) <= now_ms &&
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
    struct group *due = first_due(q, now_ms);

    if (old != NULL && now_ms - old->queued_ms >= QUEUE_PATIENCE_MS) {
        take_single(q, &b, old);
    } else if (due != NULL && now_ms - due->first_ms >= QUEUE_PATIENCE_MS) {
        take_group(q, &b, due);
    } else if (q->urgent.head != NULL) {
        take_single(q, &b, q->urgent.head);
    } else if (due != NULL) {
        take_group(q, &b, due);
    } else if (old != NULL) {
        take_single(q, &b, old);
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

    if (q->urgent.n > 0 || q->background.n > 0) {
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
        line_remove(e);
        e->dirty = false;
        e->group = NULL;
        q->waiting--;
        entry_release(q, e);
    }
}

void queue_core_shutdown(struct queue_core *q, bool drain)
{
    q->shut_down = true;
    while (q->heap_n > 0) {
        struct entry *e = q->heap[0];
        memset(e->delays, 0, sizeof(e->delays));
        heap_settle(q, e);
        entry_release(q, e);
    }
    if (drain) {
        return;
    }
    q->dropping = true;
    drop_line(q, &q->urgent);
    drop_line(q, &q->background);
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
    return (struct queue_counts){.waiting = q->waiting,
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
