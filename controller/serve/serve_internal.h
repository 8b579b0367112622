/* SPDX-License-Identifier: Apache-2.0 */
/* serve_internal.h: shared by the files of the HTTPS server only.
 *
 *   serve.c          the port, the thread, its loop, what wakes it
 *   serve_request.c  one request: access → page → answer
 *   ask_pool.c       questions about access that block
 *   certs.c, self_signed.c, tls_flags.c   what is shown in the handshake
 *   path.c, headers.c, page.c             helpers without state */
#ifndef TRIMTAB_SERVE_SERVE_INTERNAL_H
#define TRIMTAB_SERVE_SERVE_INTERNAL_H

#include <event2/event.h>
#include <pthread.h>
#include <stdatomic.h>

#include "common/net/http_server.h"
#include "controller/serve/ask_pool.h"
#include "controller/serve/certs.h"
#include "controller/serve/serve.h"

/* Sent with every answer, also with refusals of the parser. */
#define SERVE_HEADERS "Cache-Control: no-cache, private\r\n"

struct serve {
    struct serve_args args;
    struct page *pages; /* heap; fixed once the thread runs */
    size_t n_pages;
    /* the loop's thread alone, once it runs */
    struct event_base *base;
    struct http_server *http;
    struct certs *certs;
    struct ask_pool *pool; /* NULL: no access to ask */
    struct event *wake;
    struct event *minute; /* certificates */
    /* any thread */
    int wake_fd; /* eventfd: something below changed, the clock moved, or the pool has answers */
    atomic_bool ends;
    atomic_bool reload;
    /* the owner's */
    pthread_t thread;
    bool started;
    int clock_id;
};

/* The handler of the HTTP server; `arg` is the struct serve. */
void serve_request(void *arg, struct http_req *req);

#endif
