/* SPDX-License-Identifier: Apache-2.0 */
/* azure_members_vmss_plan.c: see azure_members_vmss_plan.h.  Pure. */
#include "providers/azure/members/azure_members_vmss_plan.h"

#include <ctype.h>
#include <string.h>

#include "common/base/str.h"
#include "providers/azure/model/azure_names.h"

#define NICS "networkInterfaceConfigurations"
/* Scale sets of flexible orchestration need it said (7.4). */
#define FLEX_NETWORK_VERSION "2020-11-01"
#define TAG_COORDINATED      "aks-managed-coordination"
#define COMPUTER_SUFFIX      6
#define WINDOWS_2019         "/images/windows-2019-containerd/versions/17763."

static struct json_object *model_nics(struct json_object *set)
{
    return json_path(set, "properties.virtualMachineProfile.networkProfile." NICS);
}

bool azure_vmss_is_flexible(struct json_object *set)
{
    return azure_eq(azure_prop_str(set, "orchestrationMode"), "Flexible");
}

bool azure_vmss_model_has(struct json_object *set, const char *pool)
{
    return azure_refs_nics_have(model_nics(set), pool);
}

/* Windows Server 2019 has no IPv6 for containers. */
static bool is_windows_2019(struct arena *a, struct json_object *set)
{
    struct json_object *storage = json_path(set, "properties.virtualMachineProfile.storageProfile");
    const char *image = str_nonnull(json_str(json_member(storage, "imageReference"), "id"));
    const char *os = json_str(json_member(storage, "osDisk"), "osType");
    return azure_eq(os, "Windows") && strstr(str_lower(a, image), WINDOWS_2019) != NULL;
}

static struct azure_refs without_ipv6(struct arena *a, const struct azure_refs *refs)
{
    struct azure_refs r = *refs;
    const char **join = ARENA_ARRAY(a, const char *, refs->n_join + 1);
    r.n_join = 0;
    for (size_t i = 0; i < refs->n_join; i++) {
        if (!azure_pool_is_ipv6(azure_id_last(refs->join[i]))) {
            join[r.n_join++] = refs->join[i];
        }
    }
    r.join = join;
    return r;
}

static void keep(struct json_object *from, struct json_object *to, const char *name)
{
    struct json_object *o = json_member(from, name);
    if (o != NULL) {
        json_add(to, name, json_copy(o));
    }
}

static struct json_object *model_body(struct arena *a, struct json_object *set,
                                      struct json_object *nics)
{
    struct json_object *body = azure_own(a, json_object_new_object());
    struct json_object *profile = json_object_new_object(), *network = json_object_new_object();
    keep(set, body, "location");
    keep(set, body, "extendedLocation");
    keep(set, body, "etag");
    json_add(network, NICS, json_object_get(nics));
    if (azure_vmss_is_flexible(set)) {
        json_add_str(network, "networkApiVersion", FLEX_NETWORK_VERSION);
    }
    json_add(profile, "networkProfile", network);
    json_add(azure_props_make(body), "virtualMachineProfile", profile);
    return body;
}

struct json_object *azure_vmss_model(struct arena *a, const struct azure_config *c,
                                     struct json_object *set, const struct azure_refs *refs,
                                     const char **ret_why)
{
    struct azure_refs r = is_windows_2019(a, set) ? without_ipv6(a, refs) : *refs;
    if (azure_eq(azure_prop_str(set, "provisioningState"), "Deleting")) {
        *ret_why = "it is being deleted";
        return NULL;
    }
    if (json_len(model_nics(set)) == 0) {
        *ret_why = "its model has no network interfaces";
        return NULL;
    }
    struct json_object *nics = azure_copy(a, model_nics(set));
    return azure_refs_edit_nics(a, nics, &r, c->standard_sku, ret_why) ? model_body(a, set, nics)
                                                                       : NULL;
}

/* ---- instances ------------------------------------------------------------------------------- */

/* The power state by its code, without "PowerState/"; "" when absent. */
static const char *power_state(struct json_object *vm)
{
    struct json_object *o;
    AZURE_EACH (o, json_path(vm, "properties.instanceView.statuses")) {
        const char *code = str_nonnull(json_str(o, "code"));
        if (azure_has_prefix(code, "PowerState/")) {
            return code + strlen("PowerState/");
        }
    }
    return "";
}

static bool is_inactive(struct json_object *vm)
{
    static const char *const power[] = {"unknown", "stopped", "stopping", "deallocated",
                                        "deallocating"};
    const char *state = azure_prop_str(vm, "provisioningState");
    bool off = azure_eq(state, "Deleting") || azure_eq(state, "Unknown");
    for (size_t i = 0; i < ARRAY_LEN(power); i++) {
        off = off || azure_eq(power_state(vm), power[i]);
    }
    return off;
}

static struct json_object *instance_body(struct arena *a, struct json_object *vm,
                                         struct json_object *nics)
{
    struct json_object *body = azure_own(a, json_object_new_object());
    struct json_object *network =
        json_copy(json_path(vm, "properties.networkProfileConfiguration"));
    keep(vm, body, "location");
    keep(vm, body, "etag");
    json_add(network, NICS, json_object_get(nics));
    keep(azure_props(vm), azure_props_make(body), "hardwareProfile");
    json_add(azure_props(body), "networkProfileConfiguration", network);
    return body;
}

struct json_object *azure_vmss_instance(struct arena *a, const struct azure_config *c,
                                        struct json_object *vm, const struct azure_refs *refs,
                                        const char **ret_why)
{
    struct json_object *old = json_path(vm, "properties.networkProfileConfiguration." NICS);
    if (refs->n_join > 0 && is_inactive(vm)) {
        *ret_why = "it does not run";
        return NULL;
    }
    if (old == NULL) {
        *ret_why = "it is being deleted";
        return NULL;
    }
    struct json_object *nics = azure_copy(a, old);
    return azure_refs_edit_nics(a, nics, refs, c->standard_sku, ret_why)
               ? instance_body(a, vm, nics)
               : NULL;
}

size_t azure_vmss_batch(const struct azure_config *c, struct json_object *set, size_t most)
{
    bool coordinated = json_member(json_member(set, "tags"), TAG_COORDINATED) != NULL;
    return coordinated && c->put_vmss_vm_batch_size > 1 ? (size_t)c->put_vmss_vm_batch_size : most;
}

/* ---- names of computers ---------------------------------------------------------------------- */

int64_t azure_vmss_instance_id(const char *computer)
{
    size_t n = strlen(computer);
    int64_t id = 0;
    for (size_t i = 0; n > COMPUTER_SUFFIX && i < COMPUTER_SUFFIX; i++) {
        int ch = tolower((unsigned char)computer[n - COMPUTER_SUFFIX + i]);
        if (!isdigit(ch) && (ch < 'a' || ch > 'z')) {
            return -1;
        }
        id = id * 36 + (isdigit(ch) ? ch - '0' : ch - 'a' + 10);
    }
    return n > COMPUTER_SUFFIX ? id : -1;
}

bool azure_vmss_is_named(struct json_object *set, const char *computer)
{
    struct json_object *os = json_path(set, "properties.virtualMachineProfile.osProfile");
    const char *prefix = str_nonnull(json_str(os, "computerNamePrefix"));
    size_t n = strlen(prefix);
    return n > 0 && strlen(computer) == n + COMPUTER_SUFFIX && azure_has_prefix(computer, prefix) &&
           azure_vmss_instance_id(computer) >= 0;
}
