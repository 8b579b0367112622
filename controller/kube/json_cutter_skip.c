/* SPDX-License-Identifier: Apache-2.0 */
/* json_cutter_skip.c: the cutter's short way through what nobody asked for.
 *
 * Most bytes of a list are dropped (a node's images and managedFields), so what they cost is what a list costs: here
 * about three instructions each.  Eight bytes of a string are looked at in one word.  Checks the same as the slow way,
 * but says nothing: it stops in front of whatever is wrong, and the slow way finds it.
 * Pure. */
#include "controller/kube/json_cutter_internal.h"

#include <stdint.h>
#include <string.h>

#define ONES               UINT64_C(0x0101010101010101)
#define HIGHS              UINT64_C(0x8080808080808080)
#define ANY_OF(word, byte) ZERO_IN((word) ^ (ONES * (byte)))
#define ZERO_IN(word)      (((word)-ONES) & ~(word))

/* Whether eight bytes of a string are plain: no quote, no backslash, no control byte.  Subtracting lets the high bit of
 * a byte appear where it was below what is subtracted; a borrow from the byte before can only make it say "no" in vain,
 * and then the bytes are looked at one by one. */
static bool are_plain(const char *p)
{
    uint64_t w;
    memcpy(&w, p, sizeof w);
    uint64_t control = (w - ONES * 0x20) & ~w;
    return ((ANY_OF(w, '"') | ANY_OF(w, '\\') | control) & HIGHS) == 0;
}

/* The run of plain bytes of a string from p. */
size_t cutter_plain_run(const char *p, size_t n)
{
    size_t i = 0;
    while (i + 8 <= n && are_plain(p + i)) {
        i += 8;
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
