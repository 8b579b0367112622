/* SPDX-License-Identifier: Apache-2.0 */
/* http.h: HTTP requests that block, several at a time, over one libcurl multi handle.
 *
 * A `struct http` belongs to one thread or task (a sync worker, the reflector thread) and keeps its
 * own connection cache; it is made once and never per request (docs/architecture.md).  The unit of
 * work is a *job*: a small state machine that is asked for its next request until it says that it
 * is done.  A cloud call with its waiting (insert, then wait for the operation) is one job; a wave
 * of a plan is several jobs on the same handle; a reflector is a job that never ends.
 *
 * In a task (common/base/task.h) the thread's other tasks run while one of these functions blocks.
 *
 *     http_do()      one request, one answer
 *     http_run()     n jobs at once, returns when all are done (fan-out)
 *     http_start() + http_wait()   jobs that come and go, for the reflector thread
 *
 * Checked here, for every caller: deadlines (connect, idle, total), caps on header and body
 * bytes, redirects, cancelling within 100 ms (a poke ends the poll), client certificates, CAs and
 * tokens re-read when their files change, proxies by Go's rules, gzip, HTTP/2 where offered, and
 * `may_mutate` before *each* mutation is sent and while its body is (fencing:
 * docs/architecture.md).  What is not: retries (retry.h), rate limits (ratelimit.h), meaning of
 * statuses.
 * Errors: TRANSIENT (connect, TLS, time-out, cut answer; err says which host and phase; its reason
 * is "refused" when nothing listens, "no-host" when the name does not resolve, "broken" when the
 * connection ended before an answer, "untrusted" when the server's certificate did not verify,
 * "refused-certificate" when the server would not have ours), CANCELLED (also when may_mutate said
 * no), INVALID (a URL that is none, or that url_check_sent() refuses; an answer over a cap), AUTH
 * (credentials could not be read).  An answer with any status is success here. */
#ifndef TRIMTAB_NET_HTTP_H
#define TRIMTAB_NET_HTTP_H

#include "common/base/arena.h"
#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/base/file.h"
#include "common/base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http;
struct http_job;
struct http_response;
struct http_sent;
struct http_transfer;

/* A client certificate that is handed over while the program runs, as credential plugins do.  Every
 * handle whose http_tls names it takes a new one up as it does a changed file: kept connections
 * close, endless streams end.  Thread-safe. */
struct http_pair;
/* From when to when a certificate is good, in s since 1970. */
struct http_pair_life {
    int64_t from_s;
    int64_t until_s;
};
struct http_pair *http_pair_new(void) _warn_unused_;
void http_pair_free(struct http_pair *p);
/* Both PEM (the certificate may be a chain), or both NULL: none from now on.  ERR_INVALID when they
 * are none or do not belong together: then nothing changes.  True in *ret_changed when it is
 * another one than before.  The last two outputs may be NULL; *ret_life is untouched when there is
 * none.  No key text in errors. */
int http_pair_set(struct http_pair *p, const char *cert_pem, const char *key_pem,
                  struct http_pair_life *ret_life, bool *ret_changed,
                  struct err *err) _warn_unused_;

/* How to reach and trust servers.  Borrowed by http objects until they are freed; immutable, so one
 * serves all threads.  NULL members mean the default. */
struct http_tls {
    /* PEM; NULL and ca_pem NULL: the system's roots, or SSL_CERT_FILE and _DIR */
    struct file_watch *ca_file;
    const char *ca_pem;           /* PEM text instead of a file */
    struct file_watch *cert_file; /* client certificate, PEM (chain) */
    struct file_watch *key_file;
    const char *cert_pem; /* text instead of files */
    const char *key_pem;
    struct http_pair *pair;  /* instead of all four; NULL: none is handed over */
    const char *server_name; /* SNI and name to verify, when it is not the URL's host */
    bool insecure;           /* no verification */
};
/* Runs in the handle's thread, below http_run() and its like; must not block and must not
 * use the handle. */
