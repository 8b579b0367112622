/* SPDX-License-Identifier: Apache-2.0 */
/* ec2_permissions.c: the permissions of a security group, taken apart into single rules and put
 * together again.
 *
 * EC2 keeps single rules (one protocol, one port range, one source) and shows them in permissions:
 * one per protocol and ports, with all its ranges, pairs and lists.  Documents hold the
 * permissions, as a world does; everything that compares, counts or names rules works on
 * `struct ec2_rule`.  Two rules are equal if they differ at most in the description, which is not
 * part of a rule's identity.  Source: docs/spec/aws.md §4.15; IpPermission in the EC2 API
 * Reference. */
#include "sim/aws/ec2/ec2_parts.h"

#include "common/base/hash.h"

#include <string.h>

/* Where each kind of source stands in a permission. */
struct source_form {
    const char *list;   /* "IpRanges" */
    const char *member; /* of an item: "CidrIp" */
    const char *single; /* member of a SecurityGroupRule */
};
static const struct source_form forms[] = {
    [EC2_CIDR] = {"IpRanges", "CidrIp", "CidrIpv4"},
    [EC2_CIDR6] = {"Ipv6Ranges", "CidrIpv6", "CidrIpv6"},
    [EC2_GROUP] = {"UserIdGroupPairs", "GroupId", NULL},
    [EC2_PREFIX_LIST] = {"PrefixListIds", "PrefixListId", "PrefixListId"},
};

const char *ec2_permissions_member(bool egress)
{
    return egress ? "IpPermissionsEgress" : "IpPermissions";
}

/* --- taking apart ----------------------------------------------------------------------------- */

static size_t count_sources(struct json_object *permission)
{
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        n += json_len(json_member(permission, forms[i].list));
    }
    return n;
}

static struct ec2_rule head_of(struct json_object *permission)
{
    struct ec2_rule r = {.protocol = str_nonnull(json_str(permission, "IpProtocol"))};
    r.has_ports = json_member(permission, "FromPort") && json_member(permission, "ToPort");
    if (r.has_ports) {
        r.from = json_int(permission, "FromPort", 0);
        r.to = json_int(permission, "ToPort", 0);
    }
    return r;
}

struct ec2_rule_list ec2_rules_of(struct arena *a, struct json_object *permissions)
{
    struct ec2_rule_list list = {NULL, 0};
    size_t total = 0;
    for (size_t i = 0; i < json_len(permissions); i++) {
        total += count_sources(json_object_array_get_idx(permissions, i));
    }
    list.rules = ARENA_ARRAY(a, struct ec2_rule, total);
    for (size_t i = 0; i < json_len(permissions); i++) {
        struct json_object *p = json_object_array_get_idx(permissions, i);
        for (size_t k = 0; k < ARRAY_LEN(forms); k++) {
            struct json_object *sources = json_member(p, forms[k].list);
            for (size_t j = 0; j < json_len(sources); j++) {
                struct json_object *s = json_object_array_get_idx(sources, j);
                struct ec2_rule *r = &list.rules[list.n++];
                *r = head_of(p);
                r->kind = (enum ec2_source)k;
                r->source = str_nonnull(json_str(s, forms[k].member));
                r->owner = k == EC2_GROUP ? json_str(s, "UserId") : NULL;
                r->description = json_str(s, "Description");
            }
        }
    }
    return list;
}

/* --- comparing -------------------------------------------------------------------------------- */

static bool same_head(const struct ec2_rule *x, const struct ec2_rule *y)
{
    return str_eq(x->protocol, y->protocol) && x->has_ports == y->has_ports && x->from == y->from &&
           x->to == y->to;
}

bool ec2_rule_eq(const struct ec2_rule *x, const struct ec2_rule *y)
{
    return x->kind == y->kind && same_head(x, y) && str_eq(x->source, y->source);
}

/* --- putting together ------------------------------------------------------------------------- */

static void add_head(struct json_object *o, const struct ec2_rule *r)
{
    if (r->has_ports) {
        json_add_int(o, "FromPort", r->from);
    }
    json_add_str(o, "IpProtocol", r->protocol);
    if (r->has_ports) {
        json_add_int(o, "ToPort", r->to);
    }
}

static struct json_object *empty_permission(const struct ec2_rule *r)
{
    struct json_object *p = json_object_new_object();
    add_head(p, r);
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        json_add(p, forms[i].list, json_object_new_array());
    }
    return p;
}

