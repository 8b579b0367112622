/* SPDX-License-Identifier: Apache-2.0 */
/* gce_cluster_id.c: see gce_cluster_id.h. */
#include "providers/gce/cache/gce_cluster_id.h"

#include "common/base/clock.h"
#include "common/base/lock.h"
#include "common/base/str.h"
#include "common/data/json.h"
#include "providers/gce/model/gce_l4_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMESPACE "kube-system"
#define NAME      "ingress-uid"
#define AGE_MS    (10 * 60 * 1000)

struct gce_cluster_id {
    struct mutex lock;
    struct cond changed; /* a caller has looked */
    char *id _guarded_by_(lock);
    int64_t read_ms _guarded_by_(lock);
    bool looking _guarded_by_(lock); /* one at a time: the others wait for what it finds */
};

struct gce_cluster_id *gce_cluster_id_new(void)
{
    struct gce_cluster_id *c = xcalloc(1, sizeof(*c));
    mutex_init(&c->lock);
    cond_init(&c->changed);
    return c;
}

void gce_cluster_id_free(struct gce_cluster_id *c)
{
    if (c == NULL) {
        return;
    }
    cond_done(&c->changed);
    mutex_done(&c->lock);
    free(c->id);
    free(c);
}

int gce_cluster_id_read(struct arena *a, const char *json, size_t n, const char **ret,
                        struct err *err)
{
    struct json_object *o;
    int rc = json_parse_arena(a, json, n, NULL, &o, err);
    if (rc != ERR_OK) {
        struct err why = err == NULL ? ERR_INIT : *err;
        return err_set(err, ERR_TRANSIENT, "ConfigMap " NAMESPACE "/" NAME ": no JSON: %s",
                       why.message);
    }
    const char *name = json_str(json_member(o, "metadata"), "name");
    if (name != NULL && !str_eq(name, NAME)) { /* another id would leave the shared check behind */
        return err_set(err, ERR_TRANSIENT,
                       "ConfigMap " NAMESPACE "/" NAME ": the answer is about something else");
    }
    struct json_object *data = json_member(o, "data");
    const char *uid = json_str(data, "uid");
    if (str_is_empty(uid)) {
        (void)err_set(err, ERR_INVALID,
                      "Could not retrieve cluster id: ConfigMap " NAMESPACE "/" NAME
                      " has no key uid");
        (void)gce_l4_error_of_kube(err, ERR_INVALID); /* not the Service's owner's to fix */
        return ERR_INVALID;
    }
    *ret = arena_strdup(a, str_or(json_str(data, "provider-uid"), uid));
    return ERR_OK;
}

static void put_text(void *arg, const char *text, size_t n)
{
    str_append_n(arg, text, n);
}

static void ignore_text(void *arg, const char *text, size_t n)
{
    (void)arg;
    (void)text;
    (void)n;
}

static int read_live(const struct tt_host *host, const struct tt_call *call, struct arena *a,
                     const char **ret, struct err *err)
{
    const struct tt_kube_ref ref = {
        .api_version = "v1", .resource = "configmaps", .ns = NAMESPACE, .name = NAME};
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct tt_text_sink sink = {.size = sizeof(sink), .put = put_text, .arg = &b};
    int32_t rc = host->kube_get(host->ctx, call, &ref, &sink);
    if (rc != TT_OK) {
        (void)err_set(err, rc, "ConfigMap " NAMESPACE "/" NAME " could not be read: %s",
                      err_code_name(rc));
        (void)gce_l4_error_of_kube(err, rc);
        return rc;
    }
    return gce_cluster_id_read(a, str_buf_text(&b), b.len, ret, err);
}

