/* SPDX-License-Identifier: Apache-2.0 */
/* broken.c: plugins that are wrong in one way each (breaks.h); the module's file name chooses the
 * way.
 *
 * Everything that the way does not name is right, so what the controller says can only be about
 * that.  The file name is also the provider's name.  run_plugin_test.py knows what each
 * must lead to. */
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trimtab/provider.h>
#include <unistd.h>

#include "tests/abi/plugins/breaks.h"

#define WAY_ENUM(way, name) way,
#define WAY_NAME(way, name) [way] = name,

enum way { BREAKS(WAY_ENUM) WAY_MAX };
static const char *const way_names[WAY_MAX] = {BREAKS(WAY_NAME)};

static const struct tt_host *host;
#define SMALL_BATCH 2 /* Services of one batch of SMALL_BATCHES */
static enum way way;  /* set by tt_provider_descriptor(), before everything else is called */

/* ---- results --------------------------------------------------------------------------------- */
static void fill(char *text, size_t n, char c)
{
    memset(text, c, n - 1);
    text[n - 1] = '\0';
}

static int32_t broken_open(const struct tt_open_args *args, void **ret, struct tt_result *result)
{
    static int handle;
    host = args->host;
    if (way == OPEN_FAILS) {
        host->result_fail(result, TT_INVALID, "the appliance has no licence", 0);
        return TT_INVALID;
    }
    if (way == OPEN_SILENT) {
        return TT_AUTH;
    }
    if (way == OPEN_GARBAGE) {
        return 99;
    }
    if (way == OPEN_LONG_MESSAGE) {
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

/* Returns only for a `before` that holds 2, and hands on 1: each turn takes more of the stack. */
static int overflow(volatile char *before)
{
    volatile char here[4096];
    here[0] = 1;
    return before != NULL && before[0] == 2 ? 0 : overflow(here) + here[0];
}

/* For the Service that has the way's name; others are served. */
static void crash(const struct tt_service *service)
{
    if (strcmp(service->name, way_names[way]) != 0) {
        return;
    }
    switch (way) {
    case CRASH_SEGV:
        *(volatile int *)NULL = 1;
        break;
    case CRASH_STACK:
        (void)overflow(NULL);
        break;
    case CRASH_BUS:
        (void)raise(SIGBUS);
        break;
    case CRASH_FPE:
        (void)raise(SIGFPE);
        break;
    case CRASH_ABORT:
        abort();
    case CRASH_EXIT:
        exit(3);
    case CALL_HANGS:
        while (pause() != 0) {
            /* it always says -1, after a signal */
        }
        break;
    default:
        break;
    }
}

static int32_t broken_answer(const struct tt_service *service, struct tt_result *result)
{
    char text[5000];
    struct tt_ingress in = {.ip = "192.0.2.1"};
    fill(text, sizeof text, 'x');
    crash(service);
    switch (way) {
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
    case INGRESS_WORD:
        in.ip = "999.1.1.1";
        break;
    case CONDITION_WORD:
        host->result_condition(
            result, &(struct tt_condition){.type = "is ready", .status = "True", .reason = "X"});
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

/* Members of a provider with its own controller. */
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
    for (uint32_t i = 0; i < batch->n_items && way != RESULT_MISSING; i++) {
        if (way == OWN_AFFAIR) {
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

/* Of SMALL_BATCHES. */
static int32_t broken_plan(void *provider, const struct tt_call *call, const struct tt_batch *batch)
{
    (void)provider;
    (void)call;
    for (uint32_t i = 0; i < batch->n_items; i++) {
        if (batch->n_items > SMALL_BATCH) {
            host->result_fail(batch->items[i]->result, TT_INVALID, "a batch that is too large", 0);
        } else {
            host->result_done(batch->items[i]->result);
        }
    }
    return batch->n_items > SMALL_BATCH ? TT_INVALID : TT_OK;
}

/* A row of the later header: more members, and a section that this host does not know. */
struct later_row {
    struct tt_explain_row known;
    const char *more;
};

static void explain_in_rows(struct tt_result *result)
{
    static const char *const names[] = {"a name"};
    struct later_row row = {.known = {.size = sizeof row, .section = TT_EXPLAIN_ANSWER}};
    row.known.count = row.known.of = row.known.port = row.known.every_ms = -1;
    row.known.subject = "served";
    row.known.outcome = way == EXPLAIN_BINARY ? "is served by \xFF\xFE" : "is served by a plugin.";
    if (way == EXPLAIN_SMALL) {
        row.known.size = offsetof(struct tt_explain_row, every_ms);
    }
    if (way == EXPLAIN_MANY) {
        row.known.names = names;
        row.known.n_names = UINT32_MAX;
    }
    host->result_row(result, &row.known);
    row.known.section = 77;
    host->result_row(result, &row.known);
    row.known.section = TT_EXPLAIN_WARNING;
    row.known.value = "look at this";
    host->result_row(result, &row.known);
}

static int32_t broken_explain(void *provider, const struct tt_call *call,
                              const struct tt_batch *batch)
{
    (void)provider;
    (void)call;
    for (uint32_t i = 0; i < batch->n_items; i++) {
        if (way == EXPLAIN_TEXT) {
            host->result_text(batch->items[i]->result, "a text\nof two lines\n");
        } else {
            explain_in_rows(batch->items[i]->result);
        }
    }
    return TT_OK;
}

static int32_t broken_validate(void *provider, const struct tt_item *item)
{
    (void)provider;
    host->result_fail(item->result, TT_INVALID, "no port of that kind", 0);
    return TT_INVALID;
}

/* ---- the descriptor -------------------------------------------------------------------------- */
#define UNLESS(absent, member) (way == (absent) ? NULL : (member))

/* As a plugin looks that was built with a later header: more members, a higher minor number. */
struct later_provider {
    struct tt_provider known;
    int32_t (*something_new)(void *provider);
};

/* Sets `way` from the name of the file that was loaded; ends the process when breaks.h has
 * no such way. */
static void way_find(void)
{
    Dl_info info = {0};
    const char *file = "";

    if (dladdr(way_names, &info) != 0 && info.dli_fname != NULL) {
        const char *slash = strrchr(info.dli_fname, '/');
        file = slash != NULL ? slash + 1 : info.dli_fname;
    }
    for (size_t i = 0; i < WAY_MAX; i++) {
        size_t n = strlen(way_names[i]);
        if (strncmp(file, way_names[i], n) == 0 && strcmp(file + n, ".so") == 0) {
            way = (enum way)i;
            return;
        }
    }
    fprintf(stderr, "broken.c: loaded as \"%s\"; breaks.h has no such way\n", file);
    abort();
}

/* Returns the one option of the provider; valid as long as the module is loaded. */
static const struct tt_option *broken_options(void)
{
    static char name[64];
    static struct tt_option option;

    (void)snprintf(name, sizeof(name), "%s-option", way_names[way]); /* the longest name fits */
    option = (struct tt_option){
        .name = way == OPTION_NAMELESS ? NULL
                : way == OPTION_TAKEN  ? "cloud-config"
                                       : name,
        .type = way == OPTION_TYPE ? 77 : TT_OPTION_STRING,
        .default_text = "",
        .help = way == OPTION_BINARY ? "help \xC3\x28" : "an option",
    };
    return way == OPTIONS_NULL ? NULL : &option;
}

/* Sets what is said of the provider as a whole. */
static void describe(struct tt_provider *p)
{
    static const struct tt_metric metric = {.name = "acme members", .type = TT_METRIC_GAUGE};

    p->abi_major = way == WRONG_MAJOR ? TRIMTAB_ABI_MAJOR + 1 : TRIMTAB_ABI_MAJOR;
    p->abi_minor = way == LATER          ? TRIMTAB_ABI_MINOR + 7
                   : way == EXPLAIN_TEXT ? 3u
                                         : TRIMTAB_ABI_MINOR;
    p->size = way == TOO_SMALL   ? offsetof(struct tt_provider, ensure_load_balancer)
              : way == LATER     ? sizeof(struct later_provider)
              : way == OLDER     ? offsetof(struct tt_provider, batch_key)
              : way == SIZE_ZERO ? 0
                                 : sizeof(struct tt_provider);
    p->name = way == NAME_NULL    ? NULL
              : way == NAME_OTHER ? "somebody-else"
              : way == NAME_BAD   ? "Not A Name"
                                  : way_names[way];
    p->version = way == VERSION_LONG
                     ? "0123456789012345678901234567890123456789012345678901234567890123456789"
                     : "1";
    p->capabilities = way == OWN_AFFAIR ? TT_CAP_HOLDS_FINALIZERS | TT_CAP_REPORTS_PLANS : 0;
    p->finalizers = own_finalizers;
    p->n_finalizers = way == OWN_AFFAIR ? 1 : 0;
    p->options = broken_options();
    p->n_options = 1;
    p->metrics = &metric;
    p->n_metrics = way == METRIC_BLANK ? 1 : 0;
    p->max_parallel = way == CALL_HANGS ? 1 : 0;
    p->codes = way == CODE_UNDECLARED ? 1u << TT_OK : 0;
}

TT_EXPORT const struct tt_provider *tt_provider_descriptor(void)
{
    static struct later_provider descriptor;

    way_find();
    bool in_batches = way == RESULT_MISSING || way == SMALL_BATCHES;
    descriptor.known = (struct tt_provider){
        .open = UNLESS(NO_OPEN, broken_open),
        .close = UNLESS(NO_CLOSE, broken_close),
        .get_load_balancer = UNLESS(NO_GET, broken_get),
        .ensure_load_balancer = UNLESS(NO_ENSURE, broken_call),
        .update_load_balancer = UNLESS(NO_UPDATE, broken_call),
        .ensure_load_balancer_deleted = UNLESS(NO_DELETE, broken_call),
        .batch_key = way == HALF_BATCH || in_batches ? broken_key : NULL,
        .reconcile_batch = in_batches ? broken_call : NULL,
        .batch_max = way == SMALL_BATCHES ? SMALL_BATCH : 0,
        .plan = way == SMALL_BATCHES ? broken_plan : NULL,
        .validate = way == REFUSED_SPEC ? broken_validate : NULL,
        .explain = way >= EXPLAIN_ROWS ? broken_explain : NULL,
    };
    describe(&descriptor.known);
    return way == DESCRIPTOR_NULL ? NULL : &descriptor.known;
}
