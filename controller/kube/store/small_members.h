/* SPDX-License-Identifier: Apache-2.0 */
/* small_members.h: the members of the ABI's structures, for small.c.
 *
 * Every member of tt_service and tt_slice has a row here, and each row is one bit of a structure's
 * small form: set when the member is not zero.  A test fills each byte of the structures and
 * compares.  Constant tables only. */
#ifndef TRIMTAB_KUBE_SMALL_MEMBERS_H
#define TRIMTAB_KUBE_SMALL_MEMBERS_H

#include <stddef.h>
#include <stdint.h>

enum small_type {
    SMALL_TEXT = 0, /* const char *, NULL is absent */
    SMALL_WORD,     /* the same, of which a cluster has few (words.h) */
    SMALL_I32,
    SMALL_U32,
    SMALL_I64,
    SMALL_TIME,    /* int64_t in microseconds, mostly whole seconds */
    SMALL_KVS,     /* const struct tt_kv *, with a count */
    SMALL_TEXTS,   /* const char *const *, with a count */
    SMALL_STRUCTS, /* array of `sub`, with a count */
};

struct small_struct;
struct small_member {
    uint8_t type;  /* enum small_type */
    uint16_t at;   /* offset of the member */
    uint16_t n_at; /* offset of its count, a uint32_t */
    const struct small_struct *sub;
};
struct small_struct {
    uint32_t size; /* of the structure */
    uint32_t n;    /* members; at most 64 */
    const struct small_member *members;
};

extern const struct small_struct small_service;
extern const struct small_struct small_slice;

#endif
