/* SPDX-License-Identifier: Apache-2.0 */
/* ec2_permission_checks.c: what EC2 asks of a rule in Authorize and Revoke.
 *
 * Protocols are the names tcp, udp, icmp, icmpv6, "-1", or a number; a TLS listener's "tls" is
 * none.  Ports go with tcp and udp, types and codes with ICMP; with all other protocols they are
 * dropped, as AWS does.  A CIDR's host bits are cleared (100.68.0.18/18 is 100.68.0.0/18 from then
 * on, IpRange in the API Reference), but an address without a length, odd spellings and the other
 * family are malformed.  One request may not name a rule twice.
 * Source: docs/spec/aws.md §3.3, §12 rows 5 and 14; IpPermission, IpRange and UserIdGroupPair in
 * the EC2 API Reference. */
#include "sim/aws/ec2/ec2_parts.h"

#include "common/base/ip.h"

#include <string.h>

#define TEXT_MAX     255
#define PROTOCOL_MAX 255

bool ec2_text_is_plain(const char *text)
{
    static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                " ._-:/()#,@[]+=&;{}!$*";
    return strlen(text) <= TEXT_MAX && strspn(text, chars) == strlen(text);
}

/* --- protocol and ports ----------------------------------------------------------------------- */

/* The protocol as EC2 writes it, or NULL. */
static const char *protocol_name(struct arena *a, const char *text)
{
    static const char *const names[] = {"tcp", "udp", "icmp", "icmpv6", "-1"};
    uint64_t number;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eq(text, names[i])) {
            return names[i];
        }
    }
    if (!str_to_u64(text, &number) || number > PROTOCOL_MAX) {
        return NULL;
    }
    return number == 6    ? "tcp"
           : number == 17 ? "udp"
           : number == 1  ? "icmp"
           : number == 58 ? "icmpv6"
                          : arena_printf(a, "%llu", (unsigned long long)number);
}

static bool check_ports(struct amz_request *q, const struct ec2_rule *r)
{
    if (!r->has_ports) {
        return amz_refuse_value(q, "Invalid value 'Must specify both from and to ports with "
                                   "TCP/UDP.' for portRange.");
    }
    int64_t wrong = r->from < 0 || r->from > 65535 ? r->from : r->to;
    if (wrong < 0 || wrong > 65535) {
        return amz_refuse_value(q, "TCP/UDP port (%lld) out of range", (long long)wrong);
    }
    return r->from <= r->to || amz_refuse_value(q, "Invalid TCP/UDP port range (%lld:%lld)",
                                                (long long)r->from, (long long)r->to);
}

/* "from" is the type, "to" the code; -1 is any, and any type has any code. */
static bool check_icmp(struct amz_request *q, struct ec2_rule *r)
{
    if (!r->has_ports && str_eq(r->protocol, "icmpv6")) {
        r->has_ports = true;
        r->from = r->to = -1;
    }
    if (!r->has_ports) {
        return amz_refuse_value(q, "Invalid value 'Must specify both type and code with ICMP.' for "
                                   "portRange.");
    }
    if (r->from < -1 || r->from > 255 || r->to < -1 || r->to > 255) {
        return amz_refuse_value(q, "ICMP type or code (%lld:%lld) out of range", (long long)r->from,
                                (long long)r->to);
    }
    return r->from != -1 || r->to == -1 ||
           amz_refuse_value(q, "ICMP code (%lld) is invalid for all ICMP types", (long long)r->to);
}

/* Protocol and ports of a permission, or of a request that is one. */
static bool read_head(struct amz_request *q, struct json_object *o, struct ec2_rule *ret)
{
    const char *text = json_str(o, "IpProtocol");
    if (!text) {
        return amz_refuse_missing(q, "ipProtocol");
    }
    *ret = (struct ec2_rule){.protocol = protocol_name(q->a, text)};
    if (!ret->protocol) {
        return amz_refuse_value(q, "Invalid value '%s' for IP protocol. Unknown protocol.", text);
    }
    bool is_port = str_eq(ret->protocol, "tcp") || str_eq(ret->protocol, "udp");
    bool is_icmp = str_has_prefix(ret->protocol, "icmp");
    if (is_port || is_icmp) {
        bool from = json_member(o, "FromPort") != NULL, to = json_member(o, "ToPort") != NULL;
        ret->has_ports = from && to;
        ret->from = ret->has_ports ? json_int(o, "FromPort", 0) : 0;
        ret->to = ret->has_ports ? json_int(o, "ToPort", 0) : 0;
    }
    return is_port ? check_ports(q, ret) : !is_icmp || check_icmp(q, ret);
}

