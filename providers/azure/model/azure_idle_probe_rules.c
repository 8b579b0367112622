/* SPDX-License-Identifier: Apache-2.0 */
/* azure_idle_probe_rules.c: annotations of health probes without effect, by the probe that each
 * port gets (azure_probe_rules.h).  Part of azure_idle_rules.h.  Pure. */
#include "providers/azure/model/azure_idle_internal.h"

#include "common/base/str.h"
#include "providers/azure/model/azure_text.h"

#define PROBE "health-probe_"

/* The annotations of a probe: of one port, and of the whole Service. */
static const struct probe_setting {
    const char *of_port, *of_all;
    bool of_http; /* only a probe by HTTP reads it */
    bool of_node; /* the probe of the node's health check port reads it, too */
} settings[] = {
    {PROBE "protocol", "azure-load-balancer-health-probe-protocol", false, false},
    {PROBE "interval", "azure-load-balancer-health-probe-interval", false, true},
    {PROBE "num-of-probe", "azure-load-balancer-health-probe-num-of-probe", false, true},
    {PROBE "request-path", "azure-load-balancer-health-probe-request-path", true, false},
    {PROBE "port", NULL, false, false},
};

static bool probes_node(const struct azure_idle_ask *q)
{
    const struct azure_service *s = q->s;
    return s->local && !(s->pls_create && s->pls_proxy_protocol && !s->pls_unprobed);
}

static bool is_http(const struct azure_idle_ask *q, const struct tt_port *p)
{
    const char *own = azure_port_annotation(q->s->in, p->port, PROBE "protocol");
    const char *text = own != NULL ? own : p->app_protocol;
    text = text != NULL ? text : azure_annotation(q->s->in, settings[0].of_all);
    text = text != NULL ? str_trim_unicode(q->a, text) : "";
    return str_eq_nocase(text, "http") ||
           (q->naming->config->standard_sku && str_eq_nocase(text, "https"));
}

/* The first TCP port: one rule for all ports has its probe. */
static const struct tt_port *first_tcp(const struct tt_service *s)
{
    for (uint32_t i = 0; i < s->n_ports; i++) {
        if (str_eq(s->ports[i].protocol, "TCP")) {
            return &s->ports[i];
        }
    }
    return NULL;
}

static bool port_is_on(const struct azure_idle_ask *q, const struct tt_port *p, const char *name)
{
    return azure_text_true(azure_port_annotation(q->s->in, p->port, name));
}

/* Why no probe of its own is made for the port; NULL: one is. */
static const char *unprobed(const struct azure_idle_ask *q, const struct tt_port *p)
{
    bool all = azure_service_takes_all_ports(q->naming, q->s);
    if (q->naming->config->shared_probe && !q->s->local) {
        return "while clusterServiceLoadBalancerHealthProbeMode of the cloud-config is shared";
    }
    if (!str_eq(p->protocol, "TCP")) {
        return "on a port that is not of TCP: only those are probed";
    }
    if (all && (probes_node(q) || p != first_tcp(q->s->in))) {
        return "while one rule, with one probe, serves all ports";
    }
    if (!all && port_is_on(q, p, "no_lb_rule")) {
        return arena_printf(q->a, "while " KEY("port_%d_no_lb_rule") " is \"true\"", (int)p->port);
    }
    if (!all && port_is_on(q, p, "no_probe_rule")) {
        return arena_printf(q->a, "while " KEY("port_%d_no_probe_rule") " is \"true\"",
                            (int)p->port);
    }
    if (probes_node(q) && azure_port_annotation(q->s->in, p->port, PROBE "port") == NULL) {
        return "while externalTrafficPolicy is Local, whose probe asks the health check node port";
    }
    return NULL;
}

/* Why the port's probe does not read that setting, of the port or of the Service; NULL: it does. */
static const char *unread(const struct azure_idle_ask *q, const struct tt_port *p,
                          const struct probe_setting *set)
{
    const char *why = unprobed(q, p);
    if (why == NULL && set->of_http && !is_http(q, p)) {
        return "unless the probe is by HTTP";
    }
    return why;
}

