/* SPDX-License-Identifier: Apache-2.0 */
/* rules_pod.c: defaults of a Pod, its validation, and the duration of its deletion.
 *
 * A difference from a real server, for scenarios: the status of a new Pod is kept, so that a
 * manifest may give phase, addresses and conditions.  A Pod that a counted Service (counts.h) would
 * select is forbidden. */
#include "sim/kube/pods/rules_pod.h"

#include "common/base/ip.h"
#include "common/base/map.h"
#include "sim/kube/kube.h"
#include "sim/kube/pods/counts.h"
#include "sim/kube/rules/rules.h"

#include <string.h>

#define GRACE_S 30

/* --- defaults --------------------------------------------------------------------------------- */
static void need_text(struct json_object *o, const char *name, const char *text)
{
    if (str_is_empty(json_str(o, name))) {
        kube_set(o, name, json_object_new_string(text));
    }
}

/* The tag of an image, "latest" when it has none. */
static bool is_latest(const char *image)
{
    const char *name = strrchr(image, '/');
    const char *tag = strrchr(name ? name : image, ':');
    return !strchr(image, '@') && (!tag || str_eq(tag, ":latest"));
}

static void default_containers(struct json_object *list)
{
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *c = json_object_array_get_idx(list, i);
        struct json_object *ports = json_member(c, "ports");
        bool latest = is_latest(str_nonnull(json_str(c, "image")));
        need_text(c, "imagePullPolicy", latest ? "Always" : "IfNotPresent");
        need_text(c, "terminationMessagePath", "/dev/termination-log");
        need_text(c, "terminationMessagePolicy", "File");
        for (size_t k = 0; k < json_len(ports); k++) {
            need_text(json_object_array_get_idx(ports, k), "protocol", "TCP");
        }
    }
}

void kube_default_pod_spec(struct json_object *spec)
{
    default_containers(json_member(spec, "initContainers"));
    default_containers(json_member(spec, "containers"));
    need_text(spec, "restartPolicy", "Always");
    need_text(spec, "dnsPolicy", "ClusterFirst");
    need_text(spec, "schedulerName", "default-scheduler");
    if (!json_member(spec, "terminationGracePeriodSeconds")) {
        json_add_int(spec, "terminationGracePeriodSeconds", GRACE_S);
    }
    (void)kube_need(spec, "securityContext");
}

static void set_addresses(struct json_object *status, struct json_object *was)
{
    struct json_object *ips = json_member(status, "podIPs");
    const char *ip = str_nonnull(json_str(status, "podIP"));
    struct json_object *head = json_len(ips) > 0 ? json_object_array_get_idx(ips, 0) : NULL;
    const char *first = str_nonnull(json_str(head, "ip"));
    bool moved = was && !str_eq(ip, str_nonnull(json_str(was, "podIP")));
    if (json_len(ips) > 0 && (*ip == '\0' || (!str_eq(ip, first) && !moved))) {
        kube_set(status, "podIP", json_object_new_string(first));
    } else if (*ip && !str_eq(ip, first)) {
        struct json_object *list = json_object_new_array();
        struct json_object *one = json_object_new_object();
        json_add_str(one, "ip", ip);
        json_object_array_add(list, one);
        kube_set(status, "podIPs", list);
    }
}

static void pod_defaults(struct kube_change *c)
{
    struct json_object *status = kube_need(c->now, "status");
    struct json_object *spec = kube_need(c->now, "spec");
    kube_default_pod_spec(spec);
    if (!json_member(spec, "enableServiceLinks")) {
        json_add_bool(spec, "enableServiceLinks", true);
    }
    need_text(status, "phase", "Pending");
    set_addresses(status, c->was ? json_member(c->was, "status") : NULL);
}

static struct json_object *pod_begin(struct kube_change *c)
{
    struct json_object *labels = json_path(c->now, "metadata.labels");
    const char *service =
        c->was ? NULL : kube_counts_selecting(c->st->counts, c->arena, c->namespace, labels);
    return !service ? NULL
                    : kube_status_admission(
                          c->kind, c->name,
                          arena_printf(c->arena,
                                       "service %s/%s selects it, whose pods are counted by PUT "
                                       "/sim/pods/%s/%s; take the counts back with DELETE "
                                       "/sim/pods/%s/%s",
                                       c->namespace, service, c->namespace, service, c->namespace,
                                       service));
}

