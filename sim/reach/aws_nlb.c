/* SPDX-License-Identifier: Apache-2.0 */
/* aws_nlb.c: the network load balancers of a world: listeners, target groups, attributes.
 *
 * AWS documents, and this file follows: client addresses are preserved for instances, and for
 * addresses as targets only of UDP groups, unless an attribute of a TCP or TLS group says
 * otherwise; UDP packets are never translated from one family to the other; a target in a zone
 * without a node gets nothing, also across zones; nodes send across zones if the target group says
 * so, else if the balancer does.  Health checks are TCP connections from the nodes.
 * Source: see aws.h. */
#include "sim/reach/aws.h"

#include "common/base/str.h"
#include "sim/reach/checks.h"

struct nlb {
    struct reach_aws *world;
    struct reach_aws_balancer lb;
    bool crosses;
    bool has_prefixes; /* for source NAT of IPv6, without which UDP is served by IPv4 alone */
};

/* --- attributes ------------------------------------------------------------------------------- */

/* A value of the attributes of a balancer or target group; "" if it was not set. */
static const char *attribute(struct reach_aws *w, const char *kind, const char *arn,
                             const char *key)
{
    struct json_object *list = json_member(json_member(w->elbv2, kind), arn);
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *one = json_object_array_get_idx(list, i);
        if (str_eq(json_str(one, "Key"), key)) {
            return str_nonnull(json_str(one, "Value"));
        }
    }
    return "";
}

static bool is_udp(struct json_object *group)
{
    const char *protocol = str_nonnull(json_str(group, "Protocol"));
    return str_eq(protocol, "UDP") || str_eq(protocol, "TCP_UDP") ||
           str_has_suffix(protocol, "QUIC");
}

static bool preserves(struct reach_aws *w, struct json_object *group, const char *arn)
{
    const char *set = attribute(w, "TargetGroupAttributes", arn, "preserve_client_ip.enabled");
    bool instances = str_eq(str_or(json_str(group, "TargetType"), "instance"), "instance");
    return is_udp(group) || (set[0] != '\0' ? str_eq(set, "true") : instances);
}

static bool crosses(const struct nlb *n, const char *arn)
{
    const char *set =
        attribute(n->world, "TargetGroupAttributes", arn, "load_balancing.cross_zone.enabled");
    return str_eq(set, "true") || (!str_eq(set, "false") && n->crosses);
}

/* --- targets ---------------------------------------------------------------------------------- */

/* The interface to which a target's packets go; NULL: none. */
static const struct reach_aws_host *host_of(struct nlb *n, struct json_object *group,
                                            struct json_object *target)
{
    static const struct reach_aws_host outside = {.name = NULL};
    struct reach_aws *w = n->world;
    const char *id = str_nonnull(json_str(target, "Id"));
    if (str_eq(str_or(json_str(group, "TargetType"), "instance"), "instance")) {
        return map_get(w->instances, id);
    }
    if (!str_eq(json_str(target, "AvailabilityZone"), "all")) {
        return reach_aws_host_at(w, id);
    }
    struct reach_aws_host *host = ARENA_NEW(w->a, struct reach_aws_host);
    bool six = str_eq(json_str(group, "IpAddressType"), "ipv6");
    *host = outside;
    host->name = six ? arena_printf(w->a, "[%s]", id) : id;
    host->ipv4 = six ? NULL : id;
    host->ipv6 = six ? id : NULL;
    return host;
}

static void add_target(struct nlb *n, struct reach_aws_hop *hop, struct json_object *group,
                       struct json_object *item)
{
    struct json_object *target = json_member(item, "Target");
    struct json_object *health = json_member(item, "TargetHealth");
    const char *state = str_or(json_str(health, "State"), "healthy");
    const struct reach_aws_host *host = host_of(n, group, target);
    int64_t port = json_int(target, "Port", json_int(group, "Port", 0));
    bool drains = str_eq(state, "draining") ||
                  str_eq(json_str(health, "Reason"), "Target.DeregistrationInProgress");
    if (host != NULL && !drains) {
        reach_aws_hop_target(hop, host, port, reach_elbv2_check(group, port),
                             str_eq(state, "healthy"));
    }
}

