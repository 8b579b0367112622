/* SPDX-License-Identifier: Apache-2.0 */
/* write.c: POST, PUT and PATCH: from a body to a stored object.
 *
 * The order of steps is the API server's, because it decides which of several errors is returned:
 * options, body (body.c), namespace, defaults, allocation (may refuse), preparation, validation,
 * name taken?, store.  A write that changes nothing is not stored: no new version, no event
 * (recorded 066, 072). */
#include "sim/kube/write.h"

#include "sim/kube/decode.h"
#include "sim/kube/options.h"
#include "sim/kube/patch/patch.h"
#include "sim/kube/proto.h"
#include "sim/kube/rules/rules.h"

#include <string.h>

/* --- the change ------------------------------------------------------------------------------- */
void kube_change_init(struct kube_change *c, struct kube_request *r)
{
    *c = (struct kube_change){
        .st = r->st,
        .arena = r->arena,
        .kind = r->kind,
        .namespace = r->namespace,
        .name = r->name,
        .status_only = *r->subresource != '\0',
        .dry_run = !str_is_empty(sim_call_param(r->call, "dryRun")),
    };
    struct kube_obj *o =
        r->name ? kube_db_get(r->st->store, r->kind->store, r->namespace, r->name) : NULL;
    c->was = o ? kube_obj_tree(o) : NULL;
}

void kube_change_done(struct kube_change *c)
{
    json_object_put(c->now);
    json_object_put(c->was);
    c->now = NULL;
    c->was = NULL;
}

/* Defaults, allocation, preparation and validation; a refusal or NULL. */
static struct json_object *run_rules(struct kube_change *c)
{
    const struct kube_rules *rules = c->kind->rules;
    if (rules && rules->set_defaults) {
        rules->set_defaults(c);
    }
    struct json_object *refusal = rules && rules->begin && !c->status_only ? rules->begin(c) : NULL;
    if (refusal) {
        return refusal;
    }
    kube_prepare_meta(c);
    if (rules && rules->prepare) {
        rules->prepare(c);
    }
    kube_count_generation(c);
    struct kube_causes causes = {.arena = c->arena};
    kube_validate_meta(c, &causes);
    if (c->was) {
        kube_validate_meta_update(c, &causes);
    }
    if (rules && rules->validate) {
        rules->validate(c, &causes);
    }
    /* One store with two APIs complains in the name of the first (recorded 125). */
    const struct kube_kind *told =
        c->kind->as_stored ? kube_kind_of_store(c->kind->store) : c->kind;
    return kube_status_invalid(told, c->name, &causes, false);
}

static void answer_change(struct kube_request *r, int code, struct kube_change *c)
{
    kube_answer_tree(r, code, c->now);
}

void kube_finish_create(struct kube_request *r, struct kube_change *c)
{
    uint64_t version = 0;
    const char *rv = json_str(json_member(c->now, "metadata"), "resourceVersion");
    bool versioned = r->verb == KUBE_CREATE && rv && str_to_u64(rv, &version) && version > 0;
    kube_meta_fill_new(c);
    struct json_object *refusal = run_rules(c);
    if (!refusal && kube_db_get(c->st->store, c->kind->store, c->namespace, c->name)) {
        refusal = kube_status_exists(c->kind, c->name);
    }
    if (!refusal && versioned) {
        refusal = kube_status(500, NULL,
                              "resourceVersion should not be set on objects to be created", NULL);
    }
    if (refusal) {
        kube_answer_status(r, refusal);
        return;
    }
    (void)kube_commit(c);
    answer_change(r, 201, c);
}

/* Where etcd keeps an object, as a failed precondition tells it. */
static const char *etcd_key(const struct kube_change *c)
{
    const char *plural = c->kind->plural;
    const char *place = str_eq(plural, "services")    ? "services/specs"
                        : str_eq(plural, "endpoints") ? "services/endpoints"
                        : str_eq(plural, "nodes")     ? "minions"
                                                      : plural;
    return arena_printf(c->arena, "/registry/%s%s%s/%s%s%s",
                        c->kind->is_custom ? c->kind->group : "", c->kind->is_custom ? "/" : "",
                        place, c->namespace, *c->namespace ? "/" : "", c->name);
}

