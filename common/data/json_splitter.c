/* SPDX-License-Identifier: Apache-2.0 */
/* json_splitter.c: a byte-level state machine with a small stack (see json_splitter.h).
 *
 * What is kept is decided by a tree of wanted names, built once: each open container remembers
 * which of its nodes it stands at, or that everything or nothing below it is kept.  A member's name
 * is held back until it is complete, because only then is it known whether it goes out.
 * Inside an item, what is in order takes a shorter way (json_splitter_fast.c).
 * Pure but for the callback; no I/O. */
#include "common/data/json_splitter.h"

#include <string.h>

#include "common/base/plain_run.h"
#include "common/data/json_splitter_internal.h"

#define NAME_MAX_BYTES ((size_t)512) /* longer member names are kept only where all is kept */
#define BUFFER_KEEP    ((size_t)256 << 10)

/* --- names ------------------------------------------------------------------------------------ */

static int node_new(struct json_splitter *c, const char *name, size_t len)
{
    if (c->n_nodes == c->cap_nodes) {
        c->cap_nodes = c->cap_nodes == 0 ? 64 : c->cap_nodes * 2;
        c->nodes = xrealloc(c->nodes, (size_t)c->cap_nodes * sizeof *c->nodes);
    }
    c->nodes[c->n_nodes] =
        (struct name_node){.name = name, .len = len, .first_child = -1, .sibling = -1};
    return c->n_nodes++;
}

static int node_child(const struct json_splitter *c, int node, const char *name, size_t len)
{
    for (int i = c->nodes[node].first_child; i >= 0; i = c->nodes[i].sibling) {
        if (c->nodes[i].len == len && memcmp(c->nodes[i].name, name, len) == 0) {
            return i;
        }
    }
    return -1;
}

static int add_child(struct json_splitter *c, int node, const char *name, size_t len)
{
    int child = node_new(c, name, len);
    int *at = &c->nodes[node].first_child;
    while (*at >= 0) {
        at = &c->nodes[*at].sibling;
    }
    *at = child;
    c->nodes[node].marks |= cutter_mark(name, len);
    return child;
}

static int add_path(struct json_splitter *c, int node, const char *path)
{
    while (path != NULL && *path != '\0') {
        size_t len = strcspn(path, ".");
        int child = node_child(c, node, path, len);
        if (child < 0) {
            child = add_child(c, node, path, len);
        }
        node = child;
        path += len;
        path += *path == '.';
    }
    return node;
}

static void add_paths(struct json_splitter *c, int node, const char *const *paths)
{
    for (size_t i = 0; paths != NULL && paths[i] != NULL; i++) {
        (void)add_path(c, node, paths[i]);
    }
}

struct json_splitter *json_splitter_new(const struct cutter_args *args)
{
    struct json_splitter *c = xcalloc(1, sizeof *c);
    c->args = *args;
    int item = node_new(c, "", 0);
    int head = node_new(c, "", 0);
    add_paths(c, add_path(c, item, args->prefix), args->members);
    add_paths(c, args->mode == CUTTER_LIST ? head : item, args->more_members);
    json_splitter_reset(c);
    return c;
}

void json_splitter_free(struct json_splitter *c)
{
    if (c != NULL) {
        free(c->nodes);
        str_buf_done(&c->name);
        str_buf_done(&c->item);
        str_buf_done(&c->head);
        free(c);
    }
}

void json_splitter_reset(struct json_splitter *c)
{
    c->state = AT_TOP;
    c->depth = 0;
    c->in_item = false;
    c->is_nameless = false;
    c->broken[0] = '\0';
    c->deep = 0;
    c->at = 0;
    c->item_at = 0;
    c->n_items = 0;
    c->has_items_member = false;
    c->items_next = false;
    c->list_done = false;
    str_buf_reset(&c->name);
    str_buf_reset(&c->item);
    str_buf_reset(&c->head);
}

bool json_splitter_at_boundary(const struct json_splitter *c)
{
    return c->state == AT_TOP && (c->args.mode == CUTTER_STREAM || c->list_done);
}

size_t json_splitter_count(const struct json_splitter *c)
{
    return c->n_items;
}

const char *json_splitter_head(const struct json_splitter *c, size_t *ret_n)
{
    *ret_n = c->head.len;
    return str_buf_text(&c->head);
}

