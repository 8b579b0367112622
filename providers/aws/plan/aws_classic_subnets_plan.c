/* SPDX-License-Identifier: Apache-2.0 */
/* aws_classic_subnets_plan.c: the subnets of a classic load balancer that is there.
 *
 * AWS wants two things: never two subnets of a zone at once, and never no subnet at all.  So in a
 * zone that gets another subnet the old one goes first, and while that happens something else has
 * to hold the balancer: a zone that stays, one that only goes (it goes last then), or, when every
 * zone gets another subnet, the last one of them, which is done when the others are through.  A
 * balancer whose only zone should get another subnet cannot be helped: it keeps the old one, and
 * the plan reports that.  Upstream detaches all at once, which AWS refuses (docs/spec/aws.md 4.6
 * item 1). */
#include "providers/aws/plan/aws_classic_internal_plan.h"

#include "common/base/str.h"

#include <string.h>

/* By what happens to their zones; ids sorted within each. */
struct moves {
    struct aws_classic_run *r;
    struct str_set gone; /* not wanted any more */
    struct str_set come; /* wanted and not there */
    const char *anchor;  /* zone whose change has to wait for the others', or NULL */
    bool stays;          /* some subnet holds the balancer all the time */
};
enum fate {
    ONLY_GOES,
    ONLY_COMES,
    REPLACED,
    ANCHOR,
};

/* A subnet that is not in the list has a zone of its own. */
static const char *zone_of(const struct moves *m, const char *id)
{
    const struct aws_subnet *s = aws_places_subnet(&m->r->p->around->places, id);
    return s != NULL ? s->zone : id;
}

static bool is_in(const struct moves *m, const struct str_set *ids, const char *zone)
{
    const char *id;
    STR_SET_EACH (id, ids) {
        if (str_eq(zone_of(m, id), zone)) {
            return true;
        }
    }
    return false;
}

static enum fate fate_of(const struct moves *m, const char *id)
{
    const char *zone = zone_of(m, id);
    if (str_eq(zone, m->anchor)) {
        return ANCHOR;
    }
    bool goes = is_in(m, &m->gone, zone);
    return goes && is_in(m, &m->come, zone) ? REPLACED : goes ? ONLY_GOES : ONLY_COMES;
}

/* One call for all subnets of a fate; nothing when there are none. */
static void draft(const struct moves *m, bool attach, enum fate fate, enum aws_phase phase)
{
    struct aws_planning *p = m->r->p;
    const struct str_set *ids = attach ? &m->come : &m->gone;
    int d = -1;
    size_t n = 0;
    const char *id;
    STR_SET_EACH (id, ids) {
        if (fate_of(m, id) != fate) {
            continue;
        }
        if (d < 0) {
            d = aws_classic_draft(
                m->r, phase,
                attach ? "AttachLoadBalancerToSubnets" : "DetachLoadBalancerFromSubnets",
                fate == REPLACED || fate == ANCHOR ? "another subnet of the zone serves it"
                                                   : "its zones changed");
        }
        aws_draft_text(p, d, arena_printf(p->a, "Subnets.member.%zu", ++n), id);
        aws_draft_field(p, d, "subnets", attach ? NULL : id, attach ? id : NULL);
    }
}

/* The last zone that gets another subnet, when nothing else would hold the balancer meanwhile. */
static void choose_anchor(struct moves *m, const struct str_set *have)
{
    struct arena *a = m->r->p->a;
    struct str_set stay = str_set_minus(a, have, &m->gone);
    const char *last = NULL;
    const char *id;
    m->stays = stay.n > 0;
    STR_SET_EACH (id, &m->gone) {
        if (fate_of(m, id) == REPLACED) {
            const char *zone = zone_of(m, id);
            last = last == NULL || strcmp(zone, last) > 0 ? zone : last;
        } else {
            m->stays = true;
        }
    }
    if (!m->stays) {
        m->anchor = last;
    }
}

/* Is there another zone than the anchor's in which it has, or gets, a subnet before
 * the anchor's turn? */
static bool anchor_can_move(const struct moves *m)
{
    const char *id;
    STR_SET_EACH (id, &m->come) {
        if (!str_eq(zone_of(m, id), m->anchor)) {
            return true;
        }
    }
    return false;
}

void aws_classic_plan_subnets(struct aws_classic_run *r)
{
    struct arena *a = r->p->a;
    bool was_internal = str_eq(r->seen->scheme, "internal");
    struct str_set have = str_set_make(a, r->seen->subnets.items, r->seen->subnets.n);
    struct str_set want = str_set_make(a, r->want->subnets.items, r->want->subnets.n);
    struct moves m = {
        .r = r,
        .gone = str_set_minus(a, &have, &want),
        .come = str_set_minus(a, &want, &have),
    };
    if ((was_internal != r->want->internal && !str_is_empty(r->seen->scheme)) ||
        m.gone.n + m.come.n == 0) {
        return;
    }
    choose_anchor(&m, &have);
    draft(&m, false, REPLACED, AWS_PHASE_BALANCE);
    draft(&m, true, REPLACED, AWS_PHASE_FILL);
    draft(&m, true, ONLY_COMES, AWS_PHASE_FILL);
    draft(&m, false, ONLY_GOES, AWS_PHASE_DROP);
    if (m.anchor != NULL && anchor_can_move(&m)) {
        draft(&m, false, ANCHOR, AWS_PHASE_SWITCH);
        draft(&m, true, ANCHOR, AWS_PHASE_DROP);
    } else if (m.anchor != NULL) {
        aws_plan_finding(r->p, "SubnetNotChanged",
                         "The load balancer stays in subnet %s: it is its only one, and AWS "
                         "cannot put another of zone %s in its place. Name a subnet of a second "
                         "zone, too, or delete the Service and create it anew.",
                         str_set_text(a, &m.gone, ", "), m.anchor);
    }
}
