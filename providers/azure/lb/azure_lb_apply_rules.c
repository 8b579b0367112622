/* SPDX-License-Identifier: Apache-2.0 */
/* azure_lb_apply_rules.c: frontends and pools of one Service; rules and probes by
 * azure_lb_merge_rules.c (azure_lb_apply_rules.h).
 *
 * First everything is decided, without touching the document; then it is edited, which
 * cannot fail. Pure. */
#include "providers/azure/lb/azure_lb_apply_rules.h"
#include "common/base/ip.h"
#include "common/base/str.h"
#include "providers/azure/lb/azure_lb_former_rules.h"
#include "providers/azure/lb/azure_lb_interim_rules.h"
#include "providers/azure/lb/azure_lb_merge_rules.h"
#include "providers/azure/lb/azure_local_rules.h"
#include "providers/azure/model/azure_access_rules.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/model/azure_subnet_rules.h"

#define FRONTENDS      "frontendIPConfigurations"
#define RULES_STANDARD 1500
#define RULES_BASIC    250
#define FRONTENDS_MOST 600

/* The decision. */
struct decision {
    const struct azure_lb_ask *ask;
    struct json_object *lb;
    struct azure_claim claim;
    struct json_object **drop; /* frontends, in the order of the document */
    size_t n_drop;
    struct json_object *keep[AZURE_FAMILIES];
    struct json_object *was[AZURE_FAMILIES]; /* what the new one of this family replaces */
    struct json_object *make[AZURE_FAMILIES];
    struct json_object *former[AZURE_FAMILIES]; /* its public IP goes to an interim frontend */
    bool leaves_told;
    const char *frontend_id[AZURE_FAMILIES];
    struct azure_fragment fragments[AZURE_FAMILIES];
    size_t n_fragments;
};

struct json_object *azure_lb_new(struct arena *a, const struct azure_config *c, const char *name)
{
    struct json_object *lb = azure_own(a, json_object_new_object());
    json_add_str(lb, "name", name);
    json_add_str(lb, "location", c->location);
    struct json_object *sku = json_object_new_object();
    json_add_str(sku, "name", c->standard_sku ? "Standard" : "Basic");
    json_add(lb, "sku", sku);
    if (azure_config_is_edge(c)) {
        struct json_object *edge = json_object_new_object();
        json_add_str(edge, "name", c->extended_location_name);
        json_add_str(edge, "type", "EdgeZone");
        json_add(lb, "extendedLocation", edge);
    }
    json_add(lb, "properties", json_object_new_object());
    return lb;
}

bool azure_lb_is_orphan(struct json_object *lb)
{
    return json_len(azure_array(lb, FRONTENDS)) == 0;
}

const char *azure_lb_pool(struct arena *a, const struct azure_naming *n,
                          const struct azure_service *s, enum azure_family f)
{
    return azure_local_counts(n->config, s->in) ? azure_local_pool_name(a, s->in, f)
                                                : azure_pool_name(a, n, f);
}

/* ---- frontends that are there ---------------------------------------------------------------- */

static bool has_other_subnet(const struct azure_lb_ask *ask, struct json_object *frontend)
{
    return ask->service->subnet != NULL &&
           !azure_id_eq(azure_ref(frontend, "subnet"), azure_doc_id(ask->subnet));
}

/* Families may change places, and an internal frontend has its family for life. */
static bool has_other_family(struct json_object *frontend, enum azure_family f)
{
    const char *version = azure_prop_str(frontend, "privateIPAddressVersion");
    return version != NULL && azure_eq(version, "IPv6") != (f == AZURE_IPV6);
}

