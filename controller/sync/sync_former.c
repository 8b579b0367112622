/* SPDX-License-Identifier: Apache-2.0 */
/* sync_former.c: leads a Service back to what it asked for last, when what worked was taken down
 * and its replacement fails.
 *
 * The provider puts back what it took within its sync.  A process that dies in between, or a
 * put-back that fails, leaves the rest to the next sync: so what the Service asked for when it was
 * carried out last is kept on it (former_rules.h) from before the removal until an ensure ends
 * well.  An ensure that fails while it is there is followed by one of the Service as it was, which
 * makes what is missing and takes nothing down.  When that has ended well, further tries are not
 * followed by one until something is taken down again: each of them would undo what the try before
 * it has prepared.  Queue and owner hear of the failure alone.
 *
 * The cloud may refuse both for one reason (a permission that was withdrawn).  Then each try would
 * prepare the new settings and the former ones in turn.  So while an ensure fails in the words in
 * which leading back failed last, it is not led back, but after a while (sync_spare.c has the
 * pauses).  docs/adr/0030, 0075. */
#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/lb/former_rules.h"
#include "common/lb/status_rules.h"
#include "controller/kube/events/event_stable.h"
#include "controller/sync/sync_internal.h"

#include <string.h>

/* Each further try takes down what works again, so it waits as long as for a Service that
 * must be edited. */
#define AGAIN_AFTER_MS 300000

static const struct tt_condition *kept(const struct sync_item *item)
{
    for (uint32_t i = 0; i < item->svc->n_conditions; i++) {
        if (str_eq(item->svc->conditions[i].type, LB_REPLACING_CONDITION)) {
            return &item->svc->conditions[i];
        }
    }
    return NULL;
}

static const struct tt_service *accepted(const struct sync_item *item)
{
    const struct kube_object *o = item->known.accepted;
    bool same = o != NULL && str_eq(o->service->uid, item->svc->uid);

    return same ? o->service : NULL;
}

static const char *text_of(const struct sync_item *item, const struct tt_service *was)
{
    const struct svc_scope wishes = scope_of_wishes(&item->s->scope);

    return was == NULL ? NULL : former_text(item->a, &wishes, was);
}

const char *sync_former_kept(const struct sync_item *item)
{
    const struct tt_condition *c = kept(item);
    const char *text = text_of(item, accepted(item));

    return text != NULL || c == NULL ? text : c->message;
}

const char *sync_former_body(const struct sync_item *item)
{
    const struct tt_service *was = accepted(item);
    bool due = item->todo == SYNC_ENSURE && !item->leads_back && item->obj != NULL && was != NULL &&
               !item->known.replacing;
    const char *text = due ? text_of(item, was) : NULL;
    const struct tt_condition c = {
        .type = LB_REPLACING_CONDITION,
        .status = "True",
        .reason = "Replacing",
        .message = text,
    };

    return text == NULL ? NULL : sync_condition_body(item, &c);
}

const char *sync_former_gone_body(const struct sync_item *item)
{
    bool there = item->known.replacing || kept(item) != NULL ||
                 (item->result != NULL && item->result->former_sent);

    return there ? condition_patch_remove(item->a, LB_REPLACING_CONDITION) : NULL;
}

void sync_former_note(const struct sync_item *item)
{
    const struct tt_result *r = item->result;
    bool told = r->operations_done + r->failed_spared + r->failed_others > 0;

    if (r->former_sent) {
        service_cache_note_replacing(item->s->cache, item->key);
    }
    if (r->may_lack) {
        service_cache_set_whole(item->s->cache, item->key, false);
    } else if (r->former_sent && told && kept(item) == NULL) {
        service_cache_set_whole(item->s->cache, item->key, true);
    }
}

/* The Service as it was before something was taken down for it; NULL: nothing was, as far
 * as the Service says, or it is back. */
static const struct tt_service *former_of(const struct sync_item *item)
{
    const struct svc_scope wishes = scope_of_wishes(&item->s->scope);
    const struct tt_condition *c = kept(item);
    const struct tt_service *was = accepted(item);
    const struct tt_result *r = item->result;
    bool now = r != NULL && r->former_sent && r->gave_way;
    bool whole = item->known.whole && (r == NULL || !r->may_lack);

    if (whole || (c == NULL && !item->known.replacing && !now)) {
        return NULL;
    }
    if (was != NULL) {
        return former_like(item->a, &wishes, item->svc, was);
    }
    return c != NULL ? former_read(item->a, &wishes, item->svc, c->message) : NULL;
}

/* One that could not be deleted to make room still stands, and works. */
bool sync_is_replaced(const struct sync_item *item)
{
    const struct tt_result *r = item->result;
    return r != NULL && r->failed_spared > 0 && r->failed_others == 0;
}

