/* SPDX-License-Identifier: Apache-2.0 */
/* aws_refused_rules.c: see aws_refused_rules.h.
 *
 * One row for each parameter that an annotation fills, with what AWS takes there.  Ranges are those of the references of the
 * APIs; where the guides name a wider one, the wider one counts, so that nothing is refused here that AWS would have taken.
 * Names of groups, certificates, buckets, policies and tags are aws_name_rules.c's; whether such a thing is there, only AWS
 * can tell.
 *
 * These checks are no part of aws_nlb_desired() and aws_classic_desired(), which answer as upstream does. */
#include "providers/aws/plan/aws_refused_rules.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "common/base/ip.h"
#include "common/base/str.h"
#include "common/lb/findings.h"
#include "providers/aws/model/aws_annotations.h"

#define PATH_MAX_CHARS      1024
#define TAG_VALUE_MAX_CHARS 256
#define TAGS_MAX            50
#define CLASSIC_TAGS_MAX    10 /* of a classic load balancer: AddTags in its API Reference */
#define PORT_MAX            65535

struct limits {
    const char *param; /* wire name; '*' stands for the number of a list's item */
    bool (*takes)(const char *text, const struct limits *limits);
    int64_t min, max;       /* of takes_number */
    const char *annotation; /* without prefix */
    const char *config;     /* key of the cloud-config that may say it instead; NULL: none */
    const char *want;
};

/* ---- what AWS takes ---------------------------------------------------------------------------------- */

static bool takes_number(const char *text, const struct limits *limits)
{
    int64_t n;
    return aws_number(text, &n) && n >= limits->min && n <= limits->max;
}

static bool takes_port(const char *text, const struct limits *limits)
{
    int64_t n;
    (void)limits;
    return str_eq(text, "traffic-port") ||
           (isdigit((unsigned char)text[0]) && aws_number(text, &n) && n >= 1 && n <= PORT_MAX);
}

/* Characters of UTF-8; bytes that continue one do not count. */
static size_t characters(const char *text)
{
    size_t n = 0;
    for (const char *c = text; *c != '\0'; c++) {
        n += ((unsigned char)*c & 0xC0u) != 0x80u;
    }
    return n;
}

static bool takes_path(const char *text, const struct limits *limits)
{
    (void)limits;
    return text[0] == '/' && characters(text) <= PATH_MAX_CHARS;
}

static bool takes_protocol(const char *text, const struct limits *limits)
{
    (void)limits;
    return str_eq(text, "HTTP") || str_eq(text, "HTTPS") || str_eq(text, "TCP") ||
           str_eq(text, "SSL");
}

static bool takes_emit_interval(const char *text, const struct limits *limits)
{
    (void)limits;
    return str_eq(text, "5") || str_eq(text, "60");
}

static bool takes_ipv4(const char *text, const struct limits *limits)
{
    struct ip_addr ip;
    (void)limits;
    return strchr(text, ':') == NULL && ip_parse(text, &ip);
}

/* Other letters than those of ASCII are among those that AWS takes. */
static bool is_tag_text(const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x80 && !isalnum((unsigned char)*c) &&
            strchr(" _.:/=+-@", *c) == NULL) {
            return false;
        }
    }
    return true;
}

static bool takes_tag_value(const char *text, const struct limits *limits)
{
    (void)limits;
    return characters(text) <= TAG_VALUE_MAX_CHARS && is_tag_text(text);
}

#define NUMBER(p, low, high, annotation, unit)                                                     \
    {                                                                                              \
        p, takes_number, low, high, annotation, NULL, #low " to " #high unit                       \
    }
#define TEXT(p, takes, annotation, config, want)                                                   \
    {                                                                                              \
        p, takes, 0, 0, annotation, config, want                                                   \
    }
#define ATTRIBUTES "LoadBalancerAttributes."
#define PORT_TEXT  "a port from 1 to 65535, or traffic-port"
#define PATH_TEXT  "a path of at most 1024 characters that begins with /"
#define VALUE_TEXT "values of at most 256 letters, digits, blanks and _.:/=+-@"
#define PROBE_PATH "ClusterServiceSharedLoadBalancerHealthProbePath"
#define PROBE_PORT "ClusterServiceSharedLoadBalancerHealthProbePort"