static bool is_changed(struct arena *a, const struct azure_lb_ask *ask,
                       struct json_object *frontend, bool primary, enum azure_family f)
{
    const struct azure_service *s = ask->service;
    if (!azure_eq(azure_doc_name(frontend), azure_frontend_name(a, s->in, f))) {
        return primary; /* a shared one has the name of another Service */
    }
    if (s->internal) {
        const char *ip = str_nonnull(azure_prop_str(frontend, "privateIPAddress"));
        return has_other_subnet(ask, frontend) || has_other_family(frontend, f) ||
               (s->lb_ip[f] != NULL && !azure_address_eq(ip, s->lb_ip[f]));
    }
    const char *pip = azure_ref(frontend, "publicIPAddress");
    return ask->pip_id[f] != NULL && pip != NULL && !azure_id_eq(pip, ask->pip_id[f]);
}

static const char *id_of(struct arena *a, const struct azure_lb_ask *ask, struct json_object *lb,
                         struct json_object *frontend)
{
    const char *id = azure_doc_id(frontend);
    return id[0] != '\0'
               ? id
               : azure_frontend_id(a, ask->naming, azure_doc_name(lb), azure_doc_name(frontend));
}

/* Sorts owned frontends into those that stay and those that go. */
static int look_at(struct arena *a, struct decision *d, struct json_object *frontend,
                   struct err *err)
{
    const struct azure_lb_ask *ask = d->ask;
    struct azure_ownership o = azure_frontend_owned_by(&d->claim, frontend);
    if (!o.owns) {
        return ERR_OK;
    }
    enum azure_family f = azure_frontend_family(ask->service, frontend, &o);
    bool wanted = ask->want && ask->service->has_family[f];
    if (ask->want && o.primary && azure_lb_former_stands(a, ask, d->lb, frontend, f)) {
        d->was[f] = wanted && ask->service->internal ? frontend : d->was[f];
        return ERR_OK; /* it serves until the status tells the other one */
    }
    if (ask->want && !wanted && !o.primary) {
        return ERR_OK; /* it pins an address of a family that it lacks: another's frontend */
    }
    if (wanted && !is_changed(a, ask, frontend, o.primary, f)) {
        d->keep[f] = frontend;
        return ERR_OK;
    }
    d->drop[d->n_drop++] = frontend;
    d->was[f] = frontend;
    const char *id = id_of(a, ask, d->lb, frontend);
    const char *user = ask->want ? azure_frontend_in_use(a, ask->service, id, d->lb) : NULL;
    if (user != NULL) {
        return err_set(err, ERR_IN_USE,
                       "frontend IP configuration %s would have to %s, but %s uses it",
                       azure_doc_name(frontend), wanted ? "be made anew" : "go", user);
    }
    if (wanted && o.primary && azure_lb_former_can_move(a, ask, d->lb, frontend, f)) {
        d->former[f] = frontend;
    }
    d->leaves_told = d->leaves_told ||
                     (wanted && d->former[f] == NULL && azure_lb_former_is_told(ask, frontend, f));
    return ERR_OK;
}

/* ---- new frontends --------------------------------------------------------------------------- */

static bool is_of_family(const char *text, enum azure_family f)
{
    struct ip_addr ip;
    return text != NULL && ip_parse(text, &ip) && (ip.len == 16) == (f == AZURE_IPV6);
}

/* A Service that shared a frontend by its address has it in the status still. */
static bool is_at_another_frontend(const struct decision *d, const char *ip)
{
    struct json_object *o;
    AZURE_EACH (o, azure_array(d->lb, azure_lb_part_name(AZURE_LB_FRONTENDS))) {
        bool same = azure_address_eq(str_nonnull(azure_prop_str(o, "privateIPAddress")), ip);
        if (same && !azure_frontend_owned_by(&d->claim, o).owns) {
            return true;
        }
    }
    return false;
}

/* The address that an internal frontend asks for; NULL: any.  One that the Service had alone
 * stays with it. */
static const char *private_address(struct arena *a, const struct decision *d, enum azure_family f)
{
    const struct azure_lb_ask *ask = d->ask;
    const struct azure_service *s = ask->service;
    if (s->lb_ip[f] != NULL) {
        return s->lb_ip[f];
    }
    const char *had = azure_prop_str(d->was[f], "privateIPAddress");
    if (is_of_family(had, f) && azure_subnet_has(a, ask->subnet, had)) {
        return had;
    }
    for (uint32_t i = 0; i < s->in->n_ingress; i++) {
        const char *ip = s->in->ingress[i].ip;
        if (is_of_family(ip, f) && azure_subnet_has(a, ask->subnet, ip) &&
            !is_at_another_frontend(d, ip)) {
            return ip;
        }
    }
    return NULL;
}

