/* SPDX-License-Identifier: Apache-2.0 */
/* module.c: the Compute API as a module of the simulator: its life, its part of a world, its
 * configuration.
 *
 * A world's member "gce" maps paths to resources, "members" holds what is in instance groups and
 * NEGs, "sim" settings (quotas, strict_address_delete).  Loading takes everything as it is; what
 * the world has no kind of is seeded.  Source: interfaces.md, "World". */
#include "sim/compute/compute.h"

#include <string.h>

static int module_init(struct sim *sim, void **ret_state, struct err *err)
{
    (void)err;
    struct compute *c = xcalloc(1, sizeof(*c));
    c->sim = sim;
    c->project = xstrdup(COMPUTE_PROJECT);
    c->next_id = 4100000000000000001ULL;
    c->windows = map_new(free);
    c->tokens = map_new(free);
    ce_store_clear(c);
    ce_operations_init(c);
    ce_seed_missing(c);
    *ret_state = c;
    return ERR_OK;
}

static void module_done(void *state)
{
    struct compute *c = state;
    ce_operations_done(c);
    ce_tokens_done(c);
    map_free(c->windows);
    map_free(c->machines);
    map_free(c->references);
    map_free(c->folders);
    map_free(c->endpoints);
    json_object_put(c->settings);
    free(c->project);
    free(c);
}

static bool module_claims(const void *state, const char *method, const char *path)
{
    (void)method;
    (void)state;
    return str_has_prefix(path, "/compute/");
}

/* --- settings --------------------------------------------------------------------------------- */

static int module_configure(void *state, struct json_object *settings, struct err *err)
{
    struct compute *c = state;
    int code = ce_settings_check(settings, err);
    if (!code) {
        c->settings = c->settings ? c->settings : json_object_new_object();
        json_add(c->settings, "gce", json_copy(settings));
    }
    return code;
}

/* --- worlds ----------------------------------------------------------------------------------- */

static int load_resources(struct compute *c, struct json_object *gce, struct err *err)
{
    json_object_object_foreach(gce, path, body)
    {
        if (!str_has_prefix(path, "projects/") || !json_object_is_type(body, json_type_object)) {
            return err_set(err, ERR_INVALID, "gce: \"%s\": want \"projects/…\" and an object",
                           path);
        }
        ce_store_put(c, path, json_copy(body));
        uint64_t id;
        const char *text = json_str(body, "id");
        if (text && str_to_u64(text, &id) && id >= c->next_id && id < UINT64_MAX / 2) {
            c->next_id = id + 1;
        }
    }
    return ERR_OK;
}

/* Endpoints are objects, members of instance groups texts. */
static struct json_object *shared_members(struct compute *c, struct json_object *list)
{
    struct json_object *out = json_object_new_array();
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *member = json_object_array_get_idx(list, i);
        bool is_endpoint = json_object_is_type(member, json_type_object);
        json_object_array_add(out, is_endpoint ? ce_endpoint_intern(c, member) : json_copy(member));
    }
    return out;
}

static int load_members(struct compute *c, struct json_object *members, struct err *err)
{
    json_object_object_foreach(members, path, list)
    {
        struct resource *res = ce_store_get(c, path);
        if (!json_object_is_type(list, json_type_array)) {
            return err_set(err, ERR_INVALID, "members: \"%s\": want a list", path);
        }
        if (!res) {
            return err_set(err, ERR_INVALID, "members: \"%s\" is not in gce", path);
        }
        json_object_put(res->members);
        res->members = shared_members(c, list);
    }
    return ERR_OK;
}

/* The project in the first path that has `mark`, else NULL; heap. */
static char *project_of_paths(struct json_object *gce, const char *mark)
{
    if (!gce) {
        return NULL;
    }
    json_object_object_foreach(gce, path, body)
    {
        (void)body;
        const char *name = path + strlen("projects/");
        if (str_has_prefix(path, "projects/") && strstr(name, mark)) {
            return xstrndup(name, strcspn(name, "/"));
        }
    }
    return NULL;
}

/* The project in "gce://PROJECT/ZONE/NAME" of the first node; heap. */
static char *project_of_nodes(struct json_object *world)
{
    static const char scheme[] = "gce://";
    struct json_object *nodes = json_path(world, "kubernetes.nodes");
    for (size_t i = 0; i < json_len(nodes); i++) {
        struct json_object *spec = json_member(json_object_array_get_idx(nodes, i), "spec");
        const char *id = json_str(spec, "providerID");
        if (id && str_has_prefix(id, scheme)) {
            id += strlen(scheme);
            return xstrndup(id, strcspn(id, "/"));
        }
    }
    return NULL;
}

