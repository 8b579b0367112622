/* SPDX-License-Identifier: Apache-2.0 */
/* operations.c: long-running writes: how they are answered, polled, finished, superseded and
 * failed.
 *
 * At --latency none a write is done when it is answered.  At --latency cloud, or when the world's
 * settings say so, the answer leads to an operation: by Azure-AsyncOperation, by Location, or by
 * the document's own state.  A document that is being written refuses the next write, or, as the
 * network provider does with `supersede`, cancels the first.
 * Settings (world member "sim.azure"): async "azure-async" | "location" | "body", polls (how often
 * it says InProgress), retry_after (s), retry_after_form ("ms", "date"), supersede (bool), conflict
 * ("retryable").
 * Source: docs/spec/azure.md §3.5, §16 items 4 and 10. */
#include "sim/arm/arm.h"

#include <string.h>
#include <time.h>

#define OPERATIONS_MAX 2000

enum style { STYLE_NONE = 0, STYLE_ASYNC, STYLE_LOCATION, STYLE_BODY };

struct arm_operation {
    struct arm *arm;
    char *name;
    char *target;   /* id of the document */
    bool unchanged; /* the write changed nothing: the etag stays */
    bool removes;   /* a DELETE */
    enum style style;
    int64_t polls_left;        /* without a timer: how often it still says InProgress */
    struct sim_timer *timer;   /* NULL: none runs */
    const char *status;        /* "InProgress", "Succeeded", "Failed", "Canceled" */
    struct json_object *error; /* {"code", "message"}, or NULL */
    bool fails;                /* how it ends: `error` is set from the start */
    const char *end;           /* "Failed", "Canceled" when it fails */
    int64_t retry_after_s;
    uint64_t seq;
};

static void operation_free(void *p)
{
    struct arm_operation *op = p;
    sim_timer_cancel(op->timer);
    json_object_put(op->error);
    free(op->name);
    free(op->target);
    free(op);
}

void arm_operations_init(struct arm *arm)
{
    arm->operations = map_new(operation_free);
}

void arm_operations_done(struct arm *arm)
{
    map_free(arm->operations);
}

/* --- how long things take --------------------------------------------------------------------- */

/* Medians as people see them in one region; only their order of size matters to clients. */
static const struct {
    const char *glob;
    int64_t ms;
} latencies[] = {
    {"LoadBalancers.*", 4500},           {"LoadBalancerBackendAddressPools.*", 3500},
    {"PublicIPAddresses.*", 2500},       {"SecurityGroups.*", 2500},
    {"PrivateLinkServices.*", 8000},     {"VirtualMachineScaleSetVMs.*", 9000},
    {"VirtualMachineScaleSets.*", 6000}, {"VirtualMachines.*", 6000},
};

static int64_t duration_of(struct arm *arm, const char *op_id)
{
    int64_t ms = 2000;
    for (size_t i = 0; i < ARRAY_LEN(latencies); i++) {
        if (str_glob(latencies[i].glob, op_id)) {
            ms = latencies[i].ms;
            break;
        }
    }
    return ms * 3 / 4 + (int64_t)rng_below(sim_rng(arm->sim), (uint64_t)ms / 2 + 1);
}

/* --- ends ------------------------------------------------------------------------------------- */

static bool is_running(const struct arm_operation *op)
{
    return str_eq(op->status, "InProgress");
}

static void end_write(struct arm_operation *op, struct arm_resource *res)
{
    struct arm *arm = op->arm;
    if (op->fails) {
        struct json_object *body = json_copy(res->body);
        if (res->hides_address) {
            json_object_object_del(json_member(body, "properties"), "ipAddress");
        }
        res->hides_address = false;
        (void)arm_commit(arm, op->target, body, "Failed");
    } else {
        res->hides_address = false;
        if (!op->unchanged) {
            arm_touch(arm, op->target);
        }
    }
}

static void finish(struct arm_operation *op)
{
    struct arm *arm = op->arm;
    struct arm_resource *res = arm_get(arm, op->target);
    sim_timer_cancel(op->timer);
    op->timer = NULL;
    op->status = op->fails ? op->end : "Succeeded";
    if (!res || res->op != op) {
        return;
    }
    res->op = NULL;
    if (op->removes && !op->fails) {
        arm_lag_note(arm, op->target);
        arm_unset(arm, op->target);
        arm_settle(arm);
    } else {
        end_write(op, res);
    }
}