/* resourceVersion and uid as preconditions of an update. */
static struct json_object *check_versions(struct kube_request *r, struct kube_change *c)
{
    struct json_object *now = kube_need(c->now, "metadata");
    struct json_object *was = json_member(c->was, "metadata");
    const char *rv = str_nonnull(json_str(now, "resourceVersion"));
    const char *uid = str_nonnull(json_str(now, "uid"));
    uint64_t version = 0;
    if (*uid && r->verb == KUBE_UPDATE && !str_eq(uid, json_str(was, "uid"))) {
        return kube_status_conflict(
            c->kind, c->name,
            arena_printf(c->arena,
                         "StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, "
                         "AdditionalErrorMsg: Precondition failed: UID in precondition: %s, UID in "
                         "object meta: %s",
                         etcd_key(c), uid, str_nonnull(json_str(was, "uid"))));
    }
    if (*rv && !str_to_u64(rv, &version)) {
        return kube_status(500, NULL,
                           arena_printf(c->arena, "strconv.ParseUint: parsing %s: invalid syntax",
                                        kube_quoted(c->arena, rv)),
                           NULL);
    }
    if (version == 0 && c->kind->put_needs_version && r->verb == KUBE_UPDATE) {
        struct kube_causes causes = {.arena = c->arena};
        kube_invalid_int(&causes, "metadata.resourceVersion", 0, "must be specified for an update");
        return kube_status_invalid(c->kind, c->name, &causes, true);
    }
    if (version != 0 && !str_eq(rv, json_str(was, "resourceVersion"))) {
        return kube_status_conflict(
            c->kind, c->name,
            "the object has been modified; please apply your changes to the "
            "latest version and try again");
    }
    return NULL;
}

void kube_finish_update(struct kube_request *r, struct kube_change *c)
{
    struct json_object *refusal = check_versions(r, c);
    if (!refusal) {
        refusal = run_rules(c);
    }
    if (refusal) {
        kube_answer_status(r, refusal);
        return;
    }
    (void)kube_commit(c);
    answer_change(r, 200, c);
}

/* --- POST ------------------------------------------------------------------------------------- */
/* The namespace must exist and not be going away. */
static struct json_object *check_namespace(struct kube_request *r)
{
    if (!r->kind->namespaced) {
        return NULL;
    }
    const struct kube_kind *namespaces = kube_kind_by_plural("namespaces");
    struct kube_obj *o = kube_db_get(r->st->store, namespaces->store, "", r->namespace);
    if (!o) {
        return kube_status_not_found(namespaces, r->namespace);
    }
    struct json_object *tree = kube_obj_tree(o);
    bool going = kube_is_deleting(tree);
    json_object_put(tree);
    return going ? kube_status_terminating(r->kind, r->name, r->namespace) : NULL;
}

static struct json_object *adopt_name(struct kube_request *r, struct kube_change *c)
{
    struct json_object *meta = kube_need(c->now, "metadata");
    const char *ns = str_nonnull(json_str(meta, "namespace"));
    if (*ns && !str_eq(ns, r->namespace)) {
        return kube_status_bad_request("the namespace of the provided object does not match the "
                                       "namespace sent on the request");
    }
    if (*r->namespace) {
        kube_set(meta, "namespace", json_object_new_string(r->namespace));
    }
    const char *name = str_nonnull(json_str(meta, "name"));
    const char *prefix = str_nonnull(json_str(meta, "generateName"));
    if (!*name && *prefix) {
        name = kube_generate_name(r->st, r->arena, prefix);
        kube_set(meta, "name", json_object_new_string(name));
    }
    c->name = arena_strdup(r->arena, name);
    r->name = c->name;
    return NULL;
}

static bool body_is_readable(const struct kube_request *r)
{
    const char *type = http_req_header(r->call->req, "Content-Type");
    return str_is_empty(type) || kube_media_is(type, "application/json") ||
           kube_media_is(type, "application/yaml") || kube_media_is(type, KUBE_PROTO_MEDIA);
}

