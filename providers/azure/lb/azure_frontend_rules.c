/* SPDX-License-Identifier: Apache-2.0 */
/* azure_frontend_rules.c: ownership and use of frontends (azure_frontend_rules.h).  Pure. */
#include "providers/azure/lb/azure_frontend_rules.h"
#include "common/base/ip.h"
#include "common/base/str.h"
#include "providers/azure/lb/azure_lb_desired.h"
#include "providers/azure/lb/azure_lb_index.h"
#include "providers/azure/lb/azure_probe_rules.h"
#include "providers/azure/model/azure_doc.h"

/* ---- whose ----------------------------------------------------------------------------------- */

static const struct azure_ownership nobody;

static void claim(struct azure_claim *c, struct json_object *pip)
{
    if (azure_pip_address(pip)[0] != '\0') {
        c->pips[c->n_pips++] = pip;
    }
}

/* One that is not there ends the list, of names as of addresses (6.3). */
static void claim_by_name(struct arena *a, const struct azure_pips *pips, struct azure_claim *c)
{
    const struct azure_service *s = c->service;
    for (int f = 0; f < AZURE_FAMILIES; f++) {
        if (s->pip_name[f] == NULL) {
            continue;
        }
        struct json_object *pip = azure_pip_by_name(a, pips, s->pip_group, s->pip_name[f]);
        if (pip == NULL) {
            return;
        }
        claim(c, pip);
    }
}

/* So does an address that cannot be. */
static void claim_by_address(struct arena *a, const struct azure_pips *pips, struct azure_claim *c)
{
    const struct azure_service *s = c->service;
    for (size_t i = 0; i < s->n_lb_ips; i++) {
        if (azure_public_ip_candidate(s->lb_ips[i]) != AZURE_IP_OK) {
            return;
        }
        struct json_object *pip = azure_pip_by_ip(a, pips, s->pip_group, s->lb_ips[i]);
        if (pip == NULL) {
            return;
        }
        claim(c, pip);
    }
}

struct azure_claim azure_frontend_claim(struct arena *a, const struct azure_service *s,
                                        const struct azure_pips *pips)
{
    struct azure_claim c = {.service = s};
    if (!s->internal && s->n_lb_ips > 0) {
        claim_by_address(a, pips, &c);
    } else if (!s->internal) {
        claim_by_name(a, pips, &c);
    }
    return c;
}

static struct azure_ownership by_pip(const struct azure_claim *c, struct json_object *frontend)
{
    const char *id = azure_ref(frontend, "publicIPAddress");
    for (size_t i = 0; id != NULL && i < c->n_pips; i++) {
        if (azure_id_eq(azure_doc_id(c->pips[i]), id)) {
            const char *version = azure_prop_str(c->pips[i], "publicIPAddressVersion");
            return (struct azure_ownership){.owns = true, .version = version};
        }
    }
    return nobody;
}

static struct azure_ownership by_private_address(const struct azure_service *s,
                                                 struct json_object *frontend)
{
    const char *have = azure_prop_str(frontend, "privateIPAddress");
    for (size_t i = 0; have != NULL && i < s->n_lb_ips; i++) {
        struct ip_addr ip;
        if (azure_address_eq(have, s->lb_ips[i])) {
            bool six = ip_parse(s->lb_ips[i], &ip) && ip.len == 16;
            return (struct azure_ownership){.owns = true, .version = six ? "IPv6" : "IPv4"};
        }
    }
    return nobody;
}

struct azure_ownership azure_frontend_owned_by(const struct azure_claim *c,
                                               struct json_object *frontend)
{
    const struct azure_service *s = c->service;
    if (str_has_prefix(azure_doc_name(frontend), s->base)) {
        return (struct azure_ownership){.owns = true, .primary = true};
    }
    if (azure_is_interim_of_any(azure_doc_name(frontend))) {
        return nobody; /* it goes in a moment, and with it what another Service puts there */
    }
    return s->internal ? by_private_address(s, frontend) : by_pip(c, frontend);
}

static bool has_own_name(const struct azure_service *s, const char *name)
{
    _cleanup_(arena_freep) struct arena *passing = arena_new();
    bool has = false;
    for (int f = 0; f < AZURE_FAMILIES; f++) {
        has = has || azure_eq(name, azure_frontend_name(passing, s->in, (enum azure_family)f));
    }
    return has;
}

/* That of the second family, of a Service that has one family by now. */
static bool is_second_of_one(const struct azure_service *s, const char *name)
{
    return !s->dual_stack && str_has_suffix(name, "-IPv6") && str_has_prefix(name, s->base) &&
           !has_own_name(s, name);
}

enum azure_family azure_frontend_family(const struct azure_service *s, struct json_object *frontend,
                                        const struct azure_ownership *o)
{
    const char *name = azure_doc_name(frontend);
    if (o->version != NULL) {
        return azure_eq(o->version, "IPv6") ? AZURE_IPV6 : AZURE_IPV4;
    }
    if (s->dual_stack || is_second_of_one(s, name)) {
        return str_has_suffix(name, "-IPv6") ? AZURE_IPV6 : AZURE_IPV4;
    }
    return s->has_family[AZURE_IPV6] ? AZURE_IPV6 : AZURE_IPV4;
}

