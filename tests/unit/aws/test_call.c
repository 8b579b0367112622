/* SPDX-License-Identifier: Apache-2.0 */
/* test_call.c: one call of the Query protocol from its parameters to its outcome (docs/spec/aws.md
 * 2.8 to 2.10, 3.1 to 3.4).
 *
 * Each row is a conversation: what must be sent, after how long, and what is answered.  Randomness
 * is at one half. */
#include "tests/unit/aws/call_dialog.h"

#include "providers/aws/api/aws_client.h"
#include "tests/support/clock_fake.h"
#include "tests/support/http_ignore_sent.h"
#include "tests/support/test_server.h"
#include "tests/support/unit.h"

struct talk {
    const char *name;
    struct turn turns[6];
    size_t n;
    int code;
    const char *says; /* part of the message; NULL: none */
    bool mutates;
    bool maybe_done;
};

static void run_talk(struct call_kit *k, const struct talk *talk)
{
    struct dialog d;
    dialog_begin(&d, k, AWS_EC2, talk->mutates);
    dialog_step(&d, NULL);
    for (size_t i = 0; i < talk->n; i++) {
        if (d.next != HTTP_SEND) {
            fail_msg("%s: ended after %zu turns: %s", talk->name, i, d.err.message);
        }
        dialog_check_sent(&d, talk->name, i, &talk->turns[i]);
        dialog_answer(&d, &talk->turns[i]);
    }
    if (d.next != HTTP_DONE || d.call.requests != talk->n) {
        fail_msg("%s: wants more than %zu requests", talk->name, talk->n);
    }
    if (d.err.code != talk->code ||
        (talk->says != NULL && strstr(d.err.message, talk->says) == NULL)) {
        fail_msg("%s: got %s: %s, want %s: %s", talk->name, err_code_name(d.err.code),
                 d.err.message, err_code_name(talk->code), str_nonnull(talk->says));
    }
    assert_int_equal(d.call.maybe_done, talk->maybe_done);
    if (talk->code == ERR_OK) {
        same_text(talk->name, aws_xml_text(d.call.root, "thing"), "1");
        same_text(talk->name, d.call.request_id, "r-1");
    }
}

/* Each with a client of its own: what one learns is no business of the next. */
static void run_talks(const struct talk *talks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        void *k;
        (void)call_kit_setup(&k);
        call_kit_open(k, KIT_KEYS, KIT_URL, NULL);
        run_talk(k, &talks[i]);
        (void)call_kit_teardown(&k);
    }
}

