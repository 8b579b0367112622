/* SPDX-License-Identifier: Apache-2.0 */
/* azure_nsg_open_rules.c: see azure_nsg_open_rules.h.
 *
 * A rule that denies counts only if it surely denies all clients; so a group is not called closed
 * for a rule that takes some of them away. */
#include "providers/azure/nsg/azure_nsg_open_rules.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "providers/azure/model/azure_prefix.h"

enum fit { NO = 0, YES, PERHAPS };

/* ---- the order ------------------------------------------------------------------------------- */

static int by_priority(const void *x, const void *y)
{
    const struct azure_nsg_rule *a = *(struct azure_nsg_rule *const *)x;
    const struct azure_nsg_rule *b = *(struct azure_nsg_rule *const *)y;
    return (a->now.priority > b->now.priority) - (a->now.priority < b->now.priority);
}

struct azure_nsg azure_nsg_inbound(const struct azure_nsg *g)
{
    struct azure_nsg in = {.a = g->a, .doc = g->doc, .cap = g->n};
    in.rules = ARENA_ARRAY(g->a, struct azure_nsg_rule *, g->n + 1);
    for (size_t i = 0; i < g->n; i++) {
        if (str_eq_nocase(g->rules[i]->now.direction, "Inbound")) {
            in.rules[in.n++] = g->rules[i];
        }
    }
    qsort(in.rules, in.n, sizeof(struct azure_nsg_rule *), by_priority);
    return in;
}

/* ---- one rule -------------------------------------------------------------------------------- */

static bool is_any(const char *prefix)
{
    return str_eq(prefix, "*") || str_eq_nocase(prefix, "Any");
}

static enum fit fits_protocol(const struct azure_nsg_body *b, const struct azure_nsg_packet *p)
{
    if (str_eq(b->protocol, "*") || str_eq_nocase(b->protocol, p->protocol)) {
        return YES;
    }
    return str_eq_nocase(p->protocol, "All") ? PERHAPS : NO;
}

/* "80", "8000-8999" or "*". */
static enum fit fits_port(const char *ports, int64_t port)
{
    const char *dash = strchr(ports, '-');
    if (str_eq(ports, "*")) {
        return YES;
    }
    if (port == 0) {
        return PERHAPS;
    }
    long low = strtol(ports, NULL, 10);
    long high = strtol(dash != NULL ? dash + 1 : ports, NULL, 10);
    return low <= port && port <= high ? YES : NO;
}

static enum fit fits_ports(const struct azure_nsg_body *b, const struct azure_nsg_packet *p)
{
    enum fit best = NO;
    const char *ports;
    STR_SET_EACH (ports, &b->ports) {
        enum fit fit = fits_port(ports, p->port);
        best = best == YES || fit == NO ? best : fit;
    }
    return best;
}

static bool read_net(const char *prefix, struct ip_net *ret)
{
    struct ip_addr one;
    if (azure_addr_parse(prefix, &one)) {
        *ret = (struct ip_net){.addr = one, .prefix = (uint8_t)(one.len * 8)};
        return true;
    }
    return azure_prefix_parse(prefix, ret);
}

static enum fit fits_destination(const struct azure_nsg_body *b, const struct azure_nsg_packet *p)
{
    enum fit best = b->destination_groups.n > 0 ? PERHAPS : NO;
    char self[IP_TEXT_MAX];
    const char *prefix;
    ip_format(&p->to, self);
    if (str_set_has(&b->destinations, self)) {
        return YES; /* a rule may be that of a thousand Services */
    }
    STR_SET_EACH (prefix, &b->destinations) {
        struct ip_net net;
        bool network = str_eq_nocase(prefix, "VirtualNetwork");
        enum fit fit = is_any(prefix) || (network && p->to_network) ? YES
                       : read_net(prefix, &net) ? (ip_net_contains(&net, &p->to) ? YES : NO)
                       : network                ? NO
                                                : PERHAPS;
        best = best == YES || fit == NO ? best : fit;
    }
    return best;
}

/* Clients among its sources: none, some, or (`ret_all`) all there are. */
static bool has_clients(const struct azure_nsg_body *b, const struct azure_nsg_packet *p,
                        bool *ret_all)
{
    bool some = b->source_groups.n > 0 && !p->from_outside;
    const char *prefix;
    *ret_all = false;
    STR_SET_EACH (prefix, &b->sources) {
        struct ip_net net;
        bool inside = str_eq_nocase(prefix, "VirtualNetwork");
        bool probes = str_eq_nocase(prefix, "AzureLoadBalancer");
        bool all = is_any(prefix) || (str_eq_nocase(prefix, "Internet") && p->from_outside) ||
                   (inside && !p->from_outside);
        bool is_net = read_net(prefix, &net);
        bool other = is_net ? net.addr.len == p->to.len : !inside && !probes;
        *ret_all = *ret_all || all || (is_net && other && net.prefix == 0);
        some = some || all || other;
    }
    return some;
}

/* ---- the group ------------------------------------------------------------------------------- */

static enum fit fits(const struct azure_nsg_body *b, const struct azure_nsg_packet *p)
{
    enum fit all[] = {fits_protocol(b, p), fits_ports(b, p), fits_destination(b, p)};
    bool sure = true;
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (all[i] == NO) {
            return NO;
        }
        sure = sure && all[i] == YES;
    }
    return sure ? YES : PERHAPS;
}

enum azure_nsg_answer azure_nsg_lets_in(const struct azure_nsg *inbound,
                                        const struct azure_nsg_packet *p)
{
    bool unsure = false;
    for (size_t i = 0; i < inbound->n; i++) {
        const struct azure_nsg_body *b = &inbound->rules[i]->now;
        bool all = false;
        bool some = has_clients(b, p, &all);
        enum fit fit = fits(b, p);
        bool allows = str_eq_nocase(b->access, "Allow");
        if (allows && some && fit == YES) {
            return AZURE_NSG_OPEN;
        }
        unsure = unsure || (allows && some && fit == PERHAPS);
        if (!allows && all && fit == YES) {
            return unsure ? AZURE_NSG_UNSURE : AZURE_NSG_CLOSED;
        }
    }
    return !p->from_outside ? AZURE_NSG_OPEN : unsure ? AZURE_NSG_UNSURE : AZURE_NSG_CLOSED;
}
