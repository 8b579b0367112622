/* SPDX-License-Identifier: Apache-2.0 */
/* config_director.c: the section `director` of a configuration: how this machine forwards,
 * checks, holds and exports.  Pure. */
#include "providers/local/model/config_internal.h"

#include <string.h>

#define MINUTE_MS   60000
#define HOUR_MS     3600000
#define NAME_MAX_   200 /* of a director: its Lease has a prefix, and at most 253 bytes */
#define IFNAME_MAX_ 15

/* Numbers of routing protocols that others write, as iproute2 and FRR name them. */
static const struct {
    int64_t number;
    const char *owner;
} protocols[] = {
    {0, "not set"},
    {1, "a redirect's"},
    {2, "the kernel's"},
    {3, "iproute2's (boot)"},
    {4, "iproute2's (static)"},
    {8, "gated's"},
    {9, "router discovery's"},
    {10, "mrt's"},
    {11, "zebra's"},
    {12, "bird's"},
    {13, "dnrouted's"},
    {14, "xorp's"},
    {15, "netsukuku's"},
    {16, "a DHCP client's"},
    {17, "mrouted's"},
    {18, "keepalived's"},
    {42, "babel's"},
    {99, "openr's"},
    {186, "bgp in FRR"},
    {187, "isis in FRR"},
    {188, "ospf in FRR"},
    {189, "rip in FRR"},
    {190, "ripng in FRR"},
    {191, "nhrp in FRR"},
    {192, "eigrp in FRR"},
};

static void read_protocol(struct local_cfg *c, const struct local_cfg_at *at,
                          const struct local_cfg_field *f, struct json_object *v, void *out)
{
    int64_t number = json_object_get_int64(v);
    for (size_t i = 0; json_object_is_type(v, json_type_int) && i < ARRAY_LEN(protocols); i++) {
        if (protocols[i].number == number) {
            local_cfg_error(c, at, "routeProtocol %lld is %s; choose another", (long long)number,
                            protocols[i].owner);
            return;
        }
    }
    if (json_object_is_type(v, json_type_int) && number > 4 && number < 8) {
        local_cfg_error(c, at, "routeProtocol %lld is reserved; choose another", (long long)number);
        return;
    }
    local_cfg_number(c, at, f, v, out);
}

static void read_table(struct local_cfg *c, const struct local_cfg_at *at,
                       const struct local_cfg_field *f, struct json_object *v, void *out)
{
    int64_t number = json_object_get_int64(v);
    if (json_object_is_type(v, json_type_int) && number >= 253 && number <= 255) {
        local_cfg_error(c, at, "routeTable %lld is the kernel's %s; choose one of 1 to 252",
                        (long long)number,
                        number == 253   ? "table default"
                        : number == 254 ? "table main"
                                        : "table local");
        return;
    }
    local_cfg_number(c, at, f, v, out);
}

static void read_mark(struct local_cfg *c, const struct local_cfg_at *at,
                      const struct local_cfg_field *f, struct json_object *v, void *out)
{
    int64_t bit = json_object_get_int64(v);
    if (!json_object_is_type(v, json_type_int) || bit <= 0 || bit > UINT32_MAX ||
        (bit & (bit - 1)) != 0) {
        local_cfg_error(c, at, "markBit %.100s is not one bit of 32", local_cfg_shown(c, v));
    } else if (bit == 0x4000 || bit == 0x8000) {
        local_cfg_error(c, at, "markBit 0x%llx is kube-proxy's", (unsigned long long)bit);
    } else {
        uint32_t value = (uint32_t)bit;
        memcpy((char *)out + f->offset, &value, sizeof(value));
    }
}

static void read_name(struct local_cfg *c, const struct local_cfg_at *at,
                      const struct local_cfg_field *f, struct json_object *v, void *out)
{
    const char *text = json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "-";
    size_t n = strlen(text);
    if (n > NAME_MAX_ || strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-.") != n ||
        text[0] == '-' || text[0] == '.' || n == 0 || text[n - 1] == '-' || text[n - 1] == '.') {
        local_cfg_error(c, at,
                        "director name \"%.100s\": lower-case letters, digits, dashes and dots, at "
                        "most %d",
                        local_cfg_shown(c, v), NAME_MAX_);
        return;
    }
    local_cfg_text(c, at, f, v, out);
}

static void read_address_types(struct local_cfg *c, const struct local_cfg_at *at,
                               const struct local_cfg_field *f, struct json_object *v, void *out)
{
    struct local_director_config *d = out;
    size_t n;
    const char *const *types = local_cfg_texts(c, at, v, &n);
    (void)f;
    for (size_t i = 0; i < n; i++) {
        const struct local_cfg_at here = {at, NULL, i};
        if (!str_eq(types[i], "InternalIP") && !str_eq(types[i], "ExternalIP")) {
            local_cfg_error(c, &here,
                            "nodeAddressTypes is \"%.100s\"; it can be InternalIP or ExternalIP",
                            types[i]);
        }
    }
    if (n > 0) {
        d->node_address_types = types;
        d->n_node_address_types = n;
    } else if (types != NULL) {
        local_cfg_error(c, at, "nodeAddressTypes is empty: no node would have an address");
    }
}

static void read_tunnel(struct local_cfg *c, const struct local_cfg_at *at,
                        const struct local_cfg_field *f, struct json_object *v, void *out)
{
    static const struct local_cfg_field fields[] = {
        LOCAL_CFG_WORD("type", struct local_director_config, tunnel, local_tunnel_words),
        LOCAL_CFG_RANGE("port", local_cfg_number, struct local_director_config, tunnel_port, 1,
                        UINT16_MAX),
        {0},
    };
    (void)f;
    local_cfg_object(c, at, v, fields, out);
}

