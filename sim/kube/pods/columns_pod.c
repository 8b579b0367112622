/* SPDX-License-Identifier: Apache-2.0 */
/* columns_pod.c: what `kubectl get pods` shows.  Pure. */
#include "sim/kube/columns.h"
#include "sim/kube/kube.h"
#include "sim/kube/pods/rules_pod.h"
#include "sim/kube/rules/rules.h"

static bool is_ready(struct json_object *o)
{
    struct json_object *list = json_path(o, "status.conditions");
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *c = json_object_array_get_idx(list, i);
        if (str_eq(json_str(c, "type"), "Ready")) {
            return str_eq(json_str(c, "status"), "True");
        }
    }
    return false;
}

/* The containers of a pod are ready together here. */
static const char *pod_ready(struct arena *a, struct json_object *o, int64_t now_s)
{
    size_t n = json_len(json_path(o, "spec.containers"));
    (void)now_s;
    return arena_printf(a, "%zu/%zu", is_ready(o) ? n : 0, n);
}

static const char *pod_status(struct arena *a, struct json_object *o, int64_t now_s)
{
    const char *phase = json_str(json_member(o, "status"), "phase");
    (void)a;
    (void)now_s;
    return kube_is_deleting(o)          ? "Terminating"
           : str_eq(phase, "Succeeded") ? "Completed"
           : str_eq(phase, "Failed")    ? "Error"
                                        : phase;
}

static const char *pod_restarts(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)a;
    (void)o;
    (void)now_s;
    return "0";
}

static const char *pod_ip(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)a;
    (void)now_s;
    return str_or(json_str(json_member(o, "status"), "podIP"), "<none>");
}

static const char *pod_node(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)a;
    (void)now_s;
    return str_or(json_str(json_member(o, "spec"), "nodeName"), "<none>");
}

static const char *none(struct arena *a, struct json_object *o, int64_t now_s)
{
    (void)a;
    (void)o;
    (void)now_s;
    return "<none>";
}

const struct kube_column kube_columns_pod[] = {
    {"Name", "string", "name", 0, "Name of the object, unique within its namespace.",
     kube_cell_name},
    {"Ready", "string", "", 0, "Containers that are ready, of all.", pod_ready},
    {"Status", "string", "", 0, "What the pod is doing.", pod_status},
    {"Restarts", "string", "", 0, "Restarts of its containers.", pod_restarts},
    {"Age", "string", "", 0, "Time since the object was created.", kube_cell_age},
    {"IP", "string", "", 1, "Address of the pod.", pod_ip},
    {"Node", "string", "", 1, "Node on which it runs.", pod_node},
    {"Nominated Node", "string", "", 1, "Node that preemption prepares.", none},
    {"Readiness Gates", "string", "", 1, "Conditions beside the containers'.", none},
    {0},
};
