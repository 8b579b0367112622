/* SPDX-License-Identifier: Apache-2.0 */
/* json_cutter_skip.c: the cutter's short way through what nobody asked for.
 *
 * Most bytes of a list are dropped (a node's images and managedFields), so what they cost is what a list costs: here
 * about three instructions each.  Bytes of a string are looked at sixteen and eight at a time.  Checks the same as the slow way,
 * but says nothing: it stops in front of whatever is wrong, and the slow way finds it.
 * Pure. */
#include "controller/kube/json_cutter_internal.h"

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define ONES  UINT64_C(0x0101010101010101)
#define HIGHS UINT64_C(0x8080808080808080)

typedef uint8_t bytes16 __attribute__((vector_size(16)));

/* No quote, no backslash, no control byte among these sixteen. */
static inline bool are_plain(const char *p)
{
    bytes16 v;
    uint64_t half[2];
    memcpy(&v, p, sizeof v);
    bytes16 hits = (bytes16)(v == '"') | (bytes16)(v == '\\') | (bytes16)(v < 0x20);
    memcpy(half, &hits, sizeof half);
    return (half[0] | half[1]) == 0;
}

/* The high bit of each of eight bytes that is a quote, a backslash or a control byte.  Subtracting sets it in a byte
 * below what is subtracted; the borrow may set it in the byte after that one, too, so only the lowest is sure. */
static inline uint64_t specials(const char *p)
{
    uint64_t w;
    memcpy(&w, p, sizeof w);
    w = le64toh(w);
    uint64_t below = ((w ^ ONES * '"') - ONES) | ((w ^ ONES * '\\') - ONES) | (w - ONES * 0x20);
    return below & ~w & HIGHS;
}

/* The run of plain bytes of a string from p. */
size_t cutter_plain_run(const char *p, size_t n)
{
    size_t i = 0;
    while (i + 16 <= n && are_plain(p + i)) {
        i += 16;
    }
    for (; i + 8 <= n; i += 8) {
        uint64_t hits = specials(p + i);
        if (hits != 0) {
            return i + (size_t)__builtin_ctzll(hits) / 8;
        }
    }
    while (i < n && p[i] != '"' && p[i] != '\\' && (unsigned char)p[i] >= 0x20) {
        i++;
    }
    return i;
}

/* Follows a dropped container as far as nothing is out of the ordinary: four fifths of a list go through here.  Same
 * states as the slow way, which takes over at the container's end, at an escape, and at every byte that is wrong.
 * Returns how many bytes were read. */
size_t cutter_skip_dropped(struct json_cutter *c, const char *p, size_t n)
{
    int lowest = c->depth;
    size_t i = 0;
    while (lowest > c->item_depth + 1 && c->stack[lowest - 2].keep == KEEP_NONE) {
        lowest--;
    }
    while (i < n) {
        char b = p[i];
        switch (c->state) {
        case IN_STRING:
        case IN_NAME:
            i += cutter_plain_run(p + i, n - i);
            if (i == n || p[i] != '"') {
                return i;
            }
            c->state = c->state == IN_NAME ? AT_COLON : AT_NEXT;
            break;
        case AT_COLON:
            if (b != ':') {
                return i;
            }
            c->state = AT_VALUE;
            break;
        case AT_FIRST_NAME:
        case AT_NAME:
            if (b == '"') {
                c->state = IN_NAME;
            } else if (b == '}' && c->state == AT_FIRST_NAME && c->depth > lowest) {
                c->depth--;
                c->state = AT_NEXT;
            } else {
                return i;
            }
            break;
        case AT_FIRST_VALUE:
        case AT_VALUE:
            if (b == '"') {
                c->state = IN_STRING;
            } else if ((b == '{' || b == '[') && c->depth < CUTTER_DEPTH_MAX) {
                c->stack[c->depth++] = (struct level){.keep = KEEP_NONE, .is_array = b == '['};
                c->state = b == '[' ? AT_FIRST_VALUE : AT_FIRST_NAME;
            } else if (is_scalar_byte((unsigned char)b)) {
                c->state = IN_SCALAR;
            } else {
                return i;
            }
            break;
        case IN_SCALAR:
            if (!is_scalar_byte((unsigned char)b)) {
                c->state = AT_NEXT;
                continue; /* the byte belongs to what follows */
            }
            break;
        case AT_NEXT:
            if (b == ',') {
                c->state = c->stack[c->depth - 1].is_array ? AT_VALUE : AT_NAME;
            } else if (c->depth > lowest && b == (c->stack[c->depth - 1].is_array ? ']' : '}')) {
                c->depth--;
            } else {
                return i;
            }
            break;
        default:
            return i;
        }
        i++;
    }
    return i;
}
