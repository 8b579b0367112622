/* SPDX-License-Identifier: Apache-2.0 */
/* ec2_groups.c: security groups themselves: describe, create, delete.
 *
 * A name is unique in its VPC.  A group that anything uses cannot go (DependencyViolation): an
 * instance, an interface, a balancer, a balancer that is gone but whose interfaces are not released
 * yet (setting group_release_ms), or a rule of another group.  The default group never goes.  Rules
 * are ec2_authorize.c's.
 * Source: docs/spec/aws.md §3.3, §4.10, §7.4, §12 row 17; CreateSecurityGroup in the
 * EC2 API Reference. */
#include "sim/aws/ec2/ec2_parts.h"

#include <string.h>

#define GROUPS_PER_VPC 2500

/* --- describe --------------------------------------------------------------------------------- */

#define RULE_FILTERS(prefix, member)                                                               \
    {prefix "ip-permission.cidr", member ".IpRanges.CidrIp"},                                      \
        {prefix "ip-permission.from-port", member ".FromPort"},                                    \
        {prefix "ip-permission.group-id", member ".UserIdGroupPairs.GroupId"},                     \
        {prefix "ip-permission.group-name", member ".UserIdGroupPairs.GroupName"},                 \
        {prefix "ip-permission.ipv6-cidr", member ".Ipv6Ranges.CidrIpv6"},                         \
        {prefix "ip-permission.prefix-list-id", member ".PrefixListIds.PrefixListId"},             \
        {prefix "ip-permission.protocol", member ".IpProtocol"},                                   \
        {prefix "ip-permission.to-port", member ".ToPort"},                                        \
    {                                                                                              \
        prefix "ip-permission.user-id", member ".UserIdGroupPairs.UserId"                          \
    }

static const struct ec2_filter group_filters[] = {
    {"description", "Description"},
    RULE_FILTERS("", "IpPermissions"),
    RULE_FILTERS("egress.", "IpPermissionsEgress"),
    {"group-id", "GroupId"},
    {"group-name", "GroupName"},
    {"owner-id", "OwnerId"},
    {"vpc-id", "VpcId"},
    {NULL, NULL},
};

/* Names are for the default VPC alone, as everywhere. */
static bool check_names(struct amz_request *q, struct json_object *names)
{
    for (size_t i = 0; i < json_len(names); i++) {
        const char *name = json_object_get_string(json_object_array_get_idx(names, i));
        if (!ec2_find_group_by_name(q, name)) {
            return false;
        }
    }
    return true;
}

bool ec2_describe_groups(struct amz_request *q)
{
    static const struct ec2_listing listing = {AMZ_SECURITY_GROUP, "GroupIds", "SecurityGroups",
                                               group_filters};
    struct json_object *names = json_member(q->in, "GroupNames");
    if (!check_names(q, names)) {
        return false;
    }
    struct json_object *found = ec2_select(q, &listing);
    for (size_t i = json_len(found); json_len(names) && i > 0; i--) {
        struct json_object *group = json_object_array_get_idx(found, i - 1);
        if (!amz_has_text(names, json_str(group, "GroupName")) ||
            !ec2_vpc_is_default(q->aws, json_str(group, "VpcId"))) {
            amz_remove_at(found, i - 1);
        }
    }
    return found && amz_page(q, "SecurityGroups", found, EC2_PAGE_MAX);
}

/* --- create ----------------------------------------------------------------------------------- */

static bool check_texts(struct amz_request *q, const char *name, const char *description)
{
    if (str_is_empty(name) || str_is_empty(description)) {
        return amz_refuse_missing(q, str_is_empty(name) ? "GroupName" : "GroupDescription");
    }
    if (!ec2_text_is_plain(name)) {
        return amz_refuse_value(q,
                                "Value (%s) for parameter GroupName is invalid. Group names are up "
                                "to 255 characters of a-z, A-Z, 0-9, spaces and "
                                "._-:/()#,@[]+=&;{}!$*",
                                name);
    }
    if (!ec2_text_is_plain(description)) {
        return amz_refuse_value(q,
                                "Value (%s) for parameter GroupDescription is invalid. Group "
                                "descriptions are up to 255 characters of a-z, A-Z, 0-9, spaces "
                                "and ._-:/()#,@[]+=&;{}!$*",
                                description);
    }
    if (str_has_prefix(name, "sg-")) {
        return amz_refuse_value(q,
                                "Value (%s) for parameter GroupName is invalid. Group names may "
                                "not be in the format sg-*.",
                                name);
    }
    return !str_eq(name, "default") ||
           amz_refuse(q, "InvalidGroup.Reserved", "The security group '%s' is reserved", name);
}

