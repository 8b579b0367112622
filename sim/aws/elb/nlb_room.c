/* SPDX-License-Identifier: Apache-2.0 */
/* nlb_room.c: how many targets a network load balancer may have, in all and in each zone.
 *
 * A target counts once for each target group that has it; what drains does not count.  Nodes that
 * send across zones have all targets for their own, so that the quota of a zone is that of the
 * balancer then.  The zone of an address is not known, and so it counts for the balancer alone.
 * Source: the quotas of the Network Load Balancers user guide. */
#include "sim/aws/elb/nlb.h"

#include <stdlib.h>

#define NLB_TARGETS_MAX      3000 /* quota "targets_per_nlb" */
#define NLB_ZONE_TARGETS_MAX 500  /* quota "targets_per_zone" */

struct tally {
    struct arena *a;
    struct aws *aws;
    struct map *zones;  /* → size_t, the arena's */
    size_t total, most; /* most: of one zone */
};

static void count(struct tally *t, struct json_object *target)
{
    const char *id = str_nonnull(json_str(target, "Id"));
    const char *zone = str_has_prefix(id, "i-") ? amz_ec2_instance_zone(t->aws, id) : NULL;
    t->total++;
    if (str_is_empty(zone)) {
        return;
    }
    size_t *n = map_get(t->zones, zone);
    if (!n) {
        n = ARENA_NEW(t->a, size_t);
        map_set(t->zones, zone, n);
    }
    *n += 1;
    t->most = *n > t->most ? *n : t->most;
}

static void count_group(struct tally *t, const char *arn)
{
    struct amz_resource *health = amz_get(t->aws, AMZ_TARGET_HEALTH, arn);
    struct json_object *list = health ? health->body : NULL;
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        if (!nlb_target_drains(item)) {
            count(t, json_member(item, "Target"));
        }
    }
}

static void add_groups(struct map *groups, struct json_object *arns)
{
    for (size_t i = 0; i < json_len(arns); i++) {
        map_set(groups, json_object_get_string(json_object_array_get_idx(arns, i)), NULL);
    }
}

/* The targets of all groups of the balancer, of the groups `with`, and `more`. */
static void count_all(struct tally *t, const char *lb, struct json_object *with,
                      struct json_object *more)
{
    struct map *groups = map_new(NULL);
    size_t n = 0;
    add_groups(groups, with);
    for (struct amz_resource *r = amz_first(t->aws, AMZ_LISTENER); r; r = r->next) {
        if (str_eq(json_str(r->body, "LoadBalancerArn"), lb)) {
            struct json_object *own = nlb_forwards_to(r->body);
            add_groups(groups, own);
            json_object_put(own);
        }
    }
    const char **arns = map_keys(groups, &n);
    for (size_t i = 0; i < n; i++) {
        count_group(t, arns[i]);
    }
    for (size_t i = 0; i < json_len(more); i++) {
        count(t, json_object_array_get_idx(more, i));
    }
    free(arns);
    map_free(groups);
}

bool nlb_check_room(struct amz_request *q, const char *lb, struct json_object *with,
                    struct json_object *more)
{
    struct tally t = {.a = q->a, .aws = q->aws, .zones = map_new(NULL)};
    struct amz_resource *attributes = amz_get(q->aws, AMZ_LOAD_BALANCER_ATTRIBUTES, lb);
    const char *crosses =
        nlb_attribute(attributes ? attributes->body : NULL, "load_balancing.cross_zone.enabled");
    count_all(&t, lb, with, more);
    map_free(t.zones);
    if ((int64_t)t.total > amz_quota(q->aws, "targets_per_nlb", NLB_TARGETS_MAX)) {
        return amz_refuse(q, "TooManyTargets",
                          "The maximum number of targets per load balancer has been reached: '%s'",
                          lb);
    }
    size_t in_zone = str_eq(crosses, "true") ? t.total : t.most;
    if ((int64_t)in_zone > amz_quota(q->aws, "targets_per_zone", NLB_ZONE_TARGETS_MAX)) {
        return amz_refuse(q, "TooManyTargets",
                          "The maximum number of targets per Availability Zone has been reached "
                          "for the load balancer '%s'",
                          lb);
    }
    return true;
}
