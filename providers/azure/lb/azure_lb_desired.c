/* SPDX-License-Identifier: Apache-2.0 */
/* azure_lb_desired.c: load-balancing rules of one Service (azure_lb_desired.h).  Pure. */
#include "providers/azure/lb/azure_lb_desired.h"
#include "common/base/str.h"
#include "providers/azure/lb/azure_probe_rules.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/model/azure_text.h"

const char *azure_lb_protocol(const char *kubernetes)
{
    static const struct {
        const char *kubernetes;
        const char *azure;
    } rows[] = {{"TCP", "Tcp"}, {"UDP", "Udp"}, {"SCTP", "All"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_eq(kubernetes, rows[i].kubernetes)) {
            return rows[i].azure;
        }
    }
    return NULL;
}

/* Refused where a rule would have it: a Service without a rule is not refused here (6.5). */
static int check_idle_timeout(const struct azure_service *s, struct err *err)
{
    if (s->idle_timeout_min > 0) {
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID,
                   "annotation " AZURE_ANNOTATION_PREFIX AZURE_IDLE_TIMEOUT
                   ": want minutes from %d to %d, got \"%s\"",
                   AZURE_IDLE_TIMEOUT_MIN, AZURE_IDLE_TIMEOUT_MAX,
                   str_nonnull(azure_annotation(s->in, AZURE_IDLE_TIMEOUT)));
}

/* Values that differ between ports. */
struct shape {
    const char *name;
    const char *protocol; /* Azure's */
    int32_t frontend_port;
    int32_t backend_port;
    bool floating;
    bool has_reset;
};

static struct json_object *rule_new(struct arena *a, const struct azure_fragment_ask *ask,
                                    const struct shape *shape)
{
    const struct azure_service *s = ask->service;
    const struct azure_config *c = ask->naming->config;
    struct json_object *o = azure_own(a, json_object_new_object());
    struct json_object *p = json_object_new_object();
    json_add_str(o, "name", shape->name);
    json_add(o, "properties", p);
    json_add_str(p, "protocol", shape->protocol);
    json_add_int(p, "frontendPort", shape->frontend_port);
    json_add_int(p, "backendPort", shape->backend_port);
    json_add_bool(p, "enableFloatingIP", shape->floating);
    json_add_int(p, "idleTimeoutInMinutes", s->idle_timeout_min);
    if (shape->has_reset) {
        json_add_bool(p, "enableTcpReset", !s->disable_tcp_reset);
    }
    json_add_bool(p, "disableOutboundSnat", c->standard_sku && c->disable_outbound_snat);
    json_add_str(p, "loadDistribution",
                 str_eq(s->in->session_affinity, "ClientIP") ? "SourceIP" : "Default");
    json_add(p, "frontendIPConfiguration", azure_ref_new(ask->frontend_id));
    json_add(p, "backendAddressPool", azure_ref_new(ask->pool_id));
    return o;
}

static int shape_of_port(struct arena *a, const struct azure_fragment_ask *ask,
                         const struct tt_port *port, struct shape *ret, struct err *err)
{
    const struct azure_service *s = ask->service;
    bool standard = ask->naming->config->standard_sku;
    const char *protocol = azure_lb_protocol(port->protocol);
    if (protocol == NULL) {
        return err_set(err, ERR_INVALID, "port %d: protocol \"%s\" is none that Azure balances",
                       (int)port->port, port->protocol);
    }
    if (str_eq(port->protocol, "SCTP") && !(standard && s->internal)) {
        return err_set(err, ERR_INVALID,
                       "port %d: SCTP is only supported on standard loadbalancer in internal mode",
                       (int)port->port);
    }
    bool to_node_port =
        s->disable_floating_ip || (s->internal && azure_pool_is_ipv6(azure_id_last(ask->pool_id)));
    if (to_node_port && port->node_port == 0) {
        return err_set(err, ERR_INVALID,
                       "port %d: without floating IP traffic goes to the node port, but none is "
                       "allocated (spec.allocateLoadBalancerNodePorts)",
                       (int)port->port);
    }
    *ret = (struct shape){
        .name = azure_rule_name(a, s->in, port->protocol, port->port, ask->family),
        .protocol = protocol,
        .frontend_port = port->port,
        .backend_port = to_node_port ? port->node_port : port->port,
        .floating = !to_node_port,
        .has_reset = standard && str_eq(protocol, "Tcp"),
    };
    return ERR_OK;
}

/* The rule takes its probe along; one that several rules share is there once. */
static void add(struct azure_fragment *f, const struct azure_fragment_ask *ask, struct arena *a,
                struct json_object *rule, struct json_object *probe)
{
    if (probe != NULL) {
        json_add(azure_props(rule), "probe",
                 azure_ref_new(azure_probe_id(a, ask->naming, ask->lb, azure_doc_name(probe))));
        bool there = false;
        for (size_t i = 0; i < f->n_probes; i++) {
            there = there || azure_eq(azure_doc_name(f->probes[i]), azure_doc_name(probe));
        }
        if (!there) {
            f->probes[f->n_probes++] = probe;
        }
    }
    f->rules[f->n_rules++] = rule;
}

/* One rule for all ports (6.5): its probe is that of the nodes, else of the first port
 * that can have one. */
