/* SPDX-License-Identifier: Apache-2.0 */
/* gce_pack.h: thousands of texts that resemble each other, kept small.
 *
 * The resources of a thousand Services differ in a name, an address and a number; everything else
 * they have in common.  A text is kept as its difference from a *model*, an earlier text of the
 * same kind: pieces that are copied from the model, from its own key, or from what came before, and
 * pieces that are new.  A NEG of 700 bytes so takes about 60.  A packer keeps the few models that
 * are of use now; one that fits nothing any more goes when nothing refers to it.
 *
 *     packed = sequence of  (length*2+1, position)   copy from the window
 *                           (length*2, bytes)        new bytes          numbers: 7 bits a byte,
 *                                                    lowest first
 *     window = model, key, what was unpacked so far
 *
 * Not thread-safe: a packer and all that it packed belong to one lock. */
#ifndef TRIMTAB_GCE_PACK_H
#define TRIMTAB_GCE_PACK_H

#include "common/base/str.h"

#include <stddef.h>
#include <stdint.h>

struct gce_model; /* reference counted */

struct gce_packed {
    struct gce_model *model; /* NULL: the bytes are the text itself */
    unsigned char *bytes;    /* owned */
    uint32_t n_bytes;
    uint32_t n_text; /* length of the text; 0: nothing is packed here */
};
void gce_packed_done(struct gce_packed *p);
/* Appends the text.  `key` as it was when packed. */
void gce_unpack(const struct gce_packed *p, const char *key, struct str_buf *out);

#define GCE_PACK_MODELS 8
struct gce_packer {
    struct gce_model *models[GCE_PACK_MODELS]; /* the last used first */
    size_t n;
};
void gce_packer_done(struct gce_packer *k);
/* *ret is overwritten, not freed.  n > 0. */
void gce_pack(struct gce_packer *k, const char *key, const char *text, size_t n,
              struct gce_packed *ret);

#endif
