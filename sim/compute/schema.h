/* SPDX-License-Identifier: Apache-2.0 */
/* schema.h: what the Compute API's requests may look like, as tables, and the check of a body
 * against them.
 *
 * The tables are made from the schema pack (tables.py).  Pure: no state, no I/O.  The check refuses
 * unknown members, wrong JSON types, numbers out of range, values that are not in an enumeration
 * and texts that do not match their pattern, as the cloud's front end does before the request
 * reaches a resource. */
#ifndef TRIMTAB_SIM_COMPUTE_SCHEMA_H
#define TRIMTAB_SIM_COMPUTE_SCHEMA_H

#include "common/base/arena.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

enum schema_kind {
    SCHEMA_ANY = 0,
    SCHEMA_OBJECT, /* fields, closed */
    SCHEMA_MAP,    /* any names; values of type `item` (-1: any) */
    SCHEMA_ARRAY,  /* items of type `item` */
    SCHEMA_STRING,
    SCHEMA_INTEGER,
    SCHEMA_NUMBER,
    SCHEMA_BOOLEAN,
};

struct schema_field {
    const char *name; /* NULL ends the table */
    int type;         /* index into compute_types */
    bool read_only;   /* set by the server; ignored in requests */
};

struct schema_type {
    enum schema_kind kind;
    const struct schema_field *fields;
    int item;
    const char *const *one_of; /* NULL-terminated, or NULL */
    const char *pattern;       /* POSIX extended, or NULL */
    bool has_range;
    int64_t min, max;
};

/* One operation of the API. */
struct compute_op {
    const char *id; /* "compute.addresses.insert"; NULL ends the table */
    const char *method;
    const char *path; /* below /compute/v1/, with {name} for one segment */
    const struct schema_field *query;
    int request;                 /* type of the body, -1: takes none */
    const char *const *required; /* members that the body must have, or NULL */
    bool long_running;           /* answers an Operation */
};

extern const struct schema_type compute_types[];
extern const struct compute_op compute_ops[];

/* Result of a check; texts are in the arena. */
struct schema_problem {
    enum {
        SCHEMA_OK = 0,
        SCHEMA_UNKNOWN_MEMBER, /* `name` at `path` */
        SCHEMA_WRONG_TYPE,     /* `path` wants `want` */
        SCHEMA_BAD_VALUE,      /* `path` has `got`; it must be `want` */
        SCHEMA_REQUIRED,       /* `path` is missing */
    } what;
    const char *path; /* "resource.allowed[0].ports" */
    const char *name;
    const char *got;
    const char *want;
};

/* Checks `o` (NULL: JSON null) against a type.  `path` names the root.  Nulls are
 * taken as "absent". */
bool ce_schema_check(struct arena *a, int type, struct json_object *o, const char *path,
                     struct schema_problem *ret);
/* Checks one query value. */
bool ce_schema_check_text(struct arena *a, int type, const char *value, const char *name,
                          struct schema_problem *ret);
/* Removes what only the server sets, at every depth. */
void ce_schema_strip_read_only(int type, struct json_object *o);
/* The field of that name of an object type, or NULL. */
const struct schema_field *ce_schema_field_of(int type, const char *name);
/* True when all of `text` matches the POSIX extended pattern; a pattern that does not compile
 * matches nothing. */
bool ce_schema_matches(const char *pattern, const char *text);
/* ^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$, which every name is compared with, without the price of a
 * regular expression. */
bool ce_name_is_valid(const char *text);

#endif
