/* SPDX-License-Identifier: Apache-2.0 */
/* subnets.c: subnets, and the private and public addresses that are handed out.
 *
 * The first four addresses and the last one of a subnet are the cloud's.  A frontend that asks for
 * none gets the lowest free one; public addresses come from a cursor, so that a lost one is
 * noticed.  Source: docs/spec/azure.md §6.3, §16 items 5 and 7. */
#include "sim/arm/arm.h"

#include <string.h>

#define RESERVED_FIRST 4
#define PICK_TRIES     70000

/* --- prefixes --------------------------------------------------------------------------------- */

/* The i-th prefix of a subnet as it is written; NULL: there are fewer. */
static const char *prefix_text(struct json_object *subnet, size_t i)
{
    struct json_object *p = json_member(subnet, "properties");
    const char *one = json_str(p, "addressPrefix");
    struct json_object *many = json_member(p, "addressPrefixes");
    if (one && json_len(many) == 0) {
        return i == 0 ? one : NULL;
    }
    return i < json_len(many) ? json_object_get_string(json_object_array_get_idx(many, i)) : NULL;
}

static bool prefix_at(struct json_object *subnet, size_t i, struct ip_net *ret)
{
    const char *text = prefix_text(subnet, i);
    return text && ip_net_parse(text, ret);
}

static bool prefix_of(struct json_object *subnet, bool ipv6, struct ip_net *ret)
{
    for (size_t i = 0; prefix_at(subnet, i, ret); i++) {
        if ((ret->addr.len == 16) == ipv6) {
            return true;
        }
    }
    return false;
}

static bool is_reserved(const struct ip_net *net, const struct ip_addr *ip)
{
    struct ip_addr x = ip_net_last(net);
    if (ip_eq(&x, ip)) {
        return true;
    }
    for (uint64_t i = 0; i < RESERVED_FIRST && ip_net_nth(net, i, &x); i++) {
        if (ip_eq(&x, ip)) {
            return true;
        }
    }
    return false;
}

/* --- who holds which address ------------------------------------------------------------------ */

struct holders {
    struct arm *arm;
    struct arena *a;
    const char *vnet;
    const char *subnet;     /* only of this one; NULL: of all */
    struct map *by_address; /* address → id of the IP configuration */
};

static void hold(struct holders *h, const char *subnet, const char *address, const char *id)
{
    struct ip_addr ip;
    char text[IP_TEXT_MAX];
    if (subnet && address && str_eq_nocase(arm_id_parent(h->a, subnet), h->vnet) &&
        (!h->subnet || str_eq_nocase(subnet, h->subnet)) && ip_parse(address, &ip)) {
        ip_format(&ip, text);
        map_set(h->by_address, text, arena_strdup(h->a, id));
    }
}

static bool hold_config(const struct arm_ip_config *c, void *arg)
{
    struct holders *h = arg;
    hold(h, arm_ref(c->properties, "subnet"), arm_machine_address(h->arm, h->a, c), c->id);
    return true;
}

/* Private addresses in a list of a balancer or a private link service. */
static void hold_list(struct holders *h, const struct arm_resource *res, const char *list)
{
    struct json_object *items = json_member(json_member(res->body, "properties"), list);
    for (size_t i = 0; i < json_len(items); i++) {
        struct json_object *o = json_object_array_get_idx(items, i);
        struct json_object *p = json_member(o, "properties");
        hold(h, arm_ref(p, "subnet"), json_str(p, "privateIPAddress"),
             arena_printf(h->a, "%s/%s/%s", res->id, list, str_nonnull(json_str(o, "name"))));
    }
}

static bool hold_frontends(struct arm_resource *res, void *arg)
{
    hold_list(arg, res, "frontendIPConfigurations");
    return true;
}

static bool hold_links(struct arm_resource *res, void *arg)
{
    hold_list(arg, res, "ipConfigurations");
    return true;
}

static void hold_all(struct holders *h)
{
    arm_each_ip_config(h->arm, h->a, hold_config, h);
    arm_each(h->arm, "Microsoft.Network/loadBalancers", hold_frontends, h);
    arm_each(h->arm, "Microsoft.Network/privateLinkServices", hold_links, h);
}

struct map *arm_private_holders(struct arm *arm, struct arena *a, const char *vnet)
{
    struct holders h = {.arm = arm, .a = a, .vnet = vnet, .by_address = map_new(NULL)};
    hold_all(&h);
    return h.by_address;
}

static void free_map(void *m)
{
    map_free(m);
}

