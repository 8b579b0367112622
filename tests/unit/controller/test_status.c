/* SPDX-License-Identifier: Apache-2.0 */
/* test_status.c: what syncs leave on the board, as /status shows it: JSON, HTML, text,
 * and JSON read back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/base/str.h"
#include "common/data/json.h"
#include "common/lb/budget_report.h"
#include "controller/status/status.h"
#include "tests/support/foreign.h"
#include "tests/support/unit.h"
#include "tests/unit/controller/stand.h"

struct at {
    struct stand *r;
    struct board *board;
    struct arena *a;
    struct status_view view;
};

/* demo/web is fine, demo/game is refused, demo/slow is to be tried again, demo/new was
 * not looked at yet. */
static int set_up(void **state)
{
    static struct at at;
    struct stand *r = stand_new(TT_CAP_WANTS_ENDPOINTS);

    at = (struct at){.r = r, .board = board_new(r->clock), .a = arena_new()};
    r->syncer.board = at.board;
    stand_node(r, "node-0", NULL, NULL);
    r->provider->ip = "203.0.113.10";
    stand_service(r, "web", STAND_LB, NULL, NULL);
    stand_run(r);
    stand_service(r, "web", STAND_LB, STAND_WITH_F, STAND_STATUS("203.0.113.10"));
    fake_provider_answer(r->provider, (struct fake_answer){TT_VERB_ENSURE, TT_INVALID,
                                                           "<b>mixed</b> & \"bad\"", 0, false});
    stand_service(r, "game", STAND_LB, NULL, NULL);
    stand_run(r);
    fake_provider_answer(r->provider, (struct fake_answer){TT_VERB_ENSURE, TT_QUOTA,
                                                           "quota is used up", 40000, false});
    stand_service(r, "slow", STAND_LB, NULL, NULL);
    stand_run(r);
    stand_service(r, "new", STAND_LB, NULL, NULL);
    stand_service(r, "inner", STAND_CLUSTER_IP, NULL, NULL);
    *state = &at;
    return 0;
}

static int tear_down(void **state)
{
    struct at *at = *state;

    arena_free(at->a);
    stand_free(at->r);
    board_free(at->board);
    return 0;
}

static void look(struct at *at)
{
    at->view = (struct status_view){
        .version = "0.1",
        .provider = "fake",
        .cluster = "c1",
        .running = true,
        .leader = {.elects = true, .leads = true, .lease = "kube-system/lock", .holder = "me"},
    };
    status_look(&(struct status_sources){.board = at->board,
                                         .services = at->r->syncer.services,
                                         .scope = &at->r->syncer.scope,
                                         .queue = at->r->syncer.queue,
                                         .clock = at->r->clock},
                at->a, &at->view);
    at->view.started_us = at->view.now_us - 3000000;
}

/* ---- inside the cluster ---------------------------------------------------------------------- */

/* The page of demo/web, of a process that watches endpoints or does not. */
static void look_at_one(struct at *at, bool watches, struct str_buf *page)
{
    look(at);
    at->view.one = "demo/web";
    status_look(&(struct status_sources){.board = at->board,
                                         .services = at->r->syncer.services,
                                         .nodes = at->r->syncer.nodes,
                                         .slices = watches ? at->r->syncer.slices : NULL,
                                         .scope = &at->r->syncer.scope,
                                         .queue = at->r->syncer.queue,
                                         .clock = at->r->clock},
                at->a, &at->view);
    str_buf_reset(page);
    status_html(page, &at->view, &(struct status_filter){.service = "demo/web"});
}

static void hasnt(const struct str_buf *b, const char *text)
{
    if (strstr(str_buf_text(b), text) != NULL) {
        fail_msg("\"%s\" is in:\n%s", text, str_buf_text(b));
    }
}

static void has(const struct str_buf *b, const char *text);

