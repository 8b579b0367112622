/* SPDX-License-Identifier: Apache-2.0 */
/* azure_place_rules.c: the balancer of a Service among several Standard ones
 * (azure_select_rules.h).
 *
 * First the configurations that the Service may use at all, then the one where it is or where its
 * pinned address lies, else the emptiest.  Upstream can end with an empty name; that is refused
 * here.  Pure; docs/spec/azure.md 5.5, 18 row 3. */
#include "providers/azure/lb/azure_select_rules.h"

#include <string.h>

#include "common/base/str.h"
#include "common/base/strset.h"
#include "providers/azure/model/azure_doc.h"

#define CONFIGURATIONS     AZURE_ANNOTATION_PREFIX "azure-load-balancer-configurations"
#define RULES_MAX          301 /* upstream's own limit: a balancer with so many takes no Service */
#define CLUSTER_TAG        "k8s-azure-cluster-name"
#define LEGACY_CLUSTER_TAG "kubernetes-cluster-name"

/* Names that are being collected. */
struct names {
    const char **items;
    size_t n;
};

/* One question: who is asking, and what became of each configuration. */
struct sieve {
    struct arena *arena;
    const struct azure_placement *placement;
    const struct azure_service *service;
    struct names selected, no_placement, wrong_labels, wrong_namespace;
    bool selector_matched;
};

static struct names names_new(struct arena *a, size_t n)
{
    return (struct names){.items = ARENA_ARRAY(a, const char *, n)};
}

static bool has_name(const char *const *items, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (azure_eq(items[i], name)) {
            return true;
        }
    }
    return false;
}

static const char *service_name(const struct azure_service *s)
{
    return str_nonnull(s->in->name);
}

static const char *lower_base(struct arena *a, struct json_object *lb)
{
    return str_lower(a, azure_lb_base(a, azure_doc_name(lb)));
}

static size_t count_rules(struct json_object *lb)
{
    return json_len(azure_array(lb, "loadBalancingRules"));
}

/* ---- who may be used ------------------------------------------------------------------------- */

static bool is_active(const struct azure_placement *p, const char *lb,
                      const struct azure_service *s)
{
    for (size_t i = 0; i < p->n_active; i++) {
        const struct azure_active *active = &p->active[i];
        if (azure_eq(active->lb, lb) && has_name(active->services, active->n_services, s->key)) {
            return true;
        }
    }
    return false;
}

/* Prefixes of the names of the rules on both balancers of a configuration: text before
 * the first '-'. */
static struct str_set rule_prefixes(struct arena *a, const struct azure_lbs *lbs,
                                    const char *config)
{
    size_t n = 0;
    for (size_t i = 0; i < lbs->n; i++) {
        n += count_rules(lbs->items[i]);
    }
    struct names prefixes = names_new(a, n);
    for (size_t i = 0; i < lbs->n; i++) {
        struct json_object *rule;
        if (!azure_eq(lower_base(a, lbs->items[i]), config)) {
            continue;
        }
        AZURE_EACH (rule, azure_array(lbs->items[i], "loadBalancingRules")) {
            const char *name = azure_doc_name(rule);
            prefixes.items[prefixes.n++] =
                str_lower(a, arena_strndup(a, name, (size_t)(strchrnul(name, '-') - name)));
        }
    }
    return str_set_make(a, prefixes.items, prefixes.n);
}

const struct azure_active *azure_active_from_rules(struct arena *a, const struct azure_config *c,
                                                   const struct azure_lbs *lbs,
                                                   const struct azure_service *const *services,
                                                   size_t n, size_t *ret_n)
{
    struct azure_active *active = ARENA_ARRAY(a, struct azure_active, c->n_lbs);
    for (size_t i = 0; i < c->n_lbs; i++) {
        struct str_set prefixes = rule_prefixes(a, lbs, c->lbs[i].name);
        struct names held = names_new(a, n);
        for (size_t k = 0; k < n && prefixes.n > 0; k++) {
            if (str_set_has(&prefixes, str_lower(a, services[k]->base))) {
                held.items[held.n++] = services[k]->key;
            }
        }
        active[i] = (struct azure_active){
            .lb = c->lbs[i].name, .services = held.items, .n_services = held.n};
    }
    *ret_n = c->n_lbs;
    return active;
}

