/* SPDX-License-Identifier: Apache-2.0 */
/* keys.c: who calls: access keys, static and temporary, and the check of a request's signature
 * against them.
 *
 * One static key is there from the start; STS, the metadata service and the container endpoint hand
 * out temporary ones, which want their session token with each request and expire.  Refusals are in
 * the words of the service:  EC2 says AuthFailure where the others say InvalidClientTokenId, and
 * for a signature that is wrong, too.
 * Source: docs/spec/aws.md §2.2, §2.7, §2.8. */
#include "sim/aws/aws.h"
#include "sim/aws/sigv4.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define SKEW_S      300 /* a request may be so old, or so far ahead */
#define TOO_OLD_S   900 /* and beyond this it is said to have expired */
#define KEYS_KEEP   86400
#define SWEEP_ABOVE 1000

/* --- keys ------------------------------------------------------------------------------------- */

static void amz_key_free(void *p)
{
    struct amz_key *key = p;
    if (key) {
        free(key->id);
        free(key->secret);
        free(key->session);
        free(key->arn);
        free(key);
    }
}

void amz_keys_init(struct aws *aws)
{
    struct amz_key *key = xcalloc(1, sizeof(*key));
    key->id = xstrdup(AMZ_ACCESS_KEY);
    key->secret = xstrdup(AMZ_SECRET_KEY);
    key->arn = xstrdup("arn:aws:iam::" AMZ_ACCOUNT ":user/trimtab-sim");
    aws->keys = map_new(amz_key_free);
    map_set(aws->keys, key->id, key);
}

/* Keys that expired long ago would pile up. */
static void sweep(struct aws *aws, int64_t now)
{
    size_t n = 0;
    if (map_size(aws->keys) < SWEEP_ABOVE) {
        return;
    }
    const char **ids = map_keys(aws->keys, &n);
    for (size_t i = 0; i < n; i++) {
        const struct amz_key *key = map_get(aws->keys, ids[i]);
        if (key->session && key->expires_s + KEYS_KEEP < now) {
            map_remove(aws->keys, ids[i]);
        }
    }
    free(ids);
}

const struct amz_key *amz_key_new(struct aws *aws, const char *arn, int64_t lifetime_s)
{
    struct arena *a = arena_new();
    int64_t now = amz_wall_s(aws);
    unsigned char bytes[96];
    sweep(aws, now);
    struct amz_key *key = xcalloc(1, sizeof(*key));
    rng_bytes(sim_rng(aws->sim), bytes, sizeof(bytes));
    key->id = xasprintf("ASIA%s", str_upper(a, amz_new_hex(aws, a, 16)));
    key->secret = xstrdup(str_base64_encode(a, bytes, 30, false));
    key->session = xstrdup(str_base64_encode(a, bytes + 30, sizeof(bytes) - 30, false));
    key->arn = xstrdup(arn);
    key->expires_s = now + lifetime_s;
    map_set(aws->keys, key->id, key);
    arena_free(a);
    return key;
}

/* --- the signature ---------------------------------------------------------------------------- */

static const char *header_of(void *arg, const char *name)
{
    struct amz_request *q = arg;
    struct str_buf b = STR_BUF_INIT;
    const char *got = NULL, *value;
    size_t found = 0;
    for (size_t i = 0; (value = http_req_header_at(q->call->req, i, &got)); i++) {
        if (strcasecmp(got, name) == 0) {
            str_appendf(&b, "%s%s", found ? "," : "", value);
            found++;
        }
    }
    const char *text = found ? str_buf_to_arena(&b, q->a) : NULL;
    str_buf_done(&b);
    return text;
}

