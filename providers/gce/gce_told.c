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
};

struct gce_states *gce_states_new(void)
{
    struct gce_states *s = xcalloc(1, sizeof(*s));
    mutex_init(&s->lock);
    s->by_key = map_new(free);
    return s;
}

void gce_states_free(struct gce_states *s)
{
    if (s == NULL) {
        return;
    }
    map_free(s->by_key);
    mutex_done(&s->lock);
    free(s);
}

struct count {
    const char *state;
    unsigned n;
};

static bool count_one(const char *key, void *value, void *arg)
{
    (void)key;
    struct count *c = arg;
    c->n += str_eq(value, c->state);
    return true;
}

static void set_gauge(struct gce_states *s, const struct tt_host *host, const char *state)
    _requires_(s->lock)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct count c = {.state = state};
    size_t n;
    char **parts = str_split(a, state, '/', &n);
    map_each(s->by_key, count_one, &c);
    const struct tt_kv labels[] = {{"status", parts[0]}, {"deny_firewall", parts[1]}};
    host->metric_set(host->ctx, "number_of_l4_netlbs", labels, ARRAY_LEN(labels), c.n);
}

void gce_states_set(struct gce_states *s, const struct tt_host *host, const char *key,
                    const char *status, const char *deny)
{
    mutex_lock(&s->lock);
    char *before = map_take(s->by_key, key);
    char *after = status == NULL ? NULL : xasprintf("%s/%s", status, deny);
    bool same = str_eq(before, after);
    if (after != NULL) {
        map_set(s->by_key, key, after);
    }
    if (!same && before != NULL) {
        set_gauge(s, host, before);
    }
    if (!same && after != NULL) {
        set_gauge(s, host, after);
    }
    free(before);
    mutex_unlock(&s->lock);
}
