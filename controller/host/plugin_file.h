/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_file.h: may the code in a file be loaded into a process that holds the cloud's
 * credentials?
 *
 * An account that may write the file, its folder, or any folder above can put code of its own
 * there.  So all of them must belong to root or to the account that this process runs as, and no
 * other user may write to them.  A folder with the sticky bit (/tmp) passes: others cannot rename
 * what is in it.  What lies on a file system that is mounted read-only passes, too: a volume of a
 * pod whose mode is 0777.
 * Main thread, once. */
#ifndef TRIMTAB_CONTROLLER_PLUGIN_FILE_H
#define TRIMTAB_CONTROLLER_PLUGIN_FILE_H

#include <sys/types.h>

#include "common/base/attr.h"
#include "common/base/err.h"

/* Checks `path` and the folders on the way to it, links followed, for a process of account `uid`.
 * ERR_FORBIDDEN names the first file or folder that others may write; ERR_NOT_FOUND: there
 * is no such file. */
int plugin_file_check(const char *path, uid_t uid, struct err *err) _warn_unused_;

#endif
