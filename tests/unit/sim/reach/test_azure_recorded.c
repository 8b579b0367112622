/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of sim/reach/azure*.c against the recorded worlds of tests/data/azure: the Go controller
 * had come to rest in each, so every Service is served on each of its ports by every machine, to
 * the clients that it asks for.
 *
 * In the recorded worlds the security group hangs on nothing, because the stand-in of the recording
 * let everything pass; the tests hang it on the subnet, as cloud-provider-azure expects it. */
#include "tests/unit/sim/reach/reach_test.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/attr.h"
#include "common/base/file.h"
#include "common/base/str.h"

#define FILE_MAX_BYTES (8 << 20)
#define NETWORK        "/subscriptions/S/resourceGroups/rg/providers/Microsoft.Network"
#define ANNOTATION     "service.beta.kubernetes.io/azure-"

/* Ports that are rightly not served, each with the reason. */
static const struct exception {
    const char *world; /* NULL: each */
    const char *service;
    int port;        /* 0: each */
    const char *why; /* NULL: the port has no listener */
} exceptions[] = {
    /* Only two service tags may come in, and the worlds do not say which addresses these are. */
    {NULL, "ext-service-tags", 0, REACH_NO_PERMISSION},
    /* The annotation port_81_no_lb_rule asks for it. */
    {NULL, "ext-no-rule", 81, NULL},
    /* The rule's destinations are the pool's addresses, which the stand-in did not show (see the
     * folder's README). */
    {"world-node-ip.json", "ext-floating-off", 0, REACH_NO_PERMISSION},
};

static struct json_object *data(struct arena *a, const char *name)
{
    char *text = NULL;
    size_t n = 0;
    struct json_object *o = NULL;
    struct err err = ERR_INIT;
    const char *path = arena_printf(a, "%s/azure/%s", getenv("TRIMTAB_TEST_DATA"), name);
    if (file_read(a, path, FILE_MAX_BYTES, &text, &n, &err) != ERR_OK ||
        json_parse_arena(a, text, n, NULL, &o, &err) != ERR_OK) {
        fail_msg("%s: %s", path, err.message);
    }
    return o;
}

static void hang_group_on_subnet(struct json_object *world)
{
    struct json_object *subnet =
        json_member(json_member(world, "azure"), NETWORK "/virtualNetworks/vnet/subnets/sn");
    struct json_object *ref = json_object_new_object();
    assert_non_null(subnet);
    json_add_str(ref, "id", NETWORK "/networkSecurityGroups/nsg");
    json_add(json_member(subnet, "properties"), "networkSecurityGroup", ref);
}

/* One port of a Service, and the judge's word on it. */
struct check {
    struct arena *a;
    const char *world;
    struct json_object *service, *port;
    struct json_object *judged; /* NULL: the document does not have it */
};

static const char *name_of(const struct check *c)
{
    return json_str(json_member(c->service, "metadata"), "name");
}

static const char *annotation(const struct check *c, const char *name)
{
    return json_str(json_path(c->service, "metadata.annotations"), name);
}

static const struct exception *exception_of(const struct check *c)
{
    for (size_t i = 0; i < ARRAY_LEN(exceptions); i++) {
        const struct exception *x = &exceptions[i];
        if ((x->world == NULL || str_eq(x->world, c->world)) && str_eq(x->service, name_of(c)) &&
            (x->port == 0 || x->port == json_int(c->port, "port", 0))) {
            return x;
        }
    }
    return NULL;
}

/* The clients that the Service asks for: its ranges, and for an internal one the network, by the
 * group's default rule. */
static struct reach_ranges wanted_clients(const struct check *c)
{
    struct json_object *ranges =
        json_member(json_member(c->service, "spec"), "loadBalancerSourceRanges");
    const char *allowed = annotation(c, ANNOTATION "allowed-ip-ranges");
    bool internal = annotation(c, ANNOTATION "load-balancer-internal") != NULL;
    struct reach_ranges wanted = reach_ranges_of_list(c->a, ranges);
    size_t n = 0;
    char **items = str_split(c->a, str_nonnull(allowed), ',', &n);
    for (size_t i = 0; i < n; i++) {
        wanted = reach_ranges_or(c->a, wanted, reach_ranges_of(c->a, items[i]));
    }
    if (internal) {
        return reach_ranges_or(c->a, wanted, reach_ranges_of(c->a, "10.0.0.0/8"));
    }
    return reach_ranges_empty(wanted) ? reach_ranges_all(c->a, true, false) : wanted;
}

