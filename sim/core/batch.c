/* SPDX-License-Identifier: Apache-2.0 */
/* batch.c: several Compute calls in one multipart/mixed request, as gcloud sends them.
 *
 * Each part holds a whole HTTP request; each becomes a call of its own that is named, counted,
 * logged and meets faults like any other, and the answers travel back together.  Calls of one batch
 * may be answered at different times; the outer request waits for the last.
 * Source: https://cloud.google.com/compute/docs/api/how-tos/batch, as seen from gcloud 528. */
#include "sim/core/frame.h"

#include <stdlib.h>
#include <string.h>

#define PARTS_MAX 1000

struct batch;

struct reply {
    struct batch *batch;
    struct sim_call *call;
    const char *content_id; /* of the request part, without angle brackets; "" when it had none */
    int status;             /* 0: not answered yet */
    char *text;
};

struct batch {
    struct sim_call *outer;
    struct reply *replies;
    size_t n;
    size_t open; /* not answered yet, plus one while parts are being dispatched */
};

static void finish(struct batch *b);

bool sim_batch_claims(const char *path)
{
    return str_has_prefix(path, "/batch/compute/");
}

/* The boundary of a multipart Content-Type, or NULL. */
static const char *boundary_of(struct arena *a, const char *type)
{
    if (!type || !str_has_prefix(type, "multipart/mixed")) {
        return NULL;
    }
    const char *at = strstr(type, "boundary=");
    if (!at) {
        return NULL;
    }
    at += strlen("boundary=");
    size_t n = *at == '"' ? strcspn(++at, "\"") : strcspn(at, "; \t");
    return n > 0 ? arena_strndup(a, at, n) : NULL;
}

/* The end of the header block that begins at `text`: *ret_body is what follows the empty line. */
static bool split_head(struct arena *a, const char *text, size_t n, char **ret_head,
                       const char **ret_body)
{
    const char *crlf = memmem(text, n, "\r\n\r\n", 4);
    const char *lf = memmem(text, n, "\n\n", 2);
    const char *end = !crlf ? lf : !lf || crlf < lf ? crlf : lf;
    if (!end) {
        return false;
    }
    *ret_head = arena_strndup(a, text, (size_t)(end - text));
    *ret_body = end + (end == crlf ? 4 : 2);
    return true;
}

static const char *header_of(struct arena *a, const char *head, const char *name)
{
    size_t n_lines = 0;
    char **lines = str_split(a, head, '\n', &n_lines);
    for (size_t i = 0; i < n_lines; i++) {
        char *colon = strchr(lines[i], ':');
        if (!colon) {
            continue;
        }
        *colon = '\0';
        if (str_eq_nocase(str_trim(a, lines[i]), name)) {
            return str_trim(a, colon + 1);
        }
    }
    return NULL;
}

/* "<id>" without its brackets. */
static const char *strip_id(struct arena *a, const char *id)
{
    size_t n = id ? strlen(id) : 0;
    return n > 2 && id[0] == '<' && id[n - 1] == '>' ? arena_strndup(a, id + 1, n - 2)
                                                     : str_nonnull(id);
}

/* Makes the inner call of one part; false when the part holds no HTTP request. */
static bool read_part(struct batch *b, struct reply *r, const char *part, size_t n)
{
    struct arena *a = b->outer->arena;
    char *mime_head, *http_head;
    const char *http, *body;
    if (!split_head(a, part, n, &mime_head, &http)) {
        return false;
    }
    size_t http_len = n - (size_t)(http - part);
    if (!split_head(a, http, http_len, &http_head, &body)) {
        return false;
    }
    size_t n_words = 0;
    char *line = arena_strndup(a, http_head, strcspn(http_head, "\r\n"));
    char **words = str_split(a, line, ' ', &n_words);
    if (n_words < 2 || words[1][0] != '/') {
        return false;
    }
    struct sim_call *call = ARENA_NEW(a, struct sim_call);
    call->sim = b->outer->sim;
    call->req = b->outer->req;
    call->arena = a;
    call->batch = b;
    call->batch_reply = r;
    call->body_len = http_len - (size_t)(body - http);
    while (call->body_len > 0 && strchr("\r\n", body[call->body_len - 1])) {
        call->body_len--; /* the line end before the boundary */
    }
    call->body = arena_strndup(a, body, call->body_len);
    r->batch = b;
    r->call = call;
    r->content_id = strip_id(a, header_of(a, mime_head, "Content-ID"));
    return sim_frame_set_target(call, words[0], words[1]) && call->module != NULL;
}

