/* SPDX-License-Identifier: Apache-2.0 */
/* aws_world_elbv2.c: network load balancers, and the table of their actions; listeners and target
 * groups are in aws_world_listeners.c and aws_world_targets.c.  See aws_world.h. */
#include "tests/support/aws_world_internal.h"

#include <string.h>

struct aws_world_nlb *aws_world_nlb_of(struct aws_world_call *c, const char *arn)
{
    for (size_t i = 0; i < c->w->n_nlbs; i++) {
        if (str_eq(c->w->nlbs[i].nlb.arn, arn)) {
            return &c->w->nlbs[i];
        }
    }
    (void)aws_world_refuse(c, ERR_NOT_FOUND, "LoadBalancerNotFound", "%s", arn);
    return NULL;
}

/* ---- balancers ------------------------------------------------------------------------------- */

static struct aws_texts subnets_read(struct aws_world_call *c)
{
    const char **ids = ARENA_ARRAY(c->w->a, const char *, c->n_pairs + 1);
    size_t n = 0;
    for (;; n++) {
        const char *head = arena_printf(c->w->a, "SubnetMappings.member.%zu", n + 1);
        const char *id = aws_world_param(c, arena_printf(c->w->a, "%s.SubnetId", head));
        const char *allocation = aws_world_param(c, arena_printf(c->w->a, "%s.AllocationId", head));
        const char *address =
            aws_world_param(c, arena_printf(c->w->a, "%s.PrivateIPv4Address", head));
        if (id == NULL) {
            break;
        }
        if (aws_world_subnet(c->w, id) == NULL) {
            (void)aws_world_refuse(c, ERR_INVALID, "SubnetNotFound", "%s", id);
        }
        if (allocation != NULL && address != NULL) {
            (void)aws_world_refuse(c, ERR_INVALID, "InvalidConfigurationRequest", "%s", id);
        }
        ids[n] = id;
    }
    if (n == 0) {
        (void)aws_world_refuse(c, ERR_BUG, "MissingParameter", "SubnetMappings");
    }
    return (struct aws_texts){ids, n};
}

static struct aws_texts groups_read(struct aws_world_call *c)
{
    struct aws_texts groups = aws_world_list(c, "SecurityGroups.member.%zu");
    for (size_t i = 0; i < groups.n; i++) {
        if (aws_world_group(c->w, groups.items[i]) == NULL) {
            (void)aws_world_refuse(c, ERR_INVALID, "InvalidSecurityGroup", "%s", groups.items[i]);
        }
    }
    return aws_world_sorted(c->w->a, groups);
}

static const struct aws_tag fresh[] = {
    {"access_logs.s3.bucket", ""},
    {"access_logs.s3.enabled", "false"},
    {"access_logs.s3.prefix", ""},
    {"deletion_protection.enabled", "false"},
    {"load_balancing.cross_zone.enabled", "false"},
};

static void create(struct aws_world_call *c)
{
    struct aws_world *w = c->w;
    const char *name = aws_world_needed(c, "Name");
    const char *type = aws_world_needed(c, "Type");
    const char *scheme = str_or(aws_world_param(c, "Scheme"), "internet-facing");
    struct aws_texts subnets = subnets_read(c);
    struct aws_texts groups = groups_read(c);
    struct aws_tags tags = aws_world_pairs(c, "Tags.member");
    if (!str_eq(type, "network") || strlen(name) > 32) {
        (void)aws_world_refuse(c, ERR_INVALID, "ValidationError", "%s %s", type, name);
    }
    for (size_t i = 0; i < w->n_nlbs; i++) {
        if (str_eq(w->nlbs[i].nlb.name, name)) {
            (void)aws_world_refuse(c, ERR_EXISTS, "DuplicateLoadBalancerName", "%s", name);
        }
    }
    if (aws_world_failed(c) || w->n_nlbs == AWS_WORLD_MAX) {
        (void)aws_world_refuse(c, ERR_QUOTA, "TooManyLoadBalancers", "%zu", w->n_nlbs);
        return;
    }
    struct aws_world_nlb *one = &w->nlbs[w->n_nlbs++];
    *one = (struct aws_world_nlb){
        .nlb = {.arn = arena_printf(w->a, "arn:lb/%s/%d", name, w->next++),
                .name = name,
                .dns = arena_printf(w->a, "%s-1.elb.us-east-1.amazonaws.com", name),
                .type = type,
                .scheme = scheme,
                .state = "provisioning",
                .vpc = w->vpc,
                .subnets = aws_world_sorted(w->a, subnets),
                .groups = groups},
        .tags = tags,
        .attributes = {fresh, ARRAY_LEN(fresh)},
    };
    aws_world_output(c, "LoadBalancers/member/LoadBalancerArn", one->nlb.arn);
    aws_world_output(c, "LoadBalancers/member/DNSName", one->nlb.dns);
    c->changed = true;
}

