/* SPDX-License-Identifier: Apache-2.0 */
/* gce_network_rules.c: see gce_network_rules.h. */
#include "providers/gce/model/gce_network_rules.h"

#include "common/base/str.h"
#include "common/net/url_build.h"
#include "providers/gce/model/gce_links.h"

#include <string.h>
#include <strings.h>

#define OWN_NETWORK  "default" /* the Network object of the cluster's own network */
#define GROUP        "networking.gke.io"
#define PARAMS_KIND  "GKENetworkParamSet"
#define TYPE_L3      "L3"
#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-"

const char *gce_network_of_service(const struct tt_service *s)
{
    for (uint32_t i = 0; i < s->n_selector; i++) {
        const char *name = s->selector[i].value;
        if (str_eq(s->selector[i].key, GCE_NETWORK_SELECTOR)) {
            return str_is_empty(name) || str_eq(name, OWN_NETWORK) ? NULL : name;
        }
    }
    return NULL;
}

/* ---- the two objects ------------------------------------------------------------------------- */

static bool refers_to_params(struct json_object *ref)
{
    const char *kind = str_nonnull(json_str(ref, "kind"));
    return str_eq(json_str(ref, "group"), GROUP) && strcasecmp(kind, PARAMS_KIND) == 0 &&
           !str_is_empty(json_str(ref, "name"));
}

int gce_network_params_name(struct arena *a, const char *name, struct json_object *o,
                            const char **ret, struct err *err)
{
    struct json_object *spec = json_member(o, "spec");
    struct json_object *ref = json_member(spec, "parametersRef");
    if (o == NULL) {
        return err_set(err, ERR_INVALID, "network %s does not exist", name);
    }
    if (!str_eq(json_str(spec, "type"), TYPE_L3)) {
        return err_set(err, ERR_INVALID,
                       "network.Spec.Type=%s is not supported for multinetwork LoadBalancer "
                       "services, the only supported network type is L3",
                       str_nonnull(json_str(spec, "type")));
    }
    if (!refers_to_params(ref)) {
        return err_set(err, ERR_INVALID,
                       "network.Spec.ParametersRef does not refer a GKENetworkParamSet resource");
    }
    if (json_member(ref, "namespace") != NULL) {
        return err_set(err, ERR_INVALID,
                       "network.Spec.ParametersRef.namespace must not be set for "
                       "GKENetworkParamSet reference as it is a cluster scope resource");
    }
    *ret = arena_strdup(a, json_str(ref, "name"));
    return ERR_OK;
}

/* Upstream puts whatever stands there into a link; here it must be a name, else the link
 * could lead anywhere. */
static int check_name(const char *object, const char *member, const char *name, struct err *err)
{
    if (str_is_empty(name) || name[strspn(name, NAME_LETTERS)] != '\0') {
        return err_set(err, ERR_INVALID, "GKENetworkParamSet %s: %s \"%s\" is no name", object,
                       member, str_nonnull(name));
    }
    return ERR_OK;
}

int gce_network_place_of(struct arena *a, const struct gce_network_links *l, const char *name,
                         struct json_object *o, struct gce_network_place *ret, struct err *err)
{
    struct json_object *spec = json_member(o, "spec");
    const char *vpc = json_str(spec, "vpc");
    const char *subnet = json_str(spec, "vpcSubnet");
    if (o == NULL) {
        return err_set(err, ERR_INVALID, "GKENetworkParamSet %s was not found", name);
    }
    int rc = check_name(name, "spec.vpc", vpc, err);
    if (rc == ERR_OK) {
        rc = check_name(name, "spec.vpcSubnet", subnet, err);
    }
    if (rc == ERR_OK) {
        *ret = (struct gce_network_place){
            .network =
                URL_RESOURCE_PATH(a, l->projects_base, l->project, "global", "networks", vpc),
            .subnetwork = URL_RESOURCE_PATH(a, l->projects_base, l->project, "regions", l->region,
                                            "subnetworks", subnet)};
    }
    return rc;
}

/* ---- what stands elsewhere ------------------------------------------------------------------- */

static const struct gce_network_seen *find_elsewhere(const struct gce_network_case *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const char *network = c->seen[i].network;
        if (!str_is_empty(network) && !gce_link_same(network, c->wanted)) {
            return &c->seen[i];
        }
    }
    return NULL;
}

int gce_network_check_seen(const struct gce_network_case *c, struct err *err)
{
    const struct gce_network_seen *one = find_elsewhere(c);
    if (c->enabled) {
        return one == NULL ? ERR_OK
                           : err_set(err, ERR_INVALID,
                                     "%s %s is in network %s, not in %s: a load balancer cannot "
                                     "move to another network; make the Service anew",
                                     one->what, one->name, gce_link_last(one->network),
                                     gce_link_last(c->wanted));
    }
    if (c->selected == NULL) {
        return ERR_OK;
    }
    if (one != NULL) {
        return err_set(err, ERR_INVALID,
                       "%s %s is in network %s, and the Service selects network %s, but "
                       "--enable-multi-networking is off: nothing is changed",
                       one->what, one->name, gce_link_last(one->network), c->selected);
    }
    if (c->groups_instead_negs) {
        return err_set(err, ERR_INVALID,
                       "its backends are NEGs, and the Service selects network %s, but "
                       "--enable-multi-networking is off: nothing is changed",
                       c->selected);
    }
    return ERR_OK;
}
