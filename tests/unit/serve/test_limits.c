/* SPDX-License-Identifier: Apache-2.0 */
/* test_limits.c: the HTTPS port under clients that are many, slow or greedy, and what a client
 * costs.
 *
 * TRIMTAB_TEST_TLS_CLIENTS=N opens N clients with finished handshakes instead of 200 and
 * says what each takes. */
#include "tests/unit/serve/stand.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/support/clock_fake.h"
#include "tests/support/own_process.h"
#include "tests/support/test_server.h"
#include "tests/support/unit.h"

#define GOOD   "Authorization: Bearer good\r\n"
#define HEALTH "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"

/* Sanitizers keep what was freed. */
static void assert_grown_less(long before, long kib)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    bool sanitized = false;
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    sanitized = true;
#endif
#endif
    assert_true(sanitized || own_rss_kib() - before < kib);
#else
    (void)before, (void)kib;
#endif
}

static void assert_healthy(struct stand *s)
{
    char *answer = tls_client_get(stand_port(s), "/healthz", "");
    assert_int_equal(answer_status_of(answer), 200);
    free(answer);
}

/* --- a crowd in a process of its own ---------------------------------------------------------- */

enum greeting {
    SILENT = 0, /* connected, nothing said */
    BEGUN,      /* the first bytes of a handshake */
    SHAKEN,     /* a finished handshake */
};
struct crowd {
    pid_t pid;
    int ready, stop;
};

/* `n` clients.  Forked before the port's thread is there: they get the port by a pipe. */
static struct crowd crowd_fork(int n, enum greeting greeting)
{
    int port[2], ready[2];
    char byte = 'r';
    uint16_t number;
    assert_int_equal(pipe(port), 0);
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(port[1]);
        close(ready[0]);
        if (read(port[0], &number, sizeof(number)) != sizeof(number)) {
            _exit(1);
        }
        for (int i = 0; i < n; i++) {
            bool fine = true;
            if (greeting == SHAKEN) {
                fine = tls_client_connect(number, NULL, NULL) != NULL;
            } else {
                int fd = raw_connect(number);
                (void)(greeting == BEGUN && raw_send(fd, "\x16\x03\x01\x02", 4));
            }
            if (!fine) {
                _exit(2);
            }
        }
        bool ok = write(ready[1], &byte, 1) == 1 && read(port[0], &byte, 1) == 0;
        _exit(ok ? 0 : 3);
    }
    close(port[0]);
    close(ready[1]);
    return (struct crowd){.pid = pid, .ready = ready[0], .stop = port[1]};
}

static void crowd_go(struct crowd *c, uint16_t port)
{
    char byte;
    assert_int_equal(write(c->stop, &port, sizeof(port)), sizeof(port));
    assert_int_equal(read(c->ready, &byte, 1), 1);
}

static void crowd_end(struct crowd *c)
{
    int status = 1;
    close(c->stop);
    assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
    assert_int_equal(status, 0);
    close(c->ready);
}

static void limits__ten_thousand_slow_clients__others_are_served(void **state)
{
    (void)state;
    struct rlimit l;
    getrlimit(RLIMIT_NOFILE, &l);
    if (l.rlim_max < SERVE_MAX_CONNECTIONS + 600) {
        print_message("# the limit of open files is lower than %d; left out\n",
                      SERVE_MAX_CONNECTIONS + 600);
        return; /* cmocka's skip() counts as failed */
    }
    l.rlim_cur = l.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &l), 0);
    static const enum greeting rows[] = {SILENT, BEGUN};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct crowd crowd = crowd_fork(SERVE_MAX_CONNECTIONS, rows[i]);
        struct stand s;
        stand_init(&s);
        s.clock = clock_fake_new(1000, INT64_C(1800000000) * 1000000);
        stand_start(&s);
        assert_healthy(&s);
        long before = own_rss_kib();
        crowd_go(&crowd, stand_port(&s));
        assert_healthy(&s); /* it takes the place of one that is silent */
        print_message("# %ld bytes per client that %s\n",
                      (own_rss_kib() - before) * 1024 / SERVE_MAX_CONNECTIONS,
                      rows[i] == SILENT ? "says nothing" : "began a handshake");
        /* none may take what all of them could: 43 KiB each */
        assert_grown_less(before, 128 * 1024L);
        clock_fake_advance(s.clock, SERVE_HANDSHAKE_MS); /* now all of them go */
        assert_healthy(&s);
        crowd_end(&crowd);
        struct clock *clock = s.clock;
        stand_done(&s);
        clock_fake_free(clock);
    }
}

static void limits__idle_clients__memory(void **state)
{
    (void)state;
    const char *env = getenv("TRIMTAB_TEST_TLS_CLIENTS");
    int n = env == NULL ? 200 : (int)strtol(env, NULL, 10);
    struct rlimit l;
    getrlimit(RLIMIT_NOFILE, &l);
    l.rlim_cur = l.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &l), 0);
    struct crowd crowd = crowd_fork(n, SHAKEN);
    struct stand s;
    stand_init(&s);
    s.clock = clock_fake_new(1000, INT64_C(1800000000) * 1000000);
    stand_start(&s);
    assert_healthy(&s);
    long before = own_rss_kib();
    crowd_go(&crowd, stand_port(&s));
    assert_healthy(&s);
    print_message("# %d clients with finished handshakes: %ld bytes each\n", n,
                  (own_rss_kib() - before) * 1024 / n);
    crowd_end(&crowd);
    struct clock *clock = s.clock;
    stand_done(&s);
    clock_fake_free(clock);
}

/* --- greedy ones ------------------------------------------------------------------------------ */

