/* SPDX-License-Identifier: Apache-2.0 */
/* sample.c: see sample.h.  A change of the hash here is a change in sample.py as well. */
#include "tests/support/sample.h"

#include <stdlib.h>

#include "common/base/str.h"

#define FNV_OFFSET UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME  UINT64_C(0x100000001b3)

uint64_t sample_hash(const char *name)
{
    uint64_t h = FNV_OFFSET;
    for (const char *c = name; *c != '\0'; c++) {
        h = (h ^ (unsigned char)*c) * FNV_PRIME;
    }
    return h ^ h >> 32;
}

bool sample_takes(const struct sample *s, const char *name)
{
    return sample_takes_number(s, sample_hash(name));
}

bool sample_takes_number(const struct sample *s, uint64_t number)
{
    return number % s->parts == s->turn % s->parts;
}

void sample_split(const struct sample *s, uint64_t groups, struct sample *ret_groups,
                  struct sample *ret_cases)
{
    bool fits = s->parts >= groups;
    *ret_groups = *ret_cases = *s;
    ret_groups->parts = fits ? groups : 1;
    ret_cases->parts = s->parts / ret_groups->parts;
    ret_cases->turn = s->turn / ret_groups->parts;
}

static int read_number(const char *variable, const char *text, uint64_t least, uint64_t *ret,
                       struct err *err)
{
    if (!str_to_u64(text, ret) || *ret < least) {
        return err_set(err, ERR_INVALID, "%s=%s: expected a number from %llu on", variable, text,
                       (unsigned long long)least);
    }
    return ERR_OK;
}

int sample_from_env(uint64_t ci, uint64_t quick, struct sample *ret, struct err *err)
{
    const char *mode = str_nonnull(getenv("TRIMTAB_SAMPLE"));
    const char *turn = str_nonnull(getenv("TRIMTAB_SAMPLE_TURN"));
    struct sample s = {.parts = ci, .by_hand = *turn == '\0'};
    int rc = ERR_OK;
    if (str_eq(mode, "all")) {
        s.parts = 1;
    } else if (str_eq(mode, "quick")) {
        s.parts = quick;
    } else if (*mode != '\0' && !str_eq(mode, "ci")) {
        rc = read_number("TRIMTAB_SAMPLE", mode, 1, &s.parts, err);
    }
    if (rc == ERR_OK && !s.by_hand) {
        rc = read_number("TRIMTAB_SAMPLE_TURN", turn, 0, &s.turn, err);
    }
    if (rc == ERR_OK) {
        *ret = s;
    }
    return rc;
}

struct sample sample_of_test(uint64_t parts)
{
    struct sample s = {0};
    struct err err = ERR_INIT;
    if (sample_from_env(parts, parts, &s, &err) != ERR_OK) {
        printf("Bail out! %s\n", err.message);
        exit(2);
    }
    sample_print(&s, stdout);
    return s;
}

void sample_print(const struct sample *s, FILE *to)
{
    unsigned long long turn = s->turn;
    if (s->parts == 1) {
        fprintf(to, "# sample: every case\n");
        return;
    }
    fprintf(to, "# sample: turn %llu, part %llu of %llu (", turn, turn % s->parts,
            (unsigned long long)s->parts);
    if (s->by_hand) {
        fprintf(to, "run by hand, no TRIMTAB_SAMPLE_TURN");
    } else {
        fprintf(to, "repeat: TRIMTAB_SAMPLE_TURN=%llu", turn);
    }
    fprintf(to, "); every case: TRIMTAB_SAMPLE=all\n");
}
