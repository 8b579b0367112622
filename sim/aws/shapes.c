/* SPDX-License-Identifier: Apache-2.0 */
/* shapes.c: whether what a world says of a kind has the form of the describe call that answers with
 * it.
 *
 * Lists are lists and structures are structures, all the way down: what reads documents relies on
 * that.  Members that are absent, null or unknown are fine, and so are texts and numbers of any
 * kind: a world may hold what no request could make.  Pure.  Source: interfaces.md,
 * "World"; the schema packs. */
#include "sim/aws/aws.h"

/* Which answer has a kind's member; kinds that no answer has are objects, and that is all. */
static const struct {
    enum amz_kind_id kind;
    enum amz_service service;
    const char *action, *member;
    bool whole; /* the document is the member itself, not an item of it */
} forms[] = {
    {AMZ_ZONE, AMZ_EC2, "DescribeAvailabilityZones", "AvailabilityZones", false},
    {AMZ_VPC, AMZ_EC2, "DescribeVpcs", "Vpcs", false},
    {AMZ_SUBNET, AMZ_EC2, "DescribeSubnets", "Subnets", false},
    {AMZ_ROUTE_TABLE, AMZ_EC2, "DescribeRouteTables", "RouteTables", false},
    {AMZ_INTERNET_GATEWAY, AMZ_EC2, "CreateInternetGateway", "InternetGateway", true},
    {AMZ_SECURITY_GROUP, AMZ_EC2, "DescribeSecurityGroups", "SecurityGroups", false},
    {AMZ_INTERFACE, AMZ_EC2, "DescribeNetworkInterfaces", "NetworkInterfaces", false},
    {AMZ_ADDRESS, AMZ_EC2, "DescribeAddresses", "Addresses", false},
    {AMZ_RESERVATION, AMZ_EC2, "DescribeInstances", "Reservations", false},
    {AMZ_CLASSIC, AMZ_ELB, "DescribeLoadBalancers", "LoadBalancerDescriptions", false},
    {AMZ_CLASSIC_ATTRIBUTES, AMZ_ELB, "DescribeLoadBalancerAttributes", "LoadBalancerAttributes",
     true},
    {AMZ_CLASSIC_POLICIES, AMZ_ELB, "DescribeLoadBalancerPolicies", "PolicyDescriptions", true},
    {AMZ_CLASSIC_TAGS, AMZ_ELB, "DescribeTags", "TagDescriptions", false},
    {AMZ_LOAD_BALANCER, AMZ_ELBV2, "DescribeLoadBalancers", "LoadBalancers", false},
    {AMZ_LOAD_BALANCER_ATTRIBUTES, AMZ_ELBV2, "DescribeLoadBalancerAttributes", "Attributes", true},
    {AMZ_LISTENER, AMZ_ELBV2, "DescribeListeners", "Listeners", false},
    {AMZ_LISTENER_ATTRIBUTES, AMZ_ELBV2, "DescribeListenerAttributes", "Attributes", true},
    {AMZ_TARGET_GROUP, AMZ_ELBV2, "DescribeTargetGroups", "TargetGroups", false},
    {AMZ_TARGET_GROUP_ATTRIBUTES, AMZ_ELBV2, "DescribeTargetGroupAttributes", "Attributes", true},
    {AMZ_TARGET_HEALTH, AMZ_ELBV2, "DescribeTargetHealth", "TargetHealthDescriptions", true},
    {AMZ_V2_TAGS, AMZ_ELBV2, "DescribeTags", "TagDescriptions", false},
};

/* The type of a kind's documents; -1: none is known. */
static int type_of(enum amz_kind_id kind)
{
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        if (forms[i].kind == kind) {
            const struct amz_op *op = amz_op_find(forms[i].service, forms[i].action);
            const struct amz_field *f = op ? amz_field_find(op->answer, forms[i].member) : NULL;
            return !f ? -1 : forms[i].whole ? f->type : amz_types[f->type].item;
        }
    }
    return -1;
}

static bool fits(int type, struct json_object *value)
{
    enum amz_type_kind kind = amz_types[type].kind;
    bool object = json_object_is_type(value, json_type_object);
    bool array = json_object_is_type(value, json_type_array);
    if (kind == AMZ_ANY) {
        return true;
    }
    if (object != (kind == AMZ_OBJECT) || array != (kind == AMZ_ARRAY)) {
        return false;
    }
    for (size_t i = 0; array && i < json_len(value); i++) {
        struct json_object *item = json_object_array_get_idx(value, i);
        if (!item || !fits(amz_types[type].item, item)) {
            return false;
        }
    }
    for (const struct amz_field *f = object ? amz_types[type].fields : NULL; f && f->name; f++) {
        struct json_object *member = json_member(value, f->name);
        if (member && !fits(f->type, member)) {
            return false;
        }
    }
    return true;
}

bool amz_shape_fits(enum amz_kind_id kind, struct json_object *document)
{
    int type = type_of(kind);
    return type < 0 ? json_object_is_type(document, json_type_object) : fits(type, document);
}
