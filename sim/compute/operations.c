/* SPDX-License-Identifier: Apache-2.0 */
/* operations.c: the long operations that every mutation answers: get, list, wait.
 *
 * The effect of a mutation is there at once (a deleted resource is gone, a new one can be read);
 * the operation takes its time.  At --latency none it is done at its first get or wait; at
 * --latency cloud it takes as long as the cloud takes for this kind, a wait blocks for at most two
 * minutes, and a resource whose insert still runs cannot be referred to or changed
 * (resourceNotReady).  The same requestId again answers the same operation.
 * Source: gce-cloud-provider.md §3.5, §16. */
#include "sim/compute/compute.h"

#include <string.h>

#define WAIT_MAX_MS    120000
#define OPERATIONS_MAX 20000 /* older ones are forgotten, as the cloud forgets them */

struct waiter {
    struct operation *op;
    struct sim_call *call;
    struct sim_timer *timer; /* the two minutes */
    struct waiter *next;
};

struct operation {
    struct compute *c;
    char *path;
    struct json_object *body;
    bool done;
    char *target;            /* path of the resource */
    struct sim_timer *timer; /* latency cloud: when it is done */
    struct waiter *waiters;
    char *request_key;                /* in by_request_id, or NULL */
    struct operation *before, *after; /* in order of their beginning */
};

static void operation_free(void *p)
{
    struct operation *op = p;
    sim_timer_cancel(op->timer);
    json_object_put(op->body);
    free(op->path);
    free(op->target);
    free(op->request_key);
    free(op);
}

void ce_operations_init(struct compute *c)
{
    c->operations = map_new(operation_free);
    c->by_request_id = map_new(NULL);
}

void ce_operations_done(struct compute *c)
{
    map_free(c->by_request_id);
    map_free(c->operations);
}

struct json_object *ce_operation_json(const struct operation *op)
{
    return json_copy(op->body);
}

/* --- how long things take --------------------------------------------------------------------- */

/* Medians as people see them in us-central1; only their order of size matters to clients. */
static const struct {
    const char *glob;
    int64_t ms;
} latencies[] = {
    {"compute.addresses.insert", 1800},
    {"compute.addresses.delete", 1600},
    {"compute.forwardingRules.insert", 4500},
    {"compute.forwardingRules.delete", 4000},
    {"compute.forwardingRules.*", 3500},
    {"compute.targetPools.insert", 2200},
    {"compute.targetPools.delete", 2200},
    {"compute.targetPools.*", 2600},
    {"compute.firewalls.*", 5200},
    {"compute.httpHealthChecks.*", 1900},
    {"compute.*ealthChecks.*", 2400},
    {"compute.regionBackendServices.*", 4800},
    {"compute.instanceGroups.insert", 2000},
    {"compute.instanceGroups.*", 3000},
    {"compute.networkEndpointGroups.*", 2800},
};

int64_t ce_latency_of(struct compute *c, const char *op_id)
{
    if (sim_cfg(c->sim)->latency == SIM_LATENCY_NONE) {
        return 0;
    }
    int64_t ms = op_id ? 2500 : 90; /* NULL: one request and its answer */
    for (size_t i = 0; op_id && i < ARRAY_LEN(latencies); i++) {
        if (str_glob(latencies[i].glob, op_id)) {
            ms = latencies[i].ms;
            break;
        }
    }
    return ms * 3 / 4 + (int64_t)rng_below(sim_rng(c->sim), (uint64_t)ms / 2 + 1);
}

/* --- making ----------------------------------------------------------------------------------- */

static char *request_key(struct request *q)
{
    const char *id = sim_call_param(q->call, "requestId");
    return id ? arena_printf(q->a, "%s %s %s", id, q->call->method, q->call->path) : NULL;
}

struct operation *ce_operation_of_request_id(struct request *q)
{
    char *key = request_key(q);
    return key ? map_get(q->c->by_request_id, key) : NULL;
}

static void add_error(struct json_object *body, const struct refusal *r)
{
    struct json_object *item = json_object_new_object();
    json_add_str(item, "code", r->code);
    json_add_str(item, "message", r->message);
    struct json_object *items = json_object_new_array();
    json_object_array_add(items, item);
    struct json_object *error = json_object_new_object();
    json_add(error, "errors", items);
    json_add(body, "error", error);
    json_add_int(body, "httpErrorStatusCode", r->status);
    json_add_str(body, "httpErrorMessage",
                 r->status == 403   ? "FORBIDDEN"
                 : r->status == 409 ? "CONFLICT"
                 : r->status == 503 ? "SERVICE UNAVAILABLE"
                 : r->status >= 500 ? "INTERNAL SERVER ERROR"
                                    : "BAD REQUEST");
}

