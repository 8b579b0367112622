/* SPDX-License-Identifier: Apache-2.0 */
/* arena.c: the arena allocator, and the malloc family that aborts.
 *
 * An arena is a chain of blocks; the newest one is filled from its front.  A request that does not
 * fit opens a new block, each twice as large as the one before up to BLOCK_MAX; a request larger
 * than that gets a block of its own behind the newest, so that the rest of the newest stays usable.
 * Deferred functions are a list inside the arena itself, newest first.
 * In a build with tests given-back memory is filled with a pattern; under AddressSanitizer a reset
 * gives every block back instead, so that stale pointers are reported.  One owner at a time; no
 * locks. */
#include "common/base/arena.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "common/base/format.h"

#define ALIGN       16u
#define BLOCK_FIRST ((size_t)1024)
#define BLOCK_MAX   ((size_t)4 * 1024) /* half of the last one is unused, on average */
#define PRINT_FIRST 256
#define TRIM_FROM   ((size_t)4 * 1024 * 1024) /* filling it took ten times as long as the trim */

#if defined(__SANITIZE_ADDRESS__)
#define KEEP_A_BLOCK 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KEEP_A_BLOCK 0
#endif
#endif
#ifndef KEEP_A_BLOCK
#define KEEP_A_BLOCK 1
#endif

struct block {
    struct block *next; /* older */
    size_t cap;         /* bytes of data */
    size_t used;        /* bytes handed out, rounded to ALIGN */
    size_t pad_;        /* keeps data aligned */
    unsigned char data[];
};
_Static_assert(offsetof(struct block, data) % ALIGN == 0, "data must be aligned for any type");

struct deferred {
    struct deferred *next; /* registered earlier */
    void (*fn)(void *arg);
    void *arg;
};

struct arena {
    struct block *blocks;      /* newest first; owned */
    struct deferred *deferred; /* newest first; lives in the blocks */
    size_t next_cap;           /* size of the next ordinary block */
    size_t used;               /* bytes asked for since the last reset */
};

static void run_deferred(struct arena *a);
static void block_poison(struct block *b);
static _noinline_ unsigned char *block_take(struct arena *a, size_t rounded);

struct arena *arena_new(void)
{
    struct arena *a = xcalloc(1, sizeof *a);
    a->next_cap = BLOCK_FIRST;
    return a;
}

void arena_free(struct arena *a)
{
    if (a == NULL) {
        return;
    }
    run_deferred(a);
    while (a->blocks != NULL) {
        struct block *b = a->blocks;
        a->blocks = b->next;
        block_poison(b);
        free(b);
    }
    if (a->used >= TRIM_FROM) {
        (void)malloc_trim(0); /* what was kept meanwhile lies between its blocks, and holds them */
    }
    free(a);
}

void arena_reset(struct arena *a)
{
    run_deferred(a);
    struct block *keep = NULL;
    while (a->blocks != NULL) {
        struct block *b = a->blocks;
        a->blocks = b->next;
        block_poison(b);
        if (KEEP_A_BLOCK && b->cap <= BLOCK_MAX && (keep == NULL || b->cap > keep->cap)) {
            free(keep);
            keep = b;
        } else {
            free(b);
        }
    }
    if (keep != NULL) {
        keep->next = NULL;
        keep->used = 0;
    } else {
        a->next_cap = BLOCK_FIRST;
    }
    a->blocks = keep;
    a->used = 0;
}

size_t arena_used(const struct arena *a)
{
    return a->used;
}

/* Room for `size` bytes, which the caller fills; *ret_room is how many there are. */
static inline void *take(struct arena *a, size_t size, size_t *ret_room)
{
    if (size > SIZE_MAX / 2) {
        out_of_memory(size);
    }
    size_t rounded = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (rounded == 0) {
        rounded = ALIGN; /* a pointer of its own also for size 0 */
    }
    struct block *b = a->blocks;
    unsigned char *p;
    if (b != NULL && b->cap - b->used >= rounded) {
        p = b->data + b->used;
        b->used += rounded;
    } else {
        p = block_take(a, rounded);
    }
    a->used += size;
    *ret_room = rounded;
    return p;
}

void *arena_alloc(struct arena *a, size_t size)
{
    size_t room;
    void *p = take(a, size, &room);
    return memset(p, 0, room);
}

