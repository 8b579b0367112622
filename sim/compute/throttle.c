/* SPDX-License-Identifier: Apache-2.0 */
/* throttle.c: how many requests a minute the project may send of each group.
 *
 * Off unless the settings say so ("sim.gce": {"throttle": {"per_minute": 1500}}).  Groups are gets, lists, mutations and reads of
 * operations, apart for what is global and what lies in a region or zone.  A minute is one of the clock: at its start
 * every group is counted anew.  What is over the limit is refused with 403 rateLimitExceeded, without Retry-After.
 * Source: compute v1 "API rate quotas" (1,500 a minute each by default). */
#include "sim/compute/compute.h"

#include <string.h>

#define MINUTE_MS 60000

struct window {
    int64_t minute;
    int64_t n;
};

static bool is_verb(const struct request *q, const char *const *verbs)
{
    for (size_t i = 0; verbs[i]; i++) {
        if (str_eq(q->verb, verbs[i])) {
            return true;
        }
    }
    return false;
}

static const char *group_of(const struct request *q)
{
    static const char *const lists[] = {"list", "aggregatedList", "listNetworkEndpoints",
                                        "listInstances", NULL};
    static const char *const gets[] = {"get", "getHealth", NULL};
    bool local = q->scope == SCOPE_REGION || q->scope == SCOPE_ZONE;
    if (str_eq(q->collection, "operations")) {
        return local ? "operations per region" : "operations";
    }
    if (is_verb(q, lists)) {
        return local ? "lists per region" : "lists";
    }
    if (is_verb(q, gets)) {
        return local ? "reads per region" : "reads";
    }
    return local ? "queries per region" : "queries";
}

bool ce_throttle(struct request *q)
{
    int64_t most = json_int(ce_setting(q->c, "throttle"), "per_minute", 0);
    if (most < 1) {
        return true;
    }
    const char *group = group_of(q);
    int64_t minute = clock_now_ms(sim_clock(q->c->sim)) / MINUTE_MS;
    struct window *w = map_get(q->c->windows, group);
    if (!w) {
        w = xcalloc(1, sizeof(*w));
        map_set(q->c->windows, group, w);
    }
    w->n = w->minute == minute ? w->n + 1 : 1;
    w->minute = minute;
    return w->n <= most ||
           ce_refuse(&q->refusal, q->a, 403, "rateLimitExceeded",
                     "Quota exceeded for quota group '%s' and limit '%s per minute' of service "
                     "'compute.googleapis.com' for consumer 'project:%s'.",
                     group, group, q->project);
}
