/* SPDX-License-Identifier: Apache-2.0 */
/* file.h: reading whole files with a cap, and files that change under us (tokens, CAs,
 * certificates).
 *
 * A `struct file_watch` re-reads its file at most every `every_ms` when asked, and keeps the last
 * good content when reading fails (controller.md §4.3).  Thread-safe. */
#ifndef TRIMTAB_BASE_FILE_H
#define TRIMTAB_BASE_FILE_H

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* The whole file, NUL-terminated after *ret_n bytes, in the arena.  ERR_NOT_FOUND ("stat PATH: no
 * such file or directory"), ERR_FORBIDDEN, ERR_INVALID when larger than max_bytes or
 * no regular file. */
int file_read(struct arena *a, const char *path, size_t max_bytes, char **ret, size_t *ret_n,
              struct err *err) _warn_unused_;
/* The same of anything that has an end, pipes and devices included; blocks until their writer is
 * done.  A pipe that has no writer after 5 s is ERR_INVALID. */
int file_read_stream(struct arena *a, const char *path, size_t max_bytes, char **ret, size_t *ret_n,
                     struct err *err) _warn_unused_;
/* Writes beside and renames over: readers see the old or the new file, never half of one. */
int file_write_atomic(const char *path, const void *data, size_t n, int mode,
                      struct err *err) _warn_unused_;
/* `path` if absolute, else below the folder of `base_file`. */
char *file_resolve(struct arena *a, const char *base_file, const char *path);

struct file_watch;
struct file_watch *file_watch_new(const char *path, size_t max_bytes, int64_t every_ms,
                                  struct clock *clock) _warn_unused_;
void file_watch_free(struct file_watch *w);
/* A copy of the current content (arena), and in *ret_generation a number that grows with each
 * change.  A file that cannot be read, or holds nothing but white space, keeps what was read
 * before; fails only when there is nothing before. */
int file_watch_get(struct file_watch *w, struct arena *a, char **ret, size_t *ret_n,
                   uint64_t *ret_generation, struct err *err) _warn_unused_;
/* Makes the next get read the file whatever its age (after a 401). */
void file_watch_expire(struct file_watch *w);

#endif
