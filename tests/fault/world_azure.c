/* SPDX-License-Identifier: Apache-2.0 */
/* world_azure.c: what of a world is Azure's: what belongs to a Service, what is a whim of the cloud (world_internal.h).
 *
 * Balancers and the security group are shared: with users, whose elements and tags stay as they are, and among Services.
 * Names are written down anew here, as the cluster's user would check them: nothing is shared with the provider.
 * Source: docs/spec/azure.md 5.1, 6.3, 6.5, 7.3, 8.2, 9.1. */
#include "tests/fault/world_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/map.h"

#define CLUSTER      "kubernetes"
#define MANAGED_RULE "k8s-azure-lb_"
#define NOTE(x)      "service.beta.kubernetes.io/azure-" x

static const char *last_word(const char *id)
{
    const char *slash = id == NULL ? NULL : strrchr(id, '/');
    return slash == NULL ? str_nonnull(id) : slash + 1;
}

static bool is_of(const char *id, const char *collection)
{
    size_t n = strlen(id) - strlen(last_word(id));
    size_t len = strlen(collection);
    return n > len + 1 && id[n - len - 2] == '/' && strncmp(id + n - len - 1, collection, len) == 0;
}

static struct json_object *properties(struct json_object *o)
{
    return json_member(o, "properties");
}

static struct json_object *find_named(struct json_object *array, const char *name)
{
    for (size_t i = 0; i < json_len(array); i++) {
        struct json_object *o = json_object_array_get_idx(array, i);
        if (str_eq(json_str(o, "name"), name)) {
            return o;
        }
    }
    return NULL;
}

/* A list of elements: objects with a name and properties. */
static bool holds_elements(struct json_object *array)
{
    struct json_object *first = json_len(array) > 0 ? json_object_array_get_idx(array, 0) : NULL;
    return json_str(first, "name") != NULL && properties(first) != NULL;
}

/* ---- what is equal ------------------------------------------------------------------------------- */

/* What the cloud adds by itself, and what depends on the order of creation. */
static bool is_whim(const char *key)
{
    static const char *const whims[] = {
        "etag",
        "resourceGuid",
        "vmId",
        "timeCreated",
        "provisioningState",
        "ipConfiguration",
        "ipConfigurations",
        "backendIPConfigurations",
        "loadBalancerBackendAddresses",
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
        bool empty =
            value == NULL || (json_object_is_type(value, json_type_array) && json_len(value) == 0);
        if (!is_whim(key) && !empty) {
            json_add(out, key, canon(c, value));
        }
    }
    return out;
}

/* Back-references: who uses an element is said by whoever does. */
static struct json_object *without_users(struct json_object *element, const char *collection)
{
    static const char *const users[] = {"loadBalancingRules", "inboundNatRules", "inboundNatPools",
                                        "outboundRules", "outboundRule"};
    struct json_object *o = json_copy(element);
    bool may_have =
        !str_eq(collection, "loadBalancingRules") && !str_eq(collection, "outboundRules");
    for (size_t i = 0; i < ARRAY_LEN(users) && may_have; i++) {
        json_object_object_del(properties(o), users[i]);
    }
    return o;
}

static const char *element_text(const struct canon *c, struct json_object *element,
                                const char *collection)
{
    _cleanup_(json_putp) struct json_object *o = without_users(element, collection);
    if (str_eq(collection, "probes") && c->names != NULL) {
        json_object_object_del(properties(o), "port"); /* a node port */
    }
    if (str_has_prefix(str_nonnull(json_str(o, "name")), MANAGED_RULE)) {
        json_object_object_del(properties(o), "priority"); /* the first that was free */
    }
    _cleanup_(json_putp) struct json_object *out = canon(c, o);
    return json_text(c->a, out, JSON_SORTED);
}

