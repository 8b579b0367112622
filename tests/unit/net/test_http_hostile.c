/* SPDX-License-Identifier: Apache-2.0 */
/* test_http_hostile.c: servers that lie, flood, drip or stop: bounded memory and time, a clear
 * error. */
#include "tests/unit/net/http_fixture.h"

#include <poll.h>
#include <string.h>

#include "common/base/str.h"
#include "tests/support/unit.h"

#define OK_HEAD "HTTP/1.1 200 OK\r\n"

static void hostile__answers__say_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *name, *bytes;
        size_t n; /* 0: strlen */
        int code;
        const char *message; /* %s is the origin */
    } rows[] = {
        {"nothing", "", 0, ERR_TRANSIENT, "%s closed the connection without an answer"},
        {"garbage", "hello world, this is not HTTP\r\n\r\n", 0, ERR_TRANSIENT,
         "answer of %s is not HTTP"},
        {"other protocol", "SSH-2.0-OpenSSH_9.2\r\n", 0, ERR_TRANSIENT, "answer of %s is not HTTP"},
        {"binary", "\x16\x03\x01\x00\x02\x02\x0a", 7, ERR_TRANSIENT, "answer of %s is not HTTP"},
        {"cut in status", "HTTP/1.", 0, ERR_TRANSIENT,
         "%s closed the connection without an answer"},
        {"cut in headers", OK_HEAD "X-A: b", 0, ERR_TRANSIENT,
         "%s closed the connection without an answer"},
        {"only an interim answer", "HTTP/1.1 100 Continue\r\n\r\n", 0, ERR_TRANSIENT,
         "%s closed the connection without an answer"},
        {"cut body", OK_HEAD "Content-Length: 100\r\n\r\nshort", 0, ERR_TRANSIENT,
         "answer of %s was cut after 5 bytes"},
        {"cut before body", OK_HEAD "Content-Length: 100\r\n\r\n", 0, ERR_TRANSIENT,
         "answer of %s was cut after 0 bytes"},
        {"cut between chunks", OK_HEAD "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", 0,
         ERR_TRANSIENT, "answer of %s was cut after 5 bytes"},
        {"cut in chunk", OK_HEAD "Transfer-Encoding: chunked\r\n\r\n50\r\nhello", 0, ERR_TRANSIENT,
         "answer of %s was cut after 5 bytes"},
        {"chunk size is no number", OK_HEAD "Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n", 0,
         ERR_TRANSIENT, "answer of %s was cut after 0 bytes"},
        {"negative length", OK_HEAD "Content-Length: -5\r\n\r\nhello", 0, ERR_TRANSIENT,
         "answer of %s is not HTTP"},
        {"NUL in header", OK_HEAD "X-A: b\0c\r\nContent-Length: 2\r\n\r\nok",
         sizeof(OK_HEAD "X-A: b\0c\r\nContent-Length: 2\r\n\r\nok") - 1, ERR_TRANSIENT,
         "answer of %s is not HTTP"},
        {"NUL in status line", "HTTP/1.1 200 O\0K\r\nContent-Length: 2\r\n\r\nok",
         sizeof("HTTP/1.1 200 O\0K\r\nContent-Length: 2\r\n\r\nok") - 1, ERR_TRANSIENT,
         "answer of %s is not HTTP"},
        {"gzip that is none", OK_HEAD "Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello", 0,
         ERR_TRANSIENT, "answer of %s cannot be decoded"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t n = rows[i].n == 0 ? strlen(rows[i].bytes) : rows[i].n;
        struct raw_server *s = raw_server_start_bytes(rows[i].bytes, n);
        struct fixture f = fixture_new(NULL);
        struct http_request req = {.url = raw_server_url(s), .gzip = true};
        print_message("# %s\n", rows[i].name);
        int rc = fixture_send(&f, &req);
        const char *origin = raw_server_url(s);
        assert_fails(&f, rc, rows[i].code, str_replace(f.arena, rows[i].message, "%s", origin));
        fixture_done(&f);
        raw_server_stop(s);
    }
}

static void hostile__odd_but_legal__is_read(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        int status;
        const char *body;
    } rows[] = {
        {OK_HEAD "Content-Length: 2\r\n\r\nokHTTP/1.1 500 smuggled\r\n\r\n", 200, "ok"},
        {OK_HEAD "\r\nuntil it closes", 200, "until it closes"},
        {OK_HEAD "Transfer-Encoding: chunked\r\n\r\n2;x=y\r\nok\r\n0\r\nX-Trailer: t\r\n\r\n", 200,
         "ok"},
        {"HTTP/1.1 100 Continue\r\nX-A: 1\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: "
         "x\r\n\r\n" OK_HEAD "Content-Length: 2\r\n\r\nok",
         200, "ok"},
        {"HTTP/1.1 204 No Content\r\n\r\nbody", 204, ""},
        {"HTTP/1.0 200 OK\r\n\r\nold", 200, "old"},
        {OK_HEAD "Content-Length: 2\r\nContent-Length: 2\r\n\r\nok", 200, "ok"},
        {"HTTP/1.1 599 odd\r\nContent-Length: 0\r\n\r\n", 599, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct raw_server *s = raw_server_start_bytes(rows[i].bytes, strlen(rows[i].bytes));
        struct fixture f = fixture_new(NULL);
        print_message("# row %zu\n", i);
        assert_ok(&f, fixture_get(&f, raw_server_url(s)));
        assert_int_equal(f.resp.status, rows[i].status);
        assert_string_equal(f.resp.body, rows[i].body);
        assert_null(http_response_header(&f.resp, "X-Trailer"));
        assert_null(http_response_header(&f.resp, "X-A"));
        fixture_done(&f);
        raw_server_stop(s);
    }
}

