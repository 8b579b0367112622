/* SPDX-License-Identifier: Apache-2.0 */
/* metadata.c: the metadata server of a virtual machine, and the token endpoint beside it.
 *
 * Serves what controllers ask: project, zone, network, tokens.  Requests need the header
 * Metadata-Flavor: Google, answers carry it.  The calls are counted under "metadata" and go to no
 * log.
 * Source: gce-cloud-provider.md §1.5, §2.1. */
#include "sim/compute/compute.h"

#include <string.h>

#define ROOT          "/computeMetadata/v1/"
#define TOKEN_LIFE_S  3600
#define TOKEN_SPARE_S 300 /* a cached token that lives shorter is replaced */

static int meta_init(struct sim *sim, void **ret_state, struct err *err)
{
    (void)err;
    *ret_state = sim_module_state(sim, "gce"); /* borrowed: the Compute module's */
    return ERR_OK;
}

static void meta_done(void *state)
{
    (void)state;
}

static bool meta_claims(const void *state, const char *method, const char *path)
{
    (void)state;
    return (str_eq(path, "/") && !str_eq(method, "POST")) ||
           str_has_prefix(path, "/computeMetadata") || str_eq(path, "/token");
}

static void meta_name_call(void *state, struct sim_call *call)
{
    (void)state;
    if (str_eq(call->path, "/")) {
        call->op = "probe";
    } else if (str_has_suffix(call->path, "/token")) {
        call->op = "token";
    } else if (str_has_prefix(call->path, ROOT)) {
        call->op = call->path + strlen(ROOT);
    }
}

static void answer_text(struct sim_call *call, int status, const char *type, const char *text)
{
    http_req_add_header(call->req, "Metadata-Flavor", "Google");
    http_req_add_header(call->req, "Server", "Metadata Server for VM");
    sim_answer_text(call, status, type, text);
}

static void answer_token(struct compute *c, struct sim_call *call)
{
    int64_t now = clock_wall_s(sim_clock(c->sim));
    const int64_t *expiry = c->metadata_token ? map_get(c->tokens, c->metadata_token) : NULL;
    if (!expiry || *expiry - now < TOKEN_SPARE_S) {
        free(c->metadata_token);
        c->metadata_token = xstrdup(ce_token_new(c, call->arena, TOKEN_LIFE_S));
        expiry = map_get(c->tokens, c->metadata_token);
    }
    struct json_object *o = json_object_new_object();
    json_add_str(o, "access_token", c->metadata_token);
    json_add_int(o, "expires_in", *expiry - now);
    json_add_str(o, "token_type", "Bearer");
    char *text = json_text(call->arena, o, JSON_COMPACT);
    json_object_put(o);
    answer_text(call, 200, "application/json", text);
}

/* The text of a metadata path, or NULL. */
static const char *value_of(struct compute *c, struct arena *a, const char *path)
{
    size_t n = 0;
    const char **zones = sim_compute_zones(c, a, &n);
    const char *zone = n ? zones[0] : "us-central1-a";
    struct {
        const char *path;
        const char *value;
    } rows[] = {
        {"project/project-id", c->project},
        {"project/numeric-project-id", COMPUTE_PROJECT_NUMBER},
        {"instance/zone", arena_printf(a, "projects/" COMPUTE_PROJECT_NUMBER "/zones/%s", zone)},
        {"instance/network-interfaces/0/network",
         "projects/" COMPUTE_PROJECT_NUMBER "/networks/" SIM_NETWORK},
        {"instance/network-interfaces/", "0/\n"},
        {"instance/network-interfaces/0/ip", "10.128.0.2"},
        {"instance/network-interfaces/0/access-configs/", "0/\n"},
        {"instance/network-interfaces/0/access-configs/0/external-ip", ""},
        {"instance/hostname", arena_printf(a, "controller.c.%s.internal", c->project)},
        {"instance/machine-type",
         arena_printf(a, "projects/" COMPUTE_PROJECT_NUMBER "/machineTypes/e2-medium")},
        {"instance/service-accounts/", "default/\n"},
        {"instance/service-accounts/default/email",
         arena_printf(a, "trimtab-sim@%s.iam.gserviceaccount.com", c->project)},
        {"instance/service-accounts/default/scopes",
         "https://www.googleapis.com/auth/cloud-platform\n"},
        {"universe/universe-domain", "googleapis.com"},
        {"universe/universe_domain", "googleapis.com"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_eq(rows[i].path, path)) {
            return rows[i].value;
        }
    }
    return NULL;
}

static void meta_handle(void *state, struct sim_call *call)
{
    struct compute *c = state;
    if (str_eq(call->path, "/token")) {
        ce_token_handle(c, call);
        return;
    }
    if (str_eq(call->path, "/")) {
        answer_text(call, 200, "text/plain", "computeMetadata/\n");
        return;
    }
    if (!str_eq(http_req_header(call->req, "Metadata-Flavor"), "Google")) {
        answer_text(call, 403, "text/plain", "Missing Metadata-Flavor:Google header.\n");
        return;
    }
    const char *path = str_has_prefix(call->path, ROOT) ? call->path + strlen(ROOT) : "";
    if (str_eq(path, "instance/service-accounts/default/token")) {
        answer_token(c, call);
        return;
    }
    const char *value = value_of(c, call->arena, path);
    if (value) {
        answer_text(call, 200, "application/text", value);
    } else {
        answer_text(call, 404, "text/plain", "Not Found\n");
    }
}

const struct sim_module sim_metadata_module = {
    .name = "metadata",
    .init = meta_init,
    .done = meta_done,
    .claims = meta_claims,
    .name_call = meta_name_call,
    .handle = meta_handle,
};
