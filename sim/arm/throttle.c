/* SPDX-License-Identifier: Apache-2.0 */
/* throttle.c: how many requests the resource manager lets a subscription make: buckets of tokens
 * for reads, writes and deletions.
 *
 * Off unless the settings say so ("sim.azure": {"throttle": {"writes": {"bucket": 200,
 * "per_second": 10}}}).  Each request takes a token; without one it is 429 with the time until the
 * next.  A header of each answer has the remaining number, for clients that pace their requests.
 * Waits and polls count, as they do in the cloud.  Source: docs/spec/azure.md §3.1, §3.6, §16 item
 * 10; ARM's article on throttling for the three kinds. */
#include "sim/arm/arm.h"

#include <stdio.h>
#include <string.h>

#define UNLIMITED 11999 /* what a quiet subscription was answered for years */

struct bucket {
    int64_t milli; /* thousandths of tokens */
    int64_t at_ms; /* when it was so full */
};

/* "reads", "writes", "deletes" */
static const char *sort_of(const struct arm_request *q)
{
    const char *method = q->call->method;
    return str_eq(method, "GET") || str_eq(method, "HEAD") ? "reads"
           : str_eq(method, "DELETE")                      ? "deletes"
                                                           : "writes";
}

static struct json_object *settings_of(const struct arm_request *q)
{
    return json_member(json_member(q->arm->settings, "throttle"), sort_of(q));
}

/* The bucket as full as it is now. */
static struct bucket *bucket_of(struct arm_request *q, int64_t size, int64_t per_second)
{
    char key[32];
    int64_t now = clock_now_ms(sim_clock(q->arm->sim));
    (void)snprintf(key, sizeof(key), "%s", sort_of(q));
    struct bucket *b = map_get(q->arm->buckets, key);
    if (!b) {
        b = xcalloc(1, sizeof(*b));
        *b = (struct bucket){.milli = size * 1000, .at_ms = now};
        map_set(q->arm->buckets, key, b);
    }
    int64_t passed = now - b->at_ms < 3600000 ? now - b->at_ms : 3600000;
    b->milli =
        b->milli + passed * per_second < size * 1000 ? b->milli + passed * per_second : size * 1000;
    b->at_ms = now;
    return b;
}

bool arm_throttle(struct arm_request *q)
{
    struct json_object *settings = settings_of(q);
    int64_t size = json_int(settings, "bucket", 0),
            per_second = json_int(settings, "per_second", 1);
    if (size < 1 || size > 1000000 || per_second < 1 || per_second > 1000000) {
        return true;
    }
    struct bucket *b = bucket_of(q, size, per_second);
    q->throttled = true;
    q->allowance = b->milli / 1000;
    if (q->allowance > 0) {
        b->milli -= 1000;
        q->allowance--;
        return true;
    }
    int64_t wait_ms = (1000 - b->milli + per_second - 1) / per_second;
    q->refusal.retry_after_s = (int)((wait_ms + 999) / 1000);
    return arm_refuse(q, 429, "SubscriptionRequestsThrottled",
                      "Number of '%s' requests for subscription '%s' exceeded. Please try again "
                      "after '%d' seconds after additional tokens are available.",
                      sort_of(q), q->arm->subscription, q->refusal.retry_after_s);
}

void arm_throttle_headers(struct arm_request *q)
{
    if (q->refusal.status && !q->throttled) {
        return;
    }
    http_req_add_header(
        q->call->req, arena_printf(q->a, "x-ms-ratelimit-remaining-subscription-%s", sort_of(q)),
        arena_printf(q->a, "%lld", (long long)(q->throttled ? q->allowance : UNLIMITED)));
}
