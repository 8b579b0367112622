/* SPDX-License-Identifier: Apache-2.0 */
/* world_azure_whole.c: each Service has all that belongs to it in Azure, and nothing is without an
 * owner (world_internal.h).
 *
 * Which balancer a Service is to be on is not said here: it is on one of trimtab, and whole there;
 * where a flow cares, it says so.  Names are written down again, as the cluster's user would check
 * them: nothing is shared with the provider.
 * Source: docs/spec/azure.md 5.1, 6.3, 6.5, 7.2, 7.3, 7.6, 8.2, 8.4, 9.1, 10.6. */
#include "tests/fault/world_azure.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/map.h"
#include "common/base/strset.h"

#define CLUSTER      "kubernetes"
#define INTERNAL     "-internal"
#define MANAGED_RULE "k8s-azure-lb_"
#define NOTE(x)      "service.beta.kubernetes.io/azure-" x

struct whole {
    const struct world_view *v;
    struct map *wanted;    /* "publicIPAddresses/NAME", "BALANCER/frontendIPConfigurations/NAME" */
    struct map *addresses; /* that our Services publish, and those of nodes */
    struct map *owners;    /* of public IPs: last word of the id → "default/a,default/b", owned */
    struct err *err;
};

const char *azure_last_word(const char *id)
{
    const char *slash = id == NULL ? NULL : strrchr(id, '/');
    return slash == NULL ? str_nonnull(id) : slash + 1;
}

bool azure_is_of(const char *id, const char *collection)
{
    size_t n = strlen(id) - strlen(azure_last_word(id));
    size_t len = strlen(collection);
    return n > len + 1 && id[n - len - 2] == '/' && strncmp(id + n - len - 1, collection, len) == 0;
}

struct json_object *azure_properties(struct json_object *o)
{
    return json_member(o, "properties");
}

struct json_object *azure_named(struct json_object *array, const char *name)
{
    for (size_t i = 0; i < json_len(array); i++) {
        struct json_object *o = json_object_array_get_idx(array, i);
        if (str_eq(json_str(o, "name"), name)) {
            return o;
        }
    }
    return NULL;
}

static void want(struct whole *w, const char *name)
{
    map_set(w->wanted, name, NULL);
}

static const char *ref(struct json_object *element, const char *member)
{
    return str_nonnull(json_str(json_member(azure_properties(element), member), "id"));
}

static const char *note_of(struct json_object *service, const char *name)
{
    return json_str(json_path(service, "metadata.annotations"), name);
}

static bool notes(struct json_object *service, const char *name)
{
    return str_eq_nocase(note_of(service, name), "true");
}

static bool is_internal(struct json_object *service)
{
    return notes(service, NOTE("load-balancer-internal"));
}

static const char *key_of(struct arena *a, struct json_object *service)
{
    struct json_object *meta = json_member(service, "metadata");
    return arena_printf(a, "%s/%s", json_str(meta, "namespace"), json_str(meta, "name"));
}

/* ---- frontends ------------------------------------------------------------------------------- */

/* Where a Service is reached: a frontend, its own or another's that it shares. */
struct door {
    const char *lb_id;
    struct json_object *lb;
    struct json_object *frontend;
    struct json_object *pip; /* NULL: internal */
    const char *pip_id;
};

static struct json_object *doc_by_id(const struct world_view *v, const char *want_id)
{
    struct json_object *found = json_member(v->docs, want_id);
    json_object_object_foreach(v->docs, id, doc)
    {
        found = found == NULL && str_eq_nocase(id, want_id) ? doc : found;
    }
    return found;
}

static bool is_users_balancer(const struct world_view *v, const char *id)
{
    return json_member(v->foreign, id) != NULL && !str_eq(azure_last_word(id), CLUSTER);
}

static const char *address_of(struct whole *w, struct json_object *frontend, struct door *d)
{
    const char *pip_id = ref(frontend, "publicIPAddress");
    struct json_object *pip = *pip_id == '\0' ? NULL : doc_by_id(w->v, pip_id);
    d->pip = pip;
    d->pip_id = pip_id;
    return json_str(azure_properties(pip != NULL ? pip : frontend),
                    pip != NULL ? "ipAddress" : "privateIPAddress");
}

