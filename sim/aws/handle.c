/* SPDX-License-Identifier: Apache-2.0 */
/* handle.c: the way of a request through the simulated AWS: which action, who calls, what it says,
 * the answer as XML.
 *
 * Version names the API, Action its operation; the rest of the form body is decoded by the pack
 * before the action sees it.  Every answer has a request id and a Date (clients learn the server's
 * clock from it).  Injected faults are answered in the API's own form.
 * Source: docs/spec/aws.md §3, §9.3. */
#include "sim/aws/aws.h"

#include <string.h>

#define CONTENT_TYPE "text/xml;charset=UTF-8"

static const struct amz_action *const action_tables[AMZ_SERVICES_MAX] = {
    [AMZ_EC2] = amz_ec2_actions,
    [AMZ_ELB] = amz_elb_actions,
    [AMZ_ELBV2] = amz_elbv2_actions,
    [AMZ_STS] = amz_sts_actions,
};

/* --- which action ----------------------------------------------------------------------------- */

static const struct amz_action *find_action(enum amz_service service, const char *name)
{
    for (const struct amz_action *row = action_tables[service]; row->name; row++) {
        if (str_eq(row->name, name)) {
            return row;
        }
    }
    return NULL;
}

/* The service that answers a request which is unreadable or has no known version: the one in the
 * signature, or the one whose version is in the body; else EC2. */
static enum amz_service addressee(const struct sim_call *call)
{
    const char *signed_for = str_nonnull(http_req_header(call->req, "Authorization"));
    enum amz_service found = AMZ_EC2;
    for (int i = 0; i < AMZ_SERVICES_MAX; i++) {
        const char *scope = arena_printf(call->arena, "/%s/aws4_request", amz_dialects[i].scope);
        const char *version = arena_printf(call->arena, "Version=%s", amz_dialects[i].version);
        if (call->body_len && memmem(call->body, call->body_len, version, strlen(version))) {
            return (enum amz_service)i;
        }
        if (strstr(signed_for, scope)) {
            found = (enum amz_service)i;
        }
    }
    return found;
}

/* Fills service, op and action; false: the version is not served, and `service` gives the form of
 * the answer. */
static bool identify(struct amz_request *q)
{
    const char *version = url_query_get(q->params, q->n_params, "Version");
    const char *name = url_query_get(q->params, q->n_params, "Action");
    for (int i = 0; i < AMZ_SERVICES_MAX; i++) {
        if (str_eq(amz_dialects[i].version, version)) {
            q->service = (enum amz_service)i;
            q->op = name ? amz_op_find(q->service, name) : NULL;
            q->action = q->op ? find_action(q->service, name) : NULL;
            return true;
        }
    }
    q->service = addressee(q->call);
    return false;
}

/* Decodes the request's body; false if it is not a form. */
static bool read_form(struct amz_request *q, struct aws *aws, struct sim_call *call)
{
    char uuid[37];
    rng_uuid(sim_rng(aws->sim), uuid);
    *q = (struct amz_request){
        .aws = aws,
        .call = call,
        .a = call->arena,
        .service = AMZ_EC2,
        .id = arena_strdup(call->arena, uuid),
    };
    return url_query_parse(q->a, call->body_len ? call->body : NULL, &q->params, &q->n_params,
                           NULL) == ERR_OK;
}

void amz_name_call(void *state, struct sim_call *call)
{
    struct amz_request q;
    if (!read_form(&q, state, call) || !identify(&q) || !q.op) {
        return;
    }
    call->op = arena_printf(q.a, "%s.%s", amz_dialects[q.service].key, q.op->name);
    if (q.service == AMZ_STS) { /* a request for credentials is not a call of a cloud API */
        call->module = &sim_aws_metadata_module;
    }
}

/* --- answers ---------------------------------------------------------------------------------- */

static void add_headers(struct amz_request *q)
{
    amz_add_date(q->aws, q->call);
    http_req_add_header(q->call->req, "x-amzn-RequestId", q->id);
}

static void answer_refusal(struct amz_request *q)
{
    struct str_buf b = STR_BUF_INIT;
    add_headers(q);
    amz_error_xml(&b, q->service, q->refusal.status, q->refusal.code, q->refusal.message, q->id);
    sim_answer_text(q->call, q->refusal.status, CONTENT_TYPE, str_buf_text(&b));
    str_buf_done(&b);
}

/* How long the cloud takes for it. */
static int64_t latency_ms(struct amz_request *q)
{
    static const struct {
        uint32_t least, spread;
    } ms[] = {
        [AMZ_READS] = {50, 150},
        [AMZ_WRITES] = {100, 300},
        [AMZ_HEAVY] = {200, 800},
        [AMZ_CREATES] = {500, 1500},
    };
    if (sim_cfg(q->aws->sim)->latency != SIM_LATENCY_CLOUD) {
        return 0;
    }
    enum amz_cost cost = q->action->cost;
    return ms[cost].least + (int64_t)rng_below(sim_rng(q->aws->sim), ms[cost].spread + 1);
}

