/* SPDX-License-Identifier: Apache-2.0 */
/* health.c: whether a node answers the health check of a target pool or backend service, as its
 * pods are.
 *
 * The firewalls are not asked here: GET /sim/reach asks them, too. */
#include "common/base/str.h"
#include "sim/compute/compute.h"
#include "sim/reach/checks.h"

#include <string.h>

static void put_world(void *world)
{
    json_object_put(world);
}

const struct reach_answers *ce_answers(struct request *q)
{
    void *kube = sim_module_state(q->c->sim, "kubernetes");
    struct json_object *behind = kube != NULL ? sim_kube_behind(kube) : NULL;
    if (behind == NULL) {
        return NULL;
    }
    arena_defer(q->a, put_world, behind);
    return reach_answers_read(q->a, behind);
}

bool ce_node_answers(struct request *q, const struct reach_answers *answers,
                     struct json_object *holder, const char *instance)
{
    struct json_object *checks = json_member(holder, "healthChecks");
    const char *slash = strrchr(instance, '/');
    bool all = true;
    for (size_t i = 0; all && i < json_len(checks); i++) {
        const char *link = json_object_get_string(json_object_array_get_idx(checks, i));
        const char *path = link != NULL ? ce_link_path(q->a, link, q->folder) : NULL;
        const struct resource *check = path != NULL ? ce_store_get(q->c, path) : NULL;
        if (check != NULL) {
            struct reach_probe probe = reach_gce_check(check->body);
            probe.node = slash != NULL ? slash + 1 : instance;
            all = reach_probe_succeeds(answers, &probe);
        }
    }
    return all;
}
