/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_explain.c: `trimtab explain`: which load balancer a Service gets, by which rule, and which
 * nodes take part.
 *
 * The provider's part is its own text; the nodes are the controller's rule, and are only spoken of
 * where there is a load balancer for them; what is behind the nodes is the library's
 * (common/services/tell/inside.h).  Changes nothing. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/lb/explain.h"
#include "common/lb/node_rules.h"
#include "controller/base/term.h"
#include "controller/cmd/cmd_call.h"
#include "controller/cmd/cmd_explain.h"
#include "controller/cmd/cmd_namespaces.h"
#include "controller/cmd/commands.h"

static const char usage[] =
    "Says which load balancer a Service gets, by which rule, which nodes take part, and which "
    "pods\n"
    "are behind them.\n"
    "\n"
    "Usage:\n"
    "  trimtab explain [NAMESPACE/|svc/]NAME… [-n NAMESPACE] [-f FILE…] --cloud-provider=NAME\n"
    "                  [--cloud-config=FILE] [flags]\n"
    "\n"
    "Examples:\n"
    "  trimtab explain demo/web --cloud-provider=gce --cloud-config=gce.conf --kubeconfig=kc\n"
    "  trimtab explain -f web.yaml --cloud-provider=gce --state=world.json\n"
    "\n"
    "Exit status: 0 explained, also a Service that is refused, 1 error.\n";

/* One Service's answer. */
struct answer {
    const char *key;
    const char *text; /* in lines; NULL: `err` is all there is to say */
    /* what the text is made of; none: the provider wrote it itself */
    const struct tt_explain_row *rows;
    size_t n_rows;
    const struct ks_inside *inside; /* NULL: not known */
    struct err err;                 /* why it could not be explained, or why it is refused */
    bool served;                    /* it has or gets a load balancer of ours: nodes matter */
    bool bad;                       /* it could not be explained */
};

/* The text is made here, of the rows: as wide as `columns` says (0: not for a terminal). */
static void take_rows(struct cmd_session *s, struct answer *r, const struct cmd_said *said,
                      size_t columns)
{
    _cleanup_(str_buf_done) struct str_buf b = {.columns = columns};
    r->rows = said->rows;
    r->n_rows = said->n_rows;
    if (said->n_rows > 0) {
        lb_explain_text(&b, r->key, said->rows, said->n_rows);
        r->text = str_buf_to_arena(&b, s->a);
    } else if (said->text != NULL) {
        str_append_clean(&b, said->text, STR_BREAKS_KEPT);
        r->text = str_buf_to_arena(&b, s->a);
    }
}

/* The sentences of the plans made since the `from`th about values that are left as they
 * were taken over. */
static size_t left_in_plans(const struct cmd_session *s, const char *key, size_t from,
                            struct tt_explain_row *ret)
{
    size_t n = 0;
    for (size_t i = from; i < s->n_plans; i++) {
        for (uint32_t k = 0; k < s->plans[i]->n_services; k++) {
            const struct tt_plan_service *svc = s->plans[i]->services[k];
            for (uint32_t l = 0; str_eq(svc->key, key) && l < svc->n_left; l++) {
                if (ret != NULL) {
                    ret[n] = (struct tt_explain_row){.size = sizeof(*ret),
                                                     .section = TT_EXPLAIN_WARNING,
                                                     .value = svc->left[l],
                                                     .count = -1,
                                                     .of = -1,
                                                     .port = -1,
                                                     .every_ms = -1};
                }
                n++;
            }
        }
    }
    return n;
}

/* Adds the wishes that a load balancer taken over does not follow; only its plan names them.
 * Without a plan the explanation goes without them. */
static void add_left(struct cmd_session *s, const char *key, struct cmd_said *said)
{
    struct err err = ERR_INIT;
    size_t from = s->n_plans;
    if (s->plugin->desc.plan == NULL || said->n_rows == 0 || !cmd_is_taken_over(s, key) ||
        cmd_call(s, key, s->plugin->desc.plan, NULL, &err) != ERR_OK) {
        return;
    }
    size_t n = left_in_plans(s, key, from, NULL);
    struct tt_explain_row *rows = ARENA_ARRAY(s->a, struct tt_explain_row, said->n_rows + n);
    memcpy(rows, said->rows, said->n_rows * sizeof(*rows));
    (void)left_in_plans(s, key, from, &rows[said->n_rows]);
    said->rows = rows;
    said->n_rows += n;
}