/* *ret: the selector is not there, or holds. */
static int check_selector(struct sieve *v, const struct azure_selector *selector,
                          const struct tt_kv *labels, size_t n, bool *ret, struct err *err)
{
    *ret = true;
    if (!selector->given && selector->n == 0) {
        return ERR_OK;
    }
    int rc = azure_selector_matches(selector, labels, n, ret, err);
    if (rc == ERR_OK && *ret) {
        v->selector_matched = true;
    }
    return rc;
}

/* Puts the name of a configuration that fails into its list. */
static int sift(struct sieve *v, const struct azure_lb_config *c, bool *ret, struct err *err)
{
    const struct azure_placement *p = v->placement;
    const struct tt_service *in = v->service->in;
    *ret = false;
    if (!c->allow_placement && !is_active(p, c->name, v->service)) {
        v->no_placement.items[v->no_placement.n++] = c->name;
        return ERR_OK;
    }
    int rc = check_selector(v, &c->services, in->labels, in->n_labels, ret, err);
    if (rc != ERR_OK) {
        (void)err_prefix(err, "serviceLabelSelector of load balancer \"%s\"", c->name);
        return rc;
    }
    if (!*ret) {
        v->wrong_labels.items[v->wrong_labels.n++] = c->name;
        return ERR_OK;
    }
    rc = check_selector(v, &c->namespaces, p->namespace_labels, p->n_namespace_labels, ret, err);
    if (rc != ERR_OK) {
        (void)err_prefix(err, "serviceNamespaceSelector of load balancer \"%s\"", c->name);
        return rc;
    }
    if (!*ret) {
        v->wrong_namespace.items[v->wrong_namespace.n++] = c->name;
    }
    return ERR_OK;
}

static const char *joined(struct arena *a, const struct names *names)
{
    return str_join(a, names->items, names->n, ", ");
}

static int none_left(const struct sieve *v, struct err *err)
{
    struct arena *a = v->arena;
    return err_set(
        err, ERR_INVALID,
        "service \"%s\" selects %zu load balancers (%s), but %zu of them (%s) have "
        "AllowServicePlacement set to false and the service is not using any of them, %zu of "
        "them (%s) do not match the service label selector, and %zu of them (%s) do not match "
        "the service namespace selector",
        v->service->key, v->selected.n, joined(a, &v->selected), v->no_placement.n,
        joined(a, &v->no_placement), v->wrong_labels.n, joined(a, &v->wrong_labels),
        v->wrong_namespace.n, joined(a, &v->wrong_namespace));
}

/* Configurations named by the annotation, or all. */
static int select_configs(struct sieve *v, bool *selected, struct err *err)
{
    const struct azure_config *c = v->placement->naming->config;
    const struct azure_service *s = v->service;
    for (size_t i = 0; i < c->n_lbs; i++) {
        selected[i] = s->n_configurations == 0 ||
                      has_name(s->configurations, s->n_configurations, c->lbs[i].name);
        if (selected[i]) {
            v->selected.items[v->selected.n++] = c->lbs[i].name;
        }
    }
    if (v->selected.n > 0) {
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID,
                   "service \"%s\" selects %zu load balancers by annotation, but none of them is "
                   "defined in cloud provider configuration",
                   service_name(s), s->n_configurations);
}

static bool has_selector(const struct azure_lb_config *c)
{
    return c->services.given || c->services.n > 0 || c->namespaces.given || c->namespaces.n > 0;
}

