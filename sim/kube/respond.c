/* SPDX-License-Identifier: Apache-2.0 */
/* respond.c: the forms in which the API server answers: objects, Tables, metadata only, Status,
 * plain text.
 *
 * Objects are pasted from stored text.  Long answers go out in pieces (stream.c); those above 128
 * KiB are wrapped as gzip when the client asks for it, as the real server does (recorded answer
 * 064: small ones are not). */
#include "sim/kube/decode.h"
#include "sim/kube/gzip.h"
#include "sim/kube/kube.h"
#include "sim/kube/stream.h"
#include "sim/kube/table.h"

#include <string.h>

#define GZIP_FROM_BYTES   (128 * 1024)
#define STREAM_FROM_BYTES (1024 * 1024)

void kube_now(struct kube_state *st, char out[32])
{
    time_format_rfc3339(clock_wall_us(sim_clock(st->sim)), out);
}

/* --- Accept ----------------------------------------------------------------------------------- */
static bool takes_json(const char *media)
{
    return str_has_prefix(media, "application/json") || str_has_prefix(media, "*/*") ||
           str_has_prefix(media, "application/*");
}

enum kube_form kube_form_of(const char *accept)
{
    if (str_is_empty(accept)) {
        return KUBE_FORM_OBJECT;
    }
    enum kube_form form = KUBE_FORM_REFUSED;
    const char *p = accept;
    while (*p && form == KUBE_FORM_REFUSED) {
        p += strspn(p, " ,");
        size_t n = strcspn(p, ",");
        char media[256] = "";
        memcpy(media, p, n < sizeof(media) ? n : sizeof(media) - 1);
        p += n;
        if (!takes_json(media)) {
            continue;
        }
        if (strstr(media, "as=Table")) {
            form = strstr(media, "v=v1beta1") ? KUBE_FORM_REFUSED : KUBE_FORM_TABLE;
        } else if (strstr(media, "as=PartialObjectMetadata")) {
            form = KUBE_FORM_PARTIAL;
        } else if (!strstr(media, "as=")) {
            form = KUBE_FORM_OBJECT;
        }
    }
    return form;
}

/* --- sending ---------------------------------------------------------------------------------- */
static bool wants_gzip(const struct kube_request *r, size_t n)
{
    const char *accepted = http_req_header(r->call->req, "Accept-Encoding");
    return n > GZIP_FROM_BYTES && accepted && strstr(accepted, "gzip");
}

static bool is_for_people(const struct kube_request *r)
{
    const char *agent = str_nonnull(http_req_header(r->call->req, "User-Agent"));
    const char *pretty = sim_call_param(r->call, "pretty");
    if (pretty) {
        return !str_eq(pretty, "false") && !str_eq(pretty, "0");
    }
    return str_has_prefix(agent, "curl") || str_has_prefix(agent, "Wget") ||
           str_has_prefix(agent, "Mozilla/5.0");
}

void kube_answer_json(struct kube_request *r, int code, const char *text, size_t n)
{
    struct sim_call *call = r->call;
    struct json_object *tree = NULL;
    http_req_add_header(call->req, "Cache-Control", "no-cache, private");
    if (wants_gzip(r, n)) {
        _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
        kube_gzip_append(&b, text, n);
        http_req_add_header(call->req, "Content-Encoding", "gzip");
        http_req_add_header(call->req, "Vary", "Accept-Encoding");
        kube_stream_text(r, code, b.data, b.len);
    } else if (n > STREAM_FROM_BYTES) {
        kube_stream_text(r, code, text, n);
    } else if (is_for_people(r) && json_parse(text, n, NULL, &tree, NULL) == ERR_OK) {
        call->pretty = true;
        sim_answer(call, code, tree);
    } else {
        sim_answer_text(call, code, "application/json", text);
    }
}