static void status__page_of_a_service__says_what_is_inside_the_cluster(void **state)
{
    struct at *at = *state;
    _cleanup_(str_buf_done) struct str_buf page = STR_BUF_INIT;

    stand_node(at->r, "node-1", NULL, NULL);
    look_at_one(at, false, &page);
    has(&page, "This process watches no endpoints");
    has(&page, "trimtab explain demo/<wbr>web");
    hasnt(&page, "<svg");
    look_at_one(at, true, &page);
    has(&page, "The Service has no EndpointSlice.");
    stand_slice(at->r, "web-1", "web",
                "{\"addresses\":[\"10.0.0.1\"],\"nodeName\":\"node-0\",\"zone\":\"<a>\"},"
                "{\"addresses\":[\"10.0.0.2\"],\"nodeName\":\"node-0\"},"
                "{\"addresses\":[\"10.0.0.3\"],\"nodeName\":\"<b>gone\","
                "\"conditions\":{\"ready\":false,\"serving\":true,\"terminating\":true}}");
    look_at_one(at, true, &page);
    has(&page, "2 pods on 1 node are ready; 1 pod still serves while terminating; 1 node without a "
               "ready pod passes its traffic on.");
    has(&page, "<svg role=\"img\" aria-labelledby=\"way4 way4-more\"");
    has(&page, "<title id=\"way4\">The way to demo/web</title>");
    has(&page, "The table below says the same.</desc>");
    has(&page, ">2 pods</text>");
    has(&page, ">50.0 % each</text>");
    has(&page, ">left out: no traffic</text>");
    has(&page, "<td data-is=\"traffic to the node\">50.0 %</td>");
    has(&page, "&lt;b&gt;gone</text>");
    has(&page, "Source address: nodes replace it (policy Cluster)");
    hasnt(&page, "<b>gone");
    hasnt(&page, "<script");
    hasnt(&page, "http:");
}

/* The JSON of /status?o=json for the Service, and the output of `trimtab status`. */
static void json_and_text(struct at *at, struct str_buf *json, struct str_buf *shown)
{
    const struct status_filter filter = {.service = "demo/web"};
    struct json_object *o = NULL;
    struct status_view again;
    struct err err = ERR_INIT;
    struct str_buf second = STR_BUF_INIT;

    str_buf_reset(json);
    str_buf_reset(shown);
    status_json(json, &at->view, &filter);
    assert_int_equal(ERR_OK, json_parse_arena(at->a, json->data, json->len, NULL, &o, &err));
    assert_int_equal(ERR_OK, status_read(o, at->a, &again, &err));
    status_json(&second, &again, &filter); /* `trimtab status -o json` prints it again */
    assert_string_equal(str_buf_text(&second), str_buf_text(json));
    str_buf_reset(&second);
    status_text(shown, &again, &filter);
    status_text(&second, &at->view, &filter);
    assert_string_equal(str_buf_text(&second), str_buf_text(shown));
    str_buf_done(&second);
}

static void status__json_and_text_of_a_service__say_what_is_inside_the_cluster(void **state)
{
    struct at *at = *state;
    _cleanup_(str_buf_done) struct str_buf page = STR_BUF_INIT;
    _cleanup_(str_buf_done) struct str_buf json = STR_BUF_INIT;
    _cleanup_(str_buf_done) struct str_buf shown = STR_BUF_INIT;

    stand_node(at->r, "node-1", NULL, NULL);
    look_at_one(at, false, &page);
    json_and_text(at, &json, &shown);
    has(&json, "\"inside\": null");
    has(&shown, "the process watches no endpoints");
    look_at_one(at, true, &page);
    json_and_text(at, &json, &shown);
    has(&json, "\"inside\": []");
    has(&shown, "the Service has no EndpointSlice");
    stand_slice(at->r, "web-1", "web",
                "{\"addresses\":[\"10.0.0.1\"],\"nodeName\":\"node-0\",\"zone\":\"a\"},"
                "{\"addresses\":[\"10.0.0.2\"],\"nodeName\":\"node-0\"},"
                "{\"addresses\":[\"10.0.0.3\"],\"nodeName\":\"evil\\u001b[1m\"}");
    look_at_one(at, true, &page);
    json_and_text(at, &json, &shown);
    has(&json, "\"nodes_without_pods\": 1");
    has(&json, "\"address\": \"10.0.0.1:8080\"");
    has(&json, "\"hints\": null");
    has(&shown, "Inside the cluster:\nPods:    3 pods on 2 nodes are ready\n");
    has(&shown, "takes 50.0 % of the traffic");
    hasnt(&shown, "\033");
    hasnt(&json, "\033");

    look(at); /* of no Service alone: nothing is checked */
    status_json(&page, &at->view, &(struct status_filter){0});
    hasnt(&page, "\"inside\"");
}

