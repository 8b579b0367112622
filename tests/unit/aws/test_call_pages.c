/* SPDX-License-Identifier: Apache-2.0 */
/* test_call_pages.c: lists that come in pages: every item once, nothing of what broke off, an end
 * in any case (docs/spec/aws.md 3.4).  See test_call.c. */
#include "tests/support/unit.h"
#include "tests/unit/aws/call_dialog.h"

struct seen {
    struct str_buf text;
    unsigned pages;
    unsigned enough; /* after so many; 0: never */
};

static bool see_page(struct aws_call *c, const struct aws_node *root, struct err *err)
{
    struct seen *s = c->arg;
    (void)root;
    (void)err;
    str_append(&s->text, ".");
    return ++s->pages != s->enough;
}

static bool see_item(struct aws_call *c, const struct aws_node *item, struct err *err)
{
    struct seen *s = c->arg;
    str_append(&s->text, item->text);
    if (str_eq(item->text, "late")) {
        (void)err_set(err, ERR_TRANSIENT, "not to be used");
        return false;
    }
    return str_eq(item->text, "bad") ? (void)err_set(err, ERR_INVALID, "bad item"), false : true;
}

/* Items since the last page do not count. */
static void forget_items(struct aws_call *c)
{
    struct seen *s = c->arg;
    while (s->text.len > 0 && s->text.data[s->text.len - 1] != '.') {
        s->text.data[--s->text.len] = '\0';
    }
}

static void begin_pages(struct dialog *d, struct call_kit *k, enum aws_api api, struct seen *seen)
{
    dialog_begin(d, k, api, false);
    d->call.on_page = see_page;
    d->call.on_item = see_item;
    d->call.on_restart = forget_items;
    d->call.items = "things/item";
    d->call.arg = seen;
    dialog_step(d, NULL);
}

#define EC2_PAGE(items, token)                                                                     \
    "<DescribeThingsResponse><things>" items "</things><nextToken>" token                          \
    "</nextToken></DescribeThingsResponse>"
#define ELB_PAGE(items, token)                                                                     \
    "<DescribeThingsResponse><DescribeThingsResult><things>" items "</things><NextMarker>" token   \
    "</NextMarker></DescribeThingsResult></DescribeThingsResponse>"

static void list__pages__every_item_once_and_in_order(void **state)
{
    struct call_kit *k = *state;
    struct seen seen = {0};
    struct dialog d;
    call_kit_open(k, KIT_KEYS, KIT_URL, NULL);
    begin_pages(&d, k, AWS_EC2, &seen);
    dialog_answer(&d, &(struct turn){.status = 200,
                                     .body = EC2_PAGE("<item>a</item><item>b</item>", "t&amp;1")});
    assert_non_null(strstr(d.req.body, "&GroupId=sg-1&"));
    assert_non_null(strstr(d.req.body, "&NextToken=t%261"));
    dialog_answer(
        &d, &(struct turn){.status = 200,
                           .body = "<DescribeThingsResponse><things><item>c</item>"}); /* cut */
    dialog_answer(&d, &(struct turn){.status = 200, .body = EC2_PAGE("<item>c</item>", "")});
    assert_int_equal(d.next, HTTP_DONE);
    assert_int_equal(d.err.code, ERR_OK);
    same_text("ec2", str_buf_text(&seen.text), "ab.c.");
    str_buf_reset(&seen.text);
    begin_pages(&d, k, AWS_ELBV2, &seen);
    dialog_answer(&d, &(struct turn){.status = 200, .body = ELB_PAGE("<item>a</item>", "m1")});
    assert_non_null(strstr(d.req.body, "&Marker=m1"));
    dialog_answer(&d, &(struct turn){.status = 200, .body = ELB_PAGE("", "")});
    same_text("elbv2", str_buf_text(&seen.text), "a..");
    str_buf_done(&seen.text);
}

/* An invalid list must not count as an empty one. */
static void list__that_is_not_there__is_asked_for_again(void **state)
{
#define ANSWER(text) "<DescribeThingsResponse>" text "</DescribeThingsResponse>"
    static const struct {
        const char *items, *body, *says; /* NULL: fine */
    } rows[] = {
        {"things/item", ANSWER("<things/>"), NULL},
        {"things/item", ANSWER("<things>\n  </things>"), NULL},
        {"things/item", ANSWER("<requestId>r</requestId>"), "the answer has no list things"},
        {"things/item", ANSWER("<others><item>a</item></others>"), "the answer has no list things"},
        {"things/item", ANSWER("<things>none</things>"), "the answer has no list things"},
        {"things/item", ANSWER("<things><item>late</item></things>"), "not to be used"},
        {"boxes/item/things/item", ANSWER("<boxes/>"), NULL},
        {"boxes/item/things/item", ANSWER("<boxes><item><things/></item></boxes>"), NULL},
        {"boxes/item/things/item", ANSWER("<boxes><item/></boxes>"),
         "the answer has no list boxes"},
        {"boxes/item/things/item", ANSWER("<boxes><item>x</item></boxes>"),
         "the answer has no list boxes"},
        {"things", ANSWER("<things/>"), NULL},
        {"things", ANSWER(""), "the answer has no list things"},
    };
    struct call_kit *k = *state;
    call_kit_open(k, KIT_KEYS, KIT_URL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct seen seen = {0};
        struct dialog d;
        begin_pages(&d, k, AWS_EC2, &seen);
        d.call.items = rows[i].items;
        unsigned asked = 0;
        for (; d.next == HTTP_SEND; asked++) {
            dialog_answer(&d, &(struct turn){.status = 200, .body = rows[i].body});
        }
        assert_int_equal(d.err.code, rows[i].says == NULL ? ERR_OK : ERR_TRANSIENT);
        assert_int_equal(asked, rows[i].says == NULL ? 1 : 3);
        assert_non_null(strstr(d.err.message, str_nonnull(rows[i].says)));
        str_buf_done(&seen.text);
    }
}

