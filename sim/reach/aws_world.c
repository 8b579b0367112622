/* SPDX-License-Identifier: Apache-2.0 */
/* aws_world.c: what balancers refer to in a world of AWS: instances, interfaces, subnets, route
 * tables, groups.
 *
 * A balancer sends to the first network interface of an instance, and so that one's groups count.
 * Only running instances are kept.  Source: see aws.h. */
#include "sim/reach/aws.h"

#include <string.h>

#include "common/base/ip.h"
#include "common/base/str.h"

/* --- instances -------------------------------------------------------------------------------- */

/* The interface with device index 0, or NULL. */
static struct json_object *first_interface(struct json_object *instance)
{
    struct json_object *list = json_member(instance, "NetworkInterfaces");
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *one = json_object_array_get_idx(list, i);
        if (json_int(json_member(one, "Attachment"), "DeviceIndex", (int64_t)i) == 0) {
            return one;
        }
    }
    return NULL;
}

static const char *first_ipv6(struct json_object *interface)
{
    struct json_object *list = json_member(interface, "Ipv6Addresses");
    return json_len(list) > 0 ? json_str(json_object_array_get_idx(list, 0), "Ipv6Address") : NULL;
}

static bool runs(struct json_object *instance)
{
    return str_eq(json_str(json_member(instance, "State"), "Name"), "running");
}

static void add_instance(struct reach_aws *w, struct json_object *instance)
{
    const char *id = json_str(instance, "InstanceId");
    struct json_object *interface = first_interface(instance);
    struct json_object *groups = json_member(interface, "Groups");
    if (id == NULL || !runs(instance)) {
        return;
    }
    if (json_len(groups) == 0) {
        groups = json_member(instance, "SecurityGroups");
    }
    struct reach_aws_host *host = ARENA_NEW(w->a, struct reach_aws_host);
    *host = (struct reach_aws_host){
        .name = str_or(json_str(instance, "PrivateDnsName"), id),
        .zone = json_str(json_member(instance, "Placement"), "AvailabilityZone"),
        .ipv4 = json_str(instance, "PrivateIpAddress"),
        .ipv6 = first_ipv6(interface),
        .groups = reach_aws_set_of(w->groups, groups),
    };
    map_set(w->instances, id, host);
}

/* Calls fn for every instance, whatever its state. */
static void each_instance(struct reach_aws *w,
                          void (*fn)(struct reach_aws *w, struct json_object *instance))
{
    struct json_object *reservations = json_member(w->ec2, "Reservations");
    for (size_t i = 0; i < json_len(reservations); i++) {
        struct json_object *list =
            json_member(json_object_array_get_idx(reservations, i), "Instances");
        for (size_t k = 0; k < json_len(list); k++) {
            fn(w, json_object_array_get_idx(list, k));
        }
    }
}

/* --- subnets ---------------------------------------------------------------------------------- */

/* Route tables, by the id of the subnet with which they are associated, or of the VPC whose main
 * table they are. */
static void index_tables(struct reach_aws *w, struct map *by_subnet, struct map *by_vpc)
{
    struct json_object *tables = json_member(w->ec2, "RouteTables");
    for (size_t i = 0; i < json_len(tables); i++) {
        struct json_object *table = json_object_array_get_idx(tables, i);
        struct json_object *list = json_member(table, "Associations");
        for (size_t k = 0; k < json_len(list); k++) {
            struct json_object *one = json_object_array_get_idx(list, k);
            const char *subnet = json_str(one, "SubnetId");
            const char *vpc = json_str(table, "VpcId");
            if (subnet != NULL) {
                map_set(by_subnet, subnet, table);
            } else if (vpc != NULL && json_bool(one, "Main", false)) {
                map_set(by_vpc, vpc, table);
            }
        }
    }
}

