/* SPDX-License-Identifier: Apache-2.0 */
/* schema.h: what the AWS Query APIs take and answer, as tables, and the two ways between the wire
 * and JSON.
 *
 * The tables are made from the schema packs (tables.py).  Inside the simulator requests, answers
 * and stored resources are JSON in the packs' names ("deserialised form": SecurityGroups,
 * UserIdGroupPairs, Tags); how a member is called in a form body (Groups, Tag.1.Key) and in XML
 * (securityGroupInfo, item) stands in the tables alone.  Decoding refuses what the pack does not
 * know, and so every parameter is either understood or refused.  Pure: no state, no I/O.
 * Source: docs/spec/aws.md §3.1, §3.2. */
#ifndef TRIMTAB_SIM_AWS_SCHEMA_H
#define TRIMTAB_SIM_AWS_SCHEMA_H

#include "common/base/arena.h"
#include "common/data/json.h"
#include "common/net/url.h"

#include <stdbool.h>
#include <stdint.h>

enum amz_service {
    AMZ_EC2 = 0,
    AMZ_ELB,
    AMZ_ELBV2,
    AMZ_STS,
    AMZ_SERVICES_MAX,
};

enum amz_type_kind {
    AMZ_ANY = 0,
    AMZ_OBJECT,
    AMZ_ARRAY,
    AMZ_STRING,
    AMZ_INTEGER,
    AMZ_BOOLEAN,
};

struct amz_field {
    const char *name;  /* in JSON; NULL ends the table */
    const char *query; /* in a request */
    const char *xml;   /* in an answer */
    const char *item;  /* of a list: its elements in an answer ("item", "member"); NULL: no list */
    int type;          /* index into amz_types */
};

struct amz_type {
    enum amz_type_kind kind;
    const char *name; /* of the definition; NULL: has none */
    const struct amz_field *fields;
    int item;                    /* type of a list's items */
    const char *const *one_of;   /* NULL-terminated, or NULL */
    const char *const *required; /* NULL-terminated, or NULL */
    bool has_range;
    int64_t min, max; /* of numbers; of texts and lists: length, max 0: any */
    /* a text consists of these; "w": letters and digits of any language, '_'; "s":
     * blanks; NULL: any */
    const char *chars;
};

/* One action of a service. */
struct amz_op {
    const char *name; /* "DescribeInstances"; NULL ends the table */
    enum amz_service service;
    int request;               /* type; -1: takes nothing */
    int answer;                /* type; -1: answers nothing */
    const char *const *errors; /* "DuplicateListener", "400", …; NULL-terminated, or NULL */
};

/* How a service speaks. */
struct amz_dialect {
    const char *key;     /* "ec2", "elb", "elbv2", "sts": in counts ("elb.AddTags") and settings */
    const char *scope;   /* the service word of a signature: "elasticloadbalancing" */
    const char *version; /* "2012-06-01" */
    const char *xml_space; /* namespace of the root element */
    bool ec2; /* lists without "member", answers without …Result, errors as <Response> */
};

extern const struct amz_type amz_types[];
extern const struct amz_op amz_ops[];
extern const struct amz_dialect amz_dialects[AMZ_SERVICES_MAX];

const struct amz_op *amz_op_find(enum amz_service service, const char *name);
const struct amz_field *amz_field_find(int type, const char *name);

/* The error of a request, as a kind that each service maps to its own code. */
enum amz_flaw_kind {
    AMZ_FLAW_NONE = 0,
    AMZ_FLAW_UNKNOWN, /* a parameter that the action does not take */
    AMZ_FLAW_MISSING, /* one that it must have */
    AMZ_FLAW_VALUE,   /* wrong type, out of range, not one of the allowed */
};
struct amz_flaw {
    enum amz_flaw_kind kind;
    const char *parameter; /* as sent: "Filter.1.Nam"; arena */
    const char *message;   /* arena */
};

/* Turns the parameters of a request (Action, Version and the like taken out) into JSON of type
 * `op->request`; new reference.  False: *ret_flaw says why. */
bool amz_params_decode(struct arena *a, const struct amz_op *op, const struct url_param *params,
                       size_t n, struct json_object **ret, struct amz_flaw *ret_flaw);

/* Appends an answer as XML.  Members that the pack does not know, or whose type is another, are
 * left out; an empty list becomes an empty element, an absent member none.  `out` may be NULL. */
void amz_answer_xml(struct str_buf *b, const struct amz_op *op, struct json_object *out,
                    const char *request_id);
/* Appends an error answer in the service's own form. */
void amz_error_xml(struct str_buf *b, enum amz_service service, int status, const char *code,
                   const char *message, const char *request_id);
/* Appends text with &, <, >, quotes and control characters escaped. */
void amz_append_xml_text(struct str_buf *b, const char *text);

#endif
