/* SPDX-License-Identifier: Apache-2.0 */
/* azure_text.h: how the values of annotations are read: numbers and switches.
 *
 * Source: docs/spec/azure.md 11 (integers are trimmed, base 10, 32 bit; "true"
 * without case). Pure. */
#ifndef TRIMTAB_AZURE_TEXT_H
#define TRIMTAB_AZURE_TEXT_H

#include "common/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

/* A trimmed whole number with optional sign; false if it is not one or does not fit. */
bool azure_text_i32(struct arena *a, const char *s, int32_t *ret);
/* "true" in any case; NULL is false. */
bool azure_text_true(const char *s);

#endif