/* Reads the body into c->now. */
static struct json_object *read_into(struct kube_request *r, struct kube_change *c)
{
    struct json_object *body = NULL;
    if (!body_is_readable(r)) {
        return kube_unsupported_body();
    }
    struct json_object *refusal = kube_read_object_body(r, &body);
    return refusal ? refusal : kube_read_object(r, body, &c->now);
}

void kube_handle_create(struct kube_request *r)
{
    struct kube_change c;
    if (r->name || *r->subresource) {
        kube_answer_status(r, kube_status_method_not_allowed());
        return;
    }
    kube_change_init(&c, r);
    struct json_object *refusal = kube_check_write_options(r, false);
    if (!refusal) {
        refusal = read_into(r, &c);
    }
    if (!refusal) {
        refusal = check_namespace(r);
    }
    if (!refusal) {
        refusal = adopt_name(r, &c);
    }
    if (refusal) {
        kube_answer_status(r, refusal);
    } else {
        kube_finish_create(r, &c);
    }
    kube_change_done(&c);
}

/* An update's object must bear the names of the path. */
static struct json_object *check_names(struct kube_request *r, struct json_object *o)
{
    struct json_object *meta = json_member(o, "metadata");
    const char *name = str_nonnull(json_str(meta, "name"));
    const char *ns = str_nonnull(json_str(meta, "namespace"));
    if (!*name) {
        return kube_status_bad_request(
            "the name of the object (%s based on URL) was undeterminable: "
            "name must be provided",
            r->name);
    }
    if (!str_eq(name, r->name)) {
        return kube_status_bad_request(
            "the name of the object (%s) does not match the name on the URL (%s)", name, r->name);
    }
    if (*ns && *r->namespace && !str_eq(ns, r->namespace)) {
        return kube_status_bad_request("the namespace of the provided object does not match the "
                                       "namespace sent on the request");
    }
    return NULL;
}

/* --- PUT -------------------------------------------------------------------------------------- */
void kube_handle_update(struct kube_request *r)
{
    struct kube_change c;
    kube_change_init(&c, r);
    struct json_object *refusal = kube_check_write_options(r, false);
    if (!refusal) {
        refusal = read_into(r, &c);
    }
    if (!refusal) {
        refusal = check_names(r, c.now);
    }
    bool creates = !c.was && r->kind->put_creates && !*r->subresource;
    if (!refusal && !c.was && !creates) {
        refusal = kube_status_not_found(r->kind, r->name);
    }
    if (!refusal) {
        refusal = creates ? check_namespace(r) : NULL;
    }
    if (!refusal) {
        refusal = adopt_name(r, &c);
    }
    if (refusal) {
        kube_answer_status(r, refusal);
    } else if (creates) {
        kube_finish_create(r, &c);
    } else {
        kube_finish_update(r, &c);
    }
    kube_change_done(&c);
}

/* --- PATCH ------------------------------------------------------------------------------------ */
enum patch_kind { PATCH_STRATEGIC = 0, PATCH_MERGE, PATCH_JSON, PATCH_APPLY, PATCH_UNKNOWN };

static enum patch_kind patch_kind_of(const struct kube_request *r)
{
    const char *type = http_req_header(r->call->req, "Content-Type");
    if (kube_media_is(type, "application/strategic-merge-patch+json")) {
        return r->kind->is_custom ? PATCH_UNKNOWN : PATCH_STRATEGIC;
    }
    if (kube_media_is(type, "application/merge-patch+json")) {
        return PATCH_MERGE;
    }
    if (kube_media_is(type, "application/json-patch+json")) {
        return PATCH_JSON;
    }
    return kube_media_is(type, "application/apply-patch+yaml") ? PATCH_APPLY : PATCH_UNKNOWN;
}

