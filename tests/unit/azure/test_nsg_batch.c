/* SPDX-License-Identifier: Apache-2.0 */
/* test_nsg_batch.c: properties of azure_nsg_plan() on random clusters and documents, from fixed
 * seeds.
 *
 *   one batch of k Services equals k passes of one Service each (docs/spec/azure.md 12.5 (4))
 *   foreign rules come back to the byte, in their order
 *   a second pass changes nothing; where Services share addresses, one of the next passes changes
 *   nothing, because
 *     what is split off for the others (9.5) is put in order only when their turn comes
 *   what a Service wants is there afterwards, also for those that are not in the batch
 *
 * Rules are compared without their priorities: a batch gives a rule that one Service leaves and
 * another takes its old priority, where single passes would drop it in between. */
#include "tests/unit/azure/nsg.h"

#include "common/base/clock.h"
#include "tests/support/sample.h"
#include "tests/support/unit.h"

#define CASES        10000
#define PARTS        20 /* one of which a run plays */
#define SERVICES_MAX 6
#define PASSES_MAX   4

/* ---- a random cluster ------------------------------------------------------------------------ */

struct world {
    struct arena *a;
    struct rng *rng;
    size_t n;
    const struct azure_access *before[SERVICES_MAX]; /* what made the document */
    const struct azure_access *after[SERVICES_MAX];  /* what is there now */
    struct azure_texts lb_ips[SERVICES_MAX];
    bool in_batch[SERVICES_MAX];
    bool want[SERVICES_MAX];
    struct azure_texts node_ips;
};

static uint64_t below(struct world *w, uint64_t n)
{
    return rng_below(w->rng, n);
}

static bool one_in(struct world *w, uint64_t n)
{
    return below(w, n) == 0;
}

static const char *pick(struct world *w, const char *const *items, size_t n)
{
    return items[below(w, n)];
}
#define PICK(w, ...)                                                                               \
    pick((w), (const char *const[]){__VA_ARGS__},                                                  \
         sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static const char *random_annotations(struct world *w)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    static const struct {
        const char *name;
        uint64_t one_in;
        const char *values[4];
    } rows[] = {
        {"azure-load-balancer-internal", 5, {"true", "true", "True", "false"}},
        {"azure-allowed-ip-ranges",
         4,
         {"10.0.0.0/8", "10.0.0.0/8,2001:db8::/32", "0.0.0.0/0", "10.0.0.0/8,foobar"}},
        {"azure-allowed-service-tags", 4, {"AzureCloud", "foo,bar", "foo", "foo"}},
        {"azure-deny-all-except-load-balancer-source-ranges", 3, {"true", "true", "true", "no"}},
        {"azure-disable-load-balancer-floating-ip", 5, {"true", "true", "true", "false"}},
        {"azure-disable-load-balancer-nsg-rule", 10, {"true", "true", "true", "false"}},
        {"azure-additional-public-ips", 5, {"20.0.0.3", "20.0.0.7,2603::7", "20.0.0.7", "x"}},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (one_in(w, rows[i].one_in)) {
            str_appendf(&b, "%s\"%s%s\":\"%s\"", b.len > 0 ? "," : "", AZURE_ANNOTATION_PREFIX,
                        rows[i].name, rows[i].values[below(w, 4)]);
        }
    }
    return str_buf_to_arena(&b, w->a);
}

static const char *random_ports(struct world *w)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    static const char *const all[] = {
        TCP(80), TCP(443), UDP(53), UDP(80),
        "{\"name\":\"s\",\"protocol\":\"SCTP\",\"port\":80,\"nodePort\":30009}"};
    size_t must = below(w, ARRAY_LEN(all));
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (i == must || one_in(w, 3)) {
            str_appendf(&b, "%s%s", b.len > 0 ? "," : "", all[i]);
        }
    }
    return str_buf_to_arena(&b, w->a);
}

static const char *random_address(struct world *w)
{
    return PICK(w, "20.0.0.1", "20.0.0.2", "20.0.0.3", "20.0.0.4", "2603::1", "2603::2");
}

static const struct azure_access *random_service(struct world *w, size_t i)
{
    const char *ranges = one_in(w, 4) ? PICK(w, "\"10.0.0.0/8\"", "\"192.168.0.0/16\",\"::/0\"",
                                             "\"10.0.0.1/8\"", "\"2001:db8::/32\"")
                                      : "";
    return nsg_access(w->a, arena_printf(w->a, "s%zu", i), random_annotations(w), ranges,
                      random_ports(w), one_in(w, 2) ? random_address(w) : NULL);
}

