/* SPDX-License-Identifier: Apache-2.0 */
/* ec2_machines.c: instances as documents: made, moved from state to state, forgotten.
 *
 * An instance has one network interface in one subnet.  When it is terminated it loses interface,
 * addresses, groups, network and its load balancers, keeps its tags, and stays visible for an hour;
 * when that began stands in StateTransitionReason, as AWS writes it, so that a saved world
 * continues where it was.  Source: docs/spec/aws.md §6.3; Instance in the EC2 API Reference. */
#include "sim/aws/ec2/ec2_parts.h"

#include "common/base/ip.h"

#include <stdlib.h>
#include <string.h>

#define TERMINATED_SHOWN_S 3600
#define FIRST_ADDRESS      4 /* of a subnet; AWS keeps those below and the last */
#define STAMP_FORMAT       "User initiated (%.10s %.8s GMT)"
#define STAMP_PREFIX       "User initiated ("

static const char instance_template[] =
    "{\"Architecture\":\"x86_64\",\"BlockDeviceMappings\":[],\"ClientToken\":\"\","
    "\"EbsOptimized\":false,\"EnaSupport\":true,\"Hypervisor\":\"xen\",\"MetadataOptions\":{"
    "\"HttpEndpoint\":\"enabled\",\"HttpProtocolIpv6\":\"disabled\","
    "\"HttpPutResponseHopLimit\":2,\"HttpTokens\":\"required\","
    "\"InstanceMetadataTags\":\"disabled\",\"State\":\"applied\"},\"Monitoring\":{"
    "\"State\":\"disabled\"},\"PlatformDetails\":\"Linux/UNIX\",\"ProductCodes\":[],"
    "\"PublicDnsName\":\"\",\"RootDeviceName\":\"/dev/xvda\",\"RootDeviceType\":\"ebs\","
    "\"SourceDestCheck\":true,\"StateTransitionReason\":\"\","
    "\"UsageOperation\":\"RunInstances\",\"VirtualizationType\":\"hvm\"}";

/* --- addresses -------------------------------------------------------------------------------- */

static void note_addresses(struct map *taken, struct json_object *nic)
{
    struct json_object *list = json_member(nic, "PrivateIpAddresses");
    const char *one = json_str(nic, "PrivateIpAddress");
    if (one) {
        map_set(taken, one, NULL);
    }
    for (size_t i = 0; i < json_len(list); i++) {
        const char *ip = json_str(json_object_array_get_idx(list, i), "PrivateIpAddress");
        if (ip) {
            map_set(taken, ip, NULL);
        }
    }
}

static void note_balancer(struct map *taken, struct json_object *balancer)
{
    struct json_object *zones = json_member(balancer, "AvailabilityZones");
    for (size_t i = 0; i < json_len(zones); i++) {
        struct json_object *list =
            json_member(json_object_array_get_idx(zones, i), "LoadBalancerAddresses");
        for (size_t k = 0; k < json_len(list); k++) {
            const char *ip = json_str(json_object_array_get_idx(list, k), "PrivateIPv4Address");
            if (ip) {
                map_set(taken, ip, NULL);
            }
        }
    }
}

/* Holders of the private addresses in a VPC, as far as documents name them; map_free() it. */
static struct map *addresses_of(const struct aws *aws, const char *vpc)
{
    static const enum amz_kind_id kinds[] = {AMZ_INSTANCE, AMZ_INTERFACE};
    struct map *taken = map_new(NULL);
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        for (struct amz_resource *r = amz_first(aws, kinds[k]); r; r = r->next) {
            if (str_eq(json_str(r->body, "VpcId"), vpc)) {
                struct json_object *nics = json_member(r->body, "NetworkInterfaces");
                note_addresses(taken, r->body);
                for (size_t i = 0; i < json_len(nics); i++) {
                    note_addresses(taken, json_object_array_get_idx(nics, i));
                }
            }
        }
    }
    for (struct amz_resource *r = amz_first(aws, AMZ_LOAD_BALANCER); r; r = r->next) {
        if (str_eq(json_str(r->body, "VpcId"), vpc)) {
            note_balancer(taken, r->body);
        }
    }
    return taken;
}