static void on_time(void *arg)
{
    struct arm_operation *op = arg;
    op->timer = NULL;
    finish(op);
}

/* One look at it: without a timer, looks are what it takes. */
static void poll(struct arm_operation *op)
{
    if (is_running(op) && !op->timer && op->polls_left-- <= 0) {
        finish(op);
    }
}

static bool pass(const char *name, void *value, void *arg)
{
    struct arm_operation *op = value;
    (void)name;
    if (arm_id_is_below(op->target, arg)) {
        poll(op);
    }
    return true;
}

/* A client that is gone does not poll: its writes end all the same. */
void arm_operations_pass(struct arm *arm, const char *above)
{
    map_each(arm->operations, pass, (void *)above);
}

static void fail_with(struct arm_operation *op, const char *end, const char *code,
                      const char *message)
{
    json_object_put(op->error);
    op->error = json_object_new_object();
    json_add_str(op->error, "code", code);
    json_add_str(op->error, "message", message);
    op->fails = true;
    op->end = end;
}

const char *arm_operation_state(const struct arm_operation *op)
{
    return op->removes ? "Deleting" : "Updating";
}

void arm_operations_look(struct arm_resource *res)
{
    if (res->op && res->op->style == STYLE_BODY) {
        poll(res->op);
    }
}

/* --- conflicts -------------------------------------------------------------------------------- */

static void supersede(struct arm_operation *op, struct arm_resource *res)
{
    struct arena *a = arena_new();
    fail_with(op, "Canceled", "CanceledAndSupersededDueToAnotherOperation",
              arena_printf(a,
                           "Operation on %s (%s) was canceled and superseded by another operation.",
                           op->target, op->name));
    op->status = "Canceled";
    sim_timer_cancel(op->timer);
    op->timer = NULL;
    res->op = NULL;
    arena_free(a);
}

/* The running write of a balancer that holds this address or carries this link; NULL: none. */
static struct arm_operation *balancer_write(struct arm_request *q, const struct arm_resource *res)
{
    struct json_object *p = json_member(res->body, "properties");
    struct json_object *fips = json_member(p, "loadBalancerFrontendIpConfigurations");
    const char *fip = arm_ref(p, "ipConfiguration");
    fip = fip ? fip : json_len(fips) ? json_str(json_object_array_get_idx(fips, 0), "id") : NULL;
    const struct arm_resource *lb = fip ? arm_get(q->arm, arm_id_parent(q->a, fip)) : NULL;
    return lb ? lb->op : NULL;
}

/* The form that the network provider has for the same when it is busy: 429, and what is
 * meant in the details. */
static bool refuse_retryable(struct arm_request *q, const struct arm_operation *op)
{
    q->refusal.detail_code = "RetryableErrorDueToAnotherOperation";
    q->refusal.detail = arena_printf(
        q->a, "Operation %s is updating resource %s. The call can be retried in %d seconds.",
        op->name, op->target, q->refusal.retry_after_s);
    return arm_refuse(q, 429, "RetryableError", "A retryable error occurred.");
}

static bool refuse_conflict(struct arm_request *q, struct arm_operation *op)
{
    bool network = strstr(q->id, "/Microsoft.Network/") != NULL;
    q->refusal.retry_after_s = (int)(op->retry_after_s > 0 ? op->retry_after_s : 1);
    if (network && str_eq(json_str(q->arm->settings, "conflict"), "retryable")) {
        poll(op);
        return refuse_retryable(q, op);
    }
    poll(op);
    return arm_refuse(
        q, 409, network ? "AnotherOperationInProgress" : "RetryableErrorDueToAnotherOperation",
        "Another operation on this or dependent resource is in progress. To retrieve status of the "
        "operation use uri: %s/subscriptions/%s/providers/Microsoft.%s/locations/%s/operations/%s. "
        "The operation can be retried in %d seconds.",
        sim_url(q->arm->sim), q->subscription, network ? "Network" : "Compute", q->arm->location,
        op->name, q->refusal.retry_after_s);
}

