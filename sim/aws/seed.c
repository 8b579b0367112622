/* SPDX-License-Identifier: Apache-2.0 */
/* seed.c: the start of a simulated AWS: one VPC with a public subnet per zone, groups, and its
 * nodes.
 *
 * The resources that a cluster's installer creates: subnets tagged for the cluster and both roles
 * of balancers, an internet gateway, the main route table, the VPC's default group and a tagged
 * group for the nodes.  Nodes are instances with the cluster's tag, named by their private DNS name
 * as upstream expects; the tag Name holds node-N, under which the control API knows them.  In a
 * loaded world new nodes look like its first instance.
 * Source: docs/spec/aws.md §4.9, §6, §10.3. */
#include "common/base/ip.h"
#include "sim/aws/ec2/ec2.h"

#include <ctype.h>
#include <string.h>

#define CLUSTER_TAG "kubernetes.io/cluster/"
#define FIRST_HOST  10 /* offset in the subnet; AWS keeps the first four */
#define IPV6_VPC    "2600:1f18:42::/56"

static struct json_object *parse(const char *text)
{
    struct json_object *o = NULL;
    return json_parse(text, strlen(text), NULL, &o, NULL) == ERR_OK ? o : json_object_new_object();
}

static void add(struct aws *aws, enum amz_kind_id kind, const char *text)
{
    struct json_object *o = parse(text);
    (void)amz_set(aws, kind, json_str(o, amz_kinds[kind].id), o);
}

char *amz_region_of_zone(struct arena *a, const char *zone)
{
    size_t n = 0;
    for (size_t at = 0;;) { /* letters and '-', as often as they come, then digits */
        size_t letters = 0;
        while (isalpha((unsigned char)zone[at + letters])) {
            letters++;
        }
        if (letters == 0 || zone[at + letters] != '-') {
            break;
        }
        at += letters + 1;
        n = at + strspn(zone + at, "0123456789");
        if (n > at) {
            return arena_strndup(a, zone, n);
        }
    }
    return NULL;
}

/* --- the network ------------------------------------------------------------------------------ */

/* The i-th of n equal parts of 10.0.0.0/16: few zones have room for many nodes. */
static char *subnet_cidr(struct arena *a, size_t i, size_t n)
{
    int bits = n <= 4 ? 18 : n <= 16 ? 20 : 22;
    unsigned offset = (unsigned)i << (32 - bits);
    return arena_printf(a, "10.0.%u.0/%d", offset >> 8 & 255, bits);
}

static const char *ipv6_set(struct arena *a, bool ipv6, const char *kind, const char *cidr)
{
    return !ipv6 ? ""
                 : arena_printf(a,
                                "{\"AssociationId\":\"%s-cidr-assoc-6\",\"Ipv6CidrBlock\":\"%s\","
                                "\"Ipv6CidrBlockState\":{\"State\":\"associated\"}}",
                                kind, cidr);
}

static void seed_vpc(struct aws *aws, struct arena *a, bool ipv6)
{
    add(aws, AMZ_VPC,
        arena_printf(a,
                     "{\"CidrBlock\":\"10.0.0.0/16\",\"CidrBlockAssociationSet\":[{"
                     "\"AssociationId\":\"%s\",\"CidrBlock\":\"10.0.0.0/16\",\"CidrBlockState\":{"
                     "\"State\":\"associated\"}}],\"DhcpOptionsId\":\"default\","
                     "\"InstanceTenancy\":\"default\",\"Ipv6CidrBlockAssociationSet\":[%s],"
                     "\"IsDefault\":false,\"OwnerId\":\"" AMZ_ACCOUNT "\",\"State\":\"available\","
                     "\"Tags\":[{\"Key\":\"" CLUSTER_TAG "%s\",\"Value\":\"owned\"}],"
                     "\"VpcId\":\"%s\"}",
                     amz_new_id(aws, a, "vpc-cidr-assoc"), ipv6_set(a, ipv6, "vpc", IPV6_VPC),
                     aws->cluster, aws->vpc_id));
}