/* The same, looked up once per request. */
static const struct map *holders_in(struct arm_request *q, const char *vnet)
{
    if (!q->holders || !str_eq_nocase(q->holders_vnet, vnet)) {
        q->holders = arm_private_holders(q->arm, q->a, vnet);
        q->holders_vnet = vnet;
        arena_defer(q->a, free_map, q->holders);
    }
    return q->holders;
}

/* --- handing out ------------------------------------------------------------------------------ */

char *arm_subnet_pick(struct arm_request *q, const char *subnet, bool ipv6)
{
    struct arm_resource *res = arm_get(q->arm, subnet);
    struct ip_net net;
    struct ip_addr ip;
    char text[IP_TEXT_MAX], *found = NULL;
    if (!res || !prefix_of(res->body, ipv6, &net)) {
        return NULL;
    }
    const struct map *holders = holders_in(q, arm_id_parent(q->a, res->id));
    for (uint64_t i = RESERVED_FIRST; i < PICK_TRIES && !found && ip_net_nth(&net, i, &ip); i++) {
        ip_format(&ip, text);
        if (!map_has(holders, text) && !map_has(q->picked, text) && !is_reserved(&net, &ip)) {
            found = arena_strdup(q->a, text);
            map_set(q->picked, text, found);
        }
    }
    return found;
}

bool arm_subnet_exists(struct arm_request *q, const char *subnet, const char *by)
{
    const char *vnet = arm_id_parent(q->a, subnet);
    if (!arm_get(q->arm, vnet)) {
        return arm_refuse_reference(q, vnet, by);
    }
    return arm_get(q->arm, subnet) ||
           arm_refuse(q, 400, "SubnetNotFound",
                      "Subnet %s that is referenced by resource %s is not found in virtual network "
                      "%s.",
                      subnet, by, vnet);
}

bool arm_check_region(struct arm_request *q, const char *id, const char *location, const char *by)
{
    const struct arm_resource *res = arm_get(q->arm, id);
    const char *there = res ? json_str(res->body, "location") : NULL;
    there = there ? str_lower(q->a, str_replace(q->a, there, " ", "")) : NULL;
    const char *here = location ? str_lower(q->a, str_replace(q->a, location, " ", "")) : NULL;
    return !there || !here || str_eq(there, here) || arm_refuse_reference(q, id, by);
}

bool arm_check_static(struct arm_request *q, struct json_object *p, const char *by)
{
    const char *address = json_str(p, "privateIPAddress");
    bool ipv6 = str_eq(json_str(p, "privateIPAddressVersion"), "IPv6");
    struct ip_addr ip;
    if (str_is_empty(address)) {
        return arm_refuse(q, 400, "PrivateIPAddressMissing",
                          "IP configuration %s has the allocation method Static but no private IP "
                          "address.",
                          by);
    }
    return !ip_parse(address, &ip) || (ip.len == 16) == ipv6 ||
           arm_refuse(q, 400, "PrivateIPAddressVersionMismatch",
                      "IP configuration %s: private IP address %s is not of the version %s.", by,
                      address, ipv6 ? "IPv6" : "IPv4");
}

bool arm_subnet_check(struct arm_request *q, const char *subnet, const char *address,
                      const char *owner)
{
    struct arm_resource *res = arm_get(q->arm, subnet);
    struct ip_addr ip;
    struct ip_net net;
    char prefix[IP_TEXT_MAX] = "", text[IP_TEXT_MAX];
    if (!ip_parse(address, &ip)) {
        return arm_refuse(q, 400, "InvalidIPAddressFormat", "IP address %s of %s is invalid.",
                          address, owner);
    }
    bool has = prefix_of(res->body, ip.len == 16, &net);
    if (has) {
        ip_net_format(&net, prefix);
    }
    if (!has || !ip_net_contains(&net, &ip)) {
        return arm_refuse(q, 400, "PrivateIPAddressNotInSubnet",
                          "Private static IP address %s does not belong to the range of subnet "
                          "prefix %s.",
                          address, prefix);
    }
    if (is_reserved(&net, &ip)) {
        return arm_refuse(q, 400, "PrivateIPAddressInReservedRange",
                          "Private static IP address %s falls within reserved IP range of subnet "
                          "prefix %s.",
                          address, prefix);
    }
    ip_format(&ip, text);
    const char *holder = map_get(holders_in(q, arm_id_parent(q->a, res->id)), text);
    return !holder || str_eq_nocase(holder, owner) ||
           arm_refuse(q, 400, "PrivateIPAddressInUse",
                      "IP configuration %s is using the private IP address %s which is already "
                      "allocated to resource %s.",
                      owner, address, holder);
}

