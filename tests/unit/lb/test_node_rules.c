/* SPDX-License-Identifier: Apache-2.0 */
/* test_node_rules.c: which nodes take part, and which changes of nodes matter.
 *
 * The numbers in the rows are those of controller.md §6.4 and 6.5 (as far as they are pure). */
#include "tests/unit/lb/lb_test.h"

#include "common/base/str.h"
#include "common/lb/node_rules.h"
#include "common/lb/service_rules.h"
#include "tests/support/unit.h"

#include <string.h>

#define READY(value)                                                                               \
    .conditions = (const struct tt_condition[]){{.type = "Ready", .status = (value)}},             \
    .n_conditions = 1
#define LABEL(k, v) .labels = (const struct tt_kv[]){{(k), (v)}}, .n_labels = 1
#define EXCL(v)     LABEL(LB_EXCLUDE_LABEL, v)
#define TAINT(k)    .taints = (const struct tt_taint[]){{(k), "1732", "NoSchedule"}}, .n_taints = 1
#define AUTOSCALER  TAINT(LB_AUTOSCALER_TAINT)
#define ID(v)       .provider_id = (v)

static void node_flags__states__vectors(void **state)
{
    (void)state;
    const uint32_t ok = TT_NODE_ELIGIBLE;
    const struct tt_node nodes[] = {
        {0},
        {READY("True")},
        {READY("True"), ID("p")},
        {READY("False")},
        {READY("True"), EXCL("")},
        {READY("True"), EXCL("false")},
        {READY("True"), EXCL("true")},
        {READY("True"), EXCL("foo")},
        {READY("True"), AUTOSCALER},
        {READY("True"), TAINT("Other")},
        {READY("Unknown"), .deleted_us = 1},
        {EXCL("0")},
        {EXCL("f")},
        {EXCL("F")},
        {EXCL("FALSE")},
        {EXCL("False")},
        {EXCL("fALSE")},
        {EXCL("1")},
        {EXCL("T")},
        {AUTOSCALER, EXCL("yes"), .deleted_us = 1},
        {.conditions = (const struct tt_condition[]){{.type = "Ready", .status = "False"},
                                                     {.type = "Ready", .status = "True"}},
         .n_conditions = 2},
    };
    const struct {
        int row;
        uint32_t flags;
    } want[ARRAY_LEN(nodes)] = {
        {62, ok},
        {63, ok | TT_NODE_READY},
        {63, ok | TT_NODE_READY},
        {64, ok},
        {65, TT_NODE_EXCLUDED | TT_NODE_READY},
        {66, ok | TT_NODE_READY},
        {67, TT_NODE_EXCLUDED | TT_NODE_READY},
        {68, TT_NODE_EXCLUDED | TT_NODE_READY},
        {69, TT_NODE_TAINTED | TT_NODE_READY},
        {79, ok | TT_NODE_READY},
        {78, TT_NODE_DELETING},
        {0, ok},
        {0, ok},
        {0, ok},
        {0, ok},
        {0, ok},
        {0, TT_NODE_EXCLUDED}, /* not one of Go's spellings */
        {0, TT_NODE_EXCLUDED},
        {0, TT_NODE_EXCLUDED},
        {0, TT_NODE_TAINTED | TT_NODE_EXCLUDED | TT_NODE_DELETING},
        {0, ok}, /* the first Ready condition counts */
    };
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        print_message("# row %d (%zu)\n", want[i].row, i);
        assert_int_equal(node_flags(&nodes[i]), want[i].flags);
        assert_int_equal(node_is_included(&nodes[i]), (want[i].flags & TT_NODE_EXCLUDED) == 0);
    }
}

