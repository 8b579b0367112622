/* SPDX-License-Identifier: Apache-2.0 */
/* throttle.c: how many requests each API takes: buckets of tokens by service and cost.
 *
 * Off unless the settings say so ("sim.aws": {"throttle": {"ec2": {"writes": {"bucket": 50,
 * "per_second": 5}}}}); the costs are reads, unfiltered, writes, heavy and creates.  Without a
 * token EC2 answers 503 RequestLimitExceeded, ELB and ELBv2 400 Throttling; without a time for the
 * next try.  Source: docs/spec/aws.md §2.9, §9.3. */
#include "sim/aws/aws.h"

struct bucket {
    int64_t milli; /* thousandths of tokens */
    int64_t at_ms; /* when it was so full */
};

/* A read of EC2 that asks for everything at once. */
static bool is_unfiltered(struct amz_request *q)
{
    if (q->service != AMZ_EC2 || q->action->cost != AMZ_READS) {
        return false;
    }
    json_object_object_foreach(q->in, name, value)
    {
        bool narrows = str_eq(name, "MaxResults") || str_eq(name, "NextToken") || json_len(value);
        if (narrows) {
            return false;
        }
    }
    return true;
}

static const char *cost_name(struct amz_request *q)
{
    static const char *const names[] = {
        [AMZ_READS] = "reads",
        [AMZ_WRITES] = "writes",
        [AMZ_HEAVY] = "heavy",
        [AMZ_CREATES] = "creates",
    };
    return is_unfiltered(q) ? "unfiltered" : names[q->action->cost];
}

/* The bucket as full as it is now. */
static struct bucket *bucket_of(struct aws *aws, const char *key, int64_t size, int64_t per_second)
{
    int64_t now = clock_now_ms(sim_clock(aws->sim));
    struct bucket *b = map_get(aws->buckets, key);
    if (!b) {
        b = xcalloc(1, sizeof(*b));
        *b = (struct bucket){.milli = size * 1000, .at_ms = now};
        map_set(aws->buckets, key, b);
    }
    int64_t passed = now - b->at_ms < 3600000 ? now - b->at_ms : 3600000;
    int64_t full = size * 1000, level = b->milli + passed * per_second;
    b->milli = level < full ? level : full;
    b->at_ms = now;
    return b;
}

bool amz_throttle(struct amz_request *q)
{
    const char *service = amz_dialects[q->service].key, *cost = cost_name(q);
    struct json_object *throttle = json_member(q->aws->settings, "throttle");
    struct json_object *settings = json_member(json_member(throttle, service), cost);
    int64_t size = json_int(settings, "bucket", 0);
    int64_t per_second = json_int(settings, "per_second", 1);
    if (size < 1 || size > 1000000 || per_second < 1 || per_second > 1000000) {
        return true;
    }
    struct bucket *b =
        bucket_of(q->aws, arena_printf(q->a, "%s.%s", service, cost), size, per_second);
    if (b->milli >= 1000) {
        b->milli -= 1000;
        return true;
    }
    return q->service == AMZ_EC2 ? amz_refuse(q, "RequestLimitExceeded", "Request limit exceeded.")
                                 : amz_refuse(q, "Throttling", "Rate exceeded");
}
