/* SPDX-License-Identifier: Apache-2.0 */
/* objects_meta.h: rows of decoding tables that several kinds of objects share.  Private
 * to this room. */
#ifndef TRIMTAB_SERVICES_DECODE_OBJECTS_META_H
#define TRIMTAB_SERVICES_DECODE_OBJECTS_META_H

#include "common/services/decode/objects.h"

/* One row of a table for a member of a struct. */
#define KS_STR(s, m, path)                                                                         \
    {                                                                                              \
        .name = (path), .type = JSON_T_STR, .offset = offsetof(s, m)                               \
    }
#define KS_BOOL(s, m, path)                                                                        \
    {                                                                                              \
        .name = (path), .type = JSON_T_BOOL, .offset = offsetof(s, m)                              \
    }
#define KS_STRS(s, m, n, path)                                                                     \
    {                                                                                              \
        .name = (path), .type = JSON_T_STRS, .offset = offsetof(s, m),                             \
        .count_offset = offsetof(s, n)                                                             \
    }
#define KS_PORT(s, m, path)                                                                        \
    {                                                                                              \
        .name = (path), .type = JSON_T_I32, .offset = offsetof(s, m), .min = 0, .max = 65535       \
    }
#define KS_SUB(s, m, path, table)                                                                  \
    {                                                                                              \
        .name = (path), .type = JSON_T_OBJECT, .offset = offsetof(s, m), .sub = (table)            \
    }
#define KS_LIST(s, m, n, path, table, item)                                                        \
    {                                                                                              \
        .name = (path), .type = JSON_T_OBJECTS, .offset = offsetof(s, m),                          \
        .count_offset = offsetof(s, n), .sub = (table), .sub_size = sizeof(item)                   \
    }

/* metadata, into a struct ks_meta that begins as ks_meta_empty. */
extern const struct json_field ks_meta_fields[];
extern const struct ks_meta ks_meta_empty;

/* targetRef, into a struct ks_ref that begins as ks_ref_empty. */
extern const struct json_field ks_ref_fields[];
extern const struct ks_ref ks_ref_empty;

/* Puts "" where a table left a text NULL. */
void ks_fill(const char **text);
/* Fills the texts of owner references that the table left NULL. */
void ks_meta_filled(struct ks_meta *m);
/* Fills the texts of a reference that the table left NULL. */
void ks_ref_filled(struct ks_ref *r);

#endif
