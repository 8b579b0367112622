/* SPDX-License-Identifier: Apache-2.0 */
/* fake_provider.c: see fake_provider.h. */
#include "tests/support/fake_provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/str.h"

static struct fake_provider *opening; /* whose open() may come next */

/* ---- writing down ---------------------------------------------------------------------------- */

static void append(char *text, size_t cap, const char *item)
{
    size_t used = strlen(text);

    snprintf(text + used, cap - used, "%s%s", used > 0 ? " " : "", item);
}

static void record(struct fake_provider *p, uint32_t verb, const struct tt_item *item,
                   const struct tt_batch *batch)
{
    mutex_lock(&p->lock);
    if (p->n_calls < FAKE_CALLS_MAX) {
        struct fake_call *c = &p->calls[p->n_calls++];
        *c = (struct fake_call){.verb = verb, .reasons = item->reasons, .n_items = 1};
        snprintf(c->key, sizeof(c->key), "%s/%s", item->service->ns, item->service->name);
        snprintf(c->uid, sizeof(c->uid), "%s", str_nonnull(item->service->uid));
        snprintf(c->affinity, sizeof(c->affinity), "%s",
                 str_nonnull(item->service->session_affinity));
        c->flags = TT_HAS(item, flags) ? item->flags : 0;
        c->has_previous = item->previous != NULL;
        if (batch != NULL) {
            c->n_items = batch->n_items;
            snprintf(c->batch_key, sizeof(c->batch_key), "%s", batch->key);
            for (uint32_t i = 0; i < batch->n_nodes; i++) {
                if ((batch->nodes[i]->flags & TT_NODE_ELIGIBLE) != 0) {
                    append(c->nodes, sizeof(c->nodes), batch->nodes[i]->name);
                }
            }
        }
    }
    mutex_unlock(&p->lock);
}

static struct fake_answer answer_for(struct fake_provider *p, uint32_t verb)
{
    struct fake_answer found = {.verb = verb};

    mutex_lock(&p->lock);
    for (size_t i = 0; i < p->n_answers; i++) {
        if (p->answers[i].verb == verb) {
            found = p->answers[i];
            p->n_answers--;
            memmove(&p->answers[i], &p->answers[i + 1], (p->n_answers - i) * sizeof(found));
            break;
        }
    }
    mutex_unlock(&p->lock);
    return found;
}

/* ---- one item -------------------------------------------------------------------------------- */

static void report_plan(struct fake_provider *p, const struct tt_call *call,
                        const struct tt_item *item, uint32_t op_verb)
{
    char key[128];
    const char *owners[] = {key};
    struct tt_operation op = {.size = sizeof(op),
                              .n = 1,
                              .verb = op_verb,
                              .flags = p->operation_flags,
                              .wave = 1,
                              .kind = "thing",
                              .name = "a thing",
                              .why = "it is a test",
                              .owners = owners,
                              .n_owners = 1,
                              .calls = 1};
    const struct tt_operation *ops[16];
    const struct tt_finding finding = {.size = sizeof(finding),
                                       .reason = "AnnotationIgnored",
                                       .field = "example.com/a",
                                       .message = p->finding};
    const struct tt_finding *findings[] = {&finding};
    const struct tt_plan_service svc = {.size = sizeof(svc),
                                        .key = key,
                                        .findings = findings,
                                        .n_findings = p->finding != NULL,
                                        .serves_nobody = p->serves_nobody};
    const struct tt_plan_service *svcs[] = {&svc};
    uint32_t n = p->plan_operations < 16 ? p->plan_operations : 16;

    snprintf(key, sizeof(key), "%s/%s", item->service->ns, item->service->name);
    for (uint32_t i = 0; i < n; i++) {
        ops[i] = &op;
    }
    const struct tt_plan plan = {.size = sizeof(plan),
                                 .services = svcs,
                                 .operations = ops,
                                 .n_services = 1,
                                 .n_operations = n,
                                 .waves = n > 0};
    p->host->report_plan(p->host->ctx, call, &plan);
    if (p->fails_first) {
        op.flags = 0;
        p->host->report_operation(p->host->ctx, call, &op, TT_QUOTA, "no", 1);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        p->host->report_operation(p->host->ctx, call, &op, TT_OK, "", 1);
        p->host->report_call(p->host->ctx, call, "fake", "things.insert", 200, 1);
    }
    if (n > 0 && p->restore_code != TT_OK) {
        op.flags = TT_OP_RESTORES;
        op.verb = TT_OP_CREATE;
        p->host->report_plan(p->host->ctx, call, &plan);
        p->host->report_operation(p->host->ctx, call, &op, p->restore_code, "no", 1);
    }
}

