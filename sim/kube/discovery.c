/* SPDX-License-Identifier: Apache-2.0 */
/* discovery.c: what is served: /version, health, /api, /apis, resource lists, and the aggregated
 * form.
 *
 * Everything is made from the table of kinds.  Recorded: 001–012. */
#include "sim/kube/kube.h"

#include <string.h>

#define AGGREGATED "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

static void answer_object(struct kube_request *r, struct json_object *o)
{
    const char *text = arena_printf(r->arena, "%s\n", json_text(r->arena, o, JSON_COMPACT));
    json_object_put(o);
    kube_answer_json(r, 200, text, strlen(text));
}

static void answer_version(struct kube_request *r)
{
    static const char *const members[][2] = {
        {"major", "1"},
        {"minor", "36"},
        {"emulationMajor", "1"},
        {"emulationMinor", "36"},
        {"minCompatibilityMajor", "1"},
        {"minCompatibilityMinor", "35"},
        {"gitVersion", "v1.36.2"},
        {"gitCommit", "$Format:%H$"},
        {"gitTreeState", ""},
        {"buildDate", "1970-01-01T00:00:00Z"},
        {"goVersion", "go1.26.8"},
        {"compiler", "gc"},
        {"platform", "linux/amd64"},
    };
    struct json_object *o = json_object_new_object();
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        json_add_str(o, members[i][0], members[i][1]);
    }
    answer_object(r, o);
}

static void answer_health(struct kube_request *r, const char *path)
{
    static const char *const checks[] = {"ping",
                                         "log",
                                         "etcd",
                                         "poststarthook/start-apiextensions-informers",
                                         "poststarthook/bootstrap-controller",
                                         "autoregister-completion"};
    if (!sim_call_param(r->call, "verbose")) {
        kube_answer_plain(r, 200, "ok");
        return;
    }
    struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        str_appendf(&b, "[+]%s ok\n", checks[i]);
    }
    str_appendf(&b, "%s check passed\n", path + 1);
    kube_answer_plain(r, 200, str_buf_text(&b));
    str_buf_done(&b);
}

/* --- verbs and names -------------------------------------------------------------------------- */
static struct json_object *verbs_of(const struct kube_kind *k)
{
    static const char *const all[] = {"create", "delete", "deletecollection", "get",
                                      "list",   "patch",  "update",           "watch"};
    static const char *const without_collection[] = {"create", "delete", "get",  "list",
                                                     "patch",  "update", "watch"};
    static const char *const review[] = {"create"};
    if (k->is_review) {
        return json_strs(review, ARRAY_LEN(review));
    }
    if (str_eq(k->plural, "namespaces")) {
        return json_strs(without_collection, ARRAY_LEN(without_collection));
    }
    return json_strs(all, ARRAY_LEN(all));
}

static struct json_object *status_verbs(void)
{
    static const char *const verbs[] = {"get", "patch", "update"};
    return json_strs(verbs, ARRAY_LEN(verbs));
}

static void add_split(struct arena *a, struct json_object *o, const char *name, const char *list)
{
    if (list) {
        size_t n = 0;
        char **items = str_split(a, list, ',', &n);
        json_add(o, name, json_strs((const char *const *)items, n));
    }
}

/* --- one group at a time ---------------------------------------------------------------------- */
static struct json_object *resource_entry(struct arena *a, const struct kube_kind *k)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "name", k->plural);
    json_add_str(o, "singularName", k->singular);
    json_add_bool(o, "namespaced", k->namespaced);
    json_add_str(o, "kind", k->kind);
    json_add(o, "verbs", verbs_of(k));
    add_split(a, o, "shortNames", k->short_names);
    add_split(a, o, "categories", k->categories);
    json_add_str(o, "storageVersionHash", k->storage_hash);
    return o;
}

static struct json_object *sub_entry(struct arena *a, const struct kube_kind *k, const char *sub)
{
    static const char *const update[] = {"update"};
    static const char *const create[] = {"create"};
    struct json_object *o = json_object_new_object();
    bool token = str_eq(sub, "token");
    json_add_str(o, "name", arena_printf(a, "%s/%s", k->plural, sub));
    json_add_str(o, "singularName", "");
    json_add_bool(o, "namespaced", k->namespaced);
    bool scale = str_eq(sub, "scale");
    if (token || scale) {
        json_add_str(o, "group", token ? "authentication.k8s.io" : "autoscaling");
        json_add_str(o, "version", "v1");
    }
    json_add_str(o, "kind", token ? "TokenRequest" : scale ? "Scale" : k->kind);
    json_add(o, "verbs",
             token                     ? json_strs(create, 1)
             : str_eq(sub, "finalize") ? json_strs(update, 1)
                                       : status_verbs());
    return o;
}

