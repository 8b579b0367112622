/* SPDX-License-Identifier: Apache-2.0 */
/* object_internal.h: what the decoders of the three kinds share.
 *
 *   object.c          references, the table of kinds, metadata, the two runs
 *   object_service.c  object_node.c  object_slice.c   one kind each: field tables and packing
 *
 * Decoding has two steps: json_decode_view() fills a raw structure in a scratch arena (types and ranges are
 * checked here), then pack.h moves it into the final block. */
#ifndef TRIMTAB_KUBE_OBJECT_INTERNAL_H
#define TRIMTAB_KUBE_OBJECT_INTERNAL_H

#include "controller/kube/object.h"
#include "controller/kube/pack.h"

#include <stdbool.h>

/* Rows of field tables; `n_` before the member's name is where a count goes. */
#define ROW_STR(s, json, member)                                                                   \
    {                                                                                              \
        .name = (json), .type = JSON_T_STR, .offset = offsetof(struct s, member)                   \
    }
#define ROW_BOOL(s, json, member)                                                                  \
    {                                                                                              \
        .name = (json), .type = JSON_T_BOOL, .offset = offsetof(struct s, member)                  \
    }
#define ROW_STRS(s, json, member)                                                                  \
    {                                                                                              \
        .name = (json), .type = JSON_T_STRS, .offset = offsetof(struct s, member),                 \
        .count_offset = offsetof(struct s, n_##member)                                             \
    }
#define ROW_OBJECT(s, json, member, table)                                                         \
    {                                                                                              \
        .name = (json), .type = JSON_T_OBJECT, .offset = offsetof(struct s, member),               \
        .sub = (table)                                                                             \
    }
#define ROW_OBJECTS(s, json, member, table, item)                                                  \
    {                                                                                              \
        .name = (json), .type = JSON_T_OBJECTS, .offset = offsetof(struct s, member),              \
        .count_offset = offsetof(struct s, n_##member), .sub = (table),                            \
        .sub_size = sizeof(struct item)                                                            \
    }
/* A port number: from `least` (0 or 1) to 65535. */
#define ROW_PORT(s, json, member, least)                                                           \
    {                                                                                              \
        .name = (json), .type = JSON_T_I32, .offset = offsetof(struct s, member), .min = (least),  \
        .max = 65535                                                                               \
    }

/* metadata of any kind; texts are NULL when absent. */
struct raw_meta {
    const char *name;
    const char *ns;
    const char *uid;
    const char *resource_version;
    const char *created;
    const char *deleted;
    int64_t generation;
    const struct json_view *label_map; /* borrowed from the item */
    const struct json_view *annotation_map;
    const char **finalizers;
    size_t n_finalizers;
    /* derived */
    struct json_kv *labels; /* sorted */
    struct json_kv *annotations;
    size_t n_labels;
    size_t n_annotations;
    int64_t created_us;
    int64_t deleted_us;
};
struct raw_condition {
    const char *type;
    const char *status;
    const char *reason;
    const char *message;
    const char *last_transition;
    int64_t observed_generation;
    int64_t last_transition_us; /* derived */
};
extern const struct json_field raw_meta_fields[];
extern const struct json_field raw_condition_fields[];

/* One kind.  decode() checks and returns its raw structure; pack() is run twice on it and fills the union of
 * `o`, whose key is set already. */
struct kube_kind_ops {
    const char *resource; /* "services" */
    const char *path;
    const char *name; /* "Service" */
    const char *word; /* "service", for messages */
    bool namespaced;
    const char *const *members;
    void *(*decode)(struct arena *a, const struct json_view *item, struct raw_meta **ret_meta,
                    struct err *err);
    void (*pack)(struct pack *p, struct kube_object *o, const void *raw);
};
extern const struct kube_kind_ops kube_service_ops;
extern const struct kube_kind_ops kube_node_ops;
extern const struct kube_kind_ops kube_slice_ops;

/* Times and maps of metadata; required members. */
int raw_meta_finish(struct arena *a, struct raw_meta *m, bool namespaced,
                    struct err *err) _warn_unused_;
/* Object of strings -> sorted pairs; NULL gives none.  A value may have 512 KiB: the API server lets all
 * annotations of one object have 256 KiB. */
int raw_map(struct arena *a, const struct json_view *o, const char *path, struct json_kv **ret,
            size_t *ret_n, struct err *err) _warn_unused_;
/* RFC 3339 -> microseconds; NULL gives 0. */
int raw_time(const char *text, const char *path, int64_t *ret, struct err *err) _warn_unused_;
int raw_conditions_finish(struct raw_condition *c, size_t n, struct err *err) _warn_unused_;

const struct tt_kv *pack_kvs(struct pack *p, const struct json_kv *kvs, size_t n);
const char *const *pack_texts(struct pack *p, const char *const *items, size_t n);
const char *const *pack_words(struct pack *p, const char *const *items,
                              size_t n); /* pack_word() of each */
/* `lean`: without reason and message. */
const struct tt_condition *pack_conditions(struct pack *p, const struct raw_condition *c, size_t n,
                                           bool lean);
/* The name inside the object's key, which it shares. */
const char *kube_object_name_in_key(const struct kube_object *o);

#endif
