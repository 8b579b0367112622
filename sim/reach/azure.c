/* SPDX-License-Identifier: Apache-2.0 */
/* azure.c: reachability through Azure's load balancers: reads the world and walks its documents;
 * see azure.h for the parts.
 *
 * Owns the sorting of documents by their type, and small helpers that all parts use. */
#include "sim/reach/azure.h"

#include <string.h>

/* --- helpers ---------------------------------------------------------------------------------- */

void az_push(struct arena *a, struct az_list *list, void *item)
{
    if (list->n == list->room) {
        void **more = ARENA_ARRAY(a, void *, 2 * list->room + 8);
        if (list->n > 0) {
            memcpy(more, list->at, list->n * sizeof(list->at[0]));
        }
        list->at = more;
        list->room = 2 * list->room + 8;
    }
    list->at[list->n++] = item;
}

struct az_list *az_list_of(struct arena *a, struct map *lists, const char *key)
{
    struct az_list *list = map_get(lists, key);
    if (list == NULL) {
        list = ARENA_NEW(a, struct az_list);
        map_set(lists, key, list);
    }
    return list;
}

const char *az_key(struct arena *a, const char *id)
{
    return id != NULL ? str_lower(a, id) : NULL;
}

const char *az_ref(struct arena *a, struct json_object *o, const char *member)
{
    return az_key(a, json_str(json_member(json_member(o, "properties"), member), "id"));
}

const char *az_parent(struct arena *a, const char *id)
{
    size_t n = strlen(id);
    for (int cut = 0; cut < 2 && n > 0; cut++) {
        do {
            n--;
        } while (n > 0 && id[n] != '/');
    }
    return arena_strndup(a, id, n);
}

const char *az_name(const char *id)
{
    const char *slash = strrchr(id, '/');
    return slash != NULL ? slash + 1 : id;
}

const char *az_address(struct arena *a, const char *text)
{
    struct ip_addr ip;
    char canonical[IP_TEXT_MAX];
    if (text == NULL || !ip_parse(text, &ip)) {
        return NULL;
    }
    ip_format(&ip, canonical);
    return arena_strdup(a, canonical);
}

/* --- documents by their type ------------------------------------------------------------------ */

static const char *const types[AZURE_TYPES_MAX] = {
    [AZURE_BALANCERS] = "microsoft.network/loadbalancers",
    [AZURE_POOLS] = "microsoft.network/loadbalancers/backendaddresspools",
    [AZURE_PUBLIC_IPS] = "microsoft.network/publicipaddresses",
    [AZURE_NETWORKS] = "microsoft.network/virtualnetworks",
    [AZURE_SUBNETS] = "microsoft.network/virtualnetworks/subnets",
    [AZURE_GROUPS] = "microsoft.network/networksecuritygroups",
    [AZURE_NICS] = "microsoft.network/networkinterfaces",
    [AZURE_MACHINES] = "microsoft.compute/virtualmachines",
    [AZURE_INSTANCES] = "microsoft.compute/virtualmachinescalesets/virtualmachines",
    [AZURE_TAGS] = "microsoft.network/locations/servicetags",
};

/* ".../providers/namespace/type/name/type/name", against "namespace/type/type"; the last
 * name may be absent. */
static bool is_of_type(const char *id, const char *type)
{
    static const char providers[] = "/providers/";
    const char *at = strstr(id, providers);
    size_t n = strcspn(type, "/");
    if (at == NULL || strncmp(at += sizeof(providers) - 1, type, n) != 0) {
        return false;
    }
    at += n;
    for (type += n; *type == '/'; type += n) {
        n = 1 + strcspn(type + 1, "/");
        if (strncmp(at, type, n) != 0 || (at[n] != '/' && at[n] != '\0')) {
            return false;
        }
        at += n;
        at += *at == '/' ? 1 + strcspn(at + 1, "/") : 0;
    }
    return *at == '\0';
}

static void add_doc(struct az *z, struct az_docs *docs, struct az_doc doc)
{
    if (docs->n == docs->room) {
        struct az_doc *more = ARENA_ARRAY(z->a, struct az_doc, 2 * docs->room + 8);
        if (docs->n > 0) {
            memcpy(more, docs->at, docs->n * sizeof(docs->at[0]));
        }
        docs->at = more;
        docs->room = 2 * docs->room + 8;
    }
    docs->at[docs->n++] = doc;
}

static void sort_documents(struct az *z, struct json_object *azure)
{
    json_object_object_foreach(azure, id, body)
    {
        struct az_doc doc = {az_key(z->a, id), body};
        for (size_t type = 0; type < AZURE_TYPES_MAX; type++) {
            if (is_of_type(doc.id, types[type])) {
                add_doc(z, &z->docs[type], doc);
            }
        }
    }
}

static struct az read_world(struct reach *r, struct json_object *world)
{
    struct arena *a = reach_arena(r);
    struct az z = {
        .a = a,
        .world = world,
        .cluster = reach_cluster(r, world),
        .networks = reach_map(a),
        .subnets = reach_map(a),
        .groups = reach_map(a),
        .in_pool = reach_map(a),
        .behind_nat = reach_map(a),
        .by_config = reach_map(a),
        .by_address = reach_map(a),
        .public_ips = reach_map(a),
        .pools = reach_map(a),
        .tags = reach_map(a),
        .seen = reach_map(a),
    };
    sort_documents(&z, json_member(world, "azure"));
    for (size_t i = 0; i < z.docs[AZURE_PUBLIC_IPS].n; i++) {
        map_set(z.public_ips, z.docs[AZURE_PUBLIC_IPS].at[i].id,
                z.docs[AZURE_PUBLIC_IPS].at[i].body);
    }
    for (size_t i = 0; i < z.docs[AZURE_POOLS].n; i++) {
        map_set(z.pools, z.docs[AZURE_POOLS].at[i].id, z.docs[AZURE_POOLS].at[i].body);
    }
    az_read_groups(&z);
    az_read_networks(&z);
    az_read_machines(&z);
    return z;
}

/* --- the walk --------------------------------------------------------------------------------- */

/* It hangs on a NAT gateway, a machine or another thing that is not a load balancer. */
static bool is_used_elsewhere(const struct az *z, const struct az_doc *doc)
{
    const char *holder = az_ref(z->a, doc->body, "ipConfiguration");
    return map_has(z->seen, doc->id) || az_ref(z->a, doc->body, "natGateway") != NULL ||
           (holder != NULL && strstr(holder, "/loadbalancers/") == NULL);
}

void reach_azure(struct reach *r, struct json_object *world)
{
    if (!json_object_is_type(json_member(world, "azure"), json_type_object)) {
        return;
    }
    struct az z = read_world(r, world);
    for (size_t i = 0; i < z.docs[AZURE_BALANCERS].n; i++) {
        az_reach_balancer(&z, r, &z.docs[AZURE_BALANCERS].at[i]);
    }
    for (size_t i = 0; i < z.docs[AZURE_PUBLIC_IPS].n; i++) {
        const struct az_doc *doc = &z.docs[AZURE_PUBLIC_IPS].at[i];
        const char *address =
            az_address(z.a, json_str(json_member(doc->body, "properties"), "ipAddress"));
        if (address != NULL && !is_used_elsewhere(&z, doc)) {
            (void)reach_listen(
                r, &(struct reach_listener){.address = address, .why = REACH_NO_LISTENER});
        }
    }
}
