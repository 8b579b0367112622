/* SPDX-License-Identifier: Apache-2.0 */
/* ec2_addresses.c: DescribeAddresses: the elastic addresses that a world brought, and which
 * balancer has each.
 *
 * A balancer names the addresses of its zones; association and interface follow from that, as in
 * ec2_interfaces.c.
 * Source: docs/spec/aws.md §3.5; Address in the EC2 API Reference. */
#include "sim/aws/ec2/ec2_parts.h"

static const struct ec2_filter address_filters[] = {
    {"allocation-id", "AllocationId"},
    {"association-id", "AssociationId"},
    {"instance-id", "InstanceId"},
    {"network-border-group", "NetworkBorderGroup"},
    {"network-interface-id", "NetworkInterfaceId"},
    {"network-interface-owner-id", "NetworkInterfaceOwnerId"},
    {"private-ip-address", "PrivateIpAddress"},
    {"public-ip", "PublicIp"},
    {NULL, NULL},
};

/* "ARN SUBNET" of the balancer's node that has the address, as interfaces are called by;
 * NULL: none has. */
static const char *node_of(struct amz_request *q, const char *allocation)
{
    for (struct amz_resource *r = amz_first(q->aws, AMZ_LOAD_BALANCER); r; r = r->next) {
        struct json_object *zones = json_member(r->body, "AvailabilityZones");
        for (size_t i = 0; i < json_len(zones); i++) {
            struct json_object *zone = json_object_array_get_idx(zones, i);
            struct json_object *own = json_member(zone, "LoadBalancerAddresses");
            if (amz_find(own, "AllocationId", allocation, NULL)) {
                return arena_printf(q->a, "%s %s", r->id, str_nonnull(json_str(zone, "SubnetId")));
            }
        }
    }
    return NULL;
}

/* The address as it is described; new reference. */
static struct json_object *view(struct amz_request *q, struct amz_resource *address)
{
    struct json_object *o = json_share(address->body);
    const char *node = node_of(q, address->id);
    if (node) {
        json_add_str(o, "AssociationId", ec2_derived_id(q->a, "eipassoc-", node));
        json_add_str(o, "NetworkInterfaceId", ec2_derived_id(q->a, "eni-", node));
        json_add_str(o, "NetworkInterfaceOwnerId", "amazon-elb");
    }
    (void)amz_list(o, "Tags");
    return o;
}

static bool check_asked(struct amz_request *q, struct json_object *ids, struct json_object *ips)
{
    for (size_t i = 0; i < json_len(ids); i++) {
        if (!ec2_find(q, AMZ_ADDRESS, json_object_get_string(json_object_array_get_idx(ids, i)))) {
            return false;
        }
    }
    for (size_t i = 0; i < json_len(ips); i++) {
        const char *ip = json_object_get_string(json_object_array_get_idx(ips, i));
        struct amz_resource *r = amz_first(q->aws, AMZ_ADDRESS);
        while (r && !str_eq(json_str(r->body, "PublicIp"), ip)) {
            r = r->next;
        }
        if (!r) {
            return amz_refuse(q, "InvalidAddress.NotFound", "Address '%s' not found.", ip);
        }
    }
    return true;
}

bool ec2_describe_addresses(struct amz_request *q)
{
    struct json_object *ids = json_member(q->in, "AllocationIds");
    struct json_object *ips = json_member(q->in, "PublicIps");
    if (!ec2_filters_check(q, address_filters, "Tags") || !check_asked(q, ids, ips)) {
        return false;
    }
    struct json_object *list = amz_list(q->out, "Addresses");
    for (struct amz_resource *r = amz_first(q->aws, AMZ_ADDRESS); r; r = r->next) {
        struct json_object *one = view(q, r);
        bool asked = (json_len(ids) == 0 || amz_has_text(ids, r->id)) &&
                     (json_len(ips) == 0 || amz_has_text(ips, json_str(one, "PublicIp")));
        if (asked && ec2_filters_pass(q, address_filters, "Tags", one)) {
            json_object_array_add(list, one);
        } else {
            json_object_put(one);
        }
    }
    return true;
}