typedef void http_observe_fn(void *arg, const struct http_sent *sent);
struct http_config {
    const char *user_agent;
    const struct http_tls *tls; /* NULL: system roots, no client certificate */
    const char *proxy_url; /* http, https, socks5; NULL: HTTPS_PROXY, HTTP_PROXY, NO_PROXY of */
                           /* the environment, by the rules of Go's httpproxy; "":
                                        * none */
    bool no_http2;         /* DISABLE_HTTP2 */
    struct clock *clock;   /* NULL: the real one; governs delays only, never socket time-outs */
    struct cancel *cancel; /* stops everything on this handle; may be NULL */
    /* For a command that answers once: a request to the server that refused the last connection, or
     * whose name has no address, does not wait for its not_before_ms, so that attempts are
     * used up at once. */
    bool answers_once;
    bool (*may_mutate)(
        void *arg);       /* asked from the handle's thread right before a mutating request */
    void *may_mutate_arg; /* is sent, and while its body is on its way; NULL: always yes */
    /* Counts and logs each request that leaves for a server, whatever code asked for it (struct
     * http_sent).  Required; a test that counts nothing has tests/support/http_ignore_sent.h. */
    http_observe_fn *observe;
    void *observe_arg;
};

struct http_header {
    const char *name;
    const char *value;
};
/* One request; strings are borrowed until its answer is delivered.  Zeroes are the defaults. */
struct http_request {
    const char *method;                /* "GET" … */
    const char *url;                   /* absolute */
    const struct http_header *headers; /* added to User-Agent, Host, Accept-Encoding */
    size_t n_headers;
    const void *body; /* NULL: none */
    size_t body_len;
    /* Names the request in counts and logs (http_sent): the API ("gce"), and its operation
     * ("compute.addresses.get").  Static texts, or borrowed like the others; never a secret. */
    const char *api;
    const char *op;
    const char *bearer;    /* token; sent as Authorization unless headers have one; never logged */
    bool mutates;          /* ask may_mutate before sending */
    bool gzip;             /* offer and decode gzip */
    int64_t not_before_ms; /* by the config's clock: a back-off; 0 = now */
    int64_t connect_ms;    /* 0 = 30,000; real time, as are all time-outs */
    int64_t idle_ms;       /* no byte for so long ends it; 0 = 60,000; -1 = no limit (watches) */
    int64_t total_ms;      /* 0 = 120,000; -1 = no limit */
    size_t max_body;       /* 0 = 32 MiB, of the decoded body */
    int max_redirects;     /* 0 = none are followed; credentials are dropped across hosts */
    bool streams;          /* its answer continues for long (a watch): counted when it begins */
    bool direct; /* never through a proxy: what is on this machine or link, and hands out secrets */
};
/* One answer.  Lives until the job's step function returns. */
struct http_response {
    int status;       /* 100…599; 0 when there was no answer (then err says why) */
    const char *body; /* NUL-terminated after body_len; "" when streamed or empty */
    size_t body_len;
    const struct http_header *headers; /* as received, last one of a redirect chain */
    size_t n_headers;
    int64_t took_ms;
    size_t received_bytes; /* of the body, decoded, streamed or collected */
    bool reused;           /* an existing connection was used */
    int http_version;      /* 10, 11, 20 */
};
enum http_sent_part {
    HTTP_SENT_WHOLE = 0, /* it has its answer, or none will come */
    HTTP_SENT_BEGAN,     /* req.streams: its answer, a 2xx, begins; took_ms lasts until now */
    /* the same stream has ended: received_bytes counts, the rest was reported at its beginning */
    HTTP_SENT_ENDED,
};
/* One request on the wire.  Each hop of a redirect is one, and so is each copy that libcurl sends
 * again because a kept connection had died.  A server that cannot be reached counts, too (status
 * 0).  A request that is held back here does not count: by may_mutate, by a cancel before its first
 * byte, or because its URL cannot be used.  One whose time ends while libcurl holds it in line for
 * a connection counts as a server that cannot be reached, although no byte of it left. */
struct http_sent {
    const struct http_job *job; /* api and op are its req's */
    void *owner;                /* of http_bind(); NULL: none */
    enum http_sent_part part;
    const char *method; /* of this hop */
    int status;         /* 0: no answer, or one that broke off; err says why */
    int64_t took_ms;    /* of this hop */
    size_t sent_bytes;  /* of its body */
    size_t received_bytes;
    const struct err *err; /* NULL: it has an answer */
};
/* Case-insensitive; first value or NULL. */
const char *http_response_header(const struct http_response *r, const char *name);
/* Retry-After in ms: seconds or an HTTP date against wall_s; 0 when absent or unreadable; at most
 * 1 h. */