static void read_interface(struct local_cfg *c, const struct local_cfg_at *at,
                           const struct local_cfg_field *f, struct json_object *v, void *out)
{
    const char *text = local_cfg_shown(c, v);
    if (strlen(text) > IFNAME_MAX_ || strpbrk(text, "/ ") != NULL) {
        local_cfg_error(c, at, "%s: \"%.100s\" is not the name of an interface",
                        local_cfg_name(c, at), text);
        return;
    }
    local_cfg_text(c, at, f, v, out);
}

static void read_sync(struct local_cfg *c, const struct local_cfg_at *at,
                      const struct local_cfg_field *f, struct json_object *v, void *out)
{
    static const struct local_cfg_field fields[] = {
        LOCAL_CFG_FIELD("interface", read_interface, struct local_director_config, sync_interface),
        LOCAL_CFG_RANGE("syncid", local_cfg_number, struct local_director_config, sync_id, 0,
                        UINT8_MAX),
        {0},
    };
    (void)f;
    local_cfg_object(c, at, v, fields, out);
    if (json_object_is_type(v, json_type_object) && json_member(v, "interface") == NULL) {
        local_cfg_error(c, at, "connSync has no interface");
    }
}

#define D struct local_director_config
static const char *const closed_words[] = {"reject", "drop", NULL};
static const char *const loss_words[] = {"keep", "release", NULL};
const struct local_cfg_field local_cfg_director_fields[] = {
    LOCAL_CFG_FIELD("name", read_name, D, name),
    LOCAL_CFG_FIELD("mode", local_cfg_mode, D, serve.mode),
    LOCAL_CFG_WORD("redundancy", D, redundancy, local_redundancy_words),
    LOCAL_CFG_RANGE("leaseDuration", local_cfg_duration, D, lease_duration_ms, 1000, HOUR_MS),
    LOCAL_CFG_RANGE("renew", local_cfg_duration, D, renew_ms, 100, HOUR_MS),
    LOCAL_CFG_FIELD("nodeSelector", local_cfg_selector, D, node_selector),
    LOCAL_CFG_FIELD("nodeAddressTypes", read_address_types, D, node_address_types),
    LOCAL_CFG_FIELD("zone", local_cfg_text, D, zone),
    LOCAL_CFG_FIELD("directorIsGateway", local_cfg_bool, D, is_gateway),
    LOCAL_CFG_FIELD("podsRoutable", local_cfg_bool, D, pods_routable),
    LOCAL_CFG_FIELD("checks", local_cfg_checks, D, serve.checks),
    LOCAL_CFG_FIELD("failOpen", local_cfg_bool, D, serve.fail_open),
    LOCAL_CFG_RANGE("drainTimeout", local_cfg_duration, D, serve.drain_timeout_ms, 0,
                    LOCAL_DRAIN_MS_MAX),
    LOCAL_CFG_FIELD("sorry", local_cfg_sorry, D, serve.sorry),
    LOCAL_CFG_WORD("closedPorts", D, closed_ports_drop, closed_words),
    LOCAL_CFG_RANGE("routeTable", read_table, D, route_table, 1, 252),
    LOCAL_CFG_RANGE("routeProtocol", read_protocol, D, route_protocol, 0, UINT8_MAX),
    LOCAL_CFG_FIELD("tunnel", read_tunnel, D, tunnel),
    LOCAL_CFG_FIELD("setSysctls", local_cfg_bool, D, set_sysctls),
    LOCAL_CFG_FIELD("markBit", read_mark, D, mark_bit),
    LOCAL_CFG_WORD("apiLoss", D, api_loss_release, loss_words),
    LOCAL_CFG_RANGE("orphanGrace", local_cfg_duration, D, orphan_grace_ms, 0, HOUR_MS),
    LOCAL_CFG_FIELD("connSync", read_sync, D, sync_interface),
    {0},
};
#undef D

static const char *const default_address_types[] = {"InternalIP"};
static const struct local_director_config defaults = {
    .serve = {.mode = LOCAL_MODE_AUTO,
              .checks = {.interval_ms = 2000,
                         .timeout_ms = 1000,
                         .fall = 3,
                         .rise = 2,
                         .cluster = LOCAL_CHECK_KUBE_PROXY,
                         .local = LOCAL_CHECK_NODE_PORT,
                         .pod = LOCAL_CHECK_NONE},
              .drain_timeout_ms = MINUTE_MS,
              .fail_open = true},
    .lease_duration_ms = 10000,
    .renew_ms = 3000,
    .node_address_types = default_address_types,
    .n_node_address_types = ARRAY_LEN(default_address_types),
    .route_table = 116,
    .route_protocol = 116,
    .tunnel_port = 6080,
    .mark_bit = 0x2000,
    .orphan_grace_ms = 30000,
};

void local_cfg_director(struct local_cfg *c, struct json_object *v, struct local_director_config *d)
{
    const struct local_cfg_at at = {NULL, "director", 0};
    *d = defaults;
    if (v == NULL) {
        return;
    }
    local_cfg_object(c, &at, v, local_cfg_director_fields, d);
    if (d->renew_ms * 2 >= d->lease_duration_ms) {
        char lease[LOCAL_DURATION_TEXT_MAX];
        char renew[LOCAL_DURATION_TEXT_MAX];
        const struct local_cfg_at here = {
            &at, json_member(v, "leaseDuration") != NULL ? "leaseDuration" : "renew", 0};
        local_duration_text(d->lease_duration_ms, lease);
        local_duration_text(d->renew_ms, renew);
        local_cfg_error(c, &here, "leaseDuration %s leaves no time for a second try with renew %s",
                        lease, renew);
    }
}