static void add_source(struct json_object *permission, const struct ec2_rule *r)
{
    struct json_object *s = json_object_new_object();
    json_add_str(s, forms[r->kind].member, r->source);
    json_add_str(s, "Description", r->description);
    if (r->kind == EC2_GROUP) {
        json_add_str(s, "UserId", str_or(r->owner, AMZ_ACCOUNT));
    }
    json_object_array_add(amz_list(permission, forms[r->kind].list), s);
}

void ec2_rule_add(struct json_object *permissions, const struct ec2_rule *r)
{
    for (size_t i = 0; i < json_len(permissions); i++) {
        struct json_object *p = json_object_array_get_idx(permissions, i);
        struct ec2_rule head = head_of(p);
        if (same_head(&head, r)) {
            add_source(p, r);
            return;
        }
    }
    json_object_array_add(permissions, ec2_rule_permission(r));
}

struct json_object *ec2_rule_permission(const struct ec2_rule *r)
{
    struct json_object *p = empty_permission(r);
    add_source(p, r);
    return p;
}

void ec2_rule_remove(struct json_object *permissions, const struct ec2_rule *r)
{
    for (size_t i = json_len(permissions); i > 0; i--) {
        struct json_object *p = json_object_array_get_idx(permissions, i - 1);
        struct ec2_rule head = head_of(p);
        struct json_object *sources = json_member(p, forms[r->kind].list);
        size_t at;
        if (same_head(&head, r) && amz_find(sources, forms[r->kind].member, r->source, &at)) {
            amz_remove_at(sources, at);
            if (count_sources(p) == 0) {
                amz_remove_at(permissions, i - 1);
            }
        }
    }
}

/* --- as other things -------------------------------------------------------------------------- */

char *ec2_rule_id(struct arena *a, const char *group, bool egress, const struct ec2_rule *r)
{
    const char *key =
        arena_printf(a, "%s %d %s %d %lld %lld %d %s", group, egress, r->protocol, r->has_ports,
                     (long long)r->from, (long long)r->to, (int)r->kind, r->source);
    uint64_t h = hash_bytes(0, key, strlen(key));
    return arena_printf(a, "sgr-0%016llx", (unsigned long long)h);
}

struct json_object *ec2_rule_json(struct aws *aws, struct arena *a, const char *group, bool egress,
                                  const struct ec2_rule *r)
{
    struct json_object *o = json_object_new_object();
    const char *id = ec2_rule_id(a, group, egress, r);
    json_add_str(o, "SecurityGroupRuleId", id);
    json_add_str(o, "GroupId", group);
    json_add_str(o, "GroupOwnerId", AMZ_ACCOUNT);
    json_add_bool(o, "IsEgress", egress);
    json_add_str(o, "IpProtocol", r->protocol);
    json_add_int(o, "FromPort", r->has_ports ? r->from : -1);
    json_add_int(o, "ToPort", r->has_ports ? r->to : -1);
    if (r->kind == EC2_GROUP) {
        struct json_object *peer = json_object_new_object();
        json_add_str(peer, "GroupId", r->source);
        json_add_str(peer, "UserId", str_or(r->owner, AMZ_ACCOUNT));
        json_add(o, "ReferencedGroupInfo", peer);
    } else {
        json_add_str(o, forms[r->kind].single, r->source);
    }
    json_add_str(o, "Description", r->description);
    json_add_str(o, "SecurityGroupRuleArn", amz_arn(aws, a, "ec2", "security-group-rule/%s", id));
    json_add(o, "Tags", json_object_new_array());
    return o;
}

char *ec2_rule_text(struct arena *a, const struct ec2_rule *r)
{
    const char *ports = "", *protocol;
    if (str_eq(r->protocol, "-1")) {
        protocol = "ALL";
    } else if (r->protocol[0] >= '0' && r->protocol[0] <= '9') {
        protocol = arena_printf(a, "protocol: %s", r->protocol);
    } else {
        protocol = str_upper(a, r->protocol);
        ports =
            arena_printf(a,
                         str_has_prefix(r->protocol, "icmp") ? ", type: %lld, code: %lld"
                                                             : ", from port: %lld, to port: %lld",
                         (long long)r->from, (long long)r->to);
    }
    return arena_printf(a, "peer: %s, %s%s, ALLOW", r->source, protocol, ports);
}
