/* SPDX-License-Identifier: Apache-2.0 */
/* nlb_places.c: in which subnets and with which addresses a network load balancer stands; its
 * groups.
 *
 * Subnets or SubnetMappings say where; elastic IPs belong to internet-facing balancers, private
 * addresses to internal ones, and either all subnets have one or none.  A zone that is enabled
 * keeps its subnet.
 * Source: docs/spec/aws.md §3.5, §5.4, §5.9. */
#include "sim/aws/elb/nlb.h"

#include "common/base/ip.h"

#include <string.h>

/* Whether a balancer other than `but` uses the elastic IP. */
static bool allocation_is_used(const struct aws *aws, const char *allocation,
                               const struct amz_resource *but)
{
    for (struct amz_resource *r = amz_first(aws, AMZ_LOAD_BALANCER); r; r = r->next) {
        struct json_object *zones = json_member(r->body, "AvailabilityZones");
        for (size_t i = 0; r != but && i < json_len(zones); i++) {
            struct json_object *addresses =
                json_member(json_object_array_get_idx(zones, i), "LoadBalancerAddresses");
            if (amz_find(addresses, "AllocationId", allocation, NULL)) {
                return true;
            }
        }
    }
    return false;
}

static bool check_allocation(struct amz_request *q, const struct nlb_siting *s,
                             const struct nlb_place *p, const struct amz_resource *self)
{
    struct amz_resource *address = amz_get(q->aws, AMZ_ADDRESS, p->allocation);
    if (!address) {
        return amz_refuse(q, "AllocationIdNotFound", "The allocation IDs '%s' do not exist",
                          p->allocation);
    }
    if (str_eq(s->scheme, "internal")) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "You cannot specify Elastic IP addresses for an internal load balancer");
    }
    if (allocation_is_used(q->aws, p->allocation, self) ||
        json_str(address->body, "AssociationId")) {
        return amz_refuse(q, "ResourceInUse", "The allocation IDs '%s' are in use", p->allocation);
    }
    return true;
}

static bool check_private(struct amz_request *q, const struct nlb_siting *s,
                          const struct nlb_place *p, bool known)
{
    struct ip_net net;
    struct ip_addr ip;
    if (!str_eq(s->scheme, "internal")) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "You cannot specify a private IPv4 address for an internet-facing load "
                          "balancer");
    }
    if (!ip_parse(p->address, &ip) || ip.len != 4 || !ip_net_parse(p->at.cidr, &net) ||
        !ip_net_contains(&net, &ip)) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "The private IPv4 address '%s' is not in the range of subnet '%s'",
                          p->address, p->at.subnet);
    }
    if (!known && !amz_ec2_address_is_free(q->aws, p->at.subnet, p->address)) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "The private IPv4 address '%s' is not available", p->address);
    }
    return true;
}

static bool check_ipv6(struct amz_request *q, const struct nlb_siting *s, const struct nlb_place *p)
{
    struct ip_net net;
    struct ip_addr ip;
    bool dual = !str_eq(s->address_type, "ipv4");
    if (dual && !p->at.ipv6_cidr) {
        return amz_refuse(q, "InvalidSubnet", "The subnet '%s' has no associated IPv6 CIDR block",
                          p->at.subnet);
    }
    if (!p->ipv6_address) {
        return true;
    }
    bool fits = dual && ip_parse(p->ipv6_address, &ip) && ip.len == 16 &&
                ip_net_parse(p->at.ipv6_cidr, &net) && ip_net_contains(&net, &ip);
    return fits ? true
                : amz_refuse(q, "InvalidConfigurationRequest",
                             "The IPv6 address '%s' cannot be used in subnet '%s'", p->ipv6_address,
                             p->at.subnet);
}

/* The zone of a balancer that is there already, or NULL. */
static struct json_object *zone_of(const struct amz_resource *lb, const char *zone)
{
    return lb ? amz_find(json_member(lb->body, "AvailabilityZones"), "ZoneName", zone, NULL) : NULL;
}

/* The member for a zone's address, "" if it has none. */
static const char *address_of(struct json_object *zone, const char *member)
{
    struct json_object *list = json_member(zone, "LoadBalancerAddresses");
    for (size_t i = 0; i < json_len(list); i++) {
        const char *text = json_str(json_object_array_get_idx(list, i), member);
        if (text) {
            return text;
        }
    }
    return "";
}

/* A zone that is enabled stays as it is. */
static bool check_kept(struct amz_request *q, const struct nlb_place *p, struct json_object *zone)
{
    bool same = str_eq(json_str(zone, "SubnetId"), p->at.subnet) &&
                (!p->allocation || str_eq(address_of(zone, "AllocationId"), p->allocation)) &&
                (!p->address || str_eq(address_of(zone, "PrivateIPv4Address"), p->address));
    return same ? true
                : amz_refuse(q, "InvalidConfigurationRequest",
                             "You cannot change the subnet or the address of the enabled "
                             "Availability Zone '%s'",
                             p->at.zone);
}

