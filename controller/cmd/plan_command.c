/* SPDX-License-Identifier: Apache-2.0 */
/* plan_command.c: `trimtab plan`: what a sync would do, and why, without doing it.
 *
 * Asks the provider for the plans of Services, those together that a sync takes together, joins
 * them and prints text for people or JSON for programs (ux.md, interfaces.md).  Exit 0: nothing to
 * do; 2: changes; 1: error.  A provider that cannot plan gets a sentence. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/lb/plan_print.h"
#include "common/lb/plan_shares.h"
#include "controller/base/term.h"
#include "controller/cmd/cmd_call.h"
#include "controller/cmd/cmd_left.h"
#include "controller/cmd/cmd_namespaces.h"
#include "controller/cmd/commands.h"

static const char usage[] =
    "Shows the changes that trimtab would make to the cloud, and why, without making them.\n"
    "\n"
    "Usage:\n"
    "  trimtab plan [[NAMESPACE/|svc/]NAME…] [-n NAMESPACE] [-f FILE…] --cloud-provider=NAME\n"
    "               [--cloud-config=FILE] [flags]\n"
    "\n"
    "Examples:\n"
    "  # everything that the cluster's Services still need\n"
    "  trimtab plan --cloud-provider=gce --cloud-config=gce.conf --kubeconfig=kc\n"
    "  # an edit, before it is made\n"
    "  trimtab plan -f web.yaml --cloud-provider=gce --cloud-config=gce.conf --kubeconfig=kc\n"
    "  # the Services of a folder, or what another program prints\n"
    "  trimtab plan -f k8s/ --cloud-provider=gce --cloud-config=gce.conf --kubeconfig=kc\n"
    "  helm template shop | trimtab plan -f - --cloud-provider=gce --kubeconfig=kc\n"
    "  # without a cluster and without a cloud\n"
    "  trimtab plan --cloud-provider=gce --state=world.json -f web.yaml\n"
    "\n"
    "Exit status: 0 nothing to do, 2 changes, 1 error.\n";

/* A Service that a provider without plan() would be called for. */
static void print_unplanned(struct cmd_session *s, struct json_object *services, const char *key)
{
    const struct tt_service *svc = cmd_session_service(s, key);
    const char *verb =
        cmd_verb(s, svc) == TT_VERB_DELETE ? "EnsureLoadBalancerDeleted" : "EnsureLoadBalancer";
    const char *why = cmd_session_is_gone(s, svc)          ? "it is gone from the cluster"
                      : svc->deleted_us != 0               ? "it is being deleted"
                      : str_eq(verb, "EnsureLoadBalancer") ? "it is of type LoadBalancer"
                                                           : "it is no longer of type LoadBalancer";
    if (services == NULL) {
        _cleanup_(str_buf_done) struct str_buf b = {.columns =
                                                        term_of(STDOUT_FILENO, false).columns};
        str_appendf(&b, "Service %s\n  ", str_clean(s->a, key));
        const char *line =
            arena_printf(s->a, "a sync would call %s because %s; the provider %s cannot say more",
                         verb, why, s->plugin->desc.name);
        if (b.columns == 0) {
            str_append(&b, line);
        } else {
            str_append_wrapped(&b, line, 2, 4);
        }
        puts(str_buf_text(&b));
        return;
    }
    struct json_object *o = json_object_new_object();
    struct json_object *because = json_object_new_array();
    json_add_str(o, "service", key);
    if (svc->n_ingress == 0) {
        json_add(o, "address", NULL);
    } else {
        json_add_str(o, "address", str_or(svc->ingress[0].ip, svc->ingress[0].hostname));
    }
    json_push_str(because, arena_printf(s->a, "a sync would call %s because %s", verb, why));
    for (size_t i = 0; i < s->n_notes; i++) {
        if (str_eq(s->notes[i].key, key)) {
            json_push_str(because, s->notes[i].text);
        }
    }
    json_add(o, "because", because);
    json_add(o, "operations", NULL);
    json_object_array_add(services, o);
}

