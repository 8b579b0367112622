/* SPDX-License-Identifier: Apache-2.0 */
/* file_watch.c: watches a file that another program replaces.
 *
 * Projected tokens and certificates change by a rename of a folder above them, so the path is
 * opened again each time instead of being watched by inode.  Reading happens under the lock: the
 * files are small and the readers would all do it otherwise.  The last good content survives
 * failures (controller.md 4.3).  Thread-safe. */
#include "common/base/file.h"
#include "common/base/lock.h"

#include <string.h>

struct file_watch {
    char *path; /* owned */
    size_t max_bytes;
    int64_t every_ms;
    struct clock *clock; /* borrowed */
    struct mutex lock;   /* all below */
    char *data;          /* owned; NULL until the first good read */
    size_t n;
    uint64_t generation; /* 0 until the first good read */
    int64_t checked_ms;  /* when it was last tried */
    bool is_fresh;       /* false: read whatever the age */
};

struct file_watch *file_watch_new(const char *path, size_t max_bytes, int64_t every_ms,
                                  struct clock *clock)
{
    struct file_watch *w = xcalloc(1, sizeof *w);
    w->path = xstrdup(path);
    w->max_bytes = max_bytes;
    w->every_ms = every_ms;
    w->clock = clock;
    mutex_init(&w->lock);
    return w;
}

void file_watch_free(struct file_watch *w)
{
    if (w == NULL) {
        return;
    }
    mutex_done(&w->lock);
    free(w->path);
    free(w->data);
    free(w);
}

/* Called with the lock held.  Content of secrets is overwritten before its memory is given back. */
static void take_content(struct file_watch *w, const char *data, size_t n)
{
    if (w->data != NULL && w->n == n && memcmp(w->data, data, n) == 0) {
        return;
    }
    if (w->data != NULL) {
        explicit_bzero(w->data, w->n);
        free(w->data);
    }
    w->data = xmalloc(n + 1);
    memcpy(w->data, data, n);
    w->data[n] = '\0';
    w->n = n;
    w->generation++;
}

/* Only white space: the writer has not written the content yet. */
static bool is_blank(const char *data, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strchr(" \t\r\n", data[i]) == NULL) {
            return false;
        }
    }
    return true;
}

static int read_content(struct file_watch *w, struct arena *a, char **ret, size_t *ret_n,
                        struct err *err)
{
    int rc = file_read(a, w->path, w->max_bytes, ret, ret_n, err);
    if (rc == ERR_OK && is_blank(*ret, *ret_n)) {
        rc = err_set(err, ERR_INVALID, "read %s: is empty", w->path);
    }
    return rc;
}

int file_watch_get(struct file_watch *w, struct arena *a, char **ret, size_t *ret_n,
                   uint64_t *ret_generation, struct err *err)
{
    int rc = ERR_OK;
    int64_t now = clock_now_ms(w->clock);
    mutex_lock(&w->lock);
    if (!w->is_fresh || w->data == NULL || now - w->checked_ms >= w->every_ms) {
        char *data;
        size_t n;
        rc = read_content(w, a, &data, &n, err);
        w->checked_ms = now;
        w->is_fresh = true;
        if (rc == ERR_OK) {
            take_content(w, data, n);
        } else if (w->data != NULL) {
            err_clear(err); /* the last good content counts */
            rc = ERR_OK;
        }
    }
    if (rc == ERR_OK) {
        char *copy = arena_alloc(a, w->n + 1);
        memcpy(copy, w->data, w->n);
        *ret = copy;
        *ret_n = w->n;
        *ret_generation = w->generation;
    }
    mutex_unlock(&w->lock);
    return rc;
}

void file_watch_expire(struct file_watch *w)
{
    mutex_lock(&w->lock);
    w->is_fresh = false;
    mutex_unlock(&w->lock);
}
