/* SPDX-License-Identifier: Apache-2.0 */
/* gce_wire.c: see gce_wire.h. */
#include "providers/gce/model/gce_wire.h"

#include "common/base/str.h"

int gce_wire_decode(struct arena *a, const struct json_view *v, const struct json_field *fields,
                    void *out, const char *what, struct err *err)
{
    int rc = json_decode_view(a, v, fields, out, JSON_SKIP_UNKNOWN, what, err);
    if (rc != ERR_OK && err != NULL) {
        err->code = ERR_TRANSIENT;
    }
    return rc == ERR_OK ? ERR_OK : ERR_TRANSIENT;
}

const char *gce_wire_decimal(struct arena *a, const struct json_view *v, const char *name)
{
    if (v->tree != NULL) {
        return gce_decimal_member(a, v->tree, name);
    }
    const struct json_view *m = json_view_member(v, name);
    if (m == NULL) {
        return "";
    }
    switch (m->type) {
    case JSON_V_STRING:
        return m->text;
    case JSON_V_INT:
        return arena_printf(a, "%lld", (long long)m->i);
    case JSON_V_UINT:
        return arena_printf(a, "%llu", (unsigned long long)m->u);
    default:
        return "";
    }
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
