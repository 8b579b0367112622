/* SPDX-License-Identifier: Apache-2.0 */
/* aws_world_targets.c: target groups of aws_world.h, and what is registered in them. */
#include "tests/support/aws_world_internal.h"

#include <stdlib.h>
#include <string.h>

#define PER_CALL 100
#define DRAINS   "Target.DeregistrationInProgress"

struct aws_world_target_group *aws_world_target_group_of(struct aws_world_call *c, const char *arn)
{
    for (size_t i = 0; i < c->w->n_target_groups; i++) {
        if (str_eq(c->w->target_groups[i].group.arn, arn)) {
            return &c->w->target_groups[i];
        }
    }
    (void)aws_world_refuse(c, ERR_NOT_FOUND, "TargetGroupNotFound", "%s", arn);
    return NULL;
}

static bool is_in_use(const struct aws_world *w, const char *arn)
{
    for (size_t i = 0; i < w->n_listeners; i++) {
        if (str_eq(w->listeners[i].target_group, arn)) {
            return true;
        }
    }
    return false;
}

/* ---- health checks --------------------------------------------------------------------------- */

static void check_health(struct aws_world_call *c, const struct aws_target_health_check *h)
{
    bool tcp = str_eq(h->protocol, "TCP");
    int64_t port = 0;
    bool http = str_eq(h->protocol, "HTTP") || str_eq(h->protocol, "HTTPS");
    bool good_port =
        str_eq(h->port, "traffic-port") || (str_to_i64(h->port, &port) && port > 0 && port < 65536);
    if ((!tcp && !http) || !good_port || (tcp && !str_is_empty(h->path)) ||
        (http && !str_has_prefix(h->path, "/"))) {
        (void)aws_world_refuse(c, ERR_INVALID, "InvalidConfigurationRequest", "%s :%s%s",
                               h->protocol, h->port, h->path);
    }
    if (h->interval < 5 || h->interval > 300 || h->timeout < 2 || h->timeout > h->interval ||
        h->healthy < 2 || h->healthy > 10 || h->unhealthy < 2 || h->unhealthy > 10) {
        (void)aws_world_refuse(c, ERR_INVALID, "ValidationError", "every %d s, %d s, %d, %d",
                               (int)h->interval, (int)h->timeout, (int)h->healthy,
                               (int)h->unhealthy);
    }
}

static void change_text(struct aws_world_call *c, const char *name, const char **was)
{
    const char *is = aws_world_param(c, name);
    if (is != NULL) {
        c->changed |= !str_eq(is, *was);
        *was = is;
    }
}

static void change_int(struct aws_world_call *c, const char *name, int32_t *was)
{
    int32_t is = *was;
    (void)aws_world_int(c, name, &is);
    c->changed |= is != *was;
    *was = is;
}

static void change_health(struct aws_world_call *c, struct aws_target_health_check *h)
{
    change_text(c, "HealthCheckProtocol", &h->protocol);
    change_text(c, "HealthCheckPort", &h->port);
    bool tcp = str_eq(h->protocol, "TCP");
    h->path = tcp ? "" : str_or(h->path, "/");
    change_text(c, "HealthCheckPath", &h->path);
    change_int(c, "HealthCheckIntervalSeconds", &h->interval);
    change_int(c, "HealthCheckTimeoutSeconds", &h->timeout);
    change_int(c, "HealthyThresholdCount", &h->healthy);
    change_int(c, "UnhealthyThresholdCount", &h->unhealthy);
    check_health(c, h);
}

/* ---- groups ---------------------------------------------------------------------------------- */

static const struct aws_tag fresh[] = {
    {"deregistration_delay.timeout_seconds", "300"},
    {"preserve_client_ip.enabled", "true"},
    {"proxy_protocol_v2.enabled", "false"},
};

static bool is_same(const struct aws_target_group *x, const struct aws_target_group *y)
{
    const struct aws_target_health_check *a = &x->health;
    const struct aws_target_health_check *b = &y->health;
    return x->port == y->port && str_eq(x->protocol, y->protocol) && str_eq(x->vpc, y->vpc) &&
           str_eq(a->protocol, b->protocol) && str_eq(a->port, b->port) &&
           str_eq(a->path, b->path) && a->interval == b->interval && a->timeout == b->timeout &&
           a->healthy == b->healthy && a->unhealthy == b->unhealthy;
}

