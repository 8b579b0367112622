/* SPDX-License-Identifier: Apache-2.0 */
/* http_server_parse.c: cutting HTTP/1.1 requests out of the bytes of a connection (RFC 9112).
 *
 * Owns the grammar: request line, headers, bodies by length or in chunks, and the caps on all of
 * them. Strict where leniency has led to request smuggling: no blanks before the colon, no folded
 * lines, no two lengths, hosts or codings, no length beside chunks, nothing but an extension behind
 * a chunk's size, no bare CR, LF or NUL.
 * Must not write to the connection or call handlers: it says what it found and http_server.c
 * acts. */
#include <ctype.h>
#include <limits.h>
#include <string.h>

#include "common/net/http_server_internal.h"

#define MAX_REQUEST_HEADERS 256
#define MAX_CHUNK_LINE      256

static enum parse_result parse_head_line(struct conn *c, char *line, size_t n, int *ret_status);
static enum parse_result head_complete(struct conn *c, int *ret_status);
static enum parse_result parse_body(struct conn *c, struct evbuffer *in, int *ret_status);
static enum parse_result parse_chunks(struct conn *c, struct evbuffer *in, int *ret_status);

static enum parse_result refuse(int status, int *ret_status)
{
    *ret_status = status;
    return PARSE_REFUSE;
}

/* Takes the CR from the end of a line of *n bytes.  Returns false if there is none, or another one
 * or a NUL before it. */
static bool cut_cr(char *line, size_t *n)
{
    if (*n == 0 || line[*n - 1] != '\r') {
        return false;
    }
    line[--*n] = '\0';
    return strcspn(line, "\r") == *n;
}

/* One line without its CRLF, or NULL: with *ret_status when it is too long or holds another byte
 * that some servers take for an end (a lone LF, which RFC 9112 §2.2 allows to refuse, a CR, a NUL),
 * else because it is not whole yet.  Freed by the caller. */
static char *read_line(struct conn *c, struct evbuffer *in, size_t *ret_n, int *ret_status)
{
    size_t most = c->server->cfg.max_headers - c->head_bytes;
    char *line = NULL;
    struct evbuffer_ptr end = evbuffer_search_eol(in, NULL, NULL, EVBUFFER_EOL_LF);
    size_t have = end.pos < 0 ? evbuffer_get_length(in) : (size_t)end.pos;
    if (have >= most) {
        *ret_status = 431;
    } else if (end.pos >= 0) {
        line = evbuffer_readln(in, ret_n, EVBUFFER_EOL_LF);
        c->head_bytes += have + 1;
    }
    if (line != NULL && !cut_cr(line, ret_n)) {
        *ret_status = 400;
        free(STEAL(line));
    }
    return line;
}

static struct http_req *req_new(struct conn *c)
{
    struct http_req *r = xcalloc(1, sizeof(*r));
    r->conn = c;
    r->arena = arena_new();
    return r;
}

enum parse_result conn_parse(struct conn *c, struct evbuffer *in, int *ret_status)
{
    enum parse_result result = PARSE_MORE;
    while (c->state == CONN_READING_HEAD && result == PARSE_MORE) {
        size_t n = 0;
        int status = 0;
        char *line = read_line(c, in, &n, &status);
        if (line == NULL) {
            return status != 0 ? refuse(status, ret_status) : PARSE_MORE;
        }
        result = parse_head_line(c, line, n, ret_status);
        free(line);
    }
    if (result == PARSE_MORE && c->state == CONN_READING_BODY) {
        result = parse_body(c, in, ret_status);
    }
    return result;
}

/* --- request line and headers ---------------------------------------------------------------- */

static bool is_token(const char *s)
{
    if (*s == '\0') {
        return false;
    }
    for (; *s != '\0'; s++) {
        if (!isalnum((unsigned char)*s) && strchr("!#$%&'*+-.^_`|~", *s) == NULL) {
            return false;
        }
    }
    return true;
}

static bool has_control(const char *s)
{
    for (; *s != '\0'; s++) {
        if (((unsigned char)*s < ' ' && *s != '\t') || *s == 0x7f) {
            return true;
        }
    }
    return false;
}

