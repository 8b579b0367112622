/* SPDX-License-Identifier: Apache-2.0 */
/* body.c: from the bytes of a request to an object of its kind: JSON, YAML or protobuf, typed,
 * unknown members judged.
 *
 * Owns what is said about bodies that cannot be read; write.c owns what is done with those that
 * can.  A patch whose result is not an object of the kind has its own message.  Recorded: 026, 027,
 * 042, tests/data/kube-answers. */
#include "sim/kube/write.h"

#include "common/data/yaml.h"
#include "sim/kube/decode.h"
#include "sim/kube/proto.h"
#include "sim/kube/rules/rules.h"

#include <string.h>

bool kube_media_is(const char *type, const char *wanted)
{
    size_t n = strlen(wanted);
    return type && strncmp(type, wanted, n) == 0 &&
           (type[n] == '\0' || type[n] == ';' || type[n] == ' ');
}

/* The first bytes of a body: as they are when they look like JSON, else in hexadecimal. */
static const char *excerpt_of(const struct kube_request *r)
{
    enum { SHOWN_MAX = 30 };
    const char *body = r->call->body;
    size_t n = r->call->body_len;
    size_t shown = n < SHOWN_MAX ? n : SHOWN_MAX;
    if (n == 0) {
        return "<empty>";
    }
    if (body[0] == '{') {
        return arena_printf(r->arena, "%.*s%s", (int)shown, body, n > shown ? " ..." : "");
    }
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < shown; i++) {
        str_appendf(&b, "%02x", (unsigned char)body[i]);
    }
    str_append(&b, n > shown ? " ..." : "");
    return str_buf_to_arena(&b, r->arena);
}

/* The client's managedFields are stored unchanged, as the API server does; the simulator does not
 * track fields. */
static void keep_managed_fields(struct json_object *meta)
{
    if (json_len(json_member(meta, "managedFields")) == 0) {
        json_object_object_del(meta, "managedFields");
    }
}

static struct json_object *unreadable(struct kube_request *r, const char *error)
{
    return kube_status_bad_request("the object provided is unrecognized (must be of type %s): "
                                   "couldn't get version/kind; json parse "
                                   "error: %s (%s)",
                                   r->kind->kind, error, excerpt_of(r));
}

struct json_object *kube_unsupported_body(void)
{
    return kube_status(
        415, "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json, application/yaml, application/vnd.kubernetes.protobuf",
        NULL);
}

static struct json_object *read_proto(struct kube_request *r, const struct kube_type *shape,
                                      struct json_object **ret)
{
    if (!kube_proto_knows(shape)) {
        return kube_unsupported_body();
    }
    const char *error = kube_proto_read(r->arena, shape, r->call->body, r->call->body_len, ret);
    if (!error) {
        return NULL;
    }
    return str_eq(error, KUBE_PROTO_NO_MAGIC)
               ? kube_status_bad_request(
                     "the object provided is unrecognized (must be of type %s): %s (%s)",
                     shape->go_name, error, excerpt_of(r))
               : kube_status_bad_request("%s in version \"%s\" cannot be handled as a %s: %s",
                                         shape->go_name, r->kind->version, shape->go_name, error);
}

const char *kube_no_object_error(struct arena *a, struct json_object *in)
{
    const char *word = json_object_is_type(in, json_type_array)     ? "array"
                       : json_object_is_type(in, json_type_string)  ? "string"
                       : json_object_is_type(in, json_type_boolean) ? "bool"
                                                                    : "number";
    return arena_printf(
        a,
        "json: cannot unmarshal %s into Go value of type struct { APIVersion string "
        "\"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
        "\"json:\\\"kind,omitempty\\\"\" }",
        word);
}

struct json_object *kube_read_body(struct kube_request *r, const struct kube_type *shape,
                                   struct json_object **ret)
{
    struct sim_call *call = r->call;
    const char *type = http_req_header(call->req, "Content-Type");
    struct err err = ERR_INIT;
    if (kube_media_is(type, KUBE_PROTO_MEDIA)) {
        return read_proto(r, shape, ret);
    }
    if (kube_media_is(type, "application/yaml") ||
        kube_media_is(type, "application/apply-patch+yaml")) {
        if (yaml_parse(r->arena, call->body, call->body_len, ret, &err) != ERR_OK || !*ret) {
            return kube_status_bad_request("error parsing YAML: %s", err.message);
        }
        return NULL;
    }
    const char *error = kube_json_error(r->arena, call->body, call->body_len);
    if (error) {
        return unreadable(r, error);
    }
    if (json_parse_arena(r->arena, call->body, call->body_len, &kube_json_limits, ret, &err) !=
        ERR_OK) {
        return unreadable(r, arena_strdup(r->arena, err.message));
    }
    return NULL;
}

static void put_tree(void *arg)
{
    json_object_put(arg);
}

struct json_object *kube_read_object_body(struct kube_request *r, struct json_object **ret)
{
    const struct kube_type *shape = r->kind->wire_type ? r->kind->wire_type : r->kind->type;
    struct json_object *refusal = kube_read_body(r, shape, ret);
    if (refusal || json_object_is_type(*ret, json_type_object)) {
        return refusal;
    }
    if (*ret) {
        return unreadable(r, kube_no_object_error(r->arena, *ret));
    }
    *ret = json_object_new_object();
    arena_defer(r->arena, put_tree, *ret);
    return NULL;
}

