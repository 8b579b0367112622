/* SPDX-License-Identifier: Apache-2.0 */
/* aws_worlds.c: see aws_worlds.h. */
#include "tests/unit/sim/reach/aws_worlds.h"

#include "tests/unit/sim/reach/reach_test.h"

#include <string.h>

#include "common/base/str.h"

#define ARN    "arn:aws:elasticloadbalancing:us-east-1:123456789012:"
#define LB_ARN ARN "loadbalancer/net/web/1"

/* --- words ------------------------------------------------------------------------------------ */

/* The text after `word` among the words ("zones=ab" for "zones="), "" if the word is
 * whole; NULL: not there. */
static const char *word(struct arena *a, const char *words, const char *begin)
{
    size_t n;
    char **list = str_split(a, str_nonnull(words), ' ', &n);
    for (size_t i = 0; i < n; i++) {
        bool whole = str_eq(list[i], begin);
        if (whole || (str_has_suffix(begin, "=") && str_has_prefix(list[i], begin))) {
            return list[i] + strlen(begin);
        }
    }
    return NULL;
}

static void comma(struct str_buf *b)
{
    char last = b->len > 0 ? b->data[b->len - 1] : '[';
    if (last != '[' && last != '{') {
        str_append(b, ",");
    }
}

/* --- EC2 -------------------------------------------------------------------------------------- */

static void add_rule(struct arena *a, struct str_buf *b, const char *text)
{
    size_t n, n_ports;
    char **w = str_split(a, str_trim(a, text), ' ', &n);
    assert_int_equal(n, 3);
    char **ports = str_split(a, w[1], '-', &n_ports);
    const char *list = str_has_prefix(w[2], "sg-")   ? "UserIdGroupPairs\":[{\"GroupId"
                       : str_has_prefix(w[2], "pl-") ? "PrefixListIds\":[{\"PrefixListId"
                       : strchr(w[2], ':') != NULL   ? "Ipv6Ranges\":[{\"CidrIpv6"
                                                     : "IpRanges\":[{\"CidrIp";
    comma(b);
    str_appendf(b, "{\"IpProtocol\":\"%s\",", w[0]);
    if (w[1][0] != '*') {
        str_appendf(b, "\"FromPort\":%s,\"ToPort\":%s,", ports[0], ports[n_ports - 1]);
    }
    str_appendf(b, "\"%s\":\"%s\"}]}", list, w[2]);
}

static void add_rules(struct arena *a, struct str_buf *b, const char *member, const char *rules)
{
    size_t n;
    char **list = str_split(a, str_nonnull(rules), ';', &n);
    str_appendf(b, ",\"%s\":[", member);
    for (size_t i = 0; !str_is_empty(rules) && i < n; i++) {
        add_rule(a, b, list[i]);
    }
    str_append(b, "]");
}

static void add_groups(struct arena *a, struct str_buf *b, const struct aws_case *c)
{
    const char *const ids[] = {"sg-nodes", "sg-extra", "sg-other", "sg-lb"};
    const char *const rules[] = {c->nodes, c->extra, c->other, c->lb_in};
    str_append(b, "\"SecurityGroups\":[");
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        comma(b);
        str_appendf(b, "{\"GroupId\":\"%s\"", ids[i]);
        add_rules(a, b, "IpPermissions", rules[i]);
        if (c->lb_out != NULL && str_eq(ids[i], "sg-lb")) {
            add_rules(a, b, "IpPermissionsEgress", c->lb_out);
        }
        str_append(b, "}");
    }
    str_append(b, "]");
}