/* --- output ----------------------------------------------------------------------------------- */

static bool is_kept(const struct json_splitter *c)
{
    return c->value_keep != KEEP_NONE;
}

static void put(struct json_splitter *c, const char *bytes, size_t n)
{
    str_append_n(c->in_item ? &c->item : &c->head, bytes, n);
}

/* A comma, unless this is the first that goes out of its container. */
static void put_separator(struct json_splitter *c)
{
    struct level *top = c->depth > 0 ? &c->stack[c->depth - 1] : NULL;
    bool is_item_itself = c->in_item && c->depth == c->item_depth;
    if (top != NULL && !is_item_itself) {
        top->member_at = c->item.len;
        top->had_output = top->has_output;
        if (top->has_output) {
            put(c, ",", 1);
        }
        top->has_output = true;
    }
}

static int fail(struct json_splitter *c, struct err *err, const char *what, unsigned char got)
{
    c->state = BROKEN;
    if (got > 0x20 && got < 0x7f) {
        return err_set(err, ERR_INVALID, "byte %zu: %s, got '%c'", c->at, what, got);
    }
    return err_set(err, ERR_INVALID, "byte %zu: %s, got 0x%02x", c->at, what, got);
}

static int fail_cap(struct json_splitter *c, struct err *err, const char *what, size_t cap)
{
    c->state = BROKEN;
    return err_set(err, ERR_INVALID, "byte %zu: %s %zu", c->at, what, cap);
}

/* --- values ----------------------------------------------------------------------------------- */

static bool item_starts_here(const struct json_splitter *c)
{
    if (c->in_item) {
        return false;
    }
    if (c->args.mode == CUTTER_STREAM) {
        return c->depth == 0;
    }
    return c->depth == 2 && c->stack[1].is_items;
}

static void begin_item(struct json_splitter *c)
{
    c->in_item = true;
    c->item_depth = c->depth;
    c->item_at = c->at;
    c->is_nameless = false;
    c->broken[0] = '\0';
    c->value_keep = c->nodes[ROOT_ITEM].first_child < 0 ? KEEP_ALL : ROOT_ITEM;
    str_buf_reset(&c->item);
}

static int check_caps(struct json_splitter *c, struct err *err)
{
    if (c->in_item && c->at - c->item_at > CUTTER_RAW_MAX) {
        return fail_cap(c, err, "one item is larger than", CUTTER_RAW_MAX);
    }
    if (c->head.len > CUTTER_HEAD_MAX) {
        return fail_cap(c, err, "the list's head is larger than", CUTTER_HEAD_MAX);
    }
    return ERR_OK;
}

static int end_item(struct json_splitter *c, struct err *err)
{
    int rc = check_caps(c, err);
    if (rc != ERR_OK) {
        return rc;
    }
    cutter_check_item(c);
    str_buf_reserve(&c->item, 1); /* there is a text in any case */
    c->in_item = false;
    c->n_items++;
    const struct cutter_item item = {
        .text = c->item.data,
        .n = c->item.len,
        .broken = c->broken[0] != '\0' ? c->broken : NULL,
    };
    bool go_on = c->args.on_item(c->args.arg, &item);
    if (c->item.cap > BUFFER_KEEP) {
        str_buf_done(&c->item);
    }
    if (!go_on) {
        c->state = BROKEN;
        return err_set(err, ERR_CANCELLED, "stopped by the reader");
    }
    return ERR_OK;
}

/* A value is complete, whatever it was. */
static int end_value(struct json_splitter *c, struct err *err)
{
    c->state = c->depth == 0 ? AT_TOP : AT_NEXT;
    if (c->depth == 0 && c->args.mode == CUTTER_LIST) {
        c->list_done = true;
    }
    return c->in_item && c->depth == c->item_depth ? end_item(c, err) : ERR_OK;
}

/* A container below the stack: nothing of it is kept. */
static int open_deep(struct json_splitter *c, struct err *err)
{
    if (is_kept(c) && !c->in_item) {
        return fail_cap(c, err, "nested deeper than", CUTTER_DEPTH_MAX);
    }
    if (is_kept(c)) {
        cutter_break_field(c, "is nested deeper than", CUTTER_DEPTH_MAX, " levels");
    }
    c->deep = 1;
    c->state = IN_DEEP;
    return ERR_OK;
}

