/* SPDX-License-Identifier: Apache-2.0 */
/* serve.h: the HTTPS server of the controller: health, metrics, status (controller.md §3.5, 3.6).
 *
 *     serve_new(&args, &s, &err);       binds the port: an address in use is an error of the start
 *     serve_add_page(s, &page);         any number, before serve_start()
 *     serve_start(s, &err);             a thread of its own, with its own event loop
 *     serve_free(s);
 *
 * A request goes: limits → access (from memory, or by a small pool of threads that may block) → the
 * page's function in the loop's thread → answer.  The server outlives every app (a reload does not
 * close the port) and answers on standbys.  Certificates are re-read when their files change;
 * without any a self-signed one is made. */
#ifndef TRIMTAB_SERVE_SERVE_H
#define TRIMTAB_SERVE_SERVE_H

#include <stdint.h>

#include "common/base/attr.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "controller/metrics/metrics.h"
#include "controller/options/options.h"
#include "controller/serve/access.h"
#include "controller/serve/page.h"

struct serve;

struct serve_args {
    const struct options *options; /* §3.2 "Secure serving"; must live longer */
    struct access *access;   /* NULL: only always-allowed paths are served.  Must live longer */
    struct metrics *metrics; /* not used yet; may be NULL */
    struct clock *clock;
    struct rng *rng; /* not used yet; may be NULL */
};

/* Beyond them clients are refused, or closed.  docs/operations.md has them as a table. */
#define SERVE_MAX_CONNECTIONS 10000 /* fewer when the process may open fewer files */
#define SERVE_MAX_HANDSHAKES  1000  /* in progress */
#define SERVE_MAX_HEADERS     ((size_t)64 * 1024)
#define SERVE_MAX_BODY        ((size_t)64 * 1024)
#define SERVE_MAX_HELD        ((size_t)64 * 1024 * 1024) /* of all clients together */
#define SERVE_HANDSHAKE_MS    ((int64_t)10 * 1000)
#define SERVE_READ_MS         ((int64_t)32 * 1000) /* a request, whole */
#define SERVE_SEND_MS         ((int64_t)60 * 1000) /* an answer, whole */
#define SERVE_IDLE_MS         ((int64_t)90 * 1000)

/* Raises the soft limit of open files to the hard one, as Go's programs do.  IN_USE: the port is
 * taken; INVALID, NOT_FOUND, FORBIDDEN: address, certificate files, names of ciphers …: which flag,
 * and what is allowed. */
int serve_new(const struct serve_args *args, struct serve **ret, struct err *err) _warn_unused_;
/* Copied; its path and arg must live as long as the server. */
void serve_add_page(struct serve *s, const struct page *page);
/* BUG: no thread. */
int serve_start(struct serve *s, struct err *err) _warn_unused_;
uint16_t serve_port(const struct serve *s);
/* Reads the certificates' files now instead of within a minute.  Any thread; does not wait. */
void serve_reload(struct serve *s);
/* Closes all connections and ends the threads.  NULL is fine. */
void serve_free(struct serve *s);

#endif
