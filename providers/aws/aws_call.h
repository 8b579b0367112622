/* SPDX-License-Identifier: Apache-2.0 */
/* aws_call.h: one call of AWS' Query protocol, from parameters to a decoded answer, with signing, retries and delays.
 *
 * A call is a small state machine that is asked for its next request until it is done, so that the same one serves a read
 * (a job of common/net/http.h) and an operation of a plan (lb_op_run).  What is done here, for everybody: form encoding,
 * SigV4 with credentials of aws_auth.h, the cross-request delay (2.10), attempts and back-off (2.9), a clock that is off
 * (2.8), credentials that expired (2.2), error codes (3.3), paging (3.4), caps on bodies.
 * Errors: err->reason is AWS' code ("DependencyViolation"), the message has AWS' text, the action and the request id; the
 * codes are those of aws_error_code().  Thread-safe where several calls share a client.
 * Source: docs/spec/aws.md 2.7 to 2.10, 3. */
#ifndef TRIMTAB_AWS_CALL_H
#define TRIMTAB_AWS_CALL_H

#include "common/base/arena.h"
#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/net/http.h"
#include "providers/aws/aws_endpoint.h"
#include "providers/aws/aws_xml.h"

#include <trimtab/provider.h>

/* "ec2", "elb", "elbv2", "sts": in plans and logs. */
const char *aws_api_name(enum aws_api api);

struct aws_auth;
struct aws_client;
struct aws_client_config {
    const struct tt_host *host; /* metrics (14.2) and logs; may be NULL in tests */
    struct clock *clock;
    struct aws_auth *auth;
    const char *region;
    struct aws_endpoint endpoints[AWS_APIS]; /* STS is not called by this */
};
/* Strings are copied.  Owns delay, retry budget, clock offset per API. */
struct aws_client *aws_client_new(const struct aws_client_config *cfg) _warn_unused_;
void aws_client_free(struct aws_client *c);

struct aws_pair {
    const char *name;  /* wire name: "LoadBalancerNames.member.1" */
    const char *value; /* not encoded */
};
struct aws_call {
    /* given; borrowed until it is done */
    struct aws_client *client;
    struct arena *a; /* requests and answers */
    enum aws_api api;
    const char *action;
    const struct aws_pair *pairs;
    size_t n_pairs;
    bool mutates;
    const struct tt_call *call; /* deadline; may be NULL */
    /* Told of each page; false: enough (err may be set).  NULL: only the last answer counts and `root` is it. */
    bool (*on_page)(struct aws_call *c, const struct aws_node *root, struct err *err);
    void *arg;
    /* outcome */
    const struct aws_node *root; /* of the last answer, arena's */
    const char *request_id;
    unsigned requests; /* sent so far: attempts and pages */
    bool maybe_done;   /* a mutating call that failed may have taken effect: its answer was lost */
    /* internal; zero it */
    struct aws_call_state {
        int phase;
        int attempts;
        int64_t not_before_ms;
        int64_t sent_us;
        const char *page;
        bool skew_tried;
        bool fresh_tried;
        bool delayed;
        bool holds_budget;
        bool timed_out;
        void *credentials;
    } state;
};
/* The next request into *req, or the outcome into *err: HTTP_SEND, HTTP_WAIT, HTTP_DONE.  `unit` in [0,1). */
enum http_next aws_call_step(struct aws_call *c, struct http_request *req,
                             const struct http_response *resp, int64_t now_ms, int64_t wall_us,
                             double unit, struct err *err);
/* Runs calls side by side and blocks; each one's outcome is in errs[i].  Returns the first failure's code. */
int aws_calls_run(struct http *http, struct cancel *cancel, double (*unit)(void *arg), void *arg,
                  struct aws_call *const *calls, size_t n, struct err *errs);
/* An AWS error code and status as what the caller can act on (3.3). */
int aws_error_code(enum aws_api api, const char *action, int status, const char *code);

#endif
