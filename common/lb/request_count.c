/* SPDX-License-Identifier: Apache-2.0 */
/* request_count.c: see request_count.h. */
#include "common/lb/request_count.h"

#include "common/base/str.h"

void lb_request_count(void *host, const struct http_sent *sent)
{
    const struct tt_host *h = host;
    const struct http_request *req = &sent->job->req;
    if (h == NULL || h->report_call == NULL || sent->part == HTTP_SENT_ENDED) {
        return;
    }
    const char *api = str_or(req->api, REQUEST_API_OTHER);
    bool is_call = !str_eq(api, REQUEST_API_METADATA) && !str_eq(api, REQUEST_API_TOKEN);
    h->report_call(h->ctx, is_call ? sent->owner : NULL, api, str_or(req->op, sent->method),
                   sent->status, sent->took_ms);
}
