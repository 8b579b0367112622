/* SPDX-License-Identifier: Apache-2.0 */
/* quotas.c: limits on how many resources of a kind a project may have, and the settings of a world.
 *
 * Without a setting a limit is out of reach.  Limits come from --quota NAME=N or from the world's member
 * sim.quotas, which wins.  What is over a limit is refused with 403 quotaExceeded.
 * Source: compute v1 quotas; gce-cloud-provider.md §3.4. */
#include "sim/compute/compute.h"

#include <string.h>

#define OUT_OF_REACH 1000000

bool ce_setting_bool(const struct compute *c, const char *name)
{
    return json_bool(c->settings, name, false);
}

static int64_t limit_of(const struct compute *c, const char *quota)
{
    int64_t limit = OUT_OF_REACH;
    const struct sim_config *cfg = sim_cfg(c->sim);
    size_t n = strlen(quota);
    for (size_t i = 0; i < cfg->n_quotas; i++) {
        if (strncmp(cfg->quotas[i], quota, n) == 0 && cfg->quotas[i][n] == '=') {
            str_to_i64(cfg->quotas[i] + n + 1, &limit);
        }
    }
    return json_int(json_member(c->settings, "quotas"), quota, limit);
}

struct usage {
    const char *prefix; /* "projects/p/" */
    const char *quota;
    int64_t n;
};

static bool count_one(struct resource *res, void *arg)
{
    struct usage *u = arg;
    u->n += res->col && str_eq(res->col->quota, u->quota) && str_has_prefix(res->path, u->prefix);
    return true;
}

static int64_t usage_of(struct compute *c, const char *project, const char *quota)
{
    _cleanup_(xfreep) char *prefix = xasprintf("projects/%s/", project);
    struct usage u = {.prefix = prefix, .quota = quota};
    ce_store_each(c, NULL, count_one, &u);
    return u.n;
}

bool ce_quota_check(struct request *q)
{
    const char *quota = q->col->quota;
    if (!quota) {
        return true;
    }
    int64_t limit = limit_of(q->c, quota);
    if (limit >= OUT_OF_REACH || usage_of(q->c, q->project, quota) < limit) {
        return true;
    }
    return ce_refuse(&q->refusal, q->a, 403, "quotaExceeded",
                     "Quota '%s' exceeded.  Limit: %lld.0%s%s.", quota, (long long)limit,
                     q->location ? " in region " : " globally", str_nonnull(q->location));
}

struct json_object *ce_quota_json(struct compute *c, const char *project)
{
    static const char *const known[] = {
        "BACKEND_SERVICES", "FIREWALLS",        "FORWARDING_RULES",
        "HEALTH_CHECKS",    "INSTANCE_GROUPS",  "NETWORK_ENDPOINT_GROUPS",
        "ROUTES",           "STATIC_ADDRESSES", "TARGET_POOLS"};
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        struct json_object *o = json_object_new_object();
        json_add_str(o, "metric", known[i]);
        json_add(o, "limit", json_object_new_double((double)limit_of(c, known[i])));
        json_add(o, "usage", json_object_new_double((double)usage_of(c, project, known[i])));
        json_object_array_add(list, o);
    }
    return list;
}
