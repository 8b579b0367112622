/* SPDX-License-Identifier: Apache-2.0 */
/* azure_lb_handover_rules.c: see azure_lb_handover_rules.h. */
#include "providers/azure/lb/azure_lb_handover_rules.h"
#include "common/base/attr.h"
#include "common/base/str.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/pip/azure_pip_find.h"

#define FRONTENDS "frontendIPConfigurations"
#define RULES     "loadBalancingRules"

/* Does another frontend of `doc` ask for the private address that this one has? */
static bool gives_up(struct json_object *frontend, struct json_object *doc)
{
    const char *address = azure_prop_str(frontend, "privateIPAddress");
    struct json_object *o;
    AZURE_EACH (o, address != NULL ? azure_array(doc, FRONTENDS) : NULL) {
        if (azure_address_eq(str_nonnull(azure_prop_str(o, "privateIPAddress")), address) &&
            !azure_eq(azure_doc_name(o), azure_doc_name(frontend))) {
            return true;
        }
    }
    return false;
}

static void drop_rules(struct json_object *lb, const char *frontend)
{
    struct json_object *rules = azure_array(lb, RULES);
    for (size_t i = json_len(rules); i > 0; i--) {
        struct json_object *o = json_object_array_get_idx(rules, i - 1);
        if (azure_id_eq(azure_ref(o, "frontendIPConfiguration"), frontend)) {
            azure_array_drop(rules, i - 1);
        }
    }
}

/* Outbound rules, and what else of the balancer names a frontend beside load balancing rules. */
static bool is_held(struct json_object *lb, const char *frontend)
{
    static const char *const arrays[] = {"outboundRules", "inboundNatRules", "inboundNatPools"};
    struct json_object *o, *ref;
    for (size_t i = 0; i < ARRAY_LEN(arrays); i++) {
        AZURE_EACH (o, azure_array(lb, arrays[i])) {
            if (azure_id_eq(azure_ref(o, "frontendIPConfiguration"), frontend)) {
                return true;
            }
            AZURE_EACH (ref, azure_array(o, FRONTENDS)) {
                if (azure_id_eq(json_str(ref, "id"), frontend)) {
                    return true;
                }
            }
        }
    }
    return false;
}

struct json_object *azure_lb_before_handover(struct arena *a, struct json_object *was,
                                             struct json_object *doc,
                                             struct azure_elements *ret_gone)
{
    struct json_object *frontends = azure_array(was, FRONTENDS);
    struct json_object *between = NULL;
    *ret_gone = (struct azure_elements){
        .items = ARENA_ARRAY(a, struct json_object *, json_len(frontends) + 1)};
    for (size_t i = json_len(frontends); i > 0; i--) {
        struct json_object *o = json_object_array_get_idx(frontends, i - 1);
        if (!gives_up(o, doc)) {
            continue;
        }
        if (is_held(was, azure_doc_id(o))) {
            return NULL;
        }
        between = between != NULL ? between : azure_copy(a, was);
        drop_rules(between, azure_doc_id(o));
        azure_array_drop(azure_array(between, FRONTENDS), i - 1);
        ret_gone->items[ret_gone->n++] = o;
    }
    return between;
}
