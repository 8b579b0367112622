/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_service_rules.c: the API server's complaints about Services, in its words; see the header.
 *
 * The order within a Service is the server's.  Each complaint names the line of the field
 * in the manifest. */
#include "controller/cmd/cmd_service_rules.h"

#include <string.h>

#include "common/base/ip.h"
#include "controller/cmd/cmd_meta_rules.h"
#include "controller/cmd/cmd_word_rules.h"

#define RANGES_KEY "service.beta.kubernetes.io/load-balancer-source-ranges"
#define LB_ONLY    "may only be used when `type` is 'LoadBalancer'"

struct rules {
    struct cmd_faults *faults;
    const struct cmd_origin *origin;
    struct arena *a;
    struct json_object *service;
    struct json_object *spec;
    struct json_object *live_spec; /* NULL: it is new */
    struct json_object *ports;
    const char *type;
    bool alone; /* the cluster's object is not known: only what cannot depend on it */
};

static const struct cmd_path at_spec = {NULL, "spec", 0};
static const struct cmd_path at_meta = {NULL, "metadata", 0};

/* ---- complaints ------------------------------------------------------------------------------ */

/* As the server spells it: it writes this one field with a capital. */
static const char *shown_path(const struct rules *r, const struct cmd_path *at)
{
    return str_replace(r->a, cmd_path_text(r->a, at), "spec.loadBalancerSourceRanges",
                       "spec.LoadBalancerSourceRanges");
}

static void invalid_shown(const struct rules *r, const struct cmd_path *at, const char *value,
                          const char *detail)
{
    cmd_faults_add(r->faults, r->origin, at, true, "%s: Invalid value: %s: %s", shown_path(r, at),
                   value, detail);
}

static const char *quoted(const struct rules *r, const char *s)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_append_go_quoted(&b, s);
    return str_buf_to_arena(&b, r->a);
}

static void invalid(const struct rules *r, const struct cmd_path *at, const char *value,
                    const char *detail)
{
    invalid_shown(r, at, quoted(r, value), detail);
}

static void invalid_int(const struct rules *r, const struct cmd_path *at, int64_t value,
                        const char *detail)
{
    invalid_shown(r, at, arena_printf(r->a, "%lld", (long long)value), detail);
}

static void required(const struct rules *r, const struct cmd_path *at)
{
    cmd_faults_add(r->faults, r->origin, at, true, "%s: Required value", shown_path(r, at));
}

static void forbidden(const struct rules *r, const struct cmd_path *at, const char *detail)
{
    cmd_faults_add(r->faults, r->origin, at, true, "%s: Forbidden: %s", shown_path(r, at), detail);
}

static void duplicate(const struct rules *r, const struct cmd_path *at, const char *value)
{
    cmd_faults_add(r->faults, r->origin, at, true, "%s: Duplicate value: %s", shown_path(r, at),
                   value);
}

/* Complaints about a word (cmd_word_rules.h). */
struct word {
    const struct rules *r;
    const struct cmd_path *at;
    const char *value;
};

static void on_word(void *arg, const char *detail)
{
    const struct word *w = arg;
    invalid(w->r, w->at, w->value, detail);
}

static void check_word(const struct rules *r, const struct cmd_path *at, const char *value,
                       void (*check)(const struct cmd_say *to, const char *s))
{
    struct word w = {r, at, value};
    const struct cmd_say to = {r->a, on_word, &w};
    check(&to, value);
}

static const char *text_of(struct json_object *v)
{
    return json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "";
}

static const char *item(struct json_object *list, size_t i)
{
    return i < json_len(list) ? text_of(json_object_array_get_idx(list, i)) : "";
}

static bool is_type(const struct rules *r, const char *type)
{
    return str_eq(r->type, type);
}

/* The manifest has it, and not only because the cluster's object does: the server drops
 * that with the type. */
static bool is_new(const struct rules *r, const char *name)
{
    struct json_object *v = json_member(r->spec, name);
    struct json_object *was = json_member(r->live_spec, name);
    return v != NULL && (was == NULL || !json_equal(v, was));
}

/* ---- ports ----------------------------------------------------------------------------------- */

static void check_port_number(const struct rules *r, const struct cmd_path *at, int64_t port)
{
    if (port < 1 || port > 65535) {
        invalid_int(r, at, port, "must be between 1 and 65535, inclusive");
    }
}

