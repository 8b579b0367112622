/* SPDX-License-Identifier: Apache-2.0 */
/* aws_subnet_rules.c: the subnets of a Service's load balancer.
 *
 * Named by annotation: these, in the annotation's order.  Else one per zone is found: subnets of
 * other clusters are left out; an internet-facing balancer takes only those whose route table leads
 * to an internet gateway; within a zone the role tag wins, then the cluster's tag, then the smaller
 * id; zones that are not plain availability zones are dropped last.
 * Source: docs/spec/aws.md 4.9; vectors 11.10.  Part of aws_rules.h.  Pure. */
#include "providers/aws/model/aws_rules.h"

#include <string.h>

#include "common/base/str.h"
#include "providers/aws/model/aws_annotations.h"

#define ROLE_PUBLIC   "kubernetes.io/role/elb"
#define ROLE_INTERNAL "kubernetes.io/role/internal-elb"

struct choosing {
    struct arena *a;
    const struct aws_naming *naming;
    const struct aws_places *places;
    bool internal;
    const struct aws_subnet **best; /* one per zone, by zone's name */
    size_t n;
    const char **why_not;
    size_t n_why_not;
};

static void leave_out(struct choosing *c, const struct aws_subnet *s, const char *why)
{
    c->why_not[c->n_why_not++] = arena_printf(c->a, "subnet %s is left out: %s", s->id, why);
}

/* ---- named ones ------------------------------------------------------------------------------ */

static bool is_named(const struct aws_subnet *s, const char *piece)
{
    return str_has_prefix(piece, "subnet-") ? str_eq(s->id, piece)
                                            : str_eq(aws_tag(&s->tags, "Name"), piece);
}

static int find_named(const struct aws_places *places, const char *piece, const char **ret,
                      struct err *err)
{
    const char *found = NULL;
    for (size_t i = 0; i < places->n_subnets; i++) {
        if (!is_named(&places->subnets[i], piece)) {
            continue;
        }
        if (found != NULL) {
            return err_set(err, ERR_INVALID,
                           "annotation " AWS_ANNOTATION
                           "subnets: several subnets of the VPC have the name \"%s\" (%s, %s); use "
                           "their ids",
                           piece, found, places->subnets[i].id);
        }
        found = places->subnets[i].id;
    }
    if (found == NULL) {
        return err_set(err, ERR_INVALID,
                       "annotation " AWS_ANNOTATION
                       "subnets: there is no subnet \"%s\" in the VPC; want ids or Name tags",
                       piece);
    }
    *ret = found;
    return ERR_OK;
}

static bool has_text(const char *const *items, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(items[i], text)) {
            return true;
        }
    }
    return false;
}

static int choose_named(struct arena *a, const struct aws_places *places,
                        const struct aws_service *s, struct aws_texts *ret, struct err *err)
{
    const char **ids = ARENA_ARRAY(a, const char *, s->subnets.n);
    if (s->subnets.n == 0) {
        return aws_annotation_refuse(s->in, "subnets", "ids or Name tags of subnets", err);
    }
    for (size_t i = 0; i < s->subnets.n; i++) {
        int rc = find_named(places, s->subnets.items[i], &ids[i], err);
        if (rc != ERR_OK) {
            return rc;
        }
        if (has_text(ids, i, ids[i])) {
            return err_set(err, ERR_INVALID,
                           "annotation " AWS_ANNOTATION
                           "subnets: subnet %s is named twice; name it once",
                           ids[i]);
        }
    }
    *ret = (struct aws_texts){.items = ids, .n = s->subnets.n};
    return ERR_OK;
}

/* ---- discovery ------------------------------------------------------------------------------- */

/* The last table that names the subnet, else the main one; NULL: none. */
static const struct aws_route_table *table_of(const struct aws_places *places, const char *subnet)
{
    const struct aws_route_table *main = NULL;
    const struct aws_route_table *own = NULL;
    for (size_t i = 0; i < places->n_tables; i++) {
        const struct aws_route_table *t = &places->tables[i];
        if (has_text(t->subnets.items, t->subnets.n, subnet)) {
            own = t;
        }
        if (t->main && main == NULL) {
            main = t;
        }
    }
    return own != NULL ? own : main;
}

static bool is_plain_zone(const struct aws_places *places, const char *zone)
{
    for (size_t i = 0; i < places->n_zones; i++) {
        if (str_eq(places->zones[i].name, zone)) {
            return str_is_empty(places->zones[i].type) ||
                   str_eq(places->zones[i].type, "availability-zone");
        }
    }
    return true; /* nothing is known against it */
}

/* Negative: x is the better one of a zone. */
static int prefer(const struct choosing *c, const struct aws_subnet *x, const struct aws_subnet *y)
{
    const char *role = c->internal ? ROLE_INTERNAL : ROLE_PUBLIC;
    bool role_x = aws_tag(&x->tags, role) != NULL;
    bool role_y = aws_tag(&y->tags, role) != NULL;
    bool ours_x = aws_tags_are_cluster(c->naming, &x->tags);
    bool ours_y = aws_tags_are_cluster(c->naming, &y->tags);
    if (role_x != role_y) {
        return role_x ? -1 : 1;
    }
    if (ours_x != ours_y) {
        return ours_x ? -1 : 1;
    }
    return strcmp(x->id, y->id);
}