static void seed_subnet(struct aws *aws, struct arena *a, size_t i, bool ipv6)
{
    const struct sim_config *cfg = sim_cfg(aws->sim);
    const char *id = amz_new_id(aws, a, "subnet");
    const char *cidr6 = arena_printf(a, "2600:1f18:42:%zx::/64", i);
    const char *cidr = subnet_cidr(a, i, cfg->n_zones);
    struct ip_net net;
    unsigned hosts = ip_net_parse(cidr, &net) ? (1U << (32 - net.prefix)) - 5 : 0;
    add(aws, AMZ_SUBNET,
        arena_printf(a,
                     "{\"AssignIpv6AddressOnCreation\":%s,\"AvailabilityZone\":\"%s\","
                     "\"AvailabilityZoneId\":\"%s\",\"AvailableIpAddressCount\":%u,"
                     "\"CidrBlock\":\"%s\",\"DefaultForAz\":false,"
                     "\"Ipv6CidrBlockAssociationSet\":[%s],\"Ipv6Native\":false,"
                     "\"MapPublicIpOnLaunch\":true,\"OwnerId\":\"" AMZ_ACCOUNT "\","
                     "\"State\":\"available\",\"SubnetArn\":\"%s\",\"SubnetId\":\"%s\","
                     "\"Tags\":[{\"Key\":\"" CLUSTER_TAG "%s\",\"Value\":\"shared\"},"
                     "{\"Key\":\"kubernetes.io/role/elb\",\"Value\":\"1\"},"
                     "{\"Key\":\"kubernetes.io/role/internal-elb\",\"Value\":\"1\"}],"
                     "\"VpcId\":\"%s\"}",
                     ipv6 ? "true" : "false", cfg->zones[i],
                     json_str(amz_get(aws, AMZ_ZONE, cfg->zones[i])->body, "ZoneId"), hosts, cidr,
                     ipv6_set(a, ipv6, "subnet", cidr6), amz_arn(aws, a, "ec2", "subnet/%s", id),
                     id, aws->cluster, aws->vpc_id));
}

static void seed_zone(struct aws *aws, struct arena *a, size_t i)
{
    const char *zone = sim_cfg(aws->sim)->zones[i];
    add(aws, AMZ_ZONE,
        arena_printf(a,
                     "{\"GroupName\":\"%s-zg-1\",\"Messages\":[],\"NetworkBorderGroup\":\"%s\","
                     "\"OptInStatus\":\"opt-in-not-required\",\"RegionName\":\"%s\","
                     "\"State\":\"available\",\"ZoneId\":\"%s-az%zu\",\"ZoneName\":\"%s\","
                     "\"ZoneType\":\"availability-zone\"}",
                     aws->region, aws->region, aws->region, aws->region, i + 1, zone));
}

static void seed_routes(struct aws *aws, struct arena *a, bool ipv6)
{
    const char *igw = amz_new_id(aws, a, "igw"), *table = amz_new_id(aws, a, "rtb");
    const char *out6 = arena_printf(a,
                                    ",{\"DestinationIpv6CidrBlock\":\"::/0\",\"GatewayId\":\"%s\","
                                    "\"Origin\":\"CreateRoute\",\"State\":\"active\"}",
                                    igw);
    add(aws, AMZ_INTERNET_GATEWAY,
        arena_printf(a,
                     "{\"Attachments\":[{\"State\":\"available\",\"VpcId\":\"%s\"}],"
                     "\"InternetGatewayId\":\"%s\",\"OwnerId\":\"" AMZ_ACCOUNT "\",\"Tags\":[]}",
                     aws->vpc_id, igw));
    add(aws, AMZ_ROUTE_TABLE,
        arena_printf(a,
                     "{\"Associations\":[{\"AssociationState\":{\"State\":\"associated\"},"
                     "\"Main\":true,\"RouteTableAssociationId\":\"%s\",\"RouteTableId\":\"%s\"}],"
                     "\"OwnerId\":\"" AMZ_ACCOUNT "\",\"PropagatingVgws\":[],"
                     "\"RouteTableId\":\"%s\",\"Routes\":["
                     "{\"DestinationCidrBlock\":\"10.0.0.0/16\",\"GatewayId\":\"local\","
                     "\"Origin\":\"CreateRouteTable\",\"State\":\"active\"},"
                     "{\"DestinationCidrBlock\":\"0.0.0.0/0\",\"GatewayId\":\"%s\","
                     "\"Origin\":\"CreateRoute\",\"State\":\"active\"}%s],"
                     "\"Tags\":[],\"VpcId\":\"%s\"}",
                     amz_new_id(aws, a, "rtbassoc"), table, table, igw, ipv6 ? out6 : "",
                     aws->vpc_id));
}

