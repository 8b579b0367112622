/* SPDX-License-Identifier: Apache-2.0 */
/* modules.c: which APIs this simulator has.
 *
 * The frame asks them in this order who claims a path.  The metadata module lives on the state of the Compute
 * module, so it comes after it.  A new API is a new row. */
#include "sim/core/frame.h"

const struct sim_module *const sim_modules[] = {
    &sim_compute_module,
    &sim_metadata_module,
#ifdef SIM_HAS_KUBE
    &sim_kube_module,
#endif
    NULL,
};

#ifndef SIM_HAS_KUBE
/* A build without the Kubernetes API: the frame never finds its module, so none of these is called. */
int sim_kube_add_node(void *kube_state, const struct sim_node *node, int images, struct err *err)
{
    (void)kube_state;
    (void)images;
    return err_set(err, ERR_INVALID, "no Kubernetes API for node %s", node->name);
}

int sim_kube_remove_node(void *kube_state, const char *name, struct err *err)
{
    (void)kube_state;
    return err_set(err, ERR_INVALID, "no Kubernetes API for node %s", name);
}

int sim_kube_add_service(void *kube_state, const char *namespace, const char *name,
                         const char *lb_class, struct err *err)
{
    (void)kube_state;
    (void)lb_class;
    return err_set(err, ERR_INVALID, "no Kubernetes API for %s/%s", namespace, name);
}

int sim_kube_set_pods(void *kube_state, const char *namespace, const char *service,
                      struct json_object *pods_per_node, struct err *err)
{
    (void)kube_state;
    (void)pods_per_node;
    return err_set(err, ERR_INVALID, "no Kubernetes API for %s/%s", namespace, service);
}
#endif
