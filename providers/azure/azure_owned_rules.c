/* SPDX-License-Identifier: Apache-2.0 */
/* azure_owned_rules.c: see azure_owned_rules.h. */
#include "providers/azure/azure_owned_rules.h"

#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/pip/azure_pip_tags.h"

#include <ctype.h>
#include <stdlib.h>
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
    if (strnlen(name, BASE_BYTES) < BASE_BYTES || name[0] != 'a' ||
        (name[BASE_BYTES] != '\0' && name[BASE_BYTES] != '-')) {
        return NULL;
    }
    for (size_t i = 1; i < BASE_BYTES; i++) {
        if (!isdigit((unsigned char)name[i]) && (name[i] < 'a' || name[i] > 'f')) {
            return NULL;
        }
    }
    return arena_strndup(a, name, BASE_BYTES);
}

static void push(struct azure_owned_list *l, struct azure_owned item)
{
    if (l->n == l->cap) {
        l->cap = l->cap == 0 ? 64 : l->cap * 2;
        struct azure_owned *more = ARENA_ARRAY(l->a, struct azure_owned, l->cap);
        if (l->n > 0) {
            memcpy(more, l->items, l->n * sizeof(*more));
        }
        l->items = more;
    }
    l->items[l->n++] = item;
}

/* ---- documents ----------------------------------------------------------------------------------------- */

/* The base name in the name that is generated for a public IP, or for one that stands in (azure_renew_rules.h). */
static const char *base_of_pip(const struct azure_owned_list *l, const char *name)
{
    const char *prefix = arena_printf(l->a, "%s-", l->naming->cluster);
    const char *base = azure_has_prefix(name, prefix) ? base_of(l->a, name + strlen(prefix)) : NULL;
    return base == NULL && strstr(name, "-interim-") != NULL ? base_of(l->a, name) : base;
}

/* It hangs on a frontend of a Service that is gone, and the tag names one Service: of that name there may be another one by now,
 * with another UID. */
static bool is_of_predecessor(const struct azure_owned_list *l, struct json_object *pip,
                              size_t n_keys)
{
    const char *holder = azure_ref(pip, "ipConfiguration");
    const char *base = holder != NULL ? base_of(l->a, azure_id_last(holder)) : NULL;
    return n_keys == 1 && base != NULL && !map_has(l->bases, base);
}

/* One that we made: by its generated name, the cluster's tag, and a Service's.  One without tags is told by its name alone; it
 * may be that of a cluster of the same name. */
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
    struct azure_owned item = {.kind = AZURE_OWNED_PIP,
                               .name = arena_strdup(l->a, name),
                               .id = arena_strdup(l->a, azure_doc_id(pip)),
                               .unit = base,
                               .key = n > 0 ? arena_strdup(l->a, keys[0]) : NULL,
                               .used = map_has(l->bases, base),
                               .unsure = *cluster == '\0'};
    for (size_t i = 0; i < n && !is_of_predecessor(l, pip, n); i++) {
        item.used = item.used || map_has(l->keys, keys[i]);
    }
    push(l, item);
}

static bool is_ours(const struct azure_owned_list *l, struct json_object *lb)
{
    struct json_object *pools = azure_array(lb, "backendAddressPools");
    return azure_find(pools, azure_pool_name(l->a, l->naming, AZURE_IPV4)) != NULL ||
           azure_find(pools, azure_pool_name(l->a, l->naming, AZURE_IPV6)) != NULL;
}

