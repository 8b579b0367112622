/* SPDX-License-Identifier: Apache-2.0 */
/* gce_snapshot.h: what this process last saw of the cloud, resource by resource.
 *
 * Filled by one list per kind when nothing was ever listed here or many keys wait, by single
 * reads otherwise.  Own writes update it, errors make it forget what they touched.  Two
 * questions are answered from it:
 *   - "is it as it should be?"  from entries of bounded age (60 s);
 *   - "did an interrupted run leave something?"  from entries of any age: only trimtab makes
 *     resources of our names, so what was absent when we listed, and was not written by us
 *     since, is absent still.
 * Each resource is kept as compact JSON of the members that we know, as its difference from
 * others of its kind (gce_store.h, gce_pack.h); pools of the same members share one list (a
 * thousand Services on 250 nodes cost one list, not a thousand).  Thread-safe; no lock is held
 * during a read from the cloud. */
#ifndef TRIMTAB_GCE_SNAPSHOT_H
#define TRIMTAB_GCE_SNAPSHOT_H

#include "common/base/arena.h"
#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/data/json_view.h"
#include "providers/gce/api/gce_api.h"
#include "providers/gce/model/gce_target_pool.h"

#include <stdbool.h>
#include <stdint.h>

#define GCE_SNAPSHOT_AGE_MS 60000
#define GCE_SNAPSHOT_ANY    (-1) /* whatever its age */

/* Which resource. */
struct gce_key {
    enum gce_collection c;
    const char *zone; /* zonal collections, else NULL */
    const char *name;
};
#define GCE_KEY(c_, name_) (&(const struct gce_key){.c = (c_), .name = (name_)})

/* Sets of collections. */
#define GCE_KIND(c) (1u << (c))

struct gce_snapshot;
struct gce_snapshot *gce_snapshot_new(struct clock *clock) _warn_unused_;
void gce_snapshot_free(struct gce_snapshot *s);

/* Resources of this collection are kept at all; they can be listed in one piece. */
bool gce_snapshot_keeps(enum gce_collection c);
bool gce_snapshot_lists(enum gce_collection c);
/* The filter of its list, or NULL.  Of a name outside it nothing is concluded from the list. */
const char *gce_snapshot_filter(enum gce_collection c);

/* UNKNOWN: never seen, forgotten, older than max_age_ms, or of a collection that is not kept.
 * PRESENT: *ret is a tree in the arena. */
enum gce_known gce_snapshot_get(struct gce_snapshot *s, const struct gce_key *key,
                                int64_t max_age_ms, struct arena *a, struct json_object **ret);
/* The same as a view in the arena, for what is only decoded. */
enum gce_known gce_snapshot_view(struct gce_snapshot *s, const struct gce_key *key,
                                 int64_t max_age_ms, struct arena *a, const struct json_view **ret);
/* The address that has this IP, whatever its name; ABSENT only when addresses were listed
 * recently enough. */
enum gce_known gce_snapshot_address(struct gce_snapshot *s, const char *ip, int64_t max_age_ms,
                                    struct arena *a, struct json_object **ret);
/* Zones in which a resource of this name was seen, whatever the age; sorted. */
struct gce_strs gce_snapshot_zones(struct gce_snapshot *s, enum gce_collection c, const char *name,
                                   struct arena *a);
/* Some pool other than `except` refers to this health check, as far as was seen. */
bool gce_snapshot_check_is_used(struct gce_snapshot *s, const char *check, const char *except);
/* Some deny firewall other than `except` stands, as far as was seen. */
bool gce_snapshot_has_deny(struct gce_snapshot *s, const char *except);
/* Names of the forwarding rules that refer to this backend service, as far as was seen; sorted. */
struct gce_strs gce_snapshot_rules_of(struct gce_snapshot *s, const char *backend, struct arena *a);
/* Those of these kinds that may be listed were, within this time (GCE_SNAPSHOT_ANY: at least
 * once). */
bool gce_snapshot_was_listed(struct gce_snapshot *s, unsigned kinds, int64_t max_age_ms);
/* This kind was. */
bool gce_snapshot_has_all(struct gce_snapshot *s, enum gce_collection kind);
/* Permission to list this kind is lacking (upstream never needed it): it is read one by one from
 * now on. */
void gce_snapshot_set_unlistable(struct gce_snapshot *s, enum gce_collection kind);
bool gce_snapshot_is_unlistable(struct gce_snapshot *s, enum gce_collection kind);

/* Stores a read or written resource: `o` NULL means absent.  No effect for a collection that is not
 * kept. */
void gce_snapshot_put(struct gce_snapshot *s, const struct gce_key *key, struct json_object *o);
void gce_snapshot_forget(struct gce_snapshot *s, const struct gce_key *key);

/* A complete list of one kind under way: items as they come, then commit (or drop).  What was
 * written by us while the list was read stays. */
struct gce_fill;
struct gce_fill *gce_fill_begin(struct gce_snapshot *s, enum gce_collection kind) _warn_unused_;
void gce_fill_item(void *fill, const char *text, size_t n); /* as gce_splitter.item */
/* It got an item that is no resource: nothing of it may be believed. */
bool gce_fill_is_bad(const struct gce_fill *f);
/* It got more items than are kept: to be dropped. */
bool gce_fill_is_over(const struct gce_fill *f);
void gce_fill_commit(struct gce_fill *f); /* frees it */
void gce_fill_drop(struct gce_fill *f);   /* NULL is fine */

/* One filler at a time: true: the caller must fill; false after another caller has filled (or
 * the wait was cancelled).  The filler ends with gce_snapshot_filled(). */
bool gce_snapshot_claim(struct gce_snapshot *s, struct cancel *cancel);
void gce_snapshot_filled(struct gce_snapshot *s);

#endif