static int open_container(struct json_splitter *c, char bracket, struct err *err)
{
    if (c->depth == CUTTER_DEPTH_MAX) {
        return open_deep(c, err);
    }
    c->stack[c->depth++] = (struct level){.keep = c->value_keep, .is_array = bracket == '['};
    if (is_kept(c)) {
        put(c, &bracket, 1);
    }
    c->state = bracket == '[' ? AT_FIRST_VALUE : AT_FIRST_NAME;
    return ERR_OK;
}

static int close_container(struct json_splitter *c, char bracket, struct err *err)
{
    const struct level *top = &c->stack[c->depth - 1];
    if (top->is_array != (bracket == ']')) {
        return fail(c, err, "want the other kind of bracket", (unsigned char)bracket);
    }
    if (top->keep != KEEP_NONE && !top->is_items) {
        put(c, &bracket, 1);
    }
    c->depth--;
    return end_value(c, err);
}

/* The value of the list's "items": its brackets are not passed on. */
static int open_items(struct json_splitter *c, unsigned char b, struct err *err)
{
    c->items_next = false;
    c->value_keep = KEEP_NONE;
    if (b == 'n') {
        c->state = IN_SCALAR; /* null: an empty list */
        return ERR_OK;
    }
    if (b != '[') {
        return fail(c, err, "want an array of items", b);
    }
    c->stack[c->depth++] = (struct level){.keep = KEEP_NONE, .is_array = true, .is_items = true};
    c->state = AT_FIRST_VALUE;
    return ERR_OK;
}

/* Settles what is kept of the value that begins here, and whether an item begins with it. */
static void place_value(struct json_splitter *c)
{
    bool in_array = c->depth > 0 && c->stack[c->depth - 1].is_array;
    if (c->depth == 0) {
        c->value_keep = ROOT_HEAD;
    } else if (in_array) {
        c->value_keep = c->stack[c->depth - 1].keep;
    }
    if (item_starts_here(c)) {
        begin_item(c);
    } else if (in_array && is_kept(c)) {
        put_separator(c);
    }
}

static int begin_value(struct json_splitter *c, unsigned char b, struct err *err)
{
    if (c->depth == 0 && b != '{') {
        return fail(c, err, "want a JSON object", b);
    }
    if (c->items_next) {
        return open_items(c, b, err);
    }
    place_value(c);
    if (b == '{' || b == '[') {
        return open_container(c, (char)b, err);
    }
    if (b != '"' && !is_scalar_byte(b)) {
        return fail(c, err, "want a value", b);
    }
    c->state = b == '"' ? IN_STRING : IN_SCALAR;
    if (is_kept(c)) {
        put(c, (const char *)&b, 1);
    }
    return ERR_OK;
}

/* --- names of members ------------------------------------------------------------------------- */

static void begin_name(struct json_splitter *c)
{
    str_buf_reset(&c->name);
    c->name_len = 0;
    c->name_escaped = false;
    c->state = IN_NAME;
}

static void add_name(struct json_splitter *c, const char *bytes, size_t n)
{
    c->name_len += n;
    if (c->stack[c->depth - 1].keep == KEEP_NONE) {
        return;
    }
    size_t cap = c->stack[c->depth - 1].keep == KEEP_ALL ? CUTTER_NAME_MAX : NAME_MAX_BYTES;
    if (c->name.len + n <= cap) {
        str_append_n(&c->name, bytes, n);
    }
}

/* The byte that an escape stands for, and in *p where the text continues; 0: none of ASCII. */
static unsigned char escaped_byte(const char **p)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meaning[] = "\"\\/\b\f\n\r\t";
    const char *at = **p == '\0' ? NULL : strchr(letters, **p);
    char digits[5] = "";
    if (at != NULL) {
        (*p)++;
        return (unsigned char)meaning[at - letters];
    }
    if (**p != 'u' || strspn(*p + 1, "0123456789abcdefABCDEF") < 4) {
        return 0;
    }
    memcpy(digits, *p + 1, 4);
    *p += 5;
    unsigned long rune = strtoul(digits, NULL, 16);
    return rune < 0x80 ? (unsigned char)rune : 0;
}

