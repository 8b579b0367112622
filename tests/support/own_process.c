/* SPDX-License-Identifier: Apache-2.0 */
/* own_process.c: see own_process.h. */
#include "tests/support/own_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long own_rss_kib(void)
{
    char line[256];
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        (void)sscanf(line, "VmRSS: %ld", &kib);
    }
    if (f != NULL) {
        fclose(f);
    }
    return kib;
}

bool own_is_valgrind(void)
{
    const char *preloaded = getenv("LD_PRELOAD");
    return preloaded != NULL && strstr(preloaded, "vgpreload") != NULL;
}