static bool check_place(struct amz_request *q, const struct nlb_siting *s,
                        const struct nlb_place *p, const struct amz_resource *lb,
                        const struct amz_resource *self)
{
    struct json_object *zone = zone_of(lb, p->at.zone);
    if (zone && !check_kept(q, p, zone)) {
        return false;
    }
    return (!p->allocation || check_allocation(q, s, p, self)) &&
           (!p->address || check_private(q, s, p, zone != NULL)) && check_ipv6(q, s, p);
}

/* Every subnet has its own elastic IP or private address, or none has. */
static bool check_all_alike(struct amz_request *q, const struct nlb_siting *s)
{
    size_t elastic = 0, private = 0;
    for (size_t i = 0; i < s->n; i++) {
        elastic += s->places[i].allocation != NULL;
        private += s->places[i].address != NULL;
        for (size_t j = 0; s->places[i].allocation && j < i; j++) {
            if (str_eq(s->places[i].allocation, s->places[j].allocation)) {
                return amz_refuse(q, "InvalidConfigurationRequest",
                                  "The allocation ID '%s' was specified more than once",
                                  s->places[i].allocation);
            }
        }
    }
    if ((elastic != 0 && elastic != s->n) || (private != 0 && private != s->n)) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "You must specify an address for every subnet or for none");
    }
    return true;
}

static bool stands_in(const struct amz_resource *lb, const char *subnet)
{
    return lb &&
           amz_find(json_member(lb->body, "AvailabilityZones"), "SubnetId", subnet, NULL) != NULL;
}

static bool read_mapping(struct amz_request *q, struct json_object *mapping,
                         const struct amz_resource *self, struct nlb_place *ret)
{
    const char *subnet = json_str(mapping, "SubnetId");
    if (!subnet) {
        return amz_refuse_value(q, "A subnet mapping must have a subnet ID");
    }
    if (json_str(mapping, "SourceNatIpv6Prefix")) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "Source NAT prefixes for IPv6 are not simulated");
    }
    ret->allocation = json_str(mapping, "AllocationId");
    ret->address = json_str(mapping, "PrivateIPv4Address");
    ret->ipv6_address = json_str(mapping, "IPv6Address");
    return lb_find_place(q, subnet, stands_in(self, subnet), &ret->at);
}

bool nlb_read_siting(struct amz_request *q, const struct amz_resource *lb,
                     const struct amz_resource *self, struct nlb_siting *ret)
{
    struct json_object *subnets = json_member(q->in, "Subnets");
    struct json_object *mappings = json_member(q->in, "SubnetMappings");
    size_t n = json_len(subnets) + json_len(mappings);
    if (json_len(subnets) > 0 && json_len(mappings) > 0) {
        return amz_refuse_combination(q, "You can specify either subnets or subnet mappings");
    }
    if (n == 0) {
        return amz_refuse_value(q, "At least one subnet must be specified");
    }
    const char *was = lb ? json_str(lb->body, "IpAddressType") : NULL;
    *ret = (struct nlb_siting){
        .places = ARENA_ARRAY(q->a, struct nlb_place, n),
        .n = n,
        /* copies: the body that they come from may be changed by them */
        .scheme = arena_strdup(
            q->a, str_or(json_str(lb ? lb->body : q->in, "Scheme"), "internet-facing")),
        .address_type =
            arena_strdup(q->a, str_or(json_str(q->in, "IpAddressType"), str_or(was, "ipv4"))),
    };
    struct lb_place *at = ARENA_ARRAY(q->a, struct lb_place, n);
    for (size_t i = 0; i < n; i++) {
        struct nlb_place *p = &ret->places[i];
        const char *id = json_len(subnets) > 0
                             ? json_object_get_string(json_object_array_get_idx(subnets, i))
                             : NULL;
        bool found = id ? lb_find_place(q, id, stands_in(self, id), &p->at)
                        : read_mapping(q, json_object_array_get_idx(mappings, i), self, p);
        if (!found) {
            return false;
        }
        at[i] = p->at;
    }
    if (!lb_check_places(q, at, n)) {
        return false;
    }
    if (lb && !str_eq(at[0].vpc, json_str(lb->body, "VpcId"))) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "The subnets must belong to VPC '%s' of the load balancer",
                          str_nonnull(json_str(lb->body, "VpcId")));
    }
    for (size_t i = 0; i < n; i++) {
        if (!check_place(q, ret, &ret->places[i], lb, self)) {
            return false;
        }
    }
    return check_all_alike(q, ret) &&
           (str_eq(ret->scheme, "internal") || lb_check_gateway(q, at[0].vpc));
}

