/* SPDX-License-Identifier: Apache-2.0 */
/* config_file.c: kubeconfig files: read, made absolute, merged.
 *
 * Source: controller.md §4.2.  Unknown members are skipped, as upstream does; wrong types are
 * errors with their path.  Relative paths belong to the folder of the file that holds them, so they
 * are resolved before files are merged. */
#include <string.h>

#include "common/base/file.h"
#include "common/data/yaml.h"
#include "controller/kube/client/config_internal.h"

#define FILE_MAX       ((size_t)4 << 20)
#define DATA_MAX       (1 << 20) /* bytes of a base64 member */
#define EXEC_ITEMS_MAX 1000      /* arguments, and variables, of a plugin */

#define ROW_STR(s, json, member)                                                                   \
    {                                                                                              \
        .name = (json), .type = JSON_T_STR, .offset = offsetof(struct s, member), .max = DATA_MAX  \
    }
#define ROW_BOOL(s, json, member)                                                                  \
    {                                                                                              \
        .name = (json), .type = JSON_T_BOOL, .offset = offsetof(struct s, member)                  \
    }
#define ROW_RAW(s, json, member)                                                                   \
    {                                                                                              \
        .name = (json), .type = JSON_T_RAW, .offset = offsetof(struct s, member)                   \
    }