static void add_zones(const struct decision *d, struct json_object *frontend, enum azure_family f)
{
    const struct azure_config *c = d->ask->naming->config;
    if (d->was[f] != NULL) {
        struct json_object *zones = json_member(d->was[f], "zones");
        if (zones != NULL) {
            json_add(frontend, "zones", json_copy(zones));
        }
    } else if (c->standard_sku && !azure_config_is_edge(c) && d->ask->n_zones > 0) {
        json_add(frontend, "zones", json_strs(d->ask->zones, d->ask->n_zones));
    }
}

static void fill_internal(struct arena *a, const struct decision *d, struct json_object *frontend,
                          enum azure_family f)
{
    struct json_object *p = azure_props_make(frontend);
    struct json_object *subnet = azure_ref_new(azure_doc_id(d->ask->subnet));
    json_add_str(subnet, "name", azure_doc_name(d->ask->subnet));
    json_add(p, "subnet", subnet);
    const char *ip = private_address(a, d, f);
    json_add_str(p, "privateIPAllocationMethod", ip != NULL ? "Static" : "Dynamic");
    json_add_str(p, "privateIPAddress", ip);
    if (f == AZURE_IPV6) {
        json_add_str(p, "privateIPAddressVersion", "IPv6");
    }
    add_zones(d, frontend, f);
}

static int subnet_is_missing(const struct azure_lb_ask *ask, struct err *err)
{
    const struct azure_config *c = ask->naming->config;
    const char *own = ask->service->subnet;
    return err_set(err, ERR_NOT_FOUND, "subnet %s/%s is not there (%s)", c->vnet_name,
                   own != NULL ? own : c->subnet_name,
                   own != NULL ? "annotation " AZURE_ANNOTATION_PREFIX
                                 "azure-load-balancer-internal-subnet"
                               : "subnetName of the cloud config");
}

/* Azure would refuse the whole balancer, after other things have been written.  One that changes
 * from external to internal may still ask for its public address. */
static int check_asked_address(struct arena *a, const struct azure_lb_ask *ask, enum azure_family f,
                               struct err *err)
{
    const char *ip = ask->service->lb_ip[f];
    struct azure_texts all = azure_subnet_prefixes(a, ask->subnet);
    if (ip == NULL || all.n == 0 || azure_subnet_has(a, ask->subnet, ip)) {
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID,
                   "the internal load balancer cannot have the address %s that the Service asks "
                   "for: it is not in subnet %s (%s)",
                   ip, azure_doc_name(ask->subnet), str_join(a, all.items, all.n, ", "));
}

static int frontend_make(struct arena *a, struct decision *d, enum azure_family f, struct err *err)
{
    const struct azure_lb_ask *ask = d->ask;
    const char *name = azure_frontend_name(a, ask->service->in, f);
    struct json_object *o = azure_own(a, json_object_new_object());
    json_add_str(o, "name", name);
    json_add_str(o, "id", azure_frontend_id(a, ask->naming, azure_doc_name(d->lb), name));
    if (ask->service->internal) {
        if (ask->subnet == NULL) {
            return subnet_is_missing(ask, err);
        }
        int rc = check_asked_address(a, ask, f, err);
        if (rc != ERR_OK) {
            return rc;
        }
        fill_internal(a, d, o, f);
    } else {
        if (ask->pip_id[f] == NULL) {
            return err_set(err, ERR_TRANSIENT, "the public IP of frontend %s is not known", name);
        }
        json_add(azure_props_make(o), "publicIPAddress", azure_ref_new(ask->pip_id[f]));
    }
    d->make[f] = o;
    return ERR_OK;
}

