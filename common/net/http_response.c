/* SPDX-License-Identifier: Apache-2.0 */
/* http_response.c: reading an answer: headers by name, Retry-After.
 *
 * Owns no state.  Pure: the time against which a date is taken is a parameter. */
#include <curl/curl.h>

#include "common/net/http.h"

#define MAX_RETRY_AFTER_S ((int64_t)3600)

const char *http_response_header(const struct http_response *r, const char *name)
{
    for (size_t i = 0; i < r->n_headers; i++) {
        if (str_eq_nocase(r->headers[i].name, name)) {
            return r->headers[i].value;
        }
    }
    return NULL;
}

int64_t http_retry_after_ms(const struct http_response *r, int64_t wall_s)
{
    const char *value = http_response_header(r, "Retry-After");
    uint64_t number;
    int64_t seconds;
    if (str_is_empty(value)) {
        return 0;
    }
    if (str_to_u64(value, &number)) {
        seconds = number > (uint64_t)MAX_RETRY_AFTER_S ? MAX_RETRY_AFTER_S : (int64_t)number;
    } else {
        time_t date = curl_getdate(value, NULL);
        seconds = date < 0 ? 0 : (int64_t)date - wall_s;
    }
    if (seconds < 0) {
        return 0;
    }
    return (seconds > MAX_RETRY_AFTER_S ? MAX_RETRY_AFTER_S : seconds) * 1000;
}

int64_t http_response_date_s(const struct http_response *r)
{
    const char *value = http_response_header(r, "Date");
    time_t date = str_is_empty(value) ? -1 : curl_getdate(value, NULL);
    return date < 0 ? -1 : (int64_t)date;
}
