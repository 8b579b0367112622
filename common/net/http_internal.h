/* SPDX-License-Identifier: Apache-2.0 */
/* http_internal.h: what the files of the HTTP client share; no other file includes it.
 *
 *   http.c           handles: made, bound, freed; jobs: started, stopped; http_do()
 *   http_drive.c     the loop: who is due, who is late, who is cancelled; one http_sleep()
 *   http_sleep.c     the wait for sockets, of a thread or of a task
 *   http_transfer.c  one transfer: begin, follow a redirect, complete, recycle
 *   http_send.c      request -> options of an easy handle
 *   http_receive.c   libcurl's callbacks: header, body, progress, "about to send"
 *   http_errors.c    CURLcode -> struct err
 *   http_tls.c       CA, certificate and key texts, re-read when their files change
 *   http_pair.c      a client certificate that is handed over while we run
 *   http_proxy.c     Go's proxy rules        http_response.c  reading answers       http_pool.c
 *
 * A job that was started has exactly one transfer until it is done; all of them hang in one list in
 * order of start.  Steps of jobs may start and stop other jobs, so no code holds a pointer into
 * that list across a step: loops search again.  One thread; only http_poke() may be called from
 * others. */
#ifndef TRIMTAB_NET_HTTP_INTERNAL_H
#define TRIMTAB_NET_HTTP_INTERNAL_H

#include <curl/curl.h>
#include <poll.h>
#include <stdatomic.h>

#include "common/net/http.h"
#include "common/net/url.h"

/* Transfers with an end that one handle has on the wire at once; more wait for their turn.  Streams
 * without a total limit (watches) are not counted, or they would starve the others. */
#define HTTP_MAX_RUNNING 32

/* One PEM text that may come from a file. */
struct tls_text {
    struct str_buf pem;  /* last good text; empty: none */
    uint64_t generation; /* of the file when it was last looked at */
    bool loaded;
};
/* Files for new connections.  Invalid new contents are ignored: the old ones stay. */
struct tls_state {
    struct tls_text ca, cert, key;
    uint64_t handed;    /* generation of the pair that was handed over; 0: none was looked at */
    int64_t checked_ms; /* by the config's clock */
    bool settled;       /* texts that cannot change are loaded */
};

#define HTTP_SPARES 1u /* recycled transfers and libcurl handles that a handle keeps */
struct http {
    struct http_config cfg;
    CURLM *multi; /* replaced when the client certificate changes: closes its connections */
    bool drop_connections; /* replace it as soon as nothing runs */
    bool in_curl;          /* libcurl is on the stack: its handles must not be removed */
    /* An eventfd and not curl_multi_wakeup(), because `multi` may be replaced while others wake
     * us.  -1 while no descriptor is free; the loop tries again and looks often meanwhile. */
    atomic_int wake_fd;
    atomic_bool woken; /* http_wakeup() was called */
    bool any_done;     /* a job ended since http_wait() last returned */
    int clock_sub;     /* subscription at cfg.clock */

    struct cancel *cancel; /* the config's or the bound one */
    int cancel_hook;
    bool (*may_mutate)(void *arg);
    void *may_mutate_arg;
    void *owner; /* of the bound call; what requests are counted for */
    char refused
        [256]; /* origin to which the last connection failed at once; "" none.  With answers_once */
    bool resets; /* a connection that is closed now is reset: what is on its way is lost */

    struct http_transfer *first, *last; /* of jobs that are not done, in order of start */
    struct http_transfer *spare;        /* recycled; linked by next */
    /* Recycled.  A waiting job has none, and few are kept: each is 10 KiB, and one is made in a
     * tenth of a millisecond. */
    CURL *spare_easy[HTTP_SPARES];
    size_t n_spare_easy;
    size_t n_running; /* in the multi */
    size_t n_counted; /* of these, with a total limit */
    uint64_t round;   /* of the loop; a transfer begins at most once in each */
    int64_t lull_ms;  /* the longest sleep beside HTTP/2 streams, see http_drive.c; real time */
    struct tls_state tls;
    struct pollfd *fds; /* room for one sleep in a task */
    size_t cap_fds;
    bool has_high_fd; /* a socket's number was FD_SETSIZE or more */
};

struct http_transfer {
    struct http *http;
    struct http_job *job;
    struct http_transfer *prev, *next;
    CURL *easy;   /* from the first send until the answer is built; else NULL */
    bool running; /* in the multi; else it waits for not_before_ms or for its turn */
    bool waits;   /* its step said HTTP_WAIT: nothing is to be sent */
    bool in_step; /* job->step is on the stack */
    bool stopped; /* http_stop() came while libcurl or the step was on the stack */
    bool ended;   /* by us, with `err`, at the next turn of the loop */
    uint64_t round;
    int cancel_hook;

