/* SPDX-License-Identifier: Apache-2.0 */
/* azure_state.c: see azure_state.h. */
#include "providers/azure/azure_state.h"

#include "common/base/str.h"
#include "providers/azure/model/azure_doc.h"

#include <string.h>

bool azure_state_kind(struct arena *a, const char *id, enum azure_kind *ret)
{
    static const struct {
        const char *type;
        const char *below; /* the type before it, when it is one of several of that name */
        enum azure_kind kind;
    } rows[] = {
        {"loadBalancers", NULL, AZURE_LBS},
        {"publicIPAddresses", NULL, AZURE_PIPS},
        {"networkSecurityGroups", NULL, AZURE_NSGS},
        {"subnets", NULL, AZURE_SUBNETS},
        {"backendAddressPools", NULL, AZURE_POOLS},
        {"privateLinkServices", NULL, AZURE_PLSS},
        {"privateEndpointConnections", NULL, AZURE_PE_CONNECTIONS},
        {"networkInterfaces", "virtualMachines", AZURE_VMSS_NICS},
        {"networkInterfaces", NULL, AZURE_NICS},
        {"virtualMachines", "virtualMachineScaleSets", AZURE_VMSS_VMS},
        {"virtualMachines", NULL, AZURE_VMS},
        {"availabilitySets", NULL, AZURE_SETS},
        {"virtualMachineScaleSets", NULL, AZURE_VMSSS},
        {"providers", NULL, AZURE_PROVIDERS},
    };
    size_t n;
    char **parts = str_split(a, id, '/', &n);
    for (size_t i = 0; n >= 4 && i < ARRAY_LEN(rows); i++) {
        if (azure_eq(parts[n - 2], rows[i].type) &&
            (rows[i].below == NULL || azure_eq(parts[n - 4], rows[i].below))) {
            *ret = rows[i].kind;
            return true;
        }
    }
    return false;
}

/* Appends to the list of that scope, which is made when there is none. */
static void add_to_scope(struct azure_provider *p, enum azure_kind k, const char *scope,
                         struct json_object *resource)
{
    struct json_object *list = azure_snapshot_list(p->snapshot, k, scope, INT64_MAX, p->a);
    if (list == NULL) {
        list = azure_own(p->a, json_object_new_array());
        azure_snapshot_put_list(p->snapshot, k, scope, list);
    }
    (void)json_object_array_add(list, json_object_get(resource));
}

/* The list of the whole subscription; NULL: the ID is of no group. */
static const char *everywhere(struct arena *a, const char *id, size_t n)
{
    const char *group = strcasestr(id, "/resourceGroups/");
    const char *type = group == NULL ? NULL : strcasestr(group, "/providers/");
    return type == NULL ? NULL
                        : arena_printf(a, "%.*s%.*s", (int)(group - id), id,
                                       (int)(n - (size_t)(type - id)), type);
}

bool azure_state_add(struct azure_provider *p, const char *id, struct json_object *resource)
{
    enum azure_kind k;
    const char *name = strrchr(id, '/');
    if (!azure_doc_is_sound(resource) || !azure_state_kind(p->a, id, &k)) {
        return false;
    }
    add_to_scope(p, k, arena_strndup(p->a, id, (size_t)(name - id)), resource);
    add_to_scope(p, k, id, resource);
    if (k == AZURE_PLSS) {
        add_to_scope(p, k, everywhere(p->a, id, (size_t)(name - id)), resource);
    }
    return true;
}

int azure_state_load(struct azure_provider *p, const char *text, size_t n, struct err *err)
{
    struct json_object *world;
    int rc = json_parse_arena(p->a, text, n, NULL, &world, err);
    if (rc != ERR_OK) {
        (void)err_prefix(err, "saved state");
        return rc;
    }
    struct json_object *azure = json_member(world, "azure");
    if (!json_object_is_type(azure, json_type_object)) {
        return ERR_OK;
    }
    json_object_object_foreach(azure, id, resource)
    {
        (void)azure_state_add(p, id, resource);
    }
    return ERR_OK;
}
