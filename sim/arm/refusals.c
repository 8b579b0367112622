/* SPDX-License-Identifier: Apache-2.0 */
/* refusals.c: why a request is not served, and the error bodies of the Azure Resource Manager.
 *
 * {"error": {"code", "message", "details"}}; the code is what clients act on.  Source:
 * docs/spec/azure.md §3.8. */
#include "sim/arm/arm.h"

#include <string.h>
#include <strings.h>

bool arm_refuse(struct arm_request *q, int status, const char *code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    q->refusal.status = status;
    q->refusal.code = code;
    q->refusal.message = arena_vprintf(q->a, fmt, ap);
    va_end(ap);
    return false;
}

bool arm_refuse_reference(struct arm_request *q, const char *id, const char *by)
{
    return arm_refuse(q, 400, "InvalidResourceReference",
                      "Resource %s referenced by resource %s was not found. Please make sure that "
                      "the referenced resource exists, and that both resources are in the same "
                      "region.",
                      id, by);
}

bool arm_refuse_not_found(struct arm_request *q)
{
    const char *type = arm_id_type(q->a, q->id);
    const char *at = strstr(q->id, "/providers/");
    return arm_refuse(q, 404, "ResourceNotFound",
                      "The Resource '%s' under resource group '%s' was not found. For more details "
                      "please go to https://aka.ms/ARMResourceNotFoundFix",
                      at && type ? at + strlen("/providers/") : q->id, str_nonnull(q->group));
}

static struct json_object *error_with(const char *code, const char *message,
                                      struct json_object *details)
{
    struct json_object *error = json_object_new_object();
    struct json_object *body = json_object_new_object();
    json_add_str(error, "code", code);
    json_add_str(error, "message", message);
    if (details) {
        json_add(error, "details", details);
    }
    json_add(body, "error", error);
    return body;
}

int64_t arm_limit(const struct arm *arm, const char *name, int64_t otherwise)
{
    const struct sim_config *cfg = sim_cfg(arm->sim);
    size_t n = strlen(name);
    for (size_t i = 0; i < cfg->n_quotas; i++) {
        const char *quota = cfg->quotas[i];
        if (strncasecmp(quota, name, n) == 0 && quota[n] == '=') {
            (void)!str_to_i64(quota + n + 1, &otherwise);
        }
    }
    return json_int(json_member(arm->settings, "limits"), name, otherwise);
}

struct json_object *arm_error_json(const char *code, const char *message)
{
    return error_with(code, message, NULL);
}

/* [{"type": "PolicyViolation", "info": {…}}] */
static struct json_object *violation(const struct arm_refusal *r)
{
    struct json_object *list = json_object_new_array(), *item = json_object_new_object();
    struct json_object *info = json_object_new_object();
    json_add_str(info, "policyAssignmentName", r->policy);
    json_add_str(info, "policyAssignmentId", r->policy_id);
    json_add_str(info, "policyDefinitionEffect", "deny");
    json_add_str(item, "type", "PolicyViolation");
    json_add(item, "info", info);
    json_object_array_add(list, item);
    return list;
}

struct json_object *arm_refusal_json(const struct arm_refusal *r)
{
    struct json_object *details = json_object_new_array();
    if (r->detail) {
        struct json_object *item = json_object_new_object();
        json_add_str(item, "code", r->detail_code);
        json_add_str(item, "message", r->detail);
        json_object_array_add(details, item);
    }
    struct json_object *body = error_with(r->code, r->message, details);
    json_add_str(json_member(body, "error"), "target", r->target);
    if (r->policy) {
        json_add(json_member(body, "error"), "additionalInfo", violation(r));
    }
    return body;
}

struct json_object *arm_error_body(void *state, const struct sim_call *call, int status,
                                   const char *reason, const char *message)
{
    static const struct {
        int status;
        const char *code;
    } codes[] = {
        {400, "BadRequest"},
        {401, "InvalidAuthenticationToken"},
        {403, "AuthorizationFailed"},
        {404, "ResourceNotFound"},
        {409, "AnotherOperationInProgress"},
        {412, "PreconditionFailed"},
        {429, "TooManyRequests"},
        {500, "InternalServerError"},
        {502, "BadGateway"},
        {503, "ServiceUnavailable"},
        {504, "GatewayTimeout"},
    };
    const char *code = reason;
    (void)state;
    (void)call;
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        code = codes[i].status == status ? codes[i].code : code;
    }
    return arm_error_json(code, message);
}
