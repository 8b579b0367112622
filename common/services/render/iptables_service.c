/* SPDX-License-Identifier: Apache-2.0 */
/* iptables_service.c: the chains of one service port in table nat. */
#include "common/services/render/iptables.h"

void iptables_port_chains(struct iptables_port *x)
{
    struct ks_groups *nat = &x->t->nat;
    if (x->is.external) {
        x->ext = ks_group_new(nat, x->names.ext, NULL);
    }
    if (x->firewall) {
        x->fw = ks_group_new(nat, x->names.fw, NULL);
    }
    if (x->is.cluster) {
        x->svc = ks_group_new(nat, x->names.svc, NULL);
    }
    if (x->is.local) {
        x->svl = ks_group_new(nat, x->names.svl, NULL);
    }
}

/* Marks packets to the cluster IP, before the chain chooses an endpoint. */
static void mark_cluster_ip(struct iptables_port *x)
{
    bool all = x->t->world->config.masquerade_all;
    if (!x->is.has_internal || (!all && x->t->if_not_local == NULL)) {
        return;
    }
    KS_RULE(&x->t->nat, x->p->internal_local ? x->svl : x->svc, x->cluster_ip_comment, x->proto,
            "-d", ks_ip_text(x->t->arena, &x->p->cluster_ip), "--dport", x->number,
            all ? NULL : x->t->if_not_local, "-j KUBE-MARK-MASQ");
}

static const char *external_comment(const struct iptables_port *x, const char *verb)
{
    return ks_commentf(x->t->arena, "%s traffic for %s external destinations", verb, x->p->display);
}

static void external_chain(struct iptables_port *x)
{
    struct ks_groups *nat = &x->t->nat;
    if (!x->p->external_local) {
        KS_RULE(nat, x->ext, external_comment(x, "masquerade"), "-j KUBE-MARK-MASQ");
    } else {
        if (x->t->if_local != NULL) {
            KS_RULE(nat, x->ext, external_comment(x, "pod"), x->t->if_local, "-j", x->names.svc);
        }
        KS_RULE(nat, x->ext, external_comment(x, "masquerade LOCAL"),
                "-m addrtype --src-type LOCAL -j KUBE-MARK-MASQ");
        KS_RULE(nat, x->ext, external_comment(x, "route LOCAL"), "-m addrtype --src-type LOCAL -j",
                x->names.svc);
    }
    if (x->is.has_external) {
        KS_RULE(nat, x->ext, "-j", x->p->external_local ? x->names.svl : x->names.svc);
    }
}

static void firewall_chain(struct iptables_port *x)
{
    struct arena *a = x->t->arena;
    struct ks_groups *nat = &x->t->nat;
    const char *comment = ks_commentf(a, "%s loadbalancer IP", x->p->display);
    for (size_t i = 0; i < x->p->n_source_ranges; i++) {
        KS_RULE(nat, x->fw, comment, "-s", ks_net_text(a, &x->p->source_ranges[i]), "-j",
                x->names.ext);
    }
    for (size_t i = 0; i < x->p->n_lb_vips && x->is.node_allowed; i++) {
        KS_RULE(nat, x->fw, comment, "-s", ks_ip_text(a, &x->p->lb_vips[i]), "-j", x->names.ext);
    }
    KS_RULE(nat, x->fw,
            ks_commentf(a, "other traffic to %s will be dropped by KUBE-PROXY-FIREWALL",
                        x->p->display));
}

/* The names of endpoint chains: those that were asked for, by the endpoint's place. */
struct seps {
    struct ks_sep_names *names;
    const char **items;
};

static const char *sep_of(struct iptables_port *x, struct seps *seps,
                          const struct ks_endpoint *endpoint)
{
    const char **slot = &seps->items[endpoint - x->p->endpoints];
    if (*slot == NULL) {
        *slot = ks_sep_name(x->t->arena, seps->names, endpoint->text);
    }
    return *slot;
}

/* The rules that choose one endpoint of a list: affinity first, then each with the probability that
 * makes all equal. */
static void choose(struct iptables_port *x, size_t chain, const struct ks_list *list,
                   struct seps *seps)
{
    struct arena *a = x->t->arena;
    const char **comments = ARENA_ARRAY(a, const char *, list->n);
    for (size_t i = 0; i < list->n && !x->t->large; i++) {
        comments[i] = ks_commentf(a, "%s -> %s", x->p->display, list->items[i]->text);
    }
    for (size_t i = 0; i < list->n && x->p->affinity_s != 0; i++) {
        const char *sep = sep_of(x, seps, list->items[i]);
        KS_RULE(&x->t->nat, chain, comments[i], "-m recent --name", sep, "--rcheck --seconds",
                ks_number(a, x->p->affinity_s), "--reap -j", sep);
    }
    for (size_t i = 0; i < list->n; i++) {
        bool last = i + 1 == list->n;
        KS_RULE(&x->t->nat, chain, comments[i],
                last ? NULL : "-m statistic --mode random --probability",
                last ? NULL : ks_probability(a, list->n - i), "-j",
                sep_of(x, seps, list->items[i]));
    }
}

static void endpoint_chain(struct iptables_port *x, const struct ks_endpoint *endpoint,
                           const char *sep)
{
    struct arena *a = x->t->arena;
    struct ks_groups *nat = &x->t->nat;
    const char *comment = x->t->large ? NULL : ks_comment(a, x->p->display);
    bool affinity = x->p->affinity_s != 0;
    size_t chain = ks_group_new(nat, sep, NULL);
    KS_RULE(nat, chain, comment, "-s", ks_ip_text(a, &endpoint->ip), "-j KUBE-MARK-MASQ");
    KS_RULE(nat, chain, comment, affinity ? "-m recent --name" : NULL, affinity ? sep : NULL,
            affinity ? "--set" : NULL, x->proto, "-j DNAT --to-destination", endpoint->text);
}

void iptables_port_rules(struct iptables_port *x)
{
    struct arena *a = x->t->arena;
    struct seps seps = {ks_sep_names_new(a, x->p->display, x->p->proto),
                        ARENA_ARRAY(a, const char *, x->p->n_endpoints)};
    mark_cluster_ip(x);
    if (x->is.external) {
        external_chain(x);
    }
    if (x->firewall) {
        firewall_chain(x);
    }
    if (x->is.cluster) {
        choose(x, x->svc, &x->p->cluster, &seps);
    }
    if (x->is.local) {
        choose(x, x->svl, &x->p->local, &seps);
    }
    for (size_t i = 0; i < x->p->reachable.n; i++) {
        const struct ks_endpoint *endpoint = x->p->reachable.items[i];
        endpoint_chain(x, endpoint, sep_of(x, &seps, endpoint));
    }
}