/* --- sources ---------------------------------------------------------------------------------- */

static bool read_cidr(struct amz_request *q, const char *text, bool ipv6, struct ec2_rule *r)
{
    struct ip_net net;
    char canonical[IP_TEXT_MAX];
    if (!text) {
        return amz_refuse_missing(q, ipv6 ? "cidrIpv6" : "cidrIp");
    }
    const char *slash = strchr(text, '/');
    bool odd = slash && slash[1] == '0' && slash[2]; /* "/08" */
    if (odd || !ip_net_parse(text, &net) || net.was_mapped || (net.addr.len == 16) != ipv6) {
        return amz_refuse_value(q, "CIDR block %s is malformed", text);
    }
    ip_net_format(&net, canonical);
    r->kind = ipv6 ? EC2_CIDR6 : EC2_CIDR;
    r->source = arena_strdup(q->a, canonical);
    return true;
}

/* A group by its name is for rules of the default VPC alone. */
static const char *peer_by_name(struct amz_request *q, const char *vpc, const char *name)
{
    if (!ec2_vpc_is_default(q->aws, vpc)) {
        amz_refuse_value(q,
                         "Invalid value '%s' for groupName. You may not reference Amazon VPC "
                         "security groups by name. Please use the corresponding id for this "
                         "operation.",
                         name);
        return NULL;
    }
    struct amz_resource *group = ec2_find_group_by_name(q, name);
    return group ? group->id : NULL;
}

static bool read_pair(struct amz_request *q, struct json_object *pair, const char *vpc, bool adding,
                      struct ec2_rule *r)
{
    const char *id = json_str(pair, "GroupId"), *name = json_str(pair, "GroupName");
    const char *owner = str_or(json_str(pair, "UserId"), AMZ_ACCOUNT);
    if (!id && !name) {
        return amz_refuse_missing(q, "groupId");
    }
    if (!id && !(id = peer_by_name(q, vpc, name))) {
        return false;
    }
    r->kind = EC2_GROUP;
    r->source = id;
    r->owner = owner;
    if (!adding) {
        /* a rule may outlive its peer's VPC connection; what is not there is not found as a rule */
        return ec2_id_is_well_formed(id, "sg-") || amz_get(q->aws, AMZ_SECURITY_GROUP, id) ||
               ec2_find(q, AMZ_SECURITY_GROUP, id);
    }
    if (!str_eq(owner, AMZ_ACCOUNT)) {
        return amz_refuse(q, "InvalidGroup.NotFound", "The security group '%s' does not exist", id);
    }
    struct amz_resource *group = ec2_find(q, AMZ_SECURITY_GROUP, id);
    return group && (str_eq(json_str(group->body, "VpcId"), vpc) ||
                     amz_refuse(q, "InvalidGroup.NotFound",
                                "You have specified two resources that belong to different "
                                "networks."));
}

static bool read_prefix_list(struct amz_request *q, const char *id, bool adding, struct ec2_rule *r)
{
    if (!id) {
        return amz_refuse_missing(q, "prefixListId");
    }
    struct json_object *lists = json_path(q->aws->rest, "ec2.PrefixLists");
    bool known = amz_find(lists, "PrefixListId", id, NULL) != NULL;
    r->kind = EC2_PREFIX_LIST;
    r->source = id;
    if (!known && !ec2_id_is_well_formed(id, "pl-")) {
        return amz_refuse(q, "InvalidPrefixListId.Malformed",
                          "Invalid id: \"%s\" (expecting \"pl-...\")", id);
    }
    return known || !adding ||
           amz_refuse(q, "InvalidPrefixListID.NotFound", "The prefix list ID '%s' does not exist",
                      id);
}

static bool read_description(struct amz_request *q, struct json_object *source, struct ec2_rule *r)
{
    r->description = json_str(source, "Description");
    if (str_is_empty(r->description)) {
        r->description = NULL;
    }
    return !r->description || ec2_text_is_plain(r->description) ||
           amz_refuse_value(q, "Invalid rule description. Valid descriptions are strings less than "
                               "256 characters from the following set: "
                               "a-zA-Z0-9. _-:/()#,@[]+=&;{}!$*");
}

/* --- a whole request -------------------------------------------------------------------------- */

struct reading {
    struct amz_request *q;
    const char *vpc;
    bool adding;
    struct ec2_rule_list list;
    size_t room;
    struct map *seen;
};