bool azure_frontend_is_former(const struct azure_service *s, const char *name)
{
    return s->internal ? str_has_prefix(name, s->base) && !has_own_name(s, name)
                       : azure_is_interim(s->base, name) || is_second_of_one(s, name);
}

bool azure_owns_rule(const struct azure_service *s, const char *name)
{
    return (!s->local && azure_eq(name, AZURE_SHARED_PROBE)) || azure_has_prefix(name, s->base);
}

/* ---- in use ---------------------------------------------------------------------------------- */

static bool refers(struct json_object *o, const char *id)
{
    return azure_id_eq(azure_ref(o, "frontendIPConfiguration"), id);
}

static bool outbound_refers(struct json_object *rule, const char *id)
{
    struct json_object *ref;
    AZURE_EACH (ref, azure_array(rule, "frontendIPConfigurations")) {
        if (azure_id_eq(json_str(ref, "id"), id)) {
            return true;
        }
    }
    return false;
}

const char *azure_frontend_in_use(struct arena *a, const struct azure_service *s, const char *id,
                                  struct json_object *lb)
{
    static const struct {
        const char *array;
        const char *word;
    } nats[] = {{"inboundNatRules", "inbound NAT rule"}, {"inboundNatPools", "inbound NAT pool"}};
    struct json_object *o;
    AZURE_EACH (o, azure_array(lb, "loadBalancingRules")) {
        if (refers(o, id) && !azure_owns_rule(s, azure_doc_name(o))) {
            return arena_printf(a, "load balancing rule %s of another Service", azure_doc_name(o));
        }
    }
    AZURE_EACH (o, azure_array(lb, "outboundRules")) {
        if (outbound_refers(o, id)) {
            return arena_printf(a, "outbound rule %s", azure_doc_name(o));
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(nats); i++) {
        AZURE_EACH (o, azure_array(lb, nats[i].array)) {
            if (refers(o, id)) {
                return arena_printf(a, "%s %s", nats[i].word, azure_doc_name(o));
            }
        }
    }
    return NULL;
}

/* ---- ports ----------------------------------------------------------------------------------- */

static int taken(const struct tt_port *port, const char *word, struct json_object *o,
                 struct err *err)
{
    return err_set(err, ERR_IN_USE,
                   "checkLoadBalancerResourcesConflicts: service port %s is trying to consume the "
                   "port %d which is being referenced by an existing %s %s",
                   str_nonnull(port->name), (int)port->port, word, azure_doc_name(o));
}

static bool is_at(struct json_object *o, const char *id, const char *protocol)
{
    return azure_eq(str_nonnull(azure_prop_str(o, "protocol")), protocol) && refers(o, id);
}

/* A rule for all ports leaves none for the rules of others at its frontend. */
static bool is_for_all_ports(struct json_object *o)
{
    return azure_eq(str_nonnull(azure_prop_str(o, "protocol")), "All") &&
           azure_prop_int(o, "frontendPort", 0) == 0;
}

static int check_all_ports(const struct azure_service *s, const struct azure_place *at,
                           struct err *err)
{
    for (size_t i = 0; i < at->n_rules; i++) {
        struct json_object *o = at->rules[i];
        const char *name = azure_doc_name(o);
        if ((at->all_ports || is_for_all_ports(o)) && refers(o, at->id) &&
            !azure_owns_rule(s, name)) {
            return err_set(err, ERR_IN_USE,
                           at->all_ports
                               ? "a rule for all ports has its address for itself, and the "
                                 "existing loadBalancing rule %s is at it"
                               : "the existing loadBalancing rule %s is for all ports of the "
                                 "address",
                           name);
        }
    }
    return ERR_OK;
}

static int check_port(const struct azure_service *s, const struct tt_port *port,
                      const struct azure_place *at, struct err *err)
{
    const char *protocol = str_nonnull(azure_lb_protocol(port->protocol));
    const char *id = at->id;
    struct json_object *o;
    if (azure_eq(protocol, "All")) {
        return ERR_OK; /* SCTP shares no port number with Tcp and Udp */
    }
    for (size_t i = 0; i < at->n_rules; i++) {
        o = at->rules[i];
        if (azure_prop_int(o, "frontendPort", 0) == port->port && is_at(o, id, protocol) &&
            !azure_owns_rule(s, azure_doc_name(o))) {
            return taken(port, "loadBalancing rule", o, err);
        }
    }
    AZURE_EACH (o, azure_array(at->lb, "inboundNatRules")) {
        if (azure_prop_int(o, "frontendPort", 0) == port->port && is_at(o, id, protocol)) {
            return taken(port, "inbound NAT rule", o, err);
        }
    }
    AZURE_EACH (o, azure_array(at->lb, "inboundNatPools")) {
        if (is_at(o, id, protocol) &&
            azure_prop_int(o, "frontendPortRangeStart", 65536) <= port->port &&
            azure_prop_int(o, "frontendPortRangeEnd", -1) >= port->port) {
            return taken(port, "inbound NAT pool", o, err);
        }
    }
    return ERR_OK;
}

int azure_frontend_check_ports_at(const struct azure_service *s, const struct azure_place *at,
                                  struct err *err)
{
    int rc = check_all_ports(s, at, err);
    for (uint32_t i = 0; rc == ERR_OK && i < s->in->n_ports; i++) {
        rc = check_port(s, &s->in->ports[i], at, err);
    }
    return rc;
}
