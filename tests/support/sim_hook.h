/* SPDX-License-Identifier: Apache-2.0 */
/* sim_hook.h: a test inside the simulator's process: looks at each call, counts all of them.
 *
 * With the hook a test lets a given call fail, or kills a process under test around it. */
#ifndef TRIMTAB_TESTS_SIM_HOOK_H
#define TRIMTAB_TESTS_SIM_HOOK_H

#include "sim/core/frame.h"

static inline void sim_set_hook(struct sim *s,
                                void (*fn)(void *arg, const struct sim_call *call, bool after),
                                void *arg)
{
    s->hook = fn;
    s->hook_arg = arg;
}
/* All calls of all APIs since the start, which a reset leaves as they are.  From any thread. */
static inline int64_t sim_calls_total(const struct sim *s)
{
    return atomic_load(&s->counts->total);
}

#endif
