/* SPDX-License-Identifier: Apache-2.0 */
/* golden.h: what a provider hands in so that its planner is tested with files.
 *
 * A case is a folder tests/golden/<provider>/<case>/ with
 *     service.json   the Service as the API server gives it (an array of Services for a batch)
 *     nodes.json     array of Nodes                              (absent: no nodes)
 *     facts.json     what the provider's facts() would have read  (absent: {})
 *     observed.json  the cloud's resources as they are            (absent: {})
 *     plan.txt       what show() says: the plan as people see it, the attributes that they do not
 *                    see, and more
 * The runner calls show() once per case and compares.  TRIMTAB_UPDATE_GOLDEN=1 rewrites plan.txt.
 * What facts.json and observed.json hold is each provider's own affair, written down in
 * its golden file. */
#ifndef TRIMTAB_TESTS_GOLDEN_H
#define TRIMTAB_TESTS_GOLDEN_H

#include "common/base/arena.h"
#include "common/base/str.h"
#include "common/data/json.h"

/* Trees are borrowed for the call; absent files come as empty objects or arrays, never NULL. */
struct golden_case {
    struct json_object *service;
    struct json_object *nodes;
    struct json_object *facts;
    struct json_object *observed;
};

/* A case whose text holds this fails, whatever is in its plan.txt: something was shown
 * that must never be. */
#define GOLDEN_BROKEN "BROKEN: "

struct golden_provider {
    const char *name; /* the folder below tests/golden */
    /* Asks the planner, and appends to *text what it says (golden_dump.h helps). */
    void (*show)(struct arena *a, const struct golden_case *in, struct str_buf *text);
};

/* Each in a file of its own, tests/golden/<provider>.c. */
extern const struct golden_provider golden_aws;
extern const struct golden_provider golden_azure;
extern const struct golden_provider golden_gce;

#endif
