/* SPDX-License-Identifier: Apache-2.0 */
/* azure_pls_rules.c: see azure_pls_rules.h.  Pure. */
#include "providers/azure/pls/azure_pls_rules.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "common/base/strset.h"
#include "providers/azure/model/azure_subnet_rules.h"
#include "providers/azure/model/azure_tags_rules.h"

#define FRONTENDS  "loadBalancerFrontendIpConfigurations"
#define IP_CONFIGS "ipConfigurations"
#define POLICIES   "privateLinkServiceNetworkPolicies"
#define NAME_MAX   80

/* ---- whose ----------------------------------------------------------------------------------- */

struct json_object *azure_pls_on(struct json_object *list, const char *frontend_id)
{
    struct json_object *o;
    AZURE_EACH (o, list) {
        struct json_object *frontends = azure_array(o, FRONTENDS);
        struct json_object *first =
            json_len(frontends) > 0 ? json_object_array_get_idx(frontends, 0) : NULL;
        if (first != NULL && azure_id_eq(azure_doc_id(first), frontend_id)) {
            return o;
        }
    }
    return NULL;
}

bool azure_pls_is_ours(struct json_object *pls, const char *cluster, const char *service)
{
    return azure_eq(azure_tag(pls, AZURE_PLS_TAG_CLUSTER), cluster) &&
           azure_eq(azure_tag(pls, AZURE_PLS_TAG_OWNER), service);
}

int azure_pls_wants(const struct azure_service *s, enum azure_family f, bool *ret, struct err *err)
{
    *ret = s->pls_create && f == AZURE_IPV4;
    if (s->pls_create && f == AZURE_IPV6 && !s->dual_stack) {
        return err_set(err, ERR_INVALID, "IPv6 is not supported for private link service");
    }
    if (*ret && !s->internal && !s->disable_floating_ip) {
        return err_set(err, ERR_INVALID,
                       "annotation %sazure-pls-create: a private link service needs an internal "
                       "load balancer, or floating IP disabled",
                       AZURE_ANNOTATION_PREFIX);
    }
    return ERR_OK;
}

static int check_owner(const struct azure_pls_ask *ask, bool *ret_share, struct err *err)
{
    const char *cluster = azure_tag(ask->existing, AZURE_PLS_TAG_CLUSTER);
    const char *owner = azure_tag(ask->existing, AZURE_PLS_TAG_OWNER);
    const char *name = azure_doc_name(ask->existing);
    if (!azure_eq(cluster, ask->naming->cluster)) {
        return err_set(err, ERR_EXISTS,
                       "private link service %s on this frontend is not managed by this cluster",
                       name);
    }
    *ret_share = !azure_eq(owner, ask->service->key);
    if (*ret_share && ask->service->pls_configured) {
        return err_set(err, ERR_EXISTS,
                       "private link service %s belongs to Service %s: only that one can configure "
                       "it",
                       name, str_or(owner, "(no owner)"));
    }
    return ERR_OK;
}

/* ---- addresses ------------------------------------------------------------------------------- */

const char *azure_pls_subnet(const struct azure_config *c, const struct azure_service *s)
{
    return s->pls_subnet != NULL ? s->pls_subnet : c->subnet_name;
}

int azure_pls_check_addresses(struct arena *a, const struct azure_service *s,
                              struct json_object *subnet, struct err *err)
{
    struct azure_texts all = azure_subnet_prefixes(a, subnet);
    for (size_t i = 0; all.n > 0 && i < s->n_pls_static_ips; i++) {
        const char *ip = s->pls_static_ips[i];
        bool reserved = azure_subnet_reserves(a, subnet, ip);
        if (!azure_subnet_has(a, subnet, ip) || reserved) {
            return err_set(err, ERR_INVALID,
                           "annotation %sazure-pls-ip-configuration-ip-address: %s %s subnet %s "
                           "(%s)",
                           AZURE_ANNOTATION_PREFIX, ip,
                           reserved ? "is reserved by Azure in" : "is not in",
                           azure_doc_name(subnet), str_join(a, all.items, all.n, ", "));
        }
    }
    return ERR_OK;
}

static const char *config_name(struct arena *a, const char *subnet, const char *pls,
                               const char *suffix)
{
    const char *stem = arena_printf(a, "%s-%s", subnet, pls);
    size_t most = NAME_MAX - strlen(suffix);
    return arena_printf(a, "%.*s%s", (int)most, stem, suffix);
}

