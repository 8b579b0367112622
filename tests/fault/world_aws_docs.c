/* SPDX-License-Identifier: Apache-2.0 */
/* world_aws_docs.c: documents of AWS by ids, and foreign ones put among them (world_aws.h).
 *
 * A world has lists in the form of the describe calls.  In the file of foreign things "<vpc>",
 * "<subnet>", "<nodes>" stand for what the simulator made: its VPC, its first subnet and the group
 * of its nodes; a group without an id is the world's of that name, and what stands there
 * is added to it. */
#include "tests/fault/world_aws.h"

#include <stdlib.h>
#include <string.h>

static void put(void *o)
{
    json_object_put(o);
}

/* ---- documents by ids ------------------------------------------------------------------------ */

/* By what a document is known; the more particular ones first. */
static const char *id_of(struct json_object *doc)
{
    static const char *const members[] = {
        "GroupName",    "InstanceId",        "ZoneName",       "SubnetId",         "RouteTableId",
        "ListenerArn",  "ResourceArn",       "TargetGroupArn", "LoadBalancerName", "CertificateArn",
        "AllocationId", "InternetGatewayId", "VpcId",
    };
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const char *id = json_str(doc, members[i]);
        if (id != NULL) {
            return id;
        }
    }
    return "";
}

static void add_doc(struct arena *a, struct json_object *out, const char *service,
                    const char *member, struct json_object *doc)
{
    const char *key = arena_printf(a, "%s/%s/%s", service, member, id_of(doc));
    if (json_member(out, key) != NULL) { /* each VPC has a group "default" */
        key = arena_printf(a, "%s/%s", key, str_nonnull(json_str(doc, "GroupId")));
    }
    json_add(out, key, json_object_get(doc));
}

static void add_list(struct arena *a, struct json_object *out, const char *service,
                     const char *member, struct json_object *list)
{
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *doc = json_object_array_get_idx(list, i);
        struct json_object *instances = json_member(doc, "Instances");
        if (str_eq(member, "Reservations")) {
            add_list(a, out, service, "Instances", instances);
        } else {
            add_doc(a, out, service, member, doc);
        }
    }
}

struct json_object *aws_flatten(struct arena *a, struct json_object *docs)
{
    struct json_object *out = json_object_new_object();
    arena_defer(a, put, out);
    if (docs == NULL) {
        return out;
    }
    json_object_object_foreach(docs, service, members)
    {
        json_object_object_foreach(members, member, value)
        {
            if (json_object_is_type(value, json_type_array)) {
                add_list(a, out, service, member, value);
                continue;
            }
            json_object_object_foreach(value, id, doc)
            {
                json_add(out, arena_printf(a, "%s/%s/%s", service, member, id),
                         json_object_get(doc));
            }
        }
    }
    return out;
}

const char *aws_tag_of(struct json_object *tags, const char *key)
{
    for (size_t i = 0; i < json_len(tags); i++) {
        struct json_object *tag = json_object_array_get_idx(tags, i);
        if (str_eq(json_str(tag, "Key"), key)) {
            return str_nonnull(json_str(tag, "Value"));
        }
    }
    return NULL;
}

bool aws_is_draining(struct json_object *target)
{
    return str_eq(json_str(json_member(target, "TargetHealth"), "Reason"),
                  "Target.DeregistrationInProgress");
}

/* ---- rules of groups ------------------------------------------------------------------------- */

static void add_atoms(struct aws_atom *atoms, size_t *n, struct json_object *permission,
                      const char *list, const char *member)
{
    struct json_object *sources = json_member(permission, list);
    for (size_t i = 0; i < json_len(sources); i++) {
        struct json_object *s = json_object_array_get_idx(sources, i);
        atoms[(*n)++] = (struct aws_atom){
            .protocol = str_nonnull(json_str(permission, "IpProtocol")),
            .from = json_int(permission, "FromPort", -1),
            .to = json_int(permission, "ToPort", -1),
            .source = str_nonnull(json_str(s, member)),
            .description = str_nonnull(json_str(s, "Description")),
        };
    }
}

struct aws_atom *aws_atoms_of(struct arena *a, struct json_object *group, size_t *ret_n)
{
    static const char *const lists[][2] = {{"IpRanges", "CidrIp"},
                                           {"Ipv6Ranges", "CidrIpv6"},
                                           {"UserIdGroupPairs", "GroupId"},
                                           {"PrefixListIds", "PrefixListId"}};
    struct json_object *permissions = json_member(group, "IpPermissions");
    size_t most = 0;
    size_t n = 0;
    for (size_t i = 0; i < json_len(permissions); i++) {
        for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
            most += json_len(json_member(json_object_array_get_idx(permissions, i), lists[k][0]));
        }
    }
    struct aws_atom *atoms = ARENA_ARRAY(a, struct aws_atom, most + 1);
    for (size_t i = 0; i < json_len(permissions); i++) {
        for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
            add_atoms(atoms, &n, json_object_array_get_idx(permissions, i), lists[k][0],
                      lists[k][1]);
        }
    }
    *ret_n = n;
    return atoms;
}

const char *aws_atom_text(struct arena *a, const struct aws_atom *atom)
{
    return arena_printf(a, "%s %lld-%lld %s \"%s\"", atom->protocol, (long long)atom->from,
                        (long long)atom->to, atom->source, atom->description);
}

