/* SPDX-License-Identifier: Apache-2.0 */
/* host_report.c: what a provider tells along the way: logs, events, metrics, plans, operations,
 * calls.
 *
 * A plan is logged as a plan, one line per Service with something to do, and each operation when it
 * has ended (ux.md, Log).  An empty plan says nothing. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "controller/host/host_internal.h"
#include "controller/queue/queue_rules.h"
#include "controller/rules/detail_rules.h"
#include "controller/rules/word_rules.h"

#define LOG_VALUES_MAX    24
#define METRIC_LABELS_MAX 64

void host_log_fault(struct tt_host_ctx *h, const char *what)
{
    static struct log_limit limit = {.interval_ms = 60000, .burst = 5};

    if (log_limit_ok(&limit, clock_now_ms(h->args.clock))) {
        log_error(what, "Fault of the provider", LOG_S("provider", h->args.desc->name));
    }
}

static void host_log(struct tt_host_ctx *h, uint32_t severity, int32_t v, const char *message,
                     const struct tt_kv *values, uint32_t n_values)
{
    struct log_kv kvs[LOG_VALUES_MAX + 1] = {{0}};
    uint32_t n = n_values < LOG_VALUES_MAX ? n_values : LOG_VALUES_MAX;
    const char *err_text = NULL;

    if (message == NULL || !host_text_ok(message, TT_TEXT_MAX)) {
        return;
    }
    n = values == NULL ? 0 : n;
    uint32_t used = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (values[i].key == NULL || !host_text_ok(values[i].key, 63)) {
            continue;
        }
        const char *text = str_nonnull(values[i].value);
        text = host_text_ok(text, 65536) ? text : "(not printable)";
        if (severity == TT_LOG_ERROR && strcmp(values[i].key, "err") == 0) {
            err_text = text;
            continue;
        }
        kvs[used++] = LOG_S(values[i].key, text);
    }
    if (severity == TT_LOG_ERROR) {
        log_write(LOG_ERROR, 0, __FILE__, __LINE__, err_text, message, kvs);
    } else if (severity == TT_LOG_WARNING) {
        log_write(LOG_WARNING, 0, __FILE__, __LINE__, NULL, message, kvs);
    } else if (log_enabled(v, h->args.desc->name)) {
        log_write(LOG_INFO, v, __FILE__, __LINE__, NULL, message, kvs);
    }
}

static void host_event(struct tt_host_ctx *h, const struct tt_service *service, uint32_t type,
                       const char *reason, const char *message)
{
    const char *component = str_or(h->args.desc->event_component, "service-controller");

    if (service == NULL || str_is_empty(service->ns) || str_is_empty(service->name) ||
        !word_is_reason(reason) || message == NULL || !host_text_ok(message, TT_TEXT_MAX)) {
        host_log_fault(h,
                       "an event was dropped: its Service or message is absent, its message is "
                       "too long or not UTF-8, or its reason is not a word like AddressAssigned");
        return;
    }
    if (h->args.events == NULL || h->args.planning) {
        return;
    }
    kube_events_emit(h->args.events, service, component,
                     type == TT_EVENT_WARNING ? "Warning" : "Normal", reason, message);
}

/* ---- metrics --------------------------------------------------------------------------------- */

/* May a value be kept?  Infinity would stay in a sum forever. */
static bool is_metric_use(const struct tt_host_ctx *h, const char *name, const struct tt_kv *labels,
                          uint32_t n)
{
    if (h->args.metrics == NULL || name == NULL || !host_text_ok(name, 200) ||
        n > METRIC_LABELS_MAX || (n > 0 && labels == NULL)) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (labels[i].key == NULL) {
            return false;
        }
    }
    return true;
}

static void host_metric_add(struct tt_host_ctx *h, const char *name, const struct tt_kv *labels,
                            uint32_t n, double value)
{
    if (is_metric_use(h, name, labels, n) && isfinite(value)) {
        metrics_add(h->args.metrics, name, labels, n, value);
    }
}

static void host_metric_set(struct tt_host_ctx *h, const char *name, const struct tt_kv *labels,
                            uint32_t n, double value)
{
    if (is_metric_use(h, name, labels, n)) {
        metrics_set(h->args.metrics, name, labels, n, value);
    }
}

