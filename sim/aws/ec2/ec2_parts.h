/* SPDX-License-Identifier: Apache-2.0 */
/* ec2_parts.h: what the files ec2_*.c know of each other: ids, filters, rules of security groups,
 * tags, the actions.
 *
 * Documents are in the packs' names, in the frame's store (aws.h).  Whatever a request may be
 * refused for is checked before the first document changes. */
#ifndef TRIMTAB_SIM_AWS_EC2_PARTS_H
#define TRIMTAB_SIM_AWS_EC2_PARTS_H

#include "sim/aws/aws.h"
#include "sim/aws/ec2/ec2.h"

#define EC2_PAGE_MAX 1000 /* items of a page, also if the client set no limit */

/* --- ec2_ids.c: the resources that have ids --------------------------------------------------- */

struct ec2_kind {
    enum amz_kind_id kind;
    const char *prefix;    /* "sg-" */
    const char *type;      /* as in tag specifications: "security-group" */
    const char *malformed; /* code: "InvalidGroupId.Malformed" */
    const char *not_found; /* code: "InvalidGroup.NotFound" */
    const char *noun;      /* of the message: "security group" */
    const char *tags;      /* member that holds its tags */
};
extern const struct ec2_kind ec2_kinds[]; /* prefix NULL ends the table */
const struct ec2_kind *ec2_kind_of(enum amz_kind_id kind);
/* The kind of an id by its prefix; NULL: none that is known. */
const struct ec2_kind *ec2_kind_by_id(const char *id);
/* The resource as callers see it; refuses malformed and unknown ids. */
struct amz_resource *ec2_find(struct amz_request *q, enum amz_kind_id kind, const char *id);
/* Prefix and 8 or 17 hex digits. */
bool ec2_id_is_well_formed(const char *id, const char *prefix);
/* The default VPC, or NULL. */
struct amz_resource *ec2_default_vpc(const struct aws *aws);
bool ec2_vpc_is_default(const struct aws *aws, const char *vpc);
/* The group of the default VPC with that name, as callers see it; refuses when there is none. */
struct amz_resource *ec2_find_group_by_name(struct amz_request *q, const char *name);
/* Refuses every parameter that is not in the NULL-terminated list: what AWS takes and the simulator
 * does not have. */
bool ec2_only(struct amz_request *q, const char *const *names);

/* --- ec2_filters.c: filters and lists --------------------------------------------------------- */

/* A filter and the member it looks at, by a dotted path through objects and lists. */
struct ec2_filter {
    const char *name; /* NULL ends a table */
    const char *path;
};
/* Names, numbers and lengths of the request's filters.  `tags`: the member that tag: filters look
 * at; NULL: there are none. */
bool ec2_filters_check(struct amz_request *q, const struct ec2_filter *table, const char *tags);
bool ec2_filters_pass(struct amz_request *q, const struct ec2_filter *table, const char *tags,
                      struct json_object *doc);
/* "*" any run, "?" one byte, "\" takes the next as it is. */
bool ec2_filter_matches(const char *pattern, const char *text);

/* How a kind is listed. */
struct ec2_listing {
    enum amz_kind_id kind;
    const char *ids;    /* parameter: "GroupIds"; NULL: none */
    const char *answer; /* member: "SecurityGroups" */
    const struct ec2_filter *filters;
};
/* Answers with the documents of that kind that ids and filters name, in order of creation. */
bool ec2_answer_list(struct amz_request *q, const struct ec2_listing *l);
/* The same, into a list (the caller's); NULL: refused. */
struct json_object *ec2_select(struct amz_request *q, const struct ec2_listing *l);
/* MaxResults where the pack states no range. */
bool ec2_check_page(struct amz_request *q, int64_t least, int64_t most);

/* --- ec2_permissions.c: permissions as single rules ------------------------------------------- */

enum ec2_source {
    EC2_CIDR = 0,
    EC2_CIDR6,
    EC2_GROUP,
    EC2_PREFIX_LIST,
};

/* One rule: what counts against the quota, and what Authorize and Revoke compare (all
 * but the description). */
struct ec2_rule {
    const char *protocol; /* "tcp", "udp", "icmp", "icmpv6", "-1", or a number */
    bool has_ports;
    int64_t from, to; /* ports; ICMP: type and code */
    enum ec2_source kind;
    const char *source;      /* canonical CIDR, id of the group or list */
    const char *owner;       /* of the group; NULL: not given */
    const char *description; /* NULL: none */
};
struct ec2_rule_list {
    struct ec2_rule *rules; /* arena */
    size_t n;
};