void kube_warn_unknown(struct kube_request *r, const char *path)
{
    const char *text = arena_printf(r->arena, "unknown field \"%s\"", path);
    http_req_add_header(r->call->req, "Warning",
                        arena_printf(r->arena, "299 - %s", kube_quoted(r->arena, text)));
}

/* A patch whose result is not an object of the kind: a message without the kind's name. */
static struct json_object *bad_patch(struct kube_request *r, const char *shown, const char *error)
{
    static const struct kube_kind nothing = {.group = "", .version = "", .plural = "", .kind = ""};
    struct kube_causes c = {.arena = r->arena};
    kube_invalid(&c, "patch", shown, error);
    return kube_status_invalid(&nothing, "", &c, false);
}

/* Reports unknown members; a refusal or NULL. */
static struct json_object *judge_unknown(struct kube_request *r, const struct kube_decode *d)
{
    const char *mode = str_or(sim_call_param(r->call, "fieldValidation"), "Warn");
    if (d->n_unknown == 0 || str_eq(mode, "Ignore")) {
        return NULL;
    }
    if (!str_eq(mode, "Strict")) {
        for (size_t i = 0; i < d->n_unknown; i++) {
            kube_warn_unknown(r, d->unknown[i]);
        }
        return NULL;
    }
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < d->n_unknown; i++) {
        str_appendf(&b, "%sunknown field \"%s\"",
                    i > 0 ? ", " : "strict decoding error: ", d->unknown[i]);
    }
    if (r->verb == KUBE_PATCH) {
        return bad_patch(r, r->call->body, str_buf_text(&b));
    }
    return kube_status_bad_request("%s in version \"%s\" cannot be handled as a %s: %s",
                                   r->kind->kind, r->kind->version, r->kind->kind,
                                   str_buf_text(&b));
}

/* The package in which the API server keeps a group's own types. */
static const char *internal_package(struct arena *a, const struct kube_kind *k)
{
    return *k->group ? arena_strndup(a, k->group, strcspn(k->group, ".")) : "core";
}

static bool kind_is_registered(struct arena *a, const char *version, const char *kind)
{
    for (size_t i = 0; i < kube_n_kinds; i++) {
        const struct kube_kind *k = &kube_kinds[i];
        if (str_eq(k->kind, kind) && str_eq(kube_api_version(k, a), version)) {
            return true;
        }
    }
    return false;
}

/* The object's own kind and apiVersion, where it names them: NULL, or what is wrong. */
static const char *wrong_kind(struct kube_request *r, struct json_object *in)
{
    const char *wanted = kube_api_version(r->kind, r->arena);
    const char *kind = str_or(json_str(in, "kind"), r->kind->kind);
    const char *version = str_or(json_str(in, "apiVersion"), wanted);
    if (str_eq(kind, r->kind->kind) && str_eq(version, wanted)) {
        return NULL;
    }
    const char *slash = strrchr(version, '/');
    const char *short_version = slash ? slash + 1 : version;
    const char *what = arena_printf(r->arena, "%s in version \"%s\" cannot be handled as a %s",
                                    kind, short_version, r->kind->kind);
    if (!kind_is_registered(r->arena, version, kind)) {
        return arena_printf(r->arena,
                            "%s: no kind \"%s\" is registered for version \"%s\" in scheme "
                            "\"pkg/runtime/scheme.go:111\"",
                            what, kind, version);
    }
    return arena_printf(r->arena, "%s: converting (%s.%s) to (%s.%s): unknown conversion", what,
                        short_version, kind, internal_package(r->arena, r->kind), r->kind->kind);
}

struct json_object *kube_read_object(struct kube_request *r, struct json_object *in,
                                     struct json_object **ret)
{
    struct kube_decode d = {.arena = r->arena};
    bool patch = r->verb == KUBE_PATCH;
    const char *wrong = json_object_is_type(in, json_type_object) ? wrong_kind(r, in) : NULL;
    struct json_object *o = wrong ? NULL : kube_decode(&d, r->kind->type, in);
    if (!o && patch) {
        return bad_patch(r, json_text(r->arena, in, JSON_COMPACT), wrong ? wrong : d.error);
    }
    if (!o) {
        return wrong ? kube_status_bad_request("%s", wrong)
                     : kube_status_bad_request("%s in version \"%s\" cannot be handled as a %s: %s",
                                               r->kind->kind, r->kind->version, r->kind->kind,
                                               d.error);
    }
    struct json_object *refusal = judge_unknown(r, &d);
    if (refusal) {
        json_object_put(o);
        return refusal;
    }
    keep_managed_fields(json_member(o, "metadata"));
    json_object_object_del(json_member(o, "metadata"), "selfLink");
    json_object_object_del(o, "kind");
    json_object_object_del(o, "apiVersion");
    *ret = r->kind->as_stored ? r->kind->as_stored(o) : json_object_get(o);
    json_object_put(o);
    return NULL;
}
