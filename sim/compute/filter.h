/* SPDX-License-Identifier: Apache-2.0 */
/* filter.h: the `filter` parameter of lists, in both of its forms.
 *
 * The old form: `field eq REGEX`, `field ne REGEX` (RE2, on the whole field), several of them in
 * parentheses side by side.  The new form: `field = value`, `!=`, `:`, `<`, `<=`, `>`, `>=` with
 * AND, OR, NOT and parentheses.  The two must not be mixed.  Pure; a filter lives in the arena.
 * Source: gce-cloud-provider.md §3.3; compute v1 "list". */
#ifndef TRIMTAB_SIM_COMPUTE_FILTER_H
#define TRIMTAB_SIM_COMPUTE_FILTER_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/str.h"

#include <json-c/json.h>
#include <stdbool.h>

struct filter;

/* ERR_INVALID with what is wrong. */
int ce_filter_parse(struct arena *a, const char *text, struct filter **ret,
                    struct err *err) _warn_unused_;
bool ce_filter_matches(struct arena *a, const struct filter *f, struct json_object *o);

/* Appends the POSIX extended form of an RE2 pattern, anchored at both ends;
 * false: not supported. */
bool ce_regex_to_posix(struct str_buf *out, const char *pattern, bool *ret_no_case);

#endif
