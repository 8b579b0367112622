/* SPDX-License-Identifier: Apache-2.0 */
/* unit_main.c: see unit.h. */
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

#define EXIT_USAGE 2

static struct unit_file *files; /* filled before main(), sorted by name */

void unit_register(struct unit_file *f)
{
    struct unit_file **at = &files;

    while (*at != NULL && strcmp((*at)->name, f->name) < 0) {
        at = &(*at)->next;
    }
    f->next = *at;
    *at = f;
}

/* Returns EXIT_USAGE after a list of the names; TAP's "Bail out!" makes the test
 * that asked fail. */
static int usage(const char *program)
{
    printf("Bail out! usage: %s FILE\n", program);
    for (const struct unit_file *f = files; f != NULL; f = f->next) {
        printf("# %s\n", f->name);
    }
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    for (const struct unit_file *f = files; f != NULL && argc == 2; f = f->next) {
        if (strcmp(f->name, argv[1]) == 0) {
            return f->run();
        }
    }
    if (argc == 2) {
        fprintf(stderr, "%s: unknown file of tests: %s\n", argv[0], argv[1]);
    }
    return usage(argv[0]);
}