static const struct limits table[] = {
    /* target groups */
    TEXT("HealthCheckPort", takes_port, "healthcheck-port", PROBE_PORT, PORT_TEXT),
    TEXT("HealthCheckPath", takes_path, "healthcheck-path", PROBE_PATH, PATH_TEXT),
    NUMBER("HealthCheckIntervalSeconds", 5, 300, "healthcheck-interval", " seconds"),
    NUMBER("HealthCheckTimeoutSeconds", 2, 120, "healthcheck-timeout", " seconds"),
    NUMBER("HealthyThresholdCount", 2, 10, "healthcheck-healthy-threshold", " checks"),
    NUMBER("UnhealthyThresholdCount", 2, 10, "healthcheck-unhealthy-threshold", " checks"),
    /* parts of HealthCheck.Target of a classic load balancer */
    TEXT("Target:protocol", takes_protocol, "healthcheck-protocol", NULL,
         "HTTP, HTTPS, TCP or SSL"),
    TEXT("Target:path", takes_path, "healthcheck-path", PROBE_PATH, PATH_TEXT),
    TEXT("Target:port", takes_port, "healthcheck-port", PROBE_PORT, PORT_TEXT),
    NUMBER("HealthCheck.Interval", 5, 300, "healthcheck-interval", " seconds"),
    NUMBER("HealthCheck.Timeout", 2, 300, "healthcheck-timeout", " seconds"),
    NUMBER("HealthCheck.HealthyThreshold", 2, 10, "healthcheck-healthy-threshold", " checks"),
    NUMBER("HealthCheck.UnhealthyThreshold", 2, 10, "healthcheck-unhealthy-threshold", " checks"),
    /* attributes */
    TEXT(ATTRIBUTES "AccessLog.EmitInterval", takes_emit_interval, "access-log-emit-interval", NULL,
         "5 or 60 minutes"),
    NUMBER(ATTRIBUTES "ConnectionDraining.Timeout", 1, 3600, "connection-draining-timeout",
           " seconds"),
    NUMBER(ATTRIBUTES "ConnectionSettings.IdleTimeout", 1, 4000, "connection-idle-timeout",
           " seconds"),
    TEXT("SubnetMappings.member.*.PrivateIPv4Address", takes_ipv4, "private-ipv4-addresses", NULL,
         "IPv4 addresses, as 10.0.0.5"),
    /* tags */
    TEXT("Tags.member.*.Value", takes_tag_value, "additional-resource-tags", NULL, VALUE_TEXT),
    TEXT("TagSpecification.*.Tag.*.Value", takes_tag_value, "additional-resource-tags", NULL,
         VALUE_TEXT),
};

static bool is_named(const char *pattern, const char *name)
{
    while (*pattern != '\0' && *name != '\0') {
        if (*pattern == '*' && isdigit((unsigned char)*name)) {
            name += strspn(name, "0123456789");
            pattern++;
        } else if (*pattern++ != *name++) {
            return false;
        }
    }
    return *pattern == *name;
}

static const struct limits *limits_of(const char *param)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (is_named(table[i].param, param)) {
            return &table[i];
        }
    }
    return NULL;
}

/* ---- one parameter ----------------------------------------------------------------------------------- */

static bool says(const struct aws_planning *p, const char *annotation, const char *text)
{
    const char *value = aws_annotation(p->service->in, annotation);
    return value != NULL && strstr(str_upper(p->a, value), str_upper(p->a, text)) != NULL;
}

static int refuse(const struct aws_planning *p, const char *annotation, const char *text,
                  const char *want, struct err *err)
{
    return err_set(err, ERR_INVALID, "annotation " AWS_ANNOTATION "%s: \"%s\": want %s", annotation,
                   lb_finding_value(p->a, text), want);
}

/* NULL: the cloud-config does not say it. */
static const char *key_that_says(const struct aws_planning *p, const char *key, const char *text)
{
    const struct aws_naming *n = p->naming;
    int64_t port;
    bool shared = n->probe_mode == AWS_PROBE_SHARED;
    bool is_said =
        (str_eq(key, PROBE_PATH) && shared && str_eq(n->probe_path, text)) ||
        (str_eq(key, PROBE_PORT) && shared && aws_number(text, &port) && port == n->probe_port);
    return is_said ? key : NULL;
}

