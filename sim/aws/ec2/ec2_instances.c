/* SPDX-License-Identifier: Apache-2.0 */
/* ec2_instances.c: instances as requests see them: describe, run, modify.
 *
 * DescribeInstances pages by instance and shows each in its reservation; MaxResults goes with
 * filters, never with ids.  RunInstances makes instances that run at once, in one reservation; a
 * client token that was seen answers with what it made.
 * Source: docs/spec/aws.md §3.4, §6.3, §6.4, §10.3. */
#include "sim/aws/ec2/ec2_parts.h"

#include <string.h>

/* --- describe --------------------------------------------------------------------------------- */

static const struct ec2_filter instance_filters[] = {
    {"architecture", "Architecture"},
    {"availability-zone", "Placement.AvailabilityZone"},
    {"client-token", "ClientToken"},
    {"dns-name", "PublicDnsName"},
    {"image-id", "ImageId"},
    {"instance-id", "InstanceId"},
    {"instance-lifecycle", "InstanceLifecycle"},
    {"instance-state-code", "State.Code"},
    {"instance-state-name", "State.Name"},
    {"instance-type", "InstanceType"},
    {"instance.group-id", "SecurityGroups.GroupId"},
    {"instance.group-name", "SecurityGroups.GroupName"},
    {"ip-address", "PublicIpAddress"},
    {"ipv6-address", "Ipv6Address"},
    {"key-name", "KeyName"},
    {"launch-time", "LaunchTime"},
    {"network-interface.addresses.private-ip-address",
     "NetworkInterfaces.PrivateIpAddresses.PrivateIpAddress"},
    {"network-interface.group-id", "NetworkInterfaces.Groups.GroupId"},
    {"network-interface.network-interface-id", "NetworkInterfaces.NetworkInterfaceId"},
    {"network-interface.private-dns-name", "NetworkInterfaces.PrivateDnsName"},
    {"network-interface.subnet-id", "NetworkInterfaces.SubnetId"},
    {"network-interface.vpc-id", "NetworkInterfaces.VpcId"},
    {"platform-details", "PlatformDetails"},
    {"private-dns-name", "PrivateDnsName"},
    {"private-ip-address", "PrivateIpAddress"},
    {"root-device-type", "RootDeviceType"},
    {"source-dest-check", "SourceDestCheck"},
    {"subnet-id", "SubnetId"},
    {"tenancy", "Placement.Tenancy"},
    {"virtualization-type", "VirtualizationType"},
    {"vpc-id", "VpcId"},
    {NULL, NULL},
};
static const struct ec2_listing instances = {AMZ_INSTANCE, "InstanceIds", "Reservations",
                                             instance_filters};

/* The page's instances, each in its reservation; takes `page` over. */
static struct json_object *in_reservations(struct aws *aws, struct json_object *page)
{
    struct json_object *list = json_object_new_array();
    struct map *by_id = map_new(NULL);
    for (size_t i = 0; i < json_len(page); i++) {
        struct json_object *instance = json_object_array_get_idx(page, i);
        struct amz_resource *res = amz_get(aws, AMZ_INSTANCE, json_str(instance, "InstanceId"));
        const char *id = str_nonnull(res->parent);
        struct json_object *home = map_get(by_id, id);
        if (!home) {
            struct amz_resource *reservation = amz_get(aws, AMZ_RESERVATION, id);
            home = reservation ? json_copy(reservation->body) : json_object_new_object();
            map_set(by_id, id, home);
            json_object_array_add(list, home);
        }
        json_object_array_add(amz_list(home, "Instances"), json_object_get(instance));
    }
    map_free(by_id);
    json_object_put(page);
    return list;
}

static bool check_ids_alone(struct amz_request *q)
{
    if (json_len(json_member(q->in, "InstanceIds")) && json_member(q->in, "MaxResults")) {
        return amz_refuse_combination(
            q, "The parameter instancesSet cannot be used with the parameter maxResults");
    }
    return true;
}