static bool find_address(struct arm_resource *res, void *arg)
{
    const char **wanted = arg;
    const char *address = json_str(json_member(res->body, "properties"), "ipAddress");
    if (str_eq(address, *wanted)) {
        *wanted = NULL;
    }
    return *wanted != NULL;
}

static bool public_is_free(struct arm *arm, const char *address)
{
    const char *wanted = address;
    arm_each(arm, "Microsoft.Network/publicIPAddresses", find_address, &wanted);
    return wanted != NULL;
}

char *arm_public_pick(struct arm *arm, struct arena *a, bool ipv6, const char *prefix)
{
    struct arm_resource *res = arm_get(arm, prefix);
    const char *range = res ? json_str(json_member(res->body, "properties"), "ipPrefix") : NULL;
    uint64_t first = 0, *cursor = range ? &first : ipv6 ? &arm->next_public6 : &arm->next_public;
    struct ip_net net;
    struct ip_addr ip;
    char text[IP_TEXT_MAX];
    range = range ? range : ipv6 ? "2603:1030:20e::/64" : "20.42.0.0/16";
    if (!ip_net_parse(range, &net)) {
        return NULL;
    }
    while (ip_net_nth(&net, *cursor, &ip)) {
        ++*cursor;
        ip_format(&ip, text);
        if (public_is_free(arm, text)) {
            return arena_strdup(a, text);
        }
    }
    return NULL;
}

/* --- subnets as resources --------------------------------------------------------------------- */

static bool overlaps(const struct ip_net *x, const struct ip_net *y)
{
    return x->addr.len == y->addr.len &&
           (ip_net_contains(x, &y->addr) || ip_net_contains(y, &x->addr));
}

/* Without host bits, and with room for what the cloud takes. */
static bool check_notation(struct arm_request *q, const char *written, const struct ip_net *net)
{
    struct ip_net host;
    char text[IP_TEXT_MAX];
    ip_net_format(net, text);
    if (!ip_net_parse_host(written, &host) || !ip_eq(&host.addr, &net->addr)) {
        return arm_refuse(q, 400, "InvalidCIDRNotation",
                          "The address prefix %s in resource %s has an invalid CIDR notation. For "
                          "the given prefix length, the address prefix should be %s.",
                          written, q->id, text);
    }
    return net->prefix <= (net->addr.len == 4 ? 29 : 127) ||
           arm_refuse(q, 400, "NetcfgInvalidSubnet",
                      "Subnet '%s' is not valid in its virtual network: %s is too small.", q->name,
                      text);
}

struct sibling {
    struct arm_request *q;
    const struct ip_net *net;
    const char *other;
};

static bool find_overlap(struct arm_resource *res, void *arg)
{
    struct sibling *s = arg;
    struct ip_net net;
    if (str_eq_nocase(res->id, s->q->id) ||
        !str_eq_nocase(arm_id_parent(s->q->a, res->id), arm_id_parent(s->q->a, s->q->id))) {
        return true;
    }
    for (size_t i = 0; prefix_at(res->body, i, &net); i++) {
        s->other = overlaps(&net, s->net) ? res->id : s->other;
    }
    return !s->other;
}

static bool in_address_space(struct arm_request *q, const struct ip_net *net)
{
    struct arm_resource *vnet = arm_get(q->arm, arm_id_parent(q->a, q->id));
    struct json_object *spaces = json_path(vnet->body, "properties.addressSpace.addressPrefixes");
    struct ip_addr last = ip_net_last(net);
    for (size_t i = 0; i < json_len(spaces); i++) {
        struct ip_net space;
        const char *text = json_object_get_string(json_object_array_get_idx(spaces, i));
        if (ip_net_parse(str_nonnull(text), &space) && ip_net_contains(&space, &net->addr) &&
            ip_net_contains(&space, &last)) {
            return true;
        }
    }
    return json_len(spaces) == 0;
}

struct outside {
    struct json_object *body;
    const char *address, *holder;
};

static bool find_outside(const char *address, void *value, void *arg)
{
    struct outside *o = arg;
    struct ip_addr ip;
    struct ip_net net;
    bool inside = !ip_parse(address, &ip);
    for (size_t i = 0; !inside && prefix_at(o->body, i, &net); i++) {
        inside = ip_net_contains(&net, &ip);
    }
    o->address = inside ? o->address : address;
    o->holder = inside ? o->holder : value;
    return inside;
}