static bool subnet_net(const struct aws *aws, const char *subnet, struct ip_net *ret,
                       const char **ret_vpc)
{
    struct amz_resource *res = amz_get(aws, AMZ_SUBNET, subnet);
    *ret_vpc = res ? str_nonnull(json_str(res->body, "VpcId")) : "";
    return res && ip_net_parse(str_nonnull(json_str(res->body, "CidrBlock")), ret) &&
           ret->addr.len == 4;
}

char *amz_ec2_pick_address(struct aws *aws, struct arena *a, const char *subnet)
{
    struct ip_net net;
    struct ip_addr ip;
    const char *vpc;
    char text[IP_TEXT_MAX], *found = NULL;
    if (!subnet_net(aws, subnet, &net, &vpc)) {
        return NULL;
    }
    struct ip_addr last = ip_net_last(&net);
    struct map *taken = addresses_of(aws, vpc);
    for (uint64_t i = FIRST_ADDRESS; !found && ip_net_nth(&net, i, &ip) && !ip_eq(&ip, &last);
         i++) {
        ip_format(&ip, text);
        found = map_has(taken, text) ? NULL : arena_strdup(a, text);
    }
    map_free(taken);
    return found;
}

bool amz_ec2_address_is_free(struct aws *aws, const char *subnet, const char *address)
{
    struct ip_net net;
    struct ip_addr ip, kept;
    const char *vpc;
    if (!subnet_net(aws, subnet, &net, &vpc) || !ip_parse(address, &ip) ||
        !ip_net_contains(&net, &ip)) {
        return false;
    }
    for (uint64_t i = 0; i < FIRST_ADDRESS; i++) {
        if (ip_net_nth(&net, i, &kept) && ip_eq(&ip, &kept)) {
            return false;
        }
    }
    kept = ip_net_last(&net);
    struct map *taken = addresses_of(aws, vpc);
    bool is_free = !ip_eq(&ip, &kept) && !map_has(taken, address);
    map_free(taken);
    return is_free;
}

/* --- making ----------------------------------------------------------------------------------- */

struct json_object *ec2_group_names(const struct aws *aws, const char *const *ids, size_t n)
{
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < n; i++) {
        struct amz_resource *group = amz_get(aws, AMZ_SECURITY_GROUP, ids[i]);
        struct json_object *o = json_object_new_object();
        json_add_str(o, "GroupId", ids[i]);
        json_add_str(o, "GroupName", group ? json_str(group->body, "GroupName") : "");
        json_object_array_add(list, o);
    }
    return list;
}

/* The names that EC2's DNS gives to addresses of this region. */
static char *dns_name(const struct aws *aws, struct arena *a, const char *address)
{
    bool first = str_eq(aws->region, "us-east-1");
    return arena_printf(a, "ip-%s.%s%s", str_replace(a, address, ".", "-"),
                        first ? "ec2" : aws->region, first ? ".internal" : ".compute.internal");
}

static struct json_object *interface_of(struct aws *aws, struct arena *a,
                                        const struct amz_ec2_new_instance *spec,
                                        struct json_object *instance)
{
    struct json_object *nic = json_object_new_object(), *attachment = json_object_new_object();
    struct json_object *primary = json_object_new_object();
    const char *address = json_str(instance, "PrivateIpAddress");
    uint64_t mac = rng_u64(sim_rng(aws->sim));
    json_add_str(attachment, "AttachTime", json_str(instance, "LaunchTime"));
    json_add_str(attachment, "AttachmentId", amz_new_id(aws, a, "eni-attach-"));
    json_add_bool(attachment, "DeleteOnTermination", true);
    json_add_int(attachment, "DeviceIndex", 0);
    json_add_int(attachment, "NetworkCardIndex", 0);
    json_add_str(attachment, "Status", "attached");
    json_add_bool(primary, "Primary", true);
    json_add_str(primary, "PrivateIpAddress", address);
    json_add(nic, "Attachment", attachment);
    json_add_str(nic, "Description", "");
    json_add(nic, "Groups", ec2_group_names(aws, spec->groups, spec->n_groups));
    json_add_str(nic, "InterfaceType", "interface");
    json_add_str(nic, "MacAddress",
                 arena_printf(a, "02:%02x:%02x:%02x:%02x:%02x", (unsigned)(mac & 255),
                              (unsigned)(mac >> 8 & 255), (unsigned)(mac >> 16 & 255),
                              (unsigned)(mac >> 24 & 255), (unsigned)(mac >> 32 & 255)));
    json_add_str(nic, "NetworkInterfaceId", amz_new_id(aws, a, "eni-"));
    json_add_str(nic, "OwnerId", AMZ_ACCOUNT);
    json_add_str(nic, "PrivateDnsName", json_str(instance, "PrivateDnsName"));
    json_add_str(nic, "PrivateIpAddress", address);
    json_object_array_add(amz_list(nic, "PrivateIpAddresses"), primary);
    if (spec->ipv6) {
        struct json_object *six = json_object_new_object();
        json_add_str(six, "Ipv6Address", spec->ipv6);
        json_object_array_add(amz_list(nic, "Ipv6Addresses"), six);
    }
    json_add_bool(nic, "SourceDestCheck", true);
    json_add_str(nic, "Status", "in-use");
    json_add_str(nic, "SubnetId", spec->subnet);
    json_add_str(nic, "VpcId", json_str(instance, "VpcId"));
    return nic;
}

