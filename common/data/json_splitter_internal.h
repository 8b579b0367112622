/* SPDX-License-Identifier: Apache-2.0 */
/* json_splitter_internal.h: the state that the cutter's two ways over bytes share.
 *
 *   json_splitter.c        the whole machine: every state, every error, everything that is kept
 *   json_splitter_fast.c   its short way through what is in order
 *   json_splitter_caps.c   fields that are too much */
#ifndef TRIMTAB_KUBE_JSON_SPLITTER_INTERNAL_H
#define TRIMTAB_KUBE_JSON_SPLITTER_INTERNAL_H

#include <string.h>

#include "common/base/str.h"
#include "common/data/json_splitter.h"

#define CUTTER_BROKEN_MAX 256

/* Instead of a node of the tree of names. */
#define KEEP_ALL  (-1)
#define KEEP_NONE (-2)
/* Its first nodes. */
#define ROOT_ITEM 0
#define ROOT_HEAD 1

enum state {
    AT_VALUE = 0,   /* a value must come */
    AT_FIRST_VALUE, /* behind '[': a value or ']' */
    AT_FIRST_NAME,  /* behind '{': a name or '}' */
    AT_NAME,        /* behind ',' in an object */
    AT_COLON,
    AT_NEXT, /* behind a value: ',' or the end of the container */
    AT_TOP,  /* between values of a stream, or before or behind the list */
    IN_STRING,
    IN_ESCAPE,
    IN_NAME,
    IN_NAME_ESCAPE,
    IN_SCALAR, /* a number, true, false or null */
    IN_DEEP,   /* below the stack, where everything is dropped */
    IN_DEEP_STRING,
    IN_DEEP_ESCAPE,
    BROKEN,
};

/* One name of the tree; children of a node form a list in the order of the paths. */
struct name_node {
    const char *name; /* borrowed from the caller's paths, `len` bytes */
    size_t len;
    int first_child; /* index, -1 = none: everything below is kept */
    int sibling;
    uint64_t marks; /* cutter_mark() of each child's name */
};
struct level {
    int keep; /* node, KEEP_ALL or KEEP_NONE: of the container's members or elements */
    bool is_array;
    bool has_output; /* something inside went out: a comma comes first */
    bool is_items;   /* the list's "items" */
    /* of an object inside an item: the last member that went out */
    size_t member_at; /* where it begins in the item's output, its comma included */
    bool had_output;  /* before it */
};

struct json_splitter {
    struct cutter_args args;
    struct name_node *nodes; /* ROOT_ITEM, ROOT_HEAD, and what is below */
    int n_nodes, cap_nodes;

    enum state state;
    struct level stack[CUTTER_DEPTH_MAX];
    int depth;
    int value_keep; /* of the value that comes or is being read */
    bool name_escaped;
    struct str_buf name;
    size_t name_len; /* also when it no longer fits */

    struct str_buf item; /* kept bytes of the item */
    struct str_buf head;
    bool in_item;
    int item_depth;                 /* depth at which the item's container hangs */
    size_t item_at;                 /* where it began */
    char broken[CUTTER_BROKEN_MAX]; /* "": nothing of it is */
    bool is_nameless;               /* even its short fields were too many: nothing of it is kept */
    size_t deep;                    /* containers that are open below the stack */

    size_t at; /* bytes fed, for messages */
    size_t n_items;
    bool has_items_member;
    bool items_next; /* the name "items" was read, its value comes */
    bool list_done;
};

#define CUTTER_WINDOW ((size_t)8 << 10) /* bytes that are looked at, and for which room is made */

/* The bytes of a window at which strings may end. */
struct cutter_ends {
    size_t from; /* of the bytes that are fed; a multiple of CUTTER_WINDOW */
    size_t to;   /* 0: nothing was looked at */
    uint64_t bits[CUTTER_WINDOW / 64 + 1]; /* one for each byte; behind the last all are set */
};

static inline bool is_scalar_byte(unsigned char b)
{
    return (b >= '0' && b <= '9') || (b >= 'a' && b <= 'z') || b == '-' || b == '+' || b == '.' ||
           b == 'E';
}

/* One of 64 bits for a name: most of those that are not wanted have another bit than each that is.
 * Behind an empty name a byte may be read. */
static inline uint64_t cutter_mark(const char *name, size_t len)
{
    return UINT64_C(1) << (((unsigned char)name[0] + len * 7) & 63);
}

/* The kept parts of a member's value, below `node`; the name as cutter_mark() has it. */
static inline int cutter_keep_of(const struct json_splitter *c, int node, const char *name,
                                 size_t len)
{
    if ((c->nodes[node].marks & cutter_mark(name, len)) == 0) {
        return KEEP_NONE;
    }
    for (int i = c->nodes[node].first_child; i >= 0; i = c->nodes[i].sibling) {
        const struct name_node *is = &c->nodes[i];
        if (is->len == len && is->name[0] == name[0] && memcmp(is->name, name, len) == 0) {
            return is->first_child < 0 ? KEEP_ALL : i;
        }
    }
    return KEEP_NONE;
}

/* Inside an item's own container. */
static inline bool cutter_is_inside(const struct json_splitter *c)
{
    return c->in_item && c->depth > c->item_depth;
}

/* json_splitter_caps.c.  Takes the item's output back to where the field at hand began, and puts a
 * value there that no field of that name has.  The cutter drops what is still to come of the field.
 * "spec.ports <what> <cap><unit>" becomes the reason. */
void cutter_break_field(struct json_splitter *c, const char *what, size_t cap, const char *unit);
/* A member that comes now is a part of a field. */
bool cutter_is_below_field(const struct json_splitter *c);
/* The reason alone, unless the item has one; path NULL: of the item itself. */
void cutter_note_broken(struct json_splitter *c, const char *path, const char *what, size_t cap,
                        const char *unit);
/* After each step: a step may go over a cap by what it was fed. */
void cutter_check_item(struct json_splitter *c);

/* json_splitter_fast.c: reads what it can of p[i..n), inside an item.  Returns where it stopped.
 * `ahead` has no window yet,
 * or one of p[0..n) that i is in or behind. */
size_t cutter_run(struct json_splitter *c, const char *p, size_t n, size_t i,
                  struct cutter_ends *ahead);

#endif
