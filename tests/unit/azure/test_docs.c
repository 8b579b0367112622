/* SPDX-License-Identifier: Apache-2.0 */
/* test_docs.c: the annotations on the page of the provider are those of the table in the code.
 *
 * TRIMTAB_UPDATE_GOLDEN=1 writes the page's table anew. */
#include "tests/unit/azure/azure_test.h"

#include <stdio.h>
#include <stdlib.h>

#define PAGE  "/../../docs/providers/azure.md"
#define BEGIN "<!-- annotations: printed"
#define END   "<!-- annotations: end -->"

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

static const char *read_page(struct arena *a, const char *path)
{
    const size_t most = 65536;
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

static void page__has_the_table_of_the_code(void **state)
{
    struct arena *a = *state;
    const char *data = getenv("TRIMTAB_TEST_DATA");
    if (data == NULL) {
        skip();
    }
    const char *path = arena_printf(a, "%s" PAGE, data);
    const char *page = read_page(a, path);
    const char *begin = strstr(page, BEGIN);
    const char *end = strstr(page, END);
    assert_non_null(begin);
    assert_non_null(end);
    begin = strchr(begin, '\n') + 1;
    if (getenv("TRIMTAB_UPDATE_GOLDEN") != NULL) {
        write_page(path, arena_strndup(a, page, (size_t)(begin - page)), table(a), end);
        return;
    }
    same_text("docs/providers/azure.md", arena_strndup(a, begin, (size_t)(end - begin)), table(a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {PURE_TEST(page__has_the_table_of_the_code)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