static void pod_prepare(struct kube_change *c)
{
    if (!c->was) {
        need_text(json_member(c->now, "status"), "qosClass", "BestEffort");
    }
}

/* --- validation ------------------------------------------------------------------------------- */
static void check_one_of(struct kube_causes *causes, const char *field, const char *value,
                         const char *const *allowed)
{
    for (size_t i = 0; allowed[i]; i++) {
        if (str_eq(value, allowed[i])) {
            return;
        }
    }
    kube_not_supported(causes, field, value, allowed);
}

static void validate_ports(struct json_object *ports, const char *at, struct kube_causes *causes)
{
    static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};
    struct map *names = map_new(NULL);
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *p = json_object_array_get_idx(ports, i);
        const char *name = str_nonnull(json_str(p, "name"));
        int64_t number = json_int(p, "containerPort", 0);
        const char *field = arena_printf(causes->arena, "%s[%zu]", at, i);
        if (*name) {
            const char *of_name = arena_printf(causes->arena, "%s.name", field);
            kube_check_port_name(causes, of_name, name);
            if (map_has(names, name)) {
                kube_duplicate(causes, of_name, kube_quoted(causes->arena, name));
            }
            map_set(names, name, NULL);
        }
        const char *of_port = arena_printf(causes->arena, "%s.containerPort", field);
        if (number == 0) {
            kube_required(causes, of_port, NULL);
        } else if (number < 1 || number > 65535) {
            kube_invalid_int(causes, of_port, number, "must be between 1 and 65535, inclusive");
        }
        check_one_of(causes, arena_printf(causes->arena, "%s.protocol", field),
                     str_or(json_str(p, "protocol"), "TCP"), protocols);
    }
    map_free(names);
}

static void validate_containers(struct json_object *list, const char *at, struct map *names,
                                struct kube_causes *causes)
{
    static const char *const policies[] = {"Always", "IfNotPresent", "Never", NULL};
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *c = json_object_array_get_idx(list, i);
        const char *name = str_nonnull(json_str(c, "name"));
        const char *field = arena_printf(causes->arena, "%s[%zu]", at, i);
        const char *of_name = arena_printf(causes->arena, "%s.name", field);
        if (*name == '\0') {
            kube_required(causes, of_name, NULL);
        } else {
            kube_check_dns_label(causes, of_name, name);
            if (map_has(names, name)) {
                kube_duplicate(causes, of_name, kube_quoted(causes->arena, name));
            }
            map_set(names, name, NULL);
        }
        if (str_is_empty(json_str(c, "image"))) {
            kube_required(causes, arena_printf(causes->arena, "%s.image", field), NULL);
        }
        check_one_of(causes, arena_printf(causes->arena, "%s.imagePullPolicy", field),
                     str_or(json_str(c, "imagePullPolicy"), "Always"), policies);
        validate_ports(json_member(c, "ports"), arena_printf(causes->arena, "%s.ports", field),
                       causes);
    }
}

void kube_validate_pod_spec(struct json_object *spec, const char *at, struct kube_causes *causes)
{
    static const char *const policies[] = {"Always", "OnFailure", "Never", NULL};
    static const char *const labels[] = {"hostname", "subdomain"};
    struct arena *a = causes->arena;
    struct map *names = map_new(NULL);
    int64_t grace = json_int(spec, "terminationGracePeriodSeconds", 0);
    if (json_len(json_member(spec, "containers")) == 0) {
        kube_required(causes, arena_printf(a, "%s.containers", at), NULL);
    }
    validate_containers(json_member(spec, "containers"), arena_printf(a, "%s.containers", at),
                        names, causes);
    validate_containers(json_member(spec, "initContainers"),
                        arena_printf(a, "%s.initContainers", at), names, causes);
    map_free(names);
    check_one_of(causes, arena_printf(a, "%s.restartPolicy", at),
                 str_or(json_str(spec, "restartPolicy"), "Always"), policies);
    if (grace < 0) {
        kube_invalid_int(causes, arena_printf(a, "%s.terminationGracePeriodSeconds", at), grace,
                         "must be greater than or equal to 0");
    }
    for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
        const char *text = str_nonnull(json_str(spec, labels[i]));
        if (*text) {
            kube_check_dns_label(causes, arena_printf(a, "%s.%s", at, labels[i]), text);
        }
    }
    const char *node = str_nonnull(json_str(spec, "nodeName"));
    if (*node) {
        kube_check_dns_subdomain(causes, arena_printf(a, "%s.nodeName", at), node);
    }
}

