/* SPDX-License-Identifier: Apache-2.0 */
/* aws_world_ec2.c: security groups of aws_world.h. */
#include "tests/support/aws_world.h"

#include <stdlib.h>
#include <string.h>

static struct aws_group *group_of(struct aws_world_call *c, const char *id)
{
    for (size_t i = 0; i < c->w->n_groups; i++) {
        if (str_eq(c->w->groups[i].group.id, id)) {
            return &c->w->groups[i].group;
        }
    }
    (void)aws_world_refuse(c, ERR_NOT_FOUND, "InvalidGroup.NotFound", "%s", id);
    return NULL;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static int compare(const void *x, const void *y)
{
    const struct aws_rule *a = x;
    const struct aws_rule *b = y;
    int order = strcmp(a->protocol, b->protocol);
    order = order != 0 ? order : (a->from > b->from) - (a->from < b->from);
    order = order != 0 ? order : (a->to > b->to) - (a->to < b->to);
    order = order != 0 ? order : (int)a->peer - (int)b->peer;
    return order != 0 ? order : strcmp(a->source, b->source);
}

/* EC2 tells rules apart by all but the description. */
static const struct aws_rule *find(const struct aws_rules *rules, const struct aws_rule *rule)
{
    for (size_t i = 0; i < rules->n; i++) {
        if (compare(&rules->items[i], rule) == 0) {
            return &rules->items[i];
        }
    }
    return NULL;
}

static const struct peer {
    const char *list, *source;
} peers[] = {
    [AWS_PEER_CIDR] = {"IpRanges", "CidrIp"},
    [AWS_PEER_CIDR6] = {"Ipv6Ranges", "CidrIpv6"},
    [AWS_PEER_GROUP] = {"Groups", "GroupId"},
    [AWS_PEER_PREFIX_LIST] = {"PrefixListIds", "PrefixListId"},
};

static void read_sources(struct aws_world_call *c, const char *head, struct aws_rule like,
                         struct aws_rules *all)
{
    for (size_t peer = 0; peer < ARRAY_LEN(peers); peer++) {
        for (size_t n = 1;; n++) {
            const char *at = arena_printf(c->w->a, "%s.%s.%zu", head, peers[peer].list, n);
            const char *source =
                aws_world_param(c, arena_printf(c->w->a, "%s.%s", at, peers[peer].source));
            if (source == NULL) {
                break;
            }
            like.peer = (enum aws_peer)peer;
            like.source = source;
            like.user = str_nonnull(peer == AWS_PEER_GROUP
                                        ? aws_world_param(c, arena_printf(c->w->a, "%s.UserId", at))
                                        : NULL);
            like.description =
                str_nonnull(aws_world_param(c, arena_printf(c->w->a, "%s.Description", at)));
            if (peer == AWS_PEER_GROUP && aws_world_group(c->w, source) == NULL) {
                (void)aws_world_refuse(c, ERR_NOT_FOUND, "InvalidGroup.NotFound", "%s", source);
            }
            ((struct aws_rule *)all->items)[all->n++] = like;
        }
    }
}

static struct aws_rules read_rules(struct aws_world_call *c)
{
    struct aws_rules all = {.items = ARENA_ARRAY(c->w->a, struct aws_rule, c->n_pairs + 1)};
    for (size_t n = 1;; n++) {
        const char *head = arena_printf(c->w->a, "IpPermissions.%zu", n);
        const char *protocol = aws_world_param(c, arena_printf(c->w->a, "%s.IpProtocol", head));
        if (protocol == NULL) {
            break;
        }
        struct aws_rule like = {.protocol = protocol, .from = AWS_NO_PORT, .to = AWS_NO_PORT};
        (void)aws_world_int(c, arena_printf(c->w->a, "%s.FromPort", head), &like.from);
        (void)aws_world_int(c, arena_printf(c->w->a, "%s.ToPort", head), &like.to);
        static const char *const good[] = {"tcp", "udp", "icmp", "icmpv6", "-1"};
        bool known = false;
        for (size_t i = 0; i < ARRAY_LEN(good); i++) {
            known |= str_eq(protocol, good[i]);
        }
        if (!known || (!str_eq(protocol, "-1") && like.from == AWS_NO_PORT)) {
            (void)aws_world_refuse(c, ERR_INVALID, "InvalidParameterValue", "%s", protocol);
        }
        size_t before = all.n;
        read_sources(c, head, like, &all);
        if (all.n == before) {
            (void)aws_world_refuse(c, ERR_INVALID, "InvalidParameterValue", "no source");
        }
    }
    if (all.n == 0) {
        (void)aws_world_refuse(c, ERR_BUG, "MissingParameter", "IpPermissions");
    }
    return all;
}

static void authorize(struct aws_world_call *c)
{
    struct aws_group *g = group_of(c, aws_world_needed(c, "GroupId"));
    struct aws_rules more = read_rules(c);
    if (aws_world_failed(c)) {
        return;
    }
    struct aws_rule *all = ARENA_ARRAY(c->w->a, struct aws_rule, g->rules.n + more.n + 1);
    if (g->rules.n > 0) {
        memcpy(all, g->rules.items, g->rules.n * sizeof *all);
    }
    struct aws_rules now = {all, g->rules.n};
    for (size_t i = 0; i < more.n; i++) {
        if (find(&now, &more.items[i]) != NULL) {
            (void)aws_world_refuse(c, ERR_EXISTS, "InvalidPermission.Duplicate", "%s %s",
                                   more.items[i].protocol, more.items[i].source);
            return;
        }
        all[now.n++] = more.items[i];
    }
    if (now.n > (size_t)c->w->max_rules) {
        (void)aws_world_refuse(c, ERR_QUOTA, "RulesPerSecurityGroupLimitExceeded", "%zu", now.n);
        return;
    }
    qsort(all, now.n, sizeof *all, compare);
    g->rules = now;
    c->changed = true;
}

static void revoke(struct aws_world_call *c)
{
    struct aws_group *g = group_of(c, aws_world_needed(c, "GroupId"));
    struct aws_rules less = read_rules(c);
    if (aws_world_failed(c)) {
        return;
    }
    struct aws_rule *left = ARENA_ARRAY(c->w->a, struct aws_rule, g->rules.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < less.n; i++) {
        if (find(&g->rules, &less.items[i]) == NULL) {
            (void)aws_world_refuse(c, ERR_NOT_FOUND, "InvalidPermission.NotFound", "%s %s",
                                   less.items[i].protocol, less.items[i].source);
            return;
        }
    }
    for (size_t i = 0; i < g->rules.n; i++) {
        if (find(&less, &g->rules.items[i]) == NULL) {
            left[n++] = g->rules.items[i];
        }
    }
    c->changed = n < g->rules.n;
    g->rules = (struct aws_rules){left, n};
}

/* Other descriptions of rules that are there. */
static void describe(struct aws_world_call *c)
{
    struct aws_group *g = group_of(c, aws_world_needed(c, "GroupId"));
    struct aws_rules anew = read_rules(c);
    if (aws_world_failed(c)) {
        return;
    }
    struct aws_rule *all = arena_memdup(c->w->a, g->rules.items, g->rules.n * sizeof *all);
    for (size_t i = 0; i < anew.n; i++) {
        size_t k = 0;
        while (k < g->rules.n && find(&(struct aws_rules){&all[k], 1}, &anew.items[i]) == NULL) {
            k++;
        }
        if (k == g->rules.n) {
            (void)aws_world_refuse(c, ERR_NOT_FOUND, "InvalidPermission.NotFound", "%s",
                                   anew.items[i].source);
            return;
        }
        c->changed |= !str_eq(all[k].description, anew.items[i].description);
        all[k].description = anew.items[i].description;
    }
    g->rules.items = all;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static void create(struct aws_world_call *c)
{
    struct aws_world *w = c->w;
    const char *name = aws_world_needed(c, "GroupName");
    const char *vpc = aws_world_needed(c, "VpcId");
    const char *description = aws_world_needed(c, "GroupDescription");
    const char *type = aws_world_needed(c, "TagSpecification.1.ResourceType");
    struct aws_tags tags = aws_world_pairs(c, "TagSpecification.1.Tag");
    if (!str_eq(type, "security-group") || !str_eq(vpc, w->vpc) || str_has_prefix(name, "sg-")) {
        (void)aws_world_refuse(c, ERR_INVALID, "InvalidParameterValue", "%s %s %s", type, vpc,
                               name);
    }
    for (size_t i = 0; i < w->n_groups; i++) {
        if (str_eq(w->groups[i].group.name, name)) {
            (void)aws_world_refuse(c, ERR_EXISTS, "InvalidGroup.Duplicate", "%s", name);
        }
    }
    if (aws_world_failed(c) || w->n_groups == AWS_WORLD_MAX) {
        (void)aws_world_refuse(c, ERR_QUOTA, "SecurityGroupLimitExceeded", "%zu", w->n_groups);
        return;
    }
    const char *id = arena_printf(w->a, "sg-%d", w->next++);
    w->groups[w->n_groups++].group = (struct aws_group){
        .id = id, .name = name, .description = description, .vpc = vpc, .tags = tags};
    aws_world_output(c, "groupId", id);
    c->changed = true;
}

static bool refers(const struct aws_group *from, const char *to)
{
    for (size_t i = 0; i < from->rules.n; i++) {
        const struct aws_rule *rule = &from->rules.items[i];
        if (rule->peer == AWS_PEER_GROUP && str_eq(rule->source, to)) {
            return true;
        }
    }
    return false;
}

static bool has(const struct aws_texts *items, const char *text)
{
    for (size_t i = 0; i < items->n; i++) {
        if (str_eq(items->items[i], text)) {
            return true;
        }
    }
    return false;
}

/* A rule of another group, a load balancer or an instance: each keeps it. */
static bool is_needed(const struct aws_world *w, const char *id)
{
    bool needed = false;
    for (size_t i = 0; i < w->n_groups; i++) {
        const struct aws_group *g = &w->groups[i].group;
        needed |= !str_eq(g->id, id) && refers(g, id);
    }
    for (size_t i = 0; i < w->n_nlbs; i++) {
        needed |= has(&w->nlbs[i].nlb.groups, id);
    }
    for (size_t i = 0; i < w->n_classics; i++) {
        needed |= has(&w->classics[i].groups, id);
    }
    for (size_t i = 0; i < w->n_instances; i++) {
        for (size_t k = 0; k < w->instances[i].n_groups; k++) {
            needed |= str_eq(w->instances[i].groups[k].id, id);
        }
    }
    return needed;
}

static void delete(struct aws_world_call *c)
{
    struct aws_world *w = c->w;
    struct aws_group *g = group_of(c, aws_world_needed(c, "GroupId"));
    if (g == NULL) {
        return;
    }
    if (is_needed(w, g->id)) {
        (void)aws_world_refuse(c, ERR_IN_USE, "DependencyViolation", "%s", g->id);
        return;
    }
    size_t at = (size_t)((struct aws_world_group *)g - w->groups);
    memmove(&w->groups[at], &w->groups[at + 1], (w->n_groups - at - 1) * sizeof w->groups[0]);
    w->n_groups--;
    c->changed = true;
}

static void create_tags(struct aws_world_call *c)
{
    struct aws_group *g = group_of(c, aws_world_needed(c, "ResourceId.1"));
    struct aws_tags tags = aws_world_pairs(c, "Tag");
    if (g == NULL) {
        return;
    }
    for (size_t i = 0; i < tags.n; i++) {
        const char *has_value = NULL;
        for (size_t k = 0; k < g->tags.n; k++) {
            has_value = str_eq(g->tags.items[k].key, tags.items[i].key) ? g->tags.items[k].value
                                                                        : has_value;
        }
        c->changed |= !str_eq(has_value, tags.items[i].value);
    }
    g->tags = aws_world_merged(c->w->a, &g->tags, &tags);
}

void aws_world_ec2(struct aws_world_call *c)
{
    static const struct {
        const char *name;
        void (*run)(struct aws_world_call *c);
    } actions[] = {
        {"AuthorizeSecurityGroupIngress", authorize},
        {"CreateSecurityGroup", create},
        {"CreateTags", create_tags},
        {"DeleteSecurityGroup", delete},
        {"RevokeSecurityGroupIngress", revoke},
        {"UpdateSecurityGroupRuleDescriptionsIngress", describe},
    };
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        if (str_eq(actions[i].name, c->action)) {
            actions[i].run(c);
            return;
        }
    }
    (void)aws_world_refuse(c, ERR_BUG, "InvalidAction", "of EC2");
}