static void host_metric_observe(struct tt_host_ctx *h, const char *name, const struct tt_kv *labels,
                                uint32_t n, double value)
{
    if (is_metric_use(h, name, labels, n) && isfinite(value)) {
        metrics_observe(h->args.metrics, name, labels, n, value);
    }
}

/* ---- plans ----------------------------------------------------------------------------------- */

struct plan_counts {
    unsigned create;
    unsigned change;
    unsigned delete;
    unsigned makes;  /* creations without which clients are not served as asked */
    unsigned news;   /* of them, those that a Service's owner hears of */
    bool takes_down; /* something that is put back if its replacement fails */
};

static bool op_is_for(const struct tt_operation *op, const char *key)
{
    for (uint32_t i = 0; i < op->n_owners; i++) {
        if (strcmp(op->owners[i], key) == 0) {
            return true;
        }
    }
    return false;
}

/* Of each Service, by its key: one pass, as a plan may be of thousands of
 * Services and operations. */
static struct map *counts_of(const struct tt_plan *plan)
{
    struct map *all = map_new(free);

    for (uint32_t i = 0; i < plan->n_operations; i++) {
        const struct tt_operation *op = plan->operations[i];
        for (uint32_t o = 0; o < op->n_owners; o++) {
            struct plan_counts *n = map_get(all, op->owners[o]);
            if (n == NULL) {
                n = xcalloc(1, sizeof(*n));
                map_set(all, op->owners[o], n);
            }
            n->takes_down = n->takes_down || (op->flags & TT_OP_PUT_BACK) != 0;
            n->create += op->verb == TT_OP_CREATE;
            n->makes += op->verb == TT_OP_CREATE && (op->flags & TT_OP_SERVES_WITHOUT) == 0;
            n->change += op->verb == TT_OP_CHANGE;
            n->delete += op->verb == TT_OP_DELETE;
            n->news += op->verb != TT_OP_KEEP && (op->flags & TT_OP_AGAIN) == 0;
        }
    }
    return all;
}

static void count_plan(struct tt_host_ctx *h, bool changes)
{
    const struct tt_kv result = {"result", changes ? "changes" : "empty"};

    if (h->args.metrics != NULL) {
        metrics_add(h->args.metrics, METRIC_PLANS, &result, 1, 1);
    }
}

/* The operations in words.  The caller holds the call's lock. */
static void note_plan(struct tt_result *r, const struct tt_plan *plan, const struct plan_counts *n)
{
    r->changes.create += n->create;
    r->changes.change += n->change;
    r->changes.delete += n->delete;
    for (uint32_t i = 0; i < plan->n_operations; i++) {
        const struct tt_operation *op = plan->operations[i];
        if (op->verb != TT_OP_KEEP && op_is_for(op, r->key)) {
            r->changes.operations = report_add_operation(r->call->arena, r->changes.operations, op);
        }
    }
}

#define FINDINGS_MAX 64 /* of one Service that are kept */

static void note_finding(struct host_call *c, struct tt_result *r, const struct tt_finding *f)
    _requires_(c->lock)
{
    struct arena *a = c->arena;
    struct tt_finding *all = (struct tt_finding *)r->findings;
    for (size_t i = 0; i < r->n_findings; i++) {
        if (str_eq(all[i].message, f->message)) {
            return;
        }
    }
    if (all == NULL) {
        all = ARENA_ARRAY(a, struct tt_finding, FINDINGS_MAX);
        r->findings = all;
    }
    if (r->n_findings < FINDINGS_MAX) {
        all[r->n_findings++] = (struct tt_finding){.size = sizeof all[0],
                                                   .reason = arena_strdup(a, f->reason),
                                                   .field = arena_strdup(a, f->field),
                                                   .message = arena_strdup(a, f->message)};
    }
}

/* Keeps the findings of a plan about its Services.  Of several plans of a call the last one counts,
 * but for findings. */
