/* SPDX-License-Identifier: Apache-2.0 */
/* rules_other.c: the rules of Namespaces and Leases.
 *
 * Pure: edits and judges trees.  Recorded: 013 (namespace), 106–118 (lease),
 * tests/data/kube-answers. */
#include "common/base/str.h"
#include "common/data/json.h"
#include "sim/kube/kube.h"
#include "sim/kube/rules/rules.h"

#include <string.h>

/* --- Namespace -------------------------------------------------------------------------------- */
static void namespace_defaults(struct kube_change *c)
{
    struct json_object *labels = kube_need(kube_need(c->now, "metadata"), "labels");
    kube_set(labels, "kubernetes.io/metadata.name", json_object_new_string(str_nonnull(c->name)));
}

/* Every namespace has this finalizer, beside those that were asked for. */
static void need_own_finalizer(struct json_object *spec)
{
    struct json_object *all = json_member(spec, "finalizers");
    for (size_t i = 0; i < json_len(all); i++) {
        if (str_eq(kube_item(all, i), "kubernetes")) {
            return;
        }
    }
    struct json_object *more = all ? json_copy(all) : json_object_new_array();
    json_push_str(more, "kubernetes");
    kube_set(spec, "finalizers", more);
}

static void namespace_prepare(struct kube_change *c)
{
    if (!c->was) {
        need_own_finalizer(kube_need(c->now, "spec"));
        kube_set(c->now, "status", json_object_new_object());
        json_add_str(json_member(c->now, "status"), "phase", "Active");
    } else if (!c->status_only) {
        struct json_object *spec = json_member(c->was, "spec");
        kube_set(c->now, "spec", spec ? json_copy(spec) : NULL);
    }
}

static void namespace_validate(const struct kube_change *c, struct kube_causes *causes)
{
    const char *phase = str_nonnull(json_str(json_member(c->now, "status"), "phase"));
    bool going = kube_is_deleting(c->now);
    if (c->status_only && !going && !str_eq(phase, "Active")) {
        kube_invalid(causes, "status.Phase", phase,
                     "may only be 'Active' if `deletionTimestamp` is empty");
    } else if (c->status_only && going && !str_eq(phase, "Terminating")) {
        kube_invalid(causes, "status.Phase", phase,
                     "may only be 'Terminating' if `deletionTimestamp` is not empty");
    }
}

const struct kube_rules kube_rules_namespace = {
    .set_defaults = namespace_defaults,
    .prepare = namespace_prepare,
    .validate = namespace_validate,
};

/* --- Lease ------------------------------------------------------------------------------------ */
/* Coordinated election is not on by default: the server drops what belongs to it. */
static void lease_prepare(struct kube_change *c)
{
    struct json_object *spec = kube_need(c->now, "spec");
    kube_set(spec, "strategy", NULL);
    kube_set(spec, "preferredHolder", NULL);
}

static void lease_validate(const struct kube_change *c, struct kube_causes *causes)
{
    struct json_object *spec = json_member(c->now, "spec");
    struct json_object *duration = json_member(spec, "leaseDurationSeconds");
    int64_t transitions = json_int(spec, "leaseTransitions", 0);
    if (duration && json_object_get_int64(duration) <= 0) {
        kube_invalid_int(causes, "spec.leaseDurationSeconds", json_object_get_int64(duration),
                         "must be greater than 0");
    }
    if (transitions < 0) {
        kube_invalid_int(causes, "spec.leaseTransitions", transitions,
                         "must be greater than or equal to 0");
    }
}

const struct kube_rules kube_rules_lease = {.prepare = lease_prepare, .validate = lease_validate};
