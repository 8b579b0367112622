/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_explain.c: `trimtab explain`: which load balancer a Service gets, by which rule, and which nodes take part.
 *
 * The provider's part is its own text; the nodes are the controller's rule.  Changes nothing. */
#include <stdio.h>

#include "common/lb/node_rules.h"
#include "controller/cmd/cmd_call.h"
#include "controller/cmd/commands.h"

static const char usage[] =
    "Says which load balancer a Service gets, by which rule, and which nodes take part.\n"
    "\n"
    "Usage:\n"
    "  trimtab explain NAMESPACE/NAME --cloud-provider=NAME [--cloud-config=FILE] [flags]\n"
    "\n"
    "Examples:\n"
    "  trimtab explain demo/web --cloud-provider=gce --cloud-config=gce.conf --kubeconfig=kc\n"
    "  trimtab explain -f web.yaml --cloud-provider=gce --state=world.json\n";

static void explain_json(struct cmd_session *s, struct json_object *out, const char *key,
                         const char *text, const struct err *err)
{
    struct json_object *o = json_object_new_object();
    struct json_object *lines = json_object_new_array();
    struct json_object *nodes = json_object_new_array();
    size_t n;
    char **split = str_split(s->a, str_nonnull(text), '\n', &n);
    json_add_str(o, "service", key);
    for (size_t i = 0; i < n; i++) {
        if (*split[i] != '\0') {
            json_push_str(lines, split[i]);
        }
    }
    json_add(o, "explanation", lines);
    if (err->code != ERR_OK) {
        json_add_str(o, "error", err->message);
    }
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const char *why = node_left_out_because(s->a, s->nodes[i]);
        struct json_object *node = json_object_new_object();
        json_add_str(node, "name", s->nodes[i]->name);
        json_add_bool(node, "takes_part", why == NULL);
        json_add_str(node, "because", why);
        json_object_array_add(nodes, node);
    }
    json_add(o, "nodes", nodes);
    json_object_array_add(out, o);
}

static int explain_all(struct cmd_session *s)
{
    struct json_object *out = json_object_new_array();
    bool json = str_eq(s->args.output, "json");
    int status = 0;
    for (size_t i = 0; i < s->n_wanted; i++) {
        struct err err = ERR_INIT;
        const char *text = NULL;
        int code = cmd_call(s, s->wanted[i], s->plugin->desc.explain, &text, &err);
        bool bad = code != ERR_OK && code != ERR_IMPLEMENTED_ELSEWHERE;
        if (json) {
            explain_json(s, out, s->wanted[i], text, &err);
        } else {
            printf("%s%s", i > 0 ? "\n" : "", str_nonnull(text));
            if (text == NULL && code != ERR_OK) {
                fprintf(bad ? stderr : stdout, "%s%s: %s\n", bad ? "error: " : "", s->wanted[i],
                        err.message);
            }
        }
        status |= bad;
    }
    if (json) {
        puts(json_text(s->a, out, JSON_PRETTY));
    }
    json_object_put(out);
    return status;
}

int cmd_explain(int argc, char **argv)
{
    struct cmd_session s;
    struct err err = ERR_INIT;
    bool done = false;
    int code = cmd_session_begin(&s, CMD_EXPLAIN, usage, argc, argv, &done, &err);
    if (code == ERR_OK && !done && s.args.words.n + s.args.files.n == 0) {
        code =
            err_set(&err, ERR_INVALID, "name a Service (NAMESPACE/NAME) or a manifest (-f FILE)");
        s.misused = true;
    }
    if (code == ERR_OK && !done && s.plugin->desc.explain == NULL) {
        code = err_set(&err, ERR_INVALID, "the provider %s cannot explain", s.plugin->desc.name);
    }
    if (code == ERR_OK && !done) {
        code = cmd_session_load(&s, &err);
    }
    if (code == ERR_OK && !done) {
        code = cmd_session_open(&s, &err);
    }
    int status = code != ERR_OK ? cmd_session_fail(&s, &err) : done ? 0 : explain_all(&s);
    cmd_session_done(&s);
    return status;
}