/* Addresses in use must stay within the subnet. */
static bool check_prefixes_kept(struct arm_request *q, struct json_object *body)
{
    struct holders h = {.arm = q->arm,
                        .a = q->a,
                        .vnet = arm_id_parent(q->a, q->id),
                        .subnet = q->id,
                        .by_address = map_new(NULL)};
    struct outside o = {.body = body};
    hold_all(&h);
    map_each(h.by_address, find_outside, &o);
    bool ok =
        !o.holder ||
        arm_refuse(q, 400, "InUsePrefixCannotBeDeleted",
                   "IpPrefix on Subnet %s has active allocations and cannot be deleted: %s is "
                   "allocated to %s.",
                   q->name, o.address, o.holder);
    map_free(h.by_address);
    return ok;
}

bool arm_subnet_put(struct arm_request *q, struct json_object *old, struct json_object *body)
{
    struct ip_net net;
    size_t n = 0;
    for (; prefix_at(body, n, &net); n++) {
        char text[IP_TEXT_MAX];
        struct sibling s = {.q = q, .net = &net};
        ip_net_format(&net, text);
        if (!check_notation(q, prefix_text(body, n), &net)) {
            return false;
        }
        if (!in_address_space(q, &net)) {
            return arm_refuse(q, 400, "NetcfgSubnetRangeOutsideVnet",
                              "Subnet '%s' is not valid because its IP address range '%s' is "
                              "outside the IP address range of virtual network.",
                              q->name, text);
        }
        arm_each(q->arm, "Microsoft.Network/virtualNetworks/subnets", find_overlap, &s);
        if (s.other) {
            return arm_refuse(q, 400, "NetcfgSubnetRangesOverlap",
                              "Subnet '%s' is not valid because its IP address range overlaps with "
                              "that of an existing subnet %s.",
                              q->name, s.other);
        }
    }
    static const char *const refs[] = {"networkSecurityGroup", "routeTable"};
    for (size_t i = 0; i < ARRAY_LEN(refs); i++) {
        const char *ref = arm_ref(arm_properties(body), refs[i]);
        if (ref && !arm_get(q->arm, ref)) {
            return arm_refuse_reference(q, ref, q->id);
        }
    }
    if (old && !check_prefixes_kept(q, body)) {
        return false;
    }
    return n > 0 ||
           arm_refuse(q, 400, "InvalidCIDRNotation",
                      "The address prefix of subnet '%s' is missing or has an invalid CIDR "
                      "notation.",
                      q->name);
}

struct subnet_user {
    const char *subnet; /* or the route table */
    const char *found;
    struct arena *a;
};

static bool find_user_config(const struct arm_ip_config *c, void *arg)
{
    struct subnet_user *u = arg;
    if (str_eq_nocase(arm_ref(c->properties, "subnet"), u->subnet)) {
        u->found = arena_strdup(u->a, c->id);
    }
    return !u->found;
}

static bool find_user_frontend(struct arm_resource *res, void *arg)
{
    struct subnet_user *u = arg;
    struct json_object *fips = json_path(res->body, "properties.frontendIPConfigurations");
    for (size_t i = 0; i < json_len(fips) && !u->found; i++) {
        struct json_object *o = json_object_array_get_idx(fips, i);
        if (str_eq_nocase(arm_ref(json_member(o, "properties"), "subnet"), u->subnet)) {
            u->found = arena_strdup(u->a, str_nonnull(json_str(o, "id")));
        }
    }
    return !u->found;
}

bool arm_subnet_remove(struct arm_request *q)
{
    struct subnet_user u = {.subnet = q->res->id, .a = q->a};
    arm_each_ip_config(q->arm, q->a, find_user_config, &u);
    if (!u.found) {
        arm_each(q->arm, "Microsoft.Network/loadBalancers", find_user_frontend, &u);
    }
    return !u.found || arm_refuse(q, 400, "InUseSubnetCannotBeDeleted",
                                  "Subnet %s is in use by %s and cannot be deleted. In order to "
                                  "delete the subnet, delete all the resources within the subnet.",
                                  q->name, u.found);
}

/* --- route tables ----------------------------------------------------------------------------- */

static bool find_routed(struct arm_resource *res, void *arg)
{
    struct subnet_user *u = arg;
    if (str_eq_nocase(arm_ref(json_member(res->body, "properties"), "routeTable"), u->subnet)) {
        u->found = res->id;
    }
    return !u->found;
}

bool arm_route_table_remove(struct arm_request *q)
{
    struct subnet_user u = {.subnet = q->res->id, .a = q->a};
    arm_each(q->arm, "Microsoft.Network/virtualNetworks/subnets", find_routed, &u);
    return !u.found || arm_refuse(q, 400, "InUseRouteTableCannotBeDeleted",
                                  "Route table %s is in use and cannot be deleted. It is used by "
                                  "subnet %s.",
                                  q->name, u.found);
}