/* A document without its elements. */
static struct json_object *without_elements(struct json_object *doc)
{
    struct json_object *o = json_copy(doc);
    struct json_object *p = properties(o);
    if (p != NULL) {
        json_object_object_foreach(properties(doc), key, value)
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
    if (properties(doc) == NULL) {
        return;
    }
    json_object_object_foreach(properties(doc), collection, list)
    {
        for (size_t i = 0; holds_elements(list) && !is_whim(collection) && i < json_len(list);
             i++) {
            struct json_object *e = json_object_array_get_idx(list, i);
            json_add_str(out, arena_printf(a, "%s/%s/%s", id, collection, json_str(e, "name")),
                         element_text(&c, e, collection));
        }
    }
}

static void learn_addresses(struct arena *a, struct json_object *docs, struct names *names)
{
    json_object_object_foreach(docs, id, doc)
    {
        const char *pip = is_of(id, "publicIPAddresses") ? strstr(last_word(id), "-a") : NULL;
        const char *ip = json_str(properties(doc), "ipAddress");
        const char *owner = pip == NULL ? NULL : names_owner(names, a, pip + 1);
        if (owner != NULL && ip != NULL) {
            names_alias(names, ip, arena_printf(a, "{address of %s}", owner));
        }
        struct json_object *frontends = json_path(doc, "properties.frontendIPConfigurations");
        for (size_t i = 0; is_of(id, "loadBalancers") && i < json_len(frontends); i++) {
            struct json_object *f = json_object_array_get_idx(frontends, i);
            ip = json_str(properties(f), "privateIPAddress");
            owner = names_owner(names, a, str_nonnull(json_str(f, "name")));
            if (owner != NULL && ip != NULL) {
                names_alias(names, ip, arena_printf(a, "{address of %s}", owner));
            }
        }
    }
}

/* ---- foreign things ------------------------------------------------------------------------------ */

static int check_elements(const struct canon *c, const char *where, struct json_object *in_file,
                          struct json_object *was, struct json_object *now, struct err *err)
{
    const char *collection = last_word(where);
    for (size_t i = 0; i < json_len(in_file); i++) {
        const char *name = json_str(json_object_array_get_idx(in_file, i), "name");
        struct json_object *old = find_named(was, name);
        struct json_object *new = find_named(now, name);
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
           find_named(all, json_str(json_object_array_get_idx(users, 0), "name")) == NULL;
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
    json_object_object_foreach(properties(in_file), key, value)
    {
        struct json_object *old = json_member(properties(was), key);
        struct json_object *new = json_member(properties(now), key);
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

/* ---- what belongs to a Service ------------------------------------------------------------------- */

struct whole {
    const struct world_view *v;
    struct map *wanted; /* "publicIPAddresses/NAME", "kubernetes/frontendIPConfigurations/NAME" */
    struct map *addresses; /* that our Services publish */
    struct err *err;
};

static void want(struct whole *w, const char *name)
{
    map_set(w->wanted, name, NULL);
}

static struct json_object *doc_of(const struct world_view *v, const char *collection,
                                  const char *name)
{
    json_object_object_foreach(v->docs, id, doc)
    {
        if (is_of(id, collection) && str_eq(last_word(id), name)) {
            return doc;
        }
    }
    return NULL;
}

static bool is_internal(struct json_object *service)
{
    return str_eq(
        json_str(json_path(service, "metadata.annotations"), NOTE("load-balancer-internal")),
        "true");
}

static const char *balancer_of(struct json_object *service)
{
    return is_internal(service) ? CLUSTER "-internal" : CLUSTER;
}

static const char *key_of(struct arena *a, struct json_object *service)
{
    struct json_object *meta = json_member(service, "metadata");
    return arena_printf(a, "%s/%s", json_str(meta, "namespace"), json_str(meta, "name"));
}

/* The address at which the cloud serves it, or NULL. */
static const char *served_ip(struct whole *w, struct json_object *service, const char *lb)
{
    struct arena *a = w->v->a;
    struct json_object *doc = doc_of(w->v, "loadBalancers", balancer_of(service));
    struct json_object *frontend =
        find_named(json_path(doc, "properties.frontendIPConfigurations"), lb);
    if (is_internal(service)) {
        return json_str(properties(frontend), "privateIPAddress");
    }
    const char *users = json_str(json_path(service, "metadata.annotations"), NOTE("pip-name"));
    const char *name = users != NULL ? users : arena_printf(a, CLUSTER "-%s", lb);
    struct json_object *pip = doc_of(w->v, "publicIPAddresses", name);
    const char *held = json_str(json_path(frontend, "properties.publicIPAddress"), "id");
    if (users == NULL) {
        want(w, arena_printf(a, "publicIPAddresses/%s", name));
    }
    const char *tag = json_str(json_member(pip, "tags"), "k8s-azure-service");
    bool tagged = users != NULL || str_eq(tag, key_of(a, service));
    return tagged && str_eq(last_word(held), name) ? json_str(properties(pip), "ipAddress") : NULL;
}

static bool has_text(struct json_object *p, const char *one, const char *many, const char *text)
{
    struct json_object *list = json_member(p, many);
    for (size_t i = 0; i < json_len(list); i++) {
        if (str_eq(json_object_get_string(json_object_array_get_idx(list, i)), text)) {
            return true;
        }
    }
    return str_eq(json_str(p, one), text);
}

/* Some security rule of ours admits `source` to a port at an address. */
static bool is_admitted(struct whole *w, const char *ip, const char *port, const char *source)
{
    struct json_object *rules =
        json_path(doc_of(w->v, "networkSecurityGroups", "nsg"), "properties.securityRules");
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *r = json_object_array_get_idx(rules, i);
        struct json_object *p = properties(r);
        if (str_has_prefix(str_nonnull(json_str(r, "name")), MANAGED_RULE) &&
            str_eq(json_str(p, "access"), "Allow") &&
            has_text(p, "destinationAddressPrefix", "destinationAddressPrefixes", ip) &&
            has_text(p, "destinationPortRange", "destinationPortRanges", port) &&
            has_text(p, "sourceAddressPrefix", "sourceAddressPrefixes", source)) {
            return true;
        }
    }
    return false;
}

static int check_port(struct whole *w, struct json_object *service, struct json_object *port,
                      const char *ip)
{
    struct arena *a = w->v->a;
    struct json_object *ranges = json_path(service, "spec.loadBalancerSourceRanges");
    const char *lb = names_lb(a, json_str(json_member(service, "metadata"), "uid"));
    const char *number = arena_printf(a, "%lld", (long long)json_int(port, "port", 0));
    const char *source = json_len(ranges) > 0
                             ? json_object_get_string(json_object_array_get_idx(ranges, 0))
                             : "Internet";
    want(w, arena_printf(a, "%s/loadBalancingRules/%s-%s-%s", balancer_of(service), lb,
                         json_str(port, "protocol"), number));
    if ((!is_internal(service) || json_len(ranges) > 0) && !is_admitted(w, ip, number, source)) {
        return err_set(w->err, ERR_CONFLICT, "nothing admits %s to port %s of Service %s", source,
                       number, key_of(a, service));
    }
    return ERR_OK;
}

static int check_service(struct whole *w, struct json_object *service)
{
    struct arena *a = w->v->a;
    const char *lb = names_lb(a, json_str(json_member(service, "metadata"), "uid"));
    const char *published = world_published_ip(service);
    const char *ip = served_ip(w, service, lb);
    struct json_object *ports = json_path(service, "spec.ports");
    if (published == NULL || !str_eq(published, ip)) {
        return err_set(w->err, ERR_CONFLICT, "Service %s publishes %s, Azure has %s for it",
                       key_of(a, service), str_or(published, "nothing"), str_or(ip, "none"));
    }
    map_set(w->addresses, ip, NULL);
    want(w, arena_printf(a, "loadBalancers/%s", balancer_of(service)));
    want(w, arena_printf(a, "%s/backendAddressPools/" CLUSTER, balancer_of(service)));
    want(w, arena_printf(a, "%s/frontendIPConfigurations/%s", balancer_of(service), lb));
    int rc = ERR_OK;
    for (size_t i = 0; i < json_len(ports) && rc == ERR_OK; i++) {
        rc = check_port(w, service, json_object_array_get_idx(ports, i), ip);
    }
    return rc;
}

/* ---- nothing else -------------------------------------------------------------------------------- */

static int take(struct whole *w, const char *name)
{
    return map_remove(w->wanted, name) ? ERR_OK
                                       : err_set(w->err, ERR_CONFLICT, "%s is left behind", name);
}

static bool is_foreign_element(const struct world_view *v, const char *id, const char *collection,
                               const char *name)
{
    struct json_object *p = properties(json_member(v->foreign, id));
    return p != NULL && find_named(json_member(p, collection), name) != NULL;
}

/* A probe of ours is there because a rule asks it. */
static int check_probe(struct whole *w, struct json_object *lb, struct json_object *probe)
{
    struct json_object *rules = json_path(lb, "properties.loadBalancingRules");
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *r = json_object_array_get_idx(rules, i);
        if (str_eq(last_word(json_str(json_path(r, "properties.probe"), "id")),
                   json_str(probe, "name"))) {
            return ERR_OK;
        }
    }
    return err_set(w->err, ERR_CONFLICT, "the probe %s is left behind", json_str(probe, "name"));
}

static int check_balancer(struct whole *w, const char *id, struct json_object *lb)
{
    static const char *const collections[] = {"frontendIPConfigurations", "loadBalancingRules",
                                              "backendAddressPools", "probes"};
    int rc = ERR_OK;
    for (size_t k = 0; k < ARRAY_LEN(collections); k++) {
        struct json_object *list = json_member(properties(lb), collections[k]);
        for (size_t i = 0; i < json_len(list) && rc == ERR_OK; i++) {
            struct json_object *e = json_object_array_get_idx(list, i);
            const char *name = json_str(e, "name");
            if (is_foreign_element(w->v, id, collections[k], name)) {
                continue;
            }
            rc = str_eq(collections[k], "probes")
                     ? check_probe(w, lb, e)
                     : take(w,
                            arena_printf(w->v->a, "%s/%s/%s", last_word(id), collections[k], name));
        }
    }
    return rc;
}

/* Every address in a rule of ours is one that a Service publishes. */
static int check_security(struct whole *w, struct json_object *nsg)
{
    struct json_object *rules = json_path(nsg, "properties.securityRules");
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *r = json_object_array_get_idx(rules, i);
        struct json_object *many = json_path(r, "properties.destinationAddressPrefixes");
        const char *name = str_nonnull(json_str(r, "name"));
        for (size_t k = 0; str_has_prefix(name, MANAGED_RULE) && k <= json_len(many); k++) {
            const char *ip = k < json_len(many)
                                 ? json_object_get_string(json_object_array_get_idx(many, k))
                                 : json_str(properties(r), "destinationAddressPrefix");
            if (!str_is_empty(ip) && !map_has(w->addresses, ip)) {
                return err_set(w->err, ERR_CONFLICT, "the rule %s still admits to %s", name, ip);
            }
        }
    }
    return ERR_OK;
}

static struct json_object *pools_of(struct json_object *machine)
{
    struct json_object *nics =
        json_path(machine, "properties.networkProfileConfiguration.networkInterfaceConfigurations");
    struct json_object *nic = json_len(nics) == 0 ? NULL : json_object_array_get_idx(nics, 0);
    struct json_object *configs = json_path(nic, "properties.ipConfigurations");
    struct json_object *config =
        json_len(configs) == 0 ? NULL : json_object_array_get_idx(configs, 0);
    return json_path(config, "properties.loadBalancerBackendAddressPools");
}

/* An instance is a member of the pool of each balancer of ours, and of no pool that is not there. */
static int check_machine(struct whole *w, const char *id, struct json_object *machine)
{
    static const char *const balancers[] = {CLUSTER, CLUSTER "-internal"};
    struct json_object *pools = pools_of(machine);
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(balancers); i++) {
        struct json_object *lb = doc_of(w->v, "loadBalancers", balancers[i]);
        if (find_named(json_path(lb, "properties.backendAddressPools"), CLUSTER) != NULL) {
            n++;
        }
    }
    return json_len(pools) == n ? ERR_OK
                                : err_set(w->err, ERR_CONFLICT, "%s is in %zu pools instead of %zu",
                                          last_word(id), json_len(pools), n);
}

