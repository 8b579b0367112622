/* SPDX-License-Identifier: Apache-2.0 */
/* task.c: see task.h.
 *
 * Owns the stacks, the switch between them (ucontext) and the sleep of a thread whose tasks all
 * wait.  A round of the loop resumes each task that is ready, then polls the descriptors of all
 * that wait; it looks without sleeping if any task has run, because one task may have made another
 * ready.  A wake-up from another thread sets the task's flag first and then writes to the eventfd,
 * once per round (`poked`).  The loop clears `poked` before it looks at the flags, so that a flag
 * that it did not see ends the next poll.  Each switch is announced to sanitizers, which would
 * otherwise take another stack for an overflow.  Must not know what tasks do.  Everything but
 * task_start() and task_wake() belongs to the loop's thread. */
#include "common/base/task.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/limits.h"
#include "common/base/lock.h"
#include "common/base/task_fiber.h"

#define GUARD_BYTES ((size_t)64 * 1024) /* more than one page: a big frame does not step over it */

struct task {
    struct task *next;
    struct task_loop *loop;
    void (*fn)(void *arg);
    void *arg;
    void *local;
    char *stack; /* TASK_STACK_BYTES, the guard in front of it */
    ucontext_t context;
    struct fiber fiber;

    /* while it waits */
    atomic_bool woken;
    int64_t until_ms; /* real; INT64_MAX: no limit */
    struct pollfd *fds;
    nfds_t n_fds;
    bool has_ready_fds; /* at the last poll */
    bool ended;
};

struct task_loop {
    int wake_fd;
    atomic_bool poked; /* wake_fd was written to in this round */
    struct mutex lock;
    struct task *started _guarded_by_(lock); /* not yet among `tasks` */

    /* of its thread */
    struct task *tasks;
    ucontext_t context; /* task_loop_run()'s own */
    struct fiber fiber;
    struct pollfd *fds; /* room for one poll */
    size_t cap_fds;
};

/* A thread's own state. */
static _Thread_local struct task *current;
static _Thread_local unsigned mutexes; /* that it holds; of its tasks only the running one can */

struct task *task_current(void)
{
    return current;
}

void task_count_mutex(int change)
{
    mutexes += (unsigned)change;
}

unsigned task_mutexes(void)
{
    return mutexes;
}

void **task_local(void)
{
    return current != NULL ? &current->local : NULL;
}

/* --- stacks ----------------------------------------------------------------------------------- */

static char *stack_new(void)
{
    char *all = mmap(NULL, GUARD_BYTES + TASK_STACK_BYTES, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (all == MAP_FAILED) {
        return NULL;
    }
    char *stack = all + GUARD_BYTES;
    if (mprotect(stack, TASK_STACK_BYTES, PROT_READ | PROT_WRITE) != 0) {
        (void)munmap(all, GUARD_BYTES + TASK_STACK_BYTES);
        return NULL;
    }
    /* A huge page would be used up by the first frame. */
    (void)madvise(stack, TASK_STACK_BYTES, MADV_NOHUGEPAGE);
    return stack;
}

static void stack_free(char *stack)
{
    (void)munmap(stack - GUARD_BYTES, GUARD_BYTES + TASK_STACK_BYTES);
}

/* --- switching -------------------------------------------------------------------------------- */

static void task_main(void)
{
    struct task *t = current;
    fiber_arrived(&t->fiber, &t->loop->fiber);
    t->fn(t->arg);
    t->ended = true;
    fiber_leave_for_good(&t->loop->fiber);
    (void)setcontext(&t->loop->context);
    abort(); /* only a broken context comes here */
}

static void resume(struct task_loop *l, struct task *t)
{
    atomic_store(&t->woken, false);
    current = t;
    fiber_leave(&l->fiber, &t->fiber);
    (void)swapcontext(&l->context, &t->context); /* fails for lack of memory, which it needs not */
    fiber_arrived(&l->fiber, NULL);
    current = NULL;
}

static void yield(struct task *t)
{
    assert(task_mutexes() == 0);
    fiber_leave(&t->fiber, &t->loop->fiber);
    (void)swapcontext(&t->context, &t->loop->context);
    fiber_arrived(&t->fiber, NULL);
}

/* --- blocking --------------------------------------------------------------------------------- */

void task_will_sleep(void)
{
    atomic_store(&current->woken, false);
}

void task_sleep(int64_t real_until_ms)
{
    struct task *t = current;
    t->until_ms = real_until_ms;
    yield(t);
}

int task_poll(struct pollfd *fds, nfds_t n, int64_t ms)
{
    struct task *t = current;
    if (t == NULL) {
        return poll(fds, n, ms > INT32_MAX ? INT32_MAX : (int)ms);
    }
    for (nfds_t i = 0; i < n; i++) {
        fds[i].revents = 0;
    }
    t->fds = fds;
    t->n_fds = n;
    task_sleep(ms < 0 ? INT64_MAX : clock_now_ms(clock_real()) + ms);
    t->n_fds = 0;
    int n_ready = 0;
    for (nfds_t i = 0; i < n; i++) {
        n_ready += fds[i].revents != 0;
    }
    return n_ready;
}

static void poke(struct task_loop *l)
{
    if (!atomic_exchange(&l->poked, true)) {
        uint64_t one = 1;
        /* EAGAIN means that the counter is full, so the poll ends anyway. */
        ssize_t n = write(l->wake_fd, &one, sizeof one);
        (void)n;
    }
}

void task_wake(struct task *t)
{
    struct task_loop *l = t->loop;
    bool same_thread = current != NULL && current->loop == l;
    atomic_store(&t->woken, true); /* `t` may be gone after this */
    if (!same_thread) {
        poke(l);
    }
}

/* --- the loop --------------------------------------------------------------------------------- */

int task_loop_new(struct task_loop **ret, struct err *err)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0) {
        return err_set(err, ERR_TRANSIENT, "a thread with tasks: " LIMITS_NO_DESCRIPTOR);
    }
    struct task_loop *l = xcalloc(1, sizeof *l);
    l->wake_fd = fd;
    mutex_init(&l->lock);
    *ret = l;
    return ERR_OK;
}

