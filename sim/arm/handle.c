/* SPDX-License-Identifier: Apache-2.0 */
/* handle.c: a request to the resource manager from its arrival to its answer.
 *
 * Token, allowance, route, api-version, subscription, group, locks, body, policies; then the action
 * or the generic verb; then the answer: the document, a list, or a refusal.  Writes are answered by
 * operations.c.  At --latency cloud answers travel as long as the cloud's. */
#include "sim/arm/arm.h"

#include <string.h>
#include <strings.h>
#include <time.h>

#define TRAVEL_MS 60
#define BODY_MAX  (4 * 1024 * 1024) /* form of the requests that the resource manager accepts */

/* --- answers ---------------------------------------------------------------------------------- */

/* "EASTUS:20261122T013000Z:id" */
static const char *routing_id(struct arm_request *q, const char *id)
{
    time_t now = (time_t)clock_wall_s(sim_clock(q->arm->sim));
    struct tm tm;
    char text[32] = "", place[64] = "";
    strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &tm));
    for (size_t i = 0; q->arm->location[i] && i + 1 < sizeof(place); i++) {
        char c = q->arm->location[i];
        place[i] = c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
    }
    return arena_printf(q->a, "%s:%s:%s", place, text, id);
}

static void add_headers(struct arm_request *q)
{
    struct http_req *req = q->call->req;
    char *id = arm_uuid(q->arm, q->a);
    const char *client = http_req_header(req, "x-ms-client-request-id");
    const char *wanted = http_req_header(req, "x-ms-return-client-request-id");
    http_req_add_header(req, "Cache-Control", "no-cache");
    http_req_add_header(req, "x-ms-request-id", id);
    http_req_add_header(req, "x-ms-correlation-request-id",
                        str_or(http_req_header(req, "x-ms-correlation-request-id"), id));
    http_req_add_header(req, "x-ms-routing-request-id", routing_id(q, id));
    if (client && str_eq_nocase(wanted, "true")) {
        http_req_add_header(req, "x-ms-client-request-id", client);
    }
    arm_throttle_headers(q);
    if (q->refusal.retry_after_s > 0) {
        http_req_add_header(req, "Retry-After", arena_printf(q->a, "%d", q->refusal.retry_after_s));
    }
}

static void answer(struct arm_request *q, int status, struct json_object *body)
{
    struct sim_call *call = q->call;
    add_headers(q);
    int64_t ms = 0;
    if (sim_cfg(q->arm->sim)->latency != SIM_LATENCY_NONE) {
        ms = TRAVEL_MS / 2 + (int64_t)rng_below(sim_rng(q->arm->sim), TRAVEL_MS);
    }
    sim_answer_after(call, ms, status, body);
}

const char *arm_param(const struct arm_request *q, const char *name)
{
    for (size_t i = 0; i < q->call->n_params; i++) {
        if (str_eq_nocase(q->call->params[i].name, name)) {
            return q->call->params[i].value;
        }
    }
    return NULL;
}

/* --- checks before any verb ------------------------------------------------------------------- */

static bool check_version(struct arm_request *q)
{
    const char *version = arm_param(q, "api-version");
    bool polls = str_eq(q->verb, "Get") && !q->kind && strstr(q->op->id, "Operation");
    for (size_t i = 0; i < q->call->n_params; i++) {
        const struct url_param *p = &q->call->params[i];
        if (str_eq_nocase(p->name, "api-version") && p->value != version) {
            return arm_refuse(q, 400, "InvalidApiVersionParameter",
                              "The api-version '%s,%s' is invalid.", version, p->value);
        }
    }
    if (str_is_empty(version)) {
        return polls || arm_refuse(q, 400, "MissingApiVersionParameter",
                                   "The api-version query parameter (?api-version=) is required "
                                   "for all requests.");
    }
    if (polls || arm_is_served(q, version)) {
        return true;
    }
    return arm_refuse(q, 400, "NoRegisteredProviderFound",
                      "No registered resource provider found for location '%s' and API version "
                      "'%s' for type '%s'. The supported api-versions are '%s'.",
                      q->arm->location, version, q->kind ? strchr(q->kind->type, '/') + 1 : "",
                      q->op->api_version);
}

static bool check_place(struct arm_request *q)
{
    if (!arm_subscription_known(q->arm, q->subscription)) {
        return arm_refuse(q, 404, "SubscriptionNotFound",
                          "The subscription '%s' could not be found.", q->subscription);
    }
    return !q->group || arm_group_known(q->arm, q->subscription, q->group) ||
           arm_refuse(q, 404, "ResourceGroupNotFound", "Resource group '%s' could not be found.",
                      q->group);
}

static bool bad_body(struct arm_request *q, const char *why)
{
    bool network = strstr(q->op->path, "Microsoft.Network") != NULL;
    if (!network) {
        return arm_refuse(q, 400, "BadRequest", "%s", why);
    }
    q->refusal.detail_code = "InvalidJson";
    q->refusal.detail = why;
    return arm_refuse(q, 400, "InvalidRequestFormat", "Cannot parse the request.");
}

/* Tag names are compared without case. */
static bool check_tag_twice(struct arm_request *q, struct json_object *tags)
{
    struct map *seen = map_new(NULL);
    const char *twice = NULL;
    json_object_object_foreach(tags, name, value)
    {
        (void)value;
        twice = map_has(seen, str_lower(q->a, name)) ? name : twice;
        map_set(seen, str_lower(q->a, name), NULL);
    }
    map_free(seen);
    return !twice ||
           arm_refuse(q, 400, "InvalidRequestContent",
                      "The request content was invalid: the tag '%s' is given twice.", twice);
}

