/* SPDX-License-Identifier: Apache-2.0 */
/* kube_status.c: builds the Status objects of kube_status.h.
 *
 * Equal messages of two causes are shown once in the text but stay two causes in the details, as
 * recorded in answers 080 and 093 (metadata is validated twice on an update). */
#include "sim/kube/kube_status.h"

#include "common/base/str.h"
#include "common/data/json.h"
#include "sim/kube/kinds.h"

#include <stdarg.h>
#include <string.h>

struct json_object *kube_status(int code, const char *reason, const char *message,
                                struct json_object *details)
{
    struct json_object *s = json_object_new_object();
    json_add_str(s, "kind", "Status");
    json_add_str(s, "apiVersion", "v1");
    json_add(s, "metadata", json_object_new_object());
    json_add_str(s, "status", "Failure");
    json_add_str(s, "message", message);
    json_add_str(s, "reason", reason);
    if (details) {
        json_add(s, "details", details);
    }
    json_add_int(s, "code", code);
    return s;
}

int kube_status_code(struct json_object *status)
{
    return (int)json_int(status, "code", str_eq(json_str(status, "status"), "Success") ? 200 : 500);
}

struct json_object *kube_status_bad_request(const char *fmt, ...)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    str_vappendf(&b, fmt, ap);
    va_end(ap);
    return kube_status(400, "BadRequest", str_buf_text(&b), NULL);
}

static struct json_object *details_of(const struct kube_kind *kind, const char *name,
                                      const char *kind_text)
{
    struct json_object *d = json_object_new_object();
    if (!str_is_empty(name)) {
        json_add_str(d, "name", name);
    }
    if (*kind->group) {
        json_add_str(d, "group", kind->group);
    }
    if (*kind_text) {
        json_add_str(d, "kind", kind_text);
    }
    return d;
}

static void append_qualified(struct str_buf *b, const struct kube_kind *kind, const char *word)
{
    str_append(b, word);
    if (*kind->group) {
        str_appendf(b, ".%s", kind->group);
    }
}

/* `before` services.group "name" `after` */
static struct json_object *about(int code, const char *reason, const struct kube_kind *kind,
                                 const char *name, const char *before, const char *after)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_append(&b, before);
    append_qualified(&b, kind, kind->plural);
    str_append_c(&b, ' ');
    str_append_go_quoted(&b, str_nonnull(name));
    str_append(&b, after);
    return kube_status(code, reason, str_buf_text(&b), details_of(kind, name, kind->plural));
}

struct json_object *kube_status_not_found(const struct kube_kind *kind, const char *name)
{
    return about(404, "NotFound", kind, name, "", " not found");
}

struct json_object *kube_status_exists(const struct kube_kind *kind, const char *name)
{
    return about(409, "AlreadyExists", kind, name, "", " already exists");
}

struct json_object *kube_status_conflict(const struct kube_kind *kind, const char *name,
                                         const char *why)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_appendf(&b, ": %s", why);
    return about(409, "Conflict", kind, name, "Operation cannot be fulfilled on ",
                 str_buf_text(&b));
}

struct json_object *kube_status_precondition(const struct kube_kind *kind, const char *name,
                                             const char *why)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_append(&b, "Operation cannot be fulfilled on ");
    append_qualified(&b, kind, kind->kind);
    str_append_c(&b, ' ');
    str_append_go_quoted(&b, name);
    str_appendf(&b, ": %s", why);
    return kube_status(409, "Conflict", str_buf_text(&b), details_of(kind, name, kind->kind));
}

struct json_object *kube_status_unprocessable(void)
{
    return kube_status(422, "Invalid",
                       "the server rejected our request due to an error in our request",
                       json_object_new_object());
}

struct json_object *kube_status_method_not_allowed(void)
{
    return kube_status(405, "MethodNotAllowed",
                       "the server does not allow this method on the requested resource",
                       json_object_new_object());
}

struct json_object *kube_status_internal(struct arena *a, const char *what)
{
    struct json_object *cause = json_object_new_object();
    json_add_str(cause, "message", what);
    struct json_object *causes = json_object_new_array();
    json_object_array_add(causes, cause);
    struct json_object *details = json_object_new_object();
    json_add(details, "causes", causes);
    return kube_status(500, "InternalError", arena_printf(a, "Internal error occurred: %s", what),
                       details);
}

struct json_object *kube_status_admission(const struct kube_kind *kind, const char *name,
                                          const char *why)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_appendf(&b, " is forbidden: %s", why);
    return about(403, "Forbidden", kind, name, "", str_buf_text(&b));
}

struct json_object *kube_status_expired(const char *message)
{
    return kube_status(410, "Expired", message, NULL);
}

struct json_object *kube_status_terminating(const struct kube_kind *kind, const char *name,
                                            const char *ns)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    append_qualified(&b, kind, kind->plural);
    str_append_c(&b, ' ');
    str_append_go_quoted(&b, str_nonnull(name));
    str_appendf(&b,
                " is forbidden: unable to create new content in namespace %s because it is being "
                "terminated",
                ns);
    struct json_object *cause = json_object_new_object();
    json_add_str(cause, "reason", "NamespaceTerminating");
    _cleanup_(str_buf_done) struct str_buf text = STR_BUF_INIT;
    str_appendf(&text, "namespace %s is being terminated", ns);
    json_add_str(cause, "message", str_buf_text(&text));
    json_add_str(cause, "field", "metadata.namespace");
    struct json_object *causes = json_object_new_array();
    json_object_array_add(causes, cause);
    struct json_object *d = details_of(kind, name, kind->plural);
    json_add(d, "causes", causes);
    return kube_status(403, "Forbidden", str_buf_text(&b), d);
}

