/* SPDX-License-Identifier: Apache-2.0 */
/* aws_call.h: one call of AWS' Query protocol, from parameters to a decoded answer, with signing,
 * retries and delays.
 *
 * A call is a small state machine that is asked for its next request until it is done, so that the
 * same one serves a read (a job of common/net/http.h) and an operation of a plan (lb_op_run).  Done
 * here, for every caller: form encoding, SigV4 with credentials of aws_auth.h, the
 * cross-request delay (2.10), attempts and back-off (2.9), a clock that is off (2.8), credentials
 * that expired (2.2), error codes (3.3), paging (3.4), caps on bodies.  Errors: err->reason is AWS'
 * code ("DependencyViolation"), the message has AWS' text, the action, what it was about and the
 * request id; the codes are those of aws_error_code().  Thread-safe where several calls share a
 * client.
 * Source: docs/spec/aws.md 2.7 to 2.10, 3. */
#ifndef TRIMTAB_AWS_CALL_H
#define TRIMTAB_AWS_CALL_H

#include "common/base/arena.h"
#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/net/http.h"
#include "providers/aws/auth/aws_endpoint.h"
#include "providers/aws/model/aws_xml.h"

#include <trimtab/provider.h>

/* "ec2", "elb", "elbv2", "sts": in plans and logs. */
const char *aws_api_name(enum aws_api api);

struct aws_auth;
struct aws_client;
struct aws_client_config {
    const struct tt_host *host; /* metrics (14.2) and logs; may be NULL in tests */
    struct clock *clock;
    struct aws_auth *auth;
    struct budgets *budgets; /* of aws_budget_limits; NULL: requests are sent as they come */
    const char *region;
    struct aws_endpoint endpoints[AWS_APIS]; /* STS is not called by this */
    /* http_config.answers_once: a server that cannot be reached is not tried again */
    bool answers_once;
    int max_attempts; /* aws_profile_max_attempts(), 20 at most; 0: 3 */
};
/* Strings are copied.  Owns delay and retry budget per API, and the clock's offset. */
struct aws_client *aws_client_new(const struct aws_client_config *cfg) _warn_unused_;
void aws_client_free(struct aws_client *c); /* NULL is fine */

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
    bool background;       /* a read without a waiting user: others pass it (tt_call.background) */
    struct cancel *cancel; /* of a program that brings credentials; may be NULL */
    /* Told of each page (NextToken, Marker), the last one included; false: enough (err may be set).
     * NULL: there are no pages, or only the first one counts. */
    bool (*on_page)(struct aws_call *c, const struct aws_node *root, struct err *err);
    /* With a path ("LoadBalancers/member"): the elements there come here one by one, in order, as
     * the answer arrives, which is never held whole; they are gone when it returns.  False: not to
     * be used (err says why; after ERR_TRANSIENT it is asked for again).  With on_page, an answer
     * without the path's first element is none. */
    const char *items;
    bool (*on_item)(struct aws_call *c, const struct aws_node *item, struct err *err);
    /* With `items`: told when those since the last on_page() do not count, because the answer broke
     * off and is asked for again. */
    void (*on_restart)(struct aws_call *c);
    void *arg;
    /* outcome */
    /* of the last answer, arena's: what is around the members ("DescribeLoadBalancersResult", of
     * EC2 the document itself) */
    const struct aws_node *root;
    const char *request_id; /* of the last answer; NULL: it had none */
    unsigned requests;      /* sent so far: attempts and pages */
    /* a mutating call that failed, or was tried again, may have taken effect: an answer was lost */
    bool maybe_done;
    /* internal; zero it */
    struct aws_call_state {
        int attempts;          /* of this page */
        unsigned pages;        /* that have come */
        int64_t began_ms;      /* of the call */
        int64_t not_before_ms; /* of the next attempt */
        int64_t sent_ms;
        int64_t sent_wall_us;
        int64_t skew_us;  /* with which the attempt was signed */
        const char *page; /* token of the page that is asked for */
        const char *mark; /* a token from before, to see lists that go in a circle */
        int cost;         /* what the attempt took from the budget of retries */
        bool sent;        /* an attempt is in progress */
        bool has_turn;    /* the attempt's token of the budget was taken */
        bool delayed;     /* this page's share of the delay across requests was asked for */
        bool probes;      /* without a skew that is known */
        bool skew_tried;
        bool fresh_tried;
        struct aws_call_more *more;
    } state;
};
/* The next request into *req, or the outcome into *err: HTTP_SEND, HTTP_WAIT, HTTP_DONE.
 * `unit` in [0,1). */
enum http_next aws_call_step(struct aws_call *c, struct http_request *req,
                             const struct http_response *resp, int64_t now_ms, int64_t wall_us,
                             double unit, struct err *err);
/* Runs calls side by side and blocks; each one's outcome is in errs[i].  Returns the first
 * failure's code. */
int aws_calls_run(struct http *http, struct cancel *cancel, double (*unit)(void *arg), void *arg,
                  struct aws_call *const *calls, size_t n, struct err *errs);
/* An AWS error code and status as what the caller can act on (3.3). */
int aws_error_code(enum aws_api api, const char *action, int status, const char *code);

#endif
