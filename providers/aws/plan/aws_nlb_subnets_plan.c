/* SPDX-License-Identifier: Apache-2.0 */
/* aws_nlb_subnets_plan.c: the subnets of an NLB that is there: NLBSubnets of [Trimtab].
 *
 * SetSubnets says all subnets at once, one per zone, never none.  AWS does not change the subnet of
 * a zone that is enabled: the zone has to be left in one call and entered in the next.  Meanwhile
 * something else holds the balancer: zones that stay or only come; one that only goes; or, when
 * every zone gets another subnet, the last one of them, which is done when the others are through.
 * A balancer whose only zone should get another subnet cannot be helped.  Where it goes, nodes let
 * its probes in before (MAKE); where it was, until it is gone (LEAVE).  Pure.  Source:
 * docs/spec/aws.md 5.5, 13 row 31; ELBv2 SetSubnets. */
#include "providers/aws/plan/aws_nlb_internal_plan.h"

#include "common/base/str.h"
#include "common/lb/diff.h"

#define KIND      "load balancer"
#define STEPS_MAX 3

struct step {
    struct aws_subnet_mapping *items;
    size_t n;
};
struct route {
    struct aws_planning *p;
    const struct aws_nlb_want *want;
    struct str_set in; /* where it is */
    struct step steps[STEPS_MAX];
    size_t n;
};

/* ---- the way --------------------------------------------------------------------------------- */

static const char *zone_of(const struct route *r, const char *id)
{
    const struct aws_subnet *s = aws_places_subnet(&r->p->around->places, id);
    return s != NULL ? s->zone : id;
}

/* The subnet that the balancer has in the zone, or NULL. */
static const char *had_in(const struct route *r, const char *zone)
{
    const char *id;
    STR_SET_EACH (id, &r->in) {
        if (str_eq(zone_of(r, id), zone)) {
            return id;
        }
    }
    return NULL;
}

static bool is_wanted_zone(const struct route *r, const char *zone)
{
    for (size_t i = 0; i < r->want->n_mappings; i++) {
        if (str_eq(zone_of(r, r->want->mappings[i].subnet), zone)) {
            return true;
        }
    }
    return false;
}

/* Does its zone get it in place of another one? */
static bool replaces(const struct route *r, const char *id)
{
    const char *had = had_in(r, zone_of(r, id));
    return had != NULL && !str_eq(had, id);
}

static struct step *next_step(struct route *r)
{
    struct step *s = &r->steps[r->n++];
    s->items = ARENA_ARRAY(r->p->a, struct aws_subnet_mapping, r->want->n_mappings + r->in.n);
    return s;
}

static void stay_in(struct step *s, const char *id)
{
    s->items[s->n++] = (struct aws_subnet_mapping){.subnet = id, .allocation = "", .address = ""};
}

/* Zones of the wanted ones that need not be left; without them, zones that only go. */
static bool hold_by_others(struct route *r)
{
    struct step *s = next_step(r);
    for (size_t i = 0; i < r->want->n_mappings; i++) {
        if (!replaces(r, r->want->mappings[i].subnet)) {
            s->items[s->n++] = r->want->mappings[i];
        }
    }
    bool none = s->n == 0;
    const char *id;
    STR_SET_EACH (id, &r->in) {
        if (none && !is_wanted_zone(r, zone_of(r, id))) {
            stay_in(s, id);
        }
    }
    return s->n > 0;
}

/* Every zone gets another subnet: the last one waits for the others. */
static bool hold_by_last(struct route *r)
{
    size_t others = r->want->n_mappings - 1;
    if (others == 0) {
        return false;
    }
    r->n = 0;
    stay_in(next_step(r), had_in(r, zone_of(r, r->want->mappings[others].subnet)));
    struct step *s = next_step(r);
    for (size_t i = 0; i < others; i++) {
        s->items[s->n++] = r->want->mappings[i];
    }
    return true;
}

/* False: there is no way. */
static bool find_way(struct route *r)
{
    bool some_replace = false;
    for (size_t i = 0; i < r->want->n_mappings; i++) {
        some_replace = some_replace || replaces(r, r->want->mappings[i].subnet);
    }
    if (some_replace && !hold_by_others(r) && !hold_by_last(r)) {
        return false;
    }
    struct step *last = next_step(r);
    for (size_t i = 0; i < r->want->n_mappings; i++) {
        last->items[last->n++] = r->want->mappings[i];
    }
    return true;
}

static struct route route_of(struct aws_planning *p, const struct aws_nlb_want *want)
{
    const struct aws_nlb *has = p->seen->nlb;
    return (struct route){
        .p = p, .want = want, .in = str_set_make(p->a, has->subnets.items, has->subnets.n)};
}

