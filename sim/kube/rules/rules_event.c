/* SPDX-License-Identifier: Apache-2.0 */
/* rules_event.c: Events, which two APIs show: core/v1, whose form is stored, and events.k8s.io/v1.
 *
 * Pure: translates and judges trees.  Recorded: 119–125, tests/data/kube-answers. */
#include "common/base/str.h"
#include "common/data/json.h"
#include "sim/kube/kube.h"
#include "sim/kube/rules/rules.h"

#include <string.h>

#define WORD_MAX_BYTES 128
#define NOTE_MAX_BYTES 1024

/* Names of the same member in core/v1 and events.k8s.io/v1. */
static const char *const event_names[][2] = {
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
    {"reportingComponent", "reportingController"},
};

static struct json_object *renamed(struct json_object *o, size_t from, size_t to)
{
    struct json_object *out = json_object_new_object();
    json_object_object_foreach(o, key, value)
    {
        const char *name = key;
        for (size_t i = 0; i < ARRAY_LEN(event_names); i++) {
            if (str_eq(key, event_names[i][from])) {
                name = event_names[i][to];
            }
        }
        if (!str_eq(key, "kind") && !str_eq(key, "apiVersion")) {
            json_object_object_add(out, name, json_object_get(value));
        }
    }
    return out;
}

struct json_object *kube_event_as_stored(struct json_object *served)
{
    return renamed(served, 1, 0);
}

/* In the order in which the newer API prints its members. */
struct json_object *kube_event_as_served(struct json_object *stored)
{
    struct json_object *mixed = renamed(stored, 0, 1);
    struct json_object *out = json_object_new_object();
    for (size_t i = 0; i < kube_type_events_event.n_fields; i++) {
        const char *name = kube_type_events_event.fields[i].name;
        struct json_object *v = NULL;
        bool there = json_object_object_get_ex(mixed, name, &v);
        /* The old API prints some texts that the newer one leaves out when they are empty. */
        bool empty = json_object_is_type(v, json_type_string) && json_object_get_string_len(v) == 0;
        if (there && !empty) {
            json_object_object_add(out, name, json_object_get(v));
        }
    }
    json_object_put(mixed);
    return out;
}

/* Members that an event with eventTime must have about its reporter, in the words of the requested
 * API. */
static void validate_reporter(const struct kube_change *c, struct kube_causes *causes)
{
    bool core = str_eq(c->kind->group, "");
    const char *field = core ? "reportingComponent" : "reportingController";
    const char *controller = str_nonnull(json_str(c->now, "reportingComponent"));
    const char *instance = str_nonnull(json_str(c->now, "reportingInstance"));
    static const char *const words[] = {"action", "reason"};
    if (!*controller) {
        kube_required(causes, field, NULL);
    }
    kube_check_qualified_name(causes, field, controller);
    if (!*instance) {
        kube_required(causes, "reportingInstance", NULL);
    } else if (strlen(instance) > WORD_MAX_BYTES) {
        kube_invalid(causes, "reportingInstance", "", "can have at most 128 characters");
    }
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        const char *v = str_nonnull(json_str(c->now, words[i]));
        if (!*v) {
            kube_required(causes, words[i], NULL);
        } else if (strlen(v) > WORD_MAX_BYTES) {
            kube_invalid(causes, words[i], "", "can have at most 128 characters");
        }
    }
    if (strlen(str_nonnull(json_str(c->now, "message"))) > NOTE_MAX_BYTES) {
        kube_invalid(causes, "message", "", "can have at most 1024 characters");
    }
}

/* The stricter rules of events.k8s.io/v1: no old members, a known type. */
static void validate_new_event(const struct kube_change *c, struct kube_causes *causes)
{
    static const char *const old[] = {"firstTimestamp", "lastTimestamp", "count"};
    struct json_object *series = json_member(c->now, "series");
    const char *type = str_nonnull(json_str(c->now, "type"));
    if (!json_member(c->now, "eventTime")) {
        kube_required(causes, "eventTime", NULL);
    }
    if (!str_eq(type, "Normal") && !str_eq(type, "Warning")) {
        kube_invalid(causes, "type", "", "has invalid value: ");
    }
    for (size_t i = 0; i < ARRAY_LEN(old); i++) {
        if (json_member(c->now, old[i])) {
            kube_invalid(causes, old[i], "", "needs to be unset");
        }
    }
    struct json_object *source = json_member(c->now, "source");
    if (source && json_object_object_length(source) > 0) {
        kube_invalid(causes, "source", "", "needs to be unset");
    }
    if (series && json_int(series, "count", 0) < 2) {
        kube_invalid(causes, "series.count", "", "should be at least 2");
    }
}

static bool is_empty_text(struct json_object *v)
{
    return !v || (json_object_is_type(v, json_type_string) && json_object_get_string_len(v) == 0);
}

/* Only the series of an event may change; through the old API, all of it. */
static void validate_event_update(const struct kube_change *c, struct kube_causes *causes)
{
    static const char *const fixed[] = {
        "involvedObject",   "reason",        "message", "source",
        "firstTimestamp",   "lastTimestamp", "count",   "type",
        "eventTime",        "action",        "related", "reportingComponent",
        "reportingInstance"};
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
        struct json_object *now = json_member(c->now, fixed[i]);
        struct json_object *was = json_member(c->was, fixed[i]);
        if (!kube_same(now, was) && !(is_empty_text(now) && is_empty_text(was))) {
            kube_invalid_json(causes, fixed[i], now, "field is immutable");
        }
    }
}

static void event_validate(const struct kube_change *c, struct kube_causes *causes)
{
    const char *about_ns =
        str_nonnull(json_str(json_member(c->now, "involvedObject"), "namespace"));
    bool core = str_eq(c->kind->group, "");
    bool fits = *about_ns ? str_eq(about_ns, c->namespace)
                          : str_eq(c->namespace, "default") || str_eq(c->namespace, "kube-system");
    if (!fits) {
        kube_invalid(causes, "involvedObject.namespace", about_ns,
                     "does not match event.namespace");
    }
    if (!core && c->was) {
        validate_event_update(c, causes);
        return;
    }
    if (!core) {
        validate_new_event(c, causes);
    }
    if (json_member(c->now, "eventTime")) {
        validate_reporter(c, causes);
    }
}

const struct kube_rules kube_rules_event = {.validate = event_validate};