/* Answers without the provider; false for a Service that wants a load balancer. */
static bool explain_unwanted(struct cmd_session *s, struct answer *r, size_t columns)
{
    const struct tt_service *svc = cmd_session_service(s, r->key);
    const struct sync_scope scope = cmd_session_scope(s);
    struct lb_explain x;
    lb_explain_init(&x, s->a);
    if (!str_eq(svc->type, "LoadBalancer")) {
        bool had = scope_needs_cleanup(&scope, svc);
        lb_explain_answer(&x, had ? "loses" : "none", NULL,
                          arena_printf(s->a, "is of type %s: %s.", svc->type,
                                       had ? "the load balancer that it had is taken away"
                                           : "it gets no load balancer"));
    } else if (svc->deleted_us != 0) {
        lb_explain_answer(&x, "loses", NULL, "is being deleted: its load balancer is taken away.");
    } else if (scope_is_foreign(&scope, svc) && scope.n_classes == 0) {
        /* A provider that serves classes explains them itself. */
        bool had = scope_needs_cleanup(&scope, svc);
        bool holds = scope_holds(&scope, svc);
        lb_explain_answer(&x, had ? "loses" : "elsewhere", NULL,
                          had ? "is served by another controller (loadBalancerClass): the load "
                                "balancer that trimtab made for it is taken away."
                          : holds
                              ? "is served by another controller (loadBalancerClass). If it has a "
                                "load balancer of ours, that goes with the Service."
                              : "is served by another controller (loadBalancerClass).");
        lb_explain_decision(&x, "loadBalancerClass", svc->lb_class, "another controller's");
    } else {
        return false;
    }
    take_rows(s, r, &(struct cmd_said){.rows = x.rows, .n_rows = x.n}, columns);
    return true;
}

static bool is_said(const struct cmd_said *said, const char *text)
{
    for (size_t i = 0; i < said->n_rows; i++) {
        if (said->rows[i].section == TT_EXPLAIN_WARNING && str_eq(said->rows[i].value, text)) {
            return true;
        }
    }
    return false;
}

/* Does the provider's answer say nothing of a refusal? */
static bool tells_served(const struct cmd_said *said)
{
    for (size_t i = 0; i < said->n_rows; i++) {
        if (said->rows[i].section == TT_EXPLAIN_ANSWER) {
            return str_eq(said->rows[i].subject, "served");
        }
    }
    return false;
}

/* Appends the findings of the Service's plan: settings without effect, that no client is served,
 * and why it is refused, if the provider has answered without asking for that. */
static void add_findings(struct cmd_session *s, const char *key, struct cmd_said *said)
{
    struct err err = ERR_INIT;
    struct lb_explain x;
    size_t before = s->n_plans;
    if (s->plugin->desc.plan == NULL || said->n_rows == 0) {
        return;
    }
    lb_explain_init(&x, s->a);
    for (size_t i = 0; i < said->n_rows; i++) {
        lb_explain_add(&x, &said->rows[i]);
    }
    /* The plan has what was found beside a refusal. */
    if (cmd_call(s, key, s->plugin->desc.plan, NULL, &err) != ERR_OK && tells_served(said) &&
        err.code != ERR_IMPLEMENTED_ELSEWHERE) {
        lb_explain_text_row(&x, TT_EXPLAIN_WARNING,
                            arena_printf(s->a, "cannot be carried out: %s", err.message));
    }
    for (size_t i = before; i < s->n_plans; i++) {
        for (uint32_t k = 0; k < s->plans[i]->n_services; k++) {
            const struct tt_plan_service *svc = s->plans[i]->services[k];
            bool other = !str_eq(svc->key, key);
            for (uint32_t f = 0; !other && f < svc->n_findings; f++) {
                if (!is_said(said, svc->findings[f]->message)) {
                    lb_explain_text_row(&x, TT_EXPLAIN_WARNING, svc->findings[f]->message);
                }
            }
            if (!other && svc->serves_nobody != NULL) {
                lb_explain_text_row(&x, TT_EXPLAIN_WARNING,
                                    arena_printf(s->a, "serves nobody: %s", svc->serves_nobody));
            }
        }
    }
    said->rows = x.rows;
    said->n_rows = x.n;
}

/* Nodes that are printed without -v. */
#define ROWS 20