/* --- floods ---------------------------------------------------------------------------------- */

struct flood {
    const char *head;  /* sent once */
    const char *again; /* sent until the client leaves */
};

static void serve_flood(int fd, int nth, void *arg)
{
    (void)nth;
    const struct flood *flood = arg;
    char head[4096];
    bool here = raw_read_head(fd, head, sizeof(head)) && raw_send_text(fd, flood->head);
    while (here) {
        here = raw_send_text(fd, flood->again);
    }
}

static void hostile__floods__are_cut_off(void **state)
{
    (void)state;
    static const char headers[] = "headers of the answer of %s are larger than 65536 bytes";
    static const char body[] = "answer of %s is larger than 1000000 bytes";
    static const struct {
        struct flood flood;
        const char *message;
    } rows[] = {
        {{OK_HEAD, "X-Flood: 0123456789\r\n"}, headers},
        {{OK_HEAD "X-Long: ", "0123456789abcdef"},
         "answer of %s has a header line that is too long"},
        {{"", "HTTP/1.1 100 Continue\r\n\r\n"}, headers},
        {{"", "HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n"}, headers},
        {{OK_HEAD "\r\n", "0123456789abcdef"}, body},
        {{OK_HEAD "Content-Length: 2147483648\r\n\r\n", "0123456789abcdef"}, body},
        {{OK_HEAD "Content-Length: 9223372036854775807\r\n\r\n", "0123456789abcdef"}, body},
        {{OK_HEAD "Transfer-Encoding: chunked\r\n\r\n", "10\r\n0123456789abcdef\r\n"}, body},
        {{OK_HEAD "Transfer-Encoding: chunked\r\n\r\n7fffffff\r\n", "0123456789abcdef"}, body},
        {{OK_HEAD "Transfer-Encoding: chunked\r\n\r\n0\r\n", "X-Trailer: 0123456789\r\n"}, headers},
        {{"HTTP/1.1 404 No\r\n\r\n", "0123456789abcdef"}, body},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct flood flood = rows[i].flood;
        struct raw_server *s = raw_server_start(serve_flood, &flood);
        struct fixture f = fixture_new(NULL);
        struct http_request req = {
            .url = raw_server_url(s), .max_body = 1000000, .total_ms = -1, .idle_ms = -1};
        print_message("# row %zu\n", i);
        int rc = fixture_send(&f, &req);
        const char *want = str_replace(f.arena, rows[i].message, "%s", raw_server_url(s));
        assert_fails(&f, rc, ERR_INVALID, want);
        fixture_done(&f); /* closes the connection, so serve_flood() ends */
        raw_server_stop(s);
    }
}

static bool count_bytes(struct http_job *job, int status, const char *bytes, size_t n)
{
    (void)status, (void)bytes;
    *(size_t *)job->arg += n;
    return true;
}

static enum http_next once(struct http_job *job, const struct http_response *resp)
{
    (void)job;
    return resp == NULL ? HTTP_SEND : HTTP_DONE;
}

static void hostile__endless_stream__cap_counts_streamed_bytes(void **state)
{
    (void)state;
    struct flood flood = {OK_HEAD "\r\n", "0123456789abcdef"};
    struct raw_server *s = raw_server_start(serve_flood, &flood);
    struct fixture f = fixture_new(NULL);
    size_t got = 0;
    struct http_job job = {.step = once,
                           .on_body = count_bytes,
                           .arg = &got,
                           .req = {.url = raw_server_url(s), .max_body = 500000}};
    struct http_job *list = &job;
    http_run(f.http, &list, 1);
    assert_int_equal(job.err.code, ERR_INVALID);
    assert_in_range(got, 400000, 500000);
    fixture_done(&f);
    raw_server_stop(s);
}

/* --- slowness -------------------------------------------------------------------------------- */

/* One byte every few ms: never idle, never done.  poll() ends at once when the client leaves. */
static void serve_drip(int fd, int nth, void *arg)
{
    (void)nth;
    const char *text = arg;
    char head[4096];
    struct pollfd p = {.fd = fd, .events = POLLIN};
    bool here = raw_read_head(fd, head, sizeof(head)) && raw_send(fd, text, strlen(text));
    while (here) {
        here = raw_send(fd, "x", 1) && poll(&p, 1, 2) == 0;
    }
}

