/* SPDX-License-Identifier: Apache-2.0 */
/* aws_scope.c: what a call holds while it lives, and how old what it looks at may be (aws_sync.h).
 *
 * "Nothing to do" may be concluded from lists that are up to a minute old, when many Services wait
 * (start, re-sync); then all of them share one list per kind.  A Service that was edited or goes,
 * one whose last sync failed, and everything before something is changed, is looked at in this very
 * sync: a list may be older than what we did ourselves. */
#include "common/base/str.h"
#include "providers/aws/aws_sync.h"
#include "providers/aws/cloud/aws_memory.h"

#include <stdlib.h>
#include <string.h>

#define LIST_AGE_MS 60000

struct aws_sync *aws_sync_of(struct lb_sync *s)
{
    return s->data;
}

void aws_scope_begin(struct aws_scope *x, struct aws_provider *p, const struct tt_call *call)
{
    *x = (struct aws_scope){.p = p, .call = call, .started_ms = clock_now_ms(p->clock)};
    x->a = arena_new();
    x->mark = aws_cloud_mark(p->cloud);
}

/* ---- rules of shared groups ------------------------------------------------------------------ */

int aws_scope_look(struct aws_scope *x, struct cancel *cancel, struct err *err)
{
    if (!aws_stake_wait(&x->stake, cancel)) {
        return err_set(err, ERR_CANCELLED, "stopped while waiting for rules of security groups");
    }
    aws_stake_look(x->p->stakes, &x->stake);
    return ERR_OK;
}

static bool adds_rules(const struct aws_write *write)
{
    return str_eq(write->action, "AuthorizeSecurityGroupIngress");
}

static bool takes_rules(const struct aws_write *write)
{
    return str_eq(write->action, "RevokeSecurityGroupIngress");
}

static const char *group_of(const struct aws_write *write)
{
    for (size_t i = 0; i < write->n_params; i++) {
        if (str_eq(write->params[i].name, "GroupId")) {
            return write->params[i].value.text;
        }
    }
    return NULL;
}

/* Adds the rules of operations of one kind to the list, which has room. */
static void add_rules(struct aws_staked_list *list, const struct lb_plan *plan,
                      bool (*is)(const struct aws_write *))
{
    for (size_t i = 0; i < plan->n_ops; i++) {
        const struct aws_write *w = plan->ops[i].arg;
        const char *group = plan->ops[i].type == &aws_write_type && is(w)
                                ? group_of(w)
                                : NULL; /* NULL: it is new */
        for (size_t k = 0; group != NULL && k < w->rules.n; k++) {
            list->items[list->n++] = (struct aws_staked){.group = group, .rule = w->rules.items[k]};
        }
    }
}

static struct aws_staked_list with_room(struct arena *a, const struct lb_plan *plan, size_t more)
{
    for (size_t i = 0; i < plan->n_ops; i++) {
        const struct aws_write *w = plan->ops[i].arg;
        more += plan->ops[i].type == &aws_write_type ? w->rules.n : 0;
    }
    return (struct aws_staked_list){.items = ARENA_ARRAY(a, struct aws_staked, more + 1)};
}

/* A plan that ended without a rule to wait for. */
static void note_over(struct aws_scope *x)
{
    if (x->adding == 0) {
        aws_stake_come(&x->stake);
    }
    if (x->taking == 0) {
        aws_stake_left(&x->stake);
    }
}

int aws_scope_claim(struct aws_scope *x, const struct lb_plan *plan,
                    const struct aws_staked_list *needs, struct err *err)
{
    _cleanup_(arena_freep) struct arena *passing = arena_new();
    struct aws_staked_list leaves = with_room(passing, plan, 0);
    struct aws_staked_list stays = with_room(passing, plan, needs->n);
    for (size_t i = 0; i < needs->n; i++) {
        stays.items[stays.n++] = needs->items[i];
    }
    add_rules(&stays, plan, adds_rules);
    add_rules(&leaves, plan, takes_rules);
    x->adding = x->taking = 0;
    for (size_t i = 0; i < plan->n_ops; i++) {
        const struct lb_op *op = &plan->ops[i];
        x->adding += op->type == &aws_write_type && adds_rules(op->arg);
        x->taking += op->type == &aws_write_type && takes_rules(op->arg);
    }
    if (!aws_stake_claims(&x->stake, &stays, &leaves)) {
        return err_set(err, ERR_CONFLICT,
                       "rules of security groups that it shares are changing for another Service");
    }
    note_over(x);
    return ERR_OK;
}

void aws_scope_ended(struct aws_scope *x, const struct aws_write *write)
{
    x->adding -= x->adding > 0 && adds_rules(write);
    x->taking -= x->taking > 0 && takes_rules(write);
    note_over(x);
}

