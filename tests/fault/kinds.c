/* SPDX-License-Identifier: Apache-2.0 */
/* kinds.c: what may befall a call, and which calls it may befall (probe.h).
 *
 * Statuses alone say what went wrong at Kubernetes, Google and Azure.  AWS says it by codes, which
 * differ from API to API: there the kinds are those codes that AWS gives for reasons of its own
 * (docs/spec/aws.md 3.3), whatever state the resource is in. */
#include "tests/fault/probe.h"

#include <string.h>

/* As AWS refuses. */
#define AWS_ERROR(code)                                                                            \
    "{\"do\":\"refuse\",\"status\":400,\"body\":{\"Code\":\"" code "\",\"Message\":\"Not now.\"}}"

/* By the fake clock, which moves only when nothing else is in progress (rig_settle.c): a call that
 * is so late is carried out after all that does not wait for it, whatever a provider sends
 * meanwhile, and looks after. */
#define LATE_MS "15000"

const struct fault_kind fault_kinds[] = {
    {"refused-503", EFFECT_REFUSED, 503, SCOPE_ALL},
    {"refused-429", EFFECT_REFUSED, 429, SCOPE_BUT_AWS},
    {"refused-403", EFFECT_REFUSED, 403, SCOPE_ALL},
    {"refused-409", EFFECT_REFUSED, 409, SCOPE_WRITES_BUT_AWS},
    {"refused-412", EFFECT_REFUSED, 412, SCOPE_CLOUD_WRITES},
    {"refused-410", EFFECT_REFUSED, 410, SCOPE_WATCHES},
    {"down-503", EFFECT_DOWN, 503, SCOPE_ALL},
    {"down-403", EFFECT_DOWN, 403, SCOPE_CLOUD},
    {"lost", EFFECT_LOST, 0, SCOPE_ALL},
    {"late", EFFECT_FAULT, 0, SCOPE_WRITES_OF_ANY, "{\"do\":\"delay\",\"ms\":" LATE_MS "}"},
    {"killed-before", EFFECT_KILLED_BEFORE, 0, SCOPE_ALL},
    {"killed-after", EFFECT_KILLED_AFTER, 0, SCOPE_ALL},
    {"operation-fails", EFFECT_FAULT, 0, SCOPE_GOOGLE_WRITES,
     "{\"do\":\"fail\",\"body\":{\"code\":\"INTERNAL_ERROR\",\"message\":\"Internal error. Please "
     "try "
     "again or contact Google Support. (Code: '-7385829367295163')\"}}"},
    {"operation-quota", EFFECT_FAULT, 0, SCOPE_GOOGLE_WRITES,
     "{\"do\":\"fail\",\"body\":{\"code\":\"QUOTA_EXCEEDED\",\"message\":\"Quota exceeded.\","
     "\"httpErrorStatusCode\":403}}"},
    {"refused-500", EFFECT_REFUSED, 500, SCOPE_AZURE},
    {"retryable", EFFECT_FAULT, 0, SCOPE_AZURE_WRITES,
     "{\"do\":\"refuse\",\"status\":429,\"body\":{\"error\":{\"code\":\"RetryableError\","
     "\"message\":"
     "\"A retryable error occurred.\",\"details\":[{\"code\":"
     "\"RetryableErrorDueToAnotherOperation\",\"message\":\"Operation "
     "PutLoadBalancerOperation is updating resource. The call can be retried in 1 "
     "seconds.\"}]}}}"},
    {"throttled", EFFECT_FAULT, 0, SCOPE_AZURE, "{\"do\":\"throttle\",\"retry_after\":20}"},
    {"busy", EFFECT_FAULT, 0, SCOPE_AZURE_WRITES,
     "{\"do\":\"refuse\",\"status\":409,\"body\":{\"error\":{\"code\":"
     "\"AnotherOperationInProgress\","
     "\"message\":\"Another operation on this or dependent resource is in progress.\"}}}"},
    {"fails-later", EFFECT_FAULT, 0, SCOPE_AZURE_WRITES,
     "{\"do\":\"fail\",\"body\":{\"code\":\"InternalServerError\",\"message\":\"An error "
     "occurred.\"}}"},
    {"superseded", EFFECT_FAULT, 0, SCOPE_AZURE_WRITES,
     "{\"do\":\"fail\",\"body\":{\"status\":\"Canceled\",\"error\":{\"code\":\"Canceled\","
     "\"message\":"
     "\"Operation was "
     "canceled.\",\"details\":[{\"code\":\"CanceledAndSupersededDueToAnotherOperation\","
     "\"message\":\"Operation PutLoadBalancerOperation was canceled and superseded.\"}]}}}"},
    {"aws-500", EFFECT_REFUSED, 500, SCOPE_AWS},
    {"aws-throttled", EFFECT_FAULT, 0, SCOPE_AWS, "{\"do\":\"throttle\"}"},
    {"aws-dependency", EFFECT_FAULT, 0, SCOPE_EC2_WRITES, AWS_ERROR("DependencyViolation")},
    {"aws-in-use", EFFECT_FAULT, 0, SCOPE_ELB_WRITES, AWS_ERROR("ResourceInUse")},
    {"aws-unseen-group", EFFECT_FAULT, 0, SCOPE_EC2_ADDS, AWS_ERROR("InvalidGroup.NotFound")},
    {"aws-unseen-balancer", EFFECT_FAULT, 0, SCOPE_ELB_ADDS, AWS_ERROR("LoadBalancerNotFound")},
    {"aws-quota", EFFECT_FAULT, 0, SCOPE_AWS_ADDS, AWS_ERROR("LimitExceeded")},
    {0},
};

