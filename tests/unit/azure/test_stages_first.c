/* SPDX-License-Identifier: Apache-2.0 */
/* test_stages_first.c: a first load balancer that Azure refuses leaves nothing, what stood before
 * stays, and further tries write nothing; azure_first.h under the real driver, with a cloud in
 * memory (stage_rig.h). */
#include "providers/azure/azure_first.h"
#include "tests/unit/azure/stage_rig.h"

#include "common/base/map.h"
#include "tests/support/unit.h"

#include <limits.h>

#define MADE                                                                                       \
    "addresses: create public IP address kubernetes-aweb [web]\n"                                  \
    "balancers: create load balancer kubernetes [web]\n"
#define TAKEN_BACK                                                                                 \
    "balancers: delete load balancer kubernetes [web]\n"                                           \
    "release: delete public IP address kubernetes-aweb [web]\n"

#define GROUP    "security: change network security group nsg [web]\n"
#define INTERNAL "\"azure-load-balancer-internal\":\"true\""
#define LINK     "\"azure-pls-create\":\"true\""

static void ensure(struct stage_rig *r, struct rig_service *s)
{
    s->verb = TT_VERB_ENSURE;
    stage_rig_run(r);
}

static void refuse(struct stage_rig *r, const char *name, int code)
{
    r->fail = name;
    r->fail_times = UINT_MAX;
    r->fail_code = code;
    r->fail_message = "no";
}

static struct azure_first *first_of(struct stage_rig *r, const char *key)
{
    return map_get(r->p.firsts, key);
}

/* The time until which nothing is tried is over. */
static void wait_until_tried(struct stage_rig *r)
{
    first_of(r, "default/web")->until_ms = 0;
}

static int64_t minutes_left(struct stage_rig *r)
{
    int64_t left_ms = first_of(r, "default/web")->until_ms - clock_now_ms(clock_real());
    return (left_ms + 59999) / 60000;
}

static void nothing_stands(struct stage_rig *r)
{
    same_text("public IPs", stage_rig_names(r, AZURE_PIPS), "");
    same_text("balancers", stage_rig_names(r, AZURE_LBS), "");
    same_text("rules", stage_rig_rules(r), "");
    same_text("links", stage_rig_names(r, AZURE_PLSS), "");
}

static void group_refuses__all_is_taken_back_and_not_tried_again(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    refuse(r, "nsg", ERR_INVALID);
    stage_rig_run(r);
    written(r, MADE GROUP TAKEN_BACK);
    assert_int_equal(web->code, TT_INVALID);
    const char *said = web->message;
    assert_true(
        str_has_prefix(said, "network security group nsg: no; it is tried again once a day, "));
    assert_true(str_has_suffix(said, "or when the Service is edited; what was made for it is gone "
                                     "again"));
    nothing_stands(r);
    ensure(r, web);
    written(r, "");
    same_text("message", web->message, said);
    r->asked = "";
    ensure(r, web);
    assert_null(strstr(r->asked, "release"));
    wait_until_tried(r);
    ensure(r, web);
    written(r, MADE GROUP TAKEN_BACK);
    assert_int_equal(first_of(r, "default/web")->tries, 2);
    r->fail_times = 0;
    web->annotations =
        "{\"azure-allowed-ip-ranges\":\"192.0.2.0/24\"}"; /* an edit is tried at once */
    ensure(r, web);
    succeeded(web);
    written(r, MADE GROUP);
    assert_null(first_of(r, "default/web"));
    stage_rig_settled(r);
}

/* A reason that is not known may be trouble of Azure's own, so the next tries come soon and use
 * what is there.  The fifth such refusal counts as one of the text; the next one waits for an hour,
 * and so on up to a day. */
