/* SPDX-License-Identifier: Apache-2.0 */
/* exposed.c: see exposed.h.
 *
 * Names count by what is written: nothing is resolved.  Pure but for the log. */
#include "common/lb/exposed.h"

#include "common/base/ip.h"
#include "common/base/str.h"
#include "common/net/url.h"

static bool is_near(const char *host)
{
    static const char *const nets[] = {"127.0.0.0/8", "::1/128", "169.254.0.0/16", "fe80::/10",
                                       "fd00:ec2::254/128"};
    struct ip_addr ip;
    if (!ip_parse(host, &ip)) {
        return str_eq(host, "localhost") || str_has_suffix(host, ".localhost") ||
               str_eq(host, "metadata.google.internal");
    }
    for (size_t i = 0; i < ARRAY_LEN(nets); i++) {
        struct ip_net net;
        if (ip_net_parse(nets[i], &net) && ip_net_contains(&net, &ip)) {
            return true;
        }
    }
    return false;
}

const char *exposed_text(struct arena *a, const char *what, const char *url)
{
    struct url u;
    if (str_is_empty(url) || url_parse(a, str_trim(a, url), &u, NULL) != ERR_OK ||
        !str_eq(u.scheme, "http") || str_is_empty(u.host) || is_near(u.host)) {
        return NULL;
    }
    return arena_printf(a,
                        "%s is %s: the controller's credentials and the cloud's answers cross the "
                        "network unprotected; use https://",
                        what, url_origin(a, &u));
}

void exposed_log(const struct tt_host *host, struct arena *a, const char *what, const char *url)
{
    const char *text = exposed_text(a, what, url);
    if (text != NULL && host->log != NULL) {
        host->log(host->ctx, TT_LOG_WARNING, 0, text, NULL, 0);
    }
}
