/* SPDX-License-Identifier: Apache-2.0 */
/* azure_select_rules.c: names of balancers, Basic selection, and what is managed
 * (azure_select_rules.h).
 *
 * Several Standard balancers are the matter of azure_place_rules.c.  Pure; docs/spec/azure.md 5.1,
 * 5.3, 5.4, 5.7. */
#include "providers/azure/lb/azure_select_rules.h"

#include "common/base/str.h"
#include "providers/azure/model/azure_doc.h"

#define AUTO_MODE "__auto__"

/* ---- names ----------------------------------------------------------------------------------- */

static const char *with_kind(struct arena *a, const char *base, bool internal)
{
    return internal ? arena_printf(a, "%s-internal", base) : base;
}

const char *azure_lb_name(struct arena *a, const struct azure_naming *n, const char *vm_set,
                          bool internal)
{
    const struct azure_config *c = n->config;
    bool single = c->standard_sku && !azure_config_is_multi_slb(c);
    bool primary = azure_eq(vm_set, azure_config_primary_vm_set(c));
    return with_kind(a, single || primary ? str_or(c->lb_name, n->cluster) : vm_set, internal);
}

static const char *lower_base(struct arena *a, const char *lb)
{
    return str_lower(a, azure_lb_base(a, lb));
}

const char *azure_lb_vm_set(struct arena *a, const struct azure_naming *n, const char *lb)
{
    const char *base = lower_base(a, lb);
    return azure_eq(base, n->cluster) ? azure_config_primary_vm_set(n->config) : base;
}

const char *azure_vm_set_lb(const struct azure_naming *n, const char *vm_set)
{
    return str_eq(vm_set, azure_config_primary_vm_set(n->config)) ? n->cluster : vm_set;
}

/* ---- moving and managing --------------------------------------------------------------------- */

bool azure_mode_is_auto(const struct azure_service *s)
{
    return s->mode != NULL && azure_eq(s->mode, AUTO_MODE);
}

/* The names of the mode annotation: upstream takes one, its predecessor a list. */
static char **mode_names(struct arena *a, const struct azure_service *s, size_t *ret_n)
{
    char **names = str_split(a, s->mode, ',', ret_n);
    for (size_t i = 0; i < *ret_n; i++) {
        names[i] = str_trim_unicode(a, names[i]);
    }
    return names;
}

/* Does a Service that names `vm_set` stay on the balancer of that base name (lower case)? */
static bool may_stay(const struct azure_naming *n, const char *vm_set, const char *base)
{
    bool primary = azure_eq(vm_set, azure_config_primary_vm_set(n->config));
    if (azure_eq(base, vm_set)) {
        return azure_eq(base, n->cluster) || !primary; /* the set has become the primary one */
    }
    return primary && azure_eq(base, n->cluster);
}

bool azure_lb_should_change(struct arena *a, const struct azure_naming *n,
                            const struct azure_service *s, const char *current,
                            const char *expected)
{
    if (n->config->standard_sku) {
        return !azure_eq(current, expected);
    }
    if (s->mode == NULL || azure_mode_is_auto(s)) {
        return false;
    }
    size_t n_names;
    char **names = mode_names(a, s, &n_names);
    const char *base = lower_base(a, current);
    for (size_t i = 0; i < n_names; i++) {
        if (may_stay(n, names[i], base)) {
            return false;
        }
    }
    return true;
}

bool azure_lb_is_preconfigured(const struct azure_config *c, bool internal)
{
    return str_eq(c->preconfigured_pools, "all") ||
           str_eq(c->preconfigured_pools, internal ? "internal" : "external");
}

static bool is_managed(const struct azure_naming *n, const char *base,
                       const struct azure_vm_sets *agent_pools)
{
    const struct azure_config *c = n->config;
    if (azure_eq(base, n->cluster) || (!str_is_empty(c->lb_name) && azure_eq(base, c->lb_name))) {
        return true;
    }
    for (size_t i = 0; !c->standard_sku && i < agent_pools->n; i++) {
        if (azure_eq(base, azure_vm_set_lb(n, agent_pools->names[i]))) {
            return true;
        }
    }
    for (size_t i = 0; azure_config_is_multi_slb(c) && i < c->n_lbs; i++) {
        if (azure_eq(base, c->lbs[i].name)) {
            return true;
        }
    }
    return false;
}

bool azure_lb_is_managed(struct arena *a, const struct azure_naming *n, const char *name)
{
    return !n->config->standard_sku || is_managed(n, azure_lb_base(a, name), NULL);
}

