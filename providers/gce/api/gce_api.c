/* SPDX-License-Identifier: Apache-2.0 */
/* gce_api.c: names, places and URLs of calls; see gce_api.h.  The state machine
 * is in gce_call.c. */
#include "providers/gce/api/gce_api.h"

#include "common/base/str.h"
#include "common/net/url_build.h"
#include "providers/gce/api/gce_call.h"
#include "providers/gce/model/gce_links.h"

#include <string.h>

enum place {
    REGIONAL = 0,
    GLOBAL,
    REGIONAL_NETWORK,
    GLOBAL_NETWORK,
    ZONAL,
    PROJECT,
    PROJECTS,
};

static const struct {
    const char *name; /* in paths */
    enum place place;
    const char *kind;   /* of a resource; of a list with "List" behind it */
    const char *metric; /* prefix of the request label, §14.1 */
    const char *suffix;
    const char *id; /* in method ids, where that is another one; or NULL */
} collections[GCE_COLLECTION_MAX] = {
    [GCE_ADDRESSES] = {"addresses", REGIONAL, "compute#address", "address", ""},
    [GCE_RULES] = {"forwardingRules", REGIONAL, "compute#forwardingRule", "forwardingrule", ""},
    [GCE_POOLS] = {"targetPools", REGIONAL, "compute#targetPool", "targetpool", ""},
    [GCE_FIREWALLS] = {"firewalls", GLOBAL_NETWORK, "compute#firewall", "firewall", ""},
    [GCE_CHECKS] = {"httpHealthChecks", GLOBAL, "compute#httpHealthCheck", "healthcheck",
                    "_legacy"},
    [GCE_INSTANCES] = {"instances", ZONAL, "compute#instance", "instances", ""},
    [GCE_PROJECTS] = {"projects", PROJECTS, "compute#project", "projects", ""},
    [GCE_BACKENDS] = {"backendServices", REGIONAL, "compute#backendService", "backendservice", "",
                      "regionBackendServices"},
    [GCE_HCS] = {"healthChecks", GLOBAL, "compute#healthCheck", "healthcheck", ""},
    [GCE_REGION_HCS] = {"healthChecks", REGIONAL, "compute#healthCheck", "healthcheck", "",
                        "regionHealthChecks"},
    [GCE_NEGS] = {"networkEndpointGroups", ZONAL, "compute#networkEndpointGroup",
                  "networkendpointgroup", ""},
    [GCE_GROUPS] = {"instanceGroups", ZONAL, "compute#instanceGroup", "instancegroup", ""},
    [GCE_SUBNETWORKS] = {"subnetworks", REGIONAL_NETWORK, "compute#subnetwork", "subnetwork", ""},
    [GCE_ZONES] = {"zones", PROJECT, "compute#zone", "zones", ""},
    [GCE_NETWORKS] = {"networks", GLOBAL_NETWORK, "compute#network", "networks", ""},
    [GCE_GLOBAL_RULES] = {"forwardingRules", GLOBAL, "compute#forwardingRule", "forwardingrule", "",
                          "globalForwardingRules"},
    [GCE_GLOBAL_BACKENDS] = {"backendServices", GLOBAL, "compute#backendService", "backendservice",
                             ""},
};

