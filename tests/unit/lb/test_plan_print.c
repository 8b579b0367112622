/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_print.c: what people and programs see of a plan.
 *
 * The texts are whole, because their layout is what is tested; see also the planner
 * cases in tests/golden. */
#include "tests/unit/lb/lb_test.h"

#include "common/lb/plan_print.h"
#include "tests/support/foreign.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

#define NAME "a7f3a09c0e5f4b1c9d8e7f6a5b4c3d2e"
#define WEB  LIST(.owners, .n_owners, "demo/web")
#define OP(number, word, symbol_wave, ...)                                                         \
    &(const struct tt_operation)                                                                   \
    {                                                                                              \
        .size = sizeof(struct tt_operation), .n = (number), .verb = TT_OP_##word,                  \
        .wave = (symbol_wave), __VA_ARGS__                                                         \
    }
#define SERVICE(name, ...)                                                                         \
    &(const struct tt_plan_service)                                                                \
    {                                                                                              \
        .size = sizeof(struct tt_plan_service), .key = (name), __VA_ARGS__                         \
    }

static struct tt_plan plan_of(const struct tt_plan_service *const *services, uint32_t n_services,
                              const struct tt_operation *const *operations, uint32_t n_operations)
{
    struct tt_plan p = {.size = sizeof p,
                        .services = services,
                        .n_services = n_services,
                        .operations = operations,
                        .n_operations = n_operations};
    for (uint32_t i = 0; i < n_operations; i++) {
        p.waves = operations[i]->wave > p.waves ? operations[i]->wave : p.waves;
        p.calls += operations[i]->calls;
    }
    return p;
}

static void assert_text(const struct tt_plan *plan, const struct plan_print *how, const char *want)
{
    struct str_buf b = STR_BUF_INIT;
    plan_print_text(&b, plan, how);
    assert_string_equal(str_buf_text(&b), want);
    str_buf_done(&b);
}

static const struct plan_print plain = {0};
static const struct plan_print verbose = {.verbose = true};

/* Such a Service is not up to date, alone and among many. */
static void plan_print_text__left_as_taken_over__named(void **state)
{
    (void)state;
    const struct tt_plan_service *services[12];
    char keys[11][16];
    struct tt_plan_service fine[11];
    services[0] = SERVICE("demo/web", .address = "203.0.113.10", .checked = 5,
                          LIST(.left, .n_left, "The health check is older than what is asked for"));
    const struct tt_plan one = plan_of(services, 1, NULL, 0);
    assert_text(&one, &plain,
                "Service demo/web  203.0.113.10  nothing to do, 1 value left as it is.\n"
                "  ! The health check is older than what is asked for\n");
    for (int i = 0; i < 11; i++) {
        (void)snprintf(keys[i], sizeof(keys[i]), "demo/z%02d", i);
        fine[i] = (struct tt_plan_service){.size = sizeof(fine[i]), .key = keys[i], .checked = 2};
        services[i + 1] = &fine[i];
    }
    const struct tt_plan many = plan_of(services, 12, NULL, 0);
    assert_text(&many, &plain,
                "Service demo/web  203.0.113.10  nothing to do, 1 value left as it is.\n"
                "  ! The health check is older than what is asked for\n"
                "11 Services are up to date (22 resources checked).\n"
                "Plan: nothing to do.\n");
}

static void plan_print_text__creation__reasons_below_when_long(void **state)
{
    (void)state;
    const struct tt_plan_service *const services[] = {
        SERVICE("demo/web", .kind = "external, target pool, us-central1",
                LIST(.because, .n_because, "no load-balancer-type annotation → external",
                     "no l4-rbs annotation and no finalizer of it → target pool"))};
    const struct tt_operation *const ops[] = {
        OP(1, CREATE, 1, .kind = "address", .name = NAME, .summary = "regional, PREMIUM", WEB,
           .why = "the rule does not hold one yet", .note = "held until the rule has it",
           .calls = 2),
        OP(2, CREATE, 1, .kind = "firewall", .name = "k8s-fw-" NAME, WEB, .calls = 2,
           .summary = "0.0.0.0/0 → tcp:80,443", .why = "the Service is new"),
        OP(3, CREATE, 2, .kind = "forwarding rule", .name = NAME, .summary = "TCP 80-443 → pool",
           WEB, .why = "the Service is new", .note = "address known after 1", .calls = 2),
        OP(4, DELETE, 3, .kind = "address", .name = NAME, WEB, .why = "the rule keeps it now",
           .calls = 2, .flags = TT_OP_FINALLY | TT_OP_GIVES_BACK),
    };
    struct tt_plan p = plan_of(services, 1, ops, 4);
    assert_text(
        &p, &plain,
        "Service demo/web  external, target pool, us-central1\n"
        "  because  no load-balancer-type annotation → external\n"
        "           no l4-rbs annotation and no finalizer of it → target pool\n"
        "\n"
        "   1  + address          a7f3a09c0e5f4b1c9d8e7f6a5b4c3d2e         regional, PREMIUM\n"
        "        held until the rule has it; because the rule does not hold one yet\n"
        "   1  + firewall         k8s-fw-a7f3a09c0e5f4b1c9d8e7f6a5b4c3d2e  0.0.0.0/0 → tcp:80,443\n"
        "        because the Service is new\n"
        "   2  + forwarding rule  a7f3a09c0e5f4b1c9d8e7f6a5b4c3d2e         TCP 80-443 → pool\n"
        "        address known after 1; because the Service is new\n"
        "   3  - address          a7f3a09c0e5f4b1c9d8e7f6a5b4c3d2e\n"
        "        because the rule keeps it now\n"
        "\n"
        "Plan: 3 to create (the reservation is given back at the end), in 3 waves (8 calls). "
        "Nothing has been\nchanged.\n");
}

