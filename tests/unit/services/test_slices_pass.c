/* SPDX-License-Identifier: Apache-2.0 */
/* test_slices_pass.c: one pass over a Service's slices: families, groups of ports, packing, names
 * taken over, the placeholder, labels, annotations, hints. */
#include "tests/unit/services/slices_scene.h"

#define NODES "n1 zone-a 2; n2 zone-b 1"

struct row {
    const char *pods, *slices;
    size_t max;
    const char *want;
};

static void run_rows(struct arena *a, const struct ks_service *service, const struct row *rows,
                     size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct scene s = scene_of(a, service, NODES, rows[i].pods, rows[i].slices);
        s.max = rows[i].max;
        const struct ks_slice_pass p = scene_pass(&s);
        assert_string_equal(pass_text(a, &p), rows[i].want);
    }
}

/* ---- which endpoints ------------------------------------------------------------------------- */

static void pass__pods__which_count(void **state)
{
    static const struct row rows[] = {
        {"p2 10.0.0.2 n1 r; p1 10.0.0.1 n1 r", "", 0, "+[p1 p2]"},
        /* Failed, succeeded and address-less ones do not count; not-ready and
         * terminating ones do. */
        {"a 10.0.0.1 n1 f; b 10.0.0.2 n1 s; c - n1 r; d 10.0.0.4 n1 -; e 10.0.0.5 n1 t", "", 0,
         "+[d e]"},
        {"p1 fd00::1 n1 r; p2 10.0.0.2,fd00::2 n1 r", "", 0, "+[p2]"},
    };
    run_rows(*state, service_with(*state, "", ""), rows, ARRAY_LEN(rows));
}

static void pass__unknown_node__left_out_unless_published(void **state)
{
    const char *pods = "p1 10.0.0.1 gone r; p2 10.0.0.2 n1 r";
    struct scene s = scene_of(*state, service_with(*state, "", ""), NODES, pods, "");
    struct ks_slice_pass p = scene_pass(&s);
    assert_string_equal(pass_text(*state, &p), "+[p2]");
    assert_true(p.node_unknown);
    s.service = service_with(*state, "", ", 'publishNotReadyAddresses': true");
    p = scene_pass(&s);
    assert_string_equal(pass_text(*state, &p), "+[p1 p2]");
    assert_false(p.node_unknown);
    /* Its group exists all the same: the slice is emptied and becomes the placeholder. */
    s = scene_of(*state, service_with(*state, "", ""), NODES, "p1 10.0.0.1 gone r", "s: p1");
    p = scene_pass(&s);
    assert_string_equal(pass_text(*state, &p), "~s[]:0");
    assert_true(p.node_unknown);
}

static void pass__pods_of_others__left_out(void **state)
{
    struct scene s = scene_of(*state, service_with(*state, "", ""), NODES,
                              "p1 10.0.0.1 n1 r; p2 10.0.0.2 n1 r", "");
    ((struct ks_pod *)s.pods.items[0])->meta.ns = "other";
    struct ks_slice_pass p = scene_pass(&s);
    assert_string_equal(pass_text(*state, &p), "+[p2]");
    s.service = service_of(*state, "{'metadata': {'name': 'svc', 'namespace': 'ns'}, 'spec': "
                                   "{'selector': {'a': '1'}, 'clusterIP': '10.0.0.1'}}");
    p = scene_pass(&s);
    assert_string_equal(pass_text(*state, &p), "+[]:0");
}

static void pass__no_selector__nothing(void **state)
{
    const char *const services[] = {
        "{'metadata': {'name': 'svc', 'namespace': 'ns'}, 'spec': {'clusterIP': '10.0.0.1'}}",
        "{'metadata': {'name': 'svc', 'namespace': 'ns'}, 'spec': {'type': 'ExternalName', "
        "'selector': {}}}",
    };
    for (size_t i = 0; i < ARRAY_LEN(services); i++) {
        struct scene s =
            scene_of(*state, service_of(*state, services[i]), NODES, "p1 10.0.0.1 n1 r", "s: gone");
        s.hints_before = true;
        const struct ks_slice_pass p = scene_pass(&s);
        assert_string_equal(pass_text(*state, &p), "");
        assert_true(p.hints_on);
    }
}