/* Listeners go with it. */
static void delete(struct aws_world_call *c)
{
    struct aws_world *w = c->w;
    struct aws_world_nlb *one = aws_world_nlb_of(c, aws_world_needed(c, "LoadBalancerArn"));
    if (one == NULL) {
        return;
    }
    const char *arn = one->nlb.arn;
    for (size_t i = 0; i < one->attributes.n; i++) {
        if (str_eq(one->attributes.items[i].key, "deletion_protection.enabled") &&
            str_eq(one->attributes.items[i].value, "true")) {
            (void)aws_world_refuse(c, ERR_FORBIDDEN, "OperationNotPermitted", "%s", arn);
            return;
        }
    }
    size_t n = 0;
    for (size_t i = 0; i < w->n_listeners; i++) {
        if (!str_eq(w->listeners[i].balancer, arn)) {
            w->listener_tags[n] = w->listener_tags[i];
            w->listeners[n++] = w->listeners[i];
        }
    }
    w->n_listeners = n;
    size_t at = (size_t)(one - w->nlbs);
    memmove(one, one + 1, (w->n_nlbs - at - 1) * sizeof *one);
    w->n_nlbs--;
    c->changed = true;
}

/* The subnet of a zone that is enabled does not change. */
static void check_enabled_zones(struct aws_world_call *c, const struct str_set *was,
                                const struct str_set *is)
{
    const char *id;
    const char *had;
    STR_SET_EACH (id, is) {
        const char *zone = aws_world_subnet(c->w, id)->zone;
        STR_SET_EACH (had, was) {
            if (!str_eq(had, id) && str_eq(zone, aws_world_subnet(c->w, had)->zone)) {
                (void)aws_world_refuse(c, ERR_INVALID, "InvalidConfigurationRequest", "%s", zone);
            }
        }
    }
}

static void set_subnets(struct aws_world_call *c)
{
    struct aws_world_nlb *one = aws_world_nlb_of(c, aws_world_needed(c, "LoadBalancerArn"));
    struct aws_texts subnets = aws_world_sorted(c->w->a, subnets_read(c));
    if (one == NULL || aws_world_failed(c)) {
        return;
    }
    for (size_t i = 0; i < subnets.n; i++) {
        const char *zone = aws_world_subnet(c->w, subnets.items[i])->zone;
        for (size_t k = 0; k < i; k++) {
            if (str_eq(zone, aws_world_subnet(c->w, subnets.items[k])->zone)) {
                (void)aws_world_refuse(c, ERR_INVALID, "InvalidConfigurationRequest", "%s", zone);
            }
        }
    }
    struct str_set was = {one->nlb.subnets.items, one->nlb.subnets.n};
    struct str_set is = {subnets.items, subnets.n};
    check_enabled_zones(c, &was, &is);
    c->changed = !str_set_eq(&was, &is);
    one->nlb.subnets = subnets;
}

static const char *value_in(const struct aws_tags *tags, const char *key)
{
    for (size_t i = 0; i < tags->n; i++) {
        if (str_eq(tags->items[i].key, key)) {
            return tags->items[i].value;
        }
    }
    return NULL;
}

static struct aws_tags *tags_of(struct aws_world *w, const char *arn)
{
    for (size_t i = 0; i < w->n_nlbs; i++) {
        if (str_eq(w->nlbs[i].nlb.arn, arn)) {
            return &w->nlbs[i].tags;
        }
    }
    for (size_t i = 0; i < w->n_listeners; i++) {
        if (str_eq(w->listeners[i].arn, arn)) {
            return &w->listener_tags[i];
        }
    }
    for (size_t i = 0; i < w->n_target_groups; i++) {
        if (str_eq(w->target_groups[i].group.arn, arn)) {
            return &w->target_groups[i].tags;
        }
    }
    return NULL;
}

