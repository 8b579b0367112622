/* SPDX-License-Identifier: Apache-2.0 */
/* azure_members_nic_plan.c: see azure_members_nic_plan.h.  Pure. */
#include "providers/azure/members/azure_members_nic_plan.h"
#include "common/base/str.h"

struct json_object *azure_nic_edit(struct arena *a, const struct azure_config *c,
                                   struct json_object *nic, const struct azure_refs *refs,
                                   const char **ret_why)
{
    struct json_object *doc = azure_copy(a, nic);
    if (!azure_refs_edit(a, azure_array(doc, "ipConfigurations"), refs, c->standard_sku, ret_why)) {
        return NULL;
    }
    json_object_object_del(doc, "etag");
    return doc;
}

void azure_nics_by_machine(struct arena *a, struct json_object *const *nics, size_t n,
                           struct map *ret)
{
    for (size_t i = 0; i < n; i++) {
        const char *machine = azure_ref(nics[i], "virtualMachine");
        if (machine == NULL) {
            continue;
        }
        const char *key = str_lower(a, machine);
        struct json_object *other = map_get(ret, key);
        bool doubt = map_has(ret, key) && other != nics[i];
        if (azure_prop_bool(nics[i], "primary", false) || !doubt) {
            map_set(ret, key, nics[i]);
        } else if (other == NULL || !azure_prop_bool(other, "primary", false)) {
            map_set(ret, key, NULL);
        }
    }
}
