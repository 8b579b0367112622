/* SPDX-License-Identifier: Apache-2.0 */
/* fill.c: what other parts of the simulator ask the cluster to hold: nodes, Services, pods.
 *
 * Nodes look like those of a real cloud in what controllers read and in what they weigh: images
 * make most of a Node's 20 kB.  See sim.h for the contracts. */
#include "sim/kube/kube.h"
#include "sim/kube/pods/counts.h"
#include "sim/kube/pods/pods.h"
#include "sim/kube/rules/rules.h"

#include <string.h>

#define IMAGES_MAX 200

static struct json_object *object_at(struct json_object *o, const char *name)
{
    return kube_need(o, name);
}

static void add_quantities(struct json_object *o, const char *memory)
{
    json_add_str(o, "cpu", "4");
    json_add_str(o, "ephemeral-storage", "98831908Ki");
    json_add_str(o, "hugepages-1Gi", "0");
    json_add_str(o, "hugepages-2Mi", "0");
    json_add_str(o, "memory", memory);
    json_add_str(o, "pods", "110");
}

static void add_condition(struct json_object *list, const char *now, const char *type,
                          const char *status, const char *reason, const char *message)
{
    struct json_object *c = json_object_new_object();
    json_add_str(c, "type", type);
    json_add_str(c, "status", status);
    json_add_str(c, "lastHeartbeatTime", now);
    json_add_str(c, "lastTransitionTime", now);
    json_add_str(c, "reason", reason);
    json_add_str(c, "message", message);
    json_object_array_add(list, c);
}

static struct json_object *make_conditions(const char *now)
{
    struct json_object *list = json_object_new_array();
    add_condition(list, now, "MemoryPressure", "False", "KubeletHasSufficientMemory",
                  "kubelet has sufficient memory available");
    add_condition(list, now, "DiskPressure", "False", "KubeletHasNoDiskPressure",
                  "kubelet has no disk pressure");
    add_condition(list, now, "PIDPressure", "False", "KubeletHasSufficientPID",
                  "kubelet has sufficient PID available");
    add_condition(list, now, "Ready", "True", "KubeletReady", "kubelet is posting ready status");
    return list;
}

static void add_address(struct json_object *list, const char *type, const char *address)
{
    if (!str_is_empty(address)) {
        struct json_object *one = json_object_new_object();
        json_add_str(one, "type", type);
        json_add_str(one, "address", address);
        json_object_array_add(list, one);
    }
}

/* About 500 bytes each: a digest name and tags. */
static struct json_object *make_images(int count)
{
    struct json_object *list = json_object_new_array();
    for (int i = 0; i < count && i < IMAGES_MAX; i++) {
        struct str_buf b = STR_BUF_INIT;
        struct json_object *names = json_object_new_array();
        str_appendf(&b,
                    "registry.example.com/platform/team-%02d/component-%03d/service-image@sha256:",
                    i % 7, i);
        for (int k = 0; k < 8; k++) {
            str_appendf(&b, "%08x", (unsigned)(i * 2654435761u + (unsigned)k * 40503u));
        }
        json_push_str(names, str_buf_text(&b));
        for (int tag = 0; tag < 3; tag++) {
            str_buf_reset(&b);
            str_appendf(&b,
                        "registry.example.com/platform/team-%02d/component-%03d/service-image:"
                        "v%d.%d.%d-release-20260%d01-stable-build",
                        i % 7, i, tag + 1, i % 10, i % 4, tag + 1);
            json_push_str(names, str_buf_text(&b));
        }
        struct json_object *image = json_object_new_object();
        json_add(image, "names", names);
        json_add_int(image, "sizeBytes", 20000000 + (int64_t)i * 1237111);
        json_object_array_add(list, image);
        str_buf_done(&b);
    }
    return list;
}

static void add_node_info(struct json_object *status, struct kube_state *st)
{
    struct json_object *info = object_at(status, "nodeInfo");
    char uid[37];
    static const char *const ids[] = {"machineID", "systemUUID", "bootID"};
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        sim_new_uuid(st->sim, uid);
        json_add_str(info, ids[i], uid);
    }
    json_add_str(info, "kernelVersion", "6.12.46+");
    json_add_str(info, "osImage", "Container-Optimized OS");
    json_add_str(info, "containerRuntimeVersion", "containerd://2.1.4");
    json_add_str(info, "kubeletVersion", "v1.36.2");
    json_add_str(info, "kubeProxyVersion", "");
    json_add_str(info, "operatingSystem", "linux");
    json_add_str(info, "architecture", "amd64");
}

