/* SPDX-License-Identifier: Apache-2.0 */
/* gce_target_pool_desired.c: what the load balancer of a Service should be, one resource at a time.
 *
 * Reads like §4.2–§4.8 of the specification.  Everything that a user can get wrong is found
 * here, before the first request that changes something.  Pure. */
#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "common/net/url_build.h"
#include "providers/gce/model/gce_firewall_diff.h"
#include "providers/gce/model/gce_service_rules.h"
#include "providers/gce/model/gce_target_pool.h"

#define NODE_CHECK_PORT 10256 /* kube-proxy's health server on every node */
#define NODE_CHECK_PATH "/healthz"

static int priority(const struct gce_tp_facts *facts)
{
    return facts->deny_firewall ? GCE_PRIORITY_ABOVE_DENY : GCE_PRIORITY_DEFAULT;
}

static struct gce_allows allow(struct arena *a, const char *protocol, struct gce_strs ports)
{
    struct gce_allow *w = ARENA_NEW(a, struct gce_allow);
    *w = (struct gce_allow){.protocol = protocol, .ports = ports};
    return (struct gce_allows){.items = w, .n = 1};
}

/* §4.3.2: one contiguous port range; the firewall narrows it to the real ports. */
static int desired_rule(struct arena *a, const struct gce_tp_facts *facts,
                        const struct tt_service *s, struct gce_tp_desired *d, struct err *err)
{
    const char *protocol;
    const char *range;
    int rc = gce_svc_port_range(a, s, &protocol, &range, err);
    if (rc != ERR_OK) {
        return rc;
    }
    d->rule = (struct gce_rule){
        .name = d->names.lb,
        .description = d->names.description,
        .ip = "",
        .protocol = protocol,
        .port_range = range,
        .target = URL_RESOURCE_PATH(a, facts->projects_base, facts->project, "regions",
                                    facts->region, "targetPools", d->names.lb),
        .backend_service = "",
        .scheme = "",
        .tier = gce_tier_wire(d->tier),
    };
    return ERR_OK;
}

/* §4.8 */
static void desired_pool(struct arena *a, const struct gce_tp_facts *facts,
                         const struct gce_tp_input *in, struct gce_tp_desired *d)
{
    const char *check = URL_RESOURCE_PATH(a, facts->projects_base, facts->project, "global",
                                          "httpHealthChecks", d->check.name);
    d->pool = (struct gce_pool){
        .name = d->names.lb,
        .description = d->names.description,
        .affinity = gce_svc_affinity(in->service),
        .instances = gce_strs_of(a, in->members.paths.items, in->members.paths.n),
        .checks = gce_strs_one(a, check),
    };
}

/* §4.6 */
static int desired_traffic(struct arena *a, const struct gce_tp_facts *facts,
                           const struct gce_tp_input *in, struct gce_tp_desired *d, struct err *err)
{
    struct str_set ranges;
    int rc = gce_svc_ranges_v4(a, in->service, &ranges, err);
    if (rc != ERR_OK) {
        return rc;
    }
    d->plain_ports = gce_svc_ports_plain(a, in->service);
    d->traffic = (struct gce_firewall){
        .name = d->names.firewall,
        .network = facts->network,
        .direction = "",
        .sources = gce_strs_of(a, ranges.items, ranges.n),
        .allowed = allow(a, str_lower(a, d->rule.protocol), gce_svc_port_ranges(a, in->service)),
        .priority = priority(facts),
    };
    return ERR_OK;
}

/* §4.7: a Service with policy Local asks its own node port; all others share the check of
 * kube-proxy. */
static void desired_check(struct arena *a, const struct gce_tp_facts *facts,
                          const struct gce_tp_input *in, struct gce_tp_desired *d)
{
    int32_t port;
    const char *path = svc_health_check(in->service, &port);
    const struct gce_names *n = &d->names;
    d->local = path != NULL;
    d->check = d->local ? gce_check_default(n->local_check, n->local_check_description, path, port)
                        : gce_check_default(n->node_check, n->node_check_description,
                                            NODE_CHECK_PATH, NODE_CHECK_PORT);
    d->check_firewall = (struct gce_firewall){
        .name = d->local ? n->local_check_firewall : n->node_check_firewall,
        /* Upstream pins the shared one to the address of the Service that made it first (§15 row
         * 8); ours serves all. */
        .description = d->local ? NULL : n->node_check_firewall_description,
        .network = facts->network,
        .direction = "",
        .sources = gce_strs_of(a, facts->check_sources, facts->n_check_sources),
        .allowed = allow(a, "tcp", gce_strs_one(a, arena_printf(a, "%d", d->check.port))),
        .priority = priority(facts),
    };
}

/* §4.13 */
static void desired_deny(struct arena *a, const struct gce_tp_facts *facts,
                         struct gce_tp_desired *d)
{
    d->want_deny = facts->deny_firewall;
    d->deny = (struct gce_firewall){
        .name = d->names.deny_firewall,
        .network = facts->network,
        .direction = "",
        .sources = gce_strs_one(a, "0.0.0.0/0"),
        .denied = allow(a, "all", (struct gce_strs){0}),
        .priority = GCE_PRIORITY_DEFAULT,
    };
}

int gce_tp_desired_make(struct arena *a, const struct gce_tp_facts *facts,
                        const struct gce_tp_input *in, struct gce_tp_desired *ret, struct err *err)
{
    const struct tt_service *s = in->service;
    struct gce_tp_desired d = {
        .ns = str_nonnull(s->ns),
        .service = str_nonnull(s->name),
        .tier_is_set = gce_svc_tier_is_set(s),
        .user_ip = str_nonnull(s->lb_ip),
    };
    gce_names_make(a, s, in->cluster_id, &d.names);
    int rc = gce_svc_tier(s, &d.tier, err);
    if (rc == ERR_OK) {
        rc = desired_rule(a, facts, s, &d, err);
    }
    if (rc == ERR_OK) {
        rc = desired_traffic(a, facts, in, &d, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    desired_check(a, facts, in, &d);
    desired_pool(a, facts, in, &d);
    desired_deny(a, facts, &d);
    gce_tp_desired_tag(a, &d, &in->tags);
    *ret = d;
    return ERR_OK;
}

void gce_tp_desired_tag(struct arena *a, struct gce_tp_desired *d, const struct str_set *tags)
{
    struct gce_strs list = gce_strs_of(a, tags->items, tags->n);
    d->traffic.tags = list;
    d->check_firewall.tags = list;
    d->deny.tags = list;
}

bool gce_tp_firewall_has_ip(const struct gce_tp_desired *d, const struct gce_firewall *f)
{
    return f != &d->check_firewall || d->local;
}

struct gce_firewall gce_tp_firewall_for(struct arena *a, const struct gce_tp_desired *d,
                                        const struct gce_firewall *f, const char *ip)
{
    struct gce_firewall out = *f;
    if (gce_tp_firewall_has_ip(d, f)) {
        out.description = gce_names_firewall_description(a, d->ns, d->service, ip);
        out.destinations = gce_strs_one(a, ip);
    }
    return out;
}

struct gce_pool gce_tp_pool_insert(const struct gce_tp_desired *d)
{
    struct gce_pool p = d->pool;
    if (p.instances.n > GCE_POOL_CREATE_MAX) {
        p.instances.n = GCE_POOL_CREATE_MAX;
    }
    return p;
}