/* Those that passed; ones without selectors only when no selector matched. */
static int collect(const struct sieve *v, const bool *passed, const char *const **ret,
                   size_t *ret_n, struct err *err)
{
    const struct azure_config *c = v->placement->naming->config;
    struct names out = names_new(v->arena, c->n_lbs);
    size_t n_passed = 0;
    for (size_t i = 0; i < c->n_lbs; i++) {
        n_passed += passed[i];
        if (passed[i] && (!v->selector_matched || has_selector(&c->lbs[i]))) {
            out.items[out.n++] = c->lbs[i].name;
        }
    }
    if (n_passed == 0) {
        return none_left(v, err);
    }
    if (out.n == 0) {
        return err_set(err, ERR_INVALID,
                       "service \"%s\": no load balancer is left: one selector of a load balancer "
                       "matches but the other does not (%s), and those without selectors do not "
                       "count then",
                       v->service->key, joined(v->arena, &v->wrong_namespace));
    }
    *ret = out.items;
    *ret_n = out.n;
    return ERR_OK;
}

int azure_place_eligible(struct arena *a, const struct azure_placement *p,
                         const struct azure_service *s, const char *const **ret, size_t *ret_n,
                         struct err *err)
{
    size_t n = p->naming->config->n_lbs;
    bool *passed = ARENA_ARRAY(a, bool, n);
    struct sieve v = {.arena = a,
                      .placement = p,
                      .service = s,
                      .selected = names_new(a, n),
                      .no_placement = names_new(a, n),
                      .wrong_labels = names_new(a, n),
                      .wrong_namespace = names_new(a, n)};
    int rc = select_configs(&v, passed, err);
    for (size_t i = n; i > 0 && rc == ERR_OK; i--) {
        if (passed[i - 1]) {
            rc = sift(&v, &p->naming->config->lbs[i - 1], &passed[i - 1], err);
        }
    }
    return rc == ERR_OK ? collect(&v, passed, ret, ret_n, err) : rc;
}

/* ---- where it is ----------------------------------------------------------------------------- */

bool azure_service_pins_ip(const struct azure_service *s)
{
    return s->n_lb_ips > 0 || s->pip_name[AZURE_IPV4] != NULL || s->pip_name[AZURE_IPV6] != NULL;
}

static bool owns_frontend(const struct azure_service *s, struct json_object *frontend)
{
    return str_has_prefix(azure_doc_name(frontend), s->base);
}

static bool has_private_ip(const struct azure_service *s, struct json_object *frontend)
{
    const char *ip = azure_prop_str(frontend, "privateIPAddress");
    return ip != NULL && has_name(s->lb_ips, s->n_lb_ips, ip);
}

/* The base name of the first balancer of that kind with a frontend of which `test` holds; "" when
 * there is none. */
static const char *lb_with_frontend(struct arena *a, const struct azure_placement *p,
                                    const struct azure_service *s, bool internal,
                                    bool (*test)(const struct azure_service *,
                                                 struct json_object *))
{
    for (size_t i = 0; i < p->lbs.n; i++) {
        struct json_object *lb = p->lbs.items[i];
        struct json_object *frontend;
        if (azure_lb_is_internal(azure_doc_name(lb)) != internal) {
            continue;
        }
        AZURE_EACH (frontend, azure_array(lb, "frontendIPConfigurations")) {
            if (test(s, frontend)) {
                return lower_base(a, lb);
            }
        }
    }
    return "";
}

/* The balancer that a public IP is attached to; "" when there is none, or it
 * is another cluster's. */
static const char *lb_of_pip(struct arena *a, const struct azure_naming *n, struct json_object *pip)
{
    struct json_object *tags = json_member(pip, "tags");
    const char *cluster = json_str(tags, CLUSTER_TAG);
    const char *frontend = azure_ref(pip, "ipConfiguration");
    cluster = str_nonnull(cluster != NULL ? cluster : json_str(tags, LEGACY_CLUSTER_TAG));
    if (frontend == NULL || (cluster[0] != '\0' && !azure_eq(cluster, n->cluster))) {
        return "";
    }
    return str_nonnull(azure_id_part(a, frontend, "loadBalancers"));
}