static void note_services(struct host_call *c, const struct tt_plan *plan)
{
    mutex_lock(&c->lock);
    for (uint32_t i = 0; i < plan->n_services; i++) {
        const struct tt_plan_service *s = plan->services[i];
        struct tt_result *r = host_call_find(c, str_nonnull(s->key));
        if (r == NULL || !TT_HAS(s, serves_nobody)) {
            continue;
        }
        r->has_plan = true;
        r->serves_nobody = arena_strdup(r->call->arena, s->serves_nobody);
        for (uint32_t k = 0; k < s->n_findings; k++) {
            note_finding(c, r, s->findings[k]);
        }
    }
    mutex_unlock(&c->lock);
}

/* No one was shown what is going to be done, so it is not done: the call's Services fail, and
 * may_mutate() says no. */
static void refuse_plan(struct tt_host_ctx *h, const struct tt_call *call, const char *why)
{
    log_error(why, "Fault of the provider: its plan is refused",
              LOG_S("provider", h->args.desc->name));
    if (call == NULL) {
        return;
    }
    struct host_call *c = host_call_of(call);
    atomic_store(&c->refused, true);
    for (uint32_t i = 0; i < c->n_results; i++) {
        struct tt_result *r = &c->results[i];
        mutex_lock(&r->call->lock);
        host_break_result(r, arena_printf(r->call->arena, "a plan with %s", why));
        mutex_unlock(&r->call->lock);
    }
}

static void host_report_plan(struct tt_host_ctx *h, const struct tt_call *call,
                             const struct tt_plan *plan)
{
    char why[HOST_WHY_MAX];

    if (!host_plan_ok(plan, why)) {
        refuse_plan(h, call, why);
        return;
    }
    if (h->args.hooks.on_plan != NULL) {
        h->args.hooks.on_plan(h->args.hooks.arg, plan);
    }
    if (call != NULL && call->planning && h->args.hooks.on_planned != NULL) {
        h->args.hooks.on_planned(host_call_of(call)->call_arg, plan);
    }
    if (call == NULL || call->planning) {
        return;
    }
    struct host_call *c = host_call_of(call);
    struct map *counts = counts_of(plan);
    note_services(c, plan);
    for (uint32_t i = 0; i < c->n_results; i++) {
        struct tt_result *r = &c->results[i];
        const struct plan_counts *found = map_get(counts, r->key);
        struct plan_counts n = found == NULL ? (struct plan_counts){0} : *found;
        unsigned changes = n.create + n.change + n.delete;
        count_plan(h, changes > 0);
        if (changes == 0) {
            continue;
        }
        if (!h->args.quiet) {
            log_info(0, "Plan", LOG_S("service", r->key), LOG_I("create", n.create),
                     LOG_I("change", n.change), LOG_I("delete", n.delete),
                     LOG_I("waves", plan->waves));
        }
        mutex_lock(&c->lock);
        bool first = r->news == 0 && n.news > 0;
        r->failed_spared = 0;
        r->failed_others = 0;
        r->only_takes = n.takes_down && n.makes == 0;
        r->planned += changes;
        r->news += n.news;
        if (h->args.note_plans) {
            note_plan(r, plan, &n);
        }
        mutex_unlock(&c->lock);
        if (first && h->args.hooks.on_work != NULL) {
            h->args.hooks.on_work(c->call_arg, r);
        }
        if (n.takes_down && !r->former_sent) {
            host_keep_former(h, r);
        }
    }
    map_free(counts);
}

static const char *verb_word(uint32_t verb)
{
    static const char *const words[] = {"", "create", "change", "delete", "keep"};

    return verb < sizeof(words) / sizeof(words[0]) ? words[verb] : "";
}

static void log_operation(const struct tt_operation *op, const char *service, int32_t code,
                          const char *message, int64_t took_ms)
{
    _cleanup_(str_buf_done) struct str_buf resource = STR_BUF_INIT;
    _cleanup_(str_buf_done) struct str_buf detail = STR_BUF_INIT;

    detail_append(&detail, op);
    str_appendf(&resource, "%s %s", str_nonnull(op->kind), str_nonnull(op->name));
    if (code != TT_OK && (op->flags & TT_OP_TOLERATED) != 0) {
        log_info(0, "Left as it is", LOG_S("service", service),
                 LOG_S("operation", verb_word(op->verb)),
                 LOG_S("resource", str_buf_text(&resource)), LOG_S("reason", err_code_name(code)),
                 LOG_MS("took", took_ms));
    } else if (code == TT_OK) {
        log_info(0, "Done", LOG_S("service", service), LOG_S("operation", verb_word(op->verb)),
                 LOG_S("resource", str_buf_text(&resource)), LOG_S("detail", str_buf_text(&detail)),
                 LOG_S("why", op->why), LOG_MS("took", took_ms));
    } else {
        log_warning("Not done", LOG_S("service", service), LOG_S("operation", verb_word(op->verb)),
                    LOG_S("resource", str_buf_text(&resource)),
                    LOG_S("detail", str_buf_text(&detail)), LOG_S("code", err_code_name(code)),
                    LOG_S("message", message), LOG_MS("took", took_ms));
    }
}

