/* SPDX-License-Identifier: Apache-2.0 */
/* aws_endpoint.c: see aws_endpoint.h. */
#include "providers/aws/auth/aws_endpoint.h"

#include "common/base/str.h"
#include "common/net/url.h"
#include "common/net/url_build.h"

#include <string.h>

#define REGION_MAX    63 /* of a label of a host name */
#define NAMES_MAX     5
#define IMDS_IPV4     "http://169.254.169.254"
#define IMDS_IPV6     "http://[fd00:ec2::254]"
#define IMDS_SERVICE  "ec2imds"
#define IMDS_ENDPOINT "AWS_EC2_METADATA_SERVICE_ENDPOINT"

/* Names of the APIs.  The old SDK had one name for both kinds of load balancers. */
static const struct {
    const char *id; /* ServiceOverride, exactly (1.3) */
    /* of files for older SDKs; without case, in order of preference */
    const char *aliases[NAMES_MAX];
    const char *variable; /* behind AWS_ENDPOINT_URL_ */
    const char *block;    /* in [services NAME] */
    const char *host;     /* and signing name */
} apis[AWS_APIS] = {
    [AWS_EC2] = {"EC2", {"ec2"}, "EC2", "ec2", "ec2"},
    [AWS_ELB] = {"Elastic Load Balancing",
                 {"elastic load balancing", "elasticloadbalancing", "elb"},
                 "ELASTIC_LOAD_BALANCING",
                 "elastic_load_balancing",
                 "elasticloadbalancing"},
    [AWS_ELBV2] = {"Elastic Load Balancing v2",
                   {"elastic load balancing v2", "elasticloadbalancingv2", "elbv2",
                    "elasticloadbalancing", "elb"},
                   "ELASTIC_LOAD_BALANCING_V2",
                   "elastic_load_balancing_v2",
                   "elasticloadbalancing"},
    [AWS_STS] = {"STS", {"sts"}, "STS", "sts", "sts"},
};

static const struct partition {
    const char *prefix; /* of its regions' names */
    const char *name;
    const char *suffix;
    const char *dual_stack; /* NULL: none */
} partitions[] = {
    {"cn-", "aws-cn", "amazonaws.com.cn", "api.amazonwebservices.com.cn"},
    {"us-gov-", "aws-us-gov", "amazonaws.com", "api.aws"},
    {"us-iso-", "aws-iso", "c2s.ic.gov", NULL},
    {"us-isob-", "aws-iso-b", "sc2s.sgov.gov", NULL},
    {"eu-isoe-", "aws-iso-e", "cloud.adc-e.uk", NULL},
    {"us-isof-", "aws-iso-f", "csp.hci.ic.gov", NULL},
    {"", "aws", "amazonaws.com", "api.aws"},
};

static const struct partition *partition_of(const char *region)
{
    const struct partition *p = partitions;
    while (!str_has_prefix(region, p->prefix)) {
        p++;
    }
    return p;
}

const char *aws_api_sdk_id(enum aws_api api)
{
    return apis[api].id;
}

/* ---- what people give ------------------------------------------------------------------------ */

/* The URL as it is used; `slash`: with one at the end of its path, else without. */
static int read_url(struct arena *a, const char *text, const char *origin, bool slash,
                    const char **ret, struct err *err)
{
    struct err why = ERR_INIT;
    struct url u;
    const char *trimmed = str_trim(a, text);
    int rc = url_parse(a, trimmed, &u, &why);
    if (rc == ERR_OK && !str_eq(u.scheme, "http") && !str_eq(u.scheme, "https")) {
        rc = err_set(&why, ERR_INVALID, "want http:// or https://");
    }
    if (rc == ERR_OK && (u.userinfo != NULL || u.query != NULL || strchr(trimmed, '#') != NULL)) {
        rc = err_set(&why, ERR_INVALID, "want no user, query or fragment in it");
    }
    if (rc != ERR_OK) {
        return err_set(err, ERR_INVALID, "%.200s: %.600s", origin, why.message);
    }
    size_t n = strlen(u.path);
    while (n > 0 && u.path[n - 1] == '/') {
        n--;
    }
    /* The host in small letters, as AWS' tools sign it, whatever stands between here and
     * the server makes of it. */
    const char *path = arena_strndup(a, u.path, n);
    *ret = n == 0 && !slash ? url_origin(a, &u) : url_join(a, url_origin(a, &u), path);
    *ret = n > 0 && slash ? url_join(a, *ret, "") : *ret;
    return ERR_OK;
}

/* The section whose service is `name`; `region` NULL: of any region. */
static const struct aws_override *override_named(const struct aws_config *c, const char *name,
                                                 bool with_case, const char *region)
{
    for (size_t i = 0; i < c->n_overrides; i++) {
        const struct aws_override *o = &c->overrides[i];
        bool same = with_case ? str_eq(o->service, name) : str_eq_nocase(o->service, name);
        if (same && (region == NULL || str_eq(o->region, region))) {
            return o;
        }
    }
    return NULL;
}

static const struct aws_override *override_of(const struct aws_endpoint_args *args,
                                              enum aws_api api)
{
    const struct aws_override *o = override_named(args->config, apis[api].id, true, args->region);
    for (size_t i = 0; o == NULL && i < NAMES_MAX && apis[api].aliases[i] != NULL; i++) {
        o = override_named(args->config, apis[api].aliases[i], false, args->region);
    }
    return o;
}

static const char *profile_value(const struct aws_endpoint_args *args, const char *key)
{
    return args->profiles != NULL
               ? str_nonnull(aws_profile_get(args->profiles, aws_profile_name(args->env), key))
               : "";
}