int64_t http_retry_after_ms(const struct http_response *r, int64_t wall_s);
/* The moment of the header Date, in s since 1970; -1 when it is absent or unreadable. */
int64_t http_response_date_s(const struct http_response *r);

enum http_next {
    HTTP_SEND = 0, /* job->req is filled: send it */
    /* nothing to send yet: step is called again, with resp NULL, whenever something happened on
     * this handle, and at job->req.not_before_ms at the latest */
    HTTP_WAIT,
    HTTP_DONE, /* nothing more; job->err says how it ended */
};
/* A job.  The caller embeds or allocates it, fills the first group and keeps it until it is done.
 * Callbacks run in the thread that drives the handle and must not block. */
struct http_job {
    /* by the caller */
    enum http_next (*step)(struct http_job *job, const struct http_response *resp);
    /* resp NULL: first call, fill job->req.  Later: the answer of job->req, or status 0 with
         * job->err set when there was none; fill job->req again and return HTTP_SEND, or set
         * job->err and return HTTP_DONE. */
    bool (*on_body)(struct http_job *job, int status, const char *bytes, size_t n);
    /* NULL: the body is collected.  Else bytes of a 2xx come here as they arrive (decoded);
         * false ends the transfer (err INVALID unless the callback set job->err).  Bodies of
         * other statuses are collected. */
    void *arg;             /* the caller's */
    struct cancel *cancel; /* this job's own; may be NULL */
    /* by both */
    struct http_request req;
    struct err err; /* how it ended: OK, or the last failure that step did not fix */
    /* by http */
    bool done;
    struct http_transfer *transfer; /* internal; NULL when nothing is in progress */
};

struct http *http_new(const struct http_config *cfg) _warn_unused_;
void http_free(struct http *h); /* running jobs end with CANCELLED first; NULL is fine */

/* One request; blocks.  *ret's strings live in `a`.  Returns job error codes above. */
int http_do(struct http *h, struct arena *a, const struct http_request *req, struct cancel *cancel,
            struct http_response *ret, struct err *err) _warn_unused_;
/* Drives all jobs until each is done; blocks.  Each job's outcome is in its err. */
void http_run(struct http *h, struct http_job *const *jobs, size_t n);

/* Adds a job; returns at once (its first step runs here). */
void http_start(struct http *h, struct http_job *job);
/* Ends a job that is in progress with CANCELLED; its step is not called again. */
void http_stop(struct http *h, struct http_job *job);
/* Drives what was started until a job is done, http_wakeup() is called, or `until_ms` of the
 * config's clock (CLOCK_NEVER: none). */
void http_wait(struct http *h, int64_t until_ms);
/* From any thread: makes http_wait() return. */
void http_wakeup(struct http *h);

/* A stock of handles for code that runs on many workers: get one, use it, put it back; made on
 * demand, at most as many as were ever used at once.  Thread-safe. */
struct http_pool;
struct http_pool *http_pool_new(const struct http_config *cfg) _warn_unused_;
void http_pool_free(struct http_pool *p);
struct http *http_pool_get(struct http_pool *p) _warn_unused_;
void http_pool_put(struct http_pool *p, struct http *h);
/* The handle's cancel and may_mutate for the duration of one call (replacing the config's).
 * `owner` is what requests are counted for (http_sent.owner); NULL: for none. */
void http_bind(struct http *h, struct cancel *cancel, bool (*may_mutate)(void *arg), void *arg,
               void *owner);

/* The `owner` that is bound; NULL: none. */
void *http_owner(const struct http *h);

/* Process-wide set-up of libcurl and SIGPIPE, which each handle has done for its life as well: a
 * program that makes handles in several threads calls it before the first of them, and
 * http_global_done() once at exit.  Others need neither, so that a command that asks no server does
 * not read the configuration of OpenSSL. */
int http_global_init(struct err *err) _warn_unused_;
void http_global_done(void);

/* The proxy that Go's httpproxy would take for `url`, or NULL; exposed for tests.  `env` is asked
 * for HTTP_PROXY, HTTPS_PROXY, NO_PROXY (upper case wins over lower) and REQUEST_METHOD. */
char *http_proxy_for(struct arena *a, const char *url,
                     const char *(*env)(const char *name, void *arg), void *arg);

#endif
