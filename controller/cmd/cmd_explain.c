/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_explain.c: `trimtab explain`: which load balancer a Service gets, by which rule, and which nodes take part.
 *
 * The provider's part is its own text; the nodes are the controller's rule, and are only spoken of where there is a load
 * balancer for them.  Changes nothing. */
#include <stdio.h>

#include "common/lb/node_rules.h"
#include "controller/cmd/cmd_call.h"
#include "controller/cmd/commands.h"

static const char usage[] =
    "Says which load balancer a Service gets, by which rule, and which nodes take part.\n"
    "\n"
    "Usage:\n"
    "  trimtab explain [NAMESPACE/|svc/]NAME… [-n NAMESPACE] [-f FILE…] --cloud-provider=NAME\n"
    "                  [--cloud-config=FILE] [flags]\n"
    "\n"
    "Examples:\n"
    "  trimtab explain demo/web --cloud-provider=gce --cloud-config=gce.conf --kubeconfig=kc\n"
    "  trimtab explain -f web.yaml --cloud-provider=gce --state=world.json\n";

/* One Service's answer. */
struct answer {
    const char *key;
    const char *text; /* lines; NULL: `err` is all there is to say */
    struct err err;   /* why it could not be explained, or why it is refused */
    bool served;      /* it has or gets a load balancer of ours: nodes matter */
    bool bad;         /* it could not be explained */
};

/* What holds whatever the provider is; NULL for a Service that wants a load balancer. */
static const char *unwanted(struct cmd_session *s, const char *key)
{
    const struct tt_service *svc = cmd_session_service(s, key);
    const struct sync_scope scope = cmd_session_scope(s);
    if (!str_eq(svc->type, "LoadBalancer")) {
        return arena_printf(s->a, "%s is of type %s: %s.\n", key, svc->type,
                            scope_needs_cleanup(&scope, svc)
                                ? "the load balancer that it had is taken away"
                                : "it gets no load balancer");
    }
    if (svc->deleted_us != 0) {
        return arena_printf(s->a, "%s is being deleted: its load balancer is taken away.\n", key);
    }
    return NULL;
}

static struct answer explain_one(struct cmd_session *s, const char *key)
{
    struct answer r = {.key = key, .text = unwanted(s, key)};
    if (r.text != NULL) {
        return r;
    }
    cmd_wait_for(s->wait, arena_printf(s->a, "explaining %s", key));
    int code = cmd_call(s, key, s->plugin->desc.explain, &r.text, &r.err);
    cmd_wait_end(s->wait);
    r.bad = code != ERR_OK && code != ERR_IMPLEMENTED_ELSEWHERE;
    if (code == ERR_OK) {
        code = cmd_validate(s, key, &r.err);
        r.served = code == ERR_OK;
    }
    if (code == ERR_IMPLEMENTED_ELSEWHERE && r.text != NULL) {
        err_clear(&r.err); /* the text says whose it is */
    }
    return r;
}

static void add_nodes(struct cmd_session *s, struct json_object *nodes)
{
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const char *why = node_left_out_because(s->a, s->nodes[i]);
        struct json_object *node = json_object_new_object();
        json_add_str(node, "name", s->nodes[i]->name);
        json_add_bool(node, "takes_part", why == NULL);
        json_add_str(node, "because", why);
        json_object_array_add(nodes, node);
    }
}

static void explain_json(struct cmd_session *s, struct json_object *out, const struct answer *r)
{
    struct json_object *o = json_object_new_object();
    struct json_object *lines = json_object_new_array();
    struct json_object *nodes = json_object_new_array();
    size_t n;
    char **split = str_split(s->a, str_nonnull(r->text), '\n', &n);
    json_add_str(o, "service", r->key);
    for (size_t i = 0; i < n; i++) {
        if (*split[i] != '\0') {
            json_push_str(lines, split[i]);
        }
    }
    json_add(o, "explanation", lines);
    if (r->err.code != ERR_OK) {
        json_add_str(o, "error", r->err.message);
    }
    if (r->served) {
        add_nodes(s, nodes);
    }
    json_add(o, "nodes", nodes);
    json_object_array_add(out, o);
}

static int explain_all(struct cmd_session *s)
{
    struct json_object *out = json_object_new_array();
    bool json = str_eq(s->args.output, "json");
    bool bad = false;
    for (size_t i = 0; i < s->n_wanted; i++) {
        const struct answer r = explain_one(s, s->wanted[i]);
        bad |= r.bad;
        if (json) {
            explain_json(s, out, &r);
            continue;
        }
        printf("%s%s", i > 0 ? "\n" : "", str_nonnull(r.text));
        if (r.text == NULL && r.err.code != ERR_OK) {
            fprintf(r.bad ? stderr : stdout, "%s%s: %s\n", r.bad ? "error: " : "", r.key,
                    r.err.message);
        }
    }
    if (json) {
        puts(json_text(s->a, out, JSON_PRETTY));
    }
    json_object_put(out);
    return bad;
}

int cmd_explain(int argc, char **argv)
{
    struct cmd_session s;
    struct err err = ERR_INIT;
    bool done = false;
    int code = cmd_session_begin(&s, CMD_EXPLAIN, usage, argc, argv, &done, &err);
    if (code == ERR_OK && !done && s.args.words.n + s.args.files.n == 0 && s.args.ns == NULL &&
        !s.args.all_namespaces) {
        code = err_set(&err, ERR_INVALID,
                       "name a Service (NAMESPACE/NAME) or a manifest (-f FILE), or take all of a "
                       "namespace (-n NAME) or of the cluster (-A)");
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
    int status = code != ERR_OK ? cmd_session_fail(&s, &err)
                 : done         ? 0
                                : cmd_session_end(&s, explain_all(&s));
    cmd_session_done(&s);
    return status;
}
