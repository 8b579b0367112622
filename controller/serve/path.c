/* SPDX-License-Identifier: Apache-2.0 */
/* path.c: targets of requests.  Must not know pages. */
#include "controller/serve/path.h"

#include <string.h>
#include <strings.h>

#include "common/base/str.h"
#include "common/net/url.h"

char *path_of_target(struct arena *a, const char *target, const char **ret_query)
{
    if (strncasecmp(target, "http://", 7) == 0 || strncasecmp(target, "https://", 8) == 0) {
        target = strstr(target, "//") + 2; /* a proxy's form: which host it means is all the same */
        target += strcspn(target, "/?");
    } else if (*target != '/') {
        return NULL;
    }
    size_t n = strcspn(target, "?");
    const char *raw = n == 0 ? "/" : arena_strndup(a, target, n);
    *ret_query = target[n] == '?' ? target + n + 1 : "";
    return url_unescape(a, raw, false);
}

static const char *without_slash(const char *s)
{
    return *s == '/' ? s + 1 : s;
}

bool path_always_allowed(const struct option_list *allowed, const char *path)
{
    path = without_slash(path);
    for (size_t i = 0; i < allowed->n; i++) {
        const char *one = without_slash(allowed->items[i]);
        size_t n = strlen(one);
        bool prefix = n > 0 && one[n - 1] == '*';
        if (prefix ? strncmp(path, one, n - 1) == 0 : str_eq(path, one)) {
            return true;
        }
    }
    return false;
}
