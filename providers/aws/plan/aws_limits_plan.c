/* SPDX-License-Identifier: Apache-2.0 */
/* aws_limits_plan.c: see aws_limits_plan.h.
 *
 * Only lists count that the plan knows whole.  Quotas of an account or a region (load balancers,
 * target groups, addresses) are not here: others use them, too.
 * Source: "Amazon VPC quotas" in the VPC user guide (security groups); the pages of quotas in the
 * user guides for Network Load Balancers and Classic Load Balancers. */
#include "providers/aws/plan/aws_limits_plan.h"

#include "common/base/str.h"

#include <stdlib.h>
#include <string.h>

#define REFUSES "AWS refuses more"

/* Groups of a network interface, times rules of a group, are 1,000 at most: so no group has more
 * rules, whatever was asked for. */
const struct lb_limit aws_limits[AWS_LIMITS] = {
    [AWS_LIMIT_RULES_V4] = {"inbound rules of IPv4", 60, true, 1000, REFUSES},
    [AWS_LIMIT_RULES_V6] = {"inbound rules of IPv6", 60, true, 1000, REFUSES},
    [AWS_LIMIT_GROUPS] = {"security groups", 5, true, 16, REFUSES},
    [AWS_LIMIT_NLB_LISTENERS] = {"listeners", 50, true, 0, REFUSES},
    [AWS_LIMIT_CLASSIC_LISTENERS] = {"listeners", 100, true, 0, REFUSES},
    [AWS_LIMIT_ZONE_TARGETS] = {"targets in one zone", 500, true, 0, REFUSES},
    [AWS_LIMIT_NLB_TARGETS] = {"targets", 3000, true, 0, REFUSES},
    [AWS_LIMIT_CROSS_TARGETS] = {"targets with cross-zone load balancing", 500, true, 0, REFUSES},
    [AWS_LIMIT_GROUP_TARGETS] = {"targets for each port", 1000, true, 0, REFUSES},
    [AWS_LIMIT_CLASSIC_INSTANCES] = {"instances", 1000, true, 0, REFUSES},
};

static void check(struct aws_planning *p, enum aws_limit limit, const char *of, size_t is,
                  size_t then)
{
    const char *text = lb_limit_text(p->a, &aws_limits[limit], of, is, then);
    if (text != NULL) {
        aws_plan_finding(p, "AboveLimit", "%s", text);
    }
}

/* ---- security groups ------------------------------------------------------------------------- */

/* One of IPv4 and one of IPv6.  A rule about a group or a prefix list counts in both; a prefix list
 * counts with its maximum of entries, which only AWS knows. */
struct aws_rule_count aws_rules_count(const struct aws_rules *rules)
{
    struct aws_rule_count n = {0};
    for (size_t i = 0; i < rules->n; i++) {
        enum aws_peer peer = rules->items[i].peer;
        n.v4 += peer != AWS_PEER_CIDR6;
        n.v6 += peer != AWS_PEER_CIDR;
    }
    return n;
}

void aws_limits_of_rules(struct aws_planning *p, const char *text, struct aws_rule_count is,
                         struct aws_rule_count then)
{
    const char *of = arena_printf(p->a, "security group %s", text);
    check(p, AWS_LIMIT_RULES_V4, of, is.v4, then.v4);
    check(p, AWS_LIMIT_RULES_V6, of, is.v6, then.v6);
}

/* ---- targets --------------------------------------------------------------------------------- */

static int compare_ids(const void *x, const void *y)
{
    const struct aws_instance *const *a = x;
    const struct aws_instance *const *b = y;
    return strcmp((*a)->id, (*b)->id);
}

/* Instances of the Service's targets, by id. */
struct by_id {
    const struct aws_instance **items;
    size_t n;
};

static struct by_id instances_by_id(const struct aws_planning *p)
{
    size_t n = p->around->n_instances;
    struct by_id all = {.items = ARENA_ARRAY(p->a, const struct aws_instance *, n), .n = n};
    for (size_t i = 0; i < n; i++) {
        all.items[i] = &p->around->instances[i];
    }
    if (n > 1) {
        qsort(all.items, n, sizeof(*all.items), compare_ids);
    }
    return all;
}

