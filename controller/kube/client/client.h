/* SPDX-License-Identifier: Apache-2.0 */
/* client.h: single requests to the API server, for sync workers, the event writer and sub-commands.
 *
 * Blocking, from any thread; handles come from a pool.  Adds credentials, impersonation,
 * User-Agent; waits for the client-side rate limit; retries as §4.5 says (at most 10 times, only
 * with Retry-After, GET on broken connections); turns Status bodies into errors (§4.6).  On 401 a
 * token file is read again once.
 * Source: controller.md §4.5–4.7. */
#ifndef TRIMTAB_KUBE_CLIENT_H
#define TRIMTAB_KUBE_CLIENT_H

#include "common/base/arena.h"
#include "common/base/cancel.h"
#include "common/base/err.h"
#include "common/data/json.h"
#include "controller/kube/client/config.h"
#include "controller/kube/model/sent.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Content types of a PATCH (§4.7). */
#define KUBE_STRATEGIC_PATCH "application/strategic-merge-patch+json"
#define KUBE_MERGE_PATCH     "application/merge-patch+json"
#define KUBE_JSON_PATCH      "application/json-patch+json"

struct kube_client;

struct kube_client_args {
    const struct kube_config *config; /* must live longer */
    /* "cloud-controller-manager/v1.36.2 (linux/amd64) kubernetes/abcdef0/service-controller" */
    const char *user_agent;
    double qps; /* < 0: no limit; 0: 5 */
    int burst;  /* 0: 10 */
    struct clock *clock;
    struct cancel *cancel;         /* ends everything; may be NULL */
    bool (*may_mutate)(void *arg); /* asked before each write; NULL: always */
    void *may_mutate_arg;
    kube_sent_fn *observe; /* required */
    void *observe_arg;
};
struct kube_request {
    const char *method;
    const char *path;         /* "/api/v1/namespaces/demo/services/web/status" */
    const char *query;        /* without '?', escaped; or NULL */
    const char *content_type; /* of the body; NULL: application/json */
    const char *body;         /* text, or NULL */
    int64_t timeout_ms;       /* 0: 60,000 */
    bool timeout_untold;      /* timeout_ms is ours alone: no "timeout=" in the query */
    size_t max_body;          /* of the answer; 0: 32 MiB */
    bool no_retry;
    const char *secret; /* a text of the body that no error and no log line may show; NULL: none */
};
struct kube_response {
    int status;
    /* in the arena; what is nested deeper than 60 levels stands as 0 (json_shallow.h) */
    const char *body;
    size_t body_len;
};

struct kube_client *kube_client_new(const struct kube_client_args *args) _warn_unused_;
void kube_client_free(struct kube_client *c);
/* Errors carry http_status, reason ("Conflict") and the Status' message; codes: 404 NOT_FOUND, 409
 * EXISTS (AlreadyExists) or CONFLICT, 422 and 400 INVALID, 401 AUTH, 403 FORBIDDEN, 429 THROTTLED,
 * others TRANSIENT. */
int kube_client_do(struct kube_client *c, struct arena *a, const struct kube_request *req,
                   struct cancel *cancel, struct kube_response *ret, struct err *err) _warn_unused_;
/* Number of requests that its rate limit would allow now; below 0: number of waiting ones.  False:
 * it has none. */
bool kube_client_tokens(struct kube_client *c, double *ret);
const struct kube_config *kube_client_config(const struct kube_client *c);
const char *kube_client_agent(const struct kube_client *c); /* its User-Agent */
/* Its observer and, in *ret_arg, the argument of that: for a watch beside it (object_watch.h). */
kube_sent_fn *kube_client_observer(const struct kube_client *c, void **ret_arg);
/* Turns an error answer into *err as above; also for the reflectors.  Returns the code. */
int kube_status_error(int http_status, const char *body, size_t n, const char *method,
                      struct err *err);
/* True for 410 Gone/Expired and for "Too large resource version" (§4.6). */
bool kube_error_is_expired(const struct err *err);
bool kube_error_is_too_large_rv(const struct err *err);

/* "/api/v1/namespaces/NS/RESOURCE/NAME/SUB" or "/apis/GROUP/VERSION/…"; ERR_INVALID for names that
 * cannot be one segment: ".", "..", and those with '/', '%', '?', '#' or a control character. */
int kube_path(struct arena *a, const char *api_version, const char *ns, const char *resource,
              const char *name, const char *sub, char **ret, struct err *err) _warn_unused_;

/* GET /healthz until 200: interval 1 s, at most timeout_ms (§3.4 WaitForAPIServer).  A try that
 * cannot be sent, without credentials, is one, too.  Blocks that long unless it succeeds or is
 * cancelled.  `progress` may be NULL. */
int kube_client_wait_ready(struct kube_client *c, int64_t timeout_ms,
                           void (*progress)(void *arg, const struct err *last), void *arg,
                           struct err *err) _warn_unused_;

#endif
