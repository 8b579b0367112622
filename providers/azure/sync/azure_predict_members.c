/* SPDX-License-Identifier: Apache-2.0 */
/* azure_predict_members.c: what a planned write says of other documents: pools of balancers list
 * their members, and a balancer that goes takes its pools from the interfaces of machines
 * (docs/spec/azure.md 3.10, 5.8).  Part of azure_predict.h.
 *
 * Only plans come here.  The first write that concerns a balancer copies its document, the others
 * edit that copy. */
#include "providers/azure/sync/azure_predict.h"

#include "common/base/str.h"
#include "common/net/url_build.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/model/azure_names.h"

#include <string.h>

#define MEMBERS "backendIPConfigurations"
#define REFS    "loadBalancerBackendAddressPools"

/* The balancer as the plan leaves it so far, to be edited; NULL: it is not there. */
static struct json_object *editable(struct azure_sync *y, const char *id)
{
    struct json_object *lb = azure_predicted_doc(y, AZURE_LBS, id);
    if (lb != NULL) {
        return lb;
    }
    for (size_t i = 0; i < y->lbs.n; i++) {
        if (azure_id_eq(azure_doc_id(y->lbs.items[i]), id)) {
            azure_predict(y, AZURE_LBS, id, y->lbs.items[i]);
            return azure_predicted_doc(y, AZURE_LBS, id);
        }
    }
    return NULL;
}

/* ---- pools that are written by themselves ---------------------------------------------------- */

static void pool_written(struct azure_sync *y, const char *id, struct json_object *doc)
{
    const char *array = strstr(id, "/backendAddressPools/");
    const char *lb = array != NULL ? arena_strndup(y->s->a, id, (size_t)(array - id)) : "";
    struct json_object *pool =
        azure_find(azure_array(editable(y, lb), "backendAddressPools"), azure_id_last(id));
    if (pool != NULL && doc != NULL) {
        json_add(pool, "properties", json_copy(azure_props(doc)));
    }
}

/* ---- machines -------------------------------------------------------------------------------- */

struct joining {
    struct azure_sync *y;
    const char *pool;
    struct json_object *members; /* of the pool */
};

static void join_configs(const struct joining *j, const char *interface,
                         struct json_object *configs)
{
    struct json_object *config, *ref;
    AZURE_EACH (config, configs) {
        AZURE_EACH (ref, azure_array(config, REFS)) {
            if (azure_id_eq(azure_doc_id(ref), j->pool)) {
                const char *id = URL_RESOURCE_PATH(j->y->s->a, interface, "ipConfigurations",
                                                   azure_doc_name(config));
                (void)json_object_array_add(j->members, azure_ref_new(id));
            }
        }
    }
}

static void join(const struct joining *j, enum azure_kind kind, const char *id,
                 struct json_object *doc)
{
    struct json_object *nic;
    if (kind == AZURE_NICS) {
        join_configs(j, id, azure_array(doc, "ipConfigurations"));
    }
    AZURE_EACH (nic, json_path(doc, "properties.networkProfileConfiguration."
                                    "networkInterfaceConfigurations")) {
        join_configs(j, URL_RESOURCE_PATH(j->y->s->a, id, "networkInterfaces", azure_doc_name(nic)),
                     azure_array(nic, "ipConfigurations"));
    }
}

/* Leaves every pool, and joins those that its document names. */
static void machine_written(struct azure_sync *y, enum azure_kind kind, const char *id,
                            struct json_object *doc)
{
    const char *prefix = URL_RESOURCE_PATH(y->s->a, id, "");
    for (size_t i = 0; i < y->lbs.n; i++) {
        struct json_object *lb = editable(y, azure_doc_id(y->lbs.items[i]));
        struct json_object *pool;
        AZURE_EACH (pool, azure_array(lb, "backendAddressPools")) {
            struct json_object *members = azure_array_make(pool, MEMBERS);
            for (size_t k = json_len(members); k > 0; k--) {
                const char *member = azure_doc_id(json_object_array_get_idx(members, k - 1));
                if (azure_has_prefix(member, prefix)) {
                    azure_array_drop(members, k - 1);
                }
            }
            const struct joining j = {.y = y, .pool = azure_doc_id(pool), .members = members};
            join(&j, kind, id, doc);
        }
    }
}

void azure_predict_members(struct azure_sync *y, enum azure_kind kind, const char *id,
                           struct json_object *doc)
{
    if (kind == AZURE_POOLS) {
        pool_written(y, id, doc);
    } else if (kind == AZURE_NICS || kind == AZURE_VMSS_VMS) {
        machine_written(y, kind, id, doc);
    }
}

/* ---- interfaces of a balancer that goes ------------------------------------------------------ */

static bool leave(struct json_object *nic, const char *pools)
{
    struct json_object *config;
    bool left = false;
    AZURE_EACH (config, azure_array(nic, "ipConfigurations")) {
        struct json_object *refs = azure_array(config, REFS);
        for (size_t i = json_len(refs); i > 0; i--) {
            if (azure_has_prefix(azure_doc_id(json_object_array_get_idx(refs, i - 1)), pools)) {
                azure_array_drop(refs, i - 1);
                left = true;
            }
        }
    }
    return left;
}

struct json_object *azure_predict_detached(struct azure_sync *y, struct json_object *nics,
                                           const char *lb)
{
    const char *pools = URL_RESOURCE_PATH(y->s->a, lb, "backendAddressPools", "");
    struct json_object *now = azure_own(y->s->a, json_object_new_array());
    struct json_object *o;
    AZURE_EACH (o, nics) {
        struct json_object *nic = azure_copy(y->s->a, o);
        (void)json_object_array_add(now, json_object_get(leave(nic, pools) ? nic : o));
    }
    return now;
}
