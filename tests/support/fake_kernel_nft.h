/* SPDX-License-Identifier: Apache-2.0 */
/* fake_kernel_nft.h: the table of nftables in the fake kernel: elements by frontend, and
 * transactions that are undone. */
#ifndef TRIMTAB_TESTS_SUPPORT_FAKE_KERNEL_NFT_H
#define TRIMTAB_TESTS_SUPPORT_FAKE_KERNEL_NFT_H

#include "providers/local/kernel/kernel.h"

struct fake_nft;
struct fake_nft *fake_nft_new(void); /* an empty table */
void fake_nft_free(struct fake_nft *t);
int fake_nft_commit(struct fake_nft *t, const struct local_nft_change *changes, size_t n,
                    struct err *err);
void fake_nft_list(const struct fake_nft *t,
                   void (*each)(void *arg, const struct local_nft_element *e), void *arg);
void fake_nft_read(const struct fake_nft *t, const struct local_frontend_id *id,
                   void (*each)(void *arg, const struct local_nft_element *e), void *arg);

#endif
