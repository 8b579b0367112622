/* SPDX-License-Identifier: Apache-2.0 */
/* edits.h: every edit of a working Service that the sweep of edits tries, as tables.
 *
 *     kind (of load balancer) × field × value        one case: "gce-target-pool
 *                                                    spec.sessionAffinity ClientIP"
 *
 * A kind is a cluster with two Services: "web", which is edited, and "near", a bystander of the
 * same kind, which shows how nodes come and go where nothing is wrong.  A new kind, field
 * or value is a new row. */
#ifndef TRIMTAB_TESTS_EDITS_EDITS_H
#define TRIMTAB_TESTS_EDITS_EDITS_H

#include "common/base/arena.h"

#include <stdbool.h>
#include <stddef.h>

#define EDIT_VALUES_MAX 12

struct edit_kind {
    const char *name;         /* "gce-target-pool"; NULL ends the table */
    const char *cloud;        /* "gce", "azure", "aws" */
    const char *const *flags; /* of the controller; NULL: none */
    const char *config;       /* members of azure.json, lines of [Global] for AWS; NULL: none */
    const char *web; /* JSON of the spec; its member `notes` are the annotations (flows.h) */
    const char *near;
    const char *site; /* of Azure (site.h); NULL: the simulator's own */
    /* values with this text are not tried: they need endpoints, which no Service has; NULL: none */
    const char *without;
    /* Its cluster has the Service "rbs", which another program serves: the cluster's instance
     * groups stay with it. */
    bool groups_stay;
};

/* The nature of a value; its name is printed. */
enum edit_nature {
    EDIT_END = 0,
    EDIT_GOOD, /* can be carried out */
    EDIT_BAD,  /* the text means nothing */
    /* it means something that the cloud, or the load balancer that stands, cannot have */
    EDIT_IMPOSSIBLE,
    EDIT_BLANK, /* nothing, or blanks around something good */
    EDIT_CASE,  /* good but for the case of its letters, or for a letter */
};
enum edit_effect {
    EDIT_MOVES = 1 << 0, /* another address is asked for */
    EDIT_ADMITS =
        1 << 1, /* it says by itself who may come in: the Service's source ranges do not */
    EDIT_MEMBERS = 1 << 2, /* other nodes take part than behind the bystander */
    EDIT_PORTS = 1 << 3,   /* packets arrive at other ports than before */
    EDIT_LEAVES = 1 << 4,  /* the Service is not one of trimtab any more */
    EDIT_BARE =
        1 << 5, /* ports that are written again get no node port, so that a cloud may refuse them */
    EDIT_UNSENT = 1 << 6, /* alone it is refused before the first write to the cloud */
    EDIT_HANDS_OUT =
        1 << 7, /* the Service is not one of trimtab any more if it moves from inside to outside */
    EDIT_BESIDE =
        1 << 8, /* the new load balancer is made beside the old one, and needs room for both */
    EDIT_SAME = 1 << 9, /* alone it asks for what is so already, or for nothing of the cloud */
    EDIT_HALF_OUT =
        1 << 10, /* with another one of these the Service is not one of trimtab any more */
    EDIT_PARTLY = 1 << 11, /* a part of the value has no effect */
    /* Taken back, the load balancer keeps what it has of it: no other one is asked for. */
    EDIT_STAYS = 1 << 12,
};

struct edit_value {
    enum edit_nature nature;
    const char *json; /* of the field */
    unsigned effects; /* enum edit_effect */
};
struct edit_field {
    const char *kinds; /* globs over the kinds' names, with blanks between: "gce-*" */
    /* "spec.sessionAffinity"; an annotation's whole key otherwise.  "spec" and "notes": the value
     * is an object of several members of the spec, or of several annotations: the last one is what
     * the value is about, the others are what it needs. */
    const char *name;
    struct edit_value values[EDIT_VALUES_MAX];
};

/* Each ended by a row without a name. */
extern const struct edit_kind edit_kinds[];
extern const struct edit_field edit_fields_spec[];
extern const struct edit_field edit_fields_gce[];
extern const struct edit_field edit_fields_azure[];
extern const struct edit_field edit_fields_aws[];

/* One case: an edit of one field, or of two at once. */
struct edit {
    const struct edit_kind *kind;
    const struct edit_field *field;
    const struct edit_value *value;
    const struct edit_field *field2; /* NULL: one alone */
    const struct edit_value *value2;
};

const struct edit_kind *edit_kind_find(const char *name); /* NULL: no such kind */
const char *edit_nature_name(enum edit_nature n);
/* The i-th case of a kind; false: there are no more. */
bool edit_at(const struct edit_kind *k, size_t i, struct edit *ret);
/* Both at once; false: they are about the same field, or end what trimtab serves. */
bool edit_pair(const struct edit *one, const struct edit *other, struct edit *ret);
unsigned edit_effects(const struct edit *e);
/* Its ports have no node ports, or not all of them have one. */
bool edit_is_bare(const struct edit *e);
/* Everything of it can be carried out. */
bool edit_is_good(const struct edit *e);
/* "gce-target-pool spec.sessionAffinity "ClientIP"", with " & …" for a second one. */
const char *edit_name(struct arena *a, const struct edit *e);
/* The merge patch that makes the edit. */
const char *edit_patch(struct arena *a, const struct edit *e);

#endif