/* The last line of the text: `n` Services that the provider takes. */
static void print_sum(const struct cmd_session *s, size_t n)
{
    _cleanup_(str_buf_done) struct str_buf line = STR_BUF_INIT;
    _cleanup_(str_buf_done) struct str_buf b = {.columns = term_of(STDOUT_FILENO, false).columns};
    if (n == 0) {
        printf("%sPlan: nothing to do.\n", s->n_wanted > 0 ? "\n" : "");
        return;
    }
    str_appendf(&line, "Plan: %zu Service%s would be synced. Nothing has been changed.", n,
                n == 1 ? "" : "s");
    str_append_wrapped(&b, str_buf_text(&line), 0, 0);
    printf("\n%s\n", str_buf_text(&b));
}

/* The provider's validate() refuses it, or says that it is another controller's: a sync
 * would not call. */
static void print_refused(struct json_object *services, const char *key, const struct err *err)
{
    bool elsewhere = err->code == ERR_IMPLEMENTED_ELSEWHERE;
    if (services == NULL) {
        _cleanup_(str_buf_done) struct str_buf b = {.columns =
                                                        term_of(STDOUT_FILENO, false).columns};
        str_append(&b, "Service ");
        str_append_clean(&b, key, STR_BREAKS_SHOWN);
        str_append(&b, elsewhere ? "\n  left alone: " : "\n  ! ");
        str_append_wrapped(&b, err->message, 4, 4);
        puts(str_buf_text(&b));
        return;
    }
    struct json_object *o = json_object_new_object();
    json_add_str(o, "service", key);
    json_add(o, "address", NULL);
    json_add(o, "because", json_object_new_array());
    json_add(o, "operations", NULL);
    if (elsewhere) {
        json_add_str(o, "left_alone", err->message);
    } else {
        struct json_object *error = json_object_new_object();
        json_add_int(error, "code", err->code);
        json_add_str(error, "message", err->message);
        json_add(o, "error", error);
    }
    json_object_array_add(services, o);
}

static int plan_unplanned(struct cmd_session *s)
{
    bool refused = false;
    size_t n = 0;
    bool json = str_eq(s->args.output, "json");
    struct json_object *out = json_object_new_object();
    struct json_object *services = json_object_new_array();
    for (size_t i = 0; i < s->n_wanted; i++) {
        struct err err = ERR_INIT;
        if (cmd_may_plan(s, s->wanted[i], &err) == ERR_OK) {
            print_unplanned(s, json ? services : NULL, s->wanted[i]);
            n++;
        } else {
            print_refused(json ? services : NULL, s->wanted[i], &err);
            refused |= err.code != ERR_IMPLEMENTED_ELSEWHERE;
        }
    }
    json_add_int(out, "format_version", JSON_FORMAT_VERSION);
    json_add(out, "services", services);
    if (json) {
        static const char *const sums[] = {"create", "change", "delete", "waves", "calls"};
        struct json_object *summary = json_object_new_object();
        for (size_t i = 0; i < ARRAY_LEN(sums); i++) {
            json_add_int(summary, sums[i], 0);
        }
        json_add(out, "summary", summary);
        puts(json_text(s->a, out, JSON_PRETTY));
    } else {
        print_sum(s, n);
    }
    json_object_put(out);
    return refused ? 1 : n > 0 ? 2 : 0;
}

/* A Service about which nothing can be planned, as a plan that says so. */
static const struct tt_plan *refused_plan(struct arena *a, const char *key, const struct err *err)
{
    struct tt_plan *plan = ARENA_NEW(a, struct tt_plan);
    struct tt_plan_service *svc = ARENA_NEW(a, struct tt_plan_service);
    const struct tt_plan_service **services = ARENA_ARRAY(a, const struct tt_plan_service *, 1);
    *svc = (struct tt_plan_service){.size = sizeof *svc,
                                    .key = key,
                                    .kind = "",
                                    .code = err->code,
                                    .message = arena_strdup(a, err->message)};
    services[0] = svc;
    *plan = (struct tt_plan){.size = sizeof *plan, .services = services, .n_services = 1};
    return plan;
}

/* The questions to the provider, and its answers so far. */
struct asking {
    struct cmd_session *s;
    const char **batch_keys; /* per wanted Service */
    bool *asked;
    const struct tt_plan **extra; /* beside s->plans */
    size_t n_extra;
    bool failed;
};