static bool is_signed(const struct amz_authorization *auth, const char *name)
{
    for (size_t i = 0; i < auth->n_headers; i++) {
        if (strcasecmp(auth->headers[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static bool check_signed_headers(struct amz_request *q, const struct amz_authorization *auth)
{
    const char *name = NULL;
    for (size_t i = 0; http_req_header_at(q->call->req, i, &name); i++) {
        bool needed = strcasecmp(name, "host") == 0 || strncasecmp(name, "x-amz-", 6) == 0;
        if (needed && !is_signed(auth, name)) {
            return amz_refuse(q, "SignatureDoesNotMatch",
                              "'%s' must be a 'SignedHeader' in the AWS Authorization.",
                              str_lower(q->a, name));
        }
    }
    return true;
}

/* "20260102T030405Z" as seconds; false if it is not one. */
static bool read_date(const char *text, int64_t *ret_s)
{
    struct tm tm = {0};
    int used = 0;
    if (strlen(text) != 16 ||
        sscanf(text, "%4d%2d%2dT%2d%2d%2dZ%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
               &tm.tm_min, &tm.tm_sec, &used) != 6 ||
        used != 16) {
        return false;
    }
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    *ret_s = (int64_t)timegm(&tm);
    return true;
}

static bool check_date(struct amz_request *q, const struct amz_authorization *auth,
                       const char *amz_date)
{
    int64_t sent = 0, now = amz_wall_s(q->aws);
    if (!read_date(amz_date, &sent)) {
        return amz_refuse(q, "IncompleteSignature",
                          "Date must be in ISO-8601 'basic format'. Got '%.40s'.", amz_date);
    }
    if (strncmp(amz_date, auth->date, 8) != 0) {
        return amz_refuse(q, "SignatureDoesNotMatch",
                          "Date in Credential scope does not match YYYYMMDD from ISO-8601 version "
                          "of date from HTTP: '%s' != '%.8s'.",
                          auth->date, amz_date);
    }
    int64_t apart = sent > now ? sent - now : now - sent;
    if (apart <= SKEW_S) {
        return true;
    }
    bool expired = q->service == AMZ_EC2 || apart > TOO_OLD_S;
    return amz_refuse(q, expired ? "RequestExpired" : "RequestTimeTooSkewed",
                      "The request was signed %lld s %s the time of the server (%s).",
                      (long long)apart, sent > now ? "after" : "before", amz_now(q->aws, q->a));
}

static bool check_scope(struct amz_request *q, const struct amz_authorization *auth)
{
    const char *service = amz_dialects[q->service].scope;
    if (!str_eq(auth->region, q->aws->region)) {
        return amz_refuse(q, "SignatureDoesNotMatch",
                          "Credential should be scoped to a valid region, not '%.40s'.",
                          auth->region);
    }
    return str_eq(auth->service, service) ||
           amz_refuse(q, "SignatureDoesNotMatch",
                      "Credential should be scoped to correct service: '%s'.", service);
}

static bool refuse_key(struct amz_request *q)
{
    return q->service == AMZ_EC2
               ? amz_refuse(q, "AuthFailure",
                            "AWS was not able to validate the provided access credentials")
               : amz_refuse(q, "InvalidClientTokenId",
                            "The security token included in the request is invalid.");
}

static bool check_key(struct amz_request *q, const struct amz_key *key)
{
    if (!key || !str_eq(key->session, header_of(q, "X-Amz-Security-Token"))) {
        return refuse_key(q);
    }
    if (!key->session || amz_wall_s(q->aws) < key->expires_s) {
        return true;
    }
    return q->service == AMZ_EC2
               ? amz_refuse(q, "RequestExpired", "Request has expired.")
               : amz_refuse_status(q, 403, "ExpiredToken",
                                   "The security token included in the request is expired");
}

static bool check_signature(struct amz_request *q, const struct amz_authorization *auth,
                            const char *amz_date, const struct amz_key *key)
{
    const char *question = strchr(q->call->target, '?');
    const struct amz_message m = {
        .method = q->call->method,
        .path = q->call->path,
        .query = question ? question + 1 : NULL,
        .body = q->call->body,
        .body_len = q->call->body_len,
        .header = header_of,
        .arg = q,
    };
    const char *want = amz_signature(q->a, &m, auth, amz_date, key->secret);
    size_t n = strlen(auth->signature);
    if (want && strlen(want) == n && CRYPTO_memcmp(want, auth->signature, n) == 0) {
        return true;
    }
    return q->service == AMZ_EC2
               ? refuse_key(q) /* it does not tell a wrong secret from a wrong key */
               : amz_refuse(q, "SignatureDoesNotMatch",
                            "The request signature we calculated does not match the signature you "
                            "provided. Check your AWS Secret Access Key and signing method.");
}

bool amz_authenticate(struct amz_request *q)
{
    const char *text = header_of(q, "Authorization"), *amz_date = header_of(q, "X-Amz-Date");
    struct amz_authorization auth;
    bool anonymous = q->service == AMZ_STS && str_eq(q->op->name, "AssumeRoleWithWebIdentity");
    if (anonymous || !json_bool(q->aws->settings, "verify_signatures", true)) {
        q->caller_arn = "arn:aws:iam::" AMZ_ACCOUNT ":user/trimtab-sim";
        return true;
    }
    if (!text) {
        return amz_refuse(q, "MissingAuthenticationToken",
                          "The request must contain either a valid (registered) AWS access key ID "
                          "or X.509 certificate.");
    }
    const char *wrong = amz_authorization_parse(q->a, text, &auth);
    if (wrong || !amz_date) {
        return amz_refuse(q, "IncompleteSignature", "%s",
                          wrong ? wrong
                                : "Authorization header requires existence of "
                                  "an 'X-Amz-Date' header.");
    }
    const struct amz_key *key = map_get(q->aws->keys, auth.access_key);
    if (!check_signed_headers(q, &auth) || !check_scope(q, &auth) || !check_key(q, key) ||
        !check_date(q, &auth, amz_date) || !check_signature(q, &auth, amz_date, key)) {
        return false;
    }
    q->access_key = key->id;
    q->caller_arn = arena_strdup(q->a, key->arn);
    return true;
}
