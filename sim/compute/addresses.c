/* SPDX-License-Identifier: Apache-2.0 */
/* addresses.c: static addresses, ephemeral ones, and who holds which.
 *
 * An external address is either reserved (an `addresses` resource) or ephemeral (only a forwarding
 * rule has it).  Reserving the ephemeral address of a live rule promotes it; deleting the
 * reservation while the rule uses it demotes it again, unless --strict-address-delete.  A freed
 * address is not reused at once, so that a lost one is noticed.  Source: gce-cloud-provider.md
 * §4.4, §16. */
#include "common/base/ip.h"
#include "sim/compute/compute.h"

#include <string.h>

#define IPV6_PREFIX 96

/* --- who holds an address --------------------------------------------------------------------- */

struct holder_search {
    const char *ip;
    struct resource *found;
};

/* IPv4 has one spelling, and nearly all addresses are compared in vain: that must be cheap. */
static bool has_one_spelling(const char *ip)
{
    return !strchr(ip, ':') && !strchr(ip, '/');
}

bool ce_address_same(const char *x, const char *y)
{
    struct ip_addr ax, ay;
    if (x && y && has_one_spelling(x) && has_one_spelling(y)) {
        return strcmp(x, y) == 0;
    }
    size_t nx = x ? strcspn(x, "/") : 0, ny = y ? strcspn(y, "/") : 0;
    char bx[IP_TEXT_MAX], by[IP_TEXT_MAX];
    if (!x || !y || nx >= sizeof(bx) || ny >= sizeof(by)) {
        return false;
    }
    memcpy(bx, x, nx);
    memcpy(by, y, ny);
    bx[nx] = by[ny] = '\0';
    return strcmp(bx, by) == 0 || (ip_parse(bx, &ax) && ip_parse(by, &ay) && ip_eq(&ax, &ay));
}

static bool find_by_address(struct resource *res, void *arg)
{
    struct holder_search *s = arg;
    if (ce_address_same(json_str(res->body, "address"), s->ip)) {
        s->found = res;
    }
    return !s->found;
}

static bool find_by_rule(struct resource *res, void *arg)
{
    struct holder_search *s = arg;
    if (ce_address_same(json_str(res->body, "IPAddress"), s->ip)) {
        s->found = res;
    }
    return !s->found;
}

/* The one spelling of an address by which it can be looked up. */
static const char *canonical(const char *ip, char out[IP_TEXT_MAX])
{
    struct ip_addr parsed;
    size_t n = strcspn(ip, "/");
    if (has_one_spelling(ip) || n >= IP_TEXT_MAX) {
        return ip;
    }
    memcpy(out, ip, n);
    out[n] = '\0';
    if (ip_parse(out, &parsed)) {
        ip_format(&parsed, out);
    }
    return out;
}

static bool note_machine(struct resource *vm, void *arg)
{
    static const char *const members[] = {"networkIP", "ipv6Address"};
    struct json_object *nics = json_member(vm->body, "networkInterfaces");
    for (size_t i = 0; i < json_len(nics); i++) {
        struct json_object *nic = json_object_array_get_idx(nics, i);
        for (size_t m = 0; m < ARRAY_LEN(members); m++) {
            const char *ip = json_str(nic, members[m]);
            char text[IP_TEXT_MAX];
            if (ip) {
                map_set(arg, canonical(ip, text), vm);
            }
        }
    }
    return true;
}

struct resource *ce_address_by_ip(struct compute *c, const char *ip)
{
    struct holder_search s = {.ip = ip};
    ce_store_each(c, "addresses", find_by_address, &s);
    return s.found;
}

struct resource *ce_rule_by_ip(struct compute *c, const char *ip)
{
    struct holder_search s = {.ip = ip};
    ce_store_each(c, "forwardingRules", find_by_rule, &s);
    return s.found;
}

struct resource *ce_instance_by_ip(struct compute *c, const char *ip)
{
    char text[IP_TEXT_MAX];
    if (!c->machines) {
        c->machines = map_new(NULL);
        ce_store_each(c, "instances", note_machine, c->machines);
    }
    return map_get(c->machines, canonical(ip, text));
}

bool ce_address_is_taken(struct compute *c, const char *ip)
{
    return ce_address_by_ip(c, ip) || ce_rule_by_ip(c, ip) || ce_instance_by_ip(c, ip);
}

/* --- users and status ------------------------------------------------------------------------- */

struct refresh {
    const char *ip;
    struct json_object *users;
};

static bool add_user(struct resource *rule, void *arg)
{
    struct refresh *r = arg;
    if (ce_address_same(json_str(rule->body, "IPAddress"), r->ip)) {
        json_push_str(r->users, json_str(rule->body, "selfLink"));
    }
    return true;
}

