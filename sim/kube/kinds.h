/* SPDX-License-Identifier: Apache-2.0 */
/* kinds.h: the resources that the simulator serves, one row each.
 *
 * A row says where a resource lives (group, version, plural), what its objects look like (types.h),
 * which rules its writes obey and which columns `kubectl get` shows.  A custom resource is a row
 * without rules whose type is kube_type_free.  Two rows may share one store (Events have two APIs):
 * then `as_stored` and `as_served` translate.  Constant data. */
#ifndef TRIMTAB_SIM_KUBE_KINDS_H
#define TRIMTAB_SIM_KUBE_KINDS_H

#include "common/base/arena.h"
#include "sim/kube/kube_status.h"
#include "sim/kube/types.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kube_state;
struct kube_kind;

/* One write on its way. */
struct kube_change {
    struct kube_state *st;
    struct arena *arena;
    const struct kube_kind *kind;
    const char *namespace; /* "" for cluster-scoped kinds */
    const char *name;
    bool status_only; /* the status subresource */
    bool dry_run;
    const char *waits_for;   /* a deletion: the garbage collector's finalizer, or NULL */
    int64_t grace_s;         /* a deletion: how long it may take; -1: as the kind has it */
    struct json_object *now; /* what will be stored; rules edit it */
    struct json_object *was; /* what is stored; NULL: a create */
};

/* Functions of a kind.  Every member may be NULL. */
struct kube_rules {
    /* Fills in what a reader may rely on; also called for objects that come out of a patch. */
    void (*set_defaults)(struct kube_change *c);
    /* Chooses addresses and ports; may refuse. */
    struct json_object *(*begin)(struct kube_change *c);
    /* Undoes what a client must not change. */
    void (*prepare)(struct kube_change *c);
    void (*validate)(const struct kube_change *c, struct kube_causes *causes);
    /* Seconds that a deletion takes (c->grace_s may ask for some); NULL: none. */
    int64_t (*grace)(const struct kube_change *c);
};

/* One column of a Table answer. */
struct kube_column {
    const char *name;
    const char *type;   /* "string", "integer" */
    const char *format; /* "name" for the first, else "" */
    int priority;       /* 1: only with -o wide */
    const char *description;
    /* The cell's text; `now_s` is the wall clock.  NULL: <none>. */
    const char *(*cell)(struct arena *a, struct json_object *o, int64_t now_s);
};

struct kube_kind {
    const char *group; /* "" for core */
    const char *version;
    const char *plural;
    const char *singular;
    const char *kind;
    const char *short_names;  /* "svc,…" or NULL */
    const char *categories;   /* "all" or NULL */
    const char *storage_hash; /* as discovery prints it, or NULL */
    const struct kube_type *type;
    /* how protobuf bodies are read, when not as `type`; or NULL */
    const struct kube_type *wire_type;
    const struct kube_rules *rules;
    const struct kube_column *columns; /* ends with name NULL; NULL: name and age */
    const char *field_labels; /* further fields for field selectors, comma-separated, or NULL */
    int store;                /* number of its store */
    bool namespaced;
    bool has_status; /* a status subresource */
    bool counts_generation;
    bool counts_labels;     /* generation grows with changed labels, too */
    bool put_creates;       /* PUT to a missing name makes it */
    bool put_needs_version; /* an update must name its resourceVersion */
    bool names_are_paths;   /* any text that is one segment of a path is a name */
    bool is_review;         /* only POST, nothing is stored */
    bool is_custom;
    struct json_object *(*as_stored)(struct json_object *served); /* new references */
    struct json_object *(*as_served)(struct json_object *stored);
};

extern const struct kube_kind kube_kinds[];
extern const size_t kube_n_kinds;
extern const int kube_n_stores;

/* "v1" or "group/version". */
const char *kube_api_version(const struct kube_kind *k, struct arena *a);
/* The row of a path; NULL when nothing is served there. */
const struct kube_kind *kube_kind_find(const char *group, const char *version, const char *plural);
/* The row by which worlds and helpers name a plural: the first one. */
const struct kube_kind *kube_kind_by_plural(const char *plural);
/* The first row of a store. */
const struct kube_kind *kube_kind_of_store(int store);
/* True when anything is served in that group (and version, if not NULL). */
bool kube_group_is_served(const char *group, const char *version);

#endif
