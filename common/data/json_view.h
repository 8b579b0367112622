/* SPDX-License-Identifier: Apache-2.0 */
/* json_view.h: a JSON text as plain values in an arena: what is read once, decoded and forgotten.
 *
 * A tree of json-c (json.h) is for documents that are changed and written back: each value is a
 * block of malloc, each object a hash table.  A view has neither: the children of a container lie
 * side by side in their order, members know their names, texts stand in one copy of the text.  So
 * it costs a fifth to build, nothing to free, and a question for a member is a search among its
 * siblings.
 * json_view_parse() and json_parse() are one grammar (json_grammar.h): they take and refuse the
 * same texts with the same words.  Immutable once built.  Pure. */
#ifndef TRIMTAB_BASE_JSON_VIEW_H
#define TRIMTAB_BASE_JSON_VIEW_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/data/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_view_type {
    JSON_V_NULL = 0,
    JSON_V_BOOL,
    JSON_V_INT,    /* a whole number that int64_t holds */
    JSON_V_UINT,   /* a whole number above that, up to UINT64_MAX */
    JSON_V_DOUBLE, /* any other number */
    JSON_V_STRING,
    JSON_V_ARRAY,
    JSON_V_OBJECT,
};
struct json_view {
    enum json_view_type type;
    uint32_t n;        /* STRING, DOUBLE: bytes of text; ARRAY, OBJECT: items */
    const char *name;  /* of a member, NUL-terminated, without further NULs; NULL elsewhere */
    uint32_t name_len; /* its bytes */
    bool has_nul;      /* STRING: one of its bytes is NUL */
    union {
        bool b;
        int64_t i;
        uint64_t u;
        const char *text; /* STRING: UTF-8; DOUBLE: as sent, NULL of a tree; NUL-terminated */
        const struct json_view *items; /* ARRAY, OBJECT: n of them; of an unopened tree: NULL */
    };
    struct json_object *tree; /* what it shows, borrowed; NULL when it was parsed from text */
};

/* Parses all of text[0..n), which need not stay.  *ret and what it points to live in `a`.  Of
 * `limits` the names and the sharing of strings mean nothing here.  Errors as json_parse(). */
int json_view_parse(struct arena *a, const char *text, size_t n, const struct json_limits *limits,
                    const struct json_view **ret, struct err *err) _warn_unused_;
/* The same, but the texts of the views are in `text` itself, which has no NULs, and stays as long
 * as they do: a NUL takes the place of the quote behind each.  After a refusal it is as it was. */
int json_view_parse_here(struct arena *a, char *text, size_t n, const struct json_limits *limits,
                         const struct json_view **ret, struct err *err) _warn_unused_;
/* One value of a tree; its texts stay the tree's.  NULL is a null. */
struct json_view json_view_of_tree(struct json_object *o);
/* The items of a container, those of a tree being made now in `a`; NULL for others and for none. */
const struct json_view *json_view_items(struct arena *a, const struct json_view *v);
/* The value, and all below it, without a tree behind it: a copy in `a` where there is one. */
const struct json_view *json_view_whole(struct arena *a, const struct json_view *v);
/* The same value as a tree.  New reference; NULL for a null. */
struct json_object *json_view_tree(const struct json_view *v);

/* Questions as those of json.h, to views that were parsed from text: NULL when `v` is NULL or no
 * object, or the member is absent or null. */
const struct json_view *json_view_member(const struct json_view *v, const char *name);
/* The text of a string member, or NULL when absent or no string. */
const char *json_view_str(const struct json_view *v, const char *name);
/* Its text in an error: a string as it is, anything else as JSON.  In `a`. */
const char *json_view_shown(struct arena *a, const struct json_view *v);

/* As json_decode(), from a view.  Texts are borrowed from it if it was parsed from text. */
int json_decode_view(struct arena *a, const struct json_view *v, const struct json_field *fields,
                     void *out, enum json_unknown unknown, const char *where,
                     struct err *err) _warn_unused_;

#endif