static bool take(struct reading *rd, const struct ec2_rule *r)
{
    const char *key = ec2_rule_id(rd->q->a, "", false, r);
    if (map_has(rd->seen, key)) {
        return amz_refuse_value(rd->q, "The same permission must not appear multiple times");
    }
    map_set(rd->seen, key, NULL);
    if (rd->list.n == rd->room) {
        struct ec2_rule *more = ARENA_ARRAY(rd->q->a, struct ec2_rule, rd->room * 2 + 16);
        if (rd->list.n) {
            memcpy(more, rd->list.rules, rd->list.n * sizeof(*more));
        }
        rd->room = rd->room * 2 + 16;
        rd->list.rules = more;
    }
    rd->list.rules[rd->list.n++] = *r;
    return true;
}

static bool read_source(struct reading *rd, enum ec2_source kind, struct json_object *s,
                        struct ec2_rule *r)
{
    switch (kind) {
    case EC2_CIDR:
        return read_cidr(rd->q, json_str(s, "CidrIp"), false, r);
    case EC2_CIDR6:
        return read_cidr(rd->q, json_str(s, "CidrIpv6"), true, r);
    case EC2_GROUP:
        return read_pair(rd->q, s, rd->vpc, rd->adding, r);
    case EC2_PREFIX_LIST:
        return read_prefix_list(rd->q, json_str(s, "PrefixListId"), rd->adding, r);
    }
    return false;
}

static bool read_permission(struct reading *rd, struct json_object *p)
{
    static const char *const lists[] = {"IpRanges", "Ipv6Ranges", "UserIdGroupPairs",
                                        "PrefixListIds"};
    struct ec2_rule head;
    size_t before = rd->list.n;
    if (!read_head(rd->q, p, &head)) {
        return false;
    }
    for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
        struct json_object *sources = json_member(p, lists[k]);
        for (size_t i = 0; i < json_len(sources); i++) {
            struct json_object *s = json_object_array_get_idx(sources, i);
            struct ec2_rule r = head;
            if (!read_source(rd, (enum ec2_source)k, s, &r) || !read_description(rd->q, s, &r) ||
                !take(rd, &r)) {
                return false;
            }
        }
    }
    return rd->list.n > before ||
           amz_refuse(rd->q, "MissingParameter",
                      "Source group, CIDR or prefix list of a permission is missing");
}

/* The older form: one rule in the request's own members. */
static bool read_single(struct reading *rd)
{
    struct json_object *in = rd->q->in;
    const char *cidr = json_str(in, "CidrIp"), *name = json_str(in, "SourceSecurityGroupName");
    struct ec2_rule r;
    if (cidr && name) {
        return amz_refuse_combination(rd->q, "Only one of cidrIp and sourceSecurityGroupName may "
                                             "be given");
    }
    if (name) { /* opens all protocols to the group */
        r = (struct ec2_rule){.protocol = "-1", .kind = EC2_GROUP, .owner = AMZ_ACCOUNT};
        r.source = peer_by_name(rd->q, rd->vpc, name);
        return r.source && take(rd, &r);
    }
    return read_head(rd->q, in, &r) && read_cidr(rd->q, cidr, false, &r) && take(rd, &r);
}

static bool read_all(struct reading *rd)
{
    static const char *const single[] = {"CidrIp",
                                         "IpProtocol",
                                         "FromPort",
                                         "ToPort",
                                         "SourceSecurityGroupName",
                                         "SourceSecurityGroupOwnerId"};
    struct json_object *permissions = json_member(rd->q->in, "IpPermissions");
    bool has_single = false;
    for (size_t i = 0; i < ARRAY_LEN(single); i++) {
        has_single = has_single || json_member(rd->q->in, single[i]);
    }
    if (has_single && json_len(permissions)) {
        return amz_refuse_combination(rd->q, "The parameter ipPermissions cannot be used with a "
                                             "rule in parameters of its own");
    }
    if (has_single) {
        return read_single(rd);
    }
    if (json_len(permissions) == 0) {
        return amz_refuse_missing(rd->q, "ipPermissions");
    }
    for (size_t i = 0; i < json_len(permissions); i++) {
        if (!read_permission(rd, json_object_array_get_idx(permissions, i))) {
            return false;
        }
    }
    return true;
}

bool ec2_rules_asked(struct amz_request *q, const char *vpc, bool adding, struct ec2_rule_list *ret)
{
    struct reading rd = {.q = q, .vpc = vpc, .adding = adding, .seen = map_new(NULL)};
    bool ok = read_all(&rd);
    map_free(rd.seen);
    if (ok) {
        *ret = rd.list;
    }
    return ok;
}
