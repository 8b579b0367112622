/* SPDX-License-Identifier: Apache-2.0 */
/* ec2_networks.c: zones, VPCs, subnets, route tables and gateways: describe and create.
 *
 * Enough to build a world by hand: a VPC comes with a main route table and a default group, a
 * subnet lies in the VPC and overlaps no other, one gateway serves one VPC.  Routes are
 * ec2_routes.c's.
 * Source: docs/spec/aws.md §3.5, §4.9, §6.5, §10.3; CreateVpc and CreateSubnet in the
 * EC2 API Reference. */
#include "sim/aws/ec2/ec2_parts.h"

#include "common/base/ip.h"

#define LONGEST_PREFIX  28
#define SHORTEST_PREFIX 16

/* --- describe --------------------------------------------------------------------------------- */

static const struct ec2_filter zone_filters[] = {
    {"group-name", "GroupName"},
    {"opt-in-status", "OptInStatus"},
    {"parent-zone-id", "ParentZoneId"},
    {"parent-zone-name", "ParentZoneName"},
    {"region-name", "RegionName"},
    {"state", "State"},
    {"zone-id", "ZoneId"},
    {"zone-name", "ZoneName"},
    {"zone-type", "ZoneType"},
    {NULL, NULL},
};

static bool check_zones(struct amz_request *q, struct json_object *asked, const char *member)
{
    for (size_t i = 0; i < json_len(asked); i++) {
        const char *text = json_object_get_string(json_object_array_get_idx(asked, i));
        struct amz_resource *z = amz_first(q->aws, AMZ_ZONE);
        while (z && !str_eq(json_str(z->body, member), text)) {
            z = z->next;
        }
        if (!z) {
            return amz_refuse_value(q, "Invalid availability zone%s: [%s]",
                                    str_eq(member, "ZoneId") ? "-id" : "", text);
        }
    }
    return true;
}

bool ec2_describe_zones(struct amz_request *q)
{
    static const struct ec2_listing listing = {AMZ_ZONE, NULL, "AvailabilityZones", zone_filters};
    struct json_object *names = json_member(q->in, "ZoneNames");
    struct json_object *ids = json_member(q->in, "ZoneIds");
    bool all = json_bool(q->in, "AllAvailabilityZones", false);
    if (!check_zones(q, names, "ZoneName") || !check_zones(q, ids, "ZoneId")) {
        return false;
    }
    struct json_object *found = ec2_select(q, &listing);
    for (size_t i = json_len(found); i > 0; i--) {
        struct json_object *z = json_object_array_get_idx(found, i - 1);
        bool shown = all || !str_eq(json_str(z, "OptInStatus"), "not-opted-in");
        if (!shown || (json_len(names) && !amz_has_text(names, json_str(z, "ZoneName"))) ||
            (json_len(ids) && !amz_has_text(ids, json_str(z, "ZoneId")))) {
            amz_remove_at(found, i - 1);
        }
    }
    if (found) {
        json_add(q->out, "AvailabilityZones", found);
    }
    return found != NULL;
}

bool ec2_describe_vpcs(struct amz_request *q)
{
    static const struct ec2_filter filters[] = {
        {"cidr", "CidrBlock"},
        {"cidr-block-association.association-id", "CidrBlockAssociationSet.AssociationId"},
        {"cidr-block-association.cidr-block", "CidrBlockAssociationSet.CidrBlock"},
        {"cidr-block-association.state", "CidrBlockAssociationSet.CidrBlockState.State"},
        {"dhcp-options-id", "DhcpOptionsId"},
        {"ipv6-cidr-block-association.ipv6-cidr-block",
         "Ipv6CidrBlockAssociationSet.Ipv6CidrBlock"},
        {"is-default", "IsDefault"},
        {"owner-id", "OwnerId"},
        {"state", "State"},
        {"vpc-id", "VpcId"},
        {NULL, NULL},
    };
    static const struct ec2_listing listing = {AMZ_VPC, "VpcIds", "Vpcs", filters};
    return ec2_answer_list(q, &listing);
}

/* A subnet as it is described: balancers have addresses, too; new reference. */
static struct json_object *without_balancers(const struct aws *aws, struct json_object *subnet)
{
    int64_t n = json_int(subnet, "AvailableIpAddressCount", -1);
    if (n < 0) {
        return json_object_get(subnet); /* a world's may not say it */
    }
    n -= amz_subnet_nodes(aws, str_nonnull(json_str(subnet, "SubnetId")));
    struct json_object *o = json_share(subnet);
    json_add_int(o, "AvailableIpAddressCount", n < 0 ? 0 : n);
    return o;
}