static bool read_parts(struct batch *b, const char *boundary)
{
    struct arena *a = b->outer->arena;
    const char *mark = arena_printf(a, "--%s", boundary);
    size_t mark_len = strlen(mark);
    const char *text = b->outer->body, *end = text + b->outer->body_len;
    b->replies = ARENA_ARRAY(a, struct reply, PARTS_MAX);
    const char *at = memmem(text, (size_t)(end - text), mark, mark_len);
    while (at) {
        at += mark_len;
        if (end - at >= 2 && memcmp(at, "--", 2) == 0) {
            return b->n > 0;
        }
        at += strspn(at, " \t\r");
        at += *at == '\n';
        const char *next = memmem(at, (size_t)(end - at), mark, mark_len);
        if (!next || b->n == PARTS_MAX ||
            !read_part(b, &b->replies[b->n], at, (size_t)(next - at))) {
            return false;
        }
        b->n++;
        at = next;
    }
    return false;
}

static void outer_gone(struct sim_call *outer)
{
    struct batch *b = outer->private_data;
    for (size_t i = 0; i < b->n; i++) {
        if (b->replies[i].status == 0) {
            sim_frame_call_gone(b->replies[i].call);
        }
    }
}

void sim_batch_handle(struct sim_call *outer)
{
    const char *boundary = boundary_of(outer->arena, http_req_header(outer->req, "Content-Type"));
    struct batch *b = ARENA_NEW(outer->arena, struct batch);
    b->outer = outer;
    outer->private_data = b;
    if (!boundary || !read_parts(b, boundary)) {
        sim_frame_answer_error(outer, 400, "badRequest", "Failed to parse the batch request");
        return;
    }
    outer->gone = outer_gone;
    b->open = b->n + 1;
    for (size_t i = 0; i < b->n; i++) {
        sim_frame_dispatch(b->replies[i].call);
    }
    if (--b->open == 0) {
        finish(b);
    }
}

void sim_batch_take_answer(struct sim_call *call, int status, const char *text)
{
    struct reply *r = call->batch_reply;
    struct batch *b = r->batch;
    r->status = status;
    r->text = arena_strdup(call->arena, text);
    if (--b->open == 0) {
        finish(b);
    }
}

static void finish(struct batch *b)
{
    static const char mark[] = "batch_trimtab_sim";
    struct str_buf out = STR_BUF_INIT;
    for (size_t i = 0; i < b->n; i++) {
        const struct reply *r = &b->replies[i];
        str_appendf(&out, "--%s\r\nContent-Type: application/http\r\n", mark);
        if (r->content_id[0]) {
            str_appendf(&out, "Content-ID: <response-%s>\r\n", r->content_id);
        }
        str_appendf(&out,
                    "\r\nHTTP/1.1 %d %s\r\nContent-Type: application/json; charset=UTF-8\r\n"
                    "Content-Length: %zu\r\n\r\n%s\r\n",
                    r->status, r->status < 400 ? "OK" : "Error", strlen(r->text), r->text);
    }
    str_appendf(&out, "--%s--\r\n", mark);
    struct http_req *req = b->outer->req;
    http_req_add_header(req, "Content-Type",
                        arena_printf(b->outer->arena, "multipart/mixed; boundary=%s", mark));
    /* The request, and with it everything of this batch, is gone after the answer. */
    char *text = arena_strdup(b->outer->arena, str_buf_text(&out));
    size_t n = out.len;
    str_buf_done(&out);
    http_req_answer(req, 200, text, n);
}
