/* SPDX-License-Identifier: Apache-2.0 */
/* chaos_gce_l4.c: fault-chaos with Google's balancers that have a backend service, of all kinds
 * (chaos.h).
 *
 * The seed chooses a family: which parts the process plays, how many nodes there are, which
 * families of addresses.  Services are internal on NEGs or on groups, external on groups, NEGs or
 * target pools, and turn from one into another.  Nodes hover where a subset begins to be one (25)
 * or an end is reached (250).  Another program writes, too (writer_gce.h).  Every Service is
 * checked again within --sync-period, so what was changed by hand is fixed.
 *
 * Kinds stick (docs/providers/gce.md), so what a Service is may depend on what it was: `rbs`, once
 * asked for, stays asked for, and a class is forever. */
#include "tests/fault/chaos_gce_l4.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fault/world.h"

#define INTERNAL_CLASS "networking.gke.io/l4-regional-internal"
#define EXTERNAL_CLASS "networking.gke.io/l4-regional-external"
#define OLD_CLASS      "networking.gke.io/l4-regional-internal-legacy"

#define USUAL "--concurrent-service-syncs=10", "--sync-period=20m"
#define PARTS                                                                                      \
    "--run-l4-controller", "--enable-l4-neg", "--run-l4-netlb-controller",                         \
        "--controllers=*,gke-service-lb-controller"
#define NEGS  "--enable-l4-netlb-neg", "--enable-l4-netlb-neg-default"
#define ALONE "--controllers=-service-lb-controller"

static const char *const flags_groups[] = {USUAL, PARTS, NULL};
static const char *const flags_negs[] = {USUAL, PARTS, NEGS, NULL};
static const char *const flags_alone[] = {USUAL, PARTS, NEGS, ALONE, NULL};
static const char *const flags_alone_groups[] = {USUAL, PARTS, ALONE, NULL};
static const char *const flags_old[] = {USUAL, NULL};

static const struct l4_family families[] = {
    {.name = "groups",
     .flags = flags_groups,
     .edge = 25,
     .services = 8,
     .actions = 60,
     .groups = true},
    {.name = "negs", .flags = flags_negs, .edge = 25, .services = 8, .actions = 60},
    {.name = "alone",
     .flags = flags_alone,
     .edge = 25,
     .services = 8,
     .actions = 60,
     .alone = true,
     .crowds = true},
    {.name = "old",
     .flags = flags_old,
     .edge = 8,
     .services = 6,
     .actions = 60,
     .old = true,
     .groups = true},
    {.name = "external-ipv6",
     .flags = flags_negs,
     .edge = 9,
     .services = 6,
     .actions = 60,
     .both = "EXTERNAL"},
    {.name = "internal-ipv6",
     .flags = flags_groups,
     .edge = 9,
     .services = 6,
     .actions = 60,
     .both = "INTERNAL",
     .groups = true},
    {.name = "alone-groups",
     .flags = flags_alone_groups,
     .edge = 8,
     .services = 6,
     .actions = 60,
     .alone = true,
     .groups = true},
    {.name = "large",
     .flags = flags_negs,
     .edge = 250,
     .services = 3,
     .actions = 30,
     .crowds = true},
};

struct l4 *l4_of(const struct chaos *c)
{
    return c->own;
}

static void choose(struct chaos *c, uint64_t seed)
{
    struct l4 *l4 = xcalloc(1, sizeof(*l4));
    const struct l4_family *f = &families[seed % ARRAY_LEN(families)];
    l4->family = f;
    l4->writer = writer_gce_new(rng_u64(c->rng), chaos_one_in(c, 2));
    c->own = l4;
    c->flags = f->flags;
    c->n_services = f->services;
    c->actions = f->actions;
    c->s.nodes = (int)f->edge;
    c->s.both_families = f->both != NULL;
    str_appendf(&c->story, "family %s\n", f->name);
}

/* A Service of ingress-gce's is foreign only where that part is not played here; and it would keep
 * the groups, which a cloud that is rebuilt does not have. */
static void prepare(struct chaos *c, struct json_object *world)
{
    const struct l4_family *f = l4_of(c)->family;
    world_remove_service(world, "rbs");
    json_object_object_foreach(json_member(world, "gce"), path, doc)
    {
        if (f->both != NULL && strstr(path, "/subnetworks/") != NULL) {
            json_add_str(doc, "ipv6AccessType", f->both);
        }
    }
}

static void listen(struct chaos *c)
{
    probe_listen(c->s.probe, writer_gce_before_call, l4_of(c)->writer);
}

/* ---- Services -------------------------------------------------------------------------------- */

static const char *text_or_null(struct arena *a, const char *text)
{
    return text == NULL ? "null" : arena_printf(a, "\"%s\"", text);
}

static const char *annotations(struct arena *a, const struct wish *w)
{
    bool internal = w->internal && w->class == NULL;
    const char *address = NULL;
    if (w->by_name && w->address >= 0 && !w->internal) {
        address =
            w->address == 0 ? "users-static" : arena_printf(a, "users-static-%d", w->address + 1);
    }
    return arena_printf(
        a,
        "{\"cloud.google.com/network-tier\":%s,\"networking.gke.io/load-balancer-type\":%s,"
        "\"cloud.google.com/l4-rbs\":%s,\"networking.gke.io/load-balancer-ip-addresses\":%s,"
        "\"networking.gke.io/internal-load-balancer-allow-global-access\":%s}",
        text_or_null(a, w->standard ? "Standard" : NULL),
        text_or_null(a, internal ? "Internal" : NULL),
        text_or_null(a, w->rbs && w->class == NULL ? "enabled" : NULL), text_or_null(a, address),
        text_or_null(a, w->global ? "true" : NULL));
}

