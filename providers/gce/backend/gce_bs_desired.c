/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_desired.c: which kind says what a balancer should be, and what all kinds share of it: see
 * gce_bs_desired_parts.h.  Part of gce_bs.h.  Pure. */
#include "providers/gce/backend/gce_bs_desired_parts.h"

#include "common/base/str.h"
#include "common/base/strset.h"
#include "common/net/url_build.h"
#include "providers/gce/model/gce_names.h"

int gce_bs_desired_make(struct arena *a, const struct gce_bs_facts *f,
                        const struct gce_bs_input *in, struct gce_bs_desired *ret, struct err *err)
{
    switch (in->kind) {
    case GCE_KIND_ILB_GROUPS:
        return gce_ilb_desired_make(a, f, in, ret, err);
    case GCE_KIND_ILB_NEGS:
    case GCE_KIND_NETLB_GROUPS:
    case GCE_KIND_NETLB_NEGS:
        return gce_l4_desired_make(a, f, in, ret, err);
    case GCE_KIND_NONE:
    case GCE_KIND_TARGET_POOL:
    case GCE_KIND_NEGS_ONLY:
    case GCE_KIND_MAX:
        break;
    }
    return err_set(err, ERR_BUG, "a balancer of kind %d has no backend service", (int)in->kind);
}

/* ---- addresses ------------------------------------------------------------------------------- */

bool gce_bs_rule_has_prefix(const struct gce_bs_desired *d, const struct gce_rule *r)
{
    return !d->internal && str_eq(r->ip_version, "IPV6");
}

/* §2.6: the description of an IPv4 rule tells the address that was asked for. */
static const char *description_with(struct arena *a, const char *description, const char *ip)
{
    struct gce_l4_description about;
    if (!gce_l4_description_parse(a, description, &about)) {
        return description;
    }
    about.ip = ip;
    return gce_l4_describe(a, &about);
}

struct gce_rule gce_bs_rule_for(struct arena *a, const struct gce_bs_desired *d,
                                const struct gce_rule *r, const char *ip)
{
    struct gce_rule out = *r;
    out.ip = str_nonnull(ip);
    if (*out.ip == '\0') {
        return out;
    }
    if (gce_bs_rule_has_prefix(d, r)) {
        out.ip = arena_printf(a, "%s%s", ip, GCE_BS_PREFIX_V6);
    }
    if (!d->legacy && !str_eq(r->ip_version, "IPV6")) {
        out.description = description_with(a, r->description, ip);
    }
    return out;
}

/* cloud-provider-gcp: only the traffic firewall has the address, in its description, too. */
static struct gce_firewall legacy_firewall_for(struct arena *a, const struct gce_bs_desired *d,
                                               const struct gce_firewall *f, const char *ip)
{
    struct gce_firewall out = *f;
    if (str_eq(f->name, d->v4.firewall.name)) {
        out.description = gce_names_firewall_description(a, d->ns, d->name, ip);
        out.destinations = gce_strs_one(a, ip);
    }
    return out;
}

struct gce_firewall gce_bs_firewall_for(struct arena *a, const struct gce_bs_desired *d,
                                        const struct gce_firewall *f, const char *ip)
{
    struct gce_firewall out = *f;
    if (str_is_empty(ip)) {
        return out;
    }
    if (d->legacy) {
        return legacy_firewall_for(a, d, f, ip);
    }
    const struct gce_bs_side *sides[] = {&d->v4, &d->v6};
    for (size_t i = 0; i < ARRAY_LEN(sides); i++) {
        const struct gce_bs_side *side = sides[i];
        if (side->want_firewall && str_eq(f->name, side->firewall.name) && d->pinhole) {
            out.destinations = gce_strs_one(a, ip);
        } else if (side->want_deny && str_eq(f->name, side->deny.name)) {
            out.destinations =
                gce_strs_one(a, side->v6 ? arena_printf(a, "%s%s", ip, GCE_BS_PREFIX_V6) : ip);
        }
    }
    return out;
}

/* ---- links ----------------------------------------------------------------------------------- */

char *gce_bs_link(struct arena *a, const struct gce_bs_facts *f, const char *where,
                  const char *collection, const char *name)
{
    const char *place = url_join(a, URL_RESOURCE_PATH(a, f->projects_base, f->project), where);
    return URL_RESOURCE_PATH(a, place, collection, name);
}

char *gce_bs_region(struct arena *a, const struct gce_bs_facts *f)
{
    return URL_RESOURCE_PATH(a, "regions", f->region);
}

const char *gce_bs_subnetwork(struct arena *a, const struct gce_bs_facts *f, const char *found,
                              const char *annotated)
{
    if (str_is_empty(f->subnetwork)) {
        return ""; /* a legacy network has none */
    }
    if (!str_is_empty(found)) {
        return found;
    }
    if (str_is_empty(annotated)) {
        return f->subnetwork;
    }
    return URL_RESOURCE_PATH(a, f->projects_base, f->network_project, "regions", f->region,
                             "subnetworks", annotated);
}

struct gce_strs gce_bs_groups(struct arena *a, const struct gce_bs_facts *f,
                              const struct gce_strs *zones, const char *collection,
                              const char *name)
{
    const char **links = ARENA_ARRAY(a, const char *, zones->n);
    for (size_t i = 0; i < zones->n; i++) {
        links[i] =
            gce_bs_link(a, f, URL_RESOURCE_PATH(a, "zones", zones->items[i]), collection, name);
    }
    struct str_set sorted = str_set_make(a, links, zones->n);
    return gce_strs_of(a, sorted.items, sorted.n);
}

/* ---- small things ---------------------------------------------------------------------------- */

struct gce_allows gce_bs_allow(struct arena *a, const char *protocol, struct gce_strs ports)
{
    struct gce_allow *w = ARENA_NEW(a, struct gce_allow);
    *w = (struct gce_allow){.protocol = protocol, .ports = ports};
    return (struct gce_allows){.items = w, .n = 1};
}

int gce_bs_check_port(const struct tt_service *s, bool local, int32_t *ret, struct err *err)
{
    if (local && s->health_check_node_port <= 0) {
        return err_set(err, ERR_INVALID,
                       "spec.healthCheckNodePort is not set: with externalTrafficPolicy Local "
                       "nodes are asked there whether they have endpoints");
    }
    *ret = local ? s->health_check_node_port : GCE_NODE_CHECK_PORT;
    return ERR_OK;
}
