/* SPDX-License-Identifier: Apache-2.0 */
/* test_stages_going.c: a Service goes by what stands in the cloud.  Its annotations may have been
 * edited since it was made:  to names that cannot be, to other names, to another side; and the
 * process that takes it down has not seen it before.  Under the real driver with a cloud in memory
 * (stage_rig.h). */
#include "tests/unit/azure/stage_rig.h"

#include "providers/azure/model/azure_doc.h"
#include "tests/support/unit.h"

#define INTERNAL "\"azure-load-balancer-internal\":\"true\""
#define LINK     "\"azure-pls-create\":\"true\""
#define GROUP    "\"azure-load-balancer-resource-group\":"
#define PLS      "\"azure-pls-resource-group\":"

/* Everything of the cloud in whose document the Service's name stands. */
static const char *left(struct stage_rig *r)
{
    static const enum azure_kind kinds[] = {AZURE_LBS, AZURE_PIPS, AZURE_NSGS, AZURE_PLSS};
    const char *out = "";
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct json_object *o;
        AZURE_EACH (o, r->docs.lists[kinds[i]]) {
            const char *text = json_text(r->a, o, JSON_COMPACT);
            if (strstr(text, "aweb") != NULL || strstr(text, "default/web") != NULL) {
                out = arena_printf(r->a, "%s%s %s\n", out, azure_arm_word(kinds[i]),
                                   azure_doc_name(o));
            }
        }
    }
    return out;
}

static void edited_and_gone__nothing_is_left(void **state)
{
    static const char *const made[] = {
        "{}",
        "{" INTERNAL "}",
        "{" GROUP "\"shop\"}",
        "{" INTERNAL "," LINK "}",
        "{" INTERNAL "," LINK ",\"azure-pls-name\":\"links\"}",
        "{" INTERNAL "," LINK "," PLS "\"shop\"}",
    };
    static const char *const edited[] = {
        "{}",
        "{" INTERNAL "}",
        "{" GROUP "\"rg?api-version=1\"," PLS "\"rg?a\"}",
        "{" GROUP "\"#\"," PLS "\"#\"}",
        "{" GROUP "\"/subscriptions/s/resourceGroups/rg\"," PLS
        "\"/subscriptions/s/resourceGroups/rg\"}",
        "{" GROUP "\"another\"," PLS "\"another\"}",
        "{" GROUP "\"\"," PLS "\" \"}",
        "{" INTERNAL "," LINK "," PLS "\"another\",\"azure-pls-name\":\"other\"}",
        "{" INTERNAL "," LINK ",\"azure-pls-name\":\"a/b?c\"}",
        "{\"azure-pip-name\":\"nowhere\"}",
        "{\"azure-pip-name\":\"a/../b\",\"azure-pip-prefix-id\":\"/a/../b?c\"}",
        "{\"azure-load-balancer-ipv4\":\"20.9.9.9\"}",
        "{\"azure-load-balancer-ipv4\":\"garbage\"}",
        "{" INTERNAL ",\"azure-load-balancer-internal-subnet\":\"a/../b\"}",
        "{" INTERNAL ",\"azure-load-balancer-internal-subnet\":\"nowhere\"}",
        "{\"azure-load-balancer-mode\":\"a/b\",\"azure-load-balancer-configurations\":\"none\"}",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(made) * ARRAY_LEN(edited); i++) {
        struct stage_rig *r = stage_rig_new();
        struct rig_service *web = stage_rig_add(r, "web", made[i / ARRAY_LEN(edited)], NULL);
        stage_rig_run(r);
        succeeded(web);
        web->annotations = edited[i % ARRAY_LEN(edited)];
        web->verb = TT_VERB_DELETE;
        stage_rig_run(r);
        const char *row = arena_printf(r->a, "made %s, then %s", made[i / ARRAY_LEN(edited)],
                                       edited[i % ARRAY_LEN(edited)]);
        same_text(row, web->message, "");
        same_text(row, left(r), "");
        stage_rig_free(r);
    }
}

/* The Service goes on: what an edit stops needing goes with it, also from another group, and also
 * with a process that has not seen the edit. */