static bool is_on(const struct aws_endpoint_args *args, const char *variable, const char *key)
{
    return *aws_env_get(args->env, variable) != '\0'
               ? aws_env_is_true(args->env, variable)
               : str_eq_nocase(profile_value(args, key), "true");
}

/* endpoint_url of variables and profiles; "" when there is none. */
static const char *configured_url(struct arena *a, const struct aws_endpoint_args *args,
                                  enum aws_api api, const char **ret_origin)
{
    if (is_on(args, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "ignore_configured_endpoint_urls")) {
        return "";
    }
    const char *profile = aws_profile_name(args->env);
    const char *variable = arena_printf(a, "AWS_ENDPOINT_URL_%s", apis[api].variable);
    const char *in_services =
        args->profiles != NULL
            ? aws_profile_service_get(args->profiles, profile, apis[api].block, "endpoint_url")
            : NULL;
    const struct {
        const char *url;
        const char *origin;
    } rows[] = {
        {aws_env_get(args->env, variable), variable},
        {aws_env_get(args->env, "AWS_ENDPOINT_URL"), "AWS_ENDPOINT_URL"},
        {str_nonnull(in_services),
         arena_printf(a, "endpoint_url of %s in the services of profile \"%s\"", apis[api].block,
                      profile)},
        {profile_value(args, "endpoint_url"),
         arena_printf(a, "endpoint_url of profile \"%s\"", profile)},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (*rows[i].url != '\0') {
            *ret_origin = rows[i].origin;
            return rows[i].url;
        }
    }
    return "";
}

/* ---- AWS' own -------------------------------------------------------------------------------- */

static bool region_is_label(const char *region)
{
    size_t n = strlen(region);
    return n > 0 && n <= REGION_MAX && region[0] != '-' && region[n - 1] != '-' &&
           region[strspn(
               region, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")] == '\0';
}

static int own_url(struct arena *a, const struct aws_endpoint_args *args, enum aws_api api,
                   const char **ret, struct err *err)
{
    const struct partition *p = partition_of(args->region);
    bool fips = is_on(args, "AWS_USE_FIPS_ENDPOINT", "use_fips_endpoint");
    bool dual = is_on(args, "AWS_USE_DUALSTACK_ENDPOINT", "use_dualstack_endpoint");
    if (dual && p->dual_stack == NULL) {
        return err_set(err, ERR_INVALID,
                       "AWS_USE_DUALSTACK_ENDPOINT: region %s has no dual-stack endpoints",
                       args->region);
    }
    /* GovCloud's plain endpoints are the FIPS ones. */
    bool named = fips && (dual || !str_eq(p->name, "aws-us-gov"));
    const char *host = arena_printf(a, "%s%s.%s.%s", apis[api].host, named ? "-fips" : "",
                                    args->region, dual ? p->dual_stack : p->suffix);
    *ret = url_join(a, url_origin(a, &(struct url){.scheme = "https", .host = host}), "");
    return ERR_OK;
}

int aws_endpoint_resolve(struct arena *a, const struct aws_endpoint_args *args, enum aws_api api,
                         struct aws_endpoint *ret, struct err *err)
{
    const struct aws_override *o = override_of(args, api);
    struct aws_endpoint e = {
        .signing_region = args->region, .signing_name = apis[api].host, .origin = "AWS"};
    if (!region_is_label(args->region)) {
        return err_set(err, ERR_INVALID, "\"%.100s\" is no region; want one as us-east-1",
                       args->region);
    }
    int rc;
    if (o != NULL) {
        e.origin = arena_printf(a, "ServiceOverride \"%s\"", o->label);
        e.signing_region = str_or(str_trim(a, o->signing_region), args->region);
        e.signing_name = str_or(o->signing_name, apis[api].host);
        rc = read_url(a, o->url, e.origin, true, &e.url, err);
    } else {
        const char *given = configured_url(a, args, api, &e.origin);
        rc = *given != '\0' ? read_url(a, given, e.origin, true, &e.url, err)
                            : own_url(a, args, api, &e.url, err);
    }
    if (rc == ERR_OK) {
        *ret = e;
    }
    return rc;
}

/* ---- the metadata service (2.3) -------------------------------------------------------------- */

int aws_endpoint_imds(struct arena *a, const struct aws_endpoint_args *args, const char **ret,
                      struct err *err)
{
    const struct aws_override *o = override_named(args->config, IMDS_SERVICE, true, NULL);
    o = o != NULL ? o : override_named(args->config, IMDS_SERVICE, false, NULL);
    o = o != NULL ? o : override_named(args->config, "ec2metadata", false, NULL);
    if (o != NULL) {
        return read_url(a, o->url, arena_printf(a, "ServiceOverride \"%s\"", o->label), false, ret,
                        err);
    }
    const char *given = str_or(aws_env_get(args->env, IMDS_ENDPOINT),
                               profile_value(args, "ec2_metadata_service_endpoint"));
    if (*given != '\0') {
        return read_url(a, given, IMDS_ENDPOINT, false, ret, err);
    }
    const char *mode = str_or(aws_env_get(args->env, IMDS_ENDPOINT "_MODE"),
                              profile_value(args, "ec2_metadata_service_endpoint_mode"));
    if (*mode != '\0' && !str_eq_nocase(mode, "ipv4") && !str_eq_nocase(mode, "ipv6")) {
        return err_set(err, ERR_INVALID, IMDS_ENDPOINT "_MODE: want IPv4 or IPv6, got \"%.50s\"",
                       mode);
    }
    *ret = str_eq_nocase(mode, "ipv6") ? IMDS_IPV6 : IMDS_IPV4;
    return ERR_OK;
}
