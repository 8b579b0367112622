/* SPDX-License-Identifier: Apache-2.0 */
/* object_internal.h: what the decoders of the three kinds share.
 *
 *   object.c          references, the table of kinds, metadata, the two runs
 *   object_salvage.c  objects of which something cannot be read
 *   object_service.c  object_node.c  object_slice.c   one kind each: field tables and packing
 *
 * Decoding has two steps: json_decode_view() fills a raw structure in a scratch arena (types and
 * ranges are checked here), then pack.h moves it into the final block. */
#ifndef TRIMTAB_KUBE_OBJECT_INTERNAL_H
#define TRIMTAB_KUBE_OBJECT_INTERNAL_H

#include "controller/kube/model/pack.h"
#include "controller/kube/store/object.h"

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

/* Paths ("spec.ports") of what cannot be read of an object. */
struct raw_lost {
    const char *paths[64]; /* more than the tables have rows; literals, or of the arena */
    size_t n;
    bool has_base;
};
/* For checks behind the tables: `rc` of the check on `path`.  ERR_OK when it went well, and with
 * `lost`, which notes the path then; *ret_cleared is true in that case. */
int raw_checked(int rc, struct raw_lost *lost, const char *path, bool *ret_cleared);
bool raw_is_lost(const struct raw_lost *lost, const char *path); /* NULL: nothing is */
/* Member that pack_carry() takes from an older object: one of its tt_ structure. */
struct raw_carry {
    const char *path;
    size_t offset;
    size_t size;
};
#define CARRY(path, type, member)                                                                  \
    {                                                                                              \
        (path), offsetof(struct type, member), sizeof(((struct type *)0)->member)                  \
    }

/* One kind.  `fields` fill a raw structure, which begins with its metadata; finish() checks it
 * further (with `lost`: notes what is wrong, clears it and continues); pack() is run twice on it
 * and fills the union of `o`, whose key is set already. */
struct kube_kind_ops {
    const char *resource; /* "services" */
    const char *path;
    const char *name; /* "Service" */
    const char *word; /* "service", for messages */
    bool namespaced;
    const char *const *members;
    const struct json_field *fields;
    size_t raw_size;
    int (*finish)(struct arena *a, void *raw, struct raw_lost *lost, struct err *err);
    void (*pack)(struct pack *p, struct kube_object *o, const void *raw);
};
extern const struct kube_kind_ops kube_service_ops;
extern const struct kube_kind_ops kube_node_ops;
extern const struct kube_kind_ops kube_slice_ops;

/* Names that can stand in a key: metadata.name, and the namespace. */
int raw_meta_check(const struct raw_meta *m, bool namespaced, struct err *err) _warn_unused_;
/* Version, times and maps of metadata. */
int raw_meta_finish(struct arena *a, struct raw_meta *m, struct raw_lost *lost,
                    struct err *err) _warn_unused_;
/* Object of strings -> sorted pairs; NULL gives none.  A value may have 512 KiB: the API server
 * lets all annotations of one object have 256 KiB. */
int raw_map(struct arena *a, const struct json_view *o, const char *path, struct json_kv **ret,
            size_t *ret_n, struct err *err) _warn_unused_;
/* RFC 3339 -> microseconds; NULL gives 0. */
int raw_time(const char *text, const char *path, int64_t *ret, struct err *err) _warn_unused_;
/* Times of status.conditions. */
int raw_conditions_finish(struct raw_condition *c, size_t *n, struct raw_lost *lost,
                          struct err *err) _warn_unused_;
/* Packs a finished raw structure; `base` and `lost` NULL for one that was read
 * whole.  New reference. */
struct kube_object *kube_object_pack(enum kube_kind kind, struct arena *a, void *raw,
                                     const char *unreadable, struct kube_object *base,
                                     const struct raw_lost *lost) _warn_unused_;
const struct kube_kind_ops *kube_kind_ops(enum kube_kind kind);

const struct tt_kv *pack_kvs(struct pack *p, const struct json_kv *kvs, size_t n);
const char *const *pack_texts(struct pack *p, const char *const *items, size_t n);
const char *const *pack_words(struct pack *p, const char *const *items,
                              size_t n); /* pack_word() of each */
/* `lean`: without reason and message. */
const struct tt_condition *pack_conditions(struct pack *p, const struct raw_condition *c, size_t n,
                                           bool lean);
/* Members of `out` (o->base's structure is alike) whose paths are lost, from the base. */
void pack_carry(const struct pack *p, const struct raw_carry *rows, size_t n, void *out,
                const void *base);
/* The name inside the object's key, which it shares. */
const char *kube_object_name_in_key(const struct kube_object *o);

#endif
