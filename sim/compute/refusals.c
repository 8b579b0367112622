/* SPDX-License-Identifier: Apache-2.0 */
/* refusals.c: why a request is not served, and the error bodies of the Compute API.
 *
 * Two shapes, as the cloud has them: the classic one (code, message, errors[]), and for requests
 * that the front end refuses the newer one (with status and details).  The words are Google's where
 * a public report quotes them, since clients go by them; the reports are named beside the rows of
 * the tests (compute_texts.c).
 * Source: gce-cloud-provider.md §3.4. */
#include "sim/compute/compute.h"

#include <string.h>

bool ce_refuse(struct refusal *r, struct arena *a, int status, const char *reason, const char *fmt,
               ...)
{
    va_list ap;
    va_start(ap, fmt);
    r->status = status;
    r->reason = reason;
    r->message = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return false;
}

bool ce_refuse_invalid(struct refusal *r, struct arena *a, const char *field, const char *value,
                       const char *why)
{
    return ce_refuse(r, a, 400, "invalid", "Invalid value for field '%s': '%s'. %s", field, value,
                     why);
}

bool ce_refuse_required(struct refusal *r, struct arena *a, const char *field)
{
    return ce_refuse(r, a, 400, "required", "Required field '%s' not specified", field);
}

bool ce_refuse_not_found(struct refusal *r, struct arena *a, const char *path)
{
    return ce_refuse(r, a, 404, "notFound", "The resource '%s' was not found", path);
}

bool ce_refuse_in_use(struct refusal *r, struct arena *a, const struct resource *res,
                      const char *by)
{
    const char *what = res->col ? res->col->what : "resource";
    return ce_refuse(r, a, 400, "resourceInUseByAnotherResource",
                     "The %s resource '%s' is already being used by '%s'", what, res->path, by);
}

bool ce_refuse_ip_in_use(struct refusal *r, struct arena *a, const char *ip)
{
    ce_refuse(r, a, 409, "ipInUseByAnotherResource",
              "IP '%s' is already being used by another resource.", ip);
    r->code = "IP_IN_USE_BY_ANOTHER_RESOURCE";
    return false;
}

bool ce_refuse_dangling(struct refusal *r, struct arena *a, const char *field, const char *link,
                        const char *path)
{
    const struct collection *col =
        ce_collection_find(ce_path_collection(a, path), SCOPE_AGGREGATED);
    return ce_refuse_invalid(r, a, field, link,
                             arena_printf(a, "The referenced %s%sresource cannot be found.",
                                          col ? col->what : "", col ? " " : ""));
}

bool ce_refuse_no_address(struct refusal *r, struct arena *a, const char *subnet)
{
    if (subnet == NULL) {
        return ce_refuse(r, a, 403, "quotaExceeded", "No address is left in the range");
    }
    return ce_refuse(r, a, 400, "IP_SPACE_EXHAUSTED", "IP space of '%s' is exhausted.", subnet);
}

/* One BadRequest detail with a field violation. */
static struct json_object *bad_request(const char *field, const char *text)
{
    struct json_object *violation = json_object_new_object();
    json_add_str(violation, "field", field);
    json_add_str(violation, "description", text);
    struct json_object *violations = json_object_new_array();
    json_object_array_add(violations, violation);
    struct json_object *detail = json_object_new_object();
    json_add_str(detail, "@type", "type.googleapis.com/google.rpc.BadRequest");
    json_add(detail, "fieldViolations", violations);
    struct json_object *details = json_object_new_array();
    json_object_array_add(details, detail);
    return details;
}

bool ce_refuse_schema(struct refusal *r, struct arena *a, const struct schema_problem *p)
{
    switch (p->what) {
    case SCHEMA_UNKNOWN_MEMBER:
        ce_refuse(r, a, 400, "badRequest",
                  "Invalid JSON payload received. Unknown name \"%s\" at '%s': Cannot find field.",
                  p->name, p->path);
        r->details = bad_request(p->path, r->message);
        return false;
    case SCHEMA_WRONG_TYPE:
        ce_refuse(r, a, 400, "badRequest", "Invalid value at '%s': %s; want %s", p->path, p->got,
                  p->want);
        r->details = bad_request(p->path, r->message);
        return false;
    case SCHEMA_BAD_VALUE:
        return ce_refuse_invalid(r, a, p->path, p->got,
                                 arena_printf(a, "Must be %s.", str_nonnull(p->want)));
    case SCHEMA_REQUIRED:
        return ce_refuse_required(r, a, p->path);
    case SCHEMA_OK:
        break;
    }
    return ce_refuse(r, a, 500, "backendError", "Internal error");
}

struct json_object *ce_refusal_body(const struct refusal *r)
{
    struct json_object *item = json_object_new_object();
    json_add_str(item, "message", r->message);
    bool limit = str_eq(r->reason, "quotaExceeded") || str_eq(r->reason, "rateLimitExceeded");
    json_add_str(item, "domain", limit ? "usageLimits" : "global");
    json_add_str(item, "reason", r->reason);
    if (r->status == 401) {
        json_add_str(item, "location", "Authorization");
        json_add_str(item, "locationType", "header");
    }
    struct json_object *items = json_object_new_array();
    json_object_array_add(items, item);
    struct json_object *error = json_object_new_object();
    json_add_int(error, "code", r->status);
    json_add_str(error, "message", r->message);
    json_add(error, "errors", items);
    if (r->details) {
        json_add_str(error, "status", "INVALID_ARGUMENT");
        json_add(error, "details", json_object_get(r->details));
    } else if (r->status == 401) {
        json_add_str(error, "status", "UNAUTHENTICATED");
    }
    struct json_object *body = json_object_new_object();
    json_add(body, "error", error);
    return body;
}

struct json_object *compute_error_body(void *state, const struct sim_call *call, int status,
                                       const char *reason, const char *message)
{
    (void)state;
    (void)call;
    struct refusal r = {.status = status, .reason = reason, .message = message};
    return ce_refusal_body(&r);
}
