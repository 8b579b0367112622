/* SPDX-License-Identifier: Apache-2.0 */
/* aws_draft.c: the drafts that planners of AWS resources write, and their way into the plan.
 *
 * A draft is an operation that does not know its place yet: it names a phase, and values of other
 * drafts by their handles (common/lb/draft.h).  aws_draft_finish() places them, and has
 * aws_order_plan.c say what waits for what.  A handle is good for drafts of the same aws_planning
 * only, and until then only.  Pure; one thread. */
#include "providers/aws/plan/aws_order_plan.h"

#include "common/base/str.h"
#include "common/lb/diff.h"
#include "common/lb/draft.h"

#include <assert.h>
#include <string.h>

/* In a plan of phases: writes in progress at a time; beyond that there is another wave
 * of the phase. */
#define PARALLEL_MAX 16

struct aws_draft {
    struct lb_draft draft; /* first: common/lb/draft.h */
    struct lb_diff diff;
    enum aws_api api;
    const char *action;
    enum aws_isolate isolate;
    struct aws_rules rules;
    bool narrows;
    struct aws_param *params;
    size_t n_params, cap_params;
    struct aws_output *outputs;
    size_t n_outputs, cap_outputs;
    int undoes, until; /* drafts, of one that undoes another; else -1 */
    int proves;        /* the draft of which it shows that it may be carried out; else -1 */
};

/* ---- drafting -------------------------------------------------------------------------------- */

void aws_draft_begin(struct aws_planning *p)
{
    p->drafts = ARENA_NEW(p->a, struct lb_drafts);
    lb_drafts_init(p->drafts, p->a, sizeof(struct aws_draft));
    p->critical = -1;
}

static void *with_cap(struct arena *a, void *items, size_t n, size_t cap, size_t size)
{
    void *bigger = arena_calloc(a, cap, size);
    if (n > 0) {
        memcpy(bigger, items, n * size);
    }
    return bigger;
}

/* Room for one more item at the end of an arena array. */
static void *grown(struct arena *a, void *items, size_t n, size_t *cap, size_t size)
{
    if (n < *cap) {
        return items;
    }
    *cap = *cap == 0 ? 8 : *cap * 2;
    return with_cap(a, items, n, *cap, size);
}

static struct aws_draft *draft_of(struct aws_planning *p, int draft)
{
    return lb_drafts_at(p->drafts, draft);
}

int aws_draft(struct aws_planning *p, enum aws_phase phase, enum lb_verb verb, const char *kind,
              const char *name, const char *why)
{
    const struct lb_op op = LB_OP(.verb = verb, .kind = kind, .name = name, .why = why);
    struct aws_draft d = {
        .draft = LB_DRAFT((int)phase, op), .undoes = -1, .until = -1, .proves = -1};
    lb_diff_init(&d.diff, p->a);
    return lb_drafts_add(p->drafts, &d);
}

void aws_draft_action(struct aws_planning *p, int draft, enum aws_api api, const char *action)
{
    struct aws_draft *d = draft_of(p, draft);
    d->api = api;
    d->action = action;
}

void aws_draft_reserve(struct aws_planning *p, int draft, size_t params, size_t fields)
{
    struct aws_draft *d = draft_of(p, draft);
    d->cap_params = d->n_params + params;
    d->params = with_cap(p->a, d->params, d->n_params, d->cap_params, sizeof *d->params);
    lb_diff_reserve(&d->diff, fields);
}

void aws_draft_value(struct aws_planning *p, int draft, const char *name, struct lb_value v)
{
    struct aws_draft *d = draft_of(p, draft);
    if (v.text == NULL && v.op < 0) {
        return;
    }
    d->params = grown(p->a, d->params, d->n_params, &d->cap_params, sizeof *d->params);
    d->params[d->n_params++] = (struct aws_param){.name = name, .value = v};
}

void aws_draft_text(struct aws_planning *p, int draft, const char *name, const char *text)
{
    aws_draft_value(p, draft, name, LB_VALUE(text));
}

void aws_draft_int(struct aws_planning *p, int draft, const char *name, int64_t n)
{
    aws_draft_text(p, draft, name, arena_printf(p->a, "%lld", (long long)n));
}

void aws_draft_list(struct aws_planning *p, int draft, const char *fmt,
                    const struct aws_texts *items)
{
    for (size_t i = 0; i < items->n; i++) {
        const char *at = arena_printf(p->a, "%zu", i + 1);
        aws_draft_text(p, draft, str_replace(p->a, fmt, "%zu", at), items->items[i]);
    }
}

void aws_draft_tags(struct aws_planning *p, int draft, const char *prefix,
                    const struct aws_tags *tags)
{
    for (size_t i = 0; i < tags->n; i++) {
        aws_draft_text(p, draft, arena_printf(p->a, "%s.%zu.Key", prefix, i + 1),
                       tags->items[i].key);
        aws_draft_text(p, draft, arena_printf(p->a, "%s.%zu.Value", prefix, i + 1),
                       tags->items[i].value);
    }
}

