/* SPDX-License-Identifier: Apache-2.0 */
/* azure_world.c: see azure_world.h. */
#include "tests/unit/sim/reach/azure_world.h"

#include <string.h>

#include "common/base/str.h"

#define CONFIG(name, version, address, pool)                                                       \
    "{'name': '" name "', 'properties': {'privateIPAddressVersion': '" version                     \
    "', 'privateIPAddress': '" address                                                             \
    "', 'subnet': " REF(VNET "/subnets/sn") ", 'loadBalancerBackendAddressPools': " IDS(           \
        LB "/backendAddressPools/" pool) "}}"
#define MACHINE(n)                                                                                 \
    DOC(CPU "/virtualMachines/vm-" n,                                                              \
        "'osProfile': {'computerName': 'node-" n                                                   \
        "'}, 'networkProfile': {'networkInterfaces': " IDS(NET "/networkInterfaces/nic-" n) "}")   \
    ", " DOC(NET "/networkInterfaces/nic-" n,                                                      \
             "'ipConfigurations': [" CONFIG("v4", "IPv4", "10.240.1." n, "k") ", " CONFIG(         \
                 "v6", "IPv6", "fd00::1:" n, "k6") "]")
#define PUBLIC_IP(name, address) DOC(NET "/publicIPAddresses/" name, "'ipAddress': '" address "'")
#define FRONT(name, ip)                                                                            \
    "{'name': '" name "', 'properties': {'publicIPAddress': " REF(NET "/publicIPAddresses/" ip) "}}"
#define INNER(name, address)                                                                       \
    "{'name': '" name                                                                              \
    "', 'properties': {'subnet': " REF(VNET "/subnets/sn") ", 'privateIPAddress': '" address "'}}"

#define FRONTS                                                                                     \
    "'frontendIPConfigurations': [" FRONT("f", "pip") ", " FRONT("f6", "pip6") ", " INNER(         \
        "g", "10.240.0.4") ", " INNER("g6", "fd00::4") "]"
#define THE_PROBE "{'name': 'p', 'properties': {'protocol': 'Tcp', 'port': 30080}}"

static const char *const base[] = {
    DOC(VNET, "'addressSpace': {'addressPrefixes': ['10.0.0.0/8', 'fd00::/48']}"),
    DOC(VNET "/subnets/sn", "'addressPrefixes': ['10.240.0.0/16', 'fd00::/64'], "
                            "'networkSecurityGroup': " REF(NSG)),
    GROUP(ALLOW("500", "Internet", "203.0.113.1", "80")),
    MACHINE("1"),
    MACHINE("2"),
    PUBLIC_IP("pip", "203.0.113.1"),
    PUBLIC_IP("pip6", "2001:db8:1::1"),
    "'" LB "': {'sku': {'name': 'Standard'}, 'properties': {" FRONTS ", " RULES(
        USUAL) ", "
               "'backendAddressPools': [{'name': 'k'}, {'name': 'k6'}], 'probes': [" THE_PROBE
               "]}}",
};

/* --- worlds ----------------------------------------------------------------------------------- */

/* The last of two members with the same name counts, so that an edit can replace a member
 * of a macro. */
static struct json_object *parse(const char *text)
{
    struct arena *a = arena_new();
    const char *json = str_replace(a, text, "'", "\"");
    struct json_object *o = json_tokener_parse(json);
    if (o == NULL) {
        fail_msg("no JSON: %s", json);
    }
    arena_free(a);
    return o;
}

static void merge(struct json_object *to, struct json_object *patch)
{
    json_object_object_foreach(patch, name, value)
    {
        struct json_object *have = json_member(to, name);
        if (value == NULL) {
            json_object_object_del(to, name);
        } else if (json_object_is_type(value, json_type_object) &&
                   json_object_is_type(have, json_type_object)) {
            merge(have, value);
        } else {
            json_add(to, name, json_copy(value));
        }
    }
}

struct json_object *azure_world(const char *edit)
{
    struct arena *a = arena_new();
    struct json_object *world = json_object_new_object();
    const char *documents = str_join(a, base, ARRAY_LEN(base), ", ");
    struct json_object *azure = parse(arena_printf(a, "{%s}", documents));
    struct json_object *patch = parse(arena_printf(a, "{%s}", edit));
    merge(azure, patch);
    json_object_put(patch);
    json_add(world, "azure", azure);
    arena_free(a);
    return world;
}

/* --- lines ------------------------------------------------------------------------------------ */

static void append_list(struct str_buf *b, struct json_object *texts)
{
    for (size_t i = 0; i < json_len(texts); i++) {
        str_appendf(b, "%s%s", i > 0 ? "," : "",
                    json_object_get_string(json_object_array_get_idx(texts, i)));
    }
    str_append(b, json_len(texts) == 0 ? "?" : NULL);
}

static void append_port(struct str_buf *b, struct json_object *port)
{
    struct json_object *targets = json_member(port, "targets");
    const char *why = json_str(port, "why");
    str_appendf(b, " %s ", json_str(port, "from"));
    if (json_len(targets) == 0) {
        str_append(b, str_nonnull(why));
        return;
    }
    append_list(b, json_member(port, "clients"));
    str_append(b, " >");
    for (size_t i = 0; i < json_len(targets); i++) {
        struct json_object *t = json_object_array_get_idx(targets, i);
        str_appendf(b, " %s%s", json_bool(t, "healthy", false) ? "" : "!", json_str(t, "target"));
        if (json_member(t, "clients") != NULL) {
            str_append(b, " (");
            append_list(b, json_member(t, "clients"));
            str_append(b, ")");
        }
    }
    str_appendf(b, "%s%s", why != NULL ? " " : "", str_nonnull(why));
}

char *azure_lines(struct arena *a, struct json_object *world)
{
    struct json_object *document = reach_of_world(world);
    struct str_buf b = STR_BUF_INIT;
    json_object_object_foreach(document, address, ports)
    {
        json_object_object_foreach(ports, key, port)
        {
            str_appendf(&b, "%s%s %s", b.len > 0 ? "\n" : "", address, key);
            append_port(&b, port);
        }
    }
    char *lines = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    json_object_put(document);
    return lines;
}

/* Lines of frontends without any rule say nothing new in most rows. */
static char *without_idle(struct arena *a, const char *lines)
{
    struct str_buf b = STR_BUF_INIT;
    size_t n = 0;
    char **items = str_split(a, lines, '\n', &n);
    for (size_t i = 0; i < n; i++) {
        if (!str_has_suffix(items[i], REACH_NO_LISTENER)) {
            str_appendf(&b, "%s%s", b.len > 0 ? "\n" : "", items[i]);
        }
    }
    char *kept = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return kept;
}

void azure_check_rows(const struct azure_row *rows, size_t n)
{
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++) {
        struct arena *a = arena_new();
        struct json_object *world = azure_world(rows[i].edit);
        const char *got = azure_lines(a, world);
        got = strstr(rows[i].want, REACH_NO_LISTENER) != NULL ? got : without_idle(a, got);
        if (!str_eq(got, rows[i].want)) {
            print_error("%s\n  got   %s\n  want  %s\n", rows[i].what, got, rows[i].want);
            wrong++;
        }
        json_object_put(world);
        arena_free(a);
    }
    assert_int_equal(wrong, 0);
}
