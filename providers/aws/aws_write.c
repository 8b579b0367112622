/* SPDX-License-Identifier: Apache-2.0 */
/* aws_write.c: carries out one operation of a plan: one call of the Query protocol, and what it
 * means for what is known.
 *
 * Three things are more than sending a form.  Targets that AWS refuses (a stopped instance, one
 * that is gone) must not hold up the others (docs/spec/aws.md 3.3, 12 row 19): those that the
 * answer names are left out and the rest is sent again, one by one when it names none.  A rule of a
 * security group that is there already, because Services share it and another one was faster, holds
 * up no others: each is sent by itself then.  And a group that something still uses is no failure
 * to be hurried: it is looked at again after five seconds (7.4), by another sync, so that
 * no worker waits. */
#include "common/base/str.h"
#include "common/lb/exec.h"
#include "providers/aws/api/aws_permissions.h"
#include "providers/aws/aws_sync.h"
#include "providers/aws/cloud/aws_memory.h"
#include "providers/aws/plan/aws_groups_plan.h"

#include <stdio.h>
#include <string.h>

struct write_run {
    bool begun;
    struct aws_call call;
    struct aws_pair *pairs; /* as sent at first */
    size_t n_pairs;
    bool *out; /* isolating: members (by number, from 0) that are left out */
    size_t n_members;
    size_t single; /* isolating one by one: number of the member under way + 1; 0: all at once */
    /* rules that are let in, one by one, from the last: number of those sent; one was there */
    size_t n_rules, rule;
    bool found;
};

/* ---- parameters ------------------------------------------------------------------------------ */

/* "Targets.member.12.Id" → 11; SIZE_MAX: it belongs to no member. */
static size_t member_of(const char *name)
{
    static const char targets[] = "Targets.member.";
    static const char instances[] = "Instances.member.";
    const char *rest = str_has_prefix(name, targets)     ? name + sizeof(targets) - 1
                       : str_has_prefix(name, instances) ? name + sizeof(instances) - 1
                                                         : NULL;
    uint64_t n = 0;
    for (; rest != NULL && *rest >= '0' && *rest <= '9' && n < UINT32_MAX; rest++) {
        n = 10 * n + (uint64_t)(*rest - '0');
    }
    return n == 0 ? SIZE_MAX : (size_t)(n - 1);
}

static bool fill_pairs(struct lb_op_run *run, struct write_run *w, const struct aws_write *write)
{
    w->pairs = ARENA_ARRAY(run->a, struct aws_pair, write->n_params + 1);
    for (size_t i = 0; i < write->n_params; i++) {
        const char *text = lb_run_value(run, write->params[i].value);
        if (text == NULL) {
            (void)err_set(run->err, ERR_BUG, "%s: no value for %s", write->action,
                          write->params[i].name);
            return false;
        }
        w->pairs[w->n_pairs++] = (struct aws_pair){write->params[i].name, text};
        size_t m = member_of(write->params[i].name);
        w->n_members = m != SIZE_MAX && m + 1 > w->n_members ? m + 1 : w->n_members;
    }
    w->out = ARENA_ARRAY(run->a, bool, w->n_members + 1);
    return true;
}

/* "Targets.member.7.Id" as the third one: AWS wants numbers without gaps. */
static const char *renumbered(struct arena *a, const char *name, size_t member, size_t as)
{
    const char *at = strstr(name, ".member.");
    char digits[24];
    (void)snprintf(digits, sizeof(digits), "%zu", member + 1);
    const char *rest = at + strlen(".member.") + strlen(digits);
    return arena_printf(a, "%.*s.member.%zu%s", (int)(at - name), name, as + 1, rest);
}

