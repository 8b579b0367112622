/* SPDX-License-Identifier: Apache-2.0 */
/* firewalls.c: firewall rules and routes of a network.
 *
 * A rule allows or denies, never both; protocols and ports must be such; ranges are stored in their
 * normal form and are of one family.  Source: compute v1 "firewalls", "routes";
 * gce-cloud-provider.md §4.6, §16. */
#include "common/base/ip.h"
#include "sim/compute/compute.h"

#include <string.h>

#define RANGES_MAX      5000
#define TARGET_TAGS_MAX 70
#define SOURCE_TAGS_MAX 30

static bool protocol_is_known(const char *protocol)
{
    static const char *const names[] = {"tcp", "udp", "icmp", "esp", "ah", "sctp", "ipip", "all"};
    int64_t number;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eq_nocase(names[i], protocol)) {
            return true;
        }
    }
    return str_to_i64(protocol, &number) && number >= 0 && number <= 255;
}

static bool protocol_has_ports(const char *protocol)
{
    static const char *const names[] = {"tcp", "udp", "sctp", "6", "17", "132"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eq_nocase(names[i], protocol)) {
            return true;
        }
    }
    return false;
}

static bool check_rule(struct request *q, struct json_object *rule, const char *where)
{
    const char *protocol = json_str(rule, "IPProtocol");
    struct json_object *ports = json_member(rule, "ports");
    int64_t low, high;
    if (!protocol || !protocol_is_known(protocol)) {
        return ce_refuse_invalid(&q->refusal, q->a, arena_printf(q->a, "%s.IPProtocol", where),
                                 str_nonnull(protocol),
                                 "Must be tcp, udp, icmp, esp, ah, sctp, ipip, all or a number.");
    }
    if (json_len(ports) > 0 && !protocol_has_ports(protocol)) {
        return ce_refuse_invalid(&q->refusal, q->a, arena_printf(q->a, "%s.ports", where), protocol,
                                 "Ports are only applicable for TCP, UDP and SCTP.");
    }
    for (size_t i = 0; i < json_len(ports); i++) {
        const char *port = json_object_get_string(json_object_array_get_idx(ports, i));
        if (!ce_port_range_parse(port, 0, &low, &high)) {
            return ce_refuse_invalid(&q->refusal, q->a,
                                     arena_printf(q->a, "%s.ports[%zu]", where, i), port,
                                     "Invalid port range.");
        }
    }
    return true;
}

static bool check_rules(struct request *q, struct json_object *body)
{
    static const char *const lists[] = {"allowed", "denied"};
    size_t present = 0;
    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        struct json_object *rules = json_member(body, lists[l]);
        present += json_len(rules) > 0;
        for (size_t i = 0; i < json_len(rules); i++) {
            const char *where = arena_printf(q->a, "resource.%s[%zu]", lists[l], i);
            if (!check_rule(q, json_object_array_get_idx(rules, i), where)) {
                return false;
            }
        }
    }
    return present == 1 ||
           ce_refuse(&q->refusal, q->a, 400, present ? "invalid" : "required",
                     present ? "A firewall rule has either allowed or denied, not both."
                             : "Required field 'resource.allowed' not specified");
}

/* Which families of addresses a rule's ranges are of. */
struct families {
    bool v4, v6;
};

/* Replaces a range by its network's normal form; a single address, and 0::0/0, are kept
 * as they are. */
static bool normalise_range(struct json_object *ranges, size_t i, struct families *families)
{
    const char *text = json_object_get_string(json_object_array_get_idx(ranges, i));
    struct ip_addr addr;
    struct ip_net net;
    char out[IP_TEXT_MAX];
    bool single = ip_parse(text, &addr);
    if (!single && !ip_net_parse(text, &net)) {
        return false;
    }
    bool v4 = (single ? addr.len : net.addr.len) == 4;
    families->v4 = families->v4 || v4;
    families->v6 = families->v6 || !v4;
    if (!single && !str_has_prefix(text, "0::0/")) {
        ip_net_format(&net, out);
        json_object_array_put_idx(ranges, i, json_object_new_string(out));
    }
    return true;
}