static int check_doc(struct whole *w, const char *id, struct json_object *doc)
{
    bool foreign = json_member(w->v->foreign, id) != NULL;
    if (is_of(id, "publicIPAddresses") && !foreign) {
        return take(w, arena_printf(w->v->a, "publicIPAddresses/%s", last_word(id)));
    }
    if (is_of(id, "networkSecurityGroups")) {
        return check_security(w, doc);
    }
    if (is_of(id, "virtualMachines")) {
        return check_machine(w, id, doc);
    }
    if (is_of(id, "loadBalancers") && str_has_prefix(last_word(id), CLUSTER)) {
        bool used = map_remove(w->wanted, arena_printf(w->v->a, "loadBalancers/%s", last_word(id)));
        return used || foreign
                   ? check_balancer(w, id, doc)
                   : err_set(w->err, ERR_CONFLICT, "the balancer %s is left behind", last_word(id));
    }
    return ERR_OK;
}

static int check_docs(struct whole *w)
{
    int rc = ERR_OK;
    json_object_object_foreach(w->v->docs, id, doc)
    {
        rc = rc == ERR_OK ? check_doc(w, id, doc) : rc;
    }
    size_t n = 0;
    const char **missing = map_keys(w->wanted, &n);
    if (rc == ERR_OK && n > 0) {
        rc = err_set(w->err, ERR_CONFLICT, "%s is missing", missing[0]);
    }
    free(missing);
    return rc;
}

static int check_whole(const struct world_view *v, struct err *err)
{
    struct whole w = {.v = v, .wanted = map_new(NULL), .addresses = map_new(NULL), .err = err};
    int rc = ERR_OK;
    for (size_t i = 0; i < v->n_services && rc == ERR_OK; i++) {
        rc = check_service(&w, v->services[i]);
    }
    rc = rc == ERR_OK ? check_docs(&w) : rc;
    map_free(w.wanted);
    map_free(w.addresses);
    return rc;
}

/* ---- starting over ------------------------------------------------------------------------------- */

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
        if (is_of(id, "publicIPAddresses") || is_of(id, "loadBalancers")) {
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
    .check_whole = check_whole,
    .strip = strip,
    .learn_addresses = learn_addresses,
    .add_lines = add_lines,
};
