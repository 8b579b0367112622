/* SPDX-License-Identifier: Apache-2.0 */
/* http_req.h: path and query of a request as a test's server got them. */
#ifndef TRIMTAB_TESTS_HTTP_REQ_H
#define TRIMTAB_TESTS_HTTP_REQ_H

#include "common/net/http_server_internal.h"

/* Raw, without the query. */
static inline const char *http_req_path(const struct http_req *r)
{
    return r->path;
}
/* Raw; NULL without one. */
static inline const char *http_req_query(const struct http_req *r)
{
    return r->query;
}

#endif
