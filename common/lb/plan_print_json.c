/* SPDX-License-Identifier: Apache-2.0 */
/* plan_print_json.c: a plan as JSON for programs.
 *
 * Holds everything that the text says, with the member names that docs/interfaces.md promises:
 * those are never renamed; more may be added, there too (tests/sim/cli_test.py compares).  An
 * operation is listed with each of its owners; `n` is its identity.  All owners of an operation
 * that has many stand in its first listing alone: else the document would grow with the square of
 * the Services.  Part of plan_print.h.  Pure. */
#include "common/lb/plan_print.h"

#include "common/base/map.h"

#include <assert.h>
#include <string.h>

#define OWNERS_EACH_TIME 100 /* an operation of more Services names them once */

static const char *verb_word(uint32_t verb)
{
    static const char *const words[] = {[TT_OP_CREATE] = "create",
                                        [TT_OP_CHANGE] = "change",
                                        [TT_OP_DELETE] = "delete",
                                        [TT_OP_KEEP] = "keep"};
    assert(verb >= TT_OP_CREATE && verb <= TT_OP_KEEP); /* the host refuses plans with others */
    return words[verb];
}

/* Text or null: the member is always there. */
static void add_text(struct json_object *o, const char *name, const char *text)
{
    json_add(o, name, text != NULL ? json_object_new_string(text) : NULL);
}

static struct json_object *fields_json(const struct tt_operation *op)
{
    struct json_object *list = json_object_new_array();
    for (uint32_t i = 0; i < op->n_fields; i++) {
        struct json_object *f = json_object_new_object();
        add_text(f, "path", op->fields[i].path);
        add_text(f, "old", op->fields[i].old_text);
        add_text(f, "new", op->fields[i].new_text);
        json_object_array_add(list, f);
    }
    return list;
}

static struct json_object *numbers_json(const uint32_t *numbers, uint32_t n)
{
    struct json_object *list = json_object_new_array();
    for (uint32_t i = 0; i < n; i++) {
        json_object_array_add(list, json_object_new_int64(numbers[i]));
    }
    return list;
}

/* `alone`: the one owner that is named; NULL: all are. */
static struct json_object *operation_json(const struct tt_operation *op, const char *alone)
{
    struct json_object *o = json_object_new_object();
    json_add_int(o, "n", op->n);
    json_add_str(o, "verb", verb_word(op->verb));
    add_text(o, "kind", op->kind);
    if (op->api_kind != NULL) {
        add_text(o, "api_kind", op->api_kind);
    }
    add_text(o, "name", op->name);
    json_add_int(o, "wave", op->wave);
    add_text(o, "why", op->why);
    json_add(o, "owners",
             alone != NULL ? json_strs(&alone, 1) : json_strs(op->owners, op->n_owners));
    if (op->n_owners > OWNERS_EACH_TIME) {
        json_add_int(o, "n_owners", op->n_owners);
    }
    json_add(o, "fields", fields_json(op));
    json_add_str(o, "summary", op->summary);
    json_add_str(o, "note", op->note);
    json_add_int(o, "calls", op->calls);
    json_add_bool(o, "critical", (op->flags & TT_OP_CRITICAL) != 0);
    json_add_bool(o, "shared", (op->flags & TT_OP_SHARED) != 0);
    if (op->n_after > 0) {
        json_add(o, "after", numbers_json(op->after, op->n_after));
    }
    if (op->sent_after > 0) {
        json_add_int(o, "sent_after", op->sent_after);
    }
    json_add_bool(o, "finally", (op->flags & TT_OP_FINALLY) != 0);
    json_add_bool(o, "gives_back", (op->flags & TT_OP_GIVES_BACK) != 0);
    return o;
}

static void put_list(void *list)
{
    json_object_put(list);
}

/* Adds the operation to the lists of its owners. */
static void list_operation(struct map *lists, const struct tt_operation *op)
{
    bool listed = false;

    for (uint32_t i = 0; i < op->n_owners; i++) {
        struct json_object *list = map_get(lists, op->owners[i]);
        if (list != NULL) {
            bool all = !listed || op->n_owners <= OWNERS_EACH_TIME;
            json_object_array_add(list, operation_json(op, all ? NULL : op->owners[i]));
            listed = true;
        }
    }
}

/* "namespace/name" of each Service → its operations. */
static struct map *operations_json(const struct tt_plan *plan)
{
    struct map *lists = map_new(put_list);

    for (uint32_t i = 0; i < plan->n_services; i++) {
        map_set(lists, plan->services[i]->key, json_object_new_array());
    }
    for (uint32_t i = 0; i < plan->n_operations; i++) {
        list_operation(lists, plan->operations[i]);
    }
    return lists;
}

static struct json_object *findings_json(const struct tt_plan_service *s)
{
    struct json_object *list = json_object_new_array();
    for (uint32_t i = 0; i < s->n_findings; i++) {
        struct json_object *f = json_object_new_object();
        add_text(f, "reason", s->findings[i]->reason);
        add_text(f, "field", s->findings[i]->field);
        add_text(f, "message", s->findings[i]->message);
        json_object_array_add(list, f);
    }
    return list;
}

static struct json_object *service_json(const struct tt_plan_service *s,
                                        struct json_object *operations)
{
    struct json_object *o = json_object_new_object();
    add_text(o, "service", s->key);
    add_text(o, "address", s->address);
    json_add(o, "because", json_strs(s->because, s->n_because));
    /* null: no plan was made.  That is not the same as a plan without operations. */
    bool elsewhere = s->code == TT_IMPLEMENTED_ELSEWHERE;
    json_add(o, "operations", s->code == TT_OK || elsewhere ? json_object_get(operations) : NULL);
    json_add_str(o, "kind", s->kind);
    json_add(o, "effects", json_strs(s->effects, s->n_effects));
    if (s->n_left > 0) {
        json_add(o, "left", json_strs(s->left, s->n_left));
    }
    json_add_int(o, "checked", s->checked);
    json_add(o, "findings", findings_json(s));
    add_text(o, "serves_nobody", s->serves_nobody);
    if (elsewhere) {
        add_text(o, "left_alone", s->message);
    } else if (s->code != TT_OK) {
        struct json_object *error = json_object_new_object();
        json_add_int(error, "code", s->code);
        add_text(error, "message", s->message);
        json_add(o, "error", error);
    }
    return o;
}

struct json_object *plan_print_json(const struct tt_plan *plan)
{
    int64_t counts[TT_OP_KEEP + 1] = {0};
    for (uint32_t i = 0; i < plan->n_operations; i++) {
        uint32_t verb = plan->operations[i]->verb;
        counts[verb]++;
    }
    struct json_object *services = json_object_new_array();
    struct map *operations = operations_json(plan);
    for (uint32_t i = 0; i < plan->n_services; i++) {
        const struct tt_plan_service *s = plan->services[i];
        json_object_array_add(services, service_json(s, map_get(operations, s->key)));
    }
    map_free(operations);
    struct json_object *summary = json_object_new_object();
    json_add_int(summary, "create", counts[TT_OP_CREATE]);
    json_add_int(summary, "change", counts[TT_OP_CHANGE]);
    json_add_int(summary, "delete", counts[TT_OP_DELETE]);
    json_add_int(summary, "waves", plan->waves);
    json_add_int(summary, "calls", plan->calls);
    struct json_object *doc = json_object_new_object();
    json_add_int(doc, "format_version", JSON_FORMAT_VERSION);
    json_add(doc, "services", services);
    json_add(doc, "summary", summary);
    return doc;
}