static struct json_object *state_json(const char *name)
{
    static const struct {
        const char *name;
        int code;
    } states[] = {{"pending", 0},     {"running", 16},  {"shutting-down", 32},
                  {"terminated", 48}, {"stopping", 64}, {"stopped", 80}};
    struct json_object *o = json_object_new_object();
    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        if (str_eq(states[i].name, name)) {
            json_add_int(o, "Code", states[i].code);
        }
    }
    json_add_str(o, "Name", name);
    return o;
}

void amz_ec2_count_addresses(struct aws *aws, const char *subnet, int64_t by)
{
    struct amz_resource *res = amz_get(aws, AMZ_SUBNET, subnet);
    int64_t n = res ? json_int(res->body, "AvailableIpAddressCount", 0) + by : 0;
    if (res) {
        json_object_object_add(res->body, "AvailableIpAddressCount",
                               json_object_new_int64(n < 0 ? 0 : n));
    }
}

static void put_in_reservation(struct aws *aws, struct arena *a, struct amz_resource *instance,
                               const char *id)
{
    const char *reservation = str_or(id, NULL);
    if (!reservation) {
        reservation = amz_new_id(aws, a, "r-");
    }
    if (!amz_get(aws, AMZ_RESERVATION, reservation)) {
        struct json_object *o = json_object_new_object();
        json_add(o, "Groups", json_object_new_array());
        json_add_str(o, "OwnerId", AMZ_ACCOUNT);
        json_add_str(o, "ReservationId", reservation);
        (void)amz_set(aws, AMZ_RESERVATION, reservation, o);
    }
    free(instance->parent);
    instance->parent = xstrdup(reservation);
}

const char *amz_ec2_add_instance(struct aws *aws, struct arena *a,
                                 const struct amz_ec2_new_instance *spec)
{
    struct amz_resource *subnet = amz_get(aws, AMZ_SUBNET, spec->subnet);
    const char *address = str_or(spec->address, NULL);
    if (subnet && !address) {
        address = amz_ec2_pick_address(aws, a, spec->subnet);
    }
    if (!subnet || !address) {
        return NULL;
    }
    const char *id = spec->id ? spec->id : amz_new_id(aws, a, "i-");
    struct json_object *o = ec2_template(instance_template), *place = json_object_new_object();
    json_add_str(place, "AvailabilityZone", json_str(subnet->body, "AvailabilityZone"));
    json_add_str(place, "GroupName", "");
    json_add_str(place, "Tenancy", "default");
    json_add_int(o, "AmiLaunchIndex", spec->index);
    json_add_str(o, "ImageId", str_or(spec->image, "ami-0123456789abcdef0"));
    json_add_str(o, "InstanceId", id);
    json_add_str(o, "InstanceType", str_or(spec->type, "m5.large"));
    json_add_str(o, "Ipv6Address", spec->ipv6);
    json_add_str(o, "LaunchTime", amz_now(aws, a));
    json_add(o, "Placement", place);
    json_add_str(o, "PrivateDnsName", dns_name(aws, a, address));
    json_add_str(o, "PrivateIpAddress", address);
    json_add(o, "SecurityGroups", ec2_group_names(aws, spec->groups, spec->n_groups));
    json_add(o, "State", state_json("running"));
    json_add_str(o, "SubnetId", spec->subnet);
    json_add_str(o, "VpcId", json_str(subnet->body, "VpcId"));
    amz_tags_put(amz_list(o, "Tags"), spec->tags);
    json_object_array_add(amz_list(o, "NetworkInterfaces"), interface_of(aws, a, spec, o));
    put_in_reservation(aws, a, amz_set(aws, AMZ_INSTANCE, id, o), spec->reservation);
    amz_ec2_count_addresses(aws, spec->subnet, -1);
    return id;
}