/* "node:port" for a Service with floating IP, "node:nodePort" for one without. */
static bool is_served(const struct check *c, size_t machines)
{
    struct json_object *targets = json_member(c->judged, "targets");
    bool floating = annotation(c, ANNOTATION "disable-load-balancer-floating-ip") == NULL;
    bool any = annotation(c, ANNOTATION "load-balancer-enable-high-availability-ports") != NULL;
    int64_t number = json_int(c->port, floating ? "port" : "nodePort", 0);
    const char *port = any ? ":*" : arena_printf(c->a, ":%d", (int)number);
    for (size_t i = 0; i < json_len(targets); i++) {
        struct json_object *t = json_object_array_get_idx(targets, i);
        const char *name = json_str(t, "target");
        if (!json_bool(t, "healthy", false) || json_member(t, "clients") != NULL ||
            strchr(name, ':') == NULL || !str_eq(strchr(name, ':'), port)) {
            return false;
        }
    }
    return json_member(c->judged, "why") == NULL && json_len(targets) == machines &&
           reach_ranges_equal(reach_ranges_of_list(c->a, json_member(c->judged, "clients")),
                              wanted_clients(c));
}

static void check_port(struct check *c, struct json_object *ports, size_t machines)
{
    const char *protocol = json_str(c->port, "protocol");
    int64_t number = json_int(c->port, "port", 0);
    const struct exception *x = exception_of(c);
    c->judged = json_member(ports, arena_printf(c->a, "%s/%d", protocol, (int)number));
    if (c->judged == NULL) {
        c->judged = json_member(ports, arena_printf(c->a, "%s/*", protocol));
    }
    if (x == NULL ? !is_served(c, machines)
                  : !str_eq(json_str(c->judged, "why"), x->why) ||
                        (x->why == NULL && c->judged != NULL)) {
        fail_msg("%s: %s %s/%d: %s", c->world, name_of(c), protocol, (int)number,
                 json_text(c->a, c->judged, JSON_COMPACT));
    }
}

/* Returns how many ports there were. */
static size_t check_world(struct arena *a, const char *name, struct json_object *world,
                          size_t machines)
{
    struct json_object *document = reach_of_world(world);
    struct json_object *services = json_path(world, "kubernetes.services");
    size_t n = 0;
    for (size_t i = 0; i < json_len(services); i++) {
        struct check c = {.a = a, .world = name, .service = json_object_array_get_idx(services, i)};
        struct json_object *ingress = json_path(c.service, "status.loadBalancer.ingress");
        struct json_object *ports = json_path(c.service, "spec.ports");
        for (size_t k = 0; k < json_len(ingress); k++) {
            const char *ip = json_str(json_object_array_get_idx(ingress, k), "ip");
            for (size_t p = 0; p < json_len(ports); p++, n++) {
                c.port = json_object_array_get_idx(ports, p);
                check_port(&c, json_member(document, ip), machines);
            }
        }
    }
    json_object_put(document);
    return n;
}

static void services_are_served(void **state)
{
    (void)state;
    static const struct {
        const char *file, *member;
        size_t machines, ports;
    } rows[] = {
        {"world-nic.json", NULL, 6, 28},
        {"world-node-ip.json", NULL, 6, 28},
        {"world-availability-sets.json", NULL, 3, 10},
        {"edits-nic.json", "before", 6, 28},
        {"edits-nic.json", "after", 6, 27},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct arena *a = arena_new();
        struct json_object *world = data(a, rows[i].file);
        world = rows[i].member != NULL ? json_member(world, rows[i].member) : world;
        hang_group_on_subnet(world);
        /* The recorded slices stand for members of pools: their one port is of none
         * of the Services. */
        json_object_object_del(json_member(world, "kubernetes"), "endpointslices");
        assert_int_equal(check_world(a, rows[i].file, world, rows[i].machines), rows[i].ports);
        arena_free(a);
    }
}

static size_t count(struct json_object *world, const char *from, const char *why)
{
    struct json_object *document = reach_of_world(world);
    size_t n = 0;
    json_object_object_foreach(document, address, ports)
    {
        (void)address;
        json_object_object_foreach(ports, key, port)
        {
            (void)key;
            n += str_eq(json_str(port, "from"), from) && str_eq(json_str(port, "why"), why);
        }
    }
    json_object_put(document);
    return n;
}

/* As they were recorded: nothing is open from outside on Standard balancers, everything
 * on Basic ones. */
static void without_the_group(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct json_object *standard = data(a, "world-nic.json");
    struct json_object *basic = data(a, "world-availability-sets.json");
    assert_int_equal(count(standard, "internet", NULL), 0);
    assert_true(count(standard, "internet", REACH_NO_PERMISSION) > 0);
    assert_true(count(standard, "network", NULL) > 0);
    assert_int_equal(count(basic, "internet", REACH_NO_PERMISSION), 0);
    assert_true(count(basic, "internet", NULL) > 0);
    arena_free(a);
}

UNIT_MAIN(azure_recorded)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(services_are_served),
        cmocka_unit_test(without_the_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