bool ec2_describe_instances(struct amz_request *q)
{
    ec2_forget_terminated(q->aws);
    if (!check_ids_alone(q) || !ec2_check_page(q, 5, 1000)) {
        return false;
    }
    struct json_object *found = ec2_select(q, &instances);
    if (!found || !amz_page(q, "Reservations", found, EC2_PAGE_MAX)) {
        return false;
    }
    struct json_object *page = json_object_get(json_member(q->out, "Reservations"));
    json_object_object_add(q->out, "Reservations", in_reservations(q->aws, page));
    return true;
}

/* --- topology --------------------------------------------------------------------------------- */

static const struct ec2_filter topology_filters[] = {
    {"availability-zone", "Placement.AvailabilityZone"},
    {"instance-type", "InstanceType"},
    {NULL, NULL},
};

/* Three layers of the network above an instance: of the region, of its zone, of its subnet. */
static struct json_object *topology_of(struct aws *aws, struct arena *a, struct json_object *i)
{
    struct json_object *o = json_object_new_object(), *nodes = json_object_new_array();
    const char *zone = str_nonnull(json_str(json_member(i, "Placement"), "AvailabilityZone"));
    struct amz_resource *z = amz_get(aws, AMZ_ZONE, zone);
    const char *above[] = {aws->region, zone, str_nonnull(json_str(i, "SubnetId"))};
    for (size_t k = 0; k < ARRAY_LEN(above); k++) {
        json_push_str(nodes, ec2_derived_id(a, "nn-", above[k]));
    }
    json_add_str(o, "AvailabilityZone", zone);
    json_add_str(o, "InstanceId", json_str(i, "InstanceId"));
    json_add_str(o, "InstanceType", json_str(i, "InstanceType"));
    json_add(o, "NetworkNodes", nodes);
    json_add_str(o, "ZoneId", z ? json_str(z->body, "ZoneId") : NULL);
    return o;
}

bool ec2_describe_instance_topology(struct amz_request *q)
{
    static const struct ec2_listing listing = {AMZ_INSTANCE, "InstanceIds", "Instances",
                                               topology_filters};
    static const char *const taken[] = {"Filters", "InstanceIds", "MaxResults", "NextToken", NULL};
    ec2_forget_terminated(q->aws);
    if (!ec2_only(q, taken) || !check_ids_alone(q)) {
        return false;
    }
    struct json_object *found = ec2_select(q, &listing), *list = json_object_new_array();
    for (size_t i = 0; i < json_len(found); i++) {
        struct json_object *one = json_object_array_get_idx(found, i);
        if (json_str(one, "SubnetId")) {
            json_object_array_add(list, topology_of(q->aws, q->a, one));
        }
    }
    if (!found) {
        json_object_put(list);
        return false;
    }
    json_object_put(found);
    return amz_page(q, "Instances", list, EC2_PAGE_MAX);
}

/* --- run -------------------------------------------------------------------------------------- */

/* Ids of the groups of a request, all in the VPC; none: the default group.  NULL: refused. */
static const char **find_groups(struct amz_request *q, struct json_object *ids, const char *vpc,
                                size_t *ret_n)
{
    size_t n = json_len(ids);
    const char **list = ARENA_ARRAY(q->a, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        const char *id = json_object_get_string(json_object_array_get_idx(ids, i));
        struct amz_resource *group = ec2_find(q, AMZ_SECURITY_GROUP, id);
        if (!group) {
            return NULL;
        }
        if (!str_eq(json_str(group->body, "VpcId"), vpc)) {
            (void)amz_refuse(q, "InvalidGroup.NotFound",
                             "The security group '%s' does not exist in VPC '%s'", id, vpc);
            return NULL;
        }
        list[i] = group->id;
    }
    for (struct amz_resource *g = amz_first(q->aws, AMZ_SECURITY_GROUP); n == 0 && g; g = g->next) {
        if (str_eq(json_str(g->body, "VpcId"), vpc) &&
            str_eq(json_str(g->body, "GroupName"), "default")) {
            list[n++] = g->id;
        }
    }
    *ret_n = n;
    return list;
}

