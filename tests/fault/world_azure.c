/* SPDX-License-Identifier: Apache-2.0 */
/* world_azure.c: what of a world is Azure's: what is foreign, what is a whim of the cloud
 * (world_internal.h).
 *
 * Balancers and the security group are shared: with users, whose elements and tags stay as they
 * are, and among Services.  What belongs to a Service is in world_azure_whole.c. */
#include "tests/fault/world_azure.h"

#include <stdlib.h>
#include <string.h>

#define MANAGED_RULE "k8s-azure-lb_"

/* A list of elements: objects with a name and properties. */
static bool holds_elements(struct json_object *array)
{
    struct json_object *first = json_len(array) > 0 ? json_object_array_get_idx(array, 0) : NULL;
    return json_str(first, "name") != NULL && azure_properties(first) != NULL;
}

/* ---- what is equal --------------------------------------------------------------------------- */

/* Members that the cloud adds, and those that depend on the order of creation. */
static bool is_whim(const char *key)
{
    static const char *const whims[] = {
        "etag",
        "resourceGuid",
        "vmId",
        "timeCreated",
        "provisioningState",
        "alias",
        "ipConfiguration",
        "backendIPConfigurations",
        "defaultSecurityRules",
        "subnets",
    };
    for (size_t i = 0; i < ARRAY_LEN(whims); i++) {
        if (str_eq(key, whims[i])) {
            return true;
        }
    }
    return false;
}

/* Members of a pool that are addresses; those that are interfaces say so themselves. */
static struct json_object *with_address(struct json_object *members)
{
    struct json_object *out = json_object_new_array();
    for (size_t i = 0; i < json_len(members); i++) {
        struct json_object *m = json_object_array_get_idx(members, i);
        if (json_str(azure_properties(m), "ipAddress") != NULL) {
            json_object_array_add(out, json_object_get(m));
        }
    }
    return out;
}

/* Lists of users in subnets and addresses. */
static bool is_users(const char *key, struct json_object *value)
{
    return str_eq(key, "ipConfigurations") && !holds_elements(value);
}

struct canon {
    struct arena *a;
    struct names *names; /* NULL: names stay */
};

static struct json_object *canon(const struct canon *c, struct json_object *o);