/* ---- deciding -------------------------------------------------------------------------------- */

/* Its frontends to keep and to delete. */
static int sort_frontends(struct arena *a, struct decision *d, struct err *err)
{
    int rc = ERR_OK;
    d->claim = azure_frontend_claim(a, d->ask->service, d->ask->pips);
    struct azure_elements owned = azure_lb_claimed(a, d->ask->index, d->lb, &d->claim);
    d->drop = ARENA_ARRAY(a, struct json_object *, owned.n + 1);
    for (size_t i = 0; rc == ERR_OK && i < owned.n; i++) {
        rc = look_at(a, d, owned.items[i], err);
    }
    return rc;
}

static int decide_frontends(struct arena *a, struct decision *d, struct err *err)
{
    int rc = sort_frontends(a, d, err);
    for (int f = 0; rc == ERR_OK && d->ask->want && f < AZURE_FAMILIES; f++) {
        if (!d->ask->service->has_family[f]) {
            continue;
        }
        if (d->keep[f] == NULL) {
            rc = frontend_make(a, d, (enum azure_family)f, err);
        }
        if (rc == ERR_OK) {
            struct json_object *mine = d->keep[f] != NULL ? d->keep[f] : d->make[f];
            d->frontend_id[f] = id_of(a, d->ask, d->lb, mine);
        }
    }
    return rc;
}

/* Does a rule of the Service leave a frontend of another one, whose address the status tells? */
static bool leaves_shared(struct arena *a, const struct decision *d)
{
    const struct azure_lb_ask *ask = d->ask;
    struct json_object *frontends = azure_array(d->lb, FRONTENDS);
    struct azure_elements rules =
        azure_lb_named(a, ask->index, d->lb, AZURE_LB_RULES, ask->service);
    bool leaves = false;
    for (size_t i = 0; i < rules.n && !leaves; i++) {
        const char *id = azure_ref(rules.items[i], "frontendIPConfiguration");
        bool shared = id != NULL && !azure_has_prefix(azure_id_last(id), ask->service->base) &&
                      !azure_id_eq(id, d->frontend_id[AZURE_IPV4]) &&
                      !azure_id_eq(id, d->frontend_id[AZURE_IPV6]);
        struct json_object *o = shared ? azure_find(frontends, azure_id_last(id)) : NULL;
        leaves = o != NULL && (azure_lb_former_is_told(ask, o, AZURE_IPV4) ||
                               azure_lb_former_is_told(ask, o, AZURE_IPV6));
    }
    return leaves;
}

static int decide_fragments(struct arena *a, struct decision *d, struct err *err)
{
    const struct azure_lb_ask *ask = d->ask;
    const char *lb = azure_doc_name(d->lb);
    int rc = ERR_OK;
    for (int f = 0; rc == ERR_OK && f < AZURE_FAMILIES; f++) {
        if (d->frontend_id[f] == NULL) {
            continue;
        }
        const struct azure_fragment_ask fragment = {
            .naming = ask->naming,
            .service = ask->service,
            .lb = lb,
            .family = (enum azure_family)f,
            .frontend_id = d->frontend_id[f],
            .pool_id =
                azure_pool_id(a, ask->naming, lb,
                              azure_lb_pool(a, ask->naming, ask->service, (enum azure_family)f)),
        };
        struct azure_elements rules = azure_lb_rules_at(a, ask->index, d->lb, d->frontend_id[f]);
        const struct azure_place at = {
            .id = d->frontend_id[f],
            .lb = d->lb,
            .rules = rules.items,
            .n_rules = rules.n,
            .all_ports = azure_service_takes_all_ports(ask->naming, ask->service),
        };
        rc = azure_frontend_check_ports_at(ask->service, &at, err);
        if (rc == ERR_OK) {
            rc = azure_lb_desired(a, &fragment, &d->fragments[d->n_fragments++], err);
        }
    }
    return rc;
}

