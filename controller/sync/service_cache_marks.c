/* SPDX-License-Identifier: Apache-2.0 */
/* service_cache_marks.c: the mark of what trimtab made or edited (sync_mark.c), as far as this
 * process has written it, or owes it.  Part of service_cache.h. */
#include <stdlib.h>

#include "common/base/str.h"
#include "controller/sync/service_cache_internal.h"

void service_cache_note_marked(struct service_cache *c, const char *key, const char *uid,
                               enum mark mark)
{
    mutex_lock(&c->lock);
    struct known *e = index_get(&c->entries, key);
    if (e != NULL && (uid != NULL || e->rare != NULL)) {
        struct rare *r = service_cache_rare_of(e);
        free(r->marked_uid);
        r->marked_uid = uid == NULL ? NULL : xstrdup(uid);
        r->mark = mark;
        r->owed = false;
        service_cache_tidy_rare(e);
    }
    mutex_unlock(&c->lock);
}

enum mark service_cache_marked(struct service_cache *c, const char *key, const char *uid)
{
    mutex_lock(&c->lock);
    const struct known *e = index_get(&c->entries, key);
    const struct rare *r = e == NULL ? NULL : e->rare;
    bool marked = r != NULL && r->marked_uid != NULL && str_eq(r->marked_uid, uid);
    enum mark mark = marked ? r->mark : MARK_NONE;
    mutex_unlock(&c->lock);
    return mark;
}

void service_cache_owe_mark(struct service_cache *c, const char *key)
{
    mutex_lock(&c->lock);
    const struct known *e = index_get(&c->entries, key);
    if (e != NULL && e->rare != NULL && e->rare->marked_uid != NULL) {
        e->rare->owed = true;
    }
    mutex_unlock(&c->lock);
}

bool service_cache_owes_mark(struct service_cache *c, const char *key, const char *uid)
{
    mutex_lock(&c->lock);
    const struct known *e = index_get(&c->entries, key);
    const struct rare *r = e == NULL ? NULL : e->rare;
    bool owes = r != NULL && r->owed && r->marked_uid != NULL && str_eq(r->marked_uid, uid);
    mutex_unlock(&c->lock);
    return owes;
}