/* The members that are still to be sent; at first all, as they are. */
static size_t fill_rest(struct lb_op_run *run, struct write_run *w)
{
    if (w->rule > 0) {
        struct aws_pair *one = NULL;
        w->call.n_pairs =
            aws_permissions_one(run->a, w->pairs, w->n_pairs, w->n_rules - w->rule, &one);
        w->call.pairs = one;
        return 1;
    }
    bool all = w->single == 0;
    for (size_t m = 0; m < w->n_members; m++) {
        all = all && !w->out[m];
    }
    if (all) {
        w->call.pairs = w->pairs;
        w->call.n_pairs = w->n_pairs;
        return w->n_members;
    }
    size_t *as = ARENA_ARRAY(run->a, size_t, w->n_members + 1);
    size_t left = 0;
    for (size_t m = 0; m < w->n_members; m++) {
        bool goes = !w->out[m] && (w->single == 0 || w->single == m + 1);
        as[m] = goes ? left++ : SIZE_MAX;
    }
    struct aws_pair *pairs = ARENA_ARRAY(run->a, struct aws_pair, w->n_pairs + 1);
    size_t n = 0;
    for (size_t i = 0; i < w->n_pairs; i++) {
        size_t m = member_of(w->pairs[i].name);
        if (m == SIZE_MAX) {
            pairs[n++] = w->pairs[i];
        } else if (as[m] != SIZE_MAX) {
            pairs[n++] = (struct aws_pair){renumbered(run->a, w->pairs[i].name, m, as[m]),
                                           w->pairs[i].value};
        }
    }
    w->call.pairs = pairs;
    w->call.n_pairs = n;
    return left;
}

/* ---- targets that are refused ---------------------------------------------------------------- */

static bool is_refusal_of_members(const struct aws_write *write, const struct err *err)
{
    return (write->isolate == AWS_ISOLATE_TARGETS && str_eq(err->reason, "InvalidTarget")) ||
           (write->isolate == AWS_ISOLATE_INSTANCES && str_eq(err->reason, "InvalidInstance"));
}

/* Text of the member that names its instance. */
static const char *id_of(const struct write_run *w, size_t member)
{
    for (size_t i = 0; i < w->n_pairs; i++) {
        const char *name = w->pairs[i].name;
        if (member_of(name) == member &&
            (str_has_suffix(name, ".Id") || str_has_suffix(name, ".InstanceId"))) {
            return w->pairs[i].value;
        }
    }
    return "";
}

static bool is_of_id(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-';
}

/* Does the message name this id, and not one that only begins or ends so? */
static bool names(const char *message, const char *id)
{
    size_t len = strlen(id);
    for (const char *at = strstr(message, id); len > 0 && at != NULL; at = strstr(at + 1, id)) {
        if ((at == message || !is_of_id(at[-1])) && !is_of_id(at[len])) {
            return true;
        }
    }
    return false;
}

static void leave_out(struct lb_op_run *run, struct write_run *w, size_t member)
{
    const struct aws_write *write = run->op->arg;
    w->out[member] = true;
    if (str_has_prefix(write->action, "Register")) { /* one that is gone need not be taken away */
        aws_scope_refused(run->provider, id_of(w, member), run->err->message);
    }
}

/* After a refusal: is there something left to be sent? */
static bool go_on_without(struct lb_op_run *run, struct write_run *w)
{
    size_t named = 0;
    for (size_t m = 0; w->single == 0 && m < w->n_members; m++) {
        if (!w->out[m] && names(run->err->message, id_of(w, m))) {
            leave_out(run, w, m);
            named++;
        }
    }
    if (w->single > 0) {
        leave_out(run, w, w->single - 1);
    } else if (named == 0) {
        w->single = 1; /* it does not say which: one by one */
        return w->n_members > 0;
    }
    for (size_t m = w->single; w->single > 0 && m < w->n_members; m++) {
        if (!w->out[m]) {
            w->single = m + 1;
            return true;
        }
    }
    bool left = false;
    for (size_t m = 0; w->single == 0 && m < w->n_members; m++) {
        left = left || !w->out[m];
    }
    return left;
}

/* One by one: the one under way was taken. */
static bool next_single(struct write_run *w)
{
    for (size_t m = w->single; w->single > 0 && m < w->n_members; m++) {
        if (!w->out[m]) {
            w->single = m + 1;
            return true;
        }
    }
    return false;
}

/* ---- rules that are there -------------------------------------------------------------------- */

/* EC2 takes no rule of a request when one is there already (docs/spec/aws.md 4.15).  It is as it
 * should be then, whatever wrote it. */
