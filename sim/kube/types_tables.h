/* SPDX-License-Identifier: Apache-2.0 */
/* types_tables.h: the short forms in which the tables of types_*.c are written.
 *
 * Only those files include it.  One line of a table is one member; the letters after the kind say
 * how it behaves: _K is printed even when empty, _P is a pointer (printed when given), _R is
 * required and printed, _RP is a pointer that is required. */
#ifndef TRIMTAB_SIM_KUBE_TYPES_TABLES_H
#define TRIMTAB_SIM_KUBE_TYPES_TABLES_H

#include "common/base/attr.h"
#include "sim/kube/types.h"

#define F(n, k)                                                                                    \
    {                                                                                              \
        .name = (n), .kind = (k)                                                                   \
    }
#define F_K(n, k)                                                                                  \
    {                                                                                              \
        .name = (n), .kind = (k), .flags = KFF_KEEP                                                \
    }
#define F_R(n, k)                                                                                  \
    {                                                                                              \
        .name = (n), .kind = (k), .flags = KFF_KEEP | KFF_REQUIRED                                 \
    }
#define F_P(n, k)                                                                                  \
    {                                                                                              \
        .name = (n), .kind = (k), .flags = KFF_PTR                                                 \
    }
#define F_SET(n)                                                                                   \
    {                                                                                              \
        .name = (n), .kind = KF_STRS, .flags = KFF_MERGE | KFF_SET                                 \
    }
#define OBJ(n, t)                                                                                  \
    {                                                                                              \
        .name = (n), .kind = KF_OBJ, .type = &(t)                                                  \
    }
#define OBJ_K(n, t)                                                                                \
    {                                                                                              \
        .name = (n), .kind = KF_OBJ, .flags = KFF_KEEP, .type = &(t)                               \
    }
#define OBJ_P(n, t)                                                                                \
    {                                                                                              \
        .name = (n), .kind = KF_OBJ, .flags = KFF_PTR, .type = &(t)                                \
    }
#define OBJ_R(n, t)                                                                                \
    {                                                                                              \
        .name = (n), .kind = KF_OBJ, .flags = KFF_KEEP | KFF_REQUIRED, .type = &(t)                \
    }
#define OBJ_RP(n, t)                                                                               \
    {                                                                                              \
        .name = (n), .kind = KF_OBJ, .flags = KFF_PTR | KFF_REQUIRED, .type = &(t)                 \
    }
#define OBJS(n, t)                                                                                 \
    {                                                                                              \
        .name = (n), .kind = KF_OBJS, .type = &(t)                                                 \
    }
#define OBJS_K(n, t)                                                                               \
    {                                                                                              \
        .name = (n), .kind = KF_OBJS, .flags = KFF_KEEP, .type = &(t)                              \
    }
#define OBJS_BY(n, t, key)                                                                         \
    {                                                                                              \
        .name = (n), .kind = KF_OBJS, .flags = KFF_MERGE, .type = &(t), .merge_key = (key)         \
    }
#define OBJS_BY2(n, t, key, keys)                                                                  \
    {                                                                                              \
        .name = (n), .kind = KF_OBJS, .flags = KFF_MERGE, .type = &(t), .merge_key = (key),        \
        .list_keys = (keys)                                                                        \
    }

/* The first members of every object. */
#define OBJECT_HEAD                                                                                \
    F("kind", KF_STR), F("apiVersion", KF_STR), OBJ_K("metadata", kube_type_object_meta)
/* All members of an object with a spec and a status. */
#define WITH_STATUS(spec, status) OBJECT_HEAD, OBJ_K("spec", spec), OBJ_K("status", status)

/* A structure of that table. */
#define TYPE(go, def, table)                                                                       \
    {                                                                                              \
        .go_name = (go), .def_name = (def), .fields = (table), .n_fields = ARRAY_LEN(table)        \
    }

#define CORE "io.k8s.api.core.v1."
#define META "io.k8s.apimachinery.pkg.apis.meta.v1."

#endif