#define ROW_LIST(member, table)                                                                    \
    {                                                                                              \
        .name = #member, .type = JSON_T_OBJECTS, .offset = offsetof(struct raw_file, member),      \
        .count_offset = offsetof(struct raw_file, n_##member), .sub = (table),                     \
        .sub_size = sizeof(struct raw_named)                                                       \
    }

/* One element of clusters, users or contexts: a name and an object under another name. */
struct raw_named {
    const char *name;
    struct json_object *value;
};
struct raw_file {
    const char *api_version;
    const char *kind;
    const char *current_context;
    struct raw_named *clusters;
    size_t n_clusters;
    struct raw_named *users;
    size_t n_users;
    struct raw_named *contexts;
    size_t n_contexts;
};

static const struct json_field named_cluster_fields[] = {
    ROW_STR(raw_named, "name", name),
    ROW_RAW(raw_named, "cluster", value),
    {0},
};
static const struct json_field named_user_fields[] = {
    ROW_STR(raw_named, "name", name),
    ROW_RAW(raw_named, "user", value),
    {0},
};
static const struct json_field named_context_fields[] = {
    ROW_STR(raw_named, "name", name),
    ROW_RAW(raw_named, "context", value),
    {0},
};
static const struct json_field file_fields[] = {
    ROW_STR(raw_file, "apiVersion", api_version),
    ROW_STR(raw_file, "kind", kind),
    ROW_STR(raw_file, "current-context", current_context),
    ROW_LIST(clusters, named_cluster_fields),
    ROW_LIST(users, named_user_fields),
    ROW_LIST(contexts, named_context_fields),
    {0},
};
static const struct json_field cluster_fields[] = {
    ROW_STR(kc_cluster, "server", server),
    ROW_STR(kc_cluster, "certificate-authority", ca_file),
    ROW_STR(kc_cluster, "certificate-authority-data", ca_data),
    ROW_STR(kc_cluster, "tls-server-name", tls_server_name),
    ROW_STR(kc_cluster, "proxy-url", proxy_url),
    ROW_BOOL(kc_cluster, "insecure-skip-tls-verify", insecure),
    ROW_BOOL(kc_cluster, "disable-compression", disable_compression),
    ROW_RAW(kc_cluster, "extensions", extensions),
    {0},
};
static const struct json_field env_fields[] = {
    ROW_STR(kc_env, "name", name),
    ROW_STR(kc_env, "value", value),
    {0},
};
static const struct json_field exec_fields[] = {
    ROW_STR(kc_exec, "apiVersion", api_version),
    ROW_STR(kc_exec, "command", command),
    {.name = "args",
     .type = JSON_T_STRS,
     .offset = offsetof(struct kc_exec, args),
     .count_offset = offsetof(struct kc_exec, n_args),
     .max_items = EXEC_ITEMS_MAX},
    {.name = "env",
     .type = JSON_T_OBJECTS,
     .offset = offsetof(struct kc_exec, env),
     .count_offset = offsetof(struct kc_exec, n_env),
     .sub = env_fields,
     .sub_size = sizeof(struct kc_env),
     .max_items = EXEC_ITEMS_MAX},
    ROW_STR(kc_exec, "installHint", install_hint),
    ROW_STR(kc_exec, "interactiveMode", interactive_mode),
    ROW_BOOL(kc_exec, "provideClusterInfo", provide_cluster_info),
    {0},
};
static const struct json_field user_fields[] = {
    ROW_STR(kc_user, "client-certificate", cert_file),
    ROW_STR(kc_user, "client-certificate-data", cert_data),
    ROW_STR(kc_user, "client-key", key_file),
    ROW_STR(kc_user, "client-key-data", key_data),
    ROW_STR(kc_user, "token", token),
    ROW_STR(kc_user, "tokenFile", token_file),
    ROW_STR(kc_user, "username", username),
    ROW_STR(kc_user, "password", password),
    ROW_STR(kc_user, "as", as),
    ROW_STR(kc_user, "as-uid", as_uid),
    {.name = "as-groups",
     .type = JSON_T_STRS,
     .offset = offsetof(struct kc_user, as_groups),
     .count_offset = offsetof(struct kc_user, n_as_groups)},
    ROW_RAW(kc_user, "as-user-extra", as_extra),
    ROW_RAW(kc_user, "auth-provider", auth_provider),
    {.name = "exec",
     .type = JSON_T_OBJECT,
     .offset = offsetof(struct kc_user, exec),
     .has_offset = offsetof(struct kc_user, has_exec),
     .sub = exec_fields},
    {0},
};
static const struct json_field context_fields[] = {
    ROW_STR(kc_context, "cluster", cluster),
    ROW_STR(kc_context, "user", user),
    ROW_STR(kc_context, "namespace", ns),
    {0},
};

/* --- one file --------------------------------------------------------------------------------- */

/* Properties of the three lists. */
struct list {
    const char *name; /* "clusters" */
    const struct json_field *fields;
    size_t size; /* of an element; its `name` comes first */
    void (*prepare)(struct arena *a, const char *path, void *element);
};

static const char *resolve(struct arena *a, const char *path, const char *file)
{
    return file[0] == '\0' ? "" : file_resolve(a, path, file);
}

static void prepare_cluster(struct arena *a, const char *path, void *element)
{
    struct kc_cluster *c = element;
    c->ca_file = resolve(a, path, str_nonnull(c->ca_file));
    c->server = str_nonnull(c->server);
    c->ca_data = str_nonnull(c->ca_data);
    c->tls_server_name = str_nonnull(c->tls_server_name);
    c->proxy_url = str_nonnull(c->proxy_url);
}

static void prepare_exec(struct arena *a, const char *path, struct kc_exec *x)
{
    x->api_version = str_nonnull(x->api_version);
    x->command = str_nonnull(x->command);
    if (strchr(x->command, '/') != NULL) { /* else it is looked for in PATH */
        x->command = file_resolve(a, path, x->command);
    }
    for (size_t i = 0; i < x->n_env; i++) {
        x->env[i].name = str_nonnull(x->env[i].name);
        x->env[i].value = str_nonnull(x->env[i].value);
    }
    x->install_hint = str_nonnull(x->install_hint);
    x->interactive_mode = str_nonnull(x->interactive_mode);
    if (x->interactive_mode[0] == '\0' &&
        !str_eq(x->api_version, "client.authentication.k8s.io/v1")) {
        x->interactive_mode = "IfAvailable"; /* what was before v1 had no such member */
    }
}

static void prepare_user(struct arena *a, const char *path, void *element)
{
    struct kc_user *u = element;
    u->cert_file = resolve(a, path, str_nonnull(u->cert_file));
    u->key_file = resolve(a, path, str_nonnull(u->key_file));
    u->token_file = resolve(a, path, str_nonnull(u->token_file));
    u->cert_data = str_nonnull(u->cert_data);
    u->key_data = str_nonnull(u->key_data);
    u->token = str_nonnull(u->token);
    u->username = str_nonnull(u->username);
    u->password = str_nonnull(u->password);
    u->as = str_nonnull(u->as);
    u->as_uid = str_nonnull(u->as_uid);
    if (u->has_exec) {
        prepare_exec(a, path, &u->exec);
    }
}

static void prepare_context(struct arena *a, const char *path, void *element)
{
    (void)a, (void)path;
    struct kc_context *c = element;
    c->cluster = str_nonnull(c->cluster);
    c->user = str_nonnull(c->user);
    c->ns = str_nonnull(c->ns);
}

static const struct list clusters = {"clusters", cluster_fields, sizeof(struct kc_cluster),
                                     prepare_cluster};
static const struct list users = {"users", user_fields, sizeof(struct kc_user), prepare_user};
static const struct list contexts = {"contexts", context_fields, sizeof(struct kc_context),
                                     prepare_context};

static const char *name_at(const void *elements, const struct list *l, size_t i)
{
    return *(const char *const *)((const char *)elements + i * l->size);
}

static bool has_name(const void *elements, size_t n, const struct list *l, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(name_at(elements, l, i), name)) {
            return true;
        }
    }
    return false;
}

