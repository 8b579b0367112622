/* SPDX-License-Identifier: Apache-2.0 */
/* gce_network.c: see gce_network.h. */
#include "providers/gce/cache/gce_network.h"

#include "common/base/str.h"
#include "providers/gce/model/gce_l4_rules.h"

/* An object that is not there is no error here: *ret is NULL then. */
static int read_object(const struct gce_network_reads *r, const char *resource, const char *name,
                       struct json_object **ret, struct err *err)
{
    const struct tt_kube_ref ref = {
        .api_version = GCE_NETWORK_VERSION, .resource = resource, .name = name};
    const struct gce_kube_text got =
        gce_kube_texts_get(r->texts, r->host, r->call, r->a, &ref, false);
    if (got.code == TT_OK && got.o == NULL) {
        return err_set(err, ERR_TRANSIENT, "%s %s was answered with no JSON", resource, name);
    }
    if (got.code != TT_OK && got.code != TT_NOT_FOUND) {
        (void)err_set(err, got.code, "%s %s could not be read: %s", resource, name,
                      err_code_name(got.code));
        return gce_l4_error_of_kube(err, got.code);
    }
    *ret = got.o;
    return ERR_OK;
}

int gce_network_find(const struct gce_network_reads *r, const struct gce_network_links *links,
                     const char *name, struct gce_network_place *ret, struct err *err)
{
    struct json_object *o = NULL;
    const char *params = NULL;
    int rc = read_object(r, GCE_NETWORK_CRD, name, &o, err);
    if (rc == ERR_OK) {
        rc = gce_network_params_name(r->a, name, o, &params, err);
    }
    if (rc == ERR_OK) {
        o = NULL;
        rc = read_object(r, GCE_NETWORK_PARAMS_CRD, params, &o, err);
    }
    return rc != ERR_OK ? rc : gce_network_place_of(r->a, links, params, o, ret, err);
}
