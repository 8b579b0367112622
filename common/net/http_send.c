/* SPDX-License-Identifier: Apache-2.0 */
/* http_send.c: turning a request into the options of a libcurl easy handle.
 *
 * Owns every curl_easy_setopt() but those of answers (http_receive.c) and TLS texts (http_tls.c):
 * what is sent, how the connection is made, and what libcurl must not do by itself (cookies,
 * netrc, proxies of its own choice, "Expect: 100-continue", redirects, other protocols).
 * Header names and values are checked here: a line feed in one would write further headers.
 * Must not send anything.  One thread. */
#include <ctype.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/http_internal.h"

#define DEFAULT_CONNECT_MS ((int64_t)30 * 1000)
#define KEEPALIVE_S        30L   /* Go's dialer: idle time and interval */
#define USER_TIMEOUT_MS    45000 /* a peer behind a silent balancer: Go pings for 30 s + 15 s */
#define KEPT_CONNECTION_S  90L   /* Go's IdleConnTimeout */
/* Bytes of libcurl's buffers, which each request in flight has: hundreds of small requests are, few
 * large ones.  Its default is 16 KiB, and 64 KiB for bodies that are sent; 16 KiB is the least. */
#define STREAM_BUFFER 16384L
#define ANSWER_BUFFER 2048L
#define UPLOAD_BUFFER 16384L

static int set_target(struct http_transfer *t, struct err *err);
static int set_headers(struct http_transfer *t, struct err *err);
static void set_method(struct http_transfer *t);
static void set_connection(struct http_transfer *t);
static int set_proxy(struct http_transfer *t, struct err *err);

