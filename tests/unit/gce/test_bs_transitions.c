/* SPDX-License-Identifier: Apache-2.0 */
/* test_bs_transitions.c: a Service becomes another one, in every way, and is stopped at every place
 * on the way.
 *
 * Ports {TCP, UDP, both} and families {IPv4, IPv6, both} of internal and external balancers, from
 * nothing and from each other, with policy, ranges and tier mixed in.  The end must be what a fresh
 * create makes, with nothing left behind (gce-l4.md §11.20), whether the plan was carried out at
 * once, stopped after any of its operations, or met a failure at any of them (in turn); and the
 * address must be the same in all three.  A run walks a part of the pairs (sample.h). */
#include "tests/golden/gce_bs_sync.h"
#include "tests/support/sample.h"
#include "tests/support/unit.h"
#include "tests/unit/gce/pure.h"

#define PARTS 20

/* One form of the Service. */
struct form {
    const char *name;
    const char *ports;
    const char *families;
    const char *more; /* members of spec */
    const char *annotations;
};
#define TCP     "[{\"port\":80,\"protocol\":\"TCP\"},{\"port\":443,\"protocol\":\"TCP\"}]"
#define UDP     "[{\"port\":53,\"protocol\":\"UDP\"}]"
#define BOTH    "[{\"port\":80,\"protocol\":\"TCP\"},{\"port\":53,\"protocol\":\"UDP\"}]"
#define V4      "[\"IPv4\"]"
#define V6      "[\"IPv6\"]"
#define V46     "[\"IPv4\",\"IPv6\"]"
#define CLUSTER ",\"externalTrafficPolicy\":\"Cluster\""
#define LOCAL   ",\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":31000"

static const struct form forms[] = {
    {"tcp v4", TCP, V4, CLUSTER, ""},
    {"udp v4", UDP, V4, CLUSTER, ""},
    {"both v4", BOTH, V4, CLUSTER, ""},
    {"tcp v6", TCP, V6, CLUSTER, ""},
    {"udp v6", UDP, V6, CLUSTER, ""},
    {"both v6", BOTH, V6, CLUSTER, ""},
    {"tcp v4 v6", TCP, V46, CLUSTER, ""},
    {"udp v4 v6", UDP, V46, CLUSTER, ""},
    {"both v4 v6", BOTH, V46, CLUSTER, ""},
    {"tcp v4, local", TCP, V4, LOCAL, ""},
    {"tcp v4 v6, local", TCP, V46, LOCAL, ""},
    {"udp v4, affinity", UDP, V4, CLUSTER ",\"sessionAffinity\":\"ClientIP\"", ""},
    {"tcp v4, ranges", TCP, V4, CLUSTER ",\"loadBalancerSourceRanges\":[\"10.0.0.0/8\"]", ""},
    {"tcp v4 v6, ranges of v4", TCP, V46, CLUSTER ",\"loadBalancerSourceRanges\":[\"10.0.0.0/8\"]",
     ""},
    {"tcp v4, Standard", TCP, V4, CLUSTER, "\"cloud.google.com/network-tier\":\"Standard\""},
    {"tcp v4, Premium", TCP, V4, CLUSTER, "\"cloud.google.com/network-tier\":\"Premium\""},
    {"tcp v4, global", TCP, V4, CLUSTER,
     "\"networking.gke.io/internal-load-balancer-allow-global-access\":\"true\""},
    {"tcp v4, static", TCP, V4, CLUSTER,
     "\"networking.gke.io/load-balancer-ip-addresses\":\"mine\""},
};
/* A cluster. */
struct setting {
    const char *kind;
    const char *flags;
};
static const struct setting settings[] = {
    {"ilb-negs", "\"dual_stack_ilb\":true,\"mixed_ilb\":true"},
    {"netlb-groups", "\"dual_stack_netlb\":true,\"mixed_netlb\":true"},
    {"netlb-groups", "\"dual_stack_netlb\":true,\"mixed_netlb\":true,\"l3_default\":true"},
    {"netlb-negs", "\"dual_stack_netlb\":true,\"deny_firewall\":true,\"deny_cleanup\":true"},
    {"ilb-groups", "\"dual_stack_ilb\":false"},
};

#define GROUP "instanceGroups/k8s-ig--0123456789abcdef"

