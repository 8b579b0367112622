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

#define FEW ((size_t)32)

/* The bytes at which strings may end, looked for 64 at a time, however short the strings are, and
 * taken one after the other: a quote that opens is the next of them. */
struct ends {
    size_t block;         /* the 64 bytes in hand begin here */
    uint64_t bits;        /* of them, those that are not taken */
    const uint64_t *next; /* of the block behind it */
};

/* The members of struct json_splitter that the machine uses, in registers. */
struct run {
    struct json_splitter *c;
    struct ends ends;
    const char *p; /* the bytes */
    size_t n;
    size_t last; /* strings end before: two bytes behind each can be looked at */
    size_t i;    /* next one */
    char *out;
    enum state state;
    int depth;
    int value_keep;
};

/* ---- ends of strings ------------------------------------------------------------------------- */

/* The last bytes, less than a block. */
static _noinline_ uint64_t ends_tail(const char *p, size_t n)
{
    char bytes[64] = {0};
    memcpy(bytes, p, n);
    return plain_run_ends64(bytes) & ((UINT64_C(1) << n) - 1);
}

static void fill_blocks(const char *p, size_t blocks, uint64_t *bits)
{
#ifdef PLAIN_RUN_WIDE
    if (plain_run_is_wide()) {
        plain_run_ends_wide(p, blocks, bits);
        return;
    }
#endif
    for (size_t i = 0; i < blocks; i++) {
        bits[i] = plain_run_ends64(p + i * 64);
    }
}

/* The window that begins at `from` and ends at `to`. */
static _noinline_ void ends_fill(struct cutter_ends *ahead, const char *p, size_t from, size_t to)
{
    size_t blocks = (to - from) / 64;
    fill_blocks(p + from, blocks, ahead->bits);
    if ((to - from) % 64 > 0) {
        ahead->bits[blocks] = ends_tail(p + from + blocks * 64, (to - from) % 64);
        blocks++;
    }
    ahead->bits[blocks] = ~UINT64_C(0); /* so that the search ends there */
    ahead->from = from;
    ahead->to = to;
}

/* The next end is the first one from byte i on, which is in the window. */
static inline void ends_seek(struct ends *e, const struct cutter_ends *ahead, size_t i)
{
    e->block = i & ~(size_t)63;
    e->next = ahead->bits + (e->block - ahead->from) / 64;
    e->bits = *e->next++ & ~UINT64_C(0) << (i - e->block);
}

/* Takes the next end: where it is.  From n on, it is none. */
static inline size_t ends_take(struct ends *e)
{
    while (e->bits == 0) {
        e->block += 64;
        e->bits = *e->next++;
    }
    size_t at = e->block + (unsigned)__builtin_ctzll(e->bits);
    e->bits &= e->bits - 1;
    return at;
}

/* From an opening quote, which is the next end, to the closing one; false: an escape, a control
 * byte or `last` comes before. */
static inline bool ends_close(struct ends *e, const char *p, size_t last, size_t *ret)
{
    (void)ends_take(e);
    *ret = ends_take(e);
    return *ret < last && p[*ret] == '"';
}

/* ---- what is kept ---------------------------------------------------------------------------- */

/* Bytes p[from..to) go out.  Most are few, and more may be copied than go out: there is as much
 * room as there are bytes left. */
