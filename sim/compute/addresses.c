/* SPDX-License-Identifier: Apache-2.0 */
/* addresses.c: static addresses, ephemeral ones, and who holds which.
 *
 * An external address is either reserved (an `addresses` resource) or ephemeral (only a forwarding rule has it).
 * Reserving the ephemeral address of a live rule promotes it; deleting the reservation while the rule uses it
 * demotes it again, unless --strict-address-delete.  A freed address is not handed out again at once: whoever
 * loses one notices.  Source: gce-cloud-provider.md §4.4, §16. */
#include "common/base/ip.h"
#include "sim/compute/compute.h"

#include <string.h>

/* Documentation and benchmarking ranges: they reach nobody. */
static const char *const premium_ranges[] = {"203.0.113.0/24", "198.18.0.0/16", NULL};
static const char *const standard_ranges[] = {"198.51.100.0/24", "198.19.0.0/16", NULL};
#define IPV6_EXTERNAL "2600:1900:4000:"

/* --- who holds an address ------------------------------------------------------------------------- */

struct holder_search {
    const char *ip;
    struct resource *found;
};

bool ce_address_same(const char *x, const char *y)
{
    struct ip_addr ax, ay;
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

static bool find_by_instance(struct resource *res, void *arg)
{
    struct holder_search *s = arg;
    struct json_object *nics = json_member(res->body, "networkInterfaces");
    for (size_t i = 0; i < json_len(nics) && !s->found; i++) {
        struct json_object *nic = json_object_array_get_idx(nics, i);
        if (ce_address_same(json_str(nic, "networkIP"), s->ip) ||
            ce_address_same(json_str(nic, "ipv6Address"), s->ip)) {
            s->found = res;
        }
    }
    return !s->found;
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
    struct holder_search s = {.ip = ip};
    ce_store_each(c, "instances", find_by_instance, &s);
    return s.found;
}

static bool is_taken(struct compute *c, const char *ip)
{
    return ce_address_by_ip(c, ip) || ce_rule_by_ip(c, ip) || ce_instance_by_ip(c, ip);
}

/* --- ranges --------------------------------------------------------------------------------------- */

static bool in_ranges(const char *const *ranges, const struct ip_addr *ip)
{
    struct ip_net net;
    for (; *ranges; ranges++) {
        if (ip_net_parse(*ranges, &net) && ip_net_contains(&net, ip)) {
            return true;
        }
    }
    return false;
}

bool ce_address_is_external(const char *ip)
{
    struct ip_addr addr;
    if (str_has_prefix(ip, IPV6_EXTERNAL)) {
        return true;
    }
    return ip_parse(ip, &addr) &&
           (in_ranges(premium_ranges, &addr) || in_ranges(standard_ranges, &addr));
}

bool ce_address_in_subnet(struct compute *c, const char *ip, const char *subnet_path)
{
    static const char *const members[] = {"ipCidrRange", "ipv6CidrRange", "internalIpv6Prefix",
                                          "externalIpv6Prefix"};
    const struct resource *subnet = subnet_path ? ce_store_get(c, subnet_path) : NULL;
    char text[IP_TEXT_MAX];
    struct ip_addr addr;
    struct ip_net net;
    size_t n = strcspn(ip, "/");
    if (!subnet || n >= sizeof(text)) {
        return false;
    }
    memcpy(text, ip, n);
    text[n] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const char *range = json_str(subnet->body, members[i]);
        if (range && ip_parse(text, &addr) && ip_net_parse(range, &net) &&
            ip_net_contains(&net, &addr)) {
            return true;
        }
    }
    return false;
}

/* Every address in use, so that picking one does not search the store again and again. */
static bool add_taken(struct resource *res, void *arg)
{
    static const char *const members[] = {"address", "IPAddress"};
    struct map *taken = arg;
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const char *ip = json_str(res->body, members[i]);
        if (ip) {
            map_set(taken, ip, NULL);
        }
    }
    struct json_object *nics = json_member(res->body, "networkInterfaces");
    for (size_t i = 0; i < json_len(nics); i++) {
        const char *ip = json_str(json_object_array_get_idx(nics, i), "networkIP");
        if (ip) {
            map_set(taken, ip, NULL);
        }
    }
    return true;
}

static struct map *taken_addresses(struct compute *c)
{
    struct map *taken = map_new(NULL);
    ce_store_each(c, "addresses", add_taken, taken);
    ce_store_each(c, "forwardingRules", add_taken, taken);
    ce_store_each(c, "instances", add_taken, taken);
    return taken;
}

/* Asks the store for the first candidate, which nearly always is free, and gathers all addresses only then. */
static bool is_free(struct compute *c, struct map **taken, uint64_t tried, const char *ip)
{
    if (tried == 0) {
        return !is_taken(c, ip);
    }
    if (!*taken) {
        *taken = taken_addresses(c);
    }
    return !map_has(*taken, ip);
}

