/* SPDX-License-Identifier: Apache-2.0 */
/* task_fiber.h: tells AddressSanitizer and ThreadSanitizer that a thread changes its stack; nothing in other builds.
 *
 * A struct fiber is one stack: a task's, or the one of the thread that runs them.  Each switch is fiber_leave() on the old
 * stack and fiber_arrived() on the new one.  Private to task.c.  Thread rule: task.c's.
 * Source: <sanitizer/common_interface_defs.h>, <sanitizer/tsan_interface.h>. */
#ifndef TRIMTAB_BASE_TASK_FIBER_H
#define TRIMTAB_BASE_TASK_FIBER_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define FIBER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FIBER_TSAN 1
#endif
#endif

#ifdef FIBER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef FIBER_TSAN
#include <sanitizer/tsan_interface.h>
#endif

struct fiber {
    const void *stack; /* lowest address; NULL: not known yet */
    size_t n;
    void *fake; /* ASan's stack for locals that are looked at after their function returned */
    void *tsan;
};

static inline void fiber_init(struct fiber *f, const void *stack, size_t n)
{
    *f = (struct fiber){.stack = stack, .n = n};
#ifdef FIBER_TSAN
    f->tsan = __tsan_create_fiber(0);
#endif
}

static inline void fiber_init_thread(struct fiber *f)
{
    *f = (struct fiber){.stack = NULL};
#ifdef FIBER_TSAN
    f->tsan = __tsan_get_current_fiber();
#endif
}

/* The addresses may be another stack's soon. */
static inline void fiber_done(struct fiber *f)
{
#ifdef FIBER_ASAN
    __asan_unpoison_memory_region(f->stack, f->n);
#endif
#ifdef FIBER_TSAN
    __tsan_destroy_fiber(f->tsan);
#endif
    (void)f;
}

/* Right before the switch from `from` to `to`.  Inlined always: ThreadSanitizer counts the returns on each stack. */
__attribute__((always_inline)) static inline void fiber_leave(struct fiber *from, struct fiber *to)
{
#ifdef FIBER_ASAN
    __sanitizer_start_switch_fiber(&from->fake, to->stack, to->n);
#endif
#ifdef FIBER_TSAN
    __tsan_switch_to_fiber(to->tsan, 0);
#endif
    (void)from;
    (void)to;
}

/* The same at the end of a task, whose stack is not used again. */
__attribute__((always_inline)) static inline void fiber_leave_for_good(struct fiber *to)
{
#ifdef FIBER_ASAN
    __sanitizer_start_switch_fiber(NULL, to->stack, to->n);
#endif
#ifdef FIBER_TSAN
    __tsan_switch_to_fiber(to->tsan, 0);
#endif
    (void)to;
}

/* Right after the switch, on the stack of `on`.  `from`: the thread's, when a task begins; where its stack lies is learnt
 * then. */
__attribute__((always_inline)) static inline void fiber_arrived(struct fiber *on,
                                                                struct fiber *from)
{
#ifdef FIBER_ASAN
    const void *stack = NULL;
    size_t n = 0;
    __sanitizer_finish_switch_fiber(on->fake, &stack, &n);
    if (from != NULL) {
        from->stack = stack;
        from->n = n;
    }
#endif
    (void)on;
    (void)from;
}

#endif