/* ---- families -------------------------------------------------------------------------------- */

static void pass__families__one_reconcile_each(void **state)
{
    static const struct {
        const char *spec; /* of the Service */
        const char *slices, *want;
    } rows[] = {
        {"'clusterIP': '10.96.0.1', 'ipFamilies': ['IPv4', 'IPv6']", "", "+[p1] +[p1]v6"},
        {"'clusterIP': 'fd00::1', 'ipFamilies': ['IPv6', 'IPv4']", "", "+[p1]v6 +[p1]"},
        {"'clusterIP': '10.96.0.1'", "", "+[p1]"},
        {"'clusterIP': 'fd00::1'", "", "+[p1]v6"},
        /* Headless, families absent: both. */
        {"'clusterIP': 'None'", "", "+[p1] +[p1]v6"},
        {"'clusterIP': 'None', 'ipFamilies': ['IPv6']", "", "+[p1]v6"},
        /* Slices of families that the Service does not have go last. */
        {"'clusterIP': '10.96.0.1', 'ipFamilies': ['IPv4']", "a v6: p1; z: gone", "~z[p1] -a"},
        {"'clusterIP': '10.96.0.1', 'ipFamilies': ['IPv4']", "a v6: p1", "+[p1] -a"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct ks_service *service = service_of(
            *state, arena_printf(*state,
                                 "{'metadata': {'name': 'svc', 'namespace': 'ns', 'uid': 'u1'}, "
                                 "'spec': {'selector': {}, 'ports': [{'port': 8080}], %s}}",
                                 rows[i].spec));
        const struct scene s =
            scene_of(*state, service, NODES, "p1 10.0.0.1,fd00::1 n1 r", rows[i].slices);
        const struct ks_slice_pass p = scene_pass(&s);
        assert_string_equal(pass_text(*state, &p), rows[i].want);
    }
}

/* ---- packing --------------------------------------------------------------------------------- */

static void pass__existing_slices__kept_updated_deleted(void **state)
{
    static const struct row rows[] = {
        {"p1 10.0.0.1 n1 r; p2 10.0.0.2 n2 r", "s: p1 p2", 0, ""},
        {"p1 10.0.0.1 n1 r; p2 10.0.0.2 n2 r", "s: p2; t: p1; u:", 0, ""},
        {"p1 10.0.0.1 n1 r", "s: p1*", 0, "~s[p1]"},
        {"p1 10.0.0.1 n1 r", "s: p1 gone", 0, "~s[p1]"},
        /* Emptied: deleted, as long as another one stays. */
        {"p1 10.0.0.1 n1 r", "s: p1; t: gone", 0, "-t"},
        /* The same endpoint in two slices stays in the first. */
        {"p1 10.0.0.1 n1 r", "s: p1; t: p1", 0, "-t"},
        {"p1 10.0.0.1 n1 r; p2 10.0.0.2 n1 r", "s: p1; t: p1 p2", 0, "~t[p2]"},
        /* Only hints differ: taken away, since the Service asks for none. */
        {"p1 10.0.0.1 n1 r; p2 10.0.0.2 n1 r", "s: p1>zone-a; t: p2", 0, "~s[p1]"},
        /* Not this Service's: deleted, its name is not taken. */
        {"p1 10.0.0.1 n1 r", "s foreign: p1", 0, "+[p1] -s"},
    };
    run_rows(*state, service_with(*state, "", ""), rows, ARRAY_LEN(rows));
}

static void pass__new_endpoints__fill_order(void **state)
{
    static const struct row rows[] = {
        /* Step 2: the fullest slice that is written anyway; of equal ones the first by name. */
        {"a 10.0.0.1 n1 r; b 10.0.0.2 n1 r; c 10.0.0.3 n1 r; x 10.0.0.9 n1 r",
         "s: a gone; t: b c gone", 3, "~s[a] ~t[b c x]"},
        {"a 10.0.0.1 n1 r; b 10.0.0.2 n1 r; x 10.0.0.9 n1 r", "t: a gone; s: b gone", 3,
         "~s[b x] ~t[a]"},
        {"a 10.0.0.1 n1 r; b 10.0.0.2 n1 r; x 10.0.0.8 n1 r; y 10.0.0.9 n1 r; z 10.0.0.10 n1 r",
         "s: a gone; t: b gone", 2, "+[z] ~s[a x] ~t[b y]"},
        /* Step 3: the unchanged slice that becomes fullest. */
        {"a 10.0.0.1 n1 r; b 10.0.0.2 n1 r; c 10.0.0.3 n1 r; x 10.0.0.9 n1 r", "s: a; t: b c", 3,
         "~t[b c x]"},
        {"a 10.0.0.1 n1 r; b 10.0.0.2 n1 r; c 10.0.0.3 n1 r; x 10.0.0.8 n1 r; y 10.0.0.9 n1 r",
         "s: a; t: b c", 3, "~s[a x y]"},
        /* Of equally full ones the first by name. */
        {"a 10.0.0.1 n1 r; b 10.0.0.2 n1 r; x 10.0.0.9 n1 r", "t: b; s: a", 3, "~s[a x]"},
        /* None has room for all that is left: a new one. */
        {"a 10.0.0.1 n1 r; b 10.0.0.2 n1 r; x 10.0.0.8 n1 r; y 10.0.0.9 n1 r", "s: a b", 3,
         "+[x y]"},
        /* As many as fill a slice: a new one, although there is an empty one. */
        {"x 10.0.0.8 n1 r; y 10.0.0.9 n1 r", "s:", 2, "+[x y]"},
        /* An empty slice is only filled when something else does not become fuller: best_room
         * begins at max. */
        {"x 10.0.0.8 n1 r", "s:", 2, "~s[x]"},
        /* More than one slice's worth: full ones first, in order of names. */
        {"a 10.0.0.1 n1 r; b 10.0.0.2 n1 r; c 10.0.0.3 n1 r; d 10.0.0.4 n1 r; e 10.0.0.5 n1 r", "",
         2, "+[a b] +[c d] +[e]"},
        /* A slice above the maximum stays as it is. */
        {"a 10.0.0.1 n1 r; b 10.0.0.2 n1 r; c 10.0.0.3 n1 r; x 10.0.0.9 n1 r", "s: a b c", 2,
         "+[x]"},
        {"a 10.0.0.1 n1 r; b 10.0.0.2 n1 r; c 10.0.0.3 n1 r; x 10.0.0.9 n1 r", "s: a b c*", 2,
         "+[x] ~s[a b c]"},
        /* Slices are never merged. */
        {"a 10.0.0.1 n1 r; b 10.0.0.2 n1 r", "s: a; t: b", 100, ""},
    };
    run_rows(*state, service_with(*state, "", ""), rows, ARRAY_LEN(rows));
}

static void pass__port_groups__slices_of_their_own(void **state)
{
    static const struct row rows[] = {
        {"a 10.0.0.1 n1 r; b 10.0.0.2 n1 r 9090; c 10.0.0.3 n1 r", "", 0, "+[a c] +[b]:9090"},
        /* A pod without the named port is in a group without ports. */
        {"a 10.0.0.1 n1 r; b 10.0.0.2 n1 r none", "", 0, "+[b]:0 +[a]"},
        /* A group that no pod is in any more: deleted, or its name is taken over. */
        {"a 10.0.0.1 n1 r", "s: a; t port=9090: gone", 0, "-t"},
        {"a 10.0.0.1 n1 r 9090", "s: a", 0, "~s[a]:9090"},
        {"a 10.0.0.1 n1 r; b 10.0.0.2 n1 r 9090", "s: a; t port=7070: b", 0, "~t[b]:9090"},
        /* Two new groups, one name: the group that comes last takes it. */
        {"a 10.0.0.1 n1 r; b 10.0.0.2 n1 r 9090", "t port=7070: b", 0, "+[a] ~t[b]:9090"},
    };
    run_rows(*state, service_with(*state, "", ""), rows, ARRAY_LEN(rows));
}

static void pass__two_addresses__one_endpoint_sorted(void **state)
{
    struct scene s =
        scene_of(*state, service_with(*state, "", ""), NODES, "p1 10.0.0.9,10.0.0.1 n1 r", "s: p1");
    struct ks_slice_pass p = scene_pass(&s);
    assert_string_equal(pass_text(*state, &p), ""); /* the order of addresses is not a change */
    s.slices.n = 0;
    p = scene_pass(&s);
    assert_int_equal(p.create[0].n_endpoints, 1);
    assert_string_equal(p.create[0].endpoints[0].addresses[0], "10.0.0.1");
    assert_string_equal(p.create[0].endpoints[0].addresses[1], "10.0.0.9");
}

/* A pod that comes back under its name and address, with another uid, is updated in place. */
static void pass__pod_recreated__same_endpoint(void **state)
{
    struct scene s = scene_of(*state, service_with(*state, "", ""), NODES,
                              "p1 10.0.0.1 n1 r; p2 10.0.0.2 n1 r", "s: p1; t: p2");
    ((struct ks_pod *)s.pods.items[0])->meta.uid = "another";
    struct ks_slice_pass p = scene_pass(&s);
    assert_string_equal(pass_text(*state, &p), "~s[p1]");
    assert_string_equal(p.update[0].endpoints[0].ref->uid, "another");
    ((struct ks_pod *)s.pods.items[0])->pod_ips = (const char *[]){"10.0.0.7"};
    p = scene_pass(&s); /* another address: another endpoint, in the slice with room */
    assert_string_equal(pass_text(*state, &p), "~t[p2 p1] -s");
}

static void pass__ports_of_their_own__a_group_each(void **state)
{
    struct str_buf pods = STR_BUF_INIT;
    for (size_t i = 0; i < 3000; i++) {
        str_appendf(&pods, "p%04zu 10.0.%zu.%zu n1 r %zu;", i, i / 250, i % 250, i + 1);
    }
    struct scene s = scene_of(*state, service_with(*state, "", ""), NODES, str_buf_text(&pods), "");
    str_buf_done(&pods);
    const struct ks_slice_pass p = scene_pass(&s);
    assert_int_equal(p.n_create, 3000);
}

static void pass__nothing_left__placeholder(void **state)
{
    static const struct row rows[] = {
        {"", "", 0, "+[]:0"},
        {"p 10.0.0.1 n1 f", "", 0, "+[]:0"},
        {"", "s noport:", 0, ""},                   /* it is there already */
        {"", "s: gone", 0, "~s[]:0"},               /* it takes over a name */
        {"", "s: gone; t noport:", 0, "~t[]:0 -s"}, /* more than one goes */
        {"", "s:", 0, "~s[]:0"},                    /* has ports */
        {"", "s noport foreign:", 0, ""},           /* as upstream: the owner is not looked at */
        {"", "s noport label=x:", 0, "~s[]:0"},
        /* No address of the family: the group is there, and empty. */
        {"p fd00::1 n1 r", "", 0, "+[]:0"},
        {"p fd00::1 n1 r", "s:", 0, ""},
    };
    run_rows(*state, service_with(*state, "", ""), rows, ARRAY_LEN(rows));
}

static void pass__service_deleted__no_creation(void **state)
{
    static const struct row rows[] = {
        {"a 10.0.0.1 n1 r", "", 0, ""},
        {"a 10.0.0.1 n1 r; b 10.0.0.2 n1 r", "s: a gone", 2, "~s[a b]"},
        {"a 10.0.0.1 n1 r; b 10.0.0.2 n1 r", "s: a; t: gone", 1, "~t[b]"},
        {"a 10.0.0.1 n1 r", "s: a; t: gone", 0, "-t"},
    };
    run_rows(*state, service_with(*state, ", 'deletionTimestamp': '2026-01-01T00:00:00Z'", ""),
             rows, ARRAY_LEN(rows));
}

static void pass__deleted_slices__left_out(void **state)
{
    struct scene s =
        scene_of(*state, service_with(*state, "", ""), NODES, "a 10.0.0.1 n1 r", "s: a; t: gone");
    for (size_t i = 0; i < s.slices.n; i++) {
        ((struct ks_slice *)s.slices.items[i])->meta.deletion_timestamp = "2026-01-01T00:00:00Z";
    }
    const struct ks_slice_pass p = scene_pass(&s);
    assert_string_equal(pass_text(*state, &p), "+[a]");
}

/* ---- metadata -------------------------------------------------------------------------------- */

static const char *kv_text(struct arena *a, const struct json_kv *kvs, size_t n)
{
    struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        assert_true(i == 0 || strcmp(kvs[i - 1].key, kvs[i].key) < 0);
        str_appendf(&b, "%s=%s ", kvs[i].key, kvs[i].value);
    }
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

#define MANAGED                                                                                    \
    "endpointslice.kubernetes.io/managed-by=endpointslice-controller.k8s.io "                      \
    "kubernetes.io/service-name=svc "

static void pass__new_slice__labels_owner_annotation(void **state)
{
    static const struct {
        const char *labels, *spec, *want;
    } rows[] = {
        {"{}", "'clusterIP': '10.96.0.1'", MANAGED},
        {"{'tier': 'a', 'app': 'b'}", "'clusterIP': '10.96.0.1'", "app=b " MANAGED "tier=a "},
        /* Reserved labels of the Service are not copied. */
        {"{'endpointslice.kubernetes.io/managed-by': 'me', 'kubernetes.io/service-name': 'x', "
         "'service.kubernetes.io/headless': 'y'}",
         "'clusterIP': '10.96.0.1'", MANAGED},
        {"{}", "'clusterIP': 'None', 'ipFamilies': ['IPv4']",
         MANAGED "service.kubernetes.io/headless= "},
        {"{}", "'ipFamilies': ['IPv4']", MANAGED "service.kubernetes.io/headless= "},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct ks_service *service = service_of(
            *state, arena_printf(*state,
                                 "{'metadata': {'name': 'svc', 'namespace': 'ns', 'uid': 'u1', "
                                 "'labels': %s}, 'spec': {'selector': {}, %s}}",
                                 rows[i].labels, rows[i].spec));
        struct scene s = scene_of(*state, service, NODES, "p1 10.0.0.1 n1 r", "");
        s.trigger = "2026-11-28T03:20:00.5Z";
        const struct ks_slice_pass p = scene_pass(&s);
        assert_int_equal(p.n_create, 1);
        const struct ks_meta *m = &p.create[0].meta;
        assert_string_equal(m->generate_name, "svc-");
        assert_string_equal(m->ns, "ns");
        assert_string_equal(kv_text(*state, m->labels, m->n_labels), rows[i].want);
        assert_string_equal(
            kv_text(*state, m->annotations, m->n_annotations),
            "endpoints.kubernetes.io/last-change-trigger-time=2026-11-28T03:20:00.5Z ");
        assert_int_equal(m->n_owners, 1);
        assert_string_equal(m->owners[0].kind, "Service");
        assert_string_equal(m->owners[0].uid, "u1");
        assert_true(m->owners[0].controller && m->owners[0].block_owner_deletion);
    }
}

static void pass__labels_differ__slice_written(void **state)
{
    static const struct {
        const char *meta, *slices, *want, *labels; /* of the update */
    } rows[] = {
        {", 'labels': {'tier': 'a'}", "s label=a: p1", "", ""},
        {", 'labels': {'tier': 'a'}", "s label=b: p1>zone-x", "~s[p1]", MANAGED "tier=a "},
        {"", "s label=b: p1", "~s[p1]", MANAGED},
        {", 'labels': {'tier': 'a'}", "s: p1", "~s[p1]", MANAGED "tier=a "},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct scene s = scene_of(*state, service_with(*state, rows[i].meta, ""), NODES,
                                        "p1 10.0.0.1 n1 r", rows[i].slices);
        const struct ks_slice_pass p = scene_pass(&s);
        assert_string_equal(pass_text(*state, &p), rows[i].want);
        if (p.n_update > 0) {
            const struct ks_meta *m = &p.update[0].meta;
            assert_string_equal(kv_text(*state, m->labels, m->n_labels), rows[i].labels);
        }
    }
    /* Headlessness alone rewrites nothing. */
    const struct ks_service *headless =
        service_of(*state, "{'metadata': {'name': 'svc', 'namespace': 'ns', 'uid': 'u1'}, 'spec': "
                           "{'selector': {}, 'clusterIP': 'None', 'ipFamilies': ['IPv4'], 'ports': "
                           "[{'port': 8080}]}}");
    const struct scene s = scene_of(*state, headless, NODES, "p1 10.0.0.1 n1 r", "s: p1");
    const struct ks_slice_pass p = scene_pass(&s);
    assert_string_equal(pass_text(*state, &p), "");
}

static void pass__untriggered__annotation_removed(void **state)
{
    struct scene s =
        scene_of(*state, service_with(*state, "", ""), NODES, "p1 10.0.0.1 n1 r", "s: p1*");
    const struct json_kv old[] = {{"a", "1"},
                                  {"endpoints.kubernetes.io/last-change-trigger-time", "x"}};
    ((struct ks_slice *)s.slices.items[0])->meta.annotations = old;
    ((struct ks_slice *)s.slices.items[0])->meta.n_annotations = 2;
    struct ks_slice_pass p = scene_pass(&s);
    assert_string_equal(
        kv_text(*state, p.update[0].meta.annotations, p.update[0].meta.n_annotations), "a=1 ");
    s.trigger = "2026-11-28T03:20:00Z";
    p = scene_pass(&s);
    assert_string_equal(
        kv_text(*state, p.update[0].meta.annotations, p.update[0].meta.n_annotations),
        "a=1 endpoints.kubernetes.io/last-change-trigger-time=2026-11-28T03:20:00Z ");
}

static void pass__long_name__no_dash(void **state)
{
    static const size_t lengths[] = {1, 252, 253};
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        char name[254];
        memset(name, 'a', lengths[i]);
        name[lengths[i]] = '\0';
        struct ks_service service = *service_with(*state, "", "");
        service.meta.name = name;
        const struct scene s = scene_of(*state, &service, NODES, "", "");
        const struct ks_slice_pass p = scene_pass(&s);
        assert_int_equal(strlen(p.create[0].meta.generate_name),
                         lengths[i] < 253 ? lengths[i] + 1 : lengths[i]);
    }
}

