/* SPDX-License-Identifier: Apache-2.0 */
/* keep.c: slabs of records of one size (keep.h).
 *
 * A slab begins at a multiple of its size, so a record's address says where its slab is.  In it
 * records are handed out one behind the other; those that were given back are a list, by their
 * numbers.  Slabs come from regions of a MiB, which stay mapped: of an empty slab the pages go. */
#include "common/base/keep.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/base/arena.h"
#include "common/base/lock.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) ||                         \
    __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#define STEP    ((size_t)8) /* sizes are multiples of it */
#define LARGEST ((size_t)512)
#define CLASSES (LARGEST / STEP + 1)
#define SLAB    ((size_t)32 * 1024)
#define REGION  ((size_t)1024 * 1024)
#define NONE    UINT16_MAX

struct slab {
    struct slab *next, *prev; /* of those of its class with room */
    uint16_t class;           /* size of a record / STEP */
    uint16_t used;
    uint16_t fresh; /* records from this one on were never handed out */
    uint16_t back;  /* the first that was given back; NONE */
    uint64_t records[];
};

static struct {
    struct mutex lock;
    struct slab *room[CLASSES]; /* slabs that are not full */
    void **spare;               /* slabs without pages */
    size_t n_spare, cap_spare;
    size_t used; /* bytes of records */
} kept = {.lock = MUTEX_INIT};

/* ---- slabs ----------------------------------------------------------------------------------- */

static void add_spare(void *slab)
{
    if (kept.n_spare == kept.cap_spare) {
        kept.cap_spare = kept.cap_spare == 0 ? REGION / SLAB : 2 * kept.cap_spare;
        kept.spare = xrealloc(kept.spare, kept.cap_spare * sizeof(*kept.spare));
    }
    kept.spare[kept.n_spare++] = slab;
}

static void more_spare(void)
{
    char *at =
        mmap(NULL, REGION + SLAB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED) {
        out_of_memory(REGION);
    }
    char *first = (char *)(((uintptr_t)at + SLAB - 1) & ~(uintptr_t)(SLAB - 1));
    for (size_t n = REGION / SLAB; n > 0; n--) {
        add_spare(first + (n - 1) * SLAB); /* the lowest is taken first */
    }
}

static void link_slab(struct slab *s)
{
    struct slab **head = &kept.room[s->class];

    s->prev = NULL;
    s->next = *head;
    if (s->next != NULL) {
        s->next->prev = s;
    }
    *head = s;
}

static void unlink_slab(struct slab *s)
{
    if (s->prev != NULL) {
        s->prev->next = s->next;
    } else {
        kept.room[s->class] = s->next;
    }
    if (s->next != NULL) {
        s->next->prev = s->prev;
    }
}

static size_t room_of(const struct slab *s)
{
    return (SLAB - sizeof *s) / (s->class * STEP);
}

static struct slab *slab_with_room(size_t class)
{
    if (kept.room[class] != NULL) {
        return kept.room[class];
    }
    if (kept.n_spare == 0) {
        more_spare();
    }
    struct slab *s = kept.spare[--kept.n_spare];
    *s = (struct slab){.class = (uint16_t) class, .back = NONE};
    link_slab(s);
    return s;
}

/* One empty slab of each size stays as it is, for the next record. */
static void release_slab(struct slab *s)
{
    if (s->next == NULL && s->prev == NULL) {
        return;
    }
    unlink_slab(s);
    add_spare(s);
    (void)madvise(s, SLAB, MADV_DONTNEED); /* where it fails the pages stay */
}

static char *record_at(struct slab *s, size_t i)
{
    return (char *)s->records + i * s->class * STEP;
}

/* ---- records --------------------------------------------------------------------------------- */

static size_t class_of(size_t size)
{
    return size == 0 ? 1 : (size + STEP - 1) / STEP;
}

void *keep_alloc(size_t size)
{
    if (SANITIZED || size > LARGEST) {
        return xcalloc(1, size == 0 ? 1 : size);
    }
    mutex_lock(&kept.lock);
    struct slab *s = slab_with_room(class_of(size));
    size_t i = s->back != NONE ? s->back : s->fresh++;
    char *record = record_at(s, i);
    if (i == s->back) {
        memcpy(&s->back, record, sizeof s->back);
    }
    if (++s->used == room_of(s)) {
        unlink_slab(s);
    }
    kept.used += s->class * STEP;
    mutex_unlock(&kept.lock);
    return memset(record, 0, size);
}

void keep_free(void *p, size_t size)
{
    if (SANITIZED || size > LARGEST || p == NULL) {
        free(p);
        return;
    }
    struct slab *s = (struct slab *)((uintptr_t)p & ~(uintptr_t)(SLAB - 1));
    mutex_lock(&kept.lock);
    if (s->class != class_of(size)) { /* it would be handed out again as another's */
        abort();
    }
    memset(p, 0xdd, size); /* a stale pointer is found at once */
    memcpy(p, &s->back, sizeof s->back);
    s->back = (uint16_t)((size_t)((char *)p - (char *)s->records) / (s->class * STEP));
    if (s->used-- == room_of(s)) {
        link_slab(s);
    }
    kept.used -= s->class * STEP;
    if (s->used == 0) {
        release_slab(s);
    }
    mutex_unlock(&kept.lock);
}

void *keep_resize(void *p, size_t old, size_t size)
{
    if (!SANITIZED && p != NULL && size > 0 && size <= LARGEST && old <= LARGEST &&
        class_of(old) == class_of(size)) {
        if (size > old) {
            memset((char *)p + old, 0, size - old);
        }
        return p;
    }
    void *now = size == 0 ? NULL : keep_alloc(size);
    if (now != NULL && p != NULL) {
        memcpy(now, p, old < size ? old : size);
    }
    keep_free(p, old);
    return now;
}

size_t keep_used(void)
{
    mutex_lock(&kept.lock);
    size_t used = kept.used;
    mutex_unlock(&kept.lock);
    return used;
}
