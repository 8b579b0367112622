/* SPDX-License-Identifier: Apache-2.0 */
/* test_stages_going.c: a Service goes by what stands in the cloud.  Its annotations may have been edited since it was made:
 * to names that cannot be, to other names, to another side; and the process that takes it down has not seen it before.
 * Under the real driver with a cloud in memory (stage_rig.h). */
#include "tests/unit/azure/stage_rig.h"

#include "providers/azure/azure_doc.h"
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

UNIT_MAIN(stages_going)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edited_and_gone__nothing_is_left),
        cmocka_unit_test(public_ip_without_tags__goes_by_its_name),
        RIG_TEST(public_ip_of_the_user__stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