void aws_draft_output(struct aws_planning *p, int draft, const char *name, const char *path)
{
    struct aws_draft *d = draft_of(p, draft);
    d->outputs = grown(p->a, d->outputs, d->n_outputs, &d->cap_outputs, sizeof *d->outputs);
    d->outputs[d->n_outputs++] = (struct aws_output){.name = name, .path = path};
}

struct lb_value aws_draft_value_of(int draft, const char *output)
{
    return LB_VALUE_OF(draft, output);
}

void aws_draft_field(struct aws_planning *p, int draft, const char *path, const char *old_text,
                     const char *new_text)
{
    (void)lb_diff_text(&draft_of(p, draft)->diff, path, old_text, new_text);
}

void aws_draft_field_value(struct aws_planning *p, int draft, const char *path,
                           const char *old_text, struct lb_value v)
{
    (void)lb_diff_value(&draft_of(p, draft)->diff, path, old_text, v);
}

struct lb_op *aws_draft_op(struct aws_planning *p, int draft)
{
    return &draft_of(p, draft)->draft.op;
}

void aws_draft_undoes(struct aws_planning *p, int draft, int of, int until)
{
    draft_of(p, draft)->draft.aside = true;
    draft_of(p, draft)->undoes = of;
    draft_of(p, draft)->until = until;
}

void aws_draft_proves(struct aws_planning *p, int draft, int of)
{
    draft_of(p, draft)->draft.aside = true;
    draft_of(p, draft)->proves = of;
}

void aws_draft_isolate(struct aws_planning *p, int draft, enum aws_isolate isolate)
{
    draft_of(p, draft)->isolate = isolate;
}

void aws_draft_narrows(struct aws_planning *p, int draft)
{
    draft_of(p, draft)->narrows = true;
}

bool aws_draft_write(const struct aws_planning *p, size_t i, struct aws_write *ret)
{
    if (i >= p->drafts->n) {
        return false;
    }
    const struct aws_draft *d = lb_drafts_at(p->drafts, (int)i);
    bool is_sent = !d->draft.aside && d->draft.op.verb != LB_KEEP;
    *ret = (struct aws_write){.api = d->api,
                              .action = is_sent ? d->action : NULL,
                              .params = d->params,
                              .n_params = d->n_params};
    return true;
}

/* ---- permissions of EC2 ---------------------------------------------------------------------- */

/* How a kind of source is spelled inside of "IpPermissions.N.", and how its text is called. */
static const struct peer_words {
    const char *list;
    const char *source;
} peer_words[] = {
    [AWS_PEER_CIDR] = {"IpRanges", "CidrIp"},
    [AWS_PEER_CIDR6] = {"Ipv6Ranges", "CidrIpv6"},
    [AWS_PEER_GROUP] = {"Groups", "GroupId"},
    [AWS_PEER_PREFIX_LIST] = {"PrefixListIds", "PrefixListId"},
};

static bool shares_permission(const struct aws_rule *x, const struct aws_rule *y)
{
    return str_eq(x->protocol, y->protocol) && x->from == y->from && x->to == y->to;
}

static void permission_head(struct aws_planning *p, int draft, const char *prefix,
                            const struct aws_rule *rule)
{
    aws_draft_text(p, draft, arena_printf(p->a, "%s.IpProtocol", prefix), rule->protocol);
    if (rule->from != AWS_NO_PORT) {
        aws_draft_int(p, draft, arena_printf(p->a, "%s.FromPort", prefix), rule->from);
    }
    if (rule->to != AWS_NO_PORT) {
        aws_draft_int(p, draft, arena_printf(p->a, "%s.ToPort", prefix), rule->to);
    }
}

static void permission_source(struct aws_planning *p, int draft, const char *prefix, size_t at,
                              const struct aws_rule *rule)
{
    const struct peer_words *words = &peer_words[rule->peer];
    const char *head = arena_printf(p->a, "%s.%s.%zu", prefix, words->list, at);
    aws_draft_text(p, draft, arena_printf(p->a, "%s.%s", head, words->source), rule->source);
    if (rule->peer == AWS_PEER_GROUP && !str_is_empty(rule->user)) {
        aws_draft_text(p, draft, arena_printf(p->a, "%s.UserId", head), rule->user);
    }
    if (!str_is_empty(rule->description)) {
        aws_draft_text(p, draft, arena_printf(p->a, "%s.Description", head), rule->description);
    }
}

void aws_draft_rules(struct aws_planning *p, int draft, const struct aws_rules *rules)
{
    size_t permission = 0;
    size_t sources[AWS_PEER_PREFIX_LIST + 1] = {0};
    const char *prefix = NULL;
    draft_of(p, draft)->rules = *rules;
    for (size_t i = 0; i < rules->n; i++) {
        const struct aws_rule *rule = &rules->items[i];
        if (i == 0 || !shares_permission(rule, &rules->items[i - 1])) {
            prefix = arena_printf(p->a, "IpPermissions.%zu", ++permission);
            permission_head(p, draft, prefix, rule);
            memset(sources, 0, sizeof sources);
        }
        permission_source(p, draft, prefix, ++sources[rule->peer], rule);
    }
}

