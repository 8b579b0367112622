/* SPDX-License-Identifier: Apache-2.0 */
/* header_c99.c: the installed headers, read by the strictest C99 compiler we can ask for.
 *
 * Compiled, never run: a warning here is an error.  Each header is included first and
 * alone, and twice. */
#include <trimtab/provider.h>
#include <trimtab/types.h>
/* again, to see the guards */
#include <trimtab/provider.h>

/* A reserved member stays where it is, in objects that plugins of every release share. */
#define ABI_AT(s, member, place)                                                                   \
    typedef char abi_##s##_##member[offsetof(struct s, member) == (place) ? 1 : -1]
#if UINTPTR_MAX == UINT64_MAX
ABI_AT(tt_call, reserved_0_, 40);
ABI_AT(tt_call, background, 48);
ABI_AT(tt_call, reserved_, 52);
ABI_AT(tt_item, reserved_, 60);
ABI_AT(tt_owned, reserved_, 76);
ABI_AT(tt_metric, reserved_, 44);
ABI_AT(tt_open_args, reserved_, 140);
ABI_AT(tt_provider, reserved_, 276);
ABI_AT(tt_port, reserved_, 44);
ABI_AT(tt_port_status, reserved_, 20);
ABI_AT(tt_ingress, reserved_, 36);
ABI_AT(tt_endpoint, reserved_, 60);
ABI_AT(tt_endpoint_port, reserved_, 28);
#endif

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
