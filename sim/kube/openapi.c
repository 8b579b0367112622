/* SPDX-License-Identifier: Apache-2.0 */
/* openapi.c: /openapi/v3 (and an empty v2): documents that are made from the tables of kinds and
 * types.
 *
 * kubectl reads them to learn whether the server validates fields (the parameter fieldValidation of
 * PATCH) and how lists are merged.  No descriptions: they are upstream's texts.
 * Recorded: 164, 165. */
#include "sim/kube/kube.h"

#include "common/base/hash.h"
#include "common/base/map.h"

#include <string.h>

#define REF "#/components/schemas/"

/* --- schemas ---------------------------------------------------------------------------------- */
static struct json_object *typed(const char *type, const char *format)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "type", type);
    json_add_str(o, "format", format);
    return o;
}

static struct json_object *ref_to(const struct kube_type *type)
{
    struct json_object *all = json_object_new_array();
    struct json_object *ref = json_object_new_object();
    struct json_object *o = json_object_new_object();
    char *text = xasprintf(REF "%s", type->def_name);
    json_add_str(ref, "$ref", text);
    free(text);
    json_object_array_add(all, ref);
    json_add(o, "allOf", all);
    json_add(o, "default", json_object_new_object());
    return o;
}

static struct json_object *map_of(struct json_object *value)
{
    struct json_object *o = typed("object", NULL);
    json_add(o, "additionalProperties", value);
    return o;
}

static struct json_object *list_of(struct json_object *item)
{
    struct json_object *o = typed("array", NULL);
    json_add(o, "items", item);
    return o;
}

static struct json_object *plain_schema(const struct kube_field *f)
{
    switch (f->kind) {
    case KF_BOOL:
        return typed("boolean", NULL);
    case KF_I32:
        return typed("integer", "int32");
    case KF_I64:
        return typed("integer", "int64");
    case KF_TIME:
    case KF_MICROTIME:
        return typed("string", "date-time");
    case KF_INT_OR_STR:
        return typed("string", "int-or-string");
    case KF_BYTES:
        return typed("string", "byte");
    case KF_STR_MAP:
    case KF_QTY_MAP:
        return map_of(typed("string", NULL));
    case KF_BYTES_MAP:
        return map_of(typed("string", "byte"));
    case KF_STRS_MAP:
        return map_of(list_of(typed("string", NULL)));
    case KF_STRS:
        return list_of(typed("string", NULL));
    case KF_OBJ:
        return ref_to(f->type);
    case KF_OBJS:
        return list_of(ref_to(f->type));
    case KF_ANY:
        return typed("object", NULL);
    default:
        return typed("string", NULL);
    }
}

static bool is_list(const struct kube_field *f)
{
    return f->kind == KF_STRS || f->kind == KF_OBJS;
}

static struct json_object *field_schema(const struct kube_field *f)
{
    struct json_object *o = plain_schema(f);
    const char *keys = f->list_keys ? f->list_keys : f->merge_key;
    if (f->kind == KF_STR_MAP && (f->flags & KFF_ATOMIC)) {
        json_add_str(o, "x-kubernetes-map-type", "atomic");
    }
    if (!is_list(f)) {
        return o;
    }
    json_add_str(o, "x-kubernetes-list-type", keys ? "map" : f->flags & KFF_SET ? "set" : "atomic");
    if (keys) {
        struct arena *a = arena_new();
        size_t n = 0;
        char **items = str_split(a, keys, ',', &n);
        json_add(o, "x-kubernetes-list-map-keys", json_strs((const char *const *)items, n));
        arena_free(a);
    }
    if (f->flags & KFF_MERGE) {
        json_add_str(o, "x-kubernetes-patch-merge-key", f->merge_key);
        json_add_str(o, "x-kubernetes-patch-strategy", "merge");
    }
    return o;
}

/* Adds the type and all that it refers to. */
static void add_schema(struct json_object *schemas, const struct kube_type *type)
{
    if (!type->def_name || json_object_object_get_ex(schemas, type->def_name, NULL)) {
        return;
    }
    struct json_object *o = typed("object", NULL);
    struct json_object *properties = json_object_new_object();
    struct json_object *required = json_object_new_array();
    json_add(schemas, type->def_name, o);
    for (size_t i = 0; i < type->n_fields; i++) {
        const struct kube_field *f = &type->fields[i];
        json_add(properties, f->name, field_schema(f));
        if (f->flags & KFF_REQUIRED) {
            json_push_str(required, f->name);
        }
        if (f->type) {
            add_schema(schemas, f->type);
        }
    }
    json_add(o, "properties", properties);
    if (json_len(required)) {
        json_add(o, "required", required);
    } else {
        json_object_put(required);
    }
}

