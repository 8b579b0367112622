/* SPDX-License-Identifier: Apache-2.0 */
/* azure_doc.c: looking at ARM documents, and editing them in place (azure_doc.h).  Pure. */
#include "providers/azure/model/azure_doc.h"
#include "common/base/str.h"
#include "providers/azure/model/azure_names.h"

/* Those that stand in a balancer's document by the thousand; sorted. */
static const char *const member_names[] = {
    "access",
    "backendAddressPool",
    "backendAddressPools",
    "backendIPConfigurations",
    "backendPort",
    "capacity",
    "code",
    "computerName",
    "description",
    "destinationAddressPrefix",
    "destinationAddressPrefixes",
    "destinationPortRange",
    "destinationPortRanges",
    "direction",
    "disableOutboundSnat",
    "enableFloatingIP",
    "enableIPForwarding",
    "enableTcpReset",
    "etag",
    "frontendIPConfiguration",
    "frontendIPConfigurations",
    "frontendPort",
    "hardwareProfile",
    "id",
    "idleTimeoutInMinutes",
    "instanceId",
    "instanceView",
    "intervalInSeconds",
    "ipAddress",
    "ipConfiguration",
    "ipConfigurations",
    "k8s-azure-cluster-name",
    "k8s-azure-service",
    "latestModelApplied",
    "loadBalancerBackendAddressPools",
    "loadBalancingRules",
    "loadDistribution",
    "location",
    "name",
    "networkInterfaceConfigurations",
    "networkInterfaces",
    "networkProfile",
    "networkProfileConfiguration",
    "osProfile",
    "port",
    "primary",
    "priority",
    "privateIPAddress",
    "privateIPAddressVersion",
    "privateIPAllocationMethod",
    "probe",
    "probeThreshold",
    "probes",
    "properties",
    "protocol",
    "provisioningState",
    "publicIPAddress",
    "publicIPAddressVersion",
    "publicIPAllocationMethod",
    "requestPath",
    "securityRules",
    "sku",
    "sourceAddressPrefix",
    "sourceAddressPrefixes",
    "sourcePortRange",
    "sourcePortRanges",
    "statuses",
    "subnet",
    "tags",
    "tier",
    "type",
    "virtualMachineProfile",
    "vmId",
    "zones",
};

/* Lists hold what others made, too: an extension's settings in a scale set are nested as
 * its owner likes. */
const struct json_limits azure_doc_limits = {
    .max_depth = 512,
    .share_strings = true,
    .names = member_names,
    .n_names = ARRAY_LEN(member_names),
};

static void put_back(void *arg)
{
    json_object_put(arg);
}

struct json_object *azure_own(struct arena *a, struct json_object *o)
{
    if (o != NULL) {
        arena_defer(a, put_back, o);
    }
    return o;
}

struct json_object *azure_copy(struct arena *a, struct json_object *o)
{
    return azure_own(a, json_share(o));
}

const char *azure_doc_name(struct json_object *o)
{
    return str_nonnull(json_str(o, "name"));
}

const char *azure_doc_id(struct json_object *o)
{
    return str_nonnull(json_str(o, "id"));
}

const char *azure_doc_etag(struct json_object *o)
{
    const char *etag = json_str(o, "etag");
    return str_is_empty(etag) ? NULL : etag;
}

/* A member that is an object, else NULL. */
static struct json_object *object_of(struct json_object *o, const char *name)
{
    struct json_object *member = json_member(o, name);
    return member != NULL && json_object_is_type(member, json_type_object) ? member : NULL;
}

struct json_object *azure_object_make(struct json_object *o, const char *name)
{
    if (object_of(o, name) == NULL) {
        json_object_object_del(o, name);
        json_add(o, name, json_object_new_object());
    }
    return json_member(o, name);
}

bool azure_doc_is_sound(struct json_object *o)
{
    static const char *const members[] = {"properties", "tags", "sku"};
    if (!json_object_is_type(o, json_type_object)) {
        return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        if (json_member(o, members[i]) != NULL && object_of(o, members[i]) == NULL) {
            return false;
        }
    }
    return true;
}

struct json_object *azure_props(struct json_object *o)
{
    return object_of(o, "properties");
}

struct json_object *azure_props_make(struct json_object *o)
{
    return azure_object_make(o, "properties");
}

struct json_object *azure_array(struct json_object *o, const char *name)
{
    struct json_object *array = json_member(azure_props(o), name);
    return array != NULL && json_object_is_type(array, json_type_array) ? array : NULL;
}

struct json_object *azure_array_make(struct json_object *o, const char *name)
{
    if (azure_array(o, name) == NULL) {
        json_object_object_del(azure_props_make(o), name);
        json_add(azure_props_make(o), name, json_object_new_array());
    }
    return azure_array(o, name);
}

const char *azure_prop_str(struct json_object *o, const char *name)
{
    return json_str(azure_props(o), name);
}

int64_t azure_prop_int(struct json_object *o, const char *name, int64_t otherwise)
{
    return json_int(azure_props(o), name, otherwise);
}

bool azure_prop_bool(struct json_object *o, const char *name, bool otherwise)
{
    return json_get_bool(azure_props(o), name, otherwise);
}

const char *azure_ref(struct json_object *o, const char *name)
{
    return json_str(json_member(azure_props(o), name), "id");
}

struct json_object *azure_ref_new(const char *id)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "id", id);
    return o;
}

struct json_object *azure_find(struct json_object *array, const char *name)
{
    struct json_object *o;
    AZURE_EACH (o, array) {
        if (azure_eq(azure_doc_name(o), name)) {
            return o;
        }
    }
    return NULL;
}

void azure_array_drop(struct json_object *array, size_t i)
{
    (void)json_object_array_del_idx(array, i, 1);
}

/* The object without one member, which is shared as all others are. */
static struct json_object *without(struct json_object *o, const char *name)
{
    struct json_object *copy = json_object_new_object();
    if (!json_object_is_type(o, json_type_object)) {
        return copy;
    }
    json_object_object_foreach(o, key, value)
    {
        if (!str_eq(key, name)) {
            json_add(copy, key, json_object_get(value));
        }
    }
    return copy;
}

struct json_object *azure_with_element(struct arena *a, struct json_object *o, const char *array,
                                       struct json_object *element)
{
    struct json_object *copy = azure_own(a, without(o, "properties"));
    struct json_object *properties = without(azure_props(o), array);
    struct json_object *items = json_object_new_array();
    struct json_object *item;
    AZURE_EACH (item, azure_array(o, array)) {
        bool same = azure_eq(azure_doc_name(item), azure_doc_name(element));
        (void)json_object_array_add(items, json_object_get(same ? element : item));
    }
    json_add(properties, array, items);
    json_add(copy, "properties", properties);
    return copy;
}
