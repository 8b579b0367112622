/* SPDX-License-Identifier: Apache-2.0 */
/* doc_page.c: see doc_page.h. */
#include "tests/support/doc_page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/err.h"
#include "common/base/file.h"
#include "common/base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_MOST (1u << 20)

static const char *path_of(struct arena *a, const char *page)
{
    const char *data = getenv("TRIMTAB_TEST_DATA");
    if (data == NULL) {
        fail_msg("TRIMTAB_TEST_DATA must name tests/data; meson test sets it");
    }
    return arena_printf(a, "%s/../../docs/%s", data, page);
}

char *doc_page_read(struct arena *a, const char *page)
{
    char *text = NULL;
    size_t n;
    struct err err = ERR_INIT;
    if (file_read(a, path_of(a, page), PAGE_MOST, &text, &n, &err) != ERR_OK) {
        fail_msg("docs/%s: %s", page, err.message);
    }
    return text;
}

static void write_page(const char *path, const char *head, const char *table, const char *tail)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fprintf(f, "%s%s%s", head, table, tail) > 0);
    assert_int_equal(fclose(f), 0);
}

void doc_page_check_table(struct arena *a, const char *page, const char *name, const char *table)
{
    const char *text = doc_page_read(a, page);
    const char *begin = strstr(text, arena_printf(a, "<!-- %s: printed", name));
    const char *end = strstr(text, arena_printf(a, "<!-- %s: end -->", name));
    if (begin == NULL || end == NULL || (begin = strchr(begin, '\n')) == NULL || begin > end) {
        fail_msg("docs/%s has no table %s", page, name);
        return;
    }
    begin++;
    if (getenv("TRIMTAB_UPDATE_GOLDEN") != NULL) {
        write_page(path_of(a, page), arena_strndup(a, text, (size_t)(begin - text)), table, end);
        return;
    }
    const char *is = arena_strndup(a, begin, (size_t)(end - begin));
    if (!str_eq(is, table)) {
        fail_msg("docs/%s, table %s: it is\n%s\nand the code says\n%s", page, name, is, table);
    }
}
