/* SPDX-License-Identifier: Apache-2.0 */
/* eval_services.c: worlds of requests, decoded by the library; see eval_services.h. */
#include "tests/eval/eval_services.h"

#include "common/base/str.h"

static int read_detector(struct arena *a, struct json_object *o, struct ks_node_config *c,
                         struct err *err)
{
    static const struct {
        const char *mode;
        enum ks_detect detect;
    } modes[] = {
        {"ClusterCIDR", KS_DETECT_CIDR},
        {"NodeCIDR", KS_DETECT_CIDR},
        {"BridgeInterface", KS_DETECT_BRIDGE},
        {"InterfaceNamePrefix", KS_DETECT_PREFIX},
    };
    if (o == NULL) {
        return ERR_OK;
    }
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        if (str_eq(modes[i].mode, json_str(o, "mode"))) {
            c->detect = modes[i].detect;
            c->detect_value = arena_strdup(a, str_nonnull(json_str(o, "value")));
            return ERR_OK;
        }
    }
    return err_set(err, ERR_INVALID, "detect_local.mode: not known");
}

static int read_proxy(struct arena *a, struct json_object *proxy, struct ks_node_config *c,
                      struct err *err)
{
    int64_t bit = json_int(proxy, "masquerade_bit", 14);
    if (bit < 0 || bit > 31) {
        return err_set(err, ERR_INVALID, "masquerade_bit: want 0 to 31");
    }
    c->masquerade_bit = (unsigned)bit;
    c->masquerade_all = json_bool(proxy, "masquerade_all", false);
    c->random_fully = json_bool(proxy, "random_fully", false);
    c->localhost_node_ports = json_bool(proxy, "localhost_node_ports", false);
    c->nfacct = json_bool(proxy, "nfacct", false);
    c->tcp_be_liberal = json_bool(proxy, "tcp_be_liberal", false);
    c->scheduler = arena_strdup(a, str_nonnull(json_str(proxy, "scheduler")));
    c->node_port_addresses = eval_strs(a, proxy, "node_port_addresses", &c->n_node_port_addresses);
    c->service_cidrs = eval_strs(a, proxy, "service_cidrs", &c->n_service_cidrs);
    return read_detector(a, json_member(proxy, "detect_local"), c, err);
}

int eval_node_config(struct arena *a, struct json_object *in, struct ks_node_config *ret,
                     struct err *err)
{
    struct json_object *node = json_member(in, "node");
    struct json_object *proxy = json_member(in, "proxy");
    const char *family = str_or(json_str(proxy, "family"), "IPv4");
    if (!str_eq(family, "IPv4") && !str_eq(family, "IPv6")) {
        return err_set(err, ERR_INVALID, "proxy.family: want IPv4 or IPv6");
    }
    struct ks_node_config c = {.family = str_eq(family, "IPv6") ? KS_IPV6 : KS_IPV4};
    c.name = arena_strdup(a, str_nonnull(json_str(node, "name")));
    c.zone = arena_strdup(a, str_nonnull(json_str(node, "zone")));
    c.ip = arena_strdup(a, str_nonnull(json_str(node, "ip")));
    c.addresses = eval_strs(a, node, "addresses", &c.n_addresses);
    int code = read_proxy(a, proxy, &c, err);
    if (code == ERR_OK) {
        *ret = c;
    }
    return code;
}

int eval_ks_services(struct arena *a, struct json_object *in, const char *member,
                     const struct ks_service *const **ret, size_t *ret_n, struct err *err)
{
    struct json_object *array = json_member(in, member);
    size_t n = json_len(array);
    const struct ks_service **items = ARENA_ARRAY(a, const struct ks_service *, n);
    for (size_t i = 0; i < n; i++) {
        const char *where = arena_printf(a, "%s[%zu]", member, i);
        struct json_object *o = json_object_array_get_idx(array, i);
        int code = ks_service_decode(a, o, where, &items[i], err);
        if (code != ERR_OK) {
            return code;
        }
    }
    *ret = items;
    *ret_n = n;
    return ERR_OK;
}

int eval_ks_slices(struct arena *a, struct json_object *in, const char *member,
                   const struct ks_slice *const **ret, size_t *ret_n, struct err *err)
{
    struct json_object *array = json_member(in, member);
    size_t n = json_len(array);
    const struct ks_slice **items = ARENA_ARRAY(a, const struct ks_slice *, n);
    for (size_t i = 0; i < n; i++) {
        const char *where = arena_printf(a, "%s[%zu]", member, i);
        struct json_object *o = json_object_array_get_idx(array, i);
        int code = ks_slice_decode(a, o, where, &items[i], err);
        if (code != ERR_OK) {
            return code;
        }
    }
    *ret = items;
    *ret_n = n;
    return ERR_OK;
}

int eval_world(struct arena *a, struct json_object *in, const struct ks_world **ret,
               struct err *err)
{
    struct ks_node_config config;
    const struct ks_service *const *services;
    const struct ks_slice *const *slices;
    size_t n_services, n_slices;
    int code = eval_node_config(a, in, &config, err);
    code = code != ERR_OK ? code : eval_ks_services(a, in, "services", &services, &n_services, err);
    code = code != ERR_OK ? code : eval_ks_slices(a, in, "slices", &slices, &n_slices, err);
    if (code == ERR_OK) {
        *ret = ks_world_make(a, &config, services, n_services, slices, n_slices);
    }
    return code;
}
