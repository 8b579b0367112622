/* SPDX-License-Identifier: Apache-2.0 */
/* route.c: from a path to an operation of the schema packs, and to the id of what it is about.
 *
 * Literal segments are compared without case, as ARM does, and one slash at the end does not
 * matter; "." and ".." are not valid segments, however they are escaped.  The id takes the spelling
 * of the packs, and of the resource group as it was first written. */
#include "sim/arm/arm.h"

#include <string.h>

struct path {
    char **segments; /* decoded */
    size_t n;
};

static bool split(struct arena *a, const char *raw, struct path *ret)
{
    size_t len = strlen(raw + 1);
    len -= len > 0 && raw[len] == '/';
    ret->segments = str_split(a, arena_strndup(a, raw + 1, len), '/', &ret->n);
    for (size_t i = 0; i < ret->n; i++) {
        ret->segments[i] = url_unescape(a, ret->segments[i], false);
        const char *text = ret->segments[i];
        if (!text || !*text || strchr(text, '/') || str_eq(text, ".") || str_eq(text, "..")) {
            return false;
        }
    }
    return ret->n > 0;
}

/* Walks a template beside the path; false: it does not fit.  *ret_params: how many
 * segments are parameters. */
static bool fits(const char *template, const struct path *p, int *ret_params)
{
    size_t i = 0;
    *ret_params = 0;
    for (const char *t = template; i < p->n; i++) {
        size_t n = strcspn(t, "/");
        bool is_param = t[0] == '{';
        bool same = strlen(p->segments[i]) == n && strncasecmp(p->segments[i], t, n) == 0;
        if (!is_param && !same) {
            return false;
        }
        *ret_params += is_param;
        if (t[n] == '\0') {
            return i + 1 == p->n;
        }
        t += n + 1;
    }
    return false;
}

static const struct arm_op *find(const char *method, const struct path *p, bool *ret_other_method)
{
    const struct arm_op *best = NULL;
    int best_params = 100;
    *ret_other_method = false;
    for (const struct arm_op *op = arm_ops; op->id; op++) {
        int params;
        if (!fits(op->path, p, &params)) {
            continue;
        }
        if (!str_eq(op->method, method)) {
            *ret_other_method = true;
        } else if (params < best_params) {
            best = op;
            best_params = params;
        }
    }
    return best;
}

/* The id in the packs' spelling, and what its parameters say. */
static void take_apart(struct arm_request *q, const struct path *p)
{
    struct str_buf id = STR_BUF_INIT;
    const char *t = q->op->path;
    q->subscription = "";
    for (size_t i = 0; i < p->n; i++) {
        size_t n = strcspn(t, "/");
        const char *text = t[0] == '{' ? p->segments[i] : arena_strndup(q->a, t, n);
        if (strncmp(t, "{subscriptionId}", n) == 0) {
            q->subscription = text;
        }
        if (strncmp(t, "{resourceGroupName}", n) == 0 || strncmp(t, "{groupName}", n) == 0) {
            q->group = text = arena_strdup(q->a, arm_group_name(q->arm, q->subscription, text));
        }
        text = str_eq(text, "microsoft.Compute") ? "Microsoft.Compute" : text;
        str_appendf(&id, "/%s", text);
        q->name = text;
        t += n + (t[n] == '/');
    }
    q->id = str_buf_to_arena(&id, q->a);
    str_buf_done(&id);
}

static bool refuse_unknown(struct arm_request *q, const struct path *p)
{
    const char *namespace = NULL;
    for (size_t i = 0; i + 1 < p->n; i++) {
        namespace = str_eq_nocase(p->segments[i], "providers") ? p->segments[i + 1] : namespace;
    }
    if (namespace && !str_eq_nocase(namespace, "Microsoft.Network") &&
        !str_eq_nocase(namespace, "Microsoft.Compute")) {
        return arm_refuse(q, 404, "InvalidResourceNamespace",
                          "The resource namespace '%s' is invalid.", namespace);
    }
    return arm_refuse(q, 404, "InvalidResourceType",
                      "The resource type of '%s' could not be found.", q->call->path);
}

bool arm_route(struct arm_request *q)
{
    struct path p = {0};
    bool other = false;
    if (!split(q->a, q->call->path, &p)) {
        return arm_refuse(q, 400, "InvalidRequestUri", "The request path is malformed.");
    }
    q->op = find(q->call->method, &p, &other);
    if (!q->op && other) {
        return arm_refuse(q, 405, "HttpMethodNotAllowed",
                          "The requested resource does not support http method '%s'.",
                          q->call->method);
    }
    if (!q->op) {
        return refuse_unknown(q, &p);
    }
    take_apart(q, &p);
    const char *dot = strrchr(q->op->id, '.');
    q->verb = dot + 1;
    for (const struct arm_kind *k = arm_kinds; k->type; k++) {
        if (strlen(k->ops) == (size_t)(dot - q->op->id) &&
            strncmp(k->ops, q->op->id, strlen(k->ops)) == 0) {
            q->kind = k;
        }
    }
    return true;
}

void arm_name_call(void *state, struct sim_call *call)
{
    struct path p = {0};
    bool other;
    (void)state;
    const struct arm_op *op =
        split(call->arena, call->path, &p) ? find(call->method, &p, &other) : NULL;
    const char *groups = op ? NULL : arm_groups_op(call);
    call->op = op ? op->id : groups ? groups : call->op;
}
