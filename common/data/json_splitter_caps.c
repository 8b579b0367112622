/* SPDX-License-Identifier: Apache-2.0 */
/* json_splitter_caps.c: an item that breaks a cap: the field goes, the item stays (see
 * json_splitter.h).
 *
 * The output of an item is whole at each moment but for what is open, and each open object knows
 * where its last member begins.  So a field can be taken back when it turns out to be too much.
 * Pure. */
#include "common/data/json_splitter_internal.h"

#include <stdio.h>
#include <string.h>

#define PATH_SHOWN 100

/* The name of the member that begins at `at` in the output, as it was sent. */
static void append_name(const struct json_splitter *c, size_t at, struct str_buf *path)
{
    const char *name = strchr(c->item.data + at, '"') + 1;
    size_t n = 0;
    while (name[n] != '"') {
        n += name[n] == '\\' ? 2 : 1;
    }
    str_append_n(path, name, n);
}

/* "spec.ports", of the member that is open at stack level `at`. */
static void name_field(const struct json_splitter *c, int at, struct str_buf *path)
{
    int first = c->item_depth + (c->args.prefix != NULL && at > c->item_depth ? 1 : 0);
    for (int i = first; i <= at; i++) {
        if (!c->stack[i].is_array) {
            str_append(path, path->len > 0 ? "." : "");
            append_name(c, c->stack[i].member_at, path);
        }
    }
}

/* The stack level whose members are fields; what lies above it is a way to them. */
static int field_level(const struct json_splitter *c)
{
    return c->item_depth + (c->args.prefix != NULL ? 2 : 1);
}

bool cutter_is_below_field(const struct json_splitter *c)
{
    return c->depth - 1 > field_level(c);
}

/* The level whose member is the field at hand; -1: there is none. */
static int level_of_field(const struct json_splitter *c)
{
    int at = field_level(c);
    at = at < c->depth ? at : c->depth - 1;
    while (at >= c->item_depth && (c->stack[at].is_array || !c->stack[at].has_output)) {
        at--;
    }
    return at >= c->item_depth ? at : -1;
}

static void keep_none_from(struct json_splitter *c, int level)
{
    for (int i = level; i < c->depth; i++) {
        c->stack[i].keep = KEEP_NONE;
    }
    c->value_keep = KEEP_NONE;
}

void cutter_note_broken(struct json_splitter *c, const char *path, const char *what, size_t cap,
                        const char *unit)
{
    if (c->broken[0] == '\0') { /* the first one is reported */
        (void)snprintf(c->broken, sizeof c->broken, "%.*s %s %zu%s", PATH_SHOWN, str_or(path, "it"),
                       what, cap, unit);
    }
}

void cutter_break_field(struct json_splitter *c, const char *what, size_t cap, const char *unit)
{
    struct str_buf path _cleanup_(str_buf_done) = STR_BUF_INIT;
    struct str_buf name _cleanup_(str_buf_done) = STR_BUF_INIT;
    int at = level_of_field(c);
    if (at < 0) {
        cutter_note_broken(c, NULL, what, cap, unit);
        c->is_nameless = true;
    } else {
        struct level *l = &c->stack[at];
        name_field(c, at, &path);
        append_name(c, l->member_at, &name);
        cutter_note_broken(c, str_buf_text(&path), what, cap, unit);
        const char *value = c->item.data + l->member_at + l->had_output + name.len + 3;
        bool is_bool = value[0] == 't' || value[0] == 'f';
        c->item.len = l->member_at;
        str_appendf(&c->item, "%s\"%s\":%s", l->had_output ? "," : "", str_buf_text(&name),
                    is_bool ? "[]" : "true");
        keep_none_from(c, at + 1);
    }
    if (c->is_nameless || c->item.len > CUTTER_KEPT_MAX + CUTTER_ROOM) {
        c->is_nameless = true;
        str_buf_reset(&c->item);
        str_append(&c->item, "null");
        keep_none_from(c, c->item_depth);
    }
}

void cutter_check_item(struct json_splitter *c)
{
    if (!c->in_item || c->is_nameless || c->item.len <= CUTTER_KEPT_MAX) {
        return;
    }
    bool is_text = c->state >= IN_STRING && c->state <= IN_SCALAR;
    bool is_between = c->depth - 1 < field_level(c) && !is_text;
    int at = level_of_field(c);
    bool is_small = at >= 0 && c->item.len - c->stack[at].member_at <= CUTTER_SMALL;
    bool is_full = c->item.len > CUTTER_KEPT_MAX + CUTTER_ROOM;
    if (is_small && is_full) {
        cutter_note_broken(c, NULL, "is larger than", CUTTER_KEPT_MAX, " bytes");
    }
    if ((!is_small && !is_between) || is_full) {
        cutter_break_field(c, "is larger than", CUTTER_KEPT_MAX, " bytes");
    }
}