static void seed_group(struct aws *aws, struct arena *a, const char *name, const char *description,
                       bool of_nodes)
{
    const char *id = amz_new_id(aws, a, "sg");
    const char *tag =
        arena_printf(a, "{\"Key\":\"" CLUSTER_TAG "%s\",\"Value\":\"owned\"}", aws->cluster);
    add(aws, AMZ_SECURITY_GROUP,
        arena_printf(a,
                     "{\"Description\":\"%s\",\"GroupId\":\"%s\",\"GroupName\":\"%s\","
                     "\"IpPermissions\":[{\"IpProtocol\":\"-1\",\"IpRanges\":[],"
                     "\"Ipv6Ranges\":[],\"PrefixListIds\":[],\"UserIdGroupPairs\":[{"
                     "\"GroupId\":\"%s\",\"UserId\":\"" AMZ_ACCOUNT "\"}]}],"
                     "\"IpPermissionsEgress\":[{\"IpProtocol\":\"-1\",\"IpRanges\":[{"
                     "\"CidrIp\":\"0.0.0.0/0\"}],\"Ipv6Ranges\":[],\"PrefixListIds\":[],"
                     "\"UserIdGroupPairs\":[]}],\"OwnerId\":\"" AMZ_ACCOUNT "\","
                     "\"SecurityGroupArn\":\"%s\",\"Tags\":[%s],\"VpcId\":\"%s\"}",
                     description, id, name, id, amz_arn(aws, a, "ec2", "security-group/%s", id),
                     of_nodes ? tag : "", aws->vpc_id));
}

void amz_seed(struct aws *aws)
{
    struct arena *a = arena_new();
    const struct sim_config *cfg = sim_cfg(aws->sim);
    free(aws->vpc_id);
    aws->vpc_id = xstrdup(amz_new_id(aws, a, "vpc"));
    seed_vpc(aws, a, cfg->ipv6);
    for (size_t i = 0; i < cfg->n_zones; i++) {
        if (!amz_get(aws, AMZ_ZONE, cfg->zones[i])) {
            seed_zone(aws, a, i);
            seed_subnet(aws, a, i, cfg->ipv6);
        }
    }
    seed_routes(aws, a, cfg->ipv6);
    seed_group(aws, a, "default", "default VPC security group", false);
    seed_group(aws, a, "nodes", "nodes of the cluster", true);
    arena_free(a);
}

/* --- where nodes go --------------------------------------------------------------------------- */

/* Subnets of the cluster's VPC, one per zone and the tagged one first, in order of creation. */
static struct amz_resource **subnets_of(struct aws *aws, struct arena *a, size_t *ret_n)
{
    struct amz_resource **list =
        ARENA_ARRAY(a, struct amz_resource *, amz_count(aws, AMZ_SUBNET) + 1);
    const char *tag = arena_printf(a, CLUSTER_TAG "%s", aws->cluster);
    *ret_n = 0;
    for (struct amz_resource *r = amz_first(aws, AMZ_SUBNET); r; r = r->next) {
        const char *zone = json_str(r->body, "AvailabilityZone");
        size_t i = 0;
        if (!zone || !str_eq(json_str(r->body, "VpcId"), aws->vpc_id)) {
            continue;
        }
        while (i < *ret_n && !str_eq(json_str(list[i]->body, "AvailabilityZone"), zone)) {
            i++;
        }
        bool better = i < *ret_n && amz_tag(json_member(r->body, "Tags"), tag) &&
                      !amz_tag(json_member(list[i]->body, "Tags"), tag);
        if (i == *ret_n || better) {
            list[i] = r;
            *ret_n += i == *ret_n;
        }
    }
    return list;
}