static int create(const struct tt_host *host, const struct tt_call *call, struct arena *a,
                  const char **ret, struct err *err)
{
    const struct tt_kube_ref ref = {.api_version = "v1", .resource = "configmaps", .ns = NAMESPACE};
    unsigned char bytes[8];
    char id[17];
    host->random(host->ctx, bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++) {
        (void)snprintf(id + 2 * i, 3, "%02x", bytes[i]);
    }
    char *body = arena_printf(a,
                              "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":"
                              "{\"name\":\"" NAME "\",\"namespace\":\"" NAMESPACE "\"},"
                              "\"data\":{\"provider-uid\":\"%s\",\"uid\":\"%s\"}}",
                              id, id);
    struct tt_text_sink sink = {.size = sizeof(sink), .put = ignore_text};
    int32_t rc = host->kube_create(host->ctx, call, &ref, body, &sink);
    if (rc == TT_EXISTS || rc == TT_CONFLICT) { /* ingress-gce was quicker: its id it is */
        return read_live(host, call, a, ret, err);
    }
    if (rc != TT_OK) {
        (void)err_set(err, rc, "ConfigMap " NAMESPACE "/" NAME " could not be created: %s",
                      err_code_name(rc));
        (void)gce_l4_error_of_kube(err, rc);
        return rc;
    }
    *ret = arena_strdup(a, id);
    return ERR_OK;
}

/* The last id that was found, whatever its age; NULL when there is none. */
static const char *last_known(struct gce_cluster_id *c, struct arena *a)
{
    mutex_lock(&c->lock);
    const char *id = arena_strdup(a, c->id);
    mutex_unlock(&c->lock);
    return id;
}

static void store(struct gce_cluster_id *c, const struct tt_host *host, const char *id,
                  int64_t now_ms)
{
    mutex_lock(&c->lock);
    bool changed = c->id != NULL && !str_eq(c->id, id);
    const struct tt_kv values[] = {{"old", changed ? c->id : ""}, {"new", id}};
    if (changed) {
        host->log(host->ctx, TT_LOG_ERROR, 0,
                  "The cluster id changed: shared health checks get other names, the old ones are "
                  "left behind",
                  values, ARRAY_LEN(values));
    }
    free(c->id);
    c->id = xstrdup(id);
    c->read_ms = now_ms;
    mutex_unlock(&c->lock);
}

/* True: the caller is to look.  False: *ret is what another caller found a moment ago. */
static bool claim(struct gce_cluster_id *c, struct arena *a, const struct tt_host *host,
                  const char **ret)
{
    mutex_lock(&c->lock);
    for (;;) {
        bool young = c->id != NULL && host->now_ms(host->ctx) - c->read_ms < AGE_MS;
        if (young || !c->looking) {
            *ret = young ? arena_strdup(a, c->id) : NULL;
            c->looking = c->looking || !young;
            mutex_unlock(&c->lock);
            return !young;
        }
        /* The reader has its own deadline, and always ends. */
        clock_wait(clock_real(), &c->changed, &c->lock, CLOCK_NEVER);
    }
}

static void looked(struct gce_cluster_id *c)
{
    mutex_lock(&c->lock);
    c->looking = false;
    cond_broadcast(&c->changed);
    mutex_unlock(&c->lock);
}

static int look(struct gce_cluster_id *c, const struct tt_host *host, const struct tt_call *call,
                struct arena *a, const char **ret, struct err *err)
{
    const char *id = NULL;
    int rc = read_live(host, call, a, &id, err);
    if (rc == ERR_NOT_FOUND && call != NULL && call->planning != 0) {
        err_clear(err);
        *ret = GCE_CLUSTER_ID_UNKNOWN;
        return ERR_OK;
    }
    if (rc == ERR_NOT_FOUND) {
        err_clear(err);
        rc = create(host, call, a, &id, err);
    }
    if (rc == ERR_OK) {
        store(c, host, id, host->now_ms(host->ctx));
    } else if ((id = last_known(c, a)) != NULL) {
        err_clear(err);
        rc = ERR_OK;
    }
    *ret = id;
    return rc;
}

int gce_cluster_id_get(struct gce_cluster_id *c, const struct tt_host *host,
                       const struct tt_call *call, struct arena *a, const char **ret,
                       struct err *err)
{
    if (!claim(c, a, host, ret)) {
        return ERR_OK;
    }
    int rc = look(c, host, call, a, ret, err);
    looked(c);
    return rc;
}