bool ec2_describe_subnets(struct amz_request *q)
{
    static const struct ec2_filter filters[] = {
        {"availability-zone", "AvailabilityZone"},
        {"availabilityZone", "AvailabilityZone"},
        {"availability-zone-id", "AvailabilityZoneId"},
        {"availabilityZoneId", "AvailabilityZoneId"},
        {"available-ip-address-count", "AvailableIpAddressCount"},
        {"cidr-block", "CidrBlock"},
        {"cidr", "CidrBlock"},
        {"cidrBlock", "CidrBlock"},
        {"default-for-az", "DefaultForAz"},
        {"defaultForAz", "DefaultForAz"},
        {"ipv6-cidr-block-association.ipv6-cidr-block",
         "Ipv6CidrBlockAssociationSet.Ipv6CidrBlock"},
        {"ipv6-native", "Ipv6Native"},
        {"map-public-ip-on-launch", "MapPublicIpOnLaunch"},
        {"owner-id", "OwnerId"},
        {"state", "State"},
        {"subnet-arn", "SubnetArn"},
        {"subnet-id", "SubnetId"},
        {"vpc-id", "VpcId"},
        {NULL, NULL},
    };
    static const struct ec2_listing listing = {AMZ_SUBNET, "SubnetIds", "Subnets", filters};
    struct json_object *found = ec2_select(q, &listing);
    for (size_t i = 0; i < json_len(found); i++) {
        struct json_object *one = without_balancers(q->aws, json_object_array_get_idx(found, i));
        json_object_array_put_idx(found, i, one);
    }
    return found && amz_page(q, "Subnets", found, EC2_PAGE_MAX);
}

bool ec2_describe_route_tables(struct amz_request *q)
{
    static const struct ec2_filter filters[] = {
        {"association.gateway-id", "Associations.GatewayId"},
        {"association.main", "Associations.Main"},
        {"association.route-table-association-id", "Associations.RouteTableAssociationId"},
        {"association.route-table-id", "Associations.RouteTableId"},
        {"association.subnet-id", "Associations.SubnetId"},
        {"owner-id", "OwnerId"},
        {"route-table-id", "RouteTableId"},
        {"route.destination-cidr-block", "Routes.DestinationCidrBlock"},
        {"route.destination-ipv6-cidr-block", "Routes.DestinationIpv6CidrBlock"},
        {"route.gateway-id", "Routes.GatewayId"},
        {"route.instance-id", "Routes.InstanceId"},
        {"route.nat-gateway-id", "Routes.NatGatewayId"},
        {"route.origin", "Routes.Origin"},
        {"route.state", "Routes.State"},
        {"vpc-id", "VpcId"},
        {NULL, NULL},
    };
    static const struct ec2_listing listing = {AMZ_ROUTE_TABLE, "RouteTableIds", "RouteTables",
                                               filters};
    return ec2_answer_list(q, &listing);
}

/* --- create ----------------------------------------------------------------------------------- */

/* An IPv4 block of the size that AWS takes, in canonical form. */
static bool read_block(struct amz_request *q, const char *range_code, struct ip_net *ret,
                       const char **ret_text)
{
    const char *cidr = json_str(q->in, "CidrBlock");
    char text[IP_TEXT_MAX];
    if (!cidr) {
        return amz_refuse_missing(q, "cidrBlock");
    }
    if (!ip_net_parse(cidr, ret) || ret->addr.len != 4 || ret->was_mapped) {
        return amz_refuse_value(q,
                                "Value (%s) for parameter cidrBlock is invalid. This is not a "
                                "valid CIDR block.",
                                cidr);
    }
    ip_net_format(ret, text);
    *ret_text = arena_strdup(q->a, text);
    return (ret->prefix >= SHORTEST_PREFIX && ret->prefix <= LONGEST_PREFIX) ||
           amz_refuse(q, range_code, "The CIDR '%s' is invalid.", cidr);
}

bool ec2_create_vpc(struct amz_request *q)
{
    static const char *const taken[] = {"CidrBlock", "InstanceTenancy", "TagSpecifications", NULL};
    struct ip_net net;
    const char *cidr;
    struct json_object *tags;
    if (!ec2_only(q, taken) || !read_block(q, "InvalidVpc.Range", &net, &cidr) ||
        !ec2_tags_asked(q, "vpc", NULL, &tags)) {
        return false;
    }
    const char *id = amz_ec2_add_vpc(q->aws, q->a, cidr, false);
    struct json_object *doc = amz_get(q->aws, AMZ_VPC, id)->body;
    const char *tenancy = str_or(json_str(q->in, "InstanceTenancy"), "default");
    json_object_object_add(doc, "InstanceTenancy", json_object_new_string(tenancy));
    json_object_object_add(doc, "Tags", tags);
    json_add(q->out, "Vpc", json_copy(doc));
    return true;
}

