/* SPDX-License-Identifier: Apache-2.0 */
/* credentials_account.c: TokenRequests (see credentials_account.h).
 *
 * Runs in the thread of the issuer.  Must not log tokens. */
#include "controller/kube/client/credentials_account.h"

#include <stdlib.h>
#include <string.h>

#include "controller/kube/client/credentials_source.h"

#define TOKEN_S      3600
#define TOKEN_MIN_S  600
#define LEAD_PERCENT 20
#define TRIES        4
#define PAUSE_MS     500
#define ANSWER_MAX   ((size_t)1 << 20)
#define CA_MAX       ((size_t)1 << 20)
#define CA_EVERY_MS  ((int64_t)5 * 60 * 1000)

struct account {
    struct account_args args;
};

static int call(const struct account *x, struct arena *a, const struct kube_request *req,
                struct cancel *cancel, struct kube_response *ret, struct err *err)
{
    struct kube_request r = *req;
    r.max_body = ANSWER_MAX;
    return kube_client_do(x->args.client, a, &r, cancel, ret, err);
}

/* Of the account, of its collection (`name` NULL), or of what is below it (`sub`). */
static int path_of(const struct account *x, struct arena *a, const char *name, const char *sub,
                   char **ret, struct err *err)
{
    return kube_path(a, "v1", x->args.ns, "serviceaccounts", name, sub, ret, err);
}

/* Another client may make it at the same time. */
static int ensure_account(const struct account *x, struct arena *a, struct cancel *cancel,
                          struct err *err)
{
    struct kube_response resp;
    char *one = NULL;
    char *all = NULL;
    int rc = path_of(x, a, x->args.name, NULL, &one, err);
    if (rc == ERR_OK) {
        rc = path_of(x, a, NULL, NULL, &all, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    const struct kube_request get = {.method = "GET", .path = one};
    const struct kube_request post = {
        .method = "POST",
        .path = all,
        .body = arena_printf(a,
                             "{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{"
                             "\"name\":\"%s\",\"namespace\":\"%s\"}}",
                             x->args.name, x->args.ns)};
    rc = call(x, a, &get, cancel, &resp, err);
    if (rc != ERR_NOT_FOUND) {
        return rc;
    }
    err_clear(err);
    rc = call(x, a, &post, cancel, &resp, err);
    if (rc == ERR_EXISTS) {
        err_clear(err);
        rc = ERR_OK;
    }
    return rc;
}

/* Clocks may differ: a life that cannot be is made one that can. */
static void bound_life(const struct account *x, struct credential *c)
{
    int64_t now_us = clock_wall_us(x->args.clock);
    int64_t life_us = c->expires_us - now_us;
    if (life_us < (int64_t)TOKEN_MIN_S * 1000000) {
        c->expires_us = now_us + (int64_t)TOKEN_MIN_S * 1000000;
    } else if (life_us > (int64_t)TOKEN_S * 1000000) {
        c->expires_us = now_us + (int64_t)TOKEN_S * 1000000;
    }
}

static int request_token(const struct account *x, struct arena *a, struct cancel *cancel,
                         struct credential *ret, struct err *err)
{
    struct kube_response resp;
    char *path = NULL;
    int rc = path_of(x, a, x->args.name, "token", &path, err);
    if (rc != ERR_OK) {
        return rc;
    }
    const struct kube_request post = {
        .method = "POST",
        .path = path,
        .body =
            arena_printf(a,
                         "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenRequest\""
                         ",\"metadata\":{},\"spec\":{\"audiences\":null,"
                         "\"expirationSeconds\":%d}}",
                         TOKEN_S)};
    rc = call(x, a, &post, cancel, &resp, err);
    if (rc == ERR_OK) {
        rc = credentials_parse_token_request(a, resp.body, resp.body_len, ret, err);
    }
    if (rc == ERR_OK) {
        bound_life(x, ret);
    }
    return rc;
}

static int fetch(void *arg, struct arena *a, struct cancel *cancel, struct credential *ret,
                 struct err *err)
{
    const struct account *x = arg;
    struct credential c = {0};
    int rc = ensure_account(x, a, cancel, err);
    if (rc == ERR_OK) {
        rc = request_token(x, a, cancel, &c, err);
    }
    if (rc == ERR_OK) {
        *ret = c;
    } else if (rc != ERR_CANCELLED) {
        (void)err_prefix(err, "failed to get token for %s/%s", x->args.ns, x->args.name);
    }
    return rc;
}

struct kube_config *account_config_new(const struct account_args *args)
{
    const struct kube_config *m = args->main;
    struct arena *arena = arena_new();
    struct kube_config *c = ARENA_NEW(arena, struct kube_config);
    struct account *x = xcalloc(1, sizeof *x);
    *c = (struct kube_config){
        .a = arena,
        .server = m->server,
        .context = m->context,
        .source = m->source,
        .ns = m->ns,
        .tls = {.ca_pem = m->tls.ca_pem,
                .server_name = m->tls.server_name,
                .insecure = m->tls.insecure},
        .proxy_url = m->proxy_url,
        .disable_compression = m->disable_compression,
        .credentials_allowed = m->credentials_allowed,
        .user = arena_printf(arena, "%s/%s", args->ns, args->name),
        .cluster = m->cluster,
        .ca_path = m->ca_path,
        .no_http2 = m->no_http2,
    };
    if (m->tls.ca_file != NULL) { /* a watch of its own: each configuration frees its files */
        c->tls.ca_file = file_watch_new(m->ca_path, CA_MAX, CA_EVERY_MS, args->clock);
    }
    x->args = *args;
    x->args.clock = args->clock == NULL ? clock_real() : args->clock;
    c->issuer = credentials_source_new(&(struct credentials_source_args){
        .fetch = fetch,
        .done = free,
        .arg = x,
        .name = "TokenRequest",
        .clock = x->args.clock,
        .lead_percent = LEAD_PERCENT,
        .tries = TRIES,
        .pause_ms = PAUSE_MS,
    });
    return c;
}
