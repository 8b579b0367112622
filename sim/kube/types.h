/* SPDX-License-Identifier: Apache-2.0 */
/* types.h: what the simulator knows about the shape of Kubernetes objects.
 *
 * One table per structure (types_meta.c, types_core.c, types_other.c) lists its members in the
 * order in which a server prints them.  From these tables come: the typed reading of bodies
 * (decode.c: unknown members, wrong types, order, what is left out when empty), the list rules of
 * strategic merge and apply (patch_*.c), and the OpenAPI documents (openapi.c).  Pure constant
 * data.
 * Source: k8s.io/api and apimachinery 1.36 as published in the OpenAPI definitions of
 * kube-apiserver 1.36.2. */
#ifndef TRIMTAB_SIM_KUBE_TYPES_H
#define TRIMTAB_SIM_KUBE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kube_type;

enum kube_field_kind {
    KF_STR = 0,
    KF_BOOL,
    KF_I32,
    KF_I64,
    KF_TIME,      /* RFC 3339, whole seconds */
    KF_MICROTIME, /* RFC 3339 with exactly six fraction digits */
    KF_QUANTITY,  /* string or number */
    KF_INT_OR_STR,
    KF_BYTES,     /* base64 text */
    KF_STR_MAP,   /* map of strings */
    KF_BYTES_MAP, /* map of base64 texts */
    KF_QTY_MAP,   /* map of quantities */
    KF_STRS_MAP,  /* map of string lists */
    KF_STRS,      /* list of strings */
    KF_OBJ,       /* one structure of `type` */
    KF_OBJS,      /* list of `type` */
    KF_ANY,       /* kept as it comes */
};

enum kube_field_flag {
    KFF_KEEP = 1,   /* printed even when empty (no omitempty, or a plain structure) */
    KFF_PTR = 2,    /* a pointer: printed whenever it was given, also when zero */
    KFF_MERGE = 4,  /* strategic merge unites the list (patchStrategy=merge) */
    KFF_ATOMIC = 8, /* a map or structure that apply replaces whole */
    KFF_SET = 16,   /* a list that apply treats as a set */
    KFF_REQUIRED = 32,
};

struct kube_field {
    const char *name;
    enum kube_field_kind kind;
    unsigned flags;               /* enum kube_field_flag */
    const struct kube_type *type; /* KF_OBJ, KF_OBJS */
    const char *merge_key;        /* strategic merge, or NULL */
    const char *list_keys;        /* apply: "port,protocol"; NULL: as merge_key */
};

struct kube_type {
    const char *go_name;  /* "ServiceSpec": in error texts */
    const char *def_name; /* "io.k8s.api.core.v1.ServiceSpec": in OpenAPI */
    const struct kube_field *fields;
    size_t n_fields;
};

/* The member of that name, or NULL. */
const struct kube_field *kube_type_field(const struct kube_type *t, const char *name);

extern const struct kube_type kube_type_object_meta;
extern const struct kube_type kube_type_condition;
extern const struct kube_type kube_type_object_reference;
extern const struct kube_type kube_type_namespace;
extern const struct kube_type kube_type_node;
extern const struct kube_type kube_type_service;
extern const struct kube_type kube_type_service_spec;
extern const struct kube_type kube_type_endpoints;
extern const struct kube_type kube_type_config_map;
extern const struct kube_type kube_type_secret;
extern const struct kube_type kube_type_service_account;
extern const struct kube_type kube_type_event;
extern const struct kube_type kube_type_events_event;
extern const struct kube_type kube_type_endpoint_slice;
extern const struct kube_type kube_type_lease;
extern const struct kube_type kube_type_token_review;
extern const struct kube_type kube_type_subject_access_review;
extern const struct kube_type kube_type_self_subject_access_review;
extern const struct kube_type kube_type_token_request;
extern const struct kube_type kube_type_delete_options;
/* Custom resources and kinds that are only stored: kind, apiVersion, metadata; the rest is kept. */
extern const struct kube_type kube_type_free;

#endif
