/* SPDX-License-Identifier: Apache-2.0 */
/* aws_owned_rules.c: see aws_owned_rules.h. */
#include "providers/aws/aws_owned_rules.h"

#include "common/base/str.h"

#include <string.h>

#define CLASSIC_GROUP   "k8s-elb-"
#define NLB_DESCRIPTION "[k8s] Managed SecurityGroup for LoadBalancer"

void aws_owned_init(struct aws_owned_list *l, struct arena *a, const struct aws_naming *naming)
{
    *l = (struct aws_owned_list){.a = a, .naming = naming};
    inventory_init(&l->inv, a);
    l->names = map_new(NULL);
    l->keys = map_new(NULL);
}

void aws_owned_done(struct aws_owned_list *l)
{
    map_free(l->names);
    map_free(l->keys);
}

void aws_owned_count(struct aws_owned_list *l, const struct tt_service *svc)
{
    const struct aws_service *s = aws_service_read(l->a, l->naming, svc);
    map_set(l->names, s->lb_name, l);
    map_set(l->names, s->nlb_group, l);
    map_set(l->keys, s->key, l);
}

bool aws_owned_is_balancer_name(const char *name)
{
    return inventory_is_lb_name(name, strlen(name));
}

bool aws_owned_is_target_group_name(const char *name)
{
    return str_has_prefix(name, "k8s-");
}

static const char *key_of(struct aws_owned_list *l, const struct aws_tags *tags)
{
    const char *key = aws_tag(tags, AWS_SERVICE_TAG);
    return str_is_empty(key) ? NULL : arena_strdup(l->a, key);
}

static void balancer(struct aws_owned_list *l, enum aws_owned_kind kind, const char *name,
                     const char *id, const struct aws_tags *tags)
{
    if (!aws_owned_is_balancer_name(name) || !aws_tags_are_owned(l->naming, tags)) {
        return;
    }
    inventory_put(&l->inv, (struct inventory_item){.kind = kind,
                                                   .name = arena_strdup(l->a, name),
                                                   .id = arena_strdup(l->a, id),
                                                   .unit = arena_strdup(l->a, name),
                                                   .key = key_of(l, tags),
                                                   .used = map_has(l->names, name)});
}

void aws_owned_classic(struct aws_owned_list *l, const char *name, const struct aws_tags *tags)
{
    balancer(l, AWS_OWNED_CLASSIC, name, name, tags);
}

void aws_owned_nlb(struct aws_owned_list *l, const struct aws_nlb *nlb, const struct aws_tags *tags)
{
    balancer(l, AWS_OWNED_NLB, nlb->name, nlb->arn, tags);
}

void aws_owned_target_group(struct aws_owned_list *l, const struct aws_target_group *g,
                            const struct aws_tags *tags)
{
    const char *key = key_of(l, tags);
    if (key == NULL || !aws_owned_is_target_group_name(g->name) ||
        !aws_tags_are_owned(l->naming, tags)) {
        return;
    }
    inventory_put(&l->inv, (struct inventory_item){.kind = AWS_OWNED_TARGET_GROUP,
                                                   .name = arena_strdup(l->a, g->name),
                                                   .id = arena_strdup(l->a, g->arn),
                                                   .unit = key,
                                                   .key = key,
                                                   .used = map_has(l->keys, key)});
}

/* ---- security groups ------------------------------------------------------------------------------------------ */

static void own_group(struct aws_owned_list *l, const struct aws_group *g)
{
    const char *rest =
        str_has_prefix(g->name, CLASSIC_GROUP) ? g->name + strlen(CLASSIC_GROUP) : NULL;
    bool classic = rest != NULL && aws_owned_is_balancer_name(rest);
    bool nlb = str_has_prefix(g->name, "k8s-") && str_eq(g->description, NLB_DESCRIPTION);
    if ((!classic && !nlb) || !aws_tags_are_owned(l->naming, &g->tags)) {
        return;
    }
    const char *unit = classic ? rest : g->name;
    inventory_put(&l->inv, (struct inventory_item){.kind = AWS_OWNED_GROUP,
                                                   .name = arena_strdup(l->a, g->name),
                                                   .id = arena_strdup(l->a, g->id),
                                                   .unit = arena_strdup(l->a, unit),
                                                   .used = map_has(l->names, unit)});
}

static const char *balancer_of(const struct aws_rule *r)
{
    static const char *const prefixes[] = {AWS_RULE_CLIENT, AWS_RULE_HEALTH};
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
        if (str_has_prefix(r->description, prefixes[i])) {
            return r->description + strlen(prefixes[i]);
        }
    }
    return NULL;
}

/* Rules of ours have ports and a range of addresses; what others described as ours may have none. */
static const char *rule_arguments(struct aws_owned_list *l, const struct aws_group *g,
                                  const struct aws_rule *r)
{
    const char *ports = r->from < 0        ? "-1"
                        : r->from == r->to ? arena_printf(l->a, "%d", (int)r->from)
                                           : arena_printf(l->a, "%d-%d", (int)r->from, (int)r->to);
    const char *from = r->peer == AWS_PEER_CIDR ? arena_printf(l->a, "--cidr %s", r->source)
                       : r->peer == AWS_PEER_GROUP
                           ? arena_printf(l->a, "--source-group %s", r->source)
                           : NULL;
    return from == NULL ? NULL
                        : arena_printf(l->a, "%s --protocol %s --port %s %s", g->id, r->protocol,
                                       ports, from);
}

