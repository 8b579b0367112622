/* SPDX-License-Identifier: Apache-2.0 */
/* route.c: from a path and a method to kind, namespace, name, subresource and verb, and the call's
 * name.
 *
 * /api/v1/… and /apis/GROUP/VERSION/…, then [namespaces/NS/]PLURAL[/NAME[/SUB]].  Names are kept as
 * sent (the store simply does not find odd ones).  The operation is named
 * resource[.subresource].verb with the verbs of RBAC (interfaces.md). */
#include "sim/kube/route.h"

#include <string.h>

static const char *const verb_names[] = {
    [KUBE_GET] = "get",         [KUBE_LIST] = "list",
    [KUBE_WATCH] = "watch",     [KUBE_CREATE] = "create",
    [KUBE_UPDATE] = "update",   [KUBE_PATCH] = "patch",
    [KUBE_DELETE] = "delete",   [KUBE_DELETE_COLLECTION] = "deletecollection",
    [KUBE_NO_VERB] = "unknown",
};

const char *kube_verb_name(enum kube_verb verb)
{
    return verb_names[verb];
}

/* Go's reading of a flag in a query: what does not say no says yes. */
bool kube_flag_is_on(const char *v)
{
    return v && !str_eq(v, "0") && !str_eq_nocase(v, "false");
}

static enum kube_verb verb_of(const struct sim_call *call, bool has_name)
{
    const char *m = call->method;
    if (str_eq(m, "GET") || str_eq(m, "HEAD")) {
        if (has_name) {
            return KUBE_GET;
        }
        return kube_flag_is_on(sim_call_param(call, "watch")) ? KUBE_WATCH : KUBE_LIST;
    }
    if (str_eq(m, "POST")) {
        return KUBE_CREATE;
    }
    if (str_eq(m, "PUT")) {
        return has_name ? KUBE_UPDATE : KUBE_NO_VERB;
    }
    if (str_eq(m, "PATCH")) {
        return has_name ? KUBE_PATCH : KUBE_NO_VERB;
    }
    if (str_eq(m, "DELETE")) {
        return has_name ? KUBE_DELETE : KUBE_DELETE_COLLECTION;
    }
    return KUBE_NO_VERB;
}

/* parts: what follows the version. */
static void route_resource(struct kube_request *r, const char *group, const char *version,
                           char **parts, size_t n)
{
    if (n >= 3 && str_eq(parts[0], "namespaces")) {
        const struct kube_kind *inside = kube_kind_find(group, version, parts[2]);
        if (inside && inside->namespaced) {
            r->namespace = parts[1];
            parts += 2;
            n -= 2;
        }
    }
    if (n == 0 || n > 3) {
        return;
    }
    r->kind = kube_kind_find(group, version, parts[0]);
    r->name = n > 1 ? parts[1] : NULL;
    r->subresource = n > 2 ? parts[2] : "";
}

void kube_route(struct kube_request *r)
{
    struct sim_call *call = r->call;
    char *path = url_unescape(r->arena, call->path, false);
    r->namespace = "";
    r->subresource = "";
    r->verb = KUBE_NO_VERB;
    if (!path) {
        return;
    }
    size_t n = 0;
    char **parts = str_split(r->arena, path, '/', &n); /* "" first */
    if (n > 0 && *parts[n - 1] == '\0') {
        n--;
    }
    if (n >= 4 && str_eq(parts[1], "api")) {
        route_resource(r, "", parts[2], parts + 3, n - 3);
    } else if (n >= 5 && str_eq(parts[1], "apis")) {
        route_resource(r, parts[2], parts[3], parts + 4, n - 4);
    }
    r->verb = verb_of(call, r->name != NULL);
}

/* The first word of a path without a resource: "healthz", "version", "openapi", "apis". */
static const char *first_word(struct arena *a, const char *path)
{
    path += strspn(path, "/");
    return arena_strndup(a, path, strcspn(path, "/?"));
}

void kube_name_call(void *state, struct sim_call *call)
{
    struct kube_request *r = ARENA_NEW(call->arena, struct kube_request);
    r->st = state;
    r->call = call;
    r->arena = call->arena;
    kube_route(r);
    call->private_data = r;
    if (!r->kind) {
        call->op = arena_printf(r->arena, "%s.get", first_word(r->arena, call->path));
        return;
    }
    call->op = arena_printf(r->arena, "%s%s%s.%s", r->kind->plural, *r->subresource ? "." : "",
                            r->subresource, kube_verb_name(r->verb));
}

bool kube_claims(const void *state, const char *method, const char *path)
{
    (void)method;
    static const char *const roots[] = {"/api",     "/apis",  "/openapi", "/version",
                                        "/healthz", "/livez", "/readyz"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
        size_t n = strlen(roots[i]);
        if (strncmp(path, roots[i], n) == 0 && (path[n] == '\0' || path[n] == '/')) {
            return true;
        }
    }
    return str_eq(path, "/");
}
