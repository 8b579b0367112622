/* SPDX-License-Identifier: Apache-2.0 */
/* decode.h: reading a JSON tree as a typed Kubernetes object, the way Go's decoder of the API
 * server does.
 *
 * The result has only known members, in the server's order, with empty values left out where the
 * server leaves them out, maps sorted and times normalised; so two objects are the same if and only
 * if they print the same text.  Wrong types are refused with Go's wording.  Pure. */
#ifndef TRIMTAB_SIM_KUBE_DECODE_H
#define TRIMTAB_SIM_KUBE_DECODE_H

#include "common/base/arena.h"
#include "sim/kube/types.h"

#include <json-c/json.h>

#define KUBE_MAX_UNKNOWN 32

struct kube_decode {
    struct arena *arena;                   /* texts below */
    const char *error;                     /* Go's text of the first wrong type, else NULL */
    const char *unknown[KUBE_MAX_UNKNOWN]; /* paths of unknown members */
    size_t n_unknown;                      /* further ones are not listed */
};

/* A new canonical tree, or NULL with d->error.  `d` starts zeroed but for its arena. */
struct json_object *kube_decode(struct kube_decode *d, const struct kube_type *type,
                                struct json_object *in);

/* Go's error for a text that is not a time in the layout, or NULL if it is one.  `micro` asks for
 * six fraction digits. */
const char *kube_time_error(struct arena *a, const char *text, bool micro);

/* "month", "day", "hour", "minute" or "second": which part of a well-formed time is too large. */
const char *kube_time_part_out_of_range(const char *text);

/* The error of Go's encoding/json for text that is not a JSON document, or NULL if it is one. */
const char *kube_json_error(struct arena *a, const char *text, size_t n);

#endif
