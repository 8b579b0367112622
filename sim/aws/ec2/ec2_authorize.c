/* SPDX-License-Identifier: Apache-2.0 */
/* ec2_authorize.c: rules of security groups: Authorize, Revoke, other descriptions,
 * DescribeSecurityGroupRules.
 *
 * Authorize is all or nothing: one rule that is there already (InvalidPermission.Duplicate), or one
 * too many for the quota, and none is made.  The quota (60) counts rules by direction, IPv4 and
 * IPv6 apart; a pair counts for both, a prefix list with its largest size.  Revoke takes out what
 * matches in all but the description; what does not match is InvalidPermission.NotFound and nothing
 * changes, but in a default VPC it is only listed in the answer.
 * Another description changes nothing else of a rule, which must be there.
 * Source: docs/spec/aws.md §3.3, §4.15, §12 row 14; RevokeSecurityGroupIngress and
 * UpdateSecurityGroupRuleDescriptionsIngress in the EC2 API Reference. */
#include "sim/aws/ec2/ec2_parts.h"

#include <string.h>

#define RULES_MAX 60

/* --- the group -------------------------------------------------------------------------------- */

/* By id, or by a name in the default VPC. */
static struct amz_resource *find_group(struct amz_request *q)
{
    const char *id = json_str(q->in, "GroupId"), *name = json_str(q->in, "GroupName");
    if (id) {
        return ec2_find(q, AMZ_SECURITY_GROUP, id);
    }
    if (!name) {
        amz_refuse_missing(q, "groupId");
        return NULL;
    }
    return ec2_find_group_by_name(q, name);
}

static const char *vpc_of(const struct amz_resource *group)
{
    return str_nonnull(json_str(group->body, "VpcId"));
}

static const struct ec2_rule *find_rule(const struct ec2_rule_list *list, const struct ec2_rule *r)
{
    for (size_t i = 0; i < list->n; i++) {
        if (ec2_rule_eq(&list->rules[i], r)) {
            return &list->rules[i];
        }
    }
    return NULL;
}

/* --- quota ------------------------------------------------------------------------------------ */

static int64_t weight_of(const struct aws *aws, const struct ec2_rule *r)
{
    struct json_object *lists = json_path(aws->rest, "ec2.PrefixLists");
    struct json_object *list =
        r->kind == EC2_PREFIX_LIST ? amz_find(lists, "PrefixListId", r->source, NULL) : NULL;
    return list ? json_int(list, "MaxEntries", 1) : 1;
}

static int64_t count_family(const struct aws *aws, const struct ec2_rule_list *list,
                            enum ec2_source other_family)
{
    int64_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        n += list->rules[i].kind == other_family ? 0 : weight_of(aws, &list->rules[i]);
    }
    return n;
}

static bool check_quota(struct amz_request *q, const struct ec2_rule_list *have,
                        const struct ec2_rule_list *add)
{
    int64_t limit = amz_quota(q->aws, "rules_per_group", RULES_MAX);
    static const enum ec2_source other[] = {EC2_CIDR6, EC2_CIDR};
    for (size_t i = 0; i < ARRAY_LEN(other); i++) {
        int64_t n = count_family(q->aws, add, other[i]);
        if (n > 0 && n + count_family(q->aws, have, other[i]) > limit) {
            return amz_refuse(q, "RulesPerSecurityGroupLimitExceeded",
                              "The maximum number of rules per security group has been reached.");
        }
    }
    return true;
}

/* --- Authorize -------------------------------------------------------------------------------- */

static bool authorize(struct amz_request *q, bool egress)
{
    struct amz_resource *group = find_group(q);
    struct ec2_rule_list add;
    if (!group || !ec2_rules_asked(q, vpc_of(group), true, &add)) {
        return false;
    }
    struct json_object *permissions = amz_list(group->body, ec2_permissions_member(egress));
    struct ec2_rule_list have = ec2_rules_of(q->a, permissions);
    for (size_t i = 0; i < add.n; i++) {
        if (find_rule(&have, &add.rules[i])) {
            return amz_refuse(q, "InvalidPermission.Duplicate",
                              "the specified rule \"%s\" already exists",
                              ec2_rule_text(q->a, &add.rules[i]));
        }
    }
    if (!check_quota(q, &have, &add)) {
        return false;
    }
    struct json_object *made = amz_list(q->out, "SecurityGroupRules");
    amz_unsettle(q->aws, group, group->body);
    for (size_t i = 0; i < add.n; i++) {
        ec2_rule_add(permissions, &add.rules[i]);
        json_object_array_add(made, ec2_rule_json(q->aws, q->a, group->id, egress, &add.rules[i]));
    }
    return true;
}

