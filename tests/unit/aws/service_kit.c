/* SPDX-License-Identifier: Apache-2.0 */
/* service_kit.c: see service_kit.h. */
#include "tests/unit/aws/service_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct service_kit *service_kit_new(void)
{
    struct kit *k = kit_new();
    struct service_kit *s = ARENA_NEW(k->a, struct service_kit);
    *s = (struct service_kit){.k = k};
    k->kind = "";
    k->world.n_subnets = 2;
    return s;
}

void service_kit_free(struct service_kit *s)
{
    kit_free(s->k);
}

/* ---- plans ----------------------------------------------------------------------------------- */

static const struct aws_surroundings *around(struct service_kit *s)
{
    static const struct aws_route_table table = {.id = "rtb-1", .main = true, .to_internet = true};
    struct kit *k = s->k;
    struct aws_surroundings *all = arena_memdup(k->a, k->around, sizeof *all);
    struct aws_instance *targets = ARENA_ARRAY(k->a, struct aws_instance, k->instances.n + 1);
    all->n_instances = 0;
    for (size_t i = 0; i < k->instances.n; i++) {
        targets[all->n_instances++] = *aws_world_instance(&k->world, k->instances.items[i]);
    }
    all->instances = targets;
    all->other_groups = s->other_groups;
    all->other_mains = s->other_mains;
    all->other_names = s->other_names;
    all->knows_needed = s->knows_needed;
    all->n_referring = s->referring ? all->n_referring : 0;
    all->places.tables = &table;
    all->places.n_tables = 1;
    if (s->no_places) {
        all->places = (struct aws_places){.own_subnet = ""};
    }
    return all;
}

int service_try(struct service_kit *s, bool want, struct err *err)
{
    s->planning = kit_begin(s->k);
    s->k->around = around(s);
    s->planning.around = s->k->around;
    s->planning.spares = s->spares;
    s->planning.texts_stay = s->texts_stay;
    struct lb_kinds *full = NULL;
    if (s->full != NULL) {
        lb_kinds_add(s->k->a, &full, s->full);
    }
    lb_plan_service(&s->k->plan, s->k->service->key)->full = full;
    int rc = aws_plan_service(&s->planning, want, err);
    if (rc == ERR_OK && lb_plan_seal(&s->k->plan, err) != ERR_OK) {
        fail_msg("%s", err->message);
    }
    assert_int_equal(rc, err->code);
    return rc;
}

