/* SPDX-License-Identifier: Apache-2.0 */
/* nft_layout.h: the sets and maps of our table, and how their keys and values lie in memory.
 *
 * Each part of a key fills 4 bytes or a multiple.  Addresses and ports are in network order; a slot
 * is in the machine's, because that is how numgen and jhash leave it in a register.  Pure. */
#ifndef TRIMTAB_LOCAL_KERNEL_NFT_LAYOUT_H
#define TRIMTAB_LOCAL_KERNEL_NFT_LAYOUT_H

#include "providers/local/kernel/kernel.h"

#define LOCAL_NFT_NAME_MAX  16
#define LOCAL_NFT_KEY_MAX   64 /* the kernel's own limit */
#define LOCAL_NFT_SETS_HALF 14 /* of one family: scope, vip, all, from, also, snat, 8 maps */
#define LOCAL_NFT_SETS      (2 * LOCAL_NFT_SETS_HALF)
#define LOCAL_NFT_UDATA_MAX 256

struct local_nft_set_info {
    char name[LOCAL_NFT_NAME_MAX]; /* "from4", "f6_hash_64" */
    enum local_nft_set set;
    bool v6;
    bool hash;  /* of LOCAL_NFT_SLOT */
    uint16_t m; /* of LOCAL_NFT_SLOT; else 0 */
};
/* The set with this number, 0…LOCAL_NFT_SETS-1: first those of IPv4. */
void local_nft_set_info(unsigned i, struct local_nft_set_info *ret);
/* Are its elements source ranges of frontends: FROM, ALSO? */
bool local_nft_has_ranges(enum local_nft_set set);
/* The set open4 (open6) of layout 1, whose keys are those of FROM: "all" was a range there. */
void local_nft_old_set_info(bool v6, struct local_nft_set_info *ret);
/* The number of the set that has this element.  ERR_BUG: no set can have it (families differ, or a
 * number is out of range). */
int local_nft_set_of(const struct local_nft_element *e, unsigned *ret,
                     struct err *err) _warn_unused_;

/* --- keys and values -------------------------------------------------------------------------- */

/* Returns the bytes written.  With `last` the end of the interval: that of a scope is the first
 * address behind it, that of ranges the last one in it.  0: an interval endlessly, because it
 * reaches the end of all addresses. */
size_t local_nft_key(const struct local_nft_element *e, bool last, uint8_t out[LOCAL_NFT_KEY_MAX]);
size_t local_nft_key_len(const struct local_nft_set_info *s);
/* Target and port. */
size_t local_nft_value(const struct local_nft_element *e, uint8_t out[LOCAL_NFT_KEY_MAX]);
/* The element with this key; `last` is that of FROM, else NULL.  False for keys of another length,
 * and for what is no network. */
bool local_nft_read_key(const struct local_nft_set_info *s, const uint8_t *key, size_t n,
                        const uint8_t *last, struct local_nft_element *ret);
bool local_nft_read_value(const struct local_nft_set_info *s, const uint8_t *value, size_t n,
                          struct local_nft_element *ret);
/* The network that has exactly the addresses from first to last; false if there is none. */
bool local_nft_net_of(const uint8_t *first, const uint8_t *last, uint8_t len, struct ip_net *ret);

/* --- for nft ---------------------------------------------------------------------------------- */

/* nft's numbers of the types, and its notes by which it prints `typeof`; the kernel keeps both
 * without a look. */
uint32_t local_nft_key_type(const struct local_nft_set_info *s);
uint32_t local_nft_value_type(const struct local_nft_set_info *s);
size_t local_nft_set_notes(const struct local_nft_set_info *s, uint8_t out[LOCAL_NFT_UDATA_MAX]);
/* A text as nft notes comments of tables and elements; returns its bytes. */
size_t local_nft_comment_notes(const char *text, uint8_t out[LOCAL_NFT_UDATA_MAX]);
/* The text of such a note: its bytes without NUL, or NULL.  Points into `notes`. */
const char *local_nft_read_comment(const uint8_t *notes, size_t n, size_t *ret_len);

/* "203.0.113.5:80/tcp", "203.0.113.5", "10.0.0.0/24": what an element is about, for sentences. */
#define LOCAL_NFT_TEXT_MAX 96
void local_nft_element_text(const struct local_nft_element *e, char out[LOCAL_NFT_TEXT_MAX]);

#endif
