/* SPDX-License-Identifier: Apache-2.0 */
/* user_agent.c: see user_agent.h. */
#include "controller/user_agent.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

void user_agent_make(const char *part, char out[USER_AGENT_MAX])
{
    struct utsname u;
    const char *arch = "unknown";

    if (uname(&u) == 0) { /* Go's names of machines */
        arch = strcmp(u.machine, "x86_64") == 0    ? "amd64"
               : strcmp(u.machine, "aarch64") == 0 ? "arm64"
                                                   : u.machine;
    }
    (void)snprintf(out, USER_AGENT_MAX,
                   "cloud-controller-manager/v1.36.2 (linux/%.40s) kubernetes/trimtab-%s/%s", arch,
                   TRIMTAB_VERSION, part);
}
