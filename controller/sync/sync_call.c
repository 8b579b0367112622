/* SPDX-License-Identifier: Apache-2.0 */
/* sync_call.c: calls into the provider, one way for all: items in, results out.
 *
 * A call is cancelled at shutdown and after sync_call_timeout_ms().  A provider with
 * reconcile_batch gets the keys of one batch key at once, and one with TT_CAP_NODES_TOGETHER those
 * that only follow the nodes; the others get one Service per call. */
#include "common/base/str.h"
#include "controller/sync/sync_internal.h"

/* Of an update of many Services: after this time those that are not settled are ensured alone, so
 * that one whose operation hangs does not keep the others from being edited. */
#define NODES_TIMEOUT_MS (5 * 60 * 1000)

typedef int32_t provider_fn(void *provider, const struct tt_call *call,
                            const struct tt_batch *batch);

/* Which items a call is for; the host's hook argument. */
struct members {
    struct sync_item **items;
    uint32_t n;
};

void syncer_on_work(void *call_arg, struct tt_result *result)
{
    const struct members *m = call_arg;

    for (uint32_t i = 0; m != NULL && i < m->n; i++) {
        if (m->items[i]->result == result && sync_reports_plans(m->items[i]->s)) {
            sync_event_begin(m->items[i]);
        }
    }
}

const char *syncer_former_body(void *call_arg, const struct tt_result *result)
{
    const struct members *m = call_arg;

    for (uint32_t i = 0; m != NULL && i < m->n; i++) {
        if (m->items[i]->result == result) {
            return sync_former_body(m->items[i]);
        }
    }
    return NULL;
}

int32_t syncer_on_serves(void *call_arg, struct tt_result *result)
{
    const struct members *m = call_arg;

    for (uint32_t i = 0; m != NULL && i < m->n; i++) {
        struct sync_item *item = m->items[i];
        if (item->result == result) {
            item->serves = item->serves || (item->todo == SYNC_ENSURE && !item->leads_back);
            return sync_write_serving(item);
        }
    }
    return TT_OK;
}

static uint32_t verb_of(enum sync_do todo)
{
    switch (todo) {
    case SYNC_UPDATE:
        return TT_VERB_UPDATE;
    case SYNC_ENSURE:
        return TT_VERB_ENSURE;
    default:
        return TT_VERB_DELETE;
    }
}

struct tt_item sync_item_in(const struct sync_item *item, const struct tt_service *svc,
                            uint32_t verb)
{
    /* A refused edit is no state that the load balancer ever had: tried again, it is
     * an edit still. */
    const struct kube_object *state = item->known.accepted;
    struct tt_item in = {
        .size = sizeof(in), .verb = verb, .reasons = item->reasons, .service = svc};

    if (state != NULL && str_eq(state->service->uid, svc->uid)) {
        in.previous = state->service;
    }
    if (verb == TT_VERB_ENSURE) {
        in.flags = sync_mark_flags(item, svc) | (item->leads_back ? TT_ITEM_FORMER : 0) |
                   (sync_spares(item) ? TT_ITEM_SPARE : 0) |
                   (sync_asks_again(item) ? TT_ITEM_ASKS : 0);
    } else if (verb == TT_VERB_UPDATE && sync_is_unproven(item, svc)) {
        in.flags = TT_ITEM_UNPROVEN;
    }
    if (item->slices != NULL) {
        in.slices = (const struct tt_slice *const *)item->slices->views;
        in.n_slices = (uint32_t)item->slices->n;
        in.has_slices = 1;
    }
    return in;
}

struct tt_batch sync_batch_in(const struct sync_batch *b, const struct tt_item **items, uint32_t n)
{
    return (struct tt_batch){.size = sizeof(struct tt_batch),
                             .key = b->batch_key,
                             .items = items,
                             .nodes = (const struct tt_node *const *)b->nodes->views,
                             .n_items = n,
                             .n_nodes = (uint32_t)b->nodes->n};
}