void aws_world_create_target_group(struct aws_world_call *c)
{
    struct aws_world *w = c->w;
    struct aws_target_group g = {.name = aws_world_needed(c, "Name"),
                                 .vpc = aws_world_needed(c, "VpcId"),
                                 .protocol = aws_world_needed(c, "Protocol")};
    (void)aws_world_int(c, "Port", &g.port);
    const char *type = aws_world_needed(c, "TargetType");
    const char *checks = str_or(aws_world_param(c, "HealthCheckProtocol"), "TCP");
    g.health = (struct aws_target_health_check){.protocol = checks,
                                                .port = "traffic-port",
                                                .path = "",
                                                .interval = 30,
                                                .timeout = str_eq(checks, "HTTP") ? 6 : 10,
                                                .healthy = 5,
                                                .unhealthy = 2};
    int32_t interval = 30;
    (void)aws_world_int(c, "HealthCheckIntervalSeconds", &interval);
    g.health.timeout = g.health.timeout < interval ? g.health.timeout : interval;
    change_health(c, &g.health);
    struct aws_tags tags = aws_world_pairs(c, "Tags.member");
    if (!str_eq(type, "instance") || !str_eq(g.vpc, w->vpc) || strlen(g.name) > 32 || g.port < 1) {
        (void)aws_world_refuse(c, ERR_INVALID, "ValidationError", "%s %s %s", type, g.vpc, g.name);
    }
    for (size_t i = 0; i < w->n_target_groups && !aws_world_failed(c); i++) {
        struct aws_target_group *other = &w->target_groups[i].group;
        if (!str_eq(other->name, g.name)) {
            continue;
        }
        if (!is_same(other, &g)) {
            (void)aws_world_refuse(c, ERR_EXISTS, "DuplicateTargetGroupName", "%s", g.name);
        }
        c->changed = false; /* AWS answers the one that is there: no planner should ask */
        aws_world_output(c, "TargetGroups/member/TargetGroupArn", other->arn);
        return;
    }
    if (aws_world_failed(c) || w->n_target_groups == AWS_WORLD_MAX) {
        (void)aws_world_refuse(c, ERR_QUOTA, "TooManyTargetGroups", "%zu", w->n_target_groups);
        return;
    }
    g.arn = arena_printf(w->a, "arn:targetgroup/%s/%d", g.name, w->next++);
    w->target_groups[w->n_target_groups++] = (struct aws_world_target_group){
        .group = g, .tags = tags, .attributes = {fresh, ARRAY_LEN(fresh)}};
    aws_world_output(c, "TargetGroups/member/TargetGroupArn", g.arn);
    c->changed = true;
}

void aws_world_modify_target_group(struct aws_world_call *c)
{
    struct aws_world_target_group *g =
        aws_world_target_group_of(c, aws_world_needed(c, "TargetGroupArn"));
    if (g != NULL) {
        struct aws_target_health_check now = g->group.health;
        change_health(c, &now);
        g->group.health = now;
    }
}

void aws_world_delete_target_group(struct aws_world_call *c)
{
    struct aws_world_target_group *g =
        aws_world_target_group_of(c, aws_world_needed(c, "TargetGroupArn"));
    if (g == NULL) {
        return;
    }
    if (is_in_use(c->w, g->group.arn)) {
        (void)aws_world_refuse(c, ERR_IN_USE, "ResourceInUse", "%s", g->group.name);
        return;
    }
    size_t at = (size_t)(g - c->w->target_groups);
    memmove(g, g + 1, (c->w->n_target_groups - at - 1) * sizeof *g);
    c->w->n_target_groups--;
    c->changed = true;
}

void aws_world_modify_group_attributes(struct aws_world_call *c)
{
    struct aws_world_target_group *g =
        aws_world_target_group_of(c, aws_world_needed(c, "TargetGroupArn"));
    if (g != NULL) {
        g->attributes =
            aws_world_attributes(c, &g->attributes, &(struct aws_tags){fresh, ARRAY_LEN(fresh)});
        c->changed = true; /* AWS chooses the values of a new group and returns them */
    }
}

/* ---- targets --------------------------------------------------------------------------------- */