/* Wanted names are ASCII: an escape that is none of it is the name of something else. */
static void unescape(const char *name, struct str_buf *ret)
{
    const char *p = name;
    while (*p != '\0') {
        unsigned char b = (unsigned char)*p++;
        if (b == '\\') {
            b = escaped_byte(&p);
        }
        str_append_c(ret, b == 0 ? '?' : (char)b);
    }
}

static bool is_name(const struct json_splitter *c, const char *text)
{
    return c->name.len == c->name_len && str_eq(str_buf_text(&c->name), text);
}

/* The treatment of this name's value. */
static int keep_of_name(const struct json_splitter *c)
{
    int keep = c->stack[c->depth - 1].keep;
    if (keep < 0) {
        return keep;
    }
    if (c->name.len != c->name_len) {
        return KEEP_NONE;
    }
    struct str_buf plain _cleanup_(str_buf_done) = STR_BUF_INIT;
    if (c->name_escaped) {
        /* seldom: the parser says what it means, here it is known whether it is wanted */
        unescape(str_buf_text(&c->name), &plain);
        return cutter_keep_of(c, keep, str_buf_text(&plain), plain.len);
    }
    return cutter_keep_of(c, keep, str_buf_text(&c->name), c->name.len);
}

/* A name that does not fit, where all is kept. */
static int long_name(struct json_splitter *c, struct err *err)
{
    if (!c->in_item) {
        return fail_cap(c, err, "a member's name is longer than", CUTTER_NAME_MAX);
    }
    if (cutter_is_below_field(c)) {
        cutter_break_field(c, "has a member name that is longer than", CUTTER_NAME_MAX, " bytes");
    }
    cutter_note_broken(c, NULL, "has a member name that is longer than", CUTTER_NAME_MAX, " bytes");
    c->value_keep = KEEP_NONE;
    return ERR_OK;
}

static int end_name(struct json_splitter *c, struct err *err)
{
    c->state = AT_COLON;
    bool is_list = c->args.mode == CUTTER_LIST && c->depth == 1;
    if (is_list && !c->name_escaped && is_name(c, "items")) {
        if (c->has_items_member) {
            return fail_cap(c, err, "\"items\" comes twice in one list, after", c->n_items);
        }
        c->has_items_member = true;
        c->items_next = true;
        return ERR_OK;
    }
    if (c->stack[c->depth - 1].keep == KEEP_ALL && c->name.len != c->name_len) {
        return long_name(c, err);
    }
    c->value_keep = keep_of_name(c);
    if (is_kept(c)) {
        put_separator(c);
        put(c, "\"", 1);
        put(c, str_buf_text(&c->name), c->name.len);
        put(c, "\":", 2);
    }
    return ERR_OK;
}

/* --- bytes ------------------------------------------------------------------------------------ */

static bool is_blank(unsigned char b)
{
    return b == ' ' || b == '\n' || b == '\r' || b == '\t';
}

static int structural(struct json_splitter *c, unsigned char b, struct err *err)
{
    switch (c->state) {
    case AT_TOP:
        if (c->list_done) {
            return fail(c, err, "want nothing behind the list", b);
        }
        return begin_value(c, b, err);
    case AT_VALUE:
        return begin_value(c, b, err);
    case AT_FIRST_VALUE:
        return b == ']' ? close_container(c, ']', err) : begin_value(c, b, err);
    case AT_FIRST_NAME:
    case AT_NAME:
        if (b == '"') {
            begin_name(c);
            return ERR_OK;
        }
        return b == '}' && c->state == AT_FIRST_NAME ? close_container(c, '}', err)
                                                     : fail(c, err, "want a member's name", b);
    case AT_COLON:
        c->state = AT_VALUE;
        return b == ':' ? ERR_OK : fail(c, err, "want a colon", b);
    case AT_NEXT:
        if (b == ',') {
            c->state = c->stack[c->depth - 1].is_array ? AT_VALUE : AT_NAME;
            return ERR_OK;
        }
        return b == '}' || b == ']' ? close_container(c, (char)b, err)
                                    : fail(c, err, "want a comma or a closing bracket", b);
    default:
        return fail(c, err, "want no more bytes", b);
    }
}

