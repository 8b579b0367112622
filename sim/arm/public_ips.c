/* SPDX-License-Identifier: Apache-2.0 */
/* public_ips.c: public IP addresses: what may be asked for, which address they get, when they may
 * go.
 *
 * The address comes with the first successful write and never changes; one whose write failed has
 * none, and gets it when it is written again.  Who holds it is derived.  Source: docs/spec/azure.md
 * §8.3, §8.5, §16 item 5. */
#include "sim/arm/arm.h"

#include <ctype.h>
#include <string.h>

static bool check_sku(struct arm_request *q, struct json_object *old, struct json_object *body)
{
    const char *was = str_or(json_str(json_member(old, "sku"), "name"), "Basic");
    arm_sku_fill(body, was);
    const char *now = json_str(json_member(body, "sku"), "name");
    bool attached = json_path(old, "properties.ipConfiguration") != NULL;
    bool upgrade = str_eq(was, "Basic") && str_eq(now, "Standard") && !attached;
    return !old || str_eq(was, now) || upgrade ||
           arm_refuse(q, 400, "PublicIPAddressSkuCannotBeChanged",
                      "The sku of public IP address %s cannot be changed from %s to %s.", q->id,
                      was, now);
}

static bool check_allocation(struct arm_request *q, struct json_object *old,
                             struct json_object *body)
{
    struct json_object *p = arm_properties(body), *was = json_member(old, "properties");
    bool basic = str_eq(json_str(json_member(body, "sku"), "name"), "Basic");
    if (!json_str(p, "publicIPAllocationMethod")) {
        json_add_str(p, "publicIPAllocationMethod", basic ? "Dynamic" : "Static");
    }
    if (!json_str(p, "publicIPAddressVersion")) {
        json_add_str(p, "publicIPAddressVersion", "IPv4");
    }
    if (!basic && !str_eq(json_str(p, "publicIPAllocationMethod"), "Static")) {
        return arm_refuse(q, 400, "PublicIPAddressAllocationMethodNotSupportedForSku",
                          "Standard sku publicIp %s must have AllocationMethod set to Static.",
                          q->id);
    }
    const char *version = json_str(was, "publicIPAddressVersion");
    return !version || str_eq(version, json_str(p, "publicIPAddressVersion")) ||
           arm_refuse(q, 400, "PublicIPAddressVersionCannotBeChanged",
                      "The PublicIPAddressVersion of %s cannot be changed from %s to %s.", q->id,
                      version, json_str(p, "publicIPAddressVersion"));
}

static bool same_list(struct json_object *x, struct json_object *y)
{
    bool same = json_len(x) == json_len(y);
    for (size_t i = 0; i < json_len(x) && same; i++) {
        bool found = false;
        for (size_t k = 0; k < json_len(y); k++) {
            found = found ||
                    json_equal(json_object_array_get_idx(x, i), json_object_array_get_idx(y, k));
        }
        same = found;
    }
    return same;
}

bool arm_check_zones(struct arm_request *q, struct json_object *zones, const char *id,
                     const char *location)
{
    size_t n = 0;
    const char **known = arm_zones(q->arm, q->a, &n);
    for (size_t i = 0; i < json_len(zones); i++) {
        const char *zone = json_object_get_string(json_object_array_get_idx(zones, i));
        size_t found = n;
        for (size_t k = 0; k < n; k++) {
            found = str_eq(known[k], zone) ? k : found;
        }
        for (size_t k = 0; k < i; k++) {
            const char *before = json_object_get_string(json_object_array_get_idx(zones, k));
            found = str_eq(before, zone) ? n : found;
        }
        if (found == n) {
            return arm_refuse(q, 400, "InvalidAvailabilityZone",
                              "The zone(s) '%s' for resource '%s' is not supported in location "
                              "'%s'.",
                              zone, id, location);
        }
    }
    return true;
}

/* One zone, or all of the region. */
static bool check_zones(struct arm_request *q, struct json_object *old, struct json_object *body)
{
    struct json_object *zones = json_member(body, "zones");
    size_t n = 0;
    (void)arm_zones(q->arm, q->a, &n);
    if (!arm_check_zones(q, zones, q->id, json_str(body, "location"))) {
        return false;
    }
    if (json_len(zones) > 1 && json_len(zones) != n) {
        return arm_refuse(q, 400, "InvalidAvailabilityZone",
                          "Public IP address %s: either one zone or all %zu zones of the region.",
                          q->id, n);
    }
    if (json_len(zones) && str_eq(json_str(json_member(body, "sku"), "name"), "Basic")) {
        return arm_refuse(q, 400, "SkuNotSupportedInAvailabilityZone",
                          "Public IP address %s: zones need the Standard sku.", q->id);
    }
    return !old || same_list(json_member(old, "zones"), zones) ||
           arm_refuse(
               q, 400, "ResourceAvailabilityZonesCannotBeModified",
               "Resource %s has an existing availability zone constraint and the request has "
               "another one. Zones cannot be added/updated/removed once the resource is "
               "created.",
               q->id);
}

/* The creation-time properties of an address cannot change. */
static bool check_fixed(struct arm_request *q, struct json_object *old, struct json_object *body)
{
    struct json_object *p = json_member(body, "properties"), *was = json_member(old, "properties");
    const char *tier = json_str(json_member(body, "sku"), "tier");
    const char *had = str_or(json_str(json_member(old, "sku"), "tier"), "Regional");
    const char *fixed =
        !str_eq(tier, had) ? "Tier"
        : !str_eq_nocase(arm_ref(p, "publicIPPrefix"), arm_ref(was, "publicIPPrefix"))
            ? "PublicIPPrefix"
        : !same_list(json_member(p, "ipTags"), json_member(was, "ipTags")) ? "IpTags"
        : !str_eq_nocase(json_str(json_member(body, "extendedLocation"), "name"),
                         json_str(json_member(old, "extendedLocation"), "name"))
            ? "ExtendedLocation"
            : NULL;
    return !old || !fixed ||
           arm_refuse(q, 400, arena_printf(q->a, "PublicIPAddress%sCannotBeChanged", fixed),
                      "The %s of public IP address %s cannot be changed once it is created.", fixed,
                      q->id);
}

