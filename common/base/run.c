/* SPDX-License-Identifier: Apache-2.0 */
/* run.c: one child process: started, listened to, ended (see run.h).
 *
 * Its end is looked for every few milliseconds instead of waiting for the end of its output,
 * because a grandchild may hold the pipes open forever.  The group is killed while the child is
 * still a zombie, so that its id cannot belong to others.  Must not run in a thread that others
 * wait for; must not log what was printed. */
#include "common/base/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/str.h"
#include "common/base/task.h"

#define TICK_MS 10 /* at most so long after its end we notice it */

/* One end of a pipe, and what came out of it. */
struct listener {
    int fd; /* -1: ended */
    struct str_buf text;
    size_t max;
    bool over; /* there was more than max */
};
struct child {
    pid_t pid;
    bool own_group;
    bool lost; /* another waiter took its exit status */
    struct listener out, err;
    int64_t until_ms; /* real */
};

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}

static void child_done(struct child *c)
{
    close_fd(&c->out.fd);
    close_fd(&c->err.fd);
    if (c->out.text.len > 0) {
        explicit_bzero(c->out.text.data, c->out.text.len);
    }
    str_buf_done(&c->out.text);
    str_buf_done(&c->err.text);
}

/* --- starting --------------------------------------------------------------------------------- */

/* Descriptors of the child's side. */
struct ends {
    int in, out, err; /* -1: ours */
};

static void ends_done(struct ends *e)
{
    close_fd(&e->in);
    close_fd(&e->out);
    close_fd(&e->err);
}

static int open_pipe(int *ret_read, int *ret_write, struct err *err)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) {
        return err_set(err, ERR_TRANSIENT, "pipe: %s", strerror(errno));
    }
    *ret_read = fds[0];
    *ret_write = fds[1];
    if (fcntl(fds[0], F_SETFL, O_NONBLOCK) != 0) {
        return err_set(err, ERR_TRANSIENT, "pipe: %s", strerror(errno));
    }
    return ERR_OK;
}

static int open_ends(const struct run_args *args, struct child *c, struct ends *e, struct err *err)
{
    int rc = open_pipe(&c->out.fd, &e->out, err);
    if (rc != ERR_OK || args->interactive) {
        return rc;
    }
    rc = open_pipe(&c->err.fd, &e->err, err);
    e->in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (rc == ERR_OK && e->in < 0) {
        rc = err_set(err, ERR_TRANSIENT, "open /dev/null: %s", strerror(errno));
    }
    return rc;
}

/* The program does not inherit our mask and handlers. */
static void set_attributes(posix_spawnattr_t *attr, bool own_group)
{
    sigset_t none, all;
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    (void)posix_spawnattr_setsigmask(attr, &none);
    (void)posix_spawnattr_setsigdefault(attr, &all);
    if (own_group) {
        flags |= POSIX_SPAWN_SETPGROUP;
        (void)posix_spawnattr_setpgroup(attr, 0);
    }
    (void)posix_spawnattr_setflags(attr, flags);
}

static int set_files(posix_spawn_file_actions_t *files, const struct ends *e)
{
    int rc = posix_spawn_file_actions_adddup2(files, e->out, STDOUT_FILENO);
    if (rc == 0 && e->in >= 0) {
        rc = posix_spawn_file_actions_adddup2(files, e->in, STDIN_FILENO);
    }
    if (rc == 0 && e->err >= 0) {
        rc = posix_spawn_file_actions_adddup2(files, e->err, STDERR_FILENO);
    }
    return rc != 0 ? rc : posix_spawn_file_actions_addclosefrom_np(files, STDERR_FILENO + 1);
}

static int spawn(const struct run_args *args, struct child *c, const struct ends *e,
                 struct err *err)
{
    posix_spawnattr_t attr;
    posix_spawn_file_actions_t files;
    (void)posix_spawnattr_init(&attr);
    (void)posix_spawn_file_actions_init(&files);
    c->own_group = !args->interactive;
    set_attributes(&attr, c->own_group);
    int rc = set_files(&files, e);
    if (rc == 0) {
        /* The arrays are not written to; the types of POSIX are older than const. */
        rc = posix_spawnp(&c->pid, args->argv[0], &files, &attr, (char *const *)args->argv,
                          (char *const *)args->envp);
    }
    (void)posix_spawn_file_actions_destroy(&files);
    (void)posix_spawnattr_destroy(&attr);
    if (rc == ENOENT || rc == EACCES || rc == ENOTDIR || rc == ELOOP) {
        return err_set(err, ERR_NOT_FOUND, "%.400s: %s", args->argv[0], strerror(rc));
    }
    return rc == 0 ? ERR_OK
                   : err_set(err, ERR_TRANSIENT, "%.400s: %s", args->argv[0], strerror(rc));
}

