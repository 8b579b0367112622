/* SPDX-License-Identifier: Apache-2.0 */
/* queue_core.h: the work queue as a state machine; `now` is a parameter, nothing waits, nothing
 * locks.
 *
 * Per key there are three independent facts, as in client-go:
 *   dirty       it needs a run (and stands in line, unless it is being run right now)
 *   processing  a worker has it; what is added meanwhile makes it dirty, and it lines up again at
 *               done
 *   delayed     it becomes dirty at a moment; of two moments the earlier one counts (a re-sync has
 *               a moment of its own)
 * so one key is never run by two workers, and many adds before a run are one run.  Reasons are bits
 * and add up.
 *
 * Keys that share one cloud object have a *batch key*.  They gather in a group until nothing new
 * came for idle_ms, or max_ms after the first one; then the whole group is one batch, or its first
 * batch_max keys are, and the others are due at once.  While a batch of a group is being processed
 * the group yields no second one.
 *
 * With nodes_together, keys without a batch key whose only reason is a node change gather in the
 * same way, in the group of nodes: its batches have the batch key "" and `nodes` set, hold at most
 * QUEUE_NODES_MAX keys, and do not exclude each other.  Any other reason takes a key out of there.
 *
 * Order: looks (QUEUE_REASON_LOOK) last; keys with a reason other than a re-sync or a node change
 * go first; a key that waits for QUEUE_PATIENCE_MS counts as one of them, so nothing starves.
 * Source: controller.md §1.18, vectors 103–113.  Thread rule: one caller at a time (queue.h). */
#ifndef TRIMTAB_CONTROLLER_QUEUE_CORE_H
#define TRIMTAB_CONTROLLER_QUEUE_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUEUE_PATIENCE_MS 30000
/* A reason of the queue, beside TT_REASON_…: check the load balancer for drift.  Such a key waits
 * behind all work, without patience, in a line or group of its own, and has a moment of its own;
 * any other reason takes it out of there. */
#define QUEUE_REASON_LOOK 0x80000000u
/* Of a delay alone: what the key waits for may be held by another one of its group, and an edit of
 * that one lets it go.  So it comes along, before its moment, with the next batch of the group in
 * which something was edited or is going.  Without a group it comes soon after
 * queue_core_freed(). */
#define QUEUE_REASON_AWAITS 0x40000000u
/* That is at once after its first failure, a second later after each further one, at most this:
 * thousands of changes in a row seldom bring a key that waits for long. */
#define QUEUE_AWAITS_STEP_MS 1000
#define QUEUE_AWAITS_MAX_MS  30000

/* Keys of one batch of the group of nodes.  The slowest one holds the others of its batch. */
#define QUEUE_NODES_MAX 128

struct queue_core;

struct queue_limits {
    int64_t base_ms;          /* 0: 5 s */
    int64_t max_ms;           /* 0: 300 s */
    int64_t debounce_idle_ms; /* 0: 100 ms */
    int64_t debounce_max_ms;  /* 0: 2 s */
    size_t batch_max;    /* keys of one batch; 0: TT_LIST_MAX, the most that a plan can be of */
    bool nodes_together; /* keys that only follow the nodes are one batch, up to QUEUE_NODES_MAX */
};

/* A worker's batch: the keys of one group, or a single key without one.  Released with
 * queue_batch_clear(). */
struct queue_item {
    char *key;
    uint32_t reasons; /* TT_REASON_… */
    /* when the first change came that no good run has served yet; INT64_MAX: none, a re-sync */
    int64_t changed_ms;
};
struct queue_batch {
    char *batch_key; /* "" for a single key without one, and for keys that follow the nodes */
    bool nodes;      /* nodes_together: the only reason of each key is a node change */
    struct queue_item *items;
    size_t n;
    int64_t oldest_ms; /* since when its oldest key stood in line */
};
/* Frees what a batch holds (not the struct); NULL members are fine. */
void queue_batch_clear(struct queue_batch *b);

/* Numbers for metrics and for tests. */
struct queue_counts {
    size_t looks;   /* of those in line: for a look alone */
    size_t waiting; /* dirty and not being processed: in line or in a group */
    size_t processing;
    size_t delayed;
    uint64_t adds;    /* not counting ignored duplicates */
    uint64_t retries; /* each add_after */
};

struct queue_core *queue_core_new(const struct queue_limits *limits);
void queue_core_free(struct queue_core *q);

/* `batch_key` NULL or "": none.  It counts when the key gets in line; while it is dirty a
 * new one is ignored. */
void queue_core_add(struct queue_core *q, const char *key, const char *batch_key, uint32_t reasons,
                    int64_t now_ms);
/* delay_ms <= 0: add now. */
void queue_core_add_after(struct queue_core *q, const char *key, const char *batch_key,
                          uint32_t reasons, int64_t delay_ms, int64_t now_ms);
/* Counts a failure of `key` and returns how long to wait, at most `cap_ms`. */
int64_t queue_core_fail_capped(struct queue_core *q, const char *key, int64_t cap_ms);
void queue_core_forget(struct queue_core *q, const char *key);
int queue_core_failures(const struct queue_core *q, const char *key);
/* The run of `key` has changed something, perhaps what keys with QUEUE_REASON_AWAITS wait for:
 * those without a group, `key` apart, come soon.  So do those that are being processed now and are
 * delayed with that reason when they are done: they may have seen what was before. */
void queue_core_freed(struct queue_core *q, const char *key, int64_t now_ms);
/* Takes these reasons off a delay; one without reasons left is gone.  True when it is. */
bool queue_core_undelay(struct queue_core *q, const char *key, uint32_t reasons);

/* Fills *ret (clear it after use) when something is due.  All its keys are processing
 * from then on. */
bool queue_core_get(struct queue_core *q, int64_t now_ms, struct queue_batch *ret);
/* Each key of a batch, once. */
void queue_core_done(struct queue_core *q, const char *key, int64_t now_ms);
/* The next moment at which get could succeed without a further add or done; INT64_MAX: none. */
int64_t queue_core_next_ms(const struct queue_core *q, int64_t now_ms);

/* Adds are ignored from now on.  `drain` true: what stands in line is still handed out (delays are
 * not waited for); false: everything that waits is dropped. */
void queue_core_shutdown(struct queue_core *q, bool drain);
bool queue_core_is_shut_down(const struct queue_core *q);
struct queue_counts queue_core_counts(const struct queue_core *q);

#endif