static void refused_again__waits_longer(void **state)
{
    static const int64_t minutes[] = {30, 60, 120, 240, 480, 960, 1440, 1440};
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    refuse(r, "nsg", ERR_INVALID);
    stage_rig_run(r);
    assert_int_equal(minutes_left(r), 1440);
    web->annotations = "{\"azure-allowed-ip-ranges\":\"198.51.100.0/24\"}";
    r->fail_code = ERR_TRANSIENT;
    r->fail_status = 400;
    for (size_t i = 0; i < 4; i++) {
        ensure(r, web);
        assert_null(strstr(web->message, "tried again"));
        same_text("public IPs", stage_rig_names(r, AZURE_PIPS), "kubernetes-aweb");
    }
    for (size_t i = 0; i < ARRAY_LEN(minutes); i++) {
        ensure(r, web);
        assert_non_null(strstr(web->message, "; it is tried again at 2"));
        assert_int_equal(minutes_left(r), minutes[i]);
        wait_until_tried(r);
    }
    web->annotations = "{\"azure-allowed-ip-ranges\":\"192.0.2.0/24\"}"; /* another wish */
    ensure(r, web);
    assert_null(strstr(web->message, "tried again"));
}

/* A balancer, the first and the second public IP, and a link are refused. */
static void whatever_is_refused__nothing_is_left(void **state)
{
    static const char both[] = "\"ipFamilyPolicy\":\"RequireDualStack\",\"ipFamilies\":[\"IPv4\","
                               "\"IPv6\"],\"ports\":[{\"name\":\"a\",\"port\":80,\"protocol\":"
                               "\"TCP\",\"nodePort\":30080}]";
    static const struct {
        const char *name, *annotations, *spec;
    } rows[] = {
        {"kubernetes", NULL, NULL},
        {"kubernetes-aweb", NULL, NULL},
        {"kubernetes-aweb-IPv6", NULL, both},
        {"nsg", NULL, both},
        {"kubernetes-internal", "{" INTERNAL "}", NULL},
        {"pls-aweb", "{" INTERNAL "," LINK "}", NULL},
        {"pls-aweb", "{\"azure-disable-load-balancer-floating-ip\":\"true\"," LINK "}", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stage_rig *r = stage_rig_new();
        stage_rig_add_node(r, "vm-0", "10.0.1.0");
        struct rig_service *web = stage_rig_add(r, "web", rows[i].annotations, rows[i].spec);
        refuse(r, rows[i].name, ERR_INVALID);
        stage_rig_run(r);
        same_text(rows[i].name, web->message[0] != '\0' ? "refused" : r->log, "refused");
        assert_int_equal(web->code, TT_INVALID);
        nothing_stands(r);
        if (first_of(r, "default/web")->wish != 0) { /* else nothing was made */
            ensure(r, web);
            written(r, "");
        }
        r->fail_times = 0;
        wait_until_tried(r);
        ensure(r, web);
        succeeded(web);
        stage_rig_settled(r);
        stage_rig_free(r);
    }
}

/* These may change at any moment: what was made waits for the next try. */
static void right_or_quota_is_missing__stays_for_the_next_try(void **state)
{
    static const int codes[] = {ERR_FORBIDDEN, ERR_QUOTA, ERR_IN_USE, ERR_NOT_FOUND};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct stage_rig *r = stage_rig_new();
        struct rig_service *web = ADD(r, "web");
        refuse(r, "nsg", codes[i]);
        stage_rig_run(r);
        same_text("message", web->message,
                  "network security group nsg: no; public IP kubernetes-aweb, which was made for "
                  "it, stays for the next try");
        ensure(r, web);
        assert_null(strstr(r->log, "create"));
        r->fail_times = 0;
        ensure(r, web);
        succeeded(web);
        written(r, GROUP);
        stage_rig_free(r);
    }
}

static void others_on_the_balancer__notice_nothing(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *api = ADD(r, "api");
    stage_rig_run(r);
    const char *rules = stage_rig_rules(r);
    (void)ADD(r, "web");
    refuse(r, "nsg", ERR_INVALID);
    stage_rig_run(r);
    same_text("public IPs", stage_rig_names(r, AZURE_PIPS), "kubernetes-aapi");
    same_text("rules", stage_rig_rules(r), rules);
    same_text("frontends", stage_rig_elements(r, "kubernetes", "frontendIPConfigurations"), "aapi");
    r->fail_times = 0;
    ensure(r, api);
    succeeded(api);
    written(r, "");
}

