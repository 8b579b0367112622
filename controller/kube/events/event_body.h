/* SPDX-License-Identifier: Apache-2.0 */
/* event_body.h: Events as JSON, and their names.
 *
 * Source: controller.md §4.10, §5.6; what upstream sends is recorded member by member.  Pure.
 * Private to controller/kube. */
#ifndef TRIMTAB_KUBE_EVENT_BODY_H
#define TRIMTAB_KUBE_EVENT_BODY_H

#include "controller/kube/events/event_rules.h"

#include <stddef.h>

#define EVENT_MESSAGE_MAX ((size_t)1024)

/* `object` names the involved object; `resource_version` is its own. */
char *event_body_create(struct arena *a, const struct event_input *in, const char *resource_version,
                        const struct event_verdict *v, const char *event_name, int64_t wall_us);
/* The strategic merge patch of a repetition: count, lastTimestamp, message. */
char *event_body_patch(struct arena *a, const struct event_verdict *v, int64_t wall_us);
/* "<object>.<hex nanoseconds>", or `uuid` if that is not a DNS subdomain. */
char *event_name(struct arena *a, const char *object, int64_t wall_ns, const char *uuid);
/* The longest start of `s` that has at most `max` bytes and ends at a character. */
size_t event_text_cut(const char *s, size_t max);

#endif
