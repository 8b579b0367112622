/* SPDX-License-Identifier: Apache-2.0 */
/* broken.c: plugins that are wrong in one way each; the build defines BREAK to the number of the way.
 *
 * Everything that BREAK does not name is right, so what the controller says can only be about that.  The file
 * name of the built module is the provider's name (BREAK_NAME).  Crashes are not tested: a plugin is trusted
 * with the process, not with the format of its answers.  run_plugin_test.py knows what each must lead to. */
#include <stddef.h>
#include <string.h>
#include <trimtab/provider.h>

#include "tests/abi/plugins/breaks.h"

static const struct tt_host *host;

/* ---- results ------------------------------------------------------------------------------------------ */
static void fill(char *text, size_t n, char c)
{
    memset(text, c, n - 1);
    text[n - 1] = '\0';
}

static int32_t broken_open(const struct tt_open_args *args, void **ret, struct tt_result *result)
{
    static int handle;
    host = args->host;
    if (BREAK == OPEN_FAILS) {
        host->result_fail(result, TT_INVALID, "the appliance has no licence", 0);
        return TT_INVALID;
    }
    if (BREAK == OPEN_SILENT) {
        return TT_AUTH;
    }
    if (BREAK == OPEN_GARBAGE) {
        return 99;
    }
    if (BREAK == OPEN_LONG_MESSAGE) {
        char text[5000];
        fill(text, sizeof text, 'x');
        host->result_fail(result, TT_INVALID, text, 0);
        return TT_INVALID;
    }
    *ret = &handle;
    return TT_OK;
}

static void broken_close(void *provider)
{
    (void)provider;
}

static int32_t broken_get(void *provider, const struct tt_call *call, const struct tt_item *item)
{
    (void)provider;
    (void)call;
    host->result_exists(item->result, 0);
    return TT_OK;
}

static int32_t broken_answer(const struct tt_service *service, struct tt_result *result)
{
    char text[5000];
    struct tt_ingress in = {.ip = "192.0.2.1"};
    fill(text, sizeof text, 'x');
    switch (BREAK) {
    case CODE_GARBAGE:
        return 99;
    case CODE_NEGATIVE:
        return -1;
    case CODE_UNDECLARED:
        host->result_fail(result, TT_QUOTA, "no more", 0);
        return TT_QUOTA;
    case MESSAGE_LONG:
        host->result_fail(result, TT_QUOTA, text, 0);
        return TT_QUOTA;
    case MESSAGE_BINARY:
        host->result_fail(result, TT_QUOTA, "quota \xFF\xFE", 0);
        return TT_QUOTA;
    case FAIL_SILENT:
        return TT_QUOTA;
    case INGRESS_NONE:
        return TT_OK;
    case INGRESS_EMPTY:
        in.ip = NULL;
        break;
    case INGRESS_LONG:
        in.ip = text;
        break;
    case INGRESS_MODE:
        in.ip_mode = "Sideways";
        break;
    case INGRESS_MANY:
        host->result_ingress(result, &in, UINT32_MAX);
        return TT_OK;
    case EVENT_LONG:
        host->event(host->ctx, service, TT_EVENT_WARNING, "Long", text);
        break;
    default:
        break;
    }
    host->result_ingress(result, &in, 1);
    return TT_OK;
}

static const char *const own_finalizers[] = {"example.com/own"};
#define N_OWN (BREAK == OWN_AFFAIR ? 1 : 0)

/* What belongs to a controller of its own. */
static void take_over(const struct tt_call *call, const struct tt_item *item)
{
    if (!TT_HAS(host, result_own)) {
        return;
    }
    host->result_own(item->result, TT_OWN_FINALIZERS | TT_OWN_EVENTS);
    if (item->verb == TT_VERB_DELETE) {
        host->result_drop_finalizer(item->result, own_finalizers[0]);
    } else {
        (void)host->hold_finalizers(host->ctx, call, item, own_finalizers, 1);
    }
}