static bool is_there(const struct aws_write *write, const struct err *err)
{
    return str_eq(write->action, "AuthorizeSecurityGroupIngress") &&
           str_eq(err->reason, "InvalidPermission.Duplicate");
}

/* After one rule was taken, or was there: is there another one to be sent?  One of them was there
 * when all were sent together: if it was none of the others, it is the last.  That is the one about
 * the size of packets as a rule, which all Services share. */
static bool next_rule(struct write_run *w)
{
    if (w->rule == 0 || w->rule == w->n_rules || (w->rule + 1 == w->n_rules && !w->found)) {
        return false;
    }
    w->rule++;
    return true;
}

static bool begin_rules(struct write_run *w)
{
    w->n_rules = aws_permissions_count(w->pairs, w->n_pairs);
    w->rule = w->n_rules > 1 ? 1 : 0;
    return w->rule > 0;
}

static const char *pair_of(const struct write_run *w, const char *name)
{
    for (size_t i = 0; i < w->n_pairs; i++) {
        if (str_eq(w->pairs[i].name, name)) {
            return w->pairs[i].value;
        }
    }
    return NULL;
}

/* ---- what lists may not show yet ------------------------------------------------------------- */

/* Rules that were added or taken away: all that were sent, or the one that was under way. */
static void note_rules(struct lb_op_run *run, const struct write_run *w,
                       const struct aws_write *write)
{
    const struct aws_scope *x = run->provider;
    const char *group = pair_of(w, "GroupId");
    bool added = str_eq(write->action, "AuthorizeSecurityGroupIngress");
    if (group == NULL || (!added && !str_eq(write->action, "RevokeSecurityGroupIngress"))) {
        return;
    }
    for (size_t i = 0; i < write->rules.n; i++) {
        if (w->rule == 0 || i == w->n_rules - w->rule) {
            aws_written_note(x->p->written, group, &write->rules.items[i], added, run->now_ms);
        }
    }
    const char *source = pair_of(w, "IpPermissions.1.Groups.1.GroupId");
    if (write->rules.n == 0 && source != NULL) { /* it was not known when this was planned */
        const struct aws_rule main = {.protocol = AWS_ALL_TRAFFIC,
                                      .from = AWS_NO_PORT,
                                      .to = AWS_NO_PORT,
                                      .peer = AWS_PEER_GROUP,
                                      .source = source,
                                      .user = "",
                                      .description = ""};
        aws_written_note(x->p->written, group, &main, added, run->now_ms);
    }
}

/* Without an answer it may have been carried out: a Service that goes may not see it yet. */
static void note_unsure(struct lb_op_run *run, const struct aws_write *write)
{
    const struct aws_scope *x = run->provider;
    bool unanswered = run->err->http_status == 0 || run->err->http_status >= 500;
    bool adds = str_has_prefix(write->action, "Create") ||
                str_eq(write->action, "AuthorizeSecurityGroupIngress");
    if (unanswered && adds) {
        aws_memory_unsure(x->p->memory, x->uid, run->now_ms);
    }
}

/* ---- the operation --------------------------------------------------------------------------- */

static bool drop_item(struct aws_call *call, const struct aws_node *item, struct err *err)
{
    (void)call;
    (void)item;
    (void)err;
    return true;
}

static enum http_next send_rest(struct lb_op_run *run, struct write_run *w)
{
    struct aws_scope *x = run->provider;
    const struct aws_write *write = run->op->arg;
    err_clear(run->err);
    w->call = (struct aws_call){
        .client = x->p->client,
        .a = run->a,
        .api = write->api,
        .action = write->action,
        .mutates = true,
        .items = write->n_outputs == 0 ? "Instances/member" : NULL, /* all of them, each time */
        .on_item = drop_item,
    };
    if (fill_rest(run, w) == 0 && w->n_members > 0) {
        return HTTP_DONE;
    }
    return aws_call_step(&w->call, run->req, NULL, run->now_ms, run->wall_us, run->unit, run->err);
}

