/* SPDX-License-Identifier: Apache-2.0 */
/* explain_json.c: the rows of an explanation as members, of which docs/interfaces.md and
 * docs/schemas/explain.json have the names.
 *
 * Every member is always there: null or an empty list says that there is nothing to say.  Part of
 * explain.h.  Pure. */
#include "common/lb/explain.h"

/* Text or null. */
static void add_text(struct json_object *o, const char *name, const char *text)
{
    json_add(o, name, text != NULL ? json_object_new_string(text) : NULL);
}

/* A number, or null when it is negative. */
static void add_number(struct json_object *o, const char *name, int64_t n)
{
    json_add(o, name, n >= 0 ? json_object_new_int64(n) : NULL);
}

static const struct tt_explain_row *first_of(const struct tt_explain_row *rows, size_t n,
                                             uint32_t section)
{
    for (size_t i = 0; i < n; i++) {
        if (rows[i].section == section) {
            return &rows[i];
        }
    }
    return NULL;
}

static struct json_object *decision(const struct tt_explain_row *r)
{
    struct json_object *o = json_object_new_object();
    add_text(o, "subject", r->subject);
    add_text(o, "value", r->value);
    add_text(o, "outcome", r->outcome);
    return o;
}

static struct json_object *left_out(const struct tt_explain_row *r)
{
    struct json_object *o = json_object_new_object();
    add_text(o, "node", r->subject);
    add_text(o, "reason", r->outcome);
    return o;
}

static struct json_object *zone(const struct tt_explain_row *r)
{
    struct json_object *o = json_object_new_object();
    add_text(o, "zone", r->subject);
    add_number(o, "taking_part", r->count);
    add_number(o, "of", r->of);
    json_add(o, "nodes", json_strs(r->names, r->n_names));
    return o;
}

static struct json_object *hop(const struct tt_explain_row *r)
{
    struct json_object *o = json_object_new_object();
    add_text(o, "at", r->subject);
    add_text(o, "name", r->value);
    add_number(o, "port", r->port);
    add_text(o, "source_address", r->outcome);
    return o;
}

static struct json_object *note(const struct tt_explain_row *r)
{
    struct json_object *o = json_object_new_object();
    add_text(o, "subject", r->subject);
    add_text(o, "text", r->value);
    return o;
}

static struct json_object *value(const struct tt_explain_row *r)
{
    return json_object_new_string(str_nonnull(r->value));
}

/* All rows of a section, each as `one` makes it. */
static struct json_object *list_of(const struct tt_explain_row *rows, size_t n, uint32_t section,
                                   struct json_object *(*one)(const struct tt_explain_row *r))
{
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < n; i++) {
        if (rows[i].section == section) {
            json_object_array_add(list, one(&rows[i]));
        }
    }
    return list;
}

static struct json_object *backends(const struct tt_explain_row *rows, size_t n)
{
    const struct tt_explain_row *nodes = first_of(rows, n, TT_EXPLAIN_NODES);
    const struct tt_explain_row *rule = first_of(rows, n, TT_EXPLAIN_NODES_RULE);
    struct json_object *o = json_object_new_object();
    if (nodes == NULL) {
        json_object_put(o);
        return NULL;
    }
    add_text(o, "summary", nodes->value);
    add_number(o, "taking_part", nodes->count);
    add_number(o, "of", nodes->of);
    add_text(o, "rule", rule != NULL ? rule->value : NULL);
    json_add(o, "zones", list_of(rows, n, TT_EXPLAIN_ZONE, zone));
    json_add(o, "left_out", list_of(rows, n, TT_EXPLAIN_LEFT_OUT, left_out));
    return o;
}

static struct json_object *health(const struct tt_explain_row *r)
{
    struct json_object *o = NULL;
    if (r != NULL) {
        o = json_object_new_object();
        add_text(o, "protocol", r->subject);
        add_number(o, "port", r->port);
        add_text(o, "path", r->value);
        add_number(o, "interval_ms", r->every_ms);
    }
    return o;
}

void lb_explain_json(struct json_object *o, const struct tt_explain_row *rows, size_t n)
{
    const struct tt_explain_row *answer = first_of(rows, n, TT_EXPLAIN_ANSWER);
    add_text(o, "verdict", answer != NULL ? answer->subject : NULL);
    add_text(o, "kind", answer != NULL ? answer->value : NULL);
    add_text(o, "answer", answer != NULL ? answer->outcome : NULL);
    json_add(o, "addresses", list_of(rows, n, TT_EXPLAIN_ADDRESS, value));
    json_add(o, "decisions", list_of(rows, n, TT_EXPLAIN_DECISION, decision));
    json_add(o, "backends", backends(rows, n));
    json_add(o, "packet", list_of(rows, n, TT_EXPLAIN_HOP, hop));
    json_add(o, "health_check", health(first_of(rows, n, TT_EXPLAIN_HEALTH)));
    json_add(o, "notes", list_of(rows, n, TT_EXPLAIN_NOTE, note));
    json_add(o, "warnings", list_of(rows, n, TT_EXPLAIN_WARNING, value));
}