bool aws_nlb_can_move(struct aws_planning *p, const struct aws_nlb_want *want)
{
    struct route r = route_of(p, want);
    return find_way(&r);
}

/* ---- the calls ------------------------------------------------------------------------------- */

void aws_nlb_draft_mappings(struct aws_planning *p, int draft,
                            const struct aws_subnet_mapping *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct aws_subnet_mapping *m = &items[i];
        const char *head = arena_printf(p->a, "SubnetMappings.member.%zu", i + 1);
        aws_draft_text(p, draft, arena_printf(p->a, "%s.SubnetId", head), m->subnet);
        if (!str_is_empty(m->allocation)) {
            aws_draft_text(p, draft, arena_printf(p->a, "%s.AllocationId", head), m->allocation);
            aws_draft_field(p, draft, "allocations", NULL, m->allocation);
        }
        if (!str_is_empty(m->address)) {
            aws_draft_text(p, draft, arena_printf(p->a, "%s.PrivateIPv4Address", head), m->address);
            aws_draft_field(p, draft, "privateAddresses", NULL, m->address);
        }
    }
}

static struct str_set subnets_of(struct arena *a, const struct aws_subnet_mapping *items, size_t n)
{
    const char **ids = ARENA_ARRAY(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        ids[i] = items[i].subnet;
    }
    return str_set_make(a, ids, n);
}

static void draft_step(struct aws_planning *p, enum aws_phase phase, const struct step *s,
                       const struct str_set *before, const char *why)
{
    struct str_set after = subnets_of(p->a, s->items, s->n);
    struct lb_diff diff;
    lb_diff_init(&diff, p->a);
    (void)lb_diff_set(&diff, "subnets", before, &after);
    int d = aws_draft(p, phase, LB_CHANGE, KIND, p->seen->nlb->name, why);
    aws_draft_op(p, d)->summary = "subnets";
    for (size_t i = 0; i < diff.n; i++) {
        aws_draft_field_value(p, d, diff.fields[i].path, diff.fields[i].old_text,
                              diff.fields[i].new_value);
    }
    aws_draft_action(p, d, AWS_ELBV2, "SetSubnets");
    aws_draft_text(p, d, "LoadBalancerArn", p->seen->nlb->arn);
    aws_nlb_draft_mappings(p, d, s->items, s->n);
}

static void plan_moves(struct aws_planning *p, const struct aws_nlb_want *want,
                       const struct str_set *in, const struct str_set *asked)
{
    static const enum aws_phase phases[STEPS_MAX] = {AWS_PHASE_FILL, AWS_PHASE_SWITCH,
                                                     AWS_PHASE_DROP};
    struct route r = route_of(p, want);
    struct str_set before = *in;
    (void)find_way(&r); /* or it would not move */
    for (size_t i = 0; i < r.n; i++) {
        bool last = i + 1 == r.n;
        size_t phase = r.n == STEPS_MAX ? i : i + 1;
        draft_step(p, phases[phase], &r.steps[i], &before,
                   last ? "its subnets are not those that the Service asks for"
                        : "a zone has to be left before it can get another subnet");
        before = subnets_of(p->a, r.steps[i].items, r.steps[i].n);
    }
    struct str_set gone = str_set_minus(p->a, in, asked);
    if (gone.n > 0) {
        lb_plan_effect(p->plan, p->service->key,
                       "Its address in %s goes, with the connections to it.",
                       str_set_text(p->a, &gone, ", "));
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Other subnets cannot be had without NLBSubnets, or another NLB, which would have another
 * name in DNS. */
static void tell_it_stays(struct aws_planning *p, const struct aws_nlb_want *want,
                          const struct str_set *in, const struct str_set *asked)
{
    const char *is = str_set_text(p->a, in, ", ");
    const char *asks = str_set_text(p->a, asked, ", ");
    lb_plan_because(p->plan, p->service->key,
                    "the NLB is in %s, and the Service asks for %s → stays in its subnets", is,
                    asks);
    aws_plan_finding(p, "SubnetsNotChanged",
                     "The NLB stays in %s: %s. To get one in %s, delete the Service and create it "
                     "anew.",
                     is, want->stays_because, asks);
}

bool aws_nlb_plan_subnets(struct aws_planning *p, const struct aws_nlb_want *want)
{
    const struct aws_nlb *has = p->seen->nlb;
    struct str_set asked = subnets_of(p->a, want->mappings, want->n_mappings);
    struct str_set in = str_set_make(p->a, has->subnets.items, has->subnets.n);
    if (in.n == 0 || asked.n == 0 || str_set_eq(&asked, &in)) {
        return false;
    }
    if (want->moves) {
        plan_moves(p, want, &in, &asked);
    } else {
        tell_it_stays(p, want, &in, &asked);
    }
    return want->moves;
}
