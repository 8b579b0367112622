/* SPDX-License-Identifier: Apache-2.0 */
/* gce_told.c: see gce_told.h.  Maps behind a lock each. */
#include "providers/gce/gce_told.h"

#include "common/base/arena.h"
#include "common/base/lock.h"
#include "common/base/map.h"
#include "common/base/str.h"

#include <stdlib.h>

#define TOLD_MAX 50000 /* more than that: begin anew, some events come twice */

struct gce_told {
    struct mutex lock;
    struct map *texts _guarded_by_(lock);
};

struct gce_told *gce_told_new(void)
{
    struct gce_told *t = xcalloc(1, sizeof(*t));
    mutex_init(&t->lock);
    t->texts = map_new(free);
    return t;
}

void gce_told_free(struct gce_told *t)
{
    if (t == NULL) {
        return;
    }
    map_free(t->texts);
    mutex_done(&t->lock);
    free(t);
}

bool gce_told_is_news(struct gce_told *t, const char *about, const char *text)
{
    mutex_lock(&t->lock);
    bool news = !str_eq(map_get(t->texts, about), text);
    if (news) {
        if (map_size(t->texts) >= TOLD_MAX) {
            map_clear(t->texts);
        }
        map_set(t->texts, about, xstrdup(text));
    }
    mutex_unlock(&t->lock);
    return news;
}

void gce_told_forget(struct gce_told *t, const char *about)
{
    mutex_lock(&t->lock);
    (void)map_remove(t->texts, about);
    mutex_unlock(&t->lock);
}

/* ---- states ------------------------------------------------------------------------------------------ */

struct gce_states {
    struct mutex lock;
    struct map *by_key _guarded_by_(lock); /* "status/deny" */
    struct map *counts
        _guarded_by_(lock); /* of each of these, size_t: nobody counts all Services at each sync */
};

struct gce_states *gce_states_new(void)
{
    struct gce_states *s = xcalloc(1, sizeof(*s));
    mutex_init(&s->lock);
    s->by_key = map_new(free);
    s->counts = map_new(free);
    return s;
}

void gce_states_free(struct gce_states *s)
{
    if (s == NULL) {
        return;
    }
    map_free(s->by_key);
    map_free(s->counts);
    mutex_done(&s->lock);
    free(s);
}

static void count(struct gce_states *s, const struct tt_host *host, const char *state, int by)
    _requires_(s->lock)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    size_t n_parts;
    char **parts = str_split(a, state, '/', &n_parts);
    size_t *n = map_get(s->counts, state);
    if (n == NULL) {
        n = xcalloc(1, sizeof(*n));
        map_set(s->counts, state, n);
    }
    *n += (size_t)by;
    const struct tt_kv labels[] = {{"status", parts[0]}, {"deny_firewall", parts[1]}};
    host->metric_set(host->ctx, "number_of_l4_netlbs", labels, ARRAY_LEN(labels), (double)*n);
}

void gce_states_set(struct gce_states *s, const struct tt_host *host, const char *key,
                    const char *status, const char *deny)
{
    mutex_lock(&s->lock);
    const char *before = map_get(s->by_key, key);
    char *after = status == NULL ? NULL : xasprintf("%s/%s", status, deny);
    bool same = str_eq(before, after);
    if (!same && before != NULL) {
        count(s, host, before, -1);
    }
    if (!same && after != NULL) {
        count(s, host, after, 1);
        map_set(s->by_key, key, STEAL(after));
    } else if (!same) {
        (void)map_remove(s->by_key, key);
    }
    free(after);
    mutex_unlock(&s->lock);
}
