/* SPDX-License-Identifier: Apache-2.0 */
/* gce_rows.c: see gce_rows.h. */
#include "tests/unit/sim/reach/gce_rows.h"

#include <string.h>

#include "common/base/str.h"

#define NODE(name, zone, ip, tags)                                                                 \
    "'zones/r-" zone "/instances/" name "': {'status': 'RUNNING', " tags                           \
    "'networkInterfaces': [{'network': 'global/networks/default', 'networkIP': '10.0.1." ip "', "  \
    "'ipv6Address': 'fd00::1:" ip "'}]},"
#define TAGGED "'tags': {'items': ['other', 'node']}, "
#define BOTH_ZONES(kind)                                                                           \
    "'backends': [{'group': 'zones/r-a/" kind "/web'}, {'group': 'zones/r-b/" kind "/web'}]"
#define FIREWALL  "'network': 'global/networks/default', 'targetTags': ['node'], "
#define TCP(port) "'allowed': [{'IPProtocol': 'tcp', 'ports': ['" port "']}]"

static const char world[] = "{" NODE("node-0", "a", "0", TAGGED) NODE("node-1", "b", "1", TAGGED) NODE(
    "node-2", "c", "2",
    "") "'zones/r-a/instanceGroups/web': {}, 'zones/r-b/instanceGroups/web': {},"
        "'members zones/r-a/instanceGroups/web': ['zones/r-a/instances/node-0'],"
        "'members zones/r-b/instanceGroups/web': ['zones/r-b/instances/node-1'],"
        "'zones/r-a/networkEndpointGroups/web': {'network': 'global/networks/default'},"
        "'zones/r-b/networkEndpointGroups/web': {'network': 'global/networks/default'},"
        "'members zones/r-a/networkEndpointGroups/web':"
        "    [{'instance': 'node-0', 'ipAddress': '10.0.1.0'}],"
        "'members zones/r-b/networkEndpointGroups/web':"
        "    [{'instance': 'node-1', 'ipAddress': '10.0.1.1'}],"
        "'global/httpHealthChecks/node': {'port': 10256},"
        "'regions/r/healthChecks/node': {'type': 'HTTP', 'httpHealthCheck': {'port': 10256}},"
        "'global/healthChecks/node': {'type': 'HTTP', 'httpHealthCheck': {'port': 10256}},"
        "'regions/r/targetPools/web': {'healthChecks': ['global/httpHealthChecks/node'],"
        "    'instances': ['zones/r-a/instances/node-0', '/zones/r-b/instances/node-1']},"
        "'regions/r/backendServices/groups': {'protocol': 'TCP', 'loadBalancingScheme': 'EXTERNAL',"
        "    'healthChecks': ['regions/r/healthChecks/node'], " BOTH_ZONES(
            "instanceGroups") "},"
                              "'regions/r/backendServices/endpoints': {'protocol': 'TCP', "
                              "'loadBalancingScheme': 'EXTERNAL',"
                              "    'healthChecks': ['regions/r/healthChecks/node'], " BOTH_ZONES(
                                  "networkEndpointGroups") "},"
                                                           "'regions/r/backendServices/internal': "
                                                           "{'protocol': 'TCP', "
                                                           "'loadBalancingScheme': 'INTERNAL',"
                                                           "    'healthChecks': "
                                                           "['global/healthChecks/"
                                                           "node'], " BOTH_ZONES(
                                                               "instanceGroups") "},"
                                                                                 "'global/"
                                                                                 "firewalls/web': "
                                                                                 "{" FIREWALL
                                                                                 "'sourceRanges': "
                                                                                 "['0.0.0.0/0'],"
                                                                                 "    "
                                                                                 "'destinationRange"
                                                                                 "s': "
                                                                                 "['203.0.113.1'],"
                                                                                 " " TCP(
                                                                                     "80") "},"
                                                                                           "'global"
                                                                                           "/firewa"
                                                                                           "lls/"
                                                                                           "web6': "
                                                                                           "{" FIREWALL
                                                                                           "'source"
                                                                                           "Ranges'"
                                                                                           ": "
                                                                                           "['0::0/"
                                                                                           "0'],"
                                                                                           "    "
                                                                                           "'destin"
                                                                                           "ationRa"
                                                                                           "nges': "
                                                                                           "['2001:"
                                                                                           "db8:0:"
                                                                                           "0:0:0:"
                                                                                           "0:1'],"
                                                                                           " " TCP(
                                                                                               "80") "},"
                                                                                                     "'global/firewalls/inside': {" FIREWALL
                                                                                                     "'sourceRanges': ['10.0.0.0/8'],"
                                                                                                     "    'destinationRanges': ['10.0.0.9'], " TCP(
                                                                                                         "80") "},"
                                                                                                               "'global/firewalls/inside6': {" FIREWALL
                                                                                                               "'sourceRanges': ['fd00::/8'],"
                                                                                                               "    'destinationRanges': ['fd00::9'], " TCP(
                                                                                                                   "80") "},"
                                                                                                                         "'global/firewalls/probes': {" FIREWALL
                                                                                                                         "'sourceRanges': ['130.211.0.0/22', '35.191.0.0/16',"
                                                                                                                         "    '209.85.152.0/22', '209.85.204.0/22'], " TCP(
                                                                                                                             "10256") "},"
                                                                                                                                      "'global/firewalls/probes6': {" FIREWALL
                                                                                                                                      "'sourceRanges': ['2600:2d00:1:b029::/64',"
                                                                                                                                      "    '2600:1901:8001::/48'], " TCP(
                                                                                                                                          "10256") "}}";

