/* SPDX-License-Identifier: Apache-2.0 */
/* reached_words.h: what a Service, a plan's effect and the answer of GET /sim/reach say, for the
 * watch of reached.h.  Pure. */
#ifndef TRIMTAB_TESTS_FAULT_REACHED_WORDS_H
#define TRIMTAB_TESTS_FAULT_REACHED_WORDS_H

#include "common/base/arena.h"
#include "common/data/json.h"

#include <stdbool.h>

/* Annotations by which a Service says who comes in, beside its source ranges. */
const char *reached_lets_of(struct arena *a, struct json_object *notes);
/* All that the status publishes, in small letters; NULL: nothing. */
const char *reached_hosts_of(struct arena *a, struct json_object *service);
/* Does the Service ask for the family of this address? */
bool reached_asks_family_of(struct json_object *service, const char *host);
/* Some client reaches some port of the address. */
bool reached_serves_any(struct json_object *reach, const char *host);
/* The effect of a plan announces an interruption. */
bool reached_is_announcement(const char *effect);

#endif