/* The zone that is asked for by name or id, or the first one; NULL: refused. */
static const char *find_zone(struct amz_request *q)
{
    const char *name = json_str(q->in, "AvailabilityZone");
    const char *id = json_str(q->in, "AvailabilityZoneId");
    for (struct amz_resource *z = amz_first(q->aws, AMZ_ZONE); z; z = z->next) {
        if ((!name || str_eq(z->id, name)) && (!id || str_eq(json_str(z->body, "ZoneId"), id))) {
            return z->id;
        }
    }
    (void)amz_refuse_value(q, "Value (%s) for parameter availabilityZone is invalid.",
                           name ? name : str_nonnull(id));
    return NULL;
}

static bool check_room(struct amz_request *q, struct amz_resource *vpc, const struct ip_net *net,
                       const char *cidr)
{
    struct ip_net outer, other;
    const char *whole = str_nonnull(json_str(vpc->body, "CidrBlock"));
    if (!ip_net_parse(whole, &outer) || net->prefix < outer.prefix ||
        !ip_net_contains(&outer, &net->addr)) {
        return amz_refuse(q, "InvalidSubnet.Range", "The CIDR '%s' is invalid.", cidr);
    }
    for (struct amz_resource *s = amz_first(q->aws, AMZ_SUBNET); s; s = s->next) {
        if (str_eq(json_str(s->body, "VpcId"), vpc->id) &&
            ip_net_parse(str_nonnull(json_str(s->body, "CidrBlock")), &other) &&
            (ip_net_contains(&other, &net->addr) || ip_net_contains(net, &other.addr))) {
            return amz_refuse(q, "InvalidSubnet.Conflict",
                              "The CIDR '%s' conflicts with another subnet", cidr);
        }
    }
    return true;
}

bool ec2_create_subnet(struct amz_request *q)
{
    static const char *const taken[] = {
        "VpcId", "CidrBlock", "AvailabilityZone", "AvailabilityZoneId", "TagSpecifications", NULL};
    struct ip_net net;
    const char *cidr;
    struct json_object *tags;
    if (!ec2_only(q, taken)) {
        return false;
    }
    struct amz_resource *vpc = ec2_find(q, AMZ_VPC, json_str(q->in, "VpcId"));
    if (!vpc || !read_block(q, "InvalidSubnet.Range", &net, &cidr) ||
        !check_room(q, vpc, &net, cidr)) {
        return false;
    }
    const char *zone = find_zone(q);
    if (!zone || !ec2_tags_asked(q, "subnet", NULL, &tags)) {
        return false;
    }
    const char *id = amz_ec2_add_subnet(q->aws, q->a, vpc->id, zone, cidr, tags);
    json_object_put(tags);
    json_add(q->out, "Subnet", json_copy(amz_get(q->aws, AMZ_SUBNET, id)->body));
    return true;
}

/* --- gateways --------------------------------------------------------------------------------- */

bool ec2_create_gateway(struct amz_request *q)
{
    struct json_object *tags;
    if (!ec2_tags_asked(q, "internet-gateway", NULL, &tags)) {
        return false;
    }
    const char *id = ec2_add_loose_gateway(q->aws, q->a, tags);
    json_object_put(tags);
    json_add(q->out, "InternetGateway", json_copy(amz_get(q->aws, AMZ_INTERNET_GATEWAY, id)->body));
    return true;
}

bool ec2_attach_gateway(struct amz_request *q)
{
    struct amz_resource *gateway =
        ec2_find(q, AMZ_INTERNET_GATEWAY, json_str(q->in, "InternetGatewayId"));
    struct amz_resource *vpc = gateway ? ec2_find(q, AMZ_VPC, json_str(q->in, "VpcId")) : NULL;
    if (!vpc) {
        return false;
    }
    if (json_len(json_member(gateway->body, "Attachments"))) {
        return amz_refuse(q, "Resource.AlreadyAssociated",
                          "resource %s is already attached to network", gateway->id);
    }
    if (amz_ec2_vpc_has_gateway(q->aws, vpc->id)) {
        return amz_refuse_value(q, "Network %s already has an internet gateway attached", vpc->id);
    }
    ec2_attach(gateway->body, vpc->id);
    return true;
}