static struct reach_ranges answered_by(struct arena *a, struct json_object *table)
{
    struct reach_ranges all = REACH_NOBODY;
    struct json_object *routes = json_member(table, "Routes");
    for (size_t i = 0; i < json_len(routes); i++) {
        struct json_object *one = json_object_array_get_idx(routes, i);
        const char *gateway = str_nonnull(json_str(one, "GatewayId"));
        bool leads = str_has_prefix(gateway, "igw-") || str_eq(gateway, "local");
        if (leads && !str_eq(json_str(one, "State"), "blackhole")) {
            const char *ipv6 = json_str(one, "DestinationIpv6CidrBlock");
            const char *to = str_or(json_str(one, "DestinationCidrBlock"), ipv6);
            all = reach_ranges_or(a, all, reach_ranges_of(a, to));
        }
    }
    return all;
}

static const char *ipv6_block(struct json_object *subnet)
{
    struct json_object *list = json_member(subnet, "Ipv6CidrBlockAssociationSet");
    return json_len(list) > 0 ? json_str(json_object_array_get_idx(list, 0), "Ipv6CidrBlock")
                              : NULL;
}

static void index_subnets(struct reach_aws *w)
{
    struct map *by_subnet = reach_map(w->a);
    struct map *by_vpc = reach_map(w->a);
    struct json_object *list = json_member(w->ec2, "Subnets");
    index_tables(w, by_subnet, by_vpc);
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *one = json_object_array_get_idx(list, i);
        const char *id = str_nonnull(json_str(one, "SubnetId"));
        struct json_object *table = map_get(by_subnet, id);
        if (table == NULL) {
            table = map_get(by_vpc, str_nonnull(json_str(one, "VpcId")));
        }
        struct reach_aws_subnet *subnet = ARENA_NEW(w->a, struct reach_aws_subnet);
        *subnet = (struct reach_aws_subnet){
            .zone = str_nonnull(json_str(one, "AvailabilityZone")),
            .ipv4 = reach_ranges_of(w->a, json_str(one, "CidrBlock")),
            .ipv6 = reach_ranges_of(w->a, ipv6_block(one)),
            .answers =
                table != NULL ? answered_by(w->a, table) : reach_ranges_all(w->a, true, true),
        };
        map_set(w->subnets, id, subnet);
    }
}

void reach_aws_world_init(struct reach_aws *w, struct reach *r, struct json_object *world)
{
    struct json_object *aws = json_member(world, "aws");
    *w = (struct reach_aws){
        .reach = r,
        .a = reach_arena(r),
        .ec2 = json_member(aws, "ec2"),
        .elb = json_member(aws, "elb"),
        .elbv2 = json_member(aws, "elbv2"),
        .cluster = reach_cluster(r, world),
    };
    w->families[0] = reach_ranges_all(w->a, true, false);
    w->families[1] = reach_ranges_all(w->a, false, true);
    w->groups = reach_aws_groups_new(w->a, json_member(w->ec2, "SecurityGroups"));
    w->instances = reach_map(w->a);
    w->subnets = reach_map(w->a);
    each_instance(w, add_instance);
    index_subnets(w);
}

/* --- interfaces ------------------------------------------------------------------------------- */

/* One network interface; `zone` is that of its instance, or NULL. */
typedef void interface_fn(struct reach_aws *w, struct json_object *interface, const char *zone);

static void each_of_instance(struct reach_aws *w, struct json_object *instance, interface_fn *fn)
{
    const char *zone = json_str(json_member(instance, "Placement"), "AvailabilityZone");
    struct json_object *list = json_member(instance, "NetworkInterfaces");
    for (size_t i = 0; runs(instance) && i < json_len(list); i++) {
        fn(w, json_object_array_get_idx(list, i), zone);
    }
}

static void each_free_interface(struct reach_aws *w, interface_fn *fn)
{
    struct json_object *list = json_member(w->ec2, "NetworkInterfaces");
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *one = json_object_array_get_idx(list, i);
        fn(w, one, json_str(one, "AvailabilityZone"));
    }
}

