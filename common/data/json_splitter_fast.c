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

#define AHEAD ((size_t)8) /* blocks of 64 bytes in which ends of strings are looked for at once */

/* Of a container of which nothing is kept, nothing goes out: neither is a name looked up nor a
 * comma written.  Same states as above; all of this stays in registers.  The kinds of the open
 * containers are bits, and become levels of the stack where this way ends.  The bytes at which
 * strings may end are looked for 64 at a time, however short the strings are, and taken one after
 * the other: a quote that opens is the next of them. */
struct drop {
    const char *p;
    size_t n;
    size_t i;
    enum state state;
    /* Bit 0: the innermost container is an array; bit 1: the one around it; above the outermost in
     * which nothing is kept a 1, so that 1 alone says that this one is closed. */
    uint64_t kinds;
    uint64_t deepest; /* `kinds` from here on: the stack is full */
    size_t block;     /* the 64 bytes in hand begin here */
    uint64_t ends;    /* of them, those from `i` on at which a string may end */
    size_t filled;    /* up to here `ahead` says it for other blocks */
    uint64_t *ahead;  /* AHEAD */
};

static inline bool drop_in_array(const struct drop *d)
{
    return (d->kinds & 1) != 0;
}

/* The last bytes, less than a block. */
static _noinline_ uint64_t drop_tail(const char *p, size_t n)
{
    char bytes[64] = {0};
    memcpy(bytes, p, n);
    return plain_run_ends64(bytes) & ((UINT64_C(1) << n) - 1);
}

/* `ends64` is inlined. */
static inline __attribute__((always_inline)) size_t drop_fill_by(const char *p, size_t n, size_t at,
                                                                 uint64_t *ahead,
                                                                 uint64_t (*ends64)(const char *p))
{
    size_t end = at + AHEAD * 64;
    for (; at < end && at + 64 <= n; at += 64) {
        ahead[at / 64 % AHEAD] = ends64(p + at);
    }
    if (at < end && at < n) {
        ahead[at / 64 % AHEAD] = drop_tail(p + at, n - at);
        at += 64;
    }
    return at;
}

#ifdef PLAIN_RUN_WIDE
__attribute__((target("avx2"))) static size_t drop_fill_wide(const char *p, size_t n, size_t at,
                                                             uint64_t *ahead)
{
    return drop_fill_by(p, n, at, ahead, plain_run_ends64_wide);
}
#endif

/* The blocks from `at` on; returns up to where. */
static _noinline_ size_t drop_fill(const char *p, size_t n, size_t at, uint64_t *ahead)
{
#ifdef PLAIN_RUN_WIDE
    if (plain_run_is_wide()) {
        return drop_fill_wide(p, n, at, ahead);
    }
#endif
    return drop_fill_by(p, n, at, ahead, plain_run_ends64);
}

/* Takes the next byte at which a string may end, or returns n. */
static inline size_t drop_end(struct drop *d)
{
    while (d->ends == 0) {
        d->block += 64;
        if (d->block >= d->filled) {
            d->filled = drop_fill(d->p, d->n, d->block, d->ahead);
            if (d->block >= d->filled) {
                return d->n;
            }
        }
        d->ends = d->ahead[d->block / 64 % AHEAD];
    }
    size_t at = d->block + (unsigned)__builtin_ctzll(d->ends);
    d->ends &= d->ends - 1;
    return at;
}

/* From the opening quote at `i` to behind the closing one; false: an escape, a control byte or the
 * end of the bytes comes before, and nothing was read. */
static inline bool drop_text(struct drop *d)
{
    (void)drop_end(d);
    size_t to = drop_end(d);
    if (to == d->n || d->p[to] != '"') {
        return false;
    }
    d->i = to + 1;
    return true;
}

/* A string, in an array with all strings behind it. */
static inline bool drop_strings(struct drop *d)
{
    d->state = AT_VALUE;
    while (drop_text(d)) {
        if (!drop_in_array(d) || d->n - d->i < 2 || d->p[d->i] != ',' || d->p[d->i + 1] != '"') {
            d->state = AT_NEXT;
            return true;
        }
        d->i++;
    }
    return false;
}

static inline bool is_eight_digits(const char *p)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t w;
    memcpy(&w, p, sizeof w);
    return (w & (w + ones * 6) & ones * 0xf0) == ones * 0x30; /* 0x3a + 6 is 0x40 */
}

