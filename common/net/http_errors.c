/* SPDX-License-Identifier: Apache-2.0 */
/* http_errors.c: what went wrong with a transfer, in words for people and a code to act on.
 *
 * Owns the texts.  They name the origin (scheme, host, port) and the phase, never path, query,
 * user info or headers: those may carry secrets.
 * Must not decide about retries; TRANSIENT only says that the same request may work later. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/net/http_internal.h"

const char *http_origin(struct http_transfer *t)
{
    return t->url.host == NULL ? "the server" : url_origin(t->arena, &t->url);
}

const char *http_span(struct http_transfer *t, int64_t ms)
{
    return ms % 1000 == 0 ? arena_printf(t->arena, "%lld s", (long long)(ms / 1000))
                          : arena_printf(t->arena, "%lld ms", (long long)ms);
}

/* The system's words for the last socket error, in lower case; or libcurl's, or `otherwise`. */
static const char *detail(struct http_transfer *t, const char *otherwise)
{
    long no = 0;
    curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &no);
    char buf[128];
    const char *text = otherwise;
    if (no != 0) {
        text = strerror_r((int)no, buf, sizeof(buf));
    } else if (t->curl_text[0] != '\0') {
        text = t->curl_text;
    }
    char *copy = arena_strdup(t->arena, text);
    bool is_word = isupper((unsigned char)copy[0]) && islower((unsigned char)copy[1]);
    copy[0] = is_word ? (char)tolower((unsigned char)copy[0]) : copy[0];
    return copy;
}

static const char *proxy_origin(struct http_transfer *t)
{
    struct url u;
    if (t->proxy == NULL || url_parse(t->arena, t->proxy, &u, NULL) != ERR_OK) {
        return "the proxy";
    }
    return url_origin(t->arena, &u);
}

static void set_reason(struct err *err, const char *reason)
{
    if (err != NULL) {
        (void)snprintf(err->reason, sizeof err->reason, "%s", reason);
    }
}

static void note_refused(struct http_transfer *t)
{
    const char *origin = http_origin(t);
    if (t->http->cfg.answers_once && strlen(origin) < sizeof(t->http->refused)) {
        memcpy(t->http->refused, origin, strlen(origin) + 1);
    }
}

static int connect_error(struct http_transfer *t, struct err *err)
{
    long no = 0;
    curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &no);
    if (t->proxy != NULL) {
        (void)err_set(err, ERR_TRANSIENT, "cannot reach %s through proxy %s: %s", http_origin(t),
                      proxy_origin(t), detail(t, "no connection"));
    } else {
        (void)err_set(err, ERR_TRANSIENT, "cannot reach %s: %s", http_origin(t),
                      detail(t, "no connection"));
    }
    if (no == ECONNREFUSED) {
        set_reason(err, "refused");
        note_refused(t);
    }
    return ERR_TRANSIENT;
}

static int resolve_error(struct http_transfer *t, bool of_proxy, struct err *err)
{
    (void)err_set(err, ERR_TRANSIENT, "cannot resolve the name of %s%s", of_proxy ? "proxy " : "",
                  of_proxy ? proxy_origin(t) : http_origin(t));
    set_reason(err, "no-host");
    note_refused(t);
    return ERR_TRANSIENT;
}

/* libcurl's own time-outs: only the one of connecting is left to it. */
static int connect_timeout(struct http_transfer *t, struct err *err)
{
    int64_t ms = t->job->req.connect_ms <= 0 ? 30000 : t->job->req.connect_ms;
    return err_set(err, ERR_TRANSIENT, "cannot reach %s: no connection within %s", http_origin(t),
                   http_span(t, ms));
}

/* The few words for people in what libcurl made of OpenSSL's errors:
 * "OpenSSL SSL_read: OpenSSL/3.0: error:0A000418:SSL routines::tlsv1 alert unknown ca, errno 0". */
static const char *tls_reason(struct http_transfer *t, CURLcode code)
{
    static const char *const starts[] = {"SSL routines::", "SSL certificate problem: ", "SSL: "};
    for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
        const char *at = strstr(t->curl_text, starts[i]);
        if (at != NULL) {
            at += strlen(starts[i]);
            const char *end = strstr(at, ", errno");
            return arena_strndup(t->arena, at, end == NULL ? strlen(at) : (size_t)(end - at));
        }
    }
    return t->curl_text[0] == '\0' ? curl_easy_strerror(code) : t->curl_text;
}

/* Alerts by which a server says that our certificate will not do, or that it wants one
 * (RFC 8446 §6.2). */
