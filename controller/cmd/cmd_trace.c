/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_trace.c: `trimtab trace`: does a client reach an address of a Service, by which nodes and
 * pods, and if not, why.
 *
 * Reads objects (cmd_inside.h), asks the provider for its part of the way where one is named, and
 * prints the library's answers (common/services/tell/answer.h).  Changes nothing,
 * sends no packet. */
#include "controller/cmd/cmd_trace.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/lb/node_rules.h"
#include "controller/base/term.h"
#include "controller/cmd/cmd_call.h"
#include "controller/cmd/cmd_explain.h"
#include "controller/cmd/commands.h"

#define ROWS 20 /* pods and nodes that are printed without -v */

static const char usage[] =
    "Says whether a client reaches an address of a Service, by which nodes and pods, and why not.\n"
    "\n"
    "Usage:\n"
    "  trimtab trace [NAMESPACE/|svc/]NAME [--from=CLIENT] [-f FILE…] [flags]\n"
    "  trimtab trace --to=ADDRESS:PORT [--from=CLIENT] [--node=NAME|--all-nodes] [-f FILE…] "
    "[flags]\n"
    "\n"
    "Examples:\n"
    "  trimtab trace demo/web --kubeconfig=kc\n"
    "  trimtab trace --from=192.0.2.7 --to=203.0.113.10:80 --node=node-1 --kubeconfig=kc\n"
    "  trimtab trace --from=pod/shop/cart --to=web.demo:80 --kubeconfig=kc\n"
    "  kubectl get services,endpointslices,nodes,configmaps -A -o json > dump.json\n"
    "  trimtab trace --to=203.0.113.10:80 --all-nodes -f dump.json\n"
    "\n"
    "Exit status: 0 reached, 2 not reached, or not by all nodes, 1 error.\n";

/* All that the command works with. */
struct tracing {
    struct cmd_session *s;
    struct cmd_inside in;
    struct ks_question base;
    const char *wanted;    /* "ns/name"; NULL: none is named */
    const char *refused;   /* why the provider cannot be asked; NULL: it can */
    struct map *balancers; /* by Service, as far as they were asked for */
    struct ks_show show;
    /* the Service of trace_service() is to have a load balancer, and has no address of it yet */
    bool lacks_balancer;
};

/* ---- the load balancer ----------------------------------------------------------------------- */

static const char *left_out_by(const struct cmd_said *said, const char *node)
{
    for (size_t i = 0; i < said->n_rows; i++) {
        const struct tt_explain_row *row = &said->rows[i];
        if (row->section == TT_EXPLAIN_LEFT_OUT && str_eq(row->subject, node)) {
            return str_or(row->outcome, "left out");
        }
    }
    return NULL;
}

/* Nodes as the controller hands them over, and as the provider leaves them out. */
static void fill_backends(struct tracing *t, const struct cmd_said *said, struct ks_balancer *b)
{
    const struct cmd_session *s = t->s;
    struct ks_backend *all = ARENA_ARRAY(s->a, struct ks_backend, s->n_nodes);
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const char *why = left_out_by(said, s->nodes[i]->name);
        all[i].node = s->nodes[i]->name;
        all[i].left_out = why != NULL ? why : node_left_out_because(s->a, s->nodes[i]);
    }
    b->backends = all;
    b->n_backends = s->n_nodes;
}

static void take_rows(struct tracing *t, const struct cmd_said *said, struct ks_balancer *b)
{
    for (size_t i = 0; i < said->n_rows; i++) {
        const struct tt_explain_row *row = &said->rows[i];
        if (row->section == TT_EXPLAIN_ANSWER) {
            b->said = row->outcome;
        } else if (row->section == TT_EXPLAIN_HEALTH) {
            b->health = arena_printf(t->s->a, "%s %s port %lld", str_nonnull(row->subject),
                                     str_nonnull(row->value), (long long)row->port);
        }
    }
    b->balance = cmd_explain_balance(said->rows, said->n_rows);
    if (b->said == NULL) {
        b->unknown = "the provider explains nothing of it";
    }
}

static const struct ks_balancer *balancer_of(struct tracing *t, const char *key)
{
    struct cmd_session *s = t->s;
    struct ks_balancer *b = ARENA_NEW(s->a, struct ks_balancer);
    struct cmd_said said = {0};
    struct err err = ERR_INIT;
    b->unknown = t->refused;
    if (t->refused == NULL && cmd_session_service(s, key) == NULL) {
        b->unknown = "the controller cannot read the Service";
    }
    if (b->unknown == NULL) {
        if (cmd_call(s, key, s->plugin->desc.explain, &said, &err) == ERR_OK) {
            take_rows(t, &said, b);
        } else {
            b->unknown =
                arena_printf(s->a, "the provider %s: %s", s->plugin->desc.name, err.message);
        }
    }
    fill_backends(t, &said, b);
    return b;
}

