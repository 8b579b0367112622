/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h: memory that is given back all at once.
 *
 * One arena lives as long as one sync (CONTRIBUTING.md), one request of the simulator, or one
 * command.  Strings and structures of desired, observed and plan live here and are const once
 * built.  Nothing arena-owned may outlive the arena; in debug builds freed memory is poisoned so
 * that a stale pointer is found at once.  Out of memory aborts the process: it is crash-only and
 * level-triggered.  Not thread-safe: one owner at a time. */
#ifndef TRIMTAB_BASE_ARENA_H
#define TRIMTAB_BASE_ARENA_H

#include "common/base/attr.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct arena;

/* A new empty arena; free with arena_free().  Never NULL. */
struct arena *arena_new(void) _warn_unused_;
/* Frees `a` and everything in it, running the deferred functions newest first.  NULL is fine. */
void arena_free(struct arena *a);
/* Empties `a` for the next use, keeping one block; deferred functions run.  Same as
 * a fresh arena. */
void arena_reset(struct arena *a);
/* Bytes handed out since the last reset (not counting overhead). */
size_t arena_used(const struct arena *a);

/* `size` zeroed bytes, aligned for any type.  Never NULL, also for size 0. */
void *arena_alloc(struct arena *a, size_t size) _warn_unused_;
/* `n` zeroed elements; aborts when the product overflows. */
void *arena_calloc(struct arena *a, size_t n, size_t size) _warn_unused_;
/* Copies; the NULL pointer copies to NULL. */
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t n); /* stops at a NUL like strndup */
void *arena_memdup(struct arena *a, const void *p, size_t n);
/* printf into the arena. */
char *arena_printf(struct arena *a, const char *fmt, ...) _printf_(2, 3);
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap) _printf_(2, 0);
/* Calls fn(arg) when the arena is freed or reset: for the few foreign objects (a JSON tree, a
 * referenced store object) whose life is that of a sync. */
void arena_defer(struct arena *a, void (*fn)(void *arg), void *arg);

#define ARENA_NEW(a, type)      ((type *)arena_alloc((a), sizeof(type)))
#define ARENA_ARRAY(a, type, n) ((type *)arena_calloc((a), (n), sizeof(type)))

/* For _cleanup_(arena_freep). */
static inline void arena_freep(struct arena **a)
{
    arena_free(*a);
}

/* Ends the process, with a line on stderr.  `size` in bytes, 0 when the library that has
 * none does not say. */
void out_of_memory(size_t size) _noreturn_;
/* malloc family that aborts when memory is out; for what outlives an arena.  Free with free(). */
void *xmalloc(size_t size) _warn_unused_ _malloc_;
void *xcalloc(size_t n, size_t size) _warn_unused_ _malloc_;
void *xrealloc(void *p, size_t size) _warn_unused_;
char *xstrdup(const char *s) _warn_unused_; /* NULL gives NULL */
char *xstrndup(const char *s, size_t n) _warn_unused_;
char *xasprintf(const char *fmt, ...) _printf_(1, 2) _warn_unused_;

/* For _cleanup_(xfreep) on a pointer of any type. */
static inline void xfreep(void *p)
{
    free(*(void **)p);
}

#endif