static void check_port_name(const struct rules *r, const struct cmd_path *at_port, size_t i)
{
    const struct cmd_path at = {at_port, "name", 0};
    const char *name = str_nonnull(json_str(json_object_array_get_idx(r->ports, i), "name"));
    if (*name == '\0') {
        if (json_len(r->ports) > 1 && !r->alone) {
            required(r, &at);
        }
        return;
    }
    check_word(r, &at, name, cmd_check_label);
    for (size_t k = 0; k < i; k++) {
        if (str_eq(json_str(json_object_array_get_idx(r->ports, k), "name"), name)) {
            duplicate(r, &at, quoted(r, name));
            break;
        }
    }
}

static void check_target(const struct rules *r, const struct cmd_path *at_port,
                         struct json_object *target)
{
    const struct cmd_path at = {at_port, "targetPort", 0};
    if (json_object_is_type(target, json_type_string)) {
        check_word(r, &at, json_object_get_string(target), cmd_check_port_name);
    } else {
        check_port_number(r, &at, target == NULL ? 0 : json_object_get_int64(target));
    }
}

/* The range of the server may be narrower. */
static void check_node_number(const struct rules *r, const struct cmd_path *at,
                              struct json_object *o)
{
    int64_t port = json_int(o, at->name, 0);
    if (port != 0) {
        check_port_number(r, at, port);
    }
}

static void check_ports(const struct rules *r)
{
    const struct cmd_path at_ports = {&at_spec, "ports", 0};
    for (size_t i = 0; i < json_len(r->ports); i++) {
        const struct cmd_path at_port = {&at_ports, NULL, i};
        const struct cmd_path at_number = {&at_port, "port", 0};
        const struct cmd_path at_node = {&at_port, "nodePort", 0};
        const struct cmd_path at_app = {&at_port, "appProtocol", 0};
        struct json_object *p = json_object_array_get_idx(r->ports, i);
        check_port_name(r, &at_port, i);
        check_port_number(r, &at_number, json_int(p, "port", 0));
        check_target(r, &at_port, json_member(p, "targetPort"));
        check_node_number(r, &at_node, p);
        if (json_str(p, "appProtocol") != NULL) {
            check_word(r, &at_app, json_str(p, "appProtocol"), cmd_check_qualified);
        }
    }
}

static bool repeats(const struct rules *r, size_t i, const char *number)
{
    struct json_object *p = json_object_array_get_idx(r->ports, i);
    for (size_t k = 0; k < i; k++) {
        struct json_object *q = json_object_array_get_idx(r->ports, k);
        if (json_int(p, number, 0) == json_int(q, number, 0) &&
            str_eq(json_str(p, "protocol"), json_str(q, "protocol"))) {
            return true;
        }
    }
    return false;
}

static void check_repeated_ports(const struct rules *r)
{
    const struct cmd_path at_ports = {&at_spec, "ports", 0};
    for (size_t i = 0; i < json_len(r->ports); i++) {
        const struct cmd_path at_port = {&at_ports, NULL, i};
        const struct cmd_path at = {&at_port, "nodePort", 0};
        int64_t port = json_int(json_object_array_get_idx(r->ports, i), "nodePort", 0);
        if (port != 0 && repeats(r, i, "nodePort")) {
            duplicate(r, &at, arena_printf(r->a, "%lld", (long long)port));
        }
    }
    for (size_t i = 0; i < json_len(r->ports); i++) {
        const struct cmd_path at = {&at_ports, NULL, i};
        struct json_object *p = json_object_array_get_idx(r->ports, i);
        if (repeats(r, i, "port")) {
            duplicate(r, &at,
                      arena_printf(r->a,
                                   "{\"Name\":\"\",\"Protocol\":%s,\"AppProtocol\":null,\"Port\":"
                                   "%lld,\"TargetPort\":0,\"NodePort\":0}",
                                   quoted(r, str_nonnull(json_str(p, "protocol"))),
                                   (long long)json_int(p, "port", 0)));
        }
    }
}

/* ---- by type --------------------------------------------------------------------------------- */

