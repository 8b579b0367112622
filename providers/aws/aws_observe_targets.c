/* SPDX-License-Identifier: Apache-2.0 */
/* aws_observe_targets.c: the target groups of a Service: those of its listeners, those of its
 * balancer, and left ones.
 *
 * Groups are found through the listeners that forward to them, because moto forgets which balancer
 * a group belongs to (10.4 row 5), and through the balancer, because a group without a listener is
 * one that an interrupted run left.  Groups that belong to no balancer at all, or to one of our
 * name that is gone, are ours when their name begins like ours and their tags say whose they are
 * (7.3); they are looked for when the Service goes, and when the list of all groups is
 * at hand anyway. */
#include "common/base/str.h"
#include "providers/aws/aws_sync.h"
#include "providers/aws/cloud/aws_memory.h"

#include <stdlib.h>
#include <string.h>

#define TAGS_PER_CALL 20

/* Groups found so far, by ARN. */
struct found {
    struct aws_observed_group *items;
    size_t n;
    size_t cap;
};

static struct aws_observed_group *find(struct found *f, const char *arn)
{
    for (size_t i = 0; i < f->n; i++) {
        if (str_eq(f->items[i].group->arn, arn)) {
            return &f->items[i];
        }
    }
    return NULL;
}

static void add(struct aws_sync *y, struct found *f, const struct aws_target_group *g, bool left)
{
    if (find(f, g->arn) != NULL) {
        return;
    }
    if (f->n == f->cap) {
        f->cap = f->cap == 0 ? 8 : 2 * f->cap;
        struct aws_observed_group *more = ARENA_ARRAY(y->s->a, struct aws_observed_group, f->cap);
        if (f->n > 0) {
            memcpy(more, f->items, f->n * sizeof(*more));
        }
        f->items = more;
    }
    f->items[f->n++] = (struct aws_observed_group){.group = g, .left = left};
}

/* ---- groups of the balancer and its listeners ------------------------------------------------ */

static bool texts_have(const struct aws_texts *t, const char *text)
{
    for (size_t i = 0; i < t->n; i++) {
        if (str_eq(t->items[i], text)) {
            return true;
        }
    }
    return false;
}

static void add_of_balancer(struct aws_sync *y, const struct aws_item *it, struct found *f)
{
    const struct aws_doc *doc = it->nlb_groups;
    const struct aws_target_group *items = doc->items;
    bool lists = aws_sync_asks_lists(y, it) || !it->want;
    const char *arn = it->seen.nlb->arn;
    for (size_t i = 0; i < doc->n; i++) {
        if (!lists || texts_have(&items[i].balancers, arn)) {
            add(y, f, &items[i], false);
        }
    }
}

