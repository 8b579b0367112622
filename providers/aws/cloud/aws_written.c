/* SPDX-License-Identifier: Apache-2.0 */
/* aws_written.c: see aws_written.h. */
#include "providers/aws/cloud/aws_written.h"

#include "common/base/lock.h"
#include "common/base/str.h"

#include <stdlib.h>

struct entry {
    struct arena *a;
    const char *group;
    struct aws_rule rule;
    bool there;
    int64_t ms;
    struct entry *next;
};
struct aws_written {
    struct mutex lock;
    struct entry *first _guarded_by_(lock); /* the newest; each rule of a group once */
};

struct aws_written *aws_written_new(void)
{
    struct aws_written *w = xcalloc(1, sizeof(*w));
    mutex_init(&w->lock);
    return w;
}

void aws_written_free(struct aws_written *w)
{
    if (w == NULL) {
        return;
    }
    mutex_lock(&w->lock);
    while (w->first != NULL) {
        struct entry *e = w->first;
        w->first = e->next;
        arena_free(e->a);
    }
    mutex_unlock(&w->lock);
    mutex_done(&w->lock);
    free(w);
}

/* EC2 has each rule once, whatever its description is. */
static bool is_same(const struct aws_rule *x, const struct aws_rule *y)
{
    return x->from == y->from && x->to == y->to && x->peer == y->peer &&
           str_eq(x->protocol, y->protocol) && str_eq(x->source, y->source);
}

static bool has(const struct aws_rules *rules, const struct aws_rule *rule)
{
    for (size_t i = 0; i < rules->n; i++) {
        if (is_same(&rules->items[i], rule)) {
            return true;
        }
    }
    return false;
}

static struct aws_rule copied(struct arena *a, const struct aws_rule *r)
{
    return (struct aws_rule){.protocol = arena_strdup(a, r->protocol),
                             .from = r->from,
                             .to = r->to,
                             .peer = r->peer,
                             .source = arena_strdup(a, r->source),
                             .user = "",
                             .description = arena_strdup(a, str_nonnull(r->description))};
}

/* Takes away what is too old, and what was known about the rule; rule NULL: about none. */
static void prune(struct aws_written *w, const char *group, const struct aws_rule *rule,
                  int64_t now_ms) _requires_(w->lock)
{
    for (struct entry **at = &w->first; *at != NULL;) {
        struct entry *e = *at;
        bool is_it = rule != NULL && str_eq(e->group, group) && is_same(&e->rule, rule);
        if (is_it || e->ms <= now_ms - AWS_SETTLES_MS) {
            *at = e->next;
            arena_free(e->a);
        } else {
            at = &e->next;
        }
    }
}

void aws_written_note(struct aws_written *w, const char *group, const struct aws_rule *rule,
                      bool there, int64_t now_ms)
{
    struct arena *a = arena_new();
    struct entry *e = ARENA_NEW(a, struct entry);
    *e = (struct entry){.a = a,
                        .group = arena_strdup(a, group),
                        .rule = copied(a, rule),
                        .there = there,
                        .ms = now_ms};
    mutex_lock(&w->lock);
    prune(w, group, rule, now_ms);
    e->next = w->first;
    w->first = e;
    mutex_unlock(&w->lock);
}

struct aws_rules aws_written_correct(struct aws_written *w, struct arena *a, const char *group,
                                     const struct aws_rules *shown, int64_t now_ms)
{
    mutex_lock(&w->lock);
    prune(w, group, NULL, now_ms);
    size_t n_come = 0, n_gone = 0, most = 0;
    for (const struct entry *e = w->first; e != NULL; e = e->next) {
        most += str_eq(e->group, group);
    }
    struct aws_rule *come = ARENA_ARRAY(a, struct aws_rule, shown->n + most + 1);
    struct aws_rule *gone = ARENA_ARRAY(a, struct aws_rule, most + 1);
    for (const struct entry *e = w->first; most > 0 && e != NULL; e = e->next) {
        if (!str_eq(e->group, group) || has(shown, &e->rule) == e->there) {
            continue;
        }
        *(e->there ? &come[n_come++] : &gone[n_gone++]) = copied(a, &e->rule);
    }
    mutex_unlock(&w->lock);
    if (n_come + n_gone == 0) {
        return *shown;
    }
    const struct aws_rules taken = {.items = gone, .n = n_gone};
    for (size_t i = 0; i < shown->n; i++) {
        if (!has(&taken, &shown->items[i])) {
            come[n_come++] = shown->items[i];
        }
    }
    return aws_rules_sorted(a, come, n_come);
}
