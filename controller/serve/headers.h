/* SPDX-License-Identifier: Apache-2.0 */
/* headers.h: headers of a request as a list that can be copied and searched as access.h
 * wants it. Pure. */
#ifndef TRIMTAB_SERVE_HEADERS_H
#define TRIMTAB_SERVE_HEADERS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/arena.h"

struct header {
    const char *name, *value;
};
struct headers {
    const struct header *items; /* in the order of arrival */
    size_t n;
};

/* A deep copy. */
struct headers headers_dup(struct arena *a, const struct headers *h);
/* access_request.header; `arg` is a struct headers. */
const char *headers_find(void *arg, const char *name, bool prefix, size_t i, const char **ret_name);

#endif
