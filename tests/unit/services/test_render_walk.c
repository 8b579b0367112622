/* SPDX-License-Identifier: Apache-2.0 */
/* Rendered text against the tracer: in random clusters, a packet that walks through the text of all
 * three modes comes to the ends that ks_trace_packet() names, with the same probabilities. */
#include "tests/support/sample.h"
#include "tests/support/unit.h"
#include "tests/unit/services/cluster_gen.h"
#include "tests/unit/services/rules_walk.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/str.h"
#include "common/services/render/rules.h"
#include "common/services/trace/trace.h"

#define CLUSTERS  10000
#define PARTS     33 /* one of which a run plays */
#define PACKETS   12 /* in each cluster */
#define TOLERANCE 1e-8

/* One cluster in one mode. */
struct mode {
    enum ks_mode mode;
    const char *name;
    const struct walk_rules *rules;
    struct walk_outcome (*walk)(const struct walk_rules *rules, const struct walk_packet *p);
};

static const char *verdict_text(enum ks_verdict v)
{
    switch (v) {
    case KS_DROP:
        return "DROP";
    case KS_REJECT:
        return "REJECT";
    case KS_ACCEPT:
        return "ACCEPT";
    default:
        return "";
    }
}

/* The ends as text, for messages: "10.0.0.1:80 0.50 masqueraded". */
static const char *ends_text(struct arena *a, const struct walk_outcome *o)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < o->n; i++) {
        str_appendf(&b, " [%s %.9f%s]", o->ends[i].endpoint, o->ends[i].probability,
                    o->ends[i].masquerade ? " masqueraded" : "");
    }
    return str_buf_to_arena(&b, a);
}

static const char *trace_text(struct arena *a, const struct ks_trace *t)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_appendf(&b, "%s%s", verdict_text(t->verdict), t->masquerade ? " masqueraded" : "");
    for (size_t i = 0; t->verdict == KS_TO_ENDPOINTS && i < t->list.n; i++) {
        str_appendf(&b, " %s", t->list.items[i]->text);
    }
    return str_buf_to_arena(&b, a);
}

static bool agree(const struct walk_outcome *o, const struct ks_trace *t, enum ks_mode mode)
{
    if (t->verdict != KS_TO_ENDPOINTS) {
        /* kube-proxy answers health checks where no rule says so, too: always in nftables mode, and
         * in IPVS mode when no address of the node takes node ports.  IPVS's rule lets other
         * protocols to that port, as well, where nothing listens. */
        const char *end = o->n == 1 ? o->ends[0].endpoint : "(several)";
        bool without_rule = t->verdict == KS_ACCEPT && mode != KS_IPTABLES && end[0] == '\0';
        bool without_use =
            t->verdict == KS_NOT_OURS && mode == KS_IPVS && strcmp(end, "ACCEPT") == 0;
        return (without_rule || without_use || strcmp(end, verdict_text(t->verdict)) == 0) &&
               fabs(o->ends[0].probability - 1) < TOLERANCE && !t->masquerade;
    }
    bool any = false;
    bool every = true;
    bool same = o->n == t->list.n && o->n > 0;
    for (size_t i = 0; same && i < o->n; i++) {
        same = strcmp(o->ends[i].endpoint, t->list.items[i]->text) == 0 &&
               fabs(o->ends[i].probability - 1.0 / (double)o->n) < TOLERANCE;
        any = any || o->ends[i].masquerade;
        every = every && o->ends[i].masquerade;
    }
    return same && any == t->masquerade && every == t->masquerade_every;
}

static struct ks_packet to_trace(const struct gen_packet *g)
{
    struct ks_packet p = {.port = g->port,
                          .protocol = g->protocol,
                          .from_node = g->interface == NULL,
                          .interface_ = g->interface};
    assert_true(ip_parse(g->source, &p.source));
    assert_true(ip_parse(g->dest, &p.dest));
    return p;
}