/* Into its zone's place, which keeps the list sorted by zone. */
static void offer(struct choosing *c, const struct aws_subnet *s)
{
    size_t i = 0;
    while (i < c->n && strcmp(c->best[i]->zone, s->zone) < 0) {
        i++;
    }
    if (i < c->n && str_eq(c->best[i]->zone, s->zone)) {
        const struct aws_subnet *loser = prefer(c, s, c->best[i]) < 0 ? c->best[i] : s;
        c->best[i] = loser == s ? c->best[i] : s;
        leave_out(c, loser,
                  arena_printf(c->a, "%s is better for zone %s", c->best[i]->id, s->zone));
        return;
    }
    memmove(&c->best[i + 1], &c->best[i], (c->n - i) * sizeof(const struct aws_subnet *));
    c->best[i] = s;
    c->n++;
}

static int consider(struct choosing *c, const struct aws_subnet *s, struct err *err)
{
    if (str_is_empty(s->zone) || str_is_empty(s->id)) {
        return ERR_OK;
    }
    const struct aws_route_table *table = table_of(c->places, s->id);
    if (table == NULL) {
        return err_set(err, ERR_INVALID,
                       "subnet %s has no route table, and the VPC has no main one; give it one, or "
                       "name subnets in annotation " AWS_ANNOTATION "subnets",
                       s->id);
    }
    if (!c->internal && !table->to_internet) {
        leave_out(c, s, "it is private, no route of its leads to an internet gateway");
        return ERR_OK;
    }
    offer(c, s);
    return ERR_OK;
}

/* Those that are not another cluster's; when there are none, the own one, whatever its tags say. */
static int consider_all(struct choosing *c, struct err *err)
{
    size_t kept = 0;
    int rc = ERR_OK;
    for (size_t i = 0; i < c->places->n_subnets && rc == ERR_OK; i++) {
        const struct aws_subnet *s = &c->places->subnets[i];
        if (aws_tags_are_foreign(c->naming, &s->tags)) {
            leave_out(c, s, "its tags say that it is another cluster's");
            continue;
        }
        kept++;
        rc = consider(c, s, err);
    }
    for (size_t i = 0; i < c->places->n_subnets && rc == ERR_OK && kept == 0; i++) {
        const struct aws_subnet *s = &c->places->subnets[i];
        if (!str_is_empty(s->id) && str_eq(s->id, c->places->own_subnet)) {
            c->n_why_not = 0;
            return consider(c, s, err);
        }
    }
    return rc;
}

const struct aws_subnet *aws_places_subnet(const struct aws_places *places, const char *id)
{
    for (size_t i = 0; i < places->n_subnets; i++) {
        if (str_eq(places->subnets[i].id, id)) {
            return &places->subnets[i];
        }
    }
    return NULL;
}

struct str_set aws_zones_of(struct arena *a, const struct aws_places *places,
                            const struct aws_texts *subnets)
{
    const char **zones = ARENA_ARRAY(a, const char *, subnets->n + 1);
    for (size_t i = 0; i < subnets->n; i++) {
        const struct aws_subnet *s = aws_places_subnet(places, subnets->items[i]);
        if (s == NULL || str_is_empty(s->zone)) {
            return (struct str_set){0};
        }
        zones[i] = s->zone;
    }
    return str_set_make(a, zones, subnets->n);
}

bool aws_zones_have(const struct str_set *zones, const char *zone)
{
    return zones->n == 0 || str_is_empty(zone) || str_set_has(zones, zone);
}

int aws_subnets_choose(struct arena *a, const struct aws_naming *n, const struct aws_places *places,
                       const struct aws_service *s, struct aws_texts *ret,
                       struct aws_texts *ret_why_not, struct err *err)
{
    struct choosing c = {.a = a, .naming = n, .places = places, .internal = s->internal};
    if (ret_why_not != NULL) {
        *ret_why_not = (struct aws_texts){0};
    }
    if (s->has_subnets) {
        return choose_named(a, places, s, ret, err);
    }
    c.best = ARENA_ARRAY(a, const struct aws_subnet *, places->n_subnets + 1);
    c.why_not = ARENA_ARRAY(a, const char *, places->n_subnets + 1);
    int rc = consider_all(&c, err);
    if (rc != ERR_OK) {
        return rc;
    }
    const char **ids = ARENA_ARRAY(a, const char *, c.n);
    size_t n_ids = 0;
    for (size_t i = 0; i < c.n; i++) {
        if (is_plain_zone(places, c.best[i]->zone)) {
            ids[n_ids++] = c.best[i]->id;
        } else {
            leave_out(&c, c.best[i],
                      arena_printf(a, "%s is no plain availability zone", c.best[i]->zone));
        }
    }
    *ret = (struct aws_texts){.items = ids, .n = n_ids};
    if (ret_why_not != NULL) {
        *ret_why_not = (struct aws_texts){.items = c.why_not, .n = c.n_why_not};
    }
    return ERR_OK;
}
