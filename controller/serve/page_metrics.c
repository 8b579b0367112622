/* SPDX-License-Identifier: Apache-2.0 */
/* page_metrics.c: /metrics and /metrics/slis: the registry, in the format that the
 * client likes best. */
#include <inttypes.h>

#include "controller/metrics/metrics_text.h"
#include "controller/serve/pages.h"

#define SLIS "kubernetes_healthcheck" /* and …s_total */

static void print(const struct pages_args *p, const struct page_request *req, const char *prefix,
                  struct page_answer *ret)
{
    enum metrics_format format = metrics_negotiate(req->accept);

    metrics_text(p->metrics, req->a, format, prefix, &ret->body);
    ret->content_type = metrics_content_type(format);
    ret->headers[ret->n_headers++] = (struct page_header){
        .name = "Process-Start-Time-Unix",
        .value = arena_printf(req->a, "%" PRId64, p->started_us / 1000000),
    };
}

void page_metrics(void *arg, const struct page_request *req, struct page_answer *ret)
{
    print(arg, req, "", ret);
}

void page_slis(void *arg, const struct page_request *req, struct page_answer *ret)
{
    const struct pages_args *p = arg;

    if (!str_eq(req->method, "DELETE")) {
        print(p, req, SLIS, ret);
        return;
    }
    metrics_reset(p->metrics, METRIC_HEALTHCHECK);
    metrics_reset(p->metrics, METRIC_HEALTHCHECKS);
    ret->nosniff = true;
    str_append(&ret->body, "metrics reset\n");
}