/* "" of one that is not known any more. */
static const char *zone_of(const struct by_id *all, const char *id)
{
    const struct aws_instance one = {.id = id};
    const struct aws_instance *key = &one;
    const struct aws_instance **found =
        all->n == 0 ? NULL : bsearch(&key, all->items, all->n, sizeof(*all->items), compare_ids);
    return found == NULL ? "" : str_nonnull((*found)->zone);
}

static int compare_texts(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* How many of the texts are the same, at most; "" is none. */
static size_t most_equal(const char **texts, size_t n)
{
    size_t most = 0;
    size_t run = 0;
    if (n > 1) {
        qsort(texts, n, sizeof *texts, compare_texts);
    }
    for (size_t i = 0; i < n; i++) {
        run = i > 0 && str_eq(texts[i], texts[i - 1]) ? run + 1 : 1;
        most = *texts[i] != '\0' && run > most ? run : most;
    }
    return most;
}

/* Of all target groups together, in the zone that has most; and in all zones. */
struct tally {
    size_t zone, all, group;
};

static struct tally tally_of_seen(const struct aws_planning *p, const struct by_id *all)
{
    struct tally t = {0};
    for (size_t i = 0; i < p->seen->n_groups; i++) {
        size_t n = p->seen->groups[i].targets.n;
        t.all += n;
        t.group = n > t.group ? n : t.group;
    }
    const char **zones = ARENA_ARRAY(p->a, const char *, t.all);
    size_t k = 0;
    for (size_t i = 0; i < p->seen->n_groups; i++) {
        const struct aws_targets *targets = &p->seen->groups[i].targets;
        for (size_t j = 0; j < targets->n; j++) {
            zones[k++] = zone_of(all, targets->items[j].id);
        }
    }
    t.zone = most_equal(zones, k);
    return t;
}

static struct tally tally_of_want(const struct aws_planning *p, const struct by_id *all,
                                  const struct aws_nlb_want *want)
{
    const char **zones = ARENA_ARRAY(p->a, const char *, want->instances.n);
    for (size_t i = 0; i < want->instances.n; i++) {
        zones[i] = zone_of(all, want->instances.items[i]);
    }
    return (struct tally){.zone = most_equal(zones, want->instances.n) * want->n_ports,
                          .all = want->instances.n * want->n_ports,
                          .group = want->instances.n};
}

/* No list of targets can be too long for AWS then, and nothing is counted. */
static bool are_few(const struct aws_nlb_want *want)
{
    return want->instances.n * want->n_ports <= aws_limits[AWS_LIMIT_ZONE_TARGETS].most;
}

void aws_limits_of_nlb(struct aws_planning *p, const struct aws_nlb_want *want)
{
    const char *of = arena_printf(p->a, "NLB %s", want->name);
    size_t n_groups = p->seen->nlb != NULL ? p->seen->nlb->groups.n : 0;
    check(p, AWS_LIMIT_NLB_LISTENERS, of, p->seen->n_listeners, want->n_ports);
    check(p, AWS_LIMIT_GROUPS, of, n_groups, want->groups.n);
    if (are_few(want)) {
        return;
    }
    const char *crosses = aws_tag(&want->attributes, "load_balancing.cross_zone.enabled");
    struct by_id all = instances_by_id(p);
    struct tally is = tally_of_seen(p, &all);
    struct tally then = tally_of_want(p, &all, want);
    check(p, AWS_LIMIT_GROUP_TARGETS, of, is.group, then.group);
    if (str_eq(crosses, "true")) {
        check(p, AWS_LIMIT_CROSS_TARGETS, of, is.all, then.all);
    } else {
        check(p, AWS_LIMIT_ZONE_TARGETS, of, is.zone, then.zone);
        check(p, AWS_LIMIT_NLB_TARGETS, of, is.all, then.all);
    }
}

void aws_limits_of_classic(struct aws_planning *p, const struct aws_classic_want *want)
{
    const char *of = arena_printf(p->a, "classic load balancer %s", want->name);
    const struct aws_classic *seen = p->seen->classic;
    size_t n_groups = want->groups.n + (want->own != NULL);
    check(p, AWS_LIMIT_CLASSIC_LISTENERS, of, seen != NULL ? seen->n_listeners : 0,
          want->n_listeners);
    check(p, AWS_LIMIT_GROUPS, of, seen != NULL ? seen->groups.n : 0, n_groups);
    check(p, AWS_LIMIT_CLASSIC_INSTANCES, of, seen != NULL ? seen->instances.n : 0,
          want->instances.n);
}