static int pip_by_ip(struct arena *a, const struct azure_placement *p,
                     const struct azure_service *s, const char *ip, struct json_object **ret,
                     struct err *err)
{
    switch (azure_public_ip_candidate(ip)) {
    case AZURE_IP_NON_PUBLIC:
        return err_set(err, ERR_INVALID,
                       "external Service \"%s\" cannot use non-public LoadBalancer IP \"%s\"; use "
                       "an internal LoadBalancer annotation or a valid Azure Public IP address",
                       s->key, ip);
    case AZURE_IP_INVALID:
        return err_set(err, ERR_INVALID,
                       "external Service \"%s\" has invalid LoadBalancer IP \"%s\"", s->key, ip);
    case AZURE_IP_OK:
        break;
    }
    *ret = azure_pip_by_ip(a, &p->pips, s->pip_group, ip);
    if (*ret == NULL) {
        return err_set(err, ERR_NOT_FOUND,
                       "cannot find public IP with IP address %s in resource group %s", ip,
                       s->pip_group);
    }
    return ERR_OK;
}

static int lb_by_public_ip(struct arena *a, const struct azure_placement *p,
                           const struct azure_service *s, const char **ret, struct err *err)
{
    struct json_object *pip = NULL;
    for (size_t i = 0; i < s->n_lb_ips; i++) {
        int rc = pip_by_ip(a, p, s, s->lb_ips[i], &pip, err);
        if (rc != ERR_OK) {
            (void)err_prefix(err,
                             "look up load balancer by public IP for service \"%s\": find public "
                             "IP by address \"%s\"",
                             service_name(s), s->lb_ips[i]);
            return rc;
        }
        *ret = lb_of_pip(a, p->naming, pip);
        if (*ret[0] != '\0') {
            return ERR_OK;
        }
    }
    for (size_t f = 0; f < AZURE_FAMILIES; f++) {
        if (s->pip_name[f] == NULL) {
            continue;
        }
        pip = azure_pip_by_name(a, &p->pips, s->pip_group, s->pip_name[f]);
        if (pip == NULL) {
            return err_set(err, ERR_NOT_FOUND,
                           "look up load balancer by public IP for service \"%s\": find public IP "
                           "by name \"%s\": failed to find PIP %s in resource group %s",
                           service_name(s), s->pip_name[f], s->pip_name[f], s->pip_group);
        }
        *ret = lb_of_pip(a, p->naming, pip);
        if (*ret[0] != '\0') {
            return ERR_OK;
        }
    }
    *ret = "";
    return ERR_OK;
}

static const char *active_lb(const struct azure_placement *p, const struct azure_service *s)
{
    const struct azure_config *c = p->naming->config;
    for (size_t i = 0; i < c->n_lbs; i++) {
        if (is_active(p, c->lbs[i].name, s)) {
            return c->lbs[i].name;
        }
    }
    return "";
}

/* The base name of the balancer that the Service uses or must use; "" when it is free. */
static int current_lb(struct arena *a, const struct azure_placement *p,
                      const struct azure_service *s, bool want, const char **ret, struct err *err)
{
    bool pinned = azure_service_pins_ip(s);
    *ret = active_lb(p, s);
    if (!want) {
        return ERR_OK;
    }
    if (pinned && !s->internal) {
        return lb_by_public_ip(a, p, s, ret, err);
    }
    if (pinned) {
        *ret = lb_with_frontend(a, p, s, true, has_private_ip);
        return ERR_OK;
    }
    if (s->n_configurations == 0) {
        *ret = str_or(lb_with_frontend(a, p, s, s->internal, owns_frontend), *ret);
    }
    return ERR_OK;
}

/* ---- the choice ------------------------------------------------------------------------------ */

static bool is_kind(struct json_object *lb, bool internal)
{
    return azure_lb_is_internal(azure_doc_name(lb)) == internal;
}

static struct json_object *lb_of_config(struct arena *a, const struct azure_lbs *lbs,
                                        const char *name, bool internal)
{
    for (size_t i = 0; i < lbs->n; i++) {
        if (is_kind(lbs->items[i], internal) && azure_eq(lower_base(a, lbs->items[i]), name)) {
            return lbs->items[i];
        }
    }
    return NULL;
}

/* Rules that the batch adds to the balancer of that configuration. */
static size_t coming_rules(const struct azure_placement *p, const char *name, bool internal)
{
    const struct azure_config *c = p->naming->config;
    for (size_t i = 0; p->coming != NULL && i < c->n_lbs; i++) {
        if (azure_eq(c->lbs[i].name, name)) {
            return p->coming[i][internal ? 1 : 0];
        }
    }
    return 0;
}

