/* SPDX-License-Identifier: Apache-2.0 */
/* test_docs.c: the annotations on the page of the provider are those of the table in the code.
 *
 * TRIMTAB_UPDATE_GOLDEN=1 writes the page's table again. */
#include "tests/unit/azure/azure_test.h"

#include "tests/support/doc_page.h"
#include "tests/support/unit.h"

static const char *cell(struct arena *a, const char *text)
{
    return str_replace(a, str_replace(a, text, "<", "&lt;"), "__", "\\_\\_");
}

static const char *table(struct arena *a)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_appendf(&b, "\n| annotation | values | without it | effect | a wrong value |\n"
                    "|---|---|---|---|---|\n");
    for (const struct azure_annotation *row = azure_annotation_table; row->name != NULL; row++) {
        str_appendf(&b, "| `%s` | %s | %s | %s | %s |\n", row->name, cell(a, row->values),
                    cell(a, row->initial), cell(a, row->effect), cell(a, row->invalid));
    }
    str_appendf(&b, "\n");
    return str_buf_to_arena(&b, a);
}

static void page__has_the_table_of_the_code(void **state)
{
    doc_page_check_table(*state, "providers/azure.md", "annotations", table(*state));
}

UNIT_MAIN(docs)
{
    const struct CMUnitTest tests[] = {PURE_TEST(page__has_the_table_of_the_code)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
