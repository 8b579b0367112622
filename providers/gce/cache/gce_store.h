/* SPDX-License-Identifier: Apache-2.0 */
/* gce_store.h: where the snapshot keeps its resources: by name, then by kind and zone.
 *
 *     name ──▶ entry (backend service) ──▶ entry (NEG, zone a) ──▶ entry (NEG, zone b) ──▶ …
 *
 * The pieces of one load balancer share a name or two, so a name is kept once and the few entries
 * under it are a list; what an entry says is packed (gce_pack.h).  An entry that a list under way
 * has brought is *pending*: it is not seen until the list is complete.  5,000 Services with three
 * NEGs each take some 6 MiB.  Not thread-safe: the snapshot's lock guards it.  Private to
 * gce_snapshot*.c and their tests. */
#ifndef TRIMTAB_GCE_STORE_H
#define TRIMTAB_GCE_STORE_H

#include "providers/gce/api/gce_api.h"
#include "providers/gce/cache/gce_pack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gce_name; /* one name and its entries */
struct gce_members;
struct json_view;

struct gce_entry {
    struct gce_entry *next;   /* under the same name */
    struct gce_packed text;   /* compact JSON; nothing: absent */
    struct gce_members *pool; /* targetPools: their instances; NULL: none */
    int64_t at_ms;            /* when it was read, written or forgotten */
    uint16_t zone;            /* number of the zone; 0: not zonal */
    uint16_t fill;            /* pending: the list's number; 0: it is known */
    uint16_t seen;            /* known: the last list that brought the very same */
    uint8_t kind;             /* enum gce_collection */
    bool forgotten;           /* touched by something that failed: unknown */
};

#define GCE_ZONES_MAX 1000
struct gce_store {
    struct gce_name **index; /* open addressing; n_index is a power of two */
    size_t n_index;
    size_t n_names;
    uint64_t seed;
    char **zones; /* number - 1 */
    uint16_t n_zones;
    struct gce_packer packers[GCE_COLLECTION_MAX];
    struct map *pools; /* struct gce_members by hash, borrowed */
};
void gce_store_init(struct gce_store *s);
void gce_store_done(struct gce_store *s);

/* The number of a zone: NULL has 0.  With `make` an unknown one gets a number; else, and when there
 * are too many, -1. */
int gce_store_zone(struct gce_store *s, const char *zone, bool make);
/* The entry, or NULL.  `fill` 0: what is known. */
struct gce_entry *gce_store_find(const struct gce_store *s, enum gce_collection kind, int zone,
                                 const char *name, uint16_t fill);
/* The entry, made when there is none. */
struct gce_entry *gce_store_make(struct gce_store *s, enum gce_collection kind, int zone,
                                 const char *name, uint16_t fill);
/* Members of a kind's resource that are kept; NULL-terminated; NULL: the kind is not kept. */
const char *const *gce_store_kept(enum gce_collection kind);
/* Sets the entry: `o` NULL is absent. */
void gce_store_set(struct gce_store *s, struct gce_entry *e, const char *name,
                   struct json_object *o);
/* Does it say that already?  (Never of pools.) */
bool gce_store_says(const struct gce_entry *e, const char *name, struct json_object *o);
/* As a new reference; NULL when it is absent. */
struct json_object *gce_store_tree(const struct gce_entry *e, const char *name);
/* The same as a view in the arena, for what is only decoded: a fifth of the work. */
const struct json_view *gce_store_view(const struct gce_entry *e, const char *name,
                                       struct arena *a);
/* Its text without pool members; false when it is absent. */
bool gce_store_text(const struct gce_entry *e, const char *name, struct str_buf *ret);

/* The entries of each name, in no order; the callback may change them, and marks with `drop` those
 * that are to go. */
struct gce_visit {
    const char *name;
    struct gce_entry *first;
};
void gce_store_each(struct gce_store *s, void (*fn)(const struct gce_visit *v, void *arg),
                    void *arg);
/* Marks an entry; it goes when gce_store_each() has passed its name. */
void gce_store_drop(struct gce_entry *e);

#endif
