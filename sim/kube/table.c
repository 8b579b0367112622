/* SPDX-License-Identifier: Apache-2.0 */
/* table.c: prints Tables from the columns of a kind's row.  See table.h. */
#include "sim/kube/table.h"

#include "sim/kube/columns.h"

static const struct kube_column *columns_of(const struct kube_kind *kind)
{
    return kind->columns ? kind->columns : kube_columns_default;
}

static void append_definitions(struct str_buf *b, const struct kube_column *columns)
{
    str_append(b, "\"columnDefinitions\":[");
    for (const struct kube_column *c = columns; c->name; c++) {
        str_append(b, c > columns ? ",{\"name\":" : "{\"name\":");
        str_append_json_quoted(b, c->name);
        str_appendf(b, ",\"type\":\"%s\",\"format\":\"%s\",\"description\":", c->type, c->format);
        str_append_json_quoted(b, c->description);
        str_appendf(b, ",\"priority\":%d}", c->priority);
    }
    str_append_c(b, ']');
}

static void append_cells(struct str_buf *b, struct kube_request *r,
                         const struct kube_column *columns, struct json_object *tree)
{
    int64_t now_s = clock_wall_s(sim_clock(r->st->sim));
    str_append(b, "{\"cells\":[");
    for (const struct kube_column *c = columns; c->name; c++) {
        const char *text = c->cell(r->arena, tree, now_s);
        str_append(b, c > columns ? "," : "");
        if (str_eq(c->type, "integer")) {
            str_append(b, str_or(text, "0"));
        } else {
            str_append_json_quoted(b, text ? text : "<none>");
        }
    }
    str_append_c(b, ']');
}

static void append_row(struct str_buf *b, struct kube_request *r, const struct kube_column *columns,
                       const struct kube_obj *o)
{
    struct json_object *stored = kube_obj_tree(o);
    struct json_object *tree = kube_served_tree(r->kind, stored);
    const char *include = str_or(sim_call_param(r->call, "includeObject"), "Metadata");
    append_cells(b, r, columns, tree);
    str_append(b, ",\"object\":");
    if (str_eq(include, "None")) {
        str_append(b, "null");
    } else if (str_eq(include, "Object")) {
        kube_append_obj(b, r->kind, o);
    } else {
        kube_append_partial(b, o);
    }
    str_append_c(b, '}');
    json_object_put(tree);
    json_object_put(stored);
}

static void append_table(struct str_buf *b, struct kube_request *r, struct kube_obj *const *objs,
                         size_t n, bool with_columns)
{
    const struct kube_column *columns = columns_of(r->kind);
    if (with_columns) {
        append_definitions(b, columns);
    } else {
        str_append(b, "\"columnDefinitions\":null");
    }
    str_append(b, ",\"rows\":[");
    for (size_t i = 0; i < n; i++) {
        str_append(b, i > 0 ? "," : "");
        append_row(b, r, columns, objs[i]);
    }
    str_append(b, "]}");
}

void kube_answer_table(struct kube_request *r, struct kube_obj *const *objs, size_t n,
                       const struct kube_table_meta *meta)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_append(&b, "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",");
    kube_append_list_meta(&b, meta->rv, meta->token, meta->remaining);
    str_append_c(&b, ',');
    append_table(&b, r, objs, n, true);
    str_append_c(&b, '\n');
    kube_answer_json(r, 200, str_buf_text(&b), b.len);
}

void kube_table_append_one(struct str_buf *b, struct kube_request *r, const struct kube_obj *o,
                           bool with_columns)
{
    struct kube_obj *view[] = {(struct kube_obj *)(uintptr_t)o};
    str_append(b, "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",");
    kube_append_list_meta(b, o->rv, NULL, -1);
    str_append_c(b, ',');
    append_table(b, r, view, 1, with_columns);
}
