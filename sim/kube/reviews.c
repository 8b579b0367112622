/* SPDX-License-Identifier: Apache-2.0 */
/* reviews.c: TokenReview, SubjectAccessReview and TokenRequest: questions that are POSTed and not
 * stored.
 *
 * Recorded: 131–134.  Without --rbac every access is allowed, as everywhere in the simulator. */
#include "common/base/clock.h"
#include "sim/kube/auth.h"
#include "sim/kube/rules/rules.h"
#include "sim/kube/write.h"

#include <string.h>

#define TOKEN_LIFE_S 3600

static struct json_object *strs(const char *const *items, size_t n)
{
    return json_strs(items, n);
}

static void review_token(struct kube_request *r, struct json_object *o)
{
    static const char *const audience[] = {"https://kubernetes.default.svc"};
    struct json_object *spec = json_member(o, "spec");
    struct json_object *status = json_object_new_object();
    struct json_object *user = json_object_new_object();
    const char *token = json_str(spec, "token");
    const struct kube_user *u = token ? kube_auth_user(r->arena, token) : NULL;
    if (u) {
        char uid[37];
        rng_uuid(sim_rng(r->st->sim), uid);
        json_add_bool(status, "authenticated", true);
        json_add_str(user, "username", u->name);
        json_add_str(user, "uid", uid);
        json_add(user, "groups", strs(u->groups, u->n_groups));
        json_add(status, "user", user);
        json_add(status, "audiences", strs(audience, 1));
    } else {
        json_add(status, "user", user);
        json_add_str(status, "error", "invalid bearer token");
    }
    kube_set(o, "status", status);
}

static void answer_access(struct kube_request *r, struct json_object *o, const struct kube_user *u)
{
    struct json_object *spec = json_member(o, "spec");
    struct json_object *resource = json_member(spec, "resourceAttributes");
    struct json_object *path = json_member(spec, "nonResourceAttributes");
    struct kube_access what = {
        .user = u,
        .verb = str_nonnull(json_str(resource ? resource : path, "verb")),
        .group = str_nonnull(json_str(resource, "group")),
        .resource = str_nonnull(json_str(resource, "resource")),
        .subresource = str_nonnull(json_str(resource, "subresource")),
        .namespace = str_nonnull(json_str(resource, "namespace")),
        .name = str_nonnull(json_str(resource, "name")),
        .path = resource ? NULL : str_nonnull(json_str(path, "path")),
    };
    struct json_object *status = json_object_new_object();
    json_add_bool(status, "allowed", !r->st->auth || kube_auth_allows(r->st->auth, &what));
    kube_set(o, "status", status);
}

static void review_access(struct kube_request *r, struct json_object *o)
{
    struct json_object *spec = json_member(o, "spec");
    struct json_object *groups = json_member(spec, "groups");
    struct kube_user u = {.name = str_nonnull(json_str(spec, "user"))};
    const char **names = ARENA_ARRAY(r->arena, const char *, json_len(groups) + 1);
    for (size_t i = 0; i < json_len(groups); i++) {
        names[u.n_groups++] = kube_item(groups, i);
    }
    u.groups = names;
    answer_access(r, o, &u);
}

/* `kubectl auth can-i`: the caller asks about itself. */
static void review_self(struct kube_request *r, struct json_object *o)
{
    const char *header = str_nonnull(http_req_header(r->call->req, "Authorization"));
    const char *token = str_has_prefix(header, "Bearer ") ? header + strlen("Bearer ") : NULL;
    const struct kube_user *u = kube_auth_user(r->arena, token);
    answer_access(r, o, u ? u : kube_auth_user(r->arena, NULL));
}

/* POST …/serviceaccounts/NAME/token */
static void give_token(struct kube_request *r)
{
    struct json_object *body = NULL;
    struct json_object *refusal = NULL;
    if (!kube_db_get(r->st->store, r->kind->store, r->namespace, r->name)) {
        refusal = kube_status_not_found(r->kind, r->name);
    } else if (r->call->body_len > 0) {
        refusal = kube_read_body(r, &kube_type_token_request, &body);
    }
    if (refusal) {
        kube_answer_status(r, refusal);
        return;
    }
    char until[32];
    time_format_rfc3339(clock_wall_us(sim_clock(r->st->sim)) + (int64_t)TOKEN_LIFE_S * 1000000,
                        until);
    struct json_object *o = json_object_new_object();
    struct json_object *status = json_object_new_object();
    json_add_str(o, "kind", "TokenRequest");
    json_add_str(o, "apiVersion", "authentication.k8s.io/v1");
    json_add(o, "metadata", json_object_new_object());
    struct json_object *spec = json_member(body, "spec");
    json_add(o, "spec", spec ? json_object_get(spec) : json_object_new_object());
    json_add_str(status, "token", arena_printf(r->arena, "sa:%s:%s", r->namespace, r->name));
    json_add_str(status, "expirationTimestamp", until);
    json_add(o, "status", status);
    const char *text = json_text(r->arena, o, JSON_COMPACT);
    json_object_put(o);
    kube_answer_json(r, 201, text, strlen(text));
}

void kube_handle_review(struct kube_request *r)
{
    struct json_object *body = NULL;
    struct json_object *o = NULL;
    if (r->verb != KUBE_CREATE && !(*r->subresource && str_eq(r->call->method, "POST"))) {
        kube_answer_status(r, kube_status_method_not_allowed());
        return;
    }
    if (*r->subresource) {
        give_token(r);
        return;
    }
    struct json_object *refusal = kube_read_body(r, r->kind->type, &body);
    if (!refusal) {
        refusal = kube_read_object(r, body, &o);
    }
    if (refusal) {
        kube_answer_status(r, refusal);
        return;
    }
    if (str_eq(r->kind->kind, "TokenReview")) {
        review_token(r, o);
    } else if (str_eq(r->kind->kind, "SelfSubjectAccessReview")) {
        review_self(r, o);
    } else {
        review_access(r, o);
    }
    kube_answer_tree(r, 201, o);
    json_object_put(o);
}