/* The object as its own API shows it, with kind and apiVersion. */
static struct json_object *served_whole(struct kube_request *r, struct json_object *stored)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "kind", r->kind->kind);
    json_add_str(o, "apiVersion", kube_api_version(r->kind, r->arena));
    struct json_object *served = kube_served_tree(r->kind, stored);
    json_object_object_foreach(served, key, value)
    {
        json_add(o, key, json_object_get(value));
    }
    json_object_put(served);
    struct json_object *copy = json_copy(o);
    json_object_put(o);
    return copy;
}

static struct json_object *apply_patch(struct kube_request *r, enum patch_kind kind,
                                       struct json_object *doc, struct json_object *patch,
                                       struct json_object **ret)
{
    switch (kind) {
    case PATCH_STRATEGIC:
        return kube_patch_strategic(r->arena, r->kind->type, doc, patch, ret);
    case PATCH_MERGE:
        return kube_patch_merge(doc, patch, ret);
    case PATCH_JSON:
        return kube_patch_json(r->arena, doc, patch, ret);
    default:
        return kube_patch_apply(r->arena, r->kind->type, doc, patch, ret);
    }
}

/* Server-side apply makes what is not there. */
static void apply_creates(struct kube_request *r, struct kube_change *c, struct json_object *config)
{
    struct json_object *refusal = kube_read_object(r, config, &c->now);
    if (!refusal) {
        refusal = check_namespace(r);
    }
    if (!refusal) {
        kube_set(kube_need(c->now, "metadata"), "name", json_object_new_string(r->name));
        refusal = adopt_name(r, c);
    }
    if (refusal) {
        kube_answer_status(r, refusal);
    } else {
        kube_finish_create(r, c);
    }
}

static void patch_stored(struct kube_request *r, struct kube_change *c, enum patch_kind kind,
                         struct json_object *patch)
{
    struct json_object *doc = served_whole(r, c->was);
    struct json_object *patched = NULL;
    struct json_object *refusal = apply_patch(r, kind, doc, patch, &patched);
    if (!refusal && kind == PATCH_STRATEGIC) {
        /* The server knows the type from elsewhere; what the patch says of it is passed over. */
        json_object_object_del(patched, "kind");
        json_object_object_del(patched, "apiVersion");
    }
    if (!refusal) {
        refusal = kube_read_object(r, patched, &c->now);
    }
    if (!refusal) {
        refusal = check_names(r, c->now);
    }
    if (!refusal && *r->namespace) {
        kube_set(json_member(c->now, "metadata"), "namespace",
                 json_object_new_string(r->namespace));
    }
    json_object_put(doc);
    json_object_put(patched);
    if (refusal) {
        kube_answer_status(r, refusal);
    } else {
        kube_finish_update(r, c);
    }
}

static struct json_object *read_patch(struct kube_request *r, enum patch_kind kind,
                                      struct json_object **ret)
{
    const char *error =
        kind != PATCH_APPLY ? kube_json_error(r->arena, r->call->body, r->call->body_len) : NULL;
    if (error) {
        return kube_status_bad_request(
            "%s%s", kind == PATCH_STRATEGIC ? "" : "error decoding patch: ", error);
    }
    return kube_read_body(r, r->kind->type, ret);
}

void kube_handle_patch(struct kube_request *r)
{
    enum patch_kind kind = patch_kind_of(r);
    struct kube_change c;
    struct json_object *patch = NULL;
    if (kind == PATCH_UNKNOWN) {
        kube_answer_status(r, kube_status(415, "UnsupportedMediaType",
                                          "415: Unsupported Media Type", json_object_new_object()));
        return;
    }
    kube_change_init(&c, r);
    struct json_object *refusal = kube_check_write_options(r, kind == PATCH_APPLY);
    if (!refusal) {
        refusal = read_patch(r, kind, &patch);
    }
    if (refusal) {
        kube_answer_status(r, refusal);
    } else if (c.was) {
        patch_stored(r, &c, kind, patch);
    } else if (kind == PATCH_APPLY && !*r->subresource) {
        apply_creates(r, &c, patch);
    } else {
        kube_answer_status(r, kube_status_not_found(r->kind, r->name));
    }
    kube_change_done(&c);
}