static void call__good_and_bad_answers(void **state)
{
    static const struct talk talks[] = {
        {.name = "at once", .n = 1, .turns = {{.status = 200, .body = OK}}},
        {.name = "encoded",
         .n = 1,
         .turns = {{.status = 200,
                    .body = OK,
                    .date = "20231114T221320Z",
                    .sends = "Action=DescribeThings&Version=2016-11-15&GroupId=sg-1&"
                             "Text=a%20b%26%C3%A4~"}}},
        {.name = "twice unwell",
         .n = 3,
         .turns = {{.status = 503, .body = HTML},
                   {.waits_ms = 1000, .status = 0},
                   {.waits_ms = 2000, .status = 200, .body = OK}}},
        {.name = "thrice unwell",
         .n = 3,
         .turns = {{.status = 500},
                   {.waits_ms = 1000, .status = 502},
                   {.waits_ms = 2000, .status = 504, .body = HTML}},
         .code = ERR_TRANSIENT,
         .says = "DescribeThings sg-1: HTTP status 504"},
        {.name = "refused",
         .n = 1,
         .turns = {{.status = 400, .body = REFUSAL("DependencyViolation")}},
         .code = ERR_IN_USE,
         .says = "DescribeThings sg-1: DependencyViolation: no (request r-9)"},
        {.name = "refused with 200",
         .n = 1,
         .turns = {{.status = 200, .body = REFUSAL("InvalidGroup.NotFound")}},
         .code = ERR_NOT_FOUND},
        {.name = "throttled with 400",
         .n = 3,
         .turns = {{.status = 400, .body = REFUSAL("Throttling")},
                   {.waits_ms = 1000, .status = 503, .body = REFUSAL("RequestLimitExceeded")},
                   {.waits_ms = 2000, .status = 400, .body = REFUSAL("SlowDown")}},
         .code = ERR_THROTTLED,
         .says = "SlowDown"},
        {.name = "the server wants more time",
         .n = 2,
         .turns = {{.status = 503, .header = "Retry-After", .value = "7"},
                   {.waits_ms = 7000, .status = 200, .body = OK}}},
        {.name = "the server wants much more time",
         .n = 1,
         .turns = {{.status = 503, .header = "Retry-After", .value = "300"}},
         .code = ERR_TRANSIENT},
        {.name = "a page of a proxy",
         .n = 2,
         .turns = {{.status = 200, .body = HTML}, {.waits_ms = 1000, .status = 200, .body = OK}}},
        {.name = "cut",
         .n = 2,
         .turns = {{.status = 200, .body = "<DescribeThingsResponse><thing>"},
                   {.waits_ms = 1000, .status = 200, .body = OK}}},
        {.name = "nothing",
         .n = 3,
         .turns = {{.status = 200, .body = ""},
                   {.waits_ms = 1000, .status = 200, .body = "\xff\xfe"},
                   {.waits_ms = 2000, .status = 200, .body = "<OtherResponse/>"}},
         .code = ERR_TRANSIENT,
         .says = "about something else"},
        {.name = "a document type",
         .n = 1,
         .turns = {{.status = 200,
                    .body = "<!DOCTYPE x [<!ENTITY a \"b\">]><DescribeThingsResponse/>"}},
         .code = ERR_INVALID},
        {.name = "a certificate that is not trusted",
         .n = 1,
         .turns = {{.status = -1, .body = "untrusted"}},
         .code = ERR_TRANSIENT},
        {.name = "keys that do not exist",
         .n = 1,
         .turns = {{.status = 403, .body = REFUSAL("InvalidClientTokenId")}},
         .code = ERR_AUTH},
    };
    (void)state;
    run_talks(talks, ARRAY_LEN(talks));
}

static void call__server_that_is_not_there__tried_again_by_the_controller_only(void **state)
{
    static const char *const reasons[] = {"refused", "no-host", "broken"};
    for (size_t i = 0; i < 2 * ARRAY_LEN(reasons); i++) {
        void *kit;
        struct dialog d;
        bool once = i >= ARRAY_LEN(reasons);
        const struct turn lost = {.status = -1, .body = reasons[i % ARRAY_LEN(reasons)]};
        (void)call_kit_setup(&kit);
        struct call_kit *k = kit;
        call_kit_open(k, KIT_KEYS, KIT_URL, NULL);
        k->client->answers_once = once;
        dialog_begin(&d, k, AWS_EC2, false);
        dialog_step(&d, NULL);
        dialog_answer(&d, &lost);
        bool ended = d.next == HTTP_DONE;
        assert_int_equal(ended, once && !str_eq(lost.body, "broken"));
        (void)call_kit_teardown(&kit);
    }
    (void)state;
}

static void call__mutation__says_when_an_answer_was_lost(void **state)
{
    static const struct talk talks[] = {
        {.name = "refused",
         .mutates = true,
         .n = 1,
         .code = ERR_EXISTS,
         .turns = {{.status = 400, .body = REFUSAL("DuplicateListener")}}},
        {.name = "lost, then there",
         .mutates = true,
         .n = 2,
         .code = ERR_EXISTS,
         .maybe_done = true,
         .turns = {{.status = 0},
                   {.waits_ms = 1000, .status = 400, .body = REFUSAL("DuplicateListener")}}},
        {.name = "500",
         .mutates = true,
         .n = 2,
         .maybe_done = true,
         .turns = {{.status = 500}, {.waits_ms = 1000, .status = 200, .body = OK}}},
    };
    (void)state;
    run_talks(talks, ARRAY_LEN(talks));
}