static void list__each_page__has_its_own_attempts_and_delay(void **state)
{
    static const struct turn unwell = {.status = 500};
    static const struct turn throttled = {.status = 503, .body = REFUSAL("RequestLimitExceeded")};
    static const struct turn first = {.status = 200, .body = EC2_PAGE("<item>a</item>", "t")};
    static const struct turn last = {.status = 200, .body = EC2_PAGE("<item>b</item>", "")};
    struct call_kit *k = *state;
    struct seen seen = {0};
    struct dialog d;
    call_kit_open(k, KIT_KEYS, KIT_URL, NULL);
    begin_pages(&d, k, AWS_EC2, &seen);
    for (int i = 0; i < 3; i++) {
        dialog_answer(&d, i < 2 ? &unwell : &first);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(d.next, HTTP_SEND);
        dialog_answer(&d, i < 2 ? &unwell : &last);
    }
    assert_int_equal(d.err.code, ERR_OK);
    same_text("items", str_buf_text(&seen.text), "a.b.");
    begin_pages(&d, k, AWS_EC2, &seen);
    while (d.next == HTTP_SEND) {
        dialog_answer(&d, &throttled);
    }
    begin_pages(&d, k, AWS_EC2, &seen); /* 4 before all, and the fourth of ours: one error in 8 */
    assert_int_equal(clock_now_ms(k->clock) - d.answered_ms, 7000);
    dialog_answer(&d, &first);
    assert_int_equal(clock_now_ms(k->clock) - d.answered_ms, 6000);
    str_buf_done(&seen.text);
}

static void list__does_not_end__is_an_error(void **state)
{
    struct call_kit *k = *state;
    struct seen seen = {0};
    struct dialog d;
    call_kit_open(k, KIT_KEYS, KIT_URL, NULL);
    begin_pages(&d, k, AWS_EC2, &seen);
    dialog_answer(&d, &(struct turn){.status = 200, .body = EC2_PAGE("", "t")});
    dialog_answer(&d, &(struct turn){.status = 200, .body = EC2_PAGE("", "t")});
    assert_int_equal(d.next, HTTP_DONE);
    assert_non_null(strstr(d.err.message, "does not end"));
    char *token = arena_alloc(k->a, 20001);
    memset(token, 't', 20000);
    begin_pages(&d, k, AWS_EC2, &seen);
    dialog_answer(
        &d, &(struct turn){.status = 200, .body = arena_printf(k->a, EC2_PAGE("", "%s"), token)});
    assert_int_equal(d.next, HTTP_DONE);
    same_text("too long", d.err.message,
              "DescribeThings sg-1: the token of the next page is too long");
    /* Tokens in a circle of `length`, after three others. */
    static const struct {
        unsigned length, most;
    } circles[] = {{1, 6}, {2, 8}, {3, 10}, {20, 60}};
    for (size_t i = 0; i < ARRAY_LEN(circles); i++) {
        unsigned asked = 0;
        begin_pages(&d, k, AWS_EC2, &seen);
        for (; d.next == HTTP_SEND && asked < 2000; asked++) {
            unsigned at = asked < 3 ? 1000 + asked : (asked - 3) % circles[i].length;
            const char *body = arena_printf(k->a, EC2_PAGE("", "%u"), at);
            dialog_answer(&d, &(struct turn){.status = 200, .body = body});
        }
        assert_non_null(strstr(d.err.message, "does not end"));
        assert_in_range(asked, circles[i].length + 3, circles[i].most);
    }
    begin_pages(&d, k, AWS_EC2, &seen);
    unsigned n = 0;
    for (; d.next == HTTP_SEND && n < 2000; n++) {
        const char *body = arena_printf(k->a, EC2_PAGE("", "%u"), n);
        dialog_answer(&d, &(struct turn){.status = 200, .body = body});
    }
    assert_int_equal(n, 1000);
    assert_non_null(strstr(d.err.message, "does not end"));
    str_buf_done(&seen.text);
}

static void list__reader_ends_it__with_and_without_an_error(void **state)
{
    struct call_kit *k = *state;
    struct seen seen = {.enough = 1};
    struct dialog d;
    call_kit_open(k, KIT_KEYS, KIT_URL, NULL);
    begin_pages(&d, k, AWS_EC2, &seen);
    dialog_answer(&d, &(struct turn){.status = 200, .body = EC2_PAGE("<item>a</item>", "t")});
    assert_int_equal(d.next, HTTP_DONE);
    assert_int_equal(d.err.code, ERR_OK);
    begin_pages(&d, k, AWS_EC2, &seen);
    dialog_answer(
        &d, &(struct turn){.status = 200, .body = EC2_PAGE("<item>bad</item><item>c</item>", "")});
    assert_int_equal(d.err.code, ERR_INVALID);
    same_text("message", d.err.message, "DescribeThings sg-1: bad item");
    same_text("items", str_buf_text(&seen.text), "a.bad");
    str_buf_done(&seen.text);
}

UNIT_MAIN(call_pages)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(list__pages__every_item_once_and_in_order),
        CALL_TEST(list__that_is_not_there__is_asked_for_again),
        CALL_TEST(list__each_page__has_its_own_attempts_and_delay),
        CALL_TEST(list__does_not_end__is_an_error),
        CALL_TEST(list__reader_ends_it__with_and_without_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
