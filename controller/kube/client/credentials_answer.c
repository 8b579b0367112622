/* SPDX-License-Identifier: Apache-2.0 */
/* credentials_answer.c: ExecCredential and TokenRequest, read by hand (see credentials_answer.h).
 *
 * The decoder of common/data/json.h is not used, because it quotes what it refuses. */
#include "controller/kube/client/credentials_answer.h"

#include <string.h>

#include "common/base/timefmt.h"
#include "common/data/json.h"

#define ANSWER_MAX ((size_t)1 << 20)
#define DEPTH_MAX  16
#define VALUES_MAX 4096

static const struct json_limits limits = {
    .max_bytes = ANSWER_MAX, .max_depth = DEPTH_MAX, .max_values = VALUES_MAX};

/* The parser's complaint without the text around the place, which may be a token's. */
static int parse(struct arena *a, const char *text, size_t n, struct json_object **ret,
                 struct err *err)
{
    if (json_parse_arena(a, text, n, &limits, ret, NULL) != ERR_OK) {
        return err_set(err, ERR_INVALID, "decoding stdout: %s",
                       n == 0 ? "it is empty" : "it is no JSON");
    }
    if (!json_object_is_type(*ret, json_type_object)) {
        return err_set(err, ERR_INVALID, "decoding stdout: want an object");
    }
    return ERR_OK;
}

/* A text or nothing; null and "" are nothing. */
static int get_text(struct arena *a, struct json_object *o, const char *name, const char **ret,
                    struct err *err)
{
    struct json_object *value = json_member(o, name);
    if (value != NULL && !json_object_is_type(value, json_type_string)) {
        return err_set(err, ERR_INVALID, "decoding stdout: %s is no string", name);
    }
    const char *text = value == NULL ? "" : json_object_get_string(value);
    *ret = text[0] == '\0' ? NULL : arena_strdup(a, text);
    return ERR_OK;
}

static int get_token(struct arena *a, struct json_object *status, const char **ret, struct err *err)
{
    int rc = get_text(a, status, "token", ret, err);
    for (const char *p = rc == ERR_OK ? *ret : NULL; p != NULL && *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f) {
            return err_set(err, ERR_INVALID, "the token has a control byte");
        }
    }
    return rc;
}

static int get_expiry(struct arena *a, struct json_object *status, struct credential *ret,
                      struct err *err)
{
    const char *text = NULL;
    int rc = get_text(a, status, "expirationTimestamp", &text, err);
    if (rc != ERR_OK || text == NULL) {
        return rc;
    }
    ret->has_expiry = time_parse_rfc3339(text, &ret->expires_us);
    return ret->has_expiry ? ERR_OK
                           : err_set(err, ERR_INVALID,
                                     "decoding stdout: expirationTimestamp is no time of RFC 3339");
}

/* --- plugins ---------------------------------------------------------------------------------- */

static int check_type(struct arena *a, struct json_object *o, const char *api_version,
                      struct err *err)
{
    const char *version = NULL;
    const char *kind = NULL;
    int rc = get_text(a, o, "apiVersion", &version, err);
    if (rc == ERR_OK) {
        rc = get_text(a, o, "kind", &kind, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    if (version == NULL || kind == NULL) {
        return err_set(err, ERR_INVALID, "decoding stdout: '%s' is missing",
                       kind == NULL ? "kind" : "apiVersion");
    }
    if (!str_eq(version, api_version)) {
        return err_set(err, ERR_INVALID,
                       "exec plugin is configured to use API version %s, plugin returned version "
                       "%.100s",
                       api_version, version);
    }
    if (!str_eq(kind, "ExecCredential")) {
        return err_set(err, ERR_INVALID,
                       "decoding stdout: no kind \"%.100s\" is registered for version \"%s\"", kind,
                       version);
    }
    return ERR_OK;
}

static int read_status(struct arena *a, struct json_object *status, struct credential *ret,
                       struct err *err)
{
    struct credential c = {0};
    int rc = get_token(a, status, &c.token, err);
    if (rc == ERR_OK) {
        rc = get_text(a, status, "clientCertificateData", &c.cert_pem, err);
    }
    if (rc == ERR_OK) {
        rc = get_text(a, status, "clientKeyData", &c.key_pem, err);
    }
    if (rc == ERR_OK) {
        rc = get_expiry(a, status, &c, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    if (c.token == NULL && c.cert_pem == NULL && c.key_pem == NULL) {
        return err_set(err, ERR_INVALID, "exec plugin didn't return a token or cert/key pair");
    }
    if ((c.cert_pem == NULL) != (c.key_pem == NULL)) {
        return err_set(err, ERR_INVALID, "exec plugin returned only certificate or key, not both");
    }
    *ret = c;
    return ERR_OK;
}

int credentials_parse_exec(struct arena *a, const char *api_version, const char *text, size_t n,
                           struct credential *ret, struct err *err)
{
    struct json_object *o;
    int rc = parse(a, text, n, &o, err);
    if (rc == ERR_OK) {
        rc = check_type(a, o, api_version, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    struct json_object *status = json_member(o, "status");
    if (status == NULL) {
        return err_set(err, ERR_INVALID, "exec plugin didn't return a status field");
    }
    if (!json_object_is_type(status, json_type_object)) {
        return err_set(err, ERR_INVALID, "decoding stdout: status is no object");
    }
    return read_status(a, status, ret, err);
}

/* --- service accounts ------------------------------------------------------------------------- */

int credentials_parse_token_request(struct arena *a, const char *text, size_t n,
                                    struct credential *ret, struct err *err)
{
    struct json_object *o;
    struct credential c = {0};
    struct err why = ERR_INIT;
    if (json_parse_arena(a, text, n, &limits, &o, NULL) != ERR_OK) {
        return err_set(err, ERR_INVALID, "the answer to the TokenRequest is no JSON");
    }
    struct json_object *status = json_member(o, "status");
    int rc = get_token(a, status, &c.token, &why);
    if (rc == ERR_OK) {
        rc = get_expiry(a, status, &c, &why);
    }
    if (rc != ERR_OK || c.token == NULL || !c.has_expiry) {
        return err_set(err, ERR_INVALID,
                       "the answer to the TokenRequest has no token and expirationTimestamp");
    }
    *ret = c;
    return ERR_OK;
}
