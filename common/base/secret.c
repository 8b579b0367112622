/* SPDX-License-Identifier: Apache-2.0 */
/* secret.c: see secret.h. */
#include "common/base/secret.h"

#include "common/base/arena.h"

#include <stdlib.h>
#include <string.h>

void secret_wipe(char *text)
{
    if (text != NULL) {
        explicit_bzero(text, strlen(text));
    }
}

void secret_free(char *text)
{
    secret_wipe(text);
    free(text);
}

void secret_set(char **slot, const char *text)
{
    secret_free(*slot);
    *slot = xstrdup(text);
}