static void check_external_name(const struct rules *r)
{
    static const char *const absent[] = {"clusterIPs", "ipFamilies", "ipFamilyPolicy"};
    const struct cmd_path at_name = {&at_spec, "externalName", 0};
    const char *name = str_nonnull(json_str(r->spec, "externalName"));
    size_t n = strlen(name);
    for (size_t i = 0; i < ARRAY_LEN(absent); i++) {
        const struct cmd_path at = {&at_spec, absent[i], 0};
        struct json_object *v = json_member(r->spec, absent[i]);
        bool empty = json_object_is_type(v, json_type_array) && json_len(v) == 0;
        bool by_ip =
            i == 0 && !str_is_empty(json_str(r->spec, "clusterIP")) && is_new(r, "clusterIP");
        if (by_ip || (is_new(r, absent[i]) && !empty)) {
            forbidden(r, &at, "may not be set for ExternalName services");
        }
    }
    if (n > 0 && name[n - 1] == '.') {
        name = arena_strndup(r->a, name, n - 1);
    }
    if (*name == '\0') {
        required(r, &at_name);
    } else {
        check_word(r, &at_name, name, cmd_check_subdomain);
    }
}

static void check_by_type(const struct rules *r)
{
    const struct cmd_path at_ports = {&at_spec, "ports", 0};
    const struct cmd_path at_ips = {&at_spec, "clusterIPs", 0};
    const struct cmd_path at_first = {&at_ips, NULL, 0};
    const char *ip =
        str_or(json_str(r->spec, "clusterIP"), item(json_member(r->spec, "clusterIPs"), 0));
    bool headless = str_eq(ip, "None");
    if (json_len(r->ports) == 0 && !headless && !is_type(r, "ExternalName")) {
        required(r, &at_ports);
    }
    if (headless && (is_type(r, "NodePort") || is_type(r, "LoadBalancer"))) {
        invalid(r, &at_first, "None",
                arena_printf(r->a, "may not be set to 'None' for %s services", r->type));
    }
    if (is_type(r, "ExternalName")) {
        check_external_name(r);
    }
}

static void check_selector(const struct rules *r)
{
    const struct cmd_path at = {&at_spec, "selector", 0};
    struct json_object *selector = json_member(r->spec, "selector");
    if (selector != NULL) {
        json_object_object_foreach(selector, name, value)
        {
            check_word(r, &at, name, cmd_check_qualified);
            check_word(r, &at, text_of(value), cmd_check_label_value);
        }
    }
}

static void check_affinity(const struct rules *r)
{
    const struct cmd_path at = {&at_spec, "sessionAffinityConfig", 0};
    const struct cmd_path at_client = {&at, "clientIP", 0};
    const struct cmd_path at_timeout = {&at_client, "timeoutSeconds", 0};
    struct json_object *config = json_member(r->spec, "sessionAffinityConfig");
    if (str_eq(json_str(r->spec, "sessionAffinity"), "ClientIP")) {
        int64_t s = json_int(json_member(config, "clientIP"), "timeoutSeconds", 10800);
        if (s <= 0 || s > 86400) {
            invalid_int(r, &at_timeout, s, "must be greater than 0 and less than 86400");
        }
    }
}

/* ---- addresses ------------------------------------------------------------------------------- */

