/* SPDX-License-Identifier: Apache-2.0 */
/* aws_client.c: see aws_client.h. */
#include "providers/aws/api/aws_client.h"

#include "common/base/str.h"

#include <stdlib.h>

#define ATTEMPTS       3
#define ATTEMPTS_MOST  20
#define BUDGET         500
#define BUDGET_PER_OK  1
#define SKEW_LEAST_US  (INT64_C(4) * 60 * 1000000) /* strictly more counts */
#define SKEW_MOST_S    (INT64_C(10) * 365 * 86400)
#define STEP_MS        60000 /* the own clock was set, and did not merely drift */
#define PROBE_EVERY_MS 600000

struct aws_client *aws_client_new(const struct aws_client_config *cfg)
{
    struct aws_client *c = xcalloc(1, sizeof(*c));
    c->a = arena_new();
    c->host = cfg->host;
    c->clock = cfg->clock;
    c->auth = cfg->auth;
    c->request_budgets = cfg->budgets;
    c->answers_once = cfg->answers_once;
    int n = cfg->max_attempts > 0 ? cfg->max_attempts : ATTEMPTS;
    c->max_attempts = n < ATTEMPTS_MOST ? n : ATTEMPTS_MOST;
    for (int i = 0; i < AWS_APIS; i++) {
        const struct aws_endpoint *from = &cfg->endpoints[i];
        c->endpoints[i] = (struct aws_endpoint){
            .url = arena_strdup(c->a, from->url),
            .signing_region = arena_strdup(c->a, str_or(from->signing_region, cfg->region)),
            .signing_name = arena_strdup(c->a, from->signing_name),
            .origin = arena_strdup(c->a, from->origin),
        };
    }
    sigv4_cache_init(&c->cache);
    mutex_init(&c->lock);
    mutex_lock(&c->lock);
    for (int i = 0; i < AWS_APIS; i++) {
        aws_delay_init(&c->delays[i], clock_now_ms(c->clock) / 1000);
        c->budgets[i] = BUDGET;
    }
    mutex_unlock(&c->lock);
    return c;
}

void aws_client_free(struct aws_client *c)
{
    if (c == NULL) {
        return;
    }
    sigv4_cache_done(&c->cache);
    mutex_done(&c->lock);
    arena_free(c->a);
    free(c);
}

const char *aws_api_name(enum aws_api api)
{
    static const char *const names[AWS_APIS] = {"ec2", "elb", "elbv2", "sts"};
    return names[api];
}

int64_t aws_client_delay(struct aws_client *c, enum aws_api api, int64_t now_ms)
{
    mutex_lock(&c->lock);
    int64_t s = aws_delay_take(&c->delays[api], now_ms / 1000);
    mutex_unlock(&c->lock);
    return s > 0 ? now_ms + s * 1000 : 0;
}

void aws_client_throttled(struct aws_client *c, enum aws_api api)
{
    mutex_lock(&c->lock);
    aws_delay_failed(&c->delays[api]);
    mutex_unlock(&c->lock);
}

bool aws_client_take_retry(struct aws_client *c, enum aws_api api, int cost)
{
    mutex_lock(&c->lock);
    bool enough = c->budgets[api] >= cost;
    c->budgets[api] -= enough ? cost : 0;
    mutex_unlock(&c->lock);
    return enough;
}

void aws_client_give_back(struct aws_client *c, enum aws_api api, int cost)
{
    mutex_lock(&c->lock);
    int budget = c->budgets[api] + cost + BUDGET_PER_OK;
    c->budgets[api] = budget < BUDGET ? budget : BUDGET;
    mutex_unlock(&c->lock);
}

/* ---- the server's time ----------------------------------------------------------------------- */

static int64_t distance(int64_t a, int64_t b)
{
    return a > b ? a - b : b - a;
}

int64_t aws_client_skew(struct aws_client *c, int64_t now_ms, int64_t wall_us, bool may_probe,
                        bool *ret_probes)
{
    *ret_probes = false;
    mutex_lock(&c->lock);
    struct aws_skew *s = &c->skew;
    if (s->us != 0 && distance(wall_us / 1000 - now_ms, s->base_ms) > STEP_MS) {
        s->us = 0;
    }
    int64_t us = s->us;
    if (us != 0 && may_probe && now_ms >= s->probe_ms) {
        s->probe_ms = now_ms + PROBE_EVERY_MS;
        *ret_probes = true;
        us = 0;
    }
    mutex_unlock(&c->lock);
    return us;
}

void aws_client_probe_went_well(struct aws_client *c)
{
    mutex_lock(&c->lock);
    c->skew.us = 0;
    mutex_unlock(&c->lock);
}

bool aws_client_learn_skew(struct aws_client *c, int64_t server_s, int64_t wall_us, int64_t now_ms,
                           int64_t used_us)
{
    if (distance(server_s, wall_us / 1000000) > SKEW_MOST_S) {
        return false;
    }
    int64_t us = server_s * 1000000 - wall_us;
    if (distance(us, used_us) <= SKEW_LEAST_US) {
        return false;
    }
    mutex_lock(&c->lock);
    c->skew = (struct aws_skew){.us = distance(us, 0) > SKEW_LEAST_US ? us : 0,
                                .base_ms = wall_us / 1000 - now_ms,
                                .probe_ms = now_ms + PROBE_EVERY_MS};
    mutex_unlock(&c->lock);
    return true;
}
