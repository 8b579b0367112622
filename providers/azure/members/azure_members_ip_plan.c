/* SPDX-License-Identifier: Apache-2.0 */
/* azure_members_ip_plan.c: see azure_members_ip_plan.h.  Pure. */
#include "providers/azure/members/azure_members_ip_plan.h"
#include "common/base/str.h"

#define ADDRESSES "loadBalancerBackendAddresses"

static struct json_object *copy_of(struct arena *a, const struct azure_pool *p)
{
    struct json_object *doc = azure_own(a, json_object_new_object());
    if (p->doc != NULL) {
        doc = azure_copy(a, p->doc);
        json_object_object_del(doc, "etag"); /* pools are written without If-Match (3.4) */
    } else {
        json_add_str(doc, "name", p->name);
    }
    (void)azure_props_make(doc);
    return doc;
}

/* The desired nodes, by address. */
static struct map *wanted(const struct azure_members_in *in, const struct azure_pool *p)
{
    enum azure_family f = p->ipv6 ? AZURE_IPV6 : AZURE_IPV4;
    struct map *m = map_new(NULL);
    for (size_t i = 0; i < in->n_nodes; i++) {
        const char *ip = azure_node_internal_ip(in->nodes[i].node, f);
        if (ip[0] != '\0' && azure_members_wants(in, p, i)) {
            map_set(m, ip, &in->nodes[i]);
        }
    }
    return m;
}

/* Invalid and unwanted addresses are removed; the ones that stay are removed from the wanted
 * list. */
static size_t leave(struct json_object *addresses, struct map *want, bool may_empty)
{
    size_t left = 0;
    size_t stay = 0;
    struct json_object *o;
    AZURE_EACH (o, addresses) {
        stay += map_has(want, str_nonnull(azure_prop_str(o, "ipAddress")));
    }
    for (size_t i = json_len(addresses); i > 0; i--) {
        o = json_object_array_get_idx(addresses, i - 1);
        const char *ip = str_nonnull(azure_prop_str(o, "ipAddress"));
        if (map_remove(want, ip)) {
            continue;
        }
        bool keeps = ip[0] != '\0' && stay == 0 && map_size(want) == 0 && !may_empty;
        if (!keeps) {
            azure_array_drop(addresses, i - 1);
            left++;
        }
    }
    return left;
}

static void join(struct arena *a, struct json_object *doc, const struct map *want,
                 const struct azure_members_in *in)
{
    struct json_object *addresses = azure_array_make(doc, ADDRESSES);
    for (size_t i = 0; i < in->n_nodes; i++) {
        size_t n;
        const char **ips = azure_node_internal_ips(a, in->nodes[i].node, &n);
        for (size_t k = 0; k < n; k++) {
            if (map_get(want, ips[k]) != &in->nodes[i]) {
                continue;
            }
            struct json_object *o = json_object_new_object();
            json_add_str(o, "name", in->nodes[i].node->name);
            json_add_str(azure_props_make(o), "ipAddress", ips[k]);
            (void)json_object_array_add(addresses, o);
        }
    }
}

/* The network belongs to the pool; when its addresses name it, it moves up (7.6). */
static bool settle_network(struct json_object *doc, const char *vnet)
{
    bool changed = false;
    struct json_object *o;
    AZURE_EACH (o, azure_array(doc, ADDRESSES)) {
        const char *own = azure_ref(o, "virtualNetwork");
        if (own != NULL) {
            if (azure_ref(doc, "virtualNetwork") == NULL) {
                json_add(azure_props(doc), "virtualNetwork", azure_ref_new(own));
            }
            json_object_object_del(azure_props(o), "virtualNetwork");
            changed = true;
        }
    }
    if (azure_ref(doc, "virtualNetwork") == NULL) {
        json_add(azure_props(doc), "virtualNetwork", azure_ref_new(vnet));
        changed = changed || json_len(azure_array(doc, ADDRESSES)) > 0;
    }
    return changed;
}

void azure_ip_pool_plan(struct arena *a, const struct azure_members_in *in,
                        const struct azure_naming *naming, const struct azure_pool *p,
                        struct azure_ip_change *ret)
{
    struct json_object *doc = copy_of(a, p);
    struct map *want = wanted(in, p);
    bool may_empty = azure_config_is_multi_slb(in->config);
    *ret = (struct azure_ip_change){0};
    ret->left = leave(azure_array(doc, ADDRESSES), want, may_empty);
    ret->joined = map_size(want);
    join(a, doc, want, in);
    bool network = settle_network(doc, azure_vnet_id(a, naming));
    ret->doc = ret->left + ret->joined > 0 || network ? doc : NULL;
    map_free(want);
}

struct json_object *azure_ip_pool_clear(struct arena *a, const struct azure_pool *p)
{
    struct json_object *doc = copy_of(a, p);
    json_add(azure_props(doc), ADDRESSES, json_object_new_array());
    json_object_object_del(azure_props(doc), "virtualNetwork");
    return doc;
}