static enum parse_result parse_request_line(struct conn *c, char *line, int *ret_status)
{
    struct http_req *r = c->req;
    char *target = strchr(line, ' ');
    char *version = target == NULL ? NULL : strchr(target + 1, ' ');
    if (version == NULL) {
        return refuse(400, ret_status);
    }
    *target++ = '\0';
    *version++ = '\0';
    bool known = str_eq(version, "HTTP/1.1") || str_eq(version, "HTTP/1.0");
    if (!known && str_has_prefix(version, "HTTP/")) {
        return refuse(505, ret_status);
    }
    if (!known || !is_token(line) || *target == '\0' || has_control(target)) {
        return refuse(400, ret_status);
    }
    r->http10 = str_eq(version, "HTTP/1.0");
    r->method = arena_strdup(r->arena, line);
    r->target = arena_strdup(r->arena, target);
    size_t path_len = strcspn(target, "?");
    r->path = arena_strndup(r->arena, target, path_len);
    r->query = target[path_len] == '?' ? r->target + path_len + 1 : NULL;
    return PARSE_MORE;
}

static enum parse_result parse_header(struct http_req *r, char *line, int *ret_status)
{
    char *colon = strchr(line, ':');
    if (colon == NULL) {
        return refuse(400, ret_status);
    }
    *colon = '\0';
    if (!is_token(line) || has_control(colon + 1)) {
        return refuse(400, ret_status);
    }
    if (r->n_headers == MAX_REQUEST_HEADERS) {
        return refuse(431, ret_status);
    }
    if (r->n_headers == r->cap_headers) {
        size_t cap = r->cap_headers == 0 ? 16 : r->cap_headers * 2;
        struct http_header *grown = ARENA_ARRAY(r->arena, struct http_header, cap);
        if (r->n_headers > 0) {
            memcpy(grown, r->headers, r->n_headers * sizeof(*grown));
        }
        r->headers = grown;
        r->cap_headers = cap;
    }
    r->headers[r->n_headers++] = (struct http_header){
        .name = arena_strdup(r->arena, line),
        .value = str_trim(r->arena, colon + 1),
    };
    return PARSE_MORE;
}

static enum parse_result parse_head_line(struct conn *c, char *line, size_t n, int *ret_status)
{
    if (c->req == NULL) {
        if (n == 0) {
            return PARSE_MORE; /* blank lines before a request: RFC 9112 §2.2 */
        }
        c->req = req_new(c);
        return parse_request_line(c, line, ret_status);
    }
    return n == 0 ? head_complete(c, ret_status) : parse_header(c->req, line, ret_status);
}

/* --- what kind of body ----------------------------------------------------------------------- */

/* 0: none, 1: *ret_n bytes, -1: contradiction or nonsense. */
static int content_length(const struct http_req *r, size_t *ret_n)
{
    int found = 0;
    for (size_t i = 0; i < r->n_headers; i++) {
        if (!str_eq_nocase(r->headers[i].name, "Content-Length")) {
            continue;
        }
        uint64_t n;
        if (!str_to_u64(r->headers[i].value, &n) || n > SIZE_MAX || (found && n != *ret_n)) {
            return -1;
        }
        *ret_n = (size_t)n;
        found = 1;
    }
    return found;
}

static size_t count_headers(const struct http_req *r, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_headers; i++) {
        n += str_eq_nocase(r->headers[i].name, name);
    }
    return n;
}

static bool connection_has(const struct http_req *r, const char *word)
{
    const char *value = http_req_header(r, "Connection");
    size_t n;
    char **words = str_split(r->arena, str_nonnull(value), ',', &n);
    for (size_t i = 0; i < n; i++) {
        if (str_eq_nocase(str_trim(r->arena, words[i]), word)) {
            return true;
        }
    }
    return false;
}

