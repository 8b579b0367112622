/* SPDX-License-Identifier: Apache-2.0 */
/* aws_groups_plan.c: security groups that are the load balancer's own: made, filled, and deleted
 * when nothing uses them.
 *
 * A group is ours by its derived name in our VPC; to delete it, its cluster tag must say "owned",
 * too, because deleting the wrong one cuts traffic of things that have nothing to do with
 * Kubernetes (docs/spec/aws.md 7.3, FIX 18).  A group that an annotation or the
 * configuration names is the user's from then on, whatever its name.  A deletion that AWS refuses
 * because interfaces of the balancer still hold the group ends as ERR_IN_USE: the Service comes
 * back in a few seconds (7.4), nothing waits.  Source: docs/spec/aws.md 4.10, 4.14, 5.9, 7.3. */
#include "providers/aws/plan/aws_groups_plan.h"

#include "common/base/str.h"
#include "common/cloud/inventory.h"
#include "common/lb/service_rules.h"

#include <stdlib.h>
#include <string.h>

#define KIND "security group"

/* ---- finding --------------------------------------------------------------------------------- */

static int compare_id(const void *id, const void *item)
{
    return strcmp(id, (*(const struct aws_group *const *)item)->id);
}

static const struct aws_group *find_in(const struct aws_group *const *groups, size_t n,
                                       const char *id)
{
    const struct aws_group *const *at =
        n > 0 && id != NULL ? bsearch(id, groups, n, sizeof(const struct aws_group *), compare_id)
                            : NULL;
    return at != NULL ? *at : NULL;
}

const struct aws_group *aws_group_find(const struct aws_surroundings *around, const char *id)
{
    const struct aws_group *g = find_in(around->groups, around->n_groups, id);
    return g != NULL ? g : find_in(around->referring, around->n_referring, id);
}

const struct aws_group *aws_group_named(const struct aws_planning *p, const char *name)
{
    for (size_t i = 0; i < p->around->n_groups; i++) {
        const struct aws_group *g = p->around->groups[i];
        if (str_eq(g->name, name) && str_eq(g->vpc, p->naming->vpc)) {
            return g;
        }
    }
    return NULL;
}

bool aws_group_is_tagged(const struct aws_planning *p, const struct aws_group *g)
{
    return str_set_has(&p->around->tagged, g->id);
}

const char *aws_group_text(struct arena *a, const struct aws_group *g)
{
    return str_is_empty(g->name) ? g->id : arena_printf(a, "%s (%s)", g->name, g->id);
}

static bool has_text(const struct aws_texts *t, const char *text)
{
    for (size_t i = 0; i < t->n; i++) {
        if (str_eq(t->items[i], text)) {
            return true;
        }
    }
    return false;
}

bool aws_group_is_shared(const struct aws_planning *p, const char *id)
{
    return str_set_has(&p->around->other_groups, id);
}

bool aws_group_lets_others_in(const struct aws_planning *p, const char *id)
{
    return str_set_has(&p->around->other_mains, id);
}

/* ---- rules ----------------------------------------------------------------------------------- */

int aws_group_draft(struct aws_planning *p, enum aws_phase phase, bool authorize, const char *name,
                    const char *why)
{
    int d = aws_draft(p, phase, LB_CHANGE, KIND, name, why);
    aws_draft_action(p, d, AWS_EC2,
                     authorize ? "AuthorizeSecurityGroupIngress" : "RevokeSecurityGroupIngress");
    if (!authorize) {
        aws_draft_op(p, d)->tolerate = LB_TOLERATE_ABSENT; /* the group itself has gone */
    }
    return d;
}

void aws_group_draft_rules(struct aws_planning *p, int draft, bool authorize,
                           const struct aws_rules *rules)
{
    aws_draft_rules(p, draft, rules);
    for (size_t i = 0; i < rules->n; i++) {
        const char *text = aws_rule_text(p->a, &rules->items[i]);
        aws_draft_field(p, draft, "ingress", authorize ? NULL : text, authorize ? text : NULL);
    }
}

struct aws_rules aws_group_references(struct arena *a, const struct aws_group *g,
                                      const struct str_set *sources, bool described)
{
    struct aws_rule *items = ARENA_ARRAY(a, struct aws_rule, g->rules.n);
    size_t n = 0;
    for (size_t i = 0; i < g->rules.n; i++) {
        const struct aws_rule *r = &g->rules.items[i];
        if (r->peer == AWS_PEER_GROUP && str_eq(r->protocol, AWS_ALL_TRAFFIC) &&
            str_set_has(sources, r->source) && !str_eq(r->source, g->id) &&
            (described || str_is_empty(r->description))) {
            items[n++] = *r;
        }
    }
    return (struct aws_rules){.items = items, .n = n};
}

