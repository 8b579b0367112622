/* SPDX-License-Identifier: Apache-2.0 */
/* ec2_routes.c: CreateRoute and DeleteRoute.
 *
 * A route has one destination and one target.  Targets are what the simulator has: internet
 * gateways, instances and their interfaces.  The local route never goes.  Source: docs/spec/aws.md
 * §10.3; CreateRoute in the EC2 API Reference. */
#include "sim/aws/ec2/ec2_parts.h"

#include "common/base/ip.h"

/* The destination of a request: the member that it is and its canonical text. */
static bool read_destination(struct amz_request *q, const char **ret_member, const char **ret_text)
{
    const char *four = json_str(q->in, "DestinationCidrBlock");
    const char *six = json_str(q->in, "DestinationIpv6CidrBlock");
    const char *text = four ? four : six;
    char canonical[IP_TEXT_MAX];
    struct ip_net net;
    if (!four == !six) {
        return four ? amz_refuse_combination(q, "Exactly one destination must be given")
                    : amz_refuse_missing(q, "destinationCidrBlock");
    }
    if (!ip_net_parse(text, &net) || net.was_mapped || (net.addr.len == 4) != (four != NULL)) {
        return amz_refuse_value(q,
                                "Value (%s) for parameter destinationCidrBlock is invalid. This "
                                "is not a valid CIDR block.",
                                text);
    }
    ip_net_format(&net, canonical);
    *ret_member = four ? "DestinationCidrBlock" : "DestinationIpv6CidrBlock";
    *ret_text = arena_strdup(q->a, canonical);
    return true;
}

static bool check_gateway(struct amz_request *q, struct amz_resource *table, const char *id)
{
    struct amz_resource *gateway = ec2_find(q, AMZ_INTERNET_GATEWAY, id);
    const char *vpc = json_str(table->body, "VpcId");
    return gateway && (amz_find(json_member(gateway->body, "Attachments"), "VpcId", vpc, NULL) ||
                       amz_refuse_value(
                           q, "route table %s and network gateway %s belong to different networks",
                           table->id, id));
}

/* The one instance or interface that a route may go to. */
static bool check_machine(struct amz_request *q, struct amz_resource *table, const char *instance,
                          const char *nic)
{
    struct amz_resource *res = instance ? ec2_find(q, AMZ_INSTANCE, instance) : NULL;
    for (struct amz_resource *r = amz_first(q->aws, AMZ_INSTANCE); nic && !res && r; r = r->next) {
        if (amz_find(json_member(r->body, "NetworkInterfaces"), "NetworkInterfaceId", nic, NULL)) {
            res = r;
        }
    }
    if (!res) {
        return instance ? false : ec2_find(q, AMZ_INTERFACE, nic) != NULL;
    }
    return str_eq(json_str(res->body, "VpcId"), json_str(table->body, "VpcId")) ||
           amz_refuse_value(q, "route table %s and instance %s belong to different networks",
                            table->id, res->id);
}

static bool find_target(struct amz_request *q, struct amz_resource *table, const char **ret_member,
                        const char **ret_id)
{
    static const char *const targets[] = {"GatewayId", "InstanceId", "NetworkInterfaceId"};
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
        const char *id = json_str(q->in, targets[i]);
        if (id) {
            *ret_member = targets[i];
            *ret_id = id;
            n++;
        }
    }
    if (n != 1) {
        return n ? amz_refuse_combination(q, "Exactly one target must be given")
                 : amz_refuse_missing(q, "gatewayId");
    }
    return str_eq(*ret_member, "GatewayId") ? check_gateway(q, table, *ret_id)
                                            : check_machine(q, table, json_str(q->in, "InstanceId"),
                                                            json_str(q->in, "NetworkInterfaceId"));
}

bool ec2_create_route(struct amz_request *q)
{
    static const char *const taken[] = {"RouteTableId",
                                        "DestinationCidrBlock",
                                        "DestinationIpv6CidrBlock",
                                        "GatewayId",
                                        "InstanceId",
                                        "NetworkInterfaceId",
                                        NULL};
    const char *member, *destination, *target = NULL, *id = NULL;
    if (!ec2_only(q, taken)) {
        return false;
    }
    struct amz_resource *table = ec2_find(q, AMZ_ROUTE_TABLE, json_str(q->in, "RouteTableId"));
    if (!table || !read_destination(q, &member, &destination) ||
        !find_target(q, table, &target, &id)) {
        return false;
    }
    struct json_object *routes = amz_list(table->body, "Routes");
    if (amz_find(routes, member, destination, NULL)) {
        return amz_refuse(q, "RouteAlreadyExists", "The route identified by %s already exists.",
                          destination);
    }
    json_object_array_add(routes, ec2_route_doc(member, destination, target, id, "CreateRoute"));
    return true;
}

bool ec2_delete_route(struct amz_request *q)
{
    static const char *const taken[] = {"RouteTableId", "DestinationCidrBlock",
                                        "DestinationIpv6CidrBlock", NULL};
    const char *member, *destination;
    size_t at;
    if (!ec2_only(q, taken)) {
        return false;
    }
    struct amz_resource *table = ec2_find(q, AMZ_ROUTE_TABLE, json_str(q->in, "RouteTableId"));
    if (!table || !read_destination(q, &member, &destination)) {
        return false;
    }
    struct json_object *routes = amz_list(table->body, "Routes");
    struct json_object *route = amz_find(routes, member, destination, &at);
    if (!route) {
        return amz_refuse(q, "InvalidRoute.NotFound",
                          "no route with destination-cidr-block %s in route table %s", destination,
                          table->id);
    }
    if (str_eq(json_str(route, "GatewayId"), "local")) {
        return amz_refuse_value(q, "cannot remove local route %s in route table %s", destination,
                                table->id);
    }
    amz_remove_at(routes, at);
    return true;
}
