/* SPDX-License-Identifier: Apache-2.0 */
/* test_log_writer.c: a log without a reader stops no thread, and says afterwards what it
 * dropped. */
#include "tests/unit/base/base_test.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/log_writer.h"
#include "tests/support/unit.h"

#define LINE        "a line of the log that is as long as many are, and a bit longer than some\n"
#define PATIENCE_MS 60000 /* bounds a hang only */

static void tell(struct str_buf *b, uint64_t n)
{
    str_appendf(b, "lost %llu\n", (unsigned long long)n);
}

struct pipe_end {
    int fd;
    struct str_buf text;
};

static void *read_to_the_end(void *arg)
{
    struct pipe_end *p = arg;
    char bytes[4096];
    ssize_t n;
    while ((n = read(p->fd, bytes, sizeof bytes)) > 0) {
        str_append_n(&p->text, bytes, (size_t)n);
    }
    return NULL;
}

static struct log_writer *begin(int fds[2])
{
    struct log_writer *w = calloc(1, sizeof *w);
    struct err err = ERR_INIT;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(log_writer_begin(w, fds[1], tell, &err), ERR_OK);
    return w;
}

/* Counts the lines, and adds up what "lost N" says. */
static void count(const char *text, size_t *ret_lines, size_t *ret_lost, size_t *ret_tellings)
{
    *ret_lines = *ret_lost = *ret_tellings = 0;
    for (const char *at = text; *at != '\0'; at = strchr(at, '\n') + 1) {
        if (strncmp(at, "lost ", 5) == 0) {
            *ret_lost += strtoul(at + 5, NULL, 10);
            ++*ret_tellings;
        } else {
            assert_memory_equal(at, LINE, strlen(LINE));
            ++*ret_lines;
        }
    }
}

static void log_writer__nobody_reads__put_returns_and_the_loss_is_told(void **state)
{
    (void)state;
    int fds[2];
    struct log_writer *w = begin(fds);
    const size_t n = 4 * LOG_WRITER_MAX / strlen(LINE);
    for (size_t i = 0; i < n; i++) {
        assert_true(log_writer_put(w, LINE, strlen(LINE)));
    }
    assert_false(log_writer_flush(w, 1));
    assert_true(log_writer_lost(w) > 0);
    struct pipe_end p = {.fd = fds[0], .text = STR_BUF_INIT};
    pthread_t reader;
    assert_int_equal(pthread_create(&reader, NULL, read_to_the_end, &p), 0);
    assert_true(log_writer_flush(w, PATIENCE_MS));
    assert_true(log_writer_put(w, LINE, strlen(LINE))); /* all is well again */
    uint64_t lost_ever = log_writer_lost(w);
    assert_true(log_writer_end(w, PATIENCE_MS));
    assert_false(log_writer_put(w, LINE, strlen(LINE)));
    close(fds[1]);
    pthread_join(reader, NULL);
    size_t lines, lost, tellings;
    count(str_buf_text(&p.text), &lines, &lost, &tellings);
    assert_int_equal(lines + lost, n + 1);
    assert_int_equal(lost, lost_ever);
    assert_true(tellings > 0);
    assert_memory_equal(p.text.data + p.text.len - strlen(LINE), LINE, strlen(LINE));
    str_buf_done(&p.text);
    close(fds[0]);
    free(w);
}

/* As when the machine is busy with other things, and the thread had no turn yet. */
static void log_writer_flush__there_is_room_and_the_thread_is_late__waits_for_the_thread(
    void **state)
{
    (void)state;
    int fds[2];
    char bytes[sizeof LINE];
    struct log_writer *w = begin(fds);
    for (int i = 0; i < 50; i++) {
        assert_true(log_writer_put(w, LINE, strlen(LINE)));
        assert_true(log_writer_flush(w, 0));
        assert_int_equal(read(fds[0], bytes, sizeof bytes), strlen(LINE));
    }
    assert_true(log_writer_put(w, LINE, strlen(LINE)));
    assert_true(log_writer_end(w, 0));
    assert_int_equal(read(fds[0], bytes, sizeof bytes), strlen(LINE));
    close(fds[0]);
    close(fds[1]);
    free(w);
}

/* Reads what one write(2) wrote into a pipe of packets. */
static size_t read_packet(int fd, char bytes[PIPE_BUF])
{
    ssize_t n = read(fd, bytes, PIPE_BUF);
    assert_true(n > 0);
    return (size_t)n;
}

static void log_writer_write__lines_that_fit_into_a_pipe_at_once__are_one_write(void **state)
{
    (void)state;
    int fds[2];
    char packet[PIPE_BUF];
    struct str_buf lines = STR_BUF_INIT;
    const size_t n = 3 * PIPE_BUF / strlen(LINE);
    assert_int_equal(pipe2(fds, O_CLOEXEC | O_DIRECT), 0);
    for (size_t i = 0; i < n; i++) {
        str_append(&lines, LINE);
    }
    log_writer_write(fds[1], LINE LINE LINE, 3 * strlen(LINE));
    assert_int_equal(read_packet(fds[0], packet), 3 * strlen(LINE));
    log_writer_write(fds[1], str_buf_text(&lines), lines.len);
    close(fds[1]);
    size_t seen = 0;
    for (size_t left = lines.len; left > 0; left -= seen) { /* whole lines, as many as fit */
        seen = read_packet(fds[0], packet);
        assert_int_equal(seen % strlen(LINE), 0);
        assert_true(seen == left || seen + strlen(LINE) > PIPE_BUF);
    }
    assert_int_equal(read(fds[0], packet, sizeof packet), 0);
    str_buf_done(&lines);
    close(fds[0]);
}

