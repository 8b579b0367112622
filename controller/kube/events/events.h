/* SPDX-License-Identifier: Apache-2.0 */
/* events.h: Events on Services and other objects, written by a thread of their own, counted instead
 * of repeated.
 *
 * The recorder never blocks its caller: a bounded queue (1,000) drops and logs.  The correlator
 * (aggregation, de-duplication, spam filter) is a pure state machine with `now` as a parameter:
 * event_rules.h.  Source: controller.md §4.10, §5.6, §6.12. */
#ifndef TRIMTAB_KUBE_EVENTS_H
#define TRIMTAB_KUBE_EVENTS_H

#include "common/base/clock.h"
#include "controller/kube/client/client.h"

#include <stdbool.h>

#include <trimtab/types.h>

struct kube_events;

/* The object of an event.  Texts are copied; NULL is "". */
struct kube_event_object {
    const char *api_version; /* "coordination.k8s.io/v1" */
    const char *kind;        /* "Lease" */
    const char *ns;
    const char *name;
    const char *uid;
    const char *resource_version;
};

struct kube_events *kube_events_new(struct kube_client *client, struct clock *clock,
                                    struct rng *rng) _warn_unused_;
/* Queues an event; text is copied.  `type` "Normal" or "Warning"; message is cut at 1,024 bytes.
 * Also logs "Event occurred" (§1.20).  Thread-safe. */
void kube_events_emit(struct kube_events *e, const struct tt_service *svc, const char *component,
                      const char *type, const char *reason, const char *message);
void kube_events_emit_on(struct kube_events *e, const struct kube_event_object *object,
                         const char *component, const char *type, const char *reason,
                         const char *message);
/* True when nothing is being written or could be: the queue is empty, or the writer waits before it
 * tries again.  Thread-safe; does not block. */
bool kube_events_are_quiet(struct kube_events *e);
/* Writes what is queued, at most for `timeout_ms`, ends the thread and frees. */
void kube_events_free(struct kube_events *e, int64_t timeout_ms);

#endif
