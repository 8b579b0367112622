/* SPDX-License-Identifier: Apache-2.0 */
/* test_name_rules.c: names of Azure's things: legal ones pass, hostile ones are refused with field
 * and pattern, and the cloud-config confines what a Service may name. */
#include "tests/unit/azure/azure_test.h"

#include "providers/azure/model/azure_name_rules.h"
#include "tests/support/name_words.h"
#include "tests/support/unit.h"

#define ALNUM LOWER UPPER DIGITS

/* Of a Service with which every field counts. */
static int check(struct arena *a, const struct azure_config *c, const char *annotations,
                 bool stands, const struct tt_service *previous, struct err *err)
{
    const char *all = arena_printf(
        a, "{\"azure-load-balancer-internal\":\"true\",\"azure-pls-create\":\"true\",%s",
        annotations + 1);
    struct tt_service s = *azure_test_service(a, "s", all, NULL);
    struct azure_config basic = *c;
    basic.standard_sku = false;
    static const struct tt_ingress address = {.ip = "192.0.2.1"};
    s.ingress = stands ? &address : NULL;
    s.n_ingress = stands;
    err_clear(err);
    return azure_names_check(a, &basic, &s, previous, err);
}

/* Names that the kind of load balancer does not read hold no Service up. */
static void names__fields_that_nobody_reads__refuse_nothing(void **state)
{
    struct arena *a = *state;
    static const char *const rows[] = {
        "{\"azure-load-balancer-internal-subnet\":\"/subscriptions/a/b\"}",
        "{\"azure-load-balancer-mode\":\"a/b\"}", "{\"azure-pls-name\":\"a/b\"}",
        "{\"azure-pls-resource-group\":\"a/b\"}"};
    struct azure_config c = azure_test_config();
    c.standard_sku = true;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        assert_int_equal(
            azure_names_check(a, &c, azure_test_service(a, "s", rows[i], NULL), NULL, &err),
            ERR_OK);
    }
}

static void names__legal__pass(void **state)
{
    (void)state;
    static const struct {
        const char *field, *form;
        struct alphabet words;
    } kinds[] = {
        {"azure-pip-name", "%s", {ALNUM, ALNUM "_.-", ALNUM "_", 1, 80}},
        {"azure-load-balancer-resource-group",
         "%s",
         {ALNUM "_.()-", ALNUM "_.()-", ALNUM "_()-", 1, 90}},
        {"azure-load-balancer-mode", "__auto__,%s", {ALNUM, ALNUM "_.-", ALNUM "_", 1, 64}},
        {"azure-pip-prefix-id",
         "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/rg/providers/"
         "Microsoft.Network/publicIPPrefixes/%s",
         {ALNUM, ALNUM "_.-", ALNUM "_", 1, 80}},
        {"azure-dns-label-name", "%s", {LOWER, LOWER DIGITS "-", LOWER DIGITS, 3, 63}},
        {"azure-pls-fqdns", "a.example %s", {ALNUM, ALNUM "-.", ALNUM, 1, 200}},
        {"azure-pls-visibility", "* %s", {DIGITS "abcdef", DIGITS "abcdef-", DIGITS, 36, 36}},
        {"azure-allowed-service-tags", "Internet,%s", {UPPER, ALNUM ".", ALNUM, 1, 60}},
        {"azure-pip-tags", "a=b,%s=c", {ALNUM, ALNUM " _.:+@-", ALNUM, 1, 200}},
    };
    struct rng *r = rng_seeded_new(20);
    const struct azure_config c = azure_test_config();
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct arena *a = arena_new();
        char word[256];
        for (int i = 0; i < WORDS_PER_KIND; i++) {
            struct err err = ERR_INIT;
            arena_reset(a);
            const char *name = legal_name(r, &kinds[k].words, word);
            struct tt_kv kv = {arena_printf(a, AZURE_ANNOTATION_PREFIX "%s", kinds[k].field),
                               str_replace(a, kinds[k].form, "%s", name)};
            const struct tt_service s = {.annotations = &kv, .n_annotations = 1};
            if (azure_names_check(a, &c, &s, NULL, &err) != ERR_OK) {
                fail_msg("%s", err.message);
            }
        }
        arena_free(a);
    }
    rng_free(r);
}

static void names__recorded_worlds__pass_as_new(void **state)
{
    struct arena *a = *state;
    static const char *const worlds[] = {"azure/world-availability-sets.json",
                                         "azure/world-nic.json", "azure/world-node-ip.json",
                                         "fault/foreign-azure.json"};
    const struct azure_config c = azure_test_config();
    size_t seen = 0;
    for (size_t i = 0; i < ARRAY_LEN(worlds); i++) {
        const struct tt_service **all = NULL;
        size_t n = world_services(a, worlds[i], &all);
        for (size_t k = 0; k < n; k++, seen++) {
            struct err err = ERR_INIT;
            if (azure_names_check(a, &c, all[k], NULL, &err) != ERR_OK) {
                fail_msg("%s: %s: %s", worlds[i], all[k]->name, err.message);
            }
        }
    }
    assert_true(seen >= 24);
}