static void add_subnets(struct arena *a, struct str_buf *b, const struct aws_case *c)
{
    const char *private = str_nonnull(word(a, c->lb, "private="));
    str_append(b, ",\"Subnets\":[");
    for (int i = 0; i < 4; i++) {
        comma(b);
        str_appendf(b,
                    "{\"SubnetId\":\"subnet-%c\",\"AvailabilityZone\":\"%c\",\"VpcId\":\"vpc-1\","
                    "\"CidrBlock\":\"10.0.%d.0/24\",\"Ipv6CidrBlockAssociationSet\":["
                    "{\"Ipv6CidrBlock\":\"fd00:%c::/64\"}]}",
                    'a' + i, 'a' + i, i, 'a' + i);
    }
    str_append(b, "],\"RouteTables\":[");
    if (word(a, c->lb, "untold") == NULL) {
        str_append(b, "{\"VpcId\":\"vpc-1\",\"Associations\":[{\"Main\":true}],\"Routes\":["
                      "{\"DestinationCidrBlock\":\"10.0.0.0/16\",\"GatewayId\":\"local\"},"
                      "{\"DestinationCidrBlock\":\"0.0.0.0/0\",\"GatewayId\":\"igw-1\"},"
                      "{\"DestinationIpv6CidrBlock\":\"::/0\",\"GatewayId\":\"igw-1\"}]}");
    }
    for (const char *zone = private; *zone != '\0'; zone++) {
        str_appendf(
            b,
            ",{\"VpcId\":\"vpc-1\",\"Associations\":[{\"SubnetId\":\"subnet-%c\"}],"
            "\"Routes\":[{\"DestinationCidrBlock\":\"0.0.0.0/0\",\"NatGatewayId\":\"nat-1\"},"
            "{\"DestinationCidrBlock\":\"8.0.0.0/8\",\"GatewayId\":\"igw-9\","
            "\"State\":\"blackhole\"}]}",
            *zone);
    }
    str_append(b, "]");
}

static void add_instances(struct str_buf *b)
{
    static const struct {
        const char *id, *dns, *zone, *ip, *ipv6, *groups, *state;
    } rows[] = {
        {"1", "n1", "a", "10.0.0.4", "fd00:a::4", "sg-nodes", "running"},
        {"2", "n2", "b", "10.0.1.4", "fd00:b::4", "sg-nodes", "running"},
        {"3", "n3", "c", "10.0.2.4", NULL, "sg-nodes\"},{\"GroupId\":\"sg-extra", "running"},
        {"4", "", "a", "10.0.0.5", NULL, "sg-other", "running"},
        {"5", "n5", "a", "10.0.0.6", NULL, "sg-nodes", "stopped"},
        {"6", "n6", "a", "10.0.0.7", NULL, "sg-nodes", "terminated"},
        {"7", "n7", "d", "10.0.3.4", NULL, "sg-nodes", "running"},
    };
    str_append(b, ",\"Reservations\":[{\"Instances\":[");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        comma(b);
        str_appendf(
            b,
            "{\"InstanceId\":\"i-%s\",\"PrivateDnsName\":\"%s\",\"State\":{\"Name\":\"%s\"},"
            "\"Placement\":{\"AvailabilityZone\":\"%s\"},\"PrivateIpAddress\":\"%s\",",
            rows[i].id, rows[i].dns, rows[i].state, rows[i].zone, rows[i].ip);
        str_appendf(b,
                    "\"SecurityGroups\":[{\"GroupId\":\"%s\"}],\"NetworkInterfaces\":[{"
                    "\"PrivateIpAddress\":\"%s\",\"Groups\":[{\"GroupId\":\"%s\"}],"
                    "\"Attachment\":{\"DeviceIndex\":0}",
                    rows[i].groups, rows[i].ip, rows[i].groups);
        if (rows[i].ipv6 != NULL) {
            str_appendf(b, ",\"Ipv6Addresses\":[{\"Ipv6Address\":\"%s\"}]", rows[i].ipv6);
        }
        str_append(b, "}]}");
    }
    str_append(b, "]}]");
}

/* --- network balancers ------------------------------------------------------------------------ */

static void add_target(struct arena *a, struct str_buf *b, const char *text, const char *port,
                       bool by_address)
{
    char *id = arena_strdup(a, text);
    char *state = by_address ? NULL : strchr(id, ':');
    char *own = strchr(id, '@');
    char *zone = strchr(id, '%');
    char *const cuts[] = {state, own, zone};
    for (size_t i = 0; i < ARRAY_LEN(cuts); i++) {
        if (cuts[i] != NULL) {
            *cuts[i] = '\0';
        }
    }
    comma(b);
    str_appendf(b, "{\"Target\":{\"Id\":\"%s%s\",\"Port\":%s", by_address ? "" : "i-", id,
                own != NULL ? own + 1 : port);
    if (zone != NULL) {
        str_appendf(b, ",\"AvailabilityZone\":\"%s\"", zone + 1);
    }
    str_appendf(b, "},\"TargetHealth\":{\"State\":\"%s\"}}", state != NULL ? state + 1 : "healthy");
}