static const char *region_of(struct arena *a, const char *zone)
{
    const char *dash = strrchr(zone, '-');
    size_t digits = dash ? strspn(dash + 1, "0123456789") : 0;
    bool letter_follows = digits > 0 && dash[1 + digits] != '\0';
    return letter_follows ? arena_strndup(a, zone, (size_t)(dash - zone) + 1 + digits)
           : dash         ? arena_strndup(a, zone, (size_t)(dash - zone))
                          : zone;
}

static struct json_object *make_node(struct kube_state *st, struct arena *a,
                                     const struct sim_node *node, int images)
{
    char now[32];
    kube_now(st, now);
    struct json_object *o = json_object_new_object();
    struct json_object *meta = object_at(o, "metadata");
    json_add_str(meta, "name", node->name);
    struct json_object *labels = object_at(meta, "labels");
    json_add_str(labels, "beta.kubernetes.io/arch", "amd64");
    json_add_str(labels, "beta.kubernetes.io/os", "linux");
    json_add_str(labels, "kubernetes.io/arch", "amd64");
    json_add_str(labels, "kubernetes.io/hostname", node->name);
    json_add_str(labels, "kubernetes.io/os", "linux");
    if (node->provider_id) {
        json_add_str(labels, "node.kubernetes.io/instance-type", "e2-standard-4");
    }
    if (node->zone) {
        json_add_str(labels, "topology.kubernetes.io/region", region_of(a, node->zone));
        json_add_str(labels, "topology.kubernetes.io/zone", node->zone);
    }
    json_add_str(labels, "cloud.google.com/gke-node-pool-subnet", node->subnetwork);
    json_add_str(object_at(meta, "annotations"), "node.alpha.kubernetes.io/ttl", "0");
    struct json_object *spec = object_at(o, "spec");
    struct json_object *cidrs = json_object_new_array();
    const char *cidr = arena_printf(a, "10.%d.%d.0/24", 64 + node->index / 256, node->index % 256);
    json_push_str(cidrs, cidr);
    if (!str_is_empty(node->internal_ip6)) {
        json_push_str(cidrs, arena_printf(a, "fd00:10:64:%x::/64", node->index));
    }
    json_add_str(spec, "podCIDR", cidr);
    json_add(spec, "podCIDRs", cidrs);
    json_add_str(spec, "providerID", node->provider_id);
    struct json_object *status = object_at(o, "status");
    add_quantities(object_at(status, "capacity"), "16378552Ki");
    add_quantities(object_at(status, "allocatable"), "13587128Ki");
    json_add(status, "conditions", make_conditions(now));
    struct json_object *addresses = json_object_new_array();
    add_address(addresses, "InternalIP", node->internal_ip);
    add_address(addresses, "InternalIP", node->internal_ip6);
    add_address(addresses, "Hostname", node->name);
    json_add(status, "addresses", addresses);
    json_add_int(object_at(object_at(status, "daemonEndpoints"), "kubeletEndpoint"), "Port", 10250);
    add_node_info(status, st);
    if (images > 0) {
        if (!st->images || st->n_images != images) {
            json_object_put(st->images);
            st->images = make_images(images);
            st->n_images = images;
        }
        json_add(status, "images", json_object_get(st->images));
    }
    return o;
}

int sim_kube_add_node(void *kube_state, const struct sim_node *node, int images, struct err *err)
{
    struct kube_state *st = kube_state;
    const struct kube_kind *kind = kube_kind_by_plural("nodes");
    if (kube_db_get(st->store, kind->store, "", node->name)) {
        return err_set(err, ERR_EXISTS, "node %s exists", node->name);
    }
    struct arena *a = arena_new();
    struct json_object *o = make_node(st, a, node, images);
    kube_make(st, kind, o);
    json_object_put(o);
    arena_free(a);
    return ERR_OK;
}

