/* SPDX-License-Identifier: Apache-2.0 */
/* gce_ilb_desired.c: what an internal load balancer on instance groups should be, as
 * cloud-provider-gcp makes it.
 *
 * Reads like §5.3–§5.8 of docs/spec/gce-cloud-provider.md.  IPv4 only; options count only on
 * networks with subnetworks.  Everything that a user can get wrong is found here, before the first
 * write.  Part of gce_bs.h.  Pure. */
#include "providers/gce/backend/gce_bs_desired_parts.h"
#include "providers/gce/model/gce_ilb_names.h"

#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/gce/model/gce_service_rules.h"

#define CHECK_INTERVAL_S 8
#define CHECK_UNHEALTHY  3

struct gce_hc gce_ilb_hc_make(struct arena *a, const struct gce_bs_check_wish *w)
{
    return (struct gce_hc){
        .name = w->name,
        .description =
            w->shared ? "" : arena_printf(a, "{\"kubernetes.io/service-name\":\"%s\"}", w->key),
        .type = "HTTP",
        .path = w->path,
        .link = "",
        .port = w->port,
        .interval_s = CHECK_INTERVAL_S,
        .timeout_s = 1,
        .healthy = 1,
        .unhealthy = CHECK_UNHEALTHY,
        .has_http = true,
    };
}

static int check_ports(const struct tt_service *s, struct err *err)
{
    const char *protocol = gce_ilb_protocol(s);
    if (gce_svc_protocols_are_mixed(s)) {
        return err_set(err, ERR_INVALID, "mixed protocol is not supported for LoadBalancer");
    }
    if (!str_eq(protocol, "TCP") && !str_eq(protocol, "UDP")) {
        return err_set(err, ERR_INVALID, "Invalid protocol %s, only TCP and UDP are supported",
                       protocol);
    }
    if (s->n_ports == 0) { /* the cloud would refuse the rule after everything else was made */
        return err_set(err, ERR_INVALID, "no ports specified for GCE load balancer");
    }
    return ERR_OK;
}

/* §5.6 */
static struct gce_rule desired_rule(struct arena *a, const struct gce_bs_facts *f,
                                    const struct gce_bs_input *in, const struct gce_ilb_names *n)
{
    const struct tt_service *s = in->service;
    struct gce_strs ports = gce_svc_ports_plain(a, s);
    bool all = ports.n > GCE_RULE_PORTS_MAX;
    bool options = !str_is_empty(f->subnetwork);
    struct gce_rule r = gce_rule_blank();
    r.name = n->lb;
    r.description = n->description;
    r.protocol = gce_ilb_protocol(s);
    r.ports = all ? (struct gce_strs){0} : ports;
    r.all_ports = all;
    r.backend_service = gce_bs_link(a, f, gce_bs_region(a, f), "backendServices", n->backend);
    r.scheme = "INTERNAL";
    r.network = f->network;
    r.subnetwork = gce_bs_subnetwork(a, f, "", gce_svc_subnet(s)); /* only the older key counts */
    r.global_access = options && gce_svc_wants_global_access(s);
    return r;
}

/* §5.8: no priority is sent, so it is the cloud's 1000. */
static void desired_firewalls(struct arena *a, const struct gce_bs_facts *f,
                              const struct gce_bs_input *in, const struct gce_ilb_names *n,
                              const struct str_set *ranges, struct gce_bs_desired *d)
{
    const struct tt_service *s = in->service;
    struct gce_strs tags = gce_strs_of(a, in->tags.items, in->tags.n);
    const char *protocol = str_lower(a, gce_ilb_protocol(s));
    d->v4.want_firewall = true;
    d->v4.firewall = (struct gce_firewall){
        .name = n->firewall,
        .description = "",
        .network = f->network,
        .direction = "",
        .sources = gce_strs_of(a, ranges->items, ranges->n),
        .tags = tags,
        .allowed = gce_bs_allow(a, protocol, gce_svc_port_ranges(a, s)),
    };
    d->v4.check_firewall = (struct gce_firewall){
        .name = n->check_firewall,
        .description = "",
        .network = f->network,
        .direction = "",
        .sources = f->check_sources,
        .tags = tags,
        .allowed = gce_bs_allow(a, "tcp", gce_strs_one(a, arena_printf(a, "%d", d->check.port))),
    };
}

/* §5.5: only these members are ours. */
static struct gce_bservice desired_service(struct arena *a, const struct gce_bs_facts *f,
                                           const struct tt_service *s,
                                           const struct gce_ilb_names *n)
{
    return (struct gce_bservice){
        .name = n->backend,
        .description = n->backend_description,
        .protocol = gce_ilb_protocol(s),
        .scheme = "INTERNAL",
        .affinity = gce_svc_affinity(s),
        .network = "",
        .locality = "",
        .checks = gce_strs_one(a, gce_bs_link(a, f, "global", "healthChecks", n->check)),
    };
}

int gce_ilb_desired_make(struct arena *a, const struct gce_bs_facts *f,
                         const struct gce_bs_input *in, struct gce_bs_desired *ret, struct err *err)
{
    const struct tt_service *s = in->service;
    struct gce_ilb_names n;
    struct str_set ranges;
    int32_t port = 0;
    if (str_is_empty(f->cluster_id)) {
        return err_set(err, ERR_TRANSIENT, "the cluster's id is not known yet");
    }
    int rc = check_ports(s, err);
    gce_ilb_names_make(a, s, f->cluster_id, &n);
    if (rc == ERR_OK) {
        rc = gce_svc_ranges_v4(a, s, &ranges, err);
    }
    if (rc == ERR_OK) {
        rc = gce_bs_check_port(s, !n.check_is_shared, &port, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    struct gce_bs_desired d = {
        .kind = in->kind,
        .ns = str_nonnull(s->ns),
        .name = str_nonnull(s->name),
        .internal = true,
        .legacy = true,
        .pinhole = true,
        .v4 = {.wanted = true,
               .rules = {desired_rule(a, f, in, &n)},
               .n_rules = 1,
               .address_name = n.lb,
               .user = in->user_v4},
        .v6 = {.v6 = true},
        .check_shared = n.check_is_shared,
        .check_firewall_shared = n.check_is_shared,
        .service = desired_service(a, f, s, &n),
        .groups = gce_bs_groups(a, f, &in->zones, "instanceGroups", n.group),
        .mode = "CONNECTION", /* §15 row 20 */
        .unlink = true,
        .warn_options = str_is_empty(f->subnetwork) &&
                        (gce_svc_wants_global_access(s) || *gce_svc_subnet(s) != '\0'),
    };
    d.check = gce_ilb_hc_make(a, &(struct gce_bs_check_wish){.name = n.check,
                                                             .key = in->key,
                                                             .path = GCE_NODE_CHECK_PATH,
                                                             .port = port,
                                                             .shared = n.check_is_shared,
                                                             .internal = true});
    desired_firewalls(a, f, in, &n, &ranges, &d);
    *ret = d;
    return ERR_OK;
}
