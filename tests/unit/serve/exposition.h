/* SPDX-License-Identifier: Apache-2.0 */
/* exposition.h: a strict reader of what /metrics says, written from the formats' descriptions;
 * shares nothing with the code that prints it.
 *
 * Fails the test (cmocka) at the first line that breaks a rule: HELP, then TYPE, once per family
 * and before its samples; families sorted; names and escapes valid; no series twice; buckets
 * cumulative, ascending, with +Inf equal to the count; OpenMetrics: counters end in _total, the
 * text in "# EOF". */
#ifndef TRIMTAB_TESTS_SERVE_EXPOSITION_H
#define TRIMTAB_TESTS_SERVE_EXPOSITION_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/arena.h"
#include "common/base/map.h"

struct exposition_family {
    const char *name;
    const char *help;
    const char *type;
    const char *labels; /* names, sorted, comma separated, without le; of its first series */
    const char *les;    /* of its first series: "1,2,+Inf"; "" for none */
    size_t n_series;    /* histograms: sets of buckets */
};
struct exposition {
    struct map *families; /* name → struct exposition_family */
    struct map *samples;  /* `name{a="x"}` as printed → text of its value */
};

/* Everything in the arena. */
struct exposition *exposition_read(struct arena *a, const char *text, bool open_metrics);

#endif
