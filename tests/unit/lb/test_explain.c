/* SPDX-License-Identifier: Apache-2.0 */
/* test_explain.c: rows of an explanation as text of any width, as members, and as a text
 * for an older host. */
#include "tests/unit/lb/lb_test.h"

#include "common/lb/explain.h"
#include "tests/support/foreign.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

#define REASON "label node.kubernetes.io/exclude-from-external-load-balancers"

/* One row of each section at least. */
static struct lb_explain every_section(struct arena *a)
{
    static const char *const names[] = {"node-0", "node-1", "node-2"};
    struct lb_explain x;
    lb_explain_init(&x, a);
    lb_explain_decision(&x, "load-balancer-type", "not set", "external");
    lb_explain_decision(&x, "finalizer l4-netlb-v1", "absent", NULL);
    lb_explain_answer(&x, "served", "load balancer", "is served by a load balancer.");
    lb_explain_nodes(&x, 3, 4, "3 of 4 take part");
    const struct tt_explain_row zone =
        LB_EXPLAIN_ROW(TT_EXPLAIN_ZONE, .subject = "zone-a", .count = 3, .of = 4, .names = names,
                       .n_names = ARRAY_LEN(names));
    lb_explain_add(&x, &zone);
    lb_explain_text_row(&x, TT_EXPLAIN_NODES_RULE, "at most 25");
    lb_explain_left_out(&x, "node-3", REASON);
    lb_explain_hop(&x, "client", "client", -1, NULL);
    lb_explain_hop(&x, "load balancer", "203.0.113.10", 80, NULL);
    lb_explain_hop(&x, "backend", "any of 3 members", 80, NULL);
    lb_explain_hop(&x, "pod", "a pod", -1, "source address is kept: policy Local");
    const struct tt_explain_row health = LB_EXPLAIN_ROW(
        TT_EXPLAIN_HEALTH, .subject = "HTTP", .value = "/healthz", .port = 10256, .every_ms = 8000);
    lb_explain_add(&x, &health);
    const struct tt_explain_row note =
        LB_EXPLAIN_ROW(TT_EXPLAIN_NOTE, .subject = "Status", .value = "another program's");
    lb_explain_add(&x, &note);
    lb_explain_text_row(&x, TT_EXPLAIN_WARNING, "two rules have one port");
    lb_explain_text_row(&x, TT_EXPLAIN_ADDRESS, "203.0.113.10");
    return x;
}

static const char *text_of(const struct lb_explain *x, size_t columns)
{
    struct str_buf b = {.columns = columns};
    lb_explain_text(&b, "demo/web", x->rows, x->n);
    const char *text = str_buf_to_arena(&b, x->a);
    str_buf_done(&b);
    return text;
}

static void text__every_section__in_the_order_of_the_rows(void **state)
{
    const struct lb_explain x = every_section(*state);
    assert_string_equal(
        text_of(&x, 0),
        "demo/web is served by a load balancer.\n"
        "  load-balancer-type           not set          → external\n"
        "  finalizer l4-netlb-v1        absent\n"
        "\n"
        "Nodes: 3 of 4 take part\n"
        "  zone-a           3 of 4   node-0 node-1 node-2\n"
        "  at most 25\n"
        "  node-3     left out   " REASON "\n"
        "Packet:  client → 203.0.113.10:80 → any of 3 members, port 80 → a pod (source address is "
        "kept:\n"
        "         policy Local)\n"
        "Health:  GET http://node:10256/healthz every 8 s\n"
        "Status:  another program's\n"
        "  ! two rules have one port\n");
}