/* Where the machines are: a host project of a shared network has none. */
static void find_project(struct compute *c, struct json_object *world)
{
    static const char *const marks[] = {"/instances/", "/zones/", "/"};
    char *project = NULL;
    for (size_t i = 0; i < ARRAY_LEN(marks) && !project; i++) {
        project = project_of_paths(json_member(world, "gce"), marks[i]);
    }
    if (!project) {
        project = project_of_nodes(world);
    }
    free(c->project);
    c->project = project ? project : xstrdup(COMPUTE_PROJECT);
}

static int module_load(void *state, struct json_object *world, struct err *err)
{
    struct compute *c = state;
    struct json_object *gce = json_member(world, "gce"), *members = json_member(world, "members");
    if ((gce && !json_object_is_type(gce, json_type_object)) ||
        (members && !json_object_is_type(members, json_type_object))) {
        return err_set(err, ERR_INVALID, "gce and members are objects");
    }
    struct json_object *settings = json_path(world, "sim.gce");
    if (settings && ce_settings_check(settings, err)) {
        return err->code;
    }
    ce_store_clear(c);
    json_object_put(c->settings);
    c->settings = json_member(world, "sim") ? json_copy(json_member(world, "sim")) : NULL;
    find_project(c, world);
    int code = gce ? load_resources(c, gce, err) : ERR_OK;
    if (!code && members) {
        code = load_members(c, members, err);
    }
    ce_seed_missing(c);
    return code;
}

struct dump {
    struct json_object *gce, *members;
};

/* A dump is only read: it shares bodies, without copies. */
static bool dump_one(struct resource *res, void *arg)
{
    struct dump *d = arg;
    json_add(d->gce, res->path, json_object_get(res->body));
    if (res->members) {
        json_add(d->members, res->path, json_object_get(res->members));
    }
    return true;
}

static void module_dump(void *state, struct json_object *world)
{
    struct compute *c = state;
    struct dump d = {json_object_new_object(), json_object_new_object()};
    ce_store_each(c, NULL, dump_one, &d);
    json_add(world, "gce", d.gce);
    json_add(world, "members", d.members);
    if (c->settings) {
        json_add(world, "sim", json_copy(c->settings));
    }
}

/* --- for the frame ---------------------------------------------------------------------------- */

const char *sim_compute_project(const void *compute_state)
{
    const struct compute *c = compute_state;
    return c->project;
}

const char **sim_compute_zones(const void *compute_state, struct arena *a, size_t *ret_n)
{
    const struct compute *c = compute_state;
    const struct folder *f = ce_store_folder(c, arena_printf(a, "projects/%s/zones", c->project));
    const char **keys = f ? map_keys(f->items, ret_n) : NULL;
    const char **zones = ARENA_ARRAY(a, const char *, keys ? *ret_n : 0);
    for (size_t i = 0; keys && i < *ret_n; i++) {
        zones[i] = arena_strdup(a, keys[i]);
    }
    *ret_n = keys ? *ret_n : 0;
    free(keys);
    return zones;
}

char *sim_compute_cloud_config(void *compute_state, struct arena *a)
{
    struct compute *c = compute_state;
    size_t n = 0;
    const char **zones = sim_compute_zones(c, a, &n);
    const char *url = sim_url(c->sim);
    /* Over TLS there is no metadata server (it is plain HTTP): tokens come from a
     * credentials file then. */
    const char *token_url = sim_cfg(c->sim)->tls ? "nil" : arena_printf(a, "%s/token", url);
    return arena_printf(a,
                        "[global]\n"
                        "project-id = %s\n"
                        "local-zone = %s\n"
                        "network-name = " SIM_NETWORK "\n"
                        "subnetwork-name = " SIM_NETWORK "\n"
                        "node-tags = " SIM_NODE_TAG "\n"
                        "node-instance-prefix = node\n"
                        "regional = true\n"
                        "multizone = true\n"
                        "api-endpoint = %s/compute/v1/\n"
                        "container-api-endpoint = %s/\n"
                        "token-url = %s\n",
                        c->project, n ? zones[0] : "us-central1-a", url, url, token_url);
}

const struct sim_module sim_compute_module = {
    .name = "gce",
    .to_traffic_log = true,
    .init = module_init,
    .done = module_done,
    .claims = module_claims,
    .name_call = compute_name_call,
    .handle = compute_handle,
    .error_body = compute_error_body,
    .load = module_load,
    .configure = module_configure,
    .dump = module_dump,
};
