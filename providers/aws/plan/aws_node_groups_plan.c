/* SPDX-License-Identifier: Apache-2.0 */
/* aws_node_groups_plan.c: rules in the security groups of nodes, so that a load balancer reaches
 * them.
 *
 * These groups are shared: each Service of the cluster has rules in them, and people have
 * theirs.  A Service's planner touches only rules that it can prove to be its own: for a classic
 * balancer the one rule "all traffic from its main group", for an NLB rules with the balancer's
 * name in the description.  What other Services need stays even so: `other_mains` (several classic
 * balancers share a main group, FIX 44) and `needed`.
 * ElbSecurityGroup is never touched, and a group's rule about itself never taken away: clusters
 * have one for traffic among their nodes.  With DisableSecurityGroupIngress nothing is done here.
 * Source: docs/spec/aws.md 4.11, 5.11. */
#include "providers/aws/plan/aws_groups_plan.h"

#include "common/base/str.h"

#include <string.h>

/* ---- groups of the targets ------------------------------------------------------------------- */

/* The groups in which the Service's targets are: sorted ids.  ERR_INVALID: it is unknown for one
 * of them. */
static int wanted_groups(struct aws_planning *p, const struct aws_texts *instances,
                         struct str_set *ret, struct err *err)
{
    const struct str_set ids = str_set_make(p->a, instances->items, instances->n);
    const char **items = ARENA_ARRAY(p->a, const char *, p->around->n_instances);
    size_t n = 0;
    for (size_t i = 0; i < p->around->n_instances; i++) {
        const struct aws_instance *in = &p->around->instances[i];
        const char *group = NULL;
        if (!str_set_has(&ids, in->id)) {
            continue;
        }
        int rc = aws_node_group(p->a, in, &p->around->tagged, &group, err);
        if (rc != ERR_OK) {
            return rc;
        }
        if (group != NULL && !str_eq(group, p->naming->shared_group)) {
            items[n++] = group;
        }
    }
    *ret = str_set_make(p->a, items, n);
    return ERR_OK;
}

/* A group that is on a target but was not read: as if it had no rule; what it has already AWS
 * tells, and the sync looks again. */
static const struct aws_group *group_or_empty(struct aws_planning *p, const char *id)
{
    const struct aws_group *g = aws_group_find(p->around, id);
    if (g == NULL) {
        struct aws_group *unknown = ARENA_NEW(p->a, struct aws_group);
        *unknown = (struct aws_group){.id = id, .name = "", .description = "", .vpc = ""};
        g = unknown;
    }
    return g;
}

/* Cluster-tagged groups and those of targets, without ElbSecurityGroup; sorted ids. */
static struct str_set groups_to_look_at(struct aws_planning *p, const struct str_set *wanted)
{
    const char **items = ARENA_ARRAY(p->a, const char *, p->around->n_groups);
    size_t n = 0;
    for (size_t i = 0; i < p->around->n_groups; i++) {
        const struct aws_group *g = p->around->groups[i];
        if (aws_group_is_tagged(p, g) && !str_eq(g->id, p->naming->shared_group)) {
            items[n++] = g->id;
        }
    }
    struct str_set tagged = str_set_make(p->a, items, n);
    return str_set_union(p->a, &tagged, wanted);
}

/* ---- classic balancers ----------------------------------------------------------------------- */

/* Groups of a classic balancer that no node allows any more. */
struct classic_nodes {
    struct aws_planning *p;
    struct lb_value main;  /* group that nodes let in */
    struct str_set wanted; /* node groups that must have the rule */
    struct str_set gone;   /* groups that leave the balancer and are not ours to delete */
};

static bool lets_in(const struct aws_group *g, const char *source)
{
    for (size_t i = 0; source != NULL && i < g->rules.n; i++) {
        const struct aws_rule *r = &g->rules.items[i];
        if (r->peer == AWS_PEER_GROUP && str_eq(r->protocol, AWS_ALL_TRAFFIC) &&
            str_eq(r->source, source)) {
            return true;
        }
    }
    return false;
}

