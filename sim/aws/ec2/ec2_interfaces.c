/* SPDX-License-Identifier: Apache-2.0 */
/* ec2_interfaces.c: DescribeNetworkInterfaces: of instances, of load balancers, and those of a
 * world.
 *
 * Instances hold their interfaces in their own documents.  A balancer's follow from its groups and
 * subnets, one in each subnet, with ids that follow from balancer and subnet; so nothing has to be
 * kept in step.
 * Source: docs/spec/aws.md §3.5, §7.4; NetworkInterface in the EC2 API Reference. */
#include "sim/aws/ec2/ec2_parts.h"

#include "common/base/hash.h"
#include "common/base/ip.h"

#include <string.h>

static const struct ec2_filter interface_filters[] = {
    {"addresses.primary", "PrivateIpAddresses.Primary"},
    {"addresses.private-ip-address", "PrivateIpAddresses.PrivateIpAddress"},
    {"attachment.attachment-id", "Attachment.AttachmentId"},
    {"attachment.device-index", "Attachment.DeviceIndex"},
    {"attachment.instance-id", "Attachment.InstanceId"},
    {"attachment.instance-owner-id", "Attachment.InstanceOwnerId"},
    {"attachment.status", "Attachment.Status"},
    {"availability-zone", "AvailabilityZone"},
    {"description", "Description"},
    {"group-id", "Groups.GroupId"},
    {"group-name", "Groups.GroupName"},
    {"interface-type", "InterfaceType"},
    {"ipv6-addresses.ipv6-address", "Ipv6Addresses.Ipv6Address"},
    {"mac-address", "MacAddress"},
    {"network-interface-id", "NetworkInterfaceId"},
    {"owner-id", "OwnerId"},
    {"private-dns-name", "PrivateDnsName"},
    {"private-ip-address", "PrivateIpAddress"},
    {"requester-id", "RequesterId"},
    {"requester-managed", "RequesterManaged"},
    {"source-dest-check", "SourceDestCheck"},
    {"status", "Status"},
    {"subnet-id", "SubnetId"},
    {"vpc-id", "VpcId"},
    {NULL, NULL},
};

char *ec2_derived_id(struct arena *a, const char *prefix, const char *key)
{
    uint64_t h = hash_bytes(1, key, strlen(key));
    return arena_printf(a, "%s0%016llx", prefix, (unsigned long long)h);
}

/* --- of instances ----------------------------------------------------------------------------- */

static struct json_object *of_instance(struct json_object *instance, struct json_object *own)
{
    struct json_object *o = json_copy(own), *attachment = json_member(o, "Attachment");
    const char *zone = json_str(json_member(instance, "Placement"), "AvailabilityZone");
    if (attachment) {
        json_add_str(attachment, "InstanceId", json_str(instance, "InstanceId"));
        json_add_str(attachment, "InstanceOwnerId", AMZ_ACCOUNT);
    }
    json_add_str(o, "AvailabilityZone", zone);
    json_add_bool(o, "RequesterManaged", false);
    (void)amz_list(o, "TagSet");
    return o;
}

static void add_instances(struct amz_request *q, struct json_object *list)
{
    for (struct amz_resource *r = amz_first(q->aws, AMZ_INSTANCE); r; r = r->next) {
        struct json_object *doc = amz_seen(q->aws, r);
        struct json_object *nics = json_member(doc, "NetworkInterfaces");
        for (size_t i = 0; i < json_len(nics); i++) {
            json_object_array_add(list, of_instance(doc, json_object_array_get_idx(nics, i)));
        }
    }
}

/* --- of balancers ----------------------------------------------------------------------------- */

struct balancer {
    const char *id;   /* name or ARN */
    const char *text; /* of the description: "net/web/0123456789abcdef" */
    const char *type; /* of the interface */
    struct json_object *groups;
    struct map *used; /* subnet → int*: how many interfaces of balancers it has, the arena's */
};

/* Balancers are given addresses from the end of the range, where instances come last. */
static const char *far_address(struct amz_request *q, struct map *used, const char *subnet,
                               const char *cidr)
{
    struct ip_net net;
    struct ip_addr ip;
    char text[IP_TEXT_MAX];
    uint64_t *n = map_get(used, subnet);
    if (!n) {
        n = ARENA_NEW(q->a, uint64_t);
        map_set(used, subnet, n);
    }
    uint64_t back = 2 + (*n)++; /* the last is kept by AWS */
    if (!ip_net_parse(cidr, &net) || net.addr.len != 4 ||
        !ip_net_nth(&net, ((uint64_t)1 << (32 - net.prefix)) - back, &ip)) {
        return NULL;
    }
    ip_format(&ip, text);
    return arena_strdup(q->a, text);
}

