/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_names.c: see gce_bs_names.h. */
#include "providers/gce/backend/gce_bs_names.h"

#include "common/base/str.h"
#include "providers/gce/model/gce_former_address.h"
#include "providers/gce/model/gce_ilb_names.h"

static void make_l4(struct arena *a, const struct gce_bs_facts *f, const struct tt_service *s,
                    struct gce_bs_names *ret)
{
    struct gce_l4_names n;
    gce_l4_names_make(a, f->kube_system_uid, s->ns, s->name, str_nonnull(s->uid), &n);
    /* In the order in which an address is taken over from rules (gce-l4.md §5.2 step 2). */
    *ret = (struct gce_bs_names){
        .rules = {{n.legacy, n.rule_tcp, n.rule_udp, n.rule_l3},
                  {n.legacy_v6, n.rule_tcp_v6, n.rule_udp_v6, n.rule_l3_v6}},
        .former_address = {gce_former_address_name(a, n.legacy, false),
                           gce_former_address_name(a, n.legacy, true)},
        .firewalls = {{n.firewall}, {n.firewall_v6}},
        .deny = {n.deny, n.deny_v6},
        .local_check_firewall = {n.local_check_firewall, n.local_check_firewall_v6},
        .shared_check_firewall = {n.shared_check_firewall, n.shared_check_firewall_v6},
        .backends = {n.backend},
        .local_check = n.local_check,
        .shared_check = n.shared_check,
    };
}

static void make_legacy(struct arena *a, const struct gce_bs_facts *f, const struct tt_service *s,
                        struct gce_bs_names *ret)
{
    struct gce_ilb_names n;
    gce_ilb_names_make(a, s, f->cluster_id, &n);
    *ret = (struct gce_bs_names){
        .legacy = true,
        .rules = {{n.lb}},
        .former_address = {gce_former_address_name(a, n.lb, false)},
        .firewalls = {{n.firewall, n.legacy_firewall}},
        .local_check_firewall = {n.local_check_firewall},
        .shared_check_firewall = {n.shared_check_firewall},
        .backends = {n.backend, n.backend_is_shared ? n.lb : NULL},
        .local_check = n.lb,
        .shared_check = n.shared_check,
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

bool gce_bs_names_backend(struct arena *a, const struct gce_bs_facts *f,
                          const struct gce_bs_names *n, const char *name)
{
    for (size_t i = 0; n->backends[i] != NULL; i++) {
        if (str_eq(n->backends[i], name)) {
            return true;
        }
    }
    /* Shared ones differ by their protocol and affinity, which may have changed. */
    return n->legacy && str_has_prefix(name, arena_printf(a, "k8s-%s-internal-", f->cluster_id));
}