/* Two clusters may share a group of nodes. */
static bool bears_another_cluster(const struct aws_owned_list *l, const struct aws_tags *tags)
{
    const char *ours = arena_printf(l->a, AWS_CLUSTER_TAG_PREFIX "%s", l->naming->cluster_id);
    for (size_t i = 0; i < tags->n; i++) {
        const struct aws_tag *t = &tags->items[i];
        if (str_has_prefix(t->key, AWS_CLUSTER_TAG_PREFIX)
                ? !str_eq(t->key, ours)
                : str_eq(t->key, AWS_LEGACY_CLUSTER_TAG) &&
                      !str_eq(t->value, l->naming->cluster_id)) {
            return true;
        }
    }
    return false;
}

void aws_owned_group(struct aws_owned_list *l, const struct aws_group *g)
{
    bool shared = bears_another_cluster(l, &g->tags);
    own_group(l, g);
    for (size_t i = 0; i < g->rules.n; i++) {
        const struct aws_rule *r = &g->rules.items[i];
        const char *unit = balancer_of(r);
        if (unit != NULL && aws_owned_is_balancer_name(unit)) {
            inventory_put(&l->inv, (struct inventory_item){.kind = AWS_OWNED_RULE,
                                                           .name = aws_rule_text(l->a, r),
                                                           .id = rule_arguments(l, g, r),
                                                           .place = arena_strdup(l->a, g->id),
                                                           .unit = arena_strdup(l->a, unit),
                                                           .used = map_has(l->names, unit),
                                                           .unsure = shared});
        }
    }
}

static const struct inventory_item *find_group(const struct aws_owned_list *l, const char *id)
{
    for (size_t i = 0; i < l->inv.n; i++) {
        const struct inventory_item *item = l->inv.items[i];
        if (item->kind == AWS_OWNED_GROUP && str_eq(item->id, id)) {
            return item;
        }
    }
    return NULL;
}

void aws_owned_referring(struct aws_owned_list *l, const struct aws_group *g)
{
    for (size_t i = 0; i < g->rules.n; i++) {
        const struct aws_rule *r = &g->rules.items[i];
        bool is_ours = r->peer == AWS_PEER_GROUP && str_eq(r->protocol, "-1");
        const struct inventory_item *own = is_ours ? find_group(l, r->source) : NULL;
        if (own != NULL) {
            inventory_put(&l->inv, (struct inventory_item){.kind = AWS_OWNED_RULE,
                                                           .name = aws_rule_text(l->a, r),
                                                           .id = rule_arguments(l, g, r),
                                                           .place = arena_strdup(l->a, g->id),
                                                           .unit = own->unit,
                                                           .used = own->used});
        }
    }
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

void aws_owned_settle(struct aws_owned_list *l)
{
    inventory_settle(&l->inv);
    for (size_t i = 0; i < l->inv.n; i++) {
        struct inventory_item *item = l->inv.items[i];
        item->unsure = item->unsure && item->key == NULL && !item->used;
    }
}

/* ---- words ---------------------------------------------------------------------------------------------------------- */

const struct inventory_words aws_owned_words[AWS_OWNED_KINDS] = {
    [AWS_OWNED_CLASSIC] = {"classic load balancer", "billed by the hour"},
    [AWS_OWNED_NLB] = {"network load balancer", "billed by the hour"},
    [AWS_OWNED_TARGET_GROUP] = {"target group", "free"},
    [AWS_OWNED_GROUP] = {"security group", "free"},
    [AWS_OWNED_RULE] = {"security group rule", "free"},
};
static const char *const commands[AWS_OWNED_KINDS] = {
    [AWS_OWNED_CLASSIC] = "elb delete-load-balancer --load-balancer-name",
    [AWS_OWNED_NLB] = "elbv2 delete-load-balancer --load-balancer-arn",
    [AWS_OWNED_TARGET_GROUP] = "elbv2 delete-target-group --target-group-arn",
    [AWS_OWNED_GROUP] = "ec2 delete-security-group --group-id",
    [AWS_OWNED_RULE] = "ec2 revoke-security-group-ingress --group-id",
};

const char *aws_owned_command(struct arena *a, const struct inventory_item *item)
{
    return item->id == NULL ? NULL : arena_printf(a, "aws %s %s", commands[item->kind], item->id);
}

/* A unit that is called by its UID can be deleted as a Service of that UID; hashed names tell none. */
const struct tt_service *aws_owned_service(const struct aws_owned_list *l,
                                           const struct inventory_item *item)
{
    bool by_uid = aws_owned_is_balancer_name(item->unit);
    bool named = by_uid || str_eq(item->unit, item->key);
    if (item->key == NULL || !named || map_has(l->keys, item->key)) {
        return NULL;
    }
    const char *name = by_uid ? item->unit : "a0000000000000000000000000000000";
    return inventory_service(l->a, item->key, inventory_uid_of(l->a, name));
}