static int32_t broken_call(void *provider, const struct tt_call *call, const struct tt_batch *batch)
{
    int32_t code = TT_OK;
    (void)provider;
    for (uint32_t i = 0; i < batch->n_items && BREAK != RESULT_MISSING; i++) {
        if (BREAK == OWN_AFFAIR) {
            take_over(call, batch->items[i]);
        }
        code = batch->items[i]->verb == TT_VERB_ENSURE
                   ? broken_answer(batch->items[i]->service, batch->items[i]->result)
                   : TT_OK;
        if (code == TT_OK) {
            host->result_done(batch->items[i]->result);
        }
    }
    return code;
}

static int32_t broken_key(void *provider, const struct tt_service *service, char *text, size_t n)
{
    (void)provider;
    (void)service;
    (void)n;
    text[0] = 'b';
    text[1] = '\0';
    return TT_OK;
}

/* ---- the descriptor ------------------------------------------------------------------------------------- */
#define UNLESS(way, member) (BREAK == (way) ? NULL : (member))

/* As a plugin looks that was built with a later header: more members, a higher minor number. */
struct later_provider {
    struct tt_provider known;
    int32_t (*something_new)(void *provider);
};

static const struct tt_option options[] = {
    {.name = BREAK == OPTION_NAMELESS ? NULL
             : BREAK == OPTION_TAKEN  ? "cloud-config"
                                      : BREAK_NAME "-option",
     .type = BREAK == OPTION_TYPE ? 77 : TT_OPTION_STRING,
     .default_text = "",
     .help = BREAK == OPTION_BINARY ? "help \xC3\x28" : "an option"},
};

static const struct later_provider descriptor = {
    .known =
        {
            .abi_major = BREAK == WRONG_MAJOR ? TRIMTAB_ABI_MAJOR + 1 : TRIMTAB_ABI_MAJOR,
            .abi_minor = BREAK == LATER ? TRIMTAB_ABI_MINOR + 7 : TRIMTAB_ABI_MINOR,
            .size = BREAK == TOO_SMALL   ? offsetof(struct tt_provider, ensure_load_balancer)
                    : BREAK == LATER     ? sizeof(struct later_provider)
                    : BREAK == OLDER     ? offsetof(struct tt_provider, batch_key)
                    : BREAK == SIZE_ZERO ? 0
                                         : sizeof(struct tt_provider),
            .name = BREAK == NAME_NULL    ? NULL
                    : BREAK == NAME_OTHER ? "somebody-else"
                    : BREAK == NAME_BAD   ? "Not A Name"
                                          : BREAK_NAME,
            .version =
                BREAK == VERSION_LONG
                    ? "0123456789012345678901234567890123456789012345678901234567890123456789"
                    : "1",
            .capabilities =
                BREAK == OWN_AFFAIR ? TT_CAP_HOLDS_FINALIZERS | TT_CAP_REPORTS_PLANS : 0,
            .finalizers = own_finalizers,
            .n_finalizers = N_OWN,
            .options = UNLESS(OPTIONS_NULL, options),
            .n_options = 1,
            .codes = BREAK == CODE_UNDECLARED ? 1u << TT_OK : 0,
            .open = UNLESS(NO_OPEN, broken_open),
            .close = UNLESS(NO_CLOSE, broken_close),
            .get_load_balancer = UNLESS(NO_GET, broken_get),
            .ensure_load_balancer = UNLESS(NO_ENSURE, broken_call),
            .update_load_balancer = UNLESS(NO_UPDATE, broken_call),
            .ensure_load_balancer_deleted = UNLESS(NO_DELETE, broken_call),
            .batch_key = BREAK == HALF_BATCH || BREAK == RESULT_MISSING ? broken_key : NULL,
            .reconcile_batch = BREAK == RESULT_MISSING ? broken_call : NULL,
        },
};

#if BREAK != NO_SYMBOL
TT_EXPORT const struct tt_provider *tt_provider_descriptor(void)
{
    return BREAK == DESCRIPTOR_NULL ? NULL : &descriptor.known;
}
#else
TT_EXPORT const struct tt_provider *misspelt_descriptor(void);
TT_EXPORT const struct tt_provider *misspelt_descriptor(void)
{
    return &descriptor.known;
}
#endif