/* The first free address of a range from host number `first` on, beginning after the cursor. */
static char *pick_in(struct compute *c, struct arena *a, const char *range, uint64_t first)
{
    struct ip_net net;
    if (!ip_net_parse(range, &net) || net.addr.len != 4) {
        return NULL;
    }
    uint64_t size = 1ULL << (32 - net.prefix);
    if (size < first + 2) {
        return NULL;
    }
    struct map *taken = NULL;
    char *picked = NULL;
    for (uint64_t i = 0; i < size - first - 1 && !picked; i++) {
        uint64_t host = first + (c->next_address + i) % (size - first - 1);
        struct ip_addr ip;
        char text[IP_TEXT_MAX];
        if (ip_net_nth(&net, host, &ip)) {
            ip_format(&ip, text);
            if (is_free(c, &taken, i, text)) {
                picked = arena_strdup(a, text);
                c->next_address += i + 1;
            }
        }
    }
    map_free(taken);
    return picked;
}

static char *pick_ipv6(struct compute *c, struct arena *a, bool internal)
{
    for (;;) {
        uint64_t n = ++c->next_address;
        char *text = internal
                         ? arena_printf(a, "fd20:0:0:1:8000:%llx:0:0", (unsigned long long)n)
                         : arena_printf(a, IPV6_EXTERNAL "%llx:0:0:0:0", (unsigned long long)n);
        if (!is_taken(c, text)) {
            return text;
        }
    }
}

char *ce_address_pick(struct request *q, const char *type, const char *tier,
                      const char *subnet_path, bool ipv6)
{
    bool internal = str_eq(type, "INTERNAL");
    if (ipv6) {
        return pick_ipv6(q->c, q->a, internal);
    }
    if (internal) {
        const struct resource *subnet = subnet_path ? ce_store_get(q->c, subnet_path) : NULL;
        const char *range = subnet ? json_str(subnet->body, "ipCidrRange") : NULL;
        struct ip_net net;
        /* Instances live in the lower half, addresses of load balancers in the upper one. */
        return range && ip_net_parse(range, &net) && net.prefix < 31
                   ? pick_in(q->c, q->a, range, 1ULL << (31 - net.prefix))
                   : NULL;
    }
    const char *const *ranges = str_eq(tier, "STANDARD") ? standard_ranges : premium_ranges;
    char *ip = NULL;
    for (; *ranges && !ip; ranges++) {
        ip = pick_in(q->c, q->a, *ranges, 10);
    }
    return ip;
}

/* --- users and status ----------------------------------------------------------------------------- */

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

/* --- the collection ------------------------------------------------------------------------------- */

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
    return !tier || str_eq(str_or(json_str(holder->body, "networkTier"), "PREMIUM"), tier) ||
           ce_refuse_invalid(&q->refusal, q->a, "resource.networkTier", tier,
                             "The address belongs to the other network tier.");
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
        return internal ? ce_refuse(&q->refusal, a, 409, "alreadyExists",
                                    "The IP address '%s' is already reserved by '%s'", ip,
                                    reserved->path)
                        : ce_refuse_invalid(&q->refusal, a, "resource.address", ip,
                                            "Specified IP address is already reserved.");
    }
    if (ce_instance_by_ip(q->c, ip)) {
        return ce_refuse(&q->refusal, a, 400, "ipInUseByAnotherResource",
                         "IP '%s' is already being used by another resource.", ip);
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

bool ce_address_insert(struct request *q, struct json_object *body)
{
    struct arena *a = q->a;
    const char *type = str_or(json_str(body, "addressType"), "EXTERNAL");
    bool internal = str_eq(type, "INTERNAL");
    const char *ip = json_str(body, "address");
    bool ipv6 = str_eq(json_str(body, "ipVersion"), "IPV6") || (ip && strchr(ip, ':'));
    if (internal && json_str(body, "networkTier")) {
        return ce_refuse_invalid(&q->refusal, a, "resource.networkTier",
                                 json_str(body, "networkTier"),
                                 "Network tier cannot be specified for internal addresses.");
    }
    if (!internal && json_str(body, "subnetwork") && !ipv6) {
        return ce_refuse_invalid(&q->refusal, a, "resource.subnetwork",
                                 json_str(body, "subnetwork"),
                                 "Subnetwork cannot be specified for external addresses.");
    }
    const char *tier = internal ? NULL : str_or(json_str(body, "networkTier"), "PREMIUM");
    const char *subnet = ce_link_path(a, json_str(body, "subnetwork"), q->folder);
    if (internal && !subnet) {
        subnet = arena_printf(a, "projects/%s/regions/%s/subnetworks/" SIM_NETWORK, q->project,
                              q->location);
        json_add_str(body, "subnetwork", ce_link_full(a, subnet));
    }
    if (ip && !check_given(q, ip, type, tier, subnet)) {
        return false;
    }
    if (!ip) {
        ip = ce_address_pick(q, type, tier, subnet, ipv6);
        if (!ip) {
            return ce_refuse(&q->refusal, a, 403, "quotaExceeded",
                             "No address is left in the range");
        }
        json_add_str(body, "address", ip);
    }
    if (ipv6) {
        json_add_int(body, "prefixLength", 96);
    }
    json_add_str(body, "addressType", type);
    json_add_str(body, "networkTier", tier);
    if (internal && !json_str(body, "purpose")) {
        json_add_str(body, "purpose", "GCE_ENDPOINT");
    }
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