static void edited_and_stays__nothing_of_before_is_left(void **state)
{
    static const struct {
        const char *before, *after, *pips, *links;
    } rows[] = {
        {"{}", "{" GROUP "\"shop\"}", "kubernetes-aweb", ""},
        {"{" GROUP "\"shop\"}", "{}", "kubernetes-aweb", ""},
        {"{" GROUP "\"shop\"}", "{" GROUP "\"another\"}", "kubernetes-aweb", ""},
        {"{" GROUP "\"shop\"}", "{" INTERNAL "}", "", ""},
        {"{" GROUP "\"shop\"}", "{" GROUP "\"another\"," INTERNAL "}", "", ""},
        {"{" INTERNAL "," LINK "}", "{" INTERNAL "," LINK "," PLS "\"shop\"}", "", "pls-aweb"},
        {"{" INTERNAL "," LINK "," PLS "\"shop\"}", "{" INTERNAL "," LINK "}", "", "pls-aweb"},
        {"{" INTERNAL "," LINK "," PLS "\"shop\"}", "{" INTERNAL "}", "", ""},
        {"{" INTERNAL "," LINK "," PLS "\"shop\"}", "{}", "kubernetes-aweb", ""},
        {"{" INTERNAL "," LINK ",\"azure-pls-name\":\"links\"}", "{}", "kubernetes-aweb", ""},
    };
    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
        bool known = i % 2 == 1;
        struct stage_rig *r = stage_rig_new();
        struct rig_service *web = stage_rig_add(r, "web", rows[i / 2].before, NULL);
        stage_rig_run(r);
        succeeded(web);
        web->annotations = rows[i / 2].after;
        web->before = known ? rows[i / 2].before : NULL;
        web->flags = TT_ITEM_MADE;
        web->verb = TT_VERB_ENSURE;
        stage_rig_run(r);
        const char *row = arena_printf(r->a, "%s, then %s", rows[i / 2].before, rows[i / 2].after);
        same_text(row, web->message, "");
        same_text(row, stage_rig_names(r, AZURE_PIPS), rows[i / 2].pips);
        same_text(row, stage_rig_names(r, AZURE_PLSS), rows[i / 2].links);
        if (rows[i / 2].links[0] != '\0') { /* it stays in the group where it was made */
            same_text(row, str_nonnull(r->events), "web AnnotationIgnored\n");
        }
        stage_rig_settled(r);
        stage_rig_free(r);
    }
}

/* The cloud's documents, the one public IP without tags. */
static void strip_tags(struct stage_rig *r, const char *pip)
{
    struct json_object *doc = azure_copy(r->a, stage_rig_doc(r, AZURE_PIPS, pip));
    json_object_object_del(doc, "tags");
    (void)stage_rig_put(r, AZURE_PIPS, json_text(r->a, doc, JSON_COMPACT));
}

static void public_ip_without_tags__goes_by_its_name(void **state)
{
    static const char *const specs[] = {
        NULL,
        "\"ipFamilies\":[\"IPv6\"],\"ports\":[{\"port\":80,\"nodePort\":30080}]",
    };
    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_LEN(specs); i++) {
        struct stage_rig *r = stage_rig_new();
        struct rig_service *web = stage_rig_add(r, "web", NULL, specs[i / 2]);
        (void)ADD(r, "api");
        stage_rig_run(r);
        strip_tags(r, "kubernetes-aweb");
        if (i % 2 == 1) { /* it is served on meanwhile */
            web->verb = TT_VERB_ENSURE;
            stage_rig_run(r);
            succeeded(web);
            written(r, "");
        }
        web->verb = TT_VERB_DELETE;
        stage_rig_run(r);
        succeeded(web);
        same_text("left", left(r), "");
        same_text("the other's", stage_rig_names(r, AZURE_PIPS), "kubernetes-aapi");
        stage_rig_free(r);
    }
}

/* A person made it, and the Service names it. */
static void public_ip_of_the_user__stays(void **state)
{
    struct stage_rig *r = *state;
    (void)stage_rig_put(r, AZURE_PIPS,
                        "{\"name\":\"kubernetes-aweb\",\"sku\":{\"name\":\"Standard\"},"
                        "\"properties\":{\"ipAddress\":\"20.9.9.9\","
                        "\"publicIPAddressVersion\":\"IPv4\"}}");
    struct rig_service *web =
        stage_rig_add(r, "web", "{\"azure-pip-name\":\"kubernetes-aweb\"}", NULL);
    stage_rig_run(r);
    succeeded(web);
    web->verb = TT_VERB_DELETE;
    stage_rig_run(r);
    succeeded(web);
    same_text("stays", stage_rig_names(r, AZURE_PIPS), "kubernetes-aweb");
}

/* ---- a Service that came back with the same name --------------------------------------------- */

/* Service default/web with the UID "old": its parts are called "aold". */
static struct rig_service *add_old(struct stage_rig *r, const char *annotations)
{
    struct tt_service *old = ARENA_NEW(r->a, struct tt_service);
    *old = *azure_test_service(r->a, "web", annotations,
                               "\"ports\":[{\"port\":443,\"nodePort\":30443}]");
    old->uid = "old";
    struct rig_service *s = ADD(r, "web");
    s->given = old;
    return s;
}

