/* SPDX-License-Identifier: Apache-2.0 */
/* test_tags.c: tags; rows T-01 to T-13 of the Azure specification. */
#include "tests/unit/azure/azure_test.h"

#include "providers/azure/model/azure_tags_rules.h"
#include "tests/support/unit.h"

/* "a=b,c=d" as an object; a value may hold anything but ','. */
static struct json_object *tags_object(struct arena *a, const char *text)
{
    struct azure_tags tags = azure_tags_parse(a, text, NULL, 0);
    struct str_buf b = STR_BUF_INIT;
    str_append(&b, "{");
    for (size_t i = 0; i < tags.n; i++) {
        str_appendf(&b, "%s\"%s\":\"%s\"", i == 0 ? "" : ",", tags.items[i].key,
                    tags.items[i].value);
    }
    str_append(&b, "}");
    struct json_object *o = pure_json(a, str_buf_text(&b));
    str_buf_done(&b);
    return o;
}

static void same_tags(struct arena *a, const char *row, struct json_object *got, const char *want)
{
    same_text(row, json_text(a, got, JSON_SORTED), json_text(a, tags_object(a, want), JSON_SORTED));
}

static void merge__T_01_to_T_09(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *current, *wanted, *system, *want;
        bool changed;
    } rows[] = {
        {"T-01", "a=b", "a=c,b=d", "", "a=c,b=d", true},
        {"T-02", "a=b,c=d", "a=c", "a, b", "a=c", true},
        {"T-03", "A=b,c=d", "a=b,C=d", "", "A=b,c=d", false},
        {"T-04", "A=b,c=d", "a=B,C=D", "", "A=b,c=d", false},
        {"T-05", "a=b,c=d", "a=c", "A, b", "a=c", true},
        {"T-06", "prefix-a=b,c=d", "", "prefix", "prefix-a=b", true},
        {"T-06", "prefix-a=b,c=d", "", "PrEFiX", "prefix-a=b", true},
        {"T-07", "prefix-a=b,sys-b=c", "", "prefix, sys", "prefix-a=b,sys-b=c", false},
        {"T-08", "aks-managed-cluster-name=x,aks-managed-cluster-rg=y", "", "aks-managed",
         "aks-managed-cluster-name=x,aks-managed-cluster-rg=y", false},
        {"T-09", "a=b,c=d,h=i", "c=e,f=g", "a,x,y,z", "a=b,c=e,f=g", true},
        {"18.10", "a=1", "A=1", "zzz", "a=1", false},
        {"18.10", "a=1", "A=2", "zzz", "a=2", true},
        {"18.10", "a=b,c=d", "", "a,", "a=b", true},
        {"18.10", "a=b,c=d", "", " ,", "a=b,c=d", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct json_object *tags = tags_object(a, rows[i].current);
        struct azure_tags wanted = azure_tags_parse(a, rows[i].wanted, NULL, 0);
        bool changed = azure_tags_merge(a, tags, &wanted, rows[i].system);
        same_tags(a, rows[i].row, tags, rows[i].want);
        if (changed != rows[i].changed) {
            fail_msg("%s: changed is %d", rows[i].row, changed);
        }
    }
}

static void parse__T_10_to_T_13(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *text;
        struct azure_kv map[2];
        const char *want;
    } rows[] = {
        {"T-10", "a=b, c=d", {{"e", "f"}, {"g", "h"}}, "a=b;c=d;e=f;g=h;"},
        {"T-11", "A=e, C=f", {{"a", "b"}, {"c", "d"}}, "a=b;c=d;"},
        {"T-12", "a=b, c=Null , d= null", {{"", ""}, {"", ""}}, "a=b;c=Null ;d= null;"},
        {"T-13", "a=b, c= d , d= e", {{"x", " y "}, {" ", "z"}}, "a=b;c=d;d=e;x=y;"},
        {"6.12", "a=b=c,d,=e,f=", {{"", ""}, {"", ""}}, "f=;"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct azure_tags tags = azure_tags_parse(a, rows[i].text, rows[i].map, 2);
        const char *got = "";
        for (size_t k = 0; k < tags.n; k++) {
            got = arena_printf(a, "%s%s=%s;", got, tags.items[k].key, tags.items[k].value);
        }
        same_text(rows[i].row, got, rows[i].want);
    }
}

static void apply__nothing_configured__document_is_not_touched(void **state)
{
    struct arena *a = *state;
    struct azure_config c = azure_test_config();
    struct json_object *doc = pure_json(a, "{\"name\":\"lb\"}");
    c.system_tags = "sys";
    assert_false(azure_tags_apply_config(a, doc, &c));
    same_text("untouched", json_text(a, doc, JSON_COMPACT), "{\"name\":\"lb\"}");
    c.tags = "owner=me";
    assert_true(azure_tags_apply_config(a, doc, &c));
    assert_false(azure_tags_apply_config(a, doc, &c));
    same_text("OWNER", azure_tag(doc, "OWNER"), "me");
    same_text("absent", azure_tag(doc, "other"), NULL);
}

UNIT_MAIN(tags)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(merge__T_01_to_T_09),
        PURE_TEST(parse__T_10_to_T_13),
        PURE_TEST(apply__nothing_configured__document_is_not_touched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
