/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_file.c: see plugin_file.h. */
#include "controller/host/plugin_file.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "common/base/str.h"

static bool is_mounted_read_only(const char *path)
{
    struct statvfs fs;

    return statvfs(path, &fs) == 0 && (fs.f_flag & ST_RDONLY) != 0;
}

/* One file or folder that is not a link. */
static int check_one(const char *path, uid_t uid, struct err *err)
{
    struct stat st;

    if (stat(path, &st) != 0) {
        return err_set(err, ERR_NOT_FOUND, "%s: %s", path, strerror(errno));
    }
    bool sticky = S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX) != 0;
    bool foreign = st.st_uid != 0 && st.st_uid != uid;
    bool open = (st.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !sticky;
    if ((!foreign && !open) || is_mounted_read_only(path)) {
        return ERR_OK;
    }
    return err_set(err, ERR_FORBIDDEN,
                   "others may write to %s (it belongs to uid %u, mode %04o): it must belong to "
                   "root or to uid %u and be writable by its owner alone; "
                   "--allow-writable-plugins loads it all the same",
                   path, (unsigned)st.st_uid, (unsigned)(st.st_mode & 07777), (unsigned)uid);
}

/* `real` without links: the file, then each folder above it up to the root. */
static int check_up(char *real, uid_t uid, struct err *err)
{
    int rc = check_one(real, uid, err);

    for (char *slash = strrchr(real, '/'); rc == ERR_OK && slash != NULL && slash != real;
         slash = strrchr(real, '/')) {
        *slash = '\0';
        rc = check_one(real, uid, err);
    }
    return rc == ERR_OK ? check_one("/", uid, err) : rc;
}

static int check_real(const char *path, uid_t uid, struct err *err)
{
    char real[PATH_MAX];

    if (realpath(path, real) == NULL) {
        return err_set(err, ERR_NOT_FOUND, "%s: %s", path, strerror(errno));
    }
    return check_up(real, uid, err);
}

int plugin_file_check(const char *path, uid_t uid, struct err *err)
{
    _cleanup_(xfreep) char *folder = xstrdup(path);
    char *slash = strrchr(folder, '/');

    /* The folder by itself, too: the file in it may be a link that leads elsewhere. */
    if (slash != NULL) {
        slash[slash == folder] = '\0';
    }
    int rc = check_real(slash != NULL ? folder : ".", uid, err);
    return rc == ERR_OK ? check_real(path, uid, err) : rc;
}