/* ---- into the plan --------------------------------------------------------------------------- */

/* The write, with its values resolved; lb_plan_seal() cannot look into parameters. */
static const struct aws_write *write_of(const struct aws_planning *p, const struct aws_draft *d)
{
    assert(d->action != NULL);
    struct aws_write *w = ARENA_NEW(p->a, struct aws_write);
    for (size_t i = 0; i < d->n_params; i++) {
        d->params[i].value = lb_drafts_value(p->drafts, d->params[i].value);
    }
    *w = (struct aws_write){
        .api = d->api,
        .action = d->action,
        .params = d->params,
        .n_params = d->n_params,
        .outputs = d->outputs,
        .n_outputs = d->n_outputs,
        .isolate = d->isolate,
        .rules = d->rules,
        .narrows = d->narrows,
    };
    return w;
}

/* The undo operations of the draft, in order; NULL: none. */
static const struct lb_undo *undo_of(struct aws_planning *p, int of)
{
    struct lb_undo *last = NULL;
    struct lb_undo *first = NULL;
    for (size_t i = 0; i < p->drafts->n; i++) {
        const struct aws_draft *d = lb_drafts_at(p->drafts, (int)i);
        if (d->undoes != of) {
            continue;
        }
        const struct lb_op *until = &draft_of(p, d->until)->draft.op;
        struct lb_undo *u = ARENA_NEW(p->a, struct lb_undo);
        *u = (struct lb_undo){
            .verb = d->draft.op.verb,
            .kind = d->draft.op.kind,
            .name = d->draft.op.name,
            .until_kind = until->kind,
            .until_name = until->name,
            .until_part = until->part,
            .type = p->write_type,
            .arg = write_of(p, d),
            .calls = 1,
        };
        first = first != NULL ? first : u;
        if (last != NULL) {
            last->then = u;
        }
        last = u;
    }
    return first;
}

/* The questions about the draft, in order; NULL: none. */
static const struct lb_undo *proof_of(struct aws_planning *p, int of)
{
    struct lb_undo *first = NULL;
    for (size_t i = p->drafts->n; i > 0; i--) {
        const struct aws_draft *d = lb_drafts_at(p->drafts, (int)i - 1);
        if (d->proves != of) {
            continue;
        }
        struct lb_undo *u = ARENA_NEW(p->a, struct lb_undo);
        *u = (struct lb_undo){
            .then = first,
            .verb = d->draft.op.verb,
            .kind = d->draft.op.kind,
            .name = d->draft.op.name,
            .type = p->write_type,
            .arg = write_of(p, d),
            .calls = 1,
        };
        first = u;
    }
    return first;
}

/* Operations that change something, as they are placed. */
struct placing {
    struct aws_planning *p;
    struct aws_step *steps;
    size_t n;
};

static void complete(void *arg, struct lb_draft *draft)
{
    const struct placing *x = arg;
    struct aws_planning *p = x->p;
    struct aws_draft *d = CONTAINER_OF(draft, struct aws_draft, draft);
    struct lb_op *op = &draft->op;
    int handle = (int)(d - (struct aws_draft *)p->drafts->items);
    op->undo = undo_of(p, handle);
    op->proof = proof_of(p, handle);
    op->proves_all = op->proof != NULL;
    if (op->verb == LB_KEEP) {
        lb_plan_service(p->plan, p->service->key)->checked++;
    } else {
        op->type = p->write_type;
        op->arg = write_of(p, d);
        op->calls = 1;
        op->critical = p->critical >= 0 && p->critical == handle;
        op->tidies = draft->phase >= AWS_PHASE_LEAVE;
    }
}

static void placed(void *arg, struct lb_draft *draft)
{
    struct placing *x = arg;
    if (draft->op.verb != LB_KEEP) {
        x->steps[x->n++] = (struct aws_step){
            .op = draft->at,
            .phase = (enum aws_phase)draft->phase,
            .write = draft->op.arg,
        };
    }
}

void aws_draft_finish(struct aws_planning *p)
{
    struct lb_drafts *all = p->drafts;
    struct placing x = {.p = p, .steps = ARENA_ARRAY(p->a, struct aws_step, all->n + 1)};
    for (size_t i = 0; i < all->n; i++) {
        struct aws_draft *d = lb_drafts_at(all, (int)i);
        d->draft.op.fields = d->diff.fields;
        d->draft.op.n_fields = d->diff.n;
    }
    lb_drafts_place(all, &(struct lb_drafts_how){
                             .plan = p->plan,
                             .key = p->service->key,
                             .n_phases = AWS_PHASES,
                             .most = PARALLEL_MAX,
                             .complete = complete,
                             .placed = placed,
                             .arg = &x,
                         });
    aws_order_steps(p->plan, p->a, x.steps, x.n);
    lb_drafts_clear(all);
    p->critical = -1;
}
