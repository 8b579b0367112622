/* SPDX-License-Identifier: Apache-2.0 */
/* host.c: life of a host and of its calls; clock, randomness, fence, and the snapshots of nodes and
 * slices.
 *
 * A snapshot is taken when a call first asks for it and is the same until the call ends, so that a
 * provider sees one state of the cluster throughout.  A call without `struct tt_call`
 * (open()) gets none. */
#include "controller/host/host.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "common/base/utf8.h"
#include "controller/host/host_internal.h"
#include "controller/rules/quarantine_rules.h"

static int64_t host_now_ms(struct tt_host_ctx *h)
{
    return clock_now_ms(h->args.clock);
}

static int64_t host_wall_us(struct tt_host_ctx *h)
{
    return clock_wall_us(h->args.clock);
}

static void host_random(struct tt_host_ctx *h, void *bytes, size_t n)
{
    if (bytes != NULL) {
        rng_bytes(h->args.rng, bytes, n);
    }
}

static int32_t call_cancelled(const struct tt_call *call)
{
    struct host_call *c = host_call_of(call);

    return cancel_fired(c->cancel) || clock_now_ms(c->host->args.clock) >= call->deadline_ms;
}

/* Without a call nothing says for how long, or for which Service, something is changed: only
 * open() may ask so, and a provider that declares threads of its own. */
static int32_t host_may_mutate(struct tt_host_ctx *h, const struct tt_call *call)
{
    if (h->args.planning || (call != NULL && call->planning)) {
        return 0;
    }
    if (call == NULL && !atomic_load(&h->opening) &&
        (h->args.desc->capabilities & TT_CAP_WITHOUT_CALL) == 0) {
        host_log_fault(h, "may_mutate() was asked without a call, outside of open(): it says no");
        return 0;
    }
    if (call != NULL && (call_cancelled(call) || atomic_load(&host_call_of(call)->refused))) {
        return 0;
    }
    return fence_may_mutate(h->args.fence);
}

/* ---- snapshots ------------------------------------------------------------------------------- */

/* Where a provider gives no place for an answer, it gets none. */
bool host_has_places(struct tt_host_ctx *h, const void *ret, const void *ret_n, const char *what)
{
    bool has = ret != NULL && ret_n != NULL;

    if (!has) {
        host_log_fault(h, what);
    }
    return has;
}

static void host_nodes(struct tt_host_ctx *h, const struct tt_call *call,
                       const struct tt_node *const **ret, uint32_t *ret_n)
{
    if (!host_has_places(h, ret, ret_n, "nodes() was called with NULL for its answer")) {
        return;
    }
    *ret = h->args.fixed_nodes;
    *ret_n = h->args.n_fixed_nodes;
    if (h->args.fixed_nodes != NULL || h->args.nodes == NULL || call == NULL) {
        return;
    }
    struct host_call *c = host_call_of(call);
    mutex_lock(&c->lock);
    if (c->nodes == NULL) {
        c->nodes = kube_store_snapshot(h->args.nodes);
    }
    *ret = (const struct tt_node *const *)c->nodes->views;
    *ret_n = (uint32_t)c->nodes->n;
    mutex_unlock(&c->lock);
}

static void host_slices(struct tt_host_ctx *h, const struct tt_call *call,
                        const struct tt_service *service, const struct tt_slice *const **ret,
                        uint32_t *ret_n, uint32_t *ret_known)
{
    if (!host_has_places(h, ret, ret_n, "slices() was called with NULL for its answer") ||
        !host_has_places(h, ret_known, ret_known, "slices() was called with NULL for its answer")) {
        return;
    }
    *ret = NULL;
    *ret_n = 0;
    *ret_known = 0;
    if (h->args.slices == NULL || call == NULL || service == NULL || service->ns == NULL ||
        service->name == NULL) {
        return;
    }
    struct host_call *c = host_call_of(call);
    mutex_lock(&c->lock);
    struct host_snapshot *s = arena_alloc(c->arena, sizeof(*s));
    s->snapshot = kube_store_slices_of(h->args.slices, service->ns, service->name);
    s->next = c->slices;
    c->slices = s;
    *ret = (const struct tt_slice *const *)s->snapshot->views;
    *ret_n = (uint32_t)s->snapshot->n;
    *ret_known = 1;
    mutex_unlock(&c->lock);
}

void host_set_slices(struct tt_host_ctx *h, struct kube_store *slices)
{
    h->args.slices = slices;
}

/* ---- life ------------------------------------------------------------------------------------ */

struct tt_host_ctx *host_new(const struct host_args *args)
{
    struct tt_host_ctx *h = xcalloc(1, sizeof(*h));

