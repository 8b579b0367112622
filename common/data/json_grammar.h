/* SPDX-License-Identifier: Apache-2.0 */
/* json_grammar.h: the one opinion about what is JSON.
 *
 * Reads a text under caps and tells a builder what stands in it, in its order:
 *   json_parse.c   builds json-c trees
 *   json_view.c    builds views
 * After a refusal the builder has an unfinished document, which its owner drops.
 * Private to common/base. */
#ifndef TRIMTAB_BASE_JSON_GRAMMAR_H
#define TRIMTAB_BASE_JSON_GRAMMAR_H

#include "common/data/json_view.h"

#define JSON_DEPTH_CEILING 1024 /* whatever the limits say: containers that are open at once */

/* Each function gets the `arg` of json_grammar_read().  Texts are valid UTF-8, borrowed for the
 * call.  `in_place`: the text stands so in the document, with a quote behind it; else it is
 * NUL-terminated. */
struct json_builder {
    /* A member's name; its value follows.  False: the object has one of that name. */
    bool (*name)(void *arg, const char *text, size_t n, bool in_place);
    /* A string. */
    void (*string)(void *arg, const char *text, size_t n, bool has_nul, bool in_place);
    /* A number (a DOUBLE's text is not in place), true, false or null.  Its `name` is not set. */
    void (*scalar)(void *arg, const struct json_view *v);
    void (*open)(void *arg, bool is_object);
    void (*close)(void *arg);
};

/* ERR_INVALID with "line L, column C: …" for text that is not JSON or exceeds a limit.  `limits`
 * may be NULL. */
int json_grammar_read(const char *text, size_t n, const struct json_limits *limits,
                      const struct json_builder *builder, void *arg, struct err *err) _warn_unused_;

#endif
