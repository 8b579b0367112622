/* SPDX-License-Identifier: Apache-2.0 */
/* pack.h: putting a structure and everything it points to into one block of exactly the right size.
 *
 * The code that fills the structures runs twice.  The first run measures: arrays are scratch memory
 * and every different text is given its place once.  pack_allocate() then makes the block, and the
 * second run, which must ask for the same things in the same order, fills it.  Equal texts share
 * their bytes, so that a zone name is held once per object; words ("True", "TCP", the key of a
 * label) once for all of them.  Private to the decoders (object_*.c).  Pure but for
 * malloc; one thread. */
#ifndef TRIMTAB_KUBE_PACK_H
#define TRIMTAB_KUBE_PACK_H

#include "common/base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pack_text;
struct pack_asked;
struct raw_lost;

struct pack {
    struct arena *arena;     /* scratch of the first run, and the tables */
    char *block;             /* NULL in the first run */
    size_t fixed;            /* bytes of structures and arrays asked for so far in this run */
    size_t text_at;          /* where texts begin in the block */
    size_t text_bytes;       /* of all different texts */
    struct pack_text *texts; /* the different ones, in the order in which they were first seen */
    uint32_t n_texts;
    uint32_t cap_texts;
    /* 1 + index of a text, 0: free; open addressing, twice cap_texts, a power of two */
    uint32_t *slots;
    /* what the first run asked for, in order; the second gets the same again */
    struct pack_asked *asked;
    size_t n_asked;
    size_t cap_asked;
    size_t next_asked;           /* of the second run */
    const struct raw_lost *lost; /* the decoders': NULL, or what the object lacks */
};

void pack_init(struct pack *p, struct arena *a);
/* `n` zeroed elements in the block, or NULL when n is 0; 8-byte aligned. */
void *pack_array(struct pack *p, size_t n, size_t size);
/* The text in the block; NULL gives NULL.  In the first run the result must not be read. */
const char *pack_text(struct pack *p, const char *s);
/* The same for a text that many objects have (words.h): shared with them when there is room, else
 * as pack_text(). */
const char *pack_word(struct pack *p, const char *s);
/* Ends the first run: makes the block (malloc, owned by the caller).  Returns its size. */
size_t pack_allocate(struct pack *p);

#define PACK_ARRAY(p, type, n) ((type *)pack_array((p), (n), sizeof(type)))

#endif
