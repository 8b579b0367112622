/* SPDX-License-Identifier: Apache-2.0 */
/* lock.c: one process for each instance in a network namespace.
 *
 * The lock is an abstract socket: the kernel frees its name when the process ends, however it ends,
 * and says who has it. */
#include "providers/local/kernel/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The process that listens at this address; 0: unknown. */
static pid_t holder(const struct sockaddr_un *at, socklen_t len)
{
    struct ucred who = {0};
    socklen_t n = sizeof(who);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return 0;
    }
    if (connect(fd, (const struct sockaddr *)at, len) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) != 0) {
        who.pid = 0;
    }
    close(fd);
    return who.pid;
}

/* By a signal, or in a debugger's hands: it lets go of nothing until it goes on. */
static bool is_stopped(pid_t who)
{
    char path[64];
    char stat[512];

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)who);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t n = read(fd, stat, sizeof(stat) - 1);
    close(fd);
    stat[n > 0 ? n : 0] = '\0';
    const char *name_ends = strrchr(stat, ')'); /* the name may hold anything */
    return name_ends != NULL &&
           (strncmp(name_ends, ") T", 3) == 0 || strncmp(name_ends, ") t", 3) == 0);
}

static int taken(const char *instance, const struct sockaddr_un *at, socklen_t len, struct err *err)
{
    char pid[128] = "";
    int who = (int)holder(at, len);
    if (who > 0 && is_stopped(who)) {
        snprintf(pid, sizeof(pid), " (pid %d, which is stopped: kill -CONT %d, or kill -KILL %d)",
                 who, who, who);
    } else if (who > 0) {
        snprintf(pid, sizeof(pid), " (pid %d)", who);
    }
    return err_set(err, ERR_CONFLICT,
                   "another trimtab with instance \"%s\" runs here%s; end it, or give this one "
                   "another name (instance: NAME in its cloud config)",
                   instance, pid);
}

bool local_kernel_is_locked(const char *instance)
{
    struct err ignored = ERR_INIT;
    int fd = -1;
    int code = local_kernel_lock(instance, &fd, &ignored);
    if (code == ERR_OK) {
        close(fd);
    }
    return code == ERR_CONFLICT;
}

int local_kernel_lock(const char *instance, int *ret_fd, struct err *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int n = snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1, "trimtab-local-%s", instance);
    if (n < 0 || (size_t)n >= sizeof(at.sun_path) - 1) {
        return err_set(err, ERR_INVALID, "instance \"%s\" is too long", instance);
    }
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return err_set(err, ERR_TRANSIENT, "lock of instance \"%s\": %s", instance,
                       strerror(errno));
    }
    if (bind(fd, (const struct sockaddr *)&at, len) == 0 && listen(fd, 8) == 0) {
        *ret_fd = fd;
        return ERR_OK;
    }
    int error = errno;
    close(fd);
    if (error == EADDRINUSE) {
        return taken(instance, &at, len, err);
    }
    return err_set(err, ERR_TRANSIENT, "lock of instance \"%s\": %s", instance, strerror(error));
}
