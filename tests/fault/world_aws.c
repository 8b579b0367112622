/* SPDX-License-Identifier: Apache-2.0 */
/* world_aws.c: what of a world is AWS': what is foreign, what is equal, what is a whim of the cloud
 * (world_internal.h).
 *
 * The group of the nodes is shared: with users, whose rules and tags stay as they are, and among
 * Services.  Other foreign documents stay as they are altogether.  Rules of groups are compared one
 * by one: how AWS puts them together is its own matter.  What belongs to a Service is in
 * world_aws_whole.c, documents by ids in world_aws_docs.c. */
#include "tests/fault/world_aws.h"

#include <stdlib.h>
#include <string.h>

static void put(void *o)
{
    json_object_put(o);
}

/* ---- what is equal --------------------------------------------------------------------------- */

static bool is_whim(const char *key)
{
    static const char *const whims[] = {
        "CreatedTime",  "LaunchTime",         "AttachTime",     "ClientToken",
        "MacAddress",   "VolumeId",           "ImageId",        "StateTransitionReason",
        "AttachmentId", "NetworkInterfaceId", "AmiLaunchIndex", "IpPermissions",
    };
    for (size_t i = 0; i < ARRAY_LEN(whims); i++) {
        if (str_eq(key, whims[i])) {
            return true;
        }
    }
    return false;
}

static int compare_texts(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static struct json_object *canon(struct arena *a, struct json_object *o, struct names *names);

/* In the order of their texts, with names made equal. */
static struct json_object *canon_array(struct arena *a, struct json_object *array,
                                       struct names *names)
{
    size_t n = json_len(array);
    const char **texts = ARENA_ARRAY(a, const char *, n + 1);
    struct json_object *out = json_object_new_array();
    for (size_t i = 0; i < n; i++) {
        _cleanup_(json_putp) struct json_object *item =
            canon(a, json_object_array_get_idx(array, i), names);
        const char *text = json_text(a, item, JSON_SORTED);
        texts[i] = names == NULL ? text : names_replace(names, a, text);
    }
    qsort(texts, n, sizeof(*texts), compare_texts);
    for (size_t i = 0; i < n; i++) {
        json_object_array_add(out, json_object_new_string(texts[i]));
    }
    return out;
}

/* "TCP:31234" in words, so that the port is one of them. */
static const char *target_words(struct arena *a, const char *target)
{
    return str_replace(a, target, ":", " : ");
}

static struct json_object *canon(struct arena *a, struct json_object *o, struct names *names)
{
    if (json_object_is_type(o, json_type_array)) {
        return canon_array(a, o, names);
    }
    if (!json_object_is_type(o, json_type_object)) {
        return json_object_get(o);
    }
    struct json_object *out = json_object_new_object();
    json_object_object_foreach(o, key, value)
    {
        bool empty =
            value == NULL || (json_object_is_type(value, json_type_array) && json_len(value) == 0);
        if (str_eq(key, "Target") && json_object_is_type(value, json_type_string)) {
            json_add_str(out, key, target_words(a, json_object_get_string(value)));
        } else if (!is_whim(key) && !empty) {
            json_add(out, key, canon(a, value, names));
        }
    }
    return out;
}

/* Of targets those that are there to stay. */
static struct json_object *without_draining(struct arena *a, struct json_object *list)
{
    struct json_object *out = json_object_new_array();
    arena_defer(a, put, out);
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *target = json_object_array_get_idx(list, i);
        if (!aws_is_draining(target)) {
            json_object_array_add(out, json_object_get(target));
        }
    }
    return out;
}

/* Balancers that are probed at the same port share the rule for it: which of them it names, depends
 * on who came first. */
static const char *rule_text(struct arena *a, const struct aws_atom *atom)
{
    struct aws_atom shared = *atom;
    if (str_has_prefix(atom->description, AWS_PROBES)) {
        shared.description = AWS_PROBES "{}";
    }
    return aws_atom_text(a, &shared);
}

