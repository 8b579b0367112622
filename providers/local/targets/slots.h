/* SPDX-License-Identifier: Apache-2.0 */
/* slots.h: targets spread over the slots of an nftables map, and the tables of Maglev hashing.
 *
 * nftables has no scheduler: `numgen inc mod M` or a hash of the client's address gives a number,
 * and a map from (frontend, number) to a target does the rest.  A target with weight w gets about w
 * of M slots.  Pure. */
#ifndef TRIMTAB_LOCAL_TARGETS_SLOTS_H
#define TRIMTAB_LOCAL_TARGETS_SLOTS_H

#include "providers/local/targets/targets.h"

#define LOCAL_SLOTS_MAX 256
#define LOCAL_SLOT_NONE 0xffffu

/* 4, 16, 64 or 256: the smallest that gives every target with weight a share within 15 % of its
 * own; 256 if none does. */
unsigned local_slots_size(const struct local_target_set *t);
/* slots[0…m): index of a target in `t`; LOCAL_SLOT_NONE everywhere when no target has weight.
 * Largest remainder over weights; no target with weight is without a slot.  `old`, of the same m,
 * or NULL: what stands now; a target keeps its slots as far as its share allows (indices into `t`;
 * LOCAL_SLOT_NONE: a target that is gone).  Ties by address and port. */
void local_slots_fill(const struct local_target_set *t, unsigned m, const uint16_t *old,
                      uint16_t *slots);
/* For sh and mh: Maglev's filling, which changes about 1/n of the slots when one of n targets goes,
 * whatever stood before. */
void local_slots_maglev(const struct local_target_set *t, unsigned m, uint16_t *slots);

/* The bucket of an address: first byte of SHA-256 of its 16-byte form (IPv4 mapped). */
uint8_t local_bucket(const struct ip_addr *vip);
/* SHA-256 of "name/bucket". */
#define LOCAL_SCORE_BYTES 32
void local_bucket_score(const char *name, uint8_t bucket, uint8_t ret[LOCAL_SCORE_BYTES]);

#endif
