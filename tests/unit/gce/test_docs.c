/* SPDX-License-Identifier: Apache-2.0 */
/* test_docs.c: two tables on the page of the provider are those of the code: the rows of the decision, and the
 * flags.
 *
 * TRIMTAB_UPDATE_GOLDEN=1 writes the page's tables anew. */
#include "tests/unit/gce/pure.h"

#include "providers/gce/gce_decide.h"
#include "providers/gce/gce_options.h"

#include <stdio.h>
#include <stdlib.h>

#define PAGE "/../../docs/providers/gce.md"

/* ---- tables -------------------------------------------------------------------------------------- */

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
        {"rule-", "without a class"},
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

static const char *served_with(enum gce_kind kind)
{
    static const char *const flags[GCE_KIND_MAX] = {
        [GCE_KIND_NONE] = "–",
        [GCE_KIND_TARGET_POOL] = "unless `--controllers=-service-lb-controller`",
        [GCE_KIND_ILB_GROUPS] = "unless `--controllers=-service-lb-controller`",
        [GCE_KIND_ILB_NEGS] = "`--run-l4-controller`",
        [GCE_KIND_NETLB_GROUPS] = "`--run-l4-netlb-controller`",
        [GCE_KIND_NETLB_NEGS] = "`--run-l4-netlb-controller`",
        [GCE_KIND_NEGS_ONLY] = "not in this version",
    };
    return flags[kind];
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
    size_t n;
    const struct gce_decide_row *rows = gce_decide_rows(&n);
    str_appendf(&b, "\n| a Service that is | because | gets | served with | row |\n"
                    "|---|---|---|---|---|\n");
    for (size_t i = 0; i < n; i++) {
        str_appendf(&b, "| %s | %s | %s | %s | `%s` |\n", of_whom(rows[i].id),
                    cell(a, rows[i].when), what_it_gets(&rows[i]), served_with(rows[i].kind),
                    rows[i].id);
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

/* ---- the page ------------------------------------------------------------------------------------ */

static const char *read_page(struct arena *a, const char *path)
{
    const size_t most = 131072;
    char *text = ARENA_ARRAY(a, char, most);
    FILE *f = fopen(path, "r");
    if (f == NULL) {
        fail_msg("%s cannot be read", path);
        return NULL;
    }
    size_t n = fread(text, 1, most - 1, f);
    assert_int_equal(fclose(f), 0);
    assert_true(n < most - 1);
    return text;
}

static void write_page(const char *path, const char *head, const char *rows, const char *tail)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fprintf(f, "%s%s%s", head, rows, tail) > 0);
    assert_int_equal(fclose(f), 0);
}

static void check_table(struct arena *a, const char *name, const char *table)
{
    const char *data = getenv("TRIMTAB_TEST_DATA");
    if (data == NULL) {
        skip();
    }
    const char *path = arena_printf(a, "%s" PAGE, data);
    const char *page = read_page(a, path);
    const char *begin = strstr(page, arena_printf(a, "<!-- %s: printed", name));
    const char *end = strstr(page, arena_printf(a, "<!-- %s: end -->", name));
    assert_non_null(begin);
    assert_non_null(end);
    begin = strchr(begin, '\n') + 1;
    if (getenv("TRIMTAB_UPDATE_GOLDEN") != NULL) {
        write_page(path, arena_strndup(a, page, (size_t)(begin - page)), table, end);
        return;
    }
    same_text("docs/providers/gce.md", arena_strndup(a, begin, (size_t)(end - begin)), table);
}

static void page__has_the_rows_of_the_decision(void **state)
{
    check_table(*state, "decision", decision_table(*state));
}

static void page__has_the_flags_of_the_table(void **state)
{
    check_table(*state, "flags", flags_table(*state));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(page__has_the_rows_of_the_decision),
        PURE_TEST(page__has_the_flags_of_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
