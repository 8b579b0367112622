/* SPDX-License-Identifier: Apache-2.0 */
/* sent.c: see sent.h. */
#include "controller/kube/model/sent.h"

#include "common/net/http.h"

struct kube_sent kube_sent_of(const struct http_sent *sent, const char *resource)
{
    static const enum kube_sent_part parts[] = {
        [HTTP_SENT_WHOLE] = KUBE_SENT_WHOLE,
        [HTTP_SENT_BEGAN] = KUBE_SENT_BEGAN,
        [HTTP_SENT_ENDED] = KUBE_SENT_ENDED,
    };
    return (struct kube_sent){
        .part = parts[sent->part],
        .method = sent->method,
        .resource = resource,
        .status = sent->status,
        .took_ms = sent->took_ms,
        .sent_bytes = sent->sent_bytes,
        .received_bytes = sent->received_bytes,
    };
}
