/* SPDX-License-Identifier: Apache-2.0 */
/* site.c: see site.h. */
#include "tests/fault/site.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

#define GROUP                                                                                      \
    "/subscriptions/00000000-0000-4000-8000-000000000001/resourceGroups/rg/providers/Microsoft."
#define COMPUTE GROUP "Compute/"
#define NETWORK GROUP "Network/"

#define BY_ADDRESS "\"loadBalancerBackendPoolConfigurationType\":\"nodeIP\""
#define MACHINES   "\"vmType\":\"standard\",\"primaryAvailabilitySetName\":\"as-a\""

static const struct site sites[] = {
    {.name = ""},
    {.name = "addresses", .config = "{" BY_ADDRESS "}"},
    {.name = "two-balancers",
     .machines = SITE_TWO_UNIFORM,
     .nodes = 3,
     .config = "{" BY_ADDRESS ",\"multipleStandardLoadBalancerConfigurations\":["
               "{\"name\":\"kubernetes\",\"primaryVMSet\":\"vmss\"},"
               "{\"name\":\"lb-b\",\"primaryVMSet\":\"vmssb\"}]}"},
    {.name = "flexible", .machines = SITE_FLEXIBLE, .config = "{\"vmType\":\"vmssflex\"}"},
    {.name = "sets", .machines = SITE_AVAILABILITY_SETS, .config = "{" MACHINES "}"},
    {.name = "basic",
     .machines = SITE_AVAILABILITY_SETS,
     .config = "{" MACHINES ",\"loadBalancerSku\":\"basic\"}"},
    {.name = "both-families", .ipv6 = true},
    {.name = "slow", .settings = "{\"async\":\"azure-async\",\"polls\":2,\"retry_after\":3}"},
    {.name = "slow-location", .settings = "{\"async\":\"location\",\"polls\":1}"},
    {.name = "blind", .settings = "{\"list_lag_ms\":5000}", .lags = true},
    {.name = "slow-body", .settings = "{\"async\":\"body\",\"polls\":1}"},
    {0},
};

const struct site *site_find(const char *name)
{
    for (const struct site *s = sites; s->name != NULL; s++) {
        if (str_eq(s->name, str_nonnull(name))) {
            return s;
        }
    }
    return NULL;
}

static struct json_object *parse(struct arena *a, const char *text)
{
    struct json_object *o = NULL;
    if (json_parse_arena(a, text, strlen(text), NULL, &o, NULL) != ERR_OK) {
        abort(); /* the text stands in this program */
    }
    return o;
}

/* ---- machines -------------------------------------------------------------------------------- */

static struct json_object *nodes_of(struct json_object *world)
{
    return json_path(world, "kubernetes.nodes");
}

/* The simulator's scale set once more, under a name of its own and with addresses of its own. */
static const char *renamed(struct arena *a, struct json_object *o)
{
    const char *text = json_text(a, o, JSON_COMPACT);
    text = str_replace(a, text, "virtualMachineScaleSets/vmss", "virtualMachineScaleSets/vmssb");
    text = str_replace(a, text, "\"name\":\"vmss\"", "\"name\":\"vmssb\"");
    text = str_replace(a, text, "\"vmss0", "\"vmssb0");
    text =
        str_replace(a, text, "\"computerNamePrefix\":\"vmss\"", "\"computerNamePrefix\":\"vmssb\"");
    text = str_replace(a, text, "\"10.240.1.", "\"10.240.2.");
    return str_replace(a, text, "\"uid\":\"", "\"uid\":\"b");
}

static void add_second_set(struct arena *a, struct json_object *world)
{
    struct json_object *docs = json_member(world, "azure");
    struct json_object *more = json_object_new_object();
    json_object_object_foreach(docs, id, doc)
    {
        if (strstr(id, "/virtualMachineScaleSets/vmss") != NULL) {
            const char *twin = str_replace(a, id, "Sets/vmss", "Sets/vmssb");
            json_add(more, twin, json_copy(parse(a, renamed(a, doc))));
        }
    }
    json_object_object_foreach(more, id2, twin2)
    {
        json_add(docs, id2, json_object_get(twin2));
    }
    json_object_put(more);
    size_t n = json_len(nodes_of(world));
    for (size_t i = 0; i < n; i++) {
        struct json_object *node = json_object_array_get_idx(nodes_of(world), i);
        json_object_array_add(nodes_of(world), json_copy(parse(a, renamed(a, node))));
    }
}

static void drop_scale_set(struct arena *a, struct json_object *docs)
{
    const char **ids = ARENA_ARRAY(a, const char *, (size_t)json_object_object_length(docs));
    size_t n = 0;
    json_object_object_foreach(docs, id, doc)
    {
        (void)doc;
        if (strstr(id, "/virtualMachineScaleSets/") != NULL && strstr(id, "/virtualMachines/")) {
            ids[n++] = arena_strdup(a, id);
        }
    }
    for (size_t i = 0; i < n; i++) {
        json_object_object_del(docs, ids[i]);
    }
}

static const char *address_of(struct json_object *node)
{
    struct json_object *first = json_object_array_get_idx(json_path(node, "status.addresses"), 0);
    return json_str(first, "address");
}