/* A word that is too long stands by itself; nothing else is wider than the terminal. */
static void text__narrow_terminals__only_single_names_are_wider(void **state)
{
    static const size_t widths[] = {40, 60, 80, 100, 160};
    struct lb_explain x = every_section(*state);
    lb_explain_decision(&x, "azure-load-balancer-internal-subnet", "a-subnet-with-a-long-name",
                        "by the annotation, which counts before the cloud config and all else");
    for (size_t i = 0; i < ARRAY_LEN(widths); i++) {
        size_t n;
        char **lines = str_split(*state, text_of(&x, widths[i]), '\n', &n);
        for (size_t k = 0; k < n; k++) {
            const char *words = lines[k] + strspn(lines[k], " ");
            if (str_columns(lines[k]) > widths[i] && strchr(words, ' ') != NULL) {
                fail_msg("wider than %zu: %s", widths[i], lines[k]);
            }
        }
    }
    assert_non_null(strstr(text_of(&x, 40), "\n  load-balancer-type\n      not set → external\n"));
}

/* Text that goes to grep has one line per fact, and a name at the end of the answer does not get a
 * line of its own. */
static void text__not_for_a_terminal__a_fact_is_one_line(void **state)
{
    static const char *const answer =
        "is served by the internet-facing classic load balancer "
        "a9f09016abc6f4ccdabfb4a6a4522c9f-a9f09016abc6f4ccdabfb4a6a4522c9f.";
    struct lb_explain x;
    lb_explain_init(&x, *state);
    lb_explain_decision(&x, "is there", "a load balancer of another type than this one",
                        "it stays as it is, whatever the annotations of the Service say");
    lb_explain_answer(&x, "served", NULL, answer);
    size_t n;
    (void)str_split(*state, text_of(&x, 0), '\n', &n);
    assert_int_equal(n, 3); /* two lines, and the nothing behind the second one's end */
    (void)str_split(*state, text_of(&x, 100), '\n', &n);
    assert_true(n > 3);
}

/* A foreign text in every place adds neither a line nor a character that does not show. */
static void text__foreign_text__every_row_stays_a_row(void **state)
{
    static const size_t wide = 10000;
    struct lb_explain x = every_section(*state);
    size_t n_lines = 0;
    for (const char *s = text_of(&x, wide); *s != '\0'; s++) {
        n_lines += *s == '\n';
    }
    for (size_t i = 0; i < x.n; i++) {
        static const char *const names[] = {FOREIGN_TEXT};
        x.rows[i].subject = x.rows[i].section == TT_EXPLAIN_HOP ? x.rows[i].subject : FOREIGN_TEXT;
        x.rows[i].value = x.rows[i].value == NULL ? NULL : FOREIGN_TEXT;
        x.rows[i].outcome = x.rows[i].outcome == NULL ? NULL : FOREIGN_TEXT;
        x.rows[i].names = x.rows[i].n_names > 0 ? names : NULL;
        x.rows[i].n_names = x.rows[i].n_names > 0;
    }
    const char *text = text_of(&x, wide);
    assert_true(foreign_is_shown(text, n_lines));
    assert_non_null(strstr(text, FOREIGN_SHOWN));
}

static void json__every_section__a_member(void **state)
{
    const struct lb_explain x = every_section(*state);
    struct json_object *o = json_object_new_object();
    lb_explain_json(o, x.rows, x.n);
    assert_string_equal(
        json_text(*state, o, JSON_COMPACT),
        "{\"verdict\":\"served\",\"kind\":\"load balancer\",\"answer\":\"is served by a load "
        "balancer.\",\"addresses\":[\"203.0.113.10\"],\"decisions\":[{\"subject\":"
        "\"load-balancer-type\",\"value\":\"not set\",\"outcome\":\"external\"},{\"subject\":"
        "\"finalizer l4-netlb-v1\",\"value\":\"absent\",\"outcome\":null}],\"backends\":{"
        "\"summary\":\"3 of 4 take part\",\"taking_part\":3,\"of\":4,\"rule\":\"at most 25\","
        "\"zones\":[{\"zone\":\"zone-a\",\"taking_part\":3,\"of\":4,\"nodes\":[\"node-0\","
        "\"node-1\",\"node-2\"]}],\"left_out\":[{\"node\":\"node-3\",\"reason\":\"" REASON
        "\"}]},\"packet\":[{\"at\":\"client\",\"name\":\"client\",\"port\":null,"
        "\"source_address\":null},{\"at\":\"load balancer\",\"name\":\"203.0.113.10\",\"port\":80,"
        "\"source_address\":null},{\"at\":\"backend\",\"name\":\"any of 3 members\",\"port\":80,"
        "\"source_address\":null},{\"at\":\"pod\",\"name\":\"a pod\",\"port\":null,"
        "\"source_address\":\"source address is kept: policy Local\"}],\"health_check\":{"
        "\"protocol\":\"HTTP\",\"port\":10256,\"path\":\"/healthz\",\"interval_ms\":8000},"
        "\"notes\":[{\"subject\":\"Status\",\"text\":\"another program's\"}],\"warnings\":["
        "\"two rules have one port\"]}");
    json_object_put(o);
}

