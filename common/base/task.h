/* SPDX-License-Identifier: Apache-2.0 */
/* task.h: several pieces of blocking code that share one thread.
 *
 * A task is a function with a stack of its own.  It runs until it blocks in clock_wait() or
 * task_poll(); then another task of the same thread runs, and when none can, the thread sleeps
 * until a descriptor, a signalled condition or a moment makes one ready.  Code that blocks nowhere
 * else needs no change to run in a task:
 *
 *     struct task_loop *l = task_loop_new(&err);
 *     task_start(l, carry, arg, &err);     more may follow, from any thread, while one has not
 *                                          ended
 *     task_loop_run(l);                    returns when all of them have ended
 *     task_loop_free(l);
 *
 * Rules.  A task never leaves its thread, so thread-local variables stay valid in it; they are
 * shared with the other tasks of the thread, and task_local() is the one pointer that is not.  No
 * mutex may be held while a task blocks (asserted): another task of the thread that wants it would
 * wait for ever.  A lock that lasts longer is a struct hold (hold.h).  Code that blocks the thread
 * in another way (a slow file, a child process, a plugin) holds up all its tasks.  Why, and
 * measurements: docs/adr/0046-tasks.md. */
#ifndef TRIMTAB_BASE_TASK_H
#define TRIMTAB_BASE_TASK_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attr.h"
#include "common/base/err.h"

struct task;
struct task_loop;

/* One end of a condition's queue of tasks; on the stack of the task that waits.  lock.c only. */
struct task_wait {
    struct task *task;
    struct task_wait *next;
    bool queued; /* guarded by the condition's lock of tasks */
};

/* Address space of one stack: half of what a thread gets.  Memory is used page by page, as deep as
 * the code goes. */
#define TASK_STACK_BYTES ((size_t)4 * 1024 * 1024)

/* TRANSIENT when no descriptor is free.  Owned by the caller. */
int task_loop_new(struct task_loop **ret, struct err *err) _warn_unused_;
/* task_loop_run() has returned, or was never called: then tasks are dropped without
 * having run. NULL is fine. */
void task_loop_free(struct task_loop *l);
/* Adds a task that runs fn(arg).  Any thread, also before task_loop_run(); after that only while a
 * task of `l` cannot have ended yet.  Does not block.  TRANSIENT when the system has no
 * memory for a stack. */
int task_start(struct task_loop *l, void (*fn)(void *arg), void *arg,
               struct err *err) _warn_unused_;
/* Runs tasks in the calling thread until all have ended.  Not from within a task. */
void task_loop_run(struct task_loop *l);

/* The task that calls; NULL outside of tasks. */
struct task *task_current(void);
/* A pointer of the task that calls, NULL at its start, for what would be thread-local otherwise;
 * NULL outside of tasks.  Safe in a signal handler. */
void **task_local(void);
/* lock.c only: this thread took a mutex (1) or gave one back (-1). */
void task_count_mutex(int change);
/* How many mutexes the calling thread holds. */
unsigned task_mutexes(void);

/* As poll(2), `ms` of real time, negative: no limit.  In a task the others run meanwhile, with 0,
 * too; it may return early. */
int task_poll(struct pollfd *fds, nfds_t n, int64_t ms);
/* Blocks the calling task until task_wake() or `real_until_ms` (INT64_MAX: no limit);
 * may return early. */
void task_sleep(int64_t real_until_ms);
/* Before whatever makes others call task_wake(): one that comes from now on is not lost. */
void task_will_sleep(void);
/* Any thread; the task must not have ended. */
void task_wake(struct task *t);

#endif