int http_send_setup(struct http_transfer *t, struct err *err)
{
    curl_easy_reset(t->easy); /* of the last hop */
    curl_slist_free_all(STEAL(t->headers));
    curl_slist_free_all(STEAL(t->connect_to));
    curl_easy_setopt(t->easy, CURLOPT_PRIVATE, t);

    int rc = set_target(t, err);
    if (rc == ERR_OK) {
        rc = set_headers(t, err);
    }
    if (rc == ERR_OK) {
        rc = set_proxy(t, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    set_method(t);
    set_connection(t);
    http_receive_setup(t);
    http_tls_apply(t);
    return ERR_OK;
}

/* --- target ---------------------------------------------------------------------------------- */

static const char *bracketed(struct arena *a, const char *host)
{
    return strchr(host, ':') == NULL ? host : arena_printf(a, "[%s]", host);
}

/* The name that TLS must show, when it is not the host of the URL; else NULL. */
static const char *other_tls_name(const struct http_transfer *t)
{
    const struct http_tls *tls = t->http->cfg.tls;
    /* After a redirect to another origin the name means nothing any more. */
    if (tls == NULL || str_is_empty(tls->server_name) || !t->with_credentials ||
        !str_eq(t->url.scheme, "https") || str_eq_nocase(tls->server_name, t->url.host)) {
        return NULL;
    }
    return tls->server_name;
}

/* libcurl takes SNI and the name to verify from the URL.  So the URL names the TLS server name, the
 * connection goes to the real host (CONNECT_TO), and the Host header says what was asked for. */
static int set_target(struct http_transfer *t, struct err *err)
{
    struct arena *a = t->arena;
    const char *tls_name = other_tls_name(t);
    const char *host = bracketed(a, tls_name == NULL ? t->url.host : tls_name);
    const char *path = t->url.path[0] == '\0' ? "/" : t->url.path;
    const char *port = t->url.has_port ? arena_printf(a, ":%u", t->url.port) : "";
    const char *url = arena_printf(a, "%s://%s%s%s%s%s", t->url.scheme, host, port, path,
                                   t->url.query == NULL ? "" : "?", str_nonnull(t->url.query));
    if (tls_name != NULL) {
        t->connect_to =
            curl_slist_append(NULL, arena_printf(a, "%s:%u:%s:%u", host, t->url.port,
                                                 bracketed(a, t->url.host), t->url.port));
        curl_easy_setopt(t->easy, CURLOPT_CONNECT_TO, t->connect_to);
    }
    curl_easy_setopt(t->easy, CURLOPT_PATH_AS_IS, 1L);
    if (curl_easy_setopt(t->easy, CURLOPT_URL, url) != CURLE_OK) {
        return err_set(err, ERR_INVALID, "URL of %s is not accepted by libcurl", http_origin(t));
    }
    if (t->url.userinfo != NULL && t->with_credentials) {
        const char *colon = strchr(t->url.userinfo, ':');
        size_t n = colon == NULL ? strlen(t->url.userinfo) : (size_t)(colon - t->url.userinfo);
        const char *user = url_unescape(a, arena_strndup(a, t->url.userinfo, n), false);
        const char *password = colon == NULL ? "" : url_unescape(a, colon + 1, false);
        curl_easy_setopt(t->easy, CURLOPT_USERNAME, str_nonnull(user));
        curl_easy_setopt(t->easy, CURLOPT_PASSWORD, str_nonnull(password));
    }
    return ERR_OK;
}

/* --- headers --------------------------------------------------------------------------------- */

static bool name_is_token(const char *s)
{
    if (str_is_empty(s)) {
        return false;
    }
    for (; *s != '\0'; s++) {
        if (!isalnum((unsigned char)*s) && strchr("!#$%&'*+-.^_`|~", *s) == NULL) {
            return false;
        }
    }
    return true;
}

/* Headers that must not follow a redirect to another origin. */
static bool is_credential(const char *name)
{
    static const char *const names[] = {"Authorization",       "Cookie",
                                        "Proxy-Authorization", "X-Amz-Security-Token",
                                        "X-IDENTITY-HEADER",   "x-ms-authorization-auxiliary"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eq_nocase(name, names[i])) {
            return true;
        }
    }
    return false;
}

static const char *request_header(const struct http_request *req, const char *name)
{
    for (size_t i = 0; i < req->n_headers; i++) {
        if (str_eq_nocase(req->headers[i].name, name)) {
            return req->headers[i].value;
        }
    }
    return NULL;
}

static void add_line(struct http_transfer *t, const char *line)
{
    struct curl_slist *grown = curl_slist_append(t->headers, line);
    if (grown == NULL) {
        out_of_memory(0);
    }
    t->headers = grown;
}

static int add_header(struct http_transfer *t, const struct http_header *h, struct err *err)
{
    const char *value = str_nonnull(h->value);
    if (!name_is_token(h->name) || value[strcspn(value, "\r\n")] != '\0') {
        return err_set(err, ERR_INVALID, "request header \"%s\" is malformed",
                       str_nonnull(h->name));
    }
    bool dropped =
        (is_credential(h->name) && !t->with_credentials) ||
        (str_eq_nocase(h->name, "Content-Type") && !t->with_body && t->job->req.body != NULL);
    if (!dropped) {
        /* libcurl's ways of saying "empty" and "as usual" are ';' and ':'. */
        add_line(t, *value == '\0' ? arena_printf(t->arena, "%s;", h->name)
                                   : arena_printf(t->arena, "%s: %s", h->name, value));
    }
    return ERR_OK;
}

/* Headers that libcurl would add by itself. */
static void suppress_defaults(struct http_transfer *t)
{
    static const char *const names[] = {"Accept", "Expect", "Content-Type"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (request_header(&t->job->req, names[i]) == NULL) {
            add_line(t, arena_printf(t->arena, "%s:", names[i]));
        }
    }
}

static int set_headers(struct http_transfer *t, struct err *err)
{
    const struct http_request *req = &t->job->req;
    for (size_t i = 0; i < req->n_headers; i++) {
        int rc = add_header(t, &req->headers[i], err);
        if (rc != ERR_OK) {
            return rc;
        }
    }
    if (req->bearer != NULL && request_header(req, "Authorization") == NULL) {
        struct http_header auth = {"Authorization",
                                   arena_printf(t->arena, "Bearer %s", req->bearer)};
        int rc = add_header(t, &auth, err);
        if (rc != ERR_OK) {
            return rc;
        }
    }
    if (other_tls_name(t) != NULL && request_header(req, "Host") == NULL) {
        const char *host = bracketed(t->arena, t->url.host);
        add_line(t, t->url.has_port ? arena_printf(t->arena, "Host: %s:%u", host, t->url.port)
                                    : arena_printf(t->arena, "Host: %s", host));
    }
    suppress_defaults(t);
    curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers);
    curl_easy_setopt(t->easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE); /* none for proxies */
    if (t->http->cfg.user_agent != NULL) {
        curl_easy_setopt(t->easy, CURLOPT_USERAGENT, t->http->cfg.user_agent);
    }
    if (req->gzip) {
        curl_easy_setopt(t->easy, CURLOPT_ACCEPT_ENCODING, "gzip");
    }
    return name_is_token(t->method) ? ERR_OK
                                    : err_set(err, ERR_INVALID, "request method is malformed");
}

/* --- method and body ------------------------------------------------------------------------- */

