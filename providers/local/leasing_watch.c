/* SPDX-License-Identifier: Apache-2.0 */
/* leasing_watch.c: what the host's watch shows of Leases, and when that does in place of a list
 * (leasing.h).
 *
 * The watch's thread keeps what it hears in the view (leases/lease_view.h) and wakes the thread of
 * leasing_talk.c, which looks at it.  At rest nothing is listed: each renewal comes back through
 * the watch, which shows that it works. */
#include <stdlib.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/base/str.h"
#include "providers/local/leasing.h"

static void changed(void *arg, const char *type, const char *json, size_t n)
{
    struct local_leasing *l = arg;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct json_object *o = NULL;
    struct local_lease lease;

    if (json_parse_arena(a, json, n, NULL, &o, NULL) != ERR_OK ||
        !local_lease_read(a, l->p->config, o, &lease)) {
        return;
    }
    mutex_lock(&l->lock);
    if (strcmp(type, "DELETED") == 0) {
        local_lease_view_drop(l->view, lease.seen.name);
    } else {
        local_lease_view_put(l->view, &lease);
    }
    l->news = true;
    cond_signal(&l->changed);
    mutex_unlock(&l->lock);
}

void local_leasing_watch_start(struct local_leasing *l)
{
    static const struct tt_kube_ref ref = {
        .api_version = LOCAL_LEASE_VERSION, .resource = "leases", .ns = LOCAL_LEASE_NAMESPACE};
    const struct local_provider *p = l->p;
    const struct tt_host *host = p->host;
    const char *label = arena_printf(p->a, LOCAL_LEASE_LABEL "=%s", p->config->instance);

    if (host->kube_watch == NULL) {
        return;
    }
    mutex_lock(&l->lock);
    l->view = local_lease_view_new(p->director, local_lease_groups(p->config));
    mutex_unlock(&l->lock);
    if (host->kube_watch(host->ctx, &ref, label, changed, l) != TT_OK) {
        mutex_lock(&l->lock);
        local_lease_view_free(STEAL(l->view));
        mutex_unlock(&l->lock);
    }
}

void local_leasing_watch_wrote(struct local_leasing *l)
{
    mutex_lock(&l->lock);
    if (l->view != NULL) {
        local_lease_view_wrote(l->view, l->version);
        l->news = l->news || local_lease_view_is_current(l->view);
    }
    mutex_unlock(&l->lock);
}

int64_t local_leasing_rest_ms(struct local_leasing *l)
{
    bool watched = l->view != NULL && local_lease_view_is_current(l->view) && l->rival_ms == 0;

    return watched ? local_holder_rest_ms(l->holder) : 0;
}

/* The own Lease as the watch shows it, in `a`; NULL if there is none. */
static const struct local_lease *own_of(const struct local_leasing *l, struct arena *a)
{
    const struct local_lease *own = local_lease_view_own(l->view);

    if (own == NULL) {
        return NULL;
    }
    struct local_lease *copy = ARENA_NEW(a, struct local_lease);
    *copy = *own;
    copy->version = arena_strdup(a, own->version);
    copy->machine = arena_strdup(a, own->machine);
    copy->seen.version = arena_strdup(a, own->seen.version);
    return copy;
}

static bool same_counts(const struct local_holder_counts *a, const struct local_holder_counts *b)
{
    return a->held == b->held && a->asked == b->asked && a->leaving == b->leaving &&
           a->lost == b->lost && a->others == b->others;
}

void local_leasing_look(struct local_leasing *l)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct local_lease *own = NULL;

    mutex_lock(&l->lock);
    bool news = l->news;
    bool current = l->view != NULL && local_lease_view_is_current(l->view);
    l->news = false; /* of a view that is not current: the own write brings more */
    if (news && current) {
        own = own_of(l, a);
    }
    mutex_unlock(&l->lock);
    if (!news || !current) {
        return;
    }
    if (own == NULL) {
        free(l->version);
        l->version = xstrdup("");
    } else {
        local_leasing_read_own(l, own);
    }
    mutex_lock(&l->lock);
    size_t n = 0;
    const struct local_lease_seen *others = local_lease_view_others(l->view, &n);
    struct local_holder_counts was = local_holder_count(l->holder);
    local_holder_see_watched(l->holder, others, n, l->wrote_ms, clock_now_ms(l->p->clock));
    struct local_holder_counts is = local_holder_count(l->holder);
    int64_t until_ms = local_holder_until_ms(l->holder);
    bool wake = !same_counts(&was, &is) || until_ms != l->looked_until_ms;
    l->looked_until_ms = until_ms;
    mutex_unlock(&l->lock);
    if (wake) {
        local_director_wake(l->p->directing); /* what was taken, what is to go, and for how long */
    }
}
