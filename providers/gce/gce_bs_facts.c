/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_facts.c: what must be known of a Service before its balancer with a backend service is
 * checked (gce_flow.h).
 *
 * The ids that names are made of (kube-system's UID, ConfigMap ingress-uid), in which network it
 * is, which nodes take part, in which zones, and what the Service asks for.  What the Service asks
 * wrongly is found here, before anything was read or written.  The only requests are the two ids',
 * for a subnetwork that is not configured, once per process, and for the network that a Service
 * names (gce_network.h). */
#include "common/base/str.h"
#include "common/lb/mark_rules.h"
#include "common/lb/service_rules.h"
#include "common/net/url_build.h"
#include "providers/gce/api/gce_neg_metrics.h"
#include "providers/gce/backend/gce_l4lb_config.h"
#include "providers/gce/cache/gce_kube_system.h"
#include "providers/gce/cache/gce_subnetwork.h"
#include "providers/gce/gce_flow.h"
#include "providers/gce/groups/gce_node_cache.h"
#include "providers/gce/model/gce_links.h"
#include "providers/gce/model/gce_service_rules.h"

static int find_ids(struct lb_sync *s, struct gce_bs_item *b, struct err *err)
{
    struct gce_provider *p = gce_provider_of(s);
    b->facts = p->bs_facts;
    b->facts.kube_system_uid = "";
    b->facts.cluster_id = "";
    int rc = ERR_OK;
    if (b->in.kind != GCE_KIND_ILB_GROUPS) {
        rc = gce_kube_system_uid(p->kube_system, p->cloud.host, s->call, s->a,
                                 &b->facts.kube_system_uid, err);
    }
    bool of_service = gce_kind_has_service(b->in.kind) && b->in.verb == TT_VERB_DELETE;
    if (rc == ERR_OK && (gce_kind_has_groups(b->in.kind) || of_service)) {
        rc = gce_cluster_id_get(p->cluster_id, p->cloud.host, s->call, s->a, &b->facts.cluster_id,
                                err);
    }
    return rc;
}

/* Unconfigured values are read from the cloud, not from a saved state. */
static int find_subnetwork(struct lb_sync *s, struct gce_bs_item *b, struct err *err)
{
    struct gce_provider *p = gce_provider_of(s);
    if (!str_is_empty(b->facts.subnetwork) || p->cloud.offline) {
        return ERR_OK;
    }
    return gce_subnet_search_get(p->subnet_search, s, &b->facts.subnetwork, err);
}

/* Which nodes count does not depend on the Service's network: which are in it, members'
 * rules ask later. */
struct gce_node_filter gce_bs_node_filter(const struct gce_bs_facts *f)
{
    const char *own = f->network_name != NULL ? f->home_subnetwork : f->subnetwork;
    return (struct gce_node_filter){
        .mode = str_is_empty(own)       ? GCE_NODES_LEGACY
                : f->flags.multi_subnet ? GCE_NODES_MULTI_SUBNET
                                        : GCE_NODES_DEFAULT_SUBNET,
        .default_subnet = gce_link_last(str_nonnull(own)),
        .needs_pod_cidr = f->flags.needs_pod_cidr,
    };
}

/* The subnetwork that the Service names, as a link; whether it exists is seen when
 * it is checked. */
static const char *subnetwork_of(struct lb_sync *s, const struct gce_bs_item *b)
{
    bool internal = gce_kind_is_internal(b->in.kind);
    /* cloud-provider-gcp knows only the older key. */
    const char *name = b->in.kind == GCE_KIND_ILB_GROUPS ? gce_svc_subnet(b->in.service)
                                                         : gce_l4_subnet(b->in.service, internal);
    if (str_is_empty(name) ||
        (!internal && !gce_l4_wants_v6(b->in.service, b->facts.flags.dual_stack_netlb))) {
        return "";
    }
    return URL_RESOURCE_PATH(s->a, b->facts.projects_base, b->facts.network_project, "regions",
                             b->facts.region, "subnetworks", name);
}

static void find_groups(struct lb_sync *s, struct gce_bs_item *b)
{
    struct gce_node_filter filter = gce_bs_node_filter(&b->facts);
    const struct gce_provider *p = gce_provider_of(s);
    bool legacy = b->in.kind == GCE_KIND_ILB_GROUPS;
    /* One rule for the process, whatever the kind: else two Services would undo
     * each other's groups. */
    const struct gce_groups_ask ask = {.filter = &filter,
                                       .nodes = s->batch->nodes,
                                       .n = s->batch->n_nodes,
                                       .legacy = gce_legacy_is_on(&p->options.switches, NULL),
                                       .max = b->facts.max_group_size};
    b->groups = *gce_node_cache_groups(p->node_cache, s->life, &ask);
    b->group_name = legacy ? (str_is_empty(b->facts.cluster_id)
                                  ? "k8s-ig"
                                  : arena_printf(s->a, "k8s-ig--%s", b->facts.cluster_id))
                           : gce_l4_group_name(s->a, b->facts.cluster_id);
    const char **zones = ARENA_ARRAY(s->a, const char *, b->groups.n);
    for (size_t i = 0; i < b->groups.n; i++) {
        zones[i] = b->groups.zones[i].zone;
    }
    b->in.zones = (struct gce_strs){.items = zones, .n = b->groups.n};
}

int gce_bs_flow_facts(struct lb_sync *s, struct lb_item *item, struct gce_bs_item *b,
                      enum gce_kind kind, struct err *err)
{
    uint32_t verb = b->in.verb;
    b->in = (struct gce_bs_input){
        .service = item->in->service,
        .key = item->key,
        .verb = verb,
        .kind = kind,
        .adopts = !lb_puts_right(item->in),
        .leads_back = lb_leads_back(item->in),
        .outcome = &b->outcome,
        .call = s->call,
        .older_rules = gce_bs_flow_older_told(s, item->key, verb),
    };
    b->began_ms = s->host->now_ms(s->host->ctx);
    int rc = find_ids(s, b, err);
    if (rc != ERR_OK || verb == TT_VERB_DELETE) {
        b->negs_stay = rc == ERR_OK && gce_bs_negs_are_anothers(s, b);
        return rc;
    }
    rc = find_subnetwork(s, b, err);
    if (rc == ERR_OK) {
        rc = gce_bs_flow_find_network(s, b, err);
    }
    if (rc == ERR_OK) {
        rc = gce_bs_flow_look_ahead(s, b, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    b->in.subnetwork = subnetwork_of(s, b);
    b->in.user_v4.ip = str_nonnull(item->in->service->lb_ip);
    b->in.user_v6.ip = "";
    b->in.user_v4.name = b->in.user_v6.name = "";
    b->in.user_v4.tier = b->in.user_v6.tier = "";
    bool has_service = gce_kind_has_service(kind);
    if (verb == TT_VERB_ENSURE && b->facts.flags.logging && has_service &&
        kind != GCE_KIND_ILB_GROUPS) {
        const struct gce_provider *p = gce_provider_of(s);
        gce_l4lb_config_get(p->kube_texts, s->host, s->call, s->a, item->in->service, &b->log);
        b->in.log = gce_log_of(&b->log);
    }
    if (gce_kind_has_groups(kind)) {
        find_groups(s, b);
    } else if (gce_bs_has_negs(s, b)) {
        int64_t thinks_ms = s->host->now_ms(s->host->ctx);
        rc = gce_bs_members_think(s, item, b, err);
        gce_neg_metrics_decided(s->host, thinks_ms, rc != ERR_OK);
    }
    if (kind == GCE_KIND_ILB_GROUPS && gce_svc_protocols_are_mixed(item->in->service)) {
        gce_flow_ports_are_mixed(s, item);
    }
    if (rc == ERR_OK && verb == TT_VERB_ENSURE && has_service) {
        item->err.code = gce_bs_desired_make(s->a, &b->facts, &b->in, &b->d, &item->err);
        b->has_desired = item->err.code == ERR_OK;
    }
    return b->has_desired ? gce_bs_named_check_ahead(s, item, b, err) : rc;
}
