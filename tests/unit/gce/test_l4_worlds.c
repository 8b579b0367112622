/* SPDX-License-Identifier: Apache-2.0 */
/* test_l4_worlds.c: recorded clouds, as the Go controllers left them, against what each Service's
 * balancer should be.
 *
 * Every resource of every Service in tests/data/gce/world-*.json must be there under the name that
 * we make, compare as equal (so nothing would be written when a cluster is taken over), and have
 * each member that we would send with the value that we would send (so what we make from nothing is
 * the same).  Pure; the whole program takes these worlds over in tests/sim. */
#include "tests/unit/gce/pure.h"

#include "common/base/file.h"
#include "common/lb/service_rules.h"
#include "providers/gce/backend/gce_l4_address_rules.h"
#include "providers/gce/config/gce_options.h"
#include "providers/gce/model/gce_links.h"
#include "providers/gce/model/gce_service_rules.h"
#include "tests/support/unit.h"

#include <stdlib.h>

#define P    "projects/p1/"
#define R    P "regions/us-central1/"
#define BASE "https://www.googleapis.com/compute/v1/projects/"

struct world {
    struct arena *a;
    const char *file;
    struct json_object *tree;
    struct gce_bs_facts facts;
    size_t services; /* that were compared */
    size_t resources;
    struct gce_strs zones;
};

/* ---- reading a world ------------------------------------------------------------------------- */

static struct json_object *items(struct world *w, const char *kind)
{
    return json_path(w->tree, arena_printf(w->a, "kubernetes.%s", kind));
}

static struct json_object *named(struct world *w, const char *kind, const char *name)
{
    struct json_object *list = items(w, kind);
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *o = json_object_array_get_idx(list, i);
        if (str_eq(json_str(json_member(o, "metadata"), "name"), name)) {
            return o;
        }
    }
    fail_msg("%s: no %s %s", w->file, kind, name);
    return NULL;
}