/* --- states ----------------------------------------------------------------------------------- */

/* Time of termination (wall, s); -1 if it was not terminated or the time is unknown. */
static int64_t terminated_at(struct json_object *instance)
{
    const char *why = str_nonnull(json_str(instance, "StateTransitionReason"));
    const size_t at = strlen(STAMP_PREFIX);
    char text[32] = "";
    int64_t us;
    if (!str_eq(json_str(json_member(instance, "State"), "Name"), "terminated") ||
        !str_has_prefix(why, STAMP_PREFIX) || strlen(why) < at + 19) {
        return -1;
    }
    memcpy(text, why + at, 19); /* "2026-01-02 15:04:05" */
    text[10] = 'T';
    text[19] = 'Z';
    return time_parse_rfc3339(text, &us) ? us / 1000000 : -1;
}

bool ec2_is_forgotten(const struct aws *aws, struct json_object *instance)
{
    int64_t at = terminated_at(instance);
    return at >= 0 && clock_wall_s(sim_clock(aws->sim)) - at >= TERMINATED_SHOWN_S;
}

/* The last instance of a reservation takes it along. */
static void drop_if_empty(struct aws *aws, const char *reservation)
{
    struct amz_resource *r = amz_first(aws, AMZ_INSTANCE);
    while (r && !str_eq(r->parent, reservation)) {
        r = r->next;
    }
    if (!r) {
        amz_unset(aws, AMZ_RESERVATION, reservation);
    }
}

void ec2_forget_terminated(struct aws *aws)
{
    struct amz_resource *next;
    for (struct amz_resource *r = amz_first(aws, AMZ_INSTANCE); r; r = next) {
        next = r->next;
        if (ec2_is_forgotten(aws, r->body)) {
            char *reservation = xstrdup(str_nonnull(r->parent));
            amz_unset(aws, AMZ_INSTANCE, r->id);
            drop_if_empty(aws, reservation);
            free(reservation);
        }
    }
}

bool amz_ec2_set_instance_state(struct aws *aws, const char *instance, const char *state)
{
    static const char *const lost[] = {"PrivateIpAddress", "Ipv6Address", "SubnetId", "VpcId"};
    struct amz_resource *res = amz_get(aws, AMZ_INSTANCE, instance);
    char now[32];
    if (!res) {
        return false;
    }
    json_object_object_add(res->body, "State", state_json(state));
    time_format_rfc3339(clock_wall_us(sim_clock(aws->sim)), now);
    char *why = xasprintf(STAMP_FORMAT, now, now + strlen("2026-01-02T"));
    bool ends = str_eq(state, "terminated") || str_has_prefix(state, "s");
    json_object_object_add(res->body, "StateTransitionReason",
                           json_object_new_string(ends ? why : ""));
    free(why);
    if (str_eq(state, "terminated")) {
        amz_ec2_count_addresses(aws, json_str(res->body, "SubnetId"), 1);
        for (size_t i = 0; i < ARRAY_LEN(lost); i++) {
            json_object_object_del(res->body, lost[i]);
        }
        json_object_object_add(res->body, "NetworkInterfaces", json_object_new_array());
        json_object_object_add(res->body, "SecurityGroups", json_object_new_array());
        json_object_object_add(res->body, "PrivateDnsName", json_object_new_string(""));
        amz_balancers_expect_end(aws, instance);
    }
    return true;
}
