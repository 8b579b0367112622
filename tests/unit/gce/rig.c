/* SPDX-License-Identifier: Apache-2.0 */
/* rig.c: see rig.h.  The host's side: what a provider may ask, and what it says. */
#include "tests/unit/gce/rig_internal.h"

#include "common/base/clock.h"
#include "common/lb/plan_print.h"
#include "common/lb/service_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct rig *of(struct tt_host_ctx *ctx)
{
    return (struct rig *)ctx;
}

static void host_log(struct tt_host_ctx *ctx, uint32_t severity, int32_t v, const char *message,
                     const struct tt_kv *values, uint32_t n)
{
    (void)ctx;
    (void)severity;
    (void)v;
    (void)message;
    (void)values;
    (void)n;
}

static void note(struct rig *r, char *text)
{
    mutex_lock(&r->lock);
    if (r->n_events < RIG_TEXTS) {
        r->events[r->n_events] = arena_strdup(r->a, text);
    }
    r->n_events++;
    mutex_unlock(&r->lock);
    free(text);
}

static void host_event(struct tt_host_ctx *ctx, const struct tt_service *s, uint32_t type,
                       const char *reason, const char *message)
{
    (void)s;
    note(of(ctx),
         xasprintf("%s %s %s", type == TT_EVENT_NORMAL ? "Normal" : "Warning", reason, message));
}

static int64_t host_now_ms(struct tt_host_ctx *ctx)
{
    (void)ctx;
    return clock_now_ms(clock_real());
}

static int64_t host_wall_us(struct tt_host_ctx *ctx)
{
    (void)ctx;
    return clock_wall_us(clock_real());
}

static void host_random(struct tt_host_ctx *ctx, void *bytes, size_t n)
{
    (void)ctx;
    rng_bytes(rng_real(), bytes, n);
}

/* Counts mutations, and is where a process that dies before one stops. */
static int32_t host_may_mutate(struct tt_host_ctx *ctx, const struct tt_call *call)
{
    struct rig *r = of(ctx);
    (void)call;
    mutex_lock(&r->lock);
    r->mutations++;
    if (r->death == RIG_DIES_BEFORE && r->mutations == r->death_at) {
        r->dead = true;
    }
    bool dead = r->dead;
    mutex_unlock(&r->lock);
    return !dead;
}

static void host_services(struct tt_host_ctx *ctx, const struct tt_call *call,
                          const struct tt_service *const **ret, uint32_t *ret_n)
{
    (void)call;
    *ret = of(ctx)->services;
    *ret_n = (uint32_t)of(ctx)->n_services;
}

static void host_nodes(struct tt_host_ctx *ctx, const struct tt_call *call,
                       const struct tt_node *const **ret, uint32_t *ret_n)
{
    (void)call;
    *ret = of(ctx)->nodes;
    *ret_n = (uint32_t)of(ctx)->n_nodes;
}

static int32_t host_kube_get(struct tt_host_ctx *ctx, const struct tt_call *call,
                             const struct tt_kube_ref *ref, const struct tt_text_sink *ret)
{
    struct rig *r = of(ctx);
    (void)call;
    if (str_eq(ref->resource, "namespaces")) {
        static const char ns[] = "{\"metadata\":{\"name\":\"kube-system\",\"uid\":\"ksuid123\"}}";
        ret->put(ret->arg, ns, strlen(ns));
        return TT_OK;
    }
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", ref->resource, ref->name);
    const char *object = map_get(r->objects, path);
    if (object != NULL) {
        ret->put(ret->arg, object, strlen(object));
        return TT_OK;
    }
    if (!str_eq(ref->resource, "configmaps") || r->configmap == NULL) {
        return TT_NOT_FOUND;
    }
    ret->put(ret->arg, r->configmap, strlen(r->configmap));
    return TT_OK;
}

static int32_t host_kube_create(struct tt_host_ctx *ctx, const struct tt_call *call,
                                const struct tt_kube_ref *ref, const char *json,
                                const struct tt_text_sink *ret)
{
    struct rig *r = of(ctx);
    (void)call;
    (void)ref;
    (void)ret;
    if (r->configmap != NULL) {
        return TT_EXISTS;
    }
    r->configmap = arena_strdup(r->a, json);
    return TT_OK;
}