static bool check_place(struct amz_request *q, const char *vpc, const char *name)
{
    int64_t n = 0;
    for (struct amz_resource *g = amz_first(q->aws, AMZ_SECURITY_GROUP); g; g = g->next) {
        if (!str_eq(json_str(g->body, "VpcId"), vpc)) {
            continue;
        }
        if (str_eq(json_str(g->body, "GroupName"), name)) {
            return amz_refuse(q, "InvalidGroup.Duplicate",
                              "The security group '%s' already exists for VPC '%s'", name, vpc);
        }
        n++;
    }
    return n < amz_quota(q->aws, "groups_per_vpc", GROUPS_PER_VPC) ||
           amz_refuse(q, "SecurityGroupLimitExceeded",
                      "The maximum number of security groups for VPC '%s' has been reached.", vpc);
}

/* The VPC that is named, or the default one; NULL: refused. */
static const char *find_vpc(struct amz_request *q)
{
    const char *asked = json_str(q->in, "VpcId");
    struct amz_resource *vpc = asked ? ec2_find(q, AMZ_VPC, asked) : ec2_default_vpc(q->aws);
    if (!vpc && !asked) {
        amz_refuse(q, "VPCIdNotSpecified", "No default VPC for this user");
    }
    return vpc ? vpc->id : NULL;
}

bool ec2_create_group(struct amz_request *q)
{
    const char *name = json_str(q->in, "GroupName");
    const char *description = json_str(q->in, "Description");
    struct json_object *tags = NULL;
    if (!check_texts(q, name, description)) {
        return false;
    }
    const char *vpc = find_vpc(q);
    if (!vpc || !check_place(q, vpc, name) || !ec2_tags_asked(q, "security-group", NULL, &tags)) {
        return false;
    }
    const char *id = amz_ec2_add_group(q->aws, q->a, vpc, name, description, tags);
    struct amz_resource *group = amz_get(q->aws, AMZ_SECURITY_GROUP, id);
    amz_unsettle(q->aws, group, NULL);
    json_add_str(q->out, "GroupId", id);
    json_add_str(q->out, "SecurityGroupArn", json_str(group->body, "SecurityGroupArn"));
    json_add(q->out, "Tags", tags);
    return true;
}

/* --- delete ----------------------------------------------------------------------------------- */

static bool has_rule_from(struct arena *a, struct json_object *group, bool egress, const char *peer)
{
    struct ec2_rule_list list = ec2_rules_of(a, json_member(group, ec2_permissions_member(egress)));
    for (size_t i = 0; i < list.n; i++) {
        if (list.rules[i].kind == EC2_GROUP && str_eq(list.rules[i].source, peer)) {
            return true;
        }
    }
    return false;
}

/* Another group whose rules name this one, or NULL. */
static const char *referring_group(struct amz_request *q, const char *id)
{
    for (struct amz_resource *g = amz_first(q->aws, AMZ_SECURITY_GROUP); g; g = g->next) {
        if (!str_eq(g->id, id) &&
            (has_rule_from(q->a, g->body, false, id) || has_rule_from(q->a, g->body, true, id))) {
            return g->id;
        }
    }
    return NULL;
}

bool ec2_delete_group(struct amz_request *q)
{
    const char *id = json_str(q->in, "GroupId"), *name = json_str(q->in, "GroupName");
    if (!id && !name) {
        return amz_refuse_missing(q, "GroupId");
    }
    struct amz_resource *group =
        id ? ec2_find(q, AMZ_SECURITY_GROUP, id) : ec2_find_group_by_name(q, name);
    if (!group) {
        return false;
    }
    if (str_eq(json_str(group->body, "GroupName"), "default")) {
        return amz_refuse(q, "CannotDelete",
                          "the specified group: \"%s\" name: \"default\" cannot be deleted by a "
                          "user",
                          group->id);
    }
    if (amz_group_user(q->aws, group->id) || referring_group(q, group->id)) {
        return amz_refuse(q, "DependencyViolation", "resource %s has a dependent object",
                          group->id);
    }
    json_add_str(q->out, "GroupId", group->id);
    amz_unset(q->aws, AMZ_SECURITY_GROUP, group->id);
    return true;
}
