/* SPDX-License-Identifier: Apache-2.0 */
/* tally.c: see tally.h. */
#include "tests/edits/tally.h"

#include <stdio.h>
#include <stdlib.h>

static const char columns[] = "12345678";

static struct tally_cell *cell(struct tally *t, const struct edit_kind *k, char property)
{
    size_t kind = (size_t)(k - edit_kinds);
    if (kind >= TALLY_KINDS || property < '0' || property > '9') {
        abort(); /* TALLY_KINDS is too small */
    }
    return &t->cells[kind][property - '0'];
}

void tally_case(struct tally *t, const struct edit_kind *k, const char *properties)
{
    for (; *properties != '\0'; properties++) {
        cell(t, k, *properties)->cases++;
    }
}

void tally_failure(struct tally *t, const struct edit_kind *k, char property)
{
    cell(t, k, property)->failures++;
}

static bool has_cases(const struct tally_cell *row)
{
    bool any = false;
    for (size_t p = 0; p < TALLY_PROPERTIES; p++) {
        any = any || row[p].cases > 0;
    }
    return any;
}

void tally_print(const struct tally *t)
{
    printf("# cases (failures) by property:\n# %-20s", "kind");
    for (const char *p = columns; *p != '\0'; p++) {
        printf(" | E%c        ", *p);
    }
    printf("\n");
    for (const struct edit_kind *k = edit_kinds; k->name != NULL; k++) {
        const struct tally_cell *row = t->cells[k - edit_kinds];
        if (!has_cases(row)) {
            continue;
        }
        printf("# %-20s", k->name);
        for (const char *p = columns; *p != '\0'; p++) {
            const struct tally_cell *c = &row[*p - '0'];
            printf(" | %5zu (%zu)", c->cases, c->failures);
        }
        printf("\n");
    }
}
