/* SPDX-License-Identifier: Apache-2.0 */
/* pages.c: the table of pages (see pages.h); /statusz lists it, too. */
#include "controller/serve/pages.h"

struct row {
    const char *path;
    bool below;
    unsigned methods;
    page_answer_fn *answer;
    enum { OF_ALL = 0, OF_HEALTH, OF_STATUS } of; /* what its arg is: all arguments, or that one */
    bool profiling;                               /* only with --profiling */
    bool unlisted;                                /* struct page */
};
#define GET PAGE_METHOD_GET
static const struct row rows[] = {
    {"/configz", false, GET, page_configz, OF_ALL, false, false},
    {"/debug/flags", true, GET | PAGE_METHOD_PUT, page_debug_flags, OF_ALL, true, false},
    {"/debug/pprof", true, GET, page_pprof, OF_ALL, true, true},
    {"/flagz", false, GET, page_flagz, OF_ALL, false, false},
    {"/healthz", true, GET, health_page, OF_HEALTH, false, false},
    {"/livez", true, GET, health_page, OF_HEALTH, false, false},
    {"/metrics", false, GET, page_metrics, OF_ALL, false, false},
    {"/metrics/slis", false, GET | PAGE_METHOD_DELETE, page_slis, OF_ALL, false, false},
    {"/readyz", true, GET, health_page, OF_HEALTH, false, false},
    {"/status", false, GET, status_page_answer, OF_STATUS, false, false},
    {"/statusz", false, GET, page_statusz, OF_ALL, false, false},
};

static void *arg_of(const struct row *r, const struct pages_args *args)
{
    switch (r->of) {
    case OF_HEALTH:
        return args->health;
    case OF_STATUS:
        return (void *)&args->status;
    default:
        return (void *)args;
    }
}

size_t pages_fill(const struct pages_args *args, struct page *out, size_t max)
{
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(rows) && n < max; i++) {
        if (rows[i].profiling && !args->options->profiling) {
            continue;
        }
        out[n++] = (struct page){
            .path = rows[i].path,
            .below = rows[i].below,
            .unlisted = rows[i].unlisted,
            .methods = rows[i].methods,
            .answer = rows[i].answer,
            .arg = arg_of(&rows[i], args),
        };
    }
    return n;
}