/* Opens the provider where one is named; what keeps it from being asked becomes a part
 * of the answer. */
static void open_provider(struct tracing *t)
{
    struct cmd_session *s = t->s;
    struct err err = ERR_INIT;
    if (s->plugin == NULL) {
        t->refused = "no --cloud-provider is named";
    } else if (s->plugin->desc.explain == NULL) {
        t->refused = arena_printf(s->a, "the provider %s cannot explain", s->plugin->desc.name);
    } else if (cmd_session_open(s, &err) != ERR_OK) {
        t->refused = arena_strdup(s->a, err.message);
    }
}

/* ---- one question ---------------------------------------------------------------------------- */

/* Holds the facts about the load balancer of a Service: asked once, however many
 * addresses it has. */
static const struct ks_balancer *known_balancer(struct tracing *t, const struct ks_service *s)
{
    const char *key = arena_printf(t->s->a, "%s/%s", s->meta.ns, s->meta.name);
    const struct ks_balancer *b = map_get(t->balancers, key);
    if (b == NULL) {
        b = balancer_of(t, key);
        map_set(t->balancers, key, (void *)(uintptr_t)b);
    }
    return b;
}

/* The answer is in `a`. */
static const struct ks_answer *answer(struct tracing *t, struct arena *a,
                                      const struct ks_question *q)
{
    size_t n = 0;
    const struct ks_service **found = ks_answer_services(a, &t->in.cluster, q, &n);
    const struct ks_balancer *b = NULL;
    for (size_t i = 0; i < n && b == NULL; i++) {
        b = found[i]->n_ingress > 0 ? known_balancer(t, found[i]) : NULL;
    }
    return ks_answer_make(a, &t->in.cluster, &t->in.proxy, b, q);
}

static void print_clean(const struct str_buf *b)
{
    _cleanup_(str_buf_done) struct str_buf clean = STR_BUF_INIT;
    str_append_clean(&clean, str_buf_text(b), STR_BREAKS_KEPT);
    fputs(str_buf_text(&clean), stdout);
}

static bool is_reached(const struct ks_answer *x)
{
    return x->outcome == KS_DELIVERED && !x->partly;
}

/* The answer about one address of the Service that was named.  One that leads to another Service
 * does not reach it. */
static const struct ks_answer *answer_of_service(struct tracing *t, struct arena *a,
                                                 const struct ks_question *q)
{
    const struct ks_answer *x = answer(t, a, q);
    if (x->service == NULL || str_eq(x->service, t->wanted)) {
        return x;
    }
    struct ks_answer *other = arena_memdup(a, x, sizeof(*x));
    other->outcome = KS_UNREACHABLE;
    other->line =
        arena_printf(a, "No: %s does not reach %s at %s: %s has the same address and port",
                     x->client, t->wanted, x->target, x->service);
    other->next =
        arena_printf(a, "give one of %s and %s another address or port", t->wanted, x->service);
    return other;
}

/* A slice that cannot be read may hold the very pods: an answer without them would be a guess. */
static int check_doubt(const struct tracing *t, const char *service, struct err *err)
{
    if (service == NULL || !map_has(t->in.doubts, service)) {
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID,
                   "an EndpointSlice of %s cannot be read, so that its pods are not known",
                   service);
}

static int trace_one(struct tracing *t, const struct ks_question *q, struct err *err)
{
    const struct ks_answer *x = answer(t, t->s->a, q);
    if (t->wanted != NULL && !str_eq(x->service, t->wanted)) {
        return err_set(err, ERR_INVALID, "--to=%s is %s%s, not of %s", t->s->args.to,
                       x->service == NULL ? "an address of no Service" : "of ",
                       str_nonnull(x->service), t->wanted);
    }
    if (check_doubt(t, x->service, err) != ERR_OK) {
        return 1;
    }
    if (str_eq(t->s->args.output, "json")) {
        struct json_object *o = json_object_new_object();
        json_add_int(o, "format_version", JSON_FORMAT_VERSION);
        ks_answer_json(o, x, &t->show);
        puts(json_text(t->s->a, o, JSON_PRETTY));
        json_object_put(o);
    } else {
        _cleanup_(str_buf_done) struct str_buf b = {.columns =
                                                        term_of(STDOUT_FILENO, false).columns};
        ks_answer_text(&b, x, &t->show);
        print_clean(&b);
    }
    return is_reached(x) ? 0 : 2;
}

/* ---- a whole Service ------------------------------------------------------------------------- */

/* Keeps a part of the answers about a Service: a Service with a thousand ports has three thousand
 * addresses, and an answer holds all nodes. */