static void answer_resources(struct kube_request *r, const char *group, const char *version)
{
    struct json_object *o = json_object_new_object();
    struct json_object *list = json_object_new_array();
    json_add_str(o, "kind", "APIResourceList");
    if (*group) {
        json_add_str(o, "apiVersion", "v1");
    }
    json_add_str(o, "groupVersion",
                 *group ? arena_printf(r->arena, "%s/%s", group, version) : version);
    for (size_t i = 0; i < kube_n_kinds; i++) {
        const struct kube_kind *k = &kube_kinds[i];
        if (!str_eq(k->group, group) || !str_eq(k->version, version)) {
            continue;
        }
        json_object_array_add(list, resource_entry(r->arena, k));
        if (str_eq(k->plural, "namespaces")) {
            json_object_array_add(list, sub_entry(r->arena, k, "finalize"));
        }
        if (str_eq(k->plural, "serviceaccounts")) {
            json_object_array_add(list, sub_entry(r->arena, k, "token"));
        }
        if (str_eq(k->plural, "deployments")) {
            json_object_array_add(list, sub_entry(r->arena, k, "scale"));
        }
        if (k->has_status) {
            json_object_array_add(list, sub_entry(r->arena, k, "status"));
        }
    }
    json_add(o, "resources", list);
    answer_object(r, o);
}

static bool first_of_group(size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (str_eq(kube_kinds[k].group, kube_kinds[i].group)) {
            return false;
        }
    }
    return true;
}

static bool first_of_version(size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (str_eq(kube_kinds[k].group, kube_kinds[i].group) &&
            str_eq(kube_kinds[k].version, kube_kinds[i].version)) {
            return false;
        }
    }
    return true;
}

static struct json_object *version_entry(struct arena *a, const char *group, const char *version)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "groupVersion", arena_printf(a, "%s/%s", group, version));
    json_add_str(o, "version", version);
    return o;
}

static struct json_object *group_entry(struct arena *a, const char *group)
{
    struct json_object *o = json_object_new_object();
    struct json_object *versions = json_object_new_array();
    const char *preferred = NULL;
    json_add_str(o, "name", group);
    for (size_t i = 0; i < kube_n_kinds; i++) {
        if (str_eq(kube_kinds[i].group, group) && first_of_version(i)) {
            json_object_array_add(versions, version_entry(a, group, kube_kinds[i].version));
            preferred = preferred ? preferred : kube_kinds[i].version;
        }
    }
    json_add(o, "versions", versions);
    json_add(o, "preferredVersion", version_entry(a, group, preferred));
    return o;
}

static void answer_group(struct kube_request *r, const char *group)
{
    struct json_object *o = json_object_new_object();
    struct json_object *entry = group_entry(r->arena, group);
    json_add_str(o, "kind", "APIGroup");
    json_add_str(o, "apiVersion", "v1");
    json_object_object_foreach(entry, key, value)
    {
        json_add(o, key, json_object_get(value));
    }
    json_object_put(entry);
    answer_object(r, o);
}

static void answer_groups(struct kube_request *r)
{
    struct json_object *o = json_object_new_object();
    struct json_object *groups = json_object_new_array();
    json_add_str(o, "kind", "APIGroupList");
    json_add_str(o, "apiVersion", "v1");
    for (size_t i = 0; i < kube_n_kinds; i++) {
        if (*kube_kinds[i].group && first_of_group(i)) {
            json_object_array_add(groups, group_entry(r->arena, kube_kinds[i].group));
        }
    }
    json_add(o, "groups", groups);
    answer_object(r, o);
}

static void answer_api_versions(struct kube_request *r)
{
    static const char *const versions[] = {"v1"};
    struct json_object *o = json_object_new_object();
    struct json_object *list = json_object_new_array();
    struct json_object *address = json_object_new_object();
    json_add_str(o, "kind", "APIVersions");
    json_add(o, "versions", json_strs(versions, 1));
    json_add_str(address, "clientCIDR", "0.0.0.0/0");
    json_add_str(address, "serverAddress",
                 arena_printf(r->arena, "127.0.0.1:%u", sim_port(r->st->sim)));
    json_object_array_add(list, address);
    json_add(o, "serverAddressByClientCIDRs", list);
    answer_object(r, o);
}

/* --- aggregated ------------------------------------------------------------------------------- */
static struct json_object *response_kind(const char *kind)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "group", "");
    json_add_str(o, "version", "");
    json_add_str(o, "kind", kind);
    return o;
}

static struct json_object *aggregated_sub(const struct kube_kind *k, const char *name)
{
    struct json_object *sub = json_object_new_object();
    struct json_object *kind = response_kind(str_eq(name, "scale") ? "Scale" : k->kind);
    if (str_eq(name, "scale")) {
        json_add_str(kind, "group", "autoscaling");
        json_add_str(kind, "version", "v1");
    }
    json_add_str(sub, "subresource", name);
    json_add(sub, "responseKind", kind);
    json_add(sub, "verbs", status_verbs());
    return sub;
}