/* The frontends of ours that have an address: how many, and the last of them. */
static size_t find_doors(struct whole *w, const char *ip, struct door *ret)
{
    size_t n = 0;
    json_object_object_foreach(w->v->docs, id, lb)
    {
        bool ours = azure_is_of(id, "loadBalancers") && !is_users_balancer(w->v, id);
        struct json_object *list =
            ours ? json_path(lb, "properties.frontendIPConfigurations") : NULL;
        for (size_t i = 0; i < json_len(list); i++) {
            struct door d = {.lb_id = id, .lb = lb};
            d.frontend = json_object_array_get_idx(list, i);
            if (str_eq(address_of(w, d.frontend, &d), ip)) {
                *ret = d;
                n++;
            }
        }
    }
    return n;
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

static struct json_object *security_rules(const struct world_view *v)
{
    json_object_object_foreach(v->docs, id, doc)
    {
        if (azure_is_of(id, "networkSecurityGroups") && str_eq(azure_last_word(id), "nsg")) {
            return json_path(doc, "properties.securityRules");
        }
    }
    return NULL;
}

/* Some security rule of ours admits `source` to a port at an address. */
static bool is_admitted(struct whole *w, const char *ip, const char *port, const char *source)
{
    struct json_object *rules = security_rules(w->v);
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *r = json_object_array_get_idx(rules, i);
        struct json_object *p = azure_properties(r);
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

/* One of the sources that it admits; NULL: the virtual network only, or irrelevant. */
static const char *source_of(struct arena *a, struct json_object *service)
{
    struct json_object *ranges = json_path(service, "spec.loadBalancerSourceRanges");
    const char *tags = note_of(service, NOTE("allowed-service-tags"));
    const char *noted = note_of(service, NOTE("allowed-ip-ranges"));
    const char *first = str_or(tags, noted);
    if (notes(service, NOTE("disable-load-balancer-nsg-rule"))) {
        return NULL;
    }
    if (json_len(ranges) > 0) {
        return json_object_get_string(json_object_array_get_idx(ranges, 0));
    }
    if (first != NULL) {
        return arena_printf(a, "%.*s", (int)strcspn(first, ","), first);
    }
    return is_internal(service) ? NULL : "Internet";
}

static int check_admitted(struct whole *w, struct json_object *service, struct json_object *port,
                          const char *ip)
{
    struct arena *a = w->v->a;
    bool floats = !notes(service, NOTE("disable-load-balancer-floating-ip"));
    const char *number =
        arena_printf(a, "%lld", (long long)json_int(port, floats ? "port" : "nodePort", 0));
    const char *source = source_of(a, service);
    struct json_object *nodes = json_path(w->v->world, "kubernetes.nodes");
    struct json_object *first = json_len(nodes) == 0 ? NULL : json_object_array_get_idx(nodes, 0);
    struct json_object *addresses = json_path(first, "status.addresses");
    const char *at = floats || json_len(addresses) == 0
                         ? ip
                         : json_str(json_object_array_get_idx(addresses, 0), "address");
    bool four = strchr(ip, ':') == NULL;
    if (source != NULL && (four || floats) && (four || str_eq(source, "Internet")) &&
        !is_admitted(w, at, number, source)) {
        return err_set(w->err, ERR_CONFLICT, "nothing admits %s to port %s of Service %s at %s",
                       source, number, key_of(a, service), at);
    }
    return ERR_OK;
}

/* ---- rules ----------------------------------------------------------------------------------- */

/* The rule of a Service behind its door: by what it does, not by its name's details. */
static struct json_object *find_rule(const struct door *d, const char *base,
                                     struct json_object *port)
{
    struct json_object *rules = json_path(d->lb, "properties.loadBalancingRules");
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *r = json_object_array_get_idx(rules, i);
        struct json_object *p = azure_properties(r);
        if (str_has_prefix(str_nonnull(json_str(r, "name")), base) &&
            str_eq_nocase(json_str(p, "protocol"), json_str(port, "protocol")) &&
            json_int(p, "frontendPort", -1) == json_int(port, "port", 0) &&
            str_eq_nocase(azure_last_word(ref(r, "frontendIPConfiguration")),
                          json_str(d->frontend, "name"))) {
            return r;
        }
    }
    return NULL;
}

static int check_port(struct whole *w, const struct door *d, struct json_object *service,
                      struct json_object *port)
{
    struct arena *a = w->v->a;
    const char *lb = azure_last_word(d->lb_id);
    const char *base = names_lb(a, json_str(json_member(service, "metadata"), "uid"));
    struct json_object *rule = find_rule(d, base, port);
    const char *pool = azure_last_word(ref(rule, "backendAddressPool"));
    if (rule == NULL) {
        return err_set(w->err, ERR_CONFLICT, "on %s port %lld of Service %s has no rule", lb,
                       (long long)json_int(port, "port", 0), key_of(a, service));
    }
    if (azure_named(json_path(d->lb, "properties.backendAddressPools"), pool) == NULL) {
        return err_set(w->err, ERR_CONFLICT, "the rule %s leads to no pool: %s",
                       json_str(rule, "name"), pool);
    }
    want(w, arena_printf(a, "%s/loadBalancingRules/%s", lb, json_str(rule, "name")));
    want(w, arena_printf(a, "%s/backendAddressPools/%s", lb, pool));
    return ERR_OK;
}

/* ---- Services -------------------------------------------------------------------------------- */

static void add_owner(struct whole *w, const char *pip_id, const char *key)
{
    const char *was = map_get(w->owners, pip_id);
    map_set(w->owners, pip_id, was == NULL ? xstrdup(key) : xasprintf("%s,%s", was, key));
}

static int check_address(struct whole *w, struct json_object *service, const char *ip)
{
    struct arena *a = w->v->a;
    struct door d = {0};
    size_t n = find_doors(w, ip, &d);
    const char *key = key_of(a, service);
    if (n != 1) {
        return err_set(w->err, ERR_CONFLICT, "Service %s publishes %s, which %zu frontends have",
                       key, ip, n);
    }
    const char *lb = azure_last_word(d.lb_id);
    if (str_has_suffix(lb, INTERNAL) != is_internal(service)) {
        return err_set(w->err, ERR_CONFLICT, "Service %s is on %s", key, lb);
    }
    map_set(w->addresses, ip, NULL);
    want(w, arena_printf(a, "loadBalancers/%s", lb));
    want(w, arena_printf(a, "%s/frontendIPConfigurations/%s", lb, json_str(d.frontend, "name")));
    if (d.pip != NULL && json_member(w->v->foreign, d.pip_id) == NULL) {
        want(w, arena_printf(a, "publicIPAddresses/%s", azure_last_word(d.pip_id)));
        add_owner(w, azure_last_word(d.pip_id), key);
    }
    if (notes(service, NOTE("pls-create"))) {
        const char *own = arena_printf(a, "pls-%s", json_str(d.frontend, "name"));
        const char *named = json_str(json_path(service, "metadata.annotations"), NOTE("pls-name"));
        want(w, arena_printf(a, "privateLinkServices/%s", str_or(named, own)));
    }
    struct json_object *ports = json_path(service, "spec.ports");
    int rc = ERR_OK;
    for (size_t i = 0; i < json_len(ports) && rc == ERR_OK; i++) {
        struct json_object *port = json_object_array_get_idx(ports, i);
        rc = check_port(w, &d, service, port);
        rc = rc == ERR_OK ? check_admitted(w, service, port, ip) : rc;
    }
    return rc;
}

static int check_service(struct whole *w, struct json_object *service)
{
    struct json_object *ingress = json_path(service, "status.loadBalancer.ingress");
    size_t families = json_len(json_path(service, "spec.ipFamilies"));
    if (json_len(ingress) == 0 || json_len(ingress) != families) {
        return err_set(w->err, ERR_CONFLICT, "Service %s publishes %zu addresses instead of %zu",
                       key_of(w->v->a, service), json_len(ingress), families);
    }
    int rc = ERR_OK;
    for (size_t i = 0; i < json_len(ingress) && rc == ERR_OK; i++) {
        rc = check_address(w, service,
                           str_nonnull(json_str(json_object_array_get_idx(ingress, i), "ip")));
    }
    return rc;
}

/* ---- nothing else ---------------------------------------------------------------------------- */

static int take(struct whole *w, const char *name)
{
    return map_remove(w->wanted, name) ? ERR_OK
                                       : err_set(w->err, ERR_CONFLICT, "%s is left behind", name);
}

static bool is_foreign_element(const struct world_view *v, const char *id, const char *collection,
                               const char *name)
{
    struct json_object *p = azure_properties(json_member(v->foreign, id));
    return p != NULL && azure_named(json_member(p, collection), name) != NULL;
}

/* A probe of ours is there because a rule asks it. */
static int check_probe(struct whole *w, struct json_object *lb, struct json_object *probe)
{
    struct json_object *rules = json_path(lb, "properties.loadBalancingRules");
    for (size_t i = 0; i < json_len(rules); i++) {
        const char *probe_id = ref(json_object_array_get_idx(rules, i), "probe");
        if (str_eq(azure_last_word(probe_id), json_str(probe, "name"))) {
            return ERR_OK;
        }
    }
    return err_set(w->err, ERR_CONFLICT, "the probe %s is left behind", json_str(probe, "name"));
}

/* A balancer keeps the pools that it once had: both families', also when one is not
 * used any more. */
static bool is_cluster_pool(const char *collection, const char *name)
{
    return str_eq(collection, "backendAddressPools") && str_has_prefix(name, CLUSTER);
}

static int check_balancer(struct whole *w, const char *id, struct json_object *lb)
{
    static const char *const collections[] = {"frontendIPConfigurations", "loadBalancingRules",
                                              "backendAddressPools", "probes"};
    int rc = ERR_OK;
    for (size_t k = 0; k < ARRAY_LEN(collections); k++) {
        struct json_object *list = json_member(azure_properties(lb), collections[k]);
        for (size_t i = 0; i < json_len(list) && rc == ERR_OK; i++) {
            struct json_object *e = json_object_array_get_idx(list, i);
            const char *name = json_str(e, "name");
            const char *full =
                arena_printf(w->v->a, "%s/%s/%s", azure_last_word(id), collections[k], name);
            if (is_foreign_element(w->v, id, collections[k], name)) {
                continue;
            }
            if (is_cluster_pool(collections[k], name)) {
                (void)map_remove(w->wanted, full);
                continue;
            }
            rc = str_eq(collections[k], "probes") ? check_probe(w, lb, e) : take(w, full);
        }
    }
    return rc;
}

/* Every address in a rule of ours is one that a Service publishes, or a node's. */
static int check_security(struct whole *w)
{
    struct json_object *rules = security_rules(w->v);
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *r = json_object_array_get_idx(rules, i);
        struct json_object *many = json_path(r, "properties.destinationAddressPrefixes");
        const char *name = str_nonnull(json_str(r, "name"));
        for (size_t k = 0; str_has_prefix(name, MANAGED_RULE) && k <= json_len(many); k++) {
            const char *ip = k < json_len(many)
                                 ? json_object_get_string(json_object_array_get_idx(many, k))
                                 : json_str(azure_properties(r), "destinationAddressPrefix");
            if (!str_is_empty(ip) && !map_has(w->addresses, ip)) {
                return err_set(w->err, ERR_CONFLICT, "the rule %s still admits to %s", name, ip);
            }
        }
    }
    return ERR_OK;
}

