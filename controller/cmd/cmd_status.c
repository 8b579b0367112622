/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_status.c: `trimtab status`: what a running trimtab says of itself and of each Service.
 *
 * It asks the process's own HTTPS port for /status, with the credentials of the kubeconfig; that
 * port asks the API server whether they suffice (docs/operations.md).  Nothing is read from the
 * cloud, and nothing is changed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/data/json.h"
#include "common/net/url_build.h"
#include "controller/base/term.h"
#include "controller/cmd/cmd_session.h"
#include "controller/cmd/commands.h"
#include "controller/kube/client/unreachable.h"
#include "controller/metrics/client_metrics.h"
#include "controller/status/status.h"

#define DEFAULT_SERVER "https://127.0.0.1:10258"
#define ANSWER_MAX     ((size_t)64 * 1024 * 1024)
#define CA_MAX         ((size_t)1024 * 1024)
#define CA_EVERY_MS    300000

static const char usage[] =
    "Shows the state of a running trimtab: the leader, and the state of each Service, failures "
    "first.\n"
    "\n"
    "Usage:\n"
    "  trimtab status [[NAMESPACE/|svc/]NAME…] [-n NAMESPACE] [-f FILE…] [--server=URL] [flags]\n"
    "\n"
    "It asks the process's own HTTPS port, as the user of the kubeconfig; that needs the right to\n"
    "get /status (ClusterRole with nonResourceURLs). From elsewhere, let kubectl bring the port "
    "here:\n"
    "  kubectl -n kube-system port-forward deploy/trimtab 10258\n"
    "\n"
    "Examples:\n"
    "  trimtab status --certificate-authority=trimtab-ca.crt\n"
    "  trimtab status demo/web --insecure-skip-tls-verify\n"
    "  # the Services of manifests\n"
    "  trimtab status -f k8s/ --certificate-authority=trimtab-ca.crt\n"
    "  trimtab status --server=https://10.0.0.7:10258 -o json\n"
    "\n"
    "Exit status: 0 all is well, 2 a Service needs attention, 1 error, or no such Service.\n";

struct ask {
    struct arena *a;
    struct cmd_args args;
    struct cmd_targets targets;
    const char **keys; /* Services that are asked about; none: all */
    size_t n_keys;
    const char *server;
    struct cmd_wait *wait;
    struct kube_config *config;
    struct kube_client *client;
    struct file_watch *ca;      /* of --certificate-authority */
    struct file_watch *kept_ca; /* the kubeconfig's, in its place again at the end */
};

/* The kubeconfig's user; anonymous where neither a flag nor $KUBECONFIG names a kubeconfig and the
 * default one fails. */
static int load_user(struct ask *q, struct err *err)
{
    const struct kube_config_args user = {.kubeconfig = q->args.kubeconfig,
                                          .context = q->args.context,
                                          .use_environment = true,
                                          .clock = clock_real()};
    const struct kube_config_args anonymous = {.master = q->server, .clock = clock_real()};
    bool named = q->args.kubeconfig != NULL || q->args.context != NULL ||
                 !str_is_empty(getenv("KUBECONFIG"));

    if (kube_config_load(&user, &q->config, err) == ERR_OK) {
        return ERR_OK;
    }
    if (named) {
        return kube_config_blame(q->args.kubeconfig, err);
    }
    err_clear(err);
    return kube_config_load(&anonymous, &q->config, err);
}

/* Neither the kubeconfig's server nor what is trusted of it: another one is asked. */
static int open_server(struct ask *q, struct err *err)
{
    int code = load_user(q, err);

    if (code != ERR_OK) {
        return code;
    }
    struct kube_config *c = q->config;
    c->server = q->server;
    c->credentials_allowed = str_has_prefix(q->server, "https://");
    c->tls.server_name = NULL;
    c->tls.ca_pem = NULL;
    c->tls.insecure = q->args.insecure;
    q->kept_ca = c->tls.ca_file; /* the configuration's own, which frees it */
    c->tls.ca_file = NULL;
    if (q->args.ca_file != NULL) {
        q->ca = file_watch_new(q->args.ca_file, CA_MAX, CA_EVERY_MS, clock_real());
        c->tls.ca_file = q->ca;
    }
    q->client =
        kube_client_new(&(struct kube_client_args){.config = c,
                                                   .user_agent = "trimtab-status/" TRIMTAB_VERSION,
                                                   .qps = -1,
                                                   .cancel = cmd_wait_cancel(q->wait),
                                                   .observe = client_metrics_log});
    return ERR_OK;
}