static void task_free(struct task *t)
{
    fiber_done(&t->fiber);
    stack_free(t->stack);
    free(t);
}

void task_loop_free(struct task_loop *l)
{
    if (l == NULL) {
        return;
    }
    assert(l->tasks == NULL);
    while (l->started != NULL) {
        struct task *t = l->started;
        l->started = t->next;
        task_free(t);
    }
    mutex_done(&l->lock);
    (void)close(l->wake_fd);
    free(l->fds);
    free(l);
}

int task_start(struct task_loop *l, void (*fn)(void *arg), void *arg, struct err *err)
{
    char *stack = stack_new();
    if (stack == NULL) {
        return err_set(err, ERR_TRANSIENT, "the system has no memory for the stack of a task");
    }
    struct task *t = xcalloc(1, sizeof *t);
    t->loop = l;
    t->fn = fn;
    t->arg = arg;
    t->stack = stack;
    atomic_init(&t->woken, true);
    (void)getcontext(&t->context); /* cannot fail */
    t->context.uc_stack.ss_sp = stack;
    t->context.uc_stack.ss_size = TASK_STACK_BYTES;
    t->context.uc_link = NULL;
    makecontext(&t->context, task_main, 0);
    fiber_init(&t->fiber, stack, TASK_STACK_BYTES);
    mutex_lock(&l->lock);
    t->next = l->started;
    l->started = t;
    mutex_unlock(&l->lock);
    poke(l);
    return ERR_OK;
}

/* New ones go behind the others, in the order of their start. */
static void take_started(struct task_loop *l)
{
    mutex_lock(&l->lock);
    struct task *list = STEAL(l->started);
    mutex_unlock(&l->lock);
    struct task *in_order = NULL;
    while (list != NULL) {
        struct task *t = list;
        list = t->next;
        t->next = in_order;
        in_order = t;
    }
    struct task **end = &l->tasks;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = in_order;
}

/* Runs each task that is ready, once.  Returns whether there was one. */
static bool run_ready(struct task_loop *l)
{
    int64_t now_ms = clock_now_ms(clock_real());
    bool ran = false;
    struct task **at = &l->tasks;
    while (*at != NULL) {
        struct task *t = *at;
        if (atomic_load(&t->woken) || t->has_ready_fds || now_ms >= t->until_ms) {
            t->has_ready_fds = false;
            t->until_ms = INT64_MAX;
            resume(l, t);
            ran = true;
        }
        if (t->ended) {
            *at = t->next;
            task_free(t);
        } else {
            at = &t->next;
        }
    }
    return ran;
}

static struct pollfd *room_for(struct task_loop *l, size_t n)
{
    if (n > l->cap_fds) {
        l->cap_fds = n * 2;
        l->fds = xrealloc(l->fds, l->cap_fds * sizeof *l->fds);
    }
    return l->fds;
}

/* Real ms until the first task's moment: 0 … INT32_MAX, or -1 for no limit. */
static int sleep_ms(const struct task_loop *l)
{
    int64_t until_ms = INT64_MAX;
    for (const struct task *t = l->tasks; t != NULL; t = t->next) {
        until_ms = t->until_ms < until_ms ? t->until_ms : until_ms;
    }
    if (until_ms == INT64_MAX) {
        return -1;
    }
    int64_t ms = until_ms - clock_now_ms(clock_real());
    return ms < 0 ? 0 : ms > INT32_MAX ? INT32_MAX : (int)ms;
}

/* Hands what the kernel said back to the tasks' own arrays. */
static void deliver(struct task_loop *l, const struct pollfd *from)
{
    for (struct task *t = l->tasks; t != NULL; t = t->next) {
        for (nfds_t i = 0; i < t->n_fds; i++) {
            t->fds[i].revents = from->revents;
            t->has_ready_fds |= from->revents != 0;
            from++;
        }
    }
}

static void poll_all(struct task_loop *l, int ms)
{
    size_t n = 1;
    for (const struct task *t = l->tasks; t != NULL; t = t->next) {
        n += t->n_fds;
    }
    struct pollfd *fds = room_for(l, n);
    fds[0] = (struct pollfd){.fd = l->wake_fd, .events = POLLIN};
    n = 1;
    for (const struct task *t = l->tasks; t != NULL; t = t->next) {
        for (nfds_t i = 0; i < t->n_fds; i++) {
            fds[n++] = (struct pollfd){.fd = t->fds[i].fd, .events = t->fds[i].events};
        }
    }
    if (poll(fds, n, ms) <= 0) {
        return; /* late ones are found by the clock; EINTR: the next round asks again */
    }
    deliver(l, fds + 1);
    if (fds[0].revents != 0) {
        uint64_t count;
        ssize_t got = read(l->wake_fd, &count, sizeof count);
        (void)got;
    }
}

void task_loop_run(struct task_loop *l)
{
    assert(current == NULL);
    fiber_init_thread(&l->fiber);
    for (;;) {
        atomic_store(&l->poked, false);
        take_started(l);
        bool ran = run_ready(l);
        mutex_lock(&l->lock);
        bool over = l->tasks == NULL && l->started == NULL;
        mutex_unlock(&l->lock);
        if (over) {
            return;
        }
        poll_all(l, ran ? 0 : sleep_ms(l));
    }
}