static bool check_counts(struct amz_request *q, int64_t least, int64_t most)
{
    if (least < 1 || most < 1) {
        return amz_refuse_value(q, "Value (%lld) for parameter %s is invalid. Minimum is 1.",
                                (long long)(least < 1 ? least : most),
                                least < 1 ? "minCount" : "maxCount");
    }
    if (least > most) {
        return amz_refuse_value(q,
                                "Invalid value '%lld' for maxCount: must be at least minCount %lld",
                                (long long)most, (long long)least);
    }
    return true;
}

static bool check_address(struct amz_request *q, const char *subnet, int64_t count)
{
    const char *address = json_str(q->in, "PrivateIpAddress");
    if (address && count > 1) {
        return amz_refuse_combination(q, "Only one instance may have the address %s", address);
    }
    return !address || amz_ec2_address_is_free(q->aws, subnet, address) ||
           amz_refuse(q, "InvalidIPAddress.InUse", "Address %s is in use.", address);
}

/* The subnet that is asked for, or the first of the default VPC; NULL: refused. */
static const char *find_subnet(struct amz_request *q)
{
    const char *asked = json_str(q->in, "SubnetId");
    if (asked) {
        struct amz_resource *res = ec2_find(q, AMZ_SUBNET, asked);
        return res ? res->id : NULL;
    }
    struct amz_resource *vpc = ec2_default_vpc(q->aws);
    for (struct amz_resource *s = amz_first(q->aws, AMZ_SUBNET); vpc && s; s = s->next) {
        if (str_eq(json_str(s->body, "VpcId"), vpc->id)) {
            return s->id;
        }
    }
    (void)(vpc ? amz_refuse(q, "MissingInput",
                            "No subnets found for the default VPC '%s'. Please "
                            "specify a subnet.",
                            vpc->id)
               : amz_refuse(q, "VPCIdNotSpecified", "No default VPC for this user"));
    return NULL;
}

/* Answers with the instances (found by their client token or just made) of one reservation. */
static bool answer_reservation(struct amz_request *q, const char *id, bool is_new)
{
    struct amz_resource *reservation = amz_get(q->aws, AMZ_RESERVATION, id);
    json_object_object_foreach(reservation->body, name, value)
    {
        json_add(q->out, name, json_object_get(value));
    }
    for (struct amz_resource *r = amz_first(q->aws, AMZ_INSTANCE); r; r = r->next) {
        if (str_eq(r->parent, id)) {
            struct json_object *copy = json_copy(r->body);
            if (is_new) { /* running by the first read */
                json_object_object_add(copy, "State",
                                       ec2_template("{\"Code\":0,\"Name\":\"pending\"}"));
            }
            json_object_array_add(amz_list(q->out, "Instances"), copy);
        }
    }
    return true;
}

/* The earlier result for the token, or NULL. */
static const char *made_before(struct amz_request *q, const char *token)
{
    for (struct amz_resource *r = amz_first(q->aws, AMZ_INSTANCE); token && r; r = r->next) {
        if (str_eq(json_str(r->body, "ClientToken"), token)) {
            return r->parent;
        }
    }
    return NULL;
}

static bool refuse_full(struct amz_request *q, const char *subnet)
{
    return amz_refuse(q, "InsufficientFreeAddressesInSubnet",
                      "There are not enough free addresses in subnet '%s' to satisfy the "
                      "requested number of instances.",
                      subnet);
}

static bool make_instances(struct amz_request *q, struct amz_ec2_new_instance *spec, int64_t least,
                           int64_t most)
{
    struct amz_ec2_subnet place;
    const char *token = json_str(q->in, "ClientToken");
    if (!amz_ec2_subnet(q->aws, spec->subnet, &place) || place.free_addresses < least) {
        return refuse_full(q, spec->subnet);
    }
    spec->reservation = amz_new_id(q->aws, q->a, "r-");
    for (int i = 0; i < most; i++) {
        spec->index = i;
        const char *id = amz_ec2_add_instance(q->aws, q->a, spec);
        if (!id) {
            break;
        }
        struct amz_resource *made = amz_get(q->aws, AMZ_INSTANCE, id);
        if (token) {
            json_object_object_add(made->body, "ClientToken", json_object_new_string(token));
        }
        amz_unsettle(q->aws, made, NULL);
    }
    return amz_get(q->aws, AMZ_RESERVATION, spec->reservation)
               ? answer_reservation(q, spec->reservation, true)
               : refuse_full(q, spec->subnet);
}