struct told {
    struct str_buf body;
    struct json_object *list; /* -o json */
    const char *next;         /* of the first address that is not reached */
    size_t n;
    size_t good;
};

static void tell(struct tracing *t, struct told *told, const struct ks_answer *x)
{
    told->n++;
    told->good += is_reached(x);
    if (told->next == NULL && !is_reached(x) && x->next != NULL) {
        told->next = arena_strdup(t->s->a, x->next);
    }
    if (told->list != NULL) {
        struct json_object *one = json_object_new_object();
        json_add_int(one, "format_version", JSON_FORMAT_VERSION);
        ks_answer_json(one, x, &t->show);
        json_object_array_add(told->list, one);
    } else if (t->s->args.verbose) {
        str_append(&told->body, told->n > 1 ? "\n" : "");
        ks_answer_text(&told->body, x, &t->show);
    } else {
        size_t from = told->body.len;
        str_appendf(&told->body, "  %-21s ", str_or(x->kind, "address"));
        str_append_wrapped(&told->body, x->line, told->body.len - from, 4);
        str_append_c(&told->body, '\n');
    }
}

static void print_told(struct tracing *t, struct told *told)
{
    if (told->list != NULL) {
        puts(json_text(t->s->a, told->list, JSON_PRETTY));
        return;
    }
    _cleanup_(str_buf_done) struct str_buf b = {.columns = told->body.columns};
    str_appendf(&b, "%s: %s %zu address%s and port%s of %s %s reached.\n\n",
                told->good == told->n ? "Yes"
                : told->good > 0      ? "In part"
                                      : "No",
                told->good == told->n ? "all" : arena_printf(t->s->a, "%zu of", told->good),
                told->n, told->n == 1 ? "" : "es", told->n == 1 ? "" : "s", t->wanted,
                told->good == 1 && told->n > 1 ? "is" : "are");
    str_append(&b, str_buf_text(&told->body));
    if (!t->s->args.verbose) {
        str_append(&b, "\nNext: ");
        str_append_wrapped(&b, str_or(told->next, "-v, or --to=ADDRESS:PORT, shows each way"), 6,
                           2);
        str_append_c(&b, '\n');
    }
    print_clean(&b);
}

/* The answer about the load balancer of a Service that has no address of it yet. */
static const struct ks_answer *no_balancer(struct tracing *t)
{
    struct arena *a = t->s->a;
    struct ks_answer *x = ARENA_NEW(a, struct ks_answer);
    const char **because = ARENA_ARRAY(a, const char *, 1);
    *because = "status.loadBalancer of the Service is empty";
    *x = (struct ks_answer){
        .question = &t->base,
        .client = *t->base.from == '\0' ? "a client outside" : t->base.from,
        .target = "no address",
        .service = t->wanted,
        .port = t->wanted,
        .kind = "load balancer address",
        .outcome = KS_UNREACHABLE,
        .line = arena_printf(a, "No: %s has no load balancer address yet", t->wanted),
        .because = because,
        .n_because = 1,
        .next = arena_printf(a, "trimtab explain %s, and the Service's events, say why", t->wanted),
    };
    return x;
}

static int no_address(struct tracing *t, const struct ks_service *s, struct err *err)
{
    struct ks_why why = ks_why_not_proxied(t->s->a, s, KS_IPV4);
    return err_set(err, ERR_INVALID, "%s has no address that could be traced%s%s%s%s", t->wanted,
                   why.because == NULL ? "" : ": ", str_nonnull(why.because),
                   why.next == NULL ? "" : "; ", str_nonnull(why.next));
}

static int tell_service(struct tracing *t, const struct ks_service *s,
                        const struct ks_question *questions, size_t n)
{
    struct told told = {.body = {.columns = term_of(STDOUT_FILENO, false).columns}};
    struct arena *one = arena_new();
    told.list = str_eq(t->s->args.output, "json") ? json_object_new_array() : NULL;
    if (str_eq(s->type, "LoadBalancer") && s->n_ingress == 0) {
        tell(t, &told, no_balancer(t));
    }
    for (size_t i = 0; i < n; i++) {
        tell(t, &told, answer_of_service(t, one, &questions[i]));
        arena_reset(one);
    }
    print_told(t, &told);
    arena_free(one);
    str_buf_done(&told.body);
    json_object_put(told.list);
    return told.good == told.n ? 0 : 2;
}

