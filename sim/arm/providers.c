/* SPDX-License-Identifier: Apache-2.0 */
/* providers.c: the documents of resource providers: which types, versions, places and zones there
 * are.
 *
 * Controllers ask for Microsoft.Compute at the start, to learn the zones of regions
 * (docs/spec/azure.md §1.6). */
#include "sim/arm/arm.h"

#include <string.h>
#include <strings.h>

/* "eastus" → "East US" is what the document says; only what clients fold back matters. */
static const char *display_name(struct arm *arm)
{
    return str_eq(arm->location, "eastus") ? "East US" : arm->location;
}

static bool is_in(const char *type, const char *namespace)
{
    size_t n = strlen(namespace);
    return strncasecmp(type, namespace, n) == 0 && type[n] == '/';
}

static void add_zones(struct arm_request *q, struct json_object *type)
{
    size_t n = 0;
    const char **zones = arm_zones(q->arm, q->a, &n);
    struct json_object *mapping = json_object_new_object(), *list = json_object_new_array();
    json_add_str(mapping, "location", display_name(q->arm));
    json_add(mapping, "zones", json_strs(zones, n));
    if (n > 0) {
        json_object_array_add(list, mapping);
    } else {
        json_object_put(mapping);
    }
    json_add(type, "zoneMappings", list);
}

static struct json_object *type_json(struct arm_request *q, const struct arm_kind *k)
{
    struct json_object *o = json_object_new_object();
    const char *places[] = {display_name(q->arm)};
    json_add_str(o, "resourceType", strchr(k->type, '/') + 1);
    json_add(o, "locations", json_strs(places, 1));
    const char *today[] = {is_in(k->type, "Microsoft.Network") ? "2025-05-01" : "2025-04-01"};
    struct json_object *versions = json_strs(today, 1);
    for (const char *const *older = k->older; older && *older; older++) {
        json_object_array_add(versions, json_object_new_string(*older));
    }
    json_add(o, "apiVersions", versions);
    if (str_eq(k->ops, "VirtualMachines") || str_eq(k->ops, "VirtualMachineScaleSets") ||
        str_eq(k->ops, "PublicIPAddresses") || str_eq(k->ops, "LoadBalancers")) {
        add_zones(q, o);
    }
    return o;
}

static struct json_object *provider_json(struct arm_request *q, const char *namespace)
{
    struct json_object *o = json_object_new_object(), *types = json_object_new_array();
    json_add_str(o, "id",
                 arena_printf(q->a, "/subscriptions/%s/providers/%s", q->subscription, namespace));
    json_add_str(o, "namespace", namespace);
    json_add_str(o, "registrationState", "Registered");
    json_add_str(o, "registrationPolicy", "RegistrationRequired");
    for (const struct arm_kind *k = arm_kinds; k->type; k++) {
        if (is_in(k->type, namespace)) {
            json_object_array_add(types, type_json(q, k));
        }
    }
    json_add(o, "resourceTypes", types);
    return o;
}

static const char *const namespaces[] = {"Microsoft.Compute", "Microsoft.Network"};

bool arm_provider_get(struct arm_request *q)
{
    for (size_t i = 0; i < ARRAY_LEN(namespaces); i++) {
        const char *wanted = arena_printf(q->a, "/providers/%s", namespaces[i]);
        const char *id = str_lower(q->a, q->id);
        if (strstr(id, str_lower(q->a, wanted))) {
            q->answer = provider_json(q, namespaces[i]);
            return true;
        }
    }
    return arm_refuse(q, 404, "InvalidResourceNamespace", "The resource namespace '%s' is invalid.",
                      q->name);
}

bool arm_provider_list(struct arm_request *q)
{
    struct json_object *items = json_object_new_array();
    for (size_t i = 0; i < ARRAY_LEN(namespaces); i++) {
        json_object_array_add(items, provider_json(q, namespaces[i]));
    }
    return arm_answer_page(q, items);
}
