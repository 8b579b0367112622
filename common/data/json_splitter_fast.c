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

/* ---- what is dropped ------------------------------------------------------------------------- */

/* Of a container of which nothing is kept, nothing goes out: neither is a name looked up nor a
 * comma written.  Same states as above, which stay in registers; and the bytes at which strings may
 * end are looked for 64 at a time, however short the strings are. */
struct drop {
    const char *p;
    size_t n;
    size_t i;
    enum state state;
    int depth;
    bool in_array; /* the innermost container */
    size_t block;  /* where the 64 bytes begin that `ends` is about; NO_BLOCK: nowhere */
    uint64_t ends;
};
#define NO_BLOCK SIZE_MAX

/* The first byte at or behind `from` that ends a run of plain ones, or n. */
static inline size_t drop_run(struct drop *d, size_t from)
{
#ifdef __SSE2__
    for (;;) {
        size_t block = from & ~(size_t)63;
        if (block + 64 > d->n) {
            break;
        }
        if (block != d->block) {
            d->ends = plain_run_ends64(d->p + block);
            d->block = block;
        }
        uint64_t left = d->ends >> (from - block);
        if (left != 0) {
            return from + (size_t)__builtin_ctzll(left);
        }
        from = block + 64;
    }
#endif
    return from + plain_run(d->p + from, d->n - from);
}

/* A string from its first byte on, in an array with all strings behind it; false: one goes over
 * the end of the bytes, or has an escape. */
static inline bool drop_strings(struct drop *d)
{
    bool closed;
    do {
        size_t to = drop_run(d, d->i + 1);
        closed = to < d->n && d->p[to] == '"';
        d->i = to + closed;
    } while (closed && d->in_array && d->n - d->i > 1 && d->p[d->i] == ',' &&
             d->p[d->i + 1] == '"' && d->i++);
    d->state = closed ? AT_NEXT : IN_STRING;
    return closed;
}

static inline bool drop_scalar(struct drop *d)
{
    while (d->i < d->n && d->p[d->i] >= '0' && d->p[d->i] <= '9') {
        d->i++; /* nearly all of them are numbers */
    }
    while (d->i < d->n && is_scalar_byte((unsigned char)d->p[d->i])) {
        d->i++;
    }
    d->state = d->i < d->n ? AT_NEXT : IN_SCALAR;
    return d->i < d->n;
}

static inline bool drop_close(struct drop *d, const struct json_splitter *c)
{
    if (d->p[d->i] != (d->in_array ? ']' : '}') || d->depth - 1 == c->item_depth) {
        return false;
    }
    d->depth--;
    d->i++;
    d->in_array = c->stack[d->depth - 1].is_array;
    d->state = AT_NEXT;
    return true;
}

static inline bool drop_open(struct drop *d, struct json_splitter *c)
{
    if (d->depth == CUTTER_DEPTH_MAX) {
        return false;
    }
    d->in_array = d->p[d->i++] == '[';
    c->stack[d->depth++] = (struct level){.keep = KEEP_NONE, .is_array = d->in_array};
    d->state = d->in_array ? AT_FIRST_VALUE : AT_FIRST_NAME;
    return true;
}

static inline bool drop_name(struct drop *d)
{
    size_t to = drop_run(d, d->i + 1);
    if (to + 1 >= d->n || d->p[to] != '"' || d->p[to + 1] != ':') {
        return false;
    }
    d->i = to + 2;
    d->state = AT_VALUE;
    return true;
}

static inline bool drop_value(struct drop *d, struct json_splitter *c)
{
    char b = d->p[d->i];
    if (b == '"') {
        return drop_strings(d);
    }
    if (b == '{' || b == '[') {
        return drop_open(d, c);
    }
    if (is_scalar_byte((unsigned char)b)) {
        return drop_scalar(d);
    }
    return d->state == AT_FIRST_VALUE && drop_close(d, c);
}

/* A comma, a name and a value, as far as they come next, or a closing bracket; false as
 * run_token(). */
static inline bool drop_item(struct drop *d, struct json_splitter *c)
{
    if (d->state == AT_NEXT) {
        if (d->p[d->i] != ',') {
            return drop_close(d, c);
        }
        d->i++;
        d->state = d->in_array ? AT_VALUE : AT_NAME;
    }
    if (d->i < d->n && (d->state == AT_NAME || d->state == AT_FIRST_NAME)) {
        bool named = d->p[d->i] == '"' && drop_name(d);
        if (!named) {
            return d->state == AT_FIRST_NAME && drop_close(d, c);
        }
    }
    return d->i == d->n || (d->state <= AT_FIRST_VALUE && drop_value(d, c));
}

/* To the end of the outermost container in which nothing is kept; false as run_token(). */
static bool run_dropped(struct run *r)
{
    struct json_splitter *c = r->c;
    struct drop d = {.p = r->p,
                     .n = r->n,
                     .i = r->i,
                     .state = r->state,
                     .depth = r->depth,
                     .in_array = c->stack[r->depth - 1].is_array,
                     .block = NO_BLOCK};
    int outermost = r->depth;
    while (outermost - 1 > c->item_depth && c->stack[outermost - 2].keep == KEEP_NONE) {
        outermost--;
    }
    bool ok = true;
    while (ok && d.i < d.n && d.depth >= outermost) {
        ok = drop_item(&d, c);
    }
    r->i = d.i;
    r->state = d.state;
    r->depth = d.depth;
    r->value_keep = KEEP_NONE;
    return ok;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

/* One token; false: the whole machine continues from here. */
static inline bool run_token(struct run *r)
{
    struct level *top = &r->c->stack[r->depth - 1];
    if (top->keep == KEEP_NONE) {
        return run_dropped(r);
    }
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