static const struct {
    const char *name; /* last part of the operation id */
    const char *method;
    const char *action; /* path after the resource, or NULL */
    const char *metric;
    const char *list_kind; /* of POSTs that read */
    const char *body;      /* of those, when the caller has none */
} verbs[GCE_VERB_MAX] = {
    [GCE_GET] = {"get", "GET", NULL, "get"},
    [GCE_LIST] = {"list", "GET", NULL, "list"},
    [GCE_INSERT] = {"insert", "POST", NULL, "create"},
    [GCE_DELETE] = {"delete", "DELETE", NULL, "delete"},
    [GCE_PATCH] = {"patch", "PATCH", NULL, "patch"},
    [GCE_UPDATE] = {"update", "PUT", NULL, "update"},
    [GCE_ADD_INSTANCE] = {"addInstance", "POST", "addInstance", "add_instances"},
    [GCE_REMOVE_INSTANCE] = {"removeInstance", "POST", "removeInstance", "remove_instances"},
    [GCE_ADD_CHECK] = {"addHealthCheck", "POST", "addHealthCheck", "add_healthcheck"},
    [GCE_REMOVE_CHECK] = {"removeHealthCheck", "POST", "removeHealthCheck", "remove_healthcheck"},
    [GCE_ATTACH] = {"attachNetworkEndpoints", "POST", "attachNetworkEndpoints", "attach"},
    [GCE_DETACH] = {"detachNetworkEndpoints", "POST", "detachNetworkEndpoints", "detach"},
    [GCE_LIST_ENDPOINTS] = {"listNetworkEndpoints", "POST", "listNetworkEndpoints",
                            "list_networkendpoints",
                            "compute#networkEndpointGroupsListNetworkEndpoints",
                            "{\"healthStatus\":\"SKIP\"}"},
    [GCE_ADD_INSTANCES] = {"addInstances", "POST", "addInstances", "add_instances"},
    [GCE_REMOVE_INSTANCES] = {"removeInstances", "POST", "removeInstances", "remove_instances"},
    [GCE_LIST_INSTANCES] = {"listInstances", "POST", "listInstances", "list_instances",
                            "compute#instanceGroupsListInstances", "{\"instanceState\":\"ALL\"}"},
    [GCE_LIST_ALL] = {"aggregatedList", "GET", NULL, "aggregated_list"},
};

const char *gce_verb_method(enum gce_verb v)
{
    return verbs[v].method;
}

const char *gce_verb_body(enum gce_verb v)
{
    return verbs[v].body;
}

bool gce_verb_lists(enum gce_verb v)
{
    return v == GCE_LIST || v == GCE_LIST_ALL || verbs[v].list_kind != NULL;
}

bool gce_verb_mutates(enum gce_verb v)
{
    return v != GCE_GET && !gce_verb_lists(v);
}

bool gce_api_is_one_of(enum gce_collection c, struct json_object *o)
{
    const char *kind = json_str(o, "kind");
    bool whole = c != GCE_RULES || !str_is_empty(json_str(o, "IPAddress"));
    return whole && (kind == NULL || str_eq(kind, collections[c].kind));
}

bool gce_api_is_list_of(enum gce_collection c, enum gce_verb v, struct json_object *o)
{
    const char *kind = str_nonnull(json_str(o, "kind"));
    const char *singular = collections[c].kind;
    if (verbs[v].list_kind != NULL) {
        return str_eq(kind, verbs[v].list_kind);
    }
    return str_has_prefix(kind, singular) &&
           str_eq(kind + strlen(singular), v == GCE_LIST_ALL ? "AggregatedList" : "List");
}

bool gce_api_collection_of(const char *name, bool regional, enum gce_collection *ret)
{
    bool found = false;
    for (int c = 0; c < GCE_COLLECTION_MAX && !found; c++) {
        bool is_regional =
            collections[c].place == REGIONAL || collections[c].place == REGIONAL_NETWORK;
        found = str_eq(collections[c].name, name) && is_regional == regional;
        *ret = found ? (enum gce_collection)c : *ret;
    }
    return found;
}

bool gce_api_is_zonal(enum gce_collection c)
{
    return collections[c].place == ZONAL;
}

bool gce_api_is_local(enum gce_collection c)
{
    enum place place = collections[c].place;
    return place == REGIONAL || place == REGIONAL_NETWORK || place == ZONAL;
}

const char *gce_api_collection_name(enum gce_collection c)
{
    return collections[c].name;
}

const char *gce_api_op_id(struct arena *a, enum gce_collection c, enum gce_verb v)
{
    return arena_printf(a, "compute.%s.%s", str_or(collections[c].id, collections[c].name),
                        verbs[v].name);
}

