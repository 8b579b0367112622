/* SPDX-License-Identifier: Apache-2.0 */
/* aws_stakes.c: see aws_stakes.h.
 *
 * Moments are numbers that only grow.  A claim is kept as long as a stake in the table began to
 * look before the claim was over. */
#include "providers/aws/cloud/aws_stakes.h"

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/lock.h"
#include "common/base/str.h"

#include <stdlib.h>

struct aws_stake_claim {
    struct arena *a;
    struct aws_staked_list needs;
    struct aws_staked_list leaves;
    uint64_t come; /* the moment from which the needs are sure; 0: not yet */
    uint64_t left; /* likewise, from which the others are gone */
    bool held;     /* by its stake */
    struct aws_stake_claim *next;
};

struct aws_stakes {
    struct mutex planning; /* from aws_stakes_plan() to aws_stakes_planned() */
    struct mutex lock;
    struct cond changed;
    uint64_t moment _guarded_by_(lock);
    struct aws_stake *stakes _guarded_by_(lock);
    struct aws_stake_claim *claims _guarded_by_(lock);
};

struct aws_stakes *aws_stakes_new(void)
{
    struct aws_stakes *t = xcalloc(1, sizeof(*t));
    mutex_init(&t->planning);
    mutex_init(&t->lock);
    cond_init(&t->changed);
    return t;
}

static void claim_free(struct aws_stake_claim *c)
{
    if (c != NULL) {
        arena_free(c->a);
    }
}

void aws_stakes_free(struct aws_stakes *t)
{
    if (t == NULL) {
        return;
    }
    mutex_lock(&t->lock);
    while (t->claims != NULL) {
        struct aws_stake_claim *c = t->claims;
        t->claims = c->next;
        claim_free(c);
    }
    mutex_unlock(&t->lock);
    cond_done(&t->changed);
    mutex_done(&t->lock);
    mutex_done(&t->planning);
    free(t);
}

/* ---- claims ---------------------------------------------------------------------------------- */

static struct aws_staked_list copied(struct arena *a, const struct aws_staked_list *from)
{
    struct aws_staked_list to = {.items = ARENA_ARRAY(a, struct aws_staked, from->n + 1),
                                 .n = from->n};
    for (size_t i = 0; i < from->n; i++) {
        const struct aws_rule *r = &from->items[i].rule;
        to.items[i] = (struct aws_staked){.group = arena_strdup(a, from->items[i].group),
                                          .rule = {.protocol = arena_strdup(a, r->protocol),
                                                   .from = r->from,
                                                   .to = r->to,
                                                   .peer = r->peer,
                                                   .source = arena_strdup(a, r->source),
                                                   .user = "",
                                                   .description = ""}};
    }
    return to;
}

static struct aws_stake_claim *claim_new(const struct aws_staked_list *needs,
                                         const struct aws_staked_list *leaves)
{
    struct arena *a = arena_new();
    struct aws_stake_claim *c = ARENA_NEW(a, struct aws_stake_claim);
    *c = (struct aws_stake_claim){.a = a, .needs = copied(a, needs), .leaves = copied(a, leaves)};
    return c;
}

/* EC2 has each rule once, whatever its description is. */
static bool is_same(const struct aws_staked *x, const struct aws_staked *y)
{
    return x->rule.from == y->rule.from && x->rule.to == y->rule.to &&
           x->rule.peer == y->rule.peer && str_eq(x->group, y->group) &&
           str_eq(x->rule.protocol, y->rule.protocol) && str_eq(x->rule.source, y->rule.source);
}

static bool meet(const struct aws_staked_list *x, const struct aws_staked_list *y)
{
    for (size_t i = 0; i < x->n; i++) {
        for (size_t k = 0; k < y->n; k++) {
            if (is_same(&x->items[i], &y->items[k])) {
                return true;
            }
        }
    }
    return false;
}

/* May a look since then have missed what became sure at that moment? */
static bool is_open(uint64_t over, uint64_t since)
{
    return over == 0 || over > since;
}

/* Is a claim against this one?  Since UINT64_MAX: only those that are not over count. */
static bool is_opposed(const struct aws_stakes *t, const struct aws_stake_claim *c, uint64_t since)
    _requires_(t->lock)
{
    for (const struct aws_stake_claim *o = t->claims; o != NULL; o = o->next) {
        if (o != c && ((is_open(o->left, since) && meet(&c->needs, &o->leaves)) ||
                       (is_open(o->come, since) && meet(&c->leaves, &o->needs)))) {
            return true;
        }
    }
    return false;
}

/* Forgets claims that every stake in the table has seen the end of. */
static void prune(struct aws_stakes *t) _requires_(t->lock)
{
    uint64_t oldest = UINT64_MAX;
    for (const struct aws_stake *s = t->stakes; s != NULL; s = s->next) {
        oldest = s->since < oldest ? s->since : oldest;
    }
    for (struct aws_stake_claim **at = &t->claims; *at != NULL;) {
        struct aws_stake_claim *c = *at;
        if (c->held || is_open(c->come, oldest) || is_open(c->left, oldest)) {
            at = &c->next;
        } else {
            *at = c->next;
            claim_free(c);
        }
    }
}

