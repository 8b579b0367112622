/* SPDX-License-Identifier: Apache-2.0 */
/* ec2_ask.c: what the load balancers ask of EC2: instances, subnets, gateways, groups.
 *
 * Answers are borrowed from the documents and good until the next change.  Source: docs/spec/aws.md
 * §3.3, §4.9, §6.3. */
#include "sim/aws/ec2/ec2_parts.h"

static struct json_object *instance_doc(struct aws *aws, const char *instance)
{
    struct amz_resource *res = amz_get(aws, AMZ_INSTANCE, instance);
    return res && !ec2_is_forgotten(aws, res->body) ? res->body : NULL;
}

const char *amz_ec2_instance_state(struct aws *aws, const char *instance)
{
    return json_str(json_member(instance_doc(aws, instance), "State"), "Name");
}

const char *amz_ec2_instance_vpc(struct aws *aws, const char *instance)
{
    return json_str(instance_doc(aws, instance), "VpcId");
}

const char *amz_ec2_instance_dns(struct aws *aws, const char *instance)
{
    return str_or(json_str(instance_doc(aws, instance), "PrivateDnsName"), instance);
}

const char *amz_ec2_instance_zone(struct aws *aws, const char *instance)
{
    struct json_object *placement = json_member(instance_doc(aws, instance), "Placement");
    return str_nonnull(json_str(placement, "AvailabilityZone"));
}

bool amz_ec2_subnet(struct aws *aws, const char *subnet, struct amz_ec2_subnet *ret)
{
    struct amz_resource *res = amz_get(aws, AMZ_SUBNET, subnet);
    if (!res) {
        return false;
    }
    const char *name = str_nonnull(json_str(res->body, "AvailabilityZone"));
    struct amz_resource *zone = amz_get(aws, AMZ_ZONE, name);
    struct json_object *sixes = json_member(res->body, "Ipv6CidrBlockAssociationSet");
    struct json_object *six = amz_item(sixes);
    *ret = (struct amz_ec2_subnet){
        .vpc = str_nonnull(json_str(res->body, "VpcId")),
        .zone = name,
        .zone_id = str_nonnull(json_str(res->body, "AvailabilityZoneId")),
        .zone_type = zone ? str_nonnull(json_str(zone->body, "ZoneType")) : "",
        .cidr = str_nonnull(json_str(res->body, "CidrBlock")),
        .ipv6_cidr = json_str(six, "Ipv6CidrBlock"),
        .free_addresses = json_int(res->body, "AvailableIpAddressCount", 0),
    };
    return true;
}

bool amz_ec2_vpc_has_gateway(const struct aws *aws, const char *vpc)
{
    for (struct amz_resource *r = amz_first(aws, AMZ_INTERNET_GATEWAY); r; r = r->next) {
        if (amz_find(json_member(r->body, "Attachments"), "VpcId", vpc, NULL)) {
            return true;
        }
    }
    return false;
}

const char *amz_ec2_group_vpc(const struct aws *aws, const char *group)
{
    struct amz_resource *res = amz_get(aws, AMZ_SECURITY_GROUP, group);
    return res ? str_nonnull(json_str(res->body, "VpcId")) : NULL;
}