/* Every one of them must lack something. */
static void add_tags(struct aws_world_call *c)
{
    struct aws_texts arns = aws_world_list(c, "ResourceArns.member.%zu");
    struct aws_tags tags = aws_world_pairs(c, "Tags.member");
    size_t changed = 0;
    if (arns.n == 0 || arns.n > 20 || tags.n == 0) {
        (void)aws_world_refuse(c, ERR_INVALID, "ValidationError", "%zu tags of %zu", tags.n,
                               arns.n);
    }
    for (size_t i = 0; i < arns.n; i++) {
        struct aws_tags *has = tags_of(c->w, arns.items[i]);
        bool lacks = false;
        if (has == NULL) {
            (void)aws_world_refuse(c, ERR_NOT_FOUND, "LoadBalancerNotFound", "%s", arns.items[i]);
            return;
        }
        for (size_t k = 0; k < tags.n; k++) {
            lacks |= !str_eq(value_in(has, tags.items[k].key), tags.items[k].value);
        }
        *has = aws_world_merged(c->w->a, has, &tags);
        changed += lacks;
    }
    c->changed = changed == arns.n;
}

static void set_groups(struct aws_world_call *c)
{
    struct aws_world_nlb *one = aws_world_nlb_of(c, aws_world_needed(c, "LoadBalancerArn"));
    struct aws_texts groups = groups_read(c);
    if (one == NULL) {
        return;
    }
    if (one->nlb.groups.n == 0 || groups.n == 0) {
        (void)aws_world_refuse(c, ERR_INVALID, "InvalidConfigurationRequest", "%zu to %zu groups",
                               one->nlb.groups.n, groups.n);
        return;
    }
    struct str_set was = {one->nlb.groups.items, one->nlb.groups.n};
    struct str_set is = {groups.items, groups.n};
    c->changed = !str_set_eq(&was, &is);
    one->nlb.groups = groups;
}

struct aws_tags aws_world_attributes(struct aws_world_call *c, const struct aws_tags *has,
                                     const struct aws_tags *known)
{
    struct aws_tags given = aws_world_pairs(c, "Attributes.member");
    size_t differ = 0;
    for (size_t i = 0; i < given.n; i++) {
        const char *now = value_in(has, given.items[i].key);
        if (value_in(known, given.items[i].key) == NULL) {
            (void)aws_world_refuse(c, ERR_INVALID, "ValidationError", "no attribute %s",
                                   given.items[i].key);
        }
        differ += !str_eq(now, given.items[i].value);
    }
    c->changed = given.n > 0 && differ == given.n; /* every one of them */
    return aws_world_merged(c->w->a, has, &given);
}

static void modify_attributes(struct aws_world_call *c)
{
    struct aws_world_nlb *one = aws_world_nlb_of(c, aws_world_needed(c, "LoadBalancerArn"));
    if (one == NULL) {
        return;
    }
    struct aws_tags now =
        aws_world_attributes(c, &one->attributes, &(struct aws_tags){fresh, ARRAY_LEN(fresh)});
    if (str_eq(value_in(&now, "access_logs.s3.enabled"), "true") &&
        str_is_empty(value_in(&now, "access_logs.s3.bucket"))) {
        (void)aws_world_refuse(c, ERR_INVALID, "InvalidConfigurationRequest", "no bucket");
    }
    one->attributes = now;
}

void aws_world_elbv2(struct aws_world_call *c)
{
    static const struct {
        const char *name;
        void (*run)(struct aws_world_call *c);
    } actions[] = {
        {"AddTags", add_tags},
        {"CreateListener", aws_world_create_listener},
        {"CreateLoadBalancer", create},
        {"CreateTargetGroup", aws_world_create_target_group},
        {"DeleteListener", aws_world_delete_listener},
        {"DeleteLoadBalancer", delete},
        {"DeleteTargetGroup", aws_world_delete_target_group},
        {"DeregisterTargets", aws_world_deregister},
        {"ModifyListener", aws_world_modify_listener},
        {"ModifyLoadBalancerAttributes", modify_attributes},
        {"ModifyTargetGroup", aws_world_modify_target_group},
        {"ModifyTargetGroupAttributes", aws_world_modify_group_attributes},
        {"RegisterTargets", aws_world_register},
        {"SetSecurityGroups", set_groups},
        {"SetSubnets", set_subnets},
    };
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        if (str_eq(actions[i].name, c->action)) {
            actions[i].run(c);
            return;
        }
    }
    (void)aws_world_refuse(c, ERR_BUG, "InvalidAction", "of ELBv2");
}