static int32_t before_work(struct fake_provider *p, const struct tt_call *call,
                           const struct tt_item *item)
{
    uint32_t caps = p->desc.capabilities;
    bool will_work = (caps & TT_CAP_REPORTS_PLANS) == 0 || p->plan_operations > 0;

    if ((caps & TT_CAP_REPORTS_PLANS) != 0) {
        report_plan(p, call, item, item->verb == TT_VERB_DELETE ? TT_OP_DELETE : TT_OP_CREATE);
    }
    if ((caps & TT_CAP_HOLDS_FINALIZERS) != 0 && item->verb != TT_VERB_DELETE && !p->skip_hold &&
        will_work) {
        return p->host->hold_finalizers(p->host->ctx, call, item, &p->hold, p->hold != NULL);
    }
    return TT_OK;
}

static int32_t do_item(struct fake_provider *p, const struct tt_call *call,
                       const struct tt_batch *batch, const struct tt_item *item)
{
    const struct tt_ingress ingress = {.ip = p->ip};

    record(p, item->verb, item, batch);
    p->host->result_own(item->result, p->own);
    p->host->result_again(item->result, p->again_ms);
    if (p->during != NULL) {
        p->during(p->during_arg, p, call, item);
    }
    struct fake_answer a = answer_for(p, item->verb);
    int32_t rc = a.code == TT_IMPLEMENTED_ELSEWHERE ? TT_OK : before_work(p, call, item);
    if (rc != TT_OK) {
        p->host->result_fail(item->result, rc, "holding failed", 0);
        return rc;
    }
    if (a.code != TT_OK) {
        if (p->stands_nobody != NULL && item->verb == TT_VERB_ENSURE) {
            p->host->result_nobody(item->result, p->stands_nobody);
        }
        if (!a.silent) {
            p->host->result_fail(item->result, a.code, a.message, a.retry_after_ms);
        }
        return a.code;
    }
    if (item->verb == TT_VERB_ENSURE && p->ip != NULL) {
        p->host->result_ingress(item->result, &ingress, 1);
    }
    if ((item->verb == TT_VERB_DELETE || p->lets_go) && p->hold != NULL) {
        p->host->result_drop_finalizer(item->result, p->hold);
    }
    if (!p->leave_unsettled) {
        p->host->result_done(item->result);
    }
    return TT_OK;
}

/* ---- the descriptor's functions -------------------------------------------------------------- */

static int32_t fake_open(const struct tt_open_args *args, void **ret, struct tt_result *result)
{
    struct fake_provider *p = opening;
    struct fake_answer a = answer_for(p, 0);

    if (p->writes_on_open && args->host->may_mutate(args->host->ctx, NULL) == 0) {
        p->refused++;
        if (p->on_refused != NULL) {
            p->on_refused(p->on_refused_arg, p);
        }
        args->host->result_fail(result, TT_CANCELLED, "an object cannot be written", 0);
        return TT_CANCELLED;
    }
    if (a.code != TT_OK) {
        args->host->result_fail(result, a.code, a.message, 0);
        return a.code;
    }
    p->host = args->host;
    snprintf(p->config, sizeof(p->config), "%s", str_nonnull(args->config_text));
    for (uint32_t i = 0; i < args->n_options; i++) {
        size_t used = strlen(p->options);
        snprintf(p->options + used, sizeof(p->options) - used, "%s%s=%s", i > 0 ? " " : "",
                 args->options[i].key, args->options[i].value);
    }
    p->opened++;
    *ret = p;
    return TT_OK;
}

static void fake_close(void *provider)
{
    struct fake_provider *p = provider;

    p->closed++;
}