static void finish(struct operation *op)
{
    struct compute *c = op->c;
    struct arena *a = arena_new();
    op->done = true;
    json_add_str(op->body, "status", "DONE");
    json_add_int(op->body, "progress", 100);
    json_add_str(op->body, "endTime", compute_time(c, a));
    struct resource *res = ce_store_get(c, op->target);
    if (res && res->inserting == op) {
        res->inserting = NULL;
    }
    arena_free(a);
    while (op->waiters) {
        struct waiter *w = op->waiters;
        op->waiters = w->next;
        sim_timer_cancel(w->timer);
        sim_answer(w->call, 200, ce_operation_json(op));
    }
}

static void on_time(void *arg)
{
    struct operation *op = arg;
    op->timer = NULL;
    finish(op);
}

/* "addInstance" → "AddInstance" is what the cloud calls it for actions; the plain verbs
 * keep their name. */
static const char *operation_type(struct request *q)
{
    static const char *const plain[] = {"insert", "delete", "patch", "update"};
    for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
        if (str_eq(q->verb, plain[i])) {
            return q->verb;
        }
    }
    char *type = arena_strdup(q->a, q->verb);
    type[0] = (char)(type[0] - 'a' + 'A');
    return type;
}

static void append(struct compute *c, struct operation *op)
{
    op->before = c->newest;
    *(c->newest ? &c->newest->after : &c->oldest) = op;
    c->newest = op;
}

static void unlink_op(struct compute *c, struct operation *op)
{
    *(op->before ? &op->before->after : &c->oldest) = op->after;
    *(op->after ? &op->after->before : &c->newest) = op->before;
}

/* The oldest that is not running; at --latency none nothing runs, even before the first poll. */
static void forget_oldest(struct compute *c)
{
    struct operation *op = c->oldest;
    while (op && op->timer) {
        op = op->after;
    }
    if (op) {
        unlink_op(c, op);
        if (op->request_key) {
            map_remove(c->by_request_id, op->request_key);
        }
        char *path = xstrdup(op->path);
        map_remove(c->operations, path);
        free(path);
    }
}

static struct json_object *operation_body(struct request *q, const char *path, const char *target)
{
    struct compute *c = q->c;
    const struct resource *res = ce_store_get(c, target);
    struct json_object *o = json_object_new_object();
    const char *now = compute_time(c, q->a);
    json_add_str(o, "kind", "compute#operation");
    json_add_str(o, "id", arena_printf(q->a, "%llu", (unsigned long long)ce_store_next_id(c)));
    json_add_str(o, "name", ce_path_name(path));
    json_add_str(o, "operationType", operation_type(q));
    json_add_str(o, "targetLink", ce_link_full(q->a, target));
    json_add_str(o, "targetId",
                 res && json_str(res->body, "id")
                     ? json_str(res->body, "id")
                     : arena_printf(q->a, "%llu", (unsigned long long)ce_store_next_id(c)));
    json_add_str(o, "status", "RUNNING");
    json_add_int(o, "progress", 0);
    json_add_str(o, "user",
                 arena_printf(q->a, "trimtab-sim@%s.iam.gserviceaccount.com", c->project));
    json_add_str(o, "insertTime", now);
    json_add_str(o, "startTime", now);
    json_add_str(o, "selfLink", ce_link_full(q->a, path));
    if (q->scope == SCOPE_REGION || q->scope == SCOPE_ZONE) {
        const char *place =
            arena_printf(q->a, "projects/%s/%s", q->project, ce_path_scope(q->a, path));
        json_add_str(o, q->scope == SCOPE_ZONE ? "zone" : "region", ce_link_full(q->a, place));
    }
    if (q->refusal.code) {
        add_error(o, &q->refusal);
    }
    return o;
}

struct operation *ce_operation_start(struct request *q)
{
    struct compute *c = q->c;
    const char *name = q->name ? q->name : str_nonnull(json_str(q->body, "name"));
    const char *target = arena_printf(q->a, "%s/%s", q->folder, name);
    const char *op_name = arena_printf(
        q->a, "operation-%lld-%012llx-%08llx", (long long)(clock_wall_us(sim_clock(c->sim)) / 1000),
        (unsigned long long)(rng_u64(sim_rng(c->sim)) >> 16), (unsigned long long)++c->next_seq);
    const char *folder =
        ce_store_folder_path(q->a, q->project, q->scope, q->location, "operations");
    struct operation *op = xcalloc(1, sizeof(*op));
    op->c = c;
    op->path = xasprintf("%s/%s", folder, op_name);
    op->target = xstrdup(target);
    append(c, op);
    op->body = operation_body(q, op->path, target);
    op->request_key = xstrdup(request_key(q));
    if (op->request_key) {
        map_set(c->by_request_id, op->request_key, op);
    }
    map_set(c->operations, op->path, op);
    if (map_size(c->operations) > OPERATIONS_MAX) {
        forget_oldest(c);
    }
    int64_t ms = ce_latency_of(c, q->op->id);
    if (ms > 0) {
        op->timer = sim_after(c->sim, ms, on_time, op);
        struct resource *res = str_eq(q->verb, "insert") ? ce_store_get(c, target) : NULL;
        if (res && !q->refusal.code) {
            res->inserting = op;
        }
    }
    return op;
}

