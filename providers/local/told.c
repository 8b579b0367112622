/* SPDX-License-Identifier: Apache-2.0 */
/* told.c: events about changes by others, limited so that a program that changes the same thing in
 * a loop does not flood the owner.
 *
 * Of each Service: the words, and how often others changed something within a minute.  The first
 * changes cause one event each, then once a minute.  By the provider's lock. */
#include "providers/local/provider.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "common/lb/findings.h"

#define WINDOW_MS INT64_C(60000)
#define OUTSIDE_MAX                                                                                \
    64 /* Services that get an event after a start; the metric has the number of all */
#define ONE_BY_ONE 5 /* in a window; the next one says that it does not end */

struct told {
    char *text;
    int64_t since_ms; /* begin of the window */
    unsigned n;       /* in the window */
    unsigned before;  /* in the one before */
    bool right;       /* it was corrected since */
};

static void told_free(void *value)
{
    struct told *t = value;

    free(t->text);
    free(t);
}

struct map *local_told_new(void)
{
    return map_new(told_free);
}

static void begin_window(struct told *t, int64_t now_ms)
{
    bool next = now_ms < t->since_ms + 2 * WINDOW_MS;

    t->before = next ? t->n : 0;
    t->n = 0;
    t->since_ms = now_ms;
}

bool local_told_is_new(struct local_provider *p, const char *key, const char *text,
                       unsigned *ret_times)
{
    int64_t now_ms = clock_now_ms(p->clock);
    struct told *t = map_get(p->told, key);

    *ret_times = 0;
    if (t == NULL) {
        t = xcalloc(1, sizeof *t);
        t->since_ms = now_ms;
        map_set(p->told, key, t);
    } else if (!t->right && str_eq(t->text, text)) {
        return false;
    }
    if (now_ms >= t->since_ms + WINDOW_MS) {
        begin_window(t, now_ms);
    }
    free(t->text);
    t->text = xstrdup(text);
    t->right = false;
    t->n++;
    bool goes_on = t->before > ONE_BY_ONE;
    if (goes_on && t->n == 1) {
        *ret_times = t->before;
    } else if (!goes_on && t->n <= ONE_BY_ONE + 1) {
        *ret_times = t->n <= ONE_BY_ONE ? 1 : t->n;
    }
    return true;
}

/* The controller tells findings with an edit; this one comes of an edit of the configuration.
 * Directors leave it to the allocator. */
void local_told_outside(struct lb_sync *s, const struct lb_item *item, const char *addr)
{
    struct local_provider *p = s->provider;
    const char *text = arena_printf(s->a, LOCAL_OUTSIDE_FORMAT, addr);

    lb_finding(s, item, "AddressOutsidePools", NULL, "%s", text);
    if (s->planning || p->follows || (item->in->reasons & TT_REASON_SPEC) != 0 ||
        map_has(p->outside, item->key)) {
        return;
    }
    map_set(p->outside, item->key, NULL);
    if (map_size(p->outside) <= OUTSIDE_MAX) {
        p->host->event(p->host->ctx, item->in->service, TT_EVENT_WARNING, "AddressOutsidePools",
                       text);
    }
}

void local_told_right(struct local_provider *p, const char *key)
{
    struct told *t = map_get(p->told, key);

    if (t != NULL && clock_now_ms(p->clock) >= t->since_ms + 2 * WINDOW_MS) {
        (void)map_remove(p->told, key);
    } else if (t != NULL) {
        t->right = true;
    }
}