static int compare_texts(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* Those that a listener forwards to although the balancer's list has them not. */
static int add_of_listeners(struct aws_sync *y, struct aws_item *it, struct found *f,
                            struct err *err)
{
    const char **arns = ARENA_ARRAY(y->s->a, const char *, it->seen.n_listeners + 1);
    size_t n = 0;
    for (size_t i = 0; i < it->seen.n_listeners; i++) {
        const char *arn = it->seen.listeners[i].target_group;
        if (!str_is_empty(arn) && find(f, arn) == NULL) {
            arns[n++] = arn;
        }
    }
    if (n == 0) {
        return ERR_OK;
    }
    qsort(arns, n, sizeof(*arns), compare_texts);
    struct str_set unique = str_set_make(y->s->a, arns, n);
    const struct aws_doc *doc =
        aws_sync_read(y, AWS_DOC_TARGET_GROUPS_BY, str_set_text(y->s->a, &unique, ","),
                      aws_sync_not_older(y), err);
    const struct aws_target_group *items = doc != NULL ? doc->items : NULL;
    for (size_t i = 0; doc != NULL && i < doc->n; i++) {
        add(y, f, &items[i], false);
    }
    return doc != NULL ? ERR_OK : err->code;
}

/* ---- left ones ------------------------------------------------------------------------------- */

static bool is_candidate(const struct aws_sync *y, const struct aws_item *it,
                         const struct aws_target_group *g, const char *prefix)
{
    return str_has_prefix(g->name, prefix) && str_eq(g->vpc, y->p->naming.vpc) &&
           aws_target_group_other_user(g, NULL, it->service->lb_name) == NULL;
}

static bool is_of_service(const struct aws_sync *y, const struct aws_item *it,
                          const struct aws_tags *tags)
{
    return aws_tags_are_owned(&y->p->naming, tags) &&
           str_eq(aws_tag(tags, AWS_SERVICE_TAG), it->service->key);
}

static const struct aws_target_group *group_of(const struct aws_doc *all, const char *arn)
{
    const struct aws_target_group *items = all->items;
    for (size_t i = 0; i < all->n; i++) {
        if (str_eq(items[i].arn, arn)) {
            return &items[i];
        }
    }
    return NULL;
}

/* Up to 20 candidates: those whose tags say that they are the Service's. */
static int add_tagged(struct aws_sync *y, struct aws_item *it, struct found *f,
                      const struct aws_doc *all, const struct str_set *arns, struct err *err)
{
    const struct aws_doc *doc = aws_sync_read(y, AWS_DOC_TAGS, str_set_text(y->s->a, arns, ","),
                                              aws_sync_not_older(y), err);
    if (doc == NULL) {
        return err->code;
    }
    const struct aws_arn_tags *items = doc->items;
    for (size_t i = 0; i < doc->n; i++) {
        const struct aws_target_group *g = group_of(all, items[i].arn);
        if (g != NULL && is_of_service(y, it, &items[i].tags)) {
            add(y, f, g, true);
        }
    }
    return ERR_OK;
}

static int add_left(struct aws_sync *y, struct aws_item *it, struct found *f,
                    const struct aws_doc *all, struct err *err)
{
    const struct tt_service *svc = it->service->in;
    const char *prefix = aws_target_group_prefix(y->s->a, svc->ns, svc->name);
    const struct aws_target_group *items = all->items;
    const char **arns = ARENA_ARRAY(y->s->a, const char *, TAGS_PER_CALL);
    size_t n = 0;
    int rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i <= all->n; i++) {
        if (i < all->n && is_candidate(y, it, &items[i], prefix) && find(f, items[i].arn) == NULL) {
            arns[n++] = items[i].arn;
        }
        if (n == TAGS_PER_CALL || (i == all->n && n > 0)) {
            struct str_set set = str_set_make(y->s->a, arns, n);
            rc = add_tagged(y, it, f, all, &set, err);
            n = 0;
        }
    }
    return rc;
}

static int look_for_left(struct aws_sync *y, struct aws_item *it, struct found *f, struct err *err)
{
    const struct aws_doc *all =
        it->want && !aws_sync_asks_lists(y, it) ? NULL : it->nlb_groups; /* else of all of them */
    if (all == NULL) {
        all = aws_sync_read(y, AWS_DOC_TARGET_GROUPS, NULL, aws_sync_not_older(y), err);
    }
    return all != NULL ? add_left(y, it, f, all, err) : err->code;
}

/* ---- targets and attributes ------------------------------------------------------------------ */

/* Does a wanted port's listener forward to the group, and has AWS no room for another one?  It may
 * have to serve that port a while longer (plan/aws_nlb_slots_plan.c). */
static bool may_be_borrowed(const struct aws_item *it, const struct aws_target_group *g)
{
    bool wanted = false;
    for (size_t i = 0; i < it->seen.n_listeners && !wanted; i++) {
        const struct aws_listener *l = &it->seen.listeners[i];
        for (size_t k = 0; str_eq(l->target_group, g->arn) && k < it->service->n_ports; k++) {
            wanted = wanted || it->service->ports[k].port == l->port;
        }
    }
    return wanted && lb_kinds_have(it->item->full, AWS_WORD_TARGET_GROUP);
}

/* Targets of a group that goes need not be known.  Nodes follow in all that serve, whatever ports
 * the Service has now. */
static bool may_serve(const struct aws_sync *y, const struct aws_item *it,
                      const struct aws_target_group *g)
{
    const struct tt_service *s = it->service->in;
    if (aws_item_is_about_nodes(it) &&
        str_has_prefix(g->name, aws_target_group_prefix(y->s->a, s->ns, s->name))) {
        return true;
    }
    for (size_t i = 0; i < it->service->n_ports; i++) {
        if (it->service->ports[i].node_port == g->port) {
            return true;
        }
    }
    return may_be_borrowed(it, g);
}