    h->args = *args;
    mutex_init(&h->lock);
    h->table.size = sizeof(h->table);
    h->table.abi_major = TRIMTAB_ABI_MAJOR;
    h->table.abi_minor = TRIMTAB_ABI_MINOR;
    h->table.ctx = h;
    h->table.now_ms = host_now_ms;
    h->table.wall_us = host_wall_us;
    h->table.random = host_random;
    h->table.may_mutate = host_may_mutate;
    host_table_services(&h->table);
    h->table.nodes = host_nodes;
    h->table.slices = host_slices;
    host_table_results(&h->table);
    host_table_explain(&h->table);
    host_table_reports(&h->table);
    host_table_kube(&h->table);
    host_table_watch(&h->table);
    if (args->metrics != NULL && args->desc != NULL) {
        (void)metrics_register(args->metrics, args->desc->metrics, args->desc->n_metrics);
        /* a name that is taken stays the controller's: the plugin loader has said so */
    }
    return h;
}

void host_set_opening(struct tt_host_ctx *h, bool opening)
{
    atomic_store(&h->opening, opening);
}

void host_free(struct tt_host_ctx *h)
{
    if (h != NULL) {
        host_end_watches(h);
        mutex_done(&h->lock);
        free(h);
    }
}

const struct tt_host *host_table(const struct tt_host_ctx *h)
{
    return &h->table;
}

