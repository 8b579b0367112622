/* SPDX-License-Identifier: Apache-2.0 */
/* json.h: JSON in and out: capped parsing, decoding by field tables, one stable way of printing.
 *
 * json-c holds the trees; its objects never cross threads.  Outside text comes in through
 * json_parse(), which caps size, depth and number of values, refuses duplicate members, trailing
 * garbage, NULs in member names and (unless allowed) NULs in strings.  Structures are filled by
 * json_decode() from a table of fields, so that an error can say where:  "spec.ports[2].port: want
 * a whole number from 1 to 65535, got \"http\"".  Unknown members are skipped or refused, as the
 * caller says.  Output is compact or indented, members in the order of insertion or sorted; the
 * same tree always prints the same bytes. */
#ifndef TRIMTAB_BASE_JSON_H
#define TRIMTAB_BASE_JSON_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/str.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_limits {
    size_t max_bytes;  /* 0 = 64 MiB */
    int max_depth;     /* 0 = 64 */
    size_t max_values; /* 0 = 4,000,000 */
    bool allow_nul;    /* keep "\u0000" inside string values; names never may hold it */
    /* Equal strings become one object, which several places of the tree hold: for large documents
     * that name the same IDs again and again.  No string of such a tree may be changed in place. */
    bool share_strings;
    /* Names of members that are not copied into each object: sorted by strcmp(), and alive as long
     * as the program.  NULL:  none. */
    const char *const *names;
    size_t n_names;
};

/* Parses all of text[0..n).  On success *ret is a new reference (json_object_put it).  ERR_INVALID
 * with "line L, column C: …" otherwise.  `limits` may be NULL. */
int json_parse(const char *text, size_t n, const struct json_limits *limits,
               struct json_object **ret, struct err *err) _warn_unused_;
/* The same; the tree is given back when the arena is freed. */
int json_parse_arena(struct arena *a, const char *text, size_t n, const struct json_limits *limits,
                     struct json_object **ret, struct err *err) _warn_unused_;
/* For _cleanup_(json_putp). */
void json_putp(struct json_object **o);

/* Takes all members out of an object. */
void json_clear(struct json_object *o);

/* Member access: NULL if `o` is not an object, or the member is absent or null. */
struct json_object *json_member(struct json_object *o, const char *name);
/* Follows "a.b.c" through objects; NULL as above. */
struct json_object *json_path(struct json_object *o, const char *path);
/* The text of a string member, or NULL when absent or no string.  Borrowed from the tree. */
const char *json_str(struct json_object *o, const char *name);
/* The integer of a number member (also of a string of digits: 64-bit ids), or `otherwise`. */
int64_t json_int(struct json_object *o, const char *name, int64_t otherwise);
bool json_get_bool(struct json_object *o, const char *name, bool otherwise);
/* The short name; json-c has a type of that name, so the function itself cannot have it. */
#define json_bool(o, name, otherwise) json_get_bool((o), (name), (otherwise))
size_t json_len(struct json_object *array); /* 0 if it is not an array */
bool json_equal(struct json_object *a,
                struct json_object *b);               /* deep; 1 equals 1.0; member order ignored */
struct json_object *json_copy(struct json_object *o); /* deep; new reference */
/* Containers again, scalars shared: half the memory of a copy.  For trees of one thread whose
 * scalars are replaced, never set in place.  New reference. */
struct json_object *json_share(struct json_object *o);
/* Gives back what json-c keeps in reserve for members to come (16 slots per object, 32 per array):
 * four fifths of what a big document takes.  Of this container, not of those in it; adding to it
 * stays possible.  Parsed trees and copies are slim already. */
void json_slim(struct json_object *container);

/* The value of the first member, "format_version", of every document of ours that is an object
 * (docs/interfaces.md): it becomes another one only when a program that reads documents
 * could go wrong. */
#define JSON_FORMAT_VERSION 1

/* Adding: take ownership of `v`. */
void json_add(struct json_object *o, const char *name, struct json_object *v);
void json_add_str(struct json_object *o, const char *name, const char *s); /* NULL: adds nothing */
/* Adds `s` unless the member is a string already.  Returns the string that stands there: borrowed
 * from `o`, until the member is set again.  (json_add_str() with a text read from the same member
 * frees that text.) */
const char *json_default_str(struct json_object *o, const char *name, const char *s);
void json_add_int(struct json_object *o, const char *name, int64_t v);
void json_add_bool(struct json_object *o, const char *name, bool v);
void json_push_str(struct json_object *array, const char *s);
struct json_object *json_strs(const char *const *items, size_t n); /* new array */

enum json_style {
    JSON_COMPACT = 0,
    JSON_PRETTY = 1,
    JSON_SORTED = 2,
    JSON_SORTED_PRETTY = 3,
};
/* '/' is not escaped, non-ASCII is not escaped; the pretty form indents by two blanks, and escapes
 * characters that do not show (str_append_json_visible()).  Go's HTML escaping is not done. */
void json_print(struct str_buf *b, struct json_object *o, enum json_style style);
char *json_text(struct arena *a, struct json_object *o, enum json_style style);

/* --- decoding by tables ----------------------------------------------------------------------- */
/* One member of a C struct.  Strings are copied to the arena; absent members leave the struct as it
 * is (fill in defaults first).  `has_offset` (0 = none; so a `has_` flag must not be the first
 * member) names a bool that becomes true when the member is present and not null. */
enum json_field_type {
    JSON_T_STR = 1, /* const char * */
    JSON_T_BOOL,    /* bool */
    JSON_T_I32,     /* int32_t, min…max */
    JSON_T_I64,     /* int64_t, min…max; also accepts a string of digits */
    JSON_T_DOUBLE,  /* double */
    JSON_T_STRS,    /* const char **, and size_t at count_offset */
    JSON_T_OBJECT,  /* an embedded struct, by `sub` */
    /* pointer to an array of structs of sub_size, by `sub`; size_t at count_offset */
    JSON_T_OBJECTS,
    JSON_T_MAP, /* struct json_kv *, sorted by key; size_t at count_offset */
    /* struct json_object *, borrowed from the tree (of a parsed view: made, in the arena) */
    JSON_T_RAW,
    JSON_T_VIEW, /* const struct json_view * (json_view.h), parsed or copied to the arena */
};
struct json_kv {
    const char *key;
    const char *value;
};
struct json_field {
    const char *name; /* member name; NULL ends a table */
    enum json_field_type type;
    size_t offset;
    size_t count_offset; /* STRS, OBJECTS, MAP */
    size_t has_offset;   /* 0 = none */
    const struct json_field *sub;
    size_t sub_size; /* OBJECTS */
    int64_t min,
        max; /* numbers: both 0 = full range of the type; STR: max = most bytes (0 = 64 Ki) */
    size_t max_items; /* STRS, OBJECTS, MAP: 0 = 10,000 */
    bool required;
    const char *const *one_of; /* STR: NULL-terminated list of allowed values, or NULL */
};
enum json_unknown {
    JSON_SKIP_UNKNOWN = 0,
    JSON_REFUSE_UNKNOWN,
};
/* Fills *out.  Errors are ERR_INVALID and begin with the path below `where` ("" for none). */
int json_decode(struct arena *a, struct json_object *o, const struct json_field *fields, void *out,
                enum json_unknown unknown, const char *where, struct err *err) _warn_unused_;

#endif
