/* SPDX-License-Identifier: Apache-2.0 */
/* page.c: what pages read out of a query.  As Go's url.Query(): pairs that cannot be decoded are passed over, and so are
 * those with a ';'.  Must not know any page. */
#include "controller/serve/page.h"

#include <string.h>

#include "common/net/url.h"

#define MAX_PAIRS 1000 /* of a query; the target is capped anyway */

/* The value of a pair "key=value", decoded; NULL when it is another key's, or none. */
static const char *value_of(struct arena *a, const char *pair, const char *key)
{
    size_t n = strcspn(pair, "=");
    if (*pair == '\0' || strchr(pair, ';') != NULL) {
        return NULL;
    }
    const char *name = url_unescape(a, arena_strndup(a, pair, n), true);
    if (name == NULL || !str_eq(name, key)) {
        return NULL;
    }
    return url_unescape(a, pair[n] == '=' ? pair + n + 1 : "", true);
}

const char *const *page_query_all(const struct page_request *req, const char *key, size_t *ret_n)
{
    size_t n_pairs;
    char **pairs = str_split(req->a, str_nonnull(req->query), '&', &n_pairs);
    n_pairs = n_pairs > MAX_PAIRS ? MAX_PAIRS : n_pairs;
    const char **values = ARENA_ARRAY(req->a, const char *, n_pairs);
    size_t n = 0;
    for (size_t i = 0; i < n_pairs; i++) {
        const char *value = value_of(req->a, pairs[i], key);
        if (value != NULL) {
            values[n++] = value;
        }
    }
    *ret_n = n;
    return values;
}

bool page_query_has(const struct page_request *req, const char *key)
{
    size_t n;
    (void)page_query_all(req, key, &n);
    return n > 0;
}