static void node_should_sync__changes__vectors(void **state)
{
    (void)state;
    const struct {
        int row;
        struct tt_node o, c;
        bool sync;
    } rows[] = {
        {40, {READY("True"), ID("p")}, {READY("True"), ID("p")}, false},
        {41, {ID("p")}, {ID("p"), EXCL("")}, true},
        {42, {ID("p"), EXCL("")}, {ID("p")}, true},
        {43, {ID("p"), EXCL("")}, {ID("p"), EXCL("")}, false},
        {44, {ID("p")}, {ID("p"), TAINT("Other")}, false},
        {44, {ID("p"), TAINT("Other")}, {ID("p")}, false},
        {45, {ID("p")}, {ID("p"), LABEL("other", "")}, false},
        {45, {ID("p"), LABEL("other", "")}, {ID("p")}, false},
        {46, {READY("False")}, {READY("False")}, false},
        {46, {READY("False")}, {0}, false},
        {46, {0}, {READY("False")}, false},
        {46, {0}, {0}, false},
        {47, {READY("False")}, {READY("True")}, false},
        {48, {ID("p")}, {ID("p"), .deleted_us = 1}, false},
        {49, {ID("")}, {ID("p")}, true},
        {49, {ID("p")}, {ID("")}, true},
        {49, {ID("p")}, {ID("q")}, true},
        {50, {AUTOSCALER}, {AUTOSCALER, EXCL("")}, true},
        {50, {AUTOSCALER, EXCL("")}, {AUTOSCALER}, true},
        {51, {AUTOSCALER}, {AUTOSCALER, ID("p")}, true},
        {51, {AUTOSCALER, ID("p")}, {AUTOSCALER}, true},
        {51, {AUTOSCALER, ID("p")}, {AUTOSCALER, ID("q")}, true},
        {52, {AUTOSCALER, READY("True")}, {AUTOSCALER, READY("False")}, false},
        {53, {EXCL("")}, {EXCL(""), AUTOSCALER}, false},
        {53, {EXCL(""), AUTOSCALER}, {EXCL("")}, false},
        {54, {EXCL(""), READY("True")}, {EXCL(""), READY("False")}, false},
        {55, {EXCL("")}, {EXCL(""), ID("p")}, true},
        {55, {EXCL(""), ID("p")}, {EXCL("")}, true},
        {55, {EXCL(""), ID("p")}, {EXCL(""), ID("q")}, true},
        {56, {READY("False")}, {READY("False"), AUTOSCALER}, false},
        {57, {READY("False")}, {READY("False"), EXCL("")}, true},
        {57, {READY("False"), EXCL("")}, {READY("False")}, true},
        {57, {READY("False")}, {READY("False"), ID("p")}, true},
        {58, {0}, {EXCL("")}, true},
        {58, {EXCL("")}, {0}, true},
        {59, {0}, {READY("True")}, false},
        {59, {0}, {AUTOSCALER}, false},
        {59, {AUTOSCALER}, {0}, false},
        {60, {EXCL("true")}, {EXCL("false")}, true},
        {61, {0}, {EXCL("false")}, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        print_message("# row %d (%zu)\n", rows[i].row, i);
        assert_int_equal(node_should_sync(&rows[i].o, &rows[i].c), rows[i].sync);
    }
}

/* "a=1 b=2" → nodes a and b with these providerIDs, flags set as the decoder sets them; a leading
 * '!' makes the node tainted. */
static const struct tt_node **nodes_of(struct arena *a, const char *text, size_t *ret_n)
{
    static const struct tt_taint taint = {LB_AUTOSCALER_TAINT, "", ""};
    char **words = str_split(a, text, ' ', ret_n);
    *ret_n = text[0] == '\0' ? 0 : *ret_n;
    const struct tt_node **list = ARENA_ARRAY(a, const struct tt_node *, *ret_n);
    for (size_t i = 0; i < *ret_n; i++) {
        struct tt_node *node = ARENA_NEW(a, struct tt_node);
        bool tainted = words[i][0] == '!';
        char *equals = strchr(words[i], '=');
        *equals = '\0';
        *node = (struct tt_node){.size = sizeof *node, .name = words[i] + tainted, ID(equals + 1)};
        node->taints = tainted ? &taint : NULL;
        node->n_taints = tainted;
        node->flags = node_flags(node);
        list[i] = node;
    }
    return list;
}

static void nodes_fingerprint__lists__names_and_ids(void **state)
{
    const struct {
        int row;
        const char *a, *b;
        bool equal;
    } rows[] = {
        {70, "1=a 2=b 3=c", "1=a 2=b 3=c", true},
        {71, "1=a 2=b", "1=a 2=b 3=c", false},
        {77, "1=a 2=b 3=c", "1=a 2=b", false},
        {80, "1= 2=old", "1=cumulus/1 2=cumulus/2", false},
        {81, "1=x 2=y", "1=x 2=y", true},
        {82, "1=a 2=b", "1=a 3=b", false},
        {0, "1=a 2=b", "2=b 1=a", true}, /* the order does not matter */
        {0, "", "", true},
        {0, "1=", "", false},
        {0, "1=a 1=b", "1=b 1=b", false}, /* names that repeat, which the API server never sends */
        {0, "1=a 2=b", "1=a 1=a", false}, /* as many, but fewer names */
        {0, "1=ab 2=", "1=a 2=b", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t na;
        size_t nb;
        const struct tt_node **a = nodes_of(*state, rows[i].a, &na);
        const struct tt_node **b = nodes_of(*state, rows[i].b, &nb);
        print_message("# row %d (%zu)\n", rows[i].row, i);
        assert_int_equal(nodes_fingerprint(a, na) == nodes_fingerprint(b, nb), rows[i].equal);
    }
}

static void nodes_eligible__row_74_taint__left_out_of_set_and_fingerprint(void **state)
{
    size_t n;
    size_t n_left;
    size_t kept;
    const struct tt_node **all = nodes_of(*state, "1=a !2=b 3=c", &n);
    const struct tt_node **left = nodes_of(*state, "3=c 1=a", &n_left);
    const struct tt_node **eligible = nodes_eligible(*state, all, n, &kept);
    assert_int_equal(kept, 2);
    assert_string_equal(eligible[0]->name, "1");
    assert_string_equal(eligible[1]->name, "3");
    assert_true(nodes_fingerprint(all, n) == nodes_fingerprint(left, n_left));
}

static void nodes_loggable__row_93_many__first_twenty_and_rest(void **state)
{
    struct arena *a = *state;
    const char *names[25];
    struct tt_node nodes[25];
    const struct tt_node *list[25];
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        names[i] = arena_printf(a, "n%02zu", i + 1);
        nodes[i] = (struct tt_node){.name = names[i]};
        list[i] = &nodes[i];
    }
    size_t n;
    const char **shown = nodes_loggable(a, names, 25, &n);
    assert_int_equal(n, 21);
    assert_string_equal(shown[0], "n01");
    assert_string_equal(shown[19], "n20");
    assert_string_equal(shown[20], "<5 more>");
    shown = nodes_loggable(a, names, 20, &n);
    assert_int_equal(n, 20);
    shown = nodes_loggable(a, (const char *const[]){"b", "a", "b"}, 3, &n);
    assert_int_equal(n, 2);
    assert_string_equal(shown[0], "a");
    assert_string_equal(nodes_loggable_text(a, list, 3), "[n01 n02 n03]");
    assert_string_equal(nodes_loggable_text(a, list, 0), "[]");
    const char *all = nodes_loggable_text(a, list, 25);
    assert_non_null(strstr(all, " n20 <5 more>]"));
}

static void node_left_out_because__each_reason__in_words(void **state)
{
    const struct {
        struct tt_node n;
        const char *because;
    } rows[] = {
        {{READY("False")}, NULL},
        {{EXCL("")}, "label node.kubernetes.io/exclude-from-external-load-balancers"},
        {{EXCL("yes")}, "label node.kubernetes.io/exclude-from-external-load-balancers=yes"},
        {{AUTOSCALER}, "taint ToBeDeletedByClusterAutoscaler"},
        {{AUTOSCALER, .deleted_us = 1}, "it is being deleted (deletionTimestamp)"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct tt_node n = rows[i].n;
        n.flags = node_flags(&n);
        const char *because = node_left_out_because(*state, &n);
        assert_string_equal(because != NULL ? because : "(takes part)",
                            rows[i].because != NULL ? rows[i].because : "(takes part)");
    }
}

UNIT_MAIN(node_rules)
{
    const struct CMUnitTest tests[] = {
        lb_test(node_flags__states__vectors),
        lb_test(node_should_sync__changes__vectors),
        lb_test(nodes_fingerprint__lists__names_and_ids),
        lb_test(nodes_eligible__row_74_taint__left_out_of_set_and_fingerprint),
        lb_test(nodes_loggable__row_93_many__first_twenty_and_rest),
        lb_test(node_left_out_because__each_reason__in_words),
    };
    return cmocka_run_group_tests_name("node_rules", tests, NULL, NULL);
}