/* Adds what is inside the cluster to an explanation that is made of rows, for a Service
 * that is served. */
static void add_inside(struct cmd_session *s, const struct cmd_inside *in, struct answer *r,
                       size_t columns)
{
    _cleanup_(str_buf_done) struct str_buf b = {.columns = columns};
    _cleanup_(str_buf_done) struct str_buf clean = {.columns = columns};
    if (!r->served || r->n_rows == 0) {
        return;
    }
    r->inside = cmd_explain_inside(in, r->key, r->rows, r->n_rows);
    if (r->inside != NULL) {
        ks_inside_text(&b, s->a, r->inside, s->args.verbose ? 0 : ROWS);
        str_append(&clean, r->text);
        str_append_clean(&clean, str_buf_text(&b), STR_BREAKS_KEPT);
        r->text = str_buf_to_arena(&clean, s->a);
    }
}

static struct answer explain_one(struct cmd_session *s, const char *key, size_t columns)
{
    struct answer r = {.key = key};
    struct cmd_said said = {0};
    if (!cmd_session_can_read(s, key, &r.err)) {
        r.bad = true;
        return r;
    }
    if (explain_unwanted(s, &r, columns)) {
        return r;
    }
    cmd_wait_for(s->wait, arena_printf(s->a, "explaining %s", key));
    int code = cmd_call(s, key, s->plugin->desc.explain, &said, &r.err);
    if (code == ERR_OK) {
        add_findings(s, key, &said);
        add_left(s, key, &said);
    }
    cmd_wait_end(s->wait);
    take_rows(s, &r, &said, columns);
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

/* Where a provider does not say what the addresses are, they are those of the status. */
static void add_status_addresses(struct json_object *o, const struct tt_service *svc)
{
    struct json_object *list = json_member(o, "addresses");
    for (uint32_t i = 0; json_len(list) < svc->n_ingress && i < svc->n_ingress; i++) {
        json_push_str(list, str_or(svc->ingress[i].ip, str_nonnull(svc->ingress[i].hostname)));
    }
}

/* The content of the text, in members. */
static void add_members(struct cmd_session *s, struct json_object *o, const struct answer *r)
{
    const struct tt_service *svc = cmd_session_service(s, r->key);
    json_add_str(o, "provider", s->plugin->desc.name);
    json_add(o, "class", svc->lb_class != NULL ? json_object_new_string(svc->lb_class) : NULL);
    lb_explain_json(o, r->rows, r->n_rows);
    if (json_len(json_member(o, "addresses")) == 0) {
        add_status_addresses(o, svc);
    }
}

static void explain_json(struct cmd_session *s, struct json_object *out, const struct answer *r)
{
    struct json_object *o = json_object_new_object();
    struct json_object *lines = json_object_new_array();
    struct json_object *nodes = json_object_new_array();
    size_t n;
    char **split = str_split(s->a, str_nonnull(r->text), '\n', &n);
    json_add_int(o, "format_version", JSON_FORMAT_VERSION);
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
    add_members(s, o, r);
    json_add(o, "inside", r->inside == NULL ? NULL : ks_inside_json(r->inside));
    json_object_array_add(out, o);
}

static int explain_all(struct cmd_session *s)
{
    struct json_object *out = json_object_new_array();
    bool json = str_eq(s->args.output, "json");
    bool bad = false;
    size_t columns = json ? 0 : term_of(STDOUT_FILENO, false).columns;
    struct cmd_inside in;
    cmd_inside_load_behind(&in, s);
    for (size_t i = 0; i < s->n_wanted; i++) {
        struct answer r = explain_one(s, s->wanted[i], columns);
        add_inside(s, &in, &r, columns);
        bad |= r.bad;
        if (json) {
            explain_json(s, out, &r);
            continue;
        }
        printf("%s%s", i > 0 ? "\n" : "", str_nonnull(r.text));
        if (r.text == NULL && r.err.code != ERR_OK) {
            fprintf(r.bad ? stderr : stdout, "%s%s: %s\n", r.bad ? "error: " : "",
                    str_clean(s->a, r.key), r.err.message);
        }
    }
    if (json) {
        puts(json_text(s->a, out, JSON_PRETTY));
    }
    json_object_put(out);
    cmd_inside_done(&in);
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
        code = code == ERR_OK ? cmd_namespaces_check_asked(&s, &err) : code;
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
