/* SPDX-License-Identifier: Apache-2.0 */
/* identity.c: the main configuration, and the one that speaks for the service account (see
 * identity.h).
 *
 * Must not send anything: tokens are requested on first use. */
#include "controller/host/identity.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/kube/client/credentials_account.h"
#include "controller/metrics/client_metrics.h"

#define ACCOUNT_NS "kube-system"

struct identity {
    struct identity_args args;
    char agent[USER_AGENT_MAX];
    struct kube_config *config;
    struct kube_client *tokens; /* NULL without an account, as the next one */
    struct kube_config *account;
    atomic_llong until_s; /* of the plugin's certificate; 0: none */
};

/* ---- metrics --------------------------------------------------------------------------------- */

static void count_exec(void *arg, int code, const char *call_status)
{
    struct identity *i = arg;
    char text[16];
    (void)snprintf(text, sizeof(text), "%d", code);
    const struct tt_kv labels[] = {{"code", text}, {"call_status", call_status}};
    metrics_add(i->args.metrics, METRIC_EXEC_CALLS, labels, ARRAY_LEN(labels), 1);
}

void identity_show(void *arg, struct metrics *m)
{
    struct identity *i = arg;
    long long until_s = atomic_load(&i->until_s);
    double left_s = (double)(until_s - clock_wall_s(i->args.clock));
    metrics_set(m, METRIC_EXEC_TTL, NULL, 0, until_s == 0 ? (double)INFINITY : left_s);
}

static void note_certificate(void *arg, bool has, int64_t until_s)
{
    struct identity *i = arg;
    atomic_store(&i->until_s, has ? (long long)until_s : 0);
    identity_show(i, i->args.metrics);
}

static void note_rotation(void *arg, double age_s)
{
    struct identity *i = arg;
    metrics_observe(i->args.metrics, METRIC_EXEC_ROTATION, NULL, 0, age_s);
}

/* ---- configurations -------------------------------------------------------------------------- */

static void observe_request(void *arg, const struct kube_sent *sent)
{
    const struct identity *i = arg;
    client_metrics_count(i->args.metrics, i->config->server, sent);
}

static void make_account(struct identity *i)
{
    user_agent_make(USER_AGENT_MAIN, i->agent);
    i->tokens = kube_client_new(&(struct kube_client_args){
        .config = i->config,
        .user_agent = i->agent,
        .qps = i->args.qps,
        .burst = i->args.burst,
        .clock = i->args.clock,
        .observe = observe_request,
        .observe_arg = i,
    });
    i->account = account_config_new(&(struct account_args){
        .main = i->config,
        .client = i->tokens,
        .ns = ACCOUNT_NS,
        .name = USER_AGENT_SERVICES,
        .clock = i->args.clock,
    });
}

struct identity_args identity_args_of(const struct options *o, struct metrics *m,
                                      struct clock *clock)
{
    return (struct identity_args){
        .kubeconfig = o->kubeconfig,
        .master = o->master,
        .use_account = o->service_account_credentials,
        .metrics = m,
        .clock = clock,
        .qps = o->kube_qps,
        .burst = (int)o->kube_burst,
    };
}

int identity_new(const struct identity_args *args, struct identity **ret, struct err *err)
{
    struct identity *i = xcalloc(1, sizeof(*i));
    i->args = *args;
    i->args.clock = args->clock == NULL ? clock_real() : args->clock;
    const struct kube_config_args where = {
        .kubeconfig = args->kubeconfig,
        .master = args->master,
        .clock = i->args.clock,
        .observer = {.exec_call = count_exec,
                     .certificate = note_certificate,
                     .rotated = note_rotation,
                     .arg = i},
    };
    if (kube_config_load(&where, &i->config, err) != ERR_OK) {
        identity_free(i);
        return kube_config_blame(args->kubeconfig, err);
    }
    if (args->use_account) {
        make_account(i);
    }
    *ret = i;
    return ERR_OK;
}

void identity_free(struct identity *i)
{
    if (i == NULL) {
        return;
    }
    kube_config_free(i->account); /* its issuer uses the client */
    kube_client_free(i->tokens);
    kube_config_free(i->config);
    free(i);
}

struct kube_config *identity_main(struct identity *i)
{
    return i->config;
}

struct kube_config *identity_services(struct identity *i)
{
    return i->account != NULL ? i->account : i->config;
}