/* --- get, wait, list -------------------------------------------------------------------------- */

static void waiter_gone(struct sim_call *call)
{
    struct waiter *w = call->private_data;
    sim_timer_cancel(w->timer);
    for (struct waiter **at = &w->op->waiters; *at; at = &(*at)->next) {
        if (*at == w) {
            *at = w->next;
            return;
        }
    }
}

static void wait_over(void *arg)
{
    struct waiter *w = arg;
    w->timer = NULL;
    waiter_gone(w->call);
    sim_answer(w->call, 200, ce_operation_json(w->op));
}

static void wait_for(struct request *q, struct operation *op)
{
    struct waiter *w = ARENA_NEW(q->a, struct waiter);
    w->op = op;
    w->call = q->call;
    w->next = op->waiters;
    op->waiters = w;
    q->call->private_data = w;
    q->call->gone = waiter_gone;
    w->timer = sim_after(q->c->sim, WAIT_MAX_MS, wait_over, w);
}

struct listing {
    const char *folder;
    size_t folder_len;
    struct json_object *items;
};

static bool collect(const char *path, void *value, void *arg)
{
    const struct operation *op = value;
    struct listing *l = arg;
    if (strncmp(path, l->folder, l->folder_len) == 0 && path[l->folder_len] == '/') {
        json_object_array_add(l->items, ce_operation_json(op));
    }
    return true;
}

static void answer_list(struct request *q)
{
    struct listing l = {
        .folder = q->folder, .folder_len = strlen(q->folder), .items = json_object_new_array()};
    map_each(q->c->operations, collect, &l);
    struct json_object *list = json_object_new_object();
    json_add_str(list, "kind", "compute#operationList");
    json_add_str(list, "id", q->folder);
    json_add_str(list, "selfLink", ce_link_full(q->a, q->folder));
    if (ce_read_page(q, l.items, list)) {
        sim_answer(q->call, 200, list);
    } else {
        json_object_put(list);
        sim_answer(q->call, q->refusal.status, ce_refusal_body(&q->refusal));
    }
}

static bool collect_scoped(const char *path, void *value, void *arg)
{
    struct listing *l = arg;
    if (str_has_prefix(path, l->folder)) {
        struct arena *a = arena_new();
        const char *scope = ce_path_scope(a, path);
        struct json_object *entry = json_member(l->items, scope);
        if (!entry) {
            entry = json_object_new_object();
            json_add(entry, "operations", json_object_new_array());
            json_add(l->items, scope, entry);
        }
        json_object_array_add(json_member(entry, "operations"), ce_operation_json(value));
        arena_free(a);
    }
    return true;
}

bool ce_operations_aggregated(struct request *q, struct json_object **ret)
{
    struct listing l = {.folder = arena_printf(q->a, "projects/%s/", q->project),
                        .items = json_object_new_object()};
    map_each(q->c->operations, collect_scoped, &l);
    *ret = json_object_new_object();
    json_add_str(*ret, "kind", "compute#operationAggregatedList");
    json_add_str(*ret, "id", q->folder);
    json_add_str(*ret, "selfLink", ce_link_full(q->a, q->folder));
    json_add(*ret, "items", l.items);
    return true;
}

void ce_operations_handle(struct request *q)
{
    q->call->pretty = !str_eq(sim_call_param(q->call, "prettyPrint"), "false");
    if (!q->name) {
        answer_list(q);
        return;
    }
    const char *path = arena_printf(q->a, "%s/%s", q->folder, q->name);
    struct operation *op = map_get(q->c->operations, path);
    if (!op) {
        ce_refuse_not_found(&q->refusal, q->a, path);
        sim_answer(q->call, 404, ce_refusal_body(&q->refusal));
        return;
    }
    if (!op->done && !op->timer) {
        finish(op); /* latency none: done at the first look */
    }
    if (!op->done && str_eq(q->verb, "wait")) {
        wait_for(q, op);
    } else {
        sim_answer(q->call, 200, ce_operation_json(op));
    }
}
