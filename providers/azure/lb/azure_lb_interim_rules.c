/* SPDX-License-Identifier: Apache-2.0 */
/* azure_lb_interim_rules.c: see azure_lb_interim_rules.h. */
#include "providers/azure/lb/azure_lb_interim_rules.h"
#include "common/base/str.h"
#include "providers/azure/lb/azure_lb_apply_rules.h"
#include "providers/azure/model/azure_doc.h"

#include <string.h>

static bool is_at(struct json_object *rule, struct json_object *frontend)
{
    return azure_id_eq(azure_ref(rule, "frontendIPConfiguration"), azure_doc_id(frontend));
}

bool azure_lb_interim_fits(struct arena *a, const struct azure_config *c,
                           const struct azure_lb_index *ix, struct json_object *lb,
                           struct json_object *frontend, size_t rules_per_nic)
{
    struct azure_elements rules = azure_lb_rules_at(a, ix, lb, azure_doc_id(frontend));
    size_t n = 0;
    for (size_t i = 0; i < rules.n; i++) {
        if (!is_at(rules.items[i], frontend)) {
            continue;
        }
        if (!azure_prop_bool(rules.items[i], "enableFloatingIP", false)) {
            return false;
        }
        n++;
    }
    return !azure_lb_is_tight(c, lb, 1, n, rules_per_nic);
}

/* "a0123-TCP-80-IPv6" is "a0123-interim-89abcdef-IPv6-TCP-80-IPv6": 76 of the 80 characters that
 * Azure takes, at most. */
static const char *rule_name(struct arena *a, struct json_object *rule, const char *interim)
{
    const char *name = azure_doc_name(rule);
    const char *end = strstr(interim, "-interim-");
    size_t base = end != NULL ? (size_t)(end - interim) : 0;
    return arena_printf(a, "%s%s", interim, name + (strncmp(name, interim, base) == 0 ? base : 0));
}

static struct json_object *rule_copy(struct json_object *rule, const char *name,
                                     const char *frontend_id)
{
    struct json_object *o = json_copy(rule);
    struct json_object *props = azure_props_make(o);
    json_object_object_del(o, "id");
    json_object_object_del(o, "etag");
    json_object_object_del(o, "name");
    json_object_object_del(props, "provisioningState");
    json_object_object_del(props, "frontendIPConfiguration");
    json_add_str(o, "name", name);
    json_add(props, "frontendIPConfiguration", azure_ref_new(frontend_id));
    return o;
}

bool azure_lb_interim_add(struct arena *a, struct azure_lb_index *ix, struct json_object *lb,
                          struct json_object *frontend, const char *name, const char *pip_id)
{
    struct json_object *frontends = azure_array_make(lb, "frontendIPConfigurations");
    struct json_object *rules = azure_array_make(lb, "loadBalancingRules");
    const char *own = azure_doc_id(frontend);
    const char *id =
        arena_printf(a, "%.*s%s", (int)(strlen(own) - strlen(azure_id_last(own))), own, name);
    struct azure_elements at = azure_lb_rules_at(a, ix, lb, own);
    bool changed = false;
    if (azure_find(frontends, name) == NULL) {
        struct json_object *o = json_object_new_object();
        json_add_str(o, "name", name);
        json_add_str(o, "id", id);
        json_add(azure_props_make(o), "publicIPAddress", azure_ref_new(pip_id));
        (void)json_object_array_add(frontends, o);
        azure_lb_index_add(ix, AZURE_LB_FRONTENDS, o);
        changed = true;
    }
    for (size_t i = 0; i < at.n; i++) {
        const char *rule = rule_name(a, at.items[i], name);
        if (is_at(at.items[i], frontend) && azure_find(rules, rule) == NULL) {
            struct json_object *copy = rule_copy(at.items[i], rule, id);
            (void)json_object_array_add(rules, copy);
            azure_lb_index_add(ix, AZURE_LB_RULES, copy);
            changed = true;
        }
    }
    return changed;
}

bool azure_lb_is_at_former(const struct azure_service *s, struct json_object *lb,
                           struct json_object *rule)
{
    const char *id = azure_ref(rule, "frontendIPConfiguration");
    const char *name = id != NULL ? azure_id_last(id) : NULL;
    return name != NULL && azure_frontend_is_former(s, name) &&
           azure_find(azure_array(lb, "frontendIPConfigurations"), name) != NULL;
}

bool azure_lb_interim_follow(struct json_object *rule, struct json_object *const *wanted, size_t n,
                             bool *ret_changed)
{
    const char *protocol = str_nonnull(azure_prop_str(rule, "protocol"));
    int64_t port = azure_prop_int(rule, "frontendPort", 0);
    for (size_t i = 0; i < n; i++) {
        const char *probe = azure_ref(wanted[i], "probe");
        const char *had = azure_ref(rule, "probe");
        if (!azure_eq(str_nonnull(azure_prop_str(wanted[i], "protocol")), protocol) ||
            azure_prop_int(wanted[i], "frontendPort", 0) != port) {
            continue;
        }
        if (probe == NULL ? had != NULL : !azure_id_eq(probe, had)) {
            json_object_object_del(azure_props_make(rule), "probe");
            if (probe != NULL) {
                json_add(azure_props_make(rule), "probe", azure_ref_new(probe));
            }
            *ret_changed = true;
        }
        return true;
    }
    return false;
}