/* --- text and structure ----------------------------------------------------------------------- */

/* Inside a string or a name.  Returns in *ret_used how many bytes were read. */
static int in_text(struct json_splitter *c, const char *p, size_t n, size_t *ret_used,
                   struct err *err)
{
    bool name = c->state == IN_NAME || c->state == IN_NAME_ESCAPE;
    bool escape = c->state == IN_ESCAPE || c->state == IN_NAME_ESCAPE;
    size_t run = escape ? 1 : plain_run(p, n);
    unsigned char b = (unsigned char)p[0];
    if ((run == 0 || escape) && b < 0x20) {
        return fail(c, err, "want no control byte inside a string", b);
    }
    *ret_used = run == 0 ? 1 : run;
    bool closes = run == 0 && b == '"';
    if (name && closes) {
        return end_name(c, err);
    }
    if (name) {
        c->name_escaped |= run == 0 || escape;
        add_name(c, p, *ret_used);
    } else if (is_kept(c)) {
        put(c, p, *ret_used);
    }
    if (escape) {
        c->state = name ? IN_NAME : IN_STRING;
    } else if (run == 0 && !closes) {
        c->state = name ? IN_NAME_ESCAPE : IN_ESCAPE;
    }
    return closes ? end_value(c, err) : ERR_OK;
}

/* Below the stack: strings and the number of brackets.  Always reads something. */
static int in_deep(struct json_splitter *c, const char *p, size_t n, size_t *ret_used,
                   struct err *err)
{
    size_t i = 0;
    while (i < n && c->deep > 0) {
        size_t run = c->state == IN_DEEP_STRING ? plain_run(p + i, n - i) : 0;
        i += run;
        if (i == n) {
            break;
        }
        unsigned char b = (unsigned char)p[i++];
        if (c->state != IN_DEEP && b < 0x20) {
            return fail(c, err, "want no control byte inside a string", b);
        }
        if (c->state == IN_DEEP_ESCAPE) {
            c->state = IN_DEEP_STRING;
        } else if (c->state == IN_DEEP_STRING) {
            c->state = b == '"' ? IN_DEEP : IN_DEEP_ESCAPE; /* what else ends a run */
        } else if (b == '"') {
            c->state = IN_DEEP_STRING;
        } else if (b == '{' || b == '[') {
            c->deep++;
        } else if (b == '}' || b == ']') {
            c->deep--;
        } else if (!is_blank(b) && !is_scalar_byte(b) && b != ',' && b != ':') {
            return fail(c, err, "want a value", b);
        }
    }
    *ret_used = i;
    return c->deep > 0 ? ERR_OK : end_value(c, err);
}

static int step(struct json_splitter *c, const char *p, size_t n, size_t *ret_used, struct err *err)
{
    unsigned char b = (unsigned char)p[0];
    if (c->state >= IN_STRING && c->state <= IN_NAME_ESCAPE) {
        return in_text(c, p, n, ret_used, err);
    }
    if (c->state >= IN_DEEP && c->state <= IN_DEEP_ESCAPE) {
        return in_deep(c, p, n, ret_used, err);
    }
    *ret_used = 1;
    if (c->state == IN_SCALAR) {
        if (is_scalar_byte(b)) {
            if (is_kept(c)) {
                put(c, p, 1);
            }
            return ERR_OK;
        }
        *ret_used = 0; /* the byte belongs to what follows */
        return end_value(c, err);
    }
    return is_blank(b) && c->state != BROKEN ? ERR_OK : structural(c, b, err);
}

int json_splitter_feed(struct json_splitter *c, const char *bytes, size_t n, struct err *err)
{
    struct cutter_ends ahead;
    ahead.from = 0;
    ahead.to = 0;
    size_t i = 0;
    while (i < n) {
        if (cutter_is_inside(c)) {
            size_t to = cutter_run(c, bytes, n, i, &ahead);
            c->at += to - i;
            i = to;
            if (i == n) {
                break;
            }
        }
        size_t used = 0;
        int rc = step(c, bytes + i, n - i, &used, err);
        if (rc != ERR_OK) {
            return rc;
        }
        cutter_check_item(c);
        i += used;
        c->at += used;
    }
    return check_caps(c, err);
}