/* EC2 answers below the root, the balancers' APIs below "<Action>Result". */
static const char *answer_text(struct arena *a, const struct aws_node *root, const char *action,
                               const char *path)
{
    const struct aws_node *result = aws_xml_child(root, arena_printf(a, "%sResult", action));
    return aws_xml_text(result != NULL ? result : root, path);
}

static void take_outputs(struct lb_op_run *run, const struct write_run *w)
{
    const struct aws_write *write = run->op->arg;
    struct aws_scope *x = run->provider;
    for (size_t i = 0; i < write->n_outputs; i++) {
        const char *text = answer_text(run->a, w->call.root, write->action, write->outputs[i].path);
        if (text != NULL) {
            lb_run_output(run, write->outputs[i].name, text);
        }
        if (text != NULL && str_eq(write->action, "CreateSecurityGroup")) {
            aws_memory_group_made(x->p->memory, x->uid, text, run->now_ms);
        }
        if (text != NULL && str_eq(write->outputs[i].name, "dns")) {
            x->dns = arena_strdup(x->a, text);
        }
    }
}

/* Updates the caches after a write, so that the next read sees it. */
static void remember(struct lb_op_run *run, const struct write_run *w)
{
    const struct aws_write *write = run->op->arg;
    struct aws_scope *x = run->provider;
    bool gone = run->err->code == ERR_OK || run->err->code == ERR_NOT_FOUND;
    if (gone && str_eq(write->action, "DeleteSecurityGroup")) {
        aws_memory_group_gone(x->p->memory, x->uid, pair_of(w, "GroupId"));
    } else if (gone && str_eq(write->action, "DeleteLoadBalancer")) {
        aws_memory_balancer_gone(x->p->memory, x->uid);
    } else if (run->err->code == ERR_OK && str_eq(write->action, "CreateLoadBalancer")) {
        aws_memory_balancer_made(x->p->memory, x->uid, run->now_ms);
    } else if (gone && str_eq(write->action, "DeleteTargetGroup")) {
        aws_memory_target_group_gone(x->p->memory, x->uid, pair_of(w, "TargetGroupArn"));
    } else if (run->err->code == ERR_OK && str_eq(write->action, "CreateTargetGroup")) {
        const char *arn =
            answer_text(run->a, w->call.root, write->action, "TargetGroups/member/TargetGroupArn");
        aws_memory_target_group_made(x->p->memory, x->uid, str_nonnull(arn), run->now_ms);
    }
}

/* A refusal that makes the plan a worse one than it could be: the sync looks and plans
 * once more, knowing it. */
static bool is_news(struct lb_op_run *run, const struct aws_write *write)
{
    static const struct {
        const char *action;
        unsigned bit;
    } rows[] = {
        {"SetLoadBalancerListenerSSLCertificate", AWS_KNOWS_NO_CERT},
        {"UpdateSecurityGroupRuleDescriptionsIngress", AWS_KNOWS_NO_TEXTS},
    };
    struct aws_scope *x = run->provider;
    unsigned bit = 0;
    for (size_t i = 0; run->err->code == ERR_FORBIDDEN && i < ARRAY_LEN(rows); i++) {
        bit |= str_eq(write->action, rows[i].action) ? rows[i].bit : 0;
    }
    bool is_known = bit == 0 || (aws_memory_get(x->p->memory, x->uid) & bit) != 0;
    if (!is_known) {
        aws_memory_set(x->p->memory, x->uid, bit, bit);
    }
    return !is_known;
}