static void json__no_rows__every_member_is_there(void **state)
{
    struct json_object *o = json_object_new_object();
    lb_explain_json(o, NULL, 0);
    assert_string_equal(json_text(*state, o, JSON_COMPACT),
                        "{\"verdict\":null,\"kind\":null,\"answer\":null,\"addresses\":[],"
                        "\"decisions\":[],\"backends\":null,\"packet\":[],\"health_check\":null,"
                        "\"notes\":[],\"warnings\":[]}");
    json_object_put(o);
}

/* ---- handing over: a fake host table writes its arguments into the result ---- */

struct tt_result {
    char text[4096];
    size_t n_rows;
    uint32_t last_section;
};

static void result_text(struct tt_result *r, const char *text)
{
    (void)snprintf(r->text, sizeof r->text, "%s", text);
}

static void result_row(struct tt_result *r, const struct tt_explain_row *row)
{
    r->n_rows++;
    r->last_section = row->section;
}

static void add__no_explanation__nothing_happens(void **state)
{
    (void)state;
    lb_explain_answer(NULL, "served", NULL, "is served.");
    lb_explain_decision(NULL, "spec.type", "LoadBalancer", NULL);
    lb_explain_left_out(NULL, "node-0", "not ready");
}

static void send__host_of_1_4__gets_rows(void **state)
{
    const struct lb_explain x = every_section(*state);
    const struct tt_host host = {
        .size = sizeof host, .result_text = result_text, .result_row = result_row};
    struct tt_result r = {0};
    lb_explain_send(&x, &host, &r, "demo/web");
    assert_int_equal(r.n_rows, x.n);
    assert_int_equal(r.last_section, TT_EXPLAIN_ADDRESS);
    assert_string_equal(r.text, "");
}

static void send__host_of_1_3__gets_the_text(void **state)
{
    const struct lb_explain x = every_section(*state);
    const struct tt_host host = {.size = offsetof(struct tt_host, result_row),
                                 .result_text = result_text,
                                 .result_row = result_row};
    struct tt_result r = {0};
    lb_explain_send(&x, &host, &r, "demo/web");
    assert_int_equal(r.n_rows, 0);
    assert_string_equal(r.text, text_of(&x, 0));
}

UNIT_MAIN(explain)
{
    const struct CMUnitTest tests[] = {
        lb_test(text__every_section__in_the_order_of_the_rows),
        lb_test(text__narrow_terminals__only_single_names_are_wider),
        lb_test(text__not_for_a_terminal__a_fact_is_one_line),
        lb_test(text__foreign_text__every_row_stays_a_row),
        lb_test(json__every_section__a_member),
        lb_test(json__no_rows__every_member_is_there),
        lb_test(add__no_explanation__nothing_happens),
        lb_test(send__host_of_1_4__gets_rows),
        lb_test(send__host_of_1_3__gets_the_text),
    };
    return cmocka_run_group_tests_name("explain", tests, NULL, NULL);
}