static int32_t host_hold(struct tt_host_ctx *ctx, const struct tt_call *call,
                         const struct tt_item *item, const char *const *names, uint32_t n)
{
    struct rig *r = of(ctx);
    (void)call;
    if (r->parallel) {
        return TT_OK;
    }
    if ((item->result->own & TT_OWN_FINALIZERS) == 0) {
        rig_add_finalizer(r, item->service->name, LB_CLEANUP_FINALIZER);
    }
    for (uint32_t i = 0; i < n; i++) {
        rig_add_finalizer(r, item->service->name, names[i]);
    }
    return TT_OK;
}

/* As the lines "finding KEY MESSAGE" and "nobody KEY WHY": the controller makes events of those
 * that are news. */
static void note_findings(struct rig *r, const struct tt_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_services; i++) {
        const struct tt_plan_service *s = plan->services[i];
        _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
        for (uint32_t f = 0; f < s->n_findings; f++) {
            str_appendf(&b, "finding %s %s\n", s->key, s->findings[f]->message);
        }
        if (s->serves_nobody != NULL) {
            str_appendf(&b, "nobody %s %s\n", s->key, s->serves_nobody);
        }
        mutex_lock(&r->lock);
        r->findings = str_buf_to_arena(&b, r->a);
        mutex_unlock(&r->lock);
    }
}

static void host_report_plan(struct tt_host_ctx *ctx, const struct tt_call *call,
                             const struct tt_plan *plan)
{
    (void)call;
    struct rig *r = of(ctx);
    const struct plan_print how = {.verbose = false};
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    plan_print_text(&b, plan, &how);
    mutex_lock(&r->lock);
    r->plan_text = str_buf_to_arena(&b, r->a);
    mutex_unlock(&r->lock);
    note_findings(r, plan);
}

static void host_report_operation(struct tt_host_ctx *ctx, const struct tt_call *call,
                                  const struct tt_operation *op, int32_t code, const char *message,
                                  int64_t took_ms)
{
    (void)ctx;
    (void)call;
    (void)op;
    (void)code;
    (void)message;
    (void)took_ms;
}

static void host_report_call(struct tt_host_ctx *ctx, const struct tt_call *call, const char *api,
                             const char *op, int32_t status, int64_t took_ms)
{
    struct rig *r = of(ctx);
    (void)call;
    (void)status;
    (void)took_ms;
    if (!str_eq(api, "gce")) {
        return; /* for a token: it is not counted as a call */
    }
    mutex_lock(&r->lock);
    uintptr_t n = (uintptr_t)map_get(r->calls, op);
    map_set(r->calls, op, (void *)(n + 1));
    mutex_unlock(&r->lock);
}

static void result_ingress(struct tt_result *res, const struct tt_ingress *in, uint32_t n)
{
    (void)snprintf(res->ip, sizeof(res->ip), "%s", n > 0 ? str_nonnull(in[0].ip) : "");
}

static void result_condition(struct tt_result *res, const struct tt_condition *c)
{
    (void)snprintf(res->condition, sizeof(res->condition), "%s=%s", c->type, c->status);
}

/* Of what is taken back where it may not even be (the host looks at that) only users'
 * keys are noted. */
static void result_annotation(struct tt_result *res, const char *key, const char *value)
{
    if (value == NULL && (str_has_prefix(key, "service.kubernetes.io/") ||
                          str_eq(key, "cloud.google.com/neg-status"))) {
        return;
    }
    (void)snprintf(res->annotation, sizeof(res->annotation), "%s=%s", key, str_nonnull(value));
}

static void result_drop_finalizer(struct tt_result *res, const char *name)
{
    (void)snprintf(res->dropped, sizeof(res->dropped), "%s", name);
}

static void result_exists(struct tt_result *res, int32_t exists)
{
    res->exists = exists;
}

static void result_fail(struct tt_result *res, int32_t code, const char *message, int64_t retry)
{
    res->failed = true;
    res->code = code;
    res->retry_after_ms = retry;
    (void)snprintf(res->message, sizeof(res->message), "%s", message);
}

static void result_resource(struct tt_result *res, const char *kind, const char *name)
{
    (void)res;
    (void)kind;
    (void)name;
}

static void result_text(struct tt_result *res, const char *text)
{
    (void)snprintf(res->text, sizeof(res->text), "%s", text);
}

static void result_done(struct tt_result *res)
{
    res->done = true;
}

static void result_own(struct tt_result *res, uint32_t bits)
{
    res->own = bits;
}

static void result_again(struct tt_result *res, int64_t after_ms)
{
    res->again_ms = after_ms;
}

static void result_serves(struct tt_result *res)
{
    res->served++;
}

static void result_nobody(struct tt_result *res, const char *why)
{
    (void)snprintf(res->nobody, sizeof(res->nobody), "%s", *why == '\0' ? "serves" : why);
}