static const char *schema_name(struct arena *a, const struct kube_kind *k)
{
    if (k->type->def_name) {
        return k->type->def_name;
    }
    return arena_printf(a, "io.%s.%s.%s", *k->group ? k->group : "k8s.api.core", k->version,
                        k->kind);
}

static struct json_object *gvk_of(const struct kube_kind *k)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "group", k->group);
    json_add_str(o, "version", k->version);
    json_add_str(o, "kind", k->kind);
    return o;
}

static void add_kind_schema(struct arena *a, struct json_object *schemas, const struct kube_kind *k)
{
    add_schema(schemas, k->type);
    struct json_object *o = json_member(schemas, schema_name(a, k));
    if (!o) { /* a free-form kind */
        o = typed("object", NULL);
        struct json_object *properties = json_object_new_object();
        json_add(properties, "apiVersion", typed("string", NULL));
        json_add(properties, "kind", typed("string", NULL));
        json_add(properties, "metadata", ref_to(&kube_type_object_meta));
        add_schema(schemas, &kube_type_object_meta);
        json_add(o, "properties", properties);
        json_add_bool(o, "x-kubernetes-preserve-unknown-fields", true);
        json_add(schemas, schema_name(a, k), o);
    }
    struct json_object *gvks = json_object_new_array();
    json_object_array_add(gvks, gvk_of(k));
    json_add(o, "x-kubernetes-group-version-kind", gvks);
}

/* --- operations ------------------------------------------------------------------------------- */
static struct json_object *parameters(const char *const *names)
{
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; names[i]; i++) {
        struct json_object *p = json_object_new_object();
        json_add_str(p, "name", names[i]);
        json_add_str(p, "in", "query");
        struct json_object *schema = typed(str_eq(names[i], "force") ? "boolean" : "string", NULL);
        json_add_bool(schema, "uniqueItems", true);
        json_add(p, "schema", schema);
        json_object_array_add(list, p);
    }
    return list;
}

static void add_operation(struct arena *a, struct json_object *path, const struct kube_kind *k,
                          const char *method, const char *action)
{
    static const char *const write[] = {"dryRun", "fieldManager", "fieldValidation", NULL};
    static const char *const patch[] = {"dryRun", "fieldManager", "fieldValidation", "force", NULL};
    static const char *const read[] = {"continue", "fieldSelector",   "labelSelector",
                                       "limit",    "resourceVersion", NULL};
    struct json_object *op = json_object_new_object();
    bool is_write = str_eq(method, "post") || str_eq(method, "put");
    json_add(op, "parameters",
             parameters(str_eq(method, "patch") ? patch
                        : is_write              ? write
                                                : read));
    struct json_object *schema = json_object_new_object();
    json_add_str(schema, "$ref", arena_printf(a, REF "%s", schema_name(a, k)));
    struct json_object *media = json_object_new_object();
    json_add(media, "schema", schema);
    struct json_object *content = json_object_new_object();
    json_add(content, "application/json", media);
    struct json_object *ok = json_object_new_object();
    json_add_str(ok, "description", "OK");
    json_add(ok, "content", content);
    struct json_object *responses = json_object_new_object();
    json_add(responses, "200", ok);
    json_add(op, "responses", responses);
    json_add_str(op, "x-kubernetes-action", action);
    json_add(op, "x-kubernetes-group-version-kind", gvk_of(k));
    json_add(path, method, op);
}

static void add_paths(struct arena *a, struct json_object *paths, const struct kube_kind *k)
{
    const char *root =
        arena_printf(a, "%s%s%s/%s%s/%s", *k->group ? "/apis/" : "/api", k->group, "", k->version,
                     k->namespaced ? "/namespaces/{namespace}" : "", k->plural);
    struct json_object *all = json_object_new_object();
    if (!k->is_review) {
        add_operation(a, all, k, "get", "list");
    }
    add_operation(a, all, k, "post", "post");
    json_add(paths, root, all);
    if (k->is_review) {
        return;
    }
    static const char *const methods[] = {"get", "put", "delete", "patch"};
    struct json_object *one = json_object_new_object();
    struct json_object *status = json_object_new_object();
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        add_operation(a, one, k, methods[i], methods[i]);
        if (!str_eq(methods[i], "delete")) {
            add_operation(a, status, k, methods[i], methods[i]);
        }
    }
    json_add(paths, arena_printf(a, "%s/{name}", root), one);
    if (k->has_status) {
        json_add(paths, arena_printf(a, "%s/{name}/status", root), status);
    } else {
        json_object_put(status);
    }
}

