/* SPDX-License-Identifier: Apache-2.0 */
/* auth.c: role-based access control over a manifest; see auth.h.
 *
 * The documents stay JSON trees: they are few, and a look goes binding → role → rules. */
#include "sim/kube/auth.h"

#include "common/base/file.h"
#include "common/data/yaml.h"
#include "sim/kube/route.h"
#include "sim/kube/rules/rules.h"

#include <stdio.h>
#include <string.h>

#define MANIFEST_MAX (4 * 1024 * 1024)

struct kube_auth {
    struct arena *arena;
    struct json_object **docs;
    size_t n_docs;
};

int kube_auth_load(const char *file, struct kube_auth **ret, struct err *err)
{
    struct arena *a = arena_new();
    char *text = NULL;
    size_t n = 0;
    struct kube_auth *auth = ARENA_NEW(a, struct kube_auth);
    auth->arena = a;
    int code = file_read(a, file, MANIFEST_MAX, &text, &n, err);
    if (!code) {
        code = yaml_parse_all(a, text, n, &auth->docs, &auth->n_docs, err);
    }
    if (code) {
        arena_free(a);
        (void)err_prefix(err, "%s", file);
        return code;
    }
    *ret = auth;
    return ERR_OK;
}

void kube_auth_free(struct kube_auth *auth)
{
    if (auth) {
        arena_free(auth->arena);
    }
}

/* --- who -------------------------------------------------------------------------------------- */
const struct kube_user *kube_auth_user(struct arena *a, const char *token)
{
    struct kube_user *u = ARENA_NEW(a, struct kube_user);
    const char **groups = ARENA_ARRAY(a, const char *, 3);
    u->groups = groups;
    if (!token) {
        u->name = "system:anonymous";
        groups[u->n_groups++] = "system:unauthenticated";
        return u;
    }
    if (str_eq(token, "sim-admin")) {
        u->name = "admin";
        groups[u->n_groups++] = "system:masters";
        groups[u->n_groups++] = "system:authenticated";
        return u;
    }
    size_t n = 0;
    char **parts = str_split(a, token, ':', &n);
    if (n != 3 || !str_eq(parts[0], "sa") || !*parts[1] || !*parts[2]) {
        return NULL;
    }
    u->name = arena_printf(a, "system:serviceaccount:%s:%s", parts[1], parts[2]);
    groups[u->n_groups++] = "system:serviceaccounts";
    groups[u->n_groups++] = arena_printf(a, "system:serviceaccounts:%s", parts[1]);
    groups[u->n_groups++] = "system:authenticated";
    return u;
}

static bool in_group(const struct kube_user *u, const char *group)
{
    for (size_t i = 0; i < u->n_groups; i++) {
        if (str_eq(u->groups[i], group)) {
            return true;
        }
    }
    return false;
}

/* --- what ------------------------------------------------------------------------------------- */
static bool list_has(struct json_object *list, const char *word)
{
    for (size_t i = 0; i < json_len(list); i++) {
        const char *s = kube_item(list, i);
        if (str_eq(s, "*") || str_eq(s, word)) {
            return true;
        }
    }
    return false;
}

static bool path_matches(struct json_object *urls, const char *path)
{
    for (size_t i = 0; i < json_len(urls); i++) {
        const char *url = kube_item(urls, i);
        size_t n = strlen(url);
        bool prefix = n > 0 && url[n - 1] == '*';
        if (str_eq(url, path) || (prefix && strncmp(url, path, n - 1) == 0)) {
            return true;
        }
    }
    return false;
}

static bool resource_matches(struct json_object *resources, const struct kube_access *what)
{
    if (!*what->subresource) {
        return list_has(resources, what->resource);
    }
    char full[256];
    (void)snprintf(full, sizeof(full), "%s/%s", what->resource, what->subresource);
    if (list_has(resources, full)) {
        return true;
    }
    (void)snprintf(full, sizeof(full), "*/%s", what->subresource);
    return list_has(resources, full);
}

static bool rule_allows(struct json_object *rule, const struct kube_access *what)
{
    if (!list_has(json_member(rule, "verbs"), what->verb)) {
        return false;
    }
    if (what->path) {
        return path_matches(json_member(rule, "nonResourceURLs"), what->path);
    }
    struct json_object *names = json_member(rule, "resourceNames");
    return list_has(json_member(rule, "apiGroups"), what->group) &&
           resource_matches(json_member(rule, "resources"), what) &&
           (json_len(names) == 0 || (*what->name && list_has(names, what->name)));
}

static bool is_subject(struct json_object *binding, const struct kube_user *u)
{
    struct json_object *subjects = json_member(binding, "subjects");
    const char *own_ns = str_nonnull(json_str(json_member(binding, "metadata"), "namespace"));
    for (size_t i = 0; i < json_len(subjects); i++) {
        struct json_object *s = json_object_array_get_idx(subjects, i);
        const char *kind = json_str(s, "kind");
        const char *name = str_nonnull(json_str(s, "name"));
        char account[512];
        (void)snprintf(account, sizeof(account), "system:serviceaccount:%s:%s",
                       str_or(json_str(s, "namespace"), own_ns), name);
        if ((str_eq(kind, "User") && str_eq(name, u->name)) ||
            (str_eq(kind, "Group") && in_group(u, name)) ||
            (str_eq(kind, "ServiceAccount") && str_eq(account, u->name))) {
            return true;
        }
    }
    return false;
}