static bool is_certificate_alert(const char *why)
{
    static const char *const alerts[] = {"alert unknown ca",
                                         "alert bad certificate",
                                         "alert certificate expired",
                                         "alert certificate unknown",
                                         "alert certificate required",
                                         "alert certificate revoked",
                                         "alert unsupported certificate",
                                         "alert access denied"};
    for (size_t i = 0; i < ARRAY_LEN(alerts); i++) {
        if (strstr(why, alerts[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static int tls_error(struct http_transfer *t, CURLcode code, struct err *err)
{
    bool untrusted = code == CURLE_PEER_FAILED_VERIFICATION;
    const char *why = tls_reason(t, code);
    int rc = err_set(err, ERR_TRANSIENT, "TLS: %s%s: %s", untrusted ? "certificate of " : "",
                     http_origin(t), why);
    if (untrusted) {
        set_reason(err, "untrusted");
    } else if (is_certificate_alert(why)) {
        set_reason(err, "refused-certificate");
    }
    return rc;
}

/* The proxy said no to CONNECT, or left while it was asked. */
static bool is_proxy_refusal(struct http_transfer *t)
{
    long status = 0;
    curl_easy_getinfo(t->easy, CURLINFO_HTTP_CONNECTCODE, &status);
    return t->proxy != NULL && t->status == 0 &&
           (status >= 300 || str_has_prefix(t->curl_text, "Proxy CONNECT"));
}

static int proxy_error(struct http_transfer *t, struct err *err)
{
    return err_set(err, ERR_TRANSIENT, "proxy %s: %s", proxy_origin(t),
                   t->curl_text[0] == '\0' ? "refused the connection" : t->curl_text);
}

int http_error_broken(struct http_transfer *t, const char *why, struct err *err)
{
    int rc = why == NULL
                 ? err_set(err, ERR_TRANSIENT, "%s closed the connection without an answer",
                           http_origin(t))
                 : err_set(err, ERR_TRANSIENT, "connection to %s broke before an answer: %s",
                           http_origin(t), why);
    set_reason(err, "broken");
    return rc;
}

static int cut_error(struct http_transfer *t, CURLcode code, struct err *err)
{
    if (is_proxy_refusal(t)) {
        return proxy_error(t, err);
    }
    if (strstr(t->curl_text, "SSL routines::") != NULL) {
        /* An alert: TLS 1.3 refuses certificates after the handshake. */
        return tls_error(t, code, err);
    }
    if (t->status == 0 || code == CURLE_GOT_NOTHING) {
        const char *why = code == CURLE_GOT_NOTHING ? NULL : detail(t, "closed");
        return http_error_broken(t, why, err);
    }
    return err_set(err, ERR_TRANSIENT, "answer of %s was cut after %zu bytes", http_origin(t),
                   t->body_bytes);
}

/* Before anything of an answer came: libcurl has no code for "too many open files", and says "out
 * of memory" or "could not resolve" when it means that a thread could not be started. */
static int exhausted_error(struct http_transfer *t, CURLcode code, struct err *err)
{
    const char *why = NULL;
    if (limits_no_descriptor()) {
        why = LIMITS_NO_DESCRIPTOR;
    } else if (strstr(t->curl_text, "thread failed to start") != NULL) {
        why = "no thread can be started; " LIMITS_MORE_TASKS;
    } else if (code == CURLE_OUT_OF_MEMORY && t->header_bytes == 0) {
        why = "libcurl has no memory, descriptor or thread for it";
    }
    return why == NULL ? ERR_OK
                       : err_set(err, ERR_TRANSIENT, "cannot reach %s: %s", http_origin(t), why);
}

int http_error_of(struct http_transfer *t, CURLcode code, struct err *err)
{
    if (t->wrong != NULL) {
        return err_copy(err, t->wrong);
    }
    int rc = t->status == 0 ? exhausted_error(t, code, err) : ERR_OK;
    if (rc != ERR_OK) {
        return rc;
    }
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
        return resolve_error(t, false, err);
    case CURLE_COULDNT_RESOLVE_PROXY:
        return resolve_error(t, true, err);
    case CURLE_COULDNT_CONNECT:
        return connect_error(t, err);
    case CURLE_OPERATION_TIMEDOUT:
        return connect_timeout(t, err);
    case CURLE_PROXY:
        return proxy_error(t, err);
    case CURLE_SSL_CERTPROBLEM:
        return err_set(err, ERR_AUTH, "TLS: client certificate for %s cannot be used",
                       http_origin(t));
    case CURLE_SSL_CACERT_BADFILE:
        return err_set(err, ERR_AUTH, "TLS: the roots to verify %s with cannot be read",
                       http_origin(t));
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
        return tls_error(t, code, err);
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return cut_error(t, code, err);
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL: /* what libcurl says to HTTP/0.9 */
        return err_set(err, ERR_TRANSIENT, "answer of %s is not HTTP", http_origin(t));
    case CURLE_BAD_CONTENT_ENCODING:
        return err_set(err, ERR_TRANSIENT, "answer of %s cannot be decoded", http_origin(t));
    case CURLE_URL_MALFORMAT:
        return err_set(err, ERR_INVALID, "URL of %s is malformed", http_origin(t));
    case CURLE_OUT_OF_MEMORY: /* so libcurl says of a header line over 1 MiB */
        return err_set(err, ERR_INVALID, "answer of %s has a header line that is too long",
                       http_origin(t));
    default:
        return err_set(err, ERR_TRANSIENT, "request to %s: %s", http_origin(t),
                       detail(t, curl_easy_strerror(code)));
    }
}