struct str_set aws_left_descriptions(const struct aws_planning *p, const struct aws_group *g)
{
    const char **items = ARENA_ARRAY(p->a, const char *, g->rules.n);
    bool known = p->around->knows_needed && aws_tags_are_owned(p->naming, &g->tags);
    size_t n = 0;
    for (size_t i = 0; known && i < g->rules.n; i++) {
        const char *text = str_nonnull(g->rules.items[i].description);
        const char *lb = str_has_prefix(text, AWS_RULE_HEALTH)   ? text + strlen(AWS_RULE_HEALTH)
                         : str_has_prefix(text, AWS_RULE_CLIENT) ? text + strlen(AWS_RULE_CLIENT)
                                                                 : "";
        if (inventory_is_lb_name(lb, strlen(lb)) && !str_set_has(&p->around->other_names, lb)) {
            items[n++] = text;
        }
    }
    return str_set_make(p->a, items, n);
}

struct aws_rules aws_rules_joined(struct arena *a, const struct aws_rules *x,
                                  const struct aws_rules *y)
{
    struct aws_rule *items = ARENA_ARRAY(a, struct aws_rule, x->n + y->n);
    if (x->n > 0) {
        memcpy(items, x->items, x->n * sizeof *items);
    }
    if (y->n > 0) {
        memcpy(items + x->n, y->items, y->n * sizeof *items);
    }
    return aws_rules_sorted(a, items, x->n + y->n);
}

/* ---- the own group --------------------------------------------------------------------------- */

static struct lb_value group_make(struct aws_planning *p, const struct aws_group_want *want)
{
    const char *why =
        arena_printf(p->a, "Service %s has no security group of its own yet", p->service->key);
    int d = aws_draft(p, AWS_PHASE_MAKE, LB_CREATE, KIND, want->name, why);
    aws_draft_action(p, d, AWS_EC2, "CreateSecurityGroup");
    aws_draft_text(p, d, "GroupName", want->name);
    aws_draft_text(p, d, "GroupDescription", want->description);
    aws_draft_text(p, d, "VpcId", p->naming->vpc);
    aws_draft_text(p, d, "TagSpecification.1.ResourceType", "security-group");
    aws_draft_tags(p, d, "TagSpecification.1.Tag", &want->tags);
    aws_draft_output(p, d, "id", "groupId");
    struct lb_value id = aws_draft_value_of(d, "id");
    aws_limits_of_rules(p, want->name, (struct aws_rule_count){0}, aws_rules_count(&want->rules));
    if (want->rules.n > 0) {
        int r =
            aws_group_draft(p, AWS_PHASE_BALANCE, true, want->name, "a new group lets nothing in");
        aws_draft_value(p, r, "GroupId", id);
        aws_group_draft_rules(p, r, true, &want->rules);
    }
    return id;
}

static int tags_mend(struct aws_planning *p, const struct aws_group *g, struct err *err)
{
    struct aws_tags missing = {0};
    struct err why = ERR_INIT;
    if (aws_tags_repair(p->a, p->naming, &g->tags, &missing, &why) != ERR_OK) {
        return err_set(err, ERR_INVALID, "security group %s: %s", aws_group_text(p->a, g),
                       why.message);
    }
    if (missing.n == 0) {
        return ERR_OK;
    }
    int d = aws_draft(p, AWS_PHASE_MAKE, LB_CHANGE, KIND, aws_group_text(p->a, g),
                      "tags that make it the cluster's are missing");
    aws_draft_action(p, d, AWS_EC2, "CreateTags");
    aws_draft_text(p, d, "ResourceId.1", g->id);
    aws_draft_tags(p, d, "Tag", &missing);
    for (size_t i = 0; i < missing.n; i++) {
        aws_draft_field(p, d, arena_printf(p->a, "tags.%s", missing.items[i].key),
                        aws_tag(&g->tags, missing.items[i].key), missing.items[i].value);
    }
    return ERR_OK;
}

/* Does the Service say itself who may come in?  Then others are against its wish. */
static bool names_ranges(const struct tt_service *s)
{
    return s->n_source_ranges > 0 || svc_annotation(s, LB_SOURCE_RANGES_ANNOTATION) != NULL;
}

/* Upstream does not see IPv6 ranges and prefix lists beside ranges that are wanted (4.15).  What
 * was let in that way under its care is not shut out by taking over. */