static void hostile__slow_drip__ended_by_total(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool answers;
    } rows[] = {
        {"HTTP/1.1 200 OK\r\nX-A: ", true},
        {"HTTP/1.1 200 OK", false},
        {"HTTP/1.1 200 OK\r\n\r\n", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct raw_server *s = raw_server_start(serve_drip, (void *)(uintptr_t)rows[i].text);
        struct fixture f = fixture_new(NULL);
        struct http_request req = {.url = raw_server_url(s), .idle_ms = -1, .total_ms = 300};
        int rc = fixture_send(&f, &req);
        /* A busy machine may not see the first line in time: then there is more time. */
        while (rows[i].answers && req.total_ms < 60000 && str_has_prefix(f.err.message, "no ans")) {
            req.total_ms *= 2;
            rc = fixture_send(&f, &req);
        }
        const char *form = rows[i].answers ? "answer of %s was not complete within %lld ms"
                                           : "no answer from %s within %lld ms";
        assert_fails(&f, rc, ERR_TRANSIENT,
                     arena_printf(f.arena, form, raw_server_url(s), (long long)req.total_ms));
        fixture_done(&f);
        raw_server_stop(s);
    }
}

static void serve_silence(int fd, int nth, void *arg)
{
    (void)nth, (void)arg;
    raw_wait_closed(fd);
}

static void hostile__never_reads_or_answers__idle(void **state)
{
    (void)state;
    struct raw_server *s = raw_server_start(serve_silence, NULL);
    struct fixture f = fixture_new(NULL);
    struct http_request req = {.url = raw_server_url(s), .idle_ms = 30, .total_ms = -1};
    int rc = fixture_send(&f, &req);
    assert_fails(&f, rc, ERR_TRANSIENT,
                 arena_printf(f.arena, "no byte from %s for 30 ms", raw_server_url(s)));
    fixture_done(&f);
    raw_server_stop(s);
}

/* --- decompression --------------------------------------------------------------------------- */

/* Appends `n` bits of `v`, least significant first, as DEFLATE packs them (RFC 1951 §3.1.1). */
static void put_bits(struct str_buf *b, unsigned *acc, int *used, unsigned v, int n)
{
    for (int i = 0; i < n; i++) {
        *acc |= ((v >> i) & 1u) << (*used)++;
        if (*used == 8) {
            str_append_c(b, (char)*acc);
            *acc = 0;
            *used = 0;
        }
    }
}

/* A gzip stream that unfolds to 258 zeros per 13 bits: fixed Huffman codes, one literal, then
 * matches of length 258 at distance 1 (code 285 is 11000101, sent from its first bit on). */
static void make_bomb(struct str_buf *b, size_t unfolded)
{
    static const unsigned char head[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    unsigned acc = 0;
    int used = 0;
    str_append_n(b, head, sizeof(head));
    put_bits(b, &acc, &used, 1, 1);    /* last block */
    put_bits(b, &acc, &used, 1, 2);    /* fixed codes */
    put_bits(b, &acc, &used, 0x0c, 8); /* literal 0: 00110000 */
    for (size_t n = 0; n < unfolded; n += 258) {
        put_bits(b, &acc, &used, 0xa3, 8);
        put_bits(b, &acc, &used, 0, 5);
    }
    put_bits(b, &acc, &used, 0, 15);
}

static void hostile__gzip_bomb__cap_is_on_decoded_bytes(void **state)
{
    (void)state;
    struct str_buf bytes = STR_BUF_INIT;
    struct str_buf bomb = STR_BUF_INIT;
    make_bomb(&bomb, (size_t)200 * 1024 * 1024);
    assert_in_range(bomb.len, 1000000, 1500000);
    str_appendf(&bytes, OK_HEAD "Content-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n", bomb.len);
    str_append_n(&bytes, bomb.data, bomb.len);
    struct raw_server *s = raw_server_start_bytes(bytes.data, bytes.len);
    struct fixture f = fixture_new(NULL);
    struct http_request req = {.url = raw_server_url(s), .gzip = true};
    int rc = fixture_send(&f, &req);
    assert_fails(
        &f, rc, ERR_INVALID,
        arena_printf(f.arena, "answer of %s is larger than 33554432 bytes", raw_server_url(s)));
    req.gzip = false; /* not asked for, not decoded */
    req.max_body = 2000000;
    assert_ok(&f, fixture_send(&f, &req));
    assert_int_equal(f.resp.body_len, bomb.len);
    fixture_done(&f);
    raw_server_stop(s);
    str_buf_done(&bytes);
    str_buf_done(&bomb);
}

UNIT_MAIN(http_hostile)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile__answers__say_what_is_wrong),
        cmocka_unit_test(hostile__odd_but_legal__is_read),
        cmocka_unit_test(hostile__floods__are_cut_off),
        cmocka_unit_test(hostile__endless_stream__cap_counts_streamed_bytes),
        cmocka_unit_test(hostile__slow_drip__ended_by_total),
        cmocka_unit_test(hostile__never_reads_or_answers__idle),
        cmocka_unit_test(hostile__gzip_bomb__cap_is_on_decoded_bytes),
    };
    return cmocka_run_group_tests_name("http_hostile", tests, http_group_setup,
                                       http_group_teardown);
}
