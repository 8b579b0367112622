/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_scalar.h: what one YAML scalar means.  Private to yaml.c and its tests. */
#ifndef TRIMTAB_BASE_YAML_SCALAR_H
#define TRIMTAB_BASE_YAML_SCALAR_H

#include "common/base/err.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

struct yaml_scalar {
    const char *text; /* NUL-terminated behind n bytes */
    size_t n;
    const char *tag; /* "tag:yaml.org,2002:int" …, "!own", or NULL */
    bool is_plain;   /* unquoted and untagged: may be anything but a string, too */
};

/* A new reference in *ret (NULL for null).  ERR_INVALID when the text is none of what its tag says,
 * or has no JSON form (infinity, NaN, NUL bytes). */
int yaml_scalar_resolve(const struct yaml_scalar *s, struct json_object **ret, struct err *err);

/* Returns the length of the byte order mark with which `text` begins; 0: it has none. */
size_t yaml_mark_len(const char *text, size_t n);

#endif
