/* SPDX-License-Identifier: Apache-2.0 */
/* queue_heap.c: the lines in which keys of a work queue stand, and the binary heap of those that
 * are delayed.
 *
 * Owns no rule of the queue: which line, and when, is queue_core.c's. */
#include <assert.h>
#include <stdlib.h>

#include "common/base/arena.h"
#include "controller/queue/queue_internal.h"

/* ---- lines ----------------------------------------------------------------------------------- */

void queue_line_push(struct line *l, struct entry *e)
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

void queue_line_remove(struct entry *e)
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

/* ---- the heap of delayed entries ------------------------------------------------------------- */

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

bool queue_entry_awaits(const struct entry *e)
{
    return (e->delays[DELAY_OTHER].reasons & QUEUE_REASON_AWAITS) != 0 && e->batch_key == NULL;
}

static void count_awaiting(struct queue_core *q, struct entry *e)
{
    bool awaits = queue_entry_awaits(e);

    if (awaits != e->awaits) {
        e->awaits = awaits;
        q->n_awaits += awaits ? (size_t)1 : (size_t)-1;
    }
}

void queue_heap_settle(struct queue_core *q, struct entry *e)
{
    count_awaiting(q, e);
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

void queue_delay_until(struct delay *d, uint32_t reasons, int64_t at_ms)
{
    if (reasons == 0) {
        return;
    }
    if (d->reasons == 0 || at_ms < d->at_ms) {
        d->at_ms = at_ms;
    }
    d->reasons |= reasons;
}
