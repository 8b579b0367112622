/* SPDX-License-Identifier: Apache-2.0 */
/* gce_kube_system.c: see gce_kube_system.h.  Several calls may read it at once at the start; they
 * find the same. */
#include "providers/gce/cache/gce_kube_system.h"

#include "common/base/lock.h"
#include "common/base/str.h"
#include "common/data/json.h"
#include "providers/gce/model/gce_l4_rules.h"

#include <stdlib.h>

struct gce_kube_system {
    struct mutex lock;
    char *uid _guarded_by_(lock);
};

struct gce_kube_system *gce_kube_system_new(void)
{
    struct gce_kube_system *k = xcalloc(1, sizeof(*k));
    mutex_init(&k->lock);
    return k;
}

void gce_kube_system_free(struct gce_kube_system *k)
{
    if (k == NULL) {
        return;
    }
    free(k->uid);
    mutex_done(&k->lock);
    free(k);
}

static void put_text(void *arg, const char *text, size_t n)
{
    str_append_n(arg, text, n);
}

static int read_live(const struct tt_host *host, const struct tt_call *call, struct arena *a,
                     const char **ret, struct err *err)
{
    const struct tt_kube_ref ref = {
        .api_version = "v1", .resource = "namespaces", .name = "kube-system"};
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    const struct tt_text_sink sink = {.size = sizeof(sink), .put = put_text, .arg = &b};
    struct json_object *o = NULL;
    int32_t code = host->kube_get(host->ctx, call, &ref, &sink);
    if (code != TT_OK) {
        (void)err_set(err, code, "namespace kube-system could not be read: %s",
                      err_code_name(code));
        (void)gce_l4_error_of_kube(err, code);
        return code;
    }
    if (json_parse_arena(a, str_buf_text(&b), b.len, NULL, &o, NULL) != ERR_OK ||
        str_is_empty(json_str(json_member(o, "metadata"), "uid"))) {
        return err_set(err, ERR_TRANSIENT, "namespace kube-system was answered without a uid");
    }
    *ret = json_str(json_member(o, "metadata"), "uid");
    return ERR_OK;
}

int gce_kube_system_uid(struct gce_kube_system *k, const struct tt_host *host,
                        const struct tt_call *call, struct arena *a, const char **ret,
                        struct err *err)
{
    const char *uid = NULL;
    mutex_lock(&k->lock);
    const char *known = arena_strdup(a, k->uid);
    mutex_unlock(&k->lock);
    if (known != NULL) {
        *ret = known;
        return ERR_OK;
    }
    int rc = read_live(host, call, a, &uid, err);
    bool nobody_to_ask = rc == ERR_NOT_FOUND || rc == ERR_FORBIDDEN;
    if (nobody_to_ask && call != NULL && call->planning != 0) {
        err_clear(err);
        *ret = GCE_KUBE_SYSTEM_UNKNOWN;
        return ERR_OK;
    }
    if (rc != ERR_OK) {
        return rc;
    }
    mutex_lock(&k->lock);
    if (k->uid == NULL) {
        k->uid = xstrdup(uid);
    }
    mutex_unlock(&k->lock);
    *ret = uid;
    return ERR_OK;
}