/* Names that Azure itself printed. */
static void names__recorded_clouds__hold_the_patterns(void **state)
{
    struct arena *a = *state;
    struct json_object *cloud = world_member(a, "azure/world-nic.json", "azure");
    size_t seen = 0;
    json_object_object_foreach(cloud, id, value)
    {
        (void)value;
        if (strstr(id, "/Microsoft.Network/") == NULL) {
            continue;
        }
        print_message("# %s\n", id);
        assert_true(name_rule_holds(azure_name_rule(AZURE_NAME_RESOURCE), azure_id_last(id)));
        assert_true(name_rule_holds(azure_name_rule(AZURE_NAME_GROUP), azure_id_group(a, id)));
        seen++;
    }
    assert_true(seen >= 10);
}

/* The sentence names field and pattern, whether the Service is new or stands. */
static void names__hostile__refused_in_every_field(void **state)
{
    struct arena *a = *state;
    static const char *const fields[] = {
        "azure-load-balancer-internal-subnet",
        "azure-load-balancer-resource-group",
        "azure-load-balancer-mode",
        "azure-pip-name",
        "azure-pip-name-ipv6",
        "azure-pip-prefix-id",
        "azure-pip-prefix-id-ipv6",
        "azure-pip-tags",
        "azure-pip-ip-tags",
        "azure-dns-label-name",
        "azure-allowed-service-tags",
        "azure-pls-resource-group",
        "azure-pls-name",
        "azure-pls-ip-configuration-subnet",
        "azure-pls-fqdns",
        "azure-pls-visibility",
        "azure-pls-auto-approval",
    };
    static const char *const texts[] = {
        "rg/../../1111", "rg/..?$expand=", "x#", "x?y=", "../../networkSecurityGroups/nsg",
        "a%2fb"};
    const struct azure_config c = azure_test_config();
    for (size_t f = 0; f < ARRAY_LEN(fields); f++) {
        for (size_t t = 0; t < ARRAY_LEN(texts); t++) {
            bool pair =
                str_has_suffix(fields[f], "pip-tags") || str_has_suffix(fields[f], "pip-ip-tags");
            const char *name = pair ? str_replace(a, texts[t], "=", "") : texts[t];
            const char *json =
                arena_printf(a, pair ? "{\"%s\":\"k/%s=v\"}" : "{\"%s\":\"%s\"}", fields[f], name);
            for (int stands = 0; stands < 2; stands++) {
                struct err err = ERR_INIT;
                assert_int_equal(check(a, &c, json, stands, NULL, &err), ERR_INVALID);
                assert_non_null(strstr(err.message, fields[f]));
                assert_non_null(strstr(err.message, ": want "));
            }
        }
    }
}

static void names__odd_but_harmless__only_a_new_one_is_refused(void **state)
{
    struct arena *a = *state;
    static const char odd[] = "{\"azure-pip-name\":\"my ip (old)\"}";
    const struct azure_config c = azure_test_config();
    struct err err = ERR_INIT;
    const struct tt_service *same = azure_test_service(a, "s", odd, NULL);
    const struct tt_service *other =
        azure_test_service(a, "s", "{\"azure-pip-name\":\"ip\"}", NULL);
    assert_int_equal(check(a, &c, odd, false, NULL, &err), ERR_INVALID);
    assert_string_equal(err.message,
                        "annotation service.beta.kubernetes.io/azure-pip-name: \"my ip (old)\": "
                        "want the name of a network resource (1 to 80 letters, digits, '_', '.' "
                        "and '-'; begins with a letter or digit, ends with one or '_')");
    assert_int_equal(check(a, &c, odd, true, NULL, &err), ERR_OK);
    assert_int_equal(check(a, &c, odd, true, same, &err), ERR_OK);
    assert_int_equal(check(a, &c, odd, true, other, &err), ERR_INVALID);
}

#define PREFIX_OF(subscription, group)                                                             \
    "{\"azure-pip-prefix-id\":\"/subscriptions/" subscription "/resourceGroups/" group             \
    "/providers/Microsoft.Network/publicIPPrefixes/p\"}"

