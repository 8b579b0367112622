/* SPDX-License-Identifier: Apache-2.0 */
/* client_rules.c: answers, repetitions, names (see client_rules.h). */
#include "controller/kube/client/client_rules.h"

#include <stdio.h>
#include <string.h>

#include "common/base/str.h"
#include "controller/kube/client/client.h"

#define STATUS_MAX ((size_t)64 * 1024) /* a Status in a 2xx is small */

/* --- answers ---------------------------------------------------------------------------------- */

/* §4.5: a 200 may carry a Status that says Failure. */
static bool is_hidden_failure(const struct client_answer *ans)
{
    struct json_object *o _cleanup_(json_putp) = NULL;
    if (ans->body_len > STATUS_MAX || ans->body_len == 0 || ans->body[0] != '{' ||
        strstr(ans->body, "\"Failure\"") == NULL) {
        return false;
    }
    return json_parse(ans->body, ans->body_len, NULL, &o, NULL) == ERR_OK &&
           str_eq(json_str(o, "kind"), "Status") && str_eq(json_str(o, "status"), "Failure");
}

/* Whole seconds only, as upstream (an HTTP date is ignored); -1 when absent. */
static int64_t header_wait_ms(const struct client_answer *ans)
{
    uint64_t s;
    if (ans->retry_after == NULL || !str_to_u64(ans->retry_after, &s)) {
        return -1;
    }
    return s > 3600 ? 3600 * 1000 : (int64_t)s * 1000;
}

int client_judge(const struct client_answer *ans, const char *method, struct err *err)
{
    bool fine = ans->status >= 200 && ans->status <= 299;
    if (fine && !is_hidden_failure(ans)) {
        return ERR_OK;
    }
    int code = kube_status_error(ans->status, ans->body, ans->body_len, method, err);
    int64_t wait_ms = header_wait_ms(ans);
    if (wait_ms > 0 && err != NULL) {
        err->retry_after_ms = wait_ms;
    }
    return code;
}

static bool is_read(const char *method)
{
    return str_eq(method, "GET") || str_eq(method, "HEAD");
}

bool client_is_mutation(const char *method)
{
    return !is_read(method);
}

/* http.h marks a connection that ended before an answer; refused ones and time-outs
 * are not repeated. */
static bool is_broken(const struct err *err)
{
    return err->code == ERR_TRANSIENT && err->http_status == 0 && str_eq(err->reason, "broken");
}

bool client_retry(struct client_rules *r, const char *method, const struct client_answer *ans,
                  const struct err *err, int64_t now_ms, int64_t *ret_at_ms)
{
    int64_t wait_ms = -1;
    if (ans->status == 429 || ans->status >= 500) {
        wait_ms = header_wait_ms(ans);
    } else if (ans->status == 0 && is_read(method) && is_broken(err)) {
        wait_ms = CLIENT_BROKEN_MS;
    }
    if (wait_ms < 0 || wait_ms > CLIENT_WAIT_MAX_MS || r->retries == CLIENT_RETRIES_MAX) {
        return false;
    }
    r->retries++;
    *ret_at_ms = now_ms + wait_ms;
    return true;
}

/* --- names ------------------------------------------------------------------------------------ */

/* Segments of a resource's path behind the version and the namespace:
 * resource, name, subresource. */
struct segments {
    const char *at[3];
    size_t len[3];
    int n;
};

static const char *next_segment(const char *p, size_t *ret_len)
{
    p += *p == '/';
    *ret_len = strcspn(p, "/");
    return p;
}

static const char *skip_segments(const char *p, int n)
{
    for (int i = 0; i < n; i++) {
        size_t len;
        p = next_segment(p, &len);
        p += len;
    }
    return p;
}

static bool split(const char *path, struct segments *ret)
{
    *ret = (struct segments){0};
    if (str_has_prefix(path, "/api/")) {
        path = skip_segments(path, 2);
    } else if (str_has_prefix(path, "/apis/")) {
        path = skip_segments(path, 3);
    } else {
        return false;
    }
    size_t len;
    const char *p = next_segment(path, &len);
    const char *behind = skip_segments(path, 2);
    bool namespaced = len == 10 && strncmp(p, "namespaces", len) == 0 && behind[0] == '/' &&
                      strcmp(behind, "/status") != 0 && strcmp(behind, "/finalize") != 0;
    p = namespaced ? behind : path;
    while (ret->n < 3 && *p != '\0') {
        p = next_segment(p, &len);
        if (len == 0) {
            break;
        }
        ret->at[ret->n] = p;
        ret->len[ret->n++] = len;
        p += len;
    }
    return ret->n > 0;
}

/* A patch with another uid is "invalid: metadata.uid: … field is immutable" (422), an update a
 * failed precondition (409). */
bool client_is_other_object(const struct err *err)
{
    return (err->http_status == 422 && strstr(err->message, "metadata.uid") != NULL) ||
           (err->http_status == 409 && strstr(err->message, "UID in precondition") != NULL);
}

const char *client_resource(const char *path, char *out, size_t size)
{
    struct segments s;
    if (!split(path, &s)) {
        (void)snprintf(out, size, "%s", path);
    } else if (s.n == 3) {
        (void)snprintf(out, size, "%.*s/%.*s", (int)s.len[0], s.at[0], (int)s.len[2], s.at[2]);
    } else {
        (void)snprintf(out, size, "%.*s", (int)s.len[0], s.at[0]);
    }
    return out;
}