static size_t count_owned(struct arena *a, const struct decision *d)
{
    struct azure_elements rules =
        azure_lb_named(a, d->ask->index, d->lb, AZURE_LB_RULES, d->ask->service);
    size_t n = 0;
    for (size_t i = 0; i < rules.n; i++) {
        n += azure_owns_rule(d->ask->service, azure_doc_name(rules.items[i]));
    }
    return n;
}

bool azure_lb_is_tight(const struct azure_config *c, struct json_object *lb, size_t frontends,
                       size_t rules, size_t rules_per_nic)
{
    size_t most = c->standard_sku ? RULES_STANDARD : RULES_BASIC;
    bool nics = c->pool_type == AZURE_POOL_NIC && rules_per_nic > 0;
    most = nics && rules_per_nic < most ? rules_per_nic : most;
    return json_len(azure_array(lb, FRONTENDS)) + frontends > FRONTENDS_MOST ||
           json_len(azure_array(lb, "loadBalancingRules")) + rules > most;
}

/* Rules that lead to the pool; those of the Service itself are counted in *ret_mine. */
static size_t rules_of_pool(const struct decision *d, const char *pool, size_t *ret_mine)
{
    size_t n = 0;
    struct json_object *o;
    *ret_mine = 0;
    AZURE_EACH (o, azure_array(d->lb, "loadBalancingRules")) {
        const char *leads_to = azure_ref(o, "backendAddressPool");
        if (leads_to != NULL && azure_id_eq(leads_to, pool)) {
            n++;
            *ret_mine += azure_owns_rule(d->ask->service, azure_doc_name(o));
        }
    }
    return n;
}

/* Azure counts the rules of each network interface.  Where more stand already, the limit is
 * another one by now. */
static int check_interfaces(struct arena *a, const struct decision *d, struct err *err)
{
    const struct azure_lb_ask *ask = d->ask;
    size_t most = ask->rules_per_nic;
    size_t fragment = 0;
    for (int f = 0; most > 0 && f < AZURE_FAMILIES; f++) {
        if (d->frontend_id[f] == NULL) {
            continue;
        }
        size_t wants = d->fragments[fragment++].n_rules;
        const char *lb = azure_doc_name(d->lb);
        const char *name = azure_lb_pool(a, ask->naming, ask->service, (enum azure_family)f);
        size_t mine = 0;
        size_t now = rules_of_pool(d, azure_pool_id(a, ask->naming, lb, name), &mine);
        size_t then = now - mine + wants;
        if (then > most && then > now && now <= most) {
            return err_set(err, ERR_QUOTA,
                           "the network interfaces behind load balancer %s would have %zu rules, "
                           "but Azure allows %zu for each",
                           lb, then, most);
        }
    }
    return ERR_OK;
}

/* Azure's limits: one Service too many must fail by itself, not with the whole document. */
static int check_limits(struct arena *a, const struct decision *d, struct err *err)
{
    const struct azure_config *c = d->ask->naming->config;
    struct json_object *rules = azure_array(d->lb, "loadBalancingRules");
    size_t most = c->standard_sku ? RULES_STANDARD : RULES_BASIC;
    size_t others = json_len(rules) - count_owned(a, d);
    size_t mine = 0;
    for (size_t i = 0; i < d->n_fragments; i++) {
        mine += d->fragments[i].n_rules;
    }
    if (mine > 0 && others + mine > most) {
        return err_set(err, ERR_QUOTA,
                       "load balancer %s would have %zu rules, but Azure allows %zu",
                       azure_doc_name(d->lb), others + mine, most);
    }
    size_t frontends = json_len(azure_array(d->lb, FRONTENDS)) - d->n_drop + (d->make[0] != NULL) +
                       (d->make[1] != NULL);
    if ((d->make[0] != NULL || d->make[1] != NULL) && frontends > FRONTENDS_MOST) {
        return err_set(err, ERR_QUOTA,
                       "load balancer %s would have %zu frontends, but Azure allows %d",
                       azure_doc_name(d->lb), frontends, FRONTENDS_MOST);
    }
    return c->pool_type == AZURE_POOL_NIC ? check_interfaces(a, d, err) : ERR_OK;
}