bool host_text_ok(const char *text, size_t max)
{
    size_t n = strnlen(text, max + 1);

    return n <= max && str_is_utf8(text, n);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void note_open(struct host_call *c)
{
    mutex_lock(&c->host->lock);
    c->next_open = c->host->open;
    c->host->open = c;
    mutex_unlock(&c->host->lock);
}

static void note_ended(struct host_call *c)
{
    mutex_lock(&c->host->lock);
    struct host_call **p = &c->host->open;
    while (*p != c) {
        p = &(*p)->next_open;
    }
    *p = c->next_open;
    mutex_unlock(&c->host->lock);
}

int64_t host_calls_stuck_ms(struct tt_host_ctx *h, int64_t grace_ms)
{
    int64_t now_ms = clock_now_ms(h->args.clock);
    int64_t ret = 0;

    mutex_lock(&h->lock);
    for (const struct host_call *c = h->open; c != NULL; c = c->next_open) {
        if (now_ms > c->abi.deadline_ms + grace_ms && now_ms - c->began_ms > ret) {
            ret = now_ms - c->began_ms;
        }
    }
    mutex_unlock(&h->lock);
    return ret;
}

unsigned host_calls_over(struct tt_host_ctx *h, int64_t grace_ms)
{
    int64_t now_ms = clock_now_ms(h->args.clock);
    unsigned n = 0;

    mutex_lock(&h->lock);
    for (const struct host_call *c = h->open; c != NULL; c = c->next_open) {
        n += now_ms > c->abi.deadline_ms + grace_ms;
    }
    mutex_unlock(&h->lock);
    return n;
}

/* The texts are copied while the call is among the open ones: it cannot end meanwhile. */
static struct host_late late_of(struct arena *a, const struct host_call *c, int64_t now_ms,
                                bool over)
{
    uint32_t n = c->n_results < HOST_LATE_SERVICES ? c->n_results : HOST_LATE_SERVICES;
    struct host_late late = {
        .function = arena_strdup(a, c->mark.function),
        .key = arena_strdup(a, str_nonnull(c->mark.key)),
        .over = over,
        .age_ms = now_ms - c->began_ms,
        .services = arena_calloc(a, n, sizeof(*late.services)),
    };

    for (uint32_t i = 0; i < n && c->results[i].service != NULL; i++) {
        const struct tt_service *s = c->results[i].service;
        late.services[late.n_services++] = (struct tt_service){
            .size = sizeof(*s),
            .ns = arena_strdup(a, s->ns),
            .name = arena_strdup(a, s->name),
            .uid = arena_strdup(a, s->uid),
            .resource_version = arena_strdup(a, s->resource_version),
        };
    }
    return late;
}

struct host_looked host_calls_look(struct tt_host_ctx *h, struct arena *a, int64_t grace_ms)
{
    int64_t now_ms = clock_now_ms(h->args.clock);
    struct host_looked ret = {0};
    size_t n_open = 0;

    mutex_lock(&h->lock);
    for (const struct host_call *c = h->open; c != NULL; c = c->next_open) {
        n_open++;
    }
    ret.calls = arena_calloc(a, n_open, sizeof(*ret.calls));
    for (struct host_call *c = h->open; c != NULL; c = c->next_open) {
        bool over = now_ms > c->abi.deadline_ms + grace_ms;
        bool half = now_ms - c->began_ms >= (c->abi.deadline_ms - c->began_ms) / 2;
        bool *told = over ? &c->told_over : &c->told_half;
        ret.over += over;
        if ((over || half) && !*told && atomic_load(&c->entered)) {
            *told = true;
            ret.calls[ret.n++] = late_of(a, c, now_ms, over);
        }
    }
    mutex_unlock(&h->lock);
    return ret;
}

struct host_call *host_call_begin(struct tt_host_ctx *h, struct arena *a, uint32_t n_items,
                                  int64_t timeout_ms, uint32_t waiting, void *call_arg)
{
    struct host_call *c = arena_calloc(a, 1, sizeof(*c));

    c->abi.size = sizeof(c->abi);
    c->abi.cluster_name = h->args.cluster_name;
    c->began_ms = clock_now_ms(h->args.clock);
    c->abi.deadline_ms = c->began_ms + timeout_ms;
    c->abi.waiting = waiting;
    c->abi.planning = h->args.planning;
    c->abi.cancelled = call_cancelled;
    c->host = h;
    c->cancel = cancel_new(h->args.cancel);
    c->call_arg = call_arg;
    c->mark = (struct guard_mark){0};
    c->results = arena_calloc(a, n_items, sizeof(*c->results));
    c->n_results = n_items;
    mutex_init(&c->lock);
    mutex_lock(&c->lock);
    c->arena = a;
    mutex_unlock(&c->lock);
    for (uint32_t i = 0; i < n_items; i++) {
        c->results[i].call = c;
        c->results[i].key = "";
    }
    note_open(c);
    return c;
}

void host_call_item(struct host_call *c, uint32_t i, struct tt_item *in)
{
    struct tt_result *r = &c->results[i];

    mutex_lock(&c->lock);
    r->service = in->service;
    r->verb = in->verb;
    r->key = arena_printf(c->arena, "%s/%s", in->service->ns, in->service->name);
    mutex_unlock(&c->lock);
    in->result = r;
    c->abi.background = (i == 0 || c->abi.background) && in->verb != TT_VERB_DELETE &&
                        in->reasons == TT_REASON_RESYNC;
}

void host_call_set_planning(struct host_call *c)
{
    c->abi.planning = 1;
}

struct tt_result *host_call_result(struct host_call *c, uint32_t i)
{
    return &c->results[i];
}

/* Goes round from the one found last: reports come in the order of the Services, thousands of them
 * in a call of hundreds. */
struct tt_result *host_call_find(struct host_call *c, const char *key)
{
    uint32_t begin = c->found;

    for (uint32_t i = 0; i < c->n_results; i++) {
        uint32_t at = begin + i < c->n_results ? begin + i : begin + i - c->n_results;
        if (strcmp(c->results[at].key, key) == 0) {
            c->found = at;
            return &c->results[at];
        }
    }
    return NULL;
}

void host_call_enter(struct host_call *c, const char *function)
{
    const struct tt_host_ctx *h = c->host;
    const char *first = c->n_results > 0 && c->results[0].key[0] != '\0' ? c->results[0].key : NULL;

    c->mark = (struct guard_mark){.function = function, .key = first};
    if (first != NULL && c->n_results > 1) {
        mutex_lock(&c->lock);
        c->mark.key = arena_printf(c->arena, "%s and %u more", first, c->n_results - 1);
        mutex_unlock(&c->lock);
    }
    if (h->args.counts_deaths && first != NULL) {
        const struct tt_result *r = &c->results[0];
        bool several = c->n_results > 1;
        c->mark.counted = several ? QUARANTINE_SEVERAL : first;
        c->mark.digest =
            several ? 1 : quarantine_digest(r->service, h->args.desc, r->verb == TT_VERB_DELETE);
    }
    guard_enter(&c->mark);
    atomic_store(&c->entered, true);
}

const struct tt_call *host_call_abi(const struct host_call *c)
{
    return &c->abi;
}

unsigned host_call_requests(const struct host_call *c)
{
    return atomic_load(&c->requests);
}

void host_call_nodes(struct host_call *c, const struct tt_node *const **ret, uint32_t *ret_n)
{
    host_nodes(c->host, &c->abi, ret, ret_n);
}

void host_call_end(struct host_call *c)
{
    if (c->mark.function != NULL) {
        guard_leave(&c->mark);
    }
    note_ended(c);
    mutex_lock(&c->lock);
    for (struct host_snapshot *s = c->services; s != NULL; s = s->next) {
        kube_snapshot_unref(s->snapshot);
    }
    c->services = NULL;
    for (struct host_object *o = c->objects; o != NULL; o = o->next) {
        kube_object_unref(o->object);
    }
    c->objects = NULL;
    kube_snapshot_unref(STEAL(c->nodes));
    for (struct host_snapshot *s = c->slices; s != NULL; s = s->next) {
        kube_snapshot_unref(s->snapshot);
    }
    c->slices = NULL;
    mutex_unlock(&c->lock);
    mutex_done(&c->lock);
    cancel_free(STEAL(c->cancel));
}
