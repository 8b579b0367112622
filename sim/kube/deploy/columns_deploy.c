/* SPDX-License-Identifier: Apache-2.0 */
/* columns_deploy.c: what `kubectl get deployments` shows.  Pure. */
#include "sim/kube/columns.h"
#include "sim/kube/deploy/deploy.h"
#include "sim/kube/kube.h"

static int64_t count(struct json_object *o, const char *part, const char *name)
{
    return json_int(json_member(o, part), name, 0);
}

static const char *ready(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)now_s;
    return arena_printf(a, "%lld/%lld", (long long)count(o, "status", "readyReplicas"),
                        (long long)count(o, "spec", "replicas"));
}

static const char *updated(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)now_s;
    return arena_printf(a, "%lld", (long long)count(o, "status", "updatedReplicas"));
}

static const char *available(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)now_s;
    return arena_printf(a, "%lld", (long long)count(o, "status", "availableReplicas"));
}

const struct kube_column kube_columns_deployment[] = {
    {"Name", "string", "name", 0, "Name of the object, unique within its namespace.",
     kube_cell_name},
    {"Ready", "string", "", 0, "Pods that are ready, of those that are wanted.", ready},
    {"Up-to-date", "string", "", 0, "Pods of the present template.", updated},
    {"Available", "string", "", 0, "Pods that are available.", available},
    {"Age", "string", "", 0, "Time since the object was created.", kube_cell_age},
    {0},
};
