/* SPDX-License-Identifier: Apache-2.0 */
/* test_docs.c: the page docs/providers/local-config.md names every key of the configuration and
 * every annotation, and no other; its example is read without a finding. */
#include "providers/local/model/config_internal.h"
#include "providers/local/model/wish.h"
#include "tests/support/doc_page.h"
#include "tests/unit/local/model/model_test.h"

#include "common/base/strset.h"

#define PAGE "providers/local-config.md"
#define MAX  100

/* The text between two markers of the page. */
static const char *between(struct arena *a, const char *begin, const char *end)
{
    const char *page = doc_page_read(a, PAGE);
    const char *from = strstr(page, begin);
    const char *to = from == NULL ? NULL : strstr(from + strlen(begin), end);
    if (to == NULL) {
        fail_msg("%s has no part between %s and %s", PAGE, begin, end);
        return "";
    }
    from += strlen(begin);
    return arena_strndup(a, from, (size_t)(to - from));
}

/* Texts between backquotes in the cells of a column, 1 is the first; `first_only`: one of each
 * cell. */
static struct str_set cells(struct arena *a, const char *name, size_t column, bool first_only)
{
    const char *items[MAX];
    size_t n_items = 0;
    size_t n_rows;
    const char *text = between(a, arena_printf(a, "<!-- %s: begin -->", name),
                               arena_printf(a, "<!-- %s: end -->", name));
    char **rows = str_split(a, text, '\n', &n_rows);
    for (size_t i = 3; i < n_rows; i++) { /* a line feed, the head, the rule */
        size_t n_cells;
        size_t n_pieces;
        char **row = str_split(a, rows[i], '|', &n_cells);
        char **pieces = str_split(a, n_cells > column ? row[column] : "", '`', &n_pieces);
        for (size_t k = 1; k < n_pieces && (k == 1 || !first_only); k += 2) {
            assert_true(n_items < MAX);
            items[n_items++] = pieces[k];
        }
    }
    return str_set_dup(a, items, n_items);
}

static void expect_same(struct arena *a, const char *what, const struct str_set *page,
                        const struct str_set *code)
{
    struct str_set missing = str_set_minus(a, code, page);
    struct str_set unknown = str_set_minus(a, page, code);
    if (missing.n + unknown.n > 0) {
        fail_msg("%s: missing on the page: %s; not in the code: %s", what,
                 str_set_text(a, &missing, ", "), str_set_text(a, &unknown, ", "));
    }
}

static void page__sections__keys_of_the_code(void **state)
{
    static const struct {
        const char *name;
        const struct local_cfg_field *fields;
    } sections[] = {{"top", local_cfg_top_fields},
                    {"pools", local_cfg_pool_fields},
                    {"director", local_cfg_director_fields},
                    {"checks", local_cfg_check_fields}};
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
        const char *keys[MAX];
        size_t n = 0;
        for (const struct local_cfg_field *f = sections[i].fields; f->key != NULL; f++) {
            keys[n++] = f->key;
        }
        struct str_set code = str_set_make(a, keys, n);
        struct str_set page = cells(a, sections[i].name, 1, true);
        expect_same(a, sections[i].name, &page, &code);
    }
}

static void page__annotations__keys_of_the_code(void **state)
{
    struct arena *a = *state;
    const char *keys[MAX];
    size_t n = 0;
    for (const char *const *k = local_annotation_keys.known; *k != NULL; k++) {
        keys[n++] = *k + strlen(LOCAL_PREFIX);
    }
    struct str_set code = str_set_make(a, keys, n);
    struct str_set page = cells(a, "annotations", 1, true);
    expect_same(a, "own annotations", &page, &code);

    n = 0;
    for (const char *const *k = local_wish_annotations + 1; *k != NULL; k++) {
        keys[n++] = *k;
    }
    code = str_set_make(a, keys, n);
    struct str_set all = cells(a, "annotations", 2, false);
    const char *foreign[MAX];
    n = 0;
    for (size_t i = 0; i < all.n; i++) {
        if (strchr(all.items[i], '/') != NULL) { /* else a field, or a word of ours */
            foreign[n++] = all.items[i];
        }
    }
    page = str_set_make(a, foreign, n);
    expect_same(a, "annotations of others", &page, &code);
}

static void page__example__is_read(void **state)
{
    const char *text = between(*state, "```yaml\n", "```");
    assert_string_equal(findings_text(*state, text, NULL, NULL), "");
}

UNIT_MAIN(docs)
{
    const struct CMUnitTest tests[] = {
        model_test(page__sections__keys_of_the_code),
        model_test(page__annotations__keys_of_the_code),
        model_test(page__example__is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