/* --- documents -------------------------------------------------------------------------------- */
static char *document(struct arena *a, const char *group, const char *version)
{
    struct json_object *doc = json_object_new_object();
    struct json_object *info = json_object_new_object();
    struct json_object *paths = json_object_new_object();
    struct json_object *schemas = json_object_new_object();
    struct json_object *components = json_object_new_object();
    json_add_str(info, "title", "Kubernetes");
    json_add_str(info, "version", "v1.36.2");
    for (size_t i = 0; i < kube_n_kinds; i++) {
        const struct kube_kind *k = &kube_kinds[i];
        if (str_eq(k->group, group) && str_eq(k->version, version)) {
            add_paths(a, paths, k);
            add_kind_schema(a, schemas, k);
        }
    }
    json_add_str(doc, "openapi", "3.0.0");
    json_add(doc, "info", info);
    json_add(doc, "paths", paths);
    json_add(components, "schemas", schemas);
    json_add(doc, "components", components);
    char *text = json_text(a, doc, JSON_COMPACT);
    json_object_put(doc);
    return text;
}

static char *hash_of(struct arena *a, const char *text)
{
    size_t n = strlen(text);
    return arena_printf(a, "%016llX%016llX", (unsigned long long)hash_bytes(1, text, n),
                        (unsigned long long)hash_bytes(2, text, n));
}

static void answer_root(struct kube_request *r)
{
    struct json_object *o = json_object_new_object();
    struct json_object *paths = json_object_new_object();
    for (size_t i = 0; i < kube_n_kinds; i++) {
        const struct kube_kind *k = &kube_kinds[i];
        const char *name = *k->group ? arena_printf(r->arena, "apis/%s/%s", k->group, k->version)
                                     : arena_printf(r->arena, "api/%s", k->version);
        if (json_member(paths, name)) {
            continue;
        }
        struct json_object *entry = json_object_new_object();
        const char *hash = hash_of(r->arena, document(r->arena, k->group, k->version));
        json_add_str(entry, "serverRelativeURL",
                     arena_printf(r->arena, "/openapi/v3/%s?hash=%s", name, hash));
        json_add(paths, name, entry);
    }
    json_add(o, "paths", paths);
    const char *text = json_text(r->arena, o, JSON_COMPACT);
    json_object_put(o);
    http_req_add_header(r->call->req, "Cache-Control", "no-cache, private");
    sim_answer_text(r->call, 200, "text/plain; charset=utf-8", text);
}

static void answer_document(struct kube_request *r, const char *group, const char *version)
{
    const char *text = document(r->arena, group, version);
    http_req_add_header(r->call->req, "Etag",
                        arena_printf(r->arena, "\"%s\"", hash_of(r->arena, text)));
    http_req_add_header(r->call->req, "Vary", "Accept");
    kube_answer_json(r, 200, text, strlen(text));
}

/* Of version 2 kubectl wants to know only that a kind is not in it: it asks for a list of mixed
 * kinds (kubectl apply of a v1 List), and then leaves the checking of fields to the server. */
static void answer_v2(struct kube_request *r)
{
    static const char binary[] = "\x0a\x03"
                                 "2.0"
                                 "\x12\x0f\x0a\x03"
                                 "sim"
                                 "\x12\x08"
                                 "v1.36.2-";
    const char *accept = str_nonnull(http_req_header(r->call->req, "Accept"));
    if (strstr(accept, "proto-openapi") != NULL) {
        sim_answer_text(r->call, 200, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
                        binary);
        return;
    }
    static const char text[] = "{\"swagger\":\"2.0\",\"info\":{\"title\":\"sim\",\"version\":"
                               "\"v1.36.2-\"},\"paths\":{},\"definitions\":{}}";
    kube_answer_json(r, 200, text, strlen(text));
}

bool kube_handle_openapi(struct kube_request *r)
{
    size_t n = 0;
    char **parts = str_split(r->arena, r->call->path, '/', &n);
    if (n == 3 && str_eq(parts[1], "openapi") && str_eq(parts[2], "v2")) {
        answer_v2(r);
        return true;
    }
    if (n < 3 || !str_eq(parts[1], "openapi") || !str_eq(parts[2], "v3")) {
        return false;
    }
    if (n == 3) {
        answer_root(r);
    } else if (n == 5 && str_eq(parts[3], "api") && kube_group_is_served("", parts[4])) {
        answer_document(r, "", parts[4]);
    } else if (n == 6 && str_eq(parts[3], "apis") && kube_group_is_served(parts[4], parts[5])) {
        answer_document(r, parts[4], parts[5]);
    } else {
        return false;
    }
    return true;
}