void kube_answer_plain(struct kube_request *r, int code, const char *text)
{
    http_req_add_header(r->call->req, "Cache-Control", "no-cache, private");
    http_req_add_header(r->call->req, "X-Content-Type-Options", "nosniff");
    sim_answer_text(r->call, code, "text/plain; charset=utf-8", text);
}

void kube_answer_status(struct kube_request *r, struct json_object *status)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    int code = kube_status_code(status);
    int64_t retry = json_int(json_member(status, "details"), "retryAfterSeconds", 0);
    if (retry > 0) {
        http_req_add_header(r->call->req, "Retry-After",
                            arena_printf(r->arena, "%lld", (long long)retry));
    }
    if (code == 403) {
        http_req_add_header(r->call->req, "X-Content-Type-Options", "nosniff");
    }
    json_print(&b, status, JSON_COMPACT);
    str_append_c(&b, '\n');
    json_object_put(status);
    kube_answer_json(r, code, str_buf_text(&b), b.len);
}

/* --- objects ---------------------------------------------------------------------------------- */
static void append_head(struct str_buf *b, const struct kube_kind *kind)
{
    str_appendf(b, "{\"kind\":\"%s\",\"apiVersion\":\"%s%s%s\"", kind->kind, kind->group,
                *kind->group ? "/" : "", kind->version);
}

struct json_object *kube_served_tree(const struct kube_kind *kind, struct json_object *stored)
{
    return kind->as_served ? kind->as_served(stored) : json_object_get(stored);
}

/* The stored text, or its translation, without the opening brace. */
static void append_rest(struct str_buf *b, const struct kube_kind *kind, const struct kube_obj *o)
{
    if (!kind->as_served) {
        str_append_n(b, o->text + 1, o->len - 1);
        return;
    }
    struct json_object *stored = kube_obj_tree(o);
    struct json_object *served = kind->as_served(stored);
    _cleanup_(str_buf_done) struct str_buf text = STR_BUF_INIT;
    kube_db_print(&text, served);
    str_append_n(b, text.data + 1, text.len - 1);
    json_object_put(served);
    json_object_put(stored);
}

void kube_append_obj(struct str_buf *b, const struct kube_kind *kind, const struct kube_obj *o)
{
    append_head(b, kind);
    str_append_c(b, ',');
    append_rest(b, kind, o);
}

void kube_append_item(struct str_buf *b, const struct kube_kind *kind, const struct kube_obj *o)
{
    str_append_c(b, '{');
    append_rest(b, kind, o);
}

struct json_object *kube_empty_object(const struct kube_kind *kind, struct arena *a)
{
    struct kube_decode d = {.arena = a};
    struct json_object *nothing = json_object_new_object();
    struct json_object *o = kube_decode(&d, kind->type, nothing);
    json_object_put(nothing);
    json_object_object_del(o, "metadata");
    return o;
}

void kube_append_partial(struct str_buf *b, const struct kube_obj *o)
{
    struct json_object *meta = kube_obj_meta(o);
    str_append(
        b, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":");
    json_print(b, meta, JSON_COMPACT);
    str_append_c(b, '}');
    json_object_put(meta);
}

void kube_answer_obj(struct kube_request *r, int code, const struct kube_obj *o)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    if (r->form == KUBE_FORM_TABLE) {
        kube_table_append_one(&b, r, o, true);
    } else if (r->form == KUBE_FORM_PARTIAL) {
        kube_append_partial(&b, o);
    } else {
        kube_append_obj(&b, r->kind, o);
    }
    str_append_c(&b, '\n');
    kube_answer_json(r, code, str_buf_text(&b), b.len);
}

void kube_answer_tree(struct kube_request *r, int code, struct json_object *stored)
{
    _cleanup_(str_buf_done) struct str_buf text = STR_BUF_INIT;
    kube_db_print(&text, stored);
    struct kube_obj view = {.refs = 1,
                            .key = arena_strdup(r->arena, str_nonnull(r->name)),
                            .text = text.data,
                            .len = text.len};
    kube_answer_obj(r, code, &view);
}