/* A value that neither an annotation nor the cloud-config says is the controller's own, and not judged. */
static int check_text(const struct aws_planning *p, const char *param, const char *text,
                      struct err *err)
{
    const struct limits *limits = limits_of(param);
    if (limits == NULL || limits->takes(text, limits)) {
        return ERR_OK;
    }
    if (says(p, limits->annotation, text)) {
        return refuse(p, limits->annotation, text, limits->want, err);
    }
    const char *key = key_that_says(p, limits->config, text);
    return key == NULL ? ERR_OK
                       : err_set(err, ERR_INVALID, "%s of the cloud-config: \"%s\": want %s", key,
                                 lb_finding_value(p->a, text), limits->want);
}

/* "HTTP:80/path" in its three parts.  The path comes first, because what is no path may look like a part of the port. */
static int check_target(const struct aws_planning *p, const char *target, struct err *err)
{
    const char *colon = strchr(target, ':');
    if (colon == NULL) {
        return ERR_OK;
    }
    const char *protocol = arena_strndup(p->a, target, (size_t)(colon - target));
    size_t digits = strspn(colon + 1, "0123456789");
    const char *path = colon + 1 + digits;
    bool http = str_has_prefix(protocol, "HTTP");
    int rc = check_text(p, "Target:protocol", protocol, err);
    if (rc == ERR_OK && http) {
        const char *said = aws_annotation_filled(p->service->in, "healthcheck-path");
        rc = check_text(p, "Target:path", path[0] == '/' ? path : str_or(said, path), err);
    }
    if (rc == ERR_OK) {
        rc = check_text(p, "Target:port", arena_strndup(p->a, colon + 1, digits), err);
    }
    return rc;
}

static int check_params(const struct aws_planning *p, const struct aws_write *w, struct err *err)
{
    int rc = ERR_OK;
    for (size_t i = 0; i < w->n_params && rc == ERR_OK; i++) {
        const char *text = w->params[i].value.text;
        if (text == NULL) {
            continue;
        }
        rc = str_eq(w->params[i].name, "HealthCheck.Target")
                 ? check_target(p, text, err)
                 : check_text(p, w->params[i].name, text, err);
    }
    return rc;
}

/* ---- several parameters ------------------------------------------------------------------------------ */

/* NULL: not sent. */
static const char *sent(const struct aws_write *w, const char *pattern)
{
    for (size_t i = 0; i < w->n_params; i++) {
        if (is_named(pattern, w->params[i].name)) {
            return w->params[i].value.text;
        }
    }
    return NULL;
}

static int check_times(const struct aws_planning *p, int64_t timeout, int64_t interval, bool equal,
                       struct err *err)
{
    char text[24];
    char want[128];
    bool said = aws_annotation(p->service->in, "healthcheck-timeout") != NULL;
    if (timeout < interval || (equal && timeout == interval)) {
        return ERR_OK;
    }
    (void)snprintf(text, sizeof text, "%lld", (long long)(said ? timeout : interval));
    if (said) {
        (void)snprintf(want, sizeof want,
                       "%s the time between checks (healthcheck-interval), which is %lld seconds",
                       equal ? "at most" : "less than", (long long)interval);
    } else {
        (void)snprintf(want, sizeof want,
                       "%s the time for an answer (healthcheck-timeout), which is %lld seconds",
                       equal ? "at least" : "more than", (long long)timeout);
    }
    return refuse(p, said ? "healthcheck-timeout" : "healthcheck-interval", text, want, err);
}

static const struct aws_target_health_check *health_of(const struct aws_planning *p,
                                                       const char *arn)
{
    for (size_t i = 0; arn != NULL && i < p->seen->n_groups; i++) {
        if (str_eq(p->seen->groups[i].group->arn, arn)) {
            return &p->seen->groups[i].group->health;
        }
    }
    return NULL;
}