static void call__clock_is_off__takes_the_servers_time(void **state)
{
    static const struct talk talks[] = {
        {.name = "ten minutes",
         .n = 2,
         .turns = {{.status = 401,
                    .header = "Date",
                    .value = DATE_10MIN,
                    .body = REFUSAL("AuthFailure")},
                   {.status = 200, .body = OK, .date = "20231114T222320Z"}}},
        {.name = "and not for that reason",
         .n = 2,
         .turns = {{.status = 403,
                    .header = "Date",
                    .value = DATE_10MIN,
                    .body = REFUSAL("RequestTimeTooSkewed")},
                   {.status = 403,
                    .header = "Date",
                    .value = DATE_10MIN,
                    .body = REFUSAL("SignatureDoesNotMatch")}},
         .code = ERR_AUTH},
        {.name = "a server that cannot tell the time",
         .n = 2,
         .turns = {{.status = 403,
                    .header = "Date",
                    .value = DATE_10MIN,
                    .body = REFUSAL("RequestTimeTooSkewed")},
                   {.status = 403,
                    .header = "Date",
                    .value = DATE_20MIN,
                    .body = REFUSAL("RequestTimeTooSkewed")}},
         .code = ERR_AUTH},
        {.name = "three minutes",
         .n = 1,
         .turns = {{.status = 403,
                    .header = "Date",
                    .value = DATE_3MIN,
                    .body = REFUSAL("RequestTimeTooSkewed")}},
         .code = ERR_AUTH},
        {.name = "measured at the middle of the request",
         .n = 2,
         .turns = {{.status = 403,
                    .header = "Date",
                    .value = DATE_10MIN,
                    .body = REFUSAL("RequestTimeTooSkewed"),
                    .takes_ms = 20000},
                   {.status = 200, .body = OK, .date = "20231114T222330Z"}}},
        {.name = "slow",
         .n = 1,
         .turns = {{.status = 403,
                    .header = "Date",
                    .value = DATE_10MIN,
                    .body = REFUSAL("RequestTimeTooSkewed"),
                    .takes_ms = 30001}},
         .code = ERR_AUTH},
        {.name = "of another reason",
         .n = 1,
         .turns = {{.status = 400,
                    .header = "Date",
                    .value = DATE_10MIN,
                    .body = REFUSAL("ValidationError")}},
         .code = ERR_INVALID},
        {.name = "no date",
         .n = 1,
         .turns = {{.status = 403, .body = REFUSAL("RequestTimeTooSkewed")}},
         .code = ERR_AUTH},
        {.name = "a date of another century",
         .n = 1,
         .turns = {{.status = 403,
                    .header = "Date",
                    .value = "Tue, 14 Nov 2090 22:13:20 GMT",
                    .body = REFUSAL("RequestTimeTooSkewed")}},
         .code = ERR_AUTH},
    };
    (void)state;
    run_talks(talks, ARRAY_LEN(talks));
}

/* The server's time as far as the client has learnt it. */
static int64_t server_time_s(struct call_kit *k)
{
    int64_t wall_us = clock_wall_us(k->clock);
    bool probes;
    return (wall_us + aws_client_skew(k->client, clock_now_ms(k->clock), wall_us, false, &probes)) /
           1000000;
}

static const char *date_of_next(struct call_kit *k, const struct turn *t, bool mutates)
{
    struct dialog d;
    dialog_begin(&d, k, AWS_ELB, mutates);
    dialog_step(&d, NULL);
    const char *date = sent_header(&d, "X-Amz-Date");
    for (; t->status != 0; t++) {
        dialog_answer(&d, t);
    }
    return date;
}

