/* SPDX-License-Identifier: Apache-2.0 */
/* gce_facts.c: see gce_facts.h. */
#include "providers/gce/cache/gce_facts.h"

#include "common/base/str.h"
#include "common/lb/request_count.h"
#include "common/net/retry.h"
#include "common/net/url_build.h"
#include "providers/gce/model/gce_links.h"

#include <string.h>

#define DEFAULT_API "https://compute.googleapis.com/compute/v1/"
#define DEFAULT_LINK                                                                               \
    "https://www.googleapis.com/compute/v1/" /* of links that upstream builds (§1.3) */
#define METADATA_MAX (64 * 1024)

static const struct retry_policy metadata_policy = {
    .max_attempts = 6,
    .base_ms = 100,
    .cap_ms = 30000,
    .budget_ms = 60000,
    .full_jitter = true,
};

/* One text of the metadata server. */
static int metadata_get(struct arena *a, struct http *http, const char *base, const char *path,
                        const char **ret, struct err *err)
{
    const struct http_header headers[] = {{"Metadata-Flavor", "Google"}};
    struct url_build url;
    url_build_begin(&url, base);
    url_build_path(&url, "path", "computeMetadata/v1");
    url_build_path(&url, "path", path);
    struct http_request req = {
        .api = REQUEST_API_METADATA,
        .op = path,
        .method = "GET",
        .url = url_build_text(&url, a),
        .headers = headers,
        .n_headers = 1,
        .connect_ms = 2000,
        .total_ms = 5000,
        .direct = true,
        .max_body = METADATA_MAX,
    };
    struct retry retry;
    if (http == NULL) {
        return err_set(err, ERR_INVALID, "a saved state has no metadata server to ask");
    }
    retry_begin(&retry, &metadata_policy, clock_now_ms(clock_real()));
    for (;;) {
        struct http_response resp = {0};
        int rc = http_do(http, a, &req, NULL, &resp, err);
        if (rc == ERR_OK && resp.status == 200) {
            *ret = str_trim(a, resp.body);
            return ERR_OK;
        }
        bool transient =
            rc == ERR_TRANSIENT || (rc == ERR_OK && retry_classify(resp.status) != ERR_OK);
        if (!transient || !retry_next(&retry, clock_now_ms(clock_real()), 0, rng_unit(rng_real()),
                                      &req.not_before_ms)) {
            if (rc == ERR_OK) {
                return err_set(err, ERR_INVALID, "metadata server %s: %s answered %d",
                               base + strlen("http://"), path, resp.status);
            }
            (void)err_prefix(err, "metadata server");
            return rc;
        }
        err_clear(err);
    }
}

/* Advice if the metadata server does not answer. */
static int advise(struct err *err, const char *keys)
{
    struct err why = *err;
    return err_set(err, why.code,
                   "%.700s; away from Google write %s into the cloud config; GCE_METADATA_HOST "
                   "names another metadata server",
                   why.message, keys);
}

/* "projects/NUM/zones/ZONE": the last of exactly four parts. */
static int fourth_part(struct arena *a, const char *text, const char **ret, struct err *err)
{
    size_t n;
    char **parts = str_split(a, text, '/', &n);
    if (n != 4) {
        return err_set(err, ERR_INVALID, "metadata server: unexpected response: %s", text);
    }
    *ret = parts[3];
    return ERR_OK;
}

/* One missing value makes upstream look up both; then the configuration wins. */
static int find_place(struct arena *a, const struct gce_config *c, const char *metadata,
                      struct http *http, struct gce_facts *f, struct err *err)
{
    f->project = c->project_id;
    f->zone = c->local_zone;
    if (*f->project != '\0' && *f->zone != '\0') {
        return ERR_OK;
    }
    const char *zone = NULL;
    const char *project = NULL;
    int rc = metadata_get(a, http, metadata, "instance/zone", &zone, err);
    if (rc == ERR_OK) {
        rc = fourth_part(a, zone, &zone, err);
    }
    if (rc == ERR_OK) {
        rc = metadata_get(a, http, metadata, "project/project-id", &project, err);
    }
    if (rc != ERR_OK) {
        (void)err_prefix(err, "project-id and local-zone are not both in the cloud config, and");
        return advise(err, "both");
    }
    f->project = str_or(c->project_id, project);
    f->zone = str_or(c->local_zone, zone);
    return ERR_OK;
}

