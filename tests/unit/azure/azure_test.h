/* SPDX-License-Identifier: Apache-2.0 */
/* azure_test.h: what the tests of the Azure provider's pure modules share: a configuration with the
 * names of the specification's vectors, Services from JSON, ARM documents from JSON.
 *
 * Row numbers in tests are those of docs/spec/azure.md, section 13.  Rows are tables of
 * text where they can be. */
#ifndef TRIMTAB_TESTS_AZURE_TEST_H
#define TRIMTAB_TESTS_AZURE_TEST_H

#include "providers/azure/model/azure_names.h"
#include "providers/azure/model/azure_service.h"
#include "tests/unit/gce/pure.h"

/* Resource group rg, subscription "subscription", Standard, scale sets, primary set "vmss". */
static inline struct azure_config azure_test_config(void)
{
    return (struct azure_config){
        .cloud = "",
        .subscription_id = "subscription",
        .network_subscription_id = "subscription",
        .resource_group = "rg",
        .location = "westus",
        .extended_location_name = "",
        .extended_location_type = "",
        .vnet_name = "vnet",
        .vnet_resource_group = "rg",
        .subnet_name = "subnet",
        .security_group_name = "nsg",
        .security_group_resource_group = "rg",
        .lb_resource_group = "rg",
        .pls_resource_group = "rg",
        .vm_type = AZURE_VM_VMSS,
        .vm_type_text = "vmss",
        .primary_availability_set = "as-primary",
        .primary_scale_set = "vmss",
        .standard_sku = true,
        .lb_sku_text = "standard",
        .lb_name = "",
        .preconfigured_pools = "",
        .max_rules = 250,
        .shared_probe_port = 10256,
        .shared_probe_path = "/healthz",
        .tags = "",
        .system_tags = "",
    };
}

/* A Service "default/<name>" with that UID; `annotations` is a JSON object whose keys lack the
 * prefix, `spec` the members of spec; both may be NULL. */
static inline const struct tt_service *azure_test_service(struct arena *a, const char *name,
                                                          const char *annotations, const char *spec)
{
    struct json_object *given = pure_json(a, annotations == NULL ? "{}" : annotations);
    struct json_object *full = json_object_new_object();
    json_object_object_foreach(given, key, value)
    {
        json_add(full, arena_printf(a, "%s%s", AZURE_ANNOTATION_PREFIX, key),
                 json_object_get(value));
    }
    char *text = json_text(a, full, JSON_COMPACT);
    json_object_put(full);
    return test_service_text(
        a, arena_printf(a,
                        "{\"metadata\":{\"namespace\":\"default\",\"name\":\"%s\",\"uid\":\"%s\","
                        "\"annotations\":%s},\"spec\":{\"type\":\"LoadBalancer\"%s%s}}",
                        name, name, text, spec == NULL ? "" : ",", spec == NULL ? "" : spec));
}

/* The elements of a JSON array of documents. */
static inline struct json_object *const *azure_test_docs(struct arena *a, const char *text,
                                                         size_t *ret_n)
{
    struct json_object *array = pure_json(a, text);
    size_t n = json_len(array);
    struct json_object **items = ARENA_ARRAY(a, struct json_object *, n);
    for (size_t i = 0; i < n; i++) {
        items[i] = json_object_array_get_idx(array, i);
    }
    *ret_n = n;
    return items;
}

#endif