static int32_t result_publish(struct tt_result *res)
{
    res->served++;
    return CONTAINER_OF(res, struct rig, result)->unwritten;
}

/* The rig's API server has none of the kinds that are listed. */
static int32_t host_kube_each(struct tt_host_ctx *ctx, const struct tt_call *call,
                              const struct tt_kube_ref *ref, const char *selector,
                              const struct tt_text_sink *each)
{
    (void)ctx;
    (void)call;
    (void)ref;
    (void)selector;
    (void)each;
    return TT_NOT_FOUND;
}

static void host_finding(struct tt_host_ctx *ctx, uint32_t severity, const char *where,
                         const char *message)
{
    (void)severity;
    note(of(ctx), xasprintf("finding %s: %s", where, message));
}

void rig_fill_host(struct rig *r)
{
    r->host = (struct tt_host){
        .size = sizeof(r->host),
        .abi_major = TRIMTAB_ABI_MAJOR,
        .abi_minor = TRIMTAB_ABI_MINOR,
        .ctx = (struct tt_host_ctx *)r,
        .log = host_log,
        .event = host_event,
        .now_ms = host_now_ms,
        .wall_us = host_wall_us,
        .random = host_random,
        .may_mutate = host_may_mutate,
        .services = host_services,
        .nodes = host_nodes,
        .kube_get = host_kube_get,
        .kube_create = host_kube_create,
        .hold_finalizers = host_hold,
        .report_plan = host_report_plan,
        .report_operation = host_report_operation,
        .report_call = host_report_call,
        .result_ingress = result_ingress,
        .result_condition = result_condition,
        .result_annotation = result_annotation,
        .result_drop_finalizer = result_drop_finalizer,
        .result_exists = result_exists,
        .result_fail = result_fail,
        .result_resource = result_resource,
        .result_text = result_text,
        .result_done = result_done,
        .result_own = result_own,
        .kube_each = host_kube_each,
        .result_again = result_again,
        .result_serves = result_serves,
        .result_nobody = result_nobody,
        .result_publish = result_publish,
        .report_finding = host_finding,
    };
    rig_fill_metrics(r);
}

void rig_unwritten(struct rig *r, int32_t code)
{
    r->unwritten = code;
}

/* ---- what happened --------------------------------------------------------------------------- */

unsigned rig_calls(struct rig *r, const char *op)
{
    unsigned sum = 0;
    size_t n;
    mutex_lock(&r->lock);
    const char **names = map_keys(r->calls, &n);
    for (size_t i = 0; i < n; i++) {
        if (op == NULL || str_glob(op, names[i])) {
            sum += (unsigned)(uintptr_t)map_get(r->calls, names[i]);
        }
    }
    free(names);
    mutex_unlock(&r->lock);
    return sum;
}

unsigned rig_mutations(struct rig *r)
{
    return r->mutations;
}

void rig_forget(struct rig *r)
{
    mutex_lock(&r->lock);
    map_clear(r->calls);
    r->mutations = 0;
    r->n_events = 0;
    r->plan_text = NULL;
    mutex_unlock(&r->lock);
}

bool rig_had_event(struct rig *r, const char *glob)
{
    for (unsigned i = 0; i < r->n_events && i < RIG_TEXTS; i++) {
        if (str_glob(glob, r->events[i])) {
            return true;
        }
    }
    return false;
}

unsigned rig_events(struct rig *r)
{
    return r->n_events;
}

const char *rig_events_text(struct rig *r)
{
    const char *text = "";
    for (unsigned i = 0; i < r->n_events && i < RIG_TEXTS; i++) {
        text = arena_printf(r->a, "%s%s\n", text, r->events[i]);
    }
    return text;
}

const char *rig_last_plan(struct rig *r)
{
    return str_nonnull(r->plan_text);
}

void rig_die_at(struct rig *r, enum rig_death how, unsigned nth)
{
    mutex_lock(&r->lock);
    r->dead = false;
    r->death = how;
    r->death_at = r->mutations + nth;
    r->cloud_mutations = 0;
    r->cloud_death_at = nth;
    mutex_unlock(&r->lock);
}

bool rig_is_dead(struct rig *r)
{
    mutex_lock(&r->lock);
    bool dead = r->dead;
    mutex_unlock(&r->lock);
    return dead;
}

struct arena *rig_arena(struct rig *r)
{
    return r->a;
}

void *rig_provider(struct rig *r)
{
    return r->provider;
}

const char *rig_findings(struct rig *r)
{
    return str_nonnull(r->findings);
}