static const char *frontends(struct stage_rig *r)
{
    return stage_rig_elements(r, "kubernetes", "frontendIPConfigurations");
}

/* The one of before was never deleted: what is named after its UID is not the new one's to take
 * away, though tags say "default/web" on it. */
static void namesake_comes__nothing_of_the_old_one_is_touched(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *old = add_old(r, NULL);
    stage_rig_run(r);
    same_text("old", old->status, "20.0.0.1");
    old->gone = true;
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    succeeded(web);
    same_text("new", web->status, "20.0.0.2");
    same_text("addresses", stage_rig_names(r, AZURE_PIPS), "kubernetes-aold kubernetes-aweb");
    same_text("frontends", frontends(r), "aold aweb");
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    written(r, ""); /* nor is it tried again with each sync */
}

static void old_one_goes__its_namesake_stays_as_it_is(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *old = add_old(r, NULL);
    stage_rig_run(r);
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    succeeded(web);
    old->verb = TT_VERB_DELETE;
    stage_rig_run(r);
    succeeded(old);
    same_text("addresses", stage_rig_names(r, AZURE_PIPS), "kubernetes-aweb");
    same_text("frontends", frontends(r), "aweb");
    same_text("security rules", stage_rig_rules(r), "80>20.0.0.2");
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    written(r, "");
    same_text("status", web->status, "20.0.0.2");
}

/* An address of a third Service, which both share: the tag names "default/web" once, and the new
 * one continues to use it. */
static void old_one_goes__shared_address_stays_open_for_its_namesake(void **state)
{
    static const char pinned[] = "{\"azure-load-balancer-ipv4\":\"20.0.0.1\"}";
    struct stage_rig *r = *state;
    (void)stage_rig_add(r, "api", NULL, "\"ports\":[{\"port\":22,\"nodePort\":30022}]");
    stage_rig_run(r);
    struct rig_service *old = add_old(r, pinned);
    stage_rig_run(r);
    succeeded(old);
    struct rig_service *web = stage_rig_add(r, "web", pinned, NULL);
    stage_rig_run(r);
    succeeded(web);
    old->verb = TT_VERB_DELETE;
    stage_rig_run(r);
    succeeded(old);
    same_text("security rules", stage_rig_rules(r), "22>20.0.0.1 80>20.0.0.1");
    same_text("tag",
              json_str(json_member(stage_rig_doc(r, AZURE_PIPS, "kubernetes-aapi"), "tags"),
                       "k8s-azure-service"),
              "default/api,default/web");
    web->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
    written(r, "");
}

/* The list may lag behind: a frontend or another Service that it does not show has the address. */
static void public_ip_in_use__looked_at_and_deleted_once_more(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    (void)ADD(r, "api");
    stage_rig_run(r);
    web->verb = TT_VERB_DELETE;
    stage_rig_fail_once(r, "kubernetes-aweb", ERR_IN_USE);
    r->asked = "";
    stage_rig_run(r);
    succeeded(web);
    same_text("public IPs", stage_rig_names(r, AZURE_PIPS), "kubernetes-aapi");
    assert_non_null(strstr(r->asked, "release: public IP address\n"));
    assert_non_null(strstr(r->log, "release: delete public IP address kubernetes-aweb [web]\n"
                                   "release: delete public IP address kubernetes-aweb [web]\n"));
}

/* It is in use after all: it stays, and the Service goes. */
static void public_ip_in_use_twice__stays(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    stage_rig_run(r);
    web->verb = TT_VERB_DELETE;
    stage_rig_fail_once(r, "kubernetes-aweb", ERR_IN_USE);
    r->fail_times = 2;
    stage_rig_run(r);
    succeeded(web);
    same_text("public IPs", stage_rig_names(r, AZURE_PIPS), "kubernetes-aweb");
}

UNIT_MAIN(stages_going)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edited_and_stays__nothing_of_before_is_left),
        cmocka_unit_test(edited_and_gone__nothing_is_left),
        cmocka_unit_test(public_ip_without_tags__goes_by_its_name),
        RIG_TEST(public_ip_of_the_user__stays),
        RIG_TEST(namesake_comes__nothing_of_the_old_one_is_touched),
        RIG_TEST(old_one_goes__its_namesake_stays_as_it_is),
        RIG_TEST(old_one_goes__shared_address_stays_open_for_its_namesake),
        RIG_TEST(public_ip_in_use__looked_at_and_deleted_once_more),
        RIG_TEST(public_ip_in_use_twice__stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