static void count_operation(struct tt_host_ctx *h, const struct tt_operation *op, int32_t code)
{
    bool tolerated = code != TT_OK && (op->flags & TT_OP_TOLERATED) != 0;
    const struct tt_kv labels[] = {
        {"verb", verb_word(op->verb)},
        {"kind", host_text_ok(str_nonnull(op->kind), 63) ? op->kind : ""},
        {"result", tolerated ? "tolerated" : err_code_name(code)},
    };

    if (h->args.metrics != NULL) {
        metrics_add(h->args.metrics, METRIC_OPERATIONS, labels, ARRAY_LEN(labels), 1);
    }
}

static void host_report_operation(struct tt_host_ctx *h, const struct tt_call *call,
                                  const struct tt_operation *op, int32_t code, const char *message,
                                  int64_t took_ms)
{
    char why[HOST_WHY_MAX];

    if (!host_operation_ok(op, why) || !host_text_ok(str_nonnull(message), 65536)) {
        host_log_fault(h, "an operation was reported that cannot be read");
        return;
    }
    if (op->verb == TT_OP_KEEP) {
        return;
    }
    if (!h->args.planning) {
        count_operation(h, op, code);
    }
    if (!h->args.quiet) {
        log_operation(op, op->n_owners > 0 ? op->owners[0] : "", code, message, took_ms);
    }
    if (call == NULL || (op->flags & TT_OP_TOLERATED) != 0) {
        return;
    }
    struct host_call *c = host_call_of(call);
    /* A thing that is deleted for its replacement serves until then; parts of it may have gone. */
    bool tidies = op->verb == TT_OP_DELETE && (op->flags & TT_OP_PUT_BACK) == 0;
    bool spared = tidies || (op->flags & TT_OP_SERVES_WITHOUT) != 0;
    mutex_lock(&c->lock);
    for (uint32_t i = 0; i < op->n_owners; i++) {
        struct tt_result *r = host_call_find(c, op->owners[i]);
        if (r != NULL) {
            r->operations_done += code == TT_OK;
            r->may_lack = r->may_lack || (op->flags & TT_OP_PUT_BACK) != 0;
            r->took_down = r->took_down || (code == TT_OK && (op->flags & TT_OP_PUT_BACK) != 0);
            r->is_back = r->is_back || (code == TT_OK && (op->flags & TT_OP_RESTORES) != 0);
            r->not_back = r->not_back || (code != TT_OK && (op->flags & TT_OP_RESTORES) != 0);
            r->gave_way = r->gave_way || (r->took_down && r->only_takes);
            r->failed_spared += code != TT_OK && spared;
            r->failed_others += code != TT_OK && !spared;
        }
    }
    mutex_unlock(&c->lock);
}

static void host_report_call(struct tt_host_ctx *h, const struct tt_call *call, const char *api,
                             const char *op, int32_t status, int64_t took_ms)
{
    char code[16];

    if (api == NULL || op == NULL || !host_text_ok(api, 63) || !host_text_ok(op, 200)) {
        return;
    }
    progress_note(h->args.progress);
    if (call != NULL) {
        atomic_fetch_add(&host_call_of(call)->requests, 1);
    }
    log_info(4, "Cloud request", LOG_S("api", api), LOG_S("operation", op), LOG_I("status", status),
             LOG_MS("took", took_ms));
    if (h->args.metrics == NULL) {
        return;
    }
    (void)snprintf(code, sizeof(code), "%" PRId32, status);
    const struct tt_kv labels[] = {{"api", api}, {"operation", op}, {"code", code}};
    metrics_add(h->args.metrics, METRIC_CLOUD_REQUESTS, labels, 3, 1);
    metrics_observe(h->args.metrics, METRIC_CLOUD_DURATION, labels, 2, (double)took_ms / 1000);
}

