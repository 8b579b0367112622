/* SPDX-License-Identifier: Apache-2.0 */
/* access.h: who calls our HTTPS port, and whether they may: delegated authentication and
 * authorization.
 *
 *     struct access *a = access_new(&args);
 *     if (!access_decide(a, &req, &verdict)) {      from memory: always-allowed paths,
 *                                                   certificates, caches
 *         access_ask(a, &req, &verdict);            blocks: asks the API server; from another
 *                                                   thread
 *     }
 *
 * Authentication, in this order: the aggregation proxy's headers behind its certificate; a client
 * certificate; a bearer token (TokenReview); anonymous when nothing was shown.  What is shown and
 * is bad is 401.  Authorization: always-allowed paths, always-allowed groups (system:masters),
 * SubjectAccessReview.  CAs and header names come from flags, or from the ConfigMap
 * kube-system/extension-apiserver-authentication, which is watched; a thread of this module does
 * that.
 * Source: controller.md §3.2 (flags), §3.6.  Thread-safe.  Tokens never reach a log
 * or an answer. */
#ifndef TRIMTAB_SERVE_ACCESS_H
#define TRIMTAB_SERVE_ACCESS_H

#include <openssl/x509.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/attr.h"
#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "controller/kube/client/config.h"
#include "controller/metrics/metrics.h"
#include "controller/options/options.h"

struct access;

struct access_args {
    /* §3.2 "Delegated authentication", "authorization"; must live longer */
    const struct options *options;
    const char *user_agent;
    /* The process's own configuration: used where a flag names the file that it was made of, so
     * that a credential plugin runs once for all.  NULL: each flag's file is read.
     * Must live longer. */
    struct kube_config *own;
    const char *own_file;    /* "": the pod's files */
    struct metrics *metrics; /* authentication_*, authorization_*, apiserver_delegated_* (§3.7) */
    struct clock *clock;
    struct rng *rng;
};
/* A request as far as access is concerned.  Borrowed for the call. */
struct access_request {
    struct arena *a;    /* for texts of the verdict; used by one thread at a time */
    const char *method; /* "GET" */
    const char *path;   /* decoded, without query */
    /* The client's certificate and what it sent with it; NULL: it showed none.  Not verified
     * by the handshake. */
    X509 *cert;
    STACK_OF(X509) * chain;
    /* The i-th value of a header, in the order of arrival; NULL: no more.  Names without case.
     * `i`-th header whose name begins with `name` when `prefix`: then *ret_name is
     * its full name. */
    const char *(*header)(void *arg, const char *name, bool prefix, size_t i,
                          const char **ret_name);
    void *header_arg;
};
struct access_verdict {
    int status; /* 0: continue; 401, 403, 500 */
    /* the Status' message when not 0: "Unauthorized", "forbidden: User \"x\" cannot get path …" */
    const char *message;
    const char *reason; /* "Unauthorized", "Forbidden", "InternalError" */
    const char *user;   /* for the access log; "" unknown */
};

/* Reads files and the ConfigMap, and starts the thread that watches it.  INVALID, NOT_FOUND: a file
 * of the flags cannot be used.  FORBIDDEN and others: the ConfigMap cannot be read, and
 * --authentication-tolerate-lookup-failure is off; an API server that cannot be reached is waited
 * for by the thread instead (TRANSIENT never comes).  Blocks for one request. */
int access_new(const struct access_args *args, struct access **ret, struct err *err) _warn_unused_;
/* Ends the thread, calls in progress with it. */
void access_free(struct access *a);

/* True: *ret is filled.  False: the API server must be asked.  Never blocks. */
bool access_decide(struct access *a, const struct access_request *req, struct access_verdict *ret);
/* As above, and asks (10 s at most for each question).  `cancel` ends it (500). */
void access_ask(struct access *a, const struct access_request *req, struct cancel *cancel,
                struct access_verdict *ret);
/* Names of the CAs that a client's certificate should come from, for the handshake; NULL:
 * any.  The caller frees. */
STACK_OF(X509_NAME) * access_client_ca_names(struct access *a);

#endif