/* A public IP of trimtab names exactly its Services. */
static int check_public_ip(struct whole *w, const char *id, struct json_object *pip)
{
    struct arena *a = w->v->a;
    const char *name = azure_last_word(id);
    const char *tag = str_nonnull(json_str(json_member(pip, "tags"), "k8s-azure-service"));
    size_t n_said = 0;
    size_t n_true = 0;
    char **said = str_split(a, tag, ',', &n_said);
    char **owners = str_split(a, str_nonnull(map_get(w->owners, name)), ',', &n_true);
    struct str_set x = str_set_make(a, (const char *const *)said, n_said);
    struct str_set y = str_set_make(a, (const char *const *)owners, n_true);
    if (!str_set_eq(&x, &y)) {
        return err_set(w->err, ERR_CONFLICT, "%s says that it is of \"%s\", it is of \"%s\"", name,
                       tag, str_nonnull(map_get(w->owners, name)));
    }
    return take(w, arena_printf(a, "publicIPAddresses/%s", name));
}

static int check_doc(struct whole *w, const char *id, struct json_object *doc)
{
    struct arena *a = w->v->a;
    bool foreign = json_member(w->v->foreign, id) != NULL;
    if (azure_is_of(id, "publicIPAddresses") && !foreign) {
        return check_public_ip(w, id, doc);
    }
    if (azure_is_of(id, "privateLinkServices") && !foreign) {
        return take(w, arena_printf(a, "privateLinkServices/%s", azure_last_word(id)));
    }
    if (azure_is_of(id, "loadBalancers") && !is_users_balancer(w->v, id)) {
        bool used = map_remove(w->wanted, arena_printf(a, "loadBalancers/%s", azure_last_word(id)));
        return used || foreign ? check_balancer(w, id, doc)
                               : err_set(w->err, ERR_CONFLICT, "the balancer %s is left behind",
                                         azure_last_word(id));
    }
    return ERR_OK;
}