static void check_packet(struct arena *a, const struct ks_plan *plan, const struct mode *m,
                         const struct gen_packet *g, uint64_t seed)
{
    const struct ks_packet traced = to_trace(g);
    const struct walk_packet walked = {
        .source = g->source,
        .dest = g->dest,
        .port = g->port,
        .protocol = str_lower(a, g->protocol),
        .interface = g->interface,
        .local = plan->world->config.addresses,
        .n_local = plan->world->config.n_addresses,
    };
    struct ks_trace trace = ks_trace_packet(a, plan, m->mode, &traced);
    struct walk_outcome outcome = m->walk(m->rules, &walked);
    if (!agree(&outcome, &trace, m->mode)) {
        print_error("cluster %llu, %s: %s %s:%d %s by %s\n  rules: %s\n  trace: %s (%s)\n",
                    (unsigned long long)seed, m->name, g->source, g->dest, g->port, g->protocol,
                    str_or(g->interface, "the node"), ends_text(a, &outcome), trace_text(a, &trace),
                    ks_reason_text(trace.reason));
        fail();
    }
    walk_outcome_done(&outcome);
}

static void check_cluster(uint64_t seed, size_t ends[4])
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    _cleanup_(str_buf_done) struct str_buf text = STR_BUF_INIT;
    struct gen_cluster c;
    gen_cluster(a, seed, &c);
    const struct ks_world *w =
        ks_world_make(a, &c.config, c.services, c.n_services, c.slices, c.n_slices);
    const struct ks_plan *plan = ks_plan_make(a, w);
    struct ks_tables tables = ks_render_iptables(a, w);
    struct ks_tables saved = ks_iptables_saved(a, &tables, w->config.family);
    struct ks_lines lines = ks_render_nftables(a, w);
    ks_iptables_text(&text, &tables);
    struct walk_rules *iptables = walk_iptables_parse(str_buf_text(&text));
    str_buf_reset(&text);
    ks_iptables_saved_text(&text, &saved);
    struct walk_rules *as_saved = walk_iptables_parse(str_buf_text(&text));
    struct walk_rules *nftables = walk_nftables_parse(lines.items, lines.n);
    struct ks_ipvs servers = ks_render_ipvs(a, w);
    str_buf_reset(&text);
    ks_ipvs_text(&text, &servers);
    struct walk_rules *ipvs = walk_ipvs_parse(str_buf_text(&text));
    const struct mode modes[] = {{KS_IPTABLES, "iptables", iptables, walk_iptables},
                                 {KS_IPTABLES, "iptables-save", as_saved, walk_iptables},
                                 {KS_NFTABLES, "nftables", nftables, walk_nftables},
                                 {KS_IPVS, "ipvs", ipvs, walk_ipvs}};
    for (int i = 0; i < PACKETS; i++) {
        struct gen_packet g = gen_packet(a, &c, w);
        const struct ks_packet p = to_trace(&g);
        ends[ks_trace_packet(a, plan, KS_IPTABLES, &p).verdict % 4]++;
        for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
            check_packet(a, plan, &modes[m], &g, seed);
        }
    }
    walk_rules_free(iptables);
    walk_rules_free(as_saved);
    walk_rules_free(nftables);
    walk_rules_free(ipvs);
}

static void render__a_packet_through_the_text__ends_where_the_tracer_says(void **state)
{
    (void)state;
    const struct sample part = sample_of_test(PARTS);
    size_t ends[4] = {0};
    size_t clusters = 0;
    for (uint64_t seed = 0; seed < CLUSTERS; seed++) {
        if (sample_takes_number(&part, seed)) {
            clusters++;
            check_cluster(seed, ends);
        }
    }
    print_message("# %zu clusters; packets: %zu to endpoints, %zu dropped, %zu refused\n", clusters,
                  ends[KS_TO_ENDPOINTS], ends[KS_DROP], ends[KS_REJECT]);
    assert_in_range(ends[KS_TO_ENDPOINTS], clusters, clusters * PACKETS);
    assert_in_range(ends[KS_DROP], clusters / 8, clusters * PACKETS);
    assert_in_range(ends[KS_REJECT], clusters / 8, clusters * PACKETS);
}

UNIT_MAIN(render_walk)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(render__a_packet_through_the_text__ends_where_the_tracer_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