static void names__allowed_lists__confine(void **state)
{
    struct arena *a = *state;
    static const char *const group[] = {"Shared"};
    static const char *const subscription[] = {"aaaa-1"};
    static const struct {
        const char *annotations;
        const char *key; /* that refuses it when both lists are there; NULL: allowed */
    } rows[] = {
        {"{\"azure-load-balancer-resource-group\":\"shared\"}", NULL},
        {"{\"azure-load-balancer-resource-group\":\"RG\"}", NULL}, /* the cluster's own */
        {"{\"azure-load-balancer-resource-group\":\"theirs\"}", "allowedResourceGroups"},
        {"{\"azure-pls-resource-group\":\"theirs\"}", "allowedResourceGroups"},
        {PREFIX_OF("AAAA-1", "shared"), NULL},
        {PREFIX_OF("subscription", "rg"), NULL},
        {PREFIX_OF("bbbb-2", "rg"), "allowedSubscriptions"},
        {PREFIX_OF("aaaa-1", "theirs"), "allowedResourceGroups"},
        {"{\"azure-pls-visibility\":\"aaaa-1\"}", NULL},
        {"{\"azure-pls-visibility\":\"aaaa-1 bbbb-2\"}", "allowedSubscriptions"},
        {"{\"azure-pls-visibility\":\"*\"}", "allowedSubscriptions"},
        {"{\"azure-pls-auto-approval\":\"bbbb-2\"}", "allowedSubscriptions"},
        {"{\"azure-pls-visibility\":\" \"}", NULL},
    };
    struct azure_config c = azure_test_config();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        print_message("# %s\n", rows[i].annotations);
        c.allowed_groups = (struct name_list){0};
        c.allowed_subscriptions = (struct name_list){0};
        assert_int_equal(check(a, &c, rows[i].annotations, false, NULL, &err), ERR_OK);
        c.allowed_groups = (struct name_list){group, 1, true};
        c.allowed_subscriptions = (struct name_list){subscription, 1, true};
        for (int stands = 0; stands < 2; stands++) {
            int rc = check(a, &c, rows[i].annotations, stands, NULL, &err);
            assert_int_equal(rc, rows[i].key == NULL ? ERR_OK : ERR_INVALID);
            assert_true(rows[i].key == NULL || strstr(err.message, rows[i].key) != NULL);
        }
    }
}

/* A name with a line feed behind it, as a block of YAML leaves it, counts as absent where it is
 * read: the Service would get another public IP than the one that it names. */
static void names__blanks_around__refused_where_they_would_be_sent(void **state)
{
    struct arena *a = *state;
    static const char *const fields[] = {"azure-pip-name", "azure-pip-name-ipv6",
                                         "azure-dns-label-name", "azure-pip-prefix-id"};
    static const char *const texts[] = {"web\\n", "web ", "  "};
    const struct azure_config c = azure_test_config();
    for (size_t f = 0; f < ARRAY_LEN(fields); f++) {
        for (size_t t = 0; t < ARRAY_LEN(texts); t++) {
            struct err err = ERR_INIT;
            const char *json = arena_printf(a, "{\"%s\":\"%s\"}", fields[f], texts[t]);
            print_message("# %s\n", json);
            assert_int_equal(check(a, &c, json, false, NULL, &err), ERR_INVALID);
            assert_non_null(strstr(err.message, fields[f]));
        }
    }
    struct err err = ERR_INIT;
    assert_int_equal(check(a, &c, "{\"azure-pls-name\":\"web\\n\"}", false, NULL, &err), ERR_OK);
}

/* A Service that goes is cleaned up whatever it says: what is impossible counts as absent. */
static void service__impossible_names__count_as_absent(void **state)
{
    struct arena *a = *state;
    struct azure_config c = azure_test_config();
    const struct azure_naming n = {.config = &c, .cluster = "kubernetes"};
    const struct azure_service *s = azure_service_read(
        a, &n,
        azure_test_service(a, "s",
                           "{\"azure-load-balancer-internal\":\"true\","
                           "\"azure-load-balancer-internal-subnet\":\"a/../b\","
                           "\"azure-load-balancer-resource-group\":\"rg/../../1111\","
                           "\"azure-pip-name\":\"..\",\"azure-pip-prefix-id\":\"/a/../b?c\","
                           "\"azure-pls-resource-group\":\"rg?x=\",\"azure-pls-name\":\"../nsg\","
                           "\"azure-pls-ip-configuration-subnet\":\"x#\"}",
                           NULL));
    same_text("subnet", s->subnet, NULL);
    same_text("group", s->pip_group, "rg");
    same_text("public IP", s->pip_name[AZURE_IPV4], NULL);
    same_text("prefix", s->pip_prefix_id[AZURE_IPV4], NULL);
    same_text("link's group", s->pls_group, "rg");
    same_text("link", s->pls_name, NULL);
    same_text("link's subnet", s->pls_subnet, NULL);
}

UNIT_MAIN(name_rules)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names__legal__pass),
        PURE_TEST(names__recorded_worlds__pass_as_new),
        PURE_TEST(names__recorded_clouds__hold_the_patterns),
        PURE_TEST(names__fields_that_nobody_reads__refuse_nothing),
        PURE_TEST(names__hostile__refused_in_every_field),
        PURE_TEST(names__odd_but_harmless__only_a_new_one_is_refused),
        PURE_TEST(names__allowed_lists__confine),
        PURE_TEST(names__blanks_around__refused_where_they_would_be_sent),
        PURE_TEST(service__impossible_names__count_as_absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
