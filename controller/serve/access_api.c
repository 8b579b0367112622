/* SPDX-License-Identifier: Apache-2.0 */
/* access_api.c: see access_api.h.
 *
 * A try is a call of kube_client; between two tries it waits on a condition that a cancel wakes.
 * Must not log bodies:  they hold tokens. */
#include "controller/serve/access_api.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/lock.h"
#include "controller/metrics/client_metrics.h"
#include "controller/serve/access_metrics.h"
#include "controller/serve/access_review_rules.h"

#define QPS        200
#define BURST      400
#define CONFIG_MAX ((size_t)2 << 20)

struct access_api {
    struct access_api_args args; /* user_agent is the client's copy */
    struct kube_config *config;
    bool own_config; /* the process's, not ours to free */
    struct kube_client *client;
    struct mutex lock;
    struct cond woken;
};

void access_api_observe(void *arg, const struct kube_sent *sent)
{
    struct access_api *api = arg;
    client_metrics_count(api->args.metrics, api->config->server, sent);
    if (str_eq(sent->method, "POST")) {
        access_metrics_request(api->args.metrics, api->args.what, sent->status, sent->took_ms);
    }
}

static bool is_own(const struct access_api_args *args)
{
    return args->own != NULL && str_eq(str_nonnull(args->kubeconfig), str_nonnull(args->own_file));
}

/* Without a flag only a pod's files count. */
static int load(const struct access_api_args *args, struct kube_config **ret, struct err *err)
{
    const struct kube_config_args load = {.kubeconfig = args->kubeconfig, .clock = args->clock};
    if (is_own(args)) {
        *ret = args->own;
        return ERR_OK;
    }
    int rc = kube_config_load(&load, ret, err);
    if (rc == ERR_OK) {
        return ERR_OK;
    }
    if (str_is_empty(args->kubeconfig)) {
        *ret = NULL;
        return ERR_OK;
    }
    (void)kube_config_blame(args->kubeconfig, err);
    (void)err_prefix(err, "%s", args->flag);
    return rc;
}

int access_api_new(const struct access_api_args *args, struct access_api **ret, struct err *err)
{
    struct kube_config *config = NULL;
    int rc = load(args, &config, err);
    if (rc != ERR_OK || config == NULL) {
        *ret = NULL;
        return rc;
    }
    struct access_api *api = xcalloc(1, sizeof *api);
    api->args = *args;
    api->config = config;
    api->own_config = is_own(args);
    mutex_init(&api->lock);
    cond_init(&api->woken);
    const struct kube_client_args client = {
        .config = config,
        .user_agent = args->user_agent,
        .qps = QPS,
        .burst = BURST,
        .clock = args->clock,
        .cancel = args->cancel,
        .observe = access_api_observe,
        .observe_arg = api,
    };
    api->client = kube_client_new(&client);
    *ret = api;
    return ERR_OK;
}

void access_api_free(struct access_api *api)
{
    if (api == NULL) {
        return;
    }
    kube_client_free(api->client);
    if (!api->own_config) {
        kube_config_free(api->config);
    }
    cond_done(&api->woken);
    mutex_done(&api->lock);
    free(api);
}

const struct kube_config *access_api_config(const struct access_api *api)
{
    return api->config;
}

/* --- waiting ---------------------------------------------------------------------------------- */

static void wake(void *arg)
{
    struct access_api *api = arg;
    mutex_lock(&api->lock);
    cond_broadcast(&api->woken);
    mutex_unlock(&api->lock);
}

static bool is_over(struct access_api *api, struct cancel *cancel)
{
    return cancel_fired(cancel) || cancel_fired(api->args.cancel);
}

/* False when it was cancelled. */
static bool pause_until(struct access_api *api, struct cancel *cancel, int64_t until_ms)
{
    int mine = cancel == NULL ? 0 : cancel_hook(cancel, wake, api);
    int all = cancel_hook(api->args.cancel, wake, api);
    mutex_lock(&api->lock);
    while (!is_over(api, cancel) && clock_now_ms(api->args.clock) < until_ms) {
        clock_wait(api->args.clock, &api->woken, &api->lock, until_ms);
    }
    mutex_unlock(&api->lock);
    cancel_unhook(api->args.cancel, all);
    if (cancel != NULL) {
        cancel_unhook(cancel, mine);
    }
    return !is_over(api, cancel);
}

/* --- calls ------------------------------------------------------------------------------------ */

int access_api_post(struct access_api *api, struct arena *a, const struct access_post *post,
                    struct cancel *cancel, struct kube_response *ret, struct err *err)
{
    struct access_retry retry;
    struct err last = ERR_INIT;
    access_retry_begin(&retry, clock_now_ms(api->args.clock));
    for (;;) {
        const struct kube_request req = {
            .method = "POST",
            .path = post->path,
            .body = post->body,
            .secret = post->secret,
            .timeout_ms = ACCESS_QUESTION_MS,
            .timeout_untold = !api->args.tells_timeout,
            .max_body = ACCESS_ANSWER_BYTES_MAX,
            .no_retry = true,
        };
        int rc = kube_client_do(api->client, a, &req, cancel, ret, &last);
        if (rc == ERR_OK || rc == ERR_CANCELLED) {
            return err_copy(err, rc == ERR_OK ? NULL : &last);
        }
        int64_t now_ms = clock_now_ms(api->args.clock);
        int64_t at_ms;
        if (!access_retry_next(&retry, &last, now_ms, rng_unit(api->args.rng), &at_ms)) {
            return err_copy(err, &last);
        }
        if (last.http_status == 401 && api->config->token_file != NULL) {
            file_watch_expire(api->config->token_file);
        }
        if (!pause_until(api, cancel, at_ms)) {
            return err_set(err, ERR_CANCELLED, "stopped while waiting for another try");
        }
        err_clear(&last);
    }
}

int access_api_get(struct access_api *api, struct arena *a, const char *path,
                   struct kube_response *ret, struct err *err)
{
    const struct kube_request req = {
        .method = "GET",
        .path = path,
        .timeout_ms = ACCESS_QUESTION_MS,
        .timeout_untold = true,
        .max_body = CONFIG_MAX,
        .no_retry = true,
    };
    return kube_client_do(api->client, a, &req, NULL, ret, err);
}