/* ---- hints ----------------------------------------------------------------------------------- */

#define AUTO ", 'annotations': {'service.kubernetes.io/topology-mode': 'Auto'}"
#define ENABLED                                                                                    \
    "Normal TopologyAwareHintsEnabled Topology Aware Hints has been enabled, addressType: "
#define DISABLED                                                                                   \
    "Warning TopologyAwareHintsDisabled Topology Aware Hints has been disabled, addressType: "

static void pass__hints__state_and_events(void **state)
{
    const char *three = "a 10.0.0.1,fd00::1 n1 r; b 10.0.0.2,fd00::2 n1 r; c 10.0.0.3,fd00::3 n2 r";
    const struct {
        const char *meta, *spec, *pods, *slices;
        bool before;
        const char *want, *events;
        bool on;
    } rows[] = {
        {AUTO, "", three, "", false, "+[a>zone-a b>zone-a c>zone-b]", ENABLED "IPv4", true},
        {AUTO, "", three, "", true, "+[a>zone-a b>zone-a c>zone-b]", "", true},
        {AUTO, "", three, "s: a>zone-a b>zone-a c>zone-b", true, "", "", true},
        /* Both families share the state: one event. */
        {AUTO, ", 'ipFamilies': ['IPv4', 'IPv6']", three, "", false,
         "+[a>zone-a b>zone-a c>zone-b] +[a>zone-a b>zone-a c>zone-b]v6", ENABLED "IPv4", true},
        /* … and a family that is switched off makes the next one say again that it is on. */
        {AUTO, ", 'ipFamilies': ['IPv4', 'IPv6']",
         "a 10.0.0.1,fd00::1 n1 r; b fd00::2 n1 r; c fd00::3 n2 r", "", true,
         "+[a] +[a>zone-a b>zone-a c>zone-b]v6",
         "Warning TopologyAwareHintsDisabled Insufficient number of endpoints (1 endpoints, 2 "
         "zones), addressType: IPv4 | " ENABLED "IPv6",
         true},
        /* So does a slice of a family that the Service has no longer. */
        {AUTO, "", three, "s: a>zone-a b>zone-a c>zone-b; t v6: a", true, "-t", ENABLED "IPv4",
         true},
        /* The annotation is gone. */
        {"", "", three, "s: a>zone-a b>zone-a c>zone-b", true, "~s[a b c]", DISABLED "IPv4", false},
        {"", ", 'ipFamilies': ['IPv4', 'IPv6']", three, "s: a b c; t v6: a b c", true, "",
         DISABLED "IPv4", false},
        {"", "", three, "s: a b c", false, "", "", false},
        /* trafficDistribution, without events; the annotation wins over it. */
        {"", ", 'trafficDistribution': 'PreferClose'", three, "s: a b c>zone-b", false,
         "~s[a>zone-a b>zone-a c>zone-b]", "", false},
        {", 'annotations': {'service.kubernetes.io/topology-mode': 'Disabled'}",
         ", 'trafficDistribution': 'PreferSameZone'", "a 10.0.0.1 n1 r", "", false, "+[a>zone-a]",
         "", false},
        {AUTO, ", 'trafficDistribution': 'PreferSameZone'", "a 10.0.0.1 n1 r", "s: a>zone-a", false,
         "~s[a]",
         "Warning TopologyAwareHintsDisabled Insufficient number of endpoints (1 endpoints, 2 "
         "zones), addressType: IPv4",
         false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct scene s = scene_of(*state, service_with(*state, rows[i].meta, rows[i].spec), NODES,
                                  rows[i].pods, rows[i].slices);
        s.hints_before = rows[i].before;
        const struct ks_slice_pass p = scene_pass(&s);
        assert_string_equal(pass_text(*state, &p), rows[i].want);
        assert_string_equal(events_text(*state, p.events, p.n_events), rows[i].events);
        assert_int_equal(p.hints_on, rows[i].on);
    }
}

static void pass__hints__counts_and_reason_of_each_family(void **state)
{
    const struct scene s =
        scene_of(*state, service_with(*state, AUTO, ", 'ipFamilies': ['IPv4', 'IPv6']"), NODES,
                 "a 10.0.0.1,fd00::1 n1 r; b 10.0.0.2 n1 r; c 10.0.0.3 n2 r", "");
    const struct ks_slice_pass p = scene_pass(&s);
    assert_int_equal(p.hints_ipv4.n, 2);
    assert_int_equal(p.hints_ipv4.zones[0].hints, 2);
    assert_int_equal(p.hints_ipv4.zones[1].hints, 1);
    assert_int_equal(p.hints_ipv6.n, 0);
    assert_int_equal(p.hints_off_ipv4, KS_HINTS_FINE);
    assert_int_equal(p.hints_off_ipv6, KS_HINTS_FEW_ENDPOINTS);
}

UNIT_MAIN(slices_pass)
{
    const struct CMUnitTest tests[] = {
        slices_test(pass__pods__which_count),
        slices_test(pass__unknown_node__left_out_unless_published),
        slices_test(pass__pods_of_others__left_out),
        slices_test(pass__no_selector__nothing),
        slices_test(pass__families__one_reconcile_each),
        slices_test(pass__existing_slices__kept_updated_deleted),
        slices_test(pass__new_endpoints__fill_order),
        slices_test(pass__port_groups__slices_of_their_own),
        slices_test(pass__two_addresses__one_endpoint_sorted),
        slices_test(pass__pod_recreated__same_endpoint),
        slices_test(pass__ports_of_their_own__a_group_each),
        slices_test(pass__nothing_left__placeholder),
        slices_test(pass__service_deleted__no_creation),
        slices_test(pass__deleted_slices__left_out),
        slices_test(pass__new_slice__labels_owner_annotation),
        slices_test(pass__labels_differ__slice_written),
        slices_test(pass__untriggered__annotation_removed),
        slices_test(pass__long_name__no_dash),
        slices_test(pass__hints__state_and_events),
        slices_test(pass__hints__counts_and_reason_of_each_family),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
