/* SPDX-License-Identifier: Apache-2.0 */
/* hash.h: hashing of bytes for tables in memory and for fingerprints.
 *
 * hash_bytes() is SipHash-2-4 with a 64-bit seed used twice: with hash_seed() an attacker cannot
 * choose keys that collide; with a fixed seed the value is the same in every process (fingerprints,
 * sharding of tests).  Not for signatures.  Pure but for hash_seed(). */
#ifndef TRIMTAB_BASE_HASH_H
#define TRIMTAB_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(uint64_t seed, const void *p, size_t n);
/* A tenth of the cost, for tables that are small and short-lived, or bounded.  Without the seed
 * there is no known easy way to colliding keys, but no proof either.  Differs between machines. */
uint64_t hash_quick(uint64_t seed, const void *p, size_t n);
/* A seed that cannot be guessed, another one at each call: numbers from a secret of the kernel,
 * read once.  It has none to give: made of addresses and time.  Thread-safe; no system call but at
 * the first time, since each sync makes a dozen tables. */
uint64_t hash_seed(void);

#endif