/* Makes a node a machine of its own with a NIC; `set` is the member that names its set. */
static void add_machine(struct arena *a, struct json_object *docs, struct json_object *node,
                        size_t number, const char *set)
{
    const char *id = arena_printf(a, COMPUTE "virtualMachines/vm-%zu", number);
    const char *nic = arena_printf(a, NETWORK "networkInterfaces/nic-%zu", number);
    const char *vm = arena_printf(a, "vm-%zu", number);
    json_add(docs, id,
             json_copy(parse(
                 a, arena_printf(a,
                                 "{\"location\":\"eastus\",\"properties\":{%s,\"osProfile\":{"
                                 "\"computerName\":\"%s\"},\"networkProfile\":{"
                                 "\"networkInterfaces\":[{\"id\":\"%s\",\"properties\":{"
                                 "\"primary\":true}}]},\"instanceView\":{\"statuses\":[{\"code\":"
                                 "\"PowerState/running\"}]}}}",
                                 set, vm, nic))));
    json_add(
        docs, nic,
        json_copy(parse(
            a, arena_printf(
                   a,
                   "{\"location\":\"eastus\",\"properties\":{\"primary\":true,"
                   "\"virtualMachine\":{\"id\":\"%s\"},\"ipConfigurations\":[{\"name\":"
                   "\"ipconfig1\",\"properties\":{\"primary\":true,\"privateIPAddressVersion\":"
                   "\"IPv4\",\"privateIPAllocationMethod\":\"Dynamic\",\"privateIPAddress\":\"%s\","
                   "\"subnet\":{\"id\":\"" NETWORK "virtualNetworks/vnet/subnets/sn\"}}}]}}",
                   id, address_of(node)))));
    struct json_object *meta = json_member(node, "metadata");
    json_add_str(meta, "name", vm);
    json_add_str(json_member(meta, "labels"), "kubernetes.io/hostname", vm);
    json_add_str(json_member(node, "spec"), "providerID", arena_printf(a, "azure://%s", id));
}

static void make_flexible(struct arena *a, struct json_object *world)
{
    struct json_object *docs = json_member(world, "azure");
    const char *id = COMPUTE "virtualMachineScaleSets/vmss";
    drop_scale_set(a, docs);
    json_add_str(json_member(json_member(docs, id), "properties"), "orchestrationMode", "Flexible");
    for (size_t i = 0; i < json_len(nodes_of(world)); i++) {
        add_machine(a, docs, json_object_array_get_idx(nodes_of(world), i), i,
                    arena_printf(a, "\"virtualMachineScaleSet\":{\"id\":\"%s\"}", id));
    }
}

static void make_sets(struct arena *a, struct json_object *world)
{
    static const char *const names[] = {"as-a", "as-b"};
    struct json_object *docs = json_member(world, "azure");
    drop_scale_set(a, docs);
    json_object_object_del(docs, COMPUTE "virtualMachineScaleSets/vmss");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        json_add(docs, arena_printf(a, COMPUTE "availabilitySets/%s", names[i]),
                 json_copy(parse(a, "{\"location\":\"eastus\",\"sku\":{\"name\":\"Aligned\"},"
                                    "\"properties\":{\"platformFaultDomainCount\":2}}")));
    }
    size_t n = json_len(nodes_of(world));
    for (size_t i = 0; i < n; i++) {
        add_machine(a, docs, json_object_array_get_idx(nodes_of(world), i), i,
                    arena_printf(a,
                                 "\"availabilitySet\":{\"id\":\"" COMPUTE "availabilitySets/%s\"}",
                                 names[i < n / 2 ? 0 : 1]));
    }
}

void site_build(const struct site *s, struct arena *a, struct json_object *world)
{
    switch (s->machines) {
    case SITE_UNIFORM:
        break;
    case SITE_TWO_UNIFORM:
        add_second_set(a, world);
        break;
    case SITE_FLEXIBLE:
        make_flexible(a, world);
        break;
    case SITE_AVAILABILITY_SETS:
        make_sets(a, world);
        break;
    }
    site_set(s, world);
}

/* ---- settings -------------------------------------------------------------------------------- */

void site_set(const struct site *s, struct json_object *world)
{
    if (s->settings != NULL) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        struct json_object *sim = json_object_new_object();
        json_add(sim, "azure", json_copy(parse(a, s->settings)));
        json_add(world, "sim", sim);
    }
}

static void overlay(struct arena *a, struct json_object *on, const char *members)
{
    if (members != NULL) {
        json_object_object_foreach(parse(a, members), key, value)
        {
            json_object_object_del(on, key); /* null: it is not there */
            if (value != NULL) {
                json_add(on, key, json_copy(value));
            }
        }
    }
}

const char *site_config(const struct site *s, struct arena *a, const char *more)
{
    static const char usual[] =
        "{\"cloud\":\"AzureCloud\",\"tenantId\":\"00000000-0000-4000-8000-000000000002\","
        "\"subscriptionId\":\"00000000-0000-4000-8000-000000000001\",\"resourceGroup\":\"rg\","
        "\"location\":\"eastus\",\"vnetName\":\"vnet\",\"subnetName\":\"sn\","
        "\"securityGroupName\":\"nsg\",\"routeTableName\":\"rt\",\"vmType\":\"vmss\","
        "\"primaryScaleSetName\":\"vmss\",\"loadBalancerSku\":\"standard\","
        "\"useManagedIdentityExtension\":true,\"useInstanceMetadata\":false,"
        "\"resourceManagerEndpoint\":\"<endpoint>\"}";
    struct json_object *o = parse(a, usual);
    overlay(a, o, s->config);
    overlay(a, o, more);
    return json_text(a, o, JSON_PRETTY);
}
