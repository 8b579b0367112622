/* SPDX-License-Identifier: Apache-2.0 */
/* azure_owned_rules.c: see azure_owned_rules.h. */
#include "providers/azure/azure_owned_rules.h"

#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/pip/azure_pip_tags.h"

#include <string.h>

#define BASE_BYTES 32 /* "a" and 31 digits of a uid */
#define MANAGED    "k8s-azure-lb"

void azure_owned_init(struct azure_owned_list *l, struct arena *a,
                      const struct azure_naming *naming)
{
    *l = (struct azure_owned_list){.a = a,
                                   .naming = naming,
                                   .bases = map_new(NULL),
                                   .keys = map_new(NULL),
                                   .pips = map_new(NULL)};
    inventory_init(&l->inv, a);
}

void azure_owned_done(struct azure_owned_list *l)
{
    map_free(l->bases);
    map_free(l->keys);
    map_free(l->pips);
}

void azure_owned_count(struct azure_owned_list *l, const struct tt_service *svc)
{
    map_set(l->bases, azure_base_name(l->a, svc), l);
    map_set(l->keys, azure_service_name(l->a, svc), l);
}

/* The base name that `name` begins with, NULL: none. */
static const char *base_of(struct arena *a, const char *name)
{
    if (strnlen(name, BASE_BYTES) < BASE_BYTES ||
        (name[BASE_BYTES] != '\0' && name[BASE_BYTES] != '-') ||
        !inventory_is_lb_name(name, BASE_BYTES)) {
        return NULL;
    }
    return arena_strndup(a, name, BASE_BYTES);
}

/* ---- documents ------------------------------------------------------------------------------- */

/* The base name in the name that is generated for a public IP, or for one that stands in
 * (azure_renew_rules.h). */
static const char *base_of_pip(const struct azure_owned_list *l, const char *name)
{
    const char *prefix = arena_printf(l->a, "%s-", l->naming->cluster);
    const char *base = azure_has_prefix(name, prefix) ? base_of(l->a, name + strlen(prefix)) : NULL;
    return base == NULL && strstr(name, "-interim-") != NULL ? base_of(l->a, name) : base;
}

/* It hangs on a frontend of a Service that is gone, and the tag names one Service: of that name
 * there may be another one by now, with another UID. */
static bool is_of_predecessor(const struct azure_owned_list *l, struct json_object *pip,
                              size_t n_keys)
{
    const char *holder = azure_ref(pip, "ipConfiguration");
    const char *base = holder != NULL ? base_of(l->a, azure_id_last(holder)) : NULL;
    return n_keys == 1 && base != NULL && !map_has(l->bases, base);
}

/* One that we made: by its generated name, the cluster's tag, and a Service's.  One without tags
 * is recognized by its name alone; it may be that of a cluster of the same name. */
void azure_owned_pip(struct azure_owned_list *l, struct json_object *pip)
{
    struct json_object *tags = json_member(pip, "tags");
    const char *name = azure_doc_name(pip);
    const char *cluster = azure_pip_tag_cluster(tags);
    const char *base = base_of_pip(l, name);
    size_t n = 0;
    const char **keys = azure_pip_services(l->a, tags, &n);
    if (n > 0) {
        map_set(l->pips, str_lower(l->a, azure_doc_id(pip)), arena_strdup(l->a, keys[0]));
    }
    if (base == NULL || (*cluster != '\0' && !azure_eq(cluster, l->naming->cluster))) {
        return;
    }
    struct inventory_item item = {.kind = AZURE_OWNED_PIP,
                                  .name = arena_strdup(l->a, name),
                                  .id = arena_strdup(l->a, azure_doc_id(pip)),
                                  .unit = base,
                                  .key = n > 0 ? arena_strdup(l->a, keys[0]) : NULL,
                                  .used = map_has(l->bases, base),
                                  .unsure = *cluster == '\0'};
    for (size_t i = 0; i < n && !is_of_predecessor(l, pip, n); i++) {
        item.used = item.used || map_has(l->keys, keys[i]);
    }
    inventory_put(&l->inv, item);
}

static bool is_ours(const struct azure_owned_list *l, struct json_object *lb)
{
    struct json_object *pools = azure_array(lb, "backendAddressPools");
    return azure_find(pools, azure_pool_name(l->a, l->naming, AZURE_IPV4)) != NULL ||
           azure_find(pools, azure_pool_name(l->a, l->naming, AZURE_IPV6)) != NULL;
}

/* Owner of the public IP of a frontend, by its tag. */
static const char *key_of_frontend(const struct azure_owned_list *l, struct json_object *frontend)
{
    const char *pip = azure_ref(frontend, "publicIPAddress");
    return pip == NULL ? NULL : map_get(l->pips, str_lower(l->a, pip));
}

static bool refers(struct json_object *rule, const char *frontend)
{
    bool does = azure_id_eq(azure_ref(rule, "frontendIPConfiguration"), frontend);
    struct json_object *o;
    AZURE_EACH (o, azure_array(rule, "frontendIPConfigurations")) {
        does = does || azure_id_eq(azure_doc_id(o), frontend);
    }
    return does;
}

/* Does a rule stand on it that is another Service's, or was made by hand?  A Service that shares
 * an address is served by the frontend of the one that was there first, also when that one is
 * gone. */
