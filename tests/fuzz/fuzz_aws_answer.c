/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_aws_answer.c: answers of AWS, taken apart item by item; refusals; saved states.
 *
 * The first byte chooses the kind of document, or a saved state.  What holds for every input: items
 * that are handed over as the answer arrives, in pieces, are those of the whole tree; a document
 * has no more of them, each with its id, in its order; a refusal has a code and a text. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "common/base/str.h"
#include "providers/aws/api/aws_errors.h"
#include "providers/aws/cloud/aws_cloud_parts.h"
#include "tests/support/clock_fake.h"

static const struct aws_naming naming = {.cluster_id = "c1", .vpc = "vpc-1"};

struct handed {
    struct aws_doc_draft draft;
    struct str_buf names; /* of the items, and their texts */
    size_t n;             /* with an id */
};

static void print(struct str_buf *b, const struct aws_node *n)
{
    str_appendf(b, "%s=%s;", n->name, n->text);
    for (const struct aws_node *c = n->children; c != NULL; c = c->next) {
        print(b, c);
    }
}

static int take(void *arg, const struct aws_node *item, struct err *err)
{
    struct handed *h = arg;
    int rc = aws_draft_doc_add(&h->draft, item, err);
    FUZZ_CHECK(rc == ERR_OK || rc == ERR_TRANSIENT);
    h->n += rc == ERR_OK;
    print(&h->names, item);
    err_clear(err);
    return ERR_OK;
}

/* The same from the whole tree: all elements at the path, wherever lists repeat on the way. */
static void walk(struct str_buf *b, const struct aws_node *n, const char *path)
{
    size_t len = strcspn(path, "/");
    for (const struct aws_node *c = n->children; c != NULL; c = c->next) {
        if (strlen(c->name) != len || strncmp(c->name, path, len) != 0) {
            continue;
        }
        if (path[len] == '\0') {
            print(b, c);
        } else {
            walk(b, c, path + len + 1);
        }
    }
}

static void check_document(struct handed *h, int kind)
{
    const struct aws_question *q = &aws_questions[kind];
    struct aws_document *doc = aws_draft_doc_take(&h->draft, "key", 0, 1);
    FUZZ_CHECK(doc->pub.n <= h->n);
    for (size_t i = 0; i < doc->pub.n; i++) {
        const char *item = (const char *)doc->pub.items + i * q->size;
        FUZZ_CHECK(kind == AWS_DOC_CLASSIC_ATTRIBUTES || **(const char *const *)item != '\0');
        FUZZ_CHECK(i == 0 || q->compare == NULL || q->compare(item - q->size, item) <= 0);
    }
    aws_doc_unref(&doc->pub);
}

static int stream(struct arena *a, const char *text, size_t n, const char *path, struct handed *h,
                  const struct aws_node **ret)
{
    struct err err = ERR_INIT;
    struct aws_xml_stream *s = aws_xml_stream_new(a, path, take, h);
    size_t piece = n > 0 ? (unsigned char)text[0] + 1u : 1;
    for (size_t at = 0; at < n; at += piece) {
        aws_xml_stream_feed(s, text + at, n - at < piece ? n - at : piece);
    }
    int rc = aws_xml_stream_end(s, ret, &err);
    aws_xml_stream_free(s);
    return rc;
}

static void check_answer(struct arena *a, int kind, const char *text, size_t n)
{
    const struct aws_question *q = &aws_questions[kind];
    struct handed h = {0};
    struct err err = ERR_INIT;
    const struct aws_node *root = NULL;
    const struct aws_node *rest = NULL;
    struct str_buf whole = STR_BUF_INIT;
    const char *path =
        q->api == AWS_EC2 ? q->items : arena_printf(a, "%sResult/%s", q->action, q->items);
    int rc = aws_xml_parse(a, text, n, &root, &err);
    aws_draft_doc_init(&h.draft, kind, &naming);
    FUZZ_CHECK(stream(a, text, n, path, &h, &rest) == rc);
    if (rc == ERR_OK) {
        walk(&whole, root, path);
        FUZZ_CHECK(str_eq(str_buf_text(&whole), str_buf_text(&h.names)));
        FUZZ_CHECK(str_eq(rest->name, root->name));
        check_document(&h, kind);
        FUZZ_CHECK(aws_error_of_answer(q->api, q->action, 400, root, &err) != ERR_OK);
        FUZZ_CHECK(err.code != ERR_OK && err.message[0] != '\0');
    } else {
        FUZZ_CHECK(err.code == rc);
    }
    aws_draft_doc_done(&h.draft);
    str_buf_done(&h.names);
    str_buf_done(&whole);
}

static void check_state(const char *text, size_t n)
{
    struct clock *clock = clock_fake_new(1000, 0);
    const struct aws_cloud_config cfg = {.clock = clock, .naming = &naming};
    struct aws_cloud *c = aws_cloud_new(&cfg);
    struct err err = ERR_INIT;
    unsigned reads = 0;
    struct aws_need need = {.kind = AWS_DOC_NLB, .key = "a1"};
    FUZZ_CHECK(aws_cloud_load(c, text, n, &err) == err.code);
    err_clear(&err);
    FUZZ_CHECK(aws_cloud_read(c, NULL, NULL, &need, 1, &reads, &err) == ERR_OK);
    FUZZ_CHECK(reads == 0 && need.doc != NULL);
    aws_doc_unref(need.doc);
    aws_cloud_free(c);
    clock_fake_free(clock);
}

FUZZ_TARGET(aws_answer, const uint8_t *data, size_t size)
{
    if (size < 1 || size > 1 << 16) {
        return 0;
    }
    const char *text = (const char *)data + 1;
    int kind = data[0] % (AWS_DOC_TAGGED_INSTANCES + 1);
    struct arena *a = arena_new();
    if (data[0] == 's') {
        check_state(text, size - 1);
    } else {
        check_answer(a, kind, text, size - 1);
    }
    arena_free(a);
    return 0;
}
