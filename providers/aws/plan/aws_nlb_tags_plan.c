/* SPDX-License-Identifier: Apache-2.0 */
/* aws_nlb_tags_plan.c: tags of additional-resource-tags on what is there of an NLB, its listeners
 * and target groups: NLBTags of [Trimtab].
 *
 * As with a classic load balancer, what the annotation names is added or set, and nothing is taken
 * away: the owner of a tag that it no longer names is unknown.  Keys of the controller's own keep
 * their values.  A listener or target group that lacks the cluster's tag was made by hand and is
 * left alone.  Upstream sets tags at creation only.  Pure.  Source: docs/spec/aws.md 4.5, 12
 * row 4, 13 row 31. */
#include "providers/aws/plan/aws_nlb_internal_plan.h"

#include "common/base/str.h"

#define PER_CALL ((size_t)20)
#define WHY      "the annotation aws-load-balancer-additional-resource-tags names them"

/* The request: the same tags for all resources that lack any of them. */
struct tagging {
    struct aws_planning *p;
    const struct aws_nlb_want *want;
    const struct aws_nlb_slots *slots;
    const char **arns;
    size_t n_arns;
    bool *missing; /* of the annotation's tags */
};

static bool is_balancer(const struct tagging *t, const char *arn)
{
    const struct aws_nlb *nlb = t->p->seen->nlb;
    return nlb != NULL && str_eq(nlb->arn, arn);
}

static bool will_stay(const struct tagging *t, const char *arn)
{
    if (is_balancer(t, arn)) {
        return true;
    }
    for (size_t i = 0; i < t->slots->n; i++) {
        const struct aws_nlb_slot *slot = &t->slots->items[i];
        bool stays = slot->listener != NULL && slot->turn != AWS_NLB_ANEW;
        if ((stays && str_eq(slot->listener->arn, arn)) ||
            (slot->group != NULL && str_eq(slot->group->group->arn, arn))) {
            return true;
        }
    }
    return false;
}

static const char *wanted_value(const struct tagging *t, size_t i)
{
    return aws_tag(&t->want->tags, t->p->service->extra_tags.items[i].key);
}

static void look_at(struct tagging *t, const struct aws_arn_tags *has)
{
    const struct aws_tags *extra = &t->p->service->extra_tags;
    bool lacks = false;
    if (!will_stay(t, has->arn) || !aws_tags_are_owned(t->p->naming, &has->tags)) {
        return;
    }
    for (size_t i = 0; i < extra->n; i++) {
        if (!str_eq(aws_tag(&has->tags, extra->items[i].key), wanted_value(t, i))) {
            t->missing[i] = true;
            lacks = true;
        }
    }
    if (lacks) {
        t->arns[t->n_arns++] = has->arn;
    }
}

/* Of the balancer, when it lacks them, or of the first that does. */
static const struct aws_tags *shown_tags(const struct tagging *t)
{
    const struct aws_observed *seen = t->p->seen;
    const struct aws_tags *shown = NULL;
    for (size_t i = 0; i < seen->n_tags; i++) {
        for (size_t k = 0; k < t->n_arns; k++) {
            bool is = str_eq(seen->tags[i].arn, t->arns[k]);
            if (is && (shown == NULL || is_balancer(t, t->arns[k]))) {
                shown = &seen->tags[i].tags;
            }
        }
    }
    return shown;
}

static void draft_call(const struct tagging *t, size_t from)
{
    struct aws_planning *p = t->p;
    const struct aws_tags *extra = &p->service->extra_tags;
    size_t rest = t->n_arns - from;
    const struct aws_texts arns = {t->arns + from, rest < PER_CALL ? rest : PER_CALL};
    struct aws_tag *tags = ARENA_ARRAY(p->a, struct aws_tag, extra->n);
    struct aws_tags sent = {.items = tags};
    const struct aws_tags *shown = shown_tags(t);
    int d = aws_draft(p, AWS_PHASE_FILL, LB_CHANGE, "load balancer", t->want->name, WHY);
    struct lb_op *op = aws_draft_op(p, d);
    op->summary = arena_printf(p->a, "tags of %s", str_count(p->a, arns.n, "resource"));
    op->tolerate = LB_TOLERATE_FORBIDDEN;
    op->forbidden_reason = "TagsNotChanged";
    op->forbidden_event = arena_printf(p->a,
                                       "The tags of load balancer %s stay as they are: AWS refused "
                                       "elasticloadbalancing:AddTags. Allow it, or set no NLBTags.",
                                       t->want->name);
    for (size_t i = 0; i < extra->n; i++) {
        if (t->missing[i]) {
            const char *key = extra->items[i].key;
            tags[sent.n++] = (struct aws_tag){key, wanted_value(t, i)};
            aws_draft_field(p, d, arena_printf(p->a, "tags.%s", key), aws_tag(shown, key),
                            wanted_value(t, i));
        }
    }
    aws_draft_action(p, d, AWS_ELBV2, "AddTags");
    aws_draft_list(p, d, "ResourceArns.member.%zu", &arns);
    aws_draft_tags(p, d, "Tags.member", &sent);
}

bool aws_nlb_plan_tags(struct aws_planning *p, const struct aws_nlb_want *want,
                       const struct aws_nlb_slots *slots)
{
    struct tagging t = {.p = p, .want = want, .slots = slots};
    if (!p->naming->options.nlb_tags) {
        return false;
    }
    t.arns = ARENA_ARRAY(p->a, const char *, p->seen->n_tags + 1);
    t.missing = ARENA_ARRAY(p->a, bool, p->service->extra_tags.n + 1);
    for (size_t i = 0; i < p->seen->n_tags; i++) {
        look_at(&t, &p->seen->tags[i]);
    }
    for (size_t from = 0; from < t.n_arns; from += PER_CALL) {
        draft_call(&t, from);
    }
    return t.n_arns > 0;
}