uint32_t sync_waiting(const struct syncer *s, bool looks)
{
    struct queue_counts counts = queue_counts(s->queue);
    size_t n = looks ? counts.looks : counts.waiting - counts.looks;

    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/* Refuses a call that would only be cancelled. */
static bool is_stopping(const struct syncer *s, struct err *err)
{
    if (!cancel_fired(s->cancel)) {
        return false;
    }
    (void)err_set(err, ERR_CANCELLED, "the controller is stopping");
    return true;
}

int sync_call_get(struct sync_item *item, const struct tt_service *svc, bool *ret_exists,
                  struct err *err)
{
    const struct syncer *s = item->s;

    if (is_stopping(s, err)) {
        return ERR_CANCELLED;
    }
    struct tt_item in = sync_item_in(item, svc, TT_VERB_DELETE);
    struct host_call *c =
        host_call_begin(s->host, item->a, 1, sync_call_timeout_ms(s), sync_waiting(s, false), NULL);
    host_call_item(c, 0, &in);
    host_call_enter(c, "get_load_balancer");
    int32_t rc = s->desc->get_load_balancer(s->provider, host_call_abi(c), &in);
    const struct tt_result *r = host_call_result(c, 0);
    int code = host_result_outcome(r, rc, false, err);
    if (code == ERR_OK && !r->has_exists) {
        code = err_set(err, ERR_BUG, "the provider did not say whether a load balancer exists");
    }
    if (code == ERR_OK) {
        *ret_exists = r->exists;
    }
    item->requests += host_call_requests(c);
    host_call_end(c);
    return code;
}

int sync_call_validate(struct sync_item *item)
{
    const struct syncer *s = item->s;

    item->in = sync_item_in(item, item->svc, TT_VERB_ENSURE);
    struct host_call *c =
        host_call_begin(s->host, item->a, 1, sync_call_timeout_ms(s), sync_waiting(s, false), NULL);
    host_call_item(c, 0, &item->in);
    host_call_enter(c, "validate");
    int32_t rc = s->desc->validate(s->provider, &item->in);
    item->result = host_call_result(c, 0);
    int code = host_result_outcome(item->result, rc, false, &item->err);
    item->refused = code != ERR_OK;
    host_call_end(c);
    return code;
}

static const char *name_of(const struct tt_provider *desc, provider_fn *fn)
{
    return fn == desc->ensure_load_balancer           ? "ensure_load_balancer"
           : fn == desc->update_load_balancer         ? "update_load_balancer"
           : fn == desc->ensure_load_balancer_deleted ? "ensure_load_balancer_deleted"
                                                      : "reconcile_batch";
}

/* Members must have `in` filled but for the result. */
static void call_provider(struct sync_batch *b, struct sync_item **items, uint32_t n,
                          provider_fn *fn, bool must_settle)
{
    const struct syncer *s = b->s;
    struct members members = {.items = items, .n = n};
    const struct tt_item **ins = ARENA_ARRAY(b->a, const struct tt_item *, n);
    int64_t timeout_ms = sync_call_timeout_ms(s);
    if (n > 1 && b->follows_nodes && timeout_ms > NODES_TIMEOUT_MS) {
        timeout_ms = NODES_TIMEOUT_MS;
    }
    struct host_call *c =
        host_call_begin(s->host, b->a, n, timeout_ms, sync_waiting(s, false), &members);

    for (uint32_t i = 0; i < n; i++) {
        host_call_item(c, i, &items[i]->in);
        items[i]->result = items[i]->in.result;
        items[i]->result->let_go = items[i]->view_lets_go;
        items[i]->result->version = items[i]->version;
        items[i]->result->mark_body = sync_mark_due(items[i], &items[i]->result->mark_alone);
        ins[i] = &items[i]->in;
    }
    const struct tt_batch batch = sync_batch_in(b, ins, n);
    host_call_enter(c, name_of(s->desc, fn));
    int32_t rc = fn(s->provider, host_call_abi(c), &batch);
    for (uint32_t i = 0; i < n; i++) {
        (void)host_result_outcome(items[i]->result, rc, must_settle, &items[i]->err);
        items[i]->requests += host_call_requests(c);
        items[i]->answered_ms = clock_now_ms(s->clock);
        if (items[i]->result->marked || items[i]->result->mark_owed) {
            sync_mark_note(items[i], items[i]->result->mark_owed);
        }
        sync_former_note(items[i]);
    }
    host_call_end(c);
}

static provider_fn *fn_for(const struct tt_provider *desc, uint32_t verb)
{
    switch (verb) {
    case TT_VERB_ENSURE:
        return desc->ensure_load_balancer;
    case TT_VERB_UPDATE:
        return desc->update_load_balancer;
    default:
        return desc->ensure_load_balancer_deleted;
    }
}

void sync_call_delete_old(struct sync_batch *b, struct sync_item *item)
{
    if (!is_stopping(b->s, &item->err)) {
        item->in = sync_item_in(item, item->svc, TT_VERB_DELETE);
        call_provider(b, &item, 1, b->s->desc->ensure_load_balancer_deleted, false);
    }
}

void sync_call_joined(struct sync_batch *b)
{
    struct sync_item **members = ARENA_ARRAY(b->a, struct sync_item *, b->n);
    const struct tt_provider *desc = b->s->desc;
    bool of_key = b->batch_key[0] != '\0' && desc->reconcile_batch != NULL;
    bool whole = of_key || b->follows_nodes;
    bool alone = sync_calls_alone(b->s);
    provider_fn *together = of_key ? desc->reconcile_batch : desc->update_load_balancer;
    uint32_t n = 0;

    for (size_t i = 0; i < b->n; i++) {
        struct sync_item *item = &b->items[i];
        if (!item->joins || is_stopping(b->s, &item->err)) {
            continue;
        }
        const struct tt_service *svc =
            item->todo == SYNC_UPDATE ? sync_backends_service(item) : item->svc;
        item->in = sync_item_in(item, svc, verb_of(item->todo));
        members[n++] = item;
        if (!whole) {
            call_provider(b, &members[n - 1], 1, fn_for(desc, item->in.verb), false);
        } else if (alone) {
            call_provider(b, &members[n - 1], 1, together, true);
        }
    }
    if (whole && !alone && n > 0) {
        call_provider(b, members, n, together, true);
    }
}