static const char *const ingress_taken[] = {"GroupId",
                                            "GroupName",
                                            "IpPermissions",
                                            "SecurityGroupRuleIds",
                                            "CidrIp",
                                            "IpProtocol",
                                            "FromPort",
                                            "ToPort",
                                            "SourceSecurityGroupName",
                                            "SourceSecurityGroupOwnerId",
                                            NULL};
static const char *const egress_taken[] = {"GroupId", "IpPermissions", "SecurityGroupRuleIds",
                                           NULL};

bool ec2_authorize_ingress(struct amz_request *q)
{
    return ec2_only(q, ingress_taken) && authorize(q, false);
}

bool ec2_authorize_egress(struct amz_request *q)
{
    return ec2_only(q, egress_taken) && authorize(q, true);
}

/* --- Revoke ----------------------------------------------------------------------------------- */

/* The rules that the request names by their ids. */
static bool rules_by_id(struct amz_request *q, const char *group, bool egress,
                        struct json_object *ids, const struct ec2_rule_list *have,
                        struct ec2_rule_list *ret)
{
    ret->rules = ARENA_ARRAY(q->a, struct ec2_rule, json_len(ids));
    ret->n = 0;
    for (size_t i = 0; i < json_len(ids); i++) {
        const char *id = json_object_get_string(json_object_array_get_idx(ids, i));
        size_t k = 0;
        while (k < have->n && !str_eq(ec2_rule_id(q->a, group, egress, &have->rules[k]), id)) {
            k++;
        }
        if (k == have->n) {
            bool fits = ec2_id_is_well_formed(id, "sgr-");
            return amz_refuse(q,
                              fits ? "InvalidSecurityGroupRuleId.NotFound"
                                   : "InvalidSecurityGroupRuleId.Malformed",
                              fits ? "The security group rule ID '%s' does not exist"
                                   : "Invalid id: \"%s\" (expecting \"sgr-...\")",
                              id);
        }
        ret->rules[ret->n++] = have->rules[k];
    }
    return true;
}

static bool rules_to_revoke(struct amz_request *q, const struct amz_resource *group, bool egress,
                            const struct ec2_rule_list *have, struct ec2_rule_list *ret)
{
    struct json_object *ids = json_member(q->in, "SecurityGroupRuleIds");
    if (json_len(ids) && json_len(json_member(q->in, "IpPermissions"))) {
        return amz_refuse_combination(q, "The parameter securityGroupRuleIds cannot be used with "
                                         "the parameter ipPermissions");
    }
    return json_len(ids) ? rules_by_id(q, group->id, egress, ids, have, ret)
                         : ec2_rules_asked(q, vpc_of(group), false, ret);
}

static struct json_object *revoked_json(struct amz_request *q, const char *group, bool egress,
                                        const struct ec2_rule *r)
{
    struct json_object *o = ec2_rule_json(q->aws, q->a, group, egress, r);
    static const char *const not_there[] = {"GroupOwnerId", "ReferencedGroupInfo",
                                            "SecurityGroupRuleArn", "Tags"};
    for (size_t i = 0; i < ARRAY_LEN(not_there); i++) {
        json_object_object_del(o, not_there[i]);
    }
    if (r->kind == EC2_GROUP) {
        json_add_str(o, "ReferencedGroupId", r->source);
    }
    return o;
}

static void put(void *o)
{
    json_object_put(o);
}

static bool revoke(struct amz_request *q, bool egress)
{
    struct amz_resource *group = find_group(q);
    if (!group) {
        return false;
    }
    struct json_object *permissions = amz_list(group->body, ec2_permissions_member(egress));
    struct json_object *was = json_copy(permissions); /* rules borrow its texts, and some go */
    arena_defer(q->a, put, was);
    struct ec2_rule_list have = ec2_rules_of(q->a, was), drop;
    if (!rules_to_revoke(q, group, egress, &have, &drop)) {
        return false;
    }
    bool lenient = ec2_vpc_is_default(q->aws, vpc_of(group));
    for (size_t i = 0; i < drop.n && !lenient; i++) {
        if (!find_rule(&have, &drop.rules[i])) {
            return amz_refuse(q, "InvalidPermission.NotFound",
                              "The specified rule does not exist in this security group.");
        }
    }
    struct json_object *gone = amz_list(q->out, "RevokedSecurityGroupRules");
    amz_unsettle(q->aws, group, group->body);
    for (size_t i = 0; i < drop.n; i++) {
        const struct ec2_rule *r = find_rule(&have, &drop.rules[i]);
        if (r) {
            json_object_array_add(gone, revoked_json(q, group->id, egress, r));
            ec2_rule_remove(permissions, &drop.rules[i]);
        } else {
            json_object_array_add(amz_list(q->out, "UnknownIpPermissions"),
                                  ec2_rule_permission(&drop.rules[i]));
        }
    }
    return true;
}

