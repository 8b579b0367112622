/* SPDX-License-Identifier: Apache-2.0 */
/* sts.c: the security token service: roles assumed with a key or with an identity token, and who
 * one is.
 *
 * Any well-formed role can be assumed, or those that the settings list ("roles").  An identity
 * token must be a JWT with issuer and subject that has not expired; its signature is not checked,
 * as no issuer is simulated.
 * Source: docs/spec/aws.md §2.2, §2.4. */
#include "sim/aws/aws.h"

#include <ctype.h>
#include <string.h>

#define DURATION_S 3600

/* The name of a role by its ARN, NULL if it is not one.
 * "arn:aws:iam::123456789012:role/path/NAME" */
static const char *role_name(struct arena *a, const char *arn)
{
    size_t n = 0;
    char **parts = str_split(a, arn, ':', &n);
    bool ok = n == 6 && str_eq(parts[0], "arn") && str_eq(parts[2], "iam") && !*parts[3] &&
              strlen(parts[4]) == 12 && strspn(parts[4], "0123456789") == 12 &&
              str_has_prefix(parts[5], "role/");
    const char *name = ok ? strrchr(parts[5], '/') + 1 : "";
    return *name ? name : NULL;
}

/* Credentials for the role of the request, put into the answer. */
static bool give(struct amz_request *q)
{
    const char *arn = json_str(q->in, "RoleArn"), *session = json_str(q->in, "RoleSessionName");
    const char *role = role_name(q->a, arn);
    struct json_object *roles = json_member(q->aws->settings, "roles");
    if (!role) {
        return amz_refuse_value(q, "%s is invalid", arn);
    }
    if (roles && !amz_has_text(roles, arn)) {
        return amz_refuse(q, "AccessDenied",
                          "User: %s is not authorized to perform: sts:%s on resource: %s",
                          str_or(q->caller_arn, "anonymous"), q->op->name, arn);
    }
    size_t n = 0;
    const char *account = str_split(q->a, arn, ':', &n)[4];
    const char *assumed =
        arena_printf(q->a, "arn:aws:sts::%s:assumed-role/%s/%s", account, role, session);
    const struct amz_key *key =
        amz_key_new(q->aws, assumed, json_int(q->in, "DurationSeconds", DURATION_S));
    char expires[32];
    time_format_rfc3339(key->expires_s * 1000000, expires);
    struct json_object *credentials = json_object_new_object(), *user = json_object_new_object();
    json_add_str(credentials, "AccessKeyId", key->id);
    json_add_str(credentials, "SecretAccessKey", key->secret);
    json_add_str(credentials, "SessionToken", key->session);
    json_add_str(credentials, "Expiration", expires);
    json_add_str(user, "AssumedRoleId", arena_printf(q->a, "AROASIMTRIMTABEXAMPL1:%s", session));
    json_add_str(user, "Arn", assumed);
    json_add(q->out, "Credentials", credentials);
    json_add(q->out, "AssumedRoleUser", user);
    return true;
}

/* --- identity tokens -------------------------------------------------------------------------- */

/* The claims of a JWT; NULL if it is not one. */
static struct json_object *claims_of(struct arena *a, const char *token)
{
    size_t n = 0, len = 0;
    unsigned char *text = NULL;
    struct json_object *o = NULL;
    char **parts = str_split(a, token, '.', &n);
    if (n != 3 || !*parts[2] || !str_base64_decode(a, parts[1], true, &text, &len) ||
        json_parse_arena(a, (const char *)text, len, NULL, &o, NULL)) {
        return NULL;
    }
    return json_object_is_type(o, json_type_object) ? o : NULL;
}

static bool assume_with_web_identity(struct amz_request *q)
{
    struct json_object *claims = claims_of(q->a, json_str(q->in, "WebIdentityToken"));
    const char *subject = json_str(claims, "sub"), *issuer = json_str(claims, "iss");
    struct json_object *aud = json_member(claims, "aud");
    if (str_is_empty(subject) || str_is_empty(issuer)) {
        return amz_refuse(q, "InvalidIdentityToken", "The ID Token provided is not a valid JWT.");
    }
    if (json_int(claims, "exp", INT64_MAX) <= amz_wall_s(q->aws)) {
        return amz_refuse(q, "ExpiredTokenException",
                          "Token expired: it must not be used any more");
    }
    if (!give(q)) {
        return false;
    }
    if (json_object_is_type(aud, json_type_array)) {
        aud = json_object_array_get_idx(aud, 0);
    }
    json_add_str(q->out, "SubjectFromWebIdentityToken", subject);
    json_add_str(q->out, "Provider", issuer);
    json_add_str(q->out, "Audience", json_object_get_string(aud));
    return true;
}

static bool get_caller_identity(struct amz_request *q)
{
    const char *id = q->access_key ? q->access_key : AMZ_ACCESS_KEY;
    json_add_str(q->out, "UserId", id);
    json_add_str(q->out, "Account", AMZ_ACCOUNT);
    json_add_str(q->out, "Arn", q->caller_arn);
    return true;
}

const struct amz_action amz_sts_actions[] = {
    {"AssumeRole", give, AMZ_READS},
    {"AssumeRoleWithWebIdentity", assume_with_web_identity, AMZ_READS},
    {"GetCallerIdentity", get_caller_identity, AMZ_READS},
    {NULL, NULL, AMZ_READS},
};