/* A rule whose source may not be known yet, which aws_draft_rules() cannot say. */
static int authorize_main(struct classic_nodes *c, enum aws_phase phase, const struct aws_group *g)
{
    struct aws_planning *p = c->p;
    const char *why =
        arena_printf(p->a,
                     "targets of Service %s are in it, and it does not let their load "
                     "balancer in",
                     p->service->key);
    int d = aws_group_draft(p, phase, true, aws_group_text(p->a, g), why);
    struct aws_rule_count is = aws_rules_count(&g->rules);
    aws_limits_of_rules(p, aws_group_text(p->a, g), is,
                        (struct aws_rule_count){.v4 = is.v4 + 1, .v6 = is.v6 + 1});
    aws_draft_op(p, d)->shared = true;
    aws_draft_text(p, d, "GroupId", g->id);
    aws_draft_text(p, d, "IpPermissions.1.IpProtocol", AWS_ALL_TRAFFIC);
    aws_draft_value(p, d, "IpPermissions.1.Groups.1.GroupId", c->main);
    if (c->main.text != NULL) {
        const struct aws_rule rule = {
            .protocol = AWS_ALL_TRAFFIC,
            .from = AWS_NO_PORT,
            .to = AWS_NO_PORT,
            .peer = AWS_PEER_GROUP,
            .source = c->main.text,
            .user = "",
            .description = "",
        };
        aws_draft_field(p, d, "ingress", NULL, aws_rule_text(p->a, &rule));
    } else {
        aws_draft_field_value(p, d, "ingress.source", NULL, c->main);
    }
    return d;
}

/* The balancer has both groups by then, so that one rule at a time is enough; between the two calls
 * no node is reached. */
static void exchange_main(struct classic_nodes *c, const struct aws_group *g)
{
    struct aws_planning *p = c->p;
    const char *name = aws_group_text(p->a, g);
    struct aws_rules former = aws_group_references(p->a, g, &p->exchange.former, true);
    int gone = aws_group_draft(p, AWS_PHASE_SWITCH, false, name,
                               "the load balancer's other group needs the room");
    aws_draft_op(p, gone)->shared = true;
    aws_draft_text(p, gone, "GroupId", g->id);
    aws_group_draft_rules(p, gone, false, &former);
    int come = authorize_main(c, AWS_PHASE_DROP, g);
    aws_draft_op(p, come)->part = "rules";
    int back = aws_draft(p, AWS_PHASE_MAKE, LB_CREATE, "rules of security group", name, NULL);
    aws_draft_action(p, back, AWS_EC2, "AuthorizeSecurityGroupIngress");
    aws_draft_text(p, back, "GroupId", g->id);
    aws_group_draft_rules(p, back, true, &former);
    aws_draft_undoes(p, back, gone, come);
    lb_plan_effect(p->plan, p->service->key,
                   "Traffic is interrupted for a moment: security group %s has no room for rules "
                   "about both groups of the load balancer.",
                   name);
}

static bool names_a_group(const struct aws_group *g)
{
    for (size_t i = 0; i < g->rules.n; i++) {
        if (g->rules.items[i].peer == AWS_PEER_GROUP) {
            return true;
        }
    }
    return false;
}

/* Rules about groups that the balancer no longer has, and about its main group where no
 * target is left. */
static void revoke_rest(struct classic_nodes *c, const struct aws_group *g)
{
    struct aws_planning *p = c->p;
    struct str_set sources = aws_exchange_leaves(p, g->id, &c->gone);
    const char *main = c->main.text;
    if (main != NULL && !str_set_has(&c->wanted, g->id) && !aws_group_lets_others_in(p, main)) {
        struct str_set one = str_set_make(p->a, &main, 1);
        sources = str_set_union(p->a, &sources, &one);
    }
    struct aws_group_change change = {
        .group = g,
        .diff.revoke = aws_group_references(p->a, g, &sources, false),
        .why_revoke =
            arena_printf(p->a, "the load balancer of Service %s reaches no node this way any more",
                         p->service->key),
    };
    (void)aws_group_change_draft(p, &change);
}

static void classic_group(struct classic_nodes *c, const char *id)
{
    const struct aws_group *g = group_or_empty(c->p, id);
    if (str_set_has(&c->wanted, id)) {
        if (str_set_has(&c->p->exchange.nodes, id)) {
            exchange_main(c, g);
        } else if (!lets_in(g, c->main.text)) {
            (void)authorize_main(c, c->main.text == NULL ? AWS_PHASE_BALANCE : AWS_PHASE_MAKE, g);
        } else {
            (void)aws_draft(c->p, AWS_PHASE_MAKE, LB_KEEP, "security group",
                            aws_group_text(c->p->a, g), NULL);
        }
    }
    /* Most tagged ones are of other Services' balancers and let in addresses only. */
    if (aws_group_is_tagged(c->p, g) && names_a_group(g)) {
        revoke_rest(c, g);
    }
}