/* Tags are strings; null is not a string. */
static bool check_tags(struct arm_request *q)
{
    struct json_object *tags = json_member(q->body, "tags");
    if (!json_object_is_type(tags, json_type_object)) {
        return true;
    }
    if (json_object_object_length(tags) > 50) {
        return arm_refuse(q, 400, "InvalidTagsCount",
                          "The number of tags may not exceed the maximum allowed value of 50.");
    }
    json_object_object_foreach(tags, name, value)
    {
        if (!value || !json_object_is_type(value, json_type_string)) {
            return bad_body(q, arena_printf(q->a, "The value of the tag '%s' is no string.", name));
        }
        if (str_is_empty(name) || strlen(name) > 512 || strpbrk(name, "<>%&\\?/")) {
            return arm_refuse(q, 400, "InvalidTagNameCharacters",
                              "The tag name '%s' is empty, too long or has reserved characters "
                              "'<,>,%%,&,\\,?,/' or control characters.",
                              name);
        }
        if (json_object_get_string_len(value) > 256) {
            return arm_refuse(q, 400, "InvalidTagValueLength",
                              "Tag value too large. The tag '%s' has more than 256 characters.",
                              name);
        }
    }
    return check_tag_twice(q, tags);
}

static bool is_json(struct arena *a, const char *media)
{
    return str_eq_nocase(str_trim(a, arena_strndup(a, media, strcspn(media, ";"))),
                         "application/json");
}

static bool read_body(struct arm_request *q)
{
    struct err err = ERR_INIT;
    const char *why = NULL;
    if (q->call->body_len > BODY_MAX) {
        return arm_refuse(q, 413, "RequestContentTooLarge",
                          "The request content size exceeds the maximum size of %d MB.",
                          BODY_MAX / 1024 / 1024);
    }
    if (q->op->request < 0 || (q->call->body_len == 0 && str_eq(q->call->method, "POST"))) {
        return true;
    }
    const char *media = str_nonnull(http_req_header(q->call->req, "Content-Type"));
    if (!is_json(q->a, media)) {
        return arm_refuse(q, 415, "UnsupportedMediaType",
                          "The content media type '%s' is not supported. Only 'application/json' "
                          "is supported.",
                          media);
    }
    if (q->call->body_len == 0 ||
        json_parse_arena(q->a, q->call->body, q->call->body_len, NULL, &q->body, &err) ||
        !json_object_is_type(q->body, json_type_object)) {
        return arm_refuse(q, 400, "InvalidRequestContent",
                          "The request content was invalid and could not be deserialized: '%s'.",
                          err.message);
    }
    if (!check_tags(q)) {
        return false;
    }
    arm_schema_strip(q->op->request, q->body);
    return arm_schema_check(q->a, q->op->request, q->body, "", &why) || bad_body(q, why);
}

/* --- verbs ------------------------------------------------------------------------------------ */

static const struct {
    const char *verb;
    bool (*run)(struct arm_request *q);
} verbs[] = {
    {"Get", arm_read_get},
    {"List", arm_read_list},
    {"ListAll", arm_read_list},
    {"ListBySubscription", arm_read_list},
    {"CreateOrUpdate", arm_write_put},
    {"UpdateTags", arm_write_patch},
    {"Delete", arm_write_delete},
};

static bool run_verb(struct arm_request *q)
{
    for (const struct arm_action *x = arm_actions; x->op; x++) {
        if (str_eq(x->op, q->op->id)) {
            return x->run(q);
        }
    }
    if (q->kind && str_eq(q->verb, "Update")) {
        return str_eq(q->op->method, "PATCH") ? arm_write_patch(q) : arm_write_put(q);
    }
    for (size_t i = 0; q->kind && i < ARRAY_LEN(verbs); i++) {
        if (str_eq(verbs[i].verb, q->verb)) {
            return verbs[i].run(q);
        }
    }
    return arm_refuse(q, 501, "NotImplemented", "%s is not simulated.", q->op->id);
}

static void free_map(void *m)
{
    map_free(m);
}

/* A call about documents, from its route to its answer's body. */
static bool run_on_documents(struct arm_request *q)
{
    if (!arm_route(q) || !check_version(q) || !check_place(q) || !arm_check_locks(q) ||
        !read_body(q) || !arm_check_policies(q)) {
        return false;
    }
    q->res = arm_get(q->arm, q->id);
    if (!run_verb(q)) {
        return false;
    }
    if (!str_eq(q->call->method, "GET")) {
        arm_operations_answer(q);
    }
    arm_prune(q->status == 204 ? -1 : q->op->answer, q->answer);
    return true;
}

void arm_handle(void *state, struct sim_call *call)
{
    struct arm_request *q = ARENA_NEW(call->arena, struct arm_request);
    q->arm = state;
    q->call = call;
    q->a = call->arena;
    q->picked = map_new(NULL);
    arena_defer(q->a, free_map, q->picked);
    bool of_groups = arm_groups_op(call) != NULL;
    if (arm_token_check(q) && arm_throttle(q) &&
        (of_groups ? arm_groups_run(q) : run_on_documents(q))) {
        answer(q, q->status ? q->status : 200, q->answer);
        return;
    }
    json_object_put(q->answer);
    answer(q, q->refusal.status, arm_refusal_json(&q->refusal));
}
