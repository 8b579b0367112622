/* SPDX-License-Identifier: Apache-2.0 */
/* ec2_documents.c: new documents of EC2, as AWS answers them, and their place in the store.
 *
 * Actions and the seed make resources through here, so both look alike; what a request may not ask
 * for is checked by the action before.  Constant members come from the templates below.  Source:
 * docs/spec/aws.md §10.3; tests/data/aws/world.json. */
#include "sim/aws/ec2/ec2_parts.h"

#include "common/base/ip.h"

#include <assert.h>
#include <string.h>

#define AMZ_KEEPS 5 /* addresses of a subnet: network, router, DNS, reserve, broadcast */

static const char subnet_template[] =
    "{\"AssignIpv6AddressOnCreation\":false,\"DefaultForAz\":false,\"EnableDns64\":false,"
    "\"Ipv6CidrBlockAssociationSet\":[],\"Ipv6Native\":false,\"MapCustomerOwnedIpOnLaunch\":false,"
    "\"MapPublicIpOnLaunch\":false,\"PrivateDnsNameOptionsOnLaunch\":{"
    "\"EnableResourceNameDnsAAAARecord\":false,\"EnableResourceNameDnsARecord\":false,"
    "\"HostnameType\":\"ip-name\"},\"State\":\"available\",\"Tags\":[]}";

static const char vpc_template[] =
    "{\"DhcpOptionsId\":\"default\",\"InstanceTenancy\":\"default\","
    "\"Ipv6CidrBlockAssociationSet\":[],\"State\":\"available\",\"Tags\":[]}";

static const char all_open[] = "[{\"IpProtocol\":\"-1\",\"IpRanges\":[{\"CidrIp\":\"0.0.0.0/0\"}],"
                               "\"Ipv6Ranges\":[],\"PrefixListIds\":[],\"UserIdGroupPairs\":[]}]";

struct json_object *ec2_template(const char *text)
{
    struct json_object *o = NULL;
    int code = json_parse(text, strlen(text), NULL, &o, NULL);
    assert(code == ERR_OK);
    (void)code;
    return o;
}

static void set_tags(struct json_object *doc, const char *member, struct json_object *tags)
{
    amz_tags_put(amz_list(doc, member), tags);
}

/* --- security groups -------------------------------------------------------------------------- */

const char *amz_ec2_add_group(struct aws *aws, struct arena *a, const char *vpc, const char *name,
                              const char *description, struct json_object *tags)
{
    struct json_object *o = json_object_new_object();
    const char *id = amz_new_id(aws, a, "sg-");
    json_add_str(o, "Description", description);
    json_add_str(o, "GroupId", id);
    json_add_str(o, "GroupName", name);
    json_add(o, "IpPermissions", json_object_new_array());
    json_add(o, "IpPermissionsEgress", ec2_template(all_open));
    json_add_str(o, "OwnerId", AMZ_ACCOUNT);
    json_add_str(o, "SecurityGroupArn", amz_arn(aws, a, "ec2", "security-group/%s", id));
    json_add_str(o, "VpcId", vpc);
    set_tags(o, "Tags", tags);
    (void)amz_set(aws, AMZ_SECURITY_GROUP, id, o);
    return id;
}

/* The group that every VPC has: open to itself. */
static void add_default_group(struct aws *aws, struct arena *a, const char *vpc)
{
    const char *id = amz_ec2_add_group(aws, a, vpc, "default", "default VPC security group", NULL);
    struct ec2_rule self = {
        .protocol = "-1", .kind = EC2_GROUP, .source = id, .owner = AMZ_ACCOUNT};
    struct amz_resource *group = amz_get(aws, AMZ_SECURITY_GROUP, id);
    ec2_rule_add(amz_list(group->body, "IpPermissions"), &self);
}

/* --- networks --------------------------------------------------------------------------------- */

struct json_object *ec2_route_doc(const char *member, const char *destination, const char *target,
                                  const char *id, const char *origin)
{
    struct json_object *r = json_object_new_object();
    json_add_str(r, member, destination);
    json_add_str(r, target, id);
    json_add_str(r, "Origin", origin);
    json_add_str(r, "State", "active");
    return r;
}