/* Of the groups that the balancer will have.  One that is not made yet is in no annotation,
 * and so the first. */
static struct lb_value main_group(const struct aws_planning *p, const struct aws_classic_want *want,
                                  struct lb_value own)
{
    if (want->own != NULL && own.text == NULL) {
        return own;
    }
    const char **items = ARENA_ARRAY(p->a, const char *, want->groups.n + 1);
    size_t n = 0;
    if (want->own != NULL) {
        items[n++] = own.text;
    }
    for (size_t i = 0; i < want->groups.n; i++) {
        items[n++] = want->groups.items[i];
    }
    struct aws_texts groups = {.items = items, .n = n};
    struct aws_texts ordered = aws_main_group_order(p, &groups);
    return ordered.n > 0 ? LB_VALUE(ordered.items[0]) : LB_VALUE(NULL);
}

/* Those of the balancer's groups that it will not have: ours to delete, or without owner. */
static struct str_set groups_that_leave(const struct aws_planning *p,
                                        const struct aws_classic_want *want, struct lb_value own)
{
    struct aws_texts seen = p->seen->classic->groups;
    const struct str_set has = str_set_make(p->a, seen.items, seen.n);
    const struct str_set left =
        aws_left_groups(p, want->own != NULL ? want->own->name : NULL, false);
    const struct str_set gone = aws_classic_groups_that_go(p, want, own);
    const struct str_set all = str_set_union(p->a, &left, &gone);
    const struct str_set stay = str_set_minus(p->a, &has, &all);
    return str_set_minus(p->a, &has, &stay);
}

int aws_exchange_decide(struct aws_planning *p, const struct aws_classic_want *want,
                        struct lb_value own, struct err *err)
{
    struct str_set wanted = {0};
    struct lb_value main = main_group(p, want, own);
    p->exchange = (struct aws_exchange){0};
    if (p->naming->no_node_rules || p->seen->classic == NULL || p->spares) {
        return ERR_OK;
    }
    int rc = wanted_groups(p, &want->instances, &wanted, err);
    struct str_set former = groups_that_leave(p, want, own);
    if (rc != ERR_OK || former.n == 0 ||
        want->groups.n + (want->own != NULL) + former.n > aws_limits[AWS_LIMIT_GROUPS].most) {
        return rc;
    }
    const char **nodes = ARENA_ARRAY(p->a, const char *, wanted.n);
    size_t n = 0;
    const char *id;
    STR_SET_EACH (id, &wanted) {
        const struct aws_group *g = group_or_empty(p, id);
        const char *word = arena_printf(p->a, "security group %s", aws_group_text(p->a, g));
        if (!lets_in(g, main.text) && aws_group_references(p->a, g, &former, true).n > 0 &&
            lb_plan_makes_room(p->plan, p->service->key, word)) {
            nodes[n++] = id;
        }
    }
    p->exchange = (struct aws_exchange){.nodes = str_set_make(p->a, nodes, n), .former = former};
    return ERR_OK;
}

struct str_set aws_exchange_leaves(const struct aws_planning *p, const char *id,
                                   const struct str_set *sources)
{
    return str_set_has(&p->exchange.nodes, id) ? str_set_minus(p->a, sources, &p->exchange.former)
                                               : *sources;
}

int aws_plan_classic_node_groups(struct aws_planning *p, const struct aws_classic_want *want,
                                 struct lb_value own, struct err *err)
{
    if (p->naming->no_node_rules) {
        return ERR_OK;
    }
    struct classic_nodes c = {.p = p, .main = main_group(p, want, own)};
    if (c.main.text == NULL && c.main.op < 0) {
        return err_set(err, ERR_INVALID, "load balancer %s has no security group", want->name);
    }
    int rc = wanted_groups(p, &want->instances, &c.wanted, err);
    if (rc != ERR_OK) {
        return rc;
    }
    c.gone = aws_classic_groups_that_go(p, want, own);
    struct str_set all = groups_to_look_at(p, &c.wanted);
    const char *id;
    STR_SET_EACH (id, &all) {
        classic_group(&c, id);
    }
    return ERR_OK;
}

