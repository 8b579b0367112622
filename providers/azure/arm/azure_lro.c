/* SPDX-License-Identifier: Apache-2.0 */
/* azure_lro.c: answers of long-running operations (azure_lro.h).  Pure. */
#include "providers/azure/arm/azure_lro.h"
#include "common/base/str.h"
#include "common/net/url.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/model/azure_errors.h"
#include "providers/azure/model/azure_names.h"

#include <string.h>

#define POLL_NEAR_MS 500 /* about the time that is usual */
#define POLL_SOON_MS 1000
#define POLL_MS      5000
#define POLL_SHARE   5 /* of the time that has passed */
#define WAIT_MOST_MS 3600000

enum state {
    RUNNING,
    SUCCEEDED,
    FAILED,
};

static enum state state_of(const char *text)
{
    if (azure_eq(text, "Succeeded")) {
        return SUCCEEDED;
    }
    return azure_eq(text, "Failed") || azure_eq(text, "Canceled") ? FAILED : RUNNING;
}

/* Some resource providers spell out the port that the scheme has anyway. */
bool azure_lro_is_ours(const char *base, const char *url)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct url ours;
    struct url u;
    if (url_parse(a, base, &ours, NULL) != ERR_OK || url_parse(a, url, &u, NULL) != ERR_OK) {
        return false;
    }
    size_t n = strlen(ours.path);
    bool below = strncasecmp(u.path, ours.path, n) == 0 && (u.path[n] == '/' || u.path[n] == '\0');
    return u.userinfo == NULL && str_eq(u.scheme, ours.scheme) && str_eq(u.host, ours.host) &&
           u.port == ours.port && below && (u.path[n] == '/' || u.query != NULL);
}

/* Which way this write is followed; headers before bodies (3.5). */
static int choose(struct arena *a, struct azure_lro *lro, const struct http_response *resp,
                  struct err *err)
{
    static const struct {
        const char *header;
        int style;
    } ways[] = {{"Azure-AsyncOperation", AZURE_LRO_STATUS},
                {"Operation-Location", AZURE_LRO_STATUS},
                {"Location", AZURE_LRO_LOCATION}};
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        const char *url = http_response_header(resp, ways[i].header);
        if (url == NULL) {
            continue;
        }
        if (!azure_lro_is_ours(lro->base, url)) {
            return err_set(err, ERR_TRANSIENT, "the operation's URL leads to another server");
        }
        lro->style = ways[i].style;
        lro->poll_url = arena_strdup(a, url);
        return ERR_OK;
    }
    lro->style = lro->put ? AZURE_LRO_BODY : AZURE_LRO_NONE;
    lro->poll_url = lro->resource_url;
    if (!lro->put && resp->status == 202) {
        return err_set(err, ERR_TRANSIENT, "the answer says \"accepted\" but not where to look");
    }
    return ERR_OK;
}

static int finish(struct azure_lro *lro, enum state state, const char *word,
                  struct json_object *error, bool has_resource, struct err *err)
{
    if (state == FAILED) {
        lro->done = true;
        (void)azure_error_of_operation(error, word, err);
        return err->code;
    }
    lro->done = state == SUCCEEDED;
    lro->has_resource = lro->done && has_resource;
    return ERR_OK;
}

static int look_first(struct azure_lro *lro, const struct http_response *resp,
                      struct json_object *body, struct err *err)
{
    const char *word = azure_prop_str(body, "provisioningState");
    if (word != NULL) {
        return finish(lro, state_of(word), word, json_member(body, "error"), true, err);
    }
    if (lro->style == AZURE_LRO_STATUS || lro->style == AZURE_LRO_LOCATION) {
        return ERR_OK; /* in progress */
    }
    /* A resource without provisioningState that was created, or only accepted, is asked for. */
    bool open = resp->status == 201 || resp->status == 202;
    lro->done = !(lro->style == AZURE_LRO_BODY && open);
    lro->has_resource = lro->done && body != NULL;
    return ERR_OK;
}

static int look_status(struct azure_lro *lro, struct json_object *body, struct err *err)
{
    const char *word = json_str(body, "status");
    if (word == NULL) {
        return err_set(err, ERR_TRANSIENT, "the operation has no status");
    }
    return finish(lro, state_of(word), word, json_member(body, "error"), false, err);
}

