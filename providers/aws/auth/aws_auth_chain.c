/* SPDX-License-Identifier: Apache-2.0 */
/* aws_auth_chain.c: where keys come from (docs/spec/aws.md 2.1): variables, web identity, profiles,
 * containers, the instance; then the role of the cloud config.
 *
 * Reads variables and files, never the network.  Refusals name the variable, the file or the
 * profile, and never a value that may be secret. */
#include "common/base/ip.h"
#include "common/base/str.h"
#include "common/net/url.h"
#include "common/net/url_build.h"
#include "providers/aws/auth/aws_auth_internal.h"

#include <string.h>

#define CONTAINER_BASE "http://169.254.170.2"
#define DURATION_S     900 /* the SDK's default for AssumeRole */
#define PROFILES_MAX   5   /* in a row of source_profile */

struct resolver {
    struct arena *a;
    const struct aws_auth_config *cfg;
    const struct aws_profiles *profiles;
    struct aws_chain *chain;
    struct err *err;
};

static const char *env(const struct resolver *r, const char *name)
{
    return aws_env_get(r->cfg->env, name);
}

static struct aws_stage *add(struct resolver *r, enum aws_source source, const char *origin)
{
    struct aws_stage *s = &r->chain->stages[r->chain->n++];
    *s = (struct aws_stage){
        .source = source,
        .origin = origin,
        .role_arn = "",
        .session_name = "",
        .token_file = "",
        .token = "",
        .url = "",
        .command = "",
        .external_id = "",
        .account = "",
        .source_arn = "",
    };
    return s;
}

/* ---- single sources -------------------------------------------------------------------------- */

static bool use_environment(struct resolver *r)
{
    const struct sigv4_keys keys = {
        .access_key = str_or(env(r, "AWS_ACCESS_KEY_ID"), env(r, "AWS_ACCESS_KEY")),
        .secret_key = str_or(env(r, "AWS_SECRET_ACCESS_KEY"), env(r, "AWS_SECRET_KEY")),
        .session_token = env(r, "AWS_SESSION_TOKEN"),
    };
    if (str_is_empty(keys.access_key) || str_is_empty(keys.secret_key)) {
        return false;
    }
    struct aws_stage *s = add(r, AWS_SOURCE_STATIC, "environment");
    s->keys = (struct sigv4_keys){arena_strdup(r->a, keys.access_key),
                                  arena_strdup(r->a, keys.secret_key),
                                  arena_strdup(r->a, keys.session_token)};
    s->is_fixed = true;
    return true;
}

static int use_web_identity(struct resolver *r, const char *origin, const char *file,
                            const char *role, const char *session, const char *role_key)
{
    if (str_is_empty(role)) {
        return err_set(r->err, ERR_AUTH, "credentials: %s: %s is not set", origin, role_key);
    }
    struct aws_stage *s = add(r, AWS_SOURCE_WEB, origin);
    s->token_file = arena_strdup(r->a, file);
    s->role_arn = arena_strdup(r->a, role);
    s->session_name = arena_strdup(r->a, str_nonnull(session));
    return ERR_OK;
}

/* Over plain http only to this machine and its link: the server there learns who we are,
 * and hands out keys. */
static bool host_is_near(const char *host)
{
    static const char *const near[] = {"127.0.0.0/8", "::1/128", "169.254.170.2/32",
                                       "169.254.170.23/32", "fd00:ec2::23/128"};
    struct ip_addr ip;
    struct ip_net net;
    bool is_near = str_eq(host, "localhost");
    for (size_t i = 0; !is_near && i < ARRAY_LEN(near) && ip_parse(host, &ip); i++) {
        is_near = ip_net_parse(near[i], &net) && ip_net_contains(&net, &ip);
    }
    return is_near;
}