static void check_ip(const struct rules *r, const struct cmd_path *at, const char *ip)
{
    struct ip_addr addr;
    if (!ip_parse_sloppy(ip, &addr)) {
        invalid(r, at, ip, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
    } else if (addr.len == 4 && strchr(ip, ':') != NULL) {
        invalid(r, at, ip, "must not be an IPv4-mapped IPv6 address");
    } else if (!ip_parse(ip, &addr)) {
        invalid(r, at, ip, "must not have leading 0s");
    }
}

/* An address that packets can be sent to from elsewhere. */
static void check_endpoint(const struct rules *r, const struct cmd_path *at, const char *ip)
{
    static const struct {
        const char *v4, *v6, *detail;
    } rows[] = {
        {"0.0.0.0/32", "::/128", NULL},
        {"127.0.0.0/8", "::1/128", "may not be in the loopback range (127.0.0.0/8, ::1/128)"},
        {"169.254.0.0/16", "fe80::/10",
         "may not be in the link-local range (169.254.0.0/16, fe80::/10)"},
        {"224.0.0.0/24", "ff02::/16",
         "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"},
    };
    struct ip_addr addr;
    struct ip_net net;
    for (size_t i = 0; ip_parse_sloppy(ip, &addr) && i < ARRAY_LEN(rows); i++) {
        if (ip_net_parse(addr.len == 4 ? rows[i].v4 : rows[i].v6, &net) &&
            ip_net_contains(&net, &addr)) {
            invalid(r, at, ip,
                    rows[i].detail != NULL ? rows[i].detail
                                           : arena_printf(r->a, "may not be unspecified (%s)", ip));
        }
    }
}

static bool is_in(struct json_object *list, const char *text)
{
    for (size_t i = 0; i < json_len(list); i++) {
        if (str_eq(item(list, i), text)) {
            return true;
        }
    }
    return false;
}

static const char *family_of(const char *ip)
{
    return strchr(ip, ':') != NULL ? "IPv6" : "IPv4";
}

/* Complaints about clusterIPs as a whole; true when the items need no look any more. */
static bool check_ip_list(const struct rules *r, const struct cmd_path *at_ips, const char *ip,
                          struct json_object *ips)
{
    const char *all = json_text(r->a, ips, JSON_COMPACT);
    size_t n = json_len(ips);
    if (n > 0 && *ip == '\0') {
        invalid_shown(r, at_ips, all, "must be empty when `clusterIP` is not specified");
    } else if (n > 0 && !str_eq(item(ips, 0), ip)) {
        invalid_shown(r, at_ips, all, "first value must match `clusterIP`");
    }
    if (n > 1 && str_eq(item(ips, 0), "None")) {
        invalid_shown(r, at_ips, all, "'None' must be the first and only value");
        return true;
    }
    if (n > 2) {
        invalid_shown(r, at_ips, all, "may only hold up to 2 values");
    }
    return false;
}

/* clusterIP alone counts as a list of one. */
static void check_cluster_ips(const struct rules *r)
{
    struct json_object *ips = json_member(r->spec, "clusterIPs");
    struct json_object *families = json_member(r->spec, "ipFamilies");
    const char *ip = str_nonnull(json_str(r->spec, "clusterIP"));
    const struct cmd_path at_ips = {&at_spec, "clusterIPs", 0};
    size_t before = r->faults->n;
    if (is_type(r, "ExternalName") || check_ip_list(r, &at_ips, ip, ips)) {
        return;
    }
    size_t n = json_len(ips) == 0 && *ip != '\0' ? 1 : json_len(ips);
    for (size_t i = 0; i < n; i++) {
        const struct cmd_path at = {&at_ips, NULL, i};
        const char *one = json_len(ips) == 0 ? ip : item(ips, i);
        if (i > 0 || !str_eq(one, "None")) {
            check_ip(r, &at, one);
        }
    }
    if (n == 2 && r->faults->n == before && str_eq(family_of(ip), family_of(item(ips, 1)))) {
        invalid_shown(r, &at_ips, json_text(r->a, ips, JSON_COMPACT),
                      "may specify no more than one IP for each IP family");
    }
    for (size_t i = 0; r->faults->n == before && i < n && i < json_len(families); i++) {
        const struct cmd_path at = {&at_ips, NULL, i};
        const char *one = json_len(ips) == 0 ? ip : item(ips, i);
        if (!str_eq(one, "None") && !str_eq(family_of(one), item(families, i))) {
            invalid(r, &at, one,
                    arena_printf(r->a, "expected an %s value as indicated by `ipFamilies[%zu]`",
                                 item(families, i), i));
        }
    }
}

static void check_ip_stays(const struct rules *r)
{
    const struct cmd_path at_ips = {&at_spec, "clusterIPs", 0};
    const struct cmd_path at = {&at_ips, NULL, 0};
    const char *ip = str_nonnull(json_str(r->spec, "clusterIP"));
    const char *was = str_nonnull(json_str(r->live_spec, "clusterIP"));
    bool had = *was != '\0' && !str_eq(json_str(r->live_spec, "type"), "ExternalName");
    if (had && *ip != '\0' && !is_type(r, "ExternalName") && !str_eq(was, ip)) {
        invalid_shown(r, &at, arena_printf(r->a, "[%s]", quoted(r, ip)), "may not change once set");
    }
}

/* Two of anything need a policy that says so; without one it is SingleStack, but for headless
 * Services without pods. */
static void check_policy_of_two(const struct rules *r)
{
    static const char *const lists[][2] = {{"clusterIPs", "cluster IPs"},
                                           {"ipFamilies", "IP families"}};
    const struct cmd_path at = {&at_spec, "ipFamilyPolicy", 0};
    bool free_choice =
        str_eq(json_str(r->spec, "clusterIP"), "None") && json_member(r->spec, "selector") == NULL;
    const char *policy = str_or(json_str(r->spec, "ipFamilyPolicy"),
                                free_choice ? "RequireDualStack" : "SingleStack");
    for (size_t i = 0; i < ARRAY_LEN(lists) && str_eq(policy, "SingleStack"); i++) {
        if (is_new(r, lists[i][0]) && json_len(json_member(r->spec, lists[i][0])) == 2) {
            invalid(r, &at, "SingleStack",
                    arena_printf(r->a,
                                 "must be 'RequireDualStack' or 'PreferDualStack' when multiple "
                                 "%s are specified",
                                 lists[i][1]));
        }
    }
}

static void check_families(const struct rules *r)
{
    struct json_object *families = json_member(r->spec, "ipFamilies");
    const struct cmd_path at_list = {&at_spec, "ipFamilies", 0};
    for (size_t i = 1; i < json_len(families); i++) {
        const struct cmd_path at = {&at_list, NULL, i};
        if (str_eq(item(families, i), item(families, 0))) {
            duplicate(r, &at, quoted(r, item(families, i)));
        }
    }
}

static void check_external_ips(const struct rules *r)
{
    struct json_object *ips = json_member(r->spec, "externalIPs");
    const struct cmd_path at_ips = {&at_spec, "externalIPs", 0};
    for (size_t i = 0; i < json_len(ips); i++) {
        const struct cmd_path at = {&at_ips, NULL, i};
        check_ip(r, &at, item(ips, i));
        check_endpoint(r, &at, item(ips, i));
    }
}

static void check_ranges_annotation(const struct rules *r)
{
    const struct cmd_path at_map = {&at_meta, "annotations", 0};
    const struct cmd_path at = {&at_map, RANGES_KEY, 0};
    const char *text = json_str(json_path(r->service, "metadata.annotations"), RANGES_KEY);
    size_t n = 0;
    if (text == NULL) {
        return;
    }
    /* The server writes the key in brackets. */
    const char *path = "metadata.annotations[" RANGES_KEY "]";
    if (!is_type(r, "LoadBalancer")) {
        cmd_faults_add(r->faults, r->origin, &at, true, "%s: Forbidden: %s", path, LB_ONLY);
    }
    text = str_trim_unicode(r->a, text);
    char **items = str_split(r->a, text, ',', &n);
    for (size_t i = 0; *text != '\0' && i < n; i++) {
        const char *range = str_trim_unicode(r->a, items[i]);
        const char *detail = cmd_cidr_fault(range);
        if (detail != NULL) {
            cmd_faults_add(r->faults, r->origin, &at, true, "%s: Invalid value: %s: %s", path,
                           quoted(r, range), detail);
        }
    }
}

/* The server keeps values that it accepted before, but it never accepted an invalid CIDR. */
static bool may_stay(const struct rules *r, struct json_object *live, const char *range)
{
    struct ip_net net;
    return r->alone ? ip_net_parse_sloppy(str_trim_unicode(r->a, range), &net) : is_in(live, range);
}

static void check_ranges(const struct rules *r)
{
    struct json_object *ranges = json_member(r->spec, "loadBalancerSourceRanges");
    struct json_object *live = json_member(r->live_spec, "loadBalancerSourceRanges");
    const struct cmd_path at_list = {&at_spec, "loadBalancerSourceRanges", 0};
    if (json_len(ranges) == 0) {
        if (!r->alone) {
            check_ranges_annotation(r);
        }
        return;
    }
    if (!r->alone && !is_type(r, "LoadBalancer")) {
        forbidden(r, &at_list, LB_ONLY);
    }
    for (size_t i = 0; i < json_len(ranges); i++) {
        const struct cmd_path at = {&at_list, NULL, i};
        const char *range = str_trim_unicode(r->a, item(ranges, i));
        const char *detail = cmd_cidr_fault(range);
        if (detail != NULL && !may_stay(r, live, item(ranges, i))) {
            invalid(r, &at, range, detail);
        }
    }
}

/* ---- fields that belong to types ------------------------------------------------------------- */

static void check_node_ports(const struct rules *r)
{
    const struct cmd_path at_ports = {&at_spec, "ports", 0};
    for (size_t i = 0; is_type(r, "ClusterIP") && i < json_len(r->ports); i++) {
        const struct cmd_path at_port = {&at_ports, NULL, i};
        const struct cmd_path at = {&at_port, "nodePort", 0};
        if (json_int(json_object_array_get_idx(r->ports, i), "nodePort", 0) != 0) {
            forbidden(r, &at, "may not be used when `type` is 'ClusterIP'");
        }
    }
}

static void check_lb_fields(const struct rules *r)
{
    const struct cmd_path at_allocate = {&at_spec, "allocateLoadBalancerNodePorts", 0};
    const struct cmd_path at_class = {&at_spec, "loadBalancerClass", 0};
    const char *now = json_str(r->spec, "loadBalancerClass");
    const char *was = json_str(r->live_spec, "loadBalancerClass");
    bool is_lb = is_type(r, "LoadBalancer");
    bool was_lb = str_eq(json_str(r->live_spec, "type"), "LoadBalancer");
    if (!is_lb && json_member(r->spec, "allocateLoadBalancerNodePorts") != NULL) {
        forbidden(r, &at_allocate, LB_ONLY);
    }
    if (is_lb && was_lb && !str_eq(now, was)) {
        invalid_shown(r, &at_class, now == NULL ? "null" : quoted(r, now),
                      "may not change once set");
        return;
    }
    if (now == NULL || str_eq(now, was)) {
        return;
    }
    if (!is_lb) {
        forbidden(r, &at_class, LB_ONLY);
        return;
    }
    check_word(r, &at_class, now, cmd_check_qualified);
}

static void check_policies(const struct rules *r)
{
    const struct cmd_path at_policy = {&at_spec, "externalTrafficPolicy", 0};
    const struct cmd_path at_port = {&at_spec, "healthCheckNodePort", 0};
    const char *policy = str_nonnull(json_str(r->spec, "externalTrafficPolicy"));
    bool outside = is_type(r, "NodePort") || is_type(r, "LoadBalancer") ||
                   (is_type(r, "ClusterIP") && json_len(json_member(r->spec, "externalIPs")) > 0);
    bool checked = is_type(r, "LoadBalancer") && str_eq(policy, "Local");
    int64_t port = json_int(r->spec, "healthCheckNodePort", 0);
    int64_t was = json_int(r->live_spec, "healthCheckNodePort", 0);
    if (!outside && *policy != '\0') {
        invalid(r, &at_policy, policy, "may only be set for externally-accessible services");
    }
    if (!checked && port != 0) {
        invalid_int(r, &at_port, port,
                    "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is "
                    "'Local'");
    }
    if (checked && was != 0 && port != was) {
        forbidden(r, &at_port, "field is immutable");
    }
}

static void check_distribution(const struct rules *r)
{
    static const char *const known[] = {"PreferClose", "PreferSameNode", "PreferSameZone"};
    const struct cmd_path at = {&at_spec, "trafficDistribution", 0};
    const char *word = json_str(r->spec, "trafficDistribution");
    for (size_t i = 0; word != NULL && i < ARRAY_LEN(known); i++) {
        if (str_eq(word, known[i])) {
            return;
        }
    }
    if (word != NULL) {
        cmd_faults_add(r->faults, r->origin, &at, true,
                       "%s: Unsupported value: %s: supported values: \"PreferClose\", "
                       "\"PreferSameZone\", \"PreferSameNode\"",
                       cmd_path_text(r->a, &at), quoted(r, word));
    }
}

static const struct cmd_path at_check_port = {&at_spec, "healthCheckNodePort", 0};

static void check_all(const struct rules *r)
{
    cmd_meta_check(r->faults, r->origin, r->service);
    if (!r->alone) {
        check_by_type(r);
    }
    check_ports(r);
    check_node_number(r, &at_check_port, r->spec);
    check_selector(r);
    check_affinity(r);
    check_families(r);
    if (!r->alone) {
        check_cluster_ips(r);
        check_policy_of_two(r);
        check_ip_stays(r);
    }
    check_external_ips(r);
    if (!r->alone) {
        check_node_ports(r);
        check_repeated_ports(r);
    }
    check_ranges(r);
    if (!r->alone) {
        check_lb_fields(r);
        check_policies(r);
    }
    check_distribution(r);
}

static void check(struct cmd_faults *faults, const struct cmd_origin *origin,
                  struct json_object *service, struct json_object *live, bool alone)
{
    struct json_object *spec = json_member(service, "spec");
    const char *type = str_nonnull(json_str(spec, "type"));
    check_all(&(struct rules){faults, origin, faults->a, service, spec, json_member(live, "spec"),
                              json_member(spec, "ports"), type, alone});
}

void cmd_service_check_alone(struct cmd_faults *faults, const struct cmd_origin *origin,
                             struct json_object *service)
{
    check(faults, origin, service, NULL, true);
}

void cmd_service_check(struct cmd_faults *faults, const struct cmd_origin *origin,
                       struct json_object *service, struct json_object *live)
{
    check(faults, origin, service, live, false);
}
