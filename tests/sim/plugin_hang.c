/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_hang.c: a provider whose ensure never returns and never looks at call->cancelled().
 *
 * For the one test that needs it: trimtab leaves within two seconds all the same. */
#include <trimtab/provider.h>
#include <unistd.h>

static int32_t hang_open(const struct tt_open_args *args, void **ret, struct tt_result *result)
{
    (void)result;
    *ret = (void *)args->host; /* the handle is the host: there is no other state */
    return TT_OK;
}

static void hang_close(void *provider)
{
    (void)provider;
}

static int32_t hang_get(void *provider, const struct tt_call *call, const struct tt_item *item)
{
    const struct tt_host *host = provider;

    (void)call;
    host->result_exists(item->result, 0);
    return TT_OK;
}

static int32_t hang_batch(void *provider, const struct tt_call *call, const struct tt_batch *batch)
{
    const struct tt_host *host = provider;

    (void)call;
    (void)batch;
    host->log(host->ctx, TT_LOG_WARNING, 0, "Hanging", NULL, 0);
    while (pause() != 0) {
        /* it always says -1, after a signal */
    }
    return TT_OK;
}

static const struct tt_provider hang_provider = {
    .abi_major = TRIMTAB_ABI_MAJOR,
    .abi_minor = TRIMTAB_ABI_MINOR,
    .size = sizeof(hang_provider),
    .name = "hang",
    .version = "1",
    .open = hang_open,
    .close = hang_close,
    .get_load_balancer = hang_get,
    .ensure_load_balancer = hang_batch,
    .update_load_balancer = hang_batch,
    .ensure_load_balancer_deleted = hang_batch,
};

const struct tt_provider *tt_provider_descriptor(void)
{
    return &hang_provider;
}