/* ---- editing --------------------------------------------------------------------------------- */

static void drop_element(struct decision *d, enum azure_lb_part part, struct json_object *o)
{
    struct json_object *array = azure_array(d->lb, azure_lb_part_name(part));
    azure_lb_index_drop(d->ask->index, part, o);
    for (size_t i = 0; i < json_len(array); i++) {
        if (json_object_array_get_idx(array, i) == o) {
            azure_array_drop(array, i);
            return;
        }
    }
}

static void edit_frontends(struct arena *a, struct decision *d, struct azure_lb_result *ret)
{
    ret->removed = ARENA_ARRAY(a, struct azure_lb_frontend, d->n_drop + 1);
    for (size_t i = d->n_drop; i > 0; i--) {
        struct json_object *o = d->drop[i - 1];
        const char *id = id_of(a, d->ask, d->lb, o);
        const char *user =
            d->ask->want ? NULL : azure_frontend_in_use(a, d->ask->service, id, d->lb);
        ret->removed[ret->n_removed++] = (struct azure_lb_frontend){
            .name = arena_strdup(a, azure_doc_name(o)),
            .id = arena_strdup(a, id),
            .kept_by = user,
        };
        if (user == NULL) {
            drop_element(d, AZURE_LB_FRONTENDS, o);
            ret->frontends_changed = true;
        }
    }
    for (int f = 0; f < AZURE_FAMILIES; f++) {
        if (d->make[f] != NULL) {
            struct json_object *made = json_share(d->make[f]);
            (void)json_object_array_add(azure_array_make(d->lb, FRONTENDS), made);
            azure_lb_index_add(d->ask->index, AZURE_LB_FRONTENDS, made);
            ret->frontends_changed = true;
        }
        ret->frontend_id[f] = d->frontend_id[f] != NULL ? arena_strdup(a, d->frontend_id[f]) : NULL;
    }
}

static bool edit_pools(struct arena *a, const struct decision *d)
{
    bool changed = false;
    for (int f = 0; f < AZURE_FAMILIES; f++) {
        if (d->frontend_id[f] == NULL) {
            continue;
        }
        const char *name = azure_lb_pool(a, d->ask->naming, d->ask->service, (enum azure_family)f);
        if (azure_find(azure_array(d->lb, "backendAddressPools"), name) == NULL) {
            struct json_object *pool = json_object_new_object();
            json_add_str(pool, "name", name);
            json_add(pool, "properties", json_object_new_object());
            (void)json_object_array_add(azure_array_make(d->lb, "backendAddressPools"), pool);
            changed = true;
        }
    }
    return changed;
}

/* Pools of its own that the Service does not use, or no longer. */
static bool drop_pools(const struct decision *d)
{
    const struct azure_naming *n = d->ask->naming;
    const struct tt_service *s = d->ask->service->in;
    bool local = azure_local_counts(n->config, s);
    const bool keep[AZURE_FAMILIES] = {
        local && d->frontend_id[AZURE_IPV4] != NULL,
        local && d->frontend_id[AZURE_IPV6] != NULL,
    };
    return azure_local_drop_pools(n, s, keep, d->lb);
}

