/* SPDX-License-Identifier: Apache-2.0 */
/* certs.h: which certificates the HTTPS port shows, from files that change or of our own making.
 *
 *     certs_new(&args, &c, &err)              flags are checked, files are read: errors of the
 *                                             start
 *     certs_first(c, names, &tls, &err)       what to begin with; slow when one must be made
 *     certs_poll(c, names, now)               NULL: continue with what you have
 *
 * Files are read again at most once a minute.  A pair that cannot be used (half written, the key of
 * another certificate) is said once in the log, and the last good one stays.  Source: controller.md
 * §3.2, 3.6.  One thread at a time. */
#ifndef TRIMTAB_SERVE_CERTS_H
#define TRIMTAB_SERVE_CERTS_H

#include <openssl/x509.h>
#include <stdbool.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/net/http_server_tls.h"
#include "controller/options/options.h"

struct certs;

#define CERTS_EVERY_MS ((int64_t)60 * 1000)

/* `options` and `clock` must live longer.  With --cert-dir and nothing in it a certificate is made
 * here and written, so that a folder that cannot be written is an error of the start.  INVALID,
 * NOT_FOUND, FORBIDDEN: which flag, which file. */
int certs_new(const struct options *options, struct clock *clock, struct certs **ret,
              struct err *err) _warn_unused_;
void certs_free(struct certs *c); /* NULL is fine */
/* `names`: CAs that are sent to clients; NULL: none.  The caller owns the result. */
int certs_first(struct certs *c, const STACK_OF(X509_NAME) * names, struct server_tls **ret,
                struct err *err) _warn_unused_;
/* A new one when files or `names` have changed, or our own one ends soon; else NULL.  Looks at
 * files when they were last looked at a minute ago, or when `now`. */
struct server_tls *certs_poll(struct certs *c, const STACK_OF(X509_NAME) * names, bool now);

#endif