static int find_network(struct arena *a, const struct gce_config *c, const char *metadata,
                        struct http *http, const char **ret_name, struct err *err)
{
    const char *text = NULL;
    if (*c->network_name != '\0') {
        *ret_name = c->network_name;
        return ERR_OK;
    }
    int rc = metadata_get(a, http, metadata, "instance/network-interfaces/0/network", &text, err);
    if (rc == ERR_OK) {
        rc = fourth_part(a, text, ret_name, err);
    }
    if (rc != ERR_OK) {
        (void)err_prefix(err, "network-name is not in the cloud config, and");
        return advise(err, "it");
    }
    return rc;
}

static void finish(struct arena *a, const struct gce_config *c, const char *network,
                   struct gce_facts *f)
{
    const char *base = *c->api_endpoint == '\0' ? DEFAULT_LINK : f->api_base;
    const char *subnetwork = str_nonnull(c->subnetwork_name);
    f->on_xpn = !str_eq(f->project, f->network_project);
    f->network_url = strchr(network, '/') != NULL
                         ? network
                         : URL_RESOURCE_PATH(a, base, "projects", f->network_project, "global",
                                             "networks", network);
    f->subnetwork_url = *subnetwork == '\0' || strchr(subnetwork, '/') != NULL
                            ? subnetwork
                            : URL_RESOURCE_PATH(a, base, "projects", f->network_project, "regions",
                                                f->region, "subnetworks", subnetwork);
}

int gce_facts_find(struct arena *a, const struct gce_config *c, const char *metadata_base,
                   struct http *http, struct gce_facts *ret, struct err *err)
{
    struct gce_facts f = {0};
    const char *network = "";
    int rc = find_place(a, c, metadata_base, http, &f, err);
    if (rc == ERR_OK) {
        rc = gce_region_of_zone(a, f.zone, &f.region, err);
    }
    if (rc == ERR_OK) {
        rc = find_network(a, c, metadata_base, http, &network, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    f.network_project = str_or(c->network_project_id, f.project);
    const char *api = str_or(c->api_endpoint, DEFAULT_API);
    /* Without its slash every path would replace the last segment (§15 row 26). */
    f.api_base = str_has_suffix(api, "/") ? api : arena_printf(a, "%s/", api);
    f.projects_base = gce_projects_base(a, f.api_base);
    finish(a, c, network, &f);
    *ret = f;
    return ERR_OK;
}

static bool is_number(const char *s)
{
    return *s != '\0' && strspn(s, "0123456789") == strlen(s);
}

static bool project_id(struct arena *a, struct gce_api *api, struct http *http, const char *number,
                       const char **ret, struct err *err)
{
    struct gce_read read;
    struct json_object *o;
    struct gce_call_spec spec = {.collection = GCE_PROJECTS, .verb = GCE_GET, .name = number};
    struct http_job *jobs[] = {&read.job};
    gce_read_init(&read, api, NULL, a, &spec);
    http_run(http, jobs, 1);
    if (gce_read_json(&read, a, &o, err) != ERR_OK || str_is_empty(json_str(o, "name"))) {
        return false;
    }
    *ret = arena_strdup(a, json_str(o, "name"));
    return true;
}

void gce_facts_name_projects(struct arena *a, const struct gce_config *c, struct gce_api *api,
                             struct http *http, struct gce_facts *f, const char **ret_note)
{
    const char *number = f->project;
    struct err err = ERR_INIT;
    *ret_note = NULL;
    if (is_number(f->project) && !project_id(a, api, http, number, &f->project, &err)) {
        *ret_note =
            arena_printf(a, "project %s: its id could not be found: %s", number, err.message);
    }
    if (str_eq(f->network_project, number)) {
        f->network_project = f->project;
    } else if (is_number(f->network_project) &&
               !project_id(a, api, http, f->network_project, &f->network_project, &err)) {
        *ret_note = arena_printf(a, "network project %s: its id could not be found: %s",
                                 f->network_project, err.message);
    }
    if (strchr(c->network_name, '/') == NULL) {
        finish(a, c, gce_link_last(f->network_url), f);
    } else {
        f->on_xpn = !str_eq(f->project, f->network_project);
    }
    api->project = f->project;
    api->network_project = f->network_project;
}