/* Rules of people and of other programs, some with priorities and destinations of ours. */
static const char *random_foreign(struct world *w)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    size_t n = below(w, 5);
    for (size_t i = 0; i < n; i++) {
        str_appendf(&b,
                    "%s{\"name\":\"%s%zu\",\"x\":{\"deep\":[1,null,\"é\"]},\"properties\":{"
                    "\"priority\":%llu,\"direction\":\"%s\",\"access\":\"%s\",\"protocol\":\"%s\","
                    "\"sourceAddressPrefix\":\"*\",\"sourceAddressPrefixes\":[],"
                    "\"sourcePortRange\":\"*\",\"destinationPortRanges\":[\"80\",\"443\"],%s}}",
                    i > 0 ? "," : "", PICK(w, "user-", "shared-TCP-http-", "a0000-TCP-"), i,
                    (unsigned long long)(496 + 3 * i + below(w, 3)),
                    PICK(w, "Inbound", "Inbound", "Outbound"), PICK(w, "Allow", "Deny"),
                    PICK(w, "Tcp", "Udp", "*"),
                    PICK(w, "\"destinationAddressPrefix\":\"20.0.0.1\"",
                         "\"destinationAddressPrefixes\":[\"20.0.0.1\",\"20.9.9.9\"]",
                         "\"destinationAddressPrefix\":\"*\"", "\"description\":\"no destination\"",
                         "\"destinationApplicationSecurityGroups\":[{\"id\":\"/asg\"}]"));
    }
    return arena_printf(w->a, "[%s]", str_buf_text(&b));
}

/* ---- running --------------------------------------------------------------------------------- */

static struct azure_nsg_change change_of(const struct world *w, size_t i)
{
    return (struct azure_nsg_change){
        .access = w->after[i],
        .want = w->want[i],
        .lb_ips = w->lb_ips[i],
        .backend_ips = w->node_ips,
    };
}

