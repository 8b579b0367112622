/* SPDX-License-Identifier: Apache-2.0 */
/* gce_wire.h: rows of field tables, and members of bodies, as all Compute resources are read and
 * written.
 *
 * Private to gce_resources.c and gce_l4_resources.c.  Zero values are left out of bodies, as
 * Google's own clients do (gce-cloud-provider.md §3.2).  Pure. */
#ifndef TRIMTAB_GCE_WIRE_H
#define TRIMTAB_GCE_WIRE_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/data/json_view.h"
#include "providers/gce/model/gce_resources.h"

#include <stddef.h>

#define GCE_WIRE_LIST_MAX 100000 /* members of a pool: no documented maximum, so a generous one */

#define STR(member, owner, name_)                                                                  \
    {                                                                                              \
        .name = (name_), .type = JSON_T_STR, .offset = offsetof(struct owner, member)              \
    }
#define I32(member, owner, name_)                                                                  \
    {                                                                                              \
        .name = (name_), .type = JSON_T_I32, .offset = offsetof(struct owner, member)              \
    }
#define BOOL(member, owner, name_)                                                                 \
    {                                                                                              \
        .name = (name_), .type = JSON_T_BOOL, .offset = offsetof(struct owner, member)             \
    }
#define STRS(member, owner, name_)                                                                 \
    {                                                                                              \
        .name = (name_), .type = JSON_T_STRS, .offset = offsetof(struct owner, member.items),      \
        .count_offset = offsetof(struct owner, member.n), .max_items = GCE_WIRE_LIST_MAX           \
    }
#define DOUBLE(member, owner, name_)                                                               \
    {                                                                                              \
        .name = (name_), .type = JSON_T_DOUBLE, .offset = offsetof(struct owner, member)           \
    }
#define OBJECT(member, has, owner, name_, table)                                                   \
    {                                                                                              \
        .name = (name_), .type = JSON_T_OBJECT, .offset = offsetof(struct owner, member),          \
        .has_offset = offsetof(struct owner, has), .sub = (table)                                  \
    }

/* An undecodable answer of Google is not a user error: the next one may differ (TRANSIENT). */
int gce_wire_decode(struct arena *a, const struct json_view *v, const struct json_field *fields,
                    void *out, const char *what, struct err *err) _warn_unused_;
/* Nothing is added for "", 0, false, an empty list. */
void gce_wire_text(struct json_object *o, const char *name, const char *s);
void gce_wire_int(struct json_object *o, const char *name, int32_t v);
void gce_wire_true(struct json_object *o, const char *name, bool v);
void gce_wire_strs(struct json_object *o, const char *name, const struct gce_strs *s);

/* A number that is too big for JSON's, as decimal text: "id".  "" when it is absent. */
const char *gce_wire_decimal(struct arena *a, const struct json_view *v, const char *name);

/* The decoder of a tree, which is that of a view. */
#define GCE_WIRE_TREE(function, type)                                                              \
    int function(struct arena *a, struct json_object *o, struct type *ret, struct err *err)        \
    {                                                                                              \
        const struct json_view v = json_view_of_tree(o);                                           \
        return function##_view(a, &v, ret, err);                                                   \
    }

#endif