static struct json_object *of_balancer(struct amz_request *q, const struct balancer *b,
                                       const char *subnet, const char *address)
{
    struct amz_ec2_subnet place;
    if (!amz_ec2_subnet(q->aws, subnet, &place)) {
        return NULL;
    }
    const char *key = arena_printf(q->a, "%s %s", b->id, subnet);
    const char *ip = str_or(address, far_address(q, b->used, subnet, place.cidr));
    struct json_object *o = json_object_new_object();
    struct json_object *attachment = ec2_template(
        "{\"DeleteOnTermination\":false,\"DeviceIndex\":1,\"InstanceOwnerId\":\"amazon-aws\","
        "\"Status\":\"attached\"}");
    struct json_object *primary = json_object_new_object();
    const char **ids = ARENA_ARRAY(q->a, const char *, json_len(b->groups));
    for (size_t i = 0; i < json_len(b->groups); i++) {
        ids[i] = json_object_get_string(json_object_array_get_idx(b->groups, i));
    }
    json_add_str(attachment, "AttachmentId", ec2_derived_id(q->a, "eni-attach-", key));
    json_add_bool(primary, "Primary", true);
    json_add_str(primary, "PrivateIpAddress", ip);
    json_add(o, "Attachment", attachment);
    json_add_str(o, "AvailabilityZone", place.zone);
    json_add_str(o, "Description", arena_printf(q->a, "ELB %s", b->text));
    json_add(o, "Groups", ec2_group_names(q->aws, ids, json_len(b->groups)));
    json_add_str(o, "InterfaceType", b->type);
    json_add_str(o, "NetworkInterfaceId", ec2_derived_id(q->a, "eni-", key));
    json_add_str(o, "OwnerId", AMZ_ACCOUNT);
    json_add_str(o, "PrivateIpAddress", ip);
    json_object_array_add(amz_list(o, "PrivateIpAddresses"), primary);
    json_add_str(o, "RequesterId", "amazon-elb");
    json_add_bool(o, "RequesterManaged", true);
    json_add_bool(o, "SourceDestCheck", false);
    json_add_str(o, "Status", "in-use");
    json_add_str(o, "SubnetId", subnet);
    (void)amz_list(o, "TagSet");
    json_add_str(o, "VpcId", place.vpc);
    return o;
}

static void push(struct json_object *list, struct json_object *o)
{
    if (o) {
        json_object_array_add(list, o);
    }
}

static void add_balancers(struct amz_request *q, struct json_object *list)
{
    struct map *used = map_new(NULL);
    for (struct amz_resource *r = amz_first(q->aws, AMZ_CLASSIC); r; r = r->next) {
        struct balancer b = {r->id, r->id, "interface", json_member(r->body, "SecurityGroups"),
                             used};
        struct json_object *subnets = json_member(r->body, "Subnets");
        for (size_t i = 0; i < json_len(subnets); i++) {
            push(list,
                 of_balancer(q, &b, json_object_get_string(json_object_array_get_idx(subnets, i)),
                             NULL));
        }
    }
    for (struct amz_resource *r = amz_first(q->aws, AMZ_LOAD_BALANCER); r; r = r->next) {
        const char *tail = strstr(r->id, "loadbalancer/");
        bool is_net = str_eq(json_str(r->body, "Type"), "network");
        struct balancer b = {r->id, tail ? tail + strlen("loadbalancer/") : r->id,
                             is_net ? "network_load_balancer" : "interface",
                             json_member(r->body, "SecurityGroups"), used};
        struct json_object *zones = json_member(r->body, "AvailabilityZones");
        for (size_t i = 0; i < json_len(zones); i++) {
            struct json_object *z = json_object_array_get_idx(zones, i);
            struct json_object *own = json_member(z, "LoadBalancerAddresses");
            struct json_object *first = amz_item(own);
            push(list, of_balancer(q, &b, str_nonnull(json_str(z, "SubnetId")),
                                   json_str(first, "PrivateIPv4Address")));
        }
    }
    map_free(used);
}

/* --- all -------------------------------------------------------------------------------------- */

static struct json_object *all_interfaces(struct amz_request *q)
{
    struct json_object *list = json_object_new_array();
    for (struct amz_resource *r = amz_first(q->aws, AMZ_INTERFACE); r; r = r->next) {
        json_object_array_add(list, json_object_get(r->body));
    }
    add_instances(q, list);
    add_balancers(q, list);
    return list;
}

static bool check_ids(struct amz_request *q, struct json_object *ids, struct json_object *list)
{
    for (size_t i = 0; i < json_len(ids); i++) {
        const char *id = json_object_get_string(json_object_array_get_idx(ids, i));
        if (!amz_find(list, "NetworkInterfaceId", id, NULL)) {
            return ec2_find(q, AMZ_INTERFACE, id) != NULL;
        }
    }
    return true;
}

bool ec2_describe_interfaces(struct amz_request *q)
{
    struct json_object *ids = json_member(q->in, "NetworkInterfaceIds");
    if (!ec2_filters_check(q, interface_filters, "TagSet")) {
        return false;
    }
    struct json_object *list = all_interfaces(q);
    if (!check_ids(q, ids, list)) {
        json_object_put(list);
        return false;
    }
    struct json_object *found = json_object_new_array();
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *o = json_object_array_get_idx(list, i);
        bool asked = json_len(ids) == 0 || amz_has_text(ids, json_str(o, "NetworkInterfaceId"));
        if (asked && ec2_filters_pass(q, interface_filters, "TagSet", o)) {
            json_object_array_add(found, json_object_get(o));
        }
    }
    json_object_put(list);
    return amz_page(q, "NetworkInterfaces", found, EC2_PAGE_MAX);
}