static void call__clock_was_off__is_looked_at_again(void **state)
{
    static const struct turn late[] = {{.status = 403,
                                        .header = "Date",
                                        .value = DATE_10MIN,
                                        .body = REFUSAL("RequestTimeTooSkewed")},
                                       {.status = 200, .body = OK},
                                       {0}};
    static const struct turn well[] = {{.status = 200, .body = OK}, {0}};
    struct call_kit *k = *state;
    call_kit_open(k, KIT_KEYS, KIT_URL, NULL);
    same_text("first", date_of_next(k, late, false), "20231114T221320Z");
    same_text("learnt", date_of_next(k, well, false), "20231114T222320Z");
    assert_int_equal(server_time_s(k), KIT_WALL_S + 600);
    clock_fake_advance(k->clock, 600000);
    same_text("no write is a probe", date_of_next(k, well, true), "20231114T223320Z");
    same_text("probe", date_of_next(k, well, false), "20231114T222320Z");
    same_text("it went well", date_of_next(k, well, false), "20231114T222320Z");
    clock_fake_advance(k->clock, -600000);
    (void)date_of_next(k, late, false);
    clock_fake_set_wall_us(k->clock, (KIT_WALL_S + 600) * INT64_C(1000000));
    same_text("the own clock was set", date_of_next(k, well, false), "20231114T222320Z");
}

static void call__answer_of_a_cache__teaches_no_time(void **state)
{
    struct call_kit *k = *state;
    struct dialog d;
    call_kit_open(k, KIT_KEYS, KIT_URL, NULL);
    dialog_begin(&d, k, AWS_EC2, false);
    dialog_step(&d, NULL);
    const struct http_header headers[] = {{"Date", DATE_10MIN}, {"Age", "500"}};
    const char *body = REFUSAL("RequestTimeTooSkewed");
    const struct http_response resp = {
        .status = 403, .body = body, .body_len = strlen(body), .headers = headers, .n_headers = 2};
    dialog_step(&d, &resp);
    assert_int_equal(d.next, HTTP_DONE);
    assert_int_equal(d.err.code, ERR_AUTH);
    assert_int_equal(server_time_s(k), KIT_WALL_S);
}

/* ---- keys ------------------------------------------------------------------------------------ */

#define KEYS(n)                                                                                    \
    "{\"AccessKeyId\":\"AKID" n "\",\"SecretAccessKey\":\"secret-number-" n                        \
    "\",\"Token\":\"token-number-" n "\",\"Expiration\":\"2023-11-15T22:13:20Z\"}"

static void call__keys_expired__gets_new_ones_once(void **state)
{
    static const char *const codes[] = {"ExpiredToken", "ExpiredTokenException", "RequestExpired",
                                        "InvalidClientTokenId"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        void *p;
        struct dialog d;
        (void)call_kit_setup(&p);
        struct call_kit *k = p;
        const struct turn refused = {.status = 403,
                                     .header = "Date",
                                     .value = DATE_NOW,
                                     .body = str_replace(k->a, REFUSAL("CODE"), "CODE", codes[i])};
        call_kit_open(k, KIT_CONTAINER, KIT_URL, NULL);
        dialog_begin(&d, k, AWS_EC2, false);
        dialog_step(&d, NULL);
        same_text(codes[i], d.req.url, "http://127.0.0.1/keys");
        dialog_answer(&d, &(struct turn){.status = 200, .body = KEYS("1")});
        assert_non_null(strstr(sent_header(&d, "Authorization"), "AKID1"));
        same_text(codes[i], sent_header(&d, "X-Amz-Security-Token"), "token-number-1");
        dialog_answer(&d, &refused);
        same_text(codes[i], d.req.url, "http://127.0.0.1/keys");
        dialog_answer(&d, &(struct turn){.status = 200, .body = KEYS("2")});
        assert_non_null(strstr(sent_header(&d, "Authorization"), "AKID2"));
        dialog_answer(&d, &refused);
        assert_int_equal(d.next, HTTP_DONE);
        assert_int_equal(d.err.code, ERR_AUTH);
        assert_int_equal(d.call.requests, 2);
        (void)call_kit_teardown(&p);
    }
}

