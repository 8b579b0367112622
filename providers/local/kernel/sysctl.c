/* SPDX-License-Identifier: Apache-2.0 */
/* sysctl.c: numbers below /proc/sys, by sysctl(8)'s names: a dot parts folders, and a slash stands
 * for a dot inside a name ("net.ipv4.conf.eth0/7.rp_filter"). */
#include "providers/local/kernel/real.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 256
#define ROOT       "/proc/sys/"

/* False: no sysctl can have this name. */
static bool path_of(const char *name, char path[PATH_BYTES])
{
    int n = snprintf(path, PATH_BYTES, "%s%s", ROOT, name);
    if (name[0] == '\0' || name[0] == '.' || n >= PATH_BYTES || strstr(name, "..") != NULL ||
        strstr(name, "//") != NULL) {
        return false;
    }
    for (char *c = path + strlen(ROOT); *c != '\0'; c++) {
        *c = *c == '.' ? '/' : *c == '/' ? '.' : *c;
    }
    return true;
}

static int open_failed(const char *name, int error, struct err *err)
{
    switch (error) {
    case ENOENT:
        return err_set(err, ERR_NOT_FOUND, "this kernel has no sysctl %s", name);
    case EACCES:
    case EPERM:
    case EROFS:
        return err_set(err, ERR_AUTH, "not allowed to change sysctl %s: %s", name, strerror(error));
    default:
        return err_set(err, ERR_TRANSIENT, "sysctl %s: %s", name, strerror(error));
    }
}

int local_sysctl_read(const char *name, int64_t *ret, struct err *err)
{
    char path[PATH_BYTES], text[32] = "", *end;
    if (!path_of(name, path)) {
        return err_set(err, ERR_NOT_FOUND, "this kernel has no sysctl %s", name);
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return open_failed(name, errno, err);
    }
    ssize_t n = read(fd, text, sizeof(text) - 1);
    int error = errno;
    close(fd);
    if (n < 0) {
        return open_failed(name, error, err);
    }
    text[n] = '\0';
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || errno != 0) {
        return err_set(err, ERR_INVALID, "sysctl %s is not a number", name);
    }
    *ret = value;
    return ERR_OK;
}

int local_sysctl_write(const char *name, int64_t value, struct err *err)
{
    char path[PATH_BYTES], text[32];
    if (!path_of(name, path)) {
        return err_set(err, ERR_NOT_FOUND, "this kernel has no sysctl %s", name);
    }
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        return open_failed(name, errno, err);
    }
    int n = snprintf(text, sizeof(text), "%" PRId64 "\n", value);
    ssize_t written = write(fd, text, (size_t)n);
    int error = errno;
    close(fd);
    if (written < 0 && error == EINVAL) {
        return err_set(err, ERR_INVALID, "sysctl %s cannot be %" PRId64, name, value);
    }
    return written < 0 ? open_failed(name, error, err) : ERR_OK;
}
