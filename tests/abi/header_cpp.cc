/* SPDX-License-Identifier: Apache-2.0 */
/* header_cpp.cc: the installed headers in a C++ plugin.
 *
 * Compiled, never run: a warning here is an error.  Shows that the one symbol has C linkage. */
#include <trimtab/provider.h>
#include <trimtab/types.h>

int32_t abi_header_see(const tt_host *host, const tt_call *call);

int32_t abi_header_see(const tt_host *host, const tt_call *call)
{
    return TT_HAS(host, report_owned) ? host->may_mutate(host->ctx, call) : TT_BUG;
}

static tt_provider make()
{
    tt_provider p = tt_provider();
    p.abi_major = TRIMTAB_ABI_MAJOR;
    p.abi_minor = TRIMTAB_ABI_MINOR;
    p.size = sizeof(tt_provider);
    p.name = "header";
    return p;
}

const tt_provider *tt_provider_descriptor(void)
{
    static const tt_provider descriptor = make();
    return &descriptor;
}
