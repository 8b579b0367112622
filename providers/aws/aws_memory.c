/* SPDX-License-Identifier: Apache-2.0 */
/* aws_memory.c: see aws_memory.h. */
#include "providers/aws/aws_memory.h"

#include "common/base/lock.h"
#include "common/base/map.h"
#include "common/base/str.h"

#include <stdlib.h>

struct made {
    enum aws_made kind;
    char *id;
    int64_t ms;
    struct made *next;
};
struct known {
    unsigned bits;
    int64_t waits_since_ms; /* 0: it does not */
    unsigned looks;         /* in a row that wished for another one */
    char *group;            /* NULL: none was made */
    int64_t group_made_ms;
    struct made *made;
};
struct aws_memory {
    struct mutex lock;
    struct map *by_uid _guarded_by_(lock); /* → struct known, heap */
};

/* Those of that kind and id, NULL any; without kind, all. */
static void drop_made(struct known *k, const enum aws_made *kind, const char *id)
{
    for (struct made **at = &k->made; *at != NULL;) {
        struct made *m = *at;
        bool goes = kind == NULL || (m->kind == *kind && (id == NULL || str_eq(m->id, id)));
        if (goes) {
            *at = m->next;
            free(m->id);
            free(m);
        } else {
            at = &m->next;
        }
    }
}

static void known_free(void *arg)
{
    struct known *k = arg;
    drop_made(k, NULL, NULL);
    free(k->group);
    free(k);
}

struct aws_memory *aws_memory_new(void)
{
    struct aws_memory *m = xcalloc(1, sizeof(*m));
    mutex_init(&m->lock);
    mutex_lock(&m->lock);
    m->by_uid = map_new(known_free);
    mutex_unlock(&m->lock);
    return m;
}

void aws_memory_free(struct aws_memory *m)
{
    if (m == NULL) {
        return;
    }
    mutex_lock(&m->lock);
    map_free(m->by_uid);
    mutex_unlock(&m->lock);
    mutex_done(&m->lock);
    free(m);
}

static struct known *entry(struct aws_memory *m, const char *uid) _requires_(m->lock)
{
    struct known *k = map_get(m->by_uid, uid);
    if (k == NULL) {
        k = xcalloc(1, sizeof(*k));
        map_set(m->by_uid, uid, k);
    }
    return k;
}

/* One that says nothing is not kept. */
static void tidy(struct aws_memory *m, const char *uid) _requires_(m->lock)
{
    const struct known *k = map_get(m->by_uid, uid);
    if (k != NULL && k->bits == 0 && k->waits_since_ms == 0 && k->looks == 0 && k->group == NULL &&
        k->made == NULL) {
        (void)map_remove(m->by_uid, uid);
    }
}

unsigned aws_memory_get(struct aws_memory *m, const char *uid)
{
    mutex_lock(&m->lock);
    const struct known *k = map_get(m->by_uid, uid);
    unsigned bits = k != NULL ? k->bits : 0;
    mutex_unlock(&m->lock);
    return bits;
}

void aws_memory_set(struct aws_memory *m, const char *uid, unsigned mask, unsigned bits)
{
    mutex_lock(&m->lock);
    struct known *k = entry(m, uid);
    k->bits = (k->bits & ~mask) | (bits & mask);
    tidy(m, uid);
    mutex_unlock(&m->lock);
}

int64_t aws_memory_waits_since(struct aws_memory *m, const char *uid, int64_t now_ms)
{
    mutex_lock(&m->lock);
    struct known *k = entry(m, uid);
    if (k->waits_since_ms == 0) {
        k->waits_since_ms = now_ms;
    }
    int64_t since = k->waits_since_ms;
    mutex_unlock(&m->lock);
    return since;
}

void aws_memory_waits_over(struct aws_memory *m, const char *uid)
{
    mutex_lock(&m->lock);
    entry(m, uid)->waits_since_ms = 0;
    tidy(m, uid);
    mutex_unlock(&m->lock);
}

unsigned aws_memory_looks(struct aws_memory *m, const char *uid, bool again)
{
    mutex_lock(&m->lock);
    struct known *k = entry(m, uid);
    unsigned before = again ? k->looks : 0;
    k->looks = again ? before + 1 : 0;
    tidy(m, uid);
    mutex_unlock(&m->lock);
    return before;
}

void aws_memory_group_made(struct aws_memory *m, const char *uid, const char *id, int64_t now_ms)
{
    mutex_lock(&m->lock);
    struct known *k = entry(m, uid);
    free(k->group);
    k->group = xstrdup(id);
    k->group_made_ms = now_ms;
    mutex_unlock(&m->lock);
}

void aws_memory_group_gone(struct aws_memory *m, const char *uid, const char *id)
{
    mutex_lock(&m->lock);
    struct known *k = map_get(m->by_uid, uid);
    if (k != NULL && str_eq(k->group, id)) {
        free(k->group);
        k->group = NULL;
    }
    tidy(m, uid);
    mutex_unlock(&m->lock);
}

const char *aws_memory_group(struct aws_memory *m, struct arena *a, const char *uid,
                             int64_t since_ms)
{
    mutex_lock(&m->lock);
    const struct known *k = map_get(m->by_uid, uid);
    bool is_it = k != NULL && k->group != NULL && k->group_made_ms >= since_ms;
    const char *id = is_it ? arena_strdup(a, k->group) : NULL;
    mutex_unlock(&m->lock);
    return id;
}

void aws_memory_made(struct aws_memory *m, const char *uid, enum aws_made kind, const char *id,
                     int64_t now_ms)
{
    struct made *made = xcalloc(1, sizeof(*made));
    *made = (struct made){.kind = kind, .id = xstrdup(id), .ms = now_ms};
    mutex_lock(&m->lock);
    struct known *k = entry(m, uid);
    drop_made(k, &kind, id);
    made->next = k->made;
    k->made = made;
    mutex_unlock(&m->lock);
}

void aws_memory_gone(struct aws_memory *m, const char *uid, enum aws_made kind, const char *id)
{
    mutex_lock(&m->lock);
    struct known *k = map_get(m->by_uid, uid);
    if (k != NULL) {
        drop_made(k, &kind, id);
    }
    tidy(m, uid);
    mutex_unlock(&m->lock);
}

const char *aws_memory_unshown(struct aws_memory *m, struct arena *a, const char *uid,
                               enum aws_made kind, int64_t since_ms, const struct str_set *shown)
{
    const char *id = NULL;
    mutex_lock(&m->lock);
    const struct known *k = map_get(m->by_uid, uid);
    for (const struct made *at = k != NULL ? k->made : NULL; at != NULL; at = at->next) {
        if (at->kind == kind && at->ms >= since_ms && !str_set_has(shown, at->id)) {
            id = arena_strdup(a, at->id);
        }
    }
    mutex_unlock(&m->lock);
    return id;
}

void aws_memory_drop(struct aws_memory *m, const char *uid)
{
    mutex_lock(&m->lock);
    (void)map_remove(m->by_uid, uid);
    mutex_unlock(&m->lock);
}