static int high_availability(struct arena *a, const struct azure_fragment_ask *ask,
                             const struct azure_probe_ask *probes, struct azure_fragment *f,
                             struct err *err)
{
    const struct azure_service *s = ask->service;
    const struct tt_port *first = &s->in->ports[0];
    int rc = check_idle_timeout(s, err);
    if (rc != ERR_OK) {
        return rc;
    }
    const struct shape shape = {
        .name = azure_rule_name(a, s->in, first->protocol, first->port, ask->family),
        .protocol = "All",
        .floating = !azure_pool_is_ipv6(azure_id_last(ask->pool_id)),
        .has_reset = true,
    };
    struct json_object *probe = probes->node;
    for (uint32_t i = 0; probe == NULL && i < s->in->n_ports; i++) {
        if (azure_probe_of_port(a, probes, &s->in->ports[i], shape.name, &probe, NULL) != ERR_OK) {
            probe = NULL; /* another port may do */
        }
    }
    add(f, ask, a, rule_new(a, ask, &shape), probe);
    return ERR_OK;
}

static int port_add(struct arena *a, const struct azure_fragment_ask *ask,
                    const struct azure_probe_ask *probes, const struct tt_port *port,
                    struct azure_fragment *f, struct err *err)
{
    const struct tt_service *s = ask->service->in;
    if (azure_text_true(azure_port_annotation(s, port->port, "no_lb_rule"))) {
        return ERR_OK;
    }
    struct shape shape;
    int rc = shape_of_port(a, ask, port, &shape, err);
    if (rc == ERR_OK) {
        rc = check_idle_timeout(ask->service, err);
    }
    struct json_object *probe = NULL;
    if (rc == ERR_OK && !azure_text_true(azure_port_annotation(s, port->port, "no_probe_rule"))) {
        rc = azure_probe_of_port(a, probes, port, shape.name, &probe, err);
    }
    if (rc == ERR_OK) {
        add(f, ask, a, rule_new(a, ask, &shape), probe);
    }
    return rc;
}

int azure_lb_desired(struct arena *a, const struct azure_fragment_ask *ask,
                     struct azure_fragment *ret, struct err *err)
{
    const struct azure_service *s = ask->service;
    struct azure_probe_ask probes = {.naming = ask->naming, .service = s, .family = ask->family};
    *ret = (struct azure_fragment){
        .probes = ARENA_ARRAY(a, struct json_object *, s->in->n_ports + 1u),
        .rules = ARENA_ARRAY(a, struct json_object *, s->in->n_ports + 1u),
    };
    int rc = azure_probe_node(a, &probes, err);
    if (rc != ERR_OK) {
        return rc;
    }
    if (azure_service_takes_all_ports(ask->naming, s)) {
        return high_availability(a, ask, &probes, ret, err);
    }
    for (uint32_t i = 0; rc == ERR_OK && i < s->in->n_ports; i++) {
        rc = port_add(a, ask, &probes, &s->in->ports[i], ret, err);
    }
    return rc;
}

int azure_lb_check(const struct azure_naming *naming, const struct azure_service *s,
                   struct err *err)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    static const char *const pools[AZURE_FAMILIES] = {"any", "any-IPv6"};
    int rc = ERR_OK;
    for (int f = 0; rc == ERR_OK && f < AZURE_FAMILIES; f++) {
        enum azure_family family = (enum azure_family)f;
        const struct azure_fragment_ask ask = {
            .naming = naming,
            .service = s,
            .lb = "any",
            .family = family,
            .frontend_id = azure_frontend_id(a, naming, "any", s->base),
            .pool_id = azure_pool_id(a, naming, "any", pools[f]),
        };
        struct azure_fragment made;
        rc = s->has_family[f] ? azure_lb_desired(a, &ask, &made, err) : ERR_OK;
    }
    return rc;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool same_ref(struct json_object *x, struct json_object *y, const char *name)
{
    const char *p = azure_ref(x, name);
    const char *q = azure_ref(y, name);
    return (p == NULL && q == NULL) || azure_id_eq(p, q);
}

static bool same_text(struct json_object *x, struct json_object *y, const char *name)
{
    return str_eq(str_nonnull(azure_prop_str(x, name)), str_nonnull(azure_prop_str(y, name)));
}

static bool same_number(struct json_object *x, struct json_object *y, const char *name)
{
    return azure_prop_int(x, name, -1) == azure_prop_int(y, name, -1);
}

bool azure_lb_rule_equal(struct json_object *x, struct json_object *y, bool want)
{
    if (!azure_eq(azure_doc_name(x), azure_doc_name(y))) {
        return false; /* most are distinguished here, of thousands */
    }
    struct json_object *p = azure_props(x);
    struct json_object *q = azure_props(y);
    bool equal = same_text(x, y, "protocol") && same_ref(x, y, "frontendIPConfiguration") &&
                 same_ref(x, y, "backendAddressPool") && same_ref(x, y, "probe") &&
                 same_text(x, y, "loadDistribution") && same_number(x, y, "frontendPort") &&
                 same_number(x, y, "backendPort") &&
                 (json_member(p, "enableFloatingIP") == NULL) ==
                     (json_member(q, "enableFloatingIP") == NULL) &&
                 azure_prop_bool(x, "enableFloatingIP", false) ==
                     azure_prop_bool(y, "enableFloatingIP", false) &&
                 azure_prop_bool(x, "disableOutboundSnat", false) ==
                     azure_prop_bool(y, "disableOutboundSnat", false);
    if (equal && str_eq(azure_prop_str(x, "protocol"), "Tcp")) {
        equal = azure_prop_bool(x, "enableTcpReset", false) ==
                azure_prop_bool(y, "enableTcpReset", false);
    }
    bool both = json_member(p, "idleTimeoutInMinutes") != NULL &&
                json_member(q, "idleTimeoutInMinutes") != NULL;
    return equal && (!want || !both || same_number(x, y, "idleTimeoutInMinutes"));
}
