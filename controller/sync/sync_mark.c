/* SPDX-License-Identifier: Apache-2.0 */
/* sync_mark.c: the mark on a Service whose load balancer trimtab has made or edited
 * (common/lb/mark_rules.h).
 *
 * Decides whether an ensure makes or edits, and gives bodies of patches; sync_kube.c and the host's
 * hold_finalizers() send them, joined with finalizers and status, so that the mark costs no request
 * of its own: but for the first edit of a Service that was taken over with its finalizers on.
 * docs/adr/0029. */
#include "common/base/str.h"
#include "common/lb/mark_rules.h"
#include "common/lb/service_rules.h"
#include "controller/sync/sync_internal.h"

/* The view of the Service may be older than the mark that this process wrote. */
static enum mark mark_now(const struct sync_item *item)
{
    return item->marked != MARK_NONE ? item->marked
                                     : mark_of(item->a, item->svc, item->s->desc->name);
}

/* The patch that writes the mark and who has written it. */
static const char *body_of(const struct sync_item *item, const char *text)
{
    return sync_mark_body(item->a, text, mark_by_text(item->a, item->s->desc->name, text));
}

static const char *body_with(const struct sync_item *item, enum mark mark,
                             const struct tt_ingress *ingress, size_t n)
{
    return body_of(item, mark_text(item->a, mark, item->svc->uid, ingress, n));
}

/* One that a process wrote which did not say who it was: a patch that is sent anyway says it. */
static const char *naming_body(const struct sync_item *item)
{
    bool names = item->s->desc->abi_minor >= 6 && item->todo == SYNC_ENSURE && item->obj != NULL &&
                 item->marked == MARK_NONE && mark_now(item) != MARK_NONE &&
                 !mark_is_by(item->svc, item->s->desc->name);

    return names ? body_of(item, svc_annotation(item->svc, LB_MARK_ANNOTATION)) : NULL;
}

/* An edit that this process saw, and that no ensure has carried out yet. */
static bool is_edit(const struct sync_item *item, const struct tt_service *svc)
{
    const struct kube_object *was = item->known.accepted;

    return was != NULL && str_eq(was->service->uid, svc->uid) &&
           scope_is_edit(&item->s->scope, was->service, svc);
}

uint32_t sync_mark_flags(const struct sync_item *item, const struct tt_service *svc)
{
    enum mark mark = item->obj == NULL ? MARK_NONE : mark_now(item);

    return (mark == MARK_MADE ? TT_ITEM_MADE : 0) |
           (mark != MARK_NONE || is_edit(item, svc) ? TT_ITEM_PUT_RIGHT : 0);
}

/* The mark that this ensure gives to a Service without one. */
static enum mark mark_due(const struct sync_item *item)
{
    bool knows = item->s->desc->abi_minor >= 6; /* an older provider makes no use of it */

    if (!knows || item->todo != SYNC_ENSURE || item->obj == NULL || mark_now(item) != MARK_NONE) {
        return MARK_NONE;
    }
    /* One that was taken away a moment ago, as the finalizers show or this process knows, is being
     * made again.  An address that another program took out of the status says nothing of the
     * kind. */
    bool stands = item->svc->n_ingress > 0 || item->known.addresses != 0;
    if (!stands || item->view_lets_go || item->known.gone) {
        return MARK_MADE;
    }
    return is_edit(item, item->svc) ? MARK_EDITED : MARK_NONE;
}

static bool is_owed(const struct sync_item *item)
{
    return service_cache_owes_mark(item->s->cache, item->key, item->svc->uid);
}

bool sync_mark_waits(const struct sync_item *item)
{
    return mark_is_by_another(item->svc, item->s->desc->name) &&
           (item->marked == MARK_NONE || is_owed(item));
}

const char *sync_mark_due(const struct sync_item *item, bool *ret_alone)
{
    const struct tt_service *svc = item->svc;
    enum mark due = mark_due(item);
    size_t n = due == MARK_MADE ? 0 : svc->n_ingress;

    *ret_alone = due == MARK_EDITED;
    if (due == MARK_MADE && sync_mark_waits(item)) {
        return NULL;
    }
    return due == MARK_NONE ? naming_body(item) : body_with(item, due, svc->ingress, n);
}

static void append_text(struct str_buf *b, const char *text)
{
    if (text != NULL) {
        str_append_json_quoted(b, text);
    } else {
        str_append(b, "null");
    }
}

const char *sync_mark_body(struct arena *a, const char *text, const char *by)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;

    str_append(&b, "{\"metadata\":{\"annotations\":{\"" LB_MARK_BY_ANNOTATION "\":");
    append_text(&b, by);
    str_append(&b, ",\"" LB_MARK_ANNOTATION "\":");
    append_text(&b, text);
    str_append(&b, "}}}");
    return str_buf_to_arena(&b, a);
}

static enum mark mark_of_ensured(const struct sync_item *item)
{
    enum mark now = mark_now(item);

    return now != MARK_NONE ? now : mark_due(item);
}

const char *sync_mark_follows(const struct sync_item *item, const struct tt_ingress *ingress,
                              size_t n)
{
    enum mark mark = mark_of_ensured(item);

    return mark == MARK_NONE || n == 0 || sync_mark_waits(item) ? NULL
                                                                : body_with(item, mark, ingress, n);
}

/* A mark is on it, of whatever object and load balancer, but no other provider's. */
static bool is_shown(const struct sync_item *item)
{
    return svc_annotation(item->svc, LB_MARK_ANNOTATION) != NULL &&
           !mark_is_by_another(item->svc, item->s->desc->name);
}

bool sync_mark_was_taken(const struct sync_item *item)
{
    return is_shown(item) || (item->marked != MARK_NONE && !is_owed(item));
}

void sync_mark_owe(struct sync_item *item)
{
    struct service_cache *cache = item->s->cache;
    enum mark mark = mark_of_ensured(item);

    if (mark != MARK_NONE && !item->elsewhere) {
        item->marked = mark;
        service_cache_note_marked(cache, item->key, item->svc->uid, mark);
        service_cache_owe_mark(cache, item->key);
    }
}

bool sync_mark_is_owed(const struct sync_item *item)
{
    return item->marked != MARK_NONE && item->obj != NULL && !item->view_lets_go && is_owed(item) &&
           !sync_mark_waits(item);
}

const char *sync_mark_gone(const struct sync_item *item)
{
    bool there = is_shown(item) || (item->marked != MARK_NONE && !sync_mark_waits(item));

    return there ? sync_mark_body(item->a, NULL, NULL) : NULL;
}

void sync_mark_load(struct sync_item *item)
{
    struct service_cache *cache = item->s->cache;

    item->marked = service_cache_marked(cache, item->key, item->svc->uid);
    bool says = mark_of(item->a, item->svc, item->s->desc->name) != MARK_NONE &&
                (item->svc->n_ingress > 0 || !is_owed(item));
    if (item->marked != MARK_NONE && says) {
        service_cache_note_marked(cache, item->key, NULL, MARK_NONE);
        item->marked = MARK_NONE;
    }
}

void sync_mark_note(struct sync_item *item, bool owed)
{
    if (mark_due(item) == MARK_NONE) {
        return; /* a writer was named */
    }
    item->marked = mark_due(item);
    service_cache_note_marked(item->s->cache, item->key, item->svc->uid, item->marked);
    if (owed) {
        service_cache_owe_mark(item->s->cache, item->key);
    }
}
