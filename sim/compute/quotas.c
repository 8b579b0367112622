/* SPDX-License-Identifier: Apache-2.0 */
/* quotas.c: limits on how many resources of a kind a project, or a region of it, may have.
 *
 * The cloud counts some kinds in the project, some in each region; of members it counts those of
 * each resource.  Without a setting a limit is out of reach.  Limits come from --quota NAME=N or
 * from the setting "quotas" (settings.c), which wins.  Exceeding a limit is refused with 403
 * quotaExceeded.  Source: compute v1 quotas; gce-cloud-provider.md §3.4. */
#include "sim/compute/compute.h"

#include <string.h>

#define OUT_OF_REACH 1000000

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
    return json_int(ce_setting(c, "quotas"), quota, limit);
}

static const struct {
    const char *name;
    bool per_region;
} known[] = {
    {"BACKEND_SERVICES", false}, {"FIREWALLS", false},       {"FORWARDING_RULES", false},
    {"HEALTH_CHECKS", false},    {"INSTANCE_GROUPS", true},  {"INTERNAL_ADDRESSES", true},
    {"ROUTES", false},           {"STATIC_ADDRESSES", true}, {"NETWORK_ENDPOINT_GROUPS", true},
    {"TARGET_POOLS", false},
};

const char *const *ce_quota_names(void)
{
    static const char *const names[] = {
        "BACKEND_SERVICES", "FIREWALLS", "FORWARDING_RULES", "HEALTH_CHECKS", "INSTANCE_GROUPS",
        "INTERNAL_ADDRESSES", "NETWORK_ENDPOINT_GROUPS", "ROUTES", "STATIC_ADDRESSES",
        "TARGET_POOLS",
        /* of one resource: ce_quota_check_members() */
        "MAX_ENDPOINTS_IN_NETWORK_ENDPOINT_GROUP", "MAX_INSTANCES_IN_INSTANCE_GROUP",
        "MAX_INSTANCES_IN_TARGET_POOL", NULL};
    return names;
}

static bool is_per_region(const char *quota)
{
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (str_eq(known[i].name, quota)) {
            return known[i].per_region;
        }
    }
    return false;
}

/* Internal addresses have a quota of their own. */
static const char *quota_of(const struct collection *col, struct json_object *body)
{
    bool internal = str_eq(json_str(body, "addressType"), "INTERNAL");
    return internal && str_eq(col->name, "addresses") ? "INTERNAL_ADDRESSES" : col->quota;
}

struct usage {
    const char *project;
    const char *region; /* NULL: everywhere */
    const char *quota;
    int64_t n;
};

static bool is_in_place(const struct resource *res, const struct usage *u)
{
    struct arena *a = arena_new();
    bool in = str_eq(ce_path_project(a, res->path), u->project) &&
              (!u->region || str_eq(ce_path_region(a, res->path), u->region));
    arena_free(a);
    return in;
}

static bool count_one(struct resource *res, void *arg)
{
    struct usage *u = arg;
    u->n += res->col && str_eq(quota_of(res->col, res->body), u->quota) && is_in_place(res, u);
    return true;
}

static int64_t usage_of(struct compute *c, const char *project, const char *region,
                        const char *quota)
{
    struct usage u = {.project = project, .region = region, .quota = quota};
    ce_store_each(c, NULL, count_one, &u);
    return u.n;
}

bool ce_quota_check(struct request *q)
{
    const char *quota = quota_of(q->col, q->body);
    if (!quota) {
        return true;
    }
    const char *region = is_per_region(quota) ? ce_path_region(q->a, q->folder) : NULL;
    int64_t limit = limit_of(q->c, quota);
    if (limit >= OUT_OF_REACH || usage_of(q->c, q->project, region, quota) < limit) {
        return true;
    }
    return ce_refuse(&q->refusal, q->a, 403, "quotaExceeded",
                     "Quota '%s' exceeded.  Limit: %lld.0%s%s.", quota, (long long)limit,
                     region ? " in region " : " globally", str_nonnull(region));
}

/* Limits of one resource: the cloud shows neither the limit nor the usage among
 * a region's quotas. */
bool ce_quota_check_members(struct request *q, const char *quota, size_t n)
{
    int64_t limit = limit_of(q->c, quota);
    return (int64_t)n <= limit || ce_refuse(&q->refusal, q->a, 403, "limitExceeded",
                                            "Exceeded limit '%s' on resource '%s'. Limit: %lld",
                                            quota, ce_path_name(q->res->path), (long long)limit);
}

struct json_object *ce_quota_json(struct compute *c, const char *project, const char *region)
{
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (known[i].per_region != (region != NULL)) {
            continue;
        }
        int64_t usage = usage_of(c, project, region, known[i].name);
        struct json_object *o = json_object_new_object();
        json_add_str(o, "metric", known[i].name);
        json_add(o, "limit", json_object_new_double((double)limit_of(c, known[i].name)));
        json_add(o, "usage", json_object_new_double((double)usage));
        json_object_array_add(list, o);
    }
    return list;
}