static inline void out_bytes(struct run *r, size_t from, size_t to)
{
    size_t n = to - from;
    if (n <= FEW && r->n - from >= FEW) {
        memcpy(r->out, r->p + from, FEW);
    } else {
        memcpy(r->out, r->p + from, n);
    }
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
    size_t to;
    if (!ends_close(&r->ends, r->p, r->last, &to) || r->p[to + 1] != ':') {
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
    size_t to;
    bool closed = ends_close(&r->ends, r->p, r->last, &to);
    to = closed ? to + 1 : from + 1 + plain_run(r->p + from + 1, r->n - from - 1);
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

/* ---- what is dropped ------------------------------------------------------------------------- */

/* Of a container of which nothing is kept, nothing goes out: neither is a name looked up nor a
 * comma written.  Same states as above; all of this stays in registers.  The kinds of the open
 * containers are bits, and become levels of the stack where this way ends. */
struct drop {
    struct ends ends;
    const char *p;
    size_t n;
    size_t last;
    size_t i;
    enum state state;
    /* Bit 0: the innermost container is an array; bit 1: the one around it; above the outermost in
     * which nothing is kept a 1, so that 1 alone says that this one is closed. */
    uint64_t kinds;
    uint64_t deepest; /* `kinds` from here on: the stack is full */
};

static inline bool drop_in_array(const struct drop *d)
{
    return (d->kinds & 1) != 0;
}

/* From the opening quote to behind the closing one; false as ends_close(), and nothing was read. */
static inline bool drop_text(struct drop *d)
{
    size_t to;
    if (!ends_close(&d->ends, d->p, d->last, &to)) {
        return false;
    }
    d->i = to + 1;
    return true;
}

/* `"name":`, whole and without escapes. */
static inline bool drop_name(struct drop *d)
{
    size_t name = d->i;
    if (!drop_text(d)) {
        return false;
    }
    if (d->p[d->i] != ':') {
        d->i = name;
        return false;
    }
    d->i++;
    d->state = AT_VALUE;
    return true;
}

/* A string, and what is behind it as long as these are strings, too, of members or elements. */
static inline bool drop_strings(struct drop *d)
{
    for (;;) {
        d->state = AT_VALUE;
        if (!drop_text(d)) {
            return false;
        }
        if (memcmp(d->p + d->i, ",\"", 2) != 0) {
            d->state = AT_NEXT;
            return true;
        }
        d->i++;
        if (drop_in_array(d)) {
            continue;
        }
        d->state = AT_NAME;
        if (!drop_name(d)) {
            return false;
        }
        if (d->p[d->i] != '"') {
            return true;
        }
    }
}

/* How many of eight bytes are digits before the first that is none. */
static inline size_t leading_digits(const char *p)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t w;
    memcpy(&w, p, sizeof w);
    w = le64toh(w);
    uint64_t others = (w & (w + ones * 6) & ones * 0xf0) ^ ones * 0x30; /* 0x3a + 6 is 0x40 */
    return others == 0 ? 8 : (size_t)__builtin_ctzll(others) / 8;
}

static inline bool drop_scalar(struct drop *d)
{
    size_t i = d->i;
    if (d->n - i >= 8) {
        i += leading_digits(d->p + i); /* nearly all of them are numbers */
    }
    while (i < d->n && is_scalar_byte((unsigned char)d->p[i])) {
        i++;
    }
    d->i = i;
    d->state = i < d->n ? AT_NEXT : IN_SCALAR;
    return i < d->n;
}

/* False also behind the outermost container. */
static inline bool drop_close(struct drop *d)
{
    if (d->p[d->i] != (drop_in_array(d) ? ']' : '}')) {
        return false;
    }
    d->kinds >>= 1;
    d->i++;
    d->state = AT_NEXT;
    return d->kinds != 1;
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

/* A value, or a member; of a container its first one, when that begins with a quote. */
static inline bool drop_value(struct drop *d, bool has_name)
{
    for (;;) {
        if (has_name && !drop_name(d)) {
            return false;
        }
        char b = d->p[d->i];
        if (b == '"') {
            return drop_strings(d);
        }
        if ((b | 0x20) != '{') { /* '[', too */
            return is_scalar_byte((unsigned char)b) ? drop_scalar(d)
                                                    : d->state == AT_FIRST_VALUE && drop_close(d);
        }
        if (!drop_open(d, b)) {
            return false;
        }
        if (d->i == d->n || d->p[d->i] != '"') {
            return true;
        }
        has_name = b == '{';
    }
}

/* A comma, a name and a value, as far as they come next, or a closing bracket; false: this way ends
 * here. */
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
    bool has_name = d->state == AT_NAME || d->state == AT_FIRST_NAME;
    if (has_name && d->p[d->i] != '"') {
        return d->state == AT_FIRST_NAME && drop_close(d);
    }
    return drop_value(d, has_name);
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

/* To the end of the outermost container in which nothing is kept; false as run_item(). */
static _noinline_ bool run_dropped(struct run *r)
{
    struct level *stack = r->c->stack;
    int outermost = drop_outermost(r);
    struct drop d = {.ends = r->ends,
                     .p = r->p,
                     .n = r->n,
                     .last = r->last,
                     .i = r->i,
                     .state = r->state,
                     .kinds = 1,
                     .deepest = UINT64_C(1) << (CUTTER_DEPTH_MAX - outermost)};
    for (int at = outermost; at < r->depth; at++) {
        d.kinds = d.kinds << 1 | stack[at].is_array;
    }
    while (d.i < d.n && drop_item(&d)) {
    }
    bool ok = d.kinds == 1;
    r->ends = d.ends;
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

/* ---- items ----------------------------------------------------------------------------------- */

/* A comma, a name and a value, as far as they come next, or a closing bracket; false: the whole
 * machine continues from here. */
static inline bool run_item(struct run *r)
{
    struct level *top = &r->c->stack[r->depth - 1];
    if (top->keep == KEEP_NONE) {
        return r->depth - 1 > r->c->item_depth && run_dropped(r);
    }
    if (r->state == AT_NEXT) {
        if (r->p[r->i] != ',') {
            return run_close(r, top, r->p[r->i]);
        }
        r->i++;
        r->state = top->is_array ? AT_VALUE : AT_NAME;
        if (r->i == r->n) {
            return false;
        }
    }
    if (r->state == AT_NAME || r->state == AT_FIRST_NAME) {
        if (r->p[r->i] != '"') {
            return r->state == AT_FIRST_NAME && run_close(r, top, r->p[r->i]);
        }
        if (!run_name(r, top) || r->i == r->n) {
            return false;
        }
    }
    return r->state <= AT_FIRST_VALUE && run_value(r, top);
}

size_t cutter_run(struct json_splitter *c, const char *p, size_t n, size_t i,
                  struct cutter_ends *ahead)
{
    size_t from = i & ~(CUTTER_WINDOW - 1);
    size_t to = n - from < CUTTER_WINDOW ? n : from + CUTTER_WINDOW;
    if (c->state > AT_NEXT || c->is_nameless || c->item.len + to - i > CUTTER_KEPT_MAX) {
        return i;
    }
    if (i >= ahead->to) {
        ends_fill(ahead, p, from, to);
    }
    str_buf_reserve(&c->item, to - i + 1); /* a comma may have been read before */
    struct run r = {
        .c = c,
        .p = p,
        .n = to,
        .last = to < 2 ? 0 : to - 2,
        .i = i,
        .out = c->item.data + c->item.len,
        .state = c->state,
        .depth = c->depth,
        .value_keep = c->value_keep,
    };
    ends_seek(&r.ends, ahead, i);
    while (r.i < r.n && run_item(&r)) {
    }
    c->item.len = (size_t)(r.out - c->item.data);
    assert(c->item.len < c->item.cap);
    *r.out = '\0';
    c->state = r.state;
    c->depth = r.depth;
    c->value_keep = r.value_keep;
    return r.i;
}
