/* SPDX-License-Identifier: Apache-2.0 */
/* cores.c: see cores.h. */
#include "common/base/cores.h"

#include <sys/prctl.h>
#include <sys/resource.h>

void cores_forbid(void)
{
    const struct rlimit none = {0};

    /* Lowering a limit and giving up being dumpable need no right: neither can fail. */
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}