/* The call has ended: what is left to be sent, or how the operation ended. */
static enum http_next answered(struct lb_op_run *run, struct write_run *w,
                               const struct aws_write *write)
{
    remember(run, w);
    if (run->err->code == ERR_OK) {
        note_rules(run, w, write);
        take_outputs(run, w);
        return next_single(w) || next_rule(w) ? send_rest(run, w) : HTTP_DONE;
    }
    if (is_there(write, run->err)) {
        if (w->rule > 0 || write->rules.n <= 1) {
            note_rules(run, w, write);
        }
        w->found = w->found || w->rule > 0;
        if (w->rule == 0 ? begin_rules(w) : next_rule(w)) {
            return send_rest(run, w);
        }
        err_clear(run->err);
        return HTTP_DONE;
    }
    note_unsure(run, write);
    if (is_refusal_of_members(write, run->err)) {
        if (go_on_without(run, w)) {
            return send_rest(run, w);
        }
        err_clear(run->err); /* told at the end of the sync */
    } else if (str_eq(write->action, "DeleteSecurityGroup") && run->err->code == ERR_IN_USE) {
        run->err->retry_after_ms = AWS_GROUP_POLL_MS;
    } else if (is_news(run, write)) {
        run->err->code = ERR_CONFLICT;
    } else if (run->err->code == ERR_NOT_FOUND && (run->op->tolerate & LB_TOLERATE_ABSENT) == 0) {
        /* It was there a moment ago, or is too new to be known.  "Not found" would say that the
         * Service has no balancer. */
        run->err->code = ERR_CONFLICT;
    }
    return HTTP_DONE;
}

static enum http_next take_step(struct lb_op_run *run, const struct http_response *resp)
{
    struct write_run *w = run->state;
    const struct aws_write *write = run->op->arg;
    if (!w->begun) {
        w->begun = true;
        return fill_pairs(run, w, write) ? send_rest(run, w) : HTTP_DONE;
    }
    enum http_next next =
        aws_call_step(&w->call, run->req, resp, run->now_ms, run->wall_us, run->unit, run->err);
    if (next != HTTP_DONE) {
        return next;
    }
    return answered(run, w, write);
}

static enum http_next write_step(struct lb_op_run *run, const struct http_response *resp)
{
    enum http_next next = take_step(run, resp);
    if (next == HTTP_DONE) {
        aws_scope_ended(run->provider, run->op->arg);
    }
    return next;
}

const struct lb_op_type aws_write_type = {
    .name = "call", .state_size = sizeof(struct write_run), .step = write_step};

/* ---- what is known afterwards ---------------------------------------------------------------- */

/* Lists of balancers and target groups may go on showing what was a minute ago: nothing is changed
 * on their word.  Groups are looked up in their list to find out which there are, so a new one
 * makes it stale. */
/* Has it changed, as far as the answer tells, which clients reach which targets? */
static bool may_turn(const struct aws_write *w, unsigned outcome, const struct err *err)
{
    static const char *const actions[] = {
        "CreateLoadBalancer", "DeleteLoadBalancer", "Listener",           "RegisterTargets",
        "RegisterInstances",  "DeregisterTargets",  "DeregisterInstances"};
    bool lost = outcome == LB_FAILED && (err->code == ERR_TRANSIENT || err->code == ERR_CANCELLED);
    bool turns = false;
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        turns = turns || strstr(w->action, actions[i]) != NULL;
    }
    return turns && (lost || outcome == LB_DONE);
}

void aws_wrote(struct lb_sync *s, const struct lb_op *op, unsigned outcome, const struct err *err)
{
    struct aws_sync *y = aws_sync_of(s); /* a refusal may be about what another program did */
    y->scope->lacks_rights |= outcome == LB_TOLERATED && err != NULL && err->code == ERR_FORBIDDEN;
    const struct aws_write *write = op->arg;
    struct aws_cloud *cloud = y->p->cloud;
    for (size_t i = 0; i < s->n_items; i++) {
        bool its = str_set_has(&op->owners, s->items[i].key);
        y->items[i].touched = y->items[i].touched || (its && may_turn(write, outcome, err));
    }
    if (str_eq(write->action, "CreateSecurityGroup") ||
        str_eq(write->action, "DeleteSecurityGroup") || str_eq(write->action, "CreateTags")) {
        aws_cloud_drop(cloud, AWS_DOC_TAGGED_GROUPS, NULL);
    }
    for (size_t i = 0; i < y->scope->n_docs; i++) {
        const struct aws_doc *d = y->scope->docs[i];
        if (!str_is_empty(d->key)) {
            aws_cloud_drop(cloud, d->kind, d->key);
        }
    }
    if (y->items[0].want) {
        aws_memory_wrote(y->p->memory, y->scope->uid, clock_now_ms(s->clock));
    }
}