bool arm_operations_admit(struct arm_request *q, struct arm_resource *res)
{
    struct arm_operation *op = res ? res->op : NULL;
    if (res && !op) {
        op = balancer_write(q, res);
        return !op || refuse_conflict(q, op);
    }
    if (!op) {
        return true;
    }
    if (json_bool(q->arm->settings, "supersede", false) && !op->removes) {
        supersede(op, res);
        return true;
    }
    return refuse_conflict(q, op);
}

/* --- beginnings ------------------------------------------------------------------------------- */

static enum style style_of(const struct arm_request *q)
{
    const char *word = json_str(q->arm->settings, "async");
    enum style style = str_eq(word, "azure-async") ? STYLE_ASYNC
                       : str_eq(word, "location")  ? STYLE_LOCATION
                       : str_eq(word, "body")      ? STYLE_BODY
                                                   : STYLE_NONE;
    bool late = sim_cfg(q->arm->sim)->latency == SIM_LATENCY_CLOUD || q->call->fail;
    if (!q->op->long_running || !q->target) {
        return STYLE_NONE;
    }
    if (style == STYLE_NONE && late) {
        style = STYLE_ASYNC;
    }
    return style == STYLE_BODY && q->removed ? STYLE_LOCATION : style;
}

struct oldest {
    struct arm_operation *op;
};

static bool find_oldest(const char *name, void *value, void *arg)
{
    struct arm_operation *op = value;
    struct oldest *o = arg;
    (void)name;
    if (!is_running(op) && (!o->op || op->seq < o->op->seq)) {
        o->op = op;
    }
    return true;
}

static void forget_oldest(struct arm *arm)
{
    struct oldest o = {0};
    map_each(arm->operations, find_oldest, &o);
    if (o.op) {
        char *name = xstrdup(o.op->name);
        map_remove(arm->operations, name);
        free(name);
    }
}

/* How a write ends that a fault lets fail: {"status", "error": {…}} or {"code", "message"}. */
static void take_fault(struct arm_operation *op, struct json_object *fail)
{
    struct json_object *error = json_member(fail, "error");
    const char *end = str_or(json_str(fail, "status"), "Failed");
    error = error ? error : fail;
    fail_with(op, str_eq_nocase(end, "Canceled") ? "Canceled" : "Failed",
              str_or(json_str(error, "code"), "InternalServerError"),
              str_or(json_str(error, "message"), "An error occurred."));
}

static struct arm_operation *start(struct arm_request *q, enum style style)
{
    struct arm *arm = q->arm;
    struct arm_operation *op = xcalloc(1, sizeof(*op));
    op->arm = arm;
    op->name = xstrdup(arm_uuid(arm, q->a));
    op->target = xstrdup(q->target->id);
    op->removes = q->removed;
    op->unchanged = q->unchanged;
    op->style = style;
    op->polls_left = json_int(arm->settings, "polls", 0);
    op->retry_after_s = json_int(arm->settings, "retry_after", 0);
    op->status = "InProgress";
    op->seq = ++arm->next_seq;
    if (q->call->fail) {
        take_fault(op, q->call->fail);
    }
    if (sim_cfg(arm->sim)->latency == SIM_LATENCY_CLOUD) {
        op->timer = sim_after(arm->sim, duration_of(arm, q->op->id), on_time, op);
    }
    map_set(arm->operations, op->name, op);
    if (map_size(arm->operations) > OPERATIONS_MAX) {
        forget_oldest(arm);
    }
    q->target->op = op;
    q->target->hides_address = q->created && str_eq(q->target->kind->ops, "PublicIPAddresses");
    return op;
}

/* In seconds, or as the settings' retry_after_form says: "ms", "date". */
static void add_retry_after(struct arm_request *q, const struct arm_operation *op)
{
    const char *form = json_str(q->arm->settings, "retry_after_form");
    struct http_req *req = q->call->req;
    if (op->retry_after_s <= 0 || !is_running(op)) {
        return;
    }
    if (str_eq(form, "ms")) {
        http_req_add_header(req, "x-ms-retry-after-ms",
                            arena_printf(q->a, "%lld", (long long)op->retry_after_s * 1000));
    } else if (str_eq(form, "date")) {
        time_t at = (time_t)(clock_wall_s(sim_clock(q->arm->sim)) + op->retry_after_s);
        struct tm tm;
        char text[64] = "";
        strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&at, &tm));
        http_req_add_header(req, "Retry-After", text);
    } else {
        http_req_add_header(req, "Retry-After",
                            arena_printf(q->a, "%lld", (long long)op->retry_after_s));
    }
}