static void status__services__failures_come_first_and_strangers_are_left_out(void **state)
{
    static const struct {
        const char *key;
        enum board_state state;
        const char *address;
    } want[] = {
        {"demo/game", BOARD_FAILED, ""},
        {"demo/slow", BOARD_RETRYING, ""},
        {"demo/new", BOARD_WAITING, ""},
        {"demo/web", BOARD_READY, "203.0.113.10"},
    };
    struct at *at = *state;

    look(at);
    assert_int_equal(at->view.n_services, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct status_service *s = &at->view.services[i];
        assert_string_equal(s->row.key, want[i].key);
        assert_int_equal(s->row.state, want[i].state);
        assert_string_equal(s->address, want[i].address);
    }
    assert_int_equal(at->view.by_state[BOARD_FAILED], 1);
    assert_int_equal(at->view.services[0].row.failures, 1);
    assert_int_equal(at->view.services[1].row.next_us, at->view.now_us + 40000000);
    assert_int_equal(at->view.queue.waiting, 1);
}

static void status__service_that_went__is_not_shown_any_more(void **state)
{
    struct at *at = *state;

    stand_run(at->r);
    stand_service_gone(at->r, "web");
    stand_run(at->r);
    look(at);
    assert_int_equal(at->view.n_services, 3);
    assert_int_equal(at->view.by_state[BOARD_READY], 1);
}

static void status__json__reads_back_as_the_same_view(void **state)
{
    struct at *at = *state;
    const struct status_filter all = {0};
    struct str_buf first = STR_BUF_INIT;
    struct str_buf second = STR_BUF_INIT;
    struct json_object *o = NULL;
    struct status_view again;
    struct err err = ERR_INIT;

    look(at);
    status_json(&first, &at->view, &all);
    assert_int_equal(ERR_OK, json_parse_arena(at->a, first.data, first.len, NULL, &o, &err));
    assert_string_equal(
        "demo/game", json_str(json_object_array_get_idx(json_member(o, "services"), 0), "service"));
    assert_int_equal(ERR_OK, status_read(o, at->a, &again, &err));
    assert_int_equal(again.n_services, 4);
    assert_int_equal(again.by_state[BOARD_RETRYING], 1);
    assert_string_equal(again.services[1].row.message, at->view.services[1].row.message);
    status_text(&second, &again, &all);
    str_buf_reset(&first);
    status_text(&first, &at->view, &all);
    assert_string_equal(first.data, second.data);
    str_buf_done(&first);
    str_buf_done(&second);
}

static void has(const struct str_buf *b, const char *text)
{
    if (strstr(str_buf_text(b), text) == NULL) {
        fail_msg("\"%s\" is not in:\n%s", text, str_buf_text(b));
    }
}

/* In text, page and JSON, of one Service and of all. */
static void add_metric(struct tt_host_ctx *m, const char *name, const struct tt_kv *labels,
                       uint32_t n, double v)
{
    metrics_add((struct metrics *)m, name, labels, n, v);
}