static int32_t fake_get(void *provider, const struct tt_call *call, const struct tt_item *item)
{
    struct fake_provider *p = provider;

    record(p, FAKE_GET, item, NULL);
    if (p->during != NULL) {
        p->during(p->during_arg, p, call, item);
    }
    struct fake_answer a = answer_for(p, FAKE_GET);
    if (a.code != TT_OK) {
        p->host->result_fail(item->result, a.code, a.message, a.retry_after_ms);
        return a.code;
    }
    if (p->sets_exists) {
        p->host->result_exists(item->result, p->exists);
    }
    return TT_OK;
}

static int32_t fake_batch(void *provider, const struct tt_call *call, const struct tt_batch *batch)
{
    int32_t rc = TT_OK;

    for (uint32_t i = 0; i < batch->n_items; i++) {
        int32_t one = do_item(provider, call, batch, batch->items[i]);
        rc = rc == TT_OK ? one : rc;
    }
    return rc;
}

static int32_t fake_batch_key(void *provider, const struct tt_service *service, char *text,
                              size_t n)
{
    (void)provider;
    snprintf(text, n, "%s", service->ns);
    return TT_OK;
}

/* ---- for tests ------------------------------------------------------------------------------- */

struct fake_provider *fake_provider_new(uint32_t capabilities)
{
    struct fake_provider *p = xcalloc(1, sizeof(*p));

    p->desc = (struct tt_provider){
        .abi_major = TRIMTAB_ABI_MAJOR,
        .abi_minor = TRIMTAB_ABI_MINOR,
        .size = sizeof(p->desc),
        .name = "fake",
        .version = "1",
        .capabilities = capabilities,
        .open = fake_open,
        .close = fake_close,
        .get_load_balancer = fake_get,
        .ensure_load_balancer = fake_batch,
        .update_load_balancer = fake_batch,
        .ensure_load_balancer_deleted = fake_batch,
    };
    p->sets_exists = true;
    p->ip = "203.0.113.10";
    p->plan_operations = 1;
    mutex_init(&p->lock);
    opening = p;
    return p;
}

void fake_provider_free(struct fake_provider *p)
{
    mutex_done(&p->lock);
    free(p);
}

void fake_provider_attach(struct fake_provider *p, const struct tt_host *host)
{
    p->host = host;
}

void fake_provider_batches(struct fake_provider *p)
{
    p->desc.batch_key = fake_batch_key;
    p->desc.reconcile_batch = fake_batch;
}

void fake_provider_answer(struct fake_provider *p, struct fake_answer answer)
{
    mutex_lock(&p->lock);
    p->answers[p->n_answers++] = answer;
    mutex_unlock(&p->lock);
}

size_t fake_provider_count(struct fake_provider *p, uint32_t verb)
{
    size_t n = 0;

    mutex_lock(&p->lock);
    for (size_t i = 0; i < p->n_calls; i++) {
        n += p->calls[i].verb == verb;
    }
    mutex_unlock(&p->lock);
    return n;
}

struct fake_call fake_provider_call(struct fake_provider *p, uint32_t verb, size_t nth)
{
    struct fake_call found = {0};

    mutex_lock(&p->lock);
    for (size_t i = 0; i < p->n_calls; i++) {
        if (p->calls[i].verb == verb && nth-- == 0) {
            found = p->calls[i];
            break;
        }
    }
    mutex_unlock(&p->lock);
    return found;
}

void fake_provider_forget(struct fake_provider *p)
{
    mutex_lock(&p->lock);
    p->n_calls = 0;
    mutex_unlock(&p->lock);
}

char *fake_provider_story(struct fake_provider *p)
{
    struct str_buf b = STR_BUF_INIT;

    mutex_lock(&p->lock);
    for (size_t i = 0; i < p->n_calls; i++) {
        const struct fake_call *c = &p->calls[i];
        const char *word = c->verb == FAKE_GET         ? "get"
                           : c->verb == TT_VERB_ENSURE ? "ensure"
                           : c->verb == TT_VERB_UPDATE ? "update"
                                                       : "delete";
        str_appendf(&b, "%s%s %s", i > 0 ? ", " : "", word, c->key);
    }
    mutex_unlock(&p->lock);
    return str_buf_steal(&b);
}
