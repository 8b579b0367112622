/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of reach_gce() on recorded worlds: whatever the Go controllers built serves what the
 * Services say.
 *
 * Here, and only here, Services are checked: each address in a status must be served on each port,
 * by healthy machines of the cluster, to all clients of its family or to the source ranges that the
 * Service names.
 * Source: tests/data/gce/README.md. */
#include <stdlib.h>
#include <string.h>

#include "common/base/attr.h"
#include "common/base/file.h"
#include "common/base/str.h"
#include "tests/unit/sim/reach/gce_rows.h"

#define RANGES_ANNOTATION "service.beta.kubernetes.io/load-balancer-source-ranges"

static const struct {
    const char *file, *member; /* member NULL: the file is the world */
    int ports;                 /* of Services with addresses, each for each address */
} worlds[] = {
    {"gce/world-legacy.json", NULL, 30},          {"gce/world-l4.json", NULL, 24},
    {"gce/world-l4-netlb-neg.json", NULL, 24},    {"gce/world-l4-dual-internal.json", NULL, 9},
    {"gce/world-l4-dual-external.json", NULL, 9}, {"gce/world-both.json", NULL, 10},
    {"gce/edits-legacy.json", "before", 30},      {"gce/edits-legacy.json", "after", 21},
    {"gce/edits-l4.json", "before", 24},          {"gce/edits-l4.json", "after", 20},
};

static struct json_object *read_world(struct arena *a, size_t i)
{
    char *text = NULL;
    size_t n = 0;
    struct err err = ERR_INIT;
    struct json_object *o = NULL;
    const char *dir = getenv("TRIMTAB_TEST_DATA");
    if (file_read(a, arena_printf(a, "%s/%s", str_nonnull(dir), worlds[i].file), 64UL << 20, &text,
                  &n, &err) != ERR_OK ||
        json_parse_arena(a, text, n, NULL, &o, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    return worlds[i].member != NULL ? json_member(o, worlds[i].member) : o;
}

/* --- what a Service says ---------------------------------------------------------------------- */

/* Clients that a Service names, of this family; all where it names none of the family, as the Go
 * controllers read it. */
static struct reach_ranges wanted_clients(struct arena *a, struct json_object *service, bool ipv6)
{
    struct json_object *list = json_path(service, "spec.loadBalancerSourceRanges");
    struct reach_ranges all = reach_ranges_of_list(a, list);
    const char *text = json_str(json_path(service, "metadata.annotations"), RANGES_ANNOTATION);
    size_t n = 0;
    char **words = json_len(list) == 0 && text != NULL ? str_split(a, text, ',', &n) : NULL;
    for (size_t i = 0; i < n; i++) {
        all = reach_ranges_or(a, all, reach_ranges_of(a, str_trim(a, words[i])));
    }
    struct reach_ranges own = reach_ranges_family(a, all, ipv6);
    return reach_ranges_empty(own) ? reach_ranges_all(a, !ipv6, ipv6) : own;
}

/* A node of a Service with policy Local is healthy while it has endpoints: all endpoints of these
 * worlds are ready. */
static bool wants_health(struct json_object *world, struct json_object *service, const char *target)
{
    struct json_object *slices = json_path(world, "kubernetes.endpointslices");
    const char *name = json_str(json_member(service, "metadata"), "name");
    bool is_known = false, is_there = false;
    for (size_t i = 0; i < json_len(slices); i++) {
        struct json_object *slice = json_object_array_get_idx(slices, i);
        struct json_object *endpoints = json_member(slice, "endpoints");
        struct json_object *labels = json_path(slice, "metadata.labels");
        if (!str_eq(json_str(labels, "kubernetes.io/service-name"), name)) {
            continue;
        }
        is_known = true;
        for (size_t k = 0; k < json_len(endpoints); k++) {
            const char *node = json_str(json_object_array_get_idx(endpoints, k), "nodeName");
            is_there = is_there || (str_has_prefix(target, node) && target[strlen(node)] == ':');
        }
    }
    return !is_known || is_there ||
           !str_eq(json_str(json_member(service, "spec"), "externalTrafficPolicy"), "Local");
}

/* The entry whose ports hold this one. */
static struct json_object *entry_of(struct json_object *ports, const char *protocol, int64_t port)
{
    json_object_object_foreach(ports, key, entry)
    {
        size_t n = strlen(protocol);
        const char *at = key + n + 1;
        char *rest = NULL;
        if (!str_has_prefix(key, protocol) || key[n] != '/') {
            continue;
        }
        int64_t low = strtol(at, &rest, 10);
        int64_t high = *rest == '-' ? strtol(rest + 1, NULL, 10) : low;
        if (*at == '*' || (low <= port && port <= high)) {
            return entry;
        }
    }
    return NULL;
}

struct judged {
    struct json_object *world, *service;
    bool ipv6;
};

static void check_port(struct arena *a, const char *label, struct json_object *entry,
                       const struct judged *j)
{
    struct reach_ranges wanted = wanted_clients(a, j->service, j->ipv6);
    struct json_object *targets = json_member(entry, "targets");
    if (entry == NULL || json_str(entry, "why") != NULL || json_len(targets) == 0) {
        fail_msg("%s is not served: %s", label,
                 entry == NULL ? "" : json_text(a, entry, JSON_COMPACT));
    }
    if (!reach_ranges_equal(reach_ranges_of_list(a, json_member(entry, "clients")), wanted)) {
        fail_msg("%s has other clients: %s", label, json_text(a, entry, JSON_COMPACT));
    }
    for (size_t i = 0; i < json_len(targets); i++) {
        struct json_object *t = json_object_array_get_idx(targets, i);
        const char *target = json_str(t, "target");
        bool healthy = j->ipv6 || wants_health(j->world, j->service, target);
        if (json_bool(t, "healthy", false) != healthy || json_member(t, "clients") != NULL ||
            !str_has_prefix(target, "node-")) {
            fail_msg("%s: %s", label, json_text(a, t, JSON_COMPACT));
        }
    }
}

static int check_address(struct arena *a, const char *label, struct json_object *document,
                         struct judged *j, const char *text)
{
    struct ip_addr ip;
    char address[IP_TEXT_MAX];
    assert_true(ip_parse(text, &ip));
    ip_format(&ip, address);
    j->ipv6 = ip.len == 16;
    struct json_object *ports = json_path(j->service, "spec.ports");
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *port = json_object_array_get_idx(ports, i);
        const char *protocol = str_or(json_str(port, "protocol"), "TCP");
        int64_t number = json_int(port, "port", 0);
        check_port(a, arena_printf(a, "%s %s %s %lld", label, address, protocol, (long long)number),
                   entry_of(json_member(document, address), protocol, number), j);
    }
    return (int)json_len(ports);
}

static int check_world(struct arena *a, size_t world)
{
    struct json_object *o = read_world(a, world);
    struct json_object *services = json_path(o, "kubernetes.services");
    struct json_object *document = reach_of_world(o);
    int n = 0;
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *service = json_object_array_get_idx(services, i);
        struct json_object *ingress = json_path(service, "status.loadBalancer.ingress");
        const char *name = json_str(json_member(service, "metadata"), "name");
        struct judged j = {o, service, false};
        for (size_t k = 0; k < json_len(ingress); k++) {
            n += check_address(a, arena_printf(a, "%s %s", worlds[world].file, name), document, &j,
                               json_str(json_object_array_get_idx(ingress, k), "ip"));
        }
    }
    json_object_put(document);
    return n;
}

