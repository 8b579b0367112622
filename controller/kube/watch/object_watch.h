/* SPDX-License-Identifier: Apache-2.0 */
/* object_watch.h: knowing one object of the API server, or all objects of a collection: read,
 * watched, read again after trouble.
 *
 *     object_watch_start(&args, &w, &err);       a thread of its own, which calls seen() whenever
 *                                                there is news
 *     object_watch_stop(w);                      ends it within 100 ms
 *
 * For a ConfigMap or a Lease that others write; for the Leases of a provider's processes.  Survives
 * a 410, a cut connection, silence (three minutes without a byte), refusals and servers that know
 * no streaming lists; what it asks then is object_watch_rules.h's.  Needs the verbs get and watch
 * on that object (`watch` with a fieldSelector on its name, so RBAC may name it); with get alone it
 * polls once a minute.  A collection needs list in place of get. */
#ifndef TRIMTAB_KUBE_OBJECT_WATCH_H
#define TRIMTAB_KUBE_OBJECT_WATCH_H

#include "common/base/clock.h"
#include "common/data/json.h"
#include "controller/kube/client/config.h"
#include "controller/kube/model/sent.h"

#include <stddef.h>

#define OBJECT_WATCH_BYTES_MAX ((size_t)2 << 20)  /* of the object; etcd takes 1.5 MiB */
#define OBJECT_WATCH_MAX       10000u             /* objects of a collection */
#define OBJECT_WATCH_LIST_MAX  ((size_t)32 << 20) /* bytes of a list of them */

struct object_watch;

struct object_watch_args {
    const struct kube_config *config; /* must live longer */
    const char *user_agent;
    const char *collection; /* "/api/v1/namespaces/kube-system/configmaps" */
    const char *name;       /* NULL: all objects of the collection */
    const char *selector;   /* a label selector, without a name; NULL: none */
    /* Paths of members that are checked, as json_splitter.h has them; NULL-terminated, static.  Of
     * "metadata" an object has its name, resourceVersion and annotations. */
    const char *const *members;
    struct clock *clock;   /* NULL: the real one */
    struct rng *rng;       /* NULL: the kernel's */
    struct cancel *cancel; /* ends it, too; may be NULL */
    /* Both run in the watch's thread.  `object` is borrowed for the call; NULL: there is no such
     * object.  Comes at the start and after each change, and may come again without one. */
    void (*seen)(void *arg, struct json_object *object);
    /* Of a collection, in place of seen(): "ADDED", "MODIFIED" or "DELETED", once or more often;
     * after each list ADDED for all of it, and DELETED for each object that it lacks.  Such an
     * object has a name and a namespace alone. */
    void (*changed)(void *arg, const char *type, struct json_object *object);
    /* A request failed and will be repeated; called for each failure.  May be NULL. */
    void (*trouble)(void *arg, const struct err *err);
    void *arg;
    kube_sent_fn *observe; /* required; runs in the watch's thread */
    void *observe_arg;
};

/* TRANSIENT: no thread can be started. */
int object_watch_start(const struct object_watch_args *args, struct object_watch **ret,
                       struct err *err) _warn_unused_;
/* Neither callback runs after it returns.  NULL is fine. */
void object_watch_stop(struct object_watch *w);

#endif