/* --- DNS -------------------------------------------------------------------------------------- */

static bool label_is_valid(const char *label)
{
    size_t n = strlen(label);
    bool ok = n >= 3 && n <= 63 && islower((unsigned char)label[0]) &&
              (islower((unsigned char)label[n - 1]) || isdigit((unsigned char)label[n - 1]));
    return ok && strspn(label, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

/* An IPv4 and an IPv6 address may share one: the name then has an A and an AAAA record (Azure's
 * page "Create a public load balancer with IPv6" for the CLI gives both the same label). */
struct label {
    const char *label, *location, *self, *version;
    const char *holder;
};

static bool find_label(struct arm_resource *res, void *arg)
{
    struct label *l = arg;
    const char *label = json_str(json_path(res->body, "properties.dnsSettings"), "domainNameLabel");
    if (!str_eq_nocase(res->id, l->self) && str_eq_nocase(label, l->label) &&
        str_eq_nocase(json_str(res->body, "location"), l->location) &&
        str_eq(json_str(json_member(res->body, "properties"), "publicIPAddressVersion"),
               l->version)) {
        l->holder = res->id;
    }
    return !l->holder;
}

static bool check_dns(struct arm_request *q, struct json_object *body)
{
    struct json_object *dns = json_path(body, "properties.dnsSettings");
    const char *label = json_str(dns, "domainNameLabel");
    const char *location = json_str(body, "location");
    if (str_is_empty(label)) {
        if (dns) {
            json_object_object_del(dns, "fqdn");
        }
        return true;
    }
    if (!label_is_valid(label)) {
        return arm_refuse(q, 400, "InvalidDomainNameLabel",
                          "The domain name label for resource %s is invalid. It must conform to "
                          "the following regular expression: ^[a-z][a-z0-9-]{1,61}[a-z0-9]$.",
                          q->id);
    }
    const char *fqdn = arena_printf(q->a, "%s.%s.cloudapp.azure.com", label, location);
    struct label l = {
        .label = label,
        .location = location,
        .self = q->id,
        .version = json_str(json_member(body, "properties"), "publicIPAddressVersion"),
    };
    arm_each(q->arm, "Microsoft.Network/publicIPAddresses", find_label, &l);
    if (l.holder) {
        return arm_refuse(q, 400, "DnsRecordInUse",
                          "DNS record %s is already used by another public IP.", fqdn);
    }
    json_add_str(dns, "fqdn", fqdn);
    return true;
}

/* --- address, quota --------------------------------------------------------------------------- */

static bool set_address(struct arm_request *q, struct json_object *old, struct json_object *body)
{
    struct json_object *p = arm_properties(body);
    const char *was = json_str(json_member(old, "properties"), "ipAddress");
    const char *prefix = arm_ref(p, "publicIPPrefix");
    bool ipv6 = str_eq(json_str(p, "publicIPAddressVersion"), "IPv6");
    if (prefix && !arm_get(q->arm, prefix)) {
        return arm_refuse_reference(q, prefix, q->id);
    }
    /* A real dynamic address comes with the attachment; here it is there at once. */
    const char *address = was ? was : arm_public_pick(q->arm, q->a, ipv6, prefix);
    if (!address) {
        return arm_refuse(q, 400, "PublicIPPrefixOutOfIpAddresses",
                          "Public IP prefix %s has no free IP address left.", str_nonnull(prefix));
    }
    json_add_str(p, "ipAddress", address);
    return true;
}

static bool count_one(struct arm_resource *res, void *arg)
{
    (void)res;
    ++*(int64_t *)arg;
    return true;
}

static bool check_limit(struct arm_request *q)
{
    int64_t n = 0;
    int64_t limit = arm_limit(q->arm, "publicIPAddresses", INT64_MAX);
    arm_each(q->arm, "Microsoft.Network/publicIPAddresses", count_one, &n);
    return n < limit || arm_refuse(q, 400, "PublicIPCountLimitReached",
                                   "Cannot create more than %lld public IP addresses for this "
                                   "subscription in this region.",
                                   (long long)limit);
}

bool arm_pip_put(struct arm_request *q, struct json_object *old, struct json_object *body)
{
    int64_t idle = json_int(arm_properties(body), "idleTimeoutInMinutes", 4);
    if (idle < 4 || idle > 30) {
        return arm_refuse(q, 400, "PublicIPAddressIdleTimeoutOutOfRange",
                          "The idle timeout %lld of %s must be from 4 to 30 minutes.",
                          (long long)idle, q->id);
    }
    return (old || check_limit(q)) && check_sku(q, old, body) && check_allocation(q, old, body) &&
           check_zones(q, old, body) && check_fixed(q, old, body) && check_dns(q, body) &&
           set_address(q, old, body);
}

bool arm_pip_remove(struct arm_request *q)
{
    const char *holder = arm_ref(json_member(q->res->body, "properties"), "ipConfiguration");
    return !holder || arm_refuse(q, 400, "PublicIPAddressCannotBeDeleted",
                                 "Public IP address %s can not be deleted since it is still "
                                 "allocated to resource %s. In order to delete the public IP, "
                                 "disassociate/detach the Public IP address from the resource.",
                                 q->res->id, holder);
}
