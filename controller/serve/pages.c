/* SPDX-License-Identifier: Apache-2.0 */
/* pages.c: the table of pages (see pages.h); /statusz lists it, too. */
#include "controller/serve/pages.h"

struct row {
    const char *path;
    bool below;
    unsigned methods;
    page_answer_fn *answer;
    bool of_health; /* its arg is the health, not the arguments */
    bool profiling; /* only with --profiling */
};
#define GET PAGE_METHOD_GET
static const struct row rows[] = {
    {"/configz", false, GET, page_configz, false, false},
    {"/debug/flags", true, GET | PAGE_METHOD_PUT, page_debug_flags, false, true},
    {"/debug/pprof", true, GET, page_pprof, false, true},
    {"/flagz", false, GET, page_flagz, false, false},
    {"/healthz", true, GET, health_page, true, false},
    {"/livez", true, GET, health_page, true, false},
    {"/metrics", false, GET, page_metrics, false, false},
    {"/metrics/slis", false, GET | PAGE_METHOD_DELETE, page_slis, false, false},
    {"/readyz", true, GET, health_page, true, false},
    {"/statusz", false, GET, page_statusz, false, false},
};

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
            .methods = rows[i].methods,
            .answer = rows[i].answer,
            .arg = rows[i].of_health ? (void *)args->health : (void *)args,
        };
    }
    return n;
}