static int use_container(struct resolver *r, const char *url, const char *variable)
{
    struct err why = ERR_INIT;
    struct url u;
    int rc = url_parse(r->a, url, &u, &why);
    if (rc == ERR_OK && u.userinfo != NULL) {
        rc = err_set(&why, ERR_INVALID, "want no user in it");
    } else if (rc == ERR_OK && str_eq(u.scheme, "http") && !host_is_near(u.host)) {
        rc = err_set(&why, ERR_INVALID,
                     "over http only a loopback address, 169.254.170.2, 169.254.170.23 or "
                     "fd00:ec2::23 is allowed");
    } else if (rc == ERR_OK && !str_eq(u.scheme, "http") && !str_eq(u.scheme, "https")) {
        rc = err_set(&why, ERR_INVALID, "want http:// or https://");
    }
    if (rc != ERR_OK) {
        return err_set(r->err, ERR_AUTH, "credentials: %s: %s", variable, why.message);
    }
    struct aws_stage *s = add(r, AWS_SOURCE_CONTAINER, "container");
    s->url = arena_strdup(r->a, url);
    s->token_file = arena_strdup(r->a, env(r, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"));
    s->token = arena_strdup(r->a, env(r, "AWS_CONTAINER_AUTHORIZATION_TOKEN"));
    return ERR_OK;
}

/* The full URL wins; ERR_NOT_FOUND: neither is given. */
static int use_container_of_environment(struct resolver *r)
{
    const char *full = env(r, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
    const char *relative = env(r, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    if (*full != '\0') {
        return use_container(r, full, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
    }
    if (*relative == '\0') {
        return ERR_NOT_FOUND;
    }
    if (*relative != '/') {
        return err_set(r->err, ERR_AUTH,
                       "credentials: AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with /");
    }
    return use_container(r, url_join(r->a, CONTAINER_BASE, relative),
                         "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
}

static int use_instance(struct resolver *r)
{
    if (aws_imds_is_disabled(r->cfg->imds)) {
        return err_set(
            r->err, ERR_AUTH,
            "credentials: there are none: AWS_EC2_METADATA_DISABLED is true, and neither "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_WEB_IDENTITY_TOKEN_FILE, "
            "AWS_CONTAINER_CREDENTIALS_FULL_URI nor profile \"%.100s\" gives any",
            aws_profile_name(r->cfg->env));
    }
    (void)add(r, AWS_SOURCE_IMDS, "instance role");
    return ERR_OK;
}

/* ---- profiles -------------------------------------------------------------------------------- */

static const char *value(const struct resolver *r, const char *profile, const char *key)
{
    return str_nonnull(aws_profile_get(r->profiles, profile, key));
}

static int refuse(struct resolver *r, const char *profile, const char *what)
{
    return err_set(r->err, ERR_AUTH, "credentials: profile \"%.100s\": %s", profile, what);
}

static bool use_profile_keys(struct resolver *r, const char *profile, const char *origin)
{
    const struct sigv4_keys keys = {
        .access_key = value(r, profile, "aws_access_key_id"),
        .secret_key = value(r, profile, "aws_secret_access_key"),
        .session_token = value(r, profile, "aws_session_token"),
    };
    if (*keys.access_key == '\0' || *keys.secret_key == '\0') {
        return false;
    }
    add(r, AWS_SOURCE_STATIC, origin)->keys = keys;
    return true;
}

static int use_credential_source(struct resolver *r, const char *profile, const char *source)
{
    if (str_eq(source, "Ec2InstanceMetadata")) {
        return use_instance(r);
    }
    if (str_eq(source, "Environment")) {
        return use_environment(r)
                   ? ERR_OK
                   : refuse(r, profile,
                            "credential_source is Environment, but AWS_ACCESS_KEY_ID "
                            "and AWS_SECRET_ACCESS_KEY are not both set");
    }
    if (str_eq(source, "EcsContainer")) {
        int rc = use_container_of_environment(r);
        return rc == ERR_NOT_FOUND ? refuse(r, profile,
                                            "credential_source is EcsContainer, but no "
                                            "AWS_CONTAINER_CREDENTIALS_… is set")
                                   : rc;
    }
    return refuse(r, profile,
                  "credential_source: want Environment, Ec2InstanceMetadata or EcsContainer");
}

static bool wants_sso(const struct resolver *r, const char *profile)
{
    static const char *const keys[] = {"sso_session", "sso_account_id", "sso_start_url",
                                       "sso_role_name", "sso_region"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (*value(r, profile, keys[i]) != '\0') {
            return true;
        }
    }
    return false;
}

/* A profile's own credentials, besides source_profile; the machine's role is last. */
static int use_own(struct resolver *r, const char *profile, bool *ret_is_final)
{
    const char *origin = arena_printf(r->a, "profile \"%.100s\"", profile);
    const char *source = value(r, profile, "credential_source");
    const char *token_file = value(r, profile, "web_identity_token_file");
    const char *command = value(r, profile, "credential_process");
    *ret_is_final = false;
    if (use_profile_keys(r, profile, origin)) {
        return ERR_OK;
    }
    if (*source != '\0') {
        return use_credential_source(r, profile, source);
    }
    if (*token_file != '\0') {
        *ret_is_final = true; /* its role_arn is the one of the web identity */
        return use_web_identity(r, origin, token_file, value(r, profile, "role_arn"),
                                value(r, profile, "role_session_name"), "role_arn");
    }
    if (wants_sso(r, profile)) {
        return refuse(r, profile,
                      "SSO needs a person to sign in, which a controller cannot; use a role");
    }
    if (*command != '\0') {
        add(r, AWS_SOURCE_PROCESS, origin)->command = command;
        return ERR_OK;
    }
    int rc = use_container_of_environment(r);
    return rc == ERR_NOT_FOUND ? use_instance(r) : rc;
}

static int add_role(struct resolver *r, const char *profile)
{
    int64_t duration = 0;
    const char *text = value(r, profile, "duration_seconds");
    if (*value(r, profile, "mfa_serial") != '\0') {
        return refuse(r, profile, "mfa_serial needs a person, which a controller has not");
    }
    if (*text != '\0' && !str_to_i64(text, &duration)) {
        return refuse(r, profile, "duration_seconds is no number");
    }
    struct aws_stage *s =
        add(r, AWS_SOURCE_ROLE, arena_printf(r->a, "role_arn of profile \"%.100s\"", profile));
    s->role_arn = value(r, profile, "role_arn");
    s->session_name = value(r, profile, "role_session_name");
    s->external_id = value(r, profile, "external_id");
    s->duration_s = duration > DURATION_S ? duration : DURATION_S;
    return ERR_OK;
}

/* A profile whose source is itself has keys of its own, and its role on top. */
static int use_profile(struct resolver *r, const char *first)
{
    const char *row[PROFILES_MAX];
    size_t n = 0;
    bool is_final = false;
    const char *profile = first;
    for (;;) {
        if (n == PROFILES_MAX) {
            return refuse(r, first, "its row of source_profile is too long, or a circle");
        }
        row[n++] = profile;
        const char *source = value(r, profile, "source_profile");
        bool has_role = *value(r, profile, "role_arn") != '\0';
        bool has_source = *source != '\0' || *value(r, profile, "credential_source") != '\0';
        if (has_source && !has_role) {
            return refuse(r, profile, "source_profile and credential_source need role_arn");
        }
        if (*source == '\0' || str_eq(source, profile)) {
            break;
        }
        if (!aws_profile_exists(r->profiles, source)) {
            return refuse(
                r, profile,
                arena_printf(r->a, "its source_profile \"%.100s\" does not exist", source));
        }
        profile = source;
    }
    int rc = use_own(r, profile, &is_final);
    for (size_t i = n; rc == ERR_OK && i > 0; i--) {
        bool covered = is_final && i == n;
        if (!covered && *value(r, row[i - 1], "role_arn") != '\0') {
            rc = add_role(r, row[i - 1]);
        }
    }
    return rc;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int add_role_of_config(struct resolver *r)
{
    const struct aws_config *c = r->cfg->config;
    struct err why = ERR_INIT;
    const char *account;
    if (*c->role_arn == '\0') {
        return ERR_OK;
    }
    if (aws_account_of_arn(r->a, c->role_arn, &account, &why) != ERR_OK) {
        return err_set(r->err, ERR_INVALID, "RoleARN: %s", why.message);
    }
    struct aws_stage *s = add(r, AWS_SOURCE_ROLE, "RoleARN of the cloud config");
    s->role_arn = c->role_arn;
    s->duration_s = DURATION_S;
    s->account = account;
    s->source_arn = c->source_arn;
    return ERR_OK;
}

static int use_first(struct resolver *r)
{
    if (use_environment(r)) {
        return ERR_OK;
    }
    const char *token_file = env(r, "AWS_WEB_IDENTITY_TOKEN_FILE");
    if (*token_file != '\0') {
        return use_web_identity(r, "web identity", token_file, env(r, "AWS_ROLE_ARN"),
                                env(r, "AWS_ROLE_SESSION_NAME"), "AWS_ROLE_ARN");
    }
    struct err why = ERR_INIT;
    int rc = aws_profiles_read(r->a, r->cfg->env, &r->profiles, &why);
    if (rc != ERR_OK) {
        return err_set(r->err, ERR_AUTH, "credentials: %s", why.message);
    }
    return use_profile(r, aws_profile_name(r->cfg->env));
}

int aws_chain_resolve(struct arena *a, const struct aws_auth_config *cfg, struct aws_chain *ret,
                      struct err *err)
{
    struct resolver r = {.a = a, .cfg = cfg, .chain = ret, .err = err};
    *ret = (struct aws_chain){0};
    int rc = use_first(&r);
    rc = rc == ERR_OK ? add_role_of_config(&r) : rc;
    if (rc == ERR_OK) {
        const char *names[AWS_CHAIN_MAX];
        for (size_t i = 0; i < ret->n; i++) {
            names[i] = ret->stages[i].origin;
        }
        ret->origin = str_join(a, names, ret->n, ", ");
    }
    return rc;
}
