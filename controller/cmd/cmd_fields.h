/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_fields.h: the fields of the Kubernetes objects that files may hold, and the strict check of
 * an object by them.
 *
 * Source: OpenAPI of Kubernetes 1.36 (core/v1, meta/v1); a test compares the tables with it.  What
 * is deprecated but accepted (selfLink, loadBalancerIP, externalID) is known.  Pure. */
#ifndef TRIMTAB_CONTROLLER_CMD_CMD_FIELDS_H
#define TRIMTAB_CONTROLLER_CMD_CMD_FIELDS_H

#include "common/data/json.h"
#include "controller/cmd/cmd_faults.h"

enum cmd_field_kind {
    CMD_TEXT = 0,
    CMD_TIME, /* a text in the form of RFC 3339 */
    CMD_BOOL,
    CMD_I32,
    CMD_I64,
    CMD_INT_OR_TEXT,
    CMD_TEXTS,        /* list of texts */
    CMD_TEXT_MAP,     /* texts by name */
    CMD_QUANTITY_MAP, /* texts or numbers by name */
    CMD_OBJECT,       /* by `type` */
    CMD_OBJECTS,      /* list of them */
    CMD_ANY,          /* not looked into */
};
struct cmd_type;
struct cmd_field {
    const char *name;
    enum cmd_field_kind kind;
    const struct cmd_type *type; /* CMD_OBJECT, CMD_OBJECTS */
    const char *const *one_of;   /* NULL-terminated, sorted; NULL: any */
    bool empty_counts; /* with one_of: "" is a value that is not allowed, not an absent one */
};
struct cmd_type {
    const char *schema; /* "core.v1.ServiceSpec" */
    const struct cmd_field *fields;
    size_t n;
};
extern const struct cmd_type cmd_type_service;
extern const struct cmd_type cmd_type_node;
extern const struct cmd_type
    cmd_type_list; /* kind List, ServiceList …; items are not looked into */

/* Adds a fault for each field of `o` that is unknown (soft), of the wrong type or without an
 * allowed value (hard). */
void cmd_fields_check(struct cmd_faults *faults, const struct cmd_origin *origin,
                      const struct cmd_type *type, struct json_object *o);

#endif
