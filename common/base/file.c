/* SPDX-License-Identifier: Apache-2.0 */
/* file.c: whole files in and out.
 *
 * Reading looks at the opened descriptor, not at the path, so what was checked is what is read;
 * file_read() refuses a FIFO or device before anything can block, and file_read_stream() a FIFO
 * that has no writer.  Messages are worded as Go's ("open PATH: no such file or directory") because
 * users search for those.  Blocks on the disk only.  Thread-safe. */
#include "common/base/file.h"
#include "common/base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WRITER_MS 5000 /* a shell opens both ends of a pipe at about the same time */

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd); /* nothing to do about an error: data was synced or only read */
    }
}

static int code_of_errno(int e)
{
    switch (e) {
    case ENOENT:
    case ENOTDIR:
        return ERR_NOT_FOUND;
    case EACCES:
    case EPERM:
        return ERR_FORBIDDEN;
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
        return ERR_INVALID;
    default:
        return ERR_TRANSIENT;
    }
}

/* "open PATH: no such file or directory": libc's words begin in upper case, Go's do not. */
static int refuse(struct err *err, const char *verb, const char *path, int e)
{
    char buffer[128];
    const char *text = strerror_r(e, buffer, sizeof buffer);
    char first = text[0] >= 'A' && text[0] <= 'Z' ? (char)(text[0] - 'A' + 'a') : text[0];
    return err_set(err, code_of_errno(e), "%s %s: %c%s", verb, path, first,
                   text[0] != '\0' ? text + 1 : "");
}

/* Returns false if no reader opens the other end of a pipe within WRITER_MS.  Regular files and
 * pipes with a past answer at once. */
static bool has_writer(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int n = 0;
    do {
        n = poll(&p, 1, WRITER_MS);
    } while (n < 0 && errno == EINTR);
    return n != 0;
}

/* Reads to the end of the file; a file that grows meanwhile is cut off at the cap.  `fd` does not
 * block: a pipe that has a writer says EAGAIN, and blocks from then on; one that never had a writer
 * looks as if it were at its end. */
static int read_all(int fd, const char *path, size_t max_bytes, struct str_buf *b, struct err *err)
{
    char chunk[16384];
    bool begun = false;
    for (;;) {
        ssize_t got = read(fd, chunk, sizeof chunk);
        if (got < 0 && (errno == EINTR || (errno == EAGAIN && fcntl(fd, F_SETFL, 0) == 0))) {
            continue;
        }
        if (got < 0) {
            return refuse(err, "read", path, errno);
        }
        if (got == 0 && !begun && !has_writer(fd)) {
            return err_set(err, ERR_INVALID, "read %s: nothing writes into this pipe", path);
        }
        if (got == 0 && begun) {
            return ERR_OK;
        }
        begun = true;
        if ((size_t)got > max_bytes - b->len) {
            return err_set(err, ERR_INVALID, "read %s: larger than %zu bytes", path, max_bytes);
        }
        str_append_n(b, chunk, (size_t)got);
    }
}

/* Opens what may be read: regular files, and with `streams` whatever has an end.  The
 * open itself never blocks. */
static int open_path(const char *path, bool streams, int *ret_fd, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    if (fd < 0) {
        return refuse(err, errno == ENOENT ? "stat" : "open", path, errno);
    }
    *ret_fd = fd;
    if (fstat(fd, &st) != 0) {
        return refuse(err, "stat", path, errno);
    }
    if (S_ISDIR(st.st_mode) || (!streams && !S_ISREG(st.st_mode))) {
        return err_set(err, ERR_INVALID, "read %s: %s", path,
                       S_ISDIR(st.st_mode) ? "is a directory" : "is no regular file");
    }
    return ERR_OK;
}

int file_read(struct arena *a, const char *path, size_t max_bytes, char **ret, size_t *ret_n,
              struct err *err)
{
    int fd _cleanup_(close_fd) = -1;
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    int rc = open_path(path, false, &fd, err);
    rc = rc == ERR_OK ? read_all(fd, path, max_bytes, &b, err) : rc;
    if (rc == ERR_OK) {
        *ret = str_buf_to_arena(&b, a);
        *ret_n = b.len;
    }
    return rc;
}

int file_read_stream(struct arena *a, const char *path, size_t max_bytes, char **ret, size_t *ret_n,
                     struct err *err)
{
    int fd _cleanup_(close_fd) = -1;
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    int rc = open_path(path, true, &fd, err);
    rc = rc == ERR_OK ? read_all(fd, path, max_bytes, &b, err) : rc;
    if (rc == ERR_OK) {
        *ret = str_buf_to_arena(&b, a);
        *ret_n = b.len;
    }
    return rc;
}

static int write_all(int fd, const char *path, const void *data, size_t n, struct err *err)
{
    const char *at = data;
    while (n > 0) {
        ssize_t put = write(fd, at, n);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put < 0) {
            return refuse(err, "write", path, errno);
        }
        at += put;
        n -= (size_t)put;
    }
    /* The rename must not become durable before the content is. */
    return fsync(fd) == 0 ? ERR_OK : refuse(err, "sync", path, errno);
}

int file_write_atomic(const char *path, const void *data, size_t n, int mode, struct err *err)
{
    char *beside _cleanup_(xfreep) = xasprintf("%s.XXXXXX", path);
    int fd _cleanup_(close_fd) = mkostemp(beside, O_CLOEXEC);
    if (fd < 0) {
        return refuse(err, "create", path, errno);
    }
    int rc = write_all(fd, path, data, n, err);
    if (rc == ERR_OK && fchmod(fd, (mode_t)mode) != 0) {
        rc = refuse(err, "chmod", path, errno);
    }
    if (rc == ERR_OK && rename(beside, path) != 0) {
        rc = refuse(err, "rename", path, errno);
    }
    if (rc != ERR_OK) {
        (void)unlink(beside); /* best effort: the error that counts is already set */
    }
    return rc;
}

char *file_resolve(struct arena *a, const char *base_file, const char *path)
{
    const char *slash = strrchr(base_file, '/');
    if (path[0] == '/' || slash == NULL) {
        return arena_strdup(a, path);
    }
    return arena_printf(a, "%.*s/%s", (int)(slash - base_file), base_file, path);
}
