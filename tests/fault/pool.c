/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c: see pool.h. */
#include "tests/fault/pool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/str.h"

#define STORY_MAX (4 << 20)

static void run_child(struct pool_job *job)
{
    int fd = open(job->file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0) {
        _exit(99);
    }
    (void)alarm(POOL_LIMIT_S);
    int code = job->fn(job->arg);
    (void)fflush(NULL);
    _exit(code); /* without exit handlers: a thread may still run */
}

static void begin(struct pool_job *job)
{
    (void)fflush(NULL);
    job->pid = fork();
    if (job->pid < 0) {
        perror("fork");
        exit(1);
    }
    if (job->pid == 0) {
        run_child(job);
    }
    job->end = (int)syscall(SYS_pidfd_open, job->pid, 0);
    if (job->end < 0) {
        perror("pidfd_open");
        exit(1);
    }
}

/* Waits until one of the first `n` has ended, takes it out of the array and returns it
 * with its outcome. */
static struct pool_job *take_ended(struct pool_job **running, struct pollfd *ends, size_t n)
{
    struct pool_job *job = NULL;
    siginfo_t si = {0};

    for (size_t i = 0; i < n; i++) {
        ends[i] = (struct pollfd){.fd = running[i]->end, .events = POLLIN};
    }
    while (poll(ends, n, -1) < 0 && errno == EINTR) {
    }
    for (size_t i = 0; i < n && job == NULL; i++) {
        if (ends[i].revents != 0) {
            job = running[i];
            running[i] = running[n - 1];
        }
    }
    if (job == NULL || waitid(P_PIDFD, (id_t)job->end, &si, WEXITED | WNOWAIT) != 0) {
        perror("wait for a child");
        exit(1);
    }
    job->code = si.si_code == CLD_EXITED ? si.si_status : 100 + si.si_status;
    return job;
}

/* Removes the process from the kernel's table. */
static void collect(struct pool_job *job)
{
    if (job != NULL) {
        (void)waitid(P_PIDFD, (id_t)job->end, NULL, WEXITED); /* it has ended */
        close(job->end);
    }
}

/* A process is collected after the end of the next one.  The kernel reports an end while the last
 * thread still takes its entries out of /proc; a parent that collects at once spins until that
 * thread has had a processor again, 3 ms of CPU time each. */
void pool_run(struct pool_job *jobs, size_t n, unsigned parallel,
              void (*ended)(void *arg, struct pool_job *job), void *arg)
{
    struct pool_job **running = xcalloc(parallel, sizeof(*running));
    struct pollfd *ends = xcalloc(parallel, sizeof(*ends));
    struct pool_job *last = NULL;
    size_t begun = 0;

    for (size_t done = 0; done < n; done++) {
        while (begun < n && begun - done < parallel) {
            begin(&jobs[begun]);
            running[begun - done] = &jobs[begun];
            begun++;
        }
        struct pool_job *job = take_ended(running, ends, begun - done);
        collect(last);
        last = job;
        ended(arg, job);
    }
    collect(last);
    free(ends);
    free(running);
}

double pool_cpu_s(void)
{
    struct rusage u = {0};
    (void)getrusage(RUSAGE_CHILDREN, &u); /* cannot fail for this argument */
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

void pool_print_story(const struct pool_job *job)
{
    struct arena *a = arena_new();
    char *text = NULL;
    size_t n = 0;
    size_t n_lines = 0;

    if (file_read(a, job->file, STORY_MAX, &text, &n, NULL) == ERR_OK) {
        char **lines = str_split(a, text, '\n', &n_lines);
        for (size_t i = 0; i < n_lines; i++) {
            if (*lines[i] != '\0') {
                printf("#   %s\n", lines[i]);
            }
        }
    }
    arena_free(a);
}

void pool_remove_dir(const char *dir)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    DIR *d = opendir(dir);
    for (struct dirent *e = d != NULL ? readdir(d) : NULL; e != NULL; e = readdir(d)) {
        if (e->d_name[0] != '.') {
            (void)unlink(arena_printf(a, "%s/%s", dir, e->d_name));
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    (void)rmdir(dir);
}
