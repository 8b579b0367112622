/* SPDX-License-Identifier: Apache-2.0 */
/* aws_doc.c: documents: counted, immutable, of one arena and one array (aws_cloud_parts.h). */
#include "common/base/str.h"
#include "providers/aws/cloud/aws_cloud_parts.h"

#include <stdlib.h>
#include <string.h>

static struct aws_document *document_of(const struct aws_doc *d)
{
    return (struct aws_document *)(uintptr_t)d;
}

const struct aws_doc *aws_doc_ref(const struct aws_doc *d)
{
    if (d != NULL) {
        (void)atomic_fetch_add(&document_of(d)->refs, 1);
    }
    return d;
}

void aws_doc_unref(const struct aws_doc *d)
{
    struct aws_document *doc = document_of(d);
    if (doc == NULL || atomic_fetch_sub(&doc->refs, 1) > 1) {
        return;
    }
    aws_doc_unref(doc->of != NULL ? &doc->of->pub : NULL);
    arena_free(doc->a);
    free(doc->items);
    free(doc);
}

void aws_draft_doc_init(struct aws_doc_draft *d, int kind, const struct aws_naming *naming)
{
    *d = (struct aws_doc_draft){.kind = kind, .naming = naming};
    d->decode.a = arena_new();
    d->decode.naming = naming;
}

void aws_draft_doc_done(struct aws_doc_draft *d)
{
    arena_free(d->decode.a);
    free(d->items);
    d->decode.a = NULL;
    d->items = NULL;
}

static size_t bytes_of(const struct aws_doc_draft *d)
{
    return arena_used(d->decode.a) + d->joined;
}

static int check_size(const struct aws_doc_draft *d, size_t n, size_t bytes, struct err *err)
{
    return n > AWS_ITEMS_MAX || bytes > AWS_BYTES_MAX
               ? err_set(err, ERR_INVALID, "the list is longer than %u items or %zu bytes",
                         AWS_ITEMS_MAX, AWS_BYTES_MAX)
               : ERR_OK;
}

/* The place of one more item. */
static void *add_place(struct aws_doc_draft *d)
{
    size_t size = aws_questions[d->kind].size;
    if (d->n == d->cap) {
        d->cap = d->cap == 0 ? 4 : d->cap + d->cap / 2;
        d->items = xrealloc(d->items, d->cap * size);
    }
    return (char *)d->items + d->n * size;
}

int aws_draft_doc_add(struct aws_doc_draft *d, const struct aws_node *item, struct err *err)
{
    const struct aws_question *q = &aws_questions[d->kind];
    int rc = check_size(d, d->n + 1, bytes_of(d), err);
    if (rc != ERR_OK) {
        return rc;
    }
    void *at = memset(add_place(d), 0, q->size);
    if (!q->decode(&d->decode, item, at)) {
        return err_set(err, ERR_TRANSIENT, "an item of its list has no id");
    }
    d->n += aws_question_takes(d->kind, d->naming, at);
    return ERR_OK;
}

static void free_joined(void *arena)
{
    arena_free(arena);
}

int aws_draft_doc_join(struct aws_doc_draft *d, struct aws_doc_draft *from, struct err *err)
{
    size_t size = aws_questions[d->kind].size;
    int rc = check_size(d, d->n + from->n, bytes_of(d) + bytes_of(from), err);
    if (rc != ERR_OK) {
        return rc;
    }
    if (d->n == 0 && bytes_of(d) == 0) {
        aws_draft_doc_done(d);
        *d = *from;
        *from = (struct aws_doc_draft){0};
        return ERR_OK;
    }
    for (size_t i = 0; i < from->n; i++) {
        memcpy(add_place(d), (const char *)from->items + i * size, size);
        d->n++;
    }
    d->joined += bytes_of(from);
    arena_defer(d->decode.a, free_joined, STEAL(from->decode.a));
    return ERR_OK;
}

struct aws_document *aws_draft_doc_take(struct aws_doc_draft *d, const char *key, int64_t read_ms,
                                        uint64_t seq)
{
    const struct aws_question *q = &aws_questions[d->kind];
    struct aws_document *doc = xcalloc(1, sizeof(*doc));
    if (q->compare != NULL && d->n > 1) {
        qsort(d->items, d->n, q->size, q->compare);
    }
    if (d->n > 0) {
        d->items = xrealloc(d->items, d->n * q->size);
    }
    doc->pub = (struct aws_doc){.kind = (enum aws_doc_kind)d->kind,
                                .key = arena_strdup(d->decode.a, key),
                                .read_ms = read_ms,
                                .items = d->items,
                                .n = d->n};
    atomic_init(&doc->refs, 1);
    doc->bytes = bytes_of(d);
    doc->a = d->decode.a;
    doc->items = d->items;
    doc->seq = seq;
    d->decode.a = NULL;
    d->items = NULL;
    return doc;
}
