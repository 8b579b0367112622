/* SPDX-License-Identifier: Apache-2.0 */
/* access_api.h: putting a question to the API server: TokenReview, SubjectAccessReview, the
 * ConfigMap.
 *
 * Owns a configuration and a client of its own (upstream: 200 requests a second, 400 at once).
 * Retries by access_review_rules.h, ten seconds in all.  Thread-safe. */
#ifndef TRIMTAB_SERVE_ACCESS_API_H
#define TRIMTAB_SERVE_ACCESS_API_H

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "controller/kube/client/client.h"
#include "controller/metrics/metrics.h"

struct access_api;

struct access_api_args {
    const char *kubeconfig; /* "": in-cluster */
    /* used when `kubeconfig` is `own_file`; NULL: never.  Must live longer */
    struct kube_config *own;
    const char *own_file;
    const char *flag;   /* whose value that is, for messages: "--authentication-kubeconfig" */
    const char *what;   /* label of its metrics: "authn", "authz" */
    bool tells_timeout; /* "timeout=10s" in the query, as upstream's SubjectAccessReviews have it */
    const char *user_agent;
    struct metrics *metrics;
    struct clock *clock;
    struct rng *rng;
    struct cancel *cancel; /* ends every call */
};
/* NOT_FOUND, INVALID: the file of the flag cannot be used.  Without a flag and outside a cluster
 * *ret is NULL, and *err says so although it returns ERR_OK. */
int access_api_new(const struct access_api_args *args, struct access_api **ret,
                   struct err *err) _warn_unused_;
void access_api_free(struct access_api *api); /* NULL is fine */
/* The observer of its requests, for a watch with its configuration (object_watch.h); `api`
 * is its argument. */
void access_api_observe(void *api, const struct kube_sent *sent);
const struct kube_config *access_api_config(const struct access_api *api);

struct access_post {
    const char *path;
    const char *body;
    const char *secret; /* part of the body that must not be logged; NULL: none */
};
/* The answer's body in the arena.  Errors as client.h's. */
int access_api_post(struct access_api *api, struct arena *a, const struct access_post *post,
                    struct cancel *cancel, struct kube_response *ret,
                    struct err *err) _warn_unused_;
/* One GET, no retries. */
int access_api_get(struct access_api *api, struct arena *a, const char *path,
                   struct kube_response *ret, struct err *err) _warn_unused_;

#endif