/* The provider's answer does not say that it is not to be called. */
static bool is_due(const struct sync_item *item)
{
    bool failed = item->err.code != ERR_OK && item->err.code != ERR_CANCELLED &&
                  item->err.code != ERR_IN_PROGRESS &&
                  item->err.code != ERR_IMPLEMENTED_ELSEWHERE && !item->quarantined &&
                  !sync_is_replaced(item) && !sync_is_unpublished(item);

    return failed && item->todo == SYNC_ENSURE && item->obj != NULL && item->svc->deleted_us == 0;
}

/* ---- refused in the same words --------------------------------------------------------------- */

/* Two kinds of load balancers may differ in the name of what is refused. */
static const char *words_of(const struct sync_item *item)
{
    const char *name = item->result != NULL ? item->result->resource_name : NULL;
    const char *text = event_stable(item->a, item->err.message);

    return str_is_empty(name) ? text : str_replace(item->a, text, name, "");
}

/* Not 0. */
static uint64_t words_digest(const struct sync_item *item)
{
    const char *text = words_of(item);
    uint64_t digest = hash_bytes(sync_wish(item), text, strlen(text));

    return digest == 0 ? 1 : digest;
}

/* Leading back failed in these words, and is not due again yet. */
static bool is_futile(const struct sync_item *item)
{
    struct service_futile f = service_cache_futile(item->s->cache, item->key);

    return f.words != 0 && sync_refusal_stays(&item->err) &&
           clock_now_ms(item->s->clock) < f.until_ms && f.words == words_digest(item);
}

static void note_futile(const struct sync_item *item, const struct sync_item *back)
{
    struct service_futile was = service_cache_futile(item->s->cache, item->key);
    struct service_futile f = {0};

    if (back->err.code == item->err.code && sync_refusal_stays(&back->err) &&
        str_eq(words_of(item), words_of(back))) {
        f.words = words_digest(item);
        f.tries = was.words == f.words ? was.tries + 1 : 1;
        f.until_ms = clock_now_ms(item->s->clock) + sync_spare_pause_us(f.tries - 1) / 1000;
    }
    service_cache_set_futile(item->s->cache, item->key, &f);
}

/* ---- leading back ---------------------------------------------------------------------------- */

/* A cloud may have no other way back than by another address; clients have to hear of that one. */
static void publish(struct sync_item *item, const struct sync_item *back)
{
    const struct tt_result *r = back->result;
    struct err err = ERR_INIT;

    if (r != NULL && r->n_ingress > 0 &&
        sync_write_moved(item, r->ingress, r->n_ingress, &err) != ERR_OK) {
        log_warning("The address of the restored load balancer was not written",
                    LOG_S("service", item->key), LOG_S("err", err.message));
    }
}

static void settle(struct sync_item *item, const struct sync_item *back)
{
    bool did = back->result != NULL && back->result->operations_done > 0;
    struct err was = item->err;

    note_futile(item, back);
    item->stands_nobody = sync_stands_nobody(back);
    item->requests += back->requests;
    item->led_back = back->err.code == ERR_OK;
    if (item->led_back) {
        service_cache_set_whole(item->s->cache, item->key, true);
        publish(item, back);
    }
    if (back->err.code != ERR_OK) {
        log_info(1, "The last applied settings were not restored", LOG_S("service", item->key),
                 LOG_S("code", err_code_name(back->err.code)), LOG_S("message", back->err.message));
    } else if (did && !lb_is_spared(&was)) { /* else nothing had been taken down for it */
        (void)err_set(&item->err, was.code, "%s; the last applied settings were restored",
                      was.message);
        item->err.http_status = was.http_status;
        item->err.retry_after_ms = was.retry_after_ms;
        item->put_back = true;
        if (sync_refusal_stays(&was) && was.retry_after_ms < AGAIN_AFTER_MS) {
            item->err.retry_after_ms = AGAIN_AFTER_MS;
        }
    }
}

void sync_lead_back(struct sync_batch *b)
{
    bool some = false;
    for (size_t i = 0; i < b->n; i++) {
        some = some || is_due(&b->items[i]);
    }
    if (!some) {
        return;
    }
    struct sync_item *backs = ARENA_ARRAY(b->a, struct sync_item, b->n);
    struct sync_item **of = ARENA_ARRAY(b->a, struct sync_item *, b->n);
    struct sync_batch rest = *b;
    size_t n = 0;

    for (size_t i = 0; i < b->n; i++) {
        const struct tt_service *former = is_due(&b->items[i]) ? former_of(&b->items[i]) : NULL;
        if (former == NULL || is_futile(&b->items[i])) {
            continue;
        }
        of[n] = &b->items[i];
        backs[n] = b->items[i];
        backs[n].svc = former;
        backs[n].leads_back = true;
        backs[n].joins = true;
        backs[n].began = true; /* an event has announced it */
        backs[n].err = ERR_INIT;
        backs[n].result = NULL;
        backs[n].requests = 0;
        n++;
    }
    rest.items = backs;
    rest.n = n;
    if (n > 0) {
        sync_call_joined(&rest);
    }
    for (size_t i = 0; i < n; i++) {
        settle(of[i], &backs[i]);
    }
}