struct scene {
    struct arena *a;
    const struct setting *set;
    struct gce_model model;
    struct str_buf broken;
    struct gce_bs_sync sync;
};

/* A reserved address, and the groups of the three zones. */
static struct json_object *observed(struct arena *a, bool internal)
{
    const char *mine = internal ? "\"10.128.7.7\",\"addressType\":\"INTERNAL\""
                                : "\"203.0.113.77\",\"addressType\":\"EXTERNAL\","
                                  "\"networkTier\":\"PREMIUM\"";
    return pure_json(a, arena_printf(a,
                                     "{\"regions/us-central1/addresses/mine\":{\"address\":%s},"
                                     "\"zones/us-central1-a/" GROUP "\":{},"
                                     "\"zones/us-central1-b/" GROUP "\":{},"
                                     "\"zones/us-central1-c/" GROUP "\":{}}",
                                     mine));
}

static void begin(struct scene *s, const struct setting *set)
{
    *s = (struct scene){.a = arena_new(), .set = set, .broken = STR_BUF_INIT};
    bool internal = str_has_prefix(set->kind, "ilb");
    s->model.broken = &s->broken;
    gce_model_init(&s->model, s->a, observed(s->a, internal), NULL);
    s->sync = (struct gce_bs_sync){
        .a = s->a,
        .model = &s->model,
        .nodes = gce_bs_sync_nodes(s->a),
        .facts = pure_json(
            s->a, arena_printf(s->a, "{\"kind\":\"%s\",\"flags\":{%s}}", set->kind, set->flags))};
}

static void end(struct scene *s)
{
    gce_model_done(&s->model);
    str_buf_done(&s->broken);
    arena_free(s->a);
}

static void become(struct scene *s, const struct form *f)
{
    s->sync.service = pure_json(
        s->a,
        arena_printf(s->a,
                     "{\"metadata\":{\"namespace\":\"demo\",\"name\":\"web\",\"uid\":"
                     "\"6fa8b6c4-3f1e-4c2a-9d57-0b1c2d3e4f50\",\"annotations\":{%s}},\"spec\":{"
                     "\"type\":\"LoadBalancer\",\"ipFamilies\":%s,\"ports\":%s%s}}",
                     f->annotations, f->families, f->ports, f->more));
}

/* A family without any range is denied with or without an allow rule, which the model's
 * watch does not know. */
static bool nobody_is_denied(const struct scene *s)
{
    struct json_object *spec = json_member(s->sync.service, "spec");
    return strstr(s->set->flags, "deny") != NULL &&
           json_member(spec, "loadBalancerSourceRanges") != NULL &&
           json_len(json_member(spec, "ipFamilies")) > 1;
}

