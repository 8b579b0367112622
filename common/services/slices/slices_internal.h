/* SPDX-License-Identifier: Apache-2.0 */
/* slices_internal.h: parts of a pass over one Service's slices.  Private to this room. */
#ifndef TRIMTAB_SERVICES_SLICES_SLICES_INTERNAL_H
#define TRIMTAB_SERVICES_SLICES_SLICES_INTERNAL_H

#include "common/services/slices/endpoint_set.h"
#include "common/services/slices/slices.h"

/* ---- names, labels, annotations (slice_meta.c) ----------------------------------------------- */

/* A sorted map of texts in the making. */
struct kv_map {
    struct json_kv *items;
    size_t n;
    size_t cap;
};
/* A copy of a sorted map with room for `more` keys. */
struct kv_map kv_map_copy(struct arena *a, const struct json_kv *kvs, size_t n, size_t more);
void kv_map_set(struct kv_map *m, const char *key, const char *value);
void kv_map_remove(struct kv_map *m, const char *key);
bool kv_map_equal(const struct kv_map *x, const struct kv_map *y);

/* "name-", or "name" where that would be too long for a slice's generateName. */
const char *slice_generate_name(struct arena *a, const char *owner);
/* A slice without name, ports and endpoints. */
struct ks_slice slice_new(struct arena *a, const struct ks_service *service, const char *type);
/* Labels of a slice of this Service.  *ret_changed when those of `slice` differ in more than the
 * reserved ones. */
struct kv_map slice_labels(struct arena *a, const struct ks_service *service,
                           const struct ks_slice *slice, bool *ret_changed);
bool slice_is_owned(const struct ks_slice *slice, const struct ks_meta *owner, const char *kind);
/* True when the slice is what slice_new() makes, its name and annotations apart. */
bool slice_is_placeholder(struct arena *a, const struct ks_slice *slice,
                          const struct ks_service *service);
/* Writes the time that triggered the pass into a slice's annotations; NULL removes it. */
void slice_stamp(struct arena *a, struct ks_slice *slice, const char *trigger_time);

/* Ports in one order, and the text by which groups of equal ports are found. */
const struct ks_slice_port *slice_ports_sorted(struct arena *a, const struct ks_slice_port *ports,
                                               size_t n);
const char *slice_ports_key(struct arena *a, const struct ks_slice_port *ports, size_t n);

/* ---- one group of equal ports (slice_group.c) ------------------------------------------------ */

/* The slices of one family while a pass works on them. */
struct slice_lists {
    const struct ks_slice **create;
    const struct ks_slice **update;
    const struct ks_slice **remove;
    const struct ks_slice **unchanged;
    size_t n_create;
    size_t n_update;
    size_t n_remove;
    size_t n_unchanged;
};
struct slice_group {
    const struct ks_service *service;
    const char *type; /* addressType */
    const struct ks_slice_port *ports;
    size_t n_ports;
    const struct ks_slice *const *existing; /* sorted by name, owned by the Service */
    size_t n_existing;
    struct endpoint_set *desired; /* sealed; empty afterwards */
    size_t max;
};
/* Distributes the desired endpoints over existing and new slices, and adds each slice
 * to one list. */
void slice_group_reconcile(struct arena *a, struct slice_group *g, struct slice_lists *lists);

#endif