static void call__server_tells_secrets__they_are_masked(void **state)
{
    struct call_kit *k = *state;
    struct dialog d;
    call_kit_open(k, KIT_CONTAINER, KIT_URL, NULL);
    dialog_begin(&d, k, AWS_EC2, false);
    dialog_step(&d, NULL);
    dialog_answer(&d, &(struct turn){.status = 200, .body = KEYS("1")});
    dialog_answer(
        &d, &(struct turn){.status = 400,
                           .body = "<Response><Errors><Error><Code>X</Code><Message>by "
                                   "secret-number-1 and token-number-1</Message></Error></Errors>"
                                   "</Response>"});
    same_text("message", d.err.message, "DescribeThings sg-1: X: by *** and ***");
}

/* ---- what calls share ------------------------------------------------------------------------ */

struct counted {
    struct str_buf lines;
};

static void count(struct tt_host_ctx *ctx, const char *name, const struct tt_kv *labels,
                  uint32_t n_labels, double value)
{
    struct counted *c = (struct counted *)ctx;
    (void)value;
    str_append(&c->lines, name);
    for (uint32_t i = 0; i < n_labels; i++) {
        str_appendf(&c->lines, " %s=%s", labels[i].key, labels[i].value);
    }
    str_append(&c->lines, "\n");
}

static void call__throttled_for_good__holds_up_the_next_of_this_api(void **state)
{
    struct call_kit *k = *state;
    struct counted counted = {0};
    const struct tt_host host = {
        .ctx = (struct tt_host_ctx *)&counted, .metric_add = count, .metric_observe = count};
    struct dialog d;
    call_kit_open(k, KIT_KEYS, KIT_URL, &host);
    for (int i = 0; i < 2; i++) {
        dialog_begin(&d, k, AWS_EC2, false);
        d.call.action = "DescribeInstances";
        dialog_step(&d, NULL);
        assert_int_equal(clock_now_ms(k->clock) - d.answered_ms, i == 0 ? 0 : 10000);
        same_text("API", d.req.api, "aws"); /* as what the handle counts it */
        same_text("operation", d.req.op, "ec2.DescribeInstances");
        while (i == 0 && d.next == HTTP_SEND) {
            dialog_answer(&d,
                          &(struct turn){.status = 503, .body = REFUSAL("RequestLimitExceeded")});
        }
    }
    dialog_answer(&d, &(struct turn){.status = 200, .body = "<DescribeInstancesResponse/>"});
    dialog_begin(&d, k, AWS_ELB, false);
    dialog_step(&d, NULL);
    assert_int_equal(clock_now_ms(k->clock) - d.answered_ms, 0);
#define STATUS                                                                                     \
    "cloudprovider_aws_api_response_status_total service=EC2 operation=DescribeInstances "         \
    "status_code=503\n"
    same_text("metrics", str_buf_text(&counted.lines),
              STATUS STATUS STATUS
              "cloudprovider_aws_api_throttled_requests_total operation_name=DescribeInstances\n"
              "cloudprovider_aws_api_request_errors request=describe_instance\n"
              "cloudprovider_aws_api_request_duration_seconds request=describe_instance\n");
    str_buf_done(&counted.lines);
}

static unsigned requests_of_failing_call(struct call_kit *k, enum aws_api api)
{
    struct dialog d;
    dialog_begin(&d, k, api, false);
    for (dialog_step(&d, NULL); d.next == HTTP_SEND;) {
        dialog_answer(&d, &(struct turn){.status = 500});
    }
    return d.call.requests;
}