int sim_kube_remove_node(void *kube_state, const char *name, struct err *err)
{
    struct kube_state *st = kube_state;
    if (!kube_db_remove(st->store, kube_kind_by_plural("nodes")->store, "", name)) {
        return err_set(err, ERR_NOT_FOUND, "there is no node %s", name);
    }
    return ERR_OK;
}

int sim_kube_add_service(void *kube_state, const char *namespace, const char *name,
                         const char *lb_class, struct err *err)
{
    struct kube_state *st = kube_state;
    const struct kube_kind *kind = kube_kind_by_plural("services");
    if (kube_db_get(st->store, kind->store, namespace, name)) {
        return err_set(err, ERR_EXISTS, "service %s/%s exists", namespace, name);
    }
    struct json_object *o = json_object_new_object();
    json_add_str(object_at(o, "metadata"), "name", name);
    json_add_str(object_at(o, "metadata"), "namespace", namespace);
    struct json_object *spec = object_at(o, "spec");
    json_add_str(spec, "type", "LoadBalancer");
    json_add_str(object_at(spec, "selector"), "app", name);
    json_add_str(spec, "loadBalancerClass", lb_class);
    struct json_object *port = json_object_new_object();
    json_add_int(port, "port", 80);
    json_add_int(port, "targetPort", 8080);
    struct json_object *ports = json_object_new_array();
    json_object_array_add(ports, port);
    json_add(spec, "ports", ports);
    /* More Services than node ports: the rest does without. */
    if (kube_db_count(st->store, kind->store) > 2000) {
        json_add_bool(spec, "allocateLoadBalancerNodePorts", false);
    }
    kube_make(st, kind, o);
    json_object_put(o);
    return ERR_OK;
}

int sim_kube_set_pods(void *kube_state, const char *namespace, const char *service,
                      struct json_object *pods_per_node, struct err *err)
{
    struct kube_state *st = kube_state;
    if (!json_object_is_type(pods_per_node, json_type_object)) {
        return err_set(err, ERR_INVALID, "want an object of pod counts by node");
    }
    if (!kube_db_get(st->store, kube_kind_by_plural("services")->store, namespace, service)) {
        return err_set(err, ERR_NOT_FOUND, "there is no service %s/%s", namespace, service);
    }
    const char *pod = kube_pods_one_of(st->pods, namespace, service);
    if (pod) {
        return err_set(
            err, ERR_EXISTS,
            "service %s/%s selects the pod %s: its EndpointSlices follow from Pod objects; delete "
            "those, or change them with kubectl",
            namespace, service, pod);
    }
    kube_pods_drop_slices(st->pods, namespace, service);
    kube_counts_set(st->counts, namespace, service, pods_per_node);
    return ERR_OK;
}

struct json_object *sim_kube_behind(void *kube_state)
{
    static const char *const plurals[] = {"nodes", "services", "endpointslices"};
    struct kube_state *st = kube_state;
    if (kube_db_count(st->store, kube_kind_by_plural("endpointslices")->store) == 0) {
        return NULL;
    }
    struct json_object *world = json_object_new_object(), *mine = json_object_new_object();
    for (size_t i = 0; i < ARRAY_LEN(plurals); i++) {
        struct json_object *list = json_object_new_array();
        struct kube_obj **objs = NULL;
        size_t n = 0;
        (void)kube_db_list(st->store, kube_kind_by_plural(plurals[i])->store, "", 0, &objs, &n);
        for (size_t k = 0; k < n; k++) {
            json_object_array_add(list, kube_obj_tree(objs[k]));
        }
        kube_objs_free(objs, n);
        json_add(mine, plurals[i], list);
    }
    json_add(world, "kubernetes", mine);
    return world;
}

int sim_kube_drop_pods(void *kube_state, const char *namespace, const char *service,
                       struct err *err)
{
    struct kube_state *st = kube_state;
    if (!kube_counts_drop(st->counts, namespace, service)) {
        return err_set(err, ERR_NOT_FOUND, "the pods of %s/%s are not counted", namespace, service);
    }
    kube_pods_look_at(st->pods, namespace, service);
    return ERR_OK;
}
