/* SPDX-License-Identifier: Apache-2.0 */
/* json_splitter.h: cuts a LIST into its items, or a watch stream into its events, as bytes arrive.
 *
 * Works on bytes, not on trees: it follows strings and brackets, copies what a list of wanted paths
 * names and drops the rest (managedFields and images are four fifths of a Node).  Each finished
 * item is handed on as compact JSON text; only that text reaches a parser.  So memory is bounded by
 * the caps below, whatever the server sends, and chunks may end anywhere, also inside an escape.
 *
 * A cap belongs to the item.  Dropped bytes count for none: their nesting and their names have no
 * limit.  A wanted field ("spec.ports") that breaks a cap is replaced by a value of the wrong type,
 * the item is handed on with the reason, and the cutter continues with the next field.  Names,
 * versions and other short fields keep their place also behind large ones.
 *
 *   LIST    one object.  Elements of its "items" are items; of its other members the wanted ones
 *           are collected as the head ({"metadata":{"resourceVersion":"7"}}), complete when the
 *           object is.
 *   STREAM  values one after the other, with or without white space between them (controller.md
 *           §4.8).
 *
 * Checked here: nesting, quotes, colons and commas of everything, also of what is dropped, down to
 * CUTTER_DEPTH_MAX; below that quotes and the number of brackets.  Numbers, escapes and UTF-8 of
 * what is kept are the parser's.  A wanted path may end anywhere: "spec.ports" keeps all below it.
 * Arrays are transparent: "status.conditions.type" reaches into each element.  Where the way to a
 * wanted path meets a scalar, the scalar is kept, so that a decoder sees the wrong type.
 * One thread.  Private to controller/kube. */
#ifndef TRIMTAB_KUBE_JSON_SPLITTER_H
#define TRIMTAB_KUBE_JSON_SPLITTER_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define CUTTER_DEPTH_MAX 64 /* nesting of what is kept, the list's own levels included */
#define CUTTER_KEPT_MAX  ((size_t)4 << 20)  /* kept bytes of one item */
#define CUTTER_ROOM      ((size_t)64 << 10) /* beyond that, for fields of at most CUTTER_SMALL */
#define CUTTER_SMALL     ((size_t)1 << 10)
#define CUTTER_NAME_MAX  ((size_t)64 << 10) /* of a member's name that is kept */
/* Bytes of one item as sent.  An API server takes requests of 3 MiB, of which a byte is sent as six
 * at most: a larger item has no end. */
#define CUTTER_RAW_MAX  ((size_t)64 << 20)
#define CUTTER_HEAD_MAX ((size_t)64 << 10) /* of a list's head */

struct json_splitter;

enum cutter_mode {
    CUTTER_LIST = 0,
    CUTTER_STREAM,
};

/* Borrowed for the call. */
struct cutter_item {
    char *text; /* compact JSON, NUL-terminated; always whole; may be overwritten */
    size_t n;
    /* "spec.ports is larger than 4194304 bytes"; NULL: all that is wanted is there */
    const char *broken;
};

struct cutter_args {
    enum cutter_mode mode;
    /* NULL-terminated paths below the item, and in STREAM mode below `prefix` of
     * the event ("object"). */
    const char *const *members;
    const char *prefix; /* NULL: none */
    const char *const
        *more_members; /* LIST: of the head; STREAM: of the event itself; NULL: none */
    /* False ends the feeding with ERR_CANCELLED. */
    bool (*on_item)(void *arg, const struct cutter_item *item);
    void *arg;
};

struct json_splitter *json_splitter_new(const struct cutter_args *args) _warn_unused_;
void json_splitter_free(struct json_splitter *c); /* NULL is fine */
/* Ready for another document. */
void json_splitter_reset(struct json_splitter *c);
/* ERR_INVALID ("byte 17: want a colon, got 0x3c") for text that is not JSON, a head over its cap
 * and an item endlessly; after that only reset helps. */
int json_splitter_feed(struct json_splitter *c, const char *bytes, size_t n,
                       struct err *err) _warn_unused_;
/* True when nothing is open: a complete list, or a stream that ended between two events. */
bool json_splitter_at_boundary(const struct json_splitter *c);
/* Items cut since the last reset. */
size_t json_splitter_count(const struct json_splitter *c);
/* The head of a complete list, "" when there is none; borrowed until the next reset or feed. */
const char *json_splitter_head(const struct json_splitter *c, size_t *ret_n);

#endif