static int advise(const struct ask *q, struct err *err)
{
    struct err why = *err;

    if (why.http_status == 404 && str_eq(why.reason, "NotFound") &&
        (q->n_keys == 1 || q->targets.ns != NULL)) {
        return why.code; /* trimtab's own words */
    }
    if (why.http_status == 403 || why.http_status == 401) {
        return err_set(err, why.code,
                       "%s/status: %s; the user of the kubeconfig needs the right to get the "
                       "nonResourceURL /status",
                       q->server, why.message);
    }
    if (str_eq(why.reason, "untrusted")) {
        return err_set(err, why.code,
                       "%s: %s; a certificate of its own making is not trusted: give "
                       "--certificate-authority, or --insecure-skip-tls-verify on a way that you "
                       "trust",
                       q->server, why.message);
    }
    if (why.http_status == 0 && why.code == ERR_AUTH) { /* nothing was asked: no credentials */
        return kube_advise_refusal(q->config, err);
    }
    if (why.http_status == 0) {
        return err_set(err, why.code,
                       "%s; is trimtab running there (--server), with --secure-port?", why.message);
    }
    (void)err_prefix(err, "%s/status", q->server);
    return why.code;
}

static const char *query_of(const struct ask *q)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;

    url_append_pair(&b, "o", "json");
    if (q->n_keys == 1) {
        url_append_pair(&b, "service", q->keys[0]);
    } else if (q->n_keys == 0 && q->targets.ns != NULL) {
        url_append_pair(&b, "ns", q->targets.ns);
    }
    return str_buf_to_arena(&b, q->a);
}

static int fetch(struct ask *q, struct kube_response *ret, struct err *err)
{
    int code = open_server(q, err);

    if (code == ERR_OK) {
        code = cmd_targets_keys(q->a, &q->targets, q->config->ns, &q->keys, &q->n_keys, err);
    }
    if (code != ERR_OK) {
        return code;
    }
    const struct kube_request req = {.method = "GET",
                                     .path = "/status",
                                     .query = query_of(q),
                                     /* a little longer: it is the wait that ends, and says so */
                                     .timeout_ms = cmd_wait_left_ms(q->wait) + 1000,
                                     .timeout_untold = true,
                                     .max_body = ANSWER_MAX,
                                     .no_retry = true};
    cmd_wait_for(q->wait, arena_printf(q->a, "asking %s", q->server));
    code = kube_client_do(q->client, q->a, &req, NULL, ret, err);
    cmd_wait_end(q->wait);
    return code == ERR_OK || cmd_wait_expired(q->wait) ? code : advise(q, err);
}

/* 2 when something needs attention. */
static int verdict(const struct status_view *v, const struct status_filter *f)
{
    for (size_t i = 0; i < v->n_services; i++) {
        enum board_state state = v->services[i].row.state;
        if (status_shows(f, &v->services[i]) &&
            (state == BOARD_FAILED || state == BOARD_RETRYING)) {
            return 2;
        }
    }
    return 0;
}

/* Whether the key comes from a manifest of another type than LoadBalancer, as in a folder with a
 * whole application. */
static bool may_be_absent(const struct ask *q, size_t key)
{
    if (key < q->targets.words.n) {
        return false;
    }
    const struct cmd_manifest *m = &q->targets.manifests.items[key - q->targets.words.n];
    return !str_eq(json_str(json_member(m->object, "spec"), "type"), "LoadBalancer");
}

/* Each Service that was named must be there, also where an older process answers; a note on stderr
 * names the manifests that have no load balancer. */