static void set_metric(struct tt_host_ctx *m, const char *name, const struct tt_kv *labels,
                       uint32_t n, double v)
{
    metrics_set((struct metrics *)m, name, labels, n, v);
}

/* As a provider's budgets report it. */
static void report(const struct tt_host *host, enum budget_event event, int times,
                   const struct budget_view *now)
{
    for (int i = 0; i < times; i++) {
        lb_budget_report((void *)(uintptr_t)host, event, now);
    }
}

/* Kinds of requests that a cloud slows down, from a provider's budgets to a reader of the JSON. */
static void status__requests_that_wait__are_told_by_kind(void **state)
{
    struct at *at = *state;
    struct str_buf json = STR_BUF_INIT, shown = STR_BUF_INIT, page = STR_BUF_INIT;
    struct metrics *m = metrics_new();
    const struct tt_host host = {.size = sizeof(host),
                                 .ctx = (struct tt_host_ctx *)m,
                                 .metric_add = add_metric,
                                 .metric_set = set_metric};
    const struct budget_view writes = {.api = "aws", .kind = "ec2 writes", .per_second = 2.5};
    const struct budget_view reads = {.api = "aws", .kind = "ec2 reads", .per_second = 21};
    report(&host, BUDGET_HELD, 14, &writes);
    report(&host, BUDGET_REFUSED, 3, &writes);
    report(&host, BUDGET_RATE, 1, &reads);
    look(at);
    status_budgets(m, 20, 30, at->a, &at->view);
    assert_int_equal(at->view.n_budgets, 3);
    assert_string_equal(at->view.budgets[0].kind, "");
    status_json(&json, &at->view, &(struct status_filter){0});
    struct json_object *o = NULL;
    struct err err = ERR_INIT;
    assert_int_equal(json_parse_arena(at->a, json.data, json.len, NULL, &o, &err), ERR_OK);
    struct status_view back = {0};
    assert_int_equal(status_read(o, at->a, &back, &err), ERR_OK);
    assert_int_equal(back.n_budgets, 3);
    status_text(&shown, &back, &(struct status_filter){0});
    has(&shown, "API aws, ec2 writes: 14 waited for their turn, 3 throttled; at most 2.5 per "
                "second now");
    has(&shown, "API aws, ec2 reads: 0 waited for their turn, 0 throttled; at most 21 per second "
                "now");
    status_html(&page, &at->view, &(struct status_filter){0});
    has(&page, "<p>API aws, ec2 writes: 14 waited for their turn, 3 throttled; at most 2.5 per "
               "second now.</p>");
    str_buf_done(&json);
    str_buf_done(&shown);
    str_buf_done(&page);
    metrics_free(m);
}

static void status__findings__are_shown_although_all_is_well(void **state)
{
    struct at *at = *state;
    static const struct tt_finding one = {
        .size = sizeof(one), .reason = "AnnotationIgnored", .message = "annotation <a> is odd"};
    static const struct tt_finding *const findings[] = {&one};
    static const struct tt_plan_service service = {.size = sizeof(service),
                                                   .key = "demo/web",
                                                   .findings = findings,
                                                   .n_findings = 1,
                                                   .serves_nobody = "no node takes part"};
    static const struct tt_plan_service *const services[] = {&service};
    static const struct status_filter filters[] = {{0}, {.service = "demo/web"}};

    board_plan(
        at->board,
        &(struct tt_plan){.size = sizeof(struct tt_plan), .services = services, .n_services = 1});
    look(at);
    for (size_t i = 0; i < ARRAY_LEN(filters); i++) {
        _cleanup_(str_buf_done) struct str_buf text = STR_BUF_INIT;
        _cleanup_(str_buf_done) struct str_buf page = STR_BUF_INIT;
        _cleanup_(str_buf_done) struct str_buf json = STR_BUF_INIT;
        status_text(&text, &at->view, &filters[i]);
        has(&text, "! serves nobody: no node takes part\n");
        has(&text, "! annotation <a> is odd\n");
        status_html(&page, &at->view, &filters[i]);
        has(&page, "! serves nobody: no node takes part");
        has(&page, "! annotation &lt;a&gt; is odd");
        status_json(&json, &at->view, &filters[i]);
        has(&json, "\"findings\": [\"annotation <a> is odd\"], \"serves_nobody\": \"no node takes "
                   "part\"");
    }
}

