/* SPDX-License-Identifier: Apache-2.0 */
/* lease_body.c: see lease_body.h.  Pure. */
#include "controller/kube/lease/lease_body.h"

#include <stdio.h>

#include "common/base/str.h"
#include "common/base/timefmt.h"

static int64_t time_of(struct json_object *spec, const char *name)
{
    int64_t wall_us = 0;
    const char *text = json_str(spec, name);
    return text != NULL && time_parse_rfc3339(text, &wall_us) ? wall_us : 0;
}

static int32_t number_of(struct json_object *spec, const char *name)
{
    int64_t n = json_int(spec, name, 0);
    return n < 0 ? 0 : n > INT32_MAX ? INT32_MAX : (int32_t)n;
}

void lease_body_read(struct json_object *lease, struct lease_record *ret)
{
    struct json_object *spec = json_member(lease, "spec");
    *ret = (struct lease_record){
        .duration_s = number_of(spec, "leaseDurationSeconds"),
        .transitions = number_of(spec, "leaseTransitions"),
        .acquired_us = time_of(spec, "acquireTime"),
        .renewed_us = time_of(spec, "renewTime"),
    };
    (void)snprintf(ret->holder, sizeof ret->holder, "%s",
                   str_nonnull(json_str(spec, "holderIdentity")));
}

static void add_time(struct json_object *spec, const char *name, int64_t wall_us)
{
    char text[40];
    if (wall_us != 0) {
        time_format_micro(wall_us, text);
        json_add_str(spec, name, text);
    }
}

/* An empty holder is left out, as client-go does when it releases. */
static struct json_object *spec_of(const struct lease_record *r)
{
    struct json_object *spec = json_object_new_object();
    json_add_str(spec, "holderIdentity", r->holder[0] == '\0' ? NULL : r->holder);
    json_add_int(spec, "leaseDurationSeconds", r->duration_s);
    add_time(spec, "acquireTime", r->acquired_us);
    add_time(spec, "renewTime", r->renewed_us);
    json_add_int(spec, "leaseTransitions", r->transitions);
    return spec;
}

const char *lease_body_create(struct arena *a, const struct lease_terms *terms,
                              const struct lease_record *wanted)
{
    struct json_object *o = json_object_new_object();
    struct json_object *meta = json_object_new_object();
    json_add_str(meta, "name", terms->name);
    json_add_str(meta, "namespace", terms->ns);
    json_add_str(o, "apiVersion", "coordination.k8s.io/v1");
    json_add_str(o, "kind", "Lease");
    json_add(o, "metadata", meta);
    json_add(o, "spec", spec_of(wanted));
    const char *text = json_text(a, o, JSON_COMPACT);
    json_object_put(o);
    return text;
}

const char *lease_body_update(struct arena *a, struct json_object *lease,
                              const struct lease_record *wanted)
{
    struct json_object *o = json_copy(lease);
    json_object_object_del(o, "spec");
    json_add(o, "spec", spec_of(wanted));
    const char *text = json_text(a, o, JSON_COMPACT);
    json_object_put(o);
    return text;
}
