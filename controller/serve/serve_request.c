/* SPDX-License-Identifier: Apache-2.0 */
/* serve_request.c: one request on the HTTPS port, from its target to its answer.
 *
 * Order as upstream's chain of handlers: access first, then the page, so that who may not ask does
 * not learn what is there.  A verdict that must be asked for comes later, by the pool; the client
 * may have left by then.  Refusals have the API server's form, a Status in JSON; what no page
 * answers has that of Go's mux.  Must not block, and must not know what pages print.
 * The loop's thread. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/log.h"
#include "controller/serve/path.h"
#include "controller/serve/serve_internal.h"

/* A request in progress; lives in its arena. */
struct call {
    struct serve *serve;
    struct http_req *req;
    const char *path, *query;
    struct headers headers;
    struct ask *ask; /* while the pool has it */
    const char *user;
    int64_t began_ms;
};

static const struct {
    const char *method;
    unsigned bit;
} methods[] = {
    {"GET", PAGE_METHOD_GET},
    {"HEAD", PAGE_METHOD_GET},
    {"PUT", PAGE_METHOD_PUT},
    {"DELETE", PAGE_METHOD_DELETE},
};

static void judge(struct call *c);
static void finish(struct call *c, const struct access_verdict *v);
static void on_verdict(void *arg, const struct access_verdict *v);
static void on_gone(void *arg);
static void answer_page(struct call *c);
static void answer_status(struct call *c, int status, const char *reason, const char *message);
static void answer_text(struct call *c, int status, const char *text);

static struct headers headers_of(struct arena *a, const struct http_req *req)
{
    size_t n = 0;
    const char *name;
    while (http_req_header_at(req, n, &name) != NULL) {
        n++;
    }
    struct header *items = ARENA_ARRAY(a, struct header, n);
    for (size_t i = 0; i < n; i++) {
        items[i].value = http_req_header_at(req, i, &items[i].name);
    }
    return (struct headers){.items = items, .n = n};
}

void serve_request(void *arg, struct http_req *req)
{
    struct serve *s = arg;
    struct arena *a = http_req_arena(req);
    struct call *c = ARENA_NEW(a, struct call);
    c->serve = s;
    c->req = req;
    c->user = "";
    c->began_ms = clock_now_ms(s->args.clock);
    c->path = path_of_target(a, http_req_target(req), &c->query);
    if (c->path == NULL) {
        c->path = "";
        answer_text(c, 400, "400 Bad Request: the target is no path\n");
        return;
    }
    c->headers = headers_of(a, req);
    judge(c);
}

/* --- access ----------------------------------------------------------------------------------- */

/* Without access (no API server to ask) only the open paths are served. */
static struct access_verdict decide_alone(struct call *c)
{
    struct access_verdict v = {.user = "system:anonymous"};
    if (!path_always_allowed(&c->serve->args.options->always_allow_paths, c->path)) {
        struct arena *a = http_req_arena(c->req);
        v.status = 403;
        v.reason = "Forbidden";
        v.message = arena_printf(a, "forbidden: User \"%s\" cannot %s path \"%s\"", v.user,
                                 str_lower(a, http_req_method(c->req)), c->path);
    }
    return v;
}

static void judge(struct call *c)
{
    struct serve *s = c->serve;
    struct access_verdict v;
    if (s->args.access == NULL) {
        v = decide_alone(c);
        finish(c, &v);
        return;
    }
    const struct access_request req = {
        .a = http_req_arena(c->req),
        .method = http_req_method(c->req),
        .path = c->path,
        .cert = http_req_client_cert(c->req),
        .chain = http_req_client_chain(c->req),
        .header = headers_find,
        .header_arg = &c->headers,
    };
    if (access_decide(s->args.access, &req, &v)) {
        finish(c, &v);
        return;
    }
    c->ask = ask_pool_put(s->pool, &req, &c->headers, on_verdict, c);
    if (c->ask == NULL) {
        http_req_add_header(c->req, "Retry-After", "1");
        answer_status(
            c, 429, "TooManyRequests",
            "too many requests wait for authorization by the API server, please try again later");
        return;
    }
    http_req_on_gone(c->req, on_gone, c);
}

static void on_verdict(void *arg, const struct access_verdict *v)
{
    struct call *c = arg;
    c->ask = NULL;
    http_req_on_gone(c->req, NULL, NULL);
    finish(c, v);
}

static void on_gone(void *arg)
{
    struct call *c = arg;
    ask_forget(c->ask);
    c->ask = NULL;
}

