/* SPDX-License-Identifier: Apache-2.0 */
/* gzip.h: a gzip envelope around bytes, without compressing them (RFC 1951 stored blocks, RFC
 * 1952).
 *
 * Enough to prove that a client reads Content-Encoding: gzip, without a further library.  Pure. */
#ifndef TRIMTAB_SIM_KUBE_GZIP_H
#define TRIMTAB_SIM_KUBE_GZIP_H

#include "common/base/str.h"

void kube_gzip_append(struct str_buf *b, const char *text, size_t n);

#endif
