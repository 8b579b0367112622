/* SPDX-License-Identifier: Apache-2.0 */
/* test_docs.c: three tables on the page of the provider are those of the code: the rows of the
 * decision, the flags, and the metrics; and each metric of upstream's that is not set is on the
 * page, too.
 *
 * TRIMTAB_UPDATE_GOLDEN=1 writes the page's tables again. */
#include "tests/unit/gce/pure.h"

#include "providers/gce/config/gce_options.h"
#include "providers/gce/decide/gce_decide_table.h"
#include "providers/gce/gce_findings.h"
#include "providers/gce/gce_l4_metrics.h"
#include "tests/support/doc_page.h"
#include "tests/support/unit.h"

/* ---- tables ---------------------------------------------------------------------------------- */

static const char *cell(struct arena *a, const char *text)
{
    return str_replace(a, str_replace(a, text, "<", "&lt;"), "|", "\\|");
}

/* Of which Services the row is asked: its id tells. */
static const char *of_whom(const char *id)
{
    static const struct tt_kv groups[] = {
        {"not-", "any"},
        {"gone", "any"},
        {"class-", "with a class"},
        {"rule-", "any"},
        {"name-", "any"},
        {"ilb-", "internal, without a class"},
        {"netlb-", "external, without a class"},
        {"pool-", "external, without a class"},
        {"members-", "external with a backend service"},
    };
    for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
        if (str_has_prefix(id, groups[i].key)) {
            return groups[i].value;
        }
    }
    fail_msg("row %s is of no group", id);
    return NULL;
}

static const char *served_with(const struct gce_decide_row *row)
{
    const enum gce_kind kind = row->kind;
    static const char *const flags[GCE_KIND_MAX] = {
        [GCE_KIND_NONE] = "–",
        [GCE_KIND_TARGET_POOL] = "unless `--controllers=-service-lb-controller`",
        [GCE_KIND_ILB_GROUPS] = "unless `--controllers=-service-lb-controller`",
        [GCE_KIND_ILB_NEGS] = "`--run-l4-controller`",
        [GCE_KIND_NETLB_GROUPS] = "`--run-l4-netlb-controller`",
        [GCE_KIND_NETLB_NEGS] = "`--run-l4-netlb-controller`",
        [GCE_KIND_NEGS_ONLY] = "`--enable-l4-standalone-negs`",
    };
    return strstr(row->when, "-legacy") != NULL ? "`--controllers=*,gke-service-lb-controller`"
                                                : flags[kind];
}

static const char *what_it_gets(const struct gce_decide_row *row)
{
    bool members = str_has_prefix(row->id, "members-");
    if (row->kind == GCE_KIND_NETLB_GROUPS && !members) {
        return "external, backend service";
    }
    if (row->kind == GCE_KIND_NONE) {
        return str_has_prefix(row->id, "gone") ? "what it has is deleted" : "nothing";
    }
    return gce_kind_text(row->kind);
}

static const char *decision_table(struct arena *a)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_appendf(&b, "\n| a Service that is | because | gets | served with | row |\n"
                    "|---|---|---|---|---|\n");
    for (size_t i = 0; i < ROW_MAX; i++) {
        const struct gce_decide_row *r = &gce_rows[i];
        str_appendf(&b, "| %s | %s | %s | %s | `%s` |\n", of_whom(r->id), cell(a, r->when),
                    what_it_gets(r), served_with(r), r->id);
    }
    str_appendf(&b, "\n");
    return str_buf_to_arena(&b, a);
}

static const char *flags_table(struct arena *a)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_appendf(&b, "\n| flag | default | effect |\n|---|---|---|\n");
    for (size_t i = 0; i < GCE_OPTION_COUNT; i++) {
        const struct tt_option *o = &gce_option_table[i];
        str_appendf(&b, "| `--%s` | %s | %s |\n", o->name,
                    *o->default_text == '\0' ? "–" : cell(a, o->default_text), cell(a, o->help));
    }
    str_appendf(&b, "\n");
    return str_buf_to_arena(&b, a);
}

static const char *metrics_table(struct arena *a)
{
    static const char *const types[] = {[TT_METRIC_COUNTER] = "counter",
                                        [TT_METRIC_GAUGE] = "gauge",
                                        [TT_METRIC_HISTOGRAM] = "histogram"};
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_appendf(&b, "\n| metric | type | labels | what it tells |\n|---|---|---|---|\n");
    for (size_t i = 0; i < GCE_METRICS_COUNT; i++) {
        const struct tt_metric *m = &gce_metrics[i];
        str_appendf(&b, "| `%s` | %s | %s | %s |\n", m->name, types[m->type],
                    m->n_labels > 0 ? str_join(a, m->labels, m->n_labels, ", ") : "–",
                    cell(a, m->help));
    }
    str_appendf(&b, "\n");
    return str_buf_to_arena(&b, a);
}