/* It is there, and not on its way out. */
static bool is_alive(const struct amz_resource *instance)
{
    return !str_eq(json_str(json_member(instance->body, "State"), "Name"), "terminated");
}

/* The groups of a new node: those of the first instance, else the cluster's own group. */
static struct json_object *groups_of(struct aws *aws, struct arena *a)
{
    struct amz_resource *first = amz_first(aws, AMZ_INSTANCE);
    while (first && !is_alive(first)) {
        first = first->next;
    }
    const char *tag = arena_printf(a, CLUSTER_TAG "%s", aws->cluster);
    if (first) {
        struct json_object *list = json_member(first->body, "SecurityGroups");
        return list ? json_copy(list) : json_object_new_array();
    }
    struct json_object *list = json_object_new_array();
    for (struct amz_resource *r = amz_first(aws, AMZ_SECURITY_GROUP); r && json_len(list) == 0;
         r = r->next) {
        if (str_eq(json_str(r->body, "VpcId"), aws->vpc_id) &&
            amz_tag(json_member(r->body, "Tags"), tag)) {
            struct json_object *group = json_object_new_object();
            json_add_str(group, "GroupId", r->id);
            json_add_str(group, "GroupName", json_str(r->body, "GroupName"));
            json_object_array_add(list, group);
        }
    }
    return list;
}

/* A free address of a subnet, counted from `from`; NULL: none is left.  It is taken then. */
static char *free_address(struct arena *a, const char *cidr, uint64_t from, struct map *taken)
{
    struct ip_net net;
    struct ip_addr ip, next;
    char text[IP_TEXT_MAX];
    if (!cidr || !ip_net_parse(cidr, &net)) {
        return NULL;
    }
    for (uint64_t k = from; ip_net_nth(&net, k, &ip) && ip_net_nth(&net, k + 1, &next); k++) {
        ip_format(&ip, text);
        if (!map_has(taken, text)) {
            map_set(taken, text, NULL);
            return arena_strdup(a, text);
        }
    }
    return NULL;
}

struct map *sim_aws_addresses(const void *state)
{
    const struct aws *aws = state;
    struct map *taken = map_new(NULL);
    for (struct amz_resource *r = amz_first(aws, AMZ_INSTANCE); r; r = r->next) {
        const char *text = json_str(r->body, "PrivateIpAddress");
        struct json_object *nics = json_member(r->body, "NetworkInterfaces");
        struct json_object *list = json_member(amz_item(nics), "Ipv6Addresses");
        map_set(taken, str_nonnull(text), NULL);
        for (size_t i = 0; i < json_len(list); i++) {
            text = json_str(json_object_array_get_idx(list, i), "Ipv6Address");
            map_set(taken, str_nonnull(text), NULL);
        }
    }
    for (struct amz_resource *r = amz_first(aws, AMZ_INTERFACE); r; r = r->next) {
        map_set(taken, str_nonnull(json_str(r->body, "PrivateIpAddress")), NULL);
    }
    return taken;
}

/* --- coming and going ------------------------------------------------------------------------- */

/* The N of an instance's tag Name "node-N", or -1. */
static int64_t number_of(const struct amz_resource *instance)
{
    const char *name = amz_tag(json_member(instance->body, "Tags"), "Name");
    int64_t n;
    return name && str_has_prefix(name, "node-") && str_to_i64(name + strlen("node-"), &n) ? n : -1;
}