/* ---- NLBs ------------------------------------------------------------------------------------ */

/* Where probes come from: the subnets that the balancer will have. */
static int subnet_cidrs(struct aws_planning *p, const struct aws_nlb_want *want,
                        struct aws_texts *ret, struct err *err)
{
    const struct aws_nlb *seen = want->moves ? NULL : p->seen->nlb;
    size_t n_subnets = seen != NULL ? seen->subnets.n : want->n_mappings;
    const char **items = ARENA_ARRAY(p->a, const char *, n_subnets);
    size_t n = 0;
    for (size_t i = 0; i < n_subnets; i++) {
        const char *id = seen != NULL ? seen->subnets.items[i] : want->mappings[i].subnet;
        const struct aws_subnet *s = aws_places_subnet(&p->around->places, id);
        if (s == NULL) {
            return err_set(err, ERR_INVALID,
                           "subnet %s of load balancer %s is not in VPC %s; nodes cannot let its "
                           "probes in",
                           id, want->name, p->naming->vpc);
        }
        if (!str_is_empty(s->cidr)) {
            items[n++] = s->cidr;
        }
    }
    *ret = (struct aws_texts){.items = items, .n = n};
    return ERR_OK;
}

/* Does a listener of a port that stays forward to targets that are reached, or probed, at
 * this node port? */
static bool is_used(const struct aws_planning *p, const struct aws_nlb_node_want *w,
                    const struct aws_listener *l, int32_t node_port)
{
    bool stays = false;
    for (size_t i = 0; i < w->n_ports; i++) {
        stays = stays || w->ports[i].port == l->port;
    }
    for (size_t i = 0; stays && i < p->seen->n_groups; i++) {
        const struct aws_target_group *g = p->seen->groups[i].group;
        const char *probed = str_nonnull(g->health.port);
        if (str_eq(g->arn, l->target_group) &&
            (g->port == node_port || str_eq(probed, arena_printf(p->a, "%d", (int)node_port)))) {
            return true;
        }
    }
    return false;
}

/* Clients have no rule of their own at another node port: there the port tells which rules serve
 * them, and probes. */
static struct aws_rules nlb_serving(struct aws_planning *p, const struct aws_nlb_node_want *w,
                                    const struct aws_group *g, const struct aws_rule_diff *diff)
{
    struct aws_rules overlapping = aws_rules_serving(p->a, &g->rules, diff);
    struct aws_rule *items = ARENA_ARRAY(p->a, struct aws_rule, diff->revoke.n);
    size_t n = 0;
    for (size_t i = 0; i < diff->revoke.n; i++) {
        const struct aws_rule *r = &diff->revoke.items[i];
        bool client = str_has_prefix(str_nonnull(r->description), AWS_RULE_CLIENT);
        bool lets_in = !client || aws_rule_meets(r, &w->client_cidrs);
        bool serves = aws_rules_have(&overlapping, r);
        for (size_t k = 0; lets_in && !serves && k < p->seen->n_listeners; k++) {
            serves = is_used(p, w, &p->seen->listeners[k], r->from);
        }
        if (serves) {
            items[n++] = *r;
        }
    }
    return (struct aws_rules){.items = items, .n = n};
}

/* A rule that another balancer made, and that this one needs, bears the other one's name.  Once no
 * Service has that balancer, it gets the name of this one: upstream takes away only what bears the
 * name of the balancer that goes. */
static bool describe_rules(struct aws_planning *p, const struct aws_nlb_node_want *w,
                           const struct aws_group *g)
{
    struct aws_rules rules = aws_nlb_node_rules_of_others(p->a, w, &g->rules);
    if (rules.n == 0 || p->texts_stay) {
        return false;
    }
    int d = aws_draft(p, AWS_PHASE_FILL, LB_CHANGE, "security group", aws_group_text(p->a, g),
                      "the load balancer that its description names is gone");
    aws_draft_op(p, d)->tolerate = LB_TOLERATE_ABSENT;
    aws_draft_op(p, d)->summary = "descriptions";
    aws_draft_op(p, d)->shared = true;
    aws_draft_action(p, d, AWS_EC2, "UpdateSecurityGroupRuleDescriptionsIngress");
    aws_draft_text(p, d, "GroupId", g->id);
    aws_draft_rules(p, d, &rules);
    for (size_t i = 0; i < rules.n; i++) {
        aws_draft_field(p, d, "descriptions", NULL, rules.items[i].description);
    }
    return true;
}