/* ---- the page -------------------------------------------------------------------------------- */

#define PAGE "providers/gce.md"

static void page__has_the_rows_of_the_decision(void **state)
{
    doc_page_check_table(*state, PAGE, "decision", decision_table(*state));
}

static void page__has_the_flags_of_the_table(void **state)
{
    doc_page_check_table(*state, PAGE, "flags", flags_table(*state));
}

static void page__has_the_metrics_of_the_table(void **state)
{
    doc_page_check_table(*state, PAGE, "metrics", metrics_table(*state));
}

/* gce-l4.md §7.6, gce-cloud-provider.md §14.1: names that upstream has and that are
 * not set here. */
static void page__says_why_a_metric_is_not_set(void **state)
{
    struct arena *a = *state;
    static const char *const names[] = {
        "l4_failed_healthcheck_count",
        "l4_controller_healthcheck",
        "l4_controllers_panics_count",
        "l4_standalone_neg_services_sync_duration_seconds",
        "l4_standalone_neg_services_count",
        "neg_controller_syncer_staleness",
        "neg_controller_endpointslice_staleness",
        "ccm_feature_gate_info",
    };
    const char *page = doc_page_read(a, PAGE);
    const char *rows = strstr(page, "| not set | why |");
    assert_non_null(rows);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strstr(rows, arena_printf(a, "`%s`", names[i])) == NULL) {
            fail_msg("the page does not say why %s is not set", names[i]);
        }
        for (size_t k = 0; k < GCE_METRICS_COUNT; k++) {
            assert_string_not_equal(gce_metrics[k].name, names[i]);
        }
    }
}

static bool is_known(const char *key)
{
    for (const char *const *known = gce_annotation_keys.known; *known != NULL; known++) {
        if (str_eq(*known, key)) {
            return true;
        }
    }
    return false;
}

/* In the page's tables: every key of an annotation is one that the provider knows, so that none
 * is reported as a slip. */
static void page__annotations_are_known_keys(void **state)
{
    struct arena *a = *state;
    size_t n;
    size_t found = 0;
    char **lines = str_split(a, doc_page_read(a, "providers/gce.md"), '\n', &n);
    for (size_t i = 0; i < n; i++) {
        size_t n_words;
        char **words = str_split(a, lines[i], '`', &n_words);
        for (size_t k = 1; str_has_prefix(lines[i], "| `") && k < n_words; k += 2) {
            bool key = (str_has_prefix(words[k], "networking.gke.io/") ||
                        str_has_prefix(words[k], "cloud.google.com/") ||
                        str_has_prefix(words[k], "service.beta.kubernetes.io/")) &&
                       !str_has_prefix(words[k], "networking.gke.io/l4-regional-") &&
                       !str_has_prefix(words[k], "networking.gke.io/standalone-") &&
                       strstr(words[k], "…") == NULL &&
                       strstr(lines[i], "| members |") == NULL; /* an annotation of nodes */
            found += key;
            if (key && !is_known(words[k])) {
                fail_msg("%s is on the page and not in gce_annotation_keys", words[k]);
            }
        }
    }
    assert_in_range(found, 15, 100);
}

/* Every known key is on the page. */
static void known_keys__are_on_the_page(void **state)
{
    struct arena *a = *state;
    const char *page = doc_page_read(a, "providers/gce.md");
    for (const char *const *known = gce_annotation_keys.known; *known != NULL; known++) {
        const char *last = strrchr(*known, '/') + 1;
        if (strchr(*known, '*') == NULL && strstr(page, *known) == NULL &&
            (strstr(page, arena_printf(a, "…/%s", last)) == NULL) &&
            !str_has_prefix(*known, "alpha.")) {
            fail_msg("%s is not on the page", *known);
        }
    }
}

UNIT_MAIN(docs)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(page__has_the_metrics_of_the_table),
        PURE_TEST(page__says_why_a_metric_is_not_set),
        PURE_TEST(page__annotations_are_known_keys),
        PURE_TEST(known_keys__are_on_the_page),
        PURE_TEST(page__has_the_rows_of_the_decision),
        PURE_TEST(page__has_the_flags_of_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
