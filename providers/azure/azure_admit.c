/* SPDX-License-Identifier: Apache-2.0 */
/* azure_admit.c: see azure_admit.h.  Pure. */
#include "providers/azure/azure_admit.h"
#include "providers/azure/lb/azure_lb_desired.h"
#include "providers/azure/model/azure_doc.h"

#include "common/base/str.h"

#include <string.h>

/* The port of the Service that the rule serves; NULL: it has none (any more). */
static const struct tt_port *port_of(const struct azure_service *s, struct json_object *rule)
{
    const char *protocol = str_nonnull(azure_prop_str(rule, "protocol"));
    int64_t port = azure_prop_int(rule, "frontendPort", 0);
    for (uint32_t i = 0; i < s->in->n_ports; i++) {
        const char *mine = azure_lb_protocol(s->in->ports[i].protocol);
        if (mine != NULL && azure_eq(mine, protocol) && s->in->ports[i].port == port) {
            return &s->in->ports[i];
        }
    }
    return NULL;
}

static struct json_object *frontend_of(struct json_object *lb, struct json_object *rule)
{
    const char *id = azure_ref(rule, "frontendIPConfiguration");
    struct json_object *o;
    AZURE_EACH (o, azure_array(lb, "frontendIPConfigurations")) {
        if (id != NULL && azure_id_eq(azure_doc_id(o), id)) {
            return o;
        }
    }
    return NULL;
}

/* The frontend gets another public IP, or another private address that the Service pins. */
static bool frontend_moves(const struct azure_item *it, struct json_object *frontend)
{
    const char *pip = azure_ref(frontend, "publicIPAddress");
    const char *address = azure_prop_str(frontend, "privateIPAddress");
    bool stays = false;
    bool moves = false;
    for (int f = 0; f < AZURE_FAMILIES; f++) {
        const char *pinned = it->service->lb_ip[f];
        bool same = address != NULL && (strchr(address, ':') != NULL) == (f == AZURE_IPV6);
        stays =
            stays || (pip != NULL && it->pips[f].id != NULL && azure_id_eq(pip, it->pips[f].id));
        moves =
            moves || (pip == NULL && same && pinned != NULL && !azure_address_eq(pinned, address));
    }
    return pip != NULL ? !stays : moves;
}

static bool arrives_elsewhere(const struct azure_item *it, struct json_object *lb,
                              struct json_object *rule)
{
    const struct tt_port *port = port_of(it->service, rule);
    struct json_object *frontend = frontend_of(lb, rule);
    bool floats = azure_prop_bool(rule, "enableFloatingIP", false);
    if (port == NULL || frontend == NULL) {
        return false;
    }
    if (floats == it->service->disable_floating_ip) {
        return true;
    }
    return floats ? frontend_moves(it, frontend)
                  : azure_prop_int(rule, "backendPort", 0) != port->node_port;
}

/* Without floating IP: traffic that goes to another Service's nodes by now, at an address that both
 * have, will go to those of this one. */
static bool takes_over(struct azure_sync *y, const struct azure_item *it, struct json_object *lb)
{
    const struct azure_service *s = it->service;
    struct azure_elements mine = azure_sync_frontends(y, s, lb);
    for (size_t i = 0; s->disable_floating_ip && i < mine.n; i++) {
        if (!azure_sync_owner(y, s, mine.items[i]).owns) {
            continue;
        }
        struct azure_elements rules =
            azure_lb_rules_at(y->s->a, azure_sync_index(y, lb), lb, azure_doc_id(mine.items[i]));
        for (size_t k = 0; k < rules.n; k++) {
            const struct tt_port *port = port_of(s, rules.items[k]);
            if (port != NULL && !azure_has_prefix(azure_doc_name(rules.items[k]), s->base) &&
                (azure_prop_bool(rules.items[k], "enableFloatingIP", false) ||
                 azure_prop_int(rules.items[k], "backendPort", 0) != port->node_port)) {
                return true;
            }
        }
    }
    return false;
}

bool azure_admit_needed(struct azure_sync *y, const struct azure_item *it)
{
    if (!azure_item_is_carried_out(it) || !it->want || it->service->disable_nsg_rule) {
        return false;
    }
    if (y->interim) {
        return azure_renews(it) && it->interim_serves;
    }
    bool needed = false;
    for (size_t i = 0; i < y->lbs.n && !needed; i++) {
        struct json_object *lb = y->lbs.items[i];
        if (azure_lb_is_internal(azure_doc_name(lb)) != it->service->internal) {
            continue; /* the other side goes after this one is up and open */
        }
        struct azure_elements rules =
            azure_lb_named(y->s->a, azure_sync_index(y, lb), lb, AZURE_LB_RULES, it->service);
        for (size_t k = 0; k < rules.n && !needed; k++) {
            needed = azure_has_prefix(azure_doc_name(rules.items[k]), it->service->base) &&
                     arrives_elsewhere(it, lb, rules.items[k]);
        }
        needed = needed || takes_over(y, it, lb);
    }
    return needed;
}

/* Does any rule of the Service send packets with the frontend's address? */
static bool stands_floating(struct azure_sync *y, const struct azure_service *s)
{
    bool floats = false;
    for (size_t i = 0; i < y->lbs.n && !floats; i++) {
        struct json_object *lb = y->lbs.items[i];
        struct azure_elements rules =
            azure_lb_named(y->s->a, azure_sync_index(y, lb), lb, AZURE_LB_RULES, s);
        for (size_t k = 0; k < rules.n && !floats; k++) {
            floats = azure_has_prefix(azure_doc_name(rules.items[k]), s->base) &&
                     azure_prop_bool(rules.items[k], "enableFloatingIP", false);
        }
    }
    return floats;
}

const struct azure_service *azure_admit_service(struct azure_sync *y, const struct azure_item *it)
{
    if (!y->interim || !it->service->disable_floating_ip || !stands_floating(y, it->service)) {
        return it->service;
    }
    struct azure_service *as_it_stands = arena_memdup(y->s->a, it->service, sizeof(*it->service));
    as_it_stands->disable_floating_ip = false;
    return as_it_stands;
}

bool azure_admit_any(struct azure_sync *y)
{
    bool any = false;
    for (size_t i = 0; i < y->s->n_items && !any; i++) {
        any = azure_admit_needed(y, &y->items[i]);
    }
    return any;
}

struct azure_texts azure_admit_addresses(struct azure_sync *y, const struct azure_item *it,
                                         bool *ret_unknown)
{
    struct azure_texts now;
    if (y->interim) {
        *ret_unknown = !azure_interim_addresses(y, it, &now) || *ret_unknown;
        return now;
    }
    now = azure_addresses_of(y, it->service);
    const char **items = ARENA_ARRAY(y->s->a, const char *, now.n + AZURE_FAMILIES);
    struct azure_texts all = {.items = items};
    for (size_t i = 0; it->service->internal && i < now.n; i++) {
        items[all.n++] = now.items[i];
    }
    for (int f = 0; f < AZURE_FAMILIES; f++) {
        const char *ip = it->service->internal ? it->service->lb_ip[f] : NULL;
        if (!it->service->internal && it->service->has_family[f] && it->pips[f].id != NULL) {
            struct json_object *pip = azure_pip_by_id(&y->pips, it->pips[f].id);
            ip = pip != NULL ? azure_pip_address(pip) : "";
            *ret_unknown = *ret_unknown || *ip == '\0';
        }
        if (!str_is_empty(ip)) {
            items[all.n++] = ip;
        }
    }
    return all;
}
