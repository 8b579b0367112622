/* SPDX-License-Identifier: Apache-2.0 */
/* gce_wire.c: see gce_wire.h. */
#include "providers/gce/model/gce_wire.h"

#include "common/base/str.h"

int gce_wire_decode(struct arena *a, struct json_object *o, const struct json_field *fields,
                    void *out, const char *what, struct err *err)
{
    int rc = json_decode(a, o, fields, out, JSON_SKIP_UNKNOWN, what, err);
    if (rc != ERR_OK && err != NULL) {
        err->code = ERR_TRANSIENT;
    }
    return rc == ERR_OK ? ERR_OK : ERR_TRANSIENT;
}

void gce_wire_text(struct json_object *o, const char *name, const char *s)
{
    if (!str_is_empty(s)) {
        json_add_str(o, name, s);
    }
}

void gce_wire_int(struct json_object *o, const char *name, int32_t v)
{
    if (v != 0) {
        json_add_int(o, name, v);
    }
}

void gce_wire_true(struct json_object *o, const char *name, bool v)
{
    if (v) {
        json_add_bool(o, name, true);
    }
}

void gce_wire_strs(struct json_object *o, const char *name, const struct gce_strs *s)
{
    if (s->n > 0) {
        json_add(o, name, json_strs(s->items, s->n));
    }
}