static void add_polling(struct arm_request *q, const struct arm_operation *op)
{
    struct http_req *req = q->call->req;
    bool network = strstr(q->id, "/Microsoft.Network/") != NULL;
    const char *base = arena_printf(q->a, "%s/subscriptions/%s/providers/Microsoft.%s/locations/%s",
                                    sim_url(q->arm->sim), q->subscription,
                                    network ? "Network" : "Compute", q->arm->location);
    const char *version = q->op->api_version;
    if (op->style == STYLE_ASYNC) {
        http_req_add_header(
            req, "Azure-AsyncOperation",
            arena_printf(q->a, "%s/operations/%s?api-version=%s", base, op->name, version));
    }
    if (op->style == STYLE_LOCATION || op->removes) {
        http_req_add_header(
            req, "Location",
            arena_printf(q->a, "%s/operationResults/%s?api-version=%s", base, op->name, version));
    }
    add_retry_after(q, op);
}

/* The document, or the part of it that the request was about; a DELETE of a part has no body. */
static void set_answer(struct arm_request *q)
{
    if (!q->answer && q->op->answer >= 0) {
        q->answer = arm_shown(q, q->target);
    }
}

static void answer_done(struct arm_request *q)
{
    if (q->removed) {
        arm_lag_note(q->arm, q->target->id);
        arm_unset(q->arm, q->target->id);
        arm_settle(q->arm);
        q->status = 200;
    } else {
        set_answer(q);
        q->status = q->created && strstr(q->op->statuses, "201") ? 201 : 200;
    }
}

void arm_operations_answer(struct arm_request *q)
{
    if (!q->target) {
        return;
    }
    enum style style = style_of(q);
    if (style == STYLE_NONE) {
        answer_done(q);
        return;
    }
    const struct arm_operation *op = start(q, style);
    add_polling(q, op);
    if (q->removed) {
        q->status = 202;
        return;
    }
    set_answer(q);
    /* A part of the document, which the verb has put there before this began; who reads that all is
     * done polls no more. */
    struct json_object *part = json_member(q->answer, "properties");
    if (json_member(part, "provisioningState")) {
        json_add_str(part, "provisioningState", arm_operation_state(op));
    }
    q->status = strstr(q->op->statuses, "202")                 ? 202
                : q->created && strstr(q->op->statuses, "201") ? 201
                                                               : 200;
}

/* --- polls ------------------------------------------------------------------------------------ */

bool arm_operation_get(struct arm_request *q)
{
    struct arm_operation *op = map_get(q->arm->operations, q->name);
    if (!op) {
        return arm_refuse(q, 404, "NotFound", "Operation %s was not found.", q->name);
    }
    poll(op);
    q->answer = json_object_new_object();
    json_add_str(q->answer, "status", op->status);
    json_add_str(q->answer, "name", op->name);
    if (op->fails && !is_running(op)) {
        json_add(q->answer, "error", json_object_get(op->error));
    }
    add_retry_after(q, op);
    return true;
}

bool arm_operation_result(struct arm_request *q)
{
    struct arm_operation *op = map_get(q->arm->operations, q->name);
    if (!op) {
        return arm_refuse(q, 404, "NotFound", "Operation %s was not found.", q->name);
    }
    poll(op);
    add_retry_after(q, op);
    if (is_running(op)) {
        http_req_add_header(q->call->req, "Location",
                            arena_printf(q->a, "%s%s", sim_url(q->arm->sim), q->call->target));
        q->status = 202;
        return true;
    }
    if (op->fails) {
        return arm_refuse(q, 409, arena_strdup(q->a, json_str(op->error, "code")), "%s",
                          json_str(op->error, "message"));
    }
    struct arm_resource *res = op->removes ? NULL : arm_get(q->arm, op->target);
    q->status = res ? 200 : 204;
    q->answer = res ? arm_shown(q, res) : NULL;
    return true;
}