static int compare(const void *x, const void *y)
{
    const struct aws_target *a = x;
    const struct aws_target *b = y;
    int order = strcmp(a->id, b->id);
    return order != 0 ? order : (a->port > b->port) - (a->port < b->port);
}

static struct aws_target *find(const struct aws_targets *all, const struct aws_target *one)
{
    for (size_t i = 0; i < all->n; i++) {
        if (compare(&all->items[i], one) == 0) {
            return (struct aws_target *)&all->items[i];
        }
    }
    return NULL;
}

static struct aws_targets targets_read(struct aws_world_call *c)
{
    struct aws_target *items = ARENA_ARRAY(c->w->a, struct aws_target, c->n_pairs + 1);
    struct aws_targets all = {.items = items};
    for (;;) {
        const char *head = arena_printf(c->w->a, "Targets.member.%zu", all.n + 1);
        const char *id = aws_world_param(c, arena_printf(c->w->a, "%s.Id", head));
        if (id == NULL) {
            break;
        }
        struct aws_target one = {.id = id, .state = "healthy", .reason = ""};
        (void)aws_world_int(c, arena_printf(c->w->a, "%s.Port", head), &one.port);
        if (find(&all, &one) != NULL || one.port < 1) {
            (void)aws_world_refuse(c, ERR_BUG, "Twice", "%s:%d", id, (int)one.port);
        }
        items[all.n++] = one;
    }
    if (all.n == 0 || all.n > PER_CALL) {
        (void)aws_world_refuse(c, ERR_BUG, "ValidationError", "%zu targets", all.n);
    }
    return all;
}

/* A copy of the targets with room for more. */
static struct aws_targets roomy(struct arena *a, const struct aws_targets *all, size_t more)
{
    struct aws_target *items = ARENA_ARRAY(a, struct aws_target, all->n + more + 1);
    if (all->n > 0) {
        memcpy(items, all->items, all->n * sizeof *items);
    }
    return (struct aws_targets){items, all->n};
}

void aws_world_register(struct aws_world_call *c)
{
    struct aws_world_target_group *g =
        aws_world_target_group_of(c, aws_world_needed(c, "TargetGroupArn"));
    struct aws_targets more = targets_read(c);
    if (g == NULL) {
        return;
    }
    struct aws_targets all = roomy(c->w->a, &g->targets, more.n);
    size_t changed = 0;
    for (size_t i = 0; i < more.n; i++) {
        const struct aws_instance *at = aws_world_instance(c->w, more.items[i].id);
        if (at == NULL || !str_eq(at->state, "running")) {
            (void)aws_world_refuse(c, ERR_INVALID, "InvalidTarget", "%s", more.items[i].id);
            return;
        }
        struct aws_target *has = find(&all, &more.items[i]);
        if (has == NULL) {
            ((struct aws_target *)all.items)[all.n++] = more.items[i];
            changed++;
        } else if (str_eq(has->reason, DRAINS)) {
            *has = more.items[i];
            changed++;
        }
    }
    qsort((void *)all.items, all.n, sizeof all.items[0], compare);
    g->targets = all;
    c->changed = changed == more.n;
}

void aws_world_deregister(struct aws_world_call *c)
{
    struct aws_world_target_group *g =
        aws_world_target_group_of(c, aws_world_needed(c, "TargetGroupArn"));
    struct aws_targets less = targets_read(c);
    if (g == NULL) {
        return;
    }
    bool drains = c->w->drains && is_in_use(c->w, g->group.arn);
    struct aws_targets all = roomy(c->w->a, &g->targets, 0);
    size_t changed = 0;
    for (size_t i = 0; i < less.n; i++) {
        struct aws_target *has = find(&all, &less.items[i]);
        if (has == NULL || str_eq(has->reason, DRAINS)) {
            continue; /* AWS minds nothing */
        }
        changed++;
        has->state = "draining";
        has->reason = DRAINS;
    }
    size_t n = 0;
    for (size_t i = 0; i < all.n; i++) {
        if (drains || find(&less, &all.items[i]) == NULL) {
            ((struct aws_target *)all.items)[n++] = all.items[i];
        }
    }
    g->targets = (struct aws_targets){all.items, n};
    c->changed = changed == less.n;
}