static inline bool drop_scalar(struct drop *d)
{
    size_t i = d->i;
    while (d->n - i >= 8 && is_eight_digits(d->p + i)) {
        i += 8; /* nearly all of them are numbers */
    }
    while (i < d->n && is_scalar_byte((unsigned char)d->p[i])) {
        i++;
    }
    d->i = i;
    d->state = i < d->n ? AT_NEXT : IN_SCALAR;
    return i < d->n;
}

static inline bool drop_close(struct drop *d)
{
    if (d->p[d->i] != (drop_in_array(d) ? ']' : '}')) {
        return false;
    }
    d->kinds >>= 1;
    d->i++;
    d->state = AT_NEXT;
    return true;
}

static inline bool drop_open(struct drop *d, char bracket)
{
    if (d->kinds >= d->deepest) {
        return false;
    }
    d->kinds = d->kinds << 1 | (bracket == '[');
    d->i++;
    d->state = bracket == '[' ? AT_FIRST_VALUE : AT_FIRST_NAME;
    return true;
}

static inline bool drop_value(struct drop *d)
{
    char b = d->p[d->i];
    if (b == '"') {
        return drop_strings(d);
    }
    if ((b | 0x20) == '{') { /* '[', too */
        return drop_open(d, b);
    }
    if (is_scalar_byte((unsigned char)b)) {
        return drop_scalar(d);
    }
    return d->state == AT_FIRST_VALUE && drop_close(d);
}

/* `"name":`, whole and without escapes. */
static inline bool drop_name(struct drop *d)
{
    size_t name = d->i;
    if (!drop_text(d)) {
        return false;
    }
    if (d->n - d->i < 2 || d->p[d->i] != ':') {
        d->i = name;
        return false;
    }
    d->i++;
    d->state = AT_VALUE;
    return true;
}

/* A comma, a name and a value, as far as they come next, or a closing bracket; false as
 * run_token(). */
static inline bool drop_item(struct drop *d)
{
    if (d->state == AT_NEXT) {
        if (d->p[d->i] != ',') {
            return drop_close(d);
        }
        d->i++;
        d->state = drop_in_array(d) ? AT_VALUE : AT_NAME;
        if (d->i == d->n) {
            return false;
        }
    }
    if (d->state == AT_NAME || d->state == AT_FIRST_NAME) {
        if (d->p[d->i] != '"') {
            return d->state == AT_FIRST_NAME && drop_close(d);
        }
        if (!drop_name(d)) {
            return false;
        }
    }
    return drop_value(d);
}

/* The outermost level of the stack in which nothing is kept. */
static inline int drop_outermost(const struct run *r)
{
    int at = r->depth - 1;
    while (at - 1 > r->c->item_depth && r->c->stack[at - 1].keep == KEEP_NONE) {
        at--;
    }
    return at;
}

/* To the end of the outermost container in which nothing is kept; false as run_token(). */
static _noinline_ bool run_dropped(struct run *r)
{
    struct level *stack = r->c->stack;
    int outermost = drop_outermost(r);
    uint64_t ahead[AHEAD];
    struct drop d = {.p = r->p,
                     .n = r->n,
                     .i = r->i,
                     .state = r->state,
                     .kinds = 1,
                     .deepest = UINT64_C(1) << (CUTTER_DEPTH_MAX - outermost),
                     .block = r->i & ~(size_t)63,
                     .ahead = ahead};
    d.filled = drop_fill(d.p, d.n, d.block, ahead);
    d.ends = ahead[d.block / 64 % AHEAD] & ~UINT64_C(0) << (d.i - d.block);
    for (int at = outermost; at < r->depth; at++) {
        d.kinds = d.kinds << 1 | stack[at].is_array;
    }
    bool ok = true;
    while (ok && d.i < d.n && d.kinds != 1) {
        ok = drop_item(&d);
    }
    r->i = d.i;
    r->state = d.state;
    r->depth = outermost + 63 - __builtin_clzll(d.kinds);
    r->value_keep = KEEP_NONE;
    for (int at = r->depth - 1; at >= outermost; at--) {
        stack[at] = (struct level){.keep = KEEP_NONE, .is_array = (d.kinds & 1) != 0};
        d.kinds >>= 1;
    }
    return ok;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

/* One token; false: the whole machine continues from here. */
static inline bool run_token(struct run *r)
{
    struct level *top = &r->c->stack[r->depth - 1];
    if (top->keep == KEEP_NONE) {
        return r->depth - 1 > r->c->item_depth && run_dropped(r);
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
