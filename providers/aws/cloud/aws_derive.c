/* SPDX-License-Identifier: Apache-2.0 */
/* aws_derive.c: answers about one thing, or several, from a list that has all of them
 * (aws_cloud_parts.h).
 *
 * The new document shares the list's texts and holds a reference to it. */
#include "common/base/str.h"
#include "common/base/strset.h"
#include "providers/aws/cloud/aws_cloud_parts.h"

#include <stdlib.h>
#include <string.h>

static bool has_text(const struct aws_texts *texts, const char *text)
{
    for (size_t i = 0; i < texts->n; i++) {
        if (str_eq(texts->items[i], text)) {
            return true;
        }
    }
    return false;
}

static bool refers_to(const struct aws_group *g, const char *id)
{
    for (size_t i = 0; i < g->rules.n; i++) {
        if (g->rules.items[i].peer == AWS_PEER_GROUP && str_eq(g->rules.items[i].source, id)) {
            return true;
        }
    }
    return false;
}

/* Is the item one of those that the key asks for? */
static bool is_asked(int kind, const struct str_set *keys, const char *key, const void *item)
{
    switch (kind) {
    case AWS_DOC_CLASSIC:
        return str_eq(((const struct aws_classic *)item)->name, key);
    case AWS_DOC_NLB:
        return str_eq(((const struct aws_nlb *)item)->name, key);
    case AWS_DOC_TARGET_GROUPS_OF:
        return has_text(&((const struct aws_target_group *)item)->balancers, key);
    case AWS_DOC_TARGET_GROUPS_NAMED:
        return str_set_has(keys, ((const struct aws_target_group *)item)->name);
    case AWS_DOC_GROUPS_REFERRING:
        return refers_to(item, key);
    case AWS_DOC_TARGET_GROUPS_BY:
    case AWS_DOC_GROUPS:
    case AWS_DOC_TAGS:
    case AWS_DOC_CLASSIC_TAGS:
        return str_set_has(keys, *(const char *const *)item); /* the first member is its id */
    default:
        return false;
    }
}

struct aws_document *aws_derive(struct aws_document *list, int kind, const char *key, bool whole)
{
    const struct aws_question *q = &aws_questions[kind];
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *const *parts;
    size_t n_parts = aws_question_keys(a, kind, key, &parts);
    struct str_set keys = str_set_make(a, parts, n_parts);
    struct aws_document *doc = xcalloc(1, sizeof(*doc));
    char *items = NULL;
    size_t n = 0;
    size_t cap = 0;
    for (size_t i = 0; i < list->pub.n; i++) {
        const char *item = (const char *)list->pub.items + i * q->size;
        if (is_asked(kind, &keys, key, item)) {
            if (n == cap) {
                cap = cap == 0 ? 2 : cap * 2;
                items = xrealloc(items, cap * q->size);
            }
            memcpy(items + n++ * q->size, item, q->size);
        }
    }
    if (!whole && n < keys.n) {
        free(items);
        free(doc);
        return NULL;
    }
    if (q->compare != NULL && n > 1) {
        qsort(items, n, q->size, q->compare);
    }
    doc->a = arena_new();
    doc->pub = (struct aws_doc){(enum aws_doc_kind)kind, arena_strdup(doc->a, key),
                                list->pub.read_ms, items, n};
    atomic_init(&doc->refs, 1);
    doc->items = items;
    doc->seq = list->seq;
    doc->of = list;
    (void)aws_doc_ref(&list->pub);
    return doc;
}