/* False: the Service asks for what this cluster does not give. */
static bool plan(struct scene *s, const char *row)
{
    if (nobody_is_denied(s)) {
        return false;
    }
    struct err err = ERR_INIT;
    if (gce_bs_sync_plan(&s->sync, &err) == ERR_OK) {
        return true;
    }
    if (err.code != ERR_INVALID) {
        fail_msg("%s: %s", row, err.message);
    }
    return false;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Differences between two fresh creates.  Without an annotation the tier is that of the address
 * that stays. */
static struct json_object *plain(struct json_object *given, bool tier)
{
    static const char *const passing[] = {
        "id", "selfLink", "fingerprint", "IPAddress", "address", "destinationRanges", "size"};
    struct json_object *o = json_copy(given);
    for (size_t i = 0; i < ARRAY_LEN(passing); i++) {
        json_object_object_del(o, passing[i]);
    }
    if (!json_bool(o, "allowGlobalAccess", false)) {
        json_object_object_del(o, "allowGlobalAccess");
    }
    if (!tier) {
        json_object_object_del(o, "networkTier");
    }
    /* Descriptions of rules, and of the old kind's firewalls, name the address. */
    if (json_member(o, "IPProtocol") != NULL ||
        strstr(str_nonnull(json_str(o, "description")), "kubernetes.io/service-ip") != NULL) {
        json_object_object_del(o, "description");
    }
    return o;
}

/* The shared check's firewall of a family serves others, too: it stays until the check goes. */
static bool may_be_left(const char *path)
{
    return strstr(path, "l4-shared-hc") != NULL || str_has_suffix(path, "-node") ||
           str_has_suffix(path, "-node-hc");
}

static const char *first_difference(struct scene *s, const struct scene *fresh)
{
    struct json_object *annotations =
        json_member(json_member(s->sync.service, "metadata"), "annotations");
    bool tier = json_member(annotations, "cloud.google.com/network-tier") != NULL;
    json_object_object_foreach(s->model.resources, path, o)
    {
        struct json_object *want = json_member(fresh->model.resources, path);
        if (want == NULL && may_be_left(path)) {
            continue;
        }
        if (want == NULL) {
            return arena_printf(s->a, "%s is left", path);
        }
        struct json_object *x = plain(o, tier);
        struct json_object *y = plain(want, tier);
        const char *is = json_text(s->a, x, JSON_SORTED);
        const char *should = json_text(s->a, y, JSON_SORTED);
        json_object_put(x);
        json_object_put(y);
        if (!str_eq(is, should)) {
            return arena_printf(s->a, "%s\n  is     %s\n  should be %s", path, is, should);
        }
    }
    json_object_object_foreach(fresh->model.resources, other, p)
    {
        (void)p;
        if (json_member(s->model.resources, other) == NULL) {
            return arena_printf(s->a, "%s is missing", other);
        }
    }
    return NULL;
}

static void assert_settled(struct scene *s, const struct scene *fresh, const char *row)
{
    if (s->broken.len > 0) {
        fail_msg("%s: %s", row, str_buf_text(&s->broken));
    }
    const char *difference = first_difference(s, fresh);
    if (difference != NULL) {
        fail_msg("%s: %s", row, difference);
    }
    assert_true(plan(s, row));
    if (lb_plan_changes(&s->sync.plan) > 0) {
        fail_msg("%s: the next plan is not empty: %s %s", row, s->sync.plan.ops[0].kind,
                 s->sync.plan.ops[0].name);
    }
}

/* ---- syncs ----------------------------------------------------------------------------------- */

static void settle(struct scene *s, const char *row)
{
    struct err err = ERR_INIT;
    assert_true(plan(s, row));
    if (gce_bs_sync_run(&s->sync, 0, NULL, &err) != ERR_OK) {
        fail_msg("%s: %s", row, err.message);
    }
}

enum trouble {
    NONE = 0,
    STOPPED, /* after so many operations */
    FAILED,  /* the so-manieth call fails */
};
struct walk {
    const struct setting *set;
    const struct form *from; /* NULL: from nothing */
    const struct form *to;
    enum trouble trouble;
    int at;
};

/* The result; texts live in the caller's arena. */
struct outcome {
    struct gce_bs_outcome before;
    struct gce_bs_outcome after;
    size_t n_ops;
};

static struct gce_bs_outcome addresses(struct arena *a, const struct scene *s)
{
    return (struct gce_bs_outcome){.ip_v4 = arena_strdup(a, s->sync.outcome.ip_v4),
                                   .ip_v6 = arena_strdup(a, s->sync.outcome.ip_v6)};
}

static void trouble(struct scene *s, const struct walk *w, const char *row)
{
    struct err err = ERR_INIT;
    assert_true(plan(s, row));
    size_t limit = w->trouble == STOPPED ? (size_t)w->at : 0;
    s->model.fails_in = w->trouble == FAILED ? w->at : 0;
    int rc = gce_bs_sync_run(&s->sync, limit, NULL, &err);
    s->model.fails_in = 0;
    if (rc != ERR_OK && rc != ERR_TRANSIENT) {
        fail_msg("%s: %s", row, err.message);
    }
}

static const char *row_of(struct arena *a, const struct walk *w)
{
    static const char *const words[] = {"undisturbed", "stopped after", "failed at"};
    return arena_printf(a, "%s {%s}: %s → %s, %s %d", w->set->kind, w->set->flags,
                        w->from == NULL ? "nothing" : w->from->name, w->to->name, words[w->trouble],
                        w->at);
}

/* False when one of the two forms cannot be had here. */
static bool walk(struct arena *a, const struct walk *w, const struct scene *fresh,
                 struct outcome *ret)
{
    struct scene s;
    const char *row = row_of(a, w);
    bool possible = true;
    begin(&s, w->set);
    *ret = (struct outcome){0};
    if (w->from != NULL) {
        become(&s, w->from);
        possible = plan(&s, row);
        if (possible) {
            settle(&s, row);
            ret->before = addresses(a, &s);
        }
    }
    become(&s, w->to);
    possible = possible && plan(&s, row);
    if (possible) {
        ret->n_ops = s.sync.plan.n_ops;
        if (w->trouble != NONE) {
            trouble(&s, w, row);
        }
        settle(&s, row);
        ret->after = addresses(a, &s);
        assert_settled(&s, fresh, row);
    }
    end(&s);
    return possible;
}

/* Resources that an undisturbed edit keeps are kept with any fault; a new address may differ each
 * time. */
static void assert_kept(const char *row, const char *before, const char *undisturbed,
                        const char *after)
{
    if (before != NULL && str_eq(before, undisturbed) && !str_eq(before, after)) {
        fail_msg("%s: the address %s became %s", row, before, str_nonnull(after));
    }
}

/* A Service that no longer names its address has no claim on it once the rule is deleted; it stays
 * reserved. */
static bool names_no_more(const struct walk *w)
{
    return w->from != NULL && strstr(w->from->annotations, "mine") != NULL &&
           strstr(w->to->annotations, "mine") == NULL;
}

/* How many walks that were. */
static size_t walk_in_trouble(struct walk w, const struct scene *fresh)
{
    size_t n = 1;
    struct arena *a = arena_new();
    struct outcome calm;
    w.trouble = NONE;
    w.at = 0;
    bool possible = walk(a, &w, fresh, &calm);
    for (int at = 1; possible && at <= (int)calm.n_ops; at++) {
        struct outcome o;
        /* A failure leaves what a stop before it leaves, and the rest of its wave: in turn, and
         * from pair to pair the other way round, they cover both at half the price. */
        size_t pair = (size_t)(w.to - forms) + (w.from == NULL ? 0 : (size_t)(w.from - forms));
        w.trouble = ((size_t)at + pair) % 2 == 0 ? STOPPED : FAILED;
        w.at = at;
        n++;
        assert_true(walk(a, &w, fresh, &o));
        const char *row = row_of(a, &w);
        if (!names_no_more(&w)) {
            assert_kept(row, calm.before.ip_v4, calm.after.ip_v4, o.after.ip_v4);
        }
        assert_kept(row, calm.before.ip_v6, calm.after.ip_v6, o.after.ip_v6);
    }
    arena_free(a);
    return n;
}

static void walk_setting(const struct setting *set)
{
    const struct sample part = sample_of_test(PARTS);
    size_t n = 0;
    for (size_t to = 0; to < ARRAY_LEN(forms); to++) {
        struct scene fresh;
        begin(&fresh, set);
        become(&fresh, &forms[to]);
        if (plan(&fresh, forms[to].name)) {
            settle(&fresh, forms[to].name);
            for (size_t from = 0; from <= ARRAY_LEN(forms); from++) {
                const struct form *f = from == ARRAY_LEN(forms) ? NULL : &forms[from];
                if (sample_takes_number(&part, to * (ARRAY_LEN(forms) + 1) + from)) {
                    n += walk_in_trouble((struct walk){.set = set, .from = f, .to = &forms[to]},
                                         &fresh);
                }
            }
        }
        end(&fresh);
    }
    print_message("# %s {%s}: %zu walks\n", set->kind, set->flags, n);
}

static void transitions__internal_on_negs(void **state)
{
    (void)state;
    walk_setting(&settings[0]);
}

static void transitions__external_on_groups__rules_by_protocol(void **state)
{
    (void)state;
    walk_setting(&settings[1]);
}

static void transitions__external_on_groups__one_rule(void **state)
{
    (void)state;
    walk_setting(&settings[2]);
}

static void transitions__external_on_negs__with_deny(void **state)
{
    (void)state;
    walk_setting(&settings[3]);
}

static void transitions__internal_on_groups(void **state)
{
    (void)state;
    walk_setting(&settings[4]);
}

UNIT_MAIN(bs_transitions)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transitions__internal_on_negs),
        cmocka_unit_test(transitions__external_on_groups__rules_by_protocol),
        cmocka_unit_test(transitions__external_on_groups__one_rule),
        cmocka_unit_test(transitions__external_on_negs__with_deny),
        cmocka_unit_test(transitions__internal_on_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
