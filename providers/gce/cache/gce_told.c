/* SPDX-License-Identifier: Apache-2.0 */
/* gce_told.c: see gce_told.h.  A map behind a lock. */
#include "providers/gce/cache/gce_told.h"

#include "common/base/lock.h"
#include "common/base/map.h"
#include "common/base/str.h"

#include <stdlib.h>

#define TOLD_MAX 50000 /* more than that: begin again, some events come twice */

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

const char *gce_told_text(struct gce_told *t, struct arena *a, const char *about)
{
    mutex_lock(&t->lock);
    const char *text = arena_strdup(a, str_nonnull(map_get(t->texts, about)));
    mutex_unlock(&t->lock);
    return text;
}

void gce_told_forget(struct gce_told *t, const char *about)
{
    mutex_lock(&t->lock);
    (void)map_remove(t->texts, about);
    mutex_unlock(&t->lock);
}