static struct aws_rules unless_overlooked(struct aws_planning *p, const struct aws_rules *revoke,
                                          const struct aws_rules *wanted)
{
    struct aws_rule *items = ARENA_ARRAY(p->a, struct aws_rule, revoke->n);
    size_t n = 0;
    for (size_t i = 0; i < revoke->n; i++) {
        const struct aws_rule *r = &revoke->items[i];
        bool overlooked = false;
        if (r->peer == AWS_PEER_CIDR6 || r->peer == AWS_PEER_PREFIX_LIST) {
            for (size_t k = 0; k < wanted->n && !overlooked; k++) {
                const struct aws_rule *w = &wanted->items[k];
                overlooked =
                    str_eq(w->protocol, r->protocol) && w->from == r->from && w->to == r->to;
            }
        }
        if (p->repairs || !overlooked) {
            items[n++] = *r;
        } else if (names_ranges(p->service->in)) {
            lb_plan_left(p->plan, p->service->key,
                         "The load balancer's security group lets %s in, which is not asked for",
                         r->source);
        }
    }
    return (struct aws_rules){.items = items, .n = n};
}

int aws_plan_own_group(struct aws_planning *p, const struct aws_group_want *want,
                       struct lb_value *ret, struct err *err)
{
    const struct aws_group *g = aws_group_named(p, want->name);
    if (g == NULL) {
        *ret = group_make(p, want);
        return ERR_OK;
    }
    int rc = tags_mend(p, g, err);
    if (rc != ERR_OK) {
        return rc;
    }
    const char *key = p->service->key;
    struct aws_group_change c = {
        .group = g,
        .diff = aws_rules_diff(p->a, &want->rules, &g->rules),
        .shuts_out = true,
        .why_authorize =
            arena_printf(p->a, "ports and source ranges of Service %s ask for it", key),
        .why_revoke = arena_printf(p->a, "no port or source range of Service %s asks for it", key),
    };
    c.diff.revoke = unless_overlooked(p, &c.diff.revoke, &want->rules);
    c.serving = aws_rules_serving(p->a, &g->rules, &c.diff);
    if (!aws_group_change_draft(p, &c)) {
        (void)aws_draft(p, AWS_PHASE_MAKE, LB_KEEP, KIND, aws_group_text(p->a, g), NULL);
    }
    *ret = LB_VALUE(g->id);
    return ERR_OK;
}

/* ---- the main group of a classic balancer ---------------------------------------------------- */

struct ranked {
    const char *id;
    size_t rank; /* by annotation */
    bool tagged;
};

static int compare_ranked(const void *x, const void *y)
{
    const struct ranked *a = x;
    const struct ranked *b = y;
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    if (a->tagged != b->tagged) {
        return a->tagged ? -1 : 1;
    }
    return strcmp(a->id, b->id);
}

static size_t rank_of(const struct aws_service *s, const char *id)
{
    for (size_t i = 0; i < s->groups.n; i++) {
        if (str_eq(s->groups.items[i], id)) {
            return i;
        }
    }
    for (size_t i = 0; i < s->extra_groups.n; i++) {
        if (str_eq(s->extra_groups.items[i], id)) {
            return s->groups.n + 1 + i;
        }
    }
    return s->groups.n;
}

struct aws_texts aws_main_group_order(const struct aws_planning *p, const struct aws_texts *groups)
{
    struct ranked *all = ARENA_ARRAY(p->a, struct ranked, groups->n);
    for (size_t i = 0; i < groups->n; i++) {
        const char *id = groups->items[i];
        all[i] = (struct ranked){id, rank_of(p->service, id), str_set_has(&p->around->tagged, id)};
    }
    if (groups->n > 1) {
        qsort(all, groups->n, sizeof *all, compare_ranked);
    }
    const char **items = ARENA_ARRAY(p->a, const char *, groups->n);
    for (size_t i = 0; i < groups->n; i++) {
        items[i] = all[i].id;
    }
    return (struct aws_texts){.items = items, .n = groups->n};
}

/* ---- left ones ------------------------------------------------------------------------------- */

/* Of a balancer of the other kind that is there, too, and that this plan leaves alone? */
static bool is_the_others(const struct aws_planning *p, const char *id)
{
    const struct aws_observed *seen = p->seen;
    if (p->service->kind == AWS_CLASSIC) {
        return seen->nlb != NULL && has_text(&seen->nlb->groups, id);
    }
    return seen->classic != NULL && has_text(&seen->classic->groups, id);
}

static bool is_left(const struct aws_planning *p, const struct aws_group *g, const char *keep,
                    bool deleting)
{
    const struct aws_service *s = p->service;
    if (!aws_group_is_own(p->naming, s, g)) { /* hundreds of other Services' */
        return false;
    }
    bool named = str_eq(g->id, p->naming->shared_group) || aws_group_is_shared(p, g->id) ||
                 has_text(&s->groups, g->id) || has_text(&s->extra_groups, g->id);
    return !named && !str_eq(g->name, keep) && (deleting || !is_the_others(p, g->id));
}