/* Whose the public IP of a frontend is, by its tag. */
static const char *key_of_frontend(const struct azure_owned_list *l, struct json_object *frontend)
{
    const char *pip = azure_ref(frontend, "publicIPAddress");
    return pip == NULL ? NULL : map_get(l->pips, str_lower(l->a, pip));
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
            push(l, (struct azure_owned){
                        .kind = (enum azure_owned_kind)k,
                        .name = arena_strdup(l->a, azure_doc_name(o)),
                        .in = arena_strdup(l->a, azure_doc_name(lb)),
                        .id = arena_strdup(l->a, azure_doc_id(lb)),
                        .unit = base,
                        .key = k == AZURE_OWNED_FRONTEND ? key_of_frontend(l, o) : NULL,
                        .used = map_has(l->bases, base),
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
        push(l, (struct azure_owned){.kind = AZURE_OWNED_SECURITY,
                                     .name = arena_strdup(l->a, name),
                                     .in = arena_strdup(l->a, azure_doc_name(nsg)),
                                     .id = arena_strdup(l->a, azure_doc_id(nsg)),
                                     .unit = str_nonnull(base),
                                     .used = used,
                                     .unsure = !used});
    }
}

/* ---- all of them --------------------------------------------------------------------------------------- */

static int cmp_owned(const void *x, const void *y)
{
    const struct azure_owned *a = x;
    const struct azure_owned *b = y;
    int c = strcmp(a->unit, b->unit);
    c = c != 0 ? c : (int)a->kind - (int)b->kind;
    c = c != 0 ? c : strcmp(a->name, b->name);
    return c != 0 ? c : strcmp(str_nonnull(a->in), str_nonnull(b->in));
}

void azure_owned_settle(struct azure_owned_list *l)
{
    if (l->n > 0) {
        qsort(l->items, l->n, sizeof(*l->items), cmp_owned);
    }
    for (size_t i = 0; i < l->n;) {
        size_t end = i;
        const char *key = NULL;
        bool sure = false; /* one of them is in a balancer of ours, or tagged */
        while (end < l->n && str_eq(l->items[end].unit, l->items[i].unit)) {
            key = key != NULL ? key : l->items[end].key;
            sure = sure || !l->items[end].unsure;
            end++;
        }
        bool unit = l->items[i].unit[0] != '\0';
        for (; i < end; i++) {
            l->items[i].key = unit ? key : NULL;
            l->items[i].unsure = l->items[i].unsure && !(unit && sure);
        }
    }
}

/* ---- words --------------------------------------------------------------------------------------------- */

struct words {
    const char *word;
    const char *cost;
    const char *az;
    const char *in; /* flag that names what it is a part of */
};
static const struct words words[AZURE_OWNED_KINDS] = {
    [AZURE_OWNED_FRONTEND] = {"frontend", "free", "lb frontend-ip", "--lb-name"},
    [AZURE_OWNED_RULE] = {"load-balancing rule", "billed by the hour", "lb rule", "--lb-name"},
    [AZURE_OWNED_PROBE] = {"health probe", "free", "lb probe", "--lb-name"},
    [AZURE_OWNED_PIP] = {"public IP", "billed by the hour", "public-ip", NULL},
    [AZURE_OWNED_SECURITY] = {"security rule", "free", "nsg rule", "--nsg-name"},
};

const char *azure_owned_word(enum azure_owned_kind k)
{
    return words[k].word;
}

const char *azure_owned_cost(enum azure_owned_kind k)
{
    return words[k].cost;
}

const char *azure_owned_command(struct arena *a, const struct azure_owned *item)
{
    const struct words *w = &words[item->kind];
    const char *in = w->in == NULL ? "" : arena_printf(a, " %s %s", w->in, item->in);
    return arena_printf(a, "az network %s delete --resource-group %s%s --name %s", w->az,
                        str_nonnull(azure_id_group(a, item->id)), in, item->name);
}

/* One that has the name of a Service by now is told from that by its UID (azure_service_is()). */
const struct tt_service *azure_owned_service(const struct azure_owned_list *l,
                                             const struct azure_owned *item)
{
    const char *slash = item->key != NULL ? strchr(item->key, '/') : NULL;
    const char *d = item->unit + 1;
    if (slash == NULL || slash == item->key || slash[1] == '\0' || item->unit[0] == '\0') {
        return NULL;
    }
    struct tt_service *s = ARENA_NEW(l->a, struct tt_service);
    *s = (struct tt_service){
        .size = sizeof(*s),
        .ns = arena_strndup(l->a, item->key, (size_t)(slash - item->key)),
        .name = slash + 1,
        .uid = arena_printf(l->a, "%.8s-%.4s-%.4s-%.4s-%.11s0", d, d + 8, d + 12, d + 16, d + 20),
        .resource_version = "0",
        .type = "LoadBalancer",
        .affinity_timeout_s = -1,
        .allocate_node_ports = 1,
    };
    return s;
}
