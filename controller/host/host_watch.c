/* SPDX-License-Identifier: Apache-2.0 */
/* host_watch.c: watches of a provider: objects of the kinds that its descriptor declares with the
 * verb "watch".
 *
 * Each watch has a thread of its own (kube/object_watch.h) and lives until the provider is closed:
 * host_end_watches() comes before close(), so that no call reaches a provider after its end.
 * Errors are logged at v 2; the watch retries by itself. */
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/str.h"
#include "controller/host/host_internal.h"
#include "controller/kube/watch/object_watch.h"

struct host_watch {
    struct host_watch *next;
    struct object_watch *watch;
    char *resource;
    void (*changed)(void *arg, const char *type, const char *json, size_t n);
    void *arg;
};

/* Of metadata what a provider can ask for, without the notes of others about fields. */
static const char *const members[] = {
    "apiVersion",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "metadata.resourceVersion",
    "metadata.generation",
    "metadata.creationTimestamp",
    "metadata.deletionTimestamp",
    "metadata.labels",
    "metadata.annotations",
    "metadata.finalizers",
    "metadata.ownerReferences",
    "spec",
    "status",
    "data",
    NULL,
};

static void tell(void *arg, const char *type, struct json_object *object)
{
    const struct host_watch *w = arg;
    _cleanup_(str_buf_done) struct str_buf text = STR_BUF_INIT;

    json_print(&text, object, JSON_COMPACT);
    w->changed(w->arg, type, str_buf_text(&text), text.len);
}

static void on_trouble(void *arg, const struct err *why)
{
    const struct host_watch *w = arg;

    log_info(2, "A watch of the provider is interrupted", LOG_S("resource", w->resource),
             LOG_S("reason", why->message));
}

static void watch_free(struct host_watch *w)
{
    object_watch_stop(w->watch);
    free(w->resource);
    free(w);
}

static int begin(struct tt_host_ctx *h, const struct tt_kube_ref *ref, const char *selector,
                 struct host_watch *w, struct err *err)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    char *collection = NULL;
    void *observe_arg = NULL;
    int rc = kube_path(a, ref->api_version, ref->ns, ref->resource, NULL, NULL, &collection, err);

    if (rc != ERR_OK) {
        return rc;
    }
    const struct object_watch_args args = {
        .config = kube_client_config(h->args.client),
        .user_agent = kube_client_agent(h->args.client),
        .collection = collection,
        .selector = selector,
        .members = members,
        .cancel = h->args.cancel,
        .changed = tell,
        .trouble = on_trouble,
        .arg = w,
        .observe = kube_client_observer(h->args.client, &observe_arg),
        .observe_arg = observe_arg,
    };
    return object_watch_start(&args, &w->watch, err);
}

static int32_t host_kube_watch(
    struct tt_host_ctx *h, const struct tt_kube_ref *ref, const char *label_selector,
    void (*changed)(void *arg, const char *type, const char *json, size_t n), void *arg)
{
    struct err err = ERR_INIT;

    if (ref == NULL || changed == NULL || ref->name != NULL || ref->subresource != NULL) {
        return TT_BUG;
    }
    if (h->args.client == NULL || !host_kind_is_declared(h, ref, "watch") ||
        !host_kind_is_declared(h, ref, "list")) {
        return TT_FORBIDDEN;
    }
    struct host_watch *w = xcalloc(1, sizeof *w);
    w->resource = xstrdup(ref->resource);
    w->changed = changed;
    w->arg = arg;
    int rc = begin(h, ref, label_selector, w, &err);
    if (rc != ERR_OK) {
        on_trouble(w, &err);
        watch_free(w);
        return rc;
    }
    mutex_lock(&h->lock);
    w->next = h->watches;
    h->watches = w;
    mutex_unlock(&h->lock);
    return TT_OK;
}

void host_end_watches(struct tt_host_ctx *h)
{
    mutex_lock(&h->lock);
    struct host_watch *w = STEAL(h->watches);
    mutex_unlock(&h->lock);
    while (w != NULL) {
        struct host_watch *next = w->next;
        watch_free(w);
        w = next;
    }
}

void host_table_watch(struct tt_host *t)
{
    t->kube_watch = host_kube_watch;
}
