/* SPDX-License-Identifier: Apache-2.0 */
/* header_c99.c: the installed headers, read by the strictest C99 compiler we can ask for.
 *
 * Compiled, never run: a warning here is an error.  Each header is included first and
 * alone, and twice. */
#include <trimtab/provider.h>
#include <trimtab/types.h>
/* again, to see the guards */
#include <trimtab/provider.h>

/* A plugin's use of the header: a test for a member, a function of the host, a descriptor. */
int32_t abi_header_see(const struct tt_host *host, const struct tt_call *call);

int32_t abi_header_see(const struct tt_host *host, const struct tt_call *call)
{
    return TT_HAS(host, report_owned) ? host->may_mutate(host->ctx, call) : TT_BUG;
}

/* Members newer than the oldest supported host are tested first. */
void abi_header_own(const struct tt_host *host, struct tt_result *result);

void abi_header_own(const struct tt_host *host, struct tt_result *result)
{
    if (TT_HAS(host, result_own)) {
        host->result_own(result, TT_OWN_FINALIZERS | TT_OWN_EVENTS | TT_OWN_NODES);
    }
}

const struct tt_provider *tt_provider_descriptor(void)
{
    static const struct tt_provider descriptor = {
        .abi_major = TRIMTAB_ABI_MAJOR,
        .abi_minor = TRIMTAB_ABI_MINOR,
        .size = sizeof(struct tt_provider),
        .name = "header",
    };
    return &descriptor;
}