static void add_lines(struct arena *a, const char *id, struct json_object *doc, struct names *names,
                      struct json_object *out)
{
    size_t n = 0;
    struct aws_atom *atoms = str_has_prefix(id, AWS_GROUP) ? aws_atoms_of(a, doc, &n) : NULL;
    doc = str_has_prefix(id, AWS_HEALTH) ? without_draining(a, doc) : doc;
    json_add(out, id, canon(a, doc, names));
    for (size_t i = 0; i < n; i++) {
        json_add_str(out, arena_printf(a, "%s rule %s", id, rule_text(a, &atoms[i])), "is there");
    }
}

/* ---- names ----------------------------------------------------------------------------------- */

/* A port of the nodes is what it is for. */
static void learn_service(struct arena *a, struct json_object *service, struct names *names)
{
    struct json_object *meta = json_member(service, "metadata");
    struct json_object *spec = json_member(service, "spec");
    struct json_object *ports = json_member(spec, "ports");
    const char *key = arena_printf(a, "%s/%s", json_str(meta, "namespace"), json_str(meta, "name"));
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *p = json_object_array_get_idx(ports, i);
        int64_t node_port = json_int(p, "nodePort", 0);
        if (node_port > 0) {
            names_alias(names, arena_printf(a, "%lld", (long long)node_port),
                        arena_printf(a, "{%s:%lld/%s}", key, (long long)json_int(p, "port", 0),
                                     str_or(json_str(p, "protocol"), "TCP")));
        }
    }
}

/* The word at the end of an ARN is the cloud's, and so is the one that stands behind a name. */
static void learn_last_word(struct arena *a, const char *text, char before, const char *label,
                            struct names *names)
{
    const char *at = strrchr(str_nonnull(text), before);
    if (at != NULL) {
        names_alias(names, arena_strdup(a, at + 1), label);
    }
}

static void learn_listener(struct arena *a, struct json_object *docs, struct json_object *listener,
                           struct names *names)
{
    struct json_object *actions = json_member(listener, "DefaultActions");
    struct json_object *first =
        json_len(actions) > 0 ? json_object_array_get_idx(actions, 0) : NULL;
    const char *arn = json_str(first, "TargetGroupArn");
    struct json_object *group =
        arn == NULL ? NULL : json_member(docs, arena_printf(a, AWS_TARGETS "%s", arn));
    const char *label = arena_printf(a, "{for %lld/%s}", (long long)json_int(listener, "Port", 0),
                                     str_nonnull(json_str(group, "Protocol")));
    learn_last_word(a, json_str(listener, "ListenerArn"), '/', "{arn}", names);
    if (group != NULL && str_has_prefix(str_nonnull(json_str(group, "TargetGroupName")), "k8s-")) {
        learn_last_word(a, json_str(group, "TargetGroupName"), '-', label, names);
        learn_last_word(a, arn, '/', "{arn}", names);
    }
}

static void learn_group(struct arena *a, struct json_object *group, struct names *names)
{
    const char *name = str_nonnull(json_str(group, "GroupName"));
    const char *hash = strrchr(name, '-');
    bool ours =
        str_eq(aws_tag_of(json_member(group, "Tags"), "kubernetes.io/cluster/kubernetes"), "owned");
    if (ours && str_has_prefix(name, "k8s-") && !str_has_prefix(name, "k8s-elb-")) {
        names_alias(names, hash + 1, "{hash}");
    }
    names_alias(names, str_nonnull(json_str(group, "GroupId")),
                arena_printf(a, "{%s}", names_replace(names, a, name)));
}

/* Of a host name "NAME-0123….elb.us-east-1.amazonaws.com", or "internal-NAME-…", the
 * word behind the name. */
static void learn_host(struct arena *a, struct json_object *lb, struct names *names)
{
    const char *name = str_nonnull(json_str(lb, "LoadBalancerName"));
    const char *host = str_nonnull(json_str(lb, "DNSName"));
    host += str_has_prefix(host, "internal-") ? strlen("internal-") : 0;
    if (str_has_prefix(host, name) && host[strlen(name)] == '-') {
        const char *word = host + strlen(name) + 1;
        const char *dot = strchr(word, '.');
        size_t len = strcspn(word, "-");
        names_alias(
            names, arena_strndup(a, word, len),
            arena_printf(a, "{host}%s",
                         dot == NULL ? "" : arena_strndup(a, dot, len - (size_t)(dot - word))));
    }
}