struct azure_lbs azure_lbs_managed(struct arena *a, const struct azure_naming *n,
                                   const struct azure_lbs *lbs,
                                   const struct azure_vm_sets *agent_pools)
{
    if (!n->config->standard_sku && agent_pools == NULL) {
        return *lbs;
    }
    struct json_object **items = ARENA_ARRAY(a, struct json_object *, lbs->n);
    size_t used = 0;
    for (size_t i = 0; i < lbs->n; i++) {
        if (is_managed(n, azure_lb_base(a, azure_doc_name(lbs->items[i])), agent_pools)) {
            items[used++] = lbs->items[i];
        }
    }
    return (struct azure_lbs){.items = items, .n = used};
}

/* ---- Basic ----------------------------------------------------------------------------------- */

static const char *vm_set_by_name(const struct azure_vm_sets *sets, const char *name)
{
    for (size_t i = 0; i < sets->n; i++) {
        if (azure_eq(sets->names[i], name)) {
            return sets->names[i];
        }
    }
    return NULL;
}

int azure_vm_set_candidates(struct arena *a, const struct azure_naming *n,
                            const struct azure_service *s, const struct azure_vm_sets *agent_pools,
                            struct azure_vm_sets *ret, struct err *err)
{
    if (n->config->standard_sku || s->mode == NULL) {
        const char **primary = ARENA_ARRAY(a, const char *, 1);
        primary[0] = azure_config_primary_vm_set(n->config);
        *ret = (struct azure_vm_sets){.names = primary, .n = 1};
        return ERR_OK;
    }
    if (agent_pools->n == 0) {
        return err_set(err, ERR_NOT_FOUND, "no VM set was found for the nodes of the cluster");
    }
    if (azure_mode_is_auto(s)) {
        *ret = *agent_pools;
        return ERR_OK;
    }
    size_t n_names;
    char **names = mode_names(a, s, &n_names);
    const char **found = ARENA_ARRAY(a, const char *, n_names);
    for (size_t i = 0; i < n_names; i++) {
        found[i] = vm_set_by_name(agent_pools, names[i]);
        if (found[i] == NULL) {
            return err_set(err, ERR_NOT_FOUND,
                           "annotation %sazure-load-balancer-mode: \"%s\": want " AUTO_MODE
                           " or one of these VM sets: %s",
                           AZURE_ANNOTATION_PREFIX, names[i],
                           str_join(a, agent_pools->names, agent_pools->n, ", "));
        }
    }
    *ret = (struct azure_vm_sets){.names = found, .n = n_names};
    return ERR_OK;
}

/* Exact, and the last of that name, as upstream's map has it. */
static struct json_object *lb_by_exact_name(const struct azure_lbs *lbs, const char *name)
{
    for (size_t i = lbs->n; i > 0; i--) {
        if (str_eq(azure_doc_name(lbs->items[i - 1]), name)) {
            return lbs->items[i - 1];
        }
    }
    return NULL;
}

int azure_select_basic(struct arena *a, const struct azure_naming *n, const struct azure_service *s,
                       const struct azure_lbs *lbs, const struct azure_vm_sets *candidates,
                       const char **ret, bool *ret_exists, struct err *err)
{
    const char *best = NULL;
    size_t fewest = 0;
    for (size_t i = 0; i < candidates->n; i++) {
        const char *name = azure_lb_name(a, n, candidates->names[i], s->internal);
        struct json_object *lb = lb_by_exact_name(lbs, name);
        size_t rules = json_len(azure_array(lb, "loadBalancingRules"));
        if (lb == NULL) {
            *ret = name;
            *ret_exists = false;
            return ERR_OK;
        }
        if (best == NULL || rules < fewest) {
            best = name;
            fewest = rules;
        }
    }
    const char *sets = str_join(a, candidates->names, candidates->n, ", ");
    if (best == NULL) {
        return err_set(err, ERR_NOT_FOUND, "no load balancer for the VM sets (%s)", sets);
    }
    if (n->config->max_rules > 0 && fewest >= (size_t)n->config->max_rules) {
        return err_set(err, ERR_QUOTA,
                       "all load balancers of the VM sets (%s) have reached the limit of %d rules "
                       "(maximumLoadBalancerRuleCount)",
                       sets, n->config->max_rules);
    }
    *ret = best;
    *ret_exists = true;
    return ERR_OK;
}

/* ---- whatever the SKU ------------------------------------------------------------------------ */
