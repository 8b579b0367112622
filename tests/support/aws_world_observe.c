/* SPDX-License-Identifier: Apache-2.0 */
/* aws_world_observe.c: what a Service sees of aws_world.h, and the world as text. */
#include "tests/support/aws_world.h"

#include <stdlib.h>
#include <string.h>

static const char *tag_of(const struct aws_tags *tags, const char *key)
{
    for (size_t i = 0; i < tags->n; i++) {
        if (str_eq(tags->items[i].key, key)) {
            return tags->items[i].value;
        }
    }
    return NULL;
}

static bool is_cluster(const struct aws_naming *naming, struct arena *a,
                       const struct aws_tags *tags)
{
    return tag_of(tags, arena_printf(a, AWS_CLUSTER_TAG_PREFIX "%s", naming->cluster_id)) != NULL;
}

/* ---- of one Service -------------------------------------------------------------------------- */

/* ARNs of the balancers whose listeners forward to the group. */
static struct aws_texts balancers_of(const struct aws_world *w, const char *group)
{
    const char **arns = ARENA_ARRAY(w->a, const char *, w->n_listeners + 1);
    size_t n = 0;
    for (size_t i = 0; i < w->n_listeners; i++) {
        if (str_eq(w->listeners[i].target_group, group)) {
            arns[n++] = w->listeners[i].balancer;
        }
    }
    return aws_world_sorted(w->a, (struct aws_texts){arns, n});
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

static int by_name(const void *x, const void *y)
{
    const struct aws_observed_group *a = x;
    const struct aws_observed_group *b = y;
    return strcmp(a->group->name, b->group->name);
}

static void observe_groups(const struct aws_world *w, const struct aws_naming *naming,
                           const struct aws_service *s, struct aws_observed *o)
{
    struct aws_observed_group *all =
        ARENA_ARRAY(w->a, struct aws_observed_group, w->n_target_groups + 1);
    const char *prefix = aws_target_group_prefix(w->a, s->in->ns, s->in->name);
    for (size_t i = 0; i < w->n_target_groups; i++) {
        const struct aws_world_target_group *from = &w->target_groups[i];
        struct aws_target_group *g = arena_memdup(w->a, &from->group, sizeof *g);
        g->balancers = balancers_of(w, g->arn);
        bool served = o->nlb != NULL && has(&g->balancers, o->nlb->arn);
        bool ours = str_has_prefix(g->name, prefix) &&
                    str_eq(tag_of(&from->tags, AWS_SERVICE_TAG), s->key) &&
                    is_cluster(naming, w->a, &from->tags);
        if (!served && !(ours && g->balancers.n == 0)) {
            continue;
        }
        all[o->n_groups++] = (struct aws_observed_group){
            .group = g,
            .left = !served,
            .has_targets = true,
            .targets = from->targets,
            .has_attributes = true,
            .attributes = from->attributes,
        };
    }
    qsort(all, o->n_groups, sizeof *all, by_name);
    o->groups = all;
}

static void observe_nlb(const struct aws_world *w, const struct aws_service *s,
                        struct aws_observed *o)
{
    struct aws_listener *listeners = ARENA_ARRAY(w->a, struct aws_listener, w->n_listeners + 1);
    o->listeners = listeners;
    for (size_t i = 0; i < w->n_nlbs; i++) {
        if (str_eq(w->nlbs[i].nlb.name, s->lb_name)) {
            o->nlb = arena_memdup(w->a, &w->nlbs[i].nlb, sizeof *o->nlb);
            o->has_nlb_attributes = true;
            o->nlb_attributes = w->nlbs[i].attributes;
        }
    }
    for (size_t i = 0; o->nlb != NULL && i < w->n_listeners; i++) {
        if (str_eq(w->listeners[i].balancer, o->nlb->arn)) {
            listeners[o->n_listeners++] = w->listeners[i];
        }
    }
}

/* Only when they are compared (NLBTags). */
static void observe_tags(const struct aws_world *w, const struct aws_naming *naming,
                         const struct aws_service *s, struct aws_observed *o)
{
    struct aws_arn_tags *all =
        ARENA_ARRAY(w->a, struct aws_arn_tags, w->n_nlbs + w->n_listeners + w->n_target_groups + 1);
    bool compared = naming->options.nlb_tags && s->extra_tags.n > 0 && s->kind == AWS_NLB;
    for (size_t i = 0; compared && o->nlb != NULL && i < w->n_nlbs; i++) {
        if (str_eq(w->nlbs[i].nlb.arn, o->nlb->arn)) {
            all[o->n_tags++] = (struct aws_arn_tags){o->nlb->arn, w->nlbs[i].tags};
        }
    }
    for (size_t i = 0; compared && o->nlb != NULL && i < w->n_listeners; i++) {
        if (str_eq(w->listeners[i].balancer, o->nlb->arn)) {
            all[o->n_tags++] = (struct aws_arn_tags){w->listeners[i].arn, w->listener_tags[i]};
        }
    }
    for (size_t i = 0; compared && i < o->n_groups; i++) {
        for (size_t k = 0; k < w->n_target_groups; k++) {
            if (str_eq(w->target_groups[k].group.arn, o->groups[i].group->arn)) {
                all[o->n_tags++] =
                    (struct aws_arn_tags){w->target_groups[k].group.arn, w->target_groups[k].tags};
            }
        }
    }
    o->tags = all;
}

const struct aws_observed *aws_world_observe(const struct aws_world *w,
                                             const struct aws_naming *naming,
                                             const struct aws_service *s)
{
    struct aws_observed *o = ARENA_NEW(w->a, struct aws_observed);
    observe_nlb(w, s, o);
    observe_groups(w, naming, s, o);
    observe_tags(w, naming, s, o);
    for (size_t i = 0; i < w->n_classics; i++) {
        if (str_eq(w->classics[i].name, s->lb_name)) {
            o->classic = arena_memdup(w->a, &w->classics[i], sizeof *o->classic);
            o->classic_attributes =
                arena_memdup(w->a, &w->classic_attributes[i], sizeof *o->classic_attributes);
            o->has_classic_tags = true;
            o->classic_tags = w->classic_tags[i];
        }
    }
    return o;
}

/* ---- of all Services ------------------------------------------------------------------------- */

static bool is_of_instance(const struct aws_world *w, const char *id)
{
    for (size_t i = 0; i < w->n_instances; i++) {
        for (size_t k = 0; k < w->instances[i].n_groups; k++) {
            if (str_eq(w->instances[i].groups[k].id, id)) {
                return true;
            }
        }
    }
    return false;
}

static bool refers_to(const struct aws_group *g, const struct str_set *ids)
{
    for (size_t i = 0; i < g->rules.n; i++) {
        const struct aws_rule *rule = &g->rules.items[i];
        if (rule->peer == AWS_PEER_GROUP && str_set_has(ids, rule->source)) {
            return true;
        }
    }
    return false;
}

static int compare_groups(const void *x, const void *y)
{
    return strcmp((*(const struct aws_group *const *)x)->id,
                  (*(const struct aws_group *const *)y)->id);
}

const struct aws_surroundings *aws_world_surroundings(const struct aws_world *w,
                                                      const struct aws_naming *naming)
{
    struct aws_surroundings *s = ARENA_NEW(w->a, struct aws_surroundings);
    const struct aws_group **groups = ARENA_ARRAY(w->a, const struct aws_group *, w->n_groups + 1);
    const struct aws_group **others = ARENA_ARRAY(w->a, const struct aws_group *, w->n_groups + 1);
    const char **tagged = ARENA_ARRAY(w->a, const char *, w->n_groups + 1);
    size_t n_tagged = 0;
    for (size_t i = 0; i < w->n_groups; i++) {
        const struct aws_group *g = arena_memdup(w->a, &w->groups[i].group, sizeof *g);
        bool ours = is_cluster(naming, w->a, &g->tags);
        if (ours) {
            tagged[n_tagged++] = g->id;
        }
        if (ours || is_of_instance(w, g->id)) {
            groups[s->n_groups++] = g;
        }
    }
    qsort(groups, s->n_groups, sizeof(*groups), compare_groups);
    s->groups = groups;
    s->tagged = str_set_make(w->a, tagged, n_tagged);
    for (size_t i = 0; i < w->n_groups; i++) {
        const struct aws_group *g = arena_memdup(w->a, &w->groups[i].group, sizeof *g);
        if (!str_set_has(&s->tagged, g->id) && refers_to(g, &s->tagged)) {
            others[s->n_referring++] = g;
        }
    }
    qsort(others, s->n_referring, sizeof(*others), compare_groups);
    s->referring = others;
    s->instances = arena_memdup(w->a, w->instances, sizeof w->instances[0] * (w->n_instances + 1));
    s->n_instances = w->n_instances;
    s->places.subnets = w->subnets;
    s->places.n_subnets = w->n_subnets;
    s->places.tables = w->tables;
    s->places.n_tables = w->n_tables;
    s->places.zones = w->zones;
    s->places.n_zones = w->n_zones;
    s->places.own_subnet = "";
    return s;
}

/* ---- as text --------------------------------------------------------------------------------- */

static void tags_text(struct str_buf *b, const char *head, const struct aws_tags *tags)
{
    for (size_t i = 0; i < tags->n; i++) {
        str_appendf(b, "  %s %s = %s\n", head, tags->items[i].key, tags->items[i].value);
    }
}

static void texts_text(struct str_buf *b, const char *head, const struct aws_texts *texts)
{
    for (size_t i = 0; i < texts->n; i++) {
        str_appendf(b, "  %s %s\n", head, texts->items[i]);
    }
}

static void target_group_text(struct str_buf *b, const struct aws_world_target_group *g)
{
    const struct aws_target_health_check *h = &g->group.health;
    str_appendf(b, "target group %s: %s %d in %s\n", g->group.name, g->group.protocol,
                (int)g->group.port, g->group.vpc);
    str_appendf(b, "  health check %s :%s%s every %d s, %d s, %d, %d\n", h->protocol, h->port,
                h->path, (int)h->interval, (int)h->timeout, (int)h->healthy, (int)h->unhealthy);
    for (size_t i = 0; i < g->targets.n; i++) {
        const struct aws_target *t = &g->targets.items[i];
        str_appendf(b, "  target %s:%d %s\n", t->id, (int)t->port, t->state);
    }
    tags_text(b, "attribute", &g->attributes);
    tags_text(b, "tag", &g->tags);
}

static void rule_text(struct str_buf *b, const struct aws_rule *rule)
{
    str_appendf(b, "  rule %s %d-%d from %s \"%s\"\n", rule->protocol, (int)rule->from,
                (int)rule->to, rule->source, rule->description);
}

static void classic_text(struct str_buf *b, const struct aws_world *w, size_t at)
{
    const struct aws_classic *c = &w->classics[at];
    const struct aws_classic_attributes *x = &w->classic_attributes[at];
    const struct aws_classic_health *h = &c->health;
    str_appendf(b, "load balancer %s: classic, %s\n", c->name, c->scheme);
    texts_text(b, "subnet", &c->subnets);
    texts_text(b, "security group", &c->groups);
    texts_text(b, "instance", &c->instances);
    texts_text(b, "policy", &c->other_policies);
    for (size_t i = 0; i < c->n_listeners; i++) {
        const struct aws_classic_listener *l = &c->listeners[i];
        str_appendf(b, "  listener %s:%d to %s:%d %s\n", l->protocol, (int)l->port,
                    l->instance_protocol, (int)l->instance_port, str_nonnull(l->certificate));
        texts_text(b, "  policy", &l->policies);
    }
    for (size_t i = 0; i < c->n_backends; i++) {
        str_appendf(b, "  back-end %d\n", (int)c->backends[i].port);
        texts_text(b, "  policy", &c->backends[i].policies);
    }
    str_appendf(b, "  health check %s every %d s, %d s, %d, %d\n", h->target, (int)h->interval,
                (int)h->timeout, (int)h->unhealthy, (int)h->healthy);
    str_appendf(b, "  attributes %d %d %s %s, %d %d, %d, %d\n", x->access_log,
                (int)x->emit_interval, str_nonnull(x->bucket), str_nonnull(x->prefix), x->draining,
                (int)x->draining_timeout, (int)x->idle_timeout, x->cross_zone);
    tags_text(b, "tag", &w->classic_tags[at]);
}

char *aws_world_text(const struct aws_world *w, struct arena *a)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    for (size_t i = 0; i < w->n_classics; i++) {
        classic_text(&b, w, i);
    }
    for (size_t i = 0; i < w->n_nlbs; i++) {
        const struct aws_nlb *nlb = &w->nlbs[i].nlb;
        str_appendf(&b, "load balancer %s: network, %s\n", nlb->name, nlb->scheme);
        texts_text(&b, "subnet", &nlb->subnets);
        texts_text(&b, "security group", &nlb->groups);
        tags_text(&b, "attribute", &w->nlbs[i].attributes);
        tags_text(&b, "tag", &w->nlbs[i].tags);
    }
    for (size_t i = 0; i < w->n_listeners; i++) {
        const struct aws_listener *l = &w->listeners[i];
        str_appendf(&b, "listener %s:%d to %s %s %s\n", l->protocol, (int)l->port, l->target_group,
                    l->certificate, l->ssl_policy);
    }
    for (size_t i = 0; i < w->n_target_groups; i++) {
        target_group_text(&b, &w->target_groups[i]);
    }
    for (size_t i = 0; i < w->n_groups; i++) {
        const struct aws_group *g = &w->groups[i].group;
        str_appendf(&b, "security group %s %s: %s\n", g->id, g->name, g->description);
        for (size_t k = 0; k < g->rules.n; k++) {
            rule_text(&b, &g->rules.items[k]);
        }
        tags_text(&b, "tag", &g->tags);
    }
    return str_buf_to_arena(&b, a);
}