bool ec2_run_instances(struct amz_request *q)
{
    static const char *const taken[] = {
        "ImageId",          "InstanceType",      "MinCount",    "MaxCount",         "SubnetId",
        "SecurityGroupIds", "TagSpecifications", "ClientToken", "PrivateIpAddress", NULL};
    static const char *const also[] = {"volume", "network-interface", NULL};
    const char *image = json_str(q->in, "ImageId");
    const char *before = made_before(q, json_str(q->in, "ClientToken"));
    int64_t least = json_int(q->in, "MinCount", 0), most = json_int(q->in, "MaxCount", 0);
    struct json_object *tags;
    if (before) {
        return answer_reservation(q, before, false);
    }
    if (!ec2_only(q, taken) || !check_counts(q, least, most)) {
        return false;
    }
    if (!image) {
        return amz_refuse_missing(q, "ImageId");
    }
    if (!ec2_id_is_well_formed(image, "ami-")) {
        return amz_refuse(q, "InvalidAMIID.Malformed", "Invalid id: \"%s\" (expecting \"ami-...\")",
                          image);
    }
    struct amz_ec2_new_instance spec = {
        .image = image,
        .type = str_or(json_str(q->in, "InstanceType"), "m1.small"),
        .subnet = find_subnet(q),
        .address = json_str(q->in, "PrivateIpAddress"),
    };
    if (!spec.subnet || !check_address(q, spec.subnet, most)) {
        return false;
    }
    const char *vpc = json_str(amz_get(q->aws, AMZ_SUBNET, spec.subnet)->body, "VpcId");
    spec.groups =
        find_groups(q, json_member(q->in, "SecurityGroupIds"), str_nonnull(vpc), &spec.n_groups);
    if (!spec.groups || !ec2_tags_asked(q, "instance", also, &tags)) {
        return false;
    }
    spec.tags = tags;
    bool ok = make_instances(q, &spec, least, most);
    json_object_put(tags);
    return ok;
}

/* --- modify ----------------------------------------------------------------------------------- */

static bool set_groups(struct amz_request *q, struct amz_resource *res, struct json_object *ids)
{
    size_t n;
    const char *vpc = str_nonnull(json_str(res->body, "VpcId"));
    const char **groups = find_groups(q, ids, vpc, &n);
    if (!groups) {
        return false;
    }
    struct json_object *nics = json_member(res->body, "NetworkInterfaces");
    json_object_object_add(res->body, "SecurityGroups", ec2_group_names(q->aws, groups, n));
    if (json_len(nics)) {
        json_object_object_add(json_object_array_get_idx(nics, 0), "Groups",
                               ec2_group_names(q->aws, groups, n));
    }
    return true;
}

bool ec2_modify_instance_attribute(struct amz_request *q)
{
    static const char *const taken[] = {"InstanceId", "SourceDestCheck", "Groups", NULL};
    struct json_object *check = json_member(q->in, "SourceDestCheck");
    struct json_object *groups = json_member(q->in, "Groups");
    if (!ec2_only(q, taken)) {
        return false;
    }
    struct amz_resource *res = ec2_find(q, AMZ_INSTANCE, json_str(q->in, "InstanceId"));
    if (!res) {
        return false;
    }
    if ((check != NULL) == (json_len(groups) > 0)) {
        return amz_refuse_combination(q, "Exactly one attribute must be given");
    }
    if (!json_str(res->body, "VpcId")) {
        return amz_refuse(q, "IncorrectInstanceState", "Instance '%s' is terminated", res->id);
    }
    if (check) {
        bool on = json_bool(check, "Value", true);
        json_object_object_add(res->body, "SourceDestCheck", json_object_new_boolean(on));
        return true;
    }
    return set_groups(q, res, groups);
}
