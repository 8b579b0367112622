/* SPDX-License-Identifier: Apache-2.0 */
/* ec2_ids.c: which resources EC2 has by id, and how it refuses an id.
 *
 * A malformed id and an unknown one are refused with codes of their own, spelled differently for
 * each kind (aws.h asks for the exact text, clients compare it).  An id that is in the store is
 * never malformed: a world may call things anything.
 * Source: docs/spec/aws.md §3.3; "Error codes for the Amazon EC2 API". */
#include "sim/aws/ec2/ec2_parts.h"

#include <string.h>

const struct ec2_kind ec2_kinds[] = {
    {AMZ_INSTANCE, "i-", "instance", "InvalidInstanceID.Malformed", "InvalidInstanceID.NotFound",
     "instance ID", "Tags"},
    {AMZ_SECURITY_GROUP, "sg-", "security-group", "InvalidGroupId.Malformed",
     "InvalidGroup.NotFound", "security group", "Tags"},
    {AMZ_SUBNET, "subnet-", "subnet", "InvalidSubnetID.Malformed", "InvalidSubnetID.NotFound",
     "subnet ID", "Tags"},
    {AMZ_VPC, "vpc-", "vpc", "InvalidVpcID.Malformed", "InvalidVpcID.NotFound", "vpc ID", "Tags"},
    {AMZ_ROUTE_TABLE, "rtb-", "route-table", "InvalidRouteTableId.Malformed",
     "InvalidRouteTableID.NotFound", "routeTable ID", "Tags"},
    {AMZ_INTERNET_GATEWAY, "igw-", "internet-gateway", "InvalidInternetGatewayId.Malformed",
     "InvalidInternetGatewayID.NotFound", "internetGateway ID", "Tags"},
    {AMZ_INTERFACE, "eni-", "network-interface", "InvalidNetworkInterfaceId.Malformed",
     "InvalidNetworkInterfaceID.NotFound", "networkInterface ID", "TagSet"},
    {AMZ_ADDRESS, "eipalloc-", "elastic-ip", "InvalidAllocationID.Malformed",
     "InvalidAllocationID.NotFound", "allocation ID", "Tags"},
    {AMZ_KINDS_MAX, NULL, NULL, NULL, NULL, NULL, NULL},
};

const struct ec2_kind *ec2_kind_of(enum amz_kind_id kind)
{
    const struct ec2_kind *k = ec2_kinds;
    while (k->prefix && k->kind != kind) {
        k++;
    }
    return k->prefix ? k : NULL;
}

const struct ec2_kind *ec2_kind_by_id(const char *id)
{
    for (const struct ec2_kind *k = ec2_kinds; k->prefix; k++) {
        if (str_has_prefix(id, k->prefix)) {
            return k;
        }
    }
    return NULL;
}

bool ec2_id_is_well_formed(const char *id, const char *prefix)
{
    if (!str_has_prefix(id, prefix)) {
        return false;
    }
    size_t n = strlen(id + strlen(prefix));
    return (n == 8 || n == 17) && strspn(id + strlen(prefix), "0123456789abcdef") == n;
}

struct amz_resource *ec2_find(struct amz_request *q, enum amz_kind_id kind, const char *id)
{
    const struct ec2_kind *k = ec2_kind_of(kind);
    struct amz_resource *res = amz_get(q->aws, kind, id);
    if (res && amz_seen(q->aws, res)) {
        return res;
    }
    if (!res && !ec2_id_is_well_formed(id, k->prefix)) {
        amz_refuse(q, k->malformed, "Invalid id: \"%s\" (expecting \"%s...\")", id, k->prefix);
    } else {
        amz_refuse(q, k->not_found, "The %s '%s' does not exist", k->noun, id);
    }
    return NULL;
}

struct amz_resource *ec2_default_vpc(const struct aws *aws)
{
    for (struct amz_resource *r = amz_first(aws, AMZ_VPC); r; r = r->next) {
        if (json_bool(r->body, "IsDefault", false)) {
            return r;
        }
    }
    return NULL;
}

bool ec2_vpc_is_default(const struct aws *aws, const char *vpc)
{
    struct amz_resource *r = amz_get(aws, AMZ_VPC, vpc);
    return r && json_bool(r->body, "IsDefault", false);
}

struct amz_resource *ec2_find_group_by_name(struct amz_request *q, const char *name)
{
    struct amz_resource *vpc = ec2_default_vpc(q->aws);
    for (struct amz_resource *g = amz_first(q->aws, AMZ_SECURITY_GROUP); vpc && g; g = g->next) {
        if (str_eq(json_str(g->body, "GroupName"), name) &&
            str_eq(json_str(g->body, "VpcId"), vpc->id) && amz_seen(q->aws, g)) {
            return g;
        }
    }
    amz_refuse(q, "InvalidGroup.NotFound", "The security group '%s' does not exist in %s%s", name,
               vpc ? "default VPC " : "a default VPC", vpc ? vpc->id : "");
    return NULL;
}

bool ec2_only(struct amz_request *q, const char *const *names)
{
    json_object_object_foreach(q->in, name, value)
    {
        bool known = str_eq(name, "DryRun") || !value;
        for (const char *const *n = names; *n && !known; n++) {
            known = str_eq(*n, name);
        }
        if (!known) {
            return amz_refuse(q, "UnsupportedOperation",
                              "The simulator does not take the parameter %s of %s.", name,
                              q->op->name);
        }
    }
    return true;
}