static void world_read(struct world *w, struct arena *a, const char *file)
{
    struct gce_options options;
    const char *path = arena_printf(a, "%s/gce/%s", getenv("TRIMTAB_TEST_DATA"), file);
    char *text = NULL;
    size_t n = 0;
    struct err err = ERR_INIT;
    if (file_read(a, path, 64 << 20, &text, &n, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    *w = (struct world){.a = a, .file = file};
    assert_int_equal(json_parse_arena(a, text, n, NULL, &w->tree, &err), ERR_OK);
    assert_int_equal(gce_options_parse(a, NULL, 0, &options, NULL), ERR_OK);
    struct json_object *kube_system =
        json_member(named(w, "namespaces", "kube-system"), "metadata");
    struct json_object *uids = json_member(named(w, "configmaps", "ingress-uid"), "data");
    static const char *const zones[] = {"us-central1-a", "us-central1-b", "us-central1-c"};
    w->zones = gce_strs_of(a, zones, ARRAY_LEN(zones));
    w->facts = (struct gce_bs_facts){
        .project = "p1",
        .network_project = "p1",
        .region = "us-central1",
        .projects_base = BASE,
        .network = BASE "p1/global/networks/default",
        .subnetwork = BASE "p1/regions/us-central1/subnetworks/default",
        .kube_system_uid = json_str(kube_system, "uid"),
        .cluster_id = json_str(uids, "uid"),
        .check_sources = gce_strs_of(a, options.lb_src_cidrs, options.n_lb_src_cidrs),
        .check_sources_v6_ilb = gce_strs_one(a, GCE_CHECK_SOURCE_V6_ILB),
        .check_sources_v6_netlb = gce_strs_one(a, GCE_CHECK_SOURCE_V6_NETLB),
        .flags = options.l4,
    };
    w->facts.flags.empty_family_opens = true; /* as upstream made them (A8) */
}

static struct json_object *resource(struct world *w, const char *prefix, const char *name)
{
    struct json_object *o =
        json_member(json_member(w->tree, "gce"), arena_printf(w->a, "%s/%s", prefix, name));
    if (o == NULL) {
        fail_msg("%s: there is no %s/%s", w->file, prefix, name);
    }
    w->resources++;
    return o;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool same_value(struct json_object *sent, struct json_object *has)
{
    if (json_object_is_type(sent, json_type_string) && json_object_is_type(has, json_type_string)) {
        return str_eq(json_object_get_string(sent), json_object_get_string(has)) ||
               gce_link_same(json_object_get_string(sent), json_object_get_string(has));
    }
    if (json_object_is_type(sent, json_type_array) && json_object_is_type(has, json_type_array)) {
        bool same = json_len(sent) == json_len(has);
        for (size_t i = 0; same && i < json_len(sent); i++) {
            same =
                same_value(json_object_array_get_idx(sent, i), json_object_array_get_idx(has, i));
        }
        return same;
    }
    return json_equal(sent, has);
}

/* Every member that we send is there; takes `body`. */
static void has_all(struct world *w, const char *name, struct json_object *body,
                    struct json_object *has)
{
    json_object_object_foreach(body, key, sent)
    {
        struct json_object *found = json_member(has, key);
        if (!same_value(sent, found)) {
            fail_msg("%s: %s.%s: we send %s, there is %s", w->file, name, key,
                     json_object_to_json_string(sent),
                     found == NULL ? "nothing" : json_object_to_json_string(found));
        }
    }
    json_object_put(body);
}

static void must_equal(struct world *w, const char *name, bool equal, const char *because)
{
    if (!equal) {
        fail_msg("%s: %s would be written: %s", w->file, name, str_nonnull(because));
    }
}

static const char *check_rule(struct world *w, const struct gce_bs_desired *d,
                              const struct gce_rule *r)
{
    struct json_object *has = resource(w, R "forwardingRules", r->name);
    struct gce_rule is;
    assert_int_equal(gce_rule_decode(w->a, has, &is, NULL), ERR_OK);
    bool v6 = str_eq(r->ip_version, "IPV6");
    const char *ip = gce_l4_ip_without_prefix(w->a, is.ip);
    struct gce_rule want = gce_bs_rule_for(w->a, d, r, ip);
    if (d->legacy) {
        must_equal(w, r->name, gce_ilb_rule_equal(w->a, &is, &want), "");
    } else if (v6) {
        bool equal = false;
        assert_int_equal(gce_l4_rule_equal_v6(w->a, &is, &want, false, &equal, NULL), ERR_OK);
        must_equal(w, r->name, equal, "");
        want.ip = is.ip; /* the cloud writes prefixes that were not sent */
    } else {
        struct gce_rule_change c;
        assert_int_equal(gce_l4_rule_compare(w->a, &is, &want, false, &c, NULL), ERR_OK);
        must_equal(w, r->name, c.equal, c.because);
    }
    has_all(w, r->name, gce_rule_body(&want), has);
    return ip;
}

static void check_firewall(struct world *w, const struct gce_bs_desired *d,
                           const struct gce_firewall *f, const char *ip, bool shared)
{
    struct json_object *has = resource(w, P "global/firewalls", f->name);
    struct gce_firewall is;
    struct gce_firewall want = gce_bs_firewall_for(w->a, d, f, ip);
    bool equal = false;
    assert_int_equal(gce_firewall_decode(w->a, has, &is, NULL), ERR_OK);
    if (d->legacy) {
        equal = gce_ilb_firewall_equal(w->a, &want, &is);
    } else {
        assert_int_equal(gce_l4_firewall_equal(w->a, &is, &want, shared, &equal, NULL), ERR_OK);
    }
    must_equal(w, f->name, equal, "");
    assert_false(gce_firewall_network_differs(&is, &want));
    /* Lists are sets: their order is free. */
    struct json_object *body = gce_firewall_body(&want, false);
    static const char *const sets[] = {"sourceRanges", "destinationRanges", "targetTags"};
    for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
        json_object_object_del(body, sets[i]);
    }
    has_all(w, f->name, body, has);
}

static void check_side(struct world *w, const struct gce_bs_desired *d,
                       const struct gce_bs_side *side)
{
    const char *ip = "";
    for (size_t i = 0; side->wanted && i < side->n_rules; i++) {
        ip = check_rule(w, d, &side->rules[i]);
    }
    if (side->want_firewall) {
        check_firewall(w, d, &side->firewall, ip, false);
    }
    if (side->want_deny) {
        check_firewall(w, d, &side->deny, ip, false);
    }
    if (side->wanted) {
        check_firewall(w, d, &side->check_firewall, ip, d->check_shared);
    }
}

static void check_service(struct world *w, const struct gce_bs_desired *d)
{
    struct json_object *has = resource(w, R "backendServices", d->service.name);
    struct gce_bservice is;
    struct gce_bservice_compare how = {.strong = d->strong_compared, .log_managed = d->log_managed};
    assert_int_equal(gce_bservice_decode(w->a, has, &is, NULL), ERR_OK);
    if (d->legacy) {
        must_equal(w, is.name, gce_ilb_bservice_members_equal(w->a, &is, &d->service, &how.because),
                   how.because);
    } else {
        must_equal(w, is.name, gce_l4_bservice_equal(w->a, &is, &d->service, &how), how.because);
    }
    has_all(w, is.name, gce_bservice_body(&d->service, NULL), has);
    struct gce_strs groups = {.items = ARENA_ARRAY(w->a, const char *, is.n_backends),
                              .n = is.n_backends};
    for (size_t i = 0; i < is.n_backends; i++) {
        groups.items[i] = is.backends[i].group;
        if (!d->legacy) { /* §15 row 20: upstream sends none there */
            same_text(is.name, is.backends[i].mode, d->mode);
        }
    }
    assert_true(gce_links_same(&groups, &d->groups));
}

static void check_hc(struct world *w, const struct gce_bs_desired *d)
{
    struct json_object *has =
        resource(w, d->check_regional ? R "healthChecks" : P "global/healthChecks", d->check.name);
    struct gce_hc is;
    const char *because = "";
    assert_int_equal(gce_hc_decode(w->a, has, &is, NULL), ERR_OK);
    must_equal(w, is.name, !gce_hc_needs_update(&is, &d->check, &because), because);
    has_all(w, is.name, gce_hc_body(&d->check), has);
}

/* The Service's annotations: all of trimtab's, and none that it would drop. */
static void check_annotations(struct world *w, const struct gce_bs_desired *d,
                              const struct tt_service *s)
{
    for (size_t i = 0; i < d->n_annotations; i++) {
        same_text(arena_printf(w->a, "%s: %s %s", w->file, s->name, d->annotations[i].key),
                  svc_annotation(s, d->annotations[i].key), d->annotations[i].value);
    }
}

/* ---- a Service ------------------------------------------------------------------------------- */

static enum gce_kind kind_of(const struct tt_service *s)
{
    return svc_has_finalizer(s, GCE_FINALIZER_ILB_V1)     ? GCE_KIND_ILB_GROUPS
           : svc_has_finalizer(s, GCE_FINALIZER_ILB_V2)   ? GCE_KIND_ILB_NEGS
           : svc_has_finalizer(s, GCE_FINALIZER_NETLB_V2) ? GCE_KIND_NETLB_GROUPS
           : svc_has_finalizer(s, GCE_FINALIZER_NETLB_V3) ? GCE_KIND_NETLB_NEGS
                                                          : GCE_KIND_NONE;
}

/* The addresses that the user has reserved. */
static struct gce_bs_user_address user_of(struct world *w, const struct tt_service *s, bool v6)
{
    static const char prefix[] = R "addresses/";
    struct gce_bs_user_address user;
    const struct gce_address *found[8];
    size_t n = 0;
    json_object_object_foreach(json_member(w->tree, "gce"), path, o)
    {
        if (str_has_prefix(path, prefix) && n < ARRAY_LEN(found)) {
            struct gce_address *d = ARENA_NEW(w->a, struct gce_address);
            assert_int_equal(gce_address_decode(w->a, o, d, NULL), ERR_OK);
            found[n++] = d;
        }
    }
    gce_l4_user_address(w->a, s, found, n, v6, &user, NULL);
    return user;
}

static int desired(struct world *w, const struct tt_service *s, struct gce_bs_desired *ret,
                   struct err *err)
{
    static const char *const tags[] = {"node"};
    const struct gce_bs_input in = {
        .service = s,
        .key = svc_key(w->a, s),
        .verb = TT_VERB_ENSURE,
        .kind = kind_of(s),
        .tags = str_set_make(w->a, tags, 1),
        .tags_known = true,
        .user_v4 = user_of(w, s, false),
        .user_v6 = user_of(w, s, true),
        .subnetwork = "",
        .zones = w->zones,
    };
    return gce_bs_desired_make(w->a, &w->facts, &in, ret, err);
}

static void check_world(struct arena *a, const char *file, size_t services, size_t resources)
{
    struct world w;
    world_read(&w, a, file);
    struct json_object *list = items(&w, "services");
    for (size_t i = 0; i < json_len(list); i++) {
        const struct tt_service *s = test_service(a, json_object_array_get_idx(list, i));
        struct gce_bs_desired d;
        struct err err = ERR_INIT;
        if (kind_of(s) == GCE_KIND_NONE) {
            continue;
        }
        if (desired(&w, s, &d, &err) != ERR_OK) {
            fail_msg("%s: %s is refused: %s", file, s->name, err.message);
        }
        check_side(&w, &d, &d.v4);
        check_side(&w, &d, &d.v6);
        check_service(&w, &d);
        check_hc(&w, &d);
        check_annotations(&w, &d, s);
        w.services++;
    }
    assert_int_equal(w.services, services);
    assert_int_equal(w.resources, resources);
}

static void world__internal_and_external_on_groups(void **state)
{
    check_world(*state, "world-l4.json", 18, 18 * 5);
}

static void world__external_on_negs(void **state)
{
    check_world(*state, "world-l4-netlb-neg.json", 18, 18 * 5);
}

static void world__dual_stack_internal(void **state)
{
    check_world(*state, "world-l4-dual-internal.json", 5, 4 * 8 + 5);
}

static void world__dual_stack_external(void **state)
{
    check_world(*state, "world-l4-dual-external.json", 4, 3 * 8 + 5);
}

static void world__both_programs(void **state)
{
    check_world(*state, "world-both.json", 5, 5 * 5);
}

static void world__internal_on_groups_of_the_older_program(void **state)
{
    check_world(*state, "world-legacy.json", 9, 9 * 5);
}

/* A8: with our default, the family that upstream opened to all clients has no firewall. */
static void world__ranges_of_one_family__ours_closes_the_other(void **state)
{
    struct arena *a = *state;
    struct world w;
    struct gce_bs_desired d;
    world_read(&w, a, "world-l4-dual-internal.json");
    const struct tt_service *s = test_service(a, named(&w, "services", "ilb-dual-v4ranges"));
    assert_int_equal(desired(&w, s, &d, NULL), ERR_OK);
    assert_true(d.v6.want_firewall);
    w.facts.flags.empty_family_opens = false;
    assert_int_equal(desired(&w, s, &d, NULL), ERR_OK);
    assert_true(d.v4.want_firewall);
    assert_false(d.v6.want_firewall);
    assert_true(d.v6.nobody);
}

UNIT_MAIN(l4_worlds)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(world__internal_and_external_on_groups),
        PURE_TEST(world__external_on_negs),
        PURE_TEST(world__dual_stack_internal),
        PURE_TEST(world__dual_stack_external),
        PURE_TEST(world__both_programs),
        PURE_TEST(world__internal_on_groups_of_the_older_program),
        PURE_TEST(world__ranges_of_one_family__ours_closes_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
