/* SPDX-License-Identifier: Apache-2.0 */
/* json_splitter_fast.c: the cutter's short way through what is in order.
 *
 * Nearly all bytes of a list go through here: inside an item, token by token instead of byte by
 * byte, kept or dropped.  Same states as the whole machine (json_splitter.c), which takes over at
 * the item's end, at blanks, at escapes, where a token goes over the end of the bytes, and at
 * whatever is wrong: this way says nothing, it stops in front of it.  What goes out is never more
 * than what was read, so room for it is made once per call.  Pure. */
#include "common/data/json_splitter_internal.h"

#include <assert.h>
#include <string.h>

#include "common/base/plain_run.h"

#define WINDOW ((size_t)8 << 10) /* bytes per call: so much room is made */

/* The members of struct json_splitter that the machine uses, in registers. */
struct run {
    struct json_splitter *c;
    const char *p; /* the bytes */
    size_t n;
    size_t i; /* next one */
    char *out;
    enum state state;
    int depth;
    int value_keep;
};

/* Bytes p[from..to) go out. */
static inline void out_bytes(struct run *r, size_t from, size_t to)
{
    size_t n = to - from;
    memcpy(r->out, r->p + from, n);
    r->out += n;
}

static inline void out_separator(struct run *r, struct level *top)
{
    top->member_at = (size_t)(r->out - r->c->item.data);
    top->had_output = top->has_output;
    if (top->has_output) {
        *r->out++ = ',';
    }
    top->has_output = true;
}

/* `"name":`, whole and without escapes. */
static inline bool run_name(struct run *r, struct level *top)
{
    size_t from = r->i + 1;
    size_t to = from + plain_run(r->p + from, r->n - from);
    if (to + 1 >= r->n || r->p[to] != '"' || r->p[to + 1] != ':') {
        return false;
    }
    r->value_keep =
        top->keep < 0 ? top->keep : cutter_keep_of(r->c, top->keep, r->p + from, to - from);
    if (r->value_keep != KEEP_NONE) {
        out_separator(r, top);
        out_bytes(r, r->i, to + 2);
    }
    r->i = to + 2;
    r->state = AT_VALUE;
    return true;
}

/* From the opening quote; what is behind an escape or the end of the bytes is
 * the whole machine's. */
static inline bool run_string(struct run *r)
{
    size_t from = r->i;
    size_t to = from + 1 + plain_run(r->p + from + 1, r->n - from - 1);
    bool closed = to < r->n && r->p[to] == '"';
    to += closed;
    if (r->value_keep != KEEP_NONE) {
        out_bytes(r, from, to);
    }
    r->i = to;
    r->state = closed ? AT_NEXT : IN_STRING;
    return closed;
}

static inline bool run_scalar(struct run *r)
{
    size_t from = r->i;
    while (r->i < r->n && is_scalar_byte((unsigned char)r->p[r->i])) {
        r->i++;
    }
    if (r->value_keep != KEEP_NONE) {
        out_bytes(r, from, r->i);
    }
    r->state = r->i < r->n ? AT_NEXT : IN_SCALAR;
    return r->i < r->n;
}

static inline void run_open(struct run *r, char bracket)
{
    r->c->stack[r->depth++] = (struct level){.keep = r->value_keep, .is_array = bracket == '['};
    if (r->value_keep != KEEP_NONE) {
        *r->out++ = bracket;
    }
    r->i++;
    r->state = bracket == '[' ? AT_FIRST_VALUE : AT_FIRST_NAME;
}

static inline bool run_close(struct run *r, const struct level *top, char bracket)
{
    if (bracket != (top->is_array ? ']' : '}') || r->depth - 1 == r->c->item_depth) {
        return false;
    }
    if (top->keep != KEEP_NONE) {
        *r->out++ = bracket;
    }
    r->depth--;
    r->i++;
    r->state = AT_NEXT;
    return true;
}

static inline bool run_value(struct run *r, struct level *top)
{
    char b = r->p[r->i];
    if (b == ']' && r->state == AT_FIRST_VALUE) {
        return run_close(r, top, b);
    }
    bool opens = b == '{' || b == '[';
    if (!opens && b != '"' && !is_scalar_byte((unsigned char)b)) {
        return false;
    }
    if (opens && r->depth == CUTTER_DEPTH_MAX) {
        return false;
    }
    if (top->is_array) {
        r->value_keep = top->keep;
        if (top->keep != KEEP_NONE) {
            out_separator(r, top);
        }
    }
    if (opens) {
        run_open(r, b);
        return true;
    }
    return b == '"' ? run_string(r) : run_scalar(r);
}

static inline bool run_next(struct run *r, const struct level *top)
{
    if (r->p[r->i] != ',') {
        return run_close(r, top, r->p[r->i]);
    }
    r->i++;
    r->state = top->is_array ? AT_VALUE : AT_NAME;
    return true;
}

/* One token; false: the whole machine continues from here. */
static inline bool run_token(struct run *r)
{
    struct level *top = &r->c->stack[r->depth - 1];
    switch (r->state) {
    case AT_FIRST_NAME:
    case AT_NAME:
        if (r->p[r->i] == '"') {
            return run_name(r, top);
        }
        return r->state == AT_FIRST_NAME && run_close(r, top, r->p[r->i]);
    case AT_FIRST_VALUE:
    case AT_VALUE:
        return run_value(r, top);
    case AT_NEXT:
        return run_next(r, top);
    default:
        return false;
    }
}

size_t cutter_run(struct json_splitter *c, const char *p, size_t n)
{
    struct run r = {
        .c = c,
        .p = p,
        .n = n < WINDOW ? n : WINDOW,
        .state = c->state,
        .depth = c->depth,
        .value_keep = c->value_keep,
    };
    if (c->state > AT_NEXT || c->is_nameless || c->item.len + r.n > CUTTER_KEPT_MAX) {
        return 0;
    }
    str_buf_reserve(&c->item, r.n + 1); /* a comma may have been read before */
    r.out = c->item.data + c->item.len;
    while (r.i < r.n && run_token(&r)) {
    }
    c->item.len = (size_t)(r.out - c->item.data);
    assert(c->item.len < c->item.cap);
    *r.out = '\0';
    c->state = r.state;
    c->depth = r.depth;
    c->value_keep = r.value_keep;
    return r.i;
}