static void call__budget_of_retries_is_used_up__one_attempt_only(void **state)
{
    struct call_kit *k = *state;
    struct dialog d;
    call_kit_open(k, KIT_KEYS, KIT_URL, NULL);
    for (int i = 0; i < 50; i++) { /* 500, and 10 for each */
        assert_int_equal(requests_of_failing_call(k, AWS_EC2), 3);
    }
    assert_int_equal(requests_of_failing_call(k, AWS_EC2), 1);
    assert_int_equal(requests_of_failing_call(k, AWS_ELB), 3); /* has its own */
    for (int i = 0; i < 5; i++) {                              /* each gives one back */
        dialog_begin(&d, k, AWS_EC2, false);
        dialog_step(&d, NULL);
        dialog_answer(&d, &(struct turn){.status = 200, .body = OK});
    }
    assert_int_equal(requests_of_failing_call(k, AWS_EC2), 2);
}

/* ---- over the network ------------------------------------------------------------------------ */

static void handle(void *arg, struct http_req *req)
{
    size_t n;
    bool good = http_req_header(req, "Expect") == NULL &&
                str_has_prefix(str_nonnull(http_req_header(req, "Authorization")),
                               "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20231114/us-east-1/ec2/") &&
                str_eq(http_req_header(req, "Content-Type"),
                       "application/x-www-form-urlencoded; charset=utf-8") &&
                str_eq(http_req_method(req), "POST") &&
                str_has_prefix(http_req_body(req, &n), "Action=DescribeThings&");
    (void)arg;
    http_req_answer(req, good ? 200 : 400, OK, strlen(OK));
}

static double half(void *arg)
{
    (void)arg;
    return UNIT;
}

static void calls__side_by_side__each_has_its_outcome(void **state)
{
    struct call_kit *k = *state;
    struct test_server *server = test_server_start(&(struct test_server_config){.handle = handle});
    struct http *http = http_new(
        &(struct http_config){.observe = http_ignore_sent, .clock = k->clock, .proxy_url = ""});
    struct dialog d[3];
    struct aws_call *calls[3];
    struct err errs[3] = {ERR_INIT, ERR_INIT, ERR_INIT};
    call_kit_open(k, KIT_KEYS, test_server_url(server, "/"), NULL);
    for (size_t i = 0; i < 3; i++) {
        dialog_begin(&d[i], k, AWS_EC2, false);
        calls[i] = &d[i].call;
    }
    d[1].call.action = "DescribeOthers";
    assert_int_equal(aws_calls_run(http, NULL, half, NULL, calls, 3, errs), ERR_INVALID);
    assert_int_equal(errs[0].code, ERR_OK);
    assert_int_equal(errs[1].code, ERR_INVALID);
    assert_int_equal(errs[2].code, ERR_OK);
    same_text("root", aws_xml_text(d[2].call.root, "thing"), "1");
    struct cancel *cancel = cancel_new(NULL);
    cancel_fire(cancel);
    dialog_begin(&d[0], k, AWS_EC2, false);
    assert_int_equal(aws_calls_run(http, cancel, half, NULL, calls, 1, errs), ERR_CANCELLED);
    cancel_free(cancel);
    http_free(http);
    test_server_stop(server);
}

UNIT_MAIN(call)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(call__good_and_bad_answers),
        cmocka_unit_test(call__server_that_is_not_there__tried_again_by_the_controller_only),
        cmocka_unit_test(call__mutation__says_when_an_answer_was_lost),
        cmocka_unit_test(call__clock_is_off__takes_the_servers_time),
        CALL_TEST(call__clock_was_off__is_looked_at_again),
        CALL_TEST(call__answer_of_a_cache__teaches_no_time),
        cmocka_unit_test(call__keys_expired__gets_new_ones_once),
        CALL_TEST(call__server_tells_secrets__they_are_masked),
        CALL_TEST(call__throttled_for_good__holds_up_the_next_of_this_api),
        CALL_TEST(call__budget_of_retries_is_used_up__one_attempt_only),
        CALL_TEST(calls__side_by_side__each_has_its_outcome),
    };
    struct err err = ERR_INIT;
    if (http_global_init(&err) != ERR_OK) {
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    http_global_done();
    return failed;
}