static int check_shown(const struct ask *q, const struct status_view *v, struct err *err)
{
    _cleanup_(str_buf_done) struct str_buf absent = STR_BUF_INIT;
    const char **shown = ARENA_ARRAY(q->a, const char *, v->n_services + 1);
    size_t n_absent = 0;

    for (size_t i = 0; i < v->n_services; i++) {
        shown[i] = v->services[i].row.key;
    }
    for (size_t k = 0; k < q->n_keys; k++) {
        bool found = false;
        for (size_t i = 0; !found && i < v->n_services; i++) {
            found = str_eq(q->keys[k], shown[i]);
        }
        if (!found && !may_be_absent(q, k)) {
            return err_set(err, ERR_NOT_FOUND, "Service %s not found, or not managed by trimtab%s",
                           q->keys[k], str_near_hint(q->a, q->keys[k], shown, v->n_services));
        }
        if (!found) {
            str_appendf(&absent, "%s%s", n_absent++ > 0 ? ", " : "", q->keys[k]);
        }
    }
    if (n_absent > 0 && n_absent == q->n_keys) {
        return err_set(err, ERR_NOT_FOUND,
                       "no Service of the manifests has a load balancer: %.700s",
                       str_buf_text(&absent));
    }
    if (n_absent > 0) {
        fprintf(stderr, "note: without a load balancer: %s\n",
                str_clean(q->a, str_buf_text(&absent)));
    }
    return ERR_OK;
}

static int print(struct ask *q, const struct kube_response *resp, struct err *err)
{
    struct json_object *o = NULL;
    struct status_view view;
    struct status_filter filter = {.service = q->n_keys == 1 ? q->keys[0] : NULL,
                                   .ns = q->targets.ns,
                                   .only = q->keys,
                                   .n_only = q->n_keys};
    _cleanup_(str_buf_done) struct str_buf out = {.columns = term_of(STDOUT_FILENO, false).columns};
    int code = json_parse_arena(q->a, resp->body, resp->body_len, NULL, &o, err);

    if (code == ERR_OK) {
        code = status_read(o, q->a, &view, err);
    }
    if (code != ERR_OK) {
        (void)err_prefix(err, "%s/status", q->server);
        return 1;
    }
    if (check_shown(q, &view, err) != ERR_OK) {
        return 1;
    }
    if (str_eq(q->args.output, "json")) {
        status_json(&out, &view, &filter);
    } else {
        status_text(&out, &view, &filter);
    }
    fputs(str_buf_text(&out), stdout);
    return verdict(&view, &filter);
}

static int run(struct ask *q, struct err *err)
{
    struct kube_response resp;

    q->server = str_or(q->args.server, DEFAULT_SERVER);
    q->args.validate = "ignore"; /* manifests only name Services here */
    if (cmd_targets_read(q->a, &q->args, &q->targets, err) != ERR_OK) {
        return 1;
    }
    cmd_wait_free(q->wait); /* the patience for trimtab begins now: a pipe may be slow */
    q->wait = cmd_wait_new(q->args.timeout_ms);
    return fetch(q, &resp, err) == ERR_OK ? print(q, &resp, err) : 1;
}

int cmd_status(int argc, char **argv)
{
    struct ask q = {.a = arena_new()};
    struct err err = ERR_INIT;
    int status = 1;

    cmd_log_setup(0);
    if (cmd_args_parse(q.a, CMD_STATUS, argc, argv, NULL, 0, &q.args, &err) != ERR_OK) {
        status = cmd_fail_usage("status", &err);
    } else if (q.args.help) {
        _cleanup_(str_buf_done) struct str_buf b = cmd_help_begin(usage);
        cmd_args_help(&b, CMD_STATUS, NULL, 0);
        fputs(str_buf_text(&b), stdout);
        status = 0;
    } else if (http_global_init(&err) == ERR_OK) {
        cmd_log_setup(q.args.verbosity);
        q.wait = cmd_wait_new(q.args.timeout_ms);
        status = run(&q, &err);
        if (err.code != ERR_OK) {
            (void)cmd_wait_blame(q.wait, &err);
            fprintf(stderr, "error: %s\n", err.message);
        }
        kube_client_free(q.client);
        if (q.client != NULL) {
            q.config->tls.ca_file = q.kept_ca;
        }
        kube_config_free(q.config);
        file_watch_free(q.ca);
        cmd_wait_free(q.wait);
        http_global_done();
    }
    arena_free(q.a);
    return status;
}