static void add_main_table(struct aws *aws, struct arena *a, const char *vpc, const char *cidr)
{
    const char *id = amz_new_id(aws, a, "rtb-");
    struct json_object *o = json_object_new_object(), *association = json_object_new_object();
    struct json_object *state = json_object_new_object();
    json_add_str(state, "State", "associated");
    json_add(association, "AssociationState", state);
    json_add_bool(association, "Main", true);
    json_add_str(association, "RouteTableAssociationId", amz_new_id(aws, a, "rtbassoc-"));
    json_add_str(association, "RouteTableId", id);
    json_object_array_add(amz_list(o, "Associations"), association);
    json_add_str(o, "OwnerId", AMZ_ACCOUNT);
    json_add(o, "PropagatingVgws", json_object_new_array());
    json_add_str(o, "RouteTableId", id);
    json_object_array_add(
        amz_list(o, "Routes"),
        ec2_route_doc("DestinationCidrBlock", cidr, "GatewayId", "local", "CreateRouteTable"));
    json_add(o, "Tags", json_object_new_array());
    json_add_str(o, "VpcId", vpc);
    (void)amz_set(aws, AMZ_ROUTE_TABLE, id, o);
}

const char *amz_ec2_add_vpc(struct aws *aws, struct arena *a, const char *cidr, bool is_default)
{
    const char *id = amz_new_id(aws, a, "vpc-");
    struct json_object *o = ec2_template(vpc_template), *block = json_object_new_object();
    struct json_object *state = json_object_new_object();
    json_add_str(state, "State", "associated");
    json_add_str(block, "AssociationId", amz_new_id(aws, a, "vpc-cidr-assoc-"));
    json_add_str(block, "CidrBlock", cidr);
    json_add(block, "CidrBlockState", state);
    json_add_str(o, "CidrBlock", cidr);
    json_object_array_add(amz_list(o, "CidrBlockAssociationSet"), block);
    json_add_bool(o, "IsDefault", is_default);
    json_add_str(o, "OwnerId", AMZ_ACCOUNT);
    json_add_str(o, "VpcId", id);
    (void)amz_set(aws, AMZ_VPC, id, o);
    add_main_table(aws, a, id, cidr);
    add_default_group(aws, a, id);
    return id;
}

const char *amz_ec2_add_subnet(struct aws *aws, struct arena *a, const char *vpc, const char *zone,
                               const char *cidr, struct json_object *tags)
{
    const char *id = amz_new_id(aws, a, "subnet-");
    struct json_object *o = ec2_template(subnet_template);
    struct amz_resource *z = amz_get(aws, AMZ_ZONE, zone);
    struct ip_net net;
    int64_t room =
        ip_net_parse(cidr, &net) && net.addr.len == 4 ? (int64_t)1 << (32 - net.prefix) : AMZ_KEEPS;
    json_add_str(o, "AvailabilityZone", zone);
    json_add_str(o, "AvailabilityZoneId", z ? json_str(z->body, "ZoneId") : NULL);
    json_add_int(o, "AvailableIpAddressCount", room - AMZ_KEEPS);
    json_add_str(o, "CidrBlock", cidr);
    json_add_str(o, "OwnerId", AMZ_ACCOUNT);
    json_add_str(o, "SubnetArn", amz_arn(aws, a, "ec2", "subnet/%s", id));
    json_add_str(o, "SubnetId", id);
    json_add_str(o, "VpcId", vpc);
    set_tags(o, "Tags", tags);
    (void)amz_set(aws, AMZ_SUBNET, id, o);
    return id;
}

const char *ec2_add_loose_gateway(struct aws *aws, struct arena *a, struct json_object *tags)
{
    const char *id = amz_new_id(aws, a, "igw-");
    struct json_object *o = json_object_new_object();
    json_add(o, "Attachments", json_object_new_array());
    json_add_str(o, "InternetGatewayId", id);
    json_add_str(o, "OwnerId", AMZ_ACCOUNT);
    set_tags(o, "Tags", tags);
    (void)amz_set(aws, AMZ_INTERNET_GATEWAY, id, o);
    return id;
}

void ec2_attach(struct json_object *gateway, const char *vpc)
{
    struct json_object *attachment = json_object_new_object();
    json_add_str(attachment, "State", "available");
    json_add_str(attachment, "VpcId", vpc);
    json_object_array_add(amz_list(gateway, "Attachments"), attachment);
}