static void is_over(struct aws_stakes *t, uint64_t *moment) _requires_(t->lock)
{
    if (*moment == 0) {
        *moment = ++t->moment;
        cond_broadcast(&t->changed);
    }
}

/* ---- stakes ---------------------------------------------------------------------------------- */

static void give_up(struct aws_stakes *t, struct aws_stake *s) _requires_(t->lock)
{
    if (s->claim != NULL) {
        is_over(t, &s->claim->come);
        is_over(t, &s->claim->left);
        s->claim->held = false;
        s->claim = NULL;
    }
    claim_free(s->refused);
    s->refused = NULL;
}

void aws_stake_look(struct aws_stakes *t, struct aws_stake *s)
{
    mutex_lock(&t->lock);
    if (s->of == NULL) {
        s->of = t;
        s->next = t->stakes;
        t->stakes = s;
    }
    give_up(t, s);
    s->since = ++t->moment;
    prune(t);
    mutex_unlock(&t->lock);
}

void aws_stakes_plan(struct aws_stakes *t) _no_lock_check_
{
    mutex_lock(&t->planning);
}

void aws_stakes_planned(struct aws_stakes *t) _no_lock_check_
{
    mutex_unlock(&t->planning);
}

struct aws_rules aws_stake_leaving(const struct aws_stake *s, struct arena *a, const char *group)
{
    struct aws_stakes *t = s->of;
    size_t most = 0;
    mutex_lock(&t->lock);
    for (const struct aws_stake_claim *c = t->claims; c != NULL; c = c->next) {
        most += is_open(c->left, s->since) ? c->leaves.n : 0;
    }
    struct aws_rule *rules = ARENA_ARRAY(a, struct aws_rule, most + 1);
    size_t n = 0;
    for (const struct aws_stake_claim *c = t->claims; c != NULL; c = c->next) {
        for (size_t i = 0; is_open(c->left, s->since) && i < c->leaves.n; i++) {
            if (str_eq(c->leaves.items[i].group, group)) {
                rules[n] = c->leaves.items[i].rule;
                rules[n].protocol = arena_strdup(a, rules[n].protocol);
                rules[n].source = arena_strdup(a, rules[n].source);
                n++;
            }
        }
    }
    mutex_unlock(&t->lock);
    return aws_rules_sorted(a, rules, n);
}

bool aws_stake_claims(struct aws_stake *s, const struct aws_staked_list *needs,
                      const struct aws_staked_list *leaves)
{
    struct aws_stakes *t = s->of;
    struct aws_stake_claim *c = claim_new(needs, leaves);
    mutex_lock(&t->lock);
    bool taken = !is_opposed(t, c, s->since);
    give_up(t, s);
    if (taken) {
        c->next = t->claims;
        t->claims = c;
        s->claim = c;
        c->held = true;
        s->since = UINT64_MAX; /* it decides nothing any more by what it has read */
    } else {
        s->refused = c;
    }
    mutex_unlock(&t->lock);
    return taken;
}

static void wake(void *arg)
{
    struct aws_stakes *t = arg;
    mutex_lock(&t->lock);
    cond_broadcast(&t->changed);
    mutex_unlock(&t->lock);
}

bool aws_stake_wait(struct aws_stake *s, struct cancel *cancel)
{
    struct aws_stakes *t = s->of;
    if (t == NULL || s->refused == NULL) {
        return true;
    }
    int hook = cancel_hook(cancel, wake, t);
    mutex_lock(&t->lock);
    while (!cancel_fired(cancel) && is_opposed(t, s->refused, UINT64_MAX)) {
        clock_wait(clock_real(), &t->changed, &t->lock, CLOCK_NEVER);
    }
    mutex_unlock(&t->lock);
    cancel_unhook(cancel, hook);
    return !cancel_fired(cancel);
}

void aws_stake_come(struct aws_stake *s)
{
    if (s->claim != NULL) {
        mutex_lock(&s->of->lock);
        is_over(s->of, &s->claim->come);
        mutex_unlock(&s->of->lock);
    }
}

void aws_stake_left(struct aws_stake *s)
{
    if (s->claim != NULL) {
        mutex_lock(&s->of->lock);
        is_over(s->of, &s->claim->left);
        mutex_unlock(&s->of->lock);
    }
}

void aws_stake_end(struct aws_stake *s)
{
    struct aws_stakes *t = s->of;
    if (t == NULL) {
        return;
    }
    mutex_lock(&t->lock);
    give_up(t, s);
    for (struct aws_stake **at = &t->stakes; *at != NULL; at = &(*at)->next) {
        if (*at == s) {
            *at = s->next;
            break;
        }
    }
    prune(t);
    mutex_unlock(&t->lock);
    *s = (struct aws_stake){0};
}