static void add_health(struct arena *a, struct str_buf *b, const struct aws_case *c,
                       const char *port)
{
    size_t n;
    char **list = str_split(a, str_nonnull(c->targets), ' ', &n);
    comma(b);
    str_appendf(b, "\"" ARN "targetgroup/%s\":[", port);
    for (size_t i = 0; !str_is_empty(c->targets) && i < n; i++) {
        add_target(a, b, list[i], port, word(a, c->group, "ip") != NULL);
    }
    str_append(b, "]");
}

static void add_target_group(struct arena *a, struct str_buf *b, const struct aws_case *c,
                             const char *protocol, const char *port)
{
    const char *own = str_or(word(a, c->group, "protocol="), protocol);
    comma(b);
    str_appendf(b,
                "{\"TargetGroupArn\":\"" ARN "targetgroup/%s\",\"Port\":%s,\"Protocol\":\"%s\","
                "\"TargetType\":\"%s\",\"IpAddressType\":\"%s\",\"HealthCheckPort\":\"%s\"}",
                port, port,
                str_eq(own, "TLS") && word(a, c->group, "protocol=") == NULL ? "TCP" : own,
                word(a, c->group, "ip") != NULL ? "ip" : "instance",
                word(a, c->group, "ipv6") != NULL ? "ipv6" : "ipv4",
                str_or(word(a, c->group, "check="), "traffic-port"));
}

static void add_attributes(struct arena *a, struct str_buf *b, const struct aws_case *c,
                           const char *port)
{
    const char *preserve = word(a, c->group, "preserve=");
    const char *cross = word(a, c->group, "cross=");
    comma(b);
    str_appendf(b, "\"" ARN "targetgroup/%s\":[", port);
    if (preserve != NULL) {
        str_appendf(b, "{\"Key\":\"preserve_client_ip.enabled\",\"Value\":\"%s\"}", preserve);
    }
    if (cross != NULL) {
        comma(b);
        str_appendf(b, "{\"Key\":\"load_balancing.cross_zone.enabled\",\"Value\":\"%s\"}", cross);
    }
    str_append(b, "]");
}

/* The parts of a world that listeners fill one by one. */
struct parts {
    struct str_buf listeners, groups, health, attributes;
};

static void add_action(struct arena *a, struct parts *p, const struct aws_case *c,
                       const char *protocol, const char *to)
{
    struct str_buf *b = &p->listeners;
    size_t n;
    char **ports = str_split(a, to, '+', &n);
    if (str_eq(to, "none")) {
        return;
    }
    if (str_eq(to, "gone")) {
        str_append(b, "{\"Type\":\"forward\",\"TargetGroupArn\":\"" ARN "targetgroup/gone\"}");
        return;
    }
    bool zero = str_eq(to, "zero");
    str_append(b, "{\"Type\":\"forward\",\"ForwardConfig\":{\"TargetGroups\":[");
    for (size_t i = 0; i < n; i++) {
        const char *port = zero ? "30080" : ports[i];
        comma(b);
        str_appendf(b, "{\"TargetGroupArn\":\"" ARN "targetgroup/%s\",\"Weight\":%d}", port,
                    zero ? 0 : 1);
        add_target_group(a, &p->groups, c, protocol, port);
        add_health(a, &p->health, c, port);
        add_attributes(a, &p->attributes, c, port);
    }
    str_append(b, "]}}");
}

static void add_listener(struct arena *a, struct parts *p, const struct aws_case *c,
                         const char *text)
{
    size_t n, n_ports;
    char **w = str_split(a, str_trim(a, text), ' ', &n);
    assert_int_equal(n, 2);
    char **ports = str_split(a, w[1], '>', &n_ports);
    assert_int_equal(n_ports, 2);
    comma(&p->listeners);
    str_appendf(&p->listeners,
                "{\"LoadBalancerArn\":\"" LB_ARN "\",\"ListenerArn\":\"" ARN
                "listener/%s\",\"Protocol\":\"%s\",\"Port\":%s,\"DefaultActions\":[",
                ports[0], w[0], ports[0]);
    add_action(a, p, c, w[0], ports[1]);
    str_append(&p->listeners, "]}");
}