    /* what is being sent; differs from job->req once a redirect was followed */
    struct arena *arena; /* emptied for each request */
    struct url url;
    const char *method;
    bool with_body;
    bool with_credentials; /* still the origin to which they were given */
    int redirects;
    int sends; /* of this hop; libcurl sends again when a kept connection was dead */
    /* this hop must be reported to the observer: libcurl has it, and we did not hold it back */
    bool counts;
    bool began;   /* a stream whose beginning was reported */
    bool sending; /* a mutation whose body is on its way: may_mutate is asked until it is out */
    struct curl_slist *headers;
    struct curl_slist *connect_to;
    const char *proxy; /* NULL: none */
    char curl_text[CURL_ERROR_SIZE];

    /* real monotonic ms */
    int64_t started_ms; /* first send, before redirects */
    int64_t hop_ms;     /* when this hop, or this copy of it, was handed to libcurl */
    int64_t active_ms;  /* last byte in or out; 0 until connected */
    curl_off_t bytes_moved;

    /* what has been received */
    int status;
    bool head_done; /* final headers are complete; what follows are trailers */
    size_t header_bytes;
    struct http_header *answer_headers;
    size_t n_headers, cap_headers;
    struct str_buf body;
    size_t body_bytes; /* decoded, collected or streamed */
    struct err *wrong; /* what a callback, or the loop, found wrong; NULL: nothing */
};

/* http.c */
void http_poke(struct http *h);                /* ends the poll; any thread */
void http_finish_job(struct http_transfer *t); /* job->done, transfer recycled */
void http_end_job(struct http_transfer *t);    /* the same with CANCELLED; no step */
/* A fresh multi handle: closes all kept connections.  Nothing may be running. */
void http_replace_multi(struct http *h);
bool http_is_cancelled(const struct http_transfer *t);
int64_t http_real_ms(void);

/* http_drive.c */
/* One turn: everything that can be done now, then sleeps until something can. */
void http_drive(struct http *h, int64_t until_ms);

/* http_sleep.c */
/* Blocks for `ms` of real time, until a socket of libcurl's is ready, or until bytes come from
 * `wake_fd` (-1: none). */
void http_sleep(struct http *h, int wake_fd, int64_t ms);
/* A new socket of this handle. */
void http_sleep_note_socket(struct http *h, int fd);

/* http_transfer.c */
struct http_transfer *http_transfer_new(struct http *h, struct http_job *job);
void http_transfer_free(struct http_transfer *t);
/* Gives the easy handle back, if there is one. */
void http_transfer_release(struct http_transfer *t);
/* A step without an answer: the first one, or after HTTP_WAIT. */
void http_transfer_step(struct http_transfer *t);
void http_transfer_begin(struct http_transfer *t);
/* The transfer left libcurl with `code`, or never got there (t->err is set). */
void http_transfer_complete(struct http_transfer *t, CURLcode code);
/* Ends it now; step is called once and its result is ignored. */
void http_transfer_cancel(struct http_transfer *t);
void http_transfer_detach(struct http_transfer *t);
bool http_transfer_is_endless(const struct http_transfer *t);
/* To be filled by who finds something wrong.  In the transfer's arena: most have none. */
struct err *http_transfer_wrong(struct http_transfer *t);
/* Tells the observer of the hop that ended (err NULL: answered), once; nothing when
 * it never left. */
void http_transfer_observe(struct http_transfer *t, const struct err *err);
/* The same for one that is given up: what had not been sent yet does not count. */
void http_transfer_observe_end(struct http_transfer *t, const struct err *err);
/* The head of an answer is in. */
void http_transfer_observe_head(struct http_transfer *t);
/* Hands the collected body over to an arena. */
char *http_transfer_take_body(struct http_transfer *t, struct arena *a);

/* http_send.c */
int http_send_setup(struct http_transfer *t, struct err *err) _warn_unused_;

/* http_receive.c */
void http_receive_reset(struct http_transfer *t);
void http_receive_setup(struct http_transfer *t);

/* http_errors.c */
int http_error_of(struct http_transfer *t, CURLcode code, struct err *err);
/* A connection that stood and ended before an answer; `why` may be NULL.  The reason "broken"
 * tells it from one that was never made: it is unknown whether the request was executed. */
int http_error_broken(struct http_transfer *t, const char *why, struct err *err);
const char *http_origin(struct http_transfer *t); /* "https://host:port", for messages */
/* "30 s", "1500 ms" */
const char *http_span(struct http_transfer *t, int64_t ms);

/* http_pair.c */
/* Copies of both texts (NULL if there is none) when the generation is another than *generation,
 * which is set; else false. */
bool http_pair_take(struct http_pair *p, struct arena *a, uint64_t *generation, char **ret_cert,
                    char **ret_key);
/* A private key that belongs to the first certificate; ret_life may be NULL. */
bool http_pair_fits(const char *cert_pem, size_t cert_n, const char *key_pem, size_t key_n,
                    struct http_pair_life *ret_life);
bool http_pem_is_cert(const char *pem, size_t n);

/* http_tls.c */
/* Looks at the files.  True when the client certificate or the CA changed. */
int http_tls_refresh(struct http *h, bool *ret_changed, struct err *err) _warn_unused_;
void http_tls_apply(struct http_transfer *t);
bool http_tls_has_files(const struct http *h);
void http_tls_done(struct tls_state *s);

#endif
