/* SPDX-License-Identifier: Apache-2.0 */
/* test_ask.c: questions about access that take a while: verdicts, clients that leave, too many at
 * once, the end. */
#include "tests/unit/serve/stand.h"

#include <stdlib.h>
#include <string.h>

#include "controller/serve/ask_pool.h"
#include "tests/support/unit.h"

#define ASKING "GET /page HTTP/1.1\r\nHost: x\r\nX-Test-A: 1\r\nAuthorization: Bearer ask\r\n\r\n"

static struct tls_client *ask(struct stand *s)
{
    struct tls_client *c = tls_client_connect(stand_port(s), NULL, NULL);
    assert_non_null(c);
    assert_true(tls_client_send(c, ASKING));
    return c;
}

static void ask__verdicts__become_answers(void **state)
{
    (void)state;
    static const struct {
        int verdict;
        const char *part;
    } rows[] = {{0, "GET /page"}, {403, "\"message\":\"no \\\"way\\\"\""}, {500, "InternalError"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stand s;
        stand_init(&s);
        stand_start(&s);
        stand_release(&s, rows[i].verdict);
        struct tls_client *c = ask(&s);
        char *answer = tls_client_read(c, false);
        assert_int_equal(answer_status_of(answer), rows[i].verdict == 0 ? 200 : rows[i].verdict);
        assert_non_null(strstr(answer, rows[i].part));
        free(answer);
        tls_client_close(c);
        stand_done(&s);
    }
}

/* An API server that does not answer before stand_release(). */
static void start_holding(struct stand *s)
{
    stand_init(s);
    s->access.hold = true;
    stand_start(s);
}

/* Takes the answer. */
static void assert_served(char *answer)
{
    assert_int_equal(answer_status_of(answer), 200);
    free(answer);
}

/* While the API server thinks, others are served. */
static void ask__slow__others_are_served(void **state)
{
    (void)state;
    struct stand s;
    start_holding(&s);
    struct tls_client *asking[ASK_THREADS + 2];
    for (size_t i = 0; i < ARRAY_LEN(asking); i++) {
        asking[i] = ask(&s);
    }
    stand_wait_asking(&s, ASK_THREADS); /* and never more of them */
    assert_served(tls_client_get(stand_port(&s), "/healthz", ""));
    stand_release(&s, 0);
    for (size_t i = 0; i < ARRAY_LEN(asking); i++) {
        assert_served(tls_client_read(asking[i], false));
        tls_client_close(asking[i]);
    }
    assert_int_equal(s.access.asked, ARRAY_LEN(asking));
    stand_done(&s);
}

static void ask__client_leaves__question_is_cancelled(void **state)
{
    (void)state;
    struct stand s;
    start_holding(&s);
    for (int i = 1; i <= 3; i++) {
        struct tls_client *c = ask(&s);
        stand_wait_asking(&s, 1);
        tls_client_close(c);
        stand_wait_cancelled(&s, i);
    }
    assert_served(tls_client_get(stand_port(&s), "/healthz", ""));
    stand_done(&s);
}

/* Clients that leave while their question still waits for a thread: nothing is asked. */
static void ask__client_leaves_the_queue__nobody_is_asked(void **state)
{
    (void)state;
    struct stand s;
    start_holding(&s);
    struct tls_client *first[ASK_THREADS], *waiting[8];
    for (size_t i = 0; i < ARRAY_LEN(first); i++) {
        first[i] = ask(&s);
    }
    stand_wait_asking(&s, ASK_THREADS);
    for (size_t i = 0; i < ARRAY_LEN(waiting); i++) {
        waiting[i] = ask(&s);
        tls_client_close(waiting[i]);
    }
    /* The loop has seen them leave when a fifth question is answered by the time the first are let
     * go: all that came before it in the queue was passed over, or asked and cancelled. */
    struct tls_client *last = ask(&s);
    stand_release(&s, 0);
    char *answer = tls_client_read(last, false);
    assert_int_equal(answer_status_of(answer), 200);
    free(answer);
    tls_client_close(last);
    for (size_t i = 0; i < ARRAY_LEN(first); i++) {
        answer = tls_client_read(first[i], false);
        assert_int_equal(answer_status_of(answer), 200);
        free(answer);
        tls_client_close(first[i]);
    }
    stand_done(&s);
}

static void ask__too_many__429_and_back_to_normal(void **state)
{
    (void)state;
    struct stand s;
    start_holding(&s);
    struct tls_client *asking[ASK_QUEUE];
    for (size_t i = 0; i < ARRAY_LEN(asking); i++) {
        asking[i] = ask(&s);
    }
    /* Questions arrive in the loop's order, so one that gets an answer now came when the
     * queue was full. */
    struct tls_client *c = NULL;
    char *answer = NULL;
    stand_wait_asking(&s, ASK_THREADS);
    c = tls_client_connect(stand_port(&s), NULL, NULL);
    assert_true(tls_client_send(c, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"));
    free(tls_client_read(c, false));
    assert_true(tls_client_send(c, ASKING));
    answer = tls_client_read(c, false);
    assert_int_equal(answer_status_of(answer), 429);
    assert_non_null(strstr(answer, "\r\nRetry-After: 1\r\n"));
    assert_non_null(strstr(answer, "\"reason\":\"TooManyRequests\""));
    free(answer);
    stand_release(&s, 0);
    for (size_t i = 0; i < ARRAY_LEN(asking); i++) {
        assert_served(tls_client_read(asking[i], false));
        tls_client_close(asking[i]);
    }
    assert_true(tls_client_send(c, ASKING));
    answer = tls_client_read(c, false);
    assert_int_equal(answer_status_of(answer), 200);
    free(answer);
    tls_client_close(c);
    stand_done(&s);
}

/* The end comes while questions are asked, wait, and were just answered. */
static void ask__server_freed__all_cancelled(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        struct stand s;
        stand_init(&s);
        s.access.hold = true;
        stand_start(&s);
        struct tls_client *asking[ASK_THREADS + 4];
        for (size_t k = 0; k < ARRAY_LEN(asking); k++) {
            asking[k] = ask(&s);
        }
        stand_wait_asking(&s, ASK_THREADS);
        if (i % 2 == 1) {
            stand_release(&s, 0);
        }
        serve_free(STEAL(s.serve));
        for (size_t k = 0; k < ARRAY_LEN(asking); k++) {
            free(tls_client_read(asking[k], false)); /* an answer, or none */
            tls_client_close(asking[k]);
        }
        stand_done(&s);
    }
}

UNIT_MAIN(ask)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ask__verdicts__become_answers),
        cmocka_unit_test(ask__slow__others_are_served),
        cmocka_unit_test(ask__client_leaves__question_is_cancelled),
        cmocka_unit_test(ask__client_leaves_the_queue__nobody_is_asked),
        cmocka_unit_test(ask__too_many__429_and_back_to_normal),
        cmocka_unit_test(ask__server_freed__all_cancelled),
    };
    return cmocka_run_group_tests_name("serve_ask", tests, NULL, NULL);
}