void ce_address_refresh(struct compute *c, const char *ip)
{
    struct resource *address = ip ? ce_address_by_ip(c, ip) : NULL;
    if (!address) {
        return;
    }
    struct refresh r = {.ip = ip, .users = json_object_new_array()};
    ce_store_each(c, "forwardingRules", add_user, &r);
    bool used = json_len(r.users) > 0 || ce_instance_by_ip(c, ip);
    json_add_str(address->body, "status", used ? "IN_USE" : "RESERVED");
    if (json_len(r.users) > 0) {
        json_add(address->body, "users", r.users);
    } else {
        json_object_object_del(address->body, "users");
        json_object_put(r.users);
    }
}

/* --- the collection --------------------------------------------------------------------------- */

bool ce_address_check_holder(struct request *q, const struct resource *holder, const char *field,
                             const char *type, const char *tier)
{
    const char *ip = json_str(holder->body, "IPAddress");
    const char *scheme = str_or(json_str(holder->body, "loadBalancingScheme"), "EXTERNAL");
    if (!str_eq(ce_path_project(q->a, holder->path), q->project) ||
        !str_eq(ce_path_region(q->a, holder->path), q->location) || !str_has_prefix(scheme, type)) {
        return ce_refuse_invalid(&q->refusal, q->a, field, ip,
                                 arena_printf(q->a,
                                              "The address is already being used by '%s', in "
                                              "another place or as another type.",
                                              holder->path));
    }
    const char *own = str_or(json_str(holder->body, "networkTier"), "PREMIUM");
    return !tier || str_eq(own, tier) ||
           ce_refuse_invalid(
               &q->refusal, q->a, "resource.networkTier", tier,
               arena_printf(q->a,
                            "The network tier of external IP is %s, that of %s must be the same.",
                            own, str_eq(field, "resource.address") ? "Address" : "ForwardingRule"));
}

static bool check_given(struct request *q, const char *ip, const char *type, const char *tier,
                        const char *subnet_path)
{
    struct arena *a = q->a;
    bool internal = str_eq(type, "INTERNAL");
    struct ip_addr parsed;
    if (!ip_parse(ip, &parsed)) {
        return ce_refuse_invalid(&q->refusal, a, "resource.address", ip, "Must be an IP address.");
    }
    const struct resource *reserved = ce_address_by_ip(q->c, ip);
    if (reserved) {
        /* The cloud tells the two kinds apart by status (§16). */
        return internal ? ce_refuse_ip_in_use(&q->refusal, a, ip)
                        : ce_refuse_invalid(&q->refusal, a, "resource.address", ip,
                                            "Specified IP address is already reserved.");
    }
    if (ce_instance_by_ip(q->c, ip)) {
        return ce_refuse_ip_in_use(&q->refusal, a, ip);
    }
    const struct resource *rule = ce_rule_by_ip(q->c, ip);
    if (rule) {
        return ce_address_check_holder(q, rule, "resource.address", type, tier);
    }
    bool allowed =
        internal ? ce_address_in_subnet(q->c, ip, subnet_path) : ce_address_is_external(ip);
    return allowed ||
           ce_refuse_invalid(&q->refusal, a, "resource.address", ip,
                             internal ? "Requested internal IP address is outside the "
                                        "network/subnetwork range."
                                      : "The address is not one that this cloud hands out.");
}

bool ce_address_check_ipv6(struct request *q, struct json_object *body, const char *type,
                           const char *tier, bool new)
{
    const char *link = json_str(body, "subnetwork");
    const struct resource *subnet =
        link ? ce_store_get(q->c, ce_link_path(q->a, link, q->folder)) : NULL;
    if (tier && !str_eq(tier, "PREMIUM")) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.networkTier", tier,
                                 "IPv6 addresses are of the network tier PREMIUM only.");
    }
    if (!subnet) {
        bool collection = json_str(body, "ipCollection") != NULL;
        return collection || !new ||
               ce_refuse_invalid(&q->refusal, q->a, "resource.subnetwork", str_nonnull(link),
                                 "A subnetwork must be specified for an IPv6 address.");
    }
    const char *access = json_str(subnet->body, "ipv6AccessType");
    return str_eq(access, type) ||
           ce_refuse_invalid(
               &q->refusal, q->a, "resource.subnetwork", link,
               arena_printf(q->a, "The subnetwork has no %s IPv6 range: its ipv6AccessType is %s.",
                            type, str_or(access, "not set")));
}

/* Members that only one kind of address has. */
static bool check_kind(struct request *q, struct json_object *body, bool internal, bool ipv6)
{
    const char *tier = json_str(body, "networkTier"), *purpose = json_str(body, "purpose");
    if (internal && tier) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.networkTier", tier,
                                 "Network tier cannot be specified for internal addresses.");
    }
    if (!internal && json_str(body, "subnetwork") && !ipv6) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.subnetwork",
                                 json_str(body, "subnetwork"),
                                 "Subnetwork cannot be specified for external addresses.");
    }
    if (!internal && purpose) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.purpose", purpose,
                                 "Purpose can be specified for internal addresses only.");
    }
    if (json_str(body, "ipv6EndpointType") && (internal || !ipv6)) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.ipv6EndpointType",
                                 json_str(body, "ipv6EndpointType"),
                                 "Can be specified for external IPv6 addresses only.");
    }
    int64_t length = json_int(body, "prefixLength", ipv6 ? IPV6_PREFIX : 0);
    return length == (ipv6 ? IPV6_PREFIX : 0) ||
           ce_refuse_invalid(&q->refusal, q->a, "resource.prefixLength",
                             arena_printf(q->a, "%lld", (long long)length),
                             "Is 96 for an IPv6 address of a region; an IPv4 one has none.");
}