/* The first eligible one that stands there without rules, else the first that is not there. */
static const char *empty_lb(struct arena *a, const struct azure_placement *p,
                            const char *const *eligible, size_t n, bool internal)
{
    const char *absent = NULL;
    for (size_t i = 0; i < n; i++) {
        struct json_object *lb = lb_of_config(a, &p->lbs, eligible[i], internal);
        if (count_rules(lb) + coming_rules(p, eligible[i], internal) > 0) {
            continue;
        }
        if (lb != NULL) {
            return eligible[i];
        }
        absent = absent == NULL ? eligible[i] : absent;
    }
    return absent;
}

/* Those that exist come first, in their order; then those that the batch makes. */
static const char *fewest_rules(struct arena *a, const struct azure_placement *p,
                                const char *const *eligible, size_t n, bool internal)
{
    const char *best = NULL;
    size_t fewest = RULES_MAX;
    for (size_t i = 0; i < p->lbs.n; i++) {
        struct json_object *lb = p->lbs.items[i];
        const char *base = lower_base(a, lb);
        size_t rules = count_rules(lb) + coming_rules(p, base, internal);
        if (is_kind(lb, internal) && has_name(eligible, n, base) && rules < fewest) {
            fewest = rules;
            best = base;
        }
    }
    for (size_t i = 0; i < n; i++) {
        size_t rules = coming_rules(p, eligible[i], internal);
        if (lb_of_config(a, &p->lbs, eligible[i], internal) == NULL && rules < fewest) {
            fewest = rules;
            best = eligible[i];
        }
    }
    return best;
}

static int check_conflict(const struct azure_service *s, struct err *err)
{
    if (s->n_configurations == 0 || !azure_service_pins_ip(s)) {
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID,
                   "service \"%s\" has conflicting load balancer configuration: both a load "
                   "balancer name (" CONFIGURATIONS ") and an IP address are specified. Either "
                   "remove the annotation to stay where the address is, or remove the address to "
                   "move to the named load balancer (external services only)",
                   service_name(s));
}

static int check_pinned(struct arena *a, const struct azure_service *s, const char *current,
                        const char *const *eligible, size_t n, struct err *err)
{
    if (current[0] == '\0' || has_name(eligible, n, current)) {
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID,
                   "service \"%s\" specifies an IP that resides on load balancer \"%s\", which is "
                   "not in the eligible set [%s]; check or adjust the load balancer eligibility "
                   "configuration (ServiceLabelSelector, ServiceNamespaceSelector, or "
                   "AllowServicePlacement)",
                   service_name(s), current, str_join(a, eligible, n, " "));
}

int azure_place(struct arena *a, const struct azure_placement *p, const struct azure_service *s,
                bool want, const char **ret, struct err *err)
{
    const char *const *eligible = NULL;
    const char *current = "";
    size_t n = 0;
    int rc = want ? check_conflict(s, err) : ERR_OK;
    if (rc == ERR_OK) {
        rc = azure_place_eligible(a, p, s, &eligible, &n, err);
    }
    if (rc == ERR_OK) {
        rc = current_lb(a, p, s, want, &current, err);
    }
    if (rc == ERR_OK && want && azure_service_pins_ip(s)) {
        rc = check_pinned(a, s, current, eligible, n, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    const char *name = has_name(eligible, n, current) ? current : NULL;
    if (name == NULL) {
        name = empty_lb(a, p, eligible, n, s->internal);
    }
    if (name == NULL) {
        name = fewest_rules(a, p, eligible, n, s->internal);
    }
    if (name == NULL) {
        return err_set(err, ERR_QUOTA,
                       "service \"%s\": all eligible load balancers (%s) have %d rules or more",
                       s->key, str_join(a, eligible, n, ", "), RULES_MAX);
    }
    *ret = s->internal ? arena_printf(a, "%s-internal", name) : name;
    return ERR_OK;
}
