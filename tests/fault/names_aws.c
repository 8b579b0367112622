/* SPDX-License-Identifier: Apache-2.0 */
/* names_aws.c: see names_aws.h.
 *
 * A group is called by its name, which the simulator knows, an ARN by what is behind the account.
 * Hashes in names depend on UIDs and node ports; calls that differ in nothing else are
 * distinguished by their number. */
#include "tests/fault/names_aws.h"

#include <ctype.h>
#include <string.h>

#include "common/net/url.h"
#include "sim/aws/aws.h"

#define SHORT_HASH 10 /* of a target group's and of a managed group's name */
#define LONG_HASH  16 /* of an ARN */
#define VALUES_MAX 4

static bool is_hash(const char *text, size_t len)
{
    return (len == SHORT_HASH || len == LONG_HASH) && strspn(text, "0123456789abcdef") >= len;
}

const char *names_aws_plain(struct arena *a, const char *text)
{
    _cleanup_(str_buf_done) struct str_buf out = STR_BUF_INIT;
    const char *arn = str_has_prefix(text, "arn:") ? strstr(text, AMZ_ACCOUNT ":") : NULL;
    const char *p = arn == NULL ? text : arn + strlen(AMZ_ACCOUNT ":");
    while (*p != '\0') {
        size_t len = 0;
        while (isalnum((unsigned char)p[len])) {
            len++;
        }
        if (len > 0 && is_hash(p, len)) {
            str_append_c(&out, '*');
        } else {
            str_append_n(&out, p, len > 0 ? len : 1);
        }
        p += len > 0 ? len : 1;
    }
    return str_buf_to_arena(&out, a);
}

/* Does the parameter say which resource is meant? */
static bool names_something(const char *name)
{
    static const char *const members[] = {
        "Name",
        "Names.member.1",
        "LoadBalancerName",
        "GroupName",
        "LoadBalancerArn",
        "LoadBalancerNames.member.1",
        "GroupId",
        "GroupId.1",
        "TargetGroupArn",
        "ListenerArn",
        "LoadBalancerPort",
        "TargetGroupArns.member.1",
        "PolicyName",
        "ResourceId.1",
        "ResourceArns.member.1",
        "InstancePort",
        "Filter.1.Name",
        "LoadBalancerArns.member.1",
        "Filter.2.Name",
        "Filter.2.Value.1",
        "Listeners.member.1.LoadBalancerPort",
        "Port",
        "IpPermissions.1.Groups.1.Description",
        "LoadBalancerPorts.member.1",
        "IpPermissions.1.IpRanges.1.Description",
    };
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        if (str_eq(name, members[i])) {
            return true;
        }
    }
    return false;
}

static const char *value_of(struct aws *aws, struct arena *a, const char *value)
{
    struct amz_resource *group = amz_get(aws, AMZ_SECURITY_GROUP, value);
    if (group != NULL) {
        value = str_nonnull(json_str(group->body, "GroupName"));
    } else if (strspn(value, "0123456789") == strlen(value) && strlen(value) >= 5) {
        return "nodeport"; /* the cluster chose it */
    }
    return str_replace(a, names_aws_plain(a, value), " ", "_");
}

const char *names_aws_call(struct arena *a, const struct sim_call *call)
{
    struct aws *aws = sim_module_state(call->sim, "aws");
    struct url_param *params = NULL;
    const char *values[VALUES_MAX];
    size_t n_params = 0;
    size_t n = 0;
    if (url_query_parse(a, call->body_len > 0 ? call->body : NULL, &params, &n_params, NULL) !=
        ERR_OK) {
        return "/";
    }
    for (size_t i = 0; i < n_params && n < VALUES_MAX; i++) {
        if (names_something(params[i].name)) {
            values[n++] = value_of(aws, a, str_nonnull(params[i].value));
        }
    }
    return arena_printf(a, "/%s", str_join(a, values, n, ","));
}