/* Member of a group's document. */
const char *ec2_permissions_member(bool egress);
/* The rules of a document's permissions, which may be as odd as a world makes them. */
struct ec2_rule_list ec2_rules_of(struct arena *a, struct json_object *permissions);
bool ec2_rule_eq(const struct ec2_rule *x, const struct ec2_rule *y);
/* Adds to the permission with this protocol and these ports, which is made when it is not there. */
void ec2_rule_add(struct json_object *permissions, const struct ec2_rule *r);
/* Takes the rule out, and the permission with the last one. */
void ec2_rule_remove(struct json_object *permissions, const struct ec2_rule *r);
/* "sgr-…": follows from group, direction and rule, so that it needs no place in the document. */
char *ec2_rule_id(struct arena *a, const char *group, bool egress, const struct ec2_rule *r);
/* SecurityGroupRule; new reference. */
struct json_object *ec2_rule_json(struct aws *aws, struct arena *a, const char *group, bool egress,
                                  const struct ec2_rule *r);
/* IpPermission with this one rule; new reference. */
struct json_object *ec2_rule_permission(const struct ec2_rule *r);
/* As in refusals: "peer: 0.0.0.0/0, TCP, from port: 80, to port: 80, ALLOW". */
char *ec2_rule_text(struct arena *a, const struct ec2_rule *r);

/* ec2_permission_checks.c: the rules that a request names, checked; the group is in `vpc`.  False:
 * refused.  `adding`: they are to be made, so peers must be there. */
bool ec2_rules_asked(struct amz_request *q, const char *vpc, bool adding,
                     struct ec2_rule_list *ret);
/* Characters and length of a rule's or group's text. */
bool ec2_text_is_plain(const char *text);

/* --- tags ------------------------------------------------------------------------------------- */

/* The tags that TagSpecification asks for on a new resource of this type; each other type in `also`
 * (NULL-terminated, or NULL) is taken and passed over.  *ret is a new list. */
bool ec2_tags_asked(struct amz_request *q, const char *type, const char *const *also,
                    struct json_object **ret);

/* --- documents -------------------------------------------------------------------------------- */

/* ec2_documents.c */
/* JSON text of ours as a tree; new reference. */
struct json_object *ec2_template(const char *text);
/* A route; `member` and `target` name its two members ("DestinationCidrBlock", "GatewayId"). */
struct json_object *ec2_route_doc(const char *member, const char *destination, const char *target,
                                  const char *id, const char *origin);
/* A gateway of no VPC yet; `tags` may be NULL. */
const char *ec2_add_loose_gateway(struct aws *aws, struct arena *a, struct json_object *tags);
void ec2_attach(struct json_object *gateway, const char *vpc);
/* ec2_machines.c */
/* {"GroupId", "GroupName"} for each; new list. */
struct json_object *ec2_group_names(const struct aws *aws, const char *const *ids, size_t n);
/* It ended more than an hour ago. */
bool ec2_is_forgotten(const struct aws *aws, struct json_object *instance);
/* Drops those instances. */
void ec2_forget_terminated(struct aws *aws);

/* ec2_interfaces.c: an id that follows from what it stands for, and so is the same each time. */
char *ec2_derived_id(struct arena *a, const char *prefix, const char *key);

/* --- actions ---------------------------------------------------------------------------------- */

bool ec2_describe_instances(struct amz_request *q);
bool ec2_describe_instance_topology(struct amz_request *q);
bool ec2_run_instances(struct amz_request *q);
bool ec2_modify_instance_attribute(struct amz_request *q);
bool ec2_describe_zones(struct amz_request *q);
bool ec2_describe_addresses(struct amz_request *q);
bool ec2_describe_vpcs(struct amz_request *q);
bool ec2_describe_subnets(struct amz_request *q);
bool ec2_describe_route_tables(struct amz_request *q);
bool ec2_describe_interfaces(struct amz_request *q);
bool ec2_create_vpc(struct amz_request *q);
bool ec2_create_subnet(struct amz_request *q);
bool ec2_create_gateway(struct amz_request *q);
bool ec2_attach_gateway(struct amz_request *q);
bool ec2_create_route(struct amz_request *q);
bool ec2_delete_route(struct amz_request *q);
bool ec2_describe_groups(struct amz_request *q);
bool ec2_create_group(struct amz_request *q);
bool ec2_delete_group(struct amz_request *q);
bool ec2_describe_rules(struct amz_request *q);
bool ec2_authorize_ingress(struct amz_request *q);
bool ec2_authorize_egress(struct amz_request *q);
bool ec2_revoke_ingress(struct amz_request *q);
/* UpdateSecurityGroupRuleDescriptionsIngress */
bool ec2_describe_rules_anew(struct amz_request *q);
bool ec2_revoke_egress(struct amz_request *q);
bool ec2_create_tags(struct amz_request *q);
bool ec2_delete_tags(struct amz_request *q);
bool ec2_describe_tags(struct amz_request *q);

#endif