bool ec2_revoke_ingress(struct amz_request *q)
{
    return ec2_only(q, ingress_taken) && revoke(q, false);
}

bool ec2_revoke_egress(struct amz_request *q)
{
    return ec2_only(q, egress_taken) && revoke(q, true);
}

/* --- UpdateSecurityGroupRuleDescriptionsIngress ----------------------------------------------- */

static const char *const described_taken[] = {"GroupId", "GroupName", "IpPermissions", NULL};

bool ec2_describe_rules_anew(struct amz_request *q)
{
    struct amz_resource *group = ec2_only(q, described_taken) ? find_group(q) : NULL;
    struct ec2_rule_list asked;
    if (!group || !ec2_rules_asked(q, vpc_of(group), false, &asked)) {
        return false;
    }
    struct json_object *permissions = amz_list(group->body, ec2_permissions_member(false));
    struct json_object *was = json_copy(permissions); /* rules borrow its texts, and some go */
    arena_defer(q->a, put, was);
    struct ec2_rule_list have = ec2_rules_of(q->a, was);
    for (size_t i = 0; i < asked.n; i++) {
        if (!find_rule(&have, &asked.rules[i])) {
            return amz_refuse(q, "InvalidPermission.NotFound",
                              "The specified rule does not exist in this security group.");
        }
    }
    amz_unsettle(q->aws, group, group->body);
    for (size_t i = 0; i < asked.n; i++) {
        struct ec2_rule is = *find_rule(&have, &asked.rules[i]);
        is.description = asked.rules[i].description;
        ec2_rule_remove(permissions, &is);
        ec2_rule_add(permissions, &is);
    }
    return true;
}

/* --- DescribeSecurityGroupRules --------------------------------------------------------------- */

static const struct ec2_filter rule_filters[] = {
    {"group-id", "GroupId"}, {"security-group-rule-id", "SecurityGroupRuleId"}, {NULL, NULL}};

/* Adds the rules of a group that pass; notes in `ids` which of the asked ones were seen. */
static void collect_rules(struct amz_request *q, struct amz_resource *group, bool egress,
                          struct json_object *ids, struct map *seen, struct json_object *out)
{
    struct json_object *doc = amz_seen(q->aws, group);
    struct json_object *permissions = json_member(doc, ec2_permissions_member(egress));
    struct ec2_rule_list list = ec2_rules_of(q->a, permissions);
    for (size_t i = 0; i < list.n; i++) {
        struct json_object *rule = ec2_rule_json(q->aws, q->a, group->id, egress, &list.rules[i]);
        const char *id = json_str(rule, "SecurityGroupRuleId");
        bool asked = json_len(ids) == 0 || amz_has_text(ids, id);
        if (asked) {
            map_set(seen, id, NULL);
        }
        if (asked && ec2_filters_pass(q, rule_filters, "Tags", rule)) {
            json_object_array_add(out, rule);
        } else {
            json_object_put(rule);
        }
    }
}

bool ec2_describe_rules(struct amz_request *q)
{
    struct json_object *ids = json_member(q->in, "SecurityGroupRuleIds");
    if (!ec2_filters_check(q, rule_filters, "Tags")) {
        return false;
    }
    struct json_object *found = json_object_new_array();
    struct map *seen = map_new(NULL);
    for (struct amz_resource *g = amz_first(q->aws, AMZ_SECURITY_GROUP); g; g = g->next) {
        collect_rules(q, g, false, ids, seen, found);
        collect_rules(q, g, true, ids, seen, found);
    }
    const char *missing = NULL;
    for (size_t i = 0; i < json_len(ids) && !missing; i++) {
        const char *id = json_object_get_string(json_object_array_get_idx(ids, i));
        missing = map_has(seen, id) ? NULL : id;
    }
    map_free(seen);
    if (missing) {
        json_object_put(found);
        return amz_refuse(q, "InvalidSecurityGroupRuleId.NotFound",
                          "The security group rule ID '%s' does not exist", missing);
    }
    return amz_page(q, "SecurityGroupRules", found, EC2_PAGE_MAX);
}
