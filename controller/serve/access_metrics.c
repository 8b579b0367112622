/* SPDX-License-Identifier: Apache-2.0 */
/* access_metrics.c: the table of access_metrics.h, and the only code that touches its series. */
#include "controller/serve/access_metrics.h"

#include <stdio.h>

#include "controller/serve/access_rules.h"

#define LABELS(l)  .labels = (l), .n_labels = sizeof(l) / sizeof((l)[0])
#define BUCKETS(b) .buckets = (b), .n_buckets = sizeof(b) / sizeof((b)[0])
#define CODE_TEXT  16 /* bytes of a status as text */

static const double doubling[] = {0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128,
                                  0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384};
static const double request_seconds[] = {0.25, 0.5, 0.7, 1, 1.5, 3, 5, 10};
static const double cache_seconds[] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
static const double lifetimes[] = {0,      1800,   3600,   7200,    21600,   43200,    86400,
                                   172800, 345600, 604800, 2592000, 7776000, 15552000, 31104000};

static const char *const result_label[] = {"result"};
static const char *const user_label[] = {"username"};
static const char *const code_label[] = {"code"};
static const char *const status_label[] = {"status"};

const struct tt_metric access_metrics[] = {
    {.name = "authentication_attempts",
     .type = TT_METRIC_COUNTER,
     .help = "[ALPHA] Requests by how their authentication ended: success, failure, error",
     LABELS(result_label)},
    {.name = "authenticated_user_requests",
     .type = TT_METRIC_COUNTER,
     .help = "[ALPHA] Authenticated requests by kind of user",
     LABELS(user_label)},
    {.name = "authentication_duration_seconds",
     .type = TT_METRIC_HISTOGRAM,
     .help = "[ALPHA] Seconds that authentication took, by result",
     LABELS(result_label),
     BUCKETS(doubling)},
    {.name = "authorization_attempts_total",
     .type = TT_METRIC_COUNTER,
     .help = "[ALPHA] Requests by how their authorization ended: allowed, denied, no-opinion, "
             "error",
     LABELS(result_label)},
    {.name = "authorization_duration_seconds",
     .type = TT_METRIC_HISTOGRAM,
     .help = "[ALPHA] Seconds that authorization took, by result",
     LABELS(result_label),
     BUCKETS(doubling)},
    {.name = "apiserver_delegated_authn_request_total",
     .type = TT_METRIC_COUNTER,
     .help = "[ALPHA] TokenReviews that were sent, by status code",
     LABELS(code_label)},
    {.name = "apiserver_delegated_authn_request_duration_seconds",
     .type = TT_METRIC_HISTOGRAM,
     .help = "[ALPHA] Seconds that a TokenReview took, by status code",
     LABELS(code_label),
     BUCKETS(request_seconds)},
    {.name = "apiserver_delegated_authz_request_total",
     .type = TT_METRIC_COUNTER,
     .help = "[ALPHA] SubjectAccessReviews that were sent, by status code",
     LABELS(code_label)},
    {.name = "apiserver_delegated_authz_request_duration_seconds",
     .type = TT_METRIC_HISTOGRAM,
     .help = "[ALPHA] Seconds that a SubjectAccessReview took, by status code",
     LABELS(code_label),
     BUCKETS(request_seconds)},
    {.name = "apiserver_client_certificate_expiration_seconds",
     .type = TT_METRIC_HISTOGRAM,
     .help = "[ALPHA] Seconds that certificates shown by clients have still to live",
     BUCKETS(lifetimes)},
    {.name = "authentication_token_cache_request_total",
     .type = TT_METRIC_COUNTER,
     .help = "[ALPHA] Tokens that were looked up, by whether they were known: hit, miss",
     LABELS(status_label)},
    {.name = "authentication_token_cache_request_duration_seconds",
     .type = TT_METRIC_HISTOGRAM,
     .help = "[ALPHA] Seconds that it took to look a token up, by hit and miss",
     LABELS(status_label),
     BUCKETS(cache_seconds)},
    {.name = "authentication_token_cache_fetch_total",
     .type = TT_METRIC_COUNTER,
     .help = "[ALPHA] Tokens that the API server was asked about, by result: ok, error",
     LABELS(status_label)},
    {.name = "authentication_token_cache_active_fetch_count",
     .type = TT_METRIC_GAUGE,
     .help = "[ALPHA] Token reviews in flight (in_flight), and callers that wait for the review of "
             "another one (blocked)",
     LABELS(status_label)},
};
const size_t access_metrics_n = ARRAY_LEN(access_metrics);

void access_metrics_register(struct metrics *m)
{
    (void)metrics_register(m, access_metrics, access_metrics_n); /* false: they are there */
}

static double seconds(int64_t ms)
{
    return (double)ms / 1000.0;
}

static void count(struct metrics *m, const char *name, const char *label, const char *value)
{
    const struct tt_kv kv = {.key = label, .value = value};
    metrics_add(m, name, &kv, 1, 1);
}

static void time_it(struct metrics *m, const char *name, const char *label, const char *value,
                    int64_t took_ms)
{
    const struct tt_kv kv = {.key = label, .value = value};
    metrics_observe(m, name, &kv, 1, seconds(took_ms));
}

void access_metrics_authn(struct metrics *m, const char *result, const char *user, int64_t took_ms)
{
    count(m, "authentication_attempts", "result", result);
    time_it(m, "authentication_duration_seconds", "result", result, took_ms);
    if (user != NULL) {
        count(m, "authenticated_user_requests", "username", access_user_bucket(user));
    }
}

void access_metrics_authz(struct metrics *m, const char *result, int64_t took_ms)
{
    count(m, "authorization_attempts_total", "result", result);
    time_it(m, "authorization_duration_seconds", "result", result, took_ms);
}

void access_metrics_request(struct metrics *m, const char *what, int status, int64_t took_ms)
{
    bool authn = what[4] == 'n'; /* "authn", "authz" */
    char code[CODE_TEXT] = "<error>";
    if (status != 0) {
        (void)snprintf(code, sizeof code, "%d", status);
    }
    count(m,
          authn ? "apiserver_delegated_authn_request_total"
                : "apiserver_delegated_authz_request_total",
          "code", code);
    time_it(m,
            authn ? "apiserver_delegated_authn_request_duration_seconds"
                  : "apiserver_delegated_authz_request_duration_seconds",
            "code", code, took_ms);
}

void access_metrics_certificate(struct metrics *m, int64_t remaining_s)
{
    metrics_observe(m, "apiserver_client_certificate_expiration_seconds", NULL, 0,
                    (double)remaining_s);
}

void access_metrics_token(struct metrics *m, bool hit, int64_t took_ms)
{
    const char *status = hit ? "hit" : "miss";
    count(m, "authentication_token_cache_request_total", "status", status);
    time_it(m, "authentication_token_cache_request_duration_seconds", "status", status, took_ms);
}

void access_metrics_token_fetch(struct metrics *m, bool ok)
{
    count(m, "authentication_token_cache_fetch_total", "status", ok ? "ok" : "error");
}

void access_metrics_token_active(struct metrics *m, size_t fetching, size_t waiting)
{
    static const char name[] = "authentication_token_cache_active_fetch_count";
    const struct tt_kv in_flight = {.key = "status", .value = "in_flight"};
    const struct tt_kv blocked = {.key = "status", .value = "blocked"};
    metrics_set(m, name, &in_flight, 1, (double)fetching);
    metrics_set(m, name, &blocked, 1, (double)waiting);
}
