/* SPDX-License-Identifier: Apache-2.0 */
/* versions.c: the API's beta version beside v1.
 *
 * It has the same resources, and links in its answers are of its own version.  Members that only
 * beta has belong to resources that are not simulated (global external pass-through rules), so what
 * it shows is what v1 shows.  It is read-only: writes would need schemas of their own.  Source:
 * compute beta; gce-l4.md §1.8. */
#include "sim/compute/compute.h"

#include <string.h>

#define BETA_PREFIX "https://www.googleapis.com/compute/beta/"

const char *ce_version_below(const char *path, bool *ret_beta)
{
    static const char v1[] = "/compute/v1/";
    static const char beta[] = "/compute/beta/";
    *ret_beta = str_has_prefix(path, beta);
    if (*ret_beta) {
        return path + strlen(beta);
    }
    return str_has_prefix(path, v1) ? path + strlen(v1) : NULL;
}

bool ce_version_check(struct request *q)
{
    return !q->beta || str_eq(q->call->method, "GET") ||
           ce_refuse(&q->refusal, q->a, 501, "notImplemented", "%s is not simulated in beta",
                     q->op->id);
}

struct json_object *ce_version_show(struct request *q, struct json_object *body)
{
    static const char prefix[] = COMPUTE_PREFIX;
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct json_object *shown = NULL;
    if (!q->beta) {
        return body;
    }
    const char *text = json_text(q->a, body, JSON_COMPACT);
    for (const char *at = strstr(text, prefix); at; at = strstr(text, prefix)) {
        str_append_n(&b, text, (size_t)(at - text));
        str_append(&b, BETA_PREFIX);
        text = at + strlen(prefix);
    }
    str_append(&b, text);
    if (json_parse(str_buf_text(&b), b.len, NULL, &shown, NULL) != ERR_OK) {
        return body; /* it was a tree before: it is one */
    }
    json_object_put(body);
    return shown;
}