static struct json_object *config_new(const char *name, const char *subnet_id, const char *ip,
                                      bool primary)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "name", name);
    struct json_object *p = azure_props_make(o);
    json_add_str(p, "privateIPAddress", ip);
    json_add_str(p, "privateIPAllocationMethod", ip != NULL ? "Static" : "Dynamic");
    json_add_str(p, "privateIPAddressVersion", "IPv4");
    json_add_bool(p, "primary", primary);
    json_add(p, "subnet", azure_ref_new(subnet_id));
    return o;
}

static struct json_object *configs_of(struct arena *a, const struct azure_pls_ask *ask,
                                      const char *pls)
{
    const struct azure_service *s = ask->service;
    const char *subnet = azure_pls_subnet(ask->naming->config, s);
    const char *id = azure_subnet_id(a, ask->naming, subnet);
    struct json_object *list = azure_own(a, json_object_new_array());
    for (size_t i = 0; i < s->n_pls_static_ips; i++) {
        const char *ip = s->pls_static_ips[i];
        const char *name = config_name(a, subnet, pls, arena_printf(a, "-static-%s", ip));
        (void)json_object_array_add(list, config_new(name, id, ip, str_eq(ip, s->pls_primary_ip)));
    }
    for (size_t i = 0; i + s->n_pls_static_ips < (size_t)s->pls_ip_count; i++) {
        const char *name = config_name(a, subnet, pls, arena_printf(a, "-dynamic-%zu", i));
        bool primary = i == 0 && s->n_pls_static_ips == 0;
        (void)json_object_array_add(list, config_new(name, id, NULL, primary));
    }
    return list;
}

/* Compared members of a configuration: not its name, nor an address that Azure chose. */
static const char *config_line(struct arena *a, struct json_object *o)
{
    bool is_static = azure_eq(azure_prop_str(o, "privateIPAllocationMethod"), "Static");
    const char *ip = is_static ? str_nonnull(azure_prop_str(o, "privateIPAddress")) : "dynamic";
    return str_lower(a, arena_printf(a, "%s %s %d", str_nonnull(azure_ref(o, "subnet")), ip,
                                     azure_prop_bool(o, "primary", false)));
}