static bool serves_others(const struct azure_owned_list *l, struct json_object *lb,
                          struct json_object *frontend)
{
    static const char *const arrays[] = {"loadBalancingRules", "inboundNatRules", "outboundRules"};
    bool serves = false;
    for (size_t k = 0; k < ARRAY_LEN(arrays); k++) {
        struct json_object *o;
        AZURE_EACH (o, azure_array(lb, arrays[k])) {
            const char *base = base_of(l->a, azure_doc_name(o));
            serves = serves || (refers(o, azure_doc_id(frontend)) &&
                                (base == NULL || map_has(l->bases, base)));
        }
    }
    return serves;
}

void azure_owned_lb(struct azure_owned_list *l, struct json_object *lb)
{
    static const char *const arrays[] = {"frontendIPConfigurations", "loadBalancingRules",
                                         "probes"};
    if (!is_ours(l, lb)) {
        return;
    }
    for (size_t k = 0; k < ARRAY_LEN(arrays); k++) {
        struct json_object *o;
        AZURE_EACH (o, azure_array(lb, arrays[k])) {
            const char *base = base_of(l->a, azure_doc_name(o));
            if (base == NULL) {
                continue;
            }
            bool is_frontend = k == AZURE_OWNED_FRONTEND;
            bool used = map_has(l->bases, base) || (is_frontend && serves_others(l, lb, o));
            inventory_put(&l->inv, (struct inventory_item){
                                       .kind = (unsigned)k,
                                       .name = arena_strdup(l->a, azure_doc_name(o)),
                                       .place = arena_strdup(l->a, azure_doc_name(lb)),
                                       .id = arena_strdup(l->a, azure_doc_id(lb)),
                                       .unit = base,
                                       .key = is_frontend ? key_of_frontend(l, o) : NULL,
                                       .used = used,
                                   });
        }
    }
}

void azure_owned_nsg(struct azure_owned_list *l, struct json_object *nsg)
{
    struct json_object *o;
    AZURE_EACH (o, azure_array(nsg, "securityRules")) {
        const char *name = azure_doc_name(o);
        const char *base = base_of(l->a, name);
        bool managed = str_has_prefix(name, MANAGED);
        if (base == NULL && !managed) {
            continue;
        }
        bool used = managed ? map_size(l->bases) > 0 : map_has(l->bases, base);
        /* The group may be that of several clusters, and rules do not say whose they are. */
        inventory_put(&l->inv,
                      (struct inventory_item){.kind = AZURE_OWNED_SECURITY,
                                              .name = arena_strdup(l->a, name),
                                              .place = arena_strdup(l->a, azure_doc_name(nsg)),
                                              .id = arena_strdup(l->a, azure_doc_id(nsg)),
                                              .unit = str_nonnull(base),
                                              .used = used,
                                              .unsure = !used});
    }
}

/* ---- all of them ----------------------------------------------------------------------------- */

void azure_owned_settle(struct azure_owned_list *l)
{
    struct inventory_unit u;
    inventory_settle(&l->inv);
    for (size_t at = 0; inventory_next(&l->inv, &at, &u);) {
        bool sure = false; /* one of them is in a balancer of ours, or tagged */
        for (size_t i = 0; i < u.n; i++) {
            sure = sure || !u.items[i]->unsure;
        }
        for (size_t i = 0; i < u.n; i++) {
            u.items[i]->unsure = !sure;
        }
    }
}

/* ---- words ----------------------------------------------------------------------------------- */

const struct inventory_words azure_owned_words[AZURE_OWNED_KINDS] = {
    [AZURE_OWNED_FRONTEND] = {"frontend", "free"},
    [AZURE_OWNED_RULE] = {"load-balancing rule", "billed by the hour"},
    [AZURE_OWNED_PROBE] = {"health probe", "free"},
    [AZURE_OWNED_PIP] = {"public IP", "billed by the hour"},
    [AZURE_OWNED_SECURITY] = {"security rule", "free"},
};
static const struct {
    const char *az;
    const char *place; /* flag that names what it is a part of; NULL: it stands alone */
} commands[AZURE_OWNED_KINDS] = {
    [AZURE_OWNED_FRONTEND] = {"lb frontend-ip", "--lb-name"},
    [AZURE_OWNED_RULE] = {"lb rule", "--lb-name"},
    [AZURE_OWNED_PROBE] = {"lb probe", "--lb-name"},
    [AZURE_OWNED_PIP] = {"public-ip", NULL},
    [AZURE_OWNED_SECURITY] = {"nsg rule", "--nsg-name"},
};

const char *azure_owned_command(struct arena *a, const struct inventory_item *item)
{
    const char *flag = commands[item->kind].place;
    const char *place = flag == NULL ? "" : arena_printf(a, " %s %s", flag, item->place);
    return arena_printf(a, "az network %s delete --resource-group %s%s --name %s",
                        commands[item->kind].az, str_nonnull(azure_id_group(a, item->id)), place,
                        item->name);
}

/* One that has the name of a Service by now differs from that by its UID (azure_service_is()). */
const struct tt_service *azure_owned_service(const struct azure_owned_list *l,
                                             const struct inventory_item *item)
{
    return item->unit[0] == '\0'
               ? NULL
               : inventory_service(l->a, item->key, inventory_uid_of(l->a, item->unit));
}