static void answer_success(struct amz_request *q)
{
    struct str_buf b = STR_BUF_INIT;
    add_headers(q);
    amz_answer_xml(&b, q->op, q->out, q->id);
    sim_answer_text_after(q->call, latency_ms(q), 200, CONTENT_TYPE, str_buf_text(&b));
    str_buf_done(&b);
}

/* --- serving ---------------------------------------------------------------------------------- */

static void put_json(void *o)
{
    json_object_put(o);
}

static bool refuse_flaw(struct amz_request *q, const struct amz_flaw *f)
{
    bool ec2 = q->service == AMZ_EC2;
    static const char *const ec2_codes[] = {
        [AMZ_FLAW_UNKNOWN] = "UnknownParameter",
        [AMZ_FLAW_MISSING] = "MissingParameter",
        [AMZ_FLAW_VALUE] = "InvalidParameterValue",
    };
    return amz_refuse(q, ec2 ? ec2_codes[f->kind] : "ValidationError", "%s", f->message);
}

/* The form body without what names the action, as JSON. */
static bool decode(struct amz_request *q)
{
    struct url_param *rest = ARENA_ARRAY(q->a, struct url_param, q->n_params + 1);
    struct amz_flaw flaw;
    size_t n = 0;
    for (size_t i = 0; i < q->n_params; i++) {
        if (!str_eq(q->params[i].name, "Action") && !str_eq(q->params[i].name, "Version")) {
            rest[n++] = q->params[i];
        }
    }
    if (!amz_params_decode(q->a, q->op, rest, n, &q->in, &flaw)) {
        return refuse_flaw(q, &flaw);
    }
    arena_defer(q->a, put_json, q->in);
    return true;
}

static bool serve(struct amz_request *q)
{
    const char *name = url_query_get(q->params, q->n_params, "Action");
    if (!q->op) {
        return !name ? amz_refuse(q, "MissingAction",
                                  "The request must contain the parameter Action.")
               : amz_dialects[q->service].ec2
                   ? amz_refuse(q, "InvalidAction",
                                "The action %.80s is not valid for this web service.", name)
                   : amz_refuse(q, "InvalidAction", "Could not find operation %.80s for version %s",
                                name, amz_dialects[q->service].version);
    }
    if (!amz_authenticate(q) || !decode(q)) {
        return false;
    }
    if (!q->action) {
        return amz_refuse(q, "InvalidAction", "The action %s is not simulated.", q->op->name);
    }
    if (json_bool(q->in, "DryRun", false)) {
        return amz_refuse_status(q, 412, "DryRunOperation",
                                 "Request would have succeeded, but DryRun flag is set.");
    }
    if (!amz_throttle(q)) {
        return false;
    }
    amz_balancers_settle(q->aws);
    return q->action->run(q);
}

static bool refuse_form(struct amz_request *q)
{
    q->service = addressee(q->call);
    return amz_refuse(q, "MalformedQueryString", "The body is not a form of names and values.");
}

void amz_handle(void *state, struct sim_call *call)
{
    struct amz_request q;
    bool form = read_form(&q, state, call);
    q.out = json_object_new_object();
    arena_defer(q.a, put_json, q.out);
    bool ok = form ? identify(&q) || amz_refuse(&q, "InvalidAction",
                                                "The version of the API is missing or unknown.")
                   : refuse_form(&q);
    if (ok && serve(&q)) {
        answer_success(&q);
    } else {
        answer_refusal(&q);
    }
}

/* --- faults ----------------------------------------------------------------------------------- */

/* The code that a service has for a status when the fault names none. */
static const char *code_for(enum amz_service service, int *status, const char *reason)
{
    bool ec2 = service == AMZ_EC2;
    if (str_eq(reason, "rateLimitExceeded")) {
        *status = ec2 ? 503 : 400;
        return ec2 ? "RequestLimitExceeded" : "Throttling";
    }
    switch (*status) {
    case 401:
        return "AuthFailure";
    case 403:
        return ec2 ? "UnauthorizedOperation" : "AccessDenied";
    case 500:
        return ec2 ? "InternalError" : "InternalFailure";
    case 503:
        return ec2 ? "Unavailable" : "ServiceUnavailable";
    default:
        return *status >= 500 ? "InternalFailure"
               : ec2          ? "InvalidParameterValue"
                              : "ValidationError";
    }
}

void amz_refuse_fault(void *state, struct sim_call *call, int status, const char *reason,
                      const char *message, struct json_object *body)
{
    struct amz_request q;
    if (read_form(&q, state, call)) {
        (void)identify(&q);
    } else {
        q.service = addressee(call);
    }
    const char *code = code_for(q.service, &status, reason);
    q.refusal = (struct amz_refusal){
        .status = status,
        .code = str_or(json_str(body, "Code"), code),
        .message = str_or(json_str(body, "Message"), message),
    };
    answer_refusal(&q);
}
