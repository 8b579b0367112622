/* SPDX-License-Identifier: Apache-2.0 */
/* schema.h: what requests to the Azure Resource Manager may look like, as tables, and the check of
 * a body.
 *
 * The tables are made from the schema packs (tables.py).  Pure: no state, no I/O.  The check
 * refuses unknown members, wrong JSON types, numbers out of range, missing members and values
 * outside an enumeration; enumerations are compared without case, as ARM does, and the spelling of
 * the pack is put in place.  Members that only the server sets are ignored in requests: they are
 * removed before the check. */
#ifndef TRIMTAB_SIM_ARM_SCHEMA_H
#define TRIMTAB_SIM_ARM_SCHEMA_H

#include "common/base/arena.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

enum arm_type_kind {
    ARM_ANY = 0,
    ARM_OBJECT, /* fields, closed */
    ARM_MAP,    /* any names; values of type `item` (-1: any) */
    ARM_ARRAY,  /* items of type `item` */
    ARM_STRING,
    ARM_INTEGER,
    ARM_NUMBER,
    ARM_BOOLEAN,
};

struct arm_field {
    const char *name; /* NULL ends the table */
    int type;         /* index into arm_types */
    bool read_only;
};

struct arm_type {
    enum arm_type_kind kind;
    const char *name; /* of the definition: "LoadBalancer"; NULL: has none */
    const struct arm_field *fields;
    int item;
    const char *const *one_of;   /* NULL-terminated, or NULL */
    const char *const *required; /* NULL-terminated, or NULL */
    bool has_range;
    int64_t min, max;
};

/* One operation of the API. */
struct arm_op {
    const char *id; /* "LoadBalancers.CreateOrUpdate"; NULL ends the table */
    const char *method;
    const char *path;        /* "subscriptions/{subscriptionId}/…" */
    const char *api_version; /* "2025-05-01" */
    int request;             /* type of the body, -1: takes none */
    int answer;              /* type of the final answer, -1: none */
    const char *statuses;    /* "200 201" */
    bool long_running;
};

extern const struct arm_type arm_types[];
extern const struct arm_op arm_ops[];

/* Checks `o` (NULL: absent) and completes spellings in place.  `path` names the place ("" for the
 * root).  False: *ret_why is an arena text for the error's details. */
bool arm_schema_check(struct arena *a, int type, struct json_object *o, const char *path,
                      const char **ret_why);
/* Removes what only the server sets, and nulls, at every depth. */
void arm_schema_strip(int type, struct json_object *o);
/* The field of that name of an object type, or NULL. */
const struct arm_field *arm_schema_field(int type, const char *name);

#endif