static void nlb_group(struct aws_planning *p, const struct aws_nlb_node_want *w, const char *id,
                      bool wanted)
{
    const struct aws_group *g = group_or_empty(p, id);
    struct aws_nlb_node_want here = *w;
    here.left = aws_left_descriptions(p, g);
    struct aws_group_change c = {
        .group = g,
        .diff = aws_nlb_node_rules_diff(p->a, &here, wanted, &g->rules, &p->around->needed),
        .shuts_out = wanted,
        .why_authorize = arena_printf(p->a, "targets of Service %s are in it", p->service->key),
        .why_revoke = arena_printf(p->a, "the load balancer of Service %s no longer needs it",
                                   p->service->key),
    };
    c.serving = nlb_serving(p, w, g, &c.diff);
    bool described = wanted && describe_rules(p, &here, g);
    if (!aws_group_change_draft(p, &c) && wanted && !described) {
        (void)aws_draft(p, AWS_PHASE_MAKE, LB_KEEP, "security group", aws_group_text(p->a, g),
                        NULL);
    }
}

static int plan_nlb_groups(struct aws_planning *p, const struct aws_nlb_node_want *w,
                           const struct aws_texts *instances, struct err *err)
{
    struct str_set wanted = {0};
    int rc = wanted_groups(p, instances, &wanted, err);
    if (rc != ERR_OK) {
        return rc;
    }
    struct str_set all = groups_to_look_at(p, &wanted);
    const char *id;
    STR_SET_EACH (id, &all) {
        nlb_group(p, w, id, str_set_has(&wanted, id));
    }
    return ERR_OK;
}

int aws_plan_nlb_node_groups(struct aws_planning *p, const struct aws_nlb_want *want,
                             struct err *err)
{
    if (p->naming->no_node_rules) {
        return ERR_OK;
    }
    struct aws_nlb_node_want w = {
        .lb_name = want->name,
        .client_cidrs = p->service->ranges,
        .ports = want->ports,
        .n_ports = want->n_ports,
        .mixed = p->naming->options.mixed_protocols,
        .health_port = want->health.port,
        .keeps_superfluous = !p->repairs,
    };
    int rc = subnet_cidrs(p, want, &w.subnet_cidrs, err);
    return rc == ERR_OK ? plan_nlb_groups(p, &w, &want->instances, err) : rc;
}

/* The traffic rules of that NLB in all groups that were read, each once. */
static struct aws_rules rules_that_stand(const struct aws_planning *p, const char *lb_name)
{
    const char *client = arena_printf(p->a, AWS_RULE_CLIENT "%s", lb_name);
    const char *health = arena_printf(p->a, AWS_RULE_HEALTH "%s", lb_name);
    size_t most = 0;
    for (size_t i = 0; i < p->around->n_groups; i++) {
        most += p->around->groups[i]->rules.n;
    }
    struct aws_rule *items = ARENA_ARRAY(p->a, struct aws_rule, most);
    size_t n = 0;
    for (size_t i = 0; i < p->around->n_groups; i++) {
        const struct aws_rules *rules = &p->around->groups[i]->rules;
        for (size_t k = 0; k < rules->n; k++) {
            const char *of = rules->items[k].description;
            if (str_eq(of, client) || str_eq(of, health)) {
                items[n++] = rules->items[k];
            }
        }
    }
    return aws_rules_sorted(p->a, items, n);
}

int aws_plan_nlb_rules_that_stand(struct aws_planning *p, const char *lb_name,
                                  struct aws_texts instances, struct err *err)
{
    if (p->naming->no_node_rules) {
        return ERR_OK;
    }
    struct aws_rules stand = rules_that_stand(p, lb_name);
    const struct aws_nlb_node_want w = {
        .lb_name = lb_name, .stand = &stand, .keeps_superfluous = true};
    return plan_nlb_groups(p, &w, &instances, err);
}
