/* SPDX-License-Identifier: Apache-2.0 */
/* kube.h: the simulated kube-apiserver: what its parts share.
 *
 * A request goes: route.c (path → kind, namespace, name, verb) → auth.c (who, and may they) →
 * read.c, list.c, watch.c for reads, or body.c and write.c (decode → patch → defaults → allocate →
 * prepare → validate → store) for writes → respond.c (the form that Accept asks for).  Rules of
 * single kinds are in rules_*.c and service_*.c behind `struct kube_rules` (kinds.h).  The store
 * (store.h) numbers and remembers; watch.c hears of every change.  Source for all behaviour:
 * answers recorded from kube-apiserver 1.36.2 (tests/data/kube-1.36).  Everything runs in the
 * simulator's loop. */
#ifndef TRIMTAB_SIM_KUBE_KUBE_H
#define TRIMTAB_SIM_KUBE_KUBE_H

#include "common/base/str.h"
#include "common/data/json.h"
#include "sim/kube/kinds.h"
#include "sim/kube/store.h"
#include "sim/sim.h"

struct kube_alloc;
struct kube_auth;
struct kube_watches;
struct kube_counts;
struct kube_pods;
struct kube_rollouts;
struct kube_gc;

struct kube_state {
    struct sim *sim;
    struct kube_db *store;
    struct kube_alloc *alloc;
    struct kube_auth *auth; /* NULL: everything is allowed */
    struct kube_watches *watches;
    struct kube_counts *counts;     /* PUT /sim/pods: who asked for EndpointSlices */
    struct kube_pods *pods;         /* Pod objects and the slices that follow from them */
    struct kube_rollouts *rollouts; /* Deployments and their pods */
    struct kube_gc *gc;             /* owners and dependents */
    struct json_object *unknown;    /* world members of plurals that are not served */
    struct json_object *images;     /* what every made node carries: n_images, made once */
    int n_images;
};

enum kube_verb {
    KUBE_GET = 0,
    KUBE_LIST,
    KUBE_WATCH,
    KUBE_CREATE,
    KUBE_UPDATE,
    KUBE_PATCH,
    KUBE_DELETE,
    KUBE_DELETE_COLLECTION,
    KUBE_NO_VERB, /* a method that means nothing here */
};

/* Forms of an answer. */
enum kube_form {
    KUBE_FORM_OBJECT = 0,
    KUBE_FORM_TABLE,
    KUBE_FORM_PARTIAL,
    KUBE_FORM_REFUSED,
};

struct kube_request {
    struct kube_state *st;
    struct sim_call *call;
    struct arena *arena;
    const struct kube_kind *kind; /* NULL: not a resource path */
    const char *namespace;        /* "" for all or none */
    const char *name;             /* NULL: the collection */
    const char *subresource;      /* "" or "status", "token", "finalize" */
    enum kube_verb verb;
    enum kube_form form;
    const char *user; /* NULL: authentication is off */
};

/* --- respond.c -------------------------------------------------------------------------------- */
/* Answers a Status (taken over). */
void kube_answer_status(struct kube_request *r, struct json_object *status);
/* Answers one object in the form that was asked for; `stored` is borrowed. */
void kube_answer_tree(struct kube_request *r, int code, struct json_object *stored);
void kube_answer_obj(struct kube_request *r, int code, const struct kube_obj *o);
/* JSON text that is ready; streams when it is long. */
void kube_answer_json(struct kube_request *r, int code, const char *text, size_t n);
void kube_answer_plain(struct kube_request *r, int code, const char *text);
/* `{"kind":…,"apiVersion":…,` + stored: one object as text. */
void kube_append_obj(struct str_buf *b, const struct kube_kind *kind, const struct kube_obj *o);
/* One item of a list: the same without kind and apiVersion. */
void kube_append_item(struct str_buf *b, const struct kube_kind *kind, const struct kube_obj *o);
/* The form of an object without content: {"spec":{},…}, without metadata. */
struct json_object *kube_empty_object(const struct kube_kind *kind, struct arena *a);
/* The same as a new tree, translated to the kind's own API. */
struct json_object *kube_served_tree(const struct kube_kind *kind, struct json_object *stored);
/* PartialObjectMetadata of an object's text. */
void kube_append_partial(struct str_buf *b, const struct kube_obj *o);
/* The form that the Accept header asks for. */
enum kube_form kube_form_of(const char *accept);

/* --- reading and writing ---------------------------------------------------------------------- */
void kube_handle_get(struct kube_request *r);
void kube_handle_list(struct kube_request *r);
void kube_handle_create(struct kube_request *r);
void kube_handle_update(struct kube_request *r);
void kube_handle_patch(struct kube_request *r);
void kube_handle_delete(struct kube_request *r);
void kube_handle_delete_collection(struct kube_request *r);
void kube_handle_review(struct kube_request *r);
/* Paths without resources: /version, /healthz, discovery, OpenAPI.  False: not one of them. */
bool kube_handle_other(struct kube_request *r);
bool kube_handle_discovery(struct kube_request *r);
bool kube_handle_openapi(struct kube_request *r);

/* Stores `c->now` if it differs from `c->was`, or takes the object away when it is being deleted
 * and nothing holds it any more.  Returns the object that is stored now (borrowed), or NULL when it
 * went or on a dry run; `c->now` then is the last state. */
struct kube_obj *kube_commit(struct kube_change *c);
/* Starts or finishes a deletion; a refusal, or NULL and the object's last state in
 * *ret (new reference). */
struct json_object *kube_delete_one(struct kube_change *c, struct json_object **ret);
/* Takes out what a namespace holds and, when nothing is left, the namespace. */
void kube_namespace_sweep(struct kube_state *st, const char *name);
/* Makes a whole object without a request: for helpers.  Defaults and allocation, no validation. */
void kube_make(struct kube_state *st, const struct kube_kind *kind, struct json_object *o);

/* --- time and names --------------------------------------------------------------------------- */
/* RFC 3339 now, by the simulator's clock; `out` has 32 bytes. */
void kube_now(struct kube_state *st, char out[32]);
/* A new object's uid and creationTimestamp; what a client may not choose is dropped. */
void kube_meta_fill_new(struct kube_change *c);
/* An update keeps the metadata that a client left out or may not set; status and
 * spec by subresource. */
void kube_prepare_meta(struct kube_change *c);
/* For kinds that count: 1 at first, one more whenever something but metadata and status changes. */
void kube_count_generation(struct kube_change *c);
/* prefix + five characters, in the arena. */
const char *kube_generate_name(struct kube_state *st, struct arena *a, const char *prefix);

#endif