static void status__document_of_another_kind__is_refused(void **state)
{
    static const char *const texts[] = {"{}", "[]", "{\"leader\": {}}", "{\"services\": 1}",
                                        "{\"leader\": 1, \"services\": {}}"};
    struct at *at = *state;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct json_object *o = NULL;
        struct status_view v;
        struct err err = ERR_INIT;
        assert_int_equal(ERR_OK,
                         json_parse_arena(at->a, texts[i], strlen(texts[i]), NULL, &o, &err));
        assert_int_equal(ERR_INVALID, status_read(o, at->a, &v, &err));
    }
}

static void status__html__escapes_and_says_first_what_matters(void **state)
{
    struct at *at = *state;
    const struct status_filter all = {0};
    struct str_buf b = STR_BUF_INIT;

    look(at);
    status_html(&b, &at->view, &all);
    has(&b, "<h1>2 of 4 load balancers need attention</h1>");
    has(&b, "This process is the leader: it holds kube-system/lock.");
    has(&b, "&lt;b&gt;mixed&lt;/b&gt; &amp; &quot;bad&quot;");
    has(&b, "✗&nbsp;Failed");
    has(&b, "!&nbsp;Retrying</span>, again in 40 s");
    has(&b, "<span class=\"ip\">203.0.113.10</span>"); /* a line ends between its parts nowhere */
    has(&b, "<a href=\"?service=demo/web\">demo/<wbr>web</a>");
    assert_null(strstr(b.data, "<b>mixed"));
    assert_null(strstr(b.data, "<script"));
    assert_null(strstr(b.data, "http://"));
    str_buf_reset(&b);
    status_html(&b, &at->view, &(struct status_filter){.most = 1});
    has(&b, "3 more are not shown");
    str_buf_reset(&b);
    status_html(&b, &at->view,
                &(struct status_filter){.service = "demo/<x>", .absent = "no Service demo/<x>"});
    has(&b, "<h2>Not found</h2>\n<p>no Service demo/&lt;x&gt;.</p>");
    str_buf_reset(&b);
    status_html(&b, &at->view, &(struct status_filter){.absent = "did you mean x?"});
    has(&b, "<p>did you mean x?</p>");
    str_buf_reset(&b);
    status_html(&b, &at->view, &(struct status_filter){.absent = "starting", .not_read = true});
    has(&b, "<h2>Not known yet</h2>\n<p>starting.</p>");
    str_buf_done(&b);
}

static void status__text__is_a_table_with_the_failure_below_its_line(void **state)
{
    struct at *at = *state;
    struct str_buf b = STR_BUF_INIT;

    look(at);
    status_text(&b, &at->view, &(struct status_filter){.ns = "demo"});
    assert_true(str_has_prefix(b.data, "2 of 4 load balancers need attention\n"));
    has(&b, "\nSERVICE    STATE ");
    has(&b, "\ndemo/slow  ! Retrying, again in 40 s ");
    has(&b, "\n    failed to ensure load balancer: quota is used up\n");
    str_buf_reset(&b);
    status_text(&b, &at->view, &(struct status_filter){.service = "demo/web"});
    assert_true(str_has_prefix(b.data, "Service demo/web  Ready\n"));
    has(&b, "\nNothing is pending.\n");
    str_buf_reset(&b);
    status_text(&b, &at->view, &(struct status_filter){.ns = "other"});
    assert_null(strstr(b.data, "demo/"));
    str_buf_done(&b);
}