/* All addresses of an interface, the first one at least once. */
static size_t addresses_of(struct arena *a, struct json_object *interface, const char ***ret)
{
    struct json_object *four = json_member(interface, "PrivateIpAddresses");
    struct json_object *six = json_member(interface, "Ipv6Addresses");
    const char **at = ARENA_ARRAY(a, const char *, json_len(four) + json_len(six) + 1);
    size_t n = 0;
    at[n++] = json_str(interface, "PrivateIpAddress");
    for (size_t i = 0; i < json_len(four); i++) {
        at[n++] = json_str(json_object_array_get_idx(four, i), "PrivateIpAddress");
    }
    for (size_t i = 0; i < json_len(six); i++) {
        at[n++] = json_str(json_object_array_get_idx(six, i), "Ipv6Address");
    }
    *ret = at;
    return n;
}

/* The one spelling of an address; NULL if it is not one. */
static const char *canonical(struct arena *a, const char *address)
{
    struct ip_addr ip;
    char text[IP_TEXT_MAX];
    if (address == NULL || !ip_parse(address, &ip)) {
        return NULL;
    }
    ip_format(&ip, text);
    return arena_strdup(a, text);
}

static void add_addresses(struct reach_aws *w, struct json_object *interface, const char *zone)
{
    const char **at;
    size_t n = addresses_of(w->a, interface, &at);
    for (size_t i = 0; i < n; i++) {
        const char *text = canonical(w->a, at[i]);
        if (text != NULL) {
            struct reach_aws_host *host = ARENA_NEW(w->a, struct reach_aws_host);
            bool six = strchr(text, ':') != NULL;
            *host = (struct reach_aws_host){
                .name = six ? arena_printf(w->a, "[%s]", text) : text,
                .zone = zone,
                .ipv4 = six ? NULL : text,
                .ipv6 = six ? text : NULL,
                .groups = reach_aws_set_of(w->groups, json_member(interface, "Groups")),
            };
            map_set(w->addresses, text, host);
        }
    }
}

static void add_instance_addresses(struct reach_aws *w, struct json_object *instance)
{
    each_of_instance(w, instance, add_addresses);
}

const struct reach_aws_host *reach_aws_host_at(struct reach_aws *w, const char *address)
{
    if (w->addresses == NULL) {
        w->addresses = reach_map(w->a);
        each_instance(w, add_instance_addresses);
        each_free_interface(w, add_addresses);
    }
    const char *text = canonical(w->a, address);
    return text != NULL ? map_get(w->addresses, text) : NULL;
}

/* --- who bears a group ------------------------------------------------------------------------ */

static void add_bearer(struct reach_aws *w, struct json_object *interface, const char *zone)
{
    (void)zone;
    struct json_object *groups = json_member(interface, "Groups");
    const char **at;
    size_t n = addresses_of(w->a, interface, &at);
    for (size_t i = 0; i < json_len(groups); i++) {
        const char *id = json_str(json_object_array_get_idx(groups, i), "GroupId");
        struct reach_ranges *have = map_get(w->bearers, str_nonnull(id));
        if (have == NULL) {
            have = ARENA_NEW(w->a, struct reach_ranges);
            map_set(w->bearers, str_nonnull(id), have);
        }
        for (size_t k = 0; k < n; k++) {
            *have = reach_ranges_or(w->a, *have, reach_ranges_of(w->a, at[k]));
        }
    }
}

static void add_instance_bearers(struct reach_aws *w, struct json_object *instance)
{
    each_of_instance(w, instance, add_bearer);
}

struct found {
    struct reach_aws *world;
    struct reach_ranges all;
};

static void add_bearers_of(const char *group_id, void *arg)
{
    struct found *f = arg;
    const struct reach_ranges *have = map_get(f->world->bearers, group_id);
    f->all = reach_ranges_or(f->world->a, f->all, have != NULL ? *have : REACH_NOBODY);
}

struct reach_ranges reach_aws_bearers(struct reach_aws *w, struct reach_aws_set *s,
                                      struct reach_aws_packet p)
{
    struct found f = {w, REACH_NOBODY};
    if (w->bearers == NULL) {
        w->bearers = reach_map(w->a);
        each_instance(w, add_instance_bearers);
        each_free_interface(w, add_bearer);
    }
    reach_aws_set_each_group(s, p, add_bearers_of, &f);
    return f.all;
}