static int look_location(struct arena *a, struct azure_lro *lro, const struct http_response *resp,
                         struct json_object *body, struct err *err)
{
    const char *next = http_response_header(resp, "Location");
    if (next != NULL && azure_lro_is_ours(lro->base, next)) {
        lro->poll_url = arena_strdup(a, next);
    }
    const char *word = azure_prop_str(body, "provisioningState");
    if (word != NULL) {
        return finish(lro, state_of(word), word, json_member(body, "error"), lro->put, err);
    }
    lro->done = resp->status != 202;
    lro->has_resource = lro->done && lro->put && body != NULL;
    return ERR_OK;
}

static int look_body(struct azure_lro *lro, const struct http_response *resp,
                     struct json_object *body, struct err *err)
{
    const char *word = azure_prop_str(body, "provisioningState");
    if (resp->status == 204 || word == NULL) {
        lro->done = true;
        lro->has_resource = body != NULL;
        return ERR_OK;
    }
    return finish(lro, state_of(word), word, json_member(body, "error"), true, err);
}

/* Azure's own headers count milliseconds, and before the standard one. */
static int64_t asked_ms(const struct http_response *resp, int64_t wall_s)
{
    static const char *const names[] = {"retry-after-ms", "x-ms-retry-after-ms"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *text = http_response_header(resp, names[i]);
        int64_t ms;
        if (text != NULL && str_to_i64(text, &ms) && ms > 0) {
            return ms < WAIT_MOST_MS ? ms : WAIT_MOST_MS;
        }
    }
    return http_retry_after_ms(resp, wall_s);
}

int azure_lro_look(struct arena *a, struct azure_lro *lro, const struct http_response *resp,
                   struct json_object *body, int64_t wall_s, struct err *err)
{
    lro->done = false;
    lro->has_resource = false;
    lro->retry_after_ms = asked_ms(resp, wall_s);
    if (lro->first) {
        int rc = choose(a, lro, resp, err);
        return rc != ERR_OK ? rc : look_first(lro, resp, body, err);
    }
    switch (lro->style) {
    case AZURE_LRO_STATUS:
        return look_status(lro, body, err);
    case AZURE_LRO_LOCATION:
        return look_location(a, lro, resp, body, err);
    default:
        return look_body(lro, resp, body, err);
    }
}

int64_t azure_lro_usual_ms(int64_t before_ms, int64_t least_ms, int64_t most_ms)
{
    int64_t took_ms = (least_ms + most_ms) / 2;
    return before_ms == 0 ? took_ms : (3 * before_ms + took_ms) / 4;
}

int64_t azure_lro_wait_ms(bool first, int64_t elapsed_ms, int64_t usual_ms, int64_t asked_ms)
{
    if (asked_ms > 0) {
        return asked_ms;
    }
    if (first) {
        return 0;
    }
    int64_t early_ms = usual_ms - usual_ms / POLL_SHARE;
    if (usual_ms > 0 && elapsed_ms < usual_ms + usual_ms / 2) {
        int64_t rest_ms = early_ms - elapsed_ms;
        return rest_ms > POLL_NEAR_MS ? rest_ms : POLL_NEAR_MS;
    }
    int64_t wait = elapsed_ms / POLL_SHARE;
    wait = wait > POLL_SOON_MS ? wait : POLL_SOON_MS;
    return wait < POLL_MS ? wait : POLL_MS;
}

int64_t azure_lro_spare_ms(int64_t elapsed_ms, int64_t usual_ms)
{
    int64_t rest_ms = usual_ms + usual_ms / 8 - elapsed_ms;
    int64_t step_ms = usual_ms / 4 > POLL_NEAR_MS ? usual_ms / 4 : POLL_NEAR_MS;
    step_ms = step_ms < POLL_MS ? step_ms : POLL_MS;
    return rest_ms > step_ms ? rest_ms : step_ms;
}

const char *azure_lro_claims(struct arena *a, const char *challenge)
{
    const char *p = challenge != NULL ? strcasestr(challenge, "claims=\"") : NULL;
    if (p == NULL) {
        return NULL;
    }
    p += strlen("claims=\"");
    const char *end = strchr(p, '"');
    return end != NULL ? arena_strndup(a, p, (size_t)(end - p)) : NULL;
}