static void add_nlb(struct arena *a, struct str_buf *b, const struct aws_case *c)
{
    const char *zones = str_or(word(a, c->lb, "zones="), "abc");
    str_appendf(b,
                "\"LoadBalancers\":[{\"LoadBalancerArn\":\"" LB_ARN
                "\",\"DNSName\":\"Web.Elb\",\"Type\":\"network\",\"Scheme\":\"%s\","
                "\"IpAddressType\":\"%s\",\"EnablePrefixForIpv6SourceNat\":\"%s\","
                "\"SecurityGroups\":[%s],\"AvailabilityZones\":[",
                word(a, c->lb, "internal") != NULL ? "internal" : "internet-facing",
                word(a, c->lb, "dualstack") != NULL ? "dualstack" : "ipv4",
                word(a, c->lb, "prefixes") != NULL ? "on" : "off",
                c->lb_in != NULL ? "\"sg-lb\"" : "");
    for (const char *z = zones; *z != '\0'; z++) {
        comma(b);
        str_appendf(b, "{\"ZoneName\":\"%c\",\"SubnetId\":\"subnet-%c\"", *z, *z);
        if (word(a, c->lb, "own") != NULL) {
            str_appendf(b, ",\"LoadBalancerAddresses\":[{\"PrivateIPv4Address\":\"10.0.%d.10\"}]",
                        *z - 'a');
        }
        str_append(b, "}");
    }
    str_appendf(b,
                "]}],\"Attributes\":{\"" LB_ARN "\":["
                "{\"Key\":\"load_balancing.cross_zone.enabled\",\"Value\":\"%s\"},"
                "{\"Key\":\"ipv6.deny_all_igw_traffic\",\"Value\":\"%s\"}]}",
                word(a, c->lb, "cross") != NULL ? "true" : "false",
                word(a, c->lb, "deny6") != NULL ? "true" : "false");
}

static void add_elbv2(struct arena *a, struct str_buf *b, const struct aws_case *c)
{
    struct parts p = {STR_BUF_INIT, STR_BUF_INIT, STR_BUF_INIT, STR_BUF_INIT};
    size_t n;
    char **list = str_split(a, str_nonnull(c->listeners), ';', &n);
    for (size_t i = 0; !str_is_empty(c->listeners) && i < n; i++) {
        add_listener(a, &p, c, list[i]);
    }
    str_append(b, "\"elbv2\":{");
    add_nlb(a, b, c);
    str_appendf(b,
                ",\"Listeners\":[%s],\"TargetGroups\":[%s],\"TargetHealth\":{%s},"
                "\"TargetGroupAttributes\":{%s}}",
                str_buf_text(&p.listeners), str_buf_text(&p.groups), str_buf_text(&p.health),
                str_buf_text(&p.attributes));
    str_buf_done(&p.listeners);
    str_buf_done(&p.groups);
    str_buf_done(&p.health);
    str_buf_done(&p.attributes);
}

/* --- classic balancers ------------------------------------------------------------------------ */

static void add_classic_listeners(struct arena *a, struct str_buf *b, const struct aws_case *c)
{
    size_t n, n_words, n_ports;
    char **list = str_split(a, str_nonnull(c->listeners), ';', &n);
    str_append(b, ",\"ListenerDescriptions\":[");
    for (size_t i = 0; !str_is_empty(c->listeners) && i < n; i++) {
        char **w = str_split(a, str_trim(a, list[i]), ' ', &n_words);
        char **ports = str_split(a, w[1], '>', &n_ports);
        comma(b);
        str_appendf(b,
                    "{\"Listener\":{\"Protocol\":\"%s\",\"LoadBalancerPort\":%s,"
                    "\"InstancePort\":%s}}",
                    w[0], ports[0], ports[1]);
    }
    str_append(b, "]");
}