static void learn_instance(struct arena *a, struct json_object *instance, struct names *names)
{
    const char *name = aws_tag_of(json_member(instance, "Tags"), "Name");
    names_alias(names, str_nonnull(json_str(instance, "InstanceId")),
                arena_printf(a, "{%s}", str_nonnull(name)));
}

static void learn_addresses(struct arena *a, struct json_object *docs, struct names *names)
{
    json_object_object_foreach(docs, id, doc)
    {
        if (str_has_prefix(id, AWS_GROUP)) {
            learn_group(a, doc, names);
        } else if (str_has_prefix(id, AWS_INSTANCE)) {
            learn_instance(a, doc, names);
        } else if (str_has_prefix(id, AWS_CLASSIC) || str_has_prefix(id, AWS_NLB)) {
            learn_host(a, doc, names);
            learn_last_word(a, json_str(doc, "LoadBalancerArn"), '/', "{arn}", names);
        } else if (str_has_prefix(id, AWS_LISTENER)) {
            learn_listener(a, docs, doc, names);
        }
    }
}

/* ---- foreign things -------------------------------------------------------------------------- */

static bool has_atom(const struct aws_atom *atoms, size_t n, const char *text, struct arena *a)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(aws_atom_text(a, &atoms[i]), text)) {
            return true;
        }
    }
    return false;
}

/* A document that is ours and theirs: what they put into it. */
static int check_shared(struct arena *a, const char *id, struct json_object *in_file,
                        struct json_object *now, struct err *err)
{
    size_t n = 0;
    size_t n_now = 0;
    struct aws_atom *theirs = aws_atoms_of(a, in_file, &n);
    struct aws_atom *there = aws_atoms_of(a, now, &n_now);
    struct json_object *tags = json_member(in_file, "Tags");
    for (size_t i = 0; i < n; i++) {
        const char *text = aws_atom_text(a, &theirs[i]);
        if (!has_atom(there, n_now, text, a)) {
            return err_set(err, ERR_CONFLICT, "a user's rule of %s is gone: %s", id, text);
        }
    }
    for (size_t i = 0; i < json_len(tags); i++) {
        struct json_object *tag = json_object_array_get_idx(tags, i);
        const char *key = json_str(tag, "Key");
        if (!str_eq(json_str(tag, "Value"), aws_tag_of(json_member(now, "Tags"), key))) {
            return err_set(err, ERR_CONFLICT, "a user's tag of %s was touched: %s", id, key);
        }
    }
    return ERR_OK;
}

static int check_foreign(struct arena *a, const char *id, struct json_object *in_file,
                         struct json_object *was, struct json_object *now, struct err *err)
{
    bool shared = str_has_prefix(id, AWS_GROUP) && json_str(in_file, "GroupId") == NULL;
    if (now == NULL) {
        return err_set(err, ERR_CONFLICT, "foreign %s is gone", id);
    }
    if (shared) {
        return check_shared(a, id, in_file, now, err);
    }
    return str_eq(json_text(a, was, JSON_SORTED), json_text(a, now, JSON_SORTED))
               ? ERR_OK
               : err_set(err, ERR_CONFLICT, "foreign %s was touched: %s", id,
                         json_text(a, now, JSON_SORTED));
}

const struct world_rules world_rules_aws = {
    .cloud = "aws",
    .foreign = "fault/foreign-aws.json",
    .flatten = aws_flatten,
    .add = aws_add_foreign,
    .check_foreign = check_foreign,
    .check_whole = aws_check_whole,
    .strip = aws_strip,
    .learn_service = learn_service,
    .learn_addresses = learn_addresses,
    .add_lines = add_lines,
};