const struct fault_kind *fault_kind_find(const char *name)
{
    for (const struct fault_kind *k = fault_kinds; k->name != NULL; k++) {
        if (str_eq(k->name, name)) {
            return k;
        }
    }
    return NULL;
}

bool fault_lasts(const struct fault_kind *k)
{
    return k->effect == EFFECT_DOWN || k->effect == EFFECT_WITHOUT || k->effect == EFFECT_NEVER ||
           k->effect == EFFECT_KILLED_NEVER || k->effect == EFFECT_STUCK;
}

static bool reads(const char *op)
{
    static const char *const verbs[] = {
        "*.get",  "*.list",  "*.watch",     "*.aggregatedList", "*.wait",
        "*.Get*", "*.List*", "*.Describe*", "*.listInstances",  "*.listNetworkEndpoints"};
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        if (str_glob(verbs[i], op)) {
            return true;
        }
    }
    return false;
}

bool fault_call_writes(const char *call)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    size_t n = 0;
    char **words = str_split(a, call, ' ', &n);
    bool cloud = str_eq(words[0], "gce") || str_eq(words[0], "azure") || str_eq(words[0], "aws");
    return cloud && !reads(words[1]);
}

/* Makes something, or adds to it: what it names may be too new for AWS to know of it. */
static bool adds(const char *op)
{
    static const char *const verbs[] = {"*.Create*",   "*.Add*",    "*.Authorize*",
                                        "*.Register*", "*.Modify*", "*.Attach*",
                                        "*.Apply*",    "*.Set*",    "*.Configure*"};
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        if (str_glob(verbs[i], op)) {
            return true;
        }
    }
    return false;
}

/* A scope of AWS alone. */
static bool fits_aws(enum fault_scope scope, const char *op)
{
    bool ec2 = str_has_prefix(op, "ec2.");
    switch (scope) {
    case SCOPE_AWS:
        return true;
    case SCOPE_EC2_WRITES:
        return ec2 && !reads(op);
    case SCOPE_ELB_WRITES:
        return !ec2 && !reads(op);
    case SCOPE_EC2_ADDS:
        return ec2 && adds(op) && !str_eq(op, "ec2.CreateSecurityGroup");
    case SCOPE_ELB_ADDS:
        return !ec2 && adds(op) && !str_glob("*.Create*", op);
    case SCOPE_AWS_ADDS:
        return adds(op);
    default:
        return false;
    }
}

bool fault_kind_fits(const struct fault_kind *k, const char *call)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    size_t n = 0;
    char **words = str_split(a, call, ' ', &n);
    bool azure = str_eq(words[0], "azure");
    bool aws = str_eq(words[0], "aws");
    bool by_status = azure || str_eq(words[0], "gce");
    bool writes = !str_eq(words[0], "metadata") && !reads(words[1]);
    switch (k->scope) {
    case SCOPE_ALL:
        return true;
    case SCOPE_BUT_AWS:
        return !aws;
    case SCOPE_WRITES_BUT_AWS:
        return !aws && writes;
    case SCOPE_MAKES_BUT_AWS:
        return !aws && writes && !str_has_suffix(words[1], ".delete") &&
               !str_has_suffix(words[1], ".Delete");
    case SCOPE_CLOUD_WRITES:
        return by_status && writes;
    case SCOPE_CLOUD:
        return by_status || aws;
    case SCOPE_WRITES_OF_ANY:
        return fault_call_writes(call);
    case SCOPE_WATCHES:
        return str_eq(words[0], "kubernetes") &&
               (str_has_suffix(words[1], ".list") || str_has_suffix(words[1], ".watch"));
    case SCOPE_GOOGLE_WRITES:
        return str_eq(words[0], "gce") && writes;
    case SCOPE_AZURE:
        return azure;
    case SCOPE_AZURE_WRITES:
        return azure && writes;
    default:
        return aws && fits_aws(k->scope, words[1]);
    }
}
