/* SPDX-License-Identifier: Apache-2.0 */
/* user_agent.c: see user_agent.h. */
#include "controller/kube/client/user_agent.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "common/base/str.h"

/* As Go names them. */
static const char *go_arch(const char *machine)
{
    static const char *const names[][2] = {
        {"x86_64", "amd64"}, {"aarch64", "arm64"}, {"i686", "386"}, {"armv7l", "arm"}};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eq(machine, names[i][0])) {
            return names[i][1];
        }
    }
    return machine;
}

void user_agent_make(const char *client, char out[USER_AGENT_MAX])
{
    struct arena *a _cleanup_(arena_freep) = arena_new();
    struct utsname u;
    const char *arch = uname(&u) == 0 ? go_arch(arena_strdup(a, u.machine)) : "unknown";
    char *base = user_agent_build(a, "cloud-controller-manager", "v1.36.2", "linux", arch,
                                  "trimtab-" TRIMTAB_VERSION);
    (void)snprintf(out, USER_AGENT_MAX, "%s/%s", base, client);
}

char *user_agent_build(struct arena *a, const char *command, const char *version, const char *os,
                       const char *arch, const char *commit)
{
    return arena_printf(a, "%s/%s (%s/%s) kubernetes/%s", command, version, os, arch, commit);
}