static void add_group(struct nlb *n, struct reach_aws_hop hop, const char *arn,
                      struct json_object *group)
{
    struct json_object *targets = json_member(json_member(n->world->elbv2, "TargetHealth"), arn);
    hop.preserves = preserves(n->world, group, arn);
    hop.translates = hop.protocol == REACH_AWS_TCP;
    hop.crosses = crosses(n, arn);
    hop.ipv6 = str_eq(json_str(group, "IpAddressType"), "ipv6");
    for (size_t i = 0; i < json_len(targets); i++) {
        add_target(n, &hop, group, json_object_array_get_idx(targets, i));
    }
}

/* --- listeners -------------------------------------------------------------------------------- */

#define GROUPS_MAX 16 /* AWS allows five; more of them are not checked */

/* The target groups to which a listener sends new connections, those that are there. */
struct forwards {
    struct json_object *at[GROUPS_MAX];
    size_t n;
};

static void add_forward(struct map *groups, const char *arn, int64_t weight, struct forwards *f)
{
    struct json_object *group = arn != NULL ? map_get(groups, arn) : NULL;
    if (group != NULL && weight > 0 && f->n < GROUPS_MAX) {
        f->at[f->n++] = group;
    }
}

static struct forwards forwards_of(struct map *groups, struct json_object *listener)
{
    struct json_object *actions = json_member(listener, "DefaultActions");
    struct forwards f = {.n = 0};
    for (size_t i = 0; i < json_len(actions); i++) {
        struct json_object *action = json_object_array_get_idx(actions, i);
        struct json_object *list = json_path(action, "ForwardConfig.TargetGroups");
        if (json_len(list) == 0) {
            add_forward(groups, json_str(action, "TargetGroupArn"), 1, &f);
        }
        for (size_t k = 0; k < json_len(list); k++) {
            struct json_object *one = json_object_array_get_idx(list, k);
            add_forward(groups, json_str(one, "TargetGroupArn"), json_int(one, "Weight", 1), &f);
        }
    }
    return f;
}

static void add_protocol(struct nlb *n, enum reach_aws_protocol protocol, int64_t port,
                         const struct forwards *f)
{
    struct reach_aws_balancer lb = n->lb;
    lb.ipv6 = lb.ipv6 && (protocol == REACH_AWS_TCP || n->has_prefixes);
    struct reach_aws_hop hop = {
        .world = n->world,
        .lb = &lb,
        .port = reach_aws_listen(n->world, &lb, protocol, port, f->n == 0 ? REACH_NO_RULE : NULL),
        .protocol = protocol,
        .listener_port = port,
    };
    for (size_t i = 0; i < f->n; i++) {
        add_group(n, hop, json_str(f->at[i], "TargetGroupArn"), f->at[i]);
    }
}

static unsigned protocols_of(const char *text)
{
    static const struct {
        const char *text;
        unsigned protocols;
    } known[] = {
        {"TCP", REACH_AWS_TCP},
        {"TLS", REACH_AWS_TCP},
        {"UDP", REACH_AWS_UDP},
        {"QUIC", REACH_AWS_UDP},
        {"TCP_UDP", REACH_AWS_TCP | REACH_AWS_UDP},
        {"TCP_QUIC", REACH_AWS_TCP | REACH_AWS_UDP},
    };
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (str_eq(known[i].text, text)) {
            return known[i].protocols;
        }
    }
    return 0;
}

static void add_listener(struct nlb *n, struct json_object *listener, struct map *groups)
{
    unsigned protocols = protocols_of(json_str(listener, "Protocol"));
    int64_t port = json_int(listener, "Port", 0);
    struct forwards f = forwards_of(groups, listener);
    for (unsigned one = REACH_AWS_TCP; one <= REACH_AWS_UDP; one++) {
        if ((protocols & one) != 0) {
            add_protocol(n, (enum reach_aws_protocol)one, port, &f);
        }
    }
}