struct json_object *kube_status_deleted(const struct kube_kind *kind, const char *name,
                                        const char *uid)
{
    struct json_object *s = json_object_new_object();
    json_add_str(s, "kind", "Status");
    json_add_str(s, "apiVersion", "v1");
    json_add(s, "metadata", json_object_new_object());
    json_add_str(s, "status", "Success");
    struct json_object *d = details_of(kind, name, kind->plural);
    json_add_str(d, "uid", uid);
    json_add(s, "details", d);
    return s;
}

/* --- causes ----------------------------------------------------------------------------------- */
static const struct {
    const char *reason, *text;
    bool shows_value;
} cause_types[] = {
    [KUBE_REQUIRED] = {"FieldValueRequired", "Required value", false},
    [KUBE_INVALID] = {"FieldValueInvalid", "Invalid value", true},
    [KUBE_NOT_SUPPORTED] = {"FieldValueNotSupported", "Unsupported value", true},
    [KUBE_FORBIDDEN] = {"FieldValueForbidden", "Forbidden", false},
    [KUBE_DUPLICATE] = {"FieldValueDuplicate", "Duplicate value", true},
    [KUBE_TOO_LONG] = {"FieldValueTooLong", "Too long", false},
    [KUBE_TOO_MANY] = {"FieldValueTooMany", "Too many", true},
};

char *kube_quoted(struct arena *a, const char *s)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_append_go_quoted(&b, s);
    return str_buf_to_arena(&b, a);
}

void kube_cause(struct kube_causes *c, enum kube_cause_type type, const char *field,
                const char *value, const char *detail)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_append(&b, cause_types[type].text);
    if (cause_types[type].shows_value) {
        str_appendf(&b, ": %s", value);
    }
    if (!str_is_empty(detail)) {
        str_appendf(&b, ": %s", detail);
    }
    struct json_object *o = json_object_new_object();
    json_add_str(o, "reason", cause_types[type].reason);
    json_add_str(o, "message", str_buf_text(&b));
    json_add_str(o, "field", field);
    if (!c->list) {
        c->list = json_object_new_array();
    }
    json_object_array_add(c->list, o);
}

void kube_required(struct kube_causes *c, const char *field, const char *detail)
{
    kube_cause(c, KUBE_REQUIRED, field, NULL, detail);
}

void kube_forbidden(struct kube_causes *c, const char *field, const char *detail)
{
    kube_cause(c, KUBE_FORBIDDEN, field, NULL, detail);
}

void kube_invalid(struct kube_causes *c, const char *field, const char *value, const char *detail)
{
    kube_cause(c, KUBE_INVALID, field, kube_quoted(c->arena, value), detail);
}

void kube_invalid_int(struct kube_causes *c, const char *field, int64_t value, const char *detail)
{
    kube_cause(c, KUBE_INVALID, field, arena_printf(c->arena, "%lld", (long long)value), detail);
}

void kube_invalid_json(struct kube_causes *c, const char *field, struct json_object *value,
                       const char *detail)
{
    const char *shown = json_object_is_type(value, json_type_string)
                            ? kube_quoted(c->arena, json_object_get_string(value))
                            : json_text(c->arena, value, JSON_COMPACT);
    kube_cause(c, KUBE_INVALID, field, shown, detail);
}

void kube_duplicate(struct kube_causes *c, const char *field, const char *shown_value)
{
    kube_cause(c, KUBE_DUPLICATE, field, shown_value, NULL);
}

void kube_not_supported(struct kube_causes *c, const char *field, const char *value,
                        const char *const *allowed)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_append(&b, "supported values: ");
    for (size_t i = 0; allowed[i]; i++) {
        str_append(&b, i > 0 ? ", " : "");
        str_append_go_quoted(&b, allowed[i]);
    }
    kube_cause(c, KUBE_NOT_SUPPORTED, field, kube_quoted(c->arena, value), str_buf_text(&b));
}

bool kube_has_causes(const struct kube_causes *c)
{
    return c->list != NULL;
}

void kube_causes_done(struct kube_causes *c)
{
    json_object_put(c->list);
    c->list = NULL;
}

/* "field: message", once per text; more than one in brackets. */
static void append_causes(struct str_buf *b, struct json_object *list)
{
    size_t n = json_len(list);
    size_t shown = 0;
    _cleanup_(str_buf_done) struct str_buf all = STR_BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        struct json_object *o = json_object_array_get_idx(list, i);
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++) {
            seen = json_equal(o, json_object_array_get_idx(list, k));
        }
        if (!seen) {
            str_appendf(&all, "%s%s: %s", shown ? ", " : "", json_str(o, "field"),
                        json_str(o, "message"));
            shown++;
        }
    }
    str_append(b, shown > 1 ? "[" : "");
    str_append(b, str_buf_text(&all));
    str_append(b, shown > 1 ? "]" : "");
}

struct json_object *kube_status_invalid(const struct kube_kind *kind, const char *name,
                                        struct kube_causes *c, bool resource_name)
{
    if (!c->list) {
        return NULL;
    }
    const char *word = resource_name ? kind->plural : kind->kind;
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    append_qualified(&b, kind, word);
    str_append_c(&b, ' ');
    str_append_go_quoted(&b, str_nonnull(name));
    str_append(&b, " is invalid: ");
    append_causes(&b, c->list);
    struct json_object *d = details_of(kind, name, word);
    json_add(d, "causes", STEAL(c->list));
    return kube_status(422, "Invalid", str_buf_text(&b), d);
}