static const char *spec(struct arena *a, const struct wish *w)
{
    return arena_printf(a, ",\"loadBalancerClass\":%s,\"ipFamilyPolicy\":\"%s\"",
                        text_or_null(a, w->cluster_ip ? NULL : w->class),
                        w->both ? "PreferDualStack" : "SingleStack");
}

/* It has a backend service for certain, and was never anything else. */
static bool has_service(const struct chaos *c, const struct wish *w)
{
    return l4_of(c)->family->alone || str_eq(w->class, EXTERNAL_CLASS);
}

/* Both families are there for one scheme only, and not for the Standard tier nor for
 * what is old. */
static bool may_have_both(const struct chaos *c, const struct wish *w)
{
    const char *both = l4_of(c)->family->both;
    if (both == NULL || w->standard || w->address >= 0 || str_eq(w->class, OLD_CLASS)) {
        return false;
    }
    return w->internal ? str_eq(both, "INTERNAL") : str_eq(both, "EXTERNAL") && w->class != NULL;
}

static void first(struct chaos *c, struct wish *w)
{
    const struct l4_family *f = l4_of(c)->family;
    w->internal = chaos_one_in(c, 2);
    w->rbs = !f->old && !w->internal && (f->alone || chaos_one_in(c, 2));
    if (!f->old && chaos_one_in(c, 4)) {
        w->class = !w->internal                                   ? EXTERNAL_CLASS
                   : f->alone || !f->groups || chaos_one_in(c, 2) ? INTERNAL_CLASS
                                                                  : OLD_CLASS;
    }
    if (f->both != NULL && w->class == NULL && !w->internal && chaos_one_in(c, 2)) {
        w->class = EXTERNAL_CLASS;
    }
    w->both = may_have_both(c, w) && chaos_one_in(c, 2);
}

static void turn(struct chaos *c, struct wish *w)
{
    if (w->class != NULL) {
        return;
    }
    w->internal = !w->internal;
    w->rbs = w->rbs || (!w->internal && l4_of(c)->family->alone);
}

static bool special(struct chaos *c, struct wish *w)
{
    bool moves = true;
    switch (chaos_below(c, 6)) {
    case 0:
    case 1:
        turn(c, w);
        break;
    case 2:
        w->global = !w->global;
        moves = false;
        break;
    case 3:
        w->both = !w->both;
        moves = false;
        break;
    case 4:
        w->rbs = w->rbs || !l4_of(c)->family->old;
        break;
    default:
        if (!w->internal && !w->both) {
            chaos_google_address(c, w);
            w->by_name = has_service(c, w) && w->address % 2 == 1;
        }
        break;
    }
    w->both = w->both && may_have_both(c, w);
    return moves;
}

/* ---- actions --------------------------------------------------------------------------------- */

static int meddle(struct chaos *c)
{
    str_appendf(&c->story, "somebody edits a NEG\n");
    writer_gce_meddle(l4_of(c)->writer, c->s.rig);
    return ERR_OK;
}

static const struct chaos_action more[] = {
    {l4_roll_out, 12}, {l4_zone, 4},     {l4_recreate, 4},
    {l4_unready, 4},   {l4_shut_out, 3}, {meddle, 5},
};

/* ---- the end --------------------------------------------------------------------------------- */

static void others(struct chaos *c, bool act)
{
    writer_gce_pause(l4_of(c)->writer, c->s.rig, !act);
}

static int last(struct chaos *c)
{
    others(c, false);
    return ERR_OK;
}

static int part(struct chaos *c)
{
    return writer_gce_check(l4_of(c)->writer, c->s.rig, c->s.a, c->s.err);
}

static int judge(struct chaos *c, struct json_object *end)
{
    return world_gce_check_objects(end, c->s.err);
}

static void done(struct chaos *c)
{
    writer_gce_free(l4_of(c)->writer);
    free(c->own);
}

static const char *const calls[] = {
    "compute.firewalls.*",
    "compute.forwardingRules.*",
    "compute.forwardingRules.insert",
    "compute.targetPools.*",
    "compute.addresses.*",
    "compute.addresses.delete",
    "compute.regionBackendServices.*",
    "compute.regionBackendServices.update",
    "compute.healthChecks.*",
    "compute.regionHealthChecks.*",
    "compute.networkEndpointGroups.*",
    "compute.networkEndpointGroups.attachNetworkEndpoints",
    "compute.networkEndpointGroups.detachNetworkEndpoints",
    "compute.networkEndpointGroups.listNetworkEndpoints",
    "compute.instanceGroups.*",
    "compute.*.delete",
    "compute.*.wait",
    "compute.*.get",
    "servicenetworkendpointgroups.*",
    "services.status.patch",
    "configmaps.*",
    "token",
};

const struct chaos_cloud chaos_gce_l4 = {
    .name = "gce-l4",
    .sim = "gce",
    .episodes = 32,
    .calls = calls,
    .n_calls = ARRAY_LEN(calls),
    .more = more,
    .n_more = ARRAY_LEN(more),
    .change_nodes = l4_change_nodes,
    .annotations = annotations,
    .spec = spec,
    .special = special,
    .first = first,
    .created = l4_pods_first,
    .choose = choose,
    .prepare = prepare,
    .listen = listen,
    .others = others,
    .last = last,
    .part = part,
    .judge = judge,
    .level = world_gce_level,
    .done = done,
};