static bool normalise_ranges(struct request *q, struct json_object *body)
{
    static const char *const members[] = {"sourceRanges", "destinationRanges"};
    struct families families = {0};
    for (size_t m = 0; m < ARRAY_LEN(members); m++) {
        struct json_object *ranges = json_member(body, members[m]);
        const char *where = arena_printf(q->a, "resource.%s", members[m]);
        if (json_len(ranges) > RANGES_MAX) {
            return ce_refuse_invalid(&q->refusal, q->a, where, "…", "Too many ranges.");
        }
        for (size_t i = 0; i < json_len(ranges); i++) {
            const char *text = json_object_get_string(json_object_array_get_idx(ranges, i));
            if (!normalise_range(ranges, i, &families)) {
                return ce_refuse_invalid(&q->refusal, q->a, arena_printf(q->a, "%s[%zu]", where, i),
                                         text, "Must be a valid IP address range in CIDR form.");
            }
        }
        if (families.v4 && families.v6) {
            return ce_refuse_invalid(&q->refusal, q->a, where, "…",
                                     "IPv4 and IPv6 ranges cannot be mixed in one rule.");
        }
    }
    return true;
}

static bool check_tags(struct request *q, struct json_object *body, const char *member, size_t max)
{
    struct json_object *tags = json_member(body, member);
    if (json_len(tags) > max) {
        return ce_refuse_invalid(&q->refusal, q->a, arena_printf(q->a, "resource.%s", member),
                                 arena_printf(q->a, "%zu tags", json_len(tags)),
                                 arena_printf(q->a, "At most %zu tags are allowed.", max));
    }
    for (size_t i = 0; i < json_len(tags); i++) {
        const char *tag = json_object_get_string(json_object_array_get_idx(tags, i));
        if (!ce_name_is_valid(tag)) {
            return ce_refuse_invalid(&q->refusal, q->a,
                                     arena_printf(q->a, "resource.%s[%zu]", member, i), tag,
                                     "Must be a valid network tag.");
        }
    }
    return true;
}

static bool check_direction(struct request *q, struct json_object *body)
{
    bool egress = str_eq(json_str(body, "direction"), "EGRESS");
    bool sources = json_len(json_member(body, "sourceRanges")) > 0 ||
                   json_len(json_member(body, "sourceTags")) > 0 ||
                   json_len(json_member(body, "sourceServiceAccounts")) > 0;
    if (egress && sources) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.direction", "EGRESS",
                                 "A rule for egress has no sources.");
    }
    if (!egress && !sources) {
        struct json_object *all = json_object_new_array();
        json_push_str(all, "0.0.0.0/0");
        json_add(body, "sourceRanges", all);
    }
    int64_t priority = json_int(body, "priority", 1000);
    return (priority >= 0 && priority <= 65535) ||
           ce_refuse_invalid(&q->refusal, q->a, "resource.priority",
                             arena_printf(q->a, "%lld", (long long)priority),
                             "Must be between 0 and 65535.");
}

static bool check_firewall(struct request *q, struct json_object *body)
{
    return check_rules(q, body) && normalise_ranges(q, body) &&
           check_tags(q, body, "targetTags", TARGET_TAGS_MAX) &&
           check_tags(q, body, "sourceTags", SOURCE_TAGS_MAX) && check_direction(q, body);
}

bool ce_firewall_insert(struct request *q, struct json_object *body)
{
    if (!json_str(body, "network")) {
        json_add_str(
            body, "network",
            ce_link_full(
                q->a, arena_printf(q->a, "projects/%s/global/networks/" SIM_NETWORK, q->project)));
    }
    return check_firewall(q, body);
}

bool ce_firewall_change(struct request *q, struct json_object *old, struct json_object *body)
{
    (void)old;
    return check_firewall(q, body);
}

bool ce_route_insert(struct request *q, struct json_object *body)
{
    static const char *const hops[] = {"nextHopInstance", "nextHopIp", "nextHopGateway",
                                       "nextHopVpnTunnel", "nextHopIlb"};
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(hops); i++) {
        n += json_str(body, hops[i]) != NULL;
    }
    if (n != 1) {
        return ce_refuse(&q->refusal, q->a, 400, "invalid", "A route has exactly one next hop.");
    }
    struct ip_net net;
    const char *range = json_str(body, "destRange");
    return (range && ip_net_parse(range, &net)) ||
           ce_refuse_invalid(&q->refusal, q->a, "resource.destRange", str_nonnull(range),
                             "Must be a valid IP address range in CIDR form.");
}
