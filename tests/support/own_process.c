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

long own_mapping_kib(const void *address)
{
    char line[512];
    unsigned long first = 0, end = 0;
    long kib = 0;
    FILE *f = fopen("/proc/self/smaps", "r");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        bool found = first <= (unsigned long)address && (unsigned long)address < end;
        if (found && sscanf(line, "Rss: %ld", &kib) == 1) {
            break;
        }
        (void)sscanf(line, "%lx-%lx ", &first, &end);
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