/* Members of the spec that an update may change; images of containers are judged on their own. */
static bool may_change(const char *member)
{
    static const char *const free_ones[] = {"activeDeadlineSeconds", "tolerations",
                                            "terminationGracePeriodSeconds"};
    for (size_t i = 0; i < ARRAY_LEN(free_ones); i++) {
        if (str_eq(member, free_ones[i])) {
            return true;
        }
    }
    return false;
}

static struct json_object *without_images(struct json_object *list)
{
    struct json_object *copy = list ? json_copy(list) : NULL;
    for (size_t i = 0; i < json_len(copy); i++) {
        json_object_object_del(json_object_array_get_idx(copy, i), "image");
    }
    return copy;
}

static bool member_is_kept(const char *member, struct json_object *a, struct json_object *b)
{
    if (!str_eq(member, "containers") && !str_eq(member, "initContainers")) {
        return kube_same(a, b) || may_change(member);
    }
    struct json_object *old = without_images(a);
    struct json_object *now = without_images(b);
    bool same = kube_same(old, now);
    json_object_put(old);
    json_object_put(now);
    return same;
}

static bool covers(struct json_object *a, struct json_object *b)
{
    json_object_object_foreach(a, member, value)
    {
        if (!member_is_kept(member, value, json_member(b, member))) {
            return false;
        }
    }
    return true;
}

static void refuse_changed_spec(const struct kube_change *c, struct kube_causes *causes)
{
    struct json_object *was = json_member(c->was, "spec");
    struct json_object *now = json_member(c->now, "spec");
    if (!covers(was, now) || !covers(now, was)) {
        kube_forbidden(causes, "spec",
                       "pod updates may not change fields other than "
                       "`spec.containers[*].image`,`spec.initContainers[*].image`,"
                       "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to "
                       "existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be "
                       "set to 1 if it was previously negative)");
    }
}

static void validate_status(struct json_object *status, struct kube_causes *causes)
{
    static const char *const phases[] = {"Failed",    "Pending", "Running",
                                         "Succeeded", "Unknown", NULL};
    struct json_object *ips = json_member(status, "podIPs");
    size_t of_family[2] = {0, 0};
    for (size_t i = 0; i < json_len(ips); i++) {
        const char *ip = str_nonnull(json_str(json_object_array_get_idx(ips, i), "ip"));
        kube_check_ip(causes, arena_printf(causes->arena, "status.podIPs[%zu]", i), ip);
        of_family[strchr(ip, ':') != NULL]++;
    }
    if (of_family[0] > 1 || of_family[1] > 1) {
        kube_invalid_json(causes, "status.podIPs", ips,
                          "may specify no more than one IP for each IP family");
    }
    check_one_of(causes, "status.phase", str_or(json_str(status, "phase"), "Pending"), phases);
}

static void pod_validate(const struct kube_change *c, struct kube_causes *causes)
{
    kube_validate_pod_spec(json_member(c->now, "spec"), "spec", causes);
    if (c->was && !c->status_only) {
        refuse_changed_spec(c, causes);
    }
    if (!c->was || c->status_only) {
        validate_status(json_member(c->now, "status"), causes);
    }
}

/* --- deletion --------------------------------------------------------------------------------- */
/* At once when nothing of it runs. */
static int64_t pod_grace(const struct kube_change *c)
{
    struct json_object *spec = json_member(c->was, "spec");
    const char *phase = json_str(json_member(c->was, "status"), "phase");
    if (str_is_empty(json_str(spec, "nodeName")) || str_eq(phase, "Succeeded") ||
        str_eq(phase, "Failed")) {
        return 0;
    }
    if (c->grace_s >= 0) {
        return c->grace_s;
    }
    return kube_is_deleting(c->was)
               ? json_int(json_member(c->was, "metadata"), "deletionGracePeriodSeconds", 0)
               : json_int(spec, "terminationGracePeriodSeconds", GRACE_S);
}

const struct kube_rules kube_rules_pod = {
    .set_defaults = pod_defaults,
    .begin = pod_begin,
    .prepare = pod_prepare,
    .validate = pod_validate,
    .grace = pod_grace,
};
