/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_line.c: finds the line of a node again, for messages about documents that were read already.
 *
 * The trees of yaml.c keep no lines: few documents have a fault, and those that have one are small.
 * So the text is parsed once more, up to the node.  Follows neither aliases nor
 * merge keys. Pure. */
#include "common/data/yaml.h"

#include "common/base/str.h"
#include "common/data/yaml_scalar.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct finder {
    yaml_parser_t parser;
    yaml_event_t event;
    bool has_event;
};

static bool advance(struct finder *f)
{
    if (f->has_event) {
        yaml_event_delete(&f->event);
    }
    f->has_event = yaml_parser_parse(&f->parser, &f->event) != 0;
    return f->has_event && f->event.type != YAML_STREAM_END_EVENT;
}

/* Leaves the current event at the last one of the node that begins with it. */
static bool skip_node(struct finder *f)
{
    int depth = 0;
    for (;;) {
        yaml_event_type_t type = f->event.type;
        depth += type == YAML_MAPPING_START_EVENT || type == YAML_SEQUENCE_START_EVENT;
        depth -= type == YAML_MAPPING_END_EVENT || type == YAML_SEQUENCE_END_EVENT;
        if (depth == 0) {
            return true;
        }
        if (!advance(f)) {
            return false;
        }
    }
}

static bool is_text(const struct finder *f, const char *text)
{
    return f->event.type == YAML_SCALAR_EVENT &&
           str_eq((const char *)f->event.data.scalar.value, text);
}

/* yaml_parse_all() leaves such documents out. */
static bool is_null(const struct finder *f)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL"};
    bool plain = f->event.type == YAML_SCALAR_EVENT && f->event.data.scalar.plain_implicit;
    for (size_t i = 0; plain && i < ARRAY_LEN(words); i++) {
        if (is_text(f, words[i])) {
            return true;
        }
    }
    return false;
}

/* From the start of a mapping to the value of `key`.  *line becomes the key's. */
static bool enter_mapping(struct finder *f, const char *key, size_t *line)
{
    while (advance(f) && f->event.type != YAML_MAPPING_END_EVENT) {
        bool found = is_text(f, key);
        size_t at = f->event.start_mark.line + 1;
        if (!skip_node(f) || !advance(f)) {
            return false;
        }
        if (found) {
            *line = at;
            return true;
        }
        if (!skip_node(f)) {
            return false;
        }
    }
    return false;
}

/* From the start of a sequence to its item `index`. */
static bool enter_sequence(struct finder *f, uint64_t index, size_t *line)
{
    for (uint64_t i = 0; advance(f) && f->event.type != YAML_SEQUENCE_END_EVENT; i++) {
        if (i == index) {
            *line = f->event.start_mark.line + 1;
            return true;
        }
        if (!skip_node(f)) {
            return false;
        }
    }
    return false;
}

static bool enter(struct finder *f, const char *step, size_t *line)
{
    uint64_t index;
    if (f->event.type == YAML_MAPPING_START_EVENT) {
        return enter_mapping(f, step, line);
    }
    return f->event.type == YAML_SEQUENCE_START_EVENT && str_to_u64(step, &index) &&
           enter_sequence(f, index, line);
}

/* The current event becomes the first one of the document's root. */
static bool find_document(struct finder *f, size_t doc)
{
    while (advance(f)) {
        if (f->event.type != YAML_DOCUMENT_START_EVENT) {
            continue;
        }
        if (!advance(f)) {
            return false;
        }
        if (is_null(f)) {
            continue;
        }
        if (doc-- == 0) {
            return true;
        }
        if (!skip_node(f)) {
            return false;
        }
    }
    return false;
}

static void finder_open(struct finder *f, const char *text, size_t n)
{
    *f = (struct finder){.has_event = false};
    if (!yaml_parser_initialize(&f->parser)) {
        out_of_memory(0);
    }
    size_t mark = yaml_mark_len(text, n);
    yaml_parser_set_encoding(&f->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&f->parser, (const unsigned char *)text + mark, n - mark);
}

static void finder_close(struct finder *f)
{
    if (f->has_event) {
        yaml_event_delete(&f->event);
    }
    yaml_parser_delete(&f->parser);
}

size_t yaml_find_line(const char *text, size_t n, size_t doc, const char *const *path,
                      size_t n_path)
{
    struct finder f;
    size_t line = 0;
    finder_open(&f, text, n);
    if (find_document(&f, doc)) {
        line = f.event.start_mark.line + 1;
        for (size_t i = 0; i < n_path && enter(&f, path[i], &line); i++) {
        }
    }
    finder_close(&f);
    return line;
}

void yaml_item_lines(const char *text, size_t n_text, size_t doc, const char *key, size_t *lines,
                     size_t n)
{
    struct finder f;
    size_t line = 0;
    memset(lines, 0, n * sizeof(*lines));
    finder_open(&f, text, n_text);
    if (find_document(&f, doc) && f.event.type == YAML_MAPPING_START_EVENT &&
        enter_mapping(&f, key, &line) && f.event.type == YAML_SEQUENCE_START_EVENT) {
        for (size_t i = 0; i < n && advance(&f) && f.event.type != YAML_SEQUENCE_END_EVENT; i++) {
            lines[i] = f.event.start_mark.line + 1;
            if (!skip_node(&f)) {
                break;
            }
        }
    }
    finder_close(&f);
}
