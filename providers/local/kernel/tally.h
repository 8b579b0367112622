/* SPDX-License-Identifier: Apache-2.0 */
/* tally.h: how many requests one API of the kernel was sent, by operation and answer, and how long
 * exchanges with it take.
 *
 * Operations have the names of the kernel's messages in small letters ("newsetelem", "getroute",
 * "new_dest"), answers those of errno ("ok", "EEXIST"); both sets are fixed, so that metrics with
 * them stay small.  One thread at a time for each tally. */
#ifndef TRIMTAB_LOCAL_KERNEL_TALLY_H
#define TRIMTAB_LOCAL_KERNEL_TALLY_H

#include "providers/local/kernel/kernel.h"

#include <linux/netlink.h>

#define LOCAL_TALLY_OPS     40 /* of one API */
#define LOCAL_TALLY_ANSWERS 24

/* Zeroed: nothing was sent. */
struct local_tally {
    const char *api; /* "nft", "rtnl", "ct", "ipvs" */
    uint64_t n[LOCAL_TALLY_OPS][LOCAL_TALLY_ANSWERS];
    local_kernel_took_fn *took; /* NULL: not reported */
    void *took_arg;
};

/* Requests in this buffer were sent: all count as answered well until their answers
 * say something else. */
void local_tally_sent(struct local_tally *t, const uint8_t *data, size_t len);
/* The kernel refused this request of the buffer. */
void local_tally_refused(struct local_tally *t, const uint8_t *data, size_t len, uint32_t seq,
                         int error);
/* The answers to all of them are lost. */
void local_tally_lost(struct local_tally *t, const uint8_t *data, size_t len);
/* Requests so far. */
uint64_t local_tally_sum(const struct local_tally *t);
void local_tally_each(const struct local_tally *t,
                      void (*each)(void *arg, const struct local_kernel_count *c), void *arg);
/* The moment at which an exchange begins, in ns of the monotonic clock; and its end, for callers
 * that ask. */
int64_t local_tally_begin(const struct local_tally *t);
void local_tally_end(const struct local_tally *t, int64_t began_ns);

#endif
