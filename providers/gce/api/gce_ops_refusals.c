/* SPDX-License-Identifier: Apache-2.0 */
/* gce_ops_refusals.c: see gce_ops_refusals.h. */
#include "providers/gce/api/gce_ops_refusals.h"

#include "common/base/str.h"
#include "providers/gce/model/gce_errors.h"
#include "providers/gce/model/gce_l4_rules.h"

#include <string.h>

static void classify(const struct err *err, struct gce_l4_error *ret)
{
    *ret = (struct gce_l4_error){0};
    gce_l4_error_of(err->http_status, err->message, ret);
}

bool gce_refusal_is_one_group(const struct err *err)
{
    struct gce_l4_error e;
    classify(err, &e);
    return e.one_group_per_instance || str_eq(err->reason, "instanceInMultipleLoadBalancedIgs") ||
           str_eq(err->reason, "INSTANCE_IN_MULTIPLE_LOAD_BALANCED_IGS");
}

static bool is_ip_in_use(const struct err *err)
{
    return str_eq(err->reason, "ipInUseByAnotherResource") ||
           str_eq(err->reason, "IP_IN_USE_BY_ANOTHER_RESOURCE");
}

bool gce_refusal_is_taken(const struct err *err)
{
    struct gce_l4_error e;
    classify(err, &e);
    return e.ports_conflict || e.ip_in_use || is_ip_in_use(err);
}

/* Status, reason and what the server asked for stay. */
static void say(struct err *err, int code, const char *message)
{
    struct err was = *err;
    (void)err_set(err, code, "%s", message);
    err->http_status = was.http_status;
    memcpy(err->reason, was.reason, sizeof(was.reason));
}

static const char *member(struct json_object *body, const char *name, const char *other)
{
    const char *text = json_str(body, name);
    return str_nonnull(text != NULL ? text : json_str(body, other));
}

static const char *ports_of(struct arena *a, struct json_object *body)
{
    struct json_object *ports = json_member(body, "ports");
    const char **items = ARENA_ARRAY(a, const char *, json_len(ports) + 1);
    size_t n = json_len(ports);
    for (size_t i = 0; i < n; i++) {
        items[i] = json_object_get_string(json_object_array_get_idx(ports, i));
    }
    return n > 0 ? str_join(a, items, n, ",") : str_nonnull(json_str(body, "portRange"));
}

/* "The network tier of external IP is STANDARD, that of …": what the cloud has. */
static const char *tier_received(const char *message)
{
    return strstr(message, "is STANDARD") != NULL ? "STANDARD" : "PREMIUM";
}

bool gce_refusal_explain(struct arena *a, struct json_object *body, struct err *err)
{
    struct gce_l4_error e;
    classify(err, &e);
    const char *was = arena_strdup(a, err->message);
    if (gce_refusal_is_one_group(err)) {
        say(err, ERR_INVALID,
            arena_printf(a,
                         "instance \"%s\" would be in two load-balanced instance groups, and "
                         "Google allows one: %s",
                         str_or(gce_error_instance(a, was), "?"), was));
    } else if (e.tier_mismatch || strstr(was, "that of ForwardingRule must be the same") != NULL) {
        say(err, ERR_INVALID,
            arena_printf(a, "Network tier mismatch for resource %s, desired: %s, received: %s",
                         member(body, "name", "name"), member(body, "networkTier", "-"),
                         tier_received(was)));
    } else if (e.ports_conflict) {
        say(err, ERR_IN_USE,
            arena_printf(a, "Conflicting ports configuration error: \"%s\" %s", ports_of(a, body),
                         was));
    } else if (e.ip_in_use || is_ip_in_use(err)) {
        say(err, ERR_IN_USE,
            arena_printf(a, "IP configuration error: \"%s\" %s",
                         member(body, "IPAddress", "address"), was));
    } else if (e.user) {
        say(err, ERR_INVALID, was);
    } else {
        return false;
    }
    return true;
}