int sim_aws_next_node(const void *state)
{
    const struct aws *aws = state;
    int64_t next = aws->next_node;
    for (struct amz_resource *r = amz_first(aws, AMZ_INSTANCE); r; r = r->next) {
        int64_t n = number_of(r);
        next = n >= next && n < 1000000 ? n + 1 : next;
    }
    return (int)next;
}

/* {"Ipv6Addresses": [...]} and the like of one interface. */
static struct json_object *interface_of(struct aws *aws, struct arena *a,
                                        const struct sim_node *node, const char *subnet,
                                        struct json_object *groups)
{
    const char *ip = node->internal_ip;
    unsigned n = (unsigned)node->index;
    struct json_object *o = parse(arena_printf(
        a,
        "{\"Attachment\":{\"AttachTime\":\"%s\",\"AttachmentId\":\"%s\","
        "\"DeleteOnTermination\":true,\"DeviceIndex\":0,\"NetworkCardIndex\":0,"
        "\"Status\":\"attached\"},\"Description\":\"\",\"InterfaceType\":\"interface\","
        "\"Ipv6Addresses\":[%s],\"MacAddress\":\"0e:00:00:%02x:%02x:%02x\","
        "\"NetworkInterfaceId\":\"%s\",\"OwnerId\":\"" AMZ_ACCOUNT "\",\"PrivateIpAddress\":\"%s\","
        "\"PrivateIpAddresses\":[{\"Primary\":true,\"PrivateIpAddress\":\"%s\"}],"
        "\"SourceDestCheck\":true,\"Status\":\"in-use\",\"SubnetId\":\"%s\",\"VpcId\":\"%s\"}",
        amz_now(aws, a), amz_new_id(aws, a, "eni-attach"),
        *node->internal_ip6 ? arena_printf(a, "{\"Ipv6Address\":\"%s\"}", node->internal_ip6) : "",
        n >> 16 & 255, n >> 8 & 255, n & 255, amz_new_id(aws, a, "eni"), ip, ip, subnet,
        aws->vpc_id));
    json_add(o, "Groups", json_copy(groups));
    return o;
}

static struct json_object *instance_of(struct aws *aws, struct arena *a,
                                       const struct sim_node *node, const char *id,
                                       const char *subnet)
{
    struct json_object *o = parse(arena_printf(
        a,
        "{\"AmiLaunchIndex\":0,\"Architecture\":\"x86_64\",\"BlockDeviceMappings\":[],"
        "\"EbsOptimized\":false,\"Hypervisor\":\"xen\",\"ImageId\":\"ami-0123456789abcdef0\","
        "\"InstanceId\":\"%s\",\"InstanceType\":\"m5.large\",\"LaunchTime\":\"%s\","
        "\"Monitoring\":{\"State\":\"disabled\"},\"Placement\":{\"AvailabilityZone\":\"%s\","
        "\"GroupName\":\"\",\"Tenancy\":\"default\"},\"PrivateDnsName\":\"%s\","
        "\"PrivateIpAddress\":\"%s\",\"ProductCodes\":[],\"PublicDnsName\":\"\","
        "\"RootDeviceName\":\"/dev/xvda\",\"RootDeviceType\":\"ebs\",\"SourceDestCheck\":true,"
        "\"State\":{\"Code\":16,\"Name\":\"running\"},\"StateTransitionReason\":\"\","
        "\"SubnetId\":\"%s\",\"Tags\":[{\"Key\":\"Name\",\"Value\":\"node-%d\"},"
        "{\"Key\":\"" CLUSTER_TAG "%s\",\"Value\":\"owned\"}],"
        "\"VirtualizationType\":\"hvm\",\"VpcId\":\"%s\"}",
        id, amz_now(aws, a), node->zone, node->name, node->internal_ip, subnet, node->index,
        aws->cluster, aws->vpc_id));
    struct json_object *groups = groups_of(aws, a);
    json_object_array_add(amz_list(o, "NetworkInterfaces"),
                          interface_of(aws, a, node, subnet, groups));
    json_add(o, "SecurityGroups", groups);
    return o;
}

