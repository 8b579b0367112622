/* SPDX-License-Identifier: Apache-2.0 */
/* trimtab-eval: our pure functions, asked from outside.
 *
 * One JSON object per line in, one per line out, in order:
 *     in   {"id": 7, "fn": "kubernetes.traffic", "in": {…}}
 *     out  {"id": 7, "out": …} | {"id": 7, "error": "text"} | {"id": 7, "unsupported": true}
 * `id` comes back as given.  Every answer is flushed.  A malformed line is answered with an error;
 * nothing stops the loop but the end of input, and an output that is closed or that cannot be
 * written (exit 1).  One thread. */
#include "tests/eval/eval.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/output.h"
#include "common/base/str.h"
#include "tests/eval/eval_services_objects.h"

#define LINE_MAX_BYTES (64u << 20)

static const struct eval_fn *const tables[] = {
    eval_kubernetes,      eval_gce,           eval_gce_resources,   eval_azure_nsg,
    eval_azure_names,     eval_azure_lb,      eval_azure_pip,       eval_azure_config,
    eval_gce_l4_decide,   eval_gce_neg,       eval_gce_l4_rules,    eval_gce_l4_resources,
    eval_gce_l4_desired,  eval_aws_config,    eval_aws_names,       eval_aws_desired,
    eval_aws_network,     eval_services_node, eval_services_slices, eval_services_topology,
    eval_services_render, eval_local};

static const struct eval_fn *find_fn(const char *name)
{
    for (size_t t = 0; t < ARRAY_LEN(tables); t++) {
        for (const struct eval_fn *f = tables[t]; f->name != NULL; f++) {
            if (str_eq(f->name, name)) {
                return f;
            }
        }
    }
    return NULL;
}

/* Fills the answer's second member: out, error or unsupported. */
static void answer_line(struct arena *a, struct json_object *request, struct json_object *answer)
{
    struct err err = ERR_INIT;
    const char *name = json_str(request, "fn");
    if (name == NULL) {
        json_add_str(answer, "error", "fn: want the name of a function");
        return;
    }
    const struct eval_fn *fn = find_fn(name);
    if (fn == NULL) {
        json_add_bool(answer, "unsupported", true);
        return;
    }
    struct json_object *out = NULL;
    int code = fn->run(a, json_member(request, "in"), &out, &err);
    if (code == ERR_OK) {
        json_add(answer, "out", out);
    } else if (code == EVAL_UNSUPPORTED) {
        json_add_bool(answer, "unsupported", true);
    } else {
        json_add_str(answer, "error", err.message);
    }
}

static void eval_line(const char *line, size_t n, struct str_buf *out)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    _cleanup_(json_putp) struct json_object *request = NULL;
    _cleanup_(json_putp) struct json_object *answer = json_object_new_object();
    struct err err = ERR_INIT;
    if (json_parse(line, n, NULL, &request, &err) != ERR_OK) {
        json_add_str(answer, "error", err.message);
    } else {
        struct json_object *id = NULL;
        if (json_object_is_type(request, json_type_object) &&
            json_object_object_get_ex(request, "id", &id)) {
            json_add(answer, "id", json_object_get(id));
        }
        answer_line(a, request, answer);
    }
    json_print(out, answer, JSON_COMPACT);
    str_append_c(out, '\n');
}

static int answer_all(void)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    int code = ERR_OK;
    struct str_buf out = STR_BUF_INIT;
    while (code == ERR_OK && (n = getline(&line, &cap, stdin)) > 0) {
        if ((size_t)n > LINE_MAX_BYTES) {
            n = LINE_MAX_BYTES;
        }
        while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r')) {
            n--;
        }
        str_buf_reset(&out);
        eval_line(line, (size_t)n, &out);
        fwrite(str_buf_text(&out), 1, out.len, stdout);
        code = output_flush(NULL); /* output_close() says why */
    }
    str_buf_done(&out);
    free(line);
    return code;
}

int main(void)
{
    return output_close(answer_all() == ERR_OK ? 0 : OUTPUT_FAILED);
}