static struct json_object *place_addresses(struct amz_request *q, const struct nlb_place *p)
{
    struct json_object *list = json_object_new_array();
    if (!p->allocation && !p->address && !p->ipv6_address) {
        return list;
    }
    struct json_object *item = json_object_new_object();
    if (p->allocation) {
        struct amz_resource *address = amz_get(q->aws, AMZ_ADDRESS, p->allocation);
        json_add_str(item, "IpAddress", json_str(address->body, "PublicIp"));
        json_add_str(item, "AllocationId", p->allocation);
    }
    json_add_str(item, "PrivateIPv4Address", p->address);
    json_add_str(item, "IPv6Address", p->ipv6_address);
    json_object_array_add(list, item);
    return list;
}

struct json_object *nlb_siting_zones(struct amz_request *q, const struct nlb_siting *s)
{
    struct json_object *zones = json_object_new_array();
    for (size_t i = 0; i < s->n; i++) {
        struct json_object *zone = json_object_new_object();
        json_add_str(zone, "ZoneName", s->places[i].at.zone);
        json_add_str(zone, "SubnetId", s->places[i].at.subnet);
        json_add(zone, "LoadBalancerAddresses", place_addresses(q, &s->places[i]));
        json_object_array_add(zones, zone);
    }
    return zones;
}

bool nlb_set_subnets(struct amz_request *q)
{
    struct amz_resource *lb = nlb_find_balancer(q, json_str(q->in, "LoadBalancerArn"));
    struct nlb_siting s;
    if (!lb || !nlb_must_be_network(q, lb) || !nlb_read_siting(q, lb, lb, &s)) {
        return false;
    }
    if (str_eq(json_str(q->in, "EnablePrefixForIpv6SourceNat"), "on")) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "Source NAT prefixes for IPv6 are not simulated");
    }
    struct json_object *zones = nlb_siting_zones(q, &s);
    for (size_t i = 0; i < s.n; i++) {
        struct json_object *kept = zone_of(lb, s.places[i].at.zone);
        if (kept) {
            json_object_array_put_idx(zones, i, json_copy(kept));
        }
    }
    amz_unsettle(q->aws, lb, lb->body);
    json_add(lb->body, "AvailabilityZones", zones);
    json_add_str(lb->body, "IpAddressType", s.address_type);
    json_add(q->out, "AvailabilityZones", json_copy(zones));
    json_add_str(q->out, "IpAddressType", s.address_type);
    return true;
}

bool nlb_set_address_type(struct amz_request *q)
{
    struct amz_resource *lb = nlb_find_balancer(q, json_str(q->in, "LoadBalancerArn"));
    if (!lb || !nlb_must_be_network(q, lb)) {
        return false;
    }
    const char *type = json_str(q->in, "IpAddressType");
    if (str_eq(type, "dualstack-without-public-ipv4")) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "The IP address type '%s' is not supported by a network load balancer",
                          type);
    }
    struct json_object *zones = json_member(lb->body, "AvailabilityZones");
    for (size_t i = 0; str_eq(type, "dualstack") && i < json_len(zones); i++) {
        const char *subnet = json_str(json_object_array_get_idx(zones, i), "SubnetId");
        struct amz_ec2_subnet found;
        if (!amz_ec2_subnet(q->aws, subnet, &found) || !found.ipv6_cidr) {
            return amz_refuse(q, "InvalidSubnet",
                              "The subnet '%s' has no associated IPv6 CIDR block", subnet);
        }
    }
    amz_unsettle(q->aws, lb, lb->body);
    json_add_str(lb->body, "IpAddressType", type);
    json_add_str(q->out, "IpAddressType", type);
    return true;
}

bool nlb_set_groups(struct amz_request *q)
{
    struct amz_resource *lb = nlb_find_balancer(q, json_str(q->in, "LoadBalancerArn"));
    if (!lb || !nlb_must_be_network(q, lb)) {
        return false;
    }
    struct json_object *have = json_member(lb->body, "SecurityGroups");
    struct json_object *wanted = json_member(q->in, "SecurityGroups");
    if (json_len(have) == 0) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "You cannot set security groups on a Network Load Balancer which was "
                          "created without any security groups.");
    }
    if (json_len(wanted) == 0) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "You cannot remove all security groups from a Network Load Balancer");
    }
    struct json_object *groups = lb_unique(wanted);
    if (!lb_check_groups(q, groups, json_str(lb->body, "VpcId"))) {
        json_object_put(groups);
        return false;
    }
    static const char enforce[] = "EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic";
    struct json_object *left = json_object_new_array();
    for (size_t i = 0; i < json_len(have); i++) {
        const char *id = json_object_get_string(json_object_array_get_idx(have, i));
        if (!amz_has_text(groups, id)) {
            json_push_str(left, id);
        }
    }
    amz_groups_hold(q->aws, left);
    json_object_put(left);
    amz_unsettle(q->aws, lb, lb->body);
    json_add(lb->body, "SecurityGroups", groups);
    json_add_str(lb->body, enforce, json_str(q->in, enforce));
    json_add(q->out, "SecurityGroupIds", json_copy(groups));
    json_add_str(q->out, enforce, str_or(json_str(lb->body, enforce), "on"));
    return true;
}