static int compare_texts(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* In the order of their texts; what is empty is as if it were not there. */
static struct json_object *canon_array(const struct canon *c, struct json_object *array)
{
    size_t n = json_len(array);
    const char **texts = ARENA_ARRAY(c->a, const char *, n + 1);
    struct json_object *out = json_object_new_array();
    for (size_t i = 0; i < n; i++) {
        _cleanup_(json_putp) struct json_object *item =
            canon(c, json_object_array_get_idx(array, i));
        const char *text = json_text(c->a, item, JSON_SORTED);
        texts[i] = c->names == NULL ? text : names_replace(c->names, c->a, text);
    }
    qsort(texts, n, sizeof(*texts), compare_texts);
    for (size_t i = 0; i < n; i++) {
        json_object_array_add(out, json_object_new_string(texts[i]));
    }
    return out;
}

static struct json_object *canon(const struct canon *c, struct json_object *o)
{
    if (json_object_is_type(o, json_type_array)) {
        return canon_array(c, o);
    }
    if (!json_object_is_type(o, json_type_object)) {
        return json_object_get(o);
    }
    struct json_object *out = json_object_new_object();
    json_object_object_foreach(o, key, value)
    {
        _cleanup_(json_putp) struct json_object *kept = str_eq(key, "loadBalancerBackendAddresses")
                                                            ? with_address(value)
                                                            : json_object_get(value);
        bool empty =
            kept == NULL || (json_object_is_type(kept, json_type_array) && json_len(kept) == 0);
        if (!is_whim(key) && !is_users(key, value) && !empty) {
            json_add(out, key, canon(c, kept));
        }
    }
    return out;
}

/* Back-references: the user of an element names it. */
static struct json_object *without_users(struct json_object *element, const char *collection)
{
    static const char *const users[] = {"loadBalancingRules", "inboundNatRules", "inboundNatPools",
                                        "outboundRules", "outboundRule"};
    struct json_object *o = json_copy(element);
    bool may_have =
        !str_eq(collection, "loadBalancingRules") && !str_eq(collection, "outboundRules");
    for (size_t i = 0; i < ARRAY_LEN(users) && may_have; i++) {
        json_object_object_del(azure_properties(o), users[i]);
    }
    return o;
}

static const char *element_text(const struct canon *c, struct json_object *element,
                                const char *collection)
{
    _cleanup_(json_putp) struct json_object *o = without_users(element, collection);
    if (str_eq(collection, "probes") && c->names != NULL) {
        json_object_object_del(azure_properties(o), "port"); /* a node port */
    }
    if (str_has_prefix(str_nonnull(json_str(o, "name")), MANAGED_RULE)) {
        json_object_object_del(azure_properties(o), "priority"); /* the first that was free */
    }
    _cleanup_(json_putp) struct json_object *out = canon(c, o);
    return json_text(c->a, out, JSON_SORTED);
}

/* A document without its elements. */
static struct json_object *without_elements(struct json_object *doc)
{
    struct json_object *o = json_copy(doc);
    struct json_object *p = azure_properties(o);
    if (p != NULL) {
        json_object_object_foreach(azure_properties(doc), key, value)
        {
            if (holds_elements(value)) {
                json_object_object_del(p, key);
            }
        }
    }
    return o;
}

static void add_lines(struct arena *a, const char *id, struct json_object *doc, struct names *names,
                      struct json_object *out)
{
    const struct canon c = {a, names};
    _cleanup_(json_putp) struct json_object *rest = without_elements(doc);
    json_add(out, id, canon(&c, rest));
    if (azure_properties(doc) == NULL) {
        return;
    }
    json_object_object_foreach(azure_properties(doc), collection, list)
    {
        for (size_t i = 0; holds_elements(list) && !is_whim(collection) && i < json_len(list);
             i++) {
            struct json_object *e = json_object_array_get_idx(list, i);
            json_add_str(out, arena_printf(a, "%s/%s/%s", id, collection, json_str(e, "name")),
                         element_text(&c, e, collection));
        }
    }
}

/* Owner of a resource whose name begins, after `prefix`, with a load balancer's: "default/web". */
static const char *owner_of(struct arena *a, struct names *names, const char *name,
                            const char *prefix)
{
    if (!str_has_prefix(str_nonnull(name), prefix)) {
        return NULL;
    }
    return names_owner(names, a, arena_printf(a, "%.32s", name + strlen(prefix)));
}

static void learn(struct arena *a, struct names *names, const char *owner, const char *ip,
                  const char *what)
{
    if (owner != NULL && ip != NULL) {
        bool six = strchr(ip, ':') != NULL;
        names_alias(names, ip, arena_printf(a, "{%s%s of %s}", six ? "IPv6 " : "", what, owner));
    }
}

static void learn_frontends(struct arena *a, struct json_object *lb, struct names *names)
{
    struct json_object *frontends = json_path(lb, "properties.frontendIPConfigurations");
    for (size_t i = 0; i < json_len(frontends); i++) {
        struct json_object *f = json_object_array_get_idx(frontends, i);
        learn(a, names, owner_of(a, names, json_str(f, "name"), ""),
              json_str(azure_properties(f), "privateIPAddress"), "address");
    }
}

static void learn_link(struct arena *a, struct json_object *link, struct names *names)
{
    struct json_object *configs = json_path(link, "properties.ipConfigurations");
    for (size_t i = 0; i < json_len(configs); i++) {
        struct json_object *c = json_object_array_get_idx(configs, i);
        learn(a, names, owner_of(a, names, json_str(link, "name"), "pls-"),
              json_str(azure_properties(c), "privateIPAddress"), "link's address");
    }
}

static void learn_addresses(struct arena *a, struct json_object *docs, struct names *names)
{
    json_object_object_foreach(docs, id, doc)
    {
        if (azure_is_of(id, "publicIPAddresses")) {
            learn(a, names, owner_of(a, names, azure_last_word(id), "kubernetes-"),
                  json_str(azure_properties(doc), "ipAddress"), "address");
        } else if (azure_is_of(id, "loadBalancers")) {
            learn_frontends(a, doc, names);
        } else if (azure_is_of(id, "privateLinkServices")) {
            learn_link(a, doc, names);
        }
    }
}

/* ---- foreign things -------------------------------------------------------------------------- */

static int check_elements(const struct canon *c, const char *where, struct json_object *in_file,
                          struct json_object *was, struct json_object *now, struct err *err)
{
    const char *collection = azure_last_word(where);
    for (size_t i = 0; i < json_len(in_file); i++) {
        const char *name = json_str(json_object_array_get_idx(in_file, i), "name");
        struct json_object *old = azure_named(was, name);
        struct json_object *new = azure_named(now, name);
        const char *text = new == NULL ? "it is gone" : element_text(c, new, collection);
        if (old != NULL && !str_eq(text, element_text(c, old, collection))) {
            return err_set(err, ERR_CONFLICT, "foreign %s/%s was touched: %s", where, name, text);
        }
    }
    return ERR_OK;
}

/* Tags may be added to what is shared, and only by us. */
static int check_tags(const char *id, struct json_object *in_file, struct json_object *was,
                      struct json_object *now, struct err *err)
{
    struct json_object *tags = json_member(in_file, "tags");
    if (tags == NULL) {
        return ERR_OK;
    }
    json_object_object_foreach(tags, key, value)
    {
        const char *old = json_str(json_member(was, "tags"), key);
        (void)value;
        if (old != NULL && !str_eq(old, json_str(json_member(now, "tags"), key))) {
            return err_set(err, ERR_CONFLICT, "the tag %s of foreign %s was touched", key, id);
        }
    }
    return ERR_OK;
}

/* A shared document into which the users of this flow have put nothing is ours alone. */
static bool is_ours_alone(struct json_object *in_file, struct json_object *was)
{
    struct json_object *users = json_path(in_file, "properties.frontendIPConfigurations");
    struct json_object *all = json_path(was, "properties.frontendIPConfigurations");
    return json_len(users) > 0 &&
           azure_named(all, json_str(json_object_array_get_idx(users, 0), "name")) == NULL;
}

static int check_foreign(struct arena *a, const char *id, struct json_object *in_file,
                         struct json_object *was, struct json_object *now, struct err *err)
{
    const struct canon c = {.a = a};
    if (is_ours_alone(in_file, was)) {
        return ERR_OK;
    }
    if (now == NULL) {
        return err_set(err, ERR_CONFLICT, "foreign %s is gone", id);
    }
    int rc = check_tags(id, in_file, was, now, err);
    json_object_object_foreach(azure_properties(in_file), key, value)
    {
        struct json_object *old = json_member(azure_properties(was), key);
        struct json_object *new = json_member(azure_properties(now), key);
        if (rc != ERR_OK || is_whim(key)) {
            continue;
        }
        if (holds_elements(value)) {
            rc = check_elements(&c, arena_printf(a, "%s/%s", id, key), value, old, new, err);
        } else if (!holds_elements(new) &&
                   !str_eq(json_text(a, old, JSON_SORTED), json_text(a, new, JSON_SORTED))) {
            rc = err_set(err, ERR_CONFLICT, "foreign %s was touched: %s", id,
                         json_text(a, now, JSON_SORTED));
        }
    }
    return rc;
}

/* ---- starting over --------------------------------------------------------------------------- */

static void leave_pools(struct json_object *o)
{
    if (json_object_is_type(o, json_type_array)) {
        for (size_t i = 0; i < json_len(o); i++) {
            leave_pools(json_object_array_get_idx(o, i));
        }
    } else if (json_object_is_type(o, json_type_object)) {
        json_object_object_del(o, "loadBalancerBackendAddressPools");
        json_object_object_foreach(o, key, value)
        {
            (void)key;
            leave_pools(value);
        }
    }
}

static void strip(struct arena *a, struct json_object *docs, struct json_object *foreign)
{
    const char **ids = ARENA_ARRAY(a, const char *, (size_t)json_object_object_length(docs) + 1);
    size_t n = 0;
    json_object_object_foreach(docs, id, doc)
    {
        if (azure_is_of(id, "publicIPAddresses") || azure_is_of(id, "loadBalancers") ||
            azure_is_of(id, "privateLinkServices")) {
            ids[n++] = arena_strdup(a, id);
        } else if (strstr(id, "/virtualMachineScaleSets/") != NULL) {
            leave_pools(doc);
        }
    }
    for (size_t i = 0; i < n; i++) {
        json_object_object_del(docs, ids[i]);
    }
    json_object_object_foreach(foreign, users, theirs)
    {
        json_add(docs, users, json_copy(theirs));
    }
}

const struct world_rules world_rules_azure = {
    .cloud = "azure",
    .foreign = "fault/foreign-azure.json",
    .check_foreign = check_foreign,
    .check_whole = azure_check_whole,
    .strip = strip,
    .learn_addresses = learn_addresses,
    .add_lines = add_lines,
};