/* --- balancers -------------------------------------------------------------------------------- */

static void add_places(struct nlb *n, struct json_object *document)
{
    struct json_object *zones = json_member(document, "AvailabilityZones");
    for (size_t i = 0; i < json_len(zones); i++) {
        struct json_object *zone = json_object_array_get_idx(zones, i);
        struct json_object *list = json_member(zone, "LoadBalancerAddresses");
        const char *own4 = NULL;
        const char *own6 = NULL;
        for (size_t k = 0; k < json_len(list); k++) {
            struct json_object *one = json_object_array_get_idx(list, k);
            own4 = own4 != NULL ? own4 : json_str(one, "PrivateIPv4Address");
            own6 = own6 != NULL ? own6 : json_str(one, "IPv6Address");
        }
        reach_aws_balancer_place(n->world, &n->lb, json_str(zone, "SubnetId"), own4, own6);
    }
}

static void add_nlb(struct reach_aws *w, struct json_object *document, struct map *listeners,
                    struct map *groups)
{
    struct json_object *zones = json_member(document, "AvailabilityZones");
    struct json_object *own = json_member(document, "SecurityGroups");
    const char *arn = str_nonnull(json_str(document, "LoadBalancerArn"));
    struct nlb n = {.world = w};
    if (!str_eq(json_str(document, "Type"), "network") ||
        !reach_aws_balancer_init(w, document, json_len(zones), &n.lb)) {
        return;
    }
    n.lb.groups = json_len(own) > 0 ? reach_aws_set_of(w->groups, own) : NULL;
    n.crosses =
        str_eq(attribute(w, "Attributes", arn, "load_balancing.cross_zone.enabled"), "true");
    n.has_prefixes = str_eq(json_str(document, "EnablePrefixForIpv6SourceNat"), "on");
    if (!n.lb.internal &&
        str_eq(attribute(w, "Attributes", arn, "ipv6.deny_all_igw_traffic"), "true")) {
        n.lb.ipv6 = false;
    }
    add_places(&n, document);
    struct json_object *list = map_get(listeners, arn);
    if (json_len(list) == 0) {
        (void)reach_aws_listen(w, &n.lb, 0, 0, REACH_NO_LISTENER);
    }
    for (size_t i = 0; i < json_len(list); i++) {
        add_listener(&n, json_object_array_get_idx(list, i), groups);
    }
}

static void put_json(void *o)
{
    json_object_put(o);
}

/* ARN of a balancer → array of its listeners; map_free() it. */
static struct map *index_listeners(struct reach_aws *w)
{
    struct map *index = map_new(put_json);
    struct json_object *list = json_member(w->elbv2, "Listeners");
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *one = json_object_array_get_idx(list, i);
        const char *lb = str_nonnull(json_str(one, "LoadBalancerArn"));
        struct json_object *own = map_get(index, lb);
        if (own == NULL) {
            own = json_object_new_array();
            map_set(index, lb, own);
        }
        json_object_array_add(own, json_object_get(one));
    }
    return index;
}

void reach_aws_nlbs(struct reach_aws *w)
{
    struct json_object *list = json_member(w->elbv2, "LoadBalancers");
    struct json_object *target_groups = json_member(w->elbv2, "TargetGroups");
    struct map *listeners = index_listeners(w);
    struct map *groups = map_new(NULL);
    for (size_t i = 0; i < json_len(target_groups); i++) {
        struct json_object *one = json_object_array_get_idx(target_groups, i);
        map_set(groups, str_nonnull(json_str(one, "TargetGroupArn")), one);
    }
    for (size_t i = 0; i < json_len(list); i++) {
        add_nlb(w, json_object_array_get_idx(list, i), listeners, groups);
    }
    map_free(groups);
    map_free(listeners);
}