static bool is_told(const struct cmd_session *s, size_t from, const char *key)
{
    for (size_t i = from; i < s->n_plans; i++) {
        for (uint32_t k = 0; k < s->plans[i]->n_services; k++) {
            const struct tt_plan_service *svc = s->plans[i]->services[k];
            if (str_eq(svc->key, key) && svc->code != TT_OK) {
                return true;
            }
        }
    }
    return false;
}

/* Asks for the plan of Services that are synced together; it is among s->plans then. */
static void plan_batch(struct asking *x, struct cmd_batch *b)
{
    struct cmd_session *s = x->s;
    size_t before = s->n_plans;
    b->errs = ARENA_ARRAY(s->a, struct err, b->n);
    b->said = ARENA_ARRAY(s->a, struct cmd_said, b->n);
    cmd_call_batch(s, b, s->plugin->desc.plan);
    for (size_t i = 0; i < b->n; i++) {
        const struct err *err = &b->errs[i];
        if (err->code != ERR_OK && !is_told(s, before, b->services[i])) {
            x->extra[x->n_extra++] = refused_plan(s->a, b->services[i], err);
        }
        x->failed |= err->code != ERR_OK && err->code != ERR_IMPLEMENTED_ELSEWHERE;
    }
}

/* Takes those out of the batch that the provider's validate() refuses; each becomes a
 * plan that says so. */
static void leave_out_refused(struct asking *x, struct cmd_batch *b)
{
    struct cmd_session *s = x->s;
    const char **services = ARENA_ARRAY(s->a, const char *, b->n);
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++) {
        struct err err = ERR_INIT;
        if (cmd_may_plan(s, b->services[i], &err) == ERR_OK) {
            services[n++] = b->services[i];
        } else {
            x->extra[x->n_extra++] = refused_plan(s->a, b->services[i], &err);
            x->failed |= err.code != ERR_IMPLEMENTED_ELSEWHERE;
        }
    }
    b->services = services;
    b->n = n;
}

/* The most Services that the controller would sync in one batch. */
static size_t batch_max(const struct cmd_session *s)
{
    uint32_t most = s->plugin->desc.batch_max;

    return most == 0 ? TT_LIST_MAX : most;
}

/* The Service at `first` and, where it is synced in a batch, as many later ones as that takes. */
static struct cmd_batch batch_of(struct asking *x, size_t first)
{
    struct cmd_session *s = x->s;
    const char *key = x->batch_keys[first];
    size_t left = s->n_wanted - first;
    size_t most = key[0] == '\0' ? 1 : left < batch_max(s) ? left : batch_max(s);
    const char **services = ARENA_ARRAY(s->a, const char *, most);
    struct cmd_batch b = {.key = key, .services = services};
    for (size_t i = first; b.n < most && i < s->n_wanted; i++) {
        if (i == first || (!x->asked[i] && str_eq(key, x->batch_keys[i]))) {
            services[b.n++] = s->wanted[i];
            x->asked[i] = true;
        }
    }
    return b;
}

static void print_plan(struct cmd_session *s, const struct tt_plan *plan)
{
    if (str_eq(s->args.output, "json")) {
        struct json_object *o = plan_print_json(plan);
        puts(json_text(s->a, o, JSON_PRETTY));
        json_object_put(o);
        return;
    }
    const struct term term = term_of(STDOUT_FILENO, s->args.no_color);
    _cleanup_(str_buf_done) struct str_buf text = {.columns = term.columns};
    plan_print_text(&text, plan,
                    &(struct plan_print){.color = term.color, .verbose = s->args.verbose});
    fputs(str_buf_text(&text), stdout);
}

