/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_names.c: see gce_bs_names.h. */
#include "providers/gce/gce_bs_names.h"

#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/gce/gce_service_rules.h"

static void make_l4(struct arena *a, const struct gce_bs_facts *f, const struct tt_service *s,
                    struct gce_bs_names *ret)
{
    struct gce_l4_names n;
    gce_l4_names_make(a, f->kube_system_uid, s->ns, s->name, str_nonnull(s->uid), &n);
    /* In the order in which an address is taken over from rules (gce-l4.md §5.2 step 2). */
    *ret = (struct gce_bs_names){
        .rules = {{n.legacy, n.rule_tcp, n.rule_udp, n.rule_l3},
                  {n.legacy_v6, n.rule_tcp_v6, n.rule_udp_v6, n.rule_l3_v6}},
        .firewalls = {{n.firewall}, {n.firewall_v6}},
        .deny = {n.deny, n.deny_v6},
        .local_check_firewall = {n.local_check_firewall, n.local_check_firewall_v6},
        .shared_check_firewall = {n.shared_check_firewall, n.shared_check_firewall_v6},
        .backends = {n.backend},
        .local_check = n.local_check,
        .shared_check = n.shared_check,
    };
}

/* A backend service that Services share is named after protocol and affinity; the digits are upstream's hash of the
 * affinity's text (gce-cloud-provider.md §5.1). */
static const char *shared_backend(struct arena *a, const struct gce_bs_facts *f,
                                  const struct tt_service *s)
{
    static const struct {
        const char *affinity;
        const char *hash;
    } rows[] = {
        {"None", "6eef6648406c333a"}, {"ClientIP", "1668fd70f588116e"}, {"", "da39a3ee5e6b4b0d"}};
    bool udp = s->n_ports == 0 || str_eq(s->ports[0].protocol, "UDP");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_eq(str_nonnull(s->session_affinity), rows[i].affinity)) {
            return arena_printf(a, "k8s-%s-internal-%s-nmv1-%s", f->cluster_id, udp ? "udp" : "tcp",
                                rows[i].hash);
        }
    }
    return NULL;
}

static void make_legacy(struct arena *a, const struct gce_bs_facts *f, const struct tt_service *s,
                        struct gce_bs_names *ret)
{
    const char *lb = svc_default_lb_name(a, str_nonnull(s->uid));
    bool shares = gce_svc_shares_backend_service(s) && !svc_only_local_traffic(s);
    const char *shared = shares ? shared_backend(a, f, s) : NULL;
    *ret = (struct gce_bs_names){
        .legacy = true,
        .rules = {{lb}},
        .firewalls = {{arena_printf(a, "k8s-fw-%s", lb), lb}},
        .local_check_firewall = {arena_printf(a, "%s-hc", lb)},
        .shared_check_firewall = {arena_printf(a, "k8s-%s-node-hc", f->cluster_id)},
        .backends = {shared != NULL ? shared : lb, shared != NULL ? lb : NULL},
        .local_check = lb,
        .shared_check = arena_printf(a, "k8s-%s-node", f->cluster_id),
    };
}

bool gce_bs_names_make(struct arena *a, const struct gce_bs_facts *f, const struct gce_bs_input *in,
                       enum gce_kind kind, struct gce_bs_names *ret)
{
    bool legacy = kind == GCE_KIND_ILB_GROUPS;
    if (str_is_empty(legacy ? f->cluster_id : f->kube_system_uid)) {
        return false;
    }
    if (legacy) {
        make_legacy(a, f, in->service, ret);
    } else {
        make_l4(a, f, in->service, ret);
    }
    return true;
}
