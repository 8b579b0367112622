/* SPDX-License-Identifier: Apache-2.0 */
/* rig_asleep.c: whether everybody else in this process waits (rig_internal.h).
 *
 * The rig moves the clock when nothing happens.  On a machine with more work than processors nothing happens for a while
 * although a thread has all it needs but its turn; the kernel knows which of the two it is (proc(5), "stat"). */
#include "tests/support/rig_internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TASKS    "/proc/self/task"
#define STAT_MAX 256 /* the state stands behind the name, which has 16 bytes at most */

/* 'R' runs or wants to, 'D' waits for a disk, 'S' sleeps; 0: the thread has just ended. */
static char state_of(int tasks, const char *id)
{
    char path[64];
    char text[STAT_MAX] = "";
    (void)snprintf(path, sizeof(path), "%s/stat", id);
    int fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    const char *name_end = n > 0 ? strrchr(text, ')') : NULL;
    return name_end != NULL && name_end[1] == ' ' ? name_end[2] : 0;
}

bool rig_others_sleep(void)
{
    DIR *d = opendir(TASKS);
    bool sleep = true;
    if (d == NULL) {
        abort(); /* without /proc no test of this kind can be believed */
    }
    for (struct dirent *e = readdir(d); e != NULL && sleep; e = readdir(d)) {
        if (e->d_name[0] == '.' || strtol(e->d_name, NULL, 10) == gettid()) {
            continue;
        }
        char state = state_of(dirfd(d), e->d_name);
        sleep = state != 'R' && state != 'D';
    }
    closedir(d);
    return sleep;
}
