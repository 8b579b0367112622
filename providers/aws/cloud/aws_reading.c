/* SPDX-License-Identifier: Apache-2.0 */
/* aws_reading.c: questions that are asked side by side, each in one call or in several
 * (aws_cloud_parts.h).
 *
 * What AWS says about one thing that is not there depends on the action: an empty list, or a
 * refusal.  Here both are "none".  A refusal of a call for several things does not say which of
 * them is missing: then each is asked for by itself. */
#include "common/base/str.h"
#include "providers/aws/cloud/aws_cloud_parts.h"

#include <stdlib.h>

/* One call.  Of several that answer one question each has a draft of its own, so that what an
 * answer that broke off brought can be forgotten. */
struct part {
    struct aws_reading *reading;
    struct aws_doc_draft *whole; /* of the reading */
    struct aws_doc_draft draft;
    const char *const *keys;
    size_t n_keys;
    struct aws_call call;
};
struct wave {
    struct aws_readings *r;
    struct arena *a;
    struct part *parts;
    size_t n;
    size_t cap;
};

static double unit(void *arg)
{
    struct aws_cloud *c = arg;
    return rng_unit(c->rng);
}

static bool take_item(struct aws_call *call, const struct aws_node *item, struct err *err)
{
    struct part *p = call->arg;
    return aws_draft_doc_add(&p->draft, item, err) == ERR_OK;
}

static bool take_page(struct aws_call *call, const struct aws_node *root, struct err *err)
{
    struct part *p = call->arg;
    (void)root;
    (void)err;
    p->draft.n_pages = p->draft.n;
    return true;
}

static void forget_page(struct aws_call *call)
{
    struct part *p = call->arg;
    p->draft.n = p->draft.n_pages;
}

static void add_part(struct wave *w, struct aws_reading *reading, struct aws_doc_draft *whole,
                     const char *const *keys, size_t n_keys)
{
    if (w->n == w->cap) {
        w->cap = w->cap == 0 ? 8 : w->cap * 2;
        w->parts = xrealloc(w->parts, w->cap * sizeof(w->parts[0]));
    }
    w->parts[w->n++] =
        (struct part){.reading = reading, .whole = whole, .keys = keys, .n_keys = n_keys};
}

static void prepare(struct wave *w, struct part *p)
{
    const struct aws_question *q = &aws_questions[p->reading->kind];
    struct aws_cloud *c = w->r->cloud;
    p->call = (struct aws_call){
        .client = c->client,
        .a = w->a,
        .api = q->api,
        .action = q->action,
        .cancel = w->r->cancel,
        .on_page = take_page,
        .items = q->items,
        .on_item = take_item,
        .on_restart = forget_page,
        .arg = p,
    };
    aws_draft_doc_init(&p->draft, p->reading->kind, c->naming);
    p->call.pairs =
        aws_question_pairs(w->a, p->reading->kind, c->naming, p->keys, p->n_keys, &p->call.n_pairs);
}

/* Runs all parts; parts that have to be asked for one by one are added to `again`. */
static void run_wave(struct wave *w, struct wave *again)
{
    struct err *errs = xcalloc(w->n + 1, sizeof(*errs));
    struct aws_call **calls = xcalloc(w->n + 1, sizeof(struct aws_call *));
    for (size_t i = 0; i < w->n; i++) {
        prepare(w, &w->parts[i]);
        calls[i] = &w->parts[i].call;
    }
    (void)aws_calls_run(w->r->http, w->r->cancel, unit, w->r->cloud, calls, w->n, errs);
    for (size_t i = 0; i < w->n; i++) {
        struct part *p = &w->parts[i];
        bool none = errs[i].code == ERR_NOT_FOUND && aws_questions[p->reading->kind].per_call > 0;
        w->r->requests += p->call.requests;
        for (size_t k = 0; none && p->n_keys > 1 && k < p->n_keys; k++) {
            add_part(again, p->reading, p->whole, p->keys + k, 1);
        }
        if (errs[i].code == ERR_OK) {
            (void)aws_draft_doc_join(p->whole, &p->draft, &errs[i]);
        }
        aws_draft_doc_done(&p->draft);
        if (!none && errs[i].code != ERR_OK && p->reading->err.code == ERR_OK) {
            p->reading->err = errs[i];
        }
    }
    free(errs);
    free(calls);
}

static void add_reading(struct wave *w, struct aws_reading *reading, struct aws_doc_draft *whole)
{
    const char *const *keys;
    size_t n = aws_question_keys(w->a, reading->kind, reading->key, &keys);
    size_t most = aws_questions[reading->kind].per_call;
    if (most == 0) {
        add_part(w, reading, whole, NULL, 0);
    }
    for (size_t i = 0; most > 0 && i < n; i += most) {
        add_part(w, reading, whole, keys + i, n - i < most ? n - i : most);
    }
}

void aws_readings_run(struct aws_readings *r)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct wave first = {.r = r, .a = a};
    struct wave again = {.r = r, .a = a};
    struct aws_doc_draft *drafts = xcalloc(r->n + 1, sizeof(*drafts));
    for (size_t i = 0; i < r->n; i++) {
        aws_draft_doc_init(&drafts[i], r->items[i].kind, r->cloud->naming);
        add_reading(&first, &r->items[i], &drafts[i]);
    }
    run_wave(&first, &again);
    if (again.n > 0) {
        struct wave none = {0};
        run_wave(&again, &none);
    }
    for (size_t i = 0; i < r->n; i++) {
        struct aws_reading *reading = &r->items[i];
        if (reading->err.code == ERR_OK) {
            reading->doc =
                aws_draft_doc_take(&drafts[i], reading->key, reading->began_ms, reading->seq);
        }
        aws_draft_doc_done(&drafts[i]);
    }
    free(first.parts);
    free(again.parts);
    free(drafts);
}
