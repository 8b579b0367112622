/* SPDX-License-Identifier: Apache-2.0 */
/* chaos_azure.c: fault-chaos in Azure: 200 Services, and another writer that edits their shared
 * resources (chaos.h, writer.h). */
#include "tests/fault/chaos.h"
#include "tests/fault/writer.h"

#define NODES_MIN 2
#define NODES_MAX 9

static const char *annotations(struct arena *a, const struct wish *w)
{
    return arena_printf(a, "{\"service.beta.kubernetes.io/azure-load-balancer-internal\":%s}",
                        w->internal ? "\"true\"" : "null");
}

static bool special(struct chaos *c, struct wish *w)
{
    (void)c;
    w->internal = !w->internal;
    return true;
}

static int change_nodes(struct chaos *c)
{
    return chaos_some_nodes(c, NODES_MIN, NODES_MAX);
}

static void listen(struct chaos *c)
{
    c->own = writer_new(rng_u64(c->rng));
    probe_listen(c->s.probe, writer_before_call, c->own);
}

/* Nothing of the other writer's was lost.  It goes, so that a world without it can be compared. */
static int part(struct chaos *c)
{
    struct stage *s = &c->s;
    int rc = writer_check(c->own, s->a, rig_world(s->rig), s->err);
    writer_leave(c->own, s->rig);
    return rc;
}

static void done(struct chaos *c)
{
    writer_free(c->own);
}

static const char *const calls[] = {
    "LoadBalancers.*",
    "LoadBalancers.CreateOrUpdate",
    "LoadBalancers.Delete",
    "PublicIPAddresses.*",
    "PublicIPAddresses.CreateOrUpdate",
    "PublicIPAddresses.Delete",
    "SecurityGroups.*",
    "SecurityGroups.CreateOrUpdate",
    "VirtualMachineScaleSetVMs.*",
    "VirtualMachineScaleSets.CreateOrUpdate",
    "*.List",
    "services.status.patch",
    "identityToken",
};

const struct chaos_cloud chaos_azure = {
    .name = "azure",
    .sim = "azure",
    .n_services = CHAOS_SERVICES_MAX,
    .n_at_first = 170,
    .actions = 60,
    .episodes = 2,
    .calls = calls,
    .n_calls = ARRAY_LEN(calls),
    .change_nodes = change_nodes,
    .annotations = annotations,
    .special = special,
    .listen = listen,
    .part = part,
    .done = done,
};
