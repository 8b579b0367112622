/* SPDX-License-Identifier: Apache-2.0 */
/* test_docs.c: the annotations on the page of the provider are those of the tables in the code, and
 * its keys of the cloud-config, too.
 *
 * TRIMTAB_UPDATE_GOLDEN=1 writes the page's tables again. */
#include "providers/aws/model/aws_annotations.h"
#include "providers/aws/model/aws_config_keys.h"
#include "tests/support/doc_page.h"
#include "tests/support/unit.h"
#include "tests/unit/gce/pure.h"

static const char *cell(struct arena *a, const char *text)
{
    return str_replace(a, str_replace(a, text, "<", "&lt;"), "*", "\\*");
}

static const char *kinds(unsigned on)
{
    static const char *const words[] = {"–", "classic", "NLB", "both"};
    return words[on & (AWS_ON_CLASSIC | AWS_ON_NLB)];
}

static void page__has_the_annotations_of_the_code(void **state)
{
    struct arena *a = *state;
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_appendf(&b, "\n| annotation | on | values | without it | effect | a wrong value | a load "
                    "balancer that is there |\n|---|---|---|---|---|---|---|\n");
    for (const struct aws_annotation *row = aws_annotation_table; row->name != NULL; row++) {
        str_appendf(&b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", row->name, kinds(row->on),
                    cell(a, row->values), cell(a, row->initial), cell(a, row->effect),
                    cell(a, row->invalid), cell(a, row->change));
    }
    str_appendf(&b, "\n");
    doc_page_check_table(a, "providers/aws.md", "annotations", str_buf_text(&b));
}

static void page__has_what_only_the_other_controller_knows(void **state)
{
    struct arena *a = *state;
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_appendf(&b, "\n| annotation | meaning there |\n|---|---|\n");
    for (const struct aws_elsewhere *row = aws_elsewhere_table; row->name != NULL; row++) {
        str_appendf(&b, "| `%s` | %s |\n", row->name, cell(a, row->meaning));
    }
    str_appendf(&b, "\n");
    doc_page_check_table(a, "providers/aws.md", "elsewhere", str_buf_text(&b));
}

static void check_keys(struct arena *a, const char *page, const struct gcfg_key *keys)
{
    for (const struct gcfg_key *k = keys; k->key != NULL; k++) {
        if (strstr(page, arena_printf(a, "`%s`", k->key)) == NULL) {
            fail_msg("docs/providers/aws.md does not say what `%s` of [%s] does", k->key,
                     k->section);
        }
    }
}

static void page__names_every_key_of_the_cloud_config(void **state)
{
    struct arena *a = *state;
    const char *page = doc_page_read(a, "providers/aws.md");
    check_keys(a, page, aws_config_keys);
    check_keys(a, page, aws_override_keys);
}

UNIT_MAIN(docs)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(page__has_the_annotations_of_the_code),
        PURE_TEST(page__names_every_key_of_the_cloud_config),
        PURE_TEST(page__has_what_only_the_other_controller_knows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