/* The same without zeros, for what is overwritten as a whole. */
static inline void *arena_room(struct arena *a, size_t size)
{
    size_t room;
    return take(a, size, &room);
}

void *arena_calloc(struct arena *a, size_t n, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(n, size, &total)) {
        out_of_memory(SIZE_MAX);
    }
    return arena_alloc(a, total);
}

char *arena_strdup(struct arena *a, const char *s)
{
    return s == NULL ? NULL : arena_memdup(a, s, strlen(s) + 1);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    if (s == NULL) {
        return NULL;
    }
    size_t len = strnlen(s, n);
    char *copy = arena_room(a, len + 1);
    memcpy(copy, s, len);
    copy[len] = '\0';
    return copy;
}

void *arena_memdup(struct arena *a, const void *p, size_t n)
{
    if (p == NULL) {
        return NULL;
    }
    void *copy = arena_room(a, n);
    memcpy(copy, p, n);
    return copy;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *text = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return text;
}

char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
    char first[PRINT_FIRST]; /* most texts are short, and are formatted once only */
    va_list again;
    va_copy(again, ap);
    int len = format_text(first, sizeof(first), fmt, again);
    va_end(again);
    if (len < 0) {
        out_of_memory(0); /* only a broken format or more than INT_MAX bytes come here */
    }
    size_t size = (size_t)len + 1;
    char *text = arena_room(a, size);
    if (size <= sizeof(first)) {
        memcpy(text, first, size);
    } else {
        (void)format_text(text, size, fmt, ap); /* the length is known to fit */
    }
    return text;
}

void arena_defer(struct arena *a, void (*fn)(void *arg), void *arg)
{
    struct deferred *d = ARENA_NEW(a, struct deferred);
    d->fn = fn;
    d->arg = arg;
    d->next = a->deferred;
    a->deferred = d;
}

void *xmalloc(size_t size)
{
    void *p = malloc(size > 0 ? size : 1);
    if (p == NULL) {
        out_of_memory(size);
    }
    return p;
}

void *xcalloc(size_t n, size_t size)
{
    void *p = calloc(n > 0 ? n : 1, size > 0 ? size : 1);
    if (p == NULL) {
        out_of_memory(size);
    }
    return p;
}

void *xrealloc(void *p, size_t size)
{
    void *q = realloc(p, size > 0 ? size : 1);
    if (q == NULL) {
        out_of_memory(size);
    }
    return q;
}

char *xstrdup(const char *s)
{
    return s == NULL ? NULL : xstrndup(s, strlen(s));
}

char *xstrndup(const char *s, size_t n)
{
    if (s == NULL) {
        return NULL;
    }
    size_t len = strnlen(s, n);
    char *copy = xmalloc(len + 1);
    memcpy(copy, s, len);
    copy[len] = '\0';
    return copy;
}

char *xasprintf(const char *fmt, ...)
{
    va_list ap;
    char *text = NULL;
    va_start(ap, fmt);
    int len = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (len < 0) {
        out_of_memory(0);
    }
    return text;
}

void out_of_memory(size_t size)
{
    if (size > 0) {
        fprintf(stderr, "out of memory: %zu bytes more are needed; raise the memory limit\n", size);
    } else {
        fprintf(stderr, "out of memory; raise the memory limit\n");
    }
    abort();
}

/* A function may defer another one or allocate: both are seen to before the blocks go. */
static void run_deferred(struct arena *a)
{
    while (a->deferred != NULL) {
        struct deferred *d = a->deferred;
        a->deferred = d->next;
        d->fn(d->arg);
    }
}

static void block_poison(struct block *b)
{
#ifdef ARENA_POISON
    memset(b->data, ARENA_POISON, b->used);
#else
    (void)b;
#endif
}

static unsigned char *block_take(struct arena *a, size_t rounded)
{
    size_t cap = a->next_cap;
    int own_block = rounded > cap / 2;
    if (own_block) {
        cap = rounded;
    } else if (a->next_cap < BLOCK_MAX) {
        a->next_cap *= 2;
    }
    struct block *b = xmalloc(sizeof *b + cap);
    b->cap = cap;
    b->used = rounded;
    b->pad_ = 0;
    if (own_block && a->blocks != NULL) {
        b->next = a->blocks->next;
        a->blocks->next = b;
    } else {
        b->next = a->blocks;
        a->blocks = b;
    }
    return b->data;
}
