/* SPDX-License-Identifier: Apache-2.0 */
/* tell.c: events about Services, one object for each thing that is said, counted when it
 * is said again. */
#include "sim/kube/pods/tell.h"

#include "sim/kube/rules/rules.h"

#define COMPONENT "endpoint-slice-controller"

/* The name of the event: the same for the same words. */
static const char *event_name(struct slice_job *j, const char *reason, const char *message)
{
    uint64_t sum = 14695981039346656037u; /* FNV-1a */
    for (const char *s = arena_printf(j->arena, "%s|%s", reason, message); *s; s++) {
        sum = (sum ^ (unsigned char)*s) * 1099511628211u;
    }
    return arena_printf(j->arena, "%s.%016llx", j->name, (unsigned long long)sum);
}

static struct json_object *new_event(struct slice_job *j, const char *name, const char *now)
{
    struct json_object *o = json_object_new_object();
    struct json_object *meta = kube_need(o, "metadata");
    struct json_object *about = kube_need(o, "involvedObject");
    json_add_str(meta, "name", name);
    json_add_str(meta, "namespace", j->ns);
    json_add_str(about, "kind", "Service");
    json_add_str(about, "namespace", j->ns);
    json_add_str(about, "name", j->name);
    json_add_str(about, "uid", json_str(json_member(j->service, "metadata"), "uid"));
    json_add_str(about, "apiVersion", "v1");
    json_add_str(kube_need(o, "source"), "component", COMPONENT);
    json_add_str(o, "firstTimestamp", now);
    json_add_str(o, "reportingComponent", COMPONENT);
    return o;
}

void tell_event(struct slice_job *j, const char *type, const char *reason, const char *message)
{
    struct kube_state *st = j->p->st;
    const struct kube_kind *kind = kube_kind_by_plural("events");
    const char *name = event_name(j, reason, message);
    char now[32];
    kube_now(st, now);
    struct kube_obj *stored = kube_db_get(st->store, kind->store, j->ns, name);
    struct kube_change c = {
        .st = st, .arena = j->arena, .kind = kind, .namespace = j->ns, .name = name};
    c.was = stored ? kube_obj_tree(stored) : NULL;
    c.now = c.was ? json_copy(c.was) : new_event(j, name, now);
    kube_set(c.now, "type", json_object_new_string(type));
    kube_set(c.now, "reason", json_object_new_string(reason));
    kube_set(c.now, "message", json_object_new_string(message));
    kube_set(c.now, "lastTimestamp", json_object_new_string(now));
    kube_set(c.now, "count", json_object_new_int64(json_int(c.was, "count", 0) + 1));
    if (c.was) {
        (void)kube_commit(&c);
    } else {
        kube_make(st, kind, c.now);
    }
    json_object_put(c.now);
    json_object_put(c.was);
}