static void set_method(struct http_transfer *t)
{
    const struct http_request *req = &t->job->req;
    bool is_write =
        str_eq(t->method, "POST") || str_eq(t->method, "PUT") || str_eq(t->method, "PATCH");
    if (str_eq(t->method, "HEAD")) {
        curl_easy_setopt(t->easy, CURLOPT_NOBODY, 1L);
        return;
    }
    if (t->with_body || is_write) {
        curl_easy_setopt(t->easy, CURLOPT_POST, 1L);
        curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, t->with_body ? req->body : "");
        curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE,
                         t->with_body ? (curl_off_t)req->body_len : (curl_off_t)0);
    } else {
        curl_easy_setopt(t->easy, CURLOPT_HTTPGET, 1L);
    }
    curl_easy_setopt(t->easy, CURLOPT_CUSTOMREQUEST, t->method);
}

/* --- connection ------------------------------------------------------------------------------ */

static int on_socket(void *http, curl_socket_t fd, curlsocktype purpose)
{
    (void)purpose;
    http_sleep_note_socket(http, fd);
    unsigned int ms = USER_TIMEOUT_MS;
    /* Best effort: without it a dead peer is found by the idle limit or by keep-alive probes. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
    return CURL_SOCKOPT_OK;
}

static int on_close(void *http, curl_socket_t fd)
{
    const struct http *h = http;
    const struct linger now = {.l_onoff = 1, .l_linger = 0};
    if (h->resets) {
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now); /* else it is only closed */
    }
    return close(fd);
}

static void set_connection(struct http_transfer *t)
{
    const struct http_request *req = &t->job->req;
    CURL *e = t->easy;
    bool http2 = !t->http->cfg.no_http2;
    int64_t connect_ms = req->connect_ms <= 0 ? DEFAULT_CONNECT_MS : req->connect_ms;

    curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(e, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(e, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    /* A name that is still being looked up must not hold up a cancel. */
    curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms);
    curl_easy_setopt(e, CURLOPT_BUFFERSIZE,
                     t->job->on_body != NULL ? STREAM_BUFFER : ANSWER_BUFFER);
    curl_easy_setopt(e, CURLOPT_UPLOAD_BUFFERSIZE, UPLOAD_BUFFER);
    curl_easy_setopt(e, CURLOPT_MAXAGE_CONN, KEPT_CONNECTION_S);
    curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(e, CURLOPT_TCP_KEEPIDLE, KEEPALIVE_S);
    curl_easy_setopt(e, CURLOPT_TCP_KEEPINTVL, KEEPALIVE_S);
    curl_easy_setopt(e, CURLOPT_SOCKOPTFUNCTION, on_socket);
    curl_easy_setopt(e, CURLOPT_SOCKOPTDATA, t->http);
    curl_easy_setopt(e, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    curl_easy_setopt(e, CURLOPT_CLOSESOCKETDATA, t->http);
    curl_easy_setopt(e, CURLOPT_HTTP_VERSION,
                     (long)(http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
    /* Wait for a connection that may turn out to be shared, rather than open one per transfer. */
    curl_easy_setopt(e, CURLOPT_PIPEWAIT, http2 && str_eq(t->url.scheme, "https") ? 1L : 0L);
}

/* --- proxy ----------------------------------------------------------------------------------- */

static const char *from_environment(const char *name, void *arg)
{
    (void)arg;
    return getenv(name);
}

/* Go's socks5 lets the proxy resolve names, which libcurl calls socks5h. */
static const char *curl_proxy(struct arena *a, const char *proxy)
{
    return str_has_prefix(proxy, "socks5://") ? arena_printf(a, "socks5h%s", proxy + 6) : proxy;
}

static int set_proxy(struct http_transfer *t, struct err *err)
{
    const char *configured = t->job->req.direct ? "" : t->http->cfg.proxy_url;
    if (configured != NULL) {
        t->proxy = *configured == '\0' ? NULL : configured;
    } else {
        t->proxy = http_proxy_for(t->arena, url_origin(t->arena, &t->url), from_environment, NULL);
    }
    /* Both are always set, or libcurl would read the environment by rules of its own. */
    curl_easy_setopt(t->easy, CURLOPT_NOPROXY, "");
    const char *proxy = t->proxy == NULL ? "" : curl_proxy(t->arena, t->proxy);
    if (curl_easy_setopt(t->easy, CURLOPT_PROXY, proxy) != CURLE_OK) {
        return err_set(err, ERR_INVALID, "proxy URL is not accepted by libcurl");
    }
    curl_easy_setopt(t->easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    return ERR_OK;
}
