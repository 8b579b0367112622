/* SPDX-License-Identifier: Apache-2.0 */
/* own_rss.c: see own_rss.h. */
#include "tests/support/own_rss.h"

#include <stdio.h>

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
