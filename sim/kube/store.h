/* SPDX-License-Identifier: Apache-2.0 */
/* store.h: the objects of the simulated cluster, their versions, and a window of what happened
 * lately.
 *
 * An object version is immutable, reference counted and kept as compact JSON text without kind and
 * apiVersion, metadata first: lists and watches only paste texts together, and 5,000 nodes cost
 * what they weigh.  One counter numbers all writes.  Each kind remembers its last KUBE_WINDOW
 * changes; from them watches resume and lists of an older version are rebuilt by walking backwards.
 * What is older is "expired" (410).  The store knows no rules and no HTTP. */
#ifndef TRIMTAB_SIM_KUBE_STORE_H
#define TRIMTAB_SIM_KUBE_STORE_H

#include "common/base/arena.h"
#include "common/base/str.h"
#include "common/data/json.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KUBE_WINDOW 1000 /* changes remembered per kind */

/* One version of one object. */
struct kube_obj {
    int refs;
    int64_t rv;
    char *key;  /* "namespace/name", or "name" */
    char *text; /* {"metadata":{…},…} */
    size_t len;
};

enum kube_event_type {
    KUBE_ADDED = 0,
    KUBE_MODIFIED,
    KUBE_DELETED,
};

struct kube_event {
    int64_t rv;
    enum kube_event_type type;
    struct kube_obj *now;  /* DELETED: the last state, with the deletion's version */
    struct kube_obj *prev; /* ADDED: NULL */
};

struct kube_db;

struct kube_db *kube_db_new(int n_stores);
void kube_db_free(struct kube_db *s);
/* Called after each change, and with ev NULL when a store's window was thrown away. */
void kube_db_on_event(struct kube_db *s,
                      void (*fn)(void *arg, int store, const struct kube_event *ev), void *arg);

int64_t kube_db_rv(const struct kube_db *s); /* of the last write */
/* The versions up to here have left the window of that store. */
int64_t kube_db_oldest(const struct kube_db *s, int store);

/* NULL when absent; borrowed, valid until the next write. */
struct kube_obj *kube_db_get(const struct kube_db *s, int store, const char *ns, const char *name);
size_t kube_db_count(const struct kube_db *s, int store);
/* Writes `o` (kind and apiVersion are not stored), giving it the next version, which is also
 * set in `o`. */
struct kube_obj *kube_db_put(struct kube_db *s, int store, const char *ns, const char *name,
                             struct json_object *o);
/* False when absent. */
bool kube_db_remove(struct kube_db *s, int store, const char *ns, const char *name);
/* Puts an object as it is, for worlds: its own version is kept (when it has none it gets the next
 * one), no event. */
void kube_db_load(struct kube_db *s, int store, const char *ns, const char *name,
                  struct json_object *o);
/* Removes everything without events; the counter continues. */
void kube_db_clear(struct kube_db *s);
/* Forgets what happened, so that older versions are expired; tells the listener.  store -1: all. */
void kube_db_expire(struct kube_db *s, int store);

/* Objects in key order, each with a reference that the caller drops with kube_obj_unref(); free()
 * the array.  `ns` "" takes all.  `at` 0 is now; else the state right after that version.  Returns
 * false when `at` has left the window. */
bool kube_db_list(const struct kube_db *s, int store, const char *ns, int64_t at,
                  struct kube_obj ***ret, size_t *ret_n);
/* Changes after version `rv`, oldest first: index of the first one; kube_db_event() gives them. */
size_t kube_db_events_after(const struct kube_db *s, int store, int64_t rv);
size_t kube_db_n_events(const struct kube_db *s, int store);
const struct kube_event *kube_db_event(const struct kube_db *s, int store, size_t i);

struct kube_obj *kube_obj_ref(struct kube_obj *o);
void kube_obj_unref(struct kube_obj *o); /* NULL is fine */
void kube_objs_free(struct kube_obj **objs, size_t n);
/* `o` as it would be stored: metadata first, without kind and apiVersion. */
void kube_db_print(struct str_buf *b, struct json_object *o);
/* Of bodies and stored objects.  A real server takes 10,000 levels; a thousand are enough to see
 * who chokes on them, and every thread of ours has the stack for them. */
extern const struct json_limits kube_json_limits;
/* A new tree of the object; of its metadata only. */
struct json_object *kube_obj_tree(const struct kube_obj *o);
struct json_object *kube_obj_meta(const struct kube_obj *o);
/* Parts of the key; "" namespace for cluster-scoped ones.  kube_obj_ns() copies. */
const char *kube_obj_name(const struct kube_obj *o);
char *kube_obj_ns(const struct kube_obj *o, struct arena *a);

#endif