static void add_elb(struct arena *a, struct str_buf *b, const struct aws_case *c)
{
    const char *zones = str_or(word(a, c->lb, "zones="), "abc");
    size_t n;
    char **targets = str_split(a, str_nonnull(c->targets), ' ', &n);
    str_appendf(
        b,
        "\"elb\":{\"Attributes\":{\"web\":{\"CrossZoneLoadBalancing\":{\"Enabled\":%s}}},"
        "\"LoadBalancerDescriptions\":[{\"LoadBalancerName\":\"web\",\"DNSName\":\"Web.Elb\","
        "\"Scheme\":\"%s\",\"HealthCheck\":{\"Target\":\"%s\"},\"SecurityGroups\":[%s],"
        "\"Subnets\":[",
        word(a, c->lb, "cross") != NULL ? "true" : "false",
        word(a, c->lb, "internal") != NULL ? "internal" : "internet-facing",
        str_or(word(a, c->group, "check="), "TCP:30080"), c->lb_in != NULL ? "\"sg-lb\"" : "");
    for (const char *z = zones; *z != '\0'; z++) {
        comma(b);
        str_appendf(b, "\"subnet-%c\"", *z);
    }
    str_append(b, "],\"Instances\":[");
    for (size_t i = 0; !str_is_empty(c->targets) && i < n; i++) {
        comma(b);
        str_appendf(b, "{\"InstanceId\":\"i-%s\"}", targets[i]);
    }
    str_append(b, "]");
    add_classic_listeners(a, b, c);
    str_append(b, "}]}");
}

struct json_object *aws_case_world(const struct aws_case *c, bool classic)
{
    struct arena *a = arena_new();
    struct str_buf b = STR_BUF_INIT;
    struct json_object *world = NULL;
    struct err err;
    str_append(&b, "{\"aws\":{\"ec2\":{");
    add_groups(a, &b, c);
    add_subnets(a, &b, c);
    add_instances(&b);
    str_append(&b, "},");
    if (classic) {
        add_elb(a, &b, c);
    } else {
        add_elbv2(a, &b, c);
    }
    str_append(&b, "}}");
    if (json_parse(b.data, b.len, NULL, &world, &err) != ERR_OK) {
        fail_msg("%s: %s in %s", c->name, err.message, b.data);
    }
    str_buf_done(&b);
    arena_free(a);
    return world;
}

/* --- documents -------------------------------------------------------------------------------- */

static void add_texts(struct str_buf *b, struct json_object *list, const char *between)
{
    for (size_t i = 0; i < json_len(list); i++) {
        str_appendf(b, "%s%s", i > 0 ? between : "",
                    json_object_get_string(json_object_array_get_idx(list, i)));
    }
}

static void add_port(struct str_buf *b, const char *key, struct json_object *port)
{
    struct json_object *targets = json_member(port, "targets");
    const char *why = json_str(port, "why");
    str_appendf(b, "%s%s %s ", b->len > 0 ? " | " : "", key, json_str(port, "from"));
    str_append(b, why);
    add_texts(b, json_member(port, "clients"), ",");
    for (size_t i = 0; i < json_len(targets); i++) {
        struct json_object *one = json_object_array_get_idx(targets, i);
        struct json_object *clients = json_member(one, "clients");
        str_appendf(b, "%s %s%s", i == 0 ? ":" : "", json_str(one, "target"),
                    json_bool(one, "healthy", false) ? "" : "!");
        if (clients != NULL) {
            str_append(b, "(");
            add_texts(b, clients, ",");
            str_append(b, ")");
        }
    }
}

const char *aws_reach_line(struct arena *a, struct json_object *world)
{
    struct str_buf b = STR_BUF_INIT;
    struct json_object *document = reach_of_world(world);
    struct json_object *ports = json_member(document, "web.elb");
    if (ports != NULL) {
        json_object_object_foreach(ports, key, port)
        {
            add_port(&b, key, port);
        }
    }
    const char *line = ports != NULL ? str_buf_to_arena(&b, a) : "none";
    str_buf_done(&b);
    json_object_put(document);
    return line;
}

void aws_check_cases(const struct aws_case *rows, size_t n, bool classic)
{
    for (size_t i = 0; i < n; i++) {
        struct arena *a = arena_new();
        struct json_object *world = aws_case_world(&rows[i], classic);
        const char *line = aws_reach_line(a, world);
        if (!str_eq(line, rows[i].want)) {
            fail_msg("%s:\n  is    %s\n  wants %s", rows[i].name, line, rows[i].want);
        }
        json_object_put(world);
        arena_free(a);
    }
}
