/* SPDX-License-Identifier: Apache-2.0 */
/* service_patch.c: see service_patch.h. */
#include "controller/host/service_patch.h"

#include <stdio.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/data/json.h"
#include "common/lb/status_rules.h"
#include "common/net/url_build.h"
#include "controller/kube/client/client_rules.h"

#define TRIES_MAX 5

static void take_version(const struct service_patch *p, const char *version)
{
    size_t n = strlen(str_nonnull(version));

    (void)snprintf(p->version, SERVICE_VERSION_MAX, "%s",
                   n < SERVICE_VERSION_MAX ? str_nonnull(version) : "");
}

/* The metadata of the answer's object, or of the only item of its list; NULL if there is none. */
static struct json_object *metadata_of(struct json_object *o)
{
    struct json_object *items = json_member(o, "items");

    if (items != NULL) {
        o = json_len(items) == 1 ? json_object_array_get_idx(items, 0) : NULL;
    }
    return json_member(o, "metadata");
}

static int send_once(struct arena *a, const struct service_patch *p, const char *body,
                     struct err *err)
{
    char *path = NULL;
    struct json_object *answer = NULL;
    struct kube_response resp = {0};
    int rc = kube_path(a, "v1", p->svc->ns, "services", p->svc->name, "status", &path, err);

    if (rc != ERR_OK) {
        return rc;
    }
    const struct kube_request req = {
        .method = "PATCH",
        .path = path,
        .content_type = KUBE_STRATEGIC_PATCH,
        .body = patch_for_object(a, body, p->svc->uid, p->version),
    };
    rc = kube_client_do(p->client, a, &req, p->cancel, &resp, err);
    if (rc != ERR_OK) {
        return rc;
    }
    /* An unreadable answer still means a write: the next PATCH says nothing about the version
     * then. */
    if (json_parse_arena(a, resp.body, resp.body_len, NULL, &answer, NULL) != ERR_OK) {
        answer = NULL;
    }
    take_version(p, json_str(metadata_of(answer), "resourceVersion"));
    return ERR_OK;
}

static bool look_into_store(const struct service_patch *p)
{
    _cleanup_(xfreep) char *key = xasprintf("%s/%s", p->svc->ns, p->svc->name);
    _cleanup_(kube_object_unrefp) struct kube_object *o =
        p->services == NULL ? NULL : kube_store_get(p->services, key);
    bool news = o != NULL && str_eq(o->uid, p->svc->uid) &&
                !str_eq(o->resource_version, p->version) && !str_eq(o->resource_version, "0");

    if (news) {
        take_version(p, o->resource_version);
    }
    return news;
}

/* A list of one: the right to list is there anyway, that to get is not. */
static int look_at_server(struct arena *a, const struct service_patch *p, struct err *err)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct json_object *list = NULL;
    struct kube_response resp = {0};
    char *path = NULL;
    int rc = kube_path(a, "v1", p->svc->ns, "services", NULL, NULL, &path, err);

    if (rc != ERR_OK) {
        return rc;
    }
    url_append_pair(&b, "fieldSelector", arena_printf(a, "metadata.name=%s", p->svc->name));
    const struct kube_request req = {.method = "GET", .path = path, .query = str_buf_text(&b)};
    rc = kube_client_do(p->client, a, &req, p->cancel, &resp, err);
    if (rc == ERR_OK) {
        rc = json_parse_arena(a, resp.body, resp.body_len, NULL, &list, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    struct json_object *meta = metadata_of(list);
    if (meta == NULL || !str_eq(json_str(meta, "uid"), p->svc->uid)) {
        return err_set(err, ERR_NOT_FOUND, "the Service is gone, or another has its name");
    }
    take_version(p, json_str(meta, "resourceVersion"));
    return ERR_OK;
}

int service_patch_send(const struct service_patch *p, const char *body, struct err *err)
{
    _cleanup_(arena_freep) struct arena *tries = arena_new(); /* answers are as large as Services */
    int rc = send_once(tries, p, body, err);

    for (int i = 1;
         i < TRIES_MAX && rc == ERR_CONFLICT && *p->version != '\0' && !client_is_other_object(err);
         i++) {
        log_info(2, "The Service has changed meanwhile, writing to it again",
                 LOG_S("namespace", p->svc->ns), LOG_S("name", p->svc->name));
        if (p->metrics != NULL) {
            metrics_add(p->metrics, METRIC_WRITE_CONFLICTS, NULL, 0, 1);
        }
        err_clear(err);
        /* A store that lags behind twice is asked no more. */
        rc = i == 1 && look_into_store(p) ? ERR_OK : look_at_server(tries, p, err);
        rc = rc == ERR_OK ? send_once(tries, p, body, err) : rc;
    }
    if (rc != ERR_OK && client_is_other_object(err)) {
        rc = err_set(err, ERR_NOT_FOUND, "the Service is gone, and another has its name");
    }
    return rc;
}