static void limits__huge_requests__refused(void **state)
{
    (void)state;
    static const struct {
        const char *head;
        size_t more; /* bytes of it */
        int status;
    } rows[] = {
        {"GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: ", SERVE_MAX_HEADERS, 431},
        {"GET /", SERVE_MAX_HEADERS, 431},
        {"PUT /page HTTP/1.1\r\nHost: x\r\n" GOOD "Content-Length: 65537\r\n\r\n", 0, 413},
        {"PUT /page HTTP/1.1\r\nHost: x\r\n" GOOD "Content-Length: 65536\r\n\r\n", 65536, 200},
    };
    struct stand s;
    stand_init(&s);
    stand_start(&s);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct tls_client *c = tls_client_connect(stand_port(&s), NULL, NULL);
        char *more = xcalloc(1, rows[i].more + 1);
        memset(more, 'a', rows[i].more);
        assert_true(tls_client_send(c, rows[i].head));
        assert_true(rows[i].more == 0 || tls_client_send(c, more));
        char *answer = tls_client_read(c, false);
        assert_int_equal(answer_status_of(answer), rows[i].status);
        assert_non_null(strstr(answer, "\r\nCache-Control: no-cache, private\r\n"));
        free(answer);
        free(more);
        tls_client_close(c);
    }
    stand_done(&s);
}

static struct tls_client *ask_big(struct stand *s)
{
    struct tls_client *c = tls_client_connect(stand_port(s), NULL, NULL);
    assert_non_null(c);
    assert_true(tls_client_send(c, "GET /big HTTP/1.1\r\nHost: x\r\n" GOOD "\r\n"));
    return c;
}

/* Clients that ask for 8 MiB and do not read it: no more answers are kept than the limit has room
 * for, and others are served. */
static void limits__unread_answers__bounded_together(void **state)
{
    (void)state;
    struct stand s;
    stand_init(&s);
    stand_start(&s);
    struct tls_client *greedy[64];
    for (size_t i = 0; i < ARRAY_LEN(greedy); i++) {
        greedy[i] = ask_big(&s);
    }
    assert_healthy(&s); /* all of them had their turn before */
    size_t whole = 0;
    for (size_t i = 0; i < ARRAY_LEN(greedy); i++) {
        char *answer = tls_client_read(greedy[i], false);
        whole += answer != NULL ? 1 : 0;
        free(answer);
        tls_client_close(greedy[i]);
    }
    print_message("# %zu of %zu answers were kept\n", whole, ARRAY_LEN(greedy));
    /* Connections that the kernel has accepted do not count, so a few more than fit are
     * possible. */
    assert_in_range(whole, 1, 2 * SERVE_MAX_HELD / STAND_BIG);
    stand_done(&s);
}

/* And not forever. */
static void limits__unread_answer__cut_off_in_time(void **state)
{
    (void)state;
    struct stand s;
    stand_init(&s);
    s.clock = clock_fake_new(1000, INT64_C(1800000000) * 1000000);
    stand_start(&s);
    struct tls_client *c = ask_big(&s);
    assert_healthy(&s);
    clock_fake_advance(s.clock, SERVE_SEND_MS);
    assert_healthy(&s); /* the clock was looked at */
    assert_null(tls_client_read(c, false));
    tls_client_close(c);
    struct clock *clock = s.clock;
    stand_done(&s);
    clock_fake_free(clock);
}

/* One that reads gets all of it, and its next answer after it. */
static void limits__big_answer__whole(void **state)
{
    (void)state;
    struct stand s;
    stand_init(&s);
    stand_start(&s);
    struct tls_client *c = tls_client_connect(stand_port(&s), NULL, NULL);
    assert_true(tls_client_send(c, "GET /big HTTP/1.1\r\nHost: x\r\n" GOOD "\r\n" HEALTH));
    char *answer = tls_client_read(c, false);
    assert_int_equal(answer_status_of(answer), 200);
    free(answer);
    answer = tls_client_read(c, false);
    assert_string_equal(answer_body(answer), "ok");
    free(answer);
    tls_client_close(c);
    stand_done(&s);
}

static void limits__rubbish_instead_of_tls__closed(void **state)
{
    (void)state;
    static const char *const rubbish[] = {HEALTH, "\x16\x03\x01\xff\xff rubbish", "\r\n\r\n"};
    struct stand s;
    stand_init(&s);
    stand_start(&s);
    for (size_t i = 0; i < ARRAY_LEN(rubbish); i++) {
        int fd = raw_connect(stand_port(&s));
        assert_true(raw_send_text(fd, rubbish[i]));
        (void)shutdown(fd, SHUT_WR); /* the server may have closed by now */
        size_t n;
        char *got = raw_read_all(fd, &n);
        assert_null(strstr(got, "HTTP/"));
        free(got);
        close(fd);
    }
    assert_healthy(&s);
    stand_done(&s);
}

UNIT_MAIN(limits)
{
    if (own_is_valgrind()) {
        /* which keeps descriptors, looks for leaks in forked clients, and counts memory
         * as its own */
        puts("1..0 # SKIP crowds of clients are nothing for valgrind");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits__idle_clients__memory), /* first, while no memory was given back */
        cmocka_unit_test(limits__ten_thousand_slow_clients__others_are_served),
        cmocka_unit_test(limits__huge_requests__refused),
        cmocka_unit_test(limits__unread_answers__bounded_together),
        cmocka_unit_test(limits__unread_answer__cut_off_in_time),
        cmocka_unit_test(limits__big_answer__whole),
        cmocka_unit_test(limits__rubbish_instead_of_tls__closed),
    };
    return cmocka_run_group_tests_name("serve_limits", tests, NULL, NULL);
}