static int compare(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static bool same_lines(const char **x, size_t n, const char **y, size_t m)
{
    bool same = n == m;
    if (same && n > 0) {
        qsort(x, n, sizeof(*x), compare);
        qsort(y, m, sizeof(*y), compare);
    }
    for (size_t i = 0; same && i < n; i++) {
        same = str_eq(x[i], y[i]);
    }
    return same;
}

static bool same_configs(struct arena *a, struct json_object *x, struct json_object *y)
{
    const char **lines[2] = {ARENA_ARRAY(a, const char *, json_len(x) + 1),
                             ARENA_ARRAY(a, const char *, json_len(y) + 1)};
    struct json_object *o;
    AZURE_EACH (o, x) {
        lines[0][o_i] = config_line(a, o);
    }
    AZURE_EACH (o, y) {
        lines[1][o_i] = config_line(a, o);
    }
    return same_lines(lines[0], json_len(x), lines[1], json_len(y));
}

/* ---- the rest -------------------------------------------------------------------------------- */

/* Lists are compared as multisets; one that is absent is empty. */
static bool put_texts(struct arena *a, struct json_object *o, const char *name,
                      const char *const *items, size_t n)
{
    struct json_object *old = json_member(o, name);
    const char **have = ARENA_ARRAY(a, const char *, json_len(old) + 1);
    const char **want = ARENA_ARRAY(a, const char *, n + 1);
    for (size_t i = 0; i < json_len(old); i++) {
        have[i] = str_nonnull(json_object_get_string(json_object_array_get_idx(old, i)));
    }
    for (size_t i = 0; i < n; i++) {
        want[i] = items[i];
    }
    if (same_lines(have, json_len(old), want, n)) {
        return false;
    }
    json_add(o, name, json_strs(items, n));
    return true;
}

static bool put_subscriptions(struct arena *a, struct json_object *p, const char *name,
                              const char *const *items, size_t n)
{
    struct json_object *holder = json_member(p, name);
    if (holder == NULL && n == 0) {
        return false;
    }
    if (holder == NULL) {
        json_add(p, name, json_object_new_object());
    }
    return put_texts(a, json_member(p, name), "subscriptions", items, n);
}

static bool put_properties(struct arena *a, const struct azure_pls_ask *ask,
                           struct json_object *doc)
{
    const struct azure_service *s = ask->service;
    struct json_object *p = azure_props_make(doc);
    struct json_object *configs = configs_of(a, ask, azure_doc_name(doc));
    bool changed = azure_eq(azure_prop_str(doc, "provisioningState"), "Failed");
    if (azure_array(doc, FRONTENDS) == NULL) {
        (void)json_object_array_add(azure_array_make(doc, FRONTENDS),
                                    azure_ref_new(ask->frontend_id));
        changed = true;
    }
    if (!same_configs(a, azure_array(doc, IP_CONFIGS), configs)) {
        json_add(p, IP_CONFIGS, json_object_get(configs));
        changed = true;
    }
    if (azure_prop_bool(doc, "enableProxyProtocol", false) != s->pls_proxy_protocol) {
        json_add_bool(p, "enableProxyProtocol", s->pls_proxy_protocol);
        changed = true;
    }
    changed = put_texts(a, p, "fqdns", s->pls_fqdns, s->n_pls_fqdns) || changed;
    changed =
        put_subscriptions(a, p, "visibility", s->pls_visibility, s->n_pls_visibility) || changed;
    return put_subscriptions(a, p, "autoApproval", s->pls_auto_approval, s->n_pls_auto_approval) ||
           changed;
}

static bool put_tags(struct arena *a, const struct azure_pls_ask *ask, struct json_object *doc)
{
    const struct azure_config *c = ask->naming->config;
    struct azure_tags tags = azure_tags_parse(a, c->tags, c->tags_map, c->n_tags_map);
    azure_tags_set(a, &tags, AZURE_PLS_TAG_CLUSTER,
                   str_or(azure_tag(doc, AZURE_PLS_TAG_CLUSTER), ask->naming->cluster));
    azure_tags_set(a, &tags, AZURE_PLS_TAG_OWNER,
                   str_or(azure_tag(doc, AZURE_PLS_TAG_OWNER), ask->service->key));
    return azure_tags_apply(a, doc, &tags, c->system_tags);
}

static struct json_object *doc_new(struct arena *a, const struct azure_config *c, const char *name)
{
    struct json_object *doc = azure_own(a, json_object_new_object());
    json_add_str(doc, "name", name);
    json_add_str(doc, "location", c->location);
    if (azure_config_is_edge(c)) {
        struct json_object *where = json_object_new_object();
        json_add_str(where, "name", c->extended_location_name);
        json_add_str(where, "type", c->extended_location_type);
        json_add(doc, "extendedLocation", where);
    }
    return doc;
}

int azure_pls_plan(struct arena *a, const struct azure_pls_ask *ask, struct json_object **ret,
                   struct err *err)
{
    const char *name;
    bool share = false;
    bool exists = ask->existing != NULL;
    int rc = exists ? check_owner(ask, &share, err) : ERR_OK;
    if (rc != ERR_OK || share) {
        *ret = rc == ERR_OK ? NULL : *ret;
        return rc;
    }
    rc = azure_pls_name(a, ask->service, exists ? azure_doc_name(ask->existing) : NULL,
                        ask->frontend_name, &name, err);
    if (rc != ERR_OK) {
        return rc;
    }
    struct json_object *doc =
        exists ? azure_copy(a, ask->existing) : doc_new(a, ask->naming->config, name);
    json_object_object_del(doc, "etag"); /* written without If-Match (3.4) */
    bool changed = put_properties(a, ask, doc);
    changed = put_tags(a, ask, doc) || changed;
    *ret = changed || !exists ? doc : NULL;
    return ERR_OK;
}

struct json_object *azure_pls_subnet_edit(struct arena *a, struct json_object *subnet)
{
    if (azure_eq(azure_prop_str(subnet, POLICIES), "Disabled")) {
        return NULL;
    }
    struct json_object *doc = azure_copy(a, subnet);
    json_object_object_del(doc, "etag");
    json_add_str(azure_props_make(doc), POLICIES, "Disabled");
    return doc;
}
