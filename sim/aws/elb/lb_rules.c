/* SPDX-License-Identifier: Apache-2.0 */
/* lb_rules.c: names, ARNs, lists and security policies of load balancers.  See lb.h.
 *
 * Pure.  Source: docs/spec/aws.md §3.5. */
#include "sim/aws/elb/lb.h"

#include <ctype.h>
#include <string.h>

#define LB_NAME_MAX 32

/* Policies that AWS offers on TLS listeners, old and new. */
static const char *const ssl_policies[] = {
    "ELBSecurityPolicy-2014-01",
    "ELBSecurityPolicy-2014-10",
    "ELBSecurityPolicy-2015-02",
    "ELBSecurityPolicy-2015-03",
    "ELBSecurityPolicy-2015-05",
    "ELBSecurityPolicy-2016-08",
    "ELBSecurityPolicy-FS-1-1-2019-08",
    "ELBSecurityPolicy-FS-1-2-2019-08",
    "ELBSecurityPolicy-FS-1-2-Res-2019-08",
    "ELBSecurityPolicy-FS-1-2-Res-2020-10",
    "ELBSecurityPolicy-FS-2018-06",
    "ELBSecurityPolicy-TLS-1-0-2015-04",
    "ELBSecurityPolicy-TLS-1-1-2017-01",
    "ELBSecurityPolicy-TLS-1-2-2017-01",
    "ELBSecurityPolicy-TLS-1-2-Ext-2018-06",
    "ELBSecurityPolicy-TLS13-1-0-2021-06",
    "ELBSecurityPolicy-TLS13-1-0-PQ-2025-09",
    "ELBSecurityPolicy-TLS13-1-1-2021-06",
    "ELBSecurityPolicy-TLS13-1-2-2021-06",
    "ELBSecurityPolicy-TLS13-1-2-Ext0-2021-06",
    "ELBSecurityPolicy-TLS13-1-2-Ext1-2021-06",
    "ELBSecurityPolicy-TLS13-1-2-Ext2-2021-06",
    "ELBSecurityPolicy-TLS13-1-2-PQ-2025-09",
    "ELBSecurityPolicy-TLS13-1-2-Res-2021-06",
    "ELBSecurityPolicy-TLS13-1-2-Res-PQ-2025-09",
    "ELBSecurityPolicy-TLS13-1-3-2021-06",
    "ELBSecurityPolicy-TLS13-1-3-PQ-2025-09",
    NULL,
};

bool lb_check_name(struct amz_request *q, const char *what, const char *name)
{
    size_t n = strlen(name);
    if (n == 0) {
        return amz_refuse_value(q, "%s name cannot be empty", what);
    }
    if (n > LB_NAME_MAX) {
        return amz_refuse_value(q, "%s name '%s' cannot be longer than '%d' characters", what, name,
                                LB_NAME_MAX);
    }
    for (size_t i = 0; i < n; i++) {
        if (!isalnum((unsigned char)name[i]) && name[i] != '-') {
            return amz_refuse_value(q,
                                    "%s name '%s' can only contain characters that are "
                                    "alphanumeric characters and hyphens(-)",
                                    what, name);
        }
    }
    if (name[0] == '-' || name[n - 1] == '-') {
        return amz_refuse_value(q, "%s name '%s' cannot begin or end with a hyphen(-)", what, name);
    }
    if (str_has_prefix(name, "internal-")) {
        return amz_refuse_value(q, "%s name '%s' cannot begin with 'internal-'", what, name);
    }
    return true;
}

bool lb_ssl_policy_is_known(const char *name)
{
    for (size_t i = 0; ssl_policies[i]; i++) {
        if (str_eq(name, ssl_policies[i])) {
            return true;
        }
    }
    return false;
}

bool lb_arn_is(const char *arn, const char *service, const char *kind)
{
    static const char prefix[] = "arn:aws";
    if (!str_has_prefix(arn, prefix)) {
        return false;
    }
    /* arn:PARTITION:SERVICE:REGION:ACCOUNT:KIND/REST */
    const char *at = strchr(arn + strlen("arn:"), ':');
    size_t n_service = strlen(service), n_kind = strlen(kind);
    if (!at || strncmp(at + 1, service, n_service) != 0 || at[1 + n_service] != ':') {
        return false;
    }
    at += 1 + n_service;
    for (int colon = 0; colon < 2; colon++) {
        at = strchr(at + 1, ':');
        if (!at) {
            return false;
        }
    }
    at++;
    return strncmp(at, kind, n_kind) == 0 && at[n_kind] == '/' && at[n_kind + 1] != '\0';
}

static const char *text_at(struct json_object *list, size_t i)
{
    return json_object_get_string(json_object_array_get_idx(list, i));
}

static bool holds_all(struct json_object *list, struct json_object *texts)
{
    for (size_t i = 0; i < json_len(texts); i++) {
        if (!amz_has_text(list, text_at(texts, i))) {
            return false;
        }
    }
    return true;
}

bool lb_same_texts(struct json_object *a, struct json_object *b)
{
    return holds_all(a, b) && holds_all(b, a);
}

struct json_object *lb_unique(struct json_object *list)
{
    struct json_object *unique = json_object_new_array();
    for (size_t i = 0; i < json_len(list); i++) {
        if (!amz_has_text(unique, text_at(list, i))) {
            json_push_str(unique, text_at(list, i));
        }
    }
    return unique;
}

bool lb_same_tags(struct json_object *a, struct json_object *b)
{
    if (json_len(a) != json_len(b)) {
        return false;
    }
    for (size_t i = 0; i < json_len(a); i++) {
        struct json_object *tag = json_object_array_get_idx(a, i);
        const char *other = amz_tag(b, json_str(tag, "Key"));
        if (!other || !str_eq(other, str_nonnull(json_str(tag, "Value")))) {
            return false;
        }
    }
    return true;
}

const char *lb_joined(struct arena *a, struct json_object *list)
{
    size_t n = json_len(list);
    const char **texts = ARENA_ARRAY(a, const char *, n);
    for (size_t i = 0; i < n; i++) {
        texts[i] = text_at(list, i);
    }
    return str_join(a, texts, n, ", ");
}