int azure_lb_apply(struct arena *a, const struct azure_lb_ask *ask, struct json_object *lb,
                   struct azure_lb_result *ret, struct err *err)
{
    struct decision d = {.ask = ask, .lb = lb};
    int rc = decide_frontends(a, &d, err);
    if (rc == ERR_OK && ask->want) {
        rc = decide_fragments(a, &d, err);
    }
    if (rc == ERR_OK) {
        rc = check_limits(a, &d, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    const struct azure_merge m = {
        .naming = ask->naming,
        .service = ask->service,
        .want = ask->want,
        .index = ask->index,
        .fragments = d.fragments,
        .n_fragments = d.n_fragments,
    };
    *ret = (struct azure_lb_result){.leaves_told = d.leaves_told,
                                    .leaves_shared = ask->want && leaves_shared(a, &d)};
    bool pools = edit_pools(a, &d);
    for (int f = 0; f < AZURE_FAMILIES; f++) {
        if (d.former[f] != NULL) {
            azure_lb_former_move(a, ask, lb, d.former[f], (enum azure_family)f);
        }
    }
    edit_frontends(a, &d, ret);
    bool rules = azure_lb_merge(a, &m, lb);
    bool dropped = drop_pools(&d);
    ret->changed = pools || rules || dropped || ret->frontends_changed;
    return ERR_OK;
}

/* ---- making way ------------------------------------------------------------------------------ */

/* Does the Service go on asking for this port, at this frontend? */
static bool is_wanted(struct arena *a, const struct decision *d, struct json_object *rule)
{
    const struct azure_lb_ask *ask = d->ask;
    const char *protocol = str_nonnull(azure_prop_str(rule, "protocol"));
    bool stays = false;
    for (int f = 0; f < AZURE_FAMILIES; f++) {
        stays =
            stays || (d->keep[f] != NULL && azure_id_eq(azure_ref(rule, "frontendIPConfiguration"),
                                                        id_of(a, ask, d->lb, d->keep[f])));
    }
    bool asks = azure_service_takes_all_ports(ask->naming, ask->service);
    for (uint32_t i = 0; !asks && i < ask->service->in->n_ports; i++) {
        const struct tt_port *port = &ask->service->in->ports[i];
        asks = port->port == azure_prop_int(rule, "frontendPort", 0) &&
               azure_eq(str_nonnull(azure_lb_protocol(port->protocol)), protocol);
    }
    return stays && asks;
}

bool azure_lb_give_up_ports(struct arena *a, const struct azure_lb_ask *ask, struct json_object *lb)
{
    struct decision d = {.ask = ask, .lb = lb};
    bool some = false;
    /* A conflict with its own frontend does not matter here. */
    (void)sort_frontends(a, &d, NULL);
    struct azure_elements rules = azure_lb_named(a, ask->index, lb, AZURE_LB_RULES, ask->service);
    for (size_t i = 0; i < rules.n; i++) {
        if (azure_has_prefix(azure_doc_name(rules.items[i]), ask->service->base) &&
            !azure_lb_is_at_former(ask->service, lb, rules.items[i]) &&
            !is_wanted(a, &d, rules.items[i])) {
            drop_element(&d, AZURE_LB_RULES, rules.items[i]);
            some = true;
        }
    }
    return some;
}

/* A private frontend stays, without its address: zones and subnet of the new one are
 * read from it. */
static void drop_address(struct decision *d, struct json_object *frontend)
{
    azure_lb_index_drop(d->ask->index, AZURE_LB_FRONTENDS, frontend);
    json_object_object_del(azure_props_make(frontend), "privateIPAddress");
    azure_lb_index_add(d->ask->index, AZURE_LB_FRONTENDS, frontend);
}

bool azure_lb_give_up_frontends(struct arena *a, const struct azure_lb_ask *ask,
                                struct json_object *lb)
{
    struct decision d = {.ask = ask, .lb = lb};
    bool some = false;
    int rc = sort_frontends(a, &d, NULL);
    for (size_t i = 0; rc == ERR_OK && i < d.n_drop; i++) {
        const char *id = id_of(a, ask, lb, d.drop[i]);
        enum azure_family f =
            is_of_family(azure_prop_str(d.drop[i], "privateIPAddress"), AZURE_IPV6) ? AZURE_IPV6
                                                                                    : AZURE_IPV4;
        if (azure_frontend_in_use(a, ask->service, id, lb) != NULL) {
            continue;
        }
        if (!ask->service->internal) {
            drop_element(&d, AZURE_LB_FRONTENDS, d.drop[i]);
            some = true;
        } else if (ask->service->lb_ip[f] != NULL) {
            drop_address(&d, d.drop[i]);
            some = true;
        }
    }
    return some;
}
