/* SPDX-License-Identifier: Apache-2.0 */
/* gce_digests.h: what is known of thousands of named things, as a digest each.
 *
 * A table from the hash of a name to 64 bits: 16 bytes a slot, 37 a name at most, and no text.  Two
 * names that hash alike would be taken for one; with 64 bits and tens of thousands of names that
 * does not happen.  Not thread-safe. */
#ifndef TRIMTAB_GCE_DIGESTS_H
#define TRIMTAB_GCE_DIGESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gce_digest {
    uint64_t name; /* hash; 0: free */
    uint64_t value;
};
struct gce_digests {
    struct gce_digest *slots; /* cap of them, a power of two */
    size_t cap;
    size_t n;
};

void gce_digests_done(struct gce_digests *d);
bool gce_digests_get(const struct gce_digests *d, const char *name, uint64_t *ret);
void gce_digests_set(struct gce_digests *d, const char *name, uint64_t value);
void gce_digests_remove(struct gce_digests *d, const char *name);

#endif