static void recorded_worlds_serve_their_services(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(worlds); i++) {
        struct arena *a = arena_new();
        assert_int_equal(check_world(a, i), worlds[i].ports);
        arena_free(a);
    }
}

/* --- firewall rules that nothing needs -------------------------------------------------------- */

/* Firewall rules of recorded worlds without which all is reached as before, by the end
 * of their names. */
static const struct {
    const char *file, *suffix;
} needless[] = {
    /* The check of internal Services has the same port, and its rule is for all destinations. */
    {"gce/world-legacy.json", "-node-http-hc"},
    {"gce/world-both.json", "-node-http-hc"},
    {"gce/edits-legacy.json", "-node-http-hc"},
    /* The Go controllers left these behind when the Services gave up the policy Local. */
    {"gce/edits-l4.json", "-default-ilb-local-pvj15a0y-fw"},
    {"gce/edits-l4.json", "-default-rbs-local-cakts6ll-fw"},
};

static bool is_needless(size_t world, const char *path)
{
    for (size_t i = 0; i < ARRAY_LEN(needless); i++) {
        if (str_eq(needless[i].file, worlds[world].file) &&
            str_has_suffix(path, needless[i].suffix)) {
            return true;
        }
    }
    return false;
}

/* Without any of the other rules the document is another one. */
static void each_firewall_matters(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(worlds); i++) {
        struct arena *a = arena_new();
        struct json_object *o = read_world(a, i);
        struct json_object *all = json_copy(json_member(o, "gce"));
        struct json_object *before = reach_of_world(o);
        json_object_object_foreach(all, path, body)
        {
            if (strstr(path, "/firewalls/") == NULL) {
                continue;
            }
            json_object_object_del(json_member(o, "gce"), path);
            struct json_object *after = reach_of_world(o);
            if (json_equal(before, after) && !is_needless(i, path)) {
                fail_msg("%s: nothing hangs on %s", worlds[i].file, path);
            }
            json_object_put(after);
            json_add(json_member(o, "gce"), path, json_object_get(body));
        }
        json_object_put(before);
        json_object_put(all);
        arena_free(a);
    }
}

UNIT_MAIN(gce_worlds)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_worlds_serve_their_services),
        cmocka_unit_test(each_firewall_matters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
