/* SPDX-License-Identifier: Apache-2.0 */
/* sent.h: what client, reflectors and object watches tell of each request on the wire to the API
 * server; for metrics.
 *
 * Each of them must have an observer, so that no request passes uncounted.  A stream is reported
 * twice: when its answer begins (it may continue for minutes), and at its end, when its bytes are
 * known. */
#ifndef TRIMTAB_KUBE_SENT_H
#define TRIMTAB_KUBE_SENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kube_sent_part {
    KUBE_SENT_WHOLE = 0,
    KUBE_SENT_BEGAN, /* a stream: received_bytes follow */
    KUBE_SENT_ENDED, /* the same stream: received_bytes is the only news */
};
struct kube_sent {
    enum kube_sent_part part;
    const char *method;   /* "GET" */
    const char *resource; /* "services/status" */
    int status;           /* 0: no answer */
    int64_t took_ms;
    bool limited;          /* the client's own rate limit was asked … */
    int64_t waited_ms;     /* … and held it back for so long */
    bool again;            /* we sent it before, as no redirect and no lost copy makes us … */
    int before;            /* … and this was the status then; 0: no answer */
    size_t sent_bytes;     /* of its body */
    size_t received_bytes; /* of the answer's, decoded */
};
/* Called after each send, from the thread that sent; must not block. */
typedef void kube_sent_fn(void *arg, const struct kube_sent *sent);

struct http_sent;
/* Returns the HTTP handle's report of a request, as one about `resource`.  Texts are
 * borrowed from both. */
struct kube_sent kube_sent_of(const struct http_sent *sent, const char *resource);

#endif