/* Both come in one batch; only one of them asks for what is refused. */
static void one_of_a_batch_is_refused__the_other_is_served(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    struct rig_service *api = ADD(r, "api");
    r->poison = "aweb-";
    stage_rig_run(r);
    succeeded(api);
    assert_int_equal(web->code, TT_INVALID);
    same_text("public IPs", stage_rig_names(r, AZURE_PIPS), "kubernetes-aapi");
    same_text("frontends", stage_rig_elements(r, "kubernetes", "frontendIPConfigurations"), "aapi");
}

/* Resources that serve, or stood before this process looked, never go. */
static void what_stood_before__stays(void **state)
{
    enum { SERVED, STATUS_WIPED, NEW_PROCESS, PIP_ALONE, HOWS };
    (void)state;
    for (int how = 0; how < HOWS; how++) {
        struct stage_rig *r = stage_rig_new();
        struct rig_service *web = ADD(r, "web");
        if (how == PIP_ALONE) {
            refuse(r, "kubernetes", ERR_FORBIDDEN);
        }
        stage_rig_run(r);
        written(r, how == PIP_ALONE ? MADE : MADE GROUP);
        web->status = how == SERVED ? web->status : "";
        if (how >= NEW_PROCESS) {
            map_free(r->p.firsts);
            r->p.firsts = map_new(azure_first_free);
        }
        web->annotations = "{\"azure-allowed-ip-ranges\":\"192.0.2.0/24\"}";
        refuse(r, "nsg", ERR_INVALID);
        ensure(r, web);
        assert_int_equal(web->code, TT_INVALID);
        same_text("public IPs", stage_rig_names(r, AZURE_PIPS), "kubernetes-aweb");
        if (how != PIP_ALONE) {
            same_text("message", web->message, "network security group nsg: no");
            same_text("balancers", stage_rig_names(r, AZURE_LBS), "kubernetes");
        }
        stage_rig_free(r);
    }
}

/* The next sync goes on with it, although it does not try the wish. */
static void cannot_be_taken_back_at_once__later(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    r->poison = "\"securityRules\":[{";
    r->fail = "kubernetes-aweb";
    r->fail_after = 1;
    r->fail_times = 1;
    r->fail_code = ERR_TRANSIENT;
    r->fail_message = "not now";
    stage_rig_run(r);
    assert_non_null(strstr(web->message, "; what was added for it could not be taken back: public "
                                         "IP address kubernetes-aweb: not now"));
    same_text("public IPs", stage_rig_names(r, AZURE_PIPS), "kubernetes-aweb");
    ensure(r, web);
    written(r, "release: delete public IP address kubernetes-aweb [web]\n");
    assert_true(str_has_suffix(web->message, "what was made for it is gone again"));
    ensure(r, web);
    written(r, "");
}

/* Resources of an earlier try go, too, when the next one is refused for the text. */
static void half_built_then_edited_badly__is_taken_back(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    refuse(r, "nsg", ERR_FORBIDDEN);
    stage_rig_run(r);
    web->annotations = "{\"azure-load-balancer-health-probe-interval\":\"x\"}";
    ensure(r, web);
    assert_int_equal(web->code, TT_INVALID);
    nothing_stands(r);
}

/* A Service of the same name is another one. */
static void deleted_while_it_waits__is_forgotten(void **state)
{
    struct stage_rig *r = *state;
    struct rig_service *web = ADD(r, "web");
    refuse(r, "nsg", ERR_INVALID);
    stage_rig_run(r);
    web->verb = TT_VERB_DELETE;
    stage_rig_run(r);
    succeeded(web);
    written(r, "");
    assert_null(first_of(r, "default/web"));
}

UNIT_MAIN(stages_first)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(group_refuses__all_is_taken_back_and_not_tried_again),
        RIG_TEST(refused_again__waits_longer),
        cmocka_unit_test(whatever_is_refused__nothing_is_left),
        cmocka_unit_test(right_or_quota_is_missing__stays_for_the_next_try),
        RIG_TEST(others_on_the_balancer__notice_nothing),
        RIG_TEST(one_of_a_batch_is_refused__the_other_is_served),
        cmocka_unit_test(what_stood_before__stays),
        RIG_TEST(cannot_be_taken_back_at_once__later),
        RIG_TEST(half_built_then_edited_badly__is_taken_back),
        RIG_TEST(deleted_while_it_waits__is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