static int add_targets(struct aws_sync *y, struct aws_item *it, struct found *f, struct err *err)
{
    bool attributes = it->service->has_group_attributes && !aws_item_is_about_nodes(it);
    struct aws_need *needs = ARENA_ARRAY(y->s->a, struct aws_need, 2 * f->n + 1);
    size_t n = 0;
    bool ahead = it->tagged_groups == NULL && y->scope->guards;
    for (size_t i = 0; i < f->n; i++) {
        const char *arn = f->items[i].group->arn;
        f->items[i].has_targets = may_serve(y, it, f->items[i].group);
        if (!f->items[i].has_targets) {
            continue;
        }
        needs[n++] = (struct aws_need){
            .kind = AWS_DOC_TARGETS, .key = arn, .not_older_ms = aws_sync_not_older(y)};
        if (attributes) {
            needs[n++] = (struct aws_need){.kind = AWS_DOC_TARGET_GROUP_ATTRIBUTES,
                                           .key = arn,
                                           .not_older_ms = aws_sync_not_older(y)};
        }
    }
    needs[n] = aws_need_tagged_groups(y);
    int rc = aws_sync_read_all(y, needs, n + ahead, err);
    it->tagged_groups = rc == ERR_OK && ahead ? needs[n].doc : it->tagged_groups;
    for (size_t i = 0, k = 0; rc == ERR_OK && i < f->n; i++) {
        struct aws_observed_group *g = &f->items[i];
        if (!g->has_targets) {
            continue;
        }
        const struct aws_doc *doc = needs[k++].doc;
        g->targets = (struct aws_targets){.items = doc->items, .n = doc->n};
        if (attributes) {
            doc = needs[k++].doc;
            g->has_attributes = true;
            g->attributes = (struct aws_tags){.items = doc->items, .n = doc->n};
        }
    }
    return rc;
}

static int compare_groups(const void *x, const void *y)
{
    const struct aws_observed_group *a = x;
    const struct aws_observed_group *b = y;
    int order = strcmp(a->group->name, b->group->name);
    return order != 0 ? order : strcmp(a->group->arn, b->group->arn);
}

/* A group that no listener forwards to.  Once its last listener has gone, the balancer's own list
 * has it no more: who saw it in the list of all has to look there again before it is deleted. */
static bool has_unused(const struct aws_item *it)
{
    for (size_t i = 0; i < it->seen.n_groups; i++) {
        bool used = false;
        for (size_t k = 0; k < it->seen.n_listeners; k++) {
            used =
                used || str_eq(it->seen.listeners[k].target_group, it->seen.groups[i].group->arn);
        }
        if (!used) {
            return true;
        }
    }
    return false;
}

/* Of a Service that goes: all target groups, and the cluster's security groups, in one round. */
static int read_going(struct aws_sync *y, struct aws_item *it, struct err *err)
{
    struct aws_need needs[] = {
        {.kind = AWS_DOC_TARGET_GROUPS, .not_older_ms = aws_sync_not_older(y)},
        aws_need_tagged_groups(y),
    };
    bool ahead = y->scope->guards;
    int rc = aws_sync_read_all(y, needs, ahead ? 2 : 1, err);
    if (rc == ERR_OK) {
        it->nlb_groups = needs[0].doc;
        it->tagged_groups = ahead ? needs[1].doc : NULL;
    }
    return rc;
}

int aws_observe_target_groups(struct aws_sync *y, struct aws_item *it, struct err *err)
{
    struct found f = {0};
    int rc = it->want ? ERR_OK : read_going(y, it, err);
    bool nlb = it->service->kind == AWS_NLB || it->seen.nlb != NULL;
    if (rc == ERR_OK && it->seen.nlb != NULL) {
        add_of_balancer(y, it, &f);
        rc = it->want ? add_of_listeners(y, it, &f, err) : rc;
    }
    /* A classic Service may have been an NLB: its groups are looked for when it goes.  A sync that
     * failed may have left some. */
    bool failed = (aws_memory_get(y->p->memory, it->service->in->uid) & AWS_KNOWS_FAILED) != 0;
    bool looks = !it->want || (nlb && (aws_sync_asks_lists(y, it) || y->s->attempt > 0 || failed ||
                                       it->saw_unused_groups));
    if (rc == ERR_OK && looks) {
        rc = look_for_left(y, it, &f, err);
    }
    if (rc == ERR_OK && it->want && f.n > 0) {
        rc = add_targets(y, it, &f, err);
    }
    if (f.n > 0) {
        qsort(f.items, f.n, sizeof(*f.items), compare_groups);
    }
    it->seen.groups = f.items;
    it->seen.n_groups = f.n;
    it->saw_unused_groups = it->saw_unused_groups || has_unused(it);
    return rc;
}