static bool check_version(struct request *q, struct json_object *body, bool *ret_ipv6)
{
    const char *ip = json_str(body, "address"), *version = json_str(body, "ipVersion");
    *ret_ipv6 = ip ? strchr(ip, ':') != NULL : str_eq(version, "IPV6");
    return !ip || !version || str_eq(version, "IPV6") == *ret_ipv6 ||
           ce_refuse_invalid(&q->refusal, q->a, "resource.address", ip,
                             "The address is not of the given IP version.");
}

/* The subnetwork's path; of an internal address it is the default one when it is left out. */
static const char *complete_subnet(struct request *q, struct json_object *body, bool internal)
{
    if (internal && !json_str(body, "subnetwork")) {
        const char *path = arena_printf(q->a, "projects/%s/regions/%s/subnetworks/" SIM_NETWORK,
                                        q->project, q->location);
        json_add_str(body, "subnetwork", ce_link_full(q->a, path));
    }
    return ce_link_path(q->a, json_str(body, "subnetwork"), q->folder);
}

bool ce_address_insert(struct request *q, struct json_object *body)
{
    const char *type = str_or(json_str(body, "addressType"), "EXTERNAL");
    bool internal = str_eq(type, "INTERNAL"), ipv6 = false;
    if (!check_version(q, body, &ipv6) || !check_kind(q, body, internal, ipv6)) {
        return false;
    }
    const char *ip = json_str(body, "address");
    const char *tier =
        internal ? NULL : str_or(json_str(body, "networkTier"), ce_default_tier(q->c));
    const char *subnet = complete_subnet(q, body, internal);
    if (tier && !ce_tier_check(q, tier)) {
        return false;
    }
    if (ip ? !check_given(q, ip, type, tier, subnet)
           : ipv6 && !ce_address_check_ipv6(q, body, type, tier, true)) {
        return false;
    }
    if (!ip) {
        ip = ce_address_pick(q, type, tier, subnet, ipv6);
        if (!ip) {
            return ce_refuse_no_address(&q->refusal, q->a, subnet);
        }
        json_add_str(body, "address", ip);
    }
    if (ipv6) {
        json_add_int(body, "prefixLength", IPV6_PREFIX);
        json_add_str(body, "ipVersion", "IPV6");
    }
    json_add_str(body, "addressType", type);
    json_add_str(body, "networkTier", internal ? "PREMIUM" : tier);
    if (internal && !json_str(body, "purpose")) {
        json_add_str(body, "purpose", "GCE_ENDPOINT");
    }
    return true;
}

bool ce_global_address_insert(struct request *q, struct json_object *body)
{
    const char *type = str_or(json_str(body, "addressType"), "EXTERNAL");
    const char *purpose = json_str(body, "purpose");
    const char *tier = json_str(body, "networkTier");
    bool internal = str_eq(type, "INTERNAL");
    bool range = str_eq(purpose, "VPC_PEERING") || str_eq(purpose, "PRIVATE_SERVICE_CONNECT");
    if (internal != range) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.purpose", str_nonnull(purpose),
                                 "A global internal address is for VPC_PEERING or "
                                 "PRIVATE_SERVICE_CONNECT, an external one for neither.");
    }
    if (tier && !str_eq(tier, "PREMIUM")) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.networkTier", tier,
                                 "A global address is of PREMIUM tier.");
    }
    if (!internal && (json_str(body, "address") || str_eq(json_str(body, "ipVersion"), "IPV6"))) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.address",
                                 str_nonnull(json_str(body, "address")),
                                 "The simulator chooses global addresses, of IPv4.");
    }
    if (!internal) {
        const char *ip = ce_address_pick(q, type, "PREMIUM", NULL, false);
        if (!ip) {
            return ce_refuse_no_address(&q->refusal, q->a, NULL);
        }
        json_add_str(body, "address", ip);
        json_add_str(body, "networkTier", "PREMIUM");
    }
    json_add_str(body, "status", "RESERVED"); /* ce_address_after() knows better */
    json_add_str(body, "addressType", type);
    return true;
}

void ce_address_after(struct request *q, struct json_object *body)
{
    ce_address_refresh(q->c, json_str(body, "address"));
}

bool ce_address_remove(struct request *q)
{
    const char *ip = json_str(q->res->body, "address");
    const struct resource *rule = ip ? ce_rule_by_ip(q->c, ip) : NULL;
    bool strict =
        sim_cfg(q->c->sim)->strict_address_delete || ce_setting_bool(q->c, "strict_address_delete");
    return !rule || !strict || ce_refuse_in_use(&q->refusal, q->a, q->res, rule->path);
}