static struct json_object *aggregated_resource(struct arena *a, const struct kube_kind *k)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "resource", k->plural);
    json_add(o, "responseKind", response_kind(k->kind));
    json_add_str(o, "scope", k->namespaced ? "Namespaced" : "Cluster");
    json_add_str(o, "singularResource", k->singular);
    json_add(o, "verbs", verbs_of(k));
    add_split(a, o, "shortNames", k->short_names);
    add_split(a, o, "categories", k->categories);
    if (k->has_status) {
        struct json_object *subs = json_object_new_array();
        if (str_eq(k->plural, "deployments")) {
            json_object_array_add(subs, aggregated_sub(k, "scale"));
        }
        json_object_array_add(subs, aggregated_sub(k, "status"));
        json_add(o, "subresources", subs);
    }
    return o;
}

static struct json_object *aggregated_group(struct arena *a, const char *group)
{
    struct json_object *o = json_object_new_object();
    struct json_object *meta = json_object_new_object();
    struct json_object *versions = json_object_new_array();
    if (*group) {
        json_add_str(meta, "name", group);
    }
    json_add(o, "metadata", meta);
    for (size_t i = 0; i < kube_n_kinds; i++) {
        if (!str_eq(kube_kinds[i].group, group) || !first_of_version(i)) {
            continue;
        }
        struct json_object *v = json_object_new_object();
        struct json_object *resources = json_object_new_array();
        json_add_str(v, "version", kube_kinds[i].version);
        for (size_t k = i; k < kube_n_kinds; k++) {
            if (str_eq(kube_kinds[k].group, group) &&
                str_eq(kube_kinds[k].version, kube_kinds[i].version)) {
                json_object_array_add(resources, aggregated_resource(a, &kube_kinds[k]));
            }
        }
        json_add(v, "resources", resources);
        json_add_str(v, "freshness", "Current");
        json_object_array_add(versions, v);
    }
    json_add(o, "versions", versions);
    return o;
}

/* `core`: /api has the group without a name, /apis all the others. */
static void answer_aggregated(struct kube_request *r, bool core)
{
    struct json_object *o = json_object_new_object();
    struct json_object *items = json_object_new_array();
    json_add_str(o, "kind", "APIGroupDiscoveryList");
    json_add_str(o, "apiVersion", "apidiscovery.k8s.io/v2");
    json_add(o, "metadata", json_object_new_object());
    for (size_t i = 0; i < kube_n_kinds; i++) {
        if (first_of_group(i) && (*kube_kinds[i].group == '\0') == core) {
            json_object_array_add(items, aggregated_group(r->arena, kube_kinds[i].group));
        }
    }
    json_add(o, "items", items);
    const char *text = json_text(r->arena, o, JSON_COMPACT);
    json_object_put(o);
    http_req_add_header(r->call->req, "Cache-Control", "public");
    http_req_add_header(r->call->req, "Vary", "Accept");
    sim_answer_text(r->call, 200, AGGREGATED, text);
}

static bool wants_aggregated(struct kube_request *r)
{
    const char *accept = str_nonnull(http_req_header(r->call->req, "Accept"));
    return strstr(accept, "as=APIGroupDiscoveryList") && strstr(accept, "v=v2;");
}

bool kube_handle_discovery(struct kube_request *r)
{
    size_t n = 0;
    char **parts = str_split(r->arena, r->call->path, '/', &n);
    while (n > 1 && *parts[n - 1] == '\0') {
        n--;
    }
    if (n == 2 && (str_eq(parts[1], "api") || str_eq(parts[1], "apis")) && wants_aggregated(r)) {
        answer_aggregated(r, str_eq(parts[1], "api"));
    } else if (n == 2 && str_eq(parts[1], "api")) {
        answer_api_versions(r);
    } else if (n == 2 && str_eq(parts[1], "apis")) {
        answer_groups(r);
    } else if (n == 3 && str_eq(parts[1], "api") && kube_group_is_served("", parts[2])) {
        answer_resources(r, "", parts[2]);
    } else if (n == 3 && str_eq(parts[1], "apis") && kube_group_is_served(parts[2], NULL)) {
        answer_group(r, parts[2]);
    } else if (n == 4 && str_eq(parts[1], "apis") && kube_group_is_served(parts[2], parts[3])) {
        answer_resources(r, parts[2], parts[3]);
    } else {
        return false;
    }
    return true;
}

bool kube_handle_other(struct kube_request *r)
{
    const char *path = r->call->path;
    if (!str_eq(r->call->method, "GET") && !str_eq(r->call->method, "HEAD")) {
        return false;
    }
    if (str_eq(path, "/version")) {
        answer_version(r);
        return true;
    }
    if (str_eq(path, "/healthz") || str_eq(path, "/livez") || str_eq(path, "/readyz")) {
        answer_health(r, path);
        return true;
    }
    return kube_handle_openapi(r) || kube_handle_discovery(r);
}