void aws_scope_end(struct aws_scope *x)
{
    aws_stake_end(&x->stake);
    for (size_t i = 0; i < x->n_docs; i++) {
        aws_doc_unref(x->docs[i]);
    }
    free(x->docs);
    free(x->refused);
    arena_free(x->a);
}

void aws_scope_refused(struct aws_scope *x, const char *instance, const char *reason)
{
    for (size_t i = 0; i < x->n_refused; i++) { /* of several target groups */
        if (str_has_prefix(x->refused[i], instance) && x->refused[i][strlen(instance)] == ' ') {
            return;
        }
    }
    if (x->n_refused == x->cap_refused) {
        x->cap_refused = x->cap_refused == 0 ? 4 : 2 * x->cap_refused;
        x->refused = xrealloc(x->refused, x->cap_refused * sizeof(*x->refused));
    }
    x->refused[x->n_refused++] = arena_printf(x->a, "%s (%s)", instance, reason);
}

static void scope_keep(struct aws_scope *x, const struct aws_doc *doc)
{
    if (x->n_docs == x->cap_docs) {
        x->cap_docs = x->cap_docs == 0 ? 16 : 2 * x->cap_docs;
        x->docs = xrealloc(x->docs, x->cap_docs * sizeof(*x->docs));
    }
    x->docs[x->n_docs++] = doc;
}

/* Facts: they may be older than the sync without making what follows from them a guess
 * about what is changed. */
static bool is_fact(enum aws_doc_kind kind)
{
    return kind == AWS_DOC_SUBNETS || kind == AWS_DOC_ROUTE_TABLES || kind == AWS_DOC_ZONES;
}

int aws_sync_read_all(struct aws_sync *y, struct aws_need *needs, size_t n, struct err *err)
{
    struct lb_sync *s = y->s;
    for (size_t i = 0; i < n; i++) {
        needs[i].after = needs[i].not_older_ms == y->scope->started_ms ? y->scope->mark : 0;
    }
    int rc = aws_cloud_read(y->p->cloud, s->http, s->cancel, needs, n, &s->reads, err);
    for (size_t i = 0; i < n; i++) {
        if (needs[i].doc != NULL) {
            scope_keep(y->scope, needs[i].doc);
            s->observed_fresh =
                s->observed_fresh &&
                (is_fact(needs[i].kind) || aws_doc_is_after(needs[i].doc, y->scope->mark));
        }
    }
    return rc;
}

const struct aws_doc *aws_sync_read(struct aws_sync *y, enum aws_doc_kind kind, const char *key,
                                    int64_t not_older_ms, struct err *err)
{
    struct aws_need need = {.kind = kind, .key = key, .not_older_ms = not_older_ms};
    (void)aws_sync_read_all(y, &need, 1, err);
    return need.doc;
}

int64_t aws_sync_facts_not_older(const struct aws_sync *y)
{
    return y->scope->started_ms - AWS_FACTS_AGE_MS;
}

bool aws_sync_asks_lists(const struct aws_sync *y, const struct aws_item *it)
{
    const struct tt_item *in = it->item->in;
    bool resync = it->want && in->reasons == TT_REASON_RESYNC;
    return !y->s->fresh &&
           (y->s->planning ||
            (resync && (aws_memory_get(y->p->memory, in->service->uid) & AWS_KNOWS_FAILED) == 0));
}

bool aws_item_is_about_nodes(const struct aws_item *it)
{
    const uint32_t nodes = TT_REASON_NODES | TT_REASON_ENDPOINTS;
    const struct tt_item *in = it->item->in;
    return it->claim == AWS_CLAIM_STAYS ||
           (in->verb == TT_VERB_UPDATE && (in->reasons & ~nodes) == 0 && in->reasons != 0);
}

int64_t aws_sync_not_older(const struct aws_sync *y)
{
    const struct lb_sync *s = y->s;
    if (s->attempt > 0) {
        return INT64_MAX; /* another sync was faster: whatever was read is old */
    }
    bool lists = s->n_items > 0 && aws_sync_asks_lists(y, &y->items[0]);
    if (!lists) {
        return y->scope->started_ms;
    }
    /* A list from before the last change had settled says nothing about it. */
    int64_t wrote_ms = y->items[0].wrote_ms;
    int64_t settled_ms = wrote_ms > 0 ? wrote_ms + AWS_SETTLES_MS : 0;
    int64_t least_ms = y->scope->started_ms - LIST_AGE_MS;
    least_ms = settled_ms > least_ms ? settled_ms : least_ms;
    return least_ms < y->scope->started_ms ? least_ms : y->scope->started_ms;
}