/* ---- findings -------------------------------------------------------------------------------- */

static void host_report_finding(struct tt_host_ctx *h, uint32_t severity, const char *where,
                                const char *message)
{
    if (message == NULL || !host_text_ok(message, TT_TEXT_MAX) ||
        !host_text_ok(str_nonnull(where), TT_TEXT_MAX)) {
        return;
    }
    if (h->args.hooks.on_finding != NULL) {
        h->args.hooks.on_finding(h->args.hooks.arg, severity, str_nonnull(where), message);
        return;
    }
    if (severity == TT_LOG_INFO) {
        log_info(0, "Configuration", LOG_S("where", where), LOG_S("finding", message));
    } else {
        log_warning("Configuration", LOG_S("where", where), LOG_S("finding", message));
    }
}

static bool text_ok(const char *text)
{
    return host_text_ok(str_nonnull(text), TT_TEXT_MAX);
}

static void host_report_owned(struct tt_host_ctx *h, const char *kind, const char *name,
                              const char *owner, const char *detail)
{
    if (h->args.hooks.on_owned != NULL && kind != NULL && name != NULL && text_ok(kind) &&
        text_ok(name) && text_ok(owner) && text_ok(detail)) {
        h->args.hooks.on_owned(h->args.hooks.arg, kind, name, owner, detail);
    }
}

static bool name_ok(const char *text)
{
    return !str_is_empty(text) && host_text_ok(text, TT_TEXT_MAX) && strchr(text, '/') == NULL;
}

/* A Service that a provider put together: what the host reads of it. */
static bool service_ok(const struct tt_service *s)
{
    return name_ok(s->ns) && name_ok(s->name) && text_ok(s->uid) && text_ok(s->type) &&
           text_ok(s->lb_class);
}

static void host_report_resource(struct tt_host_ctx *h, const struct tt_call *call,
                                 const struct tt_owned *o)
{
    (void)call;
    if (h->args.hooks.on_resource != NULL && o != NULL && TT_HAS(o, reserved_) &&
        !str_is_empty(o->kind) && !str_is_empty(o->name) && text_ok(o->kind) && text_ok(o->name) &&
        text_ok(o->place) && text_ok(o->owner) && text_ok(o->cost) && text_ok(o->command) &&
        (o->remove_as == NULL || service_ok(o->remove_as))) {
        h->args.hooks.on_resource(h->args.hooks.arg, o);
    }
}

static void host_report_left(struct tt_host_ctx *h, const struct tt_call *call,
                             const struct tt_service *service)
{
    if (call != NULL && service != NULL && service_ok(service) && h->args.hooks.on_left != NULL) {
        h->args.hooks.on_left(host_call_of(call)->call_arg, service);
    }
}

static void host_service_again(struct tt_host_ctx *h, const char *ns, const char *name,
                               int64_t after_ms)
{
    if (str_is_empty(ns) || str_is_empty(name) || !text_ok(ns) || !text_ok(name)) {
        host_log_fault(h, "service_again() was called without a name");
        return;
    }
    after_ms = after_ms < 0 ? 0 : after_ms > QUEUE_AGAIN_MAX_MS ? QUEUE_AGAIN_MAX_MS : after_ms;
    if (h->args.hooks.on_again != NULL) {
        h->args.hooks.on_again(h->args.hooks.arg, ns, name, after_ms);
    }
}

void host_table_reports(struct tt_host *t)
{
    t->log = host_log;
    t->event = host_event;
    t->metric_add = host_metric_add;
    t->metric_set = host_metric_set;
    t->metric_observe = host_metric_observe;
    t->report_plan = host_report_plan;
    t->report_operation = host_report_operation;
    t->report_call = host_report_call;
    t->report_finding = host_report_finding;
    t->report_owned = host_report_owned;
    t->report_left = host_report_left;
    t->report_resource = host_report_resource;
    t->service_again = host_service_again;
}