static void finish(struct call *c, const struct access_verdict *v)
{
    /* The verdict's texts may live shorter than the request. */
    c->user = arena_strdup(http_req_arena(c->req), str_nonnull(v->user));
    if (v->status != 0) {
        answer_status(c, v->status, v->reason, v->message);
    } else {
        answer_page(c);
    }
}

/* --- pages ------------------------------------------------------------------------------------ */

/* The page of exactly this path, or the longest one above it that wants everything below. */
static const struct page *find_page(const struct serve *s, const char *path)
{
    const struct page *best = NULL;
    size_t best_n = 0;
    for (size_t i = 0; i < s->n_pages; i++) {
        const struct page *p = &s->pages[i];
        size_t n = strlen(p->path);
        if (strncmp(p->path, path, n) != 0) {
            continue;
        }
        if (path[n] == '\0') {
            return p;
        }
        if (p->below && path[n] == '/' && n >= best_n) {
            best = p;
            best_n = n;
        }
    }
    return best;
}

static unsigned method_bit(const char *method)
{
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        if (str_eq(methods[i].method, method)) {
            return methods[i].bit;
        }
    }
    return 0;
}

static void refuse_method(struct call *c, const struct page *p)
{
    struct str_buf allow = STR_BUF_INIT;
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        if ((p->methods & methods[i].bit) != 0) {
            str_appendf(&allow, "%s%s", allow.len > 0 ? ", " : "", methods[i].method);
        }
    }
    http_req_add_header(c->req, "Allow", str_buf_text(&allow));
    str_buf_done(&allow);
    answer_text(c, 405, "405 method not allowed\n");
}

/* Takes the body. */
static void send_answer(struct call *c, int status, const char *type, struct str_buf *body)
{
    static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct serve *s = c->serve;
    time_t now = (time_t)clock_wall_s(s->args.clock);
    struct tm t;
    char date[64];
    (void)gmtime_r(&now, &t);
    snprintf(date, sizeof(date), "%s, %02d %s %d %02d:%02d:%02d GMT", days[t.tm_wday], t.tm_mday,
             months[t.tm_mon], t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
    http_req_add_header(c->req, "Date", date);
    http_req_add_header(c->req, "Content-Type", type);
    log_info(3, "HTTP", LOG_S("method", http_req_method(c->req)), LOG_S("path", c->path),
             LOG_S("user", c->user), LOG_S("from", http_req_peer(c->req)), LOG_I("status", status),
             LOG_MS("took", clock_now_ms(s->args.clock) - c->began_ms));
    http_req_answer_take(c->req, status, body); /* `c` is gone with it */
}

static void answer_page(struct call *c)
{
    const struct page *p = find_page(c->serve, c->path);
    const char *method = http_req_method(c->req);
    if (p == NULL) {
        answer_text(c, 404, "404 page not found\n");
        return;
    }
    if ((p->methods & method_bit(method)) == 0) {
        refuse_method(c, p);
        return;
    }
    struct page_request req = {
        .a = http_req_arena(c->req),
        .method = str_eq(method, "HEAD") ? "GET" : method,
        .path = c->path,
        .query = c->query,
        .accept = str_nonnull(http_req_header(c->req, "Accept")),
    };
    req.body = http_req_body(c->req, &req.body_len);
    struct page_answer answer = {.status = 200, .content_type = PAGE_TEXT};
    p->answer(p->arg, &req, &answer);
    if (answer.nosniff) {
        http_req_add_header(c->req, "X-Content-Type-Options", "nosniff");
    }
    for (size_t i = 0; i < answer.n_headers; i++) {
        http_req_add_header(c->req, answer.headers[i].name, answer.headers[i].value);
    }
    send_answer(c, answer.status, answer.content_type, &answer.body);
}

/* --- refusals --------------------------------------------------------------------------------- */

static void answer_text(struct call *c, int status, const char *text)
{
    http_req_add_header(c->req, "X-Content-Type-Options", "nosniff");
    struct str_buf body = STR_BUF_INIT;
    str_append(&body, text);
    send_answer(c, status, PAGE_TEXT, &body);
}

static void answer_status(struct call *c, int status, const char *reason, const char *message)
{
    struct str_buf b = STR_BUF_INIT;
    str_append(&b, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                   "\"status\":\"Failure\",\"message\":");
    str_append_json_quoted(&b, str_nonnull(message));
    str_append(&b, ",\"reason\":");
    str_append_json_quoted(&b, str_nonnull(reason));
    str_appendf(&b, ",%s\"code\":%d}\n", status == 403 ? "\"details\":{}," : "", status);
    http_req_add_header(c->req, "X-Content-Type-Options", "nosniff");
    send_answer(c, status, PAGE_JSON, &b);
}
