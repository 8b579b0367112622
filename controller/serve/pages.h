/* SPDX-License-Identifier: Apache-2.0 */
/* pages.h: the pages of the HTTPS server that show the process: health, metrics, configuration,
 * flags, the log's level, status.
 *
 *     struct page some[PAGES_MAX];
 *     size_t n = pages_fill(&args, some, PAGES_MAX);     then serve_add_page() for each
 *
 * Upstream's paths and texts (controller.md §3.5), and those that only the API server has: /livez,
 * /readyz, /statusz, /flagz; and /status (status_page.h), which is ours.  What is not here,
 * /version among it, is the server's 404.  Pages keep nothing: each is made from what
 * its arguments hold now. */
#ifndef TRIMTAB_SERVE_PAGES_H
#define TRIMTAB_SERVE_PAGES_H

#include <stdint.h>

#include "common/base/clock.h"
#include "controller/metrics/metrics.h"
#include "controller/options/options.h"
#include "controller/serve/health.h"
#include "controller/serve/page.h"
#include "controller/serve/status_page.h"

#define PAGES_MAX 16

/* Must live as long as the server, with all that it names. */
struct pages_args {
    const struct options *options;
    struct metrics *metrics;
    struct health *health;
    struct clock *clock;
    int64_t started_us; /* wall time of the process's start */
    struct status_page status;
};

/* Fills at most `max` pages, returns how many there are. */
size_t pages_fill(const struct pages_args *args, struct page *out, size_t max);

/* --- inside (page_*.c): `arg` is a struct pages_args ------------------------------------------ */
/* /metrics */
void page_metrics(void *arg, const struct page_request *req, struct page_answer *ret);
/* /metrics/slis; DELETE resets */
void page_slis(void *arg, const struct page_request *req, struct page_answer *ret);
/* /configz */
void page_configz(void *arg, const struct page_request *req, struct page_answer *ret);
/* /statusz */
void page_statusz(void *arg, const struct page_request *req, struct page_answer *ret);
/* /flagz */
void page_flagz(void *arg, const struct page_request *req, struct page_answer *ret);
/* /debug/flags, /debug/flags/v; PUT sets */
void page_debug_flags(void *arg, const struct page_request *req, struct page_answer *ret);
/* /debug/pprof and what is below: there are no such profiles */
void page_pprof(void *arg, const struct page_request *req, struct page_answer *ret);

#endif