const char *gce_metric_request(struct arena *a, enum gce_collection c, enum gce_verb v)
{
    const char *verb = verbs[v].metric;
    if (c == GCE_ADDRESSES && v == GCE_INSERT) {
        verb = "reserve";
    } else if (c == GCE_FIREWALLS && v == GCE_PATCH) {
        verb = "Patch";
    }
    return arena_printf(a, "%s_%s%s", collections[c].metric, verb, collections[c].suffix);
}

/* "projects/P", "projects/P/regions/R" …: what a collection and its operations hang below. */
static const char *place_path(struct arena *a, const struct gce_api *api, enum gce_collection c,
                              const char *zone)
{
    switch (collections[c].place) {
    case REGIONAL:
        return URL_RESOURCE_PATH(a, "projects", api->project, "regions", api->region);
    case GLOBAL:
        return URL_RESOURCE_PATH(a, "projects", api->project, "global");
    case REGIONAL_NETWORK:
        return URL_RESOURCE_PATH(a, "projects", api->network_project, "regions", api->region);
    case GLOBAL_NETWORK:
        return URL_RESOURCE_PATH(a, "projects", api->network_project, "global");
    case ZONAL:
        return URL_RESOURCE_PATH(a, "projects", api->project, "zones", zone);
    case PROJECT:
        return URL_RESOURCE_PATH(a, "projects", api->project);
    case PROJECTS:
        break;
    }
    return "projects";
}

const char *gce_operations_id(enum gce_collection c)
{
    switch (collections[c].place) {
    case REGIONAL:
    case REGIONAL_NETWORK:
        return "compute.regionOperations.wait";
    case ZONAL:
        return "compute.zoneOperations.wait";
    case GLOBAL:
    case GLOBAL_NETWORK:
    case PROJECT:
    case PROJECTS:
        break;
    }
    return "compute.globalOperations.wait";
}

const char *gce_metric_region(const struct gce_api *api, enum gce_collection c)
{
    bool regional = collections[c].place == REGIONAL || collections[c].place == REGIONAL_NETWORK;
    return regional ? api->region : "<n/a>";
}

const char *gce_call_path(struct arena *a, const struct gce_api *api, const struct gce_call_spec *s)
{
    const char *place = place_path(a, api, s->collection, s->zone);
    if (collections[s->collection].place == PROJECTS) {
        return URL_RESOURCE_PATH(a, place, s->name);
    }
    if (s->verb == GCE_LIST_ALL) {
        place = URL_RESOURCE_PATH(a, "projects", api->project, "aggregated");
    }
    const char *path = URL_RESOURCE_PATH(a, place, collections[s->collection].name);
    if (s->name != NULL) {
        path = URL_RESOURCE_PATH(a, path, s->name);
    }
    if (verbs[s->verb].action != NULL) {
        path = URL_RESOURCE_PATH(a, path, verbs[s->verb].action);
    }
    return path;
}

const char *gce_wait_path(struct arena *a, const struct gce_api *api, const struct gce_call_spec *s,
                          const char *operation)
{
    return URL_RESOURCE_PATH(a, place_path(a, api, s->collection, s->zone), "operations", operation,
                             "wait");
}

struct gce_api gce_api_beta(struct arena *a, const struct gce_api *api)
{
    static const char v1[] = "/v1/";
    struct gce_api beta = *api;
    if (str_has_suffix(api->base, v1)) {
        beta.base =
            url_join(a, arena_strndup(a, api->base, strlen(api->base) - strlen(v1)), "/beta/");
        beta.version = "beta";
    }
    return beta;
}

char *gce_api_zonal_link(struct arena *a, const struct gce_api *api, enum gce_collection c,
                         const char *zone, const char *name)
{
    return url_join(a, api->base,
                    URL_RESOURCE_PATH(a, place_path(a, api, c, zone), collections[c].name, name));
}