/* A target group that is there keeps what is not sent.  AWS chooses the time-out of a new one, so that it is not judged. */
static int check_health(const struct aws_planning *p, const struct aws_write *w, struct err *err)
{
    bool classic = w->api == AWS_ELB;
    const char *timeout = sent(w, classic ? "HealthCheck.Timeout" : "HealthCheckTimeoutSeconds");
    const char *interval = sent(w, classic ? "HealthCheck.Interval" : "HealthCheckIntervalSeconds");
    const struct aws_target_health_check *has = health_of(p, sent(w, "TargetGroupArn"));
    int64_t t = has != NULL ? has->timeout : 0;
    int64_t i = has != NULL ? has->interval : 0;
    bool is_sent = timeout != NULL || interval != NULL;
    bool known = (timeout == NULL || aws_number(timeout, &t)) &&
                 (interval == NULL || aws_number(interval, &i)) && t > 0 && i > 0;
    return is_sent && known ? check_times(p, t, i, !classic, err) : ERR_OK;
}

static bool is_about_logs(const struct aws_write *w)
{
    for (size_t i = 0; i < w->n_params; i++) {
        if (str_has_prefix(w->params[i].name, ATTRIBUTES "AccessLog.") ||
            str_has_prefix(str_nonnull(w->params[i].value.text), "access_logs.s3.")) {
            return true;
        }
    }
    return false;
}

static int check_logs(const struct aws_planning *p, const struct aws_write *w, struct err *err)
{
    bool on = false;
    const struct tt_service *s = p->service->in;
    bool names_bucket = aws_annotation_filled(s, "access-log-s3-bucket-name") != NULL;
    if (names_bucket || !is_about_logs(w) ||
        aws_annotation_bool(s, "access-log-enabled", &on, NULL) != ERR_OK || !on) {
        return ERR_OK;
    }
    return aws_annotation_refuse(s, "access-log-enabled",
                                 "the name of the bucket beside it, in annotation " AWS_ANNOTATION
                                 "access-log-s3-bucket-name",
                                 err);
}

/* Elastic addresses are public ones, and private addresses are those of an internal load balancer. */
static int check_addresses(const struct aws_planning *p, const struct aws_write *w, struct err *err)
{
    bool internal = str_eq(sent(w, "Scheme"), "internal");
    if (!str_eq(w->action, "CreateLoadBalancer")) {
        return ERR_OK;
    }
    if (internal && sent(w, "SubnetMappings.member.*.AllocationId") != NULL) {
        return aws_annotation_refuse(
            p->service->in, "eip-allocations",
            "no such annotation on an internal NLB; name private addresses "
            "in aws-load-balancer-private-ipv4-addresses",
            err);
    }
    if (!internal && sent(w, "SubnetMappings.member.*.PrivateIPv4Address") != NULL) {
        return aws_annotation_refuse(p->service->in, "private-ipv4-addresses",
                                     "no such annotation on an internet-facing NLB; name elastic "
                                     "addresses in aws-load-balancer-eip-allocations",
                                     err);
    }
    return ERR_OK;
}

static int check_tag_count(const struct aws_planning *p, const struct aws_write *w, struct err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n_params; i++) {
        n += is_named("Tags.member.*.Key", w->params[i].name) ||
             is_named("TagSpecification.*.Tag.*.Key", w->params[i].name);
    }
    int most = w->api == AWS_ELB ? CLASSIC_TAGS_MAX : TAGS_MAX;
    if (n <= (size_t)most) {
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID,
                   "annotation " AWS_ANNOTATION
                   "additional-resource-tags: %zu tags with those of the controller: want at most "
                   "%d",
                   n, most);
}

int aws_refused_check(const struct aws_planning *p, struct err *err)
{
    static int (*const checks[])(const struct aws_planning *, const struct aws_write *,
                                 struct err *) = {check_logs, check_params, check_health,
                                                  check_addresses, check_tag_count};
    struct aws_write w;
    int rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && aws_draft_write(p, i, &w); i++) {
        for (size_t j = 0; rc == ERR_OK && w.action != NULL && j < ARRAY_LEN(checks); j++) {
            rc = checks[j](p, &w, err);
        }
    }
    return rc;
}