static enum parse_result head_complete(struct conn *c, int *ret_status)
{
    struct http_req *r = c->req;
    const char *coding = http_req_header(r, "Transfer-Encoding");
    size_t n_hosts = count_headers(r, "Host");
    size_t length = 0;
    int has_length = content_length(r, &length);
    if (has_length < 0 || (coding != NULL && (has_length || r->http10)) ||
        count_headers(r, "Transfer-Encoding") > 1 || n_hosts > 1 || (n_hosts == 0 && !r->http10)) {
        return refuse(400, ret_status);
    }
    if (coding != NULL && !str_eq_nocase(coding, "chunked")) {
        return refuse(501, ret_status);
    }
    if (length > c->server->cfg.max_body) {
        return refuse(413, ret_status);
    }
    c->keep_alive = r->http10 ? connection_has(r, "keep-alive") : !connection_has(r, "close");
    c->chunk = coding == NULL ? CHUNK_NONE : CHUNK_SIZE;
    c->want = length;
    c->state = CONN_READING_BODY;
    bool has_body = length > 0 || coding != NULL;
    return has_body && str_eq_nocase(http_req_header(r, "Expect"), "100-continue") ? PARSE_CONTINUE
                                                                                   : PARSE_MORE;
}

/* --- bodies ---------------------------------------------------------------------------------- */

/* Moves up to c->want bytes from the connection to the body. */
static void take_body(struct conn *c, struct evbuffer *in)
{
    while (c->want > 0 && evbuffer_get_length(in) > 0) {
        char buf[16384];
        size_t most = c->want < sizeof(buf) ? c->want : sizeof(buf);
        int n = evbuffer_remove(in, buf, most);
        if (n <= 0) {
            return;
        }
        str_append_n(&c->req->body, buf, (size_t)n);
        c->want -= (size_t)n;
    }
}

static enum parse_result parse_body(struct conn *c, struct evbuffer *in, int *ret_status)
{
    if (c->chunk != CHUNK_NONE) {
        return parse_chunks(c, in, ret_status);
    }
    take_body(c, in);
    return c->want == 0 ? PARSE_REQUEST : PARSE_MORE;
}

/* Hexadecimal size, perhaps with extensions after ';', which are ignored. */
static bool parse_chunk_size(const char *line, size_t *ret)
{
    size_t v = 0;
    int digits = 0;
    for (; isxdigit((unsigned char)*line); line++, digits++) {
        int d = isdigit((unsigned char)*line) ? *line - '0' : (*line | 0x20) - 'a' + 10;
        v = v * 16 + (size_t)d;
    }
    *ret = v;
    line += strspn(line, " \t");
    return digits > 0 && digits <= 8 && (*line == '\0' || *line == ';') && !has_control(line);
}

/* One line of the chunk grammar: a size, the end of a chunk's data, or a trailer. */
static enum parse_result parse_chunk_line(struct conn *c, const char *line, size_t n,
                                          int *ret_status)
{
    switch (c->chunk) {
    case CHUNK_SIZE:
        if (n > MAX_CHUNK_LINE || !parse_chunk_size(line, &c->want)) {
            return refuse(400, ret_status);
        }
        if (c->want > c->server->cfg.max_body - c->req->body.len) {
            return refuse(413, ret_status);
        }
        c->head_bytes = 0; /* size lines do not add up to a header */
        c->chunk = c->want == 0 ? CHUNK_TRAILER : CHUNK_DATA;
        return PARSE_MORE;
    case CHUNK_DATA_END:
        c->chunk = CHUNK_SIZE;
        return n == 0 ? PARSE_MORE : refuse(400, ret_status);
    default:
        return n == 0 ? PARSE_REQUEST : PARSE_MORE; /* trailers are read and forgotten */
    }
}

static enum parse_result parse_chunks(struct conn *c, struct evbuffer *in, int *ret_status)
{
    enum parse_result result = PARSE_MORE;
    while (result == PARSE_MORE) {
        if (c->chunk == CHUNK_DATA) {
            take_body(c, in);
            if (c->want > 0) {
                return PARSE_MORE;
            }
            c->chunk = CHUNK_DATA_END;
        }
        size_t n = 0;
        int status = 0;
        char *line = read_line(c, in, &n, &status);
        if (line == NULL) {
            return status != 0 ? refuse(status, ret_status) : PARSE_MORE;
        }
        result = parse_chunk_line(c, line, n, ret_status);
        free(line);
    }
    return result;
}
