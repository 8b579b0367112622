/* SPDX-License-Identifier: Apache-2.0 */
/* http_ignore_sent.h: a listener for requests that hears nothing. */
#ifndef TRIMTAB_TESTS_HTTP_IGNORE_SENT_H
#define TRIMTAB_TESTS_HTTP_IGNORE_SENT_H

#include "common/net/http.h"

static inline void http_ignore_sent(void *arg, const struct http_sent *sent)
{
    (void)arg, (void)sent;
}

#endif
