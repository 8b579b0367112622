/* SPDX-License-Identifier: Apache-2.0 */
/* request_count.h: every request of a provider, told to the host: counted, timed and logged there.
 *
 * A provider makes its HTTP handles with this observer, and binds a handle to the call that it
 * works for; then no request can pass uncounted, whatever part of the provider sends it:
 *
 *     const struct http_config cfg = {…, .observe = lb_request_count, .observe_arg = (void *)host};
 *     http_bind(h, cancel, may_mutate, arg, (void *)call);
 *
 * What it is counted as stands in the request (http_request.api, op).  Requests for credentials and
 * to metadata servers are counted under APIs of their own and for no call: they are not among the
 * calls that a Service costs. */
#ifndef TRIMTAB_LB_REQUEST_COUNT_H
#define TRIMTAB_LB_REQUEST_COUNT_H

#include "common/net/http.h"

#include <trimtab/provider.h>

#define REQUEST_API_METADATA                                                                       \
    "metadata"                    /* a server on this machine or link: tokens, names, places */
#define REQUEST_API_TOKEN "token" /* token endpoints, vaults */
#define REQUEST_API_OTHER "other" /* a request that carries no name; there should be none */

/* An http_observe_fn; `host` is the provider's (const struct tt_host *), which must
 * outlive the handle. */
void lb_request_count(void *host, const struct http_sent *sent);

#endif
