/* SPDX-License-Identifier: Apache-2.0 */
/* credentials.c: tokens, basic authentication, impersonation, whatever they come from (see
 * credentials.h).
 *
 * Nothing is attached for servers without TLS (§4.2); tokens appear in no error. */
#include "controller/kube/client/credentials.h"

#include <string.h>

#include "common/base/str.h"

static int ask_source(const struct kube_config *c, struct arena *a,
                      const struct credentials_waiter *waiter, struct kube_credentials *ret,
                      struct err *err)
{
    struct credentials_given given;
    int rc = credentials_source_get(c->issuer, a, waiter, &given, err);
    if (rc == ERR_OK) {
        ret->bearer = given.token;
        ret->generation = given.generation;
    }
    return rc;
}

/* The file's token, or the fixed one as long as the file gives none. */
static int get_token(const struct kube_config *c, struct arena *a, const char **ret,
                     struct err *err)
{
    if (c->token_file == NULL) {
        *ret = c->token;
        return ERR_OK;
    }
    char *text = NULL;
    size_t n = 0;
    uint64_t generation;
    struct err why = ERR_INIT;
    int rc = file_watch_get(c->token_file, a, &text, &n, &generation, &why);
    if (rc != ERR_OK && c->token == NULL) {
        return err_set(err, ERR_AUTH, "token of user \"%s\": %s", c->user, why.message);
    }
    *ret = rc == ERR_OK ? str_trim(a, text) : c->token;
    return ERR_OK;
}

static const char *basic_value(const struct kube_config *c, struct arena *a)
{
    const char *pair = arena_printf(a, "%s:%s", str_nonnull(c->username), str_nonnull(c->password));
    return arena_printf(a, "Basic %s", str_base64_encode(a, pair, strlen(pair), false));
}

int kube_credentials_get(const struct kube_config *c, struct arena *a, size_t spare,
                         struct kube_credentials *ret, struct err *err)
{
    return kube_credentials_wait(c, a, spare, NULL, ret, err);
}

int kube_credentials_wait(const struct kube_config *c, struct arena *a, size_t spare,
                          const struct credentials_waiter *waiter, struct kube_credentials *ret,
                          struct err *err)
{
    struct kube_credentials out = {0};
    out.headers = ARENA_ARRAY(a, struct http_header, c->n_impersonate + 2 + spare);
    out.headers[out.n_headers++] =
        (struct http_header){.name = "Accept", .value = "application/json, */*"};
    if (!c->credentials_allowed) {
        *ret = out;
        return ERR_OK;
    }
    int rc =
        c->issuer != NULL ? ask_source(c, a, waiter, &out, err) : get_token(c, a, &out.bearer, err);
    if (rc != ERR_OK) {
        return rc;
    }
    if (out.bearer == NULL && (c->username != NULL || c->password != NULL)) {
        out.headers[out.n_headers++] =
            (struct http_header){.name = "Authorization", .value = basic_value(c, a)};
    }
    for (size_t i = 0; i < c->n_impersonate; i++) {
        out.headers[out.n_headers++] = c->impersonate[i];
    }
    *ret = out;
    return ERR_OK;
}

bool kube_credentials_renew(const struct kube_config *c, struct arena *a,
                            const struct kube_credentials *used)
{
    const char *token = NULL;
    if (!c->credentials_allowed) {
        return false;
    }
    if (c->issuer != NULL) {
        return credentials_source_renew(c->issuer, used->generation);
    }
    if (c->token_file == NULL) {
        return false;
    }
    file_watch_expire(c->token_file);
    return get_token(c, a, &token, NULL) == ERR_OK && !str_eq(token, used->bearer);
}

void kube_credentials_mask(const struct kube_credentials *creds, struct err *err)
{
    err_mask(err, creds->bearer);
    for (size_t i = 0; i < creds->n_headers; i++) {
        if (str_eq(creds->headers[i].name, "Authorization")) {
            const char *blank = strchr(creds->headers[i].value, ' ');
            err_mask(err, blank == NULL ? creds->headers[i].value : blank + 1);
        }
    }
}

struct http_config kube_http_config(const struct kube_config *c, const char *user_agent)
{
    return (struct http_config){
        .user_agent = user_agent,
        .tls = &c->tls,
        .proxy_url = c->proxy_url,
        .no_http2 = c->no_http2,
    };
}
