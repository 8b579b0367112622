/* SPDX-License-Identifier: Apache-2.0 */
/* test_file.c: whole files, atomic writes, and files that change. */
#include "tests/unit/base/base_test.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/file.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"

/* The scratch folder of a test, and the names it uses in it. */
struct place {
    struct arena *a;
    const char *dir, *file;
};

static struct place place_new(struct arena *a)
{
    struct place p = {.a = a, .dir = scratch_dir(a)};
    p.file = arena_printf(a, "%s/file", p.dir);
    return p;
}
static void place_done(const struct place *p)
{
    unlink(p->file);
    assert_int_equal(rmdir(p->dir), 0); /* nothing else was left there */
}

static void file_read__whole_file__and_its_cap(void **state)
{
    struct place p = place_new(*state);
    struct err err = ERR_INIT;
    char *text = NULL;
    size_t n = 0;
    assert_fine(file_write_atomic(p.file, "a\0bc", 4, 0640, &err), &err);
    assert_fine(file_read(p.a, p.file, 4, &text, &n, &err), &err);
    assert_int_equal(n, 4);
    assert_memory_equal(text, "a\0bc", 5);
    assert_refused(file_read(p.a, p.file, 3, &text, &n, &err), &err, ERR_INVALID,
                   "larger than 3 bytes");
    struct stat st;
    assert_int_equal(stat(p.file, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    err_clear(&err);
    assert_fine(file_write_atomic(p.file, "", 0, 0600, &err), &err);
    assert_fine(file_read(p.a, p.file, 3, &text, &n, &err), &err);
    assert_int_equal(n, 0);
    assert_string_equal(text, "");
    place_done(&p);
}

static void file_read__what_is_no_file__refused_without_blocking(void **state)
{
    struct place p = place_new(*state);
    struct err err = ERR_INIT;
    char *text = NULL;
    size_t n = 0;
    assert_refused(file_read(p.a, p.file, 9, &text, &n, &err), &err, ERR_NOT_FOUND,
                   arena_printf(p.a, "stat %s: no such file or directory", p.file));
    assert_refused(file_read(p.a, p.dir, 9, &text, &n, &err), &err, ERR_INVALID, "is a directory");
    assert_int_equal(mkfifo(p.file, 0600), 0);
    assert_refused(file_read(p.a, p.file, 9, &text, &n, &err), &err, ERR_INVALID,
                   "is no regular file");
    assert_refused(file_read(p.a, "/dev/null", 9, &text, &n, &err), &err, ERR_INVALID,
                   "is no regular file");
    const char *below = arena_printf(p.a, "%s/x", p.file);
    assert_refused(file_read(p.a, below, 9, &text, &n, &err), &err, ERR_NOT_FOUND,
                   "not a directory");
    if (geteuid() != 0) {
        unlink(p.file);
        assert_int_equal(file_write_atomic(p.file, "x", 1, 0, NULL), ERR_OK);
        assert_refused(file_read(p.a, p.file, 9, &text, &n, &err), &err, ERR_FORBIDDEN,
                       "permission denied");
    }
    char longer[300]; /* more than a name may have */
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_refused(file_read(p.a, longer, 9, &text, &n, &err), &err, ERR_INVALID, "name too long");
    assert_null(text);
    place_done(&p);
}

static void file_write_atomic__bad_places__refused_and_clean(void **state)
{
    struct place p = place_new(*state);
    struct err err = ERR_INIT;
    const char *nowhere = arena_printf(p.a, "%s/no/such", p.dir);
    assert_refused(file_write_atomic(nowhere, "x", 1, 0600, &err), &err, ERR_NOT_FOUND, "create ");
    assert_int_equal(mkdir(p.file, 0700), 0);
    assert_refused(file_write_atomic(p.file, "x", 1, 0600, &err), &err, ERR_INVALID, "rename ");
    assert_int_equal(rmdir(p.file), 0);
    place_done(&p);
}

static void file_resolve__relative_paths__beside_the_base(void **state)
{
    struct arena *a = *state;
    assert_string_equal(file_resolve(a, "/etc/kube/config", "ca.crt"), "/etc/kube/ca.crt");
    assert_string_equal(file_resolve(a, "/etc/kube/config", "/ca.crt"), "/ca.crt");
    assert_string_equal(file_resolve(a, "config", "ca.crt"), "ca.crt");
    assert_string_equal(file_resolve(a, "/config", "ca.crt"), "/ca.crt");
}

static void assert_watch(struct file_watch *w, struct arena *a, const char *want,
                         uint64_t generation)
{
    struct err err = ERR_INIT;
    char *text = NULL;
    size_t n = 0;
    uint64_t got = 0;
    assert_fine(file_watch_get(w, a, &text, &n, &got, &err), &err);
    assert_string_equal(text, want);
    assert_int_equal(n, strlen(want));
    assert_int_equal(got, generation);
}

static void file_watch__changes__seen_after_the_interval(void **state)
{
    struct place p = place_new(*state);
    struct clock *c = clock_fake_new(0, 0);
    struct file_watch *w = file_watch_new(p.file, 100, 50, c);
    struct err err = ERR_INIT;
    char *text = NULL;
    size_t n;
    uint64_t generation;
    assert_refused(file_watch_get(w, p.a, &text, &n, &generation, &err), &err, ERR_NOT_FOUND,
                   "no such file");
    assert_int_equal(file_write_atomic(p.file, "one", 3, 0600, NULL), ERR_OK);
    assert_watch(w, p.a, "one", 1); /* without content it is tried each time */
    assert_int_equal(file_write_atomic(p.file, "two", 3, 0600, NULL), ERR_OK);
    assert_watch(w, p.a, "one", 1);
    clock_fake_advance(c, 50);
    assert_watch(w, p.a, "two", 2);
    clock_fake_advance(c, 50);
    assert_watch(w, p.a, "two", 2); /* same content, same generation */
    unlink(p.file);
    clock_fake_advance(c, 50);
    assert_watch(w, p.a, "two", 2); /* the last good content survives */
    assert_int_equal(file_write_atomic(p.file, " \n", 2, 0600, NULL), ERR_OK);
    clock_fake_advance(c, 50);
    assert_watch(w, p.a, "two", 2); /* a file that is being written, too */
    assert_int_equal(file_write_atomic(p.file, "three", 5, 0600, NULL), ERR_OK);
    assert_watch(w, p.a, "two", 2);
    file_watch_expire(w);
    assert_watch(w, p.a, "three", 3);
    file_watch_free(w);
    file_watch_free(NULL);
    clock_fake_free(c);
    place_done(&p);
}

static void file_watch__blank_from_the_start__refused(void **state)
{
    struct place p = place_new(*state);
    struct clock *c = clock_fake_new(0, 0);
    struct file_watch *w = file_watch_new(p.file, 100, 50, c);
    struct err err = ERR_INIT;
    char *text = NULL;
    size_t n;
    uint64_t generation;
    assert_int_equal(file_write_atomic(p.file, "\n", 1, 0600, NULL), ERR_OK);
    assert_refused(file_watch_get(w, p.a, &text, &n, &generation, &err), &err, ERR_INVALID,
                   "is empty");
    assert_int_equal(file_write_atomic(p.file, "one", 3, 0600, NULL), ERR_OK);
    assert_watch(w, p.a, "one", 1);
    file_watch_free(w);
    clock_fake_free(c);
    place_done(&p);
}

static void file_read_stream__pipe__read_to_its_end(void **state)
{
    struct arena *a = *state;
    struct place p = place_new(a);
    struct err err = ERR_INIT;
    char *text = NULL;
    size_t n = 0;
    int ends[2];
    assert_int_equal(0, pipe(ends));
    const char *path = arena_printf(a, "/proc/self/fd/%d", ends[0]);
    assert_int_equal(5, write(ends[1], "a\nb\0c", 5));
    assert_int_equal(0, close(ends[1]));
    assert_int_equal(ERR_OK, file_read_stream(a, path, 100, &text, &n, &err));
    assert_int_equal(5, n);
    assert_memory_equal("a\nb\0c", text, 5);
    assert_int_equal(ERR_OK, file_read_stream(a, path, 100, &text, &n, &err));
    assert_int_equal(0, n);
    assert_int_equal(0, close(ends[0]));
    assert_refused(file_read_stream(a, "/", 100, &text, &n, &err), &err, ERR_INVALID,
                   "is a directory");
    assert_refused(file_read_stream(a, "/dev/zero", 100, &text, &n, &err), &err, ERR_INVALID,
                   "larger than 100 bytes");
    place_done(&p);
}

static void file_read_stream__fifo_without_a_writer__refused(void **state)
{
    struct arena *a = *state;
    struct place p = place_new(a);
    struct err err = ERR_INIT;
    char *text = NULL;
    size_t n = 0;
    assert_int_equal(0, mkfifo(p.file, 0600));
    assert_refused(file_read_stream(a, p.file, 100, &text, &n, &err), &err, ERR_INVALID,
                   "nothing writes into this pipe");
    place_done(&p);
}

/* The writer opens its end while the reader waits for one, and is in no hurry then. */
static void *write_slowly(void *arg)
{
    int fd = open(arg, O_WRONLY);
    (void)!write(fd, "a", 1);
    sched_yield();
    (void)!write(fd, "b", 1);
    close(fd);
    return NULL;
}

static void file_read_stream__fifo_with_a_slow_writer__read_to_its_end(void **state)
{
    struct arena *a = *state;
    struct place p = place_new(a);
    char *text = NULL;
    size_t n = 0;
    pthread_t writer;
    assert_int_equal(0, mkfifo(p.file, 0600));
    assert_int_equal(0, pthread_create(&writer, NULL, write_slowly, (void *)p.file));
    assert_int_equal(ERR_OK, file_read_stream(a, p.file, 100, &text, &n, NULL));
    assert_int_equal(0, pthread_join(writer, NULL));
    assert_string_equal("ab", text);
    place_done(&p);
}

UNIT_MAIN(file)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_read__whole_file__and_its_cap),
        cmocka_unit_test(file_read__what_is_no_file__refused_without_blocking),
        cmocka_unit_test(file_read_stream__pipe__read_to_its_end),
        cmocka_unit_test(file_read_stream__fifo_without_a_writer__refused),
        cmocka_unit_test(file_read_stream__fifo_with_a_slow_writer__read_to_its_end),
        cmocka_unit_test(file_write_atomic__bad_places__refused_and_clean),
        cmocka_unit_test(file_resolve__relative_paths__beside_the_base),
        cmocka_unit_test(file_watch__changes__seen_after_the_interval),
        cmocka_unit_test(file_watch__blank_from_the_start__refused),
    };
    return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
