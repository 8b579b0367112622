/* SPDX-License-Identifier: Apache-2.0 */
/* path.h: from a request's target to the path that access and pages see.  Pure.
 *
 * As Go's server and the API machinery's mux do it: the path is decoded once and not tidied up.
 * "//healthz", "/healthz/" and "/x/../healthz" are other paths than "/healthz": they are not open,
 * and have no page.  Source: controller.md §3.5. */
#ifndef TRIMTAB_SERVE_PATH_H
#define TRIMTAB_SERVE_PATH_H

#include <stdbool.h>

#include "common/base/arena.h"
#include "controller/options/options.h"

/* "/a%20b?c" → "/a b" and "c"; also "http://host/a".  NULL if it is not one (a bad %, a
 * NUL, "a", "*"). */
char *path_of_target(struct arena *a, const char *target, const char **ret_query);
/* --authorization-always-allow-paths: exact, or a prefix with '*' at its end. */
bool path_always_allowed(const struct option_list *allowed, const char *path);

#endif