#define RULE(address, rest)                                                                        \
    "{'regions/r/forwardingRules/web': {'IPAddress': '" address "', 'IPProtocol': 'TCP', " rest "}}"
#define EXTERNAL "'loadBalancingScheme': 'EXTERNAL', 'portRange': '80-80', "
#define INTERNAL                                                                                   \
    "'loadBalancingScheme': 'INTERNAL', 'network': 'global/networks/default', 'ports': ['80'], "   \
    "'backendService': 'regions/r/backendServices/internal'"

static const char *const rules[] = {
    [GCE_NONE] = "{}",
    [GCE_POOL] = RULE("203.0.113.1", EXTERNAL "'target': 'regions/r/targetPools/web'"),
    [GCE_GROUPS] =
        RULE("203.0.113.1", EXTERNAL "'backendService': 'regions/r/backendServices/groups'"),
    [GCE_NEGS] =
        RULE("203.0.113.1", EXTERNAL "'backendService': 'regions/r/backendServices/endpoints'"),
    [GCE_GROUPS6] = RULE("2001:db8:0:0:0:0:0:1/96",
                         EXTERNAL "'ipVersion': 'IPV6', "
                                  "'backendService': 'regions/r/backendServices/groups'"),
    [GCE_INSIDE] = RULE("10.0.0.9", INTERNAL),
    [GCE_INSIDE6] = RULE("fd00:0:0:0:0:0:0:9/96", INTERNAL ", 'ipVersion': 'IPV6'"),
};

/* --- making a world --------------------------------------------------------------------------- */

static struct json_object *parse(struct arena *a, const char *name, const char *text)
{
    struct json_object *o = NULL;
    struct err err = ERR_INIT;
    const char *json = str_replace(a, text, "'", "\"");
    if (json_parse_arena(a, json, strlen(json), NULL, &o, &err) != ERR_OK) {
        fail_msg("%s: %s", name, err.message);
    }
    return o;
}

/* null takes away, an object adds to one, others replace. */
static void merge(struct json_object *into, const char *key, struct json_object *value)
{
    struct json_object *old = json_member(into, key);
    if (value == NULL) {
        json_object_object_del(into, key);
    } else if (old == NULL || !json_object_is_type(value, json_type_object)) {
        json_add(into, key, json_object_get(value));
    } else {
        json_object_object_foreach(value, member, part)
        {
            if (part == NULL) {
                json_object_object_del(old, member);
            } else {
                json_add(old, member, json_object_get(part));
            }
        }
    }
}

static void add(struct arena *a, struct json_object *o, const char *name, const char *text)
{
    struct json_object *part = parse(a, name, text);
    json_object_object_foreach(part, key, value)
    {
        bool members = str_has_prefix(key, "members ");
        const char *path =
            arena_printf(a, "projects/p/%s", members ? key + strlen("members ") : key);
        merge(json_member(o, members ? "members" : "gce"), path, value);
    }
}

/* --- lines of a document ---------------------------------------------------------------------- */

static void append_list(struct str_buf *b, struct json_object *list)
{
    for (size_t i = 0; i < json_len(list); i++) {
        str_appendf(b, "%s%s", i > 0 ? " " : "",
                    json_object_get_string(json_object_array_get_idx(list, i)));
    }
}

static void append_port(struct str_buf *b, const char *address, const char *key,
                        struct json_object *port)
{
    struct json_object *targets = json_member(port, "targets");
    str_appendf(b, "%s%s %s %s ", b->len > 0 ? "\n" : "", address, key, json_str(port, "from"));
    append_list(b, json_member(port, "clients"));
    str_append(b, json_str(port, "why"));
    for (size_t i = 0; i < json_len(targets); i++) {
        struct json_object *t = json_object_array_get_idx(targets, i);
        str_appendf(b, "%s%s%s", i == 0 ? " -> " : " ", json_str(t, "target"),
                    json_bool(t, "healthy", false) ? "" : "!");
        if (json_member(t, "clients") != NULL) {
            str_append(b, "(");
            append_list(b, json_member(t, "clients"));
            str_append(b, ")");
        }
    }
}

const char *gce_lines(struct arena *a, struct json_object *document)
{
    struct str_buf b = STR_BUF_INIT;
    json_object_object_foreach(document, address, ports)
    {
        json_object_object_foreach(ports, key, port)
        {
            append_port(&b, address, key, port);
        }
    }
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

void gce_rows_check(const struct gce_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct arena *a = arena_new();
        struct json_object *o = parse(a, rows[i].name, "{'gce': {}, 'members': {}}");
        add(a, o, rows[i].name, world);
        add(a, o, rows[i].name, rules[rows[i].base]);
        add(a, o, rows[i].name, rows[i].patch);
        struct json_object *document = reach_of_world(o);
        const char *got = gce_lines(a, document);
        if (!str_eq(got, rows[i].want)) {
            fail_msg("%s:\nwant %s\ngot  %s", rows[i].name, rows[i].want, got);
        }
        json_object_put(document);
        arena_free(a);
    }
}
