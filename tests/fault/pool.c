/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c: see pool.h. */
#include "tests/fault/pool.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
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
}

static struct pool_job *job_of(struct pool_job *jobs, size_t n, pid_t pid)
{
    for (size_t i = 0; i < n; i++) {
        if (jobs[i].pid == pid) {
            return &jobs[i];
        }
    }
    return NULL;
}

void pool_run(struct pool_job *jobs, size_t n, unsigned parallel,
              void (*ended)(void *arg, struct pool_job *job), void *arg)
{
    size_t begun = 0;
    size_t done = 0;
    while (done < n) {
        while (begun < n && begun - done < parallel) {
            begin(&jobs[begun++]);
        }
        int status = 0;
        pid_t pid = waitpid(-1, &status, 0);
        struct pool_job *job = pid > 0 ? job_of(jobs, begun, pid) : NULL;
        if (job == NULL) {
            continue;
        }
        job->code = WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
        job->pid = 0;
        done++;
        ended(arg, job);
    }
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