static int decode_list(struct arena *a, const char *path, const struct list *l,
                       const struct raw_named *raw, size_t n, void **ret, struct err *err)
{
    char *out = arena_calloc(a, n, l->size);
    for (size_t i = 0; i < n; i++) {
        const char *name = str_nonnull(raw[i].name);
        if (has_name(out, i, l, name)) {
            return err_set(err, ERR_INVALID, "%s: duplicate name \"%s\" in list", l->name, name);
        }
        void *element = out + i * l->size;
        const char *where = arena_printf(a, "%s[%zu]", l->name, i);
        int rc = raw[i].value == NULL ? ERR_OK
                                      : json_decode(a, raw[i].value, l->fields, element,
                                                    JSON_SKIP_UNKNOWN, where, err);
        if (rc != ERR_OK) {
            return rc;
        }
        *(const char **)element = name;
        l->prepare(a, path, element);
    }
    *ret = out;
    return ERR_OK;
}

static int check_type(const struct raw_file *raw, struct err *err)
{
    const char *version = str_or(raw->api_version, "v1");
    const char *kind = str_or(raw->kind, "Config");
    if (str_eq(version, "v1") && str_eq(kind, "Config")) {
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID,
                   "no kind \"%s\" is registered for version \"%s\"; want Config "
                   "of v1",
                   kind, version);
}

static int decode_file(struct arena *a, const char *path, struct json_object *tree,
                       struct kc_file *ret, struct err *err)
{
    struct raw_file raw = {0};
    struct kc_file f = {0};
    int rc = json_decode(a, tree, file_fields, &raw, JSON_SKIP_UNKNOWN, "", err);
    if (rc == ERR_OK) {
        rc = check_type(&raw, err);
    }
    if (rc == ERR_OK) {
        rc = decode_list(a, path, &clusters, raw.clusters, raw.n_clusters, (void **)&f.clusters,
                         err);
    }
    if (rc == ERR_OK) {
        rc = decode_list(a, path, &users, raw.users, raw.n_users, (void **)&f.users, err);
    }
    if (rc == ERR_OK) {
        rc = decode_list(a, path, &contexts, raw.contexts, raw.n_contexts, (void **)&f.contexts,
                         err);
    }
    if (rc == ERR_OK) {
        f.current_context = str_nonnull(raw.current_context);
        f.n_clusters = raw.n_clusters;
        f.n_users = raw.n_users;
        f.n_contexts = raw.n_contexts;
        *ret = f;
    }
    return rc;
}

int kc_file_parse(struct arena *a, const char *path, const char *text, size_t n,
                  struct kc_file *ret, struct err *err)
{
    struct json_object *tree = NULL;
    int rc = yaml_parse(a, text, n, &tree, err);
    if (rc == ERR_OK && tree == NULL) {
        *ret = (struct kc_file){.current_context = ""};
        return ERR_OK;
    }
    if (rc == ERR_OK) {
        rc = decode_file(a, path, tree, ret, err);
    }
    if (rc != ERR_OK) {
        (void)err_prefix(err, "error loading config file \"%s\"", path);
    }
    return rc;
}

int kc_file_load(struct arena *a, const char *path, struct kc_file *ret, struct err *err)
{
    char *text = NULL;
    size_t n = 0;
    int rc = file_read(a, path, FILE_MAX, &text, &n, err);
    return rc == ERR_OK ? kc_file_parse(a, path, text, n, ret, err) : rc;
}

/* --- merging ---------------------------------------------------------------------------------- */

static void merge_list(struct arena *a, const struct list *l, void **into, size_t *n_into,
                       const void *from, size_t n_from)
{
    char *out = arena_calloc(a, *n_into + n_from, l->size);
    size_t n = *n_into;
    if (n > 0) {
        memcpy(out, *into, n * l->size);
    }
    for (size_t i = 0; i < n_from; i++) {
        if (!has_name(out, n, l, name_at(from, l, i))) {
            memcpy(out + n++ * l->size, (const char *)from + i * l->size, l->size);
        }
    }
    *into = out;
    *n_into = n;
}

void kc_file_merge(struct arena *a, struct kc_file *into, const struct kc_file *from)
{
    into->current_context = str_or(into->current_context, from->current_context);
    merge_list(a, &clusters, (void **)&into->clusters, &into->n_clusters, from->clusters,
               from->n_clusters);
    merge_list(a, &users, (void **)&into->users, &into->n_users, from->users, from->n_users);
    merge_list(a, &contexts, (void **)&into->contexts, &into->n_contexts, from->contexts,
               from->n_contexts);
}