struct many {
    struct log_writer *w;
    size_t n;
};

static void *put_many(void *arg)
{
    const struct many *m = arg;
    for (size_t i = 0; i < m->n; i++) {
        (void)log_writer_put(m->w, LINE, strlen(LINE));
    }
    return NULL;
}

static void log_writer__many_threads__whole_lines(void **state)
{
    (void)state;
    int fds[2];
    struct log_writer *w = begin(fds);
    struct pipe_end p = {.fd = fds[0], .text = STR_BUF_INIT};
    struct many m = {.w = w, .n = 1000};
    pthread_t reader, writers[4];
    assert_int_equal(pthread_create(&reader, NULL, read_to_the_end, &p), 0);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&writers[i], NULL, put_many, &m), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        pthread_join(writers[i], NULL);
    }
    assert_true(log_writer_end(w, PATIENCE_MS));
    close(fds[1]);
    pthread_join(reader, NULL);
    size_t lines, lost, tellings;
    count(str_buf_text(&p.text), &lines, &lost, &tellings);
    assert_int_equal(lines + lost, 4000);
    str_buf_done(&p.text);
    close(fds[0]);
    free(w);
}

static void log_writer__end_without_reader__does_not_wait_for_ever(void **state)
{
    (void)state;
    int fds[2];
    struct log_writer *w = begin(fds);
    for (size_t i = 0; i < 2000; i++) {
        (void)log_writer_put(w, LINE, strlen(LINE));
    }
    assert_false(log_writer_end(w, 1));
    char bytes[65536]; /* let the thread go, before what it uses goes */
    struct pollfd ready = {.fd = fds[0], .events = POLLIN};
    size_t seen = 0;
    while (seen < 2000 * strlen(LINE) && poll(&ready, 1, PATIENCE_MS) == 1) {
        ssize_t n = read(fds[0], bytes, sizeof bytes);
        assert_true(n > 0);
        seen += (size_t)n;
    }
    assert_int_equal(seen, 2000 * strlen(LINE));
    /* `w` is the thread's, which is not joined: it stays. */
    static struct log_writer *kept;
    kept = w;
    assert_non_null(kept);
    close(fds[0]);
}

static void log_writer__descriptor_that_does_not_block__nothing_is_lost(void **state)
{
    (void)state;
    int fds[2];
    struct log_writer *w = begin(fds);
    assert_int_equal(fcntl(fds[1], F_SETFL, O_NONBLOCK), 0);
    for (size_t i = 0; i < 3000; i++) { /* more than a pipe holds, less than the buffer */
        (void)log_writer_put(w, LINE, strlen(LINE));
    }
    struct pipe_end p = {.fd = fds[0], .text = STR_BUF_INIT};
    pthread_t reader;
    assert_int_equal(pthread_create(&reader, NULL, read_to_the_end, &p), 0);
    assert_true(log_writer_end(w, PATIENCE_MS));
    close(fds[1]);
    pthread_join(reader, NULL);
    size_t lines, lost, tellings;
    count(str_buf_text(&p.text), &lines, &lost, &tellings);
    assert_int_equal(lines, 3000);
    assert_int_equal(lost, 0);
    str_buf_done(&p.text);
    close(fds[0]);
    free(w);
}

#define DROPPED                                                                                    \
    "\"msg\":\"Log lines were dropped here, because the log was not read\",\"v\":0,\"lines\":"

static void log_begin_writing__lines_and_loss_in_the_chosen_form(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    log_setup(&(struct log_config){.format = LOG_JSON, .fd = fds[1]});
    assert_int_equal(log_lost(), 0);
    assert_int_equal(log_begin_writing(&err), ERR_OK);
    for (size_t i = 0; i < 20000; i++) {
        log_info(0, "Synced", LOG_S("service", "demo/a-service-with-a-long-name-of-its-own"));
    }
    uint64_t lost = log_lost();
    assert_true(lost > 0);
    struct pipe_end p = {.fd = fds[0], .text = STR_BUF_INIT};
    pthread_t reader;
    assert_int_equal(pthread_create(&reader, NULL, read_to_the_end, &p), 0);
    assert_true(log_end_writing(PATIENCE_MS));
    log_info(0, "After");
    log_setup(&(struct log_config){.fd = STDERR_FILENO});
    close(fds[1]);
    pthread_join(reader, NULL);
    unsigned long long sum = 0;
    const char *at = NULL;
    for (const char *next = str_buf_text(&p.text); (next = strstr(next, DROPPED)) != NULL;) {
        at = next;
        next += strlen(DROPPED);
        sum += strtoull(next, NULL, 10);
    }
    assert_non_null(at);
    assert_true(sum == lost); /* once or more often, as the thread was let run */
    assert_non_null(strstr(at, "\"msg\":\"After\""));
    str_buf_done(&p.text);
    close(fds[0]);
}

UNIT_MAIN(log_writer)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_writer__nobody_reads__put_returns_and_the_loss_is_told),
        cmocka_unit_test(
            log_writer_flush__there_is_room_and_the_thread_is_late__waits_for_the_thread),
        cmocka_unit_test(log_writer__many_threads__whole_lines),
        cmocka_unit_test(log_writer_write__lines_that_fit_into_a_pipe_at_once__are_one_write),
        cmocka_unit_test(log_writer__end_without_reader__does_not_wait_for_ever),
        cmocka_unit_test(log_writer__descriptor_that_does_not_block__nothing_is_lost),
        cmocka_unit_test(log_begin_writing__lines_and_loss_in_the_chosen_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
