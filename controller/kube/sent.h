/* SPDX-License-Identifier: Apache-2.0 */
/* sent.h: what the client and the reflectors tell of each request that they have sent to the API server; for metrics. */
#ifndef TRIMTAB_KUBE_SENT_H
#define TRIMTAB_KUBE_SENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kube_sent {
    const char *method;   /* "GET" */
    const char *resource; /* "services/status" */
    int status;           /* 0: no answer */
    int64_t took_ms;
    bool limited;          /* the client's own rate limit was asked … */
    int64_t waited_ms;     /* … and held it back for so long */
    bool again;            /* it was sent before … */
    int before;            /* … and this was the status then; 0: no answer */
    size_t sent_bytes;     /* of its body */
    size_t received_bytes; /* of the answer's, decoded */
};
/* Called after each send, from the thread that sent; must not block. */
typedef void kube_sent_fn(void *arg, const struct kube_sent *sent);

#endif
