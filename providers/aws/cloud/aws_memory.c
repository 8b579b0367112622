/* SPDX-License-Identifier: Apache-2.0 */
/* aws_memory.c: see aws_memory.h. */
#include "providers/aws/cloud/aws_memory.h"

#include "common/base/lock.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "providers/aws/cloud/aws_memory_internal.h"

#include <stdlib.h>

struct made {
    char *arn;
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
    int64_t balancer_made_ms; /* 0: none is known of */
    int64_t wrote_ms;         /* 0: never */
    int64_t unsure_ms;        /* 0: never */
};
/* That one; NULL: all. */
static void drop_made(struct known *k, const char *arn)
{
    for (struct made **at = &k->made; *at != NULL;) {
        struct made *m = *at;
        if (arn == NULL || str_eq(m->arn, arn)) {
            *at = m->next;
            free(m->arn);
            free(m);
        } else {
            at = &m->next;
        }
    }
}

static void known_free(void *arg)
{
    struct known *k = arg;
    drop_made(k, NULL);
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
        k->made == NULL && k->balancer_made_ms == 0 && k->wrote_ms == 0 && k->unsure_ms == 0) {
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
    if (str_is_empty(id)) {
        return;
    }
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

void aws_memory_target_group_made(struct aws_memory *m, const char *uid, const char *arn,
                                  int64_t now_ms)
{
    if (str_is_empty(arn)) {
        return;
    }
    struct made *made = xcalloc(1, sizeof(*made));
    *made = (struct made){.arn = xstrdup(arn), .ms = now_ms};
    mutex_lock(&m->lock);
    struct known *k = entry(m, uid);
    drop_made(k, arn);
    made->next = k->made;
    k->made = made;
    mutex_unlock(&m->lock);
}

void aws_memory_target_group_gone(struct aws_memory *m, const char *uid, const char *arn)
{
    mutex_lock(&m->lock);
    struct known *k = map_get(m->by_uid, uid);
    if (k != NULL) {
        drop_made(k, str_nonnull(arn));
    }
    tidy(m, uid);
    mutex_unlock(&m->lock);
}

const char *aws_memory_unshown_group(struct aws_memory *m, struct arena *a, const char *uid,
                                     int64_t since_ms, const struct str_set *shown)
{
    const char *arn = NULL;
    mutex_lock(&m->lock);
    const struct known *k = map_get(m->by_uid, uid);
    for (const struct made *at = k != NULL ? k->made : NULL; at != NULL; at = at->next) {
        if (at->ms >= since_ms && !str_set_has(shown, at->arn)) {
            arn = arena_strdup(a, at->arn);
        }
    }
    mutex_unlock(&m->lock);
    return arn;
}

void aws_memory_balancer_made(struct aws_memory *m, const char *uid, int64_t now_ms)
{
    mutex_lock(&m->lock);
    entry(m, uid)->balancer_made_ms = now_ms;
    entry(m, uid)->bits |= AWS_KNOWS_ALL;
    mutex_unlock(&m->lock);
}

/* It was there to be deleted: what was changed before that has been shown. */
void aws_memory_balancer_gone(struct aws_memory *m, const char *uid)
{
    mutex_lock(&m->lock);
    struct known *k = entry(m, uid);
    k->balancer_made_ms = 0;
    k->wrote_ms = 0;
    tidy(m, uid);
    mutex_unlock(&m->lock);
}

int64_t aws_memory_balancer_made_ms(struct aws_memory *m, const char *uid)
{
    mutex_lock(&m->lock);
    const struct known *k = map_get(m->by_uid, uid);
    int64_t made_ms = k != NULL ? k->balancer_made_ms : 0;
    mutex_unlock(&m->lock);
    return made_ms;
}

void aws_memory_wrote(struct aws_memory *m, const char *uid, int64_t now_ms)
{
    mutex_lock(&m->lock);
    entry(m, uid)->wrote_ms = now_ms;
    mutex_unlock(&m->lock);
}

int64_t aws_memory_wrote_ms(struct aws_memory *m, const char *uid)
{
    mutex_lock(&m->lock);
    const struct known *k = map_get(m->by_uid, uid);
    int64_t wrote_ms = k != NULL ? k->wrote_ms : 0;
    mutex_unlock(&m->lock);
    return wrote_ms;
}

void aws_memory_unsure(struct aws_memory *m, const char *uid, int64_t now_ms)
{
    mutex_lock(&m->lock);
    entry(m, uid)->unsure_ms = now_ms;
    mutex_unlock(&m->lock);
}

int64_t aws_memory_unsure_ms(struct aws_memory *m, const char *uid)
{
    mutex_lock(&m->lock);
    const struct known *k = map_get(m->by_uid, uid);
    int64_t unsure_ms = k != NULL ? k->unsure_ms : 0;
    mutex_unlock(&m->lock);
    return unsure_ms;
}

int64_t aws_memory_began_ms(struct aws_memory *m, int64_t now_ms)
{
    mutex_lock(&m->lock);
    m->began_ms = m->has_begun ? m->began_ms : now_ms;
    m->has_begun = true;
    int64_t began_ms = m->began_ms;
    mutex_unlock(&m->lock);
    return began_ms;
}

void aws_memory_drop(struct aws_memory *m, const char *uid)
{
    mutex_lock(&m->lock);
    (void)map_remove(m->by_uid, uid);
    mutex_unlock(&m->lock);
}