static void ask_all(struct asking *x)
{
    struct cmd_session *s = x->s;
    size_t done = 0;
    cmd_wait_for(s->wait, "planning");
    for (size_t i = 0; i < s->n_wanted; i++) {
        struct err err = ERR_INIT;
        x->batch_keys[i] = cmd_batch_key(s, s->wanted[i]);
        x->asked[i] = !cmd_session_can_read(s, s->wanted[i], &err);
        if (x->asked[i]) {
            x->extra[x->n_extra++] = refused_plan(s->a, s->wanted[i], &err);
            x->failed = true;
            done++;
        }
    }
    for (size_t i = 0; i < s->n_wanted; i++) {
        if (!x->asked[i]) {
            struct cmd_batch batch = batch_of(x, i);
            done += batch.n;
            leave_out_refused(x, &batch);
            if (batch.n > 0) {
                plan_batch(x, &batch);
            }
            cmd_wait_count(s->wait, done, s->n_wanted);
        }
    }
    cmd_wait_end(s->wait);
}

/* A Service with a class of another controller that has nothing here: a sync would not even ask the
 * provider, and what the provider says of it is beside the point. */
static const struct tt_plan *with_foreign_named(struct cmd_session *s, const struct tt_plan *in)
{
    const struct sync_scope scope = cmd_session_scope(s);
    const struct tt_plan_service **services =
        ARENA_ARRAY(s->a, const struct tt_plan_service *, in->n_services + 1);
    struct tt_plan *out = arena_memdup(s->a, in, sizeof *in);
    struct plan_shares *shares = plan_shares_new(s->a, in);
    for (uint32_t i = 0; i < in->n_services; i++) {
        const struct tt_service *svc = cmd_session_service(s, in->services[i]->key);
        services[i] = in->services[i];
        if (svc != NULL && svc->deleted_us == 0 && !cmd_session_is_gone(s, svc) &&
            scope_is_foreign(&scope, svc) && !plan_share_changes(shares, services[i]->key)) {
            struct tt_plan_service *named = arena_memdup(s->a, services[i], sizeof *named);
            named->code = TT_IMPLEMENTED_ELSEWHERE;
            named->message = arena_printf(s->a, "its loadBalancerClass %s is another controller's",
                                          svc->lb_class);
            services[i] = named;
        }
    }
    plan_shares_done(shares);
    out->services = services;
    return out;
}

static int plan_all(struct cmd_session *s)
{
    struct asking x = {
        .s = s,
        .batch_keys = ARENA_ARRAY(s->a, const char *, s->n_wanted + 1),
        .asked = ARENA_ARRAY(s->a, bool, s->n_wanted + 1),
        .extra = ARENA_ARRAY(s->a, const struct tt_plan *, s->n_wanted + 1),
    };
    ask_all(&x);
    const struct tt_plan **all = ARENA_ARRAY(s->a, const struct tt_plan *, s->n_plans + x.n_extra);
    for (size_t i = 0; i < s->n_plans + x.n_extra; i++) {
        all[i] = i < s->n_plans ? s->plans[i] : x.extra[i - s->n_plans];
    }
    const struct tt_plan *plan =
        with_foreign_named(s, plan_join(s->a, all, s->n_plans + x.n_extra));
    bool changes = false;
    for (uint32_t i = 0; i < plan->n_operations; i++) {
        changes |= plan->operations[i]->verb != TT_OP_KEEP;
    }
    print_plan(s, plan);
    return x.failed ? 1 : changes ? 2 : 0;
}

int cmd_plan(int argc, char **argv)
{
    struct cmd_session s;
    struct err err = ERR_INIT;
    bool done = false;
    int status;
    int code = cmd_session_begin(&s, CMD_PLAN, usage, argc, argv, &done, &err);
    if (code == ERR_OK && !done) {
        code = cmd_session_load(&s, &err);
        code = code == ERR_OK ? cmd_namespaces_check_asked(&s, &err) : code;
    }
    if (code == ERR_OK && !done && (s.plugin->desc.plan != NULL || cmd_validates(&s))) {
        code = cmd_session_open(&s, &err);
        code = code == ERR_OK ? cmd_left_add(&s, &err) : code;
    }
    if (code != ERR_OK) {
        status = cmd_session_fail(&s, &err);
    } else if (done) {
        status = 0;
    } else {
        status =
            cmd_session_end(&s, s.plugin->desc.plan == NULL ? plan_unplanned(&s) : plan_all(&s));
    }
    cmd_session_done(&s);
    return status;
}
