/* SPDX-License-Identifier: Apache-2.0 */
/* gce_splitter.c: cuts the items out of a list answer while it arrives (gce_api.h, struct
 * gce_splitter).
 *
 * Looks at brackets and quotes only; whether an item is good JSON is found when it is parsed.
 * Memory: one item, and what stands around the items. */
#include "common/base/str.h"
#include "providers/gce/api/gce_api.h"

#include <string.h>

#define ITEM_MAX   (32u * 1024 * 1024)
#define AROUND_MAX (256u * 1024)

void gce_splitter_init(struct gce_splitter *c, void (*item)(void *arg, const char *text, size_t n),
                       void *arg)
{
    *c = (struct gce_splitter){.item = item, .arg = arg};
}

void gce_splitter_reset(struct gce_splitter *c)
{
    str_buf_reset(&c->text);
    str_buf_reset(&c->around);
    c->depth = c->items_depth = 0;
    c->in_string = c->escaped = c->failed = false;
}

void gce_splitter_done(struct gce_splitter *c)
{
    str_buf_done(&c->text);
    str_buf_done(&c->around);
}

const char *gce_splitter_rest(const struct gce_splitter *c)
{
    return str_buf_text(&c->around);
}

static size_t back_over_blanks(const char *s, size_t n)
{
    while (n > 0 && strchr(" \t\r\n", s[n - 1]) != NULL) {
        n--;
    }
    return n;
}

/* Does what was read so far end in this member's name and a colon? */
static bool follows_name(const struct gce_splitter *c, const char *name)
{
    const char *s = str_buf_text(&c->around);
    size_t len = strlen(name);
    size_t n = back_over_blanks(s, c->around.len);
    if (n == 0 || s[n - 1] != ':') {
        return false;
    }
    n = back_over_blanks(s, n - 1);
    return n >= len + 2 && s[n - 1] == '"' && s[n - len - 2] == '"' &&
           memcmp(s + n - len - 1, name, len) == 0;
}

static bool opens_items(const struct gce_splitter *c)
{
    return c->scoped == NULL ? c->depth == 1 && follows_name(c, "items")
                             : c->depth == 3 && follows_name(c, c->scoped);
}

/* Inside an item the depth is more than that of the array. */
static void bracket(struct gce_splitter *c, char ch)
{
    bool open = ch == '{' || ch == '[';
    if (c->items_depth == 0 && ch == '[' && opens_items(c)) {
        str_append_c(&c->around, ch);
        c->items_depth = ++c->depth;
        return;
    }
    c->depth += open ? 1 : -1;
    if (c->depth < c->items_depth) {
        c->items_depth = 0;
    }
    bool inside = c->items_depth > 0 && c->depth >= c->items_depth + (open ? 1 : 0);
    str_append_c(inside ? &c->text : &c->around, ch);
    if (inside && c->depth == c->items_depth) {
        c->item(c->arg, c->text.data, c->text.len);
        str_buf_reset(&c->text);
    }
}

static void others(struct gce_splitter *c, const char *bytes, size_t n)
{
    if (c->items_depth > 0 && c->depth == c->items_depth) {
        return; /* commas and blanks between items */
    }
    str_append_n(c->items_depth > 0 ? &c->text : &c->around, bytes, n);
}

static void other(struct gce_splitter *c, char ch)
{
    others(c, &ch, 1);
}

/* How many bytes from the start do not matter to the cutter, wherever it is. */
static size_t plain_run(const struct gce_splitter *c, const char *bytes, size_t n)
{
    size_t i = 0;
    while (i < n && (c->in_string ? bytes[i] != '"' && bytes[i] != '\\'
                                  : strchr("{}[]\"", bytes[i]) == NULL || bytes[i] == '\0')) {
        i++;
    }
    return i;
}

static void feed_one(struct gce_splitter *c, char ch)
{
    if (c->in_string) {
        other(c, ch);
        c->in_string = c->escaped || ch != '"';
        c->escaped = !c->escaped && ch == '\\';
    } else if (ch == '{' || ch == '[' || ch == '}' || ch == ']') {
        bracket(c, ch);
    } else {
        c->in_string = ch == '"';
        other(c, ch);
    }
}

bool gce_splitter_feed(struct gce_splitter *c, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n && !c->failed;) {
        size_t run = c->escaped ? 0 : plain_run(c, bytes + i, n - i);
        if (run > 0) {
            others(c, bytes + i, run);
        } else {
            feed_one(c, bytes[i]);
            run = 1;
        }
        i += run;
        c->failed = c->text.len > ITEM_MAX || c->around.len > AROUND_MAX;
    }
    return !c->failed;
}
