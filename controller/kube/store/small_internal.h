/* SPDX-License-Identifier: Apache-2.0 */
/* small_internal.h: the layout of a small form.  Private to small.c and its test. */
#ifndef TRIMTAB_KUBE_SMALL_INTERNAL_H
#define TRIMTAB_KUBE_SMALL_INTERNAL_H

#include "controller/kube/store/small.h"

struct kube_small {
    _Atomic uint32_t refs;
    uint32_t n_bytes;
    uint32_t whole; /* bytes of the structures that a reader makes, the object included */
    uint16_t uid, version, service, structure; /* where they begin in `bytes` */
    uint8_t kind;
    bool has_uuid; /* the UID is sixteen bytes; else a text */
    char bytes[];  /* the key first */
};

#endif
