/* SPDX-License-Identifier: Apache-2.0 */
/* queue_internal.h: what a work queue is made of, and its two structures: lines, and the heap of
 * delays (queue_heap.c).  Private to queue_core.c and queue_heap.c. */
#ifndef TRIMTAB_CONTROLLER_QUEUE_INTERNAL_H
#define TRIMTAB_CONTROLLER_QUEUE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/queue/queue_core.h"

#define NEVER INT64_MAX

struct entry;

struct line {
    struct entry *head;
    struct entry *tail;
    size_t n;
};

struct group {
    char *key; /* the batch key; "" is the group of nodes */
    struct line line;
    int64_t first_ms;
    int64_t last_ms;
    bool looks;        /* its keys wait for a look alone */
    size_t processing; /* keys of its batch that are not done yet */
    struct group *next;
    struct group *prev;
};

/* A re-sync is a run of its own: what else is delayed neither brings it forward nor is made one by
 * it.  So is a look. */
enum { DELAY_RESYNC, DELAY_OTHER, DELAY_LOOK, N_DELAYS };

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
    uint64_t freed_seen;     /* queue_core.freed when it was taken */
    bool awaits;             /* one of queue_core.n_awaits */
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
    struct line looks;
    struct group *groups;
    struct entry **heap;
    size_t heap_n;
    size_t heap_cap;
    size_t waiting;
    size_t n_looks; /* of those */
    size_t processing;
    size_t n_awaits; /* entries without a group that are delayed with QUEUE_REASON_AWAITS */
    uint64_t freed;  /* calls of queue_core_freed() */
    uint64_t adds;
    uint64_t retries;
    bool shut_down;
    bool dropping; /* shut down, and nothing may line up any more */
};

/* --- queue_heap.c ----------------------------------------------------------------------------- */
void queue_line_push(struct line *l, struct entry *e);
void queue_line_remove(struct entry *e); /* wherever it stands */
/* Of two moments the earlier one counts; the reasons add up. */
void queue_delay_until(struct delay *d, uint32_t reasons, int64_t at_ms);
/* It waits for what another key may let go of, and has no group whose batches tell it so. */
bool queue_entry_awaits(const struct entry *e);
/* After a change of its delays: puts an entry where it belongs in the heap, or out of it. */
void queue_heap_settle(struct queue_core *q, struct entry *e);

#endif