void service_plan(struct service_kit *s, bool want)
{
    struct err err = ERR_INIT;
    if (service_try(s, want, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
}

void service_settle(struct service_kit *s, bool want)
{
    service_plan(s, want);
    kit_run(s->k);
    service_plan(s, want);
    if (lb_plan_changes(&s->k->plan) != 0) {
        fail_msg("not settled: %s\n%s", kit_waves(s->k), aws_world_text(&s->k->world, s->k->a));
    }
}

const char *service_finding(const struct service_kit *s)
{
    assert_true(s->planning.n_findings <= 1);
    return s->planning.n_findings == 1 ? s->planning.findings[0].message : "";
}

const char *service_effects(const struct service_kit *s)
{
    const struct lb_plan_service *told = lb_plan_service(&s->k->plan, s->k->service->key);
    return str_join(s->k->a, told->effects, told->n_effects, "\n");
}

/* ---- security groups ------------------------------------------------------------------------- */

struct aws_group *service_group(struct service_kit *s, const char *id, const char *name,
                                const char *tag)
{
    struct aws_world *w = &s->k->world;
    struct aws_tag *tags = ARENA_ARRAY(s->k->a, struct aws_tag, 1);
    tags[0] = (struct aws_tag){AWS_CLUSTER_TAG_PREFIX "c1", tag};
    assert_true(w->n_groups < AWS_WORLD_MAX);
    struct aws_group *g = &w->groups[w->n_groups++].group;
    *g = (struct aws_group){
        .id = id,
        .name = name,
        .description = "",
        .vpc = w->vpc,
        .tags = {tags, tag != NULL ? 1 : 0},
    };
    return g;
}

struct aws_rule service_rule(struct service_kit *s, const char *text)
{
    size_t n = 0;
    char **half = str_split(s->k->a, text, ';', &n);
    const char *description = n > 1 ? half[1] : "";
    char **words = str_split(s->k->a, half[0], ' ', &n);
    const char *source = words[n - 1];
    struct aws_rule r = {
        .protocol = words[0],
        .from = AWS_NO_PORT,
        .to = AWS_NO_PORT,
        .source = source,
        .user = "",
        .description = description,
        .peer = str_has_prefix(source, "sg-")   ? AWS_PEER_GROUP
                : strchr(source, ':') != NULL   ? AWS_PEER_CIDR6
                : str_has_prefix(source, "pl-") ? AWS_PEER_PREFIX_LIST
                                                : AWS_PEER_CIDR,
    };
    if (n == 3) {
        assert_true(sscanf(words[1], "%d", &r.from) == 1);
        r.to = r.from;
        const char *dash = strchr(words[1], '-');
        if (dash != NULL) {
            assert_true(sscanf(dash + 1, "%d", &r.to) == 1);
        }
    }
    return r;
}

void service_add_rule(struct service_kit *s, const char *group, const char *text)
{
    struct aws_group *g = NULL;
    for (size_t i = 0; i < s->k->world.n_groups; i++) {
        struct aws_group *at = &s->k->world.groups[i].group;
        g = str_eq(at->id, group) ? at : g;
    }
    assert_non_null(g);
    struct aws_rule *items = ARENA_ARRAY(s->k->a, struct aws_rule, g->rules.n + 1);
    if (g->rules.n > 0) {
        memcpy(items, g->rules.items, g->rules.n * sizeof *items);
    }
    items[g->rules.n] = service_rule(s, text);
    g->rules = aws_rules_sorted(s->k->a, items, g->rules.n + 1);
}

static const char *rule_text(struct arena *a, const struct aws_rule *r)
{
    const char *ports = r->from == AWS_NO_PORT ? ""
                        : r->from == r->to     ? arena_printf(a, "%d ", (int)r->from)
                                           : arena_printf(a, "%d-%d ", (int)r->from, (int)r->to);
    const char *description =
        str_is_empty(r->description) ? "" : arena_printf(a, ";%s", r->description);
    return arena_printf(a, "%s %s%s%s", r->protocol, ports, r->source, description);
}

const char *service_rules(const struct service_kit *s, const char *group)
{
    const struct aws_world_group *g = aws_world_group(&s->k->world, group);
    if (g == NULL) {
        return NULL;
    }
    const char **items = ARENA_ARRAY(s->k->a, const char *, g->group.rules.n + 1);
    for (size_t i = 0; i < g->group.rules.n; i++) {
        items[i] = rule_text(s->k->a, &g->group.rules.items[i]);
    }
    return str_join(s->k->a, items, g->group.rules.n, "\n");
}

const struct aws_group *service_named(const struct service_kit *s, const char *name)
{
    for (size_t i = 0; i < s->k->world.n_groups; i++) {
        if (str_eq(s->k->world.groups[i].group.name, name)) {
            return &s->k->world.groups[i].group;
        }
    }
    return NULL;
}

const char *service_waves(struct service_kit *s)
{
    return kit_waves(s->k);
}

const char *service_params(struct service_kit *s, const char *action, size_t nth, const char *but)
{
    return kit_params(s->k, kit_op(s->k, action, nth), but);
}

struct service_kit *service_standing(const char *ports, const char *lines)
{
    struct service_kit *s = service_kit_new();
    s->k->ports = ports;
    s->k->lines = lines;
    service_settle(s, true);
    return s;
}

const char *service_edited(struct service_kit *s)
{
    s->k->repairs = true;
    service_plan(s, true);
    const char *was = service_waves(s);
    service_settle(s, true);
    return was;
}