/* ---- foreign things -------------------------------------------------------------------------- */

static struct json_object *first_of(struct json_object *docs, const char *member)
{
    struct json_object *list = json_member(json_member(docs, "ec2"), member);
    return json_len(list) == 0 ? NULL : json_object_array_get_idx(list, 0);
}

static struct json_object *group_named(struct json_object *docs, const char *name)
{
    struct json_object *list = json_member(json_member(docs, "ec2"), "SecurityGroups");
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *g = json_object_array_get_idx(list, i);
        if (str_eq(json_str(g, "GroupName"), name)) {
            return g;
        }
    }
    return NULL;
}

static struct json_object *filled_in(struct arena *a, struct json_object *docs,
                                     struct json_object *foreign)
{
    struct json_object *out = NULL;
    const char *text = json_text(a, foreign, JSON_COMPACT);
    text = str_replace(a, text, "<vpc>", str_nonnull(json_str(first_of(docs, "Vpcs"), "VpcId")));
    text = str_replace(a, text, "<subnet>",
                       str_nonnull(json_str(first_of(docs, "Subnets"), "SubnetId")));
    text = str_replace(a, text, "<nodes>",
                       str_nonnull(json_str(group_named(docs, "nodes"), "GroupId")));
    if (json_parse_arena(a, text, strlen(text), NULL, &out, NULL) != ERR_OK) {
        abort(); /* it was JSON before */
    }
    return out;
}

static struct json_object *member_of(struct json_object *o, const char *name, bool list)
{
    struct json_object *m = json_member(o, name);
    if (m == NULL) {
        m = list ? json_object_new_array() : json_object_new_object();
        json_add(o, name, m);
    }
    return m;
}

static bool has_doc(struct json_object *list, struct json_object *doc)
{
    const char *id = json_str(doc, "GroupId"); /* names may come twice */
    const char *key = json_str(doc, "Key");
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *one = json_object_array_get_idx(list, i);
        bool same = id != NULL    ? str_eq(json_str(one, "GroupId"), id)
                    : key != NULL ? str_eq(json_str(one, "Key"), key)
                                  : !str_eq(id_of(doc), "") && str_eq(id_of(one), id_of(doc));
        if (same) {
            return true;
        }
    }
    return false;
}

/* Members that are not there yet. */
static void append(struct json_object *list, struct json_object *more)
{
    for (size_t i = 0; i < json_len(more); i++) {
        struct json_object *doc = json_object_array_get_idx(more, i);
        if (!has_doc(list, doc)) {
            json_object_array_add(list, json_copy(doc));
        }
    }
}

static void add_member(struct json_object *docs, const char *service, const char *member,
                       struct json_object *value)
{
    bool list = json_object_is_type(value, json_type_array);
    struct json_object *to = member_of(member_of(docs, service, false), member, list);
    for (size_t i = 0; list && i < json_len(value); i++) {
        struct json_object *doc = json_object_array_get_idx(value, i);
        if (!str_eq(member, "SecurityGroups") || json_str(doc, "GroupId") != NULL) {
            if (!has_doc(to, doc)) {
                json_object_array_add(to, json_copy(doc));
            }
            continue;
        }
        struct json_object *group = group_named(docs, json_str(doc, "GroupName"));
        append(member_of(group, "IpPermissions", true), json_member(doc, "IpPermissions"));
        append(member_of(group, "Tags", true), json_member(doc, "Tags"));
    }
    if (!list) {
        json_object_object_foreach(value, id, doc)
        {
            json_add(to, id, json_copy(doc));
        }
    }
}

void aws_add_foreign(struct arena *a, struct json_object *docs, struct json_object *foreign)
{
    json_object_object_foreach(filled_in(a, docs, foreign), service, members)
    {
        json_object_object_foreach(members, member, value)
        {
            add_member(docs, service, member, value);
        }
    }
}

/* ---- starting over --------------------------------------------------------------------------- */

/* Nodes may talk to each other: their installer said so. */
static void keep_own_rules(struct arena *a, struct json_object *group)
{
    struct json_object *permissions = json_member(group, "IpPermissions");
    for (size_t i = json_len(permissions); i-- > 0;) {
        struct json_object *p = json_object_array_get_idx(permissions, i);
        const char *pairs = json_text(a, json_member(p, "UserIdGroupPairs"), JSON_COMPACT);
        if (strstr(pairs, str_nonnull(json_str(group, "GroupId"))) == NULL) {
            json_object_array_del_idx(permissions, i, 1);
        }
    }
}

/* Balancers with all that hangs on them, groups of ours, and rules in what is left. */
void aws_strip(struct arena *a, struct json_object *docs, struct json_object *foreign)
{
    struct json_object *groups = json_member(json_member(docs, "ec2"), "SecurityGroups");
    for (size_t i = json_len(groups); i-- > 0;) {
        struct json_object *g = json_object_array_get_idx(groups, i);
        const char *name = str_nonnull(json_str(g, "GroupName"));
        if (str_has_prefix(name, "k8s-")) {
            json_object_array_del_idx(groups, i, 1);
        } else if (str_eq(name, "nodes")) {
            keep_own_rules(a, g);
        }
    }
    json_object_object_del(docs, "elb");
    json_object_object_del(docs, "elbv2");
    aws_add_foreign(a, docs, foreign);
}
