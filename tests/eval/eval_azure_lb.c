/* SPDX-License-Identifier: Apache-2.0 */
/* eval_azure_lb.c: the functions azure.rules, azure.rules_merge, azure.frontend_* of trimtab-eval.
 *
 * Each asks the very function that a sync asks; only inputs and outputs are translated here. */
#include "tests/eval/eval_azure.h"

#include "common/base/str.h"
#include "providers/azure/lb/azure_frontend_rules.h"
#include "providers/azure/lb/azure_lb_index.h"
#include "providers/azure/lb/azure_lb_merge_rules.h"
#include "providers/azure/model/azure_doc.h"

static int fragment(struct arena *a, const struct azure_naming *n, const struct azure_service *s,
                    const char *lb, enum azure_family f, struct azure_fragment *ret,
                    struct err *err)
{
    const struct azure_fragment_ask ask = {
        .naming = n,
        .service = s,
        .lb = lb,
        .family = f,
        .frontend_id = azure_frontend_id(a, n, lb, azure_frontend_name(a, s->in, f)),
        .pool_id = azure_pool_id(a, n, lb, azure_pool_name(a, n, f)),
    };
    return azure_lb_desired(a, &ask, ret, err);
}

static struct json_object *array_of(struct json_object *const *items, size_t n)
{
    struct json_object *array = json_object_new_array();
    for (size_t i = 0; i < n; i++) {
        (void)json_object_array_add(array, json_object_get(items[i]));
    }
    return array;
}

static int run_rules(struct arena *a, struct json_object *in, struct json_object **ret,
                     struct err *err)
{
    const struct azure_naming *n;
    const struct azure_service *s;
    struct azure_fragment f;
    int rc = eval_azure_service(a, in, &n, &s, err);
    if (rc == ERR_OK) {
        bool six = json_bool(in, "ipv6", false);
        rc = fragment(a, n, s, str_nonnull(json_str(in, "lbName")), six ? AZURE_IPV6 : AZURE_IPV4,
                      &f, err);
    }
    if (rc == ERR_OK) {
        *ret = json_object_new_object();
        json_add(*ret, "probes", array_of(f.probes, f.n_probes));
        json_add(*ret, "rules", array_of(f.rules, f.n_rules));
    }
    return rc;
}

static struct json_object *copy_or_empty(struct json_object *array)
{
    return array != NULL ? json_copy(array) : json_object_new_array();
}

static int run_merge(struct arena *a, struct json_object *in, struct json_object **ret,
                     struct err *err)
{
    const struct azure_naming *n;
    const struct azure_service *s;
    struct azure_fragment fragments[AZURE_FAMILIES];
    struct json_object *lb = azure_copy(a, json_member(in, "loadBalancer"));
    int rc = eval_azure_service(a, in, &n, &s, err);
    if (rc == ERR_OK && !azure_doc_is_sound(lb)) {
        rc = err_set(err, ERR_INVALID, "loadBalancer: no resource");
    }
    if (rc != ERR_OK) {
        return rc;
    }
    struct azure_merge m = {
        .naming = n, .service = s, .want = json_bool(in, "want", false), .fragments = fragments};
    for (int f = 0; rc == ERR_OK && m.want && f < AZURE_FAMILIES; f++) {
        if (s->has_family[f]) {
            rc = fragment(a, n, s, azure_doc_name(lb), (enum azure_family)f,
                          &fragments[m.n_fragments++], err);
        }
    }
    if (rc == ERR_OK) {
        *ret = json_object_new_object();
        json_add_bool(*ret, "changed", azure_lb_merge(a, &m, lb));
        json_add(*ret, "probes", copy_or_empty(azure_array(lb, "probes")));
        json_add(*ret, "rules", copy_or_empty(azure_array(lb, "loadBalancingRules")));
    }
    return rc;
}

static int run_refs(struct arena *a, struct json_object *in, struct json_object **ret,
                    struct err *err)
{
    const struct azure_naming *n;
    const struct azure_service *s;
    struct json_object *lb = json_member(in, "loadBalancer");
    const char *id = str_nonnull(json_str(in, "frontendID"));
    int rc = eval_azure_service(a, in, &n, &s, err);
    if (rc == ERR_OK) {
        struct azure_elements rules = azure_lb_rules_at(a, NULL, lb, id);
        const struct azure_place at = {
            .id = id, .lb = lb, .rules = rules.items, .n_rules = rules.n};
        *ret = json_object_new_object();
        json_add_bool(*ret, "conflict", azure_frontend_check_ports_at(s, &at, NULL) != ERR_OK);
        json_add_bool(*ret, "unsafe", azure_frontend_in_use(a, s, id, lb) != NULL);
    }
    return rc;
}

static int run_owner(struct arena *a, struct json_object *in, struct json_object **ret,
                     struct err *err)
{
    const struct azure_naming *n;
    const struct azure_service *s;
    int rc = eval_azure_service(a, in, &n, &s, err);
    if (rc != ERR_OK) {
        return rc;
    }
    struct azure_pips pips = {0};
    pips.items = eval_azure_docs(a, in, "publicIPs", &pips.n);
    const struct azure_claim c = azure_frontend_claim(a, s, &pips);
    struct azure_ownership o = azure_frontend_owned_by(&c, json_member(in, "frontend"));
    *ret = json_object_new_object();
    json_add_bool(*ret, "owns", o.owns);
    json_add_bool(*ret, "primary", o.primary);
    json_add_str(*ret, "version", o.version);
    return ERR_OK;
}

const struct eval_fn eval_azure_lb[] = {
    {"azure.rules", run_rules},
    {"azure.rules_merge", run_merge},
    {"azure.frontend_refs", run_refs},
    {"azure.frontend_owner", run_owner},
    {NULL, NULL},
};