static bool role_allows(const struct kube_auth *auth, struct json_object *binding,
                        const struct kube_access *what)
{
    struct json_object *ref = json_member(binding, "roleRef");
    const char *kind = json_str(ref, "kind");
    const char *ns = str_nonnull(json_str(json_member(binding, "metadata"), "namespace"));
    for (size_t i = 0; i < auth->n_docs; i++) {
        struct json_object *role = auth->docs[i];
        struct json_object *meta = json_member(role, "metadata");
        bool is_it = str_eq(json_str(role, "kind"), kind) &&
                     str_eq(json_str(meta, "name"), json_str(ref, "name")) &&
                     (str_eq(kind, "ClusterRole") || str_eq(json_str(meta, "namespace"), ns));
        struct json_object *rules = is_it ? json_member(role, "rules") : NULL;
        for (size_t k = 0; k < json_len(rules); k++) {
            if (rule_allows(json_object_array_get_idx(rules, k), what)) {
                return true;
            }
        }
    }
    return false;
}

/* Paths that all callers may read: the built-in role system:public-info-viewer, and discovery for
 * authenticated ones. */
static bool is_public(const struct kube_access *what)
{
    static const char *const open[] = {"/healthz", "/livez", "/readyz", "/version"};
    static const char *const discovery[] = {"/api", "/apis", "/openapi"};
    if (!what->path || !str_eq(what->verb, "get")) {
        return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(open); i++) {
        if (str_has_prefix(what->path, open[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(discovery); i++) {
        if (str_has_prefix(what->path, discovery[i]) &&
            in_group(what->user, "system:authenticated")) {
            return true;
        }
    }
    return false;
}

bool kube_auth_allows(const struct kube_auth *auth, const struct kube_access *what)
{
    if (in_group(what->user, "system:masters") || is_public(what)) {
        return true;
    }
    for (size_t i = 0; i < auth->n_docs; i++) {
        struct json_object *doc = auth->docs[i];
        const char *kind = str_nonnull(json_str(doc, "kind"));
        bool everywhere = str_eq(kind, "ClusterRoleBinding");
        bool here = str_eq(kind, "RoleBinding") && !what->path &&
                    str_eq(json_str(json_member(doc, "metadata"), "namespace"), what->namespace);
        if ((everywhere || here) && is_subject(doc, what->user) && role_allows(auth, doc, what)) {
            return true;
        }
    }
    return false;
}

/* --- requests --------------------------------------------------------------------------------- */
/* A list or watch that a field selector restricts to one name needs the right for that name
 * only. */
static const char *name_asked_for(const struct kube_request *r)
{
    static const char key[] = "metadata.name=";
    const char *selector = sim_call_param(r->call, "fieldSelector");
    const char *end;
    if (r->name) {
        return r->name;
    }
    for (; selector; selector = end ? end + 1 : NULL) {
        end = strchr(selector, ',');
        if (str_has_prefix(selector, key)) {
            const char *name = selector + strlen(key);
            name += *name == '='; /* == is = */
            return end ? arena_printf(r->arena, "%.*s", (int)(end - name), name) : name;
        }
    }
    return "";
}

static struct json_object *forbidden(struct kube_request *r, const struct kube_access *what)
{
    if (what->path) {
        return kube_status(403, "Forbidden",
                           arena_printf(r->arena, "forbidden: User %s cannot %s path %s",
                                        kube_quoted(r->arena, what->user->name), what->verb,
                                        kube_quoted(r->arena, what->path)),
                           json_object_new_object());
    }
    struct json_object *details = json_object_new_object();
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_appendf(&b, "%s%s%s", what->resource, *what->group ? "." : "", what->group);
    if (*what->name) {
        str_appendf(&b, " %s", kube_quoted(r->arena, what->name));
        json_add_str(details, "name", what->name);
    }
    if (*what->group) {
        json_add_str(details, "group", what->group);
    }
    json_add_str(details, "kind", what->resource);
    str_appendf(&b, " is forbidden: User %s cannot %s resource \"%s%s%s\" in API group \"%s\" ",
                kube_quoted(r->arena, what->user->name), what->verb, what->resource,
                *what->subresource ? "/" : "", what->subresource, what->group);
    if (*what->namespace) {
        str_appendf(&b, "in the namespace \"%s\"", what->namespace);
    } else {
        str_append(&b, "at the cluster scope");
    }
    return kube_status(403, "Forbidden", str_buf_text(&b), details);
}

struct json_object *kube_auth_check(struct kube_request *r)
{
    const char *header = http_req_header(r->call->req, "Authorization");
    const char *token =
        header && str_has_prefix(header, "Bearer ") ? header + strlen("Bearer ") : NULL;
    if (!r->st->auth) {
        return NULL;
    }
    const struct kube_user *u = kube_auth_user(r->arena, token);
    if (!u) {
        return kube_status(401, "Unauthorized", "Unauthorized", NULL);
    }
    r->user = u->name;
    struct kube_access what = {.user = u, .verb = r->kind ? kube_verb_name(r->verb) : "get"};
    if (r->kind) {
        what.group = r->kind->group;
        what.resource = r->kind->plural;
        what.subresource = r->subresource;
        what.namespace = r->namespace;
        what.name = name_asked_for(r);
    } else {
        what.path = r->call->path;
    }
    return kube_auth_allows(r->st->auth, &what) ? NULL : forbidden(r, &what);
}