static void status__filter__is_what_answer_and_summary_count(void **state)
{
    const char *const two[] = {"demo/web", "demo/slow"};
    const struct {
        struct status_filter filter;
        const char *answer, *summary;
    } rows[] = {
        {{.only = two, .n_only = 1}, "the load balancer is as it should be", "\"failed\": 0"},
        {{.only = two, .n_only = 2}, "1 of 2 load balancers needs attention", "\"ready\": 1"},
        {{.service = "demo/web"}, "the load balancer is as it should be", "\"retrying\": 0"},
        {{.service = "demo/game"}, "1 of 1 load balancer needs attention", "\"ready\": 0"},
        {{.ns = "other"}, "there are no load balancers to look after", "\"waiting\": 0"},
        {{.service = "demo/x", .absent = "no"}, "2 of 4 load balancers need attention", NULL},
        {{.most = 1}, "2 of 4 load balancers need attention", "\"failed\": 1"},
    };
    struct at *at = *state;

    look(at);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str_buf b = STR_BUF_INIT;
        status_html(&b, &at->view, &rows[i].filter);
        has(&b, arena_printf(at->a, "<h1>%s</h1>", rows[i].answer));
        if (rows[i].filter.service == NULL) {
            str_buf_reset(&b);
            status_text(&b, &at->view, &rows[i].filter);
            has(&b, arena_printf(at->a, "%s\n", rows[i].answer));
        }
        str_buf_reset(&b);
        status_json(&b, &at->view, &rows[i].filter);
        has(&b, str_or(rows[i].summary, ""));
        str_buf_done(&b);
    }
}

/* A text of a cloud or an annotation; `plan` has its own line. */
static void spoil(struct at *at, const char *text, const char *plan)
{
    static struct tt_condition condition;
    condition =
        (struct tt_condition){.type = text, .status = text, .reason = text, .message = text};
    look(at);
    at->view.cluster = text;
    at->view.leader.leads = false;
    at->view.leader.holder = text;
    for (size_t i = 0; i < at->view.n_services; i++) {
        struct status_service *s = &at->view.services[i];
        s->row.kind = text;
        s->row.message = s->row.code == TT_OK ? s->row.message : text;
        s->row.plan = plan;
        s->row.left = plan;
        s->address = text;
        s->conditions = &condition;
        s->n_conditions = 1;
    }
}

static void status__foreign_text__adds_no_line_and_nothing_unseen(void **state)
{
    static void (*const prints[])(struct str_buf *, const struct status_view *,
                                  const struct status_filter *) = {status_text, status_html,
                                                                   status_json};
    static const struct status_filter filters[] = {{0}, {.service = "demo/game"}};
    struct at *at = *state;

    for (size_t i = 0; i < ARRAY_LEN(prints) * ARRAY_LEN(filters); i++) {
        struct str_buf plain = {.columns = 10000};
        struct str_buf foreign = {.columns = 10000};
        size_t lines = 0;
        spoil(at, "plain", "+ a\n- b\n");
        prints[i / 2](&plain, &at->view, &filters[i % 2]);
        spoil(at, FOREIGN_TEXT, "+ " FOREIGN_TEXT "- b\n");
        prints[i / 2](&foreign, &at->view, &filters[i % 2]);
        for (size_t k = 0; k < plain.len; k++) {
            lines += plain.data[k] == '\n';
        }
        if (prints[i / 2] == status_html) { /* white space is none of HTML's lines */
            lines = 0;
            for (size_t k = 0; k < foreign.len; k++) {
                lines += foreign.data[k] == '\n';
            }
        }
        assert_true(foreign_is_shown(foreign.data, lines));
        has(&foreign, "\\u009b\\u202e\\u2028");
        str_buf_done(&plain);
        str_buf_done(&foreign);
    }
}