static int trace_service(struct tracing *t, struct err *err)
{
    struct arena *a = t->s->a;
    const struct ks_cluster *c = &t->in.cluster;
    const char *slash = strchr(t->wanted, '/');
    const struct ks_service *s =
        ks_cluster_service(c, arena_strndup(a, t->wanted, (size_t)(slash - t->wanted)), slash + 1);
    size_t n = 0;
    if (s == NULL) {
        const char **keys = ARENA_ARRAY(a, const char *, c->n_services);
        for (size_t i = 0; i < c->n_services; i++) {
            keys[i] = arena_printf(a, "%s/%s", c->services[i]->meta.ns, c->services[i]->meta.name);
        }
        return err_set(err, ERR_NOT_FOUND, "there is no Service %s in %s%s", t->wanted,
                       t->in.source, str_near_hint(a, t->wanted, keys, c->n_services));
    }
    const struct ks_question *questions = cmd_trace_questions(a, s, &t->base, &n);
    if (n == 0) {
        return no_address(t, s, err);
    }
    if (check_doubt(t, t->wanted, err) != ERR_OK) {
        return 1;
    }
    return tell_service(t, s, questions, n);
}

/* ---- the command line ------------------------------------------------------------------------ */

static int check_args(struct cmd_session *s, struct cmd_target *ret, struct err *err)
{
    const struct cmd_args *args = &s->args;
    if (args->words.n > 1) {
        return err_set(err, ERR_INVALID, "\"%s\": only one Service can be traced at a time",
                       args->words.items[1]);
    }
    if (args->words.n == 0 && args->to == NULL) {
        return err_set(err, ERR_INVALID,
                       "name a Service (NAMESPACE/NAME) or a destination (--to=ADDRESS:PORT)");
    }
    if (args->node != NULL && args->all_nodes) {
        return err_set(err, ERR_INVALID,
                       "--node is one node, --all-nodes all of them: give one of "
                       "the two");
    }
    if (args->protocol != NULL && args->to == NULL) {
        return err_set(err, ERR_INVALID,
                       "--protocol belongs to --to: a Service's ports say theirs");
    }
    return args->to == NULL ? ERR_OK : cmd_trace_parse_to(s->a, args->to, ret, err);
}

static int prepare(struct tracing *t, struct cmd_target *to, struct err *err)
{
    struct cmd_session *s = t->s;
    const struct cmd_targets targets = {.ns = s->args.ns};
    int code = cmd_inside_load(&t->in, s, err);
    if (code == ERR_OK && s->args.words.n > 0) {
        code = cmd_targets_key(s->a, &targets, s->args.words.items[0],
                               s->config != NULL ? s->config->ns : NULL, &t->wanted, err);
    }
    if (code == ERR_OK) {
        code = cmd_trace_parse_protocol(s->a, s->args.protocol, &t->base.protocol, err);
    }
    if (code == ERR_OK) {
        code = cmd_trace_mode(&t->in, &t->base.mode, &t->show.proxy_source, err);
    }
    if (code == ERR_OK) {
        code = cmd_trace_client(&t->in, &t->base, err);
    }
    if (code == ERR_OK) {
        code = cmd_trace_resolve(&t->in, &t->base.source, to, err);
    }
    t->base.dest = to->ip;
    t->base.host = to->host;
    t->base.port = to->port;
    if (t->base.any_node && ks_cluster_node_at(&t->in.cluster, &to->ip) != NULL) {
        t->base.each_node = true; /* a node port is asked at each node's own address */
        t->base.dest = (struct ip_addr){0};
    }
    t->show.rows = s->args.verbose ? 0 : ROWS;
    t->base.with_rules = s->args.verbose || str_eq(s->args.output, "json");
    bool other_family =
        t->base.source.len != 0 && to->ip.len != 0 && t->base.source.len != to->ip.len;
    if (code == ERR_OK && other_family) {
        code = err_set(err, ERR_INVALID, "--from=%s and --to=%s are of two address families",
                       s->args.from, s->args.to);
    }
    if (t->in.nodes_made) {
        fprintf(stderr,
                "note: there are no Nodes in %s: those that the EndpointSlices name are "
                "used, without addresses\n",
                t->in.source);
    }
    return code;
}

int cmd_trace(int argc, char **argv)
{
    struct cmd_session s;
    struct tracing t = {.s = &s, .balancers = map_new(NULL)};
    struct cmd_target to = {0};
    struct err err = ERR_INIT;
    bool done = false;
    int code = cmd_session_begin(&s, CMD_TRACE, usage, argc, argv, &done, &err);
    int status = 0;
    if (code == ERR_OK && !done) {
        code = check_args(&s, &to, &err);
        s.misused = code != ERR_OK;
    }
    if (code == ERR_OK && !done) {
        code = prepare(&t, &to, &err);
    }
    if (code == ERR_OK && !done) {
        open_provider(&t);
        status = s.args.to != NULL ? trace_one(&t, &t.base, &err) : trace_service(&t, &err);
        code = err.code;
    }
    status = code != ERR_OK ? cmd_session_fail(&s, &err) : done ? 0 : cmd_session_end(&s, status);
    map_free(t.balancers);
    cmd_inside_done(&t.in);
    cmd_session_done(&s);
    return status;
}