/* Only what goes away is called a delete; what is there for the time of a plan is not. */
static void plan_print_counts__reservations__given_back_not_deleted(void **state)
{
    (void)state;
    static const struct {
        uint32_t verbs[4]; /* 0 ends them; those that delete "r" have the flag */
        const char *names;
        const char *want;
    } rows[] = {
        {{TT_OP_CREATE, TT_OP_DELETE}, "ab", "1 to create, 0 to change, 1 to delete"},
        {{TT_OP_CREATE, TT_OP_DELETE},
         "rr",
         "1 to create (the reservation is given back at the end)"},
        {{TT_OP_CREATE, TT_OP_CHANGE, TT_OP_DELETE, TT_OP_DELETE},
         "rabr",
         "1 to create, 1 to change, 1 to delete (the reservation is given back at the end)"},
        {{TT_OP_CREATE, TT_OP_CREATE, TT_OP_DELETE, TT_OP_DELETE},
         "rsrs",
         "2 to create (the 2 reservations are given back at the end)"},
        {{TT_OP_DELETE}, "r", "the reservation of an interrupted run is given back"},
        {{TT_OP_DELETE, TT_OP_DELETE}, "rs", "2 reservations of interrupted runs are given back"},
        {{TT_OP_CREATE, TT_OP_DELETE, TT_OP_DELETE},
         "rrs",
         "1 to create (the reservation is given back at the end, the reservation of an interrupted "
         "run is given back)"},
        {{TT_OP_KEEP}, "a", "0 to create, 0 to change, 0 to delete"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct tt_operation ops[4];
        const struct tt_operation *list[4];
        char names[4][2] = {"", "", "", ""};
        uint32_t n = 0;
        for (; n < 4 && rows[i].verbs[n] != 0; n++) {
            names[n][0] = rows[i].names[n];
            bool gives_back = rows[i].verbs[n] == TT_OP_DELETE && names[n][0] >= 'r';
            ops[n] = (struct tt_operation){.size = sizeof ops[n], .n = n + 1, .wave = 1};
            ops[n].verb = rows[i].verbs[n];
            ops[n].flags = gives_back ? TT_OP_GIVES_BACK : 0;
            ops[n].kind = "address";
            ops[n].name = names[n];
            list[n] = &ops[n];
        }
        struct tt_plan p = plan_of(NULL, 0, list, n);
        struct str_buf b = STR_BUF_INIT;
        plan_print_counts(&b, &p);
        assert_string_equal(str_buf_text(&b), rows[i].want);
        str_buf_done(&b);
    }
}

static void plan_print_text__edit__field_lines_and_effects(void **state)
{
    (void)state;
    const struct tt_field fields[] = {
        {"sourceRanges", "0.0.0.0/0", NULL},
        {"sourceRanges", NULL, "10.0.0.0/8"},
        {"sourceRanges", NULL, "192.0.2.0/24"},
        {"target", "old", "known after 1"},
    };
    const struct tt_plan_service *const services[] = {
        SERVICE("demo/web", .address = "203.0.113.10",
                LIST(.effects, .n_effects, "The address stays.",
                     "Traffic from outside the two ranges will be refused"))};
    const struct tt_operation *const ops[] = {
        OP(1, KEEP, 0, .kind = "address", .name = "x", WEB),
        OP(2, CHANGE, 1, .kind = "firewall", .name = "k8s-fw-x", WEB, .calls = 2,
           .why = "spec.loadBalancerSourceRanges changed", .fields = fields, .n_fields = 4),
        OP(3, KEEP, 0, .kind = "target pool", .name = "x", WEB, .summary = "6 instances"),
    };
    struct tt_plan p = plan_of(services, 1, ops, 3);
    assert_text(&p, &plain,
                "Service demo/web  203.0.113.10\n"
                "\n"
                "   1  ~ firewall  k8s-fw-x  because spec.loadBalancerSourceRanges changed\n"
                "          sourceRanges  - 0.0.0.0/0\n"
                "                        + 10.0.0.0/8\n"
                "                        + 192.0.2.0/24\n"
                "          target        - old\n"
                "                        + known after address x\n"
                "      = 2 resources as they should be\n"
                "\n"
                "Plan: 0 to create, 1 to change, 0 to delete, in 1 wave (2 calls). The address "
                "stays. Traffic from\n"
                "outside the two ranges will be refused. Nothing has been changed.\n");
    assert_text(&p, &verbose,
                "Service demo/web  203.0.113.10\n"
                "\n"
                "      = address      x\n"
                "   1  ~ firewall     k8s-fw-x               because "
                "spec.loadBalancerSourceRanges changed\n"
                "          sourceRanges  - 0.0.0.0/0\n"
                "                        + 10.0.0.0/8\n"
                "                        + 192.0.2.0/24\n"
                "          target        - old\n"
                "                        + known after address x\n"
                "      = target pool  x         6 instances\n"
                "\n"
                "Plan: 0 to create, 1 to change, 0 to delete, in 1 wave (2 calls). The address "
                "stays. Traffic from\n"
                "outside the two ranges will be refused. Nothing has been changed.\n");
}

static void plan_print_text__nothing_to_do__one_line(void **state)
{
    (void)state;
    const struct tt_plan_service *const services[] = {
        SERVICE("demo/web", .address = "203.0.113.10", .checked = 5)};
    const struct tt_operation *const ops[] = {OP(1, KEEP, 0, .kind = "rule", .name = "x", WEB)};
    struct tt_plan p = plan_of(services, 1, ops, 1);
    assert_text(&p, &plain, "Service demo/web  203.0.113.10  up to date (5 resources checked).\n");
    assert_text(&p, &verbose,
                "Service demo/web  203.0.113.10  up to date (5 resources checked).\n"
                "\n"
                "      = rule  x\n");
    const struct tt_plan_service *const gone[] = {SERVICE("demo/web")};
    struct tt_plan empty = plan_of(gone, 1, NULL, 0);
    assert_text(&empty, &plain, "Service demo/web  nothing to do.\n");
}

static void plan_print_text__many_services__quiet_ones_counted(void **state)
{
    struct arena *a = *state;
    const struct tt_plan_service *services[13];
    for (size_t i = 0; i < ARRAY_LEN(services); i++) {
        struct tt_plan_service *s = ARENA_NEW(a, struct tt_plan_service);
        *s = (struct tt_plan_service){
            .size = sizeof *s, .key = arena_printf(a, "demo/s%02zu", i), .checked = 3};
        services[i] = s;
    }
    struct tt_plan quiet = plan_of(services, 13, NULL, 0);
    assert_text(&quiet, &plain,
                "13 Services are up to date (39 resources checked).\n"
                "Plan: nothing to do.\n");
    struct tt_plan two = plan_of(services, 2, NULL, 0);
    assert_text(&two, &plain,
                "Service demo/s00  up to date (3 resources checked).\n"
                "Service demo/s01  up to date (3 resources checked).\n"
                "Plan: nothing to do.\n");
}

/* Quiet or not, short or verbose: a slip is printed. */
static void plan_print_text__findings__are_told_in_a_quiet_plan(void **state)
{
    struct arena *a = *state;
    static const struct tt_finding slip = {.size = sizeof slip,
                                           .reason = "AnnotationIgnored",
                                           .field = "x.io/a",
                                           .message = "annotation x.io/a is unknown"};
    static const struct tt_finding *const slips[] = {&slip};
    const struct tt_plan_service *services[13];
    for (size_t i = 0; i < ARRAY_LEN(services); i++) {
        struct tt_plan_service *s = ARENA_NEW(a, struct tt_plan_service);
        *s = (struct tt_plan_service){
            .size = sizeof *s, .key = arena_printf(a, "demo/s%02zu", i), .checked = 3};
        if (i == 7) {
            s->findings = slips;
            s->n_findings = 1;
            s->serves_nobody = "no node takes part: the cluster has none";
        }
        services[i] = s;
    }
    struct tt_plan many = plan_of(services, 13, NULL, 0);
    assert_text(&many, &plain,
                "Service demo/s07  up to date (3 resources checked).\n"
                "  ! serves nobody: no node takes part: the cluster has none\n"
                "  ! annotation x.io/a is unknown\n"
                "12 Services are up to date (36 resources checked).\n"
                "Plan: nothing to do.\n");
    struct tt_plan one = plan_of(&services[7], 1, NULL, 0);
    assert_text(&one, &plain,
                "Service demo/s07  up to date (3 resources checked).\n"
                "  ! serves nobody: no node takes part: the cluster has none\n"
                "  ! annotation x.io/a is unknown\n");
    struct json_object *o = plan_print_json(&one);
    struct json_object *s = json_object_array_get_idx(json_member(o, "services"), 0);
    assert_string_equal(json_text(a, json_member(s, "findings"), JSON_COMPACT),
                        "[{\"reason\":\"AnnotationIgnored\",\"field\":\"x.io/a\",\"message\":"
                        "\"annotation x.io/a is unknown\"}]");
    assert_string_equal(json_str(s, "serves_nobody"), "no node takes part: the cluster has none");
    json_object_put(o);
}

/* The words behind "left alone" begin where they really stand, also on a line of their own. */
static void plan_print_text__left_alone_on_a_narrow_terminal__wrapped_in_place(void **state)
{
    (void)state;
    const struct tt_plan_service *const services[] = {SERVICE(
        "demo/b", .code = TT_IMPLEMENTED_ELSEWHERE,
        .address = "load-balancer-1234567890.example.com", .message = "ingress-gce serves it")};
    struct tt_plan p = plan_of(services, 1, NULL, 0);
    struct str_buf b _cleanup_(str_buf_done) = {.columns = 42};
    plan_print_text(&b, &p, &plain);
    assert_string_equal(str_buf_text(&b), "Service demo/b\n"
                                          "    load-balancer-1234567890.example.com\n"
                                          "    left alone: ingress-gce serves it\n");
}

static void plan_print_text__another_controllers_service__is_left_alone(void **state)
{
    (void)state;
    const struct tt_plan_service *const services[] = {
        SERVICE("demo/a", .checked = 5),
        SERVICE("demo/b", .code = TT_IMPLEMENTED_ELSEWHERE, .message = "ingress-gce serves it"),
    };
    struct tt_plan p = plan_of(services, 2, NULL, 0);
    assert_text(&p, &plain,
                "Service demo/a  up to date (5 resources checked).\n"
                "Service demo/b  left alone: ingress-gce serves it\n"
                "Plan: nothing to do.\n");
}

static void plan_print_text__shared_and_refused__each_said_once(void **state)
{
    (void)state;
    const struct tt_plan_service *const services[] = {
        SERVICE("demo/a", LIST(.effects, .n_effects, "The address stays.")),
        SERVICE("demo/b"),
        SERVICE("demo/c", .code = TT_INVALID,
                .message = "annotation cloud.google.com/network-tier: \"Gold\" is not a tier; "
                           "allowed: Premium, Standard"),
    };
    const struct tt_operation *const ops[] = {
        OP(1, CHANGE, 1, .kind = "load balancer", .name = "kubernetes", .why = "a is new",
           LIST(.owners, .n_owners, "demo/a", "demo/b"), .calls = 1)};
    struct tt_plan p = plan_of(services, 3, ops, 1);
    assert_text(&p, &plain,
                "Service demo/a\n"
                "\n"
                "   1  ~ load balancer  kubernetes  because a is new; for demo/a, demo/b\n"
                "  The address stays.\n"
                "\n"
                "Service demo/b\n"
                "\n"
                "      ~ and 1 shared with demo/a\n"
                "\n"
                "Service demo/c\n"
                "  ! annotation cloud.google.com/network-tier: \"Gold\" is not a tier; allowed: "
                "Premium, Standard\n"
                "\n"
                "Plan: 0 to create, 1 to change, 0 to delete, in 1 wave (1 call). 1 Service cannot "
                "be planned.\n"
                "Nothing has been changed.\n");
}

static void plan_print_text__long_names_and_values__never_cut(void **state)
{
    (void)state;
    char name[80];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    char value[200];
    memset(value, 'v', sizeof value - 1);
    value[100] = ' ';
    value[sizeof value - 1] = '\0';
    const struct tt_field field = {"path", value, NULL};
    const struct tt_plan_service *const services[] = {SERVICE("demo/web")};
    const struct tt_operation *const ops[] = {OP(1, CHANGE, 12, .kind = "rule", .name = name, WEB,
                                                 .summary = "summary", .why = "so",
                                                 .fields = &field, .n_fields = 1)};
    struct tt_plan p = plan_of(services, 1, ops, 1);
    struct str_buf b = STR_BUF_INIT;
    plan_print_text(&b, &p, &plain);
    const char *text = str_buf_text(&b);
    assert_non_null(strstr(text, name));
    value[100] = '\0';
    assert_non_null(strstr(text, value)); /* broken between words only */
    assert_non_null(strstr(text, "\n                                                            "
                                 "summary"));
    str_buf_done(&b);
}

static void plan_print_text__color__only_when_asked(void **state)
{
    (void)state;
    const struct tt_plan_service *const services[] = {SERVICE("demo/web")};
    const struct tt_operation *const ops[] = {
        OP(1, CREATE, 1, .kind = "rule", .name = "x", .why = "new", WEB)};
    struct tt_plan p = plan_of(services, 1, ops, 1);
    struct str_buf b = STR_BUF_INIT;
    plan_print_text(&b, &p, &plain);
    assert_null(strchr(str_buf_text(&b), '\033'));
    str_buf_reset(&b);
    plan_print_text(&b, &p, &(struct plan_print){.color = true});
    assert_non_null(strstr(str_buf_text(&b), "   1  \033[32m+\033[0m rule  x  because new\n"));
    str_buf_done(&b);
}

static void plan_print_json__plan__promised_members(void **state)
{
    const struct tt_field field = {"ports", NULL, "80"};
    const struct tt_plan_service *const services[] = {
        SERVICE("demo/bad", .code = TT_QUOTA, .message = "no more"),
        SERVICE("demo/web", .address = "203.0.113.10", .checked = 2,
                LIST(.because, .n_because, "b")),
    };
    const struct tt_operation *const ops[] = {OP(1, CHANGE, 1, .kind = "rule", .name = "x", WEB,
                                                 .why = "so", .fields = &field, .n_fields = 1,
                                                 .calls = 2, .flags = TT_OP_CRITICAL)};
    struct tt_plan p = plan_of(services, 2, ops, 1);
    struct json_object *doc = plan_print_json(&p);
    assert_string_equal(
        json_text(*state, doc, JSON_COMPACT),
        "{\"format_version\":1,\"services\":[{\"service\":\"demo/"
        "bad\",\"address\":null,\"because\":[],"
        "\"operations\":null,\"effects\":[],\"checked\":0,\"findings\":[],\"serves_nobody\":null,"
        "\"error\":{\"code\":7,\"message\":"
        "\"no more\"}},{\"service\":\"demo/web\",\"address\":\"203.0.113.10\",\"because\":[\"b\"],"
        "\"operations\":[{\"n\":1,\"verb\":\"change\",\"kind\":\"rule\",\"name\":\"x\",\"wave\":1,"
        "\"why\":\"so\",\"owners\":[\"demo/web\"],\"fields\":[{\"path\":\"ports\",\"old\":null,"
        "\"new\":\"80\"}],\"calls\":2,\"critical\":true,\"shared\":false,\"finally\":false,"
        "\"gives_back\":false}],"
        "\"effects\":[],\"checked\":2,\"findings\":[],\"serves_nobody\":null}],\"summary\":{"
        "\"create\":0,\"change\":1,\"delete\":0,"
        "\"waves\":1,\"calls\":2}}");
    json_object_put(doc);
}

static void plan_print__sent_after__said_to_people_and_programs(void **state)
{
    (void)state;
    const struct tt_plan_service *const services[] = {SERVICE("demo/web")};
    const struct tt_operation *const ops[] = {
        OP(1, CHANGE, 1, .kind = "NEG", .name = "n", .why = "a pod moved", WEB),
        OP(2, CHANGE, 1, .kind = "NEG", .name = "n", .why = "a pod moved", .sent_after = 1, WEB)};
    struct tt_plan plan = plan_of(services, 1, ops, 2);
    assert_text(
        &plan, &plain,
        "Service demo/web\n"
        "\n"
        "   1  ~ NEG  n  because a pod moved\n"
        "   1  ~ NEG  n  sent after NEG n; because a pod moved\n"
        "\n"
        "Plan: 0 to create, 2 to change, 0 to delete, in 1 wave (0 calls). Nothing has been "
        "changed.\n");
    struct json_object *doc = plan_print_json(&plan);
    struct json_object *list =
        json_member(json_object_array_get_idx(json_member(doc, "services"), 0), "operations");
    struct json_object *after = json_member(json_object_array_get_idx(list, 1), "sent_after");
    assert_int_equal(json_object_get_int(after), 1);
    assert_null(json_member(json_object_array_get_idx(list, 0), "sent_after"));
    json_object_put(doc);
}

static struct json_object *operation_of(struct json_object *doc, size_t service)
{
    struct json_object *s = json_object_array_get_idx(json_member(doc, "services"), service);

    return json_object_array_get_idx(json_member(s, "operations"), 0);
}

/* A document in which each of many Services named all of them would grow with their square. */
static void plan_print_json__operation_of_many_services__names_all_of_them_once(void **state)
{
    (void)state;
    enum { MANY = 150 };
    struct arena *a = arena_new();
    const struct tt_plan_service *services[MANY];
    const char *owners[MANY];

    for (size_t i = 0; i < MANY; i++) {
        owners[i] = arena_printf(a, "demo/s%03zu", i);
        struct tt_plan_service *s = ARENA_NEW(a, struct tt_plan_service);
        *s = (struct tt_plan_service){.size = sizeof *s, .key = owners[i]};
        services[i] = s;
    }
    for (uint32_t n = 100; n <= MANY; n += 50) {
        const struct tt_operation *const ops[] = {OP(1, CREATE, 1, .kind = "table", .name = "t",
                                                     .why = "so", .owners = owners, .n_owners = n)};
        struct tt_plan plan = plan_of(services, MANY, ops, 1);
        struct json_object *doc = plan_print_json(&plan);
        for (size_t i = 0; i < n; i++) {
            struct json_object *list = json_member(operation_of(doc, i), "owners");
            bool all = i == 0 || n == 100;
            assert_int_equal(json_object_array_length(list), all ? n : 1);
            assert_string_equal(
                json_object_get_string(json_object_array_get_idx(list, all ? i : 0)), owners[i]);
            assert_int_equal(json_object_get_int(json_member(operation_of(doc, i), "n_owners")),
                             n == 100 ? 0 : n);
        }
        json_object_put(doc);
    }
    arena_free(a);
}

static void plan_print__after__numbers_for_programs(void **state)
{
    (void)state;
    const uint32_t both[] = {1, 2};
    const struct tt_plan_service *const services[] = {SERVICE("demo/web")};
    const struct tt_operation *const ops[] = {
        OP(1, CREATE, 1, .kind = "address", .name = "a", .why = "so", WEB),
        OP(2, CREATE, 1, .kind = "pool", .name = "a", .why = "so", WEB),
        OP(3, CREATE, 2, .kind = "rule", .name = "a", .why = "so", .after = both, .n_after = 2,
           WEB)};
    struct tt_plan plan = plan_of(services, 1, ops, 3);
    struct json_object *doc = plan_print_json(&plan);
    struct json_object *list =
        json_member(json_object_array_get_idx(json_member(doc, "services"), 0), "operations");
    struct json_object *after = json_member(json_object_array_get_idx(list, 2), "after");
    assert_string_equal(json_object_to_json_string_ext(after, JSON_C_TO_STRING_PLAIN), "[1,2]");
    assert_null(json_member(json_object_array_get_idx(list, 1), "after"));
    json_object_put(doc);
}

/* Two Services need one health check; the second plan's rule names what the first one makes. */
static void plan_join__a_shared_resource__stands_once_with_all_owners(void **state)
{
    const struct tt_field fields[] = {{"check", NULL, "known after 1"}};
    const uint32_t after[] = {1};
    const struct tt_plan_service *const sa[] = {SERVICE("demo/a")};
    const struct tt_plan_service *const sb[] = {SERVICE("demo/b")};
    const char *const a[] = {"demo/a"};
    const char *const b[] = {"demo/b"};
    const struct tt_operation *const oa[] = {
        OP(1, CREATE, 1, .kind = "check", .name = "node", .calls = 2, .flags = TT_OP_SHARED,
           .owners = a, .n_owners = 1),
        OP(2, CREATE, 2, .kind = "rule", .name = "x", .calls = 2, .owners = a, .n_owners = 1)};
    const struct tt_operation *const ob[] = {
        OP(1, CREATE, 1, .kind = "check", .name = "node", .calls = 2, .flags = TT_OP_SHARED,
           .owners = b, .n_owners = 1),
        OP(2, CREATE, 2, .kind = "rule", .name = "x", .calls = 2, .owners = b, .n_owners = 1,
           .fields = fields, .n_fields = 1, .sent_after = 1, .after = after, .n_after = 1)};
    struct tt_plan pa = plan_of(sa, 1, oa, 2);
    struct tt_plan pb = plan_of(sb, 1, ob, 2);
    const struct tt_plan *all = plan_join(*state, (const struct tt_plan *const[]){&pb, &pa}, 2);
    assert_int_equal(all->n_operations, 3); /* rules of one name are not shared */
    assert_int_equal(all->operations[0]->n_owners, 2);
    assert_string_equal(all->operations[0]->owners[0], "demo/a");
    assert_string_equal(all->operations[0]->owners[1], "demo/b");
    assert_string_equal(all->operations[1]->fields[0].new_text, "known after 1");
    assert_int_equal(all->operations[1]->sent_after, 1);
    assert_int_equal(all->operations[1]->after[0], 1);
    assert_int_equal(all->operations[2]->n, 3);
    assert_int_equal(all->calls, 6);
}

static void plan_join__a_shared_resource_differently__stands_twice(void **state)
{
    const struct tt_plan_service *const sa[] = {SERVICE("demo/a")};
    const struct tt_plan_service *const sb[] = {SERVICE("demo/b")};
    const struct tt_operation *const oa[] = {OP(1, CHANGE, 1, .kind = "group", .name = "g",
                                                .summary = "+ node-1", .flags = TT_OP_SHARED),
                                             OP(2, CHANGE, 1, .kind = "group", .name = "g",
                                                .summary = "+ node-1", .flags = TT_OP_SHARED)};
    const struct tt_operation *const ob[] = {OP(1, CHANGE, 1, .kind = "group", .name = "g",
                                                .summary = "+ node-2", .flags = TT_OP_SHARED)};
    struct tt_plan pa = plan_of(sa, 1, oa, 2);
    struct tt_plan pb = plan_of(sb, 1, ob, 1);
    const struct tt_plan *all = plan_join(*state, (const struct tt_plan *const[]){&pa, &pb}, 2);
    assert_int_equal(all->n_operations, 3); /* one plan may change a thing twice, too */
}

/* An HTTP health check and a health check may have one name. */
static void plan_join__one_name_in_two_apis__both_stand(void **state)
{
    const struct tt_plan_service *const sa[] = {SERVICE("demo/a")};
    const struct tt_plan_service *const sb[] = {SERVICE("demo/b")};
    const struct tt_operation *const oa[] = {
        OP(1, DELETE, 1, .kind = "check", .name = "node", .calls = 2, .flags = TT_OP_SHARED)};
    const struct tt_operation *const ob[] = {
        OP(1, DELETE, 1, .kind = "check", .api_kind = "httpChecks", .name = "node", .calls = 2,
           .flags = TT_OP_SHARED),
        OP(2, DELETE, 1, .kind = "check", .name = "node", .calls = 2, .flags = TT_OP_SHARED)};
    struct tt_plan pa = plan_of(sa, 1, oa, 1);
    struct tt_plan pb = plan_of(sb, 1, ob, 2);
    const struct tt_plan *all = plan_join(*state, (const struct tt_plan *const[]){&pa, &pb}, 2);
    assert_int_equal(all->n_operations, 2);
    assert_int_equal(all->calls, 4);
    assert_null(all->operations[0]->api_kind);
    assert_string_equal(all->operations[1]->api_kind, "httpChecks");
}

static void plan_join__plans__sorted_and_renumbered(void **state)
{
    const struct tt_field fields[] = {{"address", NULL, "known after 1"},
                                      {"note", NULL, "known after all"}};
    const struct tt_plan_service *const sb[] = {SERVICE("demo/b")};
    const struct tt_plan_service *const sa[] = {SERVICE("demo/a")};
    const struct tt_operation *const ob[] = {
        OP(1, CREATE, 1, .kind = "k", .name = "b1", .calls = 1),
        OP(2, CREATE, 2, .kind = "k", .name = "b2", .calls = 1, .fields = fields, .n_fields = 2)};
    const struct tt_operation *const oa[] = {
        OP(1, CREATE, 1, .kind = "k", .name = "a1", .calls = 3),
        OP(2, CREATE, 2, .kind = "k", .name = "a2", .fields = fields, .n_fields = 2,
           .sent_after = 1),
        OP(3, CREATE, 3, .kind = "k", .name = "a3")};
    struct tt_plan pb = plan_of(sb, 1, ob, 2);
    struct tt_plan pa = plan_of(sa, 1, oa, 3);
    const struct tt_plan *all = plan_join(*state, (const struct tt_plan *const[]){&pb, &pa}, 2);
    assert_int_equal(all->n_services, 2);
    assert_string_equal(all->services[0]->key, "demo/a");
    assert_int_equal(all->n_operations, 5);
    assert_int_equal(all->operations[4]->n, 5);
    assert_string_equal(all->operations[1]->fields[0].new_text, "known after 1");
    assert_string_equal(all->operations[3]->fields[0].new_text, "known after 3");
    assert_string_equal(all->operations[3]->fields[1].new_text, "known after all");
    assert_int_equal(all->operations[3]->wave, 2);
    assert_int_equal(all->operations[3]->sent_after, 3);
    assert_int_equal(all->operations[4]->sent_after, 0);
    assert_int_equal(all->waves, 3);
    assert_int_equal(all->calls, 5);
}

/* A plan with `text` in every place that a provider fills; the text of it, and the same as JSON. */
static const char *filled(struct arena *a, const char *text, const char **ret_json)
{
    const char *const texts[] = {text, text};
    const struct tt_field fields[] = {{text, text, text}, {"p", "x", text}};
    const struct tt_plan_service *const services[] = {
        SERVICE("demo/a", .kind = text, .address = text, .because = texts, .n_because = 2,
                .effects = texts, .n_effects = 2),
        SERVICE("demo/b", .kind = text, .code = TT_INVALID, .message = text),
        SERVICE("demo/c", .kind = text, .code = TT_IMPLEMENTED_ELSEWHERE, .message = text)};
    static const char *const owners[] = {"demo/a"};
    const struct tt_operation *const ops[] = {
        OP(1, CHANGE, 1, .kind = text, .name = text, .why = text, .summary = text, .note = text,
           .fields = fields, .n_fields = 2, .owners = owners, .n_owners = 1)};
    struct tt_plan p = plan_of(services, 3, ops, 1);
    struct str_buf b _cleanup_(str_buf_done) = {.columns = 10000};
    plan_print_text(&b, &p, &verbose);
    struct json_object *o = plan_print_json(&p);
    *ret_json = json_text(a, o, JSON_PRETTY);
    json_object_put(o);
    return str_buf_to_arena(&b, a);
}

static void plan_print__foreign_text__as_if_its_escapes_had_been_written(void **state)
{
    const char *json;
    const char *want = filled(*state, FOREIGN_SHOWN, &json);
    assert_string_equal(filled(*state, FOREIGN_TEXT, &json), want);
    assert_non_null(strstr(want, "because " FOREIGN_SHOWN));
    assert_non_null(strstr(json, "\\u009b\\u202e\\u2028"));
    for (const char *line = json; *line != '\0'; line += *line == '\n') {
        const char *one = arena_strndup(*state, line, strcspn(line, "\n"));
        assert_true(foreign_is_shown(one, 0));
        line += strcspn(line, "\n");
    }
}

UNIT_MAIN(plan_print)
{
    const struct CMUnitTest tests[] = {
        lb_test(plan_print_text__left_as_taken_over__named),
        lb_test(plan_print_text__creation__reasons_below_when_long),
        lb_test(plan_print_counts__reservations__given_back_not_deleted),
        lb_test(plan_print_text__edit__field_lines_and_effects),
        lb_test(plan_print_text__nothing_to_do__one_line),
        lb_test(plan_print_text__many_services__quiet_ones_counted),
        lb_test(plan_print_text__findings__are_told_in_a_quiet_plan),
        lb_test(plan_print_text__another_controllers_service__is_left_alone),
        lb_test(plan_print_text__left_alone_on_a_narrow_terminal__wrapped_in_place),
        lb_test(plan_print_text__shared_and_refused__each_said_once),
        lb_test(plan_print_text__long_names_and_values__never_cut),
        lb_test(plan_print_text__color__only_when_asked),
        lb_test(plan_print_json__plan__promised_members),
        lb_test(plan_print__sent_after__said_to_people_and_programs),
        lb_test(plan_print__after__numbers_for_programs),
        lb_test(plan_print_json__operation_of_many_services__names_all_of_them_once),
        lb_test(plan_print_json__operation_of_many_services__names_all_of_them_once),
        lb_test(plan_print__foreign_text__as_if_its_escapes_had_been_written),
        lb_test(plan_join__plans__sorted_and_renumbered),
        lb_test(plan_join__a_shared_resource__stands_once_with_all_owners),
        lb_test(plan_join__a_shared_resource_differently__stands_twice),
        lb_test(plan_join__one_name_in_two_apis__both_stand),
    };
    return cmocka_run_group_tests_name("plan_print", tests, NULL, NULL);
}