struct str_set aws_left_groups(const struct aws_planning *p, const char *keep, bool deleting)
{
    const char **ids = ARENA_ARRAY(p->a, const char *, p->around->n_groups);
    size_t n = 0;
    for (size_t i = 0; i < p->around->n_groups; i++) {
        const struct aws_group *g = p->around->groups[i];
        if (is_left(p, g, keep, deleting)) {
            ids[n++] = g->id;
        }
    }
    return str_set_make(p->a, ids, n);
}

/* Rules about `id` that this plan does not take away keep AWS from deleting it: their
 * owner has to. */
static const char *note_of(struct aws_planning *p, const char *id, bool deleting)
{
    const struct str_set one = str_set_make(p->a, &id, 1);
    for (size_t k = 0; k < p->around->n_groups + p->around->n_referring; k++) {
        const struct aws_group *g = k < p->around->n_groups
                                        ? p->around->groups[k]
                                        : p->around->referring[k - p->around->n_groups];
        size_t rules = 0;
        for (size_t i = 0; i < g->rules.n && !str_eq(g->id, id); i++) {
            const struct aws_rule *r = &g->rules.items[i];
            rules += r->peer == AWS_PEER_GROUP && str_eq(r->source, id);
        }
        bool goes = deleting || k < p->around->n_groups;
        if (rules > (goes ? aws_group_references(p->a, g, &one, true).n : 0)) {
            return arena_printf(p->a,
                                "held by a rule of %s that is not the controller's: take it away",
                                aws_group_text(p->a, g));
        }
    }
    return NULL;
}

struct str_set aws_classic_groups_that_go(const struct aws_planning *p,
                                          const struct aws_classic_want *want, struct lb_value own)
{
    const struct aws_classic *seen = p->seen->classic;
    size_t n_seen = seen != NULL ? seen->groups.n : 0;
    const char **items = ARENA_ARRAY(p->a, const char *, n_seen);
    const struct str_set named = str_set_make(p->a, want->groups.items, want->groups.n);
    const struct str_set left =
        aws_left_groups(p, want->own != NULL ? want->own->name : NULL, false);
    size_t n = 0;
    for (size_t i = 0; i < n_seen; i++) {
        const char *id = seen->groups.items[i];
        if (!str_eq(id, own.text) && !str_set_has(&named, id) && !str_set_has(&left, id) &&
            !aws_group_lets_others_in(p, id)) {
            items[n++] = id;
        }
    }
    return str_set_make(p->a, items, n);
}

bool aws_group_is_let_in(const struct aws_planning *p, const char *id)
{
    const struct str_set one = str_set_make(p->a, &id, 1);
    for (size_t i = 0; i < p->around->n_groups && !p->naming->no_node_rules; i++) {
        const struct aws_group *g = p->around->groups[i];
        if (aws_group_is_tagged(p, g) && !str_eq(g->id, p->naming->shared_group) &&
            aws_group_references(p->a, g, &one, false).n > 0) {
            return true;
        }
    }
    return false;
}

void aws_left_groups_draft(struct aws_planning *p, const struct str_set *left, bool deleting,
                           const char *why)
{
    const char *id;
    STR_SET_EACH (id, left) {
        const struct aws_group *g = aws_group_find(p->around, id);
        int d = aws_draft(p, AWS_PHASE_FORGET, LB_DELETE, KIND, aws_group_text(p->a, g), why);
        aws_draft_action(p, d, AWS_EC2, "DeleteSecurityGroup");
        aws_draft_text(p, d, "GroupId", id);
        aws_draft_op(p, d)->tolerate = LB_TOLERATE_ABSENT;
        aws_draft_op(p, d)->note = note_of(p, id, deleting);
    }
}

/* References go in the cluster's groups and in those of targets: where they may
 * have been written. */
int aws_plan_left_groups(struct aws_planning *p, const char *keep, struct err *err)
{
    (void)err; /* nothing of this depends on what the Service says */
    struct str_set left = aws_left_groups(p, keep, false);
    for (size_t i = 0; left.n > 0 && i < p->around->n_groups; i++) {
        const struct aws_group *g = p->around->groups[i];
        if (str_set_has(&left, g->id)) {
            continue;
        }
        struct str_set here = aws_exchange_leaves(p, g->id, &left);
        struct aws_group_change c = {
            .group = g,
            .diff.revoke = aws_group_references(p->a, g, &here, true),
            .why_revoke = "the group that it lets in is deleted",
        };
        (void)aws_group_change_draft(p, &c);
    }
    const char *why =
        arena_printf(p->a, "the load balancer of Service %s no longer uses it", p->service->key);
    aws_left_groups_draft(p, &left, false, why);
    return ERR_OK;
}