static void board_plan__foreign_text__a_line_for_each_operation(void **state)
{
    struct at *at = *state;
    static const char *const owners[] = {"demo/web"};
    const struct tt_operation op = {.size = sizeof op,
                                    .n = 1,
                                    .verb = TT_OP_CHANGE,
                                    .wave = 1,
                                    .kind = FOREIGN_TEXT,
                                    .name = FOREIGN_TEXT,
                                    .why = FOREIGN_TEXT,
                                    .owners = owners,
                                    .n_owners = 1};
    const struct tt_operation *const ops[] = {&op};
    const struct tt_plan_service service = {.size = sizeof service, .key = "demo/web", .kind = "k"};
    const struct tt_plan_service *const services[] = {&service};
    board_plan(at->board, &(struct tt_plan){.size = sizeof(struct tt_plan),
                                            .services = services,
                                            .n_services = 1,
                                            .operations = ops,
                                            .n_operations = 1,
                                            .waves = 1});
    look(at);
    for (size_t i = 0; i < at->view.n_services; i++) {
        if (str_eq(at->view.services[i].row.key, "demo/web")) {
            assert_string_equal(at->view.services[i].row.plan, "~ " FOREIGN_SHOWN " " FOREIGN_SHOWN
                                                               "  because " FOREIGN_SHOWN "\n");
        }
    }
}

static void status__at_rest__told_with_the_moment_of_the_next_work(void **state)
{
    static const struct {
        int64_t due_ms;
        const char *want;
    } rows[] = {{-1, "At rest: nothing waits."},
                {40000, "At rest: the next work is due in 40 s."},
                {240000, "At rest: the next work is due in 4 min."}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
        const struct status_view v = {.at_rest = true, .next_due_ms = rows[i].due_ms};
        status_rest(&b, &v);
        assert_string_equal(str_buf_text(&b), rows[i].want);
    }
}

static void status__words__span_and_leader(void **state)
{
    static const struct {
        int64_t s;
        const char *text;
    } spans[] = {{-5, "0 s"},   {119, "119 s"},   {120, "2 min"}, {7199, "119 min"},
                 {7200, "2 h"}, {172799, "47 h"}, {172800, "2 d"}};
    static const struct {
        struct status_leader leader;
        const char *text;
    } leaders[] = {
        {{.elects = false}, "works alone"},
        {{.elects = true, .leads = false, .lease = "a/b", .holder = ""}, "a/b has no holder yet."},
        {{.elects = true, .leads = false, .lease = "a/b", .holder = "x_1"}, "a/b is held by x_1."},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(spans); i++) {
        struct str_buf b = STR_BUF_INIT;
        status_span(&b, spans[i].s * 1000000);
        assert_string_equal(spans[i].text, b.data);
        str_buf_done(&b);
    }
    for (size_t i = 0; i < ARRAY_LEN(leaders); i++) {
        struct str_buf b = STR_BUF_INIT;
        status_leads(&b, &leaders[i].leader);
        has(&b, leaders[i].text);
        str_buf_done(&b);
    }
}

UNIT_MAIN(status)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(status__services__failures_come_first_and_strangers_are_left_out),
        TEST(status__service_that_went__is_not_shown_any_more),
        TEST(status__json__reads_back_as_the_same_view),
        TEST(status__requests_that_wait__are_told_by_kind),
        TEST(status__findings__are_shown_although_all_is_well),
        TEST(status__document_of_another_kind__is_refused),
        TEST(status__html__escapes_and_says_first_what_matters),
        TEST(status__text__is_a_table_with_the_failure_below_its_line),
        TEST(status__filter__is_what_answer_and_summary_count),
        TEST(status__foreign_text__adds_no_line_and_nothing_unseen),
        TEST(board_plan__foreign_text__a_line_for_each_operation),
        TEST(status__at_rest__told_with_the_moment_of_the_next_work),
        TEST(status__words__span_and_leader),
        TEST(status__page_of_a_service__says_what_is_inside_the_cluster),
        TEST(status__json_and_text_of_a_service__say_what_is_inside_the_cluster),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