static bool is_hidden(const struct azure_idle_ask *q, const struct tt_port *p,
                      const struct probe_setting *set)
{
    bool by_protocol = str_eq(set->of_port, PROBE "protocol") && p->app_protocol != NULL;
    return by_protocol || azure_port_annotation(q->s->in, p->port, set->of_port) != NULL;
}

static void probes_of_all(struct azure_idle *out, const struct azure_idle_ask *q,
                          const struct probe_setting *set)
{
    const struct tt_service *in = q->s->in;
    bool read = probes_node(q) && set->of_node; /* unless nothing is probed, which is rare */
    const char *why = NULL;
    for (uint32_t i = 0; i < in->n_ports && !read; i++) {
        const char *one = unread(q, &in->ports[i], set);
        bool hidden = one == NULL && is_hidden(q, &in->ports[i], set);
        read = one == NULL && !hidden;
        why = why != NULL ? why : hidden ? "where each port says it by itself" : one;
    }
    if (!read && why != NULL) {
        azure_idle_add(out, set->of_all, why);
    }
}

/* Why an annotation of that port has no effect; NULL: it has. */
typedef const char *why_fn(const struct azure_idle_ask *q, const struct tt_port *p,
                           const struct probe_setting *set);

/* Two ports of one number have the same annotations: those count where either reads them. */
static void add_of_port(struct azure_idle *out, const struct azure_idle_ask *q,
                        const struct tt_port *p, const char *name, why_fn *why,
                        const struct probe_setting *set)
{
    const struct tt_service *in = q->s->in;
    if (str_is_empty(azure_port_annotation(in, p->port, name))) {
        return;
    }
    const char *first = NULL;
    for (uint32_t i = 0; i < in->n_ports; i++) {
        if (in->ports[i].port != p->port) {
            continue;
        }
        const char *one = why(q, &in->ports[i], set);
        if (one == NULL) {
            return;
        }
        first = first != NULL ? first : one;
    }
    azure_idle_add(out, arena_printf(q->a, "port_%d_%s", (int)p->port, name), first);
}

static const char *without_own_rule(const struct azure_idle_ask *q, const struct tt_port *p,
                                    const struct probe_setting *set)
{
    (void)p;
    (void)set;
    return azure_service_takes_all_ports(q->naming, q->s) ? "while one rule serves all ports"
                                                          : NULL;
}

/* no_probe_rule leaves out the probe of the node and the shared one, too. */
static const char *without_any_probe(const struct azure_idle_ask *q, const struct tt_port *p,
                                     const struct probe_setting *set)
{
    if (without_own_rule(q, p, set) != NULL) {
        return without_own_rule(q, p, set);
    }
    if (port_is_on(q, p, "no_lb_rule")) {
        return arena_printf(q->a, "while " KEY("port_%d_no_lb_rule") " is \"true\"", (int)p->port);
    }
    bool shared = q->naming->config->shared_probe && !q->s->local;
    bool probed = shared || probes_node(q) || str_eq(p->protocol, "TCP");
    return probed ? NULL : "on a port that is not of TCP: only those are probed";
}

void azure_idle_probes(struct azure_idle *out, const struct azure_idle_ask *q)
{
    const struct tt_service *in = q->s->in;
    for (size_t k = 0; k < ARRAY_LEN(settings); k++) {
        if (settings[k].of_all != NULL && azure_idle_filled(q->s, settings[k].of_all) != NULL) {
            probes_of_all(out, q, &settings[k]);
        }
        for (uint32_t i = 0; i < in->n_ports; i++) {
            add_of_port(out, q, &in->ports[i], settings[k].of_port, unread, &settings[k]);
        }
    }
    for (uint32_t i = 0; i < in->n_ports; i++) {
        if (port_is_on(q, &in->ports[i], "no_lb_rule")) {
            add_of_port(out, q, &in->ports[i], "no_lb_rule", without_own_rule, NULL);
        }
        if (port_is_on(q, &in->ports[i], "no_probe_rule")) {
            add_of_port(out, q, &in->ports[i], "no_probe_rule", without_any_probe, NULL);
        }
    }
}