static void must_plan(struct arena *a, const struct azure_nsg_input *in,
                      struct azure_nsg_result *ret)
{
    struct err err = ERR_INIT;
    if (azure_nsg_plan(a, in, ret, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
}

/* The group before the batch: foreign rules, those of every former Service, and a stale one. */
static struct json_object *first_document(struct world *w)
{
    struct azure_nsg_change changes[SERVICES_MAX];
    struct azure_nsg_result r;
    for (size_t i = 0; i < w->n; i++) {
        changes[i] = (struct azure_nsg_change){.access = w->before[i],
                                               .want = true,
                                               .lb_ips = w->lb_ips[i],
                                               .backend_ips = w->node_ips};
    }
    struct azure_nsg_input in = {.rules = pure_json(w->a, random_foreign(w)),
                                 .changes = changes,
                                 .n_changes = w->n,
                                 .node_ips = w->node_ips};
    must_plan(w->a, &in, &r);
    if (one_in(w, 3)) {
        json_object_array_add(
            r.rules,
            json_copy(pure_json(
                w->a, "{\"name\":\"k8s-azure-lb_stale\",\"properties\":{\"priority\":3000,"
                      "\"direction\":\"Inbound\",\"access\":\"Allow\",\"protocol\":\"Tcp\","
                      "\"sourceAddressPrefix\":\"Internet\",\"sourcePortRange\":\"*\","
                      "\"destinationPortRanges\":[\"80\",\"443\",\"9\"],"
                      "\"destinationAddressPrefixes\":[\"20.0.0.1\",\"20.9.9.9\",\"2603::1\"]}}")));
    }
    return r.rules;
}

/* Deletes first, as the caller of azure_nsg_plan() must. */
static size_t batch_order(const struct world *w, size_t order[SERVICES_MAX])
{
    size_t n = 0;
    for (int want = 0; want < 2; want++) {
        for (size_t i = 0; i < w->n; i++) {
            if (w->in_batch[i] && w->want[i] == (want != 0)) {
                order[n++] = i;
            }
        }
    }
    return n;
}

/* Every Service; `assigned` tells what those that stay are given. */
static void fill_members(const struct world *w, struct azure_nsg_member members[SERVICES_MAX])
{
    for (size_t i = 0; i < w->n; i++) {
        members[i] = (struct azure_nsg_member){.access = w->after[i]};
        if (!w->want[i]) {
            continue;
        }
        size_t n_more = w->after[i]->additional.n;
        const char **texts = ARENA_ARRAY(w->a, const char *, w->lb_ips[i].n + n_more);
        for (size_t k = 0; k < w->lb_ips[i].n + n_more; k++) {
            texts[k] = k < w->lb_ips[i].n ? w->lb_ips[i].items[k]
                                          : w->after[i]->additional.items[k - w->lb_ips[i].n];
        }
        members[i].assigned = (struct azure_texts){.items = texts, .n = w->lb_ips[i].n + n_more};
    }
}

static struct json_object *in_one_batch(struct world *w, struct json_object *doc,
                                        struct azure_nsg_result *ret)
{
    size_t order[SERVICES_MAX];
    struct azure_nsg_change changes[SERVICES_MAX];
    struct azure_nsg_member members[SERVICES_MAX];
    size_t n = batch_order(w, order);
    for (size_t i = 0; i < n; i++) {
        changes[i] = change_of(w, order[i]);
    }
    fill_members(w, members);
    for (size_t i = 0; i < w->n; i++) {
        if (w->in_batch[i]) {
            members[i].assigned = (struct azure_texts){0}; /* the batch knows by itself */
        }
    }
    struct azure_nsg_input in = {.rules = doc,
                                 .members = members,
                                 .n_members = w->n,
                                 .changes = changes,
                                 .n_changes = n,
                                 .node_ips = w->node_ips};
    must_plan(w->a, &in, ret);
    return ret->rules;
}

static struct json_object *one_by_one(struct world *w, struct json_object *doc)
{
    size_t order[SERVICES_MAX];
    struct azure_nsg_member members[SERVICES_MAX];
    size_t n = batch_order(w, order);
    fill_members(w, members);
    for (size_t i = 0; i < n; i++) {
        struct azure_nsg_change change = change_of(w, order[i]);
        struct azure_nsg_result r;
        struct azure_nsg_input in = {.rules = doc,
                                     .members = members,
                                     .n_members = w->n,
                                     .changes = &change,
                                     .n_changes = 1,
                                     .node_ips = w->node_ips};
        must_plan(w->a, &in, &r);
        doc = r.rules;
        members[order[i]].cleaned = !change.want;
    }
    return doc;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static int by_name(const void *x, const void *y)
{
    return strcmp((*(struct azure_nsg_rule *const *)x)->name,
                  (*(struct azure_nsg_rule *const *)y)->name);
}

/* Our rules by name, without priorities. */
static const char *ours(struct arena *a, struct json_object *doc)
{
    struct azure_nsg g;
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    assert_int_equal(azure_nsg_read(a, doc, &g, NULL), ERR_OK);
    if (g.n > 0) {
        qsort(g.rules, g.n, sizeof(struct azure_nsg_rule *), by_name);
    }
    for (size_t i = 0; i < g.n; i++) {
        const struct azure_nsg_body *r = &g.rules[i]->now;
        if (azure_nsg_is_managed(g.rules[i])) {
            str_appendf(&b, "%s: %s %s %s > %s : %s\n", g.rules[i]->name, r->access, r->protocol,
                        str_set_text(a, &r->sources, ","), str_set_text(a, &r->destinations, ","),
                        str_set_text(a, &r->ports, ","));
        }
    }
    return str_buf_to_arena(&b, a);
}

static const char *foreign(struct arena *a, struct json_object *doc)
{
    struct azure_nsg g;
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    assert_int_equal(azure_nsg_read(a, doc, &g, NULL), ERR_OK);
    for (size_t i = 0; i < g.n; i++) {
        if (!azure_nsg_is_managed(g.rules[i])) {
            json_print(&b, g.rules[i]->json, JSON_COMPACT);
            str_append_c(&b, '\n');
        }
    }
    return str_buf_to_arena(&b, a);
}

static void check_priorities(struct arena *a, uint64_t seed, struct json_object *doc)
{
    struct azure_nsg g;
    assert_int_equal(azure_nsg_read(a, doc, &g, NULL), ERR_OK);
    for (size_t i = 0; i < g.n; i++) {
        for (size_t k = 0; k < g.n; k++) {
            if (i != k && azure_nsg_is_managed(g.rules[i]) &&
                str_eq(g.rules[k]->now.direction, "Inbound") &&
                g.rules[i]->now.priority == g.rules[k]->now.priority) {
                fail_msg("seed %llu: %s and %s have one priority", (unsigned long long)seed,
                         g.rules[i]->name, g.rules[k]->name);
            }
        }
    }
}

/* Every rule that the Service wants is there with all its addresses. */
static void check_served(const struct world *w, uint64_t seed, const struct azure_access *x,
                         const struct azure_texts *lb_ips, struct json_object *doc)
{
    struct azure_nsg_change change = {
        .access = x, .want = true, .lb_ips = *lb_ips, .backend_ips = w->node_ips};
    struct azure_nsg_input in = {.rules = pure_json(w->a, "[]"),
                                 .changes = &change,
                                 .n_changes = 1,
                                 .node_ips = w->node_ips};
    struct azure_nsg_result alone;
    struct azure_nsg g;
    struct azure_nsg all;
    must_plan(w->a, &in, &alone);
    assert_int_equal(azure_nsg_read(w->a, alone.rules, &g, NULL), ERR_OK);
    assert_int_equal(azure_nsg_read(w->a, doc, &all, NULL), ERR_OK);
    for (size_t i = 0; i < g.n; i++) {
        const struct azure_nsg_rule *has = azure_nsg_find(&all, g.rules[i]->name);
        if (has == NULL ||
            str_set_minus(w->a, &g.rules[i]->now.destinations, &has->now.destinations).n > 0) {
            fail_msg("seed %llu: %s misses %s: %s", (unsigned long long)seed, x->service->key,
                     g.rules[i]->name, has == NULL ? "the rule" : "a destination");
        }
    }
}

/* ---- one case -------------------------------------------------------------------------------- */

static struct str_set addresses(const struct world *w, size_t i)
{
    const struct azure_access *x = w->after[i];
    const struct azure_texts *more[] = {&w->lb_ips[i], &x->additional};
    const char **items = ARENA_ARRAY(w->a, const char *, more[0]->n + more[1]->n + 1);
    size_t n = 0;
    for (size_t t = 0; t < ARRAY_LEN(more); t++) {
        for (size_t k = 0; k < more[t]->n; k++) {
            items[n++] = more[t]->items[k];
        }
    }
    if (x->service->in->n_ingress > 0) {
        items[n++] = x->service->in->ingress[0].ip;
    }
    return str_set_make(w->a, items, n);
}

static bool shares_addresses(const struct world *w)
{
    for (size_t i = 0; i < w->n; i++) {
        for (size_t k = 0; k < i; k++) {
            struct str_set x = addresses(w, i);
            struct str_set y = addresses(w, k);
            if (str_set_minus(w->a, &x, &y).n < x.n ||
                (w->after[i]->service->disable_floating_ip &&
                 w->after[k]->service->disable_floating_ip)) {
                return true;
            }
        }
    }
    return false;
}

static void make_world(struct world *w)
{
    w->n = 2 + below(w, SERVICES_MAX - 1);
    w->node_ips = nsg_texts(w->a, PICK(w, "10.1.0.4 10.1.0.5", "10.1.0.4 fd00::4"));
    bool any = false;
    for (size_t i = 0; i < w->n; i++) {
        const char *ips = random_address(w);
        w->before[i] = random_service(w, i);
        w->after[i] = one_in(w, 2) ? random_service(w, i) : w->before[i];
        w->lb_ips[i] = nsg_texts(
            w->a, one_in(w, 2) ? ips : arena_printf(w->a, "%s %s", ips, random_address(w)));
        w->in_batch[i] = !one_in(w, 3) || (i + 1 == w->n && !any);
        w->want[i] = !w->in_batch[i] || !one_in(w, 3);
        any = any || w->in_batch[i];
        if (!w->in_batch[i]) {
            w->after[i] = w->before[i]; /* what changed would be in the batch */
        }
    }
}

static void check_all_served(const struct world *w, uint64_t seed, struct json_object *doc)
{
    for (size_t i = 0; i < w->n; i++) {
        if (w->want[i] && azure_access_check(w->after[i], NULL) == ERR_OK) {
            check_served(w, seed, w->after[i], &w->lb_ips[i], doc);
        }
    }
}

static void check_case(struct world *w, uint64_t seed)
{
    const char *row = arena_printf(w->a, "seed %llu", (unsigned long long)seed);
    make_world(w);
    struct json_object *doc = first_document(w);
    const char *text = json_text(w->a, doc, JSON_COMPACT);
    struct azure_nsg_result batch;
    struct azure_nsg_result again;
    struct json_object *got = in_one_batch(w, doc, &batch);
    same_text(row, ours(w->a, got), ours(w->a, one_by_one(w, doc)));
    same_text(row, foreign(w->a, got), foreign(w->a, doc));
    same_text(row, json_text(w->a, doc, JSON_COMPACT), text); /* what was read is as it was */
    check_priorities(w->a, seed, got);
    check_all_served(w, seed, got);
    if (batch.changed != !str_eq(ours(w->a, got), ours(w->a, doc)) ||
        (batch.n_diff > 0) != batch.changed) {
        fail_msg("%s: changed %d, %zu differences", row, batch.changed, batch.n_diff);
    }
    int passes = 0;
    do {
        got = in_one_batch(w, got, &again);
    } while (again.changed && shares_addresses(w) && ++passes < PASSES_MAX);
    if (again.changed) {
        fail_msg("%s: another pass changes %s: %s", row, again.diff[0].name, again.diff[0].why);
    }
    check_all_served(w, seed, got);
}

static void batch__equals_single_passes(void **state)
{
    const struct sample part = sample_of_test(PARTS);
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        if (!sample_takes_number(&part, seed)) {
            continue;
        }
        struct world w = {.a = *state, .rng = rng_seeded_new(seed)};
        check_case(&w, seed);
        rng_free(w.rng);
        arena_reset(*state);
    }
}

UNIT_MAIN(nsg_batch)
{
    const struct CMUnitTest tests[] = {PURE_TEST(batch__equals_single_passes)};
    return cmocka_run_group_tests_name("azure_nsg_batch", tests, NULL, NULL);
}