/* --- listening -------------------------------------------------------------------------------- */

static void keep(struct listener *l, const char *bytes, size_t n)
{
    size_t room = l->max - l->text.len;
    l->over |= n > room;
    str_append_n(&l->text, bytes, n < room ? n : room);
}

/* Everything that is there now. */
static void drain(struct listener *l)
{
    char bytes[4096];
    while (l->fd >= 0) {
        ssize_t n = read(l->fd, bytes, sizeof bytes);
        if (n > 0) {
            keep(l, bytes, (size_t)n);
            if (l->over) {
                break; /* one that never stops must not hold us here */
            }
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            close_fd(&l->fd);
        } else if (errno == EAGAIN) {
            break;
        }
    }
    explicit_bzero(bytes, sizeof bytes);
}

static bool has_ended(struct child *c)
{
    siginfo_t info = {0};
    int rc = waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    c->lost = rc != 0 && errno == ECHILD;
    return c->lost || (rc == 0 && info.si_pid == c->pid);
}

static void listen_a_while(struct child *c)
{
    struct pollfd fds[2];
    nfds_t n = 0;
    if (c->out.fd >= 0) {
        fds[n++] = (struct pollfd){.fd = c->out.fd, .events = POLLIN};
    }
    if (c->err.fd >= 0) {
        fds[n++] = (struct pollfd){.fd = c->err.fd, .events = POLLIN};
    }
    (void)task_poll(fds, n, n == 0 ? 1 : TICK_MS); /* without output it is about to end */
    drain(&c->out);
    drain(&c->err);
}

/* Until it ends, or has to be ended. */
static int listen_on(const struct run_args *args, struct child *c, struct err *err)
{
    while (!has_ended(c)) {
        if (cancel_fired(args->cancel)) {
            return err_set(err, ERR_CANCELLED, "%.400s was stopped: so are we", args->argv[0]);
        }
        if (clock_now_ms(clock_real()) >= c->until_ms) {
            return err_set(err, ERR_TRANSIENT, "%.400s did not end within %lld s", args->argv[0],
                           (long long)((args->timeout_ms + 999) / 1000));
        }
        listen_a_while(c);
        if (c->out.over) {
            break;
        }
    }
    drain(&c->out); /* its last output; children that it left behind are not waited for */
    drain(&c->err);
    if (c->out.over) {
        return err_set(err, ERR_INVALID, "%.400s printed more than %zu bytes", args->argv[0],
                       args->out_max);
    }
    return ERR_OK;
}

/* --- ending ----------------------------------------------------------------------------------- */

/* The child and, while its id is still taken, all that it started in its group. */
static int bury(struct child *c)
{
    int status = 0;
    if (c->lost) {
        return -1;
    }
    (void)kill(c->own_group ? -c->pid : c->pid, SIGKILL);
    while (waitpid(c->pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return -1;
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void fill_result(struct arena *a, const struct child *c, int rc, int exit_code,
                        struct run_result *ret)
{
    *ret = (struct run_result){
        .out = "",
        .err = arena_strndup(a, str_buf_text(&c->err.text), c->err.text.len),
        .err_cut = c->err.over,
        .exit_code = exit_code,
    };
    if (rc == ERR_OK) {
        ret->out = str_buf_to_arena(&c->out.text, a);
        ret->out_len = c->out.text.len;
    }
}

int run_program(struct arena *a, const struct run_args *args, struct run_result *ret,
                struct err *err)
{
    struct child c _cleanup_(child_done) = {
        .out = {.fd = -1, .max = args->out_max},
        .err = {.fd = -1, .max = args->err_max},
        .until_ms = clock_now_ms(clock_real()) + args->timeout_ms,
    };
    struct ends e _cleanup_(ends_done) = {-1, -1, -1};
    int exit_code = -1;
    int rc = open_ends(args, &c, &e, err);
    if (rc == ERR_OK) {
        rc = spawn(args, &c, &e, err);
        ends_done(&e); /* else our copies would keep the pipes open */
        if (rc == ERR_OK) {
            rc = listen_on(args, &c, err);
            exit_code = bury(&c);
        }
    }
    fill_result(a, &c, rc, exit_code, ret);
    return rc;
}
