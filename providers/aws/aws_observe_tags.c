/* SPDX-License-Identifier: Apache-2.0 */
/* aws_observe_tags.c: the tags of an NLB, its listeners and its target groups, for NLBTags of
 * [Trimtab].
 *
 * One DescribeTags for up to twenty of them, and only for a Service that names tags; without
 * NLBTags of the NLB alone, and only in a sync of an edit.  Without
 * the right to read them they are not compared: it is not among those that upstream asks for
 * (docs/spec/aws.md 13 row 31). */
#include "common/base/str.h"
#include "providers/aws/aws_sync.h"

#define TAGS_PER_CALL ((size_t)20)

static bool compares_tags(const struct aws_sync *y, const struct aws_item *it)
{
    bool some = it->seen.nlb != NULL || it->seen.n_groups > 0;
    return some && it->want && it->service->kind == AWS_NLB && y->p->naming.options.nlb_tags &&
           it->service->extra_tags.n > 0 && !aws_item_is_about_nodes(it);
}

/* Without NLBTags an NLB keeps the tags that it was made with, and an edit of the annotation has no
 * effect: its owner should hear of it. */
static bool asks_for_effect(const struct aws_sync *y, const struct aws_item *it)
{
    return it->seen.nlb != NULL && it->want && it->service->kind == AWS_NLB &&
           it->service->extra_tags.n > 0 && !aws_item_is_about_nodes(it) &&
           (it->item->in->reasons & TT_REASON_SPEC) != 0 && !aws_sync_asks_lists(y, it);
}

/* Of the balancer alone.  Without the right to read them nothing is said. */
static int look_for_effect(struct aws_sync *y, struct aws_item *it, struct err *err)
{
    struct aws_need need = {
        .kind = AWS_DOC_TAGS, .key = it->seen.nlb->arn, .not_older_ms = aws_sync_not_older(y)};
    int rc = aws_sync_read_all(y, &need, 1, err);
    if (rc == ERR_FORBIDDEN) {
        err_clear(err);
        return ERR_OK;
    }
    if (rc == ERR_OK) {
        it->seen.tags = need.doc->items;
        it->seen.n_tags = need.doc->n;
    }
    return rc;
}

/* Sorted, so that the same question has the same key. */
static struct str_set all_arns(struct aws_sync *y, const struct aws_item *it)
{
    const struct aws_observed *seen = &it->seen;
    const char **arns = ARENA_ARRAY(y->s->a, const char *, seen->n_listeners + seen->n_groups + 1);
    size_t n = 0;
    if (seen->nlb != NULL) {
        arns[n++] = seen->nlb->arn;
    }
    for (size_t i = 0; i < seen->n_listeners; i++) {
        arns[n++] = seen->listeners[i].arn;
    }
    for (size_t i = 0; i < seen->n_groups; i++) {
        arns[n++] = seen->groups[i].group->arn;
    }
    return str_set_make(y->s->a, arns, n);
}

static struct aws_need need_tags(const struct aws_sync *y, const struct str_set *arns, size_t from)
{
    size_t rest = arns->n - from;
    const struct str_set some = {.items = arns->items + from,
                                 .n = rest < TAGS_PER_CALL ? rest : TAGS_PER_CALL};
    return (struct aws_need){.kind = AWS_DOC_TAGS,
                             .key = str_set_text(y->s->a, &some, ","),
                             .not_older_ms = aws_sync_not_older(y)};
}

int aws_observe_tags(struct aws_sync *y, struct aws_item *it, struct err *err)
{
    if (!compares_tags(y, it)) {
        return asks_for_effect(y, it) ? look_for_effect(y, it, err) : ERR_OK;
    }
    struct str_set arns = all_arns(y, it);
    size_t n_needs = (arns.n + TAGS_PER_CALL - 1) / TAGS_PER_CALL;
    struct aws_need *needs = ARENA_ARRAY(y->s->a, struct aws_need, n_needs);
    for (size_t i = 0; i < n_needs; i++) {
        needs[i] = need_tags(y, &arns, i * TAGS_PER_CALL);
    }
    int rc = aws_sync_read_all(y, needs, n_needs, err);
    if (rc == ERR_FORBIDDEN) {
        err_clear(err);
        y->scope->lacks_rights = true;
        return ERR_OK;
    }
    struct aws_arn_tags *all = ARENA_ARRAY(y->s->a, struct aws_arn_tags, arns.n + 1);
    size_t n = 0;
    for (size_t i = 0; rc == ERR_OK && i < n_needs; i++) {
        const struct aws_arn_tags *items = needs[i].doc->items;
        for (size_t k = 0; k < needs[i].doc->n && n < arns.n; k++) {
            all[n++] = items[k];
        }
    }
    it->seen.tags = all;
    it->seen.n_tags = n;
    return rc;
}