static void add_instance(struct aws *aws, struct arena *a, const struct sim_node *node,
                         const char *id, const char *subnet)
{
    const char *reservation = amz_new_id(aws, a, "r");
    add(aws, AMZ_RESERVATION,
        arena_printf(a, "{\"Groups\":[],\"OwnerId\":\"" AMZ_ACCOUNT "\",\"ReservationId\":\"%s\"}",
                     reservation));
    struct amz_resource *res =
        amz_set(aws, AMZ_INSTANCE, id, instance_of(aws, a, node, id, subnet));
    res->parent = xstrdup(reservation);
    amz_ec2_count_addresses(aws, subnet, -1);
}

/* The subnet of the zone that is asked for, or of the next zone in turn; NULL if there is none. */
static struct amz_resource *subnet_for(struct aws *aws, struct arena *a, const char *zone,
                                       int number)
{
    size_t n = 0;
    struct amz_resource **list = subnets_of(aws, a, &n);
    for (size_t i = 0; zone && i < n; i++) {
        if (str_eq(json_str(list[i]->body, "AvailabilityZone"), zone)) {
            return list[i];
        }
    }
    return zone || n == 0 ? NULL : list[(size_t)number % n];
}

int sim_aws_add_node(void *state, struct arena *a, bool ipv6, struct map *taken,
                     struct sim_node *node, struct err *err)
{
    struct aws *aws = state;
    struct amz_resource *subnet = subnet_for(aws, a, node->zone, node->index);
    if (!subnet) {
        return node->zone
                   ? err_set(err, ERR_INVALID, "there is no zone \"%s\"", node->zone)
                   : err_set(err, ERR_NOT_FOUND, "the VPC \"%s\" has no subnet", aws->vpc_id);
    }
    struct json_object *blocks = json_member(subnet->body, "Ipv6CidrBlockAssociationSet");
    const char *cidr6 = json_str(amz_item(blocks), "Ipv6CidrBlock");
    node->zone = arena_strdup(a, json_str(subnet->body, "AvailabilityZone"));
    node->internal_ip = free_address(a, json_str(subnet->body, "CidrBlock"), FIRST_HOST, taken);
    node->internal_ip6 = ipv6 ? str_nonnull(free_address(a, cidr6, FIRST_HOST, taken)) : "";
    if (!node->internal_ip) {
        return err_set(err, ERR_INVALID, "the subnet %s has no free address", subnet->id);
    }
    const char *id = amz_new_id(aws, a, "i");
    const char *domain = str_eq(aws->region, "us-east-1")
                             ? "ec2.internal"
                             : arena_printf(a, "%s.compute.internal", aws->region);
    node->name = arena_printf(a, "ip-%s.%s", str_replace(a, node->internal_ip, ".", "-"), domain);
    node->provider_id = arena_printf(a, "aws:///%s/%s", node->zone, id);
    aws->next_node = node->index + 1;
    add_instance(aws, a, node, id, subnet->id);
    return ERR_OK;
}

static struct amz_resource *instance_named(const struct aws *aws, const char *name)
{
    for (struct amz_resource *r = amz_first(aws, AMZ_INSTANCE); r; r = r->next) {
        if (is_alive(r) && str_eq(json_str(r->body, "PrivateDnsName"), name)) {
            return r;
        }
    }
    return NULL;
}

const char *sim_aws_node_name(const void *state, int64_t number)
{
    const struct aws *aws = state;
    for (struct amz_resource *r = amz_first(aws, AMZ_INSTANCE); r; r = r->next) {
        if (is_alive(r) && number_of(r) == number) {
            return json_str(r->body, "PrivateDnsName");
        }
    }
    return NULL;
}

int sim_aws_remove_node(void *state, const char *name, struct err *err)
{
    struct aws *aws = state;
    struct amz_resource *res = instance_named(aws, name);
    if (!res) {
        return err_set(err, ERR_NOT_FOUND, "there is no instance \"%s\"", name);
    }
    (void)amz_ec2_set_instance_state(aws, res->id, "terminated"); /* and still seen for an hour */
    return ERR_OK;
}