static int check_docs(struct whole *w)
{
    int rc = check_security(w);
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

/* Rules may open nodes to clients where a Service is reached on them. */
static void learn_nodes(struct whole *w)
{
    bool any = false;
    for (size_t i = 0; i < w->v->n_services; i++) {
        any = any || notes(w->v->services[i], NOTE("disable-load-balancer-floating-ip"));
    }
    struct json_object *nodes = json_path(w->v->world, "kubernetes.nodes");
    for (size_t i = 0; any && i < json_len(nodes); i++) {
        struct json_object *list =
            json_path(json_object_array_get_idx(nodes, i), "status.addresses");
        for (size_t k = 0; k < json_len(list); k++) {
            map_set(w->addresses, json_str(json_object_array_get_idx(list, k), "address"), NULL);
        }
    }
}

int azure_check_whole(const struct world_view *v, struct err *err)
{
    struct whole w = {.v = v,
                      .wanted = map_new(NULL),
                      .addresses = map_new(NULL),
                      .owners = map_new(free),
                      .err = err};
    int rc = ERR_OK;
    learn_nodes(&w);
    for (size_t i = 0; i < v->n_services && rc == ERR_OK; i++) {
        rc = check_service(&w, v->services[i]);
    }
    rc = rc == ERR_OK ? check_docs(&w) : rc;
    rc = rc == ERR_OK ? azure_check_members(v, err) : rc;
    map_free(w.wanted);
    map_free(w.addresses);
    map_free(w.owners);
    return rc;
}
