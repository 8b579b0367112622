/* SPDX-License-Identifier: Apache-2.0 */
/* chaos_gce.c: fault-chaos with Google's target pools (chaos.h). */
#include "tests/fault/chaos.h"

#define NODES_MIN 2
#define NODES_MAX 9

static const char *annotations(struct arena *a, const struct wish *w)
{
    return arena_printf(a, "{\"cloud.google.com/network-tier\":%s}",
                        w->standard ? "\"Standard\"" : "null");
}

void chaos_google_address(struct chaos *c, struct wish *w)
{
    if (chaos_one_in(c, 2)) {
        w->standard = w->standard || w->address < 0;
        return;
    }
    for (int i = 0; i < CHAOS_STATICS && w->address < 0 && !w->standard; i++) {
        if (!c->taken[i]) {
            c->taken[i] = true;
            w->address = i;
        }
    }
}

static bool special(struct chaos *c, struct wish *w)
{
    chaos_google_address(c, w);
    return true;
}

static int change_nodes(struct chaos *c)
{
    return chaos_some_nodes(c, NODES_MIN, NODES_MAX);
}

static const char *const calls[] = {
    "compute.firewalls.*",
    "compute.forwardingRules.*",
    "compute.forwardingRules.insert",
    "compute.targetPools.*",
    "compute.addresses.*",
    "compute.addresses.delete",
    "compute.httpHealthChecks.*",
    "compute.*.delete",
    "compute.*.wait",
    "compute.*.get",
    "services.status.patch",
    "configmaps.*",
    "token",
};

const struct chaos_cloud chaos_gce = {
    .name = "gce",
    .sim = "gce",
    .n_services = 6,
    .actions = 60,
    .episodes = 30,
    .calls = calls,
    .n_calls = ARRAY_LEN(calls),
    .change_nodes = change_nodes,
    .annotations = annotations,
    .special = special,
};
