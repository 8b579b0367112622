/* SPDX-License-Identifier: Apache-2.0 */
/* caps.c: see caps.h.  glibc has no wrappers for the two calls. */
#include "common/base/caps.h"

#include <linux/capability.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void caps_take(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct have[_LINUX_CAPABILITY_U32S_3];
    struct __user_cap_data_struct want[_LINUX_CAPABILITY_U32S_3];

    if (syscall(SYS_capget, &header, have) != 0) {
        return; /* what needs a capability will say so */
    }
    memcpy(want, have, sizeof want);
    for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        want[i].effective = have[i].permitted;
    }
    if (memcmp(want, have, sizeof want) != 0) {
        (void)syscall(SYS_capset, &header, want); /* the same */
    }
}
