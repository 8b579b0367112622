/* SPDX-License-Identifier: Apache-2.0 */
/* asleep.c: whether all other threads of this process wait (asleep.h).
 *
 * Who moves a fake clock does so when nothing happens.  On a machine with more work than processors
 * nothing happens for a while although a thread has all it needs but its turn; the kernel knows
 * which of the two it is (proc(5), "status").  Threads are checked one after another, and one that
 * slept may have been woken by one that was looked at later and sleeps by then.  So they are
 * checked twice: who slept both times, and has not run in between, slept all the while. */
#include "tests/support/asleep.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TASKS      "/proc/self/task"
#define STATUS_MAX 4096

/* All other threads, at one look. */
struct threads {
    size_t n;
    unsigned long long switches; /* how often they have been taken from a processor, in sum */
    bool sleep;
};

/* The number behind "\nNAME:"; 0 when it is not there. */
static unsigned long long number_of(const char *status, const char *name)
{
    const char *at = strstr(status, name);
    return at == NULL ? 0 : strtoull(at + strlen(name), NULL, 10);
}

/* Adds what the kernel says of one thread.  'R' runs or wants to, 'D' waits for a disk, 'S' sleeps;
 * one that has just ended counts as none. */
static void add(int tasks, const char *id, struct threads *t)
{
    char path[64];
    char text[STATUS_MAX] = "";
    (void)snprintf(path, sizeof(path), "%s/status", id);
    int fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0) {
        return;
    }
    const char *state = strstr(text, "\nState:\t");
    t->n++;
    t->switches += number_of(text, "\nvoluntary_ctxt_switches:\t") +
                   number_of(text, "\nnonvoluntary_ctxt_switches:\t");
    t->sleep = t->sleep && state != NULL && state[8] != 'R' && state[8] != 'D';
}

static struct threads look(void)
{
    DIR *d = opendir(TASKS);
    struct threads t = {.sleep = true};
    if (d == NULL) {
        abort(); /* without /proc no test of this kind can be believed */
    }
    for (struct dirent *e = readdir(d); e != NULL && t.sleep; e = readdir(d)) {
        if (e->d_name[0] != '.' && strtol(e->d_name, NULL, 10) != gettid()) {
            add(dirfd(d), e->d_name, &t);
        }
    }
    closedir(d);
    return t;
}

bool others_sleep(void)
{
    struct threads first = look();
    if (!first.sleep) {
        return false;
    }
    struct threads second = look();
    return second.sleep && second.n == first.n && second.switches == first.switches;
}
